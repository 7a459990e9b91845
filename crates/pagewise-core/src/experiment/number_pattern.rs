//! A regular expression that finds numbers: in what a job prints, or in the lines of a log.

use regex_lite::Regex;
use std::fmt;

/// The expression of a metric that is called `regex:…`.
#[must_use]
pub fn of_metric(name: &str) -> Option<&str> {
    name.strip_prefix("regex:")
}

/// Finds what stands where a number is expected.
#[derive(Clone, Debug)]
pub struct NumberPattern(Regex);

/// A text is no regular expression.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{pattern}' is no regular expression: {why}")]
pub struct PatternError {
    /// The text.
    pub pattern: String,
    /// What is wrong with it.
    pub why: String,
}

impl NumberPattern {
    /// Reads one.
    ///
    /// # Errors
    /// When it is no regular expression.
    pub fn parse(pattern: &str) -> Result<NumberPattern, PatternError> {
        let wrong = |error: regex_lite::Error| PatternError { pattern: pattern.to_owned(), why: error.to_string() };
        Regex::new(pattern).map(NumberPattern).map_err(wrong)
    }

    /// How many groups it has.
    #[must_use]
    pub fn groups(&self) -> usize {
        self.0.captures_len() - 1
    }

    /// Each match in a text: its first group, or all of it where there is none.
    pub fn matches<'t>(&self, text: &'t str) -> impl Iterator<Item = &'t str> {
        let found = self.0.captures_iter(text);
        found.filter_map(|found| found.get(1).or_else(|| found.get(0)).map(|found| found.as_str()))
    }
}

impl fmt::Display for NumberPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_group_is_the_number_or_the_whole_match() {
        let matches = |pattern: &str, text: &'static str| -> Vec<&str> {
            NumberPattern::parse(pattern).unwrap().matches(text).collect()
        };
        assert_eq!(matches("took=([0-9.]+)", "took=1.5 took=2"), ["1.5", "2"]);
        assert_eq!(matches(r"\d+", "7 of 9"), ["7", "9"]);
        assert_eq!(matches("(?:a|b)=([0-9]+)(ms|s)", "b=3ms"), ["3"]);
        assert_eq!(matches("took=([0-9.]+)", "nothing"), [""; 0]);
        let error = NumberPattern::parse("(").unwrap_err().to_string();
        assert!(error.starts_with("'(' is no regular expression: "), "{error}");
    }
}

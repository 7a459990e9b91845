//! What is asked of a table, checked before a row of it is read.

use super::rule::Rule;
use crate::metric::Direction;
use std::str::FromStr;

/// Below this no data decide anything, and quantiles leave the range in which they are tested.
const SMALLEST_ALPHA: f64 = 1e-6;

/// Names of columns that mean something when a table has them.
pub const BLOCK: &str = "block";
/// See [`BLOCK`].
pub const ORDER: &str = "order";
/// See [`BLOCK`].
pub const OUTCOME: &str = "outcome";

/// Two levels of a factor, written `FACTOR=A,B`; a comma inside of a name is written `\,`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contrast {
    /// The factor: a column of the table.
    pub factor: String,
    /// The base.
    pub a: String,
    /// The level that is judged against it.
    pub b: String,
}

/// Numeric columns that are compared beside the value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Counters {
    /// None.
    #[default]
    None,
    /// These.
    Named(Vec<String>),
    /// Every column of numbers that is nothing else.
    All,
}

/// Which column says what runs were made close together, if any is to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Blocks {
    /// [`BLOCK`], where there is one.
    #[default]
    Recognised,
    /// This one.
    Named(String),
    /// Values are compared as if nothing tied them together.
    None,
}

/// What is asked.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// The column whose values are compared.
    pub value: String,
    /// What is compared with what.
    pub contrasts: Vec<Contrast>,
    /// Factors whose levels are kept apart. A contrast leaves out its own factor, so that several contrasts can share
    /// the list.
    pub by: Vec<String>,
    /// Margin, level and direction.
    pub rule: Rule,
    /// Blocks that hold both levels are used for the verdict.
    pub blocks: Blocks,
    /// The column that says when a run was made; [`ORDER`], where there is one, if none is named.
    pub order: Option<String>,
    /// What else is compared.
    pub counters: Counters,
    /// Resamples of the bootstrap; `None` for no bootstrap.
    pub resamples: Option<u32>,
    /// Seed of everything that is resampled.
    pub seed: u64,
}

/// Why a question cannot be asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuestionError {
    /// Not `FACTOR=A,B`.
    #[error(
        "'{given}' is not FACTOR=A,B; write the factor's column and two of its levels, such as kernel=baseline,patched \
         (a comma inside of a level is written \\,)"
    )]
    NotAContrast {
        /// What was written.
        given: String,
    },
    /// Nothing to compare.
    #[error(
        "nothing says what is compared with what; name a factor and two of its levels, such as kernel=baseline,patched"
    )]
    NoContrast,
    /// A level against itself.
    #[error("{factor}={level},{level} compares a level with itself; name two levels of {factor}")]
    SameLevel {
        /// The factor.
        factor: String,
        /// The level.
        level: String,
    },
    /// The same contrast twice counts twice in every correction for many comparisons.
    #[error("{factor}={a},{b} is asked twice; ask it once")]
    Twice {
        /// The factor.
        factor: String,
        /// The base.
        a: String,
        /// The other.
        b: String,
    },
    /// One column, two meanings.
    #[error("column '{column}' is asked for as {one} and as {other}; a column can be only one of them")]
    TwoRoles {
        /// The column.
        column: String,
        /// A role.
        one: &'static str,
        /// Another.
        other: &'static str,
    },
    /// The margin.
    #[error("the margin {0} is not between 0 % and 100 %; write it like 2%")]
    Margin(String),
    /// The level of significance.
    #[error("alpha is {0}; write a number from 0.000001 to below 0.5, like 0.05")]
    Alpha(String),
}

impl FromStr for Contrast {
    type Err = QuestionError;

    fn from_str(text: &str) -> Result<Self, QuestionError> {
        let wrong = || QuestionError::NotAContrast { given: text.to_owned() };
        let (factor, levels) = text.split_once('=').ok_or_else(wrong)?;
        let names = split_names(levels);
        let [a, b] = names.as_slice() else { return Err(wrong()) };
        let factor = factor.trim();
        if factor.is_empty() || a.is_empty() || b.is_empty() {
            return Err(wrong());
        }
        Ok(Contrast { factor: factor.to_owned(), a: a.clone(), b: b.clone() })
    }
}

/// Names between commas, without the space around them; `\,` is a comma that belongs to a name.
#[must_use]
pub fn split_names(text: &str) -> Vec<String> {
    let mut names = vec![String::new()];
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' if letters.peek() == Some(&',') => {
                letters.next();
                names.last_mut().into_iter().for_each(|name| name.push(','));
            }
            ',' => names.push(String::new()),
            letter => names.last_mut().into_iter().for_each(|name| name.push(letter)),
        }
    }
    names.iter().map(|name| name.trim().to_owned()).collect()
}

impl Question {
    /// What kernels and jobs are asked: less is better, a margin of 2 %, alpha 0.05, nothing resampled.
    #[must_use]
    pub fn new(value: &str, contrasts: Vec<Contrast>, by: Vec<String>) -> Question {
        Question {
            value: value.to_owned(),
            contrasts,
            by,
            rule: Rule { margin: 0.02, alpha: 0.05, direction: Direction::Lower },
            blocks: Blocks::Recognised,
            order: None,
            counters: Counters::None,
            resamples: None,
            seed: 1,
        }
    }

    /// Whether it can be asked of any table at all.
    ///
    /// # Errors
    /// When it contradicts itself or its numbers make no sense.
    pub fn check(&self) -> Result<(), QuestionError> {
        if self.contrasts.is_empty() {
            return Err(QuestionError::NoContrast);
        }
        for (place, contrast) in self.contrasts.iter().enumerate() {
            let Contrast { factor, a, b } = contrast.clone();
            if a == b {
                return Err(QuestionError::SameLevel { factor, level: a });
            }
            if self.contrasts[..place].contains(contrast) {
                return Err(QuestionError::Twice { factor, a, b });
            }
        }
        // Negated so that a NaN is refused, too.
        if !(0.0..1.0).contains(&self.rule.margin) {
            return Err(QuestionError::Margin(self.rule.margin.to_string()));
        }
        if !(self.rule.alpha >= SMALLEST_ALPHA && self.rule.alpha < 0.5) {
            return Err(QuestionError::Alpha(self.rule.alpha.to_string()));
        }
        self.check_roles()
    }

    fn check_roles(&self) -> Result<(), QuestionError> {
        let mut roles: Vec<(&str, &'static str)> = vec![(&self.value, "the value")];
        roles.extend(self.factors().into_iter().map(|name| (name, "a factor")));
        if let Counters::Named(names) = &self.counters {
            roles.extend(names.iter().map(|name| (name.as_str(), "a counter")));
        }
        if let Blocks::Named(name) = &self.blocks {
            roles.push((name, "the block of the runs"));
        }
        if let Some(name) = &self.order {
            roles.push((name, "the order of the runs"));
        }
        for (place, (column, other)) in roles.iter().enumerate() {
            if let Some((_, one)) = roles[..place].iter().find(|(before, _)| before == column) {
                return Err(QuestionError::TwoRoles { column: (*column).to_owned(), one, other });
            }
        }
        Ok(())
    }

    /// Every column that is read as a factor, once.
    #[must_use]
    pub fn factors(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for name in self.contrasts.iter().map(|contrast| &contrast.factor).chain(&self.by) {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
        names
    }

    /// The factors whose levels a contrast keeps apart.
    #[must_use]
    pub fn by_of(&self, contrast: &Contrast) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for name in self.by.iter().filter(|name| **name != contrast.factor) {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
        names
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_contrast_reads_as_it_is_written() {
        let contrast: Contrast = r"heap=20G\,old, 22G".parse().unwrap();
        assert_eq!(contrast, Contrast { factor: "heap".into(), a: "20G,old".into(), b: "22G".into() });
        for wrong in ["kernel", "kernel=a", "kernel=a,b,c", "=a,b", "kernel=,b"] {
            assert!(wrong.parse::<Contrast>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_contradicts_itself_is_refused_before_a_table_is_read() {
        let contrast = |text: &str| text.parse::<Contrast>().unwrap();
        let refused = |question: Question| question.check().unwrap_err().to_string();
        assert!(refused(Question::new("s", vec![], vec![])).contains("nothing says"));
        assert!(refused(Question::new("s", vec![contrast("k=a,a")], vec![])).contains("with itself"));
        assert!(refused(Question::new("k", vec![contrast("k=a,b")], vec![])).contains("only one"));
        assert!(refused(Question::new("s", vec![contrast("k=a,b"), contrast("k=a,b")], vec![])).contains("twice"));
        let mut question = Question::new("s", vec![contrast("k=a,b")], vec!["k".into(), "swap".into()]);
        assert_eq!(question.check(), Ok(()));
        assert_eq!(question.by_of(&question.contrasts[0]), ["swap"]);
        question.rule.alpha = f64::NAN;
        assert!(refused(question.clone()).contains("alpha"));
        question.rule.alpha = 0.05;
        question.rule.margin = 1.0;
        assert!(refused(question).contains("margin"));
    }
}

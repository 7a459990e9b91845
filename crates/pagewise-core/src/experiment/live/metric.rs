//! What a live proof compares: a signal of the host, a number that a command prints, or numbers in the lines of a log.
//!
//! | text | the number of a block |
//! | --- | --- |
//! | `system_share` | a signal of the host, [`SIGNALS`] |
//! | `COMMAND` | what the command prints when the block ends: a level, or a rate it keeps itself |
//! | `rate:COMMAND` | growth per second of the counter that the command prints at both ends of the block |
//! | `regex:PATTERN:FILE` | mean of what the pattern's group matches in the lines the file grew by; the last colon divides |

use crate::counter;
use crate::experiment::number_pattern::{self, NumberPattern, PatternError};
use crate::metric::{self, Measure};
use std::sync::LazyLock;

/// Signals of the whole host that are not growth of something the kernel counts.
const OWN: [&str; 7] = [
    "system_share",
    "system_share_of_all",
    "psi_memory_some",
    "psi_memory_full",
    "psi_io_some",
    "disk_read",
    "disk_written",
];

/// Signals of the whole host, by their names in the catalogue of measures. All are taken in every block.
pub static SIGNALS: LazyLock<Vec<&'static str>> =
    LazyLock::new(|| OWN.into_iter().chain(counter::measured().map(|(name, _)| name)).collect());

/// The metric of a live proof whose user names none.
pub const DEFAULT: &str = "system_share";

/// The signal of this name.
#[must_use]
pub fn signal(name: &str) -> Option<&'static Measure> {
    SIGNALS.contains(&name).then(|| metric::find(name)).flatten()
}

/// Where the number of a block comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum LiveMetric {
    /// The kernel's totals at both ends of the block.
    Signal(&'static str),
    /// This argument vector prints it when the block ends.
    Command(Vec<String>),
    /// This argument vector prints a counter; its growth per second counts.
    Rate(Vec<String>),
    /// A pattern in the lines that a file grew by.
    Log {
        /// A regular expression with one capture group.
        pattern: String,
        /// The file.
        file: String,
    },
}

/// A text is no metric of a live proof.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MetricError {
    /// Neither a signal nor a command.
    #[error("the metric '{0}' is no command: it is empty, or a quote is not closed")]
    NoCommand(String),
    /// A measure of a run.
    #[error(
        "{0} is a measure of a run, and a live proof has no runs; signals of the host are {signals}; or give a command, \
         rate:COMMAND or regex:PATTERN:FILE",
        signals = SIGNALS.join(", ")
    )]
    OfARun(String),
    /// `regex:` without its parts.
    #[error("'{0}' is not regex:PATTERN:FILE; write it like regex:took=([0-9.]+):/var/log/job.log")]
    NoLog(String),
    /// More or fewer groups than one.
    #[error("the pattern in '{0}' needs one capture group around the number, such as took=([0-9.]+)")]
    NoGroup(String),
    /// Its pattern.
    #[error(transparent)]
    Pattern(#[from] PatternError),
}

impl LiveMetric {
    /// Reads what the user wrote.
    ///
    /// # Errors
    /// What is wrong with it, and what would be right.
    pub fn parse(text: &str) -> Result<LiveMetric, MetricError> {
        if let Some(known) = signal(text) {
            return Ok(LiveMetric::Signal(known.name));
        }
        if metric::find(text).is_some() {
            return Err(MetricError::OfARun(text.to_owned()));
        }
        if let Some(rest) = number_pattern::of_metric(text) {
            return log(text, rest);
        }
        match text.strip_prefix("rate:") {
            Some(command) => words(command).map(LiveMetric::Rate),
            None => words(text).map(LiveMetric::Command),
        }
    }
}

fn words(text: &str) -> Result<Vec<String>, MetricError> {
    shlex::split(text).filter(|words| !words.is_empty()).ok_or_else(|| MetricError::NoCommand(text.to_owned()))
}

fn log(text: &str, rest: &str) -> Result<LiveMetric, MetricError> {
    let (pattern, file) = rest
        .rsplit_once(':')
        .filter(|(pattern, file)| !pattern.is_empty() && !file.is_empty())
        .ok_or_else(|| MetricError::NoLog(text.to_owned()))?;
    if NumberPattern::parse(pattern)?.groups() != 1 {
        return Err(MetricError::NoGroup(text.to_owned()));
    }
    Ok(LiveMetric::Log { pattern: pattern.to_owned(), file: file.to_owned() })
}

/// The number that a command printed: its last line that is not empty.
///
/// # Errors
/// What it printed instead, in words.
pub fn printed_number(output: &str) -> Result<f64, String> {
    let line = output.lines().rev().map(str::trim).find(|line| !line.is_empty());
    let line = line.ok_or("it printed nothing; it must print one number")?;
    let shown: String = line.chars().take(80).collect();
    match line.parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(number),
        _ => Err(format!("it printed '{}', which is no number", shown.escape_debug())),
    }
}

/// The whole lines in what a file grew by. What stands before the first end of a line belongs to a line that was begun
/// before, when the file did not end with a whole line then; what stands after the last one is still being written.
#[must_use]
pub fn whole_lines(grown: &str, began_inside_a_line: bool) -> &str {
    let end = grown.rfind('\n').map_or(0, |at| at + 1);
    let begin = if began_inside_a_line { grown.find('\n').map_or(end, |at| at + 1) } else { 0 };
    &grown[begin.min(end)..end]
}

/// The mean of the numbers found in a block.
///
/// # Errors
/// When there is none.
pub fn mean_of(numbers: &[f64], what: &str) -> Result<f64, String> {
    if numbers.is_empty() {
        return Err(format!("no line that {what} grew by in this block matches"));
    }
    Ok(numbers.iter().sum::<f64>() / numbers.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_signal_is_a_measure_of_the_catalogue() {
        for &name in SIGNALS.iter() {
            assert_eq!(LiveMetric::parse(name), Ok(LiveMetric::Signal(name)), "{name}");
        }
        assert!(signal(DEFAULT).is_some());
    }

    #[test]
    fn a_command_is_split_into_words_and_no_shell_sees_it() {
        let command = LiveMetric::parse("./rate.sh 'two words' $HOME;ls").unwrap();
        let words = ["./rate.sh", "two words", "$HOME;ls"].map(str::to_owned).to_vec();
        assert_eq!(command, LiveMetric::Command(words));
        assert_eq!(LiveMetric::parse("rate:cat n"), Ok(LiveMetric::Rate(vec!["cat".into(), "n".into()])));
    }

    #[test]
    fn the_last_colon_divides_pattern_and_file() {
        let log = LiveMetric::parse(r"regex:at \d+:\d+ took=([0-9.]+):/var/log/job.log").unwrap();
        let (pattern, file) = (r"at \d+:\d+ took=([0-9.]+)".to_owned(), "/var/log/job.log".to_owned());
        assert_eq!(log, LiveMetric::Log { pattern, file });
    }

    #[test]
    fn what_is_no_metric_is_refused_with_what_would_be_one() {
        for (text, wanted) in [
            ("wall", "a live proof has no runs; signals of the host are system_share"),
            ("", "no command"),
            ("rate:", "no command"),
            ("'open", "quote is not closed"),
            ("regex:took", "regex:PATTERN:FILE"),
            ("regex:(x):", "regex:PATTERN:FILE"),
            ("regex:took:f", "one capture group"),
            ("regex:(a)(b):f", "one capture group"),
            (r"regex:\((?:a)[(]:f", "one capture group"),
            ("regex:a=([0-9]+){,:/etc/passwd", "'a=([0-9]+){,' is no regular expression"),
        ] {
            let error = LiveMetric::parse(text).expect_err(text).to_string();
            assert!(error.contains(wanted), "{text}: {error}");
        }
        assert!(LiveMetric::parse(r"regex:(?:a|b)\(([0-9]+)\):f").is_ok());
    }

    #[test]
    fn the_last_line_is_the_number() {
        assert_eq!(printed_number("ops\n 12.5 \n\n"), Ok(12.5));
        assert!(printed_number("").unwrap_err().contains("nothing"));
        assert!(printed_number("12 ops\n").unwrap_err().contains("'12 ops'"));
        assert!(printed_number("inf\n").is_err(), "an infinite rate compares with nothing");
    }

    #[test]
    fn a_line_counts_in_the_block_that_saw_it_begin_and_end() {
        assert_eq!(whole_lines("a 1\na 2\na ", false), "a 1\na 2\n");
        assert_eq!(whole_lines("1\na 2\n", true), "a 2\n");
        assert_eq!(whole_lines("1", true), "");
        assert_eq!(whole_lines("1\n", true), "");
        assert_eq!(whole_lines("", false), "");
    }
}

//! How a run ended, in the words that tables, JSON, the journal and a CSV column share.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a point ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// Ran to the end and, where it is checked, its output was right.
    Ok,
    /// Killed for lack of memory.
    Oom,
    /// Ended with another status than 0.
    Failed,
    /// Did not end in time and was stopped.
    Timeout,
    /// Ended, but its output was not what it must be.
    Wrong,
    /// Not a result: something outside the comparison went wrong. Kept, shown and run again.
    Invalid,
}

impl Outcome {
    /// Every outcome, in the order tables show them.
    pub const ALL: [Outcome; 6] =
        [Outcome::Ok, Outcome::Oom, Outcome::Failed, Outcome::Timeout, Outcome::Wrong, Outcome::Invalid];

    /// A result that counts against its arm.
    #[must_use]
    pub fn is_bad(self) -> bool {
        !matches!(self, Outcome::Ok | Outcome::Invalid)
    }

    /// The word used in tables, JSON and the journal.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Outcome::Ok => "ok",
            Outcome::Oom => "oom",
            Outcome::Failed => "failed",
            Outcome::Timeout => "timeout",
            Outcome::Wrong => "wrong",
            Outcome::Invalid => "invalid",
        }
    }

    /// The outcome of a word, whatever its case. `None` for a word that is no outcome.
    #[must_use]
    pub fn of_word(word: &str) -> Option<Outcome> {
        Outcome::ALL.into_iter().find(|outcome| outcome.word().eq_ignore_ascii_case(word))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_read_back_whatever_its_case() {
        for outcome in Outcome::ALL {
            assert_eq!(Outcome::of_word(&outcome.word().to_uppercase()), Some(outcome));
        }
        assert_eq!(Outcome::of_word("fine"), None);
    }
}

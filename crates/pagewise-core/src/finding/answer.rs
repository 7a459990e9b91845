//! Yes, no, or cannot tell; and how answers are joined so that what is unknown never passes for a no.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An answer of Kleene's three-valued logic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Answer {
    /// It is so.
    Yes,
    /// It is not so.
    No,
    /// The evidence does not say.
    Unknown,
}

impl Answer {
    /// Of what is known.
    #[must_use]
    pub fn of(known: Option<bool>) -> Answer {
        match known {
            Some(true) => Answer::Yes,
            Some(false) => Answer::No,
            None => Answer::Unknown,
        }
    }

    /// No as soon as either is no; yes when both are.
    #[must_use]
    pub fn and(self, other: Answer) -> Answer {
        match (self, other) {
            (Answer::No, _) | (_, Answer::No) => Answer::No,
            (Answer::Yes, Answer::Yes) => Answer::Yes,
            _ => Answer::Unknown,
        }
    }

    /// Yes as soon as either is yes; no when both are.
    #[must_use]
    pub fn or(self, other: Answer) -> Answer {
        match (self, other) {
            (Answer::Yes, _) | (_, Answer::Yes) => Answer::Yes,
            (Answer::No, Answer::No) => Answer::No,
            _ => Answer::Unknown,
        }
    }

    /// Whether all are yes; yes when there is none.
    #[must_use]
    pub fn all(answers: impl IntoIterator<Item = Answer>) -> Answer {
        answers.into_iter().fold(Answer::Yes, Answer::and)
    }

    /// Whether any is yes; no when there is none.
    #[must_use]
    pub fn any(answers: impl IntoIterator<Item = Answer>) -> Answer {
        answers.into_iter().fold(Answer::No, Answer::or)
    }
}

#[cfg(test)]
mod tests {
    use super::Answer::{self, No, Unknown, Yes};

    #[test]
    fn what_is_unknown_decides_nothing_and_hides_nothing() {
        for (a, b, and, or) in [
            (Yes, Unknown, Unknown, Yes),
            (No, Unknown, No, Unknown),
            (Unknown, Unknown, Unknown, Unknown),
            (Yes, No, No, Yes),
            (Yes, Yes, Yes, Yes),
            (No, No, No, No),
        ] {
            assert_eq!((a.and(b), b.and(a)), (and, and), "{a:?} and {b:?}");
            assert_eq!((a.or(b), b.or(a)), (or, or), "{a:?} or {b:?}");
        }
        assert_eq!(Answer::all([]), Yes);
        assert_eq!(Answer::any([]), No);
    }
}

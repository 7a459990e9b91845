//! Two names that may be one: levels that differ in case, in how a number is written, or by a slip of the keyboard.

use crate::spelling::distance;

/// Shorter names differ in one letter for good reasons, as do names with digits: `v5` and `v6`.
const SHORTEST_FOR_SLIPS: usize = 5;

/// What two different names have in common, in words: `the same but for case as`. `None` when they are simply two names.
pub(super) fn alike(one: &str, other: &str) -> Option<&'static str> {
    if one == other || one.is_empty() || other.is_empty() {
        return None;
    }
    if let (Ok(one), Ok(other)) = (one.parse::<f64>(), other.parse::<f64>()) {
        return (one == other).then_some("the same number as");
    }
    if one.to_lowercase() == other.to_lowercase() {
        return Some("the same but for case as");
    }
    let letters = |name: &str| -> String {
        let joins = |c: &char| !c.is_whitespace() && !matches!(c, '-' | '_');
        name.chars().filter(joins).flat_map(char::to_lowercase).collect()
    };
    if letters(one) == letters(other) {
        return Some("the same but for spaces and dashes as");
    }
    let may_slip = |name: &str| {
        let length = name.chars().count();
        (SHORTEST_FOR_SLIPS..80).contains(&length) && !name.contains(|c: char| c.is_ascii_digit())
    };
    (may_slip(one) && may_slip(other) && distance(one, other) == 1).then_some("the same but for one letter as")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_may_be_one_are_told_from_names_that_are_two() {
        for (one, other, word) in [
            ("Patched", "patched", "case"),
            ("22", "22.0", "number"),
            ("1e3", "1000", "number"),
            ("memory high", "memory-high", "dashes"),
            ("pached", "patched", "letter"),
        ] {
            assert!(alike(one, other).is_some_and(|said| said.contains(word)), "{one} {other}");
            assert_eq!(alike(one, other), alike(other, one));
        }
        for (one, other) in [
            ("22", "24"),
            ("5", "-5"),
            ("1.5", "15"),
            ("on", "off"),
            ("v5.10", "v5.11"),
            ("a", "b"),
            ("", " "),
            ("x", "x"),
        ] {
            assert_eq!(alike(one, other), None, "{one} {other}");
        }
        assert_eq!(alike("patched", "unpatched"), None);
    }
}

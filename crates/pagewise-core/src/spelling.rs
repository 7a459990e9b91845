//! Which known name was meant by one that nobody knows, and which characters stand in none.

use crate::tunable::distance;

/// The known name that differs least, if it differs in so few letters that it may be meant: one in three.
#[must_use]
pub fn nearest<'n>(name: &str, known: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    // A longer one is no slip, and comparing takes time with the square of the length.
    const LONGEST: usize = 100;
    if name.len() > LONGEST {
        return None;
    }
    let length = name.chars().count();
    let away = |known: &'n str| (distance(name, known), known);
    let is_near = |(away, known): &(usize, &str)| 3 * away <= length.max(known.chars().count());
    known.into_iter().filter(|known| known.len() <= LONGEST).map(away).filter(is_near).min().map(|(_, known)| known)
}

/// `; did you mean wall?`, or nothing.
#[must_use]
pub fn did_you_mean<'n>(name: &str, known: impl IntoIterator<Item = &'n str>) -> String {
    nearest(name, known).map(|meant| format!("; did you mean {meant}?")).unwrap_or_default()
}

/// Whether a character is a control, or one that nobody sees and that may turn the text around it: it stands in no name, and is
/// written out where it is shown.
#[must_use]
pub fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_found_and_another_word_is_not() {
        let known = ["minor_faults", "major_faults", "wall", "oom_kill", "design"];
        for (written, meant) in [
            ("minor_fault", Some("minor_faults")),
            ("oom_kills", Some("oom_kill")),
            ("desing", Some("design")),
            ("wal", Some("wall")),
            ("dsegin", Some("design")),
            ("rate", None),
            ("", None),
        ] {
            assert_eq!(nearest(written, known), meant, "{written}");
        }
        assert_eq!(did_you_mean("wal", known), "; did you mean wall?");
        assert_eq!(nearest(&"wall".repeat(30), known), None);
    }
}

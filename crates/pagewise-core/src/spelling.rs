//! Which known name was meant by one that nobody knows, which names a pattern means, which characters stand in none, and how a sentence begins.

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

/// Edits that make `b` of `a`: a letter put in, left out, or written for another, and two neighbours that changed places
/// (optimal string alignment; F. J. Damerau, Comm. ACM 7 (1964), 171–176).
pub(crate) fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut next = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let replaced = row[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            next[j] = replaced.min(next[j - 1] + 1).min(row[j] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                next[j] = next[j].min(before[j - 2] + 1);
            }
        }
        (before, row) = (row, next);
    }
    row[b.len()]
}

/// With a capital in front.
#[must_use]
pub fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

/// `; did you mean wall?`, or nothing.
#[must_use]
pub fn did_you_mean<'n>(name: &str, known: impl IntoIterator<Item = &'n str>) -> String {
    nearest(name, known).map(|meant| format!("; did you mean {meant}?")).unwrap_or_default()
}

/// `*` stands for any letters, also none. In time linear in pattern times text, whatever the pattern.
#[must_use]
pub fn fits(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (pattern.as_bytes(), text.as_bytes());
    let (mut p, mut t) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    while t < text.len() {
        if pattern.get(p) == Some(&b'*') {
            retry = Some((p + 1, t));
            p += 1;
        } else if pattern.get(p) == Some(&text[t]) {
            (p, t) = (p + 1, t + 1);
        } else if let Some((after, from)) = retry {
            retry = Some((after, from + 1));
            (p, t) = (after, from + 1);
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|byte| *byte == b'*')
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

    #[test]
    fn a_star_is_any_letters() {
        assert!(fits("vmstat.compact_*", "vmstat.compact_stall") && fits("*", "") && fits("a*b*c", "axxbyyc"));
        assert!(!fits("vmstat.compact_*", "vmstat.pgfault") && !fits("a*b", "ac") && !fits("", "a"));
    }
}

//! Which part of a recording is exported: series by a pattern of their name, instants from and to.

use crate::recording::{Series, StackSample};

/// A part of a recording. By default all of it.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Patterns of `source.name`, with `*` for any letters; a series is taken that one of them fits. Empty: all.
    pub series: Vec<String>,
    /// From here, CLOCK_BOOTTIME in nanoseconds.
    pub from: Option<u64>,
    /// Up to and with this instant.
    pub until: Option<u64>,
}

impl Selection {
    /// Whether a series is taken. A pattern without a dot is one of the name alone.
    #[must_use]
    pub fn takes(&self, series: &Series) -> bool {
        let full = format!("{}.{}", series.source, series.name);
        let fits = |pattern: &String| fits(pattern, &full) || (!pattern.contains('.') && fits(pattern, &series.name));
        self.series.is_empty() || self.series.iter().any(fits)
    }

    /// Whether an instant is taken.
    #[must_use]
    pub fn holds(&self, at: u64) -> bool {
        self.from.is_none_or(|from| at >= from) && self.until.is_none_or(|until| at <= until)
    }

    /// Whether a slice of stacks lies in it, at least in part.
    #[must_use]
    pub fn overlaps(&self, sample: &StackSample) -> bool {
        self.from.is_none_or(|from| sample.to > from) && self.until.is_none_or(|until| sample.from <= until)
    }
}

/// `*` stands for any letters, also none. In time linear in pattern times text, whatever the pattern.
fn fits(pattern: &str, text: &str) -> bool {
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

#[cfg(test)]
mod tests {
    use super::fits;

    #[test]
    fn a_star_is_any_letters() {
        assert!(fits("vmstat.compact_*", "vmstat.compact_stall") && fits("*", "") && fits("a*b*c", "axxbyyc"));
        assert!(!fits("vmstat.compact_*", "vmstat.pgfault") && !fits("a*b", "ac") && !fits("", "a"));
    }
}

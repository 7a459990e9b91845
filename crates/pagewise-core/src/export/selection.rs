//! Which part of a recording is exported: series by a pattern of their name, instants from and to.

use crate::recording::{Series, StackSample};
use crate::spelling::fits;

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

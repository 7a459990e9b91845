//! What a listing of another tool says of a quantity that rules know by the kernel's name. Tools print rates, and levels that
//! they add up themselves; the catalogue of counters says which stand for which.

use super::{Folded, Observed, Track};
use crate::finding::signal::{self, IMPORT, Kind, PrintedSum, Quantity};
use crate::unit::Unit;

impl Observed {
    /// The series that answers for a quantity: its own, or what a listing has in its place.
    #[must_use]
    pub fn source_of(&self, signal: &Quantity) -> String {
        let printed = self.stand_in(signal).and_then(|printed| printed.of.first());
        printed.map_or_else(|| signal.label(), |(source, name)| format!("{source}.{name}"))
    }

    /// Whether it is recorded, or another tool printed what stands for it.
    #[must_use]
    pub fn is_known(&self, signal: &Quantity) -> bool {
        self.has(signal) || self.stand_in(signal).is_some()
    }

    pub(super) fn imported_rate(&self, signal: &Quantity) -> Option<Track> {
        (signal.kind == Kind::Counter).then(|| self.as_printed(signal, Folded::mean)).flatten()
    }

    /// `of` takes a level from a window: its mean, or its least.
    pub(super) fn imported_level(&self, signal: &Quantity, of: fn(&Folded, usize) -> Option<f64>) -> Option<Track> {
        (signal.kind == Kind::Gauge).then(|| self.as_printed(signal, of)).flatten()
    }

    fn stand_in(&self, signal: &Quantity) -> Option<&'static PrintedSum> {
        if self.has(signal) {
            return None;
        }
        signal.printed.iter().find(|printed| printed.of.iter().all(|of| self.seen.listed(*of).is_some()))
    }

    /// Each series with labels that a tool printed in place of a labelled quantity.
    pub(super) fn each_printed(&self, signal: &Quantity) -> Vec<(&str, Track)> {
        let is_it = |folded: &&Folded| {
            let (source, name, labels) = folded.name();
            let is_of = |printed: &PrintedSum| matches!(printed.of, [of] if *of == (source, name));
            !labels.is_empty() && signal.printed.iter().any(is_of)
        };
        let track = |folded: &Folded| {
            let values: Vec<Option<f64>> = (0..self.windows.count).map(|window| folded.mean(window)).collect();
            let missing = || self.missing_from(folded.name().0, signal.label(), true);
            Track::new(values.clone(), values.iter().any(Option::is_none).then(missing))
        };
        self.seen.folded.iter().filter(is_it).map(|folded| (folded.labels(), track(folded))).collect()
    }

    fn as_printed(&self, signal: &Quantity, of: fn(&Folded, usize) -> Option<f64>) -> Option<Track> {
        let printed = self.stand_in(signal)?;
        let huge = self.last(&signal::HUGEPAGE_SIZE).filter(|size| *size > 0.0).unwrap_or(2.0 * 1024.0 * 1024.0);
        let counts_pages = signal.unit.scale().0 == Unit::Pages;
        let part = |(source, name): &(&str, &str)| {
            let folded = self.seen.listed((source, name))?;
            let divisor = match (printed.is_huge_pages, counts_pages && folded.is_bytes()) {
                (true, _) => huge,
                (_, true) => self.page_size,
                _ => 1.0,
            };
            Some((folded, 1.0 / divisor))
        };
        let parts: Vec<(&Folded, f64)> = printed.of.iter().filter_map(part).collect();
        let source = printed.of.first().map_or(IMPORT, |(source, _)| *source);
        let missing = || self.missing_from(source, self.source_of(signal), true);
        Some(self.sum_of(&parts, missing, |folded, window, _| of(folded, window)))
    }
}

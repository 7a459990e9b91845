//! A quantity window by window, what a threshold makes of it, and what is missing.

use super::Windows;
use crate::finding::answer::Answer;

/// Something that is not known.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Missing {
    /// What.
    pub what: String,
    /// Why.
    pub why: String,
}

/// By window; `None`: unknown.
type Values = Vec<Option<f64>>;

/// A quantity, window by window. `None`: unknown.
#[derive(Clone, Debug, PartialEq)]
pub struct Track {
    values: Vec<Option<f64>>,
    missing: Vec<Missing>,
    /// Of a ratio: what was divided by what. Its mean over a time is the ratio of their means, not the mean of ratios.
    ratio: Option<(Values, Values)>,
}

impl Track {
    /// From values, with what is missing where one is unknown.
    #[must_use]
    pub fn new(values: Vec<Option<f64>>, missing: Option<Missing>) -> Track {
        Track { values, missing: missing.into_iter().collect(), ratio: None }
    }

    /// Known in none of so many windows.
    #[must_use]
    pub fn unknown(count: usize, missing: Missing) -> Track {
        Track { values: vec![None; count], missing: vec![missing], ratio: None }
    }

    /// The same in each of so many windows.
    #[must_use]
    pub fn constant(value: f64, count: usize) -> Track {
        Track { values: vec![Some(value); count], missing: Vec::new(), ratio: None }
    }

    /// By window.
    #[must_use]
    pub fn values(&self) -> &[Option<f64>] {
        &self.values
    }

    /// What is missing.
    #[must_use]
    pub fn missing(&self) -> &[Missing] {
        &self.missing
    }

    /// Each known value changed.
    #[must_use]
    pub fn map(&self, of: impl Fn(f64) -> f64) -> Track {
        let values = self.values.iter().map(|value| value.map(&of).filter(|value| value.is_finite())).collect();
        Track { values, missing: self.missing.clone(), ratio: None }
    }

    /// Unknown counts as nothing: for a part of a sum that old kernels lack.
    #[must_use]
    pub fn or_zero(self) -> Track {
        let values = self.values.into_iter().map(|value| Some(value.unwrap_or(0.0))).collect();
        Track { values, missing: Vec::new(), ratio: None }
    }

    /// Both, joined where both are known.
    #[must_use]
    pub fn with(&self, other: &Track, of: impl Fn(f64, f64) -> Option<f64>) -> Track {
        let pair = |(a, b): (&Option<f64>, &Option<f64>)| of((*a)?, (*b)?).filter(|value| value.is_finite());
        let mut missing = self.missing.clone();
        missing.extend(other.missing.iter().filter(|missing| !self.missing.contains(missing)).cloned());
        Track { values: self.values.iter().zip(&other.values).map(pair).collect(), missing, ratio: None }
    }

    /// Their sum.
    #[must_use]
    pub fn plus(&self, other: &Track) -> Track {
        self.with(other, |a, b| Some(a + b))
    }

    /// This as a part of that. Where there is nothing to be a part of, it is none: 0.
    #[must_use]
    pub fn share_of(&self, whole: &Track) -> Track {
        let share = self.with(whole, |part, whole| if whole > 0.0 { Some(part / whole) } else { Some(0.0) });
        Track { ratio: Some((self.values.clone(), whole.values.clone())), ..share }
    }

    /// This for each of that; unknown where there is none.
    #[must_use]
    pub fn per(&self, other: &Track) -> Track {
        let ratio = self.with(other, |a, b| (b > 0.0).then(|| a / b));
        Track { ratio: Some((self.values.clone(), other.values.clone())), ..ratio }
    }

    /// Its mean over the windows that are `Yes`, or over all that are known when none is. Each counts by its length.
    #[must_use]
    pub fn mean(&self, over: &Hits, windows: &Windows) -> Option<f64> {
        let hit = |window: usize| over.answers.get(window) == Some(&Answer::Yes);
        self.mean_where(hit, windows).or_else(|| self.mean_where(|_| true, windows))
    }

    /// Its mean over all windows that are known.
    #[must_use]
    pub fn mean_of_all(&self, windows: &Windows) -> Option<f64> {
        self.mean_where(|_| true, windows)
    }

    fn mean_where(&self, takes: impl Fn(usize) -> bool, windows: &Windows) -> Option<f64> {
        let mean = |values: &[Option<f64>]| {
            let (mut sum, mut weight) = (0.0, 0.0);
            for (window, value) in values.iter().enumerate().filter(|(window, _)| takes(*window)) {
                // Where one half of a ratio is unknown, the other must not count. A recording of one sample has no length.
                let is_known = self.values.get(window).is_some_and(Option::is_some);
                if let Some(value) = value.filter(|_| is_known) {
                    let length = windows.length(window).max(1e-9);
                    sum += value * length;
                    weight += length;
                }
            }
            (weight > 0.0).then(|| sum / weight)
        };
        let Some((part, whole)) = &self.ratio else { return mean(&self.values) };
        let (part, whole) = (mean(part)?, mean(whole)?);
        Some(if whole > 0.0 { part / whole } else { 0.0 }).filter(|ratio| ratio.is_finite())
    }

    /// The largest known value.
    #[must_use]
    pub fn most(&self) -> Option<f64> {
        self.values.iter().flatten().copied().reduce(f64::max)
    }

    /// The smallest known value.
    #[must_use]
    pub fn least(&self) -> Option<f64> {
        self.values.iter().flatten().copied().reduce(f64::min)
    }

    /// The first and the last known value.
    #[must_use]
    pub fn ends(&self) -> Option<(f64, f64)> {
        let mut known = self.values.iter().flatten().copied();
        let first = known.next()?;
        Some((first, known.next_back().unwrap_or(first)))
    }

    /// Where it holds.
    #[must_use]
    pub fn hits(&self, holds: impl Fn(f64) -> bool) -> Hits {
        let answers = self.values.iter().map(|value| Answer::of(value.map(&holds))).collect();
        Hits { answers, missing: self.missing.clone(), is_whole: false }
    }
}

/// Whether something holds, window by window.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Hits {
    /// By window.
    pub answers: Vec<Answer>,
    /// What is missing where it is unknown.
    pub missing: Vec<Missing>,
    /// It is one answer for the recording as a whole: it does not say in which window.
    pub is_whole: bool,
}

impl Hits {
    /// One answer for the recording as a whole, in each of so many windows.
    #[must_use]
    pub fn always(answer: Answer, count: usize) -> Hits {
        Hits { answers: vec![answer; count], missing: Vec::new(), is_whole: true }
    }

    /// Where both hold.
    #[must_use]
    pub fn and(&self, other: &Hits) -> Hits {
        self.join(other, Answer::and)
    }

    /// Where either holds.
    #[must_use]
    pub fn or(&self, other: &Hits) -> Hits {
        self.join(other, Answer::or)
    }

    fn join(&self, other: &Hits, of: impl Fn(Answer, Answer) -> Answer) -> Hits {
        let mut missing = self.missing.clone();
        missing.extend(other.missing.iter().filter(|missing| !self.missing.contains(missing)).cloned());
        let answers = self.answers.iter().zip(&other.answers).map(|(a, b)| of(*a, *b)).collect();
        Hits { answers, missing, is_whole: self.is_whole && other.is_whole }
    }

    /// How long it held, in seconds.
    #[must_use]
    pub fn seconds(&self, windows: &Windows) -> f64 {
        let hit = self.answers.iter().enumerate().filter(|(_, answer)| **answer == Answer::Yes);
        hit.map(|(window, _)| windows.length(window)).sum()
    }

    /// The runs of windows of which `takes` holds, in order of time: the first of each, and how many.
    #[must_use]
    pub fn runs(&self, takes: impl Fn(Answer) -> bool) -> Vec<(usize, usize)> {
        let mut runs: Vec<(usize, usize)> = Vec::new();
        for window in (0..self.answers.len()).filter(|window| takes(self.answers[*window])) {
            match runs.last_mut().filter(|(first, length)| first + *length == window) {
                Some((_, length)) => *length += 1,
                None => runs.push((window, 1)),
            }
        }
        runs
    }

    /// The longest of these runs; of equals the first.
    #[must_use]
    pub fn longest(&self, takes: impl Fn(Answer) -> bool) -> (usize, usize) {
        self.runs(takes).into_iter().rev().max_by_key(|(_, length)| *length).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::Answer::{No, Unknown, Yes};
    use super::*;

    #[test]
    fn runs_are_divided_by_whatever_is_between_them() {
        let hits = Hits { answers: vec![No, Yes, Yes, Unknown, Yes, No, Yes, Yes], ..Hits::default() };
        assert_eq!(hits.runs(|answer| answer == Yes), [(1, 2), (4, 1), (6, 2)]);
        assert_eq!(hits.longest(|answer| answer == Yes), (1, 2), "of equals the first");
        assert_eq!(hits.longest(|answer| answer != No), (1, 4));
        assert_eq!(Hits::default().longest(|_| true), (0, 0));
    }

    #[test]
    fn an_answer_of_the_whole_says_no_window_until_it_is_joined_with_one_that_does() {
        let (whole, by_window) = (Hits::always(Yes, 2), Track::constant(1.0, 2).hits(|value| value > 0.0));
        assert!(whole.is_whole && whole.and(&whole).is_whole);
        assert!(!by_window.is_whole && !whole.and(&by_window).is_whole && !by_window.or(&whole).is_whole);
    }
}

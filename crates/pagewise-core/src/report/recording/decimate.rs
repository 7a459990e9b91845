//! A timeline of any length as at most a few thousand points, in one pass and without losing a spike.
//!
//! Consecutive ticks share a bucket; when there are too many buckets, neighbours are merged and each holds twice as many.
//! A bucket keeps the smallest and the largest value in the order they came, and the mean: drawn as two points, a spike of
//! one second in a day is still as high as it was, and means over a stretch are those of all samples. (Downsampling by
//! largest triangles, LTTB, keeps the recording of a line, but may drop a spike next to a higher one.)

use serde::{Serialize, Serializer};

/// Most buckets of a timeline. With two points each and a break per [`MOST_BREAKS`] that is at most 4,000 points a line.
pub const MOST_BUCKETS: usize = 1_850;

/// Most gaps at which a line is interrupted; shorter ones beyond that are listed, not drawn.
pub const MOST_BREAKS: usize = 250;

#[derive(Clone, Copy, Debug)]
struct Cell {
    low: f64,
    high: f64,
    /// Whether the largest came before the smallest.
    falls: bool,
    sum: f64,
    count: u32,
}

const EMPTY: Cell = Cell { low: f64::INFINITY, high: f64::NEG_INFINITY, falls: false, sum: 0.0, count: 0 };

impl Cell {
    fn add(&mut self, value: f64) {
        if value < self.low {
            self.low = value;
            self.falls = self.count > 0 && self.high > value;
        }
        if value > self.high {
            self.high = value;
            self.falls = false;
        }
        self.sum += value;
        self.count += 1;
    }

    fn merge(&mut self, later: &Cell) {
        if later.count == 0 {
            return;
        }
        if self.count == 0 {
            *self = *later;
            return;
        }
        self.falls = match (later.low < self.low, later.high > self.high) {
            (true, true) => later.falls,
            (true, false) => true,
            (false, true) => false,
            (false, false) => self.falls,
        };
        self.low = self.low.min(later.low);
        self.high = self.high.max(later.high);
        self.sum += later.sum;
        self.count += later.count;
    }
}

#[derive(Clone, Debug)]
struct Bucket {
    first: u64,
    last: u64,
    ticks: u32,
    /// Whether a gap lies before it.
    after_gap: bool,
    /// Where its cells begin.
    cells: Vec<Cell>,
}

/// Takes ticks one after the other.
#[derive(Debug)]
pub struct Decimator {
    lines: usize,
    /// Gaps of all sources at which lines break, the ones to come: from, to.
    breaks: Vec<(u64, u64)>,
    next_break: usize,
    buckets: Vec<Bucket>,
    per_bucket: u32,
    most: usize,
}

impl Decimator {
    /// For so many lines, which break at these gaps (from, to): at the longest [`MOST_BREAKS`] of them.
    #[must_use]
    pub fn new(lines: usize, mut gaps: Vec<(u64, u64)>) -> Decimator {
        gaps.sort_by_key(|(from, to)| std::cmp::Reverse(to.saturating_sub(*from)));
        gaps.truncate(MOST_BREAKS);
        gaps.sort_unstable();
        Decimator { lines, breaks: gaps, next_break: 0, buckets: Vec::new(), per_bucket: 1, most: MOST_BUCKETS }
    }

    /// The values of all lines at the next tick. A value that is no finite number counts as unknown.
    pub fn push(&mut self, at: u64, values: &[Option<f64>]) {
        let last = self.buckets.last().map(|bucket| bucket.last);
        let mut after_gap = false;
        while let Some((from, to)) = self.breaks.get(self.next_break).copied().filter(|(from, _)| *from < at) {
            after_gap |= last.is_some_and(|last| to > last && from < at);
            self.next_break += 1;
        }
        let is_full = self.buckets.last().is_none_or(|bucket| bucket.ticks >= self.per_bucket);
        if is_full || after_gap {
            if self.buckets.len() >= self.most {
                self.halve();
            }
            let cells = vec![EMPTY; self.lines];
            self.buckets.push(Bucket { first: at, last: at, ticks: 0, after_gap, cells });
        }
        let Some(bucket) = self.buckets.last_mut() else { return };
        bucket.last = at;
        bucket.ticks += 1;
        for (cell, value) in bucket.cells.iter_mut().zip(values) {
            if let Some(value) = value.filter(|value| value.is_finite()) {
                cell.add(value);
            }
        }
    }

    fn halve(&mut self) {
        self.per_bucket = self.per_bucket.saturating_mul(2);
        let mut merged: Vec<Bucket> = Vec::with_capacity(self.buckets.len() / 2 + MOST_BREAKS);
        for bucket in self.buckets.drain(..) {
            match merged.last_mut() {
                Some(last) if !bucket.after_gap && last.ticks + bucket.ticks <= self.per_bucket => {
                    last.last = bucket.last;
                    last.ticks += bucket.ticks;
                    last.cells.iter_mut().zip(&bucket.cells).for_each(|(cell, later)| cell.merge(later));
                }
                _ => merged.push(bucket),
            }
        }
        self.buckets = merged;
    }

    /// What came of it. Times are seconds after `origin` (nanoseconds), to a millisecond.
    #[must_use]
    pub fn finish(self, origin: u64) -> Timeline {
        let seconds = |at: u64| (at.saturating_sub(origin) / 1_000_000) as f64 / 1e3;
        let is_exact = self.buckets.iter().all(|bucket| bucket.ticks == 1);
        let column = |of: &dyn Fn(&Cell) -> f64, line: usize| {
            Numbers(
                self.buckets
                    .iter()
                    .map(|bucket| bucket.cells.get(line).filter(|cell| cell.count > 0).map(of))
                    .collect(),
            )
        };
        let lines = (0..self.lines).map(|line| {
            let is_empty = self.buckets.iter().all(|bucket| bucket.cells[line].count == 0);
            (!is_empty).then(|| Values {
                mean: column(&|cell| cell.sum / f64::from(cell.count), line),
                low: (!is_exact).then(|| column(&|cell| cell.low, line)),
                high: (!is_exact).then(|| column(&|cell| cell.high, line)),
                falls: (!is_exact).then(|| {
                    self.buckets.iter().map(|bucket| if bucket.cells[line].falls { '1' } else { '0' }).collect()
                }),
            })
        });
        Timeline {
            lines: lines.collect(),
            first: Exact(self.buckets.iter().map(|bucket| seconds(bucket.first)).collect()),
            last: Exact(self.buckets.iter().map(|bucket| seconds(bucket.last)).collect()),
            ticks: self.buckets.iter().map(|bucket| bucket.ticks).collect(),
            breaks: (0..self.buckets.len()).filter(|at| self.buckets[*at].after_gap).collect(),
        }
    }
}

/// A decimated timeline. Columns have an entry per bucket.
#[derive(Clone, Debug, Serialize)]
pub struct Timeline {
    /// When its first tick was, in seconds after the first of all.
    pub first: Exact,
    /// When its last was.
    pub last: Exact,
    /// How many there are.
    pub ticks: Vec<u32>,
    /// Buckets before which there is a gap.
    pub breaks: Vec<usize>,
    /// A line each; `None` where nothing is known of it.
    pub lines: Vec<Option<Values>>,
}

/// What is kept of one line.
#[derive(Clone, Debug, Serialize)]
pub struct Values {
    /// Mean of the samples of each bucket.
    pub mean: Numbers,
    /// The smallest; absent when every bucket has one tick.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub low: Option<Numbers>,
    /// The largest; likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub high: Option<Numbers>,
    /// `1` where the largest came first, else `0`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub falls: Option<String>,
}

/// Numbers with five significant digits, which is more than a screen shows; `null` where unknown.
#[derive(Clone, Debug, PartialEq)]
pub struct Numbers(pub Vec<Option<f64>>);

/// Numbers as they are, whole ones without a point.
#[derive(Clone, Debug, PartialEq)]
pub struct Exact(pub Vec<f64>);

/// The shortest JSON for it.
enum Short {
    Whole(i64),
    Real(f64),
}

impl Serialize for Short {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Short::Whole(value) => to.serialize_i64(*value),
            Short::Real(value) => to.serialize_f64(*value),
        }
    }
}

fn short(value: f64) -> Short {
    if value.abs() < 1e15 && value.trunc() == value { Short::Whole(value as i64) } else { Short::Real(value) }
}

fn five_digits(value: f64) -> f64 {
    if value.abs() < 1e5 && value.trunc() == value { value } else { format!("{value:.4e}").parse().unwrap_or(value) }
}

impl Serialize for Numbers {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(self.0.iter().map(|value| value.map(|value| short(five_digits(value)))))
    }
}

impl Serialize for Exact {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(self.0.iter().map(|value| short(*value)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn points(timeline: &Timeline) -> usize {
        let two = timeline.lines.iter().flatten().any(|line| line.low.is_some());
        timeline.ticks.len() * if two { 2 } else { 1 } + timeline.breaks.len()
    }

    fn line(values: impl Iterator<Item = f64>, gaps: Vec<(u64, u64)>) -> Timeline {
        let mut decimator = Decimator::new(1, gaps);
        values.enumerate().for_each(|(at, value)| decimator.push(at as u64 * 1_000_000_000, &[Some(value)]));
        decimator.finish(0)
    }

    #[test]
    fn a_spike_of_one_second_in_a_day_is_as_high_as_it_was_and_the_mean_is_that_of_all() {
        let day = line((0..86_400).map(|at| if at == 50_001 { 1e6 } else { 1.0 }), Vec::new());
        assert!(points(&day) <= 4000, "{}", points(&day));
        let values = day.lines[0].as_ref().unwrap();
        let high = values.high.as_ref().unwrap().0.iter().flatten().fold(0.0, |a: f64, b| a.max(*b));
        assert_eq!(high, 1e6);
        let sum: f64 = values.mean.0.iter().flatten().zip(&day.ticks).map(|(mean, n)| mean * f64::from(*n)).sum();
        assert!((sum - (1e6 + 86_399.0)).abs() < 1e-3, "{sum}");
    }

    #[test]
    fn a_short_timeline_is_kept_tick_by_tick() {
        let short = line((0..1500).map(f64::from), Vec::new());
        assert!(short.lines[0].as_ref().unwrap().low.is_none());
        assert_eq!(short.lines[0].as_ref().unwrap().mean.0[700], Some(700.0));
    }

    #[test]
    fn a_line_breaks_at_a_gap_and_no_bucket_spans_it() {
        let mut decimator = Decimator::new(1, vec![(5_500_000_000, 9_900_000_000)]);
        for at in (0..6).chain(10..10_000u64) {
            decimator.push(at * 1_000_000_000, &[Some(0.0)]);
        }
        let timeline = decimator.finish(0);
        assert_eq!(timeline.breaks.len(), 1);
        let after = timeline.breaks[0];
        assert_eq!((timeline.last.0[after - 1], timeline.first.0[after]), (5.0, 10.0));
    }

    #[test]
    fn a_largest_value_that_comes_first_is_drawn_first() {
        let falling = line((0..40_000).map(|at| -f64::from(at)), Vec::new());
        assert!(falling.lines[0].as_ref().unwrap().falls.as_ref().unwrap().chars().all(|c| c == '1'));
        let rising = line((0..40_000).map(f64::from), Vec::new());
        assert!(rising.lines[0].as_ref().unwrap().falls.as_ref().unwrap().chars().all(|c| c == '0'));
    }

    proptest! {
        #[test]
        fn any_number_of_ticks_and_gaps_stays_within_the_points_of_a_line(
            ticks in 0usize..60_000, every in 1u64..60, extremes in prop::collection::vec((0usize..60_000, -1e9f64..1e9), 0..5)
        ) {
            let gaps = (0..ticks as u64).step_by(every as usize)
                .map(|at| (at * 1_000_000_000 + 100_000_000, at * 1_000_000_000 + 900_000_000)).collect();
            let value = |at: usize| extremes.iter().find(|(where_, _)| *where_ == at).map_or(0.0, |(_, value)| *value);
            let timeline = line((0..ticks).map(value), gaps);
            prop_assert!(points(&timeline) <= 4000);
            prop_assert_eq!(timeline.ticks.iter().sum::<u32>() as usize, ticks);
            if let Some(values) = &timeline.lines[0] {
                let (low, high) = (values.low.as_ref().unwrap_or(&values.mean), values.high.as_ref().unwrap_or(&values.mean));
                let all: Vec<f64> = (0..ticks).map(value).collect();
                let of = |numbers: &Numbers, pick: fn(f64, f64) -> f64| numbers.0.iter().flatten().copied().reduce(pick);
                prop_assert_eq!(of(low, f64::min), all.iter().copied().reduce(f64::min));
                prop_assert_eq!(of(high, f64::max), all.iter().copied().reduce(f64::max));
            }
        }
    }
}

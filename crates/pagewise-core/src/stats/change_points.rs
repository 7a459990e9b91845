//! Change points: where a series takes another level, or another level and spread, found exactly.
//!
//! The segmentation with the least cost is searched among all of them: each segment costs minus twice its log
//! likelihood and each change a penalty. PELT prunes places that can never be the last change again, which keeps the
//! search near linear. Sources: Killick, Fearnhead and Eckley, J. Am. Statist. Assoc. 107 (2012), 1590–1598; the
//! modified BIC penalty, which also charges for short segments, Zhang and Siegmund, Biometrics 63 (2007), 22–32.
//! Warm-up in the manner of Barrett, Bolz-Tereick, Killick, Mount and Tratt, "Virtual machine warmup blows hot and
//! cold", OOPSLA 2017.

use super::summary;

/// What may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The level; the spread is the same throughout and estimated from neighbours' differences.
    Mean,
    /// The level, the spread, or both. Segments have at least [`Change::fewest`] values.
    MeanAndVariance,
}

/// A stretch without a change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Segment {
    /// Index of its first value.
    pub start: usize,
    /// Index after its last value.
    pub end: usize,
    /// Mean of its values.
    pub mean: f64,
    /// Their standard deviation; 0 for a single value.
    pub sd: f64,
}

/// How a series of repetitions in one process settles.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Settling {
    /// No segment differs from the last by more than is tolerated.
    Flat,
    /// The first so many values are slower than the rest, which is steady.
    WarmUp {
        /// Values before the steady stretch.
        values: usize,
    },
    /// The first so many values are faster than the rest, which is steady.
    SlowDown {
        /// Values before the steady stretch.
        values: usize,
    },
    /// Something still changes in the last half of the series.
    NotSteady,
}

impl Change {
    /// Values a segment has at least.
    #[must_use]
    pub const fn fewest(self) -> usize {
        match self {
            Change::Mean => 1,
            // Two values can lie as close as they like: a likelihood without bound.
            Change::MeanAndVariance => 3,
        }
    }

    /// Modified BIC charges (parameters + 2) ln n per change, and ln of each segment's share through its cost.
    fn penalty(self, values: f64) -> f64 {
        let parameters = match self {
            Change::Mean => 1.0,
            Change::MeanAndVariance => 2.0,
        };
        (parameters + 2.0) * libm::log(values)
    }
}

/// The segments of a series, in order; one when nothing changes. Empty when a value is no finite number or there is
/// none.
#[must_use]
pub fn segments(values: &[f64], change: Change) -> Vec<Segment> {
    if values.is_empty() || values.iter().any(|value| !value.is_finite()) {
        return Vec::new();
    }
    let ends = pelt(&Costs::of(values, change));
    let starts = std::iter::once(0).chain(ends.iter().copied());
    let segment = |(start, end): (usize, &usize)| {
        let of = &values[start..*end];
        let mean = summary::mean(of).unwrap_or_default();
        Segment { start, end: *end, mean, sd: summary::standard_deviation(of).unwrap_or(0.0) }
    };
    starts.zip(&ends).map(segment).collect()
}

/// How a series settles, smaller values being better. Segments whose means are within `tolerance` (a share of the last
/// segment's mean, such as 0.01) of the last count as the same.
///
/// Steady means that nothing changes in the last half, where Barrett et al. ask for the last quarter of far longer
/// series. `None` where there are no segments or the last mean is not above 0.
#[must_use]
pub fn settling(segments: &[Segment], tolerance: f64) -> Option<Settling> {
    let last = segments.last().filter(|last| last.mean > 0.0)?;
    let differs = |segment: &Segment| (segment.mean - last.mean).abs() > tolerance * last.mean;
    let Some(before) = segments.iter().rposition(differs) else { return Some(Settling::Flat) };
    let values = segments[before].end;
    if 2 * values > last.end {
        return Some(Settling::NotSteady);
    }
    let unsteady: f64 = segments[..=before].iter().map(|s| (s.mean - last.mean) * (s.end - s.start) as f64).sum();
    Some(if unsteady > 0.0 { Settling::WarmUp { values } } else { Settling::SlowDown { values } })
}

/// Costs of segments from running sums.
struct Costs {
    change: Change,
    sums: Vec<f64>,
    squares: Vec<f64>,
    /// Variance within segments for [`Change::Mean`]; the least variance believed otherwise.
    variance: f64,
}

impl Costs {
    fn of(values: &[f64], change: Change) -> Costs {
        // Sums of values around their middle lose no digits to a large level.
        let middle = summary::median(values).unwrap_or_default();
        let range = values.iter().fold(0.0, |range: f64, value| range.max((value - middle).abs()));
        let scale = if range > 0.0 { range } else { 1.0 };
        let (mut sums, mut squares) = (vec![0.0], vec![0.0]);
        let scaled: Vec<f64> = values.iter().map(|value| (value - middle) / scale).collect();
        for (index, value) in scaled.iter().enumerate() {
            sums.push(sums[index] + value);
            squares.push(squares[index] + value * value);
        }
        // Spread too small to be noise: clock ticks and rounding.
        const LEAST: f64 = 1e-12;
        let variance = match change {
            Change::Mean => neighbour_variance(&scaled).max(LEAST),
            Change::MeanAndVariance => LEAST,
        };
        Costs { change, sums, squares, variance }
    }

    fn len(&self) -> usize {
        self.sums.len() - 1
    }

    fn segment(&self, start: usize, end: usize) -> f64 {
        let length = (end - start) as f64;
        let sum = self.sums[end] - self.sums[start];
        let rest = (self.squares[end] - self.squares[start] - sum * sum / length).max(0.0);
        let likelihood = match self.change {
            Change::Mean => rest / self.variance,
            Change::MeanAndVariance => length * (libm::log((rest / length).max(self.variance)) + 1.0),
        };
        likelihood + libm::log(length)
    }
}

/// Variance of the noise from differences of neighbours, which a change touches only once. The median of their sizes is
/// 0.6745 · √2 standard deviations for normal noise; where half of them are zero, their mean square stands in.
fn neighbour_variance(values: &[f64]) -> f64 {
    let differences: Vec<f64> = values.windows(2).map(|pair| (pair[1] - pair[0]).abs()).collect();
    let median =
        summary::median(&differences).unwrap_or_default() / (0.674_489_750_196_081_7 * std::f64::consts::SQRT_2);
    if median > 0.0 {
        return median * median;
    }
    let squares: f64 = differences.iter().map(|difference| difference * difference).sum();
    squares / (2.0 * differences.len().max(1) as f64)
}

/// Ends of the segments of least cost.
fn pelt(costs: &Costs) -> Vec<usize> {
    let (count, fewest) = (costs.len(), costs.change.fewest());
    if count < 2 * fewest {
        return vec![count];
    }
    let penalty = costs.change.penalty(count as f64);
    // Least cost of the values before each place, and where the last change before it lies.
    let mut least = vec![f64::INFINITY; count + 1];
    let mut last_change = vec![0; count + 1];
    least[0] = -penalty;
    // Places the last change may have, and the end from which on each is known to be beaten.
    let mut candidates = vec![(0, usize::MAX)];
    // Splitting a segment costs at most its share of the lengths' logarithms, ln(n/4), besides the penalty.
    let slack = libm::log(count as f64 / 4.0).max(0.0);
    for end in fewest..=count {
        candidates.retain(|(_, beaten_from)| end < *beaten_from);
        let total = |start: usize| least[start] + costs.segment(start, end) + penalty;
        let totals: Vec<f64> = candidates.iter().map(|(start, _)| total(*start)).collect();
        for ((start, _), total) in candidates.iter().zip(&totals) {
            if *total < least[end] {
                (least[end], last_change[end]) = (*total, *start);
            }
        }
        // What is dearer here than a change here stays dearer for every end that a segment from here can reach.
        for ((_, beaten_from), total) in candidates.iter_mut().zip(&totals) {
            if total - penalty > least[end] + slack {
                *beaten_from = (*beaten_from).min(end + fewest);
            }
        }
        candidates.push((end + 1 - fewest, usize::MAX));
    }
    let mut ends = Vec::new();
    let mut end = count;
    while end > 0 {
        ends.push(end);
        end = last_change[end];
    }
    ends.reverse();
    ends
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::normal_draws::NormalDraws;
    use proptest::prelude::*;

    fn starts(values: &[f64], change: Change) -> Vec<usize> {
        segments(values, change).iter().map(|segment| segment.start).collect()
    }

    /// Optimal partitioning without pruning: every last change for every end.
    fn exhaustive(values: &[f64], change: Change) -> Vec<usize> {
        let costs = Costs::of(values, change);
        let penalty = change.penalty(values.len() as f64);
        let mut least = vec![(f64::INFINITY, 0); values.len() + 1];
        least[0].0 = -penalty;
        for end in change.fewest()..=values.len() {
            for start in 0..=end - change.fewest() {
                let total = least[start].0 + costs.segment(start, end) + penalty;
                if total < least[end].0 {
                    least[end] = (total, start);
                }
            }
        }
        let mut starts = Vec::new();
        let mut end = values.len();
        while end > 0 {
            end = least[end].1;
            starts.push(end);
        }
        starts.reverse();
        starts
    }

    #[test]
    fn a_step_is_found_where_it_is() {
        let mut draw = NormalDraws::new(1);
        let series = [draw.normals(15, 10.0, 0.2), draw.normals(25, 11.0, 0.2), draw.normals(10, 10.0, 0.2)].concat();
        let found = segments(&series, Change::Mean);
        assert_eq!(found.iter().map(|segment| segment.start).collect::<Vec<_>>(), [0, 15, 40]);
        assert!((found[1].mean - 11.0).abs() < 0.2 && (found[1].sd - 0.2).abs() < 0.1);
    }

    #[test]
    fn a_change_of_spread_alone_is_found_when_asked_for() {
        let mut draw = NormalDraws::new(2);
        let series = [draw.normals(40, 10.0, 0.1), draw.normals(40, 10.0, 1.0)].concat();
        let found = starts(&series, Change::MeanAndVariance);
        assert!(found.len() == 2 && found[1].abs_diff(40) <= 3, "{found:?}");
    }

    #[test]
    fn noise_alone_rarely_looks_like_a_change() {
        // The modified BIC holds no declared level; these rates are what it gives.
        let mut draw = NormalDraws::new(3);
        for (count, change, most) in [
            (20, Change::Mean, 0.12),
            (100, Change::Mean, 0.03),
            (20, Change::MeanAndVariance, 0.10),
            (100, Change::MeanAndVariance, 0.06),
        ] {
            let trials = 1000;
            let changed = (0..trials).filter(|_| starts(&draw.normals(count, 5.0, 1.0), change).len() > 1).count();
            let rate = changed as f64 / f64::from(trials);
            assert!(rate <= most, "{count} values, {change:?}: {rate}");
        }
    }

    #[test]
    fn values_without_noise_change_exactly_where_they_change() {
        assert_eq!(starts(&[3.0; 12], Change::Mean), [0]);
        assert_eq!(starts(&[3.0; 12], Change::MeanAndVariance), [0]);
        assert_eq!(starts(&[1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0], Change::Mean), [0, 6]);
    }

    #[test]
    fn what_is_no_series_has_no_segments() {
        for change in [Change::Mean, Change::MeanAndVariance] {
            assert!(segments(&[], change).is_empty());
            assert!(segments(&[1.0, f64::NAN, 2.0], change).is_empty());
            assert!(segments(&[f64::INFINITY], change).is_empty());
            assert_eq!(segments(&[4.0], change), [Segment { start: 0, end: 1, mean: 4.0, sd: 0.0 }]);
            assert_eq!(segments(&[4.0, 5.0], change).len(), 1);
        }
    }

    #[test]
    fn warm_up_slow_down_and_unrest_are_told_apart() {
        let series = |means: &[(usize, f64)]| {
            let mut draw = NormalDraws::new(5);
            means.iter().flat_map(|(count, mean)| draw.normals(*count, *mean, 0.02)).collect::<Vec<_>>()
        };
        let settles = |means: &[(usize, f64)]| settling(&segments(&series(means), Change::Mean), 0.01);
        assert_eq!(settles(&[(40, 10.0)]), Some(Settling::Flat));
        assert_eq!(settles(&[(3, 14.0), (5, 11.0), (32, 10.0)]), Some(Settling::WarmUp { values: 8 }));
        assert_eq!(settles(&[(6, 9.0), (34, 10.0)]), Some(Settling::SlowDown { values: 6 }));
        assert_eq!(settles(&[(30, 10.0), (10, 11.0)]), Some(Settling::NotSteady));
        // Found, but too small to matter.
        assert_eq!(settles(&[(20, 10.06), (20, 10.0)]), Some(Settling::Flat));
        assert_eq!(settling(&[], 0.01), None);
    }

    proptest! {
        #[test]
        fn pruning_loses_nothing(
            values in prop::collection::vec(-3.0..3.0_f64, 1..40),
            step in 0.0..8.0_f64,
            at in 0usize..40,
        ) {
            let values: Vec<f64> =
                values.iter().enumerate().map(|(index, value)| value + if index >= at { step } else { 0.0 }).collect();
            for change in [Change::Mean, Change::MeanAndVariance] {
                let costs = Costs::of(&values, change);
                let penalty = change.penalty(values.len() as f64);
                let total = |starts: &[usize]| -> f64 {
                    let ends = starts[1..].iter().copied().chain([values.len()]);
                    starts.iter().zip(ends).map(|(start, end)| costs.segment(*start, end) + penalty).sum()
                };
                let (pruned, all) = (total(&starts(&values, change)), total(&exhaustive(&values, change)));
                if values.len() >= 2 * change.fewest() {
                    prop_assert!((pruned - all).abs() <= 1e-9 * all.abs().max(1.0), "{pruned} {all}");
                }
            }
        }

        #[test]
        fn shift_scale_and_mirror_do_not_matter(values in prop::collection::vec(-3.0..3.0_f64, 1..40)) {
            let moved: Vec<f64> = values.iter().map(|value| -64.0 * value + 1024.0).collect();
            for change in [Change::Mean, Change::MeanAndVariance] {
                prop_assert_eq!(starts(&values, change), starts(&moved, change));
            }
        }
    }
}

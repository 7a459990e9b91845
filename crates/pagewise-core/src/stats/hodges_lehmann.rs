//! Hodges and Lehmann's estimate: how far b is shifted against a, with an interval from ranks alone.
//!
//! The shift is the median of all differences between a value of b and one of a; for paired data the median of the means
//! of all two differences. The ends of the interval are differences, too: those that Mann and Whitney's test, or
//! Wilcoxon's signed ranks, just accept. Sources: Hodges and Lehmann, Ann. Math. Statist. 34 (1963), 598–611; Wilcoxon,
//! Biometrics Bull. 1 (1945), 80–83. As R's `wilcox.test(conf.int = TRUE)`: counted out below 50 values, with ties, too,
//! where the interval then covers a little more than it says; beyond that from the normal approximation.

use super::normal;
use super::rank_distribution::{Counts, FEWEST_APPROXIMATE, for_each_tie_group};

/// Up to so many differences of two samples are sorted; of more, the few that are needed are searched for.
const MOST_SORTED: usize = 2_500;

/// Up to so many differences, ties are counted out.
const MOST_WITH_TIES: usize = 8;

/// A shift and its interval, in the unit of the values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shift {
    /// The estimate; above zero when b is larger.
    pub shift: f64,
    /// Low end of the interval.
    pub ci_low: f64,
    /// High end of the interval.
    pub ci_high: f64,
    /// The confidence that the interval really has: ranks come in steps, so that it is seldom 1 − alpha exactly, and
    /// with a few values it may be far below. 1 − alpha where it is approximated.
    pub level: f64,
}

/// The shift of b against a. R estimates that of its first argument against the second, which has the other sign.
///
/// `None` without values in both, with one that is not finite, with an alpha outside 0 to 1, or when a difference leaves
/// the range of a float.
#[must_use]
pub fn two_sample(a: &[f64], b: &[f64], alpha: f64) -> Option<Shift> {
    if a.len().max(b.len()) >= FEWEST_APPROXIMATE {
        return approximate(a, b, alpha);
    }
    if a.is_empty() || b.is_empty() {
        return None;
    }
    Differences::of(a, b)?.shift(Counts::of_two_samples(a.len(), b.len()).interval_rank(alpha), alpha)
}

/// As [`two_sample`] by the normal approximation, whatever the size: where R's `wilcox.test(exact = FALSE)` finds its
/// ends by search, to four decimals.
#[must_use]
pub fn approximate(a: &[f64], b: &[f64], alpha: f64) -> Option<Shift> {
    if a.is_empty() || b.is_empty() {
        return None;
    }
    let (m, n) = (a.len() as f64, b.len() as f64);
    // Values tied within an arm stay tied whatever the shift; those tied between the arms do not.
    let variance = m * n / 12.0 * ((m + n + 1.0) - (tied(a) + tied(b)) / ((m + n) * (m + n - 1.0)));
    Differences::of(a, b)?.shift((approximate_rank(m * n, variance, alpha), 1.0 - alpha), alpha)
}

/// Wilcoxon's signed ranks and the shift that goes with them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SignedRank {
    /// Sum of the ranks of the positive differences. R prints it as V.
    pub v: f64,
    /// Two-sided p-value of differences that are symmetric about zero.
    pub p: f64,
    /// Whether the p-value was counted out rather than approximated.
    pub exact: bool,
    /// Where the differences are centred. From all of them, those of zero included.
    pub shift: Shift,
}

/// Tests whether paired differences are centred on zero, and where they are.
///
/// Differences of zero are left out of the test, as in R. Its p-value is counted out below 50 differences, or up to 8
/// with ties or zeros; otherwise it is R's `wilcox.test(exact = FALSE)`. `None` as in [`two_sample`].
#[must_use]
pub fn signed_rank(differences: &[f64], alpha: f64) -> Option<SignedRank> {
    let n = differences.len();
    let averages = Averages::of(differences)?;
    let at = if n < FEWEST_APPROXIMATE {
        Counts::of_signed_ranks(n).interval_rank(alpha)
    } else {
        let size = n as f64;
        let variance = size * (size + 1.0) * (2.0 * size + 1.0) / 24.0;
        (approximate_rank(size * (size + 1.0) / 2.0, variance, alpha), 1.0 - alpha)
    };
    let shift = averages.shift(at, alpha)?;
    let (v, p, exact) = signed_rank_p(differences);
    Some(SignedRank { v, p, exact, shift })
}

fn signed_rank_p(differences: &[f64]) -> (f64, f64, bool) {
    let mut sizes: Vec<(f64, bool)> = differences.iter().filter(|d| **d != 0.0).map(|d| (d.abs(), *d > 0.0)).collect();
    let n = sizes.len();
    let mut doubled = Vec::with_capacity(n);
    let (mut doubled_sum, mut tied) = (0, 0.0);
    for_each_tie_group(&mut sizes, |first, last, group| {
        doubled_sum += (first + last) * group.iter().filter(|(_, positive)| *positive).count();
        doubled.extend(std::iter::repeat_n(first + last, group.len()));
        let size = group.len() as f64;
        tied += size * size * size - size;
    });
    let v = doubled_sum as f64 / 2.0;
    if tied == 0.0 && n == differences.len() && n < FEWEST_APPROXIMATE {
        return (v, Counts::of_signed_ranks(n).two_sided_p(doubled_sum / 2), true);
    }
    if n <= MOST_WITH_TIES {
        return (v, p_over_all_signs(&doubled, doubled_sum), true);
    }
    let size = n as f64;
    let distance = (v - size * (size + 1.0) / 4.0).abs();
    let variance = size * (size + 1.0) * (2.0 * size + 1.0) / 24.0 - tied / 48.0;
    let p = if distance > 0.0 { 2.0 * normal::upper((distance - 0.5) / variance.sqrt()) } else { 1.0 };
    (v, p.min(1.0), false)
}

/// How often random signs give a sum as far from its expectation as the one seen; at most 256 ways.
fn p_over_all_signs(doubled: &[usize], seen: usize) -> f64 {
    let all: usize = doubled.iter().sum();
    let distance = |sum: usize| (2 * sum).abs_diff(all);
    let sum_of = |signs: u32| -> usize { (0..doubled.len()).filter(|i| signs >> i & 1 == 1).map(|i| doubled[i]).sum() };
    let ways = 1_u32 << doubled.len();
    let as_far = (0..ways).filter(|signs| distance(sum_of(*signs)) >= distance(seen)).count();
    as_far as f64 / f64::from(ways)
}

/// Σ t³ − t over the groups of t equal values.
fn tied(values: &[f64]) -> f64 {
    let mut values: Vec<(f64, ())> = values.iter().map(|value| (*value, ())).collect();
    let mut tied = 0.0;
    for_each_tie_group(&mut values, |_, _, group| {
        let size = group.len() as f64;
        tied += size * size * size - size;
    });
    tied
}

/// The rank, from 1, of the difference at which the approximated interval begins: the statistic, which falls by one at
/// each difference, there passes half its `largest` value plus half a step plus z standard deviations.
fn approximate_rank(largest: f64, variance: f64, alpha: f64) -> usize {
    let z = normal::quantile(1.0 - alpha / 2.0);
    // A number that is negative or not a number becomes 0.
    (largest / 2.0 - 0.5 - z * variance.sqrt()).floor() as usize + 1
}

/// All differences b − a, without writing them down where they are many.
struct Differences {
    a: Vec<f64>,
    b: Vec<f64>,
    sorted: Option<Vec<f64>>,
}

impl Differences {
    fn of(a: &[f64], b: &[f64]) -> Option<Differences> {
        let (a, b) = (sorted(a)?, sorted(b)?);
        let few = a.len() * b.len() <= MOST_SORTED;
        let sorted = few.then(|| {
            let mut all: Vec<f64> = b.iter().flat_map(|b| a.iter().map(move |a| b - a)).collect();
            all.sort_unstable_by(f64::total_cmp);
            all
        });
        Some(Differences { a, b, sorted })
    }

    fn shift(&self, at: (usize, f64), alpha: f64) -> Option<Shift> {
        shift(self.a.len() * self.b.len(), |rank| self.nth(rank), at, alpha)
    }

    /// The difference of this rank, from 1.
    fn nth(&self, rank: usize) -> f64 {
        if let Some(sorted) = &self.sorted {
            return sorted[rank - 1];
        }
        let (smallest, largest) = (self.b[0] - self.a[self.a.len() - 1], self.b[self.b.len() - 1] - self.a[0]);
        first_with(smallest, largest, |bound| self.at_most(bound) >= rank)
    }

    /// How many differences are at most `bound`: the larger a, the more of b.
    fn at_most(&self, bound: f64) -> usize {
        let (mut count, mut of_b) = (0, 0);
        for a in &self.a {
            while of_b < self.b.len() && self.b[of_b] - a <= bound {
                of_b += 1;
            }
            count += of_b;
        }
        count
    }
}

/// The means of all two values, each with itself included.
struct Averages {
    values: Vec<f64>,
    sorted: Option<Vec<f64>>,
}

impl Averages {
    fn of(values: &[f64]) -> Option<Averages> {
        if values.is_empty() {
            return None;
        }
        let values = sorted(values)?;
        let few = values.len() * (values.len() + 1) / 2 <= MOST_SORTED;
        let sorted = few.then(|| {
            let with_rest = |i: usize| values[i..].iter().map(|later| (values[i] + later) / 2.0).collect::<Vec<f64>>();
            let mut all: Vec<f64> = (0..values.len()).flat_map(with_rest).collect();
            all.sort_unstable_by(f64::total_cmp);
            all
        });
        Some(Averages { values, sorted })
    }

    fn shift(&self, at: (usize, f64), alpha: f64) -> Option<Shift> {
        shift(self.values.len() * (self.values.len() + 1) / 2, |rank| self.nth(rank), at, alpha)
    }

    fn nth(&self, rank: usize) -> f64 {
        if let Some(sorted) = &self.sorted {
            return sorted[rank - 1];
        }
        first_with(self.values[0], self.values[self.values.len() - 1], |bound| self.at_most(bound) >= rank)
    }

    fn at_most(&self, bound: f64) -> usize {
        // Over ordered pairs every mean of two different values counts twice.
        let (mut ordered, mut of_later) = (0, 0);
        for value in self.values.iter().rev() {
            while of_later < self.values.len() && (value + self.values[of_later]) / 2.0 <= bound {
                of_later += 1;
            }
            ordered += of_later;
        }
        (ordered + self.values.partition_point(|value| *value <= bound)) / 2
    }
}

fn sorted(values: &[f64]) -> Option<Vec<f64>> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    values.iter().all(|value| value.is_finite()).then_some(sorted)
}

/// Median and interval of `count` ordered numbers, of which `nth` gives the one of a rank from 1.
fn shift(count: usize, nth: impl Fn(usize) -> f64, (rank, level): (usize, f64), alpha: f64) -> Option<Shift> {
    if !(alpha > 0.0 && alpha < 1.0) {
        return None;
    }
    let rank = rank.clamp(1, count.div_ceil(2));
    let (below, above) = (nth(count.div_ceil(2)), nth(count / 2 + 1));
    // The sum of zero makes a negative zero positive.
    let shift = below + (above - below) / 2.0 + 0.0;
    let found = Shift { shift, ci_low: nth(rank) + 0.0, ci_high: nth(count + 1 - rank) + 0.0, level };
    let in_range = found.shift.is_finite() && found.ci_low.is_finite() && found.ci_high.is_finite();
    in_range.then_some(found)
}

/// The smallest float from `low` to `high` for which `holds`, by halving the floats between: at most 64 steps.
fn first_with(low: f64, high: f64, holds: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (place(low), place(high));
    while low < high {
        let middle = low + (((high as i128 - low as i128) / 2) as i64);
        if holds(at_place(middle)) { high = middle } else { low = middle + 1 }
    }
    at_place(high)
}

/// Floats in their order as whole numbers; the same exchange leads back.
fn place(value: f64) -> i64 {
    let bits = value.to_bits() as i64;
    bits ^ (((bits >> 63) as u64) >> 1) as i64
}

fn at_place(place: i64) -> f64 {
    f64::from_bits((place ^ (((place >> 63) as u64) >> 1) as i64) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_permeability_data_of_r_s_help_page_have_this_interval() {
        let at_term = [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46];
        let earlier = [1.15, 0.88, 0.90, 0.74, 1.21];
        let found = two_sample(&earlier, &at_term, 0.05).unwrap();
        let near = |found: f64, wanted: f64| (found - wanted).abs() < 1e-12;
        assert!(near(found.shift, 0.305) && near(found.ci_low, -0.15) && near(found.ci_high, 0.76), "{found:?}");
        assert!(found.level >= 0.95);
    }

    #[test]
    #[allow(clippy::approx_constant, reason = "3.14 is what a patient scored")]
    fn the_depression_data_of_r_s_help_page_give_v_40() {
        let first = [1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30];
        let second = [0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29];
        let differences: Vec<f64> = first.iter().zip(second).map(|(x, y)| x - y).collect();
        let found = signed_rank(&differences, 0.05).unwrap();
        assert_eq!((found.v, format!("{:.5}", found.p), found.exact), (40.0, "0.03906".into(), true));
    }

    #[test]
    fn four_values_cannot_support_95_percent_and_say_so() {
        let found = two_sample(&[1.0, 2.0], &[5.0, 7.0], 0.05).unwrap();
        assert_eq!((found.ci_low, found.ci_high), (3.0, 6.0));
        assert!((found.level - 2.0 / 3.0).abs() < 1e-12);
    }

    #[test]
    fn nonsense_is_none() {
        assert_eq!(two_sample(&[], &[1.0], 0.05), None);
        assert_eq!(two_sample(&[f64::NAN], &[1.0], 0.05), None);
        assert_eq!(two_sample(&[-f64::MAX], &[f64::MAX], 0.05), None);
        assert_eq!(two_sample(&[1.0, 2.0], &[1.0], 0.0), None);
        assert_eq!(signed_rank(&[], 0.05), None);
        assert_eq!(signed_rank(&[1.0], f64::NAN), None);
        assert_eq!(signed_rank(&[0.0; 9], 0.05).map(|found| (found.p, found.shift.shift)), Some((1.0, 0.0)));
    }

    fn sample() -> impl Strategy<Value = Vec<f64>> {
        prop::collection::vec((-500i16..500).prop_map(f64::from), 1..70)
    }

    proptest! {
        #[test]
        fn searching_finds_what_sorting_finds(a in sample(), b in sample(), alpha in 0.001f64..0.9) {
            let listed = Differences::of(&a, &b).unwrap();
            let mut all: Vec<f64> = b.iter().flat_map(|b| a.iter().map(move |a| b - a)).collect();
            all.sort_unstable_by(f64::total_cmp);
            let searched = Differences { sorted: None, ..listed };
            for rank in [1, all.len().div_ceil(3), all.len().div_ceil(2), all.len()] {
                prop_assert_eq!(searched.nth(rank), all[rank - 1]);
            }
            let averages = Averages::of(&a).unwrap();
            let listed = signed_rank(&a, alpha).unwrap().shift.shift;
            let count = a.len() * (a.len() + 1) / 2;
            let searched = Averages { sorted: None, ..averages };
            let median = (searched.nth(count.div_ceil(2)) + searched.nth(count / 2 + 1)) / 2.0;
            prop_assert_eq!(median, listed);
        }

        #[test]
        fn swapping_the_arms_flips_the_signs(a in sample(), b in sample()) {
            let (ab, ba) = (two_sample(&a, &b, 0.05).unwrap(), two_sample(&b, &a, 0.05).unwrap());
            prop_assert_eq!((ab.shift, ab.ci_low, ab.ci_high), (-ba.shift, -ba.ci_high, -ba.ci_low));
        }

        #[test]
        fn moving_b_moves_the_interval_and_scaling_scales_it(a in sample(), b in sample(), by in -99i16..99) {
            let plain = two_sample(&a, &b, 0.05).unwrap();
            let moved: Vec<f64> = b.iter().map(|v| v + f64::from(by)).collect();
            let found = two_sample(&a, &moved, 0.05).unwrap();
            prop_assert_eq!((found.ci_low, found.ci_high), (plain.ci_low + f64::from(by), plain.ci_high + f64::from(by)));
            let scaled = |values: &[f64]| values.iter().rev().map(|v| v * 4.0).collect::<Vec<f64>>();
            let found = two_sample(&scaled(&a), &scaled(&b), 0.05).unwrap();
            prop_assert_eq!((found.shift, found.ci_low), (plain.shift * 4.0, plain.ci_low * 4.0));
        }

        #[test]
        fn the_interval_holds_the_estimate(a in sample(), b in sample(), alpha in 0.001f64..0.999) {
            let found = two_sample(&a, &b, alpha).unwrap();
            prop_assert!(found.ci_low <= found.shift && found.shift <= found.ci_high);
            let paired = signed_rank(&a, alpha).unwrap();
            prop_assert!(paired.shift.ci_low <= paired.shift.shift && paired.shift.shift <= paired.shift.ci_high);
            prop_assert!(paired.p > 0.0 && paired.p <= 1.0);
        }
    }
}

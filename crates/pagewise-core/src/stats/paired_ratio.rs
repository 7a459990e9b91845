//! The ratio of two means of values that come in pairs, with Fieller's interval: which part of a loss is left.
//!
//! Both means are of the same blocks, so that they vary together. Fieller's theorem (J. R. Statist. Soc. B 16 (1954), 175–185) asks which
//! ratios θ the paired t test of mean(y − θ · x) = 0 accepts, at n − 1 degrees of freedom; on such pairs it is exact where they are normal.

use super::{student_t, summary};

/// mean(y) / mean(x).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairedRatio {
    /// The estimate.
    pub ratio: f64,
    /// Low end of its 1 − alpha interval.
    pub low: f64,
    /// High end of the interval.
    pub high: f64,
}

/// Of pairs (x, y). `None` below three pairs, and where the mean of x is not significantly different from zero at `alpha`: the
/// accepted ratios are then no interval.
#[must_use]
pub fn of(pairs: &[(f64, f64)], alpha: f64) -> Option<PairedRatio> {
    if pairs.len() < 3 {
        return None;
    }
    let n = pairs.len() as f64;
    let (x, y): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    let (mean_x, mean_y) = (summary::mean(&x)?, summary::mean(&y)?);
    let q = student_t::critical_value(alpha, n - 1.0);
    let per_mean = q * q / (n * (n - 1.0));
    let xx = per_mean * summary::sum_of_squares(&x);
    let yy = per_mean * summary::sum_of_squares(&y);
    let xy = per_mean * pairs.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum::<f64>();
    // The roots of (ȳ − θ x̄)² = yy − 2 θ xy + θ² xx.
    let square = mean_x * mean_x - xx;
    if square <= 0.0 {
        return None;
    }
    let half = mean_x * mean_y - xy;
    let root = (half * half - square * (mean_y * mean_y - yy)).max(0.0).sqrt();
    let found = PairedRatio { ratio: mean_y / mean_x, low: (half - root) / square, high: (half + root) / square };
    [found.ratio, found.low, found.high].iter().all(|value| value.is_finite()).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PAIRS: [(f64, f64); 6] =
        [(0.30, 0.05), (0.22, 0.02), (0.41, 0.09), (0.28, -0.01), (0.35, 0.06), (0.25, 0.04)];

    /// The paired t statistic of mean(y − θ x) = 0.
    fn t(pairs: &[(f64, f64)], ratio: f64) -> f64 {
        let rest: Vec<f64> = pairs.iter().map(|(x, y)| y - ratio * x).collect();
        let n = rest.len() as f64;
        summary::mean(&rest).unwrap() / (summary::standard_deviation(&rest).unwrap() / n.sqrt())
    }

    #[test]
    fn both_ends_are_ratios_that_the_paired_test_just_accepts() {
        let found = of(&PAIRS, 0.05).unwrap();
        for end in [found.low, found.high] {
            assert!((t(&PAIRS, end).abs() - student_t::critical_value(0.05, 5.0)).abs() < 1e-9, "{end}");
        }
        assert!(found.low < found.ratio && found.ratio < found.high);
        assert!((found.ratio - 0.25 / 1.81).abs() < 1e-12);
    }

    #[test]
    fn a_loss_that_may_be_none_has_no_part() {
        assert_eq!(of(&[(0.1, 0.0), (-0.1, 0.1), (0.02, 0.0)], 0.05), None);
        assert_eq!(of(&PAIRS[..2], 0.05), None);
    }

    proptest! {
        #[test]
        fn the_unit_does_not_matter(values in prop::collection::vec((0.5f64..2.0, -1.0f64..1.0), 4..12)) {
            let scaled: Vec<(f64, f64)> = values.iter().map(|(x, y)| (x * 8.0, y * 8.0)).collect();
            prop_assert_eq!(of(&values, 0.05), of(&scaled, 0.05));
        }
    }
}

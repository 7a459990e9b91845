//! The relative change from a to b, with an interval: from the means (Fieller), from the logarithms, and as one script
//! that many know prints it.
//!
//! Dividing the interval of a difference by the mean of a treats that mean as if it were known. Fieller's theorem does
//! not: it asks which ratios θ the test of mean(b) − θ · mean(a) = 0 accepts. Source: Fieller, J. R. Statist. Soc. B 16
//! (1954), 175–185. Each arm has its own variance, as in Welch's test. The degrees of freedom are Welch's, that is
//! Satterthwaite's at θ = 1, so that the interval excludes "no change" exactly when Welch's p-value is below alpha;
//! taking them at the estimated ratio (Tamhane and Logan, J. Biopharm. Statist. 14 (2004), 843–856) would let the two disagree.

use super::student_t;
use super::welch::{TwoMeans, Welch};

/// The interval of mean(b) / mean(a) − 1 that covers the truth with probability 1 − `alpha`, low end first.
///
/// A fraction: 0.05 is 5 % more. `None` where [`super::welch::test`] gives none, and when the mean of a is not
/// significantly different from zero at `alpha`: the accepted ratios are then no interval.
#[must_use]
pub fn fieller(a: &[f64], b: &[f64], alpha: f64) -> Option<(f64, f64)> {
    let means = TwoMeans::of(a, b)?;
    let q = means.critical_value(alpha)?;
    let noise = q * q * means.squared_error_a;
    let denominator = means.a * means.a - noise;
    if denominator <= 0.0 {
        return None;
    }
    // The roots of (d − φ · a)² = q² (vb + (1 + φ)² va) for the change φ = θ − 1 and d = b − a; solved for φ and not
    // for θ, so that a small change keeps its digits.
    let centre = (means.b - means.a) * means.a + noise;
    let root = q * (means.squared_error_b * denominator + means.squared_error_a * means.b * means.b).sqrt();
    let (low, high) = ((centre - root) / denominator, (centre + root) / denominator);
    (low.is_finite() && high.is_finite()).then_some((low, high))
}

/// b relative to a from the means of the logarithms: the ratio of the geometric means.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogRatio {
    /// Geometric mean of b over that of a; 1 is no change.
    pub ratio: f64,
    /// Low end of its 1 − alpha interval.
    pub low: f64,
    /// High end of the interval.
    pub high: f64,
    /// Two-sided p-value of a ratio of 1: Welch's on the logarithms.
    pub p: f64,
    /// Standard error of the logarithm of the ratio.
    pub standard_error: f64,
    /// Welch's degrees of freedom.
    pub df: f64,
}

/// Welch's test on natural logarithms, its interval exponentiated.
///
/// `None` unless all values are above zero, and where [`super::welch::test`] of the logarithms gives none.
#[must_use]
pub fn log_ratio(a: &[f64], b: &[f64], alpha: f64) -> Option<LogRatio> {
    let logs = LogDifference::of(a, b)?;
    let half_width = student_t_of(alpha, logs.df)? * logs.standard_error;
    let found = LogRatio {
        ratio: libm::exp(logs.b_minus_a),
        low: libm::exp(logs.b_minus_a - half_width),
        high: libm::exp(logs.b_minus_a + half_width),
        p: student_t::two_sided_p(logs.b_minus_a / logs.standard_error, logs.df),
        standard_error: logs.standard_error,
        df: logs.df,
    };
    (found.ratio > 0.0 && found.high.is_finite()).then_some(found)
}

fn student_t_of(alpha: f64, df: f64) -> Option<f64> {
    (alpha > 0.0 && alpha < 1.0).then(|| student_t::critical_value(alpha, df))
}

/// The difference of the means of the logarithms, before any level is chosen.
pub(super) struct LogDifference {
    pub(super) b_minus_a: f64,
    pub(super) standard_error: f64,
    pub(super) df: f64,
}

impl LogDifference {
    /// `None` as [`log_ratio`] says.
    pub(super) fn of(a: &[f64], b: &[f64]) -> Option<LogDifference> {
        let logs = |values: &[f64]| -> Option<Vec<f64>> {
            values.iter().map(|value| (*value > 0.0).then(|| libm::log(*value))).collect()
        };
        let means = TwoMeans::of(&logs(a)?, &logs(b)?)?;
        Some(LogDifference {
            b_minus_a: (means.b - means.a) * means.unit,
            standard_error: means.standard_error * means.unit,
            df: means.df,
        })
    }
}

/// The percent interval as the R script of the published MGLRU benchmarks prints it: the interval of
/// mean(a) − mean(b) times 100 over the mean of a, both ends negated and swapped.
///
/// In percent. For comparison with those tables only: it takes the mean of a for known. `None` where that script says
/// "no significance", which is when the interval covers zero, and when the mean of a is zero.
#[must_use]
pub fn as_r_prints(welch: &Welch) -> Option<(f64, f64)> {
    let (first, second) = (welch.ci_low * 100.0 / welch.mean_a, welch.ci_high * 100.0 / welch.mean_a);
    let covers_zero = (first > 0.0 && second < 0.0) || (first < 0.0 && second > 0.0);
    (first.is_finite() && second.is_finite() && !covers_zero).then_some((-second, -first))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::welch;
    use proptest::prelude::*;

    const BASELINE: [f64; 10] = [878.83, 886.33, 902.75, 904.83, 907.25, 918.50, 921.33, 925.50, 927.58, 942.41];
    const PATCHED: [f64; 10] = [813.33, 819.00, 821.91, 829.33, 839.50, 846.75, 850.25, 857.00, 875.83, 878.66];

    #[test]
    fn the_published_script_prints_these_percentages() {
        let welch = welch::test(&BASELINE, &PATCHED, 0.05).unwrap();
        let (low, high) = as_r_prints(&welch).unwrap();
        assert_eq!(format!("[{low:.2}, {high:.2}]%"), "[-9.69, -5.31]%");
    }

    #[test]
    fn the_published_script_prints_nothing_without_significance() {
        let welch = welch::test(&BASELINE, &BASELINE.map(|v| v + 1.0), 0.05).unwrap();
        assert_eq!(as_r_prints(&welch), None);
    }

    #[test]
    fn both_ends_of_fieller_are_ratios_that_the_test_just_accepts() {
        let (low, high) = fieller(&BASELINE, &PATCHED, 0.05).unwrap();
        let means = TwoMeans::of(&BASELINE, &PATCHED).unwrap();
        let q = student_t::critical_value(0.05, means.df);
        for theta in [1.0 + low, 1.0 + high] {
            let error = (means.squared_error_b + theta * theta * means.squared_error_a).sqrt();
            let t = (means.b - theta * means.a) / error;
            assert!((t.abs() - q).abs() < 1e-9, "{theta}: {t} {q}");
        }
        assert!(low < -0.0750 && high > -0.0751);
    }

    #[test]
    fn a_base_that_may_be_zero_has_no_percentage() {
        assert_eq!(fieller(&[-1.0, 1.0, 0.5], &[5.0, 6.0, 7.0], 0.05), None);
        assert_eq!(fieller(&[0.0; 3], &[5.0, 6.0, 7.0], 0.05), None);
    }

    #[test]
    fn doubling_is_a_ratio_of_two() {
        let found = log_ratio(&PATCHED, &PATCHED.map(|v| 2.0 * v), 0.05).unwrap();
        assert!((found.ratio - 2.0).abs() < 1e-13 && found.low < 2.0 && found.high > 2.0);
        assert!((found.low * found.high - 4.0).abs() < 1e-12, "symmetric on logarithms");
    }

    #[test]
    fn a_zero_has_no_logarithm() {
        assert_eq!(log_ratio(&[0.0, 1.0, 2.0], &[1.0, 2.0, 3.0], 0.05), None);
        assert_eq!(log_ratio(&[1.0, 1.5, 2.0], &[-1.0, 2.0, 3.0], 0.05), None);
    }

    fn sample() -> impl Strategy<Value = Vec<f64>> {
        prop::collection::vec(0.1f64..100.0, 2..12)
    }

    proptest! {
        #[test]
        fn the_percentage_excludes_no_change_exactly_when_welch_does(a in sample(), b in sample()) {
            let (Some((low, high)), Some(welch)) = (fieller(&a, &b, 0.05), welch::test(&a, &b, 0.05)) else {
                return Ok(());
            };
            prop_assume!((welch.p - 0.05).abs() > 1e-9);
            prop_assert_eq!(low > 0.0 || high < 0.0, welch.p < 0.05);
        }

        #[test]
        fn the_unit_of_the_values_does_not_matter(a in sample(), b in sample(), exponent in -900i32..900) {
            let scaled = |values: &[f64]| values.iter().map(|v| libm::scalbn(*v, exponent)).collect::<Vec<f64>>();
            prop_assert_eq!(fieller(&scaled(&a), &scaled(&b), 0.05), fieller(&a, &b, 0.05));
        }

        #[test]
        fn swapping_the_arms_inverts_the_ratio(a in sample(), b in sample()) {
            let (Some(ab), Some(ba)) = (log_ratio(&a, &b, 0.05), log_ratio(&b, &a, 0.05)) else { return Ok(()) };
            prop_assert!((ab.ratio * ba.ratio - 1.0).abs() < 1e-12);
            prop_assert!((ab.low * ba.high - 1.0).abs() < 1e-9 && (ab.p - ba.p).abs() < 1e-12);
            let (Some(ab), Some(ba)) = (fieller(&a, &b, 0.05), fieller(&b, &a, 0.05)) else { return Ok(()) };
            prop_assume!(ab.0 > -1.0 && ba.0 > -1.0);
            prop_assert!(((1.0 + ab.0) * (1.0 + ba.1) - 1.0).abs() < 1e-9);
        }
    }
}

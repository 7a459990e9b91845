//! Welch's t test: do the means of two samples differ, whatever their spreads?
//!
//! Sources: Welch, Biometrika 34 (1947), 28–35; degrees of freedom by Satterthwaite, Biometrics Bull. 2 (1946),
//! 110–114. Every number is that of R's `t.test(a, b)`, down to how R rounds a mean and when it calls data constant.

use super::student_t;

/// The test and the interval of mean(a) − mean(b), in the unit of the values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Welch {
    /// Mean of a minus mean of b.
    pub difference: f64,
    /// The difference in standard errors.
    pub t: f64,
    /// Degrees of freedom, seldom a whole number.
    pub df: f64,
    /// Two-sided p-value.
    pub p: f64,
    /// Low end of the 1 − alpha interval of the difference.
    pub ci_low: f64,
    /// High end of the interval.
    pub ci_high: f64,
    /// Mean of a.
    pub mean_a: f64,
    /// Mean of b.
    pub mean_b: f64,
}

/// Tests mean(a) = mean(b), with an interval that covers the difference with probability 1 − `alpha`.
///
/// `None` with fewer than two values in a sample, a value that is not finite, an alpha outside 0 to 1, data that are
/// constant in a float's precision (R's rule: a standard error below ten roundings of the larger mean), or results that
/// leave the range of a float.
#[must_use]
pub fn test(a: &[f64], b: &[f64], alpha: f64) -> Option<Welch> {
    let means = TwoMeans::of(a, b)?;
    let half_width = means.critical_value(alpha)?;
    let t = (means.a - means.b) / means.standard_error;
    let (error, unit) = (means.standard_error, means.unit);
    let found = Welch {
        difference: (means.a - means.b) * unit,
        t,
        df: means.df,
        p: student_t::two_sided_p(t, means.df),
        ci_low: (t - half_width) * error * unit,
        ci_high: (t + half_width) * error * unit,
        mean_a: means.a * unit,
        mean_b: means.b * unit,
    };
    let in_range = found.difference.is_finite() && found.ci_low.is_finite() && found.ci_high.is_finite();
    in_range.then_some(found)
}

/// Two means and how well each is known, in units of `unit`.
///
/// The unit is the power of two below the largest value: dividing by it changes no digit, and squares then neither
/// overflow nor vanish for values of 1e300 or 1e-300.
pub(super) struct TwoMeans {
    pub(super) unit: f64,
    pub(super) a: f64,
    pub(super) b: f64,
    /// Squared standard error of each mean.
    pub(super) squared_error_a: f64,
    pub(super) squared_error_b: f64,
    /// Of the difference of the means.
    pub(super) standard_error: f64,
    pub(super) df: f64,
}

impl TwoMeans {
    /// `None` as [`test`] says.
    pub(super) fn of(a: &[f64], b: &[f64]) -> Option<TwoMeans> {
        if a.len() < 2 || b.len() < 2 {
            return None;
        }
        let largest = a.iter().chain(b).fold(0.0, |largest: f64, value| largest.max(value.abs()));
        // `max` passes over what is not a number; the sum does not.
        let sum: f64 = a.iter().chain(b).map(|value| value / largest).sum();
        if !(sum.is_finite() && largest.is_finite()) {
            return None;
        }
        // Within what has a reciprocal that is a float, too.
        let unit = libm::scalbn(1.0, libm::ilogb(largest).clamp(-1022, 1022));
        let ((mean_a, squared_error_a), (mean_b, squared_error_b)) = (mean(a, unit), mean(b, unit));
        let squared_error = squared_error_a + squared_error_b;
        let standard_error = squared_error.sqrt();
        if standard_error <= 10.0 * f64::EPSILON * mean_a.abs().max(mean_b.abs()) {
            return None;
        }
        let (share_a, share_b) = (squared_error_a / squared_error, squared_error_b / squared_error);
        let df = 1.0 / (share_a * share_a / (a.len() - 1) as f64 + share_b * share_b / (b.len() - 1) as f64);
        Some(TwoMeans { unit, a: mean_a, b: mean_b, squared_error_a, squared_error_b, standard_error, df })
    }

    /// Half the width of a 1 − `alpha` interval in standard errors. `None` for an alpha outside 0 to 1.
    pub(super) fn critical_value(&self, alpha: f64) -> Option<f64> {
        (alpha > 0.0 && alpha < 1.0).then(|| student_t::critical_value(alpha, self.df))
    }
}

/// The mean and its squared standard error, in units. The second pass corrects the rounding of the first, as in R: of a
/// small spread about a large mean every digit of the mean counts.
fn mean(values: &[f64], unit: f64) -> (f64, f64) {
    let n = values.len() as f64;
    let per_unit = 1.0 / unit;
    let rough = values.iter().map(|value| value * per_unit).sum::<f64>() / n;
    let mean = rough + values.iter().map(|value| value * per_unit - rough).sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| value * per_unit - mean).map(|distance| distance * distance).sum();
    (mean, squares / (n - 1.0) / n)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn close(found: f64, wanted: f64) -> bool {
        (found - wanted).abs() <= 1e-9 * wanted.abs()
    }

    /// The number of decimals that R printed decides how close we must be.
    fn rounds_to(found: f64, printed: &str) -> bool {
        let decimals = printed.split_once('.').map_or(0, |(_, decimals)| decimals.len());
        format!("{found:.decimals$}") == printed
    }

    #[test]
    fn the_sleep_data_of_r_s_help_page_give_what_r_prints() {
        let group_1 = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0];
        let group_2 = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4];
        let found = test(&group_1, &group_2, 0.05).unwrap();
        assert!(rounds_to(found.t, "-1.8608") && rounds_to(found.df, "17.776") && rounds_to(found.p, "0.07939"));
        assert!(rounds_to(found.ci_low, "-3.3654832") && rounds_to(found.ci_high, "0.2054832"));
        assert!(rounds_to(found.mean_a, "0.75") && rounds_to(found.mean_b, "2.33"));
    }

    #[test]
    fn one_to_ten_against_seven_to_twenty_is_r_s_example_with_and_without_its_outlier() {
        let a: Vec<f64> = (1..=10).map(f64::from).collect();
        let mut b: Vec<f64> = (7..=20).map(f64::from).collect();
        let found = test(&a, &b, 0.05).unwrap();
        assert!(rounds_to(found.t, "-5.4349") && rounds_to(found.df, "21.982"));
        assert!(rounds_to(found.ci_low, "-11.052802") && rounds_to(found.ci_high, "-4.947198"));
        assert_eq!(format!("{:.3e}", found.p), "1.855e-5");
        b.push(200.0);
        let found = test(&a, &b, 0.05).unwrap();
        assert!(rounds_to(found.t, "-1.6329") && rounds_to(found.df, "14.165") && rounds_to(found.p, "0.1245"));
        assert!(rounds_to(found.ci_low, "-47.242900") && rounds_to(found.ci_high, "6.376233"));
    }

    #[test]
    fn the_published_hadoop_comparison_is_r_s_to_the_last_printed_digit() {
        let baseline = [878.83, 886.33, 902.75, 904.83, 907.25, 918.50, 921.33, 925.50, 927.58, 942.41];
        let patched = [813.33, 819.00, 821.91, 829.33, 839.50, 846.75, 850.25, 857.00, 875.83, 878.66];
        let found = test(&baseline, &patched, 0.05).unwrap();
        assert!(rounds_to(found.t, "7.204") && rounds_to(found.df, "17.538"));
        assert_eq!(format!("{:.3e}", found.p), "1.229e-6");
        assert!(rounds_to(found.ci_low, "48.39677") && rounds_to(found.ci_high, "88.35323"));
    }

    #[test]
    fn data_that_r_calls_constant_give_no_test() {
        assert_eq!(test(&[5.0; 4], &[5.0; 4], 0.05), None);
        assert_eq!(test(&[5.0; 4], &[6.0; 4], 0.05), None);
        assert_eq!(test(&[0.0; 4], &[0.0; 4], 0.05), None);
        assert_eq!(test(&[1e9, 1e9 + 1e-6, 1e9], &[1e9; 3], 0.05), None);
        assert!(test(&[5.0; 4], &[6.0, 6.0, 6.5], 0.05).is_some_and(|found| found.df == 2.0));
    }

    #[test]
    fn what_cannot_be_tested_is_none() {
        let fine = [1.0, 2.0, 4.0];
        for bad in [&[1.0][..], &[], &[1.0, f64::NAN], &[1.0, f64::INFINITY], &[f64::MAX, -f64::MAX, f64::MAX]] {
            assert_eq!(test(&fine, bad, 0.05), None, "{bad:?}");
            assert_eq!(test(bad, &fine, 0.05), None, "{bad:?}");
        }
        for alpha in [0.0, 1.0, -1.0, f64::NAN] {
            assert_eq!(test(&fine, &[2.0, 3.0], alpha), None);
        }
    }

    #[test]
    fn a_huge_t_has_a_tiny_p_rather_than_none() {
        let a = [1.0, 1.0 + 1e-12, 1.0 - 1e-12, 1.0];
        let b = [2.0, 2.0 + 1e-12, 2.0 - 1e-12, 2.0];
        let found = test(&a, &b, 0.05).unwrap();
        assert!(found.p > 0.0 && found.p < 1e-60, "{:e}", found.p);
    }

    fn sample() -> impl Strategy<Value = Vec<f64>> {
        prop::collection::vec(-100.0f64..100.0, 2..12)
    }

    proptest! {
        #[test]
        fn swapping_the_arms_flips_the_signs(a in sample(), b in sample()) {
            let (Some(ab), Some(ba)) = (test(&a, &b, 0.05), test(&b, &a, 0.05)) else { return Ok(()) };
            prop_assert_eq!((ab.difference, ab.t, ab.p), (-ba.difference, -ba.t, ba.p));
            prop_assert_eq!((ab.ci_low, ab.ci_high), (-ba.ci_high, -ba.ci_low));
        }

        #[test]
        fn a_power_of_two_scales_every_figure_exactly(a in sample(), b in sample(), exponent in -900i32..900) {
            let scale = libm::scalbn(1.0, exponent);
            let scaled = |values: &[f64]| values.iter().map(|v| v * scale).collect::<Vec<f64>>();
            let Some(plain) = test(&a, &b, 0.05) else { return Ok(()) };
            let found = test(&scaled(&a), &scaled(&b), 0.05).unwrap();
            prop_assert_eq!((found.t, found.df, found.p), (plain.t, plain.df, plain.p));
            prop_assert_eq!((found.ci_low, found.ci_high), (plain.ci_low * scale, plain.ci_high * scale));
        }

        #[test]
        fn a_shift_of_both_arms_changes_nothing(a in sample(), b in sample(), shift in -1e3f64..1e3) {
            let shifted = |values: &[f64]| values.iter().map(|v| v + shift).collect::<Vec<f64>>();
            let Some(plain) = test(&a, &b, 0.05) else { return Ok(()) };
            let found = test(&shifted(&a), &shifted(&b), 0.05).unwrap();
            prop_assert!((found.ci_low - plain.ci_low).abs() < 1e-8 && (found.ci_high - plain.ci_high).abs() < 1e-8);
        }

        #[test]
        fn the_order_within_an_arm_does_not_matter(a in sample(), b in sample()) {
            let Some(plain) = test(&a, &b, 0.05) else { return Ok(()) };
            let mut turned = a.clone();
            turned.reverse();
            let found = test(&turned, &b, 0.05).unwrap();
            prop_assert!(close(found.p, plain.p) && close(found.ci_high - found.ci_low, plain.ci_high - plain.ci_low));
        }

        #[test]
        fn the_interval_excludes_zero_exactly_when_p_is_below_alpha(a in sample(), b in sample(), alpha in 0.001f64..0.5) {
            let Some(found) = test(&a, &b, alpha) else { return Ok(()) };
            prop_assume!((found.p - alpha).abs() > 1e-12);
            prop_assert_eq!(found.ci_low > 0.0 || found.ci_high < 0.0, found.p < alpha);
        }
    }
}

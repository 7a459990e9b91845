//! Hedges' g: the difference in standard deviations, a size that does not depend on the unit.
//!
//! Cohen's d with the pooled standard deviation, times the exact factor that removes its bias in small samples. The
//! interval inverts the noncentral t distribution of d, and carries the same factor. Sources: Hedges, J. Educ. Statist. 6
//! (1981), 107–128; Steiger and Fouladi, "Noncentrality interval estimation" (1997).

use super::{incomplete_beta, noncentral_t, summary};

/// The interval covers 95 %.
const ALPHA: f64 = 0.05;

/// The effect of b against a in standard deviations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HedgesG {
    /// Above zero when b is larger.
    pub g: f64,
    /// Low end of the 95 % interval.
    pub ci_low: f64,
    /// High end of the interval.
    pub ci_high: f64,
}

/// Hedges' g of b against a. `None` with fewer than two values in a sample, with one that is not finite, or without any
/// spread within the samples.
#[must_use]
pub fn g(a: &[f64], b: &[f64]) -> Option<HedgesG> {
    if a.len() < 2 || b.len() < 2 {
        return None;
    }
    // In units of the largest value, whose square would leave the range of a float.
    let largest = a.iter().chain(b).fold(0.0, |largest: f64, value| largest.max(value.abs()));
    let in_units = |values: &[f64]| values.iter().map(|value| value / largest).collect::<Vec<f64>>();
    let (a, b) = (in_units(a), in_units(b));
    let (m, n) = (a.len() as f64, b.len() as f64);
    let df = m + n - 2.0;
    let pooled = ((summary::sum_of_squares(&a) + summary::sum_of_squares(&b)) / df).sqrt();
    let difference = summary::mean(&b)? - summary::mean(&a)?;
    // A spread that is only the rounding of the values is none.
    let has_spread = pooled > 10.0 * f64::EPSILON;
    if !has_spread {
        return None;
    }
    let per_error = (m * n / (m + n)).sqrt();
    let t = difference / pooled * per_error;
    let to_g = correction(df) / per_error;
    Some(HedgesG {
        g: t * to_g,
        ci_low: noncentral_t::noncentrality(t, df, ALPHA / 2.0) * to_g,
        ci_high: noncentral_t::noncentrality(t, df, 1.0 - ALPHA / 2.0) * to_g,
    })
}

/// Γ(df/2) / (√(df/2) Γ((df − 1)/2)): 1 for endless data, 0.96 for ten values an arm. The ratio of the two is that of
/// Γ(1/2) to B((df − 1)/2, 1/2).
fn correction(df: f64) -> f64 {
    let log_ratio = libm::lgamma(0.5) - incomplete_beta::ln_beta((df - 1.0) / 2.0, 0.5);
    libm::exp(log_ratio) / (df / 2.0).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_correction_is_the_exact_one() {
        // Γ(1) / Γ(1/2) and Γ(2) / (√2 Γ(3/2)); far out the common approximation 1 − 3 / (4 df − 1) is close.
        assert!((correction(2.0) - std::f64::consts::FRAC_2_SQRT_PI / 2.0).abs() < 1e-14);
        assert!((correction(4.0) - std::f64::consts::FRAC_2_SQRT_PI / std::f64::consts::SQRT_2).abs() < 1e-14);
        for df in [18.0, 199.0, 203.0, 1e5] {
            assert!((correction(df) - (1.0 - 3.0 / (4.0 * df - 1.0))).abs() < 0.1 / (df * df), "{df}");
        }
    }

    #[test]
    fn the_ends_of_the_interval_make_the_data_just_likely_enough() {
        let (a, b) = ([3.0, 4.0, 6.0, 7.0, 8.0], [7.0, 8.0, 8.5, 11.0]);
        let found = g(&a, &b).unwrap();
        let per_error = (20.0_f64 / 9.0).sqrt();
        let t = found.g / correction(7.0) * per_error;
        let tail = |end: f64| noncentral_t::upper(t, 7.0, end / correction(7.0) * per_error);
        assert!((tail(found.ci_low) - 0.025).abs() < 1e-10 && (tail(found.ci_high) - 0.975).abs() < 1e-10);
    }

    #[test]
    fn a_spread_of_almost_nothing_is_answered_as_fast_as_any() {
        let found = g(&[1.0, 1.0 + 1e-12, 1.0], &[2.0, 2.0, 2.0 + 1e-12]).unwrap();
        assert!(found.g > 1e11 && found.ci_low > found.g / 10.0 && found.ci_high < found.g * 10.0, "{found:?}");
        assert!(found.ci_low < found.g && found.g < found.ci_high);
    }

    #[test]
    fn no_spread_has_no_standard_deviations() {
        assert_eq!(g(&[1.0, 1.0], &[2.0, 2.0]), None);
        assert_eq!(g(&[0.0, 0.0], &[0.0, 0.0]), None);
        assert_eq!(g(&[1.0], &[2.0, 3.0]), None);
        assert_eq!(g(&[1.0, f64::NAN], &[2.0, 3.0]), None);
        assert_eq!(g(&[1.0, f64::INFINITY], &[2.0, 3.0]), None);
    }

    fn sample() -> impl Strategy<Value = Vec<f64>> {
        prop::collection::vec(-100.0f64..100.0, 2..12)
    }

    proptest! {
        #[test]
        fn swapping_flips_and_the_unit_does_not_matter(a in sample(), b in sample(), exponent in -900i32..900) {
            let (ab, ba) = (g(&a, &b).unwrap(), g(&b, &a).unwrap());
            let near = |x: f64, y: f64| (x - y).abs() < 1e-8 * (1.0 + x.abs());
            prop_assert!(near(ab.g, -ba.g) && near(ab.ci_low, -ba.ci_high) && near(ab.ci_high, -ba.ci_low));
            prop_assert!(ab.ci_low < ab.ci_high);
            let scaled = |values: &[f64]| values.iter().map(|v| libm::scalbn(*v, exponent)).collect::<Vec<f64>>();
            prop_assert_eq!(g(&scaled(&a), &scaled(&b)).unwrap(), ab);
        }
    }
}

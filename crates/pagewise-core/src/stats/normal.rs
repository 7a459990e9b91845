//! The standard normal distribution: tails and quantiles.
//!
//! On `libm` for the reason given in [`super::student_t`]. The quantile starts from the rational approximation 26.2.23 of
//! Abramowitz and Stegun, good to 4.5e-4, and Halley's steps, which triple the digits, do the rest.

/// P(Z ≤ z), small lower tails to their last digit.
#[must_use]
pub fn cdf(z: f64) -> f64 {
    libm::erfc(-z / std::f64::consts::SQRT_2) / 2.0
}

/// P(Z > z), small upper tails to their last digit.
#[must_use]
pub fn upper(z: f64) -> f64 {
    cdf(-z)
}

/// The z with P(Z ≤ z) = `p`: infinite for 0 and 1, not a number outside.
#[must_use]
pub fn quantile(p: f64) -> f64 {
    if !(0.0..=1.0).contains(&p) {
        return f64::NAN;
    }
    if p == 0.5 {
        return 0.0;
    }
    if p > 0.5 { -lower_half(1.0 - p) } else { lower_half(p) }
}

fn lower_half(p: f64) -> f64 {
    if p == 0.0 {
        return f64::NEG_INFINITY;
    }
    let t = (-2.0 * libm::log(p)).sqrt();
    let numerator = 2.515_517 + t * (0.802_853 + t * 0.010_328);
    let denominator = 1.0 + t * (1.432_788 + t * (0.189_269 + t * 0.001_308));
    let mut z = numerator / denominator - t;
    // From 4.5e-4 two steps reach the last digit; the third is for the far tail, where the start is worst.
    for _ in 0..3 {
        let newton = (cdf(z) - p) / density(z);
        if !newton.is_finite() {
            break;
        }
        z -= newton / (1.0 + z * newton / 2.0);
    }
    z
}

/// Probability density at z.
#[must_use]
pub fn density(z: f64) -> f64 {
    const INVERSE_ROOT_TWO_PI: f64 = 0.398_942_280_401_432_7;
    INVERSE_ROOT_TWO_PI * libm::exp(-z * z / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use statrs::distribution::{ContinuousCDF, Normal};

    #[test]
    fn tails_agree_with_statrs() {
        let reference = Normal::standard();
        for z in [-9.0, -3.0, -1.2, -0.1, 0.0, 0.3, 1.96, 6.0] {
            assert!((cdf(z) / reference.cdf(z) - 1.0).abs() < 1e-10, "{z}");
            assert!((upper(z) / reference.sf(z) - 1.0).abs() < 1e-10, "{z}");
        }
    }

    #[test]
    fn a_quantile_leads_back_to_its_probability() {
        for p in [1e-300, 1e-100, 1e-12, 0.001, 0.025, 0.1, 0.3, 0.5, 0.7, 0.975, 0.999_999] {
            let back = cdf(quantile(p));
            // The probability itself is this sensitive to the last digit of z.
            let sensitivity = 1.0 + quantile(p) * quantile(p);
            assert!((back / p - 1.0).abs() < 4e-16 * sensitivity, "{p}: {back}");
        }
    }

    #[test]
    fn quantiles_are_symmetric_and_end_at_infinity() {
        assert_eq!(quantile(0.5), 0.0);
        assert!((quantile(0.975) - 1.959_963_984_540_054).abs() < 1e-15);
        assert_eq!(quantile(0.25), -quantile(0.75));
        assert_eq!((quantile(0.0), quantile(1.0)), (f64::NEG_INFINITY, f64::INFINITY));
        assert!(quantile(-0.1).is_nan() && quantile(1.1).is_nan() && quantile(f64::NAN).is_nan());
    }
}

//! The standard normal distribution: probabilities and quantiles.
//!
//! Written on `libm` for the same bytes on every host. The cumulative distribution is DLMF 7.2.2 by way of `erfc`, which
//! keeps its digits in the tail. The quantile starts from Abramowitz and Stegun 26.2.23 (error below 4.5e-4) and is
//! refined by Halley's method.

/// P(Z ≤ z).
#[must_use]
pub fn cdf(z: f64) -> f64 {
    upper(-z)
}

/// P(Z ≥ z), with full relative precision far out.
#[must_use]
pub fn upper(z: f64) -> f64 {
    libm::erfc(z / std::f64::consts::SQRT_2) / 2.0
}

/// Probability density at z.
#[must_use]
pub fn density(z: f64) -> f64 {
    libm::exp(-z * z / 2.0) / (2.0 * std::f64::consts::PI).sqrt()
}

/// The z with P(Z ≤ z) = `p`: −∞ at 0, ∞ at 1, NaN outside.
#[must_use]
pub fn quantile(p: f64) -> f64 {
    if p.is_nan() || !(0.0..=1.0).contains(&p) {
        return f64::NAN;
    }
    if p > 0.5 { upper_quantile(1.0 - p) } else { -upper_quantile(p) }
}

/// The z with P(Z ≥ z) = `tail`, for a tail of at most one half.
fn upper_quantile(tail: f64) -> f64 {
    if tail <= 0.0 {
        return f64::INFINITY;
    }
    let s = (-2.0 * libm::log(tail)).sqrt();
    let numerator = 2.515517 + s * (0.802853 + s * 0.010328);
    let denominator = 1.0 + s * (1.432788 + s * (0.189269 + s * 0.001308));
    let mut z = s - numerator / denominator;
    // Each step triples the correct digits.
    for _ in 0..3 {
        let density = density(z);
        if density <= 0.0 {
            break;
        }
        let newton = (upper(z) - tail) / density;
        z += newton / (1.0 - newton * z / 2.0);
    }
    z
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_the_tabled_ones() {
        for (p, z) in [
            (0.975, 1.959_963_984_540_054),
            (0.5, 0.0),
            (0.05, -1.644_853_626_951_472_6),
            (1e-10, -6.361_340_902_404_056),
        ] {
            assert!((quantile(p) - z).abs() < 1e-13, "{p}: {}", quantile(p));
        }
    }

    #[test]
    fn the_quantile_undoes_the_distribution() {
        for z in [-30.0, -8.0, -1.0, -0.01, 0.3, 2.0, 5.0] {
            assert!((quantile(cdf(z)) - z).abs() < 1e-8 * (1.0 + z.abs()), "{z}");
        }
    }

    #[test]
    fn the_ends_are_infinite_and_the_rest_is_not_a_number() {
        assert_eq!((quantile(0.0), quantile(1.0)), (f64::NEG_INFINITY, f64::INFINITY));
        assert!(quantile(-0.1).is_nan() && quantile(f64::NAN).is_nan());
    }
}

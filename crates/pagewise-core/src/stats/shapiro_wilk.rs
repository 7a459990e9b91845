//! Shapiro and Wilk's test: could these values come from a normal distribution?
//!
//! W compares the spread that the order statistics of a normal sample would show with the one that is there; 1 − W is
//! what is missing. Source: Royston, "Remark AS R94", Appl. Statist. 44 (1995), 547–551, with his polynomials. The
//! numbers are those of R's `shapiro.test`, which uses the same algorithm.

use super::normal;

/// The p-value of "normal". `None` below 3 or above 5,000 values, for which the approximation was not made, with a value
/// that is not finite, or when all are equal.
#[must_use]
pub fn p(values: &[f64]) -> Option<f64> {
    let n = values.len();
    if !(3..=5000).contains(&n) || values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    // Halved first: the range of the largest floats is no float.
    let half_range = sorted[n - 1] / 2.0 - sorted[0] / 2.0;
    if half_range <= 0.0 {
        return None;
    }
    let middle = sorted[n / 2] / 2.0;
    let scaled: Vec<f64> = sorted.iter().map(|value| (value / 2.0 - middle) / half_range).collect();
    Some(p_of_missing(missing(&scaled), n))
}

/// 1 − W, computed as the product that keeps its digits when W is close to 1.
fn missing(sorted: &[f64]) -> f64 {
    let n = sorted.len();
    let upper_half = weights(n);
    let weight = |place: usize| {
        let from_end = place.min(n - 1 - place);
        match upper_half.get(from_end) {
            None => 0.0,
            Some(weight) if place < n / 2 => -weight,
            Some(weight) => *weight,
        }
    };
    let mean = sorted.iter().sum::<f64>() / n as f64;
    let (mut of_weights, mut of_values, mut together) = (0.0, 0.0, 0.0);
    for (place, value) in sorted.iter().enumerate() {
        of_weights += weight(place) * weight(place);
        of_values += (value - mean) * (value - mean);
        together += weight(place) * (value - mean);
    }
    let both = (of_weights * of_values).sqrt();
    (both - together) * (both + together) / (of_weights * of_values)
}

/// Royston's weights of the order statistics, the largest value's first; the lower half has them negated.
fn weights(n: usize) -> Vec<f64> {
    if n == 3 {
        return vec![std::f64::consts::FRAC_1_SQRT_2];
    }
    let expected: Vec<f64> = (1..=n / 2).map(|i| -normal::quantile((i as f64 - 0.375) / (n as f64 + 0.25))).collect();
    let squares = 2.0 * expected.iter().map(|m| m * m).sum::<f64>();
    let u = 1.0 / (n as f64).sqrt();
    let first =
        polynomial(&[0.0, 0.221157, -0.147981, -2.07119, 4.434685, -2.706056], u) + expected[0] / squares.sqrt();
    let mut weights = vec![first];
    let mut rest = squares - 2.0 * expected[0] * expected[0];
    let mut left = 1.0 - 2.0 * first * first;
    if n > 5 {
        let second =
            polynomial(&[0.0, 0.042981, -0.293762, -1.752461, 5.682633, -3.582633], u) + expected[1] / squares.sqrt();
        weights.push(second);
        rest -= 2.0 * expected[1] * expected[1];
        left -= 2.0 * second * second;
    }
    let divisor = (rest / left).sqrt();
    weights.extend(expected[weights.len()..].iter().map(|m| m / divisor));
    weights
}

/// A function of 1 − W is normal to a good approximation; its mean and deviation depend on n.
fn p_of_missing(missing: f64, n: usize) -> f64 {
    if n == 3 {
        // Exact: 6/π (asin √W − asin √¾).
        let root = (1.0 - missing).max(0.0).sqrt().min(1.0);
        let p = 6.0 / std::f64::consts::PI * (libm::asin(root) - std::f64::consts::FRAC_PI_3);
        return p.clamp(0.0, 1.0);
    }
    // All the spread is where normality wants it, to the last digit.
    if missing <= 0.0 {
        return 1.0;
    }
    let size = n as f64;
    let log_missing = libm::log(missing);
    let (y, mean, log_deviation) = if n <= 11 {
        let bound = polynomial(&[-2.273, 0.459], size);
        if log_missing >= bound {
            // Royston's value for "as far from normal as can be".
            return 1e-99;
        }
        let mean = polynomial(&[0.544, -0.39978, 0.025054, -6.714e-4], size);
        let log_deviation = polynomial(&[1.3822, -0.77857, 0.062767, -0.0020322], size);
        (-libm::log(bound - log_missing), mean, log_deviation)
    } else {
        let log_size = libm::log(size);
        let mean = polynomial(&[-1.5861, -0.31082, -0.083751, 0.0038915], log_size);
        let log_deviation = polynomial(&[-0.4803, -0.082676, 0.0030302], log_size);
        (log_missing, mean, log_deviation)
    };
    normal::upper((y - mean) / libm::exp(log_deviation))
}

/// Coefficients from the constant upwards.
fn polynomial(coefficients: &[f64], x: f64) -> f64 {
    coefficients.iter().rev().fold(0.0, |sum, coefficient| sum * x + coefficient)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn r_prints_these_p_values() {
        // shapiro.test(mtcars$mpg).
        let mpg = [
            21.0, 21.0, 22.8, 21.4, 18.7, 18.1, 14.3, 24.4, 22.8, 19.2, 17.8, 16.4, 17.3, 15.2, 10.4, 10.4, 14.7, 32.4,
            30.4, 33.9, 21.5, 15.5, 15.2, 13.3, 19.2, 27.3, 26.0, 30.4, 15.8, 19.7, 15.0, 21.4,
        ];
        assert_eq!(format!("{:.4}", p(&mpg).unwrap()), "0.1229");
    }

    #[test]
    fn evenly_placed_normal_quantiles_look_normal_and_one_wild_value_does_not() {
        let mut values: Vec<f64> = (1..=20).map(|i| normal::quantile((f64::from(i) - 0.375) / 20.25)).collect();
        assert!(p(&values).unwrap() > 0.99);
        values[19] = 40.0;
        assert!(p(&values).unwrap() < 1e-6);
    }

    #[test]
    fn what_has_no_shape_has_no_p() {
        assert_eq!(p(&[1.0, 2.0]), None);
        assert_eq!(p(&[3.0; 9]), None);
        assert_eq!(p(&[1.0, 2.0, f64::NAN]), None);
        assert_eq!(p(&vec![0.5; 5001]), None);
        assert!(p(&[-f64::MAX, 0.0, f64::MAX]).is_some_and(|p| p > 0.99));
    }

    proptest! {
        #[test]
        fn neither_unit_nor_order_matters(values in prop::collection::vec(-100.0f64..100.0, 3..40), exponent in -900i32..900) {
            let Some(plain) = p(&values) else { return Ok(()) };
            prop_assert!((0.0..=1.0).contains(&plain));
            let scaled: Vec<f64> = values.iter().rev().map(|v| libm::scalbn(*v, exponent)).collect();
            prop_assert_eq!(p(&scaled), Some(plain));
            let mirrored: Vec<f64> = values.iter().map(|v| 3.0 - v).collect();
            prop_assert!((p(&mirrored).unwrap() - plain).abs() < 1e-7);
        }
    }
}

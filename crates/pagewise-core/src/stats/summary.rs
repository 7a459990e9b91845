//! Mean, median and standard deviation of a handful of values.

/// Arithmetic mean. `None` without values.
#[must_use]
pub fn mean(values: &[f64]) -> Option<f64> {
    if values.is_empty() {
        return None;
    }
    // Dividing a sum of equal values need not give the value.
    if values.iter().all(|value| *value == values[0]) {
        return Some(values[0]);
    }
    let n = values.len() as f64;
    let sum = values.iter().sum::<f64>();
    // A sum may overflow where the mean does not.
    Some(if sum.is_finite() { sum / n } else { values.iter().map(|value| value / n).sum() })
}

/// Middle value, or the mean of the two middle ones. `None` without values.
#[must_use]
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let half = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        n if n % 2 == 1 => Some(sorted[half]),
        _ => Some(sorted[half - 1] + (sorted[half] - sorted[half - 1]) / 2.0),
    }
}

/// The value below which a share of the values lies: R's default, `quantile(values, share, type = 7)`. `None` without values.
#[must_use]
pub fn quantile(values: &[f64], share: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let place = share.clamp(0.0, 1.0) * sorted.len().checked_sub(1)? as f64;
    let below = place.floor();
    let (low, high) = (sorted[below as usize], sorted[place.ceil() as usize]);
    Some(low + (place - below) * (high - low))
}

/// Sum of squared distances from the mean, in two passes: the one-pass formula loses every digit of a small spread
/// around a large mean.
#[must_use]
pub fn sum_of_squares(values: &[f64]) -> f64 {
    let Some(mean) = mean(values) else { return 0.0 };
    values.iter().map(|value| (value - mean) * (value - mean)).sum()
}

/// Sample standard deviation, with n − 1 in the denominator. `None` below two values.
#[must_use]
pub fn standard_deviation(values: &[f64]) -> Option<f64> {
    if values.len() < 2 {
        return None;
    }
    let of = |values: &[f64]| (sum_of_squares(values) / (values.len() - 1) as f64).sqrt();
    let sd = of(values);
    if sd.is_finite() {
        return Some(sd);
    }
    // Squares overflow above 1e154: the same in a unit of the largest value.
    let unit = values.iter().fold(0.0, |most: f64, value| most.max(value.abs()));
    let scaled: Vec<f64> = values.iter().map(|value| value / unit).collect();
    Some(of(&scaled) * unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_r() {
        // quantile(c(3, 1, 4, 1, 5, 9, 2, 6), c(0, .5, .9, .99, 1))
        let values = [3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0, 6.0];
        for (share, wanted) in [(0.0, 1.0), (0.5, 3.5), (0.9, 6.9), (0.99, 8.79), (1.0, 9.0)] {
            assert!((quantile(&values, share).unwrap() - wanted).abs() < 1e-12);
        }
        assert_eq!(quantile(&[], 0.5), None);
    }

    #[test]
    fn mean_median_and_spread_are_the_textbook_ones() {
        let values = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0];
        assert_eq!(mean(&values), Some(5.0));
        assert_eq!(median(&values), Some(4.5));
        assert_eq!(median(&values[..7]), Some(4.0));
        assert_eq!(standard_deviation(&values), Some((32.0_f64 / 7.0).sqrt()));
    }

    #[test]
    fn too_few_values_have_no_summary_rather_than_a_zero() {
        assert_eq!((mean(&[]), median(&[]), standard_deviation(&[3.0])), (None, None, None));
    }

    #[test]
    fn the_largest_values_have_a_mean_and_a_spread() {
        assert_eq!(mean(&[1e308, 1.5e308]), Some(1.25e308));
        let sd = standard_deviation(&[2e300, 4e300, 4e300, 4e300, 5e300, 5e300, 7e300, 9e300]).unwrap();
        assert!((sd / 1e300 - (32.0_f64 / 7.0).sqrt()).abs() < 1e-12, "{sd}");
    }

    #[test]
    fn equal_values_have_no_spread() {
        assert_eq!((mean(&[0.1; 3]), standard_deviation(&[0.1; 3])), (Some(0.1), Some(0.0)));
    }

    #[test]
    fn a_small_spread_around_a_large_mean_keeps_its_digits() {
        let sd = standard_deviation(&[1e9 + 1.0, 1e9 + 2.0, 1e9 + 3.0]);
        assert_eq!(sd, Some(1.0));
    }
}

//! Mean, median and standard deviation of a handful of values.

/// Arithmetic mean. `None` without values.
#[must_use]
pub fn mean(values: &[f64]) -> Option<f64> {
    if values.is_empty() {
        return None;
    }
    Some(values.iter().sum::<f64>() / values.len() as f64)
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
    Some((sum_of_squares(values) / (values.len() - 1) as f64).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn a_small_spread_around_a_large_mean_keeps_its_digits() {
        let sd = standard_deviation(&[1e9 + 1.0, 1e9 + 2.0, 1e9 + 3.0]);
        assert_eq!(sd, Some(1.0));
    }
}

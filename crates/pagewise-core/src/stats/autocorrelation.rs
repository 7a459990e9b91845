//! Do successive values depend on each other? Then a sample says less than its size.
//!
//! The lag-one correlation says how much: the number of R's `acf`. Source: Bartlett, J. R. Stat. Soc. Suppl. 8 (1946),
//! 27–41.

use super::summary;

/// Correlation of each value with the one before it, from −1 to 1. `None` below three values, without any spread, or
/// with a value that is not finite.
#[must_use]
pub fn lag_one(values: &[f64]) -> Option<f64> {
    if values.len() < 3 {
        return None;
    }
    Some(Deviations::of(values)?.lag_one())
}

struct Deviations {
    from_mean: Vec<f64>,
    squares: f64,
}

impl Deviations {
    fn of(values: &[f64]) -> Option<Deviations> {
        // In units of the largest, so that no square leaves the range of a float.
        let largest = values.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()));
        let in_units: Vec<f64> = values.iter().map(|value| value / largest).collect();
        let mean = summary::mean(&in_units)?;
        let from_mean: Vec<f64> = in_units.iter().map(|value| value - mean).collect();
        let squares: f64 = from_mean.iter().map(|deviation| deviation * deviation).sum();
        // What is left of equal values is rounding. A value that is no number makes this false, too.
        let rounding = 10.0 * f64::EPSILON;
        (squares > rounding * rounding * values.len() as f64).then_some(Deviations { from_mean, squares })
    }

    fn lag_one(&self) -> f64 {
        let products = self.from_mean.iter().zip(self.from_mean.iter().skip(1)).map(|(earlier, later)| earlier * later);
        products.sum::<f64>() / self.squares
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn alternation_is_negative_and_a_step_positive() {
        let alternating = [1.0, 2.0, 1.0, 2.0, 1.0, 2.0, 1.0, 2.0, 1.0, 2.0];
        assert!((lag_one(&alternating).unwrap() + 0.9).abs() < 1e-15);
        let mut step = alternating;
        step.sort_by(f64::total_cmp);
        assert!((lag_one(&step).unwrap() - 0.7).abs() < 1e-15);
    }

    #[test]
    fn what_has_no_spread_has_no_correlation() {
        assert_eq!(lag_one(&[0.1; 10]), None);
        assert_eq!(lag_one(&[0.0; 10]), None);
        assert_eq!(lag_one(&[1.0, 2.0]), None);
        assert_eq!(lag_one(&[1.0, f64::NAN, 3.0]), None);
        assert_eq!(lag_one(&[1.0, f64::INFINITY, 3.0]), None);
    }

    proptest! {
        #[test]
        fn neither_unit_nor_direction_of_time_matters(values in prop::collection::vec(-100.0f64..100.0, 4..40)) {
            let backwards: Vec<f64> = values.iter().rev().map(|v| 8.0 * v).collect();
            let (plain, turned) = (lag_one(&values).unwrap(), lag_one(&backwards).unwrap());
            prop_assert!((plain - turned).abs() < 1e-9);
            prop_assert!(plain.abs() <= 1.0);
        }
    }
}

//! The paired t test: is the mean of differences within pairs or blocks zero?
//!
//! What the two values of a pair have in common, such as the hour and the state of the host, is gone from their
//! difference. Source: "Student", Biometrika 6 (1908), 1–25. The numbers of R's `t.test(differences)`.

use super::{student_t, summary};

/// The mean difference, its interval and its test, in the unit of the differences.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Paired {
    /// Mean of the differences.
    pub difference: f64,
    /// Low end of the 1 − alpha interval.
    pub low: f64,
    /// High end of the interval.
    pub high: f64,
    /// Two-sided p-value of no difference.
    pub p: f64,
    /// Degrees of freedom: pairs − 1.
    pub df: f64,
}

/// Tests differences b − a. `None` below two pairs, with a difference that is not finite, when all are equal, and for
/// an alpha outside 0 to 1.
#[must_use]
pub fn test(differences: &[f64], alpha: f64) -> Option<Paired> {
    let difference = summary::mean(differences)?;
    let n = differences.len() as f64;
    let standard_error = summary::standard_deviation(differences)? / n.sqrt();
    // R's rule for data that are constant in a float's precision; what is not a number fails it, too.
    let has_spread = standard_error > 10.0 * f64::EPSILON * difference.abs();
    if !(has_spread && standard_error.is_finite() && alpha > 0.0 && alpha < 1.0) {
        return None;
    }
    let df = n - 1.0;
    let half_width = student_t::critical_value(alpha, df) * standard_error;
    Some(Paired {
        difference,
        low: difference - half_width,
        high: difference + half_width,
        p: student_t::two_sided_p(difference / standard_error, df),
        df,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn student_s_own_sleep_data_have_his_result() {
        // Extra hours of sleep under the second drug less the first; R's t.test(extra ~ group, paired) on `sleep`.
        let found = test(&[1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4], 0.05).unwrap();
        assert!((found.difference - 1.58).abs() < 1e-12);
        assert!((found.p - 0.002_832_889_9).abs() < 1e-9, "{}", found.p);
        assert!((found.low - 0.700_114).abs() < 1e-6 && (found.high - 2.459_886).abs() < 1e-6, "{found:?}");
    }

    #[test]
    fn without_spread_there_is_no_test() {
        assert_eq!(test(&[1.0, 1.0, 1.0], 0.05), None);
        assert_eq!(test(&[1.0], 0.05), None);
        assert_eq!(test(&[1.0, f64::NAN], 0.05), None);
    }
}

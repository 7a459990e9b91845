//! Equivalence: is the ratio of b to a inside the margin, beyond reasonable doubt?
//!
//! Two one-sided tests, because a large p-value of a difference proves nothing. Source: Schuirmann, J. Pharmacokinet.
//! Biopharm. 15 (1987), 657–680. On logarithms with Welch's degrees of freedom, and with the margin symmetric there:
//! 2 % allows ratios from 1/1.02 to 1.02, so that swapping a and b cannot change the answer.

use super::percent::LogDifference;
use super::student_t;

/// The two tests in one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tost {
    /// The larger p-value of the two: below alpha the levels are equivalent.
    pub p: f64,
    /// Low end of the 1 − 2 alpha interval of the ratio of b to a. It lies inside the margin exactly when p < alpha.
    pub low: f64,
    /// High end of that interval.
    pub high: f64,
}

/// Tests that the ratio of b to a is outside 1/(1 + `margin`) to 1 + `margin`; 0.02 is a margin of 2 %.
///
/// `None` where [`super::percent::log_ratio`] gives none, for a margin that is not above zero, and for an alpha outside
/// 0 to 1/2.
#[must_use]
pub fn tost(a: &[f64], b: &[f64], margin: f64, alpha: f64) -> Option<Tost> {
    if !(margin > 0.0 && margin.is_finite() && alpha > 0.0 && alpha < 0.5) {
        return None;
    }
    let logs = LogDifference::of(a, b)?;
    let bound = libm::log1p(margin);
    let above_low_bound = student_t::upper((logs.b_minus_a + bound) / logs.standard_error, logs.df);
    let below_high_bound = student_t::upper((bound - logs.b_minus_a) / logs.standard_error, logs.df);
    let half_width = student_t::critical_value(2.0 * alpha, logs.df) * logs.standard_error;
    let found = Tost {
        p: above_low_bound.max(below_high_bound),
        low: libm::exp(logs.b_minus_a - half_width),
        high: libm::exp(logs.b_minus_a + half_width),
    };
    found.high.is_finite().then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TEN: [f64; 10] = [9.95, 9.97, 9.98, 9.99, 10.0, 10.0, 10.01, 10.02, 10.03, 10.05];

    #[test]
    fn the_same_values_are_equivalent_within_2_percent_and_not_within_a_hundredth_of_that() {
        let wide = tost(&TEN, &TEN, 0.02, 0.05).unwrap();
        assert!(wide.p < 1e-6 && wide.low > 1.0 / 1.02 && wide.high < 1.02);
        assert!(tost(&TEN, &TEN, 0.0002, 0.05).unwrap().p > 0.4);
    }

    #[test]
    fn a_difference_of_the_margin_has_even_odds() {
        let found = tost(&TEN, &TEN.map(|v| v * 1.02), 0.02, 0.05).unwrap();
        assert!((found.p - 0.5).abs() < 1e-9, "{}", found.p);
    }

    #[test]
    fn nonsense_is_none() {
        assert_eq!(tost(&TEN, &TEN, 0.0, 0.05), None);
        assert_eq!(tost(&TEN, &TEN, 0.02, 0.5), None);
        assert_eq!(tost(&TEN, &TEN.map(|v| v - 10.0), 0.02, 0.05), None);
    }

    proptest! {
        #[test]
        fn p_and_the_interval_say_the_same(
            a in prop::collection::vec(9.0f64..11.0, 3..12),
            b in prop::collection::vec(9.0f64..11.0, 3..12),
            margin in 0.01f64..0.3,
        ) {
            let Some(found) = tost(&a, &b, margin, 0.05) else { return Ok(()) };
            prop_assume!((found.p - 0.05).abs() > 1e-9);
            prop_assert_eq!(found.low > 1.0 / (1.0 + margin) && found.high < 1.0 + margin, found.p < 0.05);
            let swapped = tost(&b, &a, margin, 0.05).unwrap();
            prop_assert!((swapped.p - found.p).abs() < 1e-9 && (swapped.low * found.high - 1.0).abs() < 1e-9);
        }
    }
}

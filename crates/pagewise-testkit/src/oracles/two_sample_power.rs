//! Power of Welch's test planned for two arms of the same size and spread: what it will see, and how much it needs.
//!
//! From the noncentral t distribution. The numbers are those of R's `power.t.test` with its default `strict = FALSE`:
//! the probability of a significant difference on the side where the true one is. `strict = TRUE` adds that of one on
//! the wrong side, which matters only for powers near alpha. The source of the distribution is in
//! [`noncentral_t`].

use pagewise_core::stats::{noncentral_t, student_t};

/// No arm is asked to be larger than this; R stops there, too.
pub const MOST: f64 = 1e7;

/// Probability that `n` values an arm with standard deviation `sd` show a true difference `delta` at the two-sided level
/// `alpha`. `n` need not be whole.
///
/// `None` for fewer than 2 values an arm, a spread that is not above zero, a number that is not finite, or an alpha
/// outside 0 to 1.
#[must_use]
pub fn power(n: f64, sd: f64, delta: f64, alpha: f64) -> Option<f64> {
    let usable = (2.0..=MOST).contains(&n) && sd > 0.0 && sd.is_finite() && delta.is_finite();
    (usable && is_level(alpha)).then(|| of_effect(n, delta.abs() / sd, alpha))
}

/// How many values an arm reach `power`, as a fraction that is rounded up for use. 2 when the smallest trial does.
///
/// `None` where [`power`] gives none, for a power outside alpha/2 to 1, and when more than [`MOST`] would be needed.
#[must_use]
pub fn n_needed(sd: f64, delta: f64, alpha: f64, power: f64) -> Option<f64> {
    let reaches = |n: f64| self::power(n, sd, delta, alpha).map(|found| found >= power);
    if !is_power(power, alpha) || !reaches(MOST)? {
        return None;
    }
    smallest(2.0, MOST, |n| reaches(n) == Some(true))
}

/// The smallest true difference that `n` values an arm show with probability `power`, in the unit of `sd`.
///
/// `None` where [`power`] gives none, and for a power outside alpha/2 to 1.
#[must_use]
pub fn detectable(n: f64, sd: f64, alpha: f64, power: f64) -> Option<f64> {
    // The effect in standard errors; t of two values an arm may be far out.
    const LARGEST: f64 = 1e6;
    self::power(n, sd, 0.0, alpha)?;
    let effect = |in_errors: f64| in_errors / (n / 2.0).sqrt();
    if !is_power(power, alpha) || of_effect(n, effect(LARGEST), alpha) < power {
        return None;
    }
    let found = effect(smallest(0.0, LARGEST, |in_errors| of_effect(n, effect(in_errors), alpha) >= power)?) * sd;
    found.is_finite().then_some(found)
}

/// `effect` is the difference in standard deviations, not below zero.
fn of_effect(n: f64, effect: f64, alpha: f64) -> f64 {
    let df = 2.0 * (n - 1.0);
    noncentral_t::upper(student_t::critical_value(alpha, df), df, (n / 2.0).sqrt() * effect)
}

fn is_level(alpha: f64) -> bool {
    alpha > 0.0 && alpha < 1.0
}

fn is_power(power: f64, alpha: f64) -> bool {
    power > alpha / 2.0 && power < 1.0
}

/// Where `enough` begins to hold, to eleven digits; it holds at `high`.
fn smallest(mut low: f64, mut high: f64, enough: impl Fn(f64) -> bool) -> Option<f64> {
    if enough(low) {
        return Some(low);
    }
    while high - low > 1e-11 * high {
        let middle = low + (high - low) / 2.0;
        if enough(middle) { high = middle } else { low = middle }
    }
    Some(high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn near(found: Option<f64>, printed: f64) -> bool {
        found.is_some_and(|found| (found / printed - 1.0).abs() < 1e-4)
    }

    #[test]
    fn the_examples_of_r_s_help_page_come_out_as_printed() {
        assert!(near(power(20.0, 1.0, 1.0, 0.05), 0.8689528));
        assert!(near(n_needed(1.0, 1.0, 0.05, 0.90), 22.02110));
    }

    #[test]
    fn ten_an_arm_detect_1_325_standard_deviations() {
        assert!(detectable(10.0, 1.0, 0.05, 0.8).is_some_and(|found| (found - 1.325).abs() < 5e-4));
    }

    #[test]
    fn an_effect_that_two_an_arm_show_needs_no_more_and_one_that_nothing_shows_has_no_size() {
        assert_eq!(n_needed(1.0, 100.0, 0.05, 0.8), Some(2.0));
        assert_eq!(n_needed(1.0, 1e-9, 0.05, 0.8), None);
        assert_eq!(n_needed(1.0, 0.0, 0.05, 0.8), None);
    }

    #[test]
    fn nonsense_is_none() {
        assert_eq!(power(1.0, 1.0, 1.0, 0.05), None);
        assert_eq!(power(10.0, 0.0, 1.0, 0.05), None);
        assert_eq!(power(10.0, 1.0, f64::NAN, 0.05), None);
        assert_eq!(power(10.0, 1.0, 1.0, 1.0), None);
        assert_eq!(n_needed(1.0, 1.0, 0.05, 1.0), None);
        assert_eq!(detectable(10.0, 1.0, 0.05, 0.02), None);
    }

    proptest! {
        #[test]
        fn the_three_answers_belong_together(n in 3.0f64..200.0, sd in 0.01f64..50.0, goal in 0.1f64..0.99) {
            let delta = detectable(n, sd, 0.05, goal).unwrap();
            prop_assert!((power(n, sd, delta, 0.05).unwrap() - goal).abs() < 1e-8);
            prop_assert!((n_needed(sd, delta, 0.05, goal).unwrap() / n - 1.0).abs() < 1e-6);
        }
    }
}

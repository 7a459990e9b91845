//! Power: how many pairs a new trial needs to see a difference of a given size.
//!
//! From the [noncentral t](super::noncentral_t) distribution of the crossover estimate. The usual normal approximation
//! promises too much for the few pairs people run.

use super::{crossover, noncentral_t, normal, student_t};

/// No trial is asked for more pairs than this.
pub const MOST_PAIRS: u32 = 10_000;

/// The fewest pairs whose power to find `effect` reaches `power`, up to [`MOST_PAIRS`].
///
/// `residual_sd` is the spread of a pair's difference and `effect` the difference to find, in the same unit; `alpha` is
/// the two-sided level. `None` when the effect is zero or a number cannot be used. A result of [`MOST_PAIRS`] means
/// that many or more.
#[must_use]
pub fn pairs_needed(residual_sd: f64, effect: f64, alpha: f64, power: f64, fewest: u32) -> Option<u32> {
    let usable = residual_sd.is_finite() && effect.is_finite() && effect != 0.0 && alpha > 0.0 && power < 1.0;
    if !usable {
        return None;
    }
    let enough = |pairs: u32| crossover_power(pairs, residual_sd, effect, alpha) >= power;
    Some(first_that_is_enough(fewest.max(3), by_normal_approximation(residual_sd, effect, alpha, power), enough))
}

/// So many the normal approximation asks for, and two more, which is about what it forgets.
fn by_normal_approximation(residual_sd: f64, effect: f64, alpha: f64, power: f64) -> f64 {
    let quantiles = normal::quantile(1.0 - alpha / 2.0) + normal::quantile(power);
    (quantiles * residual_sd / effect).powi(2) + 2.0
}

/// The first number from `fewest` on that is enough, or [`MOST_PAIRS`]: power grows with the number. The search begins at
/// `guess`, takes steps that double until the answer lies between two numbers, and bisects.
fn first_that_is_enough(fewest: u32, guess: f64, enough: impl Fn(u32) -> bool) -> u32 {
    let (mut too_few, mut sufficient) = (fewest - 1, MOST_PAIRS);
    let (mut next, mut step) = (guess as u32, 1);
    while sufficient - too_few > 1 {
        next = next.clamp(too_few + 1, sufficient - 1);
        if enough(next) {
            sufficient = next
        } else {
            too_few = next
        }
        let is_between = sufficient < MOST_PAIRS && too_few >= fewest;
        next = if is_between {
            too_few + (sufficient - too_few) / 2
        } else if sufficient == next {
            next.saturating_sub(step)
        } else {
            next.saturating_add(step)
        };
        step = step.saturating_mul(2);
    }
    sufficient
}

/// Probability that the interval of a trial of so many balanced pairs excludes zero on the side of `effect`.
#[must_use]
pub fn crossover_power(pairs: u32, residual_sd: f64, effect: f64, alpha: f64) -> f64 {
    if pairs < 3 {
        return 0.0;
    }
    let ab = pairs as usize / 2;
    let standard_error = crossover::standard_error(residual_sd, ab, pairs as usize - ab);
    if standard_error <= 0.0 {
        return 1.0;
    }
    let df = f64::from(pairs) - 2.0;
    noncentral_t::upper(student_t::critical_value(alpha, df), df, effect.abs() / standard_error)
}

/// The effect whose power in a trial of so many complete blocks reaches `power`: a t test with blocks − 1 degrees of freedom
/// on differences inside blocks. `residual_sd` is the spread of a block's difference, and the result has its unit. `None`
/// below two blocks or when a number cannot be used.
#[must_use]
pub fn detectable_in_blocks(blocks: u32, residual_sd: f64, alpha: f64, power: f64) -> Option<f64> {
    let standard_error = residual_sd / f64::from(blocks).sqrt();
    detectable(standard_error, f64::from(blocks) - 1.0, alpha, power)
}

/// The effect whose [`crossover_power`] in a trial of so many balanced pairs reaches `power`. `None` below three pairs or when a
/// number cannot be used.
#[must_use]
pub fn detectable_in_pairs(pairs: u32, residual_sd: f64, alpha: f64, power: f64) -> Option<f64> {
    let ab = pairs as usize / 2;
    let standard_error = crossover::standard_error(residual_sd, ab, pairs as usize - ab);
    detectable(standard_error, f64::from(pairs) - 2.0, alpha, power)
}

/// The effect that a t test with this standard error finds with probability `power`.
fn detectable(standard_error: f64, df: f64, alpha: f64, power: f64) -> Option<f64> {
    let usable = standard_error.is_finite() && standard_error >= 0.0 && alpha > 0.0 && alpha < 1.0;
    if df < 1.0 || !usable || !(alpha..1.0).contains(&power) {
        return None;
    }
    let critical = student_t::critical_value(alpha, df);
    Some(noncentral_t::noncentrality(critical, df, power) * standard_error)
}

/// The fewest complete blocks whose power to find `effect` reaches `power`, up to [`MOST_PAIRS`]. As [`pairs_needed`], for a t
/// test with blocks − 1 degrees of freedom.
#[must_use]
pub fn blocks_needed(residual_sd: f64, effect: f64, alpha: f64, power: f64) -> Option<u32> {
    let usable = residual_sd.is_finite() && effect.is_finite() && effect != 0.0 && alpha > 0.0 && power < 1.0;
    if !usable {
        return None;
    }
    let enough = |blocks: u32| {
        let df = f64::from(blocks) - 1.0;
        let delta = effect.abs() * f64::from(blocks).sqrt() / residual_sd;
        residual_sd <= 0.0 || noncentral_t::upper(student_t::critical_value(alpha, df), df, delta) >= power
    };
    Some(first_that_is_enough(3, by_normal_approximation(residual_sd, effect, alpha, power), enough))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_an_effect_the_power_is_half_the_level() {
        for pairs in [4, 10, 31] {
            let power = crossover_power(pairs, 0.03, 0.0, 0.05);
            assert!((power - 0.025).abs() < 1e-12, "{pairs} pairs: {power}");
        }
    }

    #[test]
    fn the_answer_is_the_first_number_of_pairs_that_is_enough() {
        let needed = pairs_needed(0.05, 0.02, 0.05, 0.9, 4).unwrap();
        assert!(crossover_power(needed, 0.05, 0.02, 0.05) >= 0.9);
        assert!(crossover_power(needed - 1, 0.05, 0.02, 0.05) < 0.9);
    }

    /// With noise and effects of every ratio, by the plain way: one number after the other.
    #[test]
    fn the_search_finds_what_counting_up_finds() {
        for at in 0..120 {
            let sd = 1.1_f64.powi(at - 60);
            for (alpha, power, fewest) in [(0.05, 0.9, 4), (0.01, 0.8, 10), (0.2, 0.5, 3)] {
                let counted = (fewest..400).find(|pairs| crossover_power(*pairs, sd, 1.0, alpha) >= power);
                let found = pairs_needed(sd, -1.0, alpha, power, fewest).unwrap();
                assert_eq!(counted.unwrap_or(found.max(400)), found, "SD {sd}");
            }
        }
    }

    #[test]
    fn no_noise_needs_the_fewest_pairs_and_hopeless_noise_the_most() {
        assert_eq!(pairs_needed(0.0, 0.02, 0.05, 0.9, 4), Some(4));
        assert_eq!(pairs_needed(50.0, 0.02, 0.05, 0.9, 4), Some(MOST_PAIRS));
        assert_eq!(pairs_needed(0.05, 0.0, 0.05, 0.9, 4), None);
    }
}

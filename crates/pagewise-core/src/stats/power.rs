//! Power: how many pairs a new trial needs to see a difference of a given size.
//!
//! From the [noncentral t](super::noncentral_t) distribution of the crossover estimate. The usual normal approximation
//! promises too much for the few pairs people run.

use super::{crossover, noncentral_t, student_t};

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
    let mut too_few = fewest.max(3) - 1;
    let mut sufficient = MOST_PAIRS;
    // Power grows with the number of pairs: bisect.
    while sufficient - too_few > 1 {
        let middle = too_few + (sufficient - too_few) / 2;
        if enough(middle) { sufficient = middle } else { too_few = middle }
    }
    Some(sufficient)
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
    let (mut too_small, mut enough) = (0.0, 1.0);
    while noncentral_t::upper(critical, df, enough) < power {
        (too_small, enough) = (enough, 2.0 * enough);
    }
    for _ in 0..60 {
        let middle = (too_small + enough) / 2.0;
        if noncentral_t::upper(critical, df, middle) < power { too_small = middle } else { enough = middle }
    }
    Some(enough * standard_error)
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
    let (mut too_few, mut sufficient) = (2, MOST_PAIRS);
    while sufficient - too_few > 1 {
        let middle = too_few + (sufficient - too_few) / 2;
        if enough(middle) { sufficient = middle } else { too_few = middle }
    }
    Some(sufficient)
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

    #[test]
    fn no_noise_needs_the_fewest_pairs_and_hopeless_noise_the_most() {
        assert_eq!(pairs_needed(0.0, 0.02, 0.05, 0.9, 4), Some(4));
        assert_eq!(pairs_needed(50.0, 0.02, 0.05, 0.9, 4), Some(MOST_PAIRS));
        assert_eq!(pairs_needed(0.05, 0.0, 0.05, 0.9, 4), None);
    }
}

//! The order of the points, drawn from a seed before the first run.
//!
//! Two levels: adjacent pairs, each AB or BA. As many of one as of the other (one more for an odd number of pairs), in
//! random sequence. Balance removes the period effect from the estimate; the random sequence is what the randomisation
//! test replays.

use super::plan::Plan;
use super::point::PlannedPoint;
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Every point of a trial in the order it runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Order {
    /// The seed it was drawn from.
    pub seed: u64,
    /// The points, warm-up first.
    pub points: Vec<PlannedPoint>,
}

/// Why no order can be drawn for a plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OrderError {
    /// Too few pairs for an interval.
    #[error(
        "{pairs} pairs cannot reach a verdict: the crossover estimate has {pairs} − 2 degrees of freedom and both orders \
         must occur twice; use at least {minimum} pairs"
    )]
    TooFewPairs {
        /// What was asked for.
        pairs: u32,
        /// The fewest that can work.
        minimum: u32,
    },
    /// This engine compares exactly two levels of one factor.
    #[error("the plan has no contrast of two levels of one factor; declare [[contrast]] with factor, a and b")]
    NoContrast,
}

/// With fewer pairs one of the two orders occurs once, and its spread cannot be told from the period effect.
pub const FEWEST_PAIRS: u32 = 4;

/// Which level runs first in each pair: `true` for A. Balanced to within one, in random sequence.
#[must_use]
pub fn draw_pair_sequence(pairs: u32, rng: &mut ChaCha20Rng) -> Vec<bool> {
    let odd_one_is_ab = pairs % 2 == 1 && below(rng, 2) == 1;
    let ab = pairs / 2 + u32::from(odd_one_is_ab);
    let mut a_first: Vec<bool> = (0..pairs).map(|pair| pair < ab).collect();
    // Fisher and Yates, from the end.
    for last in (1..a_first.len()).rev() {
        let chosen = below(rng, last as u64 + 1) as usize;
        a_first.swap(last, chosen);
    }
    a_first
}

/// A number below `bound` with no bias: values from the incomplete last stretch of the 64-bit range are drawn again.
pub(crate) fn below(rng: &mut ChaCha20Rng, bound: u64) -> u64 {
    let limit = u64::MAX - u64::MAX % bound;
    loop {
        let drawn = rng.next_u64();
        if drawn < limit {
            return drawn % bound;
        }
    }
}

/// Draws the order of a plan that compares two levels.
///
/// # Errors
/// When the plan names no contrast, or has too few blocks to reach a verdict.
pub fn draw(plan: &Plan) -> Result<Order, OrderError> {
    let contrast = plan.contrasts.first().ok_or(OrderError::NoContrast)?;
    let pairs = plan.design.blocks;
    if pairs < FEWEST_PAIRS {
        return Err(OrderError::TooFewPairs { pairs, minimum: FEWEST_PAIRS });
    }
    let mut rng = ChaCha20Rng::seed_from_u64(plan.design.seed);
    let mut points = Vec::new();
    let mut push = |block: Option<u32>, position: u32, level: &str| {
        let index = points.len() as u32;
        points.push(PlannedPoint { index, block, position, level: level.to_owned() });
    };
    for _ in 0..plan.design.warmup {
        push(None, 0, &contrast.a);
        push(None, 1, &contrast.b);
    }
    for (block, a_first) in draw_pair_sequence(pairs, &mut rng).into_iter().enumerate() {
        let (first, second) = if a_first { (&contrast.a, &contrast.b) } else { (&contrast.b, &contrast.a) };
        push(Some(block as u32), 0, first);
        push(Some(block as u32), 1, second);
    }
    Ok(Order { seed: plan.design.seed, points })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_pair_sequence_is_balanced(pairs in 1u32..60, seed: u64) {
            let sequence = draw_pair_sequence(pairs, &mut ChaCha20Rng::seed_from_u64(seed));
            let ab = sequence.iter().filter(|a_first| **a_first).count() as i64;
            prop_assert_eq!(sequence.len() as u32, pairs);
            prop_assert!((2 * ab - i64::from(pairs)).abs() <= 1);
        }
    }

    #[test]
    fn every_balanced_sequence_is_equally_likely() {
        // Six sequences of two AB and two BA; 6,000 draws; chi-square with 5 degrees of freedom stays below its 0.1 % point.
        let mut seen = std::collections::BTreeMap::new();
        let mut rng = ChaCha20Rng::seed_from_u64(7);
        for _ in 0..6000 {
            *seen.entry(draw_pair_sequence(4, &mut rng)).or_insert(0u32) += 1;
        }
        assert_eq!(seen.len(), 6);
        let chi_square: f64 = seen.values().map(|n| (f64::from(*n) - 1000.0).powi(2) / 1000.0).sum();
        assert!(chi_square < 20.5, "chi-square {chi_square}");
    }
}

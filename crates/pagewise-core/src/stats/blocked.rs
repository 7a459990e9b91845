//! Estimates within complete blocks, for any number of arms.
//!
//! In a block every arm runs once. A combination of arms (one minus another; the difference of two differences, which
//! is an interaction) gives one number per block, free of the block's level and of slow drift. Over the blocks these
//! numbers are a sample, and the estimate is their mean with Student's interval: the paired t test. The error is that
//! of this very combination, so arms may have different spreads. Source: Student, Biometrika 6 (1908), 1–25; Cochran
//! and Cox, "Experimental Designs" (1957), ch. 4.

use super::contrast::Contrast;
use super::randomisation::{Randomisation, SAMPLE};
use super::summary;
use rand_chacha::ChaCha20Rng;
use rand_core::Rng;

/// Up to so many blocks every order is tried: 2¹⁶ of them.
pub const MOST_ENUMERATED: usize = 16;

/// Why blocks give no estimate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BlockedError {
    /// No spread can be estimated.
    #[error("too few blocks are complete for an estimate: {blocks}, and it takes at least 2")]
    TooFewBlocks {
        /// Complete blocks.
        blocks: usize,
    },
    /// A value that is no finite number.
    #[error("block {block} has a difference that is not a finite number; leave the block out")]
    NotFinite {
        /// Index of the block, from 0.
        block: usize,
    },
}

/// One number per block: the arms' values times the arms' weights.
///
/// `None` for a block that lacks a value the combination needs. Weights −1 and 1 of two arms give their difference;
/// 1, −1, −1, 1 of four cells the interaction.
#[must_use]
pub fn combine(blocks: &[Vec<Option<f64>>], weights: &[f64]) -> Vec<Option<f64>> {
    let of_block = |block: &Vec<Option<f64>>| {
        let needed = weights.iter().enumerate().filter(|(_, weight)| **weight != 0.0);
        needed.map(|(arm, weight)| Some(weight * block.get(arm).copied().flatten()?)).sum()
    };
    blocks.iter().map(of_block).collect()
}

/// Mean of the differences of complete blocks, with blocks − 1 degrees of freedom.
///
/// # Errors
/// With fewer than two blocks, or a difference that is no number.
pub fn estimate(differences: &[f64]) -> Result<Contrast, BlockedError> {
    if let Some(block) = differences.iter().position(|difference| !difference.is_finite()) {
        return Err(BlockedError::NotFinite { block });
    }
    let blocks = differences.len();
    let (Some(mean), Some(sd)) = (summary::mean(differences), summary::standard_deviation(differences)) else {
        return Err(BlockedError::TooFewBlocks { blocks });
    };
    Ok(Contrast::new(mean, sd / (blocks as f64).sqrt(), blocks as f64 - 1.0))
}

/// The smallest p that so many blocks can give: the observed pattern and its mirror image are equally extreme.
#[must_use]
pub fn smallest_attainable_p(blocks: usize) -> f64 {
    libm::pow(0.5, blocks as f64 - 1.0).min(1.0)
}

/// Tests that two arms do the same, by redrawing which of them took which place in each block.
///
/// The order within a block was drawn at random. Given the places the two arms took, either could have had either, so
/// the sign of each block's difference is a fair coin if they do the same. This holds for any number of other arms and
/// for any noise. The statistic is the absolute mean. All sign patterns are tried for up to [`MOST_ENUMERATED`] blocks,
/// else [`SAMPLE`] are drawn. For differences of differences it takes, beyond the draw, that the interaction's noise is
/// symmetric. `None` without blocks or with a difference that is no number. Source: R. A. Fisher, "The Design of
/// Experiments" (1935), ch. 3.
#[must_use]
pub fn randomisation(differences: &[f64], rng: &mut ChaCha20Rng) -> Option<Randomisation> {
    if differences.is_empty() || differences.iter().any(|difference| !difference.is_finite()) {
        return None;
    }
    let blocks = differences.len();
    let largest = differences.iter().fold(0.0, |largest: f64, difference| largest.max(difference.abs()));
    // Sums in another order differ by rounding; equal ones count as equally large.
    let threshold = differences.iter().sum::<f64>().abs() - 1e-10 * largest;
    let is_as_large = |signs: &dyn Fn(usize) -> bool| {
        let signed = differences.iter().enumerate().map(|(block, d)| if signs(block) { -d } else { *d });
        signed.sum::<f64>().abs() >= threshold
    };
    let smallest_of_design = smallest_attainable_p(blocks);
    if blocks <= MOST_ENUMERATED {
        // The first sign stays: the other half of the patterns are mirror images.
        let patterns = 1u32 << (blocks - 1);
        let as_large = (0..patterns).filter(|bits| is_as_large(&|block| block > 0 && bits >> (block - 1) & 1 == 1));
        let p = as_large.count() as f64 / f64::from(patterns);
        return Some(Randomisation { p, smallest_p: smallest_of_design, exact: true });
    }
    let mut as_large = 1;
    for _ in 0..SAMPLE {
        let bits: Vec<u64> = (0..blocks.div_ceil(64)).map(|_| rng.next_u64()).collect();
        as_large += u32::from(is_as_large(&|block| bits[block / 64] >> (block % 64) & 1 == 1));
    }
    let counted = f64::from(SAMPLE + 1);
    let smallest_p = smallest_of_design.max(1.0 / counted);
    Some(Randomisation { p: (f64::from(as_large) / counted).max(smallest_p), smallest_p, exact: false })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand_core::SeedableRng;

    fn rng() -> ChaCha20Rng {
        ChaCha20Rng::seed_from_u64(1)
    }

    #[test]
    fn two_arms_give_their_difference_and_four_cells_their_interaction() {
        let blocks = [vec![Some(1.0), Some(4.0), Some(2.0), Some(9.0)], vec![None, Some(2.0), Some(3.0), Some(4.0)]];
        assert_eq!(combine(&blocks, &[0.0, -1.0, 1.0]), [Some(-2.0), Some(1.0)]);
        assert_eq!(combine(&blocks, &[1.0, -1.0, -1.0, 1.0]), [Some(4.0), None]);
        assert_eq!(combine(&blocks, &[0.0, 0.0, 0.0, 0.0, 1.0]), [None, None]);
    }

    #[test]
    fn the_estimate_is_the_paired_t_test() {
        // Student's own data (1908): hours of sleep gained, the second drug minus the first.
        let gained = [1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4];
        let found = estimate(&gained).unwrap();
        assert!((found.t - 4.0621).abs() < 5e-5 && (found.p - 0.002_833).abs() < 5e-7, "{found:?}");
        assert_eq!(found.df, 9.0);
    }

    #[test]
    fn every_sign_pattern_counts_once() {
        let found = randomisation(&[1.0, 2.0, 4.0], &mut rng()).unwrap();
        assert_eq!((found.p, found.smallest_p, found.exact), (0.25, 0.25, true));
        // |1 + 2 − 4| is the smallest sum there is.
        assert_eq!(randomisation(&[1.0, 2.0, -4.0], &mut rng()).unwrap().p, 1.0);
        assert_eq!(randomisation(&[3.0], &mut rng()).unwrap().p, 1.0);
    }

    #[test]
    fn six_blocks_are_the_fewest_that_reach_five_percent() {
        let p = |blocks: usize| randomisation(&vec![1.0; blocks], &mut rng()).unwrap().smallest_p;
        assert!(p(5) > 0.05 && p(6) <= 0.05);
    }

    #[test]
    fn a_sample_of_patterns_agrees_with_all_of_them() {
        let few: Vec<f64> = (0..16).map(|block| f64::from(block % 5) - 1.5).collect();
        let all = randomisation(&few, &mut rng()).unwrap();
        // A seventeenth block of no difference changes no sum, but takes the test to sampling.
        let sampled = randomisation(&[few, vec![0.0]].concat(), &mut rng()).unwrap();
        assert!(all.exact && !sampled.exact);
        assert!((all.p - sampled.p).abs() < 4.0 * (all.p * (1.0 - all.p) / f64::from(SAMPLE)).sqrt());
    }

    #[test]
    fn what_is_no_sample_has_no_estimate() {
        assert_eq!(estimate(&[]), Err(BlockedError::TooFewBlocks { blocks: 0 }));
        assert_eq!(estimate(&[1.0]), Err(BlockedError::TooFewBlocks { blocks: 1 }));
        assert_eq!(estimate(&[1.0, f64::INFINITY]), Err(BlockedError::NotFinite { block: 1 }));
        assert_eq!(randomisation(&[], &mut rng()), None);
        assert_eq!(randomisation(&[f64::NAN], &mut rng()), None);
    }

    proptest! {
        #[test]
        fn swapping_the_arms_flips_the_sign_and_nothing_else(d in prop::collection::vec(-9.0..9.0_f64, 2..12)) {
            let swapped: Vec<f64> = d.iter().map(|d| -d).collect();
            let (one, other) = (estimate(&d).unwrap(), estimate(&swapped).unwrap());
            prop_assert_eq!((one.estimate, one.p), (-other.estimate, other.p));
            prop_assert_eq!(randomisation(&d, &mut rng()), randomisation(&swapped, &mut rng()));
        }

        #[test]
        fn neither_scale_nor_the_order_of_blocks_matters(
            d in prop::collection::vec(-9.0..9.0_f64, 2..12),
            turn in 0usize..12,
        ) {
            let mut moved: Vec<f64> = d.iter().map(|d| d * 1024.0).collect();
            let turn = turn % d.len();
            moved.rotate_left(turn);
            let (one, other) = (estimate(&d).unwrap(), estimate(&moved).unwrap());
            prop_assert!((one.p - other.p).abs() < 1e-9);
            let p = |d: &[f64]| randomisation(d, &mut rng()).unwrap().p;
            prop_assert_eq!(p(&d), p(&moved));
        }
    }
}

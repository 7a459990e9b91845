//! The estimate that a design calls for, of any number that every run has: a metric on logarithms, another measure, a kernel
//! counter, a share of stacks.
//!
//! What is known of how the samples hang together decides, and nothing else: pairs whose order is known are compared by the
//! crossover estimate, other blocks by the mean of their differences, samples without blocks by Welch's test. Whatever stands
//! beside a comparison comes from the estimator of that comparison, so that no two numbers of a report differ in their method.

use super::found::BlockDifference;
use crate::stats::contrast::Contrast;
use crate::stats::crossover::{self, PairDifference};
use crate::stats::{benjamini_hochberg, blocked};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How samples hang together, and so how they are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Design {
    /// Each block holds one run of either level, and which came first is known: the crossover estimate.
    Pairs,
    /// Each block holds both levels: a t interval over the blocks' differences.
    Blocks,
    /// Nothing ties a sample of one level to one of the other: Welch's test on logarithms.
    Independent,
    /// Runs are missing from boots that hold several: a linear mixed model (REML, Satterthwaite).
    MixedModel,
}

impl Design {
    /// As JSON has it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Design::Pairs => "pairs",
            Design::Blocks => "blocks",
            Design::Independent => "independent",
            Design::MixedModel => "mixed-model",
        }
    }
}

/// An estimate, and the scatter a new trial is sized by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The estimate with its precision, in the unit of the differences.
    pub contrast: Contrast,
    /// Standard deviation of a block's difference.
    pub residual_sd: f64,
    /// Its square over that of the standard error: the number of blocks, of pairs a little less where one order has more.
    pub information: f64,
    /// Of pairs: the second run against the first, the effect removed.
    pub period: Option<f64>,
}

impl Estimate {
    /// Of so many blocks.
    #[must_use]
    pub fn of(contrast: Contrast, blocks: usize) -> Estimate {
        let information = blocks as f64;
        Estimate { contrast, residual_sd: contrast.standard_error * information.sqrt(), information, period: None }
    }
}

/// The estimate from differences within blocks. Of pairs, those whose order is not known count for nothing.
///
/// # Errors
/// When there are too few blocks, or pairs of one order only; in words.
pub fn within(design: Design, blocks: &[BlockDifference]) -> Result<Estimate, String> {
    if design == Design::Pairs {
        return by_pairs(blocks);
    }
    let differences: Vec<f64> = blocks.iter().map(|block| block.difference).collect();
    let found = blocked::estimate(&differences).map_err(|error| error.to_string())?;
    Ok(Estimate::of(found, differences.len()))
}

fn by_pairs(blocks: &[BlockDifference]) -> Result<Estimate, String> {
    let pair = |block: &BlockDifference| Some(PairDifference { a_first: block.a_first?, difference: block.difference });
    let pairs: Vec<PairDifference> = blocks.iter().filter_map(pair).collect();
    let of_order = |a_first: bool| pairs.iter().filter(|pair| pair.a_first == a_first).count() as f64;
    let found = crossover::estimate(&pairs).map_err(|error| error.to_string())?;
    Ok(Estimate {
        contrast: Contrast::new(found.effect, found.standard_error, found.df),
        residual_sd: found.residual_sd,
        information: 4.0 / (1.0 / of_order(true) + 1.0 / of_order(false)),
        period: Some(found.period),
    })
}

/// Entries of a list are believed up to this false-discovery rate.
pub const FALSE_DISCOVERY_RATE: f64 = 0.1;

/// One of several numbers that were compared by the same estimator.
pub trait Tested {
    /// Two-sided p-value of no difference.
    fn p(&self) -> f64;
    /// Takes the adjusted p.
    fn set_q(&mut self, q: f64);
}

impl<T: Tested> Tested for &mut T {
    fn p(&self) -> f64 {
        (**self).p()
    }

    fn set_q(&mut self, q: f64) {
        (**self).set_q(q);
    }
}

/// Gives each Benjamini and Hochberg's adjusted p, over all of them.
pub fn adjust<T: Tested>(tested: &mut [T]) {
    let p_values: Vec<f64> = tested.iter().map(Tested::p).collect();
    for (one, q) in tested.iter_mut().zip(benjamini_hochberg::adjusted(&p_values)) {
        one.set_q(q);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(differences: &[f64], a_first: impl Fn(usize) -> Option<bool>) -> Vec<BlockDifference> {
        let block = |(at, difference): (usize, &f64)| BlockDifference {
            block: at as u32,
            a_first: a_first(at),
            difference: *difference,
        };
        differences.iter().enumerate().map(block).collect()
    }

    #[test]
    fn what_running_second_costs_is_taken_out_of_pairs_and_not_of_blocks() {
        // An effect of 1 and a period effect of 0.5.
        let differences = blocks(&[1.5, 0.5, 1.5, 0.5, 1.6, 0.4], |at| Some(at % 2 == 0));
        let pairs = within(Design::Pairs, &differences).unwrap();
        let as_blocks = within(Design::Blocks, &differences).unwrap();
        assert!((pairs.contrast.estimate - 1.0).abs() < 1e-12 && (as_blocks.contrast.estimate - 1.0).abs() < 1e-12);
        assert!((pairs.period.unwrap() - 0.533).abs() < 0.001);
        assert!(pairs.contrast.standard_error < as_blocks.contrast.standard_error / 5.0);
    }

    #[test]
    fn what_cannot_be_estimated_is_told_in_words() {
        let few = within(Design::Pairs, &blocks(&[1.0, 2.0], |at| Some(at == 0))).unwrap_err();
        assert!(few.contains("too few pairs"), "{few}");
        let one = within(Design::Blocks, &blocks(&[1.0], |_| None)).unwrap_err();
        assert!(one.contains("too few blocks"), "{one}");
    }
}

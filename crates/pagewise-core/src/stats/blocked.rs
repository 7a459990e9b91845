//! Differences inside complete blocks: a t estimate over blocks, and the randomisation test that turns blocks over.
//!
//! A block holds both sides of a comparison once, next to each other in time, so what differs between blocks (drift, the
//! state of the host, another boot) cancels inside them. Sources: R. A. Fisher, "The Design of Experiments" (1935), ch. 3;
//! Cochran and Cox, "Experimental Designs" (1957), ch. 4.

use super::{student_t, summary};

use rand_chacha::ChaCha20Rng;
use rand_core::Rng;

/// Up to this many blocks every one of the 2ⁿ orders is tried.
const MOST_ENUMERATED: usize = 16;

/// Orders drawn when there are too many to try.
const SAMPLE: u32 = 20_000;

/// The mean difference and its precision, in the unit of the differences.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BlockEstimate {
    /// Mean over blocks.
    pub effect: f64,
    /// Its standard error.
    pub standard_error: f64,
    /// Standard deviation of a block's difference.
    pub residual_sd: f64,
    /// Degrees of freedom: blocks − 1.
    pub df: f64,
}

impl BlockEstimate {
    /// Two-sided p-value of the hypothesis of no effect.
    #[must_use]
    pub fn p(&self) -> f64 {
        if self.standard_error > 0.0 {
            return student_t::two_sided_p(self.effect / self.standard_error, self.df);
        }
        if self.effect == 0.0 { 1.0 } else { 0.0 }
    }

    /// Interval that covers the truth with probability 1 − `alpha`, low end first.
    #[must_use]
    pub fn interval(&self, alpha: f64) -> (f64, f64) {
        let half_width = student_t::critical_value(alpha, self.df) * self.standard_error;
        (self.effect - half_width, self.effect + half_width)
    }
}

/// The estimate from one difference per complete block. `None` below two blocks, or when a difference is no number.
#[must_use]
pub fn estimate(differences: &[f64]) -> Option<BlockEstimate> {
    if differences.iter().any(|difference| !difference.is_finite()) {
        return None;
    }
    let residual_sd = summary::standard_deviation(differences)?;
    Some(BlockEstimate {
        effect: summary::mean(differences)?,
        standard_error: residual_sd / (differences.len() as f64).sqrt(),
        residual_sd,
        df: differences.len() as f64 - 1.0,
    })
}

/// What the randomisation test found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BlockedRandomisation {
    /// Two-sided p-value.
    pub p: f64,
    /// The smallest p-value this design could have given: 2 in 2ⁿ.
    pub smallest_p: f64,
    /// Whether every order was tried.
    pub exact: bool,
}

/// Tests that the two sides do not differ, with the absolute mean difference as the statistic.
///
/// Under the sharp null hypothesis exchanging the two sides in a block turns the sign of its difference and nothing else, and
/// the order was drawn so that both are equally likely. `None` without a difference, or when one is no number.
#[must_use]
pub fn sign_flips(differences: &[f64], rng: &mut ChaCha20Rng) -> Option<BlockedRandomisation> {
    let n = differences.len();
    if n == 0 || differences.iter().any(|difference| !difference.is_finite()) {
        return None;
    }
    let observed: f64 = differences.iter().sum::<f64>().abs();
    // Sums in another order round differently; equal statistics must count as equal.
    let rounding = 1e-12 * differences.iter().map(|difference| difference.abs()).sum::<f64>();
    let is_as_large = |signs: &dyn Fn(usize) -> bool| {
        let sum: f64 = differences.iter().enumerate().map(|(i, d)| if signs(i) { -d } else { *d }).sum();
        sum.abs() >= observed - rounding
    };
    let smallest_p = 2.0 / libm::exp2(n as f64);
    if n <= MOST_ENUMERATED {
        // The mirror image of an order has the same statistic: the first block keeps its sign.
        let orders = 1u32 << (n - 1);
        let count =
            (0..orders).filter(|order| is_as_large(&|block| block > 0 && order >> (block - 1) & 1 == 1)).count();
        let p = count as f64 / f64::from(orders);
        return Some(BlockedRandomisation { p, smallest_p: smallest_p.min(1.0), exact: true });
    }
    let mut count = 0;
    for _ in 0..SAMPLE {
        let signs: Vec<bool> = (0..n).map(|_| rng.next_u64() >> 63 == 1).collect();
        count += u32::from(is_as_large(&|block| signs[block]));
    }
    // The order that was run is one of the sample (Phipson and Smyth 2010).
    let p = f64::from(count + 1) / f64::from(SAMPLE + 1);
    Some(BlockedRandomisation { p, smallest_p, exact: false })
}

//! The crossover estimate: the effect of b against a from pairs run in both orders, with the period effect removed.
//!
//! In every pair both levels run once, next to each other. Pairs in the order AB estimate effect + period, pairs in the
//! order BA estimate effect − period, where the period effect is what the second run gains or loses by being second.
//! Half the sum of the two means is the effect, half their difference the period effect. Source: Hills and Armitage,
//! "The two-period cross-over clinical trial", Br. J. clin. Pharmac. 8 (1979), 7–20. Slow drift over the trial reaches
//! both orders alike and cancels inside the pairs.

use super::{student_t, summary};

/// What one pair says: b minus a, and which of them ran first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairDifference {
    /// Whether a ran first.
    pub a_first: bool,
    /// Value of b minus value of a. On logarithms this is the log ratio.
    pub difference: f64,
}

/// The estimate and its precision, in the unit of the differences.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// b against a, the period effect removed.
    pub effect: f64,
    /// The second run of a pair against the first, the effect removed.
    pub period: f64,
    /// Standard error of `effect` (and of `period`).
    pub standard_error: f64,
    /// Standard deviation of a pair's difference, pooled over the two orders.
    pub residual_sd: f64,
    /// Degrees of freedom: pairs − 2.
    pub df: f64,
}

/// One pair more than there are means to estimate.
const FEWEST: usize = 3;

/// Why pairs give no estimate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CrossoverError {
    /// No spread can be estimated.
    #[error("too few pairs are complete for an estimate: {pairs}, and it takes at least {FEWEST}")]
    TooFewPairs {
        /// Complete pairs.
        pairs: usize,
    },
    /// Effect and period effect cannot be told apart.
    #[error("in all {pairs} complete pairs the same level ran first, so its effect cannot be told from being first")]
    OneOrderOnly {
        /// Complete pairs.
        pairs: usize,
    },
}

impl Estimate {
    /// Two-sided p-value of the hypothesis of no effect.
    #[must_use]
    pub fn p(&self) -> f64 {
        if self.standard_error > 0.0 {
            return student_t::two_sided_p(self.effect / self.standard_error, self.df);
        }
        // No spread at all: either every pair says exactly nothing, or every pair says exactly the same.
        if self.effect == 0.0 { 1.0 } else { 0.0 }
    }

    /// Interval of the effect that covers the truth with probability 1 − `alpha`, low end first.
    #[must_use]
    pub fn interval(&self, alpha: f64) -> (f64, f64) {
        let half_width = student_t::critical_value(alpha, self.df) * self.standard_error;
        (self.effect - half_width, self.effect + half_width)
    }
}

/// Estimates the effect from complete pairs.
///
/// # Errors
/// With fewer than three pairs, or when one order does not occur.
pub fn estimate(pairs: &[PairDifference]) -> Result<Estimate, CrossoverError> {
    let of_order = |a_first: bool| -> Vec<f64> {
        pairs.iter().filter(|pair| pair.a_first == a_first).map(|pair| pair.difference).collect()
    };
    let (ab, ba) = (of_order(true), of_order(false));
    if pairs.len() < FEWEST {
        return Err(CrossoverError::TooFewPairs { pairs: pairs.len() });
    }
    let (Some(mean_ab), Some(mean_ba)) = (summary::mean(&ab), summary::mean(&ba)) else {
        return Err(CrossoverError::OneOrderOnly { pairs: pairs.len() });
    };
    let df = (pairs.len() - 2) as f64;
    let residual_sd = ((summary::sum_of_squares(&ab) + summary::sum_of_squares(&ba)) / df).sqrt();
    Ok(Estimate {
        effect: (mean_ab + mean_ba) / 2.0,
        period: (mean_ab - mean_ba) / 2.0,
        standard_error: standard_error(residual_sd, ab.len(), ba.len()),
        residual_sd,
        df,
    })
}

/// Standard error of the effect for pairs of this spread, so many in each order.
#[must_use]
pub fn standard_error(residual_sd: f64, ab: usize, ba: usize) -> f64 {
    residual_sd / 2.0 * (1.0 / ab as f64 + 1.0 / ba as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(ab: &[f64], ba: &[f64]) -> Vec<PairDifference> {
        let of = |a_first| move |difference: &f64| PairDifference { a_first, difference: *difference };
        ab.iter().map(of(true)).chain(ba.iter().map(of(false))).collect()
    }

    #[test]
    fn effect_and_period_are_told_apart() {
        // Effect 3, period 1: AB pairs show 4, BA pairs 2.
        let found = estimate(&pairs(&[4.5, 3.5], &[2.5, 1.5])).unwrap();
        assert_eq!((found.effect, found.period, found.df), (3.0, 1.0, 2.0));
        assert!((found.residual_sd - 0.5_f64.sqrt()).abs() < 1e-15);
        assert!((found.standard_error - 0.5_f64.sqrt() / 2.0).abs() < 1e-15);
    }

    #[test]
    fn the_interval_excludes_zero_exactly_when_p_is_below_alpha() {
        for shift in [0.0, 0.3, 0.6, 0.62, 0.65, 0.7, 1.0, 2.0] {
            let found = estimate(&pairs(&[shift + 0.5, shift - 0.4, shift], &[shift + 0.3, shift - 0.6])).unwrap();
            let (low, high) = found.interval(0.05);
            assert_eq!(low > 0.0 || high < 0.0, found.p() < 0.05, "shift {shift}");
        }
    }

    #[test]
    fn pairs_in_one_order_only_give_no_estimate() {
        assert_eq!(estimate(&pairs(&[1.0, 2.0, 3.0], &[])), Err(CrossoverError::OneOrderOnly { pairs: 3 }));
        assert_eq!(estimate(&pairs(&[1.0], &[1.0])), Err(CrossoverError::TooFewPairs { pairs: 2 }));
    }

    #[test]
    fn values_without_any_spread_are_certain() {
        assert_eq!(estimate(&pairs(&[0.0, 0.0], &[0.0, 0.0])).unwrap().p(), 1.0);
        assert_eq!(estimate(&pairs(&[1.0, 1.0], &[1.0, 1.0])).unwrap().p(), 0.0);
    }
}

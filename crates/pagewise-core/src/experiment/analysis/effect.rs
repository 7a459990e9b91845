//! The effect on the metric: crossover estimate on log ratios with the randomisation test beside it.

use super::pairs::{Pair, Trial};
use super::{Effect, Interval, Question};
use crate::comparison::rule::{LEAST_SPREAD, without_spread};
use crate::experiment::order::draw_pair_sequence;
use crate::stats::crossover::{self, Estimate, PairDifference};
use crate::stats::randomisation::{self, PlacedPair};
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

/// The order of a trial is drawn from stream 0 of its seed; resampling reads other streams of the same seed, so that it
/// is reproducible and independent of the order.
const RANDOMISATION_STREAM: u64 = 1;

/// What was found, for the report and for what is computed from it.
pub(super) struct Found {
    pub(super) effect: Effect,
    /// On the scale of log ratios.
    pub(super) estimate: Estimate,
    /// ln(b / a) of each complete pair, by block.
    pub(super) differences: Vec<PairDifference>,
}

/// Estimates the effect, or says why it cannot.
pub(super) fn estimate(question: &Question, trial: &Trial) -> Result<Found, String> {
    if let Some(value) = trial.pairs.iter().flat_map(|pair| [pair.a.value, pair.b.value]).find(|value| *value <= 0.0) {
        return Err(format!(
            "{} has a value of {value}, and a ratio needs values above zero; choose a metric that is never zero or negative",
            question.metric.name
        ));
    }
    let differences: Vec<PairDifference> = trial.pairs.iter().map(log_ratio).collect();
    if let Some(why) = super::live::too_little(question, &differences) {
        return Err(why);
    }
    let estimate = crossover::estimate(&differences)
        .map_err(|error| format!("{error} ({} were planned)", question.pairs_planned))?;
    if estimate.standard_error < LEAST_SPREAD {
        let values: Vec<f64> = trial.pairs.iter().flat_map(|pair| [pair.a.value, pair.b.value]).collect();
        return Err(without_spread(&question.metric.name, &values));
    }
    let randomisation = randomise(question, trial, &differences)
        .ok_or_else(|| "the order that was run gives no effect to redraw".to_owned())?;
    let effect = Effect {
        ratio: libm::exp(estimate.effect),
        interval: ratio_interval(&estimate, question.alpha),
        interval_equivalence: ratio_interval(&estimate, 2.0 * question.alpha),
        log_ratio: estimate.effect,
        standard_error: estimate.standard_error,
        df: estimate.df,
        p: estimate.p(),
        randomisation_p: randomisation.p,
        smallest_randomisation_p: randomisation.smallest_p,
        randomisation_exact: randomisation.exact,
        period_ratio: libm::exp(estimate.period),
    };
    let bounds = [effect.interval.low, effect.interval.high, effect.period_ratio];
    if bounds.iter().any(|bound| !bound.is_finite()) {
        return Err(format!("the values of {} spread too far for an interval", question.metric.name));
    }
    Ok(Found { effect, estimate, differences })
}

/// The interval of the ratio at 1 − `alpha`.
pub(super) fn ratio_interval(estimate: &Estimate, alpha: f64) -> Interval {
    let (low, high) = estimate.interval(alpha);
    Interval { low: libm::exp(low), high: libm::exp(high) }
}

fn log_ratio(pair: &Pair) -> PairDifference {
    PairDifference { a_first: pair.a_first, difference: libm::log(pair.b.value) - libm::log(pair.a.value) }
}

/// Redraws the order of all planned pairs; the values stay at their place in time.
fn randomise(
    question: &Question,
    trial: &Trial,
    differences: &[PairDifference],
) -> Option<randomisation::Randomisation> {
    // A bundle with more blocks than its plan is not ours, but it must not bring an analysis down.
    let planned = trial.pairs.iter().map(|pair| pair.block.saturating_add(1)).fold(question.pairs_planned, u32::max);
    if planned as usize > MOST_PLANNED {
        return None;
    }
    let mut places = vec![PlacedPair { second_minus_first: None, a_first: false }; planned as usize];
    for (pair, PairDifference { a_first, difference }) in trial.pairs.iter().zip(differences) {
        let second_minus_first = Some(if *a_first { *difference } else { -difference });
        places[pair.block as usize] = PlacedPair { second_minus_first, a_first: *a_first };
    }
    let mut rng = ChaCha20Rng::seed_from_u64(question.seed);
    rng.set_stream(RANDOMISATION_STREAM);
    randomisation::test(&places, || draw_pair_sequence(planned, &mut rng))
}

/// Far beyond any trial; keeps a block number from a damaged bundle from asking for all memory.
const MOST_PLANNED: usize = 1_000_000;

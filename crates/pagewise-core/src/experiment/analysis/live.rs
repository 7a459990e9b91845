//! What is special about a proof on a host that goes on working: it may end early, and a switch may act slowly.

use super::pairs::Trial;
use super::sentence::{change, p_value};
use super::warnings::{LOOKED_FOR_EVERY_TIME, warning};
use super::{Question, Warning};
use crate::experiment::live::{EndedBy, half_of};
use crate::experiment::order::FEWEST_PAIRS;
use crate::experiment::point::Point;
use crate::stats::crossover::{self, PairDifference};

/// Each order must occur this often, or its spread cannot be told from the period effect.
const EACH_ORDER: usize = 2;

/// Why a live proof that ended early carries no verdict. The plan it was begun with could have; what was run of it could not.
pub(super) fn too_little(question: &Question, pairs: &[PairDifference]) -> Option<String> {
    question.ended.as_ref()?;
    let a_first = pairs.iter().filter(|pair| pair.a_first).count();
    let rarer = a_first.min(pairs.len() - a_first);
    if pairs.len() >= FEWEST_PAIRS as usize && rarer >= EACH_ORDER {
        return None;
    }
    Some(format!(
        "the proof ended early with {} complete of {} pairs, of which A went first in {a_first}, and a verdict needs \
         {FEWEST_PAIRS} with each order {EACH_ORDER} times",
        pairs.len(),
        question.pairs_planned
    ))
}

/// That the plan did not come to its end, and why.
pub(super) fn ended_early(question: &Question, trial: &Trial) -> Option<Warning> {
    let ended = question.ended.as_ref()?;
    let what = match ended.by {
        EndedBy::Job => "the job ended",
        EndedBy::Bound => "a bound was crossed",
        EndedBy::ForeignChange => "someone else took a setting into their hands",
    };
    let consequence = match ended.by {
        EndedBy::Job | EndedBy::ForeignChange => "",
        // What stops a proof when it looks bad also decides which pairs are left.
        EndedBy::Bound => " An end that depends on what was measured leaves the calmer pairs, so the numbers flatter.",
    };
    let text = format!(
        "The proof ended before its plan because {what}: {}. The {} of {} pairs that were complete are analysed, the cut \
         one is not.{consequence}",
        ended.reason,
        trial.pairs.len(),
        question.pairs_planned
    );
    warning("ended-early", text)
}

/// Whether the difference between the arms is still growing or shrinking inside the blocks: then the old policy's traces, or
/// the new one's slow start, are part of what was measured. Compares the difference in second halves with that in first halves.
pub(super) fn still_changing(question: &Question, trial: &Trial) -> Option<Warning> {
    if !question.is_live {
        return None;
    }
    let value = |point: &Point, second: bool| {
        point.measures.get(&half_of(&question.metric.name, second)).copied().filter(|value| *value > 0.0)
    };
    let (mut first, mut second, mut growth) = (Vec::new(), Vec::new(), Vec::new());
    for pair in &trial.pairs {
        let log_ratio = |half| Some(libm::log(value(pair.b.point, half)?) - libm::log(value(pair.a.point, half)?));
        let (one, two) = (log_ratio(false)?, log_ratio(true)?);
        let a_first = pair.a_first;
        first.push(PairDifference { a_first, difference: one });
        second.push(PairDifference { a_first, difference: two });
        growth.push(PairDifference { a_first, difference: two - one });
    }
    let p = crossover::estimate(&growth).ok()?.p();
    if p >= LOOKED_FOR_EVERY_TIME {
        return None;
    }
    let effect = |pairs: &[PairDifference]| crossover::estimate(pairs).ok().map(|found| libm::exp(found.effect));
    let text = format!(
        "The difference is still changing inside the blocks: {} under `{}` is {} in their first halves and {} in their second \
         halves (p = {}). What one policy leaves behind reaches into the other's block.",
        question.metric.name,
        question.b,
        change(effect(&first)?),
        change(effect(&second)?),
        p_value(p)
    );
    warning("still-changing", text)
}

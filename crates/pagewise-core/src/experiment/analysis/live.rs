//! What is special about a proof on a host that goes on working: it may end early, and a switch may act slowly.

use super::compare::Estimated;
use super::values::Values;
use super::{BlockDifference, Declared, Warning};
use crate::comparison::doubts::{LEVEL_OF_DOUBTS, warning};
use crate::comparison::ratio::change;
use crate::comparison::words::p_value;
use crate::experiment::live::{EndedBy, RUN_BY_RUN, half_of};
use crate::experiment::order::FEWEST_PAIRS;

/// Each order must occur this often, or its spread cannot be told from the period effect.
const EACH_ORDER: usize = 2;

/// Why a live proof that ended early carries no verdict. The plan it was begun with could have; what was run of it could not.
pub(super) fn too_little(declared: &Declared<'_>, pairs: &[BlockDifference]) -> Option<String> {
    declared.ended?;
    let a_first = pairs.iter().filter(|pair| pair.a_first == Some(true)).count();
    let rarer = a_first.min(pairs.len() - a_first);
    if pairs.len() >= FEWEST_PAIRS as usize && rarer >= EACH_ORDER {
        return None;
    }
    Some(format!(
        "the proof ended early with {} complete of {} pairs, of which A went first in {a_first}, and a verdict needs \
         {FEWEST_PAIRS} with each order {EACH_ORDER} times",
        pairs.len(),
        declared.plan.design.blocks
    ))
}

/// That the plan did not come to its end, and why.
pub(super) fn ended_early(declared: &Declared<'_>, comparisons: &[Estimated]) -> Option<Warning> {
    let ended = declared.ended?;
    let what = match ended.by {
        EndedBy::Job => "the job ended",
        EndedBy::Bound => "a bound was crossed",
        EndedBy::ForeignChange => "someone else took a setting into their hands",
    };
    let consequence = match ended.by {
        EndedBy::Job => format!(" {RUN_BY_RUN}"),
        EndedBy::ForeignChange => String::new(),
        // What stops a proof when it looks bad also decides which pairs are left.
        EndedBy::Bound => {
            " An end that depends on what was measured leaves the calmer pairs, so the numbers flatter.".to_owned()
        }
    };
    let text = format!(
        "The proof ended before its plan because {what}: {}. The {} of {} pairs that were complete are analysed, the cut \
         one is not.{consequence}",
        ended.reason,
        comparisons.first().map_or(0, |one| one.differences.len()),
        declared.plan.design.blocks
    );
    warning("ended-early", text)
}

/// Whether the difference between the arms is still growing or shrinking inside the blocks: then the old policy's traces, or
/// the new one's slow start, are part of what was measured. Compares the difference in second halves with that in first halves.
pub(super) fn still_changing(declared: &Declared<'_>, values: &Values<'_>, one: &Estimated) -> Option<Warning> {
    declared.plan.live.as_ref()?;
    let metric = &declared.metrics[one.asked.metric].metric.name;
    let log = |block: u32, cell: &str, second: bool| {
        values.value(block, cell, &half_of(metric, second)).filter(|value| *value > 0.0).map(libm::log)
    };
    let p = one.estimate_of(|block, cell| Some(log(block, cell, true)? - log(block, cell, false)?))?.contrast.p;
    if p >= LEVEL_OF_DOUBTS {
        return None;
    }
    let effect = |second: bool| {
        let found = one.estimate_of(|block, cell| log(block, cell, second))?;
        Some(change(libm::exp(found.contrast.estimate)))
    };
    let text = format!(
        "The difference is still changing inside the blocks: {metric} under `{}` is {} in their first halves and {} in their \
         second halves (p = {}). What one policy leaves behind reaches into the other's block.",
        declared.plan.contrasts[one.asked.contrast].b,
        effect(false)?,
        effect(true)?,
        p_value(p)
    );
    warning("still-changing", text)
}

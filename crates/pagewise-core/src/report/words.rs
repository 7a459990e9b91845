//! The sentences around the numbers: what a verdict means, what to do about a warning, how the numbers were made.

use super::number;
use crate::comparison::rule::OUTCOMES;
use crate::experiment::analysis::{Analysis, Conclusion};
use crate::experiment::live::Live;
use crate::metric::Direction;

/// The verdict in one word.
pub(super) fn verdict_word(conclusion: Conclusion) -> &'static str {
    match conclusion {
        Conclusion::Equivalent => "Equivalent",
        Conclusion::Better => "Better",
        Conclusion::Worse => "Worse",
        Conclusion::Inconclusive => "Inconclusive",
    }
}

/// Why the verdict is this one and not another.
pub(super) fn verdict_meaning(analysis: &Analysis) -> String {
    let margin = number::percent(analysis.margin);
    let confidence = number::percent(1.0 - analysis.alpha);
    let equivalence = number::percent(1.0 - 2.0 * analysis.alpha);
    if analysis.verdict.decided_by == OUTCOMES {
        return "Runs that did not end well decide before the metric does: one arm had clearly more of them."
            .to_owned();
    }
    match analysis.verdict.conclusion {
        Conclusion::Equivalent if analysis.verdict.real_but_below_margin => format!(
            "The difference is real (the {confidence} interval excludes none at all) but smaller than the ±{margin} that \
             you said matters."
        ),
        Conclusion::Equivalent => {
            format!("The {equivalence} interval lies inside ±{margin}, the difference you said does not matter.")
        }
        Conclusion::Better | Conclusion::Worse => {
            format!("The {confidence} interval of the ratio excludes 1, which would be no difference.")
        }
        Conclusion::Inconclusive if analysis.effect.is_none() && analysis.pairs_complete > 0 => {
            "Without an estimate nothing can be concluded from the metric.".to_owned()
        }
        Conclusion::Inconclusive if analysis.effect.is_none() => {
            "A pair is complete when both of its runs ended well. See how the others ended, and why.".to_owned()
        }
        Conclusion::Inconclusive if is_held_back(analysis) => {
            "The metric alone would have decided, but it only speaks for the runs that ended well.".to_owned()
        }
        Conclusion::Inconclusive => {
            format!("Neither a difference nor its absence within ±{margin} was shown.")
        }
    }
}

/// Whether an interval decides although the verdict does not: an arm that fails more often is not called better.
fn is_held_back(analysis: &Analysis) -> bool {
    let Some(effect) = &analysis.effect else { return false };
    let excludes_one = effect.interval.low > 1.0 || effect.interval.high < 1.0;
    let equivalence = effect.interval_equivalence;
    excludes_one || (equivalence.low > 1.0 - analysis.margin && equivalence.high < 1.0 + analysis.margin)
}

/// What to do about a warning, by its id. Ids are stable, so an unknown one comes from a newer analysis.
pub(super) fn remedy(id: &str) -> &'static str {
    match id {
        "drift" => {
            "Pairs cancel a slow drift, but find its cause: temperature, a growing disk, another job. Repeat on a \
             quiet host, with more warm-up runs."
        }
        "bimodal" => {
            "The mean describes neither group. Look for what switches between them (placement, cache, frequency) in \
             the run order, and fix it or make it a factor."
        }
        "one-point-decides" => "Look at that run. Repeat the trial with another seed before you act on the verdict.",
        "noise-against-margin" => "Plan more pairs, a longer job or a quieter host; or accept a wider --margin.",
        "policy-changes-nothing" => {
            "Choose values that differ from what the host already has, and see 'pagewise show' for what can act here."
        }
        "levels-differ-in-more" => {
            "The effect belongs to all of these settings together. To name one, compare levels that differ in it alone."
        }
        "host-changed" => {
            "Repeat the trial on a host that nobody and nothing else tunes; see 'pagewise doctor' for who may."
        }
        "few-sequences" => "The randomisation test cannot give a small p here. Plan more pairs.",
        "tests-disagree" => "Trust neither alone. Look at the points, and repeat with more pairs.",
        "attempts-replaced" => {
            "Replaced runs are drawn in the run order. If they fall on one arm, find out what disturbed it."
        }
        "incomplete-pairs" => {
            "A pair has a ratio when both its runs ended well and have the metric. Read the outcomes first; then resume \
             what is missing, give the job more memory or time, or see that every run reports the metric."
        }
        "ended-early" => {
            "Repeat the proof with another seed when the cause is gone; do not add these pairs to the new ones."
        }
        "still-changing" => {
            "Repeat with a longer --washout, or longer blocks, until both halves of a block say the same."
        }
        "no-such-number" => {
            "Check the name against those a run reports, and that the job writes it to $PAGEWISE_METRICS. This trial cannot say \
             anything about it."
        }
        "not-positive" => "A ratio needs values above zero. Choose another metric, or check what the job reports.",
        _ => "See the method pages of this version of Pagewise.",
    }
}

/// What is special about blocks on a host that goes on working.
pub(super) fn live_method(live: &Live) -> String {
    format!(
        "A run here is a block of {} s on a host that went on working. Before it {} s passed until the policy acted and {} s until          what the other left behind had faded, also where nothing was switched. Counts and seconds are scaled to the length of a          block. What one policy leaves behind for longer makes the two look more alike than they are.",
        live.block_seconds, live.settle_seconds, live.washout_seconds
    )
}

/// How the metric's direction reads at the two ends of an axis: below 1, above 1.
pub(super) fn axis_ends(direction: Direction) -> (&'static str, &'static str) {
    match direction {
        Direction::Lower => ("B lower (better)", "B higher (worse)"),
        Direction::Higher => ("B lower (worse)", "B higher (better)"),
    }
}

/// How the numbers were made, for a reader who knows no statistics.
pub(super) fn method(analysis: &Analysis) -> Vec<String> {
    let margin = number::percent(analysis.margin);
    let confidence = number::percent(1.0 - analysis.alpha);
    let equivalence = number::percent(1.0 - 2.0 * analysis.alpha);
    vec![
        "Both arms ran in adjacent pairs. Which one went first was drawn at random from a seed before the first run, as \
         often A as B. Slow changes of the host therefore hit both arms alike."
            .to_owned(),
        format!(
            "The ratio is the crossover estimate on logarithms: what running second costs is estimated and removed. \
             If the trial were repeated often, {confidence} of such {confidence} intervals would cover the true ratio."
        ),
        format!(
            "Equivalent: the {equivalence} interval lies inside ±{margin}. Better or worse: otherwise, if the \
             {confidence} interval excludes 1. Inconclusive: neither. An arm that fails more often is never better."
        ),
        "The randomisation p asks how often the same runs would look this different if only the drawn order had \
         changed. It needs no bell curve. It cannot be smaller than the number of possible orders allows."
            .to_owned(),
        "Kernel counters: q is the share of false alarms to expect if every counter down to this line is believed \
         (Benjamini and Hochberg). A counter that differs is a trace, not yet a cause."
            .to_owned(),
    ]
}

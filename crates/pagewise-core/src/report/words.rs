//! The sentences around the numbers: what a verdict means, what to do about a warning, how the numbers were made.

use super::number;
use super::two_arms::TwoArms;
use crate::comparison::rule::OUTCOMES;
use crate::experiment::analysis::{Conclusion, ONE_POINT_DECIDES};
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

/// `a`, `a and b`, `a, b and c`.
pub(super) fn listed(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// Why the verdict is this one and not another.
pub(super) fn verdict_meaning(two: &TwoArms<'_>) -> String {
    let mut text = why_this_verdict(two);
    let has = |id: &str| two.analysis.warnings.iter().any(|warning| warning.id == id);
    if has(ONE_POINT_DECIDES) {
        text.push_str(" Leaving out a single pair can change the verdict (one-point-decides, below, says which).");
    }
    let doubtful: Vec<String> = WHAT_WAS_COMPARED.into_iter().filter(|id| has(id)).map(str::to_owned).collect();
    if !doubtful.is_empty() {
        text.push_str(&format!(" Before you act on it, see {} below.", listed(&doubtful)));
    }
    text
}

/// Warnings after which the levels, or the host under them, were not what the plan says. No number of the analysis shows it.
const WHAT_WAS_COMPARED: [&str; 5] =
    ["policy-changes-nothing", "nothing-to-act-on", "host-changed", "settings-changed", "no-jvm"];

fn why_this_verdict(two: &TwoArms<'_>) -> String {
    let margin = number::percent(two.metric.margin);
    let confidence = number::percent(1.0 - two.analysis.alpha);
    let equivalence = number::percent(1.0 - 2.0 * two.analysis.alpha);
    if two.one.decided_by == OUTCOMES {
        return "Runs that did not end well decide before the metric does: one arm had clearly more of them."
            .to_owned();
    }
    match two.one.conclusion {
        Conclusion::Equivalent if two.one.real_but_below_margin => format!(
            "The difference is real (the {confidence} interval excludes none at all) but smaller than the ±{margin} that \
             you said matters."
        ),
        Conclusion::Equivalent => {
            format!("The {equivalence} interval lies inside ±{margin}, the difference you said does not matter.")
        }
        Conclusion::Better | Conclusion::Worse => {
            format!("The {confidence} interval of the ratio excludes 1, which would be no difference.")
        }
        Conclusion::Inconclusive if two.one.effect.is_none() && two.one.blocks > 0 => {
            "Without an estimate nothing can be concluded from the metric.".to_owned()
        }
        Conclusion::Inconclusive if two.one.effect.is_none() => {
            "A pair is complete when both of its runs ended well. See how the others ended, and why.".to_owned()
        }
        Conclusion::Inconclusive if is_held_back(two) => {
            "The metric alone would have decided, but it only speaks for the runs that ended well.".to_owned()
        }
        Conclusion::Inconclusive => {
            format!("Neither a difference nor its absence within ±{margin} was shown.")
        }
    }
}

/// Whether an interval decides although the verdict does not: an arm that fails more often is not called better.
fn is_held_back(two: &TwoArms<'_>) -> bool {
    let Some(effect) = &two.one.effect else { return false };
    let equivalence = effect.interval_equivalence;
    effect.interval.excludes_one()
        || (equivalence.low > 1.0 - two.metric.margin && equivalence.high < 1.0 + two.metric.margin)
}

/// Why an interval decides, and which one was settled before there was anything to choose by: of trials and tables alike.
macro_rules! why_an_interval {
    () => {
        "only an interval can be held against the margin, and choosing a test afterwards adds false alarms."
    };
}

/// Which of the two tests decides, and why that was settled before there was anything to choose by.
pub(super) const WHICH_TEST_DECIDES: &str = concat!(
    "the t test, by its interval. Fixed before the first run: ",
    why_an_interval!(),
    " The randomisation p, which needs no bell curve, is a check"
);

/// The same of a table, behind the name of its estimate.
pub(super) const INTERVAL_DECIDES: &str = concat!(
    "Fixed before the table is read: ",
    why_an_interval!(),
    " Welch's test of the means and the rank test, which needs no bell curve, are checks."
);

/// What is special about blocks on a host that goes on working.
pub(super) fn live_method(live: &Live) -> String {
    format!(
        "A run here is a block of {} s on a host that went on working. Before it {} s passed until the policy acted and {} s until \
         what the other left behind had faded, also where nothing was switched. Counts and seconds are scaled to the length of a \
         block. What one policy leaves behind for longer makes the two look more alike than they are.",
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
pub(super) fn method(two: &TwoArms<'_>) -> Vec<String> {
    let margin = number::percent(two.metric.margin);
    let confidence = number::percent(1.0 - two.analysis.alpha);
    let equivalence = number::percent(1.0 - 2.0 * two.analysis.alpha);
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

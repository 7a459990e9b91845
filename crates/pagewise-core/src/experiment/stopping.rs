//! When a sequential trial is analysed before its end, and what an analysis decides.
//!
//! Analyses are declared as numbers of complete blocks. Primary comparisons share alpha equally; each spends its part over the
//! analyses by the plan's spending function, and the trial stops when every one of them is decided. An open-ended trial is
//! analysed after every complete block instead: its intervals are a confidence sequence, which allows for any number of
//! analyses and spends nothing. All of it is a function of the plan, the order and the points, so that a resumed trial has
//! spent what it had spent before.

use super::analysis::{CountedValues as Values, Declared, Estimated, compare_all};
use super::order::Order;
use super::plan::{Plan, StoppingRule};
use super::point::Point;
use crate::comparison::rule::Conclusion;
use crate::stats::spending::futility::{self, Outlook};
use crate::stats::spending::{self, Progress, Rule, Spending};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What was decided at an analysis.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InterimAnalysis {
    /// Complete blocks at the analysis.
    pub blocks: u32,
    /// Alpha of the whole trial that is spent with it. `None` in an open-ended trial, which spends none of it analysis by analysis.
    pub spent: Option<f64>,
    /// Every primary comparison.
    pub comparisons: Vec<InterimComparison>,
    /// Whether the trial ends here.
    pub stop: bool,
    /// Why, in words.
    pub because: String,
}

/// One primary comparison at an analysis.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InterimComparison {
    /// Its name.
    pub name: String,
    /// The p at or below which the analysis decides.
    pub nominal_p: f64,
    /// Its p, of the t test, or in an open-ended trial the one that holds at every analysis; `None` without an estimate.
    pub p: Option<f64>,
    /// The conclusion at this analysis's level.
    pub conclusion: Conclusion,
    /// The declared smallest effect can hardly be found any more.
    pub futile: bool,
}

/// Alpha that is spent, of how much there is: `0.0031 of 0.05 (6 %)`.
#[must_use]
pub fn spent_in_words(spent: f64, alpha: f64) -> String {
    let digits = (1 - libm::floor(libm::log10(spent.max(1e-9))) as i32).clamp(2, 10) as usize;
    let share = 100.0 * spent / alpha;
    let share = if share > 0.0 && share < 1.0 { "less than 1".to_owned() } else { format!("{share:.0}") };
    let text = format!("{spent:.digits$}");
    format!("{} of {alpha} ({share} %)", text.trim_end_matches('0').trim_end_matches('.'))
}

/// The blocks at which the next analysis is due: the latest declared analysis that is reached and not made. `None` when there is none,
/// or the plan analyses only at the end.
#[must_use]
pub fn due(plan: &Plan, order: &Order, points: &[Point], taken: &[InterimAnalysis]) -> Option<u32> {
    if plan.stopping.rule == StoppingRule::Fixed {
        return None;
    }
    let complete = complete_blocks(order, points);
    let last = taken.iter().map(|analysis| analysis.blocks).max().unwrap_or(0);
    plan.stopping
        .interim_analyses(plan.design.blocks)
        .into_iter()
        .filter(|analysis| *analysis > last && *analysis <= complete)
        .max()
}

/// Blocks that are complete one after the other from the first on.
#[must_use]
pub fn complete_blocks(order: &Order, points: &[Point]) -> u32 {
    order.progress(points).values().take_while(|block| block.is_complete()).count() as u32
}

/// Analyses a trial after so many complete blocks.
#[must_use]
pub fn interim_analysis(
    plan: &Plan,
    order: &Order,
    points: &[Point],
    blocks: u32,
    taken: &[InterimAnalysis],
) -> InterimAnalysis {
    let last = blocks >= plan.design.blocks;
    let nothing = |because: String| InterimAnalysis {
        blocks,
        spent: (plan.stopping.rule != StoppingRule::OpenEnded).then_some(0.0),
        comparisons: Vec::new(),
        stop: last,
        because,
    };
    let declared = match Declared::of(plan, order, points) {
        Ok(declared) => declared,
        Err(error) => return nothing(error.to_string()),
    };
    let values = Values::of(&declared, points, Some(blocks));
    let mut here = taken.to_vec();
    here.push(nothing(String::new()));
    let mut comparisons = Vec::new();
    for mut estimated in compare_all(&declared, &values).into_iter().filter(|one| one.asked.primary) {
        set_levels(&declared, &here, &mut estimated);
        let conclusion = estimated.concluded(&declared).word;
        comparisons.push(InterimComparison {
            name: estimated.asked.name.clone(),
            nominal_p: estimated.level,
            p: estimated.p(),
            conclusion,
            futile: plan.stopping.futility
                && conclusion == Conclusion::Inconclusive
                && is_futile(&declared, &estimated, &here, blocks),
        });
    }
    let decided = |one: &InterimComparison| one.conclusion != Conclusion::Inconclusive;
    let over = !comparisons.is_empty() && comparisons.iter().all(|one| decided(one) || one.futile);
    let futile = comparisons.iter().filter(|one| one.futile).count();
    let because = match (over, last) {
        (true, false) if futile == 0 => "every primary comparison is decided".to_owned(),
        (true, false) => format!("every primary comparison is decided, or can hardly be any more ({futile})"),
        (_, true) => "all blocks are run".to_owned(),
        (false, false) => "not every primary comparison is decided".to_owned(),
    };
    let fraction = f64::from(blocks) / f64::from(plan.design.blocks.max(1));
    let spent = (plan.stopping.rule != StoppingRule::OpenEnded)
        .then(|| spend(plan, plan.design.alpha).spent(fraction.min(1.0)));
    InterimAnalysis { blocks, spent, comparisons, stop: over || last, because }
}

fn spend(plan: &Plan, alpha: f64) -> Spending {
    let rule = if plan.stopping.rule == StoppingRule::Pocock { Rule::Pocock } else { Rule::ObrienFleming };
    Spending { rule, alpha }
}

/// Sets the levels at which a primary comparison is judged at the last of these analyses: of its effect, and of its failures. An analysis
/// that cannot spend gives 0: it decides nothing. In an open-ended trial it is the comparison's share of alpha at every analysis.
///
/// Failures are compared over all runs of the blocks analysed, and the effect over the blocks whose runs all ended well. Where
/// they differ each has its own boundary for what it knows; alpha is spent by blocks analysed for both.
pub(crate) fn set_levels(declared: &Declared<'_>, analyses: &[InterimAnalysis], estimated: &mut Estimated) {
    if let Some(sequence) = declared.sequence {
        estimated.level = sequence.alpha;
        return;
    }
    let last = |boundaries: Vec<spending::Boundary>| boundaries.last().map(|boundary| boundary.nominal_p);
    let of_failures =
        last(boundaries_of(declared, analyses, lost_df(estimated), |_, analysis| analysis.blocks)).unwrap_or(0.0);
    // Without an estimate failures are all that is judged.
    let of_effect = last(boundaries_at(declared, analyses, estimated, None)).filter(|_| estimated.estimate.is_ok());
    estimated.level = of_effect.unwrap_or(of_failures);
    estimated.level_of_failures = Some(of_failures).filter(|level| *level != estimated.level);
}

fn lost_df(estimated: &Estimated) -> f64 {
    if estimated.is_by_pairs() { 2.0 } else { 1.0 }
}

/// The boundaries of a primary comparison at these analyses. With `to_come`, the last of them lies ahead and will have lost no block
/// more than are lost now.
fn boundaries_at(
    declared: &Declared<'_>,
    analyses: &[InterimAnalysis],
    estimated: &Estimated,
    to_come: Option<u32>,
) -> Vec<spending::Boundary> {
    boundaries_of(declared, analyses, lost_df(estimated), |at, analysis| {
        let lies_ahead = to_come.is_some() && at + 1 == analyses.len();
        let seen = analyses[..at].last().filter(|_| lies_ahead).map_or(analysis.blocks, |last| last.blocks);
        estimated.blocks_until(seen) + (analysis.blocks - seen.min(analysis.blocks))
    })
}

/// The boundaries of a primary comparison that knows so many blocks at each of these analyses.
fn boundaries_of(
    declared: &Declared<'_>,
    analyses: &[InterimAnalysis],
    lost_df: f64,
    known: impl Fn(usize, &InterimAnalysis) -> u32,
) -> Vec<spending::Boundary> {
    let plan = declared.plan;
    let primaries = plan.claims().max(1);
    let mut progress: Vec<Progress> = Vec::new();
    for (at, analysis) in analyses.iter().enumerate() {
        let n = f64::from(known(at, analysis));
        let fraction = (f64::from(analysis.blocks) / f64::from(plan.design.blocks.max(1))).min(1.0);
        let new = progress.last().is_none_or(|last: &Progress| last.information < n);
        if n - lost_df >= 1.0 && new {
            progress.push(Progress { information: n, fraction, df: n - lost_df });
        } else if let Some(last) = progress.last_mut() {
            // An analysis at which this comparison had nothing new is none of its own.
            last.fraction = fraction;
        }
    }
    spend(plan, plan.design.alpha / primaries as f64).boundaries(&progress).unwrap_or_default()
}

/// Whether neither the declared smallest effect nor equivalence is within reach of the last analysis any more.
fn is_futile(declared: &Declared<'_>, estimated: &Estimated, here: &[InterimAnalysis], blocks: u32) -> bool {
    let Ok(estimate) = &estimated.estimate else { return false };
    let plan = declared.plan;
    let mut to_the_end = here.to_vec();
    if let Some(last) = here.last() {
        to_the_end.push(InterimAnalysis { blocks: plan.design.blocks, ..last.clone() });
    }
    let at_the_end = boundaries_at(declared, &to_the_end, estimated, Some(plan.design.blocks));
    let Some(end) = at_the_end.last() else { return false };
    let fraction = f64::from(blocks) / f64::from(plan.design.blocks.max(1));
    let contrast = estimate.contrast;
    let usable = contrast.standard_error > 0.0 && fraction < 1.0;
    let outlook = Outlook { estimate: contrast.estimate, standard_error: contrast.standard_error, fraction };
    let margin = estimated.rule(declared).log_margin();
    let effect = outlook.conditional_power(margin, end.critical_t);
    let equivalence = outlook.equivalence_power((-margin, margin), end.critical_t);
    usable && effect < futility::HOPELESS && equivalence < futility::HOPELESS
}

#[cfg(test)]
mod tests {
    use super::spent_in_words;

    #[test]
    fn alpha_that_is_spent_is_told_in_one_way() {
        for (spent, alpha, told) in [
            (0.003_06, 0.05, "0.0031 of 0.05 (6 %)"),
            (0.05, 0.05, "0.05 of 0.05 (100 %)"),
            (0.0, 0.05, "0 of 0.05 (0 %)"),
            (0.000_012, 0.05, "0.000012 of 0.05 (less than 1 %)"),
            (0.0244, 0.1, "0.024 of 0.1 (24 %)"),
        ] {
            assert_eq!(spent_in_words(spent, alpha), told);
        }
    }
}

//! What a declared matrix found: every contrast in every cell it is looked at, with intervals that share alpha the way the
//! plan's claims do.
//!
//! A contrast is estimated inside blocks: in each block the mean logarithm of the cells of `b` less that of the cells of `a`.
//! The blocks' differences are independent whatever stratum the contrast lives in, so a t interval over them is right for
//! live factors and for booted ones alike (`docs/design/0005`). [`values`] says which points count, [`compare`] estimates
//! and judges, [`explain`] says what else differed, [`carry_over`] what a run left to the next, [`health`] what a careful
//! reader must know.

mod carry_over;
mod compare;
mod explain;
mod health;
mod host_change;
mod sentence;
mod values;

pub use compare::{Asked, asked};

use super::analysis::{AnalysisError, CounterContrast, Interval, MetricInfo, Warning};
use super::order::Order;
use super::plan::cells::{Cell, cells};
use super::plan::{OrderKind, Plan, StoppingRule};
use super::point::{Outcome, Point};
use super::stacks::StackContrast;
use super::stopping::{self, Look};
use crate::comparison::rule::{Conclusion, OutcomeTest};
use crate::stats::confidence_sequence::ConfidenceSequence;
use crate::stats::{holm, simultaneous};
use crate::unit::Fraction;
use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use values::Values;

/// Identifies a study in JSON.
pub const SCHEMA: &str = "pagewise.study/1";

/// Raised when a method changes, so that an old bundle can be told from a changed analysis.
pub const VERSION: u32 = 1;

/// What a trial of a matrix found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Study {
    /// [`SCHEMA`].
    pub schema: String,
    /// [`VERSION`] of the methods that computed it.
    pub version: u32,
    /// The trial's name.
    pub name: String,
    /// Significance level of the whole trial: 0.05.
    pub alpha: f64,
    /// Seed of order and resampling.
    pub seed: u64,
    /// How the order was drawn.
    pub order: OrderKind,
    /// Blocks that were planned.
    pub blocks_planned: u32,
    /// Blocks in which every point has a result.
    pub blocks_complete: u32,
    /// Which rule ended the trial.
    pub rule: StoppingRule,
    /// What every interval of an open-ended trial comes from. `None` by any other rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sequence: Option<Sequence>,
    /// The looks that were taken, by a spending rule or after every block of an open-ended trial.
    pub looks: Vec<Look>,
    /// What was compared; the first is what the trial is for.
    pub metrics: Vec<StudyMetric>,
    /// Every cell with what its runs gave.
    pub cells: Vec<CellSummary>,
    /// Every contrast, in every combination of levels it is looked at, for every metric.
    pub comparisons: Vec<Comparison>,
    /// What one run left to the next, on the first metric. Only of Williams squares, and where the runs tell it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub carry_over: Option<CarryOver>,
    /// What a careful reader must know.
    pub warnings: Vec<Warning>,
    /// Every attempt at every point in run order, for drawing.
    pub points: Vec<StudyPoint>,
}

/// The confidence sequence of an open-ended trial: intervals that hold after every block at once, so that the trial may be
/// looked at after each of them and may end at any.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sequence {
    /// At how many blocks its intervals are as short as they can be.
    pub shortest_at: u32,
    /// The tuning that follows: the variance of the effects, in squared standard deviations of a block's difference, that the
    /// evidence is averaged over.
    pub effect_variance: f64,
}

/// A metric with its margin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StudyMetric {
    /// Name, unit and direction.
    #[serde(flatten)]
    pub metric: MetricInfo,
    /// Differences below it do not matter, as a fraction: 0.02.
    pub margin: f64,
}

/// One cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CellSummary {
    /// Its label.
    pub label: String,
    /// Factor name to level name.
    pub levels: IndexMap<String, String>,
    /// What it sets, as a policy text.
    pub policy: String,
    /// Outcome word to count, warm-up points excluded.
    pub outcomes: BTreeMap<String, u32>,
    /// Metric name to what its good runs gave.
    pub values: IndexMap<String, Summary>,
}

/// A handful of values.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// How many.
    pub n: u32,
    /// Their mean. `None` without values.
    pub mean: Option<f64>,
    /// Their sample standard deviation. `None` below two values.
    pub sd: Option<f64>,
    /// Their median. `None` without values.
    pub median: Option<f64>,
}

/// Two groups of cells held against each other on one metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// In words: `swap: off → on, load high`.
    pub name: String,
    /// The factor.
    pub factor: String,
    /// The level that is the base.
    pub a: String,
    /// The level that is judged.
    pub b: String,
    /// Levels of the other factors it was looked at one by one.
    pub by: IndexMap<String, String>,
    /// For an interaction: the other factor with its levels, as `swap: off → on`.
    pub interaction: Option<String>,
    /// What is compared.
    pub metric: String,
    /// Whether the trial's claim rests on it.
    pub primary: bool,
    /// Good runs of the base.
    pub a_values: Summary,
    /// Good runs of the judged level.
    pub b_values: Summary,
    /// Failures are compared before values are.
    pub outcomes: OutcomeTest,
    /// Blocks in which every run it needs is good.
    pub blocks: u32,
    /// `pairs`, `blocks` or `mixed-model`.
    pub method: String,
    /// The estimate. `None`, with [`Comparison::no_effect_because`], when too few blocks are complete.
    pub effect: Option<StudyEffect>,
    /// Why there is no estimate.
    pub no_effect_because: Option<String>,
    /// The level at which it is judged: alpha, shared with the other primary comparisons, by a spending rule the look's.
    pub level: f64,
    /// Level of the test of failures in a trial with several looks, where it is another one: failures are counted over all runs,
    /// also those of blocks that the estimate has lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level_of_failures: Option<f64>,
    /// Holm's adjusted p over the primary comparisons. `None` for others, and in a trial that was looked at before its end.
    pub holm_p: Option<f64>,
    /// The conclusion.
    pub conclusion: Conclusion,
    /// Equivalent, and yet the interval excludes no difference at all.
    pub real_but_below_margin: bool,
    /// What decided: `effect`, `outcomes`, `held-back-by-outcomes` (the effect alone would decide for, or equate, a level
    /// that fails more often) or `none`.
    pub decided_by: String,
    /// For people, with numbers.
    pub sentence: String,
    /// Blocks a *new* trial would need to find the margin nine times in ten, where this one left it open.
    pub blocks_needed: Option<u32>,
    /// ln(b / a) of each complete block, for drawing.
    pub differences: Vec<BlockDifference>,
    /// Kernel counters that differ most, for the first metric.
    pub counters: Vec<CounterContrast>,
    /// How many counters were compared, for reading the false-discovery bound.
    pub counters_compared: u32,
    /// How much of a difference in time goes with time stalled for memory.
    pub stall: Option<Stall>,
    /// Where CPUs were, for the first metric, where runs kept stacks. Not computed from the points: it is put here when a
    /// bundle has recordings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stacks: Option<StackContrast>,
}

/// The effect of b against a.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StudyEffect {
    /// Estimate of b / a. For an interaction: that ratio under the one level over that under the other.
    pub ratio: f64,
    /// Interval of the ratio at 1 − level. In an open-ended trial this interval and the next two are of its confidence sequence.
    pub interval: Interval,
    /// Interval of the ratio at 1 − 2·level: the equivalence test reads it.
    pub interval_equivalence: Interval,
    /// Interval of the ratio at 1 − alpha, as if it were the only comparison.
    pub interval_alone: Interval,
    /// Estimate of ln(b / a).
    pub log_ratio: f64,
    /// Its standard error.
    pub standard_error: f64,
    /// Degrees of freedom.
    pub df: f64,
    /// Two-sided p of the t test; in an open-ended trial one over the evidence, at most 1: a p that holds at every look.
    pub p: f64,
    /// How many times likelier the t statistics seen so far have become if there is an effect. `None` but in an open-ended
    /// trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<f64>,
    /// Two-sided p of the randomisation test over the same design. `None` where the design has none (the mixed model), and in
    /// an open-ended trial.
    pub randomisation_p: Option<f64>,
    /// The smallest value `randomisation_p` can take in this design.
    pub smallest_randomisation_p: Option<f64>,
    /// Whether every order was tried, or a seeded sample of them.
    pub randomisation_exact: Option<bool>,
}

/// What one block says.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BlockDifference {
    /// The block, from 0.
    pub block: u32,
    /// ln(b / a) in it.
    pub difference: f64,
}

/// How much of a difference in time goes with time stalled for memory. Association: what stalls may also be what is slow for
/// another reason.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Stall {
    /// Which stall time: `psi_memory_some`.
    pub measure: String,
    /// Mean difference b − a of the metric, seconds.
    pub time: f64,
    /// Mean difference b − a of the stall time, seconds.
    pub stalled: f64,
    /// Interval of the stall time's difference at 1 − alpha.
    pub stalled_interval: Interval,
    /// `stalled` over `time`; `None` where the time's own difference may be zero.
    pub share: Option<f64>,
}

/// First-order carry-over: how much of the effect of the cell before reaches a run, one share for all cells.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CarryOver {
    /// The share: 0.3 for 30 %. Below zero, a run makes up for what the one before it had.
    pub share: f64,
    /// Its interval at 1 − level. Wide where cells hardly differ: then nothing could be seen.
    pub interval: Interval,
    /// The level of the interval.
    pub level: f64,
    /// Two-sided p of the hypothesis that nothing is carried over.
    pub p: f64,
    /// Good runs it rests on.
    pub runs: u32,
}

/// One attempt at a point as reports draw it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StudyPoint {
    /// Place in the run order.
    pub index: u32,
    /// Block, from 0; `None` for warm-up.
    pub block: Option<u32>,
    /// Boot, from 0, where boots are part of the design.
    pub boot: Option<u32>,
    /// Its cell.
    pub cell: String,
    /// Attempt, from 1.
    pub attempt: u32,
    /// How it ended.
    pub outcome: Outcome,
    /// Why, when not `ok`.
    pub reason: Option<String>,
    /// Metric name to value, where it was taken.
    pub values: IndexMap<String, f64>,
}

/// What the analysis is told beside the points: what was fixed before the first of them.
pub(crate) struct Declared<'p> {
    pub(crate) plan: &'p Plan,
    pub(crate) order: &'p Order,
    pub(crate) cells: Vec<Cell>,
    pub(crate) metrics: Vec<StudyMetric>,
    /// Of an open-ended trial: what intervals come from, at a claim's share of alpha.
    pub(crate) sequence: Option<ConfidenceSequence>,
}

impl<'p> Declared<'p> {
    pub(crate) fn of(plan: &'p Plan, order: &'p Order, points: &[Point]) -> Result<Declared<'p>, AnalysisError> {
        let cells = cells(plan).map_err(|error| AnalysisError::BadNumber(error.to_string()))?;
        let metrics = plan.metrics.iter().map(|metric| -> Result<StudyMetric, AnalysisError> {
            let bad = |why: String| AnalysisError::BadNumber(format!("smallest_effect of '{}': {why}", metric.name));
            let Fraction(margin) =
                metric.smallest_effect.parse().map_err(|error: crate::unit::UnitError| bad(error.to_string()))?;
            let info = MetricInfo {
                name: metric.name.clone(),
                unit: super::analysis::metric_unit(metric, points),
                direction: metric.direction,
            };
            Ok(StudyMetric { metric: info, margin })
        });
        let metrics = metrics.collect::<Result<Vec<_>, _>>()?;
        if !(plan.design.alpha > 0.0 && plan.design.alpha < 0.5) {
            let why = format!("design.alpha of the plan is {}; write a number between 0 and 0.5", plan.design.alpha);
            return Err(AnalysisError::BadNumber(why));
        }
        Ok(Declared { plan, order, cells, metrics, sequence: plan.sequence() })
    }
}

impl Declared<'_> {
    /// Whether boots are part of the design.
    pub(crate) fn has_boots(&self) -> bool {
        self.order.points.iter().any(|point| point.boot.is_some())
    }
}

/// Analyses the points of a trial. The order of `points` in the slice does not matter. `looks` are those that were taken: in a
/// sequential trial only blocks before the last of them count, and intervals are the repeated ones of that look, or those of the
/// confidence sequence.
///
/// # Errors
/// When the plan's margin, alpha or policies cannot be used. Too little data is not an error but a verdict.
pub fn analyze(plan: &Plan, order: &Order, points: &[Point], looks: &[Look]) -> Result<Study, AnalysisError> {
    let declared = Declared::of(plan, order, points)?;
    let until = looks.last().map(|look| look.blocks).filter(|_| plan.stopping.rule != StoppingRule::Fixed);
    let values = Values::of(&declared, points, until);
    let mut comparisons = compare::all(&declared, &values);
    share_alpha(&declared, looks, &mut comparisons);
    let comparisons: Vec<Comparison> = comparisons
        .into_iter()
        .map(|estimated| {
            let explained = explain::of(&declared, &values, &estimated);
            compare::conclude(&declared, estimated, explained, &values)
        })
        .collect();
    let carry_over = carry_over::of(&declared, &values);
    Ok(Study {
        schema: SCHEMA.to_owned(),
        version: VERSION,
        name: plan.name.clone(),
        alpha: plan.design.alpha,
        seed: plan.design.seed,
        order: order.kind,
        blocks_planned: plan.design.blocks,
        blocks_complete: values.complete_blocks(),
        rule: plan.stopping.rule,
        sequence: declared
            .sequence
            .map(|tuned| Sequence { shortest_at: plan.shortest_at(), effect_variance: tuned.effect_variance }),
        looks: looks.to_vec(),
        warnings: health::warnings(&declared, &values, &comparisons, carry_over.as_ref()),
        carry_over,
        cells: values.summaries(&declared),
        points: values.marks(&declared),
        metrics: declared.metrics,
        comparisons,
    })
}

/// Sets the level of every comparison. Primary comparisons on the first metric share alpha: with a fixed number of blocks so
/// that intervals and Holm's decisions agree, at a look by equal parts of what the look may spend, in an open-ended trial by
/// equal parts of alpha. All others stand alone.
fn share_alpha(declared: &Declared<'_>, looks: &[Look], comparisons: &mut [compare::Estimated]) {
    let alpha = declared.plan.design.alpha;
    let primary: Vec<usize> =
        comparisons.iter().enumerate().filter(|(_, one)| one.asked.primary).map(|(index, _)| index).collect();
    if declared.plan.stopping.rule != StoppingRule::Fixed {
        for index in primary {
            stopping::set_levels(declared, looks, &mut comparisons[index]);
        }
        return;
    }
    // A comparison without an estimate keeps its place in the family: it was declared.
    let p: Vec<f64> = primary.iter().map(|index| comparisons[*index].p().unwrap_or(1.0)).collect();
    let levels = simultaneous::levels(&p, alpha);
    for ((index, level), holm_p) in primary.iter().zip(levels).zip(holm::adjusted(&p)) {
        comparisons[*index].level = level;
        comparisons[*index].holm_p = Some(holm_p);
    }
}

pub(crate) use compare::{Estimated, all as compare_all, contrast_in};
pub(crate) use values::Values as CountedValues;

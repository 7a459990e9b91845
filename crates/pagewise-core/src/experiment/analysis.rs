//! From plan, order and points to what a trial found: every contrast in every cell it is compared in, with intervals that share
//! alpha the way the plan's claims do. Everything a report says about a trial is computed here, once. A trial of two levels, a
//! live proof among them, is one contrast in one cell.
//!
//! A contrast is estimated inside blocks: in each block the mean logarithm of the cells of `b` less that of the cells of `a`.
//! The blocks' differences are independent whatever stratum the contrast lives in, so a t interval over them is right for
//! live factors and for booted ones alike (`docs/design/0005`). [`values`] says which points count, [`compare`] estimates
//! and judges, [`explain`] says what else differed, [`carry_over`] what a run left to the next, [`warnings`] what a careful
//! reader must know.

mod carry_over;
mod compare;
mod explain;
mod live;
mod occasion;
mod pair_sentence;
mod read_back;
mod values;
mod warnings;

pub use crate::comparison::estimate::Design;
pub use crate::comparison::found::{
    BlockDifference, Comparison, CounterContrast, Effect, Interval, JudgedMetric, MeasureContrast, MetricInfo, Stall,
    Summary, Warning,
};
pub use crate::comparison::rule::{Conclusion, OutcomeTest};
pub use compare::{ContrastInCell, POWER, asked};
pub use warnings::ONE_POINT_DECIDES;

use super::live::Ended;
use super::order::Order;
use super::plan::cells::{Cell, cells};
use super::plan::{Metric, OrderKind, Plan, StoppingRule};
use super::point::{Outcome, Point};
use super::stopping::{self, InterimAnalysis};
use crate::stats::confidence_sequence::ConfidenceSequence;
use crate::stats::{holm, simultaneous};
use crate::unit::Fraction;
use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use values::Values;

/// Identifies an analysis in JSON.
pub const SCHEMA: &str = "pagewise.analysis/3";

/// Raised when a method changes, so that an old bundle can be told from a changed analysis. 2: trials of two levels and matrices
/// are analysed in one way.
pub const VERSION: u32 = 2;

/// What a trial found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Analysis {
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
    /// Why a live proof ended before its plan did; its complete pairs are what is analysed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_early: Option<Ended>,
    /// The analyses that were made, by a spending rule or after every block of an open-ended trial.
    #[serde(alias = "looks")]
    pub interim_analyses: Vec<InterimAnalysis>,
    /// What was compared; the first is what the trial is for.
    pub metrics: Vec<JudgedMetric>,
    /// Every cell with what its runs gave.
    pub cells: Vec<CellSummary>,
    /// Every contrast, in every combination of levels it is compared in, for every metric.
    pub comparisons: Vec<Comparison>,
    /// What one run left to the next, on the first metric. Only of Williams squares, and where the runs tell it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub carry_over: Option<CarryOver>,
    /// What a careful reader must know.
    pub warnings: Vec<Warning>,
    /// Every attempt at every point in run order, for drawing.
    pub points: Vec<PointMark>,
}

/// The confidence sequence of an open-ended trial: intervals that hold after every block at once, so that the trial may be
/// analysed after each of them and may end at any.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sequence {
    /// At how many blocks its intervals are as short as they can be.
    pub shortest_at: u32,
    /// The tuning that follows: the variance of the effects, in squared standard deviations of a block's difference, that the
    /// evidence is averaged over.
    pub effect_variance: f64,
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
pub struct PointMark {
    /// Place in the run order.
    pub index: u32,
    /// Block, from 0; `None` for warm-up.
    pub block: Option<u32>,
    /// Place in the block, from 0.
    pub position: u32,
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
    pub(crate) metrics: Vec<JudgedMetric>,
    /// Of an open-ended trial: what intervals come from, at a claim's share of alpha.
    pub(crate) sequence: Option<ConfidenceSequence>,
    /// Why a live proof ended before its plan did.
    ended: Option<&'p Ended>,
}

/// Why there can be no analysis at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AnalysisError {
    /// A contrast names what the plan does not have.
    #[error("the contrast names {what} '{name}', which the plan does not declare")]
    Unknown {
        /// `factor` or `level`.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// The margin, alpha or a policy cannot be read.
    #[error("{0}")]
    BadNumber(String),
}

/// The metric's unit as text, from the catalogue or from what the points say.
#[must_use]
pub fn metric_unit(metric: &Metric, points: &[Point]) -> String {
    unit_of(&metric.name, points.iter())
}

/// The unit of any measure, likewise.
#[must_use]
pub fn unit_of<'p>(name: &str, mut points: impl Iterator<Item = &'p Point>) -> String {
    match crate::metric::find(name) {
        Some(known) => {
            let unit = serde_json::to_value(known.unit).ok();
            unit.and_then(|text| text.as_str().map(str::to_owned)).unwrap_or_default()
        }
        None => points.find_map(|point| point.custom_units.get(name).cloned()).unwrap_or_default(),
    }
}

impl<'p> Declared<'p> {
    pub(crate) fn of(plan: &'p Plan, order: &'p Order, points: &[Point]) -> Result<Declared<'p>, AnalysisError> {
        let cells = cells(plan).map_err(|error| AnalysisError::BadNumber(error.to_string()))?;
        contrasts_are_declared(plan)?;
        let metrics = plan.metrics.iter().map(|metric| -> Result<JudgedMetric, AnalysisError> {
            let info = MetricInfo {
                name: metric.name.clone(),
                unit: metric_unit(metric, points),
                direction: metric.direction,
            };
            Ok(JudgedMetric { metric: info, margin: margin_of(metric)? })
        });
        let metrics = metrics.collect::<Result<Vec<_>, _>>()?;
        let alpha = plan.design.alpha;
        // Up to a half, because the equivalence interval is the one at 1 − 2·alpha.
        if !(alpha > 0.0 && alpha < 0.5) {
            return Err(AnalysisError::BadNumber(format!(
                "design.alpha of the plan is {alpha}; write a number between 0 and 0.5, like 0.05"
            )));
        }
        Ok(Declared { plan, order, cells, metrics, sequence: plan.sequence(), ended: None })
    }

    /// Whether boots are part of the design.
    pub(crate) fn has_boots(&self) -> bool {
        self.order.points.iter().any(|point| point.boot.is_some())
    }

    /// How the runs of a block hang together.
    pub(crate) fn design(&self) -> Design {
        // Orders of the first bundles say `auto`, and knew pairs alone.
        let is_pairs = matches!(self.order.kind, OrderKind::Pairs | OrderKind::Auto);
        if is_pairs && self.cells.len() == 2 { Design::Pairs } else { Design::Blocks }
    }
}

fn contrasts_are_declared(plan: &Plan) -> Result<(), AnalysisError> {
    let unknown = |what, name: &str| AnalysisError::Unknown { what, name: name.to_owned() };
    for contrast in &plan.contrasts {
        let factor = plan.factor(&contrast.factor).ok_or_else(|| unknown("factor", &contrast.factor))?;
        for level in [&contrast.a, &contrast.b] {
            factor.levels.get(level).ok_or_else(|| unknown("level", level))?;
        }
    }
    Ok(())
}

fn margin_of(metric: &Metric) -> Result<f64, AnalysisError> {
    let bad =
        |why: String| AnalysisError::BadNumber(format!("metric.smallest_effect of the plan ({}): {why}", metric.name));
    let Fraction(margin) =
        metric.smallest_effect.parse().map_err(|error: crate::unit::UnitError| bad(error.to_string()))?;
    if (0.0..1.0).contains(&margin) {
        return Ok(margin);
    }
    Err(bad(format!("'{}' is not between 0% and 100%; write it like 2%", metric.smallest_effect)))
}

/// Analyses the points of a trial. The order of `points` in the slice does not matter. `analyses` are those that were made: in a
/// sequential trial only blocks before the last of them count, and intervals are the repeated ones of that analysis, or those of the
/// confidence sequence.
///
/// # Errors
/// When the plan's margin, alpha or policies cannot be used. Too little data is not an error but a verdict.
pub fn analyze(
    plan: &Plan,
    order: &Order,
    points: &[Point],
    analyses: &[InterimAnalysis],
) -> Result<Analysis, AnalysisError> {
    analyze_ended(plan, order, points, analyses, None)
}

/// [`analyze`] of a live proof that may have ended before its plan did.
///
/// # Errors
/// As there.
pub fn analyze_ended(
    plan: &Plan,
    order: &Order,
    points: &[Point],
    analyses: &[InterimAnalysis],
    ended: Option<&Ended>,
) -> Result<Analysis, AnalysisError> {
    let declared = Declared { ended, ..Declared::of(plan, order, points)? };
    let until = analyses.last().map(|analysis| analysis.blocks).filter(|_| plan.stopping.rule != StoppingRule::Fixed);
    let values = Values::of(&declared, points, until);
    let mut comparisons = compare::all(&declared, &values);
    share_alpha(&declared, analyses, &mut comparisons);
    let carry_over = carry_over::of(&declared, &values);
    let warnings = warnings::all(&declared, &values, &comparisons, carry_over.as_ref());
    let comparisons: Vec<Comparison> = comparisons
        .into_iter()
        .map(|estimated| {
            let explained = explain::of(&declared, &values, &estimated);
            compare::conclude(&declared, estimated, explained, &values)
        })
        .collect();
    Ok(Analysis {
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
        ended_early: ended.cloned(),
        interim_analyses: analyses.to_vec(),
        warnings,
        carry_over,
        cells: values.summaries(&declared),
        points: values.marks(&declared),
        metrics: declared.metrics,
        comparisons,
    })
}

/// Sets the level of every comparison. Primary comparisons on the first metric share alpha: with a fixed number of blocks so
/// that intervals and Holm's decisions agree, at an analysis by equal parts of what the analysis may spend, in an open-ended trial by
/// equal parts of alpha. All others stand alone.
fn share_alpha(declared: &Declared<'_>, analyses: &[InterimAnalysis], comparisons: &mut [compare::Estimated]) {
    let alpha = declared.plan.design.alpha;
    let primary: Vec<usize> =
        comparisons.iter().enumerate().filter(|(_, one)| one.asked.primary).map(|(index, _)| index).collect();
    if declared.plan.stopping.rule != StoppingRule::Fixed {
        for index in primary {
            stopping::set_levels(declared, analyses, &mut comparisons[index]);
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

pub(crate) use compare::{Estimated, a_first, all as compare_all, contrast_in};
pub(crate) use values::Values as CountedValues;

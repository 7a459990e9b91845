//! From plan and points to a verdict: everything a report says about a trial is computed here, once.
//!
//! Effects are of level `b` relative to level `a`. A ratio of 1.05 means b's metric is 5 % larger than a's.

mod effect;
mod explain;
mod live;
mod pairs;
mod sentence;
mod verdict;
mod warnings;

use super::live::Ended;
use super::plan::{Metric, Plan, numbers};
use super::point::{Outcome, Point};
use super::stacks::StackContrast;
use crate::comparison::rule::Rule;
pub use crate::comparison::rule::{Conclusion, OutcomeTest};
use crate::metric::Direction;
use crate::stats::{power, summary};
use crate::unit::Fraction;
use pairs::{Side, Trial};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Identifies an analysis in JSON.
pub const SCHEMA: &str = "pagewise.analysis/1";

/// Raised when a method changes, so that an old bundle can be told from a changed analysis.
pub const VERSION: u32 = 1;

/// What a trial found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Analysis {
    /// [`SCHEMA`].
    pub schema: String,
    /// [`VERSION`] of the methods that computed it.
    pub version: u32,
    /// The trial's name.
    pub name: String,
    /// What was compared.
    pub metric: MetricInfo,
    /// Equivalence margin as a fraction: 0.02.
    pub margin: f64,
    /// Significance level: 0.05.
    pub alpha: f64,
    /// Seed of order and resampling.
    pub seed: u64,
    /// Pairs that were planned.
    pub pairs_planned: u32,
    /// Pairs in which both points are `ok` and have the metric.
    pub pairs_complete: u32,
    /// The base level and the judged one.
    pub arms: Arms,
    /// Failures are compared before times are.
    pub outcomes: OutcomeTest,
    /// The estimate. `None`, with [`Analysis::no_effect_because`], when too few pairs are complete.
    pub effect: Option<Effect>,
    /// Why there is no estimate.
    pub no_effect_because: Option<String>,
    /// The conclusion.
    pub verdict: Verdict,
    /// For an inconclusive verdict: the pairs a *new* trial would need.
    pub pairs_needed: Option<PairsNeeded>,
    /// The other measures of a run, compared the same way.
    pub measures: Vec<MeasureContrast>,
    /// Kernel counters that differ most, most significant first.
    pub counters: Vec<CounterContrast>,
    /// How many counters were compared, for reading the false-discovery bound.
    pub counters_compared: u32,
    /// Where CPUs were, where runs kept stacks. Not computed from the points: it is put here when a bundle has recordings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stacks: Option<StackContrast>,
    /// Why a live proof ended before its plan did; its complete pairs are what is analysed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_early: Option<Ended>,
    /// What a careful reader must know.
    pub warnings: Vec<Warning>,
    /// Every point, in run order, for drawing.
    pub points: Vec<PointMark>,
}

/// The metric with its unit resolved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MetricInfo {
    /// Name in the plan.
    pub name: String,
    /// Unit, as text: `seconds`, `bytes`, or the user's own.
    pub unit: String,
    /// Which way is better.
    pub direction: Direction,
}

/// The two arms.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Arms {
    /// The base.
    pub a: Arm,
    /// The judged level.
    pub b: Arm,
}

/// One level and what its points gave.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Arm {
    /// Level name.
    pub level: String,
    /// Its policy, as written.
    pub policy: String,
    /// Outcome word to count, warm-up points excluded.
    pub outcomes: BTreeMap<String, u32>,
    /// Values in complete pairs; where no pair is complete, those of all good runs.
    pub n: u32,
    /// Their mean.
    pub mean: Option<f64>,
    /// Their median.
    pub median: Option<f64>,
    /// Their sample standard deviation.
    pub sd: Option<f64>,
}

/// An interval, low end first.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Interval {
    /// Low end.
    pub low: f64,
    /// High end.
    pub high: f64,
}

/// The crossover estimate on log ratios and what goes with it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Effect {
    /// Estimate of b / a.
    pub ratio: f64,
    /// Interval at 1 − alpha, of the ratio.
    pub interval: Interval,
    /// Interval at 1 − 2·alpha, of the ratio: the equivalence test reads it.
    pub interval_equivalence: Interval,
    /// Estimate of ln(b / a).
    pub log_ratio: f64,
    /// Standard error of `log_ratio`.
    pub standard_error: f64,
    /// Degrees of freedom of both intervals.
    pub df: f64,
    /// Two-sided p-value of the t test.
    pub p: f64,
    /// Two-sided p-value of the randomisation test over the same design.
    pub randomisation_p: f64,
    /// The smallest value `randomisation_p` can take in this design.
    pub smallest_randomisation_p: f64,
    /// Whether every possible order was tried, or a seeded sample of them.
    pub randomisation_exact: bool,
    /// Ratio of the second run of a pair to the first, all else equal.
    pub period_ratio: f64,
}

/// The conclusion in one word and in one or two sentences.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// The word.
    pub conclusion: Conclusion,
    /// Equivalent, and yet the interval excludes no difference at all: real, but below the margin.
    pub real_but_below_margin: bool,
    /// What decided: `effect`, `outcomes`, `held-back-by-outcomes` (the effect alone would decide for, or equate, an arm that
    /// fails more often), or `none`.
    pub decided_by: String,
    /// For people, with numbers.
    pub sentence: String,
}

/// How large a new trial must be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PairsNeeded {
    /// Pairs that detect a difference of the margin with this power.
    pub pairs: u32,
    /// 0.9.
    pub power: f64,
    /// The difference it is for, as a fraction.
    pub difference: f64,
}

/// Another measure, compared by the same crossover estimate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MeasureContrast {
    /// Name.
    pub name: String,
    /// Unit as text.
    pub unit: String,
    /// Mean over complete pairs.
    pub a_mean: f64,
    /// Mean over complete pairs.
    pub b_mean: f64,
    /// b / a with its interval at 1 − alpha; `None` where a value is zero or negative.
    pub ratio: Option<f64>,
    /// Interval of the ratio.
    pub interval: Option<Interval>,
}

/// A kernel counter whose growth per run differs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CounterContrast {
    /// Name in `/proc/vmstat`.
    pub name: String,
    /// Mean growth per run of a.
    pub a_mean: f64,
    /// Mean growth per run of b.
    pub b_mean: f64,
    /// Crossover estimate of the difference b − a per run.
    pub difference: f64,
    /// Its interval at 1 − alpha.
    pub interval: Interval,
    /// Two-sided p-value.
    pub p: f64,
    /// Benjamini and Hochberg's adjusted p over all counters compared: the false-discovery rate at which it is listed.
    pub q: f64,
}

/// A warning with a stable id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Warning {
    /// Which one: `drift`, `bimodal`, `one-point-decides`, `noise-against-margin`, `policy-changes-nothing`,
    /// `levels-differ-in-more`, `few-sequences`, `tests-disagree`, `attempts-replaced`, `incomplete-pairs`,
    /// `not-positive`, `host-changed`, `no-such-number`; of live proofs `ended-early`, `still-changing`.
    pub id: String,
    /// What it means here, with numbers.
    pub text: String,
}

/// One point as reports draw it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PointMark {
    /// Place in the run order.
    pub index: u32,
    /// Pair, from 0; `None` for warm-up.
    pub block: Option<u32>,
    /// Place in the pair.
    pub position: u32,
    /// `a` or `b`.
    pub arm: String,
    /// Attempt.
    pub attempt: u32,
    /// Outcome word.
    pub outcome: Outcome,
    /// Why, when not `ok`.
    pub reason: Option<String>,
    /// The metric, when it was taken.
    pub value: Option<f64>,
}

/// Why there can be no analysis at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AnalysisError {
    /// The plan has no contrast.
    #[error("the plan declares no contrast, so there is nothing to compare; add [[contrast]] with factor, a and b")]
    NoContrast,
    /// A contrast names what the plan does not have.
    #[error("the contrast names {what} '{name}', which the plan does not declare")]
    Unknown {
        /// `factor` or `level`.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// The margin or alpha cannot be read.
    #[error("{0}")]
    BadNumber(String),
}

/// The metric's unit as text, from the catalogue or from what the points say.
#[must_use]
pub fn metric_unit(metric: &Metric, points: &[Point]) -> String {
    if let Some(known) = crate::metric::find(&metric.name) {
        return unit_text(known.unit);
    }
    points.iter().find_map(|p| p.custom_units.get(&metric.name).cloned()).unwrap_or_default()
}

/// A unit as it is written in JSON.
fn unit_text(unit: crate::metric::Unit) -> String {
    serde_json::to_value(unit).ok().and_then(|text| text.as_str().map(str::to_owned)).unwrap_or_default()
}

/// Power for which a new trial is sized.
const POWER: f64 = 0.9;

/// What is asked of the data, checked and resolved.
struct Question {
    a: String,
    b: String,
    a_policy: String,
    b_policy: String,
    /// Tunables that the levels may move on purpose.
    also: Vec<String>,
    metric: MetricInfo,
    margin: f64,
    alpha: f64,
    seed: u64,
    pairs_planned: u32,
    /// Blocks of time rather than runs.
    is_live: bool,
    ended: Option<Ended>,
}

impl Question {
    fn of(plan: &Plan, points: &[Point], ended: Option<&Ended>) -> Result<Question, AnalysisError> {
        let contrast = plan.contrasts.first().ok_or(AnalysisError::NoContrast)?;
        let unknown = |what, name: &str| AnalysisError::Unknown { what, name: name.to_owned() };
        let factor = plan
            .factors
            .iter()
            .find(|factor| factor.name == contrast.factor)
            .ok_or_else(|| unknown("factor", &contrast.factor))?;
        let policy_of = |level: &str| factor.levels.get(level).cloned().ok_or_else(|| unknown("level", level));
        Ok(Question {
            a_policy: policy_of(&contrast.a)?,
            b_policy: policy_of(&contrast.b)?,
            a: contrast.a.clone(),
            b: contrast.b.clone(),
            also: factor.also.clone(),
            metric: MetricInfo {
                name: plan.metric().name.clone(),
                unit: metric_unit(plan.metric(), points),
                direction: plan.metric().direction,
            },
            margin: margin_of(plan)?,
            alpha: alpha_of(plan)?,
            seed: plan.design.seed,
            pairs_planned: plan.design.blocks,
            is_live: plan.live.is_some(),
            ended: ended.cloned(),
        })
    }

    /// The rule that judges, fixed before the first run.
    fn rule(&self) -> Rule {
        Rule { margin: self.margin, alpha: self.alpha, direction: self.metric.direction }
    }

    fn log_margin(&self) -> f64 {
        self.rule().log_margin()
    }
}

fn margin_of(plan: &Plan) -> Result<f64, AnalysisError> {
    let bad = |why: String| AnalysisError::BadNumber(format!("metric.smallest_effect of the plan: {why}"));
    let Fraction(margin) =
        plan.metric().smallest_effect.parse().map_err(|e: crate::unit::UnitError| bad(e.to_string()))?;
    if (0.0..1.0).contains(&margin) {
        return Ok(margin);
    }
    Err(bad(format!("'{}' is not between 0% and 100%; write it like 2%", plan.metric().smallest_effect)))
}

fn alpha_of(plan: &Plan) -> Result<f64, AnalysisError> {
    let alpha = plan.design.alpha;
    // Up to a half, because the equivalence interval is the one at 1 − 2·alpha.
    if alpha > 0.0 && alpha < 0.5 {
        return Ok(alpha);
    }
    Err(AnalysisError::BadNumber(format!(
        "design.alpha of the plan is {alpha}; write a number between 0 and 0.5, like 0.05"
    )))
}

/// Analyses the points of a trial of two levels. The order of `points` in the slice does not matter.
///
/// # Errors
/// When the plan's contrast does not fit its factors, or its margin or alpha cannot be used. Too little data is not an
/// error but a verdict.
pub fn analyze(plan: &Plan, points: &[Point]) -> Result<Analysis, AnalysisError> {
    analyze_ended(plan, points, None)
}

/// [`analyze`] of a live proof that may have ended before its plan did.
///
/// # Errors
/// As there.
pub fn analyze_ended(plan: &Plan, points: &[Point], ended: Option<&Ended>) -> Result<Analysis, AnalysisError> {
    let question = Question::of(plan, points, ended)?;
    let trial = Trial::of(&question, points);
    let outcomes = verdict::compare_outcomes(&trial);
    let found = effect::estimate(&question, &trial);
    let conclusion = verdict::conclude(&question, found.as_ref().ok(), &outcomes);
    let pairs_needed = found
        .as_ref()
        .ok()
        .filter(|_| conclusion.reason == verdict::Reason::NotDecided)
        .and_then(|found| pairs_needed(&question, found.estimate.residual_sd));
    let explained = explain::counters(&question, &trial);
    let no_effect_because = found.as_ref().err().cloned();
    Ok(Analysis {
        schema: SCHEMA.to_owned(),
        version: VERSION,
        name: plan.name.clone(),
        margin: question.margin,
        alpha: question.alpha,
        seed: question.seed,
        pairs_planned: question.pairs_planned,
        pairs_complete: trial.pairs.len() as u32,
        arms: Arms { a: arm(&question, &trial, Side::A), b: arm(&question, &trial, Side::B) },
        verdict: Verdict {
            conclusion: conclusion.word,
            real_but_below_margin: conclusion.real_but_below_margin,
            decided_by: conclusion.decided_by().to_owned(),
            sentence: sentence::verdict(&question, &trial, &conclusion, &found, &outcomes, pairs_needed.as_ref()),
        },
        warnings: warnings::all(&question, &trial, &found, &conclusion)
            .into_iter()
            .chain(numbers::warning(plan, points))
            .collect(),
        measures: explain::measures(&question, &trial),
        counters: explained.most_different,
        counters_compared: explained.compared,
        stacks: None,
        ended_early: question.ended.clone(),
        points: trial.marks(&question.metric.name),
        effect: found.ok().map(|found| found.effect),
        metric: question.metric,
        outcomes,
        no_effect_because,
        pairs_needed,
    })
}

fn pairs_needed(question: &Question, residual_sd: f64) -> Option<PairsNeeded> {
    let pairs =
        power::pairs_needed(residual_sd, question.log_margin(), question.alpha, POWER, super::order::FEWEST_PAIRS)?;
    Some(PairsNeeded { pairs, power: POWER, difference: question.margin })
}

fn arm(question: &Question, trial: &Trial, side: Side) -> Arm {
    let (level, policy) = match side {
        Side::A => (&question.a, &question.a_policy),
        Side::B => (&question.b, &question.b_policy),
    };
    let values = trial.told_values(side, &question.metric.name);
    Arm {
        level: level.clone(),
        policy: policy.clone(),
        outcomes: trial.outcomes(side),
        n: values.len() as u32,
        mean: summary::mean(&values),
        median: summary::median(&values),
        sd: summary::standard_deviation(&values),
    }
}

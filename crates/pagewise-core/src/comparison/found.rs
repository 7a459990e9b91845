//! What a comparison found: the one shape of `prove`, live proofs, matrices and anyone's table. Their samples differ, and
//! their views.
//!
//! Effects are of level `b` relative to level `a`. A ratio of 1.05 means b's metric is 5 % larger than a's.

use super::estimate::{Design, Tested};
use super::plain_samples::{Percent, PlainSamples};
use super::rule::{Conclusion, LogIntervals, OutcomeTest};
use super::stacks::StackContrast;
use crate::metric::Direction;
use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A metric with its unit resolved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MetricInfo {
    /// Name in the plan.
    pub name: String,
    /// Unit, as text: `seconds`, `bytes`, or the user's own.
    pub unit: String,
    /// Which way is better.
    pub direction: Direction,
}

/// A metric with its margin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JudgedMetric {
    /// Name, unit and direction.
    #[serde(flatten)]
    pub metric: MetricInfo,
    /// Differences below it do not matter, as a fraction: 0.02.
    pub margin: f64,
}

/// An interval, low end first.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Interval {
    /// Low end.
    pub low: f64,
    /// High end.
    pub high: f64,
}

impl Interval {
    /// Whether no difference, a ratio of 1, lies outside.
    #[must_use]
    pub fn excludes_one(&self) -> bool {
        self.low > 1.0 || self.high < 1.0
    }
}

impl From<(f64, f64)> for Interval {
    fn from((low, high): (f64, f64)) -> Interval {
        Interval { low, high }
    }
}

/// A warning with a stable id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Warning {
    /// Which one; `docs/guide` and the remedies of reports list them.
    pub id: String,
    /// What it means here, with numbers.
    pub text: String,
}

/// How many blocks a new trial needs for a difference of a certain size.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BlocksNeeded {
    /// The difference, as a fraction: 0.05.
    pub difference: f64,
    /// Blocks (pairs) with which it is found nine times in ten.
    pub blocks: u32,
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

/// Two groups of runs held against each other on one metric.
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
    /// Level of each factor that was kept apart, in the order asked for.
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
    /// Failures are compared before values are. Of a table without a column `outcome` every run is good.
    pub outcomes: OutcomeTest,
    /// Blocks in which every run it needs is good; in a table those with values of both levels.
    pub blocks: u32,
    /// How its samples hang together, and so how they are compared.
    pub method: Design,
    /// The estimate. `None`, with [`Comparison::no_effect_because`], when too few blocks are complete, and where values vary too
    /// little or have no logarithm.
    pub effect: Option<Effect>,
    /// Why there is no estimate.
    pub no_effect_because: Option<String>,
    /// The level at which it is judged: alpha, shared with the other primary comparisons, by a spending rule the analysis's.
    pub level: f64,
    /// Level of the test of failures in a trial with several analyses, where it is another one: failures are counted over all runs,
    /// also those of blocks that the estimate has lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level_of_failures: Option<f64>,
    /// Holm's adjusted p over the primary comparisons. `None` for others, and in a trial that was analysed before its end.
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
    /// The same for differences larger than the margin that many would be glad to know of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blocks_needed_for: Vec<BlocksNeeded>,
    /// The difference that a new trial of as many blocks finds nine times in ten, 0.05 being 5 %; where this one left it open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detectable: Option<f64>,
    /// ln(b / a) of each complete block, for drawing.
    pub differences: Vec<BlockDifference>,
    /// The other measures of a run by the same estimator, beside the first metric.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub measures: Vec<MeasureContrast>,
    /// Kernel counters that differ most, for the first metric; in a table all other columns of numbers that vary.
    pub counters: Vec<CounterContrast>,
    /// How many counters were compared, for reading the false-discovery bound.
    pub counters_compared: u32,
    /// How much of a difference in time goes with time stalled for memory.
    pub stall: Option<Stall>,
    /// Where CPUs were, for the first metric, where runs kept stacks. Not computed from the points: it is put here when a
    /// bundle has recordings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stacks: Option<StackContrast>,
    /// The same values as two plain samples, in the numbers of R. Of a table only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plain_samples: Option<PlainSamples>,
    /// What a careful reader must know of this comparison alone. Of a table only: what a trial is told concerns all of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
}

impl Comparison {
    /// As the rule reads it. `None` where there is no estimate.
    #[must_use]
    pub fn intervals(&self) -> Option<LogIntervals> {
        let ends = |interval: Interval| (libm::log(interval.low), libm::log(interval.high));
        let effect = self.effect.as_ref()?;
        Some(LogIntervals { difference: ends(effect.interval), equivalence: ends(effect.interval_equivalence) })
    }

    /// The numbers of R. Without a value where none were computed.
    #[must_use]
    pub fn in_r(&self) -> &PlainSamples {
        static NONE: PlainSamples = PlainSamples::NONE;
        self.plain_samples.as_ref().unwrap_or(&NONE)
    }
}

/// The effect of b against a.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Effect {
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
    /// Two-sided p of the t test; in an open-ended trial one over the evidence, at most 1: a p that holds at every analysis.
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
    /// Of pairs: ratio of the second run of a pair to the first, all else equal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub period_ratio: Option<f64>,
}

/// What one block says.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BlockDifference {
    /// The block, from 0.
    pub block: u32,
    /// Of pairs: whether a ran first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub a_first: Option<bool>,
    /// b − a in it: on logarithms ln(b / a).
    pub difference: f64,
}

/// Another measure, compared by the estimator of its comparison.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MeasureContrast {
    /// Name.
    pub name: String,
    /// Unit as text.
    pub unit: String,
    /// Mean over complete blocks.
    pub a_mean: f64,
    /// Mean over complete blocks.
    pub b_mean: f64,
    /// b / a with its interval at 1 − alpha; `None` where a value is zero or negative.
    pub ratio: Option<f64>,
    /// Interval of the ratio.
    pub interval: Option<Interval>,
}

/// A kernel counter whose growth per run differs, or another column of a table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CounterContrast {
    /// Name in `/proc/vmstat`, or of the column.
    pub name: String,
    /// Mean growth per run of a; of a column its mean over the runs that are compared.
    pub a_mean: f64,
    /// The same of b.
    pub b_mean: f64,
    /// Estimate of the difference b − a per run, by the estimator of its comparison.
    pub difference: f64,
    /// Its interval at 1 − alpha.
    pub interval: Interval,
    /// Of plain samples: the change in percent of a's mean with Fieller's interval. `None` where that mean is not above zero or
    /// cannot be told from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub percent: Option<Percent>,
    /// Two-sided p-value.
    pub p: f64,
    /// Benjamini and Hochberg's adjusted p over all counters compared: the false-discovery rate at which it is listed.
    pub q: f64,
}

impl Tested for CounterContrast {
    fn p(&self) -> f64 {
        self.p
    }

    fn set_q(&mut self, q: f64) {
        self.q = q;
    }
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

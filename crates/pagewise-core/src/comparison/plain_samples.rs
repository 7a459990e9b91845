//! The values of two levels as plain samples, whatever ties them together: the numbers that R's functions print of them.

use super::estimate::Design;
use super::rule::LogIntervals;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What the usual tests say of two samples. Welch's t and its interval are of mean(a) − mean(b), as R prints them for `t.test(a, b)`;
/// every other effect is b relative to a.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlainSamples {
    /// Welch's t test of mean(a) − mean(b), as R's `t.test(a, b)` has it.
    pub welch: Option<Welch>,
    /// Welch's interval turned into percent of mean(a) as if that were known, b relative to a: what R scripts of
    /// published reports print. Null when the interval includes zero.
    pub percent_r: Option<PercentInterval>,
    /// Change of the mean in percent of mean(a), b relative to a, with Fieller's interval. Null where mean(a) is not above
    /// zero.
    pub percent: Option<Percent>,
    /// ln(b / a) of the geometric means of all values.
    pub log_ratio: Option<LogRatio>,
    /// Welch's p adjusted by Holm over all comparisons of the call.
    pub welch_holm_p: Option<f64>,
    /// Welch's p adjusted by Benjamini and Hochberg over all comparisons of the call.
    pub welch_bh_p: Option<f64>,
    /// Two one-sided tests against the margin, on logarithms.
    pub tost: Option<Tost>,
    /// Shift of b against a in the unit of the value: Hodges and Lehmann's estimate.
    pub hodges_lehmann: Option<HodgesLehmann>,
    /// Mann and Whitney's rank test.
    pub mann_whitney: Option<MannWhitney>,
    /// Difference b − a in standard deviations, corrected for few values.
    pub hedges_g: Option<f64>,
    /// Shapiro and Wilk's test of each level against a bell curve.
    pub shapiro_p: ShapiroP,
    /// The estimate from within blocks, whether or not the verdict goes by it. Null without a column `block`.
    pub blocked: Option<Blocked>,
    /// Bootstrap interval of the change of the mean. Null unless it was asked for.
    pub bca: Option<Bca>,
    /// For every field above that is null, why.
    pub absent: BTreeMap<String, String>,
}

impl PlainSamples {
    /// Nothing computed.
    pub(super) const NONE: PlainSamples = PlainSamples {
        welch: None,
        percent_r: None,
        percent: None,
        log_ratio: None,
        welch_holm_p: None,
        welch_bh_p: None,
        tost: None,
        hodges_lehmann: None,
        mann_whitney: None,
        hedges_g: None,
        shapiro_p: ShapiroP { a: None, b: None },
        blocked: None,
        bca: None,
        absent: BTreeMap::new(),
    };
}

/// Welch's t test of mean(a) − mean(b).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Welch {
    /// The difference in standard errors.
    pub t: f64,
    /// Degrees of freedom.
    pub df: f64,
    /// Two-sided p-value.
    pub p: f64,
    /// Low end of the interval of mean(a) − mean(b) at 1 − alpha, in the unit of the value.
    pub ci_low: f64,
    /// High end.
    pub ci_high: f64,
}

/// An interval in percent, low end first.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PercentInterval {
    /// Low end, in percent.
    pub low: f64,
    /// High end, in percent.
    pub high: f64,
}

/// A change in percent with its interval at 1 − alpha.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Percent {
    /// The change, in percent.
    pub estimate: f64,
    /// Low end of its interval, in percent; not below −100 where no value is negative.
    pub low: f64,
    /// High end, in percent.
    pub high: f64,
}

/// ln(b / a) of all values together with its interval at 1 − alpha: natural logarithms, 0 is no difference.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LogRatio {
    /// The estimate.
    pub estimate: f64,
    /// Low end of its interval.
    pub low: f64,
    /// High end.
    pub high: f64,
    /// Two-sided p-value of no difference.
    pub p: f64,
    /// Low end of the interval at 1 − 2·alpha, which is held against the margin.
    pub equivalence_low: f64,
    /// High end of it.
    pub equivalence_high: f64,
}

impl LogRatio {
    /// What the rule looks at.
    #[must_use]
    pub fn intervals(&self) -> LogIntervals {
        LogIntervals { difference: (self.low, self.high), equivalence: (self.equivalence_low, self.equivalence_high) }
    }
}

/// Two one-sided tests of equivalence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Tost {
    /// The larger of the two p-values: equivalent when it is below alpha.
    pub p: f64,
    /// The margin it was tested against, as a fraction.
    pub margin: f64,
}

/// How far b is shifted against a.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HodgesLehmann {
    /// The median of all differences b − a, in the unit of the value.
    pub shift: f64,
    /// Low end of its interval.
    pub ci_low: f64,
    /// High end.
    pub ci_high: f64,
    /// The confidence that the interval really has. Ranks come in steps: with a few values it lies far below 1 − alpha.
    pub level: f64,
}

/// The rank test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MannWhitney {
    /// How many of all pairs have a above b, ties as a half: R's W of `wilcox.test(a, b)`.
    pub u: f64,
    /// Two-sided p-value.
    pub p: f64,
    /// Counted out rather than approximated by a normal distribution.
    pub exact: bool,
}

/// p-values of a normal distribution, by Shapiro and Wilk.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ShapiroP {
    /// Of a.
    pub a: Option<f64>,
    /// Of b.
    pub b: Option<f64>,
}

/// The estimate from within blocks: what blocks have in common is gone from it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Blocked {
    /// Blocks in which both levels have a value.
    pub blocks: u32,
    /// `pairs` where each of them has one value of either level and the table says which came first: the crossover estimate.
    /// `blocks` elsewhere: the mean of their differences.
    pub method: Design,
    /// Estimate of ln(b / a) within blocks.
    pub log_ratio: f64,
    /// Low end of its interval at 1 − alpha.
    pub low: f64,
    /// High end.
    pub high: f64,
    /// Two-sided p-value of the t test.
    pub p: f64,
    /// Low end of the interval at 1 − 2·alpha, which is held against the margin.
    pub equivalence_low: f64,
    /// High end of it.
    pub equivalence_high: f64,
    /// Of pairs: ratio of the second run of a pair to the first, all else equal.
    pub period_ratio: Option<f64>,
    /// Share of a level's values that stand in a block with both levels; of the level that has fewer there.
    pub share: f64,
}

/// A bias-corrected and accelerated bootstrap interval of the change of the mean, b relative to a.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Bca {
    /// Low end at 1 − alpha, in percent.
    pub percent_low: f64,
    /// High end, in percent.
    pub percent_high: f64,
    /// Resamples drawn.
    pub resamples: u32,
}

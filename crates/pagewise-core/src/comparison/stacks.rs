//! Where CPUs were on the two sides of a comparison: the shape of what runs that kept stacks say beside it. It is computed in
//! [`crate::experiment::stacks`].

use super::estimate::Tested;
use super::found::Interval;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the sides of a contrast differ in where CPUs were.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StackContrast {
    /// What interrupted the CPUs: `cycles` or `cpu-clock`.
    pub event: Option<String>,
    /// Samples a second and CPU.
    pub hz: f64,
    /// The base.
    pub a: StackSide,
    /// The judged level.
    pub b: StackSide,
    /// Good runs of either side without stacks.
    pub without: u32,
    /// Why the first of them has none.
    pub without_because: Option<String>,
    /// Blocks in which every run it needs kept stacks: as many observations the intervals rest on.
    pub blocks: u32,
    /// How many functions were compared, for reading the false-discovery bound. Functions that always stand in the same
    /// stacks are one.
    pub functions_compared: u32,
    /// How many of them stand out.
    pub functions_found: u32,
    /// Those that stand out, those that differ most first, forty at most.
    pub functions: Vec<FunctionContrast>,
    /// Why no function was compared.
    pub no_functions_because: Option<String>,
}

/// What the runs of one side kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StackSide {
    /// Good runs with stacks.
    pub runs: u32,
    /// Their samples.
    pub samples: u64,
    /// CPUs that were busy, on average over the runs.
    pub busy: f64,
    /// CPU time of the recorder itself, of one core, on average over the recordings; `None` where none says it.
    pub recorder: Option<f64>,
}

/// A function whose share of the samples of a run differs. Shares are of runs in complete blocks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FunctionContrast {
    /// Its name. Bytes of the program's author.
    pub name: String,
    /// What it belongs to.
    pub module: String,
    /// Mean share of a run of the base, with all it called.
    pub a_share: f64,
    /// Mean share of a run of the judged level, with all it called.
    pub b_share: f64,
    /// Mean share of a run of the base, in the function itself.
    pub a_own: f64,
    /// Mean share of a run of the judged level, in the function itself.
    pub b_own: f64,
    /// Estimate of the difference of the shares with all it called, b − a.
    pub difference: f64,
    /// Its interval at 1 − alpha.
    pub interval: Interval,
    /// Two-sided p-value.
    pub p: f64,
    /// Benjamini and Hochberg's adjusted p over all functions compared: the false-discovery rate at which it is listed.
    pub q: f64,
    /// Functions that stood in the same stacks in every run: callers that call nothing else, as a rule.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<String>,
}

impl Tested for FunctionContrast {
    fn p(&self) -> f64 {
        self.p
    }

    fn set_q(&mut self, q: f64) {
        self.q = q;
    }
}

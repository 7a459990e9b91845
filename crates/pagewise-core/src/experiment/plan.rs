//! The declared comparison: workload, metric, factors and their levels, design, contrasts.
//!
//! A plan is TOML for people and is frozen (its text hashed) before the first point runs. `prove` writes the same plan
//! with one factor of two levels, so that there is one engine.

use crate::metric::Direction;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Identifies a plan in JSON.
pub const SCHEMA: &str = "pagewise.plan/1";

/// What is compared, how often, in which design, and how it is judged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The trial's name; its bundle is `NAME.trial`.
    pub name: String,
    /// What runs at every point.
    pub workload: Workload,
    /// What is compared.
    #[serde(default)]
    pub metric: Metric,
    /// What differs between points.
    #[serde(rename = "factor")]
    pub factors: Vec<Factor>,
    /// How often and in which order.
    #[serde(default)]
    pub design: Design,
    /// Which levels are held against each other.
    #[serde(rename = "contrast", default)]
    pub contrasts: Vec<Contrast>,
}

/// The job of a point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Workload {
    /// A built-in workload (`terasort`) or `command`.
    pub name: String,
    /// For `command`: the argument vector that is timed. Never passed to a shell.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub run: Vec<String>,
    /// For `command`: runs before every point, untimed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prepare: Vec<String>,
    /// For `command`: runs after every point; a non-zero exit makes the point `wrong`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub verify: Vec<String>,
    /// For `command`: runs after every point whatever it gave.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clean: Vec<String>,
    /// Arguments of a built-in workload, such as `rows = 1_000_000`.
    #[serde(flatten)]
    pub args: BTreeMap<String, serde_json::Value>,
}

/// The number that is compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Metric {
    /// A measure of a run, a name from `$PAGEWISE_METRICS`, or `regex:PATTERN` on the job's output.
    #[serde(default = "Metric::default_name")]
    pub name: String,
    /// Which way is better.
    #[serde(default)]
    pub direction: Direction,
    /// The equivalence margin: a difference smaller than this does not matter. A percentage, such as `2%`.
    #[serde(default = "Metric::default_smallest_effect")]
    pub smallest_effect: String,
}

impl Metric {
    fn default_name() -> String {
        "wall".to_owned()
    }
    fn default_smallest_effect() -> String {
        "2%".to_owned()
    }
}

impl Default for Metric {
    fn default() -> Self {
        Metric {
            name: Self::default_name(),
            direction: Direction::Lower,
            smallest_effect: Self::default_smallest_effect(),
        }
    }
}

/// One thing that differs between points, with its levels as policies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Factor {
    /// Its name.
    pub name: String,
    /// Tunables that its levels may move beside the first, on purpose.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<String>,
    /// Level name to policy text (`now` or `TUNABLE=VALUE,…`).
    pub levels: BTreeMap<String, String>,
}

/// What happens to the page cache before a point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DropCaches {
    /// Drop for built-in workloads, leave alone for a command.
    #[default]
    Auto,
    /// Always drop; needs root.
    Yes,
    /// Never drop.
    No,
}

/// How many blocks, from which seed, with which limits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Design {
    /// Blocks; with two levels a block is a pair.
    pub blocks: u32,
    /// The seed the order is drawn from.
    pub seed: u64,
    /// Unanalysed runs of each level before the first block.
    pub warmup: u32,
    /// A run longer than this is stopped and counts as `timeout`.
    pub timeout_seconds: f64,
    /// The page cache before a point.
    pub drop_caches: DropCaches,
    /// Significance level of the verdict.
    pub alpha: f64,
}

impl Default for Design {
    fn default() -> Self {
        Design { blocks: 10, seed: 0, warmup: 1, timeout_seconds: 600.0, drop_caches: DropCaches::Auto, alpha: 0.05 }
    }
}

/// Two levels of a factor held against each other: `b` relative to `a`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Contrast {
    /// The factor.
    pub factor: String,
    /// The level that is the base.
    pub a: String,
    /// The level that is judged.
    pub b: String,
    /// Whether the trial's claim rests on it.
    #[serde(default)]
    pub primary: bool,
}

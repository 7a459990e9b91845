//! One run of the workload under one combination of levels, and everything that was seen of it.

pub use crate::comparison::outcome::Outcome;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A point that the order names. It exists before anything runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlannedPoint {
    /// Place in the run order, from 0; warm-up points come first.
    pub index: u32,
    /// The block, from 0. `None` for a warm-up point.
    pub block: Option<u32>,
    /// Place inside the block, from 0.
    pub position: u32,
    /// Which boot of the host the point runs in, counted from 0. `None` where no factor needs a boot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot: Option<u32>,
    /// The cell this point runs under: with one factor, the level's name.
    #[serde(alias = "level")]
    pub cell: String,
}

impl PlannedPoint {
    /// Warm-up points run and are kept, but no estimate reads them.
    #[must_use]
    pub fn is_warmup(&self) -> bool {
        self.block.is_none()
    }
}

/// A tunable that the point's policy set or moved, as read before and after the write.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AppliedSetting {
    /// The tunable.
    pub tunable: String,
    /// Its value before.
    pub before: String,
    /// What was asked for. `None` for a coupled tunable that the kernel moved by itself.
    pub requested: Option<String>,
    /// Its value as read back while the point ran.
    pub after: String,
}

/// A point that was run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Point {
    /// What the order asked for.
    pub planned: PlannedPoint,
    /// 1 for the first try; more when earlier tries were `invalid`.
    pub attempt: u32,
    /// How it ended.
    pub outcome: Outcome,
    /// Why, when the outcome is not `ok`.
    pub reason: Option<String>,
    /// When it started, RFC 3339 UTC.
    pub started_at: String,
    /// Name to value: the measures of [`crate::metric::MEASURES`] and the user's own.
    pub measures: BTreeMap<String, f64>,
    /// Name to reason, for a measure that could not be taken. Absence is never zero.
    pub absent: BTreeMap<String, String>,
    /// Units of the user's own metrics.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub custom_units: BTreeMap<String, String>,
    /// Growth of each kernel counter over the run.
    pub counters: BTreeMap<String, i64>,
    /// What the policy did.
    pub applied: Vec<AppliedSetting>,
    /// The boot the point ran in.
    pub boot_id: String,
}

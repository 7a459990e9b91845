//! One run of the workload under one combination of levels, and everything that was seen of it.

use crate::comparison::found::Warning;
pub use crate::comparison::outcome::Outcome;
use crate::metric::vmstat_is_level;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

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

/// What must be booted before a point can run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Boot {
    /// What must be in force from the boot on: tunable to value. Empty where any boot will do that is a new one.
    pub settings: BTreeMap<String, String>,
}

impl fmt::Display for Boot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.settings.is_empty() {
            return f.write_str("a boot of its own, of the same kernel");
        }
        let words: Vec<String> = self.settings.iter().map(|(tunable, value)| format!("{tunable}={value}")).collect();
        f.write_str(&words.join(","))
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
    /// What whoever ran it would have a reader know: its page cache was not dropped, its recording ended early.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
}

impl Point {
    /// A try that begins at this instant, as an RFC 3339 time, and of which nothing is known yet: until it has ended well it is invalid.
    #[must_use]
    pub fn begun(planned: &PlannedPoint, attempt: u32, (started_at, boot_id): (String, String)) -> Point {
        Point {
            planned: planned.clone(),
            attempt,
            outcome: Outcome::Invalid,
            reason: None,
            started_at,
            measures: BTreeMap::new(),
            absent: BTreeMap::new(),
            custom_units: BTreeMap::new(),
            counters: BTreeMap::new(),
            applied: Vec::new(),
            boot_id,
            warnings: Vec::new(),
        }
    }
}

/// A point with the kernel's counters at both ends: what a run gives, wherever it ran.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The point. Its `counters` are [`Record::growth`], also when it is read again.
    pub point: Point,
    /// `/proc/vmstat` before the run.
    pub vmstat_before: BTreeMap<String, i64>,
    /// `/proc/vmstat` after the run.
    pub vmstat_after: BTreeMap<String, i64>,
}

impl Record {
    /// Growth of every running total; levels are left out, their difference means nothing.
    #[must_use]
    pub fn growth(&self) -> BTreeMap<String, i64> {
        let totals = self.vmstat_before.iter().filter(|(name, _)| !vmstat_is_level(name));
        let grown =
            |(name, before): (&String, &i64)| Some((name.clone(), self.vmstat_after.get(name)?.wrapping_sub(*before)));
        totals.filter_map(grown).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::btree_map;
    use proptest::prelude::*;

    /// Numbers of at most 15 digits, as measures are written.
    fn number() -> impl Strategy<Value = f64> {
        (-1_000_000_000_000i64..1_000_000_000_000).prop_map(|thousandths| thousandths as f64 / 1000.0)
    }

    fn planned() -> impl Strategy<Value = PlannedPoint> {
        (any::<u32>(), any::<Option<u32>>(), any::<u32>(), any::<Option<u32>>(), ".*")
            .prop_map(|(index, block, position, boot, cell)| PlannedPoint { index, block, position, boot, cell })
    }

    fn point() -> impl Strategy<Value = Point> {
        let ended = (0..Outcome::ALL.len(), proptest::option::of(".*"), any::<u32>(), ".*", ".*");
        let measured = (btree_map(".*", number(), 0..5), btree_map(".*", ".*", 0..3), btree_map(".*", ".*", 0..3));
        let counters = btree_map(".*", any::<i64>(), 0..5);
        let applied = (".*", ".*", proptest::option::of(".*"), ".*")
            .prop_map(|(tunable, before, requested, after)| AppliedSetting { tunable, before, requested, after });
        let applied = proptest::collection::vec(applied, 0..3);
        let warnings = proptest::collection::vec((".*", ".*").prop_map(|(id, text)| Warning { id, text }), 0..3);
        let told = (applied, warnings);
        (planned(), ended, measured, counters, told).prop_map(|(planned, ended, measured, counters, told)| {
            let (applied, warnings) = told;
            let (outcome, reason, attempt, started_at, boot_id) = ended;
            let (measures, absent, custom_units) = measured;
            let outcome = Outcome::ALL[outcome];
            Point {
                planned,
                attempt,
                outcome,
                reason,
                started_at,
                measures,
                absent,
                custom_units,
                counters,
                applied,
                boot_id,
                warnings,
            }
        })
    }

    proptest! {
        #[test]
        fn what_a_run_gave_goes_through_json_and_back(
            point in point(),
            vmstat_before in btree_map(".*", any::<i64>(), 0..5),
            vmstat_after in btree_map(".*", any::<i64>(), 0..5),
        ) {
            let record = Record { point, vmstat_before, vmstat_after };
            let text = serde_json::to_string(&record).unwrap();
            prop_assert_eq!(serde_json::from_str::<Record>(&text).unwrap(), record);
        }

        #[test]
        fn what_must_be_booted_goes_through_json_and_back(settings in btree_map(".*", ".*", 0..4)) {
            let boot = Boot { settings };
            let text = serde_json::to_string(&boot).unwrap();
            prop_assert_eq!(serde_json::from_str::<Boot>(&text).unwrap(), boot);
        }
    }

    #[test]
    fn what_must_be_booted_is_said_as_a_policy_is_written() {
        let settings = [("kernel".to_owned(), "6.12.0".to_owned())].into();
        assert_eq!(Boot { settings }.to_string(), "kernel=6.12.0");
        assert_eq!(Boot::default().to_string(), "a boot of its own, of the same kernel");
    }
}

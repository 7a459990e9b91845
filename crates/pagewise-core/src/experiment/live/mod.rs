//! A proof on a host that goes on working: blocks of time instead of runs of a job, and what ends it early.
//!
//! [`switching`] says what may be switched under a running job and how long to wait, [`metric`] what is compared,
//! [`bound`] when to stop.

pub mod bound;
pub mod metric;
pub mod switching;

use super::point::PlannedPoint;
use crate::unit::Seconds;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a live proof adds to a plan. A point is then a block: a stretch of time under one policy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Live {
    /// Seconds that are measured in each block, 1 to 86,400.
    pub block_seconds: f64,
    /// Seconds before them until the policy acts.
    pub settle_seconds: f64,
    /// Seconds after that until what the other policy left behind has faded.
    pub washout_seconds: f64,
    /// Ends the proof when crossed: `SIGNAL>NUMBER`, several with commas, over the last five seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_if: Option<String>,
    /// The process whose end ends the proof.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// What runs is made of processes that end within a block, so tunables that act on new memory alone may be switched.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub short_lived: bool,
}

/// Less, and the ticks in which the kernel counts CPU time are too coarse.
pub const SHORTEST_BLOCK: f64 = 1.0;

/// More is a slip.
pub const LONGEST_BLOCK: f64 = 86_400.0;

/// As many pairs as a live proof has unless told otherwise: one more than the seven from which on the randomisation test reaches 5 %.
pub const DEFAULT_PAIRS: u32 = 8;

/// The name of the workload of a live proof without a command.
pub const WHATEVER_RUNS: &str = "host";

impl Live {
    /// Seconds from the beginning of one block to that of the next.
    #[must_use]
    pub fn period(&self) -> f64 {
        self.settle_seconds + self.washout_seconds + self.block_seconds
    }

    /// What this many blocks take when none has to be repeated.
    #[must_use]
    pub fn takes(&self, blocks: usize) -> Seconds {
        Seconds(self.period() * blocks as f64)
    }

    /// Pairs that fit into a budget.
    #[must_use]
    pub fn pairs_in(&self, budget: Seconds) -> u32 {
        (budget.0 / (2.0 * self.period())) as u32
    }

    /// What is wrong with its numbers and texts, each with what would be right.
    #[must_use]
    pub fn problems(&self) -> Vec<(&'static str, String)> {
        let mut found = Vec::new();
        if !(SHORTEST_BLOCK..=LONGEST_BLOCK).contains(&self.block_seconds) {
            found.push((
                "block_seconds",
                format!("a block of {} s cannot be measured; give 1 s to 24 h", self.block_seconds),
            ));
        }
        for (key, seconds) in [("settle_seconds", self.settle_seconds), ("washout_seconds", self.washout_seconds)] {
            if !(0.0..=LONGEST_BLOCK).contains(&seconds) {
                found.push((key, format!("{seconds} s cannot be waited; give 0 s to 24 h")));
            }
        }
        if let Some(Err(error)) = self.stop_if.as_deref().map(str::parse::<bound::StopIf>) {
            found.push(("stop_if", error.to_string()));
        }
        found
    }
}

/// The name under which a point keeps a signal of a part of its block: `system_share (second half)`.
#[must_use]
pub fn half_of(signal: &str, second: bool) -> String {
    format!("{signal} ({} half)", if second { "second" } else { "first" })
}

/// What happens to a block at an instant, as its recording notes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instant {
    /// Its policy is put in force.
    Switch,
    /// It is measured from here.
    Begin,
    /// It was measured until here.
    End,
}

/// The mark in a recording: `begin: block 2 of pair 1, attempt 1, never`.
#[must_use]
pub fn mark(instant: Instant, planned: &PlannedPoint, attempt: u32) -> String {
    let word = match instant {
        Instant::Switch => "switch",
        Instant::Begin => "begin",
        Instant::End => "end",
    };
    let name = match planned.block {
        Some(pair) => format!("block {} of pair {}", planned.position + 1, pair + 1),
        None => "warm-up block".to_owned(),
    };
    format!("{word}: {name}, attempt {attempt}, {}", planned.cell)
}

/// What is said to whoever proves something on a job that ends by itself.
pub const RUN_BY_RUN: &str = "A job that is shorter than the proof is compared run by run: pagewise prove with the same --a and --b and no --live; a \
                              guard is a setting there, too (--a guard=off --b guard=on).";

/// What ended a live proof before its plan did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EndedBy {
    /// The command or the process it was about ended.
    Job,
    /// A bound of `stop_if` was crossed.
    Bound,
    /// Someone else changed a setting of the policies. Their value was left.
    ForeignChange,
}

/// That and why a live proof ended before its plan did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Ended {
    /// What ended it.
    pub by: EndedBy,
    /// In words, with numbers.
    pub reason: String,
    /// When, RFC 3339 UTC.
    pub at: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn live(block_seconds: f64) -> Live {
        Live { block_seconds, settle_seconds: 1.0, washout_seconds: 4.0, stop_if: None, pid: None, short_lived: false }
    }

    #[test]
    fn a_budget_pays_for_the_waiting_too() {
        assert_eq!(live(60.0).pairs_in(Seconds(1200.0)), 9, "20 minutes hold nine pairs of twice 65 s");
        assert_eq!(live(60.0).takes(12), Seconds(780.0));
        assert_eq!(live(5.0).pairs_in(Seconds(19.0)), 0);
    }

    #[test]
    fn numbers_that_cannot_be_run_are_named() {
        assert!(live(5.0).problems().is_empty());
        assert_eq!(live(0.5).problems()[0].0, "block_seconds");
        assert_eq!(Live { washout_seconds: f64::NAN, ..live(5.0) }.problems()[0].0, "washout_seconds");
        assert_eq!(Live { stop_if: Some("load>3".into()), ..live(5.0) }.problems()[0].0, "stop_if");
    }
}

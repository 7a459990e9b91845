//! `prove --live`: the two policies in blocks of time, on whatever runs.

use super::ProveArgs;
use crate::failure::Failure;
use anyhow::anyhow;
use clap::Args;
use pagewise_core::experiment::live::metric::LiveMetric;
use pagewise_core::experiment::live::{DEFAULT_PAIRS, Live, WHATEVER_RUNS, switching};
use pagewise_core::experiment::order;
use pagewise_core::experiment::plan::{Design, DropCaches, Plan, Workload};
use pagewise_core::unit::Seconds;
use pagewise_host::trial::session::MOST_PAIRS;
use std::collections::BTreeMap;

/// Options of `--live`.
#[derive(Args, Debug)]
#[command(next_help_heading = "Live proof (switch a host that goes on working)")]
pub(super) struct LiveArgs {
    /// Switch the policies in blocks of time while whatever runs goes on. Refuses what a running job would not notice.
    /// --metric is then a signal of the host (system_share, psi_memory_full, compact_stalls, …), a command that prints a number
    /// when a block ends, rate:COMMAND for a counter, or regex:PATTERN:FILE for the lines a log grew by. A job after -- is
    /// started first and ended with the proof
    #[arg(long)]
    pub(super) live: bool,
    /// Time that is measured in each block [default: 60s]
    #[arg(long, value_name = "TIME")]
    block: Option<Seconds>,
    /// Time after a switch until the new value acts [default: what its tunables need]
    #[arg(long, value_name = "TIME")]
    settle: Option<Seconds>,
    /// Time after that until what the old value left has faded [default: what its tunables need]
    #[arg(long, value_name = "TIME")]
    washout: Option<Seconds>,
    /// End and restore when a signal crosses this over five seconds: SIGNAL>NUMBER, several with commas; counts and times are
    /// per second
    #[arg(long, value_name = "BOUND")]
    stop_if: Option<String>,
    /// End when this process ends; it is left alone
    #[arg(long, value_name = "N", conflicts_with = "command")]
    pid: Option<u32>,
    /// What runs is made of processes that end within a block, so settings of new memory (thp.enabled) can be switched
    #[arg(long)]
    short_lived: bool,
}

const DEFAULT_BLOCK: f64 = 60.0;

impl LiveArgs {
    /// Refuses what only a live proof can make use of.
    pub(super) fn are_not_given(&self) -> Result<(), Failure> {
        let given = [
            ("--block", self.block.is_some()),
            ("--settle", self.settle.is_some()),
            ("--washout", self.washout.is_some()),
            ("--stop-if", self.stop_if.is_some()),
            ("--pid", self.pid.is_some()),
            ("--short-lived", self.short_lived),
        ];
        match given.into_iter().find(|(_, is_given)| *is_given) {
            Some((option, _)) => Err(Failure::Usage(anyhow!("{option} is of a live proof; add --live"))),
            None => Ok(()),
        }
    }
}

impl ProveArgs {
    /// The plan that the options describe: two policies, blocks of time.
    pub(super) fn live_plan(&self) -> Result<Plan, Failure> {
        self.check_numbers()?;
        let (a, b) = self.policies()?;
        let wanted = &self.live;
        let switched = switching::tunables([&a, &b], wanted.short_lived)?;
        let (settle, washout) = switching::longest(&switched);
        let live = Live {
            block_seconds: wanted.block.map_or(DEFAULT_BLOCK, |time| time.0),
            settle_seconds: wanted.settle.map_or(settle, |time| time.0),
            washout_seconds: wanted.washout.map_or(washout, |time| time.0),
            stop_if: wanted.stop_if.clone(),
            pid: wanted.pid,
            short_lived: wanted.short_lived,
        };
        if let Some((key, why)) = live.problems().into_iter().next() {
            let option = key.trim_end_matches("_seconds").replace('_', "-");
            return Err(Failure::Usage(anyhow!("--{option}: {why}")));
        }
        let metric = self.asked_metric();
        LiveMetric::parse(metric.place()).map_err(|error| Failure::Usage(anyhow!(error)))?;
        let workload = match self.command.is_empty() {
            true => Workload::built_in(WHATEVER_RUNS, BTreeMap::new()),
            false => Workload::command(self.command.clone()),
        };
        let design = Design {
            blocks: self.live_pairs(&live)?,
            warmup: self.warmup.unwrap_or(0),
            drop_caches: DropCaches::No,
            ..self.design()
        };
        self.plan_of([&a, &b], workload, metric, design, Some(live))
    }

    /// The pairs asked for, or as many as the budget holds and no more than were asked for.
    fn live_pairs(&self, live: &Live) -> Result<u32, Failure> {
        let Some(budget) = self.budget else { return Ok(self.pairs.unwrap_or(DEFAULT_PAIRS)) };
        let warm = 2.0 * live.period() * f64::from(self.warmup.unwrap_or(0));
        let most = self.pairs.unwrap_or(MOST_PAIRS).min(MOST_PAIRS);
        let pairs = live.pairs_in(Seconds((budget.0 - warm).max(0.0))).min(most);
        if pairs >= order::FEWEST_PAIRS {
            return Ok(pairs);
        }
        let needed = Seconds((warm + live.takes(2 * order::FEWEST_PAIRS as usize).0).ceil());
        Err(Failure::NotPossible(anyhow!(
            "a pair of blocks takes {}, waiting included, so {budget} is room for {pairs}; a verdict needs at least {} pairs: give \
             --budget {}s or more, or a shorter --block",
            live.takes(2),
            order::FEWEST_PAIRS,
            needed.0
        )))
    }
}

/// The times of a live proof, by the names of their options.
pub(super) fn times(live: &Live) -> Vec<(&'static str, f64)> {
    vec![("block", live.block_seconds), ("settle", live.settle_seconds), ("washout", live.washout_seconds)]
}

/// What else was asked for, by the names of its options.
pub(super) fn options(live: &Live) -> Vec<(&'static str, String)> {
    let stop_if = live.stop_if.clone().map(|bound| ("stop-if", bound));
    stop_if.into_iter().chain(live.pid.map(|pid| ("pid", pid.to_string()))).collect()
}

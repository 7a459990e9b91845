//! `prove --live`: the two policies in blocks of time, on whatever runs.

use super::{
    ProveArgs, checked_name, direction_word, level_names, looking_words, named_policy, policy_words, quoted,
    timestamp_word, workload_word,
};
use crate::failure::Failure;
use anyhow::anyhow;
use clap::Args;
use indexmap::IndexMap;
use pagewise_core::experiment::live::metric::{self as live_metric, LiveMetric};
use pagewise_core::experiment::live::{DEFAULT_PAIRS, Live, WHATEVER_RUNS, switching};
use pagewise_core::experiment::order;
use pagewise_core::experiment::plan::{Contrast, Design, DropCaches, Factor, Metric, Plan, Workload};
use pagewise_core::unit::{Fraction, Seconds};
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
    #[arg(long, value_name = "TIME", requires = "live")]
    block: Option<Seconds>,
    /// Time after a switch until the new value acts [default: what its tunables need]
    #[arg(long, value_name = "TIME", requires = "live")]
    settle: Option<Seconds>,
    /// Time after that until what the old value left has faded [default: what its tunables need]
    #[arg(long, value_name = "TIME", requires = "live")]
    washout: Option<Seconds>,
    /// End and restore when a signal crosses this over five seconds: SIGNAL>NUMBER, several with commas; counts and times are
    /// per second
    #[arg(long, value_name = "BOUND", requires = "live")]
    stop_if: Option<String>,
    /// End when this process ends; it is left alone
    #[arg(long, value_name = "N", requires = "live", conflicts_with = "command")]
    pid: Option<u32>,
    /// What runs is made of processes that end within a block, so settings of new memory (thp.enabled) can be switched
    #[arg(long, requires = "live")]
    short_lived: bool,
}

const DEFAULT_BLOCK: f64 = 60.0;

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
        let metric = self.metric.clone().unwrap_or_else(|| live_metric::DEFAULT.to_owned());
        let parsed = LiveMetric::parse(&metric).map_err(|error| Failure::Usage(anyhow!(error)))?;
        if let LiveMetric::Log { pattern, .. } = &parsed {
            regex_lite::Regex::new(pattern)
                .map_err(|error| Failure::Usage(anyhow!("--metric {metric} has no regular expression: {error}")))?;
        }
        let margin = self.margin.unwrap_or(Fraction(0.02));
        let (level_a, level_b) = level_names(&a, &b, self.aa.is_some());
        let workload = match self.command.is_empty() {
            true => Workload::built_in(WHATEVER_RUNS, BTreeMap::new()),
            false => Workload::command(self.command.clone()),
        };
        let name = match &self.name {
            Some(name) => checked_name(name)?,
            None => format!("live-{}-{}", workload_word(&workload), timestamp_word()),
        };
        let levels = IndexMap::from([(level_a.clone(), policy_words(&a)), (level_b.clone(), policy_words(&b))]);
        let plan = Plan {
            metrics: vec![Metric {
                name: metric,
                direction: self.direction.unwrap_or_default(),
                smallest_effect: margin.to_string(),
            }],
            factors: vec![Factor { name: "policy".to_owned(), also: Vec::new(), levels }],
            design: Design {
                blocks: self.live_pairs(&live)?,
                seed: self.seed.unwrap_or_else(pagewise_host::trial::session::seed_from_clock),
                warmup: self.warmup.unwrap_or(0),
                drop_caches: DropCaches::No,
                steal_limit: self.steal_limit.0,
                ..Design::default()
            },
            contrasts: vec![Contrast {
                factor: "policy".to_owned(),
                a: level_a,
                b: level_b,
                primary: true,
                ..Contrast::default()
            }],
            recording: self.recording(true),
            live: Some(live),
            ..Plan::new(name, workload)
        };
        order::draw(&plan).map_err(|error| Failure::Usage(anyhow!(error)))?;
        Ok(plan)
    }

    /// The pairs asked for, or as many as the budget holds.
    fn live_pairs(&self, live: &Live) -> Result<u32, Failure> {
        let Some(budget) = self.budget else { return Ok(self.pairs.unwrap_or(DEFAULT_PAIRS)) };
        let warm = 2.0 * live.period() * f64::from(self.warmup.unwrap_or(0));
        let pairs = live.pairs_in(Seconds((budget.0 - warm).max(0.0))).min(pagewise_host::trial::session::MOST_PAIRS);
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

/// The command line that repeats a live proof, seed included.
pub(super) fn repeat_line(plan: &Plan) -> String {
    let contrast = &plan.contrasts[0];
    let text = |level: &str| plan.factors[0].levels.get(level).map(String::as_str).unwrap_or("now");
    let mut words = ["pagewise", "prove", "--live"].map(str::to_owned).to_vec();
    words.extend(looking_words(plan));
    let mut option = |name: &str, value: String| words.extend([format!("--{name}"), value]);
    if text(&contrast.a) == text(&contrast.b) {
        option("aa", text(&contrast.a).to_owned());
    } else {
        option("a", named_policy(&contrast.a, text(&contrast.a)));
        option("b", named_policy(&contrast.b, text(&contrast.b)));
    }
    let live = plan.live.as_ref();
    for (name, seconds) in live.into_iter().flat_map(|live| {
        [("block", live.block_seconds), ("settle", live.settle_seconds), ("washout", live.washout_seconds)]
    }) {
        option(name, format!("{seconds}s"));
    }
    option("pairs", plan.design.blocks.to_string());
    option("seed", plan.design.seed.to_string());
    option("margin", plan.metric().smallest_effect.clone());
    option("metric", plan.metric().name.clone());
    option("direction", direction_word(plan.metric().direction).to_owned());
    if plan.design.warmup > 0 {
        option("warmup", plan.design.warmup.to_string());
    }
    if let Some(stop_if) = live.and_then(|live| live.stop_if.clone()) {
        option("stop-if", stop_if);
    }
    if let Some(pid) = live.and_then(|live| live.pid) {
        option("pid", pid.to_string());
    }
    if live.is_some_and(|live| live.short_lived) {
        words.push("--short-lived".to_owned());
    }
    if !plan.workload.run.is_empty() {
        words.push("--".to_owned());
        words.extend(plan.workload.run.clone());
    }
    quoted(&words)
}

//! `prove`: a fair comparison of two policies on one job, with a verdict.

mod live;

use crate::commands::trial::resume_line;
use crate::failure::Failure;
use crate::global::Global;
use crate::output;
use crate::places::PlaceArgs;
use crate::rendering;
use crate::session::{Seed, Session, Verb};
use anyhow::anyhow;
use clap::Args;
use indexmap::IndexMap;
use pagewise_core::experiment::analysis::{Comparison, Conclusion};
use pagewise_core::experiment::live::metric as live_metric;
use pagewise_core::experiment::live::{Live, WHATEVER_RUNS};
use pagewise_core::experiment::order;
use pagewise_core::experiment::own_measure;
use pagewise_core::experiment::plan::cells::cells;
use pagewise_core::experiment::plan::check::can_name_a_trial;
use pagewise_core::experiment::plan::lint;
use pagewise_core::experiment::plan::{
    Contrast, Design, DropCaches, Factor, MEMORY_DRIFT_LIMIT, Metric, PRESSURE_LIMIT, Plan, Recording, STEAL_LIMIT,
    Workload as PlannedWorkload,
};
use pagewise_core::metric::Direction;
use pagewise_core::report;
use pagewise_core::tunable::policy::Policy;
use pagewise_core::unit::{self, Bytes, Fraction, Seconds};
use pagewise_host::store::bundle::Bundle;
use pagewise_host::trial::session::{Budget, RestLimits, SessionError, Start};
use pagewise_host::tunable;
use pagewise_host::workload::{BUILT_IN, measures_of};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Compare two memory policies on a job: fair order, confidence interval, verdict, host left as found
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ProveArgs {
    /// The base policy: [NAME:]TUNABLE=VALUE[,…], @FILE.toml, or 'now'
    #[arg(long, value_name = "POLICY")]
    a: Option<String>,
    /// The policy that is judged against it
    #[arg(long, value_name = "POLICY")]
    b: Option<String>,
    /// Both arms run under this one policy: shows this host's noise floor
    #[arg(long, value_name = "POLICY", conflicts_with_all = ["a", "b"])]
    aa: Option<String>,
    /// Pairs of runs, one of each policy; with --budget at most so many [default: 10; with --live 8]
    #[arg(long, value_name = "N")]
    pairs: Option<u32>,
    /// As many pairs as fit into this time, judged by the warm-up runs
    #[arg(long, value_name = "TIME")]
    budget: Option<Seconds>,
    /// Differences smaller than this do not matter [default: 2%]
    #[arg(long, value_name = "N%", value_parser = unit::share)]
    margin: Option<Fraction>,
    /// Unanalysed runs of each policy first [default: 1; with --live 0]
    #[arg(long, value_name = "N")]
    warmup: Option<u32>,
    /// What is compared and decides: wall, user, system, anon_peak, …, a name from $PAGEWISE_METRICS, or [NAME=]regex:PATTERN; the
    /// report has all other measures, too [default: wall; with --live system_share]
    #[arg(long, value_name = "NAME|[NAME=]regex:…")]
    metric: Vec<String>,
    /// Which way is better [default: lower]
    #[arg(long, value_name = "lower|higher")]
    direction: Option<Direction>,
    /// A run longer than this is stopped and counts as a result
    #[arg(long, value_name = "TIME", default_value = "10m", conflicts_with = "live")]
    timeout: Seconds,
    /// A run does not count where the hypervisor took a larger share of the CPU time
    #[arg(long, value_name = "PERCENT", default_value = "10%")]
    steal_limit: Fraction,
    #[command(flatten)]
    rest: RestArgs,
    /// Drop the page cache before each run (auto: only for built-in workloads)
    #[arg(long, value_name = "WHEN", default_value = "auto", value_parser = ["auto", "yes", "no"], conflicts_with = "live")]
    drop_caches: String,
    /// Touch free memory before each run, this much at most: for virtual machines whose hypervisor takes free memory back
    #[arg(long, value_name = "SIZE", value_parser = size, conflicts_with = "live")]
    warm_memory: Option<String>,
    /// A built-in workload instead of a command
    #[arg(long, value_name = "NAME[:ARG=VALUE,…]", conflicts_with_all = ["command", "prepare", "verify", "clean", "live"])]
    workload: Option<String>,
    /// Runs before each run of the command, untimed
    #[arg(long, value_name = "COMMAND", conflicts_with = "live")]
    prepare: Option<String>,
    /// Runs after each run, untimed; when it fails the run's result is 'wrong'
    #[arg(long, value_name = "COMMAND", conflicts_with = "live")]
    verify: Option<String>,
    /// Runs last after each run, untimed
    #[arg(long, value_name = "COMMAND", conflicts_with = "live")]
    clean: Option<String>,
    /// Seed of the run order [default: drawn from the clock, and recorded]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Name of the trial; its bundle is NAME.trial in this folder
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Continue a bundle that was interrupted, as it was planned
    #[arg(long, value_name = "BUNDLE", conflicts_with_all = ["a", "b", "aa", "workload", "pairs", "budget", "command", "live", "stacks", "stalls", "dry_run",
        "margin", "warmup", "metric", "direction", "timeout", "steal_limit", "drop_caches", "warm_memory", "prepare",
        "verify", "clean", "seed", "name", "record"])]
    resume: Option<PathBuf>,
    /// Record the kernel's memory counters once a second while each run goes on, a file per run
    #[arg(long)]
    record: bool,
    /// Record where CPUs are, too: stacks HZ times a second and CPU, 1 to 1000 [19 if none is given]. The report then compares
    /// the arms function by function
    #[arg(long, value_name = "HZ", num_args = 0..=1, default_missing_value = "19", value_parser = clap::value_parser!(u32).range(1..=1000))]
    stacks: Option<u32>,
    /// Record how long tasks are held up, too: by reclaim, compaction, throttling and dirty pages
    #[arg(long)]
    stalls: bool,
    /// Exit 1 on these verdicts
    #[arg(long, value_name = "VERDICT,…", value_delimiter = ',', value_parser = ["better", "worse", "equivalent", "inconclusive"])]
    fail_on: Vec<String>,
    /// Say what would be run and changed, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// When another run has this host, wait until it ends, or for this time at most
    #[arg(long, value_name = "TIME", num_args = 0..=1, require_equals = true)]
    wait: Option<Option<Seconds>>,
    #[command(flatten)]
    named: PlaceArgs,
    /// The job: program and arguments, never passed to a shell
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
    // Last, because its heading holds for all that follows.
    #[command(flatten)]
    live: live::LiveArgs,
}

/// Who asks for more pairs or warm-up runs than this has made a slip: at a second each they take more than a day.
const MOST_PLANNED: u32 = 100_000;

/// As `--warmup` and `--timeout` have it when they are not given.
const DEFAULT_WARMUP: u32 = 1;
const DEFAULT_TIMEOUT_SECONDS: f64 = 600.0;

/// What a run waits for before it begins.
#[derive(Args, Debug)]
pub(crate) struct RestArgs {
    /// A run waits until tasks of this host waited for memory, and for I/O, a smaller share of a second [default: 1%]
    #[arg(long, value_name = "PERCENT")]
    pressure_limit: Option<Fraction>,
    /// A run waits until as much memory is free or in caches as before the first run of its policy, but for this share [default: 5%]
    #[arg(long, value_name = "PERCENT")]
    memory_drift_limit: Option<Fraction>,
}

impl RestArgs {
    /// As they were given, each a share.
    pub(crate) fn limits(&self) -> Result<RestLimits, Failure> {
        let limits = [("pressure-limit", self.pressure_limit), ("memory-drift-limit", self.memory_drift_limit)];
        for (option, limit) in limits.into_iter().filter_map(|(option, limit)| Some((option, limit?))) {
            is_a_share(option, limit)?;
        }
        Ok(RestLimits { pressure: self.pressure_limit, memory_drift: self.memory_drift_limit })
    }
}

fn is_a_share(option: &str, limit: Fraction) -> Result<(), Failure> {
    if limit.0 > 0.0 && limit.0 <= 1.0 {
        return Ok(());
    }
    Err(Failure::Usage(anyhow!("--{option} must be more than 0% and at most 100%, not {limit}")))
}

const EXAMPLES: &str = "Examples:
  pagewise prove --a thp.enabled=never --b thp.enabled=always -- ./job
  pagewise prove --a now --b vm.swappiness=1 --budget 20m -- spark-submit job.py
  pagewise prove --a thp.enabled=never --b thp.enabled=always \\
      --workload terasort:rows=1000000
  pagewise prove --a now --b process.thp=never --metric rate \\
      --direction higher -- ./service
  pagewise prove --aa now --pairs 10 -- ./job
  pagewise prove --live --a now --b thp.defrag=madvise --block 30s --pairs 8
  pagewise prove --live --a now --b vm.swappiness=1 --pid 4711 --budget 20m \\
      --metric 'took=regex:took=([0-9.]+):/var/log/job.log'

The service above appends {\"name\":\"rate\",\"value\":12.5} to $PAGEWISE_METRICS. --aa \
shows the host's noise floor. --pairs takes 4 and more. Below 7 the randomisation test has too few orders to reach 5 %, \
and the verdict rests on the t interval alone.";

/// Runs the verb.
pub(crate) fn run(args: &ProveArgs, global: &Global) -> Result<ExitCode, Failure> {
    if global.root.is_some() {
        return Err(Failure::Usage(anyhow!("prove runs jobs on this host; --root only shows another host's files")));
    }
    let session = Session::open(global, Verb::Prove, &args.named.places)?.waiting(args.wait);
    if let Some(path) = &args.resume {
        return conclude(global, &session.resume(path, args.rest.limits()?)?, &args.fail_on);
    }
    if args.live.live && args.rest.limits()? != RestLimits::default() {
        return Err(SessionError::NoRestOfLive.into());
    }
    let plan = if args.live.live {
        args.live_plan()?
    } else {
        args.live.are_not_given()?;
        args.plan()?
    };
    let same_on_purpose = args.aa.is_some();
    if let (Some(a), Some(b)) = (&args.a, &args.b)
        && a == b
    {
        let policy = output::quoted(a);
        return Err(Failure::Usage(anyhow!(
            "--a and --b are the same policy, {a}: there is nothing to compare. To see what this host's noise alone makes of a comparison, write \
             --aa {policy}"
        )));
    }
    if args.dry_run {
        let seed = if args.seed.is_some() { Seed::Given } else { Seed::Drawn };
        let notes = session.check(&plan, same_on_purpose)?.into_iter().chain(too_few_pairs(&plan));
        let notes: Vec<String> = notes.chain(session.unknown_numbers(&plan)).collect();
        return session.describe(global, &plan, seed, &notes);
    }
    // First of all: on a host that another run is changing nothing below would be true.
    let held = session.hold_for(&plan)?;
    let notes = session.check(&plan, same_on_purpose)?;
    // Its report says it by what was run.
    let told = notes.iter().cloned().chain(too_few_pairs(&plan)).chain(session.unknown_numbers(&plan));
    told.for_each(|note| output::note(&format!("note: {note}")));
    let repeat = |plan: &Plan| repeat_line(plan, if args.live.live { plan.design.warmup } else { args.warmup() });
    let budget = args.budget.filter(|_| !args.live.live);
    let budget = budget.map(|time| Budget { time, most_pairs: args.pairs });
    conclude(global, &session.start(held, plan, Start { notes, budget, repeat: &repeat })?, &args.fail_on)
}

/// The weakness of a plan of two policies that its number of pairs has, whatever the values will be.
fn too_few_pairs(plan: &Plan) -> Option<String> {
    lint::cannot_reach_alpha(plan, &cells(plan).ok()?).map(|lint| lint.text)
}

/// A size as it was written, which a plan keeps.
fn size(text: &str) -> Result<String, unit::UnitError> {
    text.parse::<Bytes>().map(|_| text.to_owned())
}

impl ProveArgs {
    /// The live proof of a setting that only a process of ours holds, against none; whatever else is asked for stays.
    pub(crate) fn of_held(mut self, off: &str, on: &str) -> ProveArgs {
        if self.resume.is_some() {
            return self;
        }
        self.live.live = true;
        if self.aa.is_none() {
            self.a.get_or_insert_with(|| off.to_owned());
            self.b.get_or_insert_with(|| on.to_owned());
        }
        self
    }

    /// The plan that the options describe: one factor, two levels.
    fn plan(&self) -> Result<Plan, Failure> {
        let (a, b) = self.policies()?;
        let workload = self.planned_workload()?;
        let metric = self.asked_metric();
        self.check_numbers()?;
        let known = own_measure::direction(&metric.name, measures_of(&workload));
        let metric = Metric { direction: self.direction.or(known).unwrap_or_default(), ..metric };
        let drop_caches = match self.drop_caches.as_str() {
            "yes" => DropCaches::Yes,
            "no" => DropCaches::No,
            _ => DropCaches::Auto,
        };
        let design = Design {
            blocks: self.pairs.unwrap_or(10),
            warmup: self.warmup(),
            timeout_seconds: self.timeout.0,
            drop_caches,
            warm_memory: self.warm_memory.clone(),
            ..self.design()
        };
        self.plan_of([&a, &b], workload, metric, design, None)
    }

    /// What every proof's design has.
    fn design(&self) -> Design {
        Design {
            seed: self.seed.unwrap_or_else(pagewise_host::trial::session::seed_from_clock),
            steal_limit: self.steal_limit.0,
            pressure_limit: self.rest.pressure_limit.map_or(PRESSURE_LIMIT, |limit| limit.0),
            memory_drift_limit: self.rest.memory_drift_limit.map_or(MEMORY_DRIFT_LIMIT, |limit| limit.0),
            ..Design::default()
        }
    }

    /// The plan of two policies, of runs or of blocks of time.
    fn plan_of(
        &self,
        [a, b]: [&Policy; 2],
        workload: PlannedWorkload,
        metric: Metric,
        design: Design,
        live: Option<Live>,
    ) -> Result<Plan, Failure> {
        let (level_a, level_b) = level_names(a, b, self.aa.is_some());
        let name = match &self.name {
            Some(name) => checked_name(name)?,
            None => {
                let begin = if live.is_some() { "live-" } else { "" };
                format!("{begin}{}-{}", workload_word(&workload), timestamp_word())
            }
        };
        let levels = IndexMap::from([(level_a.clone(), policy_words(a)), (level_b.clone(), policy_words(b))]);
        let plan = Plan {
            metrics: vec![metric],
            factors: vec![Factor { name: "policy".to_owned(), also: Vec::new(), levels }],
            design,
            contrasts: vec![Contrast {
                factor: "policy".to_owned(),
                a: level_a,
                b: level_b,
                primary: true,
                ..Contrast::default()
            }],
            recording: self.recording(live.is_some() || self.record),
            live,
            ..Plan::new(name, workload)
        };
        order::draw(&plan).map_err(|error| Failure::Usage(anyhow!(error)))?;
        Ok(plan)
    }

    /// The metric that was asked for, or the usual one; lower is better unless it was said.
    fn asked_metric(&self) -> Metric {
        let default = if self.live.live { live_metric::DEFAULT } else { "wall" };
        let (name, from) = Metric::named(self.metric.first().map_or(default, String::as_str));
        let smallest_effect = self.margin.unwrap_or(Fraction(0.02)).to_string();
        Metric { name, from, direction: self.direction.unwrap_or_default(), smallest_effect }
    }

    fn warmup(&self) -> u32 {
        self.warmup.unwrap_or(DEFAULT_WARMUP)
    }

    /// What is recorded beside the points, where numbers are recorded or something else asks for it.
    fn recording(&self, numbers: bool) -> Recording {
        let (stacks, stalls) = (self.stacks.unwrap_or(0), self.stalls);
        if !numbers && stacks == 0 && !stalls {
            return Recording::nothing();
        }
        Recording { stacks, stalls, ..Recording::default() }
    }

    /// What no trial could be run with, said before an order of that length is drawn.
    fn check_numbers(&self) -> Result<(), Failure> {
        let pairs = self.pairs.unwrap_or_default();
        if pairs > MOST_PLANNED || self.warmup() > MOST_PLANNED {
            return Err(Failure::Usage(anyhow!(
                "--pairs {pairs} --warmup {} is more than can be run; each may be {MOST_PLANNED} at most",
                self.warmup()
            )));
        }
        if self.timeout.0 <= 0.0 {
            return Err(Failure::Usage(anyhow!("--timeout {} leaves a run no time; write it like 10m", self.timeout)));
        }
        is_a_share("steal-limit", self.steal_limit)?;
        self.rest.limits()?;
        let margin = self.margin.unwrap_or(Fraction(0.02));
        if !(margin.0 > 0.0 && margin.0 < 1.0) {
            return Err(Failure::Usage(anyhow!("--margin must be more than 0% and less than 100%, not {margin}")));
        }
        if let [first, second, ..] = self.metric.as_slice() {
            return Err(Failure::Usage(anyhow!(
                "--metric {first} and --metric {second}: one measure decides, named before the first run, or chance would find its best \
                 among several. Give that one; the report has every other measure of the runs, too, each with its interval"
            )));
        }
        let metric = self.asked_metric();
        if let Some((_, why)) = metric.problem(self.live.live) {
            return Err(Failure::Usage(anyhow!("--metric {}: {why}", metric.as_asked())));
        }
        if self.metric.first().is_some_and(String::is_empty) {
            return Err(Failure::Usage(anyhow!("--metric '' names nothing to compare; write it like wall")));
        }
        Ok(())
    }

    fn policies(&self) -> Result<(Policy, Policy), Failure> {
        let load = |text: &str| tunable::load_policy(text).map_err(|error| Failure::Usage(anyhow!(error)));
        match (&self.aa, &self.a, &self.b) {
            (Some(both), _, _) => Ok((load(both)?, load(both)?)),
            (None, Some(a), Some(b)) => Ok((load(a)?, load(b)?)),
            _ => Err(Failure::Usage(anyhow!("give --a POLICY and --b POLICY, or --aa POLICY"))),
        }
    }

    fn planned_workload(&self) -> Result<PlannedWorkload, Failure> {
        let split = |option: &str, text: &Option<String>| -> Result<Vec<String>, Failure> {
            let Some(text) = text else { return Ok(Vec::new()) };
            shlex::split(text).filter(|words| !words.is_empty()).ok_or_else(|| {
                Failure::Usage(anyhow!("--{option} '{text}' is no command: it is empty, or a quote is not closed"))
            })
        };
        if let Some(text) = &self.workload {
            return parse_workload(text);
        }
        if self.command.is_empty() {
            return Err(Failure::Usage(anyhow!("there is no job: give a command after --, or --workload terasort")));
        }
        Ok(PlannedWorkload {
            prepare: split("prepare", &self.prepare)?,
            verify: split("verify", &self.verify)?,
            clean: split("clean", &self.clean)?,
            ..PlannedWorkload::command(self.command.clone())
        })
    }
}

/// `NAME[:ARG=VALUE,…]`, where `\,` is a comma of a value, as in policies. A value that reads as a number or a truth is one.
fn parse_workload(text: &str) -> Result<PlannedWorkload, Failure> {
    let (name, rest) = name_and_arguments(text);
    let mut args = BTreeMap::new();
    for part in parts(rest).iter().filter(|part| !part.is_empty()) {
        let (key, value) = part.split_once('=').ok_or_else(|| {
            Failure::Usage(anyhow!("--workload {text}: '{part}' is not ARG=VALUE; write it like {name}:rows=1000000"))
        })?;
        let number = value.replace('_', "").parse::<u64>().ok().map(serde_json::Value::from);
        let value = number.unwrap_or_else(|| serde_json::Value::from(value));
        if args.insert(key.to_owned(), value).is_some() {
            return Err(Failure::Usage(anyhow!("--workload {text}: '{key}' is given twice")));
        }
    }
    Ok(PlannedWorkload::built_in(name, args))
}

/// A name may have a colon itself, such as `spark:micro`: the longest one that there is counts.
fn name_and_arguments(text: &str) -> (&str, &str) {
    let behind = |name: &str| text.strip_prefix(name).filter(|rest| rest.is_empty() || rest.starts_with(':'));
    let known = BUILT_IN.iter().filter_map(|workload| Some((workload.name, behind(workload.name)?)));
    match known.max_by_key(|(name, _)| name.len()) {
        Some((name, rest)) => (name, rest.strip_prefix(':').unwrap_or_default()),
        None => text.split_once(':').unwrap_or((text, "")),
    }
}

/// What commas part that have no backslash before them.
fn parts(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut rest = text.chars().peekable();
    while let Some(character) = rest.next() {
        match character {
            '\\' if matches!(rest.peek(), Some(',' | '\\')) => {
                parts.last_mut().into_iter().for_each(|part| part.extend(rest.next()))
            }
            ',' => parts.push(String::new()),
            other => parts.last_mut().into_iter().for_each(|part| part.push(other)),
        }
    }
    parts
}

/// A value as [`parts`] reads it back.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace(',', "\\,")
}

/// The names the levels have in tables: the policy's own name, else its text, told apart when they are the same.
fn level_names(a: &Policy, b: &Policy, same_on_purpose: bool) -> (String, String) {
    let name = |policy: &Policy| policy.name.clone().unwrap_or_else(|| policy.to_string());
    let (a, b) = (name(a), name(b));
    if same_on_purpose || a == b { (format!("{a} (A)"), format!("{b} (B)")) } else { (a, b) }
}

/// The policy's text without its name: the name is the level's.
fn policy_words(policy: &Policy) -> String {
    Policy { name: None, settings: policy.settings.clone() }.to_string()
}

fn workload_word(workload: &PlannedWorkload) -> String {
    let word = match workload.run.first() {
        Some(program) => Path::new(program).file_name().map(|name| name.to_string_lossy().into_owned()),
        None => Some(workload.name.clone()),
    };
    let word: String = word.unwrap_or_default().chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').collect();
    if word.is_empty() { "job".to_owned() } else { word }
}

fn checked_name(name: &str) -> Result<String, Failure> {
    let fine = can_name_a_trial(name);
    // Escaped, because what is refused may be what would steer the terminal.
    let shown = name.escape_debug();
    if fine { Ok(name.to_owned()) } else { Err(Failure::Usage(anyhow!("--name '{shown}' cannot name a folder here"))) }
}

fn timestamp_word() -> String {
    jiff::Timestamp::now().strftime("%Y%m%d-%H%M%S").to_string()
}

/// The command line that repeats a plan on another host, seed included. What could turn the verdict over is always
/// written; what stands at its default is not. `warmup` is what was asked for: a budget runs it before the plan is made.
fn repeat_line(plan: &Plan, warmup: u32) -> String {
    let contrast = &plan.contrasts[0];
    let text = |level: &str| plan.factors[0].levels.get(level).map(String::as_str).unwrap_or("now");
    let live = plan.live.as_ref();
    let mut words = vec!["pagewise".to_owned(), "prove".to_owned()];
    words.extend(live.map(|_| "--live".to_owned()));
    words.extend(recording_words(plan));
    let mut option = |name: &str, value: String| words.extend([format!("--{name}"), value]);
    if text(&contrast.a) == text(&contrast.b) {
        option("aa", text(&contrast.a).to_owned());
    } else {
        option("a", named_policy(&contrast.a, text(&contrast.a)));
        option("b", named_policy(&contrast.b, text(&contrast.b)));
    }
    for (name, seconds) in live.map_or_else(Vec::new, live::times) {
        option(name, format!("{seconds}s"));
    }
    option("pairs", plan.design.blocks.to_string());
    option("seed", plan.design.seed.to_string());
    option("margin", plan.metric().smallest_effect.clone());
    option("metric", plan.metric().as_asked());
    let known = own_measure::direction(&plan.metric().name, measures_of(&plan.workload)).unwrap_or_default();
    if live.is_some() || known != plan.metric().direction {
        option("direction", direction_word(plan.metric().direction).to_owned());
    }
    if warmup != if live.is_some() { 0 } else { DEFAULT_WARMUP } {
        option("warmup", warmup.to_string());
    }
    if live.is_none() && plan.design.timeout_seconds != DEFAULT_TIMEOUT_SECONDS {
        option("timeout", format!("{}s", plan.design.timeout_seconds));
    }
    let limits = [
        ("steal-limit", plan.design.steal_limit, STEAL_LIMIT),
        ("pressure-limit", plan.design.pressure_limit, PRESSURE_LIMIT),
        ("memory-drift-limit", plan.design.memory_drift_limit, MEMORY_DRIFT_LIMIT),
    ];
    for (name, limit, usual) in limits {
        if limit != usual {
            option(name, Fraction(limit).to_string());
        }
    }
    for (name, value) in live.map_or_else(Vec::new, live::options) {
        option(name, value);
    }
    match plan.design.drop_caches {
        DropCaches::Auto => {}
        DropCaches::Yes => option("drop-caches", "yes".to_owned()),
        // A live proof never drops it.
        DropCaches::No if live.is_some() => {}
        DropCaches::No => option("drop-caches", "no".to_owned()),
    }
    if let Some(most) = &plan.design.warm_memory {
        option("warm-memory", most.clone());
    }
    words.extend(live.filter(|live| live.short_lived).map(|_| "--short-lived".to_owned()));
    if plan.workload.name == WHATEVER_RUNS {
        return quoted(&words);
    }
    if plan.workload.name == "command" {
        for (name, argv) in
            [("prepare", &plan.workload.prepare), ("verify", &plan.workload.verify), ("clean", &plan.workload.clean)]
        {
            if !argv.is_empty() {
                words.extend([format!("--{name}"), quoted(argv)]);
            }
        }
        words.push("--".to_owned());
        words.extend(plan.workload.run.clone());
    } else {
        let args: Vec<String> =
            plan.workload.args.iter().map(|(key, value)| format!("{key}={}", escaped(&value_word(value)))).collect();
        let colon = if args.is_empty() { "" } else { ":" };
        words.extend(["--workload".to_owned(), format!("{}{colon}{}", plan.workload.name, args.join(","))]);
    }
    quoted(&words)
}

/// Stacks and stalls weigh on the runs, so they are repeated, too.
fn recording_words(plan: &Plan) -> Vec<String> {
    let mut words = Vec::new();
    if plan.recording.stacks > 0 {
        words.extend(["--stacks".to_owned(), plan.recording.stacks.to_string()]);
    }
    if plan.recording.stalls {
        words.push("--stalls".to_owned());
    }
    words
}

/// The policy with the level's name before it, when that is more than the policy's own text.
fn named_policy(level: &str, text: &str) -> String {
    match text.parse::<Policy>() {
        Ok(policy) if level != text => Policy { name: Some(level.to_owned()), settings: policy.settings }.to_string(),
        _ => text.to_owned(),
    }
}

fn direction_word(direction: Direction) -> &'static str {
    match direction {
        Direction::Lower => "lower",
        Direction::Higher => "higher",
    }
}

fn quoted(words: &[String]) -> String {
    output::command_line(words.iter().map(String::as_str))
}

fn value_word(value: &serde_json::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Analyses, writes the reports, says the verdict.
fn conclude(global: &Global, bundle: &Bundle, fail_on: &[String]) -> Result<ExitCode, Failure> {
    let report = rendering::found(bundle)?;
    let html = rendering::write_all(bundle, &report)?;
    let ([one], true) = (report.analysis.comparisons.as_slice(), report.plan.is_two_arms()) else {
        let go_on = resume_line(bundle);
        return Err(Failure::Usage(anyhow!("{} holds a matrix; go on with:\n  {go_on}", bundle.path().display())));
    };
    if global.json {
        output::json(&report.analysis);
    } else {
        output::data(&report::text(&report, output::style(&global.color)));
        let html = std::path::absolute(&html).unwrap_or(html);
        let word = conclusion_word(one.conclusion).to_uppercase();
        output::note(&format!("\n{word}; the whole report: {}", html.display()));
        if let Some(floor) = noise_floor(&report.plan, one) {
            output::note(&floor);
        }
    }
    let word = conclusion_word(one.conclusion);
    if fail_on.iter().any(|verdict| verdict == word) {
        return Ok(ExitCode::from(1));
    }
    if let Some(ended) = &report.analysis.ended_early {
        return Err(Failure::Partial(anyhow!("the proof ended before its plan did: {}", ended.reason)));
    }
    if rendering::is_empty(&report) {
        return Err(Failure::NotPossible(anyhow!(
            "no pair of runs is complete, so there is nothing to compare; the outcomes above say why"
        )));
    }
    Ok(ExitCode::SUCCESS)
}

/// For a trial of one policy against itself: what this host can tell apart.
fn noise_floor(plan: &Plan, one: &Comparison) -> Option<String> {
    let levels = &plan.factor(&one.factor)?.levels;
    if levels.get(&one.a) != levels.get(&one.b) {
        return None;
    }
    let interval = one.effect.as_ref()?.interval;
    let half_width = (interval.high / interval.low).sqrt() - 1.0;
    Some(format!(
        "noise floor: with {} pairs of this job this host cannot tell differences below {:.1} % from none",
        one.blocks,
        half_width * 100.0
    ))
}

fn conclusion_word(conclusion: Conclusion) -> &'static str {
    match conclusion {
        Conclusion::Equivalent => "equivalent",
        Conclusion::Better => "better",
        Conclusion::Worse => "worse",
        Conclusion::Inconclusive => "inconclusive",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pagewise_core::stats::randomisation;

    #[test]
    fn the_help_names_the_fewest_pairs_there_are() {
        let enough = randomisation::fewest_pairs(0.05);
        assert!(EXAMPLES.contains(&format!("takes {} and more", order::FEWEST_PAIRS)), "{EXAMPLES}");
        assert!(EXAMPLES.contains(&format!("Below {enough} the")), "{enough}");
    }

    #[test]
    fn a_workload_whose_name_has_a_colon_is_told_from_its_arguments() {
        let micro = parse_workload(r"spark:micro:objects=30_000,master=local-cluster[2\,1\,1024]").unwrap();
        assert_eq!((micro.name.as_str(), micro.args["objects"].clone()), ("spark:micro", 30_000.into()));
        assert_eq!(micro.args["master"], "local-cluster[2,1,1024]");
        assert_eq!(parse_workload("spark:micro").unwrap().args.len(), 0);
        assert_eq!(parse_workload("terasort:rows=5").unwrap().name, "terasort");
    }

    #[test]
    fn what_is_escaped_is_read_back() {
        for value in ["plain", "a,b", r"a\b", r"a\,b", r"\"] {
            assert_eq!(parts(&format!("x={},y=1", escaped(value))), [format!("x={value}"), "y=1".to_owned()]);
        }
    }
}

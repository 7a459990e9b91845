//! `prove`: a fair comparison of two policies on one job, with a verdict.

use crate::cli::Global;
use crate::failure::Failure;
use crate::output;
use crate::progress::{StepProgress, TrialProgress, Watching};
use crate::rendering;
use crate::settings::Settings;
use anyhow::{Context, anyhow};
use clap::Args;
use pagewise_core::experiment::analysis::Conclusion;
use pagewise_core::experiment::order;
use pagewise_core::experiment::plan::{
    self, Contrast, Design, DropCaches, Factor, Metric, Plan, Workload as PlannedWorkload,
};
use pagewise_core::experiment::point::PlannedPoint;
use pagewise_core::metric::{self, Direction};
use pagewise_core::report;
use pagewise_core::tunable::policy::Policy;
use pagewise_core::unit::{Fraction, Seconds};
use pagewise_host::facts::kernel::host_facts;
use pagewise_host::process::Interrupt;
use pagewise_host::root::Root;
use pagewise_host::store::bundle::{Bundle, Frozen};
use pagewise_host::trial::engine::{self, PointRunner, TrialError};
use pagewise_host::trial::gate::Gate;
use pagewise_host::trial::locality::runs_elsewhere;
use pagewise_host::trial::runner::{HostRunner, OutputMetric};
use pagewise_host::trial::{scope, touch};
use pagewise_host::tunable::journal::Journal;
use pagewise_host::tunable::watcher::Watcher;
use pagewise_host::tunable::{self, Places, Resolved};
use pagewise_host::workload::{self, Surroundings, Workload};
use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

/// Compare two memory policies on a job: fair order, confidence interval, verdict, host left as found
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ProveArgs {
    /// The base policy: [NAME:]TUNABLE=VALUE[,…], @FILE.toml, or 'now'
    #[arg(long, value_name = "POLICY", required_unless_present_any = ["aa", "resume"])]
    a: Option<String>,
    /// The policy that is judged against it
    #[arg(long, value_name = "POLICY", required_unless_present_any = ["aa", "resume"])]
    b: Option<String>,
    /// Both arms run under this one policy: shows this host's noise floor
    #[arg(long, value_name = "POLICY", conflicts_with_all = ["a", "b"])]
    aa: Option<String>,
    /// Pairs of runs, one of each policy [default: 10]
    #[arg(long, value_name = "N", conflicts_with = "budget")]
    pairs: Option<u32>,
    /// As many pairs as fit into this time, judged by the warm-up runs
    #[arg(long, value_name = "TIME")]
    budget: Option<Seconds>,
    /// Differences smaller than this do not matter [default: 2%]
    #[arg(long, value_name = "PERCENT")]
    margin: Option<Fraction>,
    /// Unanalysed runs of each policy first
    #[arg(long, value_name = "N", default_value_t = 1)]
    warmup: u32,
    /// What is compared: wall, user, system, anon_peak, …, a name from $PAGEWISE_METRICS, or regex:PATTERN
    #[arg(long, value_name = "NAME|regex:…", default_value = "wall")]
    metric: String,
    /// Which way is better [default: lower]
    #[arg(long, value_name = "lower|higher")]
    direction: Option<Direction>,
    /// A run longer than this is stopped and counts as a result
    #[arg(long, value_name = "TIME", default_value = "10m")]
    timeout: Seconds,
    /// Drop the page cache before each run (auto: only for built-in workloads)
    #[arg(long, value_name = "WHEN", default_value = "auto", value_parser = ["auto", "yes", "no"])]
    drop_caches: String,
    /// A built-in workload instead of a command
    #[arg(long, value_name = "NAME[:ARG=VALUE,…]", conflicts_with_all = ["command", "prepare", "verify", "clean"])]
    workload: Option<String>,
    /// Runs before each run of the command, untimed
    #[arg(long, value_name = "COMMAND")]
    prepare: Option<String>,
    /// Runs after each run, untimed; when it fails the run's result is 'wrong'
    #[arg(long, value_name = "COMMAND")]
    verify: Option<String>,
    /// Runs last after each run, untimed
    #[arg(long, value_name = "COMMAND")]
    clean: Option<String>,
    /// Seed of the run order [default: drawn from the clock, and recorded]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Name of the trial; its bundle is NAME.trial in this folder
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Continue a bundle that was interrupted
    #[arg(long, value_name = "BUNDLE", conflicts_with_all = ["a", "b", "aa", "workload", "pairs", "budget", "command"])]
    resume: Option<PathBuf>,
    /// Exit 1 on these verdicts
    #[arg(long, value_name = "VERDICT,…", value_delimiter = ',', value_parser = ["better", "worse", "equivalent", "inconclusive"])]
    fail_on: Vec<String>,
    /// Say what would be run and changed, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Your own Hadoop instead of the fetched one
    #[arg(long, value_name = "DIR")]
    hadoop: Option<PathBuf>,
    /// The job: program and arguments, never passed to a shell
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// More pairs than this add nothing that anybody would wait for.
const MOST_PAIRS: u32 = 200;

const EXAMPLES: &str = "Examples:
  pagewise prove --a thp.enabled=never --b thp.enabled=always -- ./job
  pagewise prove --a now --b vm.swappiness=1 --budget 20m -- spark-submit job.py
  pagewise prove --a thp.enabled=never --b thp.enabled=always \\
      --workload terasort:rows=1000000
  pagewise prove --aa now --pairs 10 -- ./job        (the host's noise floor)";

/// Runs the verb.
pub(crate) fn run(args: &ProveArgs, global: &Global) -> Result<ExitCode, Failure> {
    if global.root.is_some() {
        return Err(Failure::Usage(anyhow!("prove runs jobs on this host; --root only shows another host's files")));
    }
    let session = Session::open(global, args.hadoop.clone())?;
    if let Some(path) = &args.resume {
        return conclude(global, &session.resume(path)?, &args.fail_on);
    }
    let (plan, notes) = args.plan(&session)?;
    notes.iter().for_each(|note| output::note(&format!("note: {note}")));
    if args.dry_run {
        return session.describe(global, &plan, &notes);
    }
    conclude(global, &session.start(plan, notes, args.budget)?, &args.fail_on)
}

impl ProveArgs {
    /// The plan that the options describe: one factor, two levels.
    fn plan(&self, session: &Session) -> Result<(Plan, Vec<String>), Failure> {
        let (a, b) = self.policies()?;
        let workload = self.planned_workload()?;
        if let Some(pattern) = self.metric.strip_prefix("regex:") {
            regex_lite::Regex::new(pattern).map_err(|error| {
                Failure::Usage(anyhow!("--metric regex:{pattern} is no regular expression: {error}"))
            })?;
        }
        let margin = self.margin.unwrap_or(Fraction(0.02));
        if !(margin.0 > 0.0 && margin.0 < 1.0) {
            return Err(Failure::Usage(anyhow!("--margin must lie between 0% and 100%, not {margin}")));
        }
        let direction = self.direction.or_else(|| metric::find(&self.metric).map(|m| m.direction)).unwrap_or_default();
        let drop_caches = match self.drop_caches.as_str() {
            "yes" => DropCaches::Yes,
            "no" => DropCaches::No,
            _ => DropCaches::Auto,
        };
        let (level_a, level_b) = level_names(&a, &b, self.aa.is_some());
        let name = match &self.name {
            Some(name) => checked_name(name)?,
            None => format!("{}-{}", workload_word(&workload), timestamp_word()),
        };
        let plan = Plan {
            name,
            workload,
            metric: Metric { name: self.metric.clone(), direction, smallest_effect: margin.to_string() },
            factors: vec![Factor {
                name: "policy".to_owned(),
                also: Vec::new(),
                levels: BTreeMap::from([(level_a.clone(), policy_words(&a)), (level_b.clone(), policy_words(&b))]),
            }],
            design: Design {
                blocks: self.pairs.unwrap_or(10),
                seed: self.seed.unwrap_or_else(seed_from_clock),
                warmup: self.warmup,
                timeout_seconds: self.timeout.0,
                drop_caches,
                alpha: 0.05,
            },
            contrasts: vec![Contrast { factor: "policy".to_owned(), a: level_a, b: level_b, primary: true }],
        };
        order::draw(&plan).map_err(|error| Failure::Usage(anyhow!(error)))?;
        let notes = session.check(&plan, self.aa.is_some())?;
        Ok((plan, notes))
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
            name: "command".to_owned(),
            run: self.command.clone(),
            prepare: split("prepare", &self.prepare)?,
            verify: split("verify", &self.verify)?,
            clean: split("clean", &self.clean)?,
            args: BTreeMap::new(),
        })
    }
}

/// `NAME[:ARG=VALUE,…]`. A value that reads as a number or a truth is one.
fn parse_workload(text: &str) -> Result<PlannedWorkload, Failure> {
    let (name, rest) = text.split_once(':').unwrap_or((text, ""));
    let mut args = BTreeMap::new();
    for part in rest.split(',').filter(|part| !part.is_empty()) {
        let (key, value) = part.split_once('=').ok_or_else(|| {
            Failure::Usage(anyhow!("--workload {text}: '{part}' is not ARG=VALUE; write it like {name}:rows=1000000"))
        })?;
        let number = value.replace('_', "").parse::<u64>().ok().map(serde_json::Value::from);
        let value = number.unwrap_or_else(|| serde_json::Value::from(value));
        if args.insert(key.to_owned(), value).is_some() {
            return Err(Failure::Usage(anyhow!("--workload {text}: '{key}' is given twice")));
        }
    }
    let none = Vec::new;
    Ok(PlannedWorkload { name: name.to_owned(), run: none(), prepare: none(), verify: none(), clean: none(), args })
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
    let fine = !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\0']);
    if fine { Ok(name.to_owned()) } else { Err(Failure::Usage(anyhow!("--name '{name}' cannot name a folder here"))) }
}

fn timestamp_word() -> String {
    jiff::Timestamp::now().strftime("%Y%m%d-%H%M%S").to_string()
}

fn seed_from_clock() -> u64 {
    // Any number will do as long as nobody chose it: it is recorded with the order.
    jiff::Timestamp::now().as_nanosecond() as u64 % 1_000_000_007
}

/// What every trial of this process shares.
struct Session {
    root: Root,
    places: Places,
    hadoop: Option<PathBuf>,
    interrupt: Interrupt,
}

impl Session {
    fn open(global: &Global, hadoop: Option<PathBuf>) -> Result<Session, Failure> {
        let settings = Settings::resolve(global)?;
        let interrupt = Interrupt::on_signals()
            .map_err(|error| Failure::NotPossible(anyhow!("cannot take over Ctrl-C: {error}")))?;
        let places = Places { state: settings.state_dir, cache: settings.cache_dir };
        Ok(Session { root: Root::live(), places, hadoop: hadoop.or(settings.hadoop), interrupt })
    }

    /// Everything that can be known to be wrong before anything runs; what is odd but allowed comes back as notes.
    fn check(&self, plan: &Plan, same_on_purpose: bool) -> Result<Vec<String>, Failure> {
        let mut notes = Vec::new();
        let mut touches_host = Vec::new();
        for (level, text) in &plan.factors[0].levels {
            let resolved = self.resolve(text)?;
            if !resolved.host.is_empty() {
                touches_host.push(level.clone());
            }
            if self.changes_nothing(&resolved) && text != "now" && !same_on_purpose {
                notes.push(format!("'{level}' is what this host has already, so it changes nothing here"));
            }
        }
        let job = self.workload(plan)?;
        for text in plan.factors[0].levels.values() {
            job.check_job(&self.resolve(text)?.job)?;
        }
        let read = |path: &Path| fs::read_to_string(path).ok();
        let env: BTreeMap<String, String> = env::vars().collect();
        let elsewhere = job.runs_elsewhere().or_else(|| runs_elsewhere(&plan.workload.run, &env, &read));
        if let (Some(reason), Some(level)) = (elsewhere, touches_host.first()) {
            return Err(Failure::NotPossible(anyhow!(
                "'{level}' changes this host, but {reason}. A comparison here would prove nothing. Run Pagewise on \
                 the hosts that do the work, or use job-scope policies (jvm.*, env.*)"
            )));
        }
        Ok(notes)
    }

    fn resolve(&self, policy: &str) -> Result<Resolved, Failure> {
        let policy = tunable::load_policy(policy).map_err(|error| Failure::Usage(anyhow!(error)))?;
        tunable::resolve(&self.root, &self.places, &policy).map_err(Failure::from)
    }

    fn changes_nothing(&self, resolved: &Resolved) -> bool {
        let job = &resolved.job;
        let nothing_for_the_job = job == &workload::JobSettings::default();
        let same_now = |setting: &tunable::HostSetting| {
            tunable::read(&self.root, &setting.tunable)
                .is_ok_and(|now| tunable::same(&setting.tunable, &now, &setting.value))
        };
        nothing_for_the_job && resolved.host.iter().all(same_now)
    }

    fn workload(&self, plan: &Plan) -> Result<Box<dyn Workload>, Failure> {
        let mut around = Surroundings::new(&self.places.cache, self.interrupt.clone());
        around.hadoop.clone_from(&self.hadoop);
        workload::from_plan(&plan.workload, around).map_err(Failure::from)
    }

    /// What would be run and changed, in words.
    fn describe(&self, global: &Global, plan: &Plan, notes: &[String]) -> Result<ExitCode, Failure> {
        let order = order::draw(plan).map_err(|error| Failure::Usage(anyhow!(error)))?;
        if global.json {
            output::json(&serde_json::json!({"schema": plan::SCHEMA, "plan": plan, "order": order, "notes": notes}));
            return Ok(ExitCode::SUCCESS);
        }
        let mut lines = vec![format!("{}: {}", plan.name, self.workload(plan)?.describe())];
        for (level, text) in &plan.factors[0].levels {
            lines.push(format!("\nunder '{level}'"));
            let resolved = self.resolve(text)?;
            for setting in &resolved.host {
                let now = tunable::read(&self.root, &setting.tunable).map_err(Failure::from)?;
                lines.push(format!("  {}: {now} → {}", setting.tunable, setting.value));
                let held = setting.coupled.join(", ");
                if !held.is_empty() {
                    lines.push(format!("    held fixed beside it: {held}"));
                }
            }
            if resolved.host.is_empty() {
                lines.push("  this host's settings stay as they are".to_owned());
            }
        }
        let words: Vec<&str> = order.points.iter().map(|point| point.level.as_str()).collect();
        lines.push(format!("\norder, seed {}:\n  {}", plan.design.seed, words.join(" · ")));
        lines.extend(notes.iter().map(|note| format!("note: {note}")));
        output::data(&lines.join("\n"));
        Ok(ExitCode::SUCCESS)
    }

    /// Runs a new trial to its end, or until something stops it.
    fn start(&self, mut plan: Plan, mut notes: Vec<String>, budget: Option<Seconds>) -> Result<Bundle, Failure> {
        let path = PathBuf::from(format!("{}.trial", plan.name));
        if path.exists() {
            return Err(pagewise_host::store::bundle::BundleError::Exists(path).into());
        }
        self.run(&mut plan.clone(), |host| {
            if let Some(budget) = budget {
                notes.push(size_by_budget(host, &mut plan, budget)?);
            }
            notes.extend(host.workload.notes());
            let frozen = Frozen {
                pagewise: env!("CARGO_PKG_VERSION").to_owned(),
                created: jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
                order: order::draw(&plan).map_err(|error| Failure::Usage(anyhow!(error)))?,
                facts: host_facts(&self.root, Some(&self.places.cache)),
                repeat: vec![repeat_line(&plan)],
                notes: notes.clone(),
            };
            Ok(Bundle::create(&path, &plan, frozen)?)
        })
    }

    /// Runs what is left of an interrupted trial.
    fn resume(&self, path: &Path) -> Result<Bundle, Failure> {
        let bundle = Bundle::open_to_resume(path)?;
        let here = host_facts(&self.root, Some(&self.places.cache));
        let there = &bundle.frozen().facts;
        if (&here.kernel, &here.cpu_model, here.memory_bytes) != (&there.kernel, &there.cpu_model, there.memory_bytes) {
            return Err(Failure::NotPossible(anyhow!(
                "{} was begun on another host or kernel ({} there, {} here), and a comparison of two arms must not mix \
                 hosts; start a new trial here",
                path.display(),
                there.kernel.as_deref().unwrap_or("unknown"),
                here.kernel.as_deref().unwrap_or("unknown"),
            )));
        }
        engine::close_pause(&bundle)?;
        let plan = bundle.plan().clone();
        let notes = self.check(&plan, true)?;
        notes.iter().for_each(|note| output::note(&format!("note: {note}")));
        self.run(&mut plan.clone(), |_| Ok(bundle))
    }

    /// Takes the host, prepares the workload, lets `bundle` be made, runs it, and puts everything back.
    fn run(
        &self,
        plan: &mut Plan,
        bundle: impl FnOnce(&mut HostRunner<'_>) -> Result<Bundle, Failure>,
    ) -> Result<Bundle, Failure> {
        let mut workload = self.workload(plan)?;
        let journal = Journal::open(&self.places.state, &self.root)?;
        let lock = journal.lock("prove")?;
        for report in journal.recover(&lock)? {
            output::note(&format!("first undone what an earlier run left: change {} ('{}')", report.id, report.policy));
        }
        scope::remove_leftovers(&self.root);
        let mut watcher = Watcher::start(&self.places.state, &self.root)?;
        {
            let progress = StepProgress::new();
            workload.prepare_trial(&progress)?;
            touch::once(&self.root, &self.interrupt, &progress)?;
        }
        let scratch = Scratch::create(&self.places.cache)?;
        let progress = TrialProgress::new(0);
        let mut policies = BTreeMap::new();
        for (level, text) in &plan.factors[0].levels {
            let policy = tunable::load_policy(text).map_err(|error| Failure::Usage(anyhow!(error)))?;
            policies.insert(level.clone(), policy);
        }
        let mut runner = HostRunner {
            root: &self.root,
            workload: workload.as_mut(),
            policies,
            places: &self.places,
            journal: &journal,
            lock: &lock,
            watcher: &mut watcher,
            interrupt: &self.interrupt,
            timeout: plan.design.timeout_seconds,
            drop_caches: plan.design.drop_caches,
            output_metric: output_metric(plan)?,
            scratch: scratch.0.clone(),
            tick: Box::new(|| progress.tick()),
            gate: Gate::default(),
        };
        let mut bundle = bundle(&mut runner)?;
        let outcome = engine::run(&mut bundle, &mut runner, &mut Watching(&progress));
        drop(runner);
        progress.finish();
        watcher.finish();
        match outcome {
            Ok(()) => Ok(bundle),
            Err(error) => {
                let kept = bundle.path().display().to_string();
                let failure = Failure::from(error);
                output::note(&format!("what is complete is kept; go on with: pagewise prove --resume {kept}"));
                Err(failure)
            }
        }
    }
}

/// Runs the warm-up first to learn what a pair costs, then fixes the number of pairs. Nothing that is analysed has been
/// seen when the size is chosen. Gives the note that says so.
fn size_by_budget(host: &mut HostRunner<'_>, plan: &mut Plan, budget: Seconds) -> Result<String, Failure> {
    let contrast = plan.contrasts[0].clone();
    let started = Instant::now();
    let mut rounds = 0;
    while rounds < plan.design.warmup.max(1) {
        for (position, level) in [&contrast.a, &contrast.b].into_iter().enumerate() {
            output::note(&format!("warm-up to size the trial: {level} …"));
            let planned = PlannedPoint { index: 0, block: None, position: position as u32, level: level.clone() };
            let point = host.run_point(&planned, 1)?.point;
            if point.outcome.is_bad() {
                let reason = point.reason.unwrap_or_default();
                return Err(
                    TrialError::WarmupFailed { level: level.clone(), outcome: point.outcome.word(), reason }.into()
                );
            }
        }
        rounds += 1;
    }
    let pair = started.elapsed().as_secs_f64() / f64::from(rounds);
    let pairs = ((budget.0 / pair) as u32).min(MOST_PAIRS);
    if pairs < order::FEWEST_PAIRS {
        return Err(Failure::NotPossible(anyhow!(
            "a pair takes {}, so {budget} is room for {pairs}; a verdict needs at least {} pairs: give --budget {} or more",
            Seconds(pair),
            order::FEWEST_PAIRS,
            Seconds((pair * f64::from(order::FEWEST_PAIRS)).ceil()),
        )));
    }
    plan.design.blocks = pairs;
    plan.design.warmup = 0;
    Ok(format!("{pairs} pairs fit into the budget of {budget}, at {} a pair in the warm-up", Seconds(pair)))
}

/// A folder for the runs' scratch files, gone with the trial.
struct Scratch(PathBuf);

impl Scratch {
    fn create(cache: &Path) -> Result<Scratch, Failure> {
        let folder = cache.join("runs").join(std::process::id().to_string());
        fs::create_dir_all(&folder)
            .with_context(|| format!("cannot make the scratch folder {}", folder.display()))
            .map_err(Failure::NotPossible)?;
        Ok(Scratch(folder))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn output_metric(plan: &Plan) -> Result<Option<OutputMetric>, Failure> {
    let Some(pattern) = plan.metric.name.strip_prefix("regex:") else { return Ok(None) };
    let pattern = regex_lite::Regex::new(pattern).map_err(|error| Failure::Usage(anyhow!(error)))?;
    Ok(Some(OutputMetric { name: plan.metric.name.clone(), pattern }))
}

/// The command line that repeats a plan on another host, seed included.
fn repeat_line(plan: &Plan) -> String {
    let contrast = &plan.contrasts[0];
    let policy = |level: &str| plan.factors[0].levels.get(level).map(String::as_str).unwrap_or("now").to_owned();
    let mut words = vec!["pagewise".to_owned(), "prove".to_owned()];
    let mut option = |name: &str, value: String| words.extend([format!("--{name}"), value]);
    option("a", policy(&contrast.a));
    option("b", policy(&contrast.b));
    option("pairs", plan.design.blocks.to_string());
    option("seed", plan.design.seed.to_string());
    option("margin", plan.metric.smallest_effect.clone());
    option("metric", plan.metric.name.clone());
    if plan.workload.name == "command" {
        for (name, argv) in
            [("prepare", &plan.workload.prepare), ("verify", &plan.workload.verify), ("clean", &plan.workload.clean)]
        {
            if !argv.is_empty() {
                option(name, quoted(argv));
            }
        }
        words.push("--".to_owned());
        words.extend(plan.workload.run.clone());
    } else {
        let args: Vec<String> =
            plan.workload.args.iter().map(|(key, value)| format!("{key}={}", value_word(value))).collect();
        let colon = if args.is_empty() { "" } else { ":" };
        option("workload", format!("{}{colon}{}", plan.workload.name, args.join(",")));
    }
    quoted(&words)
}

fn quoted(words: &[String]) -> String {
    shlex::try_join(words.iter().map(String::as_str)).unwrap_or_else(|_| words.join(" "))
}

fn value_word(value: &serde_json::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Analyses, writes the reports, says the verdict.
fn conclude(global: &Global, bundle: &Bundle, fail_on: &[String]) -> Result<ExitCode, Failure> {
    let report = rendering::report_of(bundle)?;
    let html = rendering::write_all(bundle, &report)?;
    if global.json {
        output::json(&report.analysis);
    } else {
        output::data(&report::text(&report, output::style(&global.color)));
        output::note(&format!("\nreport: {}", html.display()));
    }
    if report.analysis.pairs_complete == 0 {
        return Err(Failure::NotPossible(anyhow!(
            "no pair of runs is complete, so there is nothing to compare; the outcomes above say why"
        )));
    }
    let word = conclusion_word(report.analysis.verdict.conclusion);
    Ok(if fail_on.iter().any(|verdict| verdict == word) { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

fn conclusion_word(conclusion: Conclusion) -> &'static str {
    match conclusion {
        Conclusion::Equivalent => "equivalent",
        Conclusion::Better => "better",
        Conclusion::Worse => "worse",
        Conclusion::Inconclusive => "inconclusive",
    }
}

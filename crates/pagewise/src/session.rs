//! A trial from its plan to a complete bundle: what is checked before anything runs, who holds the host meanwhile, and
//! what is said when it stops early.

pub(crate) mod dry_run;
pub(crate) mod live;

use crate::cli::Global;
use crate::failure::Failure;
use crate::output;
use crate::progress::{StepProgress, TrialProgress, Watching};
use crate::settings::Settings;
use anyhow::{Context, anyhow};
use pagewise_core::experiment::data::Restore;
use pagewise_core::experiment::order;
use pagewise_core::experiment::plan::cells::{Cell, cells};
use pagewise_core::experiment::plan::forecast::recorded;
use pagewise_core::experiment::plan::lint::Lint;
use pagewise_core::experiment::plan::Plan;
use pagewise_core::experiment::point::{Outcome, PlannedPoint};
use pagewise_core::unit::{Bytes, Seconds};
use pagewise_host::facts::kernel::host_facts;
use pagewise_host::process::Interrupt;
use pagewise_host::restore::{Dataset, noted};
use pagewise_host::root::Root;
use pagewise_host::source::meminfo;
use pagewise_host::store::bundle::{Bundle, BundleError, Frozen};
use pagewise_host::trial::engine::{self, PointRunner, TrialError};
use pagewise_host::trial::gate::Gate;
use pagewise_host::trial::locality::runs_elsewhere;
use pagewise_host::trial::recordings::Recordings;
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

/// More pairs than this add nothing that anybody would wait for.
pub(crate) const MOST_PAIRS: u32 = 200;

/// What the user typed: a message about going on names that verb, and no option of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verb {
    Prove,
    Trial,
}

impl Verb {
    /// What is typed to go on with a bundle, before its name.
    fn resume(self) -> &'static str {
        match self {
            Verb::Prove => "pagewise prove --resume",
            Verb::Trial => "pagewise trial resume",
        }
    }

    /// Under which name it holds the host.
    fn word(self) -> &'static str {
        match self {
            Verb::Prove => "prove",
            Verb::Trial => "trial",
        }
    }
}

/// What every trial of this process shares.
pub(crate) struct Session {
    verb: Verb,
    root: Root,
    places: Places,
    hadoop: Option<PathBuf>,
    data: Option<PathBuf>,
    interrupt: Interrupt,
}

impl Session {
    pub(crate) fn open(global: &Global, verb: Verb, hadoop: Option<PathBuf>) -> Result<Session, Failure> {
        let settings = Settings::resolve(global)?;
        let interrupt = Interrupt::on_signals()
            .map_err(|error| Failure::NotPossible(anyhow!("cannot take over Ctrl-C: {error}")))?;
        let places = Places { state: settings.state_dir, cache: settings.cache_dir };
        let hadoop = hadoop.or(settings.hadoop);
        Ok(Session { verb, root: Root::live(), places, hadoop, data: None, interrupt })
    }

    /// The folder whose contents come back before every run of a command.
    pub(crate) fn with_data(self, data: Option<PathBuf>) -> Session {
        Session { data, ..self }
    }

    /// Everything that can be known to be wrong before anything runs; what is odd but allowed comes back as notes.
    pub(crate) fn check(&self, plan: &Plan, same_on_purpose: bool) -> Result<Vec<String>, Failure> {
        if let Some(live) = &plan.live {
            return self.check_live(plan, live, same_on_purpose);
        }
        let job = self.workload(plan)?;
        let mut touches_host = None;
        for cell in self.cells(plan)? {
            let resolved = tunable::resolve(&self.root, &self.places, &cell.policy)?;
            job.check_job(&resolved.job)?;
            if !resolved.host.is_empty() && touches_host.is_none() {
                touches_host = Some(cell.label);
            }
        }
        let read = |path: &Path| fs::read_to_string(path).ok();
        let env: BTreeMap<String, String> = env::vars().collect();
        let elsewhere = job.runs_elsewhere().or_else(|| runs_elsewhere(&plan.workload.run, &env, &read));
        if let (Some(reason), Some(cell)) = (elsewhere, touches_host) {
            return Err(Failure::NotPossible(anyhow!(
                "'{cell}' changes this host, but {reason}. A comparison here would prove nothing. Run Pagewise on \
                 the hosts that do the work, or use job-scope policies (jvm.*, env.*)"
            )));
        }
        Ok(if same_on_purpose { Vec::new() } else { self.levels_that_change_nothing(plan) })
    }

    /// What of a plan cannot be had on this host, is too large for it, or changes nothing on it.
    pub(crate) fn lints(&self, plan: &Plan) -> Vec<Lint> {
        let lint = |id: &str, text: String| Lint { id: id.to_owned(), text };
        let mut found = Vec::new();
        for factor in &plan.factors {
            for (level, text) in &factor.levels {
                if let Err(failure) = self.resolve(text) {
                    let text =
                        format!("'{level}' of '{}' cannot be had on this host: {}", factor.name, failure.cause());
                    found.push(lint("not-possible-here", text));
                }
            }
        }
        for factor in &plan.factors {
            let changes_nothing = |text: &String| self.resolve(text).is_ok_and(|found| self.changes_nothing(&found));
            let same: Vec<String> = factor
                .levels
                .iter()
                .filter(|(_, text)| changes_nothing(text))
                .map(|(level, _)| format!("'{level}'"))
                .collect();
            // One level may well be what the host has; a second one makes two levels the same.
            if same.len() > 1 {
                let text =
                    format!("{} of '{}' change nothing here: they are the same", same.join(" and "), factor.name);
                found.push(lint("changes-nothing", text));
            }
        }
        let bytes = |text: &Option<String>| text.as_ref().and_then(|text| text.parse::<Bytes>().ok());
        let memory = meminfo::read(&self.root).ok().and_then(|read| read.get("MemTotal").copied());
        if let (Some(needed), Some(here)) = (bytes(&plan.cost.memory), memory)
            && needed.0 > here
        {
            let text = format!("a run needs {needed} of memory, and this host has {}", Bytes(here));
            found.push(lint("too-large-here", text));
        }
        if let (Some(needed), Some(free)) = (bytes(&plan.cost.disk), room(&self.places.cache))
            && needed > free
        {
            let text = format!("a run needs {needed} on disk, and {} has {free} free", self.places.cache.display());
            found.push(lint("too-large-here", text));
        }
        match self.workload(plan) {
            // A live proof starts no workload.
            _ if plan.live.is_some() => {}
            Err(failure) => found.push(lint("not-possible-here", failure.cause().to_string())),
            Ok(_) if plan.data.restore != Restore::None && plan.workload.name == "command" && self.data.is_none() => {
                let text = format!("data.restore is \"{}\", and no --data names what comes back", plan.data.restore);
                found.push(lint("not-possible-here", text));
            }
            Ok(_) => {}
        }
        found
    }

    fn levels_that_change_nothing(&self, plan: &Plan) -> Vec<String> {
        let levels = plan.factors.iter().flat_map(|factor| &factor.levels);
        let nothing = |(level, text): (&String, &String)| {
            let resolved = self.resolve(text).ok()?;
            (text != "now" && self.changes_nothing(&resolved))
                .then(|| format!("'{level}' is what this host has already, so it changes nothing here"))
        };
        levels.filter_map(nothing).collect()
    }

    fn cells(&self, plan: &Plan) -> Result<Vec<Cell>, Failure> {
        cells(plan).map_err(|error| Failure::Usage(anyhow!(error)))
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
        // The kernel that runs is a level like any other: the other levels of its factor need a boot.
        nothing_for_the_job && resolved.boot.is_empty() && resolved.host.iter().all(same_now)
    }

    fn workload(&self, plan: &Plan) -> Result<Box<dyn Workload>, Failure> {
        let mut around = Surroundings::new(&self.places.cache, self.interrupt.clone());
        around.hadoop.clone_from(&self.hadoop);
        around.data.clone_from(&self.data);
        workload::from_plan(&plan.workload, around).map_err(Failure::from)
    }

    /// What would be run and changed, in words.
    pub(crate) fn describe(&self, global: &Global, plan: &Plan, notes: &[String]) -> Result<ExitCode, Failure> {
        if let Some(live) = &plan.live {
            return self.describe_live(global, plan, live, notes);
        }
        let order = order::draw(plan).map_err(|error| Failure::Usage(anyhow!(error)))?;
        if global.json {
            dry_run::tell(plan, &order, notes, None);
            return Ok(ExitCode::SUCCESS);
        }
        let mut lines = vec![format!("{}: {}", plan.name, self.workload(plan)?.describe())];
        for cell in self.cells(plan)? {
            lines.push(format!("\nunder '{}'", cell.label));
            let resolved = tunable::resolve(&self.root, &self.places, &cell.policy)?;
            for setting in &resolved.host {
                let now = tunable::read(&self.root, &setting.tunable).map_err(Failure::from)?;
                lines.push(format!("  {}: {now} → {}", setting.tunable, setting.value));
                let held = setting.coupled.join(", ");
                if !held.is_empty() {
                    lines.push(format!("    held fixed beside it: {held}"));
                }
            }
            lines.extend(resolved.boot.iter().map(|setting| format!("  boot: {} {}", setting.tunable, setting.value)));
            if resolved.host.is_empty() {
                lines.push("  this host's settings stay as they are".to_owned());
            }
        }
        let words: Vec<&str> = order.points.iter().map(|point| point.cell.as_str()).collect();
        lines.extend(recorded(plan).map(|said| format!("\n{said}")));
        lines.push(format!("\norder, seed {}:\n  {}", plan.design.seed, words.join(" · ")));
        lines.extend(notes.iter().map(|note| format!("note: {note}")));
        output::data(&lines.join("\n"));
        Ok(ExitCode::SUCCESS)
    }

    /// Runs a new trial to its end, or until something stops it. `repeat` writes the command line that repeats a plan.
    pub(crate) fn start(
        &self,
        mut plan: Plan,
        mut notes: Vec<String>,
        budget: Option<Seconds>,
        repeat: impl Fn(&Plan) -> String,
    ) -> Result<Bundle, Failure> {
        if let Some(live) = plan.live.clone() {
            return self.start_live(&plan, &live, notes, &repeat);
        }
        let path = PathBuf::from(format!("{}.trial", plan.name));
        let told = |error: BundleError| match error {
            BundleError::Exists(_) => {
                Failure::Usage(anyhow!("{error}, or go on with it: {} {}", self.verb.resume(), path.display()))
            }
            other => other.into(),
        };
        Bundle::check_room(&path).map_err(told)?;
        let declared = plan.clone();
        self.run(&declared, |host| {
            if let Some(budget) = budget {
                notes.push(size_by_budget(host, &mut plan, budget)?);
            }
            notes.extend(host.workload.notes());
            let frozen = Frozen {
                pagewise: env!("CARGO_PKG_VERSION").to_owned(),
                created: jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
                order: order::draw(&plan).map_err(|error| Failure::Usage(anyhow!(error)))?,
                facts: host_facts(&self.root, Some(&self.places.cache)),
                repeat: vec![repeat(&plan)],
                notes: notes.clone(),
                data: host.dataset.as_ref().map(|dataset| dataset.manifest().hash()),
                bundle: None,
            };
            Bundle::create(&path, &plan, frozen).map_err(told)
        })
    }

    /// Runs what is left of an interrupted trial.
    pub(crate) fn resume(&self, path: &Path) -> Result<Bundle, Failure> {
        let bundle = Bundle::open_to_resume(path)?;
        let here = host_facts(&self.root, Some(&self.places.cache));
        // The kernel of a plan that compares kernels is a level: the engine refuses a point under the wrong one.
        let compares_kernels = bundle.frozen().order.points.iter().any(|planned| planned.boot.is_some());
        let mut there = bundle.frozen().facts.clone();
        if compares_kernels {
            there.kernel.clone_from(&here.kernel);
        }
        if (&here.kernel, &here.cpu_model, here.memory_bytes) != (&there.kernel, &there.cpu_model, there.memory_bytes) {
            return Err(Failure::NotPossible(anyhow!(
                "{} was begun on another host or kernel ({} there, {} here), and a comparison of two arms must not mix \
                 hosts; start a new trial here",
                path.display(),
                there.kernel.as_deref().unwrap_or("unknown"),
                here.kernel.as_deref().unwrap_or("unknown"),
            )));
        }
        if let Some(live) = bundle.plan().live.clone() {
            return self.resume_live(bundle, &live);
        }
        engine::close_pause(&bundle)?;
        let plan = bundle.plan().clone();
        let notes = self.check(&plan, true)?;
        notes.iter().for_each(|note| output::note(&format!("note: {note}")));
        self.run(&plan, |host| {
            let here = host.dataset.as_ref().map(|dataset| dataset.manifest().hash());
            match (&bundle.frozen().data, here) {
                (Some(then), Some(now)) if *then != now => Err(Failure::NotPossible(anyhow!(
                    "the data are not those that {} was begun with (their manifest was {then}, and is {now}); put them \
                     back, or start a new trial",
                    path.display()
                ))),
                _ => Ok(bundle),
            }
        })
    }

    /// Takes the host, prepares the workload, lets `bundle` be made, runs it, and puts everything back.
    fn run(
        &self,
        plan: &Plan,
        bundle: impl FnOnce(&mut HostRunner<'_>) -> Result<Bundle, Failure>,
    ) -> Result<Bundle, Failure> {
        let mut workload = self.workload(plan)?;
        let journal = Journal::open(&self.places.state, &self.root)?;
        let policies: BTreeMap<_, _> = self.cells(plan)?.into_iter().map(|cell| (cell.label, cell.policy)).collect();
        let mut changes_host = false;
        for policy in policies.values() {
            changes_host |= !tunable::resolve(&self.root, &self.places, policy)?.host.is_empty();
        }
        // For the whole trial, not a point: between two points another run would leave its settings to the next one.
        let verb = self.verb.word();
        let lock = if changes_host { journal.lock(verb)? } else { journal.lock_journal(verb)? };
        for report in journal.recover(&lock)? {
            output::note(&format!("first undone what an earlier run left: change {} ('{}')", report.id, report.policy));
        }
        scope::remove_leftovers(&self.root);
        remove_old_scratch(&self.places.cache);
        for (_, left) in noted::recover(&self.root, &self.places.state) {
            left.kept.iter().for_each(|told| output::note(told));
        }
        let workspace = self.places.cache.join("restore");
        let mut watcher = Watcher::start(&self.places.state, &self.root)?;
        {
            let progress = StepProgress::new();
            workload.prepare_trial(&progress)?;
            touch::once(&self.root, &self.interrupt, &progress)?;
        }
        let dataset = self.dataset(plan, workload.as_ref(), &workspace)?;
        if let Some(dataset) = &dataset {
            watcher.set_workspace(Some(dataset.workspace()))?;
        }
        let restores = dataset.is_some();
        let scratch = Scratch::create(&self.places.cache)?;
        let progress = TrialProgress::new(0, if plan.is_two_arms() { "pair" } else { "block" });
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
            dataset,
            recordings: None,
            gate: Gate::default(),
            warned_of_absent_jvm: false,
        };
        let mut bundle = bundle(&mut runner)?;
        runner.recordings = Recordings::of(&bundle)?;
        let outcome = engine::run(&mut bundle, &mut runner, &mut Watching(&progress));
        let released = runner.dataset.as_mut().map_or(Ok(()), Dataset::release);
        drop(runner);
        progress.finish();
        match released {
            Ok(()) if restores => noted::forget(&self.places.state, &workspace),
            Ok(()) => {}
            Err(error) => output::note(&format!("the restored data were not put away: {error}")),
        }
        watcher.finish();
        match outcome {
            Ok(()) => Ok(bundle),
            Err(error) => {
                // A warm-up that failed would fail again: there is nothing to go on with.
                if bundle.points().is_ok_and(|points| points.iter().any(|point| point.outcome == Outcome::Ok)) {
                    let kept = bundle.path().display();
                    let go_on = self.verb.resume();
                    // An error that names its own remedy needs no second one.
                    if !matches!(error, TrialError::NeedsBoot { .. }) {
                        output::note(&format!("what is complete is kept; go on with: {go_on} {kept}"));
                    }
                }
                Err(Failure::from(error))
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
            let planned =
                PlannedPoint { index: 0, block: None, position: position as u32, boot: None, cell: level.clone() };
            let point = host.run_point(&planned, 1, &mut || Ok(()))?.point;
            if point.outcome.is_bad() {
                let reason = point.reason.unwrap_or_default();
                return Err(
                    TrialError::WarmupFailed { level: level.clone(), outcome: point.outcome.word(), reason }.into()
                );
            }
            engine::has_metric(&point, &plan.metric().name)?;
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

impl Session {
    /// The data that come back before every point, ready to be restored.
    fn dataset(&self, plan: &Plan, workload: &dyn Workload, workspace: &Path) -> Result<Option<Dataset>, Failure> {
        if plan.data.restore == Restore::None {
            return Ok(None);
        }
        let source = workload.data_source().ok_or_else(|| {
            Failure::Usage(anyhow!(
                "data.restore is \"{}\", but there is nothing to put back: name the folder with --data DIR",
                plan.data.restore
            ))
        })?;
        let progress = StepProgress::new();
        // On disk before the first mount: what a double kill leaves is found by the next verb.
        noted::note(&self.places.state, workspace).map_err(TrialError::from)?;
        let opened = Dataset::open(&plan.data, &source, workspace, &progress, &self.interrupt);
        Ok(Some(opened.map_err(TrialError::from)?))
    }
}

/// Free room where the cache is, or will be.
fn room(cache: &Path) -> Option<Bytes> {
    let there = cache.ancestors().find(|folder| folder.exists())?;
    let found = rustix::fs::statvfs(there).ok()?;
    Some(Bytes(found.f_bavail.saturating_mul(found.f_frsize)))
}

/// Scratch folders of processes that are gone: a kill leaves them behind.
fn remove_old_scratch(cache: &Path) {
    let Ok(folders) = fs::read_dir(cache.join("runs")) else { return };
    for folder in folders.filter_map(Result::ok) {
        let name = folder.file_name().to_string_lossy().into_owned();
        let is_gone = name.parse::<u32>().is_ok_and(|pid| !Path::new("/proc").join(pid.to_string()).exists());
        if is_gone {
            let _ = fs::remove_dir_all(folder.path());
        }
    }
}

/// A seed that nobody chose; it is recorded with the order.
pub(crate) fn seed_from_clock() -> u64 {
    jiff::Timestamp::now().as_nanosecond() as u64 % 1_000_000_007
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
    let Some(pattern) = plan.metric().name.strip_prefix("regex:") else { return Ok(None) };
    let pattern = regex_lite::Regex::new(pattern).map_err(|error| Failure::Usage(anyhow!(error)))?;
    Ok(Some(OutputMetric { name: plan.metric().name.clone(), pattern }))
}

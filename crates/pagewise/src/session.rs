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
use pagewise_core::experiment::next::{Next, next};
use pagewise_core::experiment::order;
use pagewise_core::experiment::plan::cells::{Cell, cells};
use pagewise_core::experiment::plan::forecast::recorded;
use pagewise_core::experiment::plan::lint::Lint;
use pagewise_core::experiment::plan::{Factor, Plan, StoppingRule, numbers};
use pagewise_core::experiment::point::{Outcome, PlannedPoint};
use pagewise_core::tunable::policy::Policy;
use pagewise_core::unit::{Bytes, Seconds};
use pagewise_host::facts::kernel::host_facts;
use pagewise_host::process::{Interrupt, find_program};
use pagewise_host::restore::{Dataset, noted};
use pagewise_host::root::Root;
use pagewise_host::source::{meminfo, vmstat};
use pagewise_host::store::bundle::{Bundle, BundleError, Frozen};
use pagewise_host::trial::engine::{self, PointRunner, TrialError};
use pagewise_host::trial::gate::Gate;
use pagewise_host::trial::locality::runs_elsewhere;
use pagewise_host::trial::recordings::Recordings;
use pagewise_host::trial::runner::{HostRunner, OutputMetric};
use pagewise_host::trial::{scope, touch};
use pagewise_host::tunable::journal::Journal;
use pagewise_host::tunable::lock::{HostLock, LockError};
use pagewise_host::tunable::watcher::Watcher;
use pagewise_host::tunable::{self, Places, Resolved};
use pagewise_host::workload::{self, Surroundings, Workload};
use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

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

/// How long to wait for another run that has the host.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Wait {
    /// Not at all.
    No,
    /// At most so long.
    For(Seconds),
    /// Until it ends.
    Forever,
}

impl From<Option<Option<Seconds>>> for Wait {
    /// As `--wait[=TIME]` is read.
    fn from(given: Option<Option<Seconds>>) -> Wait {
        match given {
            None => Wait::No,
            Some(None) => Wait::Forever,
            Some(Some(time)) => Wait::For(time),
        }
    }
}

/// Where the seed of an order that is only shown came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seed {
    /// It was given, or stands in the plan: this is the order that runs.
    Given,
    /// It is drawn when the trial begins: this order is an example.
    Drawn,
}

impl Seed {
    pub(crate) fn in_words(self, seed: u64) -> String {
        match self {
            Seed::Given => format!("seed {seed}"),
            Seed::Drawn => format!(
                "an example with seed {seed}: the seed is drawn when the trial begins, and recorded; --seed {seed} runs this order"
            ),
        }
    }
}

/// What every trial of this process shares.
pub(crate) struct Session {
    verb: Verb,
    root: Root,
    places: Places,
    named: workload::Places,
    data: Option<PathBuf>,
    wait: Wait,
    /// Options that going on with a trial needs as well.
    options: Options,
    interrupt: Interrupt,
}

/// Options that were typed and that the next command on the same bundle needs as well.
struct Options {
    /// What the job works with.
    job: Vec<String>,
    /// Where Pagewise keeps what is its own.
    places: Vec<String>,
}

/// The right to change this host, for a whole trial.
pub(crate) struct Held {
    journal: Journal,
    lock: HostLock,
}

impl Session {
    pub(crate) fn open(global: &Global, verb: Verb, typed: &workload::Places) -> Result<Session, Failure> {
        let settings = Settings::resolve(global)?;
        let interrupt = Interrupt::on_signals()
            .map_err(|error| Failure::NotPossible(anyhow!("cannot take over Ctrl-C: {error}")))?;
        let places = Places { state: settings.state_dir, cache: settings.cache_dir };
        let options = Options::typed(global, typed);
        let named = typed.clone().or(&settings.places);
        Ok(Session { verb, root: Root::live(), places, named, data: None, wait: Wait::No, options, interrupt })
    }

    /// The folder whose contents come back before every run of a command.
    pub(crate) fn with_data(self, data: Option<PathBuf>) -> Session {
        Session { data, ..self }
    }

    /// How long to wait for another run that has the host.
    pub(crate) fn waiting(self, wait: impl Into<Wait>) -> Session {
        Session { wait: wait.into(), ..self }
    }

    /// The whole command that goes on with a bundle.
    fn go_on(&self, bundle: &Path) -> String {
        let bundle = bundle.display().to_string();
        let options = self.options.job.iter().chain(&self.options.places).map(String::as_str);
        let quoted = shlex::try_join([bundle.as_str()].into_iter().chain(options)).unwrap_or(bundle.clone());
        format!("{} {quoted}", self.verb.resume())
    }

    /// Options of a command that repeats the trial, beside its plan: the folders its job works with, absolute.
    pub(crate) fn repeat_options(&self) -> Vec<String> {
        let data = self.data.as_deref().map(|data| ["--data".to_owned(), absolute(data)]);
        data.into_iter().flatten().chain(self.options.job.iter().cloned()).collect()
    }

    /// Takes the host for a new trial, before anything of it is read: what another run is changing now would be taken for the
    /// host's own.
    pub(crate) fn hold_for(&self, plan: &Plan) -> Result<Held, Failure> {
        let path = bundle_path(plan);
        Bundle::check_room(&path).map_err(|error| self.exists(error, &path))?;
        self.hold(plan)
    }

    fn exists(&self, error: BundleError, path: &Path) -> Failure {
        match error {
            BundleError::Exists(_) => Failure::Usage(anyhow!("{error}, or go on with it:\n  {}", self.go_on(path))),
            other => other.into(),
        }
    }

    /// Takes the host and undoes what an earlier run left.
    fn hold(&self, plan: &Plan) -> Result<Held, Failure> {
        let mut changes_host = plan.live.is_some();
        for cell in self.cells(plan)? {
            changes_host |= !tunable::resolve(&self.root, &self.places, &cell.policy)?.host.is_empty();
        }
        if self.wait != Wait::No {
            // What cannot run is not waited for.
            self.check(plan, true)?;
        }
        let journal = Journal::open(&self.places.state, &self.root)?;
        let verb = if plan.live.is_some() { "prove --live" } else { self.verb.word() };
        // For the whole trial, not a point: between two points another run would leave its settings to the next one.
        let lock = self.patiently(|| if changes_host { journal.lock(verb) } else { journal.lock_journal(verb) })?;
        for report in journal.recover(&lock)? {
            output::note(&format!("first undone what an earlier run left: change {} ('{}')", report.id, report.policy));
        }
        scope::remove_leftovers(&self.root);
        remove_old_scratch(&self.places.cache);
        for (_, left) in noted::recover(&self.root, &self.places.state) {
            left.kept.iter().for_each(|told| output::note(told));
        }
        Ok(Held { journal, lock })
    }

    /// Asks for the lock until it is free, as long as `--wait` says.
    fn patiently(&self, ask: impl Fn() -> Result<HostLock, LockError>) -> Result<HostLock, Failure> {
        const EVERY: Duration = Duration::from_millis(500);
        let since = Instant::now();
        let mut told = false;
        loop {
            let error = match ask() {
                Ok(lock) => return Ok(lock),
                Err(error) => error,
            };
            let Some(who) = error.held_by() else { return Err(error.into()) };
            let may_wait = match self.wait {
                Wait::No => return Err(Failure::NotPossible(anyhow!("{error}. --wait waits until it ends"))),
                Wait::For(time) => since.elapsed().as_secs_f64() < time.0,
                Wait::Forever => true,
            };
            if !may_wait {
                return Err(Failure::NotPossible(anyhow!("{error}. It did not end while --wait waited")));
            }
            if !std::mem::replace(&mut told, true) {
                output::note(&format!("waiting until another run ends ({who}) …"));
            }
            self.interrupt.wait(EVERY);
            self.interrupt.check()?;
        }
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
        let mut notes = self.kernels_not_here(plan);
        notes.extend(self.levels_out_of_reach(plan));
        if !same_on_purpose {
            notes.extend(self.levels_that_change_nothing(plan));
        }
        Ok(notes)
    }

    /// What of a plan cannot be had on this host, is too large for it, or changes nothing on it.
    pub(crate) fn lints(&self, plan: &Plan) -> Vec<Lint> {
        let lint = |id: &str, text: String| Lint { id: id.to_owned(), text };
        let impossible = |text: String| lint("not-possible-here", text);
        let mut found = Vec::new();
        if let Some(Err(failure)) = plan.everywhere.as_deref().map(|text| self.resolve(text)) {
            found.push(impossible(format!("'everywhere' cannot be had on this host: {}", failure.cause())));
        }
        for factor in &plan.factors {
            for (level, text) in &factor.levels {
                if let Err(failure) = self.resolve(text) {
                    let cause = failure.cause();
                    found.push(impossible(format!(
                        "'{level}' of '{}' cannot be had on this host: {cause}",
                        factor.name
                    )));
                }
            }
        }
        found.extend(self.kernels_not_here(plan).into_iter().map(impossible));
        for (step, argv) in commands(plan) {
            if let Some(Err(error)) = argv.first().map(|program| find_program(program)) {
                found.push(impossible(format!("the job's {step} cannot start: {error}")));
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
        found.extend(self.levels_out_of_reach(plan).into_iter().map(|text| lint("out-of-reach", text)));
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
        // What is wrong with the workload itself is an error, and told before.
        let needs_data = plan.data.restore != Restore::None && plan.workload.name == "command" && self.data.is_none();
        if needs_data && plan.live.is_none() {
            found.push(impossible(format!(
                "data.restore is \"{}\", and no --data DIR names what comes back",
                plan.data.restore
            )));
        }
        if let Err(failure) = self.workload(plan)
            && plan.live.is_none()
        {
            found.push(impossible(failure.cause().to_string()));
        }
        found.extend(self.unknown(plan));
        found
    }

    /// Names of numbers that no run on this host will have, as far as anybody knows.
    fn unknown(&self, plan: &Plan) -> Vec<Lint> {
        let counters: Option<BTreeSet<String>> = vmstat::read(&self.root).ok().map(|read| read.into_keys().collect());
        numbers::lints(plan, workload::measures_of(&plan.workload), counters.as_ref())
    }

    /// The same in words.
    pub(crate) fn unknown_numbers(&self, plan: &Plan) -> Vec<String> {
        self.unknown(plan).into_iter().map(|lint| format!("{}: {}", lint.id, lint.text)).collect()
    }

    /// Whether the kernel that runs takes a policy, or anything else of this host stands in its way.
    pub(crate) fn can_have(&self, policy: &Policy) -> bool {
        tunable::resolve(&self.root, &self.places, policy).is_ok()
    }

    /// What is wrong with a plan's workload on any host: there is none of that name, or it has no such argument.
    pub(crate) fn wrong_workload(&self, plan: &Plan) -> Option<String> {
        let failure = self.workload(plan).err().filter(|_| plan.live.is_none())?;
        matches!(failure, Failure::Usage(_)).then(|| failure.cause().to_string())
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

    /// Levels whose kernel is not installed here, as far as that can be seen.
    fn kernels_not_here(&self, plan: &Plan) -> Vec<String> {
        let levels = plan.factors.iter().flat_map(|factor| factor.levels.iter().map(move |level| (factor, level)));
        let missing = |(factor, (level, text)): (&Factor, (&String, &String))| {
            let resolved = self.resolve(text).ok()?;
            let kernel = tunable::boot::not_installed(&self.root, &resolved)?;
            Some(format!(
                "'{level}' of '{}' needs kernel {kernel}, which is not installed here: neither /boot nor /lib/modules has it. \
                 Install it, or write it as uname -r prints it; one that is kept elsewhere is not seen",
                factor.name
            ))
        };
        levels.filter_map(missing).collect()
    }

    /// What levels set on the host and a job started here would not go by. Each thing once.
    fn levels_out_of_reach(&self, plan: &Plan) -> Vec<String> {
        let levels = plan.factors.iter().flat_map(|factor| factor.levels.values());
        let texts: BTreeSet<String> = levels
            .chain(&plan.everywhere)
            .filter_map(|text| tunable::out_of_reach(&self.root, &self.resolve(text).ok()?))
            .collect();
        texts.into_iter().collect()
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
        // The kernel that runs is a level like any other: the other levels of its factor need a boot.
        nothing_for_the_job
            && resolved.boot.is_empty()
            && resolved.host.iter().all(|setting| setting.is_in_force(&self.root))
    }

    fn workload(&self, plan: &Plan) -> Result<Box<dyn Workload>, Failure> {
        let mut around = Surroundings::new(&self.places.cache, self.interrupt.clone());
        around.places.clone_from(&self.named);
        around.data.clone_from(&self.data);
        workload::from_plan(&plan.workload, around).map_err(Failure::from)
    }

    /// What would be run and changed, in words.
    pub(crate) fn describe(
        &self,
        global: &Global,
        plan: &Plan,
        seed: Seed,
        notes: &[String],
    ) -> Result<ExitCode, Failure> {
        if let Some(live) = &plan.live {
            return self.describe_live(global, plan, live, seed, notes);
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
                let held: Vec<&str> = setting.coupled.iter().map(|tunable| tunable.name.as_str()).collect();
                let held = held.join(", ");
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
        lines.push(format!("\norder, {}:\n  {}", seed.in_words(plan.design.seed), words.join(" · ")));
        lines.extend(notes.iter().map(|note| format!("note: {note}")));
        output::data(&output::wrapped(&lines.join("\n"), output::columns(), 2));
        Ok(ExitCode::SUCCESS)
    }

    /// Runs a new trial to its end, or until something stops it. `repeat` writes the command line that repeats a plan.
    pub(crate) fn start(
        &self,
        held: Held,
        mut plan: Plan,
        mut notes: Vec<String>,
        budget: Option<Seconds>,
        repeat: impl Fn(&Plan) -> String,
    ) -> Result<Bundle, Failure> {
        if let Some(live) = plan.live.clone() {
            return self.start_live(held, &plan, &live, notes, &repeat);
        }
        let path = bundle_path(&plan);
        let declared = plan.clone();
        self.run(held, &declared, |host| {
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
                data_folder: self.data.as_deref().filter(|_| host.dataset.is_some()).and_then(|data| {
                    // One whose name is no text is named again.
                    std::path::absolute(data).ok()?.to_str().map(str::to_owned)
                }),
            };
            Bundle::create(&path, &plan, frozen).map_err(|error| self.exists(error, &path))
        })
    }

    /// Runs what is left of an interrupted trial.
    pub(crate) fn resume(mut self, path: &Path) -> Result<Bundle, Failure> {
        let bundle = Bundle::open_to_resume(path)?;
        if is_complete(&bundle)? {
            output::note(&format!("{} is complete: nothing is left to run", path.display()));
            return Ok(bundle);
        }
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
        // Named when it began; what lies there is held against the manifest below.
        self.data = self.data.take().or_else(|| bundle.frozen().data_folder.as_ref().map(PathBuf::from));
        let plan = bundle.plan().clone();
        if let Some(live) = plan.live.clone() {
            return self.resume_live(bundle, &live);
        }
        let held = self.hold(&plan)?;
        engine::close_pause(&bundle)?;
        let notes = self.check(&plan, true)?;
        notes.iter().for_each(|note| output::note(&format!("note: {note}")));
        self.run(held, &plan, |host| {
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

    /// Prepares the workload, lets `bundle` be made, runs it, and puts everything back.
    fn run(
        &self,
        held: Held,
        plan: &Plan,
        bundle: impl FnOnce(&mut HostRunner<'_>) -> Result<Bundle, Failure>,
    ) -> Result<Bundle, Failure> {
        let Held { journal, lock } = held;
        let mut workload = self.workload(plan)?;
        let policies: BTreeMap<_, _> = self.cells(plan)?.into_iter().map(|cell| (cell.label, cell.policy)).collect();
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
            output_metrics: output_metrics(plan)?,
            scratch: scratch.0.clone(),
            tick: Box::new(|| progress.tick()),
            dataset,
            recordings: None,
            gate: Gate::default(),
            warned_of_absent_jvm: false,
        };
        let mut bundle = bundle(&mut runner)?;
        runner.recordings = Recordings::of(&bundle)?;
        let on_stop = progress.on_stop(&self.interrupt);
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
        drop(on_stop);
        match outcome {
            Ok(()) => Ok(bundle),
            Err(error) => {
                // A warm-up that failed would fail again: there is nothing to go on with.
                if !bundle.path().join("points.sqlite").exists() {
                    let path = bundle.path().display();
                    output::note(&format!(
                        "{path} was removed or moved while its trial ran; what is complete is where it went"
                    ));
                } else if bundle.points().is_ok_and(|points| points.iter().any(|point| point.outcome == Outcome::Ok)) {
                    // An error that names its own remedy needs no second one.
                    if !matches!(error, TrialError::NeedsBoot { .. }) {
                        let go_on = self.go_on(bundle.path());
                        output::note(&format!("what is complete is kept; go on with:\n  {go_on}"));
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
            let point = host.run_point(&planned, 1, &mut |_| Ok(()))?.point;
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

/// Metrics that a regular expression finds in the job's output. One that is none is told with its place in the list.
fn output_metrics(plan: &Plan) -> Result<Vec<OutputMetric>, Failure> {
    bad_pattern(plan).map_or(Ok(()), |(_, why)| Err(Failure::Usage(anyhow!(why))))?;
    let compiled = plan.metrics.iter().filter_map(|metric| {
        let pattern = regex_lite::Regex::new(metric.name.strip_prefix("regex:")?).ok()?;
        Some(OutputMetric { name: metric.name.clone(), pattern })
    });
    Ok(compiled.collect())
}

/// The first metric whose regular expression is none: its place, and why.
pub(crate) fn bad_pattern(plan: &Plan) -> Option<(usize, String)> {
    plan.metrics.iter().enumerate().find_map(|(place, metric)| {
        let error = regex_lite::Regex::new(metric.name.strip_prefix("regex:")?).err()?;
        Some((place, format!("'{}' is no regular expression: {error}", metric.name)))
    })
}

/// Whether nothing is left to run: every point has its result, or a look has ended the trial.
fn is_complete(bundle: &Bundle) -> Result<bool, Failure> {
    if bundle.plan().stopping.rule != StoppingRule::Fixed {
        return Ok(bundle.looks()?.iter().any(|look| look.stop));
    }
    Ok(next(&bundle.frozen().order, &bundle.points()?) == Next::Done)
}

/// The commands of a job with what each is for. Empty for a built-in workload.
fn commands(plan: &Plan) -> [(&'static str, &[String]); 4] {
    let job = &plan.workload;
    [
        ("command", job.run.as_slice()),
        ("prepare command", job.prepare.as_slice()),
        ("verify command", job.verify.as_slice()),
        ("clean command", job.clean.as_slice()),
    ]
}

fn bundle_path(plan: &Plan) -> PathBuf {
    PathBuf::from(format!("{}.trial", plan.name))
}

/// As text, for a command or a bundle.
fn absolute(path: &Path) -> String {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned()).display().to_string()
}

impl Options {
    /// What a variable says it will say to the next command, too.
    fn typed(global: &Global, named: &workload::Places) -> Options {
        let typed = |option: &str, value: Option<&Path>, variable: &str| -> Vec<String> {
            let is_from_variable = |value: &Path| env::var_os(variable).is_some_and(|text| text == *value.as_os_str());
            let value = value.filter(|value| !is_from_variable(value));
            value.map(|value| vec![option.to_owned(), absolute(value)]).unwrap_or_default()
        };
        let state = typed("--state-dir", global.state_dir.as_deref(), "PAGEWISE_STATE_DIR");
        let cache = typed("--cache-dir", global.cache_dir.as_deref(), "PAGEWISE_CACHE_DIR");
        let job =
            workload::places().filter_map(|place| Some((place, named.path(place.name)?))).flat_map(|(place, named)| {
                let named = if place.is_here { absolute(named) } else { named.display().to_string() };
                [format!("--{}", place.name), named]
            });
        Options { job: job.collect(), places: [state, cache].concat() }
    }
}

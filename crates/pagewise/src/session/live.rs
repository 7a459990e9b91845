//! A live proof from its plan to its bundle: what is refused before anything is changed, who holds the host, how it ends.

use super::{Held, Seed, Session, bundle_path, dry_run};
use crate::cli::Global;
use crate::failure::Failure;
use crate::output;
use crate::progress::live::{LiveProgress, Watching};
use anyhow::anyhow;
use pagewise_core::experiment::live::metric::LiveMetric;
use pagewise_core::experiment::live::switching::{self, Switched};
use pagewise_core::experiment::live::{Ended, EndedBy, Live, WHATEVER_RUNS};
use pagewise_core::experiment::order::{self, Order};
use pagewise_core::experiment::plan::{Plan, forecast};
use pagewise_core::experiment::point::Outcome;
use pagewise_core::tunable::policy::Policy;
use pagewise_host::facts::kernel::host_facts;
use pagewise_host::process::find_program;
use pagewise_host::record::Recorder;
use pagewise_host::store::bundle::{Bundle, Frozen};
use pagewise_host::trial::engine::{self, TrialError};
use pagewise_host::trial::live::host::values_before;
use pagewise_host::trial::live::job::Job;
use pagewise_host::trial::live::metric::Asked;
use pagewise_host::trial::live::{Blocks, HereLive};
use pagewise_host::trial::locality::runs_elsewhere;
use pagewise_host::trial::recordings::Recordings;
use pagewise_host::trial::scope::Scope;
use pagewise_host::tunable;
use pagewise_host::tunable::watcher::Watcher;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

/// What two policies take to be switched under a running job; refused with the reason when they cannot be.
pub(crate) fn switched<'p>(
    policies: impl IntoIterator<Item = &'p Policy>,
    short_lived: bool,
) -> Result<Vec<Switched>, Failure> {
    switching::tunables(policies, short_lived).map_err(|error| Failure::NotPossible(anyhow!(error)))
}

impl Session {
    /// Everything that can be known to be wrong with a live plan before anything runs; what is odd but allowed comes back as notes.
    pub(super) fn check_live(&self, plan: &Plan, live: &Live, same_on_purpose: bool) -> Result<Vec<String>, Failure> {
        if let Some((key, why)) = live.problems().into_iter().next() {
            return Err(Failure::Usage(anyhow!("live.{key} of the plan: {why}")));
        }
        LiveMetric::parse(&plan.metric().name).map_err(|error| Failure::Usage(anyhow!(error)))?;
        let policies: Vec<Policy> = self.cells(plan)?.into_iter().map(|cell| cell.policy).collect();
        let switched = switched(&policies, live.short_lived)?;
        for policy in &policies {
            tunable::resolve(&self.root, &self.places, policy)?;
        }
        if let Some(program) = plan.workload.run.first() {
            find_program(program)?;
        }
        let read = |path: &Path| fs::read_to_string(path).ok();
        let env: BTreeMap<String, String> = std::env::vars().collect();
        if let Some(reason) = runs_elsewhere(&plan.workload.run, &env, &read) {
            return Err(Failure::NotPossible(anyhow!(
                "a live proof switches this host, but {reason}. A comparison here would prove nothing. Run Pagewise on the hosts \
                 that do the work"
            )));
        }
        let mut notes: Vec<String> = switched.iter().map(|one| note_of(one, live)).collect();
        notes.extend(self.levels_out_of_reach(plan));
        if !same_on_purpose {
            notes.extend(self.levels_that_change_nothing(plan));
        }
        Ok(notes)
    }

    /// The order of a live proof and the time it takes.
    pub(super) fn describe_live(
        &self,
        global: &Global,
        plan: &Plan,
        live: &Live,
        seed: Seed,
        notes: &[String],
    ) -> Result<ExitCode, Failure> {
        let order = order::draw(plan).map_err(|error| Failure::Usage(anyhow!(error)))?;
        let takes = live.takes(order.points.len());
        if global.json {
            dry_run::tell(plan, &order, notes, Some(takes.0));
            return Ok(ExitCode::SUCCESS);
        }
        let mut lines = vec![format!("{}: {}", plan.name, what_runs(plan, live))];
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
            if resolved.host.is_empty() {
                lines.push("  this host's settings stay as they are".to_owned());
            }
        }
        lines.push(format!(
            "\neach block: {} s to settle, {} s to wash out, {} s measured",
            live.settle_seconds, live.washout_seconds, live.block_seconds
        ));
        lines.extend(forecast::recorded(plan));
        lines.push(format!("order, {takes} in all, {}:", seed.in_words(plan.design.seed)));
        lines.extend(timetable(&order, live));
        lines.extend(notes.iter().map(|note| format!("note: {note}")));
        output::data(&output::wrapped(&lines.join("\n"), output::columns(), 2));
        Ok(ExitCode::SUCCESS)
    }

    /// Runs a new live proof to its end, or until something stops it.
    pub(super) fn start_live(
        &self,
        held: Held,
        plan: &Plan,
        live: &Live,
        notes: Vec<String>,
        repeat: &dyn Fn(&Plan) -> String,
    ) -> Result<Bundle, Failure> {
        let path = bundle_path(plan);
        self.run_live(held, plan, live, || {
            let frozen = Frozen {
                pagewise: env!("CARGO_PKG_VERSION").to_owned(),
                created: jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
                order: order::draw(plan).map_err(|error| Failure::Usage(anyhow!(error)))?,
                facts: host_facts(&self.root, Some(&self.places.cache)),
                repeat: vec![repeat(plan)],
                notes,
                data: None,
                bundle: None,
                data_folder: None,
            };
            Ok(Bundle::create(&path, plan, frozen)?)
        })
    }

    /// Runs what is left of an interrupted live proof. One that ended early is over.
    pub(super) fn resume_live(&self, bundle: Bundle, live: &Live) -> Result<Bundle, Failure> {
        if let Some(ended) = bundle.ended()? {
            output::note(&format!("this proof is over: {}; start a new one to go on", ended.reason));
            return Ok(bundle);
        }
        let plan = bundle.plan().clone();
        let held = self.hold(&plan)?;
        engine::close_pause(&bundle)?;
        self.check_live(&plan, live, true)?;
        self.run_live(held, &plan, live, || Ok(bundle))
    }

    /// Starts the job, lets `bundle` be made, runs the blocks, and puts everything back.
    fn run_live(
        &self,
        held: Held,
        plan: &Plan,
        live: &Live,
        bundle: impl FnOnce() -> Result<Bundle, Failure>,
    ) -> Result<Bundle, Failure> {
        let Held { journal, lock } = held;
        let has_command = !plan.workload.run.is_empty();
        let metric = LiveMetric::parse(&plan.metric().name).map_err(|error| Failure::Usage(anyhow!(error)))?;
        let metric = Asked::ready(&metric, has_command, &self.interrupt)
            .map_err(|why| TrialError::NoLiveMetric { metric: plan.metric().name.clone(), why })?;
        let mut job = match live.pid {
            Some(pid) => Job::process(&self.root, pid)?,
            None => Job::Whatever,
        };
        let cells = self.cells(plan)?;
        let before = values_before(&self.root, &self.places, cells.iter().map(|cell| &cell.policy))?;
        let mut watcher = Watcher::start(&self.places.state, &self.root)?;
        let mut bundle = bundle()?;
        let place = has_command.then(|| Scope::create(&self.root));
        let recorder = recorder(self, &bundle, place.as_ref().and_then(Scope::folder));
        let mut scope = None;
        if let Some(place) = place {
            // Before it starts, so that it cannot outlive us from its first moment on.
            let _ = watcher.set_scope(place.folder(), &[]);
            match Job::start(&plan.workload.run, place.folder()) {
                Ok(started) => job = started,
                Err(error) => {
                    place.remove();
                    return Err(error.into());
                }
            }
            scope = Some(place);
        }
        let progress = LiveProgress::new(live, bundle.frozen().order.points.len(), &plan.metric().name);
        let host = HereLive {
            root: &self.root,
            policies: cells.into_iter().map(|cell| (cell.label, cell.policy)).collect(),
            places: &self.places,
            journal: &journal,
            lock: &lock,
            watcher: &mut watcher,
            interrupt: &self.interrupt,
            job,
            scope,
            metric,
            recorder,
            tick: Box::new(|| progress.tick()),
            in_force: None,
            before,
            since: Instant::now(),
        };
        let mut blocks = Blocks::new(host, live, &plan.metric().name);
        let on_stop = progress.on_stop(&self.interrupt);
        let outcome = engine::run(&mut bundle, &mut blocks, &mut Watching(&progress));
        let released = blocks.into_host().release();
        progress.finish();
        watcher.finish();
        drop(on_stop);
        if let Some(why) = released? {
            output::note(&format!("the recording ended before the proof did: {why}"));
        }
        match outcome {
            Ok(()) => Ok(bundle),
            Err(TrialError::EndedEarly(ended)) => {
                bundle.keep_ended(&ended)?;
                output::note(&said(&ended));
                Ok(bundle)
            }
            Err(error) => {
                if bundle.points().is_ok_and(|points| points.iter().any(|point| point.outcome == Outcome::Ok)) {
                    let go_on = self.go_on(bundle.path());
                    output::note(&format!("what is complete is kept; go on with:\n  {go_on}"));
                }
                Err(Failure::from(error))
            }
        }
    }
}

fn said(ended: &Ended) -> String {
    let left = match ended.by {
        EndedBy::ForeignChange => "that is left as it is, and all else is as it was",
        EndedBy::Job | EndedBy::Bound => "this host is as it was",
    };
    format!("ended early: {}; {left}", ended.reason)
}

/// One recording of the whole proof, with a mark at both ends of every block. One that cannot be had costs no block.
fn recorder(session: &Session, bundle: &Bundle, job: Option<&Path>) -> Option<Recorder> {
    let recordings = Recordings::of(bundle)
        .inspect_err(|error| tracing::warn!("the proof is not recorded: {error}"))
        .ok()
        .flatten()?;
    recordings.start_live(&session.root, &bundle.plan().name, job)
}

/// Why a tunable is waited for, for the report.
fn note_of(one: &Switched, live: &Live) -> String {
    let wait = one.wait;
    let (settle, washout) = (live.settle_seconds, live.washout_seconds);
    let mut note = format!("{}: {}", one.tunable, wait.reason);
    if settle + washout < wait.settle + wait.washout {
        note.push_str(&format!(
            "; {} s of waiting were asked for, and as far as we know it takes {} s",
            settle + washout,
            wait.settle + wait.washout
        ));
    }
    if one.new_only {
        note.push_str("; --short-lived says that what runs is made of processes that end within a block");
    }
    note
}

fn what_runs(plan: &Plan, live: &Live) -> String {
    match live.pid {
        Some(pid) => format!("while process {pid} runs"),
        None if plan.workload.name == WHATEVER_RUNS => "whatever runs on this host".to_owned(),
        None => shlex::try_join(plan.workload.run.iter().map(String::as_str)).unwrap_or_default(),
    }
}

/// When each block is measured, from the start.
fn timetable(order: &Order, live: &Live) -> Vec<String> {
    let minutes = |seconds: f64| format!("{:>3}:{:02}", (seconds / 60.0) as u64, (seconds % 60.0) as u64);
    let line = |(index, point): (usize, &pagewise_core::experiment::point::PlannedPoint)| {
        let end = live.takes(index + 1).0;
        let pair = point.block.map_or("warm-up".to_owned(), |pair| format!("pair {}", pair + 1));
        format!("  {} to {}  {pair:<8}  {}", minutes(end - live.block_seconds), minutes(end), point.cell)
    };
    order.points.iter().enumerate().map(line).collect()
}

//! One point on this host, from an empty scratch folder to everything put back.

use super::engine::{PointRunner, PointStage, Starting, TrialError};
use super::gate::{Decision, Gate, PATIENCE};
use super::invalid::Invalid;
use super::measure::{self, MemoryWatch, NO_NUMBER, Totals};
use super::other_settings::OtherSettings;
use super::recordings::Recordings;
use super::said::LastLines;
use super::touch;
use crate::facts::kernel::host_facts;
use crate::process::{self, Command, Interrupt, JobEnded, Limits, Stopped, Watch};
use crate::progress::NoProgress;
use crate::record::Recorder;
use crate::restore::Dataset;
use crate::root::Root;
use crate::scope::Scope;
use crate::source;
use crate::tunable::change::{self, Change, ChangeError, Lease, UndoReport};
use crate::tunable::journal::Journal;
use crate::tunable::lock::HostLock;
use crate::tunable::watcher::Watcher;
use crate::tunable::{self, Places, Resolved};
use crate::workload::{JobSettings, RunContext, Verification, Workload, WorkloadError};
use pagewise_core::comparison::found::Warning;
use pagewise_core::experiment::number_pattern::NumberPattern;
use pagewise_core::experiment::plan::DropCaches;
use pagewise_core::experiment::point::{AppliedSetting, Boot, Outcome, PlannedPoint, Point, Record};
use pagewise_core::finding::words;
use pagewise_core::report::facts::HostFacts;
use pagewise_core::tunable::policy::Policy;
use pagewise_core::unit::Bytes;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A run whose end was noticed later than this is not counted: a share of its time, and never less than so many seconds. Ours.
const LATE_LIMIT_SHARE: f64 = 0.01;
const LATE_LIMIT_SECONDS: f64 = 0.05;

/// What stays the same for every point of a trial.
pub struct HostRunner<'a> {
    /// The host.
    pub root: &'a Root,
    /// The job.
    pub workload: &'a mut dyn Workload,
    /// Cell label to policy.
    pub policies: BTreeMap<String, Policy>,
    /// Where swap files and caches go.
    pub places: &'a Places,
    /// The change journal.
    pub journal: &'a Journal,
    /// The right to change this host.
    pub lock: &'a HostLock,
    /// Restores the host should we be killed.
    pub watcher: &'a mut Watcher,
    /// Ctrl-C.
    pub interrupt: &'a Interrupt,
    /// A run longer than this is stopped.
    pub timeout: f64,
    /// A run is invalid where the hypervisor took a larger share of the CPU time.
    pub steal_limit: f64,
    /// The page cache before a run.
    pub drop_caches: DropCaches,
    /// Bytes of free memory that are touched before each point, at most.
    pub warm_memory: u64,
    /// The metrics that are read from the job's output.
    pub output_metrics: Vec<OutputMetric>,
    /// Folder in which each run gets an empty scratch folder.
    pub scratch: PathBuf,
    /// Called about ten times a second while a point runs.
    pub tick: Box<dyn FnMut() + 'a>,
    /// The data that come back before every point.
    pub dataset: Option<Dataset>,
    /// Where each point's recording goes, and what it holds. `None` records nothing.
    pub recordings: Option<Recordings>,
    /// Where the last lines of jobs that fail go. `None` keeps none.
    pub said: Option<LastLines>,
    /// What the gate remembers.
    pub gate: Gate,
    /// The settings that no policy names.
    pub other_settings: OtherSettings,
    /// Said once, not at every point.
    pub warned_of_absent_jvm: bool,
    /// What is to be told of every point that runs after a pause.
    pub since_resumed: Vec<String>,
    /// What is to be told of the point that runs.
    pub told: Vec<Warning>,
    /// Why the last point was invalid, where it was.
    pub invalid: Option<Invalid>,
}

/// A metric that a regular expression finds in the job's output.
#[derive(Clone, Debug)]
pub struct OutputMetric {
    /// Its name in the plan: `regex:PATTERN`.
    pub name: String,
    /// The pattern. Its last match counts.
    pub pattern: NumberPattern,
}

impl OutputMetric {
    /// Finds the number in the output, standard output before standard error.
    fn find(&self, job: &JobEnded) -> Result<f64, String> {
        let texts = job.commands.iter().flat_map(|ended| [&ended.stdout, &ended.stderr]);
        let number = texts.filter_map(|text| self.pattern.matches(text).last()).next();
        let number = number.ok_or_else(|| format!("the job's output has nothing that matches {}", self.pattern))?;
        number.parse().map_err(|_| format!("{} matched '{number}', {NO_NUMBER}", self.pattern))
    }
}

/// What ended a point early or late, put into words for the bundle.
struct Ending {
    outcome: Outcome,
    reason: Option<String>,
    /// Why it makes the point invalid, where it does.
    invalid: Option<Invalid>,
}

impl Ending {
    fn ok() -> Ending {
        Ending { outcome: Outcome::Ok, reason: None, invalid: None }
    }

    fn invalid(why: Invalid) -> Ending {
        let ending = Ending::because(Outcome::Invalid, why.to_string());
        Ending { invalid: Some(why), ..ending }
    }

    fn because(outcome: Outcome, reason: impl Into<String>) -> Ending {
        Ending { outcome, reason: Some(reason.into()), invalid: None }
    }
}

/// A run that was measured.
struct Measured {
    started_at: String,
    job: JobEnded,
    before: Totals,
    after: Totals,
    measures: measure::Measures,
    /// Kills among the run's own processes; `None` when it had no cgroup to count them.
    own_oom_kills: Option<u64>,
    /// Whether what the workload had going on beside the job went on to its end.
    beside: Result<(), WorkloadError>,
}

impl PointRunner for HostRunner<'_> {
    fn instant(&self) -> (String, String) {
        (now(), source::boot_id(self.root).unwrap_or_default())
    }

    fn host(&self) -> HostFacts {
        host_facts(self.root, Some(&self.places.cache))
    }

    fn remedy(&self) -> Option<&'static str> {
        self.invalid.as_ref().and_then(Invalid::remedy)
    }

    fn boot_needed(&self, planned: &PlannedPoint) -> Option<Boot> {
        let policy = self.policies.get(&planned.cell)?;
        let resolved = tunable::resolve(self.root, self.places, policy).ok()?;
        let missing = resolved.boot.iter().filter(|setting| !setting.is_in_force(self.root));
        let settings: BTreeMap<String, String> =
            missing.map(|setting| (setting.tunable.name.clone(), setting.value.clone())).collect();
        (!settings.is_empty()).then_some(Boot { settings })
    }

    fn run_point(
        &mut self,
        planned: &PlannedPoint,
        attempt: u32,
        starting: Starting<'_>,
    ) -> Result<Record, TrialError> {
        self.told.clear();
        for note in self.since_resumed.clone() {
            self.tell("since-resumed", format!("Since the trial was resumed: {note}."));
        }
        let pause = self.invalid.take().map_or(Duration::ZERO, |invalid| invalid.pause(attempt));
        self.interrupt.wait(pause);
        let policy = self.policies.get(&planned.cell).cloned().unwrap_or_default();
        let resolved = tunable::resolve(self.root, self.places, &policy)?;
        let mut context = RunContext::new(self.fresh_scratch(planned, attempt)?, resolved.job.clone());
        if let Some(dataset) = &mut self.dataset {
            context.data = Some(dataset.restore(&NoProgress, self.interrupt)?.folder);
        }
        let commands = self.workload.prepare_run(&context)?;
        self.settle_page_cache();

        // Nothing is written that nobody would put back.
        self.watcher.ensure_alive().map_err(ChangeError::from)?;
        let change = self.journal.apply(self.lock, &resolved, &policy.to_string(), Lease::Owner, &mut |_| {})?;
        let applied = change.applied().to_vec();
        let measured = self.run_under((planned, attempt), (&resolved, &change), &context, commands, starting);
        let foreign = foreign_changes(&change);
        for broken in change.broken_promises() {
            self.tell("memory-mended", format!("When it ended, {broken}."));
        }
        let undone = change.undo(self.lock).map_err(TrialError::from).and_then(whole);
        let cleanup_scratch = context.scratch.clone();
        let result = self.judge(planned, attempt, applied, measured, foreign, &context);
        let cleaned = self.workload.clean_run(&context);
        let _ = fs::remove_dir_all(cleanup_scratch);
        undone?;
        let record = result?;
        cleaned?;
        Ok(record)
    }
}

impl HostRunner<'_> {
    fn fresh_scratch(&self, planned: &PlannedPoint, attempt: u32) -> Result<PathBuf, TrialError> {
        let folder = self.scratch.join(format!("run-{}-{attempt}", planned.index));
        let file_error = |source| TrialError::File { action: "create", path: folder.clone(), source };
        if folder.exists() {
            fs::remove_dir_all(&folder).map_err(file_error)?;
        }
        fs::create_dir_all(&folder).map_err(file_error)?;
        Ok(folder)
    }

    /// Writes dirty pages back and, where the plan wants it and we may, drops the page cache: so that no run reads what
    /// another left in memory.
    fn settle_page_cache(&mut self) {
        let wanted = match self.drop_caches {
            DropCaches::Yes => true,
            DropCaches::No => false,
            DropCaches::Auto => self.workload.is_builtin(),
        };
        if !wanted {
            return;
        }
        rustix::fs::sync();
        if let Err(error) = self.root.write("/proc/sys/vm/drop_caches", "3") {
            tracing::debug!("the page cache was not dropped: {error}");
            // Whoever asked for it has to know; by default it is a favour.
            if self.drop_caches == DropCaches::Yes {
                self.tell("cache-not-dropped", format!("The page cache was not dropped before it: {error}."));
            }
        }
    }

    /// Right before the job: what is free goes back to a hypervisor by and by.
    fn warm_memory(&mut self) -> Result<(), TrialError> {
        let most = self.warm_memory;
        let touched = touch::before_run(self.root, most, self.interrupt)?;
        if touched < most {
            let text = format!("Of {} that were to be touched before it, {} were free.", Bytes(most), Bytes(touched));
            self.tell("memory-not-warm", text);
        }
        Ok(())
    }

    fn run_under(
        &mut self,
        (planned, attempt): (&PlannedPoint, u32),
        (resolved, change): (&Resolved, &Change),
        context: &RunContext,
        commands: Vec<Command>,
        starting: Starting<'_>,
    ) -> Result<Result<Measured, Invalid>, TrialError> {
        let root = self.root;
        let mut drifted = || {
            let mut drifts = change.drift().into_iter().chain(change.broken_promises());
            let drift = drifts.next().map(|drift| format!("the policy does not hold: {drift}"));
            let not_yet =
                || resolved.host.iter().find_map(|setting| tunable::not_yet(root, &setting.tunable, &setting.value));
            drift.or_else(not_yet)
        };
        let mut waited_for = None;
        let mut tell = |reason: &str| {
            waited_for = Some(reason.to_owned());
            tracing::warn!("run {} waits for the host, {} s at most: {reason}", planned.index + 1, PATIENCE.as_secs());
            // Only told: whoever looks at the trial would like to know, and nothing rests on it.
            let _ = starting(PointStage::Waits(reason));
        };
        match self.gate.wait(&planned.cell, self.root, self.interrupt, &mut drifted, &mut tell)? {
            Decision::Open => {}
            Decision::OpenWithMore(reason) => self.tell("memory-freer", format!("Before it started, {reason}.")),
            Decision::GivenUp(reason) => return Ok(Err(Invalid::NotAtRest(reason))),
        }
        if let Some(reason) = waited_for {
            self.tell("waited-for-host", format!("It waited before it started: {reason}."));
        }
        if let Some(differs) = self.other_settings.begin(&planned.cell) {
            self.tell_of_settings(planned, format!("When it started, {differs}."));
        }
        self.warm_memory()?;
        let scope = Scope::create(self.root);
        // Before the job starts, so that it cannot outlive us from its first moment on.
        let _ = self.watcher.set_scope(scope.folder(), &[]);
        let measured = scope
            .limit(&context.job.cgroup_limits)
            .map_err(TrialError::from)
            .and_then(|()| Ok(self.workload.start_beside(context, scope.folder())?))
            .and_then(|()| starting(PointStage::Starts))
            .and_then(|()| {
                let recorder = self.start_recording(planned, attempt, scope.folder());
                let measured = self.measure(&scope, context, commands);
                if let Some(Ok(summary)) = recorder.map(Recorder::finish)
                    && let Some(why) = summary.ended
                {
                    tracing::warn!("the recording of point {} ended early: {why}", planned.index + 1);
                    self.tell("recording-ended", format!("Its recording ended early: {why}."));
                }
                measured
            });
        scope.remove();
        let _ = self.watcher.set_scope(None, &[]);
        let is_of_policy = |name: &str| change.applied().iter().any(|setting| setting.tunable == name);
        if let Some(changed) = self.other_settings.end(is_of_policy) {
            self.tell_of_settings(planned, format!("Read it with care: {changed}."));
        }
        measured.map(Ok)
    }

    /// The recorder of a point, where the plan has one and it could be had.
    fn start_recording(&mut self, planned: &PlannedPoint, attempt: u32, job: Option<&Path>) -> Option<Recorder> {
        let started = self.recordings.as_ref()?.start_point(self.root, planned, attempt, job);
        match started {
            Ok((recorder, without_group)) => {
                if let Some(why) = without_group {
                    self.tell("cgroup-not-recorded", format!("Its recording is without the job's cgroup: {why}."));
                }
                Some(recorder)
            }
            Err(error) => {
                self.tell("not-recorded", format!("It was not recorded: {error}."));
                None
            }
        }
    }

    fn measure(
        &mut self,
        scope: &Scope,
        context: &RunContext,
        mut commands: Vec<Command>,
    ) -> Result<Measured, TrialError> {
        let RunContext { job, scratch, .. } = context;
        let metrics_file = scratch.join("metrics.jsonl");
        for command in &mut commands {
            let metrics = metrics_file.to_string_lossy().into_owned();
            command.env.insert("PAGEWISE_METRICS".to_owned(), metrics);
        }
        let limits = Limits {
            timeout: Some(self.timeout),
            interrupt: Some(self.interrupt),
            cgroup: scope.folder(),
            thp: job.process_thp,
        };
        let started_at = now();
        let before = Totals::read(self.root);
        let mut watch = PointWatch {
            memory: MemoryWatch::new(self.root, scope),
            scope,
            watcher: self.watcher,
            other_settings: &mut self.other_settings,
            tick: &mut self.tick,
            announced: Vec::new(),
            lost_watcher: None,
        };
        let ran = process::run(&commands, limits, &mut watch)?;
        let after = Totals::read(self.root);
        let beside = self.workload.end_beside();
        let mut measures = measure::collect(&before, &after, &ran, scope.user_time(), &watch.memory);
        if let Some(error) = watch.lost_watcher {
            return Err(error.into());
        }
        self.warn_of_absent_jvm(job, &ran);
        let own_oom_kills = scope.oom_kills();
        let ended_well = ran.stopped.is_none()
            && own_oom_kills.unwrap_or(0) == 0
            && ran.commands.iter().all(|ended| ended.status.is_success());
        match read_metrics(&metrics_file)?.map(|text| measure::custom_metrics(&text, &mut measures)) {
            // A job that was killed while it wrote leaves half a line. How it ended is the result, and is kept.
            Some(Err(what)) if !ended_well => tracing::debug!("{what}"),
            Some(Err(what)) => return Err(WorkloadError::Step(what).into()),
            Some(Ok(())) | None => {}
        }
        for metric in &self.output_metrics {
            measures.put_or_miss(&metric.name, metric.find(&ran));
        }
        for own in self.workload.measures() {
            measures.put_or_miss(own.name, self.workload.measure(own.name, context, &ran));
            measures.custom_units.insert(own.name.to_owned(), own.unit.to_owned());
        }
        Ok(Measured { started_at, job: ran, before, after, measures, own_oom_kills, beside })
    }

    fn tell(&mut self, id: &str, text: String) {
        self.told.push(Warning { id: id.to_owned(), text });
    }

    /// Somebody who watches can end what tunes the host, and need not wait for the report to hear of it.
    fn tell_of_settings(&mut self, planned: &PlannedPoint, text: String) {
        tracing::warn!("run {}: {text}", planned.index + 1);
        self.tell("settings-changed", text);
    }

    /// Every JVM says on its standard error that it took `JAVA_TOOL_OPTIONS`. A policy of `jvm.*` whose job has no JVM, or
    /// one that clears its environment, compares nothing.
    fn warn_of_absent_jvm(&mut self, job: &JobSettings, ran: &JobEnded) {
        const SAID: &str = "Picked up JAVA_TOOL_OPTIONS";
        let took = |ended: &process::Ended| ended.stderr.contains(SAID) || ended.stdout.contains(SAID);
        if job.java_options.is_empty() || ran.commands.iter().any(took) {
            return;
        }
        let text = format!(
            "the policy sets {}, but no JVM of the job said that it took it: either the job starts none, or it clears \
             JAVA_TOOL_OPTIONS or hides its standard error. The comparison may show nothing",
            job.java_options.join(" ")
        );
        if !std::mem::replace(&mut self.warned_of_absent_jvm, true) {
            tracing::warn!("{text}");
        }
        self.tell("no-jvm", format!("{text}."));
    }

    fn judge(
        &mut self,
        planned: &PlannedPoint,
        attempt: u32,
        applied: Vec<AppliedSetting>,
        measured: Result<Result<Measured, Invalid>, TrialError>,
        foreign: Option<Invalid>,
        context: &RunContext,
    ) -> Result<Record, TrialError> {
        let begun = Point::begun(planned, attempt, self.instant());
        let mut point = Point { applied, warnings: std::mem::take(&mut self.told), ..begun };
        let empty = BTreeMap::new;
        let measured = match measured? {
            Ok(measured) => measured,
            Err(invalid) => {
                (point.reason, self.invalid) = (Some(invalid.to_string()), Some(invalid));
                return Ok(Record { point, vmstat_before: empty(), vmstat_after: empty() });
            }
        };
        let ending = self.ending(planned, &measured, foreign, context)?;
        self.invalid = ending.invalid;
        point.started_at = measured.started_at;
        (point.outcome, point.reason) = (ending.outcome, ending.reason);
        if matches!(point.outcome, Outcome::Failed | Outcome::Oom | Outcome::Timeout)
            && let Some(file) = self.said.as_ref().and_then(|said| said.keep(planned, attempt, &measured.job))
        {
            point.reason = point.reason.map(|reason| format!("{reason} (more in the bundle: {file})"));
        }
        point.measures = measured.measures.values;
        point.absent = measured.measures.absent;
        point.custom_units = measured.measures.custom_units;
        let vmstat_before = measured.before.vmstat.unwrap_or_default();
        let vmstat_after = measured.after.vmstat.unwrap_or_default();
        Ok(Record { point, vmstat_before, vmstat_after })
    }

    /// Why the time of a run says more about others than about the run.
    fn time_is_wrong(&self, measured: &Measured) -> Option<Invalid> {
        let limit = self.steal_limit;
        if let Some(share) = measured.after.steal_since(&measured.before).filter(|share| *share > limit) {
            return Some(Invalid::Stolen { share, limit });
        }
        let JobEnded { wall, noticed_late, .. } = measured.job;
        (noticed_late > (LATE_LIMIT_SHARE * wall).max(LATE_LIMIT_SECONDS)).then_some(Invalid::NoticedLate(noticed_late))
    }

    fn ending(
        &mut self,
        planned: &PlannedPoint,
        measured: &Measured,
        foreign: Option<Invalid>,
        context: &RunContext,
    ) -> Result<Ending, TrialError> {
        if measured.job.stopped == Some(Stopped::Interrupted) {
            return Err(TrialError::Interrupted);
        }
        if let Some(foreign) = foreign {
            return Ok(Ending::invalid(foreign));
        }
        // How long a warm-up takes counts for nothing, only how it ends.
        if !planned.is_warmup()
            && let Some(wrong) = self.time_is_wrong(measured)
        {
            return Ok(Ending::invalid(wrong));
        }
        if measured.job.stopped == Some(Stopped::Timeout) {
            let reason = format!("stopped after {} (--timeout)", words::seconds(self.timeout));
            return Ok(Ending::because(Outcome::Timeout, reason));
        }
        // A job that lost a process and still exits with 0, because a shell or a framework covered for it, was killed for
        // lack of memory all the same.
        if measured.own_oom_kills.is_some_and(|kills| kills > 0) {
            return Ok(Ending::because(Outcome::Oom, "the kernel killed a process of the job for lack of memory"));
        }
        if let Some(failed) = measured.job.commands.iter().find(|ended| !ended.status.is_success()) {
            let on_host = measured.after.oom_kills_since(&measured.before).unwrap_or(0);
            if measured.own_oom_kills.is_none() && on_host > 0 {
                let reason = "it failed, and the kernel killed a process of this host for lack of memory meanwhile";
                return Ok(Ending::because(Outcome::Oom, reason));
            }
            let reason = self.workload.failure_reason(failed);
            return Ok(Ending::because(Outcome::Failed, reason));
        }
        if let Err(why) = &measured.beside {
            return Ok(Ending::because(Outcome::Invalid, why.to_string()));
        }
        Ok(match self.workload.verify_run(context)? {
            Verification::Wrong(reason) => Ending::because(Outcome::Wrong, reason),
            Verification::Right | Verification::NotChecked => Ending::ok(),
        })
    }
}

/// What the job wrote to `$PAGEWISE_METRICS`; `None` when it wrote nothing. Bytes that are no UTF-8 spoil their line alone.
fn read_metrics(file: &Path) -> Result<Option<String>, TrialError> {
    let failed = |source| TrialError::File { action: "read", path: file.to_owned(), source };
    match fs::symlink_metadata(file) {
        // A pipe would be waited on for ever.
        Ok(found) if !found.is_file() => {
            let what = format!("$PAGEWISE_METRICS ({}) is no plain file; the job must append to it", file.display());
            return Err(WorkloadError::Step(what).into());
        }
        Ok(_) => {}
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(failed(source)),
    }
    let bytes = fs::read(file).map_err(failed)?;
    Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
}

/// An undo that left something behind ends the trial: the next point would not start from the host as it was.
pub(super) fn whole(report: UndoReport) -> Result<(), TrialError> {
    match report.closed {
        Some(_) => Ok(()),
        None => Err(ChangeError::NotUndone { id: report.id, left: change::what_is_left(&report) }.into()),
    }
}

/// What someone else changed while the point ran. A promise that is broken afterwards is none of it: compaction that a level brings about
/// mends aged memory, too.
fn foreign_changes(change: &Change) -> Option<Invalid> {
    let drifts: Vec<String> = change.drift().iter().map(ToString::to_string).collect();
    (!drifts.is_empty()).then(|| Invalid::Changed(drifts.join("; ")))
}

fn now() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Everything that happens while the job runs.
struct PointWatch<'a, 'b> {
    memory: MemoryWatch<'a>,
    scope: &'a Scope,
    watcher: &'a mut Watcher,
    other_settings: &'a mut OtherSettings,
    tick: &'a mut Box<dyn FnMut() + 'b>,
    announced: Vec<u32>,
    lost_watcher: Option<ChangeError>,
}

impl Watch for PointWatch<'_, '_> {
    fn period(&self) -> Duration {
        self.memory.period()
    }

    fn tick(&mut self, running: &[u32]) -> bool {
        self.memory.tick(running);
        if running != self.announced {
            self.announced = running.to_vec();
            let _ = self.watcher.set_scope(self.scope.folder(), running);
        }
        self.other_settings.tick();
        (self.tick)();
        match self.watcher.ensure_alive() {
            Ok(()) => true,
            Err(error) => {
                self.lost_watcher = Some(error.into());
                false
            }
        }
    }
}

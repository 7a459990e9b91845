//! Trials of jobs: each point is a run of the workload on this host.

use super::audience::{ForwardedProgress, Note, Points};
use super::{HeldHost, Session, SessionError};
use crate::restore::{Dataset, noted};
use crate::root::Root;
use crate::source::process;
use crate::store::bundle::Bundle;
use crate::trial::engine;
use crate::trial::gate::Gate;
use crate::trial::other_settings::OtherSettings;
use crate::trial::recordings::Recordings;
use crate::trial::runner::{HostRunner, OutputMetric};
use crate::trial::said::LastLines;
use crate::trial::touch;
use crate::tunable::watcher::Watcher;
use crate::workload::Workload;
use pagewise_core::experiment::data::Restore;
use pagewise_core::experiment::number_pattern::{self, NumberPattern};
use pagewise_core::experiment::plan::cells::cells;
use pagewise_core::experiment::plan::{Metric, Plan};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

impl Session<'_> {
    /// Prepares the workload, lets `bundle` be made, runs it, and puts everything back.
    pub(super) fn run(
        &self,
        held: HeldHost,
        plan: &Plan,
        bundle: impl FnOnce(&mut HostRunner<'_>) -> Result<Bundle, SessionError>,
    ) -> Result<Bundle, SessionError> {
        let (bundle, outcome) = self.with_runner(held, plan, |runner, told| {
            let mut bundle = bundle(runner)?;
            runner.recordings = Recordings::of(&bundle)?;
            runner.said = Some(LastLines::of(&bundle));
            let outcome = engine::run(&mut bundle, runner, &mut ForwardedProgress(told));
            Ok((bundle, outcome))
        })?;
        self.end(bundle, outcome)
    }

    /// Prepares the workload, lets `work` be done with a runner of points on this host, and puts everything back.
    pub(in crate::trial) fn with_runner<T>(
        &self,
        held: HeldHost,
        plan: &Plan,
        work: impl FnOnce(&mut HostRunner<'_>, &dyn Points) -> Result<T, SessionError>,
    ) -> Result<T, SessionError> {
        let HeldHost { journal, lock } = held;
        let mut workload = self.workload(plan)?;
        let policies: BTreeMap<_, _> = cells(plan)?.into_iter().map(|cell| (cell.label, cell.policy)).collect();
        let workspace = self.places.cache.join("restore");
        let mut watcher = Watcher::start(&self.places.state, &self.root)?;
        {
            let progress = self.audience.step();
            workload.prepare_trial(progress.as_ref())?;
            touch::once(&self.root, &self.interrupt, progress.as_ref())?;
        }
        let dataset = self.dataset(plan, workload.as_ref(), &workspace)?;
        if let Some(dataset) = &dataset {
            watcher.set_workspace(Some(dataset.workspace()))?;
        }
        let restores = dataset.is_some();
        let scratch = Scratch::create(&self.places.cache)?;
        let told = self.audience.points(plan, &self.interrupt);
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
            steal_limit: plan.design.steal_limit,
            drop_caches: plan.design.drop_caches,
            warm_memory: plan.design.warm_memory_bytes(),
            output_metrics: output_metrics(plan)?,
            scratch: scratch.0.clone(),
            tick: Box::new(|| told.tick()),
            dataset,
            recordings: None,
            said: None,
            gate: Gate::new(&plan.design),
            other_settings: OtherSettings::new(&self.root),
            warned_of_absent_jvm: false,
            since_resumed: Vec::new(),
            told: Vec::new(),
            invalid: None,
        };
        let worked = work(&mut runner, told.as_ref());
        let released = runner.dataset.as_mut().map_or(Ok(()), Dataset::release);
        drop(runner);
        told.over();
        match released {
            Ok(()) if restores => noted::forget(&self.places.state, &workspace),
            Ok(()) => {}
            Err(error) => self.audience.note(Note::NotPutAway(&error.to_string())),
        }
        watcher.finish();
        drop(told);
        worked
    }

    /// The data that come back before every point, ready to be restored.
    fn dataset(&self, plan: &Plan, workload: &dyn Workload, workspace: &Path) -> Result<Option<Dataset>, SessionError> {
        if plan.data.restore == Restore::None {
            return Ok(None);
        }
        let no_data = || SessionError::NoData { restore: plan.data.restore, option: self.words.data };
        let source = workload.data_source().ok_or_else(no_data)?;
        let progress = self.audience.step();
        // On disk before the first mount: what a double kill leaves is found by the next verb.
        noted::note(&self.places.state, workspace)?;
        let opened = Dataset::open(&plan.data, &source, workspace, progress.as_ref(), &self.interrupt);
        Ok(Some(opened?))
    }
}

/// A folder for the runs' scratch files, gone with the trial.
struct Scratch(PathBuf);

impl Scratch {
    fn create(cache: &Path) -> Result<Scratch, SessionError> {
        let folder = cache.join("runs").join(scratch_name(std::process::id()));
        fs::create_dir_all(&folder).map_err(|source| SessionError::Scratch { path: folder.clone(), source })?;
        Ok(Scratch(folder))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A process by its number and its start: numbers come again, on a busy host within minutes.
fn scratch_name(pid: u32) -> String {
    format!("{pid}-{}", process::start_time(&Root::live(), pid).unwrap_or_default())
}

/// Scratch folders of processes that are gone: a kill leaves them behind.
pub(super) fn remove_old_scratch(cache: &Path) {
    let Ok(folders) = fs::read_dir(cache.join("runs")) else { return };
    for folder in folders.filter_map(Result::ok) {
        let name = folder.file_name().to_string_lossy().into_owned();
        // A folder of somebody else's is left alone; one of an older version has no start.
        let Ok(pid) = name.split('-').next().unwrap_or_default().parse() else { continue };
        if name != scratch_name(pid) {
            let _ = fs::remove_dir_all(folder.path());
        }
    }
}

/// Metrics that a regular expression finds in the job's output.
fn output_metrics(plan: &Plan) -> Result<Vec<OutputMetric>, SessionError> {
    let patterns = plan.metrics.iter().filter_map(|metric| Some((metric, number_pattern::of_metric(metric.place())?)));
    let compiled = |(metric, pattern): (&Metric, &str)| {
        Ok(OutputMetric { name: metric.name.clone(), pattern: NumberPattern::parse(pattern)? })
    };
    patterns.map(compiled).collect()
}

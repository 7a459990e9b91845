//! The one loop that runs every trial: take the next point, write down that it starts, run it, write down what it gave.

use super::invalid::Invalid;
use super::measure::NO_NUMBER;
use crate::lab::LabError;
use crate::process::Interrupted;
use crate::restore::RestoreError;
use crate::source::SourceError;
use crate::store::bundle::{Bundle, BundleError};
use crate::tunable::TunableError;
use crate::tunable::change::ChangeError;
use crate::workload::WorkloadError;
use pagewise_core::experiment::live::Ended;
use pagewise_core::experiment::next::{Next, cut_pairs, invalidated_by, next};
use pagewise_core::experiment::order::Order;
use pagewise_core::experiment::plan::{Plan, StoppingRule, numbers};
use pagewise_core::experiment::point::{Boot, Outcome, PlannedPoint, Point, Record};
use pagewise_core::experiment::stopping;
use pagewise_core::report::facts::HostFacts;

/// Runs one point. On this host that is [`super::runner::HostRunner`]; tests script it.
pub trait PointRunner {
    /// What must be booted before this point can run; `None` when it can run now.
    fn boot_needed(&self, _planned: &PlannedPoint) -> Option<Boot> {
        None
    }

    /// Boots what a point needs, where it runs: the next [`PointRunner::instant`] is of that boot.
    ///
    /// # Errors
    /// When what is booted does not come up.
    fn boot(&mut self, _planned: &PlannedPoint, _boot: &Boot) -> Result<Booting, TrialError> {
        Ok(Booting::ByTheUser)
    }

    /// Runs it and says what it gave. A job that fails is a result, not an error. Calls `starting` while it waits for the
    /// host, and when everything is ready and the job is about to start.
    ///
    /// # Errors
    /// What stops the trial: Ctrl-C, or a host that cannot be measured or changed.
    fn run_point(&mut self, planned: &PlannedPoint, attempt: u32, starting: Starting<'_>)
    -> Result<Record, TrialError>;

    /// The instant and the boot a point starts in.
    fn instant(&self) -> (String, String);

    /// The host in that boot, written down with the first point in it.
    fn host(&self) -> HostFacts;

    /// What may help where points are invalid as the last one was.
    fn remedy(&self) -> Option<&'static str> {
        None
    }
}

/// Who boots what a point needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Booting {
    /// The runner did.
    Done,
    /// Only the user can: the trial stops, and goes on after the boot.
    ByTheUser,
}

/// Told how far a point is on its way to its job, so that it can be written down first.
pub type Starting<'a> = &'a mut dyn FnMut(PointStage<'_>) -> Result<(), TrialError>;

/// How far a point is on its way to its job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PointStage<'a> {
    /// The host is not at rest, for this reason.
    Waits(&'a str),
    /// The job is about to start.
    Starts,
}

/// Is told how the trial goes.
pub trait Observer {
    /// A point starts; `done` of `total` points have a result.
    fn starting(&mut self, planned: &PlannedPoint, attempt: u32, done: usize, total: usize);
    /// A point ended.
    fn ended(&mut self, point: &Point, done: usize, total: usize);
}

/// Why a trial stopped before its end.
#[derive(Debug, thiserror::Error)]
pub enum TrialError {
    /// Ctrl-C, or SIGTERM.
    #[error("interrupted")]
    Interrupted,
    /// The same point was invalid again and again.
    #[error(
        "run {} ({level}) was invalid {times} times in a row, last because {reason}{}", index + 1,
        remedy.map(|remedy| format!(". {remedy}")).unwrap_or_default()
    )]
    GivenUp {
        /// Place in the order.
        index: u32,
        /// Its level.
        level: String,
        /// How often.
        times: u32,
        /// The last reason.
        reason: String,
        /// What may help against it.
        remedy: Option<&'static str>,
    },
    /// The next point needs a boot that only the user can make.
    #[error("point {} ({cell}) needs {needs}; boot it", index + 1)]
    NeedsBoot {
        /// Place in the order.
        index: u32,
        /// Its cell.
        cell: String,
        /// What to boot.
        needs: Boot,
    },
    /// A warm-up run failed: the comparison would only repeat that.
    #[error("the warm-up run under '{level}' ended as {outcome}: {reason}")]
    WarmupFailed {
        /// Its level.
        level: String,
        /// How it ended.
        outcome: &'static str,
        /// Why.
        reason: String,
    },
    /// A run went well but did not give what is to be compared, and none before it did: no other run would.
    #[error(
        "the {run} under '{level}' ended well but gave no {metric}: {reason}. Check the spelling of --metric, or of \
         [[metric]] in the plan, and that the job prints it or writes it to $PAGEWISE_METRICS; a plan is frozen once it runs, \
         so one that is mended begins a new trial"
    )]
    NoMetric {
        /// `warm-up run`, or `first run`.
        run: &'static str,
        /// Its level.
        level: String,
        /// What was to be compared.
        metric: String,
        /// Why it is absent.
        reason: String,
    },
    /// A live proof came to its end before its plan did. What is complete is a result.
    #[error("the proof ended early: {}", .0.reason)]
    EndedEarly(Ended),
    /// The user's metric of a live proof gives no number.
    #[error("the metric '{metric}' gives no number: {why}")]
    NoLiveMetric {
        /// As written.
        metric: String,
        /// Why.
        why: String,
    },
    /// The process of `--pid` is not there.
    #[error("there is no process {0}; give --pid the id of one that runs, as ps shows it")]
    NoProcess(u32),
    /// Points cannot be run in a guest, and would fail in the next as well.
    #[error("points cannot be run in the guest: {0}")]
    InGuest(String),
    /// A guest cannot be had.
    #[error(transparent)]
    Lab(LabError),
    /// The bundle.
    #[error(transparent)]
    Bundle(#[from] BundleError),
    /// The workload.
    #[error(transparent)]
    Workload(WorkloadError),
    /// A command could not be started.
    #[error(transparent)]
    Process(#[from] crate::process::ProcessError),
    /// The data could not be put back, or are not what they must be.
    #[error(transparent)]
    Restore(RestoreError),
    /// The run's cgroup.
    #[error(transparent)]
    Scope(#[from] crate::scope::ScopeError),
    /// A tunable.
    #[error(transparent)]
    Tunable(#[from] TunableError),
    /// The journal, or a write to the host.
    #[error(transparent)]
    Change(#[from] ChangeError),
    /// A kernel file everything rests on.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// A scratch file.
    #[error("cannot {action} {}: {source}", path.display())]
    File {
        /// What was tried.
        action: &'static str,
        /// Which file.
        path: std::path::PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

impl From<Interrupted> for TrialError {
    fn from(_: Interrupted) -> Self {
        TrialError::Interrupted
    }
}

impl From<LabError> for TrialError {
    fn from(error: LabError) -> Self {
        match error {
            LabError::Interrupted(_) => TrialError::Interrupted,
            other => TrialError::Lab(other),
        }
    }
}

impl From<RestoreError> for TrialError {
    fn from(error: RestoreError) -> Self {
        match error {
            RestoreError::Interrupted(_) => TrialError::Interrupted,
            other => TrialError::Restore(other),
        }
    }
}

impl From<WorkloadError> for TrialError {
    fn from(error: WorkloadError) -> Self {
        match error {
            WorkloadError::Interrupted(_) => TrialError::Interrupted,
            other => TrialError::Workload(other),
        }
    }
}

/// How often one point may be invalid in a row before the trial is given up.
const PATIENCE: u32 = 3;

/// Makes a bundle ready to go on after a pause: what was running is invalid, and so is the done half of a cut pair.
///
/// # Errors
/// When the bundle cannot be read or written.
pub fn close_pause(bundle: &Bundle) -> Result<(), BundleError> {
    for (index, attempt, had_started) in bundle.cut_off()? {
        bundle.invalidate(index, attempt, &Invalid::CutOff { had_started }.to_string())?;
    }
    for (index, attempt) in cut_pairs(&bundle.frozen().order, &bundle.points()?) {
        bundle.invalidate(index, attempt, &Invalid::PairCut.to_string())?;
    }
    Ok(())
}

/// Whether a run that ended well gave the metric, the first that did or a warm-up. What is absent from it would be absent from
/// every run.
///
/// # Errors
/// [`TrialError::NoMetric`].
pub fn has_metric(point: &Point, metric: &str) -> Result<(), TrialError> {
    if point.outcome != Outcome::Ok || point.measures.contains_key(metric) {
        return Ok(());
    }
    let reason = point.absent.get(metric).map_or("the run reports no such number", String::as_str).to_owned();
    let run = if point.planned.is_warmup() { "warm-up run" } else { "first run" };
    Err(TrialError::NoMetric { run, level: point.planned.cell.clone(), metric: metric.to_owned(), reason })
}

/// Whether the job of this run said nothing of what is to be compared, and no run before it gave it. A value that is no number is
/// said. A live proof tells by itself when its metric gives nothing.
fn is_first_without(plan: &Plan, point: &Point, before: &[Point]) -> bool {
    let metric = &plan.metric().name;
    let is_said = point.absent.get(metric).is_some_and(|reason| reason.contains(NO_NUMBER));
    plan.live.is_none() && !is_said && !before.iter().any(|before| before.measures.contains_key(metric))
}

/// Runs every point that has no result yet.
///
/// # Errors
/// What stops the trial. The bundle then holds everything that is complete.
pub fn run(bundle: &mut Bundle, runner: &mut dyn PointRunner, observer: &mut dyn Observer) -> Result<(), TrialError> {
    let order = bundle.frozen().order.clone();
    let mut points = bundle.points()?;
    let mut invalid_in_a_row = 0;
    let mut is_first = true;
    let mut boot: Option<String> = None;
    loop {
        if interim_analysis_if_due(bundle, &order, &points)? {
            return Ok(());
        }
        let Next::Run(planned, attempt) = next(&order, &points) else { return Ok(()) };
        let needs = runner.boot_needed(&planned).or_else(|| own_boot_needed(&planned, &points, &runner.instant().1));
        if let Some(needs) = needs
            && (runner.boot(&planned, &needs)? == Booting::ByTheUser || runner.boot_needed(&planned).is_some())
        {
            bundle.wait_for_boot(&planned, attempt, &needs.to_string())?;
            return Err(TrialError::NeedsBoot { index: planned.index, cell: planned.cell, needs });
        }
        let done = points.iter().filter(|point| point.outcome != Outcome::Invalid).count();
        observer.starting(&planned, attempt, done, order.points.len());
        let (now, boot_id) = runner.instant();
        if boot.as_ref() != Some(&boot_id) {
            bundle.keep_host(&boot_id, &runner.host())?;
            boot = Some(boot_id.clone());
        }
        bundle.begin(&planned, attempt, &now, &boot_id)?;
        let mut starting = |way: PointStage<'_>| match way {
            PointStage::Waits(reason) => bundle.waits(&planned, attempt, reason).map_err(TrialError::from),
            PointStage::Starts => bundle.running(&planned, attempt).map_err(TrialError::from),
        };
        let mut record = match runner.run_point(&planned, attempt, &mut starting) {
            Ok(record) => record,
            Err(error) => {
                // The reason is worth keeping, but must not hide the error itself.
                let _ = bundle.invalidate(planned.index, attempt, &error.to_string());
                return Err(error);
            }
        };
        // A rule of the plan may guard a counter.
        record.point.counters = record.growth();
        let by_the_plan = invalidated_by(&bundle.plan().invalidations, &record.point);
        let remedy = if by_the_plan.is_none() { runner.remedy() } else { None };
        if let Some(reason) = by_the_plan {
            (record.point.outcome, record.point.reason) = (Outcome::Invalid, Some(reason));
        }
        bundle.finish(&record)?;
        let point = record.point;
        observer.ended(&point, done + usize::from(point.outcome != Outcome::Invalid), order.points.len());
        let reason = point.reason.clone().unwrap_or_default();
        if point.planned.is_warmup() && point.outcome.is_bad() {
            return Err(TrialError::WarmupFailed { level: planned.cell, outcome: point.outcome.word(), reason });
        }
        let metric = &bundle.plan().metric().name;
        if point.planned.is_warmup() || is_first_without(bundle.plan(), &point, &points) {
            has_metric(&point, metric)?;
        }
        if point.outcome == Outcome::Ok && std::mem::take(&mut is_first) {
            // Hours before the report would say so.
            let told = numbers::missing(bundle.plan(), [&point]);
            told.iter().for_each(|text| tracing::warn!("after the first good run: {text}"));
        }
        invalid_in_a_row = if point.outcome == Outcome::Invalid { invalid_in_a_row + 1 } else { 0 };
        if invalid_in_a_row >= PATIENCE {
            let (index, level) = (planned.index, planned.cell);
            return Err(TrialError::GivenUp { index, level, times: invalid_in_a_row, reason, remedy });
        }
        points.push(point);
    }
}

/// A whole plot is a boot of its own, also where the plot before had the same kernel: what varies from boot to boot is the error
/// that the kernels are compared against, and two plots of one boot would share it.
fn own_boot_needed(planned: &PlannedPoint, points: &[Point], boot_id: &str) -> Option<Boot> {
    planned.boot?;
    let is_of_another_plot = |point: &Point| point.planned.boot != planned.boot && point.boot_id == boot_id;
    points.iter().any(is_of_another_plot).then(Boot::default)
}

/// Makes an analysis that is due and was not made yet, and writes down what was decided. Gives whether the trial ends here: by
/// this analysis, or by one that an earlier run of the trial made.
fn interim_analysis_if_due(bundle: &Bundle, order: &Order, points: &[Point]) -> Result<bool, TrialError> {
    if bundle.plan().stopping.rule == StoppingRule::Fixed {
        return Ok(false);
    }
    let taken = bundle.interim_analyses()?;
    if taken.iter().any(|analysis| analysis.stop) {
        return Ok(true);
    }
    let Some(blocks) = stopping::due(bundle.plan(), order, points, &taken) else { return Ok(false) };
    let analysis = stopping::interim_analysis(bundle.plan(), order, points, blocks, &taken);
    bundle.keep_interim_analysis(&analysis, &jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string())?;
    Ok(analysis.stop)
}

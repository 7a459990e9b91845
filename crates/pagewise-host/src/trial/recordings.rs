//! What is recorded beside the points of a trial, and where it lies in the bundle.

use crate::record::{Options, RecordError, Recorder, Tracing};
use crate::root::Root;
use crate::source::cgroup::{self, Group};
use crate::store::bundle::{Bundle, BundleError};
use pagewise_core::experiment::plan::Recording;
use pagewise_core::experiment::point::PlannedPoint;
use std::path::{Path, PathBuf};

/// The folder inside a bundle.
pub(super) const FOLDER: &str = "recordings";

/// The recording of an attempt at a point.
pub(super) fn point_file(folder: &Path, index: u32, attempt: u32) -> PathBuf {
    folder.join(format!("{index}-{attempt}.pgw"))
}

/// The recording of a live proof: a file for each time it was begun or resumed, from 1.
pub(super) fn live_file(folder: &Path, part: u32) -> PathBuf {
    folder.join(format!("live-{part}.pgw"))
}

/// Where recordings go, and what they hold.
#[derive(Clone, Debug, PartialEq)]
pub struct Recordings {
    folder: PathBuf,
    declared: Recording,
}

impl Recordings {
    /// Those that the plan of a bundle asks for; `None` when it asks for none.
    ///
    /// # Errors
    /// When the folder cannot be made.
    pub fn of(bundle: &Bundle) -> Result<Option<Recordings>, BundleError> {
        let declared = bundle.plan().recording.clone();
        if declared.hz <= 0.0 {
            return Ok(None);
        }
        Ok(Some(Recordings { folder: bundle.make_folder(FOLDER)?, declared }))
    }

    /// Those of a plan, in a folder that is there; `None` when it asks for none.
    pub(super) fn in_folder(folder: PathBuf, declared: Recording) -> Option<Recordings> {
        (declared.hz > 0.0).then_some(Recordings { folder, declared })
    }

    /// Starts the recording of an attempt at a point, on the thread that starts its job, which runs in the cgroup `job`; with it why that
    /// cgroup is not in it, where it should be. A recording that cannot be had costs no point: the reason is told, and the bundle has
    /// one file less.
    pub fn start_point(
        &self,
        root: &Root,
        planned: &PlannedPoint,
        attempt: u32,
        job: Option<&Path>,
    ) -> Result<(Recorder, Option<String>), RecordError> {
        let meta = vec![
            ("point".to_owned(), planned.index.to_string()),
            ("attempt".to_owned(), attempt.to_string()),
            ("cell".to_owned(), planned.cell.clone()),
        ];
        let (options, without_group) = self.options(root, job, true);
        Recorder::start(root, &point_file(&self.folder, planned.index, attempt), &Options { meta, ..options })
            .map(|recorder| (recorder, without_group))
            .inspect_err(|error| tracing::warn!("point {} is not recorded: {error}", planned.index + 1))
    }

    /// Starts the recording of a whole live proof. One that cannot be had costs no block.
    pub fn start_live(&self, root: &Root, trial: &str, job: Option<&Path>) -> Option<Recorder> {
        let file = (1..).map(|part| live_file(&self.folder, part)).find(|file| !file.exists())?;
        let meta = vec![("trial".to_owned(), trial.to_owned())];
        let (options, _) = self.options(root, job, false);
        Recorder::start(root, &file, &Options { meta, ..options })
            .inspect_err(|error| tracing::warn!("the proof is not recorded: {error}"))
            .ok()
    }

    /// What a recorder is asked for, and why the job's cgroup is not in it where it should be.
    fn options(&self, root: &Root, job: Option<&Path>, with_command: bool) -> (Options, Option<String>) {
        let tracing = Tracing {
            stacks: (self.declared.stacks > 0).then_some(self.declared.stacks),
            stalls: self.declared.stalls,
            with_command,
            ..Tracing::default()
        };
        let (groups, why) = match self.group(root, job) {
            Some(Ok(group)) => (vec![group], None),
            Some(Err(why)) => (Vec::new(), Some(why)),
            None => (Vec::new(), None),
        };
        (Options { hz: self.declared.hz, groups, tracing, ..Options::default() }, why)
    }

    /// The job's cgroup, or why it cannot be recorded; `None` where nobody asked for it.
    fn group(&self, root: &Root, job: Option<&Path>) -> Option<Result<Group, String>> {
        let found = self.declared.cgroup.then(|| match job {
            Some(folder) => cgroup::find(root, &folder.to_string_lossy()).map_err(|error| error.to_string()),
            None => Err("the run has none; pagewise doctor says why".to_owned()),
        })?;
        Some(found.inspect_err(|why| tracing::warn!("the job's cgroup is not recorded: {why}")))
    }
}

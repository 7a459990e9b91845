//! The jobs a trial runs: prepare, run, verify, clean. Only what `prepare_run` returns is timed.

use crate::process::{Command, Interrupted};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// What a policy asks of the job rather than of the host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobSettings {
    /// `env.NAME=VALUE`.
    pub env: BTreeMap<String, String>,
    /// `jvm.FLAG=VALUE` as options for `JAVA_TOOL_OPTIONS`, in the order written.
    pub java_options: Vec<String>,
    /// `process.thp`.
    pub process_thp: Option<ProcessThp>,
    /// `cgroup[job].FILE=VALUE`: limits of the run's own memory cgroup, file name to value.
    pub cgroup_limits: BTreeMap<String, String>,
    /// `workload.ARG=VALUE`.
    pub workload_args: BTreeMap<String, String>,
}

/// Transparent huge pages for the job's processes alone, by `prctl(PR_SET_THP_DISABLE)` between fork and exec.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessThp {
    /// As the host's setting says.
    Default,
    /// None at all.
    Never,
    /// Only where the program advises it (`PR_THP_DISABLE_EXCEPT_ADVISED`, kernel 6.18 and later).
    ExceptAdvised,
}

/// One run as the workload sees it.
#[derive(Clone, Debug)]
pub struct RunContext {
    /// An empty folder for this run's scratch files; removed after `clean_run`.
    pub scratch: PathBuf,
    /// What the policy asks of the job.
    pub job: JobSettings,
}

/// What the job's output is worth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verification {
    /// It is right.
    Right,
    /// It is not, for this reason.
    Wrong(String),
    /// Nothing checks it.
    NotChecked,
}

/// Where a workload says how far it is, for anything longer than two seconds.
pub trait Progress {
    /// `what` is being done; `done` of 1 so far, when that can be told.
    fn stage(&self, what: &str, done: Option<f64>);
}

/// A job that can be run again and again under different policies.
pub trait Workload {
    /// In a few words with its size, for reports: `terasort, 1,000,000 rows`.
    fn describe(&self) -> String;

    /// Shipped with Pagewise. The page cache is dropped before its runs unless the user says otherwise.
    fn is_builtin(&self) -> bool;

    /// Once before the first run: input generated and checked, tools found. What is slow reports to `progress`.
    ///
    /// # Errors
    /// When something it needs is missing, or there is no room.
    fn prepare_trial(&mut self, progress: &dyn Progress) -> Result<(), WorkloadError>;

    /// Before every run, untimed. Returns what is timed: commands that start together.
    ///
    /// # Errors
    /// When the run cannot be set up, or the policy asks for an argument the workload does not have.
    fn prepare_run(&mut self, run: &RunContext) -> Result<Vec<Command>, WorkloadError>;

    /// After every run that ended well, untimed.
    ///
    /// # Errors
    /// When the check itself cannot be made.
    fn verify_run(&mut self, run: &RunContext) -> Result<Verification, WorkloadError>;

    /// After every run, whatever it gave.
    ///
    /// # Errors
    /// When something cannot be put away.
    fn clean_run(&mut self, run: &RunContext) -> Result<(), WorkloadError>;
}

/// Why a workload cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum WorkloadError {
    /// The user asked for something this workload does not have.
    #[error("{0}")]
    Usage(String),
    /// Something it needs is not here.
    #[error("{0}")]
    Missing(String),
    /// A file could not be handled.
    #[error("cannot {action} {}: {source}", path.display())]
    File {
        /// `create`, `read`, …
        action: &'static str,
        /// Which one.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A step of its own failed.
    #[error("{0}")]
    Step(String),
    /// Ctrl-C.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
}

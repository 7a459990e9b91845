//! The jobs a trial runs: prepare, run, verify, clean. Only what `prepare_run` returns is timed.

pub mod command;
pub mod terasort;

use crate::process::{Command, Ended, Interrupt, Interrupted};
use crate::progress::Progress;
use crate::root::Root;
use crate::sys::child::ProcessThp;
use pagewise_core::experiment::plan;
use pagewise_core::report::doctor::Capability;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The workloads that ship with Pagewise.
pub const BUILT_IN: &[&str] = &["terasort"];

/// What a workload is given beside the plan. Folders come from here, never from a plan.
#[derive(Clone, Debug)]
pub struct Surroundings {
    /// Where generated data and jars are kept.
    pub cache_dir: PathBuf,
    /// The Hadoop the user named with `--hadoop`.
    pub hadoop: Option<PathBuf>,
    /// The folder for data inside a cluster's file system.
    pub cluster_dir: String,
    /// The data of a command that are to be put back before every run, named with `--data`.
    pub data: Option<PathBuf>,
    /// Whether the user wants out.
    pub interrupt: Interrupt,
}

impl Surroundings {
    /// Everything by default but the cache.
    #[must_use]
    pub fn new(cache_dir: impl Into<PathBuf>, interrupt: Interrupt) -> Self {
        let cluster_dir = "pagewise".to_owned();
        Surroundings { cache_dir: cache_dir.into(), hadoop: None, cluster_dir, data: None, interrupt }
    }
}

/// The workload a plan names.
///
/// # Errors
/// [`WorkloadError::Usage`] when there is no such workload, or it has no such argument.
pub fn from_plan(declared: &plan::Workload, around: Surroundings) -> Result<Box<dyn Workload>, WorkloadError> {
    match declared.name.as_str() {
        "command" => Ok(Box::new(command::CommandWorkload::from_plan(declared, around)?)),
        "terasort" => Ok(Box::new(terasort::Terasort::from_plan(declared, around)?)),
        other => Err(WorkloadError::Usage(format!(
            "there is no workload '{other}'; built in: {}; your own: name = \"command\" with run = [...]",
            BUILT_IN.join(", ")
        ))),
    }
}

/// What `doctor` says of the programs that the built-in workloads need. `hadoop` is the configured one, `cache` the folder that
/// holds Pagewise's own.
#[must_use]
pub fn capabilities(root: &Root, hadoop: Option<&Path>, cache: Option<&Path>) -> Vec<Capability> {
    vec![terasort::found::capability(root, hadoop, cache)]
}

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

/// One run as the workload sees it.
#[derive(Clone, Debug)]
pub struct RunContext {
    /// An empty folder for this run's scratch files; removed after `clean_run`.
    pub scratch: PathBuf,
    /// What the policy asks of the job.
    pub job: JobSettings,
    /// The data as they were restored for this run: a copy of [`Workload::data_source`] on a file system with room for
    /// what the job writes. All of it is thrown away before the next run. `None` when nothing is restored.
    pub data: Option<PathBuf>,
}

impl RunContext {
    /// A run on data that nobody restores.
    #[must_use]
    pub fn new(scratch: impl Into<PathBuf>, job: JobSettings) -> Self {
        RunContext { scratch: scratch.into(), job, data: None }
    }
}

impl JobSettings {
    /// The variables of the job: `env.*`, and `jvm.*` behind what `JAVA_TOOL_OPTIONS` says already, so that the policy
    /// has the last word.
    #[must_use]
    pub fn environment(&self) -> BTreeMap<String, String> {
        const NAME: &str = "JAVA_TOOL_OPTIONS";
        let mut environment = self.env.clone();
        if self.java_options.is_empty() {
            return environment;
        }
        let before = environment.get(NAME).cloned().or_else(|| std::env::var(NAME).ok());
        let options: Vec<String> = before
            .filter(|text| !text.trim().is_empty())
            .into_iter()
            .chain(self.java_options.iter().map(|option| quoted_for_java(option)))
            .collect();
        environment.insert(NAME.to_owned(), options.join(" "));
        environment
    }
}

/// The JVM splits the variable at white space outside quotes (`src/hotspot/share/runtime/arguments.cpp`,
/// `parse_options_buffer`, JDK 17); inside quotes nothing is escaped.
fn quoted_for_java(option: &str) -> String {
    if !option.contains(char::is_whitespace) {
        return option.to_owned();
    }
    let quote = if option.contains('"') { '\'' } else { '"' };
    format!("{quote}{option}{quote}")
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

/// A job that can be run again and again under different policies.
pub trait Workload {
    /// In a few words with its size, for reports: `terasort, 1,000,000 rows`.
    fn describe(&self) -> String;

    /// Shipped with Pagewise. The page cache is dropped before its runs unless the user says otherwise.
    fn is_builtin(&self) -> bool;

    /// Why a policy for this host cannot act on the job: it runs on other machines. `None` when it runs here.
    fn runs_elsewhere(&self) -> Option<String> {
        None
    }

    /// What the user should know about the arguments: what was set right, what does nothing here. Complete after
    /// [`Workload::prepare_trial`].
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }

    /// Whether the job can take these settings, so that a trial is refused before its first run.
    ///
    /// # Errors
    /// [`WorkloadError::Usage`] with what is wrong.
    fn check_job(&self, _job: &JobSettings) -> Result<(), WorkloadError> {
        Ok(())
    }

    /// Once before the first run: input generated and checked, tools found. What is slow reports to `progress`.
    ///
    /// # Errors
    /// When something it needs is missing, or there is no room.
    fn prepare_trial(&mut self, progress: &dyn Progress) -> Result<(), WorkloadError>;

    /// The folder that has to be as it is before every run, known once [`Workload::prepare_trial`] is through. It is
    /// only read: a run is given a copy. `None` when a run changes nothing that the next one finds.
    fn data_source(&self) -> Option<PathBuf> {
        None
    }

    /// Before every run, untimed. Returns what is timed: commands that start together.
    ///
    /// # Errors
    /// When the run cannot be set up, or the policy asks for an argument the workload does not have.
    fn prepare_run(&mut self, run: &RunContext) -> Result<Vec<Command>, WorkloadError>;

    /// Why a timed command that ended badly did so, in one line.
    fn failure_reason(&self, ended: &Ended) -> String {
        format!("{}; its last words: {}", ended.status, ended.last_words())
    }

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

impl WorkloadError {
    pub(crate) fn file(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> WorkloadError {
        let path = path.into();
        move |source| WorkloadError::File { action, path, source }
    }
}

impl From<crate::process::ProcessError> for WorkloadError {
    fn from(error: crate::process::ProcessError) -> Self {
        WorkloadError::Missing(error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn java_options_stand_behind_the_ones_that_were_there() {
        let job = JobSettings {
            env: BTreeMap::from([("JAVA_TOOL_OPTIONS".to_owned(), "-Xint".to_owned())]),
            java_options: vec!["-XX:+UseTransparentHugePages".to_owned(), "-Da=b c".to_owned()],
            ..JobSettings::default()
        };
        assert_eq!(job.environment()["JAVA_TOOL_OPTIONS"], "-Xint -XX:+UseTransparentHugePages \"-Da=b c\"");
    }

    #[test]
    fn an_unknown_workload_is_refused_with_the_ones_there_are() {
        let declared = plan::Workload {
            name: "terasrot".to_owned(),
            run: vec![],
            prepare: vec![],
            verify: vec![],
            clean: vec![],
            args: BTreeMap::new(),
        };
        let error = from_plan(&declared, Surroundings::new("/nonexistent", Interrupt::default())).err().unwrap();
        assert!(error.to_string().contains("terasort"), "{error}");
    }
}

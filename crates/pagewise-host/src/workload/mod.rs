//! The jobs a trial runs: prepare, run, verify, clean. Only what `prepare_run` returns is timed.
//!
//! One that ships with Pagewise is a file or folder here and a line in [`BUILT_IN`]: it says itself what its arguments,
//! options, steps and measures are, and nothing outside of its file knows them.

pub mod command;
pub mod java;
pub mod jitter;
mod kept;
pub(crate) mod partial;
mod random;
pub mod spark;
pub mod terasort;

use crate::process::{Command, Ended, Interrupt, Interrupted, JobEnded};
use crate::progress::Progress;
use crate::root::Root;
use crate::sys::child::ProcessThp;
use pagewise_core::experiment::own_measure::OwnMeasure;
use pagewise_core::experiment::plan;
use pagewise_core::report::doctor::Capability;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// The workloads that ship with Pagewise.
pub const BUILT_IN: &[&BuiltIn] = &[
    &terasort::BUILT_IN,
    &jitter::BUILT_IN,
    &spark::micro::BUILT_IN,
    &spark::kmeans::BUILT_IN,
    &spark::logistic::BUILT_IN,
    &spark::pagerank::BUILT_IN,
];

/// Makes a workload as a plan declares it, or says what of it cannot be.
pub type FromPlan = fn(&plan::Workload, Surroundings) -> Result<Box<dyn Workload>, WorkloadError>;

/// A workload that ships with Pagewise, as far as it can be described before it runs.
#[derive(Debug)]
pub struct BuiltIn {
    /// Its name in plans and on the command line.
    pub name: &'static str,
    /// What it is, in a sentence without a full stop.
    pub about: &'static str,
    /// What a plan, a policy (`workload.NAME`) or the command line gives it.
    pub arguments: &'static [Argument],
    /// Where things lie that it works with. They come from the command line, a variable or the settings, never from a plan.
    pub options: &'static [Place],
    /// Measures of its own, which a plan may name as its metric.
    pub measures: &'static [OwnMeasure],
    /// What can be done with it beside preparing, running, verifying and cleaning.
    pub steps: &'static [OwnStep],
    /// What `verify` has found of an output that it calls right.
    pub right: &'static str,
    /// Words after `pagewise workload`, to begin with.
    pub examples: &'static [&'static str],
    /// Whether a plan may name a command of the user's with `run = [...]`, which is then part of the workload.
    pub takes_command: bool,
    /// Makes it as a plan declares it.
    pub from_plan: FromPlan,
}

/// An argument of a built-in workload.
#[derive(Debug)]
pub struct Argument {
    /// Its name.
    pub name: &'static str,
    /// What it is when it is not given.
    pub default: &'static str,
    /// What it means.
    pub about: &'static str,
}

/// A place that a built-in workload is told of: `--NAME`, the variable of [`Place::variable`], or `NAME = …` in the settings.
#[derive(Debug)]
pub struct Place {
    /// Its name.
    pub name: &'static str,
    /// What it means.
    pub about: &'static str,
    /// Whether it is a folder of this host, whose path may be made absolute.
    pub is_here: bool,
}

impl Place {
    /// The variable that gives it.
    #[must_use]
    pub fn variable(&self) -> String {
        format!("PAGEWISE_{}", self.name.to_uppercase().replace('-', "_"))
    }
}

/// A step that only one workload has.
#[derive(Debug)]
pub struct OwnStep {
    /// The word for it.
    pub name: &'static str,
    /// What it does.
    pub about: &'static str,
    /// Does it, and says in a line what there is now.
    pub run: fn(&Surroundings, &dyn Progress) -> Result<String, WorkloadError>,
}

/// The built-in workload of this name.
#[must_use]
pub fn built_in(name: &str) -> Option<&'static BuiltIn> {
    BUILT_IN.iter().copied().find(|workload| workload.name == name)
}

/// Measures that the workload of a plan brings.
#[must_use]
pub fn measures_of(declared: &plan::Workload) -> &'static [OwnMeasure] {
    built_in(&declared.name).map_or(&[], |workload| workload.measures)
}

/// Every place that some built-in workload can be told of, once.
pub fn places() -> impl Iterator<Item = &'static Place> {
    let all = BUILT_IN
        .iter()
        .enumerate()
        .flat_map(|(number, workload)| workload.options.iter().map(move |one| (number, one)));
    all.filter(|(number, one)| {
        let before = BUILT_IN[..*number].iter().flat_map(|workload| workload.options);
        !before.into_iter().any(|other| other.name == one.name)
    })
    .map(|(_, one)| one)
}

/// The places the user named, by the names of [`Place`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places(BTreeMap<String, OsString>);

impl Places {
    /// With this one, too.
    #[must_use]
    pub fn with(mut self, name: &str, place: impl Into<OsString>) -> Places {
        self.0.insert(name.to_owned(), place.into());
        self
    }

    /// What is not named here, as `others` have it.
    #[must_use]
    pub fn or(mut self, others: &Places) -> Places {
        for (name, place) in &others.0 {
            self.0.entry(name.clone()).or_insert_with(|| place.clone());
        }
        self
    }

    /// The place of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&OsStr> {
        self.0.get(name).map(OsString::as_os_str)
    }

    /// The same as a path.
    #[must_use]
    pub fn path(&self, name: &str) -> Option<&Path> {
        self.get(name).map(Path::new)
    }
}

/// What a workload is given beside the plan. Folders come from here, never from a plan.
#[derive(Clone, Debug)]
pub struct Surroundings {
    /// Where generated data and jars are kept.
    pub cache_dir: PathBuf,
    /// The places the user named; each workload reads its own.
    pub places: Places,
    /// The data of a command that are to be put back before every run, named with `--data`.
    pub data: Option<PathBuf>,
    /// Whether the user wants out.
    pub interrupt: Interrupt,
}

impl Surroundings {
    /// Everything by default but the cache.
    #[must_use]
    pub fn new(cache_dir: impl Into<PathBuf>, interrupt: Interrupt) -> Self {
        Surroundings { cache_dir: cache_dir.into(), places: Places::default(), data: None, interrupt }
    }
}

/// The workload a plan names.
///
/// # Errors
/// [`WorkloadError::Usage`] when there is no such workload, or it has no such argument.
pub fn from_plan(declared: &plan::Workload, around: Surroundings) -> Result<Box<dyn Workload>, WorkloadError> {
    if declared.name == "command" {
        return Ok(Box::new(command::CommandWorkload::from_plan(declared, around)?));
    }
    let Some(workload) = built_in(&declared.name) else {
        let names: Vec<&str> = BUILT_IN.iter().map(|workload| workload.name).collect();
        return Err(WorkloadError::Usage(format!(
            "there is no workload '{}'; built in: {}; your own: name = \"command\" with run = [...]",
            declared.name,
            names.join(", ")
        )));
    };
    let own = [&declared.prepare, &declared.verify, &declared.clean];
    if own.iter().any(|argv| !argv.is_empty()) || !(declared.run.is_empty() || workload.takes_command) {
        return Err(WorkloadError::Usage(format!(
            "the workload {} prepares, runs, verifies and cleans by itself; run, prepare, verify and clean are for the \
             workload 'command'",
            workload.name
        )));
    }
    (workload.from_plan)(declared, around)
}

/// The arguments of a plan as they would be typed.
fn as_typed(declared: &plan::Workload) -> impl Iterator<Item = (&str, String)> {
    declared.args.iter().map(|(name, value)| {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        (name.as_str(), text)
    })
}

/// What cannot be made absolute (the current folder is gone) is left as it is and fails where it is used.
fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf())
}

/// What `doctor` says of the programs that the built-in workloads need. `place` is where one of [`places`] is configured to be,
/// `cache` the folder that holds Pagewise's own.
#[must_use]
pub fn capabilities<'a>(
    root: &Root,
    place: impl Fn(&str) -> Option<&'a Path>,
    cache: Option<&Path>,
) -> Vec<Capability> {
    vec![
        terasort::found::capability(root, place("hadoop"), cache),
        spark::found::capability(root, place("spark"), cache),
    ]
}

/// What a policy asks of the job rather than of the host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobSettings {
    /// `env.NAME=VALUE`.
    pub env: BTreeMap<String, String>,
    /// `jvm.FLAG=VALUE` as a JVM's options, in the order written.
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
/// `parse_options_buffer`, JDK 17); inside quotes nothing is escaped. Spark splits `extraJavaOptions` likewise.
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

    /// Under the run's policy, with the host at rest and before the clock starts: brings about what goes on beside the timed commands,
    /// and waits until it is steady. `job` is the folder of the run's own cgroup.
    ///
    /// # Errors
    /// When it cannot be brought about.
    fn start_beside(&mut self, _run: &RunContext, _job: Option<&Path>) -> Result<(), WorkloadError> {
        Ok(())
    }

    /// At once after the timed commands, whatever they gave: ends what [`Workload::start_beside`] started.
    ///
    /// # Errors
    /// When what went on beside them ended before they did.
    fn end_beside(&mut self) -> Result<(), WorkloadError> {
        Ok(())
    }

    /// Why a timed command that ended badly did so, in one line.
    fn failure_reason(&self, ended: &Ended) -> String {
        format!("{}; its last words: {}", ended.status, ended.last_lines())
    }

    /// Measures of its own.
    fn measures(&self) -> &'static [OwnMeasure] {
        &[]
    }

    /// One of them, of a run that has ended and whose output is still there; or why there is none.
    ///
    /// # Errors
    /// The reason, in words.
    fn measure(&self, name: &str, _run: &RunContext, _ended: &JobEnded) -> Result<f64, String> {
        Err(format!("the workload does not measure {name}"))
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

    /// Removes what it keeps from trial to trial. Gives the folder it lay in; `None` when it keeps nothing.
    ///
    /// # Errors
    /// When something cannot be removed.
    fn forget(&mut self) -> Result<Option<PathBuf>, WorkloadError> {
        Ok(None)
    }
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
    fn what_a_workload_brings_has_names_of_its_own() {
        let mut names = Vec::new();
        for workload in BUILT_IN {
            for measure in workload.measures {
                assert!(pagewise_core::metric::find(measure.name).is_none(), "{} is in the catalogue", measure.name);
            }
            assert!(workload.name != "command" && !names.contains(&workload.name), "{}", workload.name);
            names.push(workload.name);
            for step in workload.steps {
                assert!(!["prepare", "run", "verify", "clean"].contains(&step.name), "{}", step.name);
            }
        }
    }

    #[test]
    fn places_are_named_once_and_those_given_win() {
        let mut names: Vec<&str> = places().map(|place| place.name).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        let given =
            Places::default().with("hadoop", "/mine").or(&Places::default().with("hadoop", "/theirs").with("b", "c"));
        assert_eq!((given.path("hadoop"), given.get("b")), (Some(Path::new("/mine")), Some(OsStr::new("c"))));
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

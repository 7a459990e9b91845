//! Workloads on Apache Spark: a program each, run in a JVM of its own on this host, its result checked after every run.
//!
//! A workload is a file here with its arguments and its check, and a file in `jvm/spark-workloads` with its program. The programs
//! are compiled against the Spark that runs them, so that one text serves all versions.

mod arguments;
mod distribution;
pub(super) mod found;
pub mod kmeans;
mod launch;
pub mod logistic;
pub mod micro;
mod outcome;
pub mod pagerank;

pub use distribution::Distribution;
pub use found::installed;

use super::java::{self, Java};
use super::{
    BuiltIn, JobSettings, OwnStep, Place, RunContext, Surroundings, Verification, Workload, WorkloadError, absolute,
    partial,
};
use crate::facts::programs;
use crate::process::{Command, Ended, Interrupt, JobEnded};
use crate::progress::Progress;
use crate::root::Root;
use arguments::{Arguments, Kind};
use launch::{COLLECTIONS, RESULT, Ready};
use outcome::Outcome;
use pagewise_core::experiment::own_measure::OwnMeasure;
use pagewise_core::experiment::plan;
use pagewise_core::metric::Direction;
use pagewise_core::stats::summary;
use std::path::PathBuf;

/// A program on Spark.
struct Program {
    built_in: &'static BuiltIn,
    /// Its main class.
    class: &'static str,
    /// What its own arguments may be.
    kinds: &'static [(&'static str, Kind)],
    /// In a few words with its size.
    described: fn(&Arguments) -> String,
    /// What is wrong with what a run gave; `None` when nothing is.
    fault: fn(&Arguments, &Outcome) -> Option<String>,
}

const PLACES: &[Place] = &[Place {
    name: "spark",
    about: "Your own Spark release [default: SPARK_HOME, then the fetched one]",
    is_here: true,
}];

const FETCH: &[OwnStep] = &[
    OwnStep { name: "fetch", about: "Bring Spark 4.3.0 into the cache, checked by its SHA-256", run: fetched },
    OwnStep { name: "fetch-4.2.0", about: "The same with Spark 4.2.0", run: |to, p| fetched_version(to, "4.2.0", p) },
    OwnStep { name: "fetch-4.1.3", about: "The same with Spark 4.1.3", run: |to, p| fetched_version(to, "4.1.3", p) },
    OwnStep { name: "fetch-4.0.1", about: "The same with Spark 4.0.1", run: |to, p| fetched_version(to, "4.0.1", p) },
    OwnStep { name: "fetch-3.5.6", about: "The same with Spark 3.5.6", run: |to, p| fetched_version(to, "3.5.6", p) },
];

const fn measure(name: &'static str, unit: &'static str, meaning: &'static str) -> OwnMeasure {
    OwnMeasure { name, unit, direction: Direction::Lower, meaning }
}

const MEASURES: &[OwnMeasure] = &[
    measure("iteration_wall_median", "seconds", "median time of an iteration, in the driver by System.nanoTime"),
    measure("iteration_wall_sum", "seconds", "time of all iterations"),
    measure("iteration_cpu_median", "seconds", "median CPU time of an iteration's tasks, Spark's executorCpuTime"),
    measure("load_wall", "seconds", "time to generate and cache what the iterations work on"),
    measure("cached_bytes", "bytes", "what Spark says lies in its storage memory"),
    measure("shuffled_bytes", "bytes", "what tasks wrote for shuffles"),
    measure("gc_pauses", "count", "pauses of all JVMs by their logs (-Xlog:gc)"),
    measure("gc_pause_sum", "seconds", "their sum"),
    measure("gc_pause_median", "seconds", "their median"),
    measure("gc_pause_p99", "seconds", "the time that 99 % of them stay below"),
];

fn fetched(around: &Surroundings, progress: &dyn Progress) -> Result<String, WorkloadError> {
    fetched_version(around, distribution::DEFAULT_VERSION, progress)
}

fn fetched_version(around: &Surroundings, version: &str, progress: &dyn Progress) -> Result<String, WorkloadError> {
    let folder = distribution::fetch(&absolute(&around.cache_dir), version, &around.interrupt, progress)?;
    Ok(format!("Spark {version} is in {}", folder.display()))
}

/// A program with its arguments, and once prepared with its Spark.
struct Spark {
    program: &'static Program,
    arguments: Arguments,
    cache_dir: PathBuf,
    flag: Option<PathBuf>,
    interrupt: Interrupt,
    ready: Option<Ready>,
}

impl Spark {
    fn from_plan(
        program: &'static Program,
        declared: &plan::Workload,
        around: Surroundings,
    ) -> Result<Spark, WorkloadError> {
        let mut arguments = Arguments::of(program);
        for (name, text) in super::as_typed(declared) {
            arguments = arguments.with(program, name, &text)?;
        }
        Ok(Spark {
            program,
            arguments,
            cache_dir: absolute(&around.cache_dir),
            flag: around.places.path("spark").map(absolute),
            interrupt: around.interrupt,
            ready: None,
        })
    }

    fn ready(&self) -> Result<&Ready, WorkloadError> {
        let unprepared = || WorkloadError::Step(format!("{} was not prepared", self.program.built_in.name));
        self.ready.as_ref().ok_or_else(unprepared)
    }
}

impl Workload for Spark {
    fn describe(&self) -> String {
        let Arguments { master, heap, .. } = &self.arguments;
        let version = self.ready.as_ref().map(|ready| format!(" on Spark {}", ready.spark.version)).unwrap_or_default();
        let what = (self.program.described)(&self.arguments);
        format!("{}{version}, {what}, {master}, heap {} MiB", self.program.built_in.name, heap >> 20)
    }

    fn is_builtin(&self) -> bool {
        true
    }

    fn check_job(&self, job: &JobSettings) -> Result<(), WorkloadError> {
        self.arguments.for_job(self.program, job).map(|_| ())
    }

    fn prepare_trial(&mut self, progress: &dyn Progress) -> Result<(), WorkloadError> {
        progress.stage("looking for Java and Spark", None);
        let Spark { flag, cache_dir, interrupt, .. } = &*self;
        let version = self.arguments.version.as_deref();
        let spark = Distribution::find(flag.as_deref(), cache_dir, version, interrupt, progress)?;
        let java = Java::choose(&programs::jvms(&Root::live()), &spark.java())?;
        self.ready = Some(Ready::with(spark, java, cache_dir, interrupt, progress)?);
        Ok(())
    }

    fn prepare_run(&mut self, run: &RunContext) -> Result<Vec<Command>, WorkloadError> {
        let arguments = self.arguments.for_job(self.program, &run.job)?;
        Ok(vec![self.ready()?.command(self.program.class, &arguments, run, &self.interrupt)?])
    }

    fn failure_reason(&self, ended: &Ended) -> String {
        java::reason(ended)
    }

    fn measures(&self) -> &'static [OwnMeasure] {
        MEASURES
    }

    fn measure(&self, name: &str, run: &RunContext, _ended: &JobEnded) -> Result<f64, String> {
        let outcome = || Outcome::read(&run.scratch.join(RESULT));
        let iterations = |name: &str| outcome().map(|outcome| outcome.all::<f64>(name));
        let pauses = || outcome::pauses(&run.scratch.join(COLLECTIONS));
        let no_pause = || "there was no pause".to_owned();
        let no_iteration = || "there was no iteration".to_owned();
        match name {
            "iteration_wall_median" => summary::median(&iterations("iteration_wall")?).ok_or_else(no_iteration),
            "iteration_cpu_median" => summary::median(&iterations("iteration_cpu")?).ok_or_else(no_iteration),
            "iteration_wall_sum" => Ok(iterations("iteration_wall")?.iter().sum()),
            "gc_pauses" => Ok(pauses()?.len() as f64),
            "gc_pause_sum" => Ok(pauses()?.iter().sum()),
            "gc_pause_median" => summary::median(&pauses()?).ok_or_else(no_pause),
            "gc_pause_p99" => summary::quantile(&pauses()?, 0.99).ok_or_else(no_pause),
            written => outcome()?.last(written),
        }
    }

    fn verify_run(&mut self, run: &RunContext) -> Result<Verification, WorkloadError> {
        let arguments = self.arguments.for_job(self.program, &run.job)?;
        let fault = match Outcome::read(&run.scratch.join(RESULT)) {
            Ok(outcome) => (self.program.fault)(&arguments, &outcome),
            Err(why) => Some(why),
        };
        Ok(fault.map_or(Verification::Right, Verification::Wrong))
    }

    /// All that a run writes lies in its scratch folder.
    fn clean_run(&mut self, _run: &RunContext) -> Result<(), WorkloadError> {
        Ok(())
    }

    /// The compiled programs.
    fn forget(&mut self) -> Result<Option<PathBuf>, WorkloadError> {
        let folder = self.cache_dir.join("spark/programs");
        partial::remove(&folder)?;
        Ok(Some(folder))
    }
}

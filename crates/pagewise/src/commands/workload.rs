//! `pagewise workload NAME prepare|run|verify|clean|fetch`: the steps of a built-in workload one by one.

use crate::failure::Failure;
use crate::global::Global;
use crate::output;
use crate::progress::StepProgress;
use crate::settings::Settings;
use anyhow::anyhow;
use clap::{Args, ValueEnum};
use pagewise_core::experiment::plan;
use pagewise_host::process::{self, Interrupt, JobEnded, Limits, Watch};
use pagewise_host::progress::Progress;
use pagewise_host::workload::terasort::{self, Terasort};
use pagewise_host::workload::{self, JobSettings, RunContext, Surroundings, Verification, Workload};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Run the steps of a built-in workload one by one
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct WorkloadArgs {
    /// Which one: terasort
    name: String,
    /// What to do with it
    step: Step,
    /// Its arguments, such as rows=1000000 map_tasks=2 heap=512M; the same for every step
    #[arg(value_name = "ARG=VALUE")]
    args: Vec<String>,
    /// Your own Hadoop release [default: HADOOP_HOME, PATH, then the fetched one]
    #[arg(long, value_name = "DIR")]
    hadoop: Option<PathBuf>,
    /// Where data lies in a cluster's file system, for mode=hadoop
    #[arg(long, value_name = "DIR", default_value = "pagewise")]
    cluster_dir: String,
    /// With clean: remove the kept input, too
    #[arg(long)]
    input: bool,
}

const EXAMPLES: &str = "Examples:\n  pagewise workload terasort fetch\n  pagewise workload terasort run rows=2000000 \
                        map_tasks=2\n  pagewise workload terasort verify rows=2000000 map_tasks=2";

#[derive(Clone, Copy, Debug, ValueEnum, PartialEq, Eq)]
enum Step {
    /// Bring what it needs into the cache, by a list with checksums
    Fetch,
    /// Generate and check the input
    Prepare,
    /// Prepare, then run it once and say how long it took
    Run,
    /// Check what the last run left
    Verify,
    /// Remove what the last run left
    Clean,
}

/// What `run --json` prints.
#[derive(Serialize)]
struct RunReport {
    schema: &'static str,
    workload: String,
    /// From the first start to the last exit.
    wall_seconds: f64,
    /// Each job's own time.
    job_seconds: Vec<f64>,
    notes: Vec<String>,
}

pub(crate) fn run(args: &WorkloadArgs, global: &Global) -> Result<ExitCode, Failure> {
    let settings = Settings::resolve(global)?;
    let interrupt = Interrupt::on_signals().map_err(|error| Failure::NotPossible(anyhow!(error)))?;
    let around = Surroundings {
        cache_dir: settings.cache_dir.clone(),
        hadoop: args.hadoop.clone().or(settings.hadoop),
        cluster_dir: args.cluster_dir.clone(),
        data: None,
        interrupt: interrupt.clone(),
    };
    let mut workload = workload::from_plan(&args.declared()?, around.clone())?;
    if args.input && args.step != Step::Clean {
        return Err(Failure::Usage(anyhow!("--input goes with clean: it removes the kept input")));
    }
    let by_hand = ByHand { scratch: settings.cache_dir.join(&args.name).join("by-hand"), interrupt: &interrupt };
    match args.step {
        Step::Fetch => {
            let dir = terasort::fetch_hadoop(&around, &StepProgress::new())?;
            output::note(&format!("Hadoop {} is in {}", terasort::FETCHED_VERSION, dir.display()));
        }
        Step::Prepare => {
            workload.prepare_trial(&StepProgress::new())?;
            output::note(&format!("ready: {}", workload.describe()));
        }
        Step::Run => by_hand.run(workload.as_mut(), global.json)?,
        Step::Verify => by_hand.verify(workload.as_mut())?,
        Step::Clean => by_hand.clean(args.input.then_some(&around))?,
    }
    Ok(ExitCode::SUCCESS)
}

impl WorkloadArgs {
    fn declared(&self) -> Result<plan::Workload, Failure> {
        if !workload::BUILT_IN.contains(&self.name.as_str()) {
            let known = workload::BUILT_IN.join(", ");
            return Err(Failure::Usage(anyhow!("there is no built-in workload '{}'; there is: {known}", self.name)));
        }
        let mut args = BTreeMap::new();
        for word in &self.args {
            let (name, value) = word
                .split_once('=')
                .ok_or_else(|| Failure::Usage(anyhow!("'{word}' is not ARG=VALUE; write it like rows=1000000")))?;
            if args.insert(name.to_owned(), serde_json::Value::from(value)).is_some() {
                return Err(Failure::Usage(anyhow!("'{name}' is given twice")));
            }
        }
        let none = Vec::new;
        Ok(plan::Workload {
            name: self.name.clone(),
            run: none(),
            prepare: none(),
            verify: none(),
            clean: none(),
            args,
        })
    }
}

/// Steps taken one by one keep what they leave in one folder until the next run or `clean`.
struct ByHand<'a> {
    scratch: PathBuf,
    interrupt: &'a Interrupt,
}

impl ByHand<'_> {
    fn context(&self) -> RunContext {
        RunContext::new(&self.scratch, JobSettings::default())
    }

    fn run(&self, workload: &mut dyn Workload, json: bool) -> Result<(), Failure> {
        let progress = StepProgress::new();
        workload.prepare_trial(&progress)?;
        let notes = workload.notes();
        notes.iter().for_each(|note| output::note(&format!("note: {note}")));
        remove(&self.scratch)?;
        fs::create_dir_all(&self.scratch).map_err(|error| cannot("create", &self.scratch, error))?;
        let commands = workload.prepare_run(&self.context())?;
        let limits = Limits { interrupt: Some(self.interrupt), ..Limits::default() };
        output::note(&format!("running {}", workload.describe()));
        let mut watch = Running { progress: &progress, what: "running".to_owned() };
        let ended = process::run(&commands, limits, &mut watch)?;
        drop(progress);
        if self.interrupt.is_set() {
            remove(&self.scratch)?;
            return Err(Failure::Interrupted(anyhow!("interrupted; the jobs were stopped and their output removed")));
        }
        all_succeeded(workload, &ended)?;
        let report = RunReport {
            schema: "pagewise.workload/1",
            workload: workload.describe(),
            wall_seconds: ended.wall,
            job_seconds: ended.commands.iter().map(|command| command.wall).collect(),
            notes,
        };
        if json {
            output::json(&report);
        } else {
            output::data(&format!("{:.2} s  {}", report.wall_seconds, report.workload));
        }
        Ok(())
    }

    fn verify(&self, workload: &mut dyn Workload) -> Result<(), Failure> {
        if !self.scratch.is_dir() {
            return Err(Failure::Usage(anyhow!("there is no output to verify: run it first")));
        }
        let progress = StepProgress::new();
        workload.prepare_trial(&progress)?;
        progress.stage("validating the output", None);
        match workload.verify_run(&self.context())? {
            Verification::Right => {
                output::data("right: in order, with the checksum of the input");
                Ok(())
            }
            Verification::NotChecked => {
                output::data("not checked");
                Ok(())
            }
            Verification::Wrong(why) => Err(Failure::NotPossible(anyhow!("the output is wrong: {why}"))),
        }
    }

    fn clean(&self, with_input: Option<&Surroundings>) -> Result<(), Failure> {
        remove(&self.scratch)?;
        if let Some(around) = with_input {
            let folder = Terasort::forget_input(around)?;
            output::note(&format!("removed {}", folder.display()));
        }
        Ok(())
    }
}

fn all_succeeded(workload: &dyn Workload, ended: &JobEnded) -> Result<(), Failure> {
    let jobs = ended.commands.len();
    match ended.commands.iter().enumerate().find(|(_, command)| !command.status.is_success()) {
        None => Ok(()),
        Some((index, command)) => {
            let (number, status, words) = (index + 1, command.status, workload.failure_reason(command));
            Err(Failure::NotPossible(anyhow!("job {number} of {jobs} ended with {status}: {words}")))
        }
    }
}

fn remove(path: &Path) -> Result<(), Failure> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(cannot("remove", path, error)),
        _ => Ok(()),
    }
}

fn cannot(action: &str, path: &Path, error: std::io::Error) -> Failure {
    Failure::NotPossible(anyhow::Error::new(error).context(format!("cannot {action} {}", path.display())))
}

/// Keeps the line of a running job alive.
struct Running<'a> {
    progress: &'a StepProgress,
    what: String,
}

impl Watch for Running<'_> {
    fn tick(&mut self, _running: &[u32]) -> bool {
        self.progress.stage(&self.what, None);
        true
    }
}

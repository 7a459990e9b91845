//! `pagewise workload [NAME [STEP]]`: the built-in workloads, what each takes and measures, and its steps one by one.

use crate::failure::Failure;
use crate::global::Global;
use crate::output;
use crate::places;
use crate::progress::StepProgress;
use crate::settings::Settings;
use anyhow::anyhow;
use clap::builder::PossibleValue;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use pagewise_core::comparison::words::number;
use pagewise_core::experiment::own_measure::OwnMeasure;
use pagewise_core::experiment::plan;
use pagewise_core::metric::Direction;
use pagewise_host::process::{self, Interrupt, JobEnded, Limits, Watch};
use pagewise_host::progress::Progress;
use pagewise_host::workload::{
    self, BUILT_IN, BuiltIn, JobSettings, OwnStep, Places, RunContext, Surroundings, Verification, Workload,
};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// What was asked of which workload; `None`: which there are.
#[derive(Debug, Default)]
pub(crate) struct WorkloadArgs {
    asked: Option<WorkloadArguments>,
}

#[derive(Debug)]
struct WorkloadArguments {
    name: String,
    step: Option<String>,
    args: Vec<String>,
    places: Places,
    with_input: bool,
}

/// The steps that every workload has, and what they do.
const STEPS: [(&str, &str); 4] = [
    ("prepare", "Generate and check the input"),
    ("run", "Prepare, then run it once and say how long it took"),
    ("verify", "Check what the last run left"),
    ("clean", "Remove what the last run left"),
];

impl Args for WorkloadArgs {
    fn augment_args(command: Command) -> Command {
        command
            .about("List the built-in workloads, or take the steps of one one by one")
            .subcommand_value_name("NAME")
            .subcommand_help_heading("Workloads")
            // So that a name that is none is answered in our words.
            .allow_external_subcommands(true)
            .disable_help_subcommand(true)
            .subcommands(BUILT_IN.iter().map(|workload| command_of(workload)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        WorkloadArgs::augment_args(command)
    }
}

fn command_of(workload: &'static BuiltIn) -> Command {
    let own = workload.steps.iter().map(|step| (step.name, step.about));
    let steps: Vec<PossibleValue> =
        own.chain(STEPS).map(|(name, about)| PossibleValue::new(name).help(about)).collect();
    let argument =
        Arg::new("argument").value_name("ARG=VALUE").num_args(0..).help("Its arguments; the same for every step");
    let input =
        Arg::new("input").long("input").action(ArgAction::SetTrue).help("With clean: remove the kept input, too");
    Command::new(workload.name)
        .about(workload.about)
        .arg(Arg::new("step").value_name("STEP").value_parser(steps).help("What to do with it"))
        .arg(argument)
        .args(workload.options.iter().map(places::option))
        .arg(input)
        .after_help(described(workload))
}

impl FromArgMatches for WorkloadArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let Some((name, matches)) = matches.subcommand() else { return Ok(WorkloadArgs::default()) };
        let Some(workload) = workload::built_in(name) else {
            let asked = WorkloadArguments { places: Places::default(), ..WorkloadArguments::of(name) };
            return Ok(WorkloadArgs { asked: Some(asked) });
        };
        let words = matches.get_many::<String>("argument").into_iter().flatten().cloned();
        let asked = WorkloadArguments {
            step: matches.get_one::<String>("step").cloned(),
            args: words.collect(),
            places: places::typed(workload.options.iter(), matches),
            with_input: matches.get_flag("input"),
            ..WorkloadArguments::of(name)
        };
        Ok(WorkloadArgs { asked: Some(asked) })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = WorkloadArgs::from_arg_matches(matches)?;
        Ok(())
    }
}

/// What `workload --json` prints.
#[derive(Serialize)]
struct WorkloadListing {
    schema: &'static str,
    workloads: Vec<ListedWorkload>,
}

#[derive(Serialize)]
struct ListedWorkload {
    name: &'static str,
    about: &'static str,
    arguments: Vec<&'static str>,
    steps: Vec<&'static str>,
    measures: &'static [OwnMeasure],
}

impl ListedWorkload {
    fn of(workload: &BuiltIn) -> ListedWorkload {
        let own = workload.steps.iter().map(|step| step.name);
        ListedWorkload {
            name: workload.name,
            about: workload.about,
            arguments: workload.arguments.iter().map(|argument| argument.name).collect(),
            steps: own.chain(STEPS.map(|(name, _)| name)).collect(),
            measures: workload.measures,
        }
    }
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
    /// The workload's own measures.
    measures: BTreeMap<&'static str, f64>,
    notes: Vec<String>,
}

pub(crate) fn run(args: &WorkloadArgs, global: &Global) -> Result<ExitCode, Failure> {
    let Some(asked) = &args.asked else {
        list(global.json, BUILT_IN);
        return Ok(ExitCode::SUCCESS);
    };
    let Some(built_in) = workload::built_in(&asked.name) else {
        let known: Vec<&str> = BUILT_IN.iter().map(|workload| workload.name).collect();
        let (name, known) = (&asked.name, known.join(", "));
        return Err(Failure::Usage(anyhow!("there is no built-in workload '{name}'; there is: {known}")));
    };
    let Some(step) = asked.step.as_deref() else {
        if global.json {
            list(true, &[built_in]);
        } else {
            output::data(&format!("{}: {}\n\n{}", built_in.name, built_in.about, described(built_in)));
        }
        return Ok(ExitCode::SUCCESS);
    };
    let settings = Settings::resolve(global)?;
    let interrupt = Interrupt::on_signals().map_err(|error| Failure::NotPossible(anyhow!(error)))?;
    let around = Surroundings {
        places: asked.places.clone().or(&settings.places),
        ..Surroundings::new(&settings.cache_dir, interrupt.clone())
    };
    let mut workload = workload::from_plan(&asked.declared()?, around.clone())?;
    if asked.with_input && step != "clean" {
        return Err(Failure::Usage(anyhow!("--input goes with clean: it removes the kept input")));
    }
    let scratch = settings.cache_dir.join(folder_of(built_in.name)).join("by-hand");
    let by_hand = ByHand { scratch, interrupt: &interrupt, right: built_in.right };
    match step {
        "prepare" => {
            workload.prepare_trial(&StepProgress::new())?;
            output::note(&format!("ready: {}", workload.describe()));
        }
        "run" => by_hand.run(workload.as_mut(), global.json)?,
        "verify" => by_hand.verify(workload.as_mut())?,
        "clean" => by_hand.clean(workload.as_mut(), asked.with_input)?,
        other => {
            let own = built_in.steps.iter().find(|own| own.name == other);
            let OwnStep { run, .. } = own.ok_or_else(|| Failure::Usage(anyhow!("there is no step '{other}'")))?;
            output::note(&run(&around, &StepProgress::new())?);
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The workloads there are.
fn list(json: bool, all: &[&BuiltIn]) {
    if json {
        let workloads = all.iter().map(|workload| ListedWorkload::of(workload)).collect();
        return output::json(&WorkloadListing { schema: "pagewise.workloads/1", workloads });
    }
    let mut text: String = all.iter().map(|workload| row(workload.name, workload.about)).collect();
    text.push_str(
        "\npagewise workload NAME says what one takes and measures;\na job of your own: pagewise prove -- COMMAND",
    );
    output::data(&text);
}

/// Its arguments, measures and examples.
fn described(workload: &BuiltIn) -> String {
    let mut text = String::from("Arguments:\n");
    for argument in workload.arguments {
        text.push_str(&row(argument.name, &format!("{} [default: {}]", argument.about, argument.default)));
    }
    if !workload.measures.is_empty() {
        text.push_str("\nMeasures of its own, which a plan may name as its metric:\n");
        for measure in workload.measures {
            let better = match measure.direction {
                Direction::Lower => "less is better",
                Direction::Higher => "more is better",
            };
            text.push_str(&row(measure.name, &format!("{} ({}, {better})", measure.meaning, measure.unit)));
        }
    }
    text.push_str("\nExamples:");
    workload.examples.iter().for_each(|example| text.push_str(&format!("\n  pagewise workload {example}")));
    text
}

/// A name, and what it means beside it, or below a name that is too long for that.
fn row(name: &str, meaning: &str) -> String {
    const NAME: usize = 20;
    let lines = output::wrapped(meaning, 78 - NAME, 0);
    let below = format!("\n{}", " ".repeat(NAME));
    let indented = lines.lines().collect::<Vec<&str>>().join(&below);
    if name.len() + 3 > NAME {
        return format!("  {name}{below}{indented}\n");
    }
    format!("  {name:<width$}{indented}\n", width = NAME - 2)
}

impl WorkloadArguments {
    fn of(name: &str) -> WorkloadArguments {
        WorkloadArguments {
            name: name.to_owned(),
            step: None,
            args: Vec::new(),
            places: Places::default(),
            with_input: false,
        }
    }

    fn declared(&self) -> Result<plan::Workload, Failure> {
        let mut args = BTreeMap::new();
        for word in &self.args {
            let (name, value) = word
                .split_once('=')
                .ok_or_else(|| Failure::Usage(anyhow!("'{word}' is not ARG=VALUE; write it like rows=1000000")))?;
            if args.insert(name.to_owned(), serde_json::Value::from(value)).is_some() {
                return Err(Failure::Usage(anyhow!("'{name}' is given twice")));
            }
        }
        Ok(plan::Workload::built_in(&self.name, args))
    }
}

/// Steps taken one by one keep what they leave in one folder until the next run or `clean`.
struct ByHand<'a> {
    scratch: PathBuf,
    interrupt: &'a Interrupt,
    /// What a right output is.
    right: &'static str,
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
        progress.stage("bringing about what goes on beside it", None);
        workload.start_beside(&self.context(), None)?;
        output::note(&format!("running {}", workload.describe()));
        let mut watch = Running { progress: &progress, what: "running".to_owned() };
        let ended = process::run(&commands, limits, &mut watch);
        let beside = workload.end_beside();
        drop(progress);
        let ended = ended?;
        if self.interrupt.is_set() {
            remove(&self.scratch)?;
            return Err(Failure::Interrupted(anyhow!("interrupted; the jobs were stopped and their output removed")));
        }
        all_succeeded(workload, &ended)?;
        beside?;
        let context = self.context();
        let own: Vec<(&OwnMeasure, Result<f64, String>)> = workload
            .measures()
            .iter()
            .map(|measure| (measure, workload.measure(measure.name, &context, &ended)))
            .collect();
        let report = RunReport {
            schema: "pagewise.workload/1",
            workload: workload.describe(),
            wall_seconds: ended.wall,
            job_seconds: ended.commands.iter().map(|command| command.wall).collect(),
            measures: own
                .iter()
                .filter_map(|(measure, value)| Some((measure.name, value.as_ref().ok().copied()?)))
                .collect(),
            notes,
        };
        if json {
            output::json(&report);
        } else {
            output::data(&format!("{:.2} s  {}", report.wall_seconds, report.workload));
            for (measure, value) in &own {
                let value = value.as_ref().map_or_else(Clone::clone, |value| in_unit(measure, *value));
                output::data(row(measure.name, &value).trim_end());
            }
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
                output::data(&format!("right: {}", self.right));
                Ok(())
            }
            Verification::NotChecked => {
                output::data("not checked");
                Ok(())
            }
            Verification::Wrong(why) => Err(Failure::NotPossible(anyhow!("the output is wrong: {why}"))),
        }
    }

    fn clean(&self, workload: &mut dyn Workload, with_input: bool) -> Result<(), Failure> {
        remove(&self.scratch)?;
        if with_input {
            output::note(&match workload.forget()? {
                Some(folder) => format!("removed {}", folder.display()),
                None => "it keeps no input".to_owned(),
            });
        }
        Ok(())
    }
}

fn in_unit(measure: &OwnMeasure, value: f64) -> String {
    match measure.unit {
        "seconds" => format!("{value:.6} s"),
        "count" => format!("{value:.0}"),
        unit => format!("{} {unit}", number(value)),
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

/// The folder that a workload has in the cache. A colon in it would part a class path.
fn folder_of(name: &str) -> String {
    name.replace(':', "/")
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

//! `pagewise __guest`: what a guest of the lab runs first. Hidden: it is started by a guest's init alone.

use crate::failure::Failure;
use crate::global::Global;
use clap::Args;
use pagewise_host::lab::LabError;
use pagewise_host::lab::agent::{self, GuestWork, Task};
use pagewise_host::trial::guests::serve;
use std::path::PathBuf;
use std::process::ExitCode;

/// Do the task of a guest
#[derive(Args, Debug)]
pub(crate) struct GuestArgs {
    /// The task
    task: PathBuf,
    /// The guest is arranged already, and this process has the variables and the place of its task
    #[arg(long)]
    arranged: bool,
}

pub(crate) fn run(args: &GuestArgs, _global: &Global) -> Result<ExitCode, Failure> {
    let task = Task::read(&args.task)?;
    if args.arranged {
        return points(&task);
    }
    agent::arrange(&task)?;
    let status = match &task.what {
        GuestWork::Command(argv) => agent::run(&task, argv),
        GuestWork::Other(_) => agent::run_self(&task, &["__guest", "--arranged", &args.task.to_string_lossy()])?,
    };
    Ok(ExitCode::from(status))
}

fn points(task: &Task) -> Result<ExitCode, Failure> {
    let GuestWork::Other(points) = &task.what else {
        return Err(LabError::Usage("a command needs no arranged guest".to_owned()).into());
    };
    let unknown = |error| LabError::Usage(format!("a task that this version does not know: {error}"));
    let points = serde_json::from_value(points.clone()).map_err(unknown)?;
    serve::serve(points).map_err(|error| Failure::NotPossible(error.into()))?;
    Ok(ExitCode::SUCCESS)
}

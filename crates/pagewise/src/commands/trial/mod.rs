//! `trial`: a declared matrix, checked, run, resumed, followed, analysed, verified.

mod analyze;
mod check;
#[cfg(test)]
mod reference;
mod run;
mod status;
mod verify;
mod view;

pub(crate) use analyze::resume_line;

use crate::failure::Failure;
use crate::global::Global;
use anyhow::anyhow;
use clap::{Args, Subcommand};
use std::process::ExitCode;

/// Run a declared matrix of policies: fair order, nothing lost, statistics that hold
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct TrialArgs {
    #[command(subcommand)]
    step: Step,
}

const EXAMPLES: &str = "Examples:
  pagewise trial check terasort-thp
  pagewise trial run my-plan.toml
  pagewise trial resume terasort-thp.trial
  pagewise trial analyze terasort-thp.trial --format text72

terasort-thp is a plan that ships with Pagewise. A trial is resumed after Ctrl-C, a kill or a power loss.";

#[derive(Subcommand, Debug)]
enum Step {
    Check(check::CheckArgs),
    Run(run::RunArgs),
    Resume(run::ResumeArgs),
    Status(status::StatusArgs),
    Analyze(analyze::AnalyzeArgs),
    Verify(verify::VerifyArgs),
}

/// Runs the verb.
pub(crate) fn run(args: &TrialArgs, global: &Global) -> Result<ExitCode, Failure> {
    if global.root.is_some() && !matches!(args.step, Step::Check(_)) {
        return Err(Failure::Usage(anyhow!("trial runs on this host; --root only shows another host's files")));
    }
    match &args.step {
        Step::Check(args) => check::run(args, global),
        Step::Run(args) => run::run(args, global),
        Step::Resume(args) => run::resume(args, global),
        Step::Status(args) => status::run(args, global),
        Step::Analyze(args) => analyze::run(args, global),
        Step::Verify(args) => verify::run(args, global),
    }
}

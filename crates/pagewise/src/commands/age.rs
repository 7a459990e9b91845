//! `pagewise __age STATE`: the process that breaks memory up and holds the pieces. Started by Pagewise itself, never by a
//! person.

use crate::failure::Failure;
use crate::global::Global;
use clap::Args;
use pagewise_host::tunable::memory_state;
use std::process::ExitCode;

#[derive(Args, Debug)]
pub(crate) struct AgeArgs {
    state: String,
}

pub(crate) fn run(args: &AgeArgs, _global: &Global) -> Result<ExitCode, Failure> {
    Ok(memory_state::hold(&args.state))
}

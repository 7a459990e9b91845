//! `pagewise __age STATE`: the process that breaks memory up and holds the pieces. Started by Pagewise itself, never by a
//! person.

use clap::Args;
use pagewise_host::tunable::memory_state;
use std::process::ExitCode;

#[derive(Args, Debug)]
pub(crate) struct AgeArgs {
    state: String,
}

pub(crate) fn run(args: &AgeArgs) -> ExitCode {
    memory_state::hold(&args.state)
}

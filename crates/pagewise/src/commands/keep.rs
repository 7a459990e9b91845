//! `pagewise __keep TUNABLE VALUE`: the process that holds a value which exists only as long as it is held. Started by Pagewise
//! itself, never by a person.

use crate::failure::Failure;
use crate::global::Global;
use clap::Args;
use pagewise_host::tunable::held;
use std::process::ExitCode;

#[derive(Args, Debug)]
pub(crate) struct KeepArgs {
    tunable: String,
    value: String,
}

pub(crate) fn run(args: &KeepArgs, _global: &Global) -> Result<ExitCode, Failure> {
    Ok(held::keep(&args.tunable, &args.value))
}

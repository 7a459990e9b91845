//! `pagewise __jitter PART`: a stream, a ballast, a probe or a victim of the workload `jitter`. Started by Pagewise itself, never by a
//! person.

use crate::failure::Failure;
use crate::global::Global;
use anyhow::anyhow;
use clap::Args;
use pagewise_host::workload::jitter::part;
use std::process::ExitCode;

#[derive(Args, Debug)]
pub(crate) struct JitterArgs {
    part: String,
}

pub(crate) fn run(args: &JitterArgs, _global: &Global) -> Result<ExitCode, Failure> {
    let code = part::run(&args.part).map_err(|error| Failure::NotPossible(anyhow!(error)))?;
    Ok(ExitCode::from(code))
}

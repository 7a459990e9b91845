//! `pagewise __watch`: the process that puts the host back when its owner dies or nobody confirms. Started by Pagewise
//! itself, never by a person.

use super::changes;
use crate::failure::Failure;
use crate::global::Global;
use crate::settings::Settings;
use clap::{Args, Subcommand};
use pagewise_core::change::line::Owner;
use pagewise_host::tunable::change::{Journal, UndoReport};
use pagewise_host::tunable::watcher;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Args, Debug)]
pub(crate) struct WatchArgs {
    #[command(subcommand)]
    role: Role,
}

#[derive(Subcommand, Debug)]
enum Role {
    /// Until the owner says on standard input that it is done
    Owner {
        /// Its process id
        pid: u32,
        /// Field 22 of its /proc/PID/stat
        start_time: u64,
    },
    /// Until a change is confirmed
    Deadline {
        /// The change's number
        id: u64,
    },
}

/// Named by whoever started us. Nothing else is looked up: a home folder or a config file that is missing must not keep
/// a host from being restored.
fn state_dir(global: &Global) -> Result<PathBuf, Failure> {
    global.state_dir.clone().map_or_else(|| Ok(Settings::resolve(global)?.state_dir), Ok)
}

pub(crate) fn run(args: &WatchArgs, global: &Global) -> Result<ExitCode, Failure> {
    let journal = Journal::open(&state_dir(global)?, &global.root())?;
    let reports: Vec<UndoReport> = match args.role {
        Role::Owner { pid, start_time } => watcher::watch_owner(&journal, Owner { pid, start_time })?,
        Role::Deadline { id } => watcher::watch_deadline(&journal, id)?.into_iter().collect(),
    };
    changes::tell_watched(&reports);
    let failed = reports.iter().any(|report| report.closed.is_none());
    Ok(if failed { ExitCode::from(Failure::CHANGE_EXIT) } else { ExitCode::SUCCESS })
}

//! `pagewise __hold POLICY -- COMMAND`: applies a policy, runs a command under it, undoes it. The smallest owner of a
//! lease, hidden because a single run under a policy proves nothing: `prove` is the verb for people.

use super::changes;
use super::set::Host;
use crate::failure::Failure;
use crate::global::Global;
use anyhow::anyhow;
use clap::Args;
use pagewise_host::process::{self, Command, Interrupt, Limits, Status, Stopped, Watch};
use pagewise_host::tunable::change::Lease;
use pagewise_host::tunable::watcher::{Watcher, WatcherError};
use std::process::ExitCode;

#[derive(Args, Debug)]
pub(crate) struct HoldArgs {
    policy: String,
    #[arg(last = true, required = true)]
    command: Vec<String>,
}

pub(crate) fn run(args: &HoldArgs, global: &Global) -> Result<ExitCode, Failure> {
    let host = Host::of(global, "hold")?;
    let policy = pagewise_host::tunable::load_policy(&args.policy)?;
    let resolved = host.resolve(&policy)?;
    let interrupt = Interrupt::on_signals().map_err(|error| Failure::NotPossible(anyhow!(error)))?;
    let lock = host.journal.lock("hold")?;
    changes::tell_recovered(&host.journal.recover(&lock)?);
    let mut watcher = Watcher::start(host.journal.state(), &host.root)?;
    let change = host.journal.apply(&lock, &resolved, &policy.to_string(), Lease::Owner, &mut |_| {})?;
    let command = Command { argv: args.command.clone(), ..Command::default() };
    let limits = Limits { interrupt: Some(&interrupt), ..Limits::default() };
    let mut watch = Holding { watcher: &mut watcher, lost: None, announced: false };
    let ended = process::run(&[command], limits, &mut watch);
    let lost = watch.lost;
    let undone = change.undo(&lock);
    if undone.is_ok() {
        watcher.finish();
    }
    changes::tell_exceptions(&undone?);
    if let Some(error) = lost {
        return Err(error.into());
    }
    let ended = ended?;
    if ended.stopped == Some(Stopped::Interrupted) {
        return Err(Failure::Interrupted(anyhow!("interrupted; everything was put back")));
    }
    // As a shell has it.
    let code = match ended.commands.first().map(|command| command.status) {
        Some(Status::Exited(code)) => code,
        Some(Status::Signalled(signal)) => 128 + signal,
        None => 1,
    };
    Ok(ExitCode::from(u8::try_from(code).unwrap_or(1)))
}

struct Holding<'a> {
    watcher: &'a mut Watcher,
    lost: Option<WatcherError>,
    announced: bool,
}

impl Watch for Holding<'_> {
    fn tick(&mut self, running: &[u32]) -> bool {
        let told = if self.announced { self.watcher.ensure_alive() } else { self.watcher.set_scope(None, running) };
        self.announced = true;
        self.lost = told.err();
        self.lost.is_none()
    }
}

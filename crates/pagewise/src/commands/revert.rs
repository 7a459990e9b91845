//! `pagewise revert`: undoes changes, last first, and leaves what someone else changed since.

use super::changes;
use super::set::{Host, show};
use crate::failure::Failure;
use crate::global::Global;
use crate::output;
use anyhow::anyhow;
use clap::Args;
use pagewise_core::change::line::Outcome;
use pagewise_core::change::replay::{ChangeSet, Stage, UndoDue};
use pagewise_core::change::undo::{Action, decide};
use pagewise_core::report::changes::{ChangesReport, SCHEMA};
use pagewise_host::tunable;
use pagewise_host::tunable::change::UndoReport;
use std::process::ExitCode;

/// Undo the last change, change ID, or all
#[derive(Args, Debug)]
#[command(after_help = "Values that someone else changed since are left as they are and reported.")]
pub(crate) struct RevertArgs {
    /// The change's number [default: the last one]
    id: Option<u64>,
    /// Undo all changes, last first
    #[arg(long, conflicts_with = "id")]
    all: bool,
    /// Only what a killed run or another boot left; for a boot script
    #[arg(long, conflicts_with_all = ["id", "all", "print", "forget"])]
    stale: bool,
    /// Print plain shell lines that put the values back, and do nothing
    #[arg(long)]
    print: bool,
    /// Give up the way back of change ID: its values stay as they are
    #[arg(long, requires = "id", conflicts_with = "print")]
    forget: bool,
    /// Say what would be done and do nothing
    #[arg(long, conflicts_with = "print")]
    dry_run: bool,
}

pub(crate) fn run(args: &RevertArgs, global: &Global) -> Result<ExitCode, Failure> {
    let host = Host::of(global, "revert")?;
    let chosen = chosen(args, &host)?;
    if args.print {
        output::data(&shell(&host, &chosen));
        return Ok(ExitCode::SUCCESS);
    }
    if args.dry_run {
        let changes = chosen.iter().map(|set| planned(&host, set, args.forget)).collect();
        show(&ChangesReport { schema: SCHEMA.to_owned(), dry_run: true, changes }, global);
        return Ok(ExitCode::SUCCESS);
    }
    // Ctrl-C between two settings would leave a half: the undo is brought to its end, it takes milliseconds.
    let _deferred = pagewise_host::process::Interrupt::on_signals().map_err(|e| Failure::NotPossible(anyhow!(e)))?;
    let lock = host.journal.lock("revert")?;
    let recovered = host.journal.recover(&lock)?;
    if args.forget {
        changes::tell_recovered(&recovered);
        let id = args.id.unwrap_or_default();
        host.journal.forget(&lock, id)?;
        output::note(&format!("change {id} is forgotten; its values stay"));
        return Ok(ExitCode::SUCCESS);
    }
    let mut reports = Vec::new();
    // While we waited for the lock, the watcher of a killed run may have done what was to do.
    let open: Vec<u64> = host.journal.open_sets()?.iter().map(|set| set.begin.id).collect();
    let (asked_for, others): (Vec<_>, Vec<_>) =
        recovered.into_iter().partition(|report| chosen.iter().any(|set| set.begin.id == report.id));
    changes::tell_recovered(&others);
    for set in &chosen {
        let report = match asked_for.iter().find(|report| report.id == set.begin.id) {
            Some(recovered) => recovered.clone(),
            None if args.id.is_none() && !open.contains(&set.begin.id) => continue,
            None => host.journal.undo(&lock, set.begin.id, &mut |_| {})?,
        };
        reports.push((set, report));
    }
    if reports.is_empty() {
        output::note(&format!("nothing to revert in {}", host.journal.state().display()));
    }
    tell(&host, &reports, global)
}

/// Last first.
fn chosen(args: &RevertArgs, host: &Host) -> Result<Vec<ChangeSet>, Failure> {
    if let Some(id) = args.id {
        return Ok(vec![host.journal.open_set(id, "undo")?]);
    }
    let mut open = host.journal.open_sets()?;
    open.reverse();
    if args.stale {
        open.retain(|set| host.journal.is_pending(set));
    } else if !args.all && !args.print {
        open.truncate(1);
    }
    Ok(open)
}

fn tell(host: &Host, reports: &[(&ChangeSet, UndoReport)], global: &Global) -> Result<ExitCode, Failure> {
    let views = reports.iter().map(|(set, report)| changes::view_of_undo(&host.journal, set, report)).collect();
    show(&ChangesReport { schema: SCHEMA.to_owned(), dry_run: false, changes: views }, global);
    for (_, report) in reports {
        changes::tell_exceptions(report);
    }
    let failed: Vec<String> =
        reports.iter().filter(|(_, report)| report.closed.is_none()).map(|(_, r)| r.id.to_string()).collect();
    if failed.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    Err(Failure::Change(anyhow!(
        "not all of change {} could be undone; the lines above say why. Remove the cause and revert again, or give up \
         its way back with `pagewise revert ID --forget`",
        failed.join(", ")
    )))
}

/// What an undo would do, by the rule it would follow.
fn planned(host: &Host, set: &ChangeSet, forget: bool) -> pagewise_core::report::changes::ChangeView {
    let mut view = changes::view(&host.journal, set);
    if forget {
        view.state_words = "would be forgotten; its values stay".to_owned();
        return view;
    }
    if host.journal.due(set) == UndoDue::CloseOtherBoot {
        view.state_words = "would be closed: it ended with the boot it was made in".to_owned();
        return view;
    }
    view.state_words = "nothing was changed; this is what an undo would do".to_owned();
    for ((setting, write), stage) in view.settings.iter_mut().zip(&set.begin.writes).zip(&set.stages) {
        let Some(now) = &setting.now else { continue };
        setting.outcome = match decide(write, stage, now) {
            Action::Leave if *stage == Stage::Planned => Some(Outcome::NeverWritten),
            Action::Leave => setting.outcome.take(),
            Action::Already => Some(Outcome::Already),
            Action::Restore => Some(Outcome::Restored),
            Action::Foreign => Some(Outcome::Foreign { found: now.clone() }),
        };
    }
    view
}

/// Plain sh. It cannot compare first, so it says what it would overwrite.
fn shell(host: &Host, sets: &[ChangeSet]) -> String {
    let mut lines = vec![
        "#!/bin/sh".to_owned(),
        "# Puts back what pagewise changed. It does not look whether someone else changed it since.".to_owned(),
    ];
    for set in sets {
        if host.journal.due(set) == UndoDue::CloseOtherBoot {
            continue;
        }
        lines.push(format!("# change {} of {}: {}", set.begin.id, set.begin.created, one_line(&set.begin.policy)));
        for (write, stage) in set.begin.writes.iter().zip(&set.stages).rev() {
            if matches!(stage, Stage::Planned | Stage::Done(_)) {
                continue;
            }
            lines.extend(tunable::shell_lines(&host.root, &write.tunable, &write.before));
            for coupled in &write.coupled {
                lines.extend(tunable::shell_lines(&host.root, &coupled.tunable, &coupled.value));
            }
        }
    }
    lines.join("\n")
}

/// A policy may hold a line break in a value; a comment must not end there.
fn one_line(policy: &str) -> String {
    policy.replace(['\n', '\r'], " ")
}

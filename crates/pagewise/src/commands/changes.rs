//! `pagewise changes`: what was changed on this host, and what still has to be undone.

use super::set::show;
use crate::failure::Failure;
use crate::global::Global;
use crate::output;
use crate::settings::{HOST_STATE, Settings};
use anyhow::anyhow;
use clap::Args;
use pagewise_core::change::line::{CloseReason, Lease};
use pagewise_core::change::replay::{ChangeSet, Stage, UndoDue};
use pagewise_core::report::changes::{ChangeView, ChangesReport, SCHEMA, SettingView, State};
use pagewise_host::tunable;
use pagewise_host::tunable::change::{Journal, UndoReport};
use pagewise_host::tunable::journal::{Entry, owner_lives};
use std::path::Path;
use std::process::ExitCode;

/// What was changed here and is not undone yet
#[derive(Args, Debug)]
pub(crate) struct ChangesArgs {
    /// Also those that were undone; the newest hundred are kept
    #[arg(long)]
    all: bool,
}

pub(crate) fn run(args: &ChangesArgs, global: &Global) -> Result<ExitCode, Failure> {
    let settings = Settings::resolve(global)?;
    let state_dir = match (&global.root, &global.state_dir) {
        // Another host's journal is where it keeps it.
        (Some(_), None) => global.root().path(HOST_STATE),
        _ => settings.state_dir,
    };
    let journal = Journal::open(&state_dir, &global.root())?;
    let entries = journal.list()?;
    let damaged = entries.iter().filter(|entry| entry.set.is_err()).count();
    let changes: Vec<ChangeView> = entries
        .iter()
        .rev()
        .filter_map(|entry| view_of_entry(&journal, entry))
        .filter(|view| args.all || view.state != State::Closed)
        .collect();
    if changes.is_empty() && !global.json {
        let all = if args.all { "nothing was changed on this host yet" } else { "nothing is changed on this host now" };
        // An ordinary user has a journal of its own; what root changed stands in the host's.
        let of_host = Path::new(HOST_STATE);
        let is_other = global.root.is_none() && state_dir != of_host && of_host.exists();
        let other =
            if is_other { format!("; root's: pagewise changes --state-dir {HOST_STATE}") } else { String::new() };
        output::note(&format!("{all} (by the journal in {}{other})", state_dir.display()));
    }
    show(&ChangesReport { schema: SCHEMA.to_owned(), dry_run: false, changes }, global);
    if damaged > 0 {
        let what = format!("{damaged} of the change journals cannot be trusted; the list above says which and why");
        return Err(Failure::Partial(anyhow!(what)));
    }
    Ok(ExitCode::SUCCESS)
}

fn view_of_entry(journal: &Journal, entry: &Entry) -> Option<ChangeView> {
    match &entry.set {
        Ok(Some(set)) => Some(view(journal, set)),
        Ok(None) => None,
        Err(error) => Some(ChangeView {
            id: Some(entry.id),
            state: State::Damaged,
            state_words: error.to_string(),
            created: None,
            owner_pid: None,
            policy: String::new(),
            settings: Vec::new(),
        }),
    }
}

/// A change set as people see it, with the values as they are now.
pub(crate) fn view(journal: &Journal, set: &ChangeSet) -> ChangeView {
    let (state, state_words) = state(journal, set);
    let settings = set.begin.writes.iter().zip(&set.stages).map(|(write, stage)| SettingView {
        tunable: write.tunable.name.clone(),
        before: write.before.clone(),
        target: write.target.clone(),
        now: tunable::read(journal.root(), &write.tunable).ok(),
        outcome: match stage {
            Stage::Done(outcome) => Some(outcome.clone()),
            _ => None,
        },
        coupled: Vec::new(),
    });
    ChangeView {
        id: Some(set.begin.id),
        state,
        state_words,
        created: Some(set.begin.created.clone()),
        owner_pid: Some(set.begin.owner.pid),
        policy: set.begin.policy.clone(),
        settings: settings.collect(),
    }
}

fn state(journal: &Journal, set: &ChangeSet) -> (State, String) {
    let (id, pid) = (set.begin.id, set.begin.owner.pid);
    match set.closed {
        Some(CloseReason::Undone) => return (State::Closed, "undone".to_owned()),
        Some(CloseReason::OtherBoot) => return (State::Closed, "ended with the boot it was made in".to_owned()),
        Some(CloseReason::Forgotten) => return (State::Closed, "kept for good: its way back was given up".to_owned()),
        None => {}
    }
    match journal.due(set) {
        UndoDue::CloseOtherBoot => {
            (State::Pending, "ended with the boot it was made in; the next verb that writes closes it".to_owned())
        }
        UndoDue::Undo(_) if owner_lives(set.begin.owner) => {
            (State::Busy, format!("is being applied or undone by pid {pid} now"))
        }
        UndoDue::Undo(why) => {
            (State::Pending, format!("to be undone, because {}; `pagewise revert {id}` does it now", why.words()))
        }
        UndoDue::Nothing => match &set.begin.lease {
            Lease::Deadline { at, .. } if set.awaits_confirmation() => {
                let words = format!("is undone at {at} unless it is confirmed: `pagewise set --confirm {id}`");
                (State::AwaitsConfirmation, words)
            }
            Lease::Owner => (State::Held, format!("ends with the run of pid {pid}")),
            Lease::None | Lease::Deadline { .. } => (State::InForce, format!("stays until `pagewise revert {id}`")),
        },
    }
}

/// One line on stderr for each change that the next verb that writes undoes first. Read-only verbs call it; that the
/// journal cannot be read is not their business.
pub(crate) fn note_pending(global: &Global) {
    if global.root.is_some() {
        return;
    }
    let Ok(settings) = Settings::resolve(global) else { return };
    let Ok(journal) = Journal::open(&settings.state_dir, &global.root()) else { return };
    let Ok(open) = journal.open_sets() else { return };
    for set in open.iter().filter(|set| journal.is_pending(set)) {
        let (_, words) = state(&journal, set);
        output::note(&format!("note: change {} is {words}", set.begin.id));
    }
}

/// Says what was undone before the verb began with its own work.
pub(crate) fn tell_recovered(reports: &[UndoReport]) {
    tell_undone(reports, "undone first");
}

/// The same of a verb that does nothing else.
pub(crate) fn tell_watched(reports: &[UndoReport]) {
    tell_undone(reports, "undone");
}

fn tell_undone(reports: &[UndoReport], undone: &str) {
    for report in reports {
        let why = match (report.why, report.closed) {
            (_, Some(CloseReason::OtherBoot)) => "closed: it ended with the boot it was made in".to_owned(),
            (Some(why), Some(_)) => format!("{undone}, because {}", why.words()),
            (Some(why), None) => format!("could not be undone in full ({})", why.words()),
            (None, _) => "undone".to_owned(),
        };
        output::note(&format!("change {} ({}): {why}", report.id, report.policy));
        tell_exceptions(report);
    }
}

/// Says what an undo left, and why.
pub(crate) fn tell_exceptions(report: &UndoReport) {
    for (tunable, found) in report.foreign() {
        output::note(&format!("  {tunable} was changed by someone else since and is left at {found}"));
    }
    for (tunable, why) in report.failures() {
        output::note(&format!("  {tunable} could not be restored: {why}"));
    }
    if let Some(trouble) = &report.trouble {
        output::note(&format!("  every value was dealt with, but not all of it is recorded: {trouble}"));
    }
}

/// A change set after its undo.
pub(crate) fn view_of_undo(journal: &Journal, set: &ChangeSet, report: &UndoReport) -> ChangeView {
    let mut view = view(journal, set);
    for setting in &mut view.settings {
        let Some(undone) = report.settings.iter().find(|undone| undone.tunable.name == setting.tunable) else {
            continue;
        };
        *setting = SettingView::of_undone(undone, &setting.target, setting.now.clone());
    }
    (view.state, view.state_words) = match report.closed {
        Some(CloseReason::OtherBoot) => (State::Closed, "ended with the boot it was made in".to_owned()),
        Some(_) if report.foreign().next().is_some() => {
            (State::Closed, "undone, but for what someone else changed since: that was left".to_owned())
        }
        Some(_) => (State::Closed, "undone".to_owned()),
        None => (State::Pending, "not undone in full; the next verb that writes tries again".to_owned()),
    };
    view
}

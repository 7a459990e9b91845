//! Undoing a change set: compare with what we left, restore what is still ours, leave what is someone else's.
//!
//! The rule for one value: as before → nothing to do; as we left it → restore; anything else → foreign, leave it and
//! say so. Where we may have written without having read back, the value counts as ours.

use super::line::{CloseReason, CoupledOutcome, Line, Outcome, Value, Write};
use super::replay::{ChangeSet, Stage};
use super::{Machine, Phase};
use crate::tunable::Tunable;

/// What to do with one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Never written, or dealt with.
    Leave,
    /// It is as before.
    Already,
    /// Write the value before.
    Restore,
    /// Someone else's now.
    Foreign,
}

/// What to do with a setting whose tunable now reads `now`.
#[must_use]
pub fn decide(write: &Write, stage: &Stage, now: &str) -> Action {
    let same = |a: &str, b: &str| write.tunable.same(a, b);
    match stage {
        Stage::Planned | Stage::Done(_) => Action::Leave,
        _ if same(now, &write.before) => Action::Already,
        Stage::Writing | Stage::Restoring { .. } => Action::Restore,
        Stage::Written { read_back, .. } if same(now, read_back) => Action::Restore,
        Stage::Written { .. } => Action::Foreign,
    }
}

/// What a coupled tunable that now reads `now` must be once its setting is undone, and whether that is a value someone
/// else gave it.
#[must_use]
pub fn decide_coupled(before: &Value, stage: &Stage, now: &str) -> (String, bool) {
    let same = |a: &str, b: &str| before.tunable.same(a, b);
    let ours = match stage {
        Stage::Planned | Stage::Done(_) => false,
        Stage::Writing => true,
        Stage::Written { coupled, .. } => {
            coupled.iter().any(|c| c.tunable == before.tunable && same(now, &c.read_back))
        }
        Stage::Restoring { coupled } => {
            // Decided before the interrupted restore; what is read now may be where that restore moved it.
            let decided = coupled.iter().find(|c| c.tunable == before.tunable).map_or(&before.value, |c| &c.value);
            return (decided.clone(), !same(decided, &before.value));
        }
    };
    if ours || same(now, &before.value) { (before.value.clone(), false) } else { (now.to_owned(), true) }
}

/// What an undo did.
#[derive(Debug)]
pub struct UndoOutcome<E> {
    /// Per setting, last written first.
    pub settings: Vec<UndoneSetting>,
    /// The journal could not be written. The values were restored all the same: they matter more than their record, and
    /// the next undo finds them as before.
    pub trouble: Option<E>,
    /// Everything is dealt with and the journal says so.
    pub closed: bool,
}

/// How the undo of one setting ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UndoneSetting {
    /// The tunable.
    pub tunable: Tunable,
    /// Its value before the change.
    pub before: String,
    /// Its end.
    pub outcome: Outcome,
    /// Coupled tunables that were restored, left to someone else, or failed.
    pub coupled: Vec<CoupledOutcome>,
}

/// Undoes whatever of the set is still ours, last write first. Goes on after a failure: each value counts.
pub fn undo<M: Machine>(set: &mut ChangeSet, machine: &mut M) -> UndoOutcome<M::Error> {
    let mut undone = UndoOutcome { settings: Vec::new(), trouble: None, closed: false };
    for write in (0..set.begin.writes.len()).rev() {
        if matches!(set.stages[write], Stage::Done(_)) {
            continue;
        }
        let setting = undo_one(set, write, machine, &mut undone.trouble);
        let line = Line::Restored { write, outcome: setting.outcome.clone(), coupled: setting.coupled.clone() };
        note(set, machine, &line, &mut undone.trouble);
        undone.settings.push(setting);
    }
    let all_done = set.stages.iter().all(|stage| matches!(stage, Stage::Done(_)));
    if all_done && undone.trouble.is_none() {
        note(set, machine, &Line::Closed { how: CloseReason::Undone }, &mut undone.trouble);
    }
    undone.closed = set.closed.is_some() && undone.trouble.is_none();
    if undone.closed {
        machine.reached(Phase::Closed);
    }
    undone
}

fn undo_one<M: Machine>(
    set: &mut ChangeSet,
    write: usize,
    machine: &mut M,
    trouble: &mut Option<M::Error>,
) -> UndoneSetting {
    let Write { tunable, before, coupled, artefacts, .. } = set.begin.writes[write].clone();
    let mut setting = UndoneSetting { tunable, before, outcome: Outcome::NeverWritten, coupled: Vec::new() };
    if set.stages[write] == Stage::Planned {
        return setting;
    }
    let now = match machine.read(&setting.tunable) {
        Ok(now) => now,
        Err(error) => {
            setting.outcome = failure(machine, &error);
            return setting;
        }
    };
    let stage = set.stages[write].clone();
    let action = decide(&set.begin.writes[write], &stage, &now);
    let wanted = match want_coupled(&coupled, &stage, machine) {
        Ok(wanted) => wanted,
        Err(why) => {
            setting.outcome = Outcome::Failed { why };
            return setting;
        }
    };
    setting.outcome = match action {
        Action::Leave => Outcome::NeverWritten,
        Action::Already => Outcome::Already,
        Action::Foreign => Outcome::Foreign { found: now },
        Action::Restore => {
            let coupled = wanted.iter().map(|w| w.value.clone()).collect();
            note(set, machine, &Line::Restoring { write, coupled }, trouble);
            machine.reached(Phase::BeforeRestore(write));
            restore(machine, &setting.tunable, &setting.before)
        }
    };
    machine.reached(Phase::AfterRestore(write));
    setting.coupled = wanted.into_iter().filter_map(|w| settle_coupled(machine, w)).collect();
    if let Some(why) = setting.coupled.iter().find_map(|c| match &c.outcome {
        Outcome::Failed { why } => Some(format!("{}, which the kernel moves along with it: {why}", c.tunable)),
        _ => None,
    }) {
        setting.outcome = Outcome::Failed { why };
    }
    if matches!(setting.outcome, Outcome::Restored | Outcome::Already | Outcome::Gone) {
        for artefact in &artefacts {
            if let Err(error) = machine.remove(artefact) {
                setting.outcome = Outcome::Failed { why: chain(&error) };
            }
        }
    }
    setting
}

/// What a coupled tunable must be after its setting is undone.
struct CoupledTarget {
    value: Value,
    foreign: bool,
}

fn want_coupled<M: Machine>(coupled: &[Value], stage: &Stage, machine: &mut M) -> Result<Vec<CoupledTarget>, String> {
    let mut wanted = Vec::new();
    for before in coupled {
        let now = match machine.read(&before.tunable) {
            Ok(now) => now,
            Err(error) if machine.is_gone(&error) => continue,
            Err(error) => return Err(chain(&error)),
        };
        let (value, foreign) = decide_coupled(before, stage, &now);
        wanted.push(CoupledTarget { value: Value { tunable: before.tunable.clone(), value }, foreign });
    }
    Ok(wanted)
}

/// Brings a coupled tunable to what it must be. `None`: it was as before and is.
fn settle_coupled<M: Machine>(machine: &mut M, wanted: CoupledTarget) -> Option<CoupledOutcome> {
    let is_there = machine.read(&wanted.value.tunable).is_ok_and(|now| wanted.value.is(&now));
    let CoupledTarget { value: Value { tunable, value }, foreign } = wanted;
    let restored = if is_there { None } else { Some(restore(machine, &tunable, &value)) };
    let outcome = match restored {
        Some(failed @ Outcome::Failed { .. }) => failed,
        _ if foreign => Outcome::Foreign { found: value },
        Some(outcome) => outcome,
        None => return None,
    };
    Some(CoupledOutcome { tunable, outcome })
}

/// Writes the value and reads it back.
fn restore<M: Machine>(machine: &mut M, tunable: &Tunable, value: &str) -> Outcome {
    if let Err(error) = machine.write(tunable, value) {
        return failure(machine, &error);
    }
    match machine.read(tunable) {
        Ok(found) if tunable.same(&found, value) => Outcome::Restored,
        Ok(found) => Outcome::Failed { why: format!("'{value}' was written, but the kernel now holds '{found}'") },
        Err(error) => failure(machine, &error),
    }
}

fn failure<M: Machine>(machine: &M, error: &M::Error) -> Outcome {
    if machine.is_gone(error) { Outcome::Gone } else { Outcome::Failed { why: chain(error) } }
}

/// An error and its causes in one line.
fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |text, cause| {
        let cause = cause.to_string();
        if text.contains(&cause) { text } else { format!("{text}: {cause}") }
    })
}

fn note<M: Machine>(set: &mut ChangeSet, machine: &mut M, line: &Line, trouble: &mut Option<M::Error>) {
    if let Err(error) = machine.record(line) {
        trouble.get_or_insert(error);
    }
    // The set follows what was done to the host, whether or not the journal could be told. A line that does not fit is
    // one about a setting that is done; there is nothing left to do for it.
    let _ = set.push(line);
}

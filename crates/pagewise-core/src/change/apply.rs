//! Applying a change set: write, hold what the kernel moved along, read back, journal; for each setting in turn.

use super::line::{CoupledReading, Line, Write};
use super::replay::ChangeSet;
use super::{Machine, Phase};
use crate::tunable::Tunable;

/// Why a change set could not be applied.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError<E: std::error::Error + 'static> {
    /// A read, a write or the journal failed.
    #[error(transparent)]
    Step(E),
    /// The kernel took the write and holds something else.
    #[error(
        "{tunable} was set to '{target}', but the kernel now holds '{found}'; ask for a value it can hold \
         (`pagewise show {tunable}` lists them)"
    )]
    NotVerified {
        /// The tunable.
        tunable: Tunable,
        /// What was asked for.
        target: String,
        /// What was read back.
        found: String,
    },
    /// Someone else changed what is written often, and keeps what they gave it.
    #[error("{tunable} is '{found}' and was left at '{left}': someone else changed it, and it is not written any more")]
    Foreign {
        /// The tunable.
        tunable: Tunable,
        /// What our last write left.
        left: String,
        /// What is there now.
        found: String,
    },
    /// A line that the rules of the journal do not allow: a defect of ours, not of the host.
    #[error("the change journal would not fit its own rules: {0}; please report this")]
    Rules(String),
}

/// The order in which settings are written: one that the kernel moves along with another comes after that other, so
/// that what was asked for stands in the end.
#[must_use]
pub fn in_writing_order(writes: Vec<Write>) -> Vec<Write> {
    let moved: Vec<Tunable> = writes.iter().flat_map(|w| &w.coupled).map(|c| c.tunable.clone()).collect();
    let (last, mut first): (Vec<Write>, Vec<Write>) = writes.into_iter().partition(|w| moved.contains(&w.tunable));
    first.extend(last);
    first
}

/// Writes every setting. The `begin` line is on disk already.
///
/// # Errors
/// At the first thing that goes wrong; the caller then undoes what was written.
pub fn apply<M: Machine>(set: &mut ChangeSet, machine: &mut M) -> Result<(), ApplyError<M::Error>>
where
    M::Error: 'static,
{
    machine.reached(Phase::Journalled);
    for write in 0..set.begin.writes.len() {
        write_one(set, write, machine)?;
    }
    note(set, machine, &Line::Applied)?;
    machine.reached(Phase::Applied);
    Ok(())
}

fn write_one<M: Machine>(set: &mut ChangeSet, write: usize, machine: &mut M) -> Result<(), ApplyError<M::Error>>
where
    M::Error: 'static,
{
    let Write { tunable, before, target, .. } = set.begin.writes[write].clone();
    note(set, machine, &Line::Writing { write })?;
    machine.reached(Phase::BeforeWrite(write));
    // A value that stands already is not written again: some kernel files act on every write, also on an equal one.
    if !tunable.same(&before, &target) {
        machine.write(&tunable, &target).map_err(ApplyError::Step)?;
    }
    machine.reached(Phase::AfterWrite(write));
    let coupled = hold_coupled(set, write, machine)?;
    let read_back = machine.read(&tunable).map_err(ApplyError::Step)?;
    note(set, machine, &Line::Written { write, read_back: read_back.clone(), coupled })?;
    if tunable.same(&target, &read_back) {
        return Ok(());
    }
    Err(ApplyError::NotVerified { tunable, target, found: read_back })
}

/// Puts back what the kernel moved by itself, unless the policy sets it too: then its own turn comes later.
pub(super) fn hold_coupled<M: Machine>(
    set: &ChangeSet,
    write: usize,
    machine: &mut M,
) -> Result<Vec<CoupledReading>, ApplyError<M::Error>>
where
    M::Error: 'static,
{
    let mut readings = Vec::new();
    for coupled in &set.begin.writes[write].coupled {
        let tunable = &coupled.tunable;
        let mut now = machine.read(tunable).map_err(ApplyError::Step)?;
        let moved_to = (!coupled.is(&now)).then(|| now.clone());
        let is_asked_for = set.begin.writes.iter().any(|w| w.tunable == *tunable);
        if moved_to.is_some() && !is_asked_for {
            machine.write(tunable, &coupled.value).map_err(ApplyError::Step)?;
            now = machine.read(tunable).map_err(ApplyError::Step)?;
        }
        readings.push(CoupledReading { tunable: tunable.clone(), moved_to, read_back: now });
    }
    Ok(readings)
}

fn note<M: Machine>(set: &mut ChangeSet, machine: &mut M, line: &Line) -> Result<(), ApplyError<M::Error>>
where
    M::Error: 'static,
{
    machine.record(line).map_err(ApplyError::Step)?;
    set.push(line).map_err(ApplyError::Rules)
}

//! Writing one setting of a change in force again and again, as a guard does with a watermark.
//!
//! The rules are those of every change: compare before the write, say beforehand that it comes, hold what the kernel moves along,
//! read back, say what was found. What differs is where it is said: in a note that the next one replaces ([`super::note`]).

use super::apply::{ApplyError, hold_coupled};
use super::note::{Note, Progress};
use super::replay::{ChangeSet, Stage};
use super::{Machine, Phase};
use crate::tunable::Tunable;

/// Writes `target` to a setting that [`super::line::Write::often`] allows it for. A value that stands already is not written again.
///
/// # Errors
/// When someone else changed it or what moves along with it: then it is theirs, nothing is written, and the undo leaves it. When the
/// kernel refuses, or holds something else: then what it holds counts as ours.
pub fn write_again<M: Machine>(
    set: &mut ChangeSet,
    write: usize,
    target: &str,
    machine: &mut M,
) -> Result<(), ApplyError<M::Error>>
where
    M::Error: 'static,
{
    let tunable = written_often(set, write)?.clone();
    let now = machine.read(&tunable).map_err(ApplyError::Step)?;
    for (tunable, left) in left_by_us(set, write) {
        let found = machine.read(tunable).map_err(ApplyError::Step)?;
        if !tunable.same(&found, left) {
            return Err(ApplyError::Foreign { tunable: tunable.clone(), left: left.to_owned(), found });
        }
    }
    if tunable.same(&now, target) {
        return Ok(());
    }
    note(set, write, Progress::Writing, machine)?;
    machine.reached(Phase::BeforeWrite(write));
    let refused = machine.write(&tunable, target).err();
    machine.reached(Phase::AfterWrite(write));
    let coupled = hold_coupled(set, write, machine)?;
    let read_back = machine.read(&tunable).map_err(ApplyError::Step)?;
    note(set, write, Progress::Written { read_back: read_back.clone(), coupled }, machine)?;
    match refused {
        Some(error) => Err(ApplyError::Step(error)),
        None if tunable.same(target, &read_back) => Ok(()),
        None => Err(ApplyError::NotVerified { tunable, target: target.to_owned(), found: read_back }),
    }
}

/// The tunable, where it may be written now.
fn written_often<E: std::error::Error>(set: &ChangeSet, write: usize) -> Result<&Tunable, ApplyError<E>> {
    let often = set.begin.writes.get(write).filter(|write| write.often && set.applied && set.closed.is_none());
    match (often, set.stages.get(write)) {
        (Some(write), Some(Stage::Written { .. } | Stage::Writing)) => Ok(&write.tunable),
        (_, stage) => Err(ApplyError::Rules(format!("setting {write} cannot be written often from {stage:?}"))),
    }
}

/// What our last write left of it and of what moves along with it. Nothing where that write was not read back: then whatever is
/// there counts as ours, as it does for an undo.
fn left_by_us(set: &ChangeSet, write: usize) -> Vec<(&Tunable, &str)> {
    let Stage::Written { read_back, coupled } = &set.stages[write] else { return Vec::new() };
    let own = (&set.begin.writes[write].tunable, read_back.as_str());
    std::iter::once(own).chain(coupled.iter().map(|c| (&c.tunable, c.read_back.as_str()))).collect()
}

fn note<M: Machine>(
    set: &mut ChangeSet,
    write: usize,
    progress: Progress,
    machine: &mut M,
) -> Result<(), ApplyError<M::Error>>
where
    M::Error: 'static,
{
    let note = Note { write, progress };
    machine.note(&note).map_err(ApplyError::Step)?;
    set.note(&note).map_err(ApplyError::Rules)
}

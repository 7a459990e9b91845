//! From the text of a journal to what was done so far, and what is due.

use super::line::{BEFORE, Begin, CloseReason, CoupledReading, Lease, Line, Outcome, SCHEMA, Value, Write};
use super::note::{LastNote, Note, Notes, Progress};
use crate::tunable::Tunable;

/// A change set as its journal tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangeSet {
    /// The first line.
    pub begin: Begin,
    /// How far each of [`Begin::writes`] got.
    pub stages: Vec<Stage>,
    /// Every setting was written and read back.
    pub applied: bool,
    /// Confirmed before its deadline.
    pub confirmed: bool,
    /// Over, and why.
    pub closed: Option<CloseReason>,
}

/// How far one setting got.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Never written.
    Planned,
    /// Perhaps written, not read back: counts as ours.
    Writing,
    /// Written and read back.
    Written {
        /// What the kernel held.
        read_back: String,
        /// The coupled tunables then.
        coupled: Vec<CoupledReading>,
    },
    /// Perhaps restored, not read back: counts as ours.
    Restoring {
        /// What the coupled tunables must be afterwards.
        coupled: Vec<Value>,
    },
    /// Undone, or given up, with this outcome.
    Done(Outcome),
}

impl Stage {
    fn of(progress: &Progress) -> Stage {
        match progress {
            Progress::Writing => Stage::Writing,
            Progress::Written { read_back, coupled } => {
                Stage::Written { read_back: read_back.clone(), coupled: coupled.clone() }
            }
        }
    }
}

/// Index and stage of a setting that notes may speak of.
fn often_in_force<'s>((index, (write, stage)): (usize, (&Write, &'s mut Stage))) -> Option<(usize, &'s mut Stage)> {
    let is_in_force = matches!(stage, Stage::Writing | Stage::Written { .. });
    (write.often && is_in_force).then_some((index, stage))
}

/// A journal's text, read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replayed {
    /// The change set; `None` when not even the first line is complete, so that nothing was written.
    pub set: Option<ChangeSet>,
    /// How many bytes hold complete lines. What follows is a torn line, to be cut off before the next one is added.
    pub whole_bytes: usize,
}

/// A journal that cannot be trusted. A torn last line is none: a kill or a full disk leaves one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {why}")]
pub struct Damage {
    /// From 1.
    pub line: usize,
    /// What is wrong with it.
    pub why: String,
}

/// Reads a journal.
///
/// A last line without its newline is torn and left out, also where it happens to be whole: no step relies on a line
/// before the newline is on disk, so leaving it out is always safe.
///
/// # Errors
/// When a complete line is not what can stand there.
pub fn replay(text: &[u8]) -> Result<Replayed, Damage> {
    let whole_bytes = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
    let mut set: Option<ChangeSet> = None;
    for (index, bytes) in text[..whole_bytes].split_inclusive(|byte| *byte == b'\n').enumerate() {
        let damage = |why: String| Damage { line: index + 1, why };
        let line: Line = serde_json::from_slice(bytes).map_err(|error| damage(error.to_string()))?;
        match (&mut set, line) {
            (None, Line::Begin(begin)) => set = Some(ChangeSet::new(*begin).map_err(damage)?),
            (None, _) => return Err(damage("the first line is not 'begin'".to_owned())),
            (Some(set), line) => set.push(&line).map_err(damage)?,
        }
    }
    Ok(Replayed { set, whole_bytes })
}

/// What [`ChangeSet::due`] must know of the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostNow<'a> {
    /// This boot.
    pub boot_id: &'a str,
    /// Whether the process in [`Begin::owner`] still lives.
    pub owner_lives: bool,
    /// Milliseconds of `CLOCK_BOOTTIME`.
    pub boottime_ms: u64,
}

/// What has to be done about a change set before anything else is written. Only the holder of the host lock may ask:
/// without it a change that is being applied at this moment looks like one whose process died.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UndoDue {
    /// Nothing: closed, or in force.
    Nothing,
    /// Close it; another boot's values are never replayed. Files it made are removed.
    CloseOtherBoot,
    /// Undo it.
    Undo(UndoReason),
}

/// Why a change set must be undone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UndoReason {
    /// Its process ended before everything was written.
    HalfApplied,
    /// Its undo did not come to an end.
    HalfUndone,
    /// Its owner ended without undoing it.
    OwnerDied,
    /// Nobody confirmed it in time.
    NotConfirmed,
}

impl UndoReason {
    /// For people, after "because".
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            UndoReason::HalfApplied => "it was interrupted before all of it was written",
            UndoReason::HalfUndone => "its undo was interrupted or failed",
            UndoReason::OwnerDied => "the run that made it ended without undoing it",
            UndoReason::NotConfirmed => "it was not confirmed in time",
        }
    }
}

impl ChangeSet {
    /// A change set of which nothing is written yet.
    ///
    /// # Errors
    /// When the line is of another format.
    pub fn new(begin: Begin) -> Result<Self, String> {
        if begin.schema != SCHEMA && begin.schema != BEFORE {
            return Err(format!("schema '{}' is not '{SCHEMA}', which this version reads", begin.schema));
        }
        let stages = vec![Stage::Planned; begin.writes.len()];
        Ok(ChangeSet { begin, stages, applied: false, confirmed: false, closed: None })
    }

    /// Adds what a line says.
    ///
    /// # Errors
    /// When the line cannot follow those before it. The set is unchanged then.
    pub fn push(&mut self, line: &Line) -> Result<(), String> {
        if self.closed.is_some() {
            return Err("a line follows 'closed'".to_owned());
        }
        match line {
            Line::Begin(_) => return Err("a second 'begin'".to_owned()),
            Line::Writing { write } => self.step(*write, |s| *s == Stage::Planned, Stage::Writing)?,
            Line::Written { write, read_back, coupled } => {
                let written = Stage::Written { read_back: read_back.clone(), coupled: coupled.clone() };
                self.step(*write, |s| *s == Stage::Writing, written)?;
            }
            Line::Applied if self.stages.iter().all(|s| matches!(s, Stage::Written { .. })) => self.applied = true,
            Line::Applied => return Err("'applied' before every setting is written".to_owned()),
            Line::Confirmed => self.confirmed = true,
            Line::Restoring { write, coupled } => {
                let ours = |s: &Stage| !matches!(s, Stage::Planned | Stage::Done(_));
                self.step(*write, ours, Stage::Restoring { coupled: coupled.clone() })?;
            }
            Line::Restored { write, outcome: Outcome::Failed { .. }, .. } => {
                // Tried again later, from wherever it stopped; so the stage stays what it is.
                self.stages.get(*write).ok_or_else(|| format!("there is no setting {write}"))?;
            }
            Line::Restored { write, outcome, .. } => {
                self.step(*write, |s| !matches!(s, Stage::Done(_)), Stage::Done(outcome.clone()))?;
            }
            Line::Closed { how } => self.closed = Some(*how),
        }
        Ok(())
    }

    fn step(&mut self, write: usize, may: impl Fn(&Stage) -> bool, next: Stage) -> Result<(), String> {
        let stage = self.stages.get_mut(write).ok_or_else(|| format!("there is no setting {write}"))?;
        if !may(stage) {
            return Err(format!("setting {write} cannot go from {stage:?} to {next:?}"));
        }
        *stage = next;
        Ok(())
    }

    /// Adds what a note says of a setting that is written often.
    ///
    /// # Errors
    /// When the setting is not one, or its undo has begun. The set is unchanged then.
    pub fn note(&mut self, note: &Note) -> Result<(), String> {
        if self.begin.writes.get(note.write).is_none_or(|write| !write.often) {
            return Err(format!("setting {} is not written often", note.write));
        }
        let in_force = |stage: &Stage| matches!(stage, Stage::Writing | Stage::Written { .. });
        self.step(note.write, in_force, Stage::of(&note.progress))
    }

    /// Adds what the notes beside the journal say; `None` when they are not there. Where they cannot be told the value counts as
    /// ours, like any that was written and not read back. A setting whose undo has begun goes by the journal alone.
    pub fn take_notes(&mut self, notes: Option<&[u8]>) {
        for (write, stage) in self.begin.writes.iter().zip(&mut self.stages).enumerate().filter_map(often_in_force) {
            match notes.map_or(LastNote::Lost, |notes| Notes::last(notes, write)) {
                LastNote::None => {}
                LastNote::Progress(progress) => *stage = Stage::of(&progress),
                LastNote::Lost => *stage = Stage::Writing,
            }
        }
    }

    /// Whether it has settings that are written often, and so notes beside its journal.
    #[must_use]
    pub fn has_notes(&self) -> bool {
        self.begin.writes.iter().any(|write| write.often)
    }

    /// Whether an undo has begun.
    #[must_use]
    pub fn is_undoing(&self) -> bool {
        self.stages.iter().any(|s| matches!(s, Stage::Restoring { .. } | Stage::Done(_)))
    }

    /// What has to be done about it. See [`UndoDue`] for who may ask.
    #[must_use]
    pub fn due(&self, now: &HostNow<'_>) -> UndoDue {
        if self.closed.is_some() {
            return UndoDue::Nothing;
        }
        if self.begin.boot_id != now.boot_id {
            return UndoDue::CloseOtherBoot;
        }
        if self.is_undoing() {
            return UndoDue::Undo(UndoReason::HalfUndone);
        }
        if !self.applied {
            return UndoDue::Undo(UndoReason::HalfApplied);
        }
        match &self.begin.lease {
            Lease::Owner if !now.owner_lives => UndoDue::Undo(UndoReason::OwnerDied),
            Lease::Deadline { boottime_ms, .. } if !self.confirmed && now.boottime_ms >= *boottime_ms => {
                UndoDue::Undo(UndoReason::NotConfirmed)
            }
            Lease::None | Lease::Owner | Lease::Deadline { .. } => UndoDue::Nothing,
        }
    }

    /// Whether it waits for a confirmation.
    #[must_use]
    pub fn awaits_confirmation(&self) -> bool {
        self.closed.is_none() && !self.confirmed && matches!(self.begin.lease, Lease::Deadline { .. })
    }

    /// Every tunable it set or may have moved.
    pub fn touched(&self) -> impl Iterator<Item = &Tunable> {
        self.begin.writes.iter().flat_map(|w| std::iter::once(&w.tunable).chain(w.coupled.iter().map(|c| &c.tunable)))
    }

    /// Whether undoing `self` while `later` is in force would take a value from under it.
    #[must_use]
    pub fn lies_under(&self, later: &ChangeSet) -> bool {
        later.closed.is_none()
            && later.begin.id > self.begin.id
            && later.begin.boot_id == self.begin.boot_id
            && self.touched().any(|mine| later.touched().any(|theirs| theirs == mine))
    }
}

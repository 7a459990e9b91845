//! A change set: a policy applied to a host, with every value it replaced and the way back.
//!
//! Its journal is a sequence of [`line::Line`]s. [`replay`] folds them into a [`replay::ChangeSet`], which says what was
//! done so far and what is due; [`apply::apply`] and [`undo::undo`] drive the host through the [`Machine`] trait and
//! write a line before and after each step. What is written often while the change is in force goes through [`often::write_again`],
//! which leaves a [`note::Note`] in place of each line. Nothing here touches a machine: that is what lets a test stop the same code
//! after any line, in any order, and see where the host ends.

pub mod apply;
pub mod line;
pub mod note;
pub mod often;
pub mod replay;
pub mod undo;

use crate::tunable::Tunable;

/// What applying and undoing need of a host. The host crate implements it over kernel files and the journal's file, a
/// test over a map of values that can lose power.
pub trait Machine {
    /// Why a step failed.
    type Error: std::error::Error;

    /// The tunable's value now, as canonical text.
    ///
    /// # Errors
    /// When it cannot be read; see [`Machine::is_gone`].
    fn read(&mut self, tunable: &Tunable) -> Result<String, Self::Error>;

    /// Sets the tunable, from whatever it is.
    ///
    /// # Errors
    /// When the kernel refuses.
    fn write(&mut self, tunable: &Tunable, value: &str) -> Result<(), Self::Error>;

    /// Adds a line to the journal. On return a killed process cannot lose it.
    ///
    /// # Errors
    /// When it cannot be written.
    fn record(&mut self, line: &line::Line) -> Result<(), Self::Error>;

    /// Puts a note of what is written often in the place of the last but one. On return a killed process cannot lose it; a crash of
    /// the host may, for it ends the boot whose values these are.
    ///
    /// # Errors
    /// When it cannot be written.
    fn note(&mut self, note: &note::Note) -> Result<(), Self::Error>;

    /// Removes a file that a value created. One that is not there is no error.
    ///
    /// # Errors
    /// When it is there and cannot be removed.
    fn remove(&mut self, artefact: &str) -> Result<(), Self::Error>;

    /// Whether the error says that the tunable no longer exists, such as a disk that was unplugged.
    fn is_gone(&self, error: &Self::Error) -> bool;

    /// Called at each [`Phase`].
    fn reached(&mut self, phase: Phase);
}

/// Moments in the life of a change set at which something may go wrong; tests stop there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The journal holds every original; nothing is written yet.
    Journalled,
    /// About to write this setting; its `writing` line is on disk.
    BeforeWrite(usize),
    /// The kernel took the write; nothing is read back, coupled tunables may have moved.
    AfterWrite(usize),
    /// Everything is written, read back and journalled.
    Applied,
    /// About to restore this setting.
    BeforeRestore(usize),
    /// The kernel took the old value; coupled tunables may have moved.
    AfterRestore(usize),
    /// Everything is undone and the journal says so.
    Closed,
}

impl Phase {
    /// One word for it, without the index.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Phase::Journalled => "journalled",
            Phase::BeforeWrite(_) => "before-write",
            Phase::AfterWrite(_) => "after-write",
            Phase::Applied => "applied",
            Phase::BeforeRestore(_) => "before-restore",
            Phase::AfterRestore(_) => "after-restore",
            Phase::Closed => "closed",
        }
    }
}

#[cfg(test)]
mod model;

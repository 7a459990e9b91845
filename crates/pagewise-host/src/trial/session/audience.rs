//! Whoever is told how a trial goes. What is told are values: the words are the caller's.

use crate::process::Interrupt;
use crate::progress::Progress;
use crate::trial::engine::Observer;
use pagewise_core::experiment::live::Ended;
use pagewise_core::experiment::plan::Plan;
use pagewise_core::experiment::point::{PlannedPoint, Point};
use std::path::Path;

/// Is told how a trial goes.
pub trait Audience {
    /// Something a person would like to know.
    fn note(&self, note: Note<'_>);

    /// A step begins whose end can be told, such as generating input.
    fn step(&self) -> Box<dyn Progress + '_>;

    /// The points of a plan are about to run. What is given is told of each, and is dropped when everything is put back.
    fn points(&self, plan: &Plan, interrupt: &Interrupt) -> Box<dyn Points + '_>;
}

/// Is told of the points that run.
pub trait Points {
    /// Called about ten times a second while a point runs.
    fn tick(&self);
    /// A point starts; `done` of `total` points have a result.
    fn starting(&self, planned: &PlannedPoint, attempt: u32, done: usize, total: usize);
    /// A point ended.
    fn ended(&self, point: &Point, done: usize, total: usize);
    /// No further point runs; what was changed is put back now.
    fn over(&self);
}

/// What a person would like to know of a trial.
#[derive(Debug)]
pub enum Note<'a> {
    /// What an earlier run had left was undone: the id of its change, and its policy.
    Undone {
        /// Of the change.
        id: &'a str,
        /// Its policy.
        policy: &'a str,
    },
    /// Restored data of an earlier run that could not be put away, and why.
    Kept(&'a str),
    /// Another run has the host, and is waited for: who.
    WaitingFor(&'a str),
    /// What is odd about the plan on this host.
    Odd(&'a str),
    /// A run under this level, to learn how long one takes.
    SizingRun(&'a str),
    /// Nothing is left to run.
    Complete(&'a Path),
    /// A live proof that has ended early is over.
    Over(&'a Ended),
    /// A live proof ended before its plan did.
    EndedEarly(&'a Ended),
    /// The recording ended before the proof did, and why.
    RecordingEnded(&'a str),
    /// The restored data were not put away, and why.
    NotPutAway(&'a str),
    /// The bundle was removed or moved while its trial ran.
    Moved(&'a Path),
    /// The trial stopped; what is complete is kept, and one can go on with it.
    CanGoOn {
        /// The bundle.
        bundle: &'a Path,
        /// Whether a run in it lacks the other of its pair, and runs again with it.
        has_cut_pair: bool,
    },
}

/// Passes on what the engine tells.
pub(super) struct ForwardedProgress<'a>(pub(super) &'a dyn Points);

impl Observer for ForwardedProgress<'_> {
    fn starting(&mut self, planned: &PlannedPoint, attempt: u32, done: usize, total: usize) {
        self.0.starting(planned, attempt, done, total);
    }

    fn ended(&mut self, point: &Point, done: usize, total: usize) {
        self.0.ended(point, done, total);
    }
}

//! The published mechanism as its slides describe it (Oyama et al., ROSS 2014): where fewer than a threshold of bytes are free, and frequent
//! file I/O is judged to be the cause, a fixed amount is freed. The two numbers are in figures that the text lacks: they are arguments.

use super::inflow::{Cause, Inflow};
use super::sample::Sample;
use super::{ControlLaw, Decision, Slice};

/// The mechanism for one node.
#[derive(Clone, Copy, Debug)]
pub struct Paper {
    /// Free bytes below which it frees.
    pub threshold: u64,
    /// Bytes it frees at once.
    pub batch: u64,
    /// Nanoseconds between two samples.
    pub every: u64,
    inflow: Inflow,
    is_freeing: bool,
}

impl Paper {
    /// With these numbers.
    #[must_use]
    pub fn new(threshold: u64, batch: u64, every: u64) -> Paper {
        Paper { threshold, batch, every, inflow: Inflow::default(), is_freeing: false }
    }

    /// Whether it freed at its last sample.
    #[must_use]
    pub fn is_freeing(&self) -> bool {
        self.is_freeing
    }
}

impl ControlLaw for Paper {
    fn decide(&mut self, sample: &Sample<'_>) -> Decision {
        self.inflow.observe(sample);
        let is_due = sample.free() < self.threshold && self.inflow.cause() == Cause::File;
        // One batch for a sample: it samples again only after its time.
        if is_due && !self.is_freeing {
            self.is_freeing = true;
            return Decision::Reclaim(self.batch);
        }
        self.is_freeing = false;
        Decision::Wait(self.every)
    }

    fn made(&mut self, _: Slice) {}
}

//! The guard's decisions: when page cache is to be taken back, how much, in which slices, and when to leave it alone.
//!
//! What the mechanism is for stands in Oyama et al., "Reduction of operating system jitter caused by page reclaim" (ROSS 2014): a
//! stream fills memory, kswapd wakes and runs on a core that the application wants. Their kernel thread frees earlier and more at a
//! time. Here the same is a function: samples in, decisions out, a domain at a time. A [`sample::Domain`] is a memory node, where kswapd waits
//! behind the low watermark, or a cgroup, where its own threads reclaim at the limit.
//!
//! [`inflow`] says what fills memory, [`trail`] which parts of a streamed file can be done without, [`law`] decides, [`brake`] and [`cost`] hold it back where it hurts, [`paper`] is the published mechanism as
//! it is described, [`simulate`] runs any of them on a model of a node. [`asked`] is which of them a user wants, as a text.

pub mod asked;
pub mod brake;
pub mod cost;
pub mod inflow;
pub mod law;
pub mod paper;
pub mod sample;
pub mod simulate;
pub mod trail;

use sample::Sample;

/// What is to be done now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Nothing; sample again after so many nanoseconds.
    Wait(u64),
    /// Take so many bytes of page cache back in one call, then sample again at once.
    Reclaim(u64),
}

/// What one call of a back end gave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slice {
    /// Bytes that were asked for.
    pub asked: u64,
    /// Bytes that were taken, by the kernel's counters and by what files have left.
    pub freed: u64,
    /// Of these, bytes that were taken out of streamed files.
    pub of_files: u64,
    /// Nanoseconds it took.
    pub took: u64,
    /// CPU nanoseconds of them.
    pub cpu: u64,
}

/// A law of control: one per domain, with its own memory. It allocates nothing once it is made.
pub trait ControlLaw {
    /// What to do, seeing this.
    fn decide(&mut self, sample: &Sample<'_>) -> Decision;

    /// The slice it asked for was made.
    fn made(&mut self, slice: Slice);
}

/// A second, in the unit of all times here.
pub const SECOND: u64 = 1_000_000_000;
/// A millisecond.
pub const MILLISECOND: u64 = 1_000_000;

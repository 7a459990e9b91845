//! Where CPUs were in the runs of a trial: the stacks that its recordings kept, and how they differ between the two sides of
//! a contrast.
//!
//! [`fold`] turns the samples of each run into shares of its functions, and all runs into one tree; [`compare`] estimates
//! differences of shares. A run is one observation, however many samples it has: samples of one run resemble each other, so
//! that counting them as independent would find differences between any two runs.

mod compare;
mod fold;

pub use crate::comparison::stacks::{FunctionContrast, StackContrast, StackSide};
pub use compare::{compare, counted};
pub use fold::{CellStacks, RunStacks, StacksOfRuns};

/// Functions with less than this share of a run, on average over all runs, are not compared, and stacks with less in every
/// cell are not drawn. Our own bound: a run of a thousand samples shows half of one.
pub const LEAST_SHARE: f64 = 0.0005;

#[cfg(test)]
mod tests;

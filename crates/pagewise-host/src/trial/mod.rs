//! Runs trials: the loop over the order, one point at a time, with everything that is checked, measured and put back.
//!
//! A point: prepare the workload · apply the policy · wait for the state gate · measure the run · undo the policy ·
//! verify the output · clean up. [`engine`] is the loop, [`runner`] is one point on this host. In a live proof a point is a
//! block of time, and [`live`] runs it; where a plan's kernels are booted in virtual machines, [`guests`] does;
//! where the host itself is booted, [`boots`] asks for it. [`session`] runs a trial from its plan to its bundle; [`recordings`] are what each leaves beside its row, [`stacks`] what is compared of them;
//! [`other_settings`] are the settings that none of its policies names.

pub mod boots;
pub mod engine;
pub mod gate;
pub mod guests;
pub mod invalid;
pub mod live;
pub mod locality;
pub mod measure;
pub mod other_settings;
pub mod recordings;
pub mod runner;
pub mod said;
pub mod session;
pub mod stacks;
pub mod touch;

//! A comparison as a value: what is declared before the first run, the order drawn for it, and what each run gave.
//!
//! The way of one trial: a [`plan::Plan`] is frozen, [`order::Order`] is drawn from its seed and written down, the host
//! runs the points it names, and [`analysis::analyze`] turns plan and points into an [`analysis::Analysis`] that reports
//! only read.

pub mod analysis;
pub mod boots;
pub mod data;
pub mod live;
pub mod next;
pub mod number_pattern;
pub mod order;
pub mod own_measure;
pub mod plan;
pub mod point;
pub mod stacks;
pub mod stopping;

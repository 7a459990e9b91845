//! Recordings in the formats of other tools: tables and processes as CSV and OpenMetrics, stacks as folded lines and pprof.
//!
//! Everything here only reads a [`Recorded`](crate::recording::Recorded) value and writes bytes; gaps stay gaps: an empty
//! cell, a missing sample, never a zero.

pub mod csv;
pub mod folded;
pub mod openmetrics;
pub mod parquet;
pub mod pprof;
pub mod processes;
mod selection;
mod table;

pub use selection::Selection;
pub use table::{Row, SourceTable, source_tables};

#[cfg(test)]
mod tests;

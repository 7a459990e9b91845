//! Two levels compared on numbers, wherever these come from: the rule that judges, and the analysis of a table.
//!
//! The way of one table: [`question::Question`] says what is asked, [`table::Table`] reads the columns it needs, and
//! [`analysis::analyze`] answers with [`analysis::Comparisons`], which reports only read.

pub mod analysis;
mod cells;
mod confounding;
pub mod counters;
pub(crate) mod doubts;
mod effects;
pub mod estimate;
pub mod found;
pub(crate) mod host_change;
mod level_order;
mod notes;
pub mod outcome;
pub mod plain_samples;
pub mod question;
pub(crate) mod ratio;
pub mod rule;
pub(crate) mod sentence;
pub mod stacks;
pub mod table;
mod warnings;
mod within;
pub mod words;

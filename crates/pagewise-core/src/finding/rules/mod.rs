//! A file per thing that can be wrong, and the one list of them.
//!
//! `needs` and thresholds are declared in each file and shown in `docs/reference/findings.md`; tests hold each rule to
//! its table. The order is that in which they are asked: one that explains another comes before it.

use super::rule::Rule;

mod compaction_storm;
mod fragmentation;
mod measurement_caveat;
mod unexplained_system_time;

/// What every rule uses.
mod prelude {
    pub(super) use super::super::answer::Answer;
    pub(super) use super::super::case::{Case, Clause, Draft, Verdict, said};
    pub(super) use super::super::document::Quantity::{
        Bytes, BytesPerSecond, Fraction, Number, PagesPerSecond, PerSecond, Seconds,
    };
    pub(super) use super::super::document::{Confidence, Evidence, Severity, Tier, Who};
    pub(super) use super::super::families::Family;
    pub(super) use super::super::look::{Hits, Look, Missing, Track};
    pub(super) use super::super::rule::{Rule, THREE_WINDOWS, Threshold};
    pub(super) use super::super::signal;
    pub(super) use super::super::words;
    pub(super) use super::fragmentation;
    pub(super) use crate::recording::StallKind;
}

/// Every rule, in the order in which they are asked.
pub const ALL: &[&Rule] = &[
    &compaction_storm::RULE,
    &fragmentation::RULE,
    &measurement_caveat::RULE,
    &unexplained_system_time::RULE,
];

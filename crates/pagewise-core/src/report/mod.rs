//! Results as text, Markdown and one HTML file; JSON is the [`Analysis`] itself. Bytes out: files are opened elsewhere.
//!
//! The bytes depend on the [`Report`] alone, so that a bundle gives the same report on every host and at every time.
//! [`content`] says everything once, in words; the renditions only lay it out.

pub mod changes;

pub mod comparisons;

pub mod doctor;

pub mod facts;

pub mod kernels;

pub mod findings;
pub mod recording;

pub mod study;

pub mod tunables;

pub mod arms;

mod command_line;
mod content;
mod figure;
mod flame_tree;
mod functions;
mod html;
mod markdown;
mod number;
pub mod printable;
mod remedy;
mod script;
mod text;
mod two_arms;
mod words;

pub use command_line::command_line;
pub use html::{TemplateError, html};
pub use markdown::markdown;
pub use number::with_unit;
pub use text::{Style, text};

use crate::experiment::analysis::Analysis;
use crate::experiment::plan::Plan;
use facts::HostFacts;

/// Everything a report is made from.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// What the trial found.
    pub analysis: Analysis,
    /// What was declared before the first run.
    pub plan: Plan,
    /// Where it ran, a boot each in the order in which they came.
    pub hosts: Vec<HostFacts>,
    /// Command lines that repeat the trial, in order.
    pub commands: Vec<String>,
    /// What was said about workload and policies before the first run.
    pub notes: Vec<String>,
    /// Where CPUs were in the runs of every cell, where they kept stacks.
    pub flames: Option<arms::Flames>,
    /// Name of the bundle the report was made from.
    pub bundle: String,
    /// When the bundle was made, RFC 3339 UTC.
    pub created: String,
    /// Version of Pagewise that ran the trial.
    pub pagewise: String,
}

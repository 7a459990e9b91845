//! A study as text, Markdown, LaTeX, 72-column mail, one HTML file, a table of its points, and an R script with its data.
//! Bytes out: files are opened elsewhere, and the bytes depend on the [`StudyReport`] alone.
//!
//! [`content`] says everything once, in words, with [`tables`] for its numbers; the renditions only lay it out.

mod content;
mod csv;
mod design;
mod figure;
mod frame;
mod html;
mod latex;
mod markdown;
mod r_script;
mod remedy;
mod tables;
mod text;
mod text72;
mod words;

pub use csv::csv;
pub use html::html;
pub use latex::latex;
pub use markdown::markdown;
pub use r_script::r_script;
pub use text::text;
pub use text72::text72;

use super::facts::HostFacts;
use crate::experiment::plan::Plan;
use crate::experiment::study::Study;

/// Everything a report of a study is made from.
#[derive(Clone, Debug, PartialEq)]
pub struct StudyReport {
    /// What the trial found.
    pub study: Study,
    /// What was declared before the first run.
    pub plan: Plan,
    /// Where it ran.
    pub facts: HostFacts,
    /// Command lines that repeat the trial, in order.
    pub commands: Vec<String>,
    /// What was said about workload and policies before the first run.
    pub notes: Vec<String>,
    /// Where CPUs were in the runs of every cell, where they kept stacks.
    pub flames: Option<crate::report::arms::Flames>,
    /// Name of the bundle the report was made from.
    pub bundle: String,
    /// When the bundle was made, RFC 3339 UTC.
    pub created: String,
    /// Version of Pagewise that ran the trial.
    pub pagewise: String,
}

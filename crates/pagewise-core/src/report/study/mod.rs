//! A matrix as text, Markdown, LaTeX, 72-column mail, one HTML file, a table of its points, and an R script with its data.
//! Bytes out: files are opened elsewhere, and the bytes depend on the [`Report`] alone.
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
mod tables;
mod text;
mod text72;
mod words;

pub use csv::csv;
pub(super) use html::html;
pub use latex::latex;
pub(super) use markdown::markdown;
pub use r_script::r_script;
pub(super) use text::text;
pub use text72::text72;

use super::Report;

//! Comparisons of a table as people want them: on a terminal, as Markdown, as LaTeX, as a mail, and as R prints them.
//! JSON is the [`Comparisons`] value itself.
//!
//! Names of factors and levels come from anyone's file: every rendition makes them inert for its reader.
//!
//! [`Comparisons`]: crate::comparison::analysis::Comparisons

pub(super) mod latex;
pub(super) mod layout;
mod markdown;
mod r;
pub mod r_number;
mod table;
pub(super) mod text72;

pub use latex::latex;
pub use markdown::markdown;
pub use r::r;
pub use table::table;
pub use text72::text72;

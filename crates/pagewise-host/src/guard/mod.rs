//! The guard on this host: samples of a node for the law of `pagewise_core::guard`, the back end that takes page cache back, and the loop
//! between them.

pub mod back_end;
mod files;
pub mod reading;
pub mod running;
mod streamers;

pub use streamers::Streamer;

use crate::source::SourceError;

/// Why a node cannot be guarded.
#[derive(Debug, thiserror::Error)]
pub enum GuardError {
    /// A kernel file cannot be read.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// What there is to be read lacks something.
    #[error("{0}")]
    Lacks(String),
    /// No back end works here.
    #[error("node {node} cannot be reclaimed from: {why}")]
    NoBackEnd {
        /// The node.
        node: u32,
        /// Why.
        why: String,
    },
}

impl From<crate::root::FileError> for GuardError {
    fn from(error: crate::root::FileError) -> Self {
        GuardError::Source(error.into())
    }
}

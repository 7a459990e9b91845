//! The guard on this host: samples of a node or of a cgroup for the law of `pagewise_core::guard`, the back end that takes page cache back, and the loop
//! between them.

pub mod back_end;
mod domain;
mod files;
mod generations;
mod of_cgroup;
pub mod reading;
pub mod running;
pub mod status;
mod streamers;

pub use domain::DomainName;
pub use streamers::Streamer;

use crate::source::SourceError;

/// Why a node or a cgroup cannot be guarded.
#[derive(Debug, thiserror::Error)]
pub enum GuardError {
    /// A kernel file cannot be read.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// What there is to be read lacks something.
    #[error("{0}")]
    Lacks(String),
    /// No back end works here.
    #[error("{domain} cannot be reclaimed from: {why}")]
    NoBackEnd {
        /// The node or cgroup.
        domain: DomainName,
        /// Why.
        why: String,
    },
}

impl From<crate::root::FileError> for GuardError {
    fn from(error: crate::root::FileError) -> Self {
        GuardError::Source(error.into())
    }
}

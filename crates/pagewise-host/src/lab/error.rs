//! What can go wrong between a kernel and a guest that ran.

use crate::process::{Interrupted, ProcessError};
use crate::workload::WorkloadError;
use std::io;
use std::path::PathBuf;

/// Why there is no kernel, or no guest.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// What a user wrote names no kernel.
    #[error("{0}")]
    Usage(String),
    /// A program that the lab needs is not here, or this host lacks something else for it.
    #[error("{0}")]
    Missing(String),
    /// A program that the lab runs ended badly, or said something that is not understood.
    #[error("{0}")]
    Step(String),
    /// The guest ended, or had to be ended, before what runs in it did.
    #[error("the guest with {kernel} {what}{last_words}")]
    Guest {
        /// Its kernel.
        kernel: String,
        /// What became of it: panicked, did not come up within 180 s, went silent.
        what: String,
        /// The end of its console, on lines of its own; empty where it printed nothing.
        last_words: String,
    },
    /// Ctrl-C.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
    /// A file.
    #[error("cannot {action} {}: {source}", path.display())]
    File {
        /// What was tried.
        action: &'static str,
        /// Which file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A program could not be started.
    #[error(transparent)]
    Process(#[from] ProcessError),
}

impl LabError {
    /// A file error, in the shape that `map_err` takes.
    pub(crate) fn file(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> LabError {
        let path = path.into();
        move |source| LabError::File { action, path, source }
    }
}

/// A folder that is filled beside its place is the workloads' too, with their errors.
impl From<WorkloadError> for LabError {
    fn from(error: WorkloadError) -> Self {
        match error {
            WorkloadError::Interrupted(interrupted) => LabError::Interrupted(interrupted),
            other => LabError::Step(other.to_string()),
        }
    }
}

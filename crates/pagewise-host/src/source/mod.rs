//! One reader per kernel file. Parsing is a function of the text; reading takes the text from a [`Root`].
//!
//! What a file does not say is absent with a reason, never zero.

use crate::root::{FileError, Root};

pub mod buddyinfo;
pub mod cgroup;
pub mod cpu;
pub mod dentries;
pub mod diskstats;
pub mod kernel_threads;
pub mod meminfo;
pub mod perf_record;
pub mod polled;
pub mod process;
pub mod psi;
pub mod swaps;
pub mod thp;
pub mod tracefs;
pub mod visit;
pub mod vmstat;
pub mod zoneinfo;

/// A kernel file that cannot be understood, or not be read at all.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// It is missing, or may not be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// It does not look as this kernel file looks.
    #[error("cannot understand {path}: {what}")]
    Format {
        /// The file.
        path: String,
        /// What is wrong with it.
        what: String,
    },
}

fn format_error(path: &str, what: impl Into<String>) -> SourceError {
    SourceError::Format { path: path.to_owned(), what: what.into() }
}

/// The boot this kernel runs in.
///
/// # Errors
/// When the kernel does not say.
pub fn boot_id(root: &Root) -> Result<String, FileError> {
    Ok(root.read("/proc/sys/kernel/random/boot_id")?.trim().to_owned())
}

//! Why a tunable cannot be read or set, in words a user can act on.

use crate::root::FileError;
use pagewise_core::tunable::{NameError, ValueError};
use pagewise_core::unit::Bytes;
use std::io;
use std::path::PathBuf;

/// A tunable cannot be read or set.
#[derive(Debug, thiserror::Error)]
pub enum TunableError {
    /// No such tunable; the message has the nearest names.
    #[error(transparent)]
    Name(#[from] NameError),
    /// Not a value of it on this host.
    #[error("cannot set {tunable} to '{value}': {why}; allowed here: {allowed}")]
    Value {
        /// The tunable.
        tunable: String,
        /// As written.
        value: String,
        /// What is wrong with it.
        why: String,
        /// What the kernel, or Pagewise, allows.
        allowed: String,
    },
    /// This host lacks it.
    #[error("{tunable} is not here: {why}")]
    Missing {
        /// The tunable.
        tunable: String,
        /// Which file was looked for, or what is lacking.
        why: String,
    },
    /// It may not be written by us.
    #[error("not permitted to {action} {} for {tunable}: {source}; {remedy}", path.display())]
    NotPermitted {
        /// The tunable.
        tunable: String,
        /// `read` or `write`.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// What the kernel answered.
        source: io::Error,
        /// What to do.
        remedy: &'static str,
    },
    /// The kernel does not take the value.
    #[error("the kernel refused {tunable}={value} ({action}): {source}{hint}")]
    Refused {
        /// The tunable.
        tunable: String,
        /// The value.
        value: String,
        /// What was tried, on which file.
        action: String,
        /// What the kernel answered.
        source: io::Error,
        /// What may be the cause, after `; `; empty when nothing is known.
        hint: &'static str,
    },
    /// There is no room for a file the value needs.
    #[error(
        "no space for {tunable}={value}: {} has {} free and it needs {}; free some, or choose another folder with \
         --cache-dir", folder.display(), Bytes(*free), Bytes(*needed)
    )]
    NoSpace {
        /// The tunable.
        tunable: String,
        /// The value.
        value: String,
        /// Where the file would be.
        folder: PathBuf,
        /// Bytes an ordinary file may take there.
        free: u64,
        /// Bytes it would take, with a margin for everything else.
        needed: u64,
    },
    /// The kernel might take it, but the host could die of it.
    #[error("{tunable}={value} is above the ceiling of {ceiling} on this host: {reason}")]
    Ceiling {
        /// The tunable.
        tunable: String,
        /// The value.
        value: String,
        /// The highest value allowed, in the tunable's own unit.
        ceiling: u64,
        /// Why not more.
        reason: &'static str,
    },
    /// It would end badly at this moment.
    #[error("{tunable}={value} is not safe now: {why}")]
    Unsafe {
        /// The tunable.
        tunable: String,
        /// The value.
        value: String,
        /// What would happen, and what to do first.
        why: String,
    },
    /// Two settings of one policy exclude each other.
    #[error("'{first}' and '{second}' cannot stand in one policy: {why}")]
    Conflict {
        /// The first setting, as written.
        first: String,
        /// The second setting, as written.
        second: String,
        /// Why.
        why: String,
    },
    /// It has no value on a host.
    #[error("{tunable} acts on a job that Pagewise starts and has no value on the host; use it in: pagewise prove")]
    JobOnly {
        /// The tunable.
        tunable: String,
    },
    /// A kernel file holds what no kernel writes.
    #[error("{} holds '{found}', which is no value of {tunable}: {why}", path.display())]
    Unreadable {
        /// The tunable.
        tunable: String,
        /// The file.
        path: PathBuf,
        /// Its text.
        found: String,
        /// What was expected.
        why: String,
    },
    /// A file of ours, or one of the kernel's, failed in a way that is no refusal.
    #[error("cannot {action} {} for {tunable}: {source}", path.display())]
    File {
        /// The tunable.
        tunable: String,
        /// What was tried.
        action: String,
        /// On which file.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
}

const NEEDS_ROOT: &str = "run as root (in a container, the host's /sys and /proc/sys must be writable)";

impl TunableError {
    pub(super) fn value(tunable: &str, value: &str, error: ValueError) -> Self {
        TunableError::Value {
            tunable: tunable.to_owned(),
            value: value.to_owned(),
            why: error.why,
            allowed: error.allowed,
        }
    }

    /// With the value as it was written, `file:64G`, where it was checked as bytes.
    pub(super) fn told_as_written(mut self, written: &str) -> Self {
        match &mut self {
            TunableError::Value { value, .. }
            | TunableError::NoSpace { value, .. }
            | TunableError::Ceiling { value, .. }
            | TunableError::Unsafe { value, .. } => written.clone_into(value),
            _ => {}
        }
        self
    }

    /// A kernel file could not be read or opened.
    pub(super) fn access(tunable: &str, action: &'static str, error: FileError) -> Self {
        let (tunable, path, source) = (tunable.to_owned(), error.path, error.source);
        match source.kind() {
            io::ErrorKind::NotFound => {
                TunableError::Missing { tunable, why: format!("there is no {}", path.display()) }
            }
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                TunableError::NotPermitted { tunable, action, path, source, remedy: NEEDS_ROOT }
            }
            _ => TunableError::File { tunable, action: action.to_owned(), path, source },
        }
    }

    /// A kernel file did not take a value.
    pub(super) fn written(tunable: &str, value: &str, error: FileError) -> Self {
        match error.source.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                TunableError::access(tunable, "write", error)
            }
            _ => TunableError::Refused {
                tunable: tunable.to_owned(),
                value: value.to_owned(),
                action: format!("{} {}", error.action, error.path.display()),
                source: error.source,
                hint: "",
            },
        }
    }

    /// Whether this host lacks the tunable, perhaps only since a moment ago: a disk was unplugged, a group removed.
    #[must_use]
    pub fn is_missing(&self) -> bool {
        matches!(self, TunableError::Missing { .. })
    }

    /// Whether what the user wrote is wrong, on whatever host.
    #[must_use]
    pub fn is_usage(&self) -> bool {
        matches!(self, TunableError::Name(_) | TunableError::Value { .. } | TunableError::Conflict { .. })
    }
}

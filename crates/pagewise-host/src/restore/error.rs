//! Why data cannot be restored: what was tried, on what, and what to do.

use crate::process::Interrupted;
use pagewise_core::experiment::data::{DataError, Difference, Restore, in_words};
use std::io;
use std::path::{Path, PathBuf};

/// Data that cannot be put back, or must not be used as they are.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    /// A file could not be handled.
    #[error("cannot {action} {}: {source}{}", path.display(), hint(source))]
    File {
        /// `read`, `create`, …
        action: &'static str,
        /// Which one.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The disk filled up on the way.
    #[error(
        "cannot {action} {}: the disk is full ({source}); nothing half made is kept. Free some space, or keep the copies on \
         another file system",
        path.display()
    )]
    Full {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// What the kernel answered.
        source: io::Error,
    },
    /// There is not enough room, seen before anything was written.
    #[error(
        "no room for {what} in {}: {:.0} MB are needed, {:.0} MB are free; free some space, keep the copies on another file \
         system, or use restore = \"reflink\" or \"overlay\" where it can be had",
        folder.display(), *needed as f64 / 1e6, *free as f64 / 1e6
    )]
    NoRoom {
        /// What was to be made.
        what: &'static str,
        /// Where.
        folder: PathBuf,
        /// Bytes, what stays free for others included.
        needed: u64,
        /// Bytes.
        free: u64,
    },
    /// It takes a right we do not have.
    #[error("restore = \"{method}\" needs {right}; run as root, or use restore = \"copy\", which needs nothing")]
    NotPermitted {
        /// The method.
        method: Restore,
        /// The right.
        right: &'static str,
    },
    /// This file system or host cannot do it.
    #[error("restore = \"{method}\" cannot be had in {}: {why}; {remedy}", folder.display())]
    Unsupported {
        /// The method.
        method: Restore,
        /// Where.
        folder: PathBuf,
        /// Why not.
        why: String,
        /// What can.
        remedy: &'static str,
    },
    /// Something that is neither a file nor a folder nor a link.
    #[error("{} is a {kind}: data to be restored are files, folders and symbolic links; move it elsewhere", path.display())]
    Special {
        /// Which one.
        path: PathBuf,
        /// What it is.
        kind: &'static str,
    },
    /// A file changed while its hash was taken.
    #[error("{} changed while it was read: the data must stay as they are as long as a trial runs", path.display())]
    Unsteady {
        /// Which one.
        path: PathBuf,
    },
    /// The copy is not what the manifest says. Nothing is run on it.
    #[error("{}, so nothing is run on it: {}; {remedy}", what, in_words(differences))]
    Differs {
        /// Which copy, and where.
        what: String,
        /// In which files.
        differences: Vec<Difference>,
        /// What to do.
        remedy: &'static str,
    },
    /// The image is wrong where no file lies, or the disk does not give back what was written to it.
    #[error("{} is wrong {place}, so nothing is run on it; {remedy}", path.display())]
    Damaged {
        /// The image.
        path: PathBuf,
        /// Where in it.
        place: String,
        /// What to do.
        remedy: &'static str,
    },
    /// Somebody still uses what is to be thrown away.
    #[error("cannot put away {}: it is in use{by}; end that and try again", path.display())]
    Busy {
        /// The mount or the image.
        path: PathBuf,
        /// By whom, as far as it can be seen.
        by: String,
    },
    /// Another process restores into the same folder.
    #[error(
        "{} is in use by another Pagewise; wait until it has ended, or keep the copies in another folder",
        workspace.display()
    )]
    InUse {
        /// The folder.
        workspace: PathBuf,
    },
    /// A folder that cannot be used.
    #[error("{0}")]
    Usage(String),
    /// The plan's `[data]`.
    #[error(transparent)]
    Data(#[from] DataError),
    /// A program that was needed failed.
    #[error("{0}")]
    Step(String),
    /// Ctrl-C.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
}

impl RestoreError {
    pub(super) fn file(action: &'static str, path: impl AsRef<Path>) -> impl FnOnce(io::Error) -> RestoreError {
        let path = path.as_ref().to_path_buf();
        move |source| match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => RestoreError::Full { action, path, source },
            _ => RestoreError::File { action, path, source },
        }
    }

    pub(super) fn errno(
        action: &'static str,
        path: impl AsRef<Path>,
    ) -> impl FnOnce(rustix::io::Errno) -> RestoreError {
        let to_error = RestoreError::file(action, path);
        move |errno| to_error(errno.into())
    }
}

fn hint(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::PermissionDenied => "; run as the user who owns it, or as root",
        io::ErrorKind::ReadOnlyFilesystem => "; choose a folder on a file system that can be written",
        _ => "",
    }
}

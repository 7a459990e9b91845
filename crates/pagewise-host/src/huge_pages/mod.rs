//! Huge pages for a process that runs: what of its memory lies where, and the kernel asked to make huge pages of it.

pub mod candidates;
pub mod hotspot;
pub mod process;
pub mod running;

use std::fmt;
use std::io;

/// What became of a process whose memory is no longer the one that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessChange {
    /// It ended.
    Over,
    /// It began another program (`execve`).
    AnotherProgram,
}

impl fmt::Display for ProcessChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ProcessChange::Over => "ended",
            ProcessChange::AnotherProgram => "began another program",
        })
    }
}

/// Why nothing can be done, or no more.
#[derive(Debug, thiserror::Error)]
pub enum HugePagesError {
    /// No such process.
    #[error("there is no process {0}")]
    Gone(i32),
    /// It ended or began another program meanwhile.
    #[error("process {0} {1}; nothing more is touched")]
    Changed(i32, ProcessChange),
    /// Its memory may not be read.
    #[error(
        "the memory of process {pid} ({command}, of user {user}) may not be read: {error}. {}",
        if rustix::process::geteuid().is_root() {
            "The kernel refuses it to root as well, as to a container without CAP_SYS_PTRACE, or of a process that may not be traced"
        } else {
            "Run as root, or as that user for what is yours"
        }
    )]
    NotAllowed {
        /// Which.
        pid: i32,
        /// Its name.
        command: String,
        /// Whose it is, by number.
        user: u32,
        /// What the kernel said.
        error: io::Error,
    },
    /// It has none of its own.
    #[error(
        "process {pid} ({command}) has no memory of its own: it is a thread of the kernel, or has ended and is not buried yet"
    )]
    NoMemory {
        /// Which.
        pid: i32,
        /// Its name.
        command: String,
    },
    /// Without the right to advise.
    #[error("huge pages for another process need CAP_SYS_NICE and the right to read its memory: run as root")]
    MayNotAdvise,
    /// The kernel cannot.
    #[error("{0}")]
    Unsupported(String),
    /// What was read makes no sense, or cannot be read.
    #[error("{what}: {error}")]
    Io {
        /// Which file or call.
        what: String,
        /// What the kernel said.
        error: io::Error,
    },
}

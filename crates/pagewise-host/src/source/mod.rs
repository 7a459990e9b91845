//! One reader per kernel file. Parsing is a function of the text; reading takes the text from a [`Root`].
//!
//! What a file does not say is absent with a reason, never zero.

use crate::root::{FileError, Root};
pub use pagewise_core::kernel_text::visit;
use polled::NumberFile;
use visit::Parse;

pub mod buddyinfo;
pub mod cgroup;
pub mod controllers;
pub mod cpu;
pub mod dentries;
pub mod diskstats;
pub mod guard_threads;
pub mod kernel_threads;
pub mod limited_groups;
pub mod meminfo;
pub(crate) mod open_files;
pub mod perf_record;
pub mod polled;
pub mod process;
pub mod psi;
pub mod swaps;
pub mod thp;
pub mod tracefs;
pub mod vmstat;
pub mod zoneinfo;

/// How often a source is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// At every tick.
    EveryTick,
    /// Once a second at most, whatever the rate: it costs the kernel more to print, or changes seldom.
    EverySecond,
    /// Likewise, and every ten seconds while nothing of it changes: it is many files.
    WhileItChanges,
}

/// A kernel file of text that is recorded.
#[derive(Clone, Copy, Debug)]
pub struct TextFile {
    /// The name of the source in a recording.
    pub source: &'static str,
    /// Where it is.
    pub path: &'static str,
    /// How it is parsed.
    pub parse: Parse,
    /// How often it is recorded.
    pub pace: Pace,
    /// Nothing is missed without it where the host has this other file, which is recorded as well.
    pub instead: Option<&'static str>,
}

const fn text(source: &'static str, path: &'static str, parse: Parse, pace: Pace) -> TextFile {
    TextFile { source, path, parse, pace, instead: None }
}

/// Every kernel file of text that is recorded, in the order they are read.
pub const TEXT_FILES: &[TextFile] = &[
    text("vmstat", vmstat::PATH, vmstat::visit, Pace::EveryTick),
    text("meminfo", meminfo::PATH, meminfo::visit, Pace::EveryTick),
    text("stat", cpu::PATH, cpu::visit, Pace::EveryTick),
    text("zoneinfo", zoneinfo::PATH, zoneinfo::visit, Pace::EverySecond),
    text("buddyinfo", buddyinfo::PATH, buddyinfo::visit, Pace::EverySecond),
    text("psi_memory", "/proc/pressure/memory", psi::visit, Pace::EveryTick),
    text("psi_io", "/proc/pressure/io", psi::visit, Pace::EveryTick),
    text("psi_cpu", "/proc/pressure/cpu", psi::visit, Pace::EveryTick),
    text("swaps", swaps::PATH, swaps::visit, Pace::EverySecond),
    text("dentries", dentries::PATH, dentries::visit, Pace::EverySecond),
    // Version 2 counts groups at its root; version 1 by controller. Either takes a few lines and no walk over groups.
    TextFile {
        instead: Some(controllers::PATH),
        ..text("cgroups", "/sys/fs/cgroup/cgroup.stat", vmstat::visit, Pace::EverySecond)
    },
    text("controllers", controllers::PATH, controllers::visit, Pace::EverySecond),
];

/// Files with one number each that are recorded as one source, such as those of sysfs.
#[derive(Clone, Copy, Debug)]
pub struct NumberFiles {
    /// The name of the source in a recording.
    pub source: &'static str,
    /// Those that this host has.
    pub find: fn(&Root) -> Vec<NumberFile>,
    /// Why there are none.
    pub none: &'static str,
    /// How often they are recorded.
    pub pace: Pace,
}

/// Every source of that kind, in the order they are read; they come behind the files of text.
pub const NUMBER_FILES: &[NumberFiles] = &[
    NumberFiles {
        source: "thp",
        find: thp::number_files,
        none: "this kernel has no statistics of transparent huge pages that we may read",
        pace: Pace::WhileItChanges,
    },
    NumberFiles {
        source: "threads",
        find: kernel_threads::number_files,
        none: "kswapd, kcompactd and khugepaged cannot be seen from here, or the kernel does not say how long they ran",
        pace: Pace::EveryTick,
    },
];

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

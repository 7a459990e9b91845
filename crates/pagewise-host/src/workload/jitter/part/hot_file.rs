//! A program that reads parts of a file of its own again and again, as a database does with its working set. Where somebody takes its pages
//! for what a stream left behind, it shows here.

use super::pace::Pace;
use super::spoken::{self, Readiness};
use crate::sys::page_cache;
use crate::workload::random::mixed;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

/// One read is so long.
const PIECE: u64 = 256 << 10;

/// A part of the file is read once in so many seconds, on average.
const EVERY_SECONDS: u64 = 10;

/// The file, and its length in whole pieces.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HotFile {
    /// Where it lies.
    pub path: PathBuf,
    /// Bytes.
    pub length: u64,
}

/// What it read from "begin" to its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HotReads {
    /// Bytes read.
    pub bytes: u64,
    /// Those of them that were in the page cache right before.
    pub cached: u64,
}

impl HotFile {
    /// Of so many bytes, made whole pieces.
    #[must_use]
    pub fn of(path: PathBuf, bytes: u64) -> HotFile {
        HotFile { path, length: bytes.next_multiple_of(PIECE) }
    }

    pub(super) fn run(&self) -> io::Result<()> {
        let spoken = Readiness::listen()?;
        let file = File::open(&self.path)?;
        // Neither read ahead nor behind: a part that is not asked for stays as it is.
        rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::Random)?;
        let mut buffer = vec![0; PIECE as usize];
        // Twice: what was read once alone is not yet in use to the kernel (`folio_mark_accessed`, `mm/swap.c`).
        for at in (0..self.length).step_by(PIECE as usize).chain((0..self.length).step_by(PIECE as usize)) {
            file.read_exact_at(&mut buffer, at)?;
        }
        spoken::ready()?;
        let rate = Some(self.length / EVERY_SECONDS);
        let (mut pace, mut reads) = (Pace::begin(rate), HotReads::default());
        for number in 0.. {
            if spoken.is_over() {
                break;
            }
            if spoken.begins() {
                (pace, reads) = (Pace::begin(rate), HotReads::default());
            }
            let at = mixed(0, number) % (self.length / PIECE) * PIECE;
            reads.cached += page_cache::cached_in(&file, at, PIECE)?;
            file.read_exact_at(&mut buffer, at)?;
            reads.bytes += PIECE;
            pace.add(PIECE);
            pace.keep(&spoken);
        }
        spoken::answer(&reads)
    }
}

//! Holds memory, so that a large host has as little left as the experiment asks for. Anonymous memory on huge pages: reclaim does
//! not look at it without swap, and it is touched in seconds.

use super::spoken::{self, Readiness};
use crate::root::Root;
use crate::source::meminfo;
use crate::sys::mapping::{Mapping, PageAdvice};
use serde::{Deserialize, Serialize};
use std::io;
use std::thread;
use std::time::Duration;

/// So much is taken at once.
const PIECE: u64 = 64 << 20;

/// A difference of one part in so many is left between runs: less than half of what the state gate allows.
const LEFT_ALONE: u64 = 50;

/// Holds memory until so much is left.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ballast {
    /// Bytes to leave, see [`left`].
    pub leave: u64,
}

impl Ballast {
    pub(super) fn run(&self) -> io::Result<()> {
        let spoken = Readiness::listen()?;
        let mut held = Vec::new();
        self.take(&mut held, self.leave + PIECE, &spoken)?;
        spoken::ready()?;
        while !spoken.is_over() {
            if spoken.begins() {
                self.adjust(&mut held, &spoken)?;
                spoken::ready()?;
            }
            thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    /// Takes until less than that is left.
    fn take(&self, held: &mut Vec<Mapping>, until: u64, spoken: &Readiness) -> io::Result<()> {
        while left()? >= until && !spoken.is_over() {
            let mut piece = Mapping::new(PIECE as usize, 2 << 20, PageAdvice::Huge)?;
            piece.touch();
            held.push(piece);
        }
        Ok(())
    }

    /// Between runs others on the host may have taken or returned memory: so much is made up for that the next run begins as the
    /// first did. Small differences are left, since memory that is returned and taken again ages.
    fn adjust(&self, held: &mut Vec<Mapping>, spoken: &Readiness) -> io::Result<()> {
        let tolerance = self.leave / LEFT_ALONE;
        if left()? > self.leave + PIECE + tolerance {
            self.take(held, self.leave + PIECE, spoken)?;
        }
        if left()? + tolerance < self.leave {
            while left()? < self.leave && held.pop().is_some() {}
        }
        Ok(())
    }
}

/// What is left for others, in bytes. `MemAvailable` would not do: raised watermarks make it less, and a ballast that gave way to them
/// would hand such an arm more memory than the others have.
pub(crate) fn left() -> io::Result<u64> {
    let meminfo = meminfo::read(&Root::live()).map_err(io::Error::other)?;
    meminfo::unheld(&meminfo)
        .ok_or_else(|| io::Error::other("/proc/meminfo does not say what is free and in page cache"))
}

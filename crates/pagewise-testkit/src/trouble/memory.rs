//! Anonymous memory that is taken and given back on purpose.

use super::stage::{Stage, available};
use pagewise_host::root::Root;
use pagewise_host::source::buddyinfo;
use pagewise_host::sys::mapping::{Mapping, PageAdvice};
use std::io;

pub(super) const PAGE: usize = 4096;
pub(super) const HUGE: usize = 2 << 20;

const PIECE: usize = 128 << 20;

/// Memory of that size on huge pages where they can be had, every page of it present.
pub(super) fn take(stage: &Stage, bytes: u64) -> io::Result<Vec<Mapping>> {
    let mut held = Vec::new();
    for _ in 0..bytes / PIECE as u64 {
        let mut piece = Mapping::new(PIECE, HUGE, PageAdvice::Huge)?;
        if !stage.goes_on() {
            return Err(io::Error::other("set-up took too long or too much memory"));
        }
        touch(piece.bytes(), PAGE);
        held.push(piece);
    }
    Ok(held)
}

/// Takes the huge pages that are free: from then on each one that is asked for has to be made.
pub(super) fn take_what_is_whole(stage: &Stage) -> io::Result<Vec<Mapping>> {
    let blocks = buddyinfo::read(&Root::live()).map_err(io::Error::other)?;
    let whole: u64 = buddyinfo::nodes(&blocks).iter().map(|node| node.usable).sum();
    // The piece that `take` rounds away, and what comes together again meanwhile.
    take(stage, whole * PAGE as u64 + PIECE as u64)
}

/// Takes memory until about that many bytes are left available.
pub(super) fn leave(stage: &Stage, bytes: u64) -> io::Result<Vec<Mapping>> {
    take(stage, available()?.saturating_sub(bytes))
}

/// Writes one byte in each stretch of `step` bytes.
pub(super) fn touch(bytes: &mut [u8], step: usize) {
    for byte in bytes.iter_mut().step_by(step) {
        *byte = 1;
    }
}

/// Maps memory, asks for huge pages in it, touches each once and gives all of it back.
pub(super) fn fault_huge_pages(bytes: usize) -> io::Result<()> {
    let mut mapping = Mapping::new(bytes, HUGE, PageAdvice::Huge)?;
    touch(mapping.bytes(), HUGE);
    Ok(())
}

/// Steps of a small generator of pseudo-random numbers (xorshift, G. Marsaglia 2003), for places in memory: what order they
/// come in does not matter, as long as no read-ahead guesses it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Places(u64);

impl Places {
    pub(super) fn from(seed: usize) -> Places {
        Places(0x9e37_79b9_7f4a_7c15 ^ (seed as u64 + 1))
    }

    /// The next one below `bound`.
    pub(super) fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound.max(1) as u64) as usize
    }
}

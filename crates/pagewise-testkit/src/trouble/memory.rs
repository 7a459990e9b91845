//! Anonymous memory that is taken and given back on purpose.

use super::stage::{LEAST_AVAILABLE, Stage, available};
use pagewise_host::root::Root;
use pagewise_host::source::buddyinfo;
use pagewise_host::sys::mapping::{Mapping, PageAdvice};
use std::io;
use std::sync::Mutex;

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

/// Holds the huge pages that are free, so that each one that is asked for has to be made.
#[derive(Debug, Default)]
pub(super) struct HeldHugePages(Mutex<Vec<Mapping>>);

impl HeldHugePages {
    /// Takes them.
    pub(super) fn take(stage: &Stage) -> io::Result<HeldHugePages> {
        let whole = HeldHugePages::default();
        // What is taken leaves some that came together meanwhile.
        for _ in 0..3 {
            whole.take_more(stage)?;
        }
        Ok(whole)
    }

    /// Takes those that others gave back since.
    pub(super) fn take_more(&self, stage: &Stage) -> io::Result<()> {
        let blocks = buddyinfo::read(&Root::live()).map_err(io::Error::other)?;
        let whole: u64 = buddyinfo::nodes(&blocks).iter().map(|node| node.usable).sum();
        let spare = available()?.saturating_sub(2 * LEAST_AVAILABLE);
        let more = take(stage, (whole * PAGE as u64).min(spare))?;
        if let Ok(mut held) = self.0.lock() {
            held.extend(more);
        }
        Ok(())
    }
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
    // Memory that nobody reads need not be there, to a compiler.
    std::hint::black_box(bytes);
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

//! Streams through the page cache. Most read a file of holes: the cache does not know that no disk stands behind it, so no
//! disk decides how fast a stream is.

use super::memory::leave;
use super::stage::Stage;
use rustix::fs::Advice;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

const CHUNK: usize = 128 << 10;

/// A file of holes.
pub(super) fn holes(stage: &Stage, bytes: u64) -> io::Result<File> {
    let file = stage.file()?;
    file.set_len(bytes)?;
    Ok(file)
}

/// Makes the kernel cache this file in single pages: nothing is read ahead of random reads.
pub(super) fn in_single_pages(file: &File) -> io::Result<()> {
    Ok(rustix::fs::fadvise(file, 0, None, Advice::Random)?)
}

/// A file of that many bytes on the disk, none of them in the cache.
pub(super) fn on_disk(stage: &Stage, bytes: u64) -> io::Result<File> {
    let file = stage.file()?;
    let chunk: Vec<u8> = (0..8 << 20).map(|index: u32| index.wrapping_mul(2_654_435_761).to_le_bytes()[3]).collect();
    for index in 0..bytes / chunk.len() as u64 {
        if !stage.goes_on() {
            return Err(io::Error::other("the disk was too slow for the file that is to be read"));
        }
        file.write_all_at(&chunk, index * chunk.len() as u64)?;
    }
    file.sync_data()?;
    rustix::fs::fadvise(&file, 0, None, Advice::DontNeed)?;
    Ok(file)
}

/// A reader that goes round and round in a part of a file.
#[derive(Debug)]
pub(super) struct Reader<'f> {
    file: &'f File,
    begin: u64,
    end: u64,
    at: u64,
    buffer: Vec<u8>,
}

impl<'f> Reader<'f> {
    pub(super) fn of(file: &'f File, begin: u64, end: u64) -> Reader<'f> {
        Reader { file, begin, end, at: begin, buffer: vec![0; CHUNK] }
    }

    /// Goes on from there.
    pub(super) fn start_at(&mut self, at: u64) {
        self.at = at;
    }

    /// Has `bytes` on brought into the cache without copying them, at half the work of a read; beyond the end it begins
    /// again.
    pub(super) fn fill(&mut self, stage: &Stage, bytes: u64) -> io::Result<()> {
        let nowhere = File::options().write(true).open("/dev/null")?;
        let mut left = bytes;
        while left > 0 && stage.goes_on() {
            if self.at >= self.end {
                self.at = self.begin;
            }
            let got = rustix::fs::sendfile(&nowhere, self.file, Some(&mut self.at), CHUNK)? as u64;
            if got == 0 {
                self.at = self.end;
            }
            left = left.saturating_sub(got.max(1));
        }
        Ok(())
    }

    /// Reads `bytes` on; beyond the end it begins again.
    pub(super) fn read(&mut self, stage: &Stage, bytes: u64) -> io::Result<()> {
        let mut left = bytes;
        while left > 0 && stage.goes_on() {
            if self.at >= self.end {
                self.at = self.begin;
            }
            let got = self.file.read_at(&mut self.buffer, self.at)? as u64;
            self.at = if got == 0 { self.end } else { self.at + got };
            left = left.saturating_sub(got.max(1));
        }
        Ok(())
    }
}

/// The part of a file that belongs to the `index`-th of `count` readers.
pub(super) fn part(bytes: u64, index: usize, count: usize) -> (u64, u64) {
    let each = bytes / count as u64 / CHUNK as u64 * CHUNK as u64;
    (each * index as u64, each * (index as u64 + 1))
}

/// What the cache is filled from.
const FULL: u64 = 64 << 30;

/// Fills memory: most by a holder, the rest by page cache in single pages. Then runs what meets the full cache.
pub(super) fn full_cache(stage: &Stage, then: impl FnOnce(&File) -> io::Result<()>) -> io::Result<()> {
    let _held = leave(stage, 9 << 29)?;
    let file = holes(stage, FULL)?;
    in_single_pages(&file)?;
    Reader::of(&file, 0, FULL).read(stage, 5 << 30)?;
    then(&file)
}

//! Streams through the page cache, in the ways that tell the parts of its cost apart.
//!
//! Most stream from a file of holes: the cache does not know that no disk stands behind it, so no disk decides how fast it is.

use super::pace::Pace;
use super::spoken::{self, Readiness};
use crate::root::Root;
use crate::source::vmstat;
use crate::sys::file_mapping::FileMapping;
use crate::sys::mapping::{Mapping, PageAdvice};
use pagewise_core::counter::STEAL_FILE;
use rustix::fs::{Advice, OFlags, fadvise};
use rustix::io::ReadWriteFlags;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{self, IoSliceMut};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::PathBuf;

/// One call moves so much.
const CHUNK: usize = 1 << 20;

/// A stream that discards behind itself does so in such stretches, from one stretch further back: what was read ahead in one
/// folio with the next stretch goes with it.
const BEHIND: u64 = 16 << 20;

/// Reclaim has begun once so much was taken from page caches.
const RECLAIMED: u64 = 64 << 20;

/// `RWF_DONTCACHE` of `include/uapi/linux/fs.h` (6.14).
const DONTCACHE: ReadWriteFlags = ReadWriteFlags::from_bits_retain(0x80);

/// How it goes through the page cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReadMode {
    /// Around a file that stays in memory: the copy alone.
    Cached,
    /// Past the cache: `O_DIRECT`.
    Direct,
    /// Every miss and no reclaim: it discards behind itself.
    SameMisses,
    /// As `RWF_DONTCACHE` has it.
    DontCache,
    /// As programs do.
    Buffered,
}

/// By which calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Access {
    /// `pread` of 1 MiB.
    Read,
    /// A mapping that is brought in, 1 MiB at a time.
    Mmap,
    /// `pwrite` of 1 MiB.
    Write,
    /// Many files of 256 KiB, one after the other.
    SmallFiles,
}

/// A stream.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stream {
    /// The file, or the folder of the small ones.
    pub from: PathBuf,
    /// Bytes it goes around in.
    pub length: u64,
    /// How it goes through the cache.
    pub way: ReadMode,
    /// By which calls.
    pub access: Access,
    /// In single pages: nothing is read ahead.
    pub small_folios: bool,
    /// Bytes a second; `None` as fast as it can.
    pub rate: Option<u64>,
    /// Its nice value, 0 to 19.
    pub nice: u32,
    /// Seconds from a steady state until it says that it is ready.
    pub warmup: f64,
}

/// What it did from "begin" to its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StreamTotals {
    /// Bytes.
    pub bytes: u64,
    /// Seconds.
    pub seconds: f64,
    /// CPU seconds.
    pub cpu: f64,
}

/// Small files are this long.
pub(in super::super) const SMALL_FILE: u64 = 256 << 10;

impl Stream {
    pub(super) fn run(&self) -> io::Result<()> {
        let spoken = Readiness::listen()?;
        self.be_nice()?;
        let mut goes = StreamPosition::of(self)?;
        self.fill(&mut goes, &spoken)?;
        let mut pace = Pace::begin(self.rate);
        let mut is_ready = false;
        while !spoken.is_over() {
            if spoken.begins() {
                pace = Pace::begin(self.rate);
            }
            pace.add(goes.on()?);
            pace.keep(&spoken);
            if !is_ready && pace.began.elapsed().as_secs_f64() >= self.warmup {
                is_ready = true;
                spoken::ready()?;
            }
        }
        let seconds = pace.began.elapsed().as_secs_f64();
        spoken::answer(&StreamTotals { bytes: pace.moved, seconds, cpu: pace.cpu() })
    }

    /// Gives way to others. Where the scheduler groups by session (`sched_autogroup_enabled`), a nice value counts within a session
    /// only, and the session has one of its own.
    fn be_nice(&self) -> io::Result<()> {
        if self.nice == 0 {
            return Ok(());
        }
        rustix::process::nice(i32::try_from(self.nice).unwrap_or(i32::MAX))?;
        match fs::write("/proc/self/autogroup", self.nice.to_string()) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Until the state that is to be measured: all of a cached file in memory, of a buffered one so much that reclaim has begun.
    fn fill(&self, goes: &mut StreamPosition, spoken: &Readiness) -> io::Result<()> {
        let before = reclaimed()?;
        let mut filled = 0;
        let most = match self.way {
            ReadMode::Cached => self.length,
            ReadMode::Buffered => self.length * 2,
            ReadMode::Direct | ReadMode::SameMisses | ReadMode::DontCache => 0,
        };
        while filled < most && !spoken.is_over() {
            filled += goes.on()?;
            let is_due = filled % RECLAIMED < CHUNK as u64;
            if self.way == ReadMode::Buffered && is_due && reclaimed()?.saturating_sub(before) > RECLAIMED {
                return Ok(());
            }
        }
        if self.way == ReadMode::Buffered && !spoken.is_over() {
            return Err(io::Error::other(format!(
                "the stream went twice around its {} MiB and nothing was reclaimed: they fit into memory",
                self.length >> 20
            )));
        }
        Ok(())
    }
}

/// Bytes taken from page caches since boot.
fn reclaimed() -> io::Result<u64> {
    let vmstat = vmstat::read(&Root::live()).map_err(io::Error::other)?;
    let pages = vmstat::quantity(&vmstat, &STEAL_FILE).unwrap_or(0.0);
    Ok(pages as u64 * rustix::param::page_size() as u64)
}

/// Where a stream is.
struct StreamPosition {
    way: ReadMode,
    access: Access,
    length: u64,
    small_folios: bool,
    from: PathBuf,
    file: Option<File>,
    mapping: Option<FileMapping>,
    buffer: Mapping,
    at: u64,
}

impl StreamPosition {
    fn of(stream: &Stream) -> io::Result<StreamPosition> {
        let file = match stream.access {
            Access::SmallFiles => None,
            access => {
                let direct = if stream.way == ReadMode::Direct { OFlags::DIRECT.bits() as i32 } else { 0 };
                let mut options = File::options();
                options.read(true).write(access == Access::Write).custom_flags(direct);
                Some(options.open(&stream.from)?)
            }
        };
        if let Some(file) = &file {
            if stream.way != ReadMode::Cached && stream.access != Access::Write {
                // What an earlier run left in memory would be no miss.
                fadvise(file, 0, None, Advice::DontNeed)?;
            }
            fadvise(file, 0, None, if stream.small_folios { Advice::Random } else { Advice::Sequential })?;
        }
        let mapping = match (&file, stream.access) {
            (Some(file), Access::Mmap) => Some(FileMapping::of(file, stream.length as usize)?),
            _ => None,
        };
        let mut buffer = Mapping::new(CHUNK, 2 << 20, PageAdvice::Base)?;
        buffer.bytes().fill(1);
        let Stream { way, access, length, small_folios, ref from, .. } = *stream;
        Ok(StreamPosition { way, access, length, small_folios, from: from.clone(), file, mapping, buffer, at: 0 })
    }

    /// One call further; gives the bytes it moved.
    fn on(&mut self) -> io::Result<u64> {
        if self.at + CHUNK as u64 > self.length {
            self.at = 0;
        }
        let at = self.at;
        self.at += CHUNK as u64;
        match (self.access, &self.file) {
            (Access::SmallFiles, _) => self.small_files(at)?,
            (Access::Mmap, _) => {
                if let Some(mapping) = &self.mapping {
                    mapping.bring_in(at as usize, CHUNK)?;
                }
            }
            (Access::Write, Some(file)) => file.write_all_at(self.buffer.bytes(), at)?,
            (Access::Read, Some(file)) if self.way == ReadMode::DontCache => {
                rustix::io::preadv2(file, &mut [IoSliceMut::new(self.buffer.bytes())], at, DONTCACHE)?;
            }
            (Access::Read, Some(file)) => file.read_exact_at(self.buffer.bytes(), at)?,
            (Access::Read | Access::Write, None) => {}
        }
        if self.way == ReadMode::SameMisses && self.at.is_multiple_of(BEHIND) {
            self.discard_behind()?;
        }
        Ok(CHUNK as u64)
    }

    fn discard_behind(&self) -> io::Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        if self.access == Access::Write {
            // What is dirty is not dropped.
            file.sync_data()?;
        }
        let from = self.at.saturating_sub(2 * BEHIND);
        Ok(fadvise(file, from, std::num::NonZeroU64::new(self.at - from), Advice::DontNeed)?)
    }

    fn small_files(&mut self, at: u64) -> io::Result<()> {
        for number in (at / SMALL_FILE)..((at + CHUNK as u64) / SMALL_FILE) {
            let file = File::open(small_file(&self.from, number))?;
            if self.small_folios {
                fadvise(&file, 0, None, Advice::Random)?;
            }
            file.read_exact_at(&mut self.buffer.bytes()[..SMALL_FILE as usize], 0)?;
        }
        Ok(())
    }
}

/// The path of small file `number`: a thousand to a folder.
pub(in super::super) fn small_file(folder: &std::path::Path, number: u64) -> PathBuf {
    folder.join(format!("{}/{number}", number / 1000))
}

//! A process whose memory is read, and held on to: a pid that is used again, and a program that it begins instead, are noticed.

use super::{HugePagesError, ProcessChange};
use crate::process::ends_within;
use crate::sys::process_memory::{self, HUGE, PRESENT, Region, SWAPPED, ZERO};
use pagewise_core::huge_pages::block::Block;
use pagewise_core::huge_pages::mapping::{Mapping, of_smaps};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::time::Duration;

/// A process, and the memory it had when it was opened.
#[derive(Debug)]
pub struct Process {
    /// Its number.
    pub pid: i32,
    /// Its name.
    pub command: String,
    pidfd: OwnedFd,
    /// Belongs to the memory that the process had when it was opened: once it begins another program nothing is read here any more.
    pagemap: File,
    page_size: u64,
    huge_size: u64,
}

/// Why the kernel made no huge page of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Refused {
    /// It found no free block of memory that large, and could make none.
    NoHugePage,
    /// It was in use in a way that forbids it just now.
    Busy,
    /// It is not possible there: huge pages are forbidden to the process or the range, or the memory is of another kind.
    NotPossible,
    /// Less of it is present than was asked for, by now.
    Changed,
}

/// How many regions are asked for in one call.
const REGIONS: usize = 4096;

/// Entries of the page map, of eight bytes each (`Documentation/admin-guide/mm/pagemap.rst`).
const ENTRY: u64 = 8;
const ENTRY_PRESENT: u64 = 1 << 63;
const ENTRY_SWAPPED: u64 = 1 << 62;

impl Process {
    /// Opens it.
    ///
    /// # Errors
    /// When there is none, or its memory may not be read.
    pub fn open(pid: i32, huge_size: u64) -> Result<Process, HugePagesError> {
        let gone = || HugePagesError::Gone(pid);
        let number = Pid::from_raw(pid).filter(|_| pid > 0).ok_or_else(gone)?;
        let pidfd = pidfd_open(number, PidfdFlags::empty()).map_err(|error| match error {
            rustix::io::Errno::SRCH => gone(),
            // A thread that leads no process.
            rustix::io::Errno::INVAL | rustix::io::Errno::NOENT => {
                HugePagesError::Unsupported(format!("{pid} is a thread; name its process (Tgid in /proc/{pid}/status)"))
            }
            rustix::io::Errno::NOSYS => HugePagesError::Unsupported("this needs kernel 6.1 or newer".to_owned()),
            error => HugePagesError::Io { what: format!("process {pid}"), error: error.into() },
        })?;
        let command = fs::read_to_string(format!("/proc/{pid}/comm")).map_err(|_| gone())?.trim_end().to_owned();
        let path = format!("/proc/{pid}/pagemap");
        let pagemap = File::open(&path).map_err(|error| match error.kind() {
            ErrorKind::PermissionDenied => {
                let user = fs::metadata(format!("/proc/{pid}")).map_or(0, |folder| folder.uid());
                HugePagesError::NotAllowed { pid, command: command.clone(), user, error }
            }
            ErrorKind::NotFound => gone(),
            _ if error.raw_os_error() == Some(libc::ESRCH) => {
                HugePagesError::NoMemory { pid, command: command.clone() }
            }
            _ => HugePagesError::Io { what: path.clone(), error },
        })?;
        let page_size = rustix::param::page_size() as u64;
        let process = Process { pid, command, pidfd, pagemap, page_size, huge_size };
        if ends_within(&process.pidfd, Duration::ZERO) {
            return Err(gone());
        }
        Ok(process)
    }

    /// What it maps now.
    ///
    /// # Errors
    /// When it is gone, or runs another program.
    pub fn mappings(&self) -> Result<Vec<Mapping>, HugePagesError> {
        let path = format!("/proc/{}/smaps", self.pid);
        let text = fs::read(&path).map_err(|error| match error.raw_os_error() {
            Some(libc::ESRCH | libc::ENOENT) => self.changed(),
            _ => HugePagesError::Io { what: path, error },
        })?;
        let mappings = of_smaps(&String::from_utf8_lossy(&text));
        let Some(first) = mappings.first() else {
            return Err(HugePagesError::NoMemory { pid: self.pid, command: self.command.clone() });
        };
        // Of the same memory: `smaps` is of whatever the process runs now.
        self.is_as_it_was(first.start)?;
        Ok(mappings)
    }

    /// Of a mapping the blocks between its ends.
    ///
    /// # Errors
    /// As for [`Process::mappings`].
    pub fn blocks(&self, mapping: &Mapping) -> Result<Vec<Block>, HugePagesError> {
        let (start, end) = self.ends(mapping);
        let empty = |start| Block { start, present: 0, swapped: 0, is_huge: false };
        let mut blocks: Vec<Block> = (start..end).step_by(self.huge_size as usize).map(empty).collect();
        let mut regions = vec![Region::default(); REGIONS];
        let mut at = start;
        while at < end {
            let (found, to) = match process_memory::scan(&self.pagemap, at, end, &mut regions) {
                Ok(found) => found,
                Err(error) if error.raw_os_error() == Some(libc::ENOTTY) => return self.blocks_by_entry(start, end),
                Err(error) => return Err(self.unreadable(error)),
            };
            for region in &regions[..found] {
                self.count(&mut blocks, start, *region);
            }
            // What was unmapped meanwhile is passed over at once.
            at = to.max(at + self.page_size);
        }
        Ok(blocks)
    }

    fn count(&self, blocks: &mut [Block], start: u64, region: Region) {
        let mut at = region.start.max(start);
        while at < region.end {
            let place = (at - start) / self.huge_size;
            let Some(block) = blocks.get_mut(place as usize) else { return };
            let to = region.end.min(block.start + self.huge_size);
            match region.state {
                state if state & SWAPPED != 0 => block.swapped += to - at,
                state if state & ZERO != 0 => {}
                state if state & PRESENT != 0 => {
                    block.present += to - at;
                    block.is_huge |= state & HUGE != 0;
                }
                _ => {}
            }
            at = to;
        }
    }

    /// The same from a kernel before 6.7: what is on huge pages already cannot be told there, and is asked for once more, which changes nothing.
    fn blocks_by_entry(&self, start: u64, end: u64) -> Result<Vec<Block>, HugePagesError> {
        (start..end).step_by(self.huge_size as usize).map(|start| self.by_entry(start)).collect()
    }

    /// A block by its entries in the page map.
    fn by_entry(&self, start: u64) -> Result<Block, HugePagesError> {
        let mut entries = vec![0_u8; (self.huge_size / self.page_size * ENTRY) as usize];
        let at = start / self.page_size * ENTRY;
        match self.pagemap.read_at(&mut entries, at) {
            Ok(0) => return Err(self.changed()),
            Ok(_) => {}
            Err(error) => return Err(self.unreadable(error)),
        }
        let (entries, _) = entries.as_chunks::<{ ENTRY as usize }>();
        let having = |bit: u64| {
            entries.iter().filter(|entry| u64::from_ne_bytes(**entry) & bit != 0).count() as u64 * self.page_size
        };
        Ok(Block { start, present: having(ENTRY_PRESENT), swapped: having(ENTRY_SWAPPED), is_huge: false })
    }

    /// Of each huge page that begins at one of these addresses the part whose small pages are zero throughout, from 0 to 1. What was given back
    /// meanwhile is left out.
    ///
    /// # Errors
    /// When the process is gone, runs another program, or its memory may not be read.
    pub fn zero_in(&self, starts: impl Iterator<Item = u64>) -> Result<Vec<f64>, HugePagesError> {
        let path = format!("/proc/{}/mem", self.pid);
        let failed = |error: io::Error| match error.raw_os_error() {
            Some(libc::ESRCH | libc::ENOENT) => self.changed(),
            _ => HugePagesError::Io { what: path.clone(), error },
        };
        let memory = File::open(&path).map_err(failed)?;
        let mut page = vec![0; self.huge_size as usize];
        let mut shares = Vec::new();
        for start in starts {
            // Once opened it belongs to one memory, as the page map does: that this is the same is asked after that.
            self.is_as_it_was(start)?;
            match memory.read_exact_at(&mut page, start) {
                Ok(()) => {
                    let small = page.chunks(self.page_size as usize);
                    let (all, zero) = (small.len(), small.filter(|small| small.iter().all(|byte| *byte == 0)).count());
                    shares.push(zero as f64 / all.max(1) as f64);
                }
                Err(error) if matches!(error.raw_os_error(), Some(libc::EIO | libc::EFAULT)) => {}
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => {}
                Err(error) => return Err(failed(error)),
            }
        }
        Ok(shares)
    }

    /// First and last address between which whole huge pages fit.
    fn ends(&self, mapping: &Mapping) -> (u64, u64) {
        let start = mapping.start.next_multiple_of(self.huge_size);
        (start, (mapping.end / self.huge_size * self.huge_size).max(start))
    }

    /// Asks the kernel for a huge page in place of this block, if as much of it is present as before.
    ///
    /// # Errors
    /// When no other block needs to be tried either. The inner error is that of this block.
    pub fn collapse(&self, block: &Block) -> Result<Result<(), Refused>, HugePagesError> {
        let now = self.by_entry(block.start)?;
        if now.present < block.present || now.swapped > 0 {
            return Ok(Err(Refused::Changed));
        }
        let error = match process_memory::collapse(self.pidfd.as_fd(), block.start, self.huge_size) {
            Ok(advised) if advised == self.huge_size => return Ok(Ok(())),
            Ok(_) => return Ok(Err(Refused::Busy)),
            Err(error) => error,
        };
        match error.raw_os_error() {
            Some(libc::EPERM) => Err(HugePagesError::MayNotAdvise),
            Some(libc::ESRCH) => Err(self.changed()),
            Some(libc::ENOSYS) => Err(HugePagesError::Unsupported("this needs kernel 6.1 or newer".to_owned())),
            Some(libc::ENOMEM) => Ok(Err(Refused::NoHugePage)),
            Some(libc::EINVAL) => Ok(Err(Refused::NotPossible)),
            Some(libc::EAGAIN | libc::EBUSY | libc::EINTR) => Ok(Err(Refused::Busy)),
            _ => Err(HugePagesError::Io { what: format!("process_madvise({})", self.pid), error }),
        }
    }

    /// User time of all its threads since it began, seconds.
    ///
    /// # Errors
    /// When it is gone.
    pub fn user_time(&self) -> Result<f64, HugePagesError> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.pid)).map_err(|_| self.changed())?;
        let ticks =
            stat.rsplit_once(')').and_then(|(_, rest)| rest.split_ascii_whitespace().nth(11)?.parse::<u64>().ok());
        Ok(ticks.unwrap_or(0) as f64 / rustix::param::clock_ticks_per_second() as f64)
    }

    /// That its memory is the one that was opened. `address` is any of it.
    ///
    /// # Errors
    /// When it is gone, or runs another program.
    pub fn is_as_it_was(&self, address: u64) -> Result<(), HugePagesError> {
        match self.pagemap.read_at(&mut [0_u8; ENTRY as usize], address / self.page_size * ENTRY) {
            Ok(0) => Err(self.changed()),
            Ok(_) => Ok(()),
            Err(error) => Err(self.unreadable(error)),
        }
    }

    fn unreadable(&self, error: io::Error) -> HugePagesError {
        match error.raw_os_error() {
            Some(libc::ESRCH) => self.changed(),
            _ => HugePagesError::Io { what: format!("/proc/{}/pagemap", self.pid), error },
        }
    }

    fn changed(&self) -> HugePagesError {
        // A process that ends gives its memory back first.
        let is_over = ends_within(&self.pidfd, Duration::from_millis(300));
        HugePagesError::Changed(self.pid, if is_over { ProcessChange::Over } else { ProcessChange::AnotherProgram })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_to_read_see_the_same() {
        let huge_size = 2 << 20;
        let mut memory =
            crate::sys::mapping::Mapping::new(8 << 20, 2 << 20, crate::sys::mapping::PageAdvice::Base).unwrap();
        memory.bytes()[..3 << 20].fill(1);
        let start = memory.address() as u64;
        let process = Process::open(std::process::id().cast_signed(), huge_size).unwrap();
        let mapping = Mapping { start, end: start + (8 << 20), ..Mapping::default() };
        let by_scan = process.blocks(&mapping).unwrap();
        let by_entry = process.blocks_by_entry(start, start + (8 << 20)).unwrap();
        assert_eq!(by_scan, by_entry);
        let present: Vec<u64> = by_scan.iter().map(|block| block.present).collect();
        assert_eq!(present, [2 << 20, 1 << 20, 0, 0]);
        assert!(process.mappings().unwrap().iter().any(|mapping| mapping.start <= start && start < mapping.end));
    }
}

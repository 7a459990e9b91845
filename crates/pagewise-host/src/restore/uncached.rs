//! Files read and written past the page cache, so that restoring and checking data does not warm them.

use crate::sys;
use rustix::fs::{Advice, OFlags};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

/// What is read or written at once.
pub(super) const CHUNK: usize = 1 << 20;

/// The strictest alignment direct I/O asks for: a page, or a block of a disk with large blocks.
const ALIGNMENT: usize = 4096;

/// Memory that direct I/O takes.
pub(super) struct Buffer {
    bytes: Vec<u8>,
}

impl Buffer {
    pub(super) fn new() -> Buffer {
        Buffer { bytes: vec![0; CHUNK + ALIGNMENT] }
    }

    /// [`CHUNK`] bytes.
    pub(super) fn chunk(&mut self) -> &mut [u8] {
        let start = self.bytes.as_ptr().align_offset(ALIGNMENT).min(ALIGNMENT);
        &mut self.bytes[start..start + CHUNK]
    }
}

/// An open file, never one behind a symbolic link. Direct I/O where the file system has it, else the page cache, which
/// [`Uncached::forget`] clears afterwards.
#[derive(Debug)]
pub(super) struct Uncached {
    file: File,
    is_direct: bool,
}

impl Uncached {
    /// # Errors
    /// As `open`; `ELOOP` for a symbolic link.
    pub(super) fn open(path: &Path, options: &OpenOptions) -> io::Result<Uncached> {
        // Not to hang where a named pipe has taken the file's place.
        let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
        match options.clone().custom_flags(flags | libc::O_DIRECT).open(path) {
            Ok(file) => Ok(Uncached { file, is_direct: true }),
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
                Ok(Uncached { file: options.clone().custom_flags(flags).open(path)?, is_direct: false })
            }
            Err(error) => Err(error),
        }
    }

    pub(super) fn file(&self) -> &File {
        &self.file
    }

    /// Fills `buffer` from `offset` on, as far as the file goes, which has `length` bytes.
    pub(super) fn read_at(&mut self, buffer: &mut [u8], offset: u64, length: u64) -> io::Result<usize> {
        let mut done = 0;
        while done < buffer.len() && offset + (done as u64) < length {
            match self.file.read_at(&mut buffer[done..], offset + done as u64) {
                Ok(0) => break,
                Ok(n) => done += n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => self.give_up_direct(error)?,
            }
        }
        Ok(done)
    }

    pub(super) fn write_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let mut done = 0;
        while done < bytes.len() {
            match self.file.write_at(&bytes[done..], offset + done as u64) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(n) => done += n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => self.give_up_direct(error)?,
            }
        }
        Ok(())
    }

    /// Some file systems take the flag and refuse the call, or this alignment.
    fn give_up_direct(&mut self, error: io::Error) -> io::Result<()> {
        if !self.is_direct || error.raw_os_error() != Some(libc::EINVAL) {
            return Err(error);
        }
        self.is_direct = false;
        let flags = rustix::fs::fcntl_getfl(&self.file)?;
        Ok(rustix::fs::fcntl_setfl(&self.file, flags.difference(OFlags::DIRECT))?)
    }

    /// Takes the file's clean pages out of the page cache. Advice: pages that someone maps stay. Gives the bytes that
    /// stayed, where the kernel tells (6.5 and later).
    pub(super) fn forget(&self) -> Option<u64> {
        let _ = rustix::fs::fadvise(&self.file, 0, None, Advice::DontNeed);
        sys::page_cache::cached(&self.file).ok()
    }
}

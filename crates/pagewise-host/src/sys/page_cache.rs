//! How much of a file is in the page cache.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// `struct cachestat_range` of `include/uapi/linux/mman.h` (6.5).
#[repr(C)]
struct Range {
    offset: u64,
    /// 0: to the end.
    length: u64,
}

/// `struct cachestat` of the same file; all in pages.
#[repr(C)]
#[derive(Default)]
struct CacheStat {
    cached: u64,
    dirty: u64,
    writeback: u64,
    evicted: u64,
    recently_evicted: u64,
}

/// The same on every architecture but Alpha (`scripts/syscall.tbl`, 6.12); libc lacks it for some.
const SYS_CACHESTAT: libc::c_long = 451;

/// Bytes of the file that are in the page cache.
///
/// # Errors
/// `ENOSYS` before kernel 6.5, `EOPNOTSUPP` for a file system without an answer.
pub fn cached(file: &File) -> io::Result<u64> {
    cached_in(file, 0, 0)
}

/// The same of so many bytes from there on; 0 stands for all up to the end.
///
/// # Errors
/// As for all of the file.
pub fn cached_in(file: &File, offset: u64, length: u64) -> io::Result<u64> {
    let range = Range { offset, length };
    let mut stat = CacheStat::default();
    // SAFETY: needed because no safe library offers cachestat. Sound because both pointers are to live locals of the
    // kernel's layout for the whole call, of which it writes the second alone.
    let answer = unsafe { libc::syscall(SYS_CACHESTAT, file.as_raw_fd(), &raw const range, &raw mut stat, 0_u32) };
    if answer != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(stat.cached.saturating_mul(rustix::param::page_size() as u64))
}

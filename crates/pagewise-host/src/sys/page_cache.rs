//! How much of a file is in the page cache.

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsRawFd;
use std::sync::OnceLock;

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
/// `EOPNOTSUPP` for a file system without an answer. Before kernel 6.5, where only `mincore` tells it: `EPERM` for the file of another user,
/// and what a file answers that cannot be mapped.
pub fn cached(file: &File) -> io::Result<u64> {
    cached_in(file, 0, 0)
}

/// Whether the kernel tells it of any file at all. A file in memory is asked about: some file systems, where this program may lie, cannot
/// be mapped as `mincore` needs it (9p without a cache).
#[must_use]
pub fn can_be_asked() -> bool {
    let file = rustix::fs::memfd_create("pagewise", rustix::fs::MemfdFlags::CLOEXEC).map(File::from);
    file.is_ok_and(|file| file.set_len(rustix::param::page_size() as u64).is_ok() && cached(&file).is_ok())
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
    if answer == 0 {
        return Ok(stat.cached.saturating_mul(rustix::param::page_size() as u64));
    }
    match io::Error::last_os_error() {
        error if error.raw_os_error() == Some(libc::ENOSYS) => by_mincore(file, offset, length),
        error => Err(error),
    }
}

/// So many pages are asked about in one call, which needs a byte for each.
const PAGES_AT_ONCE: usize = 2048;

/// The same by `mincore`, which every kernel has. It tells the truth only of files that are the caller's, or to who may change any
/// (`can_do_mincore`, `mm/mincore.c`, since 5.2): of all others it says that they are in memory. Allocates nothing.
///
/// It maps without any right: in a process that locks what it will map (`MCL_FUTURE`), as a guard does, the kernel would else read all of the file
/// in (`populate_vma_page_range`, `mm/gup.c`, 6.1), and find there what it was asked about.
fn by_mincore(file: &File, offset: u64, length: u64) -> io::Result<u64> {
    let stat = rustix::fs::fstat(file)?;
    let user = rustix::process::geteuid();
    if stat.st_uid != user.as_raw() && !(user.is_root() && is_of_host()) {
        return Err(io::Error::from_raw_os_error(libc::EPERM));
    }
    let (page, size) = (rustix::param::page_size() as u64, u64::try_from(stat.st_size).unwrap_or(0));
    let end = if length == 0 { size } else { offset.saturating_add(length).min(size) };
    let (mut from, mut resident) = (offset / page * page, 0_u64);
    let mut pages = [0_u8; PAGES_AT_ONCE];
    while from < end {
        let piece = (end - from).min(PAGES_AT_ONCE as u64 * page) as usize;
        // SAFETY: needed because no safe library maps a file without touching it. Sound because a null hint makes the kernel choose a
        // range that nothing else uses, nothing is read from it, and it is unmapped below before anything can return.
        let mapped = unsafe { mmap(std::ptr::null_mut(), piece, ProtFlags::empty(), MapFlags::SHARED, file, from)? };
        // SAFETY: needed because no safe library offers mincore. Sound because it writes a byte for each page of the range mapped above,
        // and `pages` has so many.
        let answer = unsafe { libc::mincore(mapped, piece, pages.as_mut_ptr()) };
        let error = io::Error::last_os_error();
        // SAFETY: the range was mapped above and nothing borrows from it.
        unsafe { munmap(mapped, piece)? };
        if answer != 0 {
            return Err(error);
        }
        let seen = &pages[..piece.div_ceil(page as usize)];
        resident += seen.iter().filter(|page| **page & 1 == 1).count() as u64;
        from += piece as u64;
    }
    Ok(resident * page)
}

/// Whether user numbers here are the host's. Root of a container with its own user namespace may not change every file, and is told by
/// `mincore` that those of others are in memory.
fn is_of_host() -> bool {
    static IS_OF_HOST: OnceLock<bool> = OnceLock::new();
    *IS_OF_HOST.get_or_init(|| {
        let mut text = [0_u8; 128];
        let length = File::open("/proc/self/uid_map").and_then(|mut map| map.read(&mut text)).unwrap_or(0);
        // The first namespace maps every number to itself (user_namespaces(7)).
        let words = text[..length].split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        words.eq([b"0".as_slice(), b"0", b"4294967295"])
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn both_ways_say_the_same_of_any_part_of_a_file() {
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let path = folder.path().join("file");
        let mut file = File::options().create_new(true).read(true).write(true).open(path).unwrap();
        // More than is asked about at once, and no whole number of pages.
        file.write_all(&vec![7; (20 << 20) + 100]).unwrap();
        file.sync_all().unwrap();
        let hole = std::num::NonZeroU64::new(6 << 20);
        rustix::fs::fadvise(&file, 4 << 20, hole, rustix::fs::Advice::DontNeed).unwrap();
        let Ok(all) = cached(&file) else { return };
        assert!((1..20 << 20).contains(&all), "{all}: a part of it is in memory");
        let is_locked = rustix::mm::mlockall(rustix::mm::MlockAllFlags::FUTURE).is_ok();
        let asked = by_mincore(&file, 0, 0);
        if is_locked {
            rustix::mm::munlockall().unwrap();
        }
        assert_eq!(asked.unwrap(), all, "asking reads nothing in, also where all that is mapped is locked");
        for (offset, length) in
            [(0, 0), (0, 4096), (3 << 20, 4 << 20), (5 << 20, 1 << 20), (20 << 20, 8 << 20), (64 << 20, 4096)]
        {
            assert_eq!(
                by_mincore(&file, offset, length).unwrap(),
                cached_in(&file, offset, length).unwrap(),
                "{offset} {length}"
            );
        }
    }
}

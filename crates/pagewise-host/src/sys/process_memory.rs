//! The memory of another process: advice to the kernel about it, and what lies where in it.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Makes the range lie on huge pages: `process_madvise(MADV_COLLAPSE)` (6.1, `mm/madvise.c`, `mm/khugepaged.c`). What the range holds stays as it
/// is; what of it was not in memory is filled with zeroes. Returns the bytes of it that were advised.
///
/// # Errors
/// `EPERM` without `CAP_SYS_NICE`, `ESRCH` for a process that is gone, `EINVAL` where it is not possible, `ENOMEM` where the kernel
/// finds no huge page or nothing of the range is in memory, `EAGAIN` and `EBUSY` for what may work later.
pub fn collapse(pidfd: BorrowedFd<'_>, start: u64, length: u64) -> io::Result<u64> {
    let range = libc::iovec { iov_base: start as *mut libc::c_void, iov_len: length as usize };
    // SAFETY: needed because no safe wrapper offers it. Sound because the address is one of the other process, which the kernel checks and whose
    // contents this advice keeps; of ours it reads `range` alone.
    let advised = unsafe {
        libc::syscall(
            libc::SYS_process_madvise,
            pidfd.as_raw_fd(),
            &raw const range,
            1_usize,
            libc::MADV_COLLAPSE,
            0_u32,
        )
    };
    if advised < 0 { Err(io::Error::last_os_error()) } else { Ok(advised.cast_unsigned()) }
}

/// Pages one after the other that are in the same state; as `struct page_region` of `include/uapi/linux/fs.h` (6.7).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Region {
    /// First address.
    pub start: u64,
    /// The address after the last.
    pub end: u64,
    /// Of [`PRESENT`], [`SWAPPED`], [`ZERO`] and [`HUGE`].
    pub state: u64,
}

/// In memory.
pub const PRESENT: u64 = 1 << 3;
/// In swap.
pub const SWAPPED: u64 = 1 << 4;
/// The kernel's page of zeroes: read, and never written.
pub const ZERO: u64 = 1 << 5;
/// On a huge page.
pub const HUGE: u64 = 1 << 6;

/// `struct pm_scan_arg` of the same file.
#[repr(C)]
#[derive(Default)]
struct Scan {
    size: u64,
    flags: u64,
    start: u64,
    end: u64,
    walk_end: u64,
    regions: u64,
    regions_length: u64,
    max_pages: u64,
    category_inverted: u64,
    category_mask: u64,
    category_any_of: u64,
    returned: u64,
}

/// `_IOWR('f', 16, struct pm_scan_arg)`, on the architectures whose direction bits are the common ones.
const PAGEMAP_SCAN: libc::c_ulong =
    (3 << 30) | ((size_of::<Scan>() as libc::c_ulong) << 16) | ((b'f' as libc::c_ulong) << 8) | 16;

/// Fills `regions` with what is in memory or swap between these addresses, and says how many there were and where it got to. `pagemap` is
/// `/proc/PID/pagemap`.
///
/// # Errors
/// `ENOTTY` before kernel 6.7, `ESRCH` for a process whose memory is gone.
pub fn scan(pagemap: &File, start: u64, end: u64, regions: &mut [Region]) -> io::Result<(usize, u64)> {
    let mut scan = Scan {
        size: size_of::<Scan>() as u64,
        start,
        end,
        regions: regions.as_mut_ptr() as u64,
        regions_length: regions.len() as u64,
        category_any_of: PRESENT | SWAPPED,
        returned: PRESENT | SWAPPED | ZERO | HUGE,
        ..Scan::default()
    };
    // SAFETY: needed because no safe library offers it. Sound because the kernel writes into `scan` and at most as many regions as it is told, both
    // alive for the whole call; any state is a value of theirs.
    let found = unsafe { libc::ioctl(pagemap.as_raw_fd(), PAGEMAP_SCAN, &raw mut scan) };
    if found < 0 { Err(io::Error::last_os_error()) } else { Ok((found as usize, scan.walk_end)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_touched_is_found_and_what_was_not_is_not() {
        let page = rustix::param::page_size() as u64;
        let memory = vec![1_u8; 64 << 10];
        let start = (memory.as_ptr() as u64).next_multiple_of(page);
        let pagemap = File::open("/proc/self/pagemap").unwrap();
        let mut regions = [Region::default(); 8];
        match scan(&pagemap, start, start + 4 * page, &mut regions) {
            Ok((found, end)) => {
                assert_eq!(end, start + 4 * page);
                let present: u64 = regions[..found].iter().map(|region| region.end - region.start).sum();
                assert_eq!(present, 4 * page, "{regions:?}");
            }
            Err(error) => assert_eq!(error.raw_os_error(), Some(libc::ENOTTY)),
        }
        drop(memory);
    }
}

//! Whole huge pages, taken one at a time, in a tmpfs that is attached nowhere.
//!
//! Its `huge=always` takes huge pages whatever `thp.enabled` says, and `fallocate` does not fill them with zeros, which
//! would cost most of the time (`mm/shmem.c shmem_fallocate`).

use crate::source::buddyinfo::HUGE_ORDER;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{FallocateFlags, Mode, OFlags};
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags};
use rustix::pipe::SpliceFlags;
use std::io;

/// Bytes in a base page. Other page sizes are refused.
pub(super) const PAGE: u64 = 4096;

/// Base pages in a huge page.
pub(super) const HUGE_PAGES: u64 = 1 << HUGE_ORDER;

/// Bytes in a huge page.
pub(super) const HUGE: u64 = PAGE << HUGE_ORDER;

/// A file that holds one huge page at most, or half of one. The tmpfs goes with it.
#[derive(Debug)]
pub(super) struct HugeFile {
    file: OwnedFd,
    bytes: u64,
}

impl HugeFile {
    /// Of huge pages, on one NUMA node alone or wherever there is memory.
    ///
    /// # Errors
    /// `ENOSYS` before kernel 5.2, `EPERM` without the right to mount, `EINVAL` without huge pages of 2 MiB in tmpfs.
    pub(super) fn whole(node: Option<u32>) -> io::Result<HugeFile> {
        HugeFile::new("always", HUGE, node)
    }

    /// Of halves, which an aged host still has in every zone. Kernels before 6.14 give single pages instead.
    ///
    /// # Errors
    /// As [`HugeFile::whole`].
    pub(super) fn half() -> io::Result<HugeFile> {
        HugeFile::new("within_size", HUGE / 2, None)
    }

    fn new(huge: &str, bytes: u64, node: Option<u32>) -> io::Result<HugeFile> {
        if rustix::param::page_size() as u64 != PAGE {
            return Err(io::Error::from_raw_os_error(libc::EINVAL));
        }
        let context = rustix::mount::fsopen("tmpfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
        rustix::mount::fsconfig_set_string(&context, "huge", huge)?;
        rustix::mount::fsconfig_set_string(&context, "size", "100%")?;
        if let Some(node) = node {
            rustix::mount::fsconfig_set_string(&context, "mpol", format!("bind:{node}"))?;
        }
        rustix::mount::fsconfig_create(&context)?;
        let mount = rustix::mount::fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::empty())?;
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        Ok(HugeFile { file: rustix::fs::openat(&mount, ".", flags, Mode::RUSR | Mode::WUSR)?, bytes })
    }

    /// Takes its memory in one piece, or in smaller ones when there is none of that size.
    pub(super) fn take(&self) -> io::Result<()> {
        // The size first: under `within_size` it decides how large the pieces are.
        rustix::fs::ftruncate(&self.file, self.bytes)?;
        Ok(rustix::fs::fallocate(&self.file, FallocateFlags::empty(), 0, self.bytes)?)
    }

    /// Gives one page back. The kernel splits the huge page for it: down to single pages before 6.15, since then only as far
    /// as needed (`mm/truncate.c try_folio_split`), so that beside the hole pieces of 1, 2, 4, … 256 pages stay whole.
    pub(super) fn punch(&self, page: u64) -> io::Result<()> {
        let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        Ok(rustix::fs::fallocate(&self.file, hole, page * PAGE, PAGE)?)
    }

    /// Pins a page by passing it on into a pipe.
    pub(super) fn pin(&self, page: u64, pipe: impl AsFd) -> io::Result<()> {
        let mut from = page * PAGE;
        // A page that was never written is not there for a reader.
        rustix::io::pwrite(&self.file, &[1], from)?;
        let moved =
            rustix::pipe::splice(&self.file, Some(&mut from), pipe, None, PAGE as usize, SpliceFlags::NONBLOCK)?;
        if moved as u64 == PAGE { Ok(()) } else { Err(io::ErrorKind::WriteZero.into()) }
    }

    /// Gives back all that is not pinned.
    pub(super) fn give_back(&self) -> io::Result<()> {
        Ok(rustix::fs::ftruncate(&self.file, 0)?)
    }
}

//! The ring of memory into which the kernel writes the records of perf events.

use super::perf_event::OpenEvent;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

/// Where the kernel keeps the position it has written up to, and we the one we have read up to, in the first page
/// (`struct perf_event_mmap_page`; fixed since its first version by reserved room before them).
const HEAD: usize = 1024;
const TAIL: usize = 1032;

/// A ring, unmapped when dropped. The event has to stay open as long as it is written to.
#[derive(Debug)]
pub struct PerfRing {
    start: NonNull<u8>,
    page: usize,
    /// Bytes of the data, a power of two.
    size: usize,
}

// SAFETY: needed because a pointer is not Send by itself. Sound because the mapping belongs to the process, not to a thread,
// and only the owner of the value touches it.
unsafe impl Send for PerfRing {}

impl PerfRing {
    /// Maps a ring of about `bytes` bytes for the event, or of a part of it where `kernel.perf_event_mlock_kb` allows no
    /// more.
    ///
    /// # Errors
    /// When not even 8 pages are allowed.
    pub fn map(event: &OpenEvent, bytes: usize) -> io::Result<PerfRing> {
        let page = rustix::param::page_size();
        let mut pages = (bytes / page).next_power_of_two().max(8);
        loop {
            match PerfRing::map_pages(event, page, pages) {
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied && pages > 8 => pages /= 2,
                other => return other,
            }
        }
    }

    fn map_pages(event: &OpenEvent, page: usize, pages: usize) -> io::Result<PerfRing> {
        let size = page * pages;
        // SAFETY: needed because records come through shared memory only. Sound because a null hint makes the kernel choose
        // a range that nothing else uses.
        let raw = unsafe {
            mmap(std::ptr::null_mut(), page + size, ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED, event, 0)?
        };
        let start = NonNull::new(raw.cast::<u8>()).ok_or_else(|| io::Error::other("mapped at address 0"))?;
        Ok(PerfRing { start, page, size })
    }

    /// Bytes of its data.
    #[must_use]
    pub fn size(&self) -> usize {
        self.size
    }

    fn position(&self, offset: usize) -> &AtomicU64 {
        // SAFETY: the offset lies within the first page, which is mapped as long as `self`, is aligned to 8 bytes, and the
        // kernel reads and writes both words as atomics.
        unsafe { &*self.start.as_ptr().add(offset).cast::<AtomicU64>() }
    }

    /// Appends all that has been written since the last call, and gives the room back.
    pub fn drain(&mut self, to: &mut Vec<u8>) {
        // Acquire: the records before this position are whole (the kernel writes it after a barrier).
        let head = self.position(HEAD).load(Ordering::Acquire);
        let tail = self.position(TAIL).load(Ordering::Relaxed);
        let (from, length) = span(tail, head, self.size);
        let first = length.min(self.size - from);
        to.reserve(length);
        // SAFETY: both ranges lie within the data of the mapping, which begins a page after its start; the kernel does not
        // write between our position and its own until ours is moved below.
        unsafe {
            let data = self.start.as_ptr().add(self.page);
            to.extend_from_slice(std::slice::from_raw_parts(data.add(from), first));
            to.extend_from_slice(std::slice::from_raw_parts(data, length - first));
        }
        // Release: all is copied before the kernel may write over it.
        self.position(TAIL).store(head, Ordering::Release);
    }
}

impl Drop for PerfRing {
    fn drop(&mut self) {
        // SAFETY: the range was mapped by `map_pages` and nothing borrows from it any more.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.page + self.size) };
    }
}

/// Where in a ring of that size the bytes from `tail` to `head` begin, and how many they are. Positions only grow.
fn span(tail: u64, head: u64, size: usize) -> (usize, usize) {
    let length = usize::try_from(head.wrapping_sub(tail)).unwrap_or(usize::MAX).min(size);
    ((tail % size as u64) as usize, length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_grow_past_the_end_of_the_ring_and_of_their_numbers() {
        assert_eq!(span(0, 100, 4096), (0, 100));
        assert_eq!(span(4000, 4200, 4096), (4000, 200));
        assert_eq!(span(3 * 4096 + 8, 4 * 4096 + 8, 4096), (8, 4096), "full");
        assert_eq!(span(u64::MAX - 7, 8, 4096), (4088, 16));
    }
}

//! Anonymous memory that is mapped, advised and touched on purpose: for probes, and to bring a fresh host's memory in.

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};
use std::io;
use std::ptr::NonNull;
use std::thread;

/// A page of the smallest size there is.
const PAGE: usize = 4096;

/// What one thread touches is at least so long: a thread is made in a fraction of the time.
const LEAST_FOR_A_THREAD: usize = 16 << 20;

/// Which page size the kernel is asked to use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageAdvice {
    /// `MADV_HUGEPAGE`.
    Huge,
    /// `MADV_NOHUGEPAGE`.
    Base,
}

/// A private anonymous mapping, unmapped when dropped.
#[derive(Debug)]
pub struct Mapping {
    start: NonNull<u8>,
    length: usize,
}

// SAFETY: needed because a pointer is not Send by itself. Sound because a mapping owns its range alone, and memory of a
// process belongs to all of its threads: which of them reads, writes or unmaps it makes no difference.
unsafe impl Send for Mapping {}

impl Mapping {
    /// Maps `length` bytes, aligned to `alignment` (a power of two; 2 MiB for huge pages), not yet backed by memory.
    ///
    /// # Errors
    /// When there is no room in the address space, or the kernel refuses the advice (it has no THP).
    pub fn new(length: usize, alignment: usize, advice: PageAdvice) -> io::Result<Mapping> {
        let oversized = length + alignment;
        // SAFETY: needed because only mmap gives memory whose page size can be advised. Sound because a null hint makes
        // the kernel choose a range that nothing else uses.
        let raw = unsafe {
            mmap_anonymous(std::ptr::null_mut(), oversized, ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE)?
        };
        let base = raw as usize;
        let aligned = base.next_multiple_of(alignment);
        let (before, after) = (aligned - base, base + oversized - (aligned + length));
        // SAFETY: both ranges lie inside the mapping made above, and nothing points into them yet.
        unsafe {
            if before > 0 {
                munmap(raw, before)?;
            }
            if after > 0 {
                munmap((aligned + length) as *mut _, after)?;
            }
        }
        let start = NonNull::new(aligned as *mut u8).ok_or_else(|| io::Error::other("mapped at address 0"))?;
        let mapping = Mapping { start, length };
        let advice = match advice {
            PageAdvice::Huge => Advice::LinuxHugepage,
            PageAdvice::Base => Advice::LinuxNoHugepage,
        };
        // SAFETY: the range is ours alone, and this advice changes how it is backed, never what it holds.
        unsafe { madvise(mapping.start.as_ptr().cast(), length, advice)? };
        Ok(mapping)
    }

    /// Its bytes.
    pub fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: the mapping is `length` bytes long, readable and writable, zero-filled by the kernel (so initialised),
        // and `&mut self` keeps any other reference away for as long as the slice lives.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.length) }
    }

    /// Writes to each of its pages, with all CPUs that may be used: memory that a hypervisor has to bring in comes at several seconds a
    /// GiB to each CPU. What is written is not zero, since a page of zeros could be thrown away.
    pub fn touch(&mut self) {
        fn touch(part: &mut [u8]) {
            part.iter_mut().step_by(PAGE).for_each(|byte| *byte = 1);
        }
        let cpus = thread::available_parallelism().map_or(1, usize::from);
        let part = (self.length.div_ceil(PAGE).div_ceil(cpus) * PAGE).max(LEAST_FOR_A_THREAD);
        let all_began = thread::scope(|threads| {
            let mut parts = self.bytes().chunks_mut(part);
            parts.all(|part| thread::Builder::new().spawn_scoped(threads, || touch(part)).is_ok())
        });
        // Where no more threads are allowed.
        if !all_began {
            touch(self.bytes());
        }
    }

    /// Where it begins, to find it in `/proc/self/smaps`.
    #[must_use]
    pub fn address(&self) -> usize {
        self.start.as_ptr() as usize
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the range was mapped by `new` and nothing borrows from it any more.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.length) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_is_touched_whatever_the_number_of_cpus() {
        for length in [PAGE, LEAST_FOR_A_THREAD + PAGE, 5 * LEAST_FOR_A_THREAD - PAGE] {
            let mut mapping = Mapping::new(length, 2 << 20, PageAdvice::Base).unwrap();
            mapping.touch();
            assert!(mapping.bytes().chunks(PAGE).all(|page| page[0] == 1 && page[1..].iter().all(|byte| *byte == 0)));
        }
    }

    #[test]
    fn a_mapping_is_aligned_zero_and_writable() {
        let mut mapping = Mapping::new(4 << 20, 2 << 20, PageAdvice::Base).unwrap();
        assert_eq!(mapping.address() % (2 << 20), 0);
        assert!(mapping.bytes().iter().all(|byte| *byte == 0));
        mapping.bytes()[(4 << 20) - 1] = 7;
        assert_eq!(mapping.bytes()[(4 << 20) - 1], 7);
    }
}

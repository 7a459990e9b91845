//! A file that is mapped and never read through the mapping: what is mapped, reclaim has to unmap before it can free it.

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, munmap};
use std::fs::File;
use std::io;

/// A shared mapping of the beginning of a file. No reference into it is ever made, so the file may shrink or change.
#[derive(Debug)]
pub struct FileMapping {
    start: usize,
    length: usize,
}

impl FileMapping {
    /// Maps its first `length` bytes, none of them present yet.
    ///
    /// # Errors
    /// When there is no room in the address space, or the file cannot be mapped.
    pub fn of(file: &File, length: usize) -> io::Result<FileMapping> {
        // SAFETY: needed because no safe wrapper maps a file. Sound because a null hint makes the kernel choose a range that
        // nothing else uses, and nobody is given a reference into it.
        let start = unsafe { mmap(std::ptr::null_mut(), length, ProtFlags::READ, MapFlags::SHARED, file, 0)? };
        Ok(FileMapping { start: start as usize, length })
    }

    /// Has that stretch of it mapped, and read where it is not in the page cache (`MADV_POPULATE_READ`, 5.14). What lies beyond
    /// the mapping is left out.
    ///
    /// # Errors
    /// When the kernel does not know the advice, or the file ends before it.
    pub fn bring_in(&self, at: usize, bytes: usize) -> io::Result<()> {
        let at = at.min(self.length);
        let bytes = bytes.min(self.length - at);
        // SAFETY: needed because no safe wrapper advises a range. Sound because the range lies inside the mapping, and this
        // advice changes which of its pages are present and nothing else.
        unsafe { madvise((self.start + at) as *mut _, bytes, Advice::LinuxPopulateRead)? };
        Ok(())
    }
}

impl Drop for FileMapping {
    fn drop(&mut self) {
        // SAFETY: the range was mapped by `of`, and nothing points into it.
        let _ = unsafe { munmap(self.start as *mut _, self.length) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_the_file_is_brought_in_and_what_is_beyond_it_left_out() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(1 << 20).unwrap();
        let mapping = FileMapping::of(&file, 1 << 20).unwrap();
        match mapping.bring_in(0, 2 << 20) {
            Ok(()) => {}
            // Before 5.14.
            Err(error) => assert_eq!(error.raw_os_error(), Some(libc::EINVAL), "{error}"),
        }
    }
}

//! Memory that stays in memory: what the sampler writes into must not have to be swapped in first.

use std::io;

/// Keeps these bytes, and the pages they share with their neighbours, in memory for as long as the process lives or until
/// the allocation is given back to the kernel.
///
/// # Errors
/// When `RLIMIT_MEMLOCK` is too small.
pub fn lock<T>(memory: &[T]) -> io::Result<()> {
    if size_of_val(memory) == 0 {
        return Ok(());
    }
    // SAFETY: needed because no safe wrapper takes a slice. Sound because mlock only pins pages that this slice shows to
    // be mapped: it neither reads nor writes them, and the kernel checks the range.
    unsafe { rustix::mm::mlock(memory.as_ptr().cast_mut().cast(), size_of_val(memory)) }.map_err(io::Error::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_can_be_locked() {
        let memory = vec![0u8; 4096];
        let outcome = lock(&memory);
        assert!(outcome.is_ok() || outcome.is_err_and(|error| error.kind() != io::ErrorKind::InvalidInput));
        assert!(lock::<u8>(&[]).is_ok());
    }
}

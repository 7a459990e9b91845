//! Switching swap areas on and off.

use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// `SWAP_FLAG_PREFER` of `include/linux/swap.h` (6.12): the lower bits hold a priority.
const PREFER: libc::c_int = 0x8000;

/// `SWAP_FLAG_PRIO_MASK` of the same file.
const PRIORITY_MASK: libc::c_int = 0x7fff;

/// Puts an area into use, at the priority given or at the lowest so far.
///
/// # Errors
/// What the kernel answered (`man 2 swapon`).
pub fn on(path: &Path, priority: Option<u16>) -> io::Result<()> {
    let path = c_path(path)?;
    let flags = priority.map_or(0, |priority| PREFER | (libc::c_int::from(priority) & PRIORITY_MASK));
    // SAFETY: needed because no safe library offers swapon. Sound because the kernel only reads the path, which is a
    // string with its NUL that outlives the call, and the flags are a number.
    let answer = unsafe { libc::swapon(path.as_ptr(), flags) };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Takes an area out of use. Everything in it comes back to memory first, which can take long.
///
/// # Errors
/// What the kernel answered (`man 2 swapoff`). An interrupted call is begun again.
pub fn off(path: &Path) -> io::Result<()> {
    let path = c_path(path)?;
    loop {
        // SAFETY: needed because no safe library offers swapoff. Sound because the kernel only reads the path, which is
        // a string with its NUL that outlives the call.
        let answer = unsafe { libc::swapoff(path.as_ptr()) };
        let error = io::Error::last_os_error();
        match answer {
            0 => return Ok(()),
            _ if error.kind() == io::ErrorKind::Interrupted => {}
            _ => return Err(error),
        }
    }
}

fn c_path(path: &Path) -> io::Result<CString> {
    CString::new(path.as_os_str().as_bytes()).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))
}

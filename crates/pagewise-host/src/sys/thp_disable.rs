//! Asks the kernel whether a process can do without huge pages except where it advised them.

use std::io;

/// `PR_THP_DISABLE_EXCEPT_ADVISED` of `include/uapi/linux/prctl.h` (6.18).
const EXCEPT_ADVISED: libc::c_ulong = 1 << 1;

/// Whether the flag is known. Our own process is put into the state for a moment, and back into the one it was in.
///
/// # Errors
/// When the kernel does not know `PR_SET_THP_DISABLE` at all, or forbids it.
pub fn except_advised_is_known() -> io::Result<bool> {
    let before = prctl(libc::PR_GET_THP_DISABLE, 0, 0)? as libc::c_ulong;
    if prctl(libc::PR_SET_THP_DISABLE, 1, EXCEPT_ADVISED).is_err() {
        return Ok(false);
    }
    let (disabled, flags) = (libc::c_ulong::from(before != 0), before & EXCEPT_ADVISED);
    prctl(libc::PR_SET_THP_DISABLE, disabled, flags).map(|_| true)
}

fn prctl(option: libc::c_int, value: libc::c_ulong, flags: libc::c_ulong) -> io::Result<libc::c_int> {
    // SAFETY: needed because no safe wrapper knows these options. Sound because all five arguments are integers: the
    // kernel reads and writes no memory of ours.
    let answer = unsafe { libc::prctl(option, value, flags, 0 as libc::c_ulong, 0 as libc::c_ulong) };
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(answer) }
}

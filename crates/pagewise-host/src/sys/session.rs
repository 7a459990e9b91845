//! A child in a session of its own that outlives us: the watcher.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Arranges for the child to lead a new session, to ignore Ctrl-C and a closed terminal from its first moment, and to
/// keep no file open but the standard three: it may outlive whoever waits for a lock or a pipe that we inherited.
pub fn arrange(command: &mut Command) {
    let before_exec = || -> io::Result<()> {
        rustix::process::setsid().map_err(io::Error::from)?;
        for signal in [libc::SIGINT, libc::SIGHUP] {
            // SAFETY: needed because only an ignored signal stays so across exec, and no safe wrapper sets one to be
            // ignored. Sound because SIG_IGN installs no handler: no code of ours can run in signal context.
            if unsafe { libc::signal(signal, libc::SIG_IGN) } == libc::SIG_ERR {
                return Err(io::Error::last_os_error());
            }
        }
        // SAFETY: needed because no safe wrapper marks descriptors that other code opened, and before exec is the one
        // moment at which nothing in the child uses them any more. Sound because the call takes integers only, and
        // close-on-exec takes nothing from code that still runs before exec. Kernels before 5.11 refuse it; then the
        // child keeps what it inherited, which is untidy and no more.
        unsafe {
            libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC);
        }
        Ok(())
    };
    // SAFETY: needed because a session is made in the child before exec: once the program runs, Ctrl-C could already
    // have reached it. Sound because the closure makes system calls only: it allocates nothing and takes no lock.
    unsafe {
        command.pre_exec(before_exec);
    }
}

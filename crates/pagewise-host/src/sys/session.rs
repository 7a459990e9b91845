//! A child in a session of its own that outlives us: the watcher.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Arranges for the child to lead a new session, and to ignore Ctrl-C and a closed terminal from its first moment.
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
        Ok(())
    };
    // SAFETY: needed because a session is made in the child before exec: once the program runs, Ctrl-C could already
    // have reached it. Sound because the closure makes system calls only: it allocates nothing and takes no lock.
    unsafe {
        command.pre_exec(before_exec);
    }
}

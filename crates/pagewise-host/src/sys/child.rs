//! What happens between fork and exec, and how a child's resource use is collected.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// `PR_THP_DISABLE_EXCEPT_ADVISED` of `include/uapi/linux/prctl.h` (6.18).
const THP_DISABLE_EXCEPT_ADVISED: libc::c_ulong = 1 << 1;

/// Transparent huge pages for the job's processes alone, by `prctl(PR_SET_THP_DISABLE)` between fork and exec.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessThp {
    /// As the host's setting says.
    Default,
    /// None at all.
    Never,
    /// Only where the program advises it (`PR_THP_DISABLE_EXCEPT_ADVISED`, kernel 6.18 and later).
    ExceptAdvised,
}

/// What a child does to itself before it becomes the command.
#[derive(Debug)]
pub struct ChildSetup {
    /// An open `cgroup.procs`: the child moves itself in, so that its first page is already charged there.
    pub cgroup_procs: Option<OwnedFd>,
    /// Huge pages for the job's processes alone.
    pub thp: Option<ProcessThp>,
    /// Our own pid: a child that finds another parent was orphaned before it could ask to die with us.
    pub parent: u32,
}

/// Arranges `setup` to run in the child, in a session of its own.
pub fn arrange(command: &mut Command, setup: ChildSetup) {
    let before_exec = move || -> io::Result<()> {
        rustix::process::setsid().map_err(io::Error::from)?;
        die_with_parent(setup.parent)?;
        if let Some(procs) = &setup.cgroup_procs {
            rustix::io::write(procs, b"0").map_err(io::Error::from)?;
        }
        match setup.thp {
            Some(thp) => set_thp(thp),
            None => Ok(()),
        }
    };
    // SAFETY: needed because joining a cgroup, prctl and setsid must happen in the child before exec. Sound because the
    // closure only makes system calls on values prepared before the fork: it allocates nothing and takes no lock, so it
    // cannot meet a lock another thread held at the fork.
    unsafe {
        command.pre_exec(before_exec);
    }
}

fn die_with_parent(parent: u32) -> io::Result<()> {
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
    let now = rustix::process::getppid().map(|pid| pid.as_raw_nonzero().get());
    if now == i32::try_from(parent).ok() { Ok(()) } else { Err(io::Error::from_raw_os_error(libc::ESRCH)) }
}

fn set_thp(thp: ProcessThp) -> io::Result<()> {
    let (disable, flags): (libc::c_ulong, libc::c_ulong) = match thp {
        ProcessThp::Default => (0, 0),
        ProcessThp::Never => (1, 0),
        ProcessThp::ExceptAdvised => (1, THP_DISABLE_EXCEPT_ADVISED),
    };
    // SAFETY: needed because no safe wrapper knows the flags of PR_SET_THP_DISABLE. Sound because all five arguments are
    // integers: the kernel reads and writes no memory of ours.
    let answer =
        unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, disable, flags, 0 as libc::c_ulong, 0 as libc::c_ulong) };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// How a child ended and what it and the children it waited for used.
#[derive(Clone, Copy, Debug)]
pub struct Reaped {
    /// Raw wait status.
    pub status: i32,
    /// User CPU time in seconds.
    pub user: f64,
    /// System CPU time in seconds.
    pub system: f64,
    /// Page faults without I/O.
    pub minor_faults: i64,
    /// Page faults with I/O.
    pub major_faults: i64,
    /// Times it gave the CPU up to wait.
    pub voluntary_switches: i64,
    /// Times the CPU was taken from it.
    pub involuntary_switches: i64,
}

/// Waits for a child of ours and collects its resource use.
///
/// # Errors
/// When `pid` is no child of ours, or was reaped already.
pub fn reap(pid: u32) -> io::Result<Reaped> {
    let mut status: libc::c_int = 0;
    // SAFETY: an all-zero rusage is a valid value of this plain C struct.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    loop {
        // SAFETY: needed because rustix has no wait4 and only wait4 gives the usage of one child. Sound because both
        // pointers are to live, writable locals of the right type for the whole call.
        let answer = unsafe { libc::wait4(pid as libc::pid_t, &raw mut status, 0, &raw mut usage) };
        if answer >= 0 {
            break;
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    let seconds = |t: libc::timeval| t.tv_sec as f64 + t.tv_usec as f64 * 1e-6;
    Ok(Reaped {
        status,
        user: seconds(usage.ru_utime),
        system: seconds(usage.ru_stime),
        minor_faults: usage.ru_minflt,
        major_faults: usage.ru_majflt,
        voluntary_switches: usage.ru_nvcsw,
        involuntary_switches: usage.ru_nivcsw,
    })
}

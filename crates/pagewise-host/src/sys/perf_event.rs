//! Opens perf events, to learn which this kernel and our rights allow.

use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

/// The first published form of `struct perf_event_attr` (`PERF_ATTR_SIZE_VER0`, 64 bytes), which every kernel takes.
#[repr(C)]
#[derive(Default)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup: u32,
    breakpoint_type: u32,
    config1: u64,
}

/// Flags of the attribute: `disabled`, `exclude_kernel`, `exclude_hv` (bits 0, 5 and 6).
const DISABLED: u64 = 1;
const EXCLUDE_KERNEL: u64 = 1 << 5;
const EXCLUDE_HYPERVISOR: u64 = 1 << 6;

/// What is counted (`include/uapi/linux/perf_event.h`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// `PERF_COUNT_SW_CPU_CLOCK`: a timer, there without counters in the processor.
    CpuClock,
    /// `PERF_COUNT_HW_CPU_CYCLES`: needs the processor's counters.
    Cycles,
    /// Data-TLB load misses, from the generalised cache events.
    DtlbLoadMisses,
    /// A tracepoint by the number in its `id` file.
    Tracepoint(u64),
}

/// Whose events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Our own process, outside the kernel: what an ordinary user may ask for.
    OwnUserCode,
    /// Everything on CPU 0, the kernel included.
    WholeCpu,
}

/// Opens and closes the event, disabled. Nothing is counted or sampled.
///
/// # Errors
/// What the kernel answered: `ENOENT` or `EOPNOTSUPP` when it is not there, `EACCES` or `EPERM` when it is not for us.
pub fn try_open(event: Event, scope: Scope) -> io::Result<()> {
    let (kind, config) = match event {
        Event::Cycles => (0, 0),
        Event::CpuClock => (1, 0),
        Event::Tracepoint(id) => (2, id),
        // Cache 3 (DTLB), operation 0 (read) << 8, result 1 (miss) << 16.
        Event::DtlbLoadMisses => (3, 3 | 1 << 16),
    };
    let (pid, cpu, exclude) = match scope {
        Scope::OwnUserCode => (0, -1, EXCLUDE_KERNEL | EXCLUDE_HYPERVISOR),
        Scope::WholeCpu => (-1, 0, 0),
    };
    let size = size_of::<Attributes>() as u32;
    let attributes = Attributes { kind, size, config, flags: DISABLED | exclude, ..Attributes::default() };
    open(&attributes, pid, cpu).map(drop)
}

fn open(attributes: &Attributes, pid: libc::pid_t, cpu: libc::c_int) -> io::Result<OwnedFd> {
    const CLOSE_ON_EXEC: libc::c_ulong = 8;
    let no_group: libc::c_int = -1;
    // SAFETY: needed because no safe wrapper opens perf events. Sound because the kernel only reads `size` bytes of the
    // attribute, which is that large and lives through the call.
    let fd = unsafe {
        libc::syscall(libc::SYS_perf_event_open, std::ptr::from_ref(attributes), pid, cpu, no_group, CLOSE_ON_EXEC)
    };
    match libc::c_int::try_from(fd) {
        // SAFETY: needed to close the descriptor with the value. Sound because the kernel just gave it to us, and
        // nobody else knows it.
        Ok(fd) if fd >= 0 => Ok(unsafe { OwnedFd::from_raw_fd(fd) }),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_attribute_has_the_size_of_its_first_published_form() {
        assert_eq!(size_of::<Attributes>(), 64);
    }
}

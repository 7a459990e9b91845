//! Perf events: which this kernel and our rights allow, and those that write records into a ring.
//!
//! `struct perf_event_attr` grows from kernel to kernel, and a kernel takes any size it knows of. The form below is that of
//! `PERF_ATTR_SIZE_VER3` (Linux 4.1), the first with a choice of clock; a crate with the bindings of the newest kernel would
//! bring hundreds of names for the dozen that are used.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// `struct perf_event_attr` as of `PERF_ATTR_SIZE_VER3`, 96 bytes.
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
    config2: u64,
    branch_sample_type: u64,
    sample_regs_user: u64,
    sample_stack_user: u32,
    clock: i32,
}

/// The first published form (`PERF_ATTR_SIZE_VER0`), which every kernel takes: enough to ask what is there.
const FIRST_FORM: u32 = 64;

/// Bits of `flags`.
const DISABLED: u64 = 1;
const INHERIT: u64 = 1 << 1;
const EXCLUDE_KERNEL: u64 = 1 << 5;
const EXCLUDE_HYPERVISOR: u64 = 1 << 6;
const EXCLUDE_IDLE: u64 = 1 << 7;
const MMAP: u64 = 1 << 8;
const COMM: u64 = 1 << 9;
const FREQUENCY: u64 = 1 << 10;
const TASK: u64 = 1 << 13;
const WATERMARK: u64 = 1 << 14;
const SAMPLE_ID_ALL: u64 = 1 << 18;
const EXCLUDE_GUEST: u64 = 1 << 20;
const MMAP2: u64 = 1 << 23;
const COMM_EXEC: u64 = 1 << 24;
const USE_CLOCK: u64 = 1 << 25;

/// Bits of `sample_type`.
const SAMPLE_TID: u64 = 1 << 1;
const SAMPLE_TIME: u64 = 1 << 2;
const SAMPLE_CALLCHAIN: u64 = 1 << 5;
const SAMPLE_CPU: u64 = 1 << 7;
const SAMPLE_RAW: u64 = 1 << 10;

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

impl Event {
    fn numbers(self) -> (u32, u64) {
        match self {
            Event::Cycles => (0, 0),
            Event::CpuClock => (1, 0),
            Event::Tracepoint(id) => (2, id),
            // Cache 3 (DTLB), operation 0 (read) << 8, result 1 (miss) << 16.
            Event::DtlbLoadMisses => (3, 3 | 1 << 16),
        }
    }
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
    let (kind, config) = event.numbers();
    let (pid, cpu, exclude) = match scope {
        Scope::OwnUserCode => (0, -1, EXCLUDE_KERNEL | EXCLUDE_HYPERVISOR),
        Scope::WholeCpu => (-1, 0, 0),
    };
    let attributes = Attributes { kind, size: FIRST_FORM, config, flags: DISABLED | exclude, ..Attributes::default() };
    open(&attributes, pid, cpu).map(drop)
}

/// Who is sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whom {
    /// Everything that runs on the CPU.
    All,
    /// What the calling thread starts from now on, and that thread itself.
    Children {
        /// Its time in the kernel, too.
        with_kernel: bool,
    },
}

/// What a record tells beside thread, instant and CPU, and how often there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tells {
    /// The stack, so many times a second; and, as they happen, what is mapped, started and named.
    Stack {
        /// Samples a second.
        hz: u32,
    },
    /// The tracepoint's own fields, each time.
    Fields {
        /// Also which threads start, are named and end.
        with_names: bool,
    },
}

/// An event that is open on one CPU, and not counting until it is told to.
#[derive(Debug)]
pub struct Opened(OwnedFd);

impl AsFd for Opened {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Opened {
    /// Opens it, disabled. Instants are CLOCK_MONOTONIC, the one clock that every kind of event may use. `watermark`:
    /// bytes in the ring at which a reader is woken.
    ///
    /// # Errors
    /// See [`try_open`]; `EINVAL` where the rate is above `kernel.perf_event_max_sample_rate`.
    pub fn new(event: Event, whom: Whom, cpu: u32, tells: Tells, watermark: u32) -> io::Result<Opened> {
        let (kind, config) = event.numbers();
        let (pid, who) = match whom {
            Whom::All => (-1, 0),
            Whom::Children { with_kernel: true } => (0, INHERIT),
            Whom::Children { with_kernel: false } => (0, INHERIT | EXCLUDE_KERNEL),
        };
        let (period, sample_type, what) = match (tells, event) {
            (Tells::Fields { .. }, _) => (1, SAMPLE_RAW, 0),
            (Tells::Stack { hz }, Event::Cycles) => {
                // An idle CPU counts no cycles; guests have their own kernel.
                (u64::from(hz), SAMPLE_CALLCHAIN, FREQUENCY | EXCLUDE_GUEST | EXCLUDE_HYPERVISOR)
            }
            // A clock needs no search for the period that gives the rate.
            (Tells::Stack { hz }, _) => (1_000_000_000 / u64::from(hz.max(1)), SAMPLE_CALLCHAIN, EXCLUDE_IDLE),
        };
        let news = match tells {
            Tells::Stack { .. } => MMAP | MMAP2 | COMM | COMM_EXEC | TASK,
            Tells::Fields { with_names: true } => COMM | COMM_EXEC | TASK,
            Tells::Fields { with_names: false } => 0,
        };
        let attributes = Attributes {
            kind,
            size: size_of::<Attributes>() as u32,
            config,
            period,
            sample_type: SAMPLE_TID | SAMPLE_TIME | SAMPLE_CPU | sample_type,
            flags: DISABLED | who | what | news | WATERMARK | SAMPLE_ID_ALL | USE_CLOCK,
            wakeup: watermark,
            clock: libc::CLOCK_MONOTONIC,
            ..Attributes::default()
        };
        open(&attributes, pid, libc::c_int::try_from(cpu).unwrap_or(libc::c_int::MAX)).map(Opened)
    }

    /// Begins to count.
    ///
    /// # Errors
    /// What the kernel answered.
    pub fn enable(&self) -> io::Result<()> {
        self.control(libc::c_ulong::from(b'$') << 8, 0)
    }

    /// Stops counting.
    ///
    /// # Errors
    /// What the kernel answered.
    pub fn disable(&self) -> io::Result<()> {
        self.control(libc::c_ulong::from(b'$') << 8 | 1, 0)
    }

    /// Writes its records into the ring of another event of the same CPU.
    ///
    /// # Errors
    /// What the kernel answered.
    pub fn write_to_ring_of(&self, other: &Opened) -> io::Result<()> {
        self.control(libc::c_ulong::from(b'$') << 8 | 5, libc::c_ulong::try_from(other.0.as_raw_fd()).unwrap_or(0))
    }

    fn control(&self, request: libc::c_ulong, argument: libc::c_ulong) -> io::Result<()> {
        // SAFETY: needed because no safe wrapper knows these requests. Sound because their argument is a number: the kernel
        // reads and writes no memory of ours.
        let answer = unsafe { libc::ioctl(self.0.as_raw_fd(), request as _, argument) };
        if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

fn open(attributes: &Attributes, pid: libc::pid_t, cpu: libc::c_int) -> io::Result<OwnedFd> {
    const CLOSE_ON_EXEC: libc::c_ulong = 8;
    let no_group: libc::c_int = -1;
    // SAFETY: needed because no safe wrapper opens perf events. Sound because the kernel only reads `size` bytes of the
    // attribute, which is at least that large and lives through the call.
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
    fn the_attribute_has_the_size_of_its_published_form() {
        assert_eq!(size_of::<Attributes>(), 96);
        assert_eq!(std::mem::offset_of!(Attributes, config2), FIRST_FORM as usize);
        assert_eq!(std::mem::offset_of!(Attributes, clock), 92);
    }
}

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
    /// The same of stores.
    DtlbStoreMisses,
    /// What this processor counts under that number: event, mask and threshold as in its maker's list (`PERF_TYPE_RAW`).
    Raw(u64),
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
            // Operation 1 (write).
            Event::DtlbStoreMisses => (3, 3 | 1 << 8 | 1 << 16),
            Event::Raw(config) => (4, config),
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
    open(&attributes, pid, cpu, None).map(drop)
}

/// Who is sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SampledTasks {
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
pub enum SampleFields {
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
pub struct OpenEvent(OwnedFd);

impl AsFd for OpenEvent {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl OpenEvent {
    /// Opens it, disabled. Instants are CLOCK_MONOTONIC, the one clock that every kind of event may use. `watermark`:
    /// bytes in the ring at which a reader is woken.
    ///
    /// # Errors
    /// See [`try_open`]; `EINVAL` where the rate is above `kernel.perf_event_max_sample_rate`.
    pub fn new(
        event: Event,
        whom: SampledTasks,
        cpu: u32,
        tells: SampleFields,
        watermark: u32,
    ) -> io::Result<OpenEvent> {
        let (kind, config) = event.numbers();
        let (pid, who) = match whom {
            SampledTasks::All => (-1, 0),
            SampledTasks::Children { with_kernel: true } => (0, INHERIT),
            SampledTasks::Children { with_kernel: false } => (0, INHERIT | EXCLUDE_KERNEL),
        };
        let (period, sample_type, what) = match (tells, event) {
            (SampleFields::Fields { .. }, _) => (1, SAMPLE_RAW, 0),
            (SampleFields::Stack { hz }, Event::Cycles) => {
                // An idle CPU counts no cycles; guests have their own kernel.
                (u64::from(hz), SAMPLE_CALLCHAIN, FREQUENCY | EXCLUDE_GUEST | EXCLUDE_HYPERVISOR)
            }
            // A clock needs no search for the period that gives the rate.
            (SampleFields::Stack { hz }, _) => (1_000_000_000 / u64::from(hz.max(1)), SAMPLE_CALLCHAIN, EXCLUDE_IDLE),
        };
        let news = match tells {
            SampleFields::Stack { .. } => MMAP | MMAP2 | COMM | COMM_EXEC | TASK,
            SampleFields::Fields { with_names: true } => COMM | COMM_EXEC | TASK,
            SampleFields::Fields { with_names: false } => 0,
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
        open(&attributes, pid, number_of(cpu), None).map(OpenEvent)
    }

    /// Begins to count.
    ///
    /// # Errors
    /// What the kernel answered.
    pub fn enable(&self) -> io::Result<()> {
        control(self.as_fd(), ENABLE, 0)
    }

    /// Stops counting.
    ///
    /// # Errors
    /// What the kernel answered.
    pub fn disable(&self) -> io::Result<()> {
        control(self.as_fd(), DISABLE, 0)
    }

    /// Writes its records into the ring of another event of the same CPU.
    ///
    /// # Errors
    /// What the kernel answered.
    pub fn write_to_ring_of(&self, other: &OpenEvent) -> io::Result<()> {
        control(self.as_fd(), SET_OUTPUT, libc::c_ulong::try_from(other.0.as_raw_fd()).unwrap_or(0))
    }
}

/// Events of one CPU that count together: all of them or none at any time, so that one can be held against another.
#[derive(Debug)]
pub struct Group {
    /// The leader is the first.
    events: Vec<OwnedFd>,
}

impl Group {
    /// No group has more events.
    const MOST: usize = 8;

    /// Opens them on a CPU, for everything that runs there, and begins to count.
    ///
    /// # Errors
    /// See [`try_open`]; `EINVAL` where the processor cannot count so many at once, or there is no event.
    pub fn open(events: &[Event], cpu: u32) -> io::Result<Group> {
        /// Bits of `read_format`: time enabled, time running, all of a group.
        const READ_FORMAT: u64 = 1 | 1 << 1 | 1 << 3;
        let mut opened: Vec<OwnedFd> = Vec::with_capacity(events.len());
        for event in events.iter().take(Group::MOST) {
            let (kind, config) = event.numbers();
            // The others count when their leader does.
            let flags = if opened.is_empty() { DISABLED } else { 0 };
            let attributes =
                Attributes { kind, size: FIRST_FORM, config, read_format: READ_FORMAT, flags, ..Attributes::default() };
            let event = open(&attributes, -1, number_of(cpu), opened.first().map(AsFd::as_fd))?;
            opened.push(event);
        }
        let leader = opened.first().ok_or(io::ErrorKind::InvalidInput)?;
        control(leader.as_fd(), ENABLE, 0)?;
        Ok(Group { events: opened })
    }

    /// Into `values`: the total of each event, then nanoseconds for which the group was to count, and for which it did.
    ///
    /// # Errors
    /// What the kernel answered; nothing at all when the CPU has gone offline, or there is another number of values.
    pub fn read(&self, values: &mut [u64]) -> io::Result<()> {
        let count = self.events.len();
        let mut bytes = [0; 8 * (3 + Group::MOST)];
        let read = match self.events.first() {
            Some(leader) => rustix::io::read(leader, &mut bytes)?,
            None => 0,
        };
        if read != 8 * (3 + count) || values.len() != count + 2 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        // The number of events, both times, the totals.
        let number = |at: usize| bytes[8 * at..8 * at + 8].try_into().map_or(0, u64::from_ne_bytes);
        for (place, value) in values.iter_mut().enumerate() {
            *value = if place < count { number(3 + place) } else { number(1 + place - count) };
        }
        Ok(())
    }
}

/// Requests of `ioctl(2)` on an event.
const ENABLE: libc::c_ulong = (b'$' as libc::c_ulong) << 8;
const DISABLE: libc::c_ulong = ENABLE | 1;
const SET_OUTPUT: libc::c_ulong = ENABLE | 5;

fn control(event: BorrowedFd<'_>, request: libc::c_ulong, argument: libc::c_ulong) -> io::Result<()> {
    // SAFETY: needed because no safe wrapper knows these requests. Sound because their argument is a number: the kernel reads
    // and writes no memory of ours.
    let answer = unsafe { libc::ioctl(event.as_raw_fd(), request as _, argument) };
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn number_of(cpu: u32) -> libc::c_int {
    libc::c_int::try_from(cpu).unwrap_or(libc::c_int::MAX)
}

fn open(
    attributes: &Attributes,
    pid: libc::pid_t,
    cpu: libc::c_int,
    group: Option<BorrowedFd<'_>>,
) -> io::Result<OwnedFd> {
    const CLOSE_ON_EXEC: libc::c_ulong = 8;
    let group: libc::c_int = group.map_or(-1, |leader| leader.as_raw_fd());
    // SAFETY: needed because no safe wrapper opens perf events. Sound because the kernel only reads `size` bytes of the
    // attribute, which is at least that large and lives through the call.
    let fd = unsafe {
        libc::syscall(libc::SYS_perf_event_open, std::ptr::from_ref(attributes), pid, cpu, group, CLOSE_ON_EXEC)
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
    use pagewise_testkit::requires;

    #[test]
    fn the_attribute_has_the_size_of_its_published_form() {
        assert_eq!(size_of::<Attributes>(), 96);
        assert_eq!(std::mem::offset_of!(Attributes, config2), FIRST_FORM as usize);
        assert_eq!(std::mem::offset_of!(Attributes, clock), 92);
    }

    #[test]
    fn events_of_a_group_count_together_and_a_group_of_none_is_refused() {
        requires!(perf_host);
        // Clocks, which every kernel has: what counts is the way of the numbers.
        let group = Group::open(&[Event::CpuClock, Event::CpuClock], 0).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(50));
        let mut values = [0; 4];
        group.read(&mut values).unwrap();
        let [first, second, enabled, running] = values;
        assert!(first > 40_000_000 && first.abs_diff(second) < 20_000_000, "{values:?}");
        assert!(running > 40_000_000 && running <= enabled, "{values:?}");
        let before = values;
        group.read(&mut values).unwrap();
        assert!(values.iter().zip(&before).all(|(now, before)| now >= before), "{before:?} {values:?}");
        assert!(group.read(&mut [0; 3]).is_err(), "another number of values");
        assert!(Group::open(&[], 0).is_err());
    }
}

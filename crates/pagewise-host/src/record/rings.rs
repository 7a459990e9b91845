//! What the threads that record stacks and stalls share: rings of perf events on every CPU, how they wait, and when they
//! record at all.

use super::{RUN, Shared};
use crate::clock;
use crate::root::Root;
use crate::source::cpu;
use crate::sys::perf_event::OpenEvent;
use crate::sys::perf_ring::PerfRing;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc::Sender};

/// Bytes of a ring. Several seconds of stacks of one CPU at 99 Hz, and half a second of the most stalls that are read.
const RING: usize = 512 << 10;

/// Bytes at which the kernel wakes us: half a ring, so that the other half is there for what comes meanwhile.
pub(super) const WATERMARK: u32 = (RING / 2) as u32;

/// In nanoseconds.
pub(super) const SECOND: u64 = 1_000_000_000;

/// Rows of stacks, stalls and processes that may wait for a writer whose disk takes nothing: some 30 MiB.
pub(super) const MOST_WAITING: i64 = 200_000;

/// When to trace: always, or until an instant that a flight recorder moves.
#[derive(Debug)]
pub(super) struct Signal {
    /// CLOCK_BOOTTIME; 0: not now.
    until: AtomicU64,
    wake: OwnedFd,
}

impl Signal {
    pub(super) fn new(until: u64) -> io::Result<Arc<Signal>> {
        let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Arc::new(Signal { until: AtomicU64::new(until), wake }))
    }

    /// Traces until then.
    pub(super) fn trace_until(&self, until: u64) {
        self.until.store(until, Ordering::Release);
        self.wake();
    }

    pub(super) fn wake(&self) {
        // It can only fail when it has been woken 2^64 times.
        let _ = rustix::io::write(&self.wake, &1u64.to_ne_bytes());
    }

    fn until(&self) -> u64 {
        self.until.load(Ordering::Acquire)
    }

    /// Waits for a wake-up, for one of the rings, or for so many nanoseconds. `false` when a file has ended: it must not
    /// be waited for again.
    pub(super) fn wait(&self, files: &[&OpenEvent], nanoseconds: Option<u64>) -> bool {
        let mut polled = vec![PollFd::new(&self.wake, PollFlags::IN)];
        polled.extend(files.iter().map(|file| PollFd::new(*file, PollFlags::IN)));
        let timeout = nanoseconds.map(|nanoseconds| Timespec {
            tv_sec: (nanoseconds / SECOND) as i64,
            tv_nsec: (nanoseconds % SECOND) as _,
        });
        if poll(&mut polled, timeout.as_ref()).is_err() {
            // Interrupted by a signal: as good as any other reason to look.
            return true;
        }
        let has_ended = polled[1..].iter().any(|file| file.revents().intersects(PollFlags::HUP | PollFlags::ERR));
        let mut taken = [0u8; 8];
        let _ = rustix::io::read(&self.wake, &mut taken);
        !has_ended
    }
}

/// A ring for each CPU, with the events that write into it. The first of a CPU is the one whose ring it is.
#[derive(Debug)]
pub(super) struct Rings {
    cpus: Vec<(PerfRing, Vec<OpenEvent>)>,
    /// A CPU went away, or the job has ended: only time wakes us from then on.
    by_time_only: bool,
}

impl Rings {
    /// Opens `events` on every CPU that is online. `open` opens one on a CPU.
    ///
    /// # Errors
    /// When one cannot be opened on a CPU that is there, with the kernel's answer.
    pub(super) fn open(
        root: &Root,
        events: usize,
        open: impl Fn(usize, u32) -> io::Result<OpenEvent>,
    ) -> io::Result<Rings> {
        let mut cpus = Vec::new();
        for cpu in cpu::online(root) {
            let mut opened: Vec<OpenEvent> = Vec::with_capacity(events);
            for event in 0..events {
                match open(event, cpu) {
                    Ok(one) => opened.push(one),
                    // It went offline this very moment.
                    Err(error) if error.raw_os_error() == Some(libc::ENODEV) && cpus.len() + opened.len() > 0 => {}
                    Err(error) => return Err(error),
                }
            }
            let Some(first) = opened.first() else { continue };
            let ring = PerfRing::map(first, RING)?;
            for other in &opened[1..] {
                other.write_to_ring_of(first)?;
            }
            cpus.push((ring, opened));
        }
        Ok(Rings { cpus, by_time_only: false })
    }

    fn each(&self, what: impl Fn(&OpenEvent) -> io::Result<()>) {
        // One that fails belongs to a CPU that has gone offline.
        self.cpus.iter().flat_map(|(_, events)| events).for_each(|event| drop(what(event)));
    }

    pub(super) fn enable(&self) {
        self.each(OpenEvent::enable);
    }

    pub(super) fn disable(&self) {
        self.each(OpenEvent::disable);
    }

    pub(super) fn wait(&mut self, signal: &Signal, nanoseconds: Option<u64>) {
        let files: Vec<&OpenEvent> = if self.by_time_only {
            Vec::new()
        } else {
            self.cpus.iter().filter_map(|(_, events)| events.first()).collect()
        };
        self.by_time_only |= !signal.wait(&files, nanoseconds);
    }

    /// Appends what is in all of them.
    pub(super) fn drain(&mut self, to: &mut Vec<u8>) {
        self.cpus.iter_mut().for_each(|(ring, _)| ring.drain(to));
    }
}

/// What a thread does with its rings.
pub(super) trait RingReader {
    /// Nanoseconds from one emptying of the rings to the next, at most.
    fn beat(&self) -> u64;

    /// What the rings held.
    fn take(&mut self, bytes: &[u8]);

    /// All up to that instant has been taken: tells the writer what is finished by then, and gives how many rows that are.
    /// Without room they are counted as lost: the disk takes nothing, and memory is not the place to wait in.
    fn tell(&mut self, until: u64, has_room: bool, events: &Sender<super::Event>) -> u64;

    /// Tracing begins at that instant, or ends.
    fn turn(&mut self, is_on: bool, now: u64, events: &Sender<super::Event>);

    /// What may be changed on the open events between two beats.
    fn adjust(&mut self, _rings: &Rings) {}
}

/// The life of such a thread: waits, empties the rings, hands on, until the recording ends.
pub(super) fn run(
    mut reader: impl RingReader,
    mut rings: Rings,
    signal: &Signal,
    shared: &Shared,
    cpu: &AtomicU64,
    events: &Sender<super::Event>,
) {
    let mut is_on = false;
    let mut bytes = Vec::new();
    loop {
        let is_over = shared.stop.load(Ordering::Acquire) != RUN || shared.ended.load(Ordering::Acquire);
        let now = clock::boot();
        let until = signal.until();
        let should_be_on = !is_over && now < until;
        if should_be_on && !is_on {
            reader.turn(true, now, events);
            rings.enable();
        } else if is_on && !should_be_on {
            rings.disable();
        }
        if is_on || should_be_on {
            // Read before the rings are: what was written before this instant is in them.
            let now = clock::boot();
            bytes.clear();
            rings.drain(&mut bytes);
            reader.take(&bytes);
            let is_last = is_on && !should_be_on;
            let has_room = shared.waiting.load(Ordering::Acquire) < MOST_WAITING;
            let rows = reader.tell(if is_last { u64::MAX } else { now }, has_room, events);
            shared.waiting.fetch_add(rows as i64, Ordering::AcqRel);
            reader.adjust(&rings);
        }
        if is_on && !should_be_on && !is_over {
            reader.turn(false, clock::boot(), events);
        }
        is_on = should_be_on;
        cpu.store(clock::thread_cpu(), Ordering::Release);
        if is_over {
            return;
        }
        let now = clock::boot();
        let beat = reader.beat();
        let next = (beat - now % beat).min(until.saturating_sub(now));
        rings.wait(signal, is_on.then_some(next));
    }
}

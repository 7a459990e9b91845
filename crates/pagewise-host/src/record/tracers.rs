//! What records beside the numbers: the threads for stacks and stalls (tiers 1 and 2), the one that calls them, and the one
//! that walks over the processes.

use super::flight::Flight;
use super::processes::Walker;
use super::rings::{self, Rings, Signal};
use super::stacks::Counting;
use super::{Event, RecordError, Shared, open_gap, stacks, stalls};
use crate::clock;
use crate::root::Root;
use crate::store::recording::stacks as keys;
use pagewise_core::recording::GapReason;
pub use pagewise_core::recording::stack::RATES as STACKS;
use rustix::event::{EventfdFlags, eventfd};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// The thread that records stacks, and the one for stalls.
pub(super) const STACKS_THREAD: &str = "record-stacks";
const STALLS_THREAD: &str = "record-stalls";

/// The rate of a flight recorder, unless another is given.
pub const FLIGHT_HZ: u32 = 99;

/// What is recorded beside the numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tracing {
    /// Stacks, so many times a second and CPU.
    pub stacks: Option<u32>,
    /// Stalls.
    pub stalls: bool,
    /// Both only while there is trouble, stacks at [`FLIGHT_HZ`] if no rate is given.
    pub flight: bool,
    /// Names of kernel threads and of what this process starts only; all others are one process without a name, of which
    /// only the kernel's part of stacks is kept.
    pub is_redacted: bool,
    /// The calling thread is about to start a command. Where the whole host may not be recorded, that still may.
    pub with_command: bool,
    /// Of a stack the kernel's part, or where a program runs the one function it is in. Rules ask for no more, and the names
    /// of a program's callers are the dearest to read.
    pub innermost_only: bool,
    /// In the end, which open files took most of the page cache. Never in a redacted recording.
    pub files: bool,
}

/// The threads.
#[derive(Debug, Default)]
pub(super) struct Tracers {
    threads: Vec<JoinHandle<()>>,
    signals: Vec<Arc<Signal>>,
    wake_flight: Option<Arc<OwnedFd>>,
    /// CPU time of each, by its name.
    cpu: Vec<(&'static str, Arc<AtomicU64>)>,
    /// What was refused at the start, as the gaps say it: the source, and why.
    pub(super) refused: Vec<(String, String)>,
}

impl Tracers {
    /// Opens what is asked for, on this thread, and starts the threads. What is refused is a gap with the reason.
    pub(super) fn start(
        root: &Root,
        tracing: &Tracing,
        shared: &Arc<Shared>,
        events: &Sender<Event>,
    ) -> Result<Tracers, RecordError> {
        let mut tracers = Tracers::default();
        let until = if tracing.flight { 0 } else { u64::MAX };
        let hz = tracing.stacks.or(tracing.flight.then_some(FLIGHT_HZ));
        if let Some(hz) = hz {
            tracers.start_stacks(root, hz, tracing, until, shared, events)?;
        }
        if tracing.stalls || tracing.flight {
            tracers.start_stalls(root, tracing, until, shared, events)?;
        }
        if tracing.flight && !tracers.signals.is_empty() {
            let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).map_err(io::Error::from);
            let wake = Arc::new(wake.map_err(RecordError::Thread)?);
            tracers.wake_flight = Some(Arc::clone(&wake));
            let (flight, why) = Flight::new(root, tracers.signals.clone(), wake);
            if let Some(why) = why {
                tracers.gap(events, "flight", GapReason::Missing, why);
            }
            tracers
                .spawn("record-flight", shared, events, move |shared, cpu, events| flight.run(shared, cpu, events))?;
        }
        Ok(tracers)
    }

    fn gap(&mut self, events: &Sender<Event>, source: &str, reason: GapReason, detail: String) {
        self.refused.push((source.to_owned(), detail.clone()));
        let _ = events.send(Event::Gap(open_gap(clock::boot(), source, reason, detail)));
    }

    /// A flight recorder waits. Else tracing begins now, not when the thread first runs: the beginning of a command that
    /// is about to be started must not be missed.
    fn begin(&self, source: &str, rings: &Rings, until: u64, events: &Sender<Event>) {
        if until == 0 {
            stacks::turn(source, false, clock::boot(), events);
        } else {
            rings.enable();
        }
    }

    fn start_stacks(
        &mut self,
        root: &Root,
        hz: u32,
        tracing: &Tracing,
        until: u64,
        shared: &Arc<Shared>,
        events: &Sender<Event>,
    ) -> Result<(), RecordError> {
        let source = match stacks::open(root, hz, tracing.with_command) {
            Ok(source) => source,
            Err(why) => {
                self.gap(events, stacks::SOURCE, GapReason::Missing, why);
                return Ok(());
            }
        };
        let left_out = source.only_children.as_ref().map(|_| std::process::id());
        if let Some(why) = source.only_children {
            self.gap(events, "stacks.others", GapReason::Missing, why);
        }
        let _ = events.send(Event::Meta(keys::EVENT, source.event.word().to_owned()));
        let _ = events.send(Event::Meta(keys::HZ, hz.to_string()));
        let _ = events.send(Event::Stacks(crate::store::recording::StackRows::default()));
        self.begin(stacks::SOURCE, &source.rings, until, events);
        let counting = Counting::new(root, hz, tracing, left_out).named_until(&shared.names_until);
        let signal = self.signal(until)?;
        self.spawn(STACKS_THREAD, shared, events, move |shared, cpu, events| {
            rings::run(counting, source.rings, &signal, shared, cpu, events);
        })
    }

    fn start_stalls(
        &mut self,
        root: &Root,
        tracing: &Tracing,
        until: u64,
        shared: &Arc<Shared>,
        events: &Sender<Event>,
    ) -> Result<(), RecordError> {
        let source = match stalls::open(root) {
            Ok(source) => source,
            Err(why) => {
                self.gap(events, stalls::SOURCE, GapReason::Missing, why);
                return Ok(());
            }
        };
        for (kind, why) in &source.missing {
            self.gap(events, &format!("{}.{kind}", stalls::SOURCE), GapReason::Missing, why.clone());
        }
        let _ = events.send(Event::Stalls(Vec::new()));
        let (rings, pairing) = source.into_pairing(root, tracing.is_redacted);
        self.begin(stalls::SOURCE, &rings, until, events);
        let signal = self.signal(until)?;
        self.spawn(STALLS_THREAD, shared, events, move |shared, cpu, events| {
            rings::run(pairing, rings, &signal, shared, cpu, events);
        })
    }

    /// Starts the thread that walks over the processes.
    pub(super) fn start_walks(
        &mut self,
        root: &Root,
        beat: Duration,
        is_redacted: bool,
        shared: &Arc<Shared>,
        events: &Sender<Event>,
    ) -> Result<(), RecordError> {
        let _ = events.send(Event::Walks(Vec::new()));
        let walker = Walker::new(root, is_redacted);
        self.spawn("record-walk", shared, events, move |shared, cpu, events| walker.run(beat, shared, cpu, events))
    }

    fn signal(&mut self, until: u64) -> Result<Arc<Signal>, RecordError> {
        let signal = Signal::new(until).map_err(RecordError::Thread)?;
        self.signals.push(Arc::clone(&signal));
        Ok(signal)
    }

    fn spawn(
        &mut self,
        name: &'static str,
        shared: &Arc<Shared>,
        events: &Sender<Event>,
        run: impl FnOnce(&Shared, &AtomicU64, &Sender<Event>) + Send + 'static,
    ) -> Result<(), RecordError> {
        let cpu = Arc::new(AtomicU64::new(0));
        let (shared, events, of_thread) = (Arc::clone(shared), events.clone(), Arc::clone(&cpu));
        let thread = thread::Builder::new().name(name.to_owned()).spawn(move || run(&shared, &of_thread, &events));
        self.cpu.push((name, cpu));
        self.threads.push(thread.map_err(RecordError::Thread)?);
        Ok(())
    }

    /// Wakes them after `shared` has told them to end.
    pub(super) fn wake(&self) {
        self.signals.iter().for_each(|signal| signal.wake());
        self.threads.iter().for_each(|thread| thread.thread().unpark());
        if let Some(wake) = &self.wake_flight {
            let _ = rustix::io::write(&**wake, &1u64.to_ne_bytes());
        }
    }

    /// Waits for them, after `shared` has told them to end. Gives whether they all ended well.
    pub(super) fn join(&mut self) -> bool {
        self.wake();
        // All are waited for, also after one that ended badly.
        self.threads.drain(..).map(JoinHandle::join).filter(Result::is_err).count() == 0
    }

    /// Whether none is left.
    pub(super) fn have_ended(&self) -> bool {
        self.threads.iter().all(JoinHandle::is_finished)
    }

    /// Whether one has ended before it was told to.
    pub(super) fn has_ended(&self) -> bool {
        self.threads.iter().any(JoinHandle::is_finished)
    }

    /// CPU time of all of them, in nanoseconds.
    pub(super) fn cpu(&self) -> u64 {
        self.cpu.iter().map(|(_, cpu)| cpu.load(Ordering::Acquire)).sum()
    }

    /// The same of one.
    pub(super) fn cpu_of(&self, thread: &str) -> u64 {
        let of = self.cpu.iter().filter(|(name, _)| *name == thread);
        of.map(|(_, cpu)| cpu.load(Ordering::Acquire)).sum()
    }
}

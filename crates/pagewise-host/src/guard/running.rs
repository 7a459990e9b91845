//! The loop: sample, decide, wait or reclaim. After its start it allocates nothing and touches no new page of its own, so that the
//! shortage it works against cannot stop it.

use super::GuardError;
use super::back_end::BackEnds;
use super::reading::Reading;
use super::streamers::Streamer;
use crate::process::Interrupt;
use crate::root::Root;
use crate::source::guard_threads;
use pagewise_core::guard::asked::Asked;
use pagewise_core::guard::law::{Law, Learnt, Mode, Settings};
use pagewise_core::guard::paper::Paper;
use pagewise_core::guard::{ControlLaw, Decision, SECOND, Slice};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;
use std::thread;

/// A node with what guarding it takes.
#[derive(Debug)]
pub struct Guarded {
    /// Which one.
    pub node: u32,
    asked: Asked,
    reading: Reading,
    back_ends: Option<BackEnds>,
}

/// Enough for the loop; all of it is locked in memory.
const STACK: usize = 256 << 10;

impl Guarded {
    /// Opens what is asked for takes of the node's files; no back end where nothing is to be done, only decided.
    ///
    /// # Errors
    /// When the node cannot be read, or nothing can take page cache back from it.
    pub fn open(root: &Root, node: u32, asked: Asked, acts: bool) -> Result<Guarded, GuardError> {
        let takes_trails = matches!(asked, Asked::Guard(Settings { trails: true, .. }));
        let back_ends = if acts { Some(BackEnds::open(root, node, takes_trails)?) } else { None };
        Ok(Guarded { node, asked, reading: Reading::open(root, node)?, back_ends })
    }

    /// Every node with memory.
    ///
    /// # Errors
    /// As for one.
    pub fn every(root: &Root, asked: Asked, acts: bool) -> Result<Vec<Guarded>, GuardError> {
        super::reading::nodes(root).into_iter().map(|node| Guarded::open(root, node, asked, acts)).collect()
    }

    /// Guards it with what is asked for; see [`run`].
    ///
    /// # Errors
    /// As there.
    pub fn run(
        &mut self,
        for_at_most: Option<u64>,
        interrupt: &Interrupt,
        tell: &mut dyn FnMut(Told<'_>),
    ) -> Result<Done, GuardError> {
        let Guarded { asked, reading, back_ends, .. } = self;
        match *asked {
            Asked::Guard(settings) => {
                run(reading, back_ends.as_mut(), &mut Law::new(settings), for_at_most, interrupt, tell)
            }
            Asked::Paper { threshold, amount } => {
                let mut law = Paper::new(threshold, amount, PAPER_LOOKS_EVERY);
                run(reading, back_ends.as_mut(), &mut law, for_at_most, interrupt, tell)
            }
        }
    }
}

/// What a guard says while it runs.
#[derive(Clone, Copy, Debug)]
pub enum Told<'t> {
    /// It does something else now, or ends.
    Does(Mode, Option<Learnt>),
    /// This one streams.
    Streams(&'t Streamer),
}

/// The published mechanism does not say how often it looks.
const PAPER_LOOKS_EVERY: u64 = SECOND / 100;

/// Guards every node in a thread of its own until all end: `each` does it. Should one fail, `interrupt` ends the others.
///
/// # Errors
/// That of the first that failed.
pub fn all<T: Send>(
    nodes: Vec<Guarded>,
    interrupt: &Interrupt,
    each: impl Fn(Guarded) -> Result<T, GuardError> + Sync,
) -> Result<Vec<T>, GuardError> {
    let one = |node: Guarded| each(node).inspect_err(|_| interrupt.set());
    thread::scope(|scope| {
        let threads = nodes.into_iter().map(|node| {
            let named = thread::Builder::new().name(guard_threads::NAME.to_owned()).stack_size(STACK);
            named.spawn_scoped(scope, || one(node)).map_err(|error| GuardError::Lacks(error.to_string()))
        });
        let started: Vec<_> = threads.collect();
        let joined = |thread: Result<thread::ScopedJoinHandle<'_, _>, GuardError>| {
            thread?.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        started.into_iter().map(joined).collect()
    })
}

/// A law whose state can be told.
trait Telling: ControlLaw {
    /// What it is doing.
    fn mode(&self) -> Mode;

    /// What it has learnt.
    fn learnt(&self) -> Option<Learnt>;
}

impl Telling for Paper {
    fn mode(&self) -> Mode {
        if self.is_freeing() { Mode::Reclaiming } else { Mode::Armed }
    }

    fn learnt(&self) -> Option<Learnt> {
        None
    }
}

impl Telling for Law {
    fn mode(&self) -> Mode {
        Law::mode(self)
    }

    fn learnt(&self) -> Option<Learnt> {
        Some(Law::learnt(self))
    }
}

/// What a guard did from its start on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Done {
    /// Seconds it ran.
    pub seconds: f64,
    /// Its CPU seconds.
    pub cpu: f64,
    /// Looks at the node.
    pub samples: u64,
    /// Slices it asked for.
    pub slices: u64,
    /// Bytes of them.
    pub asked: u64,
    /// Bytes that were taken, by the kernel's count.
    pub taken: u64,
    /// Of them, those that streams had gone past in their own files.
    pub taken_behind_streams: u64,
    /// Slices that the kernel refused or that gave less than was asked for.
    pub refused: u64,
    /// Times kswapd was woken or an application had to reclaim by itself.
    pub too_late: u64,
    /// Times an application had to.
    pub direct: u64,
    /// Longest slice, seconds.
    pub longest_slice: f64,
    /// Latest wake-up, seconds.
    pub latest: f64,
}

/// Guards a node until `interrupt` is set or the time is over. `back_ends` is `None` where nothing is to be done, only decided. `tell` is called where
/// the law changes what it does, and at the end.
///
/// # Errors
/// When the node cannot be read any more, or the back end is refused for good.
fn run(
    reading: &mut Reading,
    mut back_ends: Option<&mut BackEnds>,
    law: &mut impl Telling,
    for_at_most: Option<u64>,
    interrupt: &Interrupt,
    tell: &mut dyn FnMut(Told<'_>),
) -> Result<Done, GuardError> {
    let began = now();
    let mut done = Done::default();
    let mut told = None;
    let mut since: Option<(u64, u64)> = None;
    let mut due = began;
    while !interrupt.is_set() && for_at_most.is_none_or(|most| now() - began < most) {
        let at = now();
        if let Some(files) = back_ends.as_deref_mut().and_then(|back_ends| back_ends.files.as_mut()) {
            files.follow(at, law.mode() != Mode::Watching, &mut |who| tell(Told::Streams(who)));
            reading.count_files(files.counted());
        }
        let sample = reading.sample(at)?;
        done.latest = done.latest.max(at.saturating_sub(due) as f64 / SECOND as f64);
        done.samples += 1;
        let decision = law.decide(&sample);
        let too_late = sample.too_late;
        let direct = reading.direct();
        let (late_before, direct_before) = *since.get_or_insert((too_late, direct));
        (done.too_late, done.direct) = (too_late.saturating_sub(late_before), direct.saturating_sub(direct_before));
        let mode = law.mode();
        if told.is_none_or(|told| is_news(told, mode)) {
            told = Some(mode);
            tell(Told::Does(mode, law.learnt()));
        }
        match decision {
            Decision::Wait(nanoseconds) => {
                due = at + nanoseconds;
                sleep(due.saturating_sub(now()), interrupt);
            }
            Decision::Reclaim(bytes) => match back_ends.as_deref_mut() {
                Some(back_ends) => {
                    law.made(slice(reading, back_ends, bytes, &mut done)?);
                    due = now();
                }
                // Decided, and not done: the kernel does it meanwhile.
                None => {
                    (done.slices, done.asked) = (done.slices + 1, done.asked + bytes);
                    due = at + NOT_DONE;
                    sleep(NOT_DONE, interrupt);
                }
            },
        }
    }
    done.seconds = (now() - began) as f64 / SECOND as f64;
    done.cpu = own_cpu() as f64 / SECOND as f64;
    tell(Told::Does(law.mode(), law.learnt()));
    Ok(done)
}

/// A slice that is only decided takes the time of some looks.
const NOT_DONE: u64 = SECOND / 10;

/// Batches that begin and end are no news; leaving the node to the kernel is, and so is another reason to.
fn is_news(before: Mode, now: Mode) -> bool {
    match (before, now) {
        (Mode::Leaving { because: before }, Mode::Leaving { because: now }) => {
            std::mem::discriminant(&before) != std::mem::discriminant(&now)
        }
        (Mode::Armed | Mode::Reclaiming, Mode::Armed | Mode::Reclaiming) | (Mode::Watching, Mode::Watching) => false,
        _ => true,
    }
}

fn slice(reading: &mut Reading, back_ends: &mut BackEnds, bytes: u64, done: &mut Done) -> Result<Slice, GuardError> {
    let (before, of_files, began, cpu) = (reading.taken(), back_ends.of_files(), now(), own_cpu());
    let granted = back_ends.reclaim(bytes);
    let granted =
        granted.map_err(|error| GuardError::Lacks(format!("the node refuses to be reclaimed from: {error}")))?;
    let (took, cpu) = (now() - began, own_cpu() - cpu);
    reading.read_counters()?;
    let of_files = back_ends.of_files() - of_files;
    let freed = reading.taken().saturating_sub(before) + of_files;
    done.slices += 1;
    done.asked += bytes;
    done.taken += freed;
    done.taken_behind_streams += of_files;
    done.refused += u64::from(!granted);
    done.longest_slice = done.longest_slice.max(took as f64 / SECOND as f64);
    Ok(Slice { asked: bytes, freed, took, cpu })
}

/// CLOCK_MONOTONIC in nanoseconds.
fn now() -> u64 {
    nanoseconds(ClockId::Monotonic)
}

/// CPU time of this thread, in nanoseconds.
fn own_cpu() -> u64 {
    nanoseconds(ClockId::ThreadCPUTime)
}

fn nanoseconds(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    time.tv_sec as u64 * SECOND + time.tv_nsec as u64
}

/// Asleep for so long, or until a signal comes.
fn sleep(nanoseconds: u64, interrupt: &Interrupt) {
    let timeout = Timespec { tv_sec: (nanoseconds / SECOND) as i64, tv_nsec: (nanoseconds % SECOND) as i64 };
    let _ = match interrupt.readable() {
        Some(readable) => poll(&mut [PollFd::from_borrowed_fd(readable, PollFlags::IN)], Some(&timeout)),
        None => poll(&mut [], Some(&timeout)),
    };
}

/// Keeps all of this process in memory from now on: what it works against must not take its own pages.
///
/// # Errors
/// Without the right, or beyond the limit on locked memory.
pub fn stay_in_memory() -> std::io::Result<()> {
    use rustix::mm::{MlockAllFlags, mlockall};
    Ok(mlockall(MlockAllFlags::CURRENT | MlockAllFlags::FUTURE)?)
}

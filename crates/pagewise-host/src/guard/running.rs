//! The loop: sample, decide, wait or reclaim. After its start it allocates nothing and touches no new page of its own, so that the
//! shortage it works against cannot stop it.

use super::GuardError;
use super::back_end::NodeFile;
use super::reading::Reading;
use crate::process::Interrupt;
use pagewise_core::guard::law::{Law, Learnt, Mode};
use pagewise_core::guard::paper::Paper;
use pagewise_core::guard::{ControlLaw, Decision, SECOND, Slice};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;

/// A law whose state can be told.
pub trait Telling: ControlLaw {
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
    /// Bytes that the kernel says were taken.
    pub taken: u64,
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

/// Guards a node until `interrupt` is set or the time is over. `back_end` is `None` where nothing is to be done, only decided. `tell` is called where
/// the law changes what it does, and at the end.
///
/// # Errors
/// When the node cannot be read any more, or the back end is refused for good.
pub fn run(
    reading: &mut Reading,
    back_end: Option<&NodeFile>,
    law: &mut impl Telling,
    for_at_most: Option<u64>,
    interrupt: &Interrupt,
    tell: &mut dyn FnMut(Mode, Option<Learnt>, &Done),
) -> Result<Done, GuardError> {
    let began = now();
    let mut done = Done::default();
    let mut told = None;
    let mut since: Option<(u64, u64)> = None;
    let mut due = began;
    while !interrupt.is_set() && for_at_most.is_none_or(|most| now() - began < most) {
        let at = now();
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
            tell(mode, law.learnt(), &done);
        }
        match decision {
            Decision::Wait(nanoseconds) => {
                due = at + nanoseconds;
                sleep(due.saturating_sub(now()), interrupt);
            }
            Decision::Reclaim(bytes) => match back_end {
                Some(back_end) => {
                    law.made(slice(reading, back_end, bytes, &mut done)?);
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
    tell(law.mode(), law.learnt(), &done);
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

fn slice(reading: &mut Reading, back_end: &NodeFile, bytes: u64, done: &mut Done) -> Result<Slice, GuardError> {
    let (before, began, cpu) = (reading.taken(), now(), own_cpu());
    let granted = back_end.reclaim(bytes);
    let granted =
        granted.map_err(|error| GuardError::Lacks(format!("the node refuses to be reclaimed from: {error}")))?;
    let (took, cpu) = (now() - began, own_cpu() - cpu);
    reading.sample(now())?;
    let freed = reading.taken().saturating_sub(before);
    done.slices += 1;
    done.asked += bytes;
    done.taken += freed;
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

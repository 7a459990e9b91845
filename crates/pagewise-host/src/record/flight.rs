//! The flight recorder: stacks and stalls are recorded only while there is trouble, and for a while after it began.
//!
//! Two things call: the kernel, when tasks waited for memory for a tenth of two seconds (a pressure trigger, which costs
//! nothing until then), and the share of system time of all CPU over five seconds. Windows of two seconds are what the
//! kernel grants without privilege (Documentation/accounting/psi.rst).

use super::rings::{SECOND, Signal};
use super::{Event, RUN, Shared};
use crate::clock;
use crate::root::Root;
use crate::source::cpu::{self, CpuTimes};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;

/// 200 ms of 2 s, in µs. Ours; design note 9.
const PRESSURE: &str = "some 200000 2000000\0";
const PRESSURE_FILE: &str = "/proc/pressure/memory";

/// System time as a part of all CPU, and over how long. 0.3 is where Cloudera's guide begins to worry.
const SYSTEM_SHARE: f64 = 0.3;
const SHARE_OVER: u64 = 5 * SECOND;

/// How long they are recorded, and for how long after that not again.
const TRACE_FOR: u64 = 20 * SECOND;
const HOLD_OFF: u64 = 60 * SECOND;

/// Waits for trouble until the recording ends.
pub(super) struct Flight {
    root: Root,
    trigger: Option<File>,
    signals: Vec<Arc<Signal>>,
    wake: Arc<OwnedFd>,
    before: Option<(u64, CpuTimes)>,
    /// No sooner than this.
    not_before: u64,
}

impl Flight {
    /// Also says why the kernel's trigger cannot be had; the system share calls all the same.
    pub(super) fn new(root: &Root, signals: Vec<Arc<Signal>>, wake: Arc<OwnedFd>) -> (Flight, Option<String>) {
        let (trigger, why) = match register(root) {
            Ok(file) => (Some(file), None),
            Err(error) => {
                let why = format!("no pressure trigger ({error}); only a high system share starts the flight recorder");
                (None, Some(why))
            }
        };
        (Flight { root: root.clone(), trigger, signals, wake, before: None, not_before: 0 }, why)
    }

    pub(super) fn run(mut self, shared: &Shared, cpu: &AtomicU64, events: &Sender<Event>) {
        while shared.stop.load(Ordering::Acquire) == RUN && !shared.ended.load(Ordering::Acquire) {
            let why = self.wait();
            let now = clock::boot();
            if let Some(why) = why
                && now >= self.not_before
            {
                self.not_before = now + TRACE_FOR + HOLD_OFF;
                let text = format!("{why}: stacks and stalls for {} s", TRACE_FOR / SECOND);
                let _ = events.send(Event::Mark(now, "flight", text));
                self.signals.iter().for_each(|signal| signal.trace_until(now + TRACE_FOR));
            }
            cpu.store(clock::thread_cpu(), Ordering::Release);
        }
    }

    /// Up to five seconds; what called, if anything did.
    fn wait(&mut self) -> Option<String> {
        let now = clock::boot();
        // While nothing would come of it the trigger is not waited for: it stays ready.
        let is_held = now < self.not_before;
        let mut polled = vec![PollFd::new(&*self.wake, PollFlags::IN)];
        if let Some(trigger) = self.trigger.as_ref().filter(|_| !is_held) {
            polled.push(PollFd::new(trigger, PollFlags::PRI));
        }
        let nanoseconds = if is_held { self.not_before - now } else { SHARE_OVER };
        let timeout = Timespec { tv_sec: (nanoseconds / SECOND) as i64, tv_nsec: (nanoseconds % SECOND) as _ };
        let _ = poll(&mut polled, Some(&timeout));
        let fired = polled.get(1).map(|trigger| trigger.revents());
        if fired.is_some_and(|events| events.contains(PollFlags::ERR)) {
            self.trigger = None;
        }
        if is_held {
            self.before = None;
            return None;
        }
        if fired.is_some_and(|events| events.contains(PollFlags::PRI)) {
            return Some("tasks waited for memory for over 10 % of 2 s".to_owned());
        }
        self.system_share()
    }

    fn system_share(&mut self) -> Option<String> {
        let now = clock::boot();
        let times = cpu::read(&self.root).ok()?;
        let Some((then, before)) = self.before else {
            self.before = Some((now, times));
            return None;
        };
        if now.saturating_sub(then) + SECOND / 10 < SHARE_OVER {
            return None;
        }
        self.before = Some((now, times));
        let share = times.since(before).system_share_of_all()?;
        (share >= SYSTEM_SHARE).then(|| format!("system time was {:.0} % of all CPU", share * 100.0))
    }
}

fn register(root: &Root) -> io::Result<File> {
    let mut file = std::fs::OpenOptions::new().read(true).write(true).open(root.path(PRESSURE_FILE))?;
    if root.is_live() {
        file.write_all(PRESSURE.as_bytes())?;
    }
    Ok(file)
}

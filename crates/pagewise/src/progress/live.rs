//! How far a live proof is: its time is known from the start.

use super::{OnStop, left, new_bar, value_of};
use crate::output;
use indicatif::ProgressBar;
use pagewise_core::experiment::live::Live;
use pagewise_core::experiment::point::{Outcome, PlannedPoint, Point};
use pagewise_host::process::Interrupt;
use pagewise_host::trial::session::audience::Points;
use std::cell::RefCell;
use std::time::Instant;

/// The bar of a live proof.
pub(crate) struct LiveProgress {
    bar: Option<ProgressBar>,
    live: Live,
    metric: String,
    state: RefCell<Running>,
    /// As long as it is there, Ctrl-C is answered at once.
    _on_stop: OnStop,
}

struct Running {
    label: String,
    since: Instant,
    done: usize,
    total: usize,
    drawn: Option<Instant>,
    /// How late a block was when that was said last.
    said_late: f64,
}

/// A block that is later than its plan by so much, in seconds, is said to be, and again when it is twice as late.
const LATE: f64 = 10.0;

impl LiveProgress {
    pub(crate) fn new(live: &Live, metric: &str, interrupt: &Interrupt) -> Self {
        let state =
            Running { label: String::new(), since: Instant::now(), done: 0, total: 0, drawn: None, said_late: 0.0 };
        let bar = new_bar(0, "{bar:20} {pos}/{len} {wide_msg}");
        let said = "stopping: ending what was started, then putting settings back …";
        let on_stop = OnStop::say(said, interrupt, bar.clone());
        LiveProgress {
            bar,
            live: live.clone(),
            metric: metric.to_owned(),
            state: RefCell::new(state),
            _on_stop: on_stop,
        }
    }
}

impl Points for LiveProgress {
    fn tick(&self) {
        let mut running = self.state.borrow_mut();
        let Some(bar) = &self.bar else {
            let late = running.since.elapsed().as_secs_f64() - self.live.period();
            if late > LATE.max(2.0 * running.said_late) {
                running.said_late = late;
                let label = &running.label;
                output::note(&format!("{label}: {late:.0} s behind its plan: this host lets us run too seldom"));
            }
            return;
        };
        if running.drawn.is_some_and(|drawn| drawn.elapsed().as_secs_f64() < 1.0) {
            return;
        }
        running.drawn = Some(Instant::now());
        let elapsed = running.since.elapsed().as_secs_f64();
        let phase = match elapsed {
            elapsed if elapsed < self.live.settle_seconds => "settling",
            elapsed if elapsed < self.live.settle_seconds + self.live.washout_seconds => "washing out",
            elapsed if elapsed < self.live.period() => "measuring",
            _ => "behind its plan",
        };
        let left = left(self.live.takes(running.total - running.done).0 - elapsed);
        // How many there are is known only once the first of them starts.
        bar.set_length(running.total as u64);
        bar.set_position(running.done as u64);
        bar.set_message(format!("{} · {phase}{left}", running.label));
    }

    fn over(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    fn starting(&self, planned: &PlannedPoint, attempt: u32, done: usize, total: usize) {
        let mut running = self.state.borrow_mut();
        (running.done, running.total, running.since, running.drawn) = (done, total, Instant::now(), None);
        running.said_late = 0.0;
        let pair = planned.block.map_or("warm-up".to_owned(), |pair| format!("pair {}", pair + 1));
        let again = if attempt > 1 { format!(", attempt {attempt}") } else { String::new() };
        running.label = format!("{pair} · {}{again}", planned.cell);
        if self.bar.is_none() {
            let Live { settle_seconds, washout_seconds, block_seconds, .. } = &self.live;
            output::note(&format!(
                "{}/{total} {}: {settle_seconds} s to settle, {washout_seconds} s to wash out, {block_seconds} s measured",
                done + 1,
                running.label
            ));
        }
        drop(running);
        self.tick();
    }

    fn ended(&self, point: &Point, done: usize, total: usize) {
        let label = {
            let mut running = self.state.borrow_mut();
            running.done = done;
            running.label.clone()
        };
        let value = value_of(point, &self.metric).map(|value| format!(": {value}")).unwrap_or_default();
        let value = match (&point.outcome, &point.reason) {
            (Outcome::Ok, _) => value,
            (outcome, Some(reason)) => format!(": {}: {reason}", outcome.word()),
            (outcome, None) => format!(": {}", outcome.word()),
        };
        let left = left(self.live.takes(total - done).0);
        let line = format!("{done}/{total} {label}{value}{left}");
        match &self.bar {
            Some(bar) if point.outcome != Outcome::Ok => bar.println(output::for_stderr(&line)),
            Some(_) => {}
            None => output::note(&line),
        }
    }
}

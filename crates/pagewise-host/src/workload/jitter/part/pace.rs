//! What a part moved since it began, and keeping that to a rate.

use super::own_cpu;
use super::spoken::Readiness;
use std::thread;
use std::time::{Duration, Instant};

pub(super) struct Pace {
    pub began: Instant,
    /// Bytes.
    pub moved: u64,
    cpu: f64,
    rate: Option<u64>,
}

impl Pace {
    /// At so many bytes a second; `None` as fast as it can.
    pub(super) fn begin(rate: Option<u64>) -> Pace {
        Pace { began: Instant::now(), cpu: own_cpu(), moved: 0, rate }
    }

    pub(super) fn add(&mut self, bytes: u64) {
        self.moved += bytes;
    }

    /// Waits until so much was due. What was lost to a late wake-up is caught up with.
    pub(super) fn keep(&self, spoken: &Readiness) {
        let Some(rate) = self.rate else { return };
        let due = Duration::from_secs_f64(self.moved as f64 / rate as f64);
        while !spoken.is_over() {
            let Some(left) = due.checked_sub(self.began.elapsed()).filter(|left| !left.is_zero()) else { return };
            thread::sleep(left.min(Duration::from_millis(50)));
        }
    }

    /// CPU seconds of this process since.
    pub(super) fn cpu(&self) -> f64 {
        own_cpu() - self.cpu
    }
}

//! A host that is followed: sampled when that is due, its numbers taken into lines, and the rules asked about a stretch of its time.
//! Whoever shows it, serves it or acts on it runs the same loop: wait for [`Following::due_in`], then [`Following::step`].

pub mod judge;

use crate::record::RecordError;
use crate::record::kept::{Keeping, WatchedHost};
use crate::root::Root;
use judge::{StretchVerdict, judged};
use pagewise_core::recording::Recorded;
use pagewise_core::report::recording::lines::Line;
use pagewise_core::report::recording::meter::{Input, Meter};
use std::time::{Duration, Instant};

/// How often the rules are asked about a host.
const JUDGE_EVERY: Duration = Duration::from_secs(10);

/// This host, followed.
pub struct Following {
    kept: WatchedHost,
    meter: Meter,
    page_size: f64,
    judged: Option<StretchVerdict>,
    /// That was of a stretch that stands still.
    stood_still: bool,
    judge_at: Instant,
}

/// What the lines were at an instant.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// CLOCK_BOOTTIME in nanoseconds.
    pub at: u64,
    /// Nanoseconds since 1970.
    pub wall: i128,
    /// A value per line; `None` is not known.
    pub values: Vec<Option<f64>>,
}

impl Following {
    /// Begins to follow a host.
    ///
    /// # Errors
    /// When it cannot be sampled so often.
    pub fn start(root: &Root, keeping: Keeping, lines: Vec<&'static Line>) -> Result<Following, RecordError> {
        let kept = WatchedHost::start(root, keeping)?;
        let page_size = rustix::param::page_size() as f64;
        let meter = Meter::new(lines, kept.series(), page_size);
        let judge_at = Instant::now() + JUDGE_EVERY;
        Ok(Following { kept, meter, page_size, judged: None, stood_still: false, judge_at })
    }

    /// What is kept of the host.
    #[must_use]
    pub fn kept(&self) -> &WatchedHost {
        &self.kept
    }

    /// How long until a sample is due.
    #[must_use]
    pub fn due_in(&self) -> Duration {
        self.kept.due_in()
    }

    /// Takes a sample if one is due.
    pub fn step(&mut self) -> Option<Sample> {
        if !self.kept.due_in().is_zero() {
            return None;
        }
        if self.kept.sample() {
            // A number came up: growth is known again at the next sample.
            self.meter = Meter::new(self.meter.lines().to_vec(), self.kept.series(), self.page_size);
        }
        self.newest()
    }

    /// The newest sample, taken into lines: once each, for growth is that since the one before.
    pub fn newest(&mut self) -> Option<Sample> {
        let tick = self.kept.newest()?;
        let value = |input: &Input| self.kept.value(&input.source, input.column);
        let read: Vec<Option<u64>> = self.meter.inputs().iter().map(value).collect();
        let mut values = Vec::new();
        self.meter.take(tick.begin, &read, &mut values);
        Some(Sample { at: tick.begin, wall: i128::from(tick.begin) + i128::from(tick.wall_offset), values })
    }

    /// Asks the rules about a stretch if that is due: one that moves with the host every ten seconds, one that stands still once.
    /// Gives whether they were asked.
    pub fn judge(&mut self, stretch: (u64, u64), is_moving: bool, subject: &str) -> bool {
        let is_due = match is_moving {
            true => self.stood_still || Instant::now() >= self.judge_at,
            false => self.judged.as_ref().is_none_or(|judged| judged.stretch != stretch),
        };
        if is_due {
            self.judge_at = Instant::now() + JUDGE_EVERY;
            self.stood_still = !is_moving;
            self.judged = Some(judged(&self.kept.part(stretch.0, stretch.1), stretch, subject));
        }
        is_due
    }

    /// What the rules said last.
    #[must_use]
    pub fn judged(&self) -> Option<&StretchVerdict> {
        self.judged.as_ref()
    }
}

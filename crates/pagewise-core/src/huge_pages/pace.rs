//! How fast huge pages are made in a process that runs, so that it keeps most of its progress.
//!
//! Its progress is the user time of its threads. Time in the kernel is none: a thread that faults, or spins for the lock of the process's map
//! (`mmap_lock`) while a page is made huge, counts there. How much it would get on by itself is seen in short rests, at the begin and between; while
//! pages are made it is held against that. What it lost lately, by how many pages were made lately, is what a page costs it; the rate follows from that
//! and from what it may lose. One stretch alone decides nothing: half a second of user time is known to some percent only.

/// No slower than this, in huge pages a second: khugepaged makes 0.8 by default (4,096 small pages every 10 s, `mm/khugepaged.c`).
pub const SLOWEST: f64 = 4.0;

/// And no faster.
pub const FASTEST: f64 = 4_000.0;

/// What it begins with in a process that does something.
const FIRST: f64 = 50.0;

/// Below so many cores of user time a process is idle: nothing of it can be slowed down.
const IDLE: f64 = 0.05;

/// The part of its progress that a process keeps.
pub const KEPT: f64 = 0.90;

/// So much of it may be lost by what is aimed at.
const MAY_LOSE: f64 = 0.08;

/// The latest stretch counts so much of what was lost and made lately.
const LATEST_STRETCH: f64 = 0.2;

/// From one stretch to the next the rate changes by no more than these factors.
const MOST_DOWN: f64 = 0.5;
const MOST_UP: f64 = 1.5;

/// Length of a stretch of work, and of a rest, in seconds. User time of a process is counted in ticks of 1 to 10 ms.
pub const WORK: f64 = 0.5;
const REST: f64 = 0.5;

/// So many stretches of work lie between two rests. Of an idle process fewer: whether it has begun to work shows only while it is left alone.
const WORK_BETWEEN_RESTS: u32 = 8;
const WORK_BETWEEN_RESTS_OF_IDLE: u32 = 2;

/// The last rest counts so much of what is known of its progress by itself.
const LATEST_REST: f64 = 0.3;

/// A rest that differs by more than this part is of another phase of its work, and counts alone; a stretch in which it gets on by so much more than
/// it is thought to, too, is followed by one.
const ANOTHER_PHASE: f64 = 0.2;

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NextStep {
    /// Make none for so many seconds.
    Rest(f64),
    /// Make pages at so many a second, for so many seconds.
    Work {
        /// A second.
        rate: f64,
        /// Seconds.
        seconds: f64,
    },
}

/// What was seen of the process in a stretch that is over.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StretchProgress {
    /// How long it was, seconds.
    pub seconds: f64,
    /// User time of all threads in it, seconds.
    pub user: f64,
    /// Huge pages that were made.
    pub made: u64,
}

/// The rate, and what it rests on.
#[derive(Clone, Debug, PartialEq)]
pub struct Pace {
    fixed: Option<f64>,
    rate: f64,
    /// Cores of user time it gets by itself.
    alone: Option<f64>,
    /// Stretches of work since the last rest.
    worked: u32,
    current: NextStep,
    /// The part of its progress that it lost lately, and pages made a second.
    lately: Option<(f64, f64)>,
    /// User time while pages were made, and what it would have been.
    kept: (f64, f64),
}

impl Pace {
    /// As fast as the process bears.
    #[must_use]
    pub fn adaptive() -> Pace {
        Pace {
            fixed: None,
            rate: FIRST,
            alone: None,
            worked: 0,
            current: NextStep::Rest(REST),
            lately: None,
            kept: (0.0, 0.0),
        }
    }

    /// So many a second, whatever the process says. It is rested for once, to say what it kept.
    #[must_use]
    pub fn fixed(rate: f64) -> Pace {
        Pace { fixed: Some(rate), rate, ..Pace::adaptive() }
    }

    /// What to do now.
    #[must_use]
    pub fn now(&self) -> NextStep {
        self.current
    }

    /// What came of it, and so what is next.
    pub fn after(&mut self, seen: StretchProgress) -> NextStep {
        let cores = seen.user / seen.seconds.max(1e-9);
        match self.current {
            NextStep::Rest(_) => {
                let was_idle = self.is_idle();
                let same = self.alone.filter(|before| (cores - before).abs() <= ANOTHER_PHASE * before);
                self.alone = Some(same.map_or(cores, |before| before + LATEST_REST * (cores - before)));
                self.worked = 0;
                self.rate = match (was_idle, self.is_idle()) {
                    _ if self.fixed.is_some() => self.rate,
                    (_, true) => FASTEST,
                    (true, false) => FIRST,
                    (false, false) => self.rate,
                };
                if was_idle {
                    self.lately = None;
                }
            }
            NextStep::Work { .. } => self.judge(cores, seen),
        }
        let most = if self.is_idle() { WORK_BETWEEN_RESTS_OF_IDLE } else { WORK_BETWEEN_RESTS };
        let must_rest = self.fixed.is_none() && self.worked >= most;
        self.current = if must_rest { NextStep::Rest(REST) } else { NextStep::Work { rate: self.rate, seconds: WORK } };
        self.current
    }

    fn judge(&mut self, cores: f64, seen: StretchProgress) {
        self.worked += 1;
        let alone = self.alone.unwrap_or(0.0);
        if !self.is_idle() {
            self.kept.0 += seen.user.min(alone * seen.seconds);
            self.kept.1 += alone * seen.seconds;
            let now = (1.0 - cores / alone, seen.made as f64 / seen.seconds.max(1e-9));
            let follow = |before: f64, now: f64| before + LATEST_STRETCH * (now - before);
            let (lost, made) = self.lately.map_or(now, |before| (follow(before.0, now.0), follow(before.1, now.1)));
            self.lately = Some((lost, made));
            if now.0 < -ANOTHER_PHASE {
                self.worked = WORK_BETWEEN_RESTS;
            }
            // What was not made for want of time says nothing of what more would cost.
            let is_held_up = now.1 < 0.8 * self.rate;
            let wanted = if lost > 0.0 && made > 0.0 { MAY_LOSE / (lost / made) } else { f64::INFINITY };
            let most = if is_held_up { 1.0 } else { MOST_UP };
            self.rate = wanted.clamp(MOST_DOWN * self.rate, most * self.rate);
        } else if cores >= IDLE {
            self.worked = WORK_BETWEEN_RESTS;
        }
        self.rate = self.fixed.unwrap_or_else(|| self.rate.clamp(SLOWEST, FASTEST));
    }

    fn is_idle(&self) -> bool {
        self.alone.is_some_and(|alone| alone < IDLE)
    }

    /// The part of its progress that the process kept while pages were made; `None` for one that was idle.
    #[must_use]
    pub fn kept(&self) -> Option<f64> {
        (self.kept.1 > 0.0).then(|| self.kept.0 / self.kept.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A process of one busy thread that loses so much of a second to each page.
    fn runs(pace: &mut Pace, cores: f64, cost: f64, seconds: f64) -> Vec<f64> {
        let (mut at, mut rates) = (0.0, Vec::new());
        while at < seconds {
            let seen = match pace.now() {
                NextStep::Rest(seconds) => StretchProgress { seconds, user: cores * seconds, made: 0 },
                NextStep::Work { rate, seconds } => {
                    rates.push(rate);
                    let made = (rate * seconds) as u64;
                    StretchProgress { seconds, user: (cores * (1.0 - cost * rate)).max(0.0) * seconds, made }
                }
            };
            at += seen.seconds;
            pace.after(seen);
        }
        rates
    }

    #[test]
    fn a_busy_process_keeps_nine_tenths_whatever_a_page_costs_it() {
        for cost in [1e-4, 1e-3, 4e-3, 1e-2] {
            let mut pace = Pace::adaptive();
            let rates = runs(&mut pace, 1.0, cost, 60.0);
            let kept = pace.kept().unwrap();
            assert!(kept >= KEPT, "{cost}: {kept}");
            let last = rates[rates.len() - 8..].iter().sum::<f64>() / 8.0;
            assert!(last * cost > 0.03 && last * cost < 0.1, "{cost}: {last}");
        }
    }

    #[test]
    fn an_idle_process_is_done_as_fast_as_can_be_and_noticed_when_it_begins_to_work() {
        let mut pace = Pace::adaptive();
        assert_eq!(runs(&mut pace, 0.0, 1.0, 5.0).last(), Some(&FASTEST));
        assert_eq!(pace.kept(), None);
        let rates = runs(&mut pace, 1.0, 1e-3, 20.0);
        assert!(rates.iter().filter(|rate| **rate == FASTEST).count() <= 2, "{rates:?}");
        assert!(pace.kept().unwrap() >= KEPT);
    }

    #[test]
    fn a_fixed_rate_stays() {
        let mut pace = Pace::fixed(7.0);
        assert!(runs(&mut pace, 1.0, 0.05, 30.0).iter().all(|rate| *rate == 7.0));
        assert!((pace.kept().unwrap() - 0.65).abs() < 0.01);
    }
}

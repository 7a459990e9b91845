//! When the next tick is due, and what was missed. Ticks lie on a fixed grid from the first one; one that was missed is
//! counted, never made up.

/// How late a tick may begin before it is marked, in nanoseconds: 50 ms, or half a period where that is shorter.
const TOLERANCE: u64 = 50_000_000;

/// The grid of planned instants.
#[derive(Debug)]
pub(super) struct Schedule {
    start: u64,
    period: u64,
    /// Number of the next planned tick; the first, at `start`, is 0.
    next: u64,
}

/// A tick that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DueTick {
    /// The instant it was planned for.
    pub(super) planned: u64,
    /// Whole ticks before it that nobody took.
    pub(super) missed: u64,
    /// The instant the first of them was planned for.
    pub(super) missed_from: u64,
}

impl Schedule {
    pub(super) fn new(start: u64, period: u64) -> Self {
        Schedule { start, period: period.max(1), next: 0 }
    }

    fn planned(&self, tick: u64) -> u64 {
        self.start.saturating_add(tick.saturating_mul(self.period))
    }

    /// How long until the next tick, in nanoseconds; 0 when it is due.
    pub(super) fn wait(&self, now: u64) -> u64 {
        self.planned(self.next).saturating_sub(now)
    }

    /// Takes the latest tick that is due by now.
    pub(super) fn take(&mut self, now: u64) -> DueTick {
        let latest = (now.saturating_sub(self.start) / self.period).max(self.next);
        let (missed, missed_from) = (latest - self.next, self.planned(self.next));
        self.next = latest + 1;
        DueTick { planned: self.planned(latest), missed, missed_from }
    }

    /// Whether a tick that begins then is late.
    pub(super) fn is_late(&self, planned: u64, begin: u64) -> bool {
        begin.saturating_sub(planned) > TOLERANCE.min(self.period / 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn ticks_stay_on_their_grid_however_late_each_is() {
        let mut schedule = Schedule::new(100, SECOND);
        assert_eq!(schedule.take(100), DueTick { planned: 100, missed: 0, missed_from: 100 });
        assert_eq!(schedule.wait(100 + SECOND / 4), SECOND * 3 / 4);
        let late = 100 + SECOND + 60_000_000;
        let due = schedule.take(late);
        assert_eq!((due.planned, due.missed), (100 + SECOND, 0));
        assert!(schedule.is_late(due.planned, late));
        assert!(!schedule.is_late(due.planned, due.planned + 40_000_000));
        assert_eq!(schedule.take(100 + 2 * SECOND).planned, 100 + 2 * SECOND);
    }

    #[test]
    fn whole_ticks_that_passed_are_counted_and_not_made_up() {
        let mut schedule = Schedule::new(0, SECOND);
        schedule.take(0);
        let due = schedule.take(7 * SECOND + 5);
        assert_eq!(due, DueTick { planned: 7 * SECOND, missed: 6, missed_from: SECOND });
        assert_eq!(schedule.wait(7 * SECOND + 5), SECOND - 5);
    }

    #[test]
    fn at_a_fast_rate_half_a_period_is_late() {
        let schedule = Schedule::new(0, SECOND / 20);
        assert!(schedule.is_late(0, 26_000_000) && !schedule.is_late(0, 24_000_000));
    }
}

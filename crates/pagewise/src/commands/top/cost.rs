//! What the screen itself costs: CPU time of the last while, of one core.

use rustix::time::{ClockId, clock_gettime};
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Over this time.
const OVER: Duration = Duration::from_secs(30);

/// No more often than this: keys that are held down must not fill the list.
const APART: Duration = Duration::from_millis(900);

/// Parts of one core.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Shares {
    /// Of everything, stacks with it.
    pub(super) all: f64,
    /// Of looking at stacks.
    pub(super) stacks: f64,
}

/// CPU time at some instants: of the process, and of that of the threads that look at stacks.
#[derive(Debug, Default)]
pub(super) struct Cost(VecDeque<(Instant, Duration, Duration)>);

impl Cost {
    pub(super) fn note(&mut self, now: Instant, all: Duration, stacks: Duration) {
        if self.0.back().is_some_and(|(last, ..)| now.saturating_duration_since(*last) < APART) {
            return;
        }
        self.0.push_back((now, all, stacks));
        while self.0.len() > 2 && self.0.get(1).is_some_and(|(then, ..)| now.saturating_duration_since(*then) >= OVER) {
            self.0.pop_front();
        }
    }

    /// `None` before a second has passed.
    pub(super) fn shares(&self) -> Option<Shares> {
        let ((then, all, stacks), (now, all_now, stacks_now)) = self.0.front().zip(self.0.back())?;
        let seconds = now.saturating_duration_since(*then).as_secs_f64();
        let share = |before: &Duration, after: &Duration| after.saturating_sub(*before).as_secs_f64() / seconds;
        (seconds > 0.0).then(|| Shares { all: share(all, all_now), stacks: share(stacks, stacks_now) })
    }
}

/// CPU time of this process.
pub(super) fn own_cpu() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_of_the_last_half_minute() {
        let (start, mut cost) = (Instant::now(), Cost::default());
        assert_eq!(cost.shares(), None);
        // A dear start, then a hundredth of a core, half of it for stacks.
        for second in 0..=100u64 {
            let cpu = Duration::from_secs(7) * u32::from(second > 0) + Duration::from_millis(10 * second);
            cost.note(start + Duration::from_secs(second), cpu, Duration::from_millis(5 * second));
        }
        let shares = cost.shares().unwrap();
        assert!((shares.all - 0.01).abs() < 1e-9 && (shares.stacks - 0.005).abs() < 1e-9, "{shares:?}");
        assert!(cost.0.len() <= 32);
        cost.note(start + Duration::from_millis(100_100), Duration::from_secs(99), Duration::ZERO);
        assert_eq!(cost.shares(), Some(shares), "a tenth of a second says nothing");
    }

    #[test]
    fn our_own_time_only_grows() {
        let before = own_cpu();
        std::hint::black_box((0..3_000_000u64).fold(0, |sum, n| sum ^ n.wrapping_mul(n)));
        assert!(own_cpu() >= before && own_cpu() > Duration::ZERO);
    }
}

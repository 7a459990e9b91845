//! Clocks, in nanoseconds.

use rustix::time::{ClockId, clock_gettime};
use std::thread;
use std::time::{Duration, Instant};

fn nanoseconds(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    (time.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec as u64)
}

/// Since boot, suspended time included: never steps.
pub(crate) fn boot() -> u64 {
    nanoseconds(ClockId::Boottime)
}

/// Since boot, suspended time not included.
pub(crate) fn awake() -> u64 {
    nanoseconds(ClockId::Monotonic)
}

/// What to add to an instant since boot to get nanoseconds since 1970.
pub(crate) fn wall_offset() -> i64 {
    (nanoseconds(ClockId::Realtime) as i64).wrapping_sub(boot() as i64)
}

/// Parks this thread for so long, or until it is unparked and `goes_on` says no.
pub(crate) fn park(length: Duration, goes_on: impl Fn() -> bool) {
    let due = Instant::now() + length;
    while goes_on() {
        let left = due.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        thread::park_timeout(left);
    }
}

/// CPU time of the calling thread.
pub(crate) fn thread_cpu() -> u64 {
    nanoseconds(ClockId::ThreadCPUTime)
}

/// CPU time of this process.
pub(crate) fn process_cpu() -> u64 {
    nanoseconds(ClockId::ProcessCPUTime)
}

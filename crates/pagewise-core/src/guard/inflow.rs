//! What fills a domain, and how fast: page cache, anonymous memory or the kernel's own. The published mechanism starts only where frequent file
//! I/O causes the shortage; that is asked of growth and of what reclaim took, never of `pgpgin`: streams from NFS, virtiofs or FUSE have none.

use super::SECOND;
use super::sample::Sample;

/// Growth is looked at over so long.
const WINDOW: u64 = SECOND / 2;

/// Not fewer bytes a second make a stream.
const LEAST_STREAM: u64 = 32 << 20;

/// Nor a smaller part of the domain a second: 0.05 %.
const LEAST_PART: u64 = 2_000;

/// What fills memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cause {
    /// Nothing to speak of, or nothing known yet.
    #[default]
    Little,
    /// Page cache: at least 60 % of what came.
    File,
    /// Page cache that was written: more than half of what could be taken is dirty. Writeback must come first.
    DirtyFile,
    /// Page cache and other memory: 30 to 60 %.
    Mixed,
    /// Anything else. kswapd does a good job there.
    Other,
}

/// What came in since the window began.
#[derive(Clone, Copy, Debug, Default)]
struct Levels {
    at: u64,
    file: u64,
    other: u64,
}

impl Levels {
    fn of(sample: &Sample<'_>) -> Levels {
        Levels { at: sample.at, file: sample.file_came_in(), other: sample.other_came_in() }
    }
}

/// Follows what fills a domain.
#[derive(Clone, Copy, Debug, Default)]
pub struct Inflow {
    began: Option<Levels>,
    cause: Cause,
    file_rate: f64,
}

impl Inflow {
    /// Looks on.
    pub fn look(&mut self, sample: &Sample<'_>) {
        let now = Levels::of(sample);
        let Some(began) = self.began else {
            self.began = Some(now);
            return;
        };
        let passed = now.at.saturating_sub(began.at);
        if passed < WINDOW {
            return;
        }
        self.began = Some(now);
        let seconds = passed as f64 / SECOND as f64;
        let file = now.file.saturating_sub(began.file) as f64;
        let other = now.other.saturating_sub(began.other) as f64;
        self.file_rate = file / seconds;
        let least = LEAST_STREAM.max(sample.domain.size() / LEAST_PART) as f64;
        let share = file / (file + other).max(1.0);
        self.cause = match share {
            _ if (file + other) / seconds < least => Cause::Little,
            share if share >= 0.6 && self.file_rate < least => Cause::Little,
            share if share >= 0.6 && sample.dirty > sample.inactive_file / 2 => Cause::DirtyFile,
            share if share >= 0.6 => Cause::File,
            share if share >= 0.3 => Cause::Mixed,
            _ => Cause::Other,
        };
    }

    /// Forgets what it saw, after a time in which nobody looked.
    pub fn forget(&mut self) {
        *self = Inflow::default();
    }

    /// What fills the domain, by the last whole window.
    #[must_use]
    pub fn cause(&self) -> Cause {
        self.cause
    }

    /// Bytes of page cache a second, by the last whole window.
    #[must_use]
    pub fn file_rate(&self) -> f64 {
        self.file_rate
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample::tests_only::still;
    use super::*;

    const MIB: u64 = 1 << 20;

    /// What is seen after a second in which so much came.
    fn after(change: impl Fn(&mut Sample<'static>)) -> Cause {
        let mut inflow = Inflow::default();
        let before = still();
        inflow.look(&before);
        let mut sample = Sample { at: before.at + SECOND, ..before };
        change(&mut sample);
        inflow.look(&sample);
        inflow.cause()
    }

    #[test]
    fn the_cause_is_what_came() {
        assert_eq!(after(|_| {}), Cause::Little);
        assert_eq!(after(|now| now.file += 400 * MIB), Cause::File);
        assert_eq!(after(|now| now.anonymous += 400 * MIB), Cause::Other);
        assert_eq!(
            after(|now| (now.file, now.anonymous) = (now.file + 200 * MIB, now.anonymous + 250 * MIB)),
            Cause::Mixed
        );
        assert_eq!(after(|now| now.kernel += 400 * MIB), Cause::Other);
        assert_eq!(after(|now| (now.file, now.dirty) = (now.file + 400 * MIB, now.inactive_file)), Cause::DirtyFile);
    }

    #[test]
    fn a_stream_is_seen_where_reclaim_hides_its_growth() {
        assert_eq!(after(|now| now.stolen_file += 400 * MIB), Cause::File);
        // Half of what was read took the place of what was there.
        assert_eq!(
            after(|now| (now.stolen_file, now.file) = (now.stolen_file + 400 * MIB, now.file - 200 * MIB)),
            Cause::File
        );
    }

    #[test]
    fn what_was_freed_is_no_inflow() {
        assert_eq!(after(|now| now.anonymous -= 400 * MIB), Cause::Little);
    }
}

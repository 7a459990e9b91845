//! What fills a domain, and how fast: page cache, anonymous memory or the kernel's own. The published mechanism starts only where frequent file
//! I/O causes the shortage; that is asked of growth and of what reclaim took, never of `pgpgin`: streams from NFS, virtiofs or FUSE have none.

use super::SECOND;
use super::sample::Sample;

/// Growth is measured over so long.
const WINDOW: u64 = SECOND / 2;

/// Not fewer bytes a second make a stream.
const LEAST_STREAM: u64 = 32 << 20;

/// Nor a smaller part of the domain a second: 0.05 %.
const LEAST_PART: u64 = 2_000;

/// A stream that stopped is expected back for so long. One that goes around its file reads what is in memory for seconds, and then fills again at once: by
/// the time a window has shown it, kswapd has been at work for half a second.
const EXPECTED_BACK: u64 = 60 * SECOND;

/// The fastest that a stream was seen at fades in about so many seconds: the window in which it stops shows a part of its rate.
const FASTEST_FADES: f64 = 10.0;

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
    /// When a stream was last seen, and how fast it was.
    streamed: Option<(u64, f64)>,
    is_paused: bool,
}

impl Inflow {
    /// Takes a sample in.
    pub fn observe(&mut self, sample: &Sample<'_>) {
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
        if self.cause == Cause::File {
            let fastest = self.streamed.map_or(0.0, |(_, fastest)| fastest * libm::exp(-seconds / FASTEST_FADES));
            self.streamed = Some((now.at, self.file_rate.max(fastest)));
        }
        let expected = self.streamed.is_some_and(|(then, _)| now.at.saturating_sub(then) < EXPECTED_BACK);
        self.is_paused = expected && self.cause == Cause::Little;
    }

    /// Forgets what it saw, after a time without samples.
    pub fn forget(&mut self) {
        *self = Inflow::default();
    }

    /// What fills the domain, by the last whole window; where that shows little, the stream that is expected back.
    #[must_use]
    pub fn cause(&self) -> Cause {
        if self.is_paused { Cause::File } else { self.cause }
    }

    /// Whether little came in by the last whole window, expected back or not.
    #[must_use]
    pub fn is_little(&self) -> bool {
        self.cause == Cause::Little
    }

    /// Whether that is the pause of a stream that filled the domain not long ago.
    #[must_use]
    pub fn is_paused(&self) -> bool {
        self.is_paused
    }

    /// Bytes of page cache a second at which a paused stream may come back at any time; 0 where none is paused.
    #[must_use]
    pub fn comes_back_at(&self) -> f64 {
        self.streamed.filter(|_| self.is_paused).map_or(0.0, |(_, fastest)| fastest)
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
        inflow.observe(&before);
        let mut sample = Sample { at: before.at + SECOND, ..before };
        change(&mut sample);
        inflow.observe(&sample);
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
    fn a_stream_that_stopped_is_expected_back_for_a_minute() {
        let mut inflow = Inflow::default();
        let mut sample = still();
        let mut second = |inflow: &mut Inflow, file: u64, anonymous: u64| {
            (sample.at, sample.stolen_file) = (sample.at + SECOND, sample.stolen_file + file * MIB);
            sample.anonymous += anonymous * MIB;
            inflow.observe(&sample);
            (inflow.cause(), inflow.is_paused(), inflow.comes_back_at() / MIB as f64)
        };
        second(&mut inflow, 0, 0);
        assert_eq!(second(&mut inflow, 0, 0), (Cause::Little, false, 0.0), "none was ever seen");
        assert_eq!(second(&mut inflow, 400, 0), (Cause::File, false, 0.0));
        let (cause, is_paused, rate) = second(&mut inflow, 100, 0);
        assert!(cause == Cause::File && !is_paused && rate < 0.5);
        let (cause, is_paused, rate) = second(&mut inflow, 0, 0);
        assert!(
            cause == Cause::File && is_paused && (350.0..=400.0).contains(&rate),
            "{rate}: not that of its last moment"
        );
        assert_eq!(
            second(&mut inflow, 0, 400),
            (Cause::Other, false, 0.0),
            "what else fills memory is seen all the same"
        );
        assert!((0..57).all(|_| second(&mut inflow, 0, 0).1));
        assert_eq!(second(&mut inflow, 0, 0), (Cause::Little, false, 0.0));
    }

    #[test]
    fn what_was_freed_is_no_inflow() {
        assert_eq!(after(|now| now.anonymous -= 400 * MIB), Cause::Little);
    }
}

//! How long tasks were held up inside the kernel: counts in buckets of powers of two, per kind, process and order.

use crate::kernel_text::purpose::Purpose;
use std::fmt;

/// What held a task up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum StallKind {
    /// An allocation that had to free pages itself (`mm_vmscan_direct_reclaim_begin` to `_end`).
    DirectReclaim,
    /// The same within a memory cgroup's limit (`mm_vmscan_memcg_reclaim_begin` to `_end`).
    CgroupReclaim,
    /// An allocation that had to compact memory (`mm_compaction_begin` to `_end`, outside kcompactd).
    Compaction,
    /// Compaction in the background: kcompactd at work, or kswapd before 4.6. Holds up nobody by itself.
    BackgroundCompaction,
    /// A task that reclaim put to sleep (`mm_vmscan_throttled`).
    Throttled,
    /// khugepaged or `MADV_COLLAPSE` making a huge page (`mm_collapse_huge_page`): counted, not timed.
    Collapse,
    /// A writer put to sleep for too many dirty pages (`balance_dirty_pages`, its `pause`).
    DirtyBalance,
    /// A page fault that waited for its page to come from swap: told by logs of the kernel, not recorded.
    SwapIn,
    /// A task that waited for the lock of a process's map of memory: told by logs of the kernel, not recorded.
    MapLock,
}

const KINDS: [(StallKind, &str); 9] = [
    (StallKind::DirectReclaim, "direct_reclaim"),
    (StallKind::CgroupReclaim, "cgroup_reclaim"),
    (StallKind::Compaction, "compaction"),
    (StallKind::BackgroundCompaction, "background_compaction"),
    (StallKind::Throttled, "throttled"),
    (StallKind::Collapse, "collapse"),
    (StallKind::DirtyBalance, "dirty_balance"),
    (StallKind::SwapIn, "swap_in"),
    (StallKind::MapLock, "map_lock"),
];

impl StallKind {
    /// Every kind.
    pub fn all() -> impl Iterator<Item = StallKind> {
        KINDS.into_iter().map(|(kind, _)| kind)
    }

    /// As the recording file writes it.
    #[must_use]
    pub fn word(self) -> &'static str {
        KINDS.into_iter().find(|(kind, _)| *kind == self).map_or("", |(_, word)| word)
    }

    /// The kind of that word; `None` for one of a newer version.
    #[must_use]
    pub fn from_word(word: &str) -> Option<StallKind> {
        KINDS.into_iter().find(|(_, known)| *known == word).map(|(kind, _)| kind)
    }
}

impl fmt::Display for StallKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// Buckets of a histogram: bucket `i` counts durations of `2^i` to `2^(i+1) - 1` ns, the first also 0, the last (from some
/// nine minutes) whatever is longer.
pub const BUCKETS: usize = 40;

/// Durations in buckets of powers of two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Durations {
    counts: [u64; BUCKETS],
    total: u64,
    longest: u64,
}

impl Default for Durations {
    fn default() -> Self {
        Durations { counts: [0; BUCKETS], total: 0, longest: 0 }
    }
}

impl Durations {
    /// What was read from a file.
    #[must_use]
    pub fn from_parts(counts: [u64; BUCKETS], total: u64, longest: u64) -> Durations {
        Durations { counts, total, longest }
    }

    /// One more, in nanoseconds; `weight` times when only one of so many is kept.
    pub fn add(&mut self, nanoseconds: u64, weight: u64) {
        let bucket = (nanoseconds.max(1).ilog2() as usize).min(BUCKETS - 1);
        self.counts[bucket] = self.counts[bucket].saturating_add(weight);
        self.total = self.total.saturating_add(nanoseconds.saturating_mul(weight));
        self.longest = self.longest.max(nanoseconds);
    }

    /// All of both.
    pub fn merge(&mut self, other: &Durations) {
        for (mine, theirs) in self.counts.iter_mut().zip(other.counts) {
            *mine = mine.saturating_add(theirs);
        }
        self.total = self.total.saturating_add(other.total);
        self.longest = self.longest.max(other.longest);
    }

    /// By bucket.
    #[must_use]
    pub fn counts(&self) -> &[u64; BUCKETS] {
        &self.counts
    }

    /// How many.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.counts.iter().fold(0, |sum, count| sum.saturating_add(*count))
    }

    /// Their sum, in nanoseconds.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The longest, in nanoseconds.
    #[must_use]
    pub fn longest(&self) -> u64 {
        self.longest
    }

    /// The upper end of the bucket in which a part of them (0 to 1) lies, in nanoseconds, and at most the longest: the
    /// true quantile is at most this and more than half of it. `None` when there is none.
    #[must_use]
    pub fn quantile(&self, part: f64) -> Option<u64> {
        let count = self.count();
        let rank = ((count as f64 * part).ceil() as u64).clamp(1, count.max(1));
        let mut below = 0u64;
        let bucket = self.counts.iter().position(|in_bucket| {
            below = below.saturating_add(*in_bucket);
            below >= rank
        })?;
        Some(((2u64 << bucket) - 1).min(self.longest))
    }
}

/// In a recording to hand on, processes without a name are told apart by numbers from this on, in the order in which they were
/// seen: no process has so large a one (`PID_MAX_LIMIT`, `include/linux/threads.h`, 6.12: 4,194,304).
pub const FIRST_UNNAMED: u32 = 1 << 30;

/// Stalls of one kind, process and order within one slice of time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StallRow {
    /// Beginning of the slice, CLOCK_BOOTTIME in nanoseconds.
    pub from: u64,
    /// Its end.
    pub to: u64,
    /// What held it up.
    pub kind: StallKind,
    /// Process id (`tgid`) where it is known, else the thread's; from [`FIRST_UNNAMED`] on in place of one that is not told.
    pub pid: u32,
    /// Name of the thread. Not safe to print as it is.
    pub comm: String,
    /// Order of the allocation, where the kernel says it.
    pub order: Option<u8>,
    /// What the allocation is for, where the functions of the task say it.
    pub purpose: Option<Purpose>,
    /// How it ended, in the kernel's word: `contended`, `complete`, `WRITEBACK`, … Empty where it has none.
    pub outcome: String,
    /// How long.
    pub durations: Durations,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_is_at_most_twice_the_true_one() {
        let mut durations = Durations::default();
        (1..=1000u64).for_each(|n| durations.add(n * 1000, 1));
        let p99 = durations.quantile(0.99).unwrap();
        assert!((990_000..=1_000_000).contains(&p99), "{p99}: at most the longest");
        let median = durations.quantile(0.5).unwrap();
        assert!((500_000..1_000_000).contains(&median), "{median}");
        assert_eq!(Durations::default().quantile(0.5), None);
    }

    #[test]
    fn the_shortest_and_the_longest_have_a_bucket() {
        let mut durations = Durations::default();
        durations.add(0, 1);
        durations.add(u64::MAX, 3);
        assert_eq!((durations.counts()[0], durations.counts()[BUCKETS - 1]), (1, 3));
        assert_eq!((durations.count(), durations.total(), durations.longest()), (4, u64::MAX, u64::MAX));
    }

    #[test]
    fn words_in_the_file_come_back() {
        assert!(StallKind::all().all(|kind| StallKind::from_word(kind.word()) == Some(kind)));
    }
}

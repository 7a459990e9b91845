//! What held tasks up, summed by kind and process.

use super::answer::Answer;
use super::coverage::{Coverage, gaps_of};
use super::families::{Purposes, Share, shares};
use super::observed::{Hits, Windows};
use crate::import::SEEN;
use crate::recording::{Durations, Gap, StallKind, StallRow};
use std::collections::BTreeMap;

/// The source of gaps in them; those of one kind have its word after a dot.
const SOURCE: &str = "stalls";

/// A kind in words: `direct reclaim`.
pub(super) fn in_words(kind: StallKind) -> String {
    kind.word().replace('_', " ")
}

/// What a line of evidence that stalls of a kind gave has as its source.
pub(super) fn source_of(kind: StallKind) -> String {
    format!("{SOURCE}: {}", in_words(kind))
}

/// The stalls of a recording.
#[derive(Debug)]
pub struct StallsSeen {
    rows: Vec<StallRow>,
    /// When they were not recorded, or not all of them.
    gaps: Vec<Gap>,
}

/// Stalls of one kind.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stalled {
    /// How long they were.
    pub durations: Durations,
    /// The processes that waited most, by time.
    pub who: Vec<Share>,
    /// The longest any one process waited in all, in seconds.
    pub worst_process_seconds: f64,
    /// How often that process waited.
    pub worst_process_times: u64,
    /// Order of most of the time, where the kernel says it.
    pub order: Option<u8>,
    /// What the memory was asked for, by time, and of tasks whose stack was printed by their number; where any row says it.
    pub purposes: Purposes,
    /// Tasks whose stack was printed while they were in it: nothing says for how long, so they are in none of the times.
    pub seen: u64,
    /// Who they were.
    pub seen_who: Vec<Share>,
    /// How they ended, with their part of the time, the most first.
    pub outcomes: Vec<(String, f64)>,
    /// For how long they were recorded.
    pub coverage: Coverage,
}

impl StallsSeen {
    /// Keeps them, and when they were not recorded.
    #[must_use]
    pub fn of(rows: Vec<StallRow>, gaps: &[Gap]) -> StallsSeen {
        StallsSeen { rows, gaps: gaps_of(SOURCE, gaps) }
    }

    /// Those of a kind, in the windows that hit, or in all of them where none does.
    #[must_use]
    pub fn of_kind(&self, kind: StallKind, over: &Hits, windows: &Windows) -> Stalled {
        let whole = !over.answers.contains(&Answer::Yes);
        let inside = |row: &&StallRow| {
            let middle = row.from / 2 + row.to / 2;
            let window = middle.checked_sub(windows.start).map(|since| since / windows.width.max(1));
            let window = window.map(|window| (window as usize).min(windows.count.saturating_sub(1)));
            let is_hit = window.is_some_and(|window| over.answers.get(window) == Some(&Answer::Yes));
            row.kind == kind && (whole || (middle <= windows.end && is_hit))
        };
        let mut stalled = Stalled::default();
        let mut by_process: BTreeMap<(&str, Option<u32>), u64> = BTreeMap::new();
        let mut by_pid: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
        let mut by_order: BTreeMap<u8, u64> = BTreeMap::new();
        let mut by_outcome: BTreeMap<(&str, Option<u32>), u64> = BTreeMap::new();
        let mut by_seen: BTreeMap<(&str, Option<u32>), u64> = BTreeMap::new();
        let (seen, timed): (Vec<&StallRow>, Vec<&StallRow>) =
            self.rows.iter().filter(inside).partition(|row| row.outcome == SEEN);
        let mut seen_for = Purposes::default();
        for row in seen {
            let count = row.durations.count();
            stalled.seen = stalled.seen.saturating_add(count);
            if let Some(purpose) = row.purpose {
                seen_for.add(purpose, count);
            }
            let named = by_seen.entry((&row.comm, Some(row.pid).filter(|_| !row.comm.is_empty()))).or_default();
            *named = named.saturating_add(count);
        }
        stalled.seen_who = shares(by_seen);
        for row in timed {
            let total = row.durations.total();
            let add = |sum: &mut u64| *sum = sum.saturating_add(total);
            stalled.durations.merge(&row.durations);
            // Those without a name are told as one.
            add(by_process.entry((&row.comm, Some(row.pid).filter(|_| !row.comm.is_empty()))).or_default());
            // The names are of threads.
            let (sum, times) = by_pid.entry(row.pid).or_default();
            add(sum);
            *times = times.saturating_add(row.durations.count());
            if let Some(purpose) = row.purpose {
                stalled.purposes.add(purpose, total);
            }
            if let Some(order) = row.order {
                add(by_order.entry(order).or_default());
            }
            if !row.outcome.is_empty() {
                add(by_outcome.entry((&row.outcome, None)).or_default());
            }
        }
        if stalled.purposes.sum() == 0 {
            stalled.purposes = seen_for;
        }
        let (worst, times) = by_pid.into_values().max().unwrap_or_default();
        (stalled.worst_process_seconds, stalled.worst_process_times) = (worst as f64 * 1e-9, times);
        stalled.order = by_order.into_iter().max_by_key(|(_, total)| *total).map(|(order, _)| order);
        stalled.outcomes = shares(by_outcome).into_iter().map(|share| (share.comm, share.share)).collect();
        stalled.who = shares(by_process);
        let own = format!("{SOURCE}.{}", kind.word());
        stalled.coverage = Coverage::at(&[SOURCE, &own], &self.gaps, over, windows);
        stalled
    }
}

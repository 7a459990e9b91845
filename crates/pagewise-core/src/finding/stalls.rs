//! What held tasks up, summed by kind and process.

use super::answer::Answer;
use super::families::{Share, shares};
use super::look::{Hits, Windows};
use crate::recording::{Durations, StallKind, StallRow};
use std::collections::BTreeMap;

/// The stalls of a recording.
#[derive(Debug)]
pub struct StallsSeen {
    rows: Vec<StallRow>,
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
    /// Order of most of the time, where the kernel says it.
    pub order: Option<u8>,
    /// How they ended, with their part of the time, the most first.
    pub outcomes: Vec<(String, f64)>,
}

impl StallsSeen {
    /// Keeps them.
    #[must_use]
    pub fn of(rows: Vec<StallRow>) -> StallsSeen {
        StallsSeen { rows }
    }

    /// Those of a kind, in the windows that hit; all of them when none of these lies there.
    #[must_use]
    pub fn of_kind(&self, kind: StallKind, over: &Hits, windows: &Windows) -> Stalled {
        let inside = |row: &&&StallRow| {
            let middle = row.from / 2 + row.to / 2;
            let window = middle.checked_sub(windows.start).map(|since| since / windows.width.max(1));
            let window = window.map(|window| (window as usize).min(windows.count.saturating_sub(1)));
            middle <= windows.end && window.is_some_and(|window| over.answers.get(window) == Some(&Answer::Yes))
        };
        let all: Vec<&StallRow> = self.rows.iter().filter(|row| row.kind == kind).collect();
        let hit: Vec<&StallRow> = all.iter().filter(inside).copied().collect();
        let rows = if hit.is_empty() { all } else { hit };
        let mut stalled = Stalled::default();
        let mut by_process: BTreeMap<(&str, Option<u32>), u64> = BTreeMap::new();
        let mut by_order: BTreeMap<u8, u64> = BTreeMap::new();
        let mut by_outcome: BTreeMap<(&str, Option<u32>), u64> = BTreeMap::new();
        for row in rows {
            let total = row.durations.total();
            let add = |sum: &mut u64| *sum = sum.saturating_add(total);
            stalled.durations.merge(&row.durations);
            add(by_process.entry((&row.comm, Some(row.pid))).or_default());
            if let Some(order) = row.order {
                add(by_order.entry(order).or_default());
            }
            if !row.outcome.is_empty() {
                add(by_outcome.entry((&row.outcome, None)).or_default());
            }
        }
        stalled.worst_process_seconds = by_process.values().copied().max().unwrap_or(0) as f64 * 1e-9;
        stalled.order = by_order.into_iter().max_by_key(|(_, total)| *total).map(|(order, _)| order);
        stalled.outcomes = shares(by_outcome).into_iter().map(|share| (share.comm, share.share)).collect();
        stalled.who = shares(by_process);
        stalled
    }
}

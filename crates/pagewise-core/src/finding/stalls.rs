//! What held tasks up, summed by kind and process.

use super::answer::Answer;
use super::families::{Share, shares};
use super::look::{Hits, Windows};
use crate::recording::{Durations, Gap, GapReason, StallKind, StallRow};
use std::collections::BTreeMap;

/// The source of gaps in them; those of one kind have its word after a dot.
const SOURCE: &str = "stalls";

/// The stalls of a recording.
#[derive(Debug)]
pub struct StallsSeen {
    rows: Vec<StallRow>,
    /// When nobody looked, or not all was seen.
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
    /// Order of most of the time, where the kernel says it.
    pub order: Option<u8>,
    /// How they ended, with their part of the time, the most first.
    pub outcomes: Vec<(String, f64)>,
    /// For how long anybody looked, in seconds.
    pub looked_seconds: f64,
    /// Of how many seconds.
    pub of_seconds: f64,
    /// Why not all of them were seen: nobody looked for a while, or some were lost.
    pub unseen: Option<String>,
    /// Whether some of those that were looked for were lost.
    pub has_lost: bool,
}

/// Seconds in which anybody looked, of how many, and why not all was seen.
struct Looked {
    seconds: f64,
    of: f64,
    why: Option<String>,
    has_lost: bool,
}

impl StallsSeen {
    /// Keeps them, and of all gaps those that are theirs.
    #[must_use]
    pub fn of(rows: Vec<StallRow>, gaps: &[Gap]) -> StallsSeen {
        let is_ours = |gap: &&Gap| gap.source.as_deref().is_some_and(|source| source.starts_with(SOURCE));
        StallsSeen { rows, gaps: gaps.iter().filter(is_ours).cloned().collect() }
    }

    /// The gaps that touch this kind. Where there was so much that only a part was looked at, that part counts for the rest.
    fn gaps_of(&self, kind: StallKind) -> impl Iterator<Item = &Gap> {
        let own = format!("{SOURCE}.{}", kind.word());
        let is_of_kind = move |gap: &&Gap| {
            let source = gap.source.as_deref().unwrap_or_default();
            (source == SOURCE || source == own) && gap.reason != GapReason::Thinned
        };
        self.gaps.iter().filter(is_of_kind)
    }

    fn looked(&self, kind: StallKind, over: &Hits, windows: &Windows) -> Looked {
        let is_hit = |window: &usize| over.answers.get(*window) == Some(&Answer::Yes);
        let none_hits = !(0..windows.count).any(|window| is_hit(&window));
        let stretches: Vec<(u64, u64)> = (0..windows.count)
            .filter(|window| none_hits || is_hit(window))
            .map(|window| (windows.from(window), windows.to(window)))
            .collect();
        let (mut why, mut has_lost) = (None, false);
        let mut blind: Vec<(u64, u64)> = Vec::new();
        for gap in self.gaps_of(kind) {
            let (from, to) = (gap.from, gap.to.unwrap_or(u64::MAX));
            let cut = |(begin, end): &(u64, u64)| {
                let (from, to) = (from.max(*begin), to.min(*end));
                (from < to).then_some((from, to))
            };
            let inside: Vec<(u64, u64)> = stretches.iter().filter_map(cut).collect();
            if inside.is_empty() {
                continue;
            }
            why = why.or_else(|| Some(gap.detail.clone()).filter(|detail| !detail.is_empty()));
            why = why.or_else(|| Some(gap.reason.word().replace('_', " ")));
            match gap.reason {
                GapReason::Lost => has_lost = true,
                _ => blind.extend(inside),
            }
        }
        // Gaps of the source and of one kind may lie over each other.
        blind.sort_unstable();
        let (mut unseen, mut until) = (0u64, 0u64);
        for (from, to) in blind {
            unseen += to.saturating_sub(from.max(until));
            until = until.max(to);
        }
        let all: u64 = stretches.iter().map(|(from, to)| to.saturating_sub(*from)).sum();
        let seconds = |nanoseconds: u64| nanoseconds as f64 * 1e-9;
        Looked { seconds: seconds(all.saturating_sub(unseen)), of: seconds(all), why, has_lost }
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
        let looked = self.looked(kind, over, windows);
        Stalled {
            looked_seconds: looked.seconds,
            of_seconds: looked.of,
            unseen: looked.why,
            has_lost: looked.has_lost,
            ..stalled
        }
    }
}

//! Stalls that were timed, as values at ticks: how many tasks each kind held up at once, on average over a slice.

use crate::recording::{Gap, StallKind, StallRow};
use std::collections::BTreeMap;

const KINDS: usize = 7;

/// Slices in order of their end.
#[derive(Debug)]
pub(super) struct Stalled {
    /// By end: beginning, and seconds per second of each kind. `None`: not recorded.
    slices: Option<BTreeMap<u64, (u64, [f64; KINDS])>>,
    /// When they were not recorded.
    gaps: Vec<(u64, u64)>,
}

impl Stalled {
    pub(super) fn new(rows: Option<&[StallRow]>, gaps: &[Gap]) -> Stalled {
        let slices = rows.map(|rows| {
            let mut slices: BTreeMap<u64, (u64, [f64; KINDS])> = BTreeMap::new();
            for row in rows.iter().filter(|row| row.to > row.from) {
                let Some(place) = Stalled::place(row.kind) else { continue };
                let slice = slices.entry(row.to).or_insert((row.from, [0.0; KINDS]));
                slice.1[place] += row.durations.total() as f64 / (row.to - row.from) as f64;
            }
            slices
        });
        let of_stalls = gaps.iter().filter(|gap| gap.source.as_deref().is_some_and(|source| source == "stalls"));
        Stalled { slices, gaps: of_stalls.map(|gap| (gap.from, gap.to.unwrap_or(u64::MAX))).collect() }
    }

    /// Where a kind stands in what [`Stalled::at`] gives.
    pub(super) fn place(kind: StallKind) -> Option<usize> {
        StallKind::all().position(|one| one == kind).filter(|place| *place < KINDS)
    }

    /// What held tasks up at that instant; nothing, where they were recorded and there was none.
    pub(super) fn at(&mut self, instant: u64) -> Option<[f64; KINDS]> {
        let slices = self.slices.as_ref()?;
        if self.gaps.iter().any(|(from, to)| (*from..*to).contains(&instant)) {
            return None;
        }
        let slice = slices.range(instant..).next().filter(|(_, (from, _))| *from < instant);
        Some(slice.map_or([0.0; KINDS], |(_, (_, values))| *values))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::{Durations, GapReason};

    #[test]
    fn a_slice_says_how_many_tasks_waited_and_a_gap_says_nothing() {
        let mut durations = Durations::default();
        durations.add(500, 4);
        let row = StallRow {
            from: 1000,
            to: 2000,
            kind: StallKind::DirectReclaim,
            pid: 1,
            comm: "a".into(),
            order: None,
            purpose: None,
            outcome: String::new(),
            durations,
        };
        let gap = Gap {
            from: 5000,
            to: None,
            source: Some("stalls".into()),
            reason: GapReason::Stopped,
            ticks: None,
            detail: String::new(),
        };
        let mut stalled = Stalled::new(Some(&[row]), &[gap]);
        assert_eq!(stalled.at(1500).unwrap()[0], 2.0);
        assert_eq!(stalled.at(2500).unwrap()[0], 0.0);
        assert_eq!(stalled.at(6000), None);
        assert_eq!(Stalled::new(None, &[]).at(1), None);
    }
}

//! What held tasks up in the last while, in slices of ten seconds: as finely as rules ask, and a tenth of the rows.

use pagewise_core::finding::observed::WINDOW;
use pagewise_core::recording::{StallKind, StallRow};
use std::collections::HashMap;

/// Rows that are kept, of a slice, a thread's name, a kind, an order and an outcome each: some 20 MiB, and only once there
/// were so many stalls.
const MOST_ROWS: usize = 50_000;

/// Kind, process, name, order, outcome.
type Key = (StallKind, u32, String, Option<u8>, String);

/// The rows of the last while.
#[derive(Debug, Default)]
pub(super) struct Stalls {
    rows: Vec<StallRow>,
    /// The number of the newest slice, and where its rows stand.
    slice: u64,
    open: HashMap<Key, usize>,
    /// What came before that instant is not kept any more, for want of room.
    incomplete_until: u64,
}

impl Stalls {
    /// Adds what was told, of a second each. What comes late is a row of its own.
    pub(super) fn take(&mut self, told: Vec<StallRow>) {
        for row in told {
            let slice = row.from / WINDOW;
            if slice > self.slice {
                self.open.clear();
                self.slice = slice;
            }
            let key = (row.kind, row.pid, row.comm.clone(), row.order, row.outcome.clone());
            let known = self.open.get(&key).and_then(|at| self.rows.get_mut(*at)).filter(|_| slice == self.slice);
            match known {
                Some(known) => {
                    known.durations.merge(&row.durations);
                    (known.from, known.to) = (known.from.min(row.from), known.to.max(row.to));
                }
                None => {
                    if slice == self.slice {
                        self.open.insert(key, self.rows.len());
                    }
                    self.rows.push(row);
                }
            }
        }
        // By the tenth, so that not every second moves all rows.
        if self.rows.len() > MOST_ROWS + MOST_ROWS / 10 {
            let gone = self.rows.len() - MOST_ROWS;
            self.incomplete_until = self.rows[gone - 1].to;
            self.drop_first(gone);
        }
    }

    /// Forgets what ended before that instant.
    pub(super) fn forget(&mut self, oldest: u64) {
        let old = self.rows.iter().take_while(|row| row.to < oldest).count();
        self.drop_first(old);
    }

    fn drop_first(&mut self, count: usize) {
        self.rows.drain(..count);
        self.open.retain(|_, at| {
            let is_kept = *at >= count;
            *at = at.saturating_sub(count);
            is_kept
        });
    }

    pub(super) fn rows(&self) -> &[StallRow] {
        &self.rows
    }

    /// The instant up to which rows went for want of room; 0: none did.
    pub(super) fn incomplete_until(&self) -> u64 {
        self.incomplete_until
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pagewise_core::recording::Durations;

    const SECOND: u64 = 1_000_000_000;

    fn row(second: u64, kind: StallKind, pid: u32, each: u64) -> StallRow {
        let mut durations = Durations::default();
        durations.add(each, 1);
        let (from, to, comm) = (second * SECOND, (second + 1) * SECOND, "job".to_owned());
        StallRow { from, to, kind, pid, comm, order: Some(9), purpose: None, outcome: String::new(), durations }
    }

    #[test]
    fn seconds_of_one_window_are_one_row_as_long_as_what_was_seen_of_it() {
        let mut stalls = Stalls::default();
        let of = |second| row(second, StallKind::Compaction, 7, 5_000);
        stalls.take(vec![of(101), of(103), row(103, StallKind::DirectReclaim, 7, 1), of(109), of(110)]);
        stalls.take(vec![of(111), of(102)]);
        let seen: Vec<_> = stalls.rows().iter().map(|row| (row.from / SECOND, row.to / SECOND, row.kind)).collect();
        let (compaction, reclaim) = (StallKind::Compaction, StallKind::DirectReclaim);
        let late = (102, 103, compaction);
        assert_eq!(seen, [(101, 110, compaction), (103, 104, reclaim), (110, 112, compaction), late]);
        assert_eq!(stalls.rows()[0].durations.count(), 3);
        assert_eq!(stalls.rows().iter().map(|row| row.durations.total()).sum::<u64>(), 6 * 5_000 + 1);
    }

    #[test]
    fn what_is_old_or_too_much_goes_at_the_old_end_and_only_the_latter_leaves_something_out() {
        let mut stalls = Stalls::default();
        stalls.take((0..30).map(|second| row(second, StallKind::Compaction, 7, 1)).collect());
        stalls.forget(20 * SECOND + 1);
        assert_eq!((stalls.rows().len(), stalls.rows()[0].from, stalls.incomplete_until()), (1, 20 * SECOND, 0));
        stalls.take(vec![row(29, StallKind::Compaction, 7, 1)]);
        assert_eq!(stalls.rows().len(), 1, "the row of this slice is still known");
        let many = MOST_ROWS as u32 + MOST_ROWS as u32 / 10;
        stalls.take((0..many).map(|pid| row(30, StallKind::Compaction, pid, 1)).collect());
        assert_eq!((stalls.rows().len(), stalls.incomplete_until()), (MOST_ROWS, 31 * SECOND));
        stalls.take(vec![row(31, StallKind::Compaction, many - 1, 1)]);
        assert_eq!((stalls.rows().len(), stalls.rows()[MOST_ROWS - 1].durations.count()), (MOST_ROWS, 2));
    }
}

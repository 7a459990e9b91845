//! Which processes used most while something was wrong: for findings that neither stacks nor stalls name anybody for.

use super::answer::Answer;
use super::families::{Share, shares};
use super::observed::{Hits, Windows};
use crate::recording::{ProcessRow, Walk};
use std::collections::BTreeMap;

/// By what processes are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RankedBy {
    /// How much larger their resident memory became; where none became larger, how large it was.
    Growth,
    /// How large their resident memory was.
    Resident,
    /// How often they waited for a page from a disk or from swap; where none did, as [`RankedBy::Growth`].
    MajorFaults,
    /// Their CPU time in the kernel.
    SystemTime,
    /// All their CPU time.
    CpuTime,
    /// Their page faults that needed no disk.
    MinorFaults,
}

/// The walks of a recording.
#[derive(Debug)]
pub struct ProcessesSeen {
    walks: Vec<Walk>,
}

/// Of a process: its last name, and a quantity.
type Sums<'a> = BTreeMap<(u32, u64), (&'a ProcessRow, u64)>;

impl ProcessesSeen {
    /// Keeps them.
    #[must_use]
    pub fn of(walks: Vec<Walk>) -> ProcessesSeen {
        ProcessesSeen { walks }
    }

    /// Up to three, in the windows that hit (in all, when no walk covers one of these), and what their shares are of.
    /// `memory` is what the host has, in bytes.
    #[must_use]
    pub fn leaders(
        &self,
        by: RankedBy,
        over: &Hits,
        windows: &Windows,
        memory: Option<f64>,
    ) -> (Vec<Share>, &'static str) {
        let walks = self.covering(over, windows);
        let summed = |of: fn(&ProcessRow) -> u64| named(&sum(&walks, of, u64::saturating_add));
        match by {
            RankedBy::MinorFaults => {
                (summed(|row| row.grown.map_or(0, |grown| grown.used.minor_faults)), "page faults that needed no disk")
            }
            RankedBy::CpuTime => (summed(|row| row.grown.map_or(0, |grown| grown.used.cpu())), "CPU time"),
            RankedBy::SystemTime => {
                (summed(|row| row.grown.map_or(0, |grown| grown.used.system)), "CPU time in the kernel")
            }
            RankedBy::MajorFaults => {
                let found = summed(|row| row.grown.map_or(0, |grown| grown.used.major_faults));
                if found.is_empty() {
                    self.leaders(RankedBy::Growth, over, windows, memory)
                } else {
                    (found, "page faults that waited for disk or swap")
                }
            }
            RankedBy::Growth => {
                let found = summed(|row| row.grown.map_or(0, |grown| u64::try_from(grown.resident).unwrap_or(0)));
                if found.is_empty() {
                    self.leaders(RankedBy::Resident, over, windows, memory)
                } else {
                    (found, "growth in resident memory")
                }
            }
            RankedBy::Resident => {
                let largest = sum(&walks, |row| row.resident, u64::max);
                let all = largest.values().fold(0u64, |all, (_, bytes)| all.saturating_add(*bytes)) as f64;
                let mut found = named(&largest);
                let Some(memory) = memory else { return (found, "resident memory of those that were seen") };
                found.iter_mut().for_each(|share| share.share *= all / memory);
                (found, "memory")
            }
        }
    }

    /// What the process of this number was called when it was last seen.
    #[must_use]
    pub fn name_of(&self, pid: u32) -> Option<String> {
        let rows = self.walks.iter().rev().flat_map(|walk| &walk.rows);
        rows.into_iter().find(|row| row.pid == pid).map(|row| row.name().into_owned())
    }

    /// Page faults a second, without those that waited for a disk, of the processes that lived from one walk to the next.
    /// `None`: there is no time between walks.
    #[must_use]
    pub fn minor_faults(&self) -> Option<f64> {
        let (first, last) = (self.walks.first()?, self.walks.last()?);
        let seconds = last.from.saturating_sub(first.from) as f64 * 1e-9;
        let rows = self.walks.iter().flat_map(|walk| &walk.rows);
        let faults =
            rows.filter_map(|row| row.grown).fold(0u64, |all, grown| all.saturating_add(grown.used.minor_faults));
        (seconds > 0.0).then(|| faults as f64 / seconds)
    }

    /// The walks that have something of a window that hits in the time since the walk before.
    fn covering(&self, over: &Hits, windows: &Windows) -> Vec<&Walk> {
        let hits: Vec<(u64, u64)> = (0..windows.count)
            .filter(|window| over.answers.get(*window) == Some(&Answer::Yes))
            .map(|window| (windows.from(window), windows.to(window)))
            .collect();
        let mut before = None;
        let covering = self.walks.iter().filter(|walk| {
            let from = before.replace(walk.from).unwrap_or(walk.from);
            // Both are in order of time: the first window that ends later is the only one that can begin early enough.
            let next = hits.partition_point(|(_, to)| *to < from);
            hits.get(next).is_some_and(|(begins, _)| *begins <= walk.to)
        });
        let covering: Vec<&Walk> = covering.collect();
        if covering.is_empty() { self.walks.iter().collect() } else { covering }
    }
}

/// A quantity of each process through the walks.
fn sum<'a>(walks: &[&'a Walk], of: fn(&ProcessRow) -> u64, join: fn(u64, u64) -> u64) -> Sums<'a> {
    let mut sums: Sums<'a> = BTreeMap::new();
    for row in walks.iter().flat_map(|walk| &walk.rows) {
        let (last, sum) = sums.entry((row.pid, row.started)).or_insert((row, 0));
        (*last, *sum) = (row, join(*sum, of(row)));
    }
    sums
}

/// The largest, by name and number.
fn named(sums: &Sums<'_>) -> Vec<Share> {
    let names: Vec<(String, u32, u64)> =
        sums.iter().map(|((pid, _), (row, sum))| (row.name().into_owned(), *pid, *sum)).collect();
    let mut by: BTreeMap<(&str, Option<u32>), u64> = BTreeMap::new();
    for (name, pid, sum) in &names {
        let all = by.entry((name.as_str(), Some(*pid))).or_default();
        *all = all.saturating_add(*sum);
    }
    shares(by)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::{ProcessUsage, UsageGrowth};

    const SECOND: u64 = 1_000_000_000;
    const GIB: u64 = 1 << 30;

    fn row(pid: u32, resident: u64, more: Option<i64>, major: u64) -> ProcessRow {
        let used = ProcessUsage { major_faults: major, ..ProcessUsage::default() };
        let grown = more.map(|resident| UsageGrowth { used, resident });
        let comm = format!("job{pid}").into_bytes();
        ProcessRow { pid, started: 0, comm, state: 'R', threads: 1, resident, used, grown }
    }

    fn seen(walks: &[&[ProcessRow]]) -> ProcessesSeen {
        let walk = |(number, rows): (usize, &&[ProcessRow])| {
            let from = number as u64 * 30 * SECOND;
            Walk { from, to: from + 1, processes: 9, rows: rows.to_vec() }
        };
        ProcessesSeen::of(walks.iter().enumerate().map(walk).collect())
    }

    fn hits(answers: &[Answer]) -> (Hits, Windows) {
        let width = 10 * SECOND;
        let windows = Windows { start: 0, end: width * answers.len() as u64, width, count: answers.len() };
        (Hits { answers: answers.to_vec(), ..Hits::default() }, windows)
    }

    fn leaders(seen: &ProcessesSeen, by: RankedBy, answers: &[Answer]) -> (Vec<(String, f64)>, &'static str) {
        let (hits, windows) = hits(answers);
        let (found, of) = seen.leaders(by, &hits, &windows, Some(16.0 * GIB as f64));
        (found.into_iter().map(|share| (share.comm, share.share)).collect(), of)
    }

    #[test]
    fn who_grew_while_it_hit_is_named_and_who_grew_before_is_not() {
        let (calm, grows) = (row(1, 4 * GIB, Some(0), 0), |more| row(2, GIB, Some(more), 0));
        let seen = seen(&[
            std::slice::from_ref(&calm),
            &[row(3, GIB, Some(900), 0)],
            &[calm.clone(), grows(100), row(3, 1, Some(-7), 0)],
        ]);
        let mut answers = [Answer::No; 6];
        answers[4] = Answer::Yes;
        assert_eq!(
            leaders(&seen, RankedBy::Growth, &answers),
            (vec![("job2".into(), 1.0)], "growth in resident memory")
        );
        let nowhere = leaders(&seen, RankedBy::Growth, &[Answer::No; 6]).0;
        assert_eq!(nowhere, [("job3".to_owned(), 0.9), ("job2".to_owned(), 0.1)], "then of all");
    }

    #[test]
    fn a_window_between_two_walks_belongs_to_the_later_one() {
        let seen = seen(&[&[row(1, 1, Some(5), 0)], &[row(2, 1, Some(5), 0)], &[row(3, 1, Some(5), 0)]]);
        let mut answers = [Answer::No; 9];
        answers[1] = Answer::Yes;
        assert_eq!(leaders(&seen, RankedBy::Growth, &answers).0[0].0, "job2");
        answers[1] = Answer::Unknown;
        answers[5] = Answer::Yes;
        assert!(leaders(&seen, RankedBy::Growth, &answers).0.iter().any(|(name, _)| name == "job3"));
    }

    #[test]
    fn where_nothing_grew_the_largest_are_named_by_their_part_of_memory() {
        let seen = seen(&[&[row(1, 4 * GIB, None, 0), row(2, GIB, None, 0)]]);
        let (found, of) = leaders(&seen, RankedBy::MajorFaults, &[Answer::Yes]);
        assert_eq!((found[0].clone(), of), (("job1".to_owned(), 0.25), "memory"));
    }

    #[test]
    fn faults_are_summed_over_walks() {
        let seen = seen(&[&[row(1, 1, Some(9), 30)], &[row(1, 1, Some(9), 30), row(2, 1, Some(900), 20)]]);
        let (found, of) = leaders(&seen, RankedBy::MajorFaults, &[Answer::Yes; 3]);
        assert_eq!(found, [("job1".to_owned(), 0.75), ("job2".to_owned(), 0.25)]);
        assert!(of.contains("swap"));
    }
}

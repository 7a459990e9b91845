//! Which processes used most CPU time and memory and read most from disk by faults, at a beat of their own.
//!
//! A walk reads every process and keeps those that lead in one of the three. A process that a walk does not have was
//! not there, or there were enough that used more.

use std::borrow::Cow;
use std::collections::BTreeMap;

/// What a process used since it started, all its threads together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessUsage {
    /// CPU time in the program, in nanoseconds. The kernel tells it in clock ticks, hundredths of a second.
    pub user: u64,
    /// CPU time in the kernel, likewise.
    pub system: u64,
    /// Page faults that needed no disk.
    pub minor_faults: u64,
    /// Page faults that waited for a disk or for swap.
    pub major_faults: u64,
}

impl ProcessUsage {
    /// CPU time in nanoseconds.
    #[must_use]
    pub fn cpu(&self) -> u64 {
        self.user.saturating_add(self.system)
    }

    /// What was used since it was `before`. A total that fell counts as none: the kernel may correct CPU time by a tick.
    #[must_use]
    pub fn since(&self, before: &ProcessUsage) -> ProcessUsage {
        ProcessUsage {
            user: self.user.saturating_sub(before.user),
            system: self.system.saturating_sub(before.system),
            minor_faults: self.minor_faults.saturating_sub(before.minor_faults),
            major_faults: self.major_faults.saturating_sub(before.major_faults),
        }
    }
}

/// What became more from one walk to the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UsageGrowth {
    /// What was used in between.
    pub used: ProcessUsage,
    /// How much larger resident memory is, in bytes.
    pub resident: i64,
}

/// A process as one walk saw it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessRow {
    /// Its number. Numbers are used again; with `started` it is one process.
    pub pid: u32,
    /// When it started, CLOCK_BOOTTIME in nanoseconds, to a clock tick.
    pub started: u64,
    /// Its name, at most 15 bytes of whatever its author likes: may be no UTF-8, and is not safe to print as it is.
    pub comm: Vec<u8>,
    /// The kernel's letter for what it does: `R` runs, `S` sleeps, `D` waits for a disk, `Z` has ended, …
    pub state: char,
    /// Its threads.
    pub threads: u32,
    /// Resident memory in bytes, shared pages included. The kernel may be off by some pages per thread and CPU.
    pub resident: u64,
    /// What it used since it started.
    pub used: ProcessUsage,
    /// What became more since the walk before. `None`: not known, since that one did not see it.
    pub grown: Option<UsageGrowth>,
}

impl ProcessRow {
    /// Its name as text.
    #[must_use]
    pub fn name(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.comm)
    }
}

/// One walk over all processes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Walk {
    /// When it began, CLOCK_BOOTTIME in nanoseconds.
    pub from: u64,
    /// When it ended.
    pub to: u64,
    /// How many processes could be read.
    pub processes: u64,
    /// Those that led in something, by number.
    pub rows: Vec<ProcessRow>,
}

/// A process through a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessSum {
    /// Its number.
    pub pid: u32,
    /// When it started.
    pub started: u64,
    /// Its last name.
    pub name: String,
    /// Beginning of the first walk that has it.
    pub first: u64,
    /// End of the last one.
    pub last: u64,
    /// The most memory it had in a walk, in bytes.
    pub peak_resident: u64,
    /// What it used from the walk before the first that has it to the last. `None`: one walk has it and could not tell.
    pub used: Option<ProcessUsage>,
}

/// A row per process, in the order in which they were first seen. Totals are the kernel's, so what a process used between
/// two walks that have it counts also where walks in between do not.
#[must_use]
pub fn sums(walks: &[Walk]) -> Vec<ProcessSum> {
    struct Through<'a> {
        sum: ProcessSum,
        base: Option<ProcessUsage>,
        last: &'a ProcessRow,
    }
    let mut order: Vec<(u32, u64)> = Vec::new();
    let mut all: BTreeMap<(u32, u64), Through<'_>> = BTreeMap::new();
    for walk in walks {
        for row in &walk.rows {
            let key = (row.pid, row.started);
            let Some(through) = all.get_mut(&key) else {
                order.push(key);
                let sum = ProcessSum {
                    pid: row.pid,
                    started: row.started,
                    name: String::new(),
                    first: walk.from,
                    last: walk.to,
                    peak_resident: row.resident,
                    used: None,
                };
                all.insert(key, Through { sum, base: row.grown.map(|grown| row.used.since(&grown.used)), last: row });
                continue;
            };
            through.base.get_or_insert(through.last.used);
            through.sum.last = walk.to;
            through.sum.peak_resident = through.sum.peak_resident.max(row.resident);
            through.last = row;
        }
    }
    let finished = |key| {
        let Through { mut sum, base, last } = all.remove(&key)?;
        sum.name = last.name().into_owned();
        sum.used = base.map(|base| last.used.since(&base));
        Some(sum)
    };
    order.into_iter().filter_map(finished).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn row(pid: u32, started: u64, seconds: u64, resident: u64, grown: Option<u64>) -> ProcessRow {
        let used =
            |seconds: u64| ProcessUsage { user: seconds * SECOND, major_faults: seconds, ..ProcessUsage::default() };
        ProcessRow {
            pid,
            started,
            comm: b"job".to_vec(),
            state: 'R',
            threads: 1,
            resident,
            used: used(seconds),
            grown: grown.map(|seconds| UsageGrowth { used: used(seconds), resident: 0 }),
        }
    }

    fn walk(number: u64, rows: Vec<ProcessRow>) -> Walk {
        Walk { from: number * 30 * SECOND, to: number * 30 * SECOND + 5, processes: 80, rows }
    }

    #[test]
    fn what_was_used_between_two_walks_that_have_it_counts_and_what_came_before_the_recording_does_not() {
        let walks = [
            walk(1, vec![row(7, 0, 500, 100, None)]),
            walk(2, vec![]),
            walk(3, vec![row(7, 0, 520, 300, Some(3))]),
            walk(4, vec![row(7, 0, 521, 200, Some(1))]),
        ];
        let sums = sums(&walks);
        assert_eq!(sums.len(), 1, "one process");
        let sum = &sums[0];
        assert_eq!((sum.used.unwrap().cpu(), sum.used.unwrap().major_faults), (21 * SECOND, 21));
        assert_eq!((sum.first, sum.last, sum.peak_resident), (30 * SECOND, 120 * SECOND + 5, 300));
    }

    #[test]
    fn one_that_is_seen_late_counts_from_the_walk_before_and_one_seen_once_may_not_be_known() {
        let walks = [walk(1, vec![row(8, 0, 50, 1, None)]), walk(2, vec![row(7, 0, 500, 1, Some(4))])];
        let sums = sums(&walks);
        let used: Vec<Option<u64>> = sums.iter().map(|sum| sum.used.map(|used| used.cpu())).collect();
        assert_eq!(used, [None, Some(4 * SECOND)]);
    }

    #[test]
    fn a_number_that_is_used_again_is_another_process() {
        let walks = [walk(1, vec![row(7, 0, 500, 1, None)]), walk(2, vec![row(7, 40 * SECOND, 2, 1, Some(2))])];
        let sums = sums(&walks);
        assert_eq!(sums.len(), 2);
        assert_eq!(sums[1].used.unwrap().cpu(), 2 * SECOND);
    }
}

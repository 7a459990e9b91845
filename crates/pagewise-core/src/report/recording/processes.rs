//! The processes of a recording that used most, as lines of a table.

use crate::recording::process::sums;
use crate::recording::{ProcessSum, Walk};
use crate::report::number;
use crate::report::printable::printable;
use crate::unit::Seconds;
use serde::Serialize;
use std::cmp::Reverse;

/// So many by each measure.
const LEADING: usize = 10;

/// What the table says of a process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ProcessLine {
    /// Its last name.
    pub name: String,
    /// Its number.
    pub pid: String,
    /// The most resident memory it was seen with.
    pub memory: String,
    /// CPU time while it was recorded.
    pub cpu: String,
    /// Faults that waited for a disk, likewise.
    pub major_faults: String,
    /// The first walk that has it, UTC.
    pub first: String,
    /// The last one.
    pub last: String,
}

/// Those that lead by memory, CPU time or major faults, the largest first. `time` writes an instant.
pub(super) fn process_lines(walks: &[Walk], time: impl Fn(u64) -> String) -> Vec<ProcessLine> {
    const MEASURES: [fn(&ProcessSum) -> u64; 3] = [
        |sum| sum.peak_resident,
        |sum| sum.used.map_or(0, |used| used.cpu()),
        |sum| sum.used.map_or(0, |used| used.major_faults),
    ];
    let all = sums(walks);
    let mut leads = vec![false; all.len()];
    for measure in MEASURES {
        let mut order: Vec<usize> = (0..all.len()).filter(|place| measure(&all[*place]) > 0).collect();
        order.sort_by_key(|place| Reverse(measure(&all[*place])));
        order.iter().take(LEADING).for_each(|place| leads[*place] = true);
    }
    let mut shown: Vec<&ProcessSum> = all.iter().zip(leads).filter(|(_, leads)| *leads).map(|(sum, _)| sum).collect();
    shown.sort_by_key(|sum| (Reverse(sum.peak_resident), sum.pid, sum.started));
    let known = |text: Option<String>| text.unwrap_or_else(|| number::NONE.to_owned());
    let line = |sum: &ProcessSum| ProcessLine {
        name: printable(&sum.name),
        pid: sum.pid.to_string(),
        memory: number::with_unit(sum.peak_resident as f64, "bytes"),
        cpu: known(sum.used.map(|used| Seconds(used.cpu() as f64 * 1e-9).to_string())),
        major_faults: known(sum.used.map(|used| number::count(used.major_faults as f64))),
        first: time(sum.first),
        last: time(sum.last),
    };
    shown.into_iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::{ProcessRow, ProcessUsage, UsageGrowth};

    fn walk(number: u64, rows: &[(u32, u64, u64)]) -> Walk {
        let row = |(pid, resident, seconds): &(u32, u64, u64)| {
            let used = ProcessUsage { user: seconds * number * 1_000_000_000, ..ProcessUsage::default() };
            let each = ProcessUsage { user: seconds * 1_000_000_000, ..ProcessUsage::default() };
            ProcessRow {
                pid: *pid,
                started: 0,
                comm: b"a\x1b[2J\xff".to_vec(),
                state: 'R',
                threads: 1,
                resident: *resident,
                used,
                grown: (number > 0).then_some(UsageGrowth { used: each, resident: 0 }),
            }
        };
        Walk { from: number * 30, to: number * 30 + 1, processes: 50, rows: rows.iter().map(row).collect() }
    }

    #[test]
    fn a_line_has_the_peak_what_was_used_and_when_it_was_seen() {
        let walks = [walk(0, &[(7, 4 << 30, 5)]), walk(1, &[(7, 1 << 30, 5), (8, 1, 90)])];
        let lines = process_lines(&walks, |at| format!("at {at}"));
        assert_eq!(lines.iter().map(|line| line.pid.as_str()).collect::<Vec<_>>(), ["7", "8"]);
        assert_eq!((lines[0].memory.as_str(), lines[0].cpu.as_str()), ("4.00 GiB", "5.00 s"));
        assert_eq!((lines[1].first.as_str(), lines[1].last.as_str()), ("at 30", "at 31"));
        assert_eq!(lines[0].name, "a\\u{1b}[2J\u{fffd}");
    }

    #[test]
    fn ten_by_each_measure_and_what_is_not_known_is_no_zero() {
        let many: Vec<(u32, u64, u64)> = (0..60).map(|pid| (pid, u64::from(pid), 60 - u64::from(pid))).collect();
        let lines = process_lines(&[walk(1, &many)], |_| String::new());
        assert_eq!(lines.len(), 20);
        assert_eq!((lines[0].pid.as_str(), lines[19].pid.as_str()), ("59", "0"));
        let lines = process_lines(&[walk(0, &many)], |_| String::new());
        assert_eq!((lines.len(), lines[0].cpu.as_str()), (10, "—"));
    }
}

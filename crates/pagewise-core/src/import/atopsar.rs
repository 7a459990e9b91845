//! Reports that `atopsar` prints of atop's log: CPUs (`-c`), memory (`-m`), swap and scans (`-s`), a line for each interval. The last word of a
//! heading says which report it is: `_cpu_`, `_mem_`, `_swap_`. CPU time is in percent of one CPU.

use super::times::time_of_day;
use crate::counter::tools::{self, Column};

/// Headings, and the line and label under which atop's screens have the same.
const HEADINGS: [(&str, (&str, &str)); 21] = [
    ("%usr", ("CPU", "user")),
    ("%nice", ("CPU", "user")),
    ("%sys", ("CPU", "sys")),
    ("%irq", ("CPU", "irq")),
    ("%softirq", ("CPU", "irq")),
    ("%steal", ("CPU", "steal")),
    ("%wait", ("CPU", "wait")),
    ("%idle", ("CPU", "idle")),
    ("memtotal", ("MEM", "tot")),
    ("memfree", ("MEM", "free")),
    ("buffers", ("MEM", "buff")),
    ("cached", ("MEM", "cache")),
    ("dirty", ("MEM", "dirty")),
    ("slabmem", ("MEM", "slab")),
    ("swptotal", ("SWP", "tot")),
    ("swpfree", ("SWP", "free")),
    ("pagescan/s", ("PAG", "scan")),
    ("swapin/s", ("PAG", "swin")),
    ("swapout/s", ("PAG", "swout")),
    ("commitspc", ("SWP", "vmcom")),
    ("commitlim", ("SWP", "vmlim")),
];

/// A report: what stands in each column of its rows, behind the time.
#[derive(Clone, Debug)]
pub(super) struct Report {
    columns: Vec<Option<&'static Column>>,
    /// The word that ends its heading.
    pub(super) what: &'static str,
}

/// What ends the heading of each report that is read.
const REPORTS: [&str; 3] = [CPUS, "_mem_", "_swap_"];
pub(super) const CPUS: &str = "_cpu_";

impl Report {
    /// The report of a heading: `00:00:01  memtotal memfree buffers cached … _mem_`.
    pub(super) fn of(words: &[&str]) -> Option<Report> {
        let [time, headings @ .., mark] = words else { return None };
        let what = REPORTS.into_iter().find(|what| what == mark)?;
        time_of_day(time, None)?;
        let column = |heading: &&str| {
            let (_, (line, label)) = HEADINGS.iter().find(|(name, _)| name == heading)?;
            tools::of_atop(line, label)
        };
        Some(Report { columns: headings.iter().map(column).collect(), what })
    }

    /// Nanoseconds since midnight, and the words of a row that are of the host: those of single CPUs have no time, or a number in place of `all`.
    pub(super) fn row<'w, 'l>(&self, words: &'w [&'l str]) -> Option<(i64, Vec<(&'static Column, &'l str)>)> {
        let (time, values): (_, &'w [&'l str]) = words.split_first()?;
        let at = time_of_day(time, None)?;
        if values.len() != self.columns.len() || (self.what == CPUS && values.first() != Some(&"all")) {
            return None;
        }
        let known = self.columns.iter().zip(values).filter_map(|(column, word)| Some(((*column)?, *word)));
        Some((at, known.collect()))
    }
}

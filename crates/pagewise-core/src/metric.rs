//! What every number means: its unit, whether it only grows, and which direction is good.
//!
//! One catalogue for the measures of a run and for the kernel's own counters, so that a gauge is never subtracted and a
//! page count is never shown as bytes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::str::FromStr;

/// Which way is better.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// Less is better: time, memory.
    #[default]
    Lower,
    /// More is better: throughput.
    Higher,
}

impl FromStr for Direction {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "lower" => Ok(Direction::Lower),
            "higher" => Ok(Direction::Higher),
            other => Err(format!("'{other}' is not a direction; write lower or higher")),
        }
    }
}

/// The unit of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Seconds.
    Seconds,
    /// Bytes.
    Bytes,
    /// Bytes held for a time: the integral of memory over the run.
    ByteSeconds,
    /// Base pages.
    Pages,
    /// A count of events.
    Count,
    /// A part of a whole, 0 to 1.
    Fraction,
    /// The user's own metric, in the unit the user named.
    Custom,
}

/// A measure that Pagewise takes of every run.
#[derive(Clone, Copy, Debug)]
pub struct Measure {
    /// Its name in plans, on the command line and in JSON.
    pub name: &'static str,
    /// Its unit.
    pub unit: Unit,
    /// Which way is better when it is the metric of a comparison.
    pub direction: Direction,
    /// What it is and where it comes from.
    pub meaning: &'static str,
}

const fn measure(name: &'static str, unit: Unit, meaning: &'static str) -> Measure {
    Measure { name, unit, direction: Direction::Lower, meaning }
}

/// Every measure of a run. The first is the default metric.
pub const MEASURES: &[Measure] = &[
    measure("wall", Unit::Seconds, "time from start to exit of the command, CLOCK_MONOTONIC"),
    measure("user", Unit::Seconds, "CPU time in user mode of the command and the children it waited for (wait4)"),
    measure("system", Unit::Seconds, "CPU time in the kernel of the command and the children it waited for (wait4)"),
    measure("system_share", Unit::Fraction, "system share of the host's busy CPU while it ran (/proc/stat)"),
    measure(
        "system_share_of_all",
        Unit::Fraction,
        "system share of all the host's CPU time, idle included, while it ran (/proc/stat)",
    ),
    measure(
        "anon_peak",
        Unit::Bytes,
        "largest sum of RssAnon + RssShmem over the run's processes, sampled at 10 Hz or faster",
    ),
    measure("anon_integral", Unit::ByteSeconds, "that sum integrated over the run"),
    measure(
        "cgroup_peak",
        Unit::Bytes,
        "most memory charged to the run's cgroup, page cache included (memory.max_usage_in_bytes or memory.peak)",
    ),
    measure("minor_faults", Unit::Count, "page faults without I/O (wait4)"),
    measure("major_faults", Unit::Count, "page faults with I/O (wait4)"),
    measure("disk_read", Unit::Bytes, "read from block devices by the whole host while it ran (/proc/diskstats)"),
    measure("disk_written", Unit::Bytes, "written to block devices by the whole host while it ran (/proc/diskstats)"),
    measure(
        "psi_memory_some",
        Unit::Seconds,
        "time in which at least one task of the host waited for memory (/proc/pressure/memory, some)",
    ),
    measure(
        "psi_memory_full",
        Unit::Seconds,
        "time in which every task of the host that could run waited for memory (/proc/pressure/memory, full)",
    ),
    measure(
        "psi_io_some",
        Unit::Seconds,
        "time in which at least one task of the host waited for I/O (/proc/pressure/io, some)",
    ),
    measure(
        "unusable_index_before",
        Unit::Fraction,
        "share of free memory in pieces too small for a huge page when it started (order 9, /proc/buddyinfo)",
    ),
    measure("unusable_index_after", Unit::Fraction, "that share when it had ended"),
    measure("host_minor_faults", Unit::Count, "page faults of the whole host without I/O (pgfault less pgmajfault)"),
    measure("host_major_faults", Unit::Count, "page faults of the whole host with I/O (pgmajfault)"),
    measure("compact_stalls", Unit::Count, "allocations that had to compact memory themselves (compact_stall)"),
    measure("alloc_stalls", Unit::Count, "allocations that had to reclaim memory themselves (allocstall, all zones)"),
    measure("thp_faults", Unit::Count, "huge pages given at a page fault (thp_fault_alloc)"),
    measure(
        "thp_fallbacks",
        Unit::Count,
        "page faults that got small pages for want of a huge one (thp_fault_fallback)",
    ),
    measure("pages_scanned", Unit::Pages, "pages that reclaim looked at (pgscan_kswapd and pgscan_direct)"),
];

/// The measure of that name, when it is one that Pagewise takes itself.
#[must_use]
pub fn find(name: &str) -> Option<&'static Measure> {
    MEASURES.iter().find(|measure| measure.name == name)
}

/// Whether a `/proc/vmstat` line is a level rather than a running total.
///
/// Names that begin with `nr_` are levels except the few that only grow: they are listed as items that are
/// incremented and never decremented in `include/linux/mmzone.h` and `mm/vmstat.c` (6.12). Thresholds are levels, too.
/// Everything else in the file is a running total.
#[must_use]
pub fn vmstat_is_level(name: &str) -> bool {
    const GROWING: [&str; 9] = [
        "nr_dirtied",
        "nr_written",
        "nr_throttled_written",
        "nr_vmscan_write",
        "nr_vmscan_immediate_reclaim",
        "nr_foll_pin_acquired",
        "nr_foll_pin_released",
        "nr_tlb_remote_flush",
        "nr_tlb_remote_flush_received",
    ];
    const LEVELS_BY_OTHER_NAMES: [&str; 5] =
        ["workingset_nodes", "balloon_inflated", "zswap_stored", "swap_stored", "memmap_pages"];
    (name.starts_with("nr_") && !GROWING.contains(&name)) || LEVELS_BY_OTHER_NAMES.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_running_total_is_not_taken_for_a_level() {
        assert!(vmstat_is_level("nr_free_pages"));
        assert!(vmstat_is_level("nr_dirty_threshold"));
        for total in
            ["nr_dirtied", "nr_written", "pgfault", "compact_stall", "thp_fault_alloc", "workingset_refault_file"]
        {
            assert!(!vmstat_is_level(total), "{total} only grows");
        }
    }

    #[test]
    fn every_measure_is_found_by_its_name() {
        for measure in MEASURES {
            assert_eq!(find(measure.name).map(|m| m.name), Some(measure.name));
        }
        assert!(find("walll").is_none());
    }
}

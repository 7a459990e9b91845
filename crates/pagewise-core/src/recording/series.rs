//! What each recorded number is: where it comes from, its unit, and whether it only grows.
//!
//! Names are data: a counter that a new kernel adds is recorded under the name the kernel gives it. Only what a name
//! *means* is known here, and a name unknown here is a plain count.

use crate::metric::{Unit, vmstat_is_level};
use std::fmt;

/// How a number moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A running total, unsigned 64 bits. Only growth between two samples means anything.
    Counter,
    /// A level, signed 64 bits.
    Gauge,
}

impl Kind {
    /// As the recording file writes it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
        }
    }

    /// The kind of that word.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Kind> {
        [Kind::Counter, Kind::Gauge].into_iter().find(|kind| kind.word() == word)
    }
}

/// The unit a kernel file counts in. Numbers are kept as the file gives them; [`RawUnit::scale`] leads to the unit of
/// the rest of Pagewise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RawUnit {
    /// Events or things.
    Count,
    /// Base pages.
    Pages,
    /// Bytes.
    Bytes,
    /// 1024 bytes.
    KiB,
    /// Clock ticks of `USER_HZ`, a hundredth of a second on every architecture Linux supports today.
    Ticks,
    /// 10⁻⁶ s.
    Microseconds,
    /// 10⁻⁹ s.
    Nanoseconds,
    /// A hundredth of a whole, as other tools print shares.
    Percent,
    /// A hundredth of a percent: a share that was printed with two decimals.
    PercentHundredths,
    /// A hundredth of an event: a rate that was printed with two decimals.
    Hundredths,
    /// A hundredth of a base page: likewise.
    PageHundredths,
}

const RAW_UNITS: [RawUnit; 11] = [
    RawUnit::Count,
    RawUnit::Pages,
    RawUnit::Bytes,
    RawUnit::KiB,
    RawUnit::Ticks,
    RawUnit::Microseconds,
    RawUnit::Nanoseconds,
    RawUnit::Percent,
    RawUnit::PercentHundredths,
    RawUnit::Hundredths,
    RawUnit::PageHundredths,
];

impl RawUnit {
    /// As the recording file writes it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            RawUnit::Count => "count",
            RawUnit::Pages => "pages",
            RawUnit::Bytes => "bytes",
            RawUnit::KiB => "KiB",
            RawUnit::Ticks => "ticks",
            RawUnit::Microseconds => "us",
            RawUnit::Nanoseconds => "ns",
            RawUnit::Percent => "%",
            RawUnit::PercentHundredths => "0.01%",
            RawUnit::Hundredths => "0.01",
            RawUnit::PageHundredths => "0.01 pages",
        }
    }

    /// The unit of that word.
    #[must_use]
    pub fn from_word(word: &str) -> Option<RawUnit> {
        RAW_UNITS.into_iter().find(|unit| unit.word() == word)
    }

    /// The unit to show it in, and what to multiply by to get there.
    #[must_use]
    pub fn scale(self) -> (Unit, f64) {
        match self {
            RawUnit::Count => (Unit::Count, 1.0),
            RawUnit::Pages => (Unit::Pages, 1.0),
            RawUnit::Bytes => (Unit::Bytes, 1.0),
            RawUnit::KiB => (Unit::Bytes, 1024.0),
            RawUnit::Ticks => (Unit::Seconds, 1e-2),
            RawUnit::Microseconds => (Unit::Seconds, 1e-6),
            RawUnit::Nanoseconds => (Unit::Seconds, 1e-9),
            RawUnit::Percent => (Unit::Fraction, 1e-2),
            RawUnit::PercentHundredths => (Unit::Fraction, 1e-4),
            RawUnit::Hundredths => (Unit::Count, 1e-2),
            RawUnit::PageHundredths => (Unit::Pages, 1e-2),
        }
    }
}

/// One recorded number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Series {
    /// The source it comes from, such as `vmstat`.
    pub source: String,
    /// Its column within the source. Columns are numbered as they appear and never change or go away.
    pub column: u32,
    /// The kernel's name for it.
    pub name: String,
    /// What tells it from others of its name: `node=0,zone=DMA`. Empty when nothing does.
    pub labels: String,
    /// `None` for a unit of a newer version.
    pub unit: Option<RawUnit>,
    /// Whether it only grows.
    pub kind: Kind,
    /// When it was first read, CLOCK_BOOTTIME in nanoseconds.
    pub first_seen: u64,
}

impl fmt::Display for Series {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.labels.as_str() {
            "" => write!(f, "{}.{}", self.source, self.name),
            labels => write!(f, "{}.{}{{{labels}}}", self.source, self.name),
        }
    }
}

/// What a running total grew by. `None` when it fell: it was reset, or is another thing of the same name by now, and how
/// far it grew since nobody knows. A total that passed 2^64 went on from zero.
#[must_use]
pub fn growth(before: u64, now: u64) -> Option<u64> {
    const HALF: u64 = 1 << 63;
    let grown = now.wrapping_sub(before);
    (now >= before || (before >= HALF && grown < HALF)).then_some(grown)
}

/// The one table of what the numbers of a source mean. `says_kib` is whether the file itself writes `kB` behind it. What
/// stands in brackets in a source's name tells which of several things of that kind it is, such as a control group.
#[must_use]
pub fn describe(source: &str, name: &str, says_kib: bool) -> (RawUnit, Kind) {
    match source.split_once('[').map_or(source, |(kind, _)| kind) {
        "vmstat" | "zoneinfo" => (page_unit(source, name), memory_kind(source, name)),
        "meminfo" => (if says_kib { RawUnit::KiB } else { RawUnit::Count }, Kind::Gauge),
        "stat" => match name {
            "intr" | "ctxt" | "processes" | "softirqs" => (RawUnit::Count, Kind::Counter),
            "btime" | "procs_running" | "procs_blocked" => (RawUnit::Count, Kind::Gauge),
            _ => (RawUnit::Ticks, Kind::Counter),
        },
        "psi_memory" | "psi_io" | "psi_cpu" => (RawUnit::Microseconds, Kind::Counter),
        "swaps" => (if name == "priority" { RawUnit::Count } else { RawUnit::KiB }, Kind::Gauge),
        "thp" => (RawUnit::Count, if name.starts_with("nr_") { Kind::Gauge } else { Kind::Counter }),
        "clock" => match name {
            "begin" => (RawUnit::Nanoseconds, Kind::Counter),
            "wall_offset" => (RawUnit::Nanoseconds, Kind::Gauge),
            _ => (RawUnit::Microseconds, Kind::Gauge),
        },
        "self" => (RawUnit::Microseconds, Kind::Counter),
        "threads" => (RawUnit::Nanoseconds, Kind::Counter),
        "pmu" if matches!(name, "enabled" | "running") => (RawUnit::Nanoseconds, Kind::Counter),
        "pmu" => (RawUnit::Count, Kind::Counter),
        "cgroup_pressure" => (RawUnit::Microseconds, Kind::Counter),
        "cgroup_events" => (RawUnit::Count, Kind::Counter),
        "cgroup_memory" if name == "failcnt" => (RawUnit::Count, Kind::Counter),
        "cgroup_memory" => (RawUnit::Bytes, Kind::Gauge),
        "cgroup_stat" => cgroup_stat(name),
        // Free blocks of buddyinfo, names of files, and whatever a later version records.
        _ => (RawUnit::Count, Kind::Gauge),
    }
}

/// `memory.stat`: levels in bytes and totals by vmstat's names (`mm/memcontrol.c`, 6.12: `memory_stats`). Version 1 puts
/// `total_` before what includes the groups below.
fn cgroup_stat(name: &str) -> (RawUnit, Kind) {
    const TOTALS: [&str; 7] = ["pg", "workingset_", "thp_", "zswp", "numa_", "pswp", "swp"];
    let name = name.strip_prefix("total_").unwrap_or(name);
    match TOTALS.iter().any(|prefix| name.starts_with(prefix)) {
        // Version 1 counts pages charged and uncharged under these names, not KiB from a disk.
        true if matches!(name, "pgpgin" | "pgpgout") => (RawUnit::Count, Kind::Counter),
        true => (page_unit("vmstat", name), Kind::Counter),
        false => (RawUnit::Bytes, Kind::Gauge),
    }
}

/// Zoneinfo repeats vmstat's names per node and zone, adds watermarks and sizes, and counts NUMA events.
fn memory_kind(source: &str, name: &str) -> Kind {
    const LEVELS_OF_ZONEINFO: [&str; 14] = [
        "free",
        "boost",
        "min",
        "low",
        "high",
        "promo",
        "scanned",
        "spanned",
        "present",
        "managed",
        "cma",
        "protection",
        "node_unreclaimable",
        "start_pfn",
    ];
    let is_level = vmstat_is_level(name) || (source == "zoneinfo" && LEVELS_OF_ZONEINFO.contains(&name));
    if is_level { Kind::Gauge } else { Kind::Counter }
}

/// `mm/vmstat.c` (6.12) prints pages but for the names here: events, huge pages, and what is kept in KiB.
fn page_unit(source: &str, name: &str) -> RawUnit {
    const KIB: [&str; 4] = ["pgpgin", "pgpgout", "nr_kernel_stack", "nr_shadow_call_stack"];
    const PAGES: [&str; 24] = [
        "pswp",
        "pgscan_",
        "pgsteal_",
        "pgrefill",
        "pgalloc_",
        "pgfree",
        "pgactivate",
        "pgdeactivate",
        "pglazyfree",
        "pgreuse",
        "pgskip_",
        "pgrotated",
        "pgmigrate_",
        "pgpromote_",
        "pgdemote_",
        "pginodesteal",
        "workingset_",
        "compact_migrate_scanned",
        "compact_free_scanned",
        "compact_isolated",
        "compact_daemon_migrate_scanned",
        "compact_daemon_free_scanned",
        "unevictable_pgs_",
        "numa_pages_migrated",
    ];
    const COUNTS: [&str; 6] =
        ["workingset_nodes", "workingset_nodereclaim", "nr_zspages", "node_unreclaimable", "start_pfn", "scanned"];
    let counts_huge_pages =
        name.ends_with("hugepages") || name.ends_with("pmdmapped") || name == "nr_anon_transparent_hugepages";
    let is_pages = name.starts_with("nr_") || PAGES.iter().any(|prefix| name.starts_with(prefix));
    if KIB.contains(&name) {
        RawUnit::KiB
    } else if COUNTS.contains(&name) || counts_huge_pages {
        RawUnit::Count
    } else if is_pages || (source == "zoneinfo" && !name.starts_with("numa_")) {
        RawUnit::Pages
    } else {
        RawUnit::Count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_that_was_reset_has_no_growth_and_one_that_wrapped_has() {
        assert_eq!(growth(5, 9), Some(4));
        assert_eq!(growth(5, 5), Some(0));
        assert_eq!(growth(1000, 3), None);
        assert_eq!(growth(u64::MAX - 1, 2), Some(4));
    }

    #[test]
    fn levels_and_totals_of_a_real_kernel_are_told_apart() {
        assert_eq!(describe("vmstat", "nr_free_pages", false), (RawUnit::Pages, Kind::Gauge));
        assert_eq!(describe("vmstat", "pgpgin", false), (RawUnit::KiB, Kind::Counter));
        assert_eq!(describe("vmstat", "compact_stall", false), (RawUnit::Count, Kind::Counter));
        assert_eq!(describe("vmstat", "pgscan_direct", false), (RawUnit::Pages, Kind::Counter));
        assert_eq!(describe("vmstat", "nr_anon_transparent_hugepages", false), (RawUnit::Count, Kind::Gauge));
        assert_eq!(describe("zoneinfo", "low", false), (RawUnit::Pages, Kind::Gauge));
        assert_eq!(describe("zoneinfo", "numa_hit", false), (RawUnit::Count, Kind::Counter));
        assert_eq!(describe("meminfo", "HugePages_Total", false), (RawUnit::Count, Kind::Gauge));
        assert_eq!(describe("meminfo", "MemFree", true), (RawUnit::KiB, Kind::Gauge));
        assert_eq!(describe("stat", "system", false), (RawUnit::Ticks, Kind::Counter));
        assert_eq!(describe("thp", "nr_anon", false).1, Kind::Gauge);
        assert_eq!(describe("pmu", "load_walk_cycles", false), (RawUnit::Count, Kind::Counter));
        assert_eq!(describe("pmu", "running", false), (RawUnit::Nanoseconds, Kind::Counter));
        assert_eq!(describe("dentries", "nr_negative", false), (RawUnit::Count, Kind::Gauge));
        assert_eq!(describe("threads", "cpu", false), (RawUnit::Nanoseconds, Kind::Counter));
        assert_eq!(describe("cgroup_stat[/batch]", "anon", false), (RawUnit::Bytes, Kind::Gauge));
        assert_eq!(describe("cgroup_stat[/batch]", "workingset_refault_file", false), (RawUnit::Pages, Kind::Counter));
        assert_eq!(describe("cgroup_stat[/batch]", "total_pgmajfault", false), (RawUnit::Count, Kind::Counter));
        assert_eq!(describe("cgroup_memory[/batch]", "current", false), (RawUnit::Bytes, Kind::Gauge));
    }

    #[test]
    fn words_in_the_file_come_back() {
        assert!(RAW_UNITS.iter().all(|unit| RawUnit::from_word(unit.word()) == Some(*unit)));
        assert_eq!(Kind::from_word("counter"), Some(Kind::Counter));
        assert_eq!(RawUnit::from_word("furlongs"), None);
    }
}

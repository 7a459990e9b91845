//! Unit and kind of every number that is recorded: those of its quantity, where the catalogue has one, else what its file
//! says of names like it.
//!
//! Names are data: a counter that a new kernel adds is recorded under the name the kernel gives it, and one that nothing
//! here knows is a plain count.

use super::{ALL, Kind, RawUnit};

/// Unit and kind of a number. `says_kib` is whether the file itself writes `kB` behind it. What stands in brackets in a
/// source's name tells which of several things of that kind it is, such as a control group.
#[must_use]
pub fn describe(source: &str, name: &str, says_kib: bool) -> (RawUnit, Kind) {
    let known = ALL.iter().find(|quantity| quantity.is_of(source) && quantity.describes(name));
    known.map_or_else(|| of_file(source, name, says_kib), |quantity| (quantity.unit, quantity.kind))
}

/// What a file says of a name that no quantity has.
fn of_file(source: &str, name: &str, says_kib: bool) -> (RawUnit, Kind) {
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
    const PAGES: [&str; 28] = [
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
        // Kernels to 3.3.
        "kswapd_steal",
        "pginodesteal",
        "kswapd_inodesteal",
        "workingset_",
        "compact_migrate_scanned",
        "compact_free_scanned",
        "compact_isolated",
        // Kernels to 3.7.
        "compact_pages_moved",
        "compact_pagemigrate_failed",
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

/// Whether a `/proc/vmstat` line is a level rather than a running total.
///
/// Names that begin with `nr_` are levels except the few that only grow: they are listed as items that are
/// incremented and never decremented in `include/linux/mmzone.h` and `mm/vmstat.c` (6.12). Thresholds are levels, too.
/// Everything else in the file is a running total.
fn vmstat_is_level(name: &str) -> bool {
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

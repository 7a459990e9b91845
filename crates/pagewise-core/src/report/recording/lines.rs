//! What is drawn, printed and listed of a recording: each line with its panel, its unit, and the numbers it comes from.
//!
//! One table for the page, `watch` and `top`, so that a name means the same everywhere. Names are the kernel's; where it
//! renamed one, the names stand beside each other.

use crate::recording::StallKind;
use serde::Serialize;

/// What a line counts in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LineUnit {
    /// Bytes.
    Bytes,
    /// Bytes per second.
    BytesPerSecond,
    /// Base pages per second.
    PagesPerSecond,
    /// Events per second.
    PerSecond,
    /// A part of a whole, 1 being all of it.
    Share,
    /// Seconds per second: tasks that wait at once.
    SecondsPerSecond,
    /// Things.
    Count,
}

/// How a line comes from recorded numbers of one source, the kernel's names in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reads {
    /// The sum of the levels of these names.
    Level(&'static str, &'static [&'static str]),
    /// The first level less the second.
    Difference(&'static str, [&'static str; 2]),
    /// What the sum of these totals grows by in a second.
    Rate(&'static str, &'static [&'static str]),
    /// The same, of every total whose name begins so: one per zone.
    RateOfAll(&'static str, &'static str),
    /// Growth of these times as a part of the growth of all CPU time.
    OfCpu(&'static [&'static str]),
    /// Growth of a time in seconds per second.
    Time(&'static str, &'static [&'static str]),
    /// Free memory in blocks of at least a huge page, from buddyinfo.
    LargeBlocks,
    /// Time that tasks were held up, per second, from stalls that were traced.
    Stalled(StallKind),
}

/// One line of a timeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    /// Stable, for programs.
    pub id: &'static str,
    /// For people.
    pub label: &'static str,
    /// What it counts in.
    pub unit: LineUnit,
    /// Where it comes from.
    pub reads: Reads,
    /// Whether it is drawn before anybody asks for it.
    pub shown: bool,
}

/// Lines that are drawn together, in one unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Panel {
    /// Stable, for programs.
    pub id: &'static str,
    /// For people.
    pub title: &'static str,
    /// What to look for in it.
    pub hint: &'static str,
    /// Its lines.
    pub lines: &'static [Line],
}

const fn line(id: &'static str, label: &'static str, unit: LineUnit, reads: Reads) -> Line {
    Line { id, label, unit, reads, shown: true }
}

const fn aside(id: &'static str, label: &'static str, unit: LineUnit, reads: Reads) -> Line {
    Line { id, label, unit, reads, shown: false }
}

use LineUnit::{Bytes, BytesPerSecond, Count, PagesPerSecond, PerSecond, SecondsPerSecond, Share};
use Reads::{Difference, LargeBlocks, Level, OfCpu, Rate, RateOfAll, Stalled, Time};

/// Every panel in the order it is drawn.
pub const PANELS: &[Panel] = &[
    Panel {
        id: "cpu",
        title: "CPU time",
        hint: "System time that grows while the job's own falls is what memory management costs.",
        lines: &[
            line("cpu_user", "user", Share, OfCpu(&["user", "nice"])),
            line("cpu_system", "system", Share, OfCpu(&["system"])),
            aside("cpu_busy", "all but idle", Share, OfCpu(&["user", "nice", "system", "irq", "softirq"])),
            aside("cpu_interrupts", "interrupts", Share, OfCpu(&["irq", "softirq"])),
            aside("cpu_iowait", "waiting for I/O", Share, OfCpu(&["iowait"])),
            line("cpu_steal", "stolen", Share, OfCpu(&["steal"])),
        ],
    },
    Panel {
        id: "memory",
        title: "Memory",
        hint: "Free memory that falls to the watermarks and stays there means reclaim.",
        lines: &[
            line("free", "free", Bytes, Level("meminfo", &["MemFree"])),
            line("cache", "page cache", Bytes, Level("meminfo", &["Cached", "Buffers"])),
            line("anon", "anonymous", Bytes, Level("meminfo", &["AnonPages"])),
            line("anon_huge", "of it huge", Bytes, Level("meminfo", &["AnonHugePages"])),
            aside("available", "available", Bytes, Level("meminfo", &["MemAvailable"])),
            aside("slab", "slab", Bytes, Level("meminfo", &["Slab"])),
            aside("unevictable", "unevictable", Bytes, Level("meminfo", &["Unevictable"])),
            aside("large_free", "free in blocks of 2 MiB and more", Bytes, LargeBlocks),
            aside("swap_used", "swap used", Bytes, Difference("meminfo", ["SwapTotal", "SwapFree"])),
        ],
    },
    Panel {
        id: "pressure",
        title: "Pressure",
        hint: "Part of the time in which some or all tasks waited for memory, disk or a CPU.",
        lines: &[
            line("psi_memory_some", "memory, some", Share, Time("psi_memory", &["some_total"])),
            line("psi_memory_full", "memory, all", Share, Time("psi_memory", &["full_total"])),
            aside("psi_io_some", "disk, some", Share, Time("psi_io", &["some_total"])),
            aside("psi_io_full", "disk, all", Share, Time("psi_io", &["full_total"])),
            aside("psi_cpu_some", "CPU, some", Share, Time("psi_cpu", &["some_total"])),
        ],
    },
    Panel {
        id: "reclaim",
        title: "Reclaim",
        hint: "Direct scans are done by the tasks that allocate, while they wait.",
        lines: &[
            line("scan_kswapd", "scanned by kswapd", PagesPerSecond, Rate("vmstat", &["pgscan_kswapd"])),
            line("scan_direct", "scanned directly", PagesPerSecond, Rate("vmstat", &["pgscan_direct"])),
            aside("steal_kswapd", "freed by kswapd", PagesPerSecond, Rate("vmstat", &["pgsteal_kswapd"])),
            aside("steal_direct", "freed directly", PagesPerSecond, Rate("vmstat", &["pgsteal_direct"])),
            line(
                "refault_file",
                "refaults, file",
                PagesPerSecond,
                Rate("vmstat", &["workingset_refault_file", "workingset_refault"]),
            ),
            line("refault_anon", "refaults, anonymous", PagesPerSecond, Rate("vmstat", &["workingset_refault_anon"])),
        ],
    },
    Panel {
        id: "stalls",
        title: "Stalls, counted",
        hint: "Allocations that had to reclaim or compact memory themselves.",
        lines: &[
            line("allocstall", "direct reclaims", PerSecond, RateOfAll("vmstat", "allocstall")),
            line("compact_stall", "direct compactions", PerSecond, Rate("vmstat", &["compact_stall"])),
            line("compact_fail", "of them failed", PerSecond, Rate("vmstat", &["compact_fail"])),
            aside("compact_wake", "kcompactd woken", PerSecond, Rate("vmstat", &["compact_daemon_wake"])),
            aside("throttled", "throttled in reclaim", PerSecond, Rate("vmstat", &["pgscan_direct_throttle"])),
            aside("oom_kill", "OOM kills", PerSecond, Rate("vmstat", &["oom_kill"])),
        ],
    },
    Panel {
        id: "stalled",
        title: "Stalls, timed",
        hint: "Seconds per second that tasks were held up: 2 is two tasks all the time.",
        lines: &[
            line("stalled_reclaim", "direct reclaim", SecondsPerSecond, Stalled(StallKind::DirectReclaim)),
            line("stalled_cgroup", "cgroup reclaim", SecondsPerSecond, Stalled(StallKind::CgroupReclaim)),
            line("stalled_compaction", "compaction", SecondsPerSecond, Stalled(StallKind::Compaction)),
            line("stalled_throttled", "throttled", SecondsPerSecond, Stalled(StallKind::Throttled)),
            line("stalled_dirty", "dirty balancing", SecondsPerSecond, Stalled(StallKind::DirtyBalance)),
            aside(
                "background_compaction",
                "kcompactd at work",
                SecondsPerSecond,
                Stalled(StallKind::BackgroundCompaction),
            ),
        ],
    },
    Panel {
        id: "compaction",
        title: "Compaction",
        hint: "Pages looked at to make room for huge pages.",
        lines: &[
            line("compact_migrate", "to move", PagesPerSecond, Rate("vmstat", &["compact_migrate_scanned"])),
            line("compact_free", "to move to", PagesPerSecond, Rate("vmstat", &["compact_free_scanned"])),
            line("migrated", "moved", PagesPerSecond, Rate("vmstat", &["pgmigrate_success"])),
        ],
    },
    Panel {
        id: "faults",
        title: "Page faults",
        hint: "A fault from disk waits for a page that had been thrown out, or was never read.",
        lines: &[
            line("faults", "all", PerSecond, Rate("vmstat", &["pgfault"])),
            line("major_faults", "from disk", PerSecond, Rate("vmstat", &["pgmajfault"])),
        ],
    },
    Panel {
        id: "huge_pages",
        title: "Huge pages",
        hint: "A huge-page fault that falls back found no free huge page.",
        lines: &[
            line("thp_fault", "faults", PerSecond, Rate("vmstat", &["thp_fault_alloc"])),
            line("thp_fallback", "faults that fell back", PerSecond, Rate("vmstat", &["thp_fault_fallback"])),
            line("thp_collapse", "collapsed by khugepaged", PerSecond, Rate("vmstat", &["thp_collapse_alloc"])),
            aside("thp_split", "split", PerSecond, Rate("vmstat", &["thp_split_page"])),
            aside("thp_split_pmd", "mappings split", PerSecond, Rate("vmstat", &["thp_split_pmd"])),
        ],
    },
    Panel {
        id: "disk",
        title: "Swap and disk",
        hint: "Swap in both directions at once is thrashing.",
        lines: &[
            line("swap_in", "swapped in", BytesPerSecond, Rate("vmstat", &["pswpin"])),
            line("swap_out", "swapped out", BytesPerSecond, Rate("vmstat", &["pswpout"])),
            line("disk_read", "read", BytesPerSecond, Rate("vmstat", &["pgpgin"])),
            line("disk_written", "written", BytesPerSecond, Rate("vmstat", &["pgpgout"])),
        ],
    },
    Panel {
        id: "dirty",
        title: "Dirty pages",
        hint: "Near the limit, writers are put to sleep.",
        lines: &[
            line("dirty", "dirty", Bytes, Level("meminfo", &["Dirty"])),
            line("writeback", "being written", Bytes, Level("meminfo", &["Writeback"])),
        ],
    },
    Panel {
        id: "tasks",
        title: "Tasks",
        hint: "Blocked tasks wait for a disk or for memory.",
        lines: &[
            line("running", "running", Count, Level("stat", &["procs_running"])),
            line("blocked", "blocked", Count, Level("stat", &["procs_blocked"])),
        ],
    },
    Panel {
        id: "own",
        title: "What recording cost",
        hint: "Of one core.",
        lines: &[line(
            "own_cpu",
            "CPU of the recorder",
            Share,
            Time("self", &["sampler_cpu", "writer_cpu", "walker_cpu"]),
        )],
    },
];

/// A source and the name of a number in it.
pub type Name = (&'static str, &'static str);

const fn of_import(name: &'static str) -> Name {
    (crate::import::SOURCE, name)
}

/// What other tools print of a line, by the names of `docs/reference/imports.md`: sums, of which the first counts that is
/// there as a whole. Read where the kernel's own numbers are not.
const IMPORTED: &[(&str, &[&[Name]])] = &[
    ("cpu_user", &[&[of_import("cpu_user_percent"), of_import("cpu_nice_percent")], &[of_import("cpu_user_percent")]]),
    ("cpu_system", &[&[of_import("cpu_system_percent")]]),
    ("cpu_busy", &[&[of_import("cpu_busy_percent")]]),
    ("cpu_interrupts", &[&[of_import("cpu_irq_percent"), of_import("cpu_softirq_percent")]]),
    ("cpu_iowait", &[&[of_import("cpu_iowait_percent")]]),
    ("cpu_steal", &[&[of_import("cpu_steal_percent")]]),
    ("cache", &[&[of_import("page_cache"), ("meminfo", "Buffers")], &[of_import("page_cache")]]),
    ("swap_used", &[&[of_import("swap_used")]]),
    ("psi_memory_some", &[&[of_import("psi_memory_some_percent")]]),
    ("psi_memory_full", &[&[of_import("psi_memory_full_percent")]]),
    ("scan_kswapd", &[&[of_import("pgscank_per_second")]]),
    ("scan_direct", &[&[of_import("pgscand_per_second")]]),
    ("faults", &[&[of_import("pgfault_per_second")]]),
    ("major_faults", &[&[of_import("pgmajfault_per_second")]]),
    ("swap_in", &[&[of_import("pswpin_per_second")], &[of_import("swap_in_per_second")]]),
    ("swap_out", &[&[of_import("pswpout_per_second")], &[of_import("swap_out_per_second")]]),
    ("disk_read", &[&[of_import("pgpgin_per_second")]]),
    ("disk_written", &[&[of_import("pgpgout_per_second")]]),
    ("running", &[&[of_import("procs_running")]]),
    ("blocked", &[&[of_import("procs_blocked")]]),
];

/// What a line is made of in a recording of other tools.
#[must_use]
pub fn imported(line: &Line) -> &'static [&'static [Name]] {
    IMPORTED.iter().find(|(id, _)| *id == line.id).map_or(&[], |(_, sums)| *sums)
}

/// Most lines a page draws.
pub const MOST_LINES: usize = 60;

/// Every line in order.
pub fn lines() -> impl Iterator<Item = &'static Line> {
    PANELS.iter().flat_map(|panel| panel.lines)
}

/// The line of that id.
#[must_use]
pub fn find(id: &str) -> Option<&'static Line> {
    lines().find(|line| line.id == id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn what_is_imported_is_a_line_and_the_reference_names_it() {
        let reference = include_str!("../../../../../docs/reference/imports.md");
        for (id, sums) in IMPORTED {
            assert!(find(id).is_some(), "{id}");
            for (_, name) in sums.iter().copied().flatten() {
                assert!(reference.contains(name) || name.starts_with("cpu_"), "{name}");
            }
        }
    }

    #[test]
    fn there_are_at_most_sixty_lines_each_with_an_id_of_its_own_and_a_panel_has_one_unit() {
        assert!(lines().count() <= MOST_LINES, "{}", lines().count());
        let ids: HashSet<&str> = lines().map(|line| line.id).collect();
        assert_eq!(ids.len(), lines().count());
        for panel in PANELS {
            assert!(panel.lines.iter().all(|line| line.unit == panel.lines[0].unit), "{}", panel.id);
        }
    }
}

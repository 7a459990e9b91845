//! Text of files below `/proc`, as people paste it and as collectors keep it: `vmstat`, `meminfo`, `stat`, `zoneinfo`, `buddyinfo`, `cgroups`,
//! `allocinfo` and `pressure/*`, once or several times, with commands, file names and dates between.
//!
//! Which file a line is of is known from the line above that names it, or else from its form, where no other file has such
//! lines. What a line means is known to [`kernel_text`](crate::kernel_text), which reads the live files, too.

mod allocations;

use self::allocations::Allocations;
use super::listing::{ListedSeries, Listing, MOST_KIB};
use super::merge::Assumed;
use super::snapshots::{KernelNumber, Snapshots};
use super::times::{SECOND, Stamp};
use super::words::is_label;
use super::{Kind, Parser, Problem, SOURCE};
use crate::counter::{Kind as Moves, describe, tools};
use crate::kernel_text::visit::{Each, Number, Parse, node_and_zone};
use crate::kernel_text::{buddyinfo, controllers, meminfo, psi, stat, vmstat, zoneinfo};
use crate::recording::{GapReason, RawUnit};
use std::collections::{BTreeSet, VecDeque};

/// What `numastat` prints a line for, with a number for each node, and the names that `/proc/vmstat` has for it (`mm/vmstat.c`,
/// 6.12, `vmstat_text`; `drivers/base/node.c`, `node_read_numastat`).
const NUMASTAT: [(&str, &str); 6] = [
    ("numa_hit", "numa_hit"),
    ("numa_miss", "numa_miss"),
    ("numa_foreign", "numa_foreign"),
    ("interleave_hit", "numa_interleave"),
    ("local_node", "numa_local"),
    ("other_node", "numa_other"),
];

const ALLOCINFO: &str = "/proc/allocinfo";

/// What `vmstat -s` calls numbers of these files (procps-ng 4.0.4, `sum_format`). What it calls pages paged in are KiB.
const SUMMARY: [(&str, &str, &str); 12] = [
    ("K total memory", "/proc/meminfo", "MemTotal"),
    ("K active memory", "/proc/meminfo", "Active"),
    ("K inactive memory", "/proc/meminfo", "Inactive"),
    ("K free memory", "/proc/meminfo", "MemFree"),
    ("K buffer memory", "/proc/meminfo", "Buffers"),
    ("K swap cache", "/proc/meminfo", "Cached"),
    ("K total swap", "/proc/meminfo", "SwapTotal"),
    ("K free swap", "/proc/meminfo", "SwapFree"),
    ("pages paged in", "/proc/vmstat", "pgpgin"),
    ("pages paged out", "/proc/vmstat", "pgpgout"),
    ("pages swapped in", "/proc/vmstat", "pswpin"),
    ("pages swapped out", "/proc/vmstat", "pswpout"),
];

/// The parts of all CPU time as it prints them, in the order of `/proc/stat`. Old versions end before the last.
const SUMMARY_OF_CPU: [&str; 8] = [
    "non-nice user cpu ticks",
    "nice user cpu ticks",
    "system cpu ticks",
    "idle cpu ticks",
    "IO-wait cpu ticks",
    "IRQ cpu ticks",
    "softirq cpu ticks",
    "stolen cpu ticks",
];

/// What `kmem -i` of crash prints of a dump, and what `/proc/meminfo` calls it (crash 8, `dump_kmeminfo`): pages, the same with a unit, a share.
const OF_CRASH: [(&str, &str); 10] = [
    ("TOTAL MEM", "MemTotal"),
    ("FREE", "MemFree"),
    ("BUFFERS", "Buffers"),
    ("CACHED", "Cached"),
    ("SLAB", "Slab"),
    ("TOTAL HUGE", "Hugetlb"),
    ("TOTAL SWAP", "SwapTotal"),
    ("SWAP FREE", "SwapFree"),
    ("COMMIT LIMIT", "CommitLimit"),
    ("COMMITTED", "Committed_AS"),
];

const REMEDY: &str = "give the text of /proc/vmstat, /proc/meminfo, /proc/stat, /proc/buddyinfo or /proc/pressure/*, best \
                      twice with `date` in front of each";

/// A file that is understood.
#[derive(Debug)]
struct KernelFile {
    path: &'static str,
    source: &'static str,
    parse: Parse,
    /// Whether a line can be of this file, when it is named above.
    fits: fn(&[&str]) -> bool,
    /// Whether a line can be of this file and of no other.
    is_only: fn(&[&str]) -> bool,
}

const FILES: &[KernelFile] = &[
    file("/proc/vmstat", "vmstat", vmstat::visit, is_pair, |words| is_pair(words) && is_vmstat(words[0])),
    file("/proc/meminfo", "meminfo", meminfo::visit, is_size, |words| is_size(words) && is_meminfo(words[0])),
    file("/proc/stat", "stat", stat::visit, is_stat, is_stat),
    // Of several lines each: they are gathered first.
    file(ZONEINFO, "zoneinfo", zoneinfo::visit, |_| false, |_| false),
    file("/proc/buddyinfo", "buddyinfo", buddyinfo::visit, is_buddies, is_buddies),
    file(CGROUPS, "controllers", controllers::visit, is_controller, is_known_controller),
    // These three look alike: without a name above it is not known which resource a line is about.
    file("/proc/pressure/memory", "psi_memory", psi::visit, is_pressure, |_| false),
    file("/proc/pressure/io", "psi_io", psi::visit, is_pressure, |_| false),
    file("/proc/pressure/cpu", "psi_cpu", psi::visit, is_pressure, |_| false),
];

/// Files of a control group, by the last part of their path; which group it is stands in front.
const GROUP_FILES: &[KernelFile] = &[
    file("memory.stat", "cgroup_stat", vmstat::visit, is_pair, |_| false),
    file("memory.events", "cgroup_events", vmstat::visit, is_pair, |_| false),
    file("memory.oom_control", "cgroup_events", vmstat::visit, is_pair, |_| false),
    file("memory.pressure", "cgroup_pressure", psi::visit, is_pressure, |_| false),
    one_number("memory.current"),
    one_number("memory.high"),
    one_number("memory.max"),
    one_number("memory.swap.current"),
    one_number("memory.usage_in_bytes"),
    one_number("memory.limit_in_bytes"),
    one_number("memory.memsw.usage_in_bytes"),
    one_number("memory.failcnt"),
];

/// A file of one number, whose name says what it is.
const fn one_number(path: &'static str) -> KernelFile {
    file(path, GROUP_NUMBER, vmstat::visit, |words| matches!(words, [word] if is_number(word)), |_| false)
}

const GROUP_NUMBER: &str = "cgroup_memory";

/// Where groups are mounted.
const GROUP_MOUNTS: [&str; 5] =
    ["/sys/fs/cgroup/memory", "/sys/fs/cgroup/unified", "/sys/fs/cgroup", "/dev/cgroup", "/cgroup"];

/// The file of a group that a path names, and the group; nothing of it where only the file is named, in the folder of a shell.
fn group_file(path: &str) -> Option<(&'static KernelFile, &str)> {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let file = GROUP_FILES.iter().find(|file| file.path == name)?;
    let group = GROUP_MOUNTS.iter().find_map(|mount| folder.strip_prefix(mount)).unwrap_or(folder);
    Some((file, group))
}

const ZONEINFO: &str = "/proc/zoneinfo";
const CGROUPS: &str = "/proc/cgroups";

/// No text of zones is longer.
const LONGEST_ZONES: usize = 4 << 20;

const fn file(
    path: &'static str,
    source: &'static str,
    parse: Parse,
    fits: fn(&[&str]) -> bool,
    is_only: fn(&[&str]) -> bool,
) -> KernelFile {
    KernelFile { path, source, parse, fits, is_only }
}

fn is_number(word: &str) -> bool {
    let digits = word.strip_prefix('-').unwrap_or(word);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// `nr_free_pages 12`.
fn is_pair(words: &[&str]) -> bool {
    let is_name = |word: &str| {
        word.starts_with(|c: char| c.is_ascii_lowercase())
            && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
    };
    // An exporter writes pairs, too.
    matches!(words, [name, number] if is_name(name) && !name.starts_with("node_") && is_number(number))
}

/// Beginnings of names in `mm/vmstat.c` (2.6 to 6.12) that no other file of such pairs has.
fn is_vmstat(name: &str) -> bool {
    const BEGINNINGS: [&str; 22] = [
        "nr_",
        "pgpg",
        "pswp",
        "pgalloc_",
        "pgfree",
        "pgfault",
        "pgmajfault",
        "pgscan",
        "pgsteal",
        "pgrefill",
        "pginodesteal",
        "pgmigrate_",
        "pageoutrun",
        "slabs_scanned",
        "kswapd_",
        "allocstall",
        "compact_",
        "thp_",
        "numa_",
        "workingset_",
        "zone_reclaim_failed",
        "unevictable_pgs_",
    ];
    BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
}

/// `MemFree:  12 kB`.
fn is_size(words: &[&str]) -> bool {
    match words {
        [name, number] | [name, number, "kB"] => {
            name.len() > 1 && name.ends_with(':') && !name[..name.len() - 1].contains(':') && is_number(number)
        }
        _ => false,
    }
}

/// `MemTotal: 528235648 kB    MemFree: 20002732 kB`: lines of meminfo that somebody set side by side.
fn side_by_side(words: &[&str]) -> Option<Vec<String>> {
    let mut cells: Vec<Vec<&str>> = Vec::new();
    for word in words {
        match cells.last_mut() {
            _ if word.ends_with(':') => cells.push(vec![word]),
            Some(cell) => cell.push(word),
            None => return None,
        }
    }
    let is_table =
        cells.len() >= 2 && cells.iter().all(|cell| is_size(cell)) && cells.iter().any(|cell| is_meminfo(cell[0]));
    is_table.then(|| cells.iter().map(|cell| cell.join(" ")).collect())
}

/// Names that neither `/proc/PID/status` nor `smaps` has.
fn is_meminfo(name: &str) -> bool {
    const NAMES: [&str; 33] = [
        "MemTotal",
        "MemFree",
        "MemAvailable",
        "Buffers",
        "Cached",
        "SwapCached",
        "Active",
        "Inactive",
        "Active(anon)",
        "Inactive(anon)",
        "Active(file)",
        "Inactive(file)",
        "Unevictable",
        "Mlocked",
        "SwapTotal",
        "SwapFree",
        "Dirty",
        "Writeback",
        "AnonPages",
        "Mapped",
        "Shmem",
        "Slab",
        "SReclaimable",
        "SUnreclaim",
        "KernelStack",
        "PageTables",
        "CommitLimit",
        "Committed_AS",
        "VmallocUsed",
        "HugePages_Total",
        "HugePages_Free",
        "HugePages_Rsvd",
        "HighFree",
    ];
    NAMES.contains(&name.trim_end_matches(':'))
}

/// `cpu  1 2 3 4`, `ctxt 12`.
fn is_stat(words: &[&str]) -> bool {
    let Some((first, rest)) = words.split_first() else { return false };
    let is_of_cpu = first.strip_prefix("cpu").is_some_and(|cpu| cpu.bytes().all(|byte| byte.is_ascii_digit()));
    let is_total = matches!(*first, "ctxt" | "btime" | "processes" | "procs_running" | "procs_blocked");
    let is_list = matches!(*first, "intr" | "softirq");
    rest.iter().all(|word| is_number(word))
        && ((is_of_cpu && rest.len() >= 4) || (is_total && rest.len() == 1) || (is_list && rest.len() > 1))
}

/// `Node 0, zone   Normal   1 2 3 4 5 6 7 8 9 10 11`. Kernels have eleven orders, those that are built for it fewer or more.
fn is_buddies(words: &[&str]) -> bool {
    matches!(words, ["Node", node, "zone", _, counts @ ..]
        if node.ends_with(',') && (6..=20).contains(&counts.len()) && counts.iter().all(|word| is_number(word)))
}

/// `memory  4  64734  1`: a controller, its hierarchy, how many groups, and whether it is on.
fn is_controller(words: &[&str]) -> bool {
    matches!(words, [name, hierarchy, groups, "0" | "1"]
        if name.starts_with(|c: char| c.is_ascii_lowercase()) && is_number(hierarchy) && is_number(groups))
}

/// The same of a controller that some kernel has; two neither limit nor account.
fn is_known_controller(words: &[&str]) -> bool {
    is_controller(words) && (controllers::NAMES.contains(&words[0]) || matches!(words[0], "debug" | "ns"))
}

/// What a line is within zoneinfo (2.6 to 6.x).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OfZones {
    /// `Node 0, zone   Normal`.
    Head,
    /// A number, or a word above numbers.
    Line,
    /// Of the page sets, each CPU's own, which nobody wants.
    PageSets,
    /// `start_pfn:`, with which a zone ends.
    Last,
}

impl OfZones {
    fn of(text: &str, words: &[&str]) -> Option<OfZones> {
        const NAMES: [&str; 11] =
            ["free", "min", "low", "high", "boost", "promo", "scanned", "spanned", "present", "managed", "cma"];
        const BEGINNINGS: [&str; 5] = ["nr_", "numa_", "workingset_", "pgpromote_", "pgdemote_"];
        const REST: [&str; 5] =
            ["all_unreclaimable:", "node_unreclaimable:", "prev_priority:", "temp_priority:", "inactive_ratio:"];
        const PAGE_SETS: [&str; 7] = ["cpu:", "count:", "high:", "low:", "batch:", "high_min:", "high_max:"];
        if node_and_zone(text).is_some_and(|(_, _, rest)| rest.trim().is_empty()) {
            return Some(OfZones::Head);
        }
        match words {
            ["start_pfn:", number] if is_number(number) => Some(OfZones::Last),
            ["pagesets"] => Some(OfZones::PageSets),
            ["cpu:", _, ..] | ["vm", "stats", "threshold:", _] => Some(OfZones::PageSets),
            [name, number] if PAGE_SETS.contains(name) && is_number(number) => Some(OfZones::PageSets),
            ["pages", name, number] if NAMES.contains(name) && is_number(number) => Some(OfZones::Line),
            ["per-node", "stats"] | ["protection:", ..] => Some(OfZones::Line),
            [name, number]
                if is_number(number)
                    && (NAMES.contains(name)
                        || REST.contains(name)
                        || BEGINNINGS.iter().any(|begin| name.starts_with(begin))) =>
            {
                Some(OfZones::Line)
            }
            // `scanned  0 (a: 0 i: 0)` of 2.6.
            ["scanned", _, "(a:", ..] => Some(OfZones::PageSets),
            _ => None,
        }
    }
}

/// `some avg10=0.00 avg60=0.00 avg300=0.00 total=0`. Somebody may have left the last of them out.
fn is_pressure(words: &[&str]) -> bool {
    let ["some" | "full", first, rest @ ..] = words else { return false };
    let is_average = |word: &str| word.starts_with("avg") && word.contains('=');
    let averages = match rest {
        [averages @ .., total] if total.starts_with("total=") => averages,
        averages => averages,
    };
    is_average(first) && averages.iter().all(|word| is_average(word))
}

/// Within a container some of meminfo may be the container's and the rest the host's: lxcfs puts in what the group may use and uses
/// (`proc_meminfo_read`, src/proc_fuse.c, 3.0). Such a file shows more memory in use than there is; a share of one in the other means nothing.
fn leave_out_container(listing: &mut Listing) {
    const OF_CONTAINER: [&str; 10] = [
        "MemTotal",
        "MemFree",
        "MemAvailable",
        "Buffers",
        "Cached",
        "SwapCached",
        "SwapTotal",
        "SwapFree",
        "Slab",
        "SReclaimable",
    ];
    let number_of = |name: &str| {
        let is_it =
            |column: &ListedSeries| column.source == "meminfo" && column.name == name && column.labels.is_empty();
        listing.columns.iter().position(is_it).map(|at| at as u32)
    };
    let (Some(total), Some(active), Some(inactive)) =
        (number_of("MemTotal"), number_of("Active"), number_of("Inactive"))
    else {
        return;
    };
    let is_of_both = |row: &Vec<(u32, u64)>| {
        let value = |column: u32| row.iter().find(|(other, _)| *other == column).map(|(_, value)| *value);
        let used = value(active).zip(value(inactive)).map(|(active, inactive)| active.saturating_add(inactive));
        used.zip(value(total)).is_some_and(|(used, total)| used > total.saturating_add(total / 50))
    };
    if listing.rows.values().any(is_of_both) {
        let columns: Vec<u32> = OF_CONTAINER.iter().filter_map(|name| number_of(name)).collect();
        listing.leave_out(&columns);
        listing.note(
            "meminfo: more memory is in use than there is: MemTotal and others are a container's (lxcfs), the rest is the host's; \
             the container's are left out",
        );
    }
}

/// Which file the next lines are of.
#[derive(Clone, Copy, Debug)]
enum Section {
    /// What their form says.
    ByForm,
    /// This one: it was named.
    Named(&'static KernelFile),
    /// This one by the form of the line before.
    Like(&'static KernelFile),
    /// One that is not imported.
    Other,
}

#[derive(Debug)]
pub(super) struct Proc {
    snapshots: Snapshots,
    section: Section,
    /// Pressure files whose lines are still to come, after a command that names several.
    pressures: VecDeque<&'static KernelFile>,
    has_some: bool,
    /// The control group whose files follow.
    group: String,
    /// Lines of zones, up to the end of the last one.
    zones: String,
    /// The line in which they begin, and whether a zone is open.
    zones_from: usize,
    in_zone: bool,
    /// Parts of all CPU time that were printed below each other.
    ticks: Vec<u64>,
    /// Free blocks of a zone by order, of its kinds so far, and where they begin.
    kinds: Option<(usize, String, Vec<u64>)>,
    /// The text has `/proc/pagetypeinfo`, which counts blocks of each kind, free or not, in rows like those of `/proc/buddyinfo`.
    has_kinds: bool,
    allocations: Allocations,
    files_left: BTreeSet<String>,
}

impl Proc {
    pub(super) fn new(assumed: &Assumed) -> Proc {
        Proc {
            snapshots: Snapshots::new(Kind::Proc, assumed.interval),
            section: Section::ByForm,
            pressures: VecDeque::new(),
            has_some: false,
            group: String::new(),
            zones: String::new(),
            zones_from: 0,
            in_zone: false,
            ticks: Vec::new(),
            kinds: None,
            has_kinds: false,
            allocations: Allocations::default(),
            files_left: BTreeSet::new(),
        }
    }

    /// A line of `vmstat -s`; whether it was one.
    fn summary(&mut self, text: &str, number: usize) -> Result<bool, Problem> {
        let of_cpu = of_summary(text, &SUMMARY_OF_CPU);
        if let Some((value, _)) = of_cpu.filter(|(_, place)| *place == self.ticks.len()) {
            self.ticks.push(value);
        }
        let is_whole = self.ticks.len() == SUMMARY_OF_CPU.len() || (of_cpu.is_none() && self.ticks.len() >= 4);
        if let Some(stat) = file_of("/proc/stat").filter(|_| is_whole) {
            let words: Vec<String> = std::mem::take(&mut self.ticks).iter().map(u64::to_string).collect();
            self.take(stat, &format!("cpu {}", words.join(" ")), number, text)?;
        }
        if of_cpu.is_some() {
            return Ok(true);
        }
        self.ticks.clear();
        let Some((value, place)) = of_summary(text, &SUMMARY.map(|(printed, ..)| printed)) else { return Ok(false) };
        let (_, path, name) = SUMMARY[place];
        let line = if path == "/proc/meminfo" { format!("{name}: {value} kB") } else { format!("{name} {value}") };
        if let Some(file) = file_of(path) {
            self.take(file, &line, number, text)?;
        }
        Ok(true)
    }

    /// A line of `kmem -i`; whether it was one.
    fn of_dump(&mut self, text: &str, number: usize) -> Result<bool, Problem> {
        let Some((name, kib)) = of_crash(text) else { return Ok(false) };
        match file_of("/proc/meminfo") {
            Some(file) => self.take(file, &format!("{name}: {kib} kB"), number, text).map(|()| true),
            None => Ok(true),
        }
    }

    /// A line that earlyoom, nohang or mem2log print of memory; whether it was one.
    fn of_daemon(&mut self, text: &str, number: usize) -> Result<bool, Problem> {
        let sizes = of_earlyoom(text).map(Vec::from).or_else(|| of_mem2log(text));
        let pressed = of_nohang(text);
        if let Some((pressure, _)) = &pressed {
            self.averages(&format!("some avg10={pressure}"), number)?;
        }
        let sizes = sizes.or(pressed.map(|(_, sizes)| sizes));
        let (Some(sizes), Some(file)) = (sizes, file_of("/proc/meminfo")) else { return Ok(false) };
        for (name, kib) in sizes {
            self.take(file, &format!("{name}: {kib} kB"), number, text)?;
        }
        Ok(true)
    }

    /// A row of `/proc/pagetypeinfo`: free blocks of one kind in a zone; whether it was one. Of a zone only their sums are kept, which are
    /// what `/proc/buddyinfo` has.
    fn of_kinds(&mut self, words: &[&str], number: usize) -> Result<bool, Problem> {
        let Some((zone, counts)) = of_page_types(words) else {
            self.close_kinds()?;
            return Ok(false);
        };
        let is_new = self.kinds.as_ref().is_none_or(|(_, known, sums)| *known != zone || sums.len() != counts.len());
        if is_new {
            self.close_kinds()?;
            self.kinds = Some((number, zone, vec![0; counts.len()]));
        }
        self.has_kinds = true;
        if let Some((_, _, sums)) = &mut self.kinds {
            sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum = count.saturating_add(*sum));
        }
        Ok(true)
    }

    /// What was added up of a zone.
    fn close_kinds(&mut self) -> Result<(), Problem> {
        let Some((number, zone, sums)) = self.kinds.take() else { return Ok(()) };
        let counts: Vec<String> = sums.iter().map(u64::to_string).collect();
        let line = format!("{zone} {}", counts.join(" "));
        match file_of("/proc/buddyinfo") {
            Some(file) => self.take(file, &line, number, &line),
            None => Ok(()),
        }
    }

    /// A line of `/proc/allocinfo`; whether it was one.
    fn of_places(&mut self, text: &str, number: usize) -> Result<bool, Problem> {
        let is_command = || is_prompt(text) && text.contains(ALLOCINFO);
        if allocations::is_head(text) || is_command() {
            self.snapshots.pause(text);
            return self.close_allocations().map(|()| true);
        }
        let Some(row) = self.allocations.read(text) else { return Ok(false) };
        if let Some(row) = row {
            if self.allocations.begins_anew(&row) {
                self.close_allocations()?;
            }
            self.allocations.add(row, number);
        }
        Ok(true)
    }

    fn close_allocations(&mut self) -> Result<(), Problem> {
        let Some(table) = self.allocations.close() else { return Ok(()) };
        let places = table.largest.iter().map(|(labels, kib)| ("kernel_pages", labels.as_str(), *kib));
        for (name, labels, kib) in [("kernel_pages_all", "", table.all)].into_iter().chain(places) {
            if kib <= MOST_KIB {
                let taken =
                    KernelNumber { source: SOURCE, name, labels, unit: RawUnit::KiB, moves: Moves::Gauge, value: kib };
                self.snapshots.put(&taken, None, table.line)?;
            }
        }
        Ok(())
    }

    /// What tools print of nodes; whether the line does.
    fn nodes(&mut self, words: &[&str], number: usize) -> Result<bool, Problem> {
        let nodes = of_nodes(words);
        for (node, name, value) in nodes.iter().copied().filter(|(.., kib)| *kib <= MOST_KIB) {
            let labels = format!("node={node}");
            let (unit, moves) = (RawUnit::KiB, Moves::Gauge);
            self.snapshots.put(
                &KernelNumber { source: SOURCE, name, labels: &labels, unit, moves, value },
                None,
                number,
            )?;
        }
        Ok(!nodes.is_empty())
    }

    /// A line of zones; whether it was one.
    fn zone(&mut self, text: &str, words: &[&str], number: usize) -> Result<bool, Problem> {
        let is_named = matches!(self.section, Section::Named(file) if file.path == ZONEINFO);
        let Some(of) = OfZones::of(text, words) else { return Ok(false) };
        if matches!(self.section, Section::Other) || (!self.in_zone && of != OfZones::Head) {
            return Ok(is_named && self.in_zone);
        }
        if of == OfZones::Head {
            // The first zone again: what follows was read later.
            if self.zones.lines().any(|line| line == text) || self.zones.len() > LONGEST_ZONES {
                self.close_zones()?;
            }
            if self.zones.is_empty() {
                self.zones_from = number;
            }
        }
        self.in_zone = of != OfZones::Last;
        if of != OfZones::PageSets {
            self.zones.push_str(text);
            self.zones.push('\n');
        }
        Ok(true)
    }

    /// What was gathered of zones.
    fn close_zones(&mut self) -> Result<(), Problem> {
        self.in_zone = false;
        let text = std::mem::take(&mut self.zones);
        match file_of(ZONEINFO).filter(|_| !text.is_empty()) {
            Some(file) => self.take(file, &text, self.zones_from, text.lines().next().unwrap_or("")),
            None => Ok(()),
        }
    }

    /// `$ grep nr_ /proc/vmstat`, `==> /proc/meminfo <==`: which files follow.
    fn names(&mut self, line: &str) {
        self.snapshots.pause(line);
        let paths_in = paths(line);
        if let [path] = paths_in.as_slice()
            && let Some((file, group)) = group_file(path)
        {
            group.clone_into(&mut self.group);
            self.section = Section::Named(file);
            return;
        }
        let named: Vec<&'static KernelFile> = paths_in.iter().filter_map(|path| file_of(path)).collect();
        let pressures: VecDeque<&'static KernelFile> =
            named.iter().copied().filter(|file| file.source.starts_with("psi_")).collect();
        self.has_some = false;
        self.section = match named.as_slice() {
            [] => Section::Other,
            [one] => Section::Named(one),
            _ => Section::ByForm,
        };
        self.pressures = if named.len() > 1 { pressures } else { VecDeque::new() };
        if named.is_empty() && self.files_left.len() < 200 {
            let path = paths(line).into_iter().next().unwrap_or_default();
            self.files_left.insert(super::words::quoted(&path));
        }
    }

    /// The file a line is of.
    fn file(&mut self, words: &[&str]) -> Option<&'static KernelFile> {
        let by_form = || FILES.iter().find(|file| (file.is_only)(words));
        match self.section {
            Section::Named(file) | Section::Like(file) if (file.fits)(words) => return Some(file),
            Section::Other => return None,
            _ => {}
        }
        if is_pressure(words) {
            if words[0] == "some" && !std::mem::replace(&mut self.has_some, true) {
                return self.pressures.front().copied();
            }
            if words[0] == "some" {
                self.pressures.pop_front();
                return self.pressures.front().copied();
            }
            // A second `full` below one `some` is of a resource that has no `some`: of interrupts.
            return self.pressures.front().copied().filter(|_| self.has_some);
        }
        by_form()
    }

    fn take(&mut self, file: &'static KernelFile, text: &str, number: usize, line: &str) -> Result<(), Problem> {
        self.take_at(None, file, text, number, line)
    }

    /// The same, where it is known when the file was written.
    fn take_at(
        &mut self,
        at: Option<i64>,
        file: &'static KernelFile,
        text: &str,
        number: usize,
        line: &str,
    ) -> Result<(), Problem> {
        // Where it was pasted, blanks stand for its tabs.
        let tabbed = (file.path == CGROUPS).then(|| text.split_whitespace().collect::<Vec<&str>>().join("\t") + "\n");
        let text = tabbed.as_deref().unwrap_or(text);
        let mut taken = Vec::new();
        let mut each = Each(|read: Number<'_, '_>| {
            let labels: Vec<String> = read.labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
            taken.push((read.name.to_owned(), labels.join(","), read.value, read.says_kib));
        });
        let name = file.path.strip_prefix("memory.").unwrap_or(file.path);
        let one = (file.source == GROUP_NUMBER).then(|| format!("{name} {}\n", text.trim()));
        if (file.parse)(one.as_deref().unwrap_or(text), &mut each).is_err() {
            self.snapshots.listing.reject(number, line);
            return Ok(());
        }
        if file.source == "psi_memory" {
            self.averages(text, number)?;
        }
        let group = if is_label(&self.group) && !self.group.is_empty() { self.group.as_str() } else { "not told" };
        for (name, labels, value, says_kib) in taken {
            let labels = if file.source.starts_with("cgroup_") { format!("cgroup={group}") } else { labels };
            let (unit, moves) = describe(file.source, &name, says_kib);
            let taken = KernelNumber { source: file.source, name: &name, labels: &labels, unit, moves, value };
            self.snapshots.put(&taken, at, number)?;
        }
        Ok(())
    }
}

impl Proc {
    /// The averages of a line of pressure on memory: of one reading they are all that tells a rate.
    fn averages(&mut self, line: &str, number: usize) -> Result<(), Problem> {
        let mut words = line.split_whitespace();
        let Some(who @ ("some" | "full")) = words.next() else { return Ok(()) };
        for (length, percent) in words.filter_map(|word| word.strip_prefix("avg")?.split_once('=')) {
            let name = format!("psi_memory_{who}_avg{length}_percent");
            let hundredths = super::words::scaled(percent, 100.0).filter(|value| *value <= 10_000);
            let Some((column, value)) = tools::find(&name).zip(hundredths) else { continue };
            let unit = RawUnit::PercentHundredths;
            let taken =
                KernelNumber { source: column.source, name: column.name, labels: "", unit, moves: Moves::Gauge, value };
            self.snapshots.put(&taken, None, number)?;
        }
        Ok(())
    }
}

/// A node of memory, whether its size or what is free of it, and KiB.
type OfNode = (u32, &'static str, u64);

/// What is told of nodes: `node 0 size: 32733 MB` and `node 0 free: 95 MB` of `numactl -H`, `MemFree  95.11  20123.90  20219.01` of
/// `numastat -m` (the last is the sum; with `-c` without decimals), `Node 0 MemFree:  97123 kB` of a node's own file.
fn of_nodes(words: &[&str]) -> Vec<OfNode> {
    const OWN: [(&str, &str); 2] = [("MemTotal", "node_total"), ("MemFree", "node_free")];
    let named = |name: &str| OWN.iter().find(|(own, _)| *own == name).map(|(_, series)| *series);
    match words {
        ["node", node, what @ ("size:" | "free:"), mib, "MB"] => {
            let series = if *what == "size:" { "node_total" } else { "node_free" };
            let mib = mib.parse::<u64>().ok().and_then(|mib| mib.checked_mul(1024));
            node.parse().ok().zip(mib).map(|(node, kib)| (node, series, kib)).into_iter().collect()
        }
        ["Node", node, name, kib, "kB"] => {
            let series = name.strip_suffix(':').and_then(named);
            let number = node.parse().ok().zip(kib.parse().ok());
            series.zip(number).map(|(series, (node, kib))| (node, series, kib)).into_iter().collect()
        }
        [name, mib @ .., sum] if !mib.is_empty() => {
            let Some(series) = named(name) else { return Vec::new() };
            // With -c they are whole.
            let number = |word: &&str| super::words::decimal(word);
            let Some(mib) = mib.iter().map(number).collect::<Option<Vec<f64>>>() else { return Vec::new() };
            // Two whole numbers beside each other may be anything.
            let is_table = mib.len() > 1 || sum.contains('.');
            let adds_up = is_table
                && number(sum)
                    .is_some_and(|sum| (mib.iter().sum::<f64>() - sum).abs() <= mib.len() as f64 + sum * 0.001);
            let kib = mib.iter().map(|mib| (mib * 1024.0) as u64);
            if adds_up { (0..).zip(kib).map(|(node, kib)| (node, series, kib)).collect() } else { Vec::new() }
        }
        _ => Vec::new(),
    }
}

/// `    TOTAL MEM  16432119      62.7 GB         ----`: the name in `/proc/meminfo`, and KiB.
fn of_crash(text: &str) -> Option<(&'static str, u64)> {
    let text = text.trim();
    let (printed, name) = OF_CRASH.iter().find(|(printed, _)| {
        text.strip_prefix(printed)
            .is_some_and(|rest| rest.starts_with(' ') && rest.trim_start().starts_with(|c: char| c.is_ascii_digit()))
    })?;
    let words: Vec<&str> = text[printed.len()..].split_whitespace().collect();
    // Nothing has no unit.
    if matches!(words.as_slice(), ["0", "0", "----"] | ["0", "0", "0%", ..]) {
        return Some((*name, 0));
    }
    let [_pages, size, unit, ..] = words.as_slice() else { return None };
    let is_share = matches!(&words[3..], ["----"]) || words.get(3).is_some_and(|share| share.ends_with('%'));
    let scale = match *unit {
        "KB" => 1.0,
        "MB" => 1024.0,
        "GB" => 1_048_576.0,
        "TB" => 1_073_741_824.0,
        _ => return None,
    };
    let kib = super::words::scaled(size, scale).filter(|kib| is_share && *kib <= MOST_KIB);
    kib.map(|kib| (*name, kib))
}

/// `mem avail:   343 of  7832 MiB ( 4.38%), swap free:  188 of 2047 MiB ( 9.19%)`: names in `/proc/meminfo`, and KiB.
fn of_earlyoom(text: &str) -> Option<[(&'static str, u64); 3]> {
    let (_, rest) = text.split_once("mem avail:")?;
    let (memory, swap) = rest.split_once("swap free:")?;
    let sizes = |text: &str| -> Option<(u64, u64)> {
        let words: Vec<&str> = text.split_whitespace().take(4).collect();
        let [free, "of", all, "MiB"] = words.as_slice() else { return None };
        let kib = |word: &str| super::words::scaled(word, 1024.0).filter(|kib| *kib <= MOST_KIB);
        Some((kib(free)?, kib(all)?))
    };
    // What it calls all of memory is, in newer versions, what programs have and could have.
    let ((available, _), (free, swap)) = (sizes(memory)?, sizes(swap)?);
    Some([("MemAvailable", available), ("SwapTotal", swap), ("SwapFree", free)])
}

/// `PSI mem some avg10:  55.25 | MemAvail:    0 M,  0.0 % | SwapFree: 424 M,  57.9 %` of nohang: pressure in percent, names in `/proc/meminfo` and KiB.
/// How much there is in all follows from what is left and its share.
fn of_nohang(text: &str) -> Option<(String, Vec<(&'static str, u64)>)> {
    let (pressure, rest) = text.split_once("avg10:")?.1.split_once('|')?;
    let cells = [("MemAvail:", "MemAvailable", "MemTotal"), ("SwapFree:", "SwapFree", "SwapTotal")];
    let mut sizes = Vec::new();
    for (printed, left, all) in cells {
        let Some((_, cell)) = rest.split_once(printed) else { continue };
        let words: Vec<&str> = cell.split_whitespace().take(4).collect();
        let [mib, "M,", percent, "%"] = words.as_slice() else { return None };
        let kib = super::words::scaled(mib, 1024.0).filter(|kib| *kib <= MOST_KIB)?;
        sizes.push((left, kib));
        let share = super::words::decimal(percent).filter(|share| (1.0..=100.0).contains(share));
        sizes.extend(share.map(|share| (all, (kib as f64 * 100.0 / share) as u64)));
    }
    let pressure = pressure.trim();
    (super::words::decimal(pressure).is_some() && !sizes.is_empty()).then(|| (pressure.to_owned(), sizes))
}

/// `MA=33=0% MF=111 A=9060 F=105 AF=13 IF=91 D=0 C=105 SF=58696 SU=0` and `MemTotal: 9782.7, SwapTotal: 58696.3` of mem2log, in MiB: names in
/// `/proc/meminfo`, and KiB.
fn of_mem2log(text: &str) -> Option<Vec<(&'static str, u64)>> {
    const NAMES: [(&str, &str); 7] = [
        ("MA", "MemAvailable"),
        ("MF", "MemFree"),
        ("A", "AnonPages"),
        ("AF", "Active(file)"),
        ("IF", "Inactive(file)"),
        ("D", "Dirty"),
        ("SF", "SwapFree"),
    ];
    let kib = |word: &str| super::words::scaled(word, 1024.0).filter(|kib| *kib <= MOST_KIB);
    let text = text.trim();
    if let Some((memory, swap)) = text.strip_prefix("MemTotal: ").and_then(|rest| rest.split_once(", SwapTotal: ")) {
        return Some(vec![("MemTotal", kib(memory)?), ("SwapTotal", kib(swap)?)]);
    }
    let words: Vec<(&str, &str)> = text.split_whitespace().map(|word| word.split_once('=')).collect::<Option<_>>()?;
    let has = |name: &str| words.iter().any(|(own, _)| *own == name);
    if !["MA", "MF", "SF"].into_iter().all(has) {
        return None;
    }
    let mut sizes = Vec::new();
    for (own, value) in &words {
        if let Some((_, name)) = NAMES.iter().find(|(printed, _)| printed == own) {
            sizes.push((*name, kib(value.split('=').next()?)?));
        }
    }
    let of = |name: &str| words.iter().find(|(own, _)| *own == name).and_then(|(_, value)| kib(value));
    // Its file pages are all of them, buffers included.
    sizes.extend(of("F").into_iter().flat_map(|files| [("Cached", files), ("Buffers", 0)]));
    sizes.extend(of("SF").zip(of("SU")).map(|(free, used)| ("SwapTotal", free + used)));
    Some(sizes)
}

/// `Node    0, zone   Normal, type    Unmovable   11  9  4 …`: the zone as `/proc/buddyinfo` writes it, and free blocks by order. More than a
/// hundred thousand are not counted (`>100000`, `mm/vmstat.c`, 5.5 and later).
fn of_page_types(words: &[&str]) -> Option<(String, Vec<u64>)> {
    let ["Node", node, "zone", zone, "type", _kind, counts @ ..] = words else { return None };
    let zone = zone.strip_suffix(',')?;
    let counts: Vec<u64> =
        counts.iter().map(|count| count.trim_start_matches('>').parse().ok()).collect::<Option<_>>()?;
    let is_row = node.ends_with(',') && (6..=20).contains(&counts.len());
    is_row.then(|| (format!("Node {node} zone {zone}"), counts))
}

/// What stands above the rows of `/proc/pagetypeinfo`.
fn is_of_page_types(text: &str) -> bool {
    [
        "Page block order:",
        "Pages per block:",
        "Free pages count per migrate type",
        "Number of blocks type",
        "Number of mixed blocks",
    ]
    .iter()
    .any(|head| text.starts_with(head))
}

/// `223456789 pages swapped in`: the number, and which of these it is.
fn of_summary(text: &str, names: &[&str]) -> Option<(u64, usize)> {
    let (number, name) = text.trim().split_once(' ')?;
    let place = names.iter().position(|printed| *printed == name.trim())?;
    Some((number.parse().ok()?, place))
}

fn file_of(path: &str) -> Option<&'static KernelFile> {
    FILES.iter().find(|file| file.path == path)
}

/// Paths of the kernel's trees in a line; `/proc/pressure/{cpu,io}` is two, and of `/proc/pressure/*` the shell makes three.
fn paths(line: &str) -> Vec<String> {
    const MOST: usize = 20;
    const TREES: [&str; 3] = ["/proc/", "/sys/", "/dev/cgroup/"];
    let mut paths = Vec::new();
    let is_end = |c: char| c.is_whitespace() || "'\"`;|&<>()[]:".contains(c);
    for word in line.split(is_end) {
        let Some(at) = TREES.iter().find_map(|tree| word.find(tree)) else { continue };
        let path = word[at..].trim_end_matches(['.', ',']);
        let parts = path.split_once('{').and_then(|(before, rest)| Some((before, rest.split_once('}')?)));
        match parts {
            Some((before, (inside, behind))) => {
                paths.extend(inside.split(',').map(|part| format!("{before}{part}{behind}")));
            }
            None if path == "/proc/pressure/*" => {
                paths.extend(["cpu", "io", "memory"].map(|part| format!("/proc/pressure/{part}")));
            }
            None => paths.push(path.to_owned()),
        }
    }
    // A shell that stands in a folder of them: `/proc/pressure # cat memory`.
    if let [folder] = paths.as_slice()
        && let Some((before, command)) = line.split_once(" # ").or_else(|| line.split_once(" $ "))
        && before.trim_end().ends_with(folder.as_str())
    {
        let folder = folder.trim_end_matches('/').to_owned();
        let files = command.split_whitespace().skip(1).filter(|word| !word.starts_with(['-', '/']));
        paths = files.map(|file| format!("{folder}/{file}")).collect();
    }
    paths.truncate(MOST);
    paths
}

/// `/proc/vmstat:nr_free_pages 12`, as grep prints it of several files: the path, and the line.
fn with_path(line: &str) -> Option<(&str, &str)> {
    if !line.starts_with("/proc/") && !line.starts_with("/sys/fs/cgroup/") {
        return None;
    }
    let end = line.find(|c: char| c == ':' || c.is_whitespace())?;
    let behind = line[end..].strip_prefix(':')?;
    (!behind.trim().is_empty()).then_some((&line[..end], behind.trim()))
}

/// `vmstat.1365194085:pgscan_kswapd_normal 10444`, as grep prints it of files that a loop wrote: of which file it is, when that was written, and the
/// line.
fn of_series(line: &str) -> Option<(&'static KernelFile, i64, &str)> {
    let (file, rest) = line.split_once(':').filter(|(file, _)| !file.contains(char::is_whitespace))?;
    let name = file.rsplit('/').next().unwrap_or(file);
    // Seconds since 1970 have ten digits from 2001 to 2286.
    let seconds =
        name.split(|c: char| !c.is_ascii_digit()).find(|digits| digits.len() == 10 && digits.starts_with('1'))?;
    let of = FILES.iter().find(|one| one.path.rsplit('/').next().is_some_and(|stem| name.contains(stem)))?;
    let rest = rest.trim();
    let words: Vec<&str> = rest.split_whitespace().collect();
    let at = seconds.parse::<i64>().ok()?.checked_mul(SECOND)?;
    ((of.fits)(&words) && !of.source.starts_with("psi_")).then_some((of, at, rest))
}

/// A prompt of a shell with a command behind it.
fn is_prompt(line: &str) -> bool {
    let line = line.trim_start();
    let is_bare = line.starts_with("$ ") || line.starts_with("# ");
    is_bare || ["]# ", "]$ ", ":~# ", ":~$ "].iter().any(|prompt| line.contains(prompt))
}

/// A comment of an exporter, which says of which file a number is.
fn is_comment(line: &str) -> bool {
    ["# HELP ", "# TYPE ", "# UNIT "].iter().any(|beginning| line.starts_with(beginning))
}

/// A line of `numastat`, as `/proc/vmstat` has the sum of its nodes. In lines of one number they are of that file itself. With `-c` and `-n` the names
/// have capitals, the numbers are MB, and the last one is the sum.
fn of_numastat(words: &[&str]) -> Option<String> {
    /// Pages of 4 KiB; for the part that missed it does not matter.
    const PAGES_OF_MB: f64 = 256.0;
    let (own, numbers) = words.split_first().filter(|(_, numbers)| !numbers.is_empty())?;
    let of_mb = NUMASTAT.iter().find(|(printed, _)| printed != own && own.eq_ignore_ascii_case(printed));
    if let Some((_, name)) = of_mb.filter(|_| numbers.len() > 1) {
        let numbers: Option<Vec<f64>> = numbers.iter().map(|word| word.parse().ok()).collect();
        let sum = numbers?.last().copied().filter(|sum| (0.0..1e12).contains(sum))?;
        return Some(format!("{name} {}", (sum * PAGES_OF_MB) as u64));
    }
    let (printed, name) = NUMASTAT.iter().find(|(printed, _)| printed == own)?;
    let add = |sum: Option<u64>, word: &&str| sum?.checked_add(word.parse::<u64>().ok()?);
    let sum = numbers.iter().fold(Some(0), add)?;
    (numbers.len() > 1 || printed != name).then(|| format!("{name} {sum}"))
}

/// `allocstall_normal  263210  190763  -72447  -28.00`, `*pswpin  1486615  512238`: two totals of one counter side by side, of two kernels or before and
/// after a change. The first, as a line of `/proc/vmstat`: which of the two is the host that is asked about nobody can tell from the table.
fn of_two_columns(words: &[&str]) -> Option<String> {
    let [name, one, other, rest @ ..] = words else { return None };
    let name = name.trim_start_matches('*');
    let are_numbers = [one, other].iter().all(|word| is_number(word));
    // Behind them stand their difference and their ratio.
    let is_table = are_numbers && rest.len() <= 2 && rest.iter().all(|word| word.parse::<f64>().is_ok());
    (is_table && is_vmstat(name) && !name.ends_with("_total")).then(|| format!("{name} {one}"))
}

/// The command that prints a text, where only the name of the file that it was kept in says of which of the kernel's files it is: pressure in
/// `memory.txt`, a group's numbers in `memory.stat`. `None`: the text says it, or neither does.
pub(super) fn command_of(file_name: &str, text: &str) -> Option<String> {
    let name = file_name.to_ascii_lowercase();
    let has_word = |word: &str| name.split(|c: char| !c.is_ascii_alphanumeric()).any(|part| part == word);
    let is_pressure_of =
        |file: &&KernelFile| file.source.starts_with("psi_") && file.path.rsplit('/').next().is_some_and(has_word);
    let of_group = GROUP_FILES.iter().find(|file| name.contains(file.path));
    let file = of_group.or_else(|| FILES.iter().find(is_pressure_of))?;
    let fits = |line: &str| (file.fits)(&line.split_whitespace().collect::<Vec<&str>>());
    let is_of_it = text.lines().any(fits) && text.lines().all(|line| paths(line).is_empty() && !is_prompt(line));
    is_of_it.then(|| format!("$ cat {}", file.path))
}

/// Whether a line is of such a file, or names one.
pub(super) fn recognises(line: &str) -> bool {
    if is_comment(line) {
        return false;
    }
    let words: Vec<&str> = line.split_whitespace().collect();
    let is_here = is_prompt(line) && words.iter().any(|word| !word.contains('/') && group_file(word).is_some());
    let is_named = is_here || paths(line).iter().any(|path| file_of(path).is_some() || group_file(path).is_some());
    is_named
        || FILES.iter().any(|file| (file.is_only)(&words))
        || of_numastat(&words).is_some()
        || of_two_columns(&words).is_some()
        || of_summary(line, &SUMMARY.map(|(printed, ..)| printed)).is_some()
        || !of_nodes(&words).is_empty()
        || OfZones::of(line.trim(), &words) == Some(OfZones::Head)
        || of_page_types(&words).is_some()
        || of_crash(line).is_some()
        || of_earlyoom(line).is_some()
        || of_nohang(line).is_some()
        || of_mem2log(line).is_some()
        || side_by_side(&words).is_some()
        || with_path(line).is_some_and(|(_, rest)| recognises(rest))
        || of_series(line).is_some()
        || allocations::is_row(line)
}

impl Parser for Proc {
    fn line(&mut self, number: usize, line: &str) -> Result<(), Problem> {
        let text = line.trim();
        // A comment in a program.
        let text = text.strip_prefix("* ").map_or(text, str::trim);
        let words: Vec<&str> = text.split_whitespace().collect();
        if let Some(cells) = side_by_side(&words) {
            return cells.iter().try_for_each(|cell| self.line(number, cell));
        }
        if words.is_empty() {
            if !matches!(self.section, Section::Named(_)) {
                self.section = Section::ByForm;
            }
            return Ok(());
        }
        if self.of_places(text, number)? {
            return Ok(());
        }
        if is_of_page_types(text) {
            self.close_kinds()?;
            self.has_kinds = true;
            return Ok(());
        }
        let is_named = matches!(self.section, Section::Named(file) if file.path == "/proc/buddyinfo");
        if self.has_kinds && is_buddies(&words) && !is_named {
            return self.close_kinds();
        }
        if self.zone(text, &words, number)? {
            return Ok(());
        }

        self.close_zones()?;
        if self.of_kinds(&words, number)? || self.of_dump(text, number)? || self.of_daemon(text, number)? {
            return Ok(());
        }
        if self.summary(text, number)? || self.nodes(&words, number)? {
            return Ok(());
        }
        let pair = of_numastat(&words).or_else(|| of_two_columns(&words));
        if let Some((pair, counters)) = pair.zip(file_of("/proc/vmstat")) {
            return self.take(counters, &pair, number, line);
        }
        if is_comment(text) {
            self.section = Section::Other;
            self.snapshots.listing.reject(number, line);
            return Ok(());
        }
        if let Some((file, at, behind)) = of_series(text) {
            return self.take_at(Some(at), file, behind, number, line);
        }
        if let Some((path, behind)) = with_path(text) {
            // Two lines of pressure in one.
            if let Some((some, full)) = behind.split_once(" full avg").filter(|_| behind.starts_with("some avg")) {
                self.line(number, &format!("{path}:{}", some.trim_end()))?;
                return self.line(number, &format!("{path}:full avg{full}"));
            }
            let behind_words: Vec<&str> = behind.split_whitespace().collect();
            let of_group = group_file(path);
            if let Some((_, group)) = of_group {
                group.clone_into(&mut self.group);
            }
            match file_of(path).or(of_group.map(|(file, _)| file)) {
                Some(file) if (file.fits)(&behind_words) => return self.take(file, behind, number, line),
                Some(_) => self.snapshots.listing.reject(number, line),
                None => {
                    if self.files_left.len() < 200 {
                        self.files_left.insert(super::words::quoted(path));
                    }
                }
            }
            return Ok(());
        }
        if !paths(text).is_empty() {
            self.names(text);
            return Ok(());
        }
        // A size reads like seconds since 1970.
        if let Section::Named(file) = self.section
            && file.source == GROUP_NUMBER
            && (file.fits)(&words)
        {
            self.section = Section::ByForm;
            return self.take(file, text, number, line);
        }
        if let Some((stamp, _)) = Stamp::of_line(text) {
            self.close_allocations()?;
            self.snapshots.stamp(stamp);
            self.section = Section::ByForm;
            return Ok(());
        }
        if is_prompt(text) {
            self.snapshots.pause(text);
            // `cat memory.stat` in the folder of a group.
            let here = words.iter().filter(|word| !word.contains('/')).find_map(|word| group_file(word));
            self.section = here.map_or(Section::ByForm, |(file, _)| Section::Named(file));
            if here.is_some() {
                self.group.clear();
            }
            return Ok(());
        }
        // `Linux host 2.6.32-220.el6.x86_64 #1 SMP …`, `Linux version 2.6.32-…`.
        if let ["Linux", _, release, ..] = words.as_slice()
            && release.starts_with(|c: char| c.is_ascii_digit())
            && release.contains('.')
        {
            self.snapshots.listing.about("kernel", *release);
            return Ok(());
        }
        if let Some(file) = self.file(&words) {
            // Lines of pressure take turns.
            if !matches!(self.section, Section::Named(_)) && !is_pressure(&words) {
                self.section = Section::Like(file);
            }
            return self.take(file, text, number, line);
        }
        // Groups have some of vmstat's names in memory.stat, which begins with one of these.
        let is_group = matches!(words.as_slice(), ["cache" | "rss" | "anon" | "file", number] if is_number(number));
        let begins_a_group =
            is_group && matches!(words[0], "cache" | "anon") && matches!(self.section, Section::ByForm);
        if begins_a_group && let Some((file, _)) = group_file("memory.stat") {
            self.section = Section::Like(file);
            self.group.clear();
            return self.take(file, text, number, line);
        }
        match self.section {
            Section::Other => {}
            _ if is_group => {
                self.files_left.insert("memory.stat".to_owned());
                self.section = Section::Other;
            }
            Section::Named(_) => self.snapshots.listing.reject(number, line),
            Section::ByForm | Section::Like(_) => {
                self.section = Section::ByForm;
                self.snapshots.listing.reject(number, line);
            }
        }
        Ok(())
    }

    /// Only a unit behind the number tells that it is whole.
    fn is_whole(&self, line: &str, _: &str) -> bool {
        line.trim_end().ends_with(" kB")
    }

    fn finish(mut self: Box<Self>) -> Result<Listing, Problem> {
        self.close_zones()?;
        self.close_kinds()?;
        self.close_allocations()?;
        let nothing = self.snapshots.listing.nothing("number of a kernel file below /proc", REMEDY);
        let left = super::words::left_out(Kind::Proc, &self.files_left, &BTreeSet::new());
        let mut listing = self.snapshots.finish()?.ok_or(nothing)?;
        leave_out_container(&mut listing);
        if let Some(detail) = left {
            listing.gap(Some(SOURCE), GapReason::Other("not_imported".to_owned()), detail);
        }
        Ok(listing)
    }
}

#[cfg(test)]
mod tests;

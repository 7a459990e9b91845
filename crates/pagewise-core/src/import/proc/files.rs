//! Files of the kernel that are understood, and what of a line says which of them it is of.

use super::super::times::SECOND;
use crate::kernel_text::visit::Parse;
use crate::kernel_text::{buddyinfo, controllers, meminfo, psi, stat, vmstat, zoneinfo};

pub(super) const ZONEINFO: &str = "/proc/zoneinfo";
pub(super) const CGROUPS: &str = "/proc/cgroups";

/// A file that is understood.
#[derive(Debug)]
pub(super) struct KernelFile {
    pub(super) path: &'static str,
    pub(super) source: &'static str,
    pub(super) parse: Parse,
    /// Whether a line can be of this file, when it is named above.
    pub(super) fits: fn(&[&str]) -> bool,
    /// Whether a line can be of this file and of no other.
    pub(super) is_only: fn(&[&str]) -> bool,
}

pub(super) const FILES: &[KernelFile] = &[
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
pub(super) const GROUP_FILES: &[KernelFile] = &[
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

pub(super) const GROUP_NUMBER: &str = "cgroup_memory";

/// Where groups are mounted.
const GROUP_MOUNTS: [&str; 5] =
    ["/sys/fs/cgroup/memory", "/sys/fs/cgroup/unified", "/sys/fs/cgroup", "/dev/cgroup", "/cgroup"];

/// The file of a group that a path names, and the group; nothing of it where only the file is named, in the folder of a shell.
pub(super) fn group_file(path: &str) -> Option<(&'static KernelFile, &str)> {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let file = GROUP_FILES.iter().find(|file| file.path == name)?;
    let group = GROUP_MOUNTS.iter().find_map(|mount| folder.strip_prefix(mount)).unwrap_or(folder);
    Some((file, group))
}

const fn file(
    path: &'static str,
    source: &'static str,
    parse: Parse,
    fits: fn(&[&str]) -> bool,
    is_only: fn(&[&str]) -> bool,
) -> KernelFile {
    KernelFile { path, source, parse, fits, is_only }
}

pub(super) fn is_number(word: &str) -> bool {
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
pub(super) fn is_vmstat(name: &str) -> bool {
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
pub(super) fn is_size(words: &[&str]) -> bool {
    match words {
        [name, number] | [name, number, "kB"] => {
            name.len() > 1 && name.ends_with(':') && !name[..name.len() - 1].contains(':') && is_number(number)
        }
        _ => false,
    }
}

/// Names that neither `/proc/PID/status` nor `smaps` has.
pub(super) fn is_meminfo(name: &str) -> bool {
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
pub(super) fn is_buddies(words: &[&str]) -> bool {
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

/// `some avg10=0.00 avg60=0.00 avg300=0.00 total=0`. Somebody may have left the last of them out.
pub(super) fn is_pressure(words: &[&str]) -> bool {
    let ["some" | "full", first, rest @ ..] = words else { return false };
    let is_average = |word: &str| word.starts_with("avg") && word.contains('=');
    let averages = match rest {
        [averages @ .., total] if total.starts_with("total=") => averages,
        averages => averages,
    };
    is_average(first) && averages.iter().all(|word| is_average(word))
}

pub(super) fn file_of(path: &str) -> Option<&'static KernelFile> {
    FILES.iter().find(|file| file.path == path)
}

/// Paths of the kernel's trees in a line; `/proc/pressure/{cpu,io}` is two, and of `/proc/pressure/*` the shell makes three.
pub(super) fn paths(line: &str) -> Vec<String> {
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
pub(super) fn with_path(line: &str) -> Option<(&str, &str)> {
    if !line.starts_with("/proc/") && !line.starts_with("/sys/fs/cgroup/") {
        return None;
    }
    let end = line.find(|c: char| c == ':' || c.is_whitespace())?;
    let behind = line[end..].strip_prefix(':')?;
    (!behind.trim().is_empty()).then_some((&line[..end], behind.trim()))
}

/// `vmstat.1365194085:pgscan_kswapd_normal 10444`, as grep prints it of files that a loop wrote: of which file it is, when that was written, and the
/// line.
pub(super) fn of_series(line: &str) -> Option<(&'static KernelFile, i64, &str)> {
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

//! Text of files below `/proc`, as people paste it and as collectors keep it: `vmstat`, `meminfo`, `stat`, `buddyinfo` and
//! `pressure/*`, once or several times, with commands, file names and dates between.
//!
//! Which file a line is of is known from the line above that names it, or else from its form, where no other file has such
//! lines. What a line means is known to [`kernel_text`](crate::kernel_text), which reads the live files, too.

use super::listing::Listing;
use super::merge::Assumed;
use super::snapshots::{Snapshots, Taken};
use super::times::Stamp;
use super::{Kind, Parser, Problem, SOURCE};
use crate::counter::describe;
use crate::kernel_text::visit::{Each, Number, Parse, node_and_zone};
use crate::kernel_text::{buddyinfo, meminfo, psi, stat, vmstat};
use crate::recording::GapReason;
use std::collections::{BTreeSet, VecDeque};

const REMEDY: &str = "give the text of /proc/vmstat, /proc/meminfo, /proc/stat, /proc/buddyinfo or /proc/pressure/memory, best \
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
    file("/proc/buddyinfo", "buddyinfo", buddyinfo::visit, is_buddies, is_buddies),
    // These three look alike: without a name above it is not known which resource a line is about.
    file("/proc/pressure/memory", "psi_memory", psi::visit, is_pressure, |_| false),
    file("/proc/pressure/io", "psi_io", psi::visit, is_pressure, |_| false),
    file("/proc/pressure/cpu", "psi_cpu", psi::visit, is_pressure, |_| false),
];

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
    matches!(words, [name, number] if is_name(name) && is_number(number))
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

/// `some avg10=0.00 avg60=0.00 avg300=0.00 total=0`.
fn is_pressure(words: &[&str]) -> bool {
    matches!(words, ["some" | "full", averages @ .., total]
        if averages.len() == 3 && averages.iter().all(|word| word.starts_with("avg")) && total.starts_with("total="))
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
    files_left: BTreeSet<String>,
}

impl Proc {
    pub(super) fn new(assumed: &Assumed) -> Proc {
        Proc {
            snapshots: Snapshots::new(Kind::Proc, assumed.interval),
            section: Section::ByForm,
            pressures: VecDeque::new(),
            has_some: false,
            files_left: BTreeSet::new(),
        }
    }

    /// `$ grep nr_ /proc/vmstat`, `==> /proc/meminfo <==`: which files follow.
    fn names(&mut self, line: &str) {
        self.snapshots.pause(line);
        let named: Vec<&'static KernelFile> = paths(line).into_iter().filter_map(|path| file_of(&path)).collect();
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
        let mut taken = Vec::new();
        let mut each = Each(|read: Number<'_, '_>| {
            let labels: Vec<String> = read.labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
            taken.push((read.name.to_owned(), labels.join(","), read.value, read.says_kib));
        });
        if (file.parse)(text, &mut each).is_err() {
            self.snapshots.listing.reject(number, line);
            return Ok(());
        }
        for (name, labels, value, says_kib) in taken {
            let (unit, moves) = describe(file.source, &name, says_kib);
            let taken = Taken { source: file.source, name: &name, labels: &labels, unit, moves, value };
            self.snapshots.put(&taken, None, number)?;
        }
        Ok(())
    }
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
    paths.truncate(MOST);
    paths
}

/// `/proc/vmstat:nr_free_pages 12`, as grep prints it of several files: the path, and the line.
fn with_path(line: &str) -> Option<(&str, &str)> {
    let rest = line.strip_prefix("/proc/")?;
    let end = rest.find(|c: char| c == ':' || c.is_whitespace())?;
    let behind = rest[end..].strip_prefix(':')?;
    (!behind.trim().is_empty()).then_some((&line[.."/proc/".len() + end], behind.trim()))
}

/// A prompt of a shell with a command behind it.
fn is_prompt(line: &str) -> bool {
    let line = line.trim_start();
    let is_bare = line.starts_with("$ ") || line.starts_with("# ");
    is_bare || ["]# ", "]$ ", ":~# ", ":~$ "].iter().any(|prompt| line.contains(prompt))
}

/// Whether a line is of such a file, or names one.
pub(super) fn recognises(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    let is_named = paths(line).iter().any(|path| file_of(path).is_some());
    is_named
        || FILES.iter().any(|file| (file.is_only)(&words))
        || with_path(line).is_some_and(|(_, rest)| recognises(rest))
}

impl Parser for Proc {
    fn line(&mut self, number: usize, line: &str) -> Result<(), Problem> {
        let text = line.trim();
        let words: Vec<&str> = text.split_whitespace().collect();
        if words.is_empty() {
            if matches!(self.section, Section::Other) {
                self.section = Section::ByForm;
            }
            return Ok(());
        }
        if let Some((path, behind)) = with_path(text) {
            let behind_words: Vec<&str> = behind.split_whitespace().collect();
            match file_of(path) {
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
        if let Some((stamp, _)) = Stamp::of_line(text) {
            self.snapshots.stamp(stamp);
            self.section = Section::ByForm;
            return Ok(());
        }
        if is_prompt(text) {
            self.snapshots.pause(text);
            self.section = Section::ByForm;
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
            if !matches!(self.section, Section::Named(_)) {
                self.section = Section::Like(file);
            }
            return self.take(file, text, number, line);
        }
        // Zones of zoneinfo repeat vmstat's names, and groups have some of them in memory.stat.
        let is_zone = node_and_zone(text).is_some_and(|(_, _, rest)| rest.trim().is_empty());
        let is_group = matches!(words.as_slice(), ["cache" | "rss" | "anon" | "file", number] if is_number(number));
        match self.section {
            Section::Other => {}
            _ if is_zone || is_group => {
                self.files_left.insert(if is_zone { "zoneinfo" } else { "memory.stat" }.to_owned());
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

    fn finish(self: Box<Self>) -> Result<Listing, Problem> {
        let nothing = self.snapshots.listing.nothing("number of a kernel file below /proc", REMEDY);
        let left = super::words::left_out(Kind::Proc, &self.files_left, &BTreeSet::new());
        let mut listing = self.snapshots.finish()?.ok_or(nothing)?;
        if let Some(detail) = left {
            listing.gap(Some(SOURCE), GapReason::Other("not_imported".to_owned()), detail);
        }
        Ok(listing)
    }
}

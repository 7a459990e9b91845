//! The kernel's log, as dmesg, journalctl -k, klogd and syslog write it (2.4 to 6.x): processes killed for want of memory, allocations that
//! failed, tasks that were held up, and what the kernel wrote of memory then.
//!
//! Most lines of a log are about something else; they are passed over, and only what looks like one of these and cannot be read is
//! counted as not understood. Totals are known at every instant that has a row: they count from the first line.

use super::gc_log;
use super::held_up::{self, HeldUp};
use super::kernel_line::{KernelLine, split};
use super::listing::{Listing, ListingClock, MOST_KIB, count};
use super::mem_info::{self, MemInfo};
use super::threads::{Threads, kernel_thread};
use super::times::{Running, SECOND};
use super::words::{is_label, is_number, quoted};
use super::{Kind, Parser, Problem, SOURCE};
use crate::counter::Kind as Moves;
use crate::recording::RawUnit;
use std::collections::{BTreeMap, BTreeSet};

const REMEDY: &str = "give what dmesg or journalctl -k prints, or /var/log/messages, with the lines of the kernel";

/// No line of which only a part has come yet is longer.
const LONGEST_BROKEN: usize = 400;

/// No more of them have marks.
const MOST_MARKS: usize = 1000;

/// No more control groups have series.
const MOST_GROUPS: usize = 64;

/// No more blocks of what memory was used for are kept.
const MOST_BLOCKS: usize = 10_000;

/// A log that is shorter was cut out of one.
const LONG_ENOUGH: i64 = 600 * SECOND;

/// Lines of other CPUs come late by less; a clock that goes back further was set back, or the host booted again.
const OUT_OF_ORDER: i64 = 60 * SECOND;

/// A function of the kernel in a trace of a killing, and in no other: the report's beginning was cut where nobody was said to ask for memory.
fn is_of_killing(text: &str) -> bool {
    let is_of_trace = text.contains("+0x") && text.contains("/0x");
    is_of_trace && text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').any(|name| name == "oom_kill_process")
}

/// `SLUB: Unable to allocate memory on node -1, gfp=0xa20(GFP_ATOMIC)` (`mm/slub.c`, 2.6.22 and later; `(gfp=0x20)` to 4.14): what was asked for is in the
/// next line.
fn lacks_slab(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("SLUB: Unable to allocate memory on ")?;
    rest.split_once("gfp=").map(|(_, mode)| mode)
}

/// `  cache: p_ed_pids, object size: 274832, buffer size: 274880, default order: 7, min order: 7`: the name of the cache, and the smallest block
/// that would do.
fn of_slab(text: &str) -> Option<FailedCache<'_>> {
    let (name, rest) = text.trim().strip_prefix("cache: ")?.split_once(", object size: ")?;
    let (_, order) = rest.split_once("min order: ")?;
    let (_, bytes) = rest.split_once("buffer size: ")?;
    let bytes = bytes.split(',').next()?.trim().parse().ok()?;
    let order = order.trim().parse().ok().filter(|order| *order < 64)?;
    Some(FailedCache { name, bytes, order })
}

/// A cache that got no slab.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FailedCache<'t> {
    name: &'t str,
    /// Of an object with all that stands around it.
    bytes: u64,
    order: u32,
}

impl FailedCache<'_> {
    /// `kmalloc-1024(1793:c8edef)`: the cache of a control group, which is within that group's limit (2.6.38 to 5.8, `mm/slab_common.c`).
    fn is_of_group(&self) -> bool {
        self.name.ends_with(')') && self.name.contains('(')
    }
}

/// `  node 0: slabs: 29822, objs: 29822, free: 0`, below that: objects of a node.
fn slabs_of_node(text: &str) -> Option<u64> {
    let (node, rest) = text.trim().strip_prefix("node ")?.split_once(": slabs: ")?;
    let (_, rest) = rest.split_once(", objs: ")?;
    let (objects, _) = rest.split_once(", free: ")?;
    is_number(node).then(|| objects.parse().ok())?
}

/// What a group's memory is made of, in the report of a killing at its limit (`mem_cgroup_print_oom_meminfo`, `mm/memcontrol.c`, 4.19 and later): no
/// report of the whole host has it.
fn is_of_group(text: &str) -> bool {
    const NAMES: [&str; 4] = ["workingset_refault_file", "workingset_nodereclaim", "pglazyfreed", "pgdeactivate"];
    let mut words = text.split_whitespace();
    words.next().is_some_and(|name| NAMES.contains(&name))
        && words.next().is_some_and(is_number)
        && words.next().is_none()
}

/// What stands above the processes that could be killed (`dump_tasks`, `mm/oom_kill.c`, 4.20 and later).
fn heads_processes(text: &str) -> bool {
    text == "Tasks state (memory values in pages):"
}

/// The beginning of a line that a mail program broke before it said what was asked for.
fn is_broken(text: &str) -> bool {
    let is_before_mode =
        text.contains(": page allocation ") && !text.contains("mode:") && text.trim_end().ends_with([',', ':', '.']);
    // A terminal broke it where it ended.
    let is_of_slab = text.contains("cache: ") && text.contains(", object size: ") && !text.contains("min order: ");
    is_before_mode
        || is_of_slab
        || text.trim_end().ends_with(": page")
        || text.trim_end().ends_with(": page allocation")
}

/// Whether a line is of a kernel's log, by what stands in front of it or by what it says.
pub(super) fn recognises(line: &str) -> bool {
    // It stands in brackets and has clocks, too.
    if gc_log::is_of_unified_log(line) {
        return false;
    }
    let line = split(line);
    line.is_marked && (line.since_boot.is_some() || line.stamp().is_some()) || says(line.text)
}

/// What nothing but the kernel writes.
fn says(text: &str) -> bool {
    killed(text).is_some()
        || killed_by_daemon(text).is_some()
        || invoked(text).is_some()
        || failed(text).is_some()
        || held_up::head(text).is_some()
        || held_up::allocation_stall(text).is_some()
        || mem_info::recognises(text)
        || is_group_use(text)
        || of_process(text)
        || held_up::listed(text).is_some()
        || held_up::is_of_trace(text)
        || is_of_killing(text)
        || lacks_slab(text).is_some()
        || heads_processes(text)
}

/// By what instants are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Clock {
    /// No line was seen yet.
    Open,
    /// By the time since boot, so much behind the listing's clock.
    Boot(i64),
    /// By what a daemon or dmesg wrote in front.
    Stamps { has_date: bool },
    /// By nothing: what happens is drawn a second apart.
    Bare,
}

/// Whose limit was met.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Limit {
    Host,
    /// Of a control group; its path, where that is said.
    Group(String),
}

/// Who asked for a killing, as far as its report says.
#[derive(Clone, Copy, Debug, Default)]
struct OomCall {
    by_hand: bool,
    /// Of the allocation that could not be met.
    order: u32,
}

/// What a report of a killing has said so far.
#[derive(Clone, Debug)]
struct Report {
    at: i64,
    /// Who is about to be killed was said, and counted.
    is_counted: bool,
    call: OomCall,
    group: Option<String>,
}

/// Up to this order the kernel does all it can for an allocation that may wait, and kills somebody for it (`PAGE_ALLOC_COSTLY_ORDER`,
/// `include/linux/mmzone.h`; `__alloc_pages_may_oom`, `mm/page_alloc.c`).
pub(crate) const COSTLY: u32 = 3;

/// Lines of a report of RCU up to the task that has the CPU: one for each CPU that is waited for, and modules.
const LONGEST_RCU_STALL: usize = 60;

/// Lines of the report of a task that never left its CPU: modules, registers and its functions.
const LONGEST_TRACE: usize = 120;

#[derive(Debug)]
pub(super) struct KernelLog {
    listing: Listing,
    running: Running,
    clock: Clock,
    last_raw: Option<i64>,
    /// Where the last line stands, to the second.
    now: i64,
    first: Option<i64>,
    report: Option<Report>,
    kills: Vec<i64>,
    kills_in: BTreeMap<String, Vec<i64>>,
    /// By series: name and labels.
    failures: BTreeMap<(&'static str, String), Vec<i64>>,
    memory: Option<MemInfo>,
    blocks: Vec<MemInfo>,
    held_up: HeldUp,
    /// Threads of the kernel that were found on a CPU for many seconds.
    threads: Threads,
    /// The last of them, and how many lines may yet be of its trace.
    on_cpu: Option<(String, usize)>,
    /// Those that waited for another CPU, which did not answer, and worked at nothing.
    kept_waiting: BTreeSet<String>,
    /// So many lines may yet be of the report of a CPU that RCU waits for.
    of_rcu_stall: usize,
    /// The beginning of a line that was broken.
    broken: Option<String>,
    /// How a slab was asked for that could not be had.
    slab: Option<String>,
    /// The cache that was said to want one, and the bytes of its objects.
    wanting: Option<(String, u64)>,
    /// What caches had when they got no slab: KiB by cache and instant.
    caches: BTreeMap<(String, i64), u64>,
    /// What a group's memory is made of was told, so the report is of a killing at its limit.
    is_of_group: bool,
    /// Order and instant of the last allocation that failed: who asked for it for a slab may say so as well.
    last_failure: Option<(u32, i64)>,
    /// Whom a daemon ended, by pid: it may have to be asked twice.
    ended: BTreeSet<String>,
    /// Instants that are worth a row.
    instants: BTreeSet<i64>,
    marks: usize,
}

impl KernelLog {
    pub(super) fn new() -> KernelLog {
        KernelLog {
            listing: Listing::new(Kind::KernelLog, ListingClock::Foreign),
            running: Running::default(),
            clock: Clock::Open,
            last_raw: None,
            now: 0,
            first: None,
            report: None,
            kills: Vec::new(),
            kills_in: BTreeMap::new(),
            failures: BTreeMap::new(),
            memory: None,
            blocks: Vec::new(),
            held_up: HeldUp::default(),
            threads: Threads::default(),
            on_cpu: None,
            kept_waiting: BTreeSet::new(),
            of_rcu_stall: 0,
            broken: None,
            slab: None,
            wanting: None,
            caches: BTreeMap::new(),
            is_of_group: false,
            last_failure: None,
            ended: BTreeSet::new(),
            instants: BTreeSet::new(),
            marks: 0,
        }
    }

    /// Who had a CPU for many seconds and did not leave the kernel.
    fn stuck_on_cpu(&mut self, text: &str) -> Option<String> {
        let in_rcu_stall = self.of_rcu_stall > 0;
        self.of_rcu_stall =
            if held_up::is_rcu_stall(text) { LONGEST_RCU_STALL } else { self.of_rcu_stall.saturating_sub(1) };
        let of_rcu_stall = || held_up::on_cpu(text).filter(|_| in_rcu_stall);
        held_up::soft_lockup(text).map(|(comm, ..)| comm.to_owned()).or_else(of_rcu_stall)
    }

    /// Where a line stands.
    fn read_clock(&mut self, line: &KernelLine<'_>, number: usize) {
        if matches!(self.clock, Clock::Open | Clock::Bare) && self.first.is_none_or(|_| self.instants.is_empty()) {
            let stamp = line.stamp();
            self.clock = match (line.since_boot, stamp) {
                (Some(boot), stamp) => {
                    self.listing.clock = stamp.map_or(ListingClock::Foreign, |stamp| stamp.clock);
                    Clock::Boot(stamp.map_or(0, |stamp| stamp.at.saturating_sub(boot)))
                }
                (None, Some(stamp)) => {
                    self.listing.clock = stamp.clock;
                    Clock::Stamps { has_date: stamp.clock != ListingClock::TimeOfDay }
                }
                (None, None) => Clock::Bare,
            };
        }
        let (raw, has_date) = match self.clock {
            Clock::Boot(offset) => (line.since_boot.map(|boot| boot.saturating_add(offset)), true),
            Clock::Stamps { has_date } => {
                (line.stamp().filter(|stamp| stamp.clock == self.listing.clock).map(|stamp| stamp.at), has_date)
            }
            Clock::Open | Clock::Bare => (None, false),
        };
        if let Some(raw) = raw.map(|raw| raw.div_euclid(SECOND).saturating_mul(SECOND)) {
            let is_late = self.last_raw.is_some_and(|last| raw <= last && last - raw < OUT_OF_ORDER);
            if !is_late {
                let at = self.listing.instant(&mut self.running, raw, has_date, number);
                self.now = at.div_euclid(SECOND).saturating_mul(SECOND);
                self.last_raw = Some(raw);
            }
        }
        self.first = self.first.or(Some(self.now));
    }

    /// Something happened now. Where lines have no time it is a second after what came before.
    fn event(&mut self) -> i64 {
        if self.clock == Clock::Bare {
            self.now += SECOND;
        }
        // Just before it had not happened yet.
        self.instants.extend([self.now - 2 * SECOND, self.now - SECOND, self.now]);
        self.now
    }

    fn mark(&mut self, at: i64, text: String) {
        if self.marks < MOST_MARKS {
            self.listing.mark(at, text);
        }
        self.marks += 1;
    }

    /// Of an allocation of that order, where it is known.
    fn kill(&mut self, at: i64, limit: &Limit, order: u32) {
        match limit {
            Limit::Host => {
                self.kills.push(at);
                // Nobody is killed for larger ones.
                if (1..=COSTLY).contains(&order) {
                    self.failures.entry(("killed_for_large", format!("order={order}"))).or_default().push(at);
                }
            }
            Limit::Group(path) => {
                let is_kept = is_label(path) && !path.is_empty();
                let is_room = self.kills_in.len() < MOST_GROUPS || self.kills_in.contains_key(path);
                let name = if is_kept && is_room { path.clone() } else { "not told".to_owned() };
                self.kills_in.entry(name).or_default().push(at);
            }
        }
    }

    /// A report that never said who was killed, because the log was cut there.
    /// A report of a killing begins here, or the first line of it that is left.
    fn begin_report(&mut self, call: OomCall, group: Option<String>) {
        let at = self.event();
        self.report = Some(Report { at, is_counted: false, call, group });
    }

    fn close_report(&mut self) {
        let Some(report) = self.report.take().filter(|report| !report.is_counted && !report.call.by_hand) else {
            return;
        };
        let limit = report.group.map_or(Limit::Host, Limit::Group);
        self.kill(report.at, &limit, report.call.order);
        let whose = if limit == Limit::Host { "the host" } else { "a control group" };
        self.mark(
            report.at,
            format!("{whose} had no memory left, and something was killed: the line that names it is not in the log"),
        );
    }

    /// A killing, an allocation that failed, or a line of the report of one.
    fn take_shortage(&mut self, text: &str) {
        let objects = slabs_of_node(text);
        if objects.is_none() {
            self.wanting = None;
        }
        if let Some(killed) = killed(text) {
            self.take_kill(&killed);
        } else if let Some((who, pid)) = killed_by_daemon(text) {
            self.take_kill_by_daemon(text, who, pid);
        } else if let Some(call) = invoked(text) {
            self.close_report();
            self.begin_report(call, None);
            self.is_of_group = false;
        } else if let Some(failure) = failed(text) {
            self.take_failure(&failure);
        } else if let Some(mode) = lacks_slab(text) {
            self.slab = Some(mode.to_owned());
        } else if let Some(wanted) = of_slab(text) {
            self.take_slab(&wanted);
        } else if let Some(objects) = objects {
            self.take_objects(objects);
        } else if (of_process(text) || heads_processes(text)) && self.report.is_none() {
            // Nothing else lists processes so, and it lists them before it kills one.
            let group = std::mem::take(&mut self.is_of_group).then(String::new);
            self.begin_report(OomCall::default(), group);
        } else if is_of_killing(text) && self.report.is_none() {
            self.begin_report(OomCall::default(), None);
        } else if is_group_use(text) && self.report.is_none() {
            // The report's beginning was cut: this stands in nothing else.
            self.begin_report(OomCall::default(), Some(String::new()));
        } else if let Some(path) = group(text)
            && let Some(report) = self.report.as_mut()
            && report.group.as_ref().is_none_or(String::is_empty)
        {
            report.group = Some(path.to_owned());
        }
    }

    fn take_kill_by_daemon(&mut self, text: &str, who: &str, pid: Option<&str>) {
        let is_new = pid.is_none_or(|pid| self.ended.len() < MOST_MARKS && self.ended.insert(pid.to_owned()));
        if !is_new {
            return;
        }
        let at = self.event();
        // Pressure on a group may be due to a limit of its own.
        let behind = text.split_once(" due to memory pressure for ").map(|(_, behind)| behind);
        let group = behind.and_then(|behind| behind.split_whitespace().next());
        self.kill(at, &group.map_or(Limit::Host, |group| Limit::Group(group.to_owned())), 0);
        self.mark(at, format!("killed by a daemon for want of memory: {}", quoted(who)));
    }

    /// The cache of objects for which an allocation failed.
    fn take_slab(&mut self, wanted: &FailedCache<'_>) {
        let is_told = self.last_failure.is_some_and(|(of, at)| of == wanted.order && self.now - at <= SECOND);
        if let Some(mode) = self.slab.take().filter(|_| !is_told) {
            if wanted.is_of_group() {
                let at = self.event();
                self.failures.entry(("failed_in_group", String::new())).or_default().push(at);
            } else {
                self.take_failure(&Failure::of(wanted.order, &mode));
            }
        }
        self.caches.remove(&(wanted.name.to_owned(), self.now));
        self.wanting = Some((wanted.name.to_owned(), wanted.bytes));
    }

    /// How many objects that cache has on a node.
    fn take_objects(&mut self, objects: u64) {
        let Some((name, bytes)) = self.wanting.clone() else { return };
        let key = (name, self.now);
        if self.caches.len() < MOST_MARKS || self.caches.contains_key(&key) {
            let kib = self.caches.entry(key).or_default();
            *kib = kib.saturating_add(objects.saturating_mul(bytes) / 1024);
        }
    }

    /// A thread of the kernel that did not leave its CPU.
    fn take_busy_thread(&mut self, text: &str) {
        if let Some(comm) = self.stuck_on_cpu(text)
            && kernel_thread(&comm).is_some()
        {
            // It had all of a CPU, whatever it did with it.
            self.threads.row(self.now, &comm, 100.0, false);
            self.instants.insert(self.now);
            self.on_cpu = Some((comm, LONGEST_TRACE));
        } else if let Some((comm, lines)) = self.on_cpu.take() {
            if text.contains("smp_call_function") {
                self.kept_waiting.insert(comm);
            } else {
                self.on_cpu = lines.checked_sub(1).map(|lines| (comm, lines));
            }
        }
    }

    fn take_kill(&mut self, killed: &Killed<'_>) {
        self.is_of_group = false;
        let report = self.report.clone();
        let group = report.as_ref().and_then(|report| report.group.clone());
        let limit = match (killed.limit, group) {
            (Some(LimitOwner::Host), _) | (None, None) => Limit::Host,
            (Some(LimitOwner::Group), group) => Limit::Group(group.unwrap_or_default()),
            (None, Some(group)) => Limit::Group(group),
        };
        // `Kill process 7`, and then `Killed process 7`, or a child of it.
        let was_told =
            report.as_ref().is_some_and(|report| report.is_counted) && !killed.is_announced && killed.limit.is_none();
        let call = report.as_ref().map(|report| report.call).unwrap_or_default();
        if !was_told && !call.by_hand {
            let at = self.event();
            self.kill(at, &limit, call.order);
        }
        if killed.is_announced {
            let group = report.and_then(|report| report.group);
            let kept = Report { at: self.now, is_counted: true, call, group };
            self.report = Some(kept);
            return;
        }
        self.report = None;
        let who = match killed.pid {
            Some(pid) => format!("{} ({pid})", quoted(killed.comm)),
            None => quoted(killed.comm),
        };
        let why = match &limit {
            _ if call.by_hand => "by hand (SysRq-f)".to_owned(),
            Limit::Host => "for want of memory".to_owned(),
            Limit::Group(path) if path.is_empty() => "at the memory limit of its control group".to_owned(),
            Limit::Group(path) => format!("at the memory limit of the control group {}", quoted(path)),
        };
        self.mark(self.now, format!("killed {why}: {who}"));
    }

    fn take_failure(&mut self, failure: &Failure) {
        // The zone for old devices is small, whatever else is free.
        if failure.is_for_old_devices {
            self.mark(self.now, format!("an allocation of order {} for an old device failed", failure.order));
            return;
        }
        if failure.has_fallback && failure.order > 0 {
            self.mark(
                self.now,
                format!("an allocation of order {} failed, which its caller can do without", failure.order),
            );
            return;
        }
        let at = self.event();
        self.last_failure = Some((failure.order, self.now));
        let series = match failure.order {
            0 if failure.may_wait => ("failed_small", String::new()),
            0 => ("failed_atomic", String::new()),
            order => ("failed_large", format!("order={order}")),
        };
        self.failures.entry(series).or_default().push(at);
    }

    fn take_memory(&mut self, text: &str) -> bool {
        if mem_info::begins(text) {
            self.close_memory();
            let at = self.event();
            self.memory = Some(MemInfo::beginning(at));
            return true;
        }
        // A block whose beginning was cut is told by its lines.
        if self.memory.is_none() && !mem_info::recognises(text) {
            return false;
        }
        let mut block = self.memory.take().unwrap_or_default();
        if block.is_empty() && block.at == 0 {
            block.at = self.event();
        }
        let taken = block.line(text);
        self.memory = Some(block);
        if taken == Some(false) {
            self.close_memory();
            let at = self.event();
            let mut next = MemInfo::beginning(at);
            next.line(text);
            self.memory = Some(next);
        }
        taken.is_some()
    }

    fn close_memory(&mut self) {
        if let Some(block) = self.memory.take().filter(|block| !block.is_empty() && self.blocks.len() < MOST_BLOCKS) {
            self.blocks.push(block);
        }
    }
}

/// Whose limit a line of a killing names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LimitOwner {
    Host,
    Group,
}

/// A line that says who is killed.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Killed<'t> {
    limit: Option<LimitOwner>,
    /// It is about to be, or a child of it.
    is_announced: bool,
    pid: Option<u32>,
    comm: &'t str,
}

/// `Out of memory: Killed process 7 (java) total-vm:…` (from 5.0 on), `Out of memory: Kill process 7 (java) score 9 or sacrifice child` and
/// `Killed process 7 (java) …` (2.6.36 to 4.20), `Out of Memory: Killed process 7 (java).` (2.4, 2.6), `Memory cgroup out of memory: …`,
/// `VM: killing process java` (2.4, 2.6; at a page fault).
fn killed(text: &str) -> Option<Killed<'_>> {
    if let Some(comm) = text.strip_prefix("VM: killing process ") {
        return Some(Killed { limit: Some(LimitOwner::Host), is_announced: false, pid: None, comm: comm.trim() });
    }
    let is = |begin: &str| text.get(..begin.len()).is_some_and(|head| head.eq_ignore_ascii_case(begin));
    let limit = match () {
        () if is("Out of memory") => Some(LimitOwner::Host),
        () if is("Memory cgroup out of memory") => Some(LimitOwner::Group),
        () if is("Killed process ") => None,
        () => return None,
    };
    let (at, is_announced) = match (text.find("illed process "), text.find("ill process ")) {
        (Some(at), _) => (at + "illed process ".len(), false),
        (None, Some(at)) => (at + "ill process ".len(), true),
        (None, None) => return None,
    };
    let rest = &text[at..];
    let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let pid = rest[..digits].parse().ok()?;
    // Red Hat's 2.6.32: `Killed process 7, UID 48, (httpd) total-vm:…`.
    let comm = rest.split_once('(').and_then(|(_, rest)| rest.split_once(')')).map_or("", |(comm, _)| comm);
    Some(Killed { limit, is_announced, pid: Some(pid), comm })
}

/// Whom a daemon killed before the kernel had to, and the pid where that is told: `systemd-oomd[706]: Killed /user.slice/… due to memory used (…) …` or `… due to memory
/// pressure for …`, `earlyoom[9]: sending SIGTERM to process 7 uid 1000 "java": badness …`. Android's killer in the kernel is none, and kills before
/// memory has run out, too (`drivers/staging/android/lowmemorykiller.c`, 2.6.29 to 4.11): `lowmemorykiller: send sigkill to 7 (java), adj 0, size 209`, from 3.5 on
/// `lowmemorykiller: Killing 'java' (7), adj 0,`.
fn killed_by_daemon(text: &str) -> Option<(&str, Option<&str>)> {
    if let Some((_, rest)) = text.split_once("Killed /")
        && rest.contains(" due to memory ")
    {
        return rest.split_whitespace().next().map(|who| (who, None));
    }
    // What nohang says before it ends somebody, whose name stands below.
    if text == "Found the victim with highest badness:" {
        return Some(("whom nohang found most in the way", None));
    }
    if let Some((_, rest)) = text.split_once("lowmemorykiller: send sigkill to ") {
        let (pid, rest) = rest.split_once(" (")?;
        return rest.split_once("), adj ").map(|(comm, _)| (comm, Some(pid))).filter(|_| is_number(pid));
    }
    if let Some((_, rest)) = text.split_once("lowmemorykiller: Killing '") {
        let (comm, rest) = rest.split_once("' (")?;
        return rest
            .split_once("), adj ")
            .map(|(pid, _)| (comm, Some(pid)))
            .filter(|(_, pid)| pid.is_some_and(is_number));
    }
    let (_, rest) =
        text.split_once("sending SIGTERM to process ").or_else(|| text.split_once("sending SIGKILL to process "))?;
    let (pid, rest) = rest.split_once(" uid ")?;
    let (_, rest) = rest.split_once('"')?;
    rest.split_once('"').map(|(comm, _)| (comm, Some(pid))).filter(|_| is_number(pid))
}

/// `java invoked oom-killer: gfp_mask=0x201da, order=0, …`, `oom-killer: gfp_mask=0xd0`. By hand it has an order of -1.
fn invoked(text: &str) -> Option<OomCall> {
    let (_, rest) = text.split_once("oom-killer: gfp_mask=")?;
    let order = rest.split_once("order=").map_or("", |(_, order)| order.split([',', ' ']).next().unwrap_or_default());
    Some(OomCall { by_hand: order == "-1", order: order.parse().unwrap_or(0) })
}

/// `memory: usage 1048576kB, limit 1048576kB, failcnt 38707874`: of a control group that has no memory left
/// (`mem_cgroup_print_oom_meminfo`, `mm/memcontrol.c`).
fn is_group_use(text: &str) -> bool {
    text.starts_with("memory: usage ") && text.contains("kB, limit ") && text.contains("kB, failcnt ")
}

/// A row of the processes that could be killed: `[  1972]     0  1972     3274      127    65536       32             0 systemd-cgroups`: user,
/// process, address space, resident, page tables (or CPU and `oom_adj` in 2.6), swap, score, name (`dump_tasks`, `mm/oom_kill.c`).
fn of_process(text: &str) -> bool {
    let Some((pid, behind)) = text.strip_prefix('[').and_then(|rest| rest.split_once(']')) else { return false };
    let words: Vec<&str> = behind.split_whitespace().collect();
    let [user, process, mapped, resident, tables, swapped, score, _name, ..] = words.as_slice() else { return false };
    is_number(pid.trim())
        && [user, process, mapped, resident, tables].into_iter().all(|word| is_number(word))
        && [swapped, score].into_iter().all(|word| is_number(word.trim_start_matches('-')))
        && pid.trim() == *process
}

/// Whose limit the rest of a report names.
fn group(text: &str) -> Option<&str> {
    if let Some((_, path)) = text.split_once(" killed as a result of limit of ") {
        return Some(path.trim());
    }
    if let Some(path) = text.strip_prefix("Memory limit reached of cgroup ") {
        return Some(path.trim());
    }
    if text.starts_with("oom-kill:constraint=CONSTRAINT_MEMCG") {
        let path = text.split(',').find_map(|part| part.strip_prefix("oom_memcg="));
        return Some(path.unwrap_or(""));
    }
    (text.starts_with("memory: usage ") || text.contains("mem_cgroup_out_of_memory+0x")).then_some("")
}

/// An allocation that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Failure {
    order: u32,
    may_wait: bool,
    is_for_old_devices: bool,
    /// Its caller takes smaller blocks, or none (`__GFP_NORETRY`, include/linux/gfp_types.h), and forgot to say that nothing be printed.
    has_fallback: bool,
}

impl Failure {
    /// By its order and its flags.
    fn of(order: u32, mode: &str) -> Failure {
        let (may_wait, is_for_old_devices) = flags(mode);
        Failure { order, may_wait, is_for_old_devices, has_fallback: has_fallback(mode) }
    }
}

/// `java: page allocation failure: order:4, mode:0x2040d0` (before 3.0 with a point behind `failure`; from 4.6 on with names:
/// `mode:0x2080020(GFP_ATOMIC)`), `__alloc_pages: 0-order allocation failed (gfp=0x1d2/0) from c012b9b2` (2.4), `java: vmalloc error: size 14680064, page
/// order 9, failed to allocate pages, mode:0xcc2(GFP_KERNEL|__GFP_HIGHMEM)` (5.13 and later, `mm/vmalloc.c`); and [`failed_in_xfs`].
fn failed(text: &str) -> Option<Failure> {
    if let Some((size, mode)) = failed_in_xfs(text) {
        let order = size.map_or(COSTLY + 1, |size| size.div_ceil(4096).next_power_of_two().trailing_zeros());
        return Some(Failure::of(order, mode));
    }
    let (order, mode) = if let Some((_, rest)) = text.split_once(": page allocation failure") {
        let (_, rest) = rest.split_once("order:")?;
        let (order, mode) = rest.split_once(',')?;
        (order, mode.trim().strip_prefix("mode:")?)
    } else if let Some((_, rest)) = text.split_once(": vmalloc error: size ") {
        // What is asked for as a whole is put together of pages of that order.
        let (_, rest) = rest.split_once(", page order ")?;
        let (order, rest) = rest.split_once(", failed to allocate pages")?;
        (order, rest.trim_start_matches([',', ' ']).strip_prefix("mode:").unwrap_or(""))
    } else {
        let rest = text.strip_prefix("__alloc_pages: ")?;
        let (order, rest) = rest.split_once("-order allocation failed")?;
        (order, rest.split_once("gfp=").map_or("", |(_, mode)| mode))
    };
    let order = order.trim().parse().ok().filter(|order| *order < 64)?;
    Some(Failure::of(order, mode))
}

/// What XFS asks for again and again, in bytes, and the flags: `XFS: java(7) possible memory allocation deadlock size 65552 in kmem_alloc
/// (mode:0x2400240)` (`fs/xfs/kmem.c`, to 6.8). Older ones do not say the size: it was a block that the allocator gives up on, since for smaller
/// ones it does not return without ([`COSTLY`]). Objects of a cache (`kmem_zone_alloc`) are no such block.
fn failed_in_xfs(text: &str) -> Option<(Option<u64>, &str)> {
    let (_, rest) = text.strip_prefix("XFS")?.split_once("possible memory allocation deadlock ")?;
    let (size, rest) = rest.split_once("in kmem_")?;
    let (function, mode) = rest.split_once(" (mode:")?;
    let size = size.trim().strip_prefix("size ").map(str::parse::<u64>).transpose().ok()?;
    let is_block = !function.contains("zone") && size.is_none_or(|size| size < 1 << 40);
    is_block.then(|| (size, mode.trim_end_matches(')')))
}

/// Whether the caller of an allocation can do without it, by the names of its flags (from 4.6 on).
fn has_fallback(mode: &str) -> bool {
    mode.split(['(', ')', '|']).any(|flag| flag.trim() == "__GFP_NORETRY")
}

/// Whether an allocation may wait, and whether it is for an old device, by its flags: `0x2080020(GFP_ATOMIC)`, `0x20`.
fn flags(mode: &str) -> (bool, bool) {
    let names = mode.split_once('(').map(|(_, rest)| rest.split(')').next().unwrap_or(""));
    let hex = mode.trim().strip_prefix("0x").unwrap_or("");
    let end = hex.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(hex.len());
    let bits = u64::from_str_radix(&hex[..end], 16).ok();
    match (names.filter(|names| names.contains("GFP_")), bits) {
        (Some(names), _) => {
            let mut flags = names.split('|').map(str::trim);
            let cannot =
                flags.clone().any(|flag| matches!(flag, "GFP_ATOMIC" | "GFP_NOWAIT" | "__GFP_ATOMIC" | "__GFP_HIGH"));
            let reclaims = flags.clone().any(|flag| matches!(flag, "__GFP_DIRECT_RECLAIM" | "__GFP_RECLAIM"));
            (!cannot || reclaims, flags.any(|flag| matches!(flag, "GFP_DMA" | "__GFP_DMA")))
        }
        // __GFP_DIRECT_RECLAIM of 4.4 and 4.5, and __GFP_WAIT before (include/linux/gfp.h).
        (None, Some(bits)) if bits >= 0x40_0000 => {
            (bits & 0x40_0000 != 0 || bits & 0x200_0000 == 0 && bits & 0x10 != 0, bits & 1 != 0)
        }
        (None, Some(bits)) => (bits & 0x10 != 0, bits & 1 != 0),
        (None, None) => (true, false),
    }
}

impl Parser for KernelLog {
    fn line(&mut self, number: usize, line: &str) -> Result<(), Problem> {
        let is_rest = |line: &str| {
            let (text, line) = (line, split(line));
            !line.is_marked && line.since_boot.is_none() && (text.contains("order:") || text.contains("mode:"))
        };
        if let Some(begun) = self.broken.take().filter(|_| is_rest(line)) {
            return self.line(number, &format!("{begun} {}", line.trim()));
        }
        if is_broken(line) && line.len() < LONGEST_BROKEN {
            self.broken = Some(line.trim_end().to_owned());
            return Ok(());
        }
        let line = split(line);
        let text = line.text;
        self.is_of_group |= is_of_group(text);
        if !line.is_marked && line.since_boot.is_none() && self.first.is_none() && !says(text) {
            // Prose above what was pasted.
            return Ok(());
        }
        self.read_clock(&line, number);
        self.take_shortage(text);
        self.take_busy_thread(text);
        if self.held_up.line(self.now, text) || self.take_memory(text) {
            return Ok(());
        }
        if let Some(rest) = text.strip_prefix("Linux version ")
            && let Some(release) = rest.split_whitespace().next()
        {
            self.listing.about("kernel", release);
        }
        Ok(())
    }

    /// A line of the kernel ends anywhere.
    fn is_whole(&self, line: &str, _: &str) -> bool {
        // A name in brackets, or what is printed last.
        let text = split(line).text;
        text.ends_with(['.', ']', ')']) || text.ends_with("kB") || text.ends_with("GB")
    }

    fn finish(mut self: Box<Self>) -> Result<Listing, Problem> {
        self.close_report();
        self.close_memory();
        let Some(first) = self.first else {
            return Err(self.listing.nothing("line of a kernel's log", REMEDY));
        };
        let held_up = std::mem::take(&mut self.held_up);
        let others = held_up.others;
        let mut instants = std::mem::take(&mut self.instants);
        instants.extend(held_up.put(&mut self.listing));
        instants.extend([first, self.now]);
        if self.marks > MOST_MARKS {
            self.listing.note(format!("{} more marks of the kernel's log were left out", self.marks - MOST_MARKS));
        }
        if others > 0 {
            self.listing.note(format!(
                "the kernel's log names {} that {} held up for long in something other than memory management",
                count(others, "task"),
                if others == 1 { "was" } else { "were" }
            ));
        }
        let mut totals: Vec<(&'static str, &'static str, String, Vec<i64>)> = Vec::new();
        // That nobody was killed is told by a log of some length, not by a few lines out of one.
        if !self.kills.is_empty() || self.now - first >= LONG_ENOUGH {
            totals.push(("vmstat", "oom_kill", String::new(), std::mem::take(&mut self.kills)));
        }
        let groups = std::mem::take(&mut self.kills_in).into_iter();
        totals.extend(groups.map(|(path, at)| ("cgroup_events", "oom_kill", format!("cgroup={path}"), at)));
        let failures = std::mem::take(&mut self.failures).into_iter();
        totals.extend(failures.map(|((name, labels), at)| (SOURCE, name, labels, at)));
        for at in &instants {
            self.listing.touch(*at);
        }
        for (source, name, labels, mut events) in totals {
            events.sort_unstable();
            let column = self.listing.column_of(source, name, &labels, RawUnit::Count, Moves::Counter);
            for at in &instants {
                let so_far = events.partition_point(|event| event <= at);
                self.listing.put(*at, column, so_far as u64)?;
            }
        }
        self.threads.leave_out_threads(&self.kept_waiting);
        std::mem::take(&mut self.threads).put(&mut self.listing)?;
        for ((name, at), kib) in std::mem::take(&mut self.caches).into_iter().filter(|(_, kib)| *kib <= MOST_KIB) {
            if is_label(&name) {
                let column = self.listing.column(SOURCE, "slab_cache", &format!("cache={name}"), RawUnit::KiB);
                self.listing.put(at, column, kib)?;
            }
        }
        for block in std::mem::take(&mut self.blocks) {
            block.put(&mut self.listing)?;
        }
        Ok(self.listing.close())
    }
}

#[cfg(test)]
mod tests;

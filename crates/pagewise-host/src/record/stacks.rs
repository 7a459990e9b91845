//! Where CPUs are: an event per CPU that writes the stack of whatever runs, so many times a second; and the thread that
//! names, counts and hands on what it wrote.

use super::rings::{RingReader, Rings, SECOND, WATERMARK};
use super::tracers::Tracing;
use super::{Event, NAMES_AT_MOST};
use crate::clock;
use crate::root::Root;
use crate::source::perf_record::{Layout, Record, SampleId, records};
use crate::store::recording::{StackRows, stacks as keys};
use crate::symbol::Symbols;
use crate::sys::perf_event::{self, OpenEvent, SampleFields, SampledTasks};
use pagewise_core::recording::{Gap, GapReason, SamplingEvent, StackId, StackSample, Stacks};
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;

/// The name under which gaps of stacks are told, and of names of functions.
pub(super) const SOURCE: &str = "stacks";
const SYMBOLS: &str = "symbols";

/// From this rate on a slice is a second: bursts are divided finely, in a rate that runs for days rows matter more.
const BURST: u32 = 49;

/// Rows of one slice, and stacks of one recording. What comes beyond is counted as lost, and a stack that would be new is
/// cut where it leaves the known ones.
const MOST_ROWS: usize = 50_000;
const MOST_STACKS: usize = 500_000;

/// Names of threads that are remembered.
const MOST_THREADS: usize = 65_536;

/// A part of the samples of a slice that may be lost without a gap.
const LOST_TO_TELL: f64 = 0.01;

/// What is opened, and what it gives.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) rings: Rings,
    pub(super) event: SamplingEvent,
    /// Only what the caller starts is seen, for this reason.
    pub(super) only_children: Option<String>,
}

/// Opens the best event there is: cycles, else the clock; on the whole host, else, where a command is about to be started,
/// on that and all it starts. Called by the thread that starts it.
///
/// # Errors
/// The reason and the remedy.
pub(super) fn open(root: &Root, hz: u32, with_command: bool) -> Result<Source, String> {
    let all = open_as(root, hz, SampledTasks::All);
    let refused = match all {
        Ok((rings, event)) => return Ok(Source { rings, event, only_children: None }),
        Err(error) => refusal(root, &error),
    };
    if with_command {
        for with_kernel in [true, false] {
            if let Ok((rings, event)) = open_as(root, hz, SampledTasks::Children { with_kernel }) {
                let what = if with_kernel { "of the command only" } else { "of the command only, outside the kernel" };
                return Ok(Source { rings, event, only_children: Some(format!("stacks {what}: {refused}")) });
            }
        }
    }
    Err(refused)
}

fn open_as(root: &Root, hz: u32, whom: SampledTasks) -> io::Result<(Rings, SamplingEvent)> {
    let open = |event: perf_event::Event| {
        let open = |_, cpu| OpenEvent::new(event, whom, cpu, SampleFields::Stack { hz }, WATERMARK);
        Rings::open(root, 1, open)
    };
    match open(perf_event::Event::Cycles) {
        Ok(rings) => Ok((rings, SamplingEvent::Cycles)),
        Err(_) => open(perf_event::Event::CpuClock).map(|rings| (rings, SamplingEvent::CpuClock)),
    }
}

/// What the kernel's answer means.
pub(super) fn refusal(root: &Root, error: &io::Error) -> String {
    const PARANOID: &str = "/proc/sys/kernel/perf_event_paranoid";
    match error.raw_os_error() {
        Some(libc::EACCES | libc::EPERM) => {
            let level = root.read(PARANOID).map_or("unknown".to_owned(), |text| text.trim().to_owned());
            format!(
                "not permitted (kernel.perf_event_paranoid is {level}); run as root or with CAP_PERFMON, or set it to -1"
            )
        }
        Some(libc::ENOSYS) => {
            "perf_event_open is not known: a kernel without CONFIG_PERF_EVENTS, or a system call filter; run outside the \
             container"
                .to_owned()
        }
        Some(libc::EINVAL) => format!("{error}; the rate may be above kernel.perf_event_max_sample_rate"),
        Some(libc::EMFILE) => format!("{error}; raise the limit of open files (ulimit -n)"),
        _ => format!("perf_event_open: {error}"),
    }
}

/// Whose stacks keep their names in a recording that others may read.
#[derive(Debug, Default)]
struct Redaction {
    is_on: bool,
    known: HashMap<u32, bool>,
}

impl Redaction {
    /// Kernel threads, and what our process has started.
    fn shows(&mut self, root: &Root, pid: u32) -> bool {
        if !self.is_on {
            return true;
        }
        if self.known.len() > MOST_THREADS {
            self.known.clear();
        }
        if let Some(known) = self.known.get(&pid) {
            return *known;
        }
        let shows = is_kernel_thread_or_ours(root, pid);
        self.known.insert(pid, shows);
        shows
    }

    fn started(&mut self, pid: u32, parent: u32) {
        let shows = self.known.get(&parent).copied().unwrap_or(parent == std::process::id());
        if pid != parent {
            self.known.insert(pid, shows);
        }
    }
}

pub(super) fn is_kernel_thread_or_ours(root: &Root, pid: u32) -> bool {
    const KERNEL_THREAD: u64 = 0x0020_0000;
    let mut at = pid;
    for generation in 0..64 {
        if at == std::process::id() {
            return true;
        }
        let Ok(stat) = root.read(&format!("/proc/{at}/stat")) else { return false };
        let Some((_, after_name)) = stat.rsplit_once(')') else { return false };
        let mut fields = after_name.split_whitespace().skip(1);
        let Some(parent) = fields.next().and_then(|parent| parent.parse::<u32>().ok()) else { return false };
        let flags = fields.nth(4).and_then(|flags| flags.parse::<u64>().ok()).unwrap_or(0);
        if generation == 0 && flags & KERNEL_THREAD != 0 {
            return true;
        }
        if parent <= 1 {
            return false;
        }
        at = parent;
    }
    false
}

/// Names of threads by number.
#[derive(Debug, Default)]
pub(super) struct Names(HashMap<u32, Arc<str>>);

impl Names {
    pub(super) fn of(&mut self, root: &Root, who: SampleId) -> Arc<str> {
        if let Some(known) = self.0.get(&who.tid) {
            return Arc::clone(known);
        }
        let path = format!("/proc/{}/task/{}/comm", who.pid, who.tid);
        let comm = root.read(&path).unwrap_or_default();
        let name: Arc<str> = comm.strip_suffix('\n').unwrap_or(&comm).into();
        // One that has gone is not remembered: its number may come back.
        if !name.is_empty() {
            self.set(who.tid, Arc::clone(&name));
        }
        name
    }

    /// Learns from what the kernel tells of threads.
    pub(super) fn learn(&mut self, record: &Record<'_>) {
        match record {
            Record::Named { who, comm, .. } => self.set(who.tid, String::from_utf8_lossy(comm).into()),
            Record::Started { who, parent: (_, parent_thread) } => match self.0.get(parent_thread).map(Arc::clone) {
                Some(name) => self.set(who.tid, name),
                None => drop(self.0.remove(&who.tid)),
            },
            Record::Ended { who } => drop(self.0.remove(&who.tid)),
            _ => {}
        }
    }

    fn set(&mut self, tid: u32, name: Arc<str>) {
        if self.0.len() >= MOST_THREADS {
            self.0.clear();
        }
        self.0.insert(tid, name);
    }

    /// Forgets all: after a while without news a number that was used again would keep its old name.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

/// CPU, process, name, stack.
type Key = (u32, Option<u32>, Arc<str>, StackId);

/// Counts stacks and knows what of the tree has been told.
#[derive(Debug)]
pub(super) struct Counting {
    root: Root,
    hz: u32,
    symbols: Symbols,
    stacks: Stacks,
    told_frames: usize,
    told_stacks: usize,
    names: Names,
    redaction: Redaction,
    /// A process that is left out: ours, where it is seen only because its command is.
    left_out: Option<u32>,
    innermost_only: bool,
    /// By the number of the slice since boot.
    slices: BTreeMap<u64, HashMap<Key, u64>>,
    /// What the kernel lost since the last slice was told, what was seen, and what was lost ever.
    lost: u64,
    seen: u64,
    lost_ever: u64,
    is_tree_full: bool,
    is_full_told: bool,
    chain: Vec<u32>,
    /// CLOCK_BOOTTIME from which on nothing more is read for a name; 0: that is open.
    names_until: Arc<AtomicU64>,
}

impl Counting {
    pub(super) fn new(root: &Root, hz: u32, tracing: &Tracing, left_out: Option<u32>) -> Counting {
        Counting {
            root: root.clone(),
            hz,
            symbols: Symbols::new(root),
            stacks: Stacks::default(),
            told_frames: 0,
            told_stacks: 0,
            names: Names::default(),
            redaction: Redaction { is_on: tracing.is_redacted, known: HashMap::new() },
            left_out,
            innermost_only: tracing.innermost_only,
            slices: BTreeMap::new(),
            lost: 0,
            seen: 0,
            lost_ever: 0,
            is_tree_full: false,
            is_full_told: false,
            chain: Vec::new(),
            names_until: Arc::default(),
        }
    }

    /// Whoever ends the recording says there until when it waits for names.
    pub(super) fn named_until(self, names_until: &Arc<AtomicU64>) -> Counting {
        Counting { names_until: Arc::clone(names_until), ..self }
    }

    /// Two seconds at slow rates: with the two seconds to the next batch, a kill still loses less than five.
    fn slice(&self) -> u64 {
        if self.hz >= BURST { SECOND } else { 2 * SECOND }
    }

    /// `to_boot`: what to add to an instant of a record to get CLOCK_BOOTTIME.
    fn record(&mut self, record: Record<'_>, to_boot: u64) {
        self.names.learn(&record);
        match record {
            Record::Stack { who, kernel, user } => self.stack(who, &kernel, &user, who.time.saturating_add(to_boot)),
            Record::Mapped { mapped, .. } => self.symbols.mapped(&mapped),
            Record::Named { who, is_exec: true, .. } => self.symbols.replaced(who.pid),
            Record::Started { who, parent: (parent, _) } if who.pid != parent => {
                self.symbols.started(who.pid, parent);
                self.redaction.started(who.pid, parent);
            }
            Record::Ended { who } if who.pid == who.tid => {
                self.symbols.ended(who.pid);
                self.redaction.known.remove(&who.pid);
            }
            Record::Lost(count) => self.lost = self.lost.saturating_add(count),
            _ => {}
        }
    }

    fn stack(&mut self, who: SampleId, kernel: &[u64], user: &[u64], time: u64) {
        // The idle task, which cycles may still see for a moment.
        if who.tid == 0 || Some(who.pid) == self.left_out {
            return;
        }
        self.seen += 1;
        let until = self.names_until.load(Ordering::Acquire);
        if until != 0 && clock::boot() >= until {
            self.symbols.hurry();
        }
        let shows = self.redaction.shows(&self.root, who.pid);
        self.chain.clear();
        let innermost = kernel.first().or(user.first()).copied();
        for address in kernel {
            let looked_up = called_from(*address, innermost);
            let frame = self.symbols.kernel_frame(&mut self.stacks, looked_up);
            self.chain.push(frame);
        }
        let of_program = if self.innermost_only { usize::from(kernel.is_empty()) } else { user.len() };
        if shows {
            for address in user.iter().take(of_program) {
                let looked_up = called_from(*address, innermost);
                // A program built without frame pointers leads nowhere: what is above is not made up.
                let Some(frame) = self.symbols.user_frame(&mut self.stacks, who.pid, looked_up) else { break };
                self.chain.push(frame);
            }
        }
        let Some(stack) = self.push_chain() else { return };
        let (pid, comm) = if shows { (Some(who.pid), self.names.of(&self.root, who)) } else { (None, Arc::from("")) };
        let slice = time / self.slice();
        let rows = self.slices.entry(slice).or_default();
        let key = (who.cpu, pid, comm, stack);
        if rows.len() >= MOST_ROWS && !rows.contains_key(&key) {
            self.lost = self.lost.saturating_add(1);
            return;
        }
        *rows.entry(key).or_default() += 1;
    }

    /// The stack of the chain, the outermost frame first into the tree. An empty one is a stack of its own.
    fn push_chain(&mut self) -> Option<StackId> {
        if self.chain.is_empty() {
            let unknown = pagewise_core::recording::Frame { name: "[unknown]".to_owned(), module: String::new() };
            let frame = self.stacks.frame(unknown);
            self.chain.push(frame);
        }
        let mut at = None;
        for frame in self.chain.iter().rev() {
            if self.stacks.len() >= MOST_STACKS {
                self.is_tree_full = true;
                return at;
            }
            at = self.stacks.push(at, *frame);
        }
        at
    }

    fn rows(&mut self, until: u64) -> StackRows {
        let slice = self.slice();
        let open = self.slices.split_off(&(until / slice));
        let done = std::mem::replace(&mut self.slices, open);
        let mut samples = Vec::new();
        for (number, rows) in done {
            let (from, to) = (number * slice, (number + 1) * slice);
            let of_slice = samples.len();
            samples.extend(rows.into_iter().map(|((cpu, pid, comm, stack), count)| StackSample {
                from,
                to,
                cpu: Some(cpu),
                pid,
                comm: comm.to_string(),
                stack,
                count,
            }));
            samples[of_slice..].sort_by(|a, b| (a.cpu, a.pid, a.stack, &a.comm).cmp(&(b.cpu, b.pid, b.stack, &b.comm)));
        }
        let frames = self.stacks.frames()[self.told_frames..].to_vec();
        let nodes =
            (self.told_stacks..self.stacks.len()).filter_map(|id| self.stacks.node(StackId(id as u32))).collect();
        (self.told_frames, self.told_stacks) = (self.stacks.frames().len(), self.stacks.len());
        StackRows { frames, nodes, samples }
    }
}

/// An address that a call returns to belongs to the instruction before it: the next one can be another function's.
fn called_from(address: u64, innermost: Option<u64>) -> u64 {
    if Some(address) == innermost { address } else { address.saturating_sub(1) }
}

impl RingReader for Counting {
    fn beat(&self) -> u64 {
        self.slice()
    }

    fn take(&mut self, bytes: &[u8]) {
        let to_boot = clock::boot().saturating_sub(clock::awake());
        by_time(bytes, Layout::Stacks).into_iter().for_each(|record| self.record(record, to_boot));
    }

    fn tell(&mut self, until: u64, has_room: bool, events: &Sender<Event>) -> u64 {
        let gap = |source: &str, from, to, reason, detail| {
            let source = Some(source.to_owned());
            let _ = events.send(Event::Gap(Gap { from, to, source, reason, ticks: None, detail }));
        };
        let now = clock::boot();
        if let Some(why) = self.symbols.newly_hidden() {
            gap(SYMBOLS, now, None, GapReason::Missing, why);
        }
        let unnamed = self.symbols.newly_unnamed();
        if unnamed > 0 {
            let detail = format!(
                "{unnamed} frames have addresses for names: the end of a recording waits {} s for names",
                NAMES_AT_MOST.as_secs()
            );
            gap(SYMBOLS, now, Some(now), GapReason::Thinned, detail);
        }
        if self.is_tree_full && !self.is_full_told {
            self.is_full_told = true;
            let detail = format!("more than {MOST_STACKS} different stacks: from here on new ones are cut short");
            gap(SYMBOLS, now, None, GapReason::Thinned, detail);
        }
        let mut rows = self.rows(until);
        if !has_room {
            // The tree goes on: later rows stand on it.
            let dropped: u64 = rows.samples.drain(..).map(|sample| sample.count).sum();
            (self.lost, self.seen) = (self.lost + dropped, self.seen.saturating_sub(dropped));
        }
        let told = rows.samples.len() as u64;
        let is_news = !rows.samples.is_empty() || !rows.frames.is_empty() || !rows.nodes.is_empty();
        if is_news {
            let _ = events.send(Event::Stacks(rows));
        }
        if self.lost > 0 {
            self.lost_ever += self.lost;
            let _ = events.send(Event::Meta(keys::LOST, self.lost_ever.to_string()));
            let part = self.lost as f64 / (self.lost + self.seen) as f64;
            if part > LOST_TO_TELL {
                let detail = format!("{} of {} samples were lost", self.lost, self.lost + self.seen);
                let from = now.saturating_sub(self.slice());
                let reason = if has_room { GapReason::Lost } else { GapReason::WriterBehind };
                gap(SOURCE, from, Some(now), reason, detail);
            }
        }
        (self.lost, self.seen) = (0, 0);
        told
    }

    fn turn(&mut self, is_on: bool, now: u64, events: &Sender<Event>) {
        turn(SOURCE, is_on, now, events);
    }
}

/// Begins or ends a stretch in which something is recorded.
pub(super) fn turn(source: &str, is_on: bool, now: u64, events: &Sender<Event>) {
    let event = if is_on {
        Event::GapEnds(source.to_owned(), now)
    } else {
        let detail = "waits for pressure or a high system share".to_owned();
        Event::Gap(super::open_gap(now, source, GapReason::Waiting, detail))
    };
    let _ = events.send(event);
}

/// All records in the order of time. Each CPU's are; but what happens on one can matter to another, as when a thread moves.
pub(super) fn by_time(bytes: &[u8], layout: Layout) -> Vec<Record<'_>> {
    let mut all: Vec<(u64, Record<'_>)> = Vec::new();
    let mut last = 0;
    for record in records(bytes, layout).flatten() {
        last = time_of(&record).unwrap_or(last);
        all.push((last, record));
    }
    all.sort_by_key(|(time, _)| *time);
    all.into_iter().map(|(_, record)| record).collect()
}

fn time_of(record: &Record<'_>) -> Option<u64> {
    match record {
        Record::Stack { who, .. }
        | Record::Fields { who, .. }
        | Record::Mapped { who, .. }
        | Record::Named { who, .. }
        | Record::Started { who, .. }
        | Record::Ended { who } => Some(who.time),
        Record::Lost(_) | Record::Throttled | Record::Other => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::perf_record::made_up;
    use std::sync::mpsc;

    const WHO: SampleId = SampleId { pid: 70, tid: 70, time: 5 * SECOND, cpu: 1 };

    fn host() -> (tempfile::TempDir, Root) {
        Root::of_files(&[
            ("/proc/kallsyms", "ffffffff81000000 T do_syscall_64\nffffffff81001000 t compact_zone\n"),
            ("/proc/70/task/70/comm", "job\n"),
            ("/proc/70/maps", "400000-500000 r-xp 00000000 08:01 5 /usr/bin/job\n"),
            ("/proc/70/stat", "70 (job) S 1 70 70 0 -1 4194304 0\n"),
            ("/proc/9/task/9/comm", "kswapd0\n"),
            ("/proc/9/stat", "9 (kswapd0) S 2 0 0 0 -1 2360384 0\n"),
        ])
    }

    fn told(counting: &mut Counting) -> (Vec<StackRows>, Vec<Gap>) {
        let (events, received) = mpsc::channel();
        counting.tell(u64::MAX, true, &events);
        drop(events);
        let (mut rows, mut gaps) = (Vec::new(), Vec::new());
        for event in received {
            match event {
                Event::Stacks(told) => rows.push(told),
                Event::Gap(gap) => gaps.push(gap),
                _ => {}
            }
        }
        (rows, gaps)
    }

    const KERNEL: [u64; 2] = [0xffff_ffff_8100_1010, 0xffff_ffff_8100_0010];

    #[test]
    fn samples_of_one_stack_are_one_row_with_named_frames() {
        let (_folder, root) = host();
        let mut counting = Counting::new(&root, 99, &Tracing::default(), None);
        let mut ring = made_up::stack(WHO, &KERNEL, &[0x40_1000]);
        ring.extend(made_up::stack(WHO, &KERNEL, &[0x40_1000]));
        ring.extend(made_up::stack(SampleId { tid: 0, pid: 0, ..WHO }, &KERNEL, &[]));
        counting.take(&ring);
        let (rows, gaps) = told(&mut counting);
        let names: Vec<&str> = rows[0].frames.iter().map(|frame| frame.name.as_str()).collect();
        assert_eq!(names, ["compact_zone", "do_syscall_64", "0xfff"], "the call is before the address it returns to");
        assert_eq!(rows[0].nodes.len(), 3);
        let samples = &rows[0].samples;
        assert_eq!(
            (samples.len(), samples[0].count, samples[0].pid, samples[0].comm.as_str()),
            (1, 2, Some(70), "job")
        );
        assert_eq!(samples[0].to - samples[0].from, SECOND, "bursts have slices of a second");
        assert!(gaps.is_empty(), "{gaps:?}");
        counting.take(&ring);
        assert!(told(&mut counting).0[0].frames.is_empty(), "what was told is not told again");
    }

    #[test]
    fn who_lists_functions_gets_no_callers_in_programs() {
        let (_folder, root) = host();
        let tracing = Tracing { innermost_only: true, ..Tracing::default() };
        let mut counting = Counting::new(&root, 99, &tracing, None);
        let mut ring = made_up::stack(WHO, &KERNEL, &[0x40_1000]);
        ring.extend(made_up::stack(WHO, &[], &[0x40_2000, 0x40_3000]));
        counting.take(&ring);
        let (rows, _) = told(&mut counting);
        let names: Vec<&str> = rows[0].frames.iter().map(|frame| frame.name.as_str()).collect();
        assert_eq!(names, ["compact_zone", "do_syscall_64", "0x2000"]);
        assert_eq!(rows[0].samples.len(), 2);
    }

    #[test]
    fn what_the_kernel_lost_is_counted_and_more_than_a_hundredth_is_a_gap() {
        let (_folder, root) = host();
        let mut counting = Counting::new(&root, 19, &Tracing::default(), None);
        let mut ring: Vec<u8> = (0..200).flat_map(|_| made_up::stack(WHO, &KERNEL, &[])).collect();
        ring.extend(made_up::lost(1));
        counting.take(&ring);
        assert!(told(&mut counting).1.is_empty());
        ring.extend(made_up::lost(5));
        counting.take(&ring);
        let (_, gaps) = told(&mut counting);
        assert_eq!((gaps.len(), &gaps[0].reason), (1, &GapReason::Lost));
        assert_eq!(counting.lost_ever, 7);
    }

    #[test]
    fn redacted_only_kernel_threads_and_our_own_have_names() {
        let (_folder, root) = host();
        let mut counting = Counting::new(&root, 99, &Tracing { is_redacted: true, ..Tracing::default() }, None);
        let mut ring = made_up::stack(WHO, &KERNEL, &[0x40_1000]);
        ring.extend(made_up::stack(SampleId { pid: 9, tid: 9, ..WHO }, &KERNEL, &[]));
        ring.extend(made_up::named(SampleId { pid: 80, tid: 80, ..WHO }, "secret", true));
        ring.extend(made_up::stack(SampleId { pid: 80, tid: 80, ..WHO }, &KERNEL, &[0x40_1000]));
        counting.take(&ring);
        let (rows, _) = told(&mut counting);
        assert!(rows[0].frames.iter().all(|frame| frame.is_kernel()), "{:?}", rows[0].frames);
        let mut seen: Vec<_> = rows[0].samples.iter().map(|row| (row.pid, row.comm.as_str(), row.count)).collect();
        seen.sort();
        assert_eq!(seen, [(None, "", 2), (Some(9), "kswapd0", 1)]);
    }

    #[test]
    fn names_that_take_too_long_at_the_end_are_left_out_and_that_is_said() {
        let (_folder, root) = host();
        let until = Arc::new(AtomicU64::new(0));
        let mut counting = Counting::new(&root, 99, &Tracing::default(), None).named_until(&until);
        counting.take(&made_up::stack(WHO, &KERNEL, &[]));
        assert!(told(&mut counting).1.is_empty());
        until.store(1, Ordering::Release);
        counting.take(&made_up::stack(WHO, &KERNEL, &[0x40_1000]));
        let (rows, gaps) = told(&mut counting);
        assert_eq!((gaps.len(), gaps[0].source.as_deref(), &gaps[0].reason), (1, Some("symbols"), &GapReason::Thinned));
        assert!(gaps[0].detail.starts_with("1 frames "), "{}", gaps[0].detail);
        assert_eq!(rows[0].samples[0].count, 1, "the stack itself is kept");
    }

    #[test]
    fn hidden_symbols_are_said_once() {
        let (folder, root) = host();
        std::fs::remove_file(folder.path().join("proc/kallsyms")).unwrap();
        let mut counting = Counting::new(&root, 99, &Tracing::default(), None);
        counting.take(&made_up::stack(WHO, &KERNEL, &[]));
        let (rows, gaps) = told(&mut counting);
        assert_eq!(gaps[0].source.as_deref(), Some("symbols"));
        assert_eq!(rows[0].frames[0].name, "0xffffffff81001010");
        assert!(told(&mut counting).1.is_empty());
    }
}

//! How long tasks are held up inside the kernel: tracepoints at the beginning and the end, paired per thread, as durations
//! in powers of two per process, kind, order and outcome.
//!
//! In a storm there are a hundred thousand of them a second. Beyond a cap only one fifth of a second in several is kept,
//! and what is seen then counts for the others; the recording says so.

use super::Event;
use super::rings::{RingReader, Rings, SECOND, WATERMARK};
use super::stacks::{Names, by_time, turn};
use crate::clock;
use crate::root::Root;
use crate::source::perf_record::{Layout, Record, SampleId};
use crate::source::tracefs::{Field, Tracefs, Tracepoint, Words};
use crate::store::recording::stalls as keys;
use crate::sys::perf_event::{self, OpenEvent, SampleFields, SampledTasks};
use pagewise_core::recording::stall_events::{Role, STALL_EVENTS, StallEvent, of_thread};
use pagewise_core::recording::{Durations, FIRST_UNNAMED, Gap, GapReason, StallKind, StallRow};
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::Arc;
use std::sync::mpsc::Sender;

/// The name under which gaps of stalls are told.
pub(super) const SOURCE: &str = "stalls";

/// Events a second of the whole host. With more, one window of time in two is kept, with twice as many one in four.
const CAP: u64 = 20_000;

/// At most one window in 2^6.
const MOST_THINNING: u32 = 6;

/// A window. A stall that is longer is rarely seen whole while events are thinned; but where there are tens of thousands of
/// them a second, there is no room for many that long.
const WINDOW: u64 = SECOND / 5;

/// Threads that are held up at one time, and rows of a slice.
const MOST_OPEN: usize = 65_536;
const MOST_ROWS: usize = 20_000;

/// A tracepoint of this kernel.
#[derive(Debug)]
struct KernelTracepoint {
    id: u64,
    role: Role,
    order: Option<Field>,
    outcome: Option<(Field, Words)>,
    duration: Option<(Field, u64)>,
}

impl KernelTracepoint {
    fn of(wanted: &StallEvent, tracepoint: &Tracepoint) -> Result<KernelTracepoint, String> {
        let field = |name: &str| {
            let found = tracepoint.format.field(name).cloned();
            found.ok_or_else(|| format!("{} has no field {name} in this kernel", wanted.name))
        };
        Ok(KernelTracepoint {
            id: tracepoint.id,
            role: wanted.role,
            order: wanted.order.map(field).transpose()?,
            outcome: wanted
                .outcome
                .map(|name| Ok::<_, String>((field(name)?, tracepoint.format.words(name))))
                .transpose()?,
            duration: wanted.duration.map(|(name, unit)| Ok::<_, String>((field(name)?, unit))).transpose()?,
        })
    }
}

/// What is opened.
#[derive(Debug)]
pub(super) struct Source {
    rings: Rings,
    known: Vec<KernelTracepoint>,
    /// Kinds that cannot be seen here, and why.
    pub(super) missing: Vec<(StallKind, String)>,
}

impl Source {
    pub(super) fn into_pairing(self, root: &Root, is_redacted: bool) -> (Rings, Pairing) {
        (self.rings, Pairing::new(root, self.known, is_redacted))
    }
}

/// Opens what this kernel has of the tracepoints.
///
/// # Errors
/// The reason and the remedy, when none can be.
pub(super) fn open(root: &Root) -> Result<Source, String> {
    let tracefs = Tracefs::open(root).map_err(|error| {
        format!("tracepoints have no numbers without tracefs, which is not mounted and cannot be: {error}; run as root")
    })?;
    let (mut known, mut missing) = (Vec::new(), Vec::new());
    for wanted in &STALL_EVENTS {
        let found = tracefs.tracepoint(wanted.name).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => format!("this kernel has no tracepoint {}", wanted.name),
            io::ErrorKind::PermissionDenied => format!("{} cannot be read; run as root", wanted.name),
            _ => error.to_string(),
        });
        match (found.and_then(|tracepoint| KernelTracepoint::of(wanted, &tracepoint)), wanted.role) {
            (Ok(one), _) => known.push(one),
            (Err(why), Role::Begin(kind) | Role::End(kind) | Role::Whole(kind)) => missing.push((kind, why)),
            (Err(_), Role::Order) => {}
        }
    }
    missing.dedup_by_key(|(kind, _)| *kind);
    if known.is_empty() {
        return Err(missing.into_iter().next().map(|(_, why)| why).unwrap_or_default());
    }
    let opened = Rings::open(root, known.len(), |event, cpu| {
        let tells = SampleFields::Fields { with_names: event == 0 };
        let event = perf_event::Event::Tracepoint(known.get(event).map_or(0, |known| known.id));
        OpenEvent::new(event, SampledTasks::All, cpu, tells, WATERMARK)
    });
    let rings = opened.map_err(|error| super::stacks::refusal(root, &error))?;
    Ok(Source { rings, known, missing })
}

/// Kind, process, name, order, outcome.
type Key = (StallKind, u32, Arc<str>, Option<u8>, Arc<str>);

/// Pairs and counts.
#[derive(Debug)]
pub(super) struct Pairing {
    root: Root,
    known: HashMap<u64, KernelTracepoint>,
    names: Names,
    /// Since when each thread is held up, and the order.
    open: HashMap<(StallKind, u32), (u64, Option<u8>)>,
    orders: HashMap<u32, u8>,
    /// By the second since boot.
    slices: BTreeMap<u64, HashMap<Key, Durations>>,
    is_redacted: bool,
    /// What stands for the processes that are not told.
    unnamed: HashMap<u32, u32>,
    next_unnamed: u32,
    /// Events and losses since they were last counted, when that was, and for how long of it events were on.
    events: u64,
    lost: u64,
    lost_ever: u64,
    /// Stalls that found no room on their way to the disk.
    unwritten: u64,
    counted_from: u64,
    on_for: u64,
    /// Up to when `on_for` has been counted.
    on_until: u64,
    is_on: bool,
    /// One window in `2^thinning` is kept.
    thinning: u32,
    wanted_thinning: u32,
}

impl Pairing {
    fn new(root: &Root, known: Vec<KernelTracepoint>, is_redacted: bool) -> Pairing {
        Pairing {
            root: root.clone(),
            known: known.into_iter().map(|known| (known.id, known)).collect(),
            names: Names::default(),
            open: HashMap::new(),
            orders: HashMap::new(),
            slices: BTreeMap::new(),
            is_redacted,
            unnamed: HashMap::new(),
            next_unnamed: FIRST_UNNAMED,
            events: 0,
            lost: 0,
            lost_ever: 0,
            unwritten: 0,
            counted_from: clock::boot(),
            on_for: 0,
            on_until: clock::boot(),
            is_on: true,
            thinning: 0,
            wanted_thinning: 0,
        }
    }

    fn event(&mut self, who: SampleId, fields: &[u8], to_boot: u64) {
        self.events += 1;
        let id = fields.get(..2).and_then(|bytes| bytes.try_into().ok()).map(u16::from_ne_bytes);
        let Some(known) = id.and_then(|id| self.known.get(&u64::from(id))) else { return };
        let order =
            known.order.as_ref().and_then(|field| field.value(fields)).and_then(|order| u8::try_from(order).ok());
        let outcome = known.outcome.as_ref().and_then(|(field, words)| Some(short(&words.of(field.value(fields)?))));
        let now = who.time;
        match known.role {
            Role::Order => {
                if let Some(order) = order {
                    make_room(&mut self.orders);
                    self.orders.insert(who.tid, order);
                }
            }
            Role::Begin(kind) => {
                let order =
                    order.or_else(|| self.orders.get(&who.tid).copied().filter(|_| kind == StallKind::Compaction));
                make_room(&mut self.open);
                self.open.insert((kind, who.tid), (now, order));
            }
            Role::End(kind) => {
                // Begun before we recorded, or lost: how long it took is not known.
                let Some((begun, order)) = self.open.remove(&(kind, who.tid)) else { return };
                let length = now.saturating_sub(begun);
                self.add(kind, who, order, &outcome.unwrap_or_default(), length, to_boot);
            }
            Role::Whole(kind) => {
                let length = match &known.duration {
                    Some((field, unit)) => {
                        let Some(length) = field.value(fields).and_then(|length| u64::try_from(length).ok()) else {
                            return;
                        };
                        // A writer that need not wait is not held up.
                        if length == 0 && kind == StallKind::DirtyBalance {
                            return;
                        }
                        length.saturating_mul(*unit)
                    }
                    None => 0,
                };
                self.add(kind, who, None, &outcome.unwrap_or_default(), length, to_boot);
            }
        }
    }

    fn add(&mut self, kind: StallKind, who: SampleId, order: Option<u8>, outcome: &str, length: u64, to_boot: u64) {
        let comm = self.names.of(&self.root, who);
        let kind = of_thread(kind, &comm);
        let shows = !self.is_redacted || super::stacks::is_kernel_thread_or_ours(&self.root, who.pid);
        let (pid, comm) = if shows { (who.pid, comm) } else { (self.unnamed(who.pid), Arc::from("")) };
        let slice = who.time.saturating_add(to_boot) / SECOND;
        let rows = self.slices.entry(slice).or_default();
        let key = (kind, pid, comm, order, Arc::from(outcome));
        if rows.len() >= MOST_ROWS && !rows.contains_key(&key) {
            self.lost += 1;
            return;
        }
        rows.entry(key).or_default().add(length, 1 << self.thinning);
    }

    /// The number that stands for a process: rules ask which one was held up longest.
    fn unnamed(&mut self, pid: u32) -> u32 {
        if let Some(known) = self.unnamed.get(&pid) {
            return *known;
        }
        make_room(&mut self.unnamed);
        let number = self.next_unnamed;
        self.next_unnamed = number.saturating_add(1);
        self.unnamed.insert(pid, number);
        number
    }

    /// How much must be thinned, by what came since it was last asked.
    fn weigh(&mut self) {
        if self.on_for < WINDOW / 2 {
            return;
        }
        let rate = (self.events + self.lost) as f64 / (self.on_for as f64 / 1e9);
        let needed = (rate / CAP as f64).max(1.0).log2().ceil() as u32;
        // Down a step at a time: the window that was kept may have been a quiet one.
        let needed = needed.max(self.thinning.saturating_sub(1));
        let needed = if self.lost > 0 { needed.max(self.thinning + 1) } else { needed };
        self.wanted_thinning = needed.min(MOST_THINNING);
    }

    fn count_time(&mut self, now: u64) {
        if self.is_on {
            self.on_for += now.saturating_sub(self.on_until);
        }
        self.on_until = now;
    }

    /// Whether this window is one that is kept.
    fn is_kept(&self, now: u64) -> bool {
        (now / WINDOW).is_multiple_of(1 << self.thinning)
    }
}

/// A table that has grown beyond any real host's number of threads holds what will never end.
fn make_room<K, V>(table: &mut HashMap<K, V>) {
    if table.len() >= MOST_OPEN {
        table.clear();
    }
}

/// Without what all words of that field begin with.
fn short(word: &str) -> String {
    word.strip_prefix("VMSCAN_THROTTLE_").unwrap_or(word).to_owned()
}

impl RingReader for Pairing {
    fn beat(&self) -> u64 {
        // A storm is noticed within a second; on a calm host waking up costs next to nothing.
        if self.thinning > 0 { WINDOW } else { SECOND }
    }

    fn take(&mut self, bytes: &[u8]) {
        let to_boot = clock::boot().saturating_sub(clock::awake());
        for record in by_time(bytes, Layout::Fields) {
            self.names.learn(&record);
            match record {
                Record::Fields { who, fields } => self.event(who, fields, to_boot),
                Record::Lost(count) => self.lost = self.lost.saturating_add(count),
                // A new process, which may have the number of one that is gone.
                Record::Started { who, .. } if who.tid == who.pid => drop(self.unnamed.remove(&who.pid)),
                _ => {}
            }
        }
    }

    fn tell(&mut self, until: u64, has_room: bool, events: &Sender<Event>) -> u64 {
        let now = clock::boot();
        let open = self.slices.split_off(&(until / SECOND));
        let done = std::mem::replace(&mut self.slices, open);
        let mut told = Vec::new();
        for (slice, rows) in done {
            let of_slice = told.len();
            told.extend(rows.into_iter().map(|((kind, pid, comm, order, outcome), durations)| StallRow {
                from: slice * SECOND,
                to: (slice + 1) * SECOND,
                kind,
                pid,
                comm: comm.to_string(),
                order,
                purpose: None,
                outcome: outcome.to_string(),
                durations,
            }));
            told[of_slice..].sort_by(|a, b| {
                (a.kind, a.pid, &a.comm, a.order, &a.outcome).cmp(&(b.kind, b.pid, &b.comm, b.order, &b.outcome))
            });
        }
        let rows = if has_room { told.len() as u64 } else { 0 };
        if !has_room {
            self.unwritten += told.drain(..).map(|row| row.durations.count()).sum::<u64>();
        }
        if !told.is_empty() {
            let _ = events.send(Event::Stalls(told));
        }
        if now.saturating_sub(self.counted_from) < SECOND / 2 {
            return rows;
        }
        self.count_time(now);
        let thinning = self.thinning;
        self.weigh();
        let gap = |reason, detail| {
            let (from, to, source) = (self.counted_from, Some(now), Some(SOURCE.to_owned()));
            let _ = events.send(Event::Gap(Gap { from, to, source, reason, ticks: None, detail }));
        };
        if self.lost > 0 {
            gap(GapReason::Lost, format!("{} events were lost beside {} that were seen", self.lost, self.events));
            self.lost_ever += self.lost;
            let _ = events.send(Event::Meta(keys::LOST, self.lost_ever.to_string()));
        }
        if self.unwritten > 0 {
            gap(GapReason::WriterBehind, format!("{} stalls were dropped: the disk took nothing", self.unwritten));
            self.unwritten = 0;
        }
        if thinning > 0 {
            let one_in = 1 << thinning;
            let detail = format!(
                "more than {CAP} events a second: one fifth of a second in {one_in} is kept and counts {one_in} times"
            );
            gap(GapReason::Thinned, detail);
        }
        (self.events, self.lost, self.counted_from, self.on_for) = (0, 0, now, 0);
        rows
    }

    fn turn(&mut self, is_on: bool, now: u64, events: &Sender<Event>) {
        (self.counted_from, self.events, self.on_for, self.on_until) = (now, 0, 0, now);
        (self.is_on, self.thinning, self.wanted_thinning) = (true, 0, 0);
        // What began before a pause ended unseen.
        self.open.clear();
        self.orders.clear();
        self.names.clear();
        turn(SOURCE, is_on, now, events);
    }

    fn adjust(&mut self, rings: &Rings) {
        let now = clock::boot();
        self.thinning = self.wanted_thinning;
        let should_be_on = self.is_kept(now);
        if should_be_on == self.is_on {
            return;
        }
        self.count_time(now);
        self.is_on = should_be_on;
        if should_be_on {
            // What had begun while nothing was kept ended unseen, and threads came and went.
            self.open.clear();
            self.names.clear();
            rings.enable();
        } else {
            rings.disable();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::perf_record::made_up;
    use crate::source::tracefs::Format;
    use std::sync::mpsc;

    const BEGIN: &str = "\tfield:int order;\toffset:8;\tsize:4;\tsigned:1;\n";
    const END: &str = "\tfield:int status;\toffset:8;\tsize:4;\tsigned:1;\n\
                       print fmt: \"status=%s\", __print_symbolic(REC->status, {7, \"contended\"})";
    const PAUSE: &str = "\tfield:long pause;\toffset:8;\tsize:8;\tsigned:1;\n";

    fn pairing(folder: &tempfile::TempDir) -> Pairing {
        let root = Root::at(folder.path());
        for (pid, comm) in [(70, "job"), (44, "kcompactd0")] {
            let path = root.path(&format!("/proc/{pid}/task/{pid}/comm"));
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, format!("{comm}\n")).unwrap();
        }
        let known = |name: &str, id: u64, format: &str| {
            let wanted = STALL_EVENTS.iter().find(|wanted| wanted.name.ends_with(name)).unwrap();
            KernelTracepoint::of(wanted, &Tracepoint { id, format: Format::parse(format) }).unwrap()
        };
        let known = vec![
            known("direct_reclaim_begin", 1, BEGIN),
            known("direct_reclaim_end", 2, ""),
            known("try_to_compact_pages", 3, BEGIN),
            known("mm_compaction_begin", 4, ""),
            known("mm_compaction_end", 5, END),
            known("balance_dirty_pages", 6, PAUSE),
        ];
        Pairing::new(&root, known, false)
    }

    fn event(pid: u32, time: u64, id: u16, value: u64) -> Vec<u8> {
        let mut fields = id.to_ne_bytes().to_vec();
        fields.resize(8, 0);
        fields.extend(value.to_ne_bytes());
        made_up::fields(SampleId { pid, tid: pid, time, cpu: 0 }, &fields)
    }

    fn told(pairing: &mut Pairing) -> Vec<StallRow> {
        let (events, received) = mpsc::channel();
        pairing.tell(u64::MAX, true, &events);
        drop(events);
        let stalls = received.into_iter().filter_map(|event| match event {
            Event::Stalls(rows) => Some(rows),
            _ => None,
        });
        stalls.flatten().collect()
    }

    #[test]
    fn a_stall_is_the_time_from_its_beginning_to_its_end_on_the_same_thread() {
        let folder = tempfile::tempdir().unwrap();
        let mut pairing = pairing(&folder);
        // As two rings give them: the end first.
        let ring = [event(70, 9_000_000, 2, 0), event(70, 1_000_000, 1, 9), event(71, 2_000_000, 2, 0)].concat();
        pairing.take(&ring);
        let rows = told(&mut pairing);
        assert_eq!(rows.len(), 1, "an end without a beginning has no length");
        assert_eq!((rows[0].kind, rows[0].pid, rows[0].comm.as_str()), (StallKind::DirectReclaim, 70, "job"));
        assert_eq!((rows[0].order, rows[0].durations.total()), (Some(9), 8_000_000));
    }

    #[test]
    fn compaction_has_the_order_asked_for_and_how_it_ended_and_kcompactds_is_its_own_kind() {
        let folder = tempfile::tempdir().unwrap();
        let mut pairing = pairing(&folder);
        let ring = [
            event(70, 1_000, 3, 9),
            event(70, 2_000, 4, 0),
            event(70, 5_000, 5, 7),
            event(44, 2_000, 4, 0),
            event(44, 3_000, 5, 3),
        ]
        .concat();
        pairing.take(&ring);
        let rows = told(&mut pairing);
        let seen: Vec<_> = rows.iter().map(|row| (row.kind, row.order, row.outcome.as_str())).collect();
        assert_eq!(
            seen,
            [(StallKind::Compaction, Some(9), "contended"), (StallKind::BackgroundCompaction, None, "3")],
            "a word the kernel does not give stays a number"
        );
    }

    #[test]
    fn redacted_processes_have_neither_name_nor_number_and_are_told_apart() {
        let folder = tempfile::tempdir().unwrap();
        let mut pairing = pairing(&folder);
        pairing.is_redacted = true;
        let stalled = |pid, at| [event(pid, at, 1, 0), event(pid, at + 500, 2, 0)].concat();
        pairing.take(&[stalled(70, 1_000), stalled(99, 2_000), stalled(70, 3_000)].concat());
        let mut rows = told(&mut pairing);
        rows.sort_by_key(|row| row.pid);
        let seen: Vec<_> = rows.iter().map(|row| (row.pid, row.comm.as_str(), row.durations.count())).collect();
        assert_eq!(seen, [(FIRST_UNNAMED, "", 2), (FIRST_UNNAMED + 1, "", 1)]);
    }

    #[test]
    fn a_writer_that_need_not_wait_is_not_held_up() {
        let folder = tempfile::tempdir().unwrap();
        let mut pairing = pairing(&folder);
        pairing.take(&[event(70, 1, 6, 0), event(70, 2, 6, (-3i64) as u64), event(70, 3, 6, 200)].concat());
        let rows = told(&mut pairing);
        assert_eq!((rows.len(), rows[0].durations.count(), rows[0].durations.total()), (1, 1, 200_000_000));
    }

    #[test]
    fn a_storm_is_thinned_and_what_is_seen_counts_several_times() {
        let folder = tempfile::tempdir().unwrap();
        let mut pairing = pairing(&folder);
        (pairing.events, pairing.on_for) = (75_000, SECOND);
        pairing.weigh();
        assert_eq!(pairing.wanted_thinning, 2, "a quarter of 75,000 is below the cap");
        pairing.thinning = 2;
        let kept = (0..8).filter(|window| pairing.is_kept(window * WINDOW)).count();
        assert_eq!(kept, 2, "one window in four");
        (pairing.events, pairing.lost) = (100, 5);
        pairing.weigh();
        assert_eq!(pairing.wanted_thinning, 3, "the kernel lost some: less, not more");
        pairing.lost = 0;
        pairing.weigh();
        assert_eq!(pairing.wanted_thinning, 1, "back a step at a time");
        pairing.take(&[event(70, 1_000, 1, 0), event(70, 2_000, 2, 0)].concat());
        assert_eq!(told(&mut pairing)[0].durations.count(), 4);
    }

    #[test]
    fn events_of_any_bytes_do_no_harm() {
        let folder = tempfile::tempdir().unwrap();
        let mut pairing = pairing(&folder);
        for length in 0..16 {
            pairing.take(&made_up::fields(SampleId::default(), &vec![1; length]));
            pairing.take(&made_up::fields(SampleId::default(), &[&[3, 0][..], &vec![0xff; length]].concat()));
        }
        assert!(told(&mut pairing).is_empty());
    }
}

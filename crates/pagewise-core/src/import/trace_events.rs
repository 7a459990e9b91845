//! Tracepoints of reclaim, compaction and dirty pages as text: `trace` and `trace_pipe` of tracefs, `trace-cmd report`, and `perf script` of such
//! events; and the rows of `drsnoop` and `compactsnoop` ([`snoop`](super::snoop)), which tell whole stalls. From beginnings and ends come the stalls that Pagewise itself records ([`stall_events`](crate::recording::stall_events)).
//!
//! Threads are told by their number, as the tracer prints it. Events are put in order of time first: traces of single CPUs stand one behind the
//! other. A stall that had begun before the trace, or beside which events were lost, is left out; of one that goes on at the end of a trace it is
//! known that it took at least so long.

use super::listing::{Listing, ListingClock, count};
use super::snapshots::NO_TIME;
use super::snoop::{SnoopRow, SnoopTable};
use super::threads::kernel_thread;
use super::times::{SECOND, seconds};
use super::words::quoted;
use super::{Kind, Parser, Problem};
use crate::recording::stall_events::{Role, STALL_EVENTS, StallEvent};
use crate::recording::{Durations, GapReason, StallKind, StallRow};
use std::collections::{BTreeMap, BTreeSet};

const REMEDY: &str = "give what `trace-cmd record -e vmscan -e compaction sleep 60; trace-cmd report` prints, or `cat trace` below \
                      /sys/kernel/tracing with these events enabled";

/// Events, rows and instants of a file.
const MOST_EVENTS: usize = 2_000_000;
const MOST_ROWS: usize = 100_000;
const MOST_INSTANTS: usize = 20_000;

/// No stall that an event tells by itself is longer, in nanoseconds: the kernel lets a writer wait for 0.2 s (`MAX_PAUSE`) and a task that
/// reclaims for some tenths.
pub(super) const LONGEST_TOLD: i64 = 60 * SECOND;

/// Events that a thread has only while it compacts or reclaims: where its beginnings and ends were not traced, it was at it from the first of
/// them to the last, as long as no two are further apart than [`APART`].
const WITHIN: [(&str, StallKind); 7] = [
    ("mm_compaction_isolate_migratepages", StallKind::Compaction),
    ("mm_compaction_isolate_freepages", StallKind::Compaction),
    ("mm_compaction_migratepages", StallKind::Compaction),
    ("mm_vmscan_lru_isolate", StallKind::DirectReclaim),
    ("mm_vmscan_lru_shrink_inactive", StallKind::DirectReclaim),
    ("mm_vmscan_lru_shrink_active", StallKind::DirectReclaim),
    ("mm_vmscan_writepage", StallKind::DirectReclaim),
];

/// Nanoseconds.
const APART: i64 = 10_000_000;

/// Events of kswapd's own, which tell it where its name was not known.
const OF_KSWAPD: [&str; 2] = ["mm_vmscan_kswapd_wake", "mm_vmscan_kswapd_sleep"];

/// Kinds that no tracepoint tells.
const UNTRACED: [StallKind; 2] = [StallKind::SwapIn, StallKind::MapLock];

/// Whether a thread is the kernel's: what it does for memory holds up no program.
fn is_kernels(comm: &str) -> bool {
    kernel_thread(comm).is_some() || matches!(comm, "kthreadd" | "oom_reaper")
}

/// What a line tells.
#[derive(Clone, Copy, Debug)]
enum LineMeaning {
    Event(&'static StallEvent),
    Within(StallKind),
    OfKswapd,
    /// Events were lost here: what is open has an end that nobody saw.
    Lost,
}

/// A line of a trace.
#[derive(Debug)]
struct Traced<'l> {
    told: LineMeaning,
    comm: &'l str,
    tid: u32,
    at: i64,
    fields: &'l str,
}

impl<'l> Traced<'l> {
    /// `java-51234 [003] d..1. 1234.567890: mm_compaction_begin: zone_start=0x1 …` of ftrace, `java 51234 [003] 1234.567890:
    /// compaction:mm_compaction_begin: …` of perf.
    fn of(line: &'l str) -> Option<Traced<'l>> {
        // Most lines are of other things, and names of threads may have colons.
        if !line.contains("mm_") && !line.contains("balance_dirty_pages") {
            return None;
        }
        line.match_indices(": ").take(8).find_map(|(place, _)| Traced::behind(&line[..place], &line[place + 2..]))
    }

    fn behind(before: &'l str, behind: &'l str) -> Option<Traced<'l>> {
        let (head, time) = before.rsplit_once(char::is_whitespace)?;
        let at = seconds(time).filter(|_| time.contains('.'))?;
        let alone = || behind.trim().strip_suffix(':').map(|name| (name, ""));
        let (name, fields) = behind.trim_start().split_once(": ").or_else(alone)?;
        // perf may print how many events a sample stands for.
        let name = name.rsplit(char::is_whitespace).next()?;
        let name = name.rsplit(':').next()?;
        let event =
            STALL_EVENTS.iter().find(|event| event.name.rsplit('/').next() == Some(name)).map(LineMeaning::Event);
        let within = || WITHIN.iter().find(|(within, _)| *within == name).map(|(_, kind)| LineMeaning::Within(*kind));
        let of_kswapd = || OF_KSWAPD.contains(&name).then_some(LineMeaning::OfKswapd);
        let told = event.or_else(within).or_else(of_kswapd)?;
        let (comm, tid) = task_of(before_cpu(head))?;
        Some(Traced { told, comm, tid, at, fields })
    }

    /// `name=value`.
    fn field(&self, name: &str) -> Option<&'l str> {
        self.fields.split_whitespace().find_map(|word| {
            let (key, value) = word.split_once('=')?;
            // `mm_vmscan_throttled` prints its `usec_delayed` so.
            let is_it = key == name || (key == "usect_delayed" && name == "usec_delayed");
            is_it.then(|| value.trim_end_matches(','))
        })
    }

    fn order(&self, event: &StallEvent) -> Option<u8> {
        self.field(event.order?)?.parse().ok().filter(|order| *order < 64)
    }

    fn outcome(&self, event: &StallEvent) -> &'l str {
        event.outcome.and_then(|name| self.field(name)).unwrap_or_default()
    }

    /// Nanoseconds that an event tells by itself. `None`: it tells none, or such as no kernel has.
    fn length(&self, event: &StallEvent) -> Option<i64> {
        let (name, unit) = event.duration?;
        let length = self.field(name)?.parse::<i64>().ok()?.checked_mul(unit.cast_signed())?;
        (1..=LONGEST_TOLD).contains(&length).then_some(length)
    }
}

/// What stands in front of `[003] d..1.`.
fn before_cpu(head: &str) -> &str {
    let is_cpu = |word: &str| {
        let inside = word.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        inside.is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let cpu = head.split_whitespace().rev().take(2).find(|word| is_cpu(word));
    cpu.and_then(|word| head.rfind(word)).map_or(head, |place| &head[..place]).trim()
}

/// `java-51234`, `java-51234 (51230)`, `java-51234 (-----)`, `java 51234`, `java 51230/51234`: name and number of a thread. Its name may have
/// been cut off: `-51234`.
fn task_of(text: &str) -> Option<(&str, u32)> {
    let text = match text.strip_suffix(')').and_then(|inside| inside.rsplit_once('(')) {
        Some((task, group)) if group.trim().bytes().all(|byte| byte.is_ascii_digit() || byte == b'-') => {
            task.trim_end()
        }
        _ => text,
    };
    let number = |digits: &str| digits.parse().ok().filter(|_| digits.bytes().all(|byte| byte.is_ascii_digit()));
    let of_perf = || {
        let (comm, numbers) = text.rsplit_once(char::is_whitespace)?;
        Some((comm.trim_end(), number(numbers.rsplit('/').next()?)?)).filter(|(comm, _)| !comm.is_empty())
    };
    let of_ftrace = || {
        let (comm, tid) = text.rsplit_once('-')?;
        // What stands in front of the blanks that fill up a name is of grep, or of a report of several files.
        Some((comm.rsplit("  ").next()?.trim_start(), number(tid)?))
    };
    of_perf().or_else(of_ftrace)
}

/// An event, until the trace has ended.
#[derive(Clone, Copy, Debug)]
struct Event {
    at: i64,
    told: LineMeaning,
    tid: u32,
    /// Places among [`TraceEvents::names`].
    comm: u32,
    outcome: u32,
    order: Option<u8>,
    length: Option<i64>,
}

#[derive(Debug)]
pub(super) struct TraceEvents {
    listing: Listing,
    events: Vec<Event>,
    /// Names of threads, and how stalls ended.
    names: BTreeMap<String, u32>,
    /// From when to when each of the traces goes that stand one behind the other.
    stretches: Vec<(i64, i64)>,
    begins_anew: bool,
    lost: usize,
    /// What rows below the last headings of drsnoop or compactsnoop are.
    table: Option<SnoopTable>,
    /// Rows without a time.
    untimed: usize,
}

pub(super) fn recognises(line: &str) -> bool {
    Traced::of(line).is_some() || SnoopTable::of_headings(line).is_some()
}

/// Whether a line says that events were lost before it.
fn is_loss(line: &str) -> bool {
    (line.contains("[LOST ") && line.contains(" EVENTS]"))
        || line.contains("EVENTS DROPPED]")
        || (line.contains("##### CPU ") && line.contains("buffer started"))
}

impl TraceEvents {
    pub(super) fn new() -> TraceEvents {
        TraceEvents {
            listing: Listing::new(Kind::TraceEvents, ListingClock::Foreign),
            events: Vec::new(),
            names: BTreeMap::new(),
            stretches: Vec::new(),
            begins_anew: true,
            lost: 0,
            table: None,
            untimed: 0,
        }
    }

    fn name(&mut self, name: &str) -> u32 {
        if let Some(known) = self.names.get(name) {
            return *known;
        }
        let number = self.names.len() as u32;
        self.names.insert(name.to_owned(), number);
        number
    }

    /// Whether one more event is kept; else it is counted as lost.
    fn has_room(&mut self) -> bool {
        let has_room = self.events.len() < MOST_EVENTS;
        self.lost += usize::from(!has_room);
        has_room
    }

    fn keep(&mut self, traced: &Traced<'_>) {
        if !self.has_room() {
            return;
        }
        let Traced { told, comm, tid, at, .. } = *traced;
        let (order, outcome, length) = match told {
            LineMeaning::Event(event) => (traced.order(event), traced.outcome(event), traced.length(event)),
            _ => (None, "", None),
        };
        let (comm, outcome) = (self.name(comm), self.name(outcome));
        self.add(Event { at, told, tid, comm, outcome, order, length }, at);
    }

    fn keep_row(&mut self, row: &SnoopRow<'_>) {
        if !self.has_room() {
            return;
        }
        let SnoopRow { event, tid, order, length, .. } = *row;
        self.untimed += usize::from(row.at.is_none());
        let at = row.at.unwrap_or_default();
        let (comm, outcome) = (self.name(&row.comm), self.name(row.outcome));
        let event = Event { at, told: LineMeaning::Event(event), tid, comm, outcome, order, length: Some(length) };
        self.add(event, if row.at.is_some() { at.saturating_sub(length) } else { at });
    }

    /// An event of which something was there from an instant on.
    fn add(&mut self, event: Event, from: i64) {
        // A second may lie between the lines of two CPUs.
        let goes_back = self.stretches.last().is_some_and(|(_, last)| event.at < last.saturating_sub(SECOND));
        match self.stretches.last_mut().filter(|_| !self.begins_anew && !goes_back) {
            Some((first, last)) => (*first, *last) = ((*first).min(from), (*last).max(event.at)),
            None => self.stretches.push((from, event.at)),
        }
        self.begins_anew = false;
        self.events.push(event);
    }

    /// Traces that overlap are of one time.
    fn merged(&mut self) -> Vec<(i64, i64)> {
        let mut stretches = std::mem::take(&mut self.stretches);
        stretches.sort_unstable();
        let mut merged: Vec<(i64, i64)> = Vec::new();
        for (first, last) in stretches {
            match merged.last_mut().filter(|(_, before)| first <= *before) {
                Some((_, before)) => *before = last.max(*before),
                None => merged.push((first, last)),
            }
        }
        merged
    }

    /// What the trace is not, as gaps.
    fn say(&mut self, told: &BTreeSet<StallKind>, stretches: &[(i64, i64)], begun_before: usize, lost_rows: usize) {
        let not_traced = || GapReason::Other("not_traced".to_owned());
        for kind in StallKind::all().filter(|kind| !told.contains(kind) && !UNTRACED.contains(kind)) {
            let detail = format!("there is no event of {kind} in the trace: it was not traced, or there was none");
            self.listing.gap(Some(&format!("stalls.{kind}")), not_traced(), detail);
        }
        let begins = stretches.iter().map(|(first, _)| Some(*first)).chain([None]);
        let ends = [i64::MIN / 4].into_iter().chain(stretches.iter().map(|(_, last)| *last));
        for (from, to) in ends.zip(begins) {
            let detail = "the trace does not go there";
            self.listing.gap_between(Some(from), to, Some("stalls"), not_traced(), detail);
        }
        if self.untimed > 0 {
            let detail =
                format!("{} have no time: drsnoop -T and compactsnoop -T print it", count(self.untimed, "row"));
            self.listing.gap(Some("stalls"), GapReason::Other(NO_TIME.to_owned()), detail);
        }
        if begun_before > 0 {
            let stalls = count(begun_before, "stall");
            self.listing
                .note(format!("trace: {stalls} had begun before it, or their beginning was lost, and are left out"));
        }
        if self.lost + lost_rows > 0 {
            let lost = count(self.lost + lost_rows, "event");
            self.listing.gap(None, GapReason::Lost, format!("trace: {lost} are beyond what is kept of a file"));
        }
    }
}

/// Stalls of one thread, kind, order and outcome that begin and end in the same seconds.
type Key = (i64, i64, StallKind, u32, u32, Option<u8>, u32);

/// Beginnings and ends of stalls, in order of time.
#[derive(Debug, Default)]
struct Pairing {
    /// Threads that are kswapd whatever they are called, and names of threads that are the kernel's.
    kswapds: BTreeSet<u32>,
    kernels: BTreeSet<u32>,
    /// Whether it was traced what programs ask of compaction: what nobody asked for was started by hand (`compact_memory`).
    tells_who_asks: bool,
    open: BTreeMap<(StallKind, u32), Event>,
    /// From the first to the last of the events within a stall that came close together.
    within: BTreeMap<(StallKind, u32), (Event, i64)>,
    /// Such stalls, until it is known that there are no beginnings of that kind.
    by_within: Vec<(StallKind, Event, i64)>,
    orders: BTreeMap<u32, u8>,
    rows: BTreeMap<Key, Durations>,
    /// Kinds of which there is an event.
    told: BTreeSet<StallKind>,
    /// Ends without a beginning, and stalls beyond what is kept.
    begun_before: usize,
    lost: usize,
}

impl Pairing {
    fn take(&mut self, event: &Event) {
        let Event { at, told, tid, .. } = *event;
        let known = match told {
            LineMeaning::Event(known) => known,
            LineMeaning::Within(kind) => return self.within(kind, event),
            LineMeaning::OfKswapd => return,
            LineMeaning::Lost => {
                self.begun_before += self.open.len();
                self.open.clear();
                return self.close_within();
            }
        };
        match known.role {
            Role::Order => {
                if let Some(order) = event.order {
                    self.orders.insert(tid, order);
                }
            }
            Role::Begin(kind) => {
                self.told.insert(kind);
                // One request compacts zone after zone.
                let asked = self.orders.get(&tid).copied().filter(|_| kind == StallKind::Compaction);
                self.open.insert((kind, tid), Event { order: event.order.or(asked), ..*event });
            }
            Role::End(kind) => {
                self.told.insert(kind);
                match self.open.remove(&(kind, tid)) {
                    Some(begun) => self.add(kind, &Event { outcome: event.outcome, ..begun }, (begun.at, at)),
                    None => self.begun_before += 1,
                }
            }
            Role::Whole(kind) => {
                self.told.insert(kind);
                // A writer is told how long it will sleep, a task that reclaim held back how long it did.
                let span = match (kind, event.length) {
                    (StallKind::DirtyBalance, Some(length)) => (at, at.saturating_add(length)),
                    (_, Some(length)) => (at.saturating_sub(length), at),
                    (StallKind::Collapse, None) => (at, at),
                    (_, None) => return,
                };
                self.add(kind, event, span);
            }
        }
    }

    fn within(&mut self, kind: StallKind, event: &Event) {
        let Event { at, tid, .. } = *event;
        // Within a limit the same is done for a control group.
        let reclaims = [StallKind::DirectReclaim, StallKind::CgroupReclaim];
        if reclaims.contains(&kind) && reclaims.into_iter().any(|kind| self.open.contains_key(&(kind, tid))) {
            return;
        }
        let near = |(_, last): &&mut (Event, i64)| at.saturating_sub(*last) <= APART;
        if let Some((_, last)) = self.within.get_mut(&(kind, tid)).filter(near) {
            *last = at;
            return;
        }
        if let Some((first, last)) = self.within.insert((kind, tid), (*event, at)) {
            self.by_within.push((kind, first, last));
        }
    }

    fn close_within(&mut self) {
        let open = std::mem::take(&mut self.within).into_iter();
        self.by_within.extend(open.map(|((kind, _), (first, last))| (kind, first, last)));
    }

    /// A trace ends at this instant.
    fn end(&mut self, last: i64) {
        for ((kind, _), begun) in std::mem::take(&mut self.open) {
            self.add(kind, &begun, (begun.at, last));
        }
        self.close_within();
        self.orders.clear();
    }

    /// Stalls that only events within them tell.
    fn add_within(&mut self) {
        let has_beginnings = self.told.clone();
        // Of these it is not known who asked.
        self.tells_who_asks = false;
        for (kind, first, last) in std::mem::take(&mut self.by_within) {
            if !has_beginnings.contains(&kind) {
                self.add(kind, &first, (first.at, last));
            }
        }
    }

    fn add(&mut self, kind: StallKind, event: &Event, (from, to): (i64, i64)) {
        let Some(length) = to.checked_sub(from).filter(|length| *length >= 0) else { return };
        let is_kernels = self.kernels.contains(&event.comm) || self.kswapds.contains(&event.tid);
        let is_by_hand = self.tells_who_asks && event.order.is_none();
        let kind = match kind {
            StallKind::Compaction if is_kernels || is_by_hand => StallKind::BackgroundCompaction,
            StallKind::Collapse => kind,
            _ if is_kernels => return,
            kind => kind,
        };
        self.told.insert(kind);
        let (begin, end) = (from.div_euclid(SECOND), to.div_euclid(SECOND).saturating_add(1));
        let key = (begin, end, kind, event.tid, event.comm, event.order, event.outcome);
        if self.rows.len() >= MOST_ROWS && !self.rows.contains_key(&key) {
            self.lost += 1;
            return;
        }
        self.rows.entry(key).or_default().add(length.cast_unsigned(), 1);
    }
}

impl Parser for TraceEvents {
    fn line(&mut self, _number: usize, line: &str) -> Result<(), Problem> {
        if let Some(traced) = Traced::of(line) {
            self.keep(&traced);
        } else if let Some(table) = SnoopTable::of_headings(line) {
            self.table = Some(table);
        } else if let Some(row) = self.table.and_then(|table| table.row(line)) {
            self.keep_row(&row);
        } else if line.trim_start().starts_with("# tracer:") {
            self.begins_anew = true;
        } else if is_loss(line)
            && let Some(last) = self.events.last().copied()
        {
            self.events.push(Event { told: LineMeaning::Lost, ..last });
            if !line.contains("buffer started") {
                self.listing.gap(None, GapReason::Lost, format!("the tracer lost events: '{}'", quoted(line)));
            }
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<Listing, Problem> {
        let stretches = self.merged();
        let (Some((first, _)), Some((_, last))) = (stretches.first().copied(), stretches.last().copied()) else {
            return Err(self.listing.nothing("event of reclaim or compaction", REMEDY));
        };
        let mut events = std::mem::take(&mut self.events);
        events.sort_by_key(|event| event.at);
        let is_of = |told: fn(LineMeaning) -> bool| events.iter().filter(move |event| told(event.told));
        let mut pairing = Pairing {
            kswapds: is_of(|told| matches!(told, LineMeaning::OfKswapd)).map(|event| event.tid).collect(),
            kernels: self.names.iter().filter(|(name, _)| is_kernels(name)).map(|(_, number)| *number).collect(),
            tells_who_asks: is_of(|told| match told {
                // Of whole compactions the order that was asked for is told, too.
                LineMeaning::Event(event) => matches!(event.role, Role::Order | Role::Whole(StallKind::Compaction)),
                told => matches!(told, LineMeaning::Within(StallKind::Compaction)),
            })
            .next()
            .is_some(),
            ..Pairing::default()
        };
        let mut ends = stretches.iter().map(|(_, last)| *last).peekable();
        for event in &events {
            while let Some(end) = ends.next_if(|end| *end < event.at) {
                pairing.end(end);
            }
            pairing.take(event);
        }
        pairing.end(last);
        pairing.add_within();
        self.say(&pairing.told, &stretches, pairing.begun_before, pairing.lost);
        // A trace of half a second is one of half a second: what is of its first and last second ends with it.
        let after = last.max(first.saturating_add(1));
        let whole = |second: i64| second.saturating_mul(SECOND).clamp(first, after);
        self.listing.touch(first);
        self.listing.touch(after);
        for (begin, end, ..) in pairing.rows.keys().take(MOST_INSTANTS) {
            self.listing.touch(whole(*begin));
            self.listing.touch(whole(*end));
        }
        let names: BTreeMap<u32, &String> = self.names.iter().map(|(name, number)| (*number, name)).collect();
        let name = |number: u32| names.get(&number).map_or_else(String::new, |name| (*name).clone());
        let rows = pairing.rows.into_iter().map(|((begin, end, kind, pid, comm, order, outcome), durations)| {
            let (comm, outcome) = (name(comm), name(outcome));
            (
                whole(begin),
                whole(end),
                StallRow { from: 0, to: 0, kind, pid, comm, order, purpose: None, outcome, durations },
            )
        });
        self.listing.stalls = rows.collect();
        Ok(self.listing.close())
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::recording;
    use super::super::{kinds_in, parse};
    use super::*;
    use crate::import::Assumed;
    use crate::recording::Recorded;

    fn stalls(text: &str) -> Vec<(StallKind, String, u32, Option<u8>, String, u64)> {
        let rows = recording(&[(Kind::TraceEvents, text)]).stalls().unwrap().unwrap_or_default();
        rows.into_iter()
            .map(|row| (row.kind, row.comm, row.pid, row.order, row.outcome, row.durations.total() / 1_000_000))
            .collect()
    }

    #[test]
    fn every_tracer_prints_the_same_stall() {
        for text in [
            "            java-51234   [003] ..... 1234567.100000: mm_vmscan_direct_reclaim_begin: order=2 gfp_flags=GFP_KERNEL\n            \
             java-51234   [003] ..... 1234567.112000: mm_vmscan_direct_reclaim_end: nr_reclaimed=33\n",
            "            java-51234 (  51230) [003] d..1. 1234567.100000: mm_vmscan_direct_reclaim_begin: order=2 may_writepage=1\n            \
             java-51234 (  51230) [003] d..1. 1234567.112000: mm_vmscan_direct_reclaim_end: nr_reclaimed=33\n",
            "            java-51234 [003]  1234567.100000: mm_vmscan_direct_reclaim_begin: order=2\n            \
             java-51234 [003]  1234567.112000: mm_vmscan_direct_reclaim_end: nr_reclaimed=33\n",
            "java 51234 [003] 1234567.100000: vmscan:mm_vmscan_direct_reclaim_begin: order=2 gfp_flags=GFP_KERNEL\n\
             java 51230/51234 [003] 1234567.112000:          1 vmscan:mm_vmscan_direct_reclaim_end: nr_reclaimed=33\n",
        ] {
            assert_eq!(kinds_in(text), [Kind::TraceEvents], "{text}");
            let one = (StallKind::DirectReclaim, "java".to_owned(), 51234, Some(2), String::new(), 12);
            assert_eq!(stalls(text), [one], "{text}");
        }
    }

    #[test]
    fn rows_of_bcc_are_whole_stalls() {
        let timed = "TIME(s)       COMM           PID    NODE ZONE         ORDER MODE      LAT(ms)           STATUS\n\
                     107.364115000 java           23685  0    ZONE_NORMAL  9     ASYNC      113.9         contended\n\
                     108.000000000 zsh            23686  0    ZONE_NORMAL  -1    SYNC       50.0          complete\n\
                     109.000000000 kcompactd0     66     0    ZONE_NORMAL  9     SYNC       50.0          success\n";
        assert_eq!(kinds_in(timed), [Kind::TraceEvents]);
        let found: Vec<_> = stalls(timed).into_iter().map(|(kind, comm, _, order, ..)| (kind, comm, order)).collect();
        let of = |kind, comm: &str, order| (kind, comm.to_owned(), order);
        assert_eq!(
            found,
            [
                of(StallKind::Compaction, "java", Some(9)),
                of(StallKind::BackgroundCompaction, "zsh", None),
                of(StallKind::BackgroundCompaction, "kcompactd0", Some(9)),
            ]
        );
        let untimed = "# ./drsnoop\nCOMM           PID     LAT(ms) PAGES\nsummond        17678      0.19   143\n^C\n";
        let imported = recording(&[(Kind::TraceEvents, untimed)]);
        let rows = imported.stalls().unwrap().unwrap_or_default();
        assert_eq!((rows.len(), rows[0].kind, rows[0].durations.total()), (1, StallKind::DirectReclaim, 190_000));
        assert!(imported.gaps().iter().any(|gap| gap.reason.word() == NO_TIME), "{:?}", imported.gaps());
    }

    #[test]
    fn the_trace_of_a_real_host() {
        let text = include_str!("../../../../recordings/imports/trace-events.txt");
        let found = stalls(text);
        // Somebody wrote to `compact_memory`: no program asked.
        let is_by_hand = |row: &(StallKind, String, u32, Option<u8>, String, u64)| {
            row.0 == StallKind::BackgroundCompaction && row.1 == "sh"
        };
        assert!(found.len() > 1 && found.iter().all(is_by_hand), "{found:?}");
        let imported = recording(&[(Kind::TraceEvents, text)]);
        assert!(imported.gaps().iter().all(|gap| gap.reason != GapReason::NotUnderstood), "{:?}", imported.gaps());
    }

    #[test]
    fn orders_outcomes_and_threads_of_the_kernel() {
        let text = "\
            kcompactd0-60 [000] ..... 10.000000: mm_compaction_begin: zone_start=0x1, mode=sync\n\
            Web Content-7 [001] ..... 10.100000: mm_compaction_try_to_compact_pages: order=9 gfp_mask=GFP_TRANSHUGE priority=1\n\
            Web Content-7 [001] ..... 10.200000: mm_compaction_begin: zone_start=0x1 migrate_pfn=0x2, mode=async\n\
            Web Content-7 [001] ..... 10.250000: mm_compaction_end: zone_start=0x1, mode=async status=contended\n\
            Web Content-7 [001] ..... 10.260000: mm_compaction_begin: zone_start=0x9 migrate_pfn=0x9, mode=async\n\
            Web Content-7 [001] ..... 10.290000: mm_compaction_end: zone_start=0x9, mode=async status=partial\n\
            kcompactd0-60 [000] ..... 10.500000: mm_compaction_end: zone_start=0x1, mode=sync status=complete\n\
            dd-9 [001] ..... 10.600000: mm_vmscan_throttled: nid=0 usec_timeout=100000 usect_delayed=40000 reason=VMSCAN_THROTTLE_WRITEBACK\n\
            dd-9 [001] ..... 10.700000: balance_dirty_pages: bdi 8:0: limit=1 dirty=2 paused=0 pause=20 period=30 think=1\n\
            dd-9 [001] ..... 10.800000: balance_dirty_pages: bdi 8:0: limit=1 dirty=2 paused=0 pause=-3 period=30 think=1\n";
        let mut found = stalls(text);
        found.sort_by_key(|row| (row.2, row.5));
        let row = |kind, comm: &str, tid, order, outcome: &str, length| {
            (kind, comm.to_owned(), tid, order, outcome.to_owned(), length)
        };
        assert_eq!(
            found,
            [
                row(StallKind::Compaction, "Web Content", 7, Some(9), "partial", 30),
                row(StallKind::Compaction, "Web Content", 7, Some(9), "contended", 50),
                row(StallKind::DirtyBalance, "dd", 9, None, "", 20),
                row(StallKind::Throttled, "dd", 9, None, "VMSCAN_THROTTLE_WRITEBACK", 40),
                row(StallKind::BackgroundCompaction, "kcompactd0", 60, None, "complete", 500),
            ]
        );
    }

    /// A stall of a thread that begins and ends at these seconds.
    fn stall(task: &str, group: &str, from: f64, to: f64) -> String {
        let line = |at: f64, name: &str| format!("{task} [003] ..... {at:.6}: mm_vmscan_{group}_{name}: order=0\n");
        line(from, "begin") + &line(to, "end")
    }

    #[test]
    fn events_are_put_in_order_and_lost_ones_end_what_is_open() {
        let of_one = |task: &str| -> String {
            let at = |second: i32| stall(task, "direct_reclaim", f64::from(second), f64::from(second) + 0.001);
            (0..4).map(at).collect()
        };
        let cpus = of_one("a-1") + &of_one("b-2");
        assert!(stalls(&cpus).iter().all(|row| row.5 == 1), "one CPU behind the other: {:?}", stalls(&cpus));
        for loss in ["CPU:3 [LOST 12 EVENTS]", "CPU:3 [51234 EVENTS DROPPED]", "##### CPU 3 buffer started ####"] {
            let begun = "a-1 [003] ..... 1.0: mm_vmscan_direct_reclaim_begin: order=0\n";
            let text = format!("{begun}{loss}\n{}", stall("a-1", "direct_reclaim", 30.0, 30.002));
            assert_eq!(stalls(&text).iter().map(|row| row.5).collect::<Vec<_>>(), [2], "{loss}");
        }
        let two = format!(
            "# tracer: nop\na-1 [003] ..... 1.0: mm_vmscan_direct_reclaim_begin: order=0\n# tracer: nop\n{}",
            stall("a-1", "direct_reclaim", 4000.0, 4000.002)
        );
        assert_eq!(stalls(&two).iter().map(|row| row.5).collect::<Vec<_>>(), [0, 2]);
    }

    #[test]
    fn what_threads_of_the_kernel_do_and_what_is_done_within_a_limit_is_no_direct_reclaim() {
        for task in ["kworker/0:1-9", "khugepaged-9", "kswapd0-9"] {
            assert!(stalls(&stall(task, "direct_reclaim", 1.0, 1.5)).is_empty(), "{task}");
        }
        let unnamed = "<...>-89 [001] ..... 1.0: mm_vmscan_kswapd_wake: nid=0 order=0\n\
                       <...>-89 [001] ..... 1.1: mm_vmscan_lru_isolate: nr_scanned=1\n\
                       <...>-89 [001] ..... 1.105: mm_vmscan_lru_isolate: nr_scanned=1\n";
        assert!(stalls(unnamed).is_empty());
        let group = "a-1 [001] ..... 1.0: mm_vmscan_memcg_reclaim_begin: order=0\n\
                     a-1 [001] ..... 1.1: mm_vmscan_lru_isolate: nr_scanned=1\n\
                     a-1 [001] ..... 1.2: mm_vmscan_memcg_reclaim_end: nr_reclaimed=1\n";
        assert_eq!(
            stalls(group).iter().map(|row| (row.0, row.5)).collect::<Vec<_>>(),
            [(StallKind::CgroupReclaim, 200)]
        );
        let endless = "dd-9 [001] ..... 10.7: balance_dirty_pages: bdi 8:0: pause=9223372036854 period=30\n";
        assert!(stalls(endless).is_empty());
    }

    #[test]
    fn names_of_threads_may_have_anything_in_them() {
        for (task, name) in [
            ("gunicorn: worker-7", "gunicorn: worker"),
            ("a[1]-b-7", "a[1]-b"),
            ("-7", ""),
            ("12:            java-7", "java"),
        ] {
            let found = stalls(&stall(task, "direct_reclaim", 1.0, 1.002));
            assert_eq!(found.iter().map(|row| (row.1.as_str(), row.2)).collect::<Vec<_>>(), [(name, 7)], "{task}");
        }
        let perf = "dask worker [tc 51234 100.0: vmscan:mm_vmscan_direct_reclaim_begin: order=0\n\
                    dask worker [tc 51234 100.5: vmscan:mm_vmscan_direct_reclaim_end: nr_reclaimed=1\n";
        assert_eq!(stalls(perf)[0].1, "dask worker [tc");
    }

    #[test]
    fn ends_of_a_trace() {
        let text = "a-1 [000] 5.000000: mm_vmscan_direct_reclaim_end: nr_reclaimed=1\n\
                    CPU:0 [LOST 12 EVENTS]\n\
                    b-2 [000] 5.000000: mm_vmscan_direct_reclaim_begin: order=0\n\
                    a-1 [000] 9.000000: mm_vmscan_direct_reclaim_begin: order=0\n";
        let found = stalls(text);
        assert_eq!(found.iter().map(|row| (row.2, row.5)).collect::<Vec<_>>(), [(2, 4_000), (1, 0)]);
        let imported = recording(&[(Kind::TraceEvents, text)]);
        assert!(imported.gaps().iter().any(|gap| gap.reason == GapReason::Lost));
        assert!(imported.gaps().iter().any(|gap| gap.source.as_deref() == Some("stalls.compaction")), "not traced");
        assert!(!imported.gaps().iter().any(|gap| gap.source.as_deref() == Some("stalls.direct_reclaim")));
        assert!(parse(Kind::TraceEvents, "# tracer: nop\n", &Assumed::default()).is_err());
    }

    #[test]
    fn what_happens_only_within_a_stall_tells_it_where_its_beginning_was_not_traced() {
        let within = |at: f64| {
            format!("stress-7 [007] {at:.6}: mm_compaction_isolate_migratepages: range=(0x1 ~ 0x1) nr_scanned=0\n")
        };
        let text: String =
            (0..100).map(|step| within(5.0 + f64::from(step) * 0.004)).collect::<String>() + &within(9.0);
        let found = stalls(&text);
        assert_eq!(
            found.iter().map(|row| (row.0, row.5)).collect::<Vec<_>>(),
            [(StallKind::Compaction, 396), (StallKind::Compaction, 0)]
        );
        let begun = format!(
            "{text}stress-7 [007] 9.1: mm_compaction_begin: mode=sync\nstress-7 [007] 9.2: mm_compaction_end: status=complete\n"
        );
        assert_eq!(stalls(&begun).iter().map(|row| row.5).collect::<Vec<_>>(), [100]);
        assert!(stalls("kswapd0-7 [007] 9.1: mm_vmscan_lru_isolate: nr_scanned=1\n").is_empty());
    }

    #[test]
    fn other_lines_are_none() {
        for line in [
            "java 51234 [003] 1234567.100000: cpu-clock:",
            "java-51234 [003] ..... 1.5: sched_switch: prev_comm=java",
            "mm_vmscan_direct_reclaim_begin: order=0",
            "[003] 1.5: mm_vmscan_direct_reclaim_begin: order=0",
            "1.5: mm_vmscan_direct_reclaim_begin: order=0",
        ] {
            assert!(!recognises(line), "{line}");
        }
    }
}

//! Tracepoints of reclaim, compaction and dirty pages as text: `trace` and `trace_pipe` of tracefs, `trace-cmd report`, and `perf script` of such
//! events. From beginnings and ends come the stalls that Pagewise itself records ([`stall_events`](crate::kernel_text::stall_events)).
//!
//! Threads are told by their number, as the tracer prints it. A stall that had begun before the trace is left out; of one that
//! goes on at its end it is known that it took at least so long.

use super::listing::{Listing, ListingClock, count};
use super::times::{SECOND, seconds};
use super::{Kind, Parser, Problem};
use crate::kernel_text::stall_events::{Role, STALL_EVENTS, StallEvent, of_thread};
use crate::recording::{Durations, GapReason, StallKind, StallRow};
use std::collections::{BTreeMap, BTreeSet};

const REMEDY: &str = "give what `trace-cmd record -e vmscan -e compaction sleep 60; trace-cmd report` prints, or `cat trace` below \
                      /sys/kernel/tracing with these events enabled";

/// Threads held up at one time, rows, and instants of a trace.
const MOST_OPEN: usize = 65_536;
const MOST_ROWS: usize = 100_000;
const MOST_INSTANTS: usize = 20_000;

/// Events that a thread has only while it compacts or reclaims: where its beginnings and ends were not traced, it was at it from the first of
/// them to the last, as long as no two are further apart than [`APART`].
const WITHIN: [(&str, StallKind); 9] = [
    ("mm_compaction_isolate_migratepages", StallKind::Compaction),
    ("mm_compaction_isolate_freepages", StallKind::Compaction),
    ("mm_compaction_migratepages", StallKind::Compaction),
    ("mm_vmscan_lru_isolate", StallKind::DirectReclaim),
    ("mm_vmscan_lru_shrink_inactive", StallKind::DirectReclaim),
    ("mm_vmscan_lru_shrink_active", StallKind::DirectReclaim),
    ("mm_vmscan_writepage", StallKind::DirectReclaim),
    ("mm_shrink_slab_start", StallKind::DirectReclaim),
    ("mm_shrink_slab_end", StallKind::DirectReclaim),
];

/// Nanoseconds.
const APART: i64 = 10_000_000;

/// Kinds that no tracepoint tells.
const UNTRACED: [StallKind; 2] = [StallKind::SwapIn, StallKind::MapLock];

/// What a line is of.
#[derive(Clone, Copy, Debug)]
enum Told {
    Event(&'static StallEvent),
    Within(StallKind),
}

/// A line of a trace.
#[derive(Debug)]
struct Traced<'l> {
    told: Told,
    comm: &'l str,
    tid: u32,
    at: i64,
    fields: &'l str,
}

impl<'l> Traced<'l> {
    /// `java-51234 [003] d..1. 1234.567890: mm_compaction_begin: zone_start=0x1 …` of ftrace, `java 51234 [003] 1234.567890:
    /// compaction:mm_compaction_begin: …` of perf.
    fn of(line: &'l str) -> Option<Traced<'l>> {
        let (before, behind) = line.split_once(": ")?;
        let (head, time) = before.rsplit_once(char::is_whitespace)?;
        let at = seconds(time).filter(|_| time.contains('.'))?;
        let (name, fields) =
            behind.trim_start().split_once(": ").or_else(|| behind.trim().strip_suffix(':').map(|name| (name, "")))?;
        // perf may print how many events a sample stands for.
        let name = name.rsplit(char::is_whitespace).next()?;
        let name = name.rsplit(':').next()?;
        let event = STALL_EVENTS.iter().find(|event| event.name.rsplit('/').next() == Some(name)).map(Told::Event);
        let within = || WITHIN.iter().find(|(within, _)| *within == name).map(|(_, kind)| Told::Within(*kind));
        let told = event.or_else(within)?;
        let task = head.rsplit_once('[').map_or(head, |(task, _)| task);
        let (comm, tid) = task_of(task.trim())?;
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
}

/// `java-51234`, `java-51234 (51230)`, `java-51234 (-----)`, `java 51234`, `java 51230/51234`: name and number of a thread.
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
        Some((comm.trim_end(), number(numbers.rsplit('/').next()?)?))
    };
    let of_ftrace = || {
        let (comm, tid) = text.rsplit_once('-')?;
        Some((comm, number(tid)?))
    };
    of_perf().or_else(of_ftrace).filter(|(comm, _)| !comm.is_empty())
}

/// Stalls of one thread, kind, order and outcome that begin and end in the same seconds.
type Key = (i64, i64, StallKind, u32, String, Option<u8>, String);

#[derive(Debug)]
pub(super) struct TraceEvents {
    listing: Listing,
    open: BTreeMap<(StallKind, u32), (i64, Option<u8>, String)>,
    /// From the first to the last of the events within a stall that came close together.
    within: BTreeMap<(StallKind, u32), (i64, i64, String)>,
    /// Such stalls, until it is known that there are no beginnings of that kind.
    by_within: Vec<(StallKind, u32, String, (i64, i64))>,
    orders: BTreeMap<u32, u8>,
    rows: BTreeMap<Key, Durations>,
    /// Kinds of which there is an event.
    told: BTreeSet<StallKind>,
    instants: BTreeSet<i64>,
    first: Option<i64>,
    last: i64,
    /// Ends without a beginning, and stalls beyond what is kept.
    begun_before: usize,
    lost: usize,
}

pub(super) fn recognises(line: &str) -> bool {
    Traced::of(line).is_some()
}

impl TraceEvents {
    pub(super) fn new() -> TraceEvents {
        TraceEvents {
            listing: Listing::new(Kind::TraceEvents, ListingClock::Foreign),
            open: BTreeMap::new(),
            within: BTreeMap::new(),
            by_within: Vec::new(),
            orders: BTreeMap::new(),
            rows: BTreeMap::new(),
            told: BTreeSet::new(),
            instants: BTreeSet::new(),
            first: None,
            last: 0,
            begun_before: 0,
            lost: 0,
        }
    }

    fn event(&mut self, traced: &Traced<'_>) {
        self.first.get_or_insert(traced.at);
        self.last = self.last.max(traced.at);
        let Traced { told, comm, tid, at, .. } = *traced;
        let event = match told {
            Told::Event(event) => event,
            Told::Within(kind) => return self.within(kind, tid, comm, at),
        };
        match event.role {
            Role::Order => {
                if let Some(order) = traced.order(event).filter(|_| self.orders.len() < MOST_OPEN) {
                    self.orders.insert(tid, order);
                }
            }
            Role::Begin(kind) => {
                self.told.insert(kind);
                let of_before = self.orders.get(&tid).copied().filter(|_| kind == StallKind::Compaction);
                if self.open.len() < MOST_OPEN {
                    self.open.insert((kind, tid), (at, traced.order(event).or(of_before), comm.to_owned()));
                }
            }
            Role::End(kind) => {
                self.told.insert(kind);
                match self.open.remove(&(kind, tid)) {
                    Some((begun, order, _)) => self.add(kind, (tid, comm), order, traced.outcome(event), (begun, at)),
                    None => self.begun_before += 1,
                }
            }
            Role::Whole(kind) => {
                self.told.insert(kind);
                let length = match event.duration {
                    Some((name, unit)) => {
                        let length = traced.field(name).and_then(|value| value.parse::<i64>().ok());
                        let Some(length) = length.filter(|length| *length > 0) else { return };
                        length.saturating_mul(unit.cast_signed())
                    }
                    None => 0,
                };
                // A writer is told how long it will sleep, a task that reclaim held back how long it did.
                let span = match kind {
                    StallKind::DirtyBalance => (at, at.saturating_add(length)),
                    _ => (at.saturating_sub(length), at),
                };
                self.add(kind, (tid, comm), None, traced.outcome(event), span);
            }
        }
    }

    fn within(&mut self, kind: StallKind, tid: u32, comm: &str, at: i64) {
        if kind == StallKind::DirectReclaim && comm.starts_with("kswapd") {
            return;
        }
        if let Some((_, last, _)) =
            self.within.get_mut(&(kind, tid)).filter(|(_, last, _)| at.saturating_sub(*last) <= APART)
        {
            *last = at;
            return;
        }
        if self.within.len() >= MOST_OPEN || self.by_within.len() >= MOST_ROWS {
            self.lost += 1;
            return;
        }
        if let Some((first, last, comm)) = self.within.insert((kind, tid), (at, at, comm.to_owned())) {
            self.by_within.push((kind, tid, comm, (first, last)));
        }
    }

    /// Stalls that only events within them tell.
    fn close_within(&mut self) {
        let open = std::mem::take(&mut self.within).into_iter();
        self.by_within.extend(open.map(|((kind, tid), (first, last, comm))| (kind, tid, comm, (first, last))));
        let has_beginnings = self.told.clone();
        for (kind, tid, comm, span) in std::mem::take(&mut self.by_within) {
            if !has_beginnings.contains(&kind) {
                self.add(kind, (tid, &comm), None, "", span);
            }
        }
    }

    fn add(
        &mut self,
        kind: StallKind,
        (tid, comm): (u32, &str),
        order: Option<u8>,
        outcome: &str,
        (from, to): (i64, i64),
    ) {
        let Some(length) = to.checked_sub(from).filter(|length| *length >= 0) else { return };
        let kind = of_thread(kind, comm);
        self.told.insert(kind);
        let (begin, end) = (from.div_euclid(SECOND), to.div_euclid(SECOND).saturating_add(1));
        let key = (begin, end, kind, tid, comm.to_owned(), order, outcome.to_owned());
        if self.rows.len() >= MOST_ROWS && !self.rows.contains_key(&key) {
            self.lost += 1;
            return;
        }
        if self.instants.len() < MOST_INSTANTS {
            self.instants.extend([begin, end]);
        }
        self.rows.entry(key).or_default().add(length.cast_unsigned(), 1);
    }

    /// What the trace is not, as gaps.
    fn say(&mut self) {
        for kind in StallKind::all().filter(|kind| !self.told.contains(kind) && !UNTRACED.contains(kind)) {
            let detail = format!("there is no event of {kind} in the trace: it was not traced, or there was none");
            self.listing.gap(Some(&format!("stalls.{kind}")), GapReason::Other("not_traced".to_owned()), detail);
        }
        if self.begun_before > 0 {
            let text = format!(
                "trace: {} had begun before it, or their beginning was lost, and are left out",
                count(self.begun_before, "stall")
            );
            self.listing.note(text);
        }
        if self.lost > 0 {
            let detail = format!("trace: {} are beyond the {MOST_ROWS} rows that are kept", count(self.lost, "stall"));
            self.listing.gap(None, GapReason::Lost, detail);
        }
    }
}

impl Parser for TraceEvents {
    fn line(&mut self, _number: usize, line: &str) -> Result<(), Problem> {
        if let Some(traced) = Traced::of(line) {
            self.event(&traced);
        } else if line.contains(" EVENTS]") && line.contains("[LOST ") {
            self.listing.gap(
                None,
                GapReason::Lost,
                format!("the tracer lost events: '{}'", super::words::quoted(line)),
            );
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<Listing, Problem> {
        let Some(first) = self.first else {
            return Err(self.listing.nothing("event of reclaim or compaction", REMEDY));
        };
        let last = self.last;
        for ((kind, tid), (begun, order, comm)) in std::mem::take(&mut self.open) {
            self.add(kind, (tid, &comm), order, "", (begun, last));
        }
        self.close_within();
        self.say();
        let bound = |second: i64| second.saturating_mul(SECOND);
        self.listing.touch(bound(first.div_euclid(SECOND)));
        self.listing.touch(bound(last.div_euclid(SECOND).saturating_add(1)));
        for second in std::mem::take(&mut self.instants) {
            self.listing.touch(bound(second));
        }
        let rows = std::mem::take(&mut self.rows).into_iter();
        self.listing.stalls = rows
            .map(|((begin, end, kind, pid, comm, order, outcome), durations)| {
                (bound(begin), bound(end), StallRow { from: 0, to: 0, kind, pid, comm, order, outcome, durations })
            })
            .collect();
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
    fn orders_outcomes_and_threads_of_the_kernel() {
        let text = "\
            kcompactd0-60 [000] ..... 10.000000: mm_compaction_begin: zone_start=0x1, mode=sync\n\
            Web Content-7 [001] ..... 10.100000: mm_compaction_try_to_compact_pages: order=9 gfp_mask=GFP_TRANSHUGE priority=1\n\
            Web Content-7 [001] ..... 10.200000: mm_compaction_begin: zone_start=0x1 migrate_pfn=0x2, mode=async\n\
            Web Content-7 [001] ..... 10.250000: mm_compaction_end: zone_start=0x1, mode=async status=contended\n\
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
                row(StallKind::Compaction, "Web Content", 7, Some(9), "contended", 50),
                row(StallKind::DirtyBalance, "dd", 9, None, "", 20),
                row(StallKind::Throttled, "dd", 9, None, "VMSCAN_THROTTLE_WRITEBACK", 40),
                row(StallKind::BackgroundCompaction, "kcompactd0", 60, None, "complete", 500),
            ]
        );
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

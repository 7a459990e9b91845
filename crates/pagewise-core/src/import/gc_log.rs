//! What a JVM logs of the CPU time of its collections: `[Times: user=0.93 sys=12.61, real=3.62 secs]` (HotSpot to JDK 8,
//! `-XX:+PrintGCDetails`), `GC(17) User=0.12s Sys=3.40s Real=0.35s` (9 and later, `-Xlog:gc+cpu`).
//!
//! A collector touches much memory at once, so what the kernel takes for that memory shows here first: page faults that compact or
//! reclaim, a heap in swap. The log says it of the JVM's threads, on a host where nothing else was watched. How large the heap is and how it was
//! started (`-Xlog:gc+init`, or the line `CommandLine flags:` to JDK 8) tells what of that memory was new.

use super::listing::{Listing, ListingClock, count};
use super::times::{SECOND, Stamp};
use super::words::{decimal, suffixed};
use super::{Kind, Parser, Problem, SOURCE};
use crate::counter::Kind as Moves;
use crate::recording::RawUnit;

const REMEDY: &str = "give what -XX:+PrintGCDetails (to JDK 8) or -Xlog:gc*,gc+cpu (9 and later) has a JVM log";

/// No collection and no log is longer, in seconds: a year.
const LONGEST: f64 = 3.2e7;

/// A collection that takes so long has a mark, and no more of them have.
const LONG: f64 = 1.0;
const MOST_MARKS: usize = 200;

pub(super) fn recognises(line: &str) -> bool {
    times(line).is_some() || is_of_unified_log(line)
}

/// A line of `-Xlog:gc…` with its tags, whatever else stands in front: `[2026-11-26T22:11:55.596+0000][info][gc,init] CPUs: 2 total`.
pub(super) fn is_of_unified_log(line: &str) -> bool {
    decorations(line).any(|text| text.split(',').next().is_some_and(|tag| tag.trim_end() == "gc"))
}

/// What stands in brackets in front of a line.
fn decorations(line: &str) -> impl Iterator<Item = &str> {
    let mut rest = line.trim_start();
    std::iter::from_fn(move || {
        let (inside, behind) = rest.strip_prefix('[')?.split_once(']')?;
        rest = behind;
        Some(inside)
    })
    .take(8)
}

/// User, system and elapsed seconds of a collection. Those of what runs beside the program (`[CMS-concurrent-mark: …]`) are of the program, too, and
/// none.
fn times(line: &str) -> Option<[f64; 3]> {
    if line.contains("-concurrent-") {
        return None;
    }
    let texts = match line.split_once("[Times: user=") {
        Some((_, rest)) => {
            let (user, rest) = rest.split_once(" sys=")?;
            let (system, rest) = rest.split_once(", real=")?;
            [user, system, rest.split_once(" secs")?.0]
        }
        None => {
            let (_, rest) = line.split_once(" User=")?;
            let (user, rest) = rest.split_once("s Sys=")?;
            let (system, rest) = rest.split_once("s Real=")?;
            [user, system, rest.split_once('s')?.0]
        }
    };
    let mut seconds = [0.0; 3];
    for (second, text) in seconds.iter_mut().zip(texts) {
        *second = decimal(text.trim()).filter(|second| (0.0..=LONGEST).contains(second))?;
    }
    Some(seconds)
}

/// Seconds since the JVM started, where a line begins with them: `1234.567: [GC …`, also behind a date; `[12.345s][info][gc,cpu]`, or in whole
/// milliseconds or nanoseconds (`uptimemillis`, `uptimenanos`).
fn uptime(line: &str) -> Option<f64> {
    let is_uptime = |text: &str| {
        let (_, behind) = text.split_once(['.', ','])?;
        decimal(text).filter(|seconds| behind.len() == 3 && (0.0..=LONGEST).contains(seconds))
    };
    let whole = |text: &str, a_second: f64| {
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        decimal(text).map(|number| number / a_second).filter(|seconds| is_number && *seconds <= LONGEST)
    };
    let of_brackets = |text: &str| {
        let milliseconds = text.strip_suffix("ms").and_then(|text| whole(text, 1e3));
        let nanoseconds = text.strip_suffix("ns").and_then(|text| whole(text, 1e9));
        milliseconds.or(nanoseconds).or_else(|| is_uptime(text.strip_suffix('s')?))
    };
    let of_words = line.split_whitespace().take(2).find_map(|word| is_uptime(word.strip_suffix(':')?));
    of_words.or_else(|| decorations(line).find_map(of_brackets))
}

/// The clock in front of a line, in nanoseconds since 1970: `[2026-11-26T22:11:55.596+0000]`, `2015-10-12T10:05:13.123+0200: [GC …`,
/// `[1795282245008ms]`.
fn clock(line: &str) -> Option<i64> {
    let dated = |text: &str| Stamp::of(&[text]).filter(|stamp| stamp.clock != ListingClock::TimeOfDay);
    let of_brackets = |text: &str| dated(text.strip_suffix("ms").unwrap_or(text)).map(|stamp| stamp.at);
    let of_word = || dated(line.split_whitespace().next()?.strip_suffix(':')?).map(|stamp| stamp.at);
    decorations(line).find_map(of_brackets).or_else(of_word)
}

/// `GC(17)`.
fn number_of(line: &str) -> Option<&str> {
    let at = line.find("GC(")?;
    let end = line[at..].find(')')?;
    let number = &line[at..=at + end];
    number[3..number.len() - 1].bytes().all(|byte| byte.is_ascii_digit()).then_some(number)
}

/// The size of the whole heap behind a collection, in KiB: the last `12M->4M(256M)`, or `12.0M(256.0M)->4.0M(256.0M)` of G1 to JDK 8, that is
/// not of classes.
fn capacity(line: &str) -> Option<u64> {
    let is_collection = line.contains(") Pause ") || line.contains("[GC") || line.contains("[Full GC");
    if !is_collection && !line.contains("[Eden: ") {
        return None;
    }
    let classes = ["[Metaspace", "[PSPermGen", "[CMS Perm"].iter().filter_map(|name| line.find(name)).min();
    let (_, behind) = line[..classes.unwrap_or(line.len())].rsplit_once("->")?;
    kib(behind.split_once('(')?.1.split_once(')')?.0)
}

/// `256M`, `12.0M`, `1223168K` in KiB.
fn kib(size: &str) -> Option<u64> {
    suffixed(size.trim(), 1024.0, 1.0 / 1024.0)
}

/// What the head of a log says of the JVM's settings, as Pagewise calls these.
fn settings(line: &str) -> Vec<(&'static str, String)> {
    let whole = |kib: u64| if kib.is_multiple_of(1024) { format!("{}M", kib / 1024) } else { format!("{kib}K") };
    let size = |text: &str| kib(text).map(whole);
    let yes = |is_so: bool| Some(is_so.to_string());
    if let Some((_, flags)) = line.split_once("CommandLine flags: ") {
        let of_flag = |flag: &str| {
            let (name, value) = match flag.strip_prefix("-XX:")? {
                on if on.starts_with('+') => (&on[1..], yes(true)),
                off if off.starts_with('-') => (&off[1..], yes(false)),
                set => set.split_once('=').map(|(name, value)| (name, size(value)))?,
            };
            let name = match name {
                "InitialHeapSize" => "jvm.Xms",
                "MaxHeapSize" => "jvm.Xmx",
                "AlwaysPreTouch" => "jvm.AlwaysPreTouch",
                "UseTransparentHugePages" => "jvm.UseTransparentHugePages",
                _ => return None,
            };
            Some((name, value?))
        };
        return flags.split_whitespace().filter_map(of_flag).collect();
    }
    let Some((_, text)) = line.split_once("[gc,init").and_then(|(_, rest)| rest.split_once(']')) else {
        return Vec::new();
    };
    let Some((what, value)) = text.trim().split_once(": ") else { return Vec::new() };
    let found = match what {
        "Heap Initial Capacity" => size(value).map(|size| ("jvm.Xms", size)),
        "Heap Max Capacity" => size(value).map(|size| ("jvm.Xmx", size)),
        "Pre-touch" => yes(value == "Enabled").map(|is_so| ("jvm.AlwaysPreTouch", is_so)),
        "Large Page Support" => yes(value.contains("Transparent")).map(|is_so| ("jvm.UseTransparentHugePages", is_so)),
        _ => None,
    };
    found.into_iter().collect()
}

#[derive(Debug)]
pub(super) struct GcLog {
    listing: Listing,
    /// Of the whole heap, in KiB, before the first collection and behind the last one.
    heap_began: Option<u64>,
    heap: Option<u64>,
    /// What the last line with a time said, in nanoseconds since the JVM started.
    uptime: Option<i64>,
    /// What the first clock of a log without such times said.
    began: Option<i64>,
    /// The number (`GC(17)`) of what ended last beside the program: its CPU times come in the next line.
    concurrent: Option<String>,
    has_times: bool,
    /// Where the last collection stands.
    last: Option<i64>,
    /// User, system and elapsed time of all so far, in microseconds.
    totals: [u64; 3],
    collections: usize,
    marks: usize,
}

/// Of user, system and elapsed time.
const SERIES: [&str; 3] = ["collection_user", "collection_system", "collection_elapsed"];

impl GcLog {
    pub(super) fn new() -> GcLog {
        GcLog {
            listing: Listing::new(Kind::GcLog, ListingClock::Foreign),
            heap_began: None,
            heap: None,
            uptime: None,
            began: None,
            concurrent: None,
            has_times: false,
            last: None,
            totals: [0; 3],
            collections: 0,
            marks: 0,
        }
    }

    fn put(&mut self, at: i64, heap: Option<u64>) -> Result<(), Problem> {
        for (name, total) in SERIES.into_iter().zip(self.totals) {
            let column = self.listing.column_of(SOURCE, name, "", RawUnit::Microseconds, Moves::Counter);
            self.listing.put(at, column, total)?;
        }
        if let Some(kib) = heap {
            let column = self.listing.column_of(SOURCE, "heap", "", RawUnit::KiB, Moves::Gauge);
            self.listing.put(at, column, kib)?;
        }
        Ok(())
    }

    /// How large the heap is, and how the JVM was started: of a log of several, as the one that collected first.
    fn head(&mut self, line: &str) {
        if let Some(kib) = capacity(line) {
            self.heap_began.get_or_insert(kib);
            self.heap = Some(kib);
        }
        if self.collections > 0 {
            return;
        }
        for (name, value) in settings(line) {
            if name == "jvm.Xms" {
                self.heap_began = kib(&value);
            }
            self.listing.setting(name, Some(value));
        }
    }
}

impl Parser for GcLog {
    fn line(&mut self, _number: usize, line: &str) -> Result<(), Problem> {
        self.head(line);
        if let Some(seconds) = uptime(line) {
            self.uptime = Some((seconds * SECOND as f64) as i64);
            self.has_times = true;
        } else if let Some(clock) = clock(line) {
            self.uptime = Some(clock.saturating_sub(*self.began.get_or_insert(clock)));
            self.has_times = true;
        }
        let Some([user, system, elapsed]) = times(line) else {
            if let Some(number) = number_of(line) {
                self.concurrent = line.contains(") Concurrent ").then(|| number.to_owned());
            }
            return Ok(());
        };
        if self.concurrent.take().is_some_and(|number| number_of(line) == Some(number.as_str())) {
            return Ok(());
        }
        let length = ((elapsed * SECOND as f64) as i64).max(1);
        // Without a time, or in a log of a JVM that was started anew, it stands behind the one before.
        let after = self.last.map(|last| last.saturating_add(length.max(SECOND)));
        // To JDK 8 the time in front is that of the beginning.
        let begins = if line.contains("[Times:") { length } else { 0 };
        let told = self
            .uptime
            .map(|told| told.saturating_add(begins))
            .filter(|told| self.last.is_none_or(|last| *told > last));
        let at = told.or(after).unwrap_or(length);
        if self.last.is_none() {
            self.put(at.saturating_sub(length), self.heap_began)?;
        }
        for (total, seconds) in self.totals.iter_mut().zip([user, system, elapsed]) {
            *total = total.saturating_add((seconds * 1e6).round() as u64);
        }
        self.put(at, self.heap)?;
        self.last = Some(at);
        self.collections += 1;
        if elapsed >= LONG {
            if self.marks < MOST_MARKS {
                self.listing
                    .mark(at, format!("a collection of {elapsed:.2} s: user {user:.2} s, system {system:.2} s"));
            }
            self.marks += 1;
        }
        Ok(())
    }

    /// The last letter of a collection's times tells that they are whole.
    fn is_whole(&self, line: &str, _: &str) -> bool {
        let line = line.trim_end();
        line.ends_with(']') || (line.ends_with('s') && times(line).is_some())
    }

    fn finish(mut self: Box<Self>) -> Result<Listing, Problem> {
        if self.collections == 0 {
            return Err(self.listing.nothing("collection with its CPU time", REMEDY));
        }
        if !self.has_times {
            self.listing.note(
                "gc-log: its collections have no time since the JVM's start and are drawn one behind the other"
                    .to_owned(),
            );
        }
        if self.marks > MOST_MARKS {
            self.listing.note(format!("{} more long collections have no mark", self.marks - MOST_MARKS));
        }
        self.listing.about("import.collections", count(self.collections, "collection"));
        self.listing.resolution("gc-log: times in hundredths of a second");
        Ok(self.listing.close())
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{all_near, near, recording, timed, values};
    use super::super::{kinds_in, parse};
    use super::*;
    use crate::recording::Recorded;

    const LOG: &str = include_str!("../../../../recordings/imports/gc-log.txt");

    /// As JDK 8 writes it.
    const OLD: &str = "2015-10-12T10:05:13.123+0200: 1234.567: [GC (Allocation Failure) [PSYoungGen: 1048576K->131072K(1223168K)] 2621440K->1703936K(4020224K), 3.6123 secs] [Times: user=0.93 sys=12.61, real=3.62 secs]\n\
        2015-10-12T10:05:43.123+0200: 1264.567: [GC pause (G1 Evacuation Pause) (young), 0.0912 secs]\n   [Parallel Time: 85.1 ms, GC Workers: 8]\n [Times: user=0.31 sys=0.02, real=0.09 secs]\n";

    #[test]
    fn times_of_collections_are_totals_from_the_first_one_on() {
        assert_eq!(kinds_in(OLD), [Kind::GcLog]);
        let imported = recording(&[(Kind::GcLog, OLD)]);
        let system = timed(&imported, SOURCE, "collection_system", "");
        assert!(all_near(&system.iter().map(|one| one.1).collect::<Vec<f64>>(), &[0.0, 12.61, 12.63]), "{system:?}");
        assert_eq!(system[2].0 - system[1].0, 30_000_000_000 - 3_620_000_000 + 90_000_000);
        assert!(near(values(&imported, SOURCE, "collection_elapsed")[2], 3.71));
        let Ok(marks) = imported.marks();
        let said: Vec<&str> = marks.iter().map(|mark| mark.text.as_str()).collect();
        assert!(
            said.iter().any(|text| text.ends_with("a collection of 3.62 s: user 0.93 s, system 12.61 s")),
            "{said:?}"
        );
    }

    #[test]
    fn the_log_of_a_newer_jvm_says_the_same() {
        assert_eq!(kinds_in(LOG), [Kind::GcLog]);
        let imported = recording(&[(Kind::GcLog, LOG)]);
        let user = values(&imported, SOURCE, "collection_user");
        assert!(user.len() > 3 && user.windows(2).all(|pair| pair[0] <= pair[1]), "{user:?}");
        let line = "[2024-03-02T10:00:00.123+0000][info][gc,cpu      ] GC(17) User=0,12s Sys=3,40s Real=0,35s";
        assert_eq!((times(line), uptime(line)), (Some([0.12, 3.4, 0.35]), None));
        assert_eq!(uptime("[12345ms][gc,cpu] GC(3) User=0.01s Sys=0.00s Real=0.01s"), Some(12.345));
        assert_eq!(uptime("[12000000000ns][gc,cpu] GC(3) User=0.01s Sys=0.00s Real=0.01s"), Some(12.0));
        assert_eq!(uptime("[12.345s][info][gc,cpu] GC(3) User=0.01s Sys=0.00s Real=0.01s"), Some(12.345));
    }

    /// A log by the clock has the same length as one by the time since the start, and no line of either is one of the kernel's.
    #[test]
    fn a_log_by_the_clock_is_as_long_as_it_took() {
        let lines = |stamps: [&str; 2]| {
            let [first, second] = stamps;
            format!(
                "[{first}][info][gc,init] CPUs: 2 total, 2 available\n[{first}][info][gc,cpu] GC(0) User=0.02s Sys=0.10s Real=0.05s\n\
                 [{second}][4711][4712][info][gc,cpu] GC(1) User=0.02s Sys=0.10s Real=0.05s\n"
            )
        };
        for stamps in [
            ["0.500s", "2.000s"],
            ["500ms", "2000ms"],
            ["2026-11-26T22:11:55.500+0000", "2026-11-26T22:11:57.000+0000"],
            ["1795282245000ms", "1795282246500ms"],
        ] {
            let log = lines(stamps);
            assert_eq!(kinds_in(&log), [Kind::GcLog], "{log}");
            let imported = recording(&[(Kind::GcLog, &log)]);
            let system = timed(&imported, SOURCE, "collection_system", "");
            let [.., one, other] = system.as_slice() else { panic!("{system:?}") };
            assert_eq!(other.0 - one.0, 1_500_000_000, "{log}");
        }
        // Without the times of its collections it is known for what it is.
        let bare = "[0.313s][info][gc] GC(0) Pause Young (Normal) (G1 Evacuation Pause) 53M->54M(382M) 58.230ms\n";
        assert_eq!(kinds_in(bare), [Kind::GcLog]);
        assert!(parse(Kind::GcLog, bare, &Default::default()).is_err());
    }

    #[test]
    fn what_runs_beside_the_program_is_no_collection() {
        let old =
            "10.1: [CMS-concurrent-abortable-preclean: 0.30/5.04 secs] [Times: user=0.40 sys=0.01, real=5.04 secs]";
        assert_eq!(times(old), None);
        let new = "[1.000s][info][gc] GC(3) Concurrent Mark 5000.000ms\n[1.000s][info][gc,cpu] GC(3) User=0.40s Sys=0.01s Real=5.00s\n\
                   [2.000s][info][gc] GC(3) Pause Remark 10M->10M(20M) 9.0ms\n[2.000s][info][gc,cpu] GC(3) User=0.02s Sys=0.00s Real=0.01s\n";
        let imported = recording(&[(Kind::GcLog, new)]);
        assert!(near(*values(&imported, SOURCE, "collection_elapsed").last().unwrap(), 0.01));
    }

    #[test]
    fn how_large_the_heap_is_and_how_it_was_started_is_read_of_old_and_new_logs() {
        let sizes = [
            (
                "[0.6s][info][gc] GC(0) Pause Young (Normal) (G1 Evacuation Pause) 12M->4M(256M) 11.708ms",
                Some(256 << 10),
            ),
            (
                "[0.6s][info][gc,metaspace] GC(0) Metaspace: 8418K(8576K)->8418K(8576K) Class: 993K(1088K)->993K(1088K)",
                None,
            ),
            ("[0.6s][info][gc] GC(0) Concurrent Mark 12M->4M(256M) 11.708ms", None),
            (
                " [Eden: 12.0M(12.0M)->0.0B(10.0M) Survivors: 0.0B->2.0M Heap: 12.0M(256.5M)->4.0M(256.5M)]",
                Some(262_656),
            ),
            (
                "[Full GC (Ergonomics) [PSYoungGen: 10K->0K(20K)] [ParOldGen: 9K->8K(30K)] 19K->8K(50K), [Metaspace: 2700K->2700K(1056768K)], 0.1 secs]",
                Some(50),
            ),
        ];
        for (line, size) in sizes {
            assert_eq!(capacity(line), size, "{line}");
        }
        let old = format!(
            "CommandLine flags: -XX:+AlwaysPreTouch -XX:InitialHeapSize=2147483648 -XX:MaxHeapSize=4294967296 -XX:ParallelGCThreads=8 -XX:-UseTransparentHugePages \n{OLD}"
        );
        for (log, told, sizes) in [
            (LOG, ["256M", "256M", "false", "false"], [262_144.0 * 1024.0; 2]),
            (&old, ["2048M", "4096M", "true", "false"], [2_097_152.0, 4_020_224.0].map(|kib: f64| kib * 1024.0)),
        ] {
            let imported = recording(&[(Kind::GcLog, log)]);
            let Ok(settings) = imported.settings();
            let value = |name: &str| settings.iter().find(|one| one.path == name).and_then(|one| one.value.clone());
            let names = ["jvm.Xms", "jvm.Xmx", "jvm.AlwaysPreTouch", "jvm.UseTransparentHugePages"];
            assert_eq!(names.map(value), told.map(|word| Some(word.to_owned())));
            let heap = values(&imported, SOURCE, "heap");
            assert_eq!([heap[0], heap[heap.len() - 1]], sizes);
            assert_eq!(heap[1], sizes[1], "behind the first collection it is as large as that says");
            assert!(
                imported.gaps().iter().any(|gap| gap.detail.contains("no file holds settings")),
                "those of the host are not known"
            );
        }
    }

    #[test]
    fn what_has_no_such_times_is_refused_and_numbers_that_cannot_be_are_no_collection() {
        assert!(parse(Kind::GcLog, "[GC (Allocation Failure) 1K->1K(2K), 0.1 secs]\n", &Default::default()).is_err());
        for line in [
            "[Times: user=x sys=1.0, real=1.0 secs]",
            "User=1.0s Sys=-1.0s Real=1.0s",
            " User=1s Sys=1s",
            "real 0m3.6s",
        ] {
            assert_eq!(times(line), None, "{line}");
        }
    }
}

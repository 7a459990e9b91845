//! What judging a day takes: 24 hours at 1 Hz with a thousand series, written to a file and judged from it. The bound is
//! one second. Run it on a quiet machine: timings beside other work mean nothing.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use pagewise_core::finding::{self, Observed, signal};
use pagewise_core::recording::segment::{Column, Segment, TICKS};
use pagewise_core::recording::tick::SourceRow;
use pagewise_core::recording::{
    Block, Gap, Mark, Profile, Recorded, Series, SourceBlock, StallRow, Walk, block::Tick, note::Setting, segment,
};
use std::convert::Infallible;
use std::time::Instant;

const SECONDS: u64 = 24 * 3600;
const SERIES: usize = 1000;
const BOUND: f64 = 1.0;
const RUNS: usize = 5;

/// A day whose segments are packed as a file holds them, so that unpacking is a part of what is timed.
struct PackedDay {
    series: Vec<Series>,
    segments: Vec<Vec<u8>>,
}

fn day() -> PackedDay {
    let mut names: Vec<String> = Vec::new();
    for signal in signal::ALL.iter().filter(|signal| signal.source == "vmstat") {
        names.extend(signal.now.of.iter().map(|name| name.example()));
    }
    names.extend((names.len()..SERIES).map(|index| format!("other_{index}")));
    let of = |(column, name): (usize, &String)| {
        let (unit, kind) = signal::describe("vmstat", name, false);
        let (source, name) = ("vmstat".to_owned(), name.clone());
        Series { source, column: column as u32, name, labels: String::new(), unit: Some(unit), kind, first_seen: 0 }
    };
    let series = names.iter().enumerate().map(of).collect();
    let row = |tick: u64| {
        // A fifth of all numbers changes every second, as on a busy host.
        let value =
            |column: usize| Some(if column.is_multiple_of(5) { 1_000 + tick * (column as u64 + 7) } else { 4_000 });
        Some(SourceRow { took: 90, values: (0..names.len()).map(value).collect() })
    };
    let segment = |first: u64| {
        let rows: Vec<Option<SourceRow>> = (first..(first + TICKS as u64).min(SECONDS)).map(row).collect();
        segment::encode(&rows)
    };
    PackedDay { series, segments: (0..SECONDS).step_by(TICKS).map(segment).collect() }
}

impl Recorded for PackedDay {
    type Error = Infallible;

    fn series(&self) -> &[Series] {
        &self.series
    }

    fn gaps(&self) -> &[Gap] {
        &[]
    }

    fn blocks(&self) -> impl Iterator<Item = Result<Block, Infallible>> {
        self.segments.iter().enumerate().map(|(index, bytes)| {
            let empty = Segment { took: Vec::new(), columns: Vec::<Column>::new() };
            let data = segment::decode(bytes).unwrap_or(empty);
            let first = (index * TICKS) as u64;
            let tick = |offset: usize| Tick { begin: (first + offset as u64) * 1_000_000_000, late: 0, wall_offset: 0 };
            let ticks = (0..data.took.len()).map(tick).collect();
            Ok(Block { first, ticks, sources: vec![SourceBlock { source: "vmstat".to_owned(), data }] })
        })
    }

    fn about(&self, key: &str) -> Option<&str> {
        (key == "hz").then_some("1")
    }

    fn settings(&self) -> Result<Vec<Setting>, Infallible> {
        Ok(Vec::new())
    }

    fn marks(&self) -> Result<Vec<Mark>, Infallible> {
        Ok(Vec::new())
    }

    fn profile(&self) -> Result<Option<Profile>, Infallible> {
        Ok(None)
    }

    fn stalls(&self) -> Result<Option<Vec<StallRow>>, Infallible> {
        Ok(None)
    }

    fn walks(&self) -> Result<Option<Vec<Walk>>, Infallible> {
        Ok(None)
    }
}

fn main() {
    let day = day();
    let packed: usize = day.segments.iter().map(Vec::len).sum();
    let mut seconds: Vec<f64> = Vec::new();
    for _ in 0..RUNS {
        let started = Instant::now();
        let Ok(observed) = Observed::of(&day);
        let diagnosis = finding::diagnose(&observed, "a day");
        seconds.push(started.elapsed().as_secs_f64());
        assert_eq!(observed.ticks, SECONDS);
        assert!(!diagnosis.not_decided.is_empty());
    }
    seconds.sort_by(f64::total_cmp);
    let median = seconds[RUNS / 2];
    println!("a day at 1 Hz with {SERIES} series, {packed} bytes unpacked from zstd");
    println!("look and all rules: {median:.3} s (from {:.3} to {:.3}), bound {BOUND} s", seconds[0], seconds[RUNS - 1]);
    assert!(median <= BOUND, "over the bound");
}

//! `vmstat` as text: one row of levels and rates at a time, with `-t` a local time behind it.
//!
//! The first row's rates are averages since boot and are left out. The unit of memory (`-S`) does not stand in the
//! output; it is KiB unless the command line stands above it or the caller says otherwise, and then every number is one of
//! whole pages: where one is not, memory is left out. `-S` does not change swap and block columns (vmstat(8), procps-ng 4.0).

use super::listing::{Listing, ListingClock};
use super::merge::Assumed;
use super::times::{Running, SECOND, day, time_of_day};
use super::words::scaled;
use super::{Kind, Parser, Problem, SOURCE};
use crate::counter::tools::{self, Column, Counts};
use crate::recording::{GapReason, RawUnit};

const REMEDY: &str =
    "give the output of `vmstat -t 1` (-a, -w and -S are fine; -d, -D, -m, -p and -s are other tables)";

/// KiB of the smallest page there is.
const SMALLEST_PAGE: u64 = 4;

/// Whether `-S` is about it.
fn is_memory(column: &Column) -> bool {
    column.counts == Counts::Size
}

/// vmstat prints whole numbers; sizes in KiB.
fn unit(column: &Column) -> RawUnit {
    match column.counts {
        Counts::Size | Counts::SizePerSecond => RawUnit::KiB,
        Counts::Pages | Counts::PagesPerSecond => RawUnit::Pages,
        Counts::EventsPerSecond | Counts::Things => RawUnit::Count,
        Counts::Share => RawUnit::Percent,
        Counts::Milliseconds => RawUnit::Microseconds,
    }
}

/// What is busy.
const BUSY: [&str; 3] = ["cpu_user_percent", "cpu_system_percent", "cpu_guest_percent"];

#[derive(Debug)]
pub(super) struct Vmstat {
    listing: Listing,
    running: Running,
    columns: Vec<(&'static Column, u32)>,
    busy: u32,
    /// KiB in the unit of the memory columns.
    unit: f64,
    /// Whether somebody said so.
    has_unit: bool,
    /// The first line with a size of memory that is not of whole pages in KiB, and that size.
    no_pages: Option<(usize, String)>,
    interval: Option<i64>,
    rows: i64,
    has_times: bool,
}

impl Vmstat {
    pub(super) fn new(assumed: &Assumed) -> Vmstat {
        let mut listing = Listing::new(Kind::Vmstat, ListingClock::Foreign);
        let busy = listing.column(SOURCE, "cpu_busy_percent", "", RawUnit::Percent);
        Vmstat {
            listing,
            running: Running::default(),
            columns: Vec::new(),
            busy,
            unit: assumed.vmstat_unit.unwrap_or(1024.0) / 1024.0,
            has_unit: assumed.vmstat_unit.is_some(),
            no_pages: None,
            interval: assumed.interval,
            rows: 0,
            has_times: false,
        }
    }

    /// A header names its columns; behind them stands the time zone.
    fn header(&mut self, words: &[&str]) {
        let known: Vec<&Column> = words.iter().map_while(|word| tools::of_vmstat(word)).collect();
        if words.get(known.len()).is_some_and(|zone| matches!(*zone, "UTC" | "GMT")) {
            self.listing.clock = ListingClock::Utc;
        }
        let listing = &mut self.listing;
        let column = |known: &'static Column| (known, listing.column(known.source, known.name, "", unit(known)));
        self.columns = known.into_iter().map(column).collect();
    }

    /// `$ vmstat -S M 1` above the listing says the unit.
    fn command(&mut self, line: &str) {
        let mut words = line.split_whitespace().skip_while(|word| !word.ends_with("vmstat")).skip(1);
        while let Some(word) = words.next() {
            let unit = match word.strip_prefix("-S") {
                Some("") => words.next(),
                Some(unit) => Some(unit),
                None => continue,
            };
            if let Some(bytes) = unit.and_then(unit_of) {
                self.unit = bytes / 1024.0;
                self.has_unit = true;
            }
        }
    }

    /// Sizes whose unit nobody said are taken as KiB, and left out where they cannot be.
    fn check_unit(&mut self) {
        if self.has_unit {
            return;
        }
        let Some((line, size)) = self.no_pages.take() else {
            self.listing.note("vmstat: sizes of memory are taken as KiB; --about vmstat_unit=M says what -S was given");
            return;
        };
        let memory: Vec<u32> =
            self.columns.iter().filter(|(known, _)| is_memory(known)).map(|(_, column)| *column).collect();
        self.listing.leave_out(&memory);
        self.listing.gap(
            Some("meminfo"),
            GapReason::Other("unit_unknown".to_owned()),
            format!(
                "sizes of memory were left out: line {line} has {size}, which in KiB is not of whole pages, so vmstat had -S; say \
                 which unit with --about vmstat_unit=M (or k, K, m)"
            ),
        );
    }

    /// The instant of a row, from the words behind its numbers.
    fn at(&mut self, behind: &[&str], number: usize) -> i64 {
        let clock = |words: &[&str]| Some((day(words.first()?)?.midnight, time_of_day(words.get(1)?, None)?));
        match clock(behind) {
            Some((midnight, time)) => {
                if self.listing.clock == ListingClock::Foreign {
                    self.listing.clock = ListingClock::Local;
                }
                self.has_times = true;
                self.listing.instant(&mut self.running, midnight + time, true, number)
            }
            None => {
                let raw = self.rows.saturating_mul(self.interval.unwrap_or(SECOND));
                self.listing.instant(&mut self.running, raw, true, number)
            }
        }
    }
}

/// Bytes of the letters vmstat takes.
pub(super) fn unit_of(letter: &str) -> Option<f64> {
    match letter {
        "k" => Some(1000.0),
        "K" => Some(1024.0),
        "m" => Some(1_000_000.0),
        "M" => Some(1_048_576.0),
        _ => None,
    }
}

impl Parser for Vmstat {
    fn line(&mut self, number: usize, line: &str) -> Result<(), Problem> {
        let words: Vec<&str> = line.split_whitespace().collect();
        if words.is_empty() || line.trim_start().starts_with("procs") || line.trim_start().starts_with("--procs") {
            return Ok(());
        }
        if words.len() >= 4 && words[..4] == ["r", "b", "swpd", "free"] {
            self.header(&words);
            return Ok(());
        }
        if words.iter().any(|word| word.ends_with("vmstat")) {
            self.command(line);
            return Ok(());
        }
        let width = self.columns.len();
        let is_row = width > 0 && words.len() >= width && words[..width].iter().all(|word| scaled(word, 1.0).is_some());
        let behind = words.get(width..).unwrap_or_default();
        // A row of a listing with times that lost its time, or a number too many, is not this table.
        let is_timed = behind.first().is_some_and(|word| day(word).is_some());
        if !is_row || (!behind.is_empty() && !is_timed) || (self.has_times && !is_timed) {
            self.listing.reject(number, line);
            return Ok(());
        }
        let at = self.at(behind, number);
        let is_first = self.rows == 0;
        self.rows += 1;
        let mut busy = Some(0u64);
        for (index, (known, column)) in self.columns.clone().into_iter().enumerate() {
            let is_memory = is_memory(known);
            let scale = if is_memory { self.unit } else { 1.0 };
            let value = scaled(words[index], scale);
            if is_memory && self.no_pages.is_none() && value.is_some_and(|kib| !kib.is_multiple_of(SMALLEST_PAGE)) {
                self.no_pages = Some((number, words[index].to_owned()));
            }
            if BUSY.contains(&known.name) {
                busy = busy.zip(value).and_then(|(sum, value)| sum.checked_add(value));
            }
            if let Some(value) = value.filter(|_| !(known.is_rate() && is_first)) {
                self.listing.put(at, column, value)?;
            }
        }
        match busy.filter(|_| !is_first) {
            Some(busy) => self.listing.put(at, self.busy, busy)?,
            None => self.listing.touch(at),
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<Listing, Problem> {
        if self.rows == 0 {
            return Err(self.listing.nothing("row of vmstat", REMEDY));
        }
        let first = self.listing.rows.first_key_value().map(|(at, _)| *at);
        self.listing.gap_between(
            first,
            first,
            Some(SOURCE),
            GapReason::Other("since_boot".to_owned()),
            "the rates of the first row are averages since boot and were left out",
        );
        self.check_unit();
        if !self.has_times {
            let seconds = self.interval.unwrap_or(SECOND) as f64 / SECOND as f64;
            self.listing.note(format!(
                "vmstat: its rows have no time and are drawn {seconds} s apart; --about interval=5s says another interval"
            ));
        }
        let bytes = self.unit * 1024.0;
        self.listing.resolution(&format!("vmstat: memory in units of {bytes} bytes, shares in whole percent"));
        Ok(self.listing.close())
    }
}

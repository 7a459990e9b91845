//! `sar` as text (sysstat 10 to 12): sections with a header each, in any locale and either clock.
//!
//! A header is a line whose first word behind its time is no number; under it stand rows until the next one. Columns go by
//! their names, so sections and versions need not be known. Lines of averages and of other items than the whole (`-P ALL`,
//! single interrupts) are left out: all their numbers follow from, or are parts of, what is kept.

use super::listing::{Listing, ListingClock};
use super::times::{DAY, Half, SECOND, day, time_of_day};
use super::words::scaled;
use super::{Kind, Parser, Problem, SOURCE};
use crate::counter::tools::{self, Column, Counts};
use crate::recording::{GapReason, RawUnit};
use std::collections::{BTreeMap, BTreeSet};

const REMEDY: &str = "give the output of `LC_ALL=C sar -B -r -W -q MEM -u -w [-f FILE]`; a binary saDD file is made readable with \
                      `sar -f`";

/// How a column is understood.
#[derive(Clone, Copy, Debug)]
struct Known {
    column: &'static Column,
    unit: RawUnit,
    scale: f64,
}

impl Known {
    /// sar prints sizes in whole KiB, and everything that is computed with two decimals.
    fn of(column: &'static Column) -> Known {
        let (unit, scale) = match column.counts {
            Counts::Size => (RawUnit::KiB, 1.0),
            Counts::SizePerSecond => (RawUnit::Bytes, 1024.0),
            Counts::PagesPerSecond => (RawUnit::PageHundredths, 100.0),
            Counts::EventsPerSecond => (RawUnit::Hundredths, 100.0),
            Counts::Share => (RawUnit::PercentHundredths, 100.0),
            Counts::Things => (RawUnit::Count, 1.0),
        };
        Known { column, unit, scale }
    }

    fn name(&self) -> &'static str {
        self.column.name
    }
}

/// What it makes of the sum of all interrupts, whose heading is a word of its own.
const INTERRUPTS: &str = "interrupts_per_second";

/// Sections whose rows are items, and the item that stands for the whole.
const WHOLE: [(&str, &[&str]); 2] = [("CPU", &["all"]), ("INTR", &["sum"])];

/// Clocks go on within a section, while each section of a file begins anew.
#[derive(Clone, Debug, Default)]
struct Section {
    days: i64,
    last: Option<i64>,
}

#[derive(Debug)]
pub(super) struct Sar {
    listing: Listing,
    midnight: Option<i64>,
    header: Vec<String>,
    /// Whether the table under that header is not imported.
    is_left: bool,
    sections: BTreeMap<Vec<String>, Section>,
    rows: usize,
    /// Tables by their first column, and columns of the others, that are not imported.
    tables_left: BTreeSet<String>,
    columns_left: BTreeSet<String>,
}

impl Sar {
    pub(super) fn new() -> Sar {
        Sar {
            listing: Listing::new(Kind::Sar, ListingClock::TimeOfDay),
            midnight: None,
            header: Vec::new(),
            is_left: false,
            sections: BTreeMap::new(),
            rows: 0,
            tables_left: BTreeSet::new(),
            columns_left: BTreeSet::new(),
        }
    }

    /// `Linux 6.18.44 (host)  11/21/2026  _x86_64_ (2 CPU)`.
    fn banner(&mut self, line: &str, number: usize) {
        let mut words = line.split_whitespace();
        words.next();
        if let Some(kernel) = words.next() {
            self.listing.about("kernel", kernel);
        }
        if let Some(at) = line.rfind(" CPU)") {
            let cpus: String = line[..at].chars().rev().take_while(char::is_ascii_digit).collect();
            if !cpus.is_empty() {
                self.listing.about("cpus", cpus.chars().rev().collect::<String>());
            }
        }
        // Behind the host's name; one word, or three as in `21. 11. 2026`.
        let behind = line.split_once(')').map_or("", |(_, behind)| behind);
        let parts: Vec<&str> = behind.split('\t').map(str::trim).collect();
        let date = parts
            .iter()
            .chain(&behind.split_whitespace().collect::<Vec<_>>())
            .find_map(|part| day(&part.replace(". ", ".")));
        match date {
            Some(date) => {
                self.midnight = Some(date.midnight);
                self.listing.clock = ListingClock::Local;
                if date.is_ambiguous {
                    self.listing.note(format!(
                        "sar: line {number}: its date is read with the month first; --about date=YYYY-MM-DD says otherwise"
                    ));
                }
            }
            None => self.listing.note(format!("sar: line {number}: no date that could be read")),
        }
        self.sections.clear();
        self.header.clear();
        self.is_left = false;
    }

    /// The instant of a row, and the words behind its clock.
    fn clock<'a, 't>(words: &'a [&'t str]) -> Option<(i64, &'a [&'t str])> {
        let (first, rest) = words.split_first()?;
        if let Some(half) = rest.first().and_then(|word| Half::of(word)) {
            return Some((time_of_day(first, Some(half))?, &rest[1..]));
        }
        // sadf -d and ISO clocks write the date in front.
        if let Some(date) = day(first).filter(|_| first.len() >= 8)
            && let Some(time) = rest.first().and_then(|word| time_of_day(word, None))
        {
            return Some((date.midnight + time, &rest[1..]));
        }
        Some((time_of_day(first, None)?, rest))
    }

    fn at(&mut self, time: i64, number: usize) -> i64 {
        let section = self.sections.entry(self.header.clone()).or_default();
        let mut at = time.saturating_add(section.days);
        if let Some(last) = section.last {
            let back = last.saturating_sub(at);
            if back >= DAY / 2 {
                section.days += (back / DAY + 1) * DAY;
                at = time.saturating_add(section.days);
            } else if back > 0 {
                // Each section has the same clock, so all move alike.
                section.days = section.days.saturating_add(back).saturating_add(SECOND);
                at = time.saturating_add(section.days);
                self.listing.mark(
                    at.saturating_add(self.midnight.unwrap_or(0)),
                    format!("sar: line {number}: the clock goes back by {} s", back as f64 / SECOND as f64),
                );
            }
        }
        section.last = Some(at);
        if time >= DAY {
            self.listing.clock = ListingClock::Local;
        }
        // With a date in each line there is no banner that has one.
        at.saturating_add(if time >= DAY { 0 } else { self.midnight.unwrap_or(0) })
    }

    fn header(&mut self, words: &[&str]) {
        const MOST: usize = 200;
        self.header = words.iter().map(|word| (*word).to_owned()).collect();
        self.is_left = false;
        // Of interrupts only the sum of all is taken, and the rest are its parts.
        if words.first() == Some(&"INTR") {
            return;
        }
        let is_known = |word: &str| tools::of_sar(word).is_some();
        if !words.iter().any(|word| is_known(word)) {
            self.is_left = true;
            if self.tables_left.len() < MOST {
                let name: Vec<String> = words.iter().take(2).map(|word| super::words::quoted(word)).collect();
                self.tables_left.insert(name.join(" "));
            }
            return;
        }
        for word in words {
            let is_item = WHOLE.iter().any(|(item, _)| item == word);
            if !is_item && !is_known(word) && self.columns_left.len() < MOST {
                self.columns_left.insert(super::words::quoted(word));
            }
        }
    }

    fn row(&mut self, time: i64, words: &[&str], number: usize, line: &str) -> Result<(), Problem> {
        // sysstat marks CPUs that are offline and items that vanished with other words, and sadf repeats names.
        let item = WHOLE.iter().find(|(name, _)| self.header.first().is_some_and(|first| first == name));
        if let Some((_, whole)) = item
            && !words.first().is_some_and(|word| whole.contains(word))
        {
            return Ok(());
        }
        if words.len() != self.header.len() {
            self.listing.reject(number, line);
            return Ok(());
        }
        let mut values = Vec::new();
        for (header, word) in self.header.iter().zip(words) {
            let known = match (item, header.as_str()) {
                (Some(("INTR", _)), "all" | "intr/s") => tools::COLUMNS.iter().find(|column| column.name == INTERRUPTS),
                (Some(("INTR", _)), _) => None,
                (_, header) => tools::of_sar(header),
            };
            let Some(known) = known.map(Known::of) else { continue };
            match scaled(word, known.scale) {
                Some(value) => values.push((known, value)),
                None => {
                    self.listing.reject(number, line);
                    return Ok(());
                }
            }
        }
        if values.is_empty() {
            return Ok(());
        }
        let at = self.at(time, number);
        self.rows += 1;
        self.derive(at, &values)?;
        self.derive_memory(at, &values)?;
        for (known, value) in values {
            if known.name() != "cpu_kernel_percent" {
                let column = self.listing.column(known.column.source, known.name(), "", known.unit);
                self.listing.put(at, column, value)?;
            }
        }
        Ok(())
    }

    /// Busy and system shares. Without columns of their own, `%system` holds interrupts and soft interrupts (sar(1)).
    fn derive(&mut self, at: i64, values: &[(Known, u64)]) -> Result<(), Problem> {
        const MOST: u64 = 1 << 40;
        let of = |name: &str| values.iter().find(|(known, _)| known.name() == name).map(|(_, value)| *value);
        let Some(kernel) = of("cpu_kernel_percent").filter(|value| *value < MOST) else { return Ok(()) };
        let part = |name: &str| of(name).filter(|value| *value < MOST).unwrap_or(0);
        let system = kernel + part("cpu_irq_percent") + part("cpu_softirq_percent");
        let column = self.listing.column(SOURCE, "cpu_system_percent", "", RawUnit::PercentHundredths);
        self.listing.put(at, column, system)?;
        if let Some(user) = of("cpu_user_percent").filter(|value| *value < MOST) {
            let guests = part("cpu_guest_percent") + part("cpu_guest_nice_percent");
            let busy = system + user + part("cpu_nice_percent") + guests;
            let column = self.listing.column(SOURCE, "cpu_busy_percent", "", RawUnit::PercentHundredths);
            self.listing.put(at, column, busy)?;
        }
        Ok(())
    }

    /// sar prints how much is used and which part of all memory that is, but not all memory. Of a part below a hundredth two
    /// decimals are too few.
    fn derive_memory(&mut self, at: i64, values: &[(Known, u64)]) -> Result<(), Problem> {
        let of = |name: &str| values.iter().find(|(known, _)| known.name() == name).map(|(_, value)| *value);
        let parts = of("memory_used").zip(of("memory_used_percent"));
        let Some((used, percent)) = parts.filter(|(_, percent)| (100..=10_000).contains(percent)) else {
            return Ok(());
        };
        let Some(total) = used.checked_mul(10_000).map(|used| used / percent) else { return Ok(()) };
        let column = self.listing.column(SOURCE, "memory_total", "", RawUnit::KiB);
        self.listing.put(at, column, total)
    }
}

/// What C prints where there is no number to print.
fn is_no_number(word: &str) -> bool {
    matches!(word.trim_start_matches('-').to_ascii_lowercase().as_str(), "nan" | "inf")
}

/// `Average:`, `Durchschn.:`, `Moyenne :`.
fn is_average(words: &[&str]) -> bool {
    words.iter().take(2).any(|word| word.ends_with(':') && !word.starts_with(|c: char| c.is_ascii_digit()))
}

/// Whether a line is the banner of sysstat, or a header of sar that has a clock in front. pidstat has shares of processes
/// under the same words.
pub(super) fn recognises(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    let is_banner = words.first() == Some(&"Linux") && line.contains(" CPU)") && line.contains('(');
    let rest = Sar::clock(&words).map_or(&[][..], |(_, rest)| rest);
    let is_of_processes = rest.contains(&"PID") || rest.contains(&"Command");
    is_banner || (!is_of_processes && rest.iter().filter(|word| tools::of_sar(word).is_some()).count() >= 2)
}

impl Parser for Sar {
    fn line(&mut self, number: usize, line: &str) -> Result<(), Problem> {
        let words: Vec<&str> = line.split_whitespace().collect();
        if words.is_empty() || is_average(&words) {
            return Ok(());
        }
        if words[0] == "Linux" && line.contains('(') {
            self.banner(line, number);
            return Ok(());
        }
        let Some((time, rest)) = Self::clock(&words) else {
            self.listing.reject(number, line);
            return Ok(());
        };
        match rest {
            [] => self.listing.reject(number, line),
            // `LINUX RESTART` since sysstat 11.
            [first, ..] if first.starts_with("LINUX") || (*first == "RESTART") => {
                let at = self.midnight.unwrap_or(0).saturating_add(time);
                self.listing.mark(at, "sar: the host was started again".to_owned());
                self.listing.gap_between(
                    Some(at),
                    Some(at),
                    None,
                    GapReason::Other("restart".to_owned()),
                    "the host was started again; since when it was down is not in the listing",
                );
            }
            [first, second, ..] if *second == "COM" || *first == "COM" => {}
            [first, ..] => {
                let is_number = scaled(first, 1.0).is_some();
                let is_item = WHOLE.iter().any(|(_, whole)| whole.contains(first));
                // Rows have numbers. What has none is the header of a table, whether it is known or not: taken for a row, it
                // would leave the rows below it to the table before.
                let has_numbers = rest.iter().skip(1).any(|word| scaled(word, 1.0).is_some() || is_no_number(word));
                if !is_number && !is_item && !has_numbers && rest.len() > 1 {
                    self.header(rest);
                } else if self.header.is_empty() {
                    self.listing.reject(number, line);
                } else if !self.is_left {
                    self.row(time, rest, number, line)?;
                }
            }
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<Listing, Problem> {
        if self.rows == 0 {
            return Err(self.listing.nothing("row of sar under a header it has", REMEDY));
        }
        if let Some(detail) = super::words::left_out(Kind::Sar, &self.tables_left, &self.columns_left) {
            self.listing.gap(Some(SOURCE), GapReason::Other("not_imported".to_owned()), detail);
        }
        self.listing.resolution("sar: rates and shares with two decimals, averaged over the interval before");
        Ok(self.listing.close())
    }
}

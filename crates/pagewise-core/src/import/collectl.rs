//! `collectl` as text: brief (`-scm`), verbose and plot (`-P`) format, with any of its clocks.
//!
//! Brief numbers are cut to three or four characters: `24G` is 24 GiB or up to one more, interrupts are cut to thousands
//! when they are large (`cvt` in collectl's formatit.ph, 4.3). In brief format `cpu` is user + nice + sys, and `sys` is
//! system + interrupts + soft interrupts + steal; `Map` is mapped and anonymous memory together. Both are derived the same
//! way from the other formats.

use super::listing::{Listing, ListingClock};
use super::merge::Assumed;
use super::times::{Running, SECOND, day, seconds, time_of_day};
use super::words::{scaled, suffixed};
use super::{Kind, Parser, Problem, SOURCE};
use crate::counter::tools::{self, Column, Counts, Table as Format};
use crate::recording::{GapReason, RawUnit};
use std::collections::BTreeSet;

const REMEDY: &str =
    "give the output of `collectl -scm -oT` (or -oD, or -P); a .raw.gz file is made readable with `collectl -p`";

/// How a column is understood: what it is, and how its word becomes a number.
#[derive(Clone, Copy, Debug)]
struct Known {
    column: &'static Column,
    unit: RawUnit,
    /// What a suffix K stands for; numbers without one are in the unit.
    thousand: f64,
    /// Numbers without a suffix are bytes rather than KiB.
    is_bytes: bool,
}

impl Known {
    /// collectl prints whole numbers, cut to a larger unit with a suffix: of 1024 for sizes, of 1000 for all else. In the plot
    /// format nothing is cut.
    fn of((column, table): (&'static Column, Format)) -> Known {
        let unit = match column.counts {
            Counts::Size | Counts::SizePerSecond => RawUnit::KiB,
            Counts::PagesPerSecond => RawUnit::Pages,
            Counts::EventsPerSecond | Counts::Things => RawUnit::Count,
            Counts::Share => RawUnit::Percent,
        };
        let is_bytes = column.counts == Counts::Size && table != Format::Plot;
        Known { column, unit, thousand: if is_bytes { 1024.0 } else { 1000.0 }, is_bytes }
    }
}

/// A column whose numbers are used, and where.
#[derive(Clone, Copy, Debug)]
struct Used {
    word: usize,
    known: Known,
    column: u32,
}

/// What stands under the current header.
#[derive(Clone, Debug, Default)]
struct Table {
    used: Vec<Used>,
    width: usize,
    /// Words of the clock in front.
    clock: Vec<Clock>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Clock {
    Date,
    Time,
    Utc,
}

#[derive(Debug)]
pub(super) struct Collectl {
    listing: Listing,
    running: Running,
    table: Option<Table>,
    /// The instant of a verbose record, once its line was seen; its tables share it.
    record: Option<i64>,
    is_verbose: bool,
    section: String,
    interval: Option<i64>,
    rows: i64,
    tables_left: BTreeSet<String>,
    columns_left: BTreeSet<String>,
    last: Option<i64>,
}

impl Collectl {
    pub(super) fn new(assumed: &Assumed) -> Collectl {
        Collectl {
            listing: Listing::new(Kind::Collectl, ListingClock::Foreign),
            running: Running::default(),
            table: None,
            record: None,
            is_verbose: false,
            section: String::new(),
            interval: assumed.interval,
            rows: 0,
            tables_left: BTreeSet::new(),
            columns_left: BTreeSet::new(),
            last: None,
        }
    }

    fn is_header(words: &[&str]) -> bool {
        const SOME: [&str; 9] = ["cpu", "Free", "User", "Total", "Date", "Time", "KBRead", "KBIn", "UTC"];
        words.len() > 1 && words.iter().any(|word| SOME.contains(word) || word.starts_with('['))
    }

    /// Columns of a header line, `#` taken off.
    fn header(&mut self, words: &[&str]) {
        let mut table = Table { width: words.len(), ..Table::default() };
        for word in words {
            table.clock.push(match *word {
                "Date" => Clock::Date,
                "Time" => Clock::Time,
                "UTC" => Clock::Utc,
                _ => break,
            });
        }
        let is_plot = words.iter().any(|word| word.starts_with('['));
        // Under a verbose heading that is not CPU or memory, `Free` or `In` mean something else.
        let tables: &[Format] = match self.section.as_str() {
            _ if is_plot => &[Format::Plot],
            "CPU SUMMARY" => &[Format::VerboseCpu],
            "MEMORY SUMMARY" => &[Format::VerboseMemory],
            _ if self.is_verbose => &[],
            _ => &[Format::Brief],
        };
        if tables.is_empty() && !self.section.is_empty() && self.tables_left.len() < 200 {
            self.tables_left.insert(super::words::quoted(&self.section));
        }
        let mut names: Vec<&str> = Vec::new();
        for (index, word) in words.iter().enumerate().skip(table.clock.len()) {
            names.push(word);
            let nth = names.iter().filter(|name| *name == word).count();
            match tools::of_collectl(tables, word, nth).map(Known::of) {
                Some(known) => {
                    let column = self.listing.column(known.column.source, known.column.name, "", known.unit);
                    table.used.push(Used { word: index, known, column });
                }
                None if !tables.is_empty() && self.columns_left.len() < 200 => {
                    let place = if self.section.is_empty() { String::new() } else { format!("{}: ", self.section) };
                    self.columns_left.insert(format!("{place}{}", super::words::quoted(word)));
                }
                None => {}
            }
        }
        // The clock of a verbose memory table stands in its rows, not in its header.
        self.table = Some(table);
    }

    /// `# collectl -scm -oT -i2`, `waiting for 2 second sample...`.
    fn command(&mut self, line: &str) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let waiting = words.iter().position(|word| *word == "waiting").and_then(|at| words.get(at + 2));
        let option = words.iter().find_map(|word| word.strip_prefix("-i").filter(|rest| !rest.is_empty()));
        let seconds = waiting.copied().or(option).and_then(seconds);
        if self.interval.is_none() {
            self.interval = seconds.filter(|interval| *interval > 0);
        }
    }

    /// The words of the clock in front of a row: how many, and the instant.
    fn clock(&self, words: &[&str], clock: &[Clock]) -> Option<(i64, ListingClock)> {
        let (mut date, mut time) = (None, None);
        for (word, clock) in words.iter().zip(clock) {
            match clock {
                Clock::Utc => return Some((seconds(word)?, ListingClock::Utc)),
                // `-od` prints month and day without a year: no date.
                Clock::Date => date = day(word).map(|day| day.midnight),
                Clock::Time => time = Some(time_of_day(word, None)?),
            }
        }
        match (date, time) {
            (Some(date), Some(time)) => Some((date + time, ListingClock::Local)),
            (None, Some(time)) => Some((time, ListingClock::TimeOfDay)),
            _ => None,
        }
    }

    /// `### RECORD    1 >>> vm <<< (1795282245.008) (Sat Nov 21 17:30:45 2026) ###`.
    fn record(&mut self, line: &str, number: usize) {
        self.is_verbose = true;
        self.section.clear();
        self.table = None;
        let epoch = line.split('(').nth(1).and_then(|rest| rest.split(')').next()).and_then(seconds);
        match epoch {
            Some(epoch) => {
                self.listing.clock = ListingClock::Utc;
                self.record = Some(self.listing.instant(&mut self.running, epoch, true, number));
            }
            None => self.listing.reject(number, line),
        }
    }

    fn row(&mut self, words: &[&str], number: usize, line: &str) -> Result<(), Problem> {
        let Some(table) = self.table.clone() else {
            self.listing.reject(number, line);
            return Ok(());
        };
        // A verbose memory table has the clock in its rows only.
        let in_front = words.len().checked_sub(table.width - table.clock.len());
        let clock: Vec<Clock> = match (table.clock.as_slice(), in_front) {
            ([], Some(1)) => vec![Clock::Time],
            ([], Some(2)) => vec![Clock::Date, Clock::Time],
            (clock, _) => clock.to_vec(),
        };
        let expected = table.width - table.clock.len() + clock.len();
        let shift = clock.len() - table.clock.len();
        let values: Option<Vec<(u32, Known, u64)>> = if words.len() == expected {
            let value = |used: &Used| Some((used.column, used.known, number_of(words[used.word + shift], used.known)?));
            table.used.iter().map(value).collect()
        } else {
            None
        };
        let raw = self.clock(words, &clock);
        let is_timed = clock.is_empty() || raw.is_some();
        let Some(values) = values.filter(|values| !values.is_empty() && is_timed) else {
            // A table of which nothing is used was said once; a row that does not fit is said each time.
            if !table.used.is_empty() {
                self.listing.reject(number, line);
            }
            return Ok(());
        };
        let at = match (self.record, raw) {
            (Some(record), _) => record,
            (None, Some((raw, kind))) => {
                self.listing.clock = kind;
                let has_date = kind != ListingClock::TimeOfDay;
                self.listing.instant(&mut self.running, raw, has_date, number)
            }
            (None, None) => {
                let raw = self.rows.saturating_mul(self.interval.unwrap_or(SECOND));
                self.listing.instant(&mut self.running, raw, true, number)
            }
        };
        self.rows += 1;
        self.last = Some(at);
        self.derive(at, &values)?;
        for (column, known, value) in values {
            if known.column.name != "cpu_kernel_percent" {
                self.listing.put(at, column, value)?;
            }
        }
        Ok(())
    }

    /// Busy and system as the brief format has them.
    fn derive(&mut self, at: i64, values: &[(u32, Known, u64)]) -> Result<(), Problem> {
        let of = |name: &str| values.iter().find(|(_, known, _)| known.column.name == name).map(|(.., value)| *value);
        let Some(kernel) = of("cpu_kernel_percent") else { return Ok(()) };
        let others = ["cpu_irq_percent", "cpu_softirq_percent", "cpu_steal_percent"].map(of);
        let user = ["cpu_user_percent", "cpu_nice_percent"].map(of);
        let sum = |parts: &[Option<u64>]| {
            parts.iter().try_fold(0u64, |sum, part| sum.checked_add((*part)?).filter(|sum| *sum < 1 << 40))
        };
        let Some(system) = sum(&others).and_then(|others| sum(&[Some(others), Some(kernel)])) else { return Ok(()) };
        let column = self.listing.column(SOURCE, "cpu_system_percent", "", RawUnit::Percent);
        self.listing.put(at, column, system)?;
        if let Some(busy) = sum(&user).and_then(|user| sum(&[Some(user), Some(system)])) {
            let column = self.listing.column(SOURCE, "cpu_busy_percent", "", RawUnit::Percent);
            self.listing.put(at, column, busy)?;
        }
        Ok(())
    }
}

/// Numbers with a suffix are bytes; plain ones are bytes, too, in tables that have suffixes, and KiB in the others.
fn number_of(word: &str, known: Known) -> Option<u64> {
    if known.is_bytes {
        suffixed(word, known.thousand, 1.0 / 1024.0)
    } else if known.unit == RawUnit::Percent {
        scaled(word, 1.0)
    } else {
        suffixed(word, known.thousand, 1.0)
    }
}

/// Whether a line is a header of collectl: brief, verbose or plot.
pub(super) fn recognises(line: &str) -> bool {
    let Some(rest) = line.trim_start().strip_prefix('#') else { return false };
    let words: Vec<&str> = rest.split_whitespace().collect();
    let has = |word: &str| words.contains(&word);
    (has("cpu") && has("sys") && has("inter") && has("ctxsw"))
        || (has("Free") && has("Buff") && has("Cach"))
        || words.iter().any(|word| word.starts_with("[CPU]") || word.starts_with("[MEM]"))
        || matches!(words.as_slice(), ["CPU" | "MEMORY", "SUMMARY", ..])
        || (line.contains(">>>") && has("RECORD"))
}

impl Parser for Collectl {
    fn line(&mut self, number: usize, line: &str) -> Result<(), Problem> {
        let text = line.trim();
        if text.is_empty() {
            return Ok(());
        }
        if text.starts_with("### RECORD") {
            self.record(text, number);
            return Ok(());
        }
        if text.starts_with("waiting for")
            || (text.contains("collectl ") && !text.starts_with(|c: char| c.is_ascii_digit()))
        {
            self.command(text);
            return Ok(());
        }
        if let Some(rest) = text.strip_prefix('#') {
            let rest = rest.trim_start();
            // `#<---CPU---><---Memory--->`, with words inside the band: a heading over headers.
            if rest.contains("<--") || rest.contains("-->") {
                return Ok(());
            }
            let words: Vec<&str> = rest.split_whitespace().collect();
            if Self::is_header(&words) {
                self.header(&words);
            } else if self.is_verbose {
                rest.split(" (").next().unwrap_or_default().clone_into(&mut self.section);
                self.table = None;
            }
            return Ok(());
        }
        let words: Vec<&str> = text.split_whitespace().collect();
        self.row(&words, number, line)
    }

    fn finish(mut self: Box<Self>) -> Result<Listing, Problem> {
        if self.rows == 0 {
            return Err(self.listing.nothing("row of collectl under a header it has", REMEDY));
        }
        if self.listing.clock == ListingClock::Foreign {
            let seconds = self.interval.unwrap_or(SECOND) as f64 / SECOND as f64;
            self.listing.note(format!(
                "collectl: its rows have no time and are drawn {seconds} s apart; --about interval=5s says another interval"
            ));
        }
        if let Some(detail) = super::words::left_out(Kind::Collectl, &self.tables_left, &self.columns_left) {
            self.listing.gap(Some(SOURCE), GapReason::Other("not_imported".to_owned()), detail);
        }
        self.listing.resolution(
            "collectl: shares in whole percent; brief sizes are cut to the unit printed: 24G is 24 GiB or up to one more",
        );
        Ok(self.listing.close())
    }
}

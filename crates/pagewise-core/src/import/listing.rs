//! What a file said, on its own clock, before it meets others.

use super::times::{Running, SECOND};
use super::words::quoted;
use super::{Kind, Problem, SOURCE};
use crate::counter::tools::{Column, Counts};
use crate::kernel_text::visit::INDEX;
use crate::recording::{GapReason, Kind as SeriesKind, Profile, RawUnit, StallRow};
use std::collections::{BTreeMap, HashMap};

/// No listing has more numbers; a month of sar at one minute has two million.
const MOST_NUMBERS: usize = 1 << 24;

/// More memory than any host has, in KiB: 64 PiB. Containers with a wrong account of swap show 8 EiB.
pub(super) const MOST_KIB: u64 = 1 << 46;

/// What the instants of a listing are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListingClock {
    /// Nanoseconds since 1970-01-01 UTC.
    Utc,
    /// Nanoseconds since 1970-01-01 in a time zone that is not known.
    Local,
    /// Nanoseconds since a midnight whose date is not known.
    TimeOfDay,
    /// Nanoseconds since an instant that is not known: perf's clock, or the first row.
    Foreign,
    /// None at all: what was seen over a while.
    None,
}

/// What a column of a listing is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct ListedSeries {
    /// The source, such as `meminfo`.
    pub(super) source: &'static str,
    /// The name of the series.
    pub(super) name: String,
    /// `label=value,…`, or nothing.
    pub(super) labels: String,
    /// Its unit.
    pub(super) unit: RawUnit,
    /// A total, where the kernel's own text was imported; a level otherwise: see the design note.
    pub(super) kind: SeriesKind,
}

/// A stretch that the file says nothing about, on its own clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ListedGap {
    /// `None`: from the beginning.
    pub(super) from: Option<i64>,
    /// `None`: to the end.
    pub(super) to: Option<i64>,
    pub(super) source: Option<String>,
    pub(super) reason: GapReason,
    pub(super) detail: String,
}

/// What a file said.
#[derive(Clone, Debug)]
pub struct Listing {
    pub(super) kind: Kind,
    pub(super) clock: ListingClock,
    pub(super) columns: Vec<ListedSeries>,
    numbers: HashMap<ListedSeries, u32>,
    pub(super) rows: BTreeMap<i64, Vec<(u32, u64)>>,
    held: usize,
    /// Instants of its samples are on the listing's clock, moved up so that none is negative.
    pub(super) profile: Option<Profile>,
    /// Tasks that were held up, from when to when; the instants in the rows themselves count for nothing.
    pub(super) stalls: Vec<(i64, i64, StallRow)>,
    pub(super) gaps: Vec<ListedGap>,
    /// Notes, with their instant where they have one.
    pub(super) marks: Vec<(Option<i64>, String)>,
    pub(super) about: BTreeMap<String, String>,
    /// Name and value.
    pub(super) settings: Vec<(String, Option<String>)>,
    rejected: Rejected,
}

#[derive(Clone, Debug, Default)]
struct Rejected {
    lines: usize,
    first: Option<(usize, String)>,
}

impl Listing {
    /// An empty one.
    #[must_use]
    pub fn new(kind: Kind, clock: ListingClock) -> Listing {
        Listing {
            kind,
            clock,
            columns: Vec::new(),
            numbers: HashMap::new(),
            rows: BTreeMap::new(),
            held: 0,
            profile: None,
            stalls: Vec::new(),
            gaps: Vec::new(),
            marks: Vec::new(),
            about: BTreeMap::new(),
            settings: Vec::new(),
            rejected: Rejected::default(),
        }
    }

    /// The number of a column of levels, new if it was not there before.
    pub fn column(&mut self, source: &'static str, name: &str, labels: &str, unit: RawUnit) -> u32 {
        self.column_of(source, name, labels, unit, SeriesKind::Gauge)
    }

    /// Free blocks of the zone that the labels name, those of one page first, as `/proc/buddyinfo` has them.
    pub(super) fn put_free_blocks(&mut self, at: i64, labels: &str, blocks: &[u64]) -> Result<(), Problem> {
        for (count, order) in blocks.iter().zip(INDEX) {
            let column = self.column("buddyinfo", "free_blocks", &format!("{labels},order={order}"), RawUnit::Count);
            self.put(at, column, *count)?;
        }
        Ok(())
    }

    /// The same of a column that may be a running total of the kernel.
    pub(super) fn column_of(
        &mut self,
        source: &'static str,
        name: &str,
        labels: &str,
        unit: RawUnit,
        kind: SeriesKind,
    ) -> u32 {
        let series = ListedSeries { source, name: name.to_owned(), labels: labels.to_owned(), unit, kind };
        if let Some(number) = self.numbers.get(&series) {
            return *number;
        }
        let number = self.columns.len() as u32;
        self.columns.push(series.clone());
        self.numbers.insert(series, number);
        number
    }

    /// A level of a column at an instant. The first one there stays.
    ///
    /// # Errors
    /// When there are more numbers than can be taken.
    pub fn put(&mut self, at: i64, column: u32, value: u64) -> Result<(), Problem> {
        let row = self.rows.entry(at).or_default();
        if row.iter().any(|(other, _)| *other == column) {
            return Ok(());
        }
        row.push((column, value));
        self.held += 1;
        if self.held > MOST_NUMBERS {
            return Err(Problem::of_file(
                format!("it holds more than {MOST_NUMBERS} numbers"),
                "cut it into parts of some days each",
            ));
        }
        Ok(())
    }

    /// A number of a tool that prints decimals: KiB, pages, events, percent or milliseconds, as its column counts. It is kept
    /// to two decimals where a recording has them. What a recording cannot hold is left out.
    ///
    /// # Errors
    /// When there are more numbers than can be taken.
    pub(super) fn put_decimal(&mut self, at: i64, of: &Column, labels: &str, value: f64) -> Result<(), Problem> {
        let (unit, scale) = match of.counts {
            Counts::Size => (RawUnit::KiB, 1.0),
            Counts::SizePerSecond => (RawUnit::Bytes, 1024.0),
            Counts::Pages => (RawUnit::Pages, 1.0),
            Counts::PagesPerSecond => (RawUnit::PageHundredths, 100.0),
            Counts::EventsPerSecond => (RawUnit::Hundredths, 100.0),
            Counts::Share => (RawUnit::PercentHundredths, 100.0),
            Counts::Things => (RawUnit::Count, 1.0),
            Counts::Milliseconds => (RawUnit::Microseconds, 1000.0),
        };
        let value = (value * scale).round();
        // Beyond 2^53 a float no longer knows its last digit.
        if !value.is_finite() || value.abs() > 9e15 {
            return Ok(());
        }
        let column = self.column(of.source, of.name, labels, unit);
        self.put(at, column, value as i64 as u64)
    }

    /// Takes all numbers of these columns away.
    pub(super) fn leave_out(&mut self, columns: &[u32]) {
        for row in self.rows.values_mut() {
            let before = row.len();
            row.retain(|(column, _)| !columns.contains(column));
            self.held -= before - row.len();
        }
    }

    /// An instant with all its numbers away.
    pub(super) fn leave_out_instant(&mut self, at: i64) {
        self.held -= self.rows.remove(&at).map_or(0, |row| row.len());
    }

    /// An instant, even when nothing is known of it.
    pub(super) fn touch(&mut self, at: i64) {
        self.rows.entry(at).or_default();
    }

    /// How coarse a column is printed.
    pub(super) fn resolution(&mut self, text: &str) {
        self.about.entry("import.resolution".to_owned()).or_insert_with(|| text.to_owned());
    }

    /// Something to say about the whole.
    pub fn about(&mut self, key: &str, value: impl Into<String>) {
        self.about.insert(key.to_owned(), value.into());
    }

    /// A setting and its value.
    pub fn setting(&mut self, name: impl Into<String>, value: Option<String>) {
        self.settings.push((name.into(), value));
    }

    /// A note on the whole.
    pub fn note(&mut self, text: impl Into<String>) {
        self.marks.push((None, text.into()));
    }

    /// A note at an instant.
    pub(super) fn mark(&mut self, at: i64, text: impl Into<String>) {
        self.marks.push((Some(at), text.into()));
    }

    /// What the whole file does not say, of one source or of all.
    pub fn gap(&mut self, source: Option<&str>, reason: GapReason, detail: impl Into<String>) {
        self.gap_between(None, None, source, reason, detail);
    }

    pub(super) fn gap_between(
        &mut self,
        from: Option<i64>,
        to: Option<i64>,
        source: Option<&str>,
        reason: GapReason,
        detail: impl Into<String>,
    ) {
        self.gaps.push(ListedGap { from, to, source: source.map(str::to_owned), reason, detail: detail.into() });
    }

    /// A line that is neither a header nor a row.
    pub(super) fn reject(&mut self, number: usize, line: &str) {
        self.rejected.lines += 1;
        if self.rejected.first.is_none() {
            self.rejected.first = Some((number, quoted(line)));
        }
    }

    /// Nothing came of the file: why.
    pub(super) fn nothing(&self, wanted: &str, remedy: &str) -> Problem {
        let what = match &self.rejected.first {
            None => format!("it holds no {wanted}"),
            Some((line, text)) => format!("it holds no {wanted}; the first line that is none is line {line}, '{text}'"),
        };
        Problem::of_file(what, remedy)
    }

    /// Turns rejected lines into a gap.
    pub(super) fn close(mut self) -> Listing {
        if let Some((line, text)) = self.rejected.first.take() {
            let detail = format!(
                "{} of the {} file were not understood; the first is line {line}: '{text}'",
                count(self.rejected.lines, "line"),
                self.kind
            );
            // Beside them there are rows: it is not that nothing at all was seen.
            self.gap(Some(SOURCE), GapReason::NotUnderstood, detail);
        }
        self
    }

    /// A reading of a clock of rows, with a note when it was set back.
    pub(super) fn instant(&mut self, running: &mut Running, raw: i64, has_date: bool, number: usize) -> i64 {
        let reading = running.next(raw, has_date);
        if let Some(back) = reading.set_back {
            let seconds = back as f64 / SECOND as f64;
            self.mark(
                reading.at,
                format!(
                    "line {number}: the clock goes back by {seconds} s; what follows is moved behind what came before"
                ),
            );
        }
        reading.at
    }

    /// What series it has: their source, name and labels.
    pub fn series(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        self.columns.iter().map(|column| (column.source, column.name.as_str(), column.labels.as_str()))
    }

    /// How many rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows.len()
    }

    /// From when to when, on its own clock.
    pub(super) fn stretch(&self) -> Option<(i64, i64)> {
        let rows = self.rows.first_key_value().zip(self.rows.last_key_value()).map(|(first, last)| (*first.0, *last.0));
        let sampled = self.profile.as_ref().filter(|_| self.clock != ListingClock::None).and_then(|profile| {
            let from = profile.samples.iter().map(|sample| sample.from).min()?;
            let to = profile.samples.iter().map(|sample| sample.to).max()?;
            Some((i64::try_from(from).ok()?, i64::try_from(to).ok()?))
        });
        match (rows, sampled) {
            (Some(rows), Some(sampled)) => Some((rows.0.min(sampled.0), rows.1.max(sampled.1))),
            (rows, sampled) => rows.or(sampled),
        }
    }
}

/// `1 line`, `3 lines`.
pub(super) fn count(number: usize, of: &str) -> String {
    if number == 1 { format!("1 {of}") } else { format!("{number} {of}s") }
}

//! `vmstat` as text, and as people paste it: one row of levels and rates at a time, with a clock before or behind it, in
//! blocks with a command, a date or prose between them.
//!
//! The rates in the first row of a run are averages since boot and are left out; a run is a [`Block`], with its own columns
//! and interval. The unit of memory (`-S`) does not stand in the output; it is KiB unless the command line stands above it
//! or the caller says otherwise, and then every number is one of whole pages: where one is not, memory is left out. `-S` does
//! not change swap and block columns (vmstat(8), procps-ng 4.0).

use super::listing::{Listing, ListingClock, count};
use super::merge::Assumed;
use super::times::{DAY, Running, SECOND, Stamp};
use super::{Kind, Parser, Problem, SOURCE};
use crate::counter::tools::{self, Column, Counts};
use crate::recording::{GapReason, RawUnit};
use std::collections::BTreeSet;

const REMEDY: &str =
    "give the output of `vmstat -t 1` (-a, -w and -S are fine; -d, -D, -m, -p and -s are other tables)";

/// In KiB this would be a gibibyte: no host of today has less in every column.
const LEAST_IN_KIB: u64 = 1 << 20;

/// KiB of the smallest page there is.
const SMALLEST_PAGE: u64 = 4;

/// KiB of the unit of `-S k`.
const THOUSAND: f64 = 1000.0 / 1024.0;

/// So many different sizes, each a whole number of pages in such units, are no chance: a quarter of all numbers is.
const ENOUGH_SIZES: usize = 6;

/// Where so many of all sizes are of whole pages in KiB, the others were altered by who posted the listing.
const MOST_SIZES: f64 = 0.9;

/// vmstat reckons with single precision, which knows no whole number beyond this.
const EXACT: u64 = 1 << 24;

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

/// Titles above groups of columns (procps 2 to 4).
const GROUPS: [&str; 9] = ["procs", "memory", "swap", "io", "system", "cpu", "timestamp", "time", "faults"];

/// Tasks that are swapped out, and nothing since Linux 2.4: in the header, and not taken.
const SWAPPED_OUT: &str = "w";

/// Headers without options: of procps 3 to 4 (`st` came with Linux 2.6.11, `gu` with procps-ng 4.0.4), and of Linux 2.4.
const USUAL: [&str; 4] = [
    "r b swpd free buff cache si so bi bo in cs us sy id wa",
    "r b swpd free buff cache si so bi bo in cs us sy id wa st",
    "r b swpd free buff cache si so bi bo in cs us sy id wa st gu",
    "r b w swpd free buff cache si so bi bo in cs us sy id",
];

/// Shares of the CPU are rounded one by one.
const WHOLE: std::ops::RangeInclusive<u64> = 98..=102;

/// A header repeats when a screen is full (`winhi` in vmstat.c of procps-ng, 22 rows without a screen), and no screen is as
/// low as this. Earlier it is rather the next run in one file.
const LOWEST_SCREEN: usize = 5;

/// More gaps than this are told as one.
const MOST_GAPS: usize = 50;

/// No listing has more numbers in its rows.
const MOST_NUMBERS: usize = 1 << 24;

/// The columns under a header.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Heading {
    words: Vec<String>,
    /// `-t` prints the time zone above its times.
    is_utc: bool,
}

impl Heading {
    fn width(&self) -> usize {
        self.words.len()
    }

    fn columns(&self) -> impl Iterator<Item = Option<&'static Column>> {
        self.words.iter().map(|word| tools::of_vmstat(word))
    }

    /// The shares of the CPU add up.
    fn is_whole(&self, values: &[u64]) -> bool {
        WHOLE.contains(&self.shares(values))
    }

    fn shares(&self, values: &[u64]) -> u64 {
        let shares = self.columns().zip(values).filter(|(column, _)| column.is_some_and(|c| c.counts == Counts::Share));
        shares.fold(0u64, |sum, (_, value)| sum.saturating_add(*value))
    }

    fn has(&self, word: &str) -> bool {
        self.words.iter().any(|own| own == word)
    }
}

#[derive(Clone, Debug)]
struct Row {
    line: usize,
    stamp: Option<Stamp>,
    values: Vec<u64>,
}

/// What one call of vmstat printed.
#[derive(Clone, Debug, Default)]
struct Block {
    heading: Option<Heading>,
    /// Nobody printed its header.
    is_bare: bool,
    /// A row of it cannot be one of the usual columns.
    is_refused: bool,
    command: Command,
    /// The date above it.
    stamp: Option<Stamp>,
    /// A collector printed that date, and calls vmstat again and again.
    is_collected: bool,
    rows: Vec<Row>,
}

impl Block {
    /// Of rows without a header every one must fit the columns they are taken to have. The first may have fitted two.
    fn check_bare(&mut self) {
        let fits = |heading: &Heading| {
            self.rows.iter().all(|row| heading.width() == row.values.len() && heading.is_whole(&row.values))
        };
        let last = self.rows.last().map_or(&[][..], |row| &row.values);
        if self.heading.as_ref().is_some_and(|heading| heading.is_whole(last)) {
            return;
        }
        match usual().find(fits) {
            Some(heading) => self.heading = Some(heading),
            None => self.is_refused = true,
        }
    }

    /// Whether the rates of a row are averages since boot.
    fn is_since_boot(&self, row: usize) -> bool {
        row == 0 && !self.command.skips_first
    }
}

/// What a command line says.
#[derive(Clone, Copy, Debug, Default)]
struct Command {
    /// Between two rows.
    interval: Option<i64>,
    /// KiB in the unit of the memory columns.
    unit: Option<f64>,
    /// `-y`.
    skips_first: bool,
}

impl Command {
    /// `$ vmstat -S M 1 10`, in whatever prompt and prose.
    fn of(line: &str) -> Option<Command> {
        let plain = |word: &str| word.trim_matches(|c: char| "`'\"().,:;#$".contains(c)).to_owned();
        let is_program = |word: &String| word.ends_with("vmstat") && !word.contains("/proc/");
        let words: Vec<String> = line.split_whitespace().map(plain).collect();
        let at = words.iter().position(is_program)?;
        let mut command = Command::default();
        let mut rest = words[at + 1..].iter();
        while let Some(word) = rest.next() {
            if let Some(unit) = word.strip_prefix("-S") {
                let letter = if unit.is_empty() { rest.next().map(String::as_str) } else { Some(unit) };
                command.unit = letter.and_then(unit_of).map(|bytes| bytes / 1024.0).or(command.unit);
            } else if word.starts_with('-') && !word.starts_with("--") {
                command.skips_first |= word.contains('y');
            } else if let Ok(number) = word.parse::<i64>() {
                // The second number is how often.
                let seconds = (1..=86_400).contains(&number).then(|| number * SECOND);
                command.interval = command.interval.or(seconds);
            } else if !word.starts_with('-') {
                break;
            }
        }
        Some(command)
    }
}

#[derive(Debug)]
pub(super) struct Vmstat {
    listing: Listing,
    blocks: Vec<Block>,
    held: usize,
    assumed_interval: Option<i64>,
    /// KiB, as the caller says.
    assumed_unit: Option<f64>,
    /// Stood above the next block.
    stamp: Option<(Stamp, bool)>,
    command: Option<Command>,
    /// A date or a command: the next row is of a new block. A blank line or prose: it is when a header comes, too.
    is_new: bool,
    is_apart: bool,
    /// A header came early, and the next row will show whether it begins a run.
    is_early: bool,
    /// The line before was a header.
    is_below_header: bool,
    /// The beginning of a row that goes on below.
    part: Option<(usize, String)>,
    columns_left: BTreeSet<String>,
    /// Whether a header of another system was seen.
    is_foreign: bool,
}

impl Vmstat {
    pub(super) fn new(assumed: &Assumed) -> Vmstat {
        Vmstat {
            listing: Listing::new(Kind::Vmstat, ListingClock::Foreign),
            blocks: Vec::new(),
            held: 0,
            assumed_interval: assumed.interval,
            assumed_unit: assumed.vmstat_unit.map(|bytes| bytes / 1024.0),
            stamp: None,
            command: None,
            is_new: true,
            is_apart: false,
            is_early: false,
            is_below_header: false,
            part: None,
            columns_left: BTreeSet::new(),
            is_foreign: false,
        }
    }

    fn heading(&self) -> Option<&Heading> {
        self.blocks.last().filter(|_| !self.is_new).and_then(|block| block.heading.as_ref())
    }

    /// Of a row, where no header is known the least of the usual ones.
    fn width(&self) -> usize {
        const LEAST: usize = 16;
        self.blocks.last().and_then(|block| block.heading.as_ref()).map_or(LEAST, Heading::width)
    }

    /// A block begins.
    fn begin(&mut self, heading: Heading, is_bare: bool) {
        let before = self.blocks.last();
        // What a command said holds until the next one.
        let said = before.map(|block| Command { skips_first: false, ..block.command }).unwrap_or_default();
        let command = self.command.take().unwrap_or(said);
        // A header without a row is no block; what stood above it holds for the next header.
        let empty = self.blocks.pop_if(|block| block.rows.is_empty());
        let above = empty.and_then(|block| Some((block.stamp?, block.is_collected)));
        let (stamp, is_collected) = self.stamp.take().or(above).map_or((None, false), |(stamp, is)| (Some(stamp), is));
        self.blocks.push(Block { heading: Some(heading), is_bare, command, stamp, is_collected, ..Block::default() });
        (self.is_new, self.is_apart, self.is_early) = (false, false, false);
    }

    /// `r b swpd free …`, with a clock in front of it where the rows have one, and the time zone behind it.
    fn header(&mut self, words: &[&str]) {
        let known = words.iter().rposition(|word| is_column(word)).map_or(0, |last| last + 1);
        let is_utc = words.get(known).is_some_and(|zone| matches!(*zone, "UTC" | "GMT"));
        for word in words[..known].iter().filter(|word| !is_column(word)) {
            if self.columns_left.len() < 200 {
                self.columns_left.insert(super::words::quoted(word));
            }
        }
        let heading = Heading { words: words[..known].iter().map(|word| (*word).to_owned()).collect(), is_utc };
        let (is_new, is_apart) = (self.is_new, self.is_apart);
        match self.blocks.last_mut() {
            Some(block) if !is_new && !is_apart && !block.rows.is_empty() => {
                let is_same = block.heading.as_ref().is_some_and(|own| own.width() == heading.width());
                let is_early = block.rows.len() < LOWEST_SCREEN;
                if !is_same {
                    self.begin(heading, false);
                } else {
                    // Of rows that stood above any header it says the columns.
                    block.heading = Some(heading);
                    block.is_bare = false;
                    self.is_early = is_early;
                }
            }
            _ => self.begin(heading, false),
        }
    }

    /// The rest of a header that a mail program broke.
    fn header_goes_on(&mut self, words: &[&str]) -> bool {
        let Some(heading) = self.blocks.last_mut().filter(|_| self.is_below_header).and_then(|b| b.heading.as_mut())
        else {
            return false;
        };
        if words.iter().any(|word| tools::of_vmstat(word).is_none() || heading.has(word)) {
            return false;
        }
        heading.words.extend(words.iter().map(|word| (*word).to_owned()));
        true
    }

    /// A row of this line, if it is one.
    fn row(&mut self, number: usize, words: &[&str]) -> Result<bool, Problem> {
        let row = match self.heading() {
            Some(heading) => row_of(words, heading, number).or_else(|| row_beyond(words, heading, number)),
            // After a date or a command the columns are those of before, unless a header says others.
            None => match self.blocks.last().and_then(|block| block.heading.clone()) {
                Some(heading) => match row_of(words, &heading, number) {
                    Some(row) => {
                        let is_bare = self.blocks.last().is_some_and(|block| block.is_bare);
                        self.begin(heading, is_bare);
                        Some(row)
                    }
                    None => None,
                },
                None => self.bare_row(words, number),
            },
        };
        let Some(row) = row else { return Ok(false) };
        if std::mem::take(&mut self.is_early)
            && let Some(block) = self.blocks.last()
            && let Some(heading) = block.heading.clone()
            && is_alike(&heading, &block.rows, &row)
        {
            self.begin(heading, false);
        }
        let Some(block) = self.blocks.last_mut() else { return Ok(false) };
        let is_timed = block.rows.last().is_some_and(|before| before.stamp.is_some());
        if is_timed && row.stamp.is_none() {
            return Ok(false);
        }
        self.held += row.values.len();
        block.rows.push(row);
        if block.is_bare {
            block.check_bare();
        }
        self.is_apart = false;
        if self.held > MOST_NUMBERS {
            let what = format!("it holds more than {MOST_NUMBERS} numbers");
            return Err(Problem::of_file(what, "cut it into parts of some days each"));
        }
        Ok(true)
    }

    /// A row above any header: of the usual columns, when its shares of the CPU add up.
    fn bare_row(&mut self, words: &[&str], number: usize) -> Option<Row> {
        let (heading, row) = bare(words, number)?;
        self.begin(heading, true);
        Some(row)
    }

    /// A row that a mail program broke: its beginning is kept until the next line.
    fn part_of_row(&mut self, number: usize, words: &[&str], line: &str) -> Result<bool, Problem> {
        if let Some((first, part)) = self.part.take() {
            let joined = format!("{part} {line}");
            let words: Vec<&str> = joined.split_whitespace().collect();
            if words.len() >= self.width() && self.row(first, &words)? {
                return Ok(true);
            }
            self.listing.reject(first, &part);
        }
        let width = self.width();
        let is_short = words.len() < width && words.len() * 2 > width;
        if is_short && words.iter().all(|word| whole(word).is_some()) {
            self.part = Some((number, line.to_owned()));
            return Ok(true);
        }
        Ok(false)
    }

    fn other_text(&mut self, number: usize, line: &str) {
        self.is_apart = true;
        self.listing.reject(number, line);
    }

    /// Blocks of rows that could not be told from other numbers are taken back.
    fn refuse(&mut self) {
        for block in self.blocks.iter().filter(|block| block.is_refused) {
            for row in &block.rows {
                let words: Vec<String> = row.values.iter().map(u64::to_string).collect();
                self.listing.reject(row.line, &words.join(" "));
            }
        }
        self.blocks.retain(|block| !block.is_refused && !block.rows.is_empty());
        if let Some(block) = self.blocks.iter().find(|block| block.is_bare) {
            let words = block.heading.as_ref().map_or(&[][..], |heading| &heading.words);
            let (width, line) = (words.len(), block.rows[0].line);
            self.listing.note(format!(
                "vmstat: no header stands above line {line}; its {width} columns are taken to be {}",
                words.join(" ")
            ));
        }
    }

    /// What the instants count from, all in all.
    fn find_clock(&mut self) -> bool {
        let stamps = self.blocks.iter().flat_map(|block| {
            block.stamp.iter().chain(block.rows.iter().filter_map(|row| row.stamp.as_ref())).map(|stamp| stamp.clock)
        });
        let (mut has_utc, mut has_local, mut has_times) = (false, false, false);
        for clock in stamps {
            match clock {
                ListingClock::Utc => has_utc = true,
                ListingClock::Local => has_local = true,
                _ => has_times = true,
            }
        }
        self.listing.clock = match (has_utc, has_local, has_times) {
            (_, true, _) => ListingClock::Local,
            (true, ..) => ListingClock::Utc,
            (.., true) => ListingClock::TimeOfDay,
            _ => ListingClock::Foreign,
        };
        has_utc || has_local || has_times
    }

    /// When each row was, on a clock that may still go back. The second is whether that has a date.
    fn instants(&self) -> Vec<Vec<(i64, bool)>> {
        let usual = |block: &Block| block.command.interval.or(self.assumed_interval).unwrap_or(SECOND);
        let mut midnight = None;
        let mut read = |stamp: &Stamp| {
            let has_date = stamp.clock != ListingClock::TimeOfDay;
            if has_date {
                midnight = Some(stamp.at.div_euclid(DAY).saturating_mul(DAY));
                return (stamp.at, true);
            }
            (midnight.unwrap_or(0).saturating_add(stamp.at), false)
        };
        // The date above a block, or none where its rows have their own.
        let mut own: Vec<Vec<(i64, bool)>> = Vec::with_capacity(self.blocks.len());
        let mut starts: Vec<Option<(i64, bool)>> = Vec::with_capacity(self.blocks.len());
        for block in &self.blocks {
            let above = block.stamp.as_ref().map(&mut read);
            let rows: Vec<(i64, bool)> = block.rows.iter().filter_map(|row| Some(read(row.stamp.as_ref()?))).collect();
            starts.push(rows.first().copied().or(above));
            own.push(rows);
        }
        let first_known = starts.iter().position(Option::is_some).unwrap_or(0);
        let before: i64 = self.blocks[..first_known].iter().map(|b| usual(b).saturating_mul(b.rows.len() as i64)).sum();
        let known = starts.get(first_known).copied().flatten();
        let mut next = known.map_or(0, |(start, _)| start.saturating_sub(before));
        let mut step = None;
        let mut all = Vec::with_capacity(self.blocks.len());
        for (index, block) in self.blocks.iter().enumerate() {
            if own[index].len() == block.rows.len() {
                let last = own[index].last().map_or(next, |(at, _)| *at);
                next = last.saturating_add(usual(block));
                all.push(std::mem::take(&mut own[index]));
                continue;
            }
            let (start, has_date) = starts[index].unwrap_or((next, true));
            // A collector calls vmstat every so often; what it saw of that time stands for all of it.
            if block.is_collected {
                let until = starts.get(index + 1).copied().flatten().map(|(until, _)| until.saturating_sub(start));
                let even = until.filter(|until| *until > 0).map(|until| until / block.rows.len() as i64);
                step = even.filter(|step| *step < DAY).or(step);
            }
            let step = step.filter(|_| block.is_collected).unwrap_or_else(|| usual(block));
            let at = |row: usize| start.saturating_add(step.saturating_mul(row as i64));
            all.push((0..block.rows.len()).map(|row| (at(row), has_date)).collect());
            next = at(block.rows.len());
        }
        all
    }

    /// Every size of memory whose unit nobody said, with its line.
    fn sizes_of_no_unit(&self) -> impl Iterator<Item = (usize, u64)> {
        let unknown = self.blocks.iter().filter(|block| self.unit_of(block).is_none());
        unknown.flat_map(|block| block.rows.iter().map(move |row| (block, row))).flat_map(|(block, row)| {
            let sizes = block.heading.iter().flat_map(Heading::columns).zip(&row.values);
            sizes.filter(|(column, _)| column.is_some_and(is_memory)).map(|(_, size)| (row.line, *size))
        })
    }

    fn unit_of(&self, block: &Block) -> Option<f64> {
        block.command.unit.or(self.assumed_unit)
    }

    /// Sizes whose unit nobody said are taken as KiB; where they cannot be, as what they can, and else left out. Gives how many KiB the unit has.
    fn check_unit(&mut self) -> Option<f64> {
        if self.blocks.iter().all(|block| self.unit_of(block).is_some()) {
            return Some(1.0);
        }
        let sizes: Vec<(usize, u64)> = self.sizes_of_no_unit().filter(|(_, size)| *size > 0).collect();
        let is_of_pages = |(_, size): &&(usize, u64)| size.is_multiple_of(SMALLEST_PAGE);
        let Some((line, size)) = sizes.iter().copied().find(|one| !is_of_pages(&one)) else {
            self.listing.note("vmstat: sizes of memory are taken as KiB; --about vmstat_unit=M says what -S was given");
            return Some(1.0);
        };
        let mut taken = |unit: f64, words: &str| {
            self.listing.note(format!(
                "vmstat: sizes of memory are taken as {words}: line {line} has {size}, which in KiB is not of whole pages; --about \
                 vmstat_unit=m says another unit"
            ));
            Some(unit)
        };
        // In units of 1000 bytes they would have more digits; those of 1,000,000 differ by a twentieth, and are seldom asked for.
        if sizes.iter().all(|(_, size)| *size < LEAST_IN_KIB) {
            return taken(1024.0, "MiB");
        }
        let exact: BTreeSet<u64> = sizes.iter().map(|(_, size)| *size).filter(|size| *size < EXACT).collect();
        if exact.len() >= ENOUGH_SIZES && exact.iter().all(|size| is_of_pages_in_thousands(*size)) {
            return taken(THOUSAND, "units of 1000 bytes, in which all of them are (-S k)");
        }
        let of_pages = sizes.iter().filter(is_of_pages).count();
        if of_pages as f64 >= MOST_SIZES * sizes.len() as f64 {
            return taken(1.0, &format!("KiB, as {of_pages} of {} say", sizes.len()));
        }
        self.listing.gap(
            Some("meminfo"),
            GapReason::Other("unit_unknown".to_owned()),
            format!(
                "sizes of memory were left out: line {line} has {size}, which in KiB is not of whole pages, so vmstat may have had -S; say \
                 which unit with --about vmstat_unit=M (or k, K, m)"
            ),
        );
        None
    }

    fn put_rows(&mut self, taken: Option<f64>) -> Result<Vec<i64>, Problem> {
        let instants = self.instants();
        let mut running = Running::default();
        let mut since_boot = Vec::new();
        // Where there is nothing but one row, what it says of the time since boot is all there is, and it counts.
        let rows: usize = self.blocks.iter().map(|block| block.rows.len()).sum();
        let busy = self.listing.column(SOURCE, "cpu_busy_percent", "", RawUnit::Percent);
        for (block, instants) in std::mem::take(&mut self.blocks).into_iter().zip(instants) {
            let unit_said = self.unit_of(&block);
            let Some(heading) = &block.heading else { continue };
            let listing = &mut self.listing;
            let columns: Vec<Option<(&Column, u32)>> = heading
                .columns()
                .map(|known| known.map(|known| (known, listing.column(known.source, known.name, "", unit(known)))))
                .collect();
            for (index, (row, (raw, has_date))) in block.rows.iter().zip(instants).enumerate() {
                let at = self.listing.instant(&mut running, raw, has_date, row.line);
                let is_since_boot = rows > 1 && block.is_since_boot(index);
                if is_since_boot {
                    since_boot.push(at);
                }
                self.put_row(at, row, &columns, is_since_boot, unit_said.or(taken), busy)?;
            }
        }
        Ok(since_boot)
    }

    fn put_row(
        &mut self,
        at: i64,
        row: &Row,
        columns: &[Option<(&Column, u32)>],
        is_since_boot: bool,
        unit: Option<f64>,
        busy_column: u32,
    ) -> Result<(), Problem> {
        let mut busy = Some(0u64);
        for (value, column) in row.values.iter().zip(columns) {
            let Some((known, column)) = column else { continue };
            if BUSY.contains(&known.name) {
                busy = busy.and_then(|sum| sum.checked_add(*value));
            }
            if known.is_rate() && is_since_boot {
                continue;
            }
            let value = if is_memory(known) { unit.and_then(|unit| in_kib(*value, unit)) } else { Some(*value) };
            if let Some(value) = value {
                self.listing.put(at, *column, value)?;
            }
        }
        match busy.filter(|_| !is_since_boot) {
            Some(busy) => self.listing.put(at, busy_column, busy),
            None => {
                self.listing.touch(at);
                Ok(())
            }
        }
    }

    fn tell_since_boot(&mut self, since_boot: &[i64], rows: usize) {
        let reason = || GapReason::Other("since_boot".to_owned());
        if rows == 1 {
            self.listing.note(
                "vmstat: its only row has averages since boot, and no second row follows: they stand for all that time",
            );
        } else if since_boot.len() == rows && rows > 0 {
            self.listing.note(
                "vmstat: each of its runs has one row, with averages since boot: levels are taken, rates are missing since no \
                 second row follows",
            );
        }
        if since_boot.len() > MOST_GAPS {
            let runs = since_boot.len();
            let detail =
                format!("the rates in the first row of each of {runs} runs are averages since boot and were left out");
            self.listing.gap(Some(SOURCE), reason(), detail);
            return;
        }
        for at in since_boot {
            self.listing.gap_between(
                Some(*at),
                Some(*at),
                Some(SOURCE),
                reason(),
                "the rates of the first row are averages since boot and were left out",
            );
        }
    }
}

/// Whether a row after an early header is an average since boot, as the first row was: then hardly anything differs.
fn is_alike(heading: &Heading, rows: &[Row], row: &Row) -> bool {
    let Some(first) = rows.first() else { return false };
    let pairs = heading.columns().zip(first.values.iter().zip(&row.values));
    let mut rates = pairs.filter(|(column, _)| column.is_some_and(Column::is_rate)).map(|(_, pair)| pair);
    rates.all(|(a, b)| a.abs_diff(*b) <= 1 + a.max(b) / 20)
}

/// A whole number without a sign, as vmstat prints them.
fn whole(word: &str) -> Option<u64> {
    let is_plain = !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
    word.parse::<u64>().ok().filter(|value| is_plain && i64::try_from(*value).is_ok())
}

/// Whether a size is what vmstat prints of some number of pages in units of 1000 bytes: it cuts, and does not round.
fn is_of_pages_in_thousands(size: u64) -> bool {
    let page = SMALLEST_PAGE * 1024;
    let pages = (size * 1000).div_ceil(page);
    pages * page / 1000 == size
}

/// A size in another unit, in KiB.
fn in_kib(value: u64, unit: f64) -> Option<u64> {
    if unit == 1.0 { Some(value) } else { super::words::scaled(&value.to_string(), unit) }
}

/// Numbers under a heading, with a clock in front of or behind them.
fn row_of(words: &[&str], heading: &Heading, line: usize) -> Option<Row> {
    /// Words of a clock.
    const MOST: usize = 10;
    let width = heading.width();
    let spare = words.len().checked_sub(width).filter(|spare| width > 0 && *spare <= 2 * MOST)?;
    (0..=spare.min(MOST)).find_map(|before| {
        let (lead, rest) = words.split_at(before);
        let (numbers, behind) = rest.split_at(width);
        let values: Vec<u64> = numbers.iter().map(|word| whole(word)).collect::<Option<_>>()?;
        let stamp = |words: &[&str]| if words.is_empty() { Some(None) } else { Stamp::of(words).map(Some) };
        let (lead, mut behind) = (stamp(lead)?, stamp(behind)?);
        if let Some(stamp) = behind.as_mut().filter(|stamp| heading.is_utc && stamp.clock == ListingClock::Local) {
            stamp.clock = ListingClock::Utc;
        }
        let has_date = |stamp: &Stamp| stamp.clock != ListingClock::TimeOfDay;
        Some(Row { line, stamp: lead.filter(has_date).or(behind.filter(has_date)).or(lead).or(behind), values })
    })
}

/// Numbers under a heading whose last columns were cut off: what is more of them are shares of the CPU (`st`, `gu`), and add up with the others.
fn row_beyond(words: &[&str], heading: &Heading, line: usize) -> Option<Row> {
    let ends_early = heading.words.last().is_some_and(|last| matches!(last.as_str(), "id" | "wa" | "st"));
    let beyond = words.len().checked_sub(heading.width()).filter(|beyond| ends_early && matches!(beyond, 1 | 2))?;
    let mut values: Vec<u64> = words.iter().map(|word| whole(word)).collect::<Option<_>>()?;
    let others = values.split_off(values.len() - beyond);
    let sum = others.into_iter().fold(heading.shares(&values), u64::saturating_add);
    WHOLE.contains(&sum).then_some(Row { line, stamp: None, values })
}

/// A row without any header above it: 16, 17 or 18 numbers whose shares of the CPU add up.
fn bare(words: &[&str], line: usize) -> Option<(Heading, Row)> {
    usual().find_map(|heading| {
        let row = row_of(words, &heading, line)?;
        heading.is_whole(&row.values).then_some((heading, row))
    })
}

fn usual() -> impl Iterator<Item = Heading> {
    let words = |text: &str| text.split(' ').map(str::to_owned).collect();
    USUAL.into_iter().map(move |text| Heading { words: words(text), is_utc: false })
}

fn is_column(word: &str) -> bool {
    word == SWAPPED_OUT || tools::of_vmstat(word).is_some()
}

/// Where the columns begin in a header of Linux: `r b swpd free`, or `r b w swpd free`.
fn header_at(words: &[&str]) -> Option<usize> {
    let at = words.windows(2).position(|pair| pair == ["r", "b"])?;
    let behind = &words[at + 2..];
    let behind = behind.strip_prefix(&[SWAPPED_OUT][..]).unwrap_or(behind);
    // Somebody may have left columns out.
    matches!(behind, ["swpd", "free", ..] | ["free", "buff" | "cache", ..]).then_some(at)
}

/// A header of vmstat on AIX, BSD, Solaris or HP-UX.
fn is_of_another_system(words: &[&str]) -> bool {
    let has = |word: &str| words.contains(&word);
    has("r") && has("b") && (has("avm") || has("fre") || (has("re") && has("mf"))) && has("us") && has("sy")
}

/// The line of titles, or a part of one.
fn is_titles(words: &[&str]) -> bool {
    let plain = |word: &&str| word.trim_matches('-').to_owned();
    let mut words = words.iter().map(plain).filter(|word| !word.is_empty()).peekable();
    words.peek().is_some() && words.all(|word| word.split('-').all(|part| part.is_empty() || GROUPS.contains(&part)))
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

/// `1341306582.6713   1.8109   1.8109 --  0  0  0 16050784 …`, as monitors of mmtests write it: when, how long since the start and since the row
/// before, and the row. Without the two in the middle.
fn without_elapsed(words: Vec<&str>) -> Vec<&str> {
    let is_time = |word: &str| {
        word.split_once('.').is_some_and(|(whole, part)| {
            !whole.is_empty() && [whole, part].iter().all(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))
        })
    };
    match words.as_slice() {
        [at, since, between, "--", row @ ..] if [at, since, between].iter().all(|word| is_time(word)) => {
            [at].into_iter().chain(row).copied().collect()
        }
        _ => words,
    }
}

/// Whether a line is one of vmstat and of nothing else.
pub(super) fn recognises(line: &str) -> bool {
    let words = without_elapsed(line.split_whitespace().collect());
    // Where the headings below it were cut off, the titles alone say what the numbers are.
    let is_title = words.first().is_some_and(|word| word.trim_matches('-') == "procs") && words.len() > 2;
    header_at(&words).is_some()
        || is_of_another_system(&words)
        || bare(&words, 0).is_some()
        || (is_title && is_titles(&words))
}

impl Parser for Vmstat {
    fn line(&mut self, number: usize, line: &str) -> Result<(), Problem> {
        let words = without_elapsed(line.split_whitespace().collect());
        let is_below_header = std::mem::take(&mut self.is_below_header);
        if words.is_empty() {
            self.is_apart = true;
            return Ok(());
        }
        let titles = words.iter().position(|word| word.trim_matches('-').starts_with("procs")).unwrap_or(0);
        if is_titles(&words[titles..]) && (titles == 0 || Stamp::of(&words[..titles]).is_some()) {
            return Ok(());
        }
        if let Some(at) = header_at(&words) {
            self.header(&words[at..]);
            self.is_below_header = true;
            return Ok(());
        }
        self.is_below_header = is_below_header;
        if self.header_goes_on(&words) {
            return Ok(());
        }
        self.is_below_header = false;
        if self.part.is_none() && self.row(number, &words)? {
            return Ok(());
        }
        if self.part_of_row(number, &words, line)? {
            return Ok(());
        }
        if let Some(stamp) = Stamp::of_line(line) {
            self.stamp = Some(stamp);
            self.is_new = true;
        } else if let Some(command) = Command::of(line) {
            self.command = Some(command);
            self.is_new = true;
        } else {
            self.is_foreign |= is_of_another_system(&words);
            self.other_text(number, line);
        }
        Ok(())
    }

    /// Its shares add up, or it is as long as the row before: no digit is cut.
    fn is_whole(&self, line: &str, before: &str) -> bool {
        let words: Vec<&str> = line.split_whitespace().collect();
        let row = self.heading().and_then(|heading| Some((heading, row_of(&words, heading, 0)?)));
        row.is_some_and(|(heading, row)| {
            let ends_with_number = words.last().is_some_and(|word| whole(word).is_some());
            heading.is_whole(&row.values) && (ends_with_number || super::words::is_as_long(line, before))
        })
    }

    fn finish(mut self: Box<Self>) -> Result<Listing, Problem> {
        if let Some((number, part)) = self.part.take() {
            self.listing.reject(number, &part);
        }
        self.refuse();
        let rows: usize = self.blocks.iter().map(|block| block.rows.len()).sum();
        if rows == 0 && self.is_foreign {
            return Err(Problem::of_file(
                "its columns are those of vmstat on another system than Linux (AIX, BSD or Solaris)",
                "Pagewise knows the memory management of Linux alone; give a listing of a Linux host",
            ));
        }
        if rows == 0 {
            return Err(self.listing.nothing("row of vmstat", REMEDY));
        }
        let has_times = self.find_clock();
        let (runs, usual) = (self.blocks.len(), self.assumed_interval.unwrap_or(SECOND));
        let is_collected = self.blocks.iter().any(|block| block.is_collected);
        let interval = self.blocks.first().and_then(|block| block.command.interval).unwrap_or(usual);
        let unit_said = self.blocks.first().and_then(|block| self.unit_of(block));
        let taken = self.check_unit();
        let since_boot = self.put_rows(taken)?;
        self.tell_since_boot(&since_boot, rows);
        if !has_times {
            let seconds = interval as f64 / SECOND as f64;
            let between =
                if runs > 1 { format!("; {} are laid one after another", count(runs, "run")) } else { String::new() };
            self.listing.note(format!(
                "vmstat: its rows have no time and are drawn {seconds} s apart{between}; --about interval=5s says another interval"
            ));
        }
        if is_collected {
            self.listing.note(
                "vmstat: the rows of a run are spread over the time to the next one: what was seen stands for it",
            );
        }
        if let Some(detail) = super::words::left_out(Kind::Vmstat, &BTreeSet::new(), &self.columns_left) {
            self.listing.gap(Some(SOURCE), GapReason::Other("not_imported".to_owned()), detail);
        }
        let bytes = unit_said.or(taken).unwrap_or(1.0) * 1024.0;
        self.listing.resolution(&format!("vmstat: memory in units of {bytes} bytes, shares in whole percent"));
        Ok(self.listing.close())
    }
}

#[cfg(test)]
mod tests;

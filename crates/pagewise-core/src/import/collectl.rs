//! `collectl` as text: brief (`-scm`), verbose and plot (`-P`) format, with any of its clocks.
//!
//! Brief numbers are cut to three or four characters: `24G` is 24 GiB or up to one more, interrupts are cut to thousands
//! when they are large (`cvt` in collectl's formatit.ph, 4.3). In brief format `cpu` is user + nice + sys, and `sys` is
//! system + interrupts + soft interrupts + steal; `Map` is mapped and anonymous memory together. Both are derived the same
//! way from the other formats. Of single disks (`-sD`), zones (`-sB`) and processes (`-sZ`) there are tables whose rows have a name: those of
//! disks and free blocks of zones are taken, and of processes the kernel's threads. `-sb` has free blocks of all zones together: in brief format a
//! letter for each size, which says how many there are at least.

use super::disks::{Disk, Disks};
use super::listing::{Listing, ListingClock};
use super::merge::Assumed;
use super::threads::{Threads, kernel_thread};
use super::times::{Running, SECOND, day, seconds, time_of_day};
use super::words::{decimal, quoted, scaled, suffixed};
use super::{Kind, Parser, Problem, SOURCE};
use crate::counter::tools::{self, Column, Counts, Table as Format};
use crate::kernel_text::visit::INDEX;
use crate::recording::{GapReason, RawUnit};
use std::collections::{BTreeMap, BTreeSet};

const REMEDY: &str =
    "give the output of `collectl -scm -oT` (or -oD, or -P); a .raw.gz file is made readable with `collectl -p`";

/// How a column is understood: what it is, and how its word becomes a number.
#[derive(Clone, Copy, Debug)]
struct KnownColumn {
    column: &'static Column,
    unit: RawUnit,
    /// What a suffix K stands for; numbers without one are in the unit.
    thousand: f64,
    /// Numbers without a suffix are bytes rather than KiB.
    is_bytes: bool,
}

impl KnownColumn {
    /// collectl prints whole numbers, cut to a larger unit with a suffix: of 1024 for sizes, of 1000 for all else. In the plot
    /// format nothing is cut.
    fn of((column, table): (&'static Column, Format)) -> KnownColumn {
        let unit = match column.counts {
            Counts::Size | Counts::SizePerSecond => RawUnit::KiB,
            Counts::Pages | Counts::PagesPerSecond => RawUnit::Pages,
            Counts::EventsPerSecond | Counts::Things => RawUnit::Count,
            Counts::Share => RawUnit::Percent,
            Counts::Milliseconds => RawUnit::Microseconds,
        };
        let is_bytes = column.counts == Counts::Size && table != Format::Plot;
        KnownColumn { column, unit, thousand: if is_bytes { 1024.0 } else { 1000.0 }, is_bytes }
    }
}

/// A column whose numbers are used, and where.
#[derive(Clone, Copy, Debug)]
struct UsedColumn {
    word: usize,
    known: KnownColumn,
    column: u32,
}

/// What stands under the current header.
#[derive(Clone, Debug, Default)]
struct Table {
    used: Vec<UsedColumn>,
    width: usize,
    /// Words of the clock in front.
    clock: Vec<Clock>,
    /// The word with a letter for the free blocks of each size.
    fragments: Option<usize>,
}

/// A table whose rows are things with a name.
#[derive(Clone, Debug)]
enum Named {
    /// Where in a row the name, what was read and written, the wait and the share stand.
    Disks { name: usize, read: usize, written: usize, wait: Option<usize>, busy: Option<usize> },
    /// Where size, share and command stand.
    Processes { size: usize, share: usize, command: usize },
    /// Where node and zone stand, and the free blocks of a page; those of the larger sizes follow. `None`: they are of all zones.
    Blocks { zone: Option<(usize, usize)>, first: usize },
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
    /// Rows without a clock or a record, by their table and what they are of.
    untimed: BTreeMap<String, i64>,
    tables_left: BTreeSet<String>,
    columns_left: BTreeSet<String>,
    last: Option<i64>,
    /// The clock in front of the last row of a table of disks or processes, and the instant it stands for.
    clocked: Option<(i64, i64)>,
    /// Instants that were drawn for tables of disks without any clock.
    drawn: i64,
    named: Option<Named>,
    disks: Disks,
    /// Disks of an instant.
    listed: Option<(i64, Vec<Disk>)>,
    threads: Threads,
    has_processes: bool,
    /// Where a mail program may have broken the header: its words, and then those with the line below, which may be prose as well.
    header: Option<Vec<String>>,
    longer: Option<Vec<String>>,
    /// The beginning of a row that goes on below.
    part: Option<(usize, String)>,
}

/// Whether a line is a header of collectl, with its `#`.
pub(super) fn recognises(line: &str) -> bool {
    let text = line.trim_start();
    if text.starts_with("### RECORD") {
        return true;
    }
    let Some(rest) = text.strip_prefix('#') else { return false };
    let is_band =
        rest.starts_with("<--") && ["CPU", "Memory", "Disks", "Network"].iter().any(|word| rest.contains(word));
    let words: Vec<&str> = rest.split_whitespace().collect();
    if named(&words[clock_words(&words)..]).is_some() {
        return true;
    }
    let known = words.iter().filter(|word| is_column(word)).count();
    is_band || known >= 3 || words.iter().any(|word| word.starts_with("[CPU]") || word.starts_with("[MEM]"))
}

fn is_column(word: &str) -> bool {
    const ALL: [Format; 5] =
        [Format::Brief, Format::VerboseCpu, Format::VerboseMemory, Format::VerboseDisk, Format::Plot];
    tools::of_collectl(&ALL, word, 1).is_some()
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
            untimed: BTreeMap::new(),
            tables_left: BTreeSet::new(),
            columns_left: BTreeSet::new(),
            last: None,
            clocked: None,
            drawn: 0,
            named: None,
            disks: Disks::default(),
            listed: None,
            threads: Threads::default(),
            has_processes: false,
            header: None,
            longer: None,
            part: None,
        }
    }

    fn is_header(words: &[&str]) -> bool {
        const SOME: [&str; 11] =
            ["cpu", "Free", "User", "Total", "Date", "Time", "KBRead", "KBIn", "UTC", "KBytes", "Command"];
        words.len() > 1
            && (words.iter().any(|word| SOME.contains(word) || word.starts_with('[')) || named(words).is_some())
            || words == ["Fragments"]
    }

    /// Columns of a header line, `#` taken off.
    fn header(&mut self, words: &[&str]) {
        self.table = None;
        self.longer = None;
        self.header = Some(words.iter().map(|word| (*word).to_owned()).collect());
        self.named = named(&words[clock_words(words)..]);
        match self.named {
            None => {}
            Some(Named::Disks { .. }) => return,
            Some(Named::Processes { .. }) => {
                self.has_processes = true;
                return;
            }
            Some(Named::Blocks { .. }) => return,
        }
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
            "DISK SUMMARY" => &[Format::VerboseDisk],
            _ if self.is_verbose => &[],
            _ => &[Format::Brief],
        };
        if tables.is_empty() && !self.section.is_empty() && self.tables_left.len() < 200 {
            self.tables_left.insert(quoted(&self.section));
        }
        let mut names: Vec<&str> = Vec::new();
        for (index, word) in words.iter().enumerate().skip(table.clock.len()) {
            names.push(word);
            let nth = names.iter().filter(|name| *name == word).count();
            match tools::of_collectl(tables, word, nth).map(KnownColumn::of) {
                Some(known) => {
                    let column = self.listing.column(known.column.source, known.column.name, "", known.unit);
                    table.used.push(UsedColumn { word: index, known, column });
                }
                None if *word == "Fragments" => table.fragments = Some(index),
                None if !tables.is_empty() && self.columns_left.len() < 200 => {
                    let place = if self.section.is_empty() { String::new() } else { format!("{}: ", self.section) };
                    self.columns_left.insert(format!("{place}{}", quoted(word)));
                }
                None => {}
            }
        }
        // The clock of a verbose memory table stands in its rows, not in its header.
        self.table = Some(table);
    }

    /// Whether a row of so many words stands under the header: the clock of a table without one in its header stands in its rows only.
    fn fits(&self, count: usize) -> bool {
        let most = |table: &Table| if table.clock.is_empty() { table.width + 2 } else { table.width };
        self.table.as_ref().is_some_and(|table| (table.width..=most(table)).contains(&count))
    }

    /// A line below a header that a mail program may have broken: words and no numbers.
    fn header_goes_on(&mut self, words: &[&str]) {
        let is_plain = |word: &&str| word.bytes().all(|byte| byte.is_ascii_alphabetic() || b"%/[]".contains(&byte));
        let Some(header) = self.header.take().filter(|_| words.iter().all(is_plain)) else { return };
        self.longer = Some(header.into_iter().chain(words.iter().map(|word| (*word).to_owned())).collect());
    }

    /// A row, or a part of one that was broken.
    fn row_or_part(&mut self, words: &[&str], number: usize, line: &str) -> Result<(), Problem> {
        if let Some((first, part)) = self.part.take() {
            let joined = format!("{part} {}", line.trim());
            let all: Vec<&str> = joined.split_whitespace().collect();
            if self.fits(all.len()) || self.is_of_longer(all.len()) {
                return self.row_or_part(&all, first, &joined);
            }
            self.listing.reject(first, &part);
        }
        // With a clock in front it may be as long as a row of the header alone.
        let has_clock = words.first().is_some_and(|word| time_of_day(word, None).is_some() || day(word).is_some());
        if self.is_of_longer(words.len()) && !has_clock {
            let header = self.longer.take().unwrap_or_default();
            self.header(&header.iter().map(String::as_str).collect::<Vec<_>>());
        }
        let width = self.longer.as_ref().map(Vec::len).or(self.table.as_ref().map(|table| table.width)).unwrap_or(0);
        let is_begun = self.named.is_none() && words.len() < width && words.len() * 2 > width;
        if is_begun
            && !self.fits(words.len())
            && words.iter().all(|word| word.starts_with(|c: char| c.is_ascii_digit()))
        {
            self.part = Some((number, line.trim().to_owned()));
            return Ok(());
        }
        self.row(words, number, line)
    }

    fn is_of_longer(&self, count: usize) -> bool {
        self.longer.as_ref().is_some_and(|header| header.len() == count)
    }

    /// What stands above the plot format: `# Kernel:  4.9.0-14-amd64  Memory: 15404688 kB`, `# SubSys:  cdmn Options:  Interval: 1 NumCPUs: 4`.
    fn banner(&mut self, text: &str) {
        let behind = |key: &str| text.split_once(key).and_then(|(_, rest)| rest.split_whitespace().next());
        if let Some(kernel) = behind("Kernel: ").filter(|kernel| kernel.starts_with(|c: char| c.is_ascii_digit())) {
            self.listing.about("kernel", kernel);
        }
        if let Some(cpus) = behind("NumCPUs: ").filter(|cpus| cpus.bytes().all(|byte| byte.is_ascii_digit())) {
            self.listing.about("cpus", cpus);
            self.interval = self.interval.or(behind("Interval: ").and_then(seconds).filter(|interval| *interval > 0));
        }
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
        self.named = None;
        let epoch = line.split('(').nth(1).and_then(|rest| rest.split(')').next()).and_then(seconds);
        match epoch {
            Some(epoch) => {
                self.listing.clock = ListingClock::Utc;
                self.record = Some(self.listing.instant(&mut self.running, epoch, true, number));
            }
            None => self.listing.reject(number, line),
        }
    }

    /// The instant of a row without a clock or a record: so many of its table, and of what it is of, were before it.
    fn untimed(&mut self, of: &str) -> i64 {
        const MOST: usize = 1000;
        let key = format!("{} {of}", self.section);
        let rows = match self.untimed.len() < MOST || self.untimed.contains_key(&key) {
            true => self.untimed.entry(key).or_default(),
            false => return 0,
        };
        *rows += 1;
        (*rows - 1).saturating_mul(self.interval.unwrap_or(SECOND))
    }

    /// A row of a table of disks or processes, at the instant of its record, or of the clock in front of it.
    fn named_row(&mut self, named: &Named, words: &[&str], number: usize, line: &str) -> Result<(), Problem> {
        // The clock of `-oT` may stand in front of rows, and not in their header.
        let skip =
            words.iter().take(2).take_while(|word| time_of_day(word, None).is_some() || day(word).is_some()).count();
        let clock: &[Clock] = if skip == 2 { &[Clock::Date, Clock::Time] } else { &[Clock::Time] };
        let in_front = self.clock(&words[..skip], clock);
        let at = match (self.record, in_front, named) {
            (Some(record), ..) => record,
            (None, Some((raw, kind)), _) => {
                self.listing.clock = kind;
                let known = self.clocked.filter(|(before, _)| *before == raw).map(|(_, at)| at);
                let has_date = kind != ListingClock::TimeOfDay;
                let at = known.unwrap_or_else(|| self.listing.instant(&mut self.running, raw, has_date, number));
                self.clocked = Some((raw, at));
                at
            }
            // A disk that comes again is of the next instant.
            (None, None, Named::Disks { name, .. }) => {
                let own = words.get(*name).copied().unwrap_or_default();
                let comes_again = |(_, disks): &(i64, Vec<Disk>)| disks.iter().any(|disk| disk.name == own);
                let is_next = self.listed.as_ref().is_some_and(comes_again);
                self.drawn += i64::from(is_next);
                self.drawn.saturating_mul(self.interval.unwrap_or(SECOND))
            }
            (None, None, Named::Blocks { zone, .. }) => {
                let zone = zone.map(|(node, zone)| [node, zone].map(|place| words.get(place).copied().unwrap_or("")));
                self.untimed(&zone.map(|zone| zone.join(" ")).unwrap_or_default())
            }
            (None, None, Named::Processes { .. }) => {
                // Which rows belong together is not known.
                if self.tables_left.len() < 200 {
                    self.tables_left.insert("rows of single processes without a record or a clock".to_owned());
                }
                return Ok(());
            }
        };
        let word = |place: usize| words.get(place + skip).copied();
        let kib = |place: usize| suffixed(word(place)?, 1000.0, 1.0).map(|kib| kib as f64);
        match *named {
            Named::Disks { name, read, written, wait, busy } => {
                let (Some(name), Some(read), Some(written)) = (word(name), kib(read), kib(written)) else {
                    self.listing.reject(number, line);
                    return Ok(());
                };
                let of = |place: Option<usize>| word(place?).and_then(decimal);
                let (wait, busy) = (of(wait), of(busy));
                let disk = Disk { name: name.to_owned(), read: Some(read), written: Some(written), busy, wait };
                if self.listed.as_ref().is_some_and(|(before, _)| *before != at) {
                    self.flush()?;
                }
                let (_, disks) = self.listed.get_or_insert_with(|| (at, Vec::new()));
                if disks.len() < 1 << 12 {
                    disks.push(disk);
                }
                self.rows += 1;
            }
            Named::Processes { size, share, command } => {
                let (Some(share), Some(_)) = (word(share).and_then(decimal), word(command)) else {
                    self.listing.reject(number, line);
                    return Ok(());
                };
                let is_program = word(size).is_none_or(|size| size != "0");
                let command = words[command + skip..].join(" ");
                if kernel_thread(&command).is_some() && !is_program {
                    self.rows += 1;
                }
                self.threads.row(at, &command, share, is_program);
            }
            Named::Blocks { zone, first } => {
                let counts = words.get(first + skip..).unwrap_or_default();
                let blocks: Option<Vec<u64>> = counts.iter().map(|count| scaled(count, 1.0)).collect();
                let is_name = |name: &&str| name.bytes().all(|byte| byte.is_ascii_alphanumeric());
                let of = match zone {
                    Some((node, zone)) => word(node)
                        .zip(word(zone))
                        .filter(|(node, zone)| is_name(node) && is_name(zone))
                        .map(|(node, zone)| format!("node={node},zone={zone}")),
                    None => Some(ALL_ZONES.to_owned()),
                };
                let (Some(blocks), Some(labels)) = (blocks.filter(|blocks| !blocks.is_empty()), of) else {
                    self.listing.reject(number, line);
                    return Ok(());
                };
                self.listing.put_free_blocks(at, &labels, &blocks)?;
                self.rows += 1;
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), Problem> {
        match self.listed.take() {
            Some((at, disks)) => self.disks.put(&mut self.listing, at, &disks),
            None => Ok(()),
        }
    }

    fn row(&mut self, words: &[&str], number: usize, line: &str) -> Result<(), Problem> {
        if let Some(named) = self.named.clone() {
            return self.named_row(&named, words, number, line);
        }
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
        let values: Option<Vec<(u32, KnownColumn, u64)>> = if words.len() == expected {
            let value =
                |used: &UsedColumn| Some((used.column, used.known, number_of(words[used.word + shift], used.known)?));
            table.used.iter().map(value).collect()
        } else {
            None
        };
        let raw = self.clock(words, &clock);
        let is_timed = clock.is_empty() || raw.is_some();
        let blocks = table.fragments.and_then(|place| fragments(words.get(place + shift)?));
        let Some(values) = values.filter(|values| (!values.is_empty() || blocks.is_some()) && is_timed) else {
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
            (None, None) => self.untimed(""),
        };
        self.rows += 1;
        self.last = Some(at);
        if let Some(blocks) = blocks {
            self.listing.put_free_blocks(at, ALL_ZONES, &blocks)?;
        }
        self.derive(at, &values)?;
        for (column, known, value) in values {
            if known.column.name != "cpu_kernel_percent" {
                self.listing.put(at, column, value)?;
            }
        }
        Ok(())
    }

    /// Busy and system as the brief format has them.
    fn derive(&mut self, at: i64, values: &[(u32, KnownColumn, u64)]) -> Result<(), Problem> {
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

/// Labels of what is of all zones together.
const ALL_ZONES: &str = "node=all,zone=all";

/// Free blocks of each size from a letter each (`base36`, formatit.ph, 4.3): up to 9 of them exactly, then so many at least.
fn fragments(word: &str) -> Option<Vec<u64>> {
    let count = |letter: u8| -> Option<u64> {
        match letter {
            b'0'..=b'9' => Some(u64::from(letter - b'0')),
            b'a'..=b'i' => Some(u64::from(letter - b'a' + 1) * 10),
            b'j'..=b'r' => Some(u64::from(letter - b'j' + 1) * 100),
            b's'..=b'z' => Some(10u64.pow(3 + u32::from(letter - b's'))),
            _ => None,
        }
    };
    if word.len() > INDEX.len() { None } else { word.bytes().map(count).collect() }
}

/// The heading of a table in verbose format: `CPU SUMMARY (INTR, CTXSW & PROC /sec)`.
fn heading(text: &str) -> Option<&str> {
    let name = text.split(" (").next().unwrap_or_default().trim();
    let is_word = |word: &str| word.len() > 2 && word.bytes().all(|byte| byte.is_ascii_uppercase());
    (name.contains(' ') && name.split(' ').all(is_word)).then_some(name)
}

/// Words of a header that name a clock.
fn clock_words(words: &[&str]) -> usize {
    words.iter().take_while(|word| matches!(**word, "Date" | "Time")).count()
}

/// Of `-sD` (`#Name  KBytes Merged  IOs Size … Wait SvcTim Util`), `-sZ` (`#PID  User … Pct … Command`), and `-sB` and `-sb` (`#Node  Zone  1Pg
/// 2Pgs …`, before 4.0 `1  2  4 …`).
fn named(words: &[&str]) -> Option<Named> {
    const FEWEST_SIZES: usize = 4;
    let is_size = |order: usize, word: &&str| {
        let number = word.trim_end_matches('s').trim_end_matches("Pg");
        order < 32 && number.parse() == Ok(1u64 << order)
    };
    let first = words.iter().position(|word| is_size(0, word));
    if let Some(first) = first
        && words.len() >= first + FEWEST_SIZES
        && words[first..].iter().enumerate().all(|(order, word)| is_size(order, word))
    {
        let place = |name: &str| words[..first].iter().position(|word| *word == name);
        return Some(Named::Blocks { zone: place("Node").zip(place("Zone")), first });
    }
    let all = |name: &str| -> Vec<usize> {
        words.iter().enumerate().filter(|(_, word)| **word == name).map(|(place, _)| place).collect()
    };
    let one = |name: &str| all(name).first().copied();
    if let (Some(size), Some(share), Some(command)) = (one("VSZ"), one("Pct"), one("Command")) {
        return Some(Named::Processes { size, share, command });
    }
    let name = one("Name")?;
    let &[read, written] = all("KBytes").as_slice() else { return None };
    // From 4.2 on reads and writes have waits of their own; what is for both is the third.
    let wait = match all("Wait").as_slice() {
        [only] | [_, _, only] => Some(*only),
        _ => None,
    };
    Some(Named::Disks { name, read, written, wait, busy: one("Util") })
}

/// Numbers with a suffix are bytes; plain ones are bytes, too, in tables that have suffixes, and KiB in the others.
fn number_of(word: &str, known: KnownColumn) -> Option<u64> {
    if known.is_bytes {
        suffixed(word, known.thousand, 1.0 / 1024.0)
    } else if known.unit == RawUnit::Percent {
        scaled(word, 1.0)
    } else {
        suffixed(word, known.thousand, 1.0)
    }
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
            self.banner(rest);
            let is_header = Self::is_header(&words);
            // In verbose format what is no header is the heading of a table.
            let any = || (self.is_verbose && !is_header).then(|| rest.split(" (").next().unwrap_or_default());
            if let Some(heading) = heading(rest).or_else(any) {
                self.is_verbose = true;
                heading.clone_into(&mut self.section);
                self.table = None;
                self.named = None;
            } else if is_header {
                self.header(&words);
            }
            return Ok(());
        }
        let words: Vec<&str> = text.split_whitespace().collect();
        // A header that lost its `#` where it was pasted.
        if words.iter().all(|word| decimal(word).is_none()) && recognises(&format!("#{text}")) {
            self.header(&words);
            return Ok(());
        }
        self.header_goes_on(&words);
        self.row_or_part(&words, number, line)
    }

    fn finish(mut self: Box<Self>) -> Result<Listing, Problem> {
        self.flush()?;
        if let Some((number, part)) = self.part.take() {
            self.listing.reject(number, &part);
        }
        if self.rows == 0 && self.has_processes {
            let what = "it has processes only, and nothing of the host";
            return Err(Problem::of_file(what, REMEDY));
        }
        std::mem::take(&mut self.threads).put(&mut self.listing)?;
        if self.has_processes {
            self.listing.note("collectl: of processes only the kernel's threads are taken".to_owned());
        }
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

//! What sysstat prints (versions 4 to 12): `sar` as text, `mpstat`, `iostat` and `pidstat`, in any locale and either clock, and
//! `sadf -d`, which has the tables of sar with semicolons between their columns.
//!
//! A header is a line whose first word behind its time is no number; under it stand rows until the next one. Columns go by
//! their names, so sections, tools and versions need not be known. Of single CPUs and interrupts the whole counts; single
//! CPUs are averaged where all of them are there and no row of the whole is. Averages are left out unless there is nothing else.
//! iostat has no clock in its rows: a report is an instant, by the line of a time above it (`-t`) or by the interval. Of
//! processes only the kernel's threads are taken. Rows and headings that a mailer broke in two are put together again.

use super::disks::{Disk, Disks};
use super::listing::{Listing, ListingClock};
use super::merge::Assumed;
use super::shares::{self, Values};
use super::threads::{Threads, kernel_thread};
use super::times::{DAY, Half, SECOND, dated_clock, day, seconds};
use super::words::{decimal, quoted, suffixed};
use super::{Kind, Parser, Problem, SOURCE};
use crate::counter::tools::{self, Column, Counts};
use crate::recording::{GapReason, RawUnit};
use std::collections::{BTreeMap, BTreeSet};

const REMEDY: &str = "give the output of `LC_ALL=C sar -B -r -W -q MEM -u -w [-f FILE]`; a binary saDD file is made readable with \
                      `sar -f`";

/// Tables whose rows are items, and the item that stands for the whole.
const WHOLE: [(&str, &str); 3] = [("CPU", "all"), ("INTR", "sum"), ("NODE", "all")];

/// Tables whose rows are disks.
const DISKS: [&str; 3] = ["DEV", "Device", "Device:"];

/// The tools of sysstat that are read here, as a command above a listing has them.
const TOOLS: [&str; 4] = ["sar", "iostat", "mpstat", "pidstat"];

/// Shares that may be more than all.
const BEYOND_ALL: [&str; 2] = ["commit_percent", "reclaim_efficiency_percent"];

/// Headings of tables about processes (pidstat), whose shares are not those of the host.
const PROCESSES: [&str; 4] = ["PID", "UID", "TGID", "COMM"];

/// More averages are not kept.
const MOST_AVERAGES: usize = 10_000;

/// Clocks go on within a section, while each section of a file begins anew.
#[derive(Clone, Debug, Default)]
struct Section {
    days: i64,
    last: Option<i64>,
    /// Rows without a time.
    rows: i64,
}

/// Rows of single CPUs at an instant.
#[derive(Debug)]
struct PerCpuRows {
    at: i64,
    has_whole: bool,
    rows: BTreeMap<u32, Values>,
}

/// Reports of iostat.
#[derive(Debug, Default)]
struct Reports {
    count: i64,
    at: i64,
    /// From the line of a time above it, for the next one.
    next: Option<i64>,
    has_disks: bool,
    has_times: bool,
    /// `-y` leaves the first one out.
    is_without_first: bool,
    /// The first one, if it is over the time since boot.
    since_boot: Option<i64>,
}

/// Where command, share of a CPU, page faults and user stand in a table of processes.
#[derive(Clone, Copy, Debug)]
struct Processes {
    command: usize,
    share: Option<usize>,
    /// All of them but those that had to read, and these.
    faults: Option<(usize, usize)>,
    user: Option<usize>,
}

/// Page faults a second of the processes that are listed at an instant: all, and those that had to read.
#[derive(Clone, Copy, Debug)]
struct Faults {
    at: i64,
    all: f64,
    major: f64,
}

/// A row that is shorter than its header: the rest may stand in the next line.
#[derive(Debug)]
struct BrokenRow {
    time: Option<i64>,
    words: Vec<String>,
    number: usize,
    line: String,
    is_average: bool,
}

/// A row of averages, and the header it stood under.
#[derive(Debug)]
struct Average {
    at: i64,
    header: Vec<String>,
    words: Vec<String>,
}

#[derive(Debug)]
pub(super) struct Sar {
    listing: Listing,
    midnight: Option<i64>,
    interval: Option<i64>,
    cpus: Option<u32>,
    header: Vec<String>,
    /// The time in front of it. `None`: it had none.
    headed: Option<i64>,
    /// The line it stood in.
    headed_in: usize,
    /// Whether the table under that header is not imported.
    is_left: bool,
    processes: Option<Processes>,
    has_processes: bool,
    threads: Threads,
    faults: Option<Faults>,
    has_faults: bool,
    broken: Option<BrokenRow>,
    /// Headers that had rows.
    filled: BTreeSet<Vec<String>>,
    last: i64,
    sections: BTreeMap<Vec<String>, Section>,
    single: Option<PerCpuRows>,
    /// Single CPUs that could not stand for all.
    lone: BTreeSet<u32>,
    disks: Disks,
    /// Disks of an instant.
    listed: Option<(i64, Vec<Disk>)>,
    reports: Reports,
    /// A banner was seen, and no report behind it.
    is_begun: bool,
    averages: Vec<Average>,
    has_averages: bool,
    rows: usize,
    has_times: bool,
    /// Whether the table is one of `sadf -d`.
    is_of_sadf: bool,
    /// Tables by their first column, and columns of the others, that are not imported.
    tables_left: BTreeSet<String>,
    columns_left: BTreeSet<String>,
}

/// Whether a line is a banner or a header of sysstat.
pub(super) fn recognises(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    if is_banner(&words) || words.first() == Some(&"avg-cpu:") || header_of_sadf(line).is_some() {
        return true;
    }
    // Of atopsar.
    if words.last().is_some_and(|word| word.starts_with('_') && word.ends_with('_')) {
        return false;
    }
    let rest = dated_clock(&words).map_or(&words[..], |(_, used)| &words[used..]);
    let known = rest.iter().filter(|word| is_known(word)).count();
    let is_timed = rest.len() < words.len();
    // Of pidstat the kernel's own threads are read, and page faults.
    let is_of_pidstat = |word: &&str| matches!(*word, "%usr" | "%user" | "%system" | "minflt/s");
    let is_pidstat = is_of_processes(rest) && rest.iter().any(is_of_pidstat);
    rest.iter().all(|word| decimal(word).is_none())
        && (!is_of_processes(rest) || is_pidstat)
        && (is_pidstat || known >= 3 || (is_timed && known >= 1))
}

fn is_known(word: &str) -> bool {
    tools::of_sar(word).is_some()
}

fn is_of_processes(header: &[&str]) -> bool {
    header.iter().any(|word| PROCESSES.contains(word))
}

/// The columns of a table of `sadf -d`: `# hostname;interval;timestamp;pgpgin/s;…`.
fn header_of_sadf(line: &str) -> Option<Vec<&str>> {
    let columns = line.trim().trim_start_matches(['#', ' ']).strip_prefix("hostname;interval;timestamp;")?;
    Some(columns.split(';').map(str::trim).collect())
}

/// `Linux 6.18.44 (host) …`: the name of the host in brackets, which `uname -a` has not.
fn is_banner(words: &[&str]) -> bool {
    words.first() == Some(&"Linux") && words.get(2).is_some_and(|word| word.starts_with('('))
}

impl Sar {
    pub(super) fn new(assumed: &Assumed) -> Sar {
        Sar {
            listing: Listing::new(Kind::Sar, ListingClock::TimeOfDay),
            midnight: None,
            interval: assumed.interval,
            cpus: None,
            header: Vec::new(),
            headed: None,
            headed_in: 0,
            is_left: false,
            processes: None,
            has_processes: false,
            threads: Threads::default(),
            faults: None,
            has_faults: false,
            broken: None,
            filled: BTreeSet::new(),
            last: 0,
            sections: BTreeMap::new(),
            single: None,
            lone: BTreeSet::new(),
            disks: Disks::default(),
            listed: None,
            reports: Reports::default(),
            is_begun: false,
            averages: Vec::new(),
            has_averages: false,
            rows: 0,
            has_times: false,
            is_of_sadf: false,
            tables_left: BTreeSet::new(),
            columns_left: BTreeSet::new(),
        }
    }

    /// `Linux 6.18.44 (host)  11/21/2026  _x86_64_ (2 CPU)`.
    fn banner(&mut self, line: &str, number: usize) -> Result<(), Problem> {
        self.flush()?;
        let mut words = line.split_whitespace();
        words.next();
        if let Some(kernel) = words.next() {
            self.listing.about("kernel", kernel);
        }
        if let Some(at) = line.rfind(" CPU)") {
            let cpus: String = line[..at].chars().rev().take_while(char::is_ascii_digit).collect();
            let cpus: String = cpus.chars().rev().collect();
            self.cpus = cpus.parse().ok().filter(|cpus| *cpus > 0);
            if !cpus.is_empty() {
                self.listing.about("cpus", cpus);
            }
        }
        // Behind the host's name; one word, or three as in `21. 11. 2026` and `2026년 11월 21일`.
        let behind = line.split_once(')').map_or("", |(_, behind)| behind);
        let parts: Vec<&str> = behind.split('\t').map(str::trim).collect();
        let joined = behind.replace(". ", ".").replace("년 ", "년").replace("월 ", "월");
        let date = parts.iter().chain(&joined.split_whitespace().collect::<Vec<_>>()).find_map(|part| {
            let part = part.replace(". ", ".");
            day(&part)
        });
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
        self.is_begun = true;
        Ok(())
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
        self.has_times = true;
        self.dated(time, at)
    }

    /// With a date in each line there is no banner that has one.
    fn dated(&mut self, time: i64, at: i64) -> i64 {
        if time >= DAY {
            self.listing.clock = ListingClock::Local;
        }
        at.saturating_add(if time >= DAY { 0 } else { self.midnight.unwrap_or(0) })
    }

    /// The instant of a row without a time, in a table that has none.
    fn untimed(&mut self) -> i64 {
        let length = self.interval.unwrap_or(SECOND);
        let section = self.sections.entry(self.header.clone()).or_default();
        let at = section.rows.saturating_mul(length);
        section.rows += 1;
        at
    }

    /// A report of iostat begins.
    fn report(&mut self) -> Result<(), Problem> {
        self.flush()?;
        let next = self.reports.next.take();
        self.reports.at = match next {
            Some(time) => {
                self.reports.has_times = true;
                self.dated(time, time)
            }
            None => self.reports.count.saturating_mul(self.interval.unwrap_or(SECOND)),
        };
        if self.is_begun && !self.reports.is_without_first && self.reports.count == 0 {
            self.reports.since_boot = Some(self.reports.at);
        }
        self.is_begun = false;
        self.reports.count += 1;
        self.reports.has_disks = false;
        Ok(())
    }

    fn is_iostat(&self) -> bool {
        self.headed.is_none() && self.header.first().is_some_and(|first| first == "avg-cpu:" || is_disk(first))
    }

    fn header(&mut self, words: &[&str], time: Option<i64>, number: usize) -> Result<(), Problem> {
        self.header = words.iter().map(|word| (*word).to_owned()).collect();
        self.headed = time;
        self.headed_in = number;
        if self.is_iostat() {
            let is_disks = is_disk(words[0]);
            // Without CPU shares above it a table of disks is a report of its own.
            if !is_disks || self.reports.count == 0 || self.reports.has_disks {
                self.report()?;
            }
            self.reports.has_disks = is_disks;
        }
        self.judge_header();
        Ok(())
    }

    /// What of the table under the header is taken.
    fn judge_header(&mut self) {
        const MOST: usize = 200;
        self.is_left = false;
        self.processes = None;
        let header = self.header.clone();
        let words: Vec<&str> = header.iter().map(String::as_str).collect();
        // Of interrupts only the sum of all is taken, and the rest are its parts.
        if words.first() == Some(&"INTR") {
            return;
        }
        if is_of_processes(&words) {
            let place = |name: &str| words.iter().position(|word| *word == name);
            let (share, faults) = (place("%CPU"), place("minflt/s").zip(place("majflt/s")));
            let user = place("UID").or(place("USER"));
            let of = |command| Processes { command, share, faults, user };
            self.processes = place("Command").filter(|_| share.is_some() || faults.is_some()).map(of);
            self.has_processes = true;
        }
        if is_of_processes(&words) || !words.iter().any(|word| is_known(word)) {
            self.is_left = true;
            if self.processes.is_some() {
                return;
            }
            if self.tables_left.len() < MOST {
                let name: Vec<String> = words.iter().take(2).map(|word| quoted(word)).collect();
                self.tables_left.insert(name.join(" "));
            }
            return;
        }
        for word in &words {
            let is_item = WHOLE.iter().any(|(item, _)| item == word) || is_disk(word) || *word == "avg-cpu:";
            let is_used = matches!(*word, "r_await" | "w_await" | "r/s" | "w/s");
            if !is_item && !is_used && !is_known(word) && self.columns_left.len() < MOST {
                self.columns_left.insert(quoted(word));
            }
        }
    }

    /// A line of headings right below a header belongs to it: a mailer broke it.
    fn goes_on(&mut self, words: &[&str], number: usize) -> bool {
        let is_heading = |word: &&str| word.contains(['/', '%']) || word.starts_with("kb") || is_known(word);
        let is_rest = number == self.headed_in + 1 && !self.header.is_empty() && words.iter().all(is_heading);
        if is_rest && self.header.len() + words.len() <= 64 {
            self.header.extend(words.iter().map(|word| (*word).to_owned()));
            self.headed_in = number;
            self.judge_header();
        }
        is_rest
    }

    /// The rest of a row that a mailer broke.
    fn mend(&mut self, words: &[&str]) -> Result<(), Problem> {
        let Some(mut broken) = self.broken.take() else { return Ok(()) };
        broken.words.extend(words.iter().map(|word| (*word).to_owned()));
        if broken.words.len() < self.header.len() {
            self.broken = Some(broken);
            return Ok(());
        }
        if broken.words.len() > self.header.len() {
            self.listing.reject(broken.number, &broken.line);
            return Ok(());
        }
        let words: Vec<&str> = broken.words.iter().map(String::as_str).collect();
        if broken.is_average {
            self.average(&words, broken.number, &broken.line)
        } else {
            self.row(broken.time, &words, broken.number, &broken.line)
        }
    }

    fn give_up_broken(&mut self) {
        if let Some(broken) = self.broken.take().filter(|broken| !broken.is_average) {
            self.listing.reject(broken.number, &broken.line);
        }
    }

    /// A row of pidstat.
    fn process(&mut self, of: Processes, time: i64, words: &[&str], number: usize) -> Result<(), Problem> {
        let number_at = |place: usize| words.get(place).and_then(|word| decimal(word)).filter(|value| *value >= 0.0);
        if words.len() <= of.command {
            return Ok(());
        }
        let faults = of.faults.and_then(|(minor, major)| number_at(minor).zip(number_at(major)));
        if let Some((minor, major)) = faults {
            let at = self.at(time, number);
            if self.faults.is_some_and(|before| before.at != at) {
                self.flush_faults()?;
            }
            let sum = self.faults.get_or_insert(Faults { at, all: 0.0, major: 0.0 });
            (sum.all, sum.major) = (sum.all + minor + major, sum.major + major);
            self.has_faults = true;
            self.rows += 1;
        }
        let Some(share) = of.share.and_then(number_at) else { return Ok(()) };
        let command = words[of.command..].join(" ");
        let command = command.trim_start_matches("|__");
        let is_program = of.user.is_some_and(|place| !matches!(words[place], "0" | "root"));
        let at = self.at(time, number);
        if kernel_thread(command).is_some() && !is_program {
            self.rows += 1;
        }
        self.threads.row(at, command, share, is_program);
        Ok(())
    }

    /// What the processes of an instant faulted together.
    fn flush_faults(&mut self) -> Result<(), Problem> {
        let Some(Faults { at, all, major }) = self.faults.take() else { return Ok(()) };
        self.last = self.last.max(at);
        let named = [("fault/s", all), ("majflt/s", major)];
        let values: Values =
            named.into_iter().filter_map(|(name, value)| Some((tools::of_sar(name)?, value))).collect();
        shares::put(&mut self.listing, at, &values)
    }

    /// Numbers of a row. `None`: it has a word that is no number.
    fn values(&self, words: &[&str]) -> Option<Values> {
        let is_interrupts = self.header.first().is_some_and(|first| first == "INTR");
        let mut values = Vec::new();
        for (header, word) in self.header.iter().zip(words) {
            let known = match header.as_str() {
                "all" | "intr/s" if is_interrupts => tools::find("interrupts_per_second"),
                _ if is_interrupts => None,
                header => tools::of_sar(header),
            };
            let Some(column) = known else { continue };
            let value = number(word, column, header)?;
            // Averages of sysstat 4 ran over: 4962552.26 % of all swap.
            let is_share = column.counts == Counts::Share && !BEYOND_ALL.contains(&column.name);
            let is_possible = value >= 0.0 && (!is_share || value <= 150.0);
            if is_possible {
                values.push((column, value));
            }
        }
        Some(values)
    }

    /// A row at a time, or where its table stands if it has none.
    fn row(&mut self, time: Option<i64>, words: &[&str], number: usize, line: &str) -> Result<(), Problem> {
        let at_item = self.header.iter().position(|word| is_disk(word) || WHOLE.iter().any(|(item, _)| item == word));
        let item = at_item.and_then(|at| Some((at, self.header.get(at)?.clone())));
        // `iostat -c` has its heading where the others have an item.
        let is_avg_cpu = self.header.first().is_some_and(|first| first == "avg-cpu:");
        let shifted: Vec<&str> = if is_avg_cpu { [&["avg-cpu:"], words].concat() } else { words.to_vec() };
        let mut words = shifted.as_slice();
        // People point at a row with arrows behind it.
        let behind = words.get(self.header.len()..).unwrap_or_default();
        if behind.iter().all(|word| !word.contains(|c: char| c.is_ascii_digit())) {
            words = &words[..words.len().min(self.header.len())];
        }
        if words.len() != self.header.len() {
            // Of interrupts and of CPUs that are offline only some words are there.
            let is_whole = item.as_ref().is_none_or(|(at, name)| {
                is_disk(name) || WHOLE.iter().any(|(own, whole)| own == name && words.get(*at) == Some(whole))
            });
            if is_whole && words.len() < self.header.len() && !is_avg_cpu && number > 0 {
                let words = words.iter().map(|word| (*word).to_owned()).collect();
                self.broken = Some(BrokenRow { time, words, number, line: line.to_owned(), is_average: false });
            } else if is_whole {
                self.listing.reject(number, line);
            }
            return Ok(());
        }
        if let Some((place, name)) = &item
            && !is_disk(name)
            && let Some(cpu) =
                words.get(*place).filter(|word| !WHOLE.iter().any(|(own, whole)| own == name && *word == whole))
        {
            // sysstat marks CPUs that are offline and items that vanished with other words, and sadf repeats names.
            if name == "CPU"
                && let Some(cpu) = cpu.parse().ok()
                && let Some(values) = self.values(words)
            {
                self.one_cpu(cpu, values, time, number)?;
            }
            return Ok(());
        }
        let Some(values) = self.values(words) else {
            self.listing.reject(number, line);
            return Ok(());
        };
        if values.is_empty() {
            return Ok(());
        }
        let at = self.instant(time, number);
        self.rows += 1;
        self.last = self.last.max(at);
        if !self.filled.contains(&self.header) && self.filled.len() < 1000 {
            self.filled.insert(self.header.clone());
        }
        match &item {
            Some((place, name)) if is_disk(name) => {
                let disk = self.disk(words, words[*place], &values);
                self.listed_disk(at, disk)
            }
            Some((_, name)) if name == "CPU" => {
                self.flush_single(at)?;
                let single =
                    self.single.get_or_insert_with(|| PerCpuRows { at, has_whole: false, rows: BTreeMap::new() });
                single.has_whole = true;
                shares::put(&mut self.listing, at, &values)
            }
            _ => {
                shares::put(&mut self.listing, at, &values)?;
                self.derive_memory(at, &values)
            }
        }
    }

    fn instant(&mut self, time: Option<i64>, number: usize) -> i64 {
        match time {
            Some(time) => self.at(time, number),
            None if self.is_iostat() => self.reports.at,
            None => self.untimed(),
        }
    }

    /// A row of a single CPU, kept until it is known whether the whole is there.
    fn one_cpu(&mut self, cpu: u32, values: Values, time: Option<i64>, number: usize) -> Result<(), Problem> {
        const MOST: usize = 1 << 14;
        // Without a time there is no telling which belong together.
        let Some(time) = time else { return Ok(()) };
        let at = self.at(time, number);
        self.flush_single(at)?;
        let single = self.single.get_or_insert_with(|| PerCpuRows { at, has_whole: false, rows: BTreeMap::new() });
        if single.rows.len() < MOST && !single.has_whole {
            single.rows.insert(cpu, values);
        }
        Ok(())
    }

    /// Ends the rows of single CPUs of an instant before `at`.
    fn flush_single(&mut self, at: i64) -> Result<(), Problem> {
        if self.single.as_ref().is_none_or(|single| single.at == at) {
            return Ok(());
        }
        let Some(single) = self.single.take().filter(|single| !single.has_whole && !single.rows.is_empty()) else {
            return Ok(());
        };
        let listed: Vec<u32> = single.rows.keys().copied().take(64).collect();
        let Some(whole) = shares::of_all_cpus(single.rows, self.cpus) else {
            self.lone.extend(listed);
            return Ok(());
        };
        self.rows += 1;
        shares::put(&mut self.listing, single.at, &whole)
    }

    fn disk(&self, words: &[&str], name: &str, values: &Values) -> Disk {
        let of = |name: &str| values.iter().find(|(column, _)| column.name == name).map(|(_, value)| *value);
        let word = |heading: &str| {
            let at = self.header.iter().position(|word| word == heading)?;
            decimal(words.get(at)?)
        };
        // Newer versions have reads and writes apart.
        let apart = || {
            let (reads, writes) = (word("r/s")?, word("w/s")?);
            let took = word("r_await")? * reads + word("w_await")? * writes;
            (reads + writes > 0.0).then(|| took / (reads + writes))
        };
        Disk {
            name: name.to_owned(),
            read: of("disk_read_per_second"),
            written: of("disk_written_per_second"),
            busy: of("disk_busy_percent"),
            wait: of("disk_wait").or_else(apart),
        }
    }

    fn listed_disk(&mut self, at: i64, disk: Disk) -> Result<(), Problem> {
        const MOST: usize = 1 << 12;
        if self.listed.as_ref().is_some_and(|(before, _)| *before != at) {
            self.flush_disks()?;
        }
        let (_, disks) = self.listed.get_or_insert_with(|| (at, Vec::new()));
        if disks.len() < MOST {
            disks.push(disk);
        }
        Ok(())
    }

    fn flush_disks(&mut self) -> Result<(), Problem> {
        match self.listed.take() {
            Some((at, disks)) => self.disks.put(&mut self.listing, at, &disks),
            None => Ok(()),
        }
    }

    fn flush(&mut self) -> Result<(), Problem> {
        self.flush_faults()?;
        self.flush_disks()?;
        self.flush_single(i64::MIN)
    }

    /// sar prints how much is used and which part of all memory that is, but not all memory. Of a part below a hundredth two
    /// decimals are too few.
    fn derive_memory(&mut self, at: i64, values: &Values) -> Result<(), Problem> {
        let of = |name: &str| values.iter().find(|(column, _)| column.name == name).map(|(_, value)| *value);
        let parts = of("memory_used").zip(of("memory_used_percent"));
        let Some((used, percent)) = parts.filter(|(used, percent)| *used >= 0.0 && (1.0..=100.0).contains(percent))
        else {
            return Ok(());
        };
        let total = (used * 10_000.0 / (percent * 100.0).round()).floor();
        if total > 9e15 {
            return Ok(());
        }
        let column = self.listing.column(SOURCE, "memory_total", "", RawUnit::KiB);
        self.listing.put(at, column, total as u64)
    }

    /// Behind `Average:` stand a row, or in mpstat and iostat a header first.
    fn average(&mut self, words: &[&str], number: usize, line: &str) -> Result<(), Problem> {
        let is_header = !words.is_empty() && words.iter().all(|word| decimal(word).is_none());
        if is_header && words.iter().any(|word| is_known(word)) {
            self.flush()?;
            return self.header(words, self.headed.or(Some(0)), number);
        }
        if self.averages.len() >= MOST_AVERAGES || self.is_left || words.is_empty() {
            return Ok(());
        }
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        if words.len() < self.header.len() {
            self.broken = Some(BrokenRow { time: None, words, number, line: line.to_owned(), is_average: true });
            return Ok(());
        }
        let at = self.headed.unwrap_or(0);
        self.averages.push(Average { at, header: self.header.clone(), words });
        Ok(())
    }

    /// Averages count where a table has nothing else.
    fn take_averages(&mut self) -> Result<(), Problem> {
        let filled = std::mem::take(&mut self.filled);
        let mut averages = std::mem::take(&mut self.averages);
        averages.retain(|average| !filled.contains(&average.header));
        let has_rows = self.rows > 0;
        let is_headless = averages.iter().all(|average| average.header.is_empty());
        averages.retain(|average| !average.header.is_empty());
        // All are over the same stretch, so they stand at one instant; tables that come again are of another.
        let mut at = if has_rows {
            self.last.saturating_sub(self.midnight.unwrap_or(0))
        } else {
            averages.first().map_or(0, |first| first.at)
        };
        let mut seen: BTreeSet<(Vec<String>, String)> = BTreeSet::new();
        let before = self.rows;
        for average in &averages {
            self.header.clone_from(&average.header);
            self.headed = Some(average.at);
            let item = average.words.first().filter(|word| decimal(word).is_none() || self.header[0] == "CPU");
            if !seen.insert((average.header.clone(), item.cloned().unwrap_or_default())) {
                seen = BTreeSet::from([(average.header.clone(), item.cloned().unwrap_or_default())]);
                at = at.saturating_add(self.interval.unwrap_or(SECOND));
            }
            let words: Vec<&str> = average.words.iter().map(String::as_str).collect();
            self.sections.remove(&self.header);
            self.row(Some(at), &words, 0, "an average")?;
        }
        self.flush()?;
        if self.rows > before && has_rows {
            self.listing
                .note("sar: of some tables only averages are in it; they stand at the end of the rest".to_owned());
        } else if self.rows > before {
            self.listing.note(
                "sar: only averages are in it; they count as one stretch, and how long it was is not in the listing"
                    .to_owned(),
            );
        } else if !has_rows && is_headless && self.has_averages {
            return Err(Problem::of_file(
                "only averages are in it, without the headings of their columns",
                "give the listing with its headings",
            ));
        }
        Ok(())
    }

    /// `$ sar -u 5 10` above a listing: the interval, and whether the first report of iostat is left out.
    fn command(&mut self, words: &[&str], tool: usize) {
        for word in &words[tool + 1..] {
            if word.starts_with('-') && !word.starts_with("--") {
                self.reports.is_without_first |= word.contains('y') && words[tool].ends_with("iostat");
            } else if self.interval.is_none()
                && let Ok(seconds) = word.parse::<i64>()
                && (1..=86_400).contains(&seconds)
            {
                self.interval = Some(seconds * SECOND);
            }
        }
    }

    fn restart(&mut self, time: i64) {
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

    /// A row of `sadf -d`: `host;600;2022-03-14 10:00:01 UTC;-1;0.50;…`, or with seconds since 1970 in place of the date.
    fn row_of_sadf(&mut self, line: &str, number: usize) -> Result<(), Problem> {
        let fields: Vec<&str> = line.split(';').map(str::trim).collect();
        let [_, interval, time, values @ ..] = &fields[..] else {
            self.listing.reject(number, line);
            return Ok(());
        };
        let words: Vec<&str> = time.split_whitespace().collect();
        let since_1970 = seconds(time).filter(|seconds| *seconds >= DAY);
        let Some(time) = since_1970.or_else(|| dated_clock(&words).map(|(time, _)| time)) else {
            self.listing.reject(number, line);
            return Ok(());
        };
        if *interval == "-1" {
            // What is no row stands in one all the same: `LINUX-RESTART (8 CPU)`, `COM` and what somebody noted.
            if values.first().is_some_and(|first| first.starts_with("LINUX")) {
                self.restart(time);
            }
            return Ok(());
        }
        if self.is_left {
            return Ok(());
        }
        let whole_of = |heading: &str| WHOLE.iter().find(|(item, _)| *item == heading).map(|(_, whole)| *whole);
        let words: Vec<&str> = values
            .iter()
            .zip(&self.header)
            .map(|(value, heading)| whole_of(heading).filter(|_| *value == "-1").unwrap_or(*value))
            .collect();
        if words.len() != values.len() {
            self.listing.reject(number, line);
            return Ok(());
        }
        self.row(Some(time), &words, number, line)?;
        if since_1970.is_some() || fields[2].ends_with("UTC") {
            self.listing.clock = ListingClock::Utc;
        }
        Ok(())
    }

    /// What iostat says first is over the time since boot.
    fn leave_out_since_boot(&mut self) {
        let Some(at) = self.reports.since_boot else { return };
        if self.reports.count < 2 || self.listing.rows.len() < 2 {
            self.listing.note("sar: the only report of iostat is an average over the time since boot".to_owned());
            return;
        }
        self.listing.leave_out_instant(at);
        self.listing.touch(at);
        self.listing.gap_between(
            Some(at),
            Some(at),
            Some(SOURCE),
            GapReason::Other("since_boot".to_owned()),
            "the first report of iostat is an average since boot and was left out",
        );
    }
}

fn is_disk(word: &str) -> bool {
    DISKS.contains(&word)
}

/// A number as its table counts it. `--human` (since 11.6) puts units behind.
fn number(word: &str, column: &Column, header: &str) -> Option<f64> {
    match column.counts {
        Counts::Size if word.ends_with(|c: char| c.is_ascii_alphabetic()) => {
            let bytes = word
                .strip_suffix('B')
                .map_or_else(|| suffixed(word, 1024.0, 1.0), |plain| suffixed(plain, 1024.0, 1.0));
            Some(bytes? as f64 / 1024.0)
        }
        Counts::SizePerSecond if word.ends_with(|c: char| c.is_ascii_alphabetic()) => {
            Some(suffixed(word.trim_end_matches('B'), 1024.0, 1.0)? as f64 / 1024.0)
        }
        Counts::SizePerSecond => Some(decimal(word)? * tools::kib_of_sar(header)),
        Counts::Share => decimal(word.trim_end_matches('%')),
        _ => decimal(word),
    }
}

/// What C prints where there is no number to print.
fn is_no_number(word: &str) -> bool {
    matches!(word.trim_start_matches('-').to_ascii_lowercase().as_str(), "nan" | "inf")
}

/// `Average:`, `Durchschn.:`, `Moyenne :`, `平均值：`: how many words it takes.
fn average(words: &[&str]) -> Option<usize> {
    let is_word = |word: &&str| !word.contains(['%', '/']) && !word.starts_with(|c: char| c.is_ascii_digit());
    let ends = |word: &&str| word.ends_with([':', '：']);
    let at = words.iter().take(3).take_while(|word| is_word(word)).position(ends)?;
    let is_other = matches!(words[0], "avg-cpu:" | "Time:" | "Linux") || is_disk(words[0]);
    (!is_other).then_some(at + 1)
}

impl Parser for Sar {
    fn line(&mut self, number: usize, line: &str) -> Result<(), Problem> {
        let words: Vec<&str> = line.split_whitespace().collect();
        if words.is_empty() {
            return Ok(());
        }
        if let Some(columns) = header_of_sadf(line) {
            self.flush()?;
            self.is_of_sadf = true;
            return self.header(&columns, Some(0), number);
        }
        if is_banner(&words) {
            self.is_of_sadf = false;
            return self.banner(line, number);
        }
        if self.is_of_sadf && line.contains(';') {
            return self.row_of_sadf(line, number);
        }
        let is_rest = words.iter().all(|word| decimal(word).is_some() || is_no_number(word));
        if is_rest && self.broken.is_some() {
            return self.mend(&words);
        }
        self.give_up_broken();
        if let Some(used) = average(&words) {
            self.has_averages |= used < words.len();
            return self.average(&words[used..], number, line);
        }
        let tool = words.iter().position(|word| TOOLS.contains(&word.rsplit('/').next().unwrap_or_default()));
        if let Some(tool) = tool.filter(|_| !words.iter().any(|word| is_known(word))) {
            self.command(&words, tool);
            return Ok(());
        }
        // `Time: 12:00:01` stood above reports of iostat until sysstat 9.
        let words = if words[0] == "Time:" { &words[1..] } else { &words[..] };
        let Some((time, used)) = dated_clock(words) else {
            return self.untimed_line(words, number, line);
        };
        let rest = &words[used..];
        match rest {
            [] => self.reports.next = Some(time),
            // `LINUX RESTART` since sysstat 11.
            [first, ..] if first.starts_with("LINUX") || (*first == "RESTART") => self.restart(time),
            [first, second, ..] if *second == "COM" || *first == "COM" => {}
            [first, ..] => {
                let is_number = decimal(first).is_some();
                let is_item = WHOLE.iter().any(|(_, whole)| whole == first);
                // Rows have numbers. What has none is the header of a table, whether it is known or not: taken for a row, it
                // would leave the rows below it to the table before.
                let has_numbers = rest.iter().skip(1).any(|word| decimal(word).is_some() || is_no_number(word));
                if !is_number && !is_item && !has_numbers && (rest.len() > 1 || is_known(first)) {
                    self.flush_disks()?;
                    self.header(rest, Some(time), number)?;
                } else if self.header.is_empty() {
                    self.listing.reject(number, line);
                } else if let Some(of) = self.processes {
                    self.process(of, time, rest, number)?;
                } else if !self.is_left {
                    self.row(Some(time), rest, number, line)?;
                }
            }
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<Listing, Problem> {
        self.give_up_broken();
        self.flush()?;
        self.take_averages()?;
        std::mem::take(&mut self.threads).put(&mut self.listing)?;
        if !self.lone.is_empty() {
            let cpus: Vec<String> = self.lone.iter().take(8).map(u32::to_string).collect();
            let detail = format!(
                "CPU {} stands alone, without the row of all CPUs or all of them: it does not speak for the host",
                cpus.join(", ")
            );
            if self.rows == 0 {
                return Err(Problem::of_file(detail, "give the rows of all CPUs (`sar -u`, `mpstat`)"));
            }
            self.listing.gap(Some(SOURCE), GapReason::Other("not_imported".to_owned()), detail);
        }
        if self.rows == 0 && self.has_processes {
            return Err(Problem::of_file("it has processes only, and none of them is a thread of the kernel", REMEDY));
        }
        if self.rows == 0 {
            return Err(self.listing.nothing("row of sar under a header it has", REMEDY));
        }
        self.leave_out_since_boot();
        if self.has_faults {
            self.listing.note("pidstat: page faults are those of the processes that it lists".to_owned());
        }
        if !self.has_times && !self.reports.has_times {
            self.listing.clock = ListingClock::Foreign;
            let seconds = self.interval.unwrap_or(SECOND) as f64 / SECOND as f64;
            self.listing.note(format!(
                "sar: its rows have no time and are drawn {seconds} s apart; --about interval=5s says another interval"
            ));
        }
        if let Some(detail) = super::words::left_out(Kind::Sar, &self.tables_left, &self.columns_left) {
            self.listing.gap(Some(SOURCE), GapReason::Other("not_imported".to_owned()), detail);
        }
        self.listing.resolution("sar: rates and shares with two decimals, averaged over the interval before");
        Ok(self.listing.close())
    }
}

impl Sar {
    /// A line without a clock: of iostat, or of a table that was pasted without its times.
    fn untimed_line(&mut self, words: &[&str], number: usize, line: &str) -> Result<(), Problem> {
        // ` AM  pgpgin/s …`: of the clock only its half was left.
        let words = if words.len() > 1 && Half::of(words[0]).is_some() { &words[1..] } else { words };
        let has_numbers = words.iter().skip(1).any(|word| decimal(word).is_some() || is_no_number(word));
        let is_number = decimal(words[0]).is_some() || is_no_number(words[0]);
        if !has_numbers && !is_number {
            if self.goes_on(words, number) {
                return Ok(());
            }
            let known = words.iter().filter(|word| is_known(word)).count();
            let is_headed = known >= 2 || (known == 1 && WHOLE.iter().any(|(item, _)| *item == words[0]));
            if is_headed || is_of_processes(words) {
                self.flush()?;
                return self.header(words, None, number);
            }
        }
        match (has_numbers || is_number) && !self.header.is_empty() {
            // The rest of a row of a table that is not taken.
            true if self.is_left => Ok(()),
            true if self.headed.is_none() => self.row(None, words, number, line),
            _ => {
                self.listing.reject(number, line);
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests;

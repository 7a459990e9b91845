//! `atop` as text (1.23 to 2.11): a screen for each interval, with lines of labels and numbers between bars, and a table of
//! processes.
//!
//! CPU time is in percent of one CPU; all of it together is what its line adds up to. Counts are of the interval that the heading
//! says. Of `atopsar` its reports of CPUs, memory and swap are read ([`atopsar`](super::atopsar)). The first screen of a live atop is over the time since boot: its levels count. Where the heading was not pasted there is
//! no interval, and counts are left out.

use super::atopsar::{CPUS, Report};
use super::disks::{Disk, Disks};
use super::listing::{Listing, ListingClock};
use super::merge::Assumed;
use super::shares;
use super::threads::Threads;
use super::times::{Running, SECOND, day, time_of_day};
use super::words::{decimal, quoted, suffixed};
use super::{Kind, Parser, Problem, SOURCE};
use crate::counter::tools::{self, Column, Counts};
use crate::recording::GapReason;
use std::collections::BTreeSet;

const REMEDY: &str =
    "give the text of `atop -r FILE`, `atop 10 6 > FILE` or `atopsar -c -m -s`; `atop -P` prints other lines";

/// Lines that hold something for which there are columns.
const LINES: [&str; 8] = ["PRC", "CPU", "CPL", "MEM", "SWP", "PAG", "PSI", "DSK"];

/// A count that is 0 where atop does not know the kernel's name for it.
const STALLS: &str = "allocstall_per_second";

/// What all CPU time is made of; guests are in `user`.
const TIMES: [&str; 6] = ["sys", "user", "irq", "idle", "wait", "steal"];

#[derive(Debug, Default)]
struct Screen {
    at: i64,
    /// Seconds it is about.
    elapsed: Option<f64>,
    is_since_boot: bool,
    /// CPU seconds of all processes, and percent of one CPU in programs and kernel: one divided by the other is the length.
    ran: f64,
    percent: f64,
    /// Lines that were there, once each.
    seen: BTreeSet<String>,
    shares: Vec<(&'static Column, f64)>,
    levels: Vec<(&'static Column, f64)>,
    counted: Vec<(&'static Column, f64)>,
    disks: Vec<Disk>,
}

#[derive(Debug)]
pub(super) struct Atop {
    listing: Listing,
    running: Running,
    interval: Option<i64>,
    screen: Option<Screen>,
    /// Whether rows of processes follow, with their CPU share before the command.
    has_table: bool,
    screens: i64,
    has_times: bool,
    /// The screen over the time since boot, whose rates wait for another one.
    since_boot: Option<Screen>,
    no_interval: bool,
    threads: Threads,
    disks: Disks,
    cpus: BTreeSet<String>,
    /// Counts that were seen with more than 0.
    counting: BTreeSet<&'static str>,
    tables_left: BTreeSet<String>,
    /// The report of atopsar whose rows follow, and the midnight that one of its headings names.
    report: Option<Report>,
    midnight: Option<i64>,
}

/// Whether a line is the heading of a screen.
pub(super) fn recognises(line: &str) -> bool {
    // Screens are pasted without their heading, too.
    const LINES: [&str; 8] = ["PRC ", "CPU ", "CPL ", "MEM ", "SWP ", "PAG ", "DSK ", "PSI "];
    let text = line.trim_start();
    let words: Vec<&str> = text.split_whitespace().collect();
    is_heading(text)
        || Report::of(&words).is_some()
        || (LINES.iter().any(|word| text.starts_with(word)) && text.matches('|').count() >= 3)
}

fn is_heading(line: &str) -> bool {
    line.trim_start().starts_with("ATOP - ")
}

/// `12345`, `2863e3`: counts that are too wide lose their last digits.
fn count(word: &str) -> Option<f64> {
    match word.split_once('e') {
        Some((digits, power)) => {
            let power: i32 = power.parse().ok().filter(|power| (0..=15).contains(power))?;
            Some(decimal(digits)? * libm::pow(10.0, f64::from(power)))
        }
        None => decimal(word),
    }
}

/// `10m15s`, `3d4h12m`, `600`.
fn seconds(word: &str) -> Option<f64> {
    let mut sum = 0.0;
    let mut digits = String::new();
    for c in word.chars() {
        let length = match c {
            '0'..='9' | '.' => {
                digits.push(c);
                continue;
            }
            's' => 1.0,
            'm' => 60.0,
            'h' => 3600.0,
            'd' => 86_400.0,
            _ => return None,
        };
        sum += digits.parse::<f64>().ok().filter(|number| *number < 1e9)? * length;
        digits.clear();
    }
    if !digits.is_empty() {
        sum += digits.parse::<f64>().ok().filter(|number| *number < 1e9)?;
    }
    (sum > 0.0).then_some(sum)
}

/// A number behind a label, as its column counts it.
fn value(column: &Column, word: &str, unit: Option<&str>) -> Option<f64> {
    match column.counts {
        Counts::Size => {
            let has_unit = word.ends_with(|c: char| c.is_ascii_alphabetic());
            let plain = word.trim_end_matches('B');
            has_unit.then(|| suffixed(plain, 1024.0, 1.0)).flatten().map(|bytes| bytes as f64 / 1024.0)
        }
        Counts::Share => decimal(word.strip_suffix('%')?),
        Counts::Milliseconds => {
            let (word, unit) = match unit {
                Some(unit) => (word, unit),
                None => word.split_at(word.find(|c: char| c.is_alphabetic())?),
            };
            let scale = match unit {
                "ms" => 1.0,
                "µs" | "μs" | "us" => 1e-3,
                "ns" => 1e-6,
                "s" => 1e3,
                _ => return None,
            };
            Some(decimal(word)? * scale)
        }
        Counts::SizePerSecond => Some(decimal(word)? * 1024.0),
        _ => count(word),
    }
}

impl Atop {
    pub(super) fn new(assumed: &Assumed) -> Atop {
        Atop {
            listing: Listing::new(Kind::Atop, ListingClock::Foreign),
            running: Running::default(),
            interval: assumed.interval,
            screen: None,
            has_table: false,
            screens: 0,
            has_times: false,
            since_boot: None,
            no_interval: false,
            threads: Threads::default(),
            disks: Disks::default(),
            cpus: BTreeSet::new(),
            counting: BTreeSet::new(),
            tables_left: BTreeSet::new(),
            report: None,
            midnight: None,
        }
    }

    /// A row of a report of atopsar; whether it is one.
    fn report_row(&mut self, report: &Report, words: &[&str], number: usize) -> Result<bool, Problem> {
        let Some((time, row)) = report.row(words) else {
            // Rows of single CPUs.
            return Ok(report.what == CPUS && words.iter().all(|word| decimal(word).is_some()));
        };
        self.has_times = true;
        self.listing.clock = if self.midnight.is_some() { ListingClock::Local } else { ListingClock::TimeOfDay };
        let raw = self.midnight.unwrap_or(0).saturating_add(time);
        // The date of the next day may come later than its first row, or not at all.
        let at = self.listing.instant(&mut self.running, raw, false, number);
        let mut values: shares::Values = Vec::new();
        for (column, word) in row {
            // Shares and rates have no sign in these tables.
            let number = if column.counts == Counts::Size { value(column, word, None) } else { decimal(word) };
            let Some(number) = number else { continue };
            match values.iter_mut().find(|(known, _)| known.name == column.name) {
                Some((_, sum)) => *sum += number,
                None => values.push((column, number)),
            }
        }
        let total: f64 = values.iter().map(|(_, value)| value).sum();
        if report.what == CPUS && total > 0.0 {
            values.iter_mut().for_each(|(_, value)| *value = *value / total * 100.0);
        }
        shares::put(&mut self.listing, at, &values)?;
        Ok(true)
    }

    /// `ATOP - host      2026/11/24  18:16:07      -----------      3s elapsed`.
    fn heading(&mut self, line: &str, number: usize) -> Result<(), Problem> {
        self.end()?;
        let words: Vec<&str> = line.split_whitespace().collect();
        let midnight = words.iter().find_map(|word| day(word).filter(|_| word.len() >= 8)).map(|day| day.midnight);
        let time = words.iter().filter(|word| word.contains(':')).find_map(|word| time_of_day(word, None));
        let last = words.iter().position(|word| *word == "elapsed").filter(|at| *at > 0);
        let elapsed = last.and_then(|at| match words[at - 1] {
            "seconds" | "second" => seconds(words.get(at.checked_sub(2)?)?),
            word => seconds(word),
        });
        let Some(time) = time else {
            self.listing.reject(number, line);
            self.begin(None, elapsed, number);
            return Ok(());
        };
        self.listing.clock = if midnight.is_some() { ListingClock::Local } else { ListingClock::TimeOfDay };
        self.begin(Some((midnight.unwrap_or(0) + time, midnight.is_some())), elapsed, number);
        Ok(())
    }

    fn begin(&mut self, clock: Option<(i64, bool)>, elapsed: Option<f64>, number: usize) {
        let at = match clock {
            Some((time, has_date)) => {
                self.has_times = true;
                self.listing.instant(&mut self.running, time, has_date, number)
            }
            None => {
                let raw = self.screens.saturating_mul(self.interval.unwrap_or(SECOND));
                self.listing.instant(&mut self.running, raw, true, number)
            }
        };
        self.screens += 1;
        self.has_table = false;
        let elapsed = elapsed.or(self.interval.map(|interval| interval as f64 / SECOND as f64));
        self.screen = Some(Screen { at, elapsed, ..Screen::default() });
    }

    /// A line of labels: `PAG | scan 0 | steal 0 | … |`.
    fn labelled(&mut self, line: &str, number: usize) -> Result<(), Problem> {
        let mut parts = line.split('|').map(str::trim);
        let name = parts.next().unwrap_or_default().to_owned();
        let fields: Vec<Vec<&str>> =
            parts.filter(|part| !part.is_empty()).map(|part| part.split_whitespace().collect()).collect();
        let is_again = matches!(name.as_str(), "PRC" | "CPU")
            && self.screen.as_ref().is_some_and(|screen| screen.seen.contains(&name));
        if self.screen.is_none() || is_again {
            self.end()?;
            self.begin(None, None, number);
        }
        self.has_table = false;
        let Some(screen) = &mut self.screen else { return Ok(()) };
        if name == "cpu" {
            // `cpu001 w  1%`.
            let own = fields.iter().find_map(|field| field.first().filter(|word| word.starts_with("cpu")));
            if let Some(own) = own.filter(|_| self.cpus.len() < 1 << 14) {
                self.cpus.insert((*own).to_owned());
            }
            return Ok(());
        }
        if !LINES.contains(&name.as_str()) {
            if self.tables_left.len() < 50 {
                self.tables_left.insert(quoted(&name));
            }
            return Ok(());
        }
        screen.seen.insert(name.clone());
        let mut is_wrong = false;
        let mut total = 0.0;
        let mut shares = Vec::new();
        let mut disk = Disk::default();
        let (mut reads, mut writes, mut per_read, mut per_write) = (None, None, None, None);
        for field in &fields {
            let (label, word) = match field.as_slice() {
                [label, word, ..] => (*label, *word),
                [own] if name == "DSK" && disk.name.is_empty() => {
                    disk.name = (*own).to_owned();
                    continue;
                }
                _ => continue,
            };
            if name == "DSK" {
                match label {
                    "read" => reads = count(word),
                    "write" => writes = count(word),
                    "KiB/r" => per_read = count(word),
                    "KiB/w" => per_write = count(word),
                    _ => {}
                }
            }
            match (name.as_str(), label) {
                ("PRC", "sys" | "user") => screen.ran += seconds(word).unwrap_or(0.0),
                ("CPU", "sys" | "user") => screen.percent += word.strip_suffix('%').and_then(decimal).unwrap_or(0.0),
                _ => {}
            }
            if (name.as_str(), label) == ("CPL", "numcpu") {
                self.listing.about("cpus", word);
            }
            let Some(column) = tools::of_atop(&name, label) else { continue };
            let Some(value) = value(column, word, field.get(2).copied()) else {
                is_wrong |= !word.contains(['?', '-']);
                continue;
            };
            match (name.as_str(), column.name) {
                ("CPU", _) => {
                    total += if TIMES.contains(&label) { value } else { 0.0 };
                    shares.push((column, value));
                }
                ("DSK", "disk_read_per_second") => disk.read = Some(value),
                ("DSK", "disk_written_per_second") => disk.written = Some(value),
                ("DSK", "disk_busy_percent") => disk.busy = Some(value),
                ("DSK", _) => disk.wait = Some(value),
                _ if column.counts == Counts::Share => screen.shares.push((column, value)),
                _ if column.is_rate() => {
                    if value > 0.0 {
                        self.counting.insert(column.name);
                    }
                    screen.counted.push((column, value));
                }
                _ => screen.levels.push((column, value)),
            }
        }
        if total > 0.0 {
            screen.shares.extend(shares.into_iter().map(|(column, value)| (column, value / total * 100.0)));
        }
        if name == "DSK" && screen.disks.len() < 1 << 12 {
            // Where there is no room for MBr/s there may be the size of a request.
            let rate = |requests: Option<f64>, size: Option<f64>| Some(requests? * size? / screen.elapsed?);
            disk.read = disk.read.or_else(|| rate(reads, per_read));
            disk.written = disk.written.or_else(|| rate(writes, per_write));
            screen.disks.push(disk);
        }
        if is_wrong {
            self.listing.reject(number, line);
        }
        Ok(())
    }

    /// A row of the process table: its CPU share is the last number before the command.
    fn process(&mut self, line: &str) -> bool {
        let words: Vec<&str> = line.split_whitespace().collect();
        let is_row = words.first().is_some_and(|pid| pid.bytes().all(|byte| byte.is_ascii_digit()));
        let place = words.iter().position(|word| word.strip_suffix('%').is_some_and(|share| decimal(share).is_some()));
        let share = place.and_then(|at| decimal(words[at].trim_end_matches('%')));
        let (true, Some(place), Some(share), Some(screen)) = (is_row, place, share, &self.screen) else { return false };
        // A command that has ended stands in `<…>`.
        let command = words[place + 1..].join(" ");
        self.threads.row(screen.at, command.trim_matches(['<', '>']), share, false);
        true
    }

    /// The screen is over.
    fn end(&mut self) -> Result<(), Problem> {
        self.has_table = false;
        let Some(mut screen) = self.screen.take() else { return Ok(()) };
        self.listing.touch(screen.at);
        for (column, value) in std::mem::take(&mut screen.levels) {
            self.listing.put_decimal(screen.at, column, "", value)?;
        }
        if screen.is_since_boot {
            self.threads.leave_out(screen.at);
            self.since_boot = self.since_boot.take().or(Some(screen));
            return Ok(());
        }
        self.rates(screen)
    }

    fn rates(&mut self, screen: Screen) -> Result<(), Problem> {
        // Of a CPU or more the rounding to a percent does not matter.
        let is_told = screen.percent >= 100.0 && screen.ran >= 1.0;
        let worked_out = || is_told.then(|| (screen.ran / screen.percent * 100.0).round().max(1.0));
        let elapsed = screen.elapsed.or_else(worked_out);
        if let Some(seconds) = elapsed.filter(|_| screen.elapsed.is_none()) {
            self.listing.mark(
                screen.at,
                format!("atop: no heading says the interval; by the CPU time of processes it was about {seconds} s"),
            );
        }
        let mut values = screen.shares;
        match elapsed {
            Some(seconds) => values.extend(screen.counted.into_iter().map(|(column, count)| (column, count / seconds))),
            None => self.no_interval |= !screen.counted.is_empty(),
        }
        shares::put(&mut self.listing, screen.at, &values)?;
        self.disks.put(&mut self.listing, screen.at, &screen.disks)
    }
}

impl Parser for Atop {
    fn line(&mut self, number: usize, line: &str) -> Result<(), Problem> {
        let text = line.trim();
        if text.is_empty() {
            return Ok(());
        }
        if is_heading(line) {
            self.report = None;
            return self.heading(text, number);
        }
        if text.to_ascii_lowercase().contains("activity since boot") {
            if let Some(screen) = &mut self.screen {
                screen.is_since_boot = true;
            }
            return Ok(());
        }
        let words: Vec<&str> = text.split_whitespace().collect();
        if let Some(report) = Report::of(&words) {
            // Each report goes through the same hours anew; a page of one repeats its heading.
            if self.report.as_ref().is_none_or(|before| before.what != report.what) {
                self.running = Running::default();
            }
            self.report = Some(report);
            return Ok(());
        }
        // The date stands behind the host's name, and before each report.
        if text.contains("analysis date:")
            || (self.screen.is_none() && words.last().is_some_and(|word| day(word).is_some()))
        {
            let midnight = words.iter().find_map(|word| day(word)).map(|day| day.midnight);
            if midnight.is_some() && midnight != self.midnight {
                (self.midnight, self.running) = (midnight, Running::default());
            }
            return Ok(());
        }
        if let Some(report) = self.report.take() {
            let is_row = self.report_row(&report, &words, number)?;
            self.report = Some(report);
            if is_row {
                return Ok(());
            }
        }
        let name = text.split('|').next().unwrap_or_default().trim();
        let is_label = text.contains('|') && name.len() <= 4 && name.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if is_label {
            return self.labelled(text, number);
        }
        if words.contains(&"PID") && words.iter().any(|word| word.starts_with("CMD") || word.starts_with("COMMAND")) {
            // Other views have disk, memory or network in the place of the CPU.
            let command = words.iter().position(|word| word.starts_with("CMD") || word.starts_with("COMMAND"));
            let is_cpu = command.and_then(|at| words.get(at.checked_sub(1)?)) == Some(&"CPU") && words[0] == "PID";
            self.has_table = is_cpu;
            return Ok(());
        }
        let is_row = words[0].bytes().all(|byte| byte.is_ascii_digit());
        if (self.has_table && self.process(text)) || (is_row && self.screen.is_some()) {
            return Ok(());
        }
        self.listing.reject(number, line);
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<Listing, Problem> {
        self.end()?;
        if let Some(screen) = self.since_boot.take() {
            let at = screen.at;
            if self.screens > 1 {
                self.listing.gap_between(
                    Some(at),
                    Some(at),
                    Some(SOURCE),
                    GapReason::Other("since_boot".to_owned()),
                    "the first screen of atop is over the time since boot, and its rates were left out",
                );
            } else {
                self.listing.note("atop: its only screen is an average over the time since boot".to_owned());
                self.rates(screen)?;
            }
        }
        if self.listing.columns.is_empty() {
            return Err(self.listing.nothing("line of atop such as `CPU | sys 12% | …`", REMEDY));
        }
        if !self.cpus.is_empty() && !self.listing.about.contains_key("cpus") {
            self.listing.about("cpus", self.cpus.len().to_string());
        }
        std::mem::take(&mut self.threads).put(&mut self.listing)?;
        // Before 2.3 atop looked for `allocstall`, which has been one name per zone since kernel 4.8: it found none and printed 0.
        if !self.counting.contains(STALLS) {
            let is_it = |column: &super::listing::ListedSeries| column.name == STALLS;
            let columns: Vec<u32> =
                (0..).zip(&self.listing.columns).filter(|(_, column)| is_it(column)).map(|(at, _)| at).collect();
            self.listing.leave_out(&columns);
        }
        if self.no_interval {
            self.listing.gap(
                Some(SOURCE),
                GapReason::Other("not_imported".to_owned()),
                "counts of atop were left out: no heading says the length of the interval; --about interval=10s does",
            );
        }
        if !self.has_times {
            let seconds = self.interval.unwrap_or(SECOND) as f64 / SECOND as f64;
            self.listing.note(format!(
                "atop: its screens have no time and are drawn {seconds} s apart; --about interval=10s says another interval"
            ));
        }
        if let Some(detail) = super::words::left_out(Kind::Atop, &self.tables_left, &BTreeSet::new()) {
            self.listing.gap(Some(SOURCE), GapReason::Other("not_imported".to_owned()), detail);
        }
        self.listing.resolution("atop: CPU time in whole percent of one CPU, memory in tenths of the unit printed");
        Ok(self.listing.close())
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{all_near, near, recording, timed, values};
    use super::super::{kinds_in, parse};
    use super::*;
    use crate::recording::Recorded;

    const ATOP: &str = include_str!("../../../../recordings/imports/atop.txt");

    #[test]
    fn screens_of_atop_give_shares_of_all_cpus_levels_and_rates() {
        let imported = recording(&[(Kind::Atop, ATOP)]);
        assert_eq!(imported.ticks(), 3);
        assert_eq!(imported.about("cpus"), Some("2"));
        assert_eq!(imported.about("import.zero"), Some("2026-11-24T00:00:00Z"));
        let user = values(&imported, SOURCE, "cpu_user_percent");
        assert_eq!(user.len(), 2, "the first screen is since boot");
        assert!(near(user[0], 1.05 / 1.98), "{user:?}");
        let switches = values(&imported, SOURCE, "context_switches_per_second");
        assert!(near(switches[0], (3529.0_f64 / 3.0 * 100.0).round() / 100.0), "{switches:?}");
        assert_eq!(values(&imported, "meminfo", "MemTotal").len(), 3, "levels of the first screen count");
        assert!(near(values(&imported, SOURCE, "psi_cpu_some_percent")[0], 0.02));
        assert!(near(values(&imported, SOURCE, "disk_busiest_percent")[0], 0.02));
        assert!((values(&imported, SOURCE, "disk_busiest_wait")[0] - 0.00022).abs() < 1e-9);
        assert!(near(timed(&imported, SOURCE, "thread_cpu_percent", "thread=kdamond.0")[0].1, 0.01));
        assert!(imported.gaps().iter().any(|gap| gap.reason.word() == "since_boot"));
        assert!(imported.gaps().iter().all(|gap| gap.reason != GapReason::NotUnderstood), "{:?}", imported.gaps());
    }

    #[test]
    fn reports_of_atopsar() {
        let text = "host  3.10.0  #1 SMP  x86_64  2017/06/01\n\n\
                    -------------------------- analysis date: 2017/06/01 --------------------------\n\n\
                    21:05:01  cpu  %usr %nice %sys %irq %softirq  %steal %guest  %wait %idle  _cpu_\n\
                    21:15:01  all    48     6 2733    0        1       0      0      3   409\n            \
                    0     1     0   86    0        0       0      0      0    12\n\
                    21:25:01  all    85     5   39    0        2       0      0      8  3061\n\n\
                    21:05:01  memtotal memfree buffers cached dirty slabmem  swptotal swpfree _mem_\n\
                    21:15:01     7804M   1024M     12M   2048M    1M    512M     2048M   2000M\n\n\
                    21:05:01  pagescan/s   swapin/s  swapout/s     commitspc  commitlim   _swap_\n\
                    21:15:01     1234.50       0.00      12.00         4096M      8192M\n";
        let imported = recording(&[(Kind::Atop, text)]);
        assert!(imported.gaps().iter().all(|gap| gap.reason != GapReason::NotUnderstood), "{:?}", imported.gaps());
        assert_eq!(imported.about("import.zero"), Some("2017-06-01T00:00:00Z"));
        let system = values(&imported, SOURCE, "cpu_system_percent");
        assert!(system.len() == 2 && near(system[0], 2734.0 / 3200.0), "{system:?}");
        assert_eq!(values(&imported, "meminfo", "Slab"), [512.0 * 1_048_576.0]);
        assert_eq!(values(&imported, SOURCE, "pages_scanned_per_second"), [1234.5]);
        assert_eq!(
            kinds_in("00:00:01  memtotal memfree buffers cached dirty slabmem  swptotal swpfree _mem_"),
            [Kind::Atop]
        );
    }

    /// As atop 1.27 prints it.
    const OLD: &str = "ATOP - host          2012/06/18  14:10:00          600 seconds elapsed\n\
        PRC | sys   9m40s | user  31m12s | #proc    411 | #zombie    0 | #exit      ? |\n\
        CPU | sys     103% | user    340% | irq       7% | idle    350% | wait    0% |\n\
        CPL | avg1    9.50 | avg5    8.55 | avg15    6.11 | csw 29948e3 | intr   10508 |\n\
        MEM | tot     7.8G | free   50.0M | cache   5.8G | buff    0.8M | slab   67.5M |\n\
        SWP | tot     7.4G | free    6.0G |              | vmcom  12.8G | vmlim  11.4G |\n\
        PAG | scan  7968e3 | stall    600 |              | swin    4800 | swout  60000 |\n\
        DSK |          sda | busy     96% | read     804 | write      14 | avio    4 ms |\n\n\
        PID SYSCPU USRCPU  VGROW  RGROW  RDDSK  WRDSK ST EXC S  CPU CMD     1/3\n\
        341  9m40s  0.00s     0K     0K     0K     0K --   - R  97% kswapd0\n\
        999  0.00s  0.10s -1280K  -748K    28K     0K --   - S   1% apache2\n";

    #[test]
    fn an_old_atop_with_its_interval_in_words() {
        let imported = recording(&[(Kind::Atop, OLD)]);
        assert!(near(values(&imported, SOURCE, "cpu_system_percent")[0], 1.10 / 8.0));
        assert_eq!(values(&imported, SOURCE, "allocstall_per_second"), [1.0]);
        assert_eq!(values(&imported, SOURCE, "pswpout_per_second"), [100.0]);
        assert_eq!(values(&imported, SOURCE, "pages_scanned_per_second"), [13_280.0]);
        assert_eq!(values(&imported, "meminfo", "MemFree"), [50.0 * 1_048_576.0]);
        assert!(all_near(&values(&imported, SOURCE, "disk_busiest_percent"), &[0.96]));
        assert!(near(timed(&imported, SOURCE, "thread_cpu_percent", "thread=kswapd0")[0].1, 0.97));
    }

    #[test]
    fn a_screen_without_its_heading_has_shares_and_levels_and_no_rates() {
        let pasted: String = OLD.lines().skip(2).map(|line| format!("{line}\n")).collect();
        let imported = recording(&[(Kind::Atop, &pasted)]);
        assert!(near(values(&imported, SOURCE, "cpu_system_percent")[0], 1.10 / 8.0));
        assert!(values(&imported, SOURCE, "pswpout_per_second").is_empty());
        assert!(imported.gaps().iter().any(|gap| gap.detail.contains("no heading says the length")));
        let mut assumed = Assumed::default();
        assumed.about("interval", "600s").unwrap();
        let with = super::super::tests::with(&[(Kind::Atop, &pasted)], &assumed);
        assert_eq!(values(&with, SOURCE, "pswpout_per_second"), [100.0]);
    }

    #[test]
    fn the_cpu_time_of_processes_tells_the_interval_that_no_heading_says() {
        let text = "PRC | sys  14.00s | user   0.36s | #proc    338 | #zombie    0 | #exit      0 |\n\
            CPU | sys    764% | user     20% | irq       1% | idle     11% | wait      3% |\n\
            PAG | scan  61632 | stall      0 |              | swin       0 | swout      0 |\n";
        let imported = recording(&[(Kind::Atop, text)]);
        assert_eq!(values(&imported, SOURCE, "pages_scanned_per_second"), [30_816.0]);
        assert!(imported.marks().unwrap().iter().any(|mark| mark.text.contains("about 2 s")));
    }

    #[test]
    fn lengths_counts_and_what_is_none() {
        assert_eq!(seconds("10m15s"), Some(615.0));
        assert_eq!(seconds("4d1h12m12s"), Some(349_932.0));
        assert_eq!(seconds("600"), Some(600.0));
        for word in ["", "s", "0s", "elapsed", "99999999999s"] {
            assert_eq!(seconds(word), None, "{word}");
        }
        assert_eq!(count("2863e3"), Some(2_863_000.0));
        assert_eq!((count("1e99"), count("e3"), count("-----")), (None, None, None));
        assert_eq!(kinds_in("ATOP - host 2012/06/18  14:10:00  10s elapsed"), [Kind::Atop]);
        assert!(parse(Kind::Atop, "nothing\n", &Assumed::default()).is_err());
    }
}

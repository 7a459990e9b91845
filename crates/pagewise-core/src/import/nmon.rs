//! Files of `nmon -f` for Linux (12 to 16n): sections with a header each, and snapshots whose times stand in lines of their own.
//!
//! `ZZZZ,T0001,18:16:05,24-NOV-2026` says when snapshot 1 was; people sort these files, so all is kept until the end. The numbers
//! of `VM` are what was counted since the snapshot before (`VMDELTA` in lnmon.c), all others are levels or rates. For a counter
//! that the kernel does not have under the name nmon looks for it prints 0, so of the names that changed a column of
//! nothing but 0 is no evidence.

use super::disks::{Disk, Disks};
use super::listing::{Listing, ListingClock};
use super::shares;
use super::threads::Threads;
use super::times::{DAY, Running, SECOND, day, time_of_day};
use super::words::{decimal, left_out, quoted};
use super::{Kind, Parser, Problem, SOURCE};
use crate::counter::tools::{self, Column};
use crate::recording::GapReason;
use std::collections::{BTreeMap, BTreeSet};

const REMEDY: &str = "give the file that `nmon -f -t -s 10 -c 60` writes, as it is";

/// Numbers that are kept until the end of a file.
const MOST_NUMBERS: usize = 1 << 24;

/// No host runs without it: where it never counts, nmon read `/proc/vmstat` by places that had moved (versions to 13).
const FAULTS: &str = "pgfault_per_second";

/// Counters whose names changed between kernels, by their series.
const RENAMED: [&str; 4] = ["allocstall_per_second", "pgscank_per_second", "pgscand_per_second", "pgsteal_per_second"];

/// Sections that hold something for which there are columns, or that need no mention.
const SECTIONS: [&str; 9] = ["CPU_ALL", "MEM", "VM", "PROC", "DISKREAD", "DISKWRITE", "DISKBUSY", "TOP", "BBBP"];

/// A section of a snapshot, apart from what is of single disks.
#[derive(Debug, Default)]
struct Snapshot {
    time: Option<i64>,
    levels: Vec<(&'static Column, f64)>,
    /// Counted since the snapshot before.
    counted: Vec<(&'static Column, f64)>,
    disks: BTreeMap<String, Disk>,
}

#[derive(Debug)]
pub(super) struct Nmon {
    listing: Listing,
    headers: BTreeMap<String, Vec<String>>,
    snapshots: BTreeMap<u32, Snapshot>,
    threads: Threads,
    disks: Disks,
    /// Series that were seen with more than 0.
    counting: BTreeSet<&'static str>,
    held: usize,
    tables_left: BTreeSet<String>,
    columns_left: BTreeSet<String>,
}

/// Whether a line is one of the first ones of such a file.
pub(super) fn recognises(line: &str) -> bool {
    let mut parts = line.split(',');
    match (parts.next(), parts.next()) {
        (Some("AAA"), Some(key)) => matches!(key, "progname" | "command" | "version" | "disks_per_line" | "host"),
        (Some("ZZZZ"), Some(number)) => snapshot(number).is_some(),
        _ => false,
    }
}

/// `T0001`.
fn snapshot(word: &str) -> Option<u32> {
    let digits =
        word.strip_prefix('T').filter(|digits| digits.len() >= 4 && digits.bytes().all(|byte| byte.is_ascii_digit()));
    digits?.parse().ok()
}

/// `24-NOV-2026`.
fn date(word: &str) -> Option<i64> {
    const MONTHS: [&str; 12] = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
    let parts: Vec<&str> = word.trim().split('-').collect();
    let [date, month, year] = parts.as_slice() else { return None };
    let month = MONTHS.iter().position(|known| month.eq_ignore_ascii_case(known))?;
    Some(day(&format!("{year}-{:02}-{date:0>2}", month + 1))?.midnight)
}

/// `DISKREAD1` is the second part of a section with many disks.
fn section(word: &str) -> &str {
    if word.starts_with("DISK") { word.trim_end_matches(|c: char| c.is_ascii_digit()) } else { word }
}

/// What nmon does not know it prints below 0, such as `-1.0` and `-0.0`.
fn known(word: &str) -> Option<f64> {
    decimal(word.trim()).filter(|_| !word.trim().starts_with('-'))
}

impl Nmon {
    pub(super) fn new() -> Nmon {
        Nmon {
            listing: Listing::new(Kind::Nmon, ListingClock::Local),
            headers: BTreeMap::new(),
            snapshots: BTreeMap::new(),
            threads: Threads::default(),
            disks: Disks::default(),
            counting: BTreeSet::new(),
            held: 0,
            tables_left: BTreeSet::new(),
            columns_left: BTreeSet::new(),
        }
    }

    /// `AAA,OS,Linux,6.18.44,#1 SMP …` and the like.
    fn about(&mut self, parts: &[&str]) -> Result<(), Problem> {
        match parts {
            ["OS", "Linux", kernel, ..] => self.listing.about("kernel", kernel.trim()),
            ["cpus", cpus, ..] if cpus.trim().parse::<u32>().is_ok_and(|cpus| cpus > 0) => {
                self.listing.about("cpus", cpus.trim());
            }
            ["AIX", ..] => {
                return Err(Problem::of_file("it is of AIX, and only nmon of Linux is read", REMEDY));
            }
            _ => {}
        }
        Ok(())
    }

    fn hold(&mut self, count: usize) -> Result<(), Problem> {
        self.held += count;
        if self.held > MOST_NUMBERS {
            return Err(Problem::of_file(format!("it holds more than {MOST_NUMBERS} numbers"), "cut it into parts"));
        }
        Ok(())
    }

    fn header(&mut self, name: &str, parts: &[&str]) {
        const MOST: usize = 500;
        let own = section(name);
        if !SECTIONS.contains(&own) {
            let is_part = name.strip_prefix("CPU").is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()));
            if !is_part && self.tables_left.len() < MOST {
                self.tables_left.insert(quoted(name));
            }
            return;
        }
        let is_disks = own.starts_with("DISK");
        for word in parts.iter().filter(|_| !is_disks && own != "TOP") {
            if tools::of_nmon(own, word).is_none() && self.columns_left.len() < MOST {
                self.columns_left.insert(format!("{own} {}", quoted(word)));
            }
        }
        if self.headers.len() < MOST {
            self.headers.insert(name.to_owned(), parts.iter().map(|part| part.trim().to_owned()).collect());
        }
    }

    fn row(&mut self, name: &str, number: u32, parts: &[&str], at_line: usize, line: &str) -> Result<(), Problem> {
        let own = section(name);
        let Some(header) = self.headers.get(name) else {
            if SECTIONS.contains(&own) && own != "BBBP" {
                self.listing.reject(at_line, line);
            }
            return Ok(());
        };
        if parts.len() > header.len() {
            self.listing.reject(at_line, line);
            return Ok(());
        }
        let snapshot = self.snapshots.entry(number).or_default();
        let mut count = 0;
        for (heading, word) in header.iter().zip(parts) {
            let Some(value) = known(word) else { continue };
            count += 1;
            if own.starts_with("DISK") {
                let disk = snapshot.disks.entry(heading.clone()).or_default();
                disk.name.clone_from(heading);
                match own {
                    "DISKREAD" => disk.read = Some(value),
                    "DISKWRITE" => disk.written = Some(value),
                    _ => disk.busy = Some(value),
                }
                continue;
            }
            let Some(column) = tools::of_nmon(own, heading) else { continue };
            if value > 0.0 {
                self.counting.insert(column.name);
            }
            // MEM is in MiB.
            let value = if own == "MEM" { value * 1024.0 } else { value };
            let is_counted = own == "VM" && column.is_rate();
            let list = if is_counted { &mut snapshot.counted } else { &mut snapshot.levels };
            match list.iter_mut().find(|(known, _)| known.name == column.name) {
                // Zones of a counter.
                Some((_, sum)) => *sum += value,
                None => list.push((column, value)),
            }
        }
        self.hold(count)
    }

    /// `TOP,0001234,T0001,98.50,…,kswapd0,…`.
    fn process(&mut self, parts: &[&str], at_line: usize, line: &str) {
        let place = |name: &str| self.headers.get("TOP")?.iter().position(|heading| heading == name);
        let word = |name: &str| parts.get(place(name)?).map(|word| word.trim());
        let number = parts.get(2).and_then(|word| snapshot(word));
        let percent = word("%CPU").and_then(known);
        let (Some(number), Some(percent), Some(command)) = (number, percent, word("Command")) else {
            self.listing.reject(at_line, line);
            return;
        };
        // Kernel threads have no memory of their own.
        let is_program = word("Size").and_then(known).is_some_and(|size| size > 0.0);
        self.threads.row(i64::from(number), command, percent, is_program);
    }

    fn take(&mut self) -> Result<(), Problem> {
        let mut running = Running::default();
        let mut instants = BTreeMap::new();
        let mut before: Option<i64> = None;
        for (index, (number, snapshot)) in std::mem::take(&mut self.snapshots).into_iter().enumerate() {
            let Some(time) = snapshot.time else { continue };
            let at = self.listing.instant(&mut running, time, time >= DAY, 0);
            instants.insert(i64::from(number), at);
            // Rates of the first snapshot that need the one before are 0, and not known (`proc_first_time` in lnmon.c).
            let is_misread = !self.counting.contains(FAULTS);
            let is_unknown = |column: &Column| {
                (index == 0 && matches!(column.name, "context_switches_per_second" | "forks_per_second"))
                    || (RENAMED.contains(&column.name) && !self.counting.contains(column.name))
            };
            let mut values = snapshot.levels;
            let seconds = before.map(|before| at.saturating_sub(before) as f64 / SECOND as f64);
            if let Some(seconds) = seconds.filter(|seconds| *seconds >= 1.0 && !is_misread) {
                values.extend(snapshot.counted.into_iter().map(|(column, count)| (column, count / seconds)));
            }
            values.retain(|(column, _)| !is_unknown(column));
            self.listing.touch(at);
            shares::put(&mut self.listing, at, &values)?;
            let disks: Vec<Disk> = snapshot.disks.into_values().collect();
            self.disks.put(&mut self.listing, at, &disks)?;
            before = Some(at);
        }
        let threads = std::mem::take(&mut self.threads);
        threads.moved(&instants).put(&mut self.listing)
    }
}

impl Parser for Nmon {
    fn line(&mut self, number: usize, line: &str) -> Result<(), Problem> {
        let parts: Vec<&str> = line.trim().split(',').collect();
        match parts.as_slice() {
            [""] => {}
            ["AAA", rest @ ..] => return self.about(rest),
            ["BBBP", ..] => {}
            ["ZZZZ", word, clock, rest @ ..] => {
                let time = time_of_day(clock.trim(), None);
                let midnight = rest.first().and_then(|word| date(word));
                let Some((own, time)) = snapshot(word).zip(time) else {
                    self.listing.reject(number, line);
                    return Ok(());
                };
                if midnight.is_none() {
                    self.listing.clock = ListingClock::TimeOfDay;
                }
                self.hold(1)?;
                self.snapshots.entry(own).or_default().time = Some(midnight.unwrap_or(0) + time);
            }
            ["TOP", "+PID", rest @ ..] => {
                let header: Vec<String> =
                    ["TOP", "+PID"].iter().chain(rest).map(|part| part.trim().to_owned()).collect();
                self.headers.insert("TOP".to_owned(), header);
            }
            ["TOP", _] => {}
            ["TOP", ..] => self.process(&parts, number, line),
            [name, word, rest @ ..] => match snapshot(word) {
                Some(own) => return self.row(name, own, rest, number, line),
                None if name.bytes().next().is_some_and(|byte| byte.is_ascii_uppercase()) => self.header(name, rest),
                None => self.listing.reject(number, line),
            },
            _ => self.listing.reject(number, line),
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<Listing, Problem> {
        let has_numbers =
            self.snapshots.values().any(|snapshot| !snapshot.levels.is_empty() || !snapshot.disks.is_empty());
        if has_numbers && self.snapshots.values().all(|snapshot| snapshot.time.is_none()) {
            let what = "its snapshots have no times: there is no line that begins with ZZZZ";
            return Err(Problem::of_file(what, "give the whole file"));
        }
        if !has_numbers {
            return Err(self.listing.nothing("snapshot of nmon", REMEDY));
        }
        self.take()?;
        let is_misread = self.headers.contains_key("VM") && !self.counting.contains(FAULTS);
        if is_misread {
            let detail =
                "what VM counted was left out: not one page fault is in it, so nmon took other counters for these";
            self.listing.gap(Some(SOURCE), GapReason::Other("not_imported".to_owned()), detail);
        }
        let never: Vec<&str> = RENAMED.into_iter().filter(|name| !self.counting.contains(name)).collect();
        if !never.is_empty() && !is_misread && self.headers.contains_key("VM") {
            let detail = format!(
                "{} are 0 in all of it and were left out: nmon prints 0 for counters that the kernel has under other names",
                never.join(", ")
            );
            self.listing.gap(Some(SOURCE), GapReason::Other("not_imported".to_owned()), detail);
        }
        if let Some(detail) = left_out(Kind::Nmon, &self.tables_left, &self.columns_left) {
            self.listing.gap(Some(SOURCE), GapReason::Other("not_imported".to_owned()), detail);
        }
        self.listing.resolution("nmon: shares with one decimal, memory in tenths of a MiB, over the interval before");
        Ok(self.listing.close())
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{near, recording, timed, values};
    use super::super::{Assumed, kinds_in, parse};
    use super::*;
    use crate::recording::Recorded;

    const NMON: &str = include_str!("../../../../recordings/imports/nmon.txt");

    #[test]
    fn a_file_of_nmon_gives_shares_levels_disks_and_rates_of_what_it_counted() {
        let imported = recording(&[(Kind::Nmon, NMON)]);
        assert_eq!(imported.ticks(), 4);
        assert_eq!((imported.about("kernel"), imported.about("cpus")), (Some("6.18.44-fc-v669"), Some("2")));
        assert_eq!(imported.about("import.zero"), Some("2026-11-24T00:00:00Z"));
        assert!(near(values(&imported, SOURCE, "cpu_user_percent")[0], 0.521));
        assert!(near(values(&imported, SOURCE, "cpu_busy_percent")[1], 0.549));
        assert!(near(values(&imported, SOURCE, "cpu_steal_percent")[0], 0.032));
        assert_eq!(values(&imported, "meminfo", "MemFree")[0], (19_207.8 * 1024.0_f64).round() * 1024.0);
        assert_eq!(values(&imported, SOURCE, "procs_running")[..2], [2.0, 3.0]);
        let faults = values(&imported, SOURCE, "pgfault_per_second");
        assert_eq!((faults.len(), faults[0]), (3, 3307.0 / 2.0), "of the first snapshot the time is not known");
        assert!(near(values(&imported, SOURCE, "context_switches_per_second")[0], 978.3), "nor its switches");
        assert_eq!(values(&imported, "vmstat", "nr_dirty")[0], 1035.0);
        assert!(near(values(&imported, SOURCE, "disk_busiest_percent")[0], 0.027));
        assert!((values(&imported, SOURCE, "disk_read_per_second")[0] - 667.9 * 1024.0).abs() < 1.0);
        let thread = timed(&imported, SOURCE, "thread_cpu_percent", "thread=kdamond.0");
        assert!(near(thread[0].1, 0.015), "{thread:?}");
        assert!(values(&imported, SOURCE, "allocstall_per_second").is_empty(), "0 of nmon is no 0");
        assert!(imported.gaps().iter().any(|gap| gap.detail.contains("allocstall_per_second")));
        assert!(imported.gaps().iter().all(|gap| gap.reason != GapReason::NotUnderstood), "{:?}", imported.gaps());
    }

    #[test]
    fn a_sorted_file_says_the_same() {
        let mut lines: Vec<&str> = NMON.lines().collect();
        lines.sort_unstable();
        let sorted = recording(&[(Kind::Nmon, &(lines.join("\n") + "\n"))]);
        let plain = recording(&[(Kind::Nmon, NMON)]);
        for name in ["cpu_busy_percent", "pgfault_per_second", "disk_busiest_percent"] {
            assert_eq!(timed(&sorted, SOURCE, name, ""), timed(&plain, SOURCE, name, ""), "{name}");
        }
    }

    #[test]
    fn kswapd_and_zones_of_an_old_kernel() {
        let text = "AAA,progname,nmon_x86_64_rhel5\nAAA,OS,Linux,2.6.18-194.el5,#1 SMP,x86_64\nAAA,cpus,16\n\
            VM,Paging and Virtual Memory,nr_dirty,pgfault,pswpout,allocstall,pgsteal_high,pgsteal_normal,pgsteal_dma,pgscan_direct_high,pgscan_direct_normal\n\
            CPU_ALL,CPU Total host,User%,Sys%,Wait%,Idle%,Busy,CPUs\n\
            TOP,%CPU Utilisation\nTOP,+PID,Time,%CPU,%Usr,%Sys,Size,ResSet,ResText,ResData,ShdLib,MinorFault,MajorFault,Command\n\
            ZZZZ,T0001,10:00:00,18-JUN-2012\nCPU_ALL,T0001,14.5,13.6,17.8,54.1,,16\nVM,T0001,9,5000,100,7,1,2,3,4,5\n\
            ZZZZ,T0002,10:01:00,18-JUN-2012\nCPU_ALL,T0002,13.1,55.4,4.4,27.1,,16\nVM,T0002,9,6000,600,120,60,600,0,60,540\n\
            TOP,0000341,T0002,99.10,0.00,99.10,0,0,0,0,0,0,0,kswapd0\n\
            TOP,0000999,T0002,99.10,0.00,99.10,512,0,0,0,0,0,0,kswapd1\n\
            TOP,0001000,T0002,0.30,0.00,0.30,512,0,0,0,0,0,0,sshd\n";
        let imported = recording(&[(Kind::Nmon, text)]);
        assert_eq!(values(&imported, SOURCE, "allocstall_per_second"), [2.0]);
        assert_eq!(values(&imported, SOURCE, "pgsteal_per_second"), [11.0]);
        assert_eq!(values(&imported, SOURCE, "pgscand_per_second"), [10.0]);
        assert!(near(timed(&imported, SOURCE, "thread_cpu_percent", "thread=kswapd0")[0].1, 0.991));
        assert!(
            timed(&imported, SOURCE, "thread_cpu_percent", "thread=kswapd1").is_empty(),
            "it has memory: a program"
        );
    }

    #[test]
    fn counters_without_a_page_fault_are_those_of_other_places() {
        let text = "AAA,progname,nmon\nVM,Paging and Virtual Memory,nr_dirty,pgfault,pswpout,allocstall\n\
            CPU_ALL,CPU Total host,User%,Sys%,Wait%,Idle%\n\
            ZZZZ,T0001,10:00:00,18-JUN-2012\nCPU_ALL,T0001,1.0,2.0,3.0,94.0\nVM,T0001,-1,-1,0,3006964\n\
            ZZZZ,T0002,10:00:10,18-JUN-2012\nCPU_ALL,T0002,1.0,2.0,3.0,94.0\nVM,T0002,-1,0,0,635\n";
        let imported = recording(&[(Kind::Nmon, text)]);
        assert!(values(&imported, SOURCE, "allocstall_per_second").is_empty());
        assert!(imported.gaps().iter().any(|gap| gap.detail.contains("not one page fault")));
    }

    #[test]
    fn what_is_missing_is_named() {
        let problem = |text: &str| parse(Kind::Nmon, text, &Assumed::default()).unwrap_err().what;
        let head = "AAA,progname,nmon\nCPU_ALL,CPU Total host,User%,Sys%,Wait%,Idle%\n";
        assert!(problem(&format!("{head}CPU_ALL,T0001,1.0,2.0,3.0,94.0\n")).contains("ZZZZ"));
        assert!(problem("AAA,progname,topas_nmon\nAAA,AIX,7.1.3\n").contains("AIX"));
        assert!(problem("nothing\n").contains("'nothing'"));
        assert_eq!(kinds_in("AAA,progname,nmon"), [Kind::Nmon]);
        assert_eq!(kinds_in("ZZZZ,T0001,10:00:00,18-JUN-2012"), [Kind::Nmon]);
    }
}

//! `perf stat`: what was counted over a run, or interval by interval (`-I`). Cycles and page walks are taken, from which it follows what
//! looking up translations costs, and page faults beside the CPU time of what was watched (`print_counter_line` and `print_footer`, tools/perf/util/stat-display.c, 6.12).

use super::listing::{Listing, ListingClock};
use super::times::SECOND;
use super::words::{decimal, quoted};
use super::{Kind, Parser, Problem};
use crate::counter::tools::{self, Column};
use crate::recording::GapReason;
use std::collections::BTreeSet;

const REMEDY: &str = "give what `perf stat -a -e cycles,dtlb_load_misses.walk_active,dtlb_store_misses.walk_active sleep 30` prints \
                      (Intel from Skylake on; `walk_duration` before), with its last lines";

/// No run and no interval is longer, in seconds.
const LONGEST: f64 = 1e9;

/// A line that names an event.
#[derive(Clone, Debug)]
struct Row<'l> {
    /// Seconds since the beginning, of an interval.
    at: Option<f64>,
    /// `None`: it was not counted.
    count: Option<f64>,
    event: &'l str,
    column: &'static Column,
}

fn is_head(line: &str) -> bool {
    line.trim_start().starts_with("Performance counter stats for")
}

pub(super) fn recognises(line: &str) -> bool {
    is_head(line) || row(line).is_some()
}

/// `9,234,567,890  dtlb_load_misses.walk_active  (66.7%)`, with a time in front with `-I`; `<not supported>  cycles`.
fn row(line: &str) -> Option<Row<'_>> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let (at, words) = match words.split_first() {
        Some((first, rest)) if time(first).is_some() => (time(first), rest),
        _ => (None, words.as_slice()),
    };
    if let ["<not", "supported>" | "counted>", event, ..] = words {
        return Some(Row { at, count: None, event, column: tools::of_perf_stat(&plain(event))? });
    }
    // Some languages put a blank between groups of three digits.
    let is_group = |word: &&&str| word.bytes().all(|byte| byte.is_ascii_digit() || b",.'".contains(&byte));
    let groups = words.iter().take_while(is_group).count().max(1);
    let (number, rest) = words.split_at_checked(groups)?;
    // `33.03 msec task-clock`, `33.03 task-clock (msec)` and, before Linux 3.x, `33.03 task-clock-msecs`.
    let (event, count) = match *rest {
        ["msec", event, ..] => (event, milliseconds(number)? / MILLISECONDS_OF_A_PERCENT),
        [event, ..] if plain(event).starts_with("task-clock") => {
            (event, milliseconds(number)? / MILLISECONDS_OF_A_PERCENT)
        }
        [event, ..] => (event, count(&number.join("\u{202f}"))?),
        [] => return None,
    };
    let name = plain(event);
    Some(Row { at, count: Some(count), event, column: tools::of_perf_stat(name.trim_end_matches("-msecs"))? })
}

/// One percent of a CPU is so much CPU time in a second.
const MILLISECONDS_OF_A_PERCENT: f64 = 10.0;

/// `33.03`, `79,999.12`, `1 234,5`: with a point or a comma before the decimals, and something between groups of three.
fn milliseconds(number: &[&str]) -> Option<f64> {
    let text = number.concat();
    let (whole, decimals) = text.rsplit_once(['.', ',']).unwrap_or((&text, ""));
    let decimals = if decimals.is_empty() { "0" } else { decimals };
    let is_number = decimals.bytes().all(|byte| byte.is_ascii_digit());
    let fraction: f64 = format!("0.{decimals}").parse().ok().filter(|_| is_number)?;
    Some(count(whole)? + fraction)
}

/// `cpu_core/cycles/u` and `cycles:u` are cycles.
fn plain(event: &str) -> String {
    let inner = event.split('/').nth(1).filter(|inner| !inner.is_empty()).unwrap_or(event);
    inner.split(':').next().unwrap_or(inner).to_ascii_lowercase()
}

/// Whole numbers, with whatever the language of the user puts between groups of three digits.
fn count(word: &str) -> Option<f64> {
    let groups: Vec<&str> = word.split([',', '.', '\'', '\u{202f}', '\u{a0}']).collect();
    let is_number = |group: &&str| !group.is_empty() && group.bytes().all(|byte| byte.is_ascii_digit());
    let (first, rest) = groups.split_first()?;
    let is_grouped = rest.is_empty() || (first.len() <= 3 && rest.iter().all(|group| group.len() == 3));
    (groups.iter().all(is_number) && is_grouped).then(|| groups.concat().parse().ok())?
}

/// `1.000123456`: seconds with nine digits behind the point.
fn time(word: &str) -> Option<f64> {
    let (_, fraction) = word.split_once(['.', ','])?;
    decimal(word).filter(|seconds| fraction.len() == 9 && (0.0..=LONGEST).contains(seconds))
}

/// `10.001234567 seconds time elapsed`, with `+- 0.01` behind the number where it ran several times.
fn elapsed(line: &str) -> Option<f64> {
    let (number, _) = line.trim().split_once("seconds time elapsed")?;
    decimal(number.split_whitespace().next()?).filter(|seconds| *seconds > 0.0 && *seconds <= LONGEST)
}

#[derive(Debug)]
pub(super) struct PerfStat {
    listing: Listing,
    /// Counted over a run whose length comes below.
    open: Vec<(&'static Column, f64)>,
    /// The end of the last run or interval, and the beginning of the interval that is read, in nanoseconds.
    end: i64,
    begin: i64,
    /// Where the run began whose intervals are read.
    base: i64,
    not_counted: BTreeSet<String>,
}

impl PerfStat {
    pub(super) fn new() -> PerfStat {
        PerfStat {
            listing: Listing::new(Kind::PerfStat, ListingClock::Foreign),
            open: Vec::new(),
            end: 0,
            begin: 0,
            base: 0,
            not_counted: BTreeSet::new(),
        }
    }

    /// What was counted over a run of this length.
    fn close(&mut self, seconds: f64) -> Result<(), Problem> {
        let counted = std::mem::take(&mut self.open);
        if counted.is_empty() {
            return Ok(());
        }
        self.end = self.end.saturating_add((seconds * SECOND as f64) as i64);
        for (column, count) in counted {
            self.listing.put_decimal(self.end, column, "", count / seconds)?;
            if let Some(all) = tools::find("command_faults").filter(|_| column.name == "command_faults_per_second") {
                self.listing.put_decimal(self.end, all, "", count)?;
            }
        }
        Ok(())
    }

    /// Without the line that says how long it took. Parts of each other are right all the same.
    fn close_untimed(&mut self) -> Result<(), Problem> {
        if !self.open.is_empty() {
            let detail = "how long it counted is not told ('seconds time elapsed'): taken as a second, so only parts of each other are right";
            self.listing.gap(Some(super::SOURCE), GapReason::Other("no_time".to_owned()), detail);
        }
        self.close(1.0)
    }

    /// A count of an interval that ended so many seconds after the run began.
    fn interval(&mut self, seconds: f64, column: &'static Column, count: f64) -> Result<(), Problem> {
        let mut at = self.base.saturating_add((seconds * SECOND as f64) as i64);
        if at < self.end {
            // Another run.
            self.base = self.end;
            at = self.base.saturating_add((seconds * SECOND as f64) as i64);
        }
        if at > self.end {
            (self.begin, self.end) = (self.end, at);
        }
        let length = (at - self.begin) as f64 / SECOND as f64;
        if length > 0.0 { self.listing.put_decimal(at, column, "", count / length) } else { Ok(()) }
    }
}

impl Parser for PerfStat {
    fn line(&mut self, number: usize, line: &str) -> Result<(), Problem> {
        if is_head(line) {
            return self.close_untimed();
        }
        if let Some(seconds) = elapsed(line) {
            return self.close(seconds);
        }
        match row(line) {
            Some(Row { count: None, event, .. }) => {
                if self.not_counted.len() < 200 {
                    self.not_counted.insert(quoted(event));
                }
                Ok(())
            }
            Some(Row { at: Some(seconds), count: Some(count), column, .. }) => self.interval(seconds, column, count),
            Some(Row { at: None, count: Some(count), column, .. }) => {
                // An event twice: another run, of which the end was left out.
                if self.open.iter().any(|(other, _)| other.name == column.name) {
                    self.close_untimed()?;
                }
                self.open.push((column, count));
                Ok(())
            }
            None => {
                if !line.trim().is_empty() {
                    self.listing.reject(number, line);
                }
                Ok(())
            }
        }
    }

    fn finish(mut self: Box<Self>) -> Result<Listing, Problem> {
        self.close_untimed()?;
        if !self.not_counted.is_empty() {
            let names: Vec<&str> = self.not_counted.iter().map(String::as_str).take(5).collect();
            let detail = format!("perf could not count {} there", names.join(", "));
            self.listing.gap(Some(super::SOURCE), GapReason::Other("not_counted".to_owned()), detail);
        }
        if self.listing.columns.is_empty() {
            return Err(self.listing.nothing("count of cycles, page walks or page faults", REMEDY));
        }
        Ok(self.listing)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{recording, values};
    use super::super::{SOURCE, kinds_in};
    use super::*;
    use crate::recording::Recorded;

    const WALKS: &str = include_str!("../../../../recordings/imports/perf-stat.txt");

    #[test]
    fn a_run_gives_rates_over_its_length() {
        assert_eq!(kinds_in(WALKS), [Kind::PerfStat]);
        let imported = recording(&[(Kind::PerfStat, WALKS)]);
        let rate = |name: &str| values(&imported, SOURCE, name)[0];
        assert!((rate("cpu_cycles_per_second") - 291_350_355_880.0 / 96.873_898_071).abs() < 1.0);
        assert!((rate("load_walk_cycles_per_second") - 30_179_920_415.0 / 96.873_898_071).abs() < 1.0);
    }

    #[test]
    fn intervals_are_counted_each_by_itself() {
        let text = "#           time             counts unit events\n     1.000123456      1,000,000      cycles\n     \
                    1.000123456        200,000      dtlb_load_misses.walk_duration:u\n     3.000123456      4,000,000      cycles\n";
        let imported = recording(&[(Kind::PerfStat, text)]);
        let cycles = values(&imported, SOURCE, "cpu_cycles_per_second");
        assert_eq!(cycles.len(), 2);
        assert!((cycles[1] - 2e6).abs() < 1.0, "{cycles:?}");
    }

    #[test]
    fn numbers_are_whole_in_every_language_and_times_are_none() {
        for (word, number) in [
            ("1,234,567", Some(1_234_567.0)),
            ("1.234.567", Some(1_234_567.0)),
            ("1234567", Some(1_234_567.0)),
            ("1\u{202f}234", Some(1234.0)),
            ("79,999.12", None),
            ("10.001234567", None),
            ("12,34", None),
        ] {
            assert_eq!(count(word), number, "{word}");
        }
        let of = |line: &str| row(line).map(|row| (row.column.name, row.count.unwrap()));
        assert_eq!(
            of(" 289 880 133      dTLB-load-misses   #   67,68% of all dTLB cache hits   (36,44%)").unwrap().1,
            289_880_133.0
        );
        for line in [
            "     79,999.12 msec task-clock:u   #    8.000 CPUs utilized",
            "     79 999,12      task-clock (msec)         #    8,000 CPUs utilized",
            "  79999.120000  task-clock-msecs         #      8.000 CPUs",
        ] {
            let (name, percent) = of(line).unwrap();
            assert!(name == "command_cpu_percent" && (percent - 7_999.912).abs() < 1e-6, "{line}: {percent}");
        }
        assert!(row("     79,999.12 msec cpu-clock   #    8.000 CPUs utilized").is_none());
        assert!(row("   123,456      cycles2").is_none());
    }

    #[test]
    fn what_was_not_counted_is_said_and_a_run_without_its_end_is_taken_as_a_second() {
        let text = "   <not supported>      dtlb_store_misses.walk_active\n   4,000  cpu_core/cycles/\n";
        let imported = recording(&[(Kind::PerfStat, text)]);
        assert_eq!(values(&imported, SOURCE, "cpu_cycles_per_second"), [4000.0]);
        let details: Vec<&str> = imported.gaps().iter().map(|gap| gap.detail.as_str()).collect();
        assert!(details.iter().any(|detail| detail.contains("dtlb_store_misses.walk_active")), "{details:?}");
        assert!(details.iter().any(|detail| detail.contains("seconds time elapsed")), "{details:?}");
    }
}

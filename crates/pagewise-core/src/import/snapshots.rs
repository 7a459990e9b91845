//! Snapshots of a host that follow each other in a text: levels count at each; running totals only where a number was read
//! at least twice and the time between is known, under the kernel's own names, so that they are as in a recording.

use super::listing::{Listing, ListingClock, count};
use super::readings::keep_growth;
use super::times::{DAY, Running, SECOND, Stamp};
use super::{Kind, Problem, SOURCE};
use crate::counter::Kind as Moves;
use crate::recording::{GapReason, RawUnit};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Reasons of gaps: numbers whose time is not known, and totals of one instant.
pub(crate) const NO_TIME: &str = "no_time";
pub(super) const ONE_INSTANT: &str = "one_instant";

/// No text has more numbers.
const MOST_NUMBERS: usize = 1 << 24;

/// A number of a kernel file.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct KernelNumber<'a> {
    pub(super) source: &'static str,
    pub(super) name: &'a str,
    pub(super) labels: &'a str,
    pub(super) unit: RawUnit,
    pub(super) moves: Moves,
    pub(super) value: u64,
}

#[derive(Clone, Debug, Default)]
struct Snapshot {
    line: usize,
    stamp: Option<Stamp>,
    values: HashMap<u32, u64>,
    /// Columns that are sums of others, such as the time of all CPUs.
    sums: BTreeSet<u32>,
}

/// What a text says, snapshot by snapshot.
#[derive(Debug)]
pub(super) struct Snapshots {
    pub(super) listing: Listing,
    totals: BTreeSet<u32>,
    done: Vec<Snapshot>,
    open: Snapshot,
    /// Numbers with an instant of their own.
    timed: BTreeMap<i64, Snapshot>,
    interval: Option<i64>,
    held: usize,
}

impl Snapshots {
    pub(super) fn new(kind: Kind, interval: Option<i64>) -> Snapshots {
        Snapshots {
            listing: Listing::new(kind, ListingClock::Foreign),
            totals: BTreeSet::new(),
            done: Vec::new(),
            open: Snapshot::default(),
            timed: BTreeMap::new(),
            interval,
            held: 0,
        }
    }

    /// `sleep 10` between two snapshots, unless the caller said how long.
    pub(super) fn pause(&mut self, line: &str) {
        let words: Vec<&str> = line.split([' ', ';', '\t']).filter(|word| !word.is_empty()).collect();
        let of = |pair: &[&str]| match pair {
            ["sleep", seconds] => super::times::seconds(seconds.trim_end_matches('s')),
            ["-n", seconds] if words.contains(&"watch") => super::times::seconds(seconds),
            _ => None,
        };
        let seconds = words.windows(2).find_map(of).filter(|length| (1..=DAY).contains(length));
        self.interval = self.interval.or(seconds);
    }

    /// What follows was read at this instant.
    pub(super) fn stamp(&mut self, stamp: Stamp) {
        if !self.open.values.is_empty() {
            self.close();
        }
        self.open.stamp = Some(stamp);
    }

    /// The snapshot that is being read says itself when it was.
    pub(super) fn own_time(&mut self, at: i64) {
        self.open.stamp = Some(Stamp { at, clock: ListingClock::Utc });
    }

    /// The first snapshot has no instant, all others have, and one stands below the last: each stands below its snapshot.
    fn stamps_are_below(&self) -> bool {
        let mut stamps = self.done.iter().map(|one| one.stamp.is_some());
        stamps.next() == Some(false) && stamps.all(|has| has)
    }

    fn close(&mut self) {
        self.done.push(std::mem::take(&mut self.open));
    }

    /// A number. Where the snapshot has it already, the next one begins.
    pub(super) fn put(&mut self, taken: &KernelNumber<'_>, at: Option<i64>, line: usize) -> Result<(), Problem> {
        let column = self.column(taken);
        if at.is_none() && self.open.values.contains_key(&column) {
            self.close();
        }
        let snapshot = at.map_or(&mut self.open, |at| self.timed.entry(at).or_default());
        if snapshot.values.is_empty() {
            snapshot.line = line;
        }
        snapshot.values.entry(column).or_insert(taken.value);
        self.count()
    }

    /// A part of a sum.
    pub(super) fn add(&mut self, taken: &KernelNumber<'_>, at: Option<i64>) -> Result<(), Problem> {
        let column = self.column(taken);
        let snapshot = at.map_or(&mut self.open, |at| self.timed.entry(at).or_default());
        // What the text itself gives as the whole is not added to.
        if snapshot.values.is_empty() || snapshot.sums.contains(&column) || !snapshot.values.contains_key(&column) {
            let sum = snapshot.values.entry(column).or_default();
            *sum = sum.saturating_add(taken.value);
            snapshot.sums.insert(column);
        }
        self.count()
    }

    fn column(&mut self, taken: &KernelNumber<'_>) -> u32 {
        let column = self.listing.column_of(taken.source, taken.name, taken.labels, taken.unit, taken.moves);
        if taken.moves == Moves::Counter {
            self.totals.insert(column);
        }
        column
    }

    fn count(&mut self) -> Result<(), Problem> {
        self.held += 1;
        if self.held > MOST_NUMBERS {
            let what = format!("it holds more than {MOST_NUMBERS} numbers");
            return Err(Problem::of_file(what, "cut it into parts of some days each"));
        }
        Ok(())
    }

    /// The listing. `None` when there was no number.
    pub(super) fn finish(mut self) -> Result<Option<Listing>, Problem> {
        if !self.open.values.is_empty() {
            self.close();
        } else if let Some(last) = self.open.stamp.filter(|_| self.stamps_are_below()) {
            let below: Vec<Option<Stamp>> = self.done.iter().skip(1).map(|one| one.stamp).chain([Some(last)]).collect();
            for (one, stamp) in self.done.iter_mut().zip(below) {
                one.stamp = stamp;
            }
        }
        let utc = |(at, snapshot)| Snapshot { stamp: Some(Stamp { at, clock: ListingClock::Utc }), ..snapshot };
        let timed = std::mem::take(&mut self.timed).into_iter().map(utc);
        let all: Vec<Snapshot> = std::mem::take(&mut self.done).into_iter().chain(timed).collect();
        if all.is_empty() {
            return Ok(None);
        }
        let placed = self.place(all);
        self.put_all(placed)?;
        Ok(Some(self.listing.close()))
    }

    /// When each snapshot was, and whether the time between them is known.
    fn place(&mut self, all: Vec<Snapshot>) -> (Vec<(i64, Snapshot)>, bool) {
        let number = all.len();
        let (stamped, bare): (Vec<Snapshot>, Vec<Snapshot>) = all.into_iter().partition(|one| one.stamp.is_some());
        if stamped.is_empty() {
            let step = self.interval.unwrap_or(SECOND);
            if number > 1 {
                let seconds = step as f64 / SECOND as f64;
                self.listing.note(format!(
                    "{}: its {} have no time and are drawn {seconds} s apart; --about interval=60s says another interval",
                    self.listing.kind,
                    count(number, "snapshot")
                ));
            }
            let at = |index: usize| step.saturating_mul(index as i64);
            let placed = bare.into_iter().enumerate().map(|(index, one)| (at(index), one)).collect();
            return (placed, self.interval.is_some());
        }
        if let Some(first) = bare.first() {
            let detail = format!(
                "{} without a time between others that have one were left out; the first begins in line {}",
                count(bare.len(), "snapshot"),
                first.line
            );
            self.listing.gap(Some(SOURCE), GapReason::Other(NO_TIME.to_owned()), detail);
        }
        let clocks = || stamped.iter().filter_map(|one| Some(one.stamp?.clock));
        let has_date = clocks().any(|clock| clock != ListingClock::TimeOfDay);
        self.listing.clock = match () {
            () if clocks().any(|clock| clock == ListingClock::Local) => ListingClock::Local,
            () if has_date => ListingClock::Utc,
            () => ListingClock::TimeOfDay,
        };
        let (mut running, mut midnight, mut before) = (Running::default(), 0, None);
        let mut placed = Vec::with_capacity(stamped.len());
        for one in stamped {
            let Some(stamp) = one.stamp else { continue };
            let at = if has_date && stamp.clock != ListingClock::TimeOfDay {
                // Where the later one stands first in the text, both are where they belong.
                midnight = stamp.at.div_euclid(DAY).saturating_mul(DAY);
                stamp.at
            } else {
                match before {
                    // Files that were read in the same second are one snapshot.
                    Some((raw, at)) if raw == stamp.at => at,
                    _ => self.listing.instant(&mut running, stamp.at.saturating_add(midnight), false, one.line),
                }
            };
            before = Some((stamp.at, at));
            placed.push((at, one));
        }
        (placed, true)
    }

    fn put_all(&mut self, (placed, is_known): (Vec<(i64, Snapshot)>, bool)) -> Result<(), Problem> {
        let mut readings: BTreeMap<u32, BTreeSet<i64>> = BTreeMap::new();
        for (at, one) in &placed {
            for column in one.values.keys().filter(|column| self.totals.contains(column)) {
                readings.entry(*column).or_default().insert(*at);
            }
        }
        let (twice, once): (Vec<_>, Vec<_>) = readings.iter().partition(|(_, instants)| instants.len() > 1);
        // What was read once tells what was since the host started.
        let twice_of_unknown: BTreeSet<u32> = twice.iter().filter(|_| !is_known).map(|(column, _)| **column).collect();
        self.tell(&once.iter().map(|(column, _)| **column).collect::<Vec<_>>(), false);
        if !is_known {
            self.tell(&twice.iter().map(|(column, _)| **column).collect::<Vec<_>>(), true);
        }
        for (at, one) in placed {
            self.listing.touch(at);
            let mut values: Vec<(u32, u64)> = one.values.into_iter().collect();
            values.sort_unstable();
            for (column, value) in values {
                self.listing.put(at, column, value)?;
            }
        }
        keep_growth(&mut self.listing, &twice_of_unknown);
        Ok(())
    }

    /// Totals that give no rates, by source.
    fn tell(&mut self, columns: &[u32], is_time_unknown: bool) {
        let mut sources: BTreeMap<&'static str, usize> = BTreeMap::new();
        for column in columns {
            if let Some(listed) = self.listing.columns.get(*column as usize) {
                *sources.entry(listed.source).or_default() += 1;
            }
        }
        for (source, number) in sources {
            let totals = count(number, "total");
            let (reason, detail) = if is_time_unknown {
                let detail = format!(
                    "{totals} of {source} give no rates and are kept as one number, what was counted from the first snapshot to the last: the time \
                     between them is not known; say it with \
                     --about interval=60s, or put a line with the date above each"
                );
                (NO_TIME, detail)
            } else {
                let detail = format!(
                    "{totals} of {source} at one instant are of all the time since the host started and say nothing of rates; a second snapshot would"
                );
                (ONE_INSTANT, detail)
            };
            self.listing.gap(Some(source), GapReason::Other(reason.to_owned()), detail);
        }
    }
}

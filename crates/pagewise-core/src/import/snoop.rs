//! `drsnoop` and `compactsnoop` of bcc: a row for each time that an allocation had to free or to compact memory.
//!
//! The headings differ with the options (`-T`, `-U`, `-e`); every column but the name of the task is one word. Without `-T` no row has a time.

use super::times::seconds;
use super::trace_events::LONGEST_TOLD;
use super::words::decimal;
use crate::recording::StallKind;
use crate::recording::stall_events::{Role, StallEvent};

/// What a row of either tells, as an event of a trace.
static FREED: StallEvent = whole("drsnoop", StallKind::DirectReclaim);
static COMPACTED: StallEvent = whole("compactsnoop", StallKind::Compaction);

/// Milliseconds.
const LONGEST: f64 = LONGEST_TOLD as f64 / 1e6;

const fn whole(name: &'static str, kind: StallKind) -> StallEvent {
    StallEvent { name, role: Role::Whole(kind), order: None, outcome: None, duration: None }
}

/// Columns of one of the two, by their places before the task's name and behind it.
#[derive(Clone, Copy, Debug)]
pub(super) struct SnoopTable {
    event: &'static StallEvent,
    before: usize,
    behind: usize,
    time: Option<usize>,
    /// Among the columns behind the name.
    task: usize,
    latency: usize,
    order: Option<usize>,
    status: Option<usize>,
}

/// A time that an allocation was held up.
#[derive(Debug)]
pub(super) struct SnoopRow<'l> {
    pub(super) event: &'static StallEvent,
    /// When it ended, in nanoseconds of the tracer's clock.
    pub(super) at: Option<i64>,
    /// As it was printed, but for several blanks in a row.
    pub(super) comm: String,
    pub(super) tid: u32,
    /// `None`: somebody asked for it by hand (`compact_memory`), or it is not told.
    pub(super) order: Option<u8>,
    pub(super) outcome: &'l str,
    /// Nanoseconds.
    pub(super) length: i64,
}

impl SnoopTable {
    /// The table below these headings, where they are of one of the two.
    pub(super) fn of_headings(line: &str) -> Option<SnoopTable> {
        if !line.contains("LAT(ms)") {
            return None;
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        let before = words.iter().position(|word| *word == "COMM")?;
        let (left, right) = (&words[..before], &words[before + 1..]);
        let place = |names: &[&str]| right.iter().position(|word| names.contains(word));
        let (order, status) = (place(&["ORDER"]), place(&["STATUS"]));
        let event = match () {
            () if place(&["PAGES"]).is_some() => &FREED,
            () if place(&["ZONE"]).is_some() && order.is_some() => &COMPACTED,
            () => return None,
        };
        Some(SnoopTable {
            event,
            before,
            behind: right.len(),
            time: left.iter().position(|word| *word == "TIME(s)"),
            task: place(&["PID", "TID"])?,
            latency: place(&["LAT(ms)"])?,
            order,
            status,
        })
    }

    /// What a line below the headings says. `None`: it is no row.
    pub(super) fn row(self, line: &str) -> Option<SnoopRow<'_>> {
        let words: Vec<&str> = line.split_whitespace().collect();
        // The name of a task may have blanks.
        let from = words.len().checked_sub(self.behind).filter(|from| *from > self.before)?;
        let (left, right) = (&words[..self.before], &words[from..]);
        let milliseconds = decimal(right[self.latency]).filter(|length| (0.0..=LONGEST).contains(length))?;
        let at = match self.time {
            Some(place) => Some(seconds(left[place])?),
            None => None,
        };
        Some(SnoopRow {
            event: self.event,
            at,
            comm: words[self.before..from].join(" "),
            tid: right[self.task].parse().ok()?,
            order: self.order.and_then(|place| right[place].parse().ok()).filter(|order| *order < 64),
            outcome: self.status.map_or("", |place| right[place]),
            length: (milliseconds * 1e6) as i64,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row<'l>(headings: &str, line: &'l str) -> Option<SnoopRow<'l>> {
        SnoopTable::of_headings(headings).expect("its headings").row(line)
    }

    #[test]
    fn columns_are_where_the_headings_say() {
        let of = |headings, line| {
            let SnoopRow { event, at, comm, tid, order, outcome, length } = row(headings, line).expect(line);
            (event.name, at, comm, tid, order, outcome.to_owned(), length)
        };
        let name = str::to_owned;
        assert_eq!(
            of("COMM           PID     LAT(ms) PAGES", "summond        17678      0.19   143"),
            ("drsnoop", None, name("summond"), 17678, None, name(""), 190_000)
        );
        assert_eq!(
            of(
                "TIME(s)       UID   COMM           TID     LAT(ms) PAGES  FREE(KB)",
                "107.364115000 1000  Web Content  17678  2.0   143  1224"
            ),
            ("drsnoop", Some(107_364_115_000), name("Web Content"), 17678, None, name(""), 2_000_000)
        );
        assert_eq!(
            of(
                "COMM           PID    NODE ZONE         ORDER MODE      LAT(ms)           STATUS",
                "java           23685  0    ZONE_NORMAL  9     ASYNC     113.975          contended"
            ),
            ("compactsnoop", None, name("java"), 23685, Some(9), name("contended"), 113_975_000)
        );
        assert_eq!(
            of(
                "COMM           PID    NODE ZONE         ORDER MODE      LAT(ms)           STATUS",
                "zsh            23685  1    ZONE_DMA     -1    SYNC      0.025         complete"
            ),
            ("compactsnoop", None, name("zsh"), 23685, None, name("complete"), 25_000)
        );
    }

    #[test]
    fn other_tables_are_none() {
        for headings in
            ["TIME     COMM           PID    T BYTES   OFF_KB   LAT(ms) FILENAME", "COMM PID PAGES", "LAT(ms)"]
        {
            assert!(SnoopTable::of_headings(headings).is_none(), "{headings}");
        }
        let table = "COMM           PID     LAT(ms) PAGES";
        for line in
            ["", "^C", "java 12", "java 12 0.1 64 more words than there are but", "java x 0.1 64", "java 12 60001.0 64"]
        {
            assert!(row(table, line).is_none(), "{line}");
        }
    }
}

//! Processes as series: one table per process, a row for each walk that has it. For formats that are long anyway; a wide
//! table would have a column for every process there ever was.

use super::{Row, Selection, SourceTable};
use crate::recording::{Kind, ProcessRow, RawUnit, Recorded, Series};
use std::collections::BTreeMap;

/// What the tables call where they come from.
pub const SOURCE: &str = "processes";

type Of = fn(&ProcessRow) -> u64;

/// Totals since the process started, and levels.
const SERIES: [(&str, RawUnit, Kind, Of); 6] = [
    ("resident", RawUnit::Bytes, Kind::Gauge, |row| row.resident),
    ("threads", RawUnit::Count, Kind::Gauge, |row| u64::from(row.threads)),
    ("user", RawUnit::Nanoseconds, Kind::Counter, |row| row.used.user),
    ("system", RawUnit::Nanoseconds, Kind::Counter, |row| row.used.system),
    ("minor_faults", RawUnit::Count, Kind::Counter, |row| row.used.minor_faults),
    ("major_faults", RawUnit::Count, Kind::Counter, |row| row.used.major_faults),
];

/// Whether the selection takes any of them, if there are processes.
#[must_use]
pub fn are_taken(selection: &Selection) -> bool {
    SERIES.iter().any(|(name, unit, kind, _)| selection.takes(&series(0, name, *unit, *kind, String::new())))
}

/// A table per process of the selection; none where they were not recorded. The time of day is by the clock at the beginning of the
/// recording: where that was set meanwhile, `seconds` are right and it is not.
///
/// # Errors
/// When the recording cannot be read.
pub fn process_tables<R: Recorded>(recorded: &R, selection: &Selection) -> Result<Vec<SourceTable>, R::Error> {
    let taken: Vec<_> = (0..)
        .zip(SERIES)
        .filter(|(_, (name, unit, kind, _))| selection.takes(&series(0, name, *unit, *kind, String::new())))
        .collect();
    if taken.is_empty() {
        return Ok(Vec::new());
    }
    let offset = recorded.about("anchor_wall_offset_ns").and_then(|offset| offset.parse::<i64>().ok()).unwrap_or(0);
    let mut tables: BTreeMap<(u32, u64, Vec<u8>), SourceTable> = BTreeMap::new();
    for walk in recorded.walks()?.unwrap_or_default().into_iter().filter(|walk| selection.holds(walk.from)) {
        let wall = offset.saturating_add_unsigned(walk.from);
        for row in walk.rows {
            let values = taken.iter().map(|(_, (.., of))| Some(of(&row))).collect();
            // A process that runs another program goes on under its name.
            let table = tables.entry((row.pid, row.started, row.comm.clone())).or_insert_with(|| {
                let labels = labels(&row);
                let of = |(column, (name, unit, kind, _)): &(u32, (&str, RawUnit, Kind, Of))| {
                    series(*column, name, *unit, *kind, labels.clone())
                };
                SourceTable { source: SOURCE.to_owned(), series: taken.iter().map(of).collect(), rows: Vec::new() }
            });
            table.rows.push(Row { at: walk.from, wall, values });
        }
    }
    Ok(tables.into_values().collect())
}

fn series(column: u32, name: &str, unit: RawUnit, kind: Kind, labels: String) -> Series {
    let (source, name) = (SOURCE.to_owned(), name.to_owned());
    Series { source, column, name, labels, unit: Some(unit), kind, first_seen: 0 }
}

/// `pid=7,started=12.34,comm=java`: the start in seconds since boot, which with the number is one process. A name cannot end
/// its label or begin another one.
fn labels(row: &ProcessRow) -> String {
    let plain = |c: char| match c {
        ',' => ';',
        '=' => ':',
        c if c.is_control() => ' ',
        c => c,
    };
    let comm: String = row.name().chars().map(plain).collect();
    format!("pid={},started={:.2},comm={comm}", row.pid, row.started as f64 * 1e-9)
}

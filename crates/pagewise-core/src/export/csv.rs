//! CSV in long form: a line per value, `time,seconds,series,labels,unit,kind,value`. Long and not wide, because sources are read
//! at different beats and series come and go: a wide table would be mostly holes, and every tool can pivot a long one.

use super::processes::process_tables;
use super::{Selection, source_tables};
use crate::metric::Unit;
use crate::recording::{Kind, Recorded, Series, WallClock};
use std::fmt::Write;

/// The first line.
pub const HEADER: &str = "time,seconds,series,labels,unit,kind,value";

/// `time` is RFC 3339 UTC, empty in a recording without a date; `seconds` count from the first exported instant. Values are
/// in base units: bytes, seconds, fractions, pages, counts.
///
/// # Errors
/// When the recording cannot be read.
pub fn write<R: Recorded>(recorded: &R, selection: &Selection) -> Result<String, R::Error> {
    let mut tables = source_tables(recorded, selection)?;
    tables.extend(process_tables(recorded, selection)?);
    let is_dated = recorded.wall_clock() == WallClock::Date;
    let first = tables.iter().filter_map(|table| table.rows.first()).map(|row| row.at).min().unwrap_or(0);
    let mut out = format!("{HEADER}\n");
    for table in &tables {
        for row in &table.rows {
            let time = if is_dated { rfc3339(row.wall) } else { String::new() };
            let seconds = (row.at - first) as f64 / 1e9;
            for (series, value) in table.series.iter().zip(&row.values) {
                let Some(value) = value else { continue };
                let name = quoted(&format!("{}.{}", series.source, series.name));
                let (labels, unit, kind) = (quoted(&series.labels), unit_word(series), series.kind.word());
                let value = base_value(series, *value);
                let _ = writeln!(out, "{time},{seconds},{name},{labels},{unit},{kind},{value}");
            }
        }
    }
    Ok(out)
}

pub(super) fn rfc3339(wall: i64) -> String {
    jiff::Timestamp::from_nanosecond(i128::from(wall)).map_or_else(|_| String::new(), |at| at.to_string())
}

/// The value in the base unit, without a trailing `.0`. Whole values stay exact whatever their size.
pub(super) fn base_value(series: &Series, value: u64) -> String {
    let (_, scale) = series.unit.map_or((Unit::Count, 1.0), crate::recording::RawUnit::scale);
    match (series.kind, scale == scale.trunc()) {
        (Kind::Counter, true) => (u128::from(value) * scale as u128).to_string(),
        (Kind::Gauge, true) => (i128::from(value as i64) * scale as i128).to_string(),
        // A division by a whole number is rounded once, a product with a tenth twice.
        (Kind::Counter, false) => (value as f64 / (1.0 / scale).round()).to_string(),
        (Kind::Gauge, false) => (value as i64 as f64 / (1.0 / scale).round()).to_string(),
    }
}

pub(super) fn unit_word(series: &Series) -> &'static str {
    match series.unit.map(|unit| unit.scale().0) {
        None => "unknown",
        Some(Unit::Seconds) => "seconds",
        Some(Unit::Bytes) => "bytes",
        Some(Unit::Pages) => "pages",
        Some(Unit::Fraction) => "fraction",
        Some(Unit::Count | Unit::ByteSeconds | Unit::Custom) => "count",
    }
}

/// Names come from kernels and other programs. A cell that begins like a formula would run in a spreadsheet.
fn quoted(text: &str) -> String {
    let plain: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let plain = if plain.starts_with(['=', '+', '-', '@']) { format!("'{plain}") } else { plain };
    if plain.contains([',', '"']) { format!("\"{}\"", plain.replace('"', "\"\"")) } else { plain }
}

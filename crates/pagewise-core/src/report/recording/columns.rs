//! A sample as one line of text: which lines make the columns, how wide they are, and a number in four characters.
//!
//! What people paste into a mail is 80 columns wide, and each line stands for itself.

use super::lines::{Heading, Line, LineUnit, lines};
use std::fmt::Write;
use std::sync::LazyLock;

/// A column of `watch`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its heading, which is also what `--columns` takes.
    pub name: &'static str,
    /// Characters without the space before it.
    pub width: usize,
    /// The line it shows.
    pub line: &'static Line,
}

/// Width of the time at the beginning of each line, `HH:MM:SS`.
pub const TIME: usize = 8;
/// The same with tenths of a second.
pub const TENTHS: usize = 10;

/// The columns of a terminal of 80 characters: what collectl's `-scm` and `-sB` show, and what they do not.
const USUAL: [&str; 16] =
    ["cpu", "sys", "free", "cach", "anon", "dirt", "maj", "kswp", "drct", "st", "cmp", "thp", "fb", "si", "so", "psi"];

/// The usual ones by what they tell of trouble with memory, the most first: a narrow terminal lacks those behind.
const BY_WEIGHT: [&str; 16] =
    ["cpu", "sys", "free", "psi", "drct", "cmp", "si", "so", "kswp", "thp", "fb", "maj", "anon", "cach", "dirt", "st"];

/// More, in the order in which a wider terminal takes them. Those that the catalogue has and nobody put in an order come last.
const MORE: [&str; 20] = [
    "stall", "cfail", "coll", "huge", "slab", "avail", "wrbk", "rff", "rfa", "flt", "wait", "psif", "psio", "read",
    "writ", "big", "swap", "migr", "run", "blk",
];

static COLUMNS: LazyLock<Vec<Column>> = LazyLock::new(|| {
    let column = |line: &'static Line| line.heading.map(|Heading { name, width }| Column { name, width, line });
    let mut columns: Vec<Column> = lines().filter_map(column).collect();
    let place = |column: &Column| USUAL.iter().chain(&MORE).position(|name| *name == column.name);
    columns.sort_by_key(|column| place(column).unwrap_or(usize::MAX));
    columns
});

/// Columns that were asked for and are none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no column '{0}'; the columns are {all}, or 'wide' for all of them", all = names())]
pub struct UnknownColumn(String);

fn names() -> String {
    all().map(|column| column.name).collect::<Vec<_>>().join(", ")
}

/// Every column.
pub fn all() -> impl Iterator<Item = &'static Column> {
    COLUMNS.iter()
}

/// Those that fit beside the time into so many characters, one at least: the usual ones, fewer where there is no room for all, and more
/// where there is.
#[must_use]
pub fn fitting(width: usize, time: usize) -> Vec<&'static Column> {
    let mut room = width.saturating_sub(time);
    let mut take = |column: &Column| {
        let is_taken = column.width < room;
        room = if is_taken { room - column.width - 1 } else { 0 };
        is_taken
    };
    let (usual, more) = COLUMNS.split_at(USUAL.len());
    let by_weight = BY_WEIGHT.iter().filter_map(|name| usual.iter().position(|column| column.name == *name));
    let mut places: Vec<usize> = by_weight.take_while(|place| take(&usual[*place])).collect();
    if places.is_empty() {
        places.push(0);
    }
    places.sort_unstable();
    let mut chosen: Vec<&Column> = places.into_iter().map(|place| &usual[place]).collect();
    if chosen.len() == usual.len() {
        chosen.extend(more.iter().take_while(|column| take(column)));
    }
    chosen
}

/// Those of a list such as `cpu,sys,free`, or `wide`: all.
///
/// # Errors
/// When a name is none.
pub fn named(list: &str) -> Result<Vec<&'static Column>, UnknownColumn> {
    let mut chosen = Vec::new();
    for name in list.split(',').map(str::trim).filter(|name| !name.is_empty()) {
        if name == "wide" {
            chosen.extend(all());
        } else {
            chosen.push(all().find(|column| column.name == name).ok_or_else(|| UnknownColumn(name.to_owned()))?);
        }
    }
    Ok(chosen)
}

/// The line above the columns; the time has so many characters.
#[must_use]
pub fn head(columns: &[&Column], time: usize) -> String {
    let mut head = format!("{:<time$}", "#time");
    for column in columns {
        let _ = write!(head, " {:>width$}", column.name, width = column.width);
    }
    head
}

/// A sample. `None` is shown as `-`: not known is not zero.
#[must_use]
pub fn row(time: &str, columns: &[&Column], values: &[Option<f64>]) -> String {
    let mut row = format!("{time:<TIME$}");
    for (column, value) in columns.iter().zip(values) {
        let text = value.map_or_else(|| "-".to_owned(), |value| fit(value, column.line.unit, column.width));
        let _ = write!(row, " {text:>width$}", width = column.width);
    }
    row
}

/// A number in so many characters: percent for parts of a whole, else with `k`, `M`, `G`, `T` (of 1024 for bytes) where
/// it does not fit as it is.
#[must_use]
pub fn fit(value: f64, unit: LineUnit, width: usize) -> String {
    const SUFFIXES: [&str; 6] = ["", "k", "M", "G", "T", "P"];
    let is_bytes = matches!(unit, LineUnit::Bytes | LineUnit::BytesPerSecond);
    let (mut value, step) = match unit {
        LineUnit::Share => (value * 100.0, 1000.0),
        _ if is_bytes => (value, 1024.0),
        _ => (value, 1000.0),
    };
    if !value.is_finite() {
        return "-".to_owned();
    }
    let whole_only = matches!(unit, LineUnit::Share | LineUnit::Count);
    // Bytes below one mebibyte are nobody's concern in a table of gigabytes, but they are not nothing.
    for suffix in SUFFIXES {
        let room = width.saturating_sub(suffix.len());
        let whole = format!("{value:.0}");
        if whole.len() <= room && value < step {
            let fraction = format!("{value:.1}");
            let is_small = value < 9.95 && value.fract() != 0.0 && !(whole_only && suffix.is_empty());
            let text = if is_small && fraction.len() <= room { fraction } else { whole };
            // A little is shown as 0.0, never as the nothing that 0 is.
            return format!("{text}{suffix}");
        }
        value /= step;
    }
    "+".repeat(width)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_columns_fit_a_terminal_of_eighty_a_narrow_one_lacks_some_and_a_wide_one_takes_more() {
        assert_eq!(fitting(80, TIME).iter().map(|column| column.name).collect::<Vec<_>>(), USUAL);
        assert_eq!(head(&fitting(40, TIME), TIME), "#time    cpu sys free drct cmp   si psi");
        assert!(fitting(140, TIME).len() > USUAL.len());
        assert_eq!(fitting(300, TIME).len(), all().count());
        for width in 12..300 {
            assert!(head(&fitting(width, TIME), TIME).len() <= width, "{width}: {}", head(&fitting(width, TIME), TIME));
        }
        assert_eq!(head(&fitting(0, TIME), TIME), "#time    cpu", "a time alone says nothing");
        let names: Vec<&str> = all().map(|column| column.name).collect();
        assert_eq!(names[..USUAL.len() + MORE.len()], [&USUAL[..], &MORE[..]].concat(), "each of them is a column");
    }

    #[test]
    fn every_number_fits_its_column_and_keeps_what_can_be_kept() {
        let of = |value, unit, width| fit(value, unit, width);
        assert_eq!(of(0.42, LineUnit::Share, 3), "42");
        assert_eq!(of(1.0, LineUnit::Share, 3), "100");
        assert_eq!(of(24.0 * 1024.0 * 1024.0 * 1024.0, LineUnit::Bytes, 4), "24G");
        assert_eq!(of(1.25 * 1024.0 * 1024.0 * 1024.0, LineUnit::Bytes, 4), "1.2G");
        assert_eq!(of(12_345.0, LineUnit::PagesPerSecond, 4), "12k");
        assert_eq!(of(1234.0, LineUnit::PerSecond, 3), "1k");
        assert_eq!(of(0.3, LineUnit::PerSecond, 3), "0.3");
        assert_eq!(of(0.0, LineUnit::PerSecond, 3), "0");
        for width in 2..6 {
            for exponent in -3..19 {
                for unit in [LineUnit::Bytes, LineUnit::PerSecond, LineUnit::Count] {
                    let value = 9.996 * libm::pow(10.0, f64::from(exponent));
                    assert!(
                        fit(value, unit, width).len() <= width,
                        "{value} {unit:?} {width}: {}",
                        fit(value, unit, width)
                    );
                }
            }
        }
    }

    #[test]
    fn what_is_not_known_is_a_dash_and_a_column_that_is_none_is_named() {
        let columns = named("free,st,fb").unwrap();
        assert_eq!(head(&columns, TIME), "#time    free st  fb");
        assert_eq!(row("12:00:00", &columns, &[None, Some(0.02), Some(0.0)]), "12:00:00    -  2   0");
        assert!(named("free,frei").unwrap_err().to_string().contains("no column 'frei'; the columns are cpu, sys"));
    }
}

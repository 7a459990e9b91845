//! A row that is being read: its fields as text, as numbers with a decimal point or comma, and as places in time.

use super::error::{TableError, shown};
use super::header::Header;
use crate::comparison::outcome::Outcome;
use csv::ByteRecord;

/// What people write where there is no number, and what a spreadsheet shows of a formula that gives none (Excel in English
/// and in German).
const MISSING: [&str; 13] =
    ["NA", "N/A", "NaN", "null", ".", "#N/A", "#NV", "#DIV/0!", "#VALUE!", "#WERT!", "#NUM!", "#ZAHL!", "#NULL!"];

/// A row that is being read.
pub(super) struct Row<'r> {
    pub(super) file: &'r str,
    pub(super) header: &'r Header,
    pub(super) record: &'r ByteRecord,
    pub(super) line: u64,
}

impl Row<'_> {
    /// Whether a field is a timestamp.
    pub(super) fn is_timestamp(&self, place: usize) -> bool {
        self.text(place).is_ok_and(|text| timestamp(text).is_some())
    }

    pub(super) fn bytes(&self, place: usize) -> &[u8] {
        self.record.get(place).unwrap_or_default().trim_ascii()
    }

    pub(super) fn text(&self, place: usize) -> Result<&str, TableError> {
        std::str::from_utf8(self.bytes(place)).map(str::trim).map_err(|_| TableError::NotUtf8 {
            file: self.file.to_owned(),
            line: self.line,
            column: self.header.name(place),
        })
    }

    pub(super) fn outcome(&self, place: usize) -> Result<Outcome, TableError> {
        let word = self.text(place)?;
        Outcome::of_word(word).ok_or_else(|| TableError::NotAnOutcome {
            file: self.file.to_owned(),
            line: self.line,
            column: self.header.name(place),
            value: shown(word),
        })
    }

    fn not_a_number(&self, place: usize, text: &str, remedy: &'static str) -> TableError {
        TableError::NotANumber {
            file: self.file.to_owned(),
            line: self.line,
            column: self.header.name(place),
            value: shown(text),
            remedy,
        }
    }

    fn not_a_place_in_time(&self, place: usize, text: &str, remedy: &'static str) -> TableError {
        TableError::NotAPlaceInTime {
            file: self.file.to_owned(),
            line: self.line,
            column: self.header.name(place),
            value: shown(text),
            remedy,
        }
    }
}

/// How the numbers of a table are written, learnt on the way. A decimal comma is read only where it separates no fields, and
/// only in columns in which no number has a decimal point: `1,042` beside `912.5` is a thousand and forty-two.
pub(super) struct Numbers {
    may_have_commas: bool,
    /// By the place of the column.
    columns: Vec<Marks>,
    clock: Option<Clock>,
}

/// The decimal marks of a column.
#[derive(Clone, Debug, Default)]
struct Marks {
    first_point: Option<Marked>,
    first_comma: Option<Marked>,
    /// A number from a hundred to a thousand without a mark.
    has_hundreds: bool,
    /// A larger one without a mark: nobody separates thousands there.
    has_plain_thousands: bool,
}

/// The first number of a column with a decimal mark, comma or point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marked {
    /// As it is written.
    pub text: String,
    /// Its line.
    pub line: u64,
    /// Every such number of the column could as well have the mark between thousands.
    pub may_be_thousands: bool,
}

/// What a column of places in time holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Clock {
    Number,
    /// An instant, anywhere the same.
    Instant,
    /// What a clock on a wall showed.
    Wall,
}

impl Numbers {
    pub(super) fn new(columns: usize, may_have_commas: bool) -> Numbers {
        Numbers { may_have_commas, columns: vec![Marks::default(); columns], clock: None }
    }

    /// The first number with a decimal comma in a column.
    pub(super) fn comma(&self, place: usize) -> Option<&Marked> {
        self.columns.get(place)?.first_comma.as_ref()
    }

    /// The first number of a column whose points may separate thousands: `1.002` beside `998`. Only where a comma separates
    /// no fields: who writes decimal commas writes points between thousands.
    pub(super) fn point_of_thousands(&self, place: usize) -> Option<&Marked> {
        let marks = self.columns.get(place)?;
        let may_be = marks.has_hundreds && !marks.has_plain_thousands;
        marks.first_point.as_ref().filter(|first| may_be && first.may_be_thousands)
    }

    pub(super) fn is_time(&self) -> bool {
        matches!(self.clock, Some(Clock::Instant | Clock::Wall))
    }

    /// `None` where there is none.
    pub(super) fn number(&mut self, row: &Row<'_>, place: usize) -> Result<Option<f64>, TableError> {
        let text = row.text(place)?;
        let has_comma = self.may_have_commas && text.contains(',');
        let parsed: Option<f64> = if has_comma { with_comma(text) } else { text.parse().ok() };
        match parsed {
            Some(number) if number.is_finite() => {
                if self.may_have_commas {
                    self.learn(row, place, text, number)?;
                }
                Ok(Some(number))
            }
            _ if text.is_empty() || MISSING.iter().any(|word| word.eq_ignore_ascii_case(text)) => Ok(None),
            _ => Err(row.not_a_number(place, text, remedy_for(text, self.may_have_commas))),
        }
    }

    fn learn(&mut self, row: &Row<'_>, place: usize, text: &str, number: f64) -> Result<(), TableError> {
        let Some(marks) = self.columns.get_mut(place) else { return Ok(()) };
        let first = || Marked { text: shown(text), line: row.line, may_be_thousands: true };
        if text.contains(',') {
            marks.first_comma.get_or_insert_with(first).may_be_thousands &= separates_thousands(text, ',');
        } else if text.contains('.') {
            marks.first_point.get_or_insert_with(first).may_be_thousands &= separates_thousands(text, '.');
        } else {
            marks.has_hundreds |= (100.0..1000.0).contains(&number.abs());
            marks.has_plain_thousands |= number.abs() >= 1000.0;
        }
        if marks.first_point.is_some() && marks.first_comma.is_some() {
            let remedy = "other numbers of this column have the other decimal mark: write them alike, and none with \
                          separators of thousands";
            return Err(row.not_a_number(place, text, remedy));
        }
        Ok(())
    }

    /// A number as it is, or a timestamp as seconds: RFC 3339, or a wall clock's `2026-11-20 14:03:59`.
    pub(super) fn place_in_time(&mut self, row: &Row<'_>, place: usize) -> Result<Option<f64>, TableError> {
        let (clock, at) = match self.number(row, place) {
            Ok(None) => return Ok(None),
            Ok(Some(number)) => (Clock::Number, number),
            Err(TableError::NotANumber { .. }) => {
                let text = row.text(place)?;
                timestamp(text).ok_or_else(|| {
                    let remedy = "write a number or a timestamp like 2026-11-20 14:03:59, or rename the column if it \
                                  means something else";
                    row.not_a_place_in_time(place, text, remedy)
                })?
            }
            Err(error) => return Err(error),
        };
        if *self.clock.get_or_insert(clock) != clock {
            let remedy = "write all of them as numbers, all with a time zone or all without one";
            return Err(row.not_a_place_in_time(place, row.text(place)?, remedy));
        }
        Ok(Some(at))
    }
}

fn timestamp(text: &str) -> Option<(Clock, f64)> {
    let seconds = |at: jiff::Timestamp| at.as_second() as f64 + f64::from(at.subsec_nanosecond()) / 1e9;
    if let Ok(at) = text.parse::<jiff::Timestamp>() {
        return Some((Clock::Instant, seconds(at)));
    }
    let shown = text.parse::<jiff::civil::DateTime>().ok()?;
    Some((Clock::Wall, seconds(jiff::tz::Offset::UTC.to_timestamp(shown).ok()?)))
}

fn with_comma(text: &str) -> Option<f64> {
    let is_one = text.matches(',').count() == 1 && !text.contains('.');
    if is_one { text.replace(',', ".").parse().ok() } else { None }
}

/// `1,042` and `-12,500`, but neither `0,125` nor `12,5`.
fn separates_thousands(text: &str, mark: char) -> bool {
    let Some((whole, rest)) = text.trim_start_matches(['+', '-']).split_once(mark) else { return false };
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    (1..=3).contains(&whole.len()) && !whole.starts_with('0') && rest.len() == 3 && digits(whole) && digits(rest)
}

fn remedy_for(text: &str, may_have_commas: bool) -> &'static str {
    if text.parse::<f64>().is_ok() {
        return "leave the field empty where there is no finite value";
    }
    if text.contains('\n') {
        return "its quote closes only in a later line: close it where the field ends, and write a quote inside of a field \
                twice";
    }
    let only_marks = |c: char| matches!(c, '.' | ',');
    if text.contains(',') && text.replace(only_marks, "").parse::<f64>().is_ok() {
        return if may_have_commas {
            "write it without separators of thousands"
        } else {
            "write it with a decimal point and without separators of thousands"
        };
    }
    if text.trim_end_matches(|c: char| c.is_alphabetic() || c == '%' || c == ' ').parse::<f64>().is_ok() {
        return "write the number alone, without its unit";
    }
    "write a number like 742.83, or leave the field empty where there is none"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_with_three_digits_behind_it_may_separate_thousands() {
        for text in ["1,042", "-12,500", "999,000"] {
            assert!(separates_thousands(text, ','), "{text}");
            assert!(separates_thousands(&text.replace(',', "."), '.'), "{text}");
        }
        for text in ["0,125", "12,5", "1234,500", "1,0425", ",500", "12", "1,5e3"] {
            assert!(!separates_thousands(text, ','), "{text}");
        }
    }

    #[test]
    fn a_timestamp_is_seconds_with_or_without_a_zone() {
        let (clock, at) = timestamp("1970-01-01T01:00:00.5+01:00").unwrap();
        assert_eq!((clock, at), (Clock::Instant, 0.5));
        assert_eq!(timestamp("1970-01-02 00:00:01"), Some((Clock::Wall, 86_401.0)));
        assert_eq!(timestamp("1970-01-02T00:00:01"), Some((Clock::Wall, 86_401.0)));
        for wrong in ["yesterday", "2026-13-01 00:00:00", "14:03:59", "2026-11-20 25:00:00", ""] {
            assert_eq!(timestamp(wrong), None, "{wrong}");
        }
    }
}

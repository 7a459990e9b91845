//! A long-form table, a row per point, read once and kept by column: only the columns and rows that were asked for.
//!
//! CSV as RFC 4180 has it and as spreadsheets write it: quoted fields, either line end, a byte-order mark, blank rows.
//! What cannot be understood is refused with file, line, column and remedy; nothing is guessed. Memory is that of the
//! numbers kept, eight bytes each.

use super::outcome::Outcome;
use super::question::{BLOCK, Counters, ORDER, OUTCOME, Question};
use csv::ByteRecord;
use std::collections::HashMap;
use std::io::Read;

/// The columns that were asked for; every vector has an entry per kept row, in the order of the file.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// The factors, as [`Question::factors`] lists them.
    pub factors: Vec<Factor>,
    /// The value; NaN where it is missing.
    pub values: Vec<f64>,
    /// Which block a row belongs to, as a number per name; `None` for a row without one. Empty without the column.
    pub blocks: Vec<Option<u32>>,
    /// Place in time; NaN where it is missing. Empty without the column.
    pub order: Vec<f64>,
    /// How the run ended. Empty without the column.
    pub outcomes: Vec<Outcome>,
    /// The counters.
    pub counters: Vec<Counter>,
    /// Line of the file at which the row begins; the first is 1.
    pub lines: Vec<u64>,
    /// What was left out on the way.
    pub left_out: LeftOut,
}

/// A column of names, kept as numbers.
#[derive(Clone, Debug, Default)]
pub struct Factor {
    /// The column's name.
    pub name: String,
    /// Its levels, in the order in which they occur.
    pub levels: Vec<String>,
    /// Level of each row: a place in `levels`.
    pub codes: Vec<u32>,
    known: HashMap<Vec<u8>, u32>,
}

/// A column of numbers; NaN where one is missing.
#[derive(Clone, Debug, Default)]
pub struct Counter {
    /// The column's name.
    pub name: String,
    /// A number per row.
    pub values: Vec<f64>,
}

/// Rows and columns that were not used, and where to look.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Good runs without a value.
    pub without_value: Rows,
    /// Rows without a level of a factor.
    pub without_level: Rows,
    /// Rows whose outcome is `invalid`: no results.
    pub invalid: Rows,
    /// Columns that looked like counters and then had a text in them, with that line.
    pub counters_with_text: Vec<(String, u64)>,
}

/// How many rows, and the line of the first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rows {
    /// How many.
    pub count: u64,
    /// Line of the first; 0 when there is none.
    pub first_line: u64,
}

impl Rows {
    fn add(&mut self, line: u64) {
        if self.count == 0 {
            self.first_line = line;
        }
        self.count += 1;
    }
}

/// Why a table cannot be read. Every message names the file, and where it can the line, the column and the value.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// The file broke off, or its text is not UTF-8.
    #[error("{file}: {reason}")]
    Unreadable {
        /// The file.
        file: String,
        /// Why.
        reason: String,
    },
    /// No header.
    #[error("{file} is empty; its first line must name the columns, such as kernel,swap,seconds")]
    Empty {
        /// The file.
        file: String,
    },
    /// A header and nothing below it.
    #[error("{file} has a header and no rows; add a row per point")]
    NoRows {
        /// The file.
        file: String,
    },
    /// A column that is not there.
    #[error("{file} has no column '{column}' ({role}); its columns are {columns}{hint}")]
    NoColumn {
        /// The file.
        file: String,
        /// The column.
        column: String,
        /// What it was to be.
        role: &'static str,
        /// Those there are.
        columns: String,
        /// What may be wrong.
        hint: String,
    },
    /// A name that stands for two columns.
    #[error("{file}, line 1: the columns {one} and {other} are both called '{column}'; rename one of them")]
    DuplicateColumn {
        /// The file.
        file: String,
        /// The name.
        column: String,
        /// Its first place, from 1.
        one: usize,
        /// Its second place, from 1.
        other: usize,
    },
    /// A row that is too short or too long.
    #[error(
        "{file}, line {line}: {fields} fields where the header has {columns}; a field with a comma in it must stand in \
         double quotes"
    )]
    Ragged {
        /// The file.
        file: String,
        /// The line.
        line: u64,
        /// Fields of the row.
        fields: usize,
        /// Fields of the header.
        columns: usize,
    },
    /// Not a number.
    #[error("{file}, line {line}, column '{column}': '{value}' is not a number; {remedy}")]
    NotANumber {
        /// The file.
        file: String,
        /// The line.
        line: u64,
        /// The column.
        column: String,
        /// What stands there.
        value: String,
        /// What to write.
        remedy: &'static str,
    },
    /// Not an outcome.
    #[error(
        "{file}, line {line}, column '{column}': '{value}' is no outcome; write ok, oom, failed, timeout, wrong or \
         invalid, or rename the column if it means something else"
    )]
    NotAnOutcome {
        /// The file.
        file: String,
        /// The line.
        line: u64,
        /// The column.
        column: String,
        /// What stands there.
        value: String,
    },
    /// Not text.
    #[error("{file}, line {line}, column '{column}': the text is not UTF-8; save the file as UTF-8")]
    NotUtf8 {
        /// The file.
        file: String,
        /// The line.
        line: u64,
        /// The column.
        column: String,
    },
    /// A level that does not occur.
    #[error("{file} has no '{level}' in column '{factor}'; the levels there are {levels}")]
    NoLevel {
        /// The file.
        file: String,
        /// The factor.
        factor: String,
        /// The level asked for.
        level: String,
        /// Those there are.
        levels: String,
    },
}

/// What people write where there is no number.
const MISSING: [&str; 5] = ["NA", "N/A", "NaN", "null", "."];

/// As many names as an error lists.
const MOST_LISTED: usize = 20;

/// Bytes at a time: a row of 200 counters has about two thousand.
const BUFFER: usize = 1 << 16;

impl Table {
    /// Reads what `question` needs. `file` is the name for messages.
    ///
    /// # Errors
    /// When the text is no table, lacks a column or a level that is asked for, or holds something else than a number
    /// where one belongs.
    pub fn read(source: impl Read, file: &str, question: &Question) -> Result<Table, TableError> {
        let mut reader = csv_reader(source);
        let mut record = ByteRecord::new();
        if !next(&mut reader, &mut record, file)? {
            return Err(TableError::Empty { file: file.to_owned() });
        }
        let header = Header::of(&record, file)?;
        let mut columns = Columns::find(&header, question)?;
        let mut rows = 0u64;
        while next(&mut reader, &mut record, file)? {
            if record.iter().all(|field| field.trim_ascii().is_empty()) {
                continue;
            }
            rows += 1;
            let row = Row { file, header: &header, record: &record, line: line_of(&reader, &record) };
            columns.take(&row)?;
        }
        if rows == 0 {
            return Err(TableError::NoRows { file: file.to_owned() });
        }
        let table = columns.table;
        table.has_levels(question, file)?;
        Ok(table)
    }

    /// The names of the columns, for someone who has not said yet which of them are meant.
    ///
    /// # Errors
    /// When there is no first line, or its text is not UTF-8.
    pub fn columns(source: impl Read, file: &str) -> Result<Vec<String>, TableError> {
        let mut record = ByteRecord::new();
        if !next(&mut csv_reader(source), &mut record, file)? {
            return Err(TableError::Empty { file: file.to_owned() });
        }
        Ok(Header::of(&record, file)?.names)
    }

    /// The column of a factor that the question names.
    #[must_use]
    pub fn factor(&self, name: &str) -> Option<&Factor> {
        self.factors.iter().find(|factor| factor.name == name)
    }

    fn has_levels(&self, question: &Question, file: &str) -> Result<(), TableError> {
        for contrast in &question.contrasts {
            let Some(factor) = self.factor(&contrast.factor) else { continue };
            for level in [&contrast.a, &contrast.b] {
                if !factor.levels.contains(level) {
                    return Err(TableError::NoLevel {
                        file: file.to_owned(),
                        factor: factor.name.clone(),
                        level: level.clone(),
                        levels: listed(factor.levels.iter().map(String::as_str)),
                    });
                }
            }
        }
        Ok(())
    }
}

/// `\n` ends a line and the `\r` before it is trimmed with the spaces: with the reader's own rule for `\r\n` the `\n`
/// would still be to come when it hands out the record, and lines could not be counted.
fn csv_reader<R: Read>(source: R) -> csv::Reader<impl Read> {
    csv::ReaderBuilder::new()
        .flexible(true)
        .has_headers(false)
        .terminator(csv::Terminator::Any(b'\n'))
        .buffer_capacity(BUFFER)
        .from_reader(ended(source))
}

/// The last line gets the end it may lack, so that lines can be counted; one more is a blank line and read over.
fn ended(source: impl Read) -> impl Read {
    source.chain(&b"\n"[..])
}

fn next<R: Read>(reader: &mut csv::Reader<R>, record: &mut ByteRecord, file: &str) -> Result<bool, TableError> {
    reader
        .read_byte_record(record)
        .map_err(|error| TableError::Unreadable { file: file.to_owned(), reason: error.to_string() })
}

/// Names in quotes, the first of many.
fn listed<'n>(names: impl Iterator<Item = &'n str>) -> String {
    let names: Vec<&str> = names.collect();
    let mut text: Vec<String> = names.iter().take(MOST_LISTED).map(|name| format!("'{name}'")).collect();
    if names.len() > MOST_LISTED {
        text.push(format!("and {} more", names.len() - MOST_LISTED));
    }
    if text.is_empty() { "none".to_owned() } else { text.join(", ") }
}

/// Where a record begins. The reader's own position of a record lies before the blank lines in front of it; the position
/// after the record, less what lies inside of it, is always right.
fn line_of<R: Read>(reader: &csv::Reader<R>, record: &ByteRecord) -> u64 {
    let inside = record.as_slice().iter().filter(|byte| **byte == b'\n').count() as u64;
    reader.position().line().saturating_sub(inside + 1).max(1)
}

/// The names in the first line.
struct Header {
    file: String,
    names: Vec<String>,
}

impl Header {
    fn of(record: &ByteRecord, file: &str) -> Result<Header, TableError> {
        let name = |(place, field): (usize, &[u8])| {
            let text = std::str::from_utf8(field).map_err(|_| TableError::NotUtf8 {
                file: file.to_owned(),
                line: 1,
                column: (place + 1).to_string(),
            })?;
            Ok(text.trim().trim_start_matches('\u{feff}').to_owned())
        };
        let names = record.iter().enumerate().map(name).collect::<Result<_, TableError>>()?;
        Ok(Header { file: file.to_owned(), names })
    }

    /// The place of a column that may be there.
    fn place(&self, column: &str) -> Result<Option<usize>, TableError> {
        let mut places = self.names.iter().enumerate().filter(|(_, name)| *name == column).map(|(place, _)| place);
        let first = places.next();
        match (first, places.next()) {
            (Some(one), Some(other)) => Err(TableError::DuplicateColumn {
                file: self.file.clone(),
                column: column.to_owned(),
                one: one + 1,
                other: other + 1,
            }),
            _ => Ok(first),
        }
    }

    /// The place of a column that must be there.
    fn needed(&self, column: &str, role: &'static str) -> Result<usize, TableError> {
        self.place(column)?.ok_or_else(|| TableError::NoColumn {
            file: self.file.clone(),
            column: column.to_owned(),
            role,
            columns: listed(self.names.iter().map(String::as_str)),
            hint: self.hint(column),
        })
    }

    fn hint(&self, column: &str) -> String {
        if let Some(meant) = self.names.iter().find(|name| name.eq_ignore_ascii_case(column)) {
            return format!("; did you mean '{meant}'?");
        }
        let [only] = self.names.as_slice() else { return String::new() };
        let mark = [(';', "semicolons"), ('\t', "tabs")].into_iter().find(|(mark, _)| only.contains(*mark));
        mark.map_or_else(String::new, |(_, name)| format!("; they seem to be separated by {name}: save it with commas"))
    }
}

/// A row that is being read.
struct Row<'r> {
    file: &'r str,
    header: &'r Header,
    record: &'r ByteRecord,
    line: u64,
}

impl Row<'_> {
    fn bytes(&self, place: usize) -> &[u8] {
        self.record.get(place).unwrap_or_default().trim_ascii()
    }

    fn column(&self, place: usize) -> String {
        self.header.names.get(place).cloned().unwrap_or_default()
    }

    fn text(&self, place: usize) -> Result<&str, TableError> {
        std::str::from_utf8(self.bytes(place)).map(str::trim).map_err(|_| TableError::NotUtf8 {
            file: self.file.to_owned(),
            line: self.line,
            column: self.column(place),
        })
    }

    /// `None` where there is none.
    fn number(&self, place: usize) -> Result<Option<f64>, TableError> {
        let text = self.text(place)?;
        match text.parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(Some(number)),
            _ if text.is_empty() || MISSING.iter().any(|word| word.eq_ignore_ascii_case(text)) => Ok(None),
            _ => Err(TableError::NotANumber {
                file: self.file.to_owned(),
                line: self.line,
                column: self.column(place),
                value: text.chars().take(60).collect(),
                remedy: remedy_for(text),
            }),
        }
    }
}

fn remedy_for(text: &str) -> &'static str {
    if text.parse::<f64>().is_ok() {
        return "leave the field empty where there is no finite value";
    }
    if text.contains(',') && text.replace(',', ".").parse::<f64>().is_ok() {
        return "write it with a decimal point and without separators of thousands";
    }
    if text.trim_end_matches(|c: char| c.is_alphabetic() || c == '%' || c == ' ').parse::<f64>().is_ok() {
        return "write the number alone, without its unit";
    }
    "write a number like 742.83, or leave the field empty where there is none"
}

/// Which field goes where, and what has been taken.
struct Columns {
    factors: Vec<usize>,
    /// Place among the factors, and the codes of the levels that are wanted, of each contrast.
    wanted: Vec<(usize, String, String)>,
    value: usize,
    block: Option<usize>,
    block_names: HashMap<Vec<u8>, u32>,
    order: Option<usize>,
    outcome: Option<usize>,
    counters: Vec<usize>,
    /// Counters that nobody named may turn out to be text.
    counters_are_guessed: bool,
    row_codes: Vec<u32>,
    table: Table,
}

impl Columns {
    fn find(header: &Header, question: &Question) -> Result<Columns, TableError> {
        let names = question.factors();
        let factors: Vec<usize> = names.iter().map(|name| header.needed(name, "a factor")).collect::<Result<_, _>>()?;
        let value = header.needed(&question.value, "the value")?;
        let special = |name: &str| -> Result<Option<usize>, TableError> {
            if names.contains(&name) || question.value == name { Ok(None) } else { header.place(name) }
        };
        let (block, order, outcome) = (special(BLOCK)?, special(ORDER)?, special(OUTCOME)?);
        let mut taken: Vec<usize> = factors.clone();
        taken.extend([Some(value), block, order, outcome].into_iter().flatten());
        let counters = counters(header, &question.counters, &taken)?;
        let of_place = |place: usize| header.names.get(place).cloned().unwrap_or_default();
        let table = Table {
            factors: names.iter().map(|name| Factor { name: (*name).to_owned(), ..Factor::default() }).collect(),
            counters: counters.iter().map(|place| Counter { name: of_place(*place), values: Vec::new() }).collect(),
            ..Table::default()
        };
        let place_of = |factor: &str| names.iter().position(|name| *name == factor).unwrap_or_default();
        Ok(Columns {
            wanted: question.contrasts.iter().map(|c| (place_of(&c.factor), c.a.clone(), c.b.clone())).collect(),
            factors,
            value,
            block,
            block_names: HashMap::new(),
            order,
            outcome,
            counters,
            counters_are_guessed: question.counters == Counters::All,
            row_codes: Vec::new(),
            table,
        })
    }

    fn take(&mut self, row: &Row<'_>) -> Result<(), TableError> {
        if row.record.len() != row.header.names.len() {
            return Err(TableError::Ragged {
                file: row.file.to_owned(),
                line: row.line,
                fields: row.record.len(),
                columns: row.header.names.len(),
            });
        }
        let outcome = self.outcome.map(|place| outcome(row, place)).transpose()?;
        let value = row.number(self.value)?;
        let order = self.order.map(|place| row.number(place)).transpose()?;
        self.row_codes.clear();
        for (factor, place) in self.table.factors.iter_mut().zip(&self.factors) {
            let bytes = row.bytes(*place);
            let code = match factor.known.get(bytes) {
                Some(code) => *code,
                None => factor.learn(row.text(*place)?),
            };
            self.row_codes.push(code);
        }
        if !self.is_wanted() {
            return Ok(());
        }
        let left_out = &mut self.table.left_out;
        let without_level =
            self.table.factors.iter().zip(&self.row_codes).any(|(f, code)| f.levels[*code as usize].is_empty());
        if without_level {
            left_out.without_level.add(row.line);
            return Ok(());
        }
        if outcome == Some(Outcome::Invalid) {
            left_out.invalid.add(row.line);
            return Ok(());
        }
        if value.is_none() && outcome.is_none_or(|outcome| outcome == Outcome::Ok) {
            left_out.without_value.add(row.line);
            return Ok(());
        }
        self.keep(row, outcome, value, order)
    }

    /// Whether a contrast asks for a row with these levels.
    fn is_wanted(&self) -> bool {
        self.wanted.iter().any(|(place, a, b)| {
            let level = &self.table.factors[*place].levels[self.row_codes[*place] as usize];
            level == a || level == b
        })
    }

    fn keep(
        &mut self,
        row: &Row<'_>,
        outcome: Option<Outcome>,
        value: Option<f64>,
        order: Option<Option<f64>>,
    ) -> Result<(), TableError> {
        let table = &mut self.table;
        for (factor, code) in table.factors.iter_mut().zip(&self.row_codes) {
            factor.codes.push(*code);
        }
        table.values.push(value.unwrap_or(f64::NAN));
        table.lines.push(row.line);
        table.outcomes.extend(outcome);
        table.order.extend(order.map(|order| order.unwrap_or(f64::NAN)));
        if let Some(place) = self.block {
            let name = row.bytes(place);
            let next = self.block_names.len() as u32;
            let code = (!name.is_empty()).then(|| *self.block_names.entry(name.to_vec()).or_insert(next));
            table.blocks.push(code);
        }
        let mut text_found = Vec::new();
        for (column, (counter, place)) in table.counters.iter_mut().zip(&self.counters).enumerate() {
            match row.number(*place) {
                Ok(number) => counter.values.push(number.unwrap_or(f64::NAN)),
                Err(TableError::NotANumber { .. } | TableError::NotUtf8 { .. }) if self.counters_are_guessed => {
                    text_found.push(column);
                }
                Err(error) => return Err(error),
            }
        }
        for column in text_found.into_iter().rev() {
            let counter = table.counters.remove(column);
            self.counters.remove(column);
            // Text from the first row on was never a counter; text after numbers is worth a word.
            if !counter.values.is_empty() {
                table.left_out.counters_with_text.push((counter.name, row.line));
            }
        }
        Ok(())
    }
}

impl Factor {
    fn learn(&mut self, level: &str) -> u32 {
        let code = self.levels.len() as u32;
        self.levels.push(level.to_owned());
        self.known.insert(level.as_bytes().to_vec(), code);
        code
    }
}

fn counters(header: &Header, asked: &Counters, taken: &[usize]) -> Result<Vec<usize>, TableError> {
    match asked {
        Counters::None => Ok(Vec::new()),
        Counters::Named(names) => names.iter().map(|name| header.needed(name, "a counter")).collect(),
        Counters::All => {
            let mut places = Vec::new();
            for (place, name) in header.names.iter().enumerate() {
                if !name.is_empty() && !taken.contains(&place) {
                    places.extend(header.place(name)?);
                }
            }
            Ok(places)
        }
    }
}

fn outcome(row: &Row<'_>, place: usize) -> Result<Outcome, TableError> {
    let word = row.text(place)?;
    Outcome::of_word(word).ok_or_else(|| TableError::NotAnOutcome {
        file: row.file.to_owned(),
        line: row.line,
        column: row.column(place),
        value: word.chars().take(60).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn question() -> Question {
        Question::new("s", vec!["k=a,b".parse().unwrap()], vec![])
    }

    fn read(text: &str) -> Result<Table, TableError> {
        Table::read(text.as_bytes(), "t.csv", &question())
    }

    fn refused(text: &str) -> String {
        read(text).map(|table| table.values).unwrap_err().to_string()
    }

    #[test]
    fn what_spreadsheets_write_is_read() {
        for text in [
            "k,s\na,1\nb,2\n",
            "\u{feff}k,s\r\na,1\r\nb,2\r\n",
            "k,s\n\na,1\n\n\nb,2",
            " k , s \n\"a\", 1 \nb,\" 2\"\n,\n",
            "note,k,s\n\"two\nlines, a comma and \"\"quotes\"\"\",a,1\n,b,2\n",
        ] {
            let table = read(text).unwrap();
            assert_eq!(table.values, [1.0, 2.0], "{text:?}");
            assert_eq!(table.factors[0].levels, ["a", "b"], "{text:?}");
        }
    }

    #[test]
    fn an_error_names_the_line_whatever_the_line_ends_blank_lines_and_quoted_line_breaks() {
        for (text, line) in [
            ("k,s\na,1\nb,x\n", 3),
            ("k,s\na,1\nb,x", 3),
            ("k,s\r\na,1\r\nb,x\r\n", 3),
            ("k,s\r\na,1\r\nb,x", 3),
            ("k,s\n\n\na,1\n\nb,x\n", 6),
            ("k,s\r\n\r\na,1\r\n\r\nb,x\r\n", 5),
            ("k,s\n\"a\nc\",1\nb,x\n", 4),
            ("k,s\n\"a\nc\",x\nb,1\n", 2),
        ] {
            let said = refused(text);
            assert!(said.contains(&format!("line {line}, column 's': 'x'")), "{text:?}: {said}");
        }
    }

    #[test]
    fn what_is_no_table_is_refused_with_a_remedy() {
        for (text, said) in [
            ("", "empty"),
            ("k,s\n", "no rows"),
            ("k,t\na,1\n", "its columns are 'k', 't'"),
            ("K,s\na,1\n", "did you mean 'K'?"),
            ("k;s\na;1\n", "separated by semicolons"),
            ("k\ts\na\t1\n", "separated by tabs"),
            ("k,s,s\na,1,2\n", "columns 2 and 3 are both called 's'"),
            ("k,s\na,1,2\n", "3 fields where the header has 2"),
            ("k,s\na\n", "1 fields where the header has 2"),
            ("k,s\na,1\nc,2\n", "no 'b' in column 'k'; the levels there are 'a', 'c'"),
            ("k,s\na,\"742,83\"\n", "decimal point"),
            ("k,s\na,12 s\n", "without its unit"),
            ("k,s\na,1e999\n", "no finite value"),
            ("k,s\na,-inf\n", "no finite value"),
            ("k,s,outcome\na,1,good\n", "no outcome"),
            ("k,s,order\na,1,first\n", "column 'order'"),
        ] {
            let found = refused(text);
            assert!(found.contains(said) && found.contains("t.csv"), "{text:?}: {found}");
        }
        let bytes = Table::read(&b"k,s\n\xff\xfe,1\n"[..], "t.csv", &question()).map(|_| ()).unwrap_err();
        assert!(bytes.to_string().contains("line 2, column 'k': the text is not UTF-8"), "{bytes}");
    }

    #[test]
    fn what_is_missing_is_left_out_and_counted() {
        let table = read("k,s\na,1\na,NA\nb,\nb,nan\n,5\nb,2\nc,3\n").unwrap();
        assert_eq!(table.values, [1.0, 2.0]);
        assert_eq!(table.left_out.without_value, Rows { count: 3, first_line: 3 });
        assert_eq!(table.left_out.without_level.count, 0, "a row of no contrast is nobody's loss");
        assert_eq!(table.lines, [2, 7]);
    }

    #[test]
    fn a_run_that_failed_needs_no_value_and_an_invalid_one_is_no_result() {
        let table = read("k,s,outcome\na,1,ok\nb,,OOM\nb,7,invalid\nb,2,ok\n").unwrap();
        assert_eq!(table.outcomes, [Outcome::Ok, Outcome::Oom, Outcome::Ok]);
        assert!(table.values[1].is_nan());
        assert_eq!((table.left_out.invalid.count, table.left_out.without_value.count), (1, 0));
    }

    #[test]
    fn all_counters_are_the_columns_of_numbers() {
        let mut question = question();
        question.counters = Counters::All;
        let text = "k,s,host,faults,swap,order\na,1,x,5,1,1\nb,2,y,6,no,2\n";
        let table = Table::read(text.as_bytes(), "t.csv", &question).unwrap();
        let names: Vec<&str> = table.counters.iter().map(|counter| counter.name.as_str()).collect();
        assert_eq!(names, ["faults"]);
        assert_eq!(table.counters[0].values, [5.0, 6.0]);
        assert_eq!(table.left_out.counters_with_text, [("swap".to_owned(), 3)]);
        question.counters = Counters::Named(vec!["swap".to_owned()]);
        let named = Table::read(text.as_bytes(), "t.csv", &question).map(|_| ()).unwrap_err();
        assert!(named.to_string().contains("column 'swap': 'no' is not a number"), "{named}");
    }

    proptest! {
        #[test]
        fn no_bytes_bring_it_down(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = Table::read(&bytes[..], "t.csv", &question());
            let mut with_header = b"k,s,block,order,outcome\n".to_vec();
            with_header.extend(&bytes);
            let _ = Table::read(&with_header[..], "t.csv", &question());
        }

        #[test]
        fn every_row_of_two_levels_is_kept_in_order(values in prop::collection::vec(-1e300f64..1e300, 2..40)) {
            let rows: String = values.iter().enumerate().map(|(n, v)| format!("{},{v}\n", if n % 2 == 0 { "a" } else { "b" })).collect();
            prop_assert_eq!(read(&format!("k,s\n{rows}")).unwrap().values, values);
        }
    }
}

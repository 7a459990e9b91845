//! A long-form table, a row per point, read once and kept by column: only the columns and rows that were asked for.
//!
//! CSV as RFC 4180 has it and as spreadsheets write it: quoted fields, either line end, a byte-order mark, blank rows,
//! semicolons or tabs between fields, decimal commas, comments above the header. What was recognised is kept to be said.
//! What cannot be understood is refused with file, line, column and remedy. Memory is that of the numbers kept, eight
//! bytes each.

mod delimiter;
mod error;
mod header;
mod row;
mod spelling;
mod unused;

pub use delimiter::{Delimiter, DelimiterError};
pub use error::TableError;
pub use row::Marked;
pub use unused::Unused;

use super::outcome::Outcome;
use super::question::{BLOCK, Blocks, Counters, ORDER, OUTCOME, Question};
use csv::ByteRecord;
use error::{listed, shown};
use header::Header;
use row::{Numbers, Row};
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
    /// Place in time, in seconds where it is [`Recognised::order_is_time`]; NaN where it is missing. Empty without the
    /// column.
    pub order: Vec<f64>,
    /// How the run ended. Empty without the column.
    pub outcomes: Vec<Outcome>,
    /// The counters.
    pub counters: Vec<Counter>,
    /// Columns of few levels that nobody asked about.
    pub unused: Vec<Unused>,
    /// Line of the file at which the row begins; the first is 1.
    pub lines: Vec<u64>,
    /// What was left out on the way.
    pub left_out: LeftOut,
    /// How the text was understood.
    pub recognised: Recognised,
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
    /// Rows of the file with each level, kept or not.
    seen: Vec<Rows>,
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
    /// Levels of a factor that is compared, other than those that are.
    pub levels: Vec<LeftOutLevel>,
}

/// A level that no comparison asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOutLevel {
    /// The factor.
    pub factor: String,
    /// Its level.
    pub level: String,
    /// The rows that have it.
    pub rows: Rows,
    /// What it has in common with one of the levels that are compared, and that level.
    pub alike: Option<(&'static str, String)>,
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

/// How a table was understood.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recognised {
    /// What separates fields.
    pub delimiter: Delimiter,
    /// Lines above the header that are comments.
    pub comments: u64,
    /// The first column with decimal commas, and the first such number.
    pub decimal_comma: Option<(String, Marked)>,
    /// The first column whose points may stand between thousands, and the first such number.
    pub thousands_point: Option<(String, Marked)>,
    /// The column that was taken for the order.
    pub order: Option<String>,
    /// It holds timestamps.
    pub order_is_time: bool,
    /// Where none was, the first column that begins with a timestamp.
    pub times: Option<String>,
    /// The column that was taken for the block.
    pub block: Option<String>,
    /// The column that was taken for the outcome.
    pub outcome: Option<String>,
    /// Of two columns that mean the same by their names, the one that is used and the other.
    pub doubled: Vec<(String, String)>,
    /// Levels of factors that are kept apart and may be one.
    pub alike: Vec<AlikeLevels>,
}

/// Two levels that may be one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlikeLevels {
    /// The factor.
    pub factor: String,
    /// One of its levels.
    pub level: String,
    /// What it has in common with the other: `the same but for case as`.
    pub what: &'static str,
    /// The other.
    pub other: String,
}

impl Table {
    /// Reads what `question` needs. `file` is the name for messages.
    ///
    /// # Errors
    /// When the text is no table, lacks a column or a level that is asked for, or holds something else than a number
    /// where one belongs.
    pub fn read(source: impl Read, file: &str, question: &Question) -> Result<Table, TableError> {
        Table::read_delimited(source, file, question, None)
    }

    /// The same, with fields that are separated by `delimiter`; `None` for what the header says.
    ///
    /// # Errors
    /// As [`Table::read`].
    pub fn read_delimited(
        source: impl Read,
        file: &str,
        question: &Question,
        delimiter: Option<Delimiter>,
    ) -> Result<Table, TableError> {
        let mut opened = delimiter::open(source, file, delimiter, Some(&question.value))?;
        let mut record = ByteRecord::new();
        if !opened.next(&mut record, file)? {
            return Err(TableError::Empty { file: file.to_owned() });
        }
        let mut header = Header::of(&record, file, opened.line_of(&record))?;
        header.commented = opened.commented_header;
        let mut columns = Columns::find(&header, question, opened.delimiter)?;
        let mut rows = 0u64;
        while opened.next(&mut record, file)? {
            if record.iter().all(|field| field.trim_ascii().is_empty()) {
                continue;
            }
            rows += 1;
            let line = opened.line_of(&record);
            columns.take(&Row { file, header: &header, record: &record, line })?;
        }
        if rows == 0 {
            return Err(TableError::NoRows { file: file.to_owned() });
        }
        let mut table = columns.finish(&header);
        table.recognised.comments = opened.comments;
        table.has_levels(question, file)?;
        table.check_spelling(question);
        Ok(table)
    }

    /// The names of the columns, for someone who has not said yet which of them are meant.
    ///
    /// # Errors
    /// When there is no first line, or its text is not UTF-8.
    pub fn columns(source: impl Read, file: &str, delimiter: Option<Delimiter>) -> Result<Vec<String>, TableError> {
        let mut record = ByteRecord::new();
        let mut opened = delimiter::open(source, file, delimiter, None)?;
        if !opened.next(&mut record, file)? {
            return Err(TableError::Empty { file: file.to_owned() });
        }
        Ok(Header::of(&record, file, opened.line_of(&record))?.names)
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
                    let meant = factor.levels.iter().find(|known| spelling::alike(known, level).is_some());
                    return Err(TableError::NoLevel {
                        file: file.to_owned(),
                        factor: factor.name.clone(),
                        level: level.clone(),
                        levels: listed(factor.levels.iter().map(String::as_str)),
                        hint: meant.map_or_else(String::new, |meant| format!("; did you mean '{}'?", shown(meant))),
                    });
                }
            }
        }
        Ok(())
    }

    /// Levels that nobody compares, and levels that may be one.
    fn check_spelling(&mut self, question: &Question) {
        for factor in &self.factors {
            let of_factor = question.contrasts.iter().filter(|contrast| contrast.factor == factor.name);
            let compared: Vec<&str> = of_factor.flat_map(|c| [c.a.as_str(), c.b.as_str()]).collect();
            if compared.is_empty() {
                self.recognised.alike.extend(factor.alike());
            } else {
                self.left_out.levels.extend(factor.left_out(&compared));
            }
        }
    }
}

impl Factor {
    fn learn(&mut self, level: &str) -> u32 {
        let code = self.levels.len() as u32;
        self.levels.push(level.to_owned());
        self.known.insert(level.as_bytes().to_vec(), code);
        self.seen.push(Rows::default());
        code
    }

    /// Levels with rows that are not among those compared.
    fn left_out(&self, compared: &[&str]) -> Vec<LeftOutLevel> {
        let levels = self.levels.iter().zip(&self.seen);
        let others = levels.filter(|(level, _)| !level.is_empty() && !compared.contains(&level.as_str()));
        let alike =
            |level: &str| compared.iter().find_map(|known| Some((spelling::alike(level, known)?, (*known).to_owned())));
        others
            .map(|(level, rows)| LeftOutLevel {
                factor: self.name.clone(),
                level: level.clone(),
                rows: *rows,
                alike: alike(level),
            })
            .collect()
    }

    /// Pairs of levels that may be one.
    fn alike(&self) -> Vec<AlikeLevels> {
        // Every level is held against every other: of a column with thousands nobody looks for slips.
        let levels = &self.levels[..self.levels.len().min(MOST_HELD_AGAINST_EACH_OTHER)];
        let mut found = Vec::new();
        for (place, level) in levels.iter().enumerate() {
            let with = levels[..place].iter().find_map(|known| Some((spelling::alike(level, known)?, known)));
            found.extend(with.map(|(what, known)| AlikeLevels {
                factor: self.name.clone(),
                level: level.clone(),
                what,
                other: known.clone(),
            }));
        }
        found
    }
}

/// See [`Factor::alike`].
const MOST_HELD_AGAINST_EACH_OTHER: usize = 200;

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
    unused: Vec<(usize, Unused)>,
    numbers: Numbers,
    row_codes: Vec<u32>,
    table: Table,
}

impl Columns {
    fn find(header: &Header, question: &Question, delimiter: Delimiter) -> Result<Columns, TableError> {
        let names = question.factors();
        let factors: Vec<usize> = names.iter().map(|name| header.needed(name, "a factor")).collect::<Result<_, _>>()?;
        let value = header.needed(&question.value, "the value")?;
        let mut taken: Vec<usize> = factors.clone();
        taken.push(value);
        let mut recognised = Recognised { delimiter, ..Recognised::default() };
        let mut special = |name: &str| -> Result<Option<usize>, TableError> {
            let (place, other) = header.special(name, &taken)?;
            let used = place.map(|place| header.name(place)).unwrap_or_default();
            recognised.doubled.extend(other.map(|other| (used, other)));
            Ok(place)
        };
        let block = match &question.blocks {
            Blocks::Named(named) => Some(header.needed(named, "the block of the runs")?),
            Blocks::Recognised | Blocks::None => special(BLOCK)?,
        };
        let order = match &question.order {
            Some(named) => Some(header.needed(named, "the order of the runs")?),
            None => special(ORDER)?,
        };
        let outcome = special(OUTCOME)?;
        let name_of = |place: Option<usize>| place.map(|place| header.name(place));
        (recognised.block, recognised.order, recognised.outcome) = (name_of(block), name_of(order), name_of(outcome));
        taken.extend([block, order, outcome].into_iter().flatten());
        let counters = counters(header, &question.counters, &taken)?;
        let counters_are_guessed = question.counters == Counters::All;
        if !counters_are_guessed {
            taken.extend(&counters);
        }
        let table = Table {
            factors: names.iter().map(|name| Factor { name: (*name).to_owned(), ..Factor::default() }).collect(),
            counters: counters.iter().map(|place| Counter { name: header.name(*place), values: Vec::new() }).collect(),
            recognised,
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
            counters_are_guessed,
            unused: unused(header, &taken),
            numbers: Numbers::new(header.names.len(), !delimiter.is_comma()),
            row_codes: Vec::new(),
            table,
        })
    }

    fn take(&mut self, row: &Row<'_>) -> Result<(), TableError> {
        if row.record.len() != row.header.names.len() {
            return Err(ragged(row, self.table.recognised.delimiter));
        }
        let outcome = self.outcome.map(|place| row.outcome(place)).transpose()?;
        let value = self.numbers.number(row, self.value)?;
        let order = match self.order {
            Some(place) => Some(self.numbers.place_in_time(row, place)?),
            None => None,
        };
        self.row_codes.clear();
        for (factor, place) in self.table.factors.iter_mut().zip(&self.factors) {
            let bytes = row.bytes(*place);
            let code = match factor.known.get(bytes) {
                Some(code) => *code,
                None => factor.learn(row.text(*place)?),
            };
            factor.seen[code as usize].add(row.line);
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
        if table.values.len() == 1 && self.order.is_none() {
            let times = self.unused.iter().map(|(place, _)| *place).find(|place| row.is_timestamp(*place));
            table.recognised.times = times.map(|place| row.header.name(place));
        }
        self.unused.retain_mut(|(place, unused)| unused.take(row.bytes(*place)));
        let mut text_found = Vec::new();
        for (column, (counter, place)) in table.counters.iter_mut().zip(&self.counters).enumerate() {
            match self.numbers.number(row, *place) {
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

    /// The table, and what the numbers in it looked like.
    fn finish(self, header: &Header) -> Table {
        let mut table = self.table;
        let numbers: Vec<usize> = [self.value].into_iter().chain(self.order).chain(self.counters).collect();
        let with_comma = |place: &usize| Some((header.name(*place), self.numbers.comma(*place)?.clone()));
        let with_point = |place: &usize| Some((header.name(*place), self.numbers.point_of_thousands(*place)?.clone()));
        table.recognised.decimal_comma = numbers.iter().find_map(with_comma);
        table.recognised.thousands_point = numbers.iter().find_map(with_point);
        table.recognised.order_is_time = self.numbers.is_time();
        table.unused = self.unused.into_iter().map(|(_, unused)| unused).filter(|u| u.levels.len() > 1).collect();
        table
    }
}

fn ragged(row: &Row<'_>, delimiter: Delimiter) -> TableError {
    let is_comment = row.record.get(0).is_some_and(|field| field.trim_ascii().starts_with(b"#"));
    let hint = if row.record.as_slice().contains(&b'\n') {
        "; a quote of this row closes only in a later line"
    } else if is_comment {
        "; comments are read over only above the header"
    } else if delimiter.is_comma() && row.record.len() > row.header.names.len() {
        "; for decimal commas separate fields by something else, such as ;"
    } else {
        ""
    };
    TableError::Ragged {
        file: row.file.to_owned(),
        line: row.line,
        fields: row.record.len(),
        columns: row.header.names.len(),
        hint,
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

/// Columns that could be named in a question and are not.
fn unused(header: &Header, taken: &[usize]) -> Vec<(usize, Unused)> {
    let mut named: HashMap<&str, u32> = HashMap::new();
    header.names.iter().for_each(|name| *named.entry(name.as_str()).or_default() += 1);
    let is_free = |place: &usize| !taken.contains(place);
    let places = (0..header.names.len()).filter(is_free);
    let by_itself = |place: &usize| {
        let name = header.names[*place].as_str();
        !name.is_empty() && named.get(name) == Some(&1)
    };
    let column = |place: usize| (place, Unused { name: header.name(place), ..Unused::default() });
    places.filter(by_itself).map(column).collect()
}

#[cfg(test)]
mod tests;

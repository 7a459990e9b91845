//! Why a table cannot be read.

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
    #[error("{file}, line {line}: the columns {one} and {other} are both called '{column}'; rename one of them")]
    DuplicateColumn {
        /// The file.
        file: String,
        /// The line of the header.
        line: u64,
        /// The name.
        column: String,
        /// Its first place, from 1.
        one: usize,
        /// Its second place, from 1.
        other: usize,
    },
    /// A quote that takes the rest of the file for one field.
    #[error(
        "{file}, line {line}: the quote that opens here is never closed; close it where the field ends, and write a quote \
         inside of a field twice"
    )]
    UnclosedQuote {
        /// The file.
        file: String,
        /// The line in which the quote opens.
        line: u64,
    },
    /// A row that is too short or too long.
    #[error(
        "{file}, line {line}: {} where the header has {columns}; a field with the delimiter in it must stand \
         in double quotes{hint}", counted(*fields)
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
        /// What else may be wrong.
        hint: &'static str,
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
    /// No place in time, or one that cannot be held against those before it.
    #[error("{file}, line {line}, column '{column}': '{value}' is no place in time beside the others; {remedy}")]
    NotAPlaceInTime {
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
    #[error("{file} has no '{level}' in column '{factor}'; the levels there are {levels}{hint}")]
    NoLevel {
        /// The file.
        file: String,
        /// The factor.
        factor: String,
        /// The level asked for.
        level: String,
        /// Those there are.
        levels: String,
        /// One that is spelled nearly so.
        hint: String,
    },
}

/// As many names as an error lists.
const MOST_LISTED: usize = 20;

fn counted(fields: usize) -> String {
    if fields == 1 { "1 field".to_owned() } else { format!("{fields} fields") }
}

/// As much of a field as a message shows.
const LONGEST_SHOWN: usize = 60;

/// The beginning of a field, of one line at most.
pub(super) fn shown(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    let beginning: String = line.chars().take(LONGEST_SHOWN).collect();
    if beginning.len() < text.len() { beginning + "…" } else { beginning }
}

/// Names in quotes, the first of many.
pub(super) fn listed<'n>(names: impl Iterator<Item = &'n str>) -> String {
    let names: Vec<&str> = names.collect();
    let mut text: Vec<String> = names.iter().take(MOST_LISTED).map(|name| format!("'{}'", shown(name))).collect();
    if names.len() > MOST_LISTED {
        text.push(format!("and {} more", names.len() - MOST_LISTED));
    }
    if text.is_empty() { "none".to_owned() } else { text.join(", ") }
}

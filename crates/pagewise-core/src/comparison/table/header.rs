//! The names in the first line of a table, and which of its columns is meant.

use super::error::{TableError, listed};
use csv::ByteRecord;

/// The names in the first line.
pub(super) struct Header {
    pub(super) file: String,
    pub(super) line: u64,
    pub(super) names: Vec<String>,
    /// The line of a comment that looks like the header.
    pub(super) commented: Option<u64>,
}

impl Header {
    pub(super) fn of(record: &ByteRecord, file: &str, line: u64) -> Result<Header, TableError> {
        let name = |(place, field): (usize, &[u8])| {
            let text = std::str::from_utf8(field).map_err(|_| TableError::NotUtf8 {
                file: file.to_owned(),
                line,
                column: (place + 1).to_string(),
            })?;
            Ok(text.trim().trim_start_matches('\u{feff}').to_owned())
        };
        let names = record.iter().enumerate().map(name).collect::<Result<_, TableError>>()?;
        Ok(Header { file: file.to_owned(), line, names, commented: None })
    }

    pub(super) fn name(&self, place: usize) -> String {
        self.names.get(place).cloned().unwrap_or_default()
    }

    /// The place of a column that may be there.
    pub(super) fn place(&self, column: &str) -> Result<Option<usize>, TableError> {
        let mut places = self.names.iter().enumerate().filter(|(_, name)| *name == column).map(|(place, _)| place);
        let first = places.next();
        match (first, places.next()) {
            (Some(one), Some(other)) => Err(TableError::DuplicateColumn {
                file: self.file.clone(),
                line: self.line,
                column: column.to_owned(),
                one: one + 1,
                other: other + 1,
            }),
            _ => Ok(first),
        }
    }

    /// The place of a column that must be there.
    pub(super) fn needed(&self, column: &str, role: &'static str) -> Result<usize, TableError> {
        self.place(column)?.ok_or_else(|| TableError::NoColumn {
            file: self.file.clone(),
            column: column.to_owned(),
            role,
            columns: listed(self.names.iter().map(String::as_str)),
            hint: self.hint(column),
        })
    }

    /// The place of a column that means something by its name, whatever its case; spelled exactly so before others. With
    /// it the name of another one that could be meant.
    pub(super) fn special(&self, column: &str, taken: &[usize]) -> Result<(Option<usize>, Option<String>), TableError> {
        let alike: Vec<usize> = (0..self.names.len())
            .filter(|place| !taken.contains(place) && self.names[*place].eq_ignore_ascii_case(column))
            .collect();
        let exact = alike.iter().copied().find(|place| self.names[*place] == column);
        let Some(chosen) = exact.or_else(|| alike.first().copied()) else { return Ok((None, None)) };
        // Twice the very same name is refused as everywhere.
        self.place(&self.names[chosen])?;
        let other = alike.into_iter().find(|place| *place != chosen);
        Ok((Some(chosen), other.map(|place| self.names[place].clone())))
    }

    fn hint(&self, column: &str) -> String {
        if let Some(meant) = self.names.iter().find(|name| name.eq_ignore_ascii_case(column)) {
            return format!("; did you mean '{meant}'?");
        }
        if let Some(line) = self.commented {
            return format!("; line {line} names it and is a comment: take its # away");
        }
        match self.names.as_slice() {
            [_] => "; if something else than , ; or tabs separates them, say so with --delimiter".to_owned(),
            _ => String::new(),
        }
    }
}

//! Columns that nobody asked about and that have few levels: each may be what really differs between the runs compared.

/// More levels than this are measurements or numbers of rows, and nothing that was set.
const MOST_LEVELS: usize = 12;

/// Longer texts are no levels.
const LONGEST_LEVEL: usize = 200;

/// A column of few levels that is neither compared nor kept apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unused {
    /// The column's name.
    pub name: String,
    /// Its levels, in the order in which they occur; an empty field is one, too.
    pub levels: Vec<String>,
    /// Level of each kept row: a place in `levels`.
    pub codes: Vec<u8>,
}

impl Unused {
    /// Takes the level of the next row. False when it has too many of them, or one that is no text.
    pub(super) fn take(&mut self, level: &[u8]) -> bool {
        if let Some(code) = self.levels.iter().position(|known| known.as_bytes() == level) {
            self.codes.push(code as u8);
            return true;
        }
        let Ok(text) = std::str::from_utf8(level) else { return false };
        if self.levels.len() == MOST_LEVELS || text.len() > LONGEST_LEVEL {
            return false;
        }
        self.codes.push(self.levels.len() as u8);
        self.levels.push(text.to_owned());
        true
    }
}

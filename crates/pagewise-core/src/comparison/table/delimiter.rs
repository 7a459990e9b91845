//! How a text is cut into fields: what stands above the header, and which character separates columns.
//!
//! Excel can say it itself, in a first line `sep=;`. Otherwise spreadsheets separate by the comma, by the semicolon where the comma is the decimal mark, or by tabs. The header says
//! which: the first of the three that gives several columns and names the one that is compared.

use super::error::TableError;
use csv::ByteRecord;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::str::FromStr;

/// What separates the fields of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delimiter(u8);

/// Not something that separates fields.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is no delimiter; write one character such as ';' or '|', or comma, semicolon, tab, space or pipe")]
pub struct DelimiterError(String);

impl Default for Delimiter {
    fn default() -> Self {
        Delimiter(b',')
    }
}

impl FromStr for Delimiter {
    type Err = DelimiterError;

    fn from_str(text: &str) -> Result<Self, DelimiterError> {
        let byte = match (text, text.as_bytes()) {
            ("comma", _) => b',',
            ("semicolon", _) => b';',
            ("tab" | "\\t", _) => b'\t',
            ("space", _) => b' ',
            ("pipe", _) => b'|',
            (_, [byte]) if can_separate(*byte) => *byte,
            _ => return Err(DelimiterError(text.to_owned())),
        };
        Ok(Delimiter(byte))
    }
}

/// Neither a part of numbers and names, nor a quote, nor the mark of a comment.
fn can_separate(byte: u8) -> bool {
    matches!(byte, b'\t' | b' ') || (byte.is_ascii_punctuation() && !b"\"#+-._".contains(&byte))
}

impl Delimiter {
    /// Those that are recognised by themselves, the most usual first.
    const USUAL: [Delimiter; 3] = [Delimiter(b','), Delimiter(b';'), Delimiter(b'\t')];

    /// What fields are separated by, in words: `semicolons`.
    #[must_use]
    pub fn words(self) -> String {
        match self.0 {
            b',' => "commas".to_owned(),
            b';' => "semicolons".to_owned(),
            b'\t' => "tabs".to_owned(),
            b' ' => "spaces".to_owned(),
            other => format!("'{}'", char::from(other)),
        }
    }

    pub(super) fn is_comma(self) -> bool {
        self.0 == b','
    }

    /// The one that the first line of a table speaks for.
    fn of_header(header: &[u8], value: Option<&str>) -> Delimiter {
        let split = Delimiter::USUAL.map(|delimiter| (delimiter, delimiter.names(header)));
        let names_it =
            |names: &[String]| names.len() > 1 && value.is_some_and(|value| names.iter().any(|n| n == value));
        let named = split.iter().find(|(_, names)| names_it(names));
        // Of equals the last is the largest, and turned round the most usual is last.
        let widest = || split.iter().rev().max_by_key(|(_, names)| names.len());
        named.or_else(widest).map_or_else(Delimiter::default, |(delimiter, _)| *delimiter)
    }

    /// The names of a header that is cut so.
    fn names(self, header: &[u8]) -> Vec<String> {
        let mut record = ByteRecord::new();
        let mut reader = self.builder().from_reader(header);
        // A slice cannot fail to be read.
        let is_there = reader.read_byte_record(&mut record).unwrap_or(false);
        let name = |field: &[u8]| String::from_utf8_lossy(field).trim_start_matches('\u{feff}').trim().to_owned();
        if is_there { record.iter().map(name).collect() } else { Vec::new() }
    }

    /// `\n` ends a line and the `\r` before it is trimmed with the spaces: with the reader's own rule for `\r\n` the `\n`
    /// would still be to come when it hands out the record, and lines could not be counted.
    fn builder(self) -> csv::ReaderBuilder {
        let mut builder = csv::ReaderBuilder::new();
        builder
            .flexible(true)
            .has_headers(false)
            .delimiter(self.0)
            .terminator(csv::Terminator::Any(b'\n'))
            .buffer_capacity(BUFFER);
        builder
    }
}

/// Bytes at a time: a row of 200 counters has about two thousand.
const BUFFER: usize = 1 << 16;

/// A header is read so far. A longer one is read all the same.
const LONGEST_HEADER: u64 = 1 << 16;

const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// A table from its header on.
pub(super) struct OpenTable<R> {
    reader: csv::Reader<R>,
    pub(super) delimiter: Delimiter,
    /// Lines above the header.
    pub(super) lines_above: u64,
    /// How many of them are comments.
    pub(super) comments: u64,
    /// The line of a comment that names the column to be compared.
    pub(super) commented_header: Option<u64>,
}

/// Skips what stands above the header, and cuts the rest as `asked`, or as the header says.
pub(super) fn open<R: Read>(
    source: R,
    file: &str,
    asked: Option<Delimiter>,
    value: Option<&str>,
) -> Result<OpenTable<impl Read>, TableError> {
    let mut source = BufReader::with_capacity(BUFFER, source);
    let above = above(&mut source)
        .map_err(|error| TableError::Unreadable { file: file.to_owned(), reason: error.to_string() })?;
    let delimiter = asked.or(above.separator).unwrap_or_else(|| Delimiter::of_header(&above.header, value));
    let names_it = |value: &str| {
        let names = Delimiter::of_header(&above.last_comment, Some(value)).names(&above.last_comment);
        names.len() > 1 && names.iter().any(|name| name == value)
    };
    Ok(OpenTable {
        delimiter,
        lines_above: above.lines,
        comments: above.comments,
        commented_header: value.filter(|value| names_it(value)).map(|_| above.last_comment_line),
        reader: delimiter.builder().from_reader(ended(Cursor::new(above.header).chain(source))),
    })
}

/// A line of its own behind the last: a quote that is still open has it inside. No table has such a line, which begins
/// and ends with ASCII's separator of files.
const END: &[u8] = b"\x1cend\x1c";

/// The last line gets the end it may lack, so that lines can be counted, and [`END`] follows it.
fn ended(source: impl Read) -> impl Read {
    source.chain(&b"\n"[..]).chain(END).chain(&b"\n"[..])
}

impl<R: Read> OpenTable<R> {
    pub(super) fn next(&mut self, record: &mut ByteRecord, file: &str) -> Result<bool, TableError> {
        let is_there = self
            .reader
            .read_byte_record(record)
            .map_err(|error| TableError::Unreadable { file: file.to_owned(), reason: error.to_string() })?;
        let last = record.iter().next_back().unwrap_or_default();
        if last.strip_suffix(b"\n").is_some_and(|last| last.ends_with(END)) {
            return Err(TableError::UnclosedQuote { file: file.to_owned(), line: self.line_of_open_quote(last) });
        }
        Ok(is_there && (record.len() > 1 || last != END))
    }

    /// The line in which the last field of the last record begins. Nothing ends that record, so that every line up to here
    /// was counted.
    fn line_of_open_quote(&self, last: &[u8]) -> u64 {
        let inside = last.iter().filter(|byte| **byte == b'\n').count() as u64;
        self.lines_above + self.reader.position().line().saturating_sub(inside).max(1)
    }

    /// Where a record begins. The reader's own position of a record lies before the blank lines in front of it; the
    /// position after the record, less what lies inside of it, is always right.
    pub(super) fn line_of(&self, record: &ByteRecord) -> u64 {
        let inside = record.as_slice().iter().filter(|byte| **byte == b'\n').count() as u64;
        self.lines_above + self.reader.position().line().saturating_sub(inside + 1).max(1)
    }
}

/// What stands above the header, and the beginning of the header.
#[derive(Default)]
struct Preamble {
    lines: u64,
    comments: u64,
    last_comment: Vec<u8>,
    last_comment_line: u64,
    /// What a first line `sep=;` says.
    separator: Option<Delimiter>,
    header: Vec<u8>,
}

fn above(source: &mut impl BufRead) -> io::Result<Preamble> {
    let mut found = Preamble::default();
    loop {
        let mut line = Vec::new();
        part_of_line(source, &mut line)?;
        let bare = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&line);
        if found.lines == 0
            && let Some(separator) = separator(bare)
        {
            (found.separator, found.lines) = (Some(separator), 1);
            continue;
        }
        let text = bare.trim_ascii();
        let comment = text.strip_prefix(b"#");
        if line.is_empty() || (comment.is_none() && !text.is_empty()) {
            close_quotes(source, &mut line)?;
            found.header = line;
            return Ok(found);
        }
        found.lines += 1;
        if let Some(comment) = comment {
            found.comments += 1;
            found.last_comment = comment.trim_ascii().to_vec();
            found.last_comment_line = found.lines;
        }
        if !line.ends_with(b"\n") {
            skip_line(source)?;
        }
    }
}

/// `sep=;`, which Excel understands in the first line of a file and writes nowhere else.
fn separator(line: &[u8]) -> Option<Delimiter> {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let line = line.strip_prefix(b"\"").and_then(|line| line.strip_suffix(b"\"")).unwrap_or(line);
    match line.split_at_checked(4)? {
        (word, [byte]) if word.eq_ignore_ascii_case(b"sep=") && can_separate(*byte) => Some(Delimiter(*byte)),
        _ => None,
    }
}

/// Appends a line, or as much of it as is read. Nothing at the end of the text.
fn part_of_line(source: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<usize> {
    Read::take(source, LONGEST_HEADER).read_until(b'\n', line)
}

/// A name in quotes may go on in the next line.
fn close_quotes(source: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<()> {
    let quotes = |bytes: &[u8]| bytes.iter().filter(|byte| **byte == b'"').count();
    let mut open = quotes(line) % 2 == 1;
    while open && (line.len() as u64) < LONGEST_HEADER {
        let before = line.len();
        if part_of_line(source, line)? == 0 {
            break;
        }
        open ^= quotes(&line[before..]) % 2 == 1;
    }
    Ok(())
}

/// The rest of a line, however long, without keeping it.
fn skip_line(source: &mut impl BufRead) -> io::Result<()> {
    loop {
        let available = source.fill_buf()?;
        let end = available.iter().position(|byte| *byte == b'\n');
        let length = end.map_or(available.len(), |end| end + 1);
        let is_done = end.is_some() || available.is_empty();
        source.consume(length);
        if is_done {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delimiter_is_a_character_that_nothing_else_needs() {
        for (text, words) in [(";", "semicolons"), ("tab", "tabs"), ("\\t", "tabs"), ("|", "'|'"), ("comma", "commas")]
        {
            assert_eq!(text.parse::<Delimiter>().unwrap().words(), words);
        }
        for wrong in ["", "a", "1", ".", "-", "\"", "#", "\n", ";;", "é"] {
            assert!(wrong.parse::<Delimiter>().is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn the_header_says_what_separates_its_columns() {
        for (header, value, words) in [
            ("k,s\n", "s", "commas"),
            ("k;s\n", "s", "semicolons"),
            ("k\ts\n", "s", "tabs"),
            // The one that names the value wins over the one that gives more columns.
            ("k;a,b,c,d;s\n", "s", "semicolons"),
            ("\"a;b\",s\n", "s", "commas"),
            ("\"two\nlines\";s\n", "s", "semicolons"),
            // Nobody names it: the one that gives most.
            ("k;s\n", "x", "semicolons"),
            ("s\n", "s", "commas"),
            ("", "s", "commas"),
        ] {
            assert_eq!(Delimiter::of_header(header.as_bytes(), Some(value)).words(), words, "{header:?}");
        }
        assert_eq!(Delimiter::of_header(b"k\ts\n", None).words(), "tabs");
    }

    #[test]
    fn excel_says_in_the_first_line_what_separates() {
        for (line, words) in
            [(&b"sep=;\r\n"[..], "semicolons"), (b"SEP=\t\n", "tabs"), (b"\"sep=|\"\n", "'|'"), (b"sep=,", "commas")]
        {
            assert_eq!(separator(line).map(Delimiter::words).as_deref(), Some(words));
        }
        for line in [&b"sep=\n"[..], b"sep=a\n", b"sep=;;\n", b"sep,s\n", b""] {
            assert_eq!(separator(line), None);
        }
    }

    #[test]
    fn what_stands_above_the_header_is_counted_however_long_it_is() {
        let long = format!("#{}\n\n  # second\nk,s\na,1\n", "x".repeat(3 << 16));
        let mut source = BufReader::with_capacity(100, long.as_bytes());
        let found = above(&mut source).unwrap();
        assert_eq!((found.lines, found.comments, found.header.as_slice()), (3, 2, &b"k,s\n"[..]));
        assert_eq!(found.last_comment, b"second");
    }
}

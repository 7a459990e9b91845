//! Files of other tools opened: `KIND:FILE` to a recording in memory, and from there to a recording file.
//!
//! What the lines mean stands in `pagewise_core::import`. Here lines get a bound, bytes become text, and what is plainly
//! another kind of file is told what to do with it.

mod sosreport;
mod write;

pub use write::write;

use crate::store::recording::RecordingError;
use pagewise_core::import::{self, Assumed, Imported, Kind, Listing, Problem};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::PathBuf;
use std::str::FromStr;

/// No line of these tools is longer; perf prints symbols of some thousand bytes.
const LONGEST_LINE: usize = 64 << 10;

/// No more is read of one file.
const LARGEST_FILE: u64 = 64 << 30;

/// A file and what wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KindFile {
    /// What wrote it.
    pub kind: Kind,
    /// Where it is; a folder for a sosreport.
    pub path: PathBuf,
}

impl FromStr for KindFile {
    type Err = String;

    fn from_str(text: &str) -> Result<KindFile, String> {
        let (kind, path) = text.split_once(':').filter(|(_, path)| !path.is_empty()).ok_or_else(|| {
            let kinds: Vec<&str> = Kind::all().map(Kind::word).collect();
            format!("'{text}' is not KIND:FILE, such as collectl:listing.txt; kinds are {}", kinds.join(", "))
        })?;
        Ok(KindFile { kind: kind.parse()?, path: PathBuf::from(path) })
    }
}

/// A file could not be imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The file system refuses.
    #[error("cannot read {}: {source}", path.display())]
    File {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It is not of that kind, or nothing in it was understood.
    #[error("cannot import {} as {kind}: {problem}", path.display())]
    Wrong {
        /// Which file.
        path: PathBuf,
        /// As what.
        kind: Kind,
        /// What is wrong with it.
        problem: Problem,
    },
    /// The recording cannot be written.
    #[error(transparent)]
    Recording(#[from] RecordingError),
}

/// Opens files and lays them on one time line, in memory.
///
/// # Errors
/// When one of them cannot be read, or nothing in it is understood.
pub fn open(files: &[KindFile], assumed: &Assumed) -> Result<Imported, ImportError> {
    let mut listings = Vec::with_capacity(files.len());
    for file in files {
        let name =
            file.path.file_name().map_or_else(|| file.path.display().to_string(), |n| n.to_string_lossy().into());
        listings.push((name, listing(file, assumed)?));
    }
    Ok(import::merge(listings, assumed))
}

fn listing(file: &KindFile, assumed: &Assumed) -> Result<Listing, ImportError> {
    let failed = |source| ImportError::File { path: file.path.clone(), source };
    let wrong = |problem| ImportError::Wrong { path: file.path.clone(), kind: file.kind, problem };
    let metadata = std::fs::metadata(&file.path).map_err(failed)?;
    let Some(mut parser) = import::parser(file.kind, assumed) else {
        return sosreport::read(&file.path).map_err(wrong);
    };
    if metadata.is_dir() {
        return Err(wrong(problem("it is a folder", "give a text file; a sosreport is imported as sosreport:FOLDER")));
    }
    check_ends(&metadata).map_err(wrong)?;
    let reader = File::open(&file.path).map_err(failed)?;
    let mut lines = BufReader::with_capacity(1 << 16, reader.take(LARGEST_FILE));
    let start = lines.fill_buf().map_err(failed)?;
    check_start(start).map_err(wrong)?;
    let mut buffer = Vec::new();
    let mut number = 0;
    let mut cut = None;
    loop {
        buffer.clear();
        let read = lines.by_ref().take(LONGEST_LINE as u64 + 1).read_until(b'\n', &mut buffer).map_err(failed)?;
        if read == 0 {
            break;
        }
        number += 1;
        if read > LONGEST_LINE {
            let what = format!("it is longer than {LONGEST_LINE} bytes");
            let remedy = format!("it is no text of {}: give its listing", file.kind);
            return Err(wrong(Problem { line: Some(number), what, remedy }));
        }
        let has_end = buffer.last() == Some(&b'\n');
        while matches!(buffer.last(), Some(b'\n' | b'\r')) {
            buffer.pop();
        }
        let bytes = if number == 1 { buffer.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&buffer) } else { &buffer };
        let line = String::from_utf8_lossy(bytes);
        if has_end {
            parser.line(number, &line).map_err(wrong)?;
        } else {
            cut = Some(line.into_owned());
        }
    }
    let mut listing = parser.finish().map_err(wrong)?;
    if let Some(line) = cut.filter(|line| !line.trim().is_empty()) {
        import::cut_line(&mut listing, number, &line);
    }
    Ok(listing)
}

fn problem(what: &str, remedy: &str) -> Problem {
    Problem { line: None, what: what.to_owned(), remedy: remedy.to_owned() }
}

/// A pipe ends; a device like /dev/zero does not.
fn check_ends(metadata: &std::fs::Metadata) -> Result<(), Problem> {
    use std::os::unix::fs::FileTypeExt;
    let kind = metadata.file_type();
    if kind.is_char_device() || kind.is_block_device() {
        return Err(problem("it is a device", "give a text file"));
    }
    Ok(())
}

/// What people give by mistake, told by its first bytes.
fn check_start(start: &[u8]) -> Result<(), Problem> {
    // sysstat's SYSSTAT_MAGIC 0xd596 (sa.h, 12.6), in either byte order.
    const BY_START: [(&[u8], &str, &str); 9] = [
        (
            b"\x1f\x8b",
            "it is compressed with gzip",
            "unpack it with `gunzip`; of a collectl .raw.gz make text with `collectl -p`",
        ),
        (b"\xfd7zXZ", "it is compressed with xz", "unpack it with `unxz`, a sosreport with `tar xf`"),
        (b"BZh", "it is compressed with bzip2", "unpack it with `bunzip2`"),
        (b"PERFILE2", "it is a perf.data file", "make text with `perf script -i FILE`"),
        (b"\x96\xd5", "it is a binary file of sadc", "make text with `LC_ALL=C sar -f FILE -B -r -W -q MEM -u -w`"),
        (b"\xd5\x96", "it is a binary file of sadc", "make text with `LC_ALL=C sar -f FILE -B -r -W -q MEM -u -w`"),
        (b"\xff\xfe", "it is UTF-16", "make it UTF-8 with `iconv -f UTF-16 -t UTF-8`"),
        (b"\xfe\xff", "it is UTF-16", "make it UTF-8 with `iconv -f UTF-16 -t UTF-8`"),
        (b"SQLite format 3\0", "it is a database", "a recording needs no import: give FILE.pgw itself"),
    ];
    match BY_START.iter().find(|(bytes, ..)| start.starts_with(bytes)) {
        Some((_, what, remedy)) => Err(problem(what, remedy)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;

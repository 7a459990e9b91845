//! Files of other tools opened: `KIND:FILE`, a file or a folder to a recording in memory, and from there to a recording file.
//!
//! What the lines mean stands in `pagewise_core::import`. Here lines get a bound, bytes become text, and what is plainly
//! another kind of file is told what to do with it.

mod found;
mod sosreport;
mod write;

pub use write::write;

use crate::store::recording::RecordingError;
use flate2::read::MultiGzDecoder;
use pagewise_core::import::{self, Assumed, Imported, Kind, Listing, Parser, Problem};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// No line of these tools is longer; perf prints symbols of some thousand bytes.
const LONGEST_LINE: usize = 64 << 10;

/// No more is read of one file.
const LARGEST_FILE: u64 = 64 << 30;

/// So much of a file is read to find what wrote it.
const START: u64 = 4 << 20;

const GZIP: &[u8] = b"\x1f\x8b";

/// A file and what wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KindFile {
    /// What wrote it. `None`: that is found from its text; of a folder every text file is taken.
    pub kind: Option<Kind>,
    /// Where it is; a folder for a sosreport, `-` for what comes from standard input.
    pub path: PathBuf,
}

/// In place of a file: standard input, which has no name to be told by.
const STDIN: &str = "-";

/// The word for a kind that is to be found.
const AUTO: &str = "auto";

impl FromStr for KindFile {
    type Err = String;

    fn from_str(text: &str) -> Result<KindFile, String> {
        let kind_of = |word: &str| match word {
            AUTO => Some(None),
            word => word.parse::<Kind>().ok().map(Some),
        };
        let parts = text.split_once(':').and_then(|(word, path)| Some((kind_of(word)?, path)));
        match parts {
            Some((kind, path)) if !path.is_empty() => Ok(KindFile { kind, path: PathBuf::from(path) }),
            // A word alone is a forgotten file rather than a file of that name.
            None if !text.is_empty() && kind_of(text).is_none() => {
                Ok(KindFile { kind: None, path: PathBuf::from(text) })
            }
            _ => {
                let kinds: Vec<&str> = Kind::all().map(Kind::word).collect();
                Err(format!(
                    "'{text}' is not KIND:FILE, such as collectl:listing.txt, nor a file; kinds are {}, and {AUTO}, which finds it",
                    kinds.join(", ")
                ))
            }
        }
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
    /// It is of no kind that is known.
    #[error("cannot import {}: {problem}", path.display())]
    Unknown {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        problem: Problem,
    },
    /// Several files of a folder have the same wrong with them.
    #[error("cannot import {}: {problem}", found::several(folder, names))]
    Several {
        /// Which folder.
        folder: PathBuf,
        /// Its files.
        names: Vec<String>,
        /// What is wrong with them.
        problem: Problem,
    },
    /// None of several could be imported.
    #[error("nothing could be imported: {}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join(" | "))]
    Nothing(Vec<ImportError>),
    /// The recording cannot be written.
    #[error(transparent)]
    Recording(#[from] RecordingError),
}

/// Opens files and lays them on one time line, in memory. What cannot be read is left out, and [`Imported::left_out`] says
/// why.
///
/// # Errors
/// When none of them can be read, or nothing in any is understood.
pub fn open(files: &[KindFile], assumed: &Assumed) -> Result<Imported, ImportError> {
    let mut listings = Vec::with_capacity(files.len());
    let mut left = Vec::new();
    for file in files {
        let named =
            |path: &Path| path.file_name().map_or_else(|| path.display().to_string(), |n| n.to_string_lossy().into());
        match file.kind {
            Some(Kind::Sosreport) => match report(&file.path) {
                Ok(listing) => listings.push((named(&file.path), listing)),
                Err(error) => left.push(error),
            },
            kind if kind.is_some() || !file.path.is_dir() => {
                let read = text(&file.path, kind, assumed);
                listings.extend(read.listings.into_iter().map(|listing| (named(&file.path), listing)));
                left.extend(read.left);
            }
            _ => {
                let (read, not) = found::folder(&file.path, assumed);
                listings.extend(read);
                left.extend(not);
            }
        }
    }
    if listings.is_empty() {
        return Err(if left.len() == 1 { left.remove(0) } else { ImportError::Nothing(left) });
    }
    let mut imported = import::merge(listings, assumed);
    for error in left {
        imported.leave_out(error.to_string());
    }
    Ok(imported)
}

fn report(path: &Path) -> Result<Listing, ImportError> {
    std::fs::metadata(path).map_err(|source| ImportError::File { path: path.to_owned(), source })?;
    let wrong = |problem| ImportError::Wrong { path: path.to_owned(), kind: Kind::Sosreport, problem };
    sosreport::read(path).map_err(wrong)
}

/// What came of a file of text.
#[derive(Debug, Default)]
struct FileOutcome {
    listings: Vec<Listing>,
    left: Vec<ImportError>,
}

/// A file of text, as the kind that the user says, or as each kind that its beginning shows.
fn text(path: &Path, kind: Option<Kind>, assumed: &Assumed) -> FileOutcome {
    match parsed(path, kind, assumed) {
        Ok(read) => read,
        Err(error) => FileOutcome { listings: Vec::new(), left: vec![error] },
    }
}

fn parsed(path: &Path, kind: Option<Kind>, assumed: &Assumed) -> Result<FileOutcome, ImportError> {
    let failed = |source| ImportError::File { path: path.to_owned(), source };
    let wrong = |problem| match kind {
        Some(kind) => ImportError::Wrong { path: path.to_owned(), kind, problem },
        None => ImportError::Unknown { path: path.to_owned(), problem },
    };
    let file: Box<dyn io::Read> = if path == Path::new(STDIN) {
        Box::new(io::stdin())
    } else {
        let metadata = std::fs::metadata(path).map_err(|source| failed(no_such_kind(path, kind, source)))?;
        if metadata.is_dir() {
            let remedy = "give a text file; a sosreport is imported as sosreport:FOLDER";
            return Err(wrong(problem("it is a folder", remedy)));
        }
        check_ends(&metadata).map_err(wrong)?;
        Box::new(File::open(path).map_err(failed)?)
    };
    let mut packed = BufReader::with_capacity(1 << 16, file.take(LARGEST_FILE));
    let is_packed = packed.fill_buf().map_err(failed)?.starts_with(GZIP);
    let mut text: Box<dyn io::Read> =
        if is_packed { Box::new(MultiGzDecoder::new(packed).take(LARGEST_FILE)) } else { Box::new(packed) };
    // A broken archive says so while it is read.
    let failed = |source: io::Error| match is_packed {
        true => wrong(problem(
            &format!("it is compressed with gzip and cannot be unpacked ({source})"),
            "unpack it with `gunzip`; of a collectl .raw.gz make text with `collectl -p`",
        )),
        false => failed(source),
    };
    let mut start = Vec::new();
    text.by_ref().take(START).read_to_end(&mut start).map_err(failed)?;
    check_start(&start).map_err(wrong)?;
    let beginning = String::from_utf8_lossy(&start);
    let mut kinds = kind.map_or_else(|| import::kinds_in(&beginning), |kind| vec![kind]);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let is_of_kernel = kinds.iter().all(|kind| *kind == Kind::Proc);
    let command = is_of_kernel.then(|| import::command_of(&name, &beginning)).flatten();
    if kinds.is_empty() && command.is_some() {
        kinds.push(Kind::Proc);
    }
    if kinds.is_empty() {
        return Err(wrong(of_no_kind()));
    }
    drop(beginning);
    let mut lines = BufReader::with_capacity(1 << 16, io::Cursor::new(start).chain(text));
    let mut read = FileOutcome::default();
    let mut parsers: Vec<(Kind, Box<dyn Parser>)> =
        kinds.into_iter().filter_map(|kind| Some((kind, import::parser(kind, assumed)?))).collect();
    let (mut buffer, mut before, mut number, mut cut) = (Vec::new(), String::new(), 0, None);
    if let Some(command) = command {
        feed(&mut parsers, &mut read.left, path, number, &command);
    }
    // What is left of a line that is read in parts.
    let mut rest: Vec<u8> = Vec::new();
    loop {
        let is_new = rest.is_empty();
        buffer.clear();
        buffer.append(&mut rest);
        lines.by_ref().take(LONGEST_LINE as u64 + 1).read_until(b'\n', &mut buffer).map_err(failed)?;
        if buffer.is_empty() {
            break;
        }
        number += usize::from(is_new);
        // A flame graph may be one line.
        let may_divide = buffer.len() > LONGEST_LINE && parsers.iter().any(|(kind, _)| *kind == Kind::Folded);
        if let Some(at) = import::dividable_at(&buffer).filter(|_| may_divide) {
            rest = buffer.split_off(at);
            feed(&mut parsers, &mut read.left, path, number, &String::from_utf8_lossy(&buffer));
            continue;
        }
        if buffer.len() > LONGEST_LINE {
            let what = format!("it is longer than {LONGEST_LINE} bytes");
            let of = parsers.first().map_or("a tool", |(kind, _)| kind.word());
            let remedy = format!("it is no text of {of}: give its listing");
            return Err(wrong(Problem { line: Some(number), what, remedy }));
        }
        let has_end = buffer.last() == Some(&b'\n');
        while matches!(buffer.last(), Some(b'\n' | b'\r')) {
            buffer.pop();
        }
        let bytes = if number == 1 { buffer.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&buffer) } else { &buffer };
        let line = String::from_utf8_lossy(bytes).into_owned();
        if has_end {
            feed(&mut parsers, &mut read.left, path, number, &line);
            before = line;
        } else {
            cut = Some(line);
        }
    }
    for (kind, mut parser) in parsers {
        let wrong = |problem| ImportError::Wrong { path: path.to_owned(), kind, problem };
        // Whoever reads a line without an end as a whole one says so; the others may have lost a number.
        let last = cut.as_deref().filter(|line| !line.trim().is_empty());
        let is_whole = last.is_some_and(|line| parser.is_whole(line, &before));
        let fed = last.filter(|_| is_whole).map_or(Ok(()), |line| parser.line(number, line));
        match fed.and_then(|()| parser.finish()) {
            Ok(mut listing) => {
                if let Some(line) = last.filter(|_| !is_whole) {
                    import::cut_line(&mut listing, number, line);
                }
                read.listings.push(listing);
            }
            Err(problem) => read.left.push(wrong(problem)),
        }
    }
    Ok(read)
}

/// A line to each parser; one that gives up is heard no more.
fn feed(
    parsers: &mut Vec<(Kind, Box<dyn Parser>)>,
    left: &mut Vec<ImportError>,
    path: &Path,
    number: usize,
    line: &str,
) {
    parsers.retain_mut(|(kind, parser)| match parser.line(number, line) {
        Ok(()) => true,
        Err(problem) => {
            left.push(ImportError::Wrong { path: path.to_owned(), kind: *kind, problem });
            false
        }
    });
}

/// `sarr:listing.txt` was meant as a kind, where there is no file of that name.
fn no_such_kind(path: &Path, kind: Option<Kind>, source: io::Error) -> io::Error {
    let text = path.display().to_string();
    let word = text.split_once(':').filter(|_| kind.is_none() && source.kind() == io::ErrorKind::NotFound);
    match word.map(|(word, _)| word.parse::<Kind>()) {
        Some(Err(unknown)) => io::Error::new(io::ErrorKind::NotFound, format!("there is no such file, and {unknown}")),
        _ => source,
    }
}

fn of_no_kind() -> Problem {
    let kinds: Vec<&str> = Kind::all().map(Kind::word).collect();
    problem(
        "no line of it is known as one of a tool's",
        &format!("say what wrote it as KIND:FILE; kinds are {}", kinds.join(", ")),
    )
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
            // Below a layer of it that was taken off.
            GZIP,
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

//! A file of text, read once: as the kind that the user says, or as each kind that its beginning shows.

use super::{ImportError, problem};
use flate2::read::MultiGzDecoder;
use pagewise_core::import::{self, Assumed, Kind, Listing, Parser, Problem};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

/// No line of these tools is longer; perf prints symbols of some thousand bytes.
const LONGEST_LINE: usize = 64 << 10;

/// No more is read of one file.
const LARGEST_FILE: u64 = 64 << 30;

/// So much of a file is read to find what wrote it.
const START: u64 = 4 << 20;

const GZIP: &[u8] = b"\x1f\x8b";

/// In place of a file: standard input, which has no name to be told by.
const STDIN: &str = "-";

/// A file, and what wrote it, where the user says that.
#[derive(Clone, Copy)]
pub(super) struct TextFile<'p> {
    pub(super) path: &'p Path,
    pub(super) kind: Option<Kind>,
}

/// What came of it.
#[derive(Debug, Default)]
pub(super) struct FileOutcome {
    pub(super) listings: Vec<Listing>,
    pub(super) left: Vec<ImportError>,
}

impl TextFile<'_> {
    pub(super) fn read(self, assumed: &Assumed) -> FileOutcome {
        match self.parsed(assumed) {
            Ok(read) => read,
            Err(error) => FileOutcome { listings: Vec::new(), left: vec![error] },
        }
    }

    fn parsed(self, assumed: &Assumed) -> Result<FileOutcome, ImportError> {
        let (mut text, is_packed) = self.open()?;
        let mut start = Vec::new();
        let read = text.by_ref().take(START).read_to_end(&mut start);
        read.map_err(|source| self.unreadable(source, is_packed))?;
        check_start(&start).map_err(|problem| self.wrong(problem))?;
        let (kinds, command) = self.kinds(&String::from_utf8_lossy(&start))?;
        let mut parsers = Parsers::of(kinds, assumed, self.path);
        if let Some(command) = command {
            parsers.line(0, &command);
        }
        let lines = BufReader::with_capacity(1 << 16, io::Cursor::new(start).chain(text));
        self.feed(lines, is_packed, parsers)
    }

    /// Its text, and whether it was packed.
    fn open(self) -> Result<(Box<dyn Read>, bool), ImportError> {
        let failed = |source| self.failed(source);
        let file: Box<dyn Read> = if self.path == Path::new(STDIN) {
            Box::new(io::stdin())
        } else {
            let metadata =
                std::fs::metadata(self.path).map_err(|source| failed(no_such_kind(self.path, self.kind, source)))?;
            if metadata.is_dir() {
                let remedy = "give a text file; a sosreport is imported as sosreport:FOLDER";
                return Err(self.wrong(problem("it is a folder", remedy)));
            }
            check_ends(&metadata).map_err(|problem| self.wrong(problem))?;
            Box::new(File::open(self.path).map_err(failed)?)
        };
        let mut packed = BufReader::with_capacity(1 << 16, file.take(LARGEST_FILE));
        let is_packed = packed.fill_buf().map_err(failed)?.starts_with(GZIP);
        let text: Box<dyn Read> =
            if is_packed { Box::new(MultiGzDecoder::new(packed).take(LARGEST_FILE)) } else { Box::new(packed) };
        Ok((text, is_packed))
    }

    /// What wrote it, and the command that is to stand above it, where only the file's name says which.
    fn kinds(self, beginning: &str) -> Result<(Vec<Kind>, Option<String>), ImportError> {
        let mut kinds = self.kind.map_or_else(|| import::kinds_in(beginning), |kind| vec![kind]);
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        let is_of_kernel = kinds.iter().all(|kind| *kind == Kind::Proc);
        let command = is_of_kernel.then(|| import::command_of(&name, beginning)).flatten();
        if kinds.is_empty() && command.is_some() {
            kinds.push(Kind::Proc);
        }
        if kinds.is_empty() { Err(self.wrong(of_no_kind())) } else { Ok((kinds, command)) }
    }

    /// Each line to each parser.
    fn feed(
        self,
        mut lines: impl BufRead,
        is_packed: bool,
        mut parsers: Parsers<'_>,
    ) -> Result<FileOutcome, ImportError> {
        let (mut buffer, mut before, mut number, mut cut) = (Vec::new(), String::new(), 0, None);
        // What is left of a line that is read in parts.
        let mut rest: Vec<u8> = Vec::new();
        loop {
            let is_new = rest.is_empty();
            buffer.clear();
            buffer.append(&mut rest);
            let read = lines.by_ref().take(LONGEST_LINE as u64 + 1).read_until(b'\n', &mut buffer);
            read.map_err(|source| self.unreadable(source, is_packed))?;
            if buffer.is_empty() {
                break;
            }
            number += usize::from(is_new);
            // A flame graph may be one line.
            let may_divide = buffer.len() > LONGEST_LINE && parsers.have(Kind::Folded);
            if let Some(at) = import::dividable_at(&buffer).filter(|_| may_divide) {
                rest = buffer.split_off(at);
                parsers.line(number, &String::from_utf8_lossy(&buffer));
                continue;
            }
            if buffer.len() > LONGEST_LINE {
                let what = format!("it is longer than {LONGEST_LINE} bytes");
                let remedy = format!("it is no text of {}: give its listing", parsers.first());
                return Err(self.wrong(Problem { line: Some(number), what, remedy }));
            }
            let has_end = buffer.last() == Some(&b'\n');
            while matches!(buffer.last(), Some(b'\n' | b'\r')) {
                buffer.pop();
            }
            let bytes = if number == 1 { buffer.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&buffer) } else { &buffer };
            let line = String::from_utf8_lossy(bytes).into_owned();
            if has_end {
                parsers.line(number, &line);
                before = line;
            } else {
                cut = Some(line);
            }
        }
        Ok(parsers.finish(number, cut.as_deref(), &before))
    }

    fn failed(self, source: io::Error) -> ImportError {
        ImportError::File { path: self.path.to_owned(), source }
    }

    /// A broken archive says so while it is read.
    fn unreadable(self, source: io::Error, is_packed: bool) -> ImportError {
        if !is_packed {
            return self.failed(source);
        }
        self.wrong(problem(
            &format!("it is compressed with gzip and cannot be unpacked ({source})"),
            "unpack it with `gunzip`; of a collectl .raw.gz make text with `collectl -p`",
        ))
    }

    fn wrong(self, problem: Problem) -> ImportError {
        let path = self.path.to_owned();
        match self.kind {
            Some(kind) => ImportError::Wrong { path, kind, problem },
            None => ImportError::Unknown { path, problem },
        }
    }
}

/// Those that read a file.
struct Parsers<'p> {
    path: &'p Path,
    parsers: Vec<(Kind, Box<dyn Parser>)>,
    outcome: FileOutcome,
}

impl Parsers<'_> {
    fn of<'p>(kinds: Vec<Kind>, assumed: &Assumed, path: &'p Path) -> Parsers<'p> {
        let parsers = kinds.into_iter().filter_map(|kind| Some((kind, import::parser(kind, assumed)?))).collect();
        Parsers { path, parsers, outcome: FileOutcome::default() }
    }

    fn have(&self, wanted: Kind) -> bool {
        self.parsers.iter().any(|(kind, _)| *kind == wanted)
    }

    /// The tool of the first of them, for people.
    fn first(&self) -> &'static str {
        self.parsers.first().map_or("a tool", |(kind, _)| kind.word())
    }

    /// A line to each; one that gives up is heard no more.
    fn line(&mut self, number: usize, line: &str) {
        let Parsers { path, parsers, outcome } = self;
        parsers.retain_mut(|(kind, parser)| match parser.line(number, line) {
            Ok(()) => true,
            Err(problem) => {
                outcome.left.push(ImportError::Wrong { path: path.to_path_buf(), kind: *kind, problem });
                false
            }
        });
    }

    /// `cut`: what stands behind the last end of a line, and `before` the line that has it.
    fn finish(self, number: usize, cut: Option<&str>, before: &str) -> FileOutcome {
        let Parsers { path, parsers, mut outcome } = self;
        for (kind, mut parser) in parsers {
            // Whoever reads a line without an end as a whole one says so; the others may have lost a number.
            let last = cut.filter(|line| !line.trim().is_empty());
            let is_whole = last.is_some_and(|line| parser.is_whole(line, before));
            let fed = last.filter(|_| is_whole).map_or(Ok(()), |line| parser.line(number, line));
            match fed.and_then(|()| parser.finish()) {
                Ok(mut listing) => {
                    if let Some(line) = last.filter(|_| !is_whole) {
                        import::cut_line(&mut listing, number, line);
                    }
                    outcome.listings.push(listing);
                }
                Err(problem) => outcome.left.push(ImportError::Wrong { path: path.to_owned(), kind, problem }),
            }
        }
        outcome
    }
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

//! Reading a recording: one that is complete, one that still grows, one whose writer was killed, and a damaged one as far
//! as it goes.

use super::{APPLICATION_ID, CLOCK, CODEC, COMPLETE, FORMAT, RecordingError, companions, damaged, is_damage};
use pagewise_core::recording::block::{Block, Recorded, SourceBlock, Tick};
use pagewise_core::recording::segment::{self, Segment, TICKS};
use pagewise_core::recording::tick::{SourceRow, TickDecoder};
use pagewise_core::recording::{Column, Gap, GapReason, Kind, Mark, Profile, RawUnit, Series, Setting, StallRow, Walk};
use rusqlite::{Connection, OpenFlags, Row, params};
use rustix::fs::{Access, AtFlags, CWD, accessat};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// No segment is larger when unpacked; a blob that claims to be is damage, not data.
const LARGEST_SEGMENT: usize = 64 << 20;

/// A recording, as it was when it was opened: what is added meanwhile is not seen.
#[derive(Debug)]
pub struct Recording {
    database: Connection,
    path: PathBuf,
    meta: BTreeMap<String, String>,
    sources: Vec<String>,
    series: Vec<Series>,
    gaps: Vec<Gap>,
}

impl Recording {
    /// Opens a recording.
    ///
    /// # Errors
    /// When it cannot be read, is none, is of a newer format, or is damaged in its tables.
    pub fn open(path: &Path) -> Result<Recording, RecordingError> {
        let length = check_file(path)?;
        let not = |why: &str| RecordingError::NotARecording { path: path.to_owned(), why: why.to_owned() };
        let database_error = |source: rusqlite::Error| match source.sqlite_error_code() {
            Some(rusqlite::ErrorCode::NotADatabase) => {
                not("it is no SQLite database; the listing of another tool is read with --import FILE")
            }
            _ => unreadable(path, source),
        };
        let database = open_database(path).map_err(database_error)?;
        let application: i32 =
            database.query_row("PRAGMA application_id", [], |row| row.get(0)).map_err(database_error)?;
        if application != APPLICATION_ID {
            return Err(not("it is the database of another program"));
        }
        let version: i32 = database.query_row("PRAGMA user_version", [], |row| row.get(0)).map_err(database_error)?;
        if version > FORMAT {
            return Err(RecordingError::Newer { path: path.to_owned(), found: version });
        }
        let page: u64 = database.query_row("PRAGMA page_size", [], |row| unsigned(row, 0)).map_err(database_error)?;
        // SQLite fills a last page that is cut with zeros and goes on. What stands in a -wal file counts more than it.
        if !companions(path)[0].exists() && !length.is_multiple_of(page.max(1)) {
            let what = format!("it was cut: its {length} bytes are no whole number of pages of {page} bytes");
            return Err(RecordingError::Damaged { path: path.to_owned(), what });
        }
        let mut recording = Recording {
            database,
            path: path.to_owned(),
            meta: BTreeMap::new(),
            sources: Vec::new(),
            series: Vec::new(),
            gaps: Vec::new(),
        };
        recording.check_tables()?;
        let pairs = recording.all("SELECT key, value FROM meta", |row| Ok((row.get(0)?, row.get(1)?)))?;
        recording.meta = pairs.into_iter().collect();
        recording.sources = recording.all("SELECT name FROM source ORDER BY id", |row| row.get(0))?;
        if recording.sources.first().map(String::as_str) != Some(CLOCK) {
            return Err(recording.damaged("its first source is not the clock"));
        }
        let sql = "SELECT source, position, name, labels, unit, kind, first_seen FROM series ORDER BY source, position";
        recording.series = recording.all(sql, series_of_row)?;
        let sql = "SELECT t0, t1, source, reason, ticks, detail FROM gap ORDER BY t0, rowid";
        recording.gaps = recording.all(sql, gap_of_row)?;
        Ok(recording)
    }

    /// A name that is a view could run anything, and so could what runs when rows of a copy are moved: triggers, and
    /// indexes of what is computed.
    fn check_tables(&self) -> Result<(), RecordingError> {
        const NEEDED: [&str; 8] = ["meta", "source", "series", "tick", "segment", "setting", "mark", "gap"];
        // The indexes that SQLite makes by itself have no text.
        const FOREIGN: &str = "SELECT type || ' ' || name FROM sqlite_master
            WHERE type <> 'table' AND (type <> 'index' OR sql IS NOT NULL) OR sql LIKE 'CREATE VIRTUAL%' LIMIT 1";
        if let Some(missing) = self.missing_tables(&NEEDED)?.first() {
            return Err(self.damaged(&format!("it has no table {missing}")));
        }
        match self.all(FOREIGN, |row| row.get::<_, String>(0))?.first() {
            Some(foreign) => Err(RecordingError::NotARecording {
                path: self.path.clone(),
                why: format!("somebody has put the {foreign} into it, and nothing in it may run; drop that first"),
            }),
            None => Ok(()),
        }
    }

    fn missing_tables<'a>(&self, needed: &[&'a str]) -> Result<Vec<&'a str>, RecordingError> {
        let tables: Vec<String> = self.all("SELECT name FROM sqlite_master WHERE type = 'table'", |row| row.get(0))?;
        Ok(needed.iter().copied().filter(|needed| !tables.iter().any(|table| table == needed)).collect())
    }

    /// Whether it has all of these tables, which belong together.
    ///
    /// # Errors
    /// When it has only some of them.
    pub(super) fn has_tables(&self, tables: &[&str]) -> Result<bool, RecordingError> {
        match self.missing_tables(tables)?[..] {
            [] => Ok(true),
            ref missing if missing.len() == tables.len() => Ok(false),
            [missing, ..] => Err(self.damaged(&format!("it has no table {missing}"))),
        }
    }

    /// The database, with the transaction in which all of it is read.
    pub(super) fn database(&self) -> &Connection {
        &self.database
    }

    /// Its sources, in order.
    pub(super) fn sources(&self) -> &[String] {
        &self.sources
    }

    pub(super) fn damaged(&self, what: &str) -> RecordingError {
        RecordingError::Damaged { path: self.path.clone(), what: what.to_owned() }
    }

    fn database_error(&self, source: rusqlite::Error) -> RecordingError {
        unreadable(&self.path, source)
    }

    pub(super) fn all<T>(
        &self,
        sql: &str,
        of_row: impl Fn(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, RecordingError> {
        let read =
            || -> rusqlite::Result<Vec<T>> { self.database.prepare(sql)?.query_map([], |row| of_row(row))?.collect() };
        read().map_err(|error| match self.odd_value(sql, &error) {
            Some(what) => self.damaged(&what),
            None => self.database_error(error),
        })
    }

    /// Where a value stands that cannot be: `table walk, column t0 holds -5`.
    fn odd_value(&self, sql: &str, error: &rusqlite::Error) -> Option<String> {
        let (column, holds) = match error {
            rusqlite::Error::IntegralValueOutOfRange(column, value) => (*column, value.to_string()),
            rusqlite::Error::InvalidColumnType(column, _, kind) => (*column, format!("a value of type {kind}")),
            _ => return None,
        };
        let table = sql.split_once(" FROM ")?.1.split_whitespace().next()?;
        let statement = self.database.prepare(sql).ok()?;
        Some(format!("table {table}, column {} holds {holds}", statement.column_name(column).ok()?))
    }

    /// What is said about the whole: format, kernel, boot, clocks, rate.
    #[must_use]
    pub fn meta(&self) -> &BTreeMap<String, String> {
        &self.meta
    }

    /// Whether it came to its planned end. If not, it still grows, or its writer was killed or ran out of disk; up to the
    /// last seconds everything is there.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.meta.get(COMPLETE).is_some_and(|complete| complete == "1")
    }

    /// Number of ticks. Counted in what is packed: the number that stands beside it is checked, not believed.
    ///
    /// # Errors
    /// When it cannot be read, or is damaged in its clock.
    pub fn ticks(&self) -> Result<u64, RecordingError> {
        let mut count: i64 = self
            .database
            .query_row("SELECT count(*) FROM tick", [], |row| row.get(0))
            .map_err(|error| self.database_error(error))?;
        let sealed = self.all("SELECT seq, source, codec, n, blob FROM segment WHERE source = 'clock'", |row| {
            Ok((row.get::<_, i64>(0)?, packed_of_row(row, 1)?))
        })?;
        for (seq, packed) in sealed {
            let clock = self.unpacked(seq, &packed)?;
            count += clock.map_or(0, |clock| clock.took.len() as i64);
        }
        Ok(count.unsigned_abs())
    }

    /// When the last tick was, CLOCK_BOOTTIME in nanoseconds, and what to add for nanoseconds since 1970. `None`: there is
    /// none.
    ///
    /// # Errors
    /// As for [`Recording::ticks`].
    pub fn last_tick(&self) -> Result<Option<(u64, i64)>, RecordingError> {
        let open = self.all("SELECT ts, wall_offset FROM tick ORDER BY seq DESC LIMIT 1", |row| {
            Ok((unsigned(row, 0)?, row.get::<_, i64>(1)?))
        })?;
        if let Some(last) = open.first() {
            return Ok(Some(*last));
        }
        let sql = "SELECT seq, source, codec, n, blob FROM segment WHERE source = 'clock' ORDER BY id DESC LIMIT 1";
        let sealed = self.all(sql, |row| Ok((row.get::<_, i64>(0)?, packed_of_row(row, 1)?)))?;
        let Some((seq, packed)) = sealed.first() else { return Ok(None) };
        let clock = self.unpacked(*seq, packed)?;
        let tick = clock.and_then(|clock| clock_tick(&clock, clock.took.len().checked_sub(1)?));
        Ok(tick.map(|tick| (tick.begin, tick.wall_offset)))
    }

    fn sealed_block(&self, seq: i64) -> Result<Block, RecordingError> {
        let mut sources = Vec::with_capacity(self.sources.len());
        let read = || -> rusqlite::Result<Vec<Packed>> {
            let sql = "SELECT source, codec, n, blob FROM segment WHERE seq = ?1 ORDER BY id";
            self.database.prepare_cached(sql)?.query_map([seq], |row| packed_of_row(row, 0))?.collect()
        };
        for packed in read().map_err(|error| self.database_error(error))? {
            if let Some(data) = self.unpacked(seq, &packed)? {
                sources.push(SourceBlock { source: packed.source, data });
            }
        }
        self.block(seq, sources)
    }

    /// `None`: packed in a way of a newer version; it is left out, as an unknown table is.
    fn unpacked(
        &self,
        seq: i64,
        Packed { source, codec, n, blob }: &Packed,
    ) -> Result<Option<Segment>, RecordingError> {
        if codec != CODEC {
            return Ok(None);
        }
        let what = || format!("the segment of {source} at tick {seq}");
        let bytes = zstd::bulk::decompress(blob, LARGEST_SEGMENT.min(claimed_size(blob)))
            .map_err(|error| self.damaged(&format!("{}: {error}", what())))?;
        let data = segment::decode(&bytes).map_err(|error| damaged(&self.path, &what(), error))?;
        if usize::try_from(*n) != Ok(data.took.len()) {
            return Err(self.damaged(&format!("{} says {n} ticks and has {}", what(), data.took.len())));
        }
        Ok(Some(data))
    }

    fn open_block(&self, first: i64, rows: Vec<Vec<Option<SourceRow>>>) -> Result<Block, RecordingError> {
        let mut by_source: Vec<Vec<Option<SourceRow>>> = vec![Vec::with_capacity(rows.len()); self.sources.len()];
        for row in rows {
            let mut sections = row.into_iter();
            by_source.iter_mut().for_each(|rows| rows.push(sections.next().flatten()));
        }
        let mut sources = Vec::with_capacity(by_source.len());
        for (source, rows) in self.sources.iter().zip(by_source) {
            // The one place that knows how rows become columns.
            let data = segment::decode(&segment::encode(&rows)).map_err(|error| damaged(&self.path, source, error))?;
            sources.push(SourceBlock { source: source.clone(), data });
        }
        self.block(first, sources)
    }

    /// Takes the clock out of the sources.
    fn block(&self, seq: i64, mut sources: Vec<SourceBlock>) -> Result<Block, RecordingError> {
        let incomplete = || self.damaged(&format!("the ticks from {seq} on have no complete clock"));
        let clock = sources.iter().position(|block| block.source == CLOCK).ok_or_else(incomplete)?;
        let clock = sources.remove(clock).data;
        let ticks = (0..clock.took.len()).map(|tick| clock_tick(&clock, tick)).collect::<Option<Vec<Tick>>>();
        let ticks = ticks.ok_or_else(incomplete)?;
        if sources.iter().any(|block| block.data.took.len() != ticks.len()) {
            return Err(self.damaged(&format!("the segments at tick {seq} differ in length")));
        }
        Ok(Block { first: seq.unsigned_abs(), ticks, sources })
    }
}

/// A row of the table of segments.
struct Packed {
    source: String,
    codec: String,
    n: i64,
    blob: Vec<u8>,
}

fn packed_of_row(row: &Row<'_>, first: usize) -> rusqlite::Result<Packed> {
    let [source, codec, n, blob] = [first, first + 1, first + 2, first + 3];
    Ok(Packed { source: row.get(source)?, codec: row.get(codec)?, n: row.get(n)?, blob: row.get(blob)? })
}

/// What it means that rows could not be read.
pub(super) fn unreadable(path: &Path, source: rusqlite::Error) -> RecordingError {
    let damaged = |what: String| RecordingError::Damaged { path: path.to_owned(), what };
    match source {
        rusqlite::Error::InvalidColumnType(_, name, kind) => {
            damaged(format!("column {name} holds a value of type {kind}"))
        }
        rusqlite::Error::IntegralValueOutOfRange(column, value) => damaged(format!("column {column} holds {value}")),
        source if source.sqlite_error_code() == Some(rusqlite::ErrorCode::TooBig) => {
            damaged("a value is larger than any that is written".to_owned())
        }
        source if is_damage(&source) => damaged(format!("it was cut or overwritten ({source})")),
        source => RecordingError::Database { action: "read", path: path.to_owned(), source },
    }
}

fn clock_tick(clock: &Segment, tick: usize) -> Option<Tick> {
    let value = |column: usize| clock.columns.get(column).and_then(|column: &Column| column.at(tick));
    clock.took.get(tick).copied().flatten()?;
    Some(Tick { begin: value(0)?, late: value(1)? as i64, wall_offset: value(2)? as i64 })
}

impl Recording {
    /// The segments that a query names, then the rows that are in none yet.
    fn blocks_of<'a>(&'a self, sql: &str) -> impl Iterator<Item = Result<Block, RecordingError>> + use<'a> {
        let sealed = self.all(sql, |row| row.get::<_, i64>(0));
        let (sealed, error) = match sealed {
            Ok(sealed) => (sealed, None),
            Err(error) => (Vec::new(), Some(Err(error))),
        };
        let sealed = sealed.into_iter().map(|seq| self.sealed_block(seq));
        error.into_iter().chain(sealed).chain(OpenRows { of: self, decoder: TickDecoder::new(), next: Some(i64::MIN) })
    }
}

impl Recorded for Recording {
    type Error = RecordingError;

    fn series(&self) -> &[Series] {
        &self.series
    }

    fn gaps(&self) -> &[Gap] {
        &self.gaps
    }

    fn blocks(&self) -> impl Iterator<Item = Result<Block, RecordingError>> {
        self.blocks_of("SELECT DISTINCT seq FROM segment ORDER BY seq")
    }

    fn blocks_between(&self, from: u64, to: u64) -> impl Iterator<Item = Result<Block, RecordingError>> {
        let bound = |instant: u64| i64::try_from(instant).unwrap_or(i64::MAX);
        let (from, to) = (bound(from), bound(to));
        self.blocks_of(&format!("SELECT DISTINCT seq FROM segment WHERE t1 >= {from} AND t0 <= {to} ORDER BY seq"))
    }

    fn about(&self, key: &str) -> Option<&str> {
        self.meta.get(key).map(String::as_str)
    }

    fn settings(&self) -> Result<Vec<Setting>, RecordingError> {
        self.all("SELECT ts, path, value, by FROM setting ORDER BY ts, rowid", |row| {
            Ok(Setting { ts: unsigned(row, 0)?, path: row.get(1)?, value: row.get(2)?, by: row.get(3)? })
        })
    }

    fn marks(&self) -> Result<Vec<Mark>, RecordingError> {
        self.all("SELECT ts, source, text FROM mark ORDER BY ts, rowid", |row| {
            Ok(Mark { ts: unsigned(row, 0)?, source: row.get(1)?, text: row.get(2)? })
        })
    }

    fn profile(&self) -> Result<Option<Profile>, RecordingError> {
        self.read_profile()
    }

    fn stalls(&self) -> Result<Option<Vec<StallRow>>, RecordingError> {
        self.read_stalls()
    }

    fn walks(&self) -> Result<Option<Vec<Walk>>, RecordingError> {
        self.read_walks()
    }
}

/// The rows that are in no segment yet, in blocks of the length of one.
struct OpenRows<'a> {
    of: &'a Recording,
    decoder: TickDecoder,
    next: Option<i64>,
}

impl Iterator for OpenRows<'_> {
    type Item = Result<Block, RecordingError>;

    fn next(&mut self) -> Option<Self::Item> {
        let from = self.next.take()?;
        let read = || -> rusqlite::Result<Vec<(i64, Vec<u8>)>> {
            let sql = "SELECT seq, row FROM tick WHERE seq >= ?1 ORDER BY seq LIMIT ?2";
            let mut statement = self.of.database.prepare_cached(sql)?;
            statement.query_map(params![from, TICKS as i64], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
        };
        let rows = match read() {
            Ok(rows) => rows,
            Err(error) => return Some(Err(self.of.database_error(error))),
        };
        let first = rows.first()?.0;
        self.next = rows.last().and_then(|(seq, _)| seq.checked_add(1));
        let mut decoded = Vec::with_capacity(rows.len());
        for (seq, row) in rows {
            match self.decoder.decode(&row) {
                Ok(sections) => decoded.push(sections),
                Err(error) => {
                    self.next = None;
                    return Some(Err(damaged(&self.of.path, &format!("tick {seq}"), error)));
                }
            }
        }
        Some(self.of.open_block(first, decoded))
    }
}

/// The size a frame says it has when unpacked; at most a little when it does not say.
fn claimed_size(frame: &[u8]) -> usize {
    match zstd::zstd_safe::get_frame_content_size(frame) {
        Ok(Some(size)) => usize::try_from(size).unwrap_or(usize::MAX),
        _ => 0,
    }
}

/// Says what is no file of ours as far as that can be told without opening it; gives its length. Closing a descriptor of a database gives up
/// the locks that this process holds on it (POSIX), so a recording that this very process writes must be opened by SQLite
/// alone.
fn check_file(path: &Path) -> Result<u64, RecordingError> {
    const SMALLEST_DATABASE: u64 = 512;
    let not = |why: &str| Err(RecordingError::NotARecording { path: path.to_owned(), why: why.to_owned() });
    let metadata = std::fs::metadata(path).map_err(|source| RecordingError::File {
        action: "read",
        path: path.to_owned(),
        source,
    })?;
    if !metadata.is_file() {
        return not("it is no file");
    }
    // SQLite only says that it cannot open it.
    accessat(CWD, path, Access::READ_OK, AtFlags::EACCESS).map_err(|refused| RecordingError::File {
        action: "read",
        path: path.to_owned(),
        source: refused.into(),
    })?;
    // A pipe beside it would be waited for without end.
    if companions(path).iter().any(|companion| std::fs::metadata(companion).is_ok_and(|there| !there.is_file())) {
        return not("what SQLite keeps beside it is no file");
    }
    // The beginning of a recording that was killed right at its start is still in its -wal file.
    if metadata.len() < SMALLEST_DATABASE && !companions(path)[0].exists() {
        return not("it is too short, or empty");
    }
    Ok(metadata.len())
}

/// Read-only, and where it is not written to any more and its folder cannot be written to either, as it stands.
fn open_database(path: &Path) -> rusqlite::Result<Connection> {
    let check = |database: Connection| -> rusqlite::Result<Connection> {
        database.pragma_update(None, "trusted_schema", false)?;
        // A column that is computed could give a value of any size.
        database.set_limit(rusqlite::limits::Limit::SQLITE_LIMIT_LENGTH, LARGEST_SEGMENT as i32)?;
        database.busy_timeout(std::time::Duration::from_secs(5))?;
        // Everything is read within one transaction: a recording that grows is seen as it is now.
        database.execute_batch("BEGIN; SELECT count(*) FROM sqlite_master;")?;
        Ok(database)
    };
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let opened = Connection::open_with_flags(path, flags).and_then(check);
    match opened {
        Err(error) if is_about_the_folder(&error) && !companions(path)[0].exists() => {
            Connection::open_with_flags(as_it_stands(path), flags | OpenFlags::SQLITE_OPEN_URI).and_then(check)
        }
        other => other,
    }
}

fn is_about_the_folder(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{CannotOpen, ReadOnly};
    matches!(error.sqlite_error_code(), Some(CannotOpen | ReadOnly))
}

pub(super) fn as_it_stands(path: &Path) -> String {
    use std::os::unix::ffi::OsStrExt;
    let mut uri = "file:".to_owned();
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' => uri.push(*byte as char),
            other => uri.push_str(&format!("%{other:02X}")),
        }
    }
    uri + "?immutable=1"
}

pub(super) fn unsigned(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    let value: i64 = row.get(column)?;
    u64::try_from(value).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(column, value))
}

fn series_of_row(row: &Row<'_>) -> rusqlite::Result<Series> {
    let kind: String = row.get(5)?;
    Ok(Series {
        source: row.get(0)?,
        column: row.get(1)?,
        name: row.get(2)?,
        labels: row.get(3)?,
        unit: RawUnit::from_word(&row.get::<_, String>(4)?),
        // A kind of a newer version can at least be read.
        kind: Kind::from_word(&kind).unwrap_or(Kind::Gauge),
        first_seen: unsigned(row, 6)?,
    })
}

fn gap_of_row(row: &Row<'_>) -> rusqlite::Result<Gap> {
    let optional = |column: usize| -> rusqlite::Result<Option<u64>> {
        Ok(row.get::<_, Option<i64>>(column)?.and_then(|value| u64::try_from(value).ok()))
    };
    Ok(Gap {
        from: unsigned(row, 0)?,
        to: optional(1)?,
        source: row.get(2)?,
        reason: GapReason::from_word(&row.get::<_, String>(3)?),
        ticks: optional(4)?,
        detail: row.get(5)?,
    })
}

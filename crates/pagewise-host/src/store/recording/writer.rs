//! Writing a recording: batches of rows, segments closed every 300 ticks, a cap on the size.

use super::place::Place;
use super::reader::{unreadable, unsigned};
use super::stacks::{StackRows, TableGrowth};
use super::{
    APPLICATION_ID, CLOCK, CODEC, COMPLETE, ENDED, FORMAT, RecordingError, TABLES, companions, damaged, processes,
    stalls,
};
use pagewise_core::recording::segment::{self, TICKS};
use pagewise_core::recording::tick::{SourceRow, TickDecoder, is_key};
use pagewise_core::recording::{Gap, GapReason, Series, StallRow, Walk};
use rusqlite::{Connection, OpenFlags, params};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How often what is in the `-wal` file is moved into the recording itself, and both are flushed to disk.
const CHECKPOINT_EVERY: Duration = Duration::from_secs(10);

/// zstd's fastest level: after differences are taken, higher ones gain nothing (docs/design, on recordings).
const COMPRESSION: i32 = 1;

/// Locks are held for moments only, and nobody else writes.
const BUSY: Duration = Duration::from_secs(5);

const SET_META: &str = "INSERT INTO meta (key, value) VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET value = ?2";

/// One tick on its way to the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TickRow {
    /// Right before the first source was read, CLOCK_BOOTTIME in nanoseconds.
    pub ts: u64,
    /// CLOCK_REALTIME minus CLOCK_BOOTTIME.
    pub wall_offset: i64,
    /// As `pagewise_core::recording::tick` packs it.
    pub row: Vec<u8>,
}

/// What is written together: all of it or nothing.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// Series seen for the first time.
    pub series: Vec<Series>,
    /// Ticks in order.
    pub ticks: Vec<TickRow>,
    /// New gaps.
    pub gaps: Vec<Gap>,
    /// Sources whose open gap ended, and when.
    pub gap_ends: Vec<(String, u64)>,
    /// When, which tunable, its value (`None`: it cannot be read any more), and who told.
    pub settings: Vec<(u64, String, Option<String>, &'static str)>,
    /// When, who, what.
    pub marks: Vec<(u64, &'static str, String)>,
    /// Keys of `meta` that get a value or another one.
    pub meta: Vec<(&'static str, String)>,
    /// Stacks. `None`: not recorded. Once there were some, the recording says that they were recorded.
    pub stacks: Option<StackRows>,
    /// Stalls, in order of time. `None` as for stacks.
    pub stalls: Option<Vec<StallRow>>,
    /// Walks over all processes, in order of time. `None` as for stacks.
    pub walks: Option<Vec<Walk>>,
}

impl Batch {
    fn is_empty(&self) -> bool {
        self.series.is_empty()
            && self.ticks.is_empty()
            && self.gaps.is_empty()
            && self.gap_ends.is_empty()
            && self.settings.is_empty()
            && self.marks.is_empty()
            && self.meta.is_empty()
            && self.stacks.is_none()
            && self.stalls.is_none()
            && self.walks.is_none()
    }
}

/// A recording that grows.
#[derive(Debug)]
pub struct Writer {
    database: Connection,
    path: PathBuf,
    sources: Vec<String>,
    size_cap: Option<u64>,
    next_seq: u64,
    /// Rows that are in no segment yet. The first is a key row.
    open_rows: Vec<TickRow>,
    stacks: TableGrowth,
    checkpointed: Instant,
    /// `None` where nobody can take the file away, or it cannot be told.
    place: Option<Place>,
}

impl Writer {
    /// Makes a new recording. The first source is [`CLOCK`].
    ///
    /// # Errors
    /// When there is a file of that name already, or it cannot be written.
    pub fn create(
        path: &Path,
        sources: &[&str],
        meta: &[(String, String)],
        size_cap: Option<u64>,
    ) -> Result<Writer, RecordingError> {
        debug_assert_eq!(sources.first(), Some(&CLOCK));
        // A -wal file left by another recording of that name would be taken for ours.
        if let Some(left) = companions(path).into_iter().find(|companion| companion.exists()) {
            return Err(RecordingError::Exists(left));
        }
        File::create_new(path).map_err(|source| match source.kind() {
            io::ErrorKind::AlreadyExists => RecordingError::Exists(path.to_owned()),
            _ => RecordingError::File { action: "create", path: path.to_owned(), source },
        })?;
        let filled = Writer::fill(path, sources, meta);
        let database = filled.map_err(|source| {
            // Nobody needs an empty recording, and it would be in the way of the next one.
            let _ = std::fs::remove_file(path);
            companions(path).iter().for_each(|companion| drop(std::fs::remove_file(companion)));
            RecordingError::Database { action: "create", path: path.to_owned(), source }
        })?;
        Ok(Writer {
            database,
            path: path.to_owned(),
            sources: sources.iter().map(|source| (*source).to_owned()).collect(),
            size_cap,
            next_seq: 0,
            open_rows: Vec::with_capacity(TICKS + 64),
            stacks: TableGrowth::default(),
            checkpointed: Instant::now(),
            place: Place::of(path),
        })
    }

    fn fill(path: &Path, sources: &[&str], meta: &[(String, String)]) -> rusqlite::Result<Connection> {
        let mut database = Connection::open(path)?;
        database.pragma_update(None, "trusted_schema", false)?;
        // A file that is not yet a recording need not survive a power loss.
        database.pragma_update(None, "synchronous", "OFF")?;
        // Must be set before the first table.
        database.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
        database.pragma_update(None, "application_id", APPLICATION_ID)?;
        database.pragma_update(None, "user_version", FORMAT)?;
        database.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
        database.query_row("PRAGMA wal_autocheckpoint = 0", [], |_| Ok(()))?;
        let transaction = database.transaction()?;
        transaction.execute_batch(TABLES)?;
        {
            let mut insert = transaction.prepare("INSERT INTO meta (key, value) VALUES (?1, ?2)")?;
            insert.execute([COMPLETE, "0"])?;
            for (key, value) in meta {
                insert.execute([key, value])?;
            }
            let mut insert = transaction.prepare("INSERT INTO source (id, name) VALUES (?1, ?2)")?;
            for (id, name) in sources.iter().enumerate() {
                insert.execute(params![id as i64, name])?;
            }
        }
        transaction.commit()?;
        database.pragma_update(None, "synchronous", "NORMAL")?;
        Ok(database)
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn error(&self, action: &'static str) -> impl Fn(rusqlite::Error) -> RecordingError + use<> {
        let path = self.path.clone();
        move |source| RecordingError::Database { action, path: path.clone(), source }
    }

    /// Writes what has come together, closes a segment when it is time, and holds the size cap.
    ///
    /// # Errors
    /// When the disk is full or fails, or the file is no longer where it was made. What was written before can be read.
    pub fn write(&mut self, mut batch: Batch) -> Result<(), RecordingError> {
        self.check_place()?;
        let rows = std::mem::take(&mut batch.ticks);
        let mut part = batch;
        for row in rows {
            if self.open_rows.len() + part.ticks.len() >= TICKS && is_key(&row.row) {
                self.write_part(std::mem::take(&mut part))?;
                self.seal()?;
            }
            part.ticks.push(row);
        }
        self.write_part(part)?;
        if self.checkpointed.elapsed() >= CHECKPOINT_EVERY {
            self.checkpoint();
        }
        Ok(())
    }

    /// # Errors
    /// When somebody deleted, moved or cut the file.
    pub fn check_place(&self) -> Result<(), RecordingError> {
        self.place.as_ref().map_or(Ok(()), Place::check)
    }

    fn write_part(&mut self, part: Batch) -> Result<(), RecordingError> {
        if part.is_empty() {
            return Ok(());
        }
        let error = self.error("write to");
        let transaction = self.database.transaction().map_err(&error)?;
        insert(&transaction, &part, self.next_seq).map_err(&error)?;
        if let Some(rows) = &part.stacks {
            self.stacks.insert(&transaction, rows).map_err(&error)?;
        }
        transaction.commit().map_err(&error)?;
        self.next_seq += part.ticks.len() as u64;
        self.open_rows.extend(part.ticks);
        Ok(())
    }

    /// Packs the open rows into a segment per source and removes them, in one transaction that is on disk when this
    /// returns.
    fn seal(&mut self) -> Result<(), RecordingError> {
        let Some((first, last)) = self.open_rows.first().zip(self.open_rows.last()) else { return Ok(()) };
        let (t0, t1, n) = (first.ts, last.ts, self.open_rows.len());
        let seq = self.next_seq - n as u64;
        let packed = self.pack()?;
        let error = self.error("close a segment of");
        self.database.pragma_update(None, "synchronous", "FULL").map_err(&error)?;
        let transaction = self.database.transaction().map_err(&error)?;
        let insert = || -> rusqlite::Result<()> {
            let sql = "INSERT INTO segment (source, seq, t0, t1, n, codec, blob) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
            let mut insert = transaction.prepare_cached(sql)?;
            for (source, blob) in self.sources.iter().zip(&packed) {
                insert.execute(params![source, seq as i64, t0 as i64, t1 as i64, n as i64, CODEC, blob])?;
            }
            transaction.execute("DELETE FROM tick WHERE seq < ?1", [(seq + n as u64) as i64])?;
            Ok(())
        };
        insert().map_err(&error)?;
        transaction.commit().map_err(&error)?;
        self.open_rows.clear();
        self.database.pragma_update(None, "synchronous", "NORMAL").map_err(&error)?;
        self.hold_cap()
    }

    /// The open rows of each source, packed. One source after the other, though each reads all rows: unpacked, a segment takes 2 MiB.
    fn pack(&self) -> Result<Vec<Vec<u8>>, RecordingError> {
        let failed = |source| RecordingError::File { action: "compress", path: self.path.clone(), source };
        let mut compressor = zstd::bulk::Compressor::new(COMPRESSION).map_err(failed)?;
        let mut pack = |source: usize| {
            let bytes = segment::encode(&self.open_rows_of(source)?);
            compressor.compress(&bytes).map_err(failed)
        };
        (0..self.sources.len()).map(&mut pack).collect()
    }

    fn open_rows_of(&self, source: usize) -> Result<Vec<Option<SourceRow>>, RecordingError> {
        let mut decoder = TickDecoder::new();
        let mut row_of = |row: &TickRow| {
            let sections = decoder.decode(&row.row).map_err(|error| damaged(&self.path, "a tick", error))?;
            Ok(sections.into_iter().nth(source).flatten())
        };
        self.open_rows.iter().map(&mut row_of).collect()
    }

    /// Removes the oldest segments until the file fits, and says so in a gap.
    fn hold_cap(&mut self) -> Result<(), RecordingError> {
        let Some(cap) = self.size_cap else { return Ok(()) };
        let error = self.error("shrink");
        while self.bytes_used().map_err(&error)? > cap {
            let oldest = "SELECT seq, t0, t1, n FROM segment ORDER BY seq LIMIT 1";
            let row = |row: &rusqlite::Row<'_>| {
                Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, i64>(2)?, row.get::<_, i64>(3)?))
            };
            let (seq, t0, t1, n) = match self.database.query_row(oldest, [], row) {
                Err(rusqlite::Error::QueryReturnedNoRows) => {
                    return Err(RecordingError::CapTooSmall { path: self.path.clone(), cap });
                }
                other => other.map_err(&error)?,
            };
            let transaction = self.database.transaction().map_err(&error)?;
            let mut evict = || -> rusqlite::Result<()> {
                transaction.execute("DELETE FROM segment WHERE seq = ?1", [seq])?;
                self.stacks.evict(&transaction, t1)?;
                stalls::evict(&transaction, t1)?;
                processes::evict(&transaction, t1)?;
                // One gap that grows, however long the recording runs.
                let word = GapReason::Evicted.word();
                let grow = "UPDATE gap SET t1 = ?1, ticks = ticks + ?2 WHERE reason = ?3";
                if transaction.execute(grow, params![t1, n, word])? == 0 {
                    let sql =
                        "INSERT INTO gap (t0, t1, source, reason, ticks, detail) VALUES (?1, ?2, NULL, ?3, ?4, ?5)";
                    let detail = format!("the oldest segments were removed to stay below {cap} bytes");
                    transaction.execute(sql, params![t0, t1, word, n, detail])?;
                }
                Ok(())
            };
            evict().map_err(&error)?;
            transaction.commit().map_err(&error)?;
            self.vacuum().map_err(&error)?;
        }
        Ok(())
    }

    /// The smallest cap that leaves room for a segment beside what is in the file now.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn least_cap(&self) -> Result<u64, RecordingError> {
        /// Values to a packed byte. A host at rest takes a tenth of a byte for one (`bench/results/recording`), one under
        /// load some times that.
        const VALUES_TO_A_BYTE: u64 = 4;
        let error = self.error("read");
        let series: i64 =
            self.database.query_row("SELECT count(*) FROM series", [], |row| row.get(0)).map_err(&error)?;
        let segment = series.unsigned_abs() * TICKS as u64 / VALUES_TO_A_BYTE;
        Ok((self.bytes_used().map_err(&error)? + segment).next_multiple_of(64 << 10))
    }

    /// Bytes of the pages that hold something.
    fn bytes_used(&self) -> rusqlite::Result<u64> {
        let number = |sql| self.database.query_row(sql, [], |row| row.get::<_, i64>(0));
        let pages = number("PRAGMA page_count")? - number("PRAGMA freelist_count")?;
        Ok((pages * number("PRAGMA page_size")?).unsigned_abs())
    }

    fn vacuum(&self) -> rusqlite::Result<()> {
        let mut statement = self.database.prepare("PRAGMA incremental_vacuum")?;
        let mut rows = statement.query([])?;
        while rows.next()?.is_some() {}
        Ok(())
    }

    /// A reader, or a full disk, may be in the way: the next one will do, and what is in `-wal` is not lost. A reader is not
    /// waited for: batches would come late, and a kill meanwhile would cost more than it may.
    pub(super) fn checkpoint(&mut self) {
        let _ = self.database.busy_timeout(Duration::ZERO);
        let _ = self.database.query_row("PRAGMA wal_checkpoint(RESTART)", [], |_| Ok(()));
        let _ = self.database.busy_timeout(BUSY);
        self.checkpointed = Instant::now();
        if let Some(place) = &mut self.place {
            place.has_grown();
        }
    }

    /// Goes on with a copy of a recording, which nobody else knows yet, so that it can be closed.
    pub(super) fn resume(path: &Path, sources: Vec<String>) -> Result<Writer, RecordingError> {
        let error = |source| RecordingError::Database { action: "write", path: path.to_owned(), source };
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let database = Connection::open_with_flags(path, flags).map_err(error)?;
        database.pragma_update(None, "trusted_schema", false).map_err(error)?;
        let read = || -> rusqlite::Result<Vec<(i64, TickRow)>> {
            let mut statement = database.prepare("SELECT seq, ts, wall_offset, row FROM tick ORDER BY seq")?;
            let tick = |row: &rusqlite::Row<'_>| {
                let (ts, wall_offset, bytes) = (unsigned(row, 1)?, row.get(2)?, row.get(3)?);
                Ok((row.get(0)?, TickRow { ts, wall_offset, row: bytes }))
            };
            statement.query_map([], tick)?.collect()
        };
        let rows = read().map_err(|source| unreadable(path, source))?;
        let first = rows.first().map_or(0, |(seq, _)| *seq);
        let follows = |(place, (seq, _)): (usize, &(i64, TickRow))| seq.checked_sub(first) == Some(place as i64);
        if first < 0 || !rows.iter().enumerate().all(follows) {
            let what = "its last ticks are not numbered one after the other".to_owned();
            return Err(RecordingError::Damaged { path: path.to_owned(), what });
        }
        Ok(Writer {
            database,
            path: path.to_owned(),
            sources,
            size_cap: None,
            next_seq: first.unsigned_abs() + rows.len() as u64,
            open_rows: rows.into_iter().map(|(_, row)| row).collect(),
            stacks: TableGrowth::default(),
            checkpointed: Instant::now(),
            place: None,
        })
    }

    /// Closes the last segment, marks the recording complete, and leaves one file. Gives its size in bytes.
    ///
    /// # Errors
    /// When the disk is full or fails; the recording can be read and is not complete.
    pub fn finish(self, meta: &[(String, String)]) -> Result<u64, RecordingError> {
        let meta = meta.iter().map(|(key, value)| (key.as_str(), value.as_str()));
        self.close(&meta.chain([(COMPLETE, "1")]).collect::<Vec<_>>())
    }

    /// The same, with these keys of `meta` alone.
    pub(super) fn close(mut self, meta: &[(&str, &str)]) -> Result<u64, RecordingError> {
        self.seal()?;
        let error = self.error("finish");
        let transaction = self.database.transaction().map_err(&error)?;
        for (key, value) in meta {
            transaction.execute(SET_META, [key, value]).map_err(&error)?;
        }
        transaction.commit().map_err(&error)?;
        self.vacuum().map_err(&error)?;
        // Both fail while somebody reads; whoever closes the file last then does it.
        let _ = self.database.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
        let _ = self.database.query_row("PRAGMA journal_mode = DELETE", [], |_| Ok(()));
        let path = self.path.clone();
        self.database.close().map_err(|(_, source)| error(source))?;
        Ok(size(&path))
    }

    /// Removes what was made, as if nobody had asked for it.
    pub fn discard(self) {
        let path = self.path.clone();
        drop(self.database);
        let _ = std::fs::remove_file(&path);
        companions(&path).iter().for_each(|companion| drop(std::fs::remove_file(companion)));
    }

    /// Ends a recording that did not come to its end, and says why. Gives its size in bytes. Nothing here can fail: on a
    /// full disk the reason is lost, what was recorded is not.
    pub fn abandon(self, reason: &str) -> u64 {
        let _ = self.database.execute(SET_META, [ENDED, reason]);
        let moved = self.place.filter(Place::is_elsewhere);
        if moved.is_some() {
            // Where a file was moved away from its -wal file, SQLite would leave there what is in it.
            let _ = self.database.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
        }
        drop(self.database);
        let Some(moved) = moved else { return size(&self.path) };
        if !self.path.exists() {
            companions(&self.path).iter().for_each(|companion| drop(std::fs::remove_file(companion)));
        }
        moved.bytes()
    }
}

fn size(path: &Path) -> u64 {
    let of = |path: &Path| std::fs::metadata(path).map_or(0, |metadata| metadata.len());
    of(path)
        + companions(path)
            .iter()
            .filter(|path| path.to_string_lossy().ends_with("-wal"))
            .map(|path| of(path))
            .sum::<u64>()
}

fn insert(database: &Connection, batch: &Batch, first_seq: u64) -> rusqlite::Result<()> {
    let sql = "INSERT INTO series (source, position, name, labels, unit, kind, first_seen) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    let mut series = database.prepare_cached(sql)?;
    for one in &batch.series {
        let unit = one.unit.map_or("", |unit| unit.word());
        let first_seen = one.first_seen as i64;
        series.execute(params![one.source, one.column, one.name, one.labels, unit, one.kind.word(), first_seen])?;
    }
    let mut tick = database.prepare_cached("INSERT INTO tick (seq, ts, wall_offset, row) VALUES (?1, ?2, ?3, ?4)")?;
    for (index, row) in batch.ticks.iter().enumerate() {
        tick.execute(params![(first_seq + index as u64) as i64, row.ts as i64, row.wall_offset, row.row])?;
    }
    let sql = "INSERT INTO gap (t0, t1, source, reason, ticks, detail) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    for gap in &batch.gaps {
        let (to, ticks) = (gap.to.map(|to| to as i64), gap.ticks.map(|ticks| ticks as i64));
        let values = params![gap.from as i64, to, gap.source, gap.reason.word(), ticks, gap.detail];
        database.prepare_cached(sql)?.execute(values)?;
    }
    for (source, to) in &batch.gap_ends {
        database.execute(
            "UPDATE gap SET t1 = ?1 WHERE source = ?2 AND t1 IS NULL AND t0 <= ?1",
            params![*to as i64, source],
        )?;
    }
    let mut setting = database.prepare_cached("INSERT INTO setting (ts, path, value, by) VALUES (?1, ?2, ?3, ?4)")?;
    for (ts, path, value, by) in &batch.settings {
        setting.execute(params![*ts as i64, path, value, by])?;
    }
    for (ts, source, text) in &batch.marks {
        let sql = "INSERT INTO mark (ts, source, text) VALUES (?1, ?2, ?3)";
        database.prepare_cached(sql)?.execute(params![*ts as i64, source, text])?;
    }
    for (key, value) in &batch.meta {
        database.prepare_cached(SET_META)?.execute(params![key, value])?;
    }
    if let Some(rows) = &batch.stalls {
        stalls::insert(database, rows)?;
    }
    if let Some(walks) = &batch.walks {
        processes::insert(database, walks)?;
    }
    Ok(())
}

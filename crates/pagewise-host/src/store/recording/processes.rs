//! Processes in a recording: a row per walk over all of them, and a row per process that led in something.
//!
//! The tables are made when somebody begins to look, as those of stacks.

use super::reader::{Recording, unsigned};
use super::{Batch, RecordingError};
use pagewise_core::recording::{ProcessRow, ProcessUsage, UsageGrowth, Walk};
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, Row, params};
use std::collections::HashMap;

/// What became more is kept beside the totals: the walk before may not have the process, or may have been evicted.
const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS walk (
        id        INTEGER PRIMARY KEY,
        t0        INTEGER NOT NULL,
        t1        INTEGER NOT NULL,
        processes INTEGER NOT NULL
    );
    CREATE TABLE IF NOT EXISTS process (
        walk        INTEGER NOT NULL,
        pid         INTEGER NOT NULL,
        started     INTEGER NOT NULL,
        comm        TEXT NOT NULL,
        state       TEXT NOT NULL,
        threads     INTEGER NOT NULL,
        rss         INTEGER NOT NULL,
        user        INTEGER NOT NULL,
        system      INTEGER NOT NULL,
        minor       INTEGER NOT NULL,
        major       INTEGER NOT NULL,
        rss_more    INTEGER,
        user_more   INTEGER,
        system_more INTEGER,
        minor_more  INTEGER,
        major_more  INTEGER
    );
";

const ALL: [&str; 2] = ["walk", "process"];

pub(super) fn insert(database: &Connection, walks: &[Walk]) -> rusqlite::Result<()> {
    database.execute_batch(TABLES)?;
    let bounded = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
    let mut walked = database.prepare_cached("INSERT INTO walk (t0, t1, processes) VALUES (?1, ?2, ?3)")?;
    let sql = "INSERT INTO process (walk, pid, started, comm, state, threads, rss, user, system, minor, major,
                                    rss_more, user_more, system_more, minor_more, major_more)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)";
    let mut seen = database.prepare_cached(sql)?;
    for walk in walks {
        walked.execute(params![bounded(walk.from), bounded(walk.to), bounded(walk.processes)])?;
        let id = database.last_insert_rowid();
        for row in &walk.rows {
            let more = row.grown.map(|grown| (grown.resident, grown.used));
            let used_more = |of: fn(&ProcessUsage) -> u64| more.map(|(_, used)| bounded(of(&used)));
            seen.execute(params![
                id,
                row.pid,
                bounded(row.started),
                name(&row.comm),
                row.state.to_string(),
                row.threads,
                bounded(row.resident),
                bounded(row.used.user),
                bounded(row.used.system),
                bounded(row.used.minor_faults),
                bounded(row.used.major_faults),
                more.map(|(resident, _)| resident),
                used_more(|used| used.user),
                used_more(|used| used.system),
                used_more(|used| used.minor_faults),
                used_more(|used| used.major_faults),
            ])?;
        }
    }
    Ok(())
}

/// Text where it is text, which is what readers expect; else the bytes as they are.
fn name(comm: &[u8]) -> ToSqlOutput<'_> {
    let is_text = std::str::from_utf8(comm).is_ok_and(|text| !text.contains('\0'));
    ToSqlOutput::Borrowed(if is_text { ValueRef::Text(comm) } else { ValueRef::Blob(comm) })
}

pub(super) fn evict(database: &Connection, until: i64) -> rusqlite::Result<()> {
    let there = "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'walk'";
    if database.query_row(there, [], |row| row.get::<_, i64>(0))? == 0 {
        return Ok(());
    }
    database.execute("DELETE FROM walk WHERE t1 <= ?1", [until])?;
    // Rows lie in the order of their walks, so only those that go are read, and one more.
    let sql = "DELETE FROM process WHERE rowid < coalesce(
                   (SELECT rowid FROM process WHERE walk IN (SELECT id FROM walk) ORDER BY rowid LIMIT 1),
                   9223372036854775807)";
    database.execute(sql, [])?;
    Ok(())
}

impl Batch {
    /// The walks in it. Asking for them says that it was recorded, though no process may be seen.
    pub fn walks(&mut self) -> &mut Vec<Walk> {
        self.walks.get_or_insert_default()
    }
}

impl Recording {
    pub(super) fn read_walks(&self) -> Result<Option<Vec<Walk>>, RecordingError> {
        if !self.has_tables(&ALL)? {
            return Ok(None);
        }
        let rows = self.all("SELECT id, t0, t1, processes FROM walk ORDER BY t0, id", |row| {
            let (from, to, processes) = (unsigned(row, 1)?, unsigned(row, 2)?, unsigned(row, 3)?);
            Ok((row.get::<_, i64>(0)?, Walk { from, to, processes, rows: Vec::new() }))
        })?;
        let numbers: HashMap<i64, usize> = rows.iter().enumerate().map(|(place, (id, _))| (*id, place)).collect();
        let mut walks: Vec<Walk> = rows.into_iter().map(|(_, walk)| walk).collect();
        if walks.iter().any(|walk| walk.to < walk.from) {
            return Err(self.damaged("a walk over the processes ends before it begins"));
        }
        let sql = "SELECT walk, pid, started, comm, state, threads, rss, user, system, minor, major,
                          rss_more, user_more, system_more, minor_more, major_more
                   FROM process ORDER BY rowid";
        for (walk, row) in self.all(sql, process)? {
            let missing = || self.damaged(&format!("a process has walk {walk}, which is not there"));
            walks[*numbers.get(&walk).ok_or_else(missing)?].rows.push(row);
        }
        Ok(Some(walks))
    }
}

fn process(row: &Row<'_>) -> rusqlite::Result<(i64, ProcessRow)> {
    let comm = match row.get_ref(3)? {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => bytes.to_vec(),
        other => return Err(rusqlite::Error::InvalidColumnType(3, "comm".to_owned(), other.data_type())),
    };
    let state: String = row.get(4)?;
    let used = ProcessUsage {
        user: unsigned(row, 7)?,
        system: unsigned(row, 8)?,
        minor_faults: unsigned(row, 9)?,
        major_faults: unsigned(row, 10)?,
    };
    // One that is missing says as little as all of them.
    let more = |column: usize| -> rusqlite::Result<Option<u64>> {
        if row.get_ref(column)? == ValueRef::Null { Ok(None) } else { unsigned(row, column).map(Some) }
    };
    let parts = (row.get::<_, Option<i64>>(11)?, more(12)?, more(13)?, more(14)?, more(15)?);
    let grown = match parts {
        (Some(resident), Some(user), Some(system), Some(minor_faults), Some(major_faults)) => {
            Some(UsageGrowth { used: ProcessUsage { user, system, minor_faults, major_faults }, resident })
        }
        _ => None,
    };
    let process = ProcessRow {
        pid: row.get(1)?,
        started: unsigned(row, 2)?,
        comm,
        state: state.chars().next().unwrap_or('?'),
        threads: row.get(5)?,
        resident: unsigned(row, 6)?,
        used,
        grown,
    };
    Ok((row.get(0)?, process))
}

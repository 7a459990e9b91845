//! Stalls in a recording: a row per slice of time, kind, process, order and outcome, with its histogram.
//!
//! The table is made when somebody begins to look, as that of stacks.

use super::reader::{Recording, unsigned};
use super::{Batch, RecordingError};
use pagewise_core::kernel_text::purpose::Purpose;
use pagewise_core::recording::stall::BUCKETS;
use pagewise_core::recording::{Durations, StallKind, StallRow};
use rusqlite::{Connection, params};

const TABLE: &str = "
    CREATE TABLE IF NOT EXISTS stall (
        t0         INTEGER NOT NULL,
        t1         INTEGER NOT NULL,
        kind       TEXT NOT NULL,
        pid        INTEGER NOT NULL,
        comm       TEXT NOT NULL,
        page_order INTEGER,
        purpose    TEXT,
        outcome    TEXT NOT NULL,
        total      INTEGER NOT NULL,
        longest    INTEGER NOT NULL,
        buckets    BLOB NOT NULL
    );
";

/// Key of `meta`: events the kernel says it lost.
pub const LOST: &str = "stalls_lost";

pub(super) fn insert(database: &Connection, rows: &[StallRow]) -> rusqlite::Result<()> {
    database.execute_batch(TABLE)?;
    let sql = "INSERT INTO stall (t0, t1, kind, pid, comm, page_order, purpose, outcome, total, longest, buckets)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)";
    let mut insert = database.prepare_cached(sql)?;
    let bounded = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
    for row in rows {
        insert.execute(params![
            row.from as i64,
            row.to as i64,
            row.kind.word(),
            row.pid,
            row.comm,
            row.order,
            row.purpose.map(Purpose::word),
            row.outcome,
            bounded(row.durations.total()),
            bounded(row.durations.longest()),
            packed(row.durations.counts()),
        ])?;
    }
    Ok(())
}

pub(super) fn evict(database: &Connection, until: i64) -> rusqlite::Result<()> {
    let there = "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'stall'";
    if database.query_row(there, [], |row| row.get::<_, i64>(0))? > 0 {
        database.execute("DELETE FROM stall WHERE t1 <= ?1", [until])?;
    }
    Ok(())
}

/// LEB128 numbers, bucket by bucket; empty buckets at the end are left out.
fn packed(counts: &[u64; BUCKETS]) -> Vec<u8> {
    let used = counts.iter().rposition(|count| *count > 0).map_or(0, |last| last + 1);
    let mut bytes = Vec::with_capacity(used + 8);
    for count in &counts[..used] {
        let mut left = *count;
        while left > 0x7f {
            bytes.push(left as u8 | 0x80);
            left >>= 7;
        }
        bytes.push(left as u8);
    }
    bytes
}

/// `None` when these are no numbers, or too many.
fn unpacked(bytes: &[u8]) -> Option<[u64; BUCKETS]> {
    let mut counts = [0u64; BUCKETS];
    let (mut bucket, mut shift) = (0, 0);
    for byte in bytes {
        let part = u64::from(byte & 0x7f);
        // Ten bytes of seven bits: of the last one only the lowest has room.
        if shift > 63 || (shift == 63 && part > 1) {
            return None;
        }
        *counts.get_mut(bucket)? |= part << shift;
        (bucket, shift) = if byte & 0x80 == 0 { (bucket + 1, 0) } else { (bucket, shift + 7) };
    }
    (shift == 0).then_some(counts)
}

impl Batch {
    /// The rows of stalls in it. Asking for them says that it was recorded, though nothing may be seen.
    pub fn stall_rows(&mut self) -> &mut Vec<StallRow> {
        self.stalls.get_or_insert_default()
    }
}

impl Recording {
    pub(super) fn read_stalls(&self) -> Result<Option<Vec<StallRow>>, RecordingError> {
        if !self.has_tables(&["stall"])? {
            return Ok(None);
        }
        // Recordings of earlier versions have no such column.
        let there = "SELECT count(*) FROM pragma_table_info('stall') WHERE name = 'purpose'";
        let has_purposes = self.all(there, |row| row.get::<_, i64>(0))? != [0];
        let purpose = if has_purposes { "purpose" } else { "NULL" };
        let sql = format!(
            "SELECT t0, t1, kind, pid, comm, page_order, outcome, total, longest, buckets, {purpose} FROM stall
             ORDER BY t0, rowid"
        );
        let rows = self.all(&sql, |row| {
            let kind: String = row.get(2)?;
            // A kind of a newer version is left out, as an unknown table is.
            let Some(kind) = StallKind::from_word(&kind) else { return Ok(Ok(None)) };
            let (total, longest) = (unsigned(row, 7)?, unsigned(row, 8)?);
            let Some(counts) = unpacked(&row.get::<_, Vec<u8>>(9)?) else {
                return Ok(Err("a stall has buckets that cannot be read"));
            };
            let (from, to) = (unsigned(row, 0)?, unsigned(row, 1)?);
            if to < from {
                return Ok(Err("a stall's slice ends before it begins"));
            }
            let (pid, comm, order, outcome) = (row.get(3)?, row.get(4)?, row.get(5)?, row.get(6)?);
            let durations = Durations::from_parts(counts, total, longest);
            let purpose = row.get::<_, Option<String>>(10)?.and_then(|word| Purpose::from_word(&word));
            Ok(Ok(Some(StallRow { from, to, kind, pid, comm, order, purpose, outcome, durations })))
        })?;
        let mut stalls = Vec::with_capacity(rows.len());
        for row in rows {
            stalls.extend(row.map_err(|what| self.damaged(what))?);
        }
        Ok(Some(stalls))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn buckets_come_back_and_too_many_do_not() {
        let mut counts = [0; BUCKETS];
        assert_eq!(packed(&counts), Vec::<u8>::new());
        (counts[3], counts[20], counts[BUCKETS - 1]) = (1, 300, u64::MAX);
        assert_eq!(unpacked(&packed(&counts)), Some(counts));
        assert_eq!(unpacked(&[0; BUCKETS + 1]), None);
        assert_eq!(unpacked(&[0x80]), None, "cut");
        assert_eq!(unpacked(&[0xff; 11]), None, "no 64-bit number");
    }

    proptest! {
        #[test]
        fn any_bytes_are_buckets_or_damage(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            if let Some(counts) = unpacked(&bytes) {
                prop_assert_eq!(unpacked(&packed(&counts)), Some(counts));
            }
        }
    }
}

//! Stacks in a recording: functions, the tree of who called whom, slices of time, and how often each stack was seen.
//!
//! The tables are made when somebody begins to look: a recording without them says that nobody did.

use super::reader::{Recording, unsigned};
use super::{Batch, RecordingError};
use pagewise_core::recording::{Frame, Profile, SamplingEvent, StackId, StackSample, Stacks};
use rusqlite::{Connection, params};
use std::collections::HashMap;

const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS frame (id INTEGER PRIMARY KEY, name TEXT NOT NULL, module TEXT NOT NULL);
    CREATE TABLE IF NOT EXISTS stack (id INTEGER PRIMARY KEY, parent INTEGER, frame INTEGER NOT NULL);
    CREATE TABLE IF NOT EXISTS slice (id INTEGER PRIMARY KEY, t0 INTEGER NOT NULL, t1 INTEGER NOT NULL);
    CREATE TABLE IF NOT EXISTS sample (
        slice INTEGER NOT NULL,
        cpu   INTEGER,
        pid   INTEGER,
        comm  TEXT NOT NULL,
        stack INTEGER NOT NULL,
        n     INTEGER NOT NULL
    );
";

const ALL: [&str; 4] = ["frame", "stack", "slice", "sample"];

/// Keys of `meta`.
pub const EVENT: &str = "stacks_event";
/// Samples a second and CPU.
pub const HZ: &str = "stacks_hz";
/// Samples the kernel says it lost.
pub const LOST: &str = "stacks_lost";

/// What is new of the stacks. Frames and nodes are numbered from 0 as they come: each batch goes on where the one before
/// ended, so a writer hands on what [`Stacks`] has grown by.
#[derive(Clone, Debug, Default)]
pub struct StackRows {
    /// Frames seen for the first time.
    pub frames: Vec<Frame>,
    /// Stacks seen for the first time: the parent, which comes before, and the number of the innermost frame.
    pub nodes: Vec<(Option<StackId>, u32)>,
    /// In order of `from`.
    pub samples: Vec<StackSample>,
}

impl StackRows {
    /// Appends what came later.
    pub fn extend(&mut self, later: StackRows) {
        self.frames.extend(later.frames);
        self.nodes.extend(later.nodes);
        self.samples.extend(later.samples);
    }
}

/// How far the tables have grown.
#[derive(Debug, Default)]
pub(super) struct TableGrowth {
    has_tables: bool,
    frames: i64,
    nodes: i64,
    slices: i64,
    /// The slice written last.
    slice: Option<(u64, u64)>,
}

impl TableGrowth {
    pub(super) fn insert(&mut self, database: &Connection, rows: &StackRows) -> rusqlite::Result<()> {
        if !self.has_tables {
            database.execute_batch(TABLES)?;
            self.has_tables = true;
        }
        let mut insert = database.prepare_cached("INSERT INTO frame (id, name, module) VALUES (?1, ?2, ?3)")?;
        for frame in &rows.frames {
            insert.execute(params![self.frames, frame.name, frame.module])?;
            self.frames += 1;
        }
        let mut insert = database.prepare_cached("INSERT INTO stack (id, parent, frame) VALUES (?1, ?2, ?3)")?;
        for (parent, frame) in &rows.nodes {
            insert.execute(params![self.nodes, parent.map(|parent| parent.0), frame])?;
            self.nodes += 1;
        }
        let sql = "INSERT INTO sample (slice, cpu, pid, comm, stack, n) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
        let mut insert = database.prepare_cached(sql)?;
        for sample in &rows.samples {
            let times = (sample.from, sample.to);
            if self.slice != Some(times) {
                self.slices += 1;
                let sql = "INSERT INTO slice (id, t0, t1) VALUES (?1, ?2, ?3)";
                let values = params![self.slices, sample.from as i64, sample.to as i64];
                database.prepare_cached(sql)?.execute(values)?;
                self.slice = Some(times);
            }
            let count = i64::try_from(sample.count).unwrap_or(i64::MAX);
            insert.execute(params![self.slices, sample.cpu, sample.pid, sample.comm, sample.stack.0, count])?;
        }
        Ok(())
    }

    /// Removes slices that ended by then. The tree stays: what comes later stands on it.
    pub(super) fn evict(&mut self, database: &Connection, until: i64) -> rusqlite::Result<()> {
        if !self.has_tables {
            return Ok(());
        }
        self.slice = None;
        database.execute("DELETE FROM slice WHERE t1 <= ?1", [until])?;
        // Samples lie in the order of their slices, so only those that go are read, and one more.
        let sql = "DELETE FROM sample WHERE rowid < coalesce(
                       (SELECT rowid FROM sample WHERE slice IN (SELECT id FROM slice) ORDER BY rowid LIMIT 1),
                       9223372036854775807)";
        database.execute(sql, [])?;
        Ok(())
    }
}

impl Batch {
    /// The rows of stacks in it. Asking for them says that it was recorded, though nothing may be seen.
    pub fn stack_rows(&mut self) -> &mut StackRows {
        self.stacks.get_or_insert_default()
    }
}

impl Recording {
    pub(super) fn read_profile(&self) -> Result<Option<Profile>, RecordingError> {
        if !self.has_tables(&ALL)? {
            return Ok(None);
        }
        let number = |key: &str| self.meta().get(key).and_then(|value| value.parse::<u64>().ok());
        let mut profile = Profile {
            event: self.meta().get(EVENT).map(|word| SamplingEvent::from_word(word)),
            hz: self.meta().get(HZ).and_then(|hz| hz.parse().ok()).filter(|hz: &f64| hz.is_finite() && *hz > 0.0),
            lost: number(LOST).unwrap_or(0),
            ..Profile::default()
        };
        let frames = self.read_frames(&mut profile.stacks)?;
        let stacks = self.read_tree(&mut profile.stacks, &frames)?;
        profile.samples = self.read_samples(&stacks)?;
        Ok(Some(profile))
    }

    fn read_frames(&self, stacks: &mut Stacks) -> Result<HashMap<i64, u32>, RecordingError> {
        let rows = self.all("SELECT id, name, module FROM frame ORDER BY id", |row| {
            Ok((row.get::<_, i64>(0)?, Frame { name: row.get(1)?, module: row.get(2)? }))
        })?;
        Ok(rows.into_iter().map(|(id, frame)| (id, stacks.frame(frame))).collect())
    }

    /// In the order of the ids, so that a parent has to come before its children: there can be no ring.
    fn read_tree(
        &self,
        stacks: &mut Stacks,
        frames: &HashMap<i64, u32>,
    ) -> Result<HashMap<i64, StackId>, RecordingError> {
        let rows = self.all("SELECT id, parent, frame FROM stack ORDER BY id", |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, Option<i64>>(1)?, row.get::<_, i64>(2)?))
        })?;
        let mut known: HashMap<i64, StackId> = HashMap::with_capacity(rows.len());
        for (id, parent, frame) in rows {
            let not = |what: String| self.damaged(&format!("stack {id} {what}"));
            let parent = match parent {
                Some(parent) => {
                    let of = known.get(&parent).ok_or_else(|| not(format!("comes before its parent {parent}")))?;
                    Some(*of)
                }
                None => None,
            };
            let frame = frames.get(&frame).ok_or_else(|| not(format!("has frame {frame}, which is not there")))?;
            let stack = stacks.push(parent, *frame).ok_or_else(|| not("fits into no tree".to_owned()))?;
            known.insert(id, stack);
        }
        Ok(known)
    }

    fn read_samples(&self, stacks: &HashMap<i64, StackId>) -> Result<Vec<StackSample>, RecordingError> {
        let slices: HashMap<i64, (u64, u64)> = self
            .all("SELECT id, t0, t1 FROM slice", |row| Ok((row.get(0)?, (unsigned(row, 1)?, unsigned(row, 2)?))))?
            .into_iter()
            .collect();
        let rows = self.all("SELECT slice, stack, cpu, pid, comm, n FROM sample ORDER BY rowid", |row| {
            let sample = StackSample {
                from: 0,
                to: 0,
                cpu: row.get(2)?,
                pid: row.get(3)?,
                comm: row.get(4)?,
                stack: StackId(0),
                count: unsigned(row, 5)?,
            };
            Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, sample))
        })?;
        let mut samples = Vec::with_capacity(rows.len());
        for (slice, stack, mut sample) in rows {
            let missing = |what: &str, id: i64| self.damaged(&format!("a sample has {what} {id}, which is not there"));
            (sample.from, sample.to) = *slices.get(&slice).ok_or_else(|| missing("slice", slice))?;
            sample.stack = *stacks.get(&stack).ok_or_else(|| missing("stack", stack))?;
            if sample.to < sample.from {
                return Err(self.damaged(&format!("slice {slice} ends before it begins")));
            }
            samples.push(sample);
        }
        samples.sort_by_key(|sample| sample.from);
        Ok(samples)
    }
}

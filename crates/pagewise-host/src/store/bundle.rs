//! The trial bundle: a folder `NAME.trial` that holds the frozen plan, the order, every point, host facts and reports.
//!
//! Re-analysis needs nothing else. Points live in an SQLite database with full synchronisation: what was reported as
//! done survives a power loss. A bundle is never overwritten.

use crate::locked::Locked;
use pagewise_core::comparison::found::Warning;
use pagewise_core::experiment::boots::Boots;
use pagewise_core::experiment::live::Ended;
use pagewise_core::experiment::order::Order;
use pagewise_core::experiment::plan::Plan;
use pagewise_core::experiment::plan::cells::cells;
use pagewise_core::experiment::point::{AppliedSetting, Outcome, PlannedPoint, Point, Record};
use pagewise_core::experiment::stopping::InterimAnalysis;
use pagewise_core::metric::vmstat_is_level;
use pagewise_core::report::facts::HostFacts;
use rusqlite::{Connection, OpenFlags, OptionalExtension, params};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// `application_id` of the database: "PWTR", so that `file` and readers can tell it.
const APPLICATION_ID: i32 = 0x5057_5452;

/// Identifies a bundle. Those of the first schema have one host for all boots.
const SCHEMA: &str = "pagewise.trial/2";
const FIRST_SCHEMA: &str = "pagewise.trial/1";

const TABLES: &str = "
    CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
    CREATE TABLE counter_name (position INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;
    CREATE TABLE point (
        point_index INTEGER NOT NULL,
        attempt     INTEGER NOT NULL,
        state       TEXT NOT NULL CHECK (state IN
                        ('planned', 'armed', 'booted', 'running', 'done', 'failed', 'invalid')),
        started_at  TEXT NOT NULL DEFAULT '',
        boot_id     TEXT NOT NULL DEFAULT '',
        outcome     TEXT,
        reason      TEXT,
        measures    TEXT,
        applied     TEXT,
        counters    BLOB,
        PRIMARY KEY (point_index, attempt)
    ) STRICT;
    CREATE TABLE boot (id TEXT PRIMARY KEY, position INTEGER NOT NULL UNIQUE, facts TEXT NOT NULL) STRICT;
    CREATE TABLE interim_analysis (blocks INTEGER PRIMARY KEY, at TEXT NOT NULL, decision TEXT NOT NULL) STRICT;
";

/// A bundle could not be made, read or written.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// There is one already.
    #[error("{} exists already and is never overwritten; give another name with --name", .0.display())]
    Exists(PathBuf),
    /// Nothing there.
    #[error("there is no {}{}", .0.display(), meant(.0))]
    Absent(PathBuf),
    /// A file, where a bundle is a folder.
    #[error("{}", instead_of_a_bundle(.0))]
    IsAFile(PathBuf),
    /// A folder that is no bundle.
    #[error("{} is no trial bundle: it has no {missing}", path.display())]
    NotABundle {
        /// The folder.
        path: PathBuf,
        /// Which file is missing.
        missing: &'static str,
    },
    /// A file of it cannot be handled.
    #[error("cannot {action} {}: {source}{}", path.display(), no_space(source))]
    File {
        /// `create`, `read` or `write`.
        action: &'static str,
        /// Which file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Its database refuses.
    #[error("cannot {action} the database of {}: {source}{}", path.display(), disk_full(source))]
    Database {
        /// What was tried.
        action: &'static str,
        /// The bundle.
        path: PathBuf,
        /// Why.
        source: rusqlite::Error,
    },
    /// Its contents contradict each other.
    #[error("{} is damaged: {what}", path.display())]
    Damaged {
        /// The bundle.
        path: PathBuf,
        /// How.
        what: String,
    },
    /// Another process runs it.
    #[error("{} is being run by another pagewise", .0.display())]
    Busy(PathBuf),
}

/// The bundle that was meant, or how bundles are named.
fn meant(path: &Path) -> String {
    let mut with_end = path.as_os_str().to_owned();
    with_end.push(".trial");
    match Path::new(&with_end) {
        bundle if bundle.is_dir() => format!("; did you mean {}?", bundle.display()),
        _ => "; give the folder of a trial, NAME.trial".to_owned(),
    }
}

fn instead_of_a_bundle(path: &Path) -> String {
    let shown = path.display().to_string();
    if path.extension().is_some_and(|end| end == "toml") {
        return format!("{shown} is a plan; start it with:\n  pagewise trial run {shown}");
    }
    format!("{shown} is a file, and a trial's bundle is a folder: NAME.trial")
}

fn no_space(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "; free some room, or run in another folder",
        _ => "",
    }
}

fn disk_full(error: &rusqlite::Error) -> &'static str {
    match error.sqlite_error_code() {
        Some(rusqlite::ErrorCode::DiskFull) => "; free some room, or run in another folder",
        _ => "",
    }
}

/// What is written down when a bundle is made, beside the plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Frozen {
    /// Version of Pagewise that made it.
    pub pagewise: String,
    /// When, RFC 3339 UTC.
    pub created: String,
    /// The run order.
    pub order: Order,
    /// Command lines that repeat the trial.
    pub repeat: Vec<String>,
    /// What was said about workload and policies before the first run.
    pub notes: Vec<String>,
    /// The hash over the manifest of the data that come back before every point. `None` when nothing is put back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
    /// The folder that `--data` named, absolute, so that the trial goes on without naming it again. What lies there then is held
    /// against `data`. `None` when nobody named one, and in bundles of versions that did not keep it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_folder: Option<String>,
    /// The folder's name when it was made. Reports name the bundle by it wherever the folder has gone since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bundle: Option<String>,
}

/// The last part of a path as text.
fn name_of(path: &Path) -> Option<String> {
    path.file_name().map(|name| name.to_string_lossy().into_owned())
}

/// The measures of a point, and what was told of it, as the database holds them.
#[derive(Default, Serialize, Deserialize)]
struct StoredMeasures {
    values: BTreeMap<String, f64>,
    absent: BTreeMap<String, String>,
    custom_units: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<Warning>,
}

/// An open bundle.
#[derive(Debug)]
pub struct Bundle {
    path: PathBuf,
    plan: Plan,
    frozen: Frozen,
    /// Of bundles whose host was written down once, when they were made.
    host_when_made: Option<HostFacts>,
    database: Connection,
    lock: Option<Locked>,
}

/// What older bundles froze beside it: the host, for all boots.
#[derive(Deserialize)]
struct WithHost {
    facts: Option<HostFacts>,
}

/// Whether the frozen order is one of the plan's cells, its points in their places.
fn fits(plan: &Plan, frozen: &Frozen) -> Result<(), String> {
    let cells = cells(plan).map_err(|error| format!("plan.toml: {error}"))?;
    let labels: BTreeSet<&str> = cells.iter().map(|cell| cell.label.as_str()).collect();
    for (at, point) in frozen.order.points.iter().enumerate() {
        if point.index as usize != at {
            return Err(format!("the order has run {} in the place of run {at}", point.index));
        }
        if !labels.contains(point.cell.as_str()) {
            return Err(format!(
                "the order has a run of '{}', which is no cell of the plan",
                point.cell.escape_debug()
            ));
        }
    }
    Ok(())
}

/// The table of interim analyses: called `look` in bundles of the schema before, and absent from those of the first.
fn table_of_analyses(db: &Connection) -> rusqlite::Result<Option<String>> {
    let named = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name IN ('interim_analysis', 'look')";
    db.query_row(named, [], |row| row.get(0)).optional()
}

impl Bundle {
    /// Makes a new bundle, frozen before the first point, and holds it for running.
    ///
    /// # Errors
    /// When the folder exists or cannot be written.
    pub fn create(path: &Path, plan: &Plan, frozen: Frozen) -> Result<Bundle, BundleError> {
        Bundle::check_absent(path)?;
        let unfinished = create_unfinished(path)?;
        let frozen = Frozen { bundle: name_of(path), ..frozen };
        let made = Bundle::fill(&unfinished, plan, frozen).and_then(|()| move_whole(&unfinished, path));
        made.inspect_err(|_| drop(fs::remove_dir_all(&unfinished)))?;
        Bundle::open_to_resume(path)
    }

    /// Says whether the place of a bundle is free.
    ///
    /// # Errors
    /// When anything is there.
    pub fn check_absent(path: &Path) -> Result<(), BundleError> {
        if path.symlink_metadata().is_ok() {
            return Err(BundleError::Exists(path.to_owned()));
        }
        Ok(())
    }

    /// Says whether a bundle can be made there, before anything long is done for it. Leaves nothing behind, and nothing that stands in the
    /// way of a bundle when it is killed. For whoever holds the lock of the host.
    ///
    /// # Errors
    /// When the folder exists or cannot be made.
    pub fn check_room(path: &Path) -> Result<(), BundleError> {
        Bundle::check_absent(path)?;
        let unfinished = create_unfinished(path)?;
        fs::remove_dir(&unfinished).map_err(|source| BundleError::File { action: "remove", path: unfinished, source })
    }

    fn fill(path: &Path, plan: &Plan, frozen: Frozen) -> Result<(), BundleError> {
        let text = toml::to_string_pretty(plan)
            .map_err(|error| BundleError::Damaged { path: path.to_owned(), what: error.to_string() })?;
        write_synced(&path.join("plan.toml"), text.as_bytes())?;
        let database_path = path.join("points.sqlite");
        let database_error = |action| {
            let path = path.to_owned();
            move |source| BundleError::Database { action, path, source }
        };
        let database = Connection::open(&database_path).map_err(database_error("create"))?;
        let fill = || -> rusqlite::Result<()> {
            database.pragma_update(None, "trusted_schema", false)?;
            database.pragma_update(None, "application_id", APPLICATION_ID)?;
            database.pragma_update(None, "synchronous", "FULL")?;
            let transaction = database.unchecked_transaction()?;
            database.execute_batch(TABLES)?;
            let points = &frozen.order.points;
            let frozen =
                serde_json::to_string(&frozen).map_err(|e| rusqlite::Error::ToSqlConversionFailure(e.into()))?;
            let hash = blake3::hash(text.as_bytes()).to_hex().to_string();
            let meta = [("schema", SCHEMA), ("plan", &text), ("plan_blake3", &hash), ("frozen", &frozen)];
            for (key, value) in meta {
                database.execute("INSERT INTO meta (key, value) VALUES (?1, ?2)", params![key, value])?;
            }
            let mut plan_point =
                database.prepare("INSERT INTO point (point_index, attempt, state) VALUES (?1, 1, 'planned')")?;
            points.iter().try_for_each(|point| plan_point.execute([point.index]).map(|_| ()))?;
            drop(plan_point);
            transaction.commit()
        };
        fill().map_err(database_error("create"))?;
        sync_folder(path)
    }

    /// Opens a bundle for reading.
    ///
    /// # Errors
    /// When it is none, or its plan is not the one it was frozen with.
    pub fn open(path: &Path) -> Result<Bundle, BundleError> {
        // What a kill left half written can be rolled back only by a connection that may write.
        let half_written = path.join("points.sqlite-journal").exists();
        if half_written && let Ok(bundle) = Bundle::open_with(path, OpenFlags::SQLITE_OPEN_READ_WRITE) {
            return Ok(bundle);
        }
        Bundle::open_with(path, OpenFlags::SQLITE_OPEN_READ_ONLY)
    }

    /// Opens a bundle to run what is left of it.
    ///
    /// # Errors
    /// As [`Bundle::open`], when another process runs it, and when any page of its journal is lost or damaged: SQLite
    /// itself would say so only once it comes to that page.
    pub fn open_to_resume(path: &Path) -> Result<Bundle, BundleError> {
        let mut bundle = Bundle::open_with(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        bundle.lock = Some(lock(path)?);
        let whole: String =
            bundle.act("read", |database| database.query_row("PRAGMA quick_check(1)", [], |row| row.get(0)))?;
        if whole != "ok" {
            let what = format!("points.sqlite: {whole}");
            return Err(BundleError::Damaged { path: path.to_owned(), what });
        }
        bundle.act("resume", |database| database.pragma_update(None, "synchronous", "FULL"))?;
        Ok(bundle)
    }

    fn open_with(path: &Path, flags: OpenFlags) -> Result<Bundle, BundleError> {
        let damaged = |what: String| BundleError::Damaged { path: path.to_owned(), what };
        match fs::metadata(path) {
            Ok(metadata) if !metadata.is_dir() => return Err(BundleError::IsAFile(path.to_owned())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(BundleError::Absent(path.to_owned())),
            // What else is wrong shows at its files.
            Ok(_) | Err(_) => {}
        }
        // A pipe in the place of a file would be waited for without end.
        let regular = |name: &str| -> Result<Option<PathBuf>, BundleError> {
            let file = path.join(name);
            match fs::metadata(&file) {
                Ok(metadata) if metadata.is_file() => Ok(Some(file)),
                Ok(_) => Err(damaged(format!("{name} is no regular file"))),
                Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                    Ok(None)
                }
                Err(source) => Err(BundleError::File { action: "read", path: file, source }),
            }
        };
        let needed = |missing: &'static str| {
            regular(missing)?.ok_or_else(|| BundleError::NotABundle { path: path.to_owned(), missing })
        };
        let (plan_file, file) = (needed("plan.toml")?, needed("points.sqlite")?);
        regular("points.sqlite-journal")?;
        let text = fs::read_to_string(&plan_file).map_err(|source| BundleError::File {
            action: "read",
            path: plan_file,
            source,
        })?;
        let plan: Plan = toml::from_str(&text).map_err(|error| damaged(format!("plan.toml: {error}")))?;
        let database_error = |source| BundleError::Database { action: "read", path: path.to_owned(), source };
        let database = Connection::open_with_flags(&file, flags).map_err(database_error)?;
        database.pragma_update(None, "trusted_schema", false).map_err(database_error)?;
        let meta = |key: &str| -> Result<String, BundleError> {
            database.query_row("SELECT value FROM meta WHERE key = ?1", [key], |row| row.get(0)).map_err(database_error)
        };
        let schema = meta("schema")?;
        if ![SCHEMA, FIRST_SCHEMA].contains(&schema.as_str()) {
            let known = format!("{FIRST_SCHEMA} and {SCHEMA}");
            return Err(damaged(format!("it is a '{schema}', and this version of Pagewise reads {known}")));
        }
        if meta("plan_blake3")? != blake3::hash(text.as_bytes()).to_hex().as_str() {
            let mut what = "plan.toml was changed after the first run; a plan is frozen".to_owned();
            // Nothing is lost by an edit: the text is kept beside the points.
            let kept = path.join("plan.toml.frozen");
            if meta("plan").is_ok_and(|text| fs::write(&kept, text).is_ok()) {
                what.push_str(". As it was it is in plan.toml.frozen; move that over plan.toml to go on");
            }
            return Err(damaged(what));
        }
        let text = meta("frozen")?;
        let frozen: Frozen = serde_json::from_str(&text).map_err(|error| damaged(error.to_string()))?;
        let WithHost { facts } = serde_json::from_str(&text).map_err(|error| damaged(error.to_string()))?;
        fits(&plan, &frozen).map_err(damaged)?;
        Ok(Bundle { path: path.to_owned(), plan, frozen, host_when_made: facts, database, lock: None })
    }

    /// Its folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The frozen plan.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// What was frozen beside it.
    #[must_use]
    pub fn frozen(&self) -> &Frozen {
        &self.frozen
    }

    fn act<T>(&self, action: &'static str, act: impl Fn(&Connection) -> rusqlite::Result<T>) -> Result<T, BundleError> {
        act(&self.database).map_err(|source| BundleError::Database { action, path: self.path.clone(), source })
    }

    /// The host in every boot of the trial, in the order in which they came.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn hosts(&self) -> Result<Vec<HostFacts>, BundleError> {
        if let Some(facts) = &self.host_when_made {
            return Ok(vec![facts.clone()]);
        }
        let texts: Vec<String> = self.act("read", |db| {
            // One in which nothing ran, because the first point needed another, is none of the trial's, unless nothing ran at all.
            let with_points = "SELECT facts FROM boot WHERE id IN (SELECT boot_id FROM point) ORDER BY position";
            for sql in [with_points, "SELECT facts FROM boot ORDER BY position"] {
                let mut statement = db.prepare(sql)?;
                let rows = statement.query_map([], |row| row.get(0))?;
                let texts = rows.collect::<rusqlite::Result<Vec<String>>>()?;
                if !texts.is_empty() {
                    return Ok(texts);
                }
            }
            Ok(Vec::new())
        })?;
        let damaged =
            |error: serde_json::Error| BundleError::Damaged { path: self.path.clone(), what: error.to_string() };
        texts.iter().map(|text| serde_json::from_str(text).map_err(damaged)).collect()
    }

    /// The host on which the bundle was made, also where its points ran in guests.
    ///
    /// # Errors
    /// When the bundle cannot be read.
    pub fn made_on(&self) -> Result<Option<HostFacts>, BundleError> {
        if let Some(facts) = &self.host_when_made {
            return Ok(Some(facts.clone()));
        }
        let text: Option<String> = self.act("read", |db| {
            db.query_row("SELECT facts FROM boot ORDER BY position LIMIT 1", [], |row| row.get(0)).optional()
        })?;
        Ok(text.and_then(|text| serde_json::from_str(&text).ok()))
    }

    /// Writes down the host in a boot, before the first thing that happens in it. One that is known stays as it was. In a bundle that
    /// has its host once, for all boots, nothing is added.
    ///
    /// # Errors
    /// When that cannot be made durable.
    pub fn keep_host(&self, boot_id: &str, facts: &HostFacts) -> Result<(), BundleError> {
        if self.host_when_made.is_some() {
            return Ok(());
        }
        let damaged =
            |error: serde_json::Error| BundleError::Damaged { path: self.path.clone(), what: error.to_string() };
        let facts = serde_json::to_string(facts).map_err(damaged)?;
        let sql = "INSERT OR IGNORE INTO boot (id, position, facts) \
                   VALUES (?1, (SELECT coalesce(max(position) + 1, 0) FROM boot), ?2)";
        self.act("write to", |db| db.execute(sql, params![boot_id, facts]).map(|_| ()))
    }

    /// Writes down that a point is being made ready, before anything is done for it: `armed`, or `booted` where the boot
    /// it needs is there.
    ///
    /// # Errors
    /// When that cannot be made durable.
    pub fn begin(&self, planned: &PlannedPoint, attempt: u32, now: &str, boot_id: &str) -> Result<(), BundleError> {
        let state = if planned.boot.is_some() { State::Booted } else { State::Armed };
        let sql = "INSERT INTO point (point_index, attempt, state, started_at, boot_id) VALUES (?1, ?2, ?3, ?4, ?5) \
                   ON CONFLICT (point_index, attempt) DO UPDATE \
                   SET state = excluded.state, started_at = excluded.started_at, boot_id = excluded.boot_id, reason = NULL";
        self.act("write to", |db| {
            db.execute(sql, params![planned.index, attempt, state.word(), now, boot_id]).map(|_| ())
        })
    }

    /// Writes down that a point waits for a boot that only the user can make.
    ///
    /// # Errors
    /// When that cannot be made durable.
    pub fn wait_for_boot(&self, planned: &PlannedPoint, attempt: u32, needs: &str) -> Result<(), BundleError> {
        let sql = "INSERT INTO point (point_index, attempt, state, reason) VALUES (?1, ?2, 'armed', ?3) \
                   ON CONFLICT (point_index, attempt) DO UPDATE SET state = excluded.state, reason = excluded.reason";
        self.act("write to", |db| db.execute(sql, params![planned.index, attempt, needs]).map(|_| ()))
    }

    /// Writes down what an armed point waits for.
    ///
    /// # Errors
    /// When that cannot be made durable.
    pub fn waits(&self, planned: &PlannedPoint, attempt: u32, why: &str) -> Result<(), BundleError> {
        let sql = "UPDATE point SET reason = ?3 WHERE point_index = ?1 AND attempt = ?2";
        let why = format!("the host: {why}");
        self.act("write to", |db| db.execute(sql, params![planned.index, attempt, why]).map(|_| ()))
    }

    /// Writes down that a point's job is about to start.
    ///
    /// # Errors
    /// When that cannot be made durable.
    pub fn running(&self, planned: &PlannedPoint, attempt: u32) -> Result<(), BundleError> {
        let sql = "UPDATE point SET state = 'running', reason = NULL WHERE point_index = ?1 AND attempt = ?2";
        self.act("write to", |db| db.execute(sql, params![planned.index, attempt]).map(|_| ()))
    }

    /// Writes down what a point gave.
    ///
    /// # Errors
    /// When that cannot be made durable.
    pub fn finish(&mut self, record: &Record) -> Result<(), BundleError> {
        let counters = self.encode_counters(&record.vmstat_before, &record.vmstat_after)?;
        let point = &record.point;
        let state = State::after(point.outcome).word();
        let measures = StoredMeasures {
            values: point.measures.clone(),
            absent: point.absent.clone(),
            custom_units: point.custom_units.clone(),
            warnings: point.warnings.clone(),
        };
        let damaged =
            |error: serde_json::Error| BundleError::Damaged { path: self.path.clone(), what: error.to_string() };
        let measures = serde_json::to_string(&measures).map_err(damaged)?;
        let applied = serde_json::to_string(&point.applied).map_err(damaged)?;
        let sql = "UPDATE point SET state = ?3, outcome = ?4, reason = ?5, measures = ?6, applied = ?7, counters = ?8, \
                   started_at = ?9 WHERE point_index = ?1 AND attempt = ?2";
        self.act("write to", |db| {
            db.execute(
                sql,
                params![
                    point.planned.index,
                    point.attempt,
                    state,
                    point.outcome.word(),
                    point.reason,
                    measures,
                    applied,
                    counters,
                    point.started_at
                ],
            )
            .map(|_| ())
        })
    }

    /// Marks a point invalid after the fact: one that was running when Pagewise ended, or whose pair was cut.
    ///
    /// # Errors
    /// When that cannot be made durable.
    pub fn invalidate(&self, index: u32, attempt: u32, reason: &str) -> Result<(), BundleError> {
        let sql = "UPDATE point SET state = 'invalid', outcome = 'invalid', reason = ?3 WHERE point_index = ?1 AND attempt = ?2";
        self.act("write to", |db| db.execute(sql, params![index, attempt, reason]).map(|_| ()))
    }

    /// Both ends of every counter as pairs of little-endian i64, in the order of the names table, which only grows.
    fn encode_counters(
        &mut self,
        before: &BTreeMap<String, i64>,
        after: &BTreeMap<String, i64>,
    ) -> Result<Vec<u8>, BundleError> {
        let mut names = self.counter_names()?;
        for name in before.keys().filter(|name| after.contains_key(*name)) {
            if !names.contains(name) {
                let sql = "INSERT INTO counter_name (position, name) VALUES (?1, ?2)";
                self.act("write to", |db| db.execute(sql, params![names.len() as i64, name]))?;
                names.push(name.clone());
            }
        }
        let mut blob = Vec::with_capacity(names.len() * 17);
        for name in &names {
            // A leading byte tells a counter this run did not have from one that was zero.
            match (before.get(name), after.get(name)) {
                (Some(before), Some(after)) => {
                    blob.push(1);
                    blob.extend_from_slice(&before.to_le_bytes());
                    blob.extend_from_slice(&after.to_le_bytes());
                }
                _ => blob.push(0),
            }
        }
        Ok(blob)
    }

    fn counter_names(&self) -> Result<Vec<String>, BundleError> {
        self.act("read", |db| {
            let mut statement = db.prepare("SELECT name FROM counter_name ORDER BY position")?;
            statement.query_map([], |row| row.get(0))?.collect()
        })
    }

    /// Every attempt at every point that has ended, in run order.
    ///
    /// # Errors
    /// When the database cannot be read or contradicts the order.
    pub fn points(&self) -> Result<Vec<Point>, BundleError> {
        let names = self.counter_names()?;
        let sql = "SELECT point_index, attempt, outcome, reason, started_at, measures, applied, counters, boot_id FROM point \
                   WHERE state IN ('done', 'failed', 'invalid') ORDER BY point_index, attempt";
        let rows: Vec<Row> = self.act("read", |db| {
            let mut statement = db.prepare(sql)?;
            let rows = statement.query_map([], |row| {
                Ok(Row {
                    index: row.get(0)?,
                    attempt: row.get(1)?,
                    outcome: row.get(2)?,
                    reason: row.get(3)?,
                    started_at: row.get(4)?,
                    measures: row.get(5)?,
                    applied: row.get(6)?,
                    counters: row.get(7)?,
                    boot_id: row.get(8)?,
                })
            })?;
            rows.collect()
        })?;
        let points: Vec<Point> = rows.into_iter().map(|row| self.point(row, &names)).collect::<Result<_, _>>()?;
        let counted = |point: &&Point| point.outcome != Outcome::Invalid;
        let mut last = None;
        for point in points.iter().filter(counted) {
            if last == Some(point.planned.index) {
                let what = format!("point {} has two attempts that count", point.planned.index);
                return Err(BundleError::Damaged { path: self.path.clone(), what });
            }
            last = Some(point.planned.index);
        }
        Ok(points)
    }

    /// The name that reports give to the bundle: the one it was made with.
    #[must_use]
    pub fn name(&self) -> String {
        self.frozen.bundle.clone().or_else(|| name_of(&self.path)).unwrap_or_default()
    }

    /// Points that were under way when Pagewise ended: index, attempt, and whether the job had started. Those that wait for
    /// a boot are not among them.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn cut_off(&self) -> Result<Vec<(u32, u32, bool)>, BundleError> {
        self.act("read", |db| {
            let sql = "SELECT point_index, attempt, state = 'running' FROM point \
                       WHERE state IN ('booted', 'running') OR (state = 'armed' AND reason IS NULL)";
            let mut statement = db.prepare(sql)?;
            statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?.collect()
        })
    }

    /// Every attempt at every point with its state, in run order, whatever has become of it.
    ///
    /// # Errors
    /// When the database cannot be read or holds a state that is none.
    pub fn states(&self) -> Result<Vec<PointState>, BundleError> {
        type Attempt = (u32, u32, String, Option<String>, String);
        let rows: Vec<Attempt> = self.act("read", |db| {
            let sql = "SELECT point_index, attempt, state, reason, started_at FROM point ORDER BY point_index, attempt";
            let mut statement = db.prepare(sql)?;
            let rows =
                statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?)))?;
            rows.collect()
        })?;
        let damaged = |what: String| BundleError::Damaged { path: self.path.clone(), what };
        let read = |(index, attempt, state, reason, started_at): Attempt| {
            let state = State::ALL
                .into_iter()
                .find(|known| known.word() == state)
                .ok_or_else(|| damaged(format!("point {index} has the state '{state}'")))?;
            Ok(PointState { index, attempt, state, reason, started_at: Some(started_at).filter(|at| !at.is_empty()) })
        };
        rows.into_iter().map(read).collect()
    }

    /// Writes down that a live proof is over although its plan is not, once.
    ///
    /// # Errors
    /// When that cannot be made durable.
    pub fn keep_ended(&self, ended: &Ended) -> Result<(), BundleError> {
        let text = serde_json::to_string(ended)
            .map_err(|error| BundleError::Damaged { path: self.path.clone(), what: error.to_string() })?;
        let sql = "INSERT OR IGNORE INTO meta (key, value) VALUES ('ended', ?1)";
        self.act("write to", |db| db.execute(sql, [&text]).map(|_| ()))
    }

    /// Why a live proof is over although its plan is not.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn ended(&self) -> Result<Option<Ended>, BundleError> {
        self.meta("ended")
    }

    fn meta<T: serde::de::DeserializeOwned>(&self, key: &str) -> Result<Option<T>, BundleError> {
        let text: Option<String> = self.act("read", |db| {
            db.query_row("SELECT value FROM meta WHERE key = ?1", [key], |row| row.get(0)).optional()
        })?;
        let damaged =
            |error: serde_json::Error| BundleError::Damaged { path: self.path.clone(), what: error.to_string() };
        text.map(|text| serde_json::from_str(&text).map_err(damaged)).transpose()
    }

    /// Writes down how a trial stands that boots its host by itself.
    ///
    /// # Errors
    /// When that cannot be made durable.
    pub fn keep_boots(&self, boots: &Boots) -> Result<(), BundleError> {
        let text = serde_json::to_string(boots)
            .map_err(|error| BundleError::Damaged { path: self.path.clone(), what: error.to_string() })?;
        let sql =
            "INSERT INTO meta (key, value) VALUES ('boots', ?1) ON CONFLICT (key) DO UPDATE SET value = excluded.value";
        self.act("write to", |db| db.execute(sql, [&text]).map(|_| ()))
    }

    /// How a trial stands that boots its host by itself; `None` of one that never asked for a boot.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn boots(&self) -> Result<Option<Boots>, BundleError> {
        self.meta("boots")
    }

    /// Writes down what was decided at an analysis, once: one is never made again.
    ///
    /// # Errors
    /// When that cannot be made durable.
    pub fn keep_interim_analysis(&self, analysis: &InterimAnalysis, now: &str) -> Result<(), BundleError> {
        let text = serde_json::to_string(analysis)
            .map_err(|error| BundleError::Damaged { path: self.path.clone(), what: error.to_string() })?;
        self.act("write to", |db| {
            let table = table_of_analyses(db)?.unwrap_or_else(|| "interim_analysis".to_owned());
            let sql = format!("INSERT OR IGNORE INTO {table} (blocks, at, decision) VALUES (?1, ?2, ?3)");
            db.execute(&sql, params![analysis.blocks, now, text]).map(|_| ())
        })
    }

    /// The analyses made so far, in order.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn interim_analyses(&self) -> Result<Vec<InterimAnalysis>, BundleError> {
        let texts: Vec<String> = self.act("read", |db| {
            let Some(table) = table_of_analyses(db)? else { return Ok(Vec::new()) };
            let mut statement = db.prepare(&format!("SELECT decision FROM {table} ORDER BY blocks"))?;
            statement.query_map([], |row| row.get(0))?.collect()
        })?;
        let damaged =
            |error: serde_json::Error| BundleError::Damaged { path: self.path.clone(), what: error.to_string() };
        texts.iter().map(|text| serde_json::from_str(text).map_err(damaged)).collect()
    }

    fn point(&self, row: Row, names: &[String]) -> Result<Point, BundleError> {
        let damaged = |what: String| BundleError::Damaged { path: self.path.clone(), what };
        let planned = self.frozen.order.points.get(row.index as usize).cloned();
        let planned = planned.ok_or_else(|| damaged(format!("point {} is not in the order", row.index)))?;
        let outcome = Outcome::ALL.into_iter().find(|outcome| Some(outcome.word()) == row.outcome.as_deref());
        let outcome = outcome.ok_or_else(|| damaged(format!("point {} has outcome {:?}", row.index, row.outcome)))?;
        let measures: StoredMeasures = match &row.measures {
            Some(text) => serde_json::from_str(text).map_err(|error| damaged(error.to_string()))?,
            None => StoredMeasures::default(),
        };
        let applied: Vec<AppliedSetting> = match &row.applied {
            Some(text) => serde_json::from_str(text).map_err(|error| damaged(error.to_string()))?,
            None => Vec::new(),
        };
        let counters = decode_growth(row.counters.as_deref().unwrap_or_default(), names)
            .ok_or_else(|| damaged(format!("the counters of point {} are cut short", row.index)))?;
        Ok(Point {
            planned,
            attempt: row.attempt,
            outcome,
            reason: row.reason,
            started_at: row.started_at,
            measures: measures.values,
            absent: measures.absent,
            custom_units: measures.custom_units,
            counters,
            applied,
            boot_id: row.boot_id,
            warnings: measures.warnings,
        })
    }

    /// A folder inside the bundle, made if it is not there.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn make_folder(&self, name: &str) -> Result<PathBuf, BundleError> {
        let path = self.path.join(name);
        fs::create_dir_all(&path).map_err(|source| BundleError::File {
            action: "create",
            path: path.clone(),
            source,
        })?;
        Ok(path)
    }

    /// Writes a report beside the points, whole or not at all.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write_report(&self, name: &str, bytes: &[u8]) -> Result<PathBuf, BundleError> {
        let path = self.path.join(name);
        let temporary = self.path.join(format!(".{name}.new"));
        write_synced(&temporary, bytes)?;
        fs::rename(&temporary, &path).map_err(|source| BundleError::File {
            action: "write",
            path: path.clone(),
            source,
        })?;
        Ok(path)
    }
}

/// What has become of an attempt at a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It will run.
    Planned,
    /// It is being made ready, or waits for a boot.
    Armed,
    /// The boot it needs is there.
    Booted,
    /// Its job runs.
    Running,
    /// It gave a result.
    Done,
    /// It gave a result that counts against its cell: `oom`, `failed`, `timeout` or `wrong`.
    Failed,
    /// It is no result; it is kept, and run again as the next attempt.
    Invalid,
}

impl State {
    /// Every state, in the order a point passes through them.
    pub const ALL: [State; 7] =
        [State::Planned, State::Armed, State::Booted, State::Running, State::Done, State::Failed, State::Invalid];

    /// The word in the database and in reports.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            State::Planned => "planned",
            State::Armed => "armed",
            State::Booted => "booted",
            State::Running => "running",
            State::Done => "done",
            State::Failed => "failed",
            State::Invalid => "invalid",
        }
    }

    fn after(outcome: Outcome) -> State {
        match outcome {
            Outcome::Ok => State::Done,
            Outcome::Invalid => State::Invalid,
            Outcome::Oom | Outcome::Failed | Outcome::Timeout | Outcome::Wrong => State::Failed,
        }
    }
}

/// An attempt at a point and what has become of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PointState {
    /// Place in the order.
    pub index: u32,
    /// From 1.
    pub attempt: u32,
    /// What has become of it.
    pub state: State,
    /// Why, where there is something to say.
    pub reason: Option<String>,
    /// When making it ready began, RFC 3339 UTC. `None` before that.
    pub started_at: Option<String>,
}

struct Row {
    index: u32,
    attempt: u32,
    outcome: Option<String>,
    reason: Option<String>,
    started_at: String,
    measures: Option<String>,
    applied: Option<String>,
    counters: Option<Vec<u8>>,
    boot_id: String,
}

/// [`Record::growth`] from what the database holds.
fn decode_growth(blob: &[u8], names: &[String]) -> Option<BTreeMap<String, i64>> {
    let mut growth = BTreeMap::new();
    let mut rest = blob;
    for name in names {
        let Some((present, tail)) = rest.split_first() else { break };
        rest = tail;
        if *present == 0 {
            continue;
        }
        let (before, tail) = rest.split_first_chunk::<8>()?;
        let (after, tail) = tail.split_first_chunk::<8>()?;
        rest = tail;
        if !vmstat_is_level(name) {
            growth.insert(name.clone(), i64::from_le_bytes(*after).wrapping_sub(i64::from_le_bytes(*before)));
        }
    }
    rest.is_empty().then_some(growth)
}

/// The folder beside its place that a bundle is made in and moved to its place from, whole: half a bundle would stand in the way of the
/// next trial and could not be resumed. What a kill left of one is removed; the lock of the host keeps two makers apart.
fn create_unfinished(path: &Path) -> Result<PathBuf, BundleError> {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let unfinished = path.with_file_name(format!(".{name}.unfinished"));
    let _ = fs::remove_dir_all(&unfinished);
    // Told as what it is for: nobody asked for a folder of that name.
    let failed = |source| BundleError::File { action: "create", path: path.to_owned(), source };
    fs::create_dir(&unfinished).map_err(failed)?;
    Ok(unfinished)
}

fn move_whole(from: &Path, to: &Path) -> Result<(), BundleError> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    let moved = match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // Some file systems have no such rename; an empty folder is the only thing the plain one could replace.
        Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => fs::rename(from, to),
        other => other.map_err(io::Error::from),
    };
    moved.map_err(|source| match source.kind() {
        io::ErrorKind::AlreadyExists | io::ErrorKind::DirectoryNotEmpty => BundleError::Exists(to.to_owned()),
        _ => BundleError::File { action: "create", path: to.to_owned(), source },
    })?;
    sync_folder(to)
}

fn write_synced(path: &Path, bytes: &[u8]) -> Result<(), BundleError> {
    use io::Write;
    let write = || -> io::Result<()> {
        let mut file = fs::File::create(path)?;
        file.write_all(bytes)?;
        file.sync_all()
    };
    write().map_err(|source| BundleError::File { action: "write", path: path.to_owned(), source })
}

fn sync_folder(path: &Path) -> Result<(), BundleError> {
    let sync = |folder: &Path| fs::File::open(folder).and_then(|folder| folder.sync_all());
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    sync(path).and_then(|()| sync(parent)).map_err(|source| BundleError::File {
        action: "write",
        path: path.to_owned(),
        source,
    })
}

/// A trial that was killed while it started a process leaves its lock with that one until it has become its command or found that it
/// was orphaned. On a busy host that takes a while.
const KILLED_HOLDS: Duration = Duration::from_secs(2);

fn lock(path: &Path) -> Result<Locked, BundleError> {
    let failed = |action| move |source| BundleError::File { action, path: path.to_owned(), source };
    let file = fs::File::open(path).map_err(failed("read"))?;
    Locked::within(&file, KILLED_HOLDS).map_err(failed("lock"))?.ok_or_else(|| BundleError::Busy(path.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use indexmap::IndexMap;
    use pagewise_core::experiment::order::draw;
    use pagewise_core::experiment::plan::{Contrast, Design, Factor, Workload};

    fn plan() -> Plan {
        Plan {
            factors: vec![Factor {
                name: "policy".to_owned(),
                also: Vec::new(),
                levels: IndexMap::from([("a".to_owned(), "now".to_owned()), ("b".to_owned(), "env.X=1".to_owned())]),
            }],
            design: Design { blocks: 4, seed: 9, ..Design::default() },
            contrasts: vec![Contrast {
                factor: "policy".into(),
                a: "a".into(),
                b: "b".into(),
                primary: true,
                ..Contrast::default()
            }],
            ..Plan::new("sleepy", Workload::command(vec!["sleep".to_owned(), "0.1".to_owned()]))
        }
    }

    fn frozen(plan: &Plan) -> Frozen {
        Frozen {
            pagewise: "0".to_owned(),
            created: "2026-01-01T00:00:00Z".to_owned(),
            order: draw(plan).unwrap(),
            repeat: Vec::new(),
            notes: Vec::new(),
            data: None,
            bundle: None,
            data_folder: None,
        }
    }

    fn record(planned: PlannedPoint, attempt: u32, outcome: Outcome) -> Record {
        let point = Point {
            planned,
            attempt,
            outcome,
            reason: (outcome != Outcome::Ok).then(|| "because".to_owned()),
            started_at: "2026-01-01T00:00:01Z".to_owned(),
            measures: BTreeMap::from([("wall".to_owned(), 1.25)]),
            absent: BTreeMap::from([("cgroup_peak".to_owned(), "none".to_owned())]),
            custom_units: BTreeMap::new(),
            counters: BTreeMap::from([("pgfault".to_owned(), 7)]),
            applied: Vec::new(),
            boot_id: "boot".to_owned(),
            warnings: Vec::new(),
        };
        Record {
            point,
            vmstat_before: BTreeMap::from([("pgfault".to_owned(), 3), ("nr_free_pages".to_owned(), 5)]),
            vmstat_after: BTreeMap::from([("pgfault".to_owned(), 10), ("nr_free_pages".to_owned(), 1)]),
        }
    }

    #[test]
    fn a_pipe_in_the_place_of_a_file_is_refused_and_not_waited_for() {
        use rustix::fs::{CWD, Mode, mkfifoat};
        for name in ["plan.toml", "points.sqlite", "points.sqlite-journal"] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("x.trial");
            fs::create_dir(&path).unwrap();
            for file in ["plan.toml", "points.sqlite"] {
                fs::write(path.join(file), "").unwrap();
            }
            let _ = fs::remove_file(path.join(name));
            mkfifoat(CWD, path.join(name), Mode::RUSR | Mode::WUSR).unwrap();
            let refused = Bundle::open(&path).expect_err("it is refused");
            let says = format!("{name} is no regular file");
            assert!(matches!(&refused, BundleError::Damaged { what, .. } if *what == says), "{refused}");
        }
    }

    #[test]
    fn what_a_kill_left_of_a_bundle_stands_in_nobodys_way() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("b.trial");
        let left = create_unfinished(&path).unwrap();
        assert!(Bundle::check_absent(&path).is_ok(), "where it is made is not where it is looked for");
        fs::write(left.join("plan.toml"), "half").unwrap();
        Bundle::check_room(&path).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left by looking");
        let plan = plan();
        drop(create_unfinished(&path).unwrap());
        drop(Bundle::create(&path, &plan, frozen(&plan)).unwrap());
        assert!(matches!(Bundle::check_room(&path), Err(BundleError::Exists(_))));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "the bundle alone");
    }

    #[test]
    fn a_journal_that_lost_its_end_anywhere_is_not_run_on() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("b.trial");
        let mut plan = plan();
        plan.design.blocks = 400;
        Bundle::create(&path, &plan, frozen(&plan)).unwrap();
        let database = path.join("points.sqlite");
        let whole = fs::read(&database).unwrap();
        assert!(whole.len() > 10 * 4096, "{}", whole.len());
        for kept in (1..whole.len() / 512).map(|sector| sector * 512) {
            fs::write(&database, &whole[..kept]).unwrap();
            assert!(Bundle::open_to_resume(&path).is_err(), "{kept} of {} bytes are there", whole.len());
            assert_eq!(fs::read(&database).unwrap().len(), kept, "nothing is thrown away");
        }
        fs::write(&database, &whole).unwrap();
        Bundle::open_to_resume(&path).unwrap();
    }

    #[test]
    fn what_was_written_is_read_again_and_levels_have_no_growth() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.trial");
        let plan = plan();
        let mut bundle = Bundle::create(&path, &plan, frozen(&plan)).unwrap();
        let planned = bundle.frozen().order.points[0].clone();
        let written = record(planned.clone(), 1, Outcome::Ok);
        bundle.begin(&planned, 1, &written.point.started_at, "boot").unwrap();
        assert_eq!(bundle.cut_off().unwrap(), vec![(0, 1, false)]);
        bundle.finish(&written).unwrap();
        drop(bundle);
        let bundle = Bundle::open(&path).unwrap();
        assert_eq!(bundle.plan(), &plan);
        assert_eq!(bundle.points().unwrap(), vec![written.point]);
        assert!(bundle.cut_off().unwrap().is_empty());
    }

    #[test]
    fn what_was_told_of_a_run_is_kept_with_it() {
        let folder = tempfile::tempdir().unwrap();
        let plan = plan();
        let mut bundle = Bundle::create(&folder.path().join("t.trial"), &plan, frozen(&plan)).unwrap();
        let mut record = record(bundle.frozen().order.points[0].clone(), 1, Outcome::Ok);
        record.point.warnings =
            vec![Warning { id: "recording-ended".into(), text: "Its recording ended early.".into() }];
        bundle.finish(&record).unwrap();
        assert_eq!(bundle.points().unwrap()[0].warnings, record.point.warnings);
    }

    #[test]
    fn each_boot_has_its_host_and_an_older_bundle_one_for_all() {
        let folder = tempfile::tempdir().unwrap();
        let (plan, path) = (plan(), folder.path().join("t.trial"));
        let bundle = Bundle::create(&path, &plan, frozen(&plan)).unwrap();
        let host = |kernel: &str| HostFacts { kernel: Some(kernel.to_owned()), ..HostFacts::default() };
        bundle.keep_host("one", &host("6.1")).unwrap();
        bundle.keep_host("two", &host("6.12")).unwrap();
        bundle.keep_host("one", &host("5.10")).unwrap();
        assert_eq!(bundle.hosts().unwrap(), [host("6.1"), host("6.12")]);
        let planned = bundle.frozen().order.points[0].clone();
        bundle.begin(&planned, 1, "2026-01-01T00:00:01Z", "two").unwrap();
        assert_eq!(bundle.hosts().unwrap(), [host("6.12")], "a boot in which nothing ran is none of the trial's");
        // As bundles were made before boots had hosts of their own.
        let mut old = serde_json::to_value(bundle.frozen()).unwrap();
        old["facts"] = serde_json::to_value(host("4.4")).unwrap();
        bundle.act("change", |db| db.execute_batch("DROP TABLE boot")).unwrap();
        let change = "UPDATE meta SET value = ?1 WHERE key = 'frozen'";
        bundle.act("change", |db| db.execute(change, [old.to_string()])).unwrap();
        let schema = |name: &str| {
            bundle.act("change", |db| db.execute("UPDATE meta SET value = ?1 WHERE key = 'schema'", [name])).unwrap()
        };
        schema("pagewise.trial/3");
        let error = Bundle::open(&path).unwrap_err().to_string();
        assert!(error.contains("it is a 'pagewise.trial/3'"), "{error}");
        schema(FIRST_SCHEMA);
        drop(bundle);
        let bundle = Bundle::open_to_resume(&path).unwrap();
        bundle.keep_host("three", &host("6.18")).unwrap();
        assert_eq!(bundle.hosts().unwrap(), [host("4.4")]);
    }

    #[test]
    fn a_bundle_is_never_overwritten_and_its_plan_is_frozen() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.trial");
        let plan = plan();
        drop(Bundle::create(&path, &plan, frozen(&plan)).unwrap());
        assert!(matches!(Bundle::create(&path, &plan, frozen(&plan)), Err(BundleError::Exists(_))));
        let text = fs::read_to_string(path.join("plan.toml")).unwrap();
        fs::write(path.join("plan.toml"), text.replace("0.1", "0.2")).unwrap();
        assert!(matches!(Bundle::open(&path), Err(BundleError::Damaged { .. })));
        assert!(matches!(Bundle::open(folder.path()), Err(BundleError::NotABundle { .. })));
    }

    #[test]
    fn two_processes_cannot_run_one_bundle() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.trial");
        let plan = plan();
        let first = Bundle::create(&path, &plan, frozen(&plan)).unwrap();
        assert!(matches!(Bundle::open_to_resume(&path), Err(BundleError::Busy(_))));
        // As a child has it that was forked by a trial which was killed then.
        let inherited = fs::File::open(&path).unwrap();
        drop(first);
        rustix::fs::flock(&inherited, rustix::fs::FlockOperation::LockExclusive).unwrap();
        let becomes_its_command = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(200));
            drop(inherited);
        });
        Bundle::open_to_resume(&path).unwrap();
        becomes_its_command.join().unwrap();
    }

    #[test]
    fn a_counter_that_appears_later_does_not_shift_the_others() {
        let folder = tempfile::tempdir().unwrap();
        let plan = plan();
        let mut bundle = Bundle::create(&folder.path().join("x.trial"), &plan, frozen(&plan)).unwrap();
        let order = bundle.frozen().order.clone();
        for (index, names) in [["b", "c"], ["a", "c"]].iter().enumerate() {
            let mut written = record(order.points[index].clone(), 1, Outcome::Ok);
            written.vmstat_before = names.iter().map(|name| ((*name).to_owned(), 0)).collect();
            written.vmstat_after = names.iter().map(|name| ((*name).to_owned(), index as i64 + 1)).collect();
            bundle.begin(&order.points[index], 1, "t", "boot").unwrap();
            bundle.finish(&written).unwrap();
        }
        let points = bundle.points().unwrap();
        assert_eq!(points[0].counters, BTreeMap::from([("b".to_owned(), 1), ("c".to_owned(), 1)]));
        assert_eq!(points[1].counters, BTreeMap::from([("a".to_owned(), 2), ("c".to_owned(), 2)]));
    }
}

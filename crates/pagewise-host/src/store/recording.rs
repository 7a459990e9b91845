//! A recording as one file, `NAME.pgw`: an SQLite database that any language can open. `docs/reference/recording.md`
//! tells readers in other languages what is in it.
//!
//! While it grows, SQLite keeps two more files beside it (`-wal`, `-shm`); a clean end leaves one. A recording whose
//! writer was killed is read all the same, and says that it is not complete.

mod place;
mod processes;
mod reader;
mod snapshot;
pub mod stacks;
pub mod stalls;
mod writer;

pub use reader::Recording;
pub use snapshot::{CopiedState, RECORDER, SNAPSHOT, Snapshot, snapshot};
pub use stacks::StackRows;
pub use writer::{Batch, TickRow, Writer};

use pagewise_core::recording::CodecError;
use std::io;
use std::path::{Path, PathBuf};

/// `application_id` of the database: "PWRC".
pub const APPLICATION_ID: i32 = 0x5057_5243;

/// `user_version` of the database. Readers refuse a higher one; tables and columns they do not know, they leave alone.
pub const FORMAT: i32 = 1;

/// The source that every tick has: when it was taken. It is the first, and its columns are in this order.
pub const CLOCK: &str = "clock";

/// Its columns.
pub const CLOCK_COLUMNS: [&str; 3] = ["begin", "late", "wall_offset"];

/// How segments are packed: `pagewise_core::recording::segment`, then one zstd frame.
const CODEC: &str = "columnar-1+zstd";

/// A key of `meta`: `1` when the recording came to its planned end.
const COMPLETE: &str = "complete";

/// A key of `meta`: why it ended before its time.
const ENDED: &str = "ended";

/// Each table has room beside it: readers accept tables and columns they do not know.
const TABLES: &str = "
    CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
    CREATE TABLE source (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
    CREATE TABLE series (
        id         INTEGER PRIMARY KEY,
        source     TEXT NOT NULL,
        position   INTEGER NOT NULL,
        name       TEXT NOT NULL,
        labels     TEXT NOT NULL,
        unit       TEXT NOT NULL,
        kind       TEXT NOT NULL,
        first_seen INTEGER NOT NULL
    );
    CREATE TABLE tick (seq INTEGER PRIMARY KEY, ts INTEGER NOT NULL, wall_offset INTEGER NOT NULL, row BLOB NOT NULL);
    CREATE TABLE segment (
        id     INTEGER PRIMARY KEY,
        source TEXT NOT NULL,
        seq    INTEGER NOT NULL,
        t0     INTEGER NOT NULL,
        t1     INTEGER NOT NULL,
        n      INTEGER NOT NULL,
        codec  TEXT NOT NULL,
        blob   BLOB NOT NULL
    );
    CREATE TABLE setting (ts INTEGER NOT NULL, path TEXT NOT NULL, value TEXT, by TEXT NOT NULL);
    CREATE TABLE mark (ts INTEGER NOT NULL, source TEXT NOT NULL, text TEXT NOT NULL);
    CREATE TABLE gap (
        t0     INTEGER NOT NULL,
        t1     INTEGER,
        source TEXT,
        reason TEXT NOT NULL,
        ticks  INTEGER,
        detail TEXT NOT NULL
    );
";

/// A recording could not be made, continued or read.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// There is a file of that name, or of one that SQLite keeps beside it.
    #[error("{} exists already and is never overwritten; give another name with -o, or remove it", .0.display())]
    Exists(PathBuf),
    /// The file system refuses.
    #[error("cannot {action} {}: {source}", path.display())]
    File {
        /// `create` or `read`.
        action: &'static str,
        /// Which file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It is something else.
    #[error("{} is no recording: {why}", path.display())]
    NotARecording {
        /// The file.
        path: PathBuf,
        /// What it is, as far as that can be told.
        why: String,
    },
    /// A newer Pagewise made it.
    #[error("{} has format {found}, and this version reads up to {FORMAT}; read it with a newer pagewise", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: i32,
    },
    /// SQLite refuses.
    #[error("cannot {action} {}: {source}{}", path.display(), remedy(source))]
    Database {
        /// What was tried.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// Why.
        source: rusqlite::Error,
    },
    /// What is in it cannot be.
    #[error("{} is damaged: {what}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// Somebody deleted, moved or cut it while it grew.
    #[error("{} {what}", path.display())]
    Lost {
        /// The name it was made under.
        path: PathBuf,
        /// What happened, and where the data are.
        what: String,
    },
    /// The cap is too small for even one segment.
    #[error("{} has reached its size cap of {cap} bytes before its first segment could be closed; raise the cap", path.display())]
    CapTooSmall {
        /// The file.
        path: PathBuf,
        /// The cap.
        cap: u64,
    },
}

impl RecordingError {
    /// Whether the file that was named is at fault and not the machine: it is not there, it is there and must not be, or it is
    /// no whole recording of a format that this version knows. Nothing but another file, or a whole copy, helps.
    #[must_use]
    pub fn is_about_the_file(&self) -> bool {
        match self {
            RecordingError::Exists(_)
            | RecordingError::NotARecording { .. }
            | RecordingError::Newer { .. }
            | RecordingError::Damaged { .. } => true,
            RecordingError::File { action, source, .. } => {
                *action == "read" && matches!(source.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
            }
            RecordingError::Database { .. } | RecordingError::Lost { .. } | RecordingError::CapTooSmall { .. } => false,
        }
    }
}

fn remedy(error: &rusqlite::Error) -> &'static str {
    match error.sqlite_error_code() {
        Some(rusqlite::ErrorCode::DiskFull) => "; the disk is full: free some room, or record elsewhere",
        Some(rusqlite::ErrorCode::CannotOpen | rusqlite::ErrorCode::ReadOnly) => {
            "; a recording that is still written, or whose writer was killed, needs a folder that can be written to: \
             copy it there together with its -wal file"
        }
        _ if is_damage(error) => "; the file was cut or overwritten",
        _ if cannot_share(error) => {
            "; its file system cannot map a file into memory for several processes, as some network file systems: record to \
             a disk of this host"
        }
        _ => "",
    }
}

/// Whether SQLite found no shared memory for the index of a write-ahead log.
fn cannot_share(error: &rusqlite::Error) -> bool {
    use rusqlite::ffi::{SQLITE_IOERR_SHMMAP, SQLITE_IOERR_SHMOPEN, SQLITE_IOERR_SHMSIZE};
    let code = error.sqlite_error().map(|error| error.extended_code);
    code.is_some_and(|code| [SQLITE_IOERR_SHMMAP, SQLITE_IOERR_SHMOPEN, SQLITE_IOERR_SHMSIZE].contains(&code))
}

/// Whether SQLite complains of what stands in the file: pages that are cut off or overwritten, or tables without the columns
/// that every recording has.
fn is_damage(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase};
    matches!(error.sqlite_error_code(), Some(DatabaseCorrupt | NotADatabase))
        || matches!(
            error,
            rusqlite::Error::SqlInputError { .. }
                | rusqlite::Error::Utf8Error(..)
                | rusqlite::Error::FromSqlConversionFailure(..)
        )
}

fn damaged(path: &Path, what: &str, error: CodecError) -> RecordingError {
    RecordingError::Damaged { path: path.to_owned(), what: format!("{what}: {error}") }
}

/// The files SQLite keeps beside a database.
fn companions(path: &Path) -> [PathBuf; 3] {
    ["-wal", "-shm", "-journal"].map(|suffix| {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        PathBuf::from(name)
    })
}

#[cfg(test)]
mod tests;

//! A copy of a recording as it is at one instant, closed like one that came to its end, also while the recording grows.
//!
//! SQLite's backup reads all pages within one transaction. In WAL mode that holds up no writer: what it writes meanwhile
//! stands in the `-wal` file behind what the copy reads. The copy is closed under another name and then renamed, so the name
//! that was asked for is a whole recording or not there.

use super::reader::{Recording, unreadable};
use super::writer::Writer;
use super::{COMPLETE, ENDED, RecordingError, companions, is_damage};
use crate::root::Root;
use crate::source::{boot_id, process};
use pagewise_core::recording::{Recorded, WallClock};
use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, OpenFlags};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// A key of `meta`: the instant a snapshot was taken at, RFC 3339 UTC. Recordings that are none do not have it.
pub const SNAPSHOT: &str = "snapshot";

/// A key of `meta`: number and start of the process that records, in clock ticks since boot. It tells a recording that still
/// grows from one whose recorder was killed.
pub const RECORDER: &str = "recorder";

/// What a recording was when it was copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopiedState {
    /// Its recorder runs: the copy is complete up to its instant.
    Running,
    /// It had come to its end.
    Complete,
    /// It had ended before its time, or its recorder was killed: so did the copy.
    Ended,
}

/// A copy that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// What the recording was.
    pub was: CopiedState,
    /// When it was taken, RFC 3339 UTC.
    pub taken: String,
    /// Ticks in it.
    pub samples: u64,
    /// When the last of them was, RFC 3339 UTC: a few seconds before the copy was taken, or, of a recording that has ended,
    /// long before. `None`: there is none, or nobody knows the date.
    pub until: Option<String>,
    /// Size of the file.
    pub bytes: u64,
}

/// Copies a recording to a file that is not there yet. The recording itself, and whoever writes it, notice nothing.
///
/// # Errors
/// When the recording cannot be read or is none, there is a file of the new name, or it cannot be written. Nothing is left
/// of a copy that failed.
pub fn snapshot(from: &Path, to: &Path) -> Result<Snapshot, RecordingError> {
    let taken_names = std::iter::once(to.to_owned()).chain(companions(to));
    if let Some(there) = taken_names.into_iter().find(|path| path.symlink_metadata().is_ok()) {
        return Err(RecordingError::Exists(there));
    }
    let recording = Recording::open(from)?;
    let taken = format!("{:.3}", jiff::Timestamp::now());
    let (samples, sources) = (recording.ticks()?, recording.sources().to_vec());
    let until = recording.last_tick()?.filter(|_| recording.wall_clock() == WallClock::Date).and_then(wall);
    let partial = Partial::create(to)?;
    let failed = |source| RecordingError::Database { action: "write", path: to.to_owned(), source };
    copy(&recording, &partial.path).map_err(|source| named(failed(source), from, to))?;
    // Asked last: a recorder that runs now ran when the copy was begun.
    let was = was(&recording, from);
    let has_reason = recording.about(ENDED).is_some();
    // The writer's next checkpoint need not step around us any longer.
    drop(recording);
    let mut meta = vec![(SNAPSHOT, taken.as_str())];
    match was {
        CopiedState::Running => meta.push((COMPLETE, "1")),
        CopiedState::Ended if !has_reason => meta.push((ENDED, "its recorder was killed")),
        CopiedState::Ended | CopiedState::Complete => {}
    }
    let closed = Writer::resume(&partial.path, sources).and_then(|writer| writer.close(&meta));
    let bytes = closed.map_err(|error| named(error, from, to))?;
    partial.publish(to)?;
    Ok(Snapshot { was, taken, samples, until, bytes })
}

fn wall((since_boot, offset): (u64, i64)) -> Option<String> {
    let nanoseconds = i128::from(since_boot) + i128::from(offset);
    jiff::Timestamp::from_nanosecond(nanoseconds).ok().map(|instant| format!("{instant:.3}"))
}

fn was(recording: &Recording, from: &Path) -> CopiedState {
    if recording.is_complete() {
        return CopiedState::Complete;
    }
    if recording.about(ENDED).is_some() {
        return CopiedState::Ended;
    }
    // One that came to its end between our look at the file and our look at its recorder was running, too.
    let has_ended_since =
        || Recording::open(from).is_ok_and(|later| later.is_complete() || later.about(ENDED).is_some());
    if is_recorder_there(recording, &Root::live()) || has_ended_since() {
        CopiedState::Running
    } else {
        CopiedState::Ended
    }
}

/// Whether the process that makes the recording runs, as far as that can be seen from here: one in a container that hides
/// its numbers counts as gone.
pub(super) fn is_recorder_there(recording: &Recording, root: &Root) -> bool {
    let recorder = recording.about(RECORDER).and_then(|text| text.split_once(' '));
    let Some((pid, started)) = recorder else { return false };
    let (Ok(pid), Ok(started)) = (pid.parse::<u32>(), started.parse::<u64>()) else { return false };
    let is_this_boot = boot_id(root).is_ok_and(|boot| recording.about("boot_id") == Some(boot.as_str()));
    is_this_boot && process::start_time(root, pid) == Some(started) && !is_dying(root, pid)
}

/// Whether the kernel is ending it already. Until that is done, which takes long where there is much memory to give back,
/// it has a number and a state like one that runs.
fn is_dying(root: &Root, pid: u32) -> bool {
    /// `PF_EXITING` (`include/linux/sched.h`), in field 9 of `/proc/PID/stat`.
    const EXITING: u64 = 0x4;
    /// SIGKILL among the signals that wait, for the process or for its first thread.
    const KILL: u64 = 1 << 8;
    let read = |file: &str| root.read(&format!("/proc/{pid}/{file}")).ok();
    let (Some(stat), Some(status)) = (read("stat"), read("status")) else { return true };
    let after_name = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    let flags = after_name.split_whitespace().nth(6).and_then(|flags| flags.parse::<u64>().ok()).unwrap_or(0);
    let waits = |name: &str| {
        let mask = status.lines().find_map(|line| line.strip_prefix(name));
        mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & KILL != 0)
    };
    flags & EXITING != 0 || waits("SigPnd:") || waits("ShdPnd:")
}

/// All pages in one step: a backup of several begins anew whenever the writer has written in between.
fn copy(recording: &Recording, to: &Path) -> rusqlite::Result<()> {
    let mut copy =
        Connection::open_with_flags(to, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    copy.pragma_update(None, "trusted_schema", false)?;
    // Nobody needs half a copy: it is removed, and flushed only when it is whole.
    copy.query_row("PRAGMA journal_mode = OFF", [], |_| Ok(()))?;
    copy.pragma_update(None, "synchronous", "OFF")?;
    let backup = Backup::new(recording.database(), &mut copy)?;
    match backup.step(-1)? {
        StepResult::Done => Ok(()),
        _ => Err(rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_BUSY), None)),
    }
}

/// The error with the names that the caller gave.
fn named(error: RecordingError, from: &Path, to: &Path) -> RecordingError {
    match error {
        // The copy is as damaged as what it is a copy of.
        RecordingError::Database { source, .. } if is_damage(&source) => unreadable(from, source),
        RecordingError::Database { source, .. } => {
            RecordingError::Database { action: "write", path: to.to_owned(), source }
        }
        RecordingError::File { action, source, .. } => RecordingError::File { action, path: to.to_owned(), source },
        RecordingError::Damaged { what, .. } => RecordingError::Damaged { path: from.to_owned(), what },
        other => other,
    }
}

/// A file beside its place. Dropped without [`Partial::publish`], it goes away.
struct Partial {
    path: PathBuf,
}

impl Partial {
    fn create(to: &Path) -> Result<Partial, RecordingError> {
        let mut name = to.as_os_str().to_owned();
        name.push(format!(".partial-{}", std::process::id()));
        let path = PathBuf::from(name);
        File::create_new(&path).map_err(|source| match source.kind() {
            io::ErrorKind::AlreadyExists => RecordingError::Exists(path.clone()),
            _ => RecordingError::File { action: "create", path: to.to_owned(), source },
        })?;
        Ok(Partial { path })
    }

    /// Gives it its name, unless somebody has taken that meanwhile. What has the name is on disk.
    fn publish(self, to: &Path) -> Result<(), RecordingError> {
        let failed = |source: io::Error| match source.kind() {
            io::ErrorKind::AlreadyExists => RecordingError::Exists(to.to_owned()),
            _ => RecordingError::File { action: "create", path: to.to_owned(), source },
        };
        File::open(&self.path).and_then(|file| file.sync_all()).map_err(failed)?;
        match renameat_with(CWD, &self.path, CWD, to, RenameFlags::NOREPLACE) {
            Ok(()) => Ok(()),
            // A file system that cannot do both in one step. What has two names now loses the other one on drop.
            Err(Errno::INVAL | Errno::NOSYS) => fs::hard_link(&self.path, to).map_err(failed),
            Err(error) => Err(failed(error.into())),
        }
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
        companions(&self.path).iter().for_each(|companion| drop(fs::remove_file(companion)));
    }
}

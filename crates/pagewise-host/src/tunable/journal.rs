//! The change journal on disk: a JSON-lines file per change set, `STATE/changes/<number>.jsonl`.
//!
//! Only the holder of the host lock writes. Readers need no lock: a line that is being added is torn for them.

use super::lock::{self, HostLock, LockError};
use crate::clock;
use crate::root::{FileError, Root};
use crate::source;
use pagewise_core::change::line::{Begin, Lease, Line, Owner};
use pagewise_core::change::note::{Note, Notes};
use pagewise_core::change::replay::{self, ChangeSet, Damage, HostNow, UndoDue};
use rustix::fs::FallocateFlags;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The change journal of a host.
#[derive(Debug)]
pub struct Journal {
    state: PathBuf,
    root: Root,
    boot_id: String,
    kernel: String,
}

/// A change set found in the journal.
#[derive(Debug)]
pub struct Entry {
    /// Its number.
    pub id: u64,
    /// Its file.
    pub path: PathBuf,
    /// What the file says; `None` when it ends before its first line does, so that nothing was written.
    pub set: Result<Option<ChangeSet>, JournalError>,
}

/// What is wrong with the journal.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// A file or folder of it cannot be used.
    #[error("cannot {action} {}: {source}", path.display())]
    File {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// A journal that cannot be trusted.
    #[error(
        "the change journal {} is damaged at {damage}. It lists the values before the change: put back by hand what is \
         still wanted, then move the file away", path.display()
    )]
    Damaged {
        /// Which file.
        path: PathBuf,
        /// Where and how.
        damage: Damage,
    },
    /// There is no such change set.
    #[error("there is no change {id} in {}; `pagewise changes --all` lists them", state.display())]
    Unknown {
        /// The number.
        id: u64,
        /// The state folder.
        state: PathBuf,
    },
    /// The kernel does not say which boot this is.
    #[error(transparent)]
    Kernel(#[from] FileError),
}

/// Closed change sets kept for `changes --all`. Older ones are removed.
const CLOSED_KEPT: usize = 100;

impl Journal {
    /// The journal in a state folder. Creates nothing.
    ///
    /// # Errors
    /// When the kernel does not say which boot this is: without that no value could ever be put back safely.
    pub fn open(state: &Path, root: &Root) -> Result<Journal, JournalError> {
        let state = std::path::absolute(state).map_err(|source| JournalError::File {
            action: "find",
            path: state.to_owned(),
            source,
        })?;
        let kernel = root.read("/proc/sys/kernel/osrelease")?.trim().to_owned();
        Ok(Journal { state, root: root.clone(), boot_id: source::boot_id(root)?, kernel })
    }

    /// Takes the right to change the host; `verb` is what others are told who find it taken.
    ///
    /// # Errors
    /// When another run has it, also one with another state folder; or a lock cannot be used.
    pub fn lock(&self, verb: &str) -> Result<HostLock, LockError> {
        let lock = self.lock_journal(verb)?;
        lock.cover(&self.root)?;
        Ok(lock)
    }

    /// Takes the right to write to this journal alone, for a run that leaves the settings of the host as they are. Should
    /// something have to be undone all the same, the right to change the host is taken then.
    ///
    /// # Errors
    /// When another run has it, or the state folder cannot be written.
    pub fn lock_journal(&self, verb: &str) -> Result<HostLock, LockError> {
        lock::acquire_soon(&self.state, verb)
    }

    /// The folder it is kept in.
    #[must_use]
    pub fn state(&self) -> &Path {
        &self.state
    }

    /// The tree whose tunables it keeps.
    #[must_use]
    pub fn root(&self) -> &Root {
        &self.root
    }

    /// Every change set, oldest first, also closed and damaged ones.
    ///
    /// # Errors
    /// When the folder cannot be listed. A folder that is not there is an empty journal.
    pub fn list(&self) -> Result<Vec<Entry>, JournalError> {
        let mut ids = self.ids()?;
        ids.sort_unstable();
        let read = |id| {
            let path = self.path(id);
            Entry { id, set: read(&path).map(|(set, _)| set), path }
        };
        Ok(ids.into_iter().map(read).collect())
    }

    /// The change sets that are not closed, oldest first.
    ///
    /// # Errors
    /// When the folder cannot be listed, or a file is damaged.
    pub fn open_sets(&self) -> Result<Vec<ChangeSet>, JournalError> {
        let mut open = Vec::new();
        for entry in self.list()? {
            open.extend(entry.set?.filter(|set| set.closed.is_none()));
        }
        Ok(open)
    }

    /// What is due about a change set. See [`UndoDue`] for who may act on it.
    #[must_use]
    pub fn due(&self, set: &ChangeSet) -> UndoDue {
        let owner_lives = owner_lives(set.begin.owner);
        set.due(&HostNow { boot_id: &self.boot_id, owner_lives, boottime_ms: boottime_ms() })
    }

    /// Whether a change set waits for the next verb that writes to undo it. Unlike [`Journal::due`] it may be asked
    /// without the lock: what a living process is busy with does not count.
    #[must_use]
    pub fn is_pending(&self, set: &ChangeSet) -> bool {
        self.due(set) != UndoDue::Nothing && !owner_lives(set.begin.owner)
    }

    /// A lease that ends this long from now unless it is confirmed.
    #[must_use]
    pub fn deadline(after: Duration) -> Lease {
        let after_ms = u64::try_from(after.as_millis()).unwrap_or(u64::MAX);
        let at = jiff::Timestamp::now()
            .checked_add(jiff::SignedDuration::from_millis(i64::try_from(after_ms).unwrap_or(i64::MAX)))
            .unwrap_or(jiff::Timestamp::MAX);
        Lease::Deadline { at: seconds_of(at), boottime_ms: boottime_ms().saturating_add(after_ms) }
    }

    /// Starts the file of a new change set: its first line, and room for those that follow.
    pub(super) fn create(
        &self,
        _lock: &HostLock,
        fill: impl FnOnce(Stamp) -> Begin,
    ) -> Result<(JournalFile, ChangeSet), JournalError> {
        let folder = self.folder();
        if !folder.exists() {
            fs::create_dir(&folder).map_err(file_error("create", &folder))?;
            sync_folder(&self.state)?;
        }
        let id = self.ids()?.into_iter().max().unwrap_or(0) + 1;
        let begin = fill(Stamp {
            id,
            created: seconds_of(jiff::Timestamp::now()),
            boot_id: self.boot_id.clone(),
            kernel: self.kernel.clone(),
            owner: own_identity(),
        });
        let notes = NotesFile::create(&self.path(id), &begin)?;
        let file = JournalFile::create(self.path(id), &begin, notes)?;
        sync_folder(&folder)?;
        let damage = |why| JournalError::Damaged { path: self.path(id), damage: Damage { line: 1, why } };
        Ok((file, ChangeSet::new(begin).map_err(damage)?))
    }

    /// Opens a change set for more lines.
    pub(super) fn reopen(&self, _lock: &HostLock, id: u64) -> Result<(JournalFile, Option<ChangeSet>), JournalError> {
        let path = self.path(id);
        if !path.exists() {
            return Err(JournalError::Unknown { id, state: self.state.clone() });
        }
        JournalFile::reopen(path)
    }

    /// Forgets the oldest closed change sets, and files in which nothing began.
    pub(super) fn prune(&self, _lock: &HostLock) -> Result<(), JournalError> {
        let entries = self.list()?;
        let newest = entries.last().map(|entry| entry.id);
        let is_over = |entry: &&Entry| match &entry.set {
            Ok(Some(set)) => set.closed.is_some(),
            // The newest stays even so: the next number is counted from it.
            Ok(None) => Some(entry.id) != newest,
            Err(_) => false,
        };
        let over: Vec<&Entry> = entries.iter().filter(is_over).collect();
        for entry in &over[..over.len().saturating_sub(CLOSED_KEPT)] {
            fs::remove_file(&entry.path).map_err(file_error("remove the old", &entry.path))?;
            let notes = notes_path(&entry.path);
            if notes.exists() {
                fs::remove_file(&notes).map_err(file_error("remove the old", &notes))?;
            }
        }
        Ok(())
    }

    fn ids(&self) -> Result<Vec<u64>, JournalError> {
        let folder = self.folder();
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(file_error("list", &folder)(error)),
        };
        let id = |entry: fs::DirEntry| entry.file_name().to_str()?.strip_suffix(".jsonl")?.parse().ok();
        Ok(entries.filter_map(Result::ok).filter_map(id).collect())
    }

    fn folder(&self) -> PathBuf {
        self.state.join("changes")
    }

    /// The file of a change set.
    #[must_use]
    pub fn path(&self, id: u64) -> PathBuf {
        self.folder().join(format!("{id:06}.jsonl"))
    }
}

/// What the journal itself knows of a new change set.
pub(super) struct Stamp {
    pub(super) id: u64,
    pub(super) created: String,
    pub(super) boot_id: String,
    pub(super) kernel: String,
    pub(super) owner: Owner,
}

/// Reads one file: the change set and how many bytes of it are whole.
fn read(path: &Path) -> Result<(Option<ChangeSet>, u64), JournalError> {
    let text = fs::read(path).map_err(file_error("read", path))?;
    let mut replayed =
        replay::replay(&text).map_err(|damage| JournalError::Damaged { path: path.to_owned(), damage })?;
    if let Some(set) = replayed.set.as_mut().filter(|set| set.has_notes()) {
        set.take_notes(fs::read(notes_path(path)).ok().as_deref());
    }
    Ok((replayed.set, replayed.whole_bytes as u64))
}

/// Beside the journal's file: how far what is written often has got.
fn notes_path(journal: &Path) -> PathBuf {
    journal.with_extension("notes")
}

/// The file of notes of a change set, made and filled before its journal begins: later a note only overwrites what is there, so it
/// needs neither room on the disk nor a flush.
#[derive(Debug)]
struct NotesFile {
    path: PathBuf,
    file: File,
    notes: Notes,
}

impl NotesFile {
    /// `None` where nothing of the change set is written often.
    fn create(journal: &Path, begin: &Begin) -> Result<Option<NotesFile>, JournalError> {
        if begin.writes.iter().all(|write| !write.often) {
            return Ok(None);
        }
        let (path, settings) = (notes_path(journal), begin.writes.len());
        // One that is there is of a change set that did not come to begin.
        let file = OpenOptions::new().write(true).create(true).truncate(true).open(&path);
        let file = file.map_err(file_error("create", &path))?;
        let filled = file.write_all_at(&vec![0; Notes::size(settings)], 0).and_then(|()| file.sync_all());
        filled.map_err(file_error("write to", &path))?;
        Ok(Some(NotesFile { path, file, notes: Notes::new(settings) }))
    }

    fn put(&mut self, note: &Note) -> Result<(), JournalError> {
        let failed = |error| file_error("write to", &self.path)(error);
        let (at, slot) = self.notes.next(note).map_err(|error| failed(io::Error::other(error)))?;
        self.file.write_all_at(&slot, at as u64).map_err(failed)
    }
}

/// The file of one change set, open for more lines.
#[derive(Debug)]
pub(super) struct JournalFile {
    path: PathBuf,
    file: File,
    length: u64,
    /// Only the process that made the change set writes notes.
    notes: Option<NotesFile>,
}

impl JournalFile {
    fn create(path: PathBuf, begin: &Begin, notes: Option<NotesFile>) -> Result<Self, JournalError> {
        let file = OpenOptions::new().append(true).create_new(true).open(&path).map_err(file_error("create", &path))?;
        let mut journal = JournalFile { path, file, length: 0, notes };
        let begun = journal.reserve(begin).and_then(|()| journal.append(&Line::Begin(Box::new(begin.clone())), true));
        if begun.is_err() {
            let _ = fs::remove_file(&journal.path);
        }
        begun.map(|()| journal)
    }

    /// Sets disk space aside for every line that can follow, so that a disk that fills up meanwhile stops a change
    /// before it begins and never half-way.
    fn reserve(&self, begin: &Begin) -> Result<(), JournalError> {
        let first = serde_json::to_vec(begin).map_or(0, |line| line.len() as u64);
        let room = 4 * first + 4096;
        match rustix::fs::fallocate(&self.file, FallocateFlags::KEEP_SIZE, 0, room) {
            // A file system without it works as before, with less of a promise.
            Ok(()) | Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS) => Ok(()),
            Err(error) => Err(file_error("reserve space for", &self.path)(error.into())),
        }
    }

    fn reopen(path: PathBuf) -> Result<(Self, Option<ChangeSet>), JournalError> {
        let (set, length) = read(&path)?;
        let file = OpenOptions::new().append(true).open(&path).map_err(file_error("open", &path))?;
        let torn = file.metadata().is_ok_and(|metadata| metadata.len() > length);
        if torn {
            file.set_len(length).map_err(file_error("cut the torn last line off", &path))?;
        }
        Ok((JournalFile { path, file, length, notes: None }, set))
    }

    /// Puts a note in its place. A killed process does not lose it, and a crash of the host may.
    pub(super) fn note(&mut self, note: &Note) -> Result<(), JournalError> {
        let none = || file_error("write a note beside", &self.path)(io::ErrorKind::Unsupported.into());
        match &mut self.notes {
            Some(notes) => notes.put(note),
            None => Err(none()),
        }
    }

    /// Adds a line. `to_disk` waits until it survives a crash of the host, too.
    pub(super) fn append(&mut self, line: &Line, to_disk: bool) -> Result<(), JournalError> {
        let mut bytes =
            serde_json::to_vec(line).map_err(|e| file_error("write to", &self.path)(io::Error::other(e)))?;
        bytes.push(b'\n');
        if let Err(error) = self.file.write_all(&bytes) {
            // Part of the line may be there; the next one must not be glued to it.
            let _ = self.file.set_len(self.length);
            return Err(file_error("write to", &self.path)(error));
        }
        self.length += bytes.len() as u64;
        if to_disk {
            self.file.sync_data().map_err(file_error("flush", &self.path))?;
        }
        Ok(())
    }
}

fn sync_folder(folder: &Path) -> Result<(), JournalError> {
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(file_error("flush the folder", folder))
}

fn file_error(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> JournalError + use<> {
    let path = path.to_owned();
    move |source| JournalError::File { action, path, source }
}

/// This process.
#[must_use]
pub fn own_identity() -> Owner {
    let pid = std::process::id();
    Owner { pid, start_time: source::process::start_time(&Root::live(), pid).unwrap_or(0) }
}

/// Whether a process still runs. One that ended but was not waited for does not.
#[must_use]
pub fn owner_lives(owner: Owner) -> bool {
    source::process::start_time(&Root::live(), owner.pid) == Some(owner.start_time)
}

/// Milliseconds of `CLOCK_BOOTTIME`.
fn boottime_ms() -> u64 {
    clock::boot() / 1_000_000
}

fn seconds_of(instant: jiff::Timestamp) -> String {
    instant.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

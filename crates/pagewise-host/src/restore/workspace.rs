//! The folder in which copies are made: who holds it, what lies where in it, and how it is cleaned.
//!
//! ```text
//! WORKSPACE/lock       held by the one process that restores here, by the kernel, so that a killed one holds nothing
//! WORKSPACE/masters/   what working copies are made from; made as NAME.partial and renamed when whole
//! WORKSPACE/work/      the copy of the current point, and everything that is ever mounted
//! ```
//!
//! Everything in `work` may go at any moment when nobody holds the lock, and so may every `.partial`.

use super::error::RestoreError;
use super::mounts::{self, InUse};
use super::tree;
use crate::free_space::free_space;
use crate::root::Root;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// How long another holder may take to go: a killed one needs a moment.
const LOCK_WITHIN: Duration = Duration::from_secs(2);

/// How long a job's last processes may take to let go of the data.
const BUSY_WITHIN: Duration = Duration::from_secs(5);

/// The same for what a killed run left: the host is to be clean within two seconds.
const LEFTOVER_WITHIN: Duration = Duration::from_millis(500);

/// What stays free on the disk beside the copies: logs and the journal must go on. Our own figure.
const SPARE: u64 = 64 << 20;

/// A folder that this process alone restores in.
#[derive(Debug)]
pub(super) struct Workspace {
    folder: PathBuf,
    _lock: File,
}

impl Workspace {
    /// Takes the folder, makes it where it is not there, and cleans it of what a killed run left.
    pub(super) fn open(folder: &Path) -> Result<Workspace, RestoreError> {
        fs::create_dir_all(folder).map_err(RestoreError::file("create", folder))?;
        let folder = fs::canonicalize(folder).map_err(RestoreError::file("look at", folder))?;
        if folder.to_str().is_none() {
            let shown = folder.display();
            return Err(RestoreError::Usage(format!("{shown} is not UTF-8; keep the copies in another folder")));
        }
        let lock = lock_of(&folder, true)?;
        let deadline = Instant::now() + LOCK_WITHIN;
        while let Err(why) = lock.try_lock() {
            match why {
                TryLockError::Error(source) => return Err(RestoreError::file("lock", &folder)(source)),
                TryLockError::WouldBlock if Instant::now() > deadline => {
                    return Err(RestoreError::InUse { workspace: folder });
                }
                TryLockError::WouldBlock => thread::sleep(Duration::from_millis(20)),
            }
        }
        let workspace = Workspace { folder, _lock: lock };
        let left = clean(&Root::live(), &workspace.folder);
        if let Some(kept) = left.kept.first() {
            return Err(RestoreError::Step(format!("what an earlier run left cannot be put away: {kept}")));
        }
        for folder in [workspace.masters(), workspace.work()] {
            fs::create_dir_all(&folder).map_err(RestoreError::file("create", &folder))?;
        }
        Ok(workspace)
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(super) fn masters(&self) -> PathBuf {
        self.folder.join("masters")
    }

    pub(super) fn work(&self) -> PathBuf {
        work_of(&self.folder)
    }

    /// A place in `work` that is not taken.
    pub(super) fn place(&self, name: &str) -> PathBuf {
        self.work().join(name)
    }

    /// An empty folder to mount on.
    pub(super) fn mount_point(&self) -> Result<PathBuf, RestoreError> {
        let point = self.place("mounted");
        fs::create_dir_all(&point).map_err(RestoreError::file("create", &point))?;
        Ok(point)
    }

    /// Unmounts whatever is mounted, and waits for the loop devices to go.
    pub(super) fn unmount(&self) -> Result<(), RestoreError> {
        let root = Root::live();
        mounts::unmount_below(&root, &self.work(), BUSY_WITHIN, InUse::Refuse)?;
        with_loops(&self.folder).iter().try_for_each(|folder| mounts::wait_for_loops(&root, folder, BUSY_WITHIN))
    }

    /// Throws the current point's copy away, all but the file `keep`.
    pub(super) fn discard(&self, keep: Option<&str>) -> Result<(), RestoreError> {
        self.unmount()?;
        remove_all(&self.work(), keep)
    }

    /// Throws away as much as can be, whoever uses it still.
    pub(super) fn abandon(&self) -> Leftovers {
        clean(&Root::live(), &self.folder)
    }

    /// Removes the masters of other data, sizes and methods: a workspace keeps one, or the disk would fill up unseen.
    pub(super) fn keep_masters(&self, prefix: Option<&str>) -> Result<(), RestoreError> {
        for path in entries(&self.masters())? {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if !prefix.is_some_and(|prefix| name.starts_with(prefix)) {
                tree::remove(&path)?;
            }
        }
        Ok(())
    }

    /// What others than root may still write on its disk.
    pub(super) fn free_bytes(&self) -> Result<u64, RestoreError> {
        free_space(&self.folder).map_err(RestoreError::file("look at the free space of", &self.folder))
    }

    /// Refuses to begin what the disk has no room for.
    pub(super) fn has_room(&self, bytes: u64, what: &'static str) -> Result<(), RestoreError> {
        let free = self.free_bytes()?;
        let needed = bytes.saturating_add(SPARE);
        if free >= needed {
            Ok(())
        } else {
            Err(RestoreError::NoRoom { what, folder: self.folder.clone(), needed, free })
        }
    }
}

fn work_of(workspace: &Path) -> PathBuf {
    workspace.join("work")
}

/// The only folders whose files are ever shown by a loop device of ours.
fn with_loops(workspace: &Path) -> [PathBuf; 2] {
    [work_of(workspace), workspace.join("masters")]
}

fn lock_of(workspace: &Path, create: bool) -> Result<File, RestoreError> {
    let path = workspace.join("lock");
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(create).mode(0o600).custom_flags(libc::O_NOFOLLOW);
    options.open(&path).map_err(RestoreError::file("open", &path))
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, RestoreError> {
    match fs::read_dir(folder) {
        Ok(entries) => Ok(entries.flatten().map(|entry| entry.path()).collect()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(RestoreError::file("list", folder)(error)),
    }
}

/// Everything in a work folder in which nothing is mounted: else what is mounted would be emptied, too.
fn remove_all(work: &Path, keep: Option<&str>) -> Result<(), RestoreError> {
    if let Some(point) = mounts::below(&Root::live(), work)?.pop() {
        return Err(RestoreError::Busy { path: point, by: String::new() });
    }
    let kept = keep.map(|name| work.join(name));
    entries(work)?.iter().filter(|path| Some(*path) != kept.as_ref()).try_for_each(|path| tree::remove(path))
}

/// What [`remove_leftovers`] did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Leftovers {
    /// A living process restores in this folder: nothing was touched.
    pub in_use: bool,
    /// What was put away, in words.
    pub removed: Vec<String>,
    /// What could not be, with the reason.
    pub kept: Vec<String>,
}

impl Leftovers {
    /// Whether nothing of a killed run is there any more.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        !self.in_use && self.kept.is_empty()
    }
}

/// Puts away what a killed run left in `workspace`: mounts, loop devices, working copies, half-made masters. Safe at any
/// moment: it touches nothing as long as a living process restores there, nothing outside the folder, and nothing at all
/// in a folder that was never a workspace. A file system that a surviving process of the job still uses is taken out of
/// sight and ends with that process.
#[must_use]
pub fn remove_leftovers(root: &Root, workspace: &Path) -> Leftovers {
    let Ok(folder) = fs::canonicalize(workspace) else { return Leftovers::default() };
    if !root.is_live() {
        return Leftovers::default();
    }
    // Without the file there never was a holder.
    let Ok(lock) = lock_of(&folder, false) else { return Leftovers::default() };
    match lock.try_lock() {
        Ok(()) => clean(root, &folder),
        Err(TryLockError::WouldBlock) => Leftovers { in_use: true, ..Leftovers::default() },
        Err(TryLockError::Error(error)) => {
            Leftovers { kept: vec![format!("cannot lock {}: {error}", folder.display())], ..Leftovers::default() }
        }
    }
}

/// The caller holds the lock.
fn clean(root: &Root, folder: &Path) -> Leftovers {
    let mut left = Leftovers::default();
    let work = work_of(folder);
    match mounts::unmount_below(root, &work, LEFTOVER_WITHIN, InUse::Detach) {
        Ok(points) => left.removed.extend(points.iter().map(|point| format!("the mount {}", point.display()))),
        Err(error) => left.kept.push(error.to_string()),
    }
    // Most go by themselves with the mount.
    for folder in with_loops(folder) {
        if mounts::wait_for_loops(root, &folder, LEFTOVER_WITHIN).is_err() {
            let detached = mounts::detach_loops(root, &folder);
            left.removed.extend(detached.iter().map(|device| format!("the loop device {}", device.display())));
        }
    }
    let mut put_away = |path: &Path| match tree::remove(path) {
        Ok(()) => left.removed.push(path.display().to_string()),
        Err(error) => left.kept.push(error.to_string()),
    };
    let is_free = mounts::below(root, &work).is_ok_and(|points| points.is_empty());
    if is_free {
        entries(&work).unwrap_or_default().iter().for_each(|path| put_away(path));
    }
    let masters = entries(&folder.join("masters")).unwrap_or_default();
    let half_made = masters.iter().filter(|path| path.extension().is_some_and(|name| name == "partial"));
    half_made.for_each(|path| put_away(path));
    left
}

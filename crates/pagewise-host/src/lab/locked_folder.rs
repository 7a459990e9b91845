//! The folder of an owner of guests: what they share with it, their disks and consoles. Gone with its owner, or swept by the next.

use super::LabError;
use crate::locked::Locked;
use crate::root::Root;
use crate::source::process;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// A folder that its owner holds locked.
#[derive(Debug)]
pub struct LockedFolder {
    path: PathBuf,
    _lock: Locked,
}

impl LockedFolder {
    /// A folder of this process's own, after those of owners that are gone were removed.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn make(cache: &Path) -> Result<LockedFolder, LabError> {
        let all = cache.join("lab/guests");
        fs::create_dir_all(&all).map_err(LabError::file("create", &all))?;
        // Whoever makes a folder has this until it is locked: one without a lock is one that nobody owns.
        let door = all.join("door");
        let door_file = File::create(&door).map_err(LabError::file("create", &door))?;
        door_file.lock().map_err(LabError::file("lock", &door))?;
        sweep(&all);
        let pid = std::process::id();
        let name = format!("{pid}-{}", process::start_time(&Root::live(), pid).unwrap_or_default());
        let path = (0u32..).map(|number| all.join(format!("{name}-{number}"))).find(|path| !path.exists());
        let path = path.unwrap_or_else(|| all.join(name));
        fs::create_dir(&path).map_err(LabError::file("create", &path))?;
        let lock = path.join("lock");
        let file = File::create(&lock).map_err(LabError::file("create", &lock))?;
        let locked = Locked::now(&file).map_err(LabError::file("lock", &lock))?;
        let locked =
            locked.ok_or_else(|| LabError::Step(format!("{} is locked by another process", lock.display())))?;
        let folder = LockedFolder { path, _lock: locked };
        let shared = folder.shared();
        fs::create_dir(&shared).map_err(LabError::file("create", &shared))?;
        Ok(folder)
    }

    /// The folder itself.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What a guest sees as [`super::SHARED`].
    #[must_use]
    pub fn shared(&self) -> PathBuf {
        self.path.join("shared")
    }

    /// Empties what is shared: the next guest finds nothing of the one before.
    pub(super) fn clear_shared(&self) -> Result<(), LabError> {
        let shared = self.shared();
        fs::remove_dir_all(&shared).and_then(|()| fs::create_dir(&shared)).map_err(LabError::file("empty", &shared))
    }
}

impl Drop for LockedFolder {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.path) {
            tracing::warn!("cannot remove {}: {error}", self.path.display());
        }
    }
}

/// Removes the folders whose owner is gone. One whose lock is held is left alone.
fn sweep(all: &Path) {
    for folder in fs::read_dir(all).into_iter().flatten().filter_map(Result::ok).map(|entry| entry.path()) {
        if !folder.is_dir() {
            continue;
        }
        let is_owned = match File::open(folder.join("lock")) {
            Ok(file) => !matches!(Locked::now(&file), Ok(Some(_))),
            Err(_) => false,
        };
        if !is_owned && let Err(error) = fs::remove_dir_all(&folder) {
            tracing::warn!("cannot remove {}: {error}", folder.display());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_goes_with_its_owner_and_what_a_kill_leaves_is_swept() {
        let cache = tempfile::tempdir().unwrap();
        let all = cache.path().join("lab/guests");
        let first = LockedFolder::make(cache.path()).unwrap();
        let left = all.join("4711-1-0");
        fs::create_dir_all(left.join("shared")).unwrap();
        fs::write(left.join("lock"), "").unwrap();
        let second = LockedFolder::make(cache.path()).unwrap();
        assert!(!left.exists() && first.path().exists(), "only what nobody holds");
        let paths = [first.path().to_owned(), second.path().to_owned()];
        drop((first, second));
        assert!(paths.iter().all(|path| !path.exists()));
    }
}

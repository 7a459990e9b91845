//! A folder that is either complete or not there: it is filled beside its place and renamed when it is whole.

use super::WorkloadError;
use crate::process::Interrupt;
use std::ffi::OsString;
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

/// A folder being filled. Dropped without [`PartialDir::keep`], it is removed; what a killed process left is removed by
/// the next one that fills the same folder.
pub(crate) struct PartialDir {
    path: PathBuf,
    target: PathBuf,
    /// Held while we fill, so that two processes do not fill the same folder.
    _lock: File,
}

impl PartialDir {
    /// An empty folder that will become `target`. Waits while another process fills it.
    pub(crate) fn create(target: &Path, interrupt: &Interrupt) -> Result<Self, WorkloadError> {
        let parent = target.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(parent).map_err(WorkloadError::file("create", parent))?;
        let lock_path = beside(target, ".lock");
        let lock = File::create(&lock_path).map_err(WorkloadError::file("create", &lock_path))?;
        while let Err(why) = lock.try_lock() {
            interrupt.check()?;
            match why {
                TryLockError::WouldBlock => thread::sleep(Duration::from_millis(100)),
                TryLockError::Error(source) => return Err(WorkloadError::file("lock", lock_path)(source)),
            }
        }
        let path = beside(target, ".partial");
        remove(&path)?;
        fs::create_dir(&path).map_err(WorkloadError::file("create", &path))?;
        Ok(PartialDir { path, target: target.to_path_buf(), _lock: lock })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Puts the folder in its place, over what was there.
    pub(crate) fn keep(self) -> Result<(), WorkloadError> {
        self.put(&self.path)
    }

    /// Puts only the folder `inner` in the place.
    pub(crate) fn keep_inner(self, inner: &str) -> Result<(), WorkloadError> {
        self.put(&self.path.join(inner))
    }

    fn put(&self, from: &Path) -> Result<(), WorkloadError> {
        let old = beside(&self.target, ".old");
        remove(&old)?;
        if self.target.exists() {
            fs::rename(&self.target, &old).map_err(WorkloadError::file("rename", &self.target))?;
        }
        fs::rename(from, &self.target).map_err(WorkloadError::file("rename", from))?;
        remove(&old)
    }
}

impl Drop for PartialDir {
    fn drop(&mut self) {
        if let Err(error) = remove(&self.path) {
            tracing::warn!("{error}");
        }
    }
}

/// `target` with `suffix` behind its name.
fn beside(target: &Path, suffix: &str) -> PathBuf {
    let mut name: OsString = target.file_name().unwrap_or_default().to_owned();
    name.push(suffix);
    target.with_file_name(name)
}

/// Removes a folder with everything in it; one that is not there is fine.
pub(crate) fn remove(path: &Path) -> Result<(), WorkloadError> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(WorkloadError::File { action: "remove", path: path.to_path_buf(), source: error })
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_was_not_kept_leaves_the_old_one_alone() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("data");
        fs::create_dir(&target).unwrap();
        fs::write(target.join("old"), "").unwrap();
        let partial = PartialDir::create(&target, &Interrupt::default()).unwrap();
        fs::write(partial.path().join("half"), "").unwrap();
        drop(partial);
        assert!(target.join("old").exists());
        assert!(!dir.path().join("data.partial").exists());
    }

    #[test]
    fn what_a_killed_process_left_is_replaced() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("data.partial/half")).unwrap();
        let target = dir.path().join("data");
        let partial = PartialDir::create(&target, &Interrupt::default()).unwrap();
        assert!(!partial.path().join("half").exists());
        fs::write(partial.path().join("whole"), "").unwrap();
        partial.keep().unwrap();
        assert!(target.join("whole").exists() && !dir.path().join("data.partial").exists());
    }
}

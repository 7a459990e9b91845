//! The workspaces in which copies may be mounted, written down in the state folder before the first mount: when an owner
//! and its watcher are killed together, the next verb that writes finds them there, whatever folder they are in.

use super::error::RestoreError;
use super::workspace::{Leftovers, remove_leftovers};
use crate::root::Root;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// Writes down that data will be restored in `workspace`. Call it before [`super::Dataset::open`].
///
/// # Errors
/// When the note cannot be written; then nothing should be mounted.
pub fn note(state: &Path, workspace: &Path) -> Result<(), RestoreError> {
    let workspace = absolute(workspace);
    let path = note_of(state, &workspace);
    let write = || -> io::Result<()> {
        fs::create_dir_all(folder(state))?;
        let mut file = File::create(&path)?;
        file.write_all(workspace.as_os_str().as_bytes())?;
        file.sync_all()
    };
    write().map_err(RestoreError::file("write", &path))
}

/// Everything in `workspace` is released.
pub fn forget(state: &Path, workspace: &Path) {
    let _ = fs::remove_file(note_of(state, &absolute(workspace)));
}

/// Puts away what killed runs left in every workspace that was noted. A note goes once its workspace is clean; one that a
/// living process restores in is left alone. The caller holds the host lock, so that nobody stands between a note and its
/// workspace. Gives the workspaces in which there was something to put away.
#[must_use]
pub fn recover(root: &Root, state: &Path) -> Vec<(PathBuf, Leftovers)> {
    let notes = fs::read_dir(folder(state)).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut found = Vec::new();
    for note in notes {
        // A note that was cut off names a folder that is no workspace, in which nothing is touched.
        let Ok(bytes) = fs::read(&note) else { continue };
        let workspace = PathBuf::from(OsString::from_vec(bytes));
        let left = remove_leftovers(root, &workspace);
        if left.is_clean() {
            let _ = fs::remove_file(&note);
        }
        if !left.removed.is_empty() || !left.kept.is_empty() {
            found.push((workspace, left));
        }
    }
    found
}

fn folder(state: &Path) -> PathBuf {
    state.join("workspaces")
}

fn absolute(workspace: &Path) -> PathBuf {
    std::path::absolute(workspace).unwrap_or_else(|_| workspace.to_path_buf())
}

fn note_of(state: &Path, workspace: &Path) -> PathBuf {
    let hash = blake3::hash(workspace.as_os_str().as_bytes()).to_hex();
    folder(state).join(&hash[..16])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_noted_workspace_is_cleaned_and_forgotten_and_one_in_use_is_remembered() {
        let dir = tempfile::tempdir().unwrap();
        let (state, killed, living) = (dir.path().join("state"), dir.path().join("killed"), dir.path().join("living"));
        for workspace in [&killed, &living] {
            fs::create_dir_all(workspace.join("work/data")).unwrap();
            File::create(workspace.join("lock")).unwrap();
            note(&state, workspace).unwrap();
        }
        let held = File::open(living.join("lock")).unwrap();
        held.try_lock().unwrap();
        let found = recover(&Root::live(), &state);
        assert_eq!(found.len(), 1);
        assert!(found[0].0 == killed && !killed.join("work/data").exists(), "{found:?}");
        assert!(living.join("work/data").exists());
        assert_eq!(fs::read_dir(state.join("workspaces")).unwrap().count(), 1, "the living one is still noted");
        drop(held);
        forget(&state, &living);
        assert!(recover(&Root::live(), &state).is_empty() && living.join("work/data").exists());
    }
}

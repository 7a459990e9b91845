//! Files that share their blocks with the data until a job writes them: XFS and btrfs.

use super::error::RestoreError;
use super::tree::{self, CopyMethod};
use super::{Driver, PlacedCopy, RestoreContext, RestorePaths};
use pagewise_core::experiment::data::{Kind, Restore};
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// The driver.
#[derive(Debug)]
pub(super) struct Reflink {
    /// What is cloned: the data themselves, or their copy on the file system of the workspace.
    base: PathBuf,
}

impl Reflink {
    /// Finds out whether blocks can be shared here, and makes a copy to share with where the data lie elsewhere.
    pub(super) fn open(on: &RestorePaths, doing: RestoreContext<'_>) -> Result<Reflink, RestoreError> {
        can_share(&on.workspace.work()).map_err(|why| RestoreError::Unsupported {
            method: Restore::Reflink,
            folder: on.workspace.folder().to_path_buf(),
            why,
            remedy: "keep the copies on XFS (made with reflink=1) or btrfs, or use restore = \"image\"",
        })?;
        let name = format!("{}-tree", &on.hash[..32]);
        if shares_with_source(on) {
            on.workspace.keep_masters(None)?;
            return Ok(Reflink { base: on.source.clone() });
        }
        on.workspace.keep_masters(Some(&name))?;
        let base = on.workspace.masters().join(&name);
        if !base.is_dir() {
            on.workspace.has_room(on.manifest.bytes(), "a copy of the data to share blocks with")?;
            build(on, &base, doing)?;
        }
        Ok(Reflink { base })
    }
}

fn build(on: &RestorePaths, base: &Path, doing: RestoreContext<'_>) -> Result<(), RestoreError> {
    let partial = base.with_extension("partial");
    tree::remove(&partial)?;
    let built = tree::copy(&on.manifest, &on.source, &partial, CopyMethod::Writing, doing)
        .and_then(|()| on.verify(&partial, "checking the copy", doing).map(drop));
    built.inspect_err(|_| drop(tree::remove(&partial)))?;
    fs::rename(&partial, base).map_err(RestoreError::file("put in place", base))
}

/// Tries it with a file of its own: what a file system can do depends on how it was made, not on its name alone.
pub(super) fn can_share(folder: &Path) -> Result<(), String> {
    static TRIES: AtomicU32 = AtomicU32::new(0);
    let own = format!(".pagewise-{}-{}", std::process::id(), TRIES.fetch_add(1, Ordering::Relaxed));
    let (from, to) = (folder.join(&own), folder.join(format!("{own}-clone")));
    let mut file = File::create_new(&from).map_err(|error| format!("no file can be made there ({error})"))?;
    let written = file.write_all(&[1; 4096]).map_err(|error| format!("no file can be written there ({error})"));
    let cloned = written
        .and_then(|()| tree::clone(&from, &to).map_err(|error| format!("its files cannot share blocks ({error})")));
    for path in [from, to] {
        let _ = fs::remove_file(path);
    }
    cloned
}

fn shares_with_source(on: &RestorePaths) -> bool {
    let some_file = on.manifest.entries.iter().find(|(_, entry)| entry.kind == Kind::File && entry.length > 0);
    let Some((text, _)) = some_file else { return true };
    let Some(relative) = super::manifest::relative_path(text) else { return false };
    let probe = on.workspace.place("probe");
    let shares = tree::clone(&on.source.join(relative), &probe).is_ok();
    let _ = fs::remove_file(probe);
    shares
}

impl Driver for Reflink {
    fn place(&mut self, on: &RestorePaths, doing: RestoreContext<'_>) -> Result<PlacedCopy, RestoreError> {
        let folder = on.workspace.place("data");
        tree::copy(&on.manifest, &self.base, &folder, CopyMethod::Cloning, doing)?;
        Ok(PlacedCopy { folder, is_verified: false, notes: Vec::new() })
    }
}

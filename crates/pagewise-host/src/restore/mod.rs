//! Puts a trial's data back before every point, and holds every copy against a manifest of hashes before a job sees it.
//!
//! [`Dataset::open`] hashes the data once and makes what copies are made from; [`Dataset::restore`] throws the last
//! point's copy away and puts a fresh one in place; [`Dataset::release`] leaves nothing but the master. What a killed
//! process leaves, [`remove_leftovers`] puts away, in the workspaces that [`noted`] remembers. The data themselves are only ever read.

mod choice;
mod copy;
mod error;
mod image;
mod manifest;
mod mounts;
pub mod noted;
mod overlay;
mod reflink;
mod tree;
mod uncached;
mod workspace;

pub use choice::auto_for;
pub use error::RestoreError;
pub use workspace::{Leftovers, remove_leftovers};

use crate::process::Interrupt;
use crate::progress::Progress;
use crate::test_pause;
use pagewise_core::experiment::data::{Data, Manifest, Restore};
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;
use workspace::Workspace;

/// Whom to tell how it goes, and who may end it.
#[derive(Clone, Copy)]
struct RestoreContext<'a> {
    progress: &'a dyn Progress,
    interrupt: &'a Interrupt,
}

impl RestoreContext<'_> {
    fn check(self) -> Result<(), RestoreError> {
        Ok(self.interrupt.check()?)
    }

    fn stage(self, what: &str, done: Option<f64>) -> Result<(), RestoreError> {
        self.progress.stage(what, done);
        self.check()
    }
}

/// What every method works on.
#[derive(Debug)]
struct RestorePaths {
    source: PathBuf,
    manifest: Manifest,
    hash: String,
    workspace: Workspace,
}

impl RestorePaths {
    /// Holds a copy against the manifest. Gives the bytes of it that stayed in the page cache.
    fn verify(&self, folder: &Path, what: &str, doing: RestoreContext<'_>) -> Result<Option<u64>, RestoreError> {
        let found = manifest::measure(folder, what, doing)?;
        let differences = self.manifest.differences(&found.manifest);
        if differences.is_empty() {
            return Ok(found.cached);
        }
        Err(RestoreError::Differs {
            what: format!("the copy in {} is not as the data were when the trial began", folder.display()),
            differences,
            remedy: "the data or the disk changed meanwhile; put the data right and begin a new trial",
        })
    }
}

/// A copy in its place.
struct PlacedCopy {
    folder: PathBuf,
    /// Its hashes were held against the master's; else the files are held against the manifest.
    is_verified: bool,
    notes: Vec<String>,
}

/// A way of putting data back.
trait Driver: fmt::Debug {
    /// Puts a fresh copy in place, in a work folder that is empty but for what it [`keeps`](Driver::keeps).
    fn place(&mut self, on: &RestorePaths, doing: RestoreContext<'_>) -> Result<PlacedCopy, RestoreError>;

    /// The file of the work folder that stays from point to point.
    fn keeps(&self) -> Option<&'static str> {
        None
    }
}

/// Data that can be put back again and again. Dropped, it releases what it holds.
#[derive(Debug)]
pub struct Dataset {
    method: Restore,
    ground: RestorePaths,
    driver: Box<dyn Driver>,
    is_out: bool,
}

/// Data as they were declared, ready for a job.
#[derive(Clone, Debug, PartialEq)]
pub struct Restored {
    /// Where the job finds them. It may do there what it likes.
    pub folder: PathBuf,
    /// How they came back.
    pub method: Restore,
    /// How long it took, verification included.
    pub seconds: f64,
    /// The hash over the manifest that every file was held against.
    pub verified: String,
    /// What the reader of a result should know, such as what stayed in the page cache.
    pub notes: Vec<String>,
}

/// Less than this in the page cache is not worth a word: the pages of the last reads.
const WORTH_A_NOTE: u64 = 1 << 20;

impl Dataset {
    /// Hashes the data in `source` and makes what the copies are made from, unless a whole one of the same data is there.
    /// Copies live in `workspace`, a folder of Pagewise's own; its file system decides which methods there are.
    ///
    /// # Errors
    /// When a file cannot be read, the method cannot be had here, there is no room, or another process restores in the
    /// same workspace. Nothing half made stays.
    pub fn open(
        data: &Data,
        source: &Path,
        workspace: &Path,
        progress: &dyn Progress,
        interrupt: &Interrupt,
    ) -> Result<Dataset, RestoreError> {
        let doing = RestoreContext { progress, interrupt };
        let source = fs::canonicalize(source).map_err(RestoreError::file("find the data in", source))?;
        keep_apart(&source, workspace)?;
        let workspace = Workspace::open(workspace)?;
        keep_apart(&source, workspace.folder())?;
        let manifest = manifest::measure(&source, "hashing the data", doing)?.manifest;
        let hash = manifest.hash();
        let bytes = data.image_bytes(manifest.bytes(), manifest.entries.len() as u64)?;
        let ground = RestorePaths { source, manifest, hash, workspace };
        let opened: Result<Box<dyn Driver>, RestoreError> = match data.restore {
            Restore::Image => image::Image::open(&ground, bytes, doing).map(|driver| Box::new(driver) as _),
            Restore::Reflink => reflink::Reflink::open(&ground, doing).map(|driver| Box::new(driver) as _),
            Restore::Overlay => overlay::Overlay::open(&ground).map(|driver| Box::new(driver) as _),
            Restore::Copy => copy::Copy::open(&ground).map(|driver| Box::new(driver) as _),
            Restore::None => Err(RestoreError::Usage(
                "restore = \"none\" puts nothing back; write image, reflink, overlay or copy".to_owned(),
            )),
        };
        let driver = opened.inspect_err(|_| drop(ground.workspace.abandon()))?;
        Ok(Dataset { method: data.restore, ground, driver, is_out: false })
    }

    /// Throws the last point's copy away and puts a fresh one in place, every hash held against the manifest, its bytes
    /// not in the page cache as far as the method can have it so.
    ///
    /// # Errors
    /// [`RestoreError::Differs`] and [`RestoreError::Damaged`] when the copy is not what it must be; no copy is left in
    /// place then. [`RestoreError::Busy`] when a process of the last job still uses its copy.
    pub fn restore(&mut self, progress: &dyn Progress, interrupt: &Interrupt) -> Result<Restored, RestoreError> {
        let doing = RestoreContext { progress, interrupt };
        let started = Instant::now();
        let workspace = &self.ground.workspace;
        workspace.discard(self.driver.keeps())?;
        self.is_out = true;
        let placed = self.driver.place(&self.ground, doing).and_then(|mut placed| {
            test_pause::reached(test_pause::DATA_PLACED);
            if !placed.is_verified {
                let cached = self.ground.verify(&placed.folder, "checking the restored data", doing)?;
                placed.notes.extend(cached.and_then(stayed));
            }
            Ok(placed)
        });
        // Never a wrong copy in place: whoever goes on by mistake finds nothing.
        let placed = placed.inspect_err(|_| drop(workspace.discard(None)))?;
        Ok(Restored {
            folder: placed.folder,
            method: self.method,
            seconds: started.elapsed().as_secs_f64(),
            verified: self.ground.hash.clone(),
            notes: placed.notes,
        })
    }

    /// Unmounts, detaches and removes the working copy. The master stays for the next trial on the same data.
    ///
    /// # Errors
    /// When somebody still uses the copy.
    pub fn release(&mut self) -> Result<(), RestoreError> {
        if self.is_out {
            self.ground.workspace.discard(None)?;
            self.is_out = false;
        }
        Ok(())
    }

    /// What the data are.
    #[must_use]
    pub fn manifest(&self) -> &Manifest {
        &self.ground.manifest
    }

    /// Where copies live, as the kernel names it: what a watcher has to clean when this process is killed.
    #[must_use]
    pub fn workspace(&self) -> &Path {
        self.ground.workspace.folder()
    }
}

impl Drop for Dataset {
    fn drop(&mut self) {
        if let Err(error) = self.release() {
            tracing::warn!("{error}");
            let left = self.ground.workspace.abandon();
            left.kept.iter().for_each(|kept| tracing::warn!("{kept}"));
        }
    }
}

fn stayed(bytes: u64) -> Option<String> {
    let note = || format!("{} MiB of the restored files stayed in the page cache", bytes >> 20);
    (bytes >= WORTH_A_NOTE).then(note)
}

/// Copies inside the data would be data, and data inside the copies would be thrown away.
fn keep_apart(source: &Path, workspace: &Path) -> Result<(), RestoreError> {
    let workspace = std::path::absolute(workspace).map_err(RestoreError::file("look at", workspace))?;
    if !workspace.starts_with(source) && !source.starts_with(&workspace) {
        return Ok(());
    }
    Err(RestoreError::Usage(format!(
        "the data in {} and their copies in {} must not lie one inside the other; keep the copies in another folder",
        source.display(),
        workspace.display()
    )))
}

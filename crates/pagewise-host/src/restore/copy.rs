//! Files written anew before every point: what works everywhere, and is the least alike from point to point.

use super::error::RestoreError;
use super::tree::{self, CopyMethod};
use super::{Driver, PlacedCopy, RestoreContext, RestorePaths};

/// The driver.
#[derive(Debug)]
pub(super) struct Copy;

impl Copy {
    pub(super) fn open(on: &RestorePaths) -> Result<Copy, RestoreError> {
        on.workspace.has_room(on.manifest.bytes(), "a copy of the data")?;
        on.workspace.keep_masters(None)?;
        Ok(Copy)
    }
}

impl Driver for Copy {
    fn place(&mut self, on: &RestorePaths, doing: RestoreContext<'_>) -> Result<PlacedCopy, RestoreError> {
        on.workspace.has_room(on.manifest.bytes(), "a copy of the data")?;
        let folder = on.workspace.place("data");
        tree::copy(&on.manifest, &on.source, &folder, CopyMethod::Writing, doing)?;
        let warning =
            "copy: the files lie in other blocks of the disk at every point, and the kernel keeps their names and \
                       inodes in memory; the page cache was asked to forget their bytes. Prefer image or reflink"
                .to_owned();
        Ok(PlacedCopy { folder, is_verified: false, notes: vec![warning] })
    }
}

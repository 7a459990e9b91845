//! How much a disk still takes.

use std::io;
use std::path::Path;

/// What others than root may still write on the disk of a folder, in bytes; of the nearest one above it where it does not exist yet.
///
/// # Errors
/// When the disk cannot be asked.
pub(crate) fn free_space(folder: &Path) -> io::Result<u64> {
    let existing = folder.ancestors().find(|ancestor| ancestor.exists()).unwrap_or(folder);
    let disk = rustix::fs::statvfs(existing)?;
    Ok(disk.f_bavail.saturating_mul(disk.f_frsize))
}

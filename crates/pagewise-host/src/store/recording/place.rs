//! Whether a recording that grows is still the file of its name. Somebody may delete, move or cut it, and SQLite writes on
//! all the same: into nothing, or beside its `-wal` file.

use super::RecordingError;
use std::fs::{File, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Where a recording was made.
#[derive(Debug)]
pub(super) struct Place {
    path: PathBuf,
    /// Opened as a place only (`O_PATH`): closing any other descriptor would give up SQLite's locks.
    file: File,
    /// In bytes, as SQLite left it. It changes the file only when it moves there what is in `-wal`.
    size: u64,
}

impl Place {
    /// `None` where that cannot be told.
    pub(super) fn of(path: &Path) -> Option<Place> {
        let file = OpenOptions::new().read(true).custom_flags(libc::O_PATH | libc::O_NOFOLLOW).open(path).ok()?;
        let size = file.metadata().ok()?.size();
        Some(Place { path: path.to_owned(), file, size })
    }

    /// SQLite has just written the file itself.
    pub(super) fn has_grown(&mut self) {
        self.size = self.file.metadata().map_or(0, |metadata| metadata.size());
    }

    /// # Errors
    /// When the name leads to another file or to none, or the file was cut: what happened, and where the data are.
    pub(super) fn check(&self) -> Result<(), RecordingError> {
        let lost = |what: String| Err(RecordingError::Lost { path: self.path.clone(), what });
        if self.is_elsewhere() {
            return lost(match self.new_name() {
                _ if self.bytes() == 0 => "was deleted: nothing is left of what was in it".to_owned(),
                Some(name) => format!("was moved: the file is now {}, with all until then", name.display()),
                None => "is no longer the file that was made: its name leads elsewhere".to_owned(),
            });
        }
        match self.file.metadata() {
            Ok(metadata) if metadata.size() < self.size => {
                lost(format!("was cut from {} to {} bytes: what was in it is lost", self.size, metadata.size()))
            }
            _ => Ok(()),
        }
    }

    /// Whether the name leads to another file, or to none. What cannot be asked now is taken to be as it was.
    pub(super) fn is_elsewhere(&self) -> bool {
        use std::io::ErrorKind::{NotADirectory, NotFound};
        match std::fs::symlink_metadata(&self.path) {
            Ok(there) => self.is_not(&there),
            Err(error) => matches!(error.kind(), NotFound | NotADirectory),
        }
    }

    fn is_not(&self, there: &std::fs::Metadata) -> bool {
        let Ok(ours) = self.file.metadata() else { return false };
        (ours.dev(), ours.ino()) != (there.dev(), there.ino())
    }

    /// Where the kernel says that the file is now.
    fn new_name(&self) -> Option<PathBuf> {
        let name = std::fs::read_link(format!("/proc/self/fd/{}", self.file.as_raw_fd())).ok()?;
        std::fs::symlink_metadata(&name).is_ok_and(|there| !self.is_not(&there)).then_some(name)
    }

    /// Size of the file under whatever name; 0 when it has none.
    pub(super) fn bytes(&self) -> u64 {
        let named = self.file.metadata().ok().filter(|metadata| metadata.nlink() > 0);
        named.map_or(0, |metadata| metadata.size())
    }
}

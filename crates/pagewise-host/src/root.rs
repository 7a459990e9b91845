//! The tree of kernel files: this machine's own, or another host's captured tree under `--root`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Where `/proc`, `/sys`, `/etc` and `/dev` begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root {
    base: PathBuf,
}

/// A kernel file that could not be read or written.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action} {}: {source}", path.display())]
pub struct FileError {
    /// `read` or `write VALUE to`.
    pub action: String,
    /// The file, with the root in front.
    pub path: PathBuf,
    /// What the kernel answered.
    pub source: io::Error,
}

impl FileError {
    /// The file is not there: the kernel does not have the feature.
    #[must_use]
    pub fn is_missing(&self) -> bool {
        self.source.kind() == io::ErrorKind::NotFound
    }

    /// The file is there but not for us.
    #[must_use]
    pub fn is_not_permitted(&self) -> bool {
        self.source.kind() == io::ErrorKind::PermissionDenied
    }
}

impl Default for Root {
    fn default() -> Self {
        Root::live()
    }
}

impl Root {
    /// This machine.
    #[must_use]
    pub fn live() -> Self {
        Root { base: PathBuf::from("/") }
    }

    /// A captured tree, or a fake one in a test.
    #[must_use]
    pub fn at(base: impl Into<PathBuf>) -> Self {
        Root { base: base.into() }
    }

    /// Whether this is the machine we run on, so that system calls speak of the same host as the files.
    #[must_use]
    pub fn is_live(&self) -> bool {
        self.base == Path::new("/")
    }

    /// The full path of `absolute`, which begins with `/`.
    #[must_use]
    pub fn path(&self, absolute: &str) -> PathBuf {
        self.base.join(absolute.trim_start_matches('/'))
    }

    /// A path of this tree as the host itself names it, for showing.
    #[must_use]
    pub fn shown(&self, path: &Path) -> String {
        match path.strip_prefix(&self.base) {
            Ok(below) => format!("/{}", below.display()),
            Err(_) => path.display().to_string(),
        }
    }

    /// Whether there is such a file or folder.
    #[must_use]
    pub fn exists(&self, absolute: &str) -> bool {
        self.path(absolute).exists()
    }

    /// The whole file as text. Kernel files are UTF-8 but for foreign process names, which are read lossily.
    ///
    /// # Errors
    /// When it is missing, or may not be read.
    pub fn read(&self, absolute: &str) -> Result<String, FileError> {
        let path = self.path(absolute);
        match fs::read(&path) {
            Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
            Err(source) => Err(FileError { action: "read".to_owned(), path, source }),
        }
    }

    /// Writes `value` in one `write(2)`, as kernel files want it. Never creates the file.
    ///
    /// # Errors
    /// When it is missing, may not be written, or the kernel refuses the value.
    pub fn write(&self, absolute: &str, value: &str) -> Result<(), FileError> {
        use std::io::Write;
        let path = self.path(absolute);
        let written = fs::OpenOptions::new()
            .write(true)
            .truncate(!self.is_live())
            .open(&path)
            .and_then(|mut file| file.write_all(value.as_bytes()));
        written.map_err(|source| FileError { action: format!("write '{value}' to"), path, source })
    }

    /// Names inside a folder, sorted.
    ///
    /// # Errors
    /// When it is missing, or may not be read.
    pub fn list(&self, absolute: &str) -> Result<Vec<String>, FileError> {
        let path = self.path(absolute);
        let entries = fs::read_dir(&path).map_err(|source| FileError { action: "list".to_owned(), path, source })?;
        let mut names: Vec<String> =
            entries.filter_map(Result::ok).map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        Ok(names)
    }
}

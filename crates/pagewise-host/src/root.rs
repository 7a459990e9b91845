//! The tree of kernel files: this machine's own, or another host's captured tree under `--root`.
//!
//! The live kernel's files are read as they are. A captured tree is somebody else's: see [`beneath`].

mod beneath;

use pagewise_core::report::printable::without_error_numbers;
use rustix::fs::OFlags;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// No kernel file is larger; a file that never ends is not read for ever.
pub const LARGEST_FILE: u64 = 64 << 20;

/// Most kernel files are smaller. They say nothing of their size: without room for them they are read in eight pieces and more, of 32 bytes at first.
const MOST_ARE_SMALLER: usize = 8 << 10;

/// All of a kernel's file, or one byte more than [`LARGEST_FILE`] of it.
pub(crate) fn whole(file: File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(MOST_ARE_SMALLER);
    file.take(LARGEST_FILE + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

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

#[cfg(test)]
impl Root {
    /// A tree of these files and their text, which goes with the folder.
    pub(crate) fn of_files(files: &[(&str, &str)]) -> (tempfile::TempDir, Root) {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::at(folder.path());
        for (path, text) in files {
            let file = root.path(path);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        (folder, root)
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
        if self.is_live() { self.path(absolute).exists() } else { beneath::exists(&self.base, below(absolute)) }
    }

    /// Opens a file for reading.
    ///
    /// # Errors
    /// When it is missing, or may not be read; in a captured tree also when it is no regular file, or leads out of it.
    pub fn open(&self, absolute: &str) -> Result<File, FileError> {
        let opened = if self.is_live() {
            File::open(self.path(absolute))
        } else {
            beneath::file(&self.base, below(absolute), OFlags::RDONLY)
        };
        opened.map_err(|source| FileError { action: "read".to_owned(), path: self.path(absolute), source })
    }

    /// Opens a file for writing. Never creates it.
    ///
    /// # Errors
    /// As [`Root::open`].
    pub fn open_to_write(&self, absolute: &str) -> io::Result<File> {
        if self.is_live() {
            fs::OpenOptions::new().write(true).open(self.path(absolute))
        } else {
            beneath::file(&self.base, below(absolute), OFlags::WRONLY)
        }
    }

    /// The whole file as text. Kernel files are UTF-8 but for foreign process names, which are read lossily.
    ///
    /// # Errors
    /// As [`Root::open`], and when it is larger than [`LARGEST_FILE`].
    pub fn read(&self, absolute: &str) -> Result<String, FileError> {
        let failed = |source| FileError { action: "read".to_owned(), path: self.path(absolute), source };
        let bytes = whole(self.open(absolute)?).map_err(failed)?;
        if bytes.len() as u64 > LARGEST_FILE {
            let text = format!("it is larger than {} MiB, and no kernel file is", LARGEST_FILE >> 20);
            return Err(failed(io::Error::new(io::ErrorKind::InvalidData, text)));
        }
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Writes `value` in one `write(2)`, as kernel files want it. Never creates the file.
    ///
    /// # Errors
    /// When it is missing, may not be written, or the kernel refuses the value.
    pub fn write(&self, absolute: &str, value: &str) -> Result<(), FileError> {
        use std::io::Write;
        let written = self.open_to_write(absolute).and_then(|mut file| {
            if !self.is_live() {
                file.set_len(0)?;
            }
            file.write_all(value.as_bytes())
        });
        let path = self.path(absolute);
        written.map_err(|source| FileError { action: format!("write '{value}' to"), path, source })
    }

    /// Names inside a folder, sorted.
    ///
    /// # Errors
    /// When it is missing, or may not be read.
    pub fn list(&self, absolute: &str) -> Result<Vec<String>, FileError> {
        let names = if self.is_live() {
            fs::read_dir(self.path(absolute)).map(|entries| {
                let named = entries.filter_map(Result::ok);
                named.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
            })
        } else {
            beneath::names(&self.base, below(absolute))
        };
        let failed = |source| FileError { action: "list".to_owned(), path: self.path(absolute), source };
        let mut names: Vec<String> = names.map_err(failed)?;
        names.sort();
        Ok(names)
    }

    /// The number of a file or folder in its file system: one that is made anew under the name of another has another.
    #[must_use]
    pub fn number_of(&self, absolute: &str) -> Option<u64> {
        Some(fs::symlink_metadata(self.path(absolute)).ok()?.ino())
    }

    /// Names of the folders inside a folder, in the order it has them. Empty where it cannot be read.
    #[must_use]
    pub fn folders(&self, absolute: &str) -> Vec<String> {
        if !self.is_live() {
            return beneath::folders(&self.base, below(absolute)).unwrap_or_default();
        }
        let Ok(entries) = fs::read_dir(self.path(absolute)) else { return Vec::new() };
        let folders = entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        folders.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    }
}

/// A path of the tree as its base has it.
fn below(absolute: &str) -> &str {
    absolute.trim_start_matches('/')
}

/// The system's words without its number.
pub(crate) fn plain(error: &std::io::Error) -> String {
    without_error_numbers(&error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn in_a_captured_tree_what_leads_out_of_it_is_neither_read_nor_written() {
        let both = tempfile::tempdir().unwrap();
        let tree = both.path().join("tree");
        fs::create_dir_all(tree.join("proc/sys/vm")).unwrap();
        fs::write(both.path().join("own"), "60\n").unwrap();
        symlink(both.path().join("own"), tree.join("proc/sys/vm/swappiness")).unwrap();
        symlink("/proc/meminfo", tree.join("proc/meminfo")).unwrap();
        fs::write(tree.join("proc/sys/vm/overcommit_memory"), "long text\n").unwrap();
        let root = Root::at(&tree);
        let told = root.read("/proc/meminfo").unwrap_err();
        assert!(told.to_string().contains("it leads out of the tree") && !told.is_missing(), "{told}");
        assert!(root.write("/proc/sys/vm/swappiness", "1").is_err());
        assert_eq!(fs::read_to_string(both.path().join("own")).unwrap(), "60\n");
        assert!(!root.exists("/proc/meminfo") && root.exists("/proc/sys/vm"));
        root.write("/proc/sys/vm/overcommit_memory", "1").unwrap();
        assert_eq!(root.read("/proc/sys/vm/overcommit_memory").unwrap(), "1");
        assert_eq!(root.list("/proc/sys/vm").unwrap(), ["overcommit_memory", "swappiness"]);
        assert!(root.read("/proc/none").unwrap_err().is_missing());
    }

    #[test]
    fn a_file_without_end_is_not_read_for_ever() {
        let tree = tempfile::tempdir().unwrap();
        File::create(tree.path().join("huge")).unwrap().set_len(LARGEST_FILE + 1).unwrap();
        let told = Root::at(tree.path()).read("/huge").unwrap_err().to_string();
        assert!(told.contains("larger than 64 MiB"), "{told}");
    }

    #[test]
    fn the_live_host_is_read_through_its_links() {
        let own = Root::live().read("/proc/self/status").unwrap();
        assert!(own.contains("Pid:"), "{own}");
    }
}

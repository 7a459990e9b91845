//! The regular files that a process has open, to be counted by the kernel's own count and never read.

use crate::root::Root;
use rustix::fs::OFlags;
use std::fs::{self, File, Metadata};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::PathBuf;

/// Tells a file from all others.
pub(crate) type Key = (u64, u64);

/// No more descriptors of a process are read.
const MOST_DESCRIPTORS: usize = 512;

/// File systems that keep their files in memory only (`include/uapi/linux/magic.h`): nothing there can be had back.
const IN_MEMORY: [rustix::fs::FsWord; 3] = [0x0102_1994, 0x8584_58f6, 0x9584_58f6];

/// A regular file that a process has open.
#[derive(Clone, Debug)]
pub(crate) struct OpenFile {
    pub(crate) key: Key,
    /// The process's descriptor of it.
    pub(crate) link: String,
    pub(crate) path: PathBuf,
    pub(crate) length: u64,
}

/// Those of at least so many bytes.
pub(crate) fn of_process(root: &Root, pid: u32, least: u64) -> impl Iterator<Item = OpenFile> {
    let folder = format!("/proc/{pid}/fd");
    let descriptors = root.list(&folder).unwrap_or_default().into_iter().take(MOST_DESCRIPTORS);
    descriptors.filter_map(move |descriptor| {
        let link = format!("{folder}/{descriptor}");
        // A link to no regular file is none to what can be cached, and opening it could wait for ever or do harm.
        let path = fs::read_link(&link).ok().filter(|path| path.is_absolute())?;
        let there = fs::metadata(&link).ok().filter(|there| there.is_file() && there.len() >= least)?;
        Some(OpenFile { key: key(&there), link, path, length: there.len() })
    })
}

/// Which file a descriptor stands for now.
pub(crate) fn key_of(link: &str) -> Option<Key> {
    fs::metadata(link).ok().map(|there| key(&there))
}

fn key(there: &Metadata) -> Key {
    (there.dev(), there.ino())
}

impl OpenFile {
    /// Opened once more, to ask what of it is in the page cache. `None` where it is another file by now, or lies in memory only.
    pub(crate) fn open(&self) -> Option<File> {
        let mut options = File::options();
        options.read(true).custom_flags((OFlags::NONBLOCK | OFlags::NOCTTY).bits() as i32);
        let file = options.open(&self.link).ok()?;
        let is_same = file.metadata().is_ok_and(|there| key(&there) == self.key);
        (is_same && !is_in_memory(&file)).then_some(file)
    }
}

fn is_in_memory(file: &File) -> bool {
    rustix::fs::fstatfs(file).is_ok_and(|of| IN_MEMORY.contains(&of.f_type))
}

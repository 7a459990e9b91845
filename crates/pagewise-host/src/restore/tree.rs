//! A folder copied by its manifest, file by file, and a folder removed whatever a job made of it.

use super::RestoreContext;
use super::error::RestoreError;
use super::manifest::{join, relative_path};
use super::uncached::{Buffer, CHUNK, Uncached};
use pagewise_core::experiment::data::{ITSELF, Kind, Manifest};
use rustix::fs::{AtFlags, SeekFrom, Timespec, Timestamps};
use std::fs::{self, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// How the bytes of a file come into its copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CopyMethod {
    /// Written anew; holes stay holes.
    Writing,
    /// The blocks are shared until one of the two is written (`FICLONE`).
    Cloning,
}

/// Makes `target` what the manifest says `source` is: bytes, links, modes and times, as root owners too. Nothing that the
/// manifest does not list is copied. All of it is on disk in the end.
pub(super) fn copy(
    manifest: &Manifest,
    source: &Path,
    target: &Path,
    by: CopyMethod,
    doing: RestoreContext<'_>,
) -> Result<(), RestoreError> {
    let total = manifest.bytes().max(1) as f64;
    let mut done = 0;
    let mut buffer = Buffer::new();
    let mut folders = Vec::new();
    // A folder's name is the beginning of its entries' names, so it sorts before them; but not the outermost.
    let itself = manifest.entries.get_key_value(ITSELF);
    let others = manifest.entries.iter().filter(|(text, _)| *text != ITSELF);
    for (text, entry) in itself.into_iter().chain(others) {
        doing.stage("copying the data", Some(done as f64 / total))?;
        let Some(relative) = relative_path(text) else { continue };
        let (from, to) = (join(source, &relative), join(target, &relative));
        match entry.kind {
            Kind::Folder => {
                // Its own mode comes last: it may forbid us to write into it.
                fs::DirBuilder::new().mode(0o700).create(&to).map_err(RestoreError::file("create", &to))?;
                folders.push((from, to, entry.mode));
            }
            Kind::Link => {
                let points_to = fs::read_link(&from).map_err(RestoreError::file("read the link", &from))?;
                std::os::unix::fs::symlink(points_to, &to).map_err(RestoreError::file("create", &to))?;
                dress(&from, &to, None)?;
            }
            Kind::File => {
                match by {
                    CopyMethod::Writing => write_copy(&from, &to, &mut buffer, doing)?,
                    CopyMethod::Cloning => clone(&from, &to)?,
                }
                dress(&from, &to, Some(entry.mode))?;
                done += entry.length;
            }
        }
    }
    for (from, to, mode) in folders.into_iter().rev() {
        dress(&from, &to, Some(mode))?;
    }
    // One flush for all: a flush for each of many small files would take minutes.
    let folder = File::open(target).map_err(RestoreError::file("open", target))?;
    rustix::fs::syncfs(&folder).map_err(RestoreError::errno("write back", target))
}

fn create(path: &Path) -> Result<File, RestoreError> {
    let opened = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    opened.map_err(RestoreError::file("create", path))
}

pub(super) fn clone(from: &Path, to: &Path) -> Result<(), RestoreError> {
    let source = OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW).open(from);
    let source = source.map_err(RestoreError::file("read", from))?;
    rustix::fs::ioctl_ficlone(create(to)?, source).map_err(RestoreError::errno("share the blocks of a file with", to))
}

fn write_copy(from: &Path, to: &Path, buffer: &mut Buffer, doing: RestoreContext<'_>) -> Result<(), RestoreError> {
    let reading = |error| RestoreError::file("read", from)(error);
    let mut source = Uncached::open(from, OpenOptions::new().read(true)).map_err(reading)?;
    let length = source.file().metadata().map_err(reading)?.len();
    let target = create(to)?;
    let writing = |error| RestoreError::file("write", to)(error);
    target.set_len(length).map_err(writing)?;
    let mut offset = 0;
    while let Some((start, end)) = next_data(source.file(), offset, length) {
        offset = start;
        while offset < end {
            let chunk = buffer.chunk();
            let n = source.read_at(chunk, offset, length).map_err(reading)?;
            if n == 0 {
                // Cut short meanwhile: the hashes will tell.
                return Ok(());
            }
            std::os::unix::fs::FileExt::write_all_at(&target, &chunk[..n], offset).map_err(writing)?;
            offset += n as u64;
            doing.check()?;
        }
    }
    source.forget();
    Ok(())
}

/// The next stretch that is no hole, from a whole chunk on. All of the rest where the file system does not tell.
fn next_data(file: &File, offset: u64, length: u64) -> Option<(u64, u64)> {
    if offset >= length {
        return None;
    }
    let start = match rustix::fs::seek(file, SeekFrom::Data(offset)) {
        // A whole chunk, for direct I/O; what is a hole before it reads as zeros.
        Ok(start) => start - start % CHUNK as u64,
        Err(rustix::io::Errno::NXIO) => return None,
        Err(_) => return Some((offset, length)),
    };
    let start = start.max(offset);
    match rustix::fs::seek(file, SeekFrom::Hole(start.max(offset))) {
        // At a place that still is a hole the end would be the start.
        Ok(end) if end > start => Some((start, end)),
        _ => Some((start, (start + CHUNK as u64).min(length))),
    }
}

/// Owner as far as we may, mode, times.
fn dress(from: &Path, to: &Path, mode: Option<u32>) -> Result<(), RestoreError> {
    let data = fs::symlink_metadata(from).map_err(RestoreError::file("look at", from))?;
    if rustix::process::geteuid().is_root() {
        let owner = std::os::unix::fs::lchown(to, Some(data.uid()), Some(data.gid()));
        owner.map_err(RestoreError::file("set the owner of", to))?;
    }
    // After the owner: a change of owner takes set-id bits away.
    if let Some(mode) = mode {
        let set = fs::set_permissions(to, Permissions::from_mode(mode));
        set.map_err(RestoreError::file("set the mode of", to))?;
    }
    let stamp = |seconds, nanoseconds| Timespec { tv_sec: seconds, tv_nsec: nanoseconds };
    let times = Timestamps {
        last_access: stamp(data.atime(), data.atime_nsec()),
        last_modification: stamp(data.mtime(), data.mtime_nsec()),
    };
    rustix::fs::utimensat(rustix::fs::CWD, to, &times, AtFlags::SYMLINK_NOFOLLOW)
        .map_err(RestoreError::errno("set the times of", to))
}

/// Makes an empty folder that looks like `like` from outside.
pub(super) fn empty_like(like: &Path, folder: &Path) -> Result<(), RestoreError> {
    fs::create_dir(folder).map_err(RestoreError::file("create", folder))?;
    let mode = fs::symlink_metadata(like).map_err(RestoreError::file("look at", like))?.mode() & 0o7777;
    dress(like, folder, Some(mode))
}

/// Removes a file or a folder with everything in it, also where a job took itself the right to; nothing is followed out
/// of it. What is not there is fine. Whoever calls it has seen that nothing is mounted below.
pub(super) fn remove(path: &Path) -> Result<(), RestoreError> {
    match remove_once(path) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            allow(path);
            remove_once(path).map_err(RestoreError::file("remove", path))
        }
        other => other.map_err(RestoreError::file("remove", path)),
    }
}

fn remove_once(path: &Path) -> io::Result<()> {
    let removed = match fs::symlink_metadata(path) {
        Ok(data) if data.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// Gives the owner of each folder its rights back, as far as that goes.
fn allow(path: &Path) {
    let mut open: Vec<PathBuf> = vec![path.to_path_buf()];
    while let Some(folder) = open.pop() {
        if fs::symlink_metadata(&folder).is_ok_and(|data| data.is_dir()) {
            let _ = fs::set_permissions(&folder, Permissions::from_mode(0o700));
            let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
            open.extend(entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).map(|e| e.path()));
        }
    }
}

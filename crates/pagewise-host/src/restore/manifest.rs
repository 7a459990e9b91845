//! A folder on disk as a manifest: walked without following a link, hashed without staying in the page cache.

use super::RestoreContext;
use super::error::RestoreError;
use super::uncached::{Buffer, CHUNK, Uncached};
use pagewise_core::experiment::data::{Entry, ITSELF, Kind, Manifest, path_bytes, path_text};
use std::ffi::OsString;
use std::fs::{self, File, Metadata, OpenOptions};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// A manifest, and what its taking left behind.
pub(super) struct Measured {
    pub(super) manifest: Manifest,
    /// Bytes of the files that stayed in the page cache; `None` where the kernel does not tell.
    pub(super) cached: Option<u64>,
}

/// Reads everything in `folder`. `what` is said while it lasts.
pub(super) fn measure(folder: &Path, what: &str, doing: RestoreContext<'_>) -> Result<Measured, RestoreError> {
    let found = walk(folder, doing)?;
    let total: u64 = found.iter().filter(|(_, data)| data.is_file()).map(|(_, data)| data.len()).sum();
    let mut manifest = Manifest::default();
    let mut cached = Some(0_u64);
    let mut buffer = Buffer::new();
    let mut done = 0;
    for (relative, data) in found {
        let path = join(folder, &relative);
        let mode = data.mode() & 0o7777;
        let entry = if data.is_dir() {
            Entry { kind: Kind::Folder, length: 0, blake3: None, mode }
        } else if data.is_symlink() {
            let target = fs::read_link(&path).map_err(RestoreError::file("read the link", &path))?;
            let target = target.as_os_str().as_bytes();
            Entry { kind: Kind::Link, length: target.len() as u64, blake3: Some(hex(target)), mode: 0 }
        } else {
            let hashed = hash_file(&path, &data, &mut buffer, &mut |bytes| {
                done += bytes;
                doing.stage(what, Some(done as f64 / total.max(1) as f64))
            })?;
            cached = cached.and_then(|sum| Some(sum + hashed.cached?));
            Entry { kind: Kind::File, length: data.len(), blake3: Some(hashed.blake3), mode }
        };
        manifest.entries.insert(text_of(&relative), entry);
    }
    Ok(Measured { manifest, cached })
}

fn hex(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}

/// Every path below `folder` with what `lstat` says, the folder itself as an empty path.
fn walk(folder: &Path, doing: RestoreContext<'_>) -> Result<Vec<(PathBuf, Metadata)>, RestoreError> {
    let data = fs::symlink_metadata(folder).map_err(RestoreError::file("look at", folder))?;
    if !data.is_dir() {
        return Err(RestoreError::Usage(format!(
            "{} is no folder; name the folder that holds the data",
            folder.display()
        )));
    }
    let mut found = vec![(PathBuf::new(), data)];
    let mut open = vec![PathBuf::new()];
    while let Some(relative) = open.pop() {
        doing.check()?;
        let path = join(folder, &relative);
        for entry in fs::read_dir(&path).map_err(RestoreError::file("list", &path))? {
            let name = entry.map_err(RestoreError::file("list", &path))?.file_name();
            let relative = relative.join(name);
            let path = join(folder, &relative);
            let data = fs::symlink_metadata(&path).map_err(RestoreError::file("look at", &path))?;
            if let Some(kind) = special(&data) {
                return Err(RestoreError::Special { path, kind });
            }
            if data.is_dir() {
                open.push(relative.clone());
            }
            found.push((relative, data));
        }
    }
    Ok(found)
}

fn special(data: &Metadata) -> Option<&'static str> {
    let kind = data.file_type();
    let names = [
        (kind.is_fifo(), "named pipe"),
        (kind.is_socket(), "socket"),
        (kind.is_block_device(), "block device"),
        (kind.is_char_device(), "character device"),
    ];
    names.into_iter().find_map(|(is, name)| is.then_some(name))
}

/// Joining an empty path would add a slash.
pub(super) fn join(folder: &Path, relative: &Path) -> PathBuf {
    if relative.as_os_str().is_empty() { folder.to_path_buf() } else { folder.join(relative) }
}

fn text_of(relative: &Path) -> String {
    if relative.as_os_str().is_empty() { ITSELF.to_owned() } else { path_text(relative.as_os_str().as_bytes()) }
}

/// The path of an entry below the manifest's folder.
pub(super) fn relative_path(text: &str) -> Option<PathBuf> {
    if text == ITSELF { Some(PathBuf::new()) } else { Some(PathBuf::from(OsString::from_vec(path_bytes(text)?))) }
}

struct Hashed {
    blake3: String,
    cached: Option<u64>,
}

fn hash_file(
    path: &Path,
    listed: &Metadata,
    buffer: &mut Buffer,
    progress: &mut dyn FnMut(u64) -> Result<(), RestoreError>,
) -> Result<Hashed, RestoreError> {
    let failed = |source| RestoreError::file("read", path)(source);
    let mut file = Uncached::open(path, OpenOptions::new().read(true)).map_err(failed)?;
    let length = listed.len();
    let mut hasher = blake3::Hasher::new();
    let mut offset = 0;
    while offset < length {
        let chunk = buffer.chunk();
        let n = file.read_at(chunk, offset, length).map_err(failed)?;
        hasher.update(&chunk[..n]);
        offset += n as u64;
        progress(n as u64)?;
        if n < CHUNK {
            break;
        }
    }
    if offset != length || !is_as_listed(file.file(), listed).map_err(failed)? {
        return Err(RestoreError::Unsteady { path: path.to_path_buf() });
    }
    Ok(Hashed { blake3: hasher.finalize().to_hex().to_string(), cached: file.forget() })
}

/// Whether it is the file that was listed, and nobody wrote to it since.
fn is_as_listed(file: &File, listed: &Metadata) -> std::io::Result<bool> {
    let now = file.metadata()?;
    let stamp = |data: &Metadata| (data.ino(), data.len(), data.mtime(), data.mtime_nsec());
    Ok(now.is_file() && stamp(&now) == stamp(listed))
}

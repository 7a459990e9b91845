//! One swap area: made and switched on, switched off and removed.

use super::{header, zram};
use crate::free_space::free_space;
use crate::root::Root;
use crate::sys;
use crate::tunable::TunableError;
use pagewise_core::tunable::swap::{Area, FILE_PREFIX, Kind};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Whether Pagewise would make this file itself: only then it is made and removed.
pub(super) fn is_named_by_us(area: &Area) -> bool {
    let name = Path::new(&area.path).file_name().and_then(|name| name.to_str()).unwrap_or_default();
    area.kind == Kind::File && name.starts_with(FILE_PREFIX) && name.ends_with(".swap")
}

/// What stays free on the disk beside the file: logs and the journal must go on. Our own figure.
const SPARE: u64 = 64 << 20;

/// Whether the disk has room for the file.
pub(super) fn has_room(folder: &Path, bytes: u64, value: &str) -> Result<(), TunableError> {
    let free = free_space(folder).map_err(|error| file_error("look at the free space of", folder, error))?;
    let needed = bytes.saturating_add(SPARE);
    if free >= needed {
        return Ok(());
    }
    let (tunable, value, folder) = ("swap".to_owned(), value.to_owned(), folder.to_owned());
    Err(TunableError::NoSpace { tunable, value, folder, free, needed })
}

pub(super) fn switch_on(root: &Root, area: &Area, value: &str) -> Result<(), TunableError> {
    match &area.kind {
        Kind::File if is_named_by_us(area) => switch_on_new_file(root, area, value),
        Kind::File | Kind::Partition => on(Path::new(&area.path), area.priority, value),
        Kind::Zram(algorithm) => zram::switch_on(root, area, algorithm.as_deref(), value),
    }
}

fn switch_on_new_file(root: &Root, area: &Area, value: &str) -> Result<(), TunableError> {
    let path = Path::new(&area.path);
    make_file(root, path, area.bytes, value).and_then(|()| on(path, area.priority, value)).inspect_err(|_| {
        // The first error tells what happened; the journal removes the file again if this fails.
        let _ = fs::remove_file(path);
    })
}

fn make_file(root: &Root, path: &Path, bytes: u64, value: &str) -> Result<(), TunableError> {
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder).map_err(|source| file_error("create the folder", folder, source))?;
    // A file of our own name that is not in use was left by a run that was killed.
    match fs::remove_file(path) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => return Err(file_error("replace", path, source)),
        _ => {}
    }
    has_room(folder, bytes, value)?;
    let file = File::options()
        .read(true)
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .map_err(|source| file_error("create", path, source))?;
    rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, bytes)
        .map_err(|error| refused("reserve space for", path, value, io::Error::from(error)))?;
    header::write(root, &file, bytes, header::OURS).map_err(|source| file_error("write the header of", path, source))
}

pub(super) fn on(path: &Path, priority: Option<u16>, value: &str) -> Result<(), TunableError> {
    sys::swap::on(path, priority).map_err(|source| refused("switch on", path, value, source))
}

pub(super) fn switch_off(root: &Root, area: &Area, value: &str) -> Result<(), TunableError> {
    let path = Path::new(&area.path);
    let label = header::label(path);
    let is_ours = label.is_some() && header::is_ours(path);
    sys::swap::off(path).map_err(|source| refused("switch off", path, value, source))?;
    match &area.kind {
        Kind::File if is_ours && is_named_by_us(area) => {
            fs::remove_file(path).map_err(|source| file_error("remove", path, source))
        }
        Kind::Zram(_) if is_ours => zram::remove(root, path, label.as_deref() == Some(header::OURS_ADDED)),
        _ => Ok(()),
    }
}

const HINT_FILE_SYSTEM: &str = "; a swap file needs a local file system that keeps it in place: not tmpfs, overlay or \
                                NFS, and on btrfs a folder without copy-on-write; choose another with --cache-dir";

pub(super) fn refused(action: &str, path: &Path, value: &str, source: io::Error) -> TunableError {
    let tunable = "swap".to_owned();
    match source.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => TunableError::NotPermitted {
            tunable,
            action: "switch",
            path: path.to_owned(),
            source,
            remedy: "run as root with CAP_SYS_ADMIN",
        },
        errno => TunableError::Refused {
            tunable,
            value: value.to_owned(),
            action: format!("{action} {}", path.display()),
            hint: match errno {
                Some(libc::EINVAL | libc::EOPNOTSUPP) => HINT_FILE_SYSTEM,
                Some(libc::ENOMEM) => "; what is swapped out does not fit into memory",
                Some(libc::ENOSPC) => "; free some space, or choose another folder with --cache-dir",
                _ => "",
            },
            source,
        },
    }
}

pub(super) fn file_error(action: &str, path: &Path, source: io::Error) -> TunableError {
    let (tunable, action, path) = ("swap".to_owned(), action.to_owned(), path.to_owned());
    TunableError::File { tunable, action, path, source }
}

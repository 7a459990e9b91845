//! Files of a captured tree. Somebody else made it: no link is followed out of it, nothing but a regular file is opened, and
//! opening neither waits for a pipe nor wakes a device.

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{Dir, FileType, Mode, OFlags, ResolveFlags, fstat, openat, openat2, readlinkat};
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::path::Path;

/// A regular file below `base`, opened as `access` says.
pub(super) fn file(base: &Path, below: &str, access: OFlags) -> io::Result<File> {
    let base = folder(base)?;
    // Opening alone can do something to a device: what it is is checked before.
    only_regular(&opened(base.as_fd(), below, OFlags::PATH)?)?;
    let file = opened(base.as_fd(), below, access | OFlags::NONBLOCK | OFlags::NOCTTY)?;
    only_regular(&file)?;
    Ok(File::from(file))
}

/// Whether there is something below `base`.
pub(super) fn exists(base: &Path, below: &str) -> bool {
    folder(base).and_then(|base| opened(base.as_fd(), below, OFlags::PATH)).is_ok()
}

/// Names inside a folder below `base`.
pub(super) fn names(base: &Path, below: &str) -> io::Result<Vec<String>> {
    names_of(base, below, |_| true)
}

/// Names of the folders inside a folder below `base`; links are none.
pub(super) fn folders(base: &Path, below: &str) -> io::Result<Vec<String>> {
    names_of(base, below, |kind| kind == FileType::Directory)
}

fn names_of(base: &Path, below: &str, is_wanted: impl Fn(FileType) -> bool) -> io::Result<Vec<String>> {
    let base = folder(base)?;
    let listed = Dir::new(opened(base.as_fd(), below, OFlags::RDONLY | OFlags::DIRECTORY)?)?;
    let mut names = Vec::new();
    for entry in listed {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name != "." && name != ".." && is_wanted(entry.file_type()) {
            names.push(name);
        }
    }
    Ok(names)
}

fn folder(base: &Path) -> io::Result<OwnedFd> {
    Ok(rustix::fs::open(base, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?)
}

fn only_regular(file: &OwnedFd) -> io::Result<()> {
    let what = match FileType::from_raw_mode(fstat(file)?.st_mode) {
        FileType::RegularFile => return Ok(()),
        FileType::Directory => return Err(Errno::ISDIR.into()),
        FileType::Fifo => "a pipe",
        FileType::CharacterDevice | FileType::BlockDevice => "a device",
        FileType::Socket => "a socket",
        _ => "no file",
    };
    let text = format!("it is {what}; of another host's tree only regular files are read");
    Err(io::Error::new(io::ErrorKind::InvalidInput, text))
}

/// Opens a path that may not lead out of `base`, neither by `..` nor by a link.
fn opened(base: BorrowedFd<'_>, below: &str, flags: OFlags) -> io::Result<OwnedFd> {
    /// The kernel asks to try again when something is renamed meanwhile.
    const TRIES: usize = 16;
    let below = if below.is_empty() { "." } else { below };
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    let mut ended = Errno::AGAIN;
    for _ in 0..TRIES {
        match openat2(base, below, flags | OFlags::CLOEXEC, Mode::empty(), resolve) {
            Ok(file) => return Ok(file),
            Err(Errno::AGAIN) => {}
            // The call came with 5.6, and sandboxes refuse calls they do not know.
            Err(Errno::NOSYS | Errno::PERM) => return walked(base, below, flags).map_err(in_words),
            Err(other) => {
                ended = other;
                break;
            }
        }
    }
    Err(in_words(ended))
}

fn in_words(error: Errno) -> io::Error {
    match error {
        Errno::XDEV => io::Error::new(io::ErrorKind::InvalidInput, "it leads out of the tree"),
        other => other.into(),
    }
}

/// The same for kernels without that call: part by part, each opened by itself and never through a link.
fn walked(base: BorrowedFd<'_>, below: &str, flags: OFlags) -> Result<OwnedFd, Errno> {
    /// As many as the kernel follows (`MAXSYMLINKS`, `include/linux/namei.h`).
    const MOST_LINKS: usize = 40;
    const NOT_THROUGH: OFlags = OFlags::NOFOLLOW.union(OFlags::CLOEXEC);
    // The folders from `base` to where we are with their names, and the parts that are left, the next one last.
    let mut way: Vec<(OwnedFd, Vec<u8>)> = Vec::new();
    let mut left = parts_backwards(below.as_bytes());
    let mut links = 0;
    while let Some(part) = left.pop() {
        if part == b".." {
            way.pop().ok_or(Errno::XDEV)?;
            continue;
        }
        let here = way.last().map_or(base, |(folder, _)| folder.as_fd());
        let found = openat(here, part.as_slice(), OFlags::PATH | NOT_THROUGH, Mode::empty())?;
        if FileType::from_raw_mode(fstat(&found)?.st_mode) != FileType::Symlink {
            way.push((found, part));
            continue;
        }
        links += 1;
        if links > MOST_LINKS {
            return Err(Errno::LOOP);
        }
        let target = readlinkat(&found, "", Vec::new())?.into_bytes();
        if target.first() == Some(&b'/') {
            return Err(Errno::XDEV);
        }
        left.extend(parts_backwards(&target));
    }
    let Some((_, name)) = way.pop() else { return openat(base, ".", flags | NOT_THROUGH, Mode::empty()) };
    let here = way.last().map_or(base, |(folder, _)| folder.as_fd());
    openat(here, name.as_slice(), flags | NOT_THROUGH, Mode::empty())
}

fn parts_backwards(path: &[u8]) -> Vec<Vec<u8>> {
    let parts = path.split(|byte| *byte == b'/').filter(|part| !part.is_empty() && *part != b".");
    let mut parts: Vec<Vec<u8>> = parts.map(<[u8]>::to_vec).collect();
    parts.reverse();
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{CWD, mkfifoat};
    use std::fs;
    use std::os::unix::fs::symlink;

    /// A tree with what a report can be made to hold, beside a folder with a secret.
    fn tree() -> tempfile::TempDir {
        let both = tempfile::tempdir().unwrap();
        let base = both.path().join("tree");
        fs::create_dir_all(base.join("proc/deep")).unwrap();
        fs::write(both.path().join("secret"), "secret").unwrap();
        fs::write(base.join("proc/plain"), "plain").unwrap();
        for (target, link) in [
            ("plain", "proc/same"),
            ("../proc/deep/../plain", "proc/round"),
            ("../plain", "proc/deep/up"),
            ("proc", "folder"),
            ("/dev/zero", "proc/zero"),
            ("/proc/meminfo", "proc/meminfo"),
            ("../../secret", "proc/secret"),
            ("../..", "proc/outside"),
            ("loop", "proc/loop"),
            ("nowhere", "proc/dangling"),
        ] {
            symlink(target, base.join(link)).unwrap();
        }
        mkfifoat(CWD, base.join("proc/pipe"), Mode::RUSR | Mode::WUSR).unwrap();
        both
    }

    #[test]
    fn links_within_the_tree_are_followed_and_none_out_of_it_by_either_way() {
        let both = tree();
        let base = folder(&both.path().join("tree")).unwrap();
        let is_there = [
            ("proc/plain", true),
            ("proc/same", true),
            ("proc/round", true),
            ("proc/deep/up", true),
            ("folder/deep/../plain", true),
            ("", true),
            ("proc/pipe", true),
            ("proc/zero", false),
            ("proc/meminfo", false),
            ("proc/secret", false),
            ("proc/outside/secret", false),
            ("../secret", false),
            ("proc/loop", false),
            ("proc/dangling", false),
            ("proc/plain/below", false),
        ];
        for (path, is_there) in is_there {
            assert_eq!(opened(base.as_fd(), path, OFlags::PATH).is_ok(), is_there, "{path}");
            assert_eq!(walked(base.as_fd(), path, OFlags::PATH).is_ok(), is_there, "{path}, part by part");
        }
        for path in ["proc/meminfo", "proc/secret", "proc/outside/secret", "../secret"] {
            let told = opened(base.as_fd(), path, OFlags::PATH).unwrap_err().to_string();
            assert_eq!(told, "it leads out of the tree", "{path}");
            assert_eq!(walked(base.as_fd(), path, OFlags::PATH).unwrap_err(), Errno::XDEV, "{path}");
        }
        assert_eq!(walked(base.as_fd(), "proc/loop", OFlags::PATH).unwrap_err(), Errno::LOOP);
    }

    #[test]
    fn a_pipe_and_a_folder_are_not_read_and_nobody_waits_for_them() {
        let both = tree();
        let base = both.path().join("tree");
        let told = |path: &str| file(&base, path, OFlags::RDONLY).unwrap_err().to_string();
        assert!(told("proc/pipe").contains("it is a pipe"), "{}", told("proc/pipe"));
        assert!(told("proc").contains("directory"), "{}", told("proc"));
        assert!(file(&base, "proc/same", OFlags::RDONLY).is_ok());
        assert!(exists(&base, "proc/pipe") && !exists(&base, "proc/zero"));
        let mut listed = names(&base, "folder/deep").unwrap();
        listed.sort();
        assert_eq!(listed, ["up"]);
        assert!(names(&base, "proc/outside").is_err());
    }
}

//! What is mounted below a folder, and which loop devices show files below it: found in the kernel's own lists, put away
//! from the top. Nothing that lies elsewhere is ever touched.

use super::error::RestoreError;
use crate::root::Root;
use crate::sys::loop_device;
use rustix::mount::UnmountFlags;
use std::ffi::OsString;
use std::fs::OpenOptions;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

const MOUNTS: &str = "/proc/self/mountinfo";

/// Between two tries of something that is about to be free.
const PAUSE: Duration = Duration::from_millis(20);

/// Mount points at `folder` or below it, in the order they were mounted. `folder` has no symbolic link in it.
pub(super) fn below(root: &Root, folder: &Path) -> Result<Vec<PathBuf>, RestoreError> {
    let text = std::fs::read(root.path(MOUNTS)).map_err(RestoreError::file("read", MOUNTS))?;
    Ok(points(&text).filter(|point| point.starts_with(folder)).collect())
}

/// The fifth field of each line (`man 5 proc_pid_mountinfo`).
fn points(mountinfo: &[u8]) -> impl Iterator<Item = PathBuf> {
    let fields = mountinfo.split(|byte| *byte == b'\n').filter_map(|line| line.split(|byte| *byte == b' ').nth(4));
    fields.map(|field| PathBuf::from(OsString::from_vec(unescaped(field))))
}

/// Space, tab, line break and backslash stand there as a backslash and three octal digits (`fs/proc_namespace.c`,
/// `mangle_path`, 6.12).
fn unescaped(field: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((first, after)) = rest.split_first() {
        let octal = after
            .get(..3)
            .filter(|_| *first == b'\\')
            .and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok());
        match octal {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[3..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    bytes
}

/// What to do with a file system that somebody still uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InUse {
    /// Leave it, and say so.
    Refuse,
    /// Take it out of sight; it ends with its last user. For what a killed run left.
    Detach,
}

/// Unmounts everything at or below `folder`, the latest first. Gives what was unmounted.
pub(super) fn unmount_below(
    root: &Root,
    folder: &Path,
    patience: Duration,
    in_use: InUse,
) -> Result<Vec<PathBuf>, RestoreError> {
    let deadline = Instant::now() + patience;
    let mut unmounted = Vec::new();
    while let Some(point) = below(root, folder)?.pop() {
        match rustix::mount::unmount(&point, UnmountFlags::NOFOLLOW) {
            Ok(()) => unmounted.push(point),
            Err(rustix::io::Errno::BUSY) if Instant::now() < deadline => thread::sleep(PAUSE),
            Err(rustix::io::Errno::BUSY) if in_use == InUse::Detach => {
                rustix::mount::unmount(&point, UnmountFlags::NOFOLLOW | UnmountFlags::DETACH)
                    .map_err(RestoreError::errno("unmount", &point))?;
                unmounted.push(point);
            }
            Err(rustix::io::Errno::BUSY) => {
                let by = users(root, &point);
                return Err(RestoreError::Busy { path: point, by });
            }
            Err(errno) => return Err(RestoreError::errno("unmount", &point)(errno)),
        }
    }
    Ok(unmounted)
}

/// Who has a file below the folder open, or stands in it: ` by PID NAME, …`; empty when nobody can be seen.
fn users(root: &Root, folder: &Path) -> String {
    let is_below = |link: PathBuf| std::fs::read_link(link).is_ok_and(|target| target.starts_with(folder));
    let uses = |pid: &u32| {
        let own = root.path(&format!("/proc/{pid}"));
        let open = std::fs::read_dir(own.join("fd")).into_iter().flatten().flatten().map(|entry| entry.path());
        ["cwd", "root", "exe"].map(|name| own.join(name)).into_iter().chain(open).any(is_below)
    };
    let named = |pid: u32| {
        let name = root.read(&format!("/proc/{pid}/comm")).unwrap_or_default();
        format!("{pid} {}", name.trim())
    };
    let pids = crate::source::process::pids(root).into_iter().filter(uses).take(3);
    let names: Vec<String> = pids.map(named).collect();
    if names.is_empty() { String::new() } else { format!(" by {}", names.join(", ")) }
}

/// Numbers of the loop devices that show `path`, or a file below it.
pub(super) fn loops_on(root: &Root, path: &Path) -> Vec<u32> {
    let devices = root.list("/sys/block").unwrap_or_default().into_iter();
    let numbers = devices.filter_map(|name| name.strip_prefix("loop")?.parse().ok());
    numbers.filter(|number| backing_file(root, *number).is_some_and(|file| file.starts_with(path))).collect()
}

/// The file that a loop device shows. One that was removed meanwhile is shown with ` (deleted)` behind its name.
fn backing_file(root: &Root, number: u32) -> Option<PathBuf> {
    let mut bytes = std::fs::read(root.path(&format!("/sys/block/loop{number}/loop/backing_file"))).ok()?;
    if bytes.last() == Some(&b'\n') {
        bytes.pop();
    }
    let kept = bytes.strip_suffix(b" (deleted)").map_or(bytes.len(), <[u8]>::len);
    bytes.truncate(kept);
    Some(PathBuf::from(OsString::from_vec(bytes)))
}

/// Waits until no loop device shows `path` or a file below it: they go by themselves, but a moment after the unmount.
pub(super) fn wait_for_loops(root: &Root, path: &Path, patience: Duration) -> Result<(), RestoreError> {
    let deadline = Instant::now() + patience;
    loop {
        let left = loops_on(root, path);
        let Some(number) = left.first() else { return Ok(()) };
        if Instant::now() > deadline {
            let by = format!(" by /dev/loop{number}, which somebody holds open or has mounted elsewhere");
            return Err(RestoreError::Busy { path: path.to_path_buf(), by });
        }
        thread::sleep(PAUSE);
    }
}

/// Detaches the loop devices that show files below `folder`. Gives their paths.
pub(super) fn detach_loops(root: &Root, folder: &Path) -> Vec<PathBuf> {
    let mut detached = Vec::new();
    for number in loops_on(root, folder) {
        let path = PathBuf::from(format!("/dev/loop{number}"));
        let Ok(device) = OpenOptions::new().read(true).open(&path) else { continue };
        // Checked again: as long as it is open it cannot become a device for another file.
        let still_ours = backing_file(root, number).is_some_and(|file| file.starts_with(folder));
        if still_ours && loop_device::detach(&device).is_ok() {
            detached.push(path);
        }
    }
    detached
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &[u8] = b"22 1 254:0 / / rw,relatime - ext4 /dev/root rw\n\
        40 22 7:0 / /w/work/mounted rw - ext4 /dev/loop0 rw\n\
        41 22 7:1 / /w/work\\040two/m rw - ext4 /dev/loop1 rw\n\
        42 40 0:5 / /w/work/mounted/inner rw - tmpfs tmpfs rw\n\
        43 22 0:6 / /w/a\\134b\\xyz rw - tmpfs tmpfs rw\n";

    #[test]
    fn only_what_lies_below_the_folder_itself_is_found_and_escapes_are_read() {
        let all: Vec<PathBuf> = points(TEXT).collect();
        assert_eq!(all[2], Path::new("/w/work two/m"));
        assert_eq!(all[4], Path::new("/w/a\\b\\xyz"));
        let host = pagewise_testkit::FakeHost::empty();
        host.write(MOUNTS, std::str::from_utf8(TEXT).unwrap());
        let found = below(&Root::at(host.path()), Path::new("/w/work")).unwrap();
        assert_eq!(found, [Path::new("/w/work/mounted"), Path::new("/w/work/mounted/inner")]);
        assert!(below(&Root::at(host.path()), Path::new("/w/wor")).unwrap().is_empty());
    }

    #[test]
    fn a_loop_device_is_known_by_its_file_also_when_that_was_removed() {
        let host = pagewise_testkit::FakeHost::empty();
        host.write("/sys/block/loop0/loop/backing_file", "/w/work/image\n");
        host.write("/sys/block/loop1/loop/backing_file", "/w/work/image (deleted)\n");
        host.write("/sys/block/loop2/loop/backing_file", "/w/workimage\n");
        host.write("/sys/block/loop3/size", "0\n");
        assert_eq!(loops_on(&Root::at(host.path()), Path::new("/w/work")), [0, 1]);
    }
}

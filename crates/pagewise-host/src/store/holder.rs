//! Whether somebody runs a bundle right now, asked without touching the lock: to try it, even for a moment, could make a
//! `resume` that starts in that moment fail.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Whether a process holds the bundle for running. `None` when that cannot be read.
///
/// Read from `/proc/locks` (`proc_locks(5)`), which shows the locks of the processes that this process can see: a run in another
/// PID namespace reads as nobody. Only the inode is compared; the device that the file shows is not the one that `stat` shows
/// on btrfs and overlayfs.
#[must_use]
pub fn is_held(bundle: &Path) -> Option<bool> {
    let inode = fs::metadata(bundle).ok()?.ino();
    Some(holds(&fs::read_to_string("/proc/locks").ok()?, inode))
}

/// Lines such as `1: FLOCK  ADVISORY  WRITE 24144 fe:00:6012946 0 EOF`. One that waits has `->` before the kind.
fn holds(locks: &str, inode: u64) -> bool {
    locks.lines().any(|line| {
        let mut words = line.split_ascii_whitespace().skip(1);
        words.next() == Some("FLOCK")
            && words.nth(1) == Some("WRITE")
            && words.nth(1).and_then(|file| file.rsplit(':').next()?.parse().ok()) == Some(inode)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_held_exclusive_lock_of_that_inode_counts() {
        let line = "1: FLOCK  ADVISORY  WRITE 24144 fe:00:6012946 0 EOF\n";
        assert!(holds(line, 6012946));
        assert!(!holds(line, 6012947));
        assert!(!holds("1: FLOCK  ADVISORY  READ 24144 fe:00:5 0 EOF", 5));
        assert!(!holds("1: POSIX  ADVISORY  WRITE 24144 fe:00:5 0 EOF", 5));
        assert!(!holds("1: -> FLOCK  ADVISORY  WRITE 24144 fe:00:5 0 EOF", 5));
        assert!(!holds("1: FLOCK", 5) && !holds("", 5));
    }

    #[test]
    fn a_lock_that_is_taken_is_seen_and_one_that_is_gone_is_not() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(is_held(folder.path()), Some(false));
        let file = fs::File::open(folder.path()).unwrap();
        rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive).unwrap();
        assert_eq!(is_held(folder.path()), Some(true));
        drop(file);
        assert_eq!(is_held(folder.path()), Some(false));
        assert_eq!(is_held(&folder.path().join("gone")), None);
    }
}

//! Which open files take most of the page cache: counted once, when a recording is finished.
//!
//! Files are asked for by the descriptors of those that have them open (`/proc/PID/fd`), and the kernel's count of each (`cachestat`; before Linux 6.5
//! `mincore`) is taken: nothing is read. What nobody has open any more, and what is only mapped, is not seen.

use crate::clock;
use crate::root::Root;
use crate::source::{kernel_threads, open_files, process};
use crate::sys::page_cache;
use pagewise_core::recording::CachedFile;
use std::cmp::Reverse;
use std::collections::HashSet;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// Files with less in memory are not told of, and so many at most.
const LEAST: u64 = 64 << 20;
const MOST: usize = 8;

/// On a host with thousands of processes as many of them are read as that time allows.
const SEARCHES_FOR: Duration = Duration::from_millis(200);

/// A file system that hangs is not waited for.
const WAITS: Duration = Duration::from_secs(1);

/// The largest first, and the CPU time that it took, in nanoseconds. Empty where the kernel tells none, and where a file system does not answer.
pub(super) fn largest(root: &Root) -> (Vec<CachedFile>, u64) {
    if !root.is_live() || !page_cache::can_be_asked() {
        return Default::default();
    }
    let (told, found) = mpsc::channel();
    let root = root.clone();
    let search = move || {
        let before = clock::thread_cpu();
        let files = counted(&root);
        let _ = told.send((files, clock::thread_cpu() - before));
    };
    // Not joined: what hangs in a file system ends when that answers.
    if thread::Builder::new().name("record-files".to_owned()).spawn(search).is_err() {
        return Default::default();
    }
    found.recv_timeout(WAITS).unwrap_or_default()
}

fn counted(root: &Root) -> Vec<CachedFile> {
    let began = Instant::now();
    let mut seen = HashSet::new();
    let mut files: Vec<CachedFile> = Vec::new();
    // What we have open ourselves (the programs whose names are looked up) others have as well.
    let others = kernel_threads::programs(root).into_iter().filter(|pid| *pid != std::process::id());
    for pid in others {
        for open in open_files::of_process(root, pid, LEAST) {
            if !seen.insert(open.key) {
                continue;
            }
            let bytes = open.open().and_then(|file| page_cache::cached(&file).ok());
            if let Some(bytes) = bytes.filter(|bytes| *bytes >= LEAST) {
                let path = open.path.to_string_lossy().into_owned();
                files.push(CachedFile { path, bytes, process: process::name(root, &format!("/proc/{pid}")), pid });
            }
        }
        if began.elapsed() >= SEARCHES_FOR {
            break;
        }
    }
    files.sort_by_key(|file| Reverse(file.bytes));
    files.truncate(MOST);
    files
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;
    use std::process::{Child, Command};

    struct Holder(Child);

    impl Drop for Holder {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    #[test]
    fn a_file_that_is_open_and_in_memory_is_found_with_who_has_it() {
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let path = folder.path().join("cached");
        let mut file = std::fs::File::options().create_new(true).read(true).write(true).open(&path).unwrap();
        file.write_all(&vec![7; 80 << 20]).unwrap();
        let mut holder = Holder(Command::new("sleep").arg("60").stdin(file).spawn().unwrap());
        let (files, _) = largest(&Root::live());
        let Some(found) = files.iter().find(|one| one.path.ends_with("/cached")) else {
            assert!(!page_cache::can_be_asked(), "{files:?}");
            return;
        };
        assert_eq!((found.pid, found.process.as_str()), (holder.0.id(), "sleep"));
        assert!(holder.0.try_wait().unwrap().is_none());
        assert!((64 << 20..=80 << 20).contains(&found.bytes), "{found:?}");
        assert!(largest(&Root::at("/nonexistent")).0.is_empty(), "another host's files are not ours");
    }
}

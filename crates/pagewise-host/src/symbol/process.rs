//! Which file lies at which address of a process: from what the kernel tells as it happens, and from `/proc/PID/maps` for
//! processes that were there before.

use crate::root::Root;
use crate::source::perf_record::Mapped;
use std::collections::HashMap;
use std::sync::Arc;

/// What code belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct FileKey {
    pub(super) device: (u32, u32),
    pub(super) inode: u64,
    pub(super) path: String,
}

/// A range of addresses with code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) offset: u64,
    pub(super) file: Arc<FileKey>,
}

/// More processes than this are forgotten, all of them, and read again when they are seen.
const MOST: usize = 16_384;

/// More ranges than this a process does not have.
const MOST_RANGES: usize = 16_384;

/// The processes seen so far.
#[derive(Debug, Default)]
pub(super) struct Processes {
    ranges: HashMap<u32, Arc<Vec<Range>>>,
    files: HashMap<FileKey, Arc<FileKey>>,
}

impl Processes {
    /// The range an address of a process lies in.
    pub(super) fn find(&mut self, root: &Root, pid: u32, address: u64) -> Option<Range> {
        if !self.ranges.contains_key(&pid) {
            let text = root.read(&format!("/proc/{pid}/maps")).unwrap_or_default();
            let ranges = self.parse(&text);
            self.make_room();
            self.ranges.insert(pid, Arc::new(ranges));
        }
        let ranges = self.ranges.get(&pid)?;
        let before = ranges.partition_point(|range| range.start <= address).checked_sub(1)?;
        Some(ranges[before].clone()).filter(|range| address < range.end)
    }

    fn make_room(&mut self) {
        if self.ranges.len() >= MOST {
            self.ranges.clear();
            self.files.clear();
        }
    }

    fn file(&mut self, key: FileKey) -> Arc<FileKey> {
        if let Some(known) = self.files.get(&key) {
            return Arc::clone(known);
        }
        let known = Arc::new(key.clone());
        self.files.insert(key, Arc::clone(&known));
        known
    }

    pub(super) fn parse(&mut self, text: &str) -> Vec<Range> {
        let mut ranges = Vec::new();
        for line in text.lines().take(MOST_RANGES * 4) {
            let mut words = line.splitn(6, ' ');
            let mut next = || words.next().unwrap_or_default();
            let (span, rights, offset, device, inode, path) =
                (next(), next(), next(), next(), next(), next().trim_start());
            let hex = |text: &str| u64::from_str_radix(text, 16).ok();
            let span = span.split_once('-').and_then(|(start, end)| Some((hex(start)?, hex(end)?)));
            let (Some((start, end)), Some(offset)) = (span, hex(offset)) else { continue };
            if rights.as_bytes().get(2) != Some(&b'x') || ranges.len() >= MOST_RANGES {
                continue;
            }
            let device =
                device.split_once(':').and_then(|(major, minor)| Some((hex(major)? as u32, hex(minor)? as u32)));
            let inode = inode.parse().unwrap_or(0);
            let file = self.file(FileKey { device: device.unwrap_or_default(), inode, path: path.to_owned() });
            ranges.push(Range { start, end, offset, file });
        }
        ranges.sort_by_key(|range| range.start);
        ranges
    }

    /// A process mapped code. One that was never asked for is read when it is.
    pub(super) fn mapped(&mut self, mapped: &Mapped<'_>) {
        if !self.ranges.contains_key(&mapped.pid) {
            return;
        }
        let path = String::from_utf8_lossy(mapped.path).into_owned();
        let path = if path == "//anon" { String::new() } else { path };
        let file = self.file(FileKey { device: mapped.device, inode: mapped.inode, path });
        let (start, end) = (mapped.start, mapped.start.saturating_add(mapped.length));
        let Some(ranges) = self.ranges.get_mut(&mapped.pid).map(Arc::make_mut) else { return };
        ranges.retain(|range| range.end <= start || range.start >= end);
        if ranges.len() < MOST_RANGES {
            let at = ranges.partition_point(|range| range.start < start);
            ranges.insert(at, Range { start, end, offset: mapped.offset, file });
        }
    }

    /// A process was started as a copy of another.
    pub(super) fn started(&mut self, pid: u32, parent: u32) {
        if pid == parent {
            return;
        }
        self.make_room();
        match self.ranges.get(&parent).map(Arc::clone) {
            Some(ranges) => drop(self.ranges.insert(pid, ranges)),
            // A number that is used again must not keep what its last owner had.
            None => drop(self.ranges.remove(&pid)),
        }
    }

    /// It runs another program now: what that maps is told next.
    pub(super) fn replaced(&mut self, pid: u32) {
        self.make_room();
        self.ranges.insert(pid, Arc::default());
    }

    pub(super) fn ended(&mut self, pid: u32) {
        self.ranges.remove(&pid);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(maps: &str) -> (tempfile::TempDir, Root) {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("proc/7")).unwrap();
        std::fs::write(folder.path().join("proc/7/maps"), maps).unwrap();
        let root = Root::at(folder.path());
        (folder, root)
    }

    fn mapped(pid: u32, start: u64, path: &[u8]) -> Mapped<'_> {
        Mapped { pid, start, length: 0x1000, offset: 0, device: (8, 1), inode: 5, path }
    }

    #[test]
    fn code_is_found_and_data_is_not() {
        let (_folder, root) = host(
            "00400000-00401000 r--p 00000000 08:01 5      /usr/bin/a b\n\
             00401000-00402000 r-xp 00001000 08:01 5      /usr/bin/a b (deleted)\n7f00-7f10 rwxp 00000000 00:00 0 \n",
        );
        let mut processes = Processes::default();
        assert_eq!(processes.find(&root, 7, 0x40_0500), None);
        let range = processes.find(&root, 7, 0x40_1500).unwrap();
        assert_eq!((range.offset, range.file.device, range.file.inode), (0x1000, (8, 1), 5));
        assert_eq!(range.file.path, "/usr/bin/a b (deleted)");
        assert_eq!(processes.find(&root, 7, 0x7f08).unwrap().file.path, "");
        assert_eq!(processes.find(&root, 8, 0x40_1500), None, "a process that is gone");
    }

    #[test]
    fn a_process_keeps_its_parents_code_until_it_runs_another_program() {
        let (_folder, root) = host("00401000-00402000 r-xp 00001000 08:01 5 /bin/sh\n");
        let mut processes = Processes::default();
        processes.find(&root, 7, 0x40_1000);
        processes.started(9, 7);
        assert_eq!(processes.find(&root, 9, 0x40_1500).unwrap().file.path, "/bin/sh");
        processes.replaced(9);
        assert_eq!(processes.find(&root, 9, 0x40_1500), None);
        processes.mapped(&mapped(9, 0x40_1000, b"/bin/sort"));
        processes.mapped(&mapped(9, 0x40_1800, b"/lib/later"));
        assert_eq!(processes.find(&root, 9, 0x40_1900).unwrap().file.path, "/lib/later");
        assert_eq!(processes.find(&root, 9, 0x40_1000), None, "what lay in the way is gone");
        processes.ended(9);
        assert_eq!(processes.find(&root, 9, 0x40_1900), None);
    }
}

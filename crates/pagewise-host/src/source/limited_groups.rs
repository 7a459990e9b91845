//! The control groups of a host that have a memory limit, whoever made them and whenever: a job that is short of memory in its own
//! group looks like any other from outside.
//!
//! A thread of its own walks over the hierarchy and opens files: with memory short an open may have to wait for reclaim, and a reading
//! must not. It takes a thousandth of a CPU at most. Of a group with a limit only small files are read that the kernel keeps without
//! summing over CPUs.

use super::cgroup::{self, Group};
use super::polled::Columns;
use crate::cgroup::{MemoryCgroup, Version, memory_mount};
use crate::clock;
use crate::root::Root;
use rustix::process::{Resource, getrlimit};
use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, Thread};
use std::time::Duration;

/// Folders that are searched before the first reading, so that a short recording knows the groups of most hosts from its beginning.
const FOLDERS_AT_FIRST: usize = 1024;

/// Between so many folders the thread checks whether it is still wanted.
const FOLDERS_AT_ONCE: usize = 32;

/// Folders of a round; what lies beyond is left out, and counted.
const FOLDERS_AT_MOST: usize = 20_000;

/// Groups that are read at a time, where a process may have that many files open.
const GROUPS_AT_MOST: usize = 128;

/// A group has at most so many files that are read.
const FILES_OF_A_GROUP: u64 = 7;

/// Of the files that this process may have open, one part in so many is for groups.
const FILES_ONE_PART_IN: u64 = 2;

/// Groups that are read in all: each has columns that stay.
const GROUPS_EVER: usize = 1024;

/// A kernel file of events has a few short lines.
const EVENTS_AT_MOST: usize = 512;

/// From the end of a round to the beginning of the next, at least.
const PAUSE: Duration = Duration::from_secs(1);

/// Rounds take no more than one part in so many of a CPU.
const ONE_PART_IN: u32 = 1000;

/// How many groups have a limit, those left out among them.
const LIMITED: &str = "limited_groups";

/// How many of them, or of the folders that were not searched, are not recorded.
const LEFT_OUT: &str = "left_out_groups";

/// What is recorded of each group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RecordedFile {
    /// What it uses, and its limits; in version 1 how often it met them.
    Levels,
    /// Lines of `memory.events` (version 2).
    Events,
}

/// Lines of `memory.events`; `low` is no limit.
const EVENTS: [&str; 4] = ["high", "max", "oom", "oom_kill"];

/// The sources of the groups with a limit, by the names a recording has for them, or why there are none. No sources where no
/// hierarchy has the memory controller. `except`: these have sources of their own.
#[must_use]
pub fn open(root: &Root, except: &[Group]) -> Vec<(&'static str, Result<LimitedGroups, String>)> {
    let Some((mut finder, mut sources)) = Finder::new(root, except) else { return Vec::new() };
    let before = clock::thread_cpu();
    finder.search(FOLDERS_AT_FIRST);
    let cost = Duration::from_nanos(clock::thread_cpu().saturating_sub(before));
    match FinderThread::start(finder, cost) {
        Ok(thread) => {
            sources[0].1.finder = Some(thread);
            sources.into_iter().map(|(name, source)| (name, Ok(source))).collect()
        }
        Err(error) => {
            let why = format!("cannot start a thread that looks for groups: {error}");
            sources.into_iter().map(|(name, _)| (name, Err(why.clone()))).collect()
        }
    }
}

/// One source of them.
#[derive(Debug)]
pub struct LimitedGroups {
    of: RecordedFile,
    news: Receiver<FoundSinceLast>,
    groups: Vec<GroupFiles>,
    limited: u64,
    left_out: u64,
    /// Of one of the sources.
    finder: Option<FinderThread>,
}

/// What the walk has found since it told last.
#[derive(Debug)]
struct FoundSinceLast {
    opened: Vec<OpenGroup>,
    gone: Vec<String>,
    limited: u64,
    left_out: u64,
}

/// A group whose files are open.
#[derive(Debug)]
struct OpenGroup {
    path: String,
    label: String,
    /// By the name of the number; of events the one file.
    files: Vec<(String, File)>,
}

/// A group that is read.
#[derive(Debug)]
struct GroupFiles {
    path: String,
    files: Vec<(File, Numbers)>,
}

/// Where the numbers of a file go.
#[derive(Debug)]
enum Numbers {
    One(u32),
    Lines(Vec<(&'static str, u32)>),
}

impl LimitedGroups {
    /// CPU time that finding groups has taken so far, in nanoseconds.
    pub(super) fn cost(&self) -> u64 {
        self.finder.as_ref().map_or(0, |finder| finder.cpu.load(Ordering::Acquire))
    }

    /// Reads them all now.
    pub(super) fn read(&mut self, columns: &mut Columns) {
        while let Ok(news) = self.news.try_recv() {
            self.take_over(news, columns);
        }
        columns.present.fill(false);
        self.groups.retain(|group| group.read(columns));
        if self.of == RecordedFile::Levels {
            for (name, value) in [(LIMITED, self.limited), (LEFT_OUT, self.left_out)] {
                let column = columns.column_of(name, "");
                columns.put(column, Some(value));
            }
        }
    }

    fn take_over(&mut self, news: FoundSinceLast, columns: &mut Columns) {
        (self.limited, self.left_out) = (news.limited, news.left_out);
        self.groups.retain(|group| !news.gone.contains(&group.path));
        for OpenGroup { path, label, files } in news.opened {
            let mut numbers = |name: &str| match self.of {
                RecordedFile::Levels => Numbers::One(columns.column_of(name, &label)),
                RecordedFile::Events => {
                    Numbers::Lines(EVENTS.map(|name| (name, columns.column_of(name, &label))).to_vec())
                }
            };
            let files = files.into_iter().map(|(name, file)| (file, numbers(&name))).collect();
            self.groups.push(GroupFiles { path, files });
        }
    }
}

impl GroupFiles {
    /// `false`: the group is gone.
    fn read(&self, columns: &mut Columns) -> bool {
        let mut is_there = false;
        for (file, numbers) in &self.files {
            let mut text = [0u8; EVENTS_AT_MOST];
            // The files of a group that was removed stay open and say ENODEV.
            let Ok(length) = file.read_at(&mut text, 0) else { continue };
            is_there = true;
            let text = std::str::from_utf8(&text[..length]).unwrap_or_default();
            match numbers {
                // A limit that is not set reads `max` and has no value.
                Numbers::One(column) => {
                    columns.put(*column, text.trim_end().parse().ok());
                }
                Numbers::Lines(lines) => {
                    for (name, column) in lines {
                        let of_line = |line: &str| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok();
                        columns.put(*column, text.lines().find_map(of_line));
                    }
                }
            }
        }
        is_there
    }
}

/// Walks over the hierarchy on a thread of its own until it is dropped.
#[derive(Debug)]
struct FinderThread {
    is_wanted: Arc<AtomicBool>,
    cpu: Arc<AtomicU64>,
    thread: Thread,
}

impl FinderThread {
    /// `cost`: of what the finder has searched so far.
    fn start(finder: Finder, cost: Duration) -> std::io::Result<FinderThread> {
        let (is_wanted, cpu) = (Arc::new(AtomicBool::new(true)), Arc::new(AtomicU64::new(0)));
        let (still_wanted, counted) = (Arc::clone(&is_wanted), Arc::clone(&cpu));
        let run = move || finder.run(cost, &still_wanted, &counted);
        let thread = thread::Builder::new().name("record-groups".to_owned()).spawn(run)?.thread().clone();
        Ok(FinderThread { is_wanted, cpu, thread })
    }
}

impl Drop for FinderThread {
    /// Does not wait for it: an open may take long.
    fn drop(&mut self) {
        self.is_wanted.store(false, Ordering::Release);
        self.thread.unpark();
    }
}

/// Looks for groups with a limit, opens their files, and tells the sources.
#[derive(Debug)]
struct Finder {
    root: Root,
    /// Where the hierarchy with the memory controller is.
    mount: MemoryCgroup,
    /// Paths of groups that others record.
    except: Vec<String>,
    to_visit: Vec<String>,
    /// Folders that this round has searched.
    folders: usize,
    /// Groups with a limit that this round has found, by path; the number of the folder tells one from another that was made later.
    found: BTreeMap<String, (u64, Group)>,
    /// Groups with a limit of this round, or folders, beyond those that are watched.
    over: u64,
    rounds: u64,
    /// Groups that are read at a time.
    at_most: usize,
    /// Those whose files the sources have.
    open: BTreeMap<String, u64>,
    /// Groups that had columns, those that are gone among them.
    ever: HashSet<String>,
    tells: Vec<(RecordedFile, Sender<FoundSinceLast>)>,
    /// How many have a limit, and how many of those are left out, as it was told last.
    told: (u64, u64),
}

impl Finder {
    /// One that has searched nothing yet, and the sources that it tells.
    fn new(root: &Root, except: &[Group]) -> Option<(Finder, Vec<(&'static str, LimitedGroups)>)> {
        let mount = memory_mount(root).ok()?;
        let of_version: &[(&str, RecordedFile)] = match mount.version {
            Version::V1 => &[(cgroup::LEVELS, RecordedFile::Levels)],
            Version::V2 => &[(cgroup::LEVELS, RecordedFile::Levels), (cgroup::EVENTS, RecordedFile::Events)],
        };
        let (mut tells, mut sources) = (Vec::new(), Vec::new());
        for (name, of) in of_version {
            let (tell, news) = mpsc::channel();
            tells.push((*of, tell));
            let source = LimitedGroups { of: *of, news, groups: Vec::new(), limited: 0, left_out: 0, finder: None };
            sources.push((*name, source));
        }
        let finder = Finder {
            root: root.clone(),
            to_visit: vec![mount.folder.clone()],
            mount,
            except: except.iter().map(|group| group.path.clone()).collect(),
            folders: 0,
            found: BTreeMap::new(),
            over: 0,
            rounds: 0,
            at_most: room_for(getrlimit(Resource::Nofile).current),
            open: BTreeMap::new(),
            ever: HashSet::new(),
            tells,
            told: (0, 0),
        };
        Some((finder, sources))
    }

    fn run(mut self, mut cost: Duration, is_wanted: &AtomicBool, cpu: &AtomicU64) {
        while is_wanted.load(Ordering::Acquire) {
            // The first search may have ended in the middle of a round.
            if self.folders == 0 {
                clock::park(PAUSE.max(cost * ONE_PART_IN), || is_wanted.load(Ordering::Acquire));
                cost = Duration::ZERO;
            }
            let before = clock::thread_cpu();
            self.search(FOLDERS_AT_ONCE);
            let own = clock::thread_cpu();
            cost += Duration::from_nanos(own.saturating_sub(before));
            cpu.store(own, Ordering::Release);
        }
    }

    /// Searches the next folders, and tells what a round, or the first search, has found.
    fn search(&mut self, folders: usize) {
        let is_first = self.rounds == 0 && self.folders == 0;
        for _ in 0..folders {
            let Some(folder) = self.to_visit.pop() else { break };
            self.visit(&folder);
        }
        if !self.to_visit.is_empty() {
            if is_first {
                self.tell();
            }
            return;
        }
        self.rounds += 1;
        self.tell();
        self.found.clear();
        (self.folders, self.over) = (0, 0);
        self.to_visit.push(self.mount.folder.clone());
    }

    fn visit(&mut self, folder: &str) {
        self.folders += 1;
        if let Some(group) = cgroup::limited(&self.root, &self.mount, folder) {
            if self.except.contains(&group.path) {
                // Its own sources tell of it.
            } else if self.found.len() < self.at_most {
                let number = self.root.number_of(folder).unwrap_or(0);
                self.found.insert(group.path.clone(), (number, group));
            } else {
                self.over += 1;
            }
        }
        for name in self.root.folders(folder) {
            if self.folders + self.to_visit.len() < FOLDERS_AT_MOST {
                self.to_visit.push(format!("{folder}/{name}"));
            } else {
                self.over += 1;
            }
        }
    }

    /// Opens what is new, and tells the sources of it and of what is gone.
    fn tell(&mut self) {
        let is_as_it_was = |path: &String, number: &u64| self.found.get(path).is_some_and(|(found, _)| found == number);
        let gone: Vec<String> = self
            .open
            .iter()
            .filter(|(path, number)| !is_as_it_was(path, number))
            .map(|(path, _)| path.clone())
            .collect();
        self.open.retain(|path, _| !gone.contains(path));
        let mut left_out = self.over;
        // Of each source, in the order of `tells`.
        let mut arrived: Vec<Vec<OpenGroup>> = self.tells.iter().map(|_| Vec::new()).collect();
        for (path, (number, group)) in &self.found {
            if self.open.contains_key(path) {
                continue;
            }
            let has_room = self.ever.contains(path) || self.ever.len() < GROUPS_EVER;
            let opened: Vec<OpenGroup> = if has_room {
                self.tells.iter().filter_map(|(of, _)| self.opened(*of, group)).collect()
            } else {
                Vec::new()
            };
            if opened.len() < self.tells.len() {
                left_out += 1;
                continue;
            }
            self.ever.insert(path.clone());
            self.open.insert(path.clone(), *number);
            arrived.iter_mut().zip(opened).for_each(|(arrived, opened)| arrived.push(opened));
        }
        if self.rounds == 0 {
            // What was not searched yet may have a limit.
            left_out += self.to_visit.len() as u64;
        }
        let limited = self.open.len() as u64 + left_out;
        let is_news = !gone.is_empty() || arrived.iter().any(|arrived| !arrived.is_empty());
        if !is_news && self.told == (limited, left_out) {
            return;
        }
        self.told = (limited, left_out);
        for ((_, tell), opened) in self.tells.iter().zip(arrived) {
            // A source that has gone wants no news.
            let _ = tell.send(FoundSinceLast { opened, gone: gone.clone(), limited, left_out });
        }
    }

    /// `None`: it has gone again, or we may open no more.
    fn opened(&self, of: RecordedFile, group: &Group) -> Option<OpenGroup> {
        let wanted = match of {
            RecordedFile::Levels => group.number_files().into_iter().map(|file| (file.name, file.path)).collect(),
            RecordedFile::Events => vec![(cgroup::EVENTS_FILE.to_owned(), group.file(cgroup::EVENTS_FILE))],
        };
        let files: Vec<(String, File)> =
            wanted.into_iter().filter_map(|(name, path)| Some((name, self.root.open(&path).ok()?))).collect();
        (!files.is_empty()).then(|| OpenGroup { path: group.path.clone(), label: group.label(), files })
    }
}

/// How many groups can be read where so many files may be open (`None`: any number).
fn room_for(files: Option<u64>) -> usize {
    files.map_or(GROUPS_AT_MOST, |files| (files / FILES_ONE_PART_IN / FILES_OF_A_GROUP) as usize).min(GROUPS_AT_MOST)
}

#[cfg(test)]
mod tests {
    use super::super::polled::Polled;
    use super::*;
    use std::collections::BTreeMap;
    use std::fs;
    use std::time::Instant;

    const MOUNT: &str = "/sys/fs/cgroup/memory";

    struct Host {
        folder: tempfile::TempDir,
        root: Root,
    }

    impl Host {
        fn new(mountinfo: &str) -> Host {
            let folder = tempfile::tempdir().unwrap();
            let root = Root::at(folder.path());
            let host = Host { folder, root };
            host.write("/proc/self/mountinfo", mountinfo);
            host
        }

        fn v1() -> Host {
            Host::new(&format!("31 30 0:27 / {MOUNT} rw - cgroup cgroup rw,memory\n"))
        }

        fn write(&self, path: &str, text: &str) {
            let path = self.folder.path().join(path.trim_start_matches('/'));
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }

        fn group(&self, name: &str, limit: u64, failures: u64) {
            for (file, value) in [("limit_in_bytes", limit), ("usage_in_bytes", 4096), ("failcnt", failures)] {
                self.write(&format!("{MOUNT}/{name}/memory.{file}"), &format!("{value}\n"));
            }
        }

        /// The finder after its first search, and the sources it tells.
        fn opened(&self, except: &[Group]) -> (Finder, Vec<Polled>) {
            let (mut finder, sources) = Finder::new(&self.root, except).unwrap();
            finder.search(FOLDERS_AT_FIRST);
            (finder, sources.into_iter().map(|(_, groups)| Polled::limited_groups(groups)).collect())
        }
    }

    /// What it gives now, by name and labels.
    fn numbers(polled: &mut Polled, names: &mut BTreeMap<u32, String>) -> BTreeMap<String, u64> {
        polled.read(&mut Vec::new()).unwrap();
        let columns = polled.columns();
        names.extend(columns.take_new().into_iter().map(|new| (new.column, format!("{} {}", new.name, new.labels))));
        let present = columns.present.iter().zip(&columns.values).zip(0..);
        present.filter(|((is_there, _), _)| **is_there).map(|((_, value), at)| (names[&at].clone(), *value)).collect()
    }

    #[test]
    fn groups_with_a_limit_are_found_wherever_they_are_and_when_they_come_and_go() {
        let host = Host::v1();
        host.group("", NONE, 0);
        host.group("system/tool", NONE, 3);
        host.group("system", NONE, 0);
        host.group("yarn/container_1", 1 << 30, 7);
        let (mut finder, mut sources) = host.opened(&[]);
        let polled = &mut sources[0];
        let mut names = BTreeMap::new();
        let of = |numbers: &BTreeMap<String, u64>, name: &str| numbers.get(name).copied();
        let first = numbers(polled, &mut names);
        assert_eq!(of(&first, "failcnt cgroup=/yarn/container_1"), Some(7));
        assert_eq!((of(&first, "limited_groups "), of(&first, "left_out_groups ")), (Some(1), Some(0)));
        assert_eq!(first.len(), 5, "usage and limit as well, and nothing of groups without a limit: {first:?}");

        host.group("yarn/container_2", 1 << 20, 9);
        fs::remove_dir_all(host.folder.path().join(MOUNT.trim_start_matches('/')).join("yarn/container_1")).unwrap();
        host.group("yarn/container_1", NONE, 8);
        finder.search(FOLDERS_AT_ONCE);
        let second = numbers(polled, &mut names);
        assert_eq!(of(&second, "failcnt cgroup=/yarn/container_2"), Some(9));
        assert_eq!(of(&second, "failcnt cgroup=/yarn/container_1"), None, "it has no limit any more");
        assert_eq!(of(&second, "limited_groups "), Some(1));
        finder.search(FOLDERS_AT_ONCE);
        assert_eq!(numbers(polled, &mut names), second, "nothing new is told");
    }

    #[test]
    fn a_group_that_was_made_anew_under_its_name_is_opened_anew() {
        let host = Host::v1();
        host.group("job", 1 << 20, 7);
        let (mut finder, mut sources) = host.opened(&[]);
        let mut names = BTreeMap::new();
        numbers(&mut sources[0], &mut names);
        // The folder stays in the way of its number until the other has one.
        let (old, new) = ["job", "other"].map(|name| host.root.path(&format!("{MOUNT}/{name}"))).into();
        host.group("other", 1 << 20, 1);
        fs::rename(&old, host.folder.path().join("away")).unwrap();
        fs::rename(&new, &old).unwrap();
        finder.search(FOLDERS_AT_ONCE);
        assert_eq!(numbers(&mut sources[0], &mut names)["failcnt cgroup=/job"], 1);
    }

    #[test]
    fn groups_are_found_while_it_reads_and_the_thread_ends_with_its_source() {
        let host = Host::v1();
        host.group("before", 1 << 20, 1);
        let mut sources = open(&host.root, &[]);
        let groups = sources.remove(0).1.unwrap();
        let is_wanted = Arc::clone(&groups.finder.as_ref().unwrap().is_wanted);
        let mut polled = Polled::limited_groups(groups);
        let mut names = BTreeMap::new();
        assert!(numbers(&mut polled, &mut names).contains_key("failcnt cgroup=/before"));
        host.group("meanwhile", 1 << 20, 5);
        let until = Instant::now() + Duration::from_secs(60);
        while numbers(&mut polled, &mut names).get("failcnt cgroup=/meanwhile") != Some(&5) {
            assert!(Instant::now() < until, "it was not found in a minute");
            thread::sleep(Duration::from_millis(20));
        }
        assert!(polled.cost() > 0);
        drop(polled);
        while Arc::strong_count(&is_wanted) > 1 {
            assert!(Instant::now() < until, "the thread has not ended in a minute");
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// As version 1 writes it.
    const NONE: u64 = 9_223_372_036_854_771_712;

    #[test]
    fn version_2_tells_of_its_events_and_a_group_with_sources_of_its_own_is_not_read_twice() {
        let host = Host::new("30 29 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
        host.write("/sys/fs/cgroup/cgroup.controllers", "cpu memory\n");
        host.write("/proc/self/cgroup", "0::/own\n");
        for (group, high, max) in [("own", "4096", "max"), ("pod/job", "max", "8192"), ("free", "max", "max")] {
            let folder = format!("/sys/fs/cgroup/{group}");
            host.write(&format!("{folder}/memory.high"), &format!("{high}\n"));
            host.write(&format!("{folder}/memory.max"), &format!("{max}\n"));
            host.write(&format!("{folder}/memory.current"), "100\n");
            host.write(&format!("{folder}/memory.events"), "low 1\nhigh 2\nmax 33\noom 4\noom_kill 5\n");
        }
        let own = cgroup::own(&host.root).unwrap();
        let (_, mut sources) = host.opened(&[own]);
        let told = numbers(&mut sources[1], &mut BTreeMap::new());
        let lines = [("high", 2), ("max", 33), ("oom", 4), ("oom_kill", 5)];
        assert_eq!(told, lines.map(|(name, value)| (format!("{name} cgroup=/pod/job"), value)).into());
        let levels = numbers(&mut sources[0], &mut BTreeMap::new());
        assert_eq!(levels.get("max cgroup=/pod/job"), Some(&8192));
        assert!(!levels.contains_key("high cgroup=/pod/job"), "`max` is no number");
        assert_eq!(levels.get("limited_groups "), Some(&1));
    }

    #[test]
    fn half_of_the_files_that_may_be_open_are_for_others() {
        assert_eq!([Some(1024), Some(1 << 20), None].map(room_for), [73, GROUPS_AT_MOST, GROUPS_AT_MOST]);
    }

    #[test]
    fn what_is_too_much_is_counted_as_left_out() {
        let host = Host::v1();
        let room = room_for(getrlimit(Resource::Nofile).current);
        for group in 0..room + 3 {
            host.group(&format!("pods/pod{group}"), 1 << 20, 1);
        }
        let told = numbers(&mut host.opened(&[]).1[0], &mut BTreeMap::new());
        let of = |name: &str| told[name];
        assert_eq!((of("limited_groups "), of("left_out_groups ")), (room as u64 + 3, 3));
    }

    #[test]
    fn before_the_first_round_has_ended_what_was_not_looked_at_is_left_out() {
        let host = Host::v1();
        for group in 0..FOLDERS_AT_FIRST + 8 {
            host.write(&format!("{MOUNT}/g{group}/memory.usage_in_bytes"), "1\n");
        }
        let (mut finder, mut sources) = host.opened(&[]);
        let mut names = BTreeMap::new();
        assert_eq!(numbers(&mut sources[0], &mut names)["left_out_groups "], 9);
        finder.search(FOLDERS_AT_ONCE);
        assert_eq!(numbers(&mut sources[0], &mut names)["left_out_groups "], 0);
    }
}

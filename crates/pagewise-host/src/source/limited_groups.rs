//! The control groups of a host that have a memory limit, whoever made them and whenever: a job that is short of memory in its own
//! group looks like any other from outside.
//!
//! The hierarchy is walked a few folders at each reading, over and over: a group that is made while it is recorded is found within one
//! round, and a host with thousands of groups costs no more per reading than one with ten. Of a group with a limit only small files are
//! read that the kernel keeps without summing over CPUs.

use super::cgroup::{self, Group};
use super::polled::Columns;
use crate::cgroup::{MemoryCgroup, Version, memory_mount};
use crate::root::Root;
use std::collections::HashSet;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Folders that are looked at in one reading.
const FOLDERS_AT_ONCE: usize = 32;

/// Folders that are looked at before the first reading, so that a short recording knows the groups of most hosts from its beginning.
const FOLDERS_AT_FIRST: usize = 1024;

/// Folders of a round; what lies beyond is left out, and counted.
const FOLDERS_AT_MOST: usize = 20_000;

/// Groups that are read at a time.
const GROUPS_AT_MOST: usize = 128;

/// Groups that are read in all: each has columns that stay.
const GROUPS_EVER: usize = 1024;

/// A kernel file of events has a few short lines.
const EVENTS_AT_MOST: usize = 512;

/// How many groups have a limit, those left out among them.
const LIMITED: &str = "limited_groups";

/// How many of them, or of the folders that were not looked at, are not recorded.
const LEFT_OUT: &str = "left_out_groups";

/// What is recorded of each group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// What it uses, and its limits; in version 1 how often it met them. This one walks.
    Levels,
    /// Lines of `memory.events` (version 2).
    Events,
}

/// Lines of `memory.events`; `low` is no limit.
const EVENTS: [&str; 4] = ["high", "max", "oom", "oom_kill"];

/// The sources of the groups with a limit, by the names a recording has for them. None where no hierarchy has the memory controller.
/// `except`: these have sources of their own.
#[must_use]
pub fn open(root: &Root, except: &[Group]) -> Vec<(&'static str, LimitedGroups)> {
    let Ok(mount) = memory_mount(root) else { return Vec::new() };
    let version = mount.version;
    let mut walk = Walk {
        root: root.clone(),
        to_visit: vec![mount.folder.clone()],
        mount,
        except: except.iter().map(|group| group.path.clone()).collect(),
        round: Round::default(),
        known: Round::default(),
        rounds: 0,
    };
    walk.step(FOLDERS_AT_FIRST);
    let walk = Arc::new(Mutex::new(walk));
    let of = |of| LimitedGroups {
        walk: Arc::clone(&walk),
        of,
        seen_rounds: None,
        groups: Vec::new(),
        ever: HashSet::new(),
        over: 0,
    };
    let mut sources = vec![(cgroup::LEVELS, of(Of::Levels))];
    if version == Version::V2 {
        sources.push((cgroup::EVENTS, of(Of::Events)));
    }
    sources
}

/// One source of them.
#[derive(Debug)]
pub struct LimitedGroups {
    walk: Arc<Mutex<Walk>>,
    of: Of,
    seen_rounds: Option<u64>,
    groups: Vec<Read>,
    /// Groups that have columns, those that are gone among them.
    ever: HashSet<String>,
    /// Groups with a limit that got none, since too many had some.
    over: u64,
}

/// A group that is read.
#[derive(Debug)]
struct Read {
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
    /// Reads them all now.
    pub(super) fn read(&mut self, columns: &mut Columns) {
        let walk = Arc::clone(&self.walk);
        let mut walk = lock(&walk);
        if self.of == Of::Levels && self.seen_rounds.is_some() {
            walk.step(FOLDERS_AT_ONCE);
        }
        if self.seen_rounds != Some(walk.rounds) {
            self.seen_rounds = Some(walk.rounds);
            self.take_over(&walk, columns);
        }
        columns.present.fill(false);
        self.groups.retain(|group| group.read(columns));
        if self.of == Of::Levels {
            let left_out = self.over + walk.left_out();
            for (name, value) in [(LIMITED, self.groups.len() as u64 + left_out), (LEFT_OUT, left_out)] {
                let column = columns.column_of(name, "");
                columns.put(column, Some(value));
            }
        }
    }

    /// What the last round has found: groups that are new are opened, those that have no limit any more are closed.
    fn take_over(&mut self, walk: &Walk, columns: &mut Columns) {
        let found = walk.found();
        self.groups.retain(|group| found.iter().any(|found| found.path == group.path));
        self.over = 0;
        for group in found {
            if self.groups.iter().any(|known| known.path == group.path) {
                continue;
            }
            let label = group.label();
            if !self.ever.contains(&group.path) && self.ever.len() == GROUPS_EVER {
                self.over += 1;
                continue;
            }
            let files = match self.of {
                Of::Levels => group
                    .number_files()
                    .into_iter()
                    .filter_map(|file| {
                        let open = walk.root.open(&file.path).ok()?;
                        Some((open, Numbers::One(columns.column_of(&file.name, &file.labels))))
                    })
                    .collect(),
                Of::Events => {
                    let Ok(open) = walk.root.open(&group.file(cgroup::EVENTS_FILE)) else { continue };
                    let lines = EVENTS.map(|name| (name, columns.column_of(name, &label))).to_vec();
                    vec![(open, Numbers::Lines(lines))]
                }
            };
            self.ever.insert(group.path.clone());
            self.groups.push(Read { path: group.path.clone(), files });
        }
    }
}

impl Read {
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

fn lock(walk: &Mutex<Walk>) -> MutexGuard<'_, Walk> {
    walk.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What one way through the hierarchy has found.
#[derive(Debug, Default)]
struct Round {
    limited: Vec<Group>,
    /// Groups with a limit beyond those that are read.
    over: u64,
    folders: usize,
}

#[derive(Debug)]
struct Walk {
    root: Root,
    /// Where the hierarchy with the memory controller is.
    mount: MemoryCgroup,
    /// Paths of groups that others record.
    except: Vec<String>,
    to_visit: Vec<String>,
    round: Round,
    /// The last whole round.
    known: Round,
    rounds: u64,
}

impl Walk {
    fn found(&self) -> &[Group] {
        if self.rounds == 0 { &self.round.limited } else { &self.known.limited }
    }

    /// Of the first round what is still to be looked at counts, too: it may have a limit.
    fn left_out(&self) -> u64 {
        if self.rounds == 0 { self.to_visit.len() as u64 } else { self.known.over }
    }

    fn step(&mut self, folders: usize) {
        for _ in 0..folders {
            let Some(folder) = self.to_visit.pop() else { break };
            self.visit(&folder);
        }
        if self.to_visit.is_empty() {
            self.known = std::mem::take(&mut self.round);
            self.rounds += 1;
            self.to_visit.push(self.mount.folder.clone());
        }
    }

    fn visit(&mut self, folder: &str) {
        self.round.folders += 1;
        if let Some(group) = cgroup::limited(&self.root, &self.mount, folder) {
            if self.except.contains(&group.path) {
                // Its own sources tell of it.
            } else if self.round.limited.len() < GROUPS_AT_MOST {
                self.round.limited.push(group);
            } else {
                self.round.over += 1;
            }
        }
        for name in self.root.folders(folder) {
            if self.round.folders + self.to_visit.len() < FOLDERS_AT_MOST {
                self.to_visit.push(format!("{folder}/{name}"));
            } else {
                self.round.over += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::polled::Polled;
    use super::*;
    use std::collections::BTreeMap;
    use std::fs;

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

        fn opened(&self, except: &[Group]) -> Vec<Polled> {
            open(&self.root, except).into_iter().map(|(_, groups)| Polled::limited_groups(groups)).collect()
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
        let mut polled = host.opened(&[]).remove(0);
        let mut names = BTreeMap::new();
        let of = |numbers: &BTreeMap<String, u64>, name: &str| numbers.get(name).copied();
        let first = numbers(&mut polled, &mut names);
        assert_eq!(of(&first, "failcnt cgroup=/yarn/container_1"), Some(7));
        assert_eq!((of(&first, "limited_groups "), of(&first, "left_out_groups ")), (Some(1), Some(0)));
        assert_eq!(first.len(), 5, "usage and limit as well, and nothing of groups without a limit: {first:?}");

        host.group("yarn/container_2", 1 << 20, 9);
        fs::remove_dir_all(host.folder.path().join(MOUNT.trim_start_matches('/')).join("yarn/container_1")).unwrap();
        host.group("yarn/container_1", NONE, 8);
        let second = numbers(&mut polled, &mut names);
        assert_eq!(of(&second, "failcnt cgroup=/yarn/container_2"), Some(9));
        assert_eq!(of(&second, "failcnt cgroup=/yarn/container_1"), None, "it has no limit any more");
        assert_eq!(of(&second, "limited_groups "), Some(1));
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
        let mut sources = host.opened(&[own]);
        let mut events = sources.pop().unwrap();
        let told = numbers(&mut events, &mut BTreeMap::new());
        let lines = [("high", 2), ("max", 33), ("oom", 4), ("oom_kill", 5)];
        assert_eq!(told, lines.map(|(name, value)| (format!("{name} cgroup=/pod/job"), value)).into());
        let levels = numbers(&mut sources[0], &mut BTreeMap::new());
        assert_eq!(levels.get("max cgroup=/pod/job"), Some(&8192));
        assert!(!levels.contains_key("high cgroup=/pod/job"), "`max` is no number");
        assert_eq!(levels.get("limited_groups "), Some(&1));
    }

    #[test]
    fn what_is_too_much_is_counted_as_left_out() {
        let host = Host::v1();
        for group in 0..GROUPS_AT_MOST + 3 {
            host.group(&format!("pods/pod{group}"), 1 << 20, 1);
        }
        let told = numbers(&mut host.opened(&[]).remove(0), &mut BTreeMap::new());
        let of = |name: &str| told[name];
        assert_eq!((of("limited_groups "), of("left_out_groups ")), (GROUPS_AT_MOST as u64 + 3, 3));
    }

    #[test]
    fn before_the_first_round_has_ended_what_was_not_looked_at_is_left_out() {
        let host = Host::v1();
        for group in 0..FOLDERS_AT_FIRST + 8 {
            host.write(&format!("{MOUNT}/g{group}/memory.usage_in_bytes"), "1\n");
        }
        let mut polled = host.opened(&[]).remove(0);
        let mut names = BTreeMap::new();
        assert_eq!(numbers(&mut polled, &mut names)["left_out_groups "], 9);
        assert_eq!(numbers(&mut polled, &mut names)["left_out_groups "], 0);
    }
}

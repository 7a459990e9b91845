//! The memory files of one control group, of either version.

use super::polled::NumberFile;
use super::visit::Parse;
use super::{psi, vmstat};
use crate::cgroup::{MemoryCgroup, Version, limit_in, memory_mount, own_memory_cgroup};
use crate::root::Root;

/// Files of `name number` lines or of pressure: name of the source, file, parser.
const TEXTS: [(&str, &str, Parse); 3] = [
    ("cgroup_stat", "memory.stat", vmstat::visit),
    (EVENTS, EVENTS_FILE, vmstat::visit),
    ("cgroup_pressure", "memory.pressure", psi::visit),
];

/// Files of one number. A limit that is not set reads `max` and has no value.
const LEVELS_OF_V2: [&str; 6] =
    ["memory.current", "memory.high", "memory.max", "memory.low", "memory.swap.current", "memory.swap.max"];
const LEVELS_OF_V1: [&str; 5] = [
    "memory.usage_in_bytes",
    "memory.limit_in_bytes",
    "memory.soft_limit_in_bytes",
    "memory.memsw.usage_in_bytes",
    "memory.failcnt",
];

/// The source of the levels.
pub const LEVELS: &str = "cgroup_memory";

/// The source of how often limits were met (version 2).
pub const EVENTS: &str = "cgroup_events";

/// Its file.
pub const EVENTS_FILE: &str = "memory.events";

/// Files whose number is a limit of all that is charged to a group.
const LIMITS_OF_V2: [&str; 2] = ["memory.max", "memory.high"];
const LIMITS_OF_V1: [&str; 2] = ["memory.limit_in_bytes", "memory.memsw.limit_in_bytes"];

/// A group to record, and where its files are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// As a person names it: its path within the hierarchy, `/` first.
    pub path: String,
    folder: String,
    version: Version,
}

/// A group cannot be recorded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GroupError {
    /// There is no hierarchy to look in.
    #[error("cannot record the cgroup {path}: {why}")]
    NoHierarchy {
        /// As it was given.
        path: String,
        /// What is missing.
        why: String,
    },
    /// There is no such group.
    #[error(
        "there is no memory cgroup {path}: {folder} does not exist; `cat /proc/PID/cgroup` names that of a process"
    )]
    Missing {
        /// As it was given.
        path: String,
        /// Where it would be.
        folder: String,
    },
}

/// The group of that path: within the memory hierarchy (`/system.slice/x.service`), or the folder itself.
///
/// # Errors
/// When there is no memory hierarchy, or no such group.
pub fn find(root: &Root, path: &str) -> Result<Group, GroupError> {
    let mount = memory_mount(root).map_err(|why| GroupError::NoHierarchy { path: path.to_owned(), why })?;
    let within = path.strip_prefix(&mount.folder).unwrap_or(path).trim_matches('/');
    let folder = format!("{}/{within}", mount.folder).trim_end_matches('/').to_owned();
    // `..` would lead out of the hierarchy.
    if within.split('/').any(|part| part == "..") || !root.exists(&folder) {
        return Err(GroupError::Missing { path: path.to_owned(), folder });
    }
    Ok(Group { path: format!("/{within}"), folder, version: mount.version })
}

/// The group of that folder of the hierarchy, if its memory has a limit.
pub(super) fn limited(root: &Root, mount: &MemoryCgroup, folder: &str) -> Option<Group> {
    let limits = match mount.version {
        Version::V1 => LIMITS_OF_V1,
        Version::V2 => LIMITS_OF_V2,
    };
    limits.into_iter().any(|file| limit_in(root, folder, file).is_some()).then(|| Group {
        path: format!("/{}", folder.strip_prefix(&mount.folder).unwrap_or(folder).trim_matches('/')),
        folder: folder.to_owned(),
        version: mount.version,
    })
}

/// The group of this process; `None` when that is the whole host, or there is none.
#[must_use]
pub fn own(root: &Root) -> Option<Group> {
    let MemoryCgroup { folder, .. } = own_memory_cgroup(root).ok()?;
    find(root, &folder).ok().filter(|group| group.path != "/")
}

impl Group {
    /// Name of the source, path and parser of each text it has.
    pub fn texts(&self, root: &Root) -> Vec<(&'static str, String, Parse)> {
        let files = TEXTS.iter().map(|(source, file, parse)| (*source, self.file(file), *parse));
        files.filter(|(_, path, _)| root.exists(path)).collect()
    }

    /// Where a file of it is.
    #[must_use]
    pub fn file(&self, name: &str) -> String {
        format!("{}/{name}", self.folder)
    }

    /// What tells its numbers from those of other groups. A comma would end a label: it is written as the kernel writes
    /// blanks in paths.
    #[must_use]
    pub fn label(&self) -> String {
        format!("cgroup={}", self.path.replace(',', "\\054"))
    }

    /// Its levels and limits.
    #[must_use]
    pub fn number_files(&self) -> Vec<NumberFile> {
        let names: &[&str] = match self.version {
            Version::V1 => &LEVELS_OF_V1,
            Version::V2 => &LEVELS_OF_V2,
        };
        let file = |name: &&str| NumberFile {
            path: self.file(name),
            name: name.trim_start_matches("memory.").to_owned(),
            labels: self.label(),
        };
        names.iter().map(file).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host() -> (tempfile::TempDir, Root) {
        Root::of_files(&[
            ("/proc/self/cgroup", "0::/batch\n"),
            ("/proc/self/mountinfo", "30 29 0:26 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw\n"),
            ("/sys/fs/cgroup/cgroup.controllers", "cpu memory\n"),
            ("/sys/fs/cgroup/batch/memory.stat", "anon 4096\nfile 0\npgfault 7\n"),
            ("/sys/fs/cgroup/batch/memory.max", "max\n"),
        ])
    }

    #[test]
    fn a_group_is_found_by_its_path_or_its_folder_and_only_within_the_hierarchy() {
        let (_folder, root) = host();
        let group = find(&root, "batch/").unwrap();
        assert_eq!(group.path, "/batch");
        assert_eq!(find(&root, "/sys/fs/cgroup/batch"), Ok(group.clone()));
        assert_eq!(own(&root), Some(group.clone()));
        assert_eq!(group.texts(&root).len(), 1, "no events and no pressure on this one");
        assert!(matches!(find(&root, "/nowhere"), Err(GroupError::Missing { .. })));
        assert!(matches!(find(&root, "/batch/../../.."), Err(GroupError::Missing { .. })));
    }
}

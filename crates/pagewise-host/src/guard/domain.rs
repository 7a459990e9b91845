//! What is guarded: a memory node, or a cgroup with a limit; and which cgroups a pattern stands for.

use crate::cgroup::{Version, memory_mount};
use crate::root::Root;
use glob::{MatchOptions, Pattern};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Which one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DomainName {
    /// A memory node.
    Node(u32),
    /// A cgroup, by its path within the memory hierarchy.
    Cgroup(String),
}

impl fmt::Display for DomainName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DomainName::Node(node) => write!(f, "node {node}"),
            DomainName::Cgroup(path) => write!(f, "cgroup {path}"),
        }
    }
}

/// A cgroup with a limit of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Limited {
    /// Its path within the hierarchy.
    pub(super) path: String,
    /// Its folder.
    pub(super) folder: String,
    pub(super) version: Version,
}

/// No hierarchy is deeper, and no more groups of one pattern are guarded.
const DEEPEST: usize = 32;
const MOST: usize = 1024;

/// Where a version says how much a group may hold, the lowest first that is set.
fn limit_files(version: Version) -> &'static [&'static str] {
    match version {
        Version::V1 => &["memory.limit_in_bytes"],
        Version::V2 => &["memory.high", "memory.max"],
    }
}

/// What a group may hold; `None` without a limit. Version 1 shows none as the largest multiple of a page below 2^63.
pub(super) fn limit(root: &Root, folder: &str, version: Version) -> Option<u64> {
    let number = |file: &&str| root.read(&format!("{folder}/{file}")).ok()?.trim().parse::<u64>().ok();
    limit_files(version).iter().filter_map(number).filter(|limit| *limit < 1 << 60).min()
}

/// Every cgroup of a pattern that has a limit of its own: of its path, or without a slash of its name.
///
/// # Errors
/// A sentence, for a pattern that is none and where there is no memory hierarchy.
pub(super) fn limited(root: &Root, pattern: &str) -> Result<Vec<Limited>, String> {
    let parsed = Pattern::new(pattern).map_err(|error| format!("'{pattern}' is no pattern: {error}"))?;
    let mount = memory_mount(root)?;
    let options = MatchOptions { require_literal_separator: true, ..MatchOptions::new() };
    let fits = |path: &str, name: &str| parsed.matches_with(if pattern.contains('/') { path } else { name }, options);
    let mut found = Vec::new();
    let mut folders = vec![(mount.folder.clone(), 0)];
    while let Some((folder, depth)) = folders.pop() {
        for name in root.list(&folder).unwrap_or_default() {
            let below = format!("{folder}/{name}");
            if found.len() >= MOST || depth >= DEEPEST || !is_group(root, &below) {
                continue;
            }
            let path = below.strip_prefix(mount.folder.as_str()).unwrap_or(&below).to_owned();
            if fits(&path, &name) && limit(root, &below, mount.version).is_some() {
                found.push(Limited { path, folder: below.clone(), version: mount.version });
            }
            folders.push((below, depth + 1));
        }
    }
    Ok(found)
}

pub(super) fn is_group(root: &Root, folder: &str) -> bool {
    root.exists(&format!("{folder}/cgroup.procs"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pagewise_testkit::FakeHost;

    /// Containers of YARN on version 2: two with a limit, one without.
    fn host() -> FakeHost {
        let host = FakeHost::empty();
        host.write("/proc/self/mountinfo", "30 20 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
        host.write("/sys/fs/cgroup/cgroup.controllers", "memory\n");
        host.write("/sys/fs/cgroup/yarn/cgroup.procs", "");
        for (name, high, max) in [("c1", "max", "1073741824"), ("c2", "536870912", "1073741824"), ("c3", "max", "max")]
        {
            let folder = format!("/sys/fs/cgroup/yarn/{name}");
            host.write(&format!("{folder}/cgroup.procs"), "");
            host.write(&format!("{folder}/memory.high"), &format!("{high}\n"));
            host.write(&format!("{folder}/memory.max"), &format!("{max}\n"));
        }
        host
    }

    #[test]
    fn a_pattern_is_of_a_path_or_of_a_name_and_means_groups_with_a_limit() {
        let host = host();
        let root = Root::at(host.path());
        let found = |pattern: &str| {
            let mut paths: Vec<String> = limited(&root, pattern).unwrap().into_iter().map(|one| one.path).collect();
            paths.sort();
            paths
        };
        assert_eq!(found("/yarn/*"), ["/yarn/c1", "/yarn/c2"]);
        assert_eq!((found("c*"), found("c2"), found("/*")), (found("/yarn/*"), vec!["/yarn/c2".to_owned()], vec![]));
        assert_eq!(found("/**/c1"), ["/yarn/c1"]);
        assert!(limited(&root, "***").unwrap_err().contains("no pattern"));
        let folder = "/sys/fs/cgroup/yarn/c2";
        assert_eq!(limit(&root, folder, Version::V2), Some(512 << 20), "the lower of the two");
    }
}

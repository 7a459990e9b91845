//! Where a tunable's file is on this host.

use super::TunableError;
use crate::cgroup::{self, MemoryCgroup, Version};
use crate::root::Root;
use pagewise_core::tunable::{Key, Tunable};
use std::cell::OnceCell;

/// Finds files of many tunables: where control groups are mounted is looked up once.
#[derive(Debug)]
pub(super) struct Locator<'r> {
    pub(super) root: &'r Root,
    mount: OnceCell<Result<MemoryCgroup, String>>,
    own: OnceCell<Option<String>>,
}

impl<'r> Locator<'r> {
    pub(super) fn new(root: &'r Root) -> Locator<'r> {
        Locator { root, mount: OnceCell::new(), own: OnceCell::new() }
    }

    fn mount(&self) -> Result<&MemoryCgroup, String> {
        self.mount.get_or_init(|| cgroup::memory_mount(self.root)).as_ref().map_err(Clone::clone)
    }

    /// The group we are in, as its path below the mount point.
    pub(super) fn own_cgroup(&self) -> Option<&str> {
        let find = || {
            let mount = self.mount().ok()?;
            let own = cgroup::own_memory_cgroup(self.root).ok()?;
            let below = own.folder.strip_prefix(&mount.folder).unwrap_or_default();
            Some(if below.is_empty() { "/".to_owned() } else { below.to_owned() })
        };
        self.own.get_or_init(find).as_deref()
    }

    /// Files of a tunable with key and mount point filled in.
    pub(super) fn candidates(&self, tunable: &Tunable) -> Result<Vec<String>, TunableError> {
        if tunable.descriptor.key != Key::Cgroup {
            return Ok(tunable.paths());
        }
        let mount = self.mount().map_err(|why| missing(tunable, why))?;
        let filled = |path: String| path.replace("{cgroup}", &mount.folder).replace("//", "/");
        Ok(tunable.paths().into_iter().map(filled).collect())
    }
}

/// The first of its files that exists.
pub(super) fn of(root: &Root, tunable: &Tunable) -> Result<String, TunableError> {
    let candidates = candidates(root, tunable)?;
    let found = candidates.iter().find(|path| root.exists(path));
    found.cloned().ok_or_else(|| missing(tunable, why_missing(root, tunable, &candidates)))
}

/// Its files with key and mount point filled in.
pub(super) fn candidates(root: &Root, tunable: &Tunable) -> Result<Vec<String>, TunableError> {
    Locator::new(root).candidates(tunable)
}

fn missing(tunable: &Tunable, why: String) -> TunableError {
    TunableError::Missing { tunable: tunable.name.clone(), why }
}

fn why_missing(root: &Root, tunable: &Tunable, candidates: &[String]) -> String {
    let first = candidates.first().map(String::as_str).unwrap_or_default();
    let path = root.path(first);
    let path = path.display();
    match tunable.descriptor.key {
        Key::PageSize => format!("this kernel has no huge pages of that size, or no setting for them ({path})"),
        Key::Device => {
            format!("there is no such block device ({path}); see: ls {}", root.path("/sys/block").display())
        }
        Key::Cgroup => why_no_cgroup_file(root, first),
        Key::None | Key::Word | Key::Argument => {
            format!("this kernel has no {path} (since {})", tunable.descriptor.source)
        }
    }
}

fn why_no_cgroup_file(root: &Root, path: &str) -> String {
    let (folder, file) = path.rsplit_once('/').unwrap_or((path, ""));
    let folder_here = root.path(folder);
    if !root.exists(folder) {
        return format!("there is no control group {}", folder_here.display());
    }
    let version = match cgroup::memory_mount(root).map(|mount| mount.version) {
        Ok(Version::V1) => "version 1",
        Ok(Version::V2) => "version 2",
        Err(_) => "another version",
    };
    format!("the memory controller is {version} here, and {} has no {file}", folder_here.display())
}

/// The name of the limit's file in the version of control groups this host has, and the run's own group.
pub(super) fn job_file(root: &Root, tunable: &Tunable) -> Result<(Version, String), TunableError> {
    let own = cgroup::own_memory_cgroup(root).map_err(|why| missing(tunable, why))?;
    let files = tunable.descriptor.paths.iter().filter_map(|path| path.rsplit('/').next());
    let fitting = files.into_iter().find(|file| version_of(file) == own.version);
    let file = fitting.map(str::to_owned).ok_or_else(|| {
        let here = if own.version == Version::V1 { 1 } else { 2 };
        missing(tunable, format!("the memory controller is version {here} here, which has nothing like it"))
    })?;
    Ok((own.version, file))
}

/// Version 1 has the unit in its names; `memory.swappiness` was not taken over into version 2.
fn version_of(file: &str) -> Version {
    let is_v1 = file.ends_with("_in_bytes") || file == "memory.swappiness";
    if is_v1 { Version::V1 } else { Version::V2 }
}

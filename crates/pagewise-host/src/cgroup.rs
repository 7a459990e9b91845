//! Control groups: which versions are mounted, which controllers sit where, which memory cgroup is ours, and whether a job can
//! have a child of it.

use crate::root::{Root, plain};
use pagewise_core::kernel_text::controllers;
use std::path::PathBuf;

/// How the memory controller is attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Version {
    /// A hierarchy of its own (`memory.limit_in_bytes`).
    V1,
    /// The unified hierarchy (`memory.max`).
    V2,
}

/// The memory cgroup this process is in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryCgroup {
    /// Which interface its files follow.
    pub version: Version,
    /// Its folder, below the tree's root, such as `/sys/fs/cgroup/memory/batch`.
    pub folder: String,
}

/// One mounted cgroup file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mount {
    pub(crate) version: Version,
    /// Controllers of a v1 hierarchy; empty for v2, where they stand in `cgroup.controllers`.
    controllers: Vec<String>,
    point: String,
    /// The cgroup that is mounted there: `/`, or below it in a container.
    inside: String,
}

/// The memory cgroup of this process, or the reason why there is none to see.
///
/// # Errors
/// A sentence that says which file was missing or what it lacked.
pub fn own_memory_cgroup(root: &Root) -> Result<MemoryCgroup, String> {
    let (mount, own) = own_place(root)?;
    Ok(MemoryCgroup { version: mount.version, folder: own })
}

/// The mount with the memory controller, and our own folder below it.
fn own_place(root: &Root) -> Result<(Mount, String), String> {
    place_of(root, "self")
}

fn place_of(root: &Root, process: &str) -> Result<(Mount, String), String> {
    let membership = root.read(&format!("/proc/{process}/cgroup")).map_err(|e| e.to_string())?;
    let mount = mount_with_memory(root)?;
    let path = own_path(&membership, &mount).ok_or("/proc/self/cgroup does not list the memory hierarchy")?;
    let below = path.strip_prefix(mount.inside.trim_end_matches('/')).unwrap_or(path);
    let folder = format!("{}/{}", mount.point, below.trim_matches('/'));
    let own = folder.trim_end_matches('/').to_owned();
    Ok((mount, own))
}

/// The folder of a process's memory cgroup, with its version; `None` where that is the one of everything.
///
/// # Errors
/// A sentence that says which file was missing or what it lacked.
pub(crate) fn memory_cgroup_of(root: &Root, pid: u32) -> Result<Option<(String, Version)>, String> {
    let (mount, own) = place_of(root, &pid.to_string())?;
    Ok((own != mount.point.trim_end_matches('/')).then_some((own, mount.version)))
}

pub(crate) fn mounts(root: &Root) -> Result<Vec<Mount>, String> {
    root.read("/proc/self/mountinfo").map(|text| parse_mounts(&text)).map_err(|e| e.to_string())
}

/// Where the hierarchy with the memory controller is mounted, or the reason why none is.
///
/// # Errors
/// A sentence that says which file was missing or what it lacked.
pub fn memory_mount(root: &Root) -> Result<MemoryCgroup, String> {
    mount_with_memory(root).map(|mount| MemoryCgroup { version: mount.version, folder: mount.point })
}

fn mount_with_memory(root: &Root) -> Result<Mount, String> {
    let with_memory = mounts(root)?.into_iter().find(|mount| has_memory(root, mount));
    with_memory.ok_or_else(|| "no mounted cgroup hierarchy has the memory controller".to_owned())
}

fn has_memory(root: &Root, mount: &Mount) -> bool {
    match mount.version {
        Version::V1 => mount.controllers.iter().any(|name| name == "memory"),
        Version::V2 => root
            .read(&format!("{}/cgroup.controllers", mount.point))
            .is_ok_and(|text| text.split_whitespace().any(|name| name == "memory")),
    }
}

/// Lines are `ID:CONTROLLERS:PATH`; the unified hierarchy has no controllers (`man 7 cgroups`).
fn own_path<'a>(membership: &'a str, mount: &Mount) -> Option<&'a str> {
    membership.lines().find_map(|line| {
        let mut parts = line.splitn(3, ':');
        let (_, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
        let ours = match mount.version {
            Version::V1 => controllers.split(',').any(|name| name == "memory"),
            Version::V2 => controllers.is_empty(),
        };
        ours.then_some(path)
    })
}

/// Reads `/proc/PID/mountinfo` (`man 5 proc`): fields, then `-`, then type, source and the file system's own options.
fn parse_mounts(mountinfo: &str) -> Vec<Mount> {
    mountinfo.lines().filter_map(parse_mount).collect()
}

fn parse_mount(line: &str) -> Option<Mount> {
    let (fields, rest) = line.split_once(" - ")?;
    let mut fields = fields.split(' ').skip(3);
    let (inside, point) = (fields.next()?.to_owned(), fields.next()?.to_owned());
    let mut rest = rest.split(' ');
    let (kind, _source, options) = (rest.next()?, rest.next()?, rest.next()?);
    let version = match kind {
        "cgroup" => Version::V1,
        "cgroup2" => Version::V2,
        _ => return None,
    };
    let controllers = if version == Version::V1 { options.split(',').map(str::to_owned).collect() } else { vec![] };
    Some(Mount { version, controllers, point, inside })
}

/// Whether a job can be put into a cgroup of its own beside or below ours, with the memory controller: made and removed
/// again, as the only answer that counts. Returns the cgroup it was made in.
///
/// # Errors
/// A sentence with the reason.
pub fn try_child(root: &Root) -> Result<MemoryCgroup, String> {
    let parent = parent_of_children(root)?;
    let child = root.path(&format!("{}/pagewise-probe-{}", parent.folder, std::process::id()));
    std::fs::create_dir(&child).map_err(|e| format!("cannot make a cgroup below ours: {}", plain(&e)))?;
    let usable = child.join(limit_file(parent.version)).exists();
    // A cgroup folder is removed by rmdir alone; the files in it are the kernel's.
    std::fs::remove_dir(&child).map_err(|e| format!("cannot remove {} again: {e}", child.display()))?;
    if usable { Ok(parent) } else { Err(format!("children of {} do not get the memory controller", parent.folder)) }
}

/// The memory cgroup in which a job's own can be made: ours in v1, in v2 the nearest one that hands the controller on.
///
/// # Errors
/// A sentence with the reason.
pub fn parent_of_children(root: &Root) -> Result<MemoryCgroup, String> {
    let (mount, own) = own_place(root)?;
    Ok(MemoryCgroup { version: mount.version, folder: parent_for_children(root, &mount, own)? })
}

/// In v2 only a cgroup that hands the controller on has children with memory files, and one with processes of its own
/// cannot (`Documentation/admin-guide/cgroup-v2.rst`, no internal processes): the nearest one above that does.
fn parent_for_children(root: &Root, mount: &Mount, own: String) -> Result<String, String> {
    if mount.version == Version::V1 {
        return Ok(own);
    }
    let mut folder = own.as_str();
    loop {
        let hands_on = root.read(&format!("{folder}/cgroup.subtree_control")).unwrap_or_default();
        if hands_on.split_whitespace().any(|controller| controller == "memory") {
            return Ok(folder.to_owned());
        }
        match folder.rsplit_once('/') {
            Some((above, _)) if folder != mount.point => folder = above,
            _ => return Err("no cgroup above ours hands on the memory controller".to_owned()),
        }
    }
}

/// `v1`, `v2` or `hybrid`, by which hierarchies with controllers are mounted; `None` when none is.
#[must_use]
pub fn versions(root: &Root) -> Option<String> {
    let mounts = mounts(root).ok()?;
    let v1 = mounts.iter().any(|mount| !controllers(root, mount).is_empty() && mount.version == Version::V1);
    let v2 = mounts.iter().any(|mount| mount.version == Version::V2);
    match (v1, v2) {
        (true, true) => Some("hybrid".to_owned()),
        (true, false) => Some("v1".to_owned()),
        (false, true) => Some("v2".to_owned()),
        (false, false) => None,
    }
}

/// The controllers of a hierarchy. Options of a v1 mount that are none are left out, and so is a `name=` hierarchy.
pub(crate) fn controllers(root: &Root, mount: &Mount) -> Vec<String> {
    match mount.version {
        Version::V1 => {
            mount.controllers.iter().filter(|name| controllers::NAMES.contains(&name.as_str())).cloned().collect()
        }
        Version::V2 => {
            let text = root.read(&format!("{}/cgroup.controllers", mount.point)).unwrap_or_default();
            text.split_whitespace().map(str::to_owned).collect()
        }
    }
}

/// What a job can still be given before the limit of our own cgroup or one above it; `None` when nothing limits us, or
/// none of it can be read.
#[must_use]
pub fn room(root: &Root) -> Option<u64> {
    let (mount, own) = own_place(root).ok()?;
    let (limit, usage) = match mount.version {
        Version::V1 => ("memory.limit_in_bytes", "memory.usage_in_bytes"),
        Version::V2 => ("memory.max", "memory.current"),
    };
    let mut folder = own.as_str();
    let mut least = None;
    while folder.len() >= mount.point.len() {
        if let Some(limit) = limit_in(root, folder, limit) {
            let room = limit.saturating_sub(number_in(root, folder, usage).unwrap_or(0));
            least = Some(least.map_or(room, |least: u64| least.min(room)));
        }
        folder = folder.rsplit_once('/').map_or("", |(above, _)| above);
    }
    least
}

fn number_in(root: &Root, folder: &str, file: &str) -> Option<u64> {
    root.read(&format!("{folder}/{file}")).ok()?.trim().parse().ok()
}

/// The limit that a file of a group has, in bytes; `None` where nothing is limited by it. Version 2 writes `max` for that, version 1 the largest
/// multiple of a page below 2^63.
pub(crate) fn limit_in(root: &Root, folder: &str, file: &str) -> Option<u64> {
    number_in(root, folder, file).filter(|limit| *limit < 1 << 62)
}

/// The least limit of memory (bytes) and of CPUs on the way from a process's control group up; `None` where nothing limits it,
/// or none of it can be read. CPUs are read of version 2 alone.
#[must_use]
pub fn limits_of(root: &Root, pid: i32) -> (Option<u64>, Option<f64>) {
    let Ok((mount, own)) = place_of(root, &pid.to_string()) else { return (None, None) };
    let file = limit_file(mount.version).display().to_string();
    let (mut memory, mut cpus): (Option<u64>, Option<f64>) = (None, None);
    let mut folder = own.as_str();
    while folder.len() >= mount.point.len() {
        if let Some(limit) = limit_in(root, folder, &file) {
            memory = Some(memory.map_or(limit, |least| least.min(limit)));
        }
        let quota = root.read(&format!("{folder}/cpu.max")).ok().and_then(|text| {
            let (quota, period) = text.trim().split_once(' ')?;
            Some(quota.parse::<f64>().ok()? / period.parse::<f64>().ok().filter(|period| *period > 0.0)?)
        });
        if let Some(quota) = quota {
            cpus = Some(cpus.map_or(quota, |least| least.min(quota)));
        }
        folder = folder.rsplit_once('/').map_or("", |(above, _)| above);
    }
    (memory, cpus)
}

/// The file that limits memory, which is there only when the controller is.
fn limit_file(version: Version) -> PathBuf {
    PathBuf::from(match version {
        Version::V1 => "memory.limit_in_bytes",
        Version::V2 => "memory.max",
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use pagewise_testkit::FakeHost;

    const HYBRID: &str = "\
30 25 0:26 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n\
31 30 0:27 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n\
32 30 0:28 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n";

    #[test]
    fn on_a_hybrid_host_memory_is_found_on_the_v1_side() {
        let mounts = parse_mounts(HYBRID);
        assert_eq!(mounts.len(), 2);
        assert_eq!(mounts[0].controllers, ["rw", "memory"]);
        assert_eq!(own_path("4:memory:/a/b\n0::/x\n", &mounts[0]), Some("/a/b"));
        assert_eq!(own_path("4:memory:/a/b\n0::/x\n", &mounts[1]), Some("/x"));
    }

    #[test]
    fn in_a_container_the_part_above_its_mount_is_not_ours_to_name() {
        let fake = FakeHost::empty().file("/proc/self/cgroup", "4:memory:/docker/abc/job\n").file(
            "/proc/self/mountinfo",
            "31 30 0:27 /docker/abc /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n",
        );
        let own = own_memory_cgroup(&Root::at(fake.path())).expect("a memory cgroup");
        assert_eq!(own.folder, "/sys/fs/cgroup/memory/job");
    }

    #[test]
    fn the_tightest_limit_on_the_way_up_is_the_room_that_is_left() {
        let group = "/sys/fs/cgroup/system.slice/batch.service";
        let fake = FakeHost::modern();
        assert_eq!(room(&Root::at(fake.path())), None, "max is no limit");
        let fake = fake
            .file(&format!("{group}/memory.max"), "9000\n")
            .file("/sys/fs/cgroup/system.slice/memory.max", "5000\n")
            .file("/sys/fs/cgroup/system.slice/memory.current", "1000\n")
            .file(&format!("{group}/memory.current"), "500\n");
        assert_eq!(room(&Root::at(fake.path())), Some(4000));
    }

    #[test]
    fn versions_are_told_by_where_controllers_sit() {
        for (fake, version) in [(FakeHost::rhel6(), "v1"), (FakeHost::debian11(), "v2"), (FakeHost::hybrid(), "hybrid")]
        {
            assert_eq!(versions(&Root::at(fake.path())).as_deref(), Some(version));
        }
        assert_eq!(versions(&Root::at(FakeHost::empty().path())), None);
    }

    #[test]
    fn a_v2_job_gets_the_nearest_cgroup_above_that_hands_memory_on() {
        let fake =
            FakeHost::debian11().file("/sys/fs/cgroup/user.slice/user-0.slice/cgroup.subtree_control", "memory pids\n");
        let root = Root::at(fake.path());
        let (mount, own) = own_place(&root).expect("a memory hierarchy");
        let parent = parent_for_children(&root, &mount, own.clone());
        assert_eq!(parent.as_deref(), Ok("/sys/fs/cgroup/user.slice/user-0.slice"));
        fake.write("/sys/fs/cgroup/user.slice/user-0.slice/cgroup.subtree_control", "pids\n");
        assert!(parent_for_children(&root, &mount, own).is_err());
    }
}

//! Control groups: which versions are mounted, which controllers sit where, and whether a job can have a child of our
//! own memory cgroup.

use crate::root::Root;
use std::path::PathBuf;

/// How the memory controller is attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
struct Mount {
    version: Version,
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
    let mounts = parse_mounts(&root.read("/proc/self/mountinfo").map_err(|e| e.to_string())?);
    let membership = root.read("/proc/self/cgroup").map_err(|e| e.to_string())?;
    let mount = mounts
        .iter()
        .find(|mount| has_memory(root, mount))
        .ok_or("no mounted cgroup hierarchy has the memory controller")?;
    let path = own_path(&membership, mount).ok_or("/proc/self/cgroup does not list the memory hierarchy")?;
    let below = path.strip_prefix(mount.inside.trim_end_matches('/')).unwrap_or(path);
    let folder = format!("{}/{}", mount.point, below.trim_matches('/'));
    Ok(MemoryCgroup { version: mount.version, folder: folder.trim_end_matches('/').to_owned() })
}

/// Where the hierarchy with the memory controller is mounted, or the reason why none is.
///
/// # Errors
/// A sentence that says which file was missing or what it lacked.
pub fn memory_mount(root: &Root) -> Result<MemoryCgroup, String> {
    let mounts = parse_mounts(&root.read("/proc/self/mountinfo").map_err(|e| e.to_string())?);
    let mount = mounts.into_iter().find(|mount| has_memory(root, mount));
    mount
        .map(|mount| MemoryCgroup { version: mount.version, folder: mount.point })
        .ok_or_else(|| "no mounted cgroup hierarchy has the memory controller".to_owned())
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

/// Whether a job can be put into a child of our memory cgroup: made and removed again, as the only answer that counts.
///
/// # Errors
/// A sentence with the reason.
pub fn try_child(root: &Root) -> Result<MemoryCgroup, String> {
    let own = own_memory_cgroup(root)?;
    let child = root.path(&format!("{}/pagewise-probe-{}", own.folder, std::process::id()));
    std::fs::create_dir(&child).map_err(|e| format!("cannot create {}: {e}", child.display()))?;
    let usable = child.join(limit_file(own.version)).exists();
    // A cgroup folder is removed by rmdir alone; the files in it are the kernel's.
    std::fs::remove_dir(&child).map_err(|e| format!("cannot remove {} again: {e}", child.display()))?;
    if usable { Ok(own) } else { Err(format!("children of {} do not get the memory controller", own.folder)) }
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
}

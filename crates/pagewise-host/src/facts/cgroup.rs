//! Control groups as far as a job can use them: the hierarchies, and a cgroup of its own.

use crate::cgroup::{Version, controllers, mounts, own_memory_cgroup, room, try_child, versions};
use crate::root::Root;
use pagewise_core::report::doctor::{Area, Capability};
use pagewise_core::unit::Bytes;

const AREA: Area = Area::Cgroups;

pub(super) fn probe(root: &Root) -> Vec<Capability> {
    vec![hierarchies(root), child(root).compares("memory limits")]
}

fn hierarchies(root: &Root) -> Capability {
    let (id, what) = ("cgroup.versions", "versions");
    let mounts = match mounts(root) {
        Ok(mounts) => mounts,
        Err(_) if !root.is_live() => return Capability::unknown(AREA, id, what, super::NOT_CAPTURED, ""),
        Err(error) => return Capability::unknown(AREA, id, what, error, ""),
    };
    let of = |version: Version| {
        let names: Vec<String> =
            mounts.iter().filter(|m| m.version == version).flat_map(|mount| controllers(root, mount)).collect();
        if names.is_empty() { "no controller".to_owned() } else { names.join(", ") }
    };
    match versions(root).as_deref() {
        None => {
            Capability::no(AREA, id, what, "no cgroup hierarchy is mounted", "mount cgroup2, or start a cgroup manager")
        }
        Some("v1") => Capability::yes(AREA, id, what, format!("v1: {}", of(Version::V1))),
        Some("v2") => Capability::yes(AREA, id, what, format!("v2: {}", of(Version::V2))),
        Some(_) => {
            let value = format!("hybrid; v1: {}; v2: {}", of(Version::V1), of(Version::V2));
            Capability::yes(AREA, id, what, value)
        }
    }
}

fn child(root: &Root) -> Capability {
    let (id, what) = ("cgroup.memory", "cgroup for the job");
    let own = match own_memory_cgroup(root) {
        Ok(own) => own,
        Err(_) if !root.is_live() => return Capability::unknown(AREA, id, what, super::NOT_CAPTURED, ""),
        Err(error) => {
            return Capability::no(AREA, id, what, error, "boot with cgroup_enable=memory, or mount the controller");
        }
    };
    let limits = room(root).map_or("no limit above it".to_owned(), |room| format!("{} left above it", Bytes(room)));
    let version = match own.version {
        Version::V1 => "v1",
        Version::V2 => "v2",
    };
    if !root.is_live() {
        let why = format!("memory is on {version}, {limits}; whether a cgroup can be made was {}", super::ANOTHER_HOST);
        return Capability::unknown(AREA, id, what, why, "");
    }
    match try_child(root) {
        Ok(_) => Capability::yes(AREA, id, what, format!("memory controller {version}, {limits}")),
        Err(error) => {
            let remedy = match own.version {
                Version::V1 => "run as root; without it a run's processes are its process group",
                Version::V2 => "start with: systemd-run --scope -p Delegate=yes (--user when not root)",
            };
            Capability::no(AREA, id, what, error, remedy)
        }
    }
}

//! Page reclaim and compaction: watermarks, dirty limits, MGLRU, DAMON, reclaim on demand, read-ahead.

use super::privilege::Privilege;
use super::{Setting, kernel};
use crate::cgroup;
use crate::root::Root;
use pagewise_core::report::doctor::{Area, Capability, State};

const AREA: Area = Area::Reclaim;
const OTHER_KERNEL: &str = "boot a kernel that has it, such as Debian's latest";

pub(super) fn probe(root: &Root) -> Vec<Capability> {
    vec![
        sysctls(root, "vm.watermarks", "watermarks", &WATERMARKS).compares("watermarks"),
        sysctls(root, "vm.compaction", "compaction", &COMPACTION).compares("compaction"),
        sysctls(root, "vm.dirty", "dirty limits", &DIRTY).compares("dirty limits"),
        sysctls(root, "vm.caches", "caches, overcommit", &CACHES).compares("overcommit and cache pressure"),
        numa_balancing(root).compares("NUMA balancing"),
        read_ahead(root).compares("read-ahead"),
        mglru(root).compares("MGLRU"),
        node_reclaim(root),
        cgroup_reclaim(root),
        guard(root).compares("the guard"),
        damon(root),
        damon_reclaim(root),
    ]
}

/// File below `/proc/sys/vm` and the word it is shown by.
type Named = (&'static str, &'static str);
const WATERMARKS: [Named; 3] =
    [("min_free_kbytes", "min_free_kbytes"), ("watermark_scale_factor", "scale"), ("watermark_boost_factor", "boost")];
const COMPACTION: [Named; 2] = [("compaction_proactiveness", "proactiveness"), ("defrag_mode", "defrag_mode")];
const DIRTY: [Named; 4] = [
    ("dirty_ratio", "ratio"),
    ("dirty_background_ratio", "background"),
    ("dirty_bytes", "bytes"),
    ("dirty_background_bytes", "background bytes"),
];
const CACHES: [Named; 3] = [
    ("vfs_cache_pressure", "vfs_cache_pressure"),
    ("overcommit_memory", "overcommit_memory"),
    ("zone_reclaim_mode", "zone_reclaim_mode"),
];

/// Several sysctls as one line: those there with their values, those this kernel lacks by name.
fn sysctls(root: &Root, id: &str, what: &str, names: &[Named]) -> Capability {
    let mut values: Vec<String> = Vec::new();
    let mut absent: Vec<&str> = Vec::new();
    let mut readable = None;
    for (file, word) in names {
        let path = format!("/proc/sys/vm/{file}");
        match root.read(&path) {
            Ok(text) => {
                values.push(format!("{word} {}", text.trim()));
                readable = Some(path);
            }
            Err(_) => absent.push(file),
        }
    }
    let Some(path) = readable else {
        if !super::shows(root, "/proc/sys/vm") {
            return Capability::unknown(AREA, id, what, super::NOT_CAPTURED, "");
        }
        let why = format!("none of {} is here", absent.join(", "));
        return Capability::no(AREA, id, what, why, OTHER_KERNEL);
    };
    if !absent.is_empty() {
        values.push(format!("this kernel has no {}", absent.join(", ")));
    }
    super::limited_if_read_only(Capability::yes(AREA, id, what, values.join(", ")), root, &path)
}

fn numa_balancing(root: &Root) -> Capability {
    let setting = Setting {
        area: AREA,
        id: "kernel.numa_balancing",
        what: "NUMA balancing",
        path: "/proc/sys/kernel/numa_balancing",
        absent: "this kernel was built without it (CONFIG_NUMA_BALANCING); on one node it changes nothing",
        remedy: "",
    };
    setting.ask(root, |value| if value == "0" { "off".to_owned() } else { format!("on ({value})") })
}

fn read_ahead(root: &Root) -> Capability {
    let (id, what) = ("block.read_ahead_kb", "read-ahead");
    let devices = root.list("/sys/block").unwrap_or_default();
    let file = |device: &str| format!("/sys/block/{device}/queue/read_ahead_kb");
    // Loop and RAM devices come in dozens and are not where a job's data is.
    let real = devices.iter().filter(|name| !["loop", "ram", "zram"].iter().any(|kind| name.starts_with(kind)));
    let found: Vec<(&String, String)> =
        real.filter_map(|name| Some((name, root.read(&file(name)).ok()?.trim().to_owned()))).collect();
    let Some((first, _)) = found.first() else {
        if !super::shows(root, "/sys/block") {
            return Capability::unknown(AREA, id, what, super::NOT_CAPTURED, "");
        }
        return Capability::no(AREA, id, what, "no disk shows its read_ahead_kb", "");
    };
    let shown: Vec<String> = found.iter().take(4).map(|(name, kib)| format!("{name} {kib} KiB")).collect();
    let more = if found.len() > 4 { format!(" and {} more", found.len() - 4) } else { String::new() };
    let capability = Capability::yes(AREA, id, what, shown.join(", ") + &more);
    super::limited_if_read_only(capability, root, &file(first))
}

fn mglru(root: &Root) -> Capability {
    let absent = kernel::missing_since(root, 6, 1, "CONFIG_LRU_GEN");
    let setting =
        Setting { area: AREA, id: "mglru", what: "MGLRU", path: MGLRU, absent: &absent, remedy: OTHER_KERNEL };
    setting.ask(root, |enabled| {
        let on = if is_on(enabled) { "on" } else { "off" };
        let ttl = root.read("/sys/kernel/mm/lru_gen/min_ttl_ms").unwrap_or_default();
        format!("{on} ({enabled}), min_ttl_ms {}", ttl.trim())
    })
}

/// Which parts of MGLRU are on, as a mask: `0x0007`.
const MGLRU: &str = "/sys/kernel/mm/lru_gen/enabled";

fn is_on(mask: &str) -> bool {
    !mask.trim().trim_start_matches("0x").chars().all(|digit| digit == '0')
}

/// Whether the kernel reclaims by generations (MGLRU) now.
pub(crate) fn by_generations(root: &Root) -> bool {
    root.read(MGLRU).is_ok_and(|mask| is_on(&mask))
}

/// The generations of MGLRU, by cgroup and node: where debugfs is mounted by everybody.
pub(crate) const GENERATIONS: &str = "/sys/kernel/debug/lru_gen";

/// The file of each node that has one.
fn node_files(root: &Root) -> Vec<String> {
    let nodes = root.list("/sys/devices/system/node").unwrap_or_default();
    let file = |node: &String| format!("/sys/devices/system/node/{node}/reclaim");
    nodes.iter().map(file).filter(|path| root.exists(path)).collect()
}

/// Whether this process may see which files all others read: without that right only those of its own user, with no more rights than it
/// has, are followed.
#[must_use]
pub fn sees_all_files(root: &Root) -> bool {
    Privilege::of_self(root).is_some_and(|held| held.has("CAP_SYS_PTRACE"))
}

/// Whether this process may have the kernel take pages from its lists: by a node's file (`/sys/devices/system/node/node*/reclaim`, 6.17), by `memory.reclaim` of all
/// cgroups (version 2, 5.19), or by generation (MGLRU's file in debugfs, 6.1).
#[must_use]
pub fn takes_from_lists(root: &Root) -> bool {
    let of_all = cgroup::memory_mount(root).ok().map(|mount| format!("{}/memory.reclaim", mount.folder));
    let others = of_all.into_iter().chain([GENERATIONS.to_owned()]).filter(|path| root.exists(path));
    node_files(root).into_iter().chain(others).any(|path| super::write_refusal(root, &path).is_none())
}

/// What a guard of this process cannot do for want of a right, in a sentence.
#[must_use]
pub fn guard_lacks(root: &Root) -> Option<String> {
    if sees_all_files(root) {
        return None;
    }
    let rest = if takes_from_lists(root) {
        "streams of those are taken from the kernel's lists"
    } else {
        "and it may not take anything from the kernel's lists: what others stream it leaves to the kernel. Run it as root"
    };
    Some(format!("without CAP_SYS_PTRACE it does not see the files of every process: {rest}"))
}

/// What `pagewise guard run` can take page cache back by.
fn guard(root: &Root) -> Capability {
    let (id, what) = ("guard", "guard");
    if !root.is_live() {
        return Capability::unknown(AREA, id, what, super::ANOTHER_HOST, "");
    }
    let takes = if takes_from_lists(root) { ", and from the kernel's lists" } else { "" };
    let found = Capability::yes(AREA, id, what, format!("takes page cache behind streams{takes}"));
    if sees_all_files(root) {
        return found;
    }
    found.with(State::Limited, "it does not see which files other users' processes read", "run as root")
}

/// Write-only files; 6.17 and later (kernel commit b980077899ea).
fn node_reclaim(root: &Root) -> Capability {
    let (id, what) = ("reclaim.node", "reclaim of a node");
    let nodes = root.list("/sys/devices/system/node").unwrap_or_default();
    let with = node_files(root);
    match with.first() {
        Some(path) => {
            let value = if with.len() == 1 { "1 node".to_owned() } else { format!("{} nodes", with.len()) };
            let capability = Capability::yes(AREA, id, what, value);
            match super::write_refusal(root, path) {
                None => capability,
                Some((why, remedy)) => Capability::no(AREA, id, what, why, remedy),
            }
        }
        None if nodes.is_empty() && !root.is_live() && kernel::is_older_than(root, 6, 17) != Some(true) => {
            Capability::unknown(AREA, id, what, super::NOT_CAPTURED, "")
        }
        None => Capability::no(AREA, id, what, kernel::missing_since(root, 6, 17, "CONFIG_NUMA"), OTHER_KERNEL),
    }
}

/// `memory.reclaim` of version 2, 5.19 and later; version 1 has `memory.force_empty`, which takes all there is.
fn cgroup_reclaim(root: &Root) -> Capability {
    let (id, what) = ("reclaim.cgroup", "reclaim of a cgroup");
    let own = match cgroup::own_memory_cgroup(root) {
        Ok(own) => own,
        Err(_) if !root.is_live() => return Capability::unknown(AREA, id, what, super::NOT_CAPTURED, ""),
        Err(error) => return Capability::no(AREA, id, what, error, "mount the memory controller"),
    };
    if own.version == cgroup::Version::V1 {
        let why = "memory.reclaim needs the memory controller on cgroup v2; here it is on v1";
        let remedy = "memory.force_empty takes all of a job's cache; for less, boot with cgroup_no_v1=memory";
        return Capability::no(AREA, id, what, why, remedy);
    }
    let path = format!("{}/memory.reclaim", own.folder);
    if !root.exists(&path) {
        return Capability::no(AREA, id, what, kernel::missing_since(root, 5, 19, "CONFIG_MEMCG"), OTHER_KERNEL);
    }
    match super::write_refusal(root, &path) {
        None => Capability::yes(AREA, id, what, "memory.reclaim"),
        Some((_, remedy)) => Capability::no(AREA, id, what, "memory.reclaim is not ours to write", remedy),
    }
}

fn damon(root: &Root) -> Capability {
    let absent = kernel::missing_since(root, 5, 18, "CONFIG_DAMON_SYSFS");
    let setting = Setting {
        area: AREA,
        id: "damon.sysfs",
        what: "DAMON",
        path: "/sys/kernel/mm/damon/admin/kdamonds/nr_kdamonds",
        absent: &absent,
        remedy: OTHER_KERNEL,
    };
    setting.ask(root, |threads| match threads {
        "0" => "no monitor in use".to_owned(),
        "1" => "1 monitor set up".to_owned(),
        more => format!("{more} monitors set up"),
    })
}

fn damon_reclaim(root: &Root) -> Capability {
    let absent = kernel::missing_since(root, 5, 16, "CONFIG_DAMON_RECLAIM");
    let setting = Setting {
        area: AREA,
        id: "damon.reclaim",
        what: "DAMON_RECLAIM",
        path: "/sys/module/damon_reclaim/parameters/enabled",
        absent: &absent,
        remedy: OTHER_KERNEL,
    };
    setting.ask(root, |enabled| if enabled == "Y" { "on".to_owned() } else { "off".to_owned() })
}

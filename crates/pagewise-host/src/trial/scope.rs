//! Where a run lives, so that all of it can be counted and ended: a child of our memory cgroup where that can be had,
//! else the sessions of the commands that were started.

use crate::root::Root;
use crate::source::process;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// A place for one run.
#[derive(Debug)]
pub struct Scope {
    cgroup: Option<MemoryCgroup>,
    /// Why there is no cgroup, when there is none.
    pub no_cgroup_because: Option<String>,
}

/// A memory cgroup of our own.
#[derive(Debug)]
struct MemoryCgroup {
    folder: PathBuf,
    version: CgroupVersion,
}

/// Which interface a memory cgroup has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CgroupVersion {
    /// `memory.limit_in_bytes` and friends.
    V1,
    /// `memory.max` and friends.
    V2,
}

/// The run's cgroup could not be given what the policy asks for.
#[derive(Debug, thiserror::Error)]
pub enum ScopeError {
    /// A limit needs a cgroup.
    #[error("the policy limits the job's cgroup, but the run gets none: {because}")]
    NoCgroup {
        /// Why.
        because: String,
    },
    /// The limit was refused.
    #[error("cannot write '{value}' to {}: {source}", path.display())]
    Limit {
        /// The value.
        value: String,
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl Scope {
    /// Makes a place for a run. Never fails: without a cgroup it says why and counts by session.
    #[must_use]
    pub fn create(root: &Root, name: &str) -> Scope {
        match create_cgroup(root, name) {
            Ok(cgroup) => Scope { cgroup: Some(cgroup), no_cgroup_because: None },
            Err(because) => Scope { cgroup: None, no_cgroup_because: Some(because) },
        }
    }

    /// Writes the limits a policy asks for. Names are those of version 2; on version 1 they are translated.
    ///
    /// # Errors
    /// When there is no cgroup, or the kernel refuses.
    pub fn limit(&self, limits: &BTreeMap<String, String>) -> Result<(), ScopeError> {
        if limits.is_empty() {
            return Ok(());
        }
        let Some(cgroup) = &self.cgroup else {
            let because = self.no_cgroup_because.clone().unwrap_or_default();
            return Err(ScopeError::NoCgroup { because });
        };
        for (file, value) in limits {
            let (file, value) = cgroup.version.own_name(file, value);
            let path = cgroup.folder.join(&file);
            fs::write(&path, &value).map_err(|source| ScopeError::Limit { value, path, source })?;
        }
        Ok(())
    }

    /// The cgroup's folder, for starting commands in it.
    #[must_use]
    pub fn folder(&self) -> Option<&Path> {
        self.cgroup.as_ref().map(|cgroup| cgroup.folder.as_path())
    }

    /// Every process of the run: those in the cgroup, or those in the sessions of `leaders`.
    #[must_use]
    pub fn processes(&self, root: &Root, leaders: &[u32]) -> Vec<u32> {
        match &self.cgroup {
            Some(cgroup) => cgroup.processes(),
            None => process::pids(root)
                .into_iter()
                .filter(|pid| process::session(root, *pid).is_some_and(|session| leaders.contains(&session)))
                .collect(),
        }
    }

    /// Most memory charged to the run so far, page cache included, in bytes; or why that is not known.
    ///
    /// # Errors
    /// The reason, in words.
    pub fn peak(&self) -> Result<u64, String> {
        let Some(cgroup) = &self.cgroup else {
            return Err(self.no_cgroup_because.clone().unwrap_or_default());
        };
        let file = match cgroup.version {
            CgroupVersion::V1 => "memory.max_usage_in_bytes",
            CgroupVersion::V2 => "memory.peak",
        };
        let path = cgroup.folder.join(file);
        let text = fs::read_to_string(&path).map_err(|error| format!("cannot read {file}: {error}"))?;
        text.trim().parse().map_err(|_| format!("{file} says '{}'", text.trim()))
    }

    /// How many processes of the run the kernel killed for lack of memory. `None` without a cgroup or on kernels that
    /// do not count it per cgroup (`oom_kill` in v1's `memory.oom_control` is from 4.13 on).
    #[must_use]
    pub fn oom_kills(&self) -> Option<u64> {
        let cgroup = self.cgroup.as_ref()?;
        let file = match cgroup.version {
            CgroupVersion::V1 => "memory.oom_control",
            CgroupVersion::V2 => "memory.events",
        };
        let text = fs::read_to_string(cgroup.folder.join(file)).ok()?;
        text.lines().find_map(|line| line.strip_prefix("oom_kill "))?.trim().parse().ok()
    }

    /// Kills what is left of the run and removes the cgroup.
    pub fn remove(self) {
        let Some(cgroup) = self.cgroup else { return };
        cgroup.kill_all();
        if let Err(error) = fs::remove_dir(&cgroup.folder) {
            tracing::warn!("cannot remove the run's cgroup {}: {error}", cgroup.folder.display());
        }
    }
}

impl CgroupVersion {
    /// The file and value this version knows a limit of version 2 by.
    fn own_name(self, file: &str, value: &str) -> (String, String) {
        if self == CgroupVersion::V2 {
            return (file.to_owned(), value.to_owned());
        }
        let value = if value == "max" { "-1" } else { value };
        let file = match file {
            "memory.max" => "memory.limit_in_bytes",
            "memory.high" | "memory.low" => "memory.soft_limit_in_bytes",
            "memory.swap.max" => "memory.memsw.limit_in_bytes",
            other => other,
        };
        (file.to_owned(), value.to_owned())
    }
}

impl MemoryCgroup {
    fn processes(&self) -> Vec<u32> {
        let listed = fs::read_to_string(self.folder.join("cgroup.procs")).unwrap_or_default();
        listed.lines().filter_map(|line| line.parse().ok()).collect()
    }

    /// SIGKILL until nothing is left, for at most two seconds: a process may fork between listing and killing.
    fn kill_all(&self) {
        let deadline = Instant::now() + Duration::from_secs(2);
        loop {
            let left = self.processes();
            if left.is_empty() || Instant::now() > deadline {
                return;
            }
            for pid in left.into_iter().filter_map(|pid| rustix::process::Pid::from_raw(pid as i32)) {
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
            }
            thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Our own memory cgroup as `/proc/self/cgroup` names it: a v1 hierarchy with the memory controller, else the v2 one.
fn create_cgroup(root: &Root, name: &str) -> Result<MemoryCgroup, String> {
    let own = root.read("/proc/self/cgroup").map_err(|error| error.to_string())?;
    let mounts = root.read("/proc/self/mounts").map_err(|error| error.to_string())?;
    let (version, parent) = memory_parent(root, &own, &mounts)?;
    let folder = parent.join(name);
    fs::create_dir(&folder).map_err(|error| format!("cannot make a cgroup below {}: {error}", parent.display()))?;
    let usage = match version {
        CgroupVersion::V1 => "memory.usage_in_bytes",
        CgroupVersion::V2 => "memory.current",
    };
    if folder.join(usage).exists() {
        return Ok(MemoryCgroup { folder, version });
    }
    let _ = fs::remove_dir(&folder);
    Err(format!("a cgroup below {} has no memory controller", parent.display()))
}

/// The folder below which a child with the memory controller can be made.
fn memory_parent(root: &Root, own: &str, mounts: &str) -> Result<(CgroupVersion, PathBuf), String> {
    let v1 = own.lines().find_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next()?, parts.next()?);
        controllers.split(',').any(|controller| controller == "memory").then_some(path)
    });
    if let Some(path) = v1 {
        let mount = mount_point(mounts, |kind, options| kind == "cgroup" && options.split(',').any(|o| o == "memory"))
            .ok_or("the v1 memory controller is not mounted")?;
        return Ok((CgroupVersion::V1, below(root, mount, path)));
    }
    let path = own.lines().find_map(|line| line.strip_prefix("0::")).ok_or("this process is in no cgroup")?;
    let mount = mount_point(mounts, |kind, _| kind == "cgroup2").ok_or("cgroup v2 is not mounted")?;
    // In v2 only a cgroup that hands the controller on has children with memory files, and one that holds processes
    // itself must not (Documentation/admin-guide/cgroup-v2.rst, "no internal processes"): so climb to one that does.
    let top = below(root, mount, "/");
    let mut folder = below(root, mount, path);
    loop {
        let hands_on = fs::read_to_string(folder.join("cgroup.subtree_control")).unwrap_or_default();
        if hands_on.split_whitespace().any(|controller| controller == "memory") {
            return Ok((CgroupVersion::V2, folder));
        }
        if folder == top || !folder.pop() {
            return Err("no cgroup above this process hands on the memory controller; start pagewise with \
                        'systemd-run --scope -p Delegate=yes', or as root"
                .to_owned());
        }
    }
}

fn mount_point(mounts: &str, wanted: impl Fn(&str, &str) -> bool) -> Option<&str> {
    mounts.lines().find_map(|line| {
        let fields: Vec<&str> = line.split(' ').collect();
        let (point, kind, options) = (*fields.get(1)?, *fields.get(2)?, *fields.get(3)?);
        wanted(kind, options).then_some(point)
    })
}

fn below(root: &Root, mount: &str, path: &str) -> PathBuf {
    let base = root.path(mount);
    match path.trim_start_matches('/') {
        "" => base,
        relative => base.join(relative),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const V1_MOUNTS: &str =
        "cgroup /sys/fs/cgroup/memory cgroup rw,nosuid,memory 0 0\nnone /sys/fs/cgroup/unified cgroup2 rw 0 0\n";

    #[test]
    fn the_v1_memory_controller_is_found_beside_an_empty_v2_hierarchy() {
        let (version, parent) = memory_parent(&Root::live(), "4:memory:/jobs/7\n0::/\n", V1_MOUNTS).unwrap();
        assert_eq!((version, parent), (CgroupVersion::V1, PathBuf::from("/sys/fs/cgroup/memory/jobs/7")));
    }

    #[test]
    fn in_v2_we_climb_to_a_cgroup_that_hands_the_controller_on() {
        let tree = tempfile::tempdir().unwrap();
        let slice = tree.path().join("sys/fs/cgroup/user.slice");
        fs::create_dir_all(slice.join("session.scope")).unwrap();
        fs::write(slice.join("cgroup.subtree_control"), "cpu memory\n").unwrap();
        fs::write(slice.join("session.scope/cgroup.subtree_control"), "\n").unwrap();
        let mounts = "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n";
        let root = Root::at(tree.path());
        let found = memory_parent(&root, "0::/user.slice/session.scope\n", mounts).unwrap();
        assert_eq!(found, (CgroupVersion::V2, slice));
        assert!(memory_parent(&root, "0::/other\n", mounts).unwrap_err().contains("Delegate=yes"));
    }

    #[test]
    fn version_1_knows_limits_by_its_own_names() {
        assert_eq!(
            CgroupVersion::V1.own_name("memory.max", "max"),
            ("memory.limit_in_bytes".to_owned(), "-1".to_owned())
        );
        assert_eq!(CgroupVersion::V2.own_name("memory.max", "4G"), ("memory.max".to_owned(), "4G".to_owned()));
    }
}

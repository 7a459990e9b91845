//! Where a run lives, so that all of it can be counted and ended: a child of our memory cgroup where that can be had,
//! else the sessions of the commands that were started.

use crate::cgroup::{self, Version};
use crate::root::{self, Root};
use crate::source::process;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// A run's cgroup is called this and the pid of the Pagewise that made it.
const NAME: &str = "pagewise-";

/// The cgroup of what goes on beside a run ends like this.
const BESIDE: &str = "-beside";

/// Removes the cgroups of runs whose Pagewise was killed together with its watcher. One that still holds processes stays
/// and is named in the log: what they are is not ours to guess.
pub fn remove_leftovers(root: &Root) {
    let Ok(parent) = cgroup::parent_of_children(root) else { return };
    let left = root.list(&parent.folder).unwrap_or_default().into_iter().filter(|name| {
        let owner = name.strip_prefix(NAME).map(|rest| rest.strip_suffix(BESIDE).unwrap_or(rest));
        let owner = owner.and_then(|pid| pid.parse().ok());
        owner.is_some_and(|pid| process::start_time(root, pid).is_none())
    });
    for name in left {
        let folder = root.path(&parent.folder).join(name);
        if let Err(error) = fs::remove_dir(&folder) {
            tracing::warn!("a killed run left the cgroup {}, and it cannot be removed: {error}", folder.display());
        }
    }
}

/// A place for one run.
#[derive(Debug)]
pub struct Scope {
    cgroup: Option<RunCgroup>,
    /// Why there is no cgroup, when there is none.
    pub no_cgroup_because: Option<String>,
}

/// A memory cgroup of our own.
#[derive(Debug)]
struct RunCgroup {
    folder: PathBuf,
    version: Version,
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
    pub fn create(root: &Root) -> Scope {
        Scope::called(root, &format!("{NAME}{}", std::process::id()))
    }

    /// A place beside it, for what goes on while the run is timed and is no part of it.
    #[must_use]
    pub fn beside(root: &Root) -> Scope {
        Scope::called(root, &format!("{NAME}{}{BESIDE}", std::process::id()))
    }

    fn called(root: &Root, name: &str) -> Scope {
        match create_cgroup(root, name) {
            Ok(cgroup) => Scope { cgroup: Some(cgroup), no_cgroup_because: None },
            Err(because) => Scope { cgroup: None, no_cgroup_because: Some(because) },
        }
    }

    /// Writes the limits a policy asks for: file name to value, in the names of the version this host has.
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
            let path = cgroup.folder.join(file);
            fs::write(&path, value).map_err(|source| ScopeError::Limit { value: value.clone(), path, source })?;
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
            Version::V1 => "memory.max_usage_in_bytes",
            Version::V2 => "memory.peak",
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
            Version::V1 => "memory.oom_control",
            Version::V2 => "memory.events",
        };
        let text = fs::read_to_string(cgroup.folder.join(file)).ok()?;
        named(&text, "oom_kill ")
    }

    /// Seconds of CPU time in user mode of all processes of the run, those that nobody waited for among them. `None` where its cgroup does not
    /// count them, as with version 1.
    #[must_use]
    pub fn user_time(&self) -> Option<f64> {
        let text = fs::read_to_string(self.cgroup.as_ref()?.folder.join("cpu.stat")).ok()?;
        Some(named(&text, "user_usec ")? as f64 * 1e-6)
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

impl RunCgroup {
    fn processes(&self) -> Vec<u32> {
        let listed = File::open(self.folder.join("cgroup.procs")).and_then(root::whole).unwrap_or_default();
        let listed = String::from_utf8_lossy(&listed);
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

/// The number behind `name` in a file of such lines.
fn named(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name))?.trim().parse().ok()
}

/// A child of our memory cgroup, or beside it, with the memory controller.
fn create_cgroup(root: &Root, name: &str) -> Result<RunCgroup, String> {
    let parent = cgroup::parent_of_children(root)?;
    let folder = root.path(&parent.folder).join(name);
    fs::create_dir(&folder).map_err(|error| format!("cannot make a cgroup below {}: {error}", parent.folder))?;
    let usage = match parent.version {
        Version::V1 => "memory.usage_in_bytes",
        Version::V2 => "memory.current",
    };
    if folder.join(usage).exists() {
        return Ok(RunCgroup { folder, version: parent.version });
    }
    let _ = fs::remove_dir(&folder);
    Err(format!("a cgroup below {} has no memory controller", parent.folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_without_a_cgroup_is_refused_with_the_reason() {
        let scope = Scope::create(&Root::at("/nonexistent"));
        assert!(scope.folder().is_none() && scope.peak().is_err());
        assert!(scope.limit(&BTreeMap::new()).is_ok());
        let limits = BTreeMap::from([("memory.max".to_owned(), "1G".to_owned())]);
        let error = scope.limit(&limits).unwrap_err().to_string();
        assert!(error.contains("gets none: cannot read"), "{error}");
    }

    #[test]
    fn the_cgroup_of_a_killed_run_is_removed_and_that_of_a_live_one_is_not() {
        pagewise_testkit::requires!(root, memory_cgroup);
        let root = Root::live();
        let parent = root.path(&cgroup::parent_of_children(&root).unwrap().folder);
        // Above the largest pid there can be: nobody's.
        let dead = parent.join(format!("{NAME}4194999"));
        let dead_beside = parent.join(format!("{NAME}4194999{BESIDE}"));
        let live = parent.join(format!("{NAME}1"));
        fs::create_dir(&dead).unwrap();
        fs::create_dir(&dead_beside).unwrap();
        fs::create_dir(&live).unwrap();
        remove_leftovers(&root);
        let (dead_is_there, live_is_there) = (dead.exists() || dead_beside.exists(), live.exists());
        let _ = fs::remove_dir(&dead);
        let _ = fs::remove_dir(&dead_beside);
        fs::remove_dir(&live).unwrap();
        assert!(!dead_is_there && live_is_there);
    }
}

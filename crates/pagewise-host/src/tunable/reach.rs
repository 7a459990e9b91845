//! Settings of the whole host that not everything on it goes by.

use super::Resolved;
use crate::cgroup::{self, Version};
use crate::root::Root;

const SWAPPINESS: &str = "vm.swappiness";
const OF_GROUP: &str = "memory.swappiness";

/// What of a policy does not reach what Pagewise starts here, in a sentence.
///
/// With version 1 of control groups `vm.swappiness` is that of the root group alone: each other memory group has a
/// `memory.swappiness`, taken over from its parent when it is made (`mem_cgroup_swappiness()` in `include/linux/swap.h`,
/// `mem_cgroup_css_alloc()` in `mm/memcontrol.c`, 6.18). A job's group is made below ours.
#[must_use]
pub fn out_of_reach(root: &Root, resolved: &Resolved) -> Option<String> {
    let wanted = resolved.host.iter().find(|setting| setting.tunable.name == SWAPPINESS)?;
    if resolved.job.cgroup_limits.contains_key(OF_GROUP) {
        return None;
    }
    let (own, mount) = (cgroup::own_memory_cgroup(root).ok()?, cgroup::memory_mount(root).ok()?);
    let group = own.folder.strip_prefix(&mount.folder).filter(|group| !group.is_empty())?;
    let named = format!("cgroup[{group}].{OF_GROUP}");
    if own.version != Version::V1 || resolved.host.iter().any(|setting| setting.tunable.name == named) {
        return None;
    }
    let keeps = root.read(&format!("{}/{OF_GROUP}", own.folder)).ok()?;
    let keeps = keeps.trim();
    (keeps != wanted.value).then(|| {
        format!(
            "{SWAPPINESS} does not reach {group}, the memory group of this process, nor the jobs it starts: with version 1 of \
             control groups a group keeps a swappiness of its own, here {keeps}. cgroup[job].{OF_GROUP} reaches a job that \
             Pagewise starts, cgroup[PATH].{OF_GROUP} a group that is there"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tunable::{HostSetting, Places, resolve};
    use pagewise_testkit::FakeHost;

    const V1: &str = "30 20 0:25 / /sys/fs/cgroup/memory rw shared:9 - cgroup cgroup rw,memory\n";

    fn said(fake: &FakeHost, policy: &str) -> Option<String> {
        let root = Root::at(fake.path());
        let places = Places { state: "/state".into(), cache: "/cache".into() };
        out_of_reach(&root, &resolve(&root, &places, &policy.parse().unwrap()).unwrap())
    }

    fn host(own: &str, swappiness: &str) -> FakeHost {
        FakeHost::empty()
            .sysctl("vm.swappiness", "60")
            .file("/proc/self/cgroup", &format!("4:memory:{own}\n"))
            .file("/proc/self/mountinfo", V1)
            .file("/sys/fs/cgroup/memory/memory.swappiness", "60\n")
            .file(&format!("/sys/fs/cgroup/memory{}/memory.swappiness", own.trim_end_matches('/')), swappiness)
    }

    #[test]
    fn a_group_of_version_1_keeps_its_own_swappiness() {
        let fake = host("/docker/abc", "60\n");
        let told = said(&fake, "vm.swappiness=10").expect("a sentence");
        assert!(told.contains("does not reach /docker/abc") && told.contains("here 60"), "{told}");
        assert_eq!(said(&fake, "vm.swappiness=60"), None, "it has that value");
        assert_eq!(said(&fake, "vm.swappiness=10,cgroup[job].memory.swappiness=10"), None, "the job has its own");
        assert_eq!(said(&fake, "vm.swappiness=10,cgroup[/docker/abc].memory.swappiness=10"), None, "so has the group");
        assert_eq!(said(&fake, "now"), None);
    }

    #[test]
    fn the_root_group_and_version_2_go_by_the_hosts() {
        assert_eq!(said(&host("/", "60\n"), "vm.swappiness=10"), None);
        let mut resolved = Resolved::default();
        resolved.host.push(HostSetting {
            tunable: pagewise_core::tunable::find(SWAPPINESS).unwrap(),
            value: "10".to_owned(),
            coupled: Vec::new(),
        });
        let fake = FakeHost::empty()
            .file("/proc/self/cgroup", "0::/batch\n")
            .file("/proc/self/mountinfo", "30 20 0:25 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n")
            .file("/sys/fs/cgroup/cgroup.controllers", "cpu memory\n");
        assert_eq!(out_of_reach(&Root::at(fake.path()), &resolved), None);
    }
}

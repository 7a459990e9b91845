//! Who we are to the kernel: user id and effective capabilities by name.

use crate::root::Root;
use pagewise_core::report::doctor::{Area, Capability, State};

/// Capabilities by their bit number in `CapEff` (`include/uapi/linux/capability.h`, Linux 6.18). Only those that
/// something in Pagewise needs, with what they are needed for.
pub const CAPABILITIES: [(&str, u32, &str); 8] = [
    ("CAP_SYS_ADMIN", 21, "swap on and off, mounts, some THP and cgroup files"),
    ("CAP_SYS_RESOURCE", 24, "pressure triggers with windows that are not multiples of 2 s"),
    ("CAP_PERFMON", 38, "events of other processes and of the whole host"),
    ("CAP_BPF", 39, "nothing by default; other tools' BPF programs"),
    ("CAP_SYS_PTRACE", 19, "memory maps and open files of other users' processes"),
    ("CAP_IPC_LOCK", 14, "locking the guard's own memory so that it never waits for reclaim"),
    ("CAP_SYS_NICE", 23, "advice on another process's memory, and priority of the guard"),
    ("CAP_DAC_OVERRIDE", 1, "files under /proc/sys and /sys that only their owner may write"),
];

/// What `/proc/self/status` says of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Privilege {
    /// Effective user id.
    pub euid: u32,
    /// Effective capabilities, a bit each.
    pub effective: u64,
}

impl Privilege {
    /// Of this process; `None` when the tree has no `/proc/self/status` that can be understood.
    #[must_use]
    pub fn of_self(root: &Root) -> Option<Self> {
        Self::parse(&root.read("/proc/self/status").ok()?)
    }

    fn parse(status: &str) -> Option<Self> {
        let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name));
        let euid = field("Uid:")?.split_whitespace().nth(1)?.parse().ok()?;
        let effective = u64::from_str_radix(field("CapEff:")?.trim(), 16).ok()?;
        Some(Privilege { euid, effective })
    }

    /// Whether it is root by user id. A root without some capability is common in containers.
    #[must_use]
    pub fn is_root(self) -> bool {
        self.euid == 0
    }

    /// Whether it has the capability of this name. An unknown name is one it does not have.
    #[must_use]
    pub fn has(self, name: &str) -> bool {
        CAPABILITIES.iter().any(|(known, bit, _)| *known == name && self.effective >> bit & 1 == 1)
    }
}

const AREA: Area = Area::Privileges;

pub(super) fn probe(root: &Root) -> Vec<Capability> {
    let Some(privilege) = Privilege::of_self(root).filter(|_| root.is_live()) else {
        let why = if root.is_live() { "/proc/self/status cannot be read" } else { super::ANOTHER_HOST };
        return vec![Capability::unknown(AREA, "privilege", "user, capabilities", why, "")];
    };
    let held: Vec<&str> = CAPABILITIES.iter().map(|(name, ..)| *name).filter(|name| privilege.has(name)).collect();
    let user = if privilege.is_root() {
        Capability::yes(AREA, "privilege.user", "user", "root")
    } else {
        let why = format!("user id {}: settings of the host can be read, not changed", privilege.euid);
        Capability::yes(AREA, "privilege.user", "user", "").with(State::Limited, why, "run as root")
    };
    let mut list = vec![user];
    if held.is_empty() {
        let why = "none of those that Pagewise can use";
        list.push(Capability::no(AREA, "privilege.held", "capabilities held", why, "run as root"));
        return list;
    }
    list.push(Capability::yes(AREA, "privilege.held", "capabilities held", held.join(", ")));
    list.extend(CAPABILITIES.iter().filter(|(name, ..)| !privilege.has(name)).map(|(name, _, needed_for)| {
        let remedy = if privilege.is_root() {
            "taken from this root, as containers do: run on the host, or add it there"
        } else {
            ""
        };
        let id = format!("privilege.{}", name.to_ascii_lowercase());
        Capability::no(AREA, &id, name, format!("needed for {needed_for}"), remedy)
    }));
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_root_without_one_capability_is_told_apart_from_full_root() {
        let status = "Name:\tx\nUid:\t0\t0\t0\t0\nCapEff:\t000001fffeffffff\n";
        let privilege = Privilege::parse(status).expect("a status file");
        assert!(privilege.is_root());
        assert!(privilege.has("CAP_SYS_ADMIN"));
        assert!(!privilege.has("CAP_SYS_RESOURCE"));
        assert!(!privilege.has("CAP_NO_SUCH_THING"));
    }

    #[test]
    fn the_effective_user_counts_and_not_the_real_one() {
        let privilege = Privilege::parse("Uid:\t0\t1000\t0\t0\nCapEff:\t0\n").expect("a status file");
        assert!(!privilege.is_root());
        assert!(!privilege.has("CAP_SYS_ADMIN"));
        assert_eq!(Privilege::parse("Uid:\n"), None);
    }
}

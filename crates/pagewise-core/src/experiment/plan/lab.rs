//! Points in guests: a plan whose kernels are booted in virtual machines, and how these are made.

use super::Plan;
use super::cells::{boot_settings, cells};
use crate::unit::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The virtual machine in which every point of a plan runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Lab {
    /// Its memory, fixed, such as `3G`.
    pub memory: String,
    /// Its processors.
    pub cpus: u32,
    /// NUMA nodes, over which memory and processors are spread.
    #[serde(skip_serializing_if = "is_one")]
    pub nodes: u32,
    /// What gets a boot of its own.
    pub boot: BootFor,
    /// The size of its disk, which holds data, swap files and whatever a run writes, such as `8G`.
    pub disk: String,
    /// Parameters of the kernel, beside those that Pagewise gives.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub append: String,
}

/// Bytes of memory below which a stock kernel does not come up, in each node.
pub const LEAST_MEMORY: u64 = 192 << 20;

/// Sizes of a disk that holds a file system with a journal, and that a file can have.
const DISKS: std::ops::RangeInclusive<u64> = 64 << 20..=8 << 40;

/// More processors than this are not emulated.
const MOST_CPUS: u32 = 255;

/// What gets a boot of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum BootFor {
    /// Every point: nothing of a run reaches the next.
    #[default]
    Point,
    /// The points of a block that need the same kernel: boots are whole plots.
    Block,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_one(nodes: &u32) -> bool {
    *nodes == 1
}

impl Default for Lab {
    fn default() -> Self {
        Lab {
            memory: "3G".to_owned(),
            cpus: 1,
            nodes: 1,
            boot: BootFor::Point,
            disk: "8G".to_owned(),
            append: String::new(),
        }
    }
}

impl Lab {
    /// Bytes of memory; what cannot be read is the default's. A plan that was checked can be read.
    #[must_use]
    pub fn memory_bytes(&self) -> Bytes {
        self.memory.parse().unwrap_or(Bytes(3 << 30))
    }

    /// Bytes of the disk, likewise.
    #[must_use]
    pub fn disk_bytes(&self) -> Bytes {
        self.disk.parse().unwrap_or(Bytes(8 << 30))
    }

    /// Keys that cannot be, each with why.
    #[must_use]
    pub fn problems(&self) -> Vec<(&'static str, String)> {
        let mut found = Vec::new();
        for (key, text) in [("memory", &self.memory), ("disk", &self.disk)] {
            if let Err(error) = text.parse::<Bytes>() {
                found.push((key, error.to_string()));
            }
        }
        let least = LEAST_MEMORY * u64::from(self.nodes.max(1));
        if self.memory.parse::<Bytes>().is_ok_and(|memory| memory.0 < least) {
            found.push((
                "memory",
                format!("a guest with {} of memory does not come up; give it {} or more", self.memory, Bytes(least)),
            ));
        }
        if self.disk.parse::<Bytes>().is_ok_and(|disk| !DISKS.contains(&disk.0)) {
            let (least, most) = (Bytes(*DISKS.start()), Bytes(*DISKS.end()));
            found.push(("disk", format!("a disk of {} cannot be made; write {least} to {most}", self.disk)));
        }
        if !(1..=MOST_CPUS).contains(&self.cpus) {
            found.push(("cpus", format!("a guest has 1 to {MOST_CPUS} processors")));
        }
        if self.nodes == 0 || self.nodes > self.cpus {
            found.push(("nodes", format!("{} nodes need as many processors, and there are {}", self.nodes, self.cpus)));
        }
        if self.append.contains(['"', '`', '\n']) {
            found.push(("append", "parameters of a kernel have no quotes and no line ends in them".to_owned()));
        }
        found
    }
}

/// Whether the value of `kernel` names one that is booted in a guest: Debian's by version, or an image or build tree by its path. A plain
/// release is one that the host itself boots.
#[must_use]
pub fn is_booted_in_a_guest(kernel: &str) -> bool {
    kernel.contains([':', '/'])
}

impl Plan {
    /// The guests in which its points run; `None` where they run on the host. A kernel that only a guest can have makes them run in
    /// guests also without a table of their own.
    #[must_use]
    pub fn guests(&self) -> Option<Lab> {
        let needs_guest = || {
            let cells = cells(self).unwrap_or_default();
            cells.iter().any(|cell| {
                boot_settings(&cell.policy)
                    .iter()
                    .any(|setting| setting.tunable.name == KERNEL && is_booted_in_a_guest(&setting.value))
            })
        };
        self.lab.clone().or_else(|| needs_guest().then(Lab::default))
    }

    /// Whether every point has a boot of its own: then a boot is no whole plot, and the cells of a block are in any order.
    #[must_use]
    pub fn boots_each_point(&self) -> bool {
        self.guests().is_some_and(|lab| lab.boot == BootFor::Point)
    }
}

/// The tunable that names the kernel.
pub const KERNEL: &str = "kernel";

#[cfg(test)]
mod tests {
    use super::super::source;

    fn plan(text: &str) -> super::Plan {
        let head = "name = 'x'\n[workload]\nname = 'command'\nrun = ['true']\n";
        source::read(&format!("{head}{text}"), "x.toml").unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn a_kernel_that_only_a_guest_can_have_makes_points_run_there() {
        let levels = |kernels: [&str; 2]| {
            plan(&format!(
                "[[factor]]\nname = 'kernel'\nlevels.old = 'kernel={}'\nlevels.new = 'kernel={}'\n",
                kernels[0], kernels[1]
            ))
        };
        assert!(levels(["6.1.0-50-amd64", "6.12.1"]).guests().is_none(), "the host boots these");
        let guests = levels(["debian:6.1", "debian:6.12"]).guests().unwrap();
        assert_eq!(guests, super::Lab::default());
        assert!(levels(["debian:6.1", "/linux/arch/x86/boot/bzImage"]).boots_each_point());
    }

    #[test]
    fn the_table_says_what_a_guest_is() {
        let found = plan(
            "[lab]\nmemory = '1G'\nboot = 'block'\n[[factor]]\nname = 'k'\nlevels.a = 'kernel=debian:6.1'\nlevels.b = 'kernel=debian:6.12'\n",
        );
        let guests = found.guests().unwrap();
        assert_eq!((guests.memory_bytes().0, guests.cpus), (1 << 30, 1));
        assert!(!found.boots_each_point());
    }
}

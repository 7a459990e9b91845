//! A kernel's build configuration (`/boot/config-RELEASE`, `.config` of a build tree) to what of memory management it has.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// The options of a configuration that are on: `y`, `m`, or a value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelConfig(BTreeMap<String, String>);

impl KernelConfig {
    /// Reads lines `CONFIG_NAME=VALUE`. What is commented out is off, and so is what is not there: an option whose dependencies are
    /// off has no line.
    #[must_use]
    pub fn parse(text: &str) -> KernelConfig {
        let option = |line: &str| {
            let (name, value) = line.trim().strip_prefix("CONFIG_")?.split_once('=')?;
            Some((name.to_owned(), value.trim_matches('"').to_owned()))
        };
        KernelConfig(text.lines().filter_map(option).collect())
    }

    /// Whether the option is built in or a module; `name` without `CONFIG_`.
    #[must_use]
    pub fn is_on(&self, name: &str) -> bool {
        matches!(self.0.get(name).map(String::as_str), Some("y" | "m"))
    }

    /// Whether this is a configuration at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Something a kernel may have, and may have switched off when it starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Presence {
    /// In the kernel and on after a boot.
    On,
    /// In the kernel, and off until somebody switches it on.
    OffByDefault,
    /// Not in the kernel.
    Absent,
}

impl fmt::Display for Presence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Presence::On => "on",
            Presence::OffByDefault => "off",
            Presence::Absent => "–",
        })
    }
}

/// What of memory management a kernel has, as its release and its configuration say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryFeatures {
    /// Multi-generational LRU (`CONFIG_LRU_GEN`, 6.1).
    pub mglru: Presence,
    /// Reclaim by DAMON (`CONFIG_DAMON_RECLAIM`, 5.16); a parameter switches it on.
    pub damon_reclaim: Presence,
    /// `/sys/devices/system/node/nodeN/reclaim` (6.17, with NUMA; `mm/vmscan.c`).
    pub node_reclaim: Presence,
    /// The memory controller, which control groups of version 2 have from 4.5 on.
    pub cgroup_memory: Presence,
    /// Huge pages of more sizes than one (6.8).
    pub mthp: Presence,
    /// Pressure stall information (4.20).
    pub psi: Presence,
}

impl MemoryFeatures {
    /// Those of a kernel of this version.
    #[must_use]
    pub fn of(config: &KernelConfig, version: (u32, u32)) -> MemoryFeatures {
        let has = |is_there: bool, is_on: bool| match (is_there, is_on) {
            (false, _) => Presence::Absent,
            (true, true) => Presence::On,
            (true, false) => Presence::OffByDefault,
        };
        let psi = config.is_on("PSI");
        MemoryFeatures {
            mglru: has(config.is_on("LRU_GEN"), config.is_on("LRU_GEN_ENABLED")),
            damon_reclaim: has(config.is_on("DAMON_RECLAIM"), false),
            node_reclaim: has(version >= (6, 17) && config.is_on("NUMA") && config.is_on("SYSFS"), true),
            cgroup_memory: has(version >= (4, 5) && config.is_on("MEMCG"), true),
            mthp: has(version >= (6, 8) && config.is_on("TRANSPARENT_HUGEPAGE"), false),
            psi: has(psi, !config.is_on("PSI_DEFAULT_DISABLED")),
        }
    }
}

/// The first two numbers of a release: (6, 12) of `6.12.107+deb13-amd64`.
#[must_use]
pub fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEBIAN_12: &str = "#\n# Linux/x86 6.1.170 Kernel Configuration\n#\nCONFIG_SYSFS=y\nCONFIG_NUMA=y\nCONFIG_MEMCG=y\n\
        CONFIG_PSI=y\n# CONFIG_PSI_DEFAULT_DISABLED is not set\nCONFIG_LRU_GEN=y\n# CONFIG_LRU_GEN_ENABLED is not set\n\
        CONFIG_TRANSPARENT_HUGEPAGE=y\nCONFIG_LOCALVERSION=\"\"\n";

    #[test]
    fn what_is_off_by_default_is_told_from_what_is_not_there() {
        let found = MemoryFeatures::of(&KernelConfig::parse(DEBIAN_12), (6, 1));
        assert_eq!(found.mglru, Presence::OffByDefault);
        assert_eq!((found.psi, found.cgroup_memory), (Presence::On, Presence::On));
        assert_eq!((found.mthp, found.node_reclaim), (Presence::Absent, Presence::Absent), "both came later");
        assert_eq!(found.damon_reclaim, Presence::Absent);
        let newer = MemoryFeatures::of(&KernelConfig::parse(DEBIAN_12), (6, 18));
        assert_eq!((newer.mthp, newer.node_reclaim), (Presence::OffByDefault, Presence::On));
    }

    #[test]
    fn a_release_begins_with_its_version() {
        assert_eq!(version("6.12.107+deb13-amd64"), Some((6, 12)));
        assert_eq!(version("6.1.0-50-amd64"), Some((6, 1)));
        assert_eq!(version("7.2-rc1"), Some((7, 2)));
        assert_eq!(version("custom"), None);
    }
}

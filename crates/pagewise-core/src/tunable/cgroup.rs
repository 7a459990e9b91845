//! Limits of a control group's memory, in both versions of the interface.
//!
//! A hard limit is one tunable under two names: version 1 has `memory.limit_in_bytes` where version 2 has
//! `memory.max`. The others have no counterpart with the same meaning and exist on one side only.

use super::descriptor::{Descriptor, Key};
use super::grammar::Grammar::{self, Integer, Limit};

/// The key that stands for the run's own control group.
pub(super) const JOB: &str = "job";

/// The hard limit's file in version 1.
pub const V1_LIMIT: &str = "memory.limit_in_bytes";

/// The hard limit's file in version 2.
pub const V2_LIMIT: &str = "memory.max";

macro_rules! cgroup {
    ($file:literal, [$($path:literal),+], $grammar:expr, $source:literal, $summary:literal) => {
        Descriptor::live(
            concat!("cgroup[PATH].", $file),
            &[$(concat!("{cgroup}/{key}/", $path)),+],
            $grammar as Grammar,
            $source,
            $summary,
        )
        .keyed(Key::Cgroup)
        .switched(
            1.0,
            9.0,
            "a lower limit reclaims at once; what it pushed out comes back by refaults when the limit rises again",
        )
        .noting("PATH begins with /, or is job: the run's own control group")
    };
}

pub(super) const ALL: &[Descriptor] = &[
    cgroup!(
        "memory.max",
        ["memory.max", "memory.limit_in_bytes"],
        Limit,
        "v2, 4.5; on v1 it is memory.limit_in_bytes; mm/memcontrol.c",
        "bytes the group may use; what cannot be reclaimed beyond it is OOM-killed"
    ),
    cgroup!(
        "memory.limit_in_bytes",
        ["memory.limit_in_bytes", "memory.max"],
        Limit,
        "v1, 2.6.25; on v2 it is memory.max; mm/memcontrol-v1.c",
        "bytes the group may use; what cannot be reclaimed beyond it is OOM-killed"
    ),
    cgroup!(
        "memory.high",
        ["memory.high"],
        Limit,
        "v2 only, 4.5; mm/memcontrol.c",
        "bytes above which the group is slowed down and reclaimed from"
    ),
    cgroup!(
        "memory.low",
        ["memory.low"],
        Limit,
        "v2 only, 4.5; mm/memcontrol.c",
        "bytes that are spared by reclaim while others have any"
    ),
    cgroup!("memory.min", ["memory.min"], Limit, "v2 only, 4.18; mm/memcontrol.c", "bytes that are never reclaimed"),
    cgroup!(
        "memory.swap.max",
        ["memory.swap.max"],
        Limit,
        "v2 only, 4.5; mm/memcontrol.c",
        "bytes of swap the group may use"
    ),
    cgroup!(
        "memory.memsw.limit_in_bytes",
        ["memory.memsw.limit_in_bytes"],
        Limit,
        "v1 only, 2.6.29; mm/memcontrol-v1.c",
        "bytes of memory and swap together; not below memory.limit_in_bytes"
    ),
    cgroup!(
        "memory.soft_limit_in_bytes",
        ["memory.soft_limit_in_bytes"],
        Limit,
        "v1 only, 2.6.32; mm/memcontrol-v1.c",
        "bytes the group is reclaimed down to when the host is short"
    ),
    cgroup!(
        "memory.swappiness",
        ["memory.swappiness"],
        Integer { min: 0, max: 200, step: 1 },
        "v1 only, 2.6.25; mm/memcontrol-v1.c",
        "vm.swappiness for this group alone"
    ),
];

//! Control groups, kernel threads, and the recorder itself.

use super::Name;
use super::RawUnit::Bytes as InBytes;
use super::prelude::*;

/// How version 1 has it, with the groups below.
const fn of_v1(of: &'static [Name]) -> Form {
    Form { of, less: &[], kernels: "cgroup v1" }
}

/// How version 2 has it.
const fn of_v2(of: &'static [Name]) -> Form {
    Form { of, less: &[], kernels: "cgroup v2" }
}

catalogue! {
    /// CPU time of kernel threads by name.
    KERNEL_THREAD_CPU = Quantity::total("threads", &[Is("cpu")], Nanoseconds)
        .each()
        .printed(&[PrintedSum::sum(&[(IMPORT, "thread_cpu_percent")])]);
    /// How often a control group went over its `memory.high`.
    CGROUP_HIGH = Quantity::total("cgroup_events", &[Is("high")], Count).each();
    /// How often a control group met its `memory.max`.
    CGROUP_MAX = Quantity::total("cgroup_events", &[Is("max")], Count).each();
    /// Allocations of a control group that met its limit (version 1).
    CGROUP_FAILCNT = Quantity::total("cgroup_memory", &[Is("failcnt")], Count).each();
    /// Memory that is charged to a control group, page cache included.
    CGROUP_USAGE = Quantity::level("cgroup_memory", &[Is("current")], InBytes).each().formerly(&[of_v1(&[Is("usage_in_bytes")])]);
    /// The limit of a control group; absent where it has none.
    CGROUP_LIMIT = Quantity::level("cgroup_memory", &[Is("max")], InBytes).each().formerly(&[of_v1(&[Is("limit_in_bytes")])]);
    /// The least of the limits of a control group and of those above it, as its `memory.stat` has it (version 1).
    CGROUP_LEAST_LIMIT = Quantity::level("cgroup_stat", &[Is("hierarchical_memory_limit")], InBytes).each();
    /// Control groups that have a memory limit, wherever they are in the hierarchy.
    CGROUPS_LIMITED = Quantity::level("cgroup_memory", &[Is("limited_groups")], Count);
    /// Those of them that are not recorded: there are too many, or they were not found yet.
    CGROUPS_LEFT_OUT = Quantity::level("cgroup_memory", &[Is("left_out_groups")], Count);
    /// Processes killed within a control group.
    CGROUP_OOM = Quantity::total("cgroup_events", &[Is("oom_kill")], Count).each();
    /// Time in which every task of a control group waited for memory.
    CGROUP_FULL = Quantity::total("cgroup_pressure", &[Is("full_total")], Microseconds).each();
    /// Memory of a container as `docker stats` prints it: without the page cache that was used once.
    CONTAINER_USED = Quantity::level(IMPORT, &[Is("container_used")], InBytes).each();
    /// Page cache and shared memory of a control group, with those below it.
    CGROUP_FILE = Quantity::level("cgroup_stat", &[Is("file")], InBytes).each().formerly(&[of_v1(&[Is("total_cache")])]);
    /// Shared memory of a control group.
    CGROUP_SHARED = Quantity::level("cgroup_stat", &[Is("total_shmem")], InBytes).each().formerly(&[of_v2(&[Is("shmem")])]);
    /// Page cache of a control group on the list of what was used once.
    CGROUP_INACTIVE_FILE = Quantity::level("cgroup_stat", &[Is("total_inactive_file")], InBytes)
        .each()
        .formerly(&[of_v2(&[Is("inactive_file")])]);
    /// Page cache of a control group that has to be written first, or is being written.
    CGROUP_DIRTY = Quantity::level("cgroup_stat", &[Is("file_dirty"), Is("file_writeback")], InBytes)
        .each()
        .formerly(&[of_v1(&[Is("total_dirty"), Is("total_writeback")])]);
    /// Anonymous memory of a control group.
    CGROUP_ANON = Quantity::level("cgroup_stat", &[Is("anon")], InBytes).each().formerly(&[of_v1(&[Is("total_rss")])]);
    /// Kernel memory of a control group that reclaim cannot get back (version 2).
    CGROUP_KERNEL = Quantity::level("cgroup_stat", &[Is("slab_unreclaimable"), Is("pagetables")], InBytes).each();
    /// Pages of a control group that came back soon after they had been reclaimed and had been in use (version 2).
    CGROUP_CAME_BACK = Quantity::total(
        "cgroup_stat",
        &[Is("workingset_activate_file"), Is("workingset_restore_file")],
        Pages,
    )
    .each();
    /// The same where the kernel reclaims by generations (MGLRU): pages that had been used through page tables, or several times.
    CGROUP_RESTORED = Quantity::total("cgroup_stat", &[Is("workingset_restore_file")], Pages).each();
    /// Pages that reclaim took from a control group (version 2).
    CGROUP_STOLEN = Quantity::total("cgroup_stat", &[Is("pgsteal")], Pages).each();
    /// CPU time that recording itself took.
    OWN_CPU = Quantity::total("self", &[Is("sampler_cpu"), Is("writer_cpu"), Is("walker_cpu")], Microseconds)
        .line(Panel::Own, "own_cpu", "CPU of the recorder", Share);
    /// Control groups that live (version 2, below the root).
    CGROUPS_LIVING = Quantity::level("cgroups", &[Is("nr_descendants")], Count)
        .since("4.14 (kernel/cgroup/cgroup.c), cgroup v2");
    /// Control groups that were removed and are still kept (version 2).
    CGROUPS_DYING = Quantity::level("cgroups", &[Is("nr_dying_descendants")], Count)
        .since("4.14 (kernel/cgroup/cgroup.c), cgroup v2");
    /// Control groups of each controller of version 1, those that were removed and are still kept among them.
    CGROUPS_OF_CONTROLLER = Quantity::level("controllers", &[Is("groups")], Count)
        .each()
        .since("2.6.24 (kernel/cgroup.c), cgroup v1");
}

//! Control groups, kernel threads, and the recorder itself.

use super::prelude::*;

catalogue! {
    /// CPU time of kernel threads by name.
    KERNEL_THREAD_CPU = Quantity::total("threads", &[Is("cpu")], Nanoseconds).each();
    /// How often a control group went over its `memory.high`.
    CGROUP_HIGH = Quantity::total("cgroup_events", &[Is("high")], Count).each();
    /// How often a control group met its `memory.max`.
    CGROUP_MAX = Quantity::total("cgroup_events", &[Is("max")], Count).each();
    /// Allocations of a control group that met its limit (version 1).
    CGROUP_FAILCNT = Quantity::total("cgroup_memory", &[Is("failcnt")], Count).each();
    /// Processes killed within a control group.
    CGROUP_OOM = Quantity::total("cgroup_events", &[Is("oom_kill")], Count).each();
    /// Time in which every task of a control group waited for memory.
    CGROUP_FULL = Quantity::total("cgroup_pressure", &[Is("full_total")], Microseconds).each();
    /// CPU time that recording itself took.
    OWN_CPU = Quantity::total("self", &[Is("sampler_cpu"), Is("writer_cpu"), Is("walker_cpu")], Microseconds)
        .line(Panel::Own, "own_cpu", "CPU of the recorder", Share);
}

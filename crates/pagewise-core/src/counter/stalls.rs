//! Allocations that had to wait, counted: for reclaim, for compaction, for ever.

use super::prelude::*;

catalogue! {
    /// Allocations that had to reclaim memory themselves (allocstall, all zones).
    ALLOCSTALL = Quantity::total("vmstat", &[PerZone("allocstall")], Count)
        .since("4.8 (include/linux/vm_event_item.h)")
        .formerly(&[Form { of: &[Is("allocstall")], less: &[], kernels: "to 4.7 (include/linux/vm_event_item.h)" }])
        .printed(&[PrintedSum::sum(&[(IMPORT, "allocstall_per_second")])])
        .line(Panel::Stalls, "allocstall", "direct reclaims", PerSecond)
        .column("stall", 5)
        .measure("alloc_stalls");
    /// Allocations that had to compact memory themselves (compact_stall).
    COMPACT_STALL = Quantity::total("vmstat", &[Is("compact_stall")], Count)
        .since("2.6.35 (mm/vmstat.c); Red Hat's 2.6.32")
        .printed(&[PrintedSum::sum(&[(IMPORT, "compact_stall_per_second")])])
        .line(Panel::Stalls, "compact_stall", "direct compactions", PerSecond)
        .column("cmp", 3)
        .measure("compact_stalls");
    /// Direct compactions that gave nothing.
    COMPACT_FAIL = Quantity::total("vmstat", &[Is("compact_fail")], Count)
        .since("2.6.35 (mm/vmstat.c); Red Hat's 2.6.32")
        .line(Panel::Stalls, "compact_fail", "of them failed", PerSecond)
        .column("cfail", 5);
    /// Direct compactions that gave a page.
    COMPACT_SUCCESS = Quantity::total("vmstat", &[Is("compact_success")], Count)
        .since("2.6.35 (mm/vmstat.c); Red Hat's 2.6.32");
    /// How often kcompactd was woken.
    COMPACT_WAKE = Quantity::total("vmstat", &[Is("compact_daemon_wake")], Count)
        .since("4.6 (include/linux/vm_event_item.h)")
        .aside(Panel::Stalls, "compact_wake", "kcompactd woken", PerSecond);
    /// Tasks that were put to sleep in direct reclaim until kswapd had freed something.
    THROTTLED = Quantity::total("vmstat", &[Is("pgscan_direct_throttle")], Count)
        .since("3.6 (include/linux/vm_event_item.h)")
        .aside(Panel::Stalls, "throttled", "throttled in reclaim", PerSecond);
    /// Processes killed for lack of memory.
    OOM_KILL = Quantity::total("vmstat", &[Is("oom_kill")], Count)
        .since("4.13 (include/linux/vm_event_item.h)")
        .aside(Panel::Stalls, "oom_kill", "OOM kills", PerSecond);
    /// Allocations of a single page that failed although they could wait for it, as the kernel's log tells them.
    FAILED_SMALL = Quantity::total(IMPORT, &[Is("failed_small")], Count);
    /// Allocations of a single page that failed and could not wait: what is kept for them was used up.
    FAILED_ATOMIC = Quantity::total(IMPORT, &[Is("failed_atomic")], Count);
    /// Allocations that the limit of a control group refused, as the kernel's log tells them.
    FAILED_IN_GROUP = Quantity::total(IMPORT, &[Is("failed_in_group")], Count);
    /// Whether the kernel had found nothing to free on a host as a whole, however often it scanned, as its log tells it (`all_unreclaimable? yes`, to 4.20).
    NOTHING_TO_FREE = Quantity::level(IMPORT, &[Is("nothing_to_free")], Count);
    /// Allocations of larger blocks that failed, by order.
    FAILED_LARGE = Quantity::total(IMPORT, &[Is("failed_large")], Count).each();
    /// Allocations of larger blocks for which the kernel killed a process of the host, by order.
    KILLED_FOR_LARGE = Quantity::total(IMPORT, &[Is("killed_for_large")], Count).each();
}

//! Zones with their watermarks, and nodes of memory.

use super::prelude::*;

catalogue! {
    /// Free pages of a zone.
    ZONE_FREE = Quantity::level("zoneinfo", &[Is("free")], Pages)
        .each()
        .formerly(&[Form { of: &[Is("nr_free_pages")], less: &[], kernels: "" }]);
    /// Lowest watermark of a zone: what is below it is kept for those that cannot wait.
    ZONE_MIN = Quantity::level("zoneinfo", &[Is("min")], Pages).each();
    /// Low watermark of a zone.
    ZONE_LOW = Quantity::level("zoneinfo", &[Is("low")], Pages).each();
    /// High watermark of a zone.
    ZONE_HIGH = Quantity::level("zoneinfo", &[Is("high")], Pages).each();
    /// How far the watermarks of a zone are raised for fragmentation.
    ZONE_BOOST = Quantity::level("zoneinfo", &[Is("boost")], Pages).each().since("5.16 (mm/vmstat.c)");
    /// Page cache of a zone.
    ZONE_FILE = Quantity::level("zoneinfo", &[Is("nr_zone_active_file"), Is("nr_zone_inactive_file")], Pages)
        .each()
        .since("4.8 (mm/vmstat.c)");
    /// Pages of a zone.
    ZONE_MANAGED = Quantity::level("zoneinfo", &[Is("managed")], Pages).each();
    /// Memory of a node, as numactl and numastat print it.
    IMPORTED_NODE_TOTAL = Quantity::level(IMPORT, &[Is("node_total")], KiB).each();
    /// Free memory of a node, as numactl and numastat print it.
    IMPORTED_NODE_FREE = Quantity::level(IMPORT, &[Is("node_free")], KiB).each();
    /// What a zone keeps back from allocations that a higher zone could meet.
    ZONE_PROTECTION = Quantity::level("zoneinfo", &[Is("protection")], Pages).each();
    /// Page cache and shared memory of a node.
    NODE_FILE = Quantity::level("zoneinfo", &[Is("nr_file_pages")], Pages).each();
    /// Shared memory of a node.
    NODE_SHARED = Quantity::level("zoneinfo", &[Is("nr_shmem")], Pages).each();
    /// Page cache of a node on the list of what was used once.
    NODE_INACTIVE_FILE = Quantity::level("zoneinfo", &[Is("nr_inactive_file")], Pages).each();
    /// Page cache of a node that has to be written first, or is being written.
    NODE_DIRTY = Quantity::level("zoneinfo", &[Is("nr_dirty"), Is("nr_writeback")], Pages).each();
    /// Anonymous memory of a node.
    NODE_ANON = Quantity::level("zoneinfo", &[Is("nr_anon_pages")], Pages).each();
    /// Slab that reclaim cannot get back, and page tables, of a node.
    NODE_KERNEL =
        Quantity::level("zoneinfo", &[Is("nr_slab_unreclaimable"), Is("nr_page_table_pages")], Pages).each();
    /// Pages of a node that came back soon after they had been reclaimed and had been in use.
    NODE_CAME_BACK = Quantity::total(
        "zoneinfo",
        &[Is("workingset_activate_file"), Is("workingset_restore_file")],
        Pages,
    )
    .each()
    .since("5.9 (mm/vmstat.c)")
    .formerly(&[Form {
        of: &[Is("workingset_activate"), Is("workingset_restore")],
        less: &[],
        kernels: "3.15 to 5.8, with anonymous memory (mm/vmstat.c)",
    }]);
    /// The same where the kernel reclaims by generations (MGLRU): pages that had been used through page tables, or several times. Every page that comes back soon counts as activated there
    /// (`lru_gen_refault`, `mm/workingset.c`, 6.12).
    NODE_RESTORED = Quantity::total("zoneinfo", &[Is("workingset_restore_file")], Pages).each().since("5.9 (mm/vmstat.c)");
    /// Page-table work of hint faults for NUMA balancing.
    NUMA_HINT_FAULTS = Quantity::total("vmstat", &[Is("numa_hint_faults")], Count);
    /// Hint faults on the node where the memory is.
    NUMA_HINT_LOCAL = Quantity::total("vmstat", &[Is("numa_hint_faults_local")], Count);
    /// Pages moved by NUMA balancing.
    NUMA_MIGRATED = Quantity::total("vmstat", &[Is("numa_pages_migrated")], Pages);
    /// Allocations that got the node they wanted.
    NUMA_HIT = Quantity::total("vmstat", &[Is("numa_hit")], Count);
    /// Allocations that got another node.
    NUMA_MISS = Quantity::total("vmstat", &[Is("numa_miss")], Count);
}

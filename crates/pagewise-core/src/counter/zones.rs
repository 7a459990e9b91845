//! Zones with their watermarks, and nodes of memory.

use super::prelude::*;

catalogue! {
    /// Free pages of a zone.
    ZONE_FREE = Quantity::level("zoneinfo", &[Is("free")], Pages)
        .each()
        .formerly(&[Form { of: &[Is("nr_free_pages")], less: &[], kernels: "" }]);
    /// Low watermark of a zone.
    ZONE_LOW = Quantity::level("zoneinfo", &[Is("low")], Pages).each();
    /// High watermark of a zone.
    ZONE_HIGH = Quantity::level("zoneinfo", &[Is("high")], Pages).each();
    /// How far the watermarks of a zone are raised for fragmentation.
    ZONE_BOOST = Quantity::level("zoneinfo", &[Is("boost")], Pages).each().since("5.16 (mm/vmstat.c)");
    /// Pages of a zone.
    ZONE_MANAGED = Quantity::level("zoneinfo", &[Is("managed")], Pages).each();
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

//! Compaction: pages scanned and moved to make room for huge pages.

use super::prelude::*;

catalogue! {
    /// Pages compaction scanned to move.
    COMPACT_MIGRATE = Quantity::total("vmstat", &[Is("compact_migrate_scanned")], Pages)
        .since("3.8 (include/linux/vm_event_item.h)")
        .line(Panel::Compaction, "compact_migrate", "to move", PagesPerSecond);
    /// Pages compaction scanned to move to.
    COMPACT_FREE = Quantity::total("vmstat", &[Is("compact_free_scanned")], Pages)
        .since("3.8 (include/linux/vm_event_item.h)")
        .line(Panel::Compaction, "compact_free", "to move to", PagesPerSecond);
    /// Pages compaction scanned: to move, and to move to.
    COMPACT_SCANNED = Quantity::total("vmstat", &[Is("compact_migrate_scanned"), Is("compact_free_scanned")], Pages)
        .since("3.8 (include/linux/vm_event_item.h)");
    /// Pages kcompactd scanned.
    COMPACT_DAEMON_SCANNED = Quantity::total(
        "vmstat",
        &[Is("compact_daemon_migrate_scanned"), Is("compact_daemon_free_scanned")],
        Pages,
    )
    .since("4.12 (include/linux/vm_event_item.h)");
    /// Pages moved. Until 3.7 those that compaction moved alone.
    MIGRATED = Quantity::total("vmstat", &[Is("pgmigrate_success")], Pages)
        .since("3.8 (include/linux/vm_event_item.h)")
        .formerly(&[Form {
            of: &[Is("compact_pages_moved")],
            less: &[],
            kernels: "2.6.35 to 3.7 (mm/vmstat.c); Red Hat's 2.6.32",
        }])
        .line(Panel::Compaction, "migrated", "moved", PagesPerSecond)
        .column("migr", 4);
}

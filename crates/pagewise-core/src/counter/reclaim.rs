//! Reclaim: pages scanned, pages freed, and pages that came back soon after.
//!
//! Who scanned and who freed is counted for kswapd and for the tasks that allocate apart. Until 4.7 each had a name per zone;
//! 4.8 moved the lists of pages from zones to nodes, and the names with them (`include/linux/vm_event_item.h`). Until 3.3
//! `pgsteal_ZONE` was what all reclaim freed and `kswapd_steal` the part of kswapd, so that what direct reclaim freed is
//! their difference; 3.4 gave both a name (`mm/vmstat.c`; Red Hat's 2.6.32 is older than that).
//! khugepaged's part was counted with direct reclaim until 6.1, that of `memory.reclaim` until 6.14.

use super::prelude::*;

const UNTIL_4_7: &str = "3.4 to 4.7 (include/linux/vm_event_item.h)";
const UNTIL_3_3: &str = "to 3.3 (include/linux/vm_event_item.h, mm/vmscan.c)";
const ALL_OF_4_8: &str = "4.8 to 5.7, of every kind (include/linux/vm_event_item.h)";
const ALL_UNTIL_4_7: &str = "3.4 to 4.7, of every kind (include/linux/vm_event_item.h)";
const ALL_UNTIL_3_3: &str = "to 3.3, of every kind (include/linux/vm_event_item.h)";
const PER_ZONE: &str = "to 4.7 (include/linux/vm_event_item.h)";
const SINCE_4_8: &str = "4.8 (include/linux/vm_event_item.h)";

catalogue! {
    /// Pages kswapd scanned.
    SCAN_KSWAPD = Quantity::total("vmstat", &[Is("pgscan_kswapd")], Pages)
        .since(SINCE_4_8)
        .formerly(&[Form { of: &[PerZone("pgscan_kswapd")], less: &[], kernels: PER_ZONE }])
        .printed(&[PrintedSum::sum(&[(IMPORT, "pgscank_per_second")])])
        .line(Panel::Reclaim, "scan_kswapd", "scanned by kswapd", PagesPerSecond)
        .column("kswp", 4);
    /// Pages allocations scanned.
    SCAN_DIRECT = Quantity::total("vmstat", &[Is("pgscan_direct")], Pages)
        .since(SINCE_4_8)
        .formerly(&[Form { of: &[PerZone("pgscan_direct")], less: &[], kernels: PER_ZONE }])
        .printed(&[PrintedSum::sum(&[(IMPORT, "pgscand_per_second")])])
        .line(Panel::Reclaim, "scan_direct", "scanned directly", PagesPerSecond)
        .column("drct", 4);
    /// Pages kswapd freed.
    STEAL_KSWAPD = Quantity::total("vmstat", &[Is("pgsteal_kswapd")], Pages)
        .since(SINCE_4_8)
        .formerly(&[
            Form { of: &[PerZone("pgsteal_kswapd")], less: &[], kernels: UNTIL_4_7 },
            Form { of: &[Is("kswapd_steal")], less: &[], kernels: UNTIL_3_3 },
        ])
        .aside(Panel::Reclaim, "steal_kswapd", "freed by kswapd", PagesPerSecond);
    /// Pages allocations freed.
    STEAL_DIRECT = Quantity::total("vmstat", &[Is("pgsteal_direct")], Pages)
        .since(SINCE_4_8)
        .formerly(&[
            Form { of: &[PerZone("pgsteal_direct")], less: &[], kernels: UNTIL_4_7 },
            Form { of: &[PerZone("pgsteal")], less: &[Is("kswapd_steal")], kernels: UNTIL_3_3 },
        ])
        .aside(Panel::Reclaim, "steal_direct", "freed directly", PagesPerSecond);
    /// Pages that reclaim freed because a user or a tool asked for it.
    STEAL_PROACTIVE = Quantity::total("vmstat", &[Is("pgsteal_proactive")], Pages)
        .since("6.15 (include/linux/vm_event_item.h)");
    /// Pages that reclaim of the whole host freed. That of control groups is in none of these, and in the two by kind (`pgsteal_file`,
    /// `pgsteal_anon`) all the same (`shrink_inactive_list`, `mm/vmscan.c`, 6.12).
    STEAL_OF_HOST = Quantity::total(
        "vmstat",
        &[Is("pgsteal_kswapd"), Is("pgsteal_direct"), Is("pgsteal_khugepaged"), Is("pgsteal_proactive")],
        Pages,
    )
    .since(SINCE_4_8);
    /// Pages of files that reclaim freed.
    STEAL_FILE = Quantity::total("vmstat", &[Is("pgsteal_file")], Pages)
        .since("5.8 (include/linux/vm_event_item.h)")
        .formerly(&[
            Form { of: &[Is("pgsteal_kswapd"), Is("pgsteal_direct")], less: &[], kernels: ALL_OF_4_8 },
            Form { of: &[PerZone("pgsteal_kswapd"), PerZone("pgsteal_direct")], less: &[], kernels: ALL_UNTIL_4_7 },
            Form { of: &[PerZone("pgsteal")], less: &[], kernels: ALL_UNTIL_3_3 },
        ]);
    /// Anonymous pages that reclaim freed.
    STEAL_ANON = Quantity::total("vmstat", &[Is("pgsteal_anon")], Pages).since("5.8 (include/linux/vm_event_item.h)");
    /// Times kswapd began to reclaim.
    KSWAPD_RUNS = Quantity::total("vmstat", &[Is("pageoutrun")], Count);
    /// Pages that reclaim scanned (pgscan_kswapd and pgscan_direct).
    SCANNED = Quantity::total(
        "vmstat",
        &[Is("pgscan_kswapd"), Is("pgscan_direct"), Is("pgscan_khugepaged"), Is("pgscan_proactive")],
        Pages,
    )
    .since(SINCE_4_8)
    .formerly(&[Form { of: &[PerZone("pgscan_kswapd"), PerZone("pgscan_direct")], less: &[], kernels: PER_ZONE }])
    .printed(&[
        PrintedSum::sum(&[(IMPORT, "pages_scanned_per_second")]),
        PrintedSum::sum(&[(IMPORT, "pgscank_per_second"), (IMPORT, "pgscand_per_second")]),
    ])
    .measure("pages_scanned");
    /// Pages that reclaim freed, whoever asked for it.
    RECLAIMED = Quantity::total(
        "vmstat",
        &[Is("pgsteal_kswapd"), Is("pgsteal_direct"), Is("pgsteal_khugepaged"), Is("pgsteal_proactive")],
        Pages,
    )
    .since(SINCE_4_8)
    .formerly(&[
        Form { of: &[PerZone("pgsteal_kswapd"), PerZone("pgsteal_direct")], less: &[], kernels: UNTIL_4_7 },
        Form { of: &[PerZone("pgsteal")], less: &[], kernels: UNTIL_3_3 },
    ])
    .measure("pages_reclaimed");
    /// Anonymous pages reclaim scanned.
    SCAN_ANON = Quantity::total("vmstat", &[Is("pgscan_anon")], Pages).since("5.8 (include/linux/vm_event_item.h)");
    /// Pages of files reclaim scanned.
    SCAN_FILE = Quantity::total("vmstat", &[Is("pgscan_file")], Pages).since("5.8 (include/linux/vm_event_item.h)");
    /// kswapd was woken again right after it had reached the low watermark.
    LOW_HIT_QUICKLY = Quantity::total("vmstat", &[Is("kswapd_low_wmark_hit_quickly")], Count);
    /// File pages that came back soon after they had been reclaimed.
    REFAULT_FILE = Quantity::total("vmstat", &[Is("workingset_refault_file")], Pages)
        .since("5.9 (mm/vmstat.c)")
        .formerly(&[Form { of: &[Is("workingset_refault")], less: &[], kernels: "3.15 to 5.8 (mm/vmstat.c)" }])
        .line(Panel::Reclaim, "refault_file", "refaults, file", PagesPerSecond)
        .column("rff", 4)
        .measure("refaults_file");
    /// Anonymous pages that came back soon after they had been swapped out.
    REFAULT_ANON = Quantity::total("vmstat", &[Is("workingset_refault_anon")], Pages)
        .since("5.9 (mm/vmstat.c)")
        .line(Panel::Reclaim, "refault_anon", "refaults, anonymous", PagesPerSecond)
        .column("rfa", 4)
        .measure("refaults_anon");
    /// File pages that came back and had been in use.
    ACTIVATE_FILE = Quantity::total("vmstat", &[Is("workingset_activate_file")], Pages)
        .since("5.9 (mm/vmstat.c)")
        .formerly(&[Form { of: &[Is("workingset_activate")], less: &[], kernels: "3.15 to 5.8 (mm/vmstat.c)" }]);
    /// Reclaim of a node's own memory before another's was used, that helped.
    ZONE_RECLAIM_SUCCESS = Quantity::total("vmstat", &[Is("zone_reclaim_success")], Count);
    /// Reclaim of a node's own memory before another's was used, that did not help.
    ZONE_RECLAIM_FAILED = Quantity::total("vmstat", &[Is("zone_reclaim_failed")], Count);
    /// Pages freed a second by whoever reclaims, as another tool wrote it down.
    IMPORTED_STEAL = Quantity::level(IMPORT, &[Is("pgsteal_per_second")], PageHundredths);
    /// The part of the pages scanned that was freed, as another tool worked it out.
    IMPORTED_EFFICIENCY = Quantity::level(IMPORT, &[Is("reclaim_efficiency_percent")], PercentHundredths);
    /// Unlocked pages left on the list of unevictable ones.
    UNEVICTABLE_STRANDED = Quantity::total("vmstat", &[Is("unevictable_pgs_stranded")], Pages);
}

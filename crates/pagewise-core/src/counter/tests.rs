use super::*;
use std::collections::HashSet;

fn parts(quantity: &Quantity, names: &[&str]) -> Vec<(String, f64)> {
    let numbers = names.iter().map(|name| (quantity.source, *name, ""));
    quantity.parts(numbers).iter().map(|part| (names[part.at].to_owned(), part.weight)).collect()
}

#[test]
fn a_quantity_is_found_under_its_old_and_its_new_names() {
    assert!(ALLOCSTALL.takes("vmstat", "allocstall", "") && ALLOCSTALL.takes("vmstat", "allocstall_movable", ""));
    assert!(SCAN_DIRECT.takes("vmstat", "pgscan_direct_normal", ""));
    assert!(!SCAN_DIRECT.takes("vmstat", "pgscan_direct_throttle", ""), "it counts waits, not pages");
    assert!(!CPU_IDLE.takes("stat", "idle", "cpu=0") && CPU_EACH_IDLE.takes("stat", "idle", "cpu=0"));
    assert!(CGROUP_HIGH.takes("cgroup_events[/batch]", "high", "cgroup=/batch"));
}

#[test]
fn what_direct_reclaim_freed_is_a_difference_where_the_kernel_has_no_name_for_it() {
    let old = ["pgsteal_dma", "pgsteal_normal", "pgscan_direct_normal", "kswapd_steal", "kswapd_inodesteal"];
    let own = |quantity| parts(quantity, &old);
    let part = |name: &str, weight: f64| (name.to_owned(), weight);
    assert_eq!(own(&STEAL_DIRECT), [part("pgsteal_dma", 1.0), part("pgsteal_normal", 1.0), part("kswapd_steal", -1.0)]);
    assert_eq!(own(&STEAL_KSWAPD), [part("kswapd_steal", 1.0)]);
    assert_eq!(parts(&STEAL_DIRECT, &["pgsteal_normal"]), [], "half of a difference says nothing");
}

#[test]
fn the_newest_form_that_is_there_counts_and_no_other() {
    // A kernel with names of both, as distributions may make by backporting, must not be counted twice.
    let both = ["pgscan_kswapd", "pgscan_kswapd_normal", "pgsteal_anon", "pgsteal_file", "pgsteal_kswapd"];
    assert_eq!(parts(&SCAN_KSWAPD, &both), [("pgscan_kswapd".to_owned(), 1.0)]);
    assert_eq!(parts(&STEAL_DIRECT, &both), [], "pgsteal_anon and pgsteal_file are no zones");
}

#[test]
fn free_blocks_weigh_what_they_hold() {
    let numbers = [("zone=DMA", 10), ("zone=Normal", 8), ("zone=Normal", 9), ("zone=Normal", 10)];
    let labels: Vec<String> = numbers.iter().map(|(zone, order)| format!("node=0,{zone},order={order}")).collect();
    let all = labels.iter().map(|labels| ("buddyinfo", "free_blocks", labels.as_str()));
    assert_eq!(LARGE_FREE.parts(all), [Part { at: 2, weight: 512.0 }, Part { at: 3, weight: 1024.0 }]);
}

#[test]
fn levels_and_totals_of_a_real_kernel_are_told_apart() {
    assert_eq!(describe("vmstat", "nr_free_pages", false), (RawUnit::Pages, Kind::Gauge));
    assert_eq!(describe("vmstat", "pgpgin", false), (RawUnit::KiB, Kind::Counter));
    assert_eq!(describe("vmstat", "compact_stall", false), (RawUnit::Count, Kind::Counter));
    assert_eq!(describe("vmstat", "pgscan_direct", false), (RawUnit::Pages, Kind::Counter));
    assert_eq!(describe("vmstat", "kswapd_steal", false), (RawUnit::Pages, Kind::Counter));
    assert_eq!(describe("vmstat", "nr_anon_transparent_hugepages", false), (RawUnit::Count, Kind::Gauge));
    assert_eq!(describe("zoneinfo", "low", false), (RawUnit::Pages, Kind::Gauge));
    assert_eq!(describe("zoneinfo", "numa_hit", false), (RawUnit::Count, Kind::Counter));
    assert_eq!(describe("meminfo", "HugePages_Total", false), (RawUnit::Count, Kind::Gauge));
    assert_eq!(describe("meminfo", "MemFree", true), (RawUnit::KiB, Kind::Gauge));
    assert_eq!(describe("stat", "system", false), (RawUnit::Ticks, Kind::Counter));
    assert_eq!(describe("thp", "nr_anon", false).1, Kind::Gauge);
    assert_eq!(describe("pmu", "load_walk_cycles", false), (RawUnit::Count, Kind::Counter));
    assert_eq!(describe("pmu", "running", false), (RawUnit::Nanoseconds, Kind::Counter));
    assert_eq!(describe("dentries", "nr_negative", false), (RawUnit::Count, Kind::Gauge));
    assert_eq!(describe("threads", "cpu", false), (RawUnit::Nanoseconds, Kind::Counter));
    assert_eq!(describe("cgroup_stat[/batch]", "anon", false), (RawUnit::Bytes, Kind::Gauge));
    assert_eq!(describe("cgroup_stat[/batch]", "workingset_refault_file", false), (RawUnit::Pages, Kind::Counter));
    assert_eq!(describe("cgroup_stat[/batch]", "total_pgmajfault", false), (RawUnit::Count, Kind::Counter));
    assert_eq!(describe("cgroup_memory[/batch]", "current", false), (RawUnit::Bytes, Kind::Gauge));
}

#[test]
fn a_running_total_is_not_taken_for_a_level() {
    let kind = |name: &str| describe("vmstat", name, false).1;
    assert_eq!((kind("nr_free_pages"), kind("nr_dirty_threshold")), (Kind::Gauge, Kind::Gauge));
    for total in ["nr_dirtied", "nr_written", "pgfault", "compact_stall", "thp_fault_alloc", "workingset_refault_file"]
    {
        assert_eq!(kind(total), Kind::Counter, "{total} only grows");
    }
}

#[test]
fn every_quantity_has_names_an_id_of_its_own_and_a_meaning() {
    let ids: HashSet<&str> = ALL.iter().map(|quantity| quantity.id).collect();
    assert_eq!(ids.len(), ALL.len());
    for quantity in ALL {
        let has_names = quantity.forms().all(|form| !form.of.is_empty());
        assert!(has_names && quantity.meaning.trim().ends_with('.'), "{}", quantity.id);
        let first = quantity.now.of[0].example();
        let labels = if quantity.labelled || quantity.id == LARGE_FREE.id { "zone=Normal,order=9" } else { "" };
        assert!(is_wanted(quantity.source, &first, labels), "{}", quantity.id);
    }
}

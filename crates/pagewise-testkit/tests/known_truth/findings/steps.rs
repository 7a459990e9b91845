//! No rule proposes what is in force already, what another setting makes void, or what the kernel lacks.

use super::asking::{ask, found, must_find, steps};
use super::others::cases;
use pagewise_core::finding::Finding;
use pagewise_core::finding::proposal::{ActsOn, Proposal, ProposedSetting};
use pagewise_testkit::RecordingBuilder;

fn healthy() -> RecordingBuilder {
    RecordingBuilder::healthy(120)
}

fn all_words(finding: &Finding) -> String {
    let all = finding.change.iter().chain(&finding.alternatives);
    all.map(|step| step.words.as_str()).collect::<Vec<&str>>().join("; ")
}

#[test]
fn what_was_done_is_not_proposed_again() {
    let mut done = 0;
    for (id, make, _) in cases() {
        let first = must_find(&make(), id);
        for step in first.change.iter().chain(&first.alternatives).filter(|step| step.scope != ActsOn::Job) {
            let settings = &step.settings;
            if settings.is_empty() {
                continue;
            }
            assert!(settings.iter().all(|one| one.from.as_ref() != Some(&one.to)), "{id}: {settings:?}");
            let after = settings.iter().fold(make(), |made, one| made.setting(&one.tunable, &one.to));
            let Some(again) = found(&ask(&after), id).cloned() else { continue };
            let same = |other: &Proposal| {
                let is_set =
                    |one: &ProposedSetting| settings.iter().any(|was| was.tunable == one.tunable && was.to == one.to);
                !other.settings.is_empty() && other.settings.iter().all(is_set)
            };
            assert!(!again.change.iter().chain(&again.alternatives).any(same), "{id}: {settings:?} stands there again");
            done += 1;
        }
    }
    assert!(done >= 12, "{done}");
}

#[test]
fn a_kernel_that_lacks_it_is_not_told_to_set_it() {
    let reads = |kernel: &str| {
        let made = healthy()
            .counter("vmstat", "workingset_refault_file", "", |_| 5_000.0)
            .counter("vmstat", "pgsteal_kswapd", "", |_| 5_000.0)
            .counter("vmstat", "pgpgin", "", |_| 40_000.0)
            .counter("psi_io", "some_total", "", |_| 300_000.0)
            .gib("MemFree", 0.3);
        must_find(&made.without_settings().about("kernel", kernel), "page-cache-thrash")
    };
    assert_eq!(steps(&reads("6.12.0")), ["mglru.enabled=0x0007"]);
    assert_eq!(steps(&reads("5.15.0")), Vec::<String>::new());
    assert_eq!(steps(&reads("")), Vec::<String>::new(), "what not every kernel has is not proposed to one unknown");
    assert!(all_words(&reads("6.12.0")).contains("memory.low"));
    assert!(!all_words(&reads("4.4.0")).contains("memory.low"), "version 2 of control groups came with 4.5");
}

#[test]
fn a_lru_that_is_on_with_fewer_bits_is_on() {
    let (_, thrash, _) = cases().into_iter().find(|(id, ..)| *id == "page-cache-thrash").expect("it is a case");
    let on = |bits: &str| steps(&must_find(&thrash().setting("mglru.enabled", bits), "page-cache-thrash"));
    assert_eq!(on("0x0000"), ["mglru.enabled=0x0007"]);
    assert_eq!(on("0x0001"), Vec::<String>::new(), "the processor lacks the other features");
    assert_eq!(on("0x0006"), ["mglru.enabled=0x0007"], "its switch is the first bit");
}

#[test]
fn watermarks_move_only_where_the_factor_is_more_than_a_quarter_of_the_minimum() {
    let stalls = |min_free: &str, factor: &str| {
        let made = healthy()
            .counter("vmstat", "allocstall_normal", "", |_| 20.0)
            .counter("vmstat", "pgsteal_direct", "", |_| 5_000.0)
            .setting("vm.min_free_kbytes", min_free)
            .setting("vm.watermark_scale_factor", factor);
        let steps = steps(&must_find(&made, "direct-reclaim-stalls"));
        steps.into_iter().find(|step| step.starts_with("vm.watermark_scale_factor"))
    };
    // Of 16 GiB a quarter of 1 GiB is what a factor of 156.25 keeps apart.
    assert_eq!(stalls("67584", "10").as_deref(), Some("vm.watermark_scale_factor=50"));
    assert_eq!(
        stalls("409600", "10").as_deref(),
        Some("vm.watermark_scale_factor=123"),
        "twice what hides it, rounded up"
    );
    assert_eq!(stalls("1048576", "10").as_deref(), Some("vm.watermark_scale_factor=200"));
    assert_eq!(stalls("2097152", "10"), None, "no factor up to 200 shows beside it");
}

#[test]
fn limits_of_dirty_data_move_towards_what_the_disk_writes() {
    // The disk writes 100,000 KiB a second.
    let writes = |pages: f64, background: f64| {
        let made = healthy()
            .level("vmstat", "nr_dirty", "", move |_| (pages + background) / 2.0)
            .level("vmstat", "nr_dirty_threshold", "", move |_| pages)
            .level("vmstat", "nr_dirty_background_threshold", "", move |_| background)
            .counter("vmstat", "pgpgout", "", |_| 100_000.0)
            .counter("psi_io", "some_total", "", |_| 500_000.0);
        steps(&must_find(&made, "dirty-throttling"))
    };
    let (second, eight) = ("vm.dirty_background=102760448", "vm.dirty=818937856");
    assert_eq!(writes(500_000.0, 250_000.0), [second, eight], "both are far above");
    assert_eq!(writes(100_000.0, 50_000.0), [second], "four seconds may be let in; two before writing begins");
    assert_eq!(
        writes(4_000.0, 2_000.0),
        [eight],
        "a sixth of a second is too little, and the other is not raised with it"
    );
    assert_eq!(writes(60_000.0, 20_000.0), Vec::<String>::new(), "both are as they should be");
}

#[test]
fn what_a_coupled_setting_makes_void_is_left_out() {
    let case = |id: &str| cases().into_iter().find(|(other, ..)| *other == id).expect("it is a case").1();
    let bloat = |none: &str| {
        let made = case("thp-bloat").setting("khugepaged.max_ptes_none", none).setting("thp.shrink_underused", "0");
        // The kernel itself splits, so that it is found whatever khugepaged may do.
        let made = made.counter("vmstat", "thp_underused_split_page", "", |_| 5.0);
        steps(&must_find(&made, "thp-bloat"))
    };
    assert!(
        !bloat("511").contains(&"thp.shrink_underused=1".to_owned()),
        "at 511 no huge page is too empty to be kept"
    );
    assert!(bloat("409").contains(&"thp.shrink_underused=1".to_owned()));

    let zeroes = |large: &str, small: &str| {
        let made = case("thp-fault-cost").setting("mthp[2048k].enabled", large).setting("mthp[64k].enabled", small);
        steps(&must_find(&made, "thp-fault-cost"))
    };
    assert_eq!(zeroes("inherit", "never"), ["mthp[64k].enabled=inherit,mthp[2048k].enabled=never"]);
    assert_eq!(zeroes("always", "never"), ["mthp[64k].enabled=always,mthp[2048k].enabled=never"]);
    assert_eq!(zeroes("inherit", "inherit"), ["mthp[2048k].enabled=never"]);

    let slab = |soft: f64, hard: f64| {
        steps(&must_find(&healthy().gib("SReclaimable", soft).gib("SUnreclaim", hard), "slab-bloat"))
    };
    assert_eq!(slab(5.0, 0.1), ["vm.vfs_cache_pressure=150"]);
    assert_eq!(
        slab(0.3, 3.0),
        Vec::<String>::new(),
        "pressure on names of files does not touch what cannot be reclaimed"
    );

    let swaps = |kernel: &str| {
        let made =
            case("swap-thrash").setting("swap", "zram:4294967296:lzo-rle@/dev/zram0,prio=100").about("kernel", kernel);
        steps(&must_find(&made, "swap-thrash"))
    };
    assert_eq!(swaps("4.14.0"), ["vm.page-cluster=0"]);
    assert_eq!(swaps("6.12.0"), Vec::<String>::new(), "nothing is read ahead from compressed memory since 4.15");
}

#[test]
fn khugepaged_is_never_told_to_look_more_often() {
    let burns = |sleep: &str, pages: &str| {
        let made = healthy().counter("threads", "cpu", "thread=khugepaged", |_| 60.0);
        let made = made.setting("khugepaged.scan_sleep_millisecs", sleep).setting("khugepaged.pages_to_scan", pages);
        steps(&must_find(&made, "khugepaged-burn"))
    };
    let defrag = "khugepaged.defrag=0";
    assert_eq!(
        burns("10000", "4096"),
        ["khugepaged.scan_sleep_millisecs=60000", "khugepaged.pages_to_scan=1024", defrag]
    );
    assert_eq!(burns("900000", "1"), [defrag]);
    assert_eq!(burns("0", "40000")[..2], ["khugepaged.scan_sleep_millisecs=10000", "khugepaged.pages_to_scan=4096"]);
}

#[test]
fn faults_that_wake_kcompactd_are_told_apart_by_who_asked() {
    let burns = |enabled: &str, defrag: &str| {
        let made = healthy().counter("threads", "cpu", "thread=kcompactd0", |_| 70.0);
        let made = made.setting("vm.compaction_proactiveness", "0").setting("thp.enabled", enabled);
        steps(&must_find(&made.setting("thp.defrag", defrag), "kcompactd-burn"))
    };
    assert_eq!(burns("always", "defer+madvise"), ["thp.defrag=madvise"]);
    assert_eq!(
        burns("madvise", "defer+madvise"),
        Vec::<String>::new(),
        "memory that was asked for waits, and wakes nobody"
    );
    assert_eq!(burns("madvise", "defer"), ["thp.defrag=never"]);
    assert_eq!(burns("never", "defer"), Vec::<String>::new(), "there are no such faults");
}

#[test]
fn control_groups_of_version_1_have_limits_of_another_name() {
    let old = healthy().counter("cgroup_memory[/job]", "failcnt", "cgroup=/job", |_| 40.0).stack(
        "java",
        Some(7),
        &["try_charge_memcg", "try_to_free_mem_cgroup_pages"],
        400,
    );
    let words = all_words(&must_find(&old.stack("java", Some(7), &["java!run"], 600), "memcg-limit-thrash"));
    assert!(words.contains("memory.limit_in_bytes of /job") && !words.contains("memory.high"), "{words}");
}

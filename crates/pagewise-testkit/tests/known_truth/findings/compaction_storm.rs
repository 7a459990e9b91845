//! The storm of 2012 and its like, and what only looks like it.

use super::asking::{ask, found, must_find, must_not_decide, must_not_find, steps};
use pagewise_core::finding::{Confidence, Severity, Tier};
use pagewise_core::recording::{Gap, GapReason, StallKind};
use pagewise_testkit::RecordingBuilder;
use pagewise_testkit::recordings::START;

const SECOND: u64 = 1_000_000_000;

const FAULT: [&str; 5] = [
    "do_user_addr_fault",
    "do_huge_pmd_anonymous_page",
    "__alloc_pages_direct_compact",
    "compact_zone",
    "isolate_freepages",
];

fn storm(seconds: u32) -> RecordingBuilder {
    RecordingBuilder::healthy(seconds)
        .cpu(4, 0.28, 0.60)
        .counter("vmstat", "compact_stall", "", |_| 40.0)
        .counter("vmstat", "compact_fail", "", |_| 36.0)
        .counter("vmstat", "compact_success", "", |_| 4.0)
        .counter("vmstat", "compact_free_scanned", "", |_| 4e6)
        .setting("thp.enabled", "always")
        .setting("thp.defrag", "always")
}

#[test]
fn two_kinds_of_evidence_make_it_sure() {
    let finding = must_find(
        &storm(60).stack("java", Some(4711), &FAULT, 900).stack("java", Some(4711), &["java!run"], 100),
        "compaction-storm",
    );
    assert_eq!((finding.confidence, finding.severity), (Confidence::High, Severity::High));
    assert_eq!(finding.tiers, [Tier::Counters, Tier::Stacks]);
    assert_eq!((finding.who[0].name.as_str(), finding.who[0].pid), ("java", Some(4711)));
    assert!((finding.seconds - 60.0).abs() < 1.5);
    assert_eq!(
        steps(&finding),
        [
            "thp.defrag=defer+madvise",
            "thp.defrag=defer",
            "thp.defrag=never",
            "process.thp=never",
            "thp.enabled=madvise",
            "thp.enabled=never"
        ]
    );
    assert!(finding.ruled_out.iter().any(|other| other.id == "direct-reclaim-stalls") || finding.ruled_out.is_empty());
}

#[test]
fn what_memory_is_asked_for_decides_whether_huge_pages_are_the_remedy() {
    let inner = ["__alloc_pages_slowpath.constprop.0", "__alloc_pages_direct_compact", "compact_zone"];
    let asked_by = |outer: &[&'static str], samples: u64| {
        let stack: Vec<&str> = [outer, &inner].concat();
        storm(60).stack("java", Some(4711), &stack, samples).stack("java", Some(4711), &FAULT, 300)
    };
    for (outer, what, says) in [
        (&["xlog_cil_commit", "kvmalloc_node"][..], "buffers and objects of the kernel", "which subsystem asks"),
        (&["tcp_sendmsg", "sk_page_frag_refill"], "the network", "high_order_alloc_disable"),
        (&["do_sendfile", "page_cache_ra_order"], "data of files", "ead less ahead"),
        (&["_do_fork", "copy_process", "alloc_thread_stack_node"], "starting processes", "CONFIG_VMAP_STACK"),
    ] {
        let finding = must_find(&asked_by(outer, 600), "compaction-storm");
        assert_eq!(steps(&finding), Vec::<String>::new(), "{outer:?}");
        assert!(finding.title.contains("no huge pages"), "{}", finding.title);
        assert!(finding.summary.contains(&format!("67 % of it is for {what}")), "{}", finding.summary);
        assert!(finding.change.expect("advice").words.contains(says), "{outer:?}");
        // Most of it are faults on huge pages.
        let finding = must_find(&asked_by(outer, 200), "compaction-storm");
        assert_eq!(steps(&finding)[0], "thp.defrag=defer+madvise", "{outer:?}");
    }
    // Where most stacks do not say it, those that do decide nothing.
    let unknown = must_find(&asked_by(&["handle_mm_fault", "alloc_pages_vma"], 600), "compaction-storm");
    assert_eq!(steps(&unknown)[0], "thp.defrag=defer+madvise");
}

#[test]
fn counters_alone_are_enough_to_find_it_but_not_to_be_sure() {
    let finding = must_find(&storm(60), "compaction-storm");
    assert_eq!(finding.confidence, Confidence::Medium);
    assert!(finding.missing.iter().any(|missing| missing.what == "stacks"));
    assert!(found(&ask(&storm(60)), "unexplained-system-time").is_none(), "it is explained");
}

#[test]
fn stalls_alone_are_enough_where_the_counters_are_missing() {
    let blind =
        storm(60).without("vmstat", "compact_stall", "").stall(StallKind::Compaction, "go", 7, Some(9), 20.0, 600);
    let finding = must_find(&blind, "compaction-storm");
    assert_eq!((finding.confidence, &finding.tiers[..]), (Confidence::Medium, &[Tier::Stalls][..]));
    assert_eq!(finding.who[0].name, "go");
}

#[test]
fn stacks_that_show_something_else_lower_the_confidence() {
    let other = storm(60).stack("java", Some(1), &["do_syscall_64", "futex_wait", "_raw_spin_lock"], 1000);
    assert_eq!(must_find(&other, "compaction-storm").confidence, Confidence::Low);
}

/// Nearly idle, the kernel has most of the little that is done, and now and then a fault compacts for a moment.
fn busy_with_little(system: f64) -> RecordingBuilder {
    storm(60).cpu(4, system / 20.0, system)
}

#[test]
fn what_the_kernel_has_of_hardly_anything_is_no_storm() {
    must_find(&busy_with_little(0.06), "compaction-storm");
    must_not_find(&busy_with_little(0.04), "compaction-storm");
}

#[test]
fn stalls_that_leave_no_room_for_it_deny_what_counters_suggest() {
    let few = ["do_syscall_64", "vfs_read"];
    // 8 ms in a minute; 20 samples are too few to tell.
    let short = |made: RecordingBuilder| made.stall(StallKind::Compaction, "cat", 7, Some(9), 0.02, 400);
    let sampled = busy_with_little(0.06).stack("cat", Some(7), &few, 16).stack("java", Some(9), &FAULT, 4);
    must_find(&sampled, "compaction-storm");
    must_not_find(&short(sampled), "compaction-storm");
    // Where stacks were not recorded, too: a CPU has to be in compaction to be busy with it.
    must_not_find(&short(busy_with_little(0.06)), "compaction-storm");
}

#[test]
fn few_samples_decide_where_they_are_far_from_the_threshold() {
    let few = |of_it: u64, others: u64| {
        let made = storm(60).without("vmstat", "compact_stall", "").stack("java", Some(9), &FAULT, of_it);
        made.stack("cat", Some(7), &["do_syscall_64", "vfs_read"], others)
    };
    must_find(&few(15, 5), "compaction-storm");
    must_not_decide(&few(4, 16), "compaction-storm");
    // Counters that are not there leave it open, whatever stacks deny.
    let open = must_not_decide(&few(1, 39), "compaction-storm");
    assert!(open.evidence.iter().any(|line| line.holds == Some(false)), "{open:?}");
}

/// Not recorded, from one second to another.
fn waits(source: &str, from: u64, to: Option<u64>) -> Gap {
    Gap {
        from: START + from * SECOND,
        to: to.map(|to| START + to * SECOND),
        source: Some(source.to_owned()),
        reason: GapReason::Waiting,
        ticks: None,
        detail: "the flight recorder waits".to_owned(),
    }
}

#[test]
fn stacks_of_a_moment_deny_nothing_of_the_rest() {
    let other = || storm(60).stack("java", Some(1), &["do_syscall_64", "futex_wait", "_raw_spin_lock"], 1000);
    assert_eq!(must_find(&other(), "compaction-storm").confidence, Confidence::Low);
    let moment = must_find(&other().gap(waits("stacks", 6, None)), "compaction-storm");
    assert_eq!(moment.confidence, Confidence::Medium);
    assert!(moment.missing.iter().any(|missing| missing.why.contains("waits")), "{:?}", moment.missing);
}

#[test]
fn a_flight_recorder_that_waited_denies_nothing() {
    let waits = |from, to| waits("stalls", from, to);
    let blind = busy_with_little(0.06).stalls_recorded();
    must_not_find(&blind, "compaction-storm");
    let asleep = must_find(&busy_with_little(0.06).stalls_recorded().gap(waits(0, None)), "compaction-storm");
    assert!(asleep.missing.iter().any(|missing| missing.why.contains("waits")), "{:?}", asleep.missing);
    // Awake for a tenth of it and held up for a third of that.
    let short = busy_with_little(0.06).gap(waits(0, Some(27))).gap(waits(33, None));
    let short = short.stall(StallKind::Compaction, "java", 7, Some(9), 20.0, 100);
    let finding = must_find(&short, "compaction-storm");
    assert!(finding.tiers.contains(&Tier::Stalls), "{:?}", finding.tiers);
}

#[test]
fn a_healthy_host_has_none_and_one_burst_is_too_short_to_say() {
    must_not_find(&RecordingBuilder::healthy(60), "compaction-storm");
    let burst = storm(60).cpu(4, 0.28, 0.60).counter("stat", "system", "", |at| if at < 15.0 { 240.0 } else { 10.0 });
    let open = must_not_decide(&burst, "compaction-storm");
    let why = &open.missing.iter().find(|missing| missing.what == "how long it lasts").expect("a reason").why;
    assert!(why.contains("30 s would decide"), "{why}");
    assert!(ask(&burst).findings.is_empty());
}

#[test]
fn a_recording_of_one_window_is_enough_when_all_of_it_hits_and_a_second_is_not() {
    must_find(&storm(12), "compaction-storm");
    let open = must_not_decide(&storm(3), "compaction-storm");
    assert_eq!(open.needs_seconds, Some(30.0));
}

#[test]
fn without_counters_stacks_and_stalls_it_stays_open_and_the_system_time_unexplained() {
    let blind = storm(60).without("vmstat", "compact_stall", "");
    let open = must_not_decide(&blind, "compaction-storm");
    assert!(open.missing.iter().any(|missing| missing.what == "vmstat.compact_stall"), "{open:?}");
    assert_eq!(must_find(&blind, "unexplained-system-time").confidence, Confidence::Low);
}

#[test]
fn what_is_proposed_exists_on_that_kernel() {
    let old = storm(60).about("kernel", "2.6.32-220.7.1.el6.x86_64");
    assert_eq!(steps(&must_find(&old, "compaction-storm")), ["thp.defrag=never", "thp.enabled=never"]);
    let modest = storm(60).setting("thp.defrag", "madvise").setting("thp.enabled", "madvise");
    assert_eq!(
        steps(&must_find(&modest, "compaction-storm"))[..2],
        ["thp.defrag=defer".to_owned(), "thp.defrag=never".to_owned()]
    );
    let middle = storm(60).about("kernel", "4.4.0");
    assert_eq!(steps(&must_find(&middle, "compaction-storm"))[0], "thp.defrag=madvise");
    let listed = storm(60).about("kernel", "4.4.0").about("allowed.thp.defrag", "[always] never");
    assert_eq!(steps(&must_find(&listed, "compaction-storm"))[0], "thp.defrag=never");
}

#[test]
fn where_no_fault_wanted_a_huge_page_it_is_for_other_blocks_and_a_stream_leads_to_the_guard() {
    let other = |faults: f64| {
        storm(60)
            .counter("vmstat", "thp_fault_alloc", "", move |_| faults)
            .counter("vmstat", "thp_fault_fallback", "", |_| 0.0)
            .counter("vmstat", "pgsteal_kswapd", "", |_| 100_000.0)
            .counter("vmstat", "pgsteal_direct", "", |_| 0.0)
            .counter("vmstat", "pgpgin", "", |_| 400_000.0)
            .setting("mthp[2048k].enabled", "inherit")
            .setting("mthp[64k].enabled", "never")
            .setting("thp.shmem_enabled", "never")
    };
    let streamed = must_find(&other(0.0), "compaction-storm");
    assert!(streamed.title.contains("no huge pages"), "{}", streamed.title);
    assert_eq!(steps(&streamed), Vec::<String>::new(), "settings of huge pages do not touch it");
    assert!(
        streamed.change.as_ref().is_some_and(|step| format!("{step:?}").contains("Guard")),
        "{:?}",
        streamed.change
    );
    // A fault compacts a few times at most: where there are ten times as many compactions, most are not for faults.
    let few = must_find(&other(3.0), "compaction-storm");
    assert!(few.title.contains("no huge pages"), "{}", few.title);
    let of_huge_pages = must_find(&other(20.0), "compaction-storm");
    assert!(!of_huge_pages.title.contains("no huge pages") && !steps(&of_huge_pages).is_empty());
    // A size that the counters do not count may be what was wanted.
    let sizes = must_find(&other(0.0).setting("mthp[64k].enabled", "always"), "compaction-storm");
    assert!(!sizes.title.contains("no huge pages"), "{}", sizes.title);
}

/// Compactions that look at few pages take no time worth the name, and the kernel is busy with something else.
#[test]
fn compactions_that_scan_hardly_anything_are_no_storm() {
    let scans = |pages: f64| {
        RecordingBuilder::healthy(120)
            .cpu(4, 0.1, 0.5)
            .counter("vmstat", "compact_stall", "", |_| 50.0)
            .counter("vmstat", "compact_migrate_scanned", "", move |_| pages)
            .counter("vmstat", "compact_free_scanned", "", move |_| pages)
    };
    must_not_decide(&scans(20_000.0), "compaction-storm");
    must_find(&scans(50_000_000.0), "compaction-storm");
}

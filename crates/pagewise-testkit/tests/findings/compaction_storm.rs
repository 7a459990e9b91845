//! The storm of 2012 and its like, and what only looks like it.

use crate::asking::{ask, found, must_find, must_not_decide, must_not_find, steps};
use pagewise_core::finding::{Confidence, Severity, Tier};
use pagewise_core::recording::StallKind;
use pagewise_testkit::RecordingBuilder;

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

#[test]
fn a_healthy_host_has_none_and_one_burst_is_none_either() {
    must_not_find(&RecordingBuilder::healthy(60), "compaction-storm");
    let burst = storm(60).cpu(4, 0.28, 0.60).counter("stat", "system", "", |at| if at < 15.0 { 240.0 } else { 10.0 });
    must_not_find(&burst, "compaction-storm");
}

#[test]
fn a_look_of_one_window_is_enough_when_all_of_it_hits_and_a_second_is_not() {
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

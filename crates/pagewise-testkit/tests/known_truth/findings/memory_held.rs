//! Memory that something holds: shared memory, what nobody accounts for, and control groups that were removed.

use super::asking::{must_find, must_not_decide, must_not_find};
use pagewise_core::finding::{Confidence, Severity};
use pagewise_testkit::RecordingBuilder;

fn healthy() -> RecordingBuilder {
    RecordingBuilder::healthy(120)
}

/// Of 16 GiB, so much is shared and so much can be had.
fn shared(gib: f64, available: f64) -> RecordingBuilder {
    healthy().gib("Shmem", gib).gib("MemAvailable", available).gib("Cached", gib + 1.0).gib("MemFree", 11.0 - gib)
}

#[test]
fn shared_memory_that_leaves_little_is_found_and_a_large_database_is_not() {
    let finding = must_find(&shared(9.0, 1.0), "shmem-fill");
    assert!(finding.summary.contains("56 %"), "{}", finding.summary);
    assert!(finding.severity == Severity::Low, "nobody waits for memory: {:?}", finding.severity);
    let words: Vec<&str> = finding.change.iter().chain(&finding.alternatives).map(|step| step.words.as_str()).collect();
    assert!(words[0].contains("df -h -t tmpfs") && words[0].contains("ipcs -m"), "{words:?}");
    let missed = shared(9.0, 1.0).counter("psi_memory", "some_total", "", |_| 100_000.0);
    assert_eq!(must_find(&missed, "shmem-fill").severity, Severity::High);
    must_not_find(&shared(9.0, 5.0), "shmem-fill");
    must_not_find(&shared(2.0, 1.0), "shmem-fill");
    must_not_find(&healthy(), "shmem-fill");
}

#[test]
fn a_tmpfs_that_is_being_filled_is_found_before_nothing_is_left() {
    let filled = |available: f64, per_second: f64| {
        shared(6.0, available).level("meminfo", "Shmem", "", move |at| 6.0 * 1048576.0 + at * per_second)
    };
    let finding = must_find(&filled(3.0, 2_000.0), "shmem-fill");
    assert!(finding.summary.contains("grow by"), "{}", finding.summary);
    must_not_find(&filled(3.0, 0.0), "shmem-fill");
    // Buffers of a database that warm up.
    must_not_find(&filled(8.0, 20_000.0), "shmem-fill");
}

#[test]
fn where_shared_memory_is_not_counted_it_stays_open() {
    let without = shared(9.0, 1.0).without("meminfo", "Shmem", "");
    assert!(must_not_decide(&without, "shmem-fill").missing.iter().any(|missing| missing.what == "meminfo.Shmem"));
}

/// Nobody accounts for so much of 16 GiB, and for so much more each hour.
fn leaking_for(seconds: u32, gib: f64, an_hour: f64) -> RecordingBuilder {
    let made = RecordingBuilder::healthy(seconds).gib("MemAvailable", 9.0);
    made.level("meminfo", "MemFree", "", move |at| (6.0 - gib - an_hour * at / 3600.0) * 1048576.0)
}

fn leaking(gib: f64, an_hour: f64) -> RecordingBuilder {
    leaking_for(3600, gib, an_hour)
}

/// The same for so short that growth is not asked about.
fn lacking(gib: f64) -> RecordingBuilder {
    leaking_for(600, gib, 0.0)
}

#[test]
fn memory_in_no_account_is_found_and_whether_it_grows() {
    let grows = must_find(&leaking(3.0, 1.0), "kernel-memory-leak");
    assert!(grows.summary.contains("It grows by"), "{}", grows.summary);
    assert_eq!((grows.severity, grows.confidence), (Severity::Medium, Confidence::Medium));
    let parts: Vec<&str> = grows.evidence.iter().map(|line| line.name.as_str()).collect();
    assert!(["slab", "vmalloc", "per CPU", "page tables"].iter().all(|part| parts.contains(part)), "{parts:?}");
    let kept = must_find(&leaking(4.0, 0.0), "kernel-memory-leak");
    assert!(kept.summary.contains("does not grow"), "{}", kept.summary);
    assert_eq!((kept.severity, kept.confidence), (Severity::Low, Confidence::Low));
    must_not_find(&healthy(), "kernel-memory-leak");
    must_not_find(&leaking(1.0, 0.0), "kernel-memory-leak");
}

#[test]
fn what_has_a_name_is_no_leak() {
    must_find(&lacking(3.0), "kernel-memory-leak");
    must_not_find(&lacking(3.0).gib("Hugetlb", 3.0), "kernel-memory-leak");
    must_not_find(&lacking(3.0).gib("Balloon", 3.0), "kernel-memory-leak");
    must_not_find(&lacking(3.0).gib("Slab", 3.4), "kernel-memory-leak");
    let old = lacking(3.0).without("meminfo", "Hugetlb", "").level("meminfo", "HugePages_Total", "", |_| 1536.0);
    must_not_find(&old, "kernel-memory-leak");
}

#[test]
fn where_an_account_is_missing_the_rest_is_not_known() {
    for account in ["Slab", "PageTables", "VmallocUsed", "KernelStack", "AnonPages"] {
        let open = must_not_decide(&lacking(3.0).without("meminfo", account, ""), "kernel-memory-leak");
        assert!(open.missing.iter().any(|missing| missing.what.ends_with(account)), "{account}: {open:?}");
    }
}

#[test]
fn removed_groups_that_pile_up_are_found() {
    let groups = |living: f64, dying: f64| {
        let made = healthy().level("cgroups", "nr_descendants", "", move |_| living);
        made.level("cgroups", "nr_dying_descendants", "", move |_| dying)
    };
    let finding = must_find(&groups(120.0, 48_000.0), "dying-cgroups");
    assert!(finding.summary.contains("48") && finding.severity == Severity::Low, "{}", finding.summary);
    let heavy = must_find(&groups(120.0, 48_000.0).gib("Percpu", 1.6), "dying-cgroups");
    assert_eq!(heavy.severity, Severity::Medium);
    must_not_find(&groups(120.0, 300.0), "dying-cgroups");
    must_not_find(&groups(9_000.0, 3_000.0), "dying-cgroups");
    must_not_find(&healthy(), "dying-cgroups");
    let unseen = healthy().without_source("cgroups");
    assert!(!must_not_decide(&unseen, "dying-cgroups").missing.is_empty());
}

#[test]
fn version_1_tells_of_them_by_comparison() {
    let of = |memory: f64| {
        let made = healthy().without_source("cgroups").level("controllers", "groups", "controller=pids", |_| 130.0);
        made.level("controllers", "groups", "controller=memory", move |_| memory)
    };
    let finding = must_find(&of(61_000.0), "dying-cgroups");
    assert_eq!(finding.confidence, Confidence::Low);
    assert!(finding.missing.iter().any(|missing| missing.why.contains("version 1")), "{:?}", finding.missing);
    must_not_find(&of(140.0), "dying-cgroups");
}

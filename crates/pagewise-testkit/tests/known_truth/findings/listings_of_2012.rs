//! The two collectl listings and the perf listing of G. Rahn, "Linux 6 Transparent Huge Pages and Hadoop Workloads"
//! (structureddata.org, 18 June 2012), as an import gives them: CPU in percent, memory in GiB, functions without callers.

use super::asking::{ask, found, must_find, must_not_decide, steps};
use pagewise_core::finding::{Confidence, Diagnosis, Tier};
use pagewise_testkit::RecordingBuilder;

/// Percent of all CPUs that was busy and that was spent in the kernel, every two seconds.
const THP_ON: [(u32, u32); 22] = [
    (99, 81),
    (92, 81),
    (59, 58),
    (54, 53),
    (88, 87),
    (95, 94),
    (99, 98),
    (97, 95),
    (100, 96),
    (100, 89),
    (100, 71),
    (99, 56),
    (100, 51),
    (100, 48),
    (99, 36),
    (99, 51),
    (100, 50),
    (99, 44),
    (99, 39),
    (98, 39),
    (98, 62),
    (100, 83),
];

/// The same with free memory in GiB.
const THP_OFF: [(u32, u32, u32); 22] = [
    (84, 4, 5),
    (71, 7, 5),
    (89, 4, 5),
    (81, 7, 7),
    (81, 4, 8),
    (87, 7, 8),
    (79, 6, 6),
    (75, 6, 3),
    (64, 5, 2),
    (60, 4, 1),
    (74, 5, 1),
    (73, 6, 6),
    (86, 5, 5),
    (78, 3, 5),
    (83, 4, 6),
    (62, 4, 7),
    (75, 7, 10),
    (88, 7, 7),
    (83, 6, 5),
    (66, 4, 3),
    (66, 4, 2),
    (66, 3, 1),
];

fn listing(rows: Vec<(u32, u32, u32)>) -> RecordingBuilder {
    let at = move |seconds: f64| rows[((seconds / 2.0) as usize).min(21)];
    let (busy, system, free) = (at.clone(), at.clone(), at);
    RecordingBuilder::new(42)
        .every(2.0)
        .level("import", "cpu_busy_percent", "", move |seconds| f64::from(busy(seconds).0))
        .level("import", "cpu_system_percent", "", move |seconds| f64::from(system(seconds).1))
        .level("meminfo", "MemFree", "", move |seconds| f64::from(free(seconds).2) * 1024.0 * 1024.0)
        .gib("Cached", 52.0)
        .gib("Slab", 0.5)
}

fn thp_on() -> RecordingBuilder {
    listing(THP_ON.iter().map(|(busy, system)| (*busy, *system, 24)).collect())
}

fn with_perf_top(recording: RecordingBuilder, functions: &[(&str, u64)]) -> RecordingBuilder {
    functions.iter().fold(recording, |recording, (name, count)| recording.stack("", None, &[name], *count))
}

const PERF_TOP: [(&str, u64); 10] = [
    ("_spin_lock_irq", 223_182),
    ("_spin_lock_irqsave", 3_879),
    ("compaction_alloc", 3_260),
    ("compact_zone", 1_992),
    ("libjvm.so!SpinPause", 1_714),
    ("get_pageblock_flags_group", 716),
    ("libjvm.so!ParallelTaskTerminator::offer_termination(TerminatorTerminator*)", 596),
    ("_cond_resched", 169),
    ("_spin_lock", 114),
    ("hrtimer_interrupt", 101),
];

fn value(diagnosis: &Diagnosis, id: &str, name: &str) -> f64 {
    let finding = found(diagnosis, id).unwrap_or_else(|| panic!("{id}: {diagnosis:#?}"));
    let line = finding.evidence.iter().find(|line| line.name == name);
    line.and_then(|line| line.value).unwrap_or_else(|| panic!("{name}: {:#?}", finding.evidence))
}

#[test]
fn the_listing_alone_says_that_something_is_wrong_and_not_what() {
    let diagnosis = ask(&thp_on());
    let finding = must_find(&thp_on(), "unexplained-system-time");
    assert_eq!(finding.confidence, Confidence::Low);
    assert!(finding.summary.contains("Memory is ample: 76 GiB"), "{}", finding.summary);
    assert!(finding.missing.iter().any(|missing| missing.what == "stacks"));
    assert!((value(&diagnosis, "unexplained-system-time", "system share of all CPU") - 0.665).abs() < 0.01);
    assert!((value(&diagnosis, "unexplained-system-time", "system share of busy CPU") - 0.705).abs() < 0.01);
    must_not_decide(&thp_on(), "compaction-storm");
}

#[test]
fn with_the_perf_listing_it_is_a_compaction_storm_and_the_smaller_change_comes_first() {
    let both = with_perf_top(thp_on(), &PERF_TOP);
    let diagnosis = ask(&both);
    let finding = must_find(&both, "compaction-storm");
    assert_eq!((finding.confidence, &finding.tiers[..]), (Confidence::Medium, &[Tier::Stacks][..]));
    assert!((value(&diagnosis, "compaction-storm", "system share of all CPU") - 0.665).abs() < 0.01);
    assert!((value(&diagnosis, "compaction-storm", "system share of busy CPU") - 0.705).abs() < 0.01);
    assert_eq!(steps(&finding), ["thp.defrag=never", "thp.enabled=never"], "its spin locks have the names of 2.6.32");
    assert!(found(&diagnosis, "unexplained-system-time").is_none());
}

#[test]
fn with_another_storm_of_locks_it_is_not() {
    const OTHER: [(&str, u64); 6] = [
        ("_spin_lock_irq", 223_182),
        ("_spin_lock_irqsave", 3_879),
        ("hrtimer_interrupt", 3_260),
        ("do_futex", 1_992),
        ("libjvm.so!SpinPause", 1_714),
        ("schedule", 716),
    ];
    let both = with_perf_top(thp_on(), &OTHER);
    assert!(found(&ask(&both), "compaction-storm").is_none());
    let finding = must_find(&both, "unexplained-system-time");
    assert!(finding.summary.contains("_spin_lock_irq"), "{}", finding.summary);
}

#[test]
fn the_listing_without_huge_pages_has_nothing() {
    let off = listing(THP_OFF.to_vec());
    let diagnosis = ask(&off);
    assert!(diagnosis.findings.is_empty(), "{:#?}", diagnosis.findings);
    assert!(diagnosis.not_found.iter().any(|rule| rule.id == "unexplained-system-time"));
    let Ok(observed) = pagewise_core::finding::Observed::of(&off);
    let mean = |track: pagewise_core::finding::observed::Track| track.mean_of_all(&observed.windows).unwrap();
    assert!((mean(observed.system_share_of_all()) - 0.051).abs() < 0.003);
    assert!((mean(observed.system_share()) - 0.067).abs() < 0.003);
}

//! The other rules, each: it fires on its pathology, is silent on a healthy host, and says what it lacks.

use super::asking::{ask, must_find, must_not_decide, must_not_find, steps};
use pagewise_core::finding::proposal::Command;
use pagewise_core::finding::{Confidence, Finding, Severity, Tier};
use pagewise_core::recording::{Gap, GapReason, StallKind};
use pagewise_testkit::RecordingBuilder;
use pagewise_testkit::recordings::{EachSecond, START};

pub(crate) type Make = fn() -> RecordingBuilder;

pub(crate) type Pathology = (&'static str, Make, Option<(&'static str, &'static str, &'static str)>);

fn healthy() -> RecordingBuilder {
    RecordingBuilder::healthy(120)
}

fn busy_kernel() -> RecordingBuilder {
    healthy().cpu(4, 0.5, 0.3)
}

/// A program that asks for huge pages beside one that fills memory: the kernel has little of the CPU.
fn compaction_stalls() -> RecordingBuilder {
    healthy().counter("vmstat", "compact_stall", "", |_| 40.0).stall(
        StallKind::Compaction,
        "stencil",
        7,
        Some(9),
        36.0,
        4_000,
    )
}

fn thrash() -> RecordingBuilder {
    healthy()
        .counter("vmstat", "workingset_refault_file", "", |_| 5_000.0)
        .counter("vmstat", "pgsteal_kswapd", "", |_| 5_000.0)
        .counter("vmstat", "pgpgin", "", |_| 40_000.0)
        .counter("psi_io", "some_total", "", |_| 300_000.0)
        .counter("vmstat", "pgscan_file", "", |_| 20_000.0)
        .gib("MemFree", 0.3)
}

/// A rule, what makes it fire, and what to take away so that it stays open (source, name, labels; none: not possible).
pub(crate) fn cases() -> Vec<Pathology> {
    let all: [Pathology; 26] = [
        ("compaction-stalls", compaction_stalls, Some(("vmstat", "compact_stall", ""))),
        (
            "thp-fault-cost",
            || {
                busy_kernel()
                    .counter("vmstat", "thp_fault_alloc", "", |_| 500.0)
                    .stack("java", Some(9), &["do_huge_pmd_anonymous_page", "clear_huge_page"], 300)
                    .stack("java", Some(9), &["java!work"], 700)
            },
            Some(("vmstat", "thp_fault_alloc", "")),
        ),
        (
            "khugepaged-burn",
            || healthy().counter("threads", "cpu", "thread=khugepaged", |_| 60.0),
            Some(("threads", "cpu", "thread=khugepaged")),
        ),
        (
            "thp-bloat",
            || {
                healthy()
                    .level("meminfo", "AnonPages", "", |at| (4.0 + at / 120.0 * 2.0) * 1048576.0)
                    .level("meminfo", "AnonHugePages", "", |at| (1.5 + at / 120.0 * 2.0) * 1048576.0)
                    .counter("vmstat", "thp_collapse_alloc", "", |_| 8.0)
            },
            Some(("vmstat", "thp_collapse_alloc", "")),
        ),
        (
            "kswapd-saturation",
            || {
                healthy()
                    .counter("threads", "cpu", "thread=kswapd0", |_| 97.0)
                    .counter("vmstat", "pgscan_kswapd", "", |_| 90_000.0)
                    .counter("vmstat", "pgsteal_kswapd", "", |_| 9_000.0)
            },
            Some(("threads", "cpu", "thread=kswapd0")),
        ),
        (
            "direct-reclaim-stalls",
            || {
                healthy()
                    .counter("vmstat", "allocstall_normal", "", |_| 20.0)
                    .counter("vmstat", "pgsteal_direct", "", |_| 5_000.0)
                    .counter("vmstat", "pgsteal_kswapd", "", |_| 9_000.0)
            },
            Some(("vmstat", "pgsteal_direct", "")),
        ),
        (
            "swap-thrash",
            || {
                healthy()
                    .counter("vmstat", "pswpin", "", |_| 2_000.0)
                    .counter("vmstat", "pswpout", "", |_| 2_000.0)
                    .counter("vmstat", "workingset_refault_anon", "", |_| 1_500.0)
                    .counter("psi_memory", "some_total", "", |_| 400_000.0)
            },
            Some(("vmstat", "pswpin", "")),
        ),
        (
            "fragmentation",
            || {
                let mut made = healthy().counter("vmstat", "thp_fault_fallback", "", |_| 50.0);
                for order in 0..11u32 {
                    let blocks = if order < 4 { 80_000.0 } else { 0.0 };
                    let labels = format!("node=0,zone=Normal,order={order}");
                    made = made.level("buddyinfo", "free_blocks", &labels, move |_| blocks);
                }
                made
            },
            Some(("buddyinfo", "free_blocks", "node=0,zone=Normal,order=0")),
        ),
        ("page-cache-thrash", thrash, Some(("vmstat", "pgpgin", ""))),
        (
            "swappiness-misuse",
            || thrash().setting("vm.swappiness", "0"),
            Some(("vmstat", "workingset_refault_file", "")),
        ),
        (
            "dirty-throttling",
            || {
                healthy()
                    .level("vmstat", "nr_dirty", "", |_| 480_000.0)
                    .counter("vmstat", "pgpgout", "", |_| 100_000.0)
                    .counter("psi_io", "some_total", "", |_| 500_000.0)
            },
            Some(("vmstat", "nr_dirty_threshold", "")),
        ),
        ("slab-bloat", || healthy().gib("SUnreclaim", 3.0), Some(("meminfo", "MemTotal", ""))),
        ("numa-imbalance", || two_nodes().counter("vmstat", "numa_miss", "", |_| 4_000.0), None),
        (
            "kcompactd-burn",
            || healthy().counter("threads", "cpu", "thread=kcompactd0", |_| 70.0),
            Some(("threads", "cpu", "thread=kcompactd0")),
        ),
        (
            "watermark-boost",
            || {
                healthy().level("zoneinfo", "boost", "node=0,zone=Normal", |_| 8_000.0).counter(
                    "vmstat",
                    "pgsteal_kswapd",
                    "",
                    |_| 3_000.0,
                )
            },
            Some(("zoneinfo", "boost", "node=0,zone=Normal")),
        ),
        (
            "memcg-limit-thrash",
            || {
                healthy().counter("cgroup_events[/job]", "high", "cgroup=/job", |_| 40.0).counter(
                    "cgroup_pressure[/job]",
                    "full_total",
                    "cgroup=/job",
                    |_| 400_000.0,
                )
            },
            Some(("cgroup_events[/job]", "high", "cgroup=/job")),
        ),
        ("mthp-misset", || healthy().setting("thp.enabled", "never").setting("mthp[64k].enabled", "always"), None),
        ("unevictable-memory", || healthy().gib("Unevictable", 10.0), Some(("meminfo", "MemTotal", ""))),
        (
            "oom-risk",
            || healthy().gib("MemFree", 0.5).counter("vmstat", "oom_kill", "", |at| if at < 60.0 { 0.1 } else { 0.0 }),
            Some(("vmstat", "oom_kill", "")),
        ),
        (
            "fork-cow-thp",
            || {
                healthy().stack("redis", Some(3), &["do_huge_pmd_wp_page", "__split_huge_pmd"], 200).stack(
                    "redis",
                    Some(3),
                    &["redis!work"],
                    800,
                )
            },
            None,
        ),
        (
            "mmap-lock-contention",
            || {
                healthy()
                    .stack(
                        "java",
                        Some(3),
                        &["do_user_addr_fault", "down_read_killable", "rwsem_down_read_slowpath"],
                        300,
                    )
                    .stack("java", Some(3), &["java!work"], 700)
            },
            None,
        ),
        (
            "fault-churn",
            || {
                busy_kernel()
                    .counter("vmstat", "pgfault", "", |_| 400_000.0)
                    .counter("vmstat", "pgfree", "", |_| 410_000.0)
                    .process("worker", 7, 1 << 28, EachSecond { minor_faults: 390_000, ..EachSecond::default() })
            },
            Some(("vmstat", "pgfault", "")),
        ),
        (
            "tlb-shootdowns",
            || busy_kernel().counter("vmstat", "nr_tlb_remote_flush_received", "", |_| 200_000.0),
            Some(("vmstat", "nr_tlb_remote_flush_received", "")),
        ),
        (
            "shmem-fill",
            || healthy().gib("Shmem", 9.0).gib("Cached", 10.0).gib("MemFree", 1.0).gib("MemAvailable", 1.2),
            Some(("meminfo", "Shmem", "")),
        ),
        ("kernel-memory-leak", || healthy().gib("MemFree", 2.0), Some(("meminfo", "Slab", ""))),
        (
            "dying-cgroups",
            || healthy().level("cgroups", "nr_dying_descendants", "", |_| 30_000.0),
            Some(("cgroups", "nr_dying_descendants", "")),
        ),
    ];
    all.to_vec()
}

fn two_nodes() -> RecordingBuilder {
    [("free", 1.5e6), ("low", 20e3), ("high", 25e3), ("managed", 4.1e6)]
        .into_iter()
        .fold(healthy(), |made, (name, pages)| made.level("zoneinfo", name, "node=1,zone=Normal", move |_| pages))
}

#[test]
fn each_rule_finds_its_pathology() {
    for (id, make, _) in cases() {
        let finding = must_find(&make(), id);
        assert!(!finding.summary.is_empty() && finding.summary.ends_with('.'), "{id}: {}", finding.summary);
        assert!(finding.change.is_some(), "{id} proposes something");
        // What is judged for the recording as a whole, such as a setting, or stacks, has no beginning and no end.
        assert_eq!(finding.since.is_some(), finding.held.is_some(), "{id}");
        assert!(finding.held.is_none() || finding.seconds > 0.0, "{id}");
    }
}

#[test]
fn without_its_evidence_a_rule_says_what_it_lacks() {
    for (id, make, lacks) in cases() {
        let Some((source, name, labels)) = lacks else { continue };
        let without = make().without(source, name, labels);
        // What many samples were in has its name all the same, and says what would make it surer.
        let by_profile = ask(&without).findings.into_iter().find(|finding| finding.id == id);
        if let Some(finding) = by_profile {
            assert_eq!((finding.confidence, finding.tiers), (Confidence::Low, vec![Tier::Stacks]), "{id}");
            assert!(!finding.missing.is_empty(), "{id}");
            continue;
        }
        let open = must_not_decide(&without, id);
        assert!(!open.missing.is_empty(), "{id}: {open:?}");
    }
}

#[test]
fn a_healthy_host_has_nothing() {
    let diagnosis = ask(&RecordingBuilder::healthy(700));
    assert!(diagnosis.findings.is_empty(), "{:#?}", diagnosis.findings);
    let with_tiers = two_nodes().stack("java", Some(1), &["java!work"], 1000).stalls_recorded();
    let diagnosis = ask(&with_tiers);
    assert!(diagnosis.findings.is_empty(), "{:#?}", diagnosis.findings);
    let open: Vec<&str> = diagnosis.not_decided.iter().map(|rule| rule.id.as_str()).collect();
    assert_eq!(open, ["tlb-bound"], "everything else is decided: {:#?}", diagnosis.not_decided);
}

#[test]
fn a_burn_needs_a_minute_and_a_short_recording_says_so() {
    let short = RecordingBuilder::healthy(30).counter("threads", "cpu", "thread=khugepaged", |_| 60.0);
    assert_eq!(must_not_decide(&short, "khugepaged-burn").needs_seconds, Some(60.0));
    let pool = |seconds| {
        let made = RecordingBuilder::healthy(seconds).level("meminfo", "HugePages_Total", "", |_| 1024.0);
        made.level("meminfo", "HugePages_Free", "", |_| 900.0).setting("vm.nr_hugepages", "1024")
    };
    assert_eq!(must_not_decide(&pool(60), "hugetlb-waste").needs_seconds, Some(600.0));
    let finding = must_find(&pool(700), "hugetlb-waste");
    assert_eq!(steps(&finding)[0], "vm.nr_hugepages=124");
    assert_eq!(steps(&finding)[1], "vm.nr_hugepages=124,vm.nr_overcommit_hugepages=900");
}

#[test]
fn no_step_goes_over_a_ceiling() {
    let small = healthy().gib("MemTotal", 0.5).gib("MemAvailable", 0.3).setting("vm.min_free_kbytes", "26000");
    let stalls =
        small.counter("vmstat", "allocstall_normal", "", |_| 20.0).counter("vmstat", "pgsteal_direct", "", |_| 5_000.0);
    let all = steps(&must_find(&stalls, "direct-reclaim-stalls"));
    assert!(all.iter().all(|step| !step.starts_with("vm.min_free_kbytes")), "{all:?}");
}

#[test]
fn two_kinds_of_evidence_agree_on_direct_reclaim() {
    let stalls = healthy()
        .counter("vmstat", "allocstall_normal", "", |_| 20.0)
        .counter("vmstat", "pgsteal_direct", "", |_| 5_000.0)
        .stall(StallKind::DirectReclaim, "python", 77, None, 30.0, 900);
    let finding = must_find(&stalls, "direct-reclaim-stalls");
    assert_eq!(finding.confidence, Confidence::High);
    assert_eq!((finding.who[0].name.as_str(), finding.who[0].pid), ("python", Some(77)));
}

#[test]
fn direct_reclaim_costs_no_more_than_was_timed_of_it_and_a_larger_wait_is_named() {
    let made = healthy()
        .counter("vmstat", "allocstall_normal", "", |_| 20.0)
        .counter("vmstat", "pgsteal_direct", "", |_| 5_000.0)
        .counter("psi_memory", "some_total", "", |_| 500_000.0)
        .counter("vmstat", "compact_stall", "", |_| 40.0)
        .stall(StallKind::DirectReclaim, "cat", 7, None, 2.667, 900)
        .stall(StallKind::Compaction, "stencil", 9, Some(9), 12.0, 4_000);
    let reclaim = must_find(&made, "direct-reclaim-stalls");
    let cost = reclaim.cost.stalled_share.unwrap();
    assert!((cost - 0.02).abs() < 0.005, "half of the time some task waited, for this a fiftieth: {cost}");
    assert!(reclaim.summary.contains("compaction held tasks up"), "{}", reclaim.summary);
    let compaction = must_find(&made, "compaction-stalls");
    assert!((compaction.cost.stalled_share.unwrap() - 0.4).abs() < 0.05, "{:?}", compaction.cost);
    assert!(compaction.severity > reclaim.severity, "{:?} {:?}", compaction.severity, reclaim.severity);
}

#[test]
fn a_guard_is_proposed_where_files_stream_through_memory_and_nowhere_else() {
    let reclaims = || {
        healthy()
            .counter("vmstat", "allocstall_normal", "", |_| 20.0)
            .counter("vmstat", "pgsteal_direct", "", |_| 5_000.0)
            .counter("vmstat", "pgsteal_kswapd", "", |_| 9_000.0)
    };
    let is_first = |made: &RecordingBuilder| {
        let change = must_find(made, "direct-reclaim-stalls").change.expect("something to try");
        change.apply == Some(Command::Guard) && change.verify == [Command::GuardProve]
    };
    assert!(!is_first(&reclaims()), "nothing was read");
    let freed = |anonymous: f64| reclaims().counter("vmstat", "pgsteal_anon", "", move |_| anonymous);
    assert!(is_first(&freed(100.0)), "files that come by the network, or have holes");
    assert!(!is_first(&freed(6_000.0)), "half of it is memory of programs");
    let streams = reclaims().counter("vmstat", "pgpgin", "", |_| 50_000.0);
    assert!(is_first(&streams));
    assert!(!is_first(&streams.counter("vmstat", "pswpout", "", |_| 4_000.0)), "programs go to swap");
}

#[test]
fn a_stream_that_nobody_waits_for_is_told_of_and_no_finding() {
    let said = |made: &RecordingBuilder| ask(made).notes.join(" ");
    let stream = |read: f64| {
        healthy()
            .counter("vmstat", "pgsteal_kswapd", "", |_| 100_000.0)
            .counter("vmstat", "pgscan_kswapd", "", |_| 100_000.0)
            .counter("vmstat", "pgpgin", "", move |_| read)
            .counter("threads", "cpu", "thread=kswapd0", |_| 14.0)
    };
    let streams = stream(400_000.0);
    assert!(ask(&streams).findings.is_empty());
    let note = said(&streams);
    assert!(note.contains("Files stream through memory") && note.contains("14 % of a core"), "{note}");
    assert!(note.contains("pagewise guard prove"), "{note}");
    assert_eq!(said(&stream(0.0)), "", "nothing is read from a disk: what was freed was no file that streams");
    let little =
        healthy().counter("vmstat", "pgsteal_kswapd", "", |_| 1_000.0).counter("vmstat", "pgpgin", "", |_| 4_000.0);
    assert_eq!(said(&little), "");
    // A finding that proposes the guard says it.
    let waits =
        streams
            .counter("vmstat", "allocstall_normal", "", |_| 20.0)
            .counter("vmstat", "pgsteal_direct", "", |_| 95_000.0);
    must_find(&waits, "direct-reclaim-stalls");
    assert_eq!(said(&waits), "");
}

#[test]
fn more_to_run_than_cpus_is_told_of_and_no_finding() {
    let said = |waited: f64, user: f64| {
        let busy = healthy().cpu(4, user, 0.05).counter("psi_cpu", "some_total", "", move |_| waited * 1e6);
        let answer = ask(&busy);
        assert!(answer.findings.is_empty());
        answer.notes.join(" ")
    };
    let note = said(0.9, 0.94);
    assert!(
        note.contains("more to run than CPUs") && note.contains("90 % of the time") && note.contains("nice -n 19"),
        "{note}"
    );
    assert_eq!(said(0.3, 0.94), "", "they seldom wait");
    assert_eq!(said(0.9, 0.7), "", "a CPU is free: who waits is bound to another");
}

#[test]
fn too_much_swappiness_matters_on_a_disk_and_not_on_compressed_memory() {
    let swaps = |area: &str| {
        let made = healthy().counter("vmstat", "pswpout", "", |_| 500.0).setting("vm.swappiness", "150");
        made.setting("swap", area)
    };
    assert_eq!(steps(&must_find(&swaps("partition:4294967296@/dev/vdb"), "swappiness-misuse")), ["vm.swappiness=60"]);
    must_not_find(&swaps("zram:4294967296:lzo-rle@/dev/zram0,prio=100"), "swappiness-misuse");
    must_not_find(&healthy(), "swappiness-misuse");
}

#[test]
fn memory_that_is_running_out_is_high_whatever_it_costs() {
    let falling =
        healthy().level("meminfo", "MemAvailable", "", |at| (0.9 - at / 120.0 * 0.5) * 1048576.0).gib("SwapFree", 0.0);
    assert_eq!(must_find(&falling, "oom-risk").severity, Severity::High);
    let promised = healthy().setting("vm.overcommit_memory", "2").gib("Committed_AS", 11.9);
    must_find(&promised, "oom-risk");
    must_not_find(&healthy().setting("vm.overcommit_memory", "1").gib("Committed_AS", 30.0), "oom-risk");
}

#[test]
fn where_neither_stacks_nor_stalls_name_anybody_the_processes_that_took_most_are_named() {
    const MIB: u64 = 1 << 20;
    let each = EachSecond::default();
    let with_processes = |made: RecordingBuilder| {
        made.process("cache", 70, 6 << 30, each)
            .process("leak", 71, 1 << 30, EachSecond { bytes: 30 * MIB, ..each })
            .process("swapper", 72, 1 << 30, EachSecond { major_faults: 400, bytes: MIB, ..each })
            .process("spinner", 73, MIB, EachSecond { system: 0.9, ..each })
    };
    let made = |id: &str| with_processes(cases().into_iter().find(|(other, ..)| *other == id).unwrap().1());
    let falling = healthy().level("meminfo", "MemAvailable", "", |at| (0.9 - at / 120.0 * 0.5) * 1048576.0);
    for (id, recording, pid, of) in [
        ("oom-risk", with_processes(falling.gib("SwapFree", 0.0)), 71, "growth in resident memory"),
        ("swap-thrash", made("swap-thrash"), 72, "page faults that waited for disk or swap"),
        ("unevictable-memory", made("unevictable-memory"), 70, "memory"),
        ("thp-bloat", made("thp-bloat"), 71, "growth in resident memory"),
        ("unexplained-system-time", with_processes(healthy().cpu(4, 0.3, 0.4)), 73, "CPU time in the kernel"),
    ] {
        let who = must_find(&recording, id).who;
        assert_eq!((who[0].pid, who[0].of.as_str()), (Some(pid), of), "{id}: {who:?}");
    }
    let without = must_find(&cases().into_iter().find(|(id, ..)| *id == "swap-thrash").unwrap().1(), "swap-thrash");
    assert_eq!(without.who, []);
}

#[test]
fn whom_stacks_name_processes_do_not_replace() {
    let seen = healthy()
        .counter("vmstat", "pswpin", "", |_| 2_000.0)
        .counter("vmstat", "pswpout", "", |_| 2_000.0)
        .counter("vmstat", "workingset_refault_anon", "", |_| 1_500.0)
        .stack("java", Some(9), &["do_swap_page", "swapin_readahead"], 600)
        .stack("java", Some(9), &["java!work"], 400)
        .process("swapper", 72, 1 << 30, EachSecond { major_faults: 400, ..EachSecond::default() });
    let who = must_find(&seen, "swap-thrash").who;
    assert_eq!((who[0].name.as_str(), who.len()), ("java", 1), "{who:?}");
}

#[test]
fn the_busiest_are_processes_by_their_own_names() {
    let seen = healthy()
        .stack("C2 CompilerThre", Some(9), &["java!compile"], 300)
        .stack("G1 Conc#0", Some(9), &["java!mark"], 250)
        .stack("spinner", Some(73), &["spin"], 450)
        .process("java", 9, 1 << 30, EachSecond::default());
    let told: Vec<(String, Option<u32>)> =
        ask(&seen).observed.activity.programs.into_iter().map(|who| (who.name, who.pid)).collect();
    assert_eq!(told, [("java".to_owned(), Some(9)), ("spinner".to_owned(), Some(73))]);
}

#[test]
fn one_numa_node_has_no_wrong_node() {
    must_not_find(&healthy().counter("vmstat", "numa_miss", "", |_| 4_000.0), "numa-imbalance");
}

#[test]
fn what_is_wrong_with_the_measurement_is_said() {
    let stolen = healthy().counter("stat", "steal", "", |_| 100.0);
    assert!(must_find(&stolen, "measurement-caveat").summary.contains("hypervisor"));
    let lossy = healthy().stack("java", Some(1), &["java!work"], 1000).lost(50);
    let said = must_find(&lossy, "measurement-caveat").summary;
    assert!(said.contains("lost"), "{said}");
    let gap = Gap {
        from: START,
        to: Some(START + 30_000_000_000),
        source: None,
        reason: GapReason::Suspended,
        ticks: None,
        detail: String::new(),
    };
    assert!(must_find(&healthy().gap(gap), "measurement-caveat").summary.contains("not seen"));
    let without_psi = healthy().without_source("psi_memory");
    assert!(must_find(&without_psi, "measurement-caveat").summary.contains("psi=1"));
    must_not_find(&healthy(), "measurement-caveat");
}

#[test]
fn a_counter_that_is_reset_makes_its_window_unknown_and_not_zero() {
    let reset = healthy().total("vmstat", "pswpin", "", |at| Some(if at < 65.0 { 1_000_000 } else { at as u64 }));
    let Ok(observed) = pagewise_core::finding::Observed::of(&reset);
    let rate = observed.rate(&pagewise_core::finding::signal::SWAP_IN);
    assert_eq!(rate.values()[2], Some(0.0));
    assert_eq!(rate.values()[6], None, "{rate:?}");
    assert!(!rate.missing().is_empty());
}

#[test]
fn a_fork_shows_as_splits_and_copies_of_small_pages_since_5_8() {
    let copies = |family: &[&str]| {
        let made = healthy().counter("vmstat", "thp_split_pmd", "", |_| 90.0);
        made.stack("redis", Some(3), family, 200).stack("redis", Some(3), &["redis!work"], 800)
    };
    let finding = must_find(&copies(&["do_wp_page", "folio_copy"]), "fork-cow-thp");
    assert!(finding.summary.contains("90 huge pages a second were split"), "{}", finding.summary);
    must_not_find(&copies(&["do_anonymous_page", "clear_page"]), "fork-cow-thp");
    let without_splits =
        healthy().stack("bash", Some(3), &["do_wp_page"], 200).stack("bash", Some(3), &["bash!x"], 800);
    must_not_find(&without_splits, "fork-cow-thp");
    let without_stacks = healthy().counter("vmstat", "thp_split_pmd", "", |_| 90.0);
    must_not_decide(&without_stacks, "fork-cow-thp");
}

#[test]
fn a_copy_is_in_the_kernel_and_nothing_is_wrong_with_it() {
    let kernel_is_in = |functions: &[&str]| healthy().cpu(4, 0.1, 0.5).stack("rsync", Some(3), functions, 900);
    let copy = ["ksys_write", "vfs_write", "ext4_buffered_write_iter", "generic_perform_write", "copy_folio_from_iter"];
    must_not_find(&kernel_is_in(&copy), "unexplained-system-time");
    must_find(&kernel_is_in(&["ksys_read", "vfs_read", "read_zero"]), "unexplained-system-time");
    let half = kernel_is_in(&copy).stack("x", Some(4), &["do_syscall_64", "some_storm"], 1000);
    must_find(&half, "unexplained-system-time");
}

/// Names of files that are kept, and how many of them are of none at a second.
type Names = (f64, fn(f64) -> f64);

const MORE_NAMES: &str = "names of files that do not exist, more each second";

/// A host whose caches hold a third of its memory, with so many names of files.
fn caches(names: Option<Names>) -> RecordingBuilder {
    let made = RecordingBuilder::healthy(3600).gib("SReclaimable", 5.0);
    let Some((all, missing)) = names else { return made };
    made.level("dentries", "nr_dentry", "", move |_| all).level("dentries", "nr_negative", "", missing)
}

#[test]
fn names_of_files_that_do_not_exist_are_the_reason_that_bloated_caches_have() {
    let finding = must_find(&caches(Some((28e6, |at| 22e6 + at * 1000.0))), "slab-bloat");
    let says = "85 % of all names of files in them, 23.8 M, are of files that do not exist";
    assert!(finding.summary.contains(says), "{}", finding.summary);
    let value = |finding: &Finding, name: &str| {
        finding.evidence.iter().find(|evidence| evidence.name == name).map(|evidence| (evidence.value, evidence.holds))
    };
    let part = "of all names of files, those of files that do not exist";
    assert_eq!(value(&finding, part).unwrap().1, Some(true));
    let memory = value(&finding, "memory they take, at least").unwrap().0.unwrap();
    assert!((memory - 23.8e6 * 192.0 / (16.0 * 1073741824.0)).abs() < 0.001, "{memory}");
    let growth = value(&finding, MORE_NAMES).unwrap().0.unwrap();
    assert!((growth - 1000.0).abs() < 1.0, "{growth}");

    let few = must_find(&caches(Some((28e6, |_| 1e6))), "slab-bloat");
    assert!(!few.summary.contains("do not exist"), "{}", few.summary);
    assert_eq!(value(&few, part).unwrap().1, Some(false), "something else is in the caches");
}

#[test]
fn names_of_files_that_do_not_exist_and_pile_up_are_found_before_they_fill_memory() {
    // Of 16 GiB; a minute, as long as a first recording is.
    let names_for = |seconds: u32, gib: f64, all: f64, missing: fn(f64) -> f64| {
        let made = RecordingBuilder::healthy(seconds).gib("SReclaimable", gib);
        made.level("dentries", "nr_dentry", "", move |_| all).level("dentries", "nr_negative", "", missing)
    };
    let names = |gib, all, missing| names_for(60, gib, all, missing);
    let piling = |at: f64| 6e6 + at * 1500.0;
    let finding = must_find(&names(2.0, 7e6, piling), "slab-bloat");
    assert!(finding.severity <= Severity::Low, "nobody lacks memory yet: {:?}", finding.severity);
    must_not_find(&names(1.0, 7e6, piling), "slab-bloat");
    must_not_find(&names(2.0, 14e6, piling), "slab-bloat");
    must_not_find(&names(2.0, 7e6, |at| 6e6 + at * 500.0), "slab-bloat");
    must_not_find(&names(2.0, 7e6, |at| 6e6 - at * 1500.0), "slab-bloat");
    // A burst, such as a search over a tree, is over by the next window.
    must_not_find(&names(2.0, 7e6, |at| if at < 5.0 { 5e6 } else { 6e6 }), "slab-bloat");
    let open = must_not_decide(&names_for(12, 2.0, 7e6, piling), "slab-bloat");
    assert!(open.missing.iter().any(|missing| missing.why.contains("30 s")), "{open:?}");
}

#[test]
fn where_names_of_files_were_not_counted_it_is_said_and_bloat_is_found_all_the_same() {
    for (recording, why) in [
        // Made by a version that did not record them.
        (caches(None), "not in the recording"),
        // A kernel before 5.0.
        (caches(Some((28e6, |_| 0.0))), "since 5.0"),
    ] {
        let finding = must_find(&recording, "slab-bloat");
        let missing = finding.missing.iter().find(|missing| missing.what == "dentries.nr_negative");
        assert!(missing.is_some_and(|missing| missing.why.contains(why)), "{:?}", finding.missing);
    }
    let harmless = healthy().level("dentries", "nr_dentry", "", |_| 9e6).level("dentries", "nr_negative", "", |_| 8e6);
    must_not_find(&harmless, "slab-bloat");
}

/// A processor that counts, with these parts of its cycles in page walks.
fn walking(loads: f64, stores: f64) -> RecordingBuilder {
    healthy()
        .setting("thp.enabled", "never")
        .counter("pmu", "cycles", "", |_| 4e9)
        .counter("pmu", "load_walk_cycles", "", move |_| 4e9 * loads)
        .counter("pmu", "store_walk_cycles", "", move |_| 4e9 * stores)
}

#[test]
fn page_walks_that_take_much_of_the_cycles_are_found_and_huge_pages_proposed() {
    let finding = must_find(&walking(0.2, 0.01), "tlb-bound");
    assert_eq!((finding.tiers.as_slice(), finding.confidence), (&[Tier::Hardware][..], Confidence::Medium));
    assert!(finding.summary.contains("21 % of the cycles") && finding.summary.contains("never"), "{}", finding.summary);
    assert_eq!(steps(&finding)[0], "thp.enabled=madvise");
    assert!((finding.cost.cpu_share.unwrap() - 0.21).abs() < 0.001);
    must_find(&walking(0.02, 0.08), "tlb-bound");
    must_not_find(&walking(0.08, 0.04), "tlb-bound");
    let a_while = healthy().counter("pmu", "cycles", "", |_| 4e9).counter("pmu", "store_walk_cycles", "", |_| 0.0);
    let a_while = a_while.counter("pmu", "load_walk_cycles", "", |at| if at < 20.0 { 2e9 } else { 0.0 });
    let open = must_not_decide(&a_while, "tlb-bound");
    assert!(open.missing[0].why.contains("it held for 20 s"), "{open:?}");
}

#[test]
fn misses_alone_rule_out_what_would_not_matter_and_name_what_is_much_were_each_short() {
    let missing = |a_second: f64| {
        let made = healthy().counter("pmu", "cycles", "", |_| 4e9).counter("pmu", "store_misses", "", |_| 0.0);
        made.counter("pmu", "load_misses", "", move |_| a_second)
    };
    must_not_find(&missing(1e4), "tlb-bound");
    let open = must_not_decide(&missing(1e7), "tlb-bound");
    assert!(open.missing[0].why.contains("not how long"), "{open:?}");
    let much = must_find(&missing(1e8), "tlb-bound");
    assert!(much.confidence == Confidence::Low && much.summary.contains("50 %"), "{much:?}");
    let loads_alone = missing(1e4).without("pmu", "store_misses", "");
    must_not_find(&loads_alone, "tlb-bound");
}

#[test]
fn a_processor_without_counters_is_told_and_so_is_a_recording_that_did_not_ask() {
    let why = |recording: &RecordingBuilder| must_not_decide(recording, "tlb-bound").missing[0].why.clone();
    assert!(why(&healthy()).contains("record with --tlb"), "{}", why(&healthy()));
    let refused = healthy().without_source("pmu");
    assert!(why(&refused).contains("has no pmu") && why(&refused).contains("pagewise prove"), "{}", why(&refused));
}

#[test]
fn who_has_stacks_is_not_told_to_record_them() {
    let storm = healthy().cpu(4, 0.1, 0.7);
    let words = |made: &RecordingBuilder| must_find(made, "unexplained-system-time").change.expect("a change").words;
    assert!(words(&storm).contains("record with stacks"));
    let seen = storm.stack("x", Some(3), &["some_new_function"], 1000);
    assert!(words(&seen).contains("who calls"), "{}", words(&seen));
}

/// The kernel counts whom it kills at the limit of a control group among all others.
#[test]
fn who_is_killed_beside_free_memory_met_the_limit_of_a_group() {
    let killed = |free: f64| {
        healthy().gib("MemFree", free).counter("vmstat", "oom_kill", "", |at| if at < 60.0 { 0.1 } else { 0.0 })
    };
    let finding = must_find(&killed(12.0), "memcg-limit-thrash");
    assert_eq!(finding.title, "Killed at the memory limit of a control group");
    assert!(finding.summary.contains("the host never had less than 12 GiB free"), "{}", finding.summary);
    assert!(finding.who.is_empty(), "who grew on the host had no part in it: {:?}", finding.who);
    must_not_find(&killed(12.0), "oom-risk");
    // A host that is short itself is not excused.
    must_find(&killed(0.5), "oom-risk");
}

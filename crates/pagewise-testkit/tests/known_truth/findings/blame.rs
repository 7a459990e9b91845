//! What is blamed where several things look alike, how much, and what is said to try first.

use super::asking::{ask, must_find, must_not_find, steps};
use pagewise_core::finding::Severity;
use pagewise_core::recording::{SamplingEvent, StallKind};
use pagewise_core::report::{Style, findings};
use pagewise_testkit::RecordingBuilder;
use pagewise_testkit::recordings::EachSecond;

fn healthy() -> RecordingBuilder {
    RecordingBuilder::healthy(120)
}

/// A disk that writes so many KiB a second for writers that are held back at these limits, in pages.
fn writers(background: f64, limit: f64, kib_per_second: f64) -> RecordingBuilder {
    healthy()
        .level("vmstat", "nr_dirty_background_threshold", "", move |_| background)
        .level("vmstat", "nr_dirty_threshold", "", move |_| limit)
        .level("vmstat", "nr_dirty", "", move |_| (background + limit) / 2.0 * 0.98)
        .counter("vmstat", "pgpgout", "", move |_| kib_per_second)
        .counter("psi_io", "some_total", "", |_| 860_000.0)
}

#[test]
fn writers_at_limits_below_what_the_disk_writes_get_higher_limits_and_the_limit_itself_first() {
    let low = writers(2048.0, 4096.0, 1_600_000.0).setting("vm.dirty", "16777216");
    let finding = must_find(&low.setting("vm.dirty_background", "8388608"), "dirty-throttling");
    let all = steps(&finding);
    assert_eq!(all, ["vm.dirty=3436183552"], "a fifth of 16 GiB: where writing begins is held to half of the limit");
    let change = finding.change.expect("a change");
    assert!(change.words.contains("the limit is less than it writes in a second"), "{}", change.words);
    assert!(finding.summary.contains("less than the disk writes in a second"), "{}", finding.summary);
}

#[test]
fn writers_at_limits_far_above_what_the_disk_writes_get_lower_ones() {
    let finding = must_find(&writers(250_000.0, 500_000.0, 100_000.0), "dirty-throttling");
    let all = steps(&finding);
    assert!(all[0].starts_with("vm.dirty_background=") && all[1].starts_with("vm.dirty="), "{all:?}");
    let bytes: f64 = all[1]["vm.dirty=".len()..].parse().expect("bytes");
    assert!(bytes < 500_000.0 * 4096.0, "{all:?}");
    assert!(finding.summary.contains("as much as the disk writes in 20 s"), "{}", finding.summary);
    let enough = must_find(&writers(50_000.0, 200_000.0, 200_000.0), "dirty-throttling");
    assert!(steps(&enough).is_empty(), "four seconds are neither: {:?}", steps(&enough));
}

#[test]
fn writers_that_a_limit_of_their_own_holds_back_are_not_laid_to_the_host() {
    let made = writers(250_000.0, 500_000.0, 100_000.0)
        .level("vmstat", "nr_dirty", "", |_| 2_500.0)
        .stack("dd", Some(9), &["balance_dirty_pages", "io_schedule_timeout"], 300)
        .stall(StallKind::DirtyBalance, "dd", 9, None, 20.0, 2_000);
    let finding = must_find(&made, "dirty-throttling");
    assert_eq!(finding.title, "Writers are held back by a limit of their own");
    assert!(steps(&finding).is_empty(), "{:?}", steps(&finding));
    let advice = finding.change.expect("a change");
    assert!(advice.words.contains("the group of the writer"), "{}", advice.words);
}

/// File data that is dropped and read again, with so much free, waiting for I/O and for memory.
fn read_again(free_gib: f64, io: f64, memory: f64) -> RecordingBuilder {
    healthy()
        .gib("MemFree", free_gib)
        .counter("vmstat", "workingset_refault_file", "", |_| 50_000.0)
        .counter("vmstat", "pgsteal_kswapd", "", |_| 50_000.0)
        .counter("vmstat", "pgpgin", "", |_| 200_000.0)
        .counter("psi_io", "some_total", "", move |_| io * 1e6)
        .counter("psi_memory", "some_total", "", move |_| memory * 1e6)
        .stack("reader", Some(9), &["filemap_read", "page_cache_ra_unbounded"], 300)
        .stack("reader", Some(9), &["reader!work"], 700)
}

/// A control group that is at its limit.
fn at_its_limit(made: RecordingBuilder) -> RecordingBuilder {
    made.counter("cgroup_events[/job]", "high", "cgroup=/job", |_| 40.0).counter(
        "cgroup_pressure[/job]",
        "full_total",
        "cgroup=/job",
        |_| 400_000.0,
    )
}

fn ids(made: &RecordingBuilder) -> Vec<String> {
    ask(made).findings.into_iter().map(|finding| finding.id).collect()
}

#[test]
fn file_data_that_a_group_at_its_limit_drops_is_the_groups_and_not_the_hosts() {
    let group = at_its_limit(read_again(12.0, 0.3, 0.11));
    assert_eq!(ids(&group), ["memcg-limit-thrash"]);
    must_not_find(&group, "page-cache-thrash");
    let finding = must_find(&group, "memcg-limit-thrash");
    assert!(finding.summary.contains("The host itself has 12 GiB free"), "{}", finding.summary);
    assert!((finding.cost.stalled_share.expect("pressure") - 0.11).abs() < 1e-6);
    // Little is free since the page cache is large: the host itself reclaims nothing, and others have room.
    let full = at_its_limit(read_again(0.3, 0.3, 0.11).counter("vmstat", "pgsteal_kswapd", "", |_| 20.0));
    must_not_find(&full, "page-cache-thrash");
    must_find(&full, "memcg-limit-thrash");
    let short = at_its_limit(read_again(0.3, 0.3, 0.11));
    must_find(&short, "page-cache-thrash");
    let of_both = must_find(&short, "memcg-limit-thrash");
    assert!(!of_both.summary.contains("free") && !of_both.meaning.contains("healthy"), "{of_both:?}");
}

/// The counters of one group tell nothing of the group next to it.
#[test]
fn a_group_that_is_not_at_its_limit_rules_no_other_out() {
    let calm = || healthy().counter("cgroup_memory[/calm]", "failcnt", "cgroup=/calm", |_| 0.0);
    let about = |made: &RecordingBuilder| {
        let diagnosis = ask(made);
        let has = |ids: Vec<&str>| ids.contains(&"memcg-limit-thrash");
        (
            has(diagnosis.not_found.iter().map(|rule| rule.id.as_str()).collect()),
            has(diagnosis.not_decided.iter().map(|rule| rule.id.as_str()).collect()),
        )
    };
    assert_eq!(about(&calm()), (false, true));
    let all = |left_out: f64| {
        calm()
            .level("cgroup_memory", "limited_groups", "", |_| 3.0)
            .level("cgroup_memory", "left_out_groups", "", move |_| left_out)
            .counter("cgroup_memory", "failcnt", "cgroup=/a", |_| 0.1)
    };
    assert_eq!(about(&all(0.0)), (true, false), "of all that have a limit none met it");
    assert_eq!(about(&all(1.0)), (false, true));
    let full = all(1.0).counter("cgroup_memory", "failcnt", "cgroup=/yarn/job_7", |_| 900.0);
    assert_eq!(must_find(&full, "memcg-limit-thrash").who[0].name, "/yarn/job_7");
    let none = healthy().level("cgroup_memory", "limited_groups", "", |_| 0.0).level(
        "cgroup_memory",
        "left_out_groups",
        "",
        |_| 0.0,
    );
    assert_eq!(about(&none), (true, false), "no group has a limit");
}

#[test]
fn what_is_read_again_without_anybody_waiting_for_it_is_no_thrash() {
    let reclaim = read_again(0.1, 0.0006, 0.37)
        .counter("vmstat", "allocstall_normal", "", |_| 800.0)
        .counter("vmstat", "pgsteal_direct", "", |_| 5_000.0)
        .counter("vmstat", "pgsteal_kswapd", "", |_| 9_000.0);
    must_not_find(&reclaim, "page-cache-thrash");
    assert_eq!(ids(&reclaim)[0], "direct-reclaim-stalls");
    must_find(&read_again(0.1, 0.3, 0.37), "page-cache-thrash");
}

#[test]
fn swapping_within_a_group_is_the_groups_and_a_faster_swap_is_no_cure() {
    let swaps = |free_gib: f64| {
        healthy()
            .gib("MemFree", free_gib)
            .counter("vmstat", "pswpin", "", |_| 6_000.0)
            .counter("vmstat", "pswpout", "", |_| 6_000.0)
            .counter("vmstat", "workingset_refault_anon", "", |_| 5_500.0)
            .counter("psi_memory", "some_total", "", |_| 400_000.0)
    };
    let group = at_its_limit(swaps(12.0));
    assert_eq!(ids(&group), ["memcg-limit-thrash", "swap-thrash"]);
    let finding = must_find(&group, "swap-thrash");
    assert!(finding.change.expect("a change").words.contains("control group"));
    assert!(finding.summary.contains("a control group's limit is what is short"), "{}", finding.summary);
    assert!(steps(&must_find(&group, "swap-thrash")).iter().all(|step| !step.starts_with("swap=")));
    let host = must_find(&swaps(0.2), "swap-thrash");
    assert!(steps(&host).iter().any(|step| step.starts_with("swap=zram:")), "{:?}", steps(&host));
}

#[test]
fn stacks_by_a_timer_are_a_note_and_a_healthy_guest_has_nothing() {
    let guest = healthy().stack("java", Some(1), &["java!work"], 1000).sampled_by(SamplingEvent::CpuClock);
    let diagnosis = ask(&guest);
    assert!(diagnosis.findings.is_empty(), "{:#?}", diagnosis.findings);
    assert!(diagnosis.notes.len() == 1 && diagnosis.notes[0].contains("cpu-clock"), "{:?}", diagnosis.notes);
    let text = findings::text(&diagnosis, Style::default());
    assert!(text.starts_with("Nothing found in what could be decided.\n"), "{text}");
    assert!(text.contains("Note: Stacks were sampled by a timer"), "{text}");
    assert_eq!(ask(&healthy()).notes, Vec::<String>::new());
}

#[test]
fn promises_at_their_limit_are_refused_and_nobody_runs_out_of_memory() {
    let promised = |mode: &str| {
        let made = healthy().setting("vm.overcommit_memory", mode).setting("vm.overcommit_limit", "50%");
        made.gib("Committed_AS", 11.9)
    };
    let finding = must_find(&promised("2"), "oom-risk");
    assert_eq!((finding.severity, finding.title.as_str()), (Severity::Medium, "No more memory may be promised"));
    assert!(finding.meaning.contains("ENOMEM") && !finding.meaning.contains("used up"), "{}", finding.meaning);
    assert!(finding.summary.contains("99 %") && finding.summary.contains("69 % of memory"), "{}", finding.summary);
    assert_eq!(steps(&finding), ["vm.overcommit_limit=100%", "vm.overcommit_memory=0"], "and no swap");
    for mode in ["0", "1"] {
        must_not_find(&promised(mode), "oom-risk");
    }
    let falling = promised("2").level("meminfo", "MemAvailable", "", |at| (0.9 - at / 120.0 * 0.5) * 1048576.0);
    let both = must_find(&falling.gib("SwapFree", 0.0), "oom-risk");
    assert_eq!((both.severity, both.title.as_str()), (Severity::High, "Memory runs out"));
}

#[test]
fn a_process_that_is_busy_with_system_calls_is_named_and_is_no_trouble_with_memory() {
    let calls = |made: RecordingBuilder| {
        made.cpu(4, 0.1, 0.5)
            .stack("reader", Some(77), &["do_syscall_64", "ksys_read", "vfs_read", "read_zero"], 700)
            .stack("reader", Some(77), &["do_syscall_64", "ksys_read", "vfs_read"], 100)
            .stack("cat", Some(78), &["do_syscall_64", "ksys_write", "vfs_write", "anon_pipe_write"], 100)
            .stack("cat", Some(78), &["do_syscall_64", "vfs_write", "anon_pipe_write", "__alloc_pages_noprof"], 50)
    };
    let finding = must_find(&calls(healthy()), "unexplained-system-time");
    assert_eq!((finding.severity, finding.title.as_str()), (Severity::Low, "A program is busy with system calls"));
    assert!(finding.summary.contains("PID 77 (reader) is busy with system calls: 95 %"), "{}", finding.summary);
    assert!(!finding.meaning.contains("does not name the cause"), "{}", finding.meaning);
    assert_eq!(finding.who[0].pid, Some(77));
    let locks = healthy().cpu(4, 0.1, 0.5).stack("x", Some(9), &["do_syscall_64", "do_futex", "_raw_spin_lock"], 900);
    let finding = must_find(&locks, "unexplained-system-time");
    assert_eq!((finding.severity, finding.title.as_str()), (Severity::High, "Unexplained system time"));
    let faults = healthy().cpu(4, 0.1, 0.5).stack("x", Some(9), &["asm_exc_page_fault", "handle_mm_fault"], 900);
    assert_eq!(must_find(&faults, "unexplained-system-time").severity, Severity::High);
    let many = calls(healthy()).stack("other", Some(80), &["do_syscall_64", "ksys_read", "vfs_read"], 2_000);
    assert!(must_find(&many, "unexplained-system-time").summary.contains("PID 80 (other)"));
    let process = EachSecond { system: 0.9, ..EachSecond::default() };
    let named = must_find(&calls(healthy()).process("spinner", 73, 1 << 20, process), "unexplained-system-time");
    assert_eq!(named.who[0].pid, Some(77), "stacks say it better");
}

#[test]
fn caches_of_the_kernel_that_nobody_misses_cost_nothing() {
    let caches = |made: RecordingBuilder| must_find(&made.gib("SReclaimable", 5.0), "slab-bloat");
    let ample = caches(healthy().gib("MemFree", 10.0));
    assert_eq!((ample.severity, ample.cost.memory_share), (Severity::Low, None));
    assert!(ample.summary.contains("10 GiB is free, and nobody waits for memory"), "{}", ample.summary);
    let waits = caches(healthy().counter("psi_memory", "some_total", "", |_| 50_000.0));
    assert_eq!(waits.severity, Severity::High);
    let short = caches(healthy().gib("MemAvailable", 1.0).gib("MemFree", 0.2));
    assert_eq!(short.severity, Severity::High);
    let full = caches(healthy().gib("MemFree", 0.3));
    assert!(full.severity == Severity::Low && full.summary.contains(". Nobody waits"), "{}", full.summary);
    assert_eq!(
        caches(healthy().without_source("psi_memory")).severity,
        Severity::High,
        "what is not known is not nothing"
    );
}

#[test]
fn a_thread_of_the_kernel_that_a_recording_is_too_short_to_judge_is_not_unexplained() {
    let made = RecordingBuilder::healthy(30).cpu(4, 0.1, 0.5).stack("khugepaged", Some(40), &["khugepaged"], 900);
    must_not_find(&made, "unexplained-system-time");
    let half = made.stack("x", Some(41), &["some_new_function"], 1_000);
    must_find(&half, "unexplained-system-time");
}

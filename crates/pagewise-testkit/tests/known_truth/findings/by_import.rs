//! What listings of other tools let the rules decide: rates they print stand in for the kernel's totals, at low confidence.

use super::asking::{ask, found, must_find, must_not_decide, must_not_find};
use pagewise_core::finding::{Confidence, Diagnosis, Finding, Observed, Severity, Tier, signal};
use pagewise_core::import::{Assumed, Imported, Kind, merge, parse};
use std::fmt::Write;

#[test]
fn kswapd_in_a_process_table_is_kswapd() {
    let screens: String = (0..12)
        .map(|screen| {
            format!(
                "top - 10:{screen:02}:00 up 3 days,  2:03,  5 users,  load average: 1.20, 3.40, 5.60\n\
                 %Cpu(s):  1.0 us, 24.0 sy,  0.0 ni, 75.0 id,  0.0 wa,  0.0 hi,  0.0 si,  0.0 st\n\n  \
                 PID USER      PR  NI    VIRT    RES    SHR S  %CPU %MEM     TIME+ COMMAND\n   \
                 62 root      20   0       0      0      0 R  98.0  0.0 930:01.74 kswapd0\n  \
                 999 root      20   0    9000    900      0 S   0.0  0.0   0:00.10 sshd\n"
            )
        })
        .collect();
    let observed = Observed::of(&imported(Kind::Top, &screens)).unwrap();
    let threads = observed.each_rate(&signal::KERNEL_THREAD_CPU);
    let [(labels, track)] = threads.as_slice() else { panic!("{threads:?}") };
    assert_eq!(*labels, "thread=kswapd0");
    assert!(track.values().iter().flatten().all(|share| (share - 0.98).abs() < 1e-6), "in parts of a core");
    assert!(track.values().iter().flatten().count() >= 3);
}

fn imported(kind: Kind, text: &str) -> Imported {
    let assumed = Assumed::default();
    let listing = parse(kind, text, &assumed).expect("a listing");
    merge(vec![(format!("{kind}.txt"), listing)], &assumed)
}

/// So many rows of vmstat at a second each; `swap` in KiB a second each way.
fn vmstat(rows: usize, swap: u32, system: u32) -> Imported {
    let mut text = "procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----\n \
                    r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st\n"
        .to_owned();
    for _ in 0..rows {
        let id = 100 - 20 - system;
        writeln!(text, " 9 14 3145728 92160 1024 61440 {swap} {swap} {swap} {swap} 30000 50000 20 {system} {id} 0 0")
            .expect("text");
    }
    imported(Kind::Vmstat, &text)
}

/// Ten minutes of sar at ten seconds a row: `-B`, `-W`, `-r`, `-q MEM` and `-u`.
fn sar(scanned_direct: f64, scanned_kswapd: f64, swapped: f64, waited: f64) -> Imported {
    imported(Kind::Sar, &sar_text(scanned_direct, scanned_kswapd, swapped, waited))
}

fn sar_text(scanned_direct: f64, scanned_kswapd: f64, swapped: f64, waited: f64) -> String {
    let mut text = "Linux 5.14.0-427.el9.x86_64 (host) \t2026-11-21 \t_x86_64_\t(16 CPU)\n".to_owned();
    let at = |row: usize| format!("12:{:02}:{:02}", row * 10 / 60, row * 10 % 60);
    let mut section = |header: &str, values: &str| {
        writeln!(text, "\n12:00:00 {header}").expect("text");
        for row in 1..60 {
            writeln!(text, "{} {values}", at(row)).expect("text");
        }
    };
    section("CPU %user %nice %system %iowait %steal %idle", "all 20.00 0.00 40.00 5.00 0.00 35.00");
    section("pswpin/s pswpout/s", &format!("{swapped:.2} {swapped:.2}"));
    section(
        "pgpgin/s pgpgout/s fault/s majflt/s pgfree/s pgscank/s pgscand/s pgsteal/s %vmeff",
        &format!("100.00 100.00 9000.00 {swapped:.2} 9000.00 {scanned_kswapd:.2} {scanned_direct:.2} 800.00 50.00"),
    );
    section(
        "kbmemfree kbavail kbmemused %memused kbbuffers kbcached kbcommit %commit kbactive kbinact kbdirty",
        "262144 1048576 15728640 93.75 1024 900000 20000000 99.00 8000000 4000000 100",
    );
    section(
        "%smem-10 %smem-60 %smem-300 %smem %fmem-10 %fmem-60 %fmem-300 %fmem",
        &format!("{waited:.2} {waited:.2} {waited:.2} {waited:.2} {waited:.2} {waited:.2} {waited:.2} {waited:.2}"),
    );
    text
}

fn ids(diagnosis: &Diagnosis) -> Vec<&str> {
    diagnosis.findings.iter().map(|finding| finding.id.as_str()).collect()
}

#[test]
fn two_readings_of_proc_beside_a_listing_take_nothing_from_what_it_decides() {
    let assumed = Assumed::default();
    let sar = sar_text(0.0, 3000.0, 900.0, 30.0);
    let reading = |minute: u32| {
        let (vmstat, ticks) = (u64::from(minute) * 60_000, u64::from(minute) * 60 * 1600);
        format!(
            "Sat Nov 21 12:{minute:02}:00 UTC 2026\ncpu  {} 0 {} {} 0 0 0 0 0 0\nnr_free_pages 65536\nnr_dirty 90\nnr_writeback 0\n\
             nr_dirty_threshold 90000\npgfault {vmstat}\npgmajfault {vmstat}\npswpin {vmstat}\npswpout {vmstat}\npgscan_kswapd {vmstat}\n\
             pgscan_direct 0\npgsteal_kswapd {vmstat}\npgsteal_direct 0\nallocstall_normal 0\ncompact_stall 0\nthp_fault_alloc 9\n\
             thp_fault_fallback 0\nnuma_hit {vmstat}\nnuma_miss 0\nnuma_foreign 0\noom_kill 0\n\
             MemTotal: 16777216 kB\nMemFree: 262144 kB\nSReclaimable: 90000 kB\nSUnreclaim: 90000 kB\nMlocked: 0 kB\n",
            ticks / 5,
            ticks * 2 / 5,
            ticks * 2 / 5
        )
    };
    let diagnosed = |files: &[(Kind, &str, &str)]| {
        let parsed = files.iter().map(|(kind, name, text)| ((*name).to_owned(), parse(*kind, text, &assumed).unwrap()));
        ask(&merge(parsed.collect(), &assumed))
    };
    let (first, second) = (reading(2), reading(6));
    let listing = (Kind::Sar, "sar.txt", sar.as_str());
    let alone = diagnosed(&[listing]);
    let readings = [(Kind::Proc, "proc1.txt", first.as_str()), (Kind::Proc, "proc2.txt", second.as_str())];
    let together = diagnosed(&[listing, readings[0], readings[1]]);
    assert!(ids(&alone).contains(&"swap-thrash"), "{:?}", ids(&alone));
    for id in ids(&alone) {
        assert!(ids(&together).contains(&id), "{id} is in {:?} no more", ids(&together));
    }
    let open = |diagnosis: &Diagnosis| diagnosis.not_decided.iter().map(|one| one.id.clone()).collect::<Vec<_>>();
    let more: Vec<String> = open(&together).into_iter().filter(|id| !open(&alone).contains(id)).collect();
    assert!(more.is_empty(), "{more:?} were decided without /proc");
    // What is a level holds between two readings that lie around the listing.
    let (first, last) = (reading(0), reading(10));
    let around = [(Kind::Proc, "proc1.txt", first.as_str()), (Kind::Proc, "proc2.txt", last.as_str())];
    let around = open(&diagnosed(&[listing, around[0], around[1]]));
    let of_proc = "unevictable-memory".to_owned();
    assert!(open(&alone).contains(&of_proc) && !around.contains(&of_proc), "{around:?}");
}

/// A line of a tool speaks of the time before it; the averages of pressure, which are of their own ten seconds, do not.
#[test]
fn averages_of_pressure_make_two_readings_no_longer_than_what_lies_between() {
    let reading = |second: u32, averages: &str| {
        format!(
            "Sat Nov 21 12:41:{second:02} UTC 2026\npgfault {}\npgmajfault 0\npswpin 0\npswpout 0\nMemTotal: 16777216 kB\n\
             MemFree: 262144 kB\n/proc/pressure/memory:some {averages}total={second}\n",
            second * 1000
        )
    };
    for averages in ["", "avg10=0.00 avg60=0.00 avg300=0.00 "] {
        let text = reading(11, averages) + &reading(37, averages);
        let seconds = ask(&imported(Kind::Proc, &text)).observed.seconds;
        assert!((seconds - 26.0).abs() < 1e-6, "{averages}: {seconds}");
    }
}

#[test]
fn a_listing_of_vmstat_that_swaps_all_the_while_is_swap_thrash_and_not_unexplained() {
    let thrash = vmstat(90, 20_000, 60);
    let finding = must_find(&thrash, "swap-thrash");
    assert_eq!(finding.confidence, Confidence::Low);
    let source = |name: &str| finding.evidence.iter().find(|line| line.name == name).expect(name);
    assert_eq!(source("read from swap").source, "import.swap_in_per_second");
    assert_eq!(source("read from swap").value, Some(5_000.0), "20,000 KiB are 5,000 pages");
    assert!(finding.missing.iter().any(|missing| missing.what == "vmstat.workingset_refault_anon"), "{finding:?}");
    must_not_find(&thrash, "unexplained-system-time");
    assert_eq!(ids(&ask(&thrash)), ["swap-thrash"]);
}

#[test]
fn a_short_one_is_called_what_it_shows_all_the_while_and_two_rows_show_nothing() {
    let short = vmstat(25, 20_000, 60);
    must_not_find(&short, "unexplained-system-time");
    assert_eq!(must_find(&short, "swap-thrash").confidence, Confidence::Low);
    assert_eq!(must_not_decide(&vmstat(2, 20_000, 60), "swap-thrash").needs_seconds, Some(60.0));
    let calm = vmstat(90, 0, 60);
    must_not_find(&calm, "swap-thrash");
    must_not_decide(&calm, "numa-imbalance");
    must_find(&calm, "unexplained-system-time");
}

#[test]
fn sar_shows_direct_reclaim_by_the_pages_programs_looked_at() {
    let reclaims = sar(4_000.0, 6_000.0, 0.0, 12.0);
    let finding = must_find(&reclaims, "direct-reclaim-stalls");
    assert_eq!(finding.confidence, Confidence::Low);
    assert!(finding.summary.contains("4000 pages a second") && finding.summary.contains("40 %"), "{}", finding.summary);
    assert!((finding.cost.stalled_share.expect("pressure") - 0.12).abs() < 1e-6);
    must_not_find(&reclaims, "swap-thrash");
    let calm = sar(0.0, 0.0, 0.0, 0.0);
    must_not_find(&calm, "direct-reclaim-stalls");
    must_not_find(&calm, "kswapd-saturation");
}

#[test]
fn sar_shows_swap_thrash_by_its_own_pressure_and_knows_how_much_memory_there_is() {
    let thrash = sar(0.0, 5_000.0, 3_000.0, 40.0);
    let finding = must_find(&thrash, "swap-thrash");
    assert_eq!(finding.confidence, Confidence::Low);
    assert!(finding.summary.contains("Some task waited for memory 40 % of the time"), "{}", finding.summary);
    let diagnosis = ask(&thrash);
    assert_eq!(diagnosis.observed.memory_bytes, Some(16.0 * 1024.0 * 1024.0 * 1024.0));
    assert!(found(&diagnosis, "unexplained-system-time").is_none());
}

#[test]
fn a_pool_of_huge_pages_that_lies_idle_is_seen_in_sar() {
    let mut text = "Linux 5.14.0 (host) \t2026-11-21 \t_x86_64_\t(16 CPU)\n\n\
                    12:00:00 kbhugfree kbhugused %hugused kbhugrsvd kbhugsurp\n"
        .to_owned();
    for row in 1..90 {
        let (minute, second) = (row * 10 / 60, row * 10 % 60);
        writeln!(text, "12:{minute:02}:{second:02} 3145728 1048576 25.00 0 0").expect("text");
    }
    let finding = must_find(&imported(Kind::Sar, &text), "hugetlb-waste");
    assert!(finding.summary.contains("3 GiB") && finding.summary.contains("75 %"), "{}", finding.summary);
}

#[test]
fn time_that_the_hypervisor_took_is_told_of_listings_too() {
    let text = (0..40).fold("r b swpd free buff cache si so bi bo in cs us sy id wa st\n".to_owned(), |text, _| {
        text + "1 0 0 9000000 1000 500000 0 0 0 0 100 200 30 5 35 0 30\n"
    });
    let finding = must_find(&imported(Kind::Vmstat, &text), "measurement-caveat");
    assert!(finding.summary.contains("The hypervisor took 30 %"), "{}", finding.summary);
}

/// A head of perf top: shares, and functions of the kernel.
fn profile(rows: &[(&str, f64)]) -> Imported {
    let mut text = "Samples: 381K of event 'cycles', Event count (approx.): 1\n".to_owned();
    for (function, share) in rows {
        writeln!(text, "{share:6.2}%  [kernel]  [k] {function}").expect("text");
    }
    imported(Kind::PerfTop, &text)
}

#[test]
fn a_profile_alone_names_what_most_of_it_is_in_and_says_what_would_decide() {
    let storm =
        profile(&[("isolate_freepages_block", 59.0), ("compact_zone", 16.0), ("copy_user_generic_string", 5.0)]);
    let finding = must_find(&storm, "compaction-storm");
    assert_eq!((finding.confidence, finding.seconds), (Confidence::Low, 0.0));
    assert!(finding.summary.starts_with("75 % of all samples were in compaction"), "{}", finding.summary);
    assert!(finding.missing.iter().any(|missing| missing.what == "vmstat.compact_stall"), "{finding:?}");
    assert!(finding.decide.as_deref().is_some_and(|command| command.contains("/proc/vmstat")), "{:?}", finding.decide);
    assert_eq!(ids(&ask(&storm)), ["compaction-storm"]);
}

#[test]
fn what_a_head_of_a_profile_does_not_list_is_not_denied() {
    let head = profile(&[("copy_user_generic_string", 30.0), ("_raw_spin_lock", 5.0)]);
    let open = must_not_decide(&head, "kswapd-saturation");
    assert!(open.missing.iter().any(|missing| missing.why.contains("65 % of the samples are not listed")), "{open:?}");
    let whole = profile(&[("copy_user_generic_string", 99.0)]);
    must_not_find(&whole, "tlb-shootdowns");
}

#[test]
fn locks_whose_callers_are_not_known_deny_no_lock_of_the_map() {
    let spins = profile(&[("osq_lock", 60.0), ("filemap_map_pages", 20.0), ("release_pages", 20.0)]);
    let open = must_not_decide(&spins, "mmap-lock-contention");
    assert!(open.missing.iter().any(|missing| missing.why.contains("callers were not recorded")), "{open:?}");
}

#[test]
fn a_function_that_only_calls_others_counts_with_them() {
    let text = "# Children      Self  Command  Shared Object      Symbol\n    40.00%     0.10%  java     [kernel.kallsyms]  [k] try_to_free_mem_cgroup_pages\n    \
                39.00%     1.00%  java     [kernel.kallsyms]  [k] shrink_page_list_of_others\n    60.00%    60.00%  java     libjvm.so          [.] work\n";
    let finding = must_find(&imported(Kind::PerfTop, text), "memcg-limit-thrash");
    assert!(finding.summary.contains("40 %"), "{}", finding.summary);
}

#[test]
fn a_table_of_which_one_row_was_opened_counts_as_one_without_callers() {
    let table = |rows: &str| {
        format!(
            "+   72.00%    15.20%  app  libc.so.6          [.] __memset_avx2_unaligned_erms\n\
             +   64.20%     0.00%  app  [kernel.kallsyms]  [k] asm_exc_page_fault\n\
             +   44.30%     1.60%  app  [kernel.kallsyms]  [k] handle_mm_fault\n{rows}\
             -   28.00%    20.50%  app  app                [.] main\n   + 14.50% 0\n   - 13.50% main\n      + __munmap\n"
        )
    };
    let new = table("+   41.10%     3.10%  app  [kernel.kallsyms]  [k] do_anonymous_page\n");
    let found = must_find(&imported(Kind::PerfTop, &new), "fault-churn");
    assert!(found.summary.starts_with("41 % of all samples"), "{}", found.summary);
    assert!(found.title.contains("on new memory"), "nobody counted what is given back: {}", found.title);
    // A fault may as well be for a page of a file, or of swap.
    assert!(found_in(&table(""), "fault-churn").is_none());
}

#[test]
fn exceptions_are_page_faults_where_memory_is_taken_as_well() {
    let entries = [("error_entry", 6.0), ("sync_regs", 5.0), ("swapgs_restore_regs_and_return_to_usermode", 5.0)];
    let taken = [("clear_page_erms", 4.0), ("do_anonymous_page", 2.0)];
    must_find(&profile(&[entries.as_slice(), &taken, &[("work", 78.0)]].concat()), "fault-churn");
    assert!(found(&ask(&profile(&[entries.as_slice(), &[("work", 84.0)]].concat())), "fault-churn").is_none());
}

#[test]
fn maps_that_are_changed_all_the_time_have_a_name() {
    let changes =
        profile(&[("vma_rb_augment_cb", 28.0), ("vma_adjust", 4.0), ("perf_event_mmap", 4.0), ("work", 64.0)]);
    let found = must_find(&changes, "unexplained-system-time");
    assert!(found.title.contains("Maps of memory") && found.summary.contains("32 %"), "{found:?}");
}

#[test]
fn what_counting_memory_for_groups_costs_has_a_name() {
    let charges = profile(&[
        ("page_counter_try_charge", 7.0),
        ("try_charge_memcg", 6.0),
        ("__sk_mem_reduce_allocated", 6.0),
        ("work", 81.0),
    ]);
    let found = must_find(&charges, "unexplained-system-time");
    assert!(found.title.contains("control groups") && found.summary.contains("19 %"), "{found:?}");
    let all = "16.77%  [kernel]  [k] page_counter_try_charge\n16.56%  [kernel]  [k] page_counter_cancel\n\
               18.65%  [kernel]  [k] try_charge_memcg\n";
    let asked = of_pasted(all);
    let finding = self::found(&asked, "unexplained-system-time").expect("what CPUs do");
    assert!(finding.title.contains("control groups"), "not memory management as a whole: {}", finding.title);
}

#[test]
fn a_disk_that_is_waited_for_is_not_unexplained_time_of_the_kernel() {
    let rows = |wa: u32| {
        let mut text = "r b swpd free buff cache si so bi bo in cs us sy id wa st\n".to_owned();
        for _ in 0..40 {
            writeln!(text, "1 9 0 4000000 1024 614400 0 0 100 90000 900 900 2 {} 0 {wa} 0", 98 - wa).expect("text");
        }
        imported(Kind::Vmstat, &text)
    };
    must_not_find(&rows(56), "unexplained-system-time");
    must_find(&rows(10), "unexplained-system-time");
}

#[test]
fn one_row_of_vmstat_stands_for_the_time_since_boot() {
    let one = vmstat(1, 2_000, 20);
    assert_eq!(must_find(&one, "swap-thrash").confidence, Confidence::Low);
    assert!(found(&ask(&vmstat(1, 0, 20)), "swap-thrash").is_none());
}

#[test]
fn a_kswapd_that_top_lists_is_named_from_half_a_core_on() {
    let screen = |share: f64| {
        let text = format!(
            "top - 10:00:00 up 3 days,  1:00,  1 user,  load average: 1.00, 1.00, 1.00\nTasks: 100 total\n\
             %Cpu(s):  1.0 us, 20.0 sy,  0.0 ni, 79.0 id,  0.0 wa,  0.0 hi,  0.0 si,  0.0 st\n\n  \
             PID USER      PR  NI    VIRT    RES    SHR S  %CPU %MEM     TIME+ COMMAND\n   \
             49 root      20   0       0      0      0 R  {share:.1}  0.0   2:23.56 kswapd0\n"
        );
        imported(Kind::Top, &text)
    };
    assert!(must_find(&screen(66.1), "kswapd-saturation").summary.contains("66 % of a core"));
    assert!(found(&ask(&screen(5.0)), "kswapd-saturation").is_none());
}

/// A table of `slabtop -o` whose largest cache is this one, of so many KiB.
fn slabtop(cache: &str, kib: u64) -> Imported {
    let total = kib + 2_000_000;
    imported(
        Kind::Slab,
        &format!(
            " Active / Total Size (% used)       : {total}.00K / {total}.00K (99.5%)\n\n  \
             OBJS ACTIVE  USE OBJ SIZE  SLABS OBJ/SLAB CACHE SIZE NAME\n\
             734506368 734506368 100%    0.06K 11476662       64  {kib}K {cache}\n\
             328160  80830  24%    0.50K  10255       32    1640800K dentry\n"
        ),
    )
}

#[test]
fn a_cache_that_nothing_reclaims_is_told_without_the_size_of_memory() {
    let leak = must_find(&slabtop("kmalloc-64", 45_906_648), "slab-bloat");
    assert!(
        leak.confidence == Confidence::Low && leak.summary.contains("kmalloc-64, which nothing gives back"),
        "{leak:?}"
    );
    // As large, and the kernel gives it back; a small one of either kind.
    for (cache, gib) in [("dentry", 9), ("xfs_inode", 9), ("kmalloc-64", 2)] {
        let asked = ask(&slabtop(cache, gib << 20));
        assert!(!ids(&asked).contains(&"slab-bloat"), "{cache}: {:?}", ids(&asked));
        assert!(asked.not_decided.iter().any(|rule| rule.id == "slab-bloat"), "{cache}: it may be much of that host");
    }
}

#[test]
fn a_million_descriptors_of_caches_are_those_of_control_groups() {
    must_find(&slabtop("kmem_cache", 441_832), "dying-cgroups");
    assert!(!ids(&ask(&slabtop("kmem_cache", 512))).contains(&"dying-cgroups"));
}

#[test]
fn what_sreclaimable_leaves_of_slab_cannot_be_reclaimed() {
    let meminfo = "MemTotal:       132178760 kB\nMemFree:        26320148 kB\nCached:         34183672 kB\nSlab:           67326708 kB\n\
                   SReclaimable:    1737252 kB\n";
    let bloat = must_find(&imported(Kind::Proc, meminfo), "slab-bloat");
    assert!(bloat.summary.contains("50 % of it cannot be reclaimed"), "{}", bloat.summary);
}

#[test]
fn the_head_of_meminfo_tells_what_the_kernel_holds_and_what_tmpfs_does() {
    let held = "MemTotal:  4024644 kB\nMemFree:  173504 kB\nBuffers:  13532 kB\nCached:  20672 kB\nActive:  7128 kB\nInactive:  38660 kB\n\
                Unevictable:  0 kB\n";
    let leak = must_find(&imported(Kind::Proc, held), "kernel-memory-leak");
    assert!(leak.confidence == Confidence::Low && leak.missing.len() > 3, "{leak:?}");
    let used = held.replace("Active:  7128", "Active:  2700000").replace("Inactive:  38660", "Inactive:  900000");
    must_not_decide(&imported(Kind::Proc, &used), "kernel-memory-leak");

    let tmpfs = "MemTotal:  8051520 kB\nMemFree:  222960 kB\nMemAvailable:  367088 kB\nBuffers:  26116 kB\nCached:  5718484 kB\n";
    let fill = must_find(&imported(Kind::Proc, tmpfs), "shmem-fill");
    assert!(fill.evidence.iter().any(|line| line.source.contains("less MemAvailable")), "{fill:?}");
    let files = tmpfs.replace("MemAvailable:  367088", "MemAvailable:  5367088");
    assert!(!ids(&ask(&imported(Kind::Proc, &files))).contains(&"shmem-fill"));
}

#[test]
fn waiting_for_memory_that_nothing_explains_is_called_that() {
    let pressure = |some: &str| {
        let text = format!(
            "$ cat /proc/pressure/memory\nsome avg10={some} avg60={some} avg300={some} total=3559632828\n\
             full avg10=1.59 avg60=1.06 avg300=1.38 total=3300487258\n"
        );
        imported(Kind::Proc, &text)
    };
    let stalls = must_find(&pressure("68.52"), "unexplained-memory-stalls");
    assert!(stalls.summary.contains("69 % of the time"), "{}", stalls.summary);
    must_not_find(&pressure("2.00"), "unexplained-memory-stalls");
    // sar says the same, and that programs reclaim.
    let explained = ask(&sar(5_000.0, 0.0, 0.0, 30.0));
    assert!(ids(&explained).contains(&"direct-reclaim-stalls"), "{:?}", ids(&explained));
    assert!(!ids(&explained).contains(&"unexplained-memory-stalls"), "{:?}", ids(&explained));
}

#[test]
fn a_group_at_its_limit_is_told_by_the_account_of_it_alone() {
    let log = "[ 6971.999289] memory: usage 1048576kB, limit 1048576kB, failcnt 38707874\n";
    must_find(&imported(Kind::KernelLog, log), "memcg-limit-thrash");
}

#[test]
fn dstat_lets_the_same_rules_decide_as_vmstat() {
    let mut text =
        "$ dstat -cmsgy 1\n----total-cpu-usage---- ------memory-usage----- ----swap--- ---paging-- ---system--\n\
                    usr sys idl wai hiq siq| used  buff  cach  free| used  free|  in   out | int   csw\n"
            .to_owned();
    for _ in 0..60 {
        text += " 20  25  30  24   0   1|15.2G 1024k   60M   90M|3072M 1024M|  16M   18M|  30k   50k\n";
    }
    must_find(&imported(Kind::Dstat, &text), "swap-thrash");
}

#[test]
fn a_group_that_is_full_of_what_cannot_be_reclaimed_is_told_by_one_reading_and_one_full_of_page_cache_is_not() {
    let group = |cache: u64| {
        let text = format!(
            "# cat /sys/fs/cgroup/memory/job/memory.limit_in_bytes\n1073741824\n# cat /sys/fs/cgroup/memory/job/memory.usage_in_bytes\n\
             1073700864\n# cat /sys/fs/cgroup/memory/job/memory.stat\ncache {cache}\nrss 3411968\ntotal_cache {cache}\ntotal_rss 3411968\n\
             total_shmem 0\n"
        );
        imported(Kind::Proc, &text)
    };
    let full = must_find(&group(139_264), "memcg-limit-thrash");
    assert!(full.confidence == Confidence::Low && full.who.iter().any(|who| who.name == "/job"), "{full:?}");
    assert!(!ids(&ask(&group(900_000_000))).contains(&"memcg-limit-thrash"), "page cache can go");
}

/// One reading of /proc/meminfo with so many MiB.
fn meminfo(total: u64, available: u64, swap: u64, swap_free: u64) -> Imported {
    let line = |name: &str, mib: u64| format!("{name}: {} kB\n", mib << 10);
    let lines = [
        line("MemTotal", total),
        line("MemFree", available / 2),
        line("MemAvailable", available),
        line("Buffers", 0),
        line("Cached", available / 2),
        line("SwapTotal", swap),
        line("SwapFree", swap_free),
    ];
    imported(Kind::Proc, &format!("$ cat /proc/meminfo\n{}", lines.concat()))
}

#[test]
fn one_reading_with_nothing_left_is_a_risk_and_one_with_a_full_token_of_swap_is_none() {
    let gone = must_find(&meminfo(16_384, 300, 0, 0), "oom-risk");
    assert_eq!((gone.confidence, gone.severity), (Confidence::Low, Severity::Medium), "a state may last");
    let full = must_find(&meminfo(16_384, 2_000, 8_192, 40), "oom-risk");
    assert!(full.summary.contains("wap is used up"), "{}", full.summary);
    for (available, swap, free, why) in [
        (2_000, 1_000, 0, "a small one fills with what nobody uses"),
        (8_000, 8_192, 40, "half of memory is to be had"),
        (2_000, 8_192, 4_000, "swap is left"),
    ] {
        assert!(found(&ask(&meminfo(16_384, available, swap, free)), "oom-risk").is_none(), "{why}");
    }
}

#[test]
fn one_reading_of_the_kernels_counters_tells_what_was_since_the_host_started() {
    let vmstat = |direct: u64, kswapd: u64, stalls: u64, failed: u64, scanned: u64| {
        imported(
            Kind::Proc,
            &format!(
                "$ cat /proc/vmstat\nnr_free_pages 100000\npgsteal_kswapd {kswapd}\npgsteal_direct {direct}\ncompact_stall {stalls}\n\
                 compact_fail {failed}\ncompact_success {}\ncompact_migrate_scanned 1000\ncompact_free_scanned {scanned}\n",
                stalls - failed
            ),
        )
    };
    let bad = vmstat(900_000_000, 100_000_000, 300_000, 290_000, 70_000_000_000);
    let reclaim = must_find(&bad, "direct-reclaim-stalls");
    assert_eq!(reclaim.confidence, Confidence::Low);
    assert!(reclaim.summary.contains("Since the host started programs freed 90 %"), "{}", reclaim.summary);
    assert!(reclaim.missing.iter().any(|missing| missing.what == "when it was"), "{reclaim:?}");
    must_find(&bad, "compaction-storm");
    for (calm, why) in [
        (vmstat(1_000_000, 900_000_000, 300, 290, 70_000_000), "what every host has after a month"),
        (vmstat(90_000, 10_000, 0, 0, 0), "a few pages"),
        (vmstat(0, 900_000_000, 300_000, 30_000, 70_000_000_000), "compaction that succeeds"),
    ] {
        let asked = ask(&calm);
        assert!(
            !ids(&asked).iter().any(|id| ["direct-reclaim-stalls", "compaction-storm"].contains(id)),
            "{why}: {:?}",
            ids(&asked)
        );
    }
}

#[test]
fn counters_alone_name_compactions_that_are_many_and_in_vain() {
    let readings = |stalls: u64, failed: u64| {
        let reading = |times: u64| {
            format!(
                "$ cat /proc/vmstat; sleep 10\nnr_free_pages 100000\ncompact_stall {}\ncompact_fail {}\n",
                5_000 + times * stalls,
                4_000 + times * failed
            )
        };
        imported(Kind::Proc, &format!("{}{}", reading(0), reading(1)))
    };
    let finding = must_find(&readings(200_000, 190_000), "compaction-stalls");
    assert_eq!((finding.confidence, finding.tiers.as_slice()), (Confidence::Low, &[Tier::Counters][..]));
    assert!(finding.summary.contains("20 k allocations a second"), "{}", finding.summary);
    assert!(finding.meaning.contains("nothing here measured"), "{}", finding.meaning);
    assert!(finding.decide.is_some_and(|command| command.contains("perf record")));
    for (calm, why) in [(readings(300, 290), "a few"), (readings(200_000, 60_000), "most of them give a block")] {
        assert!(found(&ask(&calm), "compaction-stalls").is_none(), "{why}");
    }
}

#[test]
fn a_small_cache_that_is_read_anew_within_seconds_beside_full_swap_is_thrash() {
    let host = |swapped: u64, free: u64, cache: u64, blocks: u64, waiting: u64| {
        let mut text = "procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----\n \
                        r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st\n"
            .to_owned();
        for row in 0..6 {
            writeln!(
                text,
                " 0 {waiting} {swapped} {} 3000 {cache} {} 0 {blocks} 5 9000 9000 0 6 10 84 0",
                free + 4 * row,
                row % 3
            )
            .expect("text");
        }
        imported(Kind::Vmstat, &text)
    };
    let finding = must_find(&host(2_096_000, 16_000, 131_000, 301_000, 6), "page-cache-thrash");
    assert!(finding.evidence.iter().any(|line| line.name.contains("swapped out")), "{finding:?}");
    for (well, why) in [
        (host(100_000, 16_000, 131_000, 301_000, 6), "a database that reads past the cache"),
        (host(2_096_000, 16_000, 131_000, 2_000, 6), "a minute and more for all of it"),
        (host(2_096_000, 16_000, 900_000, 301_000, 6), "the cache is not small"),
        (host(2_096_000, 400_000, 131_000, 301_000, 6), "memory is free"),
        (host(2_096_000, 16_000, 131_000, 301_000, 1), "nobody else waits"),
    ] {
        assert!(found(&ask(&well), "page-cache-thrash").is_none(), "{why}");
    }
}

#[test]
fn a_few_stacks_name_what_nearly_all_of_them_have() {
    let script = |compacting: usize, others: usize| {
        let one = |at: usize, frames: &[&str]| {
            let frames: String =
                frames.iter().map(|name| format!("\tffffffff8116d5a0 {name} ([kernel.kallsyms])\n")).collect();
            format!("java 12345 [003] {}.000000: cycles:\n{frames}\n", 100 + at)
        };
        let stack = |at: usize| match at < compacting {
            true => one(
                at,
                &["isolate_freepages_block", "compact_zone", "try_to_compact_pages", "do_huge_pmd_anonymous_page"],
            ),
            false => one(at, &["copy_user_generic", "vfs_read", "sys_read"]),
        };
        imported(Kind::PerfScript, &(0..compacting + others).map(stack).collect::<String>())
    };
    let finding = must_find(&script(14, 1), "compaction-storm");
    assert_eq!((finding.confidence, finding.severity), (Confidence::Low, Severity::Low));
    assert!(finding.summary.contains("93 % of only 15 samples"), "{}", finding.summary);
    for (few, why) in [(script(4, 0), "an example of a stack"), (script(2, 18), "one or two of twenty")] {
        assert!(found(&ask(&few), "compaction-storm").is_none(), "{why}");
    }
}

#[test]
fn what_processes_share_and_what_forks_copy_has_a_name_in_a_profile_alone() {
    let forks = must_find(
        &profile(&[("copy_pte_range", 12.0), ("unmap_page_range", 9.0), ("release_pages", 4.0)]),
        "fork-cow-thp",
    );
    assert!(forks.title.contains("page tables") && forks.summary.contains("12 %"), "{forks:?}");
    let few = profile(&[("copy_pte_range", 2.0), ("do_syscall_64", 90.0), ("vfs_read", 8.0)]);
    assert!(found(&ask(&few), "fork-cow-thp").is_none(), "every build forks");
    let lists = profile(&[("vma_interval_tree_insert", 9.0), ("unlink_anon_vmas", 6.0), ("release_pages", 4.0)]);
    assert!(must_find(&lists, "mmap-lock-contention").title.contains("lists of mappings"));
}

#[test]
fn a_page_that_is_taken_out_of_its_maps_to_be_moved_is_not_reclaimed() {
    let taken_out_by = |caller: &str| {
        let text = format!(
            "java;entry_SYSCALL_64;do_syscall_64;{caller};try_to_unmap;try_to_unmap_one;page_vma_mapped_walk 900\njava;main;f 1100\n"
        );
        imported(Kind::Folded, &text)
    };
    must_find(&taken_out_by("shrink_node;shrink_page_list"), "direct-reclaim-stalls");
    let moved = taken_out_by("kernel_move_pages;migrate_pages");
    assert!(found(&ask(&moved), "direct-reclaim-stalls").is_none(), "{:?}", ids(&ask(&moved)));
}

#[test]
fn the_queue_of_a_lock_is_of_the_one_whose_owner_is_watched() {
    let spins = |owner: &str, rest: &str| profile(&[("osq_lock", 60.0), (owner, 5.0), (rest, 30.0)]);
    must_find(&spins("rwsem_spin_on_owner", "handle_mm_fault"), "mmap-lock-contention");
    must_not_decide(&spins("mutex_spin_on_owner", "handle_mm_fault"), "mmap-lock-contention");
    let other = "files have such locks, too";
    must_not_decide(&spins("rwsem_spin_on_owner", "ext4_file_write_iter"), "mmap-lock-contention")
        .missing
        .iter()
        .find(|missing| missing.why.contains("other things"))
        .expect(other);
}

#[test]
fn programs_that_go_to_swap_for_files_are_told_and_what_stays_there_is_not() {
    let day = |from: u64, by: u64, cached: u64| {
        let mut text = "r b swpd free buff cache si so bi bo in cs us sy id wa st\n".to_owned();
        for row in 0..120 {
            writeln!(text, "1 1 {} 100000 1024 {cached} 0 5 900 900 900 900 20 5 70 5 0", from + row * by)
                .expect("text");
        }
        let mut assumed = Assumed::default();
        assumed.about("interval", "30s").expect("an interval");
        let rows = parse(Kind::Vmstat, &text, &assumed).expect("a listing");
        let memory = parse(Kind::Proc, "$ cat /proc/meminfo\nMemTotal: 4194304 kB\nMemFree: 100000 kB\n", &assumed)
            .expect("a listing");
        merge(vec![("vmstat.txt".to_owned(), rows), ("proc.txt".to_owned(), memory)], &assumed)
    };
    let pushed = must_find(&day(0, 2_000, 2_000_000), "swappiness-misuse");
    assert!(pushed.title.contains("files fill memory"), "{pushed:?}");
    for (listing, why) in [
        (day(900_000, 0, 2_000_000), "it lies there and nobody wants it"),
        (day(0, 2_000, 100_000), "there are hardly any files"),
    ] {
        assert!(found(&ask(&listing), "swappiness-misuse").is_none(), "{why}");
    }
}

#[test]
fn a_part_of_a_call_graph_without_its_rows_names_what_it_is_in() {
    // As a screen draws it, with the bar at its right edge.
    let part = "  - 48.19% make_buffer                                  \u{2592}\n     - 46.89% kvmalloc_node                             \u{2592}\n\
                \x20       - 45.99% __alloc_pages                          \u{25c6}\n           - 39.39% __alloc_pages_slowpath               \u{2592}\n\
                \x20             - 38.89% __alloc_pages_direct_compact      \u{2592}\n                   30.31% compact_zone             \u{2592}\n\
                \x20          6.60% get_page_from_freelist                 \u{2592}\n     1.20% xa_load                                      \u{2592}\n";
    assert_eq!(pagewise_core::import::kinds_in(part), [Kind::PerfTop]);
    let found = must_find(&imported(Kind::PerfTop, part), "compaction-storm");
    assert!(found.summary.starts_with("39 % of all samples"), "of all, and not of the part: {}", found.summary);
    // Who waits for a lock is drawn above those who called: nothing is known of the whole.
    let callers = "- 55.80% native_queued_spin_lock_slowpath\n   - 53.10% some_lock\n      - 50.00% compact_zone\n";
    assert!(found_in(callers, "compaction-storm").is_none());
}

fn found_in(text: &str, id: &str) -> Option<String> {
    found(&ask(&imported(Kind::PerfTop, text)), id).map(|finding| finding.summary.clone())
}

#[test]
fn a_table_that_was_cut_after_its_first_row_is_read_by_what_is_drawn_below_it() {
    let text = "Samples: 30K of event 'cycles', Event count (approx.): 1\n  Children      Self  Command   Shared Object     Symbol\n\
                -   85.95%     0.69%  server    [kernel.vmlinux]  [k] asm_exc_page_fault\n   - 85.25% asm_exc_page_fault\n      - 84.81% do_user_addr_fault\n\
                \x20        - 82.57% do_swap_page\n            - 61.66% charge_memcg\n               + 60.68% try_to_free_mem_cgroup_pages\n            + 10.00% swap_read_folio\n";
    assert!(found_in(text, "memcg-limit-thrash").expect("reclaim in a group").starts_with("61 %"));
    assert!(found_in(text, "swap-thrash").is_some());
}

#[test]
fn numastat_tells_what_was_since_the_host_started() {
    let table = |miss: u64| {
        imported(
            Kind::Proc,
            &format!(
                "$ numastat\n     node0    node1\nnuma_hit 90000000 80000000\nnuma_miss {miss} 20\nnuma_foreign 20 {miss}\ninterleave_hit 5 5\nlocal_node 9 9\nother_node 1 1\n"
            ),
        )
    };
    assert!(must_find(&table(90_000_000), "numa-imbalance").summary.contains("35 %"));
    assert!(found(&ask(&table(20_000)), "numa-imbalance").is_none());
}

#[test]
fn a_table_of_free_blocks_alone_is_fragmented_where_nearly_all_of_them_are_small() {
    let table = |medium: u64| {
        imported(
            Kind::Proc,
            &format!(
                "$ cat /proc/buddyinfo\nNode 0, zone      DMA      1      1      0      0      0      0      0      0      0      0      3\nNode 0, zone   Normal 130376  36589   3777     94      {medium}      0      0      0      0      0      0\n"
            ),
        )
    };
    assert_eq!(must_find(&table(1), "fragmentation").confidence, Confidence::Low);
    assert!(found(&ask(&table(9_000)), "fragmentation").is_none());
}

#[test]
fn a_screen_of_top_in_another_language_is_read_by_the_order_of_its_numbers() {
    let text = "top - 10:00:00 up 3 Tage,  1:00,  1 Benutzer,  Durchschnittslast: 9,00, 8,00, 7,00\nAufgaben: 100 gesamt\n\
                %CPU(s): 11,2 be, 71,4 sy,  0,0 ni, 10,0 un,  7,4 wa,  0,0 hi,  0,0 si,  0,0 st\n\
                MiB Spch :  15923,0 gesamt,    180,0 frei,  14023,0 belegt,   1720,0 Puff/Cache\n\
                MiB Swap:   2048,0 gesamt,   2000,0 frei,     48,0 belegt.    900,0 verf\u{fc}gb Spch\n\n  \
                PID USER      PR  NI    VIRT    RES    SHR S  %CPU  %MEM    ZEIT+ BEFEHL\n   \
                49 root      20   0       0      0      0 R  99,3   0,0   2:23.56 kswapd0\n";
    assert_eq!(pagewise_core::import::kinds_in(text), [Kind::Top]);
    let screen = imported(Kind::Top, text);
    assert!(must_find(&screen, "kswapd-saturation").summary.contains("99 % of a core"));
    let observed = Observed::of(&screen).unwrap();
    let share = observed.system_share_of_all().values()[0].expect("the system's share");
    assert!((share - 0.714).abs() < 0.001, "{share}");
    assert!((observed.memory().expect("memory") / f64::from(1 << 20) - 15_923.0).abs() < 1.0);
    let available = observed.available().values()[0].expect("what is available");
    assert!((available / f64::from(1 << 20) - 900.0).abs() < 1.0, "{available}");
}

#[test]
fn free_in_another_language_is_read_by_what_adds_up() {
    let text = "               gesamt     benutzt       frei      gemns.  Puffer/Cache verf\u{fc}gbar\n\
                Speicher:   16305456    14823412     212344      345672     1269700     300936\nAuslager:    2097148     2090000       7148\n";
    assert_eq!(pagewise_core::import::kinds_in(text), [Kind::Free]);
    let gone = must_find(&imported(Kind::Free, text), "oom-risk");
    assert!(gone.summary.contains("wap is used up"), "{}", gone.summary);
}

#[test]
fn locks_that_are_taken_for_those_of_what_is_listed_are_told_as_such() {
    let spins = must_find(&profile(&[("_raw_spin_lock", 85.0), ("shrink_lruvec", 6.0)]), "direct-reclaim-stalls");
    assert!(spins.summary.contains("or waited for locks, of whom was not recorded"), "{}", spins.summary);
    let none = must_find(&profile(&[("shrink_lruvec", 60.0)]), "direct-reclaim-stalls");
    assert!(!none.summary.contains("locks"), "{}", none.summary);
}

/// A profile that somebody pasted.
fn of_pasted(text: &str) -> Diagnosis {
    ask(&imported(Kind::PerfTop, text))
}

#[test]
fn counting_what_a_group_uses_is_no_limit() {
    let charges = "16.77%  [kernel]  [k] page_counter_try_charge\n16.56%  [kernel]  [k] page_counter_cancel\n\
                   15.65%  [kernel]  [k] try_charge_memcg\n";
    assert!(!ids(&of_pasted(charges)).contains(&"memcg-limit-thrash"));
    let reclaims = "46.77%  [kernel]  [k] try_to_free_mem_cgroup_pages\n";
    assert!(ids(&of_pasted(reclaims)).contains(&"memcg-limit-thrash"));
}

#[test]
fn page_faults_that_take_no_memory_are_no_churn() {
    let emulated = "32.01%  [kernel]  [k] page_fault\n 6.54%  [kernel]  [k] emulate_vsyscall\n 2.22%  [kernel]  [k] __do_page_fault\n";
    assert!(!ids(&of_pasted(emulated)).contains(&"fault-churn"));
    let taken = "22.01%  [kernel]  [k] page_fault\n12.54%  [kernel]  [k] clear_page_erms\n 8.00%  [kernel]  [k] get_page_from_freelist\n";
    assert!(ids(&of_pasted(taken)).contains(&"fault-churn"));
}

#[test]
fn a_row_that_was_cut_out_with_its_callers_stands_for_all_it_calls() {
    let row = "-   43.73%     0.05%  [kernel]            [k] native_flush_tlb_others\n   - native_flush_tlb_others\n      \
               - 99.87% flush_tlb_page\n           ptep_clear_flush\n           try_to_unmap_one\n           migrate_pages\n           \
               migrate_misplaced_page\n         - handle_mm_fault\n              __do_page_fault\n";
    let found = of_pasted(row);
    assert!(ids(&found).contains(&"numa-imbalance"), "{:?}", ids(&found));
    assert!(!ids(&found).contains(&"mmap-lock-contention"), "{:?}", ids(&found));
}

#[test]
fn what_a_fork_copied_and_exec_takes_down_is_the_tables() {
    let graph = "    68.75%           suexec  [kernel.kallsyms]  [k] unmap_vmas\n                     |\n                     \
                 --- unmap_vmas\n                     exit_mmap\n                     mmput\n                     flush_old_exec\n                     \
                 load_elf_binary\n                     do_execve\n";
    assert!(ids(&of_pasted(graph)).contains(&"fork-cow-thp"), "{:?}", ids(&of_pasted(graph)));
}

#[test]
fn faults_that_wait_for_a_disk_while_memory_is_reclaimed_are_a_cache_that_is_too_small() {
    let sar = |faults: &str, freed: &str| {
        let mut text = "Linux 4.9.25 (host) \t2026-11-21 \t_x86_64_\t(16 CPU)\n\n\
                        12:00:00 pgpgin/s pgpgout/s fault/s majflt/s pgfree/s pgscank/s pgscand/s pgsteal/s %vmeff\n"
            .to_owned();
        for minute in 1..10 {
            writeln!(text, "12:0{minute}:00 268547.64 1223.73 5266.73 {faults} 71836.18 0.00 0.00 {freed} 0.00")
                .expect("text");
        }
        imported(Kind::Sar, &text)
    };
    let finding = must_find(&sar("503.12", "67170.50"), "page-cache-thrash");
    assert_eq!(finding.confidence, Confidence::Low);
    assert!(finding.summary.contains("503 page faults a second waited for a disk"), "{}", finding.summary);
    must_not_decide(&sar("3.12", "67170.50"), "page-cache-thrash");
    must_not_decide(&sar("503.12", "0.00"), "page-cache-thrash");
}

#[test]
fn more_that_is_promised_than_there_is_while_nothing_is_left_is_the_end() {
    let sar = |commit: &str| {
        let mut text = "Linux 3.10.0 (host) \t2026-11-21 \t_x86_64_\t(8 CPU)\n\n\
                        12:00:00 kbmemfree kbmemused %memused kbbuffers kbcached kbcommit %commit\n"
            .to_owned();
        for (minute, free) in [(1, 8_105_716), (2, 5_739_620), (3, 131_676), (4, 131_848), (5, 11_321_528)] {
            let used = 16_260_760 - free;
            let part = 100.0 * f64::from(used) / 16_260_760.0;
            writeln!(text, "12:0{minute}:00 {free} {used} {part:.2} 1948 46292 20004200 {commit}").expect("text");
        }
        imported(Kind::Sar, &text)
    };
    let finding = must_find(&sar("116.98"), "oom-risk");
    assert!(finding.summary.contains("More is promised than there is"), "{}", finding.summary);
    assert!(found(&ask(&sar("60.00")), "oom-risk").is_none());
}

#[test]
fn reclaimable_slab_beside_much_memory_that_can_be_had_is_left_alone_in_a_listing() {
    let meminfo = |available: u64| {
        let text = format!(
            "MemTotal: 16000000 kB\nMemFree: 1000000 kB\nMemAvailable: {available} kB\nCached: 1000000 kB\nSlab: 7500000 kB\n\
             SReclaimable: 7000000 kB\nSUnreclaim: 500000 kB\n"
        );
        imported(Kind::Proc, &text)
    };
    assert!(found(&ask(&meminfo(8_000_000)), "slab-bloat").is_none());
    must_find(&meminfo(1_000_000), "slab-bloat");
}

#[test]
fn totals_of_old_kernels_tell_who_looked_for_memory_and_what_came_back_from_swap() {
    let vmstat = |direct: u64, kswapd: u64, swapped: u64, read_kib: u64| {
        imported(
            Kind::Proc,
            &format!(
                "$ cat /proc/vmstat\nnr_free_pages 1293\npgpgin {read_kib}\npgpgout 1578276\npswpin {swapped}\npswpout 394568\n\
                 pgsteal_dma32 3334164\npgscan_kswapd_dma32 {kswapd}\npgscan_direct_dma32 {direct}\n"
            ),
        )
    };
    let bad = vmstat(57_803_261, 60_060_539, 1_486_615, 5_954_683);
    let reclaim = must_find(&bad, "direct-reclaim-stalls");
    assert!(reclaim.summary.contains("programs themselves scanned 49 %"), "{}", reclaim.summary);
    let swap = must_find(&bad, "swap-thrash");
    assert!(swap.summary.contains("were read back from swap, 100 %"), "{}", swap.summary);
    assert_eq!((swap.confidence, reclaim.confidence), (Confidence::Low, Confidence::Low));
    for (calm, why) in [
        (vmstat(1_000_000, 60_060_539, 1_486_615, 595_468_300), "a month of reading files"),
        (vmstat(57_803, 60_060, 1_486, 5_954), "a few pages"),
    ] {
        let asked = ask(&calm);
        let is_named = |id: &&str| ["direct-reclaim-stalls", "swap-thrash"].contains(id);
        assert!(!ids(&asked).iter().any(is_named), "{why}: {:?}", ids(&asked));
    }
}

#[test]
fn a_screen_of_a_host_that_waits_for_swap_alone_is_read_as_that() {
    let top = |waits: f64, cached: u64, free: u64| {
        let idle = 99.4 - waits;
        imported(
            Kind::Top,
            &format!(
                "top - 14:18:10 up 298 days,  1:59,  2 users,  load average: 0.21, 0.23, 0.22\n\
                 Tasks:  77 total,   1 running,  76 sleeping,   0 stopped,   0 zombie\n\
                 %Cpu(s):  0.3 us,  0.3 sy,  0.0 ni, {idle:.1} id, {waits:.1} wa,  0.0 hi,  0.0 si,  0.0 st\n\
                 KiB Mem:   1017972 total,   954880 used,    63092 free,      152 buffers\n\
                 KiB Swap:  1048572 total,   {} used,   {free} free.    {cached} cached Mem\n\n  \
                 PID USER      PR  NI    VIRT    RES    SHR S %CPU %MEM     TIME+ COMMAND\n \
                 3743 deploy    20   0  869224 184396    748 S  0.0 18.1 316:32.87 ruby\n",
                1_048_572 - free
            ),
        )
    };
    let finding = must_find(&top(99.3, 13_588, 393_444), "swap-thrash");
    assert!(finding.summary.contains("CPUs wait for disks") && finding.confidence == Confidence::Low, "{finding:?}");
    for (screen, why) in [
        (top(9.3, 13_588, 393_444), "nobody waits"),
        (top(99.3, 413_588, 393_444), "much is left for files"),
        (top(99.3, 13_588, 993_444), "little is in swap"),
    ] {
        assert!(found(&ask(&screen), "swap-thrash").is_none(), "{why}");
    }
}

#[test]
fn caches_that_are_mostly_room_of_objects_that_are_gone_are_told() {
    let slabinfo = |active: u64| {
        imported(
            Kind::Slab,
            &format!(
                "dentry {active} 30399520 192 20 1 : tunables 120 60 8 : slabdata 1519976 1519976 19\n\
                 buffer_head 139671 197062 104 37 1 : tunables 120 60 8 : slabdata 5326 5326 0\n"
            ),
        )
    };
    let hollow = must_find(&slabinfo(8_245_651), "slab-bloat");
    assert!(hollow.summary.contains("is room of objects that are gone"), "{}", hollow.summary);
    assert!(found(&ask(&slabinfo(30_245_651)), "slab-bloat").is_none());
    let slabtop = |active: u64| {
        imported(Kind::Slab, &format!(" Active / Total Size (% used)       : {active}.55K / 3255397.62K (51.6%)\n"))
    };
    must_find(&slabtop(1_681_083), "slab-bloat");
    assert!(found(&ask(&slabtop(3_055_397)), "slab-bloat").is_none());
}

#[test]
fn a_profile_that_is_mostly_memory_management_says_so_where_nothing_has_a_better_name() {
    let locks = "18.77%  [kernel]  [k] lock_page_memcg\n17.56%  [kernel]  [k] memcg_check_events\n\
                 15.65%  [kernel]  [k] unlock_page_memcg\n";
    let asked = of_pasted(locks);
    let finding = found(&asked, "unexplained-system-time").expect("what CPUs do");
    assert_eq!((finding.title.as_str(), finding.confidence), ("CPUs are busy with memory management", Confidence::Low));
    let other = "36.77%  [kernel]  [k] ext4_htree_store_dirent\n16.56%  [kernel]  [k] tcp_ack\n15.65%  [kernel]  [k] lock_page_memcg\n";
    assert!(found(&of_pasted(other), "unexplained-system-time").is_none());
    let named = "46.77%  [kernel]  [k] copy_pte_range\n16.56%  [kernel]  [k] page_counter_cancel\n";
    assert!(found(&of_pasted(named), "unexplained-system-time").is_none(), "it has a name");
}

#[test]
fn a_zone_without_page_cache_that_wakes_kswapd_when_an_allocation_fails_is_out_of_memory() {
    let log = |free: u64, files: u64| {
        let text = format!(
            "[83575.638478] active_anon:915995 inactive_anon:179 isolated_anon:0\n[83575.638478]  active_file:{files} inactive_file:7 isolated_file:0\n\
             [83575.638483] Node 0 DMA32 free:{free}kB min:52088kB low:65108kB high:78128kB active_anon:2925224kB \
             inactive_anon:0kB active_file:{}kB inactive_file:28kB unevictable:0kB present:3129196kB managed:3063628kB\n",
            files * 4
        );
        imported(Kind::KernelLog, &text)
    };
    must_find(&log(55_428, 39), "oom-risk");
    assert!(found(&ask(&log(75_428, 39)), "oom-risk").is_none(), "kswapd sleeps");
    assert!(found(&ask(&log(55_428, 39_000)), "oom-risk").is_none(), "there is page cache");
}

#[test]
fn what_perf_stat_counted_of_page_walks_says_whether_translations_are_what_a_host_waits_for() {
    let stat = |walks: u64| {
        let text = format!(
            " Performance counter stats for 'system wide':\n\n   291,350,355,880      cycles\n    {walks}      \
             dtlb_load_misses.walk_duration\n        43,668,809      dtlb_store_misses.walk_duration\n\n      96.873898071 seconds time elapsed\n"
        );
        imported(Kind::PerfStat, &text)
    };
    let bound = must_find(&stat(60_179_920_415), "tlb-bound");
    assert!(bound.summary.contains("21 % of the cycles"), "{}", bound.summary);
    assert!(found(&ask(&stat(1_179_920_415)), "tlb-bound").is_none());
    let misses = imported(Kind::PerfStat, "  291,350,355,880      cycles\n   1,179,920,415      dTLB-load-misses:u\n");
    let open = must_not_decide(&misses, "tlb-bound");
    assert!(open.missing.iter().any(|missing| missing.why.contains("not how long")), "{open:?}");
}

#[test]
fn a_node_that_is_full_beside_one_with_room_is_told_by_what_numactl_prints() {
    let numactl = |free: u64| {
        let text = format!(
            "$ numactl --hardware\navailable: 2 nodes (0-1)\nnode 0 cpus: 0 2 4 6\nnode 0 size: 32733 MB\nnode 0 free: {free} MB\n\
             node 1 cpus: 1 3 5 7\nnode 1 size: 32768 MB\nnode 1 free: 20123 MB\nnode distances:\nnode   0   1\n  0:  10  21\n  1:  21  10\n"
        );
        imported(Kind::Proc, &text)
    };
    let finding = must_find(&numactl(95), "numa-imbalance");
    assert!(finding.summary.contains("On 2 nodes: one node is short"), "{}", finding.summary);
    assert!(found(&ask(&numactl(9_500)), "numa-imbalance").is_none());
}

#[test]
fn swap_that_is_full_beside_files_is_told_and_a_token_of_it_is_not() {
    let free = |swap: &str| {
        format!(
            "              total        used        free      shared  buff/cache   available\n\
             Mem:       65011712    10485760      409600      148480    53477376    53477376\n\
             Swap:      {swap}\n"
        )
    };
    let full = must_find(&imported(Kind::Free, &free("8388608     8388608           0")), "swappiness-misuse");
    assert!(
        full.confidence == Confidence::Low && full.summary.contains("All 8 GiB of swap is used"),
        "{}",
        full.summary
    );
    must_not_decide(&imported(Kind::Free, &free("2097152     2097152           0")), "swappiness-misuse");
    must_not_decide(&imported(Kind::Free, &free("8388608     4194304     4194304")), "swappiness-misuse");
}

/// Rows of vmstat below the size of memory; cache in KiB, KiB a second that are read, tasks that wait.
fn reading(cache: u32, read: u32, blocked: u32, out: u32) -> Imported {
    let mut text = "procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----\n \
                    r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st\n"
        .to_owned();
    for _ in 0..12 {
        writeln!(text, " 1 {blocked}      0  81920    512 {cache}    0 {out} {read}     4 3000 5000 20  8 72  0  0")
            .expect("text");
    }
    let free = "              total        used        free      shared  buff/cache   available\n\
                Mem:        8145920     7987200       81920        1024       76800       65536\n\
                Swap:             0           0           0\n";
    let assumed = Assumed::default();
    let listings = [(Kind::Vmstat, text.as_str()), (Kind::Free, free)];
    let listings =
        listings.map(|(kind, text)| (format!("{kind}.txt"), parse(kind, text, &assumed).expect("a listing")));
    merge(listings.to_vec(), &assumed)
}

#[test]
fn a_page_cache_that_is_read_anew_within_a_minute_is_too_small() {
    let thrash = must_find(&reading(204_800, 40_960, 9, 40), "page-cache-thrash");
    assert!(
        thrash.confidence == Confidence::Low && thrash.summary.contains("disks read as much as it holds in 5.01 s"),
        "{}",
        thrash.summary
    );
    // A stream beside much cache, a cache that lasts, reads that nobody waits for, and a database that reads past the cache.
    for (cache, read, blocked, out) in
        [(4_096_000, 409_600, 9, 40), (204_800, 512, 9, 40), (204_800, 40_960, 0, 40), (204_800, 40_960, 9, 0)]
    {
        let diagnosis = ask(&reading(cache, read, blocked, out));
        assert!(found(&diagnosis, "page-cache-thrash").is_none(), "{cache} {read} {blocked} {out}");
    }
}

#[test]
fn a_listing_that_ends_with_nothing_left_is_a_host_at_its_end() {
    let sar = |last: u32| {
        format!(
            "04:10:01    kbmemfree kbmemused  %memused kbbuffers  kbcached kbswpfree kbswpused  %swpused  kbswpcad\n\
             04:20:01     62716272 201531148     76.27     15952   1556572   2048236        12      0.00         4\n\
             04:30:01     62716272 201531148     76.27     15952   1556572   2048236        12      0.00         4\n\
             04:40:03       {last} 264055516     99.93      2692     28908         0   2048248    100.00      8496\n"
        )
    };
    let gone = must_find(&imported(Kind::Sar, &sar(191_904)), "oom-risk");
    assert!(gone.summary.contains("n the end 0.08 % of memory and swap was left"), "{}", gone.summary);
    assert!(found(&ask(&imported(Kind::Sar, &sar(20_191_904))), "oom-risk").is_none());
}

#[test]
fn a_cache_that_grows_tenfold_in_a_table_is_told() {
    let slabinfo = |last: u32| {
        let row = |objects: u32| {
            format!("kmalloc-4096 {objects} {objects} 4352 7 8 : tunables 0 0 0 : slabdata {0} {0} 0\n", objects / 7)
        };
        format!("{}{}{}{}", row(110), row(1700), row(4146), row(last))
    };
    let grows = must_find(&imported(Kind::Slab, &slabinfo(5532)), "slab-bloat");
    assert!(grows.summary.contains("kmalloc-4096, which nothing gives back, grew from"), "{}", grows.summary);
    assert!(found(&ask(&imported(Kind::Slab, &slabinfo(400))), "slab-bloat").is_none());
}

#[test]
fn a_listing_of_memory_that_ends_before_its_last_accounts_shows_a_rest_that_is_large() {
    let meminfo = |free: u32| {
        format!(
            "MemTotal:       32866052 kB\nMemFree:        {free} kB\nMemAvailable:   20023604 kB\nBuffers:            1000 kB\n\
             Cached:         11388500 kB\nSwapCached:            0 kB\nAnonPages:       2050472 kB\nSlab:            1219148 kB\n\
             SReclaimable:     161464 kB\nSUnreclaim:      1057684 kB\nKernelStack:       21952 kB\nPageTables:        34904 kB\n"
        )
    };
    let leak = must_find(&imported(Kind::Proc, &meminfo(9_081_332)), "kernel-memory-leak");
    assert!(leak.confidence == Confidence::Low && leak.summary.contains("may be at its end"), "{}", leak.summary);
    must_not_find(&imported(Kind::Proc, &meminfo(15_081_332)), "kernel-memory-leak");
}

#[test]
fn memory_that_no_program_has_is_the_kernels() {
    let smem = |kernel: &str, programs: &str| {
        let text = format!(
            "Area                           Used      Cache   Noncache\nkernel dynamic memory         {kernel}\n\
             userspace memory               {programs}\nfree memory                    5.5G       5.5G          0\n"
        );
        imported(Kind::Free, &text)
    };
    let leak = must_find(&smem("22.6G 1.7G 20.9G", "3.1G 0.1G 3.0G"), "kernel-memory-leak");
    assert!(
        leak.confidence == Confidence::Low && leak.summary.contains("nor what the programs have"),
        "{}",
        leak.summary
    );
    assert!(leak.missing.len() > 1, "{:?}", leak.missing);
    must_not_decide(&smem("3.6G 1.7G 1.9G", "22.1G 0.1G 22.0G"), "kernel-memory-leak");
}

#[test]
fn a_trace_of_stalls_names_what_held_tasks_up() {
    let pair = |at: u32, name: &str, end: &str| {
        let second = f64::from(at) * 0.1;
        format!(
            "java-51234 [003] ..... {second:.6}: {name}_begin: order=9 mode=sync\njava-51234 [003] ..... {:.6}: {name}_end: {end}\n",
            second + 0.06
        )
    };
    let trace = |name: &str, end: &str| (0..400).map(|at| pair(at, name, end)).collect::<String>();
    must_find(
        &imported(Kind::TraceEvents, &trace("mm_vmscan_direct_reclaim", "nr_reclaimed=32")),
        "direct-reclaim-stalls",
    );
    must_find(&imported(Kind::TraceEvents, &trace("mm_compaction", "status=contended")), "compaction-stalls");
    let calm = pair(0, "mm_compaction", "status=success") + &pair(400, "mm_compaction", "status=success");
    must_not_decide(&imported(Kind::TraceEvents, &calm), "compaction-stalls");
}

#[test]
fn rows_of_drsnoop_without_times_name_what_often_takes_long() {
    let rows = |milliseconds: &[f64]| {
        let row = |length: &f64| format!("java           51234  {length:>8.2}    64\n");
        let text =
            format!("COMM           PID     LAT(ms) PAGES\n{}", milliseconds.iter().map(row).collect::<String>());
        imported(Kind::TraceEvents, &text)
    };
    let slow = must_find(&rows(&[0.2, 0.3, 8.5, 0.1, 15.7, 12.0]), "direct-reclaim-stalls");
    assert!(slow.confidence == Confidence::Low && slow.summary.contains("6 times"), "{}", slow.summary);
    must_not_decide(&rows(&[0.2; 400]), "direct-reclaim-stalls");
    must_not_decide(&rows(&[15.0; 3]), "direct-reclaim-stalls");
}

/// The log of a JVM with so many collections, each with these seconds.
fn gc_log(user: f64, system: f64, elapsed: f64) -> Imported {
    let lines = (1..=20).map(|number| {
        format!("[{number}0.000s][info][gc,cpu] GC({number}) User={user:.2}s Sys={system:.2}s Real={elapsed:.2}s\n")
    });
    imported(Kind::GcLog, &lines.collect::<String>())
}

#[test]
fn collections_that_are_in_the_kernel_or_wait_are_told_and_others_are_not() {
    let kernel = must_find(&gc_log(0.10, 0.90, 0.30), "unexplained-system-time");
    assert!(
        kernel.title == "Collections of garbage are in the kernel" && kernel.summary.contains("90 %"),
        "{}",
        kernel.summary
    );
    let waits = must_find(&gc_log(0.10, 0.05, 2.00), "unexplained-memory-stalls");
    assert!(waits.summary.contains("Collections took 40 s"), "{}", waits.summary);
    let well = gc_log(0.90, 0.10, 0.30);
    must_not_decide(&well, "unexplained-system-time");
    must_not_decide(&well, "unexplained-memory-stalls");
}

#[test]
fn a_heap_that_grew_is_told_with_the_settings_that_spare_it() {
    let log = |touched: &str, last: u32| {
        let head = format!(
            "[0.052s][info][gc,init] Large Page Support: Disabled\n[0.052s][info][gc,init] Heap Initial Capacity: 256M\n\
             [0.052s][info][gc,init] Heap Max Capacity: 3G\n[0.052s][info][gc,init] Pre-touch: {touched}\n"
        );
        let lines = (1..=20).map(|number| {
            let heap = 256 + (last - 256) * number / 20;
            format!(
                "[{number}0.000s][info][gc] GC({number}) Pause Young (Normal) (G1 Evacuation Pause) 200M->100M({heap}M) 300.000ms\n\
                 [{number}0.000s][info][gc,cpu] GC({number}) User=0.10s Sys=0.90s Real=0.30s\n"
            )
        });
        let lines: String = lines.collect();
        must_find(&imported(Kind::GcLog, &(head + &lines)), "unexplained-system-time")
    };
    let proposed = |finding: &Finding| {
        let all = finding.change.iter().chain(&finding.alternatives).flat_map(|change| &change.settings);
        all.map(|one| format!("{}={}", one.tunable, one.to)).collect::<Vec<String>>()
    };
    let grew = log("Disabled", 2048);
    assert!(grew.summary.contains("The heap grew from 256 MiB to 2 GiB"), "{}", grew.summary);
    assert_eq!(proposed(&grew), ["jvm.AlwaysPreTouch=true", "jvm.Xms=3072M"]);
    let untouched = log("Disabled", 256);
    assert!(untouched.summary.contains("The heap of 256 MiB was not touched"), "{}", untouched.summary);
    assert_eq!(proposed(&untouched), ["jvm.AlwaysPreTouch=true", "jvm.Xms=3072M"]);
    let touched = log("Enabled", 256);
    assert!(!touched.summary.contains("heap"), "{}", touched.summary);
    assert_eq!(proposed(&touched), [""; 0]);
}

#[test]
fn memory_beyond_all_that_programs_were_promised_is_in_no_account() {
    let kmem = |committed: &str| {
        format!(
            "crash> kmem -i\n                 PAGES        TOTAL      PERCENTAGE\n    TOTAL MEM  32803961     125.1 GB         ----\n\
             \u{20}        FREE  10829493      41.3 GB   33% of TOTAL MEM\n       CACHED    300470       1.1 GB    0% of TOTAL MEM\n\
             \u{20}        SLAB    335787       1.3 GB    1% of TOTAL MEM\n   TOTAL HUGE        0            0         ----\n    COMMITTED   5894185      {committed} GB   35% of TOTAL LIMIT\n"
        )
    };
    let leak = must_find(&imported(Kind::Proc, &kmem("22.5")), "kernel-memory-leak");
    assert!(leak.confidence == Confidence::Low && leak.summary.starts_with("47 % of the memory"), "{}", leak.summary);
    assert!(found(&ask(&imported(Kind::Proc, &kmem("72.5"))), "kernel-memory-leak").is_none());
}

#[test]
fn a_place_in_the_kernels_source_that_has_much_page_by_page_is_named() {
    let allocinfo = |bytes: u64| {
        imported(
            Kind::Proc,
            &format!(
                "# sort -g /proc/allocinfo | tail\n   114294784   595285 fs/dcache.c:1681 func:__d_alloc\n  9334530048  2278938 mm/readahead.c:186 \
                 func:ractl_alloc_folio\n  {bytes}   412215 drivers/net/ethernet/intel/ice/ice_txrx.c:681 [ice] func:ice_alloc_mapped_page\n"
            ),
        )
    };
    let leak = must_find(&allocinfo(3_341_238_272), "kernel-memory-leak");
    assert!(leak.summary.starts_with("ice_alloc_mapped_page in drivers/net/ethernet/intel/ice/ice_txrx.c has 3.1 GiB"));
    assert!(leak.summary.contains("26 % of all pages that the table has"), "{}", leak.summary);
    assert_eq!(leak.confidence, Confidence::Low);
    // Less than a gibibyte, or little beside the rest of memory.
    must_not_decide(&allocinfo(941_238_272), "kernel-memory-leak");
    let with_memory = |total: u64| {
        let (table, memory) = (Kind::Proc, format!("MemTotal: {total} kB\nMemFree: 100000 kB\n"));
        let assumed = Assumed::default();
        let text = format!("{memory}  3341238272   412215 drivers/net/x.c:681 [x] func:x_alloc\n");
        merge(vec![("proc.txt".to_owned(), parse(table, &text, &assumed).expect("a listing"))], &assumed)
    };
    let leak = must_find(&with_memory(16_000_000), "kernel-memory-leak");
    assert!(leak.summary.contains("20 % of the memory."), "{}", leak.summary);
    assert!(found(&ask(&with_memory(160_000_000)), "kernel-memory-leak").is_none());
}

#[test]
fn a_place_in_the_kernels_source_that_has_ever_more_is_seen_to_grow() {
    let table = |hour: u32, bytes: u64| {
        format!(
            "2025-05-01 1{hour}:00:00\n  9334530048  2278938 mm/readahead.c:186 func:ractl_alloc_folio\n  {bytes}   412215 drivers/net/x.c:681 [x] \
             func:x_alloc\n"
        )
    };
    let text = table(0, 2_147_483_648) + &table(1, 3_221_225_472);
    let leak = must_find(&imported(Kind::Proc, &text), "kernel-memory-leak");
    assert!(leak.summary.ends_with("It grew by 1 GiB between the readings."), "{}", leak.summary);
    assert!(leak.missing.iter().all(|missing| missing.what != "whether it grows"));
}

/// What was counted in all, from one reading of `/proc/vmstat` or between two whose time nobody said.
#[test]
fn totals_tell_what_came_back_from_swap_and_what_was_read_again() {
    let vmstat = |swapped: u64, back: u64, read: u64| {
        format!(
            "pswpin {swapped}\npswpout {swapped}\nworkingset_refault_file {back}\nworkingset_activate_file {back}\npgpgin {read}\n"
        )
    };
    let judged = |files: &[String]| {
        let assumed = Assumed::default();
        let listings = files
            .iter()
            .enumerate()
            .map(|(number, text)| (format!("{number}.txt"), parse(Kind::Proc, text, &assumed).expect("a listing")));
        merge(listings.collect(), &assumed)
    };
    // 4 GiB are 1048576 pages; pgpgin counts KiB.
    let again = vmstat(0, 2_000_000, 10_000_000);
    let finding = must_find(&judged(std::slice::from_ref(&again)), "page-cache-thrash");
    assert!(finding.summary.starts_with("Since the host started 7.6 GiB"), "{}", finding.summary);
    assert_eq!(finding.confidence, Confidence::Low);
    assert!(found(&ask(&judged(&[vmstat(0, 2_000_000, 40_000_000)])), "page-cache-thrash").is_none());
    // The later reading stands first: what it counted is more.
    let memory = "MemTotal: 1048576 kB\nMemFree: 10240 kB\n";
    let pair = [vmstat(200_000, 0, 2_000_000), vmstat(50_000, 0, 1_000_000)].map(|text| format!("{memory}{text}"));
    let finding = must_find(&judged(&pair), "swap-thrash");
    assert!(finding.summary.starts_with("Between the readings 585.9 MiB were read back"), "{}", finding.summary);
    assert!(found(&ask(&judged(&pair[1..])), "swap-thrash").is_none());
}

#[test]
fn a_host_without_swap_and_with_next_to_nothing_left_may_run_out() {
    let free = |free: u32, swap: u32| {
        let text = format!(
            "              total        used        free      shared  buff/cache   available\n\
             Mem:           3895        3470         {free}           3         {free}         {free}\nSwap:             {swap}           0           {swap}\n"
        );
        imported(Kind::Free, &text)
    };
    must_find(&free(204, 0), "oom-risk");
    assert!(found(&ask(&free(204, 2000)), "oom-risk").is_none());
    assert!(found(&ask(&free(600, 0)), "oom-risk").is_none());
}

#[test]
fn general_caches_that_are_most_of_all_are_told_without_the_size_of_memory() {
    let slabtop = |kib: u64, name: &str| {
        let all = 2 * kib + 500_000;
        let text = format!(
            " Active / Total Objects (% used)    : 9824285 / 9902782 (99.2%)\n Active / Total Size (% used)       : {all}.00K / {all}.00K (99.5%)\n\n  \
             OBJS ACTIVE  USE OBJ SIZE  SLABS OBJ/SLAB CACHE SIZE NAME\n1069376 1069376 100%    1.00K  33418       32   {kib}K {name}-1k\n\
             1069376 1069376 100%    0.50K  33418       32   {kib}K {name}-512\n"
        );
        imported(Kind::Slab, &text)
    };
    must_find(&slabtop(1_200_000, "kmalloc"), "slab-bloat");
    assert!(found(&ask(&slabtop(900_000, "kmalloc")), "slab-bloat").is_none());
    assert!(found(&ask(&slabtop(1_200_000, "ext4_inode")), "slab-bloat").is_none());
}

#[test]
fn a_cache_of_one_kind_that_is_most_of_a_table_is_told_without_the_size_of_memory() {
    let slabtop = |name: &str, kib: u64, others: u64| {
        let all = kib + others;
        let text = format!(
            " Active / Total Size (% used)       : {all}.00K / {all}.00K (99.5%)\n\n  \
             OBJS ACTIVE  USE OBJ SIZE  SLABS OBJ/SLAB CACHE SIZE NAME\n2779072 2779011  99%    0.12K  86846       32   {kib}K {name}\n\
             93106  73207  78%    0.15K   3581       26     {others}K buffer_head\n"
        );
        imported(Kind::Slab, &text)
    };
    let leak = must_find(&slabtop("secpath_cache", 400_000, 60_000), "slab-bloat");
    assert!(leak.summary.contains("secpath_cache, which nothing gives back"), "{}", leak.summary);
    for (table, why) in [
        (slabtop("secpath_cache", 200_000, 60_000), "any host has so much"),
        (slabtop("secpath_cache", 400_000, 400_000), "it is one of several"),
        (slabtop("ext4_inode_cache", 400_000, 60_000), "the kernel gives it back"),
        (slabtop("kmalloc-128", 400_000, 60_000), "what is asked for by size may be for anything"),
    ] {
        assert!(found(&ask(&table), "slab-bloat").is_none(), "{why}");
    }
}

#[test]
fn a_little_that_goes_to_swap_is_told_where_cpus_do_nothing_but_wait() {
    let rows = |out: u32, waits: u32| {
        let head = "r b swpd free buff cache si so bi bo in cs us sy id wa\n";
        let row = |at: u32| {
            let swapped = 240_000 + 4 * at * (out / 4);
            format!(" 0 2 {swapped} 7000 1800 68000 0 {out} 4000 {out} 250 2500 5 10 {} {waits}\n", 85 - waits)
        };
        imported(Kind::Vmstat, &format!("{head}{}", (0..6).map(row).collect::<String>()))
    };
    must_find(&rows(2_000, 80), "swap-thrash");
    for (well, why) in [(rows(2_000, 10), "nothing waits"), (rows(400, 80), "it is next to nothing")] {
        assert!(found(&ask(&well), "swap-thrash").is_none(), "{why}");
    }
}

#[test]
fn one_second_of_much_swap_both_ways_is_named_where_cpus_wait_for_it() {
    let rows = |swap: u32, waits: u32| {
        let row = |swap: u32, waits: u32| {
            format!(
                " 0  8 6091076 126296 9256 861312 {swap} {swap} {swap} {swap} 600 700 30 10 {} {waits}\n",
                60 - waits
            )
        };
        let head = "r b swpd free buff cache si so bi bo in cs us sy id wa\n";
        imported(Kind::Vmstat, &format!("{head}{}{}", row(9, 1), row(swap, waits)))
    };
    let finding = must_find(&rows(24_000, 40), "swap-thrash");
    assert_eq!(finding.confidence, Confidence::Low);
    for (well, why) in [(rows(24_000, 5), "nothing waits"), (rows(2_000, 40), "it is little")] {
        assert!(found(&ask(&well), "swap-thrash").is_none(), "{why}");
    }
}

#[test]
fn dirty_memory_at_the_kernels_own_limits_holds_writers_back_where_nobody_says_others() {
    // Of 30 GiB that may be dirty, 15 % are half-way between both limits.
    let of_kernel = |release: &str, dirty: u64, rows: u64| {
        let head = "12:00:01 kbmemfree kbmemused  %memused kbbuffers  kbcached  kbcommit   %commit  kbactive   kbinact   kbdirty\n";
        let row = |at: u64| {
            format!("12:{:02}:01 1048576 32000000 97.00 0 30408704 3000000 3.6 26000000 4900000 {dirty}\n", at * 5)
        };
        imported(
            Kind::Sar,
            &format!(
                "Linux {release} (host) \t2026-11-21 \t_x86_64_\t(16 CPU)\n\n{head}{}",
                (1..=rows).map(row).collect::<String>()
            ),
        )
    };
    let rows = |dirty, rows| of_kernel("6.1.0", dirty, rows);
    let finding = must_find(&rows(4_900_000, 7), "dirty-throttling");
    assert_eq!(finding.confidence, Confidence::Low);
    assert!(finding.missing.iter().any(|missing| missing.what == "vmstat.nr_dirty_threshold"), "{finding:?}");
    must_not_decide(&rows(3_000_000, 7), "dirty-throttling");
    // Up to 2.6.35 nobody was held back below the limit itself.
    must_not_decide(&of_kernel("2.6.32-220.el6.x86_64", 4_900_000, 7), "dirty-throttling");
    // Somebody writes hard at this moment.
    must_not_decide(&rows(4_900_000, 1), "dirty-throttling");
}

#[test]
fn before_the_kernel_counted_waiting_for_disks_tasks_that_wait_tell_it() {
    let rows = |blocked: u32| {
        let head = "   procs                      memory    swap          io     system         cpu\n \
                    r  b  w   swpd   free   buff  cache  si  so    bi    bo   in    cs  us  sy  id\n";
        let row =
            |_: u32| format!(" 2  {blocked}  0   2520   2800    408   9028  4  5  1425    35  208   184  92   6   2\n");
        imported(Kind::Vmstat, &format!("{head}{}", (0..8).map(row).collect::<String>()))
    };
    must_find(&rows(7), "page-cache-thrash");
    assert!(found(&ask(&rows(1)), "page-cache-thrash").is_none());
}

#[test]
fn faults_that_wait_for_a_page_that_is_moved_are_no_swap_and_instructions_that_reach_all_cpus_are_shootdowns() {
    let waits = "# Children      Self  Command  Shared Object      Symbol\n    80.00%     0.10%  app     [kernel.kallsyms]  [k] do_swap_page\n    \
                 79.00%    79.00%  app     [kernel.kallsyms]  [k] __migration_entry_wait\n    20.00%    20.00%  app     app  [.] work\n";
    let waits = ask(&imported(Kind::PerfTop, waits));
    assert!(found(&waits, "numa-imbalance").is_some_and(|finding| finding.title.contains("being moved")), "{waits:?}");
    assert!(found(&waits, "swap-thrash").is_none());
    let forks = profile(&[("ptep_clear_flush", 26.0), ("filemap_map_pages", 10.0), ("ptep_set_access_flags", 8.0)]);
    assert!(must_find(&forks, "tlb-shootdowns").summary.contains("34 %"));
}

//! Tests of what `kernel_log.rs` reads.

use super::super::tests::{recording, timed, values};
use super::super::{Imported, kinds_in};
use super::*;
use crate::finding::{self, Observed};
use crate::recording::{Recorded, StallKind};

const GROUP: &str = include_str!("../../../../../recordings/imports/kernel-log-group.txt");

/// As 3.10 writes it, with the host's name and klogd's prefix.
const HOST: &str = "\
Sep 20 16:12:36 h kernel: [1000.100000] java invoked oom-killer: gfp_mask=0x201da, order=0, oom_score_adj=0
Sep 20 16:12:36 h kernel: [1000.100010] Call Trace:
Sep 20 16:12:36 h kernel: [1000.100011]  [<ffffffff816a3e1d>] dump_stack+0x19/0x1b
Sep 20 16:12:36 h kernel: [1000.100012] Mem-Info:
Sep 20 16:12:36 h kernel: [1000.100013] active_anon:182187 inactive_anon:82354 isolated_anon:370
 active_file:10 inactive_file:20 isolated_file:0
 unevictable:0 dirty:0 writeback:1286 unstable:0
 free:9000 slab_reclaimable:2144 slab_unreclaimable:11443
 mapped:1 shmem:5 pagetables:1619 bounce:0
Sep 20 16:12:36 h kernel: [1000.100014] Node 0 Normal free:16456kB min:16484kB low:20604kB high:24724kB active_file:0kB inactive_file:88kB present:1048576kB managed:990028kB
Sep 20 16:12:36 h kernel: [1000.100015] lowmem_reserve[]: 0 0 0 0
Sep 20 16:12:36 h kernel: [1000.100016] Node 0 Normal: 2*4kB (UE) 1*8kB (U) 0*16kB 0*32kB 0*64kB 1*128kB (M) 0*256kB 0*512kB 0*1024kB 0*2048kB 0*4096kB = 144kB
Sep 20 16:12:36 h kernel: [1000.100017] 1500 total pagecache pages
Sep 20 16:12:36 h kernel: [1000.100018] 500 pages in swap cache
Sep 20 16:12:36 h kernel: [1000.100019] Free swap  = 12kB
Sep 20 16:12:36 h kernel: [1000.100020] Total swap = 1048572kB
Sep 20 16:12:36 h kernel: [1000.100021] 524288 pages RAM
Sep 20 16:12:36 h kernel: [1000.100022] 24288 pages reserved
Sep 20 16:12:36 h kernel: [1000.200000] Out of memory: Kill process 77 (java) score 900 or sacrifice child
Sep 20 16:12:36 h kernel: [1000.200001] Killed process 78 (node) total-vm:1kB, anon-rss:1kB, file-rss:0kB
";

fn read(text: &str) -> Imported {
    recording(&[(Kind::KernelLog, text)])
}

fn marks(imported: &Imported) -> Vec<String> {
    let Ok(marks) = imported.marks();
    marks.into_iter().map(|mark| mark.text).collect()
}

fn found(imported: &Imported) -> Vec<String> {
    let Ok(observed) = Observed::of(imported);
    finding::diagnose(&observed, "test").findings.into_iter().map(|finding| finding.id).collect()
}

/// What was killed on the host, in the end.
fn killed_on_host(text: &str) -> Option<f64> {
    values(&read(text), "vmstat", "oom_kill").last().copied()
}

#[test]
fn what_a_mailer_broke_of_a_report_on_memory_is_put_together() {
    let text = "\
> [00:02:54]swapper/0: page
> allocation failure: order:3, mode:0x200020
> Mem-info:
> DMA free:143792kB min:3336kB low:4168kB high:5004kB
> active_file:314340kB inactive_file:316728kB unevictable:0kB
> present:1048576kB managed:697164kB mlocked:0kB
> pages_scanned:51 all_unreclaimable? yes
> DMA: 4452*4kB (UC) 4382*8kB (UC) 4111*16kB (UC) 786*32kB (UC) 0*64kB
> 0*128kB 0*256kB 0*512kB 0*1024kB 0*2048kB 0*4096kB = 143792kB
";
    let imported = read(text);
    let of_zone = |name: &str| timed(&imported, "zoneinfo", name, "node=0,zone=DMA").last().map(|(_, value)| *value);
    assert_eq!(of_zone("nr_zone_inactive_file"), Some(316_728.0 / 4.0));
    assert_eq!(of_zone("managed"), Some(697_164.0 / 4.0));
    let blocks = |order: u32| timed(&imported, "buddyinfo", "free_blocks", &format!("node=0,zone=DMA,order={order}"));
    assert_eq!((blocks(3)[0].1, blocks(10)[0].1), (786.0, 0.0));
    assert_eq!(values(&imported, SOURCE, "nothing_to_free"), [1.0]);
    let failed = timed(&imported, SOURCE, "failed_large", "order=3");
    assert_eq!(failed.last().map(|(_, count)| *count), Some(1.0));
    // More is free than kswapd keeps: what failed was in want of a block.
    assert!(found(&imported).contains(&"fragmentation".to_owned()), "{:?}", found(&imported));

    // The smallest zones have often nothing to free.
    let small = "Mem-info:\nDMA free:1kB min:1kB low:1kB high:1kB present:16kB all_unreclaimable? yes\n\
                 Normal free:1kB min:1kB low:1kB high:1kB present:1048576kB all_unreclaimable? no\n";
    assert_eq!(values(&read(small), SOURCE, "nothing_to_free"), [0.0]);
    let in_vain = |scanned: u64| {
        let log = format!(
            "Mem-info:\nNormal free:9kB min:9kB low:9kB high:9kB present:4000kB\nmlocked:0kB dirty:0kB pages_scanned:{scanned} \
             all_unreclaimable? no\nlowmem_reserve[]: 0 0\n"
        );
        values(&read(&log), SOURCE, "nothing_to_free")
    };
    assert_eq!((in_vain(5999), in_vain(6000)), (vec![0.0], vec![1.0]), "1,000 pages");
}

#[test]
fn the_list_of_processes_alone_is_a_killing() {
    let row =
        "[4748033.861019] [   1972]     0  1972     3274      127    65536       32             0 systemd-cgroups";
    assert!(of_process(split(row).text) && recognises(row));
    assert!(!of_process("[ 12] 1 2 3") && !of_process("[   1]     0  7     3274      127    65536       32     0 x"));
    let listing = super::super::parse(Kind::KernelLog, &format!("{row}\n"), &Default::default()).unwrap();
    let imported = super::super::merge(vec![("a".to_owned(), listing)], &Default::default());
    assert_eq!(values(&imported, "vmstat", "oom_kill").last(), Some(&1.0));
}

#[test]
fn a_hung_task_keeps_its_time_though_its_report_goes_on_like_a_list_of_tasks() {
    for line in [
        "task:java            state:D stack:    0 pid: 4711 ppid:     1 flags:0x00004000",
        "java            D ffff88011fd93100     0  4711      1 0x00000000",
    ] {
        let text = format!(
            "[  242.1] INFO: task java:4711 blocked for more than 120 seconds.\n[  242.1]       Not tainted 5.15.0 #1\n\
             [  242.1] \"echo 0 > /proc/sys/kernel/hung_task_timeout_secs\" disables this message.\n[  242.1] {line}\n\
             [  242.1] Call Trace:\n[  242.1]  shrink_node+0x1/0x2\n[  242.1]  do_try_to_free_pages+0x1/0x2\n"
        )
        .replace("242.1", "242.100000");
        let listing = super::super::parse(Kind::KernelLog, &text, &Default::default()).unwrap();
        let [(from, to, row)] = listing.stalls.as_slice() else { panic!("{:?}", listing.stalls) };
        assert_eq!((to - from, row.pid, row.outcome.as_str()), (120 * SECOND, 4711, ""), "{line}");
    }
}

#[test]
fn stacks_that_somebody_had_printed_name_what_a_task_is_in() {
    let asked = "[  215.645240] s2disk          D ffff88011fd93100     0  3323   3261 0x00000000\n\
                 [  215.645240] Call Trace:\n\
                 [  215.645240]  [<ffffffff8162fdce>] ? schedule_timeout+0xde/0xff\n\
                 [  215.645240]  [<ffffffff810cb035>] ? balance_dirty_pages_ratelimited+0x588/0x747\n";
    let own = "> [<0>] balance_dirty_pages+0x724/0x905\n> [<0>] fault_dirty_shared_page.isra.96+0x4a/0x90\n> [<0>] 0xffffffffffffffff\n";
    let cut = "[  921.785092] [      C2]  shrink_folio_list+0x7c4/0xc80\n[  921.785118] [      C2]  do_try_to_free_pages+0xdf/0x600\n";
    for (text, rule) in [(asked, "dirty-throttling"), (own, "dirty-throttling"), (cut, "direct-reclaim-stalls")] {
        assert_eq!(kinds_in(text), [Kind::KernelLog], "{text}");
        let listing = super::super::parse(Kind::KernelLog, text, &Default::default()).unwrap();
        let imported = super::super::merge(vec![("a".to_owned(), listing)], &Default::default());
        let Ok(observed) = Observed::of(&imported);
        let diagnosis = finding::diagnose(&observed, "a test");
        let found = diagnosis.findings.iter().find(|finding| finding.id == rule);
        assert!(found.is_some_and(|found| found.summary.contains("when its stack was printed")), "{rule}: {found:?}");
    }
    // A warning, a failed allocation and an oops have traces, too.
    for head in [
        "WARNING: CPU: 1 PID: 7 at mm/vmscan.c:12",
        "java: page allocation failure: order:4, mode:0x1",
        "Oops: 0000 [#1] SMP",
    ] {
        let text = format!("[  920.000001] {head}\n[  920.000002] Call Trace:\n{cut}");
        let listing = super::super::parse(Kind::KernelLog, &text, &Default::default()).unwrap();
        assert!(listing.stalls.is_empty(), "{head}");
    }
}

#[test]
fn a_kill_on_the_host_is_counted_once_with_what_memory_was_used_for() {
    let imported = read(HOST);
    let kills = timed(&imported, "vmstat", "oom_kill", "");
    assert_eq!((kills.first().map(|one| one.1), kills.last().map(|one| one.1)), (Some(0.0), Some(1.0)));
    assert!(
        marks(&imported).iter().any(|mark| mark.contains("for want of memory: node (78)")),
        "{:?}",
        marks(&imported)
    );
    let kib = |name: &str| values(&imported, "meminfo", name).first().map(|bytes| bytes / 1024.0);
    assert_eq!((kib("MemFree"), kib("MemTotal"), kib("SwapFree")), (Some(36_000.0), Some(2_000_000.0), Some(12.0)));
    assert_eq!((kib("Slab"), kib("Shmem"), kib("SwapCached")), (Some(54_348.0), Some(20.0), Some(2_000.0)));
    assert_eq!(values(&imported, SOURCE, "page_cache"), [1000.0 * 4096.0]);
    assert_eq!(timed(&imported, "zoneinfo", "min", "node=0,zone=Normal").len(), 1);
    assert_eq!(timed(&imported, "buddyinfo", "free_blocks", "node=0,zone=Normal,order=5")[0].1, 1.0);
    assert_eq!(found(&imported), ["oom-risk"]);
}

#[test]
fn a_kill_at_the_limit_of_a_group_is_none_of_the_host() {
    let imported = read(GROUP);
    assert!(values(&imported, "vmstat", "oom_kill").is_empty());
    let kills = timed(&imported, "cgroup_events", "oom_kill", "cgroup=/batch/job-17");
    assert_eq!(kills.last().map(|one| one.1), Some(1.0));
    assert_eq!(found(&imported), ["memcg-limit-thrash"]);
    let old = "[10.000000] Task in /lxc/a killed as a result of limit of /lxc/b\n\
               [10.000001] Memory cgroup out of memory: Kill process 5 (x) score 9 or sacrifice child\n[10.000002] Killed process 5 (x) total-vm:1kB\n";
    let text = format!("[9.900000] x invoked oom-killer: gfp_mask=0xd0, order=0\n{old}");
    assert_eq!(timed(&read(&text), "cgroup_events", "oom_kill", "cgroup=/lxc/b").last().map(|one| one.1), Some(1.0));
}

#[test]
fn kills_of_every_kernel_are_counted_and_those_by_hand_are_not() {
    for (text, number) in [
        ("Out of Memory: Killed process 77 (java).\n", 1.0),
        ("VM: killing process xinetd\nVM: killing process sadc\n", 2.0),
        ("Out of memory: kill process 7 (sshd) score 3 or a child\nKilled process 8 (bash)\n", 1.0),
        (
            "[5.000000] Out of memory: Killed process 7 (java) total-vm:1kB\n[9.000000] Out of memory: Killed process 9 (java) total-vm:1kB\n",
            2.0,
        ),
        (
            "[5.000000] java invoked oom-killer: gfp_mask=0x1, order=0\n[5.000001] Killed process 7, UID 48, (httpd) total-vm:1kB\n",
            1.0,
        ),
        ("[5.000000] java invoked oom-killer: gfp_mask=0x1, order=0\n[5.000001] CPU: 1\n", 1.0),
    ] {
        assert_eq!(killed_on_host(text), Some(number), "{text}");
    }
    let by_hand = "[5.000000] bash invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=-1\n[5.000001] Out of memory: Killed process 7 (java) total-vm:1kB\n";
    assert_eq!(killed_on_host(by_hand), None);
    assert_eq!(
        killed_on_host("[5.000000] oom_reaper: reaped process 7 (java), now anon-rss:0kB\n[6.000000] usb 1-1: x\n"),
        None
    );
}

#[test]
fn allocations_that_failed_are_told_by_size_and_by_whether_they_could_wait() {
    let order = |text: &str| failed(text).map(|failure| (failure.order, failure.may_wait, failure.is_for_old_devices));
    assert_eq!(order("sh: page allocation failure: order:4, mode:0x2040d0"), Some((4, true, false)));
    assert_eq!(
        order("modprobe: page allocation failure: order:7, mode:0x2080020(GFP_ATOMIC)"),
        Some((7, false, false))
    );
    assert_eq!(order("swapper: page allocation failure. order:0, mode:0x20"), Some((0, false, false)));
    let in_xfs = |text: &str| order(&format!("XFS{text} (mode:0x250)"));
    assert_eq!(
        in_xfs(": java(7) possible memory allocation deadlock size 65552 in kmem_alloc"),
        Some((5, true, false))
    );
    assert_eq!(in_xfs(" (sda1): possible memory allocation deadlock in kmem_alloc"), Some((4, true, false)));
    assert_eq!(in_xfs(": possible memory allocation deadlock in kmem_zone_alloc"), None);
    assert_eq!(in_xfs(": java(7) possible memory allocation deadlock size many in kmem_alloc"), None);
    assert_eq!(
        order("x: page allocation failure: order:0, mode:0x6000c0(GFP_KERNEL), nodemask=(null)"),
        Some((0, true, false))
    );
    assert_eq!(
        order("x: page allocation failure: order:2, mode:0xcc1(GFP_KERNEL|GFP_DMA), nodemask=(null)"),
        Some((2, true, true))
    );
    assert_eq!(order("__alloc_pages: 0-order allocation failed (gfp=0x1d2/0) from c012b9b2"), Some((0, true, false)));
    assert_eq!(order("__alloc_pages: 3-order allocation failed (gfp=0x20/0)"), Some((3, false, false)));
    assert_eq!(order("page allocation failure"), None);
    assert_eq!(
        order(
            "x: vmalloc error: size 14680064, page order 9, failed to allocate pages, mode:0xcc2(GFP_KERNEL|__GFP_HIGHMEM), nodemask=(null)"
        ),
        Some((9, true, false))
    );
    assert_eq!(
        found(&read("kernel: [85531.010995] sh: page allocation failure: order:4, mode:0x2040d0\n")),
        ["fragmentation"]
    );
    assert_eq!(found(&read("[5.010995] sh: page allocation failure: order:1, mode:0x20\n")), Vec::<String>::new());
    assert_eq!(found(&read("[5.010995] sh: page allocation failure: order:0, mode:0x20\n")), ["direct-reclaim-stalls"]);
}

#[test]
fn tasks_that_hang_in_memory_management_are_stalls_and_others_are_nothing() {
    let hung = |function: &str| {
        format!(
            "[500.000000] INFO: task java:77 blocked for more than 120 seconds.\n[500.000001]       Not tainted 5.4.0-88 #1\n\
             [500.000002] \"echo 0 > /proc/sys/kernel/hung_task_timeout_secs\" disables this message.\n[500.000003] java D 0 77 1 0x0\n\
             [500.000004] Call Trace:\n[500.000005]  __schedule+0x2e3/0x740\n[500.000006]  ? try_to_free_pages+0x1/0x2\n[500.000007]  {function}+0x42/0xb0\n\
             [500.000008]  ret_from_fork+0x35/0x40\n[620.000000] INFO: task java:77 blocked for more than 241 seconds.\n\
             [620.000005]  __schedule+0x2e3/0x740\n[620.000006]  {function}+0x42/0xb0\n"
        )
    };
    let imported = read(&hung("shrink_inactive_list"));
    let Ok(stalls) = imported.stalls();
    let lengths: Vec<(StallKind, u64)> =
        stalls.unwrap().iter().map(|row| (row.kind, row.durations.total() / 1_000_000_000)).collect();
    assert_eq!(lengths, [(StallKind::DirectReclaim, 120), (StallKind::DirectReclaim, 120)], "one hang is told twice");
    assert_eq!(found(&imported), ["direct-reclaim-stalls"]);
    for (function, finding) in [
        ("balance_dirty_pages", "dirty-throttling"),
        ("compact_zone", "compaction-stalls"),
        ("do_swap_page", "swap-thrash"),
        ("try_to_free_mem_cgroup_pages", "memcg-limit-thrash"),
    ] {
        assert_eq!(found(&read(&hung(function))), [finding], "{function}");
    }
    for function in
        ["jbd2_journal_commit_transaction", "rpc_wait_bit_killable", "__mutex_lock", "bch2_gc", "io_schedule"]
    {
        let imported = read(&hung(function));
        assert_eq!(imported.stalls(), Ok(None), "{function}");
        assert!(found(&imported).iter().all(|id| id == "measurement-caveat"), "{function}: {:?}", found(&imported));
    }
}

#[test]
fn a_log_of_a_host_that_is_well_says_nothing() {
    let text = "[    0.000000] Linux version 6.1.0-9-amd64 (x@y) #1 SMP\n[    0.100000] Memory: 8000000K/8300000K available\n\
                [   12.000000] usb 1-1: new device\n[90000.000000] eth0: link up\n";
    let imported = read(text);
    assert_eq!(imported.about("kernel"), Some("6.1.0-9-amd64"));
    assert!(found(&imported).iter().all(|id| id == "measurement-caveat"), "{:?}", found(&imported));
    assert_eq!(kinds_in(text), [Kind::KernelLog]);
}

#[test]
fn a_trace_of_a_killing_is_one_though_its_beginning_was_cut() {
    let text = "[  505.037001]  oom_kill_process from out_of_memory+0x218/0x34c\n[  505.038190]  out_of_memory from __alloc_pages+0xa98/0x1044\n\
                [  505.051198] Mem-Info:\n[  505.052637] active_anon:239 inactive_anon:6756 isolated_anon:0\n";
    assert_eq!((killed_on_host(text), found(&read(text))), (Some(1.0), vec!["oom-risk".to_owned()]));
    assert!(!is_of_killing("somebody asked what oom_kill_process does"));
    // It waits for another that looks for somebody to kill.
    assert!(!is_of_killing(" out_of_memory+0x218/0x34c"));
}

#[test]
fn whom_a_daemon_killed_before_the_kernel_had_to_is_counted() {
    for line in [
        "Mar  1 10:00:00 h systemd-oomd[706]: Killed /user.slice/user-1000.slice/a.scope due to memory used (16422453248) / total (16626384896) \
         and swap used (7734276096) / total (8589930496) being more than 90.00%",
        "Killed /system.slice/b.service due to memory pressure for /system.slice being 62.15% > 50.00% for > 20s with reclaim activity",
        "earlyoom[9]: sending SIGTERM to process 23467 uid 1000 \"chrome\": badness 812, VmRSS 1234 MiB",
        "[  120.162200] lowmemorykiller: send sigkill to 2948 (rsyslogd), adj 0, size 209",
        "<6>[ 9216.442108] lowmemorykiller: Killing 'd.process.acore' (8712), adj 906,",
    ] {
        assert_eq!(kinds_in(line), [Kind::KernelLog], "{line}");
        let text = format!("{line}\n");
        let is_pressure = line.contains("pressure");
        assert_eq!(killed_on_host(&text), (!is_pressure).then_some(1.0), "{line}");
        assert_eq!(found(&read(&text)), [if is_pressure { "memcg-limit-thrash" } else { "oom-risk" }], "{line}");
    }
    let twice = "sending SIGTERM to process 7 uid 0 \"java\": badness 8\nsending SIGKILL to process 7 uid 0 \"java\": badness 8\n";
    assert_eq!(killed_on_host(twice), Some(1.0));
    for line in ["Killed /bin/sh", "sending SIGTERM to process 7", "sending SIGTERM to process group of java uid \"x\""]
    {
        assert_eq!(killed_by_daemon(line), None, "{line}");
    }
}

#[test]
fn a_slab_that_cannot_be_had_is_an_allocation_that_failed_but_for_that_of_a_group() {
    let slab = |name: &str, gfp: &str, order: u32| {
        format!(
            "[50435.448604] SLUB: Unable to allocate memory on node -1, gfp={gfp}\n\
             [50435.448618]   cache: {name}, object size: 274832, buffer size: 274880, default order: 7, min order: {order}\n\
             [50435.448621]   node 0: slabs: 29822, objs: 29822, free: 0\n"
        )
    };
    assert_eq!(found(&read(&slab("p_ed_pids", "0xa20(GFP_ATOMIC)", 7))), ["fragmentation", "slab-bloat"]);
    let small = slab("page->ptl", "0x900(GFP_NOWAIT|__GFP_ZERO)", 0).replace("objs: 29822", "objs: 98");
    assert_eq!(found(&read(&small)), ["direct-reclaim-stalls"]);
    let of_group = read(&slab("kmalloc-1024(1793:c8edef)", "0x20", 0));
    assert_eq!(values(&of_group, SOURCE, "failed_in_group").last(), Some(&1.0));
    assert_eq!(found(&of_group), ["memcg-limit-thrash", "slab-bloat"]);
    let broken = slab("kmalloc-1024(1793:c8edef)", "0x20", 0).replace("default order", "default o\nrder");
    assert_eq!(found(&read(&broken)), found(&of_group), "as a terminal broke it");
    let of_host = read(&slab("p_ed_pids", "0xa20(GFP_ATOMIC)", 7));
    let sizes = timed(&of_host, SOURCE, "slab_cache", "cache=p_ed_pids");
    assert_eq!(
        sizes.iter().map(|(_, bytes)| *bytes).collect::<Vec<_>>(),
        [(29_822_u64 * 274_880 / 1024 * 1024) as f64]
    );
}

#[test]
fn a_report_of_a_group_is_told_by_what_its_memory_is_made_of() {
    let cut = "                          workingset_refault_file 68014397\n                          pgdeactivate 388780914\n\
               Dec 23 21:21:28 kernel: Tasks state (memory values in pages):\n";
    assert_eq!(found(&read(cut)), ["memcg-limit-thrash"]);
    let of_host = "Dec 23 21:21:28 kernel: Tasks state (memory values in pages):\n";
    assert_eq!(found(&read(of_host)), ["oom-risk"]);
}

#[test]
fn a_line_that_a_mail_program_broke_is_read_whole() {
    let text = "[305146.987742] khugepaged: page allocation stalls for 224236ms,\norder:0,\nmode:0x4740ca(__GFP_IO), nodemask=(null)\n\
                [305146.989652] khugepaged cpuset=/ mems_allowed=0-1\n";
    let imported = read(text);
    let Ok(stalls) = imported.stalls();
    let lengths: Vec<u64> = stalls.unwrap().iter().map(|row| row.durations.total() / 1_000_000_000).collect();
    assert_eq!(lengths, [224]);
    assert_eq!(found(&imported), ["direct-reclaim-stalls"]);
    let failed = "[5.010995] sh: page allocation failure:\norder:4, mode:0x2040d0\n";
    assert_eq!(found(&read(failed)), ["fragmentation"]);
}

#[test]
fn prose_and_other_listings_are_no_log() {
    for line in [
        "it ran out of memory",
        "Mem: 1 2 3",
        "free 7 pages",
        "Node 0, zone   Normal",
        "java invoked something",
        "a: b",
    ] {
        assert!(!recognises(line), "{line}");
    }
}

#[test]
fn a_thread_of_the_kernel_that_was_stuck_on_a_cpu_had_all_of_it() {
    let text = "[  456.232228] watchdog: BUG: soft lockup - CPU#122 stuck for 22s! [kswapd0:1375]\n\
                [  456.278143] pc : pfn_valid+0x54/0xdc\n\
                [  480.232228] watchdog: BUG: soft lockup - CPU#12 stuck for 23s! [java:4711]\n";
    let imported = recording(&[(Kind::KernelLog, text)]);
    let of = |labels: &str| {
        timed(&imported, SOURCE, "thread_cpu_percent", labels).iter().map(|one| one.1).collect::<Vec<f64>>()
    };
    assert_eq!(of("thread=kswapd0"), [1.0]);
    assert!(imported.series().iter().all(|series| !series.labels.contains("java")), "a program");
}

#[test]
fn who_has_a_cpu_that_rcu_waits_for_is_told_by_every_form_of_its_report() {
    let dumped = "[118077.988410] INFO: rcu_sched detected stalls on CPUs/tasks:\n\
                  [118077.988417] 	(detected by 4, t=60002 jiffies, g=11845915, c=11845914, q=46475)\n\
                  [118077.988421] Task dump for CPU 1:\n\
                  [118077.988421] kswapd1         R  running task        0    86      2 0x00000008\n";
    let self_detected = "[  100.000000] rcu: INFO: rcu_sched self-detected stall on CPU\n\
                         [  100.100000] CPU: 1 PID: 86 Comm: kswapd1 Not tainted 5.10.0 #1\n";
    // Who waits for RCU, and programs.
    let others = "[  100.000000] rcu: INFO: rcu_sched self-detected stall on CPU\n\
                  [  100.100000] task:kswapd1         state:I stack:    0 pid:   86 ppid:     2 flags:0x00004000\n\
                  [  100.200000] CPU: 1 PID: 4711 Comm: java Not tainted 5.10.0 #1\n";
    let elsewhere = "[  100.100000] CPU: 1 PID: 86 Comm: kswapd1 Not tainted 5.10.0 #1\n";
    // By which a log is known.
    const KILLED: &str = "[  200.000000] java invoked oom-killer: gfp_mask=0x201da, order=0, oom_score_adj=0\n";
    for (text, expected) in [(dumped, &[1.0][..]), (self_detected, &[1.0]), (others, &[]), (elsewhere, &[])] {
        let imported = recording(&[(Kind::KernelLog, &format!("{text}{KILLED}"))]);
        let shares = timed(&imported, SOURCE, "thread_cpu_percent", "thread=kswapd1");
        assert_eq!(shares.iter().map(|one| one.1).collect::<Vec<f64>>(), expected, "{text}");
    }
}

#[test]
fn an_allocation_with_a_fallback_that_failed_is_no_want_of_large_blocks() {
    let line = |order: u32, flags: &str| {
        format!(
            "[ 9556.710241] clinfo: page allocation failure: order:{order}, mode:0x194dc2({flags}), nodemask=(null)\n"
        )
    };
    let failed = |text: &str, name: &str| {
        let imported = recording(&[(Kind::KernelLog, text)]);
        imported.series().iter().any(|series| series.name == name)
    };
    assert!(!failed(&line(9, "GFP_HIGHUSER|__GFP_NORETRY|__GFP_ZERO"), "failed_large"));
    assert!(failed(&line(9, "GFP_HIGHUSER|__GFP_ZERO"), "failed_large"));
    assert!(failed(&line(0, "GFP_KERNEL|__GFP_NORETRY"), "failed_small"), "of single pages none is left then");
}

/// The report of a killing on a host with high memory: plenty is free there, and what the kernel itself can use is gone.
#[test]
fn who_was_killed_for_want_of_low_memory_was_not_at_the_limit_of_a_group() {
    let text = "bash invoked oom-killer: gfp_mask=0x84d0, order=0, oomkilladj=0\nMem-info:\nActive:1938 inactive:1234 dirty:0 writeback:0 unstable:0\n \
                free:986779 slab:2584 mapped:851 pagetables:120 bounce:0\n\
                Normal free:3604kB min:3720kB low:4648kB high:5580kB active:0kB inactive:0kB present:880880kB pages_scanned:0 all_unreclaimable? no\n\
                HighMem free:3940016kB min:512kB low:4976kB high:9440kB active:7808kB inactive:4936kB present:4228224kB pages_scanned:0 all_unreclaimable? no\n\
                1310720 pages of RAM\n140255 reserved pages\nOut of memory: kill process 3837 (slpd) score 9 or a child\nKilled process 3837 (slpd)\n";
    assert_eq!(found(&read(text)), ["oom-risk"]);
}

/// Where the end of a report was cut off its zones say how much memory there is, and the line of its node what is on the lists.
#[test]
fn a_report_that_was_cut_says_how_much_memory_there_is_and_what_has_no_account() {
    let text = "[155609.938747] slab_reclaimable:694 slab_unreclaimable:579\n[155609.938747] mapped:307 shmem:332 pagetables:126\n\
                [155609.938747] free:1578 free_pcp:57 free_cma:0\n\
                [155609.938747] Node 0 active_anon:2356kB inactive_anon:2140kB active_file:784kB inactive_file:680kB unevictable:0kB shmem:1328kB all_unreclaimable? no\n\
                [155610.003602] Normal free:6832kB boost:0kB min:4096kB low:5120kB high:6144kB active_anon:1072kB present:131072kB managed:119260kB mlocked:0kB\n";
    let imported = read(text);
    let kib = |name: &str| values(&imported, "meminfo", name)[0] / 1024.0;
    assert_eq!((kib("MemTotal"), kib("Active"), kib("Inactive")), (119_260.0, 3140.0, 2820.0));
    assert!(found(&imported).contains(&"kernel-memory-leak".to_owned()), "{:?}", found(&imported));
    // Without a zone nothing says how much there is.
    let cut = read(text.split("[155610.003602]").next().unwrap());
    assert!(found(&cut).is_empty());
}

#[test]
fn a_block_that_a_process_is_killed_for_tells_fragmentation_where_the_kernels_own_zone_has_room() {
    let log = |order: u32, normal: u64, what: &str| {
        format!(
            "[  100.000000] java invoked oom-killer: gfp_mask=0xd0, order={order}, oom_score_adj=0\n\
             [  100.000001] Mem-Info:\n\
             [  100.000002] Normal free:{normal}kB min:44112kB low:55140kB high:66168kB present:887976kB managed:866000kB\n\
             [  100.000003] HighMem free:47420820kB min:512kB low:789888kB high:1579264kB present:63555300kB managed:63555300kB\n\
             [  100.000004] {what}: Killed process 7 (java) total-vm:1kB, anon-rss:1kB, file-rss:1kB\n"
        )
    };
    let finds = |text: &str| found(&read(text)).contains(&"fragmentation".to_owned());
    const HOST: &str = "Out of memory";
    assert!(finds(&log(2, 2_000_000, HOST)));
    assert!(!finds(&log(0, 2_000_000, HOST)), "a page lies in no piece");
    assert!(!finds(&log(2, 43_788, HOST)), "what is free in high memory is not for the kernel's own data");
    assert!(!finds(&log(2, 2_000_000, "Memory cgroup out of memory")), "its group's limit was met");
}

#[test]
fn a_thread_that_waits_for_a_cpu_works_at_nothing() {
    let log = |innermost: &str| {
        format!(
            "[  100.000000] watchdog: BUG: soft lockup - CPU#65 stuck for 22s! [kcompactd4:925]\n\
             [  100.000001] Modules linked in: xfs ext4\n\
             [  100.000002] Call trace:\n\
             [  100.000003]  {innermost}+0x34c/0x3a0\n\
             [  100.000004]  compact_zone+0x6f8/0xda0\n\
             [  100.000005]  kcompactd+0xcc/0x368\n\
             [  130.000000] watchdog: BUG: soft lockup - CPU#65 stuck for 52s! [kcompactd4:925]\n"
        )
    };
    let used = |innermost: &str| timed(&read(&log(innermost)), SOURCE, "thread_cpu_percent", "thread=kcompactd4").len();
    assert_eq!((used("isolate_migratepages_block"), used("smp_call_function_many_cond")), (2, 0));
}

#[test]
fn tasks_that_wait_in_compaction_are_no_storm_and_one_that_never_leaves_its_cpu_is() {
    let log = |head: &str| {
        format!(
            "[  300.000000] {head}\n[  300.000001] Call Trace:\n[  300.000002]  schedule+0x1/0x2\n[  300.000003]  migrate_pages+0x3ec/0x890\n\
             [  300.000004]  compact_zone+0x32d/0x9a0\n[  300.000005]  try_to_compact_pages+0x102/0x270\n\
             [  300.000006]  do_huge_pmd_anonymous_page+0xc0/0x287\n"
        )
    };
    for (head, id) in [
        ("INFO: task java:4711 blocked for more than 120 seconds.", "compaction-stalls"),
        ("watchdog: BUG: soft lockup - CPU#3 stuck for 22s! [java:4711]", "compaction-storm"),
    ] {
        let found = found(&read(&log(head)));
        let of_compaction: Vec<&String> = found.iter().filter(|id| id.starts_with("compaction")).collect();
        assert_eq!(of_compaction, [id], "{head}");
    }
}

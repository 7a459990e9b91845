//! The sysctls of memory management, under their own names.

use super::descriptor::Descriptor;
use super::grammar::Grammar::{self, Integer, Switch, ZeroOr};
use super::reserve;

macro_rules! vm {
    ($name:literal, $grammar:expr, $source:literal, $summary:literal) => {
        Descriptor::live(
            concat!("vm.", $name),
            &[concat!("/proc/sys/vm/", $name)],
            $grammar as Grammar,
            $source,
            $summary,
        )
    };
}

/// `int` in the kernel: nothing above it can be stored.
const ANY: Grammar = to(i32::MAX as u64);

/// `unsigned long` in the kernel.
const COUNT: Grammar = to(i64::MAX as u64);

const fn to(max: u64) -> Grammar {
    Integer { min: 0, max, step: 1 }
}

pub(super) const ALL: &[Descriptor] = &[
    vm!(
        "swappiness",
        to(200),
        "always, above 100 since 5.8; mm/vmscan.c",
        "how reclaim weighs anonymous memory against page cache; 100 is even, 0 swaps only when short"
    )
    .switched(0.0, 10.0, "the next reclaim goes by it; what was swapped out under the old value comes back by faults")
    .noting("with version 1 of control groups every memory group but the root has a swappiness of its own, taken over when it is made"),
    vm!("page-cluster", to(31), "always; mm/swap.c", "swap read-ahead as a power of two of pages; 0 reads one page")
    .switched(0.0, 5.0, "the next fault on a swapped page goes by it"),
    vm!(
        "min_free_kbytes",
        Integer { min: 1024, max: i32::MAX as u64, step: 1 },
        "always; mm/page_alloc.c min_free_kbytes_sysctl_handler",
        "KiB that are kept free; all watermarks of reclaim follow from it"
    )
    .switched(5.0, 10.0, "kswapd works until the new watermarks are met; what it freed stays free for a while")
    .at_most(0.05, "more can make the host run out of memory at once; the kernel itself never picks more than 5 %")
    .noting("switching THP on or off rewrites it"),
    vm!(
        "watermark_scale_factor",
        Integer { min: 1, max: 3000, step: 1 },
        "4.6, above 1000 since 5.18; mm/page_alloc.c",
        "distance between the watermarks in 1/10000 of memory; higher wakes kswapd earlier and lets it free more"
    )
    .switched(5.0, 10.0, "kswapd works until the new watermarks are met; what it freed stays free for a while"),
    vm!(
        "watermark_boost_factor",
        ANY,
        "5.0; mm/page_alloc.c",
        "how far watermarks rise after fragmentation, in 1/10000 of the high watermark; 0 switches it off"
    )
    .switched(0.0, 10.0, "the next fragmenting allocation goes by it; raised watermarks fall back as kswapd ends its round"),
    vm!(
        "compaction_proactiveness",
        to(100),
        "5.9; mm/compaction.c compaction_proactiveness_sysctl_handler",
        "how eagerly kcompactd compacts in the background; 0 switches it off"
    )
    .switched(0.0, 20.0, "anything but 0 starts a compaction of every node at once, which must have ended")
    .noting("writing anything but 0 starts a compaction of every node at once"),
    vm!(
        "compact_unevictable_allowed",
        to(1),
        "4.1; mm/compaction.c",
        "whether compaction may move mlocked pages, which can cost their owner a minor fault"
    )
    .switched(0.0, 5.0, "the next compaction goes by it"),
    vm!(
        "extfrag_threshold",
        to(1000),
        "2.6.35; mm/compaction.c",
        "fragmentation index above which the kernel compacts rather than reclaims for a large allocation"
    )
    .switched(0.0, 5.0, "the next large allocation that fails goes by it"),
    vm!(
        "defrag_mode",
        to(1),
        "6.15; mm/page_alloc.c",
        "whether the kernel defends free huge blocks against fragmentation by reclaiming and compacting early"
    )
    .switched(0.0, 15.0, "the next allocation goes by it; blocks that it kept whole stay whole for a while"),
    vm!(
        "dirty_expire_centisecs",
        ANY,
        "always; mm/page-writeback.c",
        "age in 1/100 s from which dirty data must be written"
    )
    .switched(5.0, 25.0, "the flushers go by it at their next round, every 5 s unless told otherwise; data of the old age must be written first"),
    vm!(
        "dirty_writeback_centisecs",
        ANY,
        "always; mm/page-writeback.c",
        "1/100 s between two rounds of writing dirty data; 0 switches the rounds off"
    )
    .switched(5.0, 10.0, "the flushers go by it at their next round, every 5 s unless told otherwise"),
    vm!(
        "vfs_cache_pressure",
        ANY,
        "always; fs/dcache.c",
        "how readily directory entries and inodes are reclaimed; 100 is even with page cache"
    )
    .switched(0.0, 10.0, "the next reclaim goes by it; entries that were dropped come back by lookups")
    .noting("0 never reclaims them and can end in running out of memory"),
    vm!(
        "overcommit_memory",
        to(2),
        "always; mm/util.c",
        "whether memory may be promised that is not there: 0 within reason, 1 always, 2 never beyond the limit"
    )
    .switched(0.0, 1.0, "the next allocation is judged by it; what was granted stays")
    .noting("2 makes allocations of running programs fail once vm.overcommit_limit is reached"),
    vm!(
        "zone_reclaim_mode",
        to(7),
        "always; mm/vmscan.c",
        "whether a node reclaims its own memory before it uses another's: 1 on, 2 writes dirty pages, 4 swaps"
    )
    .switched(0.0, 10.0, "the next allocation goes by it; pages on other nodes stay there"),
    vm!(
        "min_unmapped_ratio",
        to(100),
        "2.6.16, NUMA only; mm/page_alloc.c",
        "percent of a node's pages that must be unmapped page cache before vm.zone_reclaim_mode acts"
    )
    .switched(0.0, 10.0, "the next reclaim of a node goes by it"),
    vm!(
        "min_slab_ratio",
        to(100),
        "2.6.18, NUMA only; mm/page_alloc.c",
        "percent of a node's pages that must be reclaimable slab before it is reclaimed locally"
    )
    .switched(0.0, 10.0, "the next reclaim of a node goes by it"),
    vm!(
        "nr_hugepages",
        Grammar::Form(&reserve::FORM),
        "always; mm/hugetlb.c hugetlb_sysctl_handler",
        "huge pages of the default size set aside for programs that ask for them by name"
    )
    .never_switched("takes memory from page cache and programs, and giving it back does not bring that back; how much is granted depends on fragmentation, so two blocks would not be alike")
    .at_most_or_all_but(0.8, 2 << 30, "memory set aside is lost to everything else, and the host needs the rest to live")
    .noting("the kernel may grant only a part when memory is fragmented; the value read back counts. all-but(4G) leaves 4 GiB of memory to everything else and becomes a number on the host: to see how a job does with less memory than the host has"),
    vm!(
        "nr_overcommit_hugepages",
        COUNT,
        "2.6.24; mm/hugetlb.c",
        "huge pages beyond vm.nr_hugepages that may be made on demand"
    )
    .switched_for_new(0.0, 1.0, "acts on huge pages asked for from now on; those that exist stay")
    .at_most(0.8, "memory taken by huge pages cannot be reclaimed, and the host needs the rest to live"),
    vm!("max_map_count", ANY, "always; mm/mmap.c", "mappings that one process may have")
    .switched(0.0, 1.0, "the next mapping is judged by it"),
    vm!(
        "percpu_pagelist_high_fraction",
        ZeroOr { min: 8 },
        "5.14; mm/page_alloc.c",
        "share of a zone that per-CPU free lists may hold, as 1/N; 0 lets the kernel choose"
    )
    .switched(0.0, 5.0, "lists that are longer than the new limit are cut as pages are freed"),
    vm!(
        "admin_reserve_kbytes",
        COUNT,
        "3.10; mm/mmap.c",
        "KiB kept for the administrator when overcommit is restricted"
    )
    .switched(0.0, 1.0, "the next allocation is judged by it")
    .at_most(0.05, "it is for a login and a few commands; more is taken from every job"),
    vm!(
        "user_reserve_kbytes",
        COUNT,
        "3.10; mm/mmap.c",
        "KiB kept free of one user's large process when overcommit is never allowed"
    )
    .switched(0.0, 1.0, "the next allocation is judged by it")
    .at_most(0.5, "a process could promise itself less than half of the memory"),
    vm!("stat_interval", ANY, "2.6.21; mm/vmstat.c", "seconds between two updates of the counters in /proc/vmstat")
    .never_switched("moves the very counters a live proof reads"),
    vm!(
        "oom_kill_allocating_task",
        Switch,
        "2.6.24; mm/oom_kill.c",
        "whether the OOM killer takes the process that asked instead of looking for the largest"
    )
    .switched(0.0, 1.0, "the next kill goes by it"),
];

//! What memory is used for, as `/proc/meminfo` has it, and free blocks.

use super::prelude::*;

catalogue! {
    /// All memory.
    MEM_TOTAL = Quantity::level("meminfo", &[Is("MemTotal")], KiB);
    /// Memory in no use.
    MEM_FREE = Quantity::level("meminfo", &[Is("MemFree")], KiB)
        .line(Panel::Memory, "free", "free", Bytes)
        .column("free", 4);
    /// Of that, in areas that are kept for large contiguous blocks (CMA).
    CMA_FREE = Quantity::level("meminfo", &[Is("CmaFree")], KiB).since("3.19 (fs/proc/meminfo.c)");
    /// Page cache and shared memory.
    CACHED = Quantity::level("meminfo", &[Is("Cached")], KiB);
    /// Cached blocks of devices.
    BUFFERS = Quantity::level("meminfo", &[Is("Buffers")], KiB);
    /// Page cache with shared memory and blocks of devices.
    PAGE_CACHE = Quantity::level("meminfo", &[Is("Cached"), Is("Buffers")], KiB)
        .printed(&[
            PrintedSum::sum(&[(IMPORT, "page_cache"), ("meminfo", "Buffers")]),
            PrintedSum::sum(&[(IMPORT, "page_cache")]),
        ])
        .line(Panel::Memory, "cache", "page cache", Bytes)
        .column("cach", 4);
    /// Anonymous memory.
    ANON_PAGES = Quantity::level("meminfo", &[Is("AnonPages")], KiB)
        .line(Panel::Memory, "anon", "anonymous", Bytes)
        .column("anon", 4);
    /// Anonymous memory on huge pages.
    ANON_HUGE = Quantity::level("meminfo", &[Is("AnonHugePages")], KiB)
        .since("2.6.38 (fs/proc/meminfo.c); Red Hat's 2.6.32")
        .line(Panel::Memory, "anon_huge", "of it huge", Bytes)
        .column("huge", 4);
    /// Memory that programs could still get without swapping.
    MEM_AVAILABLE = Quantity::level("meminfo", &[Is("MemAvailable")], KiB)
        .since("3.14 (fs/proc/meminfo.c)")
        .aside(Panel::Memory, "available", "available", Bytes)
        .column("avail", 5);
    /// Memory of the kernel's object caches.
    SLAB = Quantity::level("meminfo", &[Is("Slab")], KiB)
        .aside(Panel::Memory, "slab", "slab", Bytes)
        .column("slab", 4);
    /// Of the object caches, what reclaim can get back.
    SLAB_RECLAIMABLE = Quantity::level("meminfo", &[Is("SReclaimable")], KiB);
    /// Of the object caches, what reclaim cannot get back.
    SLAB_UNRECLAIMABLE = Quantity::level("meminfo", &[Is("SUnreclaim")], KiB);
    /// Memory of programs and files that was used lately.
    ACTIVE = Quantity::level("meminfo", &[Is("Active")], KiB);
    /// Memory of programs and files that was not.
    INACTIVE = Quantity::level("meminfo", &[Is("Inactive")], KiB);
    /// Memory that may not be reclaimed.
    UNEVICTABLE = Quantity::level("meminfo", &[Is("Unevictable")], KiB)
        .aside(Panel::Memory, "unevictable", "unevictable", Bytes);
    /// Memory that programs locked.
    MLOCKED = Quantity::level("meminfo", &[Is("Mlocked")], KiB);
    /// Free memory in blocks of at least 2 MiB, where pages have 4 KiB.
    LARGE_FREE = Quantity::level("buddyinfo", &[BlocksFrom("free_blocks", 9)], Pages)
        .aside(Panel::Memory, "large_free", "free in blocks of 2 MiB and more", Bytes)
        .column("big", 4);
    /// Swap in use.
    SWAP_USED = Quantity::level("meminfo", &[Is("SwapTotal")], KiB)
        .less(&[Is("SwapFree")])
        .printed(&[PrintedSum::sum(&[(IMPORT, "swap_used")])])
        .aside(Panel::Memory, "swap_used", "swap used", Bytes)
        .column("swap", 4);
    /// Size of all swap.
    SWAP_TOTAL = Quantity::level("meminfo", &[Is("SwapTotal")], KiB);
    /// Swap in no use.
    SWAP_FREE = Quantity::level("meminfo", &[Is("SwapFree")], KiB);
    /// What programs were promised.
    COMMITTED = Quantity::level("meminfo", &[Is("Committed_AS")], KiB);
    /// The most that may be promised where overcommit is refused.
    COMMIT_LIMIT = Quantity::level("meminfo", &[Is("CommitLimit")], KiB);
    /// Shared memory: tmpfs, System V and POSIX segments, shared anonymous mappings. Part of `Cached`.
    SHMEM = Quantity::level("meminfo", &[Is("Shmem")], KiB)
        .since("2.6.32 (fs/proc/meminfo.c)")
        .aside(Panel::Memory, "shmem", "shared", Bytes);
    /// Memory that is in swap, too. No part of `Cached`.
    SWAP_CACHED = Quantity::level("meminfo", &[Is("SwapCached")], KiB);
    /// Tables of translations of programs.
    PAGE_TABLES = Quantity::level("meminfo", &[Is("PageTables")], KiB);
    /// Tables of translations that no program's own are, such as those of guests.
    OTHER_PAGE_TABLES = Quantity::level("meminfo", &[Is("SecPageTables")], KiB)
        .since("6.1 (fs/proc/meminfo.c)");
    /// Stacks of tasks in the kernel.
    KERNEL_STACK = Quantity::level("meminfo", &[Is("KernelStack")], KiB)
        .since("2.6.32 (fs/proc/meminfo.c)");
    /// Memory the kernel maps page by page; 0 from 4.4 to 5.2, which did not count it.
    VMALLOC_USED = Quantity::level("meminfo", &[Is("VmallocUsed")], KiB);
    /// Memory the kernel keeps for each CPU.
    PERCPU = Quantity::level("meminfo", &[Is("Percpu")], KiB)
        .since("4.20 (fs/proc/meminfo.c)");
    /// Memory set aside as huge pages of any size.
    HUGETLB_MEMORY = Quantity::level("meminfo", &[Is("Hugetlb")], KiB)
        .since("4.15 (fs/proc/meminfo.c)");
    /// Compressed swap that is kept in memory.
    ZSWAP_POOL = Quantity::level("meminfo", &[Is("Zswap")], KiB)
        .since("5.19 (fs/proc/meminfo.c)");
    /// Memory that the hypervisor took back by a balloon.
    BALLOON = Quantity::level("meminfo", &[Is("Balloon")], KiB)
        .since("6.16 (fs/proc/meminfo.c)");
    /// Free blocks by zone and order.
    FREE_BLOCKS = Quantity::level("buddyinfo", &[Is("free_blocks")], Count).each();
    /// Memory of the object caches, as slabtop and `/proc/slabinfo` add it up.
    IMPORTED_SLAB = Quantity::level(IMPORT, &[Is("slab_total")], KiB);
    /// Memory of each of the largest object caches, as slabtop and `/proc/slabinfo` have it.
    SLAB_CACHES = Quantity::level(IMPORT, &[Is("slab_cache")], KiB).each();
    /// Of all object caches together, what objects take that are in use.
    IMPORTED_SLAB_ACTIVE = Quantity::level(IMPORT, &[Is("slab_active")], KiB);
    /// Of each of the largest object caches, room for objects that are not in use.
    SLAB_CACHES_UNUSED = Quantity::level(IMPORT, &[Is("slab_cache_unused")], KiB).each();
    /// Of places in the kernel's source outside its memory management, what they have got page by page, as `/proc/allocinfo` has it.
    KERNEL_PAGES = Quantity::level(IMPORT, &[Is("kernel_pages")], KiB).each();
    /// What all places in the kernel's source have got page by page, page cache and memory of programs too.
    KERNEL_PAGES_ALL = Quantity::level(IMPORT, &[Is("kernel_pages_all")], KiB);
    /// All memory, worked out from what another tool says is used, and which part that is.
    IMPORTED_MEM_TOTAL = Quantity::level(IMPORT, &[Is("memory_total")], KiB);
    /// The most that programs can have in memory, by a table of processes or by smem. What they share is counted for each.
    PROGRAMS_AT_MOST = Quantity::level(IMPORT, &[Is("programs_at_most")], KiB);
    /// Page cache, blocks of devices and, where the tool adds it, reclaimable slab.
    BUFFERS_AND_CACHE = Quantity::level("meminfo", &[Is("Cached"), Is("Buffers")], KiB)
        .printed(&[PrintedSum::sum(&[(IMPORT, "buffers_and_cache")])]);
    /// Swap in use, as another tool wrote it down.
    IMPORTED_SWAP_USED = Quantity::level(IMPORT, &[Is("swap_used")], KiB);
    /// What was promised, of memory and swap together, as another tool wrote it down; more than all of it where more was promised than there is.
    IMPORTED_COMMIT = Quantity::level(IMPORT, &[Is("commit_percent")], PercentHundredths);
}

//! What kernel functions belong together, whoever names them: the stacks of a profile, or a trace in the kernel's log.
//!
//! A family matches when *any* frame of a stack belongs to it: leaf functions differ by kernel version, compiler and
//! sampling event. With `cpu-clock` code that runs with interrupts off is charged to where they are allowed again, so
//! unlocking counts as waiting for a lock there.

/// A group of kernel functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Family {
    /// Waiting for a lock by spinning.
    LockSpin,
    /// Moving pages together to get a large block.
    Compaction,
    /// The thread that does so in the background.
    Kcompactd,
    /// Freeing pages.
    Reclaim,
    /// The thread that does so in the background.
    Kswapd,
    /// Freeing pages within a control group's limit, or being slowed down for it.
    CgroupReclaim,
    /// Zeroing a huge page.
    HugeZero,
    /// A page fault on a huge page.
    HugeFault,
    /// Copying or splitting a huge page that was written to.
    HugeCopy,
    /// Copying a small page that was written to.
    SmallCopy,
    /// The thread that makes huge pages of small ones.
    Khugepaged,
    /// Reading or writing swap.
    Swap,
    /// Waiting for page cache.
    CacheWait,
    /// A writer held back for dirty pages.
    DirtyBalance,
    /// Hint faults and moves of NUMA balancing, and reclaim of a node's own memory.
    Numa,
    /// Making other CPUs forget translations.
    Shootdown,
    /// Mapping memory and giving it back while the process goes on: what holds the map's lock.
    ChangeMap,
    /// Moving the data of files in and out, as programs ask for it.
    FileData,
    /// Waiting for a process's map of memory.
    MmapLock,
    /// Whatever a program asks for by a system call.
    SystemCall,
    /// Getting memory, mapping it, counting it for control groups, keeping its lists, and giving it back, at page faults and otherwise.
    Memory,
    /// Asking the kernel's caches (names of files, inodes and others) to give something back.
    SlabShrink,
    /// Taking small pages at page faults and giving them back.
    Churn,
    /// The same in a profile without callers: what CPUs are in by themselves meanwhile.
    FlatChurn,
    /// Of that, giving back.
    GiveBack,
    /// Giving memory back by `madvise`, and keeping its addresses.
    Dontneed,
    /// Starting a process, and taking down one that ends.
    Lifetime,
    /// Moving pages from place to place, whoever asks.
    Migration,
    /// Waiting, at a page fault, for a page that somebody else is moving.
    MigrationWait,
    /// Page faults on memory that is there already, or comes from a file.
    FileFault,
    /// Zeroing a page of whatever size.
    PageZero,
    /// Going through all control groups.
    CgroupWalk,
    /// Copying the page tables of a process that forks.
    ForkCopy,
    /// Entering and leaving page faults, whatever they are for.
    FaultEntry,
    /// Taking down the memory that a process had before it started another program.
    ExecTeardown,
    /// Keeping, for each page, the list of who has it mapped: trees and locks that all forks of a process and all that map a file share.
    ReverseMap,
    /// Having other CPUs run a function, whatever it is: translations, barriers of programs (`membarrier`), code that is patched.
    CrossCall,
    /// Looking areas up in a process's map of memory, or holding its lock for what is done there.
    MapUse,
    /// Making and removing control groups, and what the kernel keeps for each.
    CgroupUpkeep,
    /// Going through the page cache of a file for the pages that are to be written.
    DirtyWalk,
    /// Taking back the memory of a process that was killed for want of it.
    OomReap,
    /// Looking names of files up in the table that the kernel keeps of them.
    NameLookup,
}

impl Family {
    /// What the functions do, for people.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Family::LockSpin => "waiting for locks",
            Family::Compaction | Family::Kcompactd => "compaction",
            Family::Reclaim => "reclaim",
            Family::Kswapd => "kswapd",
            Family::CgroupReclaim => "a control group's limit",
            Family::HugeZero => "zeroing newly allocated huge pages",
            Family::HugeFault => "huge page faults",
            Family::HugeCopy => "copying or splitting huge pages",
            Family::SmallCopy => "copying pages at writes",
            Family::Khugepaged => "khugepaged",
            Family::Swap => "swap",
            Family::CacheWait => "waiting for page cache",
            Family::DirtyBalance => "holding writers back",
            Family::Numa => "NUMA balancing",
            Family::Shootdown => "shooting down translations",
            Family::ChangeMap => "changing the map of memory",
            Family::FileData => "reading and writing files",
            Family::MmapLock => "waiting for a process's map of memory",
            Family::SystemCall => "system calls",
            Family::Memory => "getting and giving back memory",
            Family::SlabShrink => "shrinking the kernel's caches",
            Family::NameLookup => "looking up names of files",
            Family::PageZero => "zeroing newly allocated memory",
            Family::CgroupWalk => "going through all control groups",
            Family::Churn | Family::FlatChurn => "taking and giving back small pages",
            Family::GiveBack => "giving back pages",
            Family::Dontneed => "giving back pages by madvise",
            Family::Lifetime => "starting and ending processes",
            Family::Migration => "moving pages",
            Family::MigrationWait => "waiting for pages that are being moved",
            Family::FileFault => "page faults on files",
            Family::ForkCopy => "copying page tables at forks",
            Family::FaultEntry => "entering page faults",
            Family::ExecTeardown => "taking down what a fork copied, at exec",
            Family::ReverseMap => "lists of who maps what",
            Family::CrossCall => "having other CPUs run a function",
            Family::MapUse => "using a process's map of memory",
            Family::CgroupUpkeep => "making and removing control groups",
            Family::DirtyWalk => "looking for dirty pages",
            Family::OomReap => "taking back the memory of killed processes",
        }
    }

    /// Its bit in a set of families.
    #[must_use]
    pub const fn bit(self) -> u64 {
        1 << (self as u8)
    }
}

/// Families and the names of their functions; `*` stands for any end. From 2.6.18 to 6.18. Leaf functions stand beside those that call
/// them, because a profile without callers has nothing else; a leaf that many things call (`rb_next`, `__list_del_entry`) is in none.
pub const FUNCTIONS: &[(Family, &[&str])] = &[
    (
        Family::LockSpin,
        &[
            "_spin_lock*",
            "__spin_lock*",
            "_raw_spin_lock*",
            "__raw_spin_lock*",
            "do_raw_spin_lock*",
            "native_queued_spin_lock_slowpath",
            "__pv_queued_spin_lock_slowpath",
            "queued_spin_lock_slowpath",
            "osq_lock",
            "folio_lruvec_lock*",
            "rwsem_spin_on_owner",
            "__ticket_spin_lock",
            "ticket_spin_lock*",
            ".text.lock.*",
        ],
    ),
    (
        Family::Compaction,
        &[
            "compact_zone*",
            "compact_node*",
            "compact_finished",
            "compact_checklock_*",
            "compact_lock_*",
            "compact_trylock_*",
            "compact_unlock_*",
            "compact_should_abort",
            "compaction_alloc",
            "compaction_free",
            "compaction_suitable",
            "compaction_zonelist_suitable",
            "try_to_compact_pages",
            "__compact_*",
            "__compaction_*",
            "__alloc_pages_direct_compact",
            "isolate_migratepages*",
            "isolate_migratepage*",
            "isolate_freepages*",
            "fast_isolate_*",
            "fast_find_migrateblock",
            "__reset_isolation_*",
            "migrate_pages*",
            "migrate_page_*",
            "migrate_folio*",
            "unmap_and_move*",
            "remove_migration_pte*",
            "buffer_migrate_*",
            "proactive_compact_node",
            "get_pfnblock_flags_mask",
            "set_pfnblock_flags_mask",
            "get_pageblock_flags_group",
            "pageblock_pfn_to_page",
            "__pageblock_pfn_to_page",
            "pageblock_skip_persistent",
            "split_map_pages",
            "suitable_migration_target",
            "update_pageblock_skip",
            "set_pageblock_skip",
            "update_cached_migrate",
            "fragmentation_index",
            "__fragmentation_index",
            "reset_isolation_suitable",
            "move_to_new_folio",
            "move_to_new_page",
            "__unmap_and_move",
            "__migrate_folio*",
            "folio_migrate_*",
            "__folio_migrate_*",
        ],
    ),
    (Family::Kcompactd, &["kcompactd*", "proactive_compact_node"]),
    (
        Family::Reclaim,
        &[
            "try_to_free_pages",
            "do_try_to_free_pages",
            "__alloc_pages_direct_reclaim",
            "__perform_reclaim",
            "shrink_node*",
            "shrink_lruvec",
            "shrink_many",
            "shrink_one",
            "shrink_zone*",
            "shrink_list",
            "shrink_folio_list",
            "shrink_page_list",
            "shrink_inactive_list",
            "shrink_active_list",
            "shrink_cache",
            "shrink_caches",
            ".text.lock.vmscan",
            "refill_inactive*",
            "evict_folios",
            "isolate_folios",
            "scan_folios",
            "isolate_lru_pages*",
            "isolate_lru_folios",
            "isolate_pages_global",
            "putback_inactive_pages",
            "page_referenced*",
            "folio_referenced*",
            // Of the mappings of a page, to 4.11: whether it was used, and to take it out (mm/rmap.c).
            "page_check_address*",
            "__page_check_address",
            "try_to_unmap_one",
            "try_to_unmap_anon",
            "try_to_unmap_file",
            "page_check_references",
            "folio_check_references",
            "__remove_mapping",
            "remove_mapping",
            "get_scan_count",
            "zone_reclaimable_pages",
            "zone_nr_lru_pages",
            "lruvec_lru_size",
            "inactive_list_is_low",
            "inactive_is_low",
            "mem_cgroup_iter",
            "mem_cgroup_calculate_protection",
            "lru_gen_look_around",
            "lru_gen_shrink_*",
            // What ages generations walks page tables (6.1).
            "try_to_inc_max_seq",
            "inc_max_seq",
            "inc_min_seq",
            "try_to_inc_min_seq",
            "iterate_mm_list*",
            "walk_mm",
            "lru_gen_age_node",
            "lru_gen_rotate_memcg",
            "age_lruvec",
            "try_to_shrink_lruvec",
            "sort_folio",
            "isolate_folio",
            "folio_inc_gen",
            "folio_update_gen",
            "should_abort_scan",
            "move_folios_to_lru",
            "move_pages_to_lru",
            "move_active_pages_to_lru",
            "putback_lru_pages",
            "prepare_scan_*",
            "demote_folio_list",
            "demote_page_list",
            "throttle_direct_reclaim",
            "reclaim_throttle",
            "wait_iff_congested",
            "throttle_vm_writeout",
            "allow_direct_reclaim",
            "launder_page",
            "page_launder",
            "shrink_slab*",
            "do_shrink_slab",
        ],
    ),
    (Family::Kswapd, &["kswapd*", "balance_pgdat", "kscand", "kreclaimd"]),
    (
        // Not `try_charge*`: counting what a group uses is no limit, and what is reclaimed for one has a name of its own.
        Family::CgroupReclaim,
        &[
            "try_to_free_mem_cgroup_pages",
            "mem_cgroup_handle_over_high",
            "__mem_cgroup_handle_over_high",
            "mem_cgroup_reclaim",
            "mem_cgroup_hierarchical_reclaim",
            "mem_cgroup_soft_limit_reclaim",
            "mem_cgroup_shrink_node*",
            "reclaim_high*",
        ],
    ),
    (
        Family::HugeZero,
        &[
            "clear_huge_page",
            "folio_zero_user",
            "clear_contig_highpages",
            "clear_subpage",
            "process_huge_page",
            "clear_gigantic_page",
        ],
    ),
    (Family::HugeFault, &["do_huge_pmd_anonymous_page", "__do_huge_pmd_anonymous_page", "vma_alloc_anon_folio_pmd"]),
    (
        Family::HugeCopy,
        &["do_huge_pmd_wp_page*", "split_huge_p*", "__split_huge_p*", "copy_user_huge_page", "copy_user_large_folio"],
    ),
    (Family::SmallCopy, &["do_wp_page", "wp_page_copy", "do_cow_fault", "copy_user_highpage*"]),
    (Family::ExecTeardown, &["exec_mmap", "flush_old_exec", "begin_new_exec"]),
    // Not `dup_mm`, under which all of a fork's work on memory is: what is copied, whoever asks.
    (
        Family::ForkCopy,
        &[
            "copy_page_range",
            "copy_p4d_range",
            "copy_pud_range",
            "copy_pmd_range",
            "copy_pte_range",
            "copy_one_pte",
            "copy_present_pte*",
            "copy_present_page",
            "copy_nonpresent_pte",
            "copy_huge_pmd",
            "copy_hugetlb_page_range",
        ],
    ),
    (
        Family::Khugepaged,
        &[
            "khugepaged*",
            "hpage_collapse_*",
            "collapse_scan_*",
            "collapse_huge_page",
            "collapse_file",
            "__collapse_huge_page_*",
            "alloc_charge_hpage",
        ],
    ),
    (
        Family::Swap,
        &[
            "do_swap_page",
            "swap_read*",
            "swap_write*",
            "swap_in*",
            "swap_out*",
            "__swap_writepage",
            "zswap_*",
            "zs_*",
            "zram_*",
            "lzo1x_*",
            "swapin_readahead",
            "swapin_nr_pages",
            "swap_vma_readahead",
            "swap_cluster_readahead",
            "read_swap_cache_async",
            "__read_swap_cache_async",
            "lookup_swap_cache",
            "add_to_swap*",
            "__add_to_swap_cache",
            "get_swap_page*",
            "scan_swap_map*",
            "scan_swap_map_slots",
            "swap_info_get",
            "swap_entry_free",
            "swap_entry_put*",
            "swap_free*",
            "swap_duplicate",
            "__swap_duplicate",
            "swap_alloc_*",
            "cluster_alloc_*",
            "shmem_swapin*",
            "valid_swaphandles",
            "unuse_*",
            "end_swap_bio_*",
            "folio_alloc_swap",
            "swap_cache_*",
            "__swap_cache_*",
            "swapcache_*",
            "delete_from_swap_cache",
            "__delete_from_swap_cache",
            "free_swap_*",
            "try_to_free_swap",
            "put_swap_folio",
            "put_swap_page",
            "get_swap_pages",
            "_swap_info_get",
            "swap_entries_*",
            "swap_slot_*",
            "refill_swap_slots_cache",
            "drain_slots_cache_cpu",
            "swap_writeout",
            "zcomp_*",
        ],
    ),
    (
        Family::CacheWait,
        &["filemap_fault", "folio_wait_bit*", "page_cache_ra_*", "wait_on_page_bit*", "__do_page_cache_readahead"],
    ),
    (
        Family::DirtyBalance,
        &[
            "balance_dirty_pages*",
            "balance_dirty",
            "get_dirty_limits",
            "global_dirty_limits",
            "domain_dirty_limits",
            "bdi_dirty_limit*",
            "bdi_position_ratio",
            "wb_calc_thresh",
            "wb_position_ratio",
            "wb_update_bandwidth",
        ],
    ),
    (
        Family::Numa,
        &[
            "do_numa_page",
            "do_huge_pmd_numa_page",
            "do_pmd_numa_page",
            "migrate_misplaced_*",
            "numa_migrate_prep",
            "numa_migrate_check",
            "task_numa_*",
            "change_prot_numa",
            "should_numa_migrate_memory",
            "mpol_misplaced",
            "node_reclaim",
            "zone_reclaim",
            "__zone_reclaim",
            "__node_reclaim",
        ],
    ),
    (
        Family::Shootdown,
        &[
            "flush_tlb_*",
            "__flush_tlb_*",
            "native_flush_tlb_*",
            "native_flush_tlb",
            "arch_tlbbatch_flush",
            "try_to_unmap_flush*",
            "smp_invalidate_interrupt",
            // On arm64 all of it is in the instructions of these, one for all CPUs.
            "ptep_clear_flush*",
            "pmdp_huge_clear_flush",
            "ptep_set_access_flags",
            "__ptep_set_access_flags*",
            "hyperv_flush_tlb_*",
            "kvm_flush_tlb_*",
            "xen_flush_tlb_*",
            // POWER, s390, RISC-V.
            "radix__flush_tlb_*",
            "_tlbie_*",
            "__tlbie_*",
            "__tlb_flush_*",
            "sbi_remote_sfence_*",
        ],
    ),
    (
        Family::CrossCall,
        &["smp_call_function_many*", "native_smp_call_function_many*", "on_each_cpu_cond_mask", "on_each_cpu_mask"],
    ),
    (
        Family::FileData,
        &[
            "filemap_read",
            "generic_file_read_iter",
            "generic_file_aio_read",
            "generic_file_buffered_write",
            "generic_perform_write",
            "iomap_file_buffered_write",
            "btrfs_buffered_write",
            "filemap_splice_read",
            "iter_file_splice_write",
            "ext4_writepages",
            "xfs_vm_writepages",
            "wb_workfn",
            "wb_writeback",
            "bdi_writeback_*",
        ],
    ),
    (
        Family::ChangeMap,
        &[
            "do_mmap",
            "do_mmap_pgoff",
            "do_mprotect_pkey*",
            "mprotect_fixup",
            "sys_mprotect",
            "SyS_mprotect",
            "__do_sys_mremap*",
            "__do_sys_brk*",
            "sys_brk",
            "SyS_brk",
            "sys_mremap",
            "SyS_mremap",
            "__vm_munmap",
            "vm_munmap",
            "do_munmap",
            "do_vmi_munmap",
            "do_vmi_align_munmap",
            "__do_munmap",
            "madvise_dontneed*",
            "madvise_free*",
        ],
    ),
    (
        Family::MmapLock,
        &[
            "rwsem_down_*",
            "__rwsem_*",
            "rwsem_spin_on_owner",
            "rwsem_optimistic_spin",
            "rwsem_wake",
            "call_rwsem_*",
            // Of whatever is read and written: which lock it is their callers say.
            "down_read*",
            "__down_read*",
            "up_read",
            "__up_read",
            "down_write*",
            "__down_write*",
            "up_write",
            "__up_write",
            "mmap_read_lock*",
            "mmap_write_lock*",
            "lock_mm_and_find_vma",
        ],
    ),
    (
        Family::ReverseMap,
        &[
            "anon_vma_*",
            "__anon_vma_*",
            "unlink_anon_vmas",
            "page_lock_anon_vma*",
            "folio_lock_anon_vma*",
            "vma_interval_tree_*",
            "vma_prio_tree_*",
            "unlink_file_vma*",
            "i_mmap_lock_*",
            "i_mmap_unlock_*",
            "vma_link_file",
            "__vma_link_file",
        ],
    ),
    (
        Family::SystemCall,
        &[
            "do_syscall_64",
            "entry_SYSCALL_64*",
            "system_call_fastpath",
            "system_call",
            "__x64_sys_*",
            "__arm64_sys_*",
            "el0_svc*",
            "invoke_syscall",
            "sys_*",
            "SyS_*",
            "ksys_*",
            "vfs_*",
        ],
    ),
    (
        Family::Memory,
        &[
            "handle_mm_fault",
            "__handle_mm_fault",
            "handle_pte_fault",
            "do_user_addr_fault",
            "exc_page_fault",
            "asm_exc_page_fault",
            "page_fault",
            "async_page_fault",
            "do_page_fault",
            "__do_page_fault",
            // arm64, POWER, s390.
            "do_mem_abort",
            "do_translation_fault",
            "el0_da",
            "___do_page_fault",
            "do_dat_exception",
            "do_anonymous_page",
            "alloc_pages*",
            "alloc_anon_folio",
            "vma_alloc_folio*",
            "__alloc_pages*",
            "__alloc_frozen_pages*",
            "get_page_from_freelist",
            "rmqueue*",
            "buffered_rmqueue",
            "free_unref_*",
            "free_frozen_page*",
            "free_hot_cold_page*",
            "free_pages_*",
            "__free_one_page",
            "__free_pages*",
            "free_pcppages_bulk",
            "release_pages",
            "clear_page*",
            "do_mmap*",
            "mmap_region*",
            "unmap_vmas",
            "unmap_page_range",
            "zap_*",
            "tlb_flush_mmu*",
            "exit_mmap",
            "dup_mm*",
            "copy_page_range",
            "copy_pte_range",
            "do_brk_flags",
            "__vmalloc_*",
            "__vmalloc",
            "vmalloc*",
            "vfree*",
            "alloc_vmap_area",
            "free_vmap_area*",
            "free_unmap_vmap_area*",
            "find_vmap_area",
            "find_unlink_vmap_area",
            "__get_vm_area_node",
            "remove_vm_area",
            "purge_vmap_*",
            "__purge_vmap_area_lazy",
            "munlock_vma_page*",
            "mlock_vma_pages_range",
            "populate_vma_page_range",
            "__mm_populate",
            "follow_page*",
            "page_counter_*",
            "try_charge*",
            "charge_memcg",
            "mem_cgroup_charge*",
            "__mem_cgroup_charge*",
            "mem_cgroup_try_charge*",
            "mem_cgroup_commit_charge",
            "__mem_cgroup_commit_charge",
            "mem_cgroup_uncharge*",
            "__mem_cgroup_uncharge*",
            "uncharge_batch",
            "uncharge_folio",
            "uncharge_page",
            "refill_stock",
            "drain_stock",
            "pagevec_lru_move_fn",
            "pagevec_move_tail*",
            "__pagevec_lru_add*",
            "folio_batch_move_lru",
            "lru_add_drain*",
            "____pagevec_lru_add*",
            "__lru_cache_add*",
            "lru_cache_add*",
            "folio_add_lru*",
            "isolate_lru_page",
            "folio_isolate_lru",
            "putback_lru_page",
            "folio_putback_lru",
            "mem_cgroup_add_lru*",
            "mem_cgroup_del_lru*",
            "mem_cgroup_move_*",
            "is_target_pte_for_mc",
            "get_mctgt_type*",
            "lookup_page_cgroup*",
            "memcg_check_events",
            "zone_nr_free_pages",
            "zone_watermark_ok*",
            "__zone_watermark_ok",
            "activate_page",
            "__activate_page",
            "folio_activate",
        ],
    ),
    (Family::NameLookup, &["d_lookup", "__d_lookup", "__d_lookup_rcu*", "d_hash_and_lookup", "proc_sys_compare"]),
    (
        Family::SlabShrink,
        &[
            "shrink_slab*",
            "do_shrink_slab",
            "prune_dcache*",
            "__shrink_dcache_sb",
            "shrink_dcache_*",
            "shrink_dentry_list",
            "prune_icache*",
            "shrink_icache_*",
            "dispose_list",
            "prune_super",
            "super_cache_*",
            "list_lru_count_*",
            "__list_lru_count_*",
            "inode_lru_isolate",
            "dentry_lru_isolate",
            "xfs_reclaim_inodes*",
            "xfs_reclaim_inode*",
            "xfs_inode_ag_*",
            "xfs_icwalk*",
            "xfs_buftarg_*",
            "ext4_es_scan*",
            "ext4_es_shrink*",
            "__es_shrink",
            "mb_cache_shrink*",
            "nfs_access_cache_*",
            "i915_gem_shrink*",
            "i915_gem_shrinker_*",
            "arc_shrinker_*",
            "zpl_prune_sb",
            "arc_prune_*",
            "arc_reclaim*",
            "arc_reap*",
            "arc_kmem_reap*",
            "arc_evict*",
            "spl_kmem_cache_reap*",
            "__spl_kmem_cache_generic_shrinker",
            "btrfs_free_extent_maps",
            "btrfs_extent_map_shrinker*",
            "btrfs_scan_root",
            "btrfs_scan_inode",
            "mmu_shrink_*",
            "dcache_lru_*",
            "ceph_trim_*",
        ],
    ),
    // The whole of a fault: with `cpu-clock` much of it is charged to its entry. What it is on is told by what it is not.
    (
        Family::Churn,
        &[
            "asm_exc_page_fault",
            "exc_page_fault",
            "page_fault",
            "do_page_fault",
            "__do_page_fault",
            // arm64, POWER, s390.
            "do_mem_abort",
            "do_translation_fault",
            "el0_da",
            "___do_page_fault",
            "do_dat_exception",
            "do_user_addr_fault",
            "handle_mm_fault",
            "__handle_mm_fault",
            "do_anonymous_page",
            "alloc_anon_folio",
            "clear_page*",
            "clear_user_highpage",
            "unmap_vmas",
            "unmap_page_range",
            "zap_*",
            "tlb_finish_mmu",
            "tlb_flush_mmu",
            "madvise_dontneed*",
        ],
    ),
    (
        Family::FlatChurn,
        &[
            "__alloc_pages*",
            "alloc_pages_*",
            "__mem_cgroup_commit_charge",
            "__mem_cgroup_uncharge_common",
            "unmap_vmas",
            "clear_page*",
            "do_anonymous_page",
            "__handle_mm_fault",
            "handle_mm_fault",
            "do_user_addr_fault",
            "asm_exc_page_fault",
            "exc_page_fault",
            "page_fault",
            "__do_page_fault",
            "native_irq_return_iret",
            "get_page_from_freelist",
            "rmqueue*",
            "__rmqueue*",
            "__mod_memcg_lruvec_state",
            "unmap_page_range",
            "zap_*",
            "release_pages",
            "folios_put_refs",
            "free_unref_*",
            "free_frozen_page*",
            "free_pcppages_bulk",
            "free_hot_cold_page*",
            "free_pages_and_swap_cache",
            "folio_remove_rmap_*",
            "page_remove_rmap",
            // What waits for the lock of a zone.
            ".text.lock.page_alloc",
        ],
    ),
    (
        Family::FaultEntry,
        &[
            "asm_exc_page_fault",
            "exc_page_fault",
            "page_fault",
            "do_page_fault",
            "__do_page_fault",
            // arm64, POWER, s390.
            "do_mem_abort",
            "do_translation_fault",
            "el0_da",
            "___do_page_fault",
            "do_dat_exception",
            "do_user_addr_fault",
            "native_irq_return_iret",
        ],
    ),
    (
        Family::GiveBack,
        &[
            "unmap_vmas",
            "unmap_page_range",
            "zap_*",
            "tlb_finish_mmu",
            "tlb_flush_mmu",
            "madvise_dontneed*",
            "release_pages",
            "folios_put_refs",
            "free_pages_and_swap_cache",
        ],
    ),
    (Family::Dontneed, &["madvise_dontneed*", "madvise_vma_behavior", "do_madvise*", "sys_madvise", "SyS_madvise"]),
    (
        Family::Lifetime,
        &[
            "exit_mmap",
            "mmput",
            "__mmput",
            "do_exit",
            "do_group_exit",
            "exec_mmap",
            "flush_old_exec",
            "begin_new_exec",
            "load_elf_binary",
            "bprm_execve",
            "do_execve*",
            "copy_process*",
            "kernel_clone",
            "_do_fork",
            "do_fork",
        ],
    ),
    (
        Family::FileFault,
        &[
            "do_fault",
            "do_read_fault*",
            "do_shared_fault",
            "do_cow_fault",
            "__do_fault",
            "filemap_map_pages",
            "filemap_fault",
            "shmem_fault",
            "hugetlb_fault",
            "do_wp_page",
        ],
    ),
    (Family::Migration, &["migrate_pages*", "try_to_migrate*", "migrate_folio*", "unmap_and_move*"]),
    (Family::MigrationWait, &["migration_entry_wait*", "__migration_entry_wait*", "pmd_migration_entry_wait"]),
    (Family::PageZero, &["clear_page*", "clear_user_highpage", "clear_user_pages*"]),
    (
        Family::CgroupWalk,
        &[
            "mem_cgroup_iter",
            "mem_cgroup_css_*",
            "css_next_*",
            "css_rstat_*",
            "cgroup_rstat_*",
            "__cgroup_rstat_*",
            "mem_cgroup_flush_stats*",
            "__mem_cgroup_flush_stats*",
            "do_flush_stats",
            "memcg_stat_show",
            "memcg_sum_events",
            "memcg_numa_stat_show",
            "memory_stat_*",
            "mem_cgroup_nr_lru_pages",
            "mem_cgroup_node_nr_lru_pages",
            "mem_cgroup_get_*",
            "memcg_rstat_*",
        ],
    ),
    (
        Family::CgroupUpkeep,
        &[
            "wb_get_create*",
            "cgwb_*",
            "css_release*",
            "css_free_*",
            "css_killed_*",
            "cgroup_mkdir",
            "cgroup_rmdir",
            "cgroup_destroy_*",
            "cgroup_apply_control*",
            "memcg_create_kmem_cache",
            "memcg_deactivate_kmem_caches",
            "kmemcg_*",
            "memcg_offline_kmem",
            "memcg_reparent_*",
        ],
    ),
    (Family::OomReap, &["oom_reap*", "__oom_reap*", "oom_kill_process", "out_of_memory", "mem_cgroup_out_of_memory"]),
    // Not what writes them once they are found.
    (
        Family::DirtyWalk,
        &[
            "find_get_pages_tag",
            "find_get_pages_range_tag",
            "find_get_entries_tag",
            "filemap_get_folios_tag",
            "pagevec_lookup_tag",
            "pagevec_lookup_range_tag",
            "pagevec_lookup_range_nr_tag",
            "tag_pages_for_writeback",
            "__lookup_tag",
        ],
    ),
    // Those that take the map's lock (`mmap_sem` to 5.7, `mmap_lock` since), and those that look an area up under it.
    (
        Family::MapUse,
        &[
            "find_vma*",
            "vmacache_*",
            "find_extend_vma*",
            "lock_mm_and_find_vma",
            "page_fault",
            "exc_page_fault",
            "do_page_fault",
            "__do_page_fault",
            "___do_page_fault",
            "do_user_addr_fault",
            "do_exception",
            "do_mem_abort",
            "get_user_pages*",
            "__get_user_pages*",
            "get_futex_key*",
            "access_remote_vm",
            "__access_remote_vm",
            "process_vm_rw*",
            "proc_pid_cmdline_read",
            "get_mm_cmdline",
            "proc_pid_cmdline",
            "get_cmdline",
            "environ_read",
            "m_start",
            "show_smap*",
            "pagemap_read",
            "clear_refs_write",
            "do_mincore",
            "sys_mincore",
            "SyS_mincore",
            "task_numa_work",
            "do_mmap*",
            "vm_mmap_pgoff",
            "sys_mmap*",
            "SyS_mmap*",
            "do_munmap",
            "__vm_munmap",
            "vm_munmap",
            "__do_munmap",
            "sys_munmap",
            "SyS_munmap",
            "do_mprotect_pkey*",
            "sys_mprotect",
            "SyS_mprotect",
            "__do_sys_brk*",
            "sys_brk",
            "SyS_brk",
            "sys_mremap",
            "SyS_mremap",
            "__do_sys_mremap*",
            "do_madvise*",
            "sys_madvise",
            "SyS_madvise",
            "do_mlock",
            "sys_mlock*",
            "dup_mm*",
            "exit_mm",
            "exit_mmap",
            "acct_collect",
            "userfaultfd_*",
        ],
    ),
];

/// What a CPU is in that has nothing to do: no part of what is busy. Of 2.6.18 to 6.18.
const IDLE: &[&str] = &[
    "native_safe_halt",
    "pv_native_safe_halt",
    "safe_halt",
    "default_idle*",
    "mwait_idle*",
    "intel_idle*",
    "acpi_idle_*",
    "acpi_processor_ffh_cstate_enter",
    "acpi_safe_halt",
    "cpuidle_*",
    "poll_idle*",
    "cpu_idle*",
    "do_idle",
    "native_halt",
    "xen_hypercall_sched_op",
    "arch_cpu_idle",
    "cpu_startup_entry",
    "amd_e400_idle",
];

/// Whose work the kernel's own threads do, whatever function they are in.
const THREADS: &[(&str, &[Family])] = &[
    ("kswapd", &[Family::Kswapd, Family::Reclaim]),
    ("kcompactd", &[Family::Kcompactd, Family::Compaction]),
    ("khugepaged", &[Family::Khugepaged]),
    ("pdflush", &[Family::FileData]),
    ("flush-", &[Family::FileData]),
    ("bdflush", &[Family::FileData]),
    ("oom_reaper", &[Family::OomReap]),
];

/// With `cpu-clock` the wait shows where interrupts are allowed again.
const UNLOCKING: [&str; 2] = ["_raw_spin_unlock_irq", "_raw_spin_unlock_irqrestore"];

/// Marks on a page that are taken away: they begin as the functions do that zero one.
const MARKS: [&str; 3] = ["clear_page_dirty*", "clear_page_mlock", "clear_page_p*"];

fn matches(pattern: &str, name: &str) -> bool {
    pattern.strip_suffix('*').map_or(pattern == name, |start| name.starts_with(start))
}

/// Without what compilers append to a function's name, `.isra.0`. Loops of spin locks lay in a section of their file in 2.4 and early 2.6:
/// `.text.lock.page_alloc` is a name as a whole.
#[must_use]
pub fn without_suffix(name: &str) -> &str {
    if name.starts_with('.') { name } else { name.split('.').next().unwrap_or(name) }
}

/// Families a kernel function belongs to. Compilers append `.isra.0` and the like, and arm64 puts `__pi_` before what may run from anywhere.
#[must_use]
pub fn families_of(name: &str, is_clock: bool) -> u64 {
    let name = without_suffix(name);
    let name = name.strip_prefix("__pi_").unwrap_or(name);
    let has = |patterns: &[&str]| patterns.iter().any(|pattern| matches(pattern, name));
    if has(&MARKS) {
        return 0;
    }
    let known = FUNCTIONS.iter().filter(|(_, patterns)| has(patterns)).fold(0, |bits, (family, _)| bits | family.bit());
    if is_clock && UNLOCKING.contains(&name) { known | Family::LockSpin.bit() } else { known }
}

/// Families of a kernel thread by its name: `kswapd0`, `kcompactd1`, `kworker/u8:1+flush-8:0`, `kworker/u8:3-writeback`.
#[must_use]
pub fn families_of_thread(comm: &str) -> u64 {
    let bits = |families: &[Family]| families.iter().fold(0, |bits, family| bits | family.bit());
    let known = THREADS.iter().find(|(start, _)| comm.starts_with(start)).map_or(0, |(_, families)| bits(families));
    let writes = comm.starts_with("kworker") && (comm.contains("flush-") || comm.contains("writeback"));
    if writes { known | Family::FileData.bit() } else { known }
}

/// Whether a CPU that is in it waits for something to do.
#[must_use]
pub fn is_idle(name: &str) -> bool {
    let name = without_suffix(name);
    IDLE.iter().any(|pattern| matches(pattern, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_frame_matches_under_whatever_name_the_compiler_gave_it() {
        let compaction = Family::Compaction.bit();
        assert_ne!(families_of("isolate_migratepages_block.isra.0", false) & compaction, 0);
        assert_ne!(families_of("get_pageblock_flags_group", false) & compaction, 0);
        assert_ne!(families_of("__pi_clear_page", false) & Family::PageZero.bit(), 0);
        assert_ne!(families_of(".text.lock.namei", false) & Family::LockSpin.bit(), 0);
        assert_eq!(families_of("compaction_zone_of_something", false), 0);
        assert_eq!(families_of("clear_page_dirty_for_io", false), 0);
        assert_eq!(families_of("__migration_entry_wait", false), Family::MigrationWait.bit());
        assert_ne!(families_of("ptep_clear_flush", false) & Family::Shootdown.bit(), 0);
        assert_ne!(families_of("native_queued_spin_lock_slowpath", false) & Family::LockSpin.bit(), 0);
    }

    #[test]
    fn a_kernel_thread_is_known_by_its_name_whatever_it_does() {
        let bits = families_of_thread;
        assert_ne!(bits("kswapd0") & Family::Kswapd.bit(), 0);
        assert_ne!(bits("kcompactd1") & Family::Kcompactd.bit(), 0);
        assert_ne!(bits("kworker/u8:1+flush-8:0") & Family::FileData.bit(), 0);
        assert_eq!(bits("kworker/0:1"), 0);
        assert_eq!(bits("java"), 0);
    }

    #[test]
    fn a_cpu_that_waits_for_something_to_do_is_not_busy() {
        assert!(is_idle("intel_idle") && is_idle("default_idle_call") && is_idle("native_safe_halt"));
        assert!(!is_idle("clear_page_erms") && !is_idle("schedule_idle_task"));
    }

    #[test]
    fn unlocking_is_waiting_only_where_the_timer_cannot_see_the_lock() {
        assert_eq!(families_of("_raw_spin_unlock_irqrestore", false), 0);
        assert_eq!(families_of("_raw_spin_unlock_irqrestore", true), Family::LockSpin.bit());
    }
}

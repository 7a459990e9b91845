//! Which functions are the kernel's, where a listing gives names alone.
//!
//! Two sources: where the kernel is entered, everything called from there is the kernel's; and names that only the kernel
//! has. The names are a starting set from 2.6.32 to 6.18 on x86 and arm64. One that is missing is not known to be the
//! kernel's, which hides a function; one too many would make a program's function the kernel's, so they are chosen narrowly.

use crate::kernel_text::functions::without_suffix;
use crate::recording::Frame;
use crate::recording::stack::KERNEL;

/// Where the kernel begins: nothing outside of these is the kernel's.
const ENTRIES: &[&str] = &[
    "entry_SYSCALL_*",
    "entry_INT80_*",
    "entry_SYSENTER_*",
    "do_syscall_64",
    "do_int80_syscall_32",
    "do_fast_syscall_32",
    "system_call",
    "system_call_fastpath",
    "system_call_after_swapgs",
    "system_call_exception",
    "tracesys",
    "sysenter_do_call",
    "sysenter_dispatch",
    "ia32_sysenter_target",
    "ret_from_fork*",
    "ret_from_intr",
    "ret_from_sys_call",
    "kthread",
    "child_rip",
    "kernel_thread_helper",
    "kernel_thread_starter",
    "page_fault",
    "async_page_fault",
    "asm_exc_*",
    "asm_sysvec_*",
    "asm_common_interrupt",
    "asm_call_*",
    "apic_timer_interrupt",
    "call_function_interrupt",
    "reschedule_interrupt",
    "common_interrupt",
    "stub_clone",
    "stub_execve",
    "secondary_startup_64*",
    "x86_64_start_kernel",
    "x86_64_start_reservations",
    "start_secondary",
    "start_kernel",
    "el0_*",
    "el0t_64_*",
    "el1h_64_*",
    "el1_irq",
    "vectors",
];

/// Names that no program has.
const KNOWN: &[&str] = &[
    "_spin_lock*",
    "_spin_unlock*",
    "__ticket_spin_*",
    "_raw_spin_*",
    "__raw_spin_*",
    "_raw_read_*",
    "_raw_write_*",
    "native_queued_spin_*",
    "__pv_queued_spin_*",
    "queued_spin_lock_*",
    "queued_read_lock_*",
    "queued_write_lock_*",
    "osq_lock",
    "mutex_spin_on_owner*",
    "rwsem_*",
    "call_rwsem_*",
    "native_flush_tlb*",
    "native_write_msr*",
    "native_read_msr*",
    "native_sched_clock",
    "native_apic*",
    "native_send_call*",
    "native_set_p*",
    "native_smp_*",
    "native_halt",
    "native_irq*",
    "native_read_tsc",
    "native_pte*",
    "native_write_cr*",
    "xen_hypercall_*",
    "xen_spin*",
    "xen_clocksource*",
    "xen_set_p*",
    "xen_pte*",
    "xen_restore*",
    "clear_page*",
    "clear_huge_page*",
    "clear_subpage",
    "clear_gigantic_page",
    "folio_*",
    "copy_page*",
    "copy_user_*",
    "copy_huge_page*",
    "copy_mc_*",
    "rep_movs_*",
    "rep_stos_*",
    "compact_*",
    "compaction_*",
    "isolate_migratepages*",
    "isolate_freepages*",
    "isolate_lru_*",
    "fast_isolate_*",
    "get_pageblock_*",
    "get_pfnblock_*",
    "set_pfnblock_*",
    "pageblock_*",
    "migrate_pages*",
    "migrate_misplaced_*",
    "unmap_and_move*",
    "get_page_from_freelist",
    "__alloc_pages*",
    "__alloc_frozen_pages*",
    "alloc_pages_*",
    "alloc_page_interleave",
    "free_pcppages_bulk",
    "free_unref_*",
    "free_hot_cold_page*",
    "free_frozen_page*",
    "__free_pages*",
    "__free_one_page",
    "rmqueue*",
    "__rmqueue*",
    "shrink_slab*",
    "do_shrink_slab",
    "shrink_node*",
    "shrink_zone*",
    "shrink_lruvec*",
    "shrink_page_list",
    "shrink_folio_list",
    "shrink_inactive_list",
    "shrink_active_list",
    "shrink_dcache*",
    "shrink_dentry*",
    "shrink_one",
    "shrink_many",
    "try_to_free_*",
    "do_try_to_free_pages",
    "try_to_unmap*",
    "balance_pgdat",
    "kswapd*",
    "kcompactd*",
    "khugepaged*",
    "oom_reap*",
    "__oom_reap*",
    "hpage_collapse_*",
    "collapse_huge_page",
    "page_referenced*",
    "page_check_references",
    "lru_add_drain*",
    "lru_cache_add*",
    "lru_gen_*",
    "lru_note_cost*",
    "release_pages*",
    "pagevec_*",
    "mem_cgroup_*",
    "memcg_*",
    "try_charge*",
    "zone_watermark_ok*",
    "__zone_watermark_ok*",
    "zone_reclaim",
    "zone_page_state*",
    "zone_statistics",
    "node_reclaim",
    "wakeup_kswapd",
    "do_page_fault",
    "__do_page_fault",
    "do_user_addr_fault",
    "exc_page_fault",
    "handle_mm_fault",
    "__handle_mm_fault",
    "handle_pte_fault",
    "do_anonymous_page",
    "do_huge_pmd_*",
    "__do_huge_pmd_*",
    "do_wp_page",
    "wp_page_copy",
    "do_swap_page",
    "do_numa_page",
    "task_numa_*",
    "change_protection*",
    "change_p?d_range",
    "unmap_page_range",
    "zap_p??_range",
    "flush_tlb_*",
    "smp_call_function*",
    "generic_smp_call_function_*",
    "csd_lock_wait*",
    "down_read*",
    "down_write*",
    "up_read",
    "up_write",
    "find_get_page*",
    "radix_tree_lookup*",
    "__radix_tree_lookup*",
    "radix_tree_next_chunk",
    "radix_tree_descend",
    "radix_tree_gang*",
    "radix_tree_tag*",
    "xas_*",
    "filemap_*",
    "generic_file_*",
    "generic_perform_write",
    "balance_dirty_pages*",
    "writeback_sb_inodes",
    "writeback_inodes_wb*",
    "write_cache_pages",
    "wb_writeback",
    "wb_workfn",
    "wb_do_writeback",
    "submit_bio*",
    "blk_mq_*",
    "blk_finish_plug",
    "blk_flush_plug*",
    "blk_update_request",
    "blk_queue_bio",
    "blk_peek*",
    "kmem_cache_*",
    "___slab_alloc*",
    "__slab_*",
    "__kmalloc*",
    "kmalloc_*",
    "list_lru_*",
    "super_cache_*",
    "d_lookup",
    "__d_lookup*",
    "prune_super",
    "prune_icache*",
    "prune_dcache*",
    "ksys_*",
    "sys_*",
    "SyS_*",
    "__x64_sys_*",
    "__arm64_sys_*",
    "vfs_read*",
    "vfs_write*",
    "vfs_stat*",
    "vfs_fstat*",
    "vfs_getattr*",
    "vfs_iter*",
    "vfs_fsync*",
    "vfs_fallocate",
    "schedule_timeout*",
    "__schedule",
    "finish_task_switch*",
    "update_curr*",
    "update_cfs_*",
    "update_sd_lb_stats*",
    "update_sg_lb_stats*",
    "try_to_wake_up*",
    "enqueue_task_fair",
    "dequeue_task_fair",
    "tick_nohz_*",
    "tick_sched_*",
    "tick_do_*",
    "hrtimer_*",
    "__hrtimer_*",
    "__do_softirq*",
    "__softirqentry_*",
    "handle_softirqs",
    "net_rx_action",
    "rcu_process_callbacks",
    "__rcu_process_callbacks",
    "rcu_core*",
    "rcu_check_callbacks",
    "rcu_sched_*",
    "rcu_gp_*",
    "rcu_do_batch",
    "rcu_nocb_*",
    "read_hpet",
    "acpi_*",
    "tcp_v4_*",
    "nf_conntrack_*",
    "ipt_do_table",
    "swiotlb_*",
    "zswap_*",
    "swap_readpage",
    "swap_read_folio",
    "swap_writepage*",
    "swap_cluster_readahead",
    "swap_vma_readahead",
    "swap_duplicate",
    "swap_entry_free",
    "swap_range_free",
    "swapin_readahead",
    "scan_swap_map*",
    "get_swap_page*",
    "__swap_*",
    "__list_del_entry_valid*",
    "__list_add_valid*",
    "retint_*",
    "irq_entries_start",
    "error_entry",
    "syscall_return_via_sysret",
    "syscall_exit_to_user_mode",
    "syscall_enter_from_user_mode",
    "srso_*",
    "entry_untrain_ret",
];

/// Where a CPU waits for work: only the idle task runs them.
const IDLE: &[&str] = &[
    "intel_idle*",
    "poll_idle",
    "mwait_idle*",
    "default_idle*",
    "native_safe_halt",
    "pv_native_safe_halt",
    "acpi_idle_*",
    "acpi_safe_halt",
    "acpi_processor_ffh_cstate_enter",
    "arch_cpu_idle",
    "cpu_idle",
    "do_idle",
    "cpu_idle_loop",
    "cpu_startup_entry",
    "cpuidle_idle_call",
    "cpuidle_enter_state*",
    "snooze_loop",
    "psci_cpu_suspend_enter",
];

/// Commands of threads that live in the kernel, whole or up to a number or a slash.
const THREADS: [&str; 12] = [
    "swapper",
    "kswapd",
    "kcompactd",
    "khugepaged",
    "kworker",
    "ksoftirqd",
    "kthreadd",
    "rcu_sched",
    "rcu_preempt",
    "migration",
    "ksmd",
    "kdmflush",
];

/// `*` stands for any end, `?` for any letter.
fn matches(pattern: &str, name: &str) -> bool {
    let (start, is_open) = pattern.strip_suffix('*').map_or((pattern, false), |start| (start, true));
    let is_long = if is_open { name.len() >= start.len() } else { name.len() == start.len() };
    is_long && start.bytes().zip(name.bytes()).all(|(pattern, byte)| pattern == b'?' || pattern == byte)
}

fn is_in(patterns: &[&str], name: &str) -> bool {
    let name = without_suffix(name);
    patterns.iter().any(|pattern| matches(pattern, name))
}

/// Whether the kernel begins there.
pub(super) fn is_entry(name: &str) -> bool {
    is_in(ENTRIES, name)
}

/// Whether only the kernel has a function of that name.
pub(super) fn is_kernel(name: &str) -> bool {
    is_in(KNOWN, name) || is_entry(name) || is_idle(name) || is_kernel_address(name)
}

/// Whether only a CPU without work runs it.
pub(super) fn is_idle(name: &str) -> bool {
    is_in(IDLE, name)
}

/// `0xffffffff810a…`: the upper half of the address space.
fn is_kernel_address(name: &str) -> bool {
    let digits = name.strip_prefix("0x").unwrap_or("");
    digits.len() == 16 && digits.as_bytes()[0] >= b'8' && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Whether a command is a thread of the kernel: `kswapd0`, `kworker/u8:2-writeback`.
pub(super) fn is_kernel_thread(comm: &str) -> bool {
    THREADS.into_iter().any(|thread| {
        let rest = comm.strip_prefix(thread);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(|c: char| c.is_ascii_digit() || c == '/'))
    })
}

/// The idle task's number where its name or its function says that it is that; else `pid`.
pub(super) fn idle_pid(comm: &str, leaf: &str, pid: Option<u32>) -> Option<u32> {
    let is_swapper = comm == "swapper" || comm.starts_with("swapper/");
    if pid.is_none() && (is_swapper || comm.is_empty() && is_idle(leaf)) { Some(0) } else { pid }
}

/// What a program has and the kernel has not: addresses of the lower half, names of C++, Java and libc.
fn is_of_program(name: &str) -> bool {
    const LIBC: [&str; 8] = ["__GI_*", "__libc_*", "_start", "main", "start_thread", "clone", "clone3", "__clone*"];
    let is_address = name.starts_with("0x") && !is_kernel_address(name);
    is_address || name == "[unknown]" || name == "0" || name.contains("::") || name.contains('(') || is_in(&LIBC, name)
}

/// Makes the frames of a stack the kernel's that are. `frames` has the innermost first; those whose module is known keep it.
/// `starts_in_kernel`: the innermost is known to be the kernel's.
///
/// The kernel calls no program, so there is one frame up to which all are its own: where it was entered; if the stack is not
/// drawn out to there, the last that cannot be a program's.
pub(super) fn mark(frames: &mut [Frame], starts_in_kernel: bool) {
    let is_outside = |frame: &Frame| match frame.module.as_str() {
        "" => is_of_program(&frame.name),
        _ => !frame.is_kernel(),
    };
    let is_inside = |frame: &Frame| frame.is_kernel() || (frame.module.is_empty() && is_kernel(&frame.name));
    let entered = frames.iter().rposition(|frame| frame.module.is_empty() && is_entry(&frame.name));
    let inside = match entered {
        Some(outermost) => outermost + 1,
        None if starts_in_kernel => {
            frames.iter().skip(1).position(is_outside).map_or(frames.len(), |outermost| outermost + 1)
        }
        None => frames.iter().rposition(is_inside).map_or(0, |outermost| outermost + 1),
    };
    for frame in frames.iter_mut().take(inside).filter(|frame| frame.module.is_empty()) {
        KERNEL.clone_into(&mut frame.module);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(names: &[&str], starts_in_kernel: bool) -> Vec<bool> {
        let frame = |name: &&str| Frame { name: (*name).to_owned(), module: String::new() };
        let mut frames: Vec<Frame> = names.iter().map(frame).collect();
        mark(&mut frames, starts_in_kernel);
        frames.iter().map(Frame::is_kernel).collect()
    }

    #[test]
    fn everything_inside_of_an_entry_is_the_kernels() {
        let stack = ["odd_name", "other", "entry_SYSCALL_64_after_hwframe", "write", "main"];
        assert_eq!(marked(&stack, false), [true, true, true, false, false]);
        assert_eq!(marked(&["worker_fn", "kthread", "ret_from_fork_asm"], false), [true; 3]);
    }

    #[test]
    fn without_an_entry_only_what_no_program_has_or_what_begins_in_it() {
        assert_eq!(marked(&["memcpy", "work", "main"], false), [false; 3]);
        assert_eq!(marked(&["odd_name", "clear_page_erms", "work"], false), [true, true, false]);
        assert_eq!(marked(&["odd_name", "other", "Foo::bar", "x"], true), [true, true, false, false]);
        assert_eq!(marked(&[], true), [] as [bool; 0]);
    }

    #[test]
    fn names_are_known_with_what_compilers_append_and_commands_with_their_number() {
        assert!(
            is_kernel("compact_zone.isra.0") && is_kernel("isolate_migratepages_ran") && is_kernel("zap_pte_range")
        );
        assert!(!is_kernel("memcpy") && !is_kernel("compaction") && !is_kernel("0x00007f20"));
        assert!(
            is_kernel_thread("kswapd0") && is_kernel_thread("kworker/0:1H") && !is_kernel_thread("kswapd-exporter")
        );
        assert_eq!(idle_pid("swapper/3", "x", None), Some(0));
        assert_eq!(idle_pid("", "intel_idle", None), Some(0));
        assert_eq!(idle_pid("java", "intel_idle", None), None);
    }
}

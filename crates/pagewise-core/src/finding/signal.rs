//! What rules ask a recording for: signals by the kernel's names, with the other names they had.
//!
//! A signal is a sum: of `allocstall_normal`, `allocstall_movable` and the others it is how often an allocation had to
//! reclaim. Or it is kept apart by label, such as free blocks by zone and order.

use crate::recording::Series;

/// Whether some rule asks for a series.
#[must_use]
pub fn is_wanted(series: &Series) -> bool {
    ALL.iter().any(|signal| signal.takes(&series.source, &series.name, &series.labels))
}

/// A name a signal can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Name {
    /// This one.
    Is(&'static str),
    /// Every one that begins so and does not end so.
    Begins(&'static str, &'static str),
}

impl Name {
    /// Whether it is that name.
    #[must_use]
    pub fn matches(self, name: &str) -> bool {
        match self {
            Name::Is(own) => own == name,
            Name::Begins(start, not) => name.starts_with(start) && (not.is_empty() || !name.ends_with(not)),
        }
    }
}

/// Something a rule wants to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signal {
    /// The source of the recording.
    pub source: &'static str,
    /// Its names; what matches is summed.
    pub names: &'static [Name],
    /// Whether the series with labels are meant, each apart; else the one without.
    pub labelled: bool,
}

impl Signal {
    /// As `source.name`, for people.
    #[must_use]
    pub fn label(&self) -> String {
        let name = match self.names.first() {
            Some(Name::Is(name)) => (*name).to_owned(),
            Some(Name::Begins(start, _)) => format!("{start}*"),
            None => String::new(),
        };
        format!("{}.{name}", self.source)
    }

    /// Whether a series is a part of it.
    #[must_use]
    pub fn takes(&self, source: &str, name: &str, labels: &str) -> bool {
        // Of several things of a kind, such as control groups, each is a source of its own: `cgroup_events[/batch]`.
        let kind = source.split_once('[').map_or(source, |(kind, _)| kind);
        self.source == kind && self.labelled != labels.is_empty() && self.names.iter().any(|own| own.matches(name))
    }
}

macro_rules! signals {
    ($($(#[$doc:meta])* $constant:ident = $source:literal $($labelled:ident)? : $($name:expr),+;)*) => {
        $($(#[$doc])* pub const $constant: Signal = Signal {
            source: $source,
            names: &[$($name),+],
            labelled: signals!(@labelled $($labelled)?),
        };)*

        /// Every signal. A look keeps these series and no others.
        pub const ALL: &[Signal] = &[$($constant),*];
    };
    (@labelled) => { false };
    (@labelled each) => { true };
}

use Name::{Begins, Is};

signals! {
    /// Time all CPUs together spent in programs.
    CPU_USER = "stat": Is("user");
    /// The same of programs with lowered priority.
    CPU_NICE = "stat": Is("nice");
    /// In the kernel on behalf of programs and in kernel threads.
    CPU_SYSTEM = "stat": Is("system");
    /// In nothing.
    CPU_IDLE = "stat": Is("idle");
    /// In nothing, with I/O under way.
    CPU_IOWAIT = "stat": Is("iowait");
    /// In interrupts.
    CPU_IRQ = "stat": Is("irq");
    /// In what interrupts left to do.
    CPU_SOFTIRQ = "stat": Is("softirq");
    /// Taken by the hypervisor.
    CPU_STEAL = "stat": Is("steal");
    /// Per CPU; tells how many there are.
    CPU_EACH_IDLE = "stat" each: Is("idle");
    /// The part of all CPUs that was busy, as another tool wrote it down in percent.
    IMPORTED_BUSY = "import": Is("cpu_busy_percent");
    /// The part that was spent in the kernel, likewise.
    IMPORTED_SYSTEM = "import": Is("cpu_system_percent");
    /// The part that the hypervisor took, likewise.
    IMPORTED_STEAL = "import": Is("cpu_steal_percent");
    /// Pages read from swap in a second.
    IMPORTED_SWAP_IN = "import": Is("pswpin_per_second");
    /// The same in bytes.
    IMPORTED_SWAP_IN_BYTES = "import": Is("swap_in_per_second");
    /// Pages written to swap in a second.
    IMPORTED_SWAP_OUT = "import": Is("pswpout_per_second");
    /// The same in bytes.
    IMPORTED_SWAP_OUT_BYTES = "import": Is("swap_out_per_second");
    /// Bytes read from disks in a second.
    IMPORTED_PAGE_IN = "import": Is("pgpgin_per_second");
    /// Bytes written to disks in a second.
    IMPORTED_PAGE_OUT = "import": Is("pgpgout_per_second");
    /// Page faults in a second.
    IMPORTED_FAULTS = "import": Is("pgfault_per_second");
    /// Faults that had to read.
    IMPORTED_MAJOR_FAULTS = "import": Is("pgmajfault_per_second");
    /// Pages kswapd looked at in a second.
    IMPORTED_SCAN_KSWAPD = "import": Is("pgscank_per_second");
    /// Pages allocations looked at in a second.
    IMPORTED_SCAN_DIRECT = "import": Is("pgscand_per_second");
    /// The part of the time in which some task waited for memory.
    IMPORTED_PSI_MEMORY_SOME = "import": Is("psi_memory_some_percent");
    /// In which every task that could run did.
    IMPORTED_PSI_MEMORY_FULL = "import": Is("psi_memory_full_percent");
    /// In which some task waited for I/O.
    IMPORTED_PSI_IO_SOME = "import": Is("psi_io_some_percent");
    /// All memory, worked out from what is used and its part.
    IMPORTED_MEM_TOTAL = "import": Is("memory_total");
    /// Swap in use.
    IMPORTED_SWAP_USED = "import": Is("swap_used");
    /// Memory of the pool of huge pages that is in no use.
    IMPORTED_HUGETLB_FREE = "import": Is("hugetlb_free");
    /// Memory of the pool that is in use.
    IMPORTED_HUGETLB_USED = "import": Is("hugetlb_used");
    /// Memory of the pool that is promised.
    IMPORTED_HUGETLB_RESERVED = "import": Is("hugetlb_reserved");
    /// Switches between tasks.
    CONTEXT_SWITCHES = "stat": Is("ctxt");

    /// All memory.
    MEM_TOTAL = "meminfo": Is("MemTotal");
    /// Memory in no use.
    MEM_FREE = "meminfo": Is("MemFree");
    /// Memory that programs could still get without swapping (since 3.14).
    MEM_AVAILABLE = "meminfo": Is("MemAvailable");
    /// Cached blocks of devices.
    BUFFERS = "meminfo": Is("Buffers");
    /// Page cache and shared memory.
    CACHED = "meminfo": Is("Cached");
    /// Anonymous memory.
    ANON_PAGES = "meminfo": Is("AnonPages");
    /// Anonymous memory on huge pages.
    ANON_HUGE = "meminfo": Is("AnonHugePages");
    /// Memory of the kernel's object caches.
    SLAB = "meminfo": Is("Slab");
    /// Of that, what reclaim can get back.
    SLAB_RECLAIMABLE = "meminfo": Is("SReclaimable");
    /// Of that, what it cannot.
    SLAB_UNRECLAIMABLE = "meminfo": Is("SUnreclaim");
    /// Memory that may not be reclaimed.
    UNEVICTABLE = "meminfo": Is("Unevictable");
    /// Of that, what programs locked.
    MLOCKED = "meminfo": Is("Mlocked");
    /// Size of all swap.
    SWAP_TOTAL = "meminfo": Is("SwapTotal");
    /// Swap in no use.
    SWAP_FREE = "meminfo": Is("SwapFree");
    /// What programs were promised.
    COMMITTED = "meminfo": Is("Committed_AS");
    /// The most that may be promised where overcommit is refused.
    COMMIT_LIMIT = "meminfo": Is("CommitLimit");
    /// Huge pages set aside.
    HUGETLB_TOTAL = "meminfo": Is("HugePages_Total");
    /// Of those, in no use.
    HUGETLB_FREE = "meminfo": Is("HugePages_Free");
    /// Of those, promised.
    HUGETLB_RESERVED = "meminfo": Is("HugePages_Rsvd");
    /// Size of a huge page.
    HUGEPAGE_SIZE = "meminfo": Is("Hugepagesize");

    /// Direct compactions that were begun.
    COMPACT_STALL = "vmstat": Is("compact_stall");
    /// Those that gave nothing.
    COMPACT_FAIL = "vmstat": Is("compact_fail");
    /// Those that gave a page.
    COMPACT_SUCCESS = "vmstat": Is("compact_success");
    /// Pages compaction looked at: to move, and to move to.
    COMPACT_SCANNED = "vmstat": Is("compact_migrate_scanned"), Is("compact_free_scanned");
    /// Of those, by kcompactd.
    COMPACT_DAEMON_SCANNED = "vmstat": Is("compact_daemon_migrate_scanned"), Is("compact_daemon_free_scanned");
    /// Huge pages given at a page fault.
    THP_FAULT_ALLOC = "vmstat": Is("thp_fault_alloc");
    /// Page faults that got small pages instead.
    THP_FAULT_FALLBACK = "vmstat": Is("thp_fault_fallback");
    /// Huge pages khugepaged made.
    THP_COLLAPSE = "vmstat": Is("thp_collapse_alloc");
    /// Huge pages it could not get.
    THP_COLLAPSE_FAILED = "vmstat": Is("thp_collapse_alloc_failed");
    /// Huge pages that were mapped as such and are mapped page by page since.
    THP_SPLIT_PMD = "vmstat": Is("thp_split_pmd");
    /// Huge pages split for being mostly zero (6.12).
    THP_UNDERUSED = "vmstat": Is("thp_underused_split_page");
    /// Allocations that had to reclaim by themselves. One name before 4.8, one per zone since.
    ALLOCSTALL = "vmstat": Is("allocstall"), Begins("allocstall_", "");
    /// Pages kswapd looked at. One name per zone before 4.8.
    SCAN_KSWAPD = "vmstat": Is("pgscan_kswapd"), Begins("pgscan_kswapd_", "");
    /// Pages kswapd freed.
    STEAL_KSWAPD = "vmstat": Is("pgsteal_kswapd"), Begins("pgsteal_kswapd_", "");
    /// Pages allocations looked at.
    SCAN_DIRECT = "vmstat": Is("pgscan_direct"), Begins("pgscan_direct_", "throttle");
    /// Pages allocations freed.
    STEAL_DIRECT = "vmstat": Is("pgsteal_direct"), Begins("pgsteal_direct_", "throttle");
    /// Anonymous pages reclaim looked at (5.8).
    SCAN_ANON = "vmstat": Is("pgscan_anon");
    /// Pages of files it looked at (5.8).
    SCAN_FILE = "vmstat": Is("pgscan_file");
    /// kswapd was woken again right after it had reached the low watermark.
    LOW_HIT_QUICKLY = "vmstat": Is("kswapd_low_wmark_hit_quickly");
    /// Pages read from swap.
    SWAP_IN = "vmstat": Is("pswpin");
    /// Pages written to swap.
    SWAP_OUT = "vmstat": Is("pswpout");
    /// Anonymous pages that came back soon after they had been swapped out (5.9).
    REFAULT_ANON = "vmstat": Is("workingset_refault_anon");
    /// File pages that came back soon after they had been reclaimed.
    REFAULT_FILE = "vmstat": Is("workingset_refault_file"), Is("workingset_refault");
    /// Of those, the ones that were in use.
    ACTIVATE_FILE = "vmstat": Is("workingset_activate_file"), Is("workingset_activate");
    /// Read from disks.
    PAGE_IN = "vmstat": Is("pgpgin");
    /// Written to disks.
    PAGE_OUT = "vmstat": Is("pgpgout");
    /// Processes killed for lack of memory (4.13).
    OOM_KILL = "vmstat": Is("oom_kill");
    /// Pages changed and not yet written.
    DIRTY = "vmstat": Is("nr_dirty");
    /// Pages being written.
    WRITEBACK = "vmstat": Is("nr_writeback");
    /// Dirty pages from which on they are written in the background.
    DIRTY_BACKGROUND = "vmstat": Is("nr_dirty_background_threshold");
    /// Dirty pages that are never exceeded.
    DIRTY_THRESHOLD = "vmstat": Is("nr_dirty_threshold");
    /// Page-table work of hint faults for NUMA balancing.
    NUMA_HINT_FAULTS = "vmstat": Is("numa_hint_faults");
    /// Of those, on the node where the memory is.
    NUMA_HINT_LOCAL = "vmstat": Is("numa_hint_faults_local");
    /// Pages moved by NUMA balancing.
    NUMA_MIGRATED = "vmstat": Is("numa_pages_migrated");
    /// Allocations that got the node they wanted.
    NUMA_HIT = "vmstat": Is("numa_hit");
    /// Those that got another.
    NUMA_MISS = "vmstat": Is("numa_miss");
    /// Reclaim of a node's own memory before another's was used, that helped.
    ZONE_RECLAIM_SUCCESS = "vmstat": Is("zone_reclaim_success");
    /// And that did not.
    ZONE_RECLAIM_FAILED = "vmstat": Is("zone_reclaim_failed");
    /// Unlocked pages left on the list of unevictable ones.
    UNEVICTABLE_STRANDED = "vmstat": Is("unevictable_pgs_stranded");
    /// Huge pages that the pool could not get.
    HUGETLB_FAILED = "vmstat": Is("htlb_buddy_alloc_fail");
    /// Shootdowns of translations received from other CPUs.
    TLB_REMOTE_RECEIVED = "vmstat": Is("nr_tlb_remote_flush_received");
    /// Page faults.
    FAULTS = "vmstat": Is("pgfault");
    /// Faults that had to read.
    MAJOR_FAULTS = "vmstat": Is("pgmajfault");

    /// Free pages of a zone.
    ZONE_FREE = "zoneinfo" each: Is("free"), Is("nr_free_pages");
    /// Its low watermark.
    ZONE_LOW = "zoneinfo" each: Is("low");
    /// Its high watermark.
    ZONE_HIGH = "zoneinfo" each: Is("high");
    /// How far its watermarks are raised for fragmentation (5.0).
    ZONE_BOOST = "zoneinfo" each: Is("boost");
    /// Its pages.
    ZONE_MANAGED = "zoneinfo" each: Is("managed");
    /// Free blocks by zone and order.
    FREE_BLOCKS = "buddyinfo" each: Is("free_blocks");

    /// Time in which some task waited for memory.
    PSI_MEMORY_SOME = "psi_memory": Is("some_total");
    /// Time in which every task that could run did.
    PSI_MEMORY_FULL = "psi_memory": Is("full_total");
    /// Time in which some task waited for I/O.
    PSI_IO_SOME = "psi_io": Is("some_total");

    /// Scans of all memory khugepaged finished.
    KHUGEPAGED_SCANS = "thp": Is("khugepaged_full_scans");
    /// Faults that got a folio of a size.
    MTHP_ALLOC = "thp" each: Is("anon_fault_alloc");
    /// Faults that wanted it and did not get it.
    MTHP_FALLBACK = "thp" each: Is("anon_fault_fallback");
    /// Folios swapped out in pieces for want of room in one.
    MTHP_SWPOUT_FALLBACK = "thp" each: Is("swpout_fallback");
    /// Folios some pages of which are unmapped.
    MTHP_PARTIAL = "thp" each: Is("nr_anon_partially_mapped");

    /// Folios of a size in use.
    MTHP_ANON = "thp" each: Is("nr_anon");

    /// Names of files the kernel keeps.
    DENTRIES = "dentries": Is("nr_dentry");
    /// Of those, of files that do not exist (5.0; 0 before).
    DENTRIES_NEGATIVE = "dentries": Is("nr_negative");

    /// Cycles of CPUs that were not idle, while the processor's counters ran.
    PMU_CYCLES = "pmu": Is("cycles");
    /// Of those, with a page walk for a load under way.
    PMU_LOAD_WALKS = "pmu": Is("load_walk_cycles");
    /// And for a store.
    PMU_STORE_WALKS = "pmu": Is("store_walk_cycles");
    /// Translations that were in no TLB, on processors that tell no more.
    PMU_MISSES = "pmu": Is("load_misses"), Is("store_misses");

    /// CPU time of kernel threads by name.
    KERNEL_THREAD_CPU = "threads" each: Is("cpu");
    /// How often a control group went over its `memory.high`.
    CGROUP_HIGH = "cgroup_events" each: Is("high");
    /// And met its `memory.max`.
    CGROUP_MAX = "cgroup_events" each: Is("max");
    /// The same by version 1: allocations that met the limit.
    CGROUP_FAILCNT = "cgroup_memory" each: Is("failcnt");
    /// Processes killed within it.
    CGROUP_OOM = "cgroup_events" each: Is("oom_kill");
    /// Time in which every task of the group waited for memory.
    CGROUP_FULL = "cgroup_pressure" each: Is("full_total");
    /// CPU time that recording itself took.
    OWN_CPU = "self": Begins("", "");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_is_found_under_its_old_and_its_new_names() {
        assert!(ALLOCSTALL.takes("vmstat", "allocstall", "") && ALLOCSTALL.takes("vmstat", "allocstall_movable", ""));
        assert!(SCAN_DIRECT.takes("vmstat", "pgscan_direct_normal", ""));
        assert!(!SCAN_DIRECT.takes("vmstat", "pgscan_direct_throttle", ""), "it counts waits, not pages");
        assert!(!CPU_IDLE.takes("stat", "idle", "cpu=0") && CPU_EACH_IDLE.takes("stat", "idle", "cpu=0"));
    }
}

//! What other tools call the numbers that they print: the column of each tool, and the series that an import makes of it.
//!
//! What the kernel has a name for goes under that name; what a tool computes itself is in source `import`. How precisely a
//! tool prints is known to its parser in `import/`.

use super::IMPORT;

/// What a number counts, whoever prints it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counts {
    /// An amount of memory, now.
    Size,
    /// Base pages, now.
    Pages,
    /// An amount of memory in a second.
    SizePerSecond,
    /// Base pages in a second.
    PagesPerSecond,
    /// Events in a second.
    EventsPerSecond,
    /// A part of a whole, over the time before.
    Share,
    /// Things, now.
    Things,
    /// Milliseconds that each took, over the time before.
    Milliseconds,
}

/// Which of collectl's tables; in one of them the same heading can stand twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Table {
    /// `-scm`.
    Brief,
    /// `--verbose`, under `CPU SUMMARY`.
    VerboseCpu,
    /// `--verbose`, under `MEMORY SUMMARY`.
    VerboseMemory,
    /// `--verbose`, under `DISK SUMMARY`.
    VerboseDisk,
    /// `-P`.
    Plot,
}

use Table::{Brief, Plot, VerboseCpu, VerboseDisk, VerboseMemory};

/// A number that other tools print.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// The source of the series an import makes of it.
    pub source: &'static str,
    /// Its name there.
    pub name: &'static str,
    /// What it counts.
    pub counts: Counts,
    /// Headings of sar, mpstat and iostat (sysstat 5 to 12; `rd_stats.c` of 12.6 says which counters stand behind them).
    pub sar: &'static [&'static str],
    /// Heading of vmstat (procps-ng).
    pub vmstat: Option<&'static str>,
    /// Headings of collectl (4.3), and which of those of the same word in its line, from 1.
    pub collectl: &'static [(Table, &'static str, usize)],
    /// Section and heading of nmon (16n); a heading that ends in `*` stands for all that begin so, which are summed.
    pub nmon: &'static [(&'static str, &'static str)],
    /// Line and label of atop (2.8).
    pub atop: &'static [(&'static str, &'static str)],
    /// Line and labels of top: procps 2 and 3, procps-ng 3 and 4, BusyBox.
    pub top: &'static [(&'static str, &'static str)],
    /// Group and heading of dstat (0.7).
    pub dstat: &'static [(&'static str, &'static str)],
    /// Events of `perf stat`, in small letters.
    pub perf_stat: &'static [&'static str],
}

const fn column(source: &'static str, name: &'static str, counts: Counts) -> Column {
    Column {
        source,
        name,
        counts,
        sar: &[],
        vmstat: None,
        collectl: &[],
        nmon: &[],
        atop: &[],
        top: &[],
        dstat: &[],
        perf_stat: &[],
    }
}

const fn memory(name: &'static str) -> Column {
    column("meminfo", name, Counts::Size)
}

const fn size(name: &'static str) -> Column {
    column(IMPORT, name, Counts::Size)
}

const fn sizes(name: &'static str) -> Column {
    column(IMPORT, name, Counts::SizePerSecond)
}

const fn pages(name: &'static str) -> Column {
    column(IMPORT, name, Counts::PagesPerSecond)
}

const fn events(name: &'static str) -> Column {
    column(IMPORT, name, Counts::EventsPerSecond)
}

const fn share(name: &'static str) -> Column {
    column(IMPORT, name, Counts::Share)
}

const fn milliseconds(name: &'static str) -> Column {
    column(IMPORT, name, Counts::Milliseconds)
}

const fn things(name: &'static str) -> Column {
    column(IMPORT, name, Counts::Things)
}

impl Column {
    const fn sar(self, sar: &'static [&'static str]) -> Column {
        Column { sar, ..self }
    }

    const fn vmstat(self, vmstat: &'static str) -> Column {
        Column { vmstat: Some(vmstat), ..self }
    }

    const fn collectl(self, collectl: &'static [(Table, &'static str, usize)]) -> Column {
        Column { collectl, ..self }
    }

    const fn nmon(self, nmon: &'static [(&'static str, &'static str)]) -> Column {
        Column { nmon, ..self }
    }

    const fn atop(self, atop: &'static [(&'static str, &'static str)]) -> Column {
        Column { atop, ..self }
    }

    const fn top(self, top: &'static [(&'static str, &'static str)]) -> Column {
        Column { top, ..self }
    }

    const fn dstat(self, dstat: &'static [(&'static str, &'static str)]) -> Column {
        Column { dstat, ..self }
    }

    const fn perf_stat(self, perf_stat: &'static [&'static str]) -> Column {
        Column { perf_stat, ..self }
    }

    /// Whether it is about the time before, not about now.
    #[must_use]
    pub const fn is_rate(&self) -> bool {
        !matches!(self.counts, Counts::Size | Counts::Pages | Counts::Things)
    }
}

/// Every number that is taken from other tools.
pub const COLUMNS: &[Column] = &[
    // Disks and faults: sar -B, vmstat's bi and bo.
    sizes("pgpgin_per_second")
        .sar(&["pgpgin/s"])
        .vmstat("bi")
        .collectl(&[(VerboseMemory, "In", 2), (Plot, "[MEM]PgIn", 1)])
        .nmon(&[("VM", "pgpgin")]),
    sizes("pgpgout_per_second")
        .sar(&["pgpgout/s"])
        .vmstat("bo")
        .collectl(&[(VerboseMemory, "Out", 2), (Plot, "[MEM]PgOut", 1)])
        .nmon(&[("VM", "pgpgout")]),
    // What disks did, all together: sar -b and -d, iostat, and what other tools print of each. Not the kernel's pgpgin: that
    // counts what was asked of the topmost device, too.
    sizes("disk_read_per_second")
        .dstat(&[("dsk/total", "read")])
        .sar(&["bread/s", "rkB/s", "rd_sec/s", "rsec/s", "rMB/s", "kB_read/s", "Blk_read/s", "MB_read/s"])
        .collectl(&[(Brief, "KBRead", 1), (VerboseDisk, "KBRead", 1), (Plot, "[DSK]ReadKBTot", 1)])
        .nmon(&[("DISKREAD", "")])
        .atop(&[("DSK", "MBr/s")]),
    sizes("disk_written_per_second")
        .dstat(&[("dsk/total", "writ")])
        .sar(&["bwrtn/s", "wkB/s", "wr_sec/s", "wsec/s", "wMB/s", "kB_wrtn/s", "Blk_wrtn/s", "MB_wrtn/s"])
        .collectl(&[
            (Brief, "KBWrit", 1),
            (VerboseDisk, "KBWrit", 1),
            (VerboseDisk, "KBWrite", 1),
            (Plot, "[DSK]WriteKBTot", 1),
        ])
        .nmon(&[("DISKWRITE", "")])
        .atop(&[("DSK", "MBw/s")]),
    // Of each disk, with its name as label.
    share("disk_busy_percent").sar(&["%util"]).nmon(&[("DISKBUSY", "")]).atop(&[("DSK", "busy")]),
    milliseconds("disk_wait").sar(&["await"]).atop(&[("DSK", "avio")]),
    // Of the disk that was busiest then.
    share("disk_busiest_percent"),
    milliseconds("disk_busiest_wait"),
    events("pgfault_per_second")
        .dstat(&[("virtual-memory", "minpf")])
        .sar(&["fault/s"])
        .collectl(&[(VerboseMemory, "Fault", 1), (Plot, "[MEM]PageFlt", 1)])
        .nmon(&[("VM", "pgfault")]),
    events("pgmajfault_per_second")
        .dstat(&[("virtual-memory", "majpf")])
        .sar(&["majflt/s"])
        .collectl(&[(VerboseMemory, "MajFt", 1), (Plot, "[MEM]PageMaj", 1)])
        .nmon(&[("VM", "pgmajfault")]),
    pages("pgfree_per_second").sar(&["pgfree/s"]).nmon(&[("VM", "pgfree")]),
    pages("pgscank_per_second").sar(&["pgscank/s"]).nmon(&[("VM", "pgscan_kswapd_*")]),
    pages("pgscand_per_second").sar(&["pgscand/s"]).nmon(&[("VM", "pgscan_direct_*")]),
    // By kswapd and by programs together.
    pages("pages_scanned_per_second").atop(&[("PAG", "scan")]),
    events("allocstall_per_second").nmon(&[("VM", "allocstall")]).atop(&[("PAG", "stall")]),
    events("compact_stall_per_second").atop(&[("PAG", "compact")]),
    // From 5.8 to sysstat 12.7 about twice what was freed: the kernel counts each page by who freed it and by what it was.
    pages("pgsteal_per_second").sar(&["pgsteal/s"]).nmon(&[("VM", "pgsteal_*")]).atop(&[("PAG", "steal")]),
    share("reclaim_efficiency_percent").sar(&["%vmeff"]),
    pages("pgpromote_per_second").sar(&["pgprom/s"]),
    pages("pgdemote_per_second").sar(&["pgdem/s"]),
    // Memory: sar -r, vmstat, collectl -sm.
    memory("MemTotal")
        .collectl(&[(VerboseMemory, "Total", 1), (Plot, "[MEM]Tot", 1)])
        .nmon(&[("MEM", "memtotal")])
        .atop(&[("MEM", "tot")])
        .top(&[("Mem", "total"), ("Mem", "av")]),
    memory("MemFree")
        .dstat(&[("memory", "free")])
        .sar(&["kbmemfree"])
        .vmstat("free")
        .collectl(&[(Brief, "Free", 1), (VerboseMemory, "Free", 1), (Plot, "[MEM]Free", 1)])
        .nmon(&[("MEM", "memfree")])
        .atop(&[("MEM", "free")])
        .top(&[("Mem", "free")]),
    memory("MemAvailable").sar(&["kbavail"]).atop(&[("MEM", "avail")]).top(&[("Swap", "avail")]),
    size("memory_used").sar(&["kbmemused"]),
    share("memory_used_percent").sar(&["%memused"]),
    memory("Buffers")
        .dstat(&[("memory", "buff"), ("memory", "buf")])
        .sar(&["kbbuffers"])
        .vmstat("buff")
        .collectl(&[(Brief, "Buff", 1), (VerboseMemory, "Buff", 1), (Plot, "[MEM]Buf", 1)])
        .nmon(&[("MEM", "buffers")])
        .atop(&[("MEM", "buff")])
        .top(&[("Mem", "buffers"), ("Mem", "buff")]),
    memory("Cached")
        .dstat(&[("memory", "cach")])
        .sar(&["kbcached"])
        .collectl(&[(Brief, "Cach", 1), (VerboseMemory, "Cached", 1), (Plot, "[MEM]Cached", 1)])
        .nmon(&[("MEM", "cached")])
        .atop(&[("MEM", "cache")])
        .top(&[("Mem", "cached"), ("Mem", "cach"), ("Swap", "cached")]),
    // Cached, and from procps-ng 3.3.10 on reclaimable slab, too: not the kernel's `Cached`.
    size("page_cache").vmstat("cache"),
    // Buffers, cached and reclaimable slab together (procps-ng from 3.3.10 on).
    size("buffers_and_cache").top(&[("Mem", "buff/cache")]),
    size("programs_at_most").top(&[("PID", "RES")]),
    memory("Committed_AS")
        .sar(&["kbcommit"])
        .collectl(&[(VerboseMemory, "Commit", 1), (Plot, "[MEM]Commit", 1)])
        .atop(&[("SWP", "vmcom")]),
    memory("CommitLimit").atop(&[("SWP", "vmlim")]),
    share("commit_percent").sar(&["%commit"]),
    memory("Active").sar(&["kbactive"]).vmstat("active").nmon(&[("MEM", "active")]),
    memory("Inactive")
        .sar(&["kbinact"])
        .vmstat("inact")
        .collectl(&[(Brief, "Inac", 1), (VerboseMemory, "Inact", 1), (Plot, "[MEM]Inactive", 1)])
        .nmon(&[("MEM", "inactive")]),
    memory("Dirty").sar(&["kbdirty"]).atop(&[("MEM", "dirty")]),
    column("vmstat", "nr_dirty", Counts::Pages).nmon(&[("VM", "nr_dirty")]),
    column("vmstat", "nr_writeback", Counts::Pages).nmon(&[("VM", "nr_writeback")]),
    memory("AnonPages").sar(&["kbanonpg"]).collectl(&[(VerboseMemory, "Anon", 1), (Plot, "[MEM]Anon", 1)]),
    memory("AnonHugePages").collectl(&[(VerboseMemory, "AnonH", 1), (Plot, "[MEM]AnonH", 1)]),
    memory("Mapped").collectl(&[(VerboseMemory, "Mapped", 1), (Plot, "[MEM]Map", 1)]),
    // Mapped and anonymous memory together: not the kernel's `Mapped`.
    size("mapped_and_anon").collectl(&[(Brief, "Map", 1)]),
    memory("Mlocked").collectl(&[(VerboseMemory, "Locked", 1), (Plot, "[MEM]Locked", 1)]),
    memory("Shmem").collectl(&[(Plot, "[MEM]Shared", 1)]).atop(&[("MEM", "shmem")]),
    memory("Slab")
        .sar(&["kbslab"])
        .collectl(&[(Brief, "Slab", 1), (VerboseMemory, "Slab", 1), (Plot, "[MEM]Slab", 1)])
        .atop(&[("MEM", "slab")]),
    memory("SReclaimable").atop(&[("MEM", "slrec")]),
    memory("KernelStack").sar(&["kbkstack"]),
    memory("PageTables").sar(&["kbpgtbl"]).atop(&[("MEM", "pgtab")]),
    memory("VmallocUsed").sar(&["kbvmused"]),
    // Swap: sar -S and -W, vmstat.
    memory("SwapTotal")
        .collectl(&[(VerboseMemory, "Total", 2), (Plot, "[MEM]SwapTot", 1)])
        .nmon(&[("MEM", "swaptotal")])
        .atop(&[("SWP", "tot")])
        .top(&[("Swap", "total"), ("Swap", "av")]),
    memory("SwapFree")
        .dstat(&[("swap", "free")])
        .sar(&["kbswpfree"])
        .collectl(&[(VerboseMemory, "Free", 2), (Plot, "[MEM]SwapFree", 1)])
        .nmon(&[("MEM", "swapfree")])
        .atop(&[("SWP", "free")])
        .top(&[("Swap", "free")]),
    size("swap_used")
        .dstat(&[("swap", "used")])
        .sar(&["kbswpused"])
        .vmstat("swpd")
        .collectl(&[(VerboseMemory, "Used", 2), (Plot, "[MEM]SwapUsed", 1)])
        .top(&[("Swap", "used")]),
    share("swap_used_percent").sar(&["%swpused"]),
    memory("SwapCached").sar(&["kbswpcad"]).nmon(&[("MEM", "swapcached")]).atop(&[("SWP", "swcac")]),
    share("swap_cached_percent").sar(&["%swpcad"]),
    pages("pswpin_per_second")
        .sar(&["pswpin/s"])
        .collectl(&[(VerboseMemory, "In", 1), (Plot, "[MEM]SwapIn", 1)])
        .nmon(&[("VM", "pswpin")])
        .atop(&[("PAG", "swin")]),
    pages("pswpout_per_second")
        .sar(&["pswpout/s"])
        .collectl(&[(VerboseMemory, "Out", 1), (Plot, "[MEM]SwapOut", 1)])
        .nmon(&[("VM", "pswpout")])
        .atop(&[("PAG", "swout")]),
    sizes("swap_in_per_second").dstat(&[("paging", "in")]).vmstat("si"),
    sizes("swap_out_per_second").dstat(&[("paging", "out")]).vmstat("so"),
    // The pool of huge pages: sar -H.
    size("hugetlb_free").sar(&["kbhugfree"]),
    size("hugetlb_used").sar(&["kbhugused"]),
    share("hugetlb_used_percent").sar(&["%hugused"]),
    size("hugetlb_reserved").sar(&["kbhugrsvd"]),
    size("hugetlb_surplus").sar(&["kbhugsurp"]),
    // Pressure: sar -q MEM, -q IO, -q CPU.
    share("psi_memory_some_avg10_percent").sar(&["%smem-10"]),
    share("psi_memory_some_avg60_percent").sar(&["%smem-60"]),
    share("psi_memory_some_avg300_percent").sar(&["%smem-300"]),
    share("psi_memory_some_percent").sar(&["%smem"]).atop(&[("PSI", "memsome")]),
    share("psi_memory_full_avg10_percent").sar(&["%fmem-10"]),
    share("psi_memory_full_avg60_percent").sar(&["%fmem-60"]),
    share("psi_memory_full_avg300_percent").sar(&["%fmem-300"]),
    share("psi_memory_full_percent").sar(&["%fmem"]).atop(&[("PSI", "memfull")]),
    share("psi_io_some_percent").sar(&["%sio"]).atop(&[("PSI", "iosome")]),
    share("psi_io_full_percent").sar(&["%fio"]).atop(&[("PSI", "iofull")]),
    share("psi_cpu_some_percent").sar(&["%scpu"]).atop(&[("PSI", "cpusome")]),
    // CPU time: sar -u and its names in -u ALL, vmstat, collectl -sc.
    share("cpu_busy_percent").collectl(&[(Brief, "cpu", 1)]),
    share("cpu_system_percent").vmstat("sy").collectl(&[(Brief, "sys", 1)]).nmon(&[("CPU_ALL", "Sys%")]),
    share("cpu_user_percent")
        .dstat(&[("cpu", "usr")])
        .sar(&["%user", "%usr"])
        .vmstat("us")
        .collectl(&[(VerboseCpu, "User", 1), (Plot, "[CPU]User%", 1)])
        .nmon(&[("CPU_ALL", "User%")])
        .atop(&[("CPU", "user")])
        .top(&[("Cpu", "us"), ("Cpu", "user"), ("Cpu", "usr")]),
    share("cpu_nice_percent").sar(&["%nice"]).collectl(&[(VerboseCpu, "Nice", 1), (Plot, "[CPU]Nice%", 1)]).top(&[
        ("Cpu", "ni"),
        ("Cpu", "nice"),
        ("Cpu", "nic"),
    ]),
    // With or without interrupts, as the parser finds out.
    share("cpu_kernel_percent")
        .dstat(&[("cpu", "sys")])
        .sar(&["%system", "%sys"])
        .collectl(&[(VerboseCpu, "Sys", 1), (Plot, "[CPU]Sys%", 1)])
        .atop(&[("CPU", "sys")])
        .top(&[("Cpu", "sy"), ("Cpu", "system"), ("Cpu", "sys")]),
    share("cpu_iowait_percent")
        .dstat(&[("cpu", "wai")])
        .sar(&["%iowait"])
        .vmstat("wa")
        .collectl(&[(VerboseCpu, "Wait", 1), (Plot, "[CPU]Wait%", 1)])
        .nmon(&[("CPU_ALL", "Wait%")])
        .atop(&[("CPU", "wait")])
        .top(&[("Cpu", "wa"), ("Cpu", "iowait"), ("Cpu", "io")]),
    share("cpu_irq_percent")
        .dstat(&[("cpu", "hiq")])
        .sar(&["%irq"])
        .collectl(&[(VerboseCpu, "IRQ", 1), (Plot, "[CPU]Irq%", 1)])
        .atop(&[("CPU", "irq")])
        .top(&[("Cpu", "hi"), ("Cpu", "irq")]),
    share("cpu_softirq_percent")
        .dstat(&[("cpu", "siq")])
        .sar(&["%soft"])
        .collectl(&[(VerboseCpu, "Soft", 1), (Plot, "[CPU]Soft%", 1)])
        .top(&[("Cpu", "si"), ("Cpu", "softirq"), ("Cpu", "sirq")]),
    share("cpu_steal_percent")
        .dstat(&[("cpu", "stl")])
        .sar(&["%steal"])
        .vmstat("st")
        .collectl(&[(VerboseCpu, "Steal", 1), (Plot, "[CPU]Steal%", 1)])
        .nmon(&[("CPU_ALL", "Steal%")])
        .atop(&[("CPU", "steal")])
        .top(&[("Cpu", "st"), ("Cpu", "steal")]),
    share("cpu_guest_percent").sar(&["%guest"]).vmstat("gu"),
    share("cpu_guest_nice_percent").sar(&["%gnice"]),
    share("cpu_idle_percent")
        .dstat(&[("cpu", "idl")])
        .sar(&["%idle"])
        .vmstat("id")
        .collectl(&[(VerboseCpu, "Idle", 1), (Plot, "[CPU]Idle%", 1)])
        .nmon(&[("CPU_ALL", "Idle%")])
        .atop(&[("CPU", "idle")])
        .top(&[("Cpu", "id"), ("Cpu", "idle")]),
    // Of a kernel thread, with its name as label, in parts of one CPU.
    share("thread_cpu_percent").nmon(&[("TOP", "%CPU")]).atop(&[("PID", "CPU")]).top(&[("PID", "%CPU")]),
    // Tasks: sar -w and -q.
    events("forks_per_second").dstat(&[("procs", "new")]).sar(&["proc/s"]).nmon(&[("PROC", "fork")]),
    events("context_switches_per_second")
        .dstat(&[("system", "csw")])
        .sar(&["cswch/s"])
        .vmstat("cs")
        .collectl(&[(Brief, "ctxsw", 1), (VerboseCpu, "Ctxsw", 1), (Plot, "[CPU]Ctx/sec", 1)])
        .nmon(&[("PROC", "pswitch")])
        .atop(&[("CPL", "csw")]),
    events("interrupts_per_second")
        .dstat(&[("system", "int")])
        .sar(&["intr/s"])
        .vmstat("in")
        .collectl(&[(Brief, "inter", 1), (VerboseCpu, "Intr", 1), (Plot, "[CPU]Intrpt/sec", 1)])
        .atop(&[("CPL", "intr")]),
    things("procs_running")
        .dstat(&[("procs", "run")])
        .sar(&["runq-sz"])
        .vmstat("r")
        .collectl(&[(VerboseCpu, "Run", 1), (Plot, "[CPU]ProcRun", 1)])
        .nmon(&[("PROC", "Runnable")])
        .atop(&[("PRC", "#trun")])
        .top(&[("Tasks", "running")]),
    things("procs_blocked")
        .dstat(&[("procs", "blk")])
        .sar(&["blocked"])
        .vmstat("b")
        .collectl(&[(VerboseCpu, "BlkTot", 1), (Plot, "[CPU]BlkTot", 1)])
        .nmon(&[("PROC", "Blocked")])
        .atop(&[("PRC", "#tslpu")])
        .top(&[("PID", "S D")]),
    things("tasks").sar(&["plist-sz"]).atop(&[("PRC", "#proc")]).top(&[("Tasks", "total")]),
    share("command_cpu_percent").perf_stat(&["task-clock"]),
    things("command_faults"),
    events("command_faults_per_second").perf_stat(&["page-faults", "faults"]),
    // What looking up translations takes. `walk_pending` counts a cycle for each walk that is under way, one or two at once.
    events("cpu_cycles_per_second").perf_stat(&["cycles", "cpu-cycles"]),
    events("load_walk_cycles_per_second").perf_stat(&[
        "dtlb_load_misses.walk_active",
        "dtlb_load_misses.walk_duration",
        "dtlb_load_misses.walk_pending",
    ]),
    events("store_walk_cycles_per_second").perf_stat(&[
        "dtlb_store_misses.walk_active",
        "dtlb_store_misses.walk_duration",
        "dtlb_store_misses.walk_pending",
    ]),
    events("load_misses_per_second").perf_stat(&[
        "dtlb-load-misses",
        "dtlb_load_misses.miss_causes_a_walk",
        "dtlb_load_misses.walk_completed",
        "ls_l1_d_tlb_miss.all_l2_miss",
    ]),
    events("store_misses_per_second").perf_stat(&[
        "dtlb-store-misses",
        "dtlb_store_misses.miss_causes_a_walk",
        "dtlb_store_misses.walk_completed",
    ]),
];

/// The series of that name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Column> {
    COLUMNS.iter().find(|column| column.name == name)
}

/// KiB in the unit of a heading of sar or iostat: sectors of 512 bytes (iostat(1)), MiB, or KiB.
#[must_use]
pub fn kib_of_sar(header: &str) -> f64 {
    match header {
        "bread/s" | "bwrtn/s" | "rd_sec/s" | "wr_sec/s" | "rsec/s" | "wsec/s" | "Blk_read/s" | "Blk_wrtn/s" => 0.5,
        "rMB/s" | "wMB/s" | "MB_read/s" | "MB_wrtn/s" => 1024.0,
        _ => 1.0,
    }
}

/// What nmon prints in a section under a heading.
#[must_use]
pub fn of_nmon(section: &str, header: &str) -> Option<&'static Column> {
    let is_it = |(own, word): &(&str, &str)| {
        *own == section && word.strip_suffix('*').map_or(*word == header, |begin| header.starts_with(begin))
    };
    COLUMNS.iter().find(|column| column.nmon.iter().any(is_it))
}

/// What atop prints in a line behind a label.
#[must_use]
pub fn of_atop(line: &str, label: &str) -> Option<&'static Column> {
    COLUMNS.iter().find(|column| column.atop.contains(&(line, label)))
}

/// What top prints in a line before a label.
#[must_use]
pub fn of_top(line: &str, label: &str) -> Option<&'static Column> {
    COLUMNS.iter().find(|column| column.top.contains(&(line, label)))
}

/// What dstat prints in a group under a heading.
#[must_use]
pub fn of_dstat(group: &str, heading: &str) -> Option<&'static Column> {
    COLUMNS.iter().find(|column| column.dstat.contains(&(group, heading)))
}

/// What an event of perf stat counts, in small letters.
#[must_use]
pub fn of_perf_stat(event: &str) -> Option<&'static Column> {
    COLUMNS.iter().find(|column| column.perf_stat.contains(&event))
}

/// What sar prints under a heading.
#[must_use]
pub fn of_sar(header: &str) -> Option<&'static Column> {
    COLUMNS.iter().find(|column| column.sar.contains(&header))
}

/// What vmstat prints under a heading.
#[must_use]
pub fn of_vmstat(header: &str) -> Option<&'static Column> {
    COLUMNS.iter().find(|column| column.vmstat == Some(header))
}

/// What collectl prints under the `nth` heading of that word in one of these tables, and in which.
#[must_use]
pub fn of_collectl(tables: &[Table], header: &str, nth: usize) -> Option<(&'static Column, Table)> {
    let of = |column: &'static Column| {
        // Older versions print brief headers in lower case.
        let is_named =
            |table: Table, word: &str| word == header || (table == Table::Brief && word.eq_ignore_ascii_case(header));
        let found = column
            .collectl
            .iter()
            .find(|(table, word, at)| tables.contains(table) && *at == nth && is_named(*table, word));
        found.map(|(table, ..)| (column, *table))
    };
    COLUMNS.iter().find_map(of)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counter::ALL;

    #[test]
    fn a_heading_of_a_tool_means_one_thing() {
        let mut seen: Vec<String> = Vec::new();
        for column in COLUMNS {
            let sar = column.sar.iter().map(|header| format!("sar {header}"));
            let vmstat = column.vmstat.map(|header| format!("vmstat {header}"));
            let collectl =
                column.collectl.iter().map(|(table, header, nth)| format!("collectl {table:?} {header} {nth}"));
            let of = |tool: &'static str, all: &'static [(&'static str, &'static str)]| {
                all.iter().map(move |(line, word)| format!("{tool} {line} {word}"))
            };
            let rest = of("nmon", column.nmon)
                .chain(of("atop", column.atop))
                .chain(of("top", column.top))
                .chain(of("dstat", column.dstat));
            let perf_stat = column.perf_stat.iter().map(|event| format!("perf stat {event}"));
            let headers: Vec<String> = sar.chain(vmstat).chain(collectl).chain(rest).chain(perf_stat).collect();
            // Of the busiest disk tools print what they print of each, and of a command how many and not how often.
            let is_found = column.name.starts_with("disk_busiest") || column.name == "command_faults";
            assert!(headers.is_empty() == is_found, "{}", column.name);
            assert!(headers.iter().all(|header| !seen.contains(header)), "{headers:?}");
            seen.extend(headers);
        }
    }

    #[test]
    fn what_stands_in_for_a_quantity_is_printed_by_some_tool() {
        for (source, name) in ALL.iter().flat_map(|quantity| quantity.printed).flat_map(|sum| sum.of) {
            assert!(COLUMNS.iter().any(|column| (column.source, column.name) == (*source, *name)), "{source}.{name}");
        }
    }
}

//! Recordings made of a kernel's documented behaviour: each number as a function of time, in memory.

use pagewise_core::counter::describe;
use pagewise_core::recording::block::Tick;
use pagewise_core::recording::note::Setting;
use pagewise_core::recording::segment::{Column, Segment, TICKS};
use pagewise_core::recording::stack::KERNEL;
use pagewise_core::recording::{
    Block, Durations, Frame, Gap, GapReason, Kind, Mark, ProcessRow, ProcessUsage, Profile, RawUnit, Recorded,
    SamplingEvent, Series, SourceBlock, StackSample, Stacks, StallKind, StallRow, UsageGrowth, Walk,
};
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fmt;
use std::ops::Range;

/// The value of a series at a tick; `None` where its file did not have it. The argument is seconds since the start.
type Value = Box<dyn Fn(f64) -> Option<u64>>;

/// When every made recording begins: an hour after boot.
pub const START: u64 = 3600 * 1_000_000_000;

/// What a process of a made recording uses in a second.
#[derive(Clone, Copy, Debug, Default)]
pub struct EachSecond {
    /// Seconds of CPU time in the kernel.
    pub system: f64,
    /// Faults that wait for a disk.
    pub major_faults: u64,
    /// Faults that need none.
    pub minor_faults: u64,
    /// Bytes by which it becomes larger.
    pub bytes: u64,
}

/// A recording that is being made, and can be read at any time.
pub struct RecordingBuilder {
    seconds: f64,
    hz: f64,
    series: Vec<(Series, Value)>,
    gaps: Vec<Gap>,
    about: BTreeMap<String, String>,
    settings: Vec<Setting>,
    profile: Option<Profile>,
    stalls: Option<Vec<StallRow>>,
    walks: Option<Vec<Walk>>,
    list: Vec<Series>,
}

impl fmt::Debug for RecordingBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a recording of {} s with {} series", self.seconds, self.series.len())
    }
}

const GIB: f64 = 1024.0 * 1024.0;

impl RecordingBuilder {
    /// Nothing but a length and one sample a second.
    #[must_use]
    pub fn new(seconds: u32) -> Self {
        let mut about = BTreeMap::new();
        about.insert("hz".to_owned(), "1".to_owned());
        about.insert("page_size".to_owned(), "4096".to_owned());
        RecordingBuilder {
            seconds: f64::from(seconds),
            hz: 1.0,
            series: Vec::new(),
            gaps: Vec::new(),
            about,
            settings: Vec::new(),
            profile: None,
            stalls: None,
            walks: None,
            list: Vec::new(),
        }
    }

    /// A host of 4 CPUs and 16 GiB with kernel 6.12 that does some work and has no trouble, as its kernel counts it.
    #[must_use]
    pub fn healthy(seconds: u32) -> Self {
        let mut made = RecordingBuilder::new(seconds).about("kernel", "6.12.0").cpu(4, 0.40, 0.05);
        for (name, gib) in [
            ("MemTotal", 16.0),
            ("MemFree", 6.0),
            ("MemAvailable", 11.0),
            ("Buffers", 0.2),
            ("Cached", 5.0),
            ("AnonPages", 4.0),
            ("AnonHugePages", 0.0),
            ("Slab", 0.4),
            ("SReclaimable", 0.3),
            ("SUnreclaim", 0.1),
            ("Unevictable", 0.0),
            ("Mlocked", 0.0),
            ("SwapTotal", 4.0),
            ("SwapFree", 4.0),
            ("Committed_AS", 6.0),
            ("CommitLimit", 12.0),
            ("Hugepagesize", 2.0 / 1024.0),
            ("Shmem", 0.1),
            ("SwapCached", 0.0),
            ("PageTables", 0.02),
            ("KernelStack", 0.01),
            ("VmallocUsed", 0.03),
            ("Percpu", 0.01),
            ("Hugetlb", 0.0),
        ] {
            made = made.gib(name, gib);
        }
        for name in ["HugePages_Total", "HugePages_Free", "HugePages_Rsvd"] {
            made = made.level("meminfo", name, "", |_| 0.0);
        }
        const AT_REST: [&str; 46] = [
            "compact_stall",
            "compact_fail",
            "compact_success",
            "compact_migrate_scanned",
            "compact_free_scanned",
            "compact_daemon_migrate_scanned",
            "compact_daemon_free_scanned",
            "thp_fault_fallback",
            "thp_collapse_alloc",
            "thp_collapse_alloc_failed",
            "thp_underused_split_page",
            "allocstall_normal",
            "allocstall_movable",
            "pgscan_kswapd",
            "pgsteal_kswapd",
            "pgscan_direct",
            "pgsteal_direct",
            "pgscan_anon",
            "pgscan_file",
            "kswapd_low_wmark_hit_quickly",
            "pswpin",
            "pswpout",
            "workingset_refault_anon",
            "workingset_refault_file",
            "workingset_activate_file",
            "oom_kill",
            "numa_hint_faults",
            "numa_hint_faults_local",
            "numa_pages_migrated",
            "numa_miss",
            "zone_reclaim_success",
            "zone_reclaim_failed",
            "unevictable_pgs_stranded",
            "htlb_buddy_alloc_fail",
            "nr_tlb_remote_flush_received",
            "pgmajfault",
            "pgpgin",
            "pgpgout",
            "compact_isolated",
            "pgactivate",
            "pgdeactivate",
            "pginodesteal",
            "slabs_scanned",
            "drop_pagecache",
            "pgrotated",
            "pgmigrate_fail",
        ];
        for name in AT_REST {
            made = made.counter("vmstat", name, "", |_| 0.0);
        }
        made = made.counter("vmstat", "thp_fault_alloc", "", |_| 0.5).counter("vmstat", "numa_hit", "", |_| 20_000.0);
        made = made.counter("vmstat", "pgfree", "", |_| 6_000.0);
        made =
            made.level("cgroups", "nr_descendants", "", |_| 60.0).level("cgroups", "nr_dying_descendants", "", |_| 2.0);
        made = made.counter("vmstat", "pgfault", "", |_| 5_000.0).counter("vmstat", "pgpgin", "", |_| 200.0);
        made = made.level("vmstat", "nr_dirty", "", |_| 2_000.0).level("vmstat", "nr_writeback", "", |_| 0.0);
        made = made.level("vmstat", "nr_dirty_threshold", "", |_| 500_000.0);
        made = made.level("vmstat", "nr_dirty_background_threshold", "", |_| 250_000.0);
        for (source, names) in [
            ("psi_memory", &["some_total", "full_total"][..]),
            ("psi_io", &["some_total"][..]),
            ("psi_cpu", &["some_total"][..]),
        ] {
            for name in names.iter().copied() {
                made = made.counter(source, name, "", |_| 0.0);
            }
        }
        for (name, pages) in [("free", 1.5e6), ("low", 20e3), ("high", 25e3), ("boost", 0.0), ("managed", 4.1e6)] {
            made = made.level("zoneinfo", name, "node=0,zone=Normal", move |_| pages);
        }
        for order in 0..11u32 {
            let blocks = if order == 10 { 1_400.0 } else { 50.0 };
            made =
                made.level("buddyinfo", "free_blocks", &format!("node=0,zone=Normal,order={order}"), move |_| blocks);
        }
        made = made.counter("thp", "khugepaged_full_scans", "", |_| 0.01);
        for (name, rate) in [("anon_fault_alloc", 1.0), ("anon_fault_fallback", 0.0), ("swpout_fallback", 0.0)] {
            made = made.counter("thp", name, "size=64kB", move |_| rate);
        }
        for name in ["sampler_cpu", "writer_cpu"] {
            made = made.counter("self", name, "", |_| 300.0);
        }
        for (name, value) in [
            ("thp.enabled", "madvise"),
            ("thp.defrag", "madvise"),
            ("vm.swappiness", "60"),
            ("vm.watermark_scale_factor", "10"),
            ("vm.watermark_boost_factor", "15000"),
            ("vm.min_free_kbytes", "67584"),
            ("vm.compaction_proactiveness", "20"),
            ("vm.zone_reclaim_mode", "0"),
            ("vm.overcommit_memory", "0"),
            ("vm.page-cluster", "3"),
            ("vm.vfs_cache_pressure", "100"),
            ("vm.nr_hugepages", "0"),
            ("vm.nr_overcommit_hugepages", "0"),
            ("vm.dirty", "20%"),
            ("vm.dirty_background", "10%"),
            ("kernel.numa_balancing", "0"),
            ("khugepaged.pages_to_scan", "4096"),
            ("khugepaged.scan_sleep_millisecs", "10000"),
            ("khugepaged.defrag", "1"),
            ("khugepaged.max_ptes_none", "511"),
            ("mthp[64k].enabled", "inherit"),
            ("mthp[2048k].enabled", "inherit"),
            ("mglru.enabled", "0x0000"),
            ("thp.shrink_underused", "1"),
            ("swap", "partition:4294967296@/dev/vdb"),
        ] {
            made = made.setting(name, value);
        }
        made
    }

    /// A sample each so many seconds.
    #[must_use]
    pub fn every(mut self, seconds: f64) -> Self {
        self.hz = 1.0 / seconds;
        self.about("hz", &(1.0 / seconds).to_string())
    }

    /// So many CPUs, with these parts of all CPU time in programs and in the kernel.
    #[must_use]
    pub fn cpu(mut self, cpus: u32, user: f64, system: f64) -> Self {
        let all = f64::from(cpus) * 100.0;
        let parts = [
            ("user", user),
            ("nice", 0.0),
            ("system", system),
            ("idle", 1.0 - user - system),
            ("iowait", 0.0),
            ("irq", 0.0),
            ("softirq", 0.0),
            ("steal", 0.0),
        ];
        for (name, part) in parts {
            self = self.counter("stat", name, "", move |_| part * all);
        }
        for cpu in 0..cpus {
            self = self.counter("stat", "idle", &format!("cpu={cpu}"), move |_| (1.0 - user - system) * 100.0);
        }
        self
    }

    /// A running total that grows by `rate` per second, at the rate it has at that second.
    #[must_use]
    pub fn counter(self, source: &str, name: &str, labels: &str, rate: impl Fn(f64) -> f64 + 'static) -> Self {
        let value = move |at: f64| {
            let whole: f64 = (0..at.max(0.0) as u64).map(|second| rate(second as f64)).sum();
            Some((1_000.0 + whole + rate(at) * at.fract()) as u64)
        };
        self.series(source, name, labels, Kind::Counter, Box::new(value))
    }

    /// A running total that stands at exactly this.
    #[must_use]
    pub fn total(self, source: &str, name: &str, labels: &str, value: impl Fn(f64) -> Option<u64> + 'static) -> Self {
        self.series(source, name, labels, Kind::Counter, Box::new(value))
    }

    /// A level.
    #[must_use]
    pub fn level(self, source: &str, name: &str, labels: &str, value: impl Fn(f64) -> f64 + 'static) -> Self {
        self.series(source, name, labels, Kind::Gauge, Box::new(move |at| Some(value(at) as i64 as u64)))
    }

    /// A level of `meminfo`, in GiB.
    #[must_use]
    pub fn gib(self, name: &str, gib: f64) -> Self {
        self.level("meminfo", name, "", move |_| gib * GIB)
    }

    fn series(mut self, source: &str, name: &str, labels: &str, kind: Kind, value: Value) -> Self {
        self = self.without(source, name, labels);
        let says_kib = source == "meminfo" && !name.starts_with("HugePages_");
        // What imports give is in hundredths of a whole, as ticks are in hundredths of a second.
        let in_hundredths = source == "threads" || source == "import";
        let unit = if in_hundredths { RawUnit::Ticks } else { describe(source, name, says_kib).0 };
        let (source, name, labels) = (source.to_owned(), name.to_owned(), labels.to_owned());
        let series = Series { source, column: 0, name, labels, unit: Some(unit), kind, first_seen: START };
        self.series.push((series, value));
        self.number()
    }

    /// Columns are numbered within their source.
    fn number(mut self) -> Self {
        let mut next: BTreeMap<String, u32> = BTreeMap::new();
        for (series, _) in &mut self.series {
            let column = next.entry(series.source.clone()).or_default();
            series.column = *column;
            *column += 1;
        }
        self.list = self.series.iter().map(|(series, _)| series.clone()).collect();
        self
    }

    /// Takes a series away.
    #[must_use]
    pub fn without(mut self, source: &str, name: &str, labels: &str) -> Self {
        self.series.retain(|(series, _)| series.source != source || series.name != name || series.labels != labels);
        self.number()
    }

    /// Takes a source away, as on a kernel that has no such file.
    #[must_use]
    pub fn without_source(mut self, source: &str) -> Self {
        self.series.retain(|(series, _)| series.source != source);
        let detail = format!("this kernel has no {source}");
        self.gaps.push(Gap {
            from: START,
            to: None,
            source: Some(source.to_owned()),
            reason: GapReason::Missing,
            ticks: None,
            detail,
        });
        self.number()
    }

    /// Takes all settings away, as in an import.
    #[must_use]
    pub fn without_settings(mut self) -> Self {
        self.settings.clear();
        self
    }

    /// Something about the whole.
    #[must_use]
    pub fn about(mut self, key: &str, value: &str) -> Self {
        self.about.insert(key.to_owned(), value.to_owned());
        self
    }

    /// A setting at the start, in place of what it was.
    #[must_use]
    pub fn setting(mut self, path: &str, value: &str) -> Self {
        self.settings.retain(|setting| setting.path != path);
        let (path, value) = (path.to_owned(), Some(value.to_owned()));
        self.settings.push(Setting { ts: START, path, value, by: "start".to_owned() });
        self
    }

    /// A setting that is seen to be another from that second on.
    #[must_use]
    pub fn changed(mut self, path: &str, second: f64, value: &str) -> Self {
        let ts = START + (second * 1e9) as u64;
        self.settings.push(Setting { ts, path: path.to_owned(), value: Some(value.to_owned()), by: "seen".to_owned() });
        self
    }

    /// The tunable is not there.
    #[must_use]
    pub fn without_setting(mut self, path: &str) -> Self {
        self.settings.retain(|setting| setting.path != path);
        self
    }

    /// A gap.
    #[must_use]
    pub fn gap(mut self, gap: Gap) -> Self {
        self.gaps.push(gap);
        self
    }

    /// Samples of a stack of kernel functions, the outermost first, over the whole time.
    #[must_use]
    pub fn stack(self, comm: &str, pid: Option<u32>, frames: &[&str], count: u64) -> Self {
        let whole = 0.0..self.seconds;
        self.stack_during(whole, comm, pid, frames, count)
    }

    /// The same within these seconds.
    #[must_use]
    pub fn stack_during(
        mut self,
        seconds: Range<f64>,
        comm: &str,
        pid: Option<u32>,
        frames: &[&str],
        count: u64,
    ) -> Self {
        let (from, to) = (START + (seconds.start * 1e9) as u64, START + (seconds.end * 1e9) as u64);
        let profile = self.profile.get_or_insert_with(|| Profile {
            event: Some(SamplingEvent::Cycles),
            hz: Some(99.0),
            ..Profile::default()
        });
        if let Some(stack) = pushed(&mut profile.stacks, frames) {
            let comm = comm.to_owned();
            profile.samples.push(StackSample { from, to, cpu: None, pid, comm, stack, count });
            profile.samples.sort_by_key(|sample| sample.from);
        }
        self
    }

    /// What sampled the stacks.
    #[must_use]
    pub fn sampled_by(mut self, event: SamplingEvent) -> Self {
        self.profile.get_or_insert_with(Profile::default).event = Some(event);
        self
    }

    /// Samples the kernel lost.
    #[must_use]
    pub fn lost(mut self, lost: u64) -> Self {
        self.profile.get_or_insert_with(Profile::default).lost = lost;
        self
    }

    /// So many stalls of a process, each so long, over the whole time.
    #[must_use]
    pub fn stall(mut self, kind: StallKind, comm: &str, pid: u32, order: Option<u8>, each_ms: f64, count: u64) -> Self {
        let mut durations = Durations::default();
        durations.add((each_ms * 1e6) as u64, count);
        let (from, to) = (START, START + (self.seconds * 1e9) as u64);
        let (comm, outcome) = (comm.to_owned(), String::new());
        self.stalls.get_or_insert_default().push(StallRow {
            from,
            to,
            kind,
            pid,
            comm,
            order,
            purpose: None,
            outcome,
            durations,
        });
        self
    }

    /// A process in walks every ten seconds. Each second it uses so many seconds of CPU time in the kernel, waits for so many
    /// pages from disk, and becomes larger by so many bytes than the `resident` it had at the start.
    #[must_use]
    pub fn process(mut self, comm: &str, pid: u32, resident: u64, each_second: EachSecond) -> Self {
        const BEAT: u64 = 10;
        let walks = self.walks.get_or_insert_with(|| {
            let instants =
                (0..=self.seconds as u64).step_by(BEAT as usize).map(|second| START + second * 1_000_000_000);
            instants.map(|at| Walk { from: at, to: at + 2_000_000, processes: 100, rows: Vec::new() }).collect()
        });
        for (beat, walk) in walks.iter_mut().enumerate() {
            let used = |seconds: u64| ProcessUsage {
                system: (each_second.system * seconds as f64 * 1e9) as u64,
                major_faults: each_second.major_faults * seconds,
                minor_faults: each_second.minor_faults * seconds,
                ..ProcessUsage::default()
            };
            let seconds = beat as u64 * BEAT;
            let grown = UsageGrowth { used: used(BEAT), resident: (each_second.bytes * BEAT) as i64 };
            walk.rows.push(ProcessRow {
                pid,
                started: START - 60_000_000_000,
                comm: comm.as_bytes().to_vec(),
                state: 'S',
                threads: 1,
                resident: resident + each_second.bytes * seconds,
                used: used(seconds),
                grown: (beat > 0).then_some(grown),
            });
        }
        self
    }

    /// Stalls were looked for, and there was none beside those that were added.
    #[must_use]
    pub fn stalls_recorded(mut self) -> Self {
        self.stalls.get_or_insert_default();
        self
    }

    fn block(&self, first: u64, count: u64) -> Block {
        let second = |tick: u64| tick as f64 / self.hz;
        let ticks = (first..first + count).map(|tick| Tick {
            begin: START + (second(tick) * 1e9) as u64,
            late: 0,
            // 2026-01-01T00:00:00Z at the start.
            wall_offset: 1_767_225_600_000_000_000 - START as i64,
        });
        let mut sources: Vec<SourceBlock> = Vec::new();
        for (series, value) in &self.series {
            let values: Vec<Option<u64>> = (first..first + count).map(|tick| value(second(tick))).collect();
            let column = match values.iter().copied().collect::<Option<Vec<u64>>>() {
                Some(values) => Column::Always(values),
                None => Column::AtTimes(values),
            };
            match sources.iter_mut().find(|source| source.source == series.source) {
                Some(source) => source.data.columns.push(column),
                None => {
                    let data = Segment { took: vec![Some(10); count as usize], columns: vec![column] };
                    sources.push(SourceBlock { source: series.source.clone(), data });
                }
            }
        }
        Block { first, ticks: ticks.collect(), sources }
    }
}

/// A stack of functions, the outermost first.
pub(crate) fn pushed(stacks: &mut Stacks, frames: &[&str]) -> Option<pagewise_core::recording::StackId> {
    let mut parent = None;
    for name in frames {
        // Functions of programs are written module!name.
        let (module, name) = name.split_once('!').unwrap_or((KERNEL, name));
        let frame = stacks.frame(Frame { name: name.to_owned(), module: module.to_owned() });
        parent = stacks.push(parent, frame);
    }
    parent
}

impl Recorded for RecordingBuilder {
    type Error = Infallible;

    fn series(&self) -> &[Series] {
        &self.list
    }

    fn gaps(&self) -> &[Gap] {
        &self.gaps
    }

    fn blocks(&self) -> impl Iterator<Item = Result<Block, Infallible>> {
        let ticks = (self.seconds * self.hz + 1e-9) as u64 + 1;
        let step = TICKS as u64;
        (0..ticks.div_ceil(step)).map(move |block| Ok(self.block(block * step, step.min(ticks - block * step))))
    }

    fn about(&self, key: &str) -> Option<&str> {
        self.about.get(key).map(String::as_str)
    }

    fn settings(&self) -> Result<Vec<Setting>, Infallible> {
        Ok(self.settings.clone())
    }

    fn marks(&self) -> Result<Vec<Mark>, Infallible> {
        Ok(Vec::new())
    }

    fn profile(&self) -> Result<Option<Profile>, Infallible> {
        Ok(self.profile.clone())
    }

    fn stalls(&self) -> Result<Option<Vec<StallRow>>, Infallible> {
        Ok(self.stalls.clone())
    }

    fn walks(&self) -> Result<Option<Vec<Walk>>, Infallible> {
        Ok(self.walks.clone())
    }
}

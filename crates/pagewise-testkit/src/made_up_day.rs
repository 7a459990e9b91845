//! A day that was never recorded: 24 hours at 1 Hz with a storm in it, a million stack samples, gaps, changes, marks, and
//! names that try to break what shows them. For what must stay quick and whole with a recording of that size.

use pagewise_core::counter::describe;
use pagewise_core::recording::block::Tick;
use pagewise_core::recording::segment::{self, TICKS};
use pagewise_core::recording::stack::KERNEL;
use pagewise_core::recording::tick::SourceRow;
use pagewise_core::recording::{
    Block, Durations, Frame, Gap, GapReason, Mark, ProcessRow, ProcessUsage, Profile, Recorded, SamplingEvent, Series,
    Setting, SourceBlock, StackId, StackSample, StallKind, StallRow, UsageGrowth, Walk,
};
use std::convert::Infallible;

/// What no page and no terminal may stumble over.
pub const HOSTILE: [&str; 8] = [
    "</script><script>console.log('broken out')</script>",
    "<img src=x onerror=console.log(1)>",
    "\"'`${x}\\",
    "line\u{2028}and\u{2029}paragraph",
    "bell\u{7}\u{1b}[2J\u{0}",
    "\u{202e}gnp.exe",
    "<!-- <script> -->",
    "&lt;b&gt;__proto__",
];

const SECOND: u64 = 1_000_000_000;
/// CLOCK_BOOTTIME of the first tick.
const START: u64 = 5_000 * SECOND;
/// 20 November 2026, 00:00 UTC.
const WALL: u64 = 1_795_132_800 * SECOND;
const GIB: u64 = 1 << 20;

const VMSTAT: [&str; 26] = [
    "pgfault",
    "pgmajfault",
    "pgscan_kswapd",
    "pgscan_direct",
    "pgsteal_kswapd",
    "pgsteal_direct",
    "workingset_refault_file",
    "workingset_refault_anon",
    "allocstall_normal",
    "allocstall_movable",
    "compact_stall",
    "compact_fail",
    "compact_daemon_wake",
    "pgscan_direct_throttle",
    "oom_kill",
    "compact_migrate_scanned",
    "compact_free_scanned",
    "pgmigrate_success",
    "thp_fault_alloc",
    "thp_fault_fallback",
    "thp_collapse_alloc",
    "thp_split_page",
    "pswpin",
    "pswpout",
    "pgpgin",
    "pgpgout",
];
const MEMINFO: [&str; 13] = [
    "MemFree",
    "MemAvailable",
    "Buffers",
    "Cached",
    "AnonPages",
    "AnonHugePages",
    "Slab",
    "Unevictable",
    "SwapTotal",
    "SwapFree",
    "Dirty",
    "Writeback",
    "MemTotal",
];
const STAT: [&str; 10] =
    ["user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal", "procs_running", "procs_blocked"];
const PSI: [&str; 2] = ["some_total", "full_total"];
const OWN: [&str; 2] = ["sampler_cpu", "writer_cpu"];

/// The day.
#[derive(Debug)]
pub struct MadeUpDay {
    ticks: u64,
    series: Vec<Series>,
    gaps: Vec<Gap>,
    profile: Profile,
    storm: (u64, u64),
}

/// A sequence that is the same everywhere: 64-bit linear congruential, Knuth's MMIX constants.
struct Sequence(u64);

impl Sequence {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end.max(1)
    }
}

impl MadeUpDay {
    /// So many seconds at 1 Hz with so many stack samples; the storm takes the sixth tenth of it.
    #[must_use]
    pub fn of(ticks: u64, samples: u64) -> MadeUpDay {
        let sources: [(&str, &[&str]); 7] = [
            ("vmstat", &VMSTAT),
            ("meminfo", &MEMINFO),
            ("stat", &STAT),
            ("psi_memory", &PSI),
            ("psi_io", &PSI),
            ("psi_cpu", &PSI),
            ("self", &OWN),
        ];
        let series = sources.iter().flat_map(|(source, names)| {
            names.iter().zip(0..).map(move |(name, column)| {
                let (unit, kind) = describe(source, name, *source == "meminfo");
                let (source, name, labels) = ((*source).to_owned(), (*name).to_owned(), String::new());
                Series { source, column, name, labels, unit: Some(unit), kind, first_seen: START }
            })
        });
        let storm = (ticks / 2, ticks * 6 / 10);
        let gap = |from: u64, to: u64, reason, detail: &str| Gap {
            from: START + from * SECOND + SECOND / 2,
            to: Some(START + to * SECOND - SECOND / 2),
            source: None,
            reason,
            ticks: Some(to - from),
            detail: detail.to_owned(),
        };
        let gaps = vec![
            gap(ticks * 2 / 10, ticks * 23 / 100, GapReason::Suspended, "the machine was suspended"),
            Gap {
                from: START,
                to: None,
                source: Some("zoneinfo".to_owned()),
                reason: GapReason::Missing,
                ticks: None,
                detail: HOSTILE[0].to_owned(),
            },
            gap(ticks * 8 / 10, ticks * 8 / 10 + 9, GapReason::Late, "the sampler was not given a CPU"),
        ];
        let profile = profile(ticks, samples, storm);
        MadeUpDay { ticks, series: series.collect(), gaps, profile, storm }
    }

    /// 24 hours with a million stack samples.
    #[must_use]
    pub fn whole() -> MadeUpDay {
        MadeUpDay::of(86_400, 1_000_000)
    }

    fn is_seen(&self, tick: u64) -> bool {
        let at = START + tick * SECOND;
        self.gaps.iter().all(|gap| gap.source.is_some() || gap.to.is_none_or(|to| !(gap.from..to).contains(&at)))
    }
}

/// A tree of some ten thousand stacks: programs above, the ways into memory management below, a tail of rare ones.
fn profile(ticks: u64, samples: u64, storm: (u64, u64)) -> Profile {
    let mut profile = Profile { event: Some(SamplingEvent::CpuClock), hz: Some(19.0), lost: 12, ..Profile::default() };
    let stacks = &mut profile.stacks;
    let mut push = |path: &[(&str, &str)]| -> StackId {
        let mut parent = None;
        for (name, module) in path {
            let frame = stacks.frame(Frame { name: (*name).to_owned(), module: (*module).to_owned() });
            parent = stacks.push(parent, frame);
        }
        parent.unwrap_or(StackId(0))
    };
    let entry = [("asm_exc_page_fault", KERNEL), ("exc_page_fault", KERNEL), ("do_user_addr_fault", KERNEL)];
    let fault = [("handle_mm_fault", KERNEL), ("__handle_mm_fault", KERNEL)];
    let huge = [("do_huge_pmd_anonymous_page", KERNEL), ("__alloc_pages_slowpath.constprop.0", KERNEL)];
    let compact = [
        ("__alloc_pages_direct_compact", KERNEL),
        ("try_to_compact_pages", KERNEL),
        ("compact_zone", KERNEL),
        ("_raw_spin_unlock_irqrestore", KERNEL),
    ];
    let start = [("thread_native_entry(Thread*)", "libjvm.so"), ("Interpreter", "[jit]")];
    let sort = "org.apache.hadoop.mapred.MapTask$MapOutputBuffer.sortAndSpill";
    let main = |rest: &[(&'static str, &'static str)]| {
        let mut path = start.to_vec();
        path.push((sort, "[jit]"));
        path.extend_from_slice(rest);
        path
    };
    let work = push(&main(&[("org.apache.hadoop.util.QuickSort.sortInternal", "[jit]")]));
    let copy = push(&main(&[("memcpy_avx_unaligned_erms", "libc.so.6")]));
    let faults = push(&main(&[&entry[..], &fault[..], &[("clear_page_erms", KERNEL)]].concat()));
    let compaction = push(&main(&[&entry[..], &fault[..], &huge[..], &compact[..]].concat()));
    let idle = push(&[("secondary_startup_64", KERNEL), ("do_idle", KERNEL), ("pv_native_safe_halt", KERNEL)]);
    let daemon = push(&[("ret_from_fork", KERNEL), ("kcompactd", KERNEL), ("compact_zone", KERNEL)]);
    let hostile: Vec<StackId> = HOSTILE.iter().map(|name| push(&[(name, name), ("main", name)])).collect();
    let tail: Vec<StackId> = (0..8_000u64)
        .map(|number| {
            let (library, function) = (format!("lib{}.so", number % 40), format!("work_{number}(std::vector<int>&)"));
            push(&[("main", "job"), (&format!("stage_{}", number % 97), "job"), (&function, &library)])
        })
        .collect();
    let mut dice = Sequence(7);
    for number in 0..samples {
        let at = number * ticks / samples.max(1);
        let in_storm = (storm.0..storm.1).contains(&at);
        let (comm, stack) = match (dice.below(100), in_storm) {
            (0..60, true) => ("java", compaction),
            (60..70, true) => ("kcompactd0", daemon),
            (0..34, false) => ("java", work),
            (34..46, false) => ("java", copy),
            (46..52, false) => ("java", faults),
            (52..68, false) => ("swapper/0", idle),
            (70..71, _) => {
                let one = dice.below(HOSTILE.len() as u64) as usize;
                (HOSTILE[one], hostile[one])
            }
            _ => ("job", tail[dice.below(tail.len() as u64) as usize]),
        };
        profile.samples.push(StackSample {
            from: START + at / 10 * 10 * SECOND,
            to: START + (at / 10 + 1) * 10 * SECOND,
            cpu: Some((number % 2) as u32),
            pid: Some(1000),
            comm: comm.to_owned(),
            stack,
            count: 1,
        });
    }
    profile
}

/// Totals and levels of one second after another.
struct Running {
    totals: Vec<u64>,
    dice: Sequence,
}

impl MadeUpDay {
    fn row(&self, tick: u64, running: &mut Running) -> [Vec<u64>; 7] {
        let in_storm = (self.storm.0..self.storm.1).contains(&tick);
        let mut noise = |size: u64| running.dice.below(size);
        let wave = |period: u64, height: u64| {
            let phase = tick % period;
            let up = phase.min(period - phase);
            up * 2 * height / period
        };
        let busy = 60 + wave(3600, 80) + noise(20);
        let grown: [u64; 26] = if in_storm {
            let n = noise(100);
            [
                9_000 + n * 30,
                n / 20,
                22_000 + n * 400,
                9_000 + n * 200,
                8_000 + n * 90,
                3_000 + n * 50,
                900 + n * 9,
                n * 3,
                20 + n,
                60 + n,
                180 + n * 3,
                150 + n * 3,
                5,
                n / 50,
                0,
                400_000 + n * 6_000,
                900_000 + n * 9_000,
                9_000 + n * 70,
                30 + n,
                150 + n * 2,
                2,
                8,
                0,
                n * 2,
                9_000 + n * 100,
                40_000 + n * 900,
            ]
        } else {
            let n = noise(100);
            [
                2_000 + n * 20 + wave(600, 4000),
                n / 90,
                n * wave(1800, 40),
                0,
                n * wave(1800, 38),
                0,
                n / 7,
                0,
                0,
                0,
                0,
                0,
                0,
                0,
                0,
                0,
                0,
                n / 9,
                60 + n,
                0,
                u64::from(n > 95),
                0,
                0,
                0,
                2_000 + n * 90,
                9_000 + n * 300 + wave(900, 60_000),
            ]
        };
        let cpu: [u64; 8] = if in_storm {
            let system = 120 + noise(60);
            [198 - system.min(190), 0, system, 4, 1, 0, 1, 2]
        } else {
            let user = busy.min(180);
            let system = 6 + noise(6);
            [user, 0, system, 198 - user - system.min(198 - user), 1, 0, 1, u64::from(noise(40) == 0)]
        };
        // A spike of one second that a picture of a day must not lose.
        let spike = u64::from(tick == self.ticks * 35 / 100);
        let add = |totals: &mut Vec<u64>, at: usize, by: u64| {
            totals[at] += by;
            totals[at]
        };
        let t = &mut running.totals;
        let mut vmstat: Vec<u64> = grown.iter().enumerate().map(|(at, by)| add(t, at, *by)).collect();
        vmstat[1] = add(t, 1, spike * 9_000);
        let mut stat: Vec<u64> = cpu.iter().enumerate().map(|(at, by)| add(t, 26 + at, *by)).collect();
        stat.extend([2 + busy / 60, u64::from(in_storm) * 3]);
        let stall = if in_storm { 300_000 } else { wave(1800, 9_000) };
        let psi_memory = vec![add(t, 40, stall), add(t, 41, stall / 4)];
        let psi_io = vec![add(t, 42, 20_000 + stall / 9), add(t, 43, 9_000)];
        let psi_cpu = vec![add(t, 44, 90_000), add(t, 45, 0)];
        let own = vec![add(t, 46, 480), add(t, 47, 110)];
        let cache = 9 * GIB + wave(1800, 6 * GIB);
        let anon = if in_storm { 11 * GIB } else { 4 * GIB + wave(3600, 4 * GIB) };
        let free = (24 * GIB).saturating_sub(cache + anon + GIB);
        let meminfo = vec![
            free,
            free + cache / 2,
            90_000,
            cache,
            anon,
            if in_storm { 2 * GIB } else { anon / 2 },
            GIB / 2,
            0,
            8 * GIB,
            8 * GIB,
            wave(900, 600_000),
            wave(900, 40_000),
            24 * GIB,
        ];
        [vmstat, meminfo, stat, psi_memory, psi_io, psi_cpu, own]
    }
}

impl Recorded for MadeUpDay {
    type Error = Infallible;

    fn series(&self) -> &[Series] {
        &self.series
    }

    fn gaps(&self) -> &[Gap] {
        &self.gaps
    }

    fn blocks(&self) -> impl Iterator<Item = Result<Block, Infallible>> {
        let mut running = Running { totals: vec![0; 48], dice: Sequence(42) };
        let names = ["vmstat", "meminfo", "stat", "psi_memory", "psi_io", "psi_cpu", "self"];
        (0..self.ticks.div_ceil(TICKS as u64)).map(move |block| {
            let from = block * TICKS as u64;
            let to = (from + TICKS as u64).min(self.ticks);
            let (mut ticks, mut rows) = (Vec::new(), vec![Vec::new(); names.len()]);
            for tick in from..to {
                let row = self.row(tick, &mut running);
                if !self.is_seen(tick) {
                    continue;
                }
                let wall_offset = (WALL - START) as i64;
                ticks.push(Tick { begin: START + tick * SECOND, late: 0, wall_offset });
                for (rows, values) in rows.iter_mut().zip(row) {
                    rows.push(Some(SourceRow { took: 10, values: values.into_iter().map(Some).collect() }));
                }
            }
            let sources = names.iter().zip(&rows).map(|(name, rows)| SourceBlock {
                source: (*name).to_owned(),
                data: segment::decode(&segment::encode(rows)).expect("what was packed can be unpacked"),
            });
            Ok(Block { first: from, ticks, sources: sources.collect() })
        })
    }

    fn about(&self, key: &str) -> Option<&str> {
        match key {
            "kernel" => Some("6.12.0-made-up"),
            "page_size" => Some("4096"),
            "hz" => Some("1"),
            "complete" => Some("1"),
            "pagewise" => Some("0.1.0"),
            "anchor_wall_offset_ns" => Some("1795127800000000000"),
            _ => None,
        }
    }

    fn settings(&self) -> Result<Vec<Setting>, Infallible> {
        let at = |tick: u64, path: &str, value: &str, by: &str| Setting {
            ts: START + tick * SECOND,
            path: path.to_owned(),
            value: Some(value.to_owned()),
            by: by.to_owned(),
        };
        Ok(vec![
            at(0, "thp.enabled", "always", "start"),
            at(0, "thp.defrag", "madvise", "start"),
            at(0, "vm.swappiness", "60", "start"),
            at(0, HOSTILE[1], HOSTILE[0], "start"),
            at(self.storm.0, "thp.defrag", "always", "seen"),
            at(self.storm.1, "thp.defrag", "defer+madvise", "seen"),
        ])
    }

    fn marks(&self) -> Result<Vec<Mark>, Infallible> {
        let at =
            |tick: u64, text: &str| Mark { ts: START + tick * SECOND, source: "user".into(), text: text.to_owned() };
        Ok(vec![at(self.ticks * 4 / 10, "stage 1 begins"), at(self.ticks * 7 / 10, HOSTILE[0])])
    }

    fn profile(&self) -> Result<Option<Profile>, Infallible> {
        Ok(Some(self.profile.clone()))
    }

    fn stalls(&self) -> Result<Option<Vec<StallRow>>, Infallible> {
        let row = |tick: u64, kind, comm: &str, each: u64, times: u64| {
            let mut durations = Durations::default();
            durations.add(each, times);
            durations.add(each * 30, times / 20);
            let (from, to) = (START + tick * SECOND, START + (tick + 10) * SECOND);
            let outcome = String::new();
            StallRow {
                from,
                to,
                kind,
                pid: 1000,
                comm: comm.to_owned(),
                order: Some(9),
                purpose: None,
                outcome,
                durations,
            }
        };
        let rows = (self.storm.0 / 10 * 10..self.storm.1).step_by(10).flat_map(|tick| {
            [
                row(tick, StallKind::Compaction, "java", 4_000_000, 900 + tick % 90),
                row(tick, StallKind::DirectReclaim, "java", 900_000, 300),
                row(tick, StallKind::BackgroundCompaction, "kcompactd0", 9_000_000, 200),
                row(tick, StallKind::DirtyBalance, HOSTILE[0], 20_000_000, 20),
            ]
        });
        Ok(Some(rows.collect()))
    }

    fn walks(&self) -> Result<Option<Vec<Walk>>, Infallible> {
        const BEAT: u64 = 30;
        let row = |pid: u32, comm: &[u8], tick: u64, resident: u64, major_faults: u64| {
            let used = |seconds: u64| ProcessUsage {
                user: seconds * SECOND / 2,
                system: seconds * SECOND / 8,
                minor_faults: seconds * 100,
                major_faults: seconds * major_faults,
            };
            let grown = UsageGrowth { used: used(BEAT), resident: 1 << 20 };
            ProcessRow {
                pid,
                started: START - 40 * SECOND,
                comm: comm.to_vec(),
                state: 'S',
                threads: 40,
                resident: resident + ((tick / BEAT) << 20),
                used: used(40 + tick),
                grown: (tick > 0).then_some(grown),
            }
        };
        let walk = |tick: u64| {
            let from = START + tick * SECOND;
            let rows = vec![
                row(1000, b"java", tick, 6 << 30, 3),
                row(1001, HOSTILE[0].as_bytes(), tick, 1 << 30, 0),
                row(1002, b"gr\xc3\xb6\xc3", tick, 90 << 20, 1),
            ];
            Walk { from, to: from + 4_000_000, processes: 310, rows }
        };
        Ok(Some((0..self.ticks).step_by(BEAT as usize).map(walk).collect()))
    }
}

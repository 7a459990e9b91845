//! What a stream through the page cache costs a program beside it, and what of that is page reclaim.
//!
//! A victim runs step by step while a stream goes through the page cache. The controls tell the parts of the cost apart: nothing
//! beside it, the copy alone, the same misses without reclaim, all of it. What reclaim costs is buffered less same-misses; what a
//! stream costs is buffered less idle, as Oyama et al. (ROSS 2014) measured it.

mod arguments;
mod companion;
pub mod part;
mod victim;

pub use arguments::{Arguments, Ranks, StreamCgroup, Victim};

use super::{BuiltIn, JobSettings, RunContext, Surroundings, Verification, Workload, WorkloadError};
use crate::process::{Command, Interrupt, JobEnded, Output};
use crate::progress::Progress;
use crate::root::Root;
use crate::scope::Scope;
use crate::source::{guard_threads, kernel_threads};
use companion::Companion;
use pagewise_core::experiment::own_measure::OwnMeasure;
use pagewise_core::experiment::plan;
use pagewise_core::metric::Direction;
use pagewise_core::stats::summary;
use pagewise_core::unit::Bytes;
use part::hot_file::{HotFile, HotReads};
use part::probe::Probed;
use part::reclaimer::Reclaimed;
use part::stream::{Access, ReadMode, Stream, StreamTotals};
use part::{Part, ballast};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What there is to say of it before it runs.
pub const BUILT_IN: BuiltIn = BuiltIn {
    name: "jitter",
    about: "A program beside a stream through the page cache, with the controls that tell reclaim from the rest",
    arguments: arguments::ARGUMENTS,
    options: &[],
    measures: MEASURES,
    steps: &[],
    right: "every step was printed",
    examples: &["jitter run victim=stencil stream=idle", "jitter run stream=buffered rate=600M available=6G"],
    takes_command: true,
    from_plan: |declared, around| Ok(Box::new(Jitter::from_plan(declared, around)?)),
};

const fn measure(name: &'static str, unit: &'static str, meaning: &'static str) -> OwnMeasure {
    OwnMeasure { name, unit, direction: Direction::Lower, meaning }
}

const MEASURES: &[OwnMeasure] = &[
    measure("step_sum", "seconds", "all steps of the victim together"),
    measure("step_p50", "seconds", "median step of the victim"),
    measure("step_p90", "seconds", "9 of 10 steps were no longer"),
    measure("step_p99", "seconds", "99 of 100 steps were no longer"),
    measure("step_max", "seconds", "longest step of the victim"),
    measure("alloc_p50", "seconds", "median time to map, touch and unmap 2 MiB, by the probe beside the victim"),
    measure("alloc_p99", "seconds", "99 of 100 of these allocations took no longer"),
    measure("alloc_p999", "seconds", "999 of 1,000 of these allocations took no longer"),
    measure("alloc_over_1ms", "count", "allocations of the probe that took longer than 1 ms"),
    measure("alloc_over_10ms", "count", "allocations of the probe that took longer than 10 ms"),
    OwnMeasure {
        name: "stream_rate",
        unit: "bytes/s",
        direction: Direction::Higher,
        meaning: "what all streams got together while the victim ran",
    },
    measure("stream_cpu", "s/GiB", "CPU seconds of the streams for each GiB they moved"),
    measure("kswapd_cpu", "s/GiB", "CPU seconds of all kswapd threads for each GiB the streams moved (schedstat)"),
    measure("guard_cpu", "s/GiB", "CPU seconds of guards of Pagewise for each GiB the streams moved (schedstat)"),
    OwnMeasure {
        name: "hot_hits",
        unit: "fraction",
        direction: Direction::Higher,
        meaning: "of what the program with the argument hot_file read, the part that was in memory right before",
    },
    measure("reclaimer_cpu", "s/GiB", "CPU seconds of the argument reclaimer for each GiB the streams moved"),
];

/// Of the memory available, the length of the file that a buffered stream reads over and over: the ratio of the published
/// experiment, a file of 100 GB beside 48 GB of memory.
const OF_AVAILABLE: f64 = 2.1;

/// A stream that is to stay in memory goes around in this much.
const CACHED: u64 = 256 << 20;

/// The ballast may take so long to hold its memory.
const BALLAST_WITHIN: Duration = Duration::from_secs(300);

/// A stream may take so long until reclaim has begun, and so much longer for each GiB that has to be filled first.
const STEADY_WITHIN: Duration = Duration::from_secs(60);
const STEADY_PER_GIB: Duration = Duration::from_secs(10);

/// The experiment with its arguments, and once begun with what goes on beside the victim.
pub struct Jitter {
    arguments: Arguments,
    command: Vec<String>,
    folder: PathBuf,
    interrupt: Interrupt,
    cpus: u32,
    /// Holds memory from the first run to the end of the trial: to give it back and take it again between runs would age
    /// memory, and on a host with free page reporting make each run pay for it.
    ballast: Option<Companion>,
    beside: Option<Companions>,
    found: Option<WhatRanBeside>,
}

/// What goes on while a victim runs.
struct Companions {
    hot_file: Option<Companion>,
    streams: Vec<Companion>,
    reclaimer: Option<Companion>,
    probe: Option<Companion>,
    /// The streams' own cgroup.
    scope: Option<Scope>,
    reclaimers: Reclaimers,
}

/// CPU seconds of those who reclaim for others.
#[derive(Clone, Copy, Default)]
struct Reclaimers {
    kswapd: f64,
    guard: f64,
}

impl Reclaimers {
    /// Since boot, or since they began.
    fn now() -> Reclaimers {
        let root = Root::live();
        Reclaimers { kswapd: kernel_threads::kswapd_cpu(&root), guard: guard_threads::cpu(&root) }
    }

    fn since(self, before: Reclaimers) -> Reclaimers {
        let grown = |now: f64, before: f64| (now - before).max(0.0);
        Reclaimers { kswapd: grown(self.kswapd, before.kswapd), guard: grown(self.guard, before.guard) }
    }
}

/// What went on while it ran.
#[derive(Default)]
struct WhatRanBeside {
    streamed: Option<StreamTotals>,
    reclaimers: Reclaimers,
    reclaimed: Reclaimed,
    latencies: Option<Vec<f64>>,
    hot_reads: Option<HotReads>,
}

impl Jitter {
    /// With the arguments a plan declares.
    ///
    /// # Errors
    /// For an unknown argument or a value that cannot be.
    pub fn from_plan(declared: &plan::Workload, around: Surroundings) -> Result<Self, WorkloadError> {
        let mut arguments = Arguments::default();
        for (name, text) in super::as_typed(declared) {
            arguments = arguments.with(name, &text)?;
        }
        arguments.check()?;
        let cpus = std::thread::available_parallelism().map_or(1, |n| u32::try_from(n.get()).unwrap_or(u32::MAX));
        let cache = std::path::absolute(&around.cache_dir).unwrap_or(around.cache_dir);
        Ok(Jitter {
            arguments,
            command: declared.run.clone(),
            folder: cache.join("jitter"),
            interrupt: around.interrupt,
            cpus,
            ballast: None,
            beside: None,
            found: None,
        })
    }

    fn arguments_for(&self, job: &JobSettings) -> Result<Arguments, WorkloadError> {
        let apply = |arguments: Arguments, (name, value): (&String, &String)| arguments.of_level(name, value);
        let arguments = job.workload_args.iter().try_fold(self.arguments.clone(), apply)?;
        arguments.check()?;
        Ok(arguments)
    }

    /// Holds memory until as much is left as was asked for; before later runs, what others on the host took or returned since is made
    /// up for.
    fn hold_ballast(&mut self) -> Result<(), WorkloadError> {
        let Some(leave) = self.arguments.available else { return Ok(()) };
        if let Some(ballast) = &mut self.ballast {
            // The largest process is the first that the OOM killer takes.
            ballast.check()?;
            ballast.begin()?;
            return ballast.ready(&self.interrupt, BALLAST_WITHIN);
        }
        let here = ballast::left().map_err(|error| WorkloadError::Missing(error.to_string()))?;
        if here < leave {
            return Err(WorkloadError::Usage(format!(
                "available={} is more than the {} that this host has free or in caches",
                Bytes(leave),
                Bytes(here)
            )));
        }
        let mut ballast = Companion::start("the ballast", &Part::Ballast(ballast::Ballast { leave }), None)?;
        ballast.ready(&self.interrupt, BALLAST_WITHIN)?;
        self.ballast = Some(ballast);
        Ok(())
    }

    /// What the streams go around in, made where it is not there yet. Every stream has its own.
    fn sources(&self, arguments: &Arguments, way: ReadMode) -> Result<(Vec<PathBuf>, u64), WorkloadError> {
        // The same at every point: what is available differs a little from one to the next.
        let available = match arguments.available {
            Some(available) => available,
            None => ballast::left().map_err(|error| WorkloadError::Missing(error.to_string()))?,
        };
        let whole = if way == ReadMode::Cached { CACHED } else { (available as f64 * OF_AVAILABLE) as u64 };
        // Whole stretches, so that every way goes around in the same.
        let length = (whole / u64::from(arguments.streams)).next_multiple_of(32 << 20);
        fs::create_dir_all(&self.folder).map_err(WorkloadError::file("create", &self.folder))?;
        let of = |number: u32| match arguments.access {
            Access::SmallFiles => small_files(&self.folder.join(format!("small-{number}")), length, &self.interrupt),
            access => {
                let kind = if way == ReadMode::Cached { "cached" } else { "stream" };
                let path = self.folder.join(format!("{kind}-{number}"));
                let blocks = arguments.on_disk || access == Access::Write;
                one_file(&path, length, blocks, &self.interrupt)?;
                Ok(path)
            }
        };
        Ok(((0..arguments.streams).map(of).collect::<Result<_, _>>()?, length))
    }

    fn start_streams(
        &self,
        arguments: &Arguments,
        way: ReadMode,
        cgroup: Option<&Path>,
    ) -> Result<Vec<Companion>, WorkloadError> {
        let (sources, length) = self.sources(arguments, way)?;
        let rate = arguments.rate.map(|rate| (rate / u64::from(arguments.streams)).max(1));
        let start = |from: &PathBuf| {
            let stream = Stream {
                from: from.clone(),
                length,
                way,
                access: arguments.access,
                small_folios: arguments.small_folios,
                rate,
                nice: arguments.stream_nice,
                warmup: f64::from(arguments.warmup),
            };
            Companion::start("the stream", &Part::Stream(stream), cgroup)
        };
        let mut streams = sources.iter().map(start).collect::<Result<Vec<_>, _>>()?;
        let gib = u32::try_from(length >> 30).unwrap_or(u32::MAX);
        let within = STEADY_WITHIN + STEADY_PER_GIB.saturating_mul(gib) + Duration::from_secs(arguments.warmup.into());
        streams.iter_mut().try_for_each(|stream| stream.ready(&self.interrupt, within))?;
        Ok(streams)
    }

    /// A program whose file is in use, and all in memory.
    fn start_hot_file(&self, arguments: &Arguments, cgroup: Option<&Path>) -> Result<Option<Companion>, WorkloadError> {
        let Some(bytes) = arguments.hot_file else { return Ok(None) };
        let file = HotFile::of(self.folder.join("hot"), bytes);
        fs::create_dir_all(&self.folder).map_err(WorkloadError::file("create", &self.folder))?;
        one_file(&file.path, file.length, arguments.on_disk, &self.interrupt)?;
        let mut companion = Companion::start("the program with a hot file", &Part::HotFile(file), cgroup)?;
        companion.ready(&self.interrupt, STEADY_WITHIN)?;
        Ok(Some(companion))
    }

    fn found(&self) -> Result<&WhatRanBeside, String> {
        self.found.as_ref().ok_or_else(|| "what went on beside the job was not counted".to_owned())
    }
}

/// A file of that length: of holes, or with blocks on the disk.
fn one_file(path: &Path, length: u64, blocks: bool, interrupt: &Interrupt) -> Result<(), WorkloadError> {
    use std::os::unix::fs::{FileExt, MetadataExt};
    let file = File::options().read(true).write(true).create(true).truncate(false).open(path);
    let file = file.map_err(WorkloadError::file("create", path))?;
    let there = file.metadata().map_err(WorkloadError::file("read", path))?;
    let has_blocks = there.blocks() * 512 >= length;
    if there.len() >= length && (has_blocks == blocks || there.blocks() == 0 && !blocks) {
        return Ok(());
    }
    // A file with blocks becomes one of holes, and one of holes is written whole.
    file.set_len(0).and_then(|()| file.set_len(length)).map_err(WorkloadError::file("resize", path))?;
    if !blocks {
        return Ok(());
    }
    let piece = vec![0x5a_u8; 8 << 20];
    for at in (0..length).step_by(piece.len()) {
        interrupt.check()?;
        let rest = usize::try_from(length - at).unwrap_or(usize::MAX).min(piece.len());
        file.write_all_at(&piece[..rest], at).map_err(WorkloadError::file("write", path))?;
    }
    file.sync_data().map_err(WorkloadError::file("write", path))
}

/// A folder of small files of holes, as many as make up that length.
fn small_files(folder: &Path, length: u64, interrupt: &Interrupt) -> Result<PathBuf, WorkloadError> {
    use part::stream::{SMALL_FILE, small_file};
    for number in 0..length / SMALL_FILE {
        let path = small_file(folder, number);
        if number % 1000 == 0 {
            interrupt.check()?;
            let parent = path.parent().unwrap_or(folder);
            fs::create_dir_all(parent).map_err(WorkloadError::file("create", parent))?;
        }
        // One that a kill left empty is made again.
        if fs::metadata(&path).map_or(0, |there| there.len()) != SMALL_FILE {
            let made = File::create(&path).and_then(|file| file.set_len(SMALL_FILE));
            made.map_err(WorkloadError::file("create", &path))?;
        }
    }
    Ok(folder.to_owned())
}

impl Workload for Jitter {
    fn describe(&self) -> String {
        let Arguments { victim, ranks, available, .. } = &self.arguments;
        let memory = available
            .map_or_else(String::new, |bytes| format!(", {:.1} GiB available", bytes as f64 / f64::from(1 << 30)));
        let who = match victim {
            Victim::Lammps => "LAMMPS",
            Victim::Stencil => "stencil",
            Victim::Probe => "allocation probe",
            Victim::Jvm => "growing JVM heap",
            Victim::Burst => "bursts of processes",
            Victim::Command => return format!("jitter of {}{memory}", self.command.join(" ")),
        };
        format!(
            "jitter of {who}, {} steps on {} of {} CPUs{memory}",
            self.arguments.steps(),
            ranks.count(self.cpus),
            self.cpus
        )
    }

    fn is_builtin(&self) -> bool {
        true
    }

    fn check_job(&self, job: &JobSettings) -> Result<(), WorkloadError> {
        self.arguments_for(job).map(drop)
    }

    fn prepare_trial(&mut self, _progress: &dyn Progress) -> Result<(), WorkloadError> {
        victim::check(&self.arguments, &self.command, self.cpus)
    }

    fn prepare_run(&mut self, run: &RunContext) -> Result<Vec<Command>, WorkloadError> {
        let arguments = self.arguments_for(&run.job)?;
        self.hold_ballast()?;
        self.found = None;
        let argv = victim::argv(&arguments, &self.command, self.cpus, &run.scratch)?;
        let output = Output::File(printed(run));
        Ok(vec![Command { argv, env: run.job.environment(), dir: Some(run.scratch.clone()), output }])
    }

    fn start_beside(&mut self, run: &RunContext, job: Option<&Path>) -> Result<(), WorkloadError> {
        let arguments = self.arguments_for(&run.job)?;
        let own = arguments.stream_cgroup == StreamCgroup::Own;
        let scope = own.then(|| Scope::beside(&Root::live()));
        let cgroup = scope.as_ref().map_or(job, Scope::folder);
        // Before the streams, as what was in use before they came.
        let hot_file = self.start_hot_file(&arguments, job);
        let streams = match (arguments.stream, &hot_file) {
            (Some(way), Ok(_)) => self.start_streams(&arguments, way, cgroup),
            _ => Ok(Vec::new()),
        };
        // After the streams, which begin once the kernel has reclaimed.
        let reclaimer = match (arguments.reclaimer, &streams) {
            (Some(reclaimer), Ok(_)) => Companion::start("the reclaimer", &Part::Reclaimer(reclaimer), None).map(Some),
            _ => Ok(None),
        };
        let probe = match arguments.probe && arguments.victim != Victim::Probe {
            true => Companion::start("the probe", &Part::Probe, job).map(Some),
            false => Ok(None),
        };
        // From here on `end_beside` ends them and removes the cgroup, whatever goes wrong.
        let reclaimers = Reclaimers::default();
        let mut beside =
            Companions { hot_file: None, streams: Vec::new(), reclaimer: None, probe: None, scope, reclaimers };
        let began = (|| {
            (beside.hot_file, beside.streams) = (hot_file?, streams?);
            (beside.reclaimer, beside.probe) = (reclaimer?, probe?);
            for companion in beside.reclaimer.iter_mut().chain(&mut beside.probe) {
                companion.ready(&self.interrupt, STEADY_WITHIN)?;
            }
            let readers = beside.streams.iter_mut().chain(&mut beside.hot_file);
            let all = readers.chain(&mut beside.reclaimer).chain(&mut beside.probe);
            all.into_iter().try_for_each(Companion::begin)
        })();
        beside.reclaimers = Reclaimers::now();
        self.beside = Some(beside);
        began
    }

    fn end_beside(&mut self) -> Result<(), WorkloadError> {
        let Some(Companions { hot_file, streams, reclaimer, probe, scope, reclaimers }) = self.beside.take() else {
            return Ok(());
        };
        let ballast = self.ballast.as_mut().map_or(Ok(()), Companion::check);
        let reclaimers = Reclaimers::now().since(reclaimers);
        let streamed: Result<Vec<StreamTotals>, _> = streams.into_iter().map(Companion::end).collect();
        let hot_reads: Result<Option<HotReads>, _> = hot_file.map(Companion::end).transpose();
        let reclaimed: Result<Option<Reclaimed>, _> = reclaimer.map(Companion::end).transpose();
        let probed: Result<Option<Probed>, _> = probe.map(Companion::end).transpose();
        if let Some(scope) = scope {
            scope.remove();
        }
        ballast?;
        let streamed = streamed?;
        let all = |of: fn(&StreamTotals) -> f64| streamed.iter().map(of).sum::<f64>();
        let total = StreamTotals {
            bytes: streamed.iter().map(|one| one.bytes).sum(),
            seconds: all(|one| one.seconds) / streamed.len().max(1) as f64,
            cpu: all(|one| one.cpu),
        };
        self.found = Some(WhatRanBeside {
            streamed: (!streamed.is_empty()).then_some(total),
            reclaimers,
            reclaimed: reclaimed?.unwrap_or_default(),
            latencies: probed?.map(|probed| probed.latencies),
            hot_reads: hot_reads?,
        });
        Ok(())
    }

    fn measures(&self) -> &'static [OwnMeasure] {
        MEASURES
    }

    fn measure(&self, name: &str, run: &RunContext, _ended: &JobEnded) -> Result<f64, String> {
        if let Some(of_steps) = name.strip_prefix("step_") {
            let path = printed(run);
            let text = fs::read(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
            return of_sample(of_steps, &victim::steps(&self.arguments, &String::from_utf8_lossy(&text))?);
        }
        let found = self.found()?;
        if let Some(of_allocations) = name.strip_prefix("alloc_") {
            let latencies = found.latencies.as_deref().ok_or("the probe did not run beside the victim")?;
            return of_sample(of_allocations, latencies);
        }
        if name == "hot_hits" {
            let reads = found.hot_reads.filter(|reads| reads.bytes > 0).ok_or("no program had a hot file")?;
            return Ok(reads.cached as f64 / reads.bytes as f64);
        }
        let streamed = found.streamed.ok_or("there was no stream")?;
        let gib = streamed.bytes as f64 / f64::from(1 << 30);
        match name {
            "stream_rate" => Ok(streamed.bytes as f64 / streamed.seconds),
            "stream_cpu" => Ok(streamed.cpu / gib),
            "kswapd_cpu" => Ok(found.reclaimers.kswapd / gib),
            "guard_cpu" => Ok(found.reclaimers.guard / gib),
            "reclaimer_cpu" => Ok(found.reclaimed.cpu / gib),
            _ => Err(format!("the workload does not measure {name}")),
        }
    }

    fn verify_run(&mut self, run: &RunContext) -> Result<Verification, WorkloadError> {
        let path = printed(run);
        let text = fs::read(&path).map_err(WorkloadError::file("read", &path))?;
        let text = String::from_utf8_lossy(&text);
        let found = victim::steps(&self.arguments, &text).map_or(0, |steps| steps.len());
        let wanted = self.arguments.steps() as usize;
        Ok(match self.arguments.victim {
            Victim::Command if found > 0 => Verification::Right,
            Victim::Command => Verification::Wrong("the victim's output has no step".to_owned()),
            _ if found == wanted => Verification::Right,
            _ => Verification::Wrong(format!("the victim printed {found} of {wanted} steps")),
        })
    }

    fn clean_run(&mut self, _run: &RunContext) -> Result<(), WorkloadError> {
        // Where the timed commands were never started.
        let _ = self.end_beside();
        Ok(())
    }

    fn forget(&mut self) -> Result<Option<PathBuf>, WorkloadError> {
        match fs::remove_dir_all(&self.folder) {
            Ok(()) => Ok(Some(self.folder.clone())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(WorkloadError::file("remove", &self.folder)(error)),
        }
    }
}

/// What the victim prints goes here.
fn printed(run: &RunContext) -> PathBuf {
    run.scratch.join("victim.txt")
}

/// `sum`, `max`, `p99`, `over_10ms`, … of a sample.
fn of_sample(what: &str, sample: &[f64]) -> Result<f64, String> {
    let over = |limit: f64| sample.iter().filter(|value| **value > limit).count() as f64;
    let at = |share: f64| summary::quantile(sample, share).ok_or_else(|| "nothing was measured".to_owned());
    match what {
        "sum" => Ok(sample.iter().sum()),
        "max" => at(1.0),
        "p50" => at(0.5),
        "p90" => at(0.9),
        "p99" => at(0.99),
        "p999" => at(0.999),
        "over_1ms" => Ok(over(1e-3)),
        "over_10ms" => Ok(over(1e-2)),
        _ => Err(format!("the workload does not measure {what}")),
    }
}

//! Spark's own log of a job, folded line by line into what the rules ask for. The memory it takes is bounded whatever the log
//! has: events are many, and who wrote them is not known.
//!
//! Events as `JsonProtocol` writes them (Spark 3.5 to 4.3): an object per line that begins with its name.

use super::spark_size;
use super::version::Version;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};

/// Entries of each table that are kept. A job that has more is judged by the first ones, and that is said.
const MOST: usize = 100_000;
/// Blocks whose size is kept.
const MOST_BLOCKS: usize = 400_000;
/// Bytes of a setting's value that are kept.
const LONGEST_VALUE: usize = 64 << 10;
/// RDDs of one stage that are judged.
const MOST_IN_STAGE: usize = 10_000;

/// A job as its log tells it.
#[derive(Clone, Debug, Default)]
pub struct EventLog {
    /// Lines that were events.
    pub events: u64,
    /// Lines that were none, the last one apart.
    pub unreadable: u64,
    /// Whether the last line ends in the middle, as where the job was killed or is still running.
    pub is_cut: bool,
    /// Whether a table was full.
    pub is_more_than_kept: bool,
    /// Version of Spark.
    pub spark: Option<Version>,
    /// Version of the driver's Java.
    pub java: Option<Version>,
    /// The application's name.
    pub name: Option<String>,
    /// Begin, end and the latest instant of the log, milliseconds since 1970.
    pub began: Option<i64>,
    /// See above.
    pub ended: Option<i64>,
    pub(super) latest: Option<i64>,
    /// Spark's configuration.
    pub properties: BTreeMap<String, String>,
    /// Executors by their name, with their cores.
    pub executors: BTreeMap<String, u64>,
    /// What its block manager may hold in the heap, the largest.
    pub storage_limit: u64,
    /// Of all tasks together.
    pub tasks: Tasks,
    /// Length of each job that ended, milliseconds.
    pub jobs: Vec<u64>,
    pub(super) open_jobs: BTreeMap<u64, i64>,
    /// Bytes that each stage wrote for a shuffle.
    pub shuffles: BTreeMap<u64, u64>,
    /// RDDs that were to be cached.
    pub cached: BTreeMap<u64, Cached>,
    /// Whether the log has what happened to each block (`spark.eventLog.logBlockUpdates.enabled`).
    pub has_blocks: bool,
    pub(super) blocks: BTreeMap<(u64, u64, u64), u64>,
    pub(super) executor_numbers: BTreeMap<String, u64>,
    pub(super) cached_now: u64,
    pub(super) cached_peak: u64,
    /// Pieces of broadcasts of a size, in memory.
    pub broadcast_pieces: BTreeMap<u64, u64>,
    /// The largest that any executor's own measures reached; 0 where none was seen.
    pub peaks: Peaks,
    /// What the plugin last reported, and how often.
    pub plugin: Option<Plugin>,
}

/// Sums over tasks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tasks {
    /// How many ended, well or not.
    pub count: u64,
    /// Milliseconds that they ran.
    pub run: u64,
    /// Of them in collections.
    pub collecting: u64,
    /// Nanoseconds of CPU.
    pub cpu: u64,
    /// Bytes written for shuffles.
    pub shuffle_written: u64,
    /// Bytes read of shuffles.
    pub shuffle_read: u64,
    /// Bytes of memory whose content was spilled.
    pub spilled: u64,
    /// Bytes read from files and written to them.
    pub files: u64,
    /// The most execution memory of one task, bytes.
    pub peak_execution: u64,
}

/// An RDD that was to be cached.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cached {
    /// Its name.
    pub name: String,
    /// Stages that read it after the one that made it.
    pub reads: u64,
    /// Stages that computed it.
    pub made: u64,
    /// Whether it lies serialized in the heap.
    pub is_serialized: bool,
    /// Whether it lies outside the heap.
    pub is_off_heap: bool,
    /// Whether the program let go of it.
    pub is_let_go: bool,
    /// The most it held in memory, bytes; 0 where the log does not have it.
    pub bytes: u64,
    pub(super) now: u64,
}

/// What an executor measured of itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Peaks {
    /// Bytes of cached blocks in the heap.
    #[serde(rename = "OnHeapStorageMemory")]
    pub storage: u64,
    /// Bytes that tasks hold in the heap by Spark's account.
    #[serde(rename = "OnHeapExecutionMemory")]
    pub execution: u64,
    /// The same outside the heap.
    #[serde(rename = "OffHeapExecutionMemory")]
    pub execution_off_heap: u64,
    /// Bytes of the heap in use.
    #[serde(rename = "JVMHeapMemory")]
    pub heap: u64,
    /// Resident bytes of the process (`spark.executor.processTreeMetrics.enabled`).
    #[serde(rename = "ProcessTreeJVMRSSMemory")]
    pub resident: u64,
}

/// Reports of the plugin.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plugin {
    /// `storage` and so on.
    pub policy: String,
    /// `observe` or `enforce`.
    pub mode: String,
    /// How many.
    pub reports: u64,
    /// What did not go as it should, the most of one executor.
    pub surprises: u64,
    /// By executor, for each of [`PARTS`] bytes resident and of these on huge pages, from the report in which most were resident.
    pub fullest: BTreeMap<String, [(u64, u64); PARTS.len()]>,
}

/// Parts of an executor's memory: the beginning of their names in a report, and words.
pub const PARTS: [(&str, &str); 4] = [
    ("heap.old", "the old part of the heaps"),
    ("heap.young", "the young part of the heaps"),
    ("blocks", "blocks outside the heaps"),
    ("tungsten", "Tungsten's memory outside the heaps"),
];

/// As many executors as are told apart, and the longest name of one: Spark counts them.
const MOST_REPORTING: usize = 4096;
const LONGEST_NAME: usize = 64;

impl Plugin {
    /// Takes a report.
    fn add(&mut self, report: Report) {
        let value = |name: &str| report.values.get(name).map_or(0, |value| (*value).max(0) as u64);
        self.policy = report.policy.chars().take(40).collect();
        self.mode = report.mode.chars().take(40).collect();
        self.reports += 1;
        self.surprises = self.surprises.max(value("surprises"));
        let is_new = !self.fullest.contains_key(&report.executor);
        if is_new && (report.executor.len() > LONGEST_NAME || self.fullest.len() >= MOST_REPORTING) {
            return;
        }
        let own =
            PARTS.map(|(part, _)| (value(&format!("{part}.resident.bytes")), value(&format!("{part}.huge.bytes"))));
        let fullest = self.fullest.entry(report.executor).or_default();
        for (fullest, own) in fullest.iter_mut().zip(own) {
            *fullest = (*fullest).max(own);
        }
    }

    /// The parts that were ever resident, in words, with the bytes resident and of these on huge pages of all executors.
    pub fn placed(&self) -> impl Iterator<Item = (&'static str, u64, u64)> {
        let sum = |part: usize| {
            let all = self.fullest.values().map(|parts| parts[part]);
            all.fold((0u64, 0u64), |sum, own| (sum.0.saturating_add(own.0), sum.1.saturating_add(own.1)))
        };
        PARTS.iter().enumerate().filter_map(move |(part, (_, words))| {
            let (resident, huge) = sum(part);
            (resident > 0).then_some((*words, resident, huge))
        })
    }
}

#[derive(Deserialize)]
struct EventName<'a> {
    #[serde(rename = "Event", borrow)]
    event: std::borrow::Cow<'a, str>,
}

#[derive(Deserialize)]
struct Start {
    #[serde(rename = "Spark Version")]
    version: String,
}

#[derive(Deserialize)]
struct Application {
    #[serde(rename = "App Name", default)]
    name: Option<String>,
    #[serde(rename = "Timestamp")]
    at: i64,
}

#[derive(Deserialize)]
struct Environment {
    #[serde(rename = "JVM Information", default)]
    jvm: BTreeMap<String, String>,
    #[serde(rename = "Spark Properties", default)]
    spark: BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct ExecutorAdded {
    #[serde(rename = "Executor ID")]
    id: String,
    #[serde(rename = "Executor Info")]
    info: ExecutorInfo,
}

#[derive(Deserialize)]
struct ExecutorInfo {
    #[serde(rename = "Total Cores", default)]
    cores: u64,
}

#[derive(Deserialize)]
struct ManagerAdded {
    #[serde(rename = "Maximum Onheap Memory", default)]
    on_heap: u64,
}

#[derive(Deserialize)]
struct JobStart {
    #[serde(rename = "Job ID")]
    id: u64,
    #[serde(rename = "Submission Time")]
    at: i64,
}

#[derive(Deserialize)]
struct JobEnd {
    #[serde(rename = "Job ID")]
    id: u64,
    #[serde(rename = "Completion Time")]
    at: i64,
}

#[derive(Deserialize)]
struct StageCompleted {
    #[serde(rename = "Stage Info")]
    stage: Stage,
}

#[derive(Deserialize)]
struct Stage {
    #[serde(rename = "RDD Info", default)]
    rdds: Vec<Rdd>,
    #[serde(rename = "Failure Reason", default)]
    failure: Option<String>,
    #[serde(rename = "Completion Time", default)]
    at: Option<i64>,
}

#[derive(Deserialize)]
struct Rdd {
    #[serde(rename = "RDD ID")]
    id: u64,
    #[serde(rename = "Name", default)]
    name: String,
    #[serde(rename = "Parent IDs", default)]
    parents: Vec<u64>,
    #[serde(rename = "Storage Level")]
    level: Level,
}

#[derive(Clone, Copy, Deserialize)]
struct Level {
    #[serde(rename = "Use Memory", default)]
    memory: bool,
    #[serde(rename = "Use Off Heap", default)]
    off_heap: bool,
    #[serde(rename = "Deserialized", default)]
    deserialized: bool,
}

#[derive(Deserialize)]
struct TaskEnd {
    #[serde(rename = "Stage ID")]
    stage: u64,
    #[serde(rename = "Task Executor Metrics", default)]
    peaks: Option<Peaks>,
    #[serde(rename = "Task Metrics", default)]
    metrics: Option<Metrics>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Metrics {
    #[serde(rename = "Executor Run Time")]
    run: u64,
    #[serde(rename = "JVM GC Time")]
    collecting: u64,
    #[serde(rename = "Executor CPU Time")]
    cpu: u64,
    #[serde(rename = "Memory Bytes Spilled")]
    spilled: u64,
    #[serde(rename = "Peak Execution Memory")]
    peak_execution: u64,
    #[serde(rename = "Shuffle Read Metrics")]
    read: ShuffleRead,
    #[serde(rename = "Shuffle Write Metrics")]
    written: ShuffleWrite,
    #[serde(rename = "Input Metrics")]
    input: Files,
    #[serde(rename = "Output Metrics")]
    output: Files,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ShuffleRead {
    #[serde(rename = "Remote Bytes Read")]
    remote: u64,
    #[serde(rename = "Local Bytes Read")]
    local: u64,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ShuffleWrite {
    #[serde(rename = "Shuffle Bytes Written")]
    bytes: u64,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Files {
    #[serde(rename = "Bytes Read")]
    read: u64,
    #[serde(rename = "Bytes Written")]
    written: u64,
}

#[derive(Deserialize)]
struct BlockUpdated {
    #[serde(rename = "Block Updated Info")]
    block: Block,
}

#[derive(Deserialize)]
struct Block {
    #[serde(rename = "Block Manager ID")]
    manager: Manager,
    #[serde(rename = "Block ID")]
    id: String,
    #[serde(rename = "Memory Size", default)]
    memory: u64,
}

#[derive(Deserialize)]
struct Manager {
    #[serde(rename = "Executor ID")]
    executor: String,
}

#[derive(Deserialize)]
struct Unpersisted {
    #[serde(rename = "RDD ID")]
    id: u64,
}

#[derive(Deserialize)]
struct StageMetrics {
    #[serde(rename = "Executor Metrics")]
    metrics: Peaks,
}

#[derive(Deserialize)]
struct MetricsUpdate {
    #[serde(rename = "Executor Metrics Updated", default)]
    updated: Vec<StageMetrics>,
}

#[derive(Deserialize)]
struct Report {
    #[serde(rename = "executorId", default)]
    executor: String,
    #[serde(default)]
    policy: String,
    #[serde(default)]
    mode: String,
    #[serde(default)]
    values: BTreeMap<String, i64>,
}

impl EventLog {
    /// Takes the next line.
    pub fn line(&mut self, line: &[u8]) {
        let line = line.trim_ascii();
        if line.is_empty() {
            return;
        }
        // What was cut is the last line, and only what comes after it shows that it was not.
        if std::mem::take(&mut self.is_cut) {
            self.unreadable += 1;
        }
        let Ok(named) = serde_json::from_slice::<EventName>(line) else {
            self.is_cut = true;
            return;
        };
        if self.event(&named.event, line).is_some() {
            self.events += 1;
        } else {
            self.unreadable += 1;
        }
    }

    /// A line that is longer than any event may be: it was passed over.
    pub fn passed_over(&mut self) {
        self.unreadable += 1;
    }

    /// `None`: it is no event of that name.
    fn event(&mut self, name: &str, line: &[u8]) -> Option<()> {
        match name {
            "SparkListenerLogStart" => self.spark = read::<Start>(line)?.version.parse().ok(),
            "SparkListenerApplicationStart" => {
                let application = read::<Application>(line)?;
                self.name = application.name.map(|name| name.chars().take(200).collect());
                self.began = Some(application.at);
                self.seen(application.at);
            }
            "SparkListenerApplicationEnd" => {
                let application = read::<Application>(line)?;
                self.ended = Some(application.at);
                self.seen(application.at);
            }
            "SparkListenerEnvironmentUpdate" => self.environment(read(line)?),
            "SparkListenerExecutorAdded" => {
                let added = read::<ExecutorAdded>(line)?;
                if self.has_room(self.executors.len(), MOST) {
                    self.executors.insert(added.id, added.info.cores);
                }
            }
            "SparkListenerBlockManagerAdded" => {
                self.storage_limit = self.storage_limit.max(read::<ManagerAdded>(line)?.on_heap);
            }
            "SparkListenerJobStart" => {
                let job = read::<JobStart>(line)?;
                self.seen(job.at);
                if self.has_room(self.open_jobs.len(), MOST) {
                    self.open_jobs.insert(job.id, job.at);
                }
            }
            "SparkListenerJobEnd" => {
                let job = read::<JobEnd>(line)?;
                self.seen(job.at);
                if let Some(began) = self.open_jobs.remove(&job.id)
                    && self.has_room(self.jobs.len(), MOST)
                {
                    self.jobs.push(job.at.saturating_sub(began).max(0) as u64);
                }
            }
            "SparkListenerStageCompleted" => {
                let StageCompleted { stage } = read(line)?;
                if let Some(at) = stage.at {
                    self.seen(at);
                }
                if stage.failure.is_none() {
                    self.stage(&stage.rdds);
                }
            }
            "SparkListenerTaskEnd" => self.task(read(line)?),
            "SparkListenerBlockUpdated" => self.block(read::<BlockUpdated>(line)?.block),
            "SparkListenerUnpersistRDD" => {
                if let Some(rdd) = self.cached.get_mut(&read::<Unpersisted>(line)?.id) {
                    rdd.is_let_go = true;
                }
            }
            "SparkListenerStageExecutorMetrics" => self.peaks.raise(&read::<StageMetrics>(line)?.metrics),
            "SparkListenerExecutorMetricsUpdate" => {
                for update in read::<MetricsUpdate>(line)?.updated {
                    self.peaks.raise(&update.metrics);
                }
            }
            "pagewise.spark.Report" => {
                let report = read::<Report>(line)?;
                self.plugin.get_or_insert_default().add(report);
            }
            _ => {}
        }
        Some(())
    }

    fn seen(&mut self, at: i64) {
        self.latest = Some(self.latest.map_or(at, |latest| latest.max(at)));
    }

    fn has_room(&mut self, length: usize, most: usize) -> bool {
        self.is_more_than_kept |= length >= most;
        length < most
    }

    fn environment(&mut self, environment: Environment) {
        self.java = environment.jvm.get("Java Version").and_then(|text| Version::of_java(text).ok());
        let fits = |(name, value): &(String, String)| name.len() + value.len() <= LONGEST_VALUE;
        self.properties = environment.spark.into_iter().filter(fits).take(4096).collect();
    }

    /// A stage computes what it is to cache, or reads it; what lies behind something that is cached already is not touched. The
    /// last RDD of a stage is the one that no other of it is made of.
    fn stage(&mut self, rdds: &[Rdd]) {
        if rdds.len() > MOST_IN_STAGE {
            self.is_more_than_kept = true;
            return;
        }
        let by_id: BTreeMap<u64, &Rdd> = rdds.iter().map(|rdd| (rdd.id, rdd)).collect();
        let parents: BTreeSet<u64> = rdds.iter().flat_map(|rdd| rdd.parents.iter().copied()).collect();
        let mut open: Vec<u64> = by_id.keys().copied().filter(|id| !parents.contains(id)).collect();
        let mut met = BTreeSet::new();
        while let Some(id) = open.pop() {
            let Some(rdd) = by_id.get(&id).filter(|_| met.insert(id)) else { continue };
            if rdd.level.memory {
                let length = self.cached.len();
                if !self.cached.contains_key(&id) && !self.has_room(length, MOST) {
                    continue;
                }
                let cached = self.cached.entry(id).or_default();
                if cached.made > 0 && !cached.is_let_go {
                    cached.reads += 1;
                    continue;
                }
                cached.made += 1;
                cached.is_let_go = false;
                cached.name = rdd.name.chars().take(120).collect();
                cached.is_serialized = !rdd.level.deserialized && !rdd.level.off_heap;
                cached.is_off_heap = rdd.level.off_heap;
            }
            open.extend(&rdd.parents);
        }
    }

    fn task(&mut self, end: TaskEnd) {
        if let Some(peaks) = end.peaks {
            self.peaks.raise(&peaks);
        }
        let Some(metrics) = end.metrics else { return };
        let tasks = &mut self.tasks;
        let add = |sum: &mut u64, more: u64| *sum = sum.saturating_add(more);
        tasks.count += 1;
        add(&mut tasks.run, metrics.run);
        add(&mut tasks.collecting, metrics.collecting);
        add(&mut tasks.cpu, metrics.cpu);
        add(&mut tasks.spilled, metrics.spilled);
        add(&mut tasks.shuffle_written, metrics.written.bytes);
        add(&mut tasks.shuffle_read, metrics.read.remote.saturating_add(metrics.read.local));
        add(&mut tasks.files, metrics.input.read.saturating_add(metrics.output.written));
        tasks.peak_execution = tasks.peak_execution.max(metrics.peak_execution);
        if metrics.written.bytes > 0 {
            let length = self.shuffles.len();
            if self.shuffles.contains_key(&end.stage) || self.has_room(length, MOST) {
                add(self.shuffles.entry(end.stage).or_default(), metrics.written.bytes);
            }
        }
    }

    fn block(&mut self, block: Block) {
        self.has_blocks = true;
        if block.id.starts_with("broadcast_") && block.id.contains("_piece") {
            let length = self.broadcast_pieces.len();
            if block.memory > 0 && (self.broadcast_pieces.contains_key(&block.memory) || self.has_room(length, 10_000))
            {
                *self.broadcast_pieces.entry(block.memory).or_default() += 1;
            }
            return;
        }
        let Some((rdd, part)) = block.id.strip_prefix("rdd_").and_then(|rest| rest.split_once('_')) else { return };
        let (Ok(rdd), Ok(part)) = (rdd.parse::<u64>(), part.parse::<u64>()) else { return };
        let (known, length) = (self.executor_numbers.len() as u64, self.executor_numbers.len());
        if !self.executor_numbers.contains_key(&block.manager.executor) && !self.has_room(length, MOST) {
            return;
        }
        let executor = *self.executor_numbers.entry(block.manager.executor).or_insert(known);
        let key = (executor, rdd, part);
        let (length, rdds) = (self.blocks.len(), self.cached.len());
        let has_room = self.blocks.contains_key(&key) || self.has_room(length, MOST_BLOCKS);
        if !has_room || (!self.cached.contains_key(&rdd) && !self.has_room(rdds, MOST)) {
            return;
        }
        let before = if block.memory == 0 {
            self.blocks.remove(&key).unwrap_or(0)
        } else {
            self.blocks.insert(key, block.memory).unwrap_or(0)
        };
        let change = |sum: u64| sum.saturating_sub(before).saturating_add(block.memory);
        self.cached_now = change(self.cached_now);
        self.cached_peak = self.cached_peak.max(self.cached_now);
        let cached = self.cached.entry(rdd).or_default();
        cached.now = change(cached.now);
        cached.bytes = cached.bytes.max(cached.now);
    }

    /// The heap of the JVMs that computed, bytes: 1 GiB where nobody said (`spark.driver.memory`, `spark.executor.memory`); `None` when the
    /// log has no configuration, or one that is no size.
    #[must_use]
    pub fn heap(&self) -> Option<u64> {
        let name = if self.is_local() { "spark.driver.memory" } else { "spark.executor.memory" };
        if self.properties.is_empty() {
            return None;
        }
        spark_size(self.property(name).unwrap_or("1g"), 1 << 20)
    }

    /// Where the job ran in local mode, the driver is the executor.
    #[must_use]
    pub fn is_local(&self) -> bool {
        let master = self.property("spark.master").unwrap_or("local");
        master == "local" || master.starts_with("local[")
    }

    /// A setting of Spark's.
    #[must_use]
    pub fn property(&self, name: &str) -> Option<&str> {
        self.properties.get(name).map(String::as_str)
    }

    /// Seconds from the first to the last that is known of the job.
    #[must_use]
    pub fn seconds(&self) -> Option<f64> {
        let end = self.ended.or(self.latest)?;
        Some(end.saturating_sub(self.began?).max(0) as f64 / 1e3)
    }

    /// RDDs that a stage of this log computed, to be cached.
    pub fn made(&self) -> impl Iterator<Item = (&u64, &Cached)> {
        self.cached.iter().filter(|(_, cached)| cached.made > 0)
    }

    /// The most that was cached in memory at once, in all executors together, with where it is from. `None`: the log does not
    /// have it.
    #[must_use]
    pub fn cached_bytes(&self) -> Option<(u64, &'static str)> {
        if self.has_blocks {
            return Some((self.cached_peak, "SparkListenerBlockUpdated"));
        }
        let executors = self.executors.keys().filter(|id| self.is_local() || *id != "driver").count().max(1) as u64;
        let peak = self.peaks.storage.saturating_mul(executors);
        (self.peaks.storage > 0).then_some((peak, "OnHeapStorageMemory, the largest executor times their number"))
    }
}

impl Peaks {
    fn raise(&mut self, other: &Peaks) {
        self.storage = self.storage.max(other.storage);
        self.execution = self.execution.max(other.execution);
        self.execution_off_heap = self.execution_off_heap.max(other.execution_off_heap);
        self.heap = self.heap.max(other.heap);
        self.resident = self.resident.max(other.resident);
    }
}

fn read<'a, T: Deserialize<'a>>(line: &'a [u8]) -> Option<T> {
    serde_json::from_slice(line).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rdd(id: u64, parents: &[u64], memory: bool) -> serde_json::Value {
        serde_json::json!({"RDD ID": id, "Name": "r", "Parent IDs": parents, "Storage Level": {"Use Memory": memory, "Deserialized": true}})
    }

    fn stage(log: &mut EventLog, rdds: &[serde_json::Value]) {
        let event = serde_json::json!({"Event": "SparkListenerStageCompleted", "Stage Info": {"Stage ID": 0, "RDD Info": rdds}});
        log.line(event.to_string().as_bytes());
    }

    #[test]
    fn what_is_read_again_is_counted_and_what_lies_behind_it_is_not() {
        let mut log = EventLog::default();
        stage(&mut log, &[rdd(1, &[0], true), rdd(0, &[], false)]);
        stage(&mut log, &[rdd(2, &[1], true), rdd(1, &[0], true), rdd(0, &[], false)]);
        stage(&mut log, &[rdd(3, &[2], false), rdd(2, &[1], true), rdd(1, &[0], true)]);
        assert_eq!((log.cached[&1].reads, log.cached[&2].reads), (1, 1), "the third stage ends at 2");
        log.line(br#"{"Event":"SparkListenerUnpersistRDD","RDD ID":2}"#);
        stage(&mut log, &[rdd(3, &[2], false), rdd(2, &[1], true), rdd(1, &[0], true)]);
        assert_eq!((log.cached[&2].made, log.cached[&1].reads), (2, 2), "let go of, it is made again");
    }

    #[test]
    fn what_the_plugin_placed_is_told_of_when_each_part_was_fullest() {
        let mut log = EventLog::default();
        let mut report = |executor: &str, resident: i64, huge: i64| {
            let event = serde_json::json!({"Event": "pagewise.spark.Report", "executorId": executor, "time": 1, "policy": "storage",
                "mode": "enforce", "values": {"surprises": 0, "heap.old.resident.bytes": resident, "heap.old.huge.bytes": huge,
                "tungsten.resident.bytes": 0, "tungsten.huge.bytes": 0}});
            log.line(event.to_string().as_bytes());
        };
        for (executor, resident, huge) in [("1", 100, 0), ("1", 400, 300), ("1", 50, 50), ("2", 200, 200), ("2", -1, 9)]
        {
            report(executor, resident, huge);
        }
        let plugin = log.plugin.unwrap();
        assert_eq!((plugin.reports, plugin.policy.as_str()), (5, "storage"));
        assert_eq!(plugin.placed().collect::<Vec<_>>(), [("the old part of the heaps", 600, 500)]);
    }

    #[test]
    fn blocks_that_come_and_go_are_summed_and_their_peak_kept() {
        let mut log = EventLog::default();
        let mut update = |id: &str, executor: &str, bytes: u64| {
            let event = serde_json::json!({"Event": "SparkListenerBlockUpdated", "Block Updated Info": {
                "Block Manager ID": {"Executor ID": executor}, "Block ID": id, "Memory Size": bytes}});
            log.line(event.to_string().as_bytes());
        };
        for (id, executor, bytes) in [
            ("rdd_1_0", "1", 100),
            ("rdd_1_0", "2", 50),
            ("rdd_1_0", "1", 0),
            ("broadcast_3_piece0", "1", 4 << 20),
            ("x", "1", 7),
        ] {
            update(id, executor, bytes);
        }
        assert_eq!(log.cached_bytes().map(|(bytes, _)| bytes), Some(150));
        assert_eq!((log.cached[&1].bytes, log.broadcast_pieces[&(4 << 20)]), (150, 1));
        assert_eq!(log.made().count(), 0, "no stage of this log made it");
    }

    #[test]
    fn a_last_line_that_is_cut_is_told_from_one_that_is_wrong() {
        let mut log = EventLog::default();
        log.line(br#"{"Event":"SparkListenerLogStart","Spark Version":"4.1.3"}"#);
        log.line(br#"{"Event":"SparkListenerTaskE"#);
        assert!(log.is_cut && log.unreadable == 0);
        log.line(br#"{"Event":"SparkListenerUnpersistRDD","RDD ID":-1}"#);
        assert!(!log.is_cut && log.unreadable == 2 && log.events == 1);
        assert_eq!(log.spark, Some(Version::of(4, 1, 3)));
    }
}

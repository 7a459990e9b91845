//! What is measured around and during a run: kernel totals at both ends, memory of the run's processes while it runs.

use crate::clock::thread_cpu;
use crate::process::{JobEnded, WATCH_PERIOD, Watch};
use crate::root::Root;
use crate::scope::Scope;
use crate::source::cpu::CpuTimes;
use crate::source::diskstats::Moved;
use crate::source::process::AnonymousMemory;
use crate::source::psi::Pressure;
use crate::source::{SourceError, buddyinfo, cpu, diskstats, process, psi, vmstat};
use pagewise_core::counter::{self, Quantity};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

/// Name to value, and name to the reason why there is none.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measures {
    /// What was measured, in the unit of the catalogue.
    pub values: BTreeMap<String, f64>,
    /// What could not be measured, and why.
    pub absent: BTreeMap<String, String>,
    /// Units of the user's own metrics.
    pub custom_units: BTreeMap<String, String>,
}

/// How a reason ends or goes on where the job did give something: a level may well give no number, and the next run one.
pub(super) const NO_NUMBER: &str = "which is no number";

impl Measures {
    fn put(&mut self, name: &str, value: f64) {
        self.values.insert(name.to_owned(), value);
    }

    fn miss(&mut self, name: &str, reason: impl Into<String>) {
        self.absent.insert(name.to_owned(), reason.into());
    }

    /// Takes a value, or the reason why there is none.
    pub(super) fn put_or_miss(&mut self, name: &str, value: Result<f64, String>) {
        match value {
            Ok(value) if value.is_finite() => self.put(name, value),
            // A bundle keeps numbers as JSON, which has no word for these.
            Ok(value) => self.miss(name, format!("its value is {value}, {NO_NUMBER} to compare")),
            Err(reason) => self.miss(name, reason),
        }
    }
}

/// The kernel's totals at one instant.
#[derive(Debug)]
pub struct Totals {
    /// `/proc/vmstat`.
    pub vmstat: Result<BTreeMap<String, i64>, SourceError>,
    cpu: Result<CpuTimes, SourceError>,
    disk: Result<Moved, SourceError>,
    memory: Result<Pressure, SourceError>,
    io: Result<Pressure, SourceError>,
    unusable: Result<f64, String>,
}

impl Totals {
    /// Reads them now: six files, some tens of microseconds.
    #[must_use]
    pub fn read(root: &Root) -> Totals {
        Totals {
            vmstat: vmstat::read(root),
            cpu: cpu::read(root),
            disk: diskstats::read(root),
            memory: psi::read(root, "memory"),
            io: psi::read(root, "io"),
            unusable: buddyinfo::unusable_index(root),
        }
    }

    /// Share of CPU time that was stolen since `before` for certain, where `/proc/stat` can be read.
    #[must_use]
    pub fn steal_since(&self, before: &Totals) -> Option<f64> {
        Some(self.cpu.as_ref().ok()?.since(*before.cpu.as_ref().ok()?).steal_share_at_least())
    }

    /// The files that are cheap enough to be read every second: without `/proc/buddyinfo`, which takes the lock of every zone.
    #[must_use]
    pub fn read_often(root: &Root) -> Totals {
        Totals {
            vmstat: vmstat::read(root),
            cpu: cpu::read(root),
            disk: diskstats::read(root),
            memory: psi::read(root, "memory"),
            io: psi::read(root, "io"),
            unusable: Err("not read while a block passes".to_owned()),
        }
    }

    /// Share of CPU time that was busy since `before`.
    #[must_use]
    pub fn busy_since(&self, before: &Totals) -> Option<f64> {
        self.cpu.as_ref().ok()?.since(*before.cpu.as_ref().ok()?).busy_share()
    }

    /// OOM kills on the whole host since `before` (`oom_kill` in vmstat, kernel 4.13 and later).
    #[must_use]
    pub fn oom_kills_since(&self, before: &Totals) -> Option<i64> {
        Some(self.vmstat.as_ref().ok()?.get("oom_kill")? - before.vmstat.as_ref().ok()?.get("oom_kill")?)
    }
}

fn difference<T>(
    before: &Result<T, SourceError>,
    after: &Result<T, SourceError>,
    subtract: impl Fn(&T, &T) -> Option<f64>,
    nothing: &str,
) -> Result<f64, String> {
    match (before, after) {
        (Ok(before), Ok(after)) => subtract(before, after).ok_or_else(|| nothing.to_owned()),
        (Err(error), _) | (_, Err(error)) => Err(error.to_string()),
    }
}

/// A run has to last so long for what others did meanwhile to be told: CPU times are counted in ticks. Seconds.
const LONG_FOR_OTHERS: f64 = 1.0;

/// Puts together the measures of a run that has ended. `user_time` is that of its cgroup, where one counts it.
#[must_use]
pub fn collect(
    before: &Totals,
    after: &Totals,
    job: &JobEnded,
    user_time: Option<f64>,
    memory: &MemoryWatch<'_>,
) -> Measures {
    let mut measures = signals(before, after);
    let sum = |of: fn(&crate::process::Ended) -> f64| job.commands.iter().map(of).sum::<f64>();
    measures.put("wall", job.wall);
    measures.put("user", sum(|ended| ended.user));
    measures.put("system", sum(|ended| ended.system));
    let own = user_time.unwrap_or_else(|| sum(|ended| ended.user));
    let others = difference(&before.cpu, &after.cpu, |b, a| a.since(*b).user_share_beside(own), "no CPU time passed");
    let too_short = || Err("the run was shorter than a second".to_owned());
    measures.put_or_miss("others_share", if job.wall >= LONG_FOR_OTHERS { others } else { too_short() });
    measures.put("minor_faults", sum(|ended| ended.minor_faults as f64));
    measures.put("major_faults", sum(|ended| ended.major_faults as f64));
    measures.put("voluntary_switches", sum(|ended| ended.voluntary_switches as f64));
    measures.put("involuntary_switches", sum(|ended| ended.involuntary_switches as f64));
    if job.commands.len() > 1 {
        for (index, ended) in job.commands.iter().enumerate() {
            measures.put(&format!("job_wall[{index}]"), ended.wall);
            measures.custom_units.insert(format!("job_wall[{index}]"), "seconds".to_owned());
        }
    }
    memory.report(&mut measures);
    measures
}

/// Why a share of busy CPU time is absent where CPU times can be read.
pub const NOTHING_RAN: &str = "nothing ran: no CPU was busy for as much as one tick";

/// What the kernel's totals say of the whole host between two instants, which are the signals of a live proof, too: shares, seconds and counts
/// as they came.
#[must_use]
pub fn signals(before: &Totals, after: &Totals) -> Measures {
    let mut measures = Measures::default();
    let share = difference(&before.cpu, &after.cpu, |b, a| a.since(*b).system_share(), NOTHING_RAN);
    measures.put_or_miss("system_share", share);
    let of_all = difference(&before.cpu, &after.cpu, |b, a| a.since(*b).system_share_of_all(), "no CPU time passed");
    measures.put_or_miss("system_share_of_all", of_all);
    let no_full = "this kernel has no 'full' line";
    let grown = |b: f64, a: f64| Some((a - b).max(0.0));
    let memory_some = difference(&before.memory, &after.memory, |b, a| grown(b.some, a.some), "");
    measures.put_or_miss("psi_memory_some", memory_some);
    let memory_full = difference(&before.memory, &after.memory, |b, a| grown(b.full?, a.full?), no_full);
    measures.put_or_miss("psi_memory_full", memory_full);
    measures.put_or_miss("psi_io_some", difference(&before.io, &after.io, |b, a| grown(b.some, a.some), ""));
    let read = difference(&before.disk, &after.disk, |b, a| Some(a.read.saturating_sub(b.read) as f64), "");
    measures.put_or_miss("disk_read", read);
    let written = difference(&before.disk, &after.disk, |b, a| Some(a.written.saturating_sub(b.written) as f64), "");
    measures.put_or_miss("disk_written", written);
    measures.put_or_miss("unusable_index_before", before.unusable.clone());
    measures.put_or_miss("unusable_index_after", after.unusable.clone());
    for (name, quantity) in counter::measured() {
        measures.put_or_miss(name, counted(quantity, before, after));
    }
    measures
}

/// By how much a quantity of `/proc/vmstat` grew.
fn counted(quantity: &Quantity, before: &Totals, after: &Totals) -> Result<f64, String> {
    let (before, after) = match (&before.vmstat, &after.vmstat) {
        (Ok(before), Ok(after)) => (before, after),
        (Err(error), _) | (_, Err(error)) => return Err(error.to_string()),
    };
    let both: BTreeMap<&str, i64> =
        after.iter().filter_map(|(name, now)| Some((name.as_str(), now - before.get(name)?))).collect();
    // The kernel lacks the counter, or was built without huge pages or compaction.
    let grown = vmstat::quantity(&both, quantity);
    grown
        .map(|grown| grown.max(0.0))
        .ok_or_else(|| format!("this kernel does not count {} in /proc/vmstat", quantity.base()))
}

/// How soon the processes of a run without a cgroup are looked up again: often at first, when a job starts its
/// processes, then rarely, because it means reading all of `/proc`.
const RESCAN_FIRST: Duration = Duration::from_millis(150);
const RESCAN_AT_MOST: Duration = Duration::from_secs(5);

/// `/proc/PID/status` has some 1,500 bytes, and up to 11 more for each group that its user is in.
const LONGEST_STATUS: usize = 64 << 10;
/// As many descriptors are kept at most.
const MOST_STATUSES: usize = 256;

/// The share of one core that looking at a run's memory may take. The watcher, the thread that waits for the end and what a longer run lets grow
/// cold take as much again.
const SHARE_OF_A_CORE: f64 = 0.0007;
/// However dear a sample is, it is taken as often.
const LONGEST_PERIOD: Duration = Duration::from_millis(500);

/// How long to wait until the next sample: [`WATCH_PERIOD`], or longer where a sample is dear (many processes, a host
/// where waking up costs much).
#[derive(Debug)]
struct Pace {
    /// CPU time of this thread at the last sample, in nanoseconds.
    used: u64,
    period: Duration,
}

impl Pace {
    fn new() -> Self {
        Pace { used: thread_cpu(), period: WATCH_PERIOD }
    }

    fn sampled(&mut self, used: u64) {
        let cost = Duration::from_nanos(used.saturating_sub(self.used));
        self.used = used;
        let wanted = cost.div_f64(SHARE_OF_A_CORE).clamp(WATCH_PERIOD, LONGEST_PERIOD);
        // One dear sample, as when all processes are looked up, must not put off the next for long.
        self.period = (self.period * 7 + wanted) / 8;
    }
}

/// Samples Σ(RssAnon + RssShmem) over the run's processes about ten times a second, more rarely where a sample is dear.
#[derive(Debug)]
pub struct MemoryWatch<'a> {
    pace: Pace,
    root: &'a Root,
    scope: &'a Scope,
    peak: u64,
    integral: f64,
    last: Option<(Instant, u64)>,
    samples: u32,
    known: Vec<u32>,
    /// Their `status`, kept open: opening it costs more than reading it.
    statuses: BTreeMap<u32, File>,
    text: Vec<u8>,
    /// Those that looked like their parents' copies at the last sample.
    copies: BTreeSet<u32>,
    scanned: Option<Instant>,
    rescan_after: Duration,
}

impl<'a> MemoryWatch<'a> {
    /// Nothing sampled yet.
    #[must_use]
    pub fn new(root: &'a Root, scope: &'a Scope) -> Self {
        let rescan_after = RESCAN_FIRST;
        MemoryWatch {
            pace: Pace::new(),
            root,
            scope,
            peak: 0,
            integral: 0.0,
            last: None,
            samples: 0,
            known: Vec::new(),
            statuses: BTreeMap::new(),
            text: vec![0; LONGEST_STATUS],
            copies: BTreeSet::new(),
            scanned: None,
            rescan_after,
        }
    }

    fn sample(&mut self, leaders: &[u32]) {
        self.find_processes(leaders);
        let known = std::mem::take(&mut self.known);
        let read = |pid: &u32| Some((*pid, self.memory_of(*pid)?));
        let found: BTreeMap<u32, AnonymousMemory> = known.iter().filter_map(read).collect();
        self.statuses.retain(|pid, _| found.contains_key(pid));
        self.known = known;
        if found.is_empty() {
            return;
        }
        let now = Instant::now();
        // A JVM that starts a program is there twice for a moment. Whoever still looks so at the next sample has memory of its own.
        let is_copy = |memory: &AnonymousMemory| found.get(&memory.parent).is_some_and(|parent| memory.is_like(parent));
        let copies: BTreeSet<u32> = found.iter().filter(|(_, memory)| is_copy(memory)).map(|(pid, _)| *pid).collect();
        let counts = |pid: &u32| !copies.contains(pid) || self.copies.contains(pid);
        let counted = found.iter().filter(|(pid, _)| counts(pid));
        let bytes: u64 = counted.map(|(_, memory)| memory.anon + memory.shmem).sum();
        self.copies = copies;
        if let Some((then, before)) = self.last {
            self.integral += (bytes + before) as f64 / 2.0 * (now - then).as_secs_f64();
        }
        self.last = Some((now, bytes));
        self.peak = self.peak.max(bytes);
        self.samples += 1;
    }

    /// `None` when the process is gone.
    fn memory_of(&mut self, pid: u32) -> Option<AnonymousMemory> {
        if !self.root.is_live() {
            return process::anonymous_memory(self.root, pid);
        }
        let file = match self.statuses.entry(pid) {
            Entry::Occupied(kept) => kept.into_mut(),
            Entry::Vacant(place) => place.insert(File::open(format!("/proc/{pid}/status")).ok()?),
        };
        let length = file.read_at(&mut self.text, 0).unwrap_or(0);
        let memory = process::parse_status(&String::from_utf8_lossy(&self.text[..length]));
        if self.statuses.len() > MOST_STATUSES {
            self.statuses.clear();
        }
        memory
    }

    fn find_processes(&mut self, leaders: &[u32]) {
        if self.scope.folder().is_some() {
            self.known = self.scope.processes(self.root, leaders);
            return;
        }
        let now = Instant::now();
        if self.scanned.is_some_and(|scanned| now - scanned < self.rescan_after) {
            return;
        }
        if self.scanned.is_some() {
            self.rescan_after = (self.rescan_after * 2).min(RESCAN_AT_MOST);
        }
        self.scanned = Some(now);
        self.known = self.scope.processes(self.root, leaders);
    }

    fn report(&self, measures: &mut Measures) {
        if self.samples == 0 {
            let reason = "the run ended before its first memory sample, or this kernel does not split RSS (before 4.5)";
            measures.miss("anon_peak", reason);
            measures.miss("anon_integral", reason);
        } else {
            measures.put("anon_peak", self.peak as f64);
            measures.put("anon_integral", self.integral);
        }
        measures.put_or_miss("cgroup_peak", self.scope.peak().map(|bytes| bytes as f64));
    }
}

impl Watch for MemoryWatch<'_> {
    fn tick(&mut self, running: &[u32]) -> bool {
        self.pace.sampled(thread_cpu());
        self.sample(running);
        true
    }

    fn period(&self) -> Duration {
        self.pace.period
    }
}

/// Reads what the job appended to `$PAGEWISE_METRICS`: JSON lines `{"name":…,"value":…,"unit":…}`. A name that occurs
/// several times is averaged, as concurrent jobs each report their own. A line that is none of that is an error: the
/// user's metric must not be lost silently.
///
/// # Errors
/// The line that cannot be read, in words.
pub fn custom_metrics(text: &str, measures: &mut Measures) -> Result<(), String> {
    #[derive(serde::Deserialize)]
    struct Line {
        name: String,
        value: f64,
        #[serde(default)]
        unit: String,
    }
    let mut sums: BTreeMap<String, (f64, u32, String)> = BTreeMap::new();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let parsed: Line = serde_json::from_str(line).map_err(|error| {
            format!(
                "line {} of $PAGEWISE_METRICS is not {{\"name\":…,\"value\":…,\"unit\":…}} ({error}): {}",
                number + 1,
                line.chars().take(80).collect::<String>()
            )
        })?;
        if pagewise_core::metric::find(&parsed.name).is_some() {
            return Err(format!(
                "$PAGEWISE_METRICS reports '{}', which is a measure of Pagewise's own; use another name",
                parsed.name
            ));
        }
        let entry = sums.entry(parsed.name).or_insert((0.0, 0, parsed.unit));
        entry.0 += parsed.value;
        entry.1 += 1;
    }
    for (name, (sum, count, unit)) in sums {
        measures.put_or_miss(&name, Ok(sum / f64::from(count)));
        measures.custom_units.insert(name, unit);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::{Command, Limits, run};
    use pagewise_testkit::FakeHost;

    #[test]
    fn memory_of_a_run_is_seen_with_and_without_a_cgroup() {
        let root = Root::live();
        for with_cgroup in [true, false] {
            let scope = if with_cgroup { Scope::create(&root) } else { Scope::create(&Root::at("/nonexistent")) };
            // tail holds 64 MiB until sleep, which reads none of it, ends.
            let script = "head -c 67108864 /dev/zero | tail -c 67108864 | sleep 1";
            let command = Command { argv: vec!["sh".into(), "-c".into(), script.into()], ..Command::default() };
            let before = Totals::read(&root);
            let mut memory = MemoryWatch::new(&root, &scope);
            let limits = Limits { cgroup: scope.folder(), ..Limits::default() };
            let job = run(&[command], limits, &mut memory).unwrap();
            let measures = collect(&before, &Totals::read(&root), &job, None, &memory);
            drop(memory);
            scope.remove();
            assert!(measures.values["anon_peak"] > 64e6, "cgroup {with_cgroup}: {measures:?}");
            assert!(measures.values["anon_integral"] > 32e6, "cgroup {with_cgroup}: {measures:?}");
            assert!(measures.values["minor_faults"] > 100.0);
            for name in pagewise_core::metric::MEASURES.iter().map(|measure| measure.name) {
                let is_there = measures.values.contains_key(name) || measures.absent.contains_key(name);
                assert!(is_there, "a plan may compare {name}, and no run has it");
            }
        }
    }

    #[test]
    fn dear_samples_are_taken_more_rarely_and_cheap_ones_ten_times_a_second() {
        let mut pace = Pace { used: 0, period: WATCH_PERIOD };
        let mut cost = |nanoseconds: u64, samples: u32| {
            for _ in 0..samples {
                pace.sampled(pace.used + nanoseconds);
            }
            pace.period.as_secs_f64()
        };
        assert_eq!(cost(50_000, 20), WATCH_PERIOD.as_secs_f64());
        assert!(cost(20_000_000, 1) < 0.15, "one dear sample");
        let dear = cost(280_000, 60);
        assert!((0.399..0.401).contains(&dear), "0.28 ms at 0.07 %: {dear} s");
        assert!(cost(1_000_000_000, 60) > 0.499);
        assert!(cost(50_000, 60) < 0.1, "and back again");
    }

    #[test]
    fn a_program_that_is_being_started_counts_once_and_a_second_process_twice() {
        let status = |parent: u32, mib: u64| {
            let kib = mib << 10;
            format!("PPid:\t{parent}\nVmSize:\t{} kB\nRssAnon:\t{kib} kB\nRssShmem:\t0 kB\n", 4 * kib)
        };
        let fake = FakeHost::empty().file("/proc/10/status", &status(1, 1024));
        let (root, scope) = (Root::at(fake.path()), Scope::create(&Root::at("/nonexistent")));
        let mut memory = MemoryWatch::new(&root, &scope);
        let mut sample = |pids: &[u32]| {
            memory.known = pids.to_vec();
            memory.scanned = Some(Instant::now());
            memory.rescan_after = Duration::from_secs(60);
            memory.sample(&[]);
            memory.last.unwrap().1 >> 20
        };
        assert_eq!(sample(&[10]), 1024);
        fake.write("/proc/11/status", &status(10, 1025));
        assert_eq!(sample(&[10, 11]), 1024, "in its parent's memory");
        assert_eq!(sample(&[10, 11]), 2049, "of its own, since it stays");
        fake.write("/proc/11/status", &status(10, 30));
        assert_eq!(sample(&[10, 11]), 1054);
    }

    #[test]
    fn a_users_metric_is_averaged_over_jobs_and_keeps_its_unit() {
        let mut measures = Measures::default();
        let text = "{\"name\":\"rate\",\"value\":2,\"unit\":\"MB/s\"}\n\n{\"name\":\"rate\",\"value\":4}\n";
        custom_metrics(text, &mut measures).unwrap();
        assert_eq!(measures.values["rate"], 3.0);
        assert_eq!(measures.custom_units["rate"], "MB/s");
    }

    #[test]
    fn a_value_that_is_no_finite_number_is_absent_with_its_reason() {
        let mut measures = Measures::default();
        measures.put_or_miss("rate", Ok(f64::NAN));
        let line = "{\"name\":\"sum\",\"value\":1.7e308}\n";
        custom_metrics(&line.repeat(2), &mut measures).unwrap();
        assert!(measures.values.is_empty(), "{measures:?}");
        assert!(measures.absent["rate"].contains("NaN") && measures.absent["sum"].contains("inf"), "{measures:?}");
    }

    #[test]
    fn a_broken_metric_line_is_named() {
        let error = custom_metrics("{\"name\":\"rate\"}", &mut Measures::default()).unwrap_err();
        assert!(error.starts_with("line 1 of $PAGEWISE_METRICS"), "{error}");
        assert!(custom_metrics("{\"name\":\"wall\",\"value\":1}", &mut Measures::default()).is_err());
    }
}

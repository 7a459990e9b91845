//! The recorder: what the kernel says about memory, once a second or faster, into one file, at next to no cost.
//!
//! Two threads for the numbers, one that walks over the control groups, one that walks over the processes, and up to three more
//! that look at stacks and stalls (`looking`). The *sampler* reads kernel files into rows and never touches a file of its own: a disk that is busy writing
//! back dirty pages must not delay the next sample. The *writer* takes the rows from a ring, writes a batch every four
//! seconds, and closes a segment every 300 ticks. None may disturb the job: when the disk is full the recording ends with a
//! reason, and nothing else does.

mod cached_files;
mod flight;
pub mod kept;
mod pmu;
mod processes;
mod redaction;
mod ring;
mod rings;
mod sampler;
mod schedule;
pub(crate) mod settings;
mod stacks;
mod stalls;
mod tracers;
mod writing;

pub use tracers::{FLIGHT_HZ, STACKS, Tracing};

use crate::clock;
use crate::facts::kernel::free_page_reporting;
use crate::root::Root;
use crate::source::cgroup::Group;
use crate::source::polled::{NumberFile, Polled};
use crate::source::{NUMBER_FILES, NumberFiles, Pace, TEXT_FILES, TextFile, boot_id, cgroup, limited_groups, process};
use crate::store::recording::{Batch, CLOCK, CLOCK_COLUMNS, RECORDER, RecordingError, StackRows, Writer};
use pagewise_core::counter::describe;
use pagewise_core::recording::{CACHED_FILES, FREE_PAGE_REPORTING, Gap, GapReason, Series, StallRow, Walk, cached};
use pagewise_core::unit::Bytes;
use redaction::Redaction;
use ring::Ring;
use sampler::{Counts, NAMED_GAPS, Sampler};
use schedule::Schedule;
use settings::Settings;
use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU8, AtomicU64, Ordering};
use std::sync::mpsc::{self, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tracers::Tracers;

/// The fastest rate. Beyond it the files of a large host would take a noticeable share of a CPU.
pub const FASTEST: f64 = 20.0;

/// The slowest rate: a tick in a hundred seconds.
pub const SLOWEST: f64 = 0.01;

/// What a killed recording lacks at its end, at most, as long as the disk takes what is written.
pub const LOSES_AT_MOST_SECONDS: u64 = 5;

/// The source that tells what recording itself costs.
pub const OWN: &str = "self";
const OWN_COLUMNS: [&str; 3] = ["sampler_cpu", "writer_cpu", "walker_cpu"];

/// From one walk over all processes to the next, unless another time is given.
pub const WALK_EVERY: Duration = Duration::from_secs(30);

/// The times that may be given. A walk on a host with thousands of processes takes some hundredths of a second of CPU.
pub const WALKS: std::ops::RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_secs(3600);

/// How long the end of a recording waits for names of functions. What is not named by then has its address.
pub const NAMES_AT_MOST: Duration = Duration::from_secs(8);

/// What the end of a recording waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Closing {
    /// Names of the functions in its last stacks, for [`NAMES_AT_MOST`] and what is under way by then.
    Names,
    /// The disk.
    File,
}

/// How to record.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Samples a second, 0.01 to 20. What costs the kernel more to print (zoneinfo, buddyinfo, swaps, THP) is read once a
    /// second at most, THP every ten seconds while nothing of it changes.
    pub hz: f64,
    /// Bytes the file may use; the oldest segments go first. Checked whenever a segment is closed.
    pub size_cap: Option<u64>,
    /// Control groups whose memory files are recorded, too.
    pub groups: Vec<Group>,
    /// Kept in the file beside what Pagewise says itself.
    pub meta: Vec<(String, String)>,
    /// Stacks and stalls.
    pub tracing: Tracing,
    /// How often all processes are walked over, to keep those that use most; `None`: never.
    pub walk_every: Option<Duration>,
    /// Also what looking up translations costs, by counters of the processor, where it has any.
    pub tlb: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            hz: 1.0,
            size_cap: None,
            groups: Vec::new(),
            meta: Vec::new(),
            tracing: Tracing::default(),
            walk_every: Some(WALK_EVERY),
            tlb: false,
        }
    }
}

/// A recording could not be started or ended.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The rate is out of range.
    #[error("{0} samples a second cannot be taken; give a rate from {SLOWEST} to {FASTEST}")]
    Rate(f64),
    /// The rate of stacks is out of range.
    #[error("stacks cannot be taken {0} times a second; give a rate from {first} to {last}", first = STACKS.start(), last = STACKS.end())]
    StackRate(u32),
    /// The time between walks is out of range.
    #[error(
        "processes cannot be walked over every {:.3} s; give a time from {} s to {} s, or 0 for never",
        .0.as_secs_f64(), WALKS.start().as_secs(), WALKS.end().as_secs()
    )]
    WalkEvery(Duration),
    /// Not even the first segment would fit.
    #[error(
        "a recording of this host cannot stay below {}: what it begins with and its first 300 samples need more; give \
         --size-cap {}K or leave it out", Bytes(*cap), least.div_ceil(1024)
    )]
    CapTooSmall {
        /// What was asked for, in bytes.
        cap: u64,
        /// The smallest that will do.
        least: u64,
    },
    /// The file.
    #[error(transparent)]
    File(#[from] RecordingError),
    /// A thread could not be started.
    #[error("cannot start a thread to record with: {0}")]
    Thread(io::Error),
    /// A defect of ours.
    #[error("the recorder ended unexpectedly; what it had written can be read")]
    Panicked,
}

/// What a recording came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// Ticks that were taken.
    pub samples: u64,
    /// Of those, how many began later than planned by more than 50 ms or half a period.
    pub late: u64,
    /// Stretches without samples, of all sources or of one; files this kernel lacks are among them.
    pub gaps: u64,
    /// Of the first few: the source, and why in one word.
    pub first_gaps: Vec<String>,
    /// CPU time of all threads and of starting, in seconds.
    pub own_cpu_seconds: f64,
    /// Size of the file.
    pub bytes: u64,
    /// Why it ended before it was told to. `None`: it did not, and is complete.
    pub ended: Option<String>,
}

/// What the sampler and [`Recorder::mark`] tell the writer beside ticks. Rare, so it may allocate.
enum Event {
    Series(Series),
    Gap(Gap),
    GapEnds(String, u64),
    Setting(u64, String, Option<String>),
    Mark(u64, &'static str, String),
    Meta(&'static str, String),
    Stacks(StackRows),
    Stalls(Vec<StallRow>),
    Walks(Vec<Walk>),
}

const RUN: u8 = 0;
const FINISH: u8 = 1;
const ABANDON: u8 = 2;

/// What the threads see of each other.
#[derive(Debug, Default)]
struct Shared {
    stop: AtomicU8,
    /// The writer has ended: there is nobody to sample for.
    ended: AtomicBool,
    sampler_cpu: AtomicU64,
    writer_cpu: AtomicU64,
    walker_cpu: AtomicU64,
    /// Of the threads that look at stacks, stalls and processes, once they have ended.
    lookers_cpu: AtomicU64,
    /// CLOCK_BOOTTIME from which on stacks get no new names; 0: that is open.
    names_until: Arc<AtomicU64>,
    /// Rows of stacks, stalls and processes on their way to the writer; it may be told of some before they are counted.
    waiting: AtomicI64,
}

/// A recording that runs. Dropped without [`Recorder::finish`], it leaves a file that can be read and says that it is not
/// complete.
#[derive(Debug)]
pub struct Recorder {
    shared: Arc<Shared>,
    events: Sender<Event>,
    sampler: Option<JoinHandle<Counts>>,
    tracers: Tracers,
    writer: Option<JoinHandle<writing::Outcome>>,
    start_cpu: u64,
    /// The host whose files are counted in the end.
    files_of: Option<Root>,
}

impl Recorder {
    /// Creates the file, takes the first sample, and goes on by itself.
    ///
    /// # Errors
    /// When the file exists or cannot be written, or the rate is out of range. A kernel file that is missing is no error:
    /// the recording says so.
    pub fn start(root: &Root, file: &Path, options: &Options) -> Result<Recorder, RecordError> {
        let mut sources = open_sources(root, &options.groups, None);
        if options.tlb {
            let pace = sampler::Period { busy: pmu::PERIOD, calm: pmu::PERIOD };
            sources.push(OpenedSource { name: pmu::SOURCE.to_owned(), polled: pmu::open(root), pace });
        }
        Recorder::start_with(root, file, options, sources)
    }

    fn start_with(
        root: &Root,
        file: &Path,
        options: &Options,
        sources: Vec<OpenedSource>,
    ) -> Result<Recorder, RecordError> {
        let cpu_before = clock::thread_cpu();
        if !(SLOWEST..=FASTEST).contains(&options.hz) {
            return Err(RecordError::Rate(options.hz));
        }
        if let Some(hz) = options.tracing.stacks.filter(|hz| !STACKS.contains(hz)) {
            return Err(RecordError::StackRate(hz));
        }
        if let Some(beat) = options.walk_every.filter(|beat| !WALKS.contains(beat)) {
            return Err(RecordError::WalkEvery(beat));
        }
        let (ring, locked) = Ring::new();
        let ring = Arc::new(ring);
        let now = clock::boot();
        let mut redaction = Redaction::new(options.tracing.is_redacted, root, file);
        let names = [CLOCK].into_iter().chain(sources.iter().map(|source| source.name.as_str())).chain([OWN]);
        let names: Vec<String> = names.map(|name| redaction.name(name)).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut about = meta(root, options, now, &locked);
        about.iter_mut().for_each(|(_, value)| *value = redaction.words(value));
        let mut writer = Writer::create(file, &names, &about, options.size_cap)?;
        let settings = Settings::open(root);
        let at_start = settings.snapshot().into_iter().map(|(name, value)| (now, name, value, "start"));
        let mut batch = Batch { series: own_series(now), settings: at_start.collect(), ..Batch::default() };
        redaction.apply(&mut batch);
        writer.write(batch)?;

        let shared = Arc::new(Shared::default());
        let (events, received) = mpsc::channel();
        let period = (1e9 / options.hz) as u64;
        let schedule = Schedule::new(now, period);
        let mut sampler =
            Sampler::new(sources, settings, schedule, Arc::clone(&ring), events.clone(), Arc::clone(&shared));
        sampler.first();
        if let Some(cap) = options.size_cap {
            // With its series and a sample in it the file says how small it can stay.
            writer.write(writing::drain(&ring, &received))?;
            let least = writer.least_cap()?;
            if cap < least {
                writer.discard();
                return Err(RecordError::CapTooSmall { cap, least });
            }
        }
        let start_cpu = clock::thread_cpu() - cpu_before;

        let seen = Arc::clone(&shared);
        let write = move || writing::run(writer, redaction, &ring, &received, &seen);
        let writer =
            thread::Builder::new().name("record-write".to_owned()).spawn(write).map_err(RecordError::Thread)?;
        let to_wake = writer.thread().clone();
        let sampler = thread::Builder::new().name("record-sample".to_owned()).spawn(move || sampler.run(&to_wake));
        let tracers = Tracers::default();
        // Paths are what a recording that is handed on must not tell.
        let files_of = (options.tracing.files && !options.tracing.is_redacted).then(|| root.clone());
        let mut recorder =
            Recorder { shared, events, sampler: None, tracers, writer: Some(writer), start_cpu, files_of };
        // Dropped on an error, the recorder ends the writer.
        recorder.sampler = Some(sampler.map_err(RecordError::Thread)?);
        let before = clock::thread_cpu();
        recorder.tracers = Tracers::start(root, &options.tracing, &recorder.shared, &recorder.events)?;
        if let Some(beat) = options.walk_every {
            let is_redacted = options.tracing.is_redacted;
            recorder.tracers.start_walks(root, beat, is_redacted, &recorder.shared, &recorder.events)?;
        }
        recorder.start_cpu += clock::thread_cpu() - before;
        Ok(recorder)
    }

    /// Notes something at this instant.
    pub fn mark(&self, text: &str) {
        // Nobody listens once the recording has ended by itself; the summary says why.
        let _ = self.events.send(Event::Mark(clock::boot(), "caller", text.to_owned()));
    }

    /// What was asked for and is refused here, of stacks and stalls: what it is, and why, with the remedy.
    #[must_use]
    pub fn refused(&self) -> &[(String, String)] {
        &self.tracers.refused
    }

    /// Whether it has ended by itself, because of the disk. [`Recorder::finish`] then says why.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.shared.ended.load(Ordering::Acquire)
    }

    /// Takes a last sample, closes the file and says what it came to.
    ///
    /// # Errors
    /// Only after a defect of ours; a full disk is in the summary.
    pub fn finish(mut self) -> Result<Summary, RecordError> {
        self.stop(FINISH, None)
    }

    /// The same, and tells again and again what it still waits for.
    ///
    /// # Errors
    /// As for [`Recorder::finish`].
    pub fn finish_telling(mut self, tell: &mut dyn FnMut(Closing)) -> Result<Summary, RecordError> {
        self.stop(FINISH, Some(tell))
    }

    fn stop(&mut self, how: u8, mut tell: Option<&mut dyn FnMut(Closing)>) -> Result<Summary, RecordError> {
        let names_until = clock::boot().saturating_add(NAMES_AT_MOST.as_nanos() as u64);
        self.shared.names_until.store(names_until, Ordering::Release);
        self.shared.stop.store(how, Ordering::Release);
        let counts = match self.sampler.take() {
            Some(sampler) => {
                sampler.thread().unpark();
                sampler.join().map_err(|_| RecordError::Panicked)
            }
            None => Ok(Counts::default()),
        };
        let mut files_cpu = 0;
        if let Some(root) = self.files_of.take().filter(|_| how == FINISH) {
            let (files, cpu) = cached_files::largest(&root);
            files_cpu = cpu;
            let _ = self.events.send(Event::Meta(CACHED_FILES, cached::to_text(&files)));
        }
        if let Some(tell) = &mut tell {
            self.tracers.wake();
            wait_until(|| self.tracers.have_ended(), || tell(Closing::Names));
        }
        let all_ended = self.tracers.join();
        self.shared.lookers_cpu.store(self.tracers.cpu(), Ordering::Release);
        // The writer looks at this only after the sampler's last row is in the ring, and the last stacks are told.
        self.shared.ended.store(true, Ordering::Release);
        let writer = self.writer.take().ok_or(RecordError::Panicked)?;
        writer.thread().unpark();
        if let Some(tell) = &mut tell {
            wait_until(|| writer.is_finished(), || tell(Closing::File));
        }
        let outcome = writer.join().map_err(|_| RecordError::Panicked)?;
        let counts = if all_ended { counts? } else { return Err(RecordError::Panicked) };
        let cpu = |cpu: &AtomicU64| cpu.load(Ordering::Acquire);
        let own = [&self.shared.sampler_cpu, &self.shared.writer_cpu, &self.shared.lookers_cpu];
        let own = self.start_cpu + files_cpu + own.into_iter().map(cpu).sum::<u64>();
        let refused = self.tracers.refused.iter().map(|(source, _)| format!("{source}: refused"));
        let first_gaps = counts.first_gaps.into_iter().chain(refused).take(NAMED_GAPS).collect();
        Ok(Summary {
            samples: counts.samples,
            late: counts.late,
            gaps: counts.gaps + self.tracers.refused.len() as u64,
            first_gaps,
            own_cpu_seconds: own as f64 * 1e-9,
            bytes: outcome.bytes,
            ended: outcome.ended,
        })
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        if self.writer.is_some() {
            let _ = self.stop(ABANDON, None);
        }
    }
}

/// Looks often at first, since most ends take milliseconds.
fn wait_until(is_over: impl Fn() -> bool, mut tell: impl FnMut()) {
    let mut pause = Duration::from_millis(1);
    while !is_over() {
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(200));
        tell();
    }
}

/// A source at the start: open, or the reason why not.
struct OpenedSource {
    name: String,
    polled: Result<Polled, String>,
    /// Read no more often than this.
    pace: sampler::Period,
}

/// `only`: these and no others, by the names a recording has for them.
fn open_sources(root: &Root, groups: &[Group], only: Option<&BTreeSet<&'static str>>) -> Vec<OpenedSource> {
    let is_wanted = |source: &str| only.is_none_or(|only| only.contains(source));
    let mut opened: Vec<OpenedSource> = Vec::new();
    let is_there_or_missed =
        |file: &&TextFile| root.exists(file.path) || !file.instead.is_some_and(|other| root.exists(other));
    let texts = TEXT_FILES.iter().filter(|file| is_wanted(file.source)).filter(is_there_or_missed);
    for TextFile { source, path, parse, pace, .. } in texts {
        let polled = Polled::text(root, path, *parse).map_err(|error| error.to_string());
        opened.push(OpenedSource { name: (*source).to_owned(), polled, pace: sampler::pace(*pace) });
    }
    let numbers = |name: &str, files: Vec<NumberFile>, none: &str, pace: Pace| {
        let polled = Polled::number_files(root, files).ok_or_else(|| none.to_owned());
        OpenedSource { name: name.to_owned(), polled, pace: sampler::pace(pace) }
    };
    for NumberFiles { source, find, none, pace } in NUMBER_FILES.iter().filter(|files| is_wanted(files.source)) {
        opened.push(numbers(source, find(root), none, *pace));
    }
    for group in groups {
        let name = |source: &str| format!("{source}[{}]", group.path);
        for (source, path, parse) in group.texts(root) {
            let polled = Polled::labelled_text(root, &path, parse, group.label()).map_err(|error| error.to_string());
            opened.push(OpenedSource { name: name(source), polled, pace: sampler::pace(Pace::EveryTick) });
        }
        let none = "the group has none of these files, or we may not read them";
        opened.push(numbers(&name(cgroup::LEVELS), group.number_files(), none, Pace::EveryTick));
    }
    let limited = limited_groups::open(root, groups).into_iter().filter(|(source, _)| is_wanted(source));
    opened.extend(limited.map(|(source, groups)| OpenedSource {
        name: source.to_owned(),
        polled: groups.map(Polled::limited_groups),
        pace: sampler::pace(Pace::EverySecond),
    }));
    opened
}

/// The series of the two sources that are no kernel files.
fn own_series(now: u64) -> Vec<Series> {
    let of = |source: &'static str, names: &'static [&str]| {
        names.iter().zip(0..).map(move |(name, column)| {
            let (unit, kind) = describe(source, name, false);
            let (source, name, labels) = (source.to_owned(), (*name).to_owned(), String::new());
            Series { source, column, name, labels, unit: Some(unit), kind, first_seen: now }
        })
    };
    of(CLOCK, &CLOCK_COLUMNS).chain(of(OWN, &OWN_COLUMNS)).collect()
}

fn meta(root: &Root, options: &Options, now: u64, locked: &io::Result<()>) -> Vec<(String, String)> {
    let wall_offset = clock::wall_offset();
    let started = i128::from(now) + i128::from(wall_offset);
    let started = jiff::Timestamp::from_nanosecond(started).map(|instant| instant.to_string()).unwrap_or_default();
    let locked = locked.as_ref().map_or_else(|error| format!("no: {error}"), |()| "yes".to_owned());
    let kernel = root.read("/proc/sys/kernel/osrelease").map(|text| text.trim().to_owned()).unwrap_or_default();
    let own = [
        ("schema", "pagewise.recording/1".to_owned()),
        ("pagewise", env!("CARGO_PKG_VERSION").to_owned()),
        ("kernel", kernel),
        ("boot_id", boot_id(root).unwrap_or_default()),
        ("started", started),
        ("anchor_boottime_ns", now.to_string()),
        ("anchor_wall_offset_ns", wall_offset.to_string()),
        ("hz", options.hz.to_string()),
        ("page_size", rustix::param::page_size().to_string()),
        ("user_hz", rustix::param::clock_ticks_per_second().to_string()),
        ("loses_at_most_seconds", LOSES_AT_MOST_SECONDS.to_string()),
        ("ring_locked", locked),
    ];
    let own = own.into_iter().map(|(key, value)| (key.to_owned(), value));
    let pid = std::process::id();
    // Of this machine, also where another host's captured tree is recorded.
    let started = process::start_time(&Root::live(), pid);
    let recorder = started.map(|started| (RECORDER.to_owned(), format!("{pid} {started}")));
    let redacted = options.tracing.is_redacted.then(|| ("redacted".to_owned(), "1".to_owned()));
    let reports_free =
        free_page_reporting(root).map(|does| (FREE_PAGE_REPORTING.to_owned(), u8::from(does).to_string()));
    let own = own.chain(recorder).chain(redacted).chain(reports_free).chain(choices(root));
    let own: Vec<(String, String)> = own.collect();
    // A caller's pair must neither hide one of these nor make the insertion fail.
    let is_free = |key: &str| key != "complete" && key != "ended" && own.iter().all(|(other, _)| other != key);
    let mut theirs: Vec<(String, String)> = options.meta.iter().filter(|(key, _)| is_free(key)).cloned().collect();
    theirs.sort();
    theirs.dedup_by(|a, b| a.0 == b.0);
    own.into_iter().chain(theirs).collect()
}

/// What can be chosen on this kernel: a proposal must not name what it does not have, and distributions backport.
fn choices(root: &Root) -> impl Iterator<Item = (String, String)> {
    const FILES: [(&str, &str); 3] =
        [("thp.enabled", "enabled"), ("thp.defrag", "defrag"), ("thp.shmem_enabled", "shmem_enabled")];
    FILES.into_iter().filter_map(|(tunable, file)| {
        let text = root.read(&format!("/sys/kernel/mm/transparent_hugepage/{file}")).ok()?;
        Some((format!("allowed.{tunable}"), text.trim().to_owned()))
    })
}

/// A gap of a source whose end is not known yet.
fn open_gap(from: u64, source: &str, reason: GapReason, detail: String) -> Gap {
    Gap { from, to: None, source: Some(source.to_owned()), reason, ticks: None, detail }
}

#[cfg(test)]
mod tests;

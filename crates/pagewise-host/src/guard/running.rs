//! The loop: sample, decide, wait or reclaim. After its start it allocates nothing and touches no new page of its own, so that the
//! shortage it works against cannot stop it.

use super::GuardError;
use super::back_end::BackEnds;
use super::domain::{DomainName, Limited, limited};
use super::files::StreamedFiles;
use super::of_cgroup::CgroupReading;
use super::reading::{OfFiles, Reading, ReclaimedBytes, Stalls};
use super::status::{GuardIdentity, StatusFile, StatusSlot};
use super::streamers::Streamer;
use crate::clock;
use crate::facts::kernel::free_page_reporting;
use crate::process::Interrupt;
use crate::root::Root;
use crate::source::guard_threads;
use pagewise_core::guard::asked::{AskedLaw, GuardRequest};
use pagewise_core::guard::law::{Law, Learnt, Mode, Settings};
use pagewise_core::guard::paper::Paper;
use pagewise_core::guard::sample::Sample;
use pagewise_core::guard::{ControlLaw, Decision, SECOND, Slice};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::thread;

/// A node or a cgroup with what guarding it takes.
#[derive(Debug)]
pub struct Guarded {
    /// Which one.
    pub domain: DomainName,
    law: AskedLaw,
    /// A node's free memory goes back to the hypervisor.
    free_goes_back: bool,
    asked: String,
    reading: DomainReading,
    /// Who streams, and what it has gone past: told also where nothing is to be done.
    files: Option<StreamedFiles>,
    /// `None`: it is only decided.
    back_ends: Option<BackEnds>,
    told: Option<StatusSlot>,
}

/// Samples of either.
#[derive(Debug)]
enum DomainReading {
    Node(Reading),
    Cgroup(CgroupReading),
}

impl DomainReading {
    fn sample(&mut self, at: u64) -> Result<Sample<'_>, GuardError> {
        match self {
            DomainReading::Node(reading) => reading.sample(at),
            DomainReading::Cgroup(reading) => reading.sample(at),
        }
    }

    fn count_files(&mut self, of_files: OfFiles) {
        match self {
            DomainReading::Node(reading) => reading.count_files(of_files),
            DomainReading::Cgroup(reading) => reading.count_files(of_files),
        }
    }

    fn asks_for_streams(&self) -> bool {
        match self {
            DomainReading::Node(_) => false,
            DomainReading::Cgroup(reading) => reading.asks_for_streams(),
        }
    }

    fn read_counters(&mut self) -> Result<(), GuardError> {
        match self {
            DomainReading::Node(reading) => reading.read_counters(),
            DomainReading::Cgroup(reading) => reading.read_counters(),
        }
    }

    fn stolen(&mut self) -> ReclaimedBytes {
        match self {
            DomainReading::Node(reading) => reading.stolen(),
            DomainReading::Cgroup(reading) => reading.stolen(),
        }
    }

    fn stalls(&mut self) -> Stalls {
        match self {
            DomainReading::Node(reading) => reading.stalls(),
            DomainReading::Cgroup(reading) => reading.stalls(),
        }
    }
}

/// Enough for the loop; all of it is locked in memory.
const STACK: usize = 256 << 10;

impl Guarded {
    /// Opens what is asked for takes of the node's files; no back end where nothing is to be done, only decided.
    fn node(root: &Root, node: u32, asked: &GuardRequest, acts: bool) -> Result<Guarded, GuardError> {
        let files = if takes_trails(asked) { StreamedFiles::open(root, None) } else { None };
        let back_ends = if acts { Some(BackEnds::of_node(root, node, files.is_some())?) } else { None };
        let reading = DomainReading::Node(Reading::open(root, node)?);
        let free_goes_back = free_page_reporting(root) == Some(true);
        Ok(Guarded { free_goes_back, ..Guarded::of(DomainName::Node(node), asked, reading, files, back_ends) })
    }

    fn cgroup(root: &Root, group: &Limited, asked: &GuardRequest, acts: bool) -> Result<Guarded, GuardError> {
        let files = if takes_trails(asked) { StreamedFiles::open(root, Some(group.folder.clone())) } else { None };
        let back_ends = if acts { Some(BackEnds::of_cgroup(root, group, files.is_some())?) } else { None };
        let reading = DomainReading::Cgroup(CgroupReading::open(root, group)?);
        Ok(Guarded::of(DomainName::Cgroup(group.path.clone()), asked, reading, files, back_ends))
    }

    fn of(
        domain: DomainName,
        asked: &GuardRequest,
        reading: DomainReading,
        files: Option<StreamedFiles>,
        back_ends: Option<BackEnds>,
    ) -> Guarded {
        let (law, asked) = (asked.law, asked.to_string());
        Guarded { domain, law, free_goes_back: false, asked, reading, files, back_ends, told: None }
    }
}

fn takes_trails(asked: &GuardRequest) -> bool {
    matches!(asked.law, AskedLaw::Guard(Settings { trails: true, .. }))
}

/// What was done for each domain, or what went wrong.
pub type Guarding = Result<Vec<(DomainName, GuardSummary)>, GuardError>;

/// All that one guard of this host guards.
#[derive(Debug)]
pub struct Guards {
    nodes: Vec<Guarded>,
    cgroups: Option<Cgroups>,
}

impl Guards {
    /// Opens what is asked for: the cgroups of its pattern, else these nodes, else every node with memory. No back end where nothing is to
    /// be done, only decided.
    ///
    /// # Errors
    /// When a node cannot be read, nothing can take page cache back from it, or there are no cgroups.
    pub fn open(root: &Root, asked: &GuardRequest, nodes: &[u32], acts: bool) -> Result<Guards, GuardError> {
        if let Some(pattern) = &asked.cgroups {
            let cgroups = Cgroups {
                root: root.clone(),
                pattern: pattern.clone(),
                asked: asked.clone(),
                acts,
                at_start: 0,
                refused: Vec::new(),
            };
            let cgroups = Cgroups { at_start: cgroups.check()?, ..cgroups };
            return Ok(Guards { nodes: Vec::new(), cgroups: Some(cgroups) });
        }
        let nodes = if nodes.is_empty() { super::reading::nodes(root) } else { nodes.to_vec() };
        let nodes = nodes.into_iter().map(|node| Guarded::node(root, node, asked, acts));
        Ok(Guards { nodes: nodes.collect::<Result<_, _>>()?, cgroups: None })
    }

    /// What it guards, in words.
    #[must_use]
    pub fn words(&self) -> String {
        match &self.cgroups {
            Some(Cgroups { pattern, at_start: 0, .. }) => {
                format!("cgroups {pattern}, of which none has a limit now; those that come are guarded")
            }
            Some(Cgroups { pattern, at_start, .. }) => format!("cgroups {pattern} ({at_start} with a limit now)"),
            None => self.nodes.iter().map(|node| node.domain.to_string()).collect::<Vec<_>>().join(", "),
        }
    }

    /// What page cache is taken from, the first first; of cgroups each has its own ways.
    #[must_use]
    pub fn takes_from(&self) -> Vec<&'static str> {
        let Some((node, back_ends)) = self.nodes.iter().find_map(|node| Some((node, node.back_ends.as_ref()?))) else {
            return Vec::new();
        };
        let behind_streams = node.files.iter().map(|_| "what streams leave behind them");
        behind_streams.chain(back_ends.words()).collect()
    }

    /// Whether a hypervisor takes back what it frees on nodes.
    #[must_use]
    pub fn free_goes_back(&self) -> bool {
        self.nodes.iter().any(|node| node.free_goes_back)
    }

    /// Whether it guards this node. Cgroups come and go: of those nobody can say.
    #[must_use]
    pub fn guards(&self, domain: &DomainName) -> bool {
        self.nodes.iter().any(|node| node.domain == *domain)
    }

    /// Guards, a thread for each node and one for all cgroups, until `interrupt` is set or the time is over. `tell` is called where a
    /// law changes what it does, and at the end. Should one fail, all end.
    ///
    /// # Errors
    /// That of the first that failed: a node cannot be read any more, or refuses to be reclaimed from for good.
    pub fn run(
        self,
        for_at_most: Option<u64>,
        interrupt: &Interrupt,
        tell: &(dyn Fn(&DomainName, GuardMessage<'_>) + Sync),
    ) -> Guarding {
        let until = for_at_most.map(|most| clock::awake() + most);
        // Who cannot be asked guards all the same.
        let board = StatusFile::new().ok();
        let place = |position| board.as_ref().and_then(|board| board.place(position).ok());
        let fails = |_: &GuardError| interrupt.set();
        thread::scope(|scope| {
            let builder = || thread::Builder::new().name(guard_threads::NAME.to_owned()).stack_size(STACK);
            let not_started = |error: std::io::Error| GuardError::Lacks(error.to_string());
            let mut threads: Vec<Result<thread::ScopedJoinHandle<'_, Guarding>, GuardError>> = Vec::new();
            for (position, node) in self.nodes.into_iter().enumerate() {
                let node = Guarded { told: place(position), ..node };
                let work = move || alone(node, until, interrupt, tell).map(|done| vec![done]).inspect_err(fails);
                threads.push(builder().spawn_scoped(scope, work).map_err(not_started));
            }
            if let Some(cgroups) = self.cgroups {
                let work = || cgroups.run(board.as_ref(), until, interrupt, tell).inspect_err(fails);
                threads.push(builder().spawn_scoped(scope, work).map_err(not_started));
            }
            let joined = threads
                .into_iter()
                .map(|thread| thread?.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            joined.collect::<Result<Vec<_>, _>>().map(|done| done.into_iter().flatten().collect())
        })
    }
}

fn alone(
    guarded: Guarded,
    until: Option<u64>,
    interrupt: &Interrupt,
    tell: &(dyn Fn(&DomainName, GuardMessage<'_>) + Sync),
) -> Result<(DomainName, GuardSummary), GuardError> {
    let mut work = AtWork::of(guarded);
    while !interrupt.is_set() && until.is_none_or(|until| clock::awake() < until) {
        work.step(tell)?;
        sleep(work.due.saturating_sub(clock::awake()), interrupt);
    }
    Ok(work.ends(tell))
}

/// The cgroups of a pattern, as they come and go.
#[derive(Debug)]
struct Cgroups {
    root: Root,
    pattern: String,
    asked: GuardRequest,
    acts: bool,
    /// How many there are at the start.
    at_start: usize,
    /// Those that cannot be guarded: they are told of once.
    refused: Vec<String>,
}

/// Of so many that are gone it is kept what was done for them.
const MOST_ENDED: usize = 256;

/// How often new ones are looked for.
const CGROUPS_EVERY: u64 = SECOND;

impl Cgroups {
    fn listed(&self) -> Result<Vec<Limited>, GuardError> {
        limited(&self.root, &self.pattern).map_err(GuardError::Lacks)
    }

    /// How many there are now, all of which can be guarded.
    fn check(&self) -> Result<usize, GuardError> {
        let groups = self.listed()?;
        for group in &groups {
            Guarded::cgroup(&self.root, group, &self.asked, self.acts)?;
        }
        Ok(groups.len())
    }

    /// All of them in one thread: each is sampled when its own law wants that.
    fn run(
        mut self,
        board: Option<&StatusFile>,
        until: Option<u64>,
        interrupt: &Interrupt,
        tell: &(dyn Fn(&DomainName, GuardMessage<'_>) + Sync),
    ) -> Guarding {
        let mut works: Vec<AtWork> = Vec::new();
        let mut ended = VecDeque::new();
        let mut cgroups_due = 0;
        while !interrupt.is_set() && until.is_none_or(|until| clock::awake() < until) {
            if clock::awake() >= cgroups_due {
                cgroups_due = clock::awake() + CGROUPS_EVERY;
                self.take_on(&mut works, board, tell)?;
            }
            let at = clock::awake();
            let mut place = 0;
            while let Some(work) = works.get_mut(place) {
                // Its files are gone with it.
                if work.due <= at && work.step(tell).is_err() {
                    let over = works.swap_remove(place).ends(tell);
                    tell(&over.0, GuardMessage::Gone);
                    ended.push_back(over);
                    if ended.len() > MOST_ENDED {
                        ended.pop_front();
                    }
                } else {
                    place += 1;
                }
            }
            let due = works.iter().map(|work| work.due).min().unwrap_or(cgroups_due).min(cgroups_due);
            sleep(due.saturating_sub(clock::awake()), interrupt);
        }
        ended.extend(works.into_iter().map(|work| work.ends(tell)));
        Ok(ended.into())
    }

    /// Begins to guard those that are new.
    fn take_on(
        &mut self,
        works: &mut Vec<AtWork>,
        board: Option<&StatusFile>,
        tell: &(dyn Fn(&DomainName, GuardMessage<'_>) + Sync),
    ) -> Result<(), GuardError> {
        for group in self.listed()? {
            let is_known =
                |work: &AtWork| matches!(&work.guarded.domain, DomainName::Cgroup(path) if *path == group.path);
            if works.iter().any(is_known) {
                continue;
            }
            match Guarded::cgroup(&self.root, &group, &self.asked, self.acts) {
                Ok(guarded) => {
                    self.refused.retain(|path| *path != group.path);
                    let is_free = |place: &usize| {
                        !works
                            .iter()
                            .any(|work| work.guarded.told.as_ref().is_some_and(|told| told.position() == *place))
                    };
                    let free = (0..).find(is_free).unwrap_or_default();
                    let told = board.and_then(|board| board.place(free).ok());
                    works.push(AtWork::of(Guarded { told, ..guarded }));
                }
                // Gone meanwhile, or of no use: it is asked again, and told of once.
                Err(error) if !self.refused.contains(&group.path) && self.root.exists(&group.folder) => {
                    tell(&DomainName::Cgroup(group.path.clone()), GuardMessage::Cannot(&error));
                    self.refused.push(group.path);
                }
                Err(_) => {}
            }
        }
        Ok(())
    }
}

/// What a guard says while it runs.
#[derive(Clone, Copy, Debug)]
pub enum GuardMessage<'t> {
    /// It does something else now, or ends.
    Does(Mode, Option<Learnt>),
    /// This one streams.
    Streams(&'t Streamer),
    /// It cannot be guarded.
    Cannot(&'t GuardError),
    /// It is gone, and guarded no more.
    Gone,
}

/// The published mechanism does not say how often it samples.
const PAPER_TICK: u64 = SECOND / 100;

/// A law whose state can be told.
trait ReportingLaw: ControlLaw {
    /// What it is doing.
    fn mode(&self) -> Mode;

    /// What it has learnt.
    fn learnt(&self) -> Option<Learnt>;

    /// Whether the last sample came later than it had reckoned with.
    fn woken_late(&self) -> bool;

    /// Whether there was room for single pages since the sample before.
    fn had_room(&self) -> bool;
}

impl ReportingLaw for Paper {
    fn mode(&self) -> Mode {
        if self.is_freeing() { Mode::Reclaiming } else { Mode::Armed }
    }

    fn learnt(&self) -> Option<Learnt> {
        None
    }

    /// It reckons with nothing.
    fn woken_late(&self) -> bool {
        false
    }

    fn had_room(&self) -> bool {
        false
    }
}

impl ReportingLaw for Law {
    fn mode(&self) -> Mode {
        Law::mode(self)
    }

    fn learnt(&self) -> Option<Learnt> {
        Some(Law::learnt(self))
    }

    fn woken_late(&self) -> bool {
        Law::woken_late(self)
    }

    fn had_room(&self) -> bool {
        Law::had_room(self)
    }
}

/// What a guard did from its start on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GuardSummary {
    /// Seconds it ran.
    pub seconds: f64,
    /// Its CPU seconds.
    pub cpu: f64,
    /// Looks at the node.
    pub samples: u64,
    /// Slices it asked for.
    pub slices: u64,
    /// Bytes of them.
    pub asked: u64,
    /// Bytes that were taken, by the kernel's count.
    pub taken: u64,
    /// Of them, those that streams had gone past in their own files.
    pub taken_behind_streams: u64,
    /// Of the others, those that were asked of the cgroup of whoever streams.
    pub taken_of_streams_cgroup: u64,
    /// Slices that the kernel refused or that gave less than was asked for.
    pub refused: u64,
    /// Times kswapd was woken or an application had to reclaim by itself.
    pub too_late: u64,
    /// Of them, those while it left memory to the kernel, for a reason that its log has.
    pub left_to_kernel: u64,
    /// Of the others, those for many pages in a row: an application compacted memory as well, or there was room for single pages all the time.
    pub for_blocks: u64,
    /// Of the others, those while no stream was known: it had just begun, or what filled memory was something else.
    pub while_watching: u64,
    /// Of the others, those before a sample that came later than the law had reckoned with: it had no CPU, or the kernel held a slice.
    pub woken_late: u64,
    /// Times an application had to.
    pub direct: u64,
    /// Longest slice, seconds.
    pub longest_slice: f64,
    /// Latest wake-up, seconds.
    pub latest: f64,
}

impl GuardSummary {
    /// So many times it was too late since the last sample, so many of them for many pages in a row, while it did this, and was woken late or not.
    fn explains(&mut self, too_late: u64, for_blocks: u64, mode: Mode, woken_late: bool) {
        if matches!(mode, Mode::Leaving { .. }) {
            self.left_to_kernel += too_late;
            return;
        }
        self.for_blocks += for_blocks;
        let others = too_late.saturating_sub(for_blocks);
        if mode == Mode::Watching {
            self.while_watching += others;
        } else if woken_late {
            self.woken_late += others;
        }
    }
}

/// So often what it does is written down for who asks.
const WRITTEN_EVERY: u64 = SECOND;

/// A domain that is being guarded: sample, decide, and wait or reclaim.
struct AtWork {
    guarded: Guarded,
    law: Box<dyn ReportingLaw + Send>,
    began: u64,
    /// When it is to be sampled again.
    due: u64,
    done: GuardSummary,
    /// Totals at the begin: times it was too late, and those of applications.
    since: Option<(u64, Stalls)>,
    /// Those of applications since the begin.
    stalls: Stalls,
    told: Option<Mode>,
    written: u64,
}

impl AtWork {
    fn of(guarded: Guarded) -> AtWork {
        let law: Box<dyn ReportingLaw + Send> = match guarded.law {
            AskedLaw::Guard(settings) if guarded.free_goes_back => Box::new(Law::new(settings).where_free_goes_back()),
            AskedLaw::Guard(settings) => Box::new(Law::new(settings)),
            AskedLaw::Paper { threshold, amount } => Box::new(Paper::new(threshold, amount, PAPER_TICK)),
        };
        let began = clock::awake();
        AtWork {
            guarded,
            law,
            began,
            due: began,
            done: GuardSummary::default(),
            since: None,
            stalls: Stalls::default(),
            told: None,
            written: began,
        }
    }

    /// One sample, with the slice that follows from it.
    ///
    /// # Errors
    /// When the domain cannot be read any more, or the back end is refused for good.
    fn step(&mut self, tell: &dyn Fn(&DomainName, GuardMessage<'_>)) -> Result<(), GuardError> {
        let cpu = clock::thread_cpu();
        let due = self.due;
        self.done.latest = self.done.latest.max(clock::awake().saturating_sub(due) as f64 / SECOND as f64);
        let at = clock::awake();
        match self.decide(at, tell)? {
            Decision::Wait(nanoseconds) => self.due = at + nanoseconds,
            Decision::Reclaim(bytes) if self.guarded.back_ends.is_some() => {
                let slice = self.slice(bytes)?;
                self.law.made(slice);
                self.due = clock::awake();
            }
            // Decided, and not done: the kernel does it meanwhile.
            Decision::Reclaim(bytes) => {
                (self.done.slices, self.done.asked) = (self.done.slices + 1, self.done.asked + bytes);
                self.due = at + NOT_DONE;
            }
        }
        self.done.cpu += (clock::thread_cpu() - cpu) as f64 / SECOND as f64;
        self.done.seconds = (clock::awake() - self.began) as f64 / SECOND as f64;
        Ok(())
    }

    fn decide(&mut self, at: u64, tell: &dyn Fn(&DomainName, GuardMessage<'_>)) -> Result<Decision, GuardError> {
        let Guarded { domain, asked, reading, files, back_ends, told: place, .. } = &mut self.guarded;
        if let Some(files) = files.as_mut() {
            let is_armed = self.law.mode() != Mode::Watching || reading.asks_for_streams();
            files.follow(at, is_armed, &mut |who| tell(domain, GuardMessage::Streams(who)));
            reading.count_files(files.counted());
        }
        let sample = reading.sample(at)?;
        self.done.samples += 1;
        let before = self.law.mode();
        let decision = self.law.decide(&sample);
        let (too_late, stalls) = (sample.too_late, reading.stalls());
        let (late_then, stalls_then) = *self.since.get_or_insert((too_late, stalls));
        let (too_late, stalls) = (too_late.saturating_sub(late_then), stalls.since(stalls_then));
        let last_tick = stalls.since(self.stalls);
        let late = too_late.saturating_sub(self.done.too_late);
        let for_blocks = if self.law.had_room() { late } else { last_tick.direct.min(last_tick.compactions) };
        self.done.explains(late, for_blocks, before, self.law.woken_late());
        (self.done.too_late, self.done.direct, self.stalls) = (too_late, stalls.direct, stalls);
        let mode = self.law.mode();
        let is_news = self.told.is_none_or(|told| is_news(told, mode));
        if is_news {
            self.told = Some(mode);
            tell(domain, GuardMessage::Does(mode, self.law.learnt()));
        }
        if let Some(place) = place.as_mut().filter(|_| is_news || at >= self.written + WRITTEN_EVERY) {
            self.written = at;
            let who = GuardIdentity { domain, asked, acts: back_ends.is_some() };
            let streams = files.iter().flat_map(StreamedFiles::streamers);
            place.write(who, (mode, self.law.learnt()), &self.done, streams);
        }
        Ok(decision)
    }

    fn slice(&mut self, bytes: u64) -> Result<Slice, GuardError> {
        let Guarded { domain, reading, files, back_ends, .. } = &mut self.guarded;
        let Some(back_ends) = back_ends else { return Ok(Slice { asked: bytes, ..Slice::default() }) };
        // No counter of the kernel's has what comes out of files.
        let out_of = |files: &Option<StreamedFiles>| files.as_ref().map_or(0, StreamedFiles::taken);
        let (before, of_files, began, cpu) = (reading.stolen(), out_of(files), clock::awake(), clock::thread_cpu());
        let answer = back_ends.reclaim(files.as_mut(), began, bytes);
        let answer =
            answer.map_err(|error| GuardError::Lacks(format!("{domain} refuses to be reclaimed from: {error}")))?;
        let (took, cpu) = (clock::awake() - began, clock::thread_cpu() - cpu);
        reading.read_counters()?;
        let of_files = out_of(files) - of_files;
        let on_request = answer.counted.map_or(0, |counted| reading.stolen().since(before, counted));
        back_ends.gave(files.as_mut(), clock::awake(), &answer, on_request);
        let freed = on_request + of_files;
        let done = &mut self.done;
        done.slices += 1;
        done.asked += bytes;
        done.taken += freed;
        done.taken_behind_streams += of_files;
        done.taken_of_streams_cgroup += if answer.is_of_streams_cgroup() { on_request } else { 0 };
        done.refused += u64::from(!answer.granted);
        done.longest_slice = done.longest_slice.max(took as f64 / SECOND as f64);
        Ok(Slice { asked: bytes, freed, of_files, took, cpu })
    }

    fn ends(mut self, tell: &dyn Fn(&DomainName, GuardMessage<'_>)) -> (DomainName, GuardSummary) {
        self.done.seconds = (clock::awake() - self.began) as f64 / SECOND as f64;
        tell(&self.guarded.domain, GuardMessage::Does(self.law.mode(), self.law.learnt()));
        (self.guarded.domain, self.done)
    }
}

/// A slice that is only decided takes the time of some samples.
const NOT_DONE: u64 = SECOND / 10;

/// Batches that begin and end are no news; leaving the node to the kernel is, and so is another reason to.
fn is_news(before: Mode, now: Mode) -> bool {
    match (before, now) {
        (Mode::Leaving { because: before }, Mode::Leaving { because: now }) => {
            std::mem::discriminant(&before) != std::mem::discriminant(&now)
        }
        (Mode::Armed | Mode::Reclaiming, Mode::Armed | Mode::Reclaiming) | (Mode::Watching, Mode::Watching) => false,
        _ => true,
    }
}

/// Asleep for so long, or until a signal comes.
fn sleep(nanoseconds: u64, interrupt: &Interrupt) {
    let timeout = Timespec { tv_sec: (nanoseconds / SECOND) as i64, tv_nsec: (nanoseconds % SECOND) as i64 };
    let _ = match interrupt.readable() {
        Some(readable) => poll(&mut [PollFd::from_borrowed_fd(readable, PollFlags::IN)], Some(&timeout)),
        None => poll(&mut [], Some(&timeout)),
    };
}

/// Keeps all of this process in memory from now on: what it works against must not take its own pages.
///
/// # Errors
/// Without the right, or beyond the limit on locked memory.
pub fn stay_in_memory() -> std::io::Result<()> {
    use rustix::mm::{MlockAllFlags, mlockall};
    Ok(mlockall(MlockAllFlags::CURRENT | MlockAllFlags::FUTURE)?)
}

/// Keeps this thread, and those it starts from now on, on these CPUs: `0,8-11`.
///
/// # Errors
/// A sentence: what is no such list, and what this host does not have.
pub fn stay_on(cpus: &str) -> Result<(), String> {
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
    let wanted = crate::source::cpu::parse_list(cpus);
    let allowed = sched_getaffinity(None).map_err(|error| error.to_string())?;
    let mut set = CpuSet::new();
    for cpu in wanted.iter().map(|cpu| *cpu as usize).filter(|cpu| *cpu < CpuSet::MAX_CPU && allowed.is_set(*cpu)) {
        set.set(cpu);
    }
    if wanted.is_empty() || set.count() as usize != wanted.len() {
        let usable: Vec<String> =
            (0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu)).map(|cpu| cpu.to_string()).collect();
        return Err(format!("write numbers of CPUs that this process may use, some of {}", usable.join(",")));
    }
    sched_setaffinity(None, &set).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use pagewise_core::guard::law::WaitReason;

    #[test]
    fn each_time_it_was_too_late_has_one_reason_at_most() {
        let explained = |too_late, for_blocks, mode, woken_late| {
            let mut done = GuardSummary::default();
            done.explains(too_late, for_blocks, mode, woken_late);
            (done.left_to_kernel, done.for_blocks, done.while_watching, done.woken_late)
        };
        assert_eq!(explained(5, 2, Mode::Armed, false), (0, 2, 0, 0));
        assert_eq!(explained(5, 2, Mode::Reclaiming, true), (0, 2, 0, 3));
        assert_eq!(explained(5, 2, Mode::Watching, true), (0, 2, 3, 0));
        assert_eq!(explained(5, 2, Mode::Leaving { because: WaitReason::Dirty }, true), (5, 0, 0, 0));
    }
}

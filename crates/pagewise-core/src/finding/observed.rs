//! The evidence at hand: a recording folded into windows, in one pass and for the signals that rules name.
//!
//! A window is ten seconds, or two samples where those are further apart. A counter becomes what it grew by and the time
//! that growth covers, a level its mean, least and most. A window is *unknown* when a counter was reset in it, or when
//! less than half of it was seen.

mod fold;
mod imported;
mod settings;
mod track;

pub use fold::Folded;
pub use settings::Settings;
pub use track::{Hits, Missing, Track};

use super::document::Participant;
use super::families::{ProfileSeen, Share};
use super::processes::ProcessesSeen;
use super::signal::{self, Part, Quantity};
use super::stalls::StallsSeen;
use crate::import::NO_TIME;
use crate::recording::stack::CALLEES;
use crate::recording::{
    CACHED_FILES, CachedFile, FREE_PAGE_REPORTING, Gap, Profile, Recorded, SamplingEvent, WallClock, cached,
};
use crate::tunable::swap;
use std::collections::HashMap;

/// Length of a window where samples are close enough, in nanoseconds.
pub const WINDOW: u64 = 10_000_000_000;

/// A longer recording is folded into longer windows, so that its size stays bounded: some week at ten seconds.
const MOST_WINDOWS: u64 = 65_536;

const SECOND: f64 = 1e-9;

/// How the time of a recording is divided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Windows {
    /// Its beginning, CLOCK_BOOTTIME in nanoseconds.
    pub start: u64,
    /// Its end.
    pub end: u64,
    /// Length of all but the last.
    pub width: u64,
    /// How many.
    pub count: usize,
}

impl Windows {
    /// Length of the whole, in seconds.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.end.saturating_sub(self.start) as f64 * SECOND
    }

    /// Beginning of a window.
    #[must_use]
    pub fn from(&self, window: usize) -> u64 {
        self.start.saturating_add(self.width.saturating_mul(window as u64)).min(self.end)
    }

    /// Its end; the last one takes what is left.
    #[must_use]
    pub fn to(&self, window: usize) -> u64 {
        if window + 1 >= self.count { self.end } else { self.from(window + 1) }
    }

    /// Its length in seconds.
    #[must_use]
    pub fn length(&self, window: usize) -> f64 {
        self.to(window).saturating_sub(self.from(window)) as f64 * SECOND
    }
}

/// A recording as rules see it.
#[derive(Debug, Default)]
pub struct Observed {
    /// How its time is divided.
    pub windows: Windows,
    /// Number of samples.
    pub ticks: u64,
    /// Of those, how many came late by more than 50 ms.
    pub late: u64,
    /// What was not seen.
    pub gaps: Vec<Gap>,
    /// CLOCK_REALTIME minus CLOCK_BOOTTIME at the first sample, in nanoseconds. `None`: a listing that tells no time.
    pub wall_offset: Option<i64>,
    /// Release of the kernel, where it is known.
    pub kernel: Option<String>,
    /// Bytes of a base page; 4096 where it is not known.
    pub page_size: f64,
    /// Samples a second, where it is known.
    pub hz: Option<f64>,
    /// Whether numbers of it were computed and printed by another tool.
    pub is_import: bool,
    /// Tools whose output it was made of, by the words the command line has for them. Empty: it was recorded.
    pub tools: Vec<String>,
    /// Settings and their changes.
    pub settings: Settings,
    /// Whether free memory goes back to a hypervisor, and is dear to touch again; false also where that is not known.
    pub free_goes_back: bool,
    /// Where CPUs were. `None`: not recorded.
    pub profile: Option<ProfileSeen>,
    /// How many samples another tool says its profile is of.
    pub listed_samples: Option<u64>,
    /// What held tasks up. `None`: not recorded.
    pub stalls: Option<StallsSeen>,
    /// Which processes used most. `None`: not recorded.
    pub processes: Option<ProcessesSeen>,
    /// Open files that took most of the page cache at the end; empty where they were not recorded.
    pub cached_files: Vec<CachedFile>,
    seen: SeriesSeen,
    /// Counters of a listing that were read once: they give no rate, and tell what was since the host started.
    read_once: SeriesSeen,
}

/// What all CPU time is made of, without which nothing is known of it.
const CPU_TIME: [&Quantity; 3] = [&signal::CPU_USER, &signal::CPU_SYSTEM, &signal::CPU_IDLE];

/// The rest of it, which old kernels do not count.
const CPU_TIME_BESIDE: [&Quantity; 5] =
    [&signal::CPU_NICE, &signal::CPU_IOWAIT, &signal::CPU_IRQ, &signal::CPU_SOFTIRQ, &signal::CPU_STEAL];

/// Series folded into windows, and what each quantity of the catalogue is made of among them.
#[derive(Debug, Default)]
struct SeriesSeen {
    folded: Vec<Folded>,
    /// Positions among those.
    parts: HashMap<&'static str, Vec<Part>>,
}

impl SeriesSeen {
    fn of(folded: Vec<Folded>) -> SeriesSeen {
        let of = |quantity: &'static Quantity| (quantity.id, quantity.parts(folded.iter().map(Folded::name)));
        let parts = signal::ALL.iter().map(of).filter(|(_, parts)| !parts.is_empty()).collect();
        SeriesSeen { folded, parts }
    }

    /// Where several listings tell the same, each quantity is taken from the one that was read most often: two readings of /proc say nothing
    /// of the seconds that vmstat printed meanwhile.
    fn of_listings(folded: Vec<Folded>) -> SeriesSeen {
        let mut seen = SeriesSeen::of(folded);
        let is_seldom = |quantity: &Quantity| seen.is_printed_more_often(quantity).then_some(quantity.id);
        let mut seldom: Vec<&str> = signal::ALL.iter().filter_map(is_seldom).collect();
        let of = |quantity: &Quantity| seen.parts(quantity).map(|(folded, _)| folded.readings()).max().unwrap_or(0);
        if of(&signal::IMPORTED_BUSY) > of(&signal::CPU_IDLE) {
            seldom.extend(CPU_TIME.iter().chain(&CPU_TIME_BESIDE).map(|quantity| quantity.id));
        }
        seldom.into_iter().for_each(|id| drop(seen.parts.remove(id)));
        seen
    }

    /// Whether another tool printed a quantity more often than the kernel's own number of it was read.
    fn is_printed_more_often(&self, quantity: &Quantity) -> bool {
        let Some(own) = self.parts(quantity).map(|(folded, _)| folded.readings()).max() else { return false };
        let is_more = |of: &(&str, &str)| self.listed(*of).is_some_and(|printed| printed.readings() > own);
        quantity.printed.iter().any(|sum| sum.of.iter().all(is_more))
    }

    /// What another tool printed under a name, for the whole host.
    fn listed(&self, (source, name): (&str, &str)) -> Option<&Folded> {
        self.folded.iter().find(|folded| folded.name() == (source, name, ""))
    }

    /// What a quantity is made of, and how often each counts.
    fn parts(&self, signal: &Quantity) -> impl Iterator<Item = (&Folded, f64)> {
        let parts = self.parts.get(signal.id).map_or(&[][..], Vec::as_slice);
        parts.iter().map(|part| (&self.folded[part.at], part.weight))
    }
}

impl Observed {
    /// Folds a recording.
    ///
    /// # Errors
    /// When it cannot be read. A recording without samples, or with none of what rules want, is no error: everything about
    /// it is unknown.
    pub fn of<R: Recorded>(recorded: &R) -> Result<Observed, R::Error> {
        let number = |key: &str| recorded.about(key).and_then(|text| text.trim().parse::<f64>().ok());
        let known = |number: Option<f64>| number.filter(|number| number.is_finite() && *number > 0.0);
        let hz = known(number("hz"));
        let mut folding = fold::Folding::new(recorded.series(), hz);
        for block in recorded.blocks() {
            folding.add(&block?);
        }
        let mut seen = folding.finish();
        let words = |key: &str| recorded.about(key).map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned);
        let allowed = |tunable: &str| words(&format!("allowed.{tunable}"));
        let callees = recorded.about(CALLEES);
        // Where page faults or misses were counted, a large share is no large part of the time.
        let is_of_time = |profile: &Profile| profile.event.as_ref().is_none_or(SamplingEvent::shows_cpu_time);
        let profile = recorded.profile()?.filter(is_of_time);
        let profile = profile.map(|profile| ProfileSeen::of(profile, recorded.gaps(), callees));
        let kernel = words("kernel");
        let is_ancient = profile.as_ref().is_some_and(ProfileSeen::is_before_2_6_33);
        // Text of the kernel's own files has the kernel's names, and a profile has no series at all.
        let is_import = seen.is_import || words("import.files").is_some();
        let (read_once, folded) =
            std::mem::take(&mut seen.folded).into_iter().partition(|folded| is_import && folded.since_boot().is_some());
        let settings = Settings::of(recorded.settings()?, kernel.as_deref(), is_ancient, allowed);
        Ok(Observed {
            windows: seen.windows,
            ticks: seen.ticks,
            late: seen.late,
            gaps: recorded.gaps().to_vec(),
            wall_offset: (recorded.wall_clock() != WallClock::None).then_some(seen.wall_offset),
            kernel,
            page_size: known(number("page_size")).unwrap_or(4096.0),
            hz,
            is_import,
            tools: words("import.files").map(|files| tools(&files)).unwrap_or_default(),
            settings,
            free_goes_back: recorded.about(FREE_PAGE_REPORTING) == Some("1"),
            listed_samples: number("import.samples").filter(|samples| *samples >= 1.0).map(|samples| samples as u64),
            profile,
            stalls: recorded.stalls()?.map(|rows| StallsSeen::of(rows, recorded.gaps())),
            processes: recorded.walks()?.map(ProcessesSeen::of),
            cached_files: recorded.about(CACHED_FILES).map(cached::of_text).unwrap_or_default(),
            seen: if is_import { SeriesSeen::of_listings(folded) } else { SeriesSeen::of(folded) },
            read_once: SeriesSeen::of(read_once),
        })
    }

    /// What a signal grew by per second, window by window: pages, bytes, seconds or a count, as its unit says.
    #[must_use]
    pub fn rate(&self, signal: &Quantity) -> Track {
        let own = || self.sum(signal, |folded, window, windows| folded.rate(window, windows));
        self.imported_rate(signal).unwrap_or_else(own)
    }

    /// The mean of a level, window by window.
    #[must_use]
    pub fn level(&self, signal: &Quantity) -> Track {
        let own = || self.sum(signal, |folded, window, _| folded.mean(window));
        self.imported_level(signal, Folded::mean).unwrap_or_else(own)
    }

    /// What a level rose by per second, window by window, from its mean to that of the next one; the last window has what the one
    /// before it has. For listings that print a level and not what changed it.
    #[must_use]
    pub fn rise(&self, signal: &Quantity) -> Track {
        let level = self.level(signal);
        let windows = &self.windows;
        let middle = |window: usize| (windows.from(window) + windows.to(window)) as f64 / 2.0 * SECOND;
        let rise = |window: usize| {
            let next = if window + 1 < windows.count { window + 1 } else { window };
            let last = next.checked_sub(1)?;
            let (from, to) = (level.values().get(last).copied()??, level.values().get(next).copied()??);
            Some((to - from) / (middle(next) - middle(last)).max(SECOND))
        };
        let values: Vec<Option<f64>> = (0..windows.count).map(rise).collect();
        let missing = values.iter().any(Option::is_none).then(|| self.missing(signal));
        Track::new(values, missing)
    }

    /// The least it was.
    #[must_use]
    pub fn least(&self, signal: &Quantity) -> Track {
        // Of a difference the least is no difference of the least.
        let is_sum = self.parts(signal).all(|(_, weight)| weight > 0.0);
        let own = || self.sum(signal, |folded, window, _| folded.least(window).filter(|_| is_sum));
        self.imported_level(signal, Folded::least).unwrap_or_else(own)
    }

    /// The same for each series of a labelled signal: its labels, and what `of` takes from it.
    #[must_use]
    pub fn each_rate(&self, signal: &Quantity) -> Vec<(&str, Track)> {
        self.each(signal, |folded, window, windows| folded.rate(window, windows))
    }

    /// The mean of each series of a labelled signal.
    #[must_use]
    pub fn each_level(&self, signal: &Quantity) -> Vec<(&str, Track)> {
        self.each(signal, |folded, window, _| folded.mean(window))
    }

    /// The first and the last reading of each series of a labelled level.
    #[must_use]
    pub fn each_ends(&self, signal: &Quantity) -> Vec<(&str, f64, f64)> {
        let known = self.parts(signal).filter_map(|(folded, _)| folded.ends().map(|ends| (folded.labels(), ends)));
        known.map(|(labels, (first, last))| (labels, first, last)).collect()
    }

    /// What a signal grew by from first to last sample, as far as it was seen. `None`: it was not.
    #[must_use]
    pub fn growth(&self, signal: &Quantity) -> Option<f64> {
        self.added(signal, Folded::growth)
    }

    /// What the kernel counted since the host started, where a single reading of its own files is all there is; or between readings
    /// [without a time](Observed::without_time).
    #[must_use]
    pub fn since_boot(&self, signal: &Quantity) -> Option<f64> {
        self.read_once.parts.contains_key(signal.id).then_some(())?;
        self.read_once.parts(signal).map(|(folded, weight)| Some(folded.since_boot()? * weight)).sum()
    }

    /// Of numbers that give no rates, since nothing says how far their readings are apart.
    #[must_use]
    pub fn without_time(&self) -> Option<&Gap> {
        self.gaps.iter().find(|gap| gap.reason.word() == NO_TIME)
    }

    /// The growth of each series of a labelled signal.
    #[must_use]
    pub fn each_growth(&self, signal: &Quantity) -> Vec<(&str, f64)> {
        self.parts(signal).filter_map(|(folded, _)| Some((folded.labels(), folded.growth()?))).collect()
    }

    /// What a level rose by per second from its first sample to its last; below 0 when it fell.
    #[must_use]
    pub fn slope(&self, signal: &Quantity) -> Option<f64> {
        self.added(signal, Folded::slope)
    }

    /// The value of a level at the last sample that had it.
    #[must_use]
    pub fn last(&self, signal: &Quantity) -> Option<f64> {
        self.added(signal, Folded::last)
    }

    /// How many CPUs there are; `None` where it cannot be told.
    #[must_use]
    pub fn cpus(&self) -> Option<f64> {
        let cpus = self.parts(&signal::CPU_EACH_IDLE).count();
        (cpus > 0).then_some(cpus as f64)
    }

    /// The system's share of busy CPU time: `Δsystem / (Δuser + Δnice + Δsystem)`, or from percentages of another tool.
    #[must_use]
    pub fn system_share(&self) -> Track {
        let system = self.rate(&signal::CPU_SYSTEM);
        if self.has(&signal::CPU_SYSTEM) || !self.has(&signal::IMPORTED_SYSTEM) {
            let user = self.rate(&signal::CPU_USER).plus(&self.rate(&signal::CPU_NICE).or_zero());
            return system.share_of(&user.plus(&system));
        }
        self.level(&signal::IMPORTED_SYSTEM).share_of(&self.level(&signal::IMPORTED_BUSY))
    }

    /// The system's share of all CPU time, idle included.
    #[must_use]
    pub fn system_share_of_all(&self) -> Track {
        if self.has(&signal::CPU_SYSTEM) || !self.has(&signal::IMPORTED_SYSTEM) {
            return self.rate(&signal::CPU_SYSTEM).share_of(&self.cpu_time());
        }
        self.level(&signal::IMPORTED_SYSTEM)
    }

    /// All CPU time that passed per second: about the number of CPUs. Of a listing, whose CPU time is in parts of it all, 1.
    #[must_use]
    pub fn cpu_time(&self) -> Track {
        if !self.has(&signal::CPU_IDLE) && self.has(&signal::IMPORTED_BUSY) {
            return Track::constant(1.0, self.windows.count);
        }
        let parts = CPU_TIME.map(|signal| self.rate(signal));
        let rest = CPU_TIME_BESIDE.map(|signal| self.rate(signal).or_zero());
        parts.iter().chain(&rest).fold(Track::constant(0.0, self.windows.count), |sum, part| sum.plus(part))
    }

    /// CPU time that was used per second, in CPUs: neither idle, nor waiting for a disk, nor taken by the hypervisor. A listing
    /// tells it in parts of a whole whose size is not known.
    #[must_use]
    pub fn busy(&self) -> Track {
        let rest = [&signal::CPU_IOWAIT, &signal::CPU_STEAL].map(|signal| self.rate(signal).or_zero());
        let unused = rest.iter().fold(self.rate(&signal::CPU_IDLE), |sum, part| sum.plus(part));
        self.cpu_time().with(&unused, |all, unused| Some((all - unused).max(0.0)))
    }

    /// Who has a part of something, by the name of the process where that was seen. What `record --redact` leaves has no name and
    /// no number.
    pub(super) fn participant(&self, share: Share, of: &str) -> Participant {
        let called = self.processes.as_ref().zip(share.pid).and_then(|(seen, pid)| seen.name_of(pid));
        let (name, pid) = match called.unwrap_or(share.comm) {
            name if name.is_empty() => ("processes whose names were not kept".to_owned(), None),
            name => (name, share.pid),
        };
        Participant { name, pid, share: Some(share.share), of: of.to_owned() }
    }

    /// The part of all CPU time that was used. Of a listing as its tool counts it: collectl counts what was taken, too.
    #[must_use]
    pub fn busy_share(&self) -> Track {
        if !self.has(&signal::CPU_IDLE) && self.has(&signal::IMPORTED_BUSY) {
            return self.level(&signal::IMPORTED_BUSY);
        }
        self.busy().share_of(&self.cpu_time())
    }

    /// The part of all CPU time in which a CPU had nothing to do but to wait for a disk.
    #[must_use]
    pub fn waiting_share(&self) -> Track {
        self.rate(&signal::CPU_IOWAIT).share_of(&self.cpu_time())
    }

    /// Memory the host has, in bytes.
    #[must_use]
    pub fn memory(&self) -> Option<f64> {
        let total = self.last(&signal::MEM_TOTAL).or_else(|| self.last(&signal::IMPORTED_MEM_TOTAL));
        total.filter(|bytes| *bytes > 0.0)
    }

    /// Memory that programs could get without swapping, in bytes. Kernels before 3.14 and most tools do not say: then it is what is
    /// free and what files take in the page cache, as far as that is known, less what is shared memory there.
    #[must_use]
    pub fn available(&self) -> Track {
        if self.has(&signal::MEM_AVAILABLE) {
            return self.level(&signal::MEM_AVAILABLE);
        }
        let known = |signal: &Quantity| self.level(signal).or_zero();
        let files =
            known(&signal::PAGE_CACHE).with(&known(&signal::SHMEM), |cache, shared| Some((cache - shared).max(0.0)));
        self.level(&signal::MEM_FREE).plus(&files)
    }

    /// How many samples the profile was made of, where that is known: other tools print shares alone.
    #[must_use]
    pub fn profile_samples(&self) -> Option<u64> {
        let counted = || self.profile.as_ref().map(|profile| profile.samples_in_all());
        self.listed_samples.or_else(|| counted().filter(|_| !self.is_import))
    }

    /// A level as a share of the host's memory.
    #[must_use]
    pub fn share_of_memory(&self, level: &Track) -> Track {
        match self.memory() {
            Some(memory) => level.map(|bytes| bytes / memory),
            None => Track::unknown(self.windows.count, self.missing(&signal::MEM_TOTAL)),
        }
    }

    /// Size of all swap in bytes and whether every area of it is compressed memory; `None` where it is not known.
    #[must_use]
    pub fn swap(&self) -> Option<(f64, Option<bool>)> {
        let areas = self.settings.value("swap").and_then(|value| swap::parse(value).ok());
        let is_zram = |area: &swap::Area| matches!(area.kind, swap::Kind::Zram(_));
        let compressed = areas.map(|areas| !areas.is_empty() && areas.iter().all(is_zram));
        let total = self
            .last(&signal::SWAP_TOTAL)
            .or_else(|| Some(self.last(&signal::SWAP_FREE)? + self.last(&signal::IMPORTED_SWAP_USED)?));
        total.map(|bytes| (bytes, compressed))
    }

    /// Whether the recording has any series of it.
    #[must_use]
    pub fn has(&self, signal: &Quantity) -> bool {
        self.parts(signal).next().is_some()
    }

    /// What is missing of a signal, and why.
    #[must_use]
    pub fn missing(&self, signal: &Quantity) -> Missing {
        self.missing_from(signal.source, signal.label(), self.has(signal))
    }

    fn missing_from(&self, source: &str, what: String, is_there: bool) -> Missing {
        let gap = self.gaps.iter().find(|gap| gap.source.as_deref() == Some(source));
        let why = match gap {
            Some(gap) if gap.detail.is_empty() => gap.reason.word().replace('_', " "),
            Some(gap) => gap.detail.clone(),
            None if self.ticks == 0 => "there is no sample".to_owned(),
            None if is_there => "it was reset, or not seen for long enough".to_owned(),
            None => "it is not in the recording".to_owned(),
        };
        Missing { what, why }
    }

    /// What it is made of, and how often each counts.
    fn parts(&self, signal: &Quantity) -> impl Iterator<Item = (&Folded, f64)> {
        self.seen.parts(signal)
    }

    /// One number of all of it: what is known of a sum, and of a difference only where both halves are.
    fn added(&self, signal: &Quantity, of: impl Fn(&Folded) -> Option<f64>) -> Option<f64> {
        let known = |(folded, weight): (&Folded, f64)| Some((of(folded)? * weight, weight));
        let parts: Vec<(f64, f64)> = self.parts(signal).filter_map(known).collect();
        let is_whole = parts.len() == self.parts(signal).count();
        let is_sum = self.parts(signal).all(|(_, weight)| weight > 0.0);
        parts.into_iter().map(|(value, _)| value).reduce(|a, b| a + b).filter(|_| is_sum || is_whole)
    }

    fn sum(&self, signal: &Quantity, of: impl Fn(&Folded, usize, &Windows) -> Option<f64>) -> Track {
        let parts: Vec<(&Folded, f64)> = self.parts(signal).collect();
        self.sum_of(&parts, || self.missing(signal), of)
    }

    fn sum_of(
        &self,
        parts: &[(&Folded, f64)],
        missing: impl Fn() -> Missing,
        of: impl Fn(&Folded, usize, &Windows) -> Option<f64>,
    ) -> Track {
        if parts.is_empty() {
            return Track::unknown(self.windows.count, missing());
        }
        let value = |window| {
            parts.iter().map(|(part, weight)| Some(of(part, window, &self.windows)? * weight)).sum::<Option<f64>>()
        };
        let values: Vec<Option<f64>> = (0..self.windows.count).map(value).collect();
        let missing = values.iter().any(Option::is_none).then(missing);
        Track::new(values, missing)
    }

    fn each(&self, signal: &Quantity, of: impl Fn(&Folded, usize, &Windows) -> Option<f64>) -> Vec<(&str, Track)> {
        let track = |part: &Folded| {
            let values: Vec<Option<f64>> =
                (0..self.windows.count).map(|window| of(part, window, &self.windows)).collect();
            let missing = values.iter().any(Option::is_none).then(|| self.missing(signal));
            Track::new(values, missing)
        };
        let own: Vec<(&str, Track)> = self.parts(signal).map(|(part, _)| (part.labels(), track(part))).collect();
        if own.is_empty() && signal.kind == signal::Kind::Counter { self.each_printed(signal) } else { own }
    }
}

/// The kinds in `vmstat:a.txt, sar:b.txt`, once each. A name of a file can have a comma and a colon in it; a kind is one word.
fn tools(files: &str) -> Vec<String> {
    let is_kind = |word: &&str| word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
    let mut kinds: Vec<String> = Vec::new();
    for kind in files.split(", ").filter_map(|file| Some(file.split_once(':')?.0)).filter(is_kind) {
        if !kinds.iter().any(|known| known == kind) {
            kinds.push(kind.to_owned());
        }
    }
    kinds
}

/// The value of one label of `node=0,zone=DMA`.
#[must_use]
pub fn label<'a>(labels: &'a str, name: &str) -> Option<&'a str> {
    labels.split(',').find_map(|pair| pair.split_once('=').filter(|(key, _)| *key == name).map(|(_, value)| value))
}

//! The law: batches of a tenth of a second of fill or less (of milliseconds, where free memory goes back to a hypervisor), made in slices of a few milliseconds, early enough that kswapd never wakes.
//!
//! All of it is in time, not in bytes: how long until the low watermark, how long a batch lasts, how long a slice may take. What a byte
//! costs differs much between large folios, single pages and small files, and is learnt. The law stands down, and says why, where the
//! shortage is not of a stream's making, where the fill is faster than it can free, where what it takes comes back, and where the host is worse
//! off with it than without.

use super::brake::{BatchOutcome, Brake, CameBack};
use super::cost::{CostTotals, Filling, Freeing, ReclaimedBy};
use super::inflow::{Cause, Inflow};
use super::sample::{Domain, Sample};
use super::{ControlLaw, Decision, MILLISECOND, SECOND, Slice};
use serde::{Deserialize, Serialize};

/// What a user may choose.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Most of a core that a domain's guard may use, averaged over ten seconds.
    pub cpu_cap: f64,
    /// A batch holds so many seconds of fill at first, and at most. `None`: a tenth, and five milliseconds where free memory goes back
    /// ([`Law::where_free_goes_back`]).
    pub batch: Option<f64>,
    /// Whether it stops where what it takes comes back. Without, only to show what the brake is for.
    pub brake: bool,
    /// Whether it asks what fills memory. Without, only to show what the gate is for.
    pub gate: bool,
    /// Whether it lets the kernel reclaim alone at first, to know what filling costs without a guard.
    pub baseline: bool,
    /// Whether it takes what a stream has gone past in its own file first, where the back ends can.
    pub trails: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Settings { cpu_cap: 0.5, batch: None, brake: true, gate: true, baseline: true, trails: true }
    }
}

impl Settings {
    /// What a batch holds at first, and at most, seconds of fill.
    fn batch(self, keeping: Keeping) -> f64 {
        self.batch.unwrap_or(keeping.batch)
    }
}

/// How much may be free that nobody uses yet.
#[derive(Clone, Copy, Debug)]
struct Keeping {
    /// What a batch holds where nobody chose it, seconds of fill.
    batch: f64,
    /// So many batches may be free above what one begins at, where kswapd was woken for want of large blocks: more free memory than that has its
    /// blocks, too, or compaction has to make them.
    batches_held: u64,
    /// The least and the most to begin at, as parts of the domain.
    least_reserve: f64,
    most_reserve: f64,
}

const USUALLY: Keeping = Keeping { batch: 0.1, batches_held: 3, least_reserve: 0.0025, most_reserve: 0.03 };

/// The hypervisor takes back what is free, and whoever touches that again waits until it is there. Being late costs less than that: kswapd wakes, as it
/// does without a guard.
const WHERE_FREE_GOES_BACK: Keeping =
    Keeping { batch: 0.005, batches_held: 4, least_reserve: 0.00125, most_reserve: 0.00125 };

/// The shortest and the longest time between two samples of a domain that fills.
const SHORTEST_TICK: u64 = 2 * MILLISECOND;
const LONGEST_TICK: u64 = 250 * MILLISECOND;

/// Between two samples where memory is short and the kernel is left to it for now.
const SHORT_OF_MEMORY_TICK: u64 = 50 * MILLISECOND;

/// Between two samples where nothing streams and memory is free.
const IDLE_TICK: u64 = SECOND;

/// A slice is as long as this, and not smaller or larger than these.
const SLICE: u64 = 4 * MILLISECOND;
const LEAST_SLICE: u64 = 1 << 20;
const LARGEST_SLICE: u64 = 64 << 20;

/// A batch ends after so long, whatever it got.
const LONGEST_BATCH: u64 = SECOND / 2;

/// Less than this part of what was asked is no progress.
const POOR: f64 = 0.12;

/// The most to hold above what a batch begins at, as a part of the domain.
const MOST_ABOVE: f64 = 0.02;

/// In a small group that part would be gone before anybody can wake. So many bytes may begin a batch all the same, and never more than an eighth of the domain.
const RESERVE_OF_SMALL: u64 = 16 << 20;
const MOST_RESERVE_OF_SMALL: u64 = 8;

/// A batch holds between so many seconds of fill.
const SHORTEST_BATCH: f64 = 0.005;

/// And no fewer bytes.
const LEAST_BATCH: u64 = 8 << 20;

/// An estimate of the fill is renewed when so much time has passed, and loses half of itself in about so many seconds. In less time pages
/// that were freed are still on the lists of the CPUs, which no zone counts as free: they would pass for pages that came in.
const FILL_WINDOW: u64 = 100 * MILLISECOND;
const FILL_FADES: f64 = 1.5;

/// The worst lateness is remembered for about so many seconds; no clock wakes anybody sooner than this.
const LATE_FADES: f64 = 30.0;
const LEAST_LATE: u64 = MILLISECOND;

/// Who wakes later than this does so by accident, and no reserve would help.
const MOST_LATE: u64 = 100 * MILLISECOND;

/// Who was away for longer than this lost its history: stopped, suspended, or without a CPU.
const GAP: u64 = SECOND;

/// CPU time is granted over so many seconds.
const CAP_OVER: f64 = 10.0;

/// A fill is too fast once it has been for so long: memory that was short is full of single pages, which are dear to free, and read-ahead finds room for large
/// folios, which are not, only once there is some. The CPU time granted covers that.
const INFEASIBLE_FOR: u64 = 2 * SECOND;

/// Soon after it left memory to the kernel, for whatever reason, it is told sooner.
const INFEASIBLE_AGAIN_FOR: u64 = SECOND / 10;

/// How long it stands down, by reason; each time in a row twice as long, up to the last.
const STANDS_DOWN: u64 = 30 * SECOND;
const STANDS_DOWN_BRIEFLY: u64 = 10 * SECOND;
const LONGEST_STANDS_DOWN: u64 = 600 * SECOND;

/// Having worked for so long, it stands down for the shortest time again.
const FORGIVEN: u64 = 60 * SECOND;

/// What was learnt of filling without the guard is believed for so long at first, and twice as long each time it was asked again.
const BELIEVED: u64 = 20 * SECOND;

/// The kernel is watched at it for so long in all, whatever pauses a stream makes meanwhile; and where nothing was learnt, again after that.
const LONGEST_BASELINE: u64 = 6 * SECOND;

/// Why nothing is reclaimed although memory is short.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "why")]
pub enum WaitReason {
    /// Something other than a stream fills memory: kswapd does a good job there.
    NotAStream,
    /// The stream writes: what it left is dirty, and writeback has to come first.
    Dirty,
    /// Little clean page cache is left that nobody used twice.
    LittleToTake,
    /// So little file cache that the kernel would take anonymous memory in its place.
    NearAnonymous,
    /// The fill needs more CPU than the cap leaves.
    Infeasible {
        /// Cores it would take.
        cores: f64,
    },
    /// The CPU time granted is used up.
    CpuCap,
    /// What was taken came back.
    CameBack,
    /// The host spends more kernel time on every byte that comes in than without the guard.
    Dearer {
        /// By which part more.
        by: f64,
    },
    /// The back end gives nothing.
    NoProgress,
    /// The kernel reclaims alone for some seconds, so that it is known what filling costs then.
    Baseline,
}

impl WaitReason {
    /// In words, as the end of "leaves the node to the kernel: …".
    #[must_use]
    pub fn words(self) -> String {
        match self {
            WaitReason::NotAStream => "what fills memory is no stream through the page cache".to_owned(),
            WaitReason::Dirty => {
                "most of what could be taken is dirty; writeback comes first (vm.dirty_background_bytes)".to_owned()
            }
            WaitReason::LittleToTake => "little page cache is left that was used only once".to_owned(),
            WaitReason::NearAnonymous => {
                "so little file cache is left that the kernel would take anonymous memory in its place".to_owned()
            }
            WaitReason::Infeasible { cores } => format!(
                "this fill needs {cores:.2} cores to be freed in time, more than it may use; limit the streamer (memory.high of \
                 its cgroup), have it read with RWF_DONTCACHE, or give it larger folios (read_ahead_kb)"
            ),
            WaitReason::CpuCap => "the CPU time it may use is used up".to_owned(),
            WaitReason::CameBack => "what was taken came back soon: it was somebody's working set".to_owned(),
            WaitReason::Dearer { by } => format!(
                "every GiB that comes in costs {:.0} % more kernel time with the guard than without; the hypervisor may take \
                 back what is free",
                by * 100.0
            ),
            WaitReason::NoProgress => "the kernel gave next to nothing, three times in a row".to_owned(),
            WaitReason::Baseline => "for some seconds, to learn what filling costs without the guard".to_owned(),
        }
    }
}

/// What the law is doing.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "mode")]
pub enum Mode {
    /// Nothing streams, or memory is free.
    Watching,
    /// A stream fills memory; a batch is not due.
    Armed,
    /// In a batch.
    Reclaiming,
    /// Memory is short and the kernel is left to it.
    Leaving {
        /// Why.
        because: WaitReason,
    },
}

/// A batch under way.
#[derive(Clone, Copy, Debug)]
struct Batch {
    began: u64,
    /// Headroom at which it ends.
    until: u64,
    poor: u32,
}

/// Watching the kernel at it alone: what the guard's own cost is held against.
#[derive(Clone, Copy, Debug, Default)]
struct Baseline {
    /// The last sample of one under way.
    last: Option<u64>,
    watched: u64,
    /// Nothing was learnt: not before then again.
    again_at: Option<u64>,
}

/// The law for one domain.
#[derive(Clone, Copy, Debug)]
pub struct Law {
    settings: Settings,
    keeping: Keeping,
    inflow: Inflow,
    brake: Brake,
    freeing: Freeing,
    filling: Filling,
    /// Whose kernel time it is held against: that of known streams, or of the host.
    paid_by: Option<u64>,
    /// When it was last asked, and when it wanted to be asked next.
    last: Option<u64>,
    expected: Option<u64>,
    /// Whether it slept until then, or was at work.
    slept: bool,
    lateness: f64,
    /// Whether the last sample came later than that.
    woken_late: bool,
    /// Headroom at the last sample, and whether it was enough from the one before on.
    headroom: u64,
    had_room: bool,
    /// How long a slice takes at worst: among others who want the CPU, longer than it works.
    slice: f64,
    /// The kernel reclaimed since the last sample although it was the guard's to do. Free bytes do not tell all: for a large folio kswapd is woken
    /// where no block of its size is free, however much else is (`wakeup_kswapd`, `pgdat_balanced`, `mm/vmscan.c`, 6.12).
    is_late: bool,
    /// Since when the fill is measured, the headroom and all that had come in by then, and what was freed since.
    fill_since: Option<(u64, u64, u64)>,
    freed_since: u64,
    fill: f64,
    /// Page cache that came in since the start, and what there was of it and had been taken at the last sample.
    came: u64,
    file_before: Option<u64>,
    /// File inflow over some seconds, for what is feasible.
    lasting_fill: f64,
    seconds_held: f64,
    batch: Option<Batch>,
    rests_until: u64,
    left_alone: Option<(u64, WaitReason)>,
    left_alone_for: u64,
    left_until: Option<u64>,
    poor_batches: u32,
    cpu_left: f64,
    /// Since when the fill has needed more CPU than it may use.
    infeasible_since: Option<u64>,
    too_late: u64,
    made_since: bool,
    baseline: Baseline,
    /// Since when it is known what filling costs without, and how long that is believed.
    baseline_at: Option<u64>,
    believed_for: u64,
    mode: Mode,
}

impl Law {
    /// One that has seen nothing yet.
    #[must_use]
    pub fn new(settings: Settings) -> Law {
        Law {
            settings,
            keeping: USUALLY,
            inflow: Inflow::default(),
            brake: Brake::default(),
            freeing: Freeing::default(),
            filling: Filling::default(),
            paid_by: None,
            last: None,
            expected: None,
            slept: false,
            lateness: LEAST_LATE as f64,
            woken_late: false,
            headroom: 0,
            had_room: false,
            slice: SLICE as f64,
            is_late: false,
            fill_since: None,
            freed_since: 0,
            fill: 0.0,
            came: 0,
            file_before: None,
            lasting_fill: 0.0,
            seconds_held: settings.batch(USUALLY),
            batch: None,
            rests_until: 0,
            left_alone: None,
            left_alone_for: 0,
            left_until: None,
            poor_batches: 0,
            cpu_left: settings.cpu_cap * CAP_OVER * SECOND as f64,
            infeasible_since: None,
            too_late: 0,
            made_since: false,
            baseline: Baseline::default(),
            baseline_at: None,
            believed_for: BELIEVED,
            mode: Mode::Watching,
        }
    }

    /// Of a memory node of a host that gives its free memory back to a hypervisor, where that is dear to touch again: then as little as can be is kept
    /// free.
    #[must_use]
    pub fn where_free_goes_back(self) -> Law {
        let keeping = WHERE_FREE_GOES_BACK;
        Law { keeping, seconds_held: self.settings.batch(keeping), ..self }
    }

    /// What it is doing, as of the last decision.
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// What it has learnt, for whoever asks.
    #[must_use]
    pub fn learnt(&self) -> Learnt {
        let (with, without) = self.filling.known();
        let per_gib = |per_byte: f64| per_byte * f64::from(1 << 30) / SECOND as f64;
        Learnt {
            fill: self.filling_now(),
            freeing: self.freeing.is_known().then(|| per_gib(self.freeing.cpu_per_byte())),
            filling_with: with.map(per_gib),
            filling_without: without.map(per_gib),
            lateness: self.lateness / SECOND as f64,
            seconds_held: self.seconds_held,
        }
    }

    /// Whether the last sample came later than it had reckoned with: no CPU was there, or the kernel held the slice before.
    #[must_use]
    pub fn woken_late(&self) -> bool {
        self.woken_late
    }

    /// Whether there was room for single pages since the sample before: at both samples more than could fill in between. Who wakes kswapd all the same wants
    /// many pages in a row.
    #[must_use]
    pub fn had_room(&self) -> bool {
        self.had_room
    }

    /// Headroom to keep: what a stream fills twice over before the next sample could come at its latest.
    fn reserve(&self, size: u64) -> u64 {
        let blind = self.lateness + SHORTEST_TICK as f64 + self.slice;
        let by_time = 2.0 * self.filling_next() * blind / SECOND as f64;
        let of_small = RESERVE_OF_SMALL.min(size / MOST_RESERVE_OF_SMALL) as f64;
        let Keeping { least_reserve: least, most_reserve: most, .. } = self.keeping;
        by_time.clamp(size as f64 * least, (size as f64 * most).max(of_small)) as u64
    }

    /// What a batch frees.
    fn held(&self, size: u64) -> u64 {
        let held = (self.filling_next() * self.seconds_held).min(size as f64 * MOST_ABOVE) as u64;
        held.max(LEAST_BATCH)
    }

    /// Headroom at which a batch begins. While a stream pauses that is half a batch sooner: there is time, and what is left then lasts until a sample that
    /// need not come every two milliseconds.
    fn begins_at(&self, size: u64) -> u64 {
        self.reserve(size) + if self.inflow.is_paused() { self.held(size) / 2 } else { 0 }
    }

    /// Bytes a second: by headroom, or by what came into the page cache where the kernel's own reclaim hides it.
    fn filling_now(&self) -> f64 {
        self.fill.max(self.inflow.file_rate())
    }

    /// Bytes a second that it has to be ready for.
    fn filling_next(&self) -> f64 {
        self.filling_now().max(self.inflow.comes_back_at())
    }

    fn follow(&mut self, sample: &Sample<'_>) {
        let passed = self.last.map_or(0, |last| sample.at.saturating_sub(last));
        let late = self.expected.map_or(0, |expected| sample.at.saturating_sub(expected));
        if late > GAP {
            self.forget();
        }
        let seconds = passed as f64 / SECOND as f64;
        let faded = self.lateness * libm::exp(-seconds / LATE_FADES);
        self.woken_late = late as f64 > self.lateness.max(LEAST_LATE as f64);
        let late = if self.slept { late.min(MOST_LATE) } else { 0 };
        self.lateness = faded.max(late as f64).max(LEAST_LATE as f64);
        self.slice = (self.slice * libm::exp(-seconds / LATE_FADES)).max(SLICE as f64);
        self.last = Some(sample.at);
        let grant = self.settings.cpu_cap * SECOND as f64;
        self.cpu_left = (self.cpu_left + grant * seconds).min(grant * CAP_OVER);

        let (headroom, all) = (sample.headroom(), sample.file_came_in().saturating_add(sample.other_came_in()));
        match self.fill_since {
            None => self.fill_since = Some((sample.at, headroom, all)),
            Some((since, before, all_before)) if sample.at.saturating_sub(since) >= FILL_WINDOW => {
                let seconds = (sample.at - since) as f64 / SECOND as f64;
                let gone = before as f64 + self.freed_since as f64 - headroom as f64;
                // What was freed may stay on the lists of the CPUs (since 6.7 all of them together may grow to an eighth of the zone,
                // `MIN_PERCPU_PAGELIST_HIGH_FRACTION`, `mm/page_alloc.c`): it is not free by any watermark, and did not come in either.
                let came = match sample.domain {
                    Domain::Node { .. } => gone.min(all as f64 - all_before as f64),
                    Domain::Cgroup { .. } => gone,
                };
                let faded = self.fill * libm::exp(-seconds / FILL_FADES);
                self.fill = faded.max(came / seconds);
                self.fill_since = Some((sample.at, headroom, all));
                self.freed_since = 0;
            }
            Some(_) => {}
        }
        let filled = (self.filling_next() * seconds) as u64;
        self.had_room = matches!(sample.domain, Domain::Node { .. }) && self.headroom.min(headroom) > filled;
        self.headroom = headroom;
        let file = sample.file_came_in();
        self.came += self.file_before.map_or(0, |before| file.saturating_sub(before));
        self.file_before = Some(file);
        let paid_by = sample.streams.map(|streams| streams.of);
        if paid_by != self.paid_by {
            // What others paid says nothing of what these will.
            (self.paid_by, self.filling) = (paid_by, Filling::default());
            (self.baseline_at, self.baseline) = (None, Baseline::default());
        }
        self.inflow.observe(sample);
        if self.inflow.is_little() {
            // What had begun ends with what came in.
            (self.baseline.last, self.infeasible_since) = (None, None);
        }
        let towards = self.inflow.file_rate();
        self.lasting_fill += (towards - self.lasting_fill) * (1.0 - libm::exp(-seconds / FILL_FADES));
    }

    /// What was paid in all: by the streams alone where they are known, since what else the host does in the kernel comes and goes with its jobs.
    /// Their totals are as old as their last reading, so what came in since is left out.
    fn paid(&self, sample: &Sample<'_>) -> CostTotals {
        let Some(streams) = sample.streams else {
            return CostTotals { cpu: sample.system_cpu, read: self.came, came: self.came };
        };
        let age = sample.at.saturating_sub(streams.at) as f64 / SECOND as f64;
        let came = self.came.saturating_sub((age * self.inflow.file_rate()) as u64);
        CostTotals { cpu: streams.cpu, read: streams.read, came }
    }

    /// What the brakes say of what was taken so far.
    fn judge(&mut self, sample: &Sample<'_>) {
        let by = ReclaimedBy { guard: self.made_since, kernel: sample.too_late > self.too_late };
        self.is_late = by.kernel && matches!(self.mode, Mode::Armed | Mode::Reclaiming);
        (self.too_late, self.made_since) = (sample.too_late, false);
        let low: u64 = sample.zones.iter().map(|zone| zone.low).sum();
        self.filling.cycles_of(sample.high.saturating_sub(low));
        let paid = self.paid(sample);
        if self.filling.observe(sample.at, paid, by) {
            self.is_dearer(sample.at);
        }
        if self.filling.knows_without() {
            self.baseline_at.get_or_insert(sample.at);
        }
        if !self.settings.brake {
            return;
        }
        if self.is_late {
            // What the kernel took comes back, too, and nobody can tell whose it was.
            self.brake.forget();
            return;
        }
        let came_back = CameBack {
            of_files: sample.came_back_of_files,
            of_evicted: sample.came_back,
            evicted: sample.stolen_file.saturating_sub(sample.taken_of_files),
        };
        match self.brake.observe(sample.at, came_back) {
            BatchOutcome::Neither => {}
            BatchOutcome::Hurt => self.seconds_held = (self.seconds_held / 2.0).max(SHORTEST_BATCH),
            BatchOutcome::HurtMuch => self.leave(sample.at, WaitReason::CameBack, STANDS_DOWN),
            BatchOutcome::Harmless => {
                let most = self.settings.batch(self.keeping).max(SHORTEST_BATCH);
                self.seconds_held = (self.seconds_held * 1.1).min(most);
            }
        }
    }

    /// For some time filling has been dearer than it was without the guard. Jobs come and go, and with them what it would cost: a comparison that is old is
    /// made anew before anything follows from it.
    fn is_dearer(&mut self, at: u64) {
        let (with, without) = self.filling.known();
        if self.settings.baseline && self.baseline_at.is_none_or(|then| at.saturating_sub(then) > self.believed_for) {
            self.believed_for = (2 * self.believed_for).min(LONGEST_STANDS_DOWN);
            self.filling.asks_again();
            (self.baseline_at, self.baseline) = (None, Baseline::default());
            return;
        }
        self.filling.starts_anew();
        if self.seconds_held > SHORTEST_BATCH {
            self.seconds_held = (self.seconds_held / 2.0).max(SHORTEST_BATCH);
        } else {
            let by = with.zip(without).map_or(0.0, |(with, without)| with / without - 1.0);
            self.leave(at, WaitReason::Dearer { by }, LONGEST_STANDS_DOWN);
        }
    }

    /// Whether it has not worked for long since it left the domain to the kernel.
    fn left_lately(&self, at: u64) -> bool {
        self.left_until.is_some_and(|until| at.saturating_sub(until) < FORGIVEN)
    }

    /// Leaves the domain to the kernel for a while, each time in a row twice as long.
    fn leave(&mut self, at: u64, why: WaitReason, at_least: u64) {
        let is_again = self.left_lately(at);
        let twice = (self.left_alone_for * 2).clamp(at_least, LONGEST_STANDS_DOWN);
        self.left_alone_for = if is_again { twice } else { at_least };
        let until = at + self.left_alone_for;
        (self.left_alone, self.left_until) = (Some((until, why)), Some(until));
        (self.batch, self.infeasible_since) = (None, None);
    }

    /// Why nothing may be taken now, though memory is short.
    fn closed(&self, sample: &Sample<'_>, wanted: u64) -> Option<WaitReason> {
        if self.settings.gate {
            match self.inflow.cause() {
                Cause::File => {}
                Cause::DirtyFile => return Some(WaitReason::Dirty),
                Cause::Little | Cause::Mixed | Cause::Other => return Some(WaitReason::NotAStream),
            }
        }
        // Behind a stream the list does not matter: what it read twice is active, and it has gone past it all the same.
        let clean = sample.inactive_file.saturating_sub(sample.dirty).max(sample.behind_streams);
        if clean < 2 * wanted {
            return Some(WaitReason::LittleToTake);
        }
        // Below this a node's reclaim scans anonymous memory whatever it was told (`get_scan_count`, `file_is_tiny`, 6.12).
        let is_node = matches!(sample.domain, Domain::Node { .. });
        if is_node && sample.file + sample.free() <= sample.high + sample.high / 2 {
            return Some(WaitReason::NearAnonymous);
        }
        (self.cpu_left <= 0.0).then_some(WaitReason::CpuCap)
    }

    fn waits(&mut self, sample: &Sample<'_>, mode: Mode, nanoseconds: u64) -> Decision {
        self.mode = mode;
        (self.expected, self.slept) = (Some(sample.at + nanoseconds), true);
        Decision::Wait(nanoseconds)
    }

    /// The next slice of a batch that wants so much more.
    fn reclaims(&mut self, sample: &Sample<'_>, wanted: u64) -> Decision {
        self.mode = Mode::Reclaiming;
        (self.expected, self.slept) = (Some(sample.at + SLICE), false);
        let slice = self.freeing.within(SLICE).clamp(LEAST_SLICE, LARGEST_SLICE);
        Decision::Reclaim(slice.min(wanted).max(LEAST_SLICE))
    }

    /// How long until it has to sample again.
    fn tick(&self, headroom: u64, size: u64) -> u64 {
        let above = headroom.saturating_sub(self.reserve(size)) as f64;
        let until_halfway = (above / (2.0 * self.filling_next().max(1.0)) * SECOND as f64) as u64;
        // What a tenth of a small group holds is filled long before a second is over.
        let idles = self.inflow.is_little() && headroom > size / 10 && until_halfway > IDLE_TICK;
        if idles { IDLE_TICK } else { until_halfway.clamp(SHORTEST_TICK, LONGEST_TICK) }
    }

    /// What was seen before a gap says nothing of now.
    fn forget(&mut self) {
        self.inflow.forget();
        self.brake.forget();
        self.filling.forget();
        self.fill_since = None;
        self.file_before = None;
        self.freed_since = 0;
        self.fill = 0.0;
        self.batch = None;
        self.infeasible_since = None;
    }

    /// Whether the kernel is to be watched at it first, where it is not known yet what filling costs then.
    fn takes_baseline(&mut self, sample: &Sample<'_>) -> bool {
        if !self.settings.baseline || self.filling.knows_without() {
            return false;
        }
        if self.baseline.again_at.is_some_and(|again| sample.at < again) {
            return false;
        }
        self.baseline.again_at = None;
        self.baseline.watched += self.baseline.last.map_or(0, |then| sample.at.saturating_sub(then));
        // What comes in before the kernel is at work costs nobody anything yet.
        if self.baseline.last.is_none() || self.filling.is_untouched() {
            let paid = self.paid(sample);
            self.filling.starts(sample.at, paid);
        }
        self.baseline.last = Some(sample.at);
        if self.baseline.watched < LONGEST_BASELINE {
            return true;
        }
        self.baseline = Baseline { again_at: Some(sample.at + self.believed_for), ..Baseline::default() };
        self.believed_for = (2 * self.believed_for).min(LONGEST_STANDS_DOWN);
        false
    }
}

impl ControlLaw for Law {
    fn decide(&mut self, sample: &Sample<'_>) -> Decision {
        self.follow(sample);
        self.judge(sample);
        let (headroom, size) = (sample.headroom(), sample.domain.size());
        let begins_at = self.begins_at(size);
        let tick = self.tick(headroom, size);

        if let Some((until, because)) = self.left_alone {
            if sample.at < until {
                return self.waits(sample, Mode::Leaving { because }, LONGEST_TICK);
            }
            self.left_alone = None;
            // The next batches tell whether it is still so.
            self.freeing.is_old();
        }
        if let Some(batch) = self.batch {
            let is_over =
                headroom >= batch.until || sample.at.saturating_sub(batch.began) > LONGEST_BATCH || batch.poor >= 2;
            if !is_over && self.closed(sample, batch.until - headroom).is_none() {
                return self.reclaims(sample, batch.until - headroom);
            }
            self.batch = None;
            self.poor_batches = if batch.poor >= 2 { self.poor_batches + 1 } else { 0 };
            if self.poor_batches >= 3 {
                self.poor_batches = 0;
                self.leave(sample.at, WaitReason::NoProgress, STANDS_DOWN);
                return self.waits(sample, Mode::Leaving { because: WaitReason::NoProgress }, LONGEST_TICK);
            }
            let rest = 0.5 * headroom.saturating_sub(begins_at) as f64 / self.filling_next().max(1.0);
            self.rests_until = sample.at + (rest.min(1.0) * SECOND as f64) as u64;
        }
        let rests = headroom > begins_at || sample.at < self.rests_until && headroom > begins_at / 2;
        let most = begins_at + self.keeping.batches_held * self.held(size);
        if rests && (!self.is_late || headroom >= most) {
            let mode = if self.inflow.cause() == Cause::File { Mode::Armed } else { Mode::Watching };
            return self.waits(sample, mode, tick);
        }
        // Late with room left, it takes as much as a batch holds all the same: what it takes comes in larger blocks than there were.
        let until = if rests { (headroom + self.held(size)).min(most) } else { begins_at + self.held(size) };
        if let Some(because) = self.closed(sample, until.saturating_sub(headroom)) {
            let mode = match (because, self.inflow.cause()) {
                (WaitReason::NotAStream, Cause::Little) => Mode::Watching,
                _ => Mode::Leaving { because },
            };
            return self.waits(sample, mode, SHORT_OF_MEMORY_TICK);
        }
        let cores = self.lasting_fill * self.freeing.cpu_per_byte() / SECOND as f64;
        let is_too_fast = self.freeing.is_known() && cores > self.settings.cpu_cap;
        self.infeasible_since = is_too_fast.then(|| self.infeasible_since.unwrap_or(sample.at));
        let patience = if self.left_lately(sample.at) { INFEASIBLE_AGAIN_FOR } else { INFEASIBLE_FOR };
        if self.infeasible_since.is_some_and(|since| sample.at.saturating_sub(since) >= patience) {
            let because = WaitReason::Infeasible { cores };
            self.leave(sample.at, because, STANDS_DOWN_BRIEFLY);
            return self.waits(sample, Mode::Leaving { because }, LONGEST_TICK);
        }
        if self.takes_baseline(sample) {
            return self.waits(sample, Mode::Leaving { because: WaitReason::Baseline }, SHORT_OF_MEMORY_TICK);
        }
        self.batch = Some(Batch { began: sample.at, until, poor: 0 });
        self.reclaims(sample, until - headroom)
    }

    fn made(&mut self, slice: Slice) {
        let is_poor = (slice.freed as f64) < POOR * slice.asked as f64;
        if !is_poor {
            self.freeing.learn(slice.freed, slice.took, slice.cpu);
        }
        self.slice = self.slice.max(slice.took.min(MOST_LATE) as f64);
        self.brake.taken(slice.freed, slice.of_files);
        self.freed_since += slice.freed;
        self.cpu_left -= slice.cpu as f64;
        self.made_since |= slice.freed > 0;
        if let Some(batch) = &mut self.batch {
            batch.poor = if is_poor { batch.poor + 1 } else { 0 };
        }
    }
}

/// What the law has learnt of a domain.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Learnt {
    /// Bytes a second by which headroom falls.
    pub fill: f64,
    /// CPU seconds to free a GiB, once it freed some.
    pub freeing: Option<f64>,
    /// Kernel seconds of the host for each GiB that comes in, with the guard.
    pub filling_with: Option<f64>,
    /// The same where the kernel reclaims.
    pub filling_without: Option<f64>,
    /// How late it is woken at worst, seconds.
    pub lateness: f64,
    /// A batch holds so many seconds of fill.
    pub seconds_held: f64,
}

#[cfg(test)]
mod tests {
    use super::super::sample::{Zone, tests_only::still};
    use super::*;
    use proptest::prelude::*;

    const MIB: u64 = 1 << 20;

    /// Headroom of 10 MiB: too little for anything.
    static SHORT: [Zone; 1] = [Zone { free: 90 << 20, low: 80 << 20, protection: 0, drift: 0 }];

    /// And of 820 MiB: more than any batch of its holds.
    static PLENTY: [Zone; 1] = [Zone { free: 900 << 20, low: 80 << 20, protection: 0, drift: 0 }];

    fn law() -> Law {
        Law::new(Settings { baseline: false, ..Settings::default() })
    }

    /// What it decides once it has observed for three seconds at a node short of memory, to which each sample does this.
    fn after(mut law: Law, change: impl Fn(&mut Sample<'static>)) -> (Decision, Mode) {
        let mut sample = Sample { zones: &SHORT, ..still() };
        let mut decided = law.decide(&sample);
        for _ in 0..60 {
            sample.at += 50 * MILLISECOND;
            change(&mut sample);
            decided = law.decide(&sample);
            if matches!(decided, Decision::Reclaim(_)) {
                break;
            }
        }
        (decided, law.mode())
    }

    fn streams(sample: &mut Sample<'static>) {
        sample.stolen_file += 30 * MIB;
    }

    fn why(mode: Mode) -> WaitReason {
        match mode {
            Mode::Leaving { because } => because,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_stream_that_leaves_little_memory_is_answered_with_a_slice() {
        let (decided, mode) = after(law(), streams);
        assert!(
            matches!(decided, Decision::Reclaim(bytes) if (LEAST_SLICE..=LARGEST_SLICE).contains(&bytes)),
            "{decided:?}"
        );
        assert_eq!(mode, Mode::Reclaiming);
    }

    #[test]
    fn a_shortage_of_anonymous_memory_is_left_to_the_kernel() {
        assert_eq!(why(after(law(), |sample| sample.anonymous += 30 * MIB).1), WaitReason::NotAStream);
        let mixed = |sample: &mut Sample<'static>| {
            streams(sample);
            sample.stolen_anonymous += 30 * MIB;
        };
        assert_eq!(why(after(law(), mixed).1), WaitReason::NotAStream);
    }

    #[test]
    fn what_is_dirty_or_hardly_there_is_not_taken() {
        let dirty = |sample: &mut Sample<'static>| {
            streams(sample);
            sample.dirty = sample.inactive_file * 3 / 4;
        };
        assert_eq!(why(after(law(), dirty).1), WaitReason::Dirty);
        let little = |sample: &mut Sample<'static>| {
            streams(sample);
            sample.inactive_file = 8 * MIB;
        };
        assert_eq!(why(after(law(), little).1), WaitReason::LittleToTake);
        let behind = |sample: &mut Sample<'static>| {
            little(sample);
            sample.behind_streams = 2 << 30;
        };
        assert!(matches!(after(law(), behind).0, Decision::Reclaim(_)), "whatever the lists say");
    }

    #[test]
    fn what_stays_on_the_lists_of_cpus_did_not_come_in() {
        let mut law = law();
        let mut sample = Sample { zones: &PLENTY, ..still() };
        for _ in 0..30 {
            sample.at += 100 * MILLISECOND;
            streams(&mut sample);
            // Ten times as much was freed, and nothing more is free.
            law.made(Slice { asked: 300 * MIB, freed: 300 * MIB, took: MILLISECOND, cpu: MILLISECOND, of_files: 0 });
            let _ = law.decide(&sample);
        }
        let fill = law.learnt().fill / MIB as f64;
        assert!((299.0..=301.0).contains(&fill), "{fill} MiB/s");
    }

    #[test]
    fn a_batch_is_never_longer_than_was_asked_for() {
        let unasked = Settings { baseline: false, ..Settings::default() };
        let chosen = Settings { batch: Some(0.05), ..unasked };
        for (law, longest) in [
            (Law::new(unasked), 0.1),
            (Law::new(unasked).where_free_goes_back(), 0.005),
            (Law::new(chosen), 0.05),
            (Law::new(chosen).where_free_goes_back(), 0.05),
        ] {
            assert!((longest_batch(law) - longest).abs() < 1e-9, "{:?} {:?}", law.settings, law.keeping);
        }
    }

    /// Seconds of fill, of a stream that nobody misses.
    fn longest_batch(mut law: Law) -> f64 {
        let mut sample = Sample { zones: &SHORT, ..still() };
        for _ in 0..20_000 {
            sample.at += 5 * MILLISECOND;
            sample.stolen_file += 3 * MIB;
            if let Decision::Reclaim(asked) = law.decide(&sample) {
                law.made(Slice { asked, freed: asked, took: MILLISECOND, cpu: MILLISECOND, ..Slice::default() });
            }
        }
        law.seconds_held
    }

    #[test]
    fn who_is_woken_late_keeps_more_free_but_where_it_goes_back() {
        let reserve = |law: Law| {
            let mut law = Law { fill: 3e9, ..law };
            let at = |millisecond: u64| Sample { at: millisecond * MILLISECOND, zones: &SHORT, ..still() };
            let _ = law.decide(&at(1_000));
            (law.expected, law.slept) = (Some(1_002 * MILLISECOND), true);
            let _ = law.decide(&at(1_092));
            law.reserve(24 << 30) >> 20
        };
        let usual = reserve(Law::new(Settings::default()));
        assert!((400..=737).contains(&usual), "{usual} MiB");
        assert_eq!(reserve(Law::new(Settings::default()).where_free_goes_back()), 30);
    }

    #[test]
    fn a_stream_that_pauses_and_comes_back_wakes_nobody() {
        // 600 MiB/s for ten seconds, then five of what is in memory; a look at each millisecond that the law asked for.
        let mut law = law();
        let (mut free, mut stolen, mut file, mut woken) = (200 * MIB, 0, 0, [0; 4]);
        let mut due = 0;
        for millisecond in 0..60_000 {
            let at = millisecond * MILLISECOND;
            let round = (millisecond / 15_000) as usize;
            if millisecond % 15_000 < 10_000 {
                (file, free) = (file + 600 * MIB / 1000, free - 600 * MIB / 1000);
            }
            if free < 80 * MIB {
                (free, stolen, woken[round]) = (free + 30 * MIB, stolen + 30 * MIB, woken[round] + 1);
            }
            if at < due {
                continue;
            }
            let zones = [Zone { free, low: 80 * MIB, protection: 0, drift: 0 }];
            let now = Sample { at, zones: &zones, file: still().file + file - stolen, ..still() };
            let now = Sample { stolen_file: stolen, too_late: woken.iter().sum(), ..now };
            due = match law.decide(&now) {
                Decision::Wait(nanoseconds) => at + nanoseconds,
                Decision::Reclaim(asked) => {
                    let slice = Slice { asked, freed: asked, took: MILLISECOND, cpu: MILLISECOND, of_files: 0 };
                    law.made(slice);
                    (free, stolen) = (free + asked, stolen + asked);
                    at
                }
            };
        }
        assert!(woken[0] > 0 && woken[1..] == [0; 3], "the first time nobody knew: {woken:?}");
    }

    #[test]
    fn a_small_group_is_looked_at_before_a_stream_that_comes_back_has_filled_it() {
        // 100 MiB/s in a group of 150 MiB for ten seconds, then five of what is in memory, in which an eighth of the group stays free. Whoever
        // asks for the CPU gets it 40 ms later.
        const LATE: u64 = 40;
        let limit = 150 * MIB;
        let mut law = law();
        let (mut usage, mut stolen, mut file, mut met) = (130 * MIB, 0, 0, [0; 4]);
        let mut due = 0;
        for millisecond in 0..60_000 {
            let at = millisecond * MILLISECOND;
            if millisecond % 15_000 < 10_000 {
                (file, usage) = (file + MIB / 10, usage + MIB / 10);
            }
            if usage > limit {
                (usage, stolen) = (usage - MIB / 4, stolen + MIB / 4);
                met[(millisecond / 15_000) as usize] += 1;
            }
            if millisecond < due {
                continue;
            }
            let zones = [Zone { free: limit - usage, ..Zone::default() }];
            let now = Sample { at, domain: Domain::Cgroup { limit }, zones: &zones, high: 0, ..still() };
            let (file, inactive_file) = (130 * MIB + file - stolen, 120 * MIB);
            let now = Sample { file, inactive_file, stolen_file: stolen, too_late: met.iter().sum(), ..now };
            due = match law.decide(&now) {
                Decision::Wait(nanoseconds) => millisecond + nanoseconds / MILLISECOND + LATE,
                Decision::Reclaim(asked) => {
                    let freed = asked.min(usage);
                    law.made(Slice { asked, freed, took: 5 * MILLISECOND, cpu: MILLISECOND, of_files: 0 });
                    (usage, stolen) = (usage - freed, stolen + freed);
                    millisecond + 5
                }
            };
        }
        assert!(met[0] > 0 && met[1..] == [0; 3], "the first time nobody knew: {met:?}");
    }

    #[test]
    fn near_the_high_watermarks_a_node_is_not_touched_and_a_cgroup_has_none() {
        let near = |sample: &mut Sample<'static>| {
            streams(sample);
            sample.high = 4 << 30;
        };
        assert_eq!(why(after(law(), near).1), WaitReason::NearAnonymous);
        let cgroup = |sample: &mut Sample<'static>| {
            near(sample);
            sample.domain = Domain::Cgroup { limit: 24 << 30 };
        };
        assert!(matches!(after(law(), cgroup).0, Decision::Reclaim(_)));
    }

    #[test]
    fn the_kernel_is_watched_at_it_first() {
        let (_, mode) = after(Law::new(Settings::default()), streams);
        assert_eq!(why(mode), WaitReason::Baseline);
        // With kswapd at work meanwhile it is soon known what filling costs.
        let kernel_works = |sample: &mut Sample<'static>| {
            streams(sample);
            (sample.too_late, sample.system_cpu) = (sample.too_late + 1, sample.system_cpu + 10 * MILLISECOND);
        };
        assert!(matches!(after(Law::new(Settings::default()), kernel_works).0, Decision::Reclaim(_)));
    }

    #[test]
    fn it_watches_no_longer_for_the_pauses_of_a_stream() {
        // A second of each two is in memory, and nobody can tell what that costs.
        let mut law = Law::new(Settings::default());
        let mut sample = Sample { zones: &SHORT, ..still() };
        let mut watched = 0;
        for tick in 0..1_800 {
            sample.at += 20 * MILLISECOND;
            let fills = tick % 100 < 50;
            sample.stolen_file += if fills { 20 * MIB } else { 0 };
            if let Decision::Reclaim(asked) = law.decide(&sample) {
                law.made(Slice { asked, freed: asked, took: MILLISECOND, cpu: MILLISECOND, ..Slice::default() });
            }
            watched += u64::from(fills && matches!(law.mode(), Mode::Leaving { because: WaitReason::Baseline }));
        }
        let seconds = watched as f64 * 0.02;
        assert!((4.0..=9.0).contains(&seconds), "{seconds} of the 18 s in which it filled");
    }

    #[test]
    fn what_comes_back_much_is_left_alone() {
        let mut law = law();
        let mut sample = Sample { zones: &SHORT, ..still() };
        let mut left = false;
        for _ in 0..2_000 {
            sample.at += 5 * MILLISECOND;
            sample.stolen_file += 3 * MIB;
            if let Decision::Reclaim(asked) = law.decide(&sample) {
                law.made(Slice { asked, freed: asked, took: MILLISECOND, cpu: MILLISECOND, ..Slice::default() });
                sample.came_back += asked / 2;
            }
            left |= matches!(law.mode(), Mode::Leaving { because: WaitReason::CameBack });
        }
        assert!(left && matches!(law.mode(), Mode::Leaving { because: WaitReason::CameBack }), "{:?}", law.mode());
    }

    #[test]
    fn a_back_end_that_gives_nothing_is_not_asked_for_ever() {
        let mut law = law();
        let mut sample = Sample { zones: &SHORT, ..still() };
        let mut asked_for = 0;
        for _ in 0..2_000 {
            sample.at += 5 * MILLISECOND;
            sample.stolen_file += 3 * MIB;
            if let Decision::Reclaim(asked) = law.decide(&sample) {
                law.made(Slice { asked, took: MILLISECOND, cpu: MILLISECOND, ..Slice::default() });
                asked_for += 1;
            }
        }
        assert!(asked_for <= 8, "{asked_for}");
        assert_eq!(why(law.mode()), WaitReason::NoProgress);
    }

    /// A stream of 3 GiB/s in ten seconds, in the seconds that `fills` names; freeing takes so many milliseconds a GiB, and so many after the first GiB.
    fn left_as_infeasible(fills: impl Fn(u64) -> bool, first: u64, then: u64) -> bool {
        let mut law = law();
        let mut sample = Sample { zones: &SHORT, ..still() };
        let (mut freed, mut left) = (0, false);
        for tick in 0..5_000 {
            sample.at += 2 * MILLISECOND;
            sample.stolen_file += if fills(tick / 500) { 6 * MIB } else { 0 };
            if let Decision::Reclaim(asked) = law.decide(&sample) {
                freed += asked;
                let cpu = (asked >> 20) * if freed < 1 << 30 { first } else { then } * MILLISECOND / 1024;
                law.made(Slice { asked, freed: asked, took: cpu, cpu, of_files: 0 });
            }
            left |= matches!(law.mode(), Mode::Leaving { because: WaitReason::Infeasible { .. } });
        }
        left
    }

    #[test]
    fn a_fill_is_too_fast_where_its_pages_stay_dear() {
        assert!(left_as_infeasible(|_| true, 300, 300), "0.9 of a core, and half of one may be used");
        assert!(!left_as_infeasible(|_| true, 300, 10), "it takes large folios again");
        assert!(!left_as_infeasible(|second| matches!(second, 0 | 9), 300, 300), "a second at either end is no two");
    }

    #[test]
    fn who_was_away_starts_anew() {
        let mut law = law();
        let mut sample = Sample { zones: &SHORT, ..still() };
        for _ in 0..40 {
            sample.at += 50 * MILLISECOND;
            streams(&mut sample);
            let _ = law.decide(&sample);
        }
        assert!(law.inflow.cause() == Cause::File);
        sample.at += 5 * SECOND;
        // Whatever came in meanwhile is no rate of now.
        sample.stolen_file += 100 << 30;
        let decided = law.decide(&sample);
        assert!(matches!(decided, Decision::Wait(_)) && law.fill < 1.0, "{decided:?} {}", law.fill);
    }

    /// A sample: how much later, what grew, and zones that may be anything.
    #[derive(Clone, Debug)]
    struct MadeSample {
        later: u64,
        free: u64,
        low: u64,
        totals: [u64; 8],
    }

    fn samples() -> impl Strategy<Value = Vec<MadeSample>> {
        let number = || prop_oneof![0..1_u64 << 40, Just(u64::MAX >> 12), Just(0)];
        let seen = (0..3 * SECOND, number(), number(), proptest::array::uniform8(number()));
        let seen = seen.prop_map(|(later, free, low, totals)| MadeSample { later, free, low, totals });
        proptest::collection::vec(seen, 1..60)
    }

    proptest! {
        #[test]
        fn whatever_the_counters_say_it_decides_within_its_bounds(samples in samples(), given in 0.0..1.5_f64) {
            let mut law = Law::new(Settings::default());
            let mut at = 0;
            for MadeSample { later, free, low, totals: [file, inactive, dirty, anonymous, stolen, back, late, cpu] } in samples {
                at += later;
                let zones = [Zone { free, low, protection: 0, drift: 0 }];
                let sample = Sample {
                    at,
                    zones: &zones,
                    file,
                    inactive_file: inactive,
                    dirty,
                    anonymous,
                    stolen_file: stolen,
                    came_back: back,
                    taken_of_files: inactive,
                    came_back_of_files: dirty,
                    too_late: late,
                    system_cpu: cpu,
                    ..still()
                };
                match law.decide(&sample) {
                    Decision::Wait(wait) => prop_assert!((SHORTEST_TICK..=IDLE_TICK).contains(&wait), "{}", wait),
                    Decision::Reclaim(asked) => {
                        prop_assert!((LEAST_SLICE..=LARGEST_SLICE).contains(&asked), "{}", asked);
                        let freed = (asked as f64 * given) as u64;
                        law.made(Slice { asked, freed, of_files: file.min(freed), took: later, cpu: later / 2 });
                    }
                }
                let learnt = law.learnt();
                prop_assert!(learnt.fill.is_finite() && learnt.freeing.is_none_or(f64::is_finite), "{:?}", learnt);
            }
        }
    }

    #[test]
    fn where_the_kernel_reclaims_although_there_is_room_a_batch_begins() {
        // 150 MiB above the low watermark of 24 GiB: more than a stream of 400 MiB/s calls for.
        static ROOM: [Zone; 1] = [Zone { free: 230 << 20, low: 80 << 20, protection: 0, drift: 0 }];
        let mut law = law();
        let mut sample = Sample { zones: &ROOM, ..still() };
        let mut decide = |late: u64, zones: &'static [Zone]| {
            sample = Sample { zones, at: sample.at + 50 * MILLISECOND, ..sample };
            sample.too_late += late;
            sample.stolen_file += 20 * MIB;
            let decision = law.decide(&sample);
            (decision, law.had_room())
        };
        assert!((0..60).all(|_| matches!(decide(0, &ROOM).0, Decision::Wait(_))), "there is room");
        let (decision, had_room) = decide(1, &ROOM);
        assert!(had_room && matches!(decision, Decision::Reclaim(asked) if asked >= 2 * LEAST_SLICE));
        assert!(matches!(decide(1, &PLENTY).0, Decision::Wait(_)), "no lack of free memory is what it was late for");
        assert!(!decide(1, &SHORT).1, "400 MiB/s fill 20 MiB until the sample that sees 10");
    }

    #[test]
    fn a_watermark_that_rises_meanwhile_is_answered_at_the_next_sample() {
        static RAISED: [Zone; 1] = [Zone { free: 900 << 20, low: 895 << 20, protection: 0, drift: 0 }];
        let mut law = law();
        let mut sample = Sample { zones: &PLENTY, ..still() };
        for _ in 0..60 {
            sample.at += 50 * MILLISECOND;
            streams(&mut sample);
            assert!(matches!(law.decide(&sample), Decision::Wait(_)), "there is room");
        }
        sample = Sample { at: sample.at + 50 * MILLISECOND, zones: &RAISED, ..sample };
        streams(&mut sample);
        assert!(matches!(law.decide(&sample), Decision::Reclaim(_)), "{:?}", law.mode());
    }
}

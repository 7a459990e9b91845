//! Where CPUs were, by families of kernel functions.

use super::answer::Answer;
use super::coverage::{Coverage, gaps_of};
use super::observed::{Hits, Windows};
pub use crate::kernel_text::functions::Family;
use crate::kernel_text::functions::{FUNCTIONS, families_of, families_of_thread, is_idle, within_a_move};
use crate::kernel_text::purpose::{Purpose, asks_for, within};
pub use crate::recording::stack::ENOUGH_SAMPLES;
use crate::recording::stack::NOT_LISTED;
use crate::recording::{Frame, Gap, Profile, SamplingEvent, StackSample};
use std::collections::BTreeMap;

/// A process seen with something, and its part of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Share {
    /// Name of the process, or of the thread that has most of it. Not safe to print as it is.
    pub comm: String,
    /// Process id, where it is known.
    pub pid: Option<u32>,
    /// Its part, 0 to 1.
    pub share: f64,
}

/// How many samples there were in all, in the kernel and of a family.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// On a CPU that was not idle.
    pub all: u64,
    /// Of those, in the kernel.
    pub kernel: u64,
    /// Of those, of the family.
    pub family: u64,
}

impl Counts {
    /// The family's part of all, 0 to 1.
    #[must_use]
    pub fn share(&self) -> f64 {
        self.family as f64 / self.all.max(1) as f64
    }
}

/// What memory was asked for, by samples or by time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Purposes(BTreeMap<Purpose, u64>);

impl Purposes {
    /// So much more of one.
    pub fn add(&mut self, purpose: Purpose, much: u64) {
        let sum = self.0.entry(purpose).or_default();
        *sum = sum.saturating_add(much);
    }

    /// Of all that says it.
    #[must_use]
    pub fn sum(&self) -> u64 {
        self.0.values().fold(0, |sum, much| sum.saturating_add(*much))
    }

    /// The part of one, 0 to 1.
    #[must_use]
    pub fn share(&self, purpose: Purpose) -> f64 {
        self.0.get(&purpose).copied().unwrap_or(0) as f64 / self.sum().max(1) as f64
    }

    /// The one that most of it is for.
    #[must_use]
    pub fn most(&self) -> Option<Purpose> {
        self.0.iter().max_by_key(|(_, much)| **much).map(|(purpose, _)| *purpose)
    }
}

/// The source of gaps in stacks.
const SOURCE: &str = "stacks";

/// A profile with its families.
#[derive(Debug)]
pub struct ProfileSeen {
    profile: Profile,
    /// When they were not recorded, or not all of them.
    gaps: Vec<Gap>,
    /// By stack: the families of its frames.
    families: Vec<u64>,
    /// By stack: what memory is asked for in it, where one of its functions says so.
    purposes: Vec<Option<Purpose>>,
    /// By stack: whether its innermost frame runs in the kernel.
    in_kernel: Vec<bool>,
    /// By stack: whether its innermost frame is where a CPU waits for something to do.
    idle: Vec<bool>,
    /// Whether it has leaf functions only, such as perf top gives.
    is_flat: bool,
    /// Whether of most samples of the kernel no caller is known, as in a table of which somebody opened one row.
    has_few_callers: bool,
    /// Kernel functions with all that they call, where that is listed and callers are not.
    callees: Vec<WithCallees>,
    /// The part of all samples whose functions another tool did not list.
    not_listed: f64,
}

/// A kernel function of a command, with all that it calls.
#[derive(Clone, Debug, PartialEq)]
struct WithCallees {
    function: String,
    /// Of all samples, 0 to 1.
    share: f64,
    bits: u64,
}

impl WithCallees {
    /// Whether it is for every page fault alike.
    fn is_any_fault(&self) -> bool {
        self.bits & (Family::FaultEntry.bit() | Family::FaultHandling.bit()) != 0
    }
}

/// `hundredths of a percent, function, command` in each line: what an import keeps of a report's column of callees.
fn with_callees(text: &str, is_clock: bool) -> Vec<WithCallees> {
    let one = |line: &str| {
        let mut parts = line.splitn(3, '\t');
        let share = parts.next()?.parse::<f64>().ok().filter(|share| share.is_finite())? / 10_000.0;
        let function = parts.next()?.to_owned();
        let bits = families_of(&function, is_clock) | families_of_thread(parts.next().unwrap_or(""));
        Some(WithCallees { function, share, bits })
    };
    text.lines().filter_map(one).collect()
}

/// Mutexes and semaphores share the queue of those that spin for them (`osq_lock`). Without callers, it is of whichever lock's owner is
/// watched by the first in it, and that has to be one of them only.
fn is_queue_of_semaphore(profile: &Profile) -> bool {
    /// Less is one of many locks. Ours.
    const LEAST: f64 = 0.01;
    let of = |name: &str| samples_in(profile, |frame| frame.is_kernel() && frame.name == name);
    let least = (LEAST * samples_in_all(profile) as f64).max(1.0);
    of("rwsem_spin_on_owner") as f64 >= least && of("mutex_spin_on_owner") == 0
}

/// Whether areas are looked up in maps of memory all the time, which is done under the map's lock.
fn looks_up_areas(profile: &Profile) -> bool {
    /// Any host has a little of it. Ours.
    const LEAST: f64 = 0.02;
    const LOOKING_UP: [&str; 3] = ["find_vma", "vmacache_find", "find_extend_vma"];
    let is_it = |frame: &Frame| frame.is_kernel() && LOOKING_UP.iter().any(|begin| frame.name.starts_with(begin));
    samples_in(profile, is_it) as f64 >= LEAST * samples_in_all(profile).max(1) as f64
}

fn samples_in_all(profile: &Profile) -> u64 {
    profile.samples.iter().fold(0, |sum, sample| sum.saturating_add(sample.count))
}

/// Samples whose innermost frame is one of these. Each frame is asked about once, however many samples there are.
fn samples_in(profile: &Profile, is_it: impl Fn(&Frame) -> bool) -> u64 {
    let are: Vec<bool> = profile.stacks.frames().iter().map(is_it).collect();
    if !are.contains(&true) {
        return 0;
    }
    let innermost = |sample: &StackSample| profile.stacks.node(sample.stack).map(|(_, frame)| frame as usize);
    let is_in = |sample: &&StackSample| innermost(sample).and_then(|frame| are.get(frame)) == Some(&true);
    profile.samples.iter().filter(is_in).fold(0, |sum, sample| sum.saturating_add(sample.count))
}

/// Only listings have such a function.
fn not_listed(profile: &Profile) -> f64 {
    let samples = samples_in(profile, |frame| frame.name == NOT_LISTED);
    samples as f64 / samples_in_all(profile).max(1) as f64
}

/// Whether enough of a profile is what makes CPUs forget translations.
fn forgets(profile: &Profile, is_clock: bool) -> bool {
    /// Any host has a little of it. Ours.
    const LEAST: f64 = 0.02;
    let samples = samples_in(profile, |frame| frame.is_kernel() && families_of(&frame.name, is_clock) & FORGETS != 0);
    samples as f64 >= LEAST * samples_in_all(profile).max(1) as f64
}

/// What makes CPUs forget translations: saying so, or taking memory and giving it back, changing its map, or moving pages.
const FORGETS: u64 = Family::Shootdown.bit()
    | Family::Memory.bit()
    | Family::Churn.bit()
    | Family::PageZero.bit()
    | Family::GiveBack.bit()
    | Family::ChangeMap.bit()
    | Family::Dontneed.bit()
    | Family::Migration.bit()
    | Family::Numa.bit();

/// Of how many samples the caller of the innermost function is known.
#[derive(Default)]
struct Callers {
    /// Of any sample at all.
    any: bool,
    /// Samples whose innermost function is the kernel's, and those of them with a caller.
    kernel: u64,
    known: u64,
}

impl Callers {
    fn of(profile: &Profile) -> Callers {
        let mut callers = Callers::default();
        for sample in &profile.samples {
            let Some((parent, frame)) = profile.stacks.node(sample.stack) else { continue };
            callers.any |= parent.is_some();
            if profile.stacks.frames().get(frame as usize).is_some_and(Frame::is_kernel) {
                callers.kernel = callers.kernel.saturating_add(sample.count);
                callers.known = callers.known.saturating_add(if parent.is_some() { sample.count } else { 0 });
            }
        }
        callers
    }

    /// Less than half, as in a table of which somebody opened one row.
    fn are_few(&self) -> bool {
        self.known < self.kernel.div_ceil(2) || self.kernel == 0
    }
}

impl ProfileSeen {
    /// Finds the families of each stack, and keeps when they were not recorded. `callees`: functions with all that they call, as an import
    /// keeps them.
    #[must_use]
    pub fn of(profile: Profile, gaps: &[Gap], callees: Option<&str>) -> ProfileSeen {
        let is_clock = profile.event != Some(SamplingEvent::Cycles);
        let callers = Callers::of(&profile);
        let (is_flat, has_few_callers) = (!callers.any, callers.are_few());
        let is_queue_for_map = is_flat && is_queue_of_semaphore(&profile);
        let frames = profile.stacks.frames();
        // Without callers other CPUs are asked to forget translations where something in sight gives them a reason.
        let are_for_translations = is_flat && forgets(&profile, is_clock);
        let of_frame = |frame: &Frame| match frame.name.as_str() {
            _ if !frame.is_kernel() => 0,
            "osq_lock" if is_queue_for_map => families_of(&frame.name, is_clock) | Family::MmapLock.bit(),
            name => match families_of(name, is_clock) {
                set if are_for_translations && set & Family::CrossCall.bit() != 0 => set | Family::Shootdown.bit(),
                set => set,
            },
        };
        let of_frame: Vec<u64> = frames.iter().map(of_frame).collect();
        let asks = |frame: &Frame| asks_for(&frame.name).filter(|_| frame.is_kernel());
        let asking: Vec<Option<Purpose>> = frames.iter().map(asks).collect();
        let count = profile.stacks.len();
        let (mut families, mut in_kernel) = (Vec::with_capacity(count), Vec::with_capacity(count));
        let (mut idle, mut purposes) = (Vec::with_capacity(count), Vec::with_capacity(count));
        for id in 0..count {
            let node = profile.stacks.node(crate::recording::StackId(id as u32));
            let (parent, frame) = node.map_or((None, None), |(parent, frame)| (parent, Some(frame as usize)));
            // A parent always has a lower number.
            let above = parent.and_then(|parent| families.get(parent.0 as usize)).copied().unwrap_or(0);
            let own = frame.and_then(|frame| of_frame.get(frame)).copied().unwrap_or(0);
            let is_moved = above & Family::Migration.bit() != 0;
            let bits = above | if is_moved { within_a_move(own) } else { own };
            // With callers these say what other CPUs are asked to do.
            let is_for_translations = !is_flat && bits & Family::CrossCall.bit() != 0 && bits & FORGETS != 0;
            families.push(if is_for_translations { bits | Family::Shootdown.bit() } else { bits });
            let innermost = frame.and_then(|frame| frames.get(frame)).filter(|frame| frame.is_kernel());
            let outer = parent.and_then(|parent| purposes.get(parent.0 as usize).copied().flatten());
            let own = frame.and_then(|frame| asking.get(frame).copied().flatten());
            purposes.push(within(outer, own));
            in_kernel.push(innermost.is_some());
            idle.push(innermost.is_some_and(|frame| is_idle(&frame.name)));
        }
        let callees = callees.map(|text| with_callees(text, is_clock)).unwrap_or_default();
        let not_listed = not_listed(&profile);
        let gaps = gaps_of(SOURCE, gaps);
        ProfileSeen {
            profile,
            gaps,
            families,
            purposes,
            in_kernel,
            idle,
            is_flat,
            has_few_callers,
            callees,
            not_listed,
        }
    }

    /// What interrupted the CPUs.
    #[must_use]
    pub fn event(&self) -> Option<&SamplingEvent> {
        self.profile.event.as_ref()
    }

    /// The part of all samples whose functions another tool did not list: the head of a table is what people post.
    #[must_use]
    pub fn not_listed(&self) -> f64 {
        self.not_listed
    }

    /// The family of zeroing huge pages. In a profile without callers the loop over a huge page has hardly a share of its own, and all of
    /// it is where a page is zeroed: where that loop is listed at all, the zeroing is its.
    #[must_use]
    pub fn zeroing_huge(&self) -> Family {
        let has_huge = |frame: &Frame| {
            frame.is_kernel()
                && families_of(&frame.name, false) & (Family::HugeZero.bit() | Family::HugeFault.bit()) != 0
        };
        let is_huge = self.is_flat && self.profile.stacks.frames().iter().any(has_huge);
        if is_huge { Family::PageZero } else { Family::HugeZero }
    }

    /// Samples of all CPUs, idle or not.
    #[must_use]
    pub fn samples_in_all(&self) -> u64 {
        samples_in_all(&self.profile)
    }

    /// Samples the kernel lost.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.profile.lost
    }

    /// What a kernel function is known for, where that can be trouble: the first of its families that is more than what every
    /// program does.
    #[must_use]
    pub fn trouble_of(&self, function: &str) -> Option<Family> {
        const EVERYDAY: [Family; 8] = [
            Family::LockSpin,
            Family::SystemCall,
            Family::FileData,
            Family::Memory,
            Family::ChangeMap,
            Family::CrossCall,
            Family::MapUse,
            Family::FaultHandling,
        ];
        let bits = families_of(function, self.profile.event != Some(SamplingEvent::Cycles));
        let mut families = FUNCTIONS.iter().map(|(family, _)| *family);
        families.find(|family| bits & family.bit() != 0 && !EVERYDAY.contains(family))
    }

    /// Whether it has leaf functions only.
    #[must_use]
    pub fn is_flat(&self) -> bool {
        self.is_flat
    }

    /// Whether of most samples of the kernel no caller is known.
    #[must_use]
    pub fn has_few_callers(&self) -> bool {
        self.has_few_callers
    }

    /// Spin locks lost their plain `_spin_` names in 2.6.33.
    #[must_use]
    pub fn is_before_2_6_33(&self) -> bool {
        let is_old = |name: &str| name.starts_with("_spin_lock") || name.starts_with("_spin_unlock");
        self.profile.stacks.frames().iter().any(|frame| frame.is_kernel() && is_old(&frame.name))
    }

    /// For how long they were recorded in the windows that hit.
    #[must_use]
    pub fn coverage(&self, over: &Hits, windows: &Windows) -> Coverage {
        Coverage::at(&[SOURCE], &self.gaps, over, windows)
    }

    /// Samples on a CPU that was not idle, in the windows that hit; all of them where none hits, or where none of them says when
    /// it was, as in the listing of another tool.
    fn samples(&self, over: &Hits, windows: &Windows) -> Vec<&StackSample> {
        let is_idle = |sample: &StackSample| self.idle.get(sample.stack.0 as usize).copied().unwrap_or(false);
        let is_busy = |sample: &&StackSample| sample.pid != Some(0) && !is_idle(sample);
        let inside = |sample: &&StackSample| {
            let middle = sample.from / 2 + sample.to / 2;
            let window = middle.checked_sub(windows.start).map(|since| since / windows.width.max(1));
            let window = window.map(|window| (window as usize).min(windows.count.saturating_sub(1)));
            middle <= windows.end && window.is_some_and(|window| over.answers.get(window) == Some(&Answer::Yes))
        };
        let is_timed = |sample: &StackSample| sample.to >= windows.start && sample.from <= windows.end;
        let whole = !over.answers.contains(&Answer::Yes) || !self.profile.samples.iter().any(is_timed);
        self.profile.samples.iter().filter(is_busy).filter(|sample| whole || inside(sample)).collect()
    }

    fn is_of(&self, sample: &StackSample, family: Family, not: &[Family]) -> bool {
        let bits = self.bits(sample);
        bits & family.bit() != 0 && not.iter().all(|not| bits & not.bit() == 0)
    }

    /// By its functions, and by the name of the thread where that is one of the kernel's own.
    fn bits(&self, sample: &StackSample) -> u64 {
        let known = self.families.get(sample.stack.0 as usize).copied().unwrap_or(0);
        if self.is_kernel(sample) { known | families_of_thread(&sample.comm) } else { known }
    }

    fn is_kernel(&self, sample: &StackSample) -> bool {
        self.in_kernel.get(sample.stack.0 as usize).copied().unwrap_or(false)
    }

    /// How many samples are of a family and of none of the others.
    #[must_use]
    pub fn counts(&self, family: Family, not: &[Family], over: &Hits, windows: &Windows) -> Counts {
        let mut counts = Counts::default();
        for sample in self.samples(over, windows) {
            let count = |takes: bool| if takes { sample.count } else { 0 };
            counts.all = counts.all.saturating_add(sample.count);
            counts.kernel = counts.kernel.saturating_add(count(self.is_kernel(sample)));
            counts.family = counts.family.saturating_add(count(self.is_of(sample, family, not)));
        }
        counts
    }

    /// What memory was asked for in samples that are of a family and of none of the others, with the part of each in those that say it.
    /// `None` where fewer than half of them do.
    #[must_use]
    pub fn purposes(&self, family: Family, not: &[Family], over: &Hits, windows: &Windows) -> Option<Purposes> {
        let mut purposes = Purposes::default();
        let mut all = 0u64;
        for sample in self.samples(over, windows).into_iter().filter(|sample| self.is_of(sample, family, not)) {
            all = all.saturating_add(sample.count);
            if let Some(purpose) = self.purposes.get(sample.stack.0 as usize).copied().flatten() {
                purposes.add(purpose, sample.count);
            }
        }
        Some(purposes).filter(|purposes| purposes.sum() > 0 && purposes.sum() >= all.div_ceil(2))
    }

    /// Whether a lock by whose name it may be that of a process's map is it: most of the samples that wait for it have work on memory in the
    /// same stack. In a profile without callers: such work is most of what the kernel does beside waiting for locks, or maps are seen
    /// in use.
    #[must_use]
    pub fn waits_for_the_map(&self, over: &Hits, windows: &Windows) -> bool {
        /// What has to be in the same stack: inodes have such locks, too.
        const OF_MEMORY: u64 = Family::Memory.bit()
            | Family::Churn.bit()
            | Family::ChangeMap.bit()
            | Family::ReverseMap.bit()
            | Family::FileFault.bit()
            | Family::Lifetime.bit()
            | Family::MapUse.bit();
        let (mut all, mut inside) = (0u64, 0u64);
        for sample in self.samples(over, windows) {
            let is_lock = self.is_of(sample, Family::MmapLock, &[]);
            let counts = if self.is_flat {
                self.is_kernel(sample) && !self.is_of(sample, Family::LockSpin, &[]) && !is_lock
            } else {
                is_lock
            };
            if counts {
                all = all.saturating_add(sample.count);
                inside = inside.saturating_add(if self.bits(sample) & OF_MEMORY == 0 { 0 } else { sample.count });
            }
        }
        (all > 0 && inside * 2 >= all) || (self.is_flat && looks_up_areas(&self.profile))
    }

    /// The part of all samples in which functions of a family, and of none of the others, were with all that they call, as a report
    /// without callers lists it. The least it can be: of the functions of a family the one that is there most.
    #[must_use]
    pub fn with_callees(&self, family: Family, not: &[Family]) -> Option<f64> {
        // What is for a page of a file or of swap as for a new one tells nothing of new ones.
        let is_churn = matches!(family, Family::Churn | Family::FlatChurn);
        let is_any_fault = |one: &WithCallees| is_churn && one.is_any_fault();
        let of = |families: &[Family]| {
            let bits = families.iter().fold(0, |bits, family| bits | family.bit());
            let mut by_function: BTreeMap<&str, f64> = BTreeMap::new();
            for one in self.callees.iter().filter(|one| one.bits & bits != 0 && !is_any_fault(one)) {
                *by_function.entry(&one.function).or_default() += one.share;
            }
            by_function.into_values().reduce(f64::max)
        };
        let others = if not.is_empty() { None } else { of(not) };
        of(&[family]).map(|share| (share - others.unwrap_or(0.0)).clamp(0.0, 1.0))
    }

    /// What the kernel does beside waiting for locks: how much of that is of the family. For profiles without callers.
    #[must_use]
    pub fn beside_locks(&self, family: Family, over: &Hits, windows: &Windows) -> Counts {
        let mut counts = Counts::default();
        for sample in self.samples(over, windows) {
            counts.all = counts.all.saturating_add(sample.count);
            if self.is_kernel(sample) && !self.is_of(sample, Family::LockSpin, &[]) {
                counts.kernel = counts.kernel.saturating_add(sample.count);
                let of_family = if self.is_of(sample, family, &[]) { sample.count } else { 0 };
                counts.family = counts.family.saturating_add(of_family);
            }
        }
        counts
    }

    /// The processes that were seen most with a family.
    #[must_use]
    pub fn who(&self, family: Family, not: &[Family], over: &Hits, windows: &Windows) -> Vec<Share> {
        let mut by: BTreeMap<(&str, Option<u32>), u64> = BTreeMap::new();
        for sample in self.samples(over, windows) {
            if self.is_of(sample, family, not) && (sample.pid.is_some() || !sample.comm.is_empty()) {
                let count = by.entry((&sample.comm, sample.pid)).or_default();
                *count = count.saturating_add(sample.count);
            }
        }
        shares(by)
    }

    /// What the kernel did: each sample in it counts once, for the first of its families that says what was done, as a part of all
    /// samples on a busy CPU; the largest first. A sample of no family is what the kernel did besides.
    #[must_use]
    pub fn kernel_work(&self) -> Vec<(Option<Family>, f64)> {
        let nowhere = (Hits::default(), Windows::default());
        let samples = self.samples(&nowhere.0, &nowhere.1);
        let all = samples.iter().fold(0u64, |sum, sample| sum.saturating_add(sample.count));
        let mut by: BTreeMap<Option<Family>, u64> = BTreeMap::new();
        // Whatever is done is done in some system call, and holds some lock: these name what has no better name.
        let last = [Family::LockSpin, Family::SystemCall];
        let order = || FUNCTIONS.iter().map(|(family, _)| *family).filter(|family| !last.contains(family)).chain(last);
        for sample in samples.into_iter().filter(|sample| self.is_kernel(sample)) {
            let bits = self.bits(sample);
            let count = by.entry(order().find(|family| bits & family.bit() != 0)).or_default();
            *count = count.saturating_add(sample.count);
        }
        let mut work: Vec<_> =
            by.into_iter().map(|(family, count)| (family, count as f64 / all.max(1) as f64)).collect();
        work.sort_by(|a, b| b.1.total_cmp(&a.1));
        work
    }

    /// The processes that CPUs ran most, as parts of all samples on a busy CPU.
    #[must_use]
    pub fn busiest(&self) -> Vec<Share> {
        let mut by: BTreeMap<(&str, Option<u32>), u64> = BTreeMap::new();
        for sample in self.samples(&Hits::default(), &Windows::default()) {
            if sample.pid.is_some() || !sample.comm.is_empty() {
                let count = by.entry((&sample.comm, sample.pid)).or_default();
                *count = count.saturating_add(sample.count);
            }
        }
        shares(by)
    }

    /// The kernel functions CPUs were in most: name and share of all samples.
    #[must_use]
    pub fn top_kernel(&self, over: &Hits, windows: &Windows) -> Vec<(String, f64)> {
        let mut by: BTreeMap<(&str, Option<u32>), u64> = BTreeMap::new();
        let samples = self.samples(over, windows);
        let all = samples.iter().fold(0u64, |sum, sample| sum.saturating_add(sample.count));
        for sample in samples.into_iter().filter(|sample| self.is_kernel(sample)) {
            let frame = self.profile.stacks.node(sample.stack).map(|(_, frame)| frame as usize);
            if let Some(frame) = frame.and_then(|frame| self.profile.stacks.frames().get(frame)) {
                let count = by.entry((&frame.name, None)).or_default();
                *count = count.saturating_add(sample.count);
            }
        }
        let of_all = |share: &Share, kernel: u64| share.share * kernel as f64 / all.max(1) as f64;
        let kernel = by.values().fold(0u64, |sum, count| sum.saturating_add(*count));
        shares(by).iter().map(|share| (share.comm.clone(), of_all(share, kernel))).collect()
    }
}

/// The three largest, as parts of the sum. Threads of one process are one, called as the one of them that has most.
pub(super) fn shares(by: BTreeMap<(&str, Option<u32>), u64>) -> Vec<Share> {
    let all = by.values().fold(0u64, |sum, count| sum.saturating_add(*count));
    let mut threads: Vec<((&str, Option<u32>), u64)> = by.into_iter().filter(|(_, count)| *count > 0).collect();
    threads.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let mut of_process: BTreeMap<u32, usize> = BTreeMap::new();
    let mut processes: Vec<((&str, Option<u32>), u64)> = Vec::new();
    for (who, count) in threads {
        let pid = who.1.filter(|pid| *pid != 0);
        let place = pid.map_or(processes.len(), |pid| *of_process.entry(pid).or_insert(processes.len()));
        match processes.get_mut(place) {
            Some((_, sum)) => *sum = sum.saturating_add(count),
            None => processes.push((who, count)),
        }
    }
    processes.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let share = |((comm, pid), count): ((&str, Option<u32>), u64)| Share {
        comm: comm.to_owned(),
        pid,
        share: count as f64 / all.max(1) as f64,
    };
    processes.into_iter().take(3).map(share).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_of_a_process_are_one_and_names_without_a_process_are_their_own() {
        let by = BTreeMap::from([
            (("C2 CompilerThre", Some(7)), 30),
            (("G1 Conc#0", Some(7)), 25),
            (("kswapd0", Some(9)), 40),
            (("awk", None), 4),
            (("sed", None), 1),
        ]);
        let told: Vec<(String, Option<u32>, f64)> =
            shares(by).into_iter().map(|share| (share.comm, share.pid, share.share)).collect();
        let wanted = [("C2 CompilerThre", Some(7), 0.55), ("kswapd0", Some(9), 0.4), ("awk", None, 0.04)];
        assert_eq!(told, wanted.map(|(name, pid, share)| (name.to_owned(), pid, share)));
    }
}

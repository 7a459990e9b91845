//! The samples of each run as shares of its functions, and all runs in one tree.
//!
//! Runs are read one after the other and only what is compared is kept of each, so that a trial of hundreds of runs fits
//! into memory. Shares are exact. In the tree, stacks with less than a twenty-thousandth of a run end at their caller.

use crate::experiment::point::Point;
use crate::recording::stack::with_callees;
use crate::recording::{Profile, SamplingEvent, StackId, Stacks};
use std::collections::{BTreeMap, HashMap};

/// A stack with less than one in so many samples of a run ends at its caller. A tenth of what a page leaves out.
const FINEST: u64 = 20_000;

/// A run's stacks, as its recording has them.
#[derive(Clone, Copy, Debug)]
pub struct RunStacks<'p> {
    /// All stacks of the recording.
    pub profile: &'p Profile,
    /// The stretch that is the run's, CLOCK_BOOTTIME in nanoseconds: slices that lie in it whole. `None`: all of it.
    pub stretch: Option<(u64, u64)>,
    /// How long that is.
    pub seconds: f64,
    /// CPU time of the recorder, of one core.
    pub recorder: Option<f64>,
}

/// How often a function was seen.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Count {
    /// With all it called, once per stack.
    pub(super) all: u64,
    /// Itself.
    pub(super) own: u64,
}

/// What is kept of a run.
#[derive(Clone, Debug)]
pub(super) struct Run {
    pub(super) samples: u64,
    pub(super) recorder: Option<f64>,
    /// Samples that one CPU gives that is busy all the time.
    per_cpu: f64,
    functions: HashMap<u32, Count>,
    /// Samples of each stack of the tree itself.
    own: Vec<(StackId, u64)>,
    /// Samples of no stack of the tree.
    rest: u64,
    /// Samples whose stack ends at a caller, or is in `rest`.
    cut: u64,
}

impl Run {
    pub(super) fn count(&self, function: u32) -> Count {
        self.functions.get(&function).copied().unwrap_or_default()
    }

    pub(super) fn functions(&self) -> impl Iterator<Item = u32> {
        self.functions.keys().copied()
    }

    /// CPUs that were busy, on average.
    pub(super) fn busy(&self) -> f64 {
        self.samples as f64 / self.per_cpu
    }
}

/// What the runs of a cell saw, on average: each run weighs the same, however long it is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CellStacks {
    /// Runs with stacks.
    pub runs: u32,
    /// For each stack of [`StacksOfRuns::stacks`], by its number: how many CPUs were busy in it itself.
    pub own: Vec<f64>,
    /// How many were busy in no stack of the tree.
    pub rest: f64,
    /// The part of the samples whose stacks ended at a caller already when they were read.
    pub cut: f64,
}

/// The stacks of a trial's runs.
#[derive(Clone, Debug, Default)]
pub struct StacksOfRuns {
    stacks: Stacks,
    runs: BTreeMap<(u32, u32), Run>,
    missing: BTreeMap<(u32, u32), String>,
    event: Option<SamplingEvent>,
    hz: Option<f64>,
}

fn key(point: &Point) -> (u32, u32) {
    (point.planned.index, point.attempt)
}

impl StacksOfRuns {
    /// Takes the stacks of a run in. One in which no CPU was seen, or that does not say how often it looked, is missing.
    pub fn add(&mut self, point: &Point, seen: RunStacks<'_>) {
        let Some(hz) = seen.profile.hz.filter(|_| seen.seconds > 0.0) else {
            return self.miss(point, "its recording does not say how often stacks were taken, or for how long");
        };
        let own = own_counts(&seen);
        let samples = own.iter().fold(0u64, |sum, count| sum.saturating_add(*count));
        if samples == 0 {
            return self.miss(point, "no CPU was seen busy while it ran");
        }
        let stacks = &seen.profile.stacks;
        let parent =
            |node: usize| stacks.node(StackId(node as u32)).and_then(|(parent, _)| parent).map(|id| id.0 as usize);
        let all = with_callees(own.clone(), parent);
        let numbers = self.numbers(stacks, &all);
        let mut run = Run {
            samples,
            recorder: seen.recorder,
            per_cpu: seen.seconds * hz,
            functions: functions(stacks, &numbers, &own, &all),
            own: Vec::new(),
            rest: 0,
            cut: 0,
        };
        self.grow(stacks, &numbers, (&own, &all), &mut run);
        self.event = self.event.take().or_else(|| seen.profile.event.clone());
        self.hz = self.hz.or(Some(hz));
        self.runs.insert(key(point), run);
    }

    /// Notes why a run has no stacks.
    pub fn miss(&mut self, point: &Point, why: &str) {
        self.missing.insert(key(point), why.to_owned());
    }

    /// The tree of all runs.
    #[must_use]
    pub fn stacks(&self) -> &Stacks {
        &self.stacks
    }

    pub(super) fn event(&self) -> Option<&SamplingEvent> {
        self.event.as_ref()
    }

    pub(super) fn hz(&self) -> Option<f64> {
        self.hz
    }

    pub(super) fn run(&self, point: &Point) -> Option<&Run> {
        self.runs.get(&key(point))
    }

    pub(super) fn why_missing(&self, point: &Point) -> Option<&str> {
        self.missing.get(&key(point)).map(String::as_str)
    }

    /// The mean of these runs.
    #[must_use]
    pub fn mean(&self, points: &[&Point]) -> CellStacks {
        let runs: Vec<&Run> = points.iter().filter_map(|point| self.run(point)).collect();
        let mut mean = CellStacks { own: vec![0.0; self.stacks.len()], ..CellStacks::default() };
        mean.runs = runs.len() as u32;
        for run in &runs {
            let weight = 1.0 / (run.per_cpu * runs.len() as f64);
            for (stack, count) in &run.own {
                mean.own[stack.0 as usize] += *count as f64 * weight;
            }
            mean.rest += run.rest as f64 * weight;
            mean.cut += run.cut as f64 / (run.samples as f64 * runs.len() as f64);
        }
        mean
    }

    /// For each frame of a recording its number in the tree of all runs; frames that the run was not seen in have none.
    fn numbers(&mut self, stacks: &Stacks, all: &[u64]) -> Vec<Option<u32>> {
        let mut numbers = vec![None; stacks.frames().len()];
        for node in (0..all.len()).filter(|node| all[*node] > 0) {
            if let Some((_, frame)) = stacks.node(StackId(node as u32)) {
                let number = &mut numbers[frame as usize];
                *number = number.or_else(|| Some(self.stacks.frame(stacks.frames()[frame as usize].clone())));
            }
        }
        numbers
    }

    /// Puts the stacks of a run, seen so often themselves and with all they call, into the tree of all.
    fn grow(&mut self, stacks: &Stacks, numbers: &[Option<u32>], (own, all): (&[u64], &[u64]), run: &mut Run) {
        let least = (run.samples / FINEST).max(1);
        let mut at: Vec<Option<StackId>> = Vec::with_capacity(all.len());
        let mut counts: BTreeMap<StackId, u64> = BTreeMap::new();
        for node in 0..all.len() {
            let Some((parent, frame)) = stacks.node(StackId(node as u32)) else { break };
            let above = parent.and_then(|parent| at[parent.0 as usize]);
            // No parent is seen less than its child, so whoever stands above one that is kept is kept.
            let place = match numbers[frame as usize].filter(|_| all[node] >= least) {
                Some(number) => self.stacks.push(above, number),
                None => {
                    run.cut = run.cut.saturating_add(own[node]);
                    above
                }
            };
            match place {
                Some(place) if own[node] > 0 => *counts.entry(place).or_default() += own[node],
                Some(_) => {}
                None => run.rest = run.rest.saturating_add(own[node]),
            }
            at.push(place);
        }
        run.own = counts.into_iter().collect();
    }
}

/// Each function of a run, counted once per stack.
fn functions(stacks: &Stacks, numbers: &[Option<u32>], own: &[u64], all: &[u64]) -> HashMap<u32, Count> {
    let mut functions: HashMap<u32, Count> = HashMap::new();
    for node in (0..all.len()).filter(|node| all[*node] > 0) {
        let id = StackId(node as u32);
        let Some((frame, number)) = stacks.node(id).and_then(|(_, frame)| Some((frame, numbers[frame as usize]?)))
        else {
            continue;
        };
        let count = functions.entry(number).or_default();
        count.own = count.own.saturating_add(own[node]);
        // A function that calls itself stands in the stack twice, and is in it once.
        if stacks.walk(id).skip(1).all(|above| above != frame) {
            count.all = count.all.saturating_add(all[node]);
        }
    }
    functions
}

/// How often each stack itself was seen.
fn own_counts(seen: &RunStacks<'_>) -> Vec<u64> {
    let mut own = vec![0u64; seen.profile.stacks.len()];
    let is_in = |from: u64, to: u64| seen.stretch.is_none_or(|(begin, end)| begin <= from && to <= end);
    for sample in seen.profile.samples.iter().filter(|sample| is_in(sample.from, sample.to)) {
        if let Some(count) = own.get_mut(sample.stack.0 as usize) {
            *count = count.saturating_add(sample.count);
        }
    }
    own
}

//! Where CPUs were and what held tasks up in the last while: the threads that trace, and what they told.

use super::stalls::Stalls;
use crate::record::tracers::{STACKS_THREAD, Tracers, Tracing};
use crate::record::{ABANDON, Event, RecordError, Shared, clock, stacks, stalls, writing};
use crate::root::Root;
use crate::store::recording::{Batch, StackRows, stacks as keys};
use pagewise_core::recording::{Gap, GapReason, Profile, SamplingEvent, StackId, StallRow};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, Receiver};

/// Rows that are kept, of a slice, a process, a CPU and a stack each: some 30 MiB. On a host with many CPUs they are less
/// than an hour's.
const MOST_ROWS: usize = 200_000;

/// Different stacks, ever seen, at which tracing starts anew: what is in no sample any more must not be kept for ever.
const MOST_STACKS: usize = 200_000;

/// The threads and what they saw.
pub(super) struct Traced {
    tracing: Tracing,
    tracers: Tracers,
    shared: Arc<Shared>,
    events: Receiver<Event>,
    /// `None`: not recorded.
    profile: Option<Profile>,
    /// The same.
    stalls: Option<Stalls>,
    /// What the threads' numbers of frames and stacks are in the profile.
    frames: Vec<u32>,
    nodes: Vec<Option<StackId>>,
    /// Samples ever seen, and lost: by threads that have ended, and by those that run.
    seen: u64,
    lost_before: u64,
    lost: u64,
    /// CPU time of threads that have ended, of those for stacks.
    cpu_before: u64,
}

impl Traced {
    pub(super) fn start(root: &Root, tracing: Tracing) -> Result<Traced, RecordError> {
        let (tells, events) = mpsc::channel();
        let shared = Arc::new(Shared::default());
        let mut traced = Traced {
            tracing,
            tracers: Tracers::default(),
            shared,
            events,
            profile: None,
            stalls: None,
            frames: Vec::new(),
            nodes: Vec::new(),
            seen: 0,
            lost_before: 0,
            lost: 0,
            cpu_before: 0,
        };
        traced.tracers = Tracers::start(root, &tracing, &traced.shared, &tells)?;
        Ok(traced)
    }

    pub(super) fn profile(&self) -> Option<&Profile> {
        self.profile.as_ref()
    }

    /// What held tasks up, and the instant before which some of it is not kept any more. `None`: not recorded.
    pub(super) fn stalls(&self) -> Option<(&[StallRow], u64)> {
        self.stalls.as_ref().map(|stalls| (stalls.rows(), stalls.incomplete_until()))
    }

    /// CPU time that looking at stacks took.
    pub(super) fn stacks_cpu(&self) -> u64 {
        self.cpu_before + self.tracers.cpu_of(STACKS_THREAD)
    }

    pub(super) fn has_broken(&self) -> bool {
        self.tracers.has_ended()
    }

    /// Takes over what the threads have told; what they say of gaps goes into `batch`.
    pub(super) fn hear(&mut self, batch: &mut Batch) {
        writing::hear(batch, &self.events);
        if let Some(rows) = batch.stacks.take() {
            let told = rows.samples.len();
            self.take(rows);
            self.shared.waiting.fetch_sub(told as i64, Ordering::AcqRel);
        }
        if let Some(rows) = batch.stalls.take() {
            self.shared.waiting.fetch_sub(rows.len() as i64, Ordering::AcqRel);
            self.stalls.get_or_insert_default().take(rows);
        }
        let Some(profile) = &mut self.profile else { return };
        for (key, value) in batch.meta.drain(..) {
            match key {
                keys::EVENT => profile.event = Some(SamplingEvent::from_word(&value)),
                keys::HZ => profile.hz = value.parse().ok(),
                keys::LOST => self.lost = value.parse().unwrap_or(self.lost),
                _ => {}
            }
        }
        self.count_lost();
    }

    fn take(&mut self, StackRows { frames, nodes, samples }: StackRows) {
        let profile = self.profile.get_or_insert_default();
        self.frames.extend(frames.into_iter().map(|frame| profile.stacks.frame(frame)));
        for (parent, frame) in nodes {
            let frame = self.frames.get(frame as usize).copied();
            let node = match parent {
                None => frame.and_then(|frame| profile.stacks.push(None, frame)),
                Some(parent) => {
                    let parent = self.nodes.get(parent.0 as usize).copied().flatten();
                    parent.zip(frame).and_then(|(parent, frame)| profile.stacks.push(Some(parent), frame))
                }
            };
            self.nodes.push(node);
        }
        let last = profile.samples.last().map_or(0, |sample| sample.from);
        let is_in_order = samples.first().is_none_or(|first| first.from >= last);
        for mut sample in samples {
            let Some(stack) = self.nodes.get(sample.stack.0 as usize).copied().flatten() else { continue };
            sample.stack = stack;
            self.seen = self.seen.saturating_add(sample.count);
            profile.samples.push(sample);
        }
        if !is_in_order {
            profile.samples.sort_by_key(|sample| sample.from);
        }
        // By the tenth, so that not every slice moves all rows.
        if profile.samples.len() > MOST_ROWS + MOST_ROWS / 10 {
            profile.samples.drain(..profile.samples.len() - MOST_ROWS);
        }
    }

    /// Of the samples that were ever lost, as many as fall to those that are kept.
    fn count_lost(&mut self) {
        let Some(profile) = &mut self.profile else { return };
        let kept: u128 = profile.samples.iter().map(|sample| u128::from(sample.count)).sum();
        let lost = u128::from(self.lost_before + self.lost) * kept / u128::from(self.seen.max(1));
        profile.lost = u64::try_from(lost).unwrap_or(u64::MAX);
    }

    /// Forgets what was seen before that instant.
    pub(super) fn forget(&mut self, oldest: u64) {
        if let Some(profile) = &mut self.profile {
            let old = profile.samples.partition_point(|sample| sample.to < oldest);
            profile.samples.drain(..old);
        }
        if let Some(stalls) = &mut self.stalls {
            stalls.forget(oldest);
        }
    }

    /// Whether looking has to start anew.
    pub(super) fn is_full(&self) -> bool {
        self.nodes.len() > MOST_STACKS
    }

    /// Starts anew, keeping what was seen. Gives the time in which nobody traced.
    pub(super) fn renew(&mut self, root: &Root) -> Vec<Gap> {
        let from = clock::boot();
        self.stop();
        self.cpu_before += self.tracers.cpu_of(STACKS_THREAD);
        self.lost_before += std::mem::take(&mut self.lost);
        // Only the stacks of samples that are kept.
        let profile = self.profile.take().map(|profile| profile.part(0, u64::MAX));
        (self.frames, self.nodes) = (Vec::new(), Vec::new());
        let mut detail = "tracing started anew, to forget stacks that were not seen lately".to_owned();
        match Traced::start(root, self.tracing) {
            // What is put in place of the threads is dropped with those that have ended.
            Ok(mut anew) => {
                std::mem::swap(&mut self.tracers, &mut anew.tracers);
                std::mem::swap(&mut self.shared, &mut anew.shared);
                std::mem::swap(&mut self.events, &mut anew.events);
            }
            Err(error) => detail = format!("tracing ended: {error}"),
        }
        self.profile = profile;
        let to = Some(clock::boot());
        let gap = |source: &str| {
            let (source, detail) = (Some(source.to_owned()), detail.clone());
            Gap { from, to, source, reason: GapReason::Lost, ticks: None, detail }
        };
        let sources = [(stacks::SOURCE, self.profile.is_some()), (stalls::SOURCE, self.stalls.is_some())];
        sources.into_iter().filter(|(_, is_looked_at)| *is_looked_at).map(|(source, _)| gap(source)).collect()
    }

    fn stop(&mut self) {
        self.shared.stop.store(ABANDON, Ordering::Release);
        let _ = self.tracers.join();
    }
}

impl Drop for Traced {
    fn drop(&mut self) {
        self.stop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pagewise_core::recording::{Durations, Frame, StackSample, StallKind};

    fn frame(name: &str) -> Frame {
        Frame { name: name.to_owned(), module: "job".to_owned() }
    }

    /// One sample of one function called from main, numbered as threads that have just begun do.
    fn rows(name: &str, from: u64, count: u64) -> StackRows {
        let (comm, stack) = ("job".to_owned(), StackId(1));
        StackRows {
            frames: vec![frame("main"), frame(name)],
            nodes: vec![(None, 0), (Some(StackId(0)), 1)],
            samples: vec![StackSample { from, to: from + 10, cpu: Some(0), pid: Some(7), comm, stack, count }],
        }
    }

    fn seen(traced: &Traced) -> Vec<(u64, Vec<&str>)> {
        let profile = traced.profile().unwrap();
        let names = |sample: &StackSample| {
            profile.stacks.walk(sample.stack).map(|at| profile.stacks.frames()[at as usize].name.as_str()).collect()
        };
        profile.samples.iter().map(|sample| (sample.from, names(sample))).collect()
    }

    #[test]
    fn samples_outlive_the_threads_that_took_them_and_their_numbers() {
        let root = Root::live();
        let mut traced = Traced::start(&root, Tracing::default()).unwrap();
        assert!(traced.profile().is_none() && traced.stalls().is_none() && !traced.has_broken());
        traced.take(rows("early", 10, 3));
        traced.lost = 3;
        traced.count_lost();
        assert_eq!(traced.profile().unwrap().lost, 3);
        let gaps = traced.renew(&root);
        assert_eq!(gaps.len(), 1, "stalls were not recorded: {gaps:?}");
        assert!(gaps[0].to >= Some(gaps[0].from) && gaps[0].detail.contains("anew"), "{gaps:?}");
        traced.take(rows("late", 30, 3));
        traced.count_lost();
        assert_eq!(seen(&traced), [(10, vec!["early", "main"]), (30, vec!["late", "main"])]);
        assert_eq!(traced.profile().unwrap().lost, 3, "of all that was seen");
        traced.forget(25);
        traced.count_lost();
        assert_eq!(seen(&traced), [(30, vec!["late", "main"])]);
        assert_eq!(traced.profile().unwrap().lost, 1, "half of what was seen is left");
    }

    #[test]
    fn stalls_outlive_the_threads_that_told_them_and_none_is_not_the_same_as_not_recorded() {
        let root = Root::live();
        let mut traced = Traced::start(&root, Tracing::default()).unwrap();
        let (comm, outcome) = ("job".to_owned(), String::new());
        let (kind, durations) = (StallKind::Compaction, Durations::default());
        let mut batch = Batch::default();
        batch.stall_rows().push(StallRow {
            from: 10,
            to: 20,
            kind,
            pid: 7,
            comm,
            order: None,
            purpose: None,
            outcome,
            durations,
        });
        traced.hear(&mut batch);
        let gaps = traced.renew(&root);
        let sources: Vec<&str> = gaps.iter().filter_map(|gap| gap.source.as_deref()).collect();
        assert_eq!(sources, ["stalls"], "stacks were not recorded");
        assert_eq!(traced.stalls().map(|(rows, incomplete_until)| (rows.len(), incomplete_until)), Some((1, 0)));
        traced.forget(21);
        assert!(traced.stalls().is_some_and(|(rows, _)| rows.is_empty()));
    }

    #[test]
    fn what_comes_late_is_put_in_order_and_what_is_too_much_goes_at_the_old_end() {
        let mut traced = Traced::start(&Root::live(), Tracing::default()).unwrap();
        traced.take(rows("late", 50, 1));
        let one = StackRows { frames: Vec::new(), nodes: Vec::new(), ..rows("", 20, 1) };
        traced.take(one.clone());
        assert_eq!(seen(&traced).iter().map(|(from, _)| *from).collect::<Vec<_>>(), [20, 50]);
        let sample = one.samples[0].clone();
        let many =
            (0..MOST_ROWS as u64 + MOST_ROWS as u64 / 10).map(|at| StackSample { from: 100 + at, ..sample.clone() });
        traced.take(StackRows { samples: many.collect(), ..StackRows::default() });
        let profile = traced.profile().unwrap();
        assert_eq!(profile.samples.len(), MOST_ROWS);
        assert!(profile.samples[0].from > 100);
    }

    #[test]
    fn rows_that_build_on_what_was_never_told_are_left_out() {
        let mut traced = Traced::start(&Root::live(), Tracing::default()).unwrap();
        let mut broken = rows("x", 1, 1);
        broken.nodes[1] = (Some(StackId(9)), 1);
        traced.take(broken);
        assert!(seen(&traced).is_empty());
    }
}

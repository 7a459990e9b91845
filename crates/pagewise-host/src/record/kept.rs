//! The last hour of this host as a recording that is in no file: for those who watch.
//!
//! The recorder's own sampler takes the numbers, on the thread of whoever watches, and the recorder's own threads look at
//! stacks and stalls: what is seen here is what a recording would have held, but for the callers in programs.

mod numbers;
mod stalls;
mod traced;

use super::ring::Ring;
use super::sampler::{self, Sampler};
use super::schedule::Schedule;
use super::settings::Settings;
use super::tracers::Tracing;
use super::{
    FASTEST, OWN, OpenedSource, Options, RecordError, SLOWEST, STACKS, Shared, clock, meta, open_sources, own_series,
    writing,
};
use crate::root::Root;
use crate::source::{Pace, cgroup};
use crate::store::recording::{Batch, TickRow};
use numbers::Numbers;
use pagewise_core::recording::block::Tick;
use pagewise_core::recording::tick::TickDecoder;
use pagewise_core::recording::{Block, Gap, Mark, Part, Profile, Recorded, Series, Setting, StallRow, Walk};
use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;
use traced::Traced;

/// What is kept, and how often.
#[derive(Clone, Debug)]
pub struct Keeping {
    /// Samples a second, 0.01 to 20.
    pub hz: f64,
    /// Stacks a second and CPU; `None`: none.
    pub stacks: Option<u32>,
    /// Stalls.
    pub stalls: bool,
    /// Samples that are kept at least; a minute's more at most.
    pub most: usize,
    /// The series that are kept. Of all others only the newest value is known.
    pub wanted: fn(&Series) -> bool,
    /// Only these sources are read, by the names a recording has for them, and no settings; `None`: all there are.
    pub only: Option<BTreeSet<&'static str>>,
}

/// A host that is watched.
pub struct WatchedHost {
    root: Root,
    keeping: Keeping,
    sampler: Sampler,
    ring: Arc<Ring>,
    events: Receiver<super::Event>,
    decoder: TickDecoder,
    numbers: Numbers,
    series: Vec<Series>,
    gaps: Vec<Gap>,
    settings: Vec<Setting>,
    about: BTreeMap<String, String>,
    traced: Traced,
}

impl WatchedHost {
    /// Takes the first sample; the caller takes the others when they are due.
    ///
    /// # Errors
    /// When a rate is out of range, or a thread cannot be started. What may not be recorded is a gap with the reason.
    pub fn start(root: &Root, keeping: Keeping) -> Result<WatchedHost, RecordError> {
        // A control group's own limit is the first thing to suspect of what runs in one.
        let own = keeping.only.is_none().then(|| cgroup::own(root)).flatten();
        let groups: Vec<_> = own.into_iter().collect();
        let mut sources = open_sources(root, &groups, keeping.only.as_ref());
        if keeping.only.is_some() {
            // Who names the few that are wanted wants them in every sample.
            sources.iter_mut().for_each(|source| source.pace = sampler::pace(Pace::EveryTick));
        }
        let options = Options { hz: keeping.hz, groups, ..Options::default() };
        WatchedHost::start_with(root, keeping, &options, sources)
    }

    fn start_with(
        root: &Root,
        keeping: Keeping,
        options: &Options,
        sources: Vec<OpenedSource>,
    ) -> Result<WatchedHost, RecordError> {
        if !(SLOWEST..=FASTEST).contains(&keeping.hz) {
            return Err(RecordError::Rate(keeping.hz));
        }
        if let Some(hz) = keeping.stacks.filter(|hz| !STACKS.contains(hz)) {
            return Err(RecordError::StackRate(hz));
        }
        let Keeping { stacks, stalls, .. } = keeping;
        let traced = Traced::start(root, Tracing { stacks, stalls, innermost_only: true, ..Tracing::default() })?;
        let settings = if keeping.only.is_none() { Settings::open(root) } else { Settings::none(root) };
        let (ring, locked) = Ring::new();
        let (ring, now) = (Arc::new(ring), clock::boot());
        let names = sources.iter().map(|source| source.name.as_str()).chain([OWN]);
        let numbers = Numbers::new(names.map(str::to_owned).collect());
        let setting = |(path, value)| Setting { ts: now, path, value, by: "start".to_owned() };
        let at_start = settings.snapshot().into_iter().map(setting).collect();
        let about = meta(root, options, now, &locked).into_iter().collect();
        let (tells, events) = mpsc::channel();
        let schedule = Schedule::new(now, (1e9 / keeping.hz) as u64);
        let shared = Arc::new(Shared::default());
        let sampler = Sampler::new(sources, settings, schedule, Arc::clone(&ring), tells, shared);
        let mut kept = WatchedHost {
            root: root.clone(),
            keeping,
            sampler,
            ring,
            events,
            decoder: TickDecoder::new(),
            numbers,
            series: Vec::new(),
            gaps: Vec::new(),
            settings: at_start,
            about,
            traced,
        };
        kept.learn(own_series(now));
        kept.sampler.first();
        kept.hear();
        Ok(kept)
    }

    /// How long until the next sample is due.
    #[must_use]
    pub fn due_in(&self) -> Duration {
        Duration::from_nanos(self.sampler.wait())
    }

    /// Takes the sample that is due, and what was seen of stacks and stalls meanwhile. Gives whether a series was seen that
    /// was not there before.
    pub fn sample(&mut self) -> bool {
        let before = self.series.len();
        self.sampler.tick(clock::boot());
        self.hear();
        if self.traced.is_full() {
            self.gaps.extend(self.traced.renew(&self.root));
        }
        if let Some(oldest) = self.numbers.forget(self.keeping.most) {
            self.gaps.retain(|gap| gap.to.is_none_or(|to| to >= oldest));
            self.traced.forget(oldest);
        }
        self.series.len() != before
    }

    /// Takes over what sampler, stacks and stalls have told.
    fn hear(&mut self) {
        let mut batch = writing::drain(&self.ring, &self.events);
        self.traced.hear(&mut batch);
        let Batch { series, ticks, gaps, gap_ends, settings, .. } = batch;
        // A series is told before its first row.
        self.learn(series);
        for row in &ticks {
            self.row(row);
        }
        self.gaps.extend(gaps);
        for (source, to) in gap_ends {
            let is_open = |gap: &&mut Gap| gap.to.is_none() && gap.source.as_deref() == Some(&source);
            self.gaps.iter_mut().filter(is_open).for_each(|gap| gap.to = Some(to));
        }
        for (ts, path, value, by) in settings {
            self.settings.push(Setting { ts, path, value, by: by.to_owned() });
        }
    }

    fn learn(&mut self, series: impl IntoIterator<Item = Series>) {
        for series in series {
            if (self.keeping.wanted)(&series) {
                self.numbers.keep(&series.source, series.column);
            }
            self.series.push(series);
        }
    }

    fn row(&mut self, TickRow { ts, wall_offset, row }: &TickRow) {
        // What this process wrote a moment ago is whole.
        let Ok(sections) = self.decoder.decode(row) else { return };
        let mut sections = sections.into_iter();
        let of_clock = sections.next().flatten();
        let late = of_clock.and_then(|clock| clock.values.get(1).copied().flatten()).unwrap_or(0) as i64;
        self.numbers.add(Tick { begin: *ts, late, wall_offset: *wall_offset }, sections.collect());
    }

    /// The newest sample's instant.
    #[must_use]
    pub fn newest(&self) -> Option<Tick> {
        self.numbers.newest()
    }

    /// What a column had at the newest sample; `None` when it was not there.
    #[must_use]
    pub fn value(&self, source: &str, column: u32) -> Option<u64> {
        self.numbers.value(source, column)
    }

    /// Where CPUs were. `None`: not recorded, and [`WatchedHost::why_not`] of `stacks` may say why.
    #[must_use]
    pub fn stacks(&self) -> Option<&Profile> {
        self.traced.profile()
    }

    /// Why a source cannot be read, or stacks or stalls not be recorded.
    #[must_use]
    pub fn why_not(&self, source: &str) -> Option<&str> {
        let of_source = |gap: &&Gap| gap.source.as_deref() == Some(source) && gap.to.is_none();
        self.gaps.iter().find(of_source).map(|gap| gap.detail.as_str())
    }

    /// CPU time that looking at stacks took.
    #[must_use]
    pub fn stacks_cpu(&self) -> Duration {
        Duration::from_nanos(self.traced.stacks_cpu())
    }

    /// Whether a thread that looks at stacks or stalls has ended by itself: a defect of ours.
    #[must_use]
    pub fn has_broken(&self) -> bool {
        self.traced.has_broken()
    }

    /// A stretch of it, CLOCK_BOOTTIME in nanoseconds.
    #[must_use]
    pub fn part(&self, from: u64, to: u64) -> Part<'_, WatchedHost> {
        let part = Part::new(self, from, to, self.stacks().map(|profile| profile.part(from, to)));
        let is_whole = self.traced.stalls().is_none_or(|(_, incomplete_until)| from >= incomplete_until);
        if is_whole { part } else { part.without_stalls() }
    }
}

impl Recorded for WatchedHost {
    type Error = Infallible;

    fn series(&self) -> &[Series] {
        &self.series
    }

    fn gaps(&self) -> &[Gap] {
        &self.gaps
    }

    fn blocks(&self) -> impl Iterator<Item = Result<Block, Infallible>> {
        self.blocks_between(0, u64::MAX)
    }

    fn blocks_between(&self, from: u64, to: u64) -> impl Iterator<Item = Result<Block, Infallible>> {
        self.numbers.blocks(from, to).map(Ok)
    }

    fn about(&self, key: &str) -> Option<&str> {
        self.about.get(key).map(String::as_str)
    }

    fn settings(&self) -> Result<Vec<Setting>, Infallible> {
        Ok(self.settings.clone())
    }

    fn marks(&self) -> Result<Vec<Mark>, Infallible> {
        Ok(Vec::new())
    }

    fn profile(&self) -> Result<Option<Profile>, Infallible> {
        Ok(self.stacks().cloned())
    }

    fn stalls(&self) -> Result<Option<Vec<StallRow>>, Infallible> {
        Ok(self.traced.stalls().map(|(rows, _)| rows.to_vec()))
    }

    fn walks(&self) -> Result<Option<Vec<Walk>>, Infallible> {
        Ok(None)
    }
}

#[cfg(test)]
mod tests;

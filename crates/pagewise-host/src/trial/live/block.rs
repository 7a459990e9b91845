//! One block: switch, settle, wash out, measure. Over a host that tests can script, so that what is promised of order, waiting and
//! early ends can be shown without a clock.

use crate::trial::engine::{PointRunner, PointStage, Starting, TrialError};
use crate::trial::invalid::Invalid;
use crate::trial::measure::{Measures, NOTHING_RAN, Totals, signals};
use pagewise_core::comparison::found::Warning;
use pagewise_core::experiment::live::bound::{BUSY_ENOUGH, StopIf, WINDOW};
use pagewise_core::experiment::live::metric::signal;
use pagewise_core::experiment::live::{Ended, EndedBy, Instant, Live, half_of, mark};
use pagewise_core::experiment::point::{AppliedSetting, Outcome, PlannedPoint, Point, Record};
use pagewise_core::metric::Unit;
use pagewise_core::report::facts::HostFacts;
use std::collections::VecDeque;

/// How often bounds and foreign changes are looked for, in seconds.
const CHECK_EVERY: f64 = 1.0;

/// How often the end of the job, Ctrl-C and the watcher are checked, in seconds.
const STEP: f64 = 0.1;

/// What a block needs of a host.
pub trait LiveHost {
    /// Puts a cell's policy in force, if it is not, and gives what that wrote.
    ///
    /// # Errors
    /// When the host cannot be changed, or not be put back.
    fn switch(&mut self, cell: &str) -> Result<Vec<AppliedSetting>, TrialError>;

    /// What someone else changed of the settings that the policies are about.
    fn foreign(&mut self) -> Option<String>;

    /// A block of this cell is about to be measured: what of the host's other settings is not as when the cell first was.
    fn settings_differ(&mut self, cell: &str) -> Option<String>;

    /// It was measured: what of them something else changed meanwhile.
    fn settings_changed(&mut self) -> Option<String>;

    /// The kernel's totals; all of them at the ends of a block, else those that may be read often.
    fn totals(&mut self, all: bool) -> Totals;

    /// Seconds on a clock that never steps back.
    fn clock(&self) -> f64;

    /// Lets this many seconds pass, a fraction of one.
    ///
    /// # Errors
    /// On Ctrl-C, and when the host could no longer be put back after a kill.
    fn pause(&mut self, seconds: f64) -> Result<(), TrialError>;

    /// How the job ended, once it has.
    fn job_ended(&mut self) -> Option<String>;

    /// A block begins: what the user's metric was before it.
    fn metric_begins(&mut self);

    /// The block ended after `seconds`: the user's number, or why there is none. `None` when the metric is a signal.
    fn metric_ends(&mut self, seconds: f64) -> Option<Result<f64, String>>;

    /// Notes something in the recording.
    fn mark(&mut self, text: &str);

    /// The instant and the boot.
    fn instant(&self) -> (String, String);

    /// The host in that boot.
    fn facts(&self) -> HostFacts;
}

/// Runs the blocks of a live proof.
pub struct Blocks<H> {
    /// The host.
    pub host: H,
    live: Live,
    stop_if: StopIf,
    /// The metric's name in the plan.
    metric: String,
    /// A block is invalid where the hypervisor took a larger share of the CPU time.
    steal_limit: f64,
    window: VecDeque<(f64, Totals)>,
}

impl<H: LiveHost> Blocks<H> {
    /// Blocks as the plan declares them. A bound that cannot be read was refused when the plan was checked.
    pub fn new(host: H, live: &Live, metric: &str, steal_limit: f64) -> Self {
        let stop_if = live.stop_if.as_deref().and_then(|text| text.parse().ok()).unwrap_or_default();
        Blocks { host, live: live.clone(), stop_if, metric: metric.to_owned(), steal_limit, window: VecDeque::new() }
    }

    /// The host, when there is nothing left to run.
    pub fn into_host(self) -> H {
        self.host
    }

    /// Lets time pass and looks around meanwhile.
    fn pass(&mut self, seconds: f64) -> Result<(), TrialError> {
        let until = self.host.clock() + seconds;
        loop {
            if let Some(reason) = self.host.job_ended() {
                return Err(self.ended(EndedBy::Job, reason));
            }
            self.check_bounds()?;
            self.check_other_settings()?;
            if until - self.host.clock() <= 0.0 {
                return Ok(());
            }
            let check_at = (self.host.clock() + CHECK_EVERY).min(until);
            while self.host.clock() < check_at {
                self.host.pause((check_at - self.host.clock()).clamp(0.001, STEP))?;
                if let Some(reason) = self.host.job_ended() {
                    return Err(self.ended(EndedBy::Job, reason));
                }
            }
        }
    }

    /// Whoever changes a setting of a host that works has a reason: their value stays, and the proof is over. To write ours
    /// over it for the next block would take the host out of their hands.
    fn check_other_settings(&mut self) -> Result<(), TrialError> {
        match self.host.foreign() {
            Some(foreign) => Err(self.ended(EndedBy::ForeignChange, foreign)),
            None => Ok(()),
        }
    }

    /// Judges the bounds over the last seconds. The window goes on over the ends of blocks: what is spared is the job.
    fn check_bounds(&mut self) -> Result<(), TrialError> {
        if self.stop_if.bounds().is_empty() {
            return Ok(());
        }
        let now = self.host.clock();
        if self.window.back().is_some_and(|(last, _)| now - last < CHECK_EVERY / 2.0) {
            return Ok(());
        }
        let totals = self.host.totals(false);
        self.window.push_back((now, totals));
        // Keeps one reading that is a whole window old, and none older.
        while self.window.get(1).is_some_and(|(second, _)| now - second >= WINDOW) {
            self.window.pop_front();
        }
        let (Some((from, before)), Some((_, after))) = (self.window.front(), self.window.back()) else { return Ok(()) };
        let seconds = now - from;
        if seconds < WINDOW {
            return Ok(());
        }
        let is_idle = after.busy_since(before).is_none_or(|share| share < BUSY_ENOUGH);
        let grown = signals(before, after).values;
        let value = |name: &str| {
            if name == "system_share" && is_idle { None } else { grown.get(name).copied() }
        };
        match self.stop_if.crossed(seconds, value) {
            Some(reason) => Err(self.ended(EndedBy::Bound, reason)),
            None => Ok(()),
        }
    }

    fn ended(&self, by: EndedBy, reason: String) -> TrialError {
        TrialError::EndedEarly(Ended { by, reason, at: self.host.instant().0 })
    }

    fn measure(&mut self, point: &mut Point) -> Result<(Totals, Totals), TrialError> {
        self.host.metric_begins();
        let (from, before) = (self.host.clock(), self.host.totals(true));
        self.pass(self.live.block_seconds / 2.0)?;
        let (half_at, half) = (self.host.clock(), self.host.totals(false));
        self.pass(self.live.block_seconds / 2.0)?;
        let (until, after) = (self.host.clock(), self.host.totals(true));
        let seconds = until - from;
        let custom = self.host.metric_ends(seconds);
        let mut found = self.scaled(signals(&before, &after), seconds, 1.0);
        for (second, start, end, took) in
            [(false, &before, &half, half_at - from), (true, &half, &after, until - half_at)]
        {
            let part = self.scaled(signals(start, end), took, 0.5);
            if let (Some(value), Some(known)) = (part.values.get(&self.metric), signal(&self.metric)) {
                let name = half_of(&self.metric, second);
                found.custom_units.insert(name.clone(), unit_word(known.unit).to_owned());
                found.values.insert(name, *value);
            }
        }
        if let Some(custom) = custom {
            found.put_or_miss(&self.metric, custom);
            found.custom_units.insert(self.metric.clone(), String::new());
        }
        (point.measures, point.absent, point.custom_units) = (found.values, found.absent, found.custom_units);
        Ok((before, after))
    }

    /// What the first block does not have, no other would: better now than after an hour. But for a share of what ran
    /// where nothing did: something may run in the next block.
    fn found_nothing(&self, point: &Point) -> Result<(), TrialError> {
        let has = point.measures.contains_key(&self.metric);
        let why = point.absent.get(&self.metric).map_or("nothing reports it", String::as_str);
        if has || why == NOTHING_RAN || point.outcome != Outcome::Ok || point.planned.index > 0 {
            return Ok(());
        }
        Err(TrialError::NoLiveMetric { metric: self.metric.clone(), why: why.to_owned() })
    }

    /// Seconds, counts and bytes as they would have been in the declared length: a host that stalls makes a block longer, and
    /// must not look worse for that alone.
    fn scaled(&self, mut measures: Measures, took: f64, share: f64) -> Measures {
        let factor = self.live.block_seconds * share / took.max(1e-3);
        for (name, value) in &mut measures.values {
            if signal(name).is_some_and(|known| known.unit != Unit::Fraction) {
                *value *= factor;
            }
        }
        measures
    }
}

fn unit_word(unit: Unit) -> &'static str {
    match unit {
        Unit::Fraction => "fraction",
        Unit::Seconds => "seconds",
        Unit::Bytes => "bytes",
        Unit::Pages => "pages",
        Unit::Count => "count",
        Unit::ByteSeconds | Unit::Custom => "",
    }
}

/// Whether a block gave a result, from what the host says of it.
fn judge(point: &mut Point, before: &Totals, after: &Totals, steal_limit: f64) {
    let ending = if let Some(share) = after.steal_since(before).filter(|share| *share > steal_limit) {
        Some((Outcome::Invalid, Invalid::Stolen { share, limit: steal_limit }.to_string()))
    } else if after.oom_kills_since(before).is_some_and(|kills| kills > 0) {
        Some((Outcome::Oom, "the kernel killed a process of this host for lack of memory in this block".to_owned()))
    } else {
        None
    };
    match ending {
        Some((outcome, reason)) => (point.outcome, point.reason) = (outcome, Some(reason)),
        None => point.outcome = Outcome::Ok,
    }
}

impl<H: LiveHost> PointRunner for Blocks<H> {
    fn instant(&self) -> (String, String) {
        self.host.instant()
    }

    fn host(&self) -> HostFacts {
        self.host.facts()
    }

    fn remedy(&self) -> Option<&'static str> {
        // Nothing else makes a block invalid.
        Invalid::Stolen { share: 0.0, limit: self.steal_limit }.remedy()
    }

    fn run_point(
        &mut self,
        planned: &PlannedPoint,
        attempt: u32,
        starting: Starting<'_>,
    ) -> Result<Record, TrialError> {
        if let Some(reason) = self.host.job_ended() {
            return Err(self.ended(EndedBy::Job, reason));
        }
        self.check_other_settings()?;
        self.host.mark(&mark(Instant::Switch, planned, attempt));
        let applied = self.host.switch(&planned.cell)?;
        let mut point = Point { applied, ..Point::begun(planned, attempt, self.host.instant()) };
        self.pass(self.live.settle_seconds + self.live.washout_seconds)?;
        starting(PointStage::Starts)?;
        point.started_at = self.host.instant().0;
        self.host.mark(&mark(Instant::Begin, planned, attempt));
        let differ = self.host.settings_differ(&planned.cell).map(|differ| format!("When it began, {differ}."));
        let (before, after) = self.measure(&mut point)?;
        self.host.mark(&mark(Instant::End, planned, attempt));
        let changed = self.host.settings_changed().map(|changed| format!("Read it with care: {changed}."));
        point.warnings.extend(differ.into_iter().chain(changed).map(|text| {
            tracing::warn!("block {}: {text}", planned.index + 1);
            Warning { id: "settings-changed".to_owned(), text }
        }));
        judge(&mut point, &before, &after, self.steal_limit);
        self.found_nothing(&point)?;
        let (vmstat_before, vmstat_after) = (before.vmstat.unwrap_or_default(), after.vmstat.unwrap_or_default());
        Ok(Record { point, vmstat_before, vmstat_after })
    }
}

#[cfg(test)]
mod tests;

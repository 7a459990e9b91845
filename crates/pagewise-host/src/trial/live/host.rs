//! This host under a live proof: the policy in force through the journal, the job, the recording.

use super::block::LiveHost;
use super::job::Job;
use super::metric::BlockMetric;
use crate::facts::kernel::host_facts;
use crate::process::Interrupt;
use crate::record::Recorder;
use crate::root::Root;
use crate::scope::Scope;
use crate::source;
use crate::trial::engine::TrialError;
use crate::trial::measure::Totals;
use crate::trial::other_settings::OtherSettings;
use crate::trial::runner::whole;
use crate::tunable::change::{Change, ChangeError, Lease};
use crate::tunable::journal::Journal;
use crate::tunable::lock::HostLock;
use crate::tunable::watcher::Watcher;
use crate::tunable::{self, Places};
use pagewise_core::experiment::live::{Ended, EndedBy};
use pagewise_core::experiment::point::AppliedSetting;
use pagewise_core::report::facts::HostFacts;
use pagewise_core::tunable::Tunable;
use pagewise_core::tunable::policy::Policy;
use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

/// This host.
pub struct HereLive<'a> {
    /// The host.
    pub root: &'a Root,
    /// Cell label to policy.
    pub policies: BTreeMap<String, Policy>,
    /// Where what a value creates is put.
    pub places: &'a Places,
    /// The change journal.
    pub journal: &'a Journal,
    /// The right to change this host.
    pub lock: &'a HostLock,
    /// Restores the host should we be killed.
    pub watcher: &'a mut Watcher,
    /// Ctrl-C.
    pub interrupt: &'a Interrupt,
    /// What the proof is about.
    pub job: Job,
    /// Where a command of ours runs.
    pub scope: Option<Scope>,
    /// The user's number.
    pub metric: BlockMetric,
    /// The recording of the whole proof.
    pub recorder: Option<Recorder>,
    /// Called about ten times a second.
    pub tick: Box<dyn FnMut() + 'a>,
    /// The policy in force.
    pub in_force: Option<InForce>,
    /// What the tunables of both policies, and those they move along, were before the first switch.
    pub before: BTreeMap<Tunable, String>,
    /// What the host has set beside what the policies are about.
    pub other_settings: OtherSettings,
    /// When the proof began.
    pub since: Instant,
}

/// A cell's policy on the host.
pub struct InForce {
    cell: String,
    change: Change,
}

/// What every tunable of the policies is now, and every tunable that the kernel moves along with one of them.
///
/// # Errors
/// When a policy cannot be had here, or a value cannot be read.
pub fn values_before<'p>(
    root: &Root,
    places: &Places,
    policies: impl IntoIterator<Item = &'p Policy>,
) -> Result<BTreeMap<Tunable, String>, TrialError> {
    let mut values = BTreeMap::new();
    for policy in policies {
        for setting in tunable::resolve(root, places, policy)?.host {
            for tunable in setting.coupled.iter().chain([&setting.tunable]) {
                values.insert(tunable.clone(), tunable::read(root, tunable)?);
            }
        }
    }
    Ok(values)
}

impl HereLive<'_> {
    /// Puts the host back, ends a command of ours and the recording. Why the recording ended before, if it did, is given.
    ///
    /// # Errors
    /// When something of the host could not be put back.
    pub fn release(mut self) -> Result<Option<String>, TrialError> {
        // The host first: whatever goes wrong with the rest must not keep it changed.
        let undone = self.undo().map(drop);
        self.job.stop();
        if let Some(scope) = self.scope.take() {
            scope.remove();
            let _ = self.watcher.set_scope(None, &[]);
        }
        let recorded = self.recorder.take().map(Recorder::finish);
        undone?;
        Ok(match recorded {
            Some(Ok(summary)) => summary.ended,
            Some(Err(error)) => Some(error.to_string()),
            None => None,
        })
    }

    /// Gives what someone else had changed meanwhile, which is left as it is.
    fn undo(&mut self) -> Result<Option<String>, TrialError> {
        let Some(in_force) = self.in_force.take() else { return Ok(None) };
        let report = in_force.change.undo(self.lock)?;
        let foreign: Vec<String> = report.foreign().map(|(name, found)| format!("{name} is '{found}'")).collect();
        whole(report)?;
        Ok(told(foreign))
    }
}

/// `None`: nobody changed anything.
fn told(mut found: Vec<String>) -> Option<String> {
    found.sort();
    found.dedup();
    (!found.is_empty()).then(|| format!("changed by someone else: {}", found.join("; ")))
}

impl LiveHost for HereLive<'_> {
    fn switch(&mut self, cell: &str) -> Result<Vec<AppliedSetting>, TrialError> {
        if let Some(there) = self.in_force.as_ref().filter(|there| there.cell == cell) {
            return Ok(there.change.applied().to_vec());
        }
        if let Some(reason) = self.undo()? {
            return Err(TrialError::EndedEarly(Ended { by: EndedBy::ForeignChange, reason, at: self.instant().0 }));
        }
        let policy = self.policies.get(cell).cloned().unwrap_or_default();
        let resolved = tunable::resolve(self.root, self.places, &policy)?;
        // Nothing is written that nobody would put back.
        self.watcher.ensure_alive().map_err(ChangeError::from)?;
        let change = self.journal.apply(self.lock, &resolved, &policy.to_string(), Lease::Owner, &mut |_| {})?;
        let applied = change.applied().to_vec();
        self.in_force = Some(InForce { cell: cell.to_owned(), change });
        Ok(applied)
    }

    fn foreign(&mut self) -> Option<String> {
        let change = self.in_force.as_ref().map(|in_force| &in_force.change);
        let is_ours =
            |one: &Tunable| change.is_some_and(|change| change.applied().iter().any(|set| set.tunable == one.name));
        let mut found: Vec<String> =
            change.map(Change::drift).unwrap_or_default().iter().map(ToString::to_string).collect();
        for (tunable, before) in self.before.iter().filter(|(tunable, _)| !is_ours(tunable)) {
            match tunable::read(self.root, tunable) {
                Ok(now) if tunable.same(&now, before) => {}
                Ok(now) => found.push(format!("{tunable} is '{now}', not '{before}'")),
                Err(error) => found.push(error.to_string()),
            }
        }
        told(found)
    }

    fn settings_differ(&mut self, cell: &str) -> Option<String> {
        self.other_settings.begin(cell)
    }

    fn settings_changed(&mut self) -> Option<String> {
        // Of what the policies are about a change ends the proof.
        self.other_settings.end(|name| self.before.keys().any(|tunable| tunable.name == name))
    }

    fn totals(&mut self, all: bool) -> Totals {
        if all { Totals::read(self.root) } else { Totals::read_often(self.root) }
    }

    fn clock(&self) -> f64 {
        self.since.elapsed().as_secs_f64()
    }

    fn pause(&mut self, seconds: f64) -> Result<(), TrialError> {
        self.interrupt.check()?;
        thread::sleep(Duration::from_secs_f64(seconds));
        self.interrupt.check()?;
        if let Some(pids) = self.job.changed_pids() {
            let folder = self.scope.as_ref().and_then(Scope::folder);
            let _ = self.watcher.set_scope(folder, &pids);
        }
        self.watcher.ensure_alive().map_err(ChangeError::from)?;
        self.other_settings.tick();
        (self.tick)();
        Ok(())
    }

    fn job_ended(&mut self) -> Option<String> {
        self.job.ended(self.root)
    }

    fn metric_begins(&mut self) {
        self.metric.begin(self.interrupt);
    }

    fn metric_ends(&mut self, seconds: f64) -> Option<Result<f64, String>> {
        self.metric.end(seconds, self.interrupt)
    }

    fn mark(&mut self, text: &str) {
        if let Some(recorder) = &self.recorder {
            recorder.mark(text);
        }
    }

    fn instant(&self) -> (String, String) {
        let now = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        (now, source::boot_id(self.root).unwrap_or_default())
    }

    fn facts(&self) -> HostFacts {
        host_facts(self.root, Some(&self.places.cache))
    }
}

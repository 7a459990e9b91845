//! Live proofs: each point is a block of time on a host that goes on working.

use super::audience::{ForwardedProgress, Note};
use super::{HeldHost, Session, SessionError};
use crate::record::Recorder;
use crate::scope::Scope;
use crate::store::bundle::Bundle;
use crate::trial::engine::{self, TrialError};
use crate::trial::live::host::values_before;
use crate::trial::live::job::Job;
use crate::trial::live::metric::BlockMetric;
use crate::trial::live::{Blocks, HereLive};
use crate::trial::other_settings::OtherSettings;
use crate::trial::recordings::Recordings;
use crate::tunable::watcher::Watcher;
use pagewise_core::experiment::live::Live;
use pagewise_core::experiment::live::metric::LiveMetric;
use pagewise_core::experiment::plan::Plan;
use pagewise_core::experiment::plan::cells::cells;
use std::path::Path;
use std::time::Instant;

impl Session<'_> {
    /// Starts the job, lets `bundle` be made, runs the blocks, and puts everything back.
    pub(super) fn run_live(
        &self,
        held: HeldHost,
        plan: &Plan,
        live: &Live,
        bundle: impl FnOnce() -> Result<Bundle, SessionError>,
    ) -> Result<Bundle, SessionError> {
        let HeldHost { journal, lock } = held;
        let has_command = !plan.workload.run.is_empty();
        let metric = LiveMetric::parse(plan.metric().place())?;
        let metric = BlockMetric::ready(&metric, has_command, &self.interrupt)
            .map_err(|why| TrialError::NoLiveMetric { metric: plan.metric().name.clone(), why })?;
        let mut job = match live.pid {
            Some(pid) => Job::process(&self.root, pid)?,
            None => Job::Whatever,
        };
        let cells = cells(plan)?;
        let before = values_before(&self.root, &self.places, cells.iter().map(|cell| &cell.policy))?;
        let mut watcher = Watcher::start(&self.places.state, &self.root)?;
        let mut bundle = bundle()?;
        let place = has_command.then(|| Scope::create(&self.root));
        let recorder = recorder(self, &bundle, place.as_ref().and_then(Scope::folder));
        let mut scope = None;
        if let Some(place) = place {
            // Before it starts, so that it cannot outlive us from its first moment on.
            let _ = watcher.set_scope(place.folder(), &[]);
            match Job::start(&plan.workload.run, place.folder()) {
                Ok(started) => job = started,
                Err(error) => {
                    place.remove();
                    return Err(error.into());
                }
            }
            scope = Some(place);
        }
        let told = self.audience.points(plan, &self.interrupt);
        let host = HereLive {
            root: &self.root,
            policies: cells.into_iter().map(|cell| (cell.label, cell.policy)).collect(),
            places: &self.places,
            journal: &journal,
            lock: &lock,
            watcher: &mut watcher,
            interrupt: &self.interrupt,
            job,
            scope,
            metric,
            recorder,
            tick: Box::new(|| told.tick()),
            in_force: None,
            before,
            other_settings: OtherSettings::new(&self.root),
            since: Instant::now(),
        };
        let mut blocks = Blocks::new(host, live, &plan.metric().name, plan.design.steal_limit);
        let outcome = engine::run(&mut bundle, &mut blocks, &mut ForwardedProgress(told.as_ref()));
        let released = blocks.into_host().release();
        told.over();
        watcher.finish();
        drop(told);
        if let Some(why) = released? {
            self.audience.note(Note::RecordingEnded(&why));
        }
        self.end(bundle, outcome)
    }
}

/// One recording of the whole proof, with a mark at both ends of every block. One that cannot be had costs no block.
fn recorder(session: &Session<'_>, bundle: &Bundle, job: Option<&Path>) -> Option<Recorder> {
    let recordings = Recordings::of(bundle)
        .inspect_err(|error| tracing::warn!("the proof is not recorded: {error}"))
        .ok()
        .flatten()?;
    recordings.start_live(&session.root, &bundle.plan().name, job)
}

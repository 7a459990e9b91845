//! What a trial would run and change, as values: nothing is changed.

use super::{Session, SessionError};
use crate::tunable;
use pagewise_core::experiment::order::{self, Order};
use pagewise_core::experiment::plan::Plan;
use pagewise_core::experiment::plan::cells::cells;

/// What a trial would run and change.
#[derive(Clone, Debug)]
pub struct Preview {
    /// The order.
    pub order: Order,
    /// The job in a few words; `None` for a live proof, which is about whatever runs.
    pub job: Option<String>,
    /// Each cell with what it sets.
    pub cells: Vec<PreviewedCell>,
}

/// A cell with what it sets.
#[derive(Clone, Debug)]
pub struct PreviewedCell {
    /// Its label.
    pub label: String,
    /// What it sets on this host.
    pub host: Vec<PreviewedSetting>,
    /// What must be booted for it: tunable and value.
    pub boot: Vec<(String, String)>,
    /// What it asks of the job alone, such as a JVM's flag: name and value.
    pub job: Vec<(String, String)>,
}

/// A setting of the host.
#[derive(Clone, Debug)]
pub struct PreviewedSetting {
    /// The tunable.
    pub tunable: String,
    /// What it is now.
    pub now: String,
    /// What it would be.
    pub value: String,
    /// Tunables held fixed beside it.
    pub coupled: Vec<String>,
}

impl Session<'_> {
    /// What a plan would run and change here.
    ///
    /// # Errors
    /// When it cannot run here.
    pub fn preview(&self, plan: &Plan) -> Result<Preview, SessionError> {
        let order = order::draw(plan)?;
        let job = if plan.live.is_some() { None } else { Some(self.workload(plan)?.describe()) };
        let cells = cells(plan)?.into_iter().map(|cell| {
            let of_job = cell.policy.settings.iter().filter(|setting| setting.tunable.is_for_job());
            let job = of_job.map(|setting| (setting.name.clone(), setting.value.clone())).collect();
            let resolved = tunable::resolve(&self.root, &self.places, &cell.policy)?;
            let host = resolved.host.into_iter().map(|setting| {
                let now = tunable::read(&self.root, &setting.tunable)?;
                let coupled = setting.coupled.into_iter().map(|tunable| tunable.name).collect();
                Ok(PreviewedSetting { tunable: setting.tunable.name, now, value: setting.value, coupled })
            });
            let host = host.collect::<Result<_, SessionError>>()?;
            let boot = resolved.boot.into_iter().map(|setting| (setting.tunable.name, setting.value)).collect();
            Ok(PreviewedCell { label: cell.label, host, boot, job })
        });
        let cells = cells.collect::<Result<_, SessionError>>()?;
        Ok(Preview { order, job, cells })
    }
}

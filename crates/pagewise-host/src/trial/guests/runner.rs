//! On the host: boots what a point needs, asks the guest to run it, and takes what it gave.

use super::super::engine::{Booting, PointRunner, PointStage, Starting, TrialError};
use super::super::invalid::Invalid;
use super::super::recordings;
use super::super::said;
use super::{Answer, HostMessage, MARK, Points, move_files};
use crate::lab::accelerator::Accelerator;
use crate::lab::agent::{GuestWork, Task};
use crate::lab::guest::{RunningGuest, StreamOutput};
use crate::lab::kernels::Kernel;
use crate::lab::{Lab, LabError, PreparedGuest, disk};
use crate::process::Interrupt;
use pagewise_core::experiment::plan::lab::KERNEL;
use pagewise_core::experiment::point::{Boot, PlannedPoint, Point, Record};
use pagewise_core::report::facts::HostFacts;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How long a guest may take over a point beside the time its job may take.
const AROUND: f64 = 300.0;

/// A kernel of the plan, ready to be booted again and again.
pub struct PlannedKernel {
    /// The kernel.
    pub kernel: Kernel,
    /// What its guests are started with.
    pub prepared: PreparedGuest,
}

/// What stays the same for every point of a trial in guests.
pub struct LabRunner<'a> {
    /// Where guests live.
    pub lab: Lab,
    /// Each kernel that the plan names.
    pub kernels: BTreeMap<String, PlannedKernel>,
    /// Which of them a cell needs.
    pub kernel_of: BTreeMap<String, String>,
    /// What every guest is to do.
    pub points: Points,
    /// Folders of the data disk and where they belong.
    pub folders: BTreeMap<String, PathBuf>,
    /// The disk that every boot begins with.
    pub image: PathBuf,
    /// Where its overlay is.
    pub overlay: PathBuf,
    /// Whether every point has a boot of its own.
    pub boots_each_point: bool,
    /// A run longer than this is stopped.
    pub timeout: f64,
    /// Ctrl-C.
    pub interrupt: &'a Interrupt,
    /// Called about ten times a second while a point runs.
    pub tick: Box<dyn FnMut() + 'a>,
    /// The bundle, which takes what guests bring out.
    pub bundle: PathBuf,
    /// The host, for a guest that never said what it is.
    pub this_host: HostFacts,
    /// What was booted last.
    pub up: Option<GuestBoot>,
}

/// A boot, whatever became of it.
pub struct GuestBoot {
    /// Which kernel, by its name in the plan.
    kernel: String,
    /// Which whole plot it is for.
    plot: Option<u32>,
    /// Whether a point ran in it.
    is_used: bool,
    guest: Result<ReadyGuest, String>,
}

/// A guest that can be asked for points.
struct ReadyGuest {
    running: RunningGuest,
    lines: Lines,
    boot_id: String,
    host: HostFacts,
}

impl LabRunner<'_> {
    fn kernel_of(&self, planned: &PlannedPoint) -> Option<&String> {
        self.kernel_of.get(&planned.cell)
    }

    /// Starts a guest and waits until it says that it is ready.
    fn start(&mut self, name: &str) -> Result<ReadyGuest, LabError> {
        let Some(planned) = self.kernels.get(name) else {
            return Err(LabError::Step(format!("the kernel {name} is none of the plan's")));
        };
        disk::overlay(&self.image, &self.overlay, self.interrupt)?;
        let what = serde_json::to_value(&self.points).map_err(|error| LabError::Step(error.to_string()))?;
        let modules = planned.kernel.modules.clone();
        let task = Task::here(modules, Some(self.folders.clone()), GuestWork::Other(what));
        let (release, config) = (planned.kernel.release.clone(), planned.kernel.config_hash());
        let mut running = self.lab.start(&planned.prepared, &task)?;
        running.keep_complaints();
        let accelerator = planned.prepared.accelerator();
        let mut lines = Lines::default();
        let until = Instant::now() + Duration::from_secs_f64(AROUND);
        loop {
            match self.hear(&mut running, &mut lines, until)? {
                Answer::Ready { boot_id, host } => {
                    if host.kernel.as_deref() != Some(release.as_str()) {
                        let booted = host.kernel.as_deref().unwrap_or("an unknown kernel");
                        return Err(LabError::Step(format!("Linux {release} was to be booted, and {booted} runs")));
                    }
                    let host = HostFacts {
                        emulated: Some(accelerator == Accelerator::Emulation),
                        kernel_config: config,
                        ..*host
                    };
                    return Ok(ReadyGuest { running, lines, boot_id, host });
                }
                Answer::Failed(why) => return Err(LabError::Step(format!("in the guest: {why}"))),
                Answer::Waits(_) | Answer::Starts | Answer::Record(_) => {}
            }
        }
    }

    /// The next line of the guest.
    fn hear(&mut self, running: &mut RunningGuest, lines: &mut Lines, until: Instant) -> Result<Answer, LabError> {
        const AT_MOST: Duration = Duration::from_millis(95);
        loop {
            if let Some(answer) = lines.next_answer() {
                return Ok(answer);
            }
            match running.next(AT_MOST, self.interrupt)? {
                Some(StreamOutput::Out(bytes)) => lines.take(&bytes),
                Some(StreamOutput::Err(bytes)) => {
                    tracing::debug!("guest: {}", String::from_utf8_lossy(&bytes).trim_end())
                }
                None => {
                    if let Some(ended) = running.task_ended()? {
                        let (status, said) = (ended.status, running.complaint());
                        let said = if said.is_empty() { String::new() } else { format!(": {said}") };
                        return Err(LabError::Step(format!(
                            "Pagewise ended in the guest with exit status {status}{said}"
                        )));
                    }
                }
            }
            (self.tick)();
            if Instant::now() > until {
                return Err(LabError::Step("the guest did not come to an end with it in time".to_owned()));
            }
        }
    }

    /// Runs a point in the guest that is up.
    fn ask(
        &mut self,
        ready: &mut ReadyGuest,
        (planned, attempt): (&PlannedPoint, u32),
        starting: Starting<'_>,
    ) -> Result<Result<Record, String>, TrialError> {
        let until = Instant::now() + Duration::from_secs_f64(self.timeout + AROUND);
        let ask = HostMessage::Run { planned: planned.clone(), attempt };
        let line = serde_json::to_string(&ask).unwrap_or_default();
        if let Err(error) = ready.running.send(&line) {
            return unless_interrupted(error);
        }
        loop {
            match self.hear(&mut ready.running, &mut ready.lines, until) {
                Ok(Answer::Waits(reason)) => starting(PointStage::Waits(&reason))?,
                Ok(Answer::Starts) => starting(PointStage::Starts)?,
                Ok(Answer::Record(record)) => return Ok(Ok(*record)),
                Ok(Answer::Failed(why)) => return Err(TrialError::InGuest(why)),
                Ok(Answer::Ready { .. }) => {}
                Err(error) => return unless_interrupted(error),
            }
        }
    }

    /// Moves what a point left in the shared folder into the bundle.
    fn take_out(&self) {
        let shared = self.lab.folder().shared();
        for name in [recordings::FOLDER, said::FOLDER] {
            move_files(&shared.join(name), &self.bundle.join(name));
        }
    }

    /// A point that a guest did not live to give.
    fn invalid(&self, planned: &PlannedPoint, attempt: u32, why: String) -> Record {
        let reason = Some(Invalid::GuestLost(why).to_string());
        let point = Point { reason, ..Point::begun(planned, attempt, self.instant()) };
        Record { point, vmstat_before: BTreeMap::new(), vmstat_after: BTreeMap::new() }
    }
}

/// Ctrl-C ends the trial; whatever else becomes of a guest costs one attempt.
fn unless_interrupted<T>(error: LabError) -> Result<Result<T, String>, TrialError> {
    match error {
        LabError::Interrupted(interrupted) => Err(interrupted.into()),
        other => Ok(Err(other.to_string())),
    }
}

impl PointRunner for LabRunner<'_> {
    fn boot_needed(&self, planned: &PlannedPoint) -> Option<Boot> {
        let kernel = self.kernel_of(planned)?;
        let fits = |up: &GuestBoot| {
            let is_free = if self.boots_each_point { !up.is_used } else { up.plot == planned.boot && up.guest.is_ok() };
            up.kernel == *kernel && (is_free || (up.guest.is_err() && !up.is_used))
        };
        if self.up.as_ref().is_some_and(fits) {
            return None;
        }
        Some(Boot { settings: BTreeMap::from([(KERNEL.to_owned(), kernel.clone())]) })
    }

    fn boot(&mut self, planned: &PlannedPoint, _boot: &Boot) -> Result<Booting, TrialError> {
        let Some(kernel) = self.kernel_of(planned).cloned() else { return Ok(Booting::ByTheUser) };
        // The one before goes first: two at once would share this host.
        self.up = None;
        let guest = match self.start(&kernel) {
            Ok(ready) => Ok(ready),
            Err(error) => Err(unless_interrupted::<()>(error)?.err().unwrap_or_default()),
        };
        self.up = Some(GuestBoot { kernel, plot: planned.boot, is_used: false, guest });
        Ok(Booting::Done)
    }

    fn run_point(
        &mut self,
        planned: &PlannedPoint,
        attempt: u32,
        starting: Starting<'_>,
    ) -> Result<Record, TrialError> {
        let Some(mut up) = self.up.take() else {
            return Ok(self.invalid(planned, attempt, "no guest was booted for it".to_owned()));
        };
        up.is_used = true;
        let ran = match &mut up.guest {
            Ok(ready) => self.ask(ready, (planned, attempt), starting)?,
            Err(why) => Err(why.clone()),
        };
        self.take_out();
        let boot_id = up.guest.as_ref().map_or_else(|_| String::new(), |ready| ready.boot_id.clone());
        match ran {
            Ok(record) => {
                self.up = (!self.boots_each_point).then_some(up);
                Ok(record)
            }
            // Such a guest is not asked again.
            Err(why) => {
                let mut record = self.invalid(planned, attempt, why);
                record.point.boot_id = boot_id;
                Ok(record)
            }
        }
    }

    fn instant(&self) -> (String, String) {
        let boot_id = self.up.as_ref().and_then(|up| up.guest.as_ref().ok()).map(|ready| ready.boot_id.clone());
        (jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(), boot_id.unwrap_or_default())
    }

    fn host(&self) -> HostFacts {
        let ready = self.up.as_ref().and_then(|up| up.guest.as_ref().ok());
        ready.map_or_else(|| self.this_host.clone(), |ready| ready.host.clone())
    }
}

/// What a guest wrote, cut into lines.
#[derive(Default)]
struct Lines {
    bytes: Vec<u8>,
}

impl Lines {
    /// A guest that writes without end is no reason to fill the host's memory.
    const LONGEST: usize = 16 << 20;

    fn take(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        if self.bytes.len() > Self::LONGEST {
            self.bytes.clear();
        }
    }

    fn next_answer(&mut self) -> Option<Answer> {
        while let Some(end) = self.bytes.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.bytes.drain(..=end).collect();
            let line = String::from_utf8_lossy(&line);
            if let Some((_, text)) = line.split_once(MARK)
                && let Ok(answer) = serde_json::from_str(text.trim_end())
            {
                return Some(answer);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_lines_with_the_mark_are_answers() {
        let mut lines = Lines::default();
        lines.take(b"noise from somebody\npagewise-point {\"waits\":\"x\"}\npagewise-point \"sta");
        assert!(matches!(lines.next_answer(), Some(Answer::Waits(reason)) if reason == "x"));
        assert!(lines.next_answer().is_none());
        lines.take(b"rts\"\nrest");
        assert!(matches!(lines.next_answer(), Some(Answer::Starts)));
        lines.take(&vec![b'x'; 17 << 20]);
        lines.take(b"\npagewise-point \"starts\"\n");
        assert!(matches!(lines.next_answer(), Some(Answer::Starts)));
    }
}

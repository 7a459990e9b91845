//! A trial from its plan to a complete bundle: who holds the host meanwhile, what is checked first, and what is told when it
//! stops early. A point of it is run by [`super::runner`], or is a block of time of [`super::live`].

pub mod audience;
mod check;
mod error;
mod guests;
mod live;
mod preview;
mod runs;
mod size;

pub use error::SessionError;
pub use preview::{Preview, PreviewedCell, PreviewedSetting};

use super::engine::{self, TrialError};
use crate::facts::kernel::host_facts;
use crate::process::Interrupt;
use crate::restore::noted;
use crate::root::Root;
use crate::scope;
use crate::source::boot_id;
use crate::store::bundle::{Bundle, Frozen};
use crate::tunable::journal::Journal;
use crate::tunable::lock::{HostLock, LockError};
use crate::tunable::{self, Places};
use crate::workload;
use audience::{Audience, Note};
use pagewise_core::experiment::next::{Next, cut_pairs, next};
use pagewise_core::experiment::order;
use pagewise_core::experiment::plan::cells::cells;
use pagewise_core::experiment::plan::{Design, Plan, StoppingRule};
use pagewise_core::experiment::point::Outcome;
use pagewise_core::report::facts::HostFacts;
use pagewise_core::unit::{Bytes, Fraction, Seconds};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// More pairs than this add nothing that anybody would wait for.
pub const MOST_PAIRS: u32 = 200;

/// How long to wait for another run that has the host.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Wait {
    /// Not at all.
    No,
    /// At most so long.
    For(Seconds),
    /// Until it ends.
    Forever,
}

/// What the caller calls things.
#[derive(Clone, Copy, Debug)]
pub struct Words {
    /// Under which name a trial holds the host.
    pub holder: &'static str,
    /// The same for a live proof.
    pub live_holder: &'static str,
    /// How the folder is named whose contents come back before every run.
    pub data: &'static str,
}

/// What every trial of a process shares.
pub struct Session<'a> {
    /// The host.
    pub root: Root,
    /// Where what is our own is kept.
    pub places: Places,
    /// The places the user named; each workload reads its own.
    pub named: workload::Places,
    /// The folder whose contents come back before every run of a command.
    pub data: Option<PathBuf>,
    /// How long to wait for another run that has the host.
    pub wait: Wait,
    /// Ctrl-C.
    pub interrupt: Interrupt,
    /// What the caller calls things.
    pub words: Words,
    /// Who is told how it goes.
    pub audience: &'a dyn Audience,
}

/// What a new trial is started with beside its plan.
pub struct Start<'s> {
    /// What was said about it before the first run.
    pub notes: Vec<String>,
    /// What decides on the number of pairs in place of the plan.
    pub budget: Option<Budget>,
    /// Writes the command line that repeats a plan.
    pub repeat: &'s dyn Fn(&Plan) -> String,
}

/// As many pairs as fit into a time, judged by the warm-up runs.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    /// The time.
    pub time: Seconds,
    /// At most so many, however many fit. `None`: nobody asked for that.
    pub most_pairs: Option<u32>,
}

/// What a user may ask of the host's rest when a trial goes on, in place of what its plan says. It decides how long a run waits, and not which
/// run counts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RestLimits {
    /// The share of a second that tasks may have waited for memory, or for I/O.
    pub pressure: Option<Fraction>,
    /// The share by which memory that nobody holds may differ.
    pub memory_drift: Option<Fraction>,
}

impl RestLimits {
    /// Puts them into a design. Gives what they change, in words.
    fn put_into(self, design: &mut Design) -> Vec<String> {
        let limits = [
            ("--pressure-limit", self.pressure, &mut design.pressure_limit),
            ("--memory-drift-limit", self.memory_drift, &mut design.memory_drift_limit),
        ];
        let changed = limits.into_iter().filter_map(|(option, asked, planned)| {
            let asked = asked.filter(|asked| asked.0 != *planned)?;
            let planned = Fraction(std::mem::replace(planned, asked.0));
            Some(format!("runs begin under {option} {asked} and not {planned}, as was planned"))
        });
        changed.collect()
    }
}

/// What is known once everything is ready for the first point.
#[derive(Default)]
struct Ready {
    /// What the workload says of itself, and how the trial was sized.
    notes: Vec<String>,
    /// The hash over the manifest of the data that come back before every point.
    data: Option<String>,
}

/// The right to change this host, for a whole trial.
pub struct HeldHost {
    journal: Journal,
    lock: HostLock,
}

/// Where the bundle of a plan is made.
#[must_use]
pub fn bundle_path(plan: &Plan) -> PathBuf {
    PathBuf::from(format!("{}.trial", plan.name))
}

/// A seed that nobody chose; it is recorded with the order.
#[must_use]
pub fn seed_from_clock() -> u64 {
    jiff::Timestamp::now().as_nanosecond() as u64 % 1_000_000_007
}

impl Session<'_> {
    /// Takes the host for a new trial, before anything of it is read: what another run is changing now would be taken for the
    /// host's own.
    ///
    /// # Errors
    /// When there is such a bundle already, or the host cannot be had.
    pub fn hold_for(&self, plan: &Plan) -> Result<HeldHost, SessionError> {
        let path = bundle_path(plan);
        // Known before the host is waited for.
        Bundle::check_absent(&path)?;
        let held = self.hold(plan)?;
        Bundle::check_room(&path)?;
        Ok(held)
    }

    /// Takes the host and undoes what an earlier run left.
    pub(in crate::trial) fn hold(&self, plan: &Plan) -> Result<HeldHost, SessionError> {
        let mut changes_host = plan.live.is_some();
        let here = if self.runs_in_guests(plan) { Vec::new() } else { cells(plan)? };
        for cell in here {
            changes_host |= !tunable::resolve(&self.root, &self.places, &cell.policy)?.host.is_empty();
        }
        if self.wait != Wait::No {
            // What cannot run is not waited for.
            self.check(plan, true)?;
        }
        let journal = Journal::open(&self.places.state, &self.root)?;
        let holder = if plan.live.is_some() { self.words.live_holder } else { self.words.holder };
        // For the whole trial, not a point: between two points another run would leave its settings to the next one.
        let lock = self.patiently(|| if changes_host { journal.lock(holder) } else { journal.lock_journal(holder) })?;
        for report in journal.recover(&lock)? {
            self.audience.note(Note::Undone { id: &report.id.to_string(), policy: &report.policy });
        }
        scope::remove_leftovers(&self.root);
        runs::remove_old_scratch(&self.places.cache);
        for (_, left) in noted::recover(&self.root, &self.places.state) {
            left.kept.iter().for_each(|told| self.audience.note(Note::Kept(told)));
        }
        Ok(HeldHost { journal, lock })
    }

    /// Asks for the lock until it is free, as long as `wait` says.
    fn patiently(&self, ask: impl Fn() -> Result<HostLock, LockError>) -> Result<HostLock, SessionError> {
        const EVERY: Duration = Duration::from_millis(500);
        let since = Instant::now();
        let mut told = false;
        loop {
            let error = match ask() {
                Ok(lock) => return Ok(lock),
                Err(error) => error,
            };
            let Some(who) = error.held_by() else { return Err(error.into()) };
            match self.wait {
                Wait::No => return Err(SessionError::Held(error)),
                Wait::For(time) if since.elapsed().as_secs_f64() >= time.0 => return Err(SessionError::HeldOn(error)),
                Wait::For(_) | Wait::Forever => {}
            }
            if !std::mem::replace(&mut told, true) {
                self.audience.note(Note::WaitingFor(&who));
            }
            self.interrupt.wait(EVERY);
            self.interrupt.check()?;
        }
    }

    /// Runs a new trial to its end, or until something stops it.
    ///
    /// # Errors
    /// What stopped it. What is complete is in its bundle.
    pub fn start(&self, held: HeldHost, mut plan: Plan, start: Start<'_>) -> Result<Bundle, SessionError> {
        let path = bundle_path(&plan);
        let declared = plan.clone();
        let Start { mut notes, budget, repeat } = start;
        if let Some(live) = &declared.live {
            return self
                .run_live(held, &declared, live, || self.freeze(&path, &declared, notes, Ready::default(), repeat));
        }
        if let Some(lab) = declared.guests() {
            if budget.is_some() {
                return Err(SessionError::NoBudgetInGuests);
            }
            return self
                .run_in_guests(held, &declared, &lab, |ready| self.freeze(&path, &declared, notes, ready, repeat));
        }
        self.run(held, &declared, |host| {
            if let Some(budget) = budget {
                notes.push(size::by_budget(host, &mut plan, budget, self.audience)?);
            }
            let ready = Ready {
                notes: host.workload.notes(),
                data: host.dataset.as_ref().map(|dataset| dataset.manifest().hash()),
            };
            self.freeze(&path, &plan, notes, ready, repeat)
        })
    }

    /// Makes the bundle, before the first point.
    fn freeze(
        &self,
        path: &Path,
        plan: &Plan,
        mut notes: Vec<String>,
        ready: Ready,
        repeat: &dyn Fn(&Plan) -> String,
    ) -> Result<Bundle, SessionError> {
        notes.extend(ready.notes);
        let frozen = Frozen {
            pagewise: env!("CARGO_PKG_VERSION").to_owned(),
            created: jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            order: order::draw(plan)?,
            repeat: vec![repeat(plan)],
            notes,
            bundle: None,
            data_folder: self.data.as_deref().filter(|_| ready.data.is_some()).and_then(|data| {
                // One whose name is no text is named again.
                std::path::absolute(data).ok()?.to_str().map(str::to_owned)
            }),
            data: ready.data,
        };
        let bundle = Bundle::create(path, plan, frozen)?;
        // A boot without a name is the one there is.
        let boot = boot_id(&self.root).unwrap_or_default();
        bundle.keep_host(&boot, &host_facts(&self.root, Some(&self.places.cache)))?;
        Ok(bundle)
    }

    /// Runs what is left of an interrupted trial.
    ///
    /// # Errors
    /// When it cannot go on here, and what stopped it.
    pub fn resume(mut self, path: &Path, limits: RestLimits) -> Result<Bundle, SessionError> {
        let bundle = Bundle::open_to_resume(path)?;
        // Also of a trial that is complete: it may have been killed right after its last point.
        runs::remove_old_scratch(&self.places.cache);
        if is_complete(&bundle)? {
            self.audience.note(Note::Complete(path));
            return Ok(bundle);
        }
        self.is_the_same_host(&bundle)?;
        if let Some(ended) = bundle.ended()? {
            // A live proof that ended early is over.
            self.audience.note(Note::Over(&ended));
            return Ok(bundle);
        }
        // Named when it began; what lies there is held against the manifest below.
        self.data = self.data.take().or_else(|| bundle.frozen().data_folder.as_ref().map(PathBuf::from));
        let mut plan = bundle.plan().clone();
        if plan.live.is_some() && limits != RestLimits::default() {
            return Err(SessionError::NoRestOfLive);
        }
        let held = self.hold(&plan)?;
        engine::close_pause(&bundle)?;
        let mut notes = self.check(&plan, true)?;
        // What was known when it began stands in the bundle.
        notes.retain(|note| !bundle.frozen().notes.contains(note));
        notes.extend(limits.put_into(&mut plan.design));
        if let Some(live) = &plan.live {
            return self.run_live(held, &plan, live, || Ok(bundle));
        }
        notes.iter().for_each(|note| self.audience.note(Note::Odd(note)));
        if let Some(lab) = plan.guests() {
            return self.run_in_guests(held, &plan, &lab, |_| Ok(bundle));
        }
        self.run(held, &plan, |host| {
            host.since_resumed.clone_from(&notes);
            let here = host.dataset.as_ref().map(|dataset| dataset.manifest().hash());
            match (&bundle.frozen().data, here) {
                (Some(then), Some(now)) if *then != now => {
                    Err(SessionError::OtherData { bundle: path.to_owned(), then: then.clone(), now })
                }
                _ => Ok(bundle),
            }
        })
    }

    /// A comparison must not mix hosts. The kernel of a plan that compares kernels is a level: the engine refuses a point under
    /// the wrong one.
    fn is_the_same_host(&self, bundle: &Bundle) -> Result<(), SessionError> {
        let here = host_facts(&self.root, Some(&self.places.cache));
        let compares_kernels = bundle.frozen().order.points.iter().any(|planned| planned.boot.is_some());
        // What ran in guests ran on the host that made the bundle.
        let runs_in_guests = bundle.plan().guests().is_some();
        let last = if runs_in_guests { bundle.made_on()? } else { bundle.hosts()?.pop() };
        let Some(mut there) = last else { return Ok(()) };
        if compares_kernels {
            there.kernel.clone_from(&here.kernel);
            // Each keeps another part of the memory for itself: on one machine MemTotal differs by what their images and tables take.
            let alike = |there: u64, here: u64| there.abs_diff(here) <= there / 32;
            if there.memory_bytes.zip(here.memory_bytes).is_some_and(|(there, here)| alike(there, here)) {
                there.memory_bytes = here.memory_bytes;
            }
        }
        if (&here.kernel, &here.cpu_model, here.memory_bytes) == (&there.kernel, &there.cpu_model, there.memory_bytes) {
            return Ok(());
        }
        let (there, here) = what_differs(&there, &here);
        Err(SessionError::OtherHost { bundle: bundle.path().to_owned(), there, here })
    }

    /// What the engine's end means for the bundle, and what is told of it.
    fn end(&self, bundle: Bundle, outcome: Result<(), TrialError>) -> Result<Bundle, SessionError> {
        let error = match outcome {
            Ok(()) => return Ok(bundle),
            Err(TrialError::EndedEarly(ended)) => {
                bundle.keep_ended(&ended)?;
                self.audience.note(Note::EndedEarly(&ended));
                return Ok(bundle);
            }
            Err(error) => error,
        };
        // What spoilt its runs may end, whatever is complete.
        let may_do_better = matches!(error, TrialError::GivenUp { .. });
        let has_remedy = matches!(error, TrialError::NeedsBoot { .. } | TrialError::NoMetric { .. });
        let has_result = || bundle.points().is_ok_and(|points| points.iter().any(|point| point.outcome == Outcome::Ok));
        if !bundle.path().join("points.sqlite").exists() {
            self.audience.note(Note::Moved(bundle.path()));
        } else if may_do_better || (has_result() && !has_remedy) {
            // A warm-up that failed would fail again: there is nothing to go on with. An error that names its own remedy needs
            // no second one.
            let cut = bundle.points().map(|points| !cut_pairs(&bundle.frozen().order, &points).is_empty());
            self.audience.note(Note::CanGoOn { bundle: bundle.path(), has_cut_pair: cut.unwrap_or(false) });
        }
        Err(error.into())
    }
}

/// What two hosts differ in of what a comparison must not mix, of each.
fn what_differs(there: &HostFacts, here: &HostFacts) -> (String, String) {
    let of = |facts: &HostFacts| {
        [
            facts.kernel.clone().map(|kernel| format!("Linux {kernel}")),
            facts.cpu_model.clone(),
            facts.memory_bytes.map(|bytes| format!("{} of memory", Bytes(bytes))),
        ]
    };
    let pairs = of(there).into_iter().zip(of(here)).filter(|(there, here)| there != here);
    let known = |one: Option<String>| one.unwrap_or_else(|| "unknown".to_owned());
    let (there, here): (Vec<String>, Vec<String>) = pairs.map(|(there, here)| (known(there), known(here))).unzip();
    (there.join(", "), here.join(", "))
}

/// Whether nothing is left to run: every point has its result, or an analysis has ended the trial.
fn is_complete(bundle: &Bundle) -> Result<bool, SessionError> {
    if bundle.plan().stopping.rule != StoppingRule::Fixed {
        return Ok(bundle.interim_analyses()?.iter().any(|analysis| analysis.stop));
    }
    Ok(next(&bundle.frozen().order, &bundle.points()?) == Next::Done)
}

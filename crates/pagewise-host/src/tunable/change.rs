//! Changing the host: apply a policy under the journal, see whether it still holds, and undo it.

use super::held::HoldLimit;
use super::journal::JournalFile;
use super::watcher::WatcherError;
use super::{HostSetting, Places, Resolved, TunableError, kind, resolve};
use crate::root::Root;
use crate::test_pause;
use pagewise_core::change::Machine;
use pagewise_core::change::apply::{self, ApplyError};
use pagewise_core::change::line::{Begin, CloseReason, Line, Outcome, Owner, SCHEMA, Value, Write};
use pagewise_core::change::note::Note;
use pagewise_core::change::often;
use pagewise_core::change::replay::{ChangeSet, Stage, UndoDue, UndoReason};
use pagewise_core::change::undo::{self, UndoneSetting};
use pagewise_core::experiment::point::AppliedSetting;
use pagewise_core::tunable::{Switching, Tunable};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

pub use super::journal::{Journal, JournalError};
pub use super::lock::{HostLock, LockError};
pub use pagewise_core::change::Phase;
pub use pagewise_core::change::line::Lease;

/// A policy in force on the host. With lease *owner*, dropping it undoes it; the other leases outlive the process.
#[derive(Debug)]
pub struct Change {
    /// `None` for a policy without host settings, which changes nothing and has no journal.
    in_force: Option<InForce>,
    applied: Vec<AppliedSetting>,
}

#[derive(Debug)]
struct InForce {
    root: Root,
    set: ChangeSet,
    file: JournalFile,
}

/// A tunable that is no longer what the change left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drift {
    /// The tunable.
    pub tunable: Tunable,
    /// What the change left.
    pub expected: String,
    /// What is there now, or why it cannot be read.
    pub found: String,
}

impl fmt::Display for Drift {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is '{}', not '{}'", self.tunable, self.found, self.expected)
    }
}

/// What an undo did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UndoReport {
    /// The change set.
    pub id: u64,
    /// Its policy as written.
    pub policy: String,
    /// Why it was undone, when nobody asked for it.
    pub why: Option<UndoReason>,
    /// Per setting, last written first. Empty for a change set of another boot.
    pub settings: Vec<UndoneSetting>,
    /// How it was closed; `None` while something of it is still to be undone.
    pub closed: Option<CloseReason>,
    /// What the journal complained about. The values were restored all the same.
    pub trouble: Option<String>,
}

impl UndoReport {
    /// The settings that could not be restored, with the reason.
    pub fn failures(&self) -> impl Iterator<Item = (&str, &str)> {
        self.settings.iter().filter_map(|setting| match &setting.outcome {
            Outcome::Failed { why } => Some((setting.tunable.name.as_str(), why.as_str())),
            _ => None,
        })
    }

    /// Tunables that someone else changed since, with the value that was left.
    pub fn foreign(&self) -> impl Iterator<Item = (&str, &str)> {
        let own = self.settings.iter().map(|s| (&s.tunable, &s.outcome));
        let coupled = self.settings.iter().flat_map(|s| s.coupled.iter().map(|c| (&c.tunable, &c.outcome)));
        own.chain(coupled).filter_map(|(tunable, outcome)| match outcome {
            Outcome::Foreign { found } => Some((tunable.name.as_str(), found.as_str())),
            _ => None,
        })
    }
}

/// Why a host was not changed, or not put back.
#[derive(Debug, thiserror::Error)]
pub enum ChangeError {
    /// The tunable: not here, not permitted, refused by the kernel.
    #[error(transparent)]
    Tunable(#[from] TunableError),
    /// The journal.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The host lock.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The process that restores the host when this one dies.
    #[error(transparent)]
    Watcher(#[from] WatcherError),
    /// The kernel holds another value than was written.
    #[error("{0}")]
    NotVerified(String),
    /// What was to be written often is someone else's now.
    #[error("{0}: someone else changed it, so it is left as it is and not written any more")]
    Foreign(Drift),
    /// It cannot be written often.
    #[error("{tunable} cannot be written often: it {why}")]
    NotOften {
        /// The tunable.
        tunable: Tunable,
        /// Why, after "it".
        why: &'static str,
    },
    /// A file that a value created cannot be removed.
    #[error("cannot remove {}: {source}", path.display())]
    Artefact {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Something went wrong half-way and not all of it could be put back.
    #[error(
        "{cause}; and what was written before could not all be put back: {left}. `pagewise revert {id}` tries again"
    )]
    HalfWay {
        /// The change set.
        id: u64,
        /// What went wrong first.
        cause: Box<ChangeError>,
        /// What is left.
        left: String,
    },
    /// An undo did not come to its end.
    #[error(
        "change {id} could not be undone in full: {left}; the next verb that writes, or `pagewise revert {id}`, tries again"
    )]
    NotUndone {
        /// The change set.
        id: u64,
        /// What is left.
        left: String,
    },
    /// A change that waits for its confirmation is in the way.
    #[error(
        "change {id} ('{policy}') waits for confirmation until {at} and would be undone meanwhile; first keep it \
         (`pagewise set --confirm {id}`) or undo it (`pagewise revert {id}`)"
    )]
    AwaitsConfirmation {
        /// The change set.
        id: u64,
        /// Its policy.
        policy: String,
        /// Its deadline.
        at: String,
    },
    /// A change set that is due to be undone touches the same tunable.
    #[error("{tunable} still has to be put back for change {id}; `pagewise revert {id}` says what stands in the way")]
    NotRecovered {
        /// The change set.
        id: u64,
        /// The tunable.
        tunable: Tunable,
    },
    /// A later change set stands on this one.
    #[error(
        "change {id} cannot be undone before change {later}, which was made on top of it; `pagewise revert {later}` \
         first, or `pagewise revert --all`"
    )]
    LiesUnder {
        /// The one that was to be undone.
        id: u64,
        /// The one on top.
        later: u64,
    },
    /// It is closed already.
    #[error("change {id} is closed already; there is nothing to {action}")]
    Closed {
        /// The change set.
        id: u64,
        /// `undo`, `confirm` or `forget`.
        action: &'static str,
    },
    /// It never waited for a confirmation.
    #[error("change {id} does not wait for confirmation; it stays until `pagewise revert {id}`")]
    NoDeadline {
        /// The change set.
        id: u64,
    },
}

impl Journal {
    /// Applies a policy's host settings. If anything goes wrong half-way, what was written is undone before the error is
    /// returned. A policy without host settings changes nothing and writes no journal.
    ///
    /// # Errors
    /// See [`ChangeError`]; except for [`ChangeError::HalfWay`] the host is as it was.
    pub fn apply(
        &self,
        lock: &HostLock,
        resolved: &Resolved,
        policy: &str,
        lease: Lease,
        on_phase: &mut dyn FnMut(Phase),
    ) -> Result<Change, ChangeError> {
        if resolved.host.is_empty() {
            return Ok(Change { in_force: None, applied: Vec::new() });
        }
        lock.cover(self.root())?;
        let writes = self.read_before(&resolved.host)?;
        self.apply_writes(lock, writes, policy, lease, on_phase)
    }

    /// Opens a change set for tunables that are then written again and again, by [`Change::write_again`]. What they are now, and what
    /// the kernel may move along with them, is on disk when it returns; nothing is written yet. `policy` says what they are for.
    ///
    /// # Errors
    /// As [`Journal::apply`]; and when one of them is nothing to switch under what runs, or cannot be written here.
    pub fn open_for_often(
        &self,
        lock: &HostLock,
        tunables: &[Tunable],
        policy: &str,
        lease: Lease,
        on_phase: &mut dyn FnMut(Phase),
    ) -> Result<Change, ChangeError> {
        lock.cover(self.root())?;
        let settings: Vec<HostSetting> = tunables.iter().map(|one| self.as_it_is(one)).collect::<Result<_, _>>()?;
        let mut writes = self.read_before(&settings)?;
        for write in &mut writes {
            write.often = true;
            write.target.clone_from(&write.before);
        }
        self.apply_writes(lock, writes, policy, lease, on_phase)
    }

    /// A tunable set to the value it has, which must be one that could be written.
    fn as_it_is(&self, tunable: &Tunable) -> Result<HostSetting, ChangeError> {
        if let Switching::Never(why) = tunable.descriptor.switching {
            return Err(ChangeError::NotOften { tunable: tunable.clone(), why });
        }
        let now = super::read(self.root(), tunable)?;
        // Only a value that makes files asks for places, and none of those is switched under what runs.
        let places = Places { state: self.state().to_owned(), cache: self.state().to_owned() };
        let now = kind::of(tunable).resolve(self.root(), &places, tunable, &now)?;
        Ok(HostSetting::new(self.root(), tunable, now))
    }

    fn apply_writes(
        &self,
        lock: &HostLock,
        writes: Vec<Write>,
        policy: &str,
        lease: Lease,
        on_phase: &mut dyn FnMut(Phase),
    ) -> Result<Change, ChangeError> {
        let writes = apply::in_writing_order(writes);
        self.refuse_conflicts(&writes, &lease)?;
        let (mut file, mut set) = self.create(lock, |stamp| Begin {
            schema: SCHEMA.to_owned(),
            id: stamp.id,
            created: stamp.created,
            boot_id: stamp.boot_id,
            kernel: stamp.kernel,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            owner: stamp.owner,
            lease,
            policy: policy.to_owned(),
            writes,
        })?;
        let until = HoldLimit::of(&set.begin.lease, set.begin.owner);
        let mut host = Host { root: self.root(), file: &mut file, on_phase, to_disk: true, until };
        match apply::apply(&mut set, &mut host) {
            Ok(()) => Ok(Change { applied: applied_settings(&set), in_force: Some(self.in_force(set, file)) }),
            Err(error) => {
                (host.to_disk, host.until) = (false, HoldLimit::Undone);
                let undone = undo::undo(&mut set, &mut host);
                Err(half_way(error, report(&set, None, undone)))
            }
        }
    }

    fn in_force(&self, set: ChangeSet, file: JournalFile) -> InForce {
        InForce { root: self.root().clone(), set, file }
    }

    /// Undoes what is due: change sets whose process died half-way, whose owner is gone, that nobody confirmed in time;
    /// and closes those of another boot. Every verb that writes calls it first.
    ///
    /// A run with another state folder that had the host last, and was killed, is put back before: settings that stand on
    /// top of its leftovers would be compared, or restored, as if they were the host's own.
    ///
    /// # Errors
    /// When the journal itself cannot be read or written. What could not be restored is in the reports.
    pub fn recover(&self, lock: &HostLock) -> Result<Vec<UndoReport>, ChangeError> {
        if let Some(state) = lock.before() {
            self.recover_other(lock, state)?;
        }
        self.recover_own(lock)
    }

    fn recover_other(&self, lock: &HostLock, state: &Path) -> Result<(), ChangeError> {
        let other = Journal::open(state, self.root())?;
        if !other.open_sets()?.iter().any(|set| other.is_pending(set)) {
            return Ok(());
        }
        // Its watcher may be at it, and waits for the host that we have: whoever is first does it.
        let _journal = other.lock_journal("recover")?;
        for report in other.recover_own(lock)? {
            let (id, policy) = (report.id, &report.policy);
            tracing::warn!("first undone what a killed run left: change {id} ('{policy}') of {}", state.display());
        }
        Ok(())
    }

    fn recover_own(&self, lock: &HostLock) -> Result<Vec<UndoReport>, ChangeError> {
        let mut reports = Vec::new();
        for set in self.open_sets()?.into_iter().rev() {
            match self.due(&set) {
                UndoDue::Nothing => {}
                UndoDue::CloseOtherBoot => reports.push(self.close_other_boot(lock, set.begin.id)?),
                UndoDue::Undo(why) => reports.push(self.undo_now(lock, set.begin.id, Some(why), &mut |_| {})?),
            }
        }
        self.prune(lock)?;
        Ok(reports)
    }

    /// Undoes a change set because someone asks for it.
    ///
    /// # Errors
    /// When it is unknown, closed, or lies under a later one that is still in force; or the journal cannot be read. What
    /// could not be restored is in the report.
    pub fn undo(&self, lock: &HostLock, id: u64, on_phase: &mut dyn FnMut(Phase)) -> Result<UndoReport, ChangeError> {
        let set = self.open_set(id, "undo")?;
        if let Some(later) = self.open_sets()?.iter().rev().find(|later| set.lies_under(later)) {
            return Err(ChangeError::LiesUnder { id, later: later.begin.id });
        }
        if self.due(&set) == UndoDue::CloseOtherBoot {
            return self.close_other_boot(lock, id);
        }
        self.undo_now(lock, id, None, on_phase)
    }

    /// Undoes everything that a process which is gone still held, last first: what its watcher does.
    ///
    /// # Errors
    /// When the journal cannot be read.
    pub fn undo_owned(&self, lock: &HostLock, owner: Owner) -> Result<Vec<UndoReport>, ChangeError> {
        let mut reports = Vec::new();
        for set in self.owned_sets(owner)?.into_iter().rev() {
            reports.push(self.undo_now(lock, set.begin.id, Some(UndoReason::OwnerDied), &mut |_| {})?);
        }
        Ok(reports)
    }

    /// The open change sets whose lease ends with this process, or that it left half-way.
    ///
    /// # Errors
    /// When the journal cannot be read.
    pub fn owned_sets(&self, owner: Owner) -> Result<Vec<ChangeSet>, JournalError> {
        let mut sets = self.open_sets()?;
        let is_held = |set: &ChangeSet| set.begin.lease == Lease::Owner || !set.applied || set.is_undoing();
        sets.retain(|set| set.begin.owner == owner && is_held(set));
        Ok(sets)
    }

    /// Keeps a change that waits for its confirmation.
    ///
    /// # Errors
    /// When it is unknown, closed, due to be undone already, or waits for none.
    pub fn confirm(&self, lock: &HostLock, id: u64) -> Result<(), ChangeError> {
        let set = self.open_set(id, "confirm")?;
        if self.due(&set) != UndoDue::Nothing {
            return Err(ChangeError::Closed { id, action: "confirm" });
        }
        if !set.awaits_confirmation() {
            return Err(ChangeError::NoDeadline { id });
        }
        let (mut file, _) = self.reopen(lock, id)?;
        Ok(file.append(&Line::Confirmed, true)?)
    }

    /// Gives up the way back of a change set and leaves the values as they are.
    ///
    /// # Errors
    /// When it is unknown or closed, or the journal cannot be written.
    pub fn forget(&self, lock: &HostLock, id: u64) -> Result<(), ChangeError> {
        self.open_set(id, "forget")?;
        let (mut file, _) = self.reopen(lock, id)?;
        Ok(file.append(&Line::Closed { how: CloseReason::Forgotten }, true)?)
    }

    /// An open change set by its number.
    ///
    /// # Errors
    /// When there is none, it is closed, or its file is damaged.
    pub fn open_set(&self, id: u64, action: &'static str) -> Result<ChangeSet, ChangeError> {
        let entry = self.list()?.into_iter().find(|entry| entry.id == id);
        let unknown = || JournalError::Unknown { id, state: self.state().to_owned() };
        let set = entry.ok_or_else(unknown)?.set?.ok_or_else(unknown)?;
        if set.closed.is_some() { Err(ChangeError::Closed { id, action }) } else { Ok(set) }
    }

    fn undo_now(
        &self,
        lock: &HostLock,
        id: u64,
        why: Option<UndoReason>,
        on_phase: &mut dyn FnMut(Phase),
    ) -> Result<UndoReport, ChangeError> {
        lock.cover(self.root())?;
        let (mut file, set) = self.reopen(lock, id)?;
        let mut set = set.ok_or_else(|| JournalError::Unknown { id, state: self.state().to_owned() })?;
        let mut host = Host { root: self.root(), file: &mut file, on_phase, to_disk: false, until: HoldLimit::Undone };
        let undone = undo::undo(&mut set, &mut host);
        // A process killed between setting a zram device up and using it leaves one that no value shows. So does one
        // killed while it had memory aged.
        set.touched().for_each(|tunable| super::sweep(self.root(), tunable));
        Ok(report(&set, why, undone))
    }

    /// Values of another boot are never replayed. What outlives a boot is removed.
    fn close_other_boot(&self, lock: &HostLock, id: u64) -> Result<UndoReport, ChangeError> {
        lock.cover(self.root())?;
        let (mut file, set) = self.reopen(lock, id)?;
        let mut set = set.ok_or_else(|| JournalError::Unknown { id, state: self.state().to_owned() })?;
        let on_phase = &mut |_| {};
        let mut host = Host { root: self.root(), file: &mut file, on_phase, to_disk: true, until: HoldLimit::Undone };
        for artefact in set.begin.writes.iter().flat_map(|write| &write.artefacts) {
            host.remove(artefact)?;
        }
        let closed = Line::Closed { how: CloseReason::OtherBoot };
        host.record(&closed)?;
        let _ = set.push(&closed);
        let (policy, closed) = (set.begin.policy.clone(), set.closed);
        Ok(UndoReport { id, policy, why: None, settings: Vec::new(), closed, trouble: None })
    }

    /// Every value that the policy replaces, and those the kernel may move along.
    fn read_before(&self, settings: &[HostSetting]) -> Result<Vec<Write>, ChangeError> {
        let read = |tunable: &Tunable| super::read(self.root(), tunable);
        let mut writes = Vec::new();
        for setting in settings {
            let coupled = setting
                .coupled
                .iter()
                .map(|tunable| Ok::<Value, TunableError>(Value { tunable: tunable.clone(), value: read(tunable)? }));
            writes.push(Write {
                tunable: setting.tunable.clone(),
                before: read(&setting.tunable)?,
                target: setting.value.clone(),
                coupled: coupled.collect::<Result<_, _>>()?,
                artefacts: artefacts(&setting.tunable, &setting.value),
                often: false,
            });
        }
        Ok(writes)
    }

    fn refuse_conflicts(&self, writes: &[Write], lease: &Lease) -> Result<(), ChangeError> {
        for set in self.open_sets()? {
            let id = set.begin.id;
            let shared = set.touched().find(|t| writes.iter().any(|w| w.tunable == **t)).cloned();
            if let Some(tunable) = &shared
                && self.due(&set) != UndoDue::Nothing
            {
                return Err(ChangeError::NotRecovered { id, tunable: tunable.clone() });
            }
            // A run that compares policies must not have the host change under it when the time is up.
            let in_the_way = shared.is_some() || *lease == Lease::Owner;
            if let Lease::Deadline { at, .. } = &set.begin.lease
                && set.awaits_confirmation()
                && in_the_way
            {
                return Err(ChangeError::AwaitsConfirmation { id, policy: set.begin.policy.clone(), at: at.clone() });
            }
        }
        Ok(())
    }
}

impl Change {
    /// The change set's number; `None` for a policy that changes nothing on the host.
    #[must_use]
    pub fn id(&self) -> Option<u64> {
        self.in_force.as_ref().map(|change| change.set.begin.id)
    }

    /// What was set, and what the kernel moved along with it (those have no requested value).
    #[must_use]
    pub fn applied(&self) -> &[AppliedSetting] {
        &self.applied
    }

    /// Writes one of the tunables that the change set was opened for often. Costs no line of the journal and no flush: what it was
    /// before is on disk, and a note that a kill cannot lose says what is ours. A value that stands already is not written again.
    ///
    /// # Errors
    /// When the value is none, is above a limit, or is not taken: the change set goes on and what was there before counts on. When
    /// someone else changed the tunable or what moves along with it ([`ChangeError::Foreign`]): then it is theirs from now on.
    pub fn write_again(&mut self, _lock: &HostLock, tunable: &Tunable, value: &str) -> Result<(), ChangeError> {
        let not_opened = "was not opened for it";
        let not_often = || ChangeError::NotOften { tunable: tunable.clone(), why: not_opened };
        let InForce { root, set, file } = self.in_force.as_mut().ok_or_else(not_often)?;
        let is_it = |write: &Write| write.often && write.tunable == *tunable;
        let write = set.begin.writes.iter().position(is_it).ok_or_else(not_often)?;
        let canonical = tunable.canonical(value).map_err(|error| TunableError::value(&tunable.name, value, error))?;
        resolve::is_fit(root, tunable, &canonical)?;
        let until = HoldLimit::of(&set.begin.lease, set.begin.owner);
        let mut host = Host { root, file, on_phase: &mut |_| {}, to_disk: false, until };
        often::write_again(set, write, &canonical, &mut host).map_err(|error| match error {
            ApplyError::Step(error) => error,
            ApplyError::Foreign { tunable, left, found } => {
                ChangeError::Foreign(Drift { tunable, expected: left, found })
            }
            other => ChangeError::NotVerified(other.to_string()),
        })
    }

    /// Tunables that are no longer what the change left: someone else changed them.
    #[must_use]
    pub fn drift(&self) -> Vec<Drift> {
        self.deviations(|root, tunable, expected| match super::read(root, tunable) {
            Ok(found) if tunable.same(&found, expected) => None,
            Ok(found) => Some(found),
            Err(error) => Some(error.to_string()),
        })
    }

    /// Tunables that read as the change left them while the host is no longer as they promise, as aged memory whose pieces were moved.
    #[must_use]
    pub fn broken_promises(&self) -> Vec<Drift> {
        self.deviations(super::broken_promise)
    }

    fn deviations(&self, found: impl Fn(&Root, &Tunable, &str) -> Option<String>) -> Vec<Drift> {
        let Some(InForce { root, set, .. }) = &self.in_force else { return Vec::new() };
        let of = |(tunable, expected): (&Tunable, &str)| {
            let found = found(root, tunable, expected)?;
            Some(Drift { tunable: tunable.clone(), expected: expected.to_owned(), found })
        };
        left_values(set).into_iter().filter_map(of).collect()
    }

    /// Puts everything back.
    ///
    /// # Errors
    /// When something could not be restored. What someone else changed is no error but in the report.
    pub fn undo(self, lock: &HostLock) -> Result<UndoReport, ChangeError> {
        self.undo_watched(lock, &mut |_| {})
    }

    /// [`Change::undo`], telling how far it is.
    ///
    /// # Errors
    /// As there.
    pub fn undo_watched(
        mut self,
        _lock: &HostLock,
        on_phase: &mut dyn FnMut(Phase),
    ) -> Result<UndoReport, ChangeError> {
        let Some(in_force) = self.in_force.take() else {
            let nothing = (String::new(), Vec::new());
            return Ok(UndoReport {
                id: 0,
                policy: nothing.0,
                why: None,
                settings: nothing.1,
                closed: Some(CloseReason::Undone),
                trouble: None,
            });
        };
        let report = in_force.undo(on_phase);
        if report.closed.is_some() {
            return Ok(report);
        }
        Err(ChangeError::NotUndone { id: report.id, left: what_is_left(&report) })
    }
}

impl InForce {
    fn undo(mut self, on_phase: &mut dyn FnMut(Phase)) -> UndoReport {
        let until = HoldLimit::Undone;
        let mut host = Host { root: &self.root, file: &mut self.file, on_phase, to_disk: false, until };
        let undone = undo::undo(&mut self.set, &mut host);
        report(&self.set, None, undone)
    }
}

impl Drop for Change {
    /// An error return between apply and undo must not leave a run's settings behind.
    fn drop(&mut self) {
        let Some(in_force) = self.in_force.take() else { return };
        if in_force.set.begin.lease != Lease::Owner {
            return;
        }
        let report = in_force.undo(&mut |_| {});
        if report.closed.is_none() {
            tracing::warn!("change {} could not be undone in full: {}", report.id, what_is_left(&report));
        }
    }
}

/// Every tunable with the value the change left; a later write of the set wins over an earlier coupled reading.
fn left_values(set: &ChangeSet) -> Vec<(&Tunable, &str)> {
    let mut left: Vec<(&Tunable, &str)> = Vec::new();
    for (write, stage) in set.begin.writes.iter().zip(&set.stages) {
        let Stage::Written { read_back, coupled } = stage else { continue };
        let own = std::iter::once((&write.tunable, read_back.as_str()));
        let readings = own.chain(coupled.iter().map(|c| (&c.tunable, c.read_back.as_str())));
        for (tunable, value) in readings {
            left.retain(|(seen, _)| *seen != tunable);
            left.push((tunable, value));
        }
    }
    left
}

fn applied_settings(set: &ChangeSet) -> Vec<AppliedSetting> {
    let left = left_values(set);
    let after = |tunable: &Tunable, read_back: &str| {
        left.iter().find(|(one, _)| *one == tunable).map_or(read_back, |(_, value)| value).to_owned()
    };
    let mut applied = Vec::new();
    for (write, stage) in set.begin.writes.iter().zip(&set.stages) {
        let Stage::Written { read_back, coupled } = stage else { continue };
        applied.push(AppliedSetting {
            tunable: write.tunable.name.clone(),
            before: write.before.clone(),
            requested: Some(write.target.clone()),
            after: after(&write.tunable, read_back),
        });
        for (reading, before) in coupled.iter().zip(&write.coupled) {
            let asked_for = set.begin.writes.iter().any(|w| w.tunable == reading.tunable);
            let listed = applied.iter().any(|setting| setting.tunable == reading.tunable.name);
            if reading.moved_to.is_some() && !asked_for && !listed {
                applied.push(AppliedSetting {
                    tunable: reading.tunable.name.clone(),
                    before: before.value.clone(),
                    requested: None,
                    after: after(&reading.tunable, &reading.read_back),
                });
            }
        }
    }
    applied
}

fn artefacts(tunable: &Tunable, value: &str) -> Vec<String> {
    super::artefacts(tunable, value).iter().map(|path| path.to_string_lossy().into_owned()).collect()
}

fn report(set: &ChangeSet, why: Option<UndoReason>, undone: undo::UndoOutcome<ChangeError>) -> UndoReport {
    UndoReport {
        id: set.begin.id,
        policy: set.begin.policy.clone(),
        why,
        settings: undone.settings,
        closed: if undone.closed { set.closed } else { None },
        trouble: undone.trouble.map(|error| error.to_string()),
    }
}

fn half_way(error: ApplyError<ChangeError>, report: UndoReport) -> ChangeError {
    let cause = match error {
        ApplyError::Step(error) => error,
        other => ChangeError::NotVerified(other.to_string()),
    };
    if report.closed.is_some() {
        return cause;
    }
    ChangeError::HalfWay { id: report.id, left: what_is_left(&report), cause: Box::new(cause) }
}

/// What an undo did not finish, in words.
#[must_use]
pub fn what_is_left(report: &UndoReport) -> String {
    let mut left: Vec<String> = report.failures().map(|(tunable, why)| format!("{tunable}: {why}")).collect();
    left.extend(report.trouble.iter().map(|trouble| format!("every value was restored, but {trouble}")));
    left.join("; ")
}

/// The host as applying and undoing see it.
struct Host<'a> {
    root: &'a Root,
    file: &'a mut JournalFile,
    on_phase: &'a mut dyn FnMut(Phase),
    /// Whether a line must survive a crash of the host before the next step. Only lines of an apply must: a crash ends
    /// the boot, another boot's values are never replayed, and an undo must not wait for a disk that a dying job keeps
    /// busy.
    to_disk: bool,
    /// How long a process may hold what is written.
    until: HoldLimit,
}

impl Machine for Host<'_> {
    type Error = ChangeError;

    fn read(&mut self, tunable: &Tunable) -> Result<String, ChangeError> {
        Ok(super::read(self.root, tunable)?)
    }

    fn write(&mut self, tunable: &Tunable, value: &str) -> Result<(), ChangeError> {
        Ok(super::write_until(self.root, tunable, value, self.until)?)
    }

    fn record(&mut self, line: &Line) -> Result<(), ChangeError> {
        Ok(self.file.append(line, self.to_disk)?)
    }

    fn note(&mut self, note: &Note) -> Result<(), ChangeError> {
        Ok(self.file.note(note)?)
    }

    fn remove(&mut self, artefact: &str) -> Result<(), ChangeError> {
        match std::fs::remove_file(artefact) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(source) => Err(ChangeError::Artefact { path: PathBuf::from(artefact), source }),
        }
    }

    fn is_gone(&self, error: &ChangeError) -> bool {
        matches!(error, ChangeError::Tunable(error) if error.is_missing())
    }

    fn reached(&mut self, phase: Phase) {
        (self.on_phase)(phase);
        test_pause::reached(phase.word());
    }
}

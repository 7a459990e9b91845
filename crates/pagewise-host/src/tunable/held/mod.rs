//! Held settings: what exists only while a process of ours holds it, such as memory that is kept broken up.
//!
//! To the rest a held setting is a tunable like any other: it has a canonical text, is read from the host, written through the
//! journal and undone by it. Its state is found in the process table alone ([`process`]), by whoever has to undo it. A value lives as
//! long as the change that set it; where that change ends with its owner, the process ends with the owner by itself, also when
//! whoever watches was killed with it. A new one is a file with its [`Holder`] and a line in [`HOLDERS`].

mod guard;
mod memory_state;
mod process;

use super::kind::Kind;
use super::{Places, TunableError};
use crate::root::Root;
use pagewise_core::change::line::{Lease, Owner};
use pagewise_core::tunable::{Tunable, find};
use process::Holding;
use std::process::ExitCode;

pub use process::VERB;

/// Whether a command line is that of a process which holds a setting, whoever asked for it.
#[must_use]
pub fn is_kept_by(command: &str) -> bool {
    command.split_whitespace().any(|word| word == VERB)
}

/// What the process of a held setting does.
trait Holder: Sync {
    /// The tunable's name.
    fn name(&self) -> &'static str;

    /// Whether a value can be had here, as far as that is known before anything is touched. Asked for the unheld value, too.
    ///
    /// # Errors
    /// When it cannot.
    fn can_be_had(&self, root: &Root, tunable: &Tunable, value: &str) -> Result<(), TunableError>;

    /// The life of the process: brings the value about, says so by [`Holding::in_force`], holds it until [`Holding::is_over_within`]
    /// says that it is over, and lets go. It may be killed at any moment, and what it holds must go with it.
    ///
    /// # Errors
    /// Why the value cannot be had, in words; nothing is held then.
    fn hold(&self, value: &str, holding: &mut Holding) -> Result<(), String>;

    /// What is to be done once nothing is held any more.
    fn released(&self, _root: &Root) {}

    /// Why the host is no longer as the value promises although it is still held.
    fn broken_promise(&self, _root: &Root, _value: &str) -> Option<String> {
        None
    }

    /// What the value promises before a run that the host does not keep yet, though it may in a while.
    fn not_yet(&self, _root: &Root, _value: &str) -> Option<String> {
        None
    }

    /// What remains to be done in plain `sh` once the process is ended.
    fn shell_after(&self) -> Option<String> {
        None
    }
}

/// Every held setting's process.
static HOLDERS: [&dyn Holder; 2] = [&memory_state::Ager, &guard::Guard];

/// How long a process may hold a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HoldLimit {
    /// Until it is undone.
    Undone,
    /// Until it is undone, or this process ends.
    Ends(Owner),
}

impl HoldLimit {
    /// As long as a change with this lease stays.
    pub(super) fn of(lease: &Lease, owner: Owner) -> HoldLimit {
        match lease {
            Lease::Owner => HoldLimit::Ends(owner),
            Lease::None | Lease::Deadline { .. } => HoldLimit::Undone,
        }
    }
}

/// The hidden verb's work: holds a value of a tunable until it is over.
#[must_use]
pub fn keep(tunable: &str, value: &str) -> ExitCode {
    let held = find(tunable).ok().and_then(|tunable| Some((tunable.canonical(value).ok()?, holder_of(&tunable)?)));
    match held {
        Some((value, holder)) => process::live(&value, holder),
        None => ExitCode::FAILURE,
    }
}

fn holder_of(tunable: &Tunable) -> Option<&'static dyn Holder> {
    HOLDERS.into_iter().find(|holder| holder.name() == tunable.name)
}

/// The kind of every held setting.
pub(super) struct HeldKind;

impl HeldKind {
    fn holder(tunable: &Tunable) -> Result<&'static dyn Holder, TunableError> {
        let why = || "this version has no process that would hold it".to_owned();
        holder_of(tunable).ok_or_else(|| TunableError::Missing { tunable: tunable.name.clone(), why: why() })
    }
}

impl Kind for HeldKind {
    fn read(&self, root: &Root, tunable: &Tunable) -> Result<String, TunableError> {
        if !root.is_live() {
            let why = "a captured tree does not say which process held it".to_owned();
            return Err(TunableError::Missing { tunable: tunable.name.clone(), why });
        }
        let unheld = || tunable.descriptor.unheld.unwrap_or_default().to_owned();
        Ok(process::in_force(tunable).unwrap_or_else(unheld))
    }

    fn write(&self, root: &Root, tunable: &Tunable, value: &str, until: HoldLimit) -> Result<(), TunableError> {
        if !root.is_live() {
            return Err(unsafe_now(
                tunable,
                value,
                "this is another host's captured tree; leave --root out".to_owned(),
            ));
        }
        let holder = HeldKind::holder(tunable)?;
        process::end_all(tunable).map_err(|source| TunableError::Refused {
            tunable: tunable.name.clone(),
            value: value.to_owned(),
            action: "end the process that holds it".to_owned(),
            source,
            hint: "",
        })?;
        if tunable.descriptor.unheld == Some(value) {
            holder.released(root);
            return Ok(());
        }
        process::start(tunable, value, until).map_err(|why| unsafe_now(tunable, value, why))
    }

    fn resolve(&self, root: &Root, _: &Places, tunable: &Tunable, value: &str) -> Result<String, TunableError> {
        self.read(root, tunable)?;
        HeldKind::holder(tunable)?.can_be_had(root, tunable, value)?;
        Ok(value.to_owned())
    }

    fn shell_lines(&self, _: &Root, tunable: &Tunable, value: &str) -> Vec<String> {
        if tunable.descriptor.unheld != Some(value) {
            return vec![format!("# {tunable}: a process has to hold it; use: pagewise set '{tunable}={value}'")];
        }
        let end = format!("pkill -f '^{} {VERB} {tunable} '", process::PROGRAM);
        std::iter::once(end).chain(HeldKind::holder(tunable).ok().and_then(Holder::shell_after)).collect()
    }

    fn sweep(&self, root: &Root, tunable: &Tunable) {
        if root.is_live()
            && let Err(error) = process::end_unfinished(tunable)
        {
            tracing::warn!("a process that was to hold {tunable} stays: {error}");
        }
    }

    fn broken_promise(&self, root: &Root, tunable: &Tunable, value: &str) -> Option<String> {
        holder_of(tunable)?.broken_promise(root, value)
    }

    fn not_yet(&self, root: &Root, tunable: &Tunable, value: &str) -> Option<String> {
        holder_of(tunable)?.not_yet(root, value)
    }
}

fn unsafe_now(tunable: &Tunable, value: &str, why: String) -> TunableError {
    TunableError::Unsafe { tunable: tunable.name.clone(), value: value.to_owned(), why }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_held_setting_has_a_process_that_holds_it() {
        for descriptor in pagewise_core::tunable::all().filter(|descriptor| descriptor.unheld.is_some()) {
            let tunable = find(descriptor.name).unwrap();
            assert!(holder_of(&tunable).is_some(), "{tunable}");
        }
    }

    #[test]
    fn a_captured_tree_neither_holds_nor_lets_go() {
        let tree = tempfile::tempdir().unwrap();
        let (root, tunable) = (Root::at(tree.path()), find("memory_state").unwrap());
        assert!(HeldKind.read(&root, &tunable).is_err_and(|error| error.is_missing()));
        for value in ["fresh", "aged(90%)"] {
            assert!(HeldKind.write(&root, &tunable, value, HoldLimit::Undone).is_err());
        }
    }

    #[test]
    fn what_cannot_be_held_ends_with_a_failure() {
        assert_eq!(keep("vm.swappiness", "1"), ExitCode::FAILURE);
        assert_eq!(keep("memory_state", "old"), ExitCode::FAILURE);
    }
}

//! What lies behind a tunable: a file, two files of which one is in force, the host's swap, a process that holds it. Everything else
//! asks the kind and knows none of them.

use super::held::{HeldKind, HoldLimit};
use super::pair::PairOfFiles;
use super::reserve::ReservedHugePages;
use super::swap::HostSwap;
use super::{Places, TunableError, file::OneFile};
use crate::root::Root;
use pagewise_core::tunable::{Grammar, Tunable, reserve};
use std::path::PathBuf;

/// How tunables of one kind are read and written. Values are canonical texts.
pub(super) trait Kind {
    /// The value now.
    fn read(&self, root: &Root, tunable: &Tunable) -> Result<String, TunableError>;

    /// The value now, where the tunable's files are read already.
    fn read_from(&self, root: &Root, tunable: &Tunable, _files: &[(String, String)]) -> Result<String, TunableError> {
        self.read(root, tunable)
    }

    /// Sets it, whatever it is now. `until` says how long a process may hold it.
    fn write(&self, root: &Root, tunable: &Tunable, value: &str, until: HoldLimit) -> Result<(), TunableError>;

    /// Whether the value can be had here, as far as that is known before anything is touched; and the value that then is written.
    fn resolve(&self, root: &Root, places: &Places, tunable: &Tunable, value: &str) -> Result<String, TunableError>;

    /// Lines of plain `sh` that set it.
    fn shell_lines(&self, root: &Root, tunable: &Tunable, value: &str) -> Vec<String>;

    /// Files that a value creates.
    fn artefacts(&self, _value: &str) -> Vec<PathBuf> {
        Vec::new()
    }

    /// Removes what a killed process left half made and no value shows.
    fn sweep(&self, _root: &Root, _tunable: &Tunable) {}

    /// Why the host is no longer as a value promises although it still reads so.
    fn broken_promise(&self, _root: &Root, _tunable: &Tunable, _value: &str) -> Option<String> {
        None
    }

    /// What a value promises before a run that the host does not keep yet, though it may in a while.
    fn not_yet(&self, _root: &Root, _tunable: &Tunable, _value: &str) -> Option<String> {
        None
    }
}

/// The kind of a tunable of the host.
pub(super) fn of(tunable: &Tunable) -> &'static dyn Kind {
    if tunable.descriptor.unheld.is_some() {
        return &HeldKind;
    }
    match tunable.descriptor.grammar {
        Grammar::Pair(_) => &PairOfFiles,
        Grammar::Swap => &HostSwap,
        _ if tunable.name == reserve::NAME => &ReservedHugePages,
        _ => &OneFile,
    }
}

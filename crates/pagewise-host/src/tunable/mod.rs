//! Reads and writes tunables on a host, whatever lies behind them.
//!
//! A value is always its canonical text (`pagewise_core::tunable`): what [`read`] gives, [`write`] takes, also after
//! anything else happened in between. That is what lets the journal put a host back without knowing what a tunable is.

pub mod boot;
pub mod change;
mod error;
mod file;
pub mod journal;
mod listing;
mod location;
pub mod lock;
pub mod memory_state;
mod pair;
mod reach;
mod resolve;
mod shell;
mod swap;
pub mod watcher;

pub use error::TunableError;
pub use listing::{Listed, Valued, list, values};
pub use reach::out_of_reach;
pub use resolve::{HostSetting, Places, Resolved, resolve};
pub use shell::{artefacts, shell_lines};

use crate::root::Root;
use pagewise_core::tunable::policy::{Policy, PolicyError};
use pagewise_core::tunable::{Grammar, Tunable, find};

/// The value now, as canonical text.
///
/// # Errors
/// When there is no such tunable, this host lacks it, or its file cannot be read.
pub fn read(root: &Root, tunable: &str) -> Result<String, TunableError> {
    let tunable = host_tunable(tunable)?;
    read_found(root, &tunable)
}

fn read_found(root: &Root, tunable: &Tunable) -> Result<String, TunableError> {
    match tunable.descriptor.grammar {
        Grammar::Pair(files) => pair::read(root, tunable, files),
        Grammar::Swap => swap::read(root),
        Grammar::MemoryState => memory_state::read(root),
        _ => file::read(root, tunable),
    }
}

/// Sets the tunable to `value`, whatever it is now. Writes nothing when it has that value already.
///
/// Takes any text that [`read`] gave or [`resolve`] found fit. Limits and ceilings are not held here: what a host had
/// before must always be restorable.
///
/// # Errors
/// When this host lacks the tunable, it may not be written, or the kernel refuses.
pub fn write(root: &Root, tunable: &str, value: &str) -> Result<(), TunableError> {
    let tunable = host_tunable(tunable)?;
    let value = tunable.canonical(value).map_err(|error| TunableError::value(&tunable.name, value, error))?;
    if read_found(root, &tunable).is_ok_and(|now| same(&tunable.name, &now, &value)) {
        return Ok(());
    }
    match tunable.descriptor.grammar {
        Grammar::Pair(files) => pair::write(root, &tunable, files, &value),
        Grammar::Swap => swap::write(root, &value),
        Grammar::MemoryState => memory_state::write(root, &value),
        _ => file::write(root, &tunable, &value),
    }
}

/// Removes what a killed process left half made and no value shows: a zram device set up for swap and not in use, a
/// process that was ageing memory. Files are not its business; [`artefacts`] are journalled.
pub fn sweep(root: &Root) {
    swap::sweep(root);
    memory_state::sweep(root);
}

/// Why the host is no longer as this value promises although it still reads so. Only `memory_state` promises more than
/// its own text: a share of free memory that other processes can move.
#[must_use]
pub fn broken_promise(root: &Root, tunable: &str, value: &str) -> Option<String> {
    if tunable == pagewise_core::tunable::memory_state::NAME { memory_state::broken_promise(root, value) } else { None }
}

/// What a value promises before a run that the host does not keep yet, though it may in a while: memory that is to be fresh and
/// still comes together. The gate waits for it.
#[must_use]
pub fn not_yet(root: &Root, tunable: &str, value: &str) -> Option<String> {
    if tunable == pagewise_core::tunable::memory_state::NAME { memory_state::not_yet(root, value) } else { None }
}

/// Whether two texts are the same value of the tunable, such as `1G` and `1073741824`.
#[must_use]
pub fn same(tunable: &str, a: &str, b: &str) -> bool {
    pagewise_core::tunable::same(tunable, a, b)
}

/// Reads a policy as it stands on the command line; `@FILE.toml` is opened.
///
/// # Errors
/// When it is malformed, or the file cannot be read.
pub fn load_policy(text: &str) -> Result<Policy, LoadError> {
    let Some(file) = text.strip_prefix('@') else { return Ok(text.parse()?) };
    let toml = crate::given::text(std::path::Path::new(file))
        .map_err(|source| LoadError::File { file: file.to_owned(), source })?;
    Ok(Policy::from_toml(&toml, file)?)
}

/// A policy that cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// Its text is wrong.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// Its file cannot be read.
    #[error("cannot read the policy file {file}: {source}; a policy that is no file is written without '@'")]
    File {
        /// As written.
        file: String,
        /// Why.
        source: std::io::Error,
    },
}

/// A tunable that has a value on a host; those of the job are refused.
fn host_tunable(name: &str) -> Result<Tunable, TunableError> {
    let tunable = find(name)?;
    if tunable.is_for_job() { Err(TunableError::JobOnly { tunable: tunable.name }) } else { Ok(tunable) }
}

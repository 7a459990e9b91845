//! Reads and writes tunables on a host, whatever lies behind them.
//!
//! A value is always its canonical text (`pagewise_core::tunable`): what [`read`] gives, [`write`] takes, also after
//! anything else happened in between. That is what lets the journal put a host back without knowing what a tunable is.

pub mod boot;
pub mod change;
mod error;
mod file;
pub mod held;
pub mod journal;
mod kind;
mod listing;
mod location;
pub mod lock;
mod pair;
mod reach;
mod reserve;
mod resolve;
mod shell;
mod swap;
pub mod watcher;

pub use error::TunableError;
pub use listing::{HostTunable, Valued, list, values};
pub use reach::out_of_reach;
pub use resolve::{HostSetting, Places, Resolved, resolve};
pub use shell::{artefacts, shell_lines};

use crate::root::Root;
use held::HoldLimit;
use pagewise_core::tunable::Tunable;
use pagewise_core::tunable::policy::{Policy, PolicyError};

/// The value now, as canonical text.
///
/// # Errors
/// When it has no value on a host, this host lacks it, or its file cannot be read.
pub fn read(root: &Root, tunable: &Tunable) -> Result<String, TunableError> {
    of_host(tunable)?;
    kind::of(tunable).read(root, tunable)
}

/// Sets the tunable to `value`, whatever it is now. Writes nothing when it has that value already.
///
/// Takes any text that [`read`] gave or [`resolve`] found fit. Limits and ceilings are not held here: what a host had
/// before must always be restorable.
///
/// # Errors
/// When this host lacks the tunable, it may not be written, or the kernel refuses.
pub fn write(root: &Root, tunable: &Tunable, value: &str) -> Result<(), TunableError> {
    write_until(root, tunable, value, HoldLimit::Undone)
}

fn write_until(root: &Root, tunable: &Tunable, value: &str, until: HoldLimit) -> Result<(), TunableError> {
    of_host(tunable)?;
    let value = tunable.canonical(value).map_err(|error| TunableError::value(&tunable.name, value, error))?;
    let kind = kind::of(tunable);
    if kind.read(root, tunable).is_ok_and(|now| tunable.same(&now, &value)) {
        return Ok(());
    }
    kind.write(root, tunable, &value, until)
}

/// Removes what a killed process left half made of this tunable and no value shows: a zram device set up for swap and not in use, a
/// process that was to hold a value. Files are not its business; [`artefacts`] are journalled.
pub fn sweep(root: &Root, tunable: &Tunable) {
    kind::of(tunable).sweep(root, tunable);
}

/// Why the host is no longer as this value promises although it still reads so: a value may promise more than its own text, as aged
/// memory does, whose pieces other processes can move.
#[must_use]
pub fn broken_promise(root: &Root, tunable: &Tunable, value: &str) -> Option<String> {
    kind::of(tunable).broken_promise(root, tunable, value)
}

/// What a value promises before a run that the host does not keep yet, though it may in a while: memory that is to be fresh and
/// still comes together. The gate waits for it.
#[must_use]
pub fn not_yet(root: &Root, tunable: &Tunable, value: &str) -> Option<String> {
    kind::of(tunable).not_yet(root, tunable, value)
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
fn of_host(tunable: &Tunable) -> Result<(), TunableError> {
    if tunable.is_for_job() { Err(TunableError::JobOnly { tunable: tunable.name.clone() }) } else { Ok(()) }
}

//! The one process runner: starts commands in a scope of their own, watches them, and leaves none behind.
//!
//! Commands are argument vectors, never a shell. Each runs in its own session, so that Ctrl-C at the terminal reaches
//! Pagewise alone and Pagewise decides, and dies with Pagewise (`PR_SET_PDEATHSIG`).

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What to start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Command {
    /// Program and arguments.
    pub argv: Vec<String>,
    /// Variables beside the inherited ones.
    pub env: BTreeMap<String, String>,
    /// Folder to start in; the current one by default.
    pub dir: Option<PathBuf>,
    /// Where its output goes.
    pub output: Output,
}

/// Where a command's standard output and error go. Standard input is always empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Output {
    /// Kept in memory, the last 256 KiB of each, and given back.
    #[default]
    Keep,
    /// Both into this file, and its last 256 KiB given back as standard output.
    File(PathBuf),
}

/// Set by Ctrl-C or SIGTERM; everything that takes long looks at it.
#[derive(Clone, Debug, Default)]
pub struct Interrupt(Arc<AtomicBool>);

/// Ctrl-C came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("interrupted")]
pub struct Interrupted;

impl Interrupt {
    /// One that reacts to SIGINT and SIGTERM of this process.
    ///
    /// # Errors
    /// When the signals cannot be taken over.
    pub fn on_signals() -> std::io::Result<Self> {
        let interrupt = Interrupt::default();
        for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM, signal_hook::consts::SIGHUP] {
            signal_hook::flag::register(signal, Arc::clone(&interrupt.0))?;
        }
        Ok(interrupt)
    }

    /// Asks everything that looks at it to stop.
    pub fn set(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    /// Whether to stop.
    #[must_use]
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }

    /// # Errors
    /// [`Interrupted`] once it is set.
    pub fn check(&self) -> Result<(), Interrupted> {
        if self.is_set() { Err(Interrupted) } else { Ok(()) }
    }
}

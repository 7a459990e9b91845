//! The host lock: one run at a time writes to the host and to the change journal.
//!
//! It is a `flock`, so the kernel gives it back when its holder dies, however it dies. The file is opened close-on-exec:
//! a job that outlives its owner never holds the lock.

use crate::root::Root;
use crate::source::process;
use rustix::fs::FlockOperation;
use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// The lock, until it is dropped.
#[derive(Debug)]
pub struct HostLock {
    // Closing the file gives the lock back.
    _file: File,
}

/// Who holds the lock, as it wrote into the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// Process id.
    pub pid: u32,
    /// The verb it runs.
    pub verb: String,
}

/// Why the lock cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another run has it.
    #[error(
        "cannot change this host: the change journal in {} is locked by another run ({}); wait until it ends, or end \
         it, and it puts the host back", state.display(), describe(holder.as_ref())
    )]
    Held {
        /// The state folder.
        state: PathBuf,
        /// Who, when the file says.
        holder: Option<Holder>,
    },
    /// The state folder or the lock file cannot be used.
    #[error(
        "cannot {action} {}: {source}; nothing was changed. Pagewise changes a host only where it can write down the \
         way back: choose another folder with --state-dir, or become the user who owns this one", path.display()
    )]
    State {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
}

fn describe(holder: Option<&Holder>) -> String {
    holder.map_or_else(|| "which did not say who it is".to_owned(), |h| format!("pagewise {}, pid {}", h.verb, h.pid))
}

/// The holder's line is padded to this length and overwritten in place: changing hands needs no new disk block, so a
/// full disk never stands between a user and `revert`.
const LINE_LENGTH: usize = 128;

/// The name under which a watcher holds the lock.
pub const WATCHER: &str = "watcher";

/// How long to wait for a lock that is as good as free: twice what a watcher has to restore a host.
const PATIENCE: Duration = Duration::from_secs(4);

/// Takes the lock, like [`acquire`]; but waits for a holder that is about to let go: who ends a run often starts the next
/// one at once.
///
/// # Errors
/// As [`acquire`].
pub fn acquire_soon(state: &Path, verb: &str) -> Result<HostLock, LockError> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match acquire(state, verb) {
            Err(LockError::Held { holder: Some(holder), .. })
                if holder.is_about_to_let_go() && Instant::now() < deadline =>
            {
                thread::sleep(Duration::from_millis(5));
            }
            answer => return answer,
        }
    }
}

impl Holder {
    /// A watcher restores in milliseconds. A holder that is dead left a child that was forked but had not become its
    /// command yet: until then it shares the lock.
    fn is_about_to_let_go(&self) -> bool {
        self.verb == WATCHER || process::start_time(&Root::live(), self.pid).is_none()
    }
}

/// Takes the lock in a state folder, which is made when it is not there.
///
/// # Errors
/// When another run has it, or the folder cannot be used.
pub fn acquire(state: &Path, verb: &str) -> Result<HostLock, LockError> {
    let state_error = |action, path: &Path| {
        let path = path.to_owned();
        move |source| LockError::State { action, path, source }
    };
    fs::create_dir_all(state).map_err(state_error("create the state folder", state))?;
    let path = state.join("lock");
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(&path)
        .map_err(state_error("open the lock", &path))?;
    match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {}
        Err(rustix::io::Errno::WOULDBLOCK) => {
            return Err(LockError::Held { state: state.to_owned(), holder: holder(&mut file) });
        }
        Err(error) => return Err(state_error("lock", &path)(error.into())),
    }
    let line = serde_json::to_string(&Holder { pid: std::process::id(), verb: verb.to_owned() }).unwrap_or_default();
    // Only for the words of an error message elsewhere; the lock itself does not need it.
    let _ = file.write_all_at(format!("{line:<width$}\n", width = LINE_LENGTH - 1).as_bytes(), 0);
    Ok(HostLock { _file: file })
}

fn holder(file: &mut File) -> Option<Holder> {
    let mut text = String::new();
    file.read_to_string(&mut text).ok()?;
    serde_json::from_str(text.lines().next()?.trim()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_run_is_told_who_holds_the_lock_and_gets_it_afterwards() {
        let state = tempfile::tempdir().expect("a temporary folder");
        let first = acquire(state.path(), "prove").expect("free");
        let told = acquire(state.path(), "set").expect_err("held").to_string();
        assert!(told.contains(&format!("pagewise prove, pid {}", std::process::id())), "{told}");
        drop(first);
        acquire(state.path(), "set").expect("free again");
    }

    #[test]
    fn a_watcher_that_restores_is_waited_for() {
        let state = tempfile::tempdir().expect("a temporary folder");
        let watcher = acquire(state.path(), WATCHER).expect("free");
        let restoring = thread::spawn(move || {
            thread::sleep(Duration::from_millis(50));
            drop(watcher);
        });
        acquire_soon(state.path(), "set").expect("free soon");
        restoring.join().expect("no panic");
    }

    #[test]
    fn a_state_folder_that_cannot_be_made_is_named() {
        let file = tempfile::NamedTempFile::new().expect("a temporary file");
        let told = acquire(&file.path().join("state"), "set").expect_err("not a folder").to_string();
        assert!(told.contains("state") && told.contains("nothing was changed"), "{told}");
    }
}

//! Two locks: one run at a time writes to a change journal, and one run at a time changes this host.
//!
//! The first is a file in the state folder. The second stands at a fixed path, because two runs with state folders of their
//! own know nothing of each other: only [`HOST`] keeps a second engine from changing the settings under the first.
//!
//! Both are a `flock`, so the kernel gives them back when their holder dies, however it dies. The files are opened
//! close-on-exec: a job that outlives its owner never holds a lock.

use crate::locked::Locked;
use crate::root::Root;
use crate::source::process;
use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

/// Where the lock on this host is.
///
/// `/run` is emptied at boot and only root writes there, so no link leads elsewhere and no ordinary user can take the lock
/// first: a `flock` needs no more than a file that can be opened, and on a file that everybody may read (one of the
/// kernel's, say) anybody could keep root from putting the host back. The file stands in `/run` itself and is never removed:
/// in a folder of a service it would go with the service, and the next run would lock another file of the same name.
pub const HOST: &str = "/run/pagewise.lock";

/// The right to write to a change journal and, from when it is needed, to change the host; until it is dropped.
#[derive(Debug)]
pub struct HostLock {
    holder: Holder,
    // Dropped, both locks are given back.
    _journal: Locked,
    host: OnceLock<Host>,
}

/// The right to change the host.
#[derive(Debug)]
struct Host {
    /// `None` for a captured tree, and for an ordinary user, who can change nothing of the host.
    _lock: Option<Locked>,
    /// The state folder of the last holder, when it is another one.
    before: Option<PathBuf>,
}

/// Who holds a lock, as it wrote into the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// Process id.
    pub pid: u32,
    /// The verb it runs.
    pub verb: String,
    /// Its state folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<PathBuf>,
}

/// Why a lock cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another run has the journal.
    #[error(
        "this host is taken: another run ({}) has the change journal in {}. Two at once would spoil each other's numbers and undo each \
         other's changes; wait until it ends, or end it, and it puts the host back", describe(holder.as_ref()), state.display()
    )]
    Held {
        /// The state folder.
        state: PathBuf,
        /// Who, when the file says.
        holder: Option<Holder>,
    },
    /// Another run, with a state folder of its own, has the host.
    #[error(
        "this host is taken: another run changes it ({}{}). Two at once would spoil each other's numbers and undo each other's changes; \
         wait until it ends, or end it, and it puts the host back",
        describe(holder.as_ref()), its_state(holder.as_ref())
    )]
    HostHeld {
        /// Who, when the file says.
        holder: Option<Holder>,
    },
    /// The state folder or the lock file in it cannot be used.
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
    /// The lock of the host cannot be used.
    #[error(
        "cannot {action} {}: {source}; nothing was changed. This lock keeps two runs from changing one host: make {} \
         writable for root", path.display(), path.parent().unwrap_or(path).display()
    )]
    Host {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
}

impl LockError {
    /// Who has it, when another run does: it can be waited for.
    #[must_use]
    pub fn held_by(&self) -> Option<String> {
        match self {
            LockError::Held { holder, .. } | LockError::HostHeld { holder } => Some(describe(holder.as_ref())),
            LockError::State { .. } | LockError::Host { .. } => None,
        }
    }
}

fn describe(holder: Option<&Holder>) -> String {
    holder.map_or_else(|| "which did not say who it is".to_owned(), |h| format!("pagewise {}, pid {}", h.verb, h.pid))
}

fn its_state(holder: Option<&Holder>) -> String {
    let state = holder.and_then(|holder| holder.state.as_ref());
    state.map_or_else(String::new, |state| format!(", with the state folder {}", state.display()))
}

/// The holder's line is padded to this length and overwritten in place: changing hands needs no new disk block, so a
/// full disk never stands between a user and `revert`.
const LINE_LENGTH: usize = 128;

/// The name under which a watcher holds a lock.
pub const WATCHER: &str = "watcher";

/// Who holds a lock for a moment only.
const BRIEF: [&str; 3] = [WATCHER, "set", "revert"];

/// How long to wait for a lock that is as good as free: twice what a watcher has to restore a host.
const PATIENCE: Duration = Duration::from_secs(4);

/// Takes the lock of a journal, like [`acquire`]; but waits for a holder that is about to let go: who ends a run often
/// starts the next one at once.
///
/// # Errors
/// As [`acquire`].
pub fn acquire_soon(state: &Path, verb: &str) -> Result<HostLock, LockError> {
    patiently(|| acquire(state, verb))
}

fn patiently<T>(mut attempt: impl FnMut() -> Result<T, LockError>) -> Result<T, LockError> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match attempt() {
            Err(LockError::Held { holder: Some(holder), .. } | LockError::HostHeld { holder: Some(holder) })
                if holder.is_about_to_let_go() && Instant::now() < deadline =>
            {
                thread::sleep(Duration::from_millis(5));
            }
            answer => return answer,
        }
    }
}

impl Holder {
    /// A watcher restores in milliseconds, and so long do the verbs that write and go. A holder that is dead left a child that
    /// was forked but had not become its command yet: until then it shares the lock.
    fn is_about_to_let_go(&self) -> bool {
        BRIEF.contains(&self.verb.as_str()) || process::start_time(&Root::live(), self.pid).is_none()
    }
}

/// Takes the lock of the journal in a state folder, which is made when it is not there. The host comes with
/// [`HostLock::cover`].
///
/// # Errors
/// When another run has it, or the folder cannot be used.
pub fn acquire(state: &Path, verb: &str) -> Result<HostLock, LockError> {
    let failed = |action, path: &Path| {
        let path = path.to_owned();
        move |source| LockError::State { action, path, source }
    };
    fs::create_dir_all(state).map_err(failed("create the state folder", state))?;
    let path = state.join("lock");
    let open = || OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
    let mut file = open().map_err(failed("open the lock", &path))?;
    let Some(journal) = Locked::now(&file).map_err(failed("lock", &path))? else {
        return Err(LockError::Held { state: state.to_owned(), holder: holder(&mut file) });
    };
    let holder = Holder { pid: std::process::id(), verb: verb.to_owned(), state: Some(state.to_owned()) };
    // A folder is in its own lock already, and a long name would need more than the line.
    sign(&file, &Holder { state: None, ..holder.clone() });
    Ok(HostLock { holder, _journal: journal, host: OnceLock::new() })
}

impl HostLock {
    /// Takes the right to change the host as well, if this lock has not got it yet; waits like [`acquire_soon`]. A captured
    /// tree has no other lock than that of its journal.
    ///
    /// # Errors
    /// When another run changes this host, or root cannot use the lock.
    pub fn cover(&self, root: &Root) -> Result<(), LockError> {
        patiently(|| self.cover_now(root))
    }

    /// The same, without waiting for anybody.
    pub(super) fn cover_now(&self, root: &Root) -> Result<(), LockError> {
        if self.host.get().is_none() {
            let host = if root.is_live() { lock_host(Path::new(HOST), &self.holder)? } else { Host::unlocked() };
            let _ = self.host.set(host);
        }
        Ok(())
    }

    /// The state folder of the run that had the host last, when it was another one than ours: it may have been killed
    /// together with its watcher, and only its own journal knows what it changed.
    pub(super) fn before(&self) -> Option<&Path> {
        self.host.get()?.before.as_deref()
    }
}

impl Host {
    fn unlocked() -> Host {
        Host { _lock: None, before: None }
    }
}

/// Takes the lock of the host. An ordinary user, who may not open it, goes on without: whatever the kernel lets such a user
/// change is the user's own.
fn lock_host(path: &Path, new: &Holder) -> Result<Host, LockError> {
    let failed = |action| move |source| LockError::Host { action, path: path.to_owned(), source };
    let open = || OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path);
    let mut file = match open() {
        Ok(file) => file,
        Err(_) if !rustix::process::geteuid().is_root() => return Ok(Host::unlocked()),
        Err(error) => return Err(failed("open the lock of this host,")(error)),
    };
    let lock = Locked::now(&file).map_err(failed("lock"))?;
    let there = holder(&mut file);
    if lock.is_none() {
        return Err(LockError::HostHeld { holder: there });
    }
    sign(&file, new);
    let before = there.and_then(|before| before.state).filter(|state| Some(state) != new.state.as_ref());
    Ok(Host { _lock: lock, before })
}

/// Only for the words of an error message elsewhere, and for who comes next; the lock itself does not need it.
fn sign(file: &File, holder: &Holder) {
    let line = serde_json::to_string(holder).unwrap_or_default();
    let _ = file.write_all_at(format!("{line:<width$}\n", width = LINE_LENGTH - 1).as_bytes(), 0);
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
        let who = acquire(state.path(), "set").expect_err("held").held_by();
        assert_eq!(who, Some(format!("pagewise prove, pid {}", std::process::id())));
        drop(first);
        acquire(state.path(), "set").expect("free again");
    }

    fn run_with(state: &str) -> Holder {
        Holder { pid: std::process::id(), verb: "trial run".to_owned(), state: Some(state.into()) }
    }

    #[test]
    fn two_runs_with_state_folders_of_their_own_do_not_have_one_host_at_once() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("pagewise.lock");
        let first = lock_host(&path, &run_with("/state/one")).expect("free");
        assert_eq!(first.before, None, "nobody was there before");
        let told = lock_host(&path, &run_with("/state/two")).expect_err("held").to_string();
        let who = format!("(pagewise trial run, pid {}, with the state folder /state/one)", std::process::id());
        assert!(told.contains(&who), "{told}");
        drop(first);
        let second = lock_host(&path, &run_with("/state/two")).expect("free again");
        assert_eq!(second.before, Some("/state/one".into()), "its journal may have something left to undo");
        drop(second);
        assert_eq!(
            lock_host(&path, &run_with("/state/two")).expect("free").before,
            None,
            "our own journal is no other"
        );
    }

    #[test]
    fn a_longer_line_of_the_last_holder_does_not_spoil_the_next_one() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("pagewise.lock");
        let long = format!("/{}", "state/".repeat(60));
        drop(lock_host(&path, &run_with(&long)).expect("free"));
        assert_eq!(lock_host(&path, &run_with("/short")).expect("free").before, Some(long.into()));
        assert_eq!(lock_host(&path, &run_with("/other")).expect("free").before, Some("/short".into()));
    }

    #[test]
    fn nobody_but_root_can_take_the_lock_first() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("pagewise.lock");
        drop(lock_host(&path, &run_with("/state")).expect("free"));
        assert_eq!(path.metadata().expect("it is there").permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_captured_tree_needs_no_lock_but_its_journals() {
        let state = tempfile::tempdir().expect("a temporary folder");
        let lock = acquire(state.path(), "test").expect("free");
        lock.cover(&Root::at(state.path())).expect("nobody else has this tree");
        assert!(lock.host.get().is_some_and(|host| host._lock.is_none()));
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

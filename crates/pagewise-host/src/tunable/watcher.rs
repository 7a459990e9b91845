//! The watcher: a process that puts the host back when its owner dies, or when nobody confirms a change in time.
//!
//! It sleeps in the kernel on a pipe whose other end only the owner holds. The owner says on it which processes belong
//! to the job, where data are restored, and in the end that all is done. When the pipe ends without that word the owner
//! is dead: the watcher kills the job, restores, and ends. It has a session of its own, so neither Ctrl-C nor a closed terminal reaches it.

use super::change::{ChangeError, HostLock, Journal, LockError, UndoReport};
use super::journal::{self, JournalError};
use super::lock;
use crate::restore;
use crate::root::Root;
use crate::source::process;
use crate::sys;
use crate::test_pause;
use pagewise_core::change::line::{Lease, Owner};
use pagewise_core::change::replay::{ChangeSet, UndoDue};
use rustix::event::{PollFd, PollFlags};
use rustix::fs::inotify;
use rustix::process::{Pid, Signal};
use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// The hidden verb under which the program runs as a watcher.
pub const VERB: &str = "__watch";

/// How long a new watcher may take to say that it watches.
const READY_WITHIN: Duration = Duration::from_secs(10);

/// How often a watcher is started again before the owner gives up.
const STARTS: u32 = 2;

/// How long the job may take to be gone after SIGKILL. Less than the 2 s within which the host is restored.
const KILL_WITHIN: Duration = Duration::from_millis(1000);

/// What the owner tells its watcher, a JSON line each.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum WatcherMessage {
    /// What to kill when the owner dies. Replaces what was said before.
    Scope(Scope),
    /// Where data are restored: what is mounted there goes with the owner.
    Workspace(Option<PathBuf>),
    /// Everything is undone; the watcher may go.
    Done,
}

/// The processes of a job.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Scope {
    /// A cgroup that holds nothing but the job; removed with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cgroup: Option<PathBuf>,
    /// Sessions that the job's commands lead.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    sessions: Vec<u32>,
}

/// Why there is no watcher.
#[derive(Debug, thiserror::Error)]
pub enum WatcherError {
    /// It cannot be started.
    #[error(
        "cannot start the process that would restore this host if this one were killed: {source}; without it nothing is \
         changed"
    )]
    WatcherStart {
        /// Why.
        source: io::Error,
    },
    /// It ends as soon as it is started.
    #[error(
        "the process that would restore this host if this one were killed ended {times} times in a row; the run is \
         stopped and the host restored now"
    )]
    KeepsEnding {
        /// How often.
        times: u32,
    },
    /// It cannot wait.
    #[error("cannot wait for {what}: {source}")]
    Wait {
        /// For what.
        what: &'static str,
        /// Why.
        source: io::Error,
    },
}

/// The owner's end of its watcher.
#[derive(Debug)]
pub struct Watcher {
    start: WatcherStart,
    running: Running,
    scope: Scope,
    workspace: Option<PathBuf>,
}

#[derive(Debug)]
struct Running {
    child: Child,
    pipe: Option<ChildStdin>,
}

/// How a watcher is started.
#[derive(Clone, Debug)]
struct WatcherStart {
    program: PathBuf,
    arguments: Vec<String>,
}

impl Watcher {
    /// Starts the watcher of this process's owner leases: this same program under its hidden verb [`VERB`].
    ///
    /// # Errors
    /// When it cannot be started or does not answer.
    pub fn start(state: &Path, root: &Root) -> Result<Watcher, WatcherError> {
        Watcher::start_program(Path::new("/proc/self/exe"), state, root)
    }

    /// [`Watcher::start`] with another program that knows the verb; for tests, which are not the program themselves.
    ///
    /// # Errors
    /// As there.
    pub fn start_program(program: &Path, state: &Path, root: &Root) -> Result<Watcher, WatcherError> {
        let owner = journal::own_identity();
        let role = ["owner".to_owned(), owner.pid.to_string(), owner.start_time.to_string()];
        let start = WatcherStart { program: program.to_owned(), arguments: arguments(state, root, &role)? };
        let running = start.run(Stdio::inherit())?;
        Ok(Watcher { start, running, scope: Scope::default(), workspace: None })
    }

    /// Says which processes are the job's: all of `cgroup` when it has one of its own, and those in `sessions`. Neither
    /// once the job has ended.
    ///
    /// # Errors
    /// When the watcher is gone and cannot be started again.
    pub fn set_scope(&mut self, cgroup: Option<&Path>, sessions: &[u32]) -> Result<(), WatcherError> {
        self.scope = Scope { cgroup: cgroup.map(Path::to_owned), sessions: sessions.to_vec() };
        self.running.tell(&WatcherMessage::Scope(self.scope.clone()));
        self.ensure_alive()
    }

    /// Says in which folder data are restored ([`crate::restore::Dataset::workspace`]); `None` once they are released.
    ///
    /// # Errors
    /// When the watcher is gone and cannot be started again.
    pub fn set_workspace(&mut self, workspace: Option<&Path>) -> Result<(), WatcherError> {
        self.workspace = workspace.map(Path::to_owned);
        self.running.tell(&WatcherMessage::Workspace(self.workspace.clone()));
        self.ensure_alive()
    }

    /// Starts the watcher again when it is gone. The owner calls it at each of its ticks.
    ///
    /// # Errors
    /// When it keeps ending: then the owner must stop and restore by itself.
    pub fn ensure_alive(&mut self) -> Result<(), WatcherError> {
        for _ in 0..STARTS {
            if matches!(self.running.child.try_wait(), Ok(None)) {
                return Ok(());
            }
            tracing::info!("the watcher ended and is started again");
            if let Ok(running) = self.start.run(Stdio::inherit()) {
                self.running = running;
                self.running.tell(&WatcherMessage::Scope(self.scope.clone()));
                self.running.tell(&WatcherMessage::Workspace(self.workspace.clone()));
            }
        }
        match self.running.child.try_wait() {
            Ok(None) => Ok(()),
            _ => Err(WatcherError::KeepsEnding { times: STARTS }),
        }
    }

    /// Its process id.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.running.child.id()
    }

    /// Everything is undone: lets the watcher go.
    pub fn finish(mut self) {
        self.running.tell(&WatcherMessage::Done);
        self.running.pipe = None;
        let _ = self.running.child.wait();
    }
}

impl Running {
    /// A watcher that is gone does not hear it; [`Watcher::ensure_alive`] finds out.
    fn tell(&mut self, word: &WatcherMessage) {
        let Ok(mut line) = serde_json::to_string(word) else { return };
        line.push('\n');
        if let Some(pipe) = &mut self.pipe {
            let _ = pipe.write_all(line.as_bytes());
        }
    }
}

/// Starts the detached watcher of a change that waits for confirmation.
///
/// # Errors
/// When it cannot be started or does not answer.
pub fn start_for_deadline(state: &Path, root: &Root, id: u64) -> Result<(), WatcherError> {
    let role = ["deadline".to_owned(), id.to_string()];
    let start = WatcherStart { program: PathBuf::from("/proc/self/exe"), arguments: arguments(state, root, &role)? };
    // Detached from the terminal: whoever waits for the end of our output must not wait for the deadline.
    start.run(Stdio::null()).map(drop)
}

fn arguments(state: &Path, root: &Root, role: &[String]) -> Result<Vec<String>, WatcherError> {
    let absolute = |path: &Path| std::path::absolute(path).map_err(|source| WatcherError::WatcherStart { source });
    let mut arguments = vec!["--state-dir".to_owned(), absolute(state)?.to_string_lossy().into_owned()];
    if !root.is_live() {
        arguments.extend(["--root".to_owned(), absolute(&root.path("/"))?.to_string_lossy().into_owned()]);
    }
    arguments.push(VERB.to_owned());
    arguments.extend_from_slice(role);
    Ok(arguments)
}

impl WatcherStart {
    /// Starts it and waits until it says that it watches: before that its owner must write nothing.
    fn run(&self, stderr: Stdio) -> Result<Running, WatcherError> {
        let failed = |source| WatcherError::WatcherStart { source };
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).arg0("pagewise").env_remove(test_pause::VARIABLE).current_dir("/");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(stderr);
        sys::session::arrange(&mut command);
        let mut child = command.spawn().map_err(failed)?;
        match wait_until_ready(&mut child) {
            Ok(()) => Ok(Running { pipe: child.stdin.take(), child }),
            Err(error) => {
                let _ = child.kill();
                let _ = child.wait();
                Err(failed(error))
            }
        }
    }
}

fn wait_until_ready(child: &mut Child) -> io::Result<()> {
    let Some(mut stdout) = child.stdout.take() else { return Err(io::ErrorKind::BrokenPipe.into()) };
    let timeout = Timespec { tv_sec: READY_WITHIN.as_secs() as i64, tv_nsec: 0 };
    let answered = rustix::event::poll(&mut [PollFd::new(&stdout, PollFlags::IN)], Some(&timeout))?;
    if answered == 0 {
        return Err(io::Error::new(io::ErrorKind::TimedOut, "it did not answer within 10 s"));
    }
    let mut byte = [0];
    match io::Read::read(&mut stdout, &mut byte)? {
        0 => Err(io::Error::other("it ended before it was ready")),
        _ => Ok(()),
    }
}

/// Says to the process that started this one that the watch has begun, and lets go of its pipe. Nobody may be there to
/// hear it: an owner that was killed meanwhile is the very reason to go on.
fn say_ready() {
    let _ = rustix::io::write(rustix::stdio::stdout(), b"\n");
    if let Ok(nowhere) = fs::OpenOptions::new().write(true).open("/dev/null") {
        let _ = rustix::stdio::dup2_stdout(&nowhere);
    }
}

/// The watcher's life for an owner: until the pipe on standard input says `done`, or ends without it. What it had to
/// undo is returned.
///
/// # Errors
/// When the journal cannot be read or written.
pub fn watch_owner(journal: &Journal, owner: Owner) -> Result<Vec<UndoReport>, ChangeError> {
    say_ready();
    let Some(OwnerState { scope, workspace }) = listen(BufReader::new(io::stdin().lock())) else {
        return Ok(Vec::new());
    };
    scope.kill();
    // Beside the settings: an unmount waits for the disk, and they must not.
    let cleaning = workspace.map(|workspace| thread::spawn(move || clean(&workspace)));
    let undone = undo_owned(journal, owner);
    if let Some(cleaning) = cleaning {
        let _ = cleaning.join();
    }
    undone
}

/// Puts away the copies of the data. The owner's hold on them goes a moment after its pipe.
fn clean(workspace: &Path) {
    let deadline = Instant::now() + KILL_WITHIN;
    loop {
        let left = restore::remove_leftovers(&Root::live(), workspace);
        left.kept.iter().for_each(|kept| tracing::warn!("{kept}"));
        if !left.in_use || Instant::now() > deadline {
            return;
        }
        thread::sleep(Duration::from_millis(10));
    }
}

fn undo_owned(journal: &Journal, owner: Owner) -> Result<Vec<UndoReport>, ChangeError> {
    let still_open = || Ok(!journal.owned_sets(owner)?.is_empty());
    match lock_while(journal, still_open)? {
        Some(lock) => journal.undo_owned(&lock, owner),
        None => Ok(Vec::new()),
    }
}

/// What an owner last said of itself.
#[derive(Debug, Default, PartialEq, Eq)]
struct OwnerState {
    scope: Scope,
    workspace: Option<PathBuf>,
}

/// `None` once the owner says that it is done; what it said last when it dies before.
fn listen(pipe: impl BufRead) -> Option<OwnerState> {
    let mut known = OwnerState::default();
    for line in pipe.lines() {
        let Ok(line) = line else { break };
        match serde_json::from_str(&line) {
            Ok(WatcherMessage::Done) => return None,
            Ok(WatcherMessage::Scope(scope)) => known.scope = scope,
            Ok(WatcherMessage::Workspace(workspace)) => known.workspace = workspace,
            // Half a line: the owner died while it wrote.
            Err(_) => break,
        }
    }
    Some(known)
}

/// The locks, as soon as they are free; `None` when `needed` says that there is nothing left to do for its holder did it.
fn lock_while(
    journal: &Journal,
    needed: impl Fn() -> Result<bool, JournalError>,
) -> Result<Option<HostLock>, ChangeError> {
    let mut pause = Duration::from_millis(2);
    while needed()? {
        let free = lock::acquire(journal.state(), lock::WATCHER)
            .and_then(|lock| lock.cover_now(journal.root()).map(|()| lock));
        match free {
            Ok(lock) => return Ok(Some(lock)),
            // The owner's own lock goes a moment after its pipe. Another run restores first whatever is due, also one with
            // another state folder: the lock of the host says whose journal it has to look at.
            Err(LockError::Held { .. } | LockError::HostHeld { .. }) => thread::sleep(pause),
            Err(error) => return Err(error.into()),
        }
        pause = (2 * pause).min(Duration::from_millis(200));
    }
    Ok(None)
}

impl Scope {
    /// SIGKILL until nothing is left: a process may fork between listing and killing.
    fn kill(&self) {
        let deadline = Instant::now() + KILL_WITHIN;
        loop {
            let left = self.processes();
            if left.is_empty() {
                break;
            }
            for pid in left.iter().filter_map(|pid| Pid::from_raw(i32::try_from(*pid).ok()?)) {
                let _ = rustix::process::kill_process(pid, Signal::KILL);
            }
            if Instant::now() > deadline {
                break;
            }
            thread::sleep(Duration::from_millis(5));
        }
        if let Some(cgroup) = &self.cgroup {
            let _ = fs::remove_dir(cgroup);
        }
    }

    fn processes(&self) -> Vec<u32> {
        let live = Root::live();
        let mut pids: Vec<u32> = Vec::new();
        if let Some(cgroup) = &self.cgroup {
            let listed = fs::read_to_string(cgroup.join("cgroup.procs")).unwrap_or_default();
            pids.extend(listed.lines().filter_map(|line| line.parse::<u32>().ok()));
        }
        if !self.sessions.is_empty() {
            let in_session = |pid: &u32| process::session(&live, *pid).is_some_and(|s| self.sessions.contains(&s));
            pids.extend(process::pids(&live).into_iter().filter(in_session));
        }
        // Never the init process, and never one that has ended and only waits to be waited for.
        pids.retain(|pid| *pid > 1 && process::start_time(&live, *pid).is_some());
        pids
    }
}

/// The watcher's life for a change that waits for confirmation: until it is confirmed or undone, or its time is up. What
/// it had to undo is returned.
///
/// # Errors
/// When the journal cannot be read or written.
pub fn watch_deadline(journal: &Journal, id: u64) -> Result<Option<UndoReport>, ChangeError> {
    let mut alarm = Alarm::on(&journal.path(id))?;
    say_ready();
    loop {
        let Some(deadline) = awaited(journal, id)? else { return Ok(None) };
        if alarm.wait_until(deadline)? {
            break;
        }
    }
    match lock_while(journal, || Ok(is_overdue(journal, id)))? {
        Some(lock) => journal.undo(&lock, id, &mut |_| {}).map(Some),
        None => Ok(None),
    }
}

/// The deadline of a change that is open and not confirmed, in milliseconds of `CLOCK_BOOTTIME`.
fn awaited(journal: &Journal, id: u64) -> Result<Option<u64>, ChangeError> {
    let set = match journal.open_set(id, "watch") {
        Ok(set) => set,
        Err(ChangeError::Closed { .. } | ChangeError::Journal(JournalError::Unknown { .. })) => return Ok(None),
        Err(error) => return Err(error),
    };
    let waits = |set: &ChangeSet| set.awaits_confirmation();
    Ok(match set.begin.lease {
        Lease::Deadline { boottime_ms, .. } if waits(&set) => Some(boottime_ms),
        _ => None,
    })
}

fn is_overdue(journal: &Journal, id: u64) -> bool {
    journal.open_set(id, "watch").is_ok_and(|set| matches!(journal.due(&set), UndoDue::Undo(_)))
}

/// Sleeps until an instant or until a file changes, without waking in between.
struct Alarm {
    timer: rustix::fd::OwnedFd,
    changes: rustix::fd::OwnedFd,
}

impl Alarm {
    fn on(file: &Path) -> Result<Alarm, WatcherError> {
        let failed = |source: rustix::io::Errno| WatcherError::Wait { what: "the deadline", source: source.into() };
        let timer = rustix::time::timerfd_create(TimerfdClockId::Boottime, TimerfdFlags::CLOEXEC).map_err(failed)?;
        let changes = inotify::init(inotify::CreateFlags::CLOEXEC | inotify::CreateFlags::NONBLOCK).map_err(failed)?;
        let events = inotify::WatchFlags::MODIFY | inotify::WatchFlags::DELETE_SELF;
        inotify::add_watch(&changes, file, events).map_err(failed)?;
        Ok(Alarm { timer, changes })
    }

    /// `true` when the time is up, `false` when the file changed before.
    fn wait_until(&mut self, boottime_ms: u64) -> Result<bool, WatcherError> {
        let failed = |source: rustix::io::Errno| WatcherError::Wait { what: "the deadline", source: source.into() };
        let seconds = i64::try_from(boottime_ms / 1000).unwrap_or(i64::MAX);
        let it_value = Timespec { tv_sec: seconds, tv_nsec: (boottime_ms % 1000) as i64 * 1_000_000 };
        let once = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value };
        rustix::time::timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &once).map_err(failed)?;
        loop {
            let mut fds = [PollFd::new(&self.timer, PollFlags::IN), PollFd::new(&self.changes, PollFlags::IN)];
            match rustix::event::poll(&mut fds, None) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(failed(error)),
            }
            let (timer, changes) = (fds[0].revents(), fds[1].revents());
            if timer.contains(PollFlags::IN) {
                return Ok(true);
            }
            if changes.contains(PollFlags::IN) {
                let mut seen = [0; 4096];
                let _ = rustix::io::read(&self.changes, &mut seen);
                return Ok(false);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_that_says_done_is_not_dead() {
        assert_eq!(listen(&b"{\"scope\":{\"sessions\":[7]}}\n\"done\"\n"[..]), None);
    }

    #[test]
    fn an_owner_that_dies_leaves_its_last_whole_scope() {
        let last = Scope { cgroup: Some("/sys/fs/cgroup/a".into()), sessions: vec![7, 8] };
        let mut said = serde_json::to_vec(&WatcherMessage::Scope(Scope::default())).expect("JSON");
        said.push(b'\n');
        said.extend(serde_json::to_vec(&WatcherMessage::Scope(last.clone())).expect("JSON"));
        said.extend(b"\n{\"workspace\":\"/w\"}\n{\"scope\":{\"ses");
        assert_eq!(listen(&said[..]), Some(OwnerState { scope: last, workspace: Some("/w".into()) }));
    }
}

//! The one process runner: starts commands in a scope of their own, watches them, and leaves none behind.
//!
//! Commands are argument vectors, never a shell. Each runs in its own session, so that Ctrl-C at the terminal reaches
//! Pagewise alone and Pagewise decides, and dies with Pagewise (`PR_SET_PDEATHSIG`).

use crate::sys::child::{self, ChildSetup, ProcessThp};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, pidfd_open};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

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
    /// Where our own go; nothing is given back.
    Inherit,
}

/// How much of a command's output is kept.
const KEPT_OUTPUT: usize = 256 << 10;

/// How often a running job is checked: often enough for the 10 Hz the memory measures promise.
pub const WATCH_PERIOD: Duration = Duration::from_millis(95);

/// How long a job may take to end after SIGTERM before it gets SIGKILL.
const GRACE: Duration = Duration::from_secs(2);

/// How long to wait for the end of an output pipe that a process outside the job's session still holds open.
const OUTPUT_GRACE: Duration = Duration::from_millis(500);

/// Set by Ctrl-C or SIGTERM; everything that takes long looks at it, or waits with it.
#[derive(Clone, Debug, Default)]
pub struct Interrupt {
    is_set: Arc<AtomicBool>,
    /// Becomes readable with a signal. `None` where nobody asked for signals.
    wake: Option<Arc<UnixStream>>,
}

/// Ctrl-C came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("interrupted")]
pub struct Interrupted;

impl Interrupt {
    /// One that reacts to SIGINT, SIGTERM and SIGHUP of this process; not to SIGHUP where whoever started it asked for
    /// that (`nohup`).
    ///
    /// # Errors
    /// When the signals cannot be taken over.
    pub fn on_signals() -> io::Result<Self> {
        use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
        let (wake, waker) = UnixStream::pair()?;
        let interrupt = Interrupt { is_set: Arc::default(), wake: Some(Arc::new(wake)) };
        let hang_up = (!ignores(SIGHUP)).then_some(SIGHUP);
        for signal in [SIGINT, SIGTERM].into_iter().chain(hang_up) {
            // In this order: whoever is woken finds the flag set.
            signal_hook::flag::register(signal, Arc::clone(&interrupt.is_set))?;
            signal_hook::low_level::pipe::register(signal, waker.try_clone()?)?;
        }
        Ok(interrupt)
    }

    /// Asks everything that looks at it to stop.
    pub fn set(&self) {
        self.is_set.store(true, Ordering::SeqCst);
    }

    /// Sleeps for a while, or until a signal comes. Costs nothing meanwhile, where looking ten times a second would.
    pub fn wait(&self, at_most: Duration) {
        if self.is_set() {
            return;
        }
        let timeout = Timespec::try_from(at_most).ok();
        let mut wake: Vec<PollFd<'_>> =
            self.wake.iter().map(|stream| PollFd::new(stream.as_ref(), PollFlags::IN)).collect();
        // Woken too early by anything else, the caller looks and waits again.
        let _ = poll(&mut wake, timeout.as_ref());
    }

    /// Readable once a signal came, for those who wait for other things, too. `None` where nobody asked for signals.
    #[must_use]
    pub fn readable(&self) -> Option<BorrowedFd<'_>> {
        self.wake.as_ref().map(|stream| stream.as_fd())
    }

    /// Whether to stop.
    #[must_use]
    pub fn is_set(&self) -> bool {
        self.is_set.load(Ordering::SeqCst)
    }

    /// # Errors
    /// [`Interrupted`] once it is set.
    pub fn check(&self) -> Result<(), Interrupted> {
        if self.is_set() { Err(Interrupted) } else { Ok(()) }
    }
}

/// Whether this process ignores a signal now: that is kept across exec, and so a wish of whoever started it.
fn ignores(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask & (1 << (signal - 1)) != 0
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// By itself, with this exit code.
    Exited(i32),
    /// By this signal.
    Signalled(i32),
}

impl Status {
    /// Exit code 0.
    #[must_use]
    pub fn is_success(self) -> bool {
        self == Status::Exited(0)
    }
}

impl std::fmt::Display for Status {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Status::Exited(code) => write!(f, "exit status {code}"),
            Status::Signalled(signal) => match Signal::from_named_raw(*signal) {
                Some(named) => {
                    // The library writes "Signal::SEGV"; people know it as SIGSEGV.
                    let named = format!("{named:?}");
                    let name = named.trim_matches('"').trim_start_matches("Signal::").trim_start_matches("SIG");
                    write!(f, "killed by SIG{name} (signal {signal})")
                }
                None => write!(f, "killed by signal {signal}"),
            },
        }
    }
}

/// What one command used and said.
#[derive(Clone, Debug)]
pub struct Ended {
    /// How it ended.
    pub status: Status,
    /// Seconds from its start to its exit, CLOCK_MONOTONIC.
    pub wall: f64,
    /// User CPU seconds of it and the children it waited for.
    pub user: f64,
    /// System CPU seconds of it and the children it waited for.
    pub system: f64,
    /// Page faults without I/O.
    pub minor_faults: i64,
    /// Page faults with I/O.
    pub major_faults: i64,
    /// Times it gave the CPU up to wait.
    pub voluntary_switches: i64,
    /// Times the CPU was taken from it.
    pub involuntary_switches: i64,
    /// The end of its standard output.
    pub stdout: String,
    /// The end of its standard error.
    pub stderr: String,
}

impl Ended {
    /// The last three lines that say something, standard error first, in one: programs tend to end with a line that says no more than that
    /// they end.
    #[must_use]
    pub fn last_lines(&self) -> String {
        let last = |text: &str| {
            let mut lines: Vec<&str> =
                text.lines().rev().map(str::trim).filter(|line| !line.is_empty()).take(3).collect();
            lines.reverse();
            let cut = lines.iter().map(|line| line.chars().take(200).collect::<String>());
            (!lines.is_empty()).then(|| cut.collect::<Vec<_>>().join(" | "))
        };
        last(&self.stderr).or_else(|| last(&self.stdout)).unwrap_or_else(|| "nothing".to_owned())
    }

    /// The last line that says something, standard error first: what a person needs to see of a failure.
    #[must_use]
    pub fn last_words(&self) -> String {
        let last = |text: &str| text.lines().rev().find(|line| !line.trim().is_empty()).map(str::to_owned);
        let words =
            last(&self.stderr).or_else(|| last(&self.stdout)).unwrap_or_else(|| "it printed nothing".to_owned());
        words.chars().take(300).collect()
    }
}

/// Why commands that were started were stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// They took longer than allowed.
    Timeout,
    /// Ctrl-C, or the tick asked for it.
    Interrupted,
}

/// Commands that started together, when the last has ended.
#[derive(Clone, Debug)]
pub struct JobEnded {
    /// Seconds from the first start to the last exit.
    pub wall: f64,
    /// By how many seconds `wall` may be too long: while the last command ended, this process was stopped or got no CPU.
    pub noticed_late: f64,
    /// Each command, in the order given.
    pub commands: Vec<Ended>,
    /// Set when we ended them.
    pub stopped: Option<Stopped>,
}

/// A command could not be started.
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    /// No such program.
    #[error("cannot run '{program}': no such command; check its spelling and PATH, or give the full path")]
    NotFound {
        /// First word of the command.
        program: String,
    },
    /// Not a program, or not for us.
    #[error(
        "cannot run '{program}': permission denied; is it executable (chmod +x), and on a file system without noexec?"
    )]
    NotExecutable {
        /// First word of the command.
        program: String,
    },
    /// No command at all.
    #[error("there is no command to run")]
    Empty,
    /// The folder to start in is not there.
    #[error("cannot run '{program}' in {}: {source}", dir.display())]
    Folder {
        /// First word of the command.
        program: String,
        /// The folder.
        dir: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Anything else.
    #[error("cannot run '{program}': {source}")]
    Start {
        /// First word of the command.
        program: String,
        /// Why.
        source: io::Error,
    },
}

/// Where a program is, as `execvp` looks for it, so that a misspelt one is found out before anything else happens.
///
/// # Errors
/// [`ProcessError::NotFound`] or [`ProcessError::NotExecutable`].
pub fn find_program(program: &str) -> Result<PathBuf, ProcessError> {
    let is_executable =
        |path: &PathBuf| path.is_file() && rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok();
    if program.contains('/') {
        let path = PathBuf::from(program);
        return match (is_executable(&path), path.exists()) {
            (true, _) => Ok(path),
            (false, true) => Err(ProcessError::NotExecutable { program: program.to_owned() }),
            (false, false) => Err(ProcessError::NotFound { program: program.to_owned() }),
        };
    }
    let search_path = std::env::var_os("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into());
    let found = std::env::split_paths(&search_path).map(|folder| folder.join(program)).find(is_executable);
    found.ok_or_else(|| ProcessError::NotFound { program: program.to_owned() })
}

/// What the watcher of a running job may see and decide.
pub trait Watch {
    /// Called right after the start and then once in every [`Watch::period`] with the pids that were started and still
    /// run. `false` stops the job.
    fn tick(&mut self, running: &[u32]) -> bool;

    /// How often to look. Ctrl-C is noticed as often.
    fn period(&self) -> Duration {
        WATCH_PERIOD
    }
}

/// How commands are started and how long they may take.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits<'a> {
    /// Stopped after this many seconds.
    pub timeout: Option<f64>,
    /// Read while waiting.
    pub interrupt: Option<&'a Interrupt>,
    /// A cgroup folder the commands start in.
    pub cgroup: Option<&'a Path>,
    /// Huge pages for these processes alone.
    pub thp: Option<ProcessThp>,
}

/// Runs one untimed step to its end. `tick` is called about ten times a second.
///
/// # Errors
/// When it cannot be started. A step that ends badly is no error here: look at [`Ended::status`].
pub fn run_step(command: &Command, interrupt: &Interrupt, tick: &mut dyn FnMut()) -> Result<Ended, ProcessError> {
    struct Ticking<'a>(&'a mut dyn FnMut());
    impl Watch for Ticking<'_> {
        fn tick(&mut self, _running: &[u32]) -> bool {
            (self.0)();
            true
        }
    }
    let limits = Limits { interrupt: Some(interrupt), ..Limits::default() };
    let mut ended = run(std::slice::from_ref(command), limits, &mut Ticking(tick))?;
    ended.commands.pop().ok_or(ProcessError::Empty)
}

/// Starts `commands` together and waits until the last has ended. Whatever they left behind in their sessions is killed.
///
/// # Errors
/// When one cannot be started; those already started are killed first.
pub fn run(commands: &[Command], limits: Limits<'_>, watch: &mut dyn Watch) -> Result<JobEnded, ProcessError> {
    let (sender, exits) = mpsc::channel();
    let started_at = Instant::now();
    let mut running: Vec<Running> = Vec::with_capacity(commands.len());
    for (index, command) in commands.iter().enumerate() {
        match Running::start(command, limits, index, sender.clone()) {
            Ok(started) => running.push(started),
            Err(error) => {
                running.iter().for_each(|r| r.signal(Signal::KILL));
                running.into_iter().for_each(Running::discard);
                return Err(error);
            }
        }
    }
    drop(sender);
    let (stopped, exits) = wait_for_all(&running, exits, limits, watch, started_at);
    let last = exits.iter().flatten().max_by_key(|exit| exit.at);
    let last_exit = last.map_or_else(Instant::now, |exit| exit.at);
    let noticed_late = last.map_or(0.0, |exit| exit.late.as_secs_f64());
    let commands = running.into_iter().zip(exits).map(|(running, exit)| running.finish(exit)).collect();
    Ok(JobEnded { wall: (last_exit - started_at).as_secs_f64(), noticed_late, commands, stopped })
}

/// A child that ended, as its waiting thread saw it.
struct Exit {
    index: usize,
    at: Instant,
    /// How much later than it was asked for the answer came.
    late: Duration,
    reaped: io::Result<child::Reaped>,
}

fn wait_for_all(
    running: &[Running],
    exits: mpsc::Receiver<Exit>,
    limits: Limits<'_>,
    watch: &mut dyn Watch,
    started_at: Instant,
) -> (Option<Stopped>, Vec<Option<Exit>>) {
    let mut seen: Vec<Option<Exit>> = running.iter().map(|_| None).collect();
    let mut stopped: Option<(Stopped, Instant)> = None;
    let mut next_tick = Instant::now();
    let mut killed = false;
    while seen.iter().any(Option::is_none) {
        let now = Instant::now();
        if now >= next_tick {
            next_tick = now + watch.period();
            let pids: Vec<u32> =
                running.iter().zip(&seen).filter(|(_, exit)| exit.is_none()).map(|(r, _)| r.pid).collect();
            let go_on = watch.tick(&pids) && limits.interrupt.is_none_or(|interrupt| !interrupt.is_set());
            let late = limits.timeout.is_some_and(|timeout| started_at.elapsed().as_secs_f64() > timeout);
            if stopped.is_none() && (late || !go_on) {
                let why = if go_on { Stopped::Timeout } else { Stopped::Interrupted };
                stopped = Some((why, Instant::now()));
                signal_unfinished(running, &seen, Signal::TERM);
            }
            if let Some((_, since)) = stopped
                && !killed
                && since.elapsed() > GRACE
            {
                killed = true;
                signal_unfinished(running, &seen, Signal::KILL);
            }
        }
        match exits.recv_timeout(next_tick.saturating_duration_since(Instant::now())) {
            Ok(exit) => {
                let index = exit.index;
                seen[index] = Some(exit);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    (stopped.map(|(why, _)| why), seen)
}

fn signal_unfinished(running: &[Running], seen: &[Option<Exit>], signal: Signal) {
    running.iter().zip(seen).filter(|(_, exit)| exit.is_none()).for_each(|(r, _)| r.signal(signal));
}

/// A started command: its pid, the thread that waits for it, and the ends of its output.
struct Running {
    pid: u32,
    started_at: Instant,
    waiter: Option<JoinHandle<()>>,
    stdout: OutputTail,
    stderr: OutputTail,
}

impl Running {
    fn start(
        command: &Command,
        limits: Limits<'_>,
        index: usize,
        exits: mpsc::Sender<Exit>,
    ) -> Result<Self, ProcessError> {
        let program = command.argv.first().ok_or(ProcessError::Empty)?.clone();
        let start_error = |source: io::Error| ProcessError::Start { program: program.clone(), source };
        if let Some(dir) = &command.dir {
            std::fs::metadata(dir).map_err(|source| ProcessError::Folder {
                program: program.clone(),
                dir: dir.clone(),
                source,
            })?;
        }
        let mut std_command = std::process::Command::new(&program);
        std_command.args(&command.argv[1..]).envs(&command.env).stdin(Stdio::null());
        if let Some(dir) = &command.dir {
            std_command.current_dir(dir);
        }
        let file = match &command.output {
            Output::Inherit => None,
            Output::Keep => {
                std_command.stdout(Stdio::piped()).stderr(Stdio::piped());
                None
            }
            Output::File(path) => {
                let file = File::create(path).map_err(start_error)?;
                std_command.stdout(file.try_clone().map_err(start_error)?).stderr(file);
                Some(path.clone())
            }
        };
        let cgroup_procs = limits.cgroup.map(open_procs).transpose().map_err(start_error)?;
        child::arrange(&mut std_command, ChildSetup { cgroup_procs, thp: limits.thp, parent: std::process::id() });
        let started_at = Instant::now();
        let mut child = std_command.spawn().map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => ProcessError::NotFound { program: program.clone() },
            io::ErrorKind::PermissionDenied => ProcessError::NotExecutable { program: program.clone() },
            _ => start_error(source),
        })?;
        let pid = child.id();
        let (stdout, stderr) = match file {
            Some(path) => (OutputTail::InFile(path), OutputTail::Nothing),
            None => (OutputTail::pipe(child.stdout.take()), OutputTail::pipe(child.stderr.take())),
        };
        let waiter = thread::Builder::new()
            .name("wait".to_owned())
            .stack_size(64 << 10)
            .spawn(move || {
                let _ = exits.send(wait_for_exit(index, pid, started_at));
            })
            .map_err(start_error)?;
        Ok(Running { pid, started_at, waiter: Some(waiter), stdout, stderr })
    }

    /// To every process of the command's session that did not leave its process group.
    fn signal(&self, signal: Signal) {
        if let Some(group) = as_pid(self.pid) {
            let _ = rustix::process::kill_process_group(group, signal);
        }
    }

    fn discard(mut self) {
        if let Some(waiter) = self.waiter.take() {
            let _ = waiter.join();
        }
    }

    fn finish(mut self, exit: Option<Exit>) -> Ended {
        if let Some(waiter) = self.waiter.take() {
            let _ = waiter.join();
        }
        let (at, reaped) = match exit {
            Some(Exit { at, reaped: Ok(reaped), .. }) => (at, Some(reaped)),
            Some(Exit { at, .. }) => (at, None),
            None => (Instant::now(), None),
        };
        Ended {
            // A status we could not collect is a failure, never a success.
            status: reaped.map_or(Status::Exited(-1), |reaped| decode_status(reaped.status)),
            wall: (at - self.started_at).as_secs_f64(),
            user: reaped.map_or(0.0, |r| r.user),
            system: reaped.map_or(0.0, |r| r.system),
            minor_faults: reaped.map_or(0, |r| r.minor_faults),
            major_faults: reaped.map_or(0, |r| r.major_faults),
            voluntary_switches: reaped.map_or(0, |r| r.voluntary_switches),
            involuntary_switches: reaped.map_or(0, |r| r.involuntary_switches),
            stdout: self.stdout.finish(),
            stderr: self.stderr.finish(),
        }
    }
}

/// Blocks until the child has ended, kills what it left in its process group, and only then reaps it: as long as the
/// leader is a zombie its number cannot be given to a stranger.
fn wait_for_exit(index: usize, pid: u32, started_at: Instant) -> Exit {
    let child = as_pid(pid);
    let (at, late) = match child.map(|child| (child, pidfd_open(child, PidfdFlags::empty()))) {
        Some((_, Ok(pidfd))) => notice_end(started_at, |within| ends_within(&pidfd, within)),
        Some((child, Err(_))) => notice_end(started_at, |within| is_dead_within(child, within)),
        None => (Instant::now(), Duration::ZERO),
    };
    if let Some(group) = child {
        let _ = rustix::process::kill_process_group(group, Signal::KILL);
    }
    Exit { index, at, late, reaped: child::reap(pid) }
}

/// When a command that was started then was noticed to have ended, and how late: this thread does nothing but ask `ended_within` over and over, so an
/// answer that comes later than it was asked for comes to a process that was stopped or got no CPU. It may have ended earlier still by what was asked
/// for: [`WATCH_PERIOD`], or a twentieth of the time it ran, up to five times that. Asking ten times a second took 0.07 % of a CPU.
fn notice_end(started: Instant, mut ended_within: impl FnMut(Duration) -> bool) -> (Instant, Duration) {
    let mut seen_running = started;
    loop {
        let within = ((seen_running - started) / 20).clamp(WATCH_PERIOD, WATCH_PERIOD * 5);
        let ended = ended_within(within);
        let now = Instant::now();
        if ended {
            let late = now.saturating_duration_since(seen_running + within);
            return (now, if late > WATCH_PERIOD / 4 { late } else { Duration::ZERO });
        }
        seen_running = now;
    }
}

/// Whether the process ends within that time: then its pidfd is readable.
pub(crate) fn ends_within(pidfd: &OwnedFd, within: Duration) -> bool {
    let within = Timespec { tv_sec: within.as_secs().cast_signed(), tv_nsec: within.subsec_nanos().into() };
    poll(&mut [PollFd::new(pidfd, PollFlags::IN)], Some(&within)).is_ok_and(|ready| ready > 0)
}

/// As [`ends_within`] before Linux 5.3, where nothing waits for a process and for a time at once: looks every five
/// milliseconds.
fn is_dead_within(child: Pid, within: Duration) -> bool {
    let until = Instant::now() + within;
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
    while let Ok(None) | Err(rustix::io::Errno::INTR) = rustix::process::waitid(WaitId::Pid(child), options) {
        if Instant::now() >= until {
            return false;
        }
        thread::sleep(Duration::from_millis(5));
    }
    true
}

fn as_pid(pid: u32) -> Option<Pid> {
    i32::try_from(pid).ok().and_then(Pid::from_raw)
}

fn decode_status(raw: i32) -> Status {
    if libc::WIFSIGNALED(raw) { Status::Signalled(libc::WTERMSIG(raw)) } else { Status::Exited(libc::WEXITSTATUS(raw)) }
}

fn open_procs(cgroup: &Path) -> io::Result<OwnedFd> {
    File::options().write(true).open(cgroup.join("cgroup.procs")).map(OwnedFd::from)
}

/// The end of an output stream.
enum OutputTail {
    Nothing,
    InFile(PathBuf),
    Piped { tail: Arc<Mutex<Vec<u8>>>, reader: Option<JoinHandle<()>> },
}

impl OutputTail {
    fn pipe(stream: Option<impl Read + Send + 'static>) -> OutputTail {
        let Some(mut stream) = stream else { return OutputTail::Nothing };
        let tail = Arc::new(Mutex::new(Vec::new()));
        let shared = Arc::clone(&tail);
        let read_all = move || {
            let mut chunk = [0u8; 8192];
            while let Ok(n @ 1..) = stream.read(&mut chunk) {
                let Ok(mut tail) = shared.lock() else { return };
                tail.extend_from_slice(&chunk[..n]);
                if tail.len() > 2 * KEPT_OUTPUT {
                    let excess = tail.len() - KEPT_OUTPUT;
                    tail.drain(..excess);
                }
            }
        };
        let reader = thread::Builder::new().name("output".to_owned()).stack_size(64 << 10).spawn(read_all).ok();
        OutputTail::Piped { tail, reader }
    }

    fn finish(self) -> String {
        match self {
            OutputTail::Nothing => String::new(),
            OutputTail::InFile(path) => end_of_file(&path).unwrap_or_default(),
            OutputTail::Piped { tail, reader } => {
                let deadline = Instant::now() + OUTPUT_GRACE;
                while reader.as_ref().is_some_and(|reader| !reader.is_finished()) && Instant::now() < deadline {
                    thread::sleep(Duration::from_millis(1));
                }
                let bytes = tail.lock().map(|tail| tail.clone()).unwrap_or_default();
                let start = bytes.len().saturating_sub(KEPT_OUTPUT);
                String::from_utf8_lossy(&bytes[start..]).into_owned()
            }
        }
    }
}

fn end_of_file(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(KEPT_OUTPUT as u64)))?;
    let mut bytes = Vec::new();
    file.take(KEPT_OUTPUT as u64).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(argv: &[&str]) -> Command {
        Command { argv: argv.iter().map(|s| (*s).to_owned()).collect(), ..Command::default() }
    }

    fn step(argv: &[&str]) -> Result<Ended, ProcessError> {
        run_step(&command(argv), &Interrupt::default(), &mut || {})
    }

    struct Quiet;
    impl Watch for Quiet {
        fn tick(&mut self, _running: &[u32]) -> bool {
            true
        }
    }

    #[test]
    fn output_and_status_come_back() {
        let ended = step(&["sh", "-c", "echo out; echo err >&2; exit 3"]).unwrap();
        assert_eq!((ended.status, ended.stdout.as_str(), ended.stderr.as_str()), (Status::Exited(3), "out\n", "err\n"));
        assert_eq!((ended.last_words().as_str(), ended.last_lines().as_str()), ("err", "err"));
        let jvm = "Unrecognized VM option 'Foo'\n\nError: Could not create it.\nError: Program will exit.\n";
        let ended = Ended { stderr: format!("before\n{jvm}"), ..ended };
        let lines = "Unrecognized VM option 'Foo' | Error: Could not create it. | Error: Program will exit.";
        assert_eq!(ended.last_lines(), lines, "the line that says why is not the last");
    }

    #[test]
    fn a_signal_is_told_from_an_exit() {
        assert_eq!(step(&["sh", "-c", "kill -KILL $$"]).unwrap().status, Status::Signalled(9));
        assert_eq!(Status::Signalled(11).to_string(), "killed by SIGSEGV (signal 11)");
    }

    #[test]
    fn an_end_that_is_noticed_late_is_uncertain_by_as_much() {
        let asked_for = |answers: &[(u64, bool)]| {
            let mut answers = answers.iter();
            notice_end(Instant::now(), |within| {
                let (extra, ended) = answers.next().expect("it goes on after the end");
                thread::sleep(if *ended {
                    Duration::from_millis(*extra)
                } else {
                    within.min(Duration::from_millis(5))
                });
                *ended
            })
            .1
        };
        assert_eq!(asked_for(&[(0, false), (0, true)]), Duration::ZERO);
        let late = asked_for(&[(0, false), (0, false), (600, true)]).as_secs_f64();
        assert!((0.5..5.0).contains(&late), "stopped for 600 ms, of which 95 were asked for: {late}");
        let started = Instant::now().checked_sub(Duration::from_secs(3)).unwrap();
        let late = notice_end(started, |_| true).1.as_secs_f64();
        assert!((2.9..5.0).contains(&late), "stopped before this thread first looked: {late}");
    }

    #[test]
    fn with_and_without_a_pidfd_an_end_is_seen_when_it_comes() {
        for has_pidfd in [true, false] {
            let mut child = std::process::Command::new("sleep").arg("0.3").spawn().unwrap();
            let pid = as_pid(child.id()).unwrap();
            let pidfd = pidfd_open(pid, PidfdFlags::empty()).unwrap();
            let (started, mut answers) = (Instant::now(), 0);
            let (at, _) = notice_end(started, |within| {
                answers += 1;
                if has_pidfd { ends_within(&pidfd, within) } else { is_dead_within(pid, within) }
            });
            assert!((at - started).as_secs_f64() > 0.25, "{has_pidfd}: seen to end before it did");
            assert!(answers > 1, "{has_pidfd}: nobody would know how late it was seen");
            assert!(child.wait().unwrap().success(), "{has_pidfd}: looking at it took its status");
        }
    }

    #[test]
    fn an_endless_talker_keeps_only_its_end() {
        let ended = step(&["sh", "-c", "yes | head -c 3000000; echo last"]).unwrap();
        assert!(ended.stdout.len() <= KEPT_OUTPUT && ended.stdout.ends_with("last\n"));
    }

    #[test]
    fn a_missing_command_is_named() {
        assert!(matches!(step(&["no-such-command-here"]), Err(ProcessError::NotFound { .. })));
        assert!(matches!(step(&["/etc/passwd"]), Err(ProcessError::NotExecutable { .. })));
        assert!(matches!(step(&[]), Err(ProcessError::Empty)));
    }

    #[test]
    fn a_program_is_found_as_the_system_finds_it() {
        assert!(find_program("sh").is_ok() && find_program("/bin/sh").is_ok());
        assert!(matches!(find_program("no-such-command-here"), Err(ProcessError::NotFound { .. })));
        assert!(matches!(find_program("/etc/passwd"), Err(ProcessError::NotExecutable { .. })));
        assert!(matches!(find_program("./nowhere"), Err(ProcessError::NotFound { .. })));
    }

    #[test]
    fn a_late_job_is_stopped_even_when_it_ignores_sigterm() {
        let job = command(&["sh", "-c", "trap '' TERM; while :; do sleep 0.1; done"]);
        let limits = Limits { timeout: Some(0.3), ..Limits::default() };
        let ended = run(&[job], limits, &mut Quiet).unwrap();
        assert_eq!(ended.stopped, Some(Stopped::Timeout));
        assert_eq!(ended.commands[0].status, Status::Signalled(9));
        assert!(ended.wall < 5.0, "took {}", ended.wall);
    }

    #[test]
    fn what_a_command_leaves_behind_is_killed() {
        let ended = step(&["sh", "-c", "sleep 1000 & echo $!"]).unwrap();
        let left: i32 = ended.stdout.trim().parse().unwrap();
        for _ in 0..100 {
            let gone = rustix::process::test_kill_process(Pid::from_raw(left).unwrap()).is_err();
            let zombie = std::fs::read_to_string(format!("/proc/{left}/stat")).is_ok_and(|stat| stat.contains(") Z "));
            if gone || zombie {
                return;
            }
            thread::sleep(Duration::from_millis(10));
        }
        panic!("process {left} was left behind");
    }

    #[test]
    fn commands_started_together_are_timed_together() {
        let jobs = [command(&["sleep", "0.1"]), command(&["sleep", "0.3"])];
        let ended = run(&jobs, Limits::default(), &mut Quiet).unwrap();
        assert!(ended.commands[0].wall < ended.commands[1].wall);
        assert!(ended.wall >= ended.commands[1].wall && ended.wall < 0.3 + 0.2 + 1.0);
    }
}

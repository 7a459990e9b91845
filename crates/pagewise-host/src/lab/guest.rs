//! A guest that runs: a child of ours, whose streams we hold, and which is watched to its end.

use super::accelerator::Accelerator;
use super::{LabError, LockedFolder, virtme};
use crate::free_space::free_space;
use crate::process::Interrupt;
use crate::sys::child::{self, ChildSetup};
use std::fs;
use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

/// What a guest says on one of its streams.
#[derive(Debug)]
pub enum StreamOutput {
    /// On standard output.
    Out(Vec<u8>),
    /// On standard error.
    Err(Vec<u8>),
}

/// How long a guest may take until its agent shows itself. Ours: a stock kernel takes some 20 s under emulation.
fn boot_patience(accelerator: Accelerator) -> Duration {
    Duration::from_secs(if accelerator == Accelerator::Kvm { 60 } else { 240 })
}

/// How long the agent may be silent once it was there. It says something every [`super::agent::PULSE`]; a guest that swaps itself to a
/// standstill for longer is no use to anybody.
const SILENCE: Duration = Duration::from_secs(150);

/// How often a guest is checked.
const CHECK_EVERY: Duration = Duration::from_millis(50);

/// How long QEMU may take to end once its guest has said how its task ended.
const GRACE: Duration = Duration::from_millis(200);

/// How a guest's task ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskEnded {
    /// Its exit status, as a shell has it.
    pub status: u8,
    /// How often the guest's kernel killed a process for lack of memory.
    pub oom_kills: u32,
}

/// What is started, and how it is watched.
#[derive(Debug)]
pub(super) struct Watched {
    /// QEMU and its words.
    pub(super) argv: Vec<String>,
    /// Where what its kernel prints goes.
    pub(super) console: PathBuf,
    /// Where the exit status of its task is written.
    pub(super) status: PathBuf,
    /// A file that changes as long as it is alive.
    pub(super) pulse: PathBuf,
    /// What it runs, for an error.
    pub(super) what: String,
    /// How long it may take until it shows itself.
    pub(super) patience: Duration,
    /// How long it may be silent from then on.
    pub(super) silence: Duration,
}

/// A guest. Dropped, it is killed.
#[derive(Debug)]
pub struct RunningGuest {
    child: Child,
    input: Option<ChildStdin>,
    said: Receiver<StreamOutput>,
    kernel: String,
    console: PathBuf,
    status: PathBuf,
    pulse: PathBuf,
    patience: Duration,
    silence: Duration,
    started: Instant,
    /// What the pulse was when it last changed, and when that was.
    last_pulse: Option<(String, Instant)>,
    status_since: Option<Instant>,
    /// The end of what it said on standard error, where nobody passes that on.
    complaints: Option<Vec<u8>>,
}

impl RunningGuest {
    /// Keeps what is said on standard error for the error that may follow.
    pub fn keep_complaints(&mut self) {
        self.complaints = Some(Vec::new());
    }

    /// What was kept, its last lines in one.
    #[must_use]
    pub fn complaint(&self) -> String {
        let text = String::from_utf8_lossy(self.complaints.as_deref().unwrap_or_default()).into_owned();
        let mut lines: Vec<&str> = text.lines().rev().map(str::trim).filter(|line| !line.is_empty()).take(3).collect();
        lines.reverse();
        lines.join(" | ")
    }

    /// Starts one, whose task lies in the shared folder already. It dies with the thread that calls this.
    ///
    /// # Errors
    /// When QEMU cannot be started.
    pub fn start(
        guest: &virtme::Guest,
        folder: &LockedFolder,
        kernel: &str,
        accelerator: Accelerator,
    ) -> Result<RunningGuest, LabError> {
        RunningGuest::start_watched(Watched {
            argv: guest.argv.clone(),
            console: guest.console.clone(),
            status: guest.status.clone(),
            pulse: folder.shared().join(super::agent::PULSE_FILE),
            what: format!("Linux {kernel}"),
            patience: boot_patience(accelerator),
            silence: SILENCE,
        })
    }

    /// Starts QEMU with these words. It dies with the thread that calls this.
    ///
    /// # Errors
    /// When QEMU cannot be started.
    pub(super) fn start_watched(watched: Watched) -> Result<RunningGuest, LabError> {
        for left in [&watched.console, &watched.status] {
            let _ = fs::remove_file(left);
        }
        let argv = &watched.argv;
        let mut command = Command::new(&argv[0]);
        command.args(&argv[1..]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        child::arrange(&mut command, ChildSetup { cgroup_procs: None, thp: None, parent: std::process::id() });
        let failed = |source: std::io::Error| LabError::Step(format!("cannot run {}: {source}", argv[0]));
        let mut child = command.spawn().map_err(failed)?;
        let (sender, said) = mpsc::channel();
        if let Some(stream) = child.stdout.take() {
            read_all(stream, sender.clone(), StreamOutput::Out);
        }
        if let Some(stream) = child.stderr.take() {
            read_all(stream, sender, StreamOutput::Err);
        }
        let Watched { console, status, pulse, what, patience, silence, .. } = watched;
        Ok(RunningGuest {
            input: child.stdin.take(),
            child,
            said,
            kernel: what,
            console,
            status,
            pulse,
            patience,
            silence,
            started: Instant::now(),
            last_pulse: None,
            status_since: None,
            complaints: None,
        })
    }

    /// Sends a line to its task.
    ///
    /// # Errors
    /// When the guest is gone.
    pub fn send(&mut self, line: &str) -> Result<(), LabError> {
        let written = self.input.as_mut().map(|input| writeln!(input, "{line}").and_then(|()| input.flush()));
        match written {
            Some(Ok(())) => Ok(()),
            _ => Err(self.ended("ended before it could be told what to do")),
        }
    }

    /// What it says next, within `at_most`; `None` when it said nothing.
    ///
    /// # Errors
    /// Ctrl-C; or the guest ended, did not come up or went silent before its task ended.
    pub fn next(&mut self, at_most: Duration, interrupt: &Interrupt) -> Result<Option<StreamOutput>, LabError> {
        let until = Instant::now() + at_most;
        loop {
            interrupt.check()?;
            let left = until.saturating_duration_since(Instant::now());
            match self.said.recv_timeout(CHECK_EVERY.min(left)) {
                Ok(said) => {
                    if let (StreamOutput::Err(bytes), Some(kept)) = (&said, &mut self.complaints) {
                        const KEPT: usize = 4096;
                        kept.extend_from_slice(bytes);
                        kept.drain(..kept.len().saturating_sub(KEPT));
                    }
                    return Ok(Some(said));
                }
                Err(RecvTimeoutError::Timeout) => {}
                // QEMU closes its streams when it ends, and takes a moment to.
                Err(RecvTimeoutError::Disconnected) => thread::sleep(CHECK_EVERY.min(left)),
            }
            if self.has_status() {
                return Ok(None);
            }
            self.check()?;
            if left.is_zero() {
                return Ok(None);
            }
        }
    }

    /// Whether its agent has shown itself.
    #[must_use]
    pub fn is_up(&self) -> bool {
        self.last_pulse.is_some()
    }

    /// Waits for its agent, so long at most. What it says meanwhile stays for [`RunningGuest::next`].
    ///
    /// # Errors
    /// As [`RunningGuest::next`].
    pub fn wait_for_it(&mut self, at_most: Duration, interrupt: &Interrupt) -> Result<(), LabError> {
        interrupt.check()?;
        interrupt.wait(at_most);
        self.check()
    }

    /// How its task ended, once it has and all that it said was taken; `None` before.
    ///
    /// # Errors
    /// When the guest ended before its task did.
    pub fn task_ended(&mut self) -> Result<Option<TaskEnded>, LabError> {
        if !self.has_status() {
            return Ok(None);
        }
        // What the task said last may still be on its way; and QEMU may end by itself.
        let since = *self.status_since.get_or_insert_with(Instant::now);
        let is_over = matches!(self.child.try_wait(), Ok(Some(_)));
        if !is_over && since.elapsed() < GRACE {
            return Ok(None);
        }
        let text = fs::read_to_string(&self.status).unwrap_or_default();
        let status = text.trim().parse::<i32>().map_or(255, |status| u8::try_from(status & 0xff).unwrap_or(255));
        Ok(Some(TaskEnded { status, oom_kills: oom_kills(&self.console_text()) }))
    }

    fn has_status(&self) -> bool {
        fs::metadata(&self.status).is_ok_and(|about| about.len() > 0)
    }

    /// Whether the guest still is what it should be.
    fn check(&mut self) -> Result<(), LabError> {
        if let Ok(Some(ended)) = self.child.try_wait() {
            if self.has_status() {
                return Ok(());
            }
            let panicked = self.console_text().contains("Kernel panic");
            return Err(match (panicked, ended.signal()) {
                (true, _) => self.ended("panicked"),
                (false, Some(signal)) => {
                    self.ended(&format!("ended before its task: QEMU was killed by signal {signal}"))
                }
                (false, None) => {
                    let code = ended.code().unwrap_or(-1);
                    self.ended(&format!("ended before its task: QEMU ended with exit status {code}"))
                }
            });
        }
        if let Ok(pulse) = fs::read_to_string(&self.pulse)
            && self.last_pulse.as_ref().is_none_or(|(before, _)| *before != pulse)
        {
            self.last_pulse = Some((pulse, Instant::now()));
        }
        let what = match &self.last_pulse {
            None if self.started.elapsed() > self.patience => {
                format!("did not come up within {} s", self.patience.as_secs())
            }
            Some((_, at)) if at.elapsed() > self.silence => {
                format!("went silent: nothing was heard of it for {} s", self.silence.as_secs())
            }
            _ => return Ok(()),
        };
        let error = self.ended(&what);
        self.kill();
        Err(error)
    }

    fn console_text(&self) -> String {
        String::from_utf8_lossy(&fs::read(&self.console).unwrap_or_default()).into_owned()
    }

    /// An end that nobody wanted, with what QEMU complained of and the last words of the kernel.
    fn ended(&self, what: &str) -> LabError {
        let late: Vec<u8> = self
            .said
            .try_iter()
            .flat_map(|said| match said {
                StreamOutput::Err(bytes) => bytes,
                StreamOutput::Out(_) => Vec::new(),
            })
            .collect();
        let complaints = [self.complaints.clone().unwrap_or_default(), late].concat();
        let mut words = last_words(&self.console_text(), &String::from_utf8_lossy(&complaints));
        if let Some(folder) = self.console.parent().filter(|folder| has_no_room(folder)) {
            words.push_str(&format!("\n  {} is full: no space is left on its file system", folder.display()));
        }
        LabError::Guest { kernel: self.kernel.clone(), what: what.to_owned(), last_words: words }
    }

    fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for RunningGuest {
    fn drop(&mut self) {
        self.kill();
    }
}

fn read_all(mut stream: impl Read + Send + 'static, sender: Sender<StreamOutput>, wrap: fn(Vec<u8>) -> StreamOutput) {
    let read = move || {
        let mut chunk = [0; 8192];
        while let Ok(read @ 1..) = stream.read(&mut chunk) {
            if sender.send(wrap(chunk[..read].to_vec())).is_err() {
                return;
            }
        }
    };
    let _ = thread::Builder::new().name("guest".to_owned()).stack_size(64 << 10).spawn(read);
}

/// Whether what a guest needs for itself no longer fits: its status, its pulse, its console.
fn has_no_room(folder: &Path) -> bool {
    const LEAST: u64 = 1 << 20;
    free_space(folder).is_ok_and(|free| free < LEAST)
}

/// How many processes a kernel killed for lack of memory, by its console.
fn oom_kills(console: &str) -> u32 {
    u32::try_from(console.matches("Out of memory: Killed process").count()).unwrap_or(u32::MAX)
}

/// The last lines of the console from the panic on, or the very last; and what QEMU said.
fn last_words(console: &str, complaints: &str) -> String {
    const LINES: usize = 12;
    // What every kernel prints while it comes up.
    const USUAL: [&str; 8] = [
        "BIOS-",
        "KASLR",
        "earlyser",
        "Command line:",
        "Linux version",
        "Invalid ELF header",
        "reboot: Power down",
        "not yet initialized",
    ];
    let is_told = |line: &&str| !line.is_empty() && !USUAL.iter().any(|usual| line.contains(usual));
    let lines: Vec<&str> = console.lines().map(str::trim_end).filter(is_told).collect();
    let from = lines.iter().position(|line| line.contains("Kernel panic") || line.contains("BUG:"));
    let from = from.map_or(lines.len().saturating_sub(LINES), |at| at.saturating_sub(4));
    let printable = |line: &str| line.chars().filter(|c| !c.is_control()).take(160).collect::<String>();
    let mut words: Vec<String> =
        lines[from..].iter().take(LINES).map(|line| format!("\n  | {}", printable(line))).collect();
    words.extend(
        complaints
            .lines()
            .rev()
            .take(3)
            .collect::<Vec<_>>()
            .into_iter()
            .rev()
            .map(|line| format!("\n  stderr: {}", printable(line))),
    );
    if words.is_empty() { String::new() } else { format!(". What it said last:{}", words.concat()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_words_begin_before_the_panic() {
        let mut console: String = (0..40).map(|line| format!("[{line}] line {line}\r\n")).collect();
        console.push_str("[41] Kernel panic - not syncing: sysrq triggered crash\r\n[42] CPU: 0\r\n");
        let words = last_words(&console, "");
        assert!(words.contains("line 36") && words.contains("sysrq") && !words.contains("line 35"), "{words}");
        let words = last_words("one\n", "could not open disk\n");
        assert!(words.contains("| one") && words.contains("stderr: could not open disk"), "{words}");
        assert_eq!(last_words("", ""), "");
    }

    #[test]
    fn kills_for_lack_of_memory_are_counted() {
        let console = "[1] Out of memory: Killed process 7 (java)\n[2] Out of memory: Killed process 9 (java)\n";
        assert_eq!(oom_kills(console), 2);
    }
}

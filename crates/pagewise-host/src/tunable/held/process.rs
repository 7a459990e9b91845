//! The process that holds a value: how it lives, how it is found, how it is ended.
//!
//! It is the same program under a hidden verb, in a session of its own. Its command line says what it holds, its name how far it is.
//! Until the one who started it says "keep", it ends when that one does; from then on the journal's undo ends it, and the end of the
//! owner where the change ends with one. It is the first that the OOM killer takes.

use super::{HoldLimit, Holder};
use crate::root::Root;
use crate::source::{kernel_threads, process};
use crate::sys;
use pagewise_core::change::line::Owner;
use pagewise_core::tunable::Tunable;
use rustix::event::{PollFd, PollFlags};
use rustix::fd::OwnedFd;
use rustix::process::{Pid, PidfdFlags, Resource, Signal, WaitOptions};
use rustix::time::Timespec;
use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::process::{ChildStdin, ChildStdout, Command, ExitCode, Stdio};
use std::time::Duration;

/// The hidden verb under which the program holds a value.
pub const VERB: &str = "__keep";

/// What the program calls itself, as first word of the command line.
pub(super) const PROGRAM: &str = "pagewise";

/// The process's name while it brings the value about, and once it holds it. The kernel keeps 15 characters.
const STARTING: &str = "pagewise-starts";
const HOLDING: &str = "pagewise-holds";

/// How long a value may take to be in force: ageing takes minutes on a host with terabytes.
const IN_FORCE_WITHIN: Duration = Duration::from_secs(600);

/// How long an ended process may take to give everything back.
const GONE_WITHIN: Duration = Duration::from_secs(10);

const READY: &str = "ready";
const KEEP: &str = "keep";
const KEPT: &str = "kept";

/// The value that is held.
pub(super) fn in_force(tunable: &Tunable) -> Option<String> {
    holders(tunable).find_map(|(_, name, value)| (name == HOLDING).then_some(value))
}

/// Every process of ours that holds a value of the tunable or is about to: same user, same command line.
fn holders(tunable: &Tunable) -> impl Iterator<Item = (u32, String, String)> {
    let programs = kernel_threads::programs(&Root::live()).into_iter();
    programs.filter_map(|pid| Some((pid, name(pid)?, held_by(pid, tunable)?)))
}

fn name(pid: u32) -> Option<String> {
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).ok()?.trim_end().to_owned();
    // Cheap, and spares reading every other process's command line.
    (name == HOLDING || name == STARTING).then_some(name)
}

/// Another user can give a process any name and command line, but not our user id.
fn held_by(pid: u32, tunable: &Tunable) -> Option<String> {
    let folder = fs::metadata(format!("/proc/{pid}")).ok()?;
    if folder.uid() != rustix::process::geteuid().as_raw() {
        return None;
    }
    let line = fs::read_to_string(format!("/proc/{pid}/cmdline")).ok()?;
    value_of(&line, tunable)
}

fn value_of(command_line: &str, tunable: &Tunable) -> Option<String> {
    let words: Vec<&str> = command_line.trim_end_matches('\0').split('\0').collect();
    match words[..] {
        [PROGRAM, VERB, name, value] if name == tunable.name => {
            tunable.canonical(value).ok().filter(|value| tunable.descriptor.unheld != Some(value))
        }
        _ => None,
    }
}

/// Ends every process that holds a value of the tunable and waits until what it held is free.
pub(super) fn end_all(tunable: &Tunable) -> io::Result<()> {
    holders(tunable).try_for_each(|(pid, ..)| end(pid, tunable))
}

/// Ends those that have not come to hold: whoever started them is gone.
pub(super) fn end_unfinished(tunable: &Tunable) -> io::Result<()> {
    holders(tunable).filter(|(_, name, _)| name == STARTING).try_for_each(|(pid, ..)| end(pid, tunable))
}

/// The descriptor stands for one process for ever; only after it is open the number is checked again. So a process that
/// got the number meanwhile is never hit.
fn end(pid: u32, tunable: &Tunable) -> io::Result<()> {
    let Some(process) = open(pid)? else { return Ok(()) };
    if held_by(pid, tunable).is_none() {
        return Ok(());
    }
    match rustix::process::pidfd_send_signal(&process, Signal::KILL) {
        Ok(()) | Err(rustix::io::Errno::SRCH) => {}
        Err(error) => return Err(error.into()),
    }
    if poll(&mut [PollFd::new(&process, PollFlags::IN)], Some(GONE_WITHIN))? == 0 {
        return Err(io::Error::new(io::ErrorKind::TimedOut, "it was killed and is still there after 10 s"));
    }
    // Ours to wait for when we started it; else there is nothing to do.
    let _ = rustix::process::waitpid(pid_of(pid), WaitOptions::NOHANG);
    Ok(())
}

/// `None` when there is no such process any more.
fn open(pid: u32) -> io::Result<Option<OwnedFd>> {
    let Some(pid) = pid_of(pid) else { return Ok(None) };
    match rustix::process::pidfd_open(pid, PidfdFlags::empty()) {
        Ok(process) => Ok(Some(process)),
        Err(rustix::io::Errno::SRCH) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn pid_of(pid: u32) -> Option<Pid> {
    i32::try_from(pid).ok().and_then(Pid::from_raw)
}

/// Without a timeout it waits for ever.
fn poll(fds: &mut [PollFd<'_>], timeout: Option<Duration>) -> io::Result<usize> {
    let timeout = timeout.map(|timeout| Timespec {
        tv_sec: i64::try_from(timeout.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(timeout.subsec_nanos()),
    });
    loop {
        match rustix::event::poll(fds, timeout.as_ref()) {
            Err(rustix::io::Errno::INTR) => {}
            answer => return Ok(answer?),
        }
    }
}

/// Starts a process that holds the value and waits until it is in force.
///
/// # Errors
/// In words; nothing is held then.
pub(super) fn start(tunable: &Tunable, value: &str, until: HoldLimit) -> Result<(), String> {
    let mut command = Command::new("/proc/self/exe");
    command.args([VERB, &tunable.name, value]).arg0(PROGRAM).current_dir("/");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    sys::session::arrange(&mut command);
    let mut child = command.spawn().map_err(|error| format!("no process to hold it could be started: {error}"))?;
    let pipes = child.stdin.take().zip(child.stdout.take());
    let answer = match pipes {
        Some((input, output)) => agree(input, output, until),
        None => Err("it has no pipes".to_owned()),
    };
    answer.inspect_err(|_| {
        let _ = child.kill();
        let _ = child.wait();
    })
}

/// `ready` from the holder, `keep` from us, `kept` from the holder; or its reason why not.
fn agree(mut input: ChildStdin, output: ChildStdout, until: HoldLimit) -> Result<(), String> {
    let mut output = BufReader::new(output);
    let mut hear = || -> Result<String, String> {
        let answered = poll(&mut [PollFd::new(output.get_ref(), PollFlags::IN)], Some(IN_FORCE_WITHIN));
        if answered.map_err(|error| error.to_string())? == 0 {
            return Err(format!("it was not in force within {} s", IN_FORCE_WITHIN.as_secs()));
        }
        let mut line = String::new();
        match output.read_line(&mut line) {
            Ok(read) if read > 0 => Ok(line.trim_end().to_owned()),
            Ok(_) => Err("the process that was to hold it ended early; the OOM killer takes it first".to_owned()),
            Err(error) => Err(error.to_string()),
        }
    };
    let expect = |heard: String, word: &str| if heard == word { Ok(()) } else { Err(heard) };
    expect(hear()?, READY)?;
    input.write_all(keep_word(until).as_bytes()).map_err(|error| error.to_string())?;
    expect(hear()?, KEPT)
}

fn keep_word(until: HoldLimit) -> String {
    match until {
        HoldLimit::Undone => format!("{KEEP}\n"),
        HoldLimit::Ends(owner) => format!("{KEEP} {} {}\n", owner.pid, owner.start_time),
    }
}

/// `None`: not a whole word, so whoever started us is gone.
fn until_of(word: &str) -> Option<HoldLimit> {
    let words: Vec<&str> = word.strip_suffix('\n')?.split(' ').collect();
    match words[..] {
        [KEEP] => Some(HoldLimit::Undone),
        [KEEP, pid, start_time] => {
            Some(HoldLimit::Ends(Owner { pid: pid.parse().ok()?, start_time: start_time.parse().ok()? }))
        }
        _ => None,
    }
}

/// What a process that holds a value knows of those it does it for.
pub(super) struct Holding {
    /// Whose end is ours, once the value is in force.
    owner: Option<OwnedFd>,
}

impl Holding {
    /// Whether the one who started us still waits for the value.
    pub(super) fn is_awaited(&self) -> bool {
        let input = rustix::stdio::stdin();
        let mut fds = [PollFd::new(&input, PollFlags::IN)];
        let is_over = |fd: &PollFd<'_>| fd.revents().intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL);
        poll(&mut fds, Some(Duration::ZERO)).is_ok_and(|_| !is_over(&fds[0]))
    }

    /// Says that the value is in force, and hears how long it is to be held.
    ///
    /// # Errors
    /// When nobody is there any more who would want it.
    pub(super) fn in_force(&mut self) -> Result<(), String> {
        let gone = || "whoever started it is gone".to_owned();
        say(READY);
        let mut word = String::new();
        let _ = io::stdin().lock().read_line(&mut word);
        if let HoldLimit::Ends(owner) = until_of(&word).ok_or_else(gone)? {
            let process = open(owner.pid).map_err(|error| error.to_string())?.ok_or_else(gone)?;
            // Asked once the descriptor is open: another process may have got the number.
            if process::start_time(&Root::live(), owner.pid) != Some(owner.start_time) {
                return Err(gone());
            }
            self.owner = Some(process);
        }
        let _ = rustix::thread::set_name(c"pagewise-holds");
        say(KEPT);
        Ok(())
    }

    /// Waits this long, or for ever; whether the value is not wanted any more. An undo does not ask: it kills.
    pub(super) fn is_over_within(&self, time: Option<Duration>) -> bool {
        let mut owner: Vec<PollFd<'_>> = self.owner.iter().map(|owner| PollFd::new(owner, PollFlags::IN)).collect();
        poll(&mut owner, time).is_ok_and(|ended| ended > 0)
    }
}

/// The life of such a process.
pub(super) fn live(value: &str, holder: &dyn Holder) -> ExitCode {
    let _ = rustix::thread::set_name(c"pagewise-starts");
    let _ = fs::write("/proc/self/oom_score_adj", "1000");
    raise_open_files();
    match holder.hold(value, &mut Holding { owner: None }) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            say(&why);
            ExitCode::FAILURE
        }
    }
}

/// To whoever started us. It may be dead, and then nobody hears it.
fn say(line: &str) {
    let _ = writeln!(io::stdout(), "{line}");
}

/// What is held may take many descriptors: one pipe holds 256 pages, and a host with a terabyte needs 2000 of them.
fn raise_open_files() {
    let mut limit = rustix::process::getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    let _ = rustix::process::setrlimit(Resource::Nofile, limit);
}

#[cfg(test)]
mod tests {
    use super::*;
    use pagewise_core::tunable::find;

    fn memory_state() -> Tunable {
        find("memory_state").unwrap()
    }

    #[test]
    fn only_the_hidden_verb_with_a_value_that_must_be_held_is_a_holder() {
        let value = |line: &str| value_of(line, &memory_state());
        assert_eq!(value("pagewise\0__keep\0memory_state\0aged(90%)\0").as_deref(), Some("aged(90%)"));
        for other in [
            "",
            "pagewise\0set\0memory_state=aged(90%)\0",
            "pagewise\0__keep\0memory_state\0fresh\0",
            "pagewise\0__keep\0swap\0off\0",
            "x\0__keep\0memory_state\0aged(9%)\0",
        ] {
            assert_eq!(value(other), None, "{other:?}");
        }
    }

    #[test]
    fn this_process_is_never_taken_for_a_holder() {
        assert_eq!(held_by(std::process::id(), &memory_state()), None);
        end(std::process::id(), &memory_state()).expect("left alone");
    }

    #[test]
    fn a_process_hears_how_long_it_is_to_hold_and_half_a_word_is_none() {
        for until in [HoldLimit::Undone, HoldLimit::Ends(Owner { pid: 7, start_time: 70 })] {
            let word = keep_word(until);
            assert_eq!(until_of(&word), Some(until));
            for cut in 0..word.len() {
                assert_eq!(until_of(&word[..cut]), None, "{:?}", &word[..cut]);
            }
        }
    }

    #[test]
    fn a_value_is_over_when_its_owner_ends_and_not_before() {
        let mut owner = Command::new("sleep").arg("60").spawn().unwrap();
        let holding = Holding { owner: open(owner.id()).unwrap() };
        assert!(!holding.is_over_within(Some(Duration::from_millis(20))));
        owner.kill().unwrap();
        assert!(holding.is_over_within(Some(Duration::from_secs(10))));
        owner.wait().unwrap();
        assert!(!Holding { owner: None }.is_over_within(Some(Duration::ZERO)));
    }
}

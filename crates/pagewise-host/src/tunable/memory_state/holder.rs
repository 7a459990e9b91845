//! The process that holds the pieces: how it lives, how it is found, how it is ended.
//!
//! It is the same program under a hidden verb, in a session of its own. Until the one who started it says "keep", it ends
//! when that one does; from then on only the journal's undo ends it. It is the first that the OOM killer takes.

use super::ager;
use crate::root::Root;
use crate::source::kernel_threads;
use crate::sys;
use pagewise_core::tunable::memory_state::{MemoryState, parse};
use rustix::event::{PollFd, PollFlags};
use rustix::process::{Pid, PidfdFlags, Resource, Signal, WaitOptions};
use rustix::time::Timespec;
use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::process::{ChildStdin, ChildStdout, Command, ExitCode, Stdio};
use std::time::Duration;

/// The hidden verb under which the program holds memory.
pub const VERB: &str = "__age";

/// What the program calls itself, as first word of the command line.
const PROGRAM: &str = "pagewise";

/// The process's name while it breaks memory up, and once it holds. The kernel keeps 15 characters.
const AGEING: &str = "pagewise-ageing";
pub(super) const AGED: &str = "pagewise-aged";

/// How long ageing may take: minutes on a host with terabytes.
const AGED_WITHIN: Duration = Duration::from_secs(600);

/// How long an ended holder may take to give its memory back.
const GONE_WITHIN: Duration = Duration::from_secs(10);

const KEEP: &[u8] = b"keep\n";
const KEPT: &str = "kept";

/// The holder that has done its work, and the state it holds.
pub(super) fn aged() -> Option<(u32, MemoryState)> {
    holders().find_map(|(pid, name, state)| (name == AGED).then_some((pid, state)))
}

/// Every process of ours under the hidden verb: same user, same command line.
fn holders() -> impl Iterator<Item = (u32, String, MemoryState)> {
    kernel_threads::programs(&Root::live()).into_iter().filter_map(|pid| Some((pid, name(pid)?, held_by(pid)?)))
}

fn name(pid: u32) -> Option<String> {
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).ok()?.trim_end().to_owned();
    // Cheap, and spares the look at every other process's command line.
    (name == AGED || name == AGEING).then_some(name)
}

/// Another user can give a process any name and command line, but not our user id.
fn held_by(pid: u32) -> Option<MemoryState> {
    let folder = fs::metadata(format!("/proc/{pid}")).ok()?;
    if folder.uid() != rustix::process::geteuid().as_raw() {
        return None;
    }
    let line = fs::read_to_string(format!("/proc/{pid}/cmdline")).ok()?;
    state_of(&line)
}

fn state_of(command_line: &str) -> Option<MemoryState> {
    let words: Vec<&str> = command_line.trim_end_matches('\0').split('\0').collect();
    match words[..] {
        [PROGRAM, VERB, state] => parse(state).ok().filter(|state| *state != MemoryState::Fresh),
        _ => None,
    }
}

/// Ends every holder and waits until its memory is free.
pub(super) fn end_all() -> io::Result<()> {
    holders().try_for_each(|(pid, ..)| end(pid))
}

/// Ends those that have not come to hold: whoever started them is gone.
pub(super) fn end_unfinished() -> io::Result<()> {
    holders().filter(|(_, name, _)| name == AGEING).try_for_each(|(pid, ..)| end(pid))
}

/// The descriptor stands for one process for ever; only after it is open the number is looked at again. So a process that
/// got the number meanwhile is never hit.
fn end(pid: u32) -> io::Result<()> {
    let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) else { return Ok(()) };
    let process = match rustix::process::pidfd_open(pid, PidfdFlags::empty()) {
        Ok(process) => process,
        Err(rustix::io::Errno::SRCH) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    if held_by(pid.as_raw_nonzero().get().unsigned_abs()).is_none() {
        return Ok(());
    }
    match rustix::process::pidfd_send_signal(&process, Signal::KILL) {
        Ok(()) | Err(rustix::io::Errno::SRCH) => {}
        Err(error) => return Err(error.into()),
    }
    let mut waited = [PollFd::new(&process, PollFlags::IN)];
    if poll(&mut waited, GONE_WITHIN)? == 0 {
        return Err(io::Error::new(io::ErrorKind::TimedOut, "it was killed and is still there after 10 s"));
    }
    // Ours to wait for when we started it; else there is nothing to do.
    let _ = rustix::process::waitpid(Some(pid), WaitOptions::NOHANG);
    Ok(())
}

fn poll(fds: &mut [PollFd<'_>], timeout: Duration) -> io::Result<usize> {
    let timeout = Timespec { tv_sec: timeout.as_secs() as i64, tv_nsec: i64::from(timeout.subsec_nanos()) };
    loop {
        match rustix::event::poll(fds, Some(&timeout)) {
            Err(rustix::io::Errno::INTR) => {}
            answer => return Ok(answer?),
        }
    }
}

/// Starts a holder and waits until memory is as asked for.
///
/// # Errors
/// In words; nothing is held then.
pub(super) fn start(state: MemoryState) -> Result<(), String> {
    let mut command = Command::new("/proc/self/exe");
    command.args([VERB, &state.to_string()]).arg0(PROGRAM).current_dir("/");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    sys::session::arrange(&mut command);
    let mut child = command.spawn().map_err(|error| format!("no process to hold memory could be started: {error}"))?;
    let pipes = child.stdin.take().zip(child.stdout.take());
    let answer = match pipes {
        Some((input, output)) => agree(input, output),
        None => Err("it has no pipes".to_owned()),
    };
    answer.inspect_err(|_| {
        let _ = child.kill();
        let _ = child.wait();
    })
}

/// `ready` from the holder, `keep` from us, `kept` from the holder; or its reason why not.
fn agree(mut input: ChildStdin, output: ChildStdout) -> Result<(), String> {
    let mut output = BufReader::new(output);
    let mut hear = || -> Result<String, String> {
        let answered = poll(&mut [PollFd::new(output.get_ref(), PollFlags::IN)], AGED_WITHIN);
        if answered.map_err(|error| error.to_string())? == 0 {
            return Err(format!("memory was not aged within {} s", AGED_WITHIN.as_secs()));
        }
        let mut line = String::new();
        match output.read_line(&mut line) {
            Ok(read) if read > 0 => Ok(line.trim_end().to_owned()),
            Ok(_) => Err("the process that ages memory ended early; the OOM killer takes it first".to_owned()),
            Err(error) => Err(error.to_string()),
        }
    };
    let expect = |heard: String, word: &str| if heard == word { Ok(()) } else { Err(heard) };
    expect(hear()?, "ready")?;
    input.write_all(KEEP).map_err(|error| error.to_string())?;
    expect(hear()?, KEPT)
}

/// The holder's life.
#[must_use]
pub fn hold(state: &str) -> ExitCode {
    let _ = rustix::thread::set_name(c"pagewise-ageing");
    let _ = fs::write("/proc/self/oom_score_adj", "1000");
    raise_open_files();
    let pins = match aged_pins(state) {
        Ok(pins) => pins,
        Err(why) => {
            say(&why);
            return ExitCode::FAILURE;
        }
    };
    say("ready");
    let mut answer = Vec::new();
    let _ = io::stdin().lock().take(KEEP.len() as u64).read_to_end(&mut answer);
    if answer != KEEP {
        return ExitCode::FAILURE;
    }
    let _ = rustix::thread::set_name(c"pagewise-aged");
    say(KEPT);
    loop {
        std::thread::park();
        // Waking up without a reason is allowed, ending is not.
        std::hint::black_box(&pins);
    }
}

/// To whoever started us. It may be dead, and then nobody hears it.
fn say(line: &str) {
    let _ = writeln!(io::stdout(), "{line}");
}

fn aged_pins(state: &str) -> Result<ager::Pins, String> {
    let figure = parse(state)?.index();
    let pins = ager::age(&Root::live(), figure, &starter_lives)?;
    tracing::debug!("{} huge pages hold a pinned page", pins.blocks);
    Ok(pins)
}

fn starter_lives() -> bool {
    let input = rustix::stdio::stdin();
    let mut fds = [PollFd::new(&input, PollFlags::IN)];
    let is_over = |fd: &PollFd<'_>| fd.revents().intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL);
    poll(&mut fds, Duration::ZERO).is_ok_and(|_| !is_over(&fds[0]))
}

/// One pipe holds 256 pages: a host with a terabyte needs 2000 of them.
fn raise_open_files() {
    let mut limit = rustix::process::getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    let _ = rustix::process::setrlimit(Resource::Nofile, limit);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_hidden_verb_with_a_figure_is_a_holder() {
        assert_eq!(state_of("pagewise\0__age\0aged(90%)\0"), Some(MemoryState::Aged(90)));
        for other in ["", "pagewise\0set\0memory_state=aged(90%)\0", "pagewise\0__age\0fresh\0", "x\0__age\0aged(9%)\0"]
        {
            assert_eq!(state_of(other), None, "{other:?}");
        }
    }

    #[test]
    fn this_process_is_never_taken_for_a_holder() {
        assert_eq!(held_by(std::process::id()), None);
        end(std::process::id()).expect("left alone");
    }
}

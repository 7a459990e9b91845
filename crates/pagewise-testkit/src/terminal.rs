//! A terminal with a program in it, for what fills a screen: a pseudo-terminal that keys can be pressed on, and what a
//! person in front of it would see.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Termios, Winsize, tcgetattr, tcsetwinsize};
use std::fs::File;
use std::io::Read;
use std::num::NonZeroU16;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How long the program may take to end.
const ENDS_WITHIN: Duration = Duration::from_secs(30);

/// Between these (DEC private mode 2026) a terminal shows nothing: what a program draws in between appears at once.
const BEGIN_UPDATE: &[u8] = b"\x1b[?2026h";
const END_UPDATE: &[u8] = b"\x1b[?2026l";

/// What came from the program, and what it looks like.
struct ProgramOutput {
    screen: vt100::Parser,
    /// Came, and is not shown yet: an update whose end has not come, or what may be the first bytes of its beginning.
    held: Vec<u8>,
    bytes: Vec<u8>,
}

impl ProgramOutput {
    fn take(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        self.held.extend_from_slice(bytes);
        let shown = shown(&self.held);
        self.show(shown);
    }

    fn show(&mut self, count: usize) {
        self.screen.process(&self.held[..count]);
        self.held.drain(..count);
    }
}

/// How many of these bytes a terminal shows already.
fn shown(bytes: &[u8]) -> usize {
    let find = |from: usize, what: &[u8]| {
        bytes[from..].windows(what.len()).position(|window| window == what).map(|at| from + at)
    };
    let mut from = 0;
    while let Some(begin) = find(from, BEGIN_UPDATE) {
        match find(begin, END_UPDATE) {
            Some(end) => from = end + END_UPDATE.len(),
            None => return begin,
        }
    }
    let cut = (1..BEGIN_UPDATE.len()).rev().find(|count| bytes[from..].ends_with(&BEGIN_UPDATE[..*count]));
    bytes.len() - cut.unwrap_or(0)
}

/// A program in a terminal. Dropped, it ends the program.
pub struct Terminal {
    child: Child,
    /// Until it is closed.
    master: Option<OwnedFd>,
    /// The program's side, kept open to ask it how it is set.
    side: OwnedFd,
    before: Termios,
    seen: Arc<Mutex<ProgramOutput>>,
    is_over: Arc<AtomicBool>,
    reading: Option<JoinHandle<()>>,
}

/// How a program left its terminal.
#[derive(Debug)]
pub struct TerminalAtExit {
    /// Its exit code; `None` when a signal ended it.
    pub code: Option<i32>,
    /// Whether the terminal's settings are those from before.
    pub is_set_as_before: bool,
    /// Whether the screen is the one from before, and not the one that programs fill.
    pub is_main_screen: bool,
    /// Whether the cursor is shown.
    pub has_cursor: bool,
    /// What stands on the screen.
    pub screen: String,
    /// All that was ever written to it.
    pub bytes: Vec<u8>,
}

impl TerminalAtExit {
    /// Whether nothing is left of what filled the screen.
    #[must_use]
    pub fn is_restored(&self) -> bool {
        self.is_set_as_before && self.is_main_screen && self.has_cursor
    }
}

fn some(cells: u16) -> NonZeroU16 {
    NonZeroU16::new(cells).expect("a screen has rows and columns")
}

impl Terminal {
    /// Starts a program in a terminal of so many columns and rows, with these variables set. One of 0 columns and 0 rows does not
    /// say how large it is, as `script` and some containers have it; what is on it is seen as on one of 80 and 24.
    ///
    /// # Panics
    /// When there is no pseudo-terminal to be had, or the program cannot be started.
    #[must_use]
    pub fn start(program: &Path, args: &[&str], variables: &[(&str, &str)], (columns, rows): (u16, u16)) -> Terminal {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).expect("a pseudo-terminal");
        grantpt(&master).and_then(|()| unlockpt(&master)).expect("the right to use it");
        let name = ptsname(&master, Vec::new()).expect("its name");
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let side = rustix::fs::open(name.as_c_str(), flags, Mode::empty()).expect("its other side");
        tcsetwinsize(&side, size(columns, rows)).expect("a size");
        let before = tcgetattr(&side).expect("its settings");
        let stdio = || side.try_clone().expect("a descriptor");
        // In a session of its own, which this is the terminal of: only then the kernel tells it of a new size.
        let mut command = Command::new("setsid");
        command.arg("--ctty").arg(program).args(args).stdin(stdio()).stdout(stdio()).stderr(stdio());
        command.env("TERM", "xterm-256color").env("LC_ALL", "C.UTF-8").env_remove("NO_COLOR");
        let child = command.envs(variables.iter().copied()).spawn().expect("setsid of util-linux");
        let or = |cells: u16, otherwise: u16| some(if cells == 0 { otherwise } else { cells });
        let screen = vt100::Parser::new(or(rows, 24), or(columns, 80), 0);
        let seen = Arc::new(Mutex::new(ProgramOutput { screen, held: Vec::new(), bytes: Vec::new() }));
        let is_over = Arc::new(AtomicBool::new(false));
        let from = File::from(master.try_clone().expect("a descriptor"));
        let (to, until) = (Arc::clone(&seen), Arc::clone(&is_over));
        let reading = Some(thread::spawn(move || read(from, &to, &until)));
        Terminal { child, master: Some(master), side, before, seen, is_over, reading }
    }

    /// Its process.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Presses keys, as the bytes a terminal sends for them.
    ///
    /// # Panics
    /// When the terminal is gone.
    pub fn press(&self, keys: &str) {
        let written = rustix::io::write(self.master(), keys.as_bytes()).expect("a terminal");
        assert_eq!(written, keys.len());
    }

    /// Makes it another size.
    ///
    /// # Panics
    /// When the terminal is gone.
    pub fn resize(&self, columns: u16, rows: u16) {
        self.with(|seen| seen.screen.screen_mut().set_size(some(rows), some(columns)));
        tcsetwinsize(self.master(), size(columns, rows)).expect("a terminal");
    }

    /// Sends the program a signal.
    ///
    /// # Panics
    /// When it has ended.
    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("it runs");
    }

    fn master(&self) -> &OwnedFd {
        self.master.as_ref().expect("a terminal that was not closed")
    }

    /// Closes the terminal under the program, as a window or a connection is closed, and gives the program's exit code;
    /// `None` when a signal ended it.
    ///
    /// # Panics
    /// When it has not ended within that time.
    #[must_use]
    pub fn hang_up(mut self, within: Duration) -> Option<i32> {
        self.stop_reading();
        self.master = None;
        let deadline = Instant::now() + within;
        loop {
            if let Some(status) = self.child.try_wait().expect("our child") {
                return status.code();
            }
            assert!(Instant::now() < deadline, "it runs {within:?} after its terminal was closed");
            thread::sleep(Duration::from_millis(20));
        }
    }

    fn stop_reading(&mut self) {
        self.is_over.store(true, Ordering::Release);
        if let Some(reading) = self.reading.take() {
            reading.join().expect("what was written can be read");
        }
    }

    /// What stands on the screen now.
    #[must_use]
    pub fn screen(&self) -> String {
        self.with(|seen| seen.screen.screen().contents())
    }

    /// Waits until the screen is as wanted, and gives it.
    ///
    /// # Panics
    /// When it is not within that time, with what it was.
    pub fn wait_for(&self, within: Duration, what: &str, is_there: impl Fn(&str) -> bool) -> String {
        let deadline = Instant::now() + within;
        loop {
            let screen = self.screen();
            if is_there(&screen) {
                return screen;
            }
            assert!(Instant::now() < deadline, "{what} is not on the screen after {within:?}:\n{screen}");
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// Waits for the program's end.
    ///
    /// # Panics
    /// When it does not end.
    #[must_use]
    pub fn wait(mut self) -> TerminalAtExit {
        let deadline = Instant::now() + ENDS_WITHIN;
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("our child") {
                break status;
            }
            assert!(Instant::now() < deadline, "it does not end:\n{}", self.screen());
            thread::sleep(Duration::from_millis(20));
        };
        self.stop_reading();
        let now = tcgetattr(&self.side).expect("its settings");
        let is_set_as_before = (now.input_modes, now.output_modes, now.control_modes, now.local_modes)
            == (self.before.input_modes, self.before.output_modes, self.before.control_modes, self.before.local_modes);
        self.with(|seen| {
            let screen = seen.screen.screen();
            TerminalAtExit {
                code: status.code(),
                is_set_as_before,
                is_main_screen: !screen.alternate_screen(),
                has_cursor: !screen.hide_cursor(),
                screen: screen.contents(),
                bytes: seen.bytes.clone(),
            }
        })
    }

    fn with<T>(&self, what: impl FnOnce(&mut ProgramOutput) -> T) -> T {
        what(&mut self.seen.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        self.is_over.store(true, Ordering::Release);
    }
}

fn size(columns: u16, rows: u16) -> Winsize {
    Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }
}

/// Takes what the program writes until it is over and nothing is left.
fn read(mut from: File, to: &Mutex<ProgramOutput>, is_over: &AtomicBool) {
    let mut bytes = [0; 4096];
    loop {
        let was_over = is_over.load(Ordering::Acquire);
        let timeout = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
        let has_some = {
            let mut wanted = [PollFd::new(&from, PollFlags::IN)];
            poll(&mut wanted, Some(&timeout)).is_ok_and(|count| count > 0)
        };
        match has_some.then(|| from.read(&mut bytes)) {
            Some(Ok(count @ 1..)) => {
                to.lock().unwrap_or_else(PoisonError::into_inner).take(&bytes[..count]);
            }
            None if !was_over => {}
            Some(_) | None => break,
        }
    }
    let mut seen = to.lock().unwrap_or_else(PoisonError::into_inner);
    let rest = seen.held.len();
    seen.show(rest);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_update_is_shown_when_its_end_has_come_wherever_it_is_cut() {
        let bytes = b"before \x1b[?2026hdrawn \x1b[31mred\x1b[?2026l after \x1b[?25l";
        let (begin, end) = (7, 7 + BEGIN_UPDATE.len() + 14 + END_UPDATE.len());
        for cut in 0..=bytes.len() {
            let mut seen =
                ProgramOutput { screen: vt100::Parser::new(some(2), some(40), 0), held: Vec::new(), bytes: Vec::new() };
            seen.take(&bytes[..cut]);
            let whole = seen.screen.screen().contents();
            let expected = match cut {
                _ if cut <= begin => "before "[..cut].trim_end().to_owned(),
                _ if cut < end => "before".to_owned(),
                _ => format!("before drawn red{}", &" after "[..(cut - end).min(7)]).trim_end().to_owned(),
            };
            assert_eq!(whole.trim_end(), expected, "cut at {cut}");
            seen.take(&bytes[cut..]);
            assert_eq!(seen.screen.screen().contents().trim_end(), "before drawn red after");
            assert!(seen.held.is_empty() && seen.bytes == bytes);
        }
    }
}

//! What wakes a verb that fills the screen: a key, a new size, a signal, or that the terminal is gone.
//!
//! Not left to crossterm's own reader (0.29, `event/source/unix/mio.rs`): once the terminal is gone that reads nothing again
//! and again in a loop that no signal ends, and in the middle of a key's bytes it waits for their rest.

use pagewise_host::process::Interrupt;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, IsTerminal};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// Why the wait is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WakeReason {
    Key(KeyEvent),
    Resized,
    Signal,
    /// The terminal was closed: nobody sees the screen any more, and nobody can press a key.
    Gone,
    /// The time has passed, or something that is none of the above came.
    Nothing,
}

const ESCAPE: u8 = 0x1b;

/// How long the rest of a key's bytes may take: longer than a slow line needs between two of its packets, and too short
/// for a person to press Escape and another key.
const REST_WITHIN: Duration = Duration::from_millis(50);

/// What the kernel says of a terminal whose other side was closed.
const GONE: PollFlags = PollFlags::HUP.union(PollFlags::ERR).union(PollFlags::NVAL);

/// The keyboard's side of the terminal.
pub(super) struct Keys {
    terminal: OwnedFd,
    /// Readable once the terminal has another size.
    resized: UnixStream,
    /// Read, and no key yet.
    bytes: Vec<u8>,
}

impl Keys {
    /// Standard input where that is a terminal, else the one that this session has, as raw mode is set on it, too.
    pub(super) fn open() -> io::Result<Keys> {
        let stdin = io::stdin();
        let terminal = if stdin.is_terminal() {
            stdin.as_fd().try_clone_to_owned()?
        } else {
            File::options().read(true).write(true).open("/dev/tty")?.into()
        };
        let (resized, waker) = UnixStream::pair()?;
        signal_hook::low_level::pipe::register(signal_hook::consts::SIGWINCH, waker)?;
        Ok(Keys { terminal, resized, bytes: Vec::new() })
    }

    pub(super) fn wait(&mut self, interrupt: &Interrupt, at_most: Duration) -> io::Result<WakeReason> {
        if let Some(key) = self.next_key(false) {
            return Ok(WakeReason::Key(key));
        }
        let is_amid_a_key = !self.bytes.is_empty();
        let (terminal, resized) = self.poll(interrupt, if is_amid_a_key { REST_WITHIN } else { at_most })?;
        if interrupt.is_set() {
            return Ok(WakeReason::Signal);
        }
        if terminal.intersects(GONE) {
            return Ok(WakeReason::Gone);
        }
        if terminal.contains(PollFlags::IN) {
            return self.read();
        }
        if resized.contains(PollFlags::IN) {
            // However many there were, the size is asked for once.
            rustix::io::read(&self.resized, &mut [0; 64])?;
            return Ok(WakeReason::Resized);
        }
        let rest = if is_amid_a_key { self.next_key(true) } else { None };
        Ok(rest.map_or(WakeReason::Nothing, WakeReason::Key))
    }

    pub(super) fn is_gone(&self) -> bool {
        self.poll(&Interrupt::default(), Duration::ZERO).is_ok_and(|(terminal, _)| terminal.intersects(GONE))
    }

    /// What there is of the terminal, and of its size.
    fn poll(&self, interrupt: &Interrupt, at_most: Duration) -> io::Result<(PollFlags, PollFlags)> {
        let timeout = Timespec::try_from(at_most).ok();
        let mut polled = vec![PollFd::new(&self.terminal, PollFlags::IN), PollFd::new(&self.resized, PollFlags::IN)];
        polled.extend(interrupt.readable().map(|signal| PollFd::from_borrowed_fd(signal, PollFlags::IN)));
        match poll(&mut polled, timeout.as_ref()) {
            Ok(_) => Ok((polled[0].revents(), polled[1].revents())),
            Err(Errno::INTR) => Ok((PollFlags::empty(), PollFlags::empty())),
            Err(error) => Err(error.into()),
        }
    }

    fn read(&mut self) -> io::Result<WakeReason> {
        let mut read = [0; 1024];
        match rustix::io::read(&self.terminal, &mut read) {
            // In raw mode there is no end but that of the terminal. EIO: it is another session's now.
            Ok(0) | Err(Errno::IO) => Ok(WakeReason::Gone),
            Ok(count) => {
                self.bytes.extend_from_slice(&read[..count]);
                Ok(self.next_key(false).map_or(WakeReason::Nothing, WakeReason::Key))
            }
            Err(Errno::INTR | Errno::AGAIN) => Ok(WakeReason::Nothing),
            Err(error) => Err(error.into()),
        }
    }

    /// The next key of what was read. `is_all`: nothing more came of it in time.
    fn next_key(&mut self, is_all: bool) -> Option<KeyEvent> {
        while !self.bytes.is_empty() {
            let (length, key) = match first(&self.bytes) {
                Some(found) => found,
                None if is_all => (self.bytes.len(), (self.bytes == [ESCAPE]).then(|| plain(KeyCode::Esc))),
                None => return None,
            };
            self.bytes.drain(..length);
            if key.is_some() {
                return key;
            }
        }
        None
    }
}

fn plain(code: KeyCode) -> KeyEvent {
    KeyEvent::new(code, KeyModifiers::NONE)
}

/// How many bytes the first key takes, and which it is; what stands for no key that a view knows takes its bytes, too.
/// `None`: the rest of it is still to come.
fn first(bytes: &[u8]) -> Option<(usize, Option<KeyEvent>)> {
    Some(match bytes {
        [] | [ESCAPE] | [ESCAPE, b'O'] => return None,
        [ESCAPE, b'O', last, ..] => (3, named(&[], *last)),
        [ESCAPE, b'[', rest @ ..] => {
            // Parameters are bytes from space to `?`, and one from `@` to `~` ends them (ECMA-48, section 5.4).
            let end = rest.iter().position(|byte| !(b' '..=b'?').contains(byte))?;
            match rest[end] {
                last @ b'@'..=b'~' => (end + 3, named(&rest[..end], last)),
                _ => (end + 2, None),
            }
        }
        [ESCAPE, ..] => (1, Some(plain(KeyCode::Esc))),
        [0x03, ..] => (1, Some(KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL))),
        [b'\r' | b'\n', ..] => (1, Some(plain(KeyCode::Enter))),
        [byte @ b' '..=b'~', ..] => (1, Some(plain(KeyCode::Char(char::from(*byte))))),
        _ => (1, None),
    })
}

/// The key of a sequence, as xterm, its like and the Linux console send it.
fn named(parameters: &[u8], last: u8) -> Option<KeyEvent> {
    let number = parameters.split(|byte| *byte == b';').next().unwrap_or_default();
    let code = match (last, number) {
        (b'A', _) => KeyCode::Up,
        (b'B', _) => KeyCode::Down,
        (b'C', _) => KeyCode::Right,
        (b'D', _) => KeyCode::Left,
        (b'H', _) | (b'~', b"1" | b"7") => KeyCode::Home,
        (b'F', _) | (b'~', b"4" | b"8") => KeyCode::End,
        (b'~', b"5") => KeyCode::PageUp,
        (b'~', b"6") => KeyCode::PageDown,
        _ => return None,
    };
    Some(plain(code))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keys in the order of their bytes, which come in these pieces.
    fn pressed(pieces: &[&[u8]]) -> Vec<KeyEvent> {
        let mut keys = Keys { terminal: null(), resized: UnixStream::pair().unwrap().0, bytes: Vec::new() };
        let mut pressed = Vec::new();
        for piece in pieces {
            keys.bytes.extend_from_slice(piece);
            pressed.extend(std::iter::from_fn(|| keys.next_key(false)));
        }
        pressed.extend(std::iter::from_fn(|| keys.next_key(true)));
        assert!(keys.bytes.is_empty());
        pressed
    }

    fn null() -> OwnedFd {
        File::open("/dev/null").unwrap().into()
    }

    #[test]
    fn what_terminals_send_for_a_key_is_that_key() {
        use KeyCode::{Char, Down, End, Enter, Esc, Home, Left, PageDown, PageUp, Right, Up};
        for (bytes, code) in [
            (&b"q"[..], Char('q')),
            (b"+", Char('+')),
            (b"\r", Enter),
            (b"\x1b", Esc),
            (b"\x1b[A", Up),
            (b"\x1bOB", Down),
            (b"\x1b[1;5C", Right),
            (b"\x1b[D", Left),
            (b"\x1b[H", Home),
            (b"\x1b[1~", Home),
            (b"\x1bOF", End),
            (b"\x1b[8~", End),
            (b"\x1b[5~", PageUp),
            (b"\x1b[6;2~", PageDown),
        ] {
            assert_eq!(pressed(&[bytes]), [plain(code)], "{bytes:?}");
        }
        assert_eq!(pressed(&[b"\x03"]), [KeyEvent::new(Char('c'), KeyModifiers::CONTROL)]);
    }

    #[test]
    fn a_key_whose_bytes_come_apart_is_one_key() {
        assert_eq!(pressed(&[b"\x1b", b"[", b"5", b"~"]), [plain(KeyCode::PageUp)]);
        let both = [plain(KeyCode::Esc), plain(KeyCode::Char('q'))];
        assert_eq!(pressed(&[b"\x1bq"]), both, "and two keys are two");
    }

    #[test]
    fn what_is_no_key_is_passed_over_and_hides_none() {
        for noise in [&b"\x1b[200~"[..], b"\x1b[<0;3;4M", "ä".as_bytes(), b"\x00", b"\x1b[\x07", b"\x1bOP", b"\x7f"] {
            assert_eq!(pressed(&[noise, b"d"]), [plain(KeyCode::Char('d'))], "{noise:?}");
        }
        assert!(pressed(&[b"\x1b[1;"]).is_empty(), "half a key is none");
    }
}

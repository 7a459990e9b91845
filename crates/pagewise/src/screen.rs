//! The terminal while a verb fills it.

mod keys;
mod pen;

pub(crate) use keys::WakeReason;
pub(crate) use pen::Pen;

use keys::Keys;
use pagewise_host::process::Interrupt;
use ratatui::DefaultTerminal;
use ratatui::crossterm::terminal::{BeginSynchronizedUpdate, EndSynchronizedUpdate};
use ratatui::crossterm::{execute, queue};
use ratatui::layout::Size;
use ratatui::text::Line;
use std::io;
use std::mem::ManuallyDrop;
use std::time::Duration;

/// The terminal in raw mode on its alternate screen. Put back when this goes, and by ratatui's hook on panic.
pub(crate) struct Screen {
    /// Never dropped: where the terminal is gone, ratatui would complain of that to a stderr that is gone as well, which
    /// is a panic. What else it holds goes with the process.
    terminal: ManuallyDrop<DefaultTerminal>,
    keys: Keys,
}

impl Screen {
    /// Takes it over.
    ///
    /// # Errors
    /// When the terminal refuses; it is then as it was.
    pub(crate) fn enter() -> io::Result<Screen> {
        let keys = Keys::open()?;
        let terminal = ratatui::try_init().inspect_err(|_| drop(ratatui::try_restore()))?;
        Ok(Screen { terminal: ManuallyDrop::new(terminal), keys })
    }

    /// Columns and rows.
    ///
    /// # Errors
    /// When the terminal is gone.
    pub(crate) fn size(&self) -> io::Result<Size> {
        self.terminal.size()
    }

    /// Waits for a key, a new size, a signal, the end of the terminal, or so long.
    ///
    /// # Errors
    /// When the terminal cannot be read.
    pub(crate) fn wait(&mut self, interrupt: &Interrupt, at_most: Duration) -> io::Result<WakeReason> {
        self.keys.wait(interrupt, at_most)
    }

    /// Whether there is no terminal any more: what failed on it failed for that.
    pub(crate) fn is_gone(&self) -> bool {
        self.keys.is_gone()
    }

    /// Shows a page, a line for each row. Only cells that changed are written, and a terminal that knows synchronized
    /// updates (DEC private mode 2026) shows them at once; the others ignore the mode.
    ///
    /// # Errors
    /// When the terminal is gone.
    pub(crate) fn show(&mut self, page: &[Line]) -> io::Result<()> {
        queue!(self.terminal.backend_mut(), BeginSynchronizedUpdate)?;
        self.terminal.draw(|frame| draw(frame, page))?;
        execute!(self.terminal.backend_mut(), EndSynchronizedUpdate)
    }
}

/// A line for each row.
pub(crate) fn draw(frame: &mut ratatui::Frame, page: &[Line]) {
    let area = frame.area();
    for (row, line) in area.rows().zip(page) {
        frame.render_widget(line, row);
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = self.terminal.show_cursor();
        let _ = ratatui::try_restore();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pagewise_testkit::Terminal;

    /// Fills the screen and panics, when another test starts it for that.
    #[test]
    fn a_child_that_panics() {
        if std::env::var_os("PAGEWISE_TEST_PANICS").is_some() {
            let mut screen = Screen::enter().unwrap();
            screen.show(&[Line::raw("taken")]).unwrap();
            panic!("as the other test wants it");
        }
    }

    #[test]
    fn a_panic_leaves_the_terminal_as_it_was_and_can_be_read() {
        let this = std::env::current_exe().unwrap();
        let args = ["--exact", "screen::tests::a_child_that_panics", "--nocapture"];
        // A stack trace would scroll the message off the screen.
        let variables = [("PAGEWISE_TEST_PANICS", "1"), ("RUST_BACKTRACE", "0")];
        let left = Terminal::start(&this, &args, &variables, (80, 24)).wait();
        let taken = left.bytes.windows(8).any(|bytes| bytes == b"\x1b[?1049h");
        assert!(taken && left.bytes.windows(5).any(|bytes| bytes == b"taken"), "{left:?}");
        assert!(left.is_restored(), "{left:?}");
        assert!(left.screen.contains("as the other test wants it"), "{}", left.screen);
        assert_ne!(left.code, Some(0));
    }
}

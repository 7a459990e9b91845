//! The terminal while a verb fills it.

use ratatui::DefaultTerminal;
use std::io;

/// The terminal in raw mode on its alternate screen. Put back when this goes, and by ratatui's hook on panic.
pub(crate) struct Screen(pub(crate) DefaultTerminal);

impl Screen {
    /// Takes it over.
    ///
    /// # Errors
    /// When the terminal refuses; it is then as it was.
    pub(crate) fn enter() -> io::Result<Screen> {
        ratatui::try_init().map(Screen).inspect_err(|_| drop(ratatui::try_restore()))
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = self.0.show_cursor();
        let _ = ratatui::try_restore();
    }
}

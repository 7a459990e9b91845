//! What the program says, as tests read it.

/// As one line, whatever the width of the terminal.
#[must_use]
pub fn unwrapped(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether a trial ended because the host's neighbours spoilt one of its runs as often as the engine bears it: it can be resumed.
#[must_use]
pub fn is_given_up(said: &str) -> bool {
    unwrapped(said).contains("times in a row")
}

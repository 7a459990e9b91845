//! Moments that a test holds open, to kill there: what is over in a moment could else not be aimed at.

use std::time::Duration;

/// `WORD:MILLISECONDS`, several parted by commas. Read by debug builds alone; the watcher does not inherit it.
pub const VARIABLE: &str = "PAGEWISE_TEST_PAUSE";

/// Where a working copy of the data is in place and not yet compared with its manifest.
pub const DATA_PLACED: &str = "data-placed";

/// Where a trial's analysis is done and its report not yet written.
pub const ANALYSED: &str = "analysed";

/// Waits here for as long as a test asks for by this word.
pub fn reached(moment: &str) {
    if !cfg!(debug_assertions) {
        return;
    }
    let Ok(wanted) = std::env::var(VARIABLE) else { return };
    let pauses = wanted.split(',').filter_map(|pause| pause.split_once(':'));
    for (_, milliseconds) in pauses.filter(|(word, _)| *word == moment) {
        std::thread::sleep(Duration::from_millis(milliseconds.parse().unwrap_or(0)));
    }
}

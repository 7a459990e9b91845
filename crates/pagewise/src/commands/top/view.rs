//! What was seen, which part of it is shown, and what each key does to that.

use pagewise_core::report::recording::lines::{Line, find};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// The rows from top to bottom, with what each is called where no panel's title stands above it. A small screen shows the
/// first of them.
const ROWS: [(&str, &str); 18] = [
    ("cpu_busy", "CPU busy"),
    ("cpu_system", "CPU in the kernel"),
    ("free", "free memory"),
    ("psi_memory_some", "memory pressure"),
    ("psi_io_some", "disk pressure"),
    ("scan_direct", "scanned directly"),
    ("scan_kswapd", "scanned by kswapd"),
    ("allocstall", "direct reclaims"),
    ("compact_stall", "direct compactions"),
    ("refault_file", "page cache come back"),
    ("thp_fault", "huge-page faults"),
    ("thp_fallback", "huge-page fallbacks"),
    ("major_faults", "faults from disk"),
    ("swap_in", "swapped in"),
    ("swap_out", "swapped out"),
    ("anon", "anonymous memory"),
    ("cache", "page cache"),
    ("dirty", "dirty memory"),
];

/// Samples of a host that are kept to go back to: an hour at 1 Hz.
pub(super) const KEPT: usize = 3600;

/// Fewest samples on the screen.
const CLOSEST: usize = 10;

/// Samples of a host on the screen at first.
const AT_FIRST: usize = 120;

const SECOND: u64 = 1_000_000_000;

/// While a host is followed, the functions are those of the last half minute: long enough to count, short enough to be now.
pub(super) const FUNCTIONS_OVER: u64 = 30 * SECOND;

/// And findings those of the last five minutes, or of all that is on the screen where that is longer. A minute would do for
/// most rules; trouble that was a moment ago is still worth knowing.
const FINDINGS_OVER: u64 = 300 * SECOND;

/// The timelines, as far as they were seen.
pub(super) struct SeenTimelines {
    pub(super) title: String,
    pub(super) is_live: bool,
    pub(super) lines: Vec<&'static Line>,
    /// What each of them is called.
    pub(super) labels: Vec<&'static str>,
    /// CLOCK_BOOTTIME and wall clock in nanoseconds, for each sample.
    pub(super) at: Vec<(u64, i128)>,
    /// For each sample the values of the lines.
    pub(super) values: Vec<Vec<Option<f64>>>,
}

impl SeenTimelines {
    pub(super) fn new(title: String, is_live: bool) -> SeenTimelines {
        let (lines, labels) = ROWS.iter().filter_map(|(id, label)| Some((find(id)?, *label))).unzip();
        SeenTimelines { title, is_live, lines, labels, at: Vec::new(), values: Vec::new() }
    }
}

/// Which samples are on the screen: the last of them, and how many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Window {
    pub(super) last: usize,
    pub(super) span: usize,
}

impl Window {
    pub(super) fn first(self) -> usize {
        (self.last + 1).saturating_sub(self.span)
    }

    /// Moved by so many samples, within `count` of them.
    fn moved(self, by: isize, count: usize) -> Window {
        let least = self.span.min(count).saturating_sub(1);
        let last = self.last.saturating_add_signed(by).clamp(least, count.saturating_sub(1).max(least));
        Window { last, ..self }
    }

    /// Half or twice as wide, and at most `widest` samples of the `count` there are.
    fn zoomed(self, closer: bool, count: usize, widest: usize) -> Window {
        let span = if closer { self.span / 2 } else { self.span.saturating_mul(2) };
        Window { span: span.clamp(CLOSEST.min(widest.max(1)), widest.max(1)), ..self }.moved(0, count)
    }
}

/// What fills the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Page {
    Main,
    Help,
    /// A text, from this line on.
    Text {
        of: Text,
        from: usize,
    },
}

/// What there is to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Text {
    /// The findings in full.
    Findings,
    /// What makes the numbers less true, and what is not seen.
    Caveats,
}

/// What is shown.
#[derive(Clone, Copy, Debug)]
pub(super) struct View {
    pub(super) window: Window,
    /// The window moves on with each sample of the host.
    pub(super) is_following: bool,
    pub(super) page: Page,
}

impl View {
    /// A recording from end to end, or the newest of a host.
    pub(super) fn of(seen: &SeenTimelines) -> View {
        let count = seen.at.len();
        let span = if seen.is_live { AT_FIRST } else { count };
        View { window: Window { last: count.saturating_sub(1), span }, is_following: seen.is_live, page: Page::Main }
    }

    /// The instants at both ends of the screen.
    fn ends(&self, seen: &SeenTimelines) -> Option<(u64, u64)> {
        let (from, to) = (seen.at.get(self.window.first())?, seen.at.get(self.window.last)?);
        Some((from.0, to.0))
    }

    /// The stretch whose functions are listed.
    pub(super) fn of_functions(&self, seen: &SeenTimelines) -> Option<(u64, u64)> {
        let (from, to) = self.ends(seen)?;
        let begun = seen.at.first()?.0;
        Some(if self.is_following { (to.saturating_sub(FUNCTIONS_OVER).max(begun), to) } else { (from, to) })
    }

    /// The stretch that the rules are asked about.
    pub(super) fn of_findings(&self, seen: &SeenTimelines) -> Option<(u64, u64)> {
        let (from, to) = self.ends(seen)?;
        Some(if self.is_following { (from.min(to.saturating_sub(FINDINGS_OVER)), to) } else { (from, to) })
    }

    /// Does what a key asks for; gives whether to leave. A screen has so many rows.
    pub(super) fn press(&mut self, key: Key, seen: &SeenTimelines, rows: u16) -> bool {
        let page = isize::try_from(rows.saturating_sub(2).max(1)).unwrap_or(1);
        match (self.page, key) {
            (_, Key::Quit) | (Page::Main, Key::Back) => return true,
            (Page::Help, Key::Back | Key::Help)
            | (Page::Text { .. }, Key::Back)
            | (Page::Text { of: Text::Findings, .. }, Key::Findings)
            | (Page::Text { of: Text::Caveats, .. }, Key::Caveats) => self.page = Page::Main,
            (_, Key::Help) => self.page = Page::Help,
            (_, Key::Findings) => self.page = Page::Text { of: Text::Findings, from: 0 },
            (_, Key::Caveats) => self.page = Page::Text { of: Text::Caveats, from: 0 },
            (Page::Help, _) => {}
            (Page::Text { of, from }, key) => {
                let by = match key {
                    Key::Up => -1,
                    Key::Down => 1,
                    Key::PageUp => -page,
                    Key::PageDown => page,
                    Key::First => isize::MIN,
                    Key::Last => isize::MAX,
                    _ => 0,
                };
                // What is beyond the end is put right when the text is laid out.
                self.page = Page::Text { of, from: from.saturating_add_signed(by) };
            }
            (Page::Main, key) => self.travel(key, seen),
        }
        false
    }

    fn travel(&mut self, key: Key, seen: &SeenTimelines) {
        let (count, window) = (seen.at.len(), self.window);
        // A host has samples still to come.
        let widest = if seen.is_live { KEPT } else { count };
        let step = isize::try_from((window.span / 10).max(1)).unwrap_or(isize::MAX);
        let whole = isize::try_from(window.span).unwrap_or(isize::MAX);
        self.window = match key {
            Key::Earlier => window.moved(-step, count),
            Key::Later => window.moved(step, count),
            Key::PageUp => window.moved(-whole, count),
            Key::PageDown => window.moved(whole, count),
            Key::First => window.moved(isize::MIN, count),
            Key::Last => window.moved(isize::MAX, count),
            Key::Closer | Key::Up => window.zoomed(true, count, widest),
            Key::Farther | Key::Down => window.zoomed(false, count, widest),
            Key::Quit | Key::Back | Key::Help | Key::Findings | Key::Caveats => window,
        };
        // Whoever comes to the newest sample of a host stays with it.
        self.is_following = seen.is_live && self.window.last + 1 >= count;
    }

    /// A sample has come; of those at the far end so many went.
    pub(super) fn grown(&mut self, seen: &SeenTimelines, gone: usize) {
        if self.is_following {
            self.window.last = seen.at.len().saturating_sub(1);
        } else {
            self.window = Window { last: self.window.last.saturating_sub(gone), ..self.window }.moved(0, seen.at.len());
        }
    }
}

/// What a key asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    Quit,
    Back,
    Help,
    Findings,
    Caveats,
    Earlier,
    Later,
    PageUp,
    PageDown,
    First,
    Last,
    Closer,
    Farther,
    Up,
    Down,
}

/// Raw mode hands us Ctrl-C as a key.
pub(super) fn meaning(key: KeyEvent) -> Option<Key> {
    Some(match key.code {
        KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => Key::Quit,
        KeyCode::Char('q') => Key::Quit,
        KeyCode::Esc => Key::Back,
        KeyCode::Char('?' | 'h') => Key::Help,
        KeyCode::Char('d') | KeyCode::Enter => Key::Findings,
        KeyCode::Char('c') => Key::Caveats,
        KeyCode::Left => Key::Earlier,
        KeyCode::Right => Key::Later,
        KeyCode::PageUp => Key::PageUp,
        KeyCode::PageDown => Key::PageDown,
        KeyCode::Home => Key::First,
        KeyCode::End => Key::Last,
        KeyCode::Char('+' | '=') => Key::Closer,
        KeyCode::Char('-' | '_') => Key::Farther,
        KeyCode::Up => Key::Up,
        KeyCode::Down => Key::Down,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(count: usize, is_live: bool) -> SeenTimelines {
        let mut seen = SeenTimelines::new("x".to_owned(), is_live);
        seen.at = (0..count as u64).map(|at| (at * SECOND, i128::from(at * SECOND))).collect();
        seen
    }

    #[test]
    fn every_row_is_a_line_of_recordings() {
        assert_eq!(SeenTimelines::new(String::new(), true).lines.len(), ROWS.len());
    }

    #[test]
    fn time_travel_stays_within_what_was_seen() {
        let window = Window { last: 99, span: 100 };
        assert_eq!(window.moved(isize::MIN, 1000).last, 99);
        assert_eq!(window.moved(isize::MAX, 1000).last, 999);
        assert_eq!(window.moved(10, 1000).first(), 10);
        assert_eq!(window.zoomed(true, 1000, 1000).span, 50);
        let many = |closer: bool| (0..20).fold(window, |window, _| window.zoomed(closer, 1000, 1000));
        assert_eq!(many(false), Window { last: 999, span: 1000 });
        assert_eq!(many(true).span, CLOSEST);
        for count in 0..3 {
            let small = Window { last: 0, span: 120 }.zoomed(true, count, count).moved(5, count);
            assert!(small.last <= count.saturating_sub(1).max(small.span.min(count).saturating_sub(1)));
        }
    }

    #[test]
    fn keys_move_through_a_recording_by_a_tenth_a_screen_or_to_its_ends() {
        let seen = seen(1000, false);
        let mut view = View::of(&seen);
        let mut ends = |keys: &[Key]| {
            keys.iter().for_each(|key| assert!(!view.press(*key, &seen, 24)));
            view.ends(&seen).map(|(from, to)| (from / SECOND, to / SECOND)).unwrap()
        };
        assert_eq!(ends(&[]), (0, 999));
        assert_eq!(ends(&[Key::Closer, Key::Closer]), (750, 999));
        assert_eq!(ends(&[Key::Earlier]), (725, 974));
        assert_eq!(ends(&[Key::PageUp]), (475, 724));
        assert_eq!(ends(&[Key::PageDown, Key::Later]), (750, 999));
        assert_eq!(ends(&[Key::First]), (0, 249));
        assert_eq!(ends(&[Key::Farther]), (0, 499));
        assert_eq!(ends(&[Key::Last]), (500, 999));
    }

    #[test]
    fn a_host_is_followed_until_one_goes_back_and_again_at_its_newest_sample() {
        let mut seen = seen(400, true);
        let mut view = View::of(&seen);
        assert_eq!(view.of_functions(&seen), Some((369 * SECOND, 399 * SECOND)));
        assert_eq!(view.of_findings(&seen), Some((99 * SECOND, 399 * SECOND)), "five minutes");
        view.press(Key::Earlier, &seen, 24);
        assert!(!view.is_following);
        assert_eq!(view.of_functions(&seen), Some((268 * SECOND, 387 * SECOND)), "what is on the screen");
        assert_eq!(view.of_findings(&seen), view.of_functions(&seen));
        let before = view.of_functions(&seen);
        seen.at.push((400 * SECOND, 0));
        seen.at.remove(0);
        view.grown(&seen, 1);
        assert_eq!(view.of_functions(&seen), before, "samples that went move the ones that are shown");
        view.press(Key::Later, &seen, 24);
        assert!(!view.is_following);
        view.press(Key::Later, &seen, 24);
        assert!(view.is_following);
        seen.at.push((401 * SECOND, 0));
        view.grown(&seen, 0);
        assert_eq!(view.window.last, seen.at.len() - 1);
    }

    #[test]
    fn a_host_that_was_just_begun_is_followed_whatever_is_pressed() {
        let seen = seen(3, true);
        let mut view = View::of(&seen);
        for key in [Key::Earlier, Key::PageUp, Key::First, Key::Closer, Key::Later] {
            assert!(!view.press(key, &seen, 24) && view.is_following, "{key:?}");
        }
        assert_eq!(view.window.span, 60, "there is more to come");
        let empty = SeenTimelines::new(String::new(), true);
        assert_eq!(View::of(&empty).of_findings(&empty), None);
    }

    #[test]
    fn pages_lie_above_the_main_one_and_escape_goes_back_before_it_leaves() {
        let seen = seen(100, false);
        let mut view = View::of(&seen);
        assert!(!view.press(Key::Findings, &seen, 24));
        assert!(!view.press(Key::PageDown, &seen, 24) && !view.press(Key::Up, &seen, 24));
        assert_eq!(view.page, Page::Text { of: Text::Findings, from: 21 });
        assert!(!view.press(Key::First, &seen, 24));
        assert_eq!(view.page, Page::Text { of: Text::Findings, from: 0 });
        assert!(!view.press(Key::Caveats, &seen, 24) && !view.press(Key::Down, &seen, 24));
        assert_eq!(view.page, Page::Text { of: Text::Caveats, from: 1 });
        assert!(!view.press(Key::Caveats, &seen, 24) && view.page == Page::Main);
        assert!(!view.press(Key::Help, &seen, 24) && view.page == Page::Help);
        assert!(!view.press(Key::Back, &seen, 24) && view.page == Page::Main);
        assert!(view.press(Key::Back, &seen, 24));
        view.press(Key::Findings, &seen, 24);
        assert!(view.press(Key::Quit, &seen, 24));
    }
}

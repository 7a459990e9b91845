//! Text as the terminal can show it.

use pagewise_core::report::Style as Wanted;
use pagewise_core::report::printable::{ascii, printable};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Marks in a row that take no room of their own, such as accents: more would pile up on one letter.
const MOST_MARKS: usize = 2;

/// Writes what the terminal wants, on so many columns.
pub(crate) struct Pen {
    pub(crate) wanted: Wanted,
    pub(crate) width: usize,
}

impl Pen {
    /// What others wrote, on one line of at most so many columns, unable to steer the terminal.
    pub(crate) fn cut(&self, text: &str, columns: usize) -> String {
        let mut marks = 0;
        let is_shown = |c: &char| {
            marks = if c.width() == Some(0) { marks + 1 } else { 0 };
            marks <= MOST_MARKS
        };
        let text: String = printable(text).chars().filter(is_shown).collect();
        let (text, more) = if self.wanted.unicode { (text, "…") } else { (ascii(&text), "~") };
        if text.width() <= columns {
            return text;
        }
        let mut line = String::new();
        for c in text.chars() {
            line.push(c);
            // A mark can change the width of the letter before it.
            if line.width() + more.width() > columns {
                line.pop();
                break;
            }
        }
        if columns >= more.width() {
            line.push_str(more);
        }
        line
    }

    /// The same, filled with blanks.
    pub(crate) fn padded(&self, text: &str, columns: usize) -> String {
        let text = self.cut(text, columns);
        let blanks = " ".repeat(columns.saturating_sub(text.width()));
        text + &blanks
    }

    /// The same on as many lines as it takes, divided between words.
    pub(crate) fn wrapped(&self, text: &str) -> Vec<String> {
        let mut lines = vec![String::new()];
        for word in self.cut(text, usize::MAX).split(' ') {
            let last = lines.last_mut().filter(|last| last.is_empty() || last.width() + 1 + word.width() <= self.width);
            match last {
                Some(last) if last.is_empty() => last.push_str(word),
                Some(last) => *last = format!("{last} {word}"),
                None => lines.push(word.to_owned()),
            }
        }
        lines.iter().flat_map(|line| self.broken(line)).collect()
    }

    /// The same, divided wherever the line ends.
    pub(crate) fn broken(&self, text: &str) -> Vec<String> {
        let mut lines = vec![String::new()];
        for c in self.cut(text, usize::MAX).chars() {
            if lines.last().is_some_and(|last| last.width() + c.width().unwrap_or(0) > self.width.max(2)) {
                lines.push(String::new());
            }
            if let Some(last) = lines.last_mut() {
                last.push(c);
            }
        }
        lines
    }

    pub(crate) fn line(&self, text: &str) -> Line<'static> {
        Line::raw(self.cut(text, self.width))
    }

    pub(crate) fn warn(&self, text: &str) -> Line<'static> {
        Line::from(self.tinted(self.cut(text, self.width), Color::Yellow))
    }

    pub(crate) fn faint(&self, text: &str) -> Line<'static> {
        let style = if self.wanted.color { Style::new().add_modifier(Modifier::DIM) } else { Style::new() };
        Line::styled(self.cut(text, self.width), style)
    }

    pub(crate) fn bold(&self, text: String) -> Span<'static> {
        let style = if self.wanted.color { Style::new().add_modifier(Modifier::BOLD) } else { Style::new() };
        Span::styled(text, style)
    }

    pub(crate) fn tinted(&self, text: String, color: Color) -> Span<'static> {
        if self.wanted.color { Span::styled(text, Style::new().fg(color)) } else { Span::raw(text) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pen(unicode: bool) -> Pen {
        Pen { wanted: Wanted { color: false, width: 80, unicode }, width: 80 }
    }

    #[test]
    fn a_line_is_never_wider_than_it_may_be() {
        let names = [
            "plain",
            "wide 大大大大大大",
            "\u{1b}[2J\u{202e}x\u{7}",
            "e\u{301}\u{301}\u{301}\u{301}\u{301}",
            "☂\u{fe0f}☂\u{fe0f}☂\u{fe0f}",
            "",
        ];
        for name in names {
            for columns in 0..20 {
                for unicode in [true, false] {
                    let cut = pen(unicode).cut(name, columns);
                    assert!(cut.width() <= columns && !cut.contains(char::is_control), "{name:?} {columns} {cut:?}");
                    assert_eq!(pen(unicode).padded(name, columns).width(), columns, "{name:?}");
                    assert!(unicode || cut.is_ascii());
                }
            }
        }
    }

    #[test]
    fn a_text_is_divided_between_words_and_a_long_word_anywhere() {
        let narrow = Pen { width: 10, ..pen(true) };
        assert_eq!(narrow.wrapped("one two three"), ["one two", "three"]);
        assert_eq!(narrow.wrapped("a abcdefghijklmnop b"), ["a", "abcdefghij", "klmnop", "b"]);
        assert_eq!(narrow.broken("  pagewise prove"), ["  pagewise", " prove"]);
        assert_eq!(narrow.broken("大大大大大大"), ["大大大大大", "大"]);
        assert_eq!((narrow.wrapped(""), narrow.broken("")), (vec![String::new()], vec![String::new()]));
    }

    #[test]
    fn what_does_not_fit_ends_in_a_mark_and_accents_do_not_pile_up() {
        assert_eq!((pen(true).cut("abcdef", 4), pen(false).cut("abcdef", 4)), ("abc…".into(), "abc~".into()));
        assert_eq!(pen(true).cut("abcd", 4), "abcd");
        let piled = format!("a{}b", "\u{301}".repeat(50));
        assert_eq!(pen(true).cut(&piled, 9), "a\u{301}\u{301}b");
    }
}

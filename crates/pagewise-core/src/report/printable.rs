//! Names and messages come from plans, commands and other programs. Here they lose what could move a terminal's cursor
//! or reorder a line, and what says nothing to people.

use crate::spelling::is_unsafe;

/// The text on one line, with control characters and invisible direction marks written out as `\u{…}`.
///
/// Directional marks (U+200E to U+2069) can make a level read as another one: "Trojan Source", CVE-2021-42574.
#[must_use]
pub fn printable(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\r' | '\t' => line.push(' '),
            c if is_unsafe(c) => line.extend(c.escape_unicode()),
            c => line.push(c),
        }
    }
    line
}

/// The system's words for its errors without its numbers for them.
#[must_use]
pub fn without_error_numbers(text: &str) -> String {
    const NUMBER: &str = " (os error ";
    let mut parts = text.split(NUMBER);
    let mut words = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.split_once(')') {
            Some((number, rest)) if number.bytes().all(|byte| byte.is_ascii_digit()) => words.push_str(rest),
            _ => words.extend([NUMBER, part]),
        }
    }
    words
}

/// The same in ASCII, for terminals without UTF-8. A letter without a close relative becomes `?`.
#[must_use]
pub fn ascii(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '−' | '–' | '·' | '—' => plain.push('-'),
            '…' => plain.push_str("..."),
            '±' => plain.push_str("+/-"),
            '×' => plain.push('x'),
            '≥' => plain.push_str(">="),
            '≤' => plain.push_str("<="),
            'µ' => plain.push('u'),
            '→' => plain.push_str("->"),
            '\u{a0}' => plain.push(' '),
            c if c.is_ascii() => plain.push(c),
            _ => plain.push('?'),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_the_system_are_told_in_words() {
        let error = std::io::Error::from_raw_os_error(2);
        assert_eq!(
            without_error_numbers(&format!("cannot read a: {error}; look")),
            "cannot read a: No such file or directory; look"
        );
        assert_eq!(without_error_numbers("it said (os error x) (os error 5"), "it said (os error x) (os error 5");
    }

    #[test]
    fn a_name_cannot_steer_the_terminal_or_reorder_the_line() {
        assert_eq!(printable("a\u{1b}[2Jb"), "a\\u{1b}[2Jb");
        assert_eq!(printable("x\u{202e}y"), "x\\u{202e}y");
        assert_eq!(printable("two\nlines"), "two lines");
        assert_eq!(printable("größer 大"), "größer 大");
    }

    #[test]
    fn ascii_keeps_signs_readable() {
        assert_eq!(ascii("−3 % ± 2 … ü"), "-3 % +/- 2 ... ?");
    }
}

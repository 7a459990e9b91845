//! Numbers as tools print them for people: `12.34`, `12,34`, `24G`, `-3`; and words about what was not taken.

use super::Kind;
use std::collections::BTreeSet;

/// A number with a decimal point or comma, or none. `None` when it is no number: with two separators it may be thousands.
pub(super) fn decimal(word: &str) -> Option<f64> {
    let separators = word.bytes().filter(|byte| matches!(byte, b'.' | b',')).count();
    let is_plain = word.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b',' | b'-'));
    if separators > 1 || !is_plain || !word.bytes().any(|byte| byte.is_ascii_digit()) {
        return None;
    }
    word.replace(',', ".").parse().ok()
}

/// Whether a word is of digits alone.
pub(super) fn is_number(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether a name can be the value of a label as it is.
pub(super) fn is_label(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_graphic() && !b",=\"\\".contains(&byte))
}

/// A number times `scale`, rounded to a whole. Takes a decimal point or comma. `None` when it is no number, or beyond what
/// a recording holds.
pub(super) fn scaled(word: &str, scale: f64) -> Option<u64> {
    let value = decimal(word)?;
    // The common case, and exact whatever its size.
    if !word.contains(['.', ',']) && scale == 1.0 {
        return match word.strip_prefix('-') {
            Some(_) => word.parse::<i64>().ok().map(|value| value as u64),
            None => word.parse::<i64>().ok().map(i64::cast_unsigned),
        };
    }
    let scaled = (value * scale).round();
    // Beyond 2^53 a float no longer knows its last digit.
    (scaled.abs() <= 9e15).then_some(scaled as i64 as u64)
}

/// A number with a suffix K, M, G, T or P of 1024, or of 1000 where the tool means that, times `scale`.
pub(super) fn suffixed(word: &str, thousand: f64, scale: f64) -> Option<u64> {
    let power = match word.as_bytes().last()? {
        b'K' | b'k' => 1,
        b'M' | b'm' => 2,
        b'G' | b'g' => 3,
        b'T' | b't' => 4,
        b'P' | b'p' => 5,
        _ => return scaled(word, scale),
    };
    let factor = (0..power).fold(1.0, |factor, _| factor * thousand);
    scaled(&word[..word.len() - 1], factor * scale)
}

/// A line as it can be quoted in a message: short, on one line.
pub(super) fn quoted(line: &str) -> String {
    const LONGEST: usize = 60;
    let mut quoted: String = line.trim().chars().take(LONGEST).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if line.trim().chars().nth(LONGEST).is_some() {
        quoted.push('…');
    }
    quoted
}

/// Whether a line ends where the one before ended. In a table whose columns end below each other no digit of it is cut then.
pub(super) fn is_as_long(line: &str, before: &str) -> bool {
    line.trim_end().chars().count() == before.trim_end().chars().count()
        && line.split_whitespace().count() == before.split_whitespace().count()
}

/// Whether a line has all of what perf prints of a function: a share, `[k]` or `[.]`, and a name behind it.
pub(super) fn is_whole_function(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    let mark = words.iter().position(|word| matches!(*word, "[k]" | "[.]" | "[g]" | "[u]" | "[H]"));
    mark.is_some_and(|mark| mark + 1 < words.len() && words[..mark].iter().any(|word| word.ends_with('%')))
}

/// What of a tool's output was left out: whole tables and single columns, the first of each. `None`: nothing.
pub(super) fn left_out(tool: Kind, tables: &BTreeSet<String>, columns: &BTreeSet<String>) -> Option<String> {
    const MOST: usize = 5;
    let listed = |what: &str, names: &BTreeSet<String>| {
        let first: Vec<&str> = names.iter().map(String::as_str).take(MOST).collect();
        let more = names.len() - first.len();
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        (!names.is_empty()).then(|| format!("{what} {}{more}", first.join(", ")))
    };
    let said: Vec<String> = [listed("tables", tables), listed("columns", columns)].into_iter().flatten().collect();
    (!said.is_empty()).then(|| format!("not imported of {tool}: {}", said.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_have_a_point_or_a_comma_and_stay_whole() {
        assert_eq!(scaled("12.34", 100.0), Some(1234));
        assert_eq!(scaled("12,34", 100.0), Some(1234));
        assert_eq!(scaled("0.29", 100.0), Some(29));
        assert_eq!(scaled("-3", 1.0), Some(-3i64 as u64));
        assert_eq!(scaled("9223372036854775807", 1.0), Some(i64::MAX as u64));
    }

    #[test]
    fn what_is_no_number_is_none_and_never_zero() {
        for word in ["", "-", ".", "1.2.3", "1,234.5", "abc", "nan", "inf", "1e5", "99999999999999999999", "0x10", "+"]
        {
            assert_eq!(scaled(word, 1.0), None, "{word}");
            assert_eq!(scaled(word, 100.0), None, "{word}");
        }
        assert_eq!(suffixed("G", 1024.0, 1.0), None);
        assert_eq!(suffixed("", 1024.0, 1.0), None);
        assert_eq!(suffixed("9999999999P", 1024.0, 1.0), None);
        assert_eq!(suffixed("é", 1024.0, 1.0), None);
    }

    #[test]
    fn a_suffix_is_a_power() {
        assert_eq!(suffixed("24G", 1024.0, 1.0 / 1024.0), Some(24 << 20));
        assert_eq!(suffixed("5.5M", 1024.0, 1.0), Some(5_767_168));
        assert_eq!(suffixed("12K", 1000.0, 1.0), Some(12_000));
        assert_eq!(suffixed("46083", 1000.0, 1.0), Some(46_083));
    }
}

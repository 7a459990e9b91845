//! What parsing a kernel file gives: each number with its name, in the order of the file, without a copy of anything.
//!
//! Every reader of a file with many numbers goes through this, whether it wants two of them once or all of them every
//! second: there is one understanding of each file.

/// One number of a kernel file.
#[derive(Clone, Copy, Debug)]
pub struct Number<'a, 't> {
    /// The kernel's name for it.
    pub name: &'t str,
    /// What tells it from others of its name.
    pub labels: &'a [(&'static str, &'t str)],
    /// Its digits, as a part of the text that was parsed.
    pub digits: &'t str,
    /// Its value; a negative one as the kernel's own two's complement.
    pub value: u64,
    /// Whether the file writes `kB` behind it.
    pub says_kib: bool,
}

/// Takes the numbers of a file.
pub trait Visit<'t> {
    /// The next number.
    fn number(&mut self, number: Number<'_, 't>);

    /// The next stretch of text that holds numbers nobody wants. It ends behind a character that tells its end: the
    /// stretch is as long as that character occurs as often.
    fn skip(&mut self, _text: &'t str) {}
}

/// Calls a closure with each number.
#[derive(Debug)]
pub struct Each<F>(pub F);

impl<'t, F: FnMut(Number<'_, 't>)> Visit<'t> for Each<F> {
    fn number(&mut self, number: Number<'_, 't>) {
        (self.0)(number);
    }
}

/// How a file is parsed. The error says what is wrong with the text.
pub type Parse = for<'t> fn(&'t str, &mut dyn Visit<'t>) -> Result<(), String>;

/// A number without a label.
///
/// # Errors
/// When the digits are no number.
pub fn plain<'t>(name: &'t str, digits: &'t str) -> Result<Number<'t, 't>, String> {
    labelled(name, &[], digits)
}

/// A number with labels.
///
/// # Errors
/// As [`plain`].
pub fn labelled<'a, 't>(
    name: &'t str,
    labels: &'a [(&'static str, &'t str)],
    digits: &'t str,
) -> Result<Number<'a, 't>, String> {
    let value = value(digits).ok_or_else(|| format!("'{digits}' of {name} is no number"))?;
    Ok(Number { name, labels, digits, value, says_kib: false })
}

/// Kernel files print unsigned longs, and a few signed ones.
fn value(digits: &str) -> Option<u64> {
    match digits.strip_prefix('-') {
        Some(_) => digits.parse::<i64>().ok().map(|value| value as u64),
        None if digits.starts_with('+') => None,
        None => digits.parse().ok(),
    }
}

/// Small numbers as labels, such as the order of a free block.
pub const INDEX: [&str; 64] = [
    "0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15", "16", "17", "18", "19", "20",
    "21", "22", "23", "24", "25", "26", "27", "28", "29", "30", "31", "32", "33", "34", "35", "36", "37", "38", "39",
    "40", "41", "42", "43", "44", "45", "46", "47", "48", "49", "50", "51", "52", "53", "54", "55", "56", "57", "58",
    "59", "60", "61", "62", "63",
];

/// `Node 0, zone   Normal …`: the node, the zone, and what follows.
#[must_use]
pub fn node_and_zone(line: &str) -> Option<(&str, &str, &str)> {
    let (node, rest) = line.strip_prefix("Node ")?.split_once(", zone")?;
    let rest = rest.trim_start();
    let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
    let (zone, rest) = rest.split_at(end);
    (!zone.is_empty() && node.bytes().all(|byte| byte.is_ascii_digit())).then_some((node, zone, rest))
}

//! `/proc/meminfo`: levels of memory, most of them in KiB.

use super::visit::{Number, Visit, plain};

/// Each line as a number of its name, in the unit of the file.
///
/// # Errors
/// When a line is not `Name: number [kB]`.
pub fn visit<'t>(text: &'t str, to: &mut dyn Visit<'t>) -> Result<(), String> {
    for line in text.lines() {
        let bad = || format!("line '{line}' is not 'Name: number kB'");
        let (name, rest) = line.split_once(':').ok_or_else(bad)?;
        let mut words = rest.split_whitespace();
        let number = plain(name, words.next().ok_or_else(bad)?).map_err(|_| bad())?;
        to.number(Number { says_kib: words.next() == Some("kB"), ..number });
    }
    Ok(())
}

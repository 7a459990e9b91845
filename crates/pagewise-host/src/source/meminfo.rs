//! `/proc/meminfo`, in bytes.

use super::visit::{Each, Number, Visit, plain};
use super::{SourceError, format_error};
use crate::root::Root;
use std::collections::BTreeMap;

/// The file.
pub const PATH: &str = "/proc/meminfo";

/// Name to bytes. The few lines without a unit (`HugePages_Total`) are counts and kept as they are.
///
/// # Errors
/// When the file cannot be read or understood.
pub fn read(root: &Root) -> Result<BTreeMap<String, u64>, SourceError> {
    parse(&root.read(PATH)?)
}

/// See [`read`].
///
/// # Errors
/// When a line is not `Name: number [kB]`.
pub fn parse(text: &str) -> Result<BTreeMap<String, u64>, SourceError> {
    let mut all = BTreeMap::new();
    let mut each = Each(|number: Number<'_, '_>| {
        let factor = if number.says_kib { 1024 } else { 1 };
        all.insert(number.name.to_owned(), number.value.saturating_mul(factor));
    });
    visit(text, &mut each).map_err(|what| format_error(PATH, what))?;
    Ok(all)
}

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

/// Memory that can be had without swapping: `MemAvailable`, or on kernels before 3.14 free memory and page cache.
#[must_use]
pub fn available(meminfo: &BTreeMap<String, u64>) -> Option<u64> {
    let get = |name: &str| meminfo.get(name).copied();
    get("MemAvailable").or_else(|| Some(get("MemFree")? + get("Cached").unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kilobytes_become_bytes_and_counts_stay() {
        let parsed = parse("MemTotal:       24683520 kB\nHugePages_Total:       3\n").unwrap();
        assert_eq!(parsed["MemTotal"], 24_683_520 * 1024);
        assert_eq!(parsed["HugePages_Total"], 3);
        assert!(parse("MemTotal 5 kB").is_err());
    }

    #[test]
    fn old_kernels_have_no_mem_available() {
        let parsed = parse("MemFree: 10 kB\nCached: 5 kB\n").unwrap();
        assert_eq!(available(&parsed), Some(15 * 1024));
    }
}

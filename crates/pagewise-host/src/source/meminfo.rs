//! `/proc/meminfo`, in bytes.

use super::visit::{Each, Number};
use super::{SourceError, format_error};
use crate::root::Root;
pub use pagewise_core::kernel_text::meminfo::visit;
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

/// Memory that can be had without swapping: `MemAvailable`, or on kernels before 3.14 free memory and page cache.
#[must_use]
pub fn available(meminfo: &BTreeMap<String, u64>) -> Option<u64> {
    let get = |name: &str| meminfo.get(name).copied();
    get("MemAvailable").or_else(|| Some(get("MemFree")? + get("Cached").unwrap_or(0)))
}

/// Memory that nobody holds for itself: free, in page cache, or in slab caches that shrink. Unlike [`available`] it does not hang on where the
/// watermarks are. Kernels before 2.6.28 do not say how much of the cache is of files: there it is the same.
#[must_use]
pub fn unheld(meminfo: &BTreeMap<String, u64>) -> Option<u64> {
    let parts = ["MemFree", "Active(file)", "Inactive(file)", "SReclaimable"].map(|name| meminfo.get(name).copied());
    parts.into_iter().sum::<Option<u64>>().or_else(|| available(meminfo))
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

//! `/proc/vmstat`: every counter and level of the memory manager, by the name the kernel gives it.

use super::{SourceError, format_error};
use crate::root::Root;
use std::collections::BTreeMap;

/// The file.
pub const PATH: &str = "/proc/vmstat";

/// All lines, name to value. A line that is not `name number` is an error: half a file must not pass for a whole one.
///
/// # Errors
/// When the file cannot be read or understood.
pub fn read(root: &Root) -> Result<BTreeMap<String, i64>, SourceError> {
    parse(&root.read(PATH)?)
}

/// See [`read`].
///
/// # Errors
/// When a line is not `name number`.
pub fn parse(text: &str) -> Result<BTreeMap<String, i64>, SourceError> {
    text.lines()
        .map(|line| {
            let (name, value) =
                line.split_once(' ').ok_or_else(|| format_error(PATH, format!("line '{line}' has no value")))?;
            // Totals are unsigned longs; beyond i64 they are taken as they wrap, since only differences are used.
            let value: u64 =
                value.trim().parse().map_err(|_| format_error(PATH, format!("'{value}' of {name} is no number")))?;
            Ok((name.to_owned(), value as i64))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_kept_as_the_kernel_writes_them() {
        let parsed = parse("nr_free_pages 12\nthp_fault_alloc 0\n").unwrap();
        assert_eq!(parsed.get("nr_free_pages"), Some(&12));
        assert_eq!(parsed.len(), 2);
    }

    #[test]
    fn a_cut_line_is_an_error() {
        assert!(parse("nr_free_pages 12\nthp_fau").is_err());
        assert!(parse("nr_free_pages twelve").is_err());
    }
}

//! `/proc/vmstat`: every counter and level of the memory manager, by the name the kernel gives it.

use super::visit::Each;
use super::{SourceError, format_error};
use crate::root::Root;
use pagewise_core::counter::Quantity;
pub use pagewise_core::kernel_text::vmstat::visit;
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
    let mut all = BTreeMap::new();
    // Totals are unsigned longs; beyond i64 they are taken as they wrap, since only differences are used.
    let mut each = Each(|number: super::visit::Number<'_, '_>| {
        all.insert(number.name.to_owned(), number.value as i64);
    });
    visit(text, &mut each).map_err(|what| format_error(PATH, what))?;
    Ok(all)
}

/// A quantity of the catalogue, worked out of such numbers. `None` where they do not say it.
#[must_use]
pub fn quantity<N: AsRef<str>>(numbers: &BTreeMap<N, i64>, quantity: &Quantity) -> Option<f64> {
    let parts = quantity.parts(numbers.keys().map(|name| ("vmstat", name.as_ref(), "")));
    let values: Vec<i64> = numbers.values().copied().collect();
    (!parts.is_empty()).then(|| parts.iter().map(|part| values[part.at] as f64 * part.weight).sum())
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
        assert!(parse("nr_free_pages +1").is_err());
    }
}

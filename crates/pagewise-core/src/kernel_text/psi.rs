//! `/proc/pressure/{memory,io,cpu}`: how long tasks waited for a resource, since boot.

use super::visit::{Visit, plain};

/// The totals in µs as `some_total` and `full_total`. The averages follow from them and are left out.
///
/// # Errors
/// When a total is no number.
pub fn visit<'t>(text: &'t str, to: &mut dyn Visit<'t>) -> Result<(), String> {
    for line in text.lines() {
        let name = match line.split(' ').next() {
            Some("some") => "some_total",
            Some("full") => "full_total",
            _ => continue,
        };
        let Some(at) = line.find(" total=") else { continue };
        let (averages, digits) = line.split_at(at + " total=".len());
        to.skip(&averages[4..]);
        to.number(plain(name, digits.trim_end())?);
    }
    Ok(())
}

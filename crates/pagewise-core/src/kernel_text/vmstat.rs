//! `/proc/vmstat`: every counter and level of the memory manager, by the name the kernel gives it.

use super::visit::{Visit, plain};

/// Each line as a number of its name.
///
/// # Errors
/// When a line is not `name number`.
pub fn visit<'t>(text: &'t str, to: &mut dyn Visit<'t>) -> Result<(), String> {
    for line in text.lines() {
        let (name, value) = line.split_once(' ').ok_or_else(|| format!("line '{line}' has no value"))?;
        to.number(plain(name, value.trim())?);
    }
    Ok(())
}

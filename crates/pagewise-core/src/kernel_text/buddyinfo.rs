//! `/proc/buddyinfo`: how many free blocks of each size every zone has.

use super::visit::{INDEX, Visit, labelled, node_and_zone};

/// `free_blocks` with the labels `node`, `zone` and `order`: blocks of 2^order pages.
///
/// # Errors
/// When a line is not `Node N, zone NAME number …`.
pub fn visit<'t>(text: &'t str, to: &mut dyn Visit<'t>) -> Result<(), String> {
    for line in text.lines() {
        let parts = node_and_zone(line);
        let (node, zone, counts) = parts.ok_or_else(|| format!("line '{line}' is not 'Node N, zone NAME number …'"))?;
        for (digits, order) in counts.split_whitespace().zip(INDEX) {
            to.number(labelled("free_blocks", &[("node", node), ("zone", zone), ("order", order)], digits)?);
        }
    }
    Ok(())
}

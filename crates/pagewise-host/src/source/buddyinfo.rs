//! `/proc/buddyinfo`: free blocks of each zone by order. Fragmentation is computed from it.
//!
//! Reading it takes each zone's lock for as long as eleven numbers take (`frag_show` in `mm/vmstat.c`, 6.12), unlike
//! `/proc/pagetypeinfo`, which walks the free lists under it and is never polled.

use super::visit::{INDEX, Visit, labelled, node_and_zone};

/// The file.
pub const PATH: &str = "/proc/buddyinfo";

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

#[cfg(test)]
mod tests {
    use super::super::visit::{Each, Number};
    use super::*;

    #[test]
    fn free_blocks_have_node_zone_and_order() {
        let text = "Node 0, zone      DMA      1      0 \nNode 1, zone   Normal   3627   2588 \n";
        let mut seen = Vec::new();
        let mut each = Each(|n: Number<'_, '_>| {
            seen.push((n.labels[0].1.to_owned(), n.labels[1].1.to_owned(), n.labels[2].1.to_owned(), n.value))
        });
        visit(text, &mut each).unwrap();
        let as_text: Vec<String> =
            seen.iter().map(|(node, zone, order, value)| format!("{node} {zone} {order} {value}")).collect();
        assert_eq!(as_text, ["0 DMA 0 1", "0 DMA 1 0", "1 Normal 0 3627", "1 Normal 1 2588"]);
        assert!(visit("Node 0\n", &mut Each(|_: Number<'_, '_>| ())).is_err());
    }
}

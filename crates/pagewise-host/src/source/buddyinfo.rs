//! `/proc/buddyinfo`: how many free blocks of each size every zone has, and how much of that a huge page could use.
//!
//! Reading it takes each zone's lock for as long as eleven numbers take (`frag_show` in `mm/vmstat.c`, 6.12), unlike
//! `/proc/pagetypeinfo`, which walks the free lists under it and is never polled.

use super::visit::node_and_zone;
use super::{SourceError, format_error};
use crate::root::Root;
pub use pagewise_core::kernel_text::buddyinfo::visit;

/// The file.
pub const PATH: &str = "/proc/buddyinfo";

/// Base pages in a huge page of 2 MiB are 2 to this power.
pub const HUGE_ORDER: usize = 9;

/// The free blocks of one zone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Zone {
    /// NUMA node.
    pub node: u32,
    /// `DMA`, `DMA32`, `Normal`, `Movable`, …
    pub name: String,
    /// Free blocks by order: the block at place n is 2ⁿ pages large.
    pub blocks: Vec<u64>,
}

/// Free memory of one NUMA node, in base pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeFree {
    /// The node.
    pub node: u32,
    /// All free pages.
    pub free: u64,
    /// Those in blocks of at least a huge page.
    pub usable: u64,
}

impl NodeFree {
    /// The unusable free space index for a huge page, 0 (all of it can be used) to 1 (none): the kernel's
    /// `unusable_free_index` (`mm/vmstat.c`, 6.12), as a fraction. Without free pages it is 1, where the kernel says 0:
    /// nothing can be used.
    #[must_use]
    pub fn unusable(self) -> f64 {
        if self.free == 0 { 1.0 } else { (self.free - self.usable) as f64 / self.free as f64 }
    }
}

/// Every zone, in the file's order.
///
/// # Errors
/// When the file cannot be read or understood.
pub fn read(root: &Root) -> Result<Vec<Zone>, SourceError> {
    parse(&root.read(PATH)?)
}

/// See [`read`].
///
/// # Errors
/// When a line is not `Node N, zone NAME COUNT…`.
pub fn parse(text: &str) -> Result<Vec<Zone>, SourceError> {
    text.lines().map(|line| zone(line).ok_or_else(|| bad(line))).collect()
}

fn bad(line: &str) -> SourceError {
    format_error(PATH, format!("line '{line}' is not 'Node N, zone NAME COUNT…'"))
}

fn zone(line: &str) -> Option<Zone> {
    let (node, name, counts) = node_and_zone(line)?;
    let blocks: Vec<u64> = counts.split_whitespace().map(|word| word.parse().ok()).collect::<Option<_>>()?;
    if blocks.is_empty() || blocks.len() > 32 {
        None
    } else {
        Some(Zone { node: node.parse().ok()?, name: name.to_owned(), blocks })
    }
}

/// The nodes with the sums over their zones. The zone `DMA` is left out: its 16 MiB are kept for old devices, and what no
/// job gets says nothing about a job.
#[must_use]
pub fn nodes(zones: &[Zone]) -> Vec<NodeFree> {
    let mut nodes: Vec<NodeFree> = Vec::new();
    for zone in zones.iter().filter(|zone| zone.name != "DMA") {
        let pages = |from: usize| {
            let blocks = zone.blocks.iter().enumerate().skip(from);
            blocks.fold(0u64, |sum, (order, count)| sum.saturating_add(count.saturating_mul(1 << order)))
        };
        let (free, usable) = (pages(0), pages(HUGE_ORDER));
        match nodes.iter_mut().find(|node| node.node == zone.node) {
            Some(node) => {
                node.free = node.free.saturating_add(free);
                node.usable = node.usable.saturating_add(usable);
            }
            None => nodes.push(NodeFree { node: zone.node, free, usable }),
        }
    }
    nodes.retain(|node| node.free > 0);
    nodes
}

/// The host's order-9 unusable index: that of the node with the lowest, where huge pages are easiest to get. `None` when
/// no zone that counts has a free page.
#[must_use]
pub fn lowest_unusable(nodes: &[NodeFree]) -> Option<f64> {
    nodes.iter().map(|node| node.unusable()).min_by(f64::total_cmp)
}

/// [`lowest_unusable`] of this host now.
///
/// # Errors
/// In words: the file cannot be read, or there is nothing to take the share of.
pub fn unusable_index(root: &Root) -> Result<f64, String> {
    let zones = read(root).map_err(|error| error.to_string())?;
    lowest_unusable(&nodes(&zones)).ok_or_else(|| format!("{PATH} shows no free page outside the zone DMA"))
}

#[cfg(test)]
mod tests {
    use super::super::visit::{Each, Number};
    use super::*;

    /// 6.18, one node.
    const SMALL: &str = "Node 0, zone      DMA      0      0      0      0      0      0      0      0      1      1      3 \n\
        Node 0, zone    DMA32      1      1      4      2      5      4      3      3      4      2    752 \n\
        Node 0, zone   Normal   3574   2413   2019   1340   1422    977    666    410    260    192   4112 \n";
    /// 3.10 had the same columns; two nodes, the second without DMA.
    const OLD: &str = "Node 0, zone      DMA      1      1      1      0      2      1      1      0      1      1      3\n\
        Node 0, zone   Normal    512      0      0      0      0      0      0      0      0      1      0\n\
        Node 1, zone   Normal      0      0      0      0      0      0      0      0      0      0      7\n";

    fn read_nodes(text: &str) -> Vec<NodeFree> {
        nodes(&parse(text).expect("buddyinfo"))
    }

    #[test]
    fn zones_of_a_node_are_weighted_by_their_free_pages() {
        let nodes = read_nodes(SMALL);
        assert_eq!(nodes.len(), 1);
        assert_eq!(nodes[0].usable, 2 * 512 + 752 * 1024 + 192 * 512 + 4112 * 1024);
        let unusable = nodes[0].unusable();
        assert!((0.0..0.05).contains(&unusable), "{unusable}");
    }

    #[test]
    fn the_node_with_the_most_huge_blocks_speaks_for_the_host() {
        let nodes = read_nodes(OLD);
        assert_eq!(nodes[0], NodeFree { node: 0, free: 1024, usable: 512 });
        assert_eq!(nodes[0].unusable(), 0.5);
        assert_eq!(lowest_unusable(&nodes), Some(0.0));
    }

    #[test]
    fn blocks_above_order_ten_are_counted_where_a_kernel_has_them() {
        let text = "Node 0, zone   Normal      2048      0      0      0      0      0      0      0      0      0      0      1\n";
        assert_eq!(read_nodes(text)[0].unusable(), 0.5);
    }

    #[test]
    fn a_node_without_free_pages_is_none_to_judge_by() {
        assert_eq!(lowest_unusable(&read_nodes("Node 0, zone   Normal      0      0\n")), None);
    }

    #[test]
    fn nonsense_is_named_and_never_a_panic() {
        for text in ["x", "Node 0, zone", "Node 0, zone Normal", "Node x, zone Normal 1", "Node 0, zone Normal -1"] {
            let error = parse(text).expect_err("nonsense").to_string();
            assert!(error.contains("buddyinfo"), "{error}");
        }
        let huge = format!("Node 0, zone Normal {}", vec!["18446744073709551615"; 32].join(" "));
        assert_eq!(read_nodes(&huge)[0].unusable(), 0.0);
    }

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

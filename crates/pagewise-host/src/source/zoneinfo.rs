//! `/proc/zoneinfo`: how much of each zone exists and how much the allocator manages.

use super::SourceError;
use super::visit::{Each, Number};
use crate::root::Root;
pub use pagewise_core::kernel_text::zoneinfo::visit;
use pagewise_core::unit::Pages;
use std::collections::BTreeMap;

/// The file. At 1 Hz its cost is small: the kernel takes a zone's lock only while it prints that zone.
pub const PATH: &str = "/proc/zoneinfo";

/// Sums over all zones of all nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ZoneTotals {
    /// Pages that physically exist.
    pub present: Pages,
    /// Pages the allocator has in hand so far.
    pub managed: Pages,
}

/// Reads the sums. A word the file does not have counts as no pages: only `present` and `managed` lines are read.
///
/// # Errors
/// When the file cannot be read.
pub fn totals(root: &Root) -> Result<ZoneTotals, SourceError> {
    Ok(sum(&root.read(PATH)?))
}

/// See [`totals`].
#[must_use]
pub fn sum(text: &str) -> ZoneTotals {
    let mut totals = ZoneTotals::default();
    let mut each = Each(|number: Number<'_, '_>| match number.name {
        "present" => totals.present.0 += number.value,
        "managed" => totals.managed.0 += number.value,
        _ => {}
    });
    // What stands before a line that cannot be understood counts; so does nothing after it.
    let _ = visit(text, &mut each);
    totals
}

/// The lists of free pages that one CPU keeps for itself, all zones together, in base pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuLists {
    /// Pages in them now.
    pub count: u64,
    /// Above this many, pages go back to the zone.
    pub high: u64,
}

/// The per-CPU lists by CPU number.
///
/// # Errors
/// When the file cannot be read.
pub fn cpu_lists(root: &Root) -> Result<BTreeMap<usize, CpuLists>, SourceError> {
    Ok(parse_cpu_lists(&root.read(PATH)?))
}

/// See [`cpu_lists`]. What is no line of such a list is passed over.
#[must_use]
pub fn parse_cpu_lists(text: &str) -> BTreeMap<usize, CpuLists> {
    let mut lists: BTreeMap<usize, CpuLists> = BTreeMap::new();
    let mut cpu = None;
    for line in text.lines().map(str::trim) {
        // A zone has a "high" of its own, before the first list.
        let number = |key: &str| line.strip_prefix(key).and_then(|rest| rest.trim().parse::<u64>().ok());
        if line.starts_with("Node ") {
            cpu = None;
        } else if let Some(found) = number("cpu:") {
            cpu = usize::try_from(found).ok();
        } else if let Some(cpu) = cpu {
            let list = lists.entry(cpu).or_default();
            list.count = list.count.saturating_add(number("count:").unwrap_or(0));
            list.high = list.high.saturating_add(number("high:").unwrap_or(0));
        }
    }
    lists
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zones_are_summed() {
        let text = "Node 0, zone DMA\n  pages free 5\n        present  10\n        managed  8\nNode 0, zone Normal\n        present  100\n        managed  50\n";
        assert_eq!(sum(text), ZoneTotals { present: Pages(110), managed: Pages(58) });
    }

    /// Two nodes as each kernel writes them: boost came after 5.10, promo after 6.1, limits of page sets after 6.6,
    /// nr_free_pages_blocks after 6.12.
    fn of_kernel(version: &str) -> String {
        let since = |kernel: &str, line: &str| if version >= kernel { format!("{line}\n") } else { String::new() };
        let zone = |node: u32, zone: &str, free: u32| {
            format!(
                "  pages free     {free}\n{}        min      33\n        low      41\n        high     49\n{}        spanned  4095\n        present  3998\n        managed  3977\n{}        protection: (0, 2913, 15931)\n      nr_free_pages {free}\n{}      nr_zone_inactive_anon 0\n      numa_hit     {node}\n  pagesets\n    cpu: 0\n              count: {free}\n              high:  378\n              batch: 63\n{}  vm stats threshold: 12\n    cpu: 1\n              count: 8\n              high:  378\n              batch: 63\n{}  vm stats threshold: 12\n  node_unreclaimable:  0\n  start_pfn:           1\n",
                since("6.01", "        boost    0"),
                since("6.12", "        promo    57"),
                since("6.01", "        cma      0"),
                since("6.18", "      nr_free_pages_blocks 3584"),
                since("6.12", "              high_min: 7\n              high_max: 240"),
                since("6.12", "              high_min: 7\n              high_max: 240"),
            ) + &format!(
                "Node {node}, zone  {zone}\n  pages free     0\n        min      0\n        protection: (0, 0)\n"
            )
        };
        [0, 1]
            .map(|node| {
                format!("Node {node}, zone      DMA\n  per-node stats\n      nr_inactive_anon 1997\n      workingset_refault_file {node}7\n")
                    + &zone(node, "Movable", 3840 + node)
            })
            .concat()
    }

    fn all(text: &str) -> Vec<String> {
        let mut seen = Vec::new();
        let mut each = Each(|number: Number<'_, '_>| {
            let labels: Vec<String> = number.labels.iter().map(|(name, value)| format!("{name}={value}")).collect();
            seen.push(format!("{}{{{}}}={}", number.name, labels.join(","), number.value));
        });
        visit(text, &mut each).unwrap();
        seen
    }

    #[test]
    fn every_kernels_file_is_read_with_node_and_zone_and_without_page_sets() {
        for version in ["5.10", "6.01", "6.12", "6.18"] {
            let seen = all(&of_kernel(version));
            let has = |wanted: &str| seen.iter().any(|one| one == wanted);
            for wanted in [
                "nr_inactive_anon{node=1}=1997",
                "workingset_refault_file{node=1}=17",
                "free{node=1,zone=DMA}=3841",
                "low{node=0,zone=DMA}=41",
                "managed{node=0,zone=DMA}=3977",
                "protection{node=0,zone=DMA,from=2}=15931",
                "numa_hit{node=1,zone=DMA}=1",
                "start_pfn{node=0,zone=DMA}=1",
                "free{node=1,zone=Movable}=0",
            ] {
                assert!(has(wanted), "{version}: no {wanted} in {seen:#?}");
            }
            assert_eq!(has("boost{node=0,zone=DMA}=0"), version >= "6.01", "{version}");
            assert_eq!(has("promo{node=0,zone=DMA}=57"), version >= "6.12", "{version}");
            assert_eq!(has("nr_free_pages_blocks{node=0,zone=DMA}=3584"), version >= "6.18", "{version}");
            assert!(
                !seen
                    .iter()
                    .any(|one| one.starts_with("count") || one.starts_with("batch") || one.starts_with("high_min"))
            );
            assert_eq!(sum(&of_kernel(version)).managed, Pages(2 * 3977), "{version}");
        }
    }

    #[test]
    fn the_lists_of_a_cpu_are_summed_over_the_zones() {
        let text = "Node 0, zone DMA32\n  pages free 5\n        high     9\n  pagesets\n    cpu: 0\n              count:    3\n\
            high:     10\n              high_min: 7\n    cpu: 1\n              count:    4\n              high:     20\n\
            Node 0, zone Normal\n        high     99\n  pagesets\n    cpu: 0\n              count:    30\n              high:     100\n";
        let lists = parse_cpu_lists(text);
        assert_eq!(lists[&0], CpuLists { count: 33, high: 110 });
        assert_eq!(lists[&1], CpuLists { count: 4, high: 20 });
        assert_eq!(parse_cpu_lists("nonsense\n"), BTreeMap::new());
    }
}

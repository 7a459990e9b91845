//! `/proc/zoneinfo`: how much of each zone exists and how much the allocator manages.

use super::SourceError;
use crate::root::Root;
use pagewise_core::unit::Pages;
use std::collections::BTreeMap;

/// Sums over all zones of all nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ZoneTotals {
    /// Pages that physically exist.
    pub present: Pages,
    /// Pages the allocator has in hand so far.
    pub managed: Pages,
}

/// Reads the sums. A word the file does not have counts as no pages: only `present` and `managed` lines are looked at.
///
/// # Errors
/// When the file cannot be read.
pub fn totals(root: &Root) -> Result<ZoneTotals, SourceError> {
    Ok(sum(&root.read("/proc/zoneinfo")?))
}

/// See [`totals`].
#[must_use]
pub fn sum(text: &str) -> ZoneTotals {
    let total = |key: &str| {
        let pages = text.lines().filter_map(|line| line.trim_start().strip_prefix(key)?.trim().parse::<u64>().ok());
        Pages(pages.sum())
    };
    ZoneTotals { present: total("present "), managed: total("managed ") }
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
    Ok(parse_cpu_lists(&root.read("/proc/zoneinfo")?))
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

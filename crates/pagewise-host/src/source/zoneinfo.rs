//! `/proc/zoneinfo`: how much of each zone exists and how much the allocator manages.

use super::SourceError;
use crate::root::Root;
use pagewise_core::unit::Pages;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zones_are_summed() {
        let text = "Node 0, zone DMA\n  pages free 5\n        present  10\n        managed  8\nNode 0, zone Normal\n        present  100\n        managed  50\n";
        assert_eq!(sum(text), ZoneTotals { present: Pages(110), managed: Pages(58) });
    }
}

//! `/proc/zoneinfo`: how much of each zone exists and how much the allocator manages.

use super::SourceError;
use super::visit::{Each, INDEX, Number, Visit, labelled, node_and_zone};
use crate::root::Root;
use pagewise_core::unit::Pages;

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

/// Reads the sums. A word the file does not have counts as no pages: only `present` and `managed` lines are looked at.
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

/// Statistics of each node (label `node`), then watermarks, sizes and statistics of each zone (labels `node`, `zone`; the
/// pages that `protection` keeps from allocations meant for a higher zone have the label `from` as well). The per-CPU
/// page sets are left out: they are many, and their sum says little.
///
/// # Errors
/// When a line is not as this file has them.
pub fn visit<'t>(text: &'t str, to: &mut dyn Visit<'t>) -> Result<(), String> {
    let mut labels = [("node", ""), ("zone", ""), ("from", "")];
    let (mut of_zone, mut in_pagesets) = (1, false);
    for line in text.split_inclusive('\n') {
        if let Some((node, zone, _)) = node_and_zone(line) {
            (labels[0].1, labels[1].1) = (node, zone);
            (of_zone, in_pagesets) = (2, false);
            continue;
        }
        if in_pagesets && (line.starts_with("    ") || line.starts_with("  vm stats")) {
            to.skip(line);
            continue;
        }
        in_pagesets = false;
        let mut words = line.split_whitespace();
        let (Some(first), second, third) = (words.next(), words.next(), words.next()) else { continue };
        match (first, second, third) {
            ("per-node", ..) => of_zone = 1,
            ("pagesets", ..) => in_pagesets = true,
            ("pages", Some(name), Some(digits)) => {
                of_zone = 2;
                to.number(labelled(name, &labels[..2], digits)?);
            }
            ("protection:", ..) => {
                let list = line.split_once('(').and_then(|(_, rest)| rest.split_once(')'));
                let list = list.ok_or_else(|| format!("'{}' has no list", line.trim()))?.0;
                for (digits, index) in list.split(',').map(str::trim).filter(|digits| !digits.is_empty()).zip(INDEX) {
                    labels[2].1 = index;
                    to.number(labelled("protection", &labels, digits)?);
                }
            }
            (name, Some(digits), None) => to.number(labelled(name.trim_end_matches(':'), &labels[..of_zone], digits)?),
            _ => to.skip(line),
        }
    }
    Ok(())
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

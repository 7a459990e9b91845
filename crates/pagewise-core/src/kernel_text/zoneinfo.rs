//! `/proc/zoneinfo`: watermarks, sizes and statistics of each zone, and statistics of each node.

use super::visit::{INDEX, Visit, labelled, node_and_zone};

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

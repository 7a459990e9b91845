//! `/proc/zoneinfo`: of several lines for each zone, which are gathered before they are read.

use super::files::is_number;
use crate::kernel_text::visit::node_and_zone;

/// No text of zones is longer.
const LONGEST_ZONES: usize = 4 << 20;

/// What a line is within zoneinfo (2.6 to 6.x).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OfZones {
    /// `Node 0, zone   Normal`.
    Head,
    /// A number, or a word above numbers.
    Line,
    /// Of the page sets, each CPU's own, which nobody wants.
    PageSets,
    /// `start_pfn:`, with which a zone ends.
    Last,
}

impl OfZones {
    pub(super) fn of(text: &str, words: &[&str]) -> Option<OfZones> {
        const NAMES: [&str; 11] =
            ["free", "min", "low", "high", "boost", "promo", "scanned", "spanned", "present", "managed", "cma"];
        const BEGINNINGS: [&str; 5] = ["nr_", "numa_", "workingset_", "pgpromote_", "pgdemote_"];
        const REST: [&str; 5] =
            ["all_unreclaimable:", "node_unreclaimable:", "prev_priority:", "temp_priority:", "inactive_ratio:"];
        const PAGE_SETS: [&str; 7] = ["cpu:", "count:", "high:", "low:", "batch:", "high_min:", "high_max:"];
        if node_and_zone(text).is_some_and(|(_, _, rest)| rest.trim().is_empty()) {
            return Some(OfZones::Head);
        }
        match words {
            ["start_pfn:", number] if is_number(number) => Some(OfZones::Last),
            ["pagesets"] => Some(OfZones::PageSets),
            ["cpu:", _, ..] | ["vm", "stats", "threshold:", _] => Some(OfZones::PageSets),
            [name, number] if PAGE_SETS.contains(name) && is_number(number) => Some(OfZones::PageSets),
            ["pages", name, number] if NAMES.contains(name) && is_number(number) => Some(OfZones::Line),
            ["per-node", "stats"] | ["protection:", ..] => Some(OfZones::Line),
            [name, number]
                if is_number(number)
                    && (NAMES.contains(name)
                        || REST.contains(name)
                        || BEGINNINGS.iter().any(|begin| name.starts_with(begin))) =>
            {
                Some(OfZones::Line)
            }
            // `scanned  0 (a: 0 i: 0)` of 2.6.
            ["scanned", _, "(a:", ..] => Some(OfZones::PageSets),
            _ => None,
        }
    }
}

/// Lines of zones, up to the end of the last one.
#[derive(Debug, Default)]
pub(super) struct Zones {
    text: String,
    /// The line in which they begin.
    from: usize,
    /// Whether a zone has begun that has not ended.
    pub(super) is_open: bool,
}

impl Zones {
    /// Whether a line is of a zone that was there already, so that what follows was read later, or what was gathered is too long.
    pub(super) fn begins_anew(&self, of: OfZones, text: &str) -> bool {
        of == OfZones::Head && (self.text.lines().any(|line| line == text) || self.text.len() > LONGEST_ZONES)
    }

    pub(super) fn add(&mut self, of: OfZones, text: &str, number: usize) {
        if self.text.is_empty() {
            self.from = number;
        }
        self.is_open = of != OfZones::Last;
        if of != OfZones::PageSets {
            self.text.push_str(text);
            self.text.push('\n');
        }
    }

    /// What was gathered, and the line in which it begins. `None`: nothing.
    pub(super) fn close(&mut self) -> Option<(usize, String)> {
        self.is_open = false;
        let text = std::mem::take(&mut self.text);
        (!text.is_empty()).then_some((self.from, text))
    }
}

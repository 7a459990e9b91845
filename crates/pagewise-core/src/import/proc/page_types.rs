//! `/proc/pagetypeinfo`: free blocks of each kind of a zone. Of a zone only their sums are kept, which are what `/proc/buddyinfo` has.

/// `Node    0, zone   Normal, type    Unmovable   11  9  4 …`: the zone as `/proc/buddyinfo` writes it, and free blocks by order. More than a
/// hundred thousand are not counted (`>100000`, `mm/vmstat.c`, 5.5 and later).
pub(super) fn of_page_types(words: &[&str]) -> Option<(String, Vec<u64>)> {
    let ["Node", node, "zone", zone, "type", _kind, counts @ ..] = words else { return None };
    let zone = zone.strip_suffix(',')?;
    let counts: Vec<u64> =
        counts.iter().map(|count| count.trim_start_matches('>').parse().ok()).collect::<Option<_>>()?;
    let is_row = node.ends_with(',') && (6..=20).contains(&counts.len());
    is_row.then(|| (format!("Node {node} zone {zone}"), counts))
}

/// What stands above the rows of `/proc/pagetypeinfo`.
pub(super) fn is_heading(text: &str) -> bool {
    [
        "Page block order:",
        "Pages per block:",
        "Free pages count per migrate type",
        "Number of blocks type",
        "Number of mixed blocks",
    ]
    .iter()
    .any(|head| text.starts_with(head))
}

/// Free blocks of a zone by order, added up over its kinds.
#[derive(Debug, Default)]
pub(super) struct PageTypes {
    /// The line in which the zone begins, its name, and the sums so far.
    zone: Option<(usize, String, Vec<u64>)>,
    /// The text has such a file. It also counts blocks of each kind, free or not, in rows like those of `/proc/buddyinfo`.
    pub(super) are_there: bool,
}

impl PageTypes {
    /// Whether a row is of another zone than those before.
    pub(super) fn is_another(&self, zone: &str, counts: &[u64]) -> bool {
        self.zone.as_ref().is_none_or(|(_, known, sums)| known != zone || sums.len() != counts.len())
    }

    pub(super) fn add(&mut self, zone: String, counts: &[u64], number: usize) {
        self.are_there = true;
        let (_, _, sums) = self.zone.get_or_insert_with(|| (number, zone, vec![0; counts.len()]));
        sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum = count.saturating_add(*sum));
    }

    /// A zone as `/proc/buddyinfo` has it, and the line in which it began.
    pub(super) fn close(&mut self) -> Option<(usize, String)> {
        let (number, zone, sums) = self.zone.take()?;
        let counts: Vec<String> = sums.iter().map(u64::to_string).collect();
        Some((number, format!("{zone} {}", counts.join(" "))))
    }
}

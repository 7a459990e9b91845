//! `/proc/allocinfo` (Linux 6.10 and later with `CONFIG_MEM_ALLOC_PROFILING`, `lib/alloc_tag.c`): for each place in the kernel's source that
//! allocates memory, the bytes it has and how many allocations they are.
//!
//! What is asked for as objects is in it twice, where the object was asked for and where its slab was; and what `mm/` allocates is page cache, memory of
//! programs and tables, for which the kernel has accounts. What other places got page by page is in none.

use super::super::words::{is_label, is_number, suffixed};
use std::collections::BTreeMap;

/// An allocation of so many bytes and more is one of pages, not of an object.
const PAGE: u64 = 4096;

/// So many places keep their names.
const MOST: usize = 20;

/// A kernel has some thousands.
const MOST_PLACES: usize = 50_000;

/// What a row says of a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Row {
    bytes: u64,
    calls: u64,
    /// `drivers/net/ethernet/intel/ice/ice_txrx.c:681`.
    place: String,
    function: String,
}

/// A table, row by row.
#[derive(Debug, Default)]
pub(super) struct Allocations {
    /// The first place of the table: where it comes again, the next table begins.
    first: Option<String>,
    /// Bytes of what each place has page by page, by its function and file.
    of_places: BTreeMap<(String, String), u64>,
    /// All that was given out page by page, `mm/` too.
    pages: u64,
    /// The line of the last row.
    line: usize,
    /// A row whose end a mail program put into the next line.
    begun: Option<Row>,
}

/// Kibibytes by labels, the largest first, and of all places together.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Table {
    pub(super) largest: Vec<(String, u64)>,
    pub(super) all: u64,
    /// The line in which it ends.
    pub(super) line: usize,
}

/// ` 3341238272   412215 drivers/net/ethernet/intel/ice/ice_txrx.c:681 [ice] func:ice_alloc_mapped_page`; sizes with suffixes where somebody passed
/// them through `numfmt`. The function is empty where the line ends before it.
fn row(text: &str) -> Option<Row> {
    let mut words = text.split_whitespace();
    let (size, calls, place) = (words.next()?, words.next()?, words.next()?);
    let (file, line) = place.rsplit_once(':')?;
    let is_place = file.contains('/') && [".c", ".h", ".rs"].into_iter().any(|end| file.ends_with(end));
    if !is_place || !is_number(line) || !is_number(calls) || !size.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let function = words.find_map(|word| word.strip_prefix("func:")).unwrap_or_default();
    Some(Row {
        bytes: suffixed(size, 1024.0, 1.0)?,
        calls: calls.parse().ok()?,
        place: place.to_owned(),
        function: function.to_owned(),
    })
}

/// Whether a line is a whole row: others have places in a source, too.
pub(super) fn is_row(text: &str) -> bool {
    row(text).is_some_and(|row| !row.function.is_empty())
}

/// `[ice] func:ice_alloc_mapped_page`, alone in a line.
fn end_of_row(text: &str) -> Option<&str> {
    match text.split_whitespace().collect::<Vec<_>>().as_slice() {
        [function] => function.strip_prefix("func:"),
        [module, function] if module.starts_with('[') && module.ends_with(']') => function.strip_prefix("func:"),
        _ => None,
    }
}

/// Lines above the rows.
pub(super) fn is_head(text: &str) -> bool {
    text.starts_with("allocinfo - version:") || text.ends_with("<size>  <calls> <tag info>")
}

impl Allocations {
    /// Reads a line. `None`: it is of something else. `Some(None)`: it is the beginning of a row that goes on in the next.
    pub(super) fn read(&mut self, text: &str) -> Option<Option<Row>> {
        let begun = self.begun.take();
        if let Some(row) = row(text) {
            if row.function.is_empty() {
                self.begun = Some(row);
                return Some(None);
            }
            return Some(Some(row));
        }
        let function = end_of_row(text)?.to_owned();
        Some(Some(Row { function, ..begun? }))
    }

    /// Whether a row begins the next table.
    pub(super) fn begins_anew(&self, row: &Row) -> bool {
        self.first.as_ref() == Some(&row.place)
    }

    pub(super) fn add(&mut self, row: Row, line: usize) {
        self.line = line;
        self.first.get_or_insert_with(|| row.place.clone());
        let Row { bytes, calls, place, function } = row;
        // A row that was sorted away from its calls may have none.
        if calls == 0 || bytes / calls < PAGE {
            return;
        }
        self.pages = self.pages.saturating_add(bytes);
        let file = place.rsplit_once(':').map_or(place.as_str(), |(file, _)| file);
        let is_new = self.of_places.len() < MOST_PLACES && is_label(file) && is_label(&function);
        if !file.starts_with("mm/") && is_new {
            let of_place = self.of_places.entry((function, file.to_owned())).or_default();
            *of_place = of_place.saturating_add(bytes);
        }
    }

    /// What the table said. `None`: there was none.
    pub(super) fn close(&mut self) -> Option<Table> {
        let Allocations { first, of_places, pages, line, .. } = std::mem::take(self);
        first?;
        let mut places: Vec<((String, String), u64)> = of_places.into_iter().collect();
        places.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        let labelled = |((function, file), bytes): ((String, String), u64)| {
            (format!("function={function},file={file}"), bytes / 1024)
        };
        Some(Table { largest: places.into_iter().take(MOST).map(labelled).collect(), all: pages / 1024, line })
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::tests::{recording, timed, values};
    use super::super::super::{Kind, SOURCE, kinds_in};
    use super::*;
    use crate::recording::Recorded;

    const TABLE: &str = "allocinfo - version: 1.0\n#     <size>  <calls> <tag info>\n   \
                         114294784   595285 fs/dcache.c:1681 func:__d_alloc\n  \
                         1334530048   325763 mm/readahead.c:186 func:ractl_alloc_folio\n  \
                         3341238272   412215 drivers/net/ethernet/intel/ice/ice_txrx.c:681 [ice] func:ice_alloc_mapped_page\n           \
                         0        0 init/main.c:1314 func:do_initcalls\n";

    /// Bytes of the driver's place, reading by reading.
    fn of_driver(text: &str) -> Vec<f64> {
        let labels = "function=ice_alloc_mapped_page,file=drivers/net/ethernet/intel/ice/ice_txrx.c";
        timed(&recording(&[(Kind::Proc, text)]), SOURCE, "kernel_pages", labels)
            .iter()
            .map(|reading| reading.1)
            .collect()
    }

    #[test]
    fn what_a_place_has_page_by_page_is_told_of_all_that_was_given_out_so() {
        assert_eq!(kinds_in(TABLE), [Kind::Proc]);
        let imported = recording(&[(Kind::Proc, TABLE)]);
        assert_eq!(of_driver(TABLE), [3_341_238_272.0]);
        // Objects are no pages, and what `mm/` has is somebody's.
        assert_eq!(imported.series().iter().filter(|series| series.name == "kernel_pages").count(), 1);
        assert_eq!(values(&imported, SOURCE, "kernel_pages_all"), [(3_341_238_272u64 + 1_334_530_048) as f64]);
    }

    #[test]
    fn rows_that_a_mailer_broke_and_sizes_with_suffixes_are_read() {
        let broken = "# sort -g /proc/allocinfo| tail -n 15\n  1334530048   325763 mm/readahead.c:186 func:ractl_alloc_folio\n  \
                      3341238272   412215 drivers/net/ethernet/intel/ice/ice_txrx.c:681\n[ice] func:ice_alloc_mapped_page\n";
        let suffixed = "        1.3G   325763 mm/readahead.c:186 func:ractl_alloc_folio\n        \
                        3.2G   412215 drivers/net/ethernet/intel/ice/ice_txrx.c:681 [ice] func:ice_alloc_mapped_page\n";
        for (text, bytes) in
            [(broken, 3_341_238_272.0), (suffixed, (3.2f64 * f64::from(1 << 30) / 1024.0).floor() * 1024.0)]
        {
            assert_eq!(kinds_in(text), [Kind::Proc], "{text}");
            let imported = recording(&[(Kind::Proc, text)]);
            assert_eq!(of_driver(text), [bytes], "{text}");
            assert!(imported.gaps().iter().all(|gap| !gap.detail.contains("allocinfo")), "{:?}", imported.gaps());
        }
    }

    #[test]
    fn tables_below_each_other_are_of_several_instants() {
        let later = TABLE.replace("3341238272", "4341238272");
        let text = format!("2025-05-01 10:00:00\n{TABLE}2025-05-01 11:00:00\n{later}");
        assert_eq!(of_driver(&text), [3_341_238_272.0, 4_341_237_760.0]);
        assert_eq!(of_driver(&format!("{TABLE}{later}")).len(), 2);
    }

    #[test]
    fn other_lines_are_none() {
        for line in
            ["12 34 src/main.c:12 error", "12 34 a.c:x func:f", "x 34 mm/a.c:12 func:f", "12 mm/a.c:12 func:f", ""]
        {
            assert!(!is_row(line), "{line}");
        }
        assert_eq!(Allocations::default().read("[ice] func:ice_alloc_mapped_page"), None);
        assert_eq!(Allocations::default().close(), None);
    }
}

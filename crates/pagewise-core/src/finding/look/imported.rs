//! What a listing of another tool says of a quantity that rules know by the kernel's name. Tools print rates, and levels that
//! they add up themselves; both stand in source `import` (`docs/reference/imports.md`).

use super::{Folded, Look, Track};
use crate::finding::signal::{self, Signal};

/// How a listing's number becomes the signal's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Takes {
    /// As it is.
    AsItIs,
    /// It is in bytes, and the signal in base pages.
    Bytes,
    /// It is in bytes, and the signal in huge pages.
    HugeBytes,
}

use Takes::{AsItIs, Bytes, HugeBytes};

/// The kernel's total, and the rate of it that a tool prints.
const RATES: &[(Signal, Signal, Takes)] = &[
    (signal::SWAP_IN, signal::IMPORTED_SWAP_IN, AsItIs),
    (signal::SWAP_IN, signal::IMPORTED_SWAP_IN_BYTES, Bytes),
    (signal::SWAP_OUT, signal::IMPORTED_SWAP_OUT, AsItIs),
    (signal::SWAP_OUT, signal::IMPORTED_SWAP_OUT_BYTES, Bytes),
    (signal::PAGE_IN, signal::IMPORTED_PAGE_IN, AsItIs),
    (signal::PAGE_OUT, signal::IMPORTED_PAGE_OUT, AsItIs),
    (signal::FAULTS, signal::IMPORTED_FAULTS, AsItIs),
    (signal::MAJOR_FAULTS, signal::IMPORTED_MAJOR_FAULTS, AsItIs),
    (signal::SCAN_KSWAPD, signal::IMPORTED_SCAN_KSWAPD, AsItIs),
    (signal::SCAN_DIRECT, signal::IMPORTED_SCAN_DIRECT, AsItIs),
    (signal::PSI_MEMORY_SOME, signal::IMPORTED_PSI_MEMORY_SOME, AsItIs),
    (signal::PSI_MEMORY_FULL, signal::IMPORTED_PSI_MEMORY_FULL, AsItIs),
    (signal::PSI_IO_SOME, signal::IMPORTED_PSI_IO_SOME, AsItIs),
    (signal::CPU_STEAL, signal::IMPORTED_STEAL, AsItIs),
];

/// The kernel's level, and the one that a tool prints.
const LEVELS: &[(Signal, Signal, Takes)] = &[
    (signal::HUGETLB_FREE, signal::IMPORTED_HUGETLB_FREE, HugeBytes),
    (signal::HUGETLB_RESERVED, signal::IMPORTED_HUGETLB_RESERVED, HugeBytes),
];

impl Look {
    /// The series that answers for a signal: its own, or what a listing has in its place.
    #[must_use]
    pub fn source_of(&self, signal: &Signal) -> String {
        self.stand_in(RATES, signal).map_or_else(|| signal.label(), |(other, _)| other.label())
    }

    pub(super) fn imported_rate(&self, signal: &Signal) -> Option<Track> {
        let (other, takes) = self.stand_in(RATES, signal)?;
        Some(self.as_printed(&other, takes, Folded::mean))
    }

    /// `of` takes a level from a window: its mean, or its least.
    pub(super) fn imported_level(&self, signal: &Signal, of: fn(&Folded, usize) -> Option<f64>) -> Option<Track> {
        if *signal == signal::HUGETLB_TOTAL && !self.has(signal) && self.has(&signal::IMPORTED_HUGETLB_USED) {
            let used = self.as_printed(&signal::IMPORTED_HUGETLB_USED, HugeBytes, of);
            return Some(used.plus(&self.as_printed(&signal::IMPORTED_HUGETLB_FREE, HugeBytes, of)));
        }
        let (other, takes) = self.stand_in(LEVELS, signal)?;
        Some(self.as_printed(&other, takes, of))
    }

    fn stand_in(&self, table: &[(Signal, Signal, Takes)], signal: &Signal) -> Option<(Signal, Takes)> {
        if self.has(signal) {
            return None;
        }
        let found = table.iter().find(|(own, other, _)| own == signal && self.has(other));
        found.map(|(_, other, takes)| (*other, *takes))
    }

    fn as_printed(&self, signal: &Signal, takes: Takes, of: fn(&Folded, usize) -> Option<f64>) -> Track {
        let huge = self.last(&signal::HUGEPAGE_SIZE).filter(|size| *size > 0.0).unwrap_or(2.0 * 1024.0 * 1024.0);
        let divisor = match takes {
            AsItIs => 1.0,
            Bytes => self.page_size,
            HugeBytes => huge,
        };
        self.sum(signal, |folded, window, _| of(folded, window)).map(|value| value / divisor)
    }
}

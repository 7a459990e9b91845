//! The one catalogue of what the kernel counts: a quantity has its names by kernel version, the formula that leads from
//! them to it, its unit, what other tools print in its place, and where it is shown.
//!
//! Rules, `watch`, `top`, the page of a recording, measures of a run, imports, exports and `docs/reference/counters.md`
//! read it; a quantity that is added here appears in all of them. One file per subject; its constants are the quantities,
//! and the sentence above each is what it means to people. Names, and since when, are from the kernel files that are
//! cited; `docs/design/0018-one-catalogue.md` says why formulas and not lists of names.

mod describe;
mod quantity;
mod raw_unit;
pub mod reference;
mod shown;
pub mod tools;

pub use describe::describe;
pub use quantity::{Form, Name, Part, PrintedSum, Quantity};
pub use raw_unit::{Kind, RawUnit};
pub use shown::{Heading, LineUnit, Panel, Presentation};

/// The source of series that other tools compute and the kernel has no name for.
pub const IMPORT: &str = "import";

/// What every file of the catalogue needs.
mod prelude {
    pub(super) use super::IMPORT;
    pub(super) use super::LineUnit::{self, Bytes, BytesPerSecond, PagesPerSecond, PerSecond, Share};
    pub(super) use super::Name::{BlocksFrom, Is, PerZone};
    pub(super) use super::RawUnit::{
        Count, Hundredths, KiB, Microseconds, Nanoseconds, PageHundredths, Pages, PercentHundredths, Ticks,
    };
    pub(super) use super::{Form, Panel, PrintedSum, Quantity};
}

/// Quantities of a file: what stands above each is also what it means to people.
macro_rules! catalogue {
    ($($(#[doc = $doc:literal])+ $constant:ident = $quantity:expr;)*) => {
        $($(#[doc = $doc])+ pub const $constant: Quantity =
            $quantity.told(stringify!($constant), concat!($($doc),+));)*

        pub(super) const QUANTITIES: &[Quantity] = &[$($constant),*];
    };
}

mod compaction;
mod cpu;
mod disk;
mod faults;
mod groups;
mod huge_pages;
mod memory;
mod names;
mod pressure;
mod processor;
mod reclaim;
mod stalls;
mod zones;

pub use compaction::*;
pub use cpu::*;
pub use disk::*;
pub use faults::*;
pub use groups::*;
pub use huge_pages::*;
pub use memory::*;
pub use names::*;
pub use pressure::*;
pub use processor::*;
pub use reclaim::*;
pub use stalls::*;
pub use zones::*;

/// The files. Panels list what they have in this order.
const FILES: &[&[Quantity]] = &[
    cpu::QUANTITIES,
    memory::QUANTITIES,
    pressure::QUANTITIES,
    faults::QUANTITIES,
    stalls::QUANTITIES,
    huge_pages::QUANTITIES,
    reclaim::QUANTITIES,
    compaction::QUANTITIES,
    disk::QUANTITIES,
    zones::QUANTITIES,
    names::QUANTITIES,
    processor::QUANTITIES,
    groups::QUANTITIES,
];

const LENGTH: usize = {
    let (mut length, mut file) = (0, 0);
    while file < FILES.len() {
        length += FILES[file].len();
        file += 1;
    }
    length
};

/// Every quantity.
pub const ALL: &[Quantity] = &{
    let mut all = [FILES[0][0]; LENGTH];
    let (mut at, mut file) = (0, 0);
    while file < FILES.len() {
        let mut one = 0;
        while one < FILES[file].len() {
            all[at] = FILES[file][one];
            at += 1;
            one += 1;
        }
        file += 1;
    }
    all
};

/// Whether a number is a part of any quantity.
#[must_use]
pub fn is_wanted(source: &str, name: &str, labels: &str) -> bool {
    let is_printed =
        |quantity: &Quantity| quantity.printed.iter().flat_map(|sum| sum.of).any(|of| *of == (source, name));
    let is_alike = |quantity: &Quantity| quantity.labelled != labels.is_empty();
    ALL.iter().any(|quantity| quantity.takes(source, name, labels) || (is_alike(quantity) && is_printed(quantity)))
}

/// Measures of a host in the order in which reports list them. Those that nobody put in an order come last.
const MEASURES: [&str; 12] = [
    "host_minor_faults",
    "host_major_faults",
    "compact_stalls",
    "alloc_stalls",
    "thp_faults",
    "thp_fallbacks",
    "pages_scanned",
    "pages_reclaimed",
    "refaults_file",
    "refaults_anon",
    "pages_swapped_out",
    "pages_swapped_in",
];

/// What is a measure of a host between two instants, by its name as one.
pub fn measured() -> impl Iterator<Item = (&'static str, &'static Quantity)> {
    let mut measured: Vec<(&str, &Quantity)> =
        ALL.iter().filter_map(|quantity| Some((quantity.measure?, quantity))).collect();
    measured.sort_by_key(|(name, _)| MEASURES.iter().position(|known| known == name).unwrap_or(MEASURES.len()));
    measured.into_iter()
}

/// What was counted of a number by that name, for people: the meaning of the quantity it is all of.
#[must_use]
pub fn meaning(source: &str, name: &str) -> Option<&'static str> {
    let is_it = |quantity: &&Quantity| {
        let alone = |form: &Form| form.less.is_empty() && matches!(form.of, [Name::Is(own)] if *own == name);
        quantity.is_of(source) && quantity.forms().any(alone)
    };
    ALL.iter().find(is_it).map(|quantity| quantity.meaning.trim())
}

#[cfg(test)]
mod tests;

//! The kernel thread that collapses small pages into huge ones.

use super::descriptor::Descriptor;
use super::grammar::Grammar::{self, Integer, Switch};

macro_rules! khugepaged {
    ($file:literal, $grammar:expr, $source:literal, $summary:literal) => {
        Descriptor::live(
            concat!("khugepaged.", $file),
            &[
                concat!("/sys/kernel/mm/transparent_hugepage/khugepaged/", $file),
                concat!("/sys/kernel/mm/redhat_transparent_hugepage/khugepaged/", $file),
            ],
            $grammar as Grammar,
            $source,
            $summary,
        )
        .switched(
            10.0,
            10.0,
            "khugepaged reads it when it wakes next, every 10 s unless told otherwise; huge pages it has made stay",
        )
    };
}

/// `unsigned int` in `mm/khugepaged.c` (6.12).
const ANY: Grammar = Integer { min: 0, max: u32::MAX as u64, step: 1 };

/// It scans nothing and never ends a round with 0: the kernel refuses it.
const AT_LEAST_ONE: Grammar = Integer { min: 1, max: u32::MAX as u64, step: 1 };

/// `HPAGE_PMD_NR - 1` with 2 MiB huge pages of 4 KiB pages. Where huge pages hold more, the kernel takes more.
const PTES: Grammar = Integer { min: 0, max: 511, step: 1 };

pub(super) const ALL: &[Descriptor] = &[
    khugepaged!(
        "defrag",
        Switch,
        "2.6.32 of Red Hat, 2.6.38; mm/khugepaged.c",
        "whether it reclaims and compacts to get the huge page it collapses into"
    ),
    khugepaged!(
        "pages_to_scan",
        AT_LEAST_ONE,
        "2.6.32 of Red Hat, 2.6.38; mm/khugepaged.c",
        "pages it looks at before it sleeps"
    ),
    khugepaged!(
        "scan_sleep_millisecs",
        ANY,
        "2.6.32 of Red Hat, 2.6.38; mm/khugepaged.c",
        "milliseconds it sleeps between two scans"
    ),
    khugepaged!(
        "alloc_sleep_millisecs",
        ANY,
        "2.6.32 of Red Hat, 2.6.38; mm/khugepaged.c",
        "milliseconds it sleeps after it got no huge page"
    ),
    khugepaged!(
        "max_ptes_none",
        PTES,
        "2.6.32 of Red Hat, 2.6.38; mm/khugepaged.c",
        "pages of a huge page that may be unused and still be collapsed; high values cost memory"
    ),
    khugepaged!(
        "max_ptes_swap",
        PTES,
        "4.7; mm/khugepaged.c",
        "pages of a huge page that may be in swap and still be collapsed"
    ),
    khugepaged!(
        "max_ptes_shared",
        PTES,
        "5.8; mm/khugepaged.c",
        "pages of a huge page that may be shared and still be collapsed"
    ),
];

//! Keeping one job off huge pages: a step that several rules share, and the kernels on which it does something.

use super::super::huge_faults::{holds_against_madvise, huge};
use super::super::rule::{SettingTarget, Step};

/// Where it also holds against a program that asks by `madvise`.
pub(super) const NEVER: Step = Step::set(
    "process.thp",
    SettingTarget::First(&["never"]),
    "your job alone gets no huge pages; the rest of the host keeps them",
)
.when("from 4.13, where huge pages are on", |observed, _| {
    let huge = huge(observed);
    holds_against_madvise(observed) && (huge.asked || huge.others)
});

/// Where a program that asks by `madvise` gets them all the same.
pub(super) const NEVER_BEFORE_4_13: Step = Step::set(
    "process.thp",
    SettingTarget::First(&["never"]),
    "your job alone gets no huge pages, unless it asks by madvise; the rest of the host keeps them",
)
.when("before 4.13, where memory has huge pages without asking", |observed, _| {
    !holds_against_madvise(observed) && huge(observed).others
});

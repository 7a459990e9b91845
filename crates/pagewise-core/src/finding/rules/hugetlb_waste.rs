//! Huge pages set aside that nobody uses.

use super::super::rule::{SettingTarget, Step};
use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "hugetlb-waste",
    title: "Huge pages set aside and unused",
    meaning: "Memory is set aside as huge pages for programs that ask for them by name, and lies idle. Nothing else can use \
              it, not even as page cache.",
    thresholds: &[
        Threshold::at_least("unused and unpromised", (1u64 << 30) as f64, Bytes),
        Threshold::at_least("of the pool", 0.20, Fraction),
        Threshold::above("huge pages the pool could not get", 0.0, Number),
    ],
    lasts: 600.0,
    may_be_shorter: false,
    needs: &[&signal::HUGETLB_TOTAL, &signal::HUGETLB_FREE, &signal::HUGETLB_RESERVED, &signal::HUGEPAGE_SIZE],
    tiers: &[Tier::Counters],
    rivals: &["unevictable-memory", "slab-bloat"],
    changes: &[
        Step::set(
            "vm.nr_hugepages",
            SettingTarget::Worked(in_use, "what was in use or promised at most"),
            "what is never used goes back to everybody",
        ),
        Step::set(
            "vm.nr_hugepages",
            SettingTarget::Worked(in_use, "what was in use or promised at most"),
            "what is never used goes back to everybody, and can still be made on demand where memory is not fragmented",
        )
        .with(&[("vm.nr_overcommit_hugepages", SettingTarget::Worked(on_demand, "what it is and what is given back"))]),
    ],
    counterindications: &[
        "A program that starts later may find too few: record while all of them run.",
        "Growing the pool again may fail when memory is fragmented; the value read back counts.",
    ],
    docs: &["Documentation/admin-guide/mm/hugetlbpage.rst"],
    judge,
};

/// Pages that were free and promised to nobody, at the least.
fn spare(observed: &Observed) -> Option<f64> {
    let idle = observed
        .least(&signal::HUGETLB_FREE)
        .with(&observed.level(&signal::HUGETLB_RESERVED), |free, promised| Some(free - promised));
    idle.least().filter(|pages| *pages >= 1.0)
}

fn in_use(observed: &Observed) -> Option<String> {
    let (_, total) = observed.level(&signal::HUGETLB_TOTAL).ends()?;
    Some(format!("{:.0}", (total - spare(observed)?.floor()).max(0.0)))
}

fn on_demand(observed: &Observed) -> Option<String> {
    let now = observed.settings.number("vm.nr_overcommit_hugepages")?;
    Some(format!("{:.0}", now + spare(observed)?.floor()))
}

fn judge(case: &Case<'_>) -> Verdict {
    let observed = case.observed;
    let windows = case.windows();
    let total = observed.level(&signal::HUGETLB_TOTAL);
    if total.most() == Some(0.0) {
        return case.absent("huge pages set aside", Some(0.0), Number);
    }
    let size = observed.last(&signal::HUGEPAGE_SIZE).unwrap_or(2.0 * 1024.0 * 1024.0);
    let idle = observed
        .level(&signal::HUGETLB_FREE)
        .with(&observed.level(&signal::HUGETLB_RESERVED), |free, promised| Some((free - promised).max(0.0)));
    let unused = case.clause("unused and unpromised", "meminfo HugePages_Free", idle.map(|pages| pages * size));
    let part = case.clause("of the pool", "meminfo HugePages_*", idle.share_of(&total));
    let symptom = case.lasting(&[&unused, &part]);
    let hits = symptom.hits.clone();
    case.decide(symptom, Vec::new()).found(|draft| {
        let bytes = unused.value(&hits, windows).unwrap_or(0.0);
        draft.cost.memory_share = observed.memory().map(|memory| bytes / memory);
        let failed = observed.growth(&signal::HUGETLB_FAILED);
        draft.evidence.push(case.whole("huge pages the pool could not get", "vmstat htlb_buddy_alloc_fail", failed).1);
        draft.summary = format!(
            "{} in huge pages lay unused and promised to nobody: {} of the pool.",
            words::bytes(bytes),
            part.value(&hits, windows).map_or_else(|| "a part".to_owned(), words::percent),
        );
    })
}

//! Memory that may not be reclaimed.

use super::super::rule::Step;
use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "unevictable-memory",
    title: "Much memory cannot be reclaimed",
    meaning: "Programs locked much of the memory, or it is otherwise barred from reclaim. Everything else has to live in \
              the rest.",
    thresholds: &[
        Threshold::at_least("unevictable memory", 0.50, Fraction),
        Threshold::above("unlocked pages left behind", 10.0, PagesPerSecond),
    ],
    lasts: THREE_WINDOWS,
    may_be_shorter: true,
    needs: &[&signal::UNEVICTABLE, &signal::MEM_TOTAL],
    tiers: &[Tier::Counters],
    rivals: &["hugetlb-waste", "slab-bloat"],
    changes: &[Step::advice(
        "lock less in the application, or bound it with RLIMIT_MEMLOCK (LimitMEMLOCK= in its unit)",
    )
    .after_restart()],
    counterindications: &["Databases and real-time programs lock memory on purpose."],
    docs: &["Documentation/mm/unevictable-lru.rst"],
    judge,
};

fn judge(case: &Case<'_>) -> Verdict {
    let observed = case.observed;
    let windows = case.windows();
    // Locked memory counts where an old kernel has no total of what is unevictable.
    let signal = if observed.has(&signal::UNEVICTABLE) { &signal::UNEVICTABLE } else { &signal::MLOCKED };
    let fixed = case.clause("unevictable memory", &signal.label(), observed.share_of_memory(&observed.level(signal)));
    let symptom = case.standing(&[&fixed]);
    let hits = symptom.hits.clone();
    case.decide(symptom, Vec::new()).found(|draft| {
        case.name(draft, RankedBy::Resident);
        let share = fixed.value(&hits, windows);
        let locked = observed.share_of_memory(&observed.level(&signal::MLOCKED)).mean(&hits, windows);
        draft.evidence.push(said("meminfo Mlocked", "locked by programs", locked, Fraction));
        draft
            .evidence
            .push(case.rate("unlocked pages left behind", &signal::UNEVICTABLE_STRANDED).evidence(&hits, windows));
        draft.cost.memory_share = share;
        draft.summary = format!(
            "{} of the memory cannot be reclaimed{}.",
            share.map_or_else(|| "Much".to_owned(), words::percent),
            locked.map_or_else(String::new, |locked| format!("; {} was locked by programs", words::percent(locked))),
        );
    })
}

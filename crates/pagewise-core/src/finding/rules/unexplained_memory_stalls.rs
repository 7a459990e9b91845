//! Tasks wait for memory, and nothing at hand says for what of it. Judged after all that would.

use super::super::rule::Step;
use super::collections::Collections;
use super::prelude::*;

/// Findings that explain waiting for memory by themselves.
const EXPLAIN: [&str; 20] = [
    "compaction-storm",
    "compaction-stalls",
    "kswapd-saturation",
    "direct-reclaim-stalls",
    "memcg-limit-thrash",
    "swap-thrash",
    "fragmentation",
    "page-cache-thrash",
    "swappiness-misuse",
    "oom-risk",
    "shmem-fill",
    "slab-bloat",
    "kernel-memory-leak",
    "unevictable-memory",
    "hugetlb-waste",
    "watermark-boost",
    "thp-fault-cost",
    "thp-bloat",
    "numa-imbalance",
    "dirty-throttling",
];

pub(super) const RULE: Rule = Rule {
    id: "unexplained-memory-stalls",
    title: "Tasks wait for memory, and nothing says why",
    meaning: "The kernel's pressure file says that tasks wait for memory: they reclaim it, read back what was reclaimed, or wait for \
              swap. Which of these it is, and whose limit they met, the evidence at hand does not say.",
    thresholds: &[
        Threshold::at_least("time in which some task waited for memory", 0.10, Fraction),
        Threshold::at_least("time in which every task waited for memory", 0.05, Fraction),
        Threshold::at_least("of the time of collections, without a CPU", 0.70, Fraction),
        Threshold::at_least("time of collections", 5.0, Seconds),
    ],
    lasts: THREE_WINDOWS,
    may_be_shorter: true,
    needs: &[&signal::PSI_MEMORY_SOME],
    tiers: &[Tier::Counters],
    rivals: &["direct-reclaim-stalls", "swap-thrash", "page-cache-thrash", "memcg-limit-thrash"],
    changes: &[Step::advice(
        "see what they wait for before changing anything: pagewise diagnose on the host, or record with stalls \
         (pagewise record --stalls); the counters of /proc/vmstat twice, with a time between, tell reclaim, refaults and swap apart",
    )],
    counterindications: &[
        "Pressure of a host counts what happens in control groups, too: a group at its limit shows here while the host has memory.",
    ],
    docs: &["Documentation/accounting/psi.rst"],
    judge,
};

/// Title and meaning where the log of a JVM shows it.
const COLLECTIONS: (&str, &str) = (
    "Collections of garbage wait",
    "Collections took much longer than the CPU time that was spent in them, although a collector only reads and moves memory: its threads waited, \
     as they do for pages of the heap that lie in swap, for a CPU that others have, or for the disk that the log is written to.",
);

/// The log of a JVM says how long its collections took beside their CPU time. `None`: there is none, it is well, or pressure is
/// known.
fn collections(case: &Case<'_>) -> Option<Verdict> {
    const SOURCE: &str = "import collection_elapsed";
    let observed = case.observed;
    if observed.is_known(&signal::PSI_MEMORY_SOME) || observed.has(&signal::IMPORTED_PSI_SOME) {
        return None;
    }
    let Collections { user, system, elapsed } = Collections::of(observed)?;
    let cpu = user + system;
    // Several threads collect at once.
    let waited = (1.0 - cpu / elapsed.max(1e-6)).max(0.0);
    let weighed = [
        case.whole("of the time of collections, without a CPU", SOURCE, Some(waited)),
        case.whole("time of collections", SOURCE, Some(elapsed)),
    ];
    super::collections::found(case, &EXPLAIN, weighed, |draft| {
        draft.other = Some(COLLECTIONS);
        draft.missing.push(observed.missing(&signal::PSI_MEMORY_SOME));
        draft.summary = format!(
            "Collections took {}, and their threads were on a CPU for {} in all.",
            words::seconds(elapsed),
            words::seconds(cpu),
        );
    })
}

fn judge(case: &Case<'_>) -> Verdict {
    let observed = case.observed;
    let windows = case.windows();
    if let Some(verdict) = collections(case) {
        return verdict;
    }
    // One reading of the file has its averages alone.
    let waited = |total: &'static signal::Quantity, average: &'static signal::Quantity| {
        let rate = observed.rate(total);
        let is_known = rate.values().iter().any(Option::is_some);
        if is_known || !observed.has(average) {
            (rate, observed.source_of(total))
        } else {
            (observed.level(average), "pressure/memory avg60".to_owned())
        }
    };
    let (some, source) = waited(&signal::PSI_MEMORY_SOME, &signal::IMPORTED_PSI_SOME);
    let (full, source_of_full) = waited(&signal::PSI_MEMORY_FULL, &signal::IMPORTED_PSI_FULL);
    let some = case.clause("time in which some task waited for memory", &source, some);
    let full = case.clause("time in which every task waited for memory", &source_of_full, full);
    let mut symptom = case.lasting(&[&some]);
    let hits = symptom.hits.clone();
    symptom.evidence.push(full.evidence(&hits, windows));
    if let Some(id) = case.found.iter().find(|id| EXPLAIN.contains(id)).filter(|_| symptom.answer != Answer::No) {
        return Verdict::explained_by(id);
    }
    case.decide(symptom, Vec::new()).found(|draft| {
        case.name(draft, RankedBy::MajorFaults);
        draft.confidence = Some(Confidence::Low);
        draft.cost.stalled_share = some.value(&hits, windows);
        let part = |clause: &Clause| clause.value(&hits, windows).map(words::percent);
        draft.summary = format!(
            "Some task waited for memory {} of the time{}.",
            part(&some).unwrap_or_else(|| "much".to_owned()),
            part(&full).map_or_else(String::new, |full| format!(", every task {full}")),
        );
    })
}

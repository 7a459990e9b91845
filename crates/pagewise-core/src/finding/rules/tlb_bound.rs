//! The opposite error: huge pages are off and translations cost much. Only the processor can tell.

use super::super::huge_faults::huge;
use super::super::rule::{SettingTarget, Step};
use super::prelude::*;

const LOADS: &str = "cycles with a page walk for a load";
const STORES: &str = "cycles with a page walk for a store";

/// Where a processor tells how often and not how long: enough, and not too little to matter.
const AT_LEAST: &str = "cycles of page walks, were each short";
const AT_MOST: &str = "cycles of page walks, were each as long as can be";

pub(super) const RULE: Rule = Rule {
    id: "tlb-bound",
    title: "Bound by translations",
    meaning: "The processor spends much of its time looking up translations, since memory is on small pages. Huge pages \
              would spare most of that.",
    thresholds: &[
        Threshold::above(LOADS, 0.10, Fraction)
            .documented("tma_dtlb_load, tools/perf/pmu-events/arch/x86/icelake/icl-metrics.json (6.12)"),
        Threshold::above(STORES, 0.05, Fraction)
            .documented("tma_dtlb_store, tools/perf/pmu-events/arch/x86/icelake/icl-metrics.json (6.12)"),
        Threshold::at_least(AT_LEAST, 0.30, Fraction),
        Threshold::above(AT_MOST, 0.05, Fraction),
    ],
    lasts: THREE_WINDOWS,
    may_be_shorter: true,
    needs: &[&signal::PMU_CYCLES, &signal::PMU_LOAD_WALKS, &signal::PMU_STORE_WALKS],
    tiers: &[Tier::Hardware],
    rivals: &[],
    changes: &[
        Step::set("thp.enabled", SettingTarget::First(&["madvise"]), "programs that ask get huge pages")
            .from(&["never"])
            .after_restart(),
        Step::set(
            "jvm.UseTransparentHugePages",
            SettingTarget::First(&["true"]),
            "a JVM asks for huge pages for its heap",
        )
        .when("where memory that asks for them gets them", |observed, _| huge(observed).asked),
        Step::huge_pages(
            "the memory of the process that walks most is put on huge pages as it runs (kernel 6.1 or newer)",
        ),
    ],
    counterindications: &["Huge pages can bring compaction storms and bloat: prove it on the job."],
    docs: &["Documentation/admin-guide/mm/transhuge.rst"],
    judge,
};

/// No page walk takes more cycles: four levels, each read from memory of another node. Ours.
const LONGEST_WALK: f64 = 1000.0;

/// A short one: what it reads lies in the processor's first caches. Ours. What `perf` calls `dTLB-load-misses` is a walk on x86 and may be a
/// miss of the first level alone on arm64, so it has to come to much, and the confidence stays low.
const SHORT_WALK: f64 = 20.0;

fn judge(case: &Case<'_>) -> Verdict {
    let observed = case.observed;
    match (observed.is_known(&signal::PMU_LOAD_WALKS), observed.is_known(&signal::PMU_MISSES)) {
        (true, _) => by_cycles(case),
        (false, true) => by_misses(case),
        (false, false) => {
            let cycles = &signal::PMU_CYCLES;
            let was_asked = observed.gaps.iter().any(|gap| gap.source.as_deref() == Some(cycles.source));
            let ask = "the recording has no counters of the processor: record with --tlb where there are any";
            let why = if was_asked { observed.missing(cycles).why } else { ask.to_owned() };
            not_decided(case, "TLB misses", &why, Vec::new())
        }
    }
}

const NOT_HOW_LONG: &str =
    "this processor tells how often translations were missing and not how long looking them up took";

fn by_cycles(case: &Case<'_>) -> Verdict {
    let observed = case.observed;
    let windows = case.windows();
    let cycles = observed.rate(&signal::PMU_CYCLES);
    let part = |signal| observed.rate(signal).share_of(&cycles);
    let clause = |name, signal| case.clause(name, &observed.source_of(signal), part(signal));
    let loads = clause(LOADS, &signal::PMU_LOAD_WALKS);
    let stores = clause(STORES, &signal::PMU_STORE_WALKS);
    let symptom = case.lasting_hits(loads.hits.or(&stores.hits));
    let hits = symptom.hits.clone();
    // What the processor counted is the thing itself and no sign of it.
    let counted = TierAnswer {
        tier: Tier::Hardware,
        answer: Answer::Yes,
        evidence: [&loads, &stores].map(|clause| clause.evidence(&hits, windows)).into_iter().collect(),
        missing: Vec::new(),
        who: Vec::new(),
        share: None,
    };
    case.decide(symptom, vec![counted]).found(|draft| {
        let part = |clause: &Clause| clause.value(&hits, windows).unwrap_or(0.0);
        let share = part(&loads) + part(&stores);
        draft.cost.cpu_share = Some(share.min(1.0));
        draft.summary = format!(
            "Page walks were under way in {} of the cycles of CPUs that were not idle; thp.enabled is {}.",
            words::percent(share.min(1.0)),
            enabled(case),
        );
    })
}

/// How often is not how long; but what is much were each short is much, and what would not matter were each as long as can be does not
/// matter.
fn by_misses(case: &Case<'_>) -> Verdict {
    let observed = case.observed;
    let misses = observed.rate(&signal::PMU_MISSES);
    let source = observed.source_of(&signal::PMU_MISSES);
    let cycles = observed.rate(&signal::PMU_CYCLES);
    let bound = |name, walk: f64| case.clause(name, &source, misses.map(|misses| misses * walk).share_of(&cycles));
    let (least, most) = (bound(AT_LEAST, SHORT_WALK), bound(AT_MOST, LONGEST_WALK));
    let surely = case.lasting(&[&least]);
    if surely.answer == Answer::Yes {
        let hits = surely.hits.clone();
        let counted = TierAnswer {
            tier: Tier::Hardware,
            answer: Answer::Yes,
            evidence: vec![least.evidence(&hits, case.windows())],
            missing: vec![Missing { what: "length of page walks".to_owned(), why: NOT_HOW_LONG.to_owned() }],
            who: Vec::new(),
            share: None,
        };
        return case.decide(surely, vec![counted]).found(|draft| {
            let share = least.value(&hits, case.windows()).unwrap_or(0.0).min(1.0);
            draft.confidence = Some(Confidence::Low);
            draft.cost.cpu_share = Some(share);
            draft.summary = format!(
                "Translations were missing so often that looking them up took about {} of the cycles, were each look short; thp.enabled is {}.",
                words::percent(share),
                enabled(case),
            );
        });
    }
    let perhaps = case.lasting(&[&most]);
    let evidence = perhaps.evidence.clone();
    match perhaps.answer {
        Answer::No => Verdict::NotFound(evidence),
        Answer::Yes | Answer::Unknown => not_decided(case, "length of page walks", NOT_HOW_LONG, evidence),
    }
}

fn not_decided(case: &Case<'_>, what: &str, why: &str, evidence: Vec<Evidence>) -> Verdict {
    let why = format!(
        "{why}; thp.enabled is {}: pagewise doctor measures what page walks cost here, and pagewise prove decides",
        enabled(case)
    );
    Verdict::NotDecided { missing: vec![Missing { what: what.to_owned(), why }], needs_seconds: None, evidence }
}

fn enabled<'a>(case: &Case<'a>) -> &'a str {
    case.observed.settings.value("thp.enabled").unwrap_or("not known")
}

//! Background reclaim that uses a core and frees little.

use super::super::rule::{SettingTarget, Step};
use super::guard::GUARD;
use super::mglru;
use super::prelude::*;
use super::threads;

pub(super) const RULE: Rule = Rule {
    id: "kswapd-saturation",
    title: "kswapd is saturated",
    meaning: "The thread that frees memory in the background uses a whole core and cannot keep up. When it falls behind, \
              programs have to free memory themselves.",
    thresholds: &[
        Threshold::at_least("kswapd, of one core", 0.80, Fraction),
        Threshold::at_least("kswapd, of one core, in a listing", 0.40, Fraction),
        Threshold::at_least("samples in kswapd", 0.10, Fraction),
        Threshold::below("freed, of what kswapd scanned", 0.30, Fraction),
        Threshold::above("woken again at once", 1.0, PerSecond),
        Threshold::at_least("pages kswapd scanned in vain", 100_000.0, PagesPerSecond),
    ],
    lasts: 10.0,
    may_be_shorter: true,
    needs: &[&signal::KERNEL_THREAD_CPU, &signal::SCAN_KSWAPD, &signal::STEAL_KSWAPD],
    tiers: &[Tier::Counters, Tier::Stacks],
    rivals: &["watermark-boost", "swap-thrash"],
    changes: &[
        GUARD,
        Step::set(
            "vm.watermark_scale_factor",
            SettingTarget::Worked(wider, WIDER),
            "kswapd starts earlier and frees more at a time",
        ),
        Step::set(
            "mglru.enabled",
            SettingTarget::First(&["y"]),
            "the multi-generational LRU finds what to free with less CPU",
        )
        .when(mglru::WHERE, mglru::is_off),
        Step::advice("give the jobs less memory, or the host more: the working set does not fit"),
    ],
    counterindications: &["More memory is kept free: a host that just fits may begin to swap."],
    docs: &[
        "Documentation/admin-guide/sysctl/vm.rst, watermark_scale_factor",
        "mm/page_alloc.c (6.12), __setup_per_zone_wmarks",
        "Documentation/admin-guide/mm/multigen_lru.rst",
    ],
    judge,
};

/// What [`wider`] comes to.
pub(super) const WIDER: &str = "five times what it is, 50 to 200, and so much that it shows beside vm.min_free_kbytes";

/// The largest value proposed. Ours; the kernel takes up to 3000.
const WIDEST: f64 = 200.0;

/// Watermarks lie apart by a quarter of `vm.min_free_kbytes` or by this factor's share of memory, whichever is more
/// (`__setup_per_zone_wmarks`): a factor below that quarter changes nothing. None where no factor up to 200 shows.
pub(super) fn wider(observed: &Observed) -> Option<String> {
    let now = observed.settings.number("vm.watermark_scale_factor")?;
    let least = observed.settings.number("vm.min_free_kbytes").zip(observed.memory());
    // The factor at which the quarter is met.
    let hidden = least.map_or(0.0, |(kib, memory)| kib * 1024.0 / 4.0 / memory * 10_000.0);
    let to = (now * 5.0).max(50.0).max((hidden * 2.0).ceil()).min(WIDEST);
    (to > now && to > hidden).then(|| format!("{to:.0}"))
}

/// Fewer pages a second are no work for a core. Ours.
const AT_WORK: f64 = 1_000.0;

fn unprinted() -> Missing {
    let why = "neither sar nor the kernel's counters have the CPU time of its threads".to_owned();
    Missing { what: "CPU time of kswapd".to_owned(), why }
}

/// The part of what kswapd scanned that was freed: as sar prints it, or by the kernel's own counters.
fn freed(observed: &Observed) -> (String, Track) {
    if observed.has(&signal::IMPORTED_EFFICIENCY) {
        return (observed.source_of(&signal::IMPORTED_EFFICIENCY), observed.level(&signal::IMPORTED_EFFICIENCY));
    }
    (
        "vmstat pgsteal/pgscan_kswapd".to_owned(),
        observed.rate(&signal::STEAL_KSWAPD).per(&observed.rate(&signal::SCAN_KSWAPD)),
    )
}

/// sar and the kernel's counters have no CPU time of kernel threads, but how many pages kswapd scanned and which part of that was freed.
fn by_listing(case: &Case<'_>) -> Verdict {
    let observed = case.observed;
    let windows = case.windows();
    let scanned = case.rate("pages kswapd scanned in vain", &signal::SCAN_KSWAPD);
    let (source, freed) = freed(observed);
    let freed = case.clause("freed, of what kswapd scanned", &source, freed);
    let mut symptom = case.lasting(&[&scanned, &freed]);
    // One that frees what it scans can use a whole core, too: how much it used is not in the listing.
    let is_at_work = scanned.value(&symptom.hits, windows).is_some_and(|pages| pages >= AT_WORK);
    if symptom.answer == Answer::No && is_at_work {
        symptom.answer = Answer::Unknown;
        symptom.hits.missing.push(unprinted());
    }
    let hits = symptom.hits.clone();
    case.decide(symptom, Vec::new()).found(|draft| {
        draft.cost.stalled_share = observed.rate(&signal::PSI_MEMORY_SOME).mean(&hits, windows);
        draft.at_least = Some(Severity::Medium);
        draft.missing.push(unprinted());
        draft.summary = format!(
            "kswapd scanned {} pages a second, and {} of the pages that reclaim scanned were freed.",
            words::number(scanned.value(&hits, windows).unwrap_or(0.0)),
            freed.value(&hits, windows).map_or_else(|| "few".to_owned(), words::percent),
        );
    })
}

fn judge(case: &Case<'_>) -> Verdict {
    let observed = case.observed;
    let windows = case.windows();
    // A listing has no CPU time of kernel threads, but one that never scanned a page was not busy.
    let scanned = observed.rate(&signal::SCAN_KSWAPD);
    if observed.is_import && scanned.most() == Some(0.0) && scanned.missing().is_empty() {
        return case.absent("pages kswapd scanned", Some(0.0), PagesPerSecond);
    }
    if observed.is_import
        && !observed.has(&signal::KERNEL_THREAD_CPU)
        && observed.profile.is_none()
        && (observed.has(&signal::IMPORTED_EFFICIENCY)
            || (observed.has(&signal::STEAL_KSWAPD) && observed.has(&signal::SCAN_KSWAPD)))
    {
        return by_listing(case);
    }
    // Nobody posts a screen of a host that is well: half a core of kswapd is what caught the eye.
    let of_core = if observed.is_import { "kswapd, of one core, in a listing" } else { "kswapd, of one core" };
    let burn = threads::cpu(case, of_core, "kswapd", "samples in kswapd", Family::Kswapd);
    let cores = burn.cores;
    let hits = burn.hits().clone();
    let (source, freed) = freed(observed);
    let freed = case.clause("freed, of what kswapd scanned", &source, freed);
    let woken = case.rate("woken again at once", &signal::LOW_HIT_QUICKLY);
    burn.decide(case).found(|draft| {
        draft.evidence.extend([&freed, &woken].map(|clause| clause.evidence(&hits, windows)));
        draft.cost.cpu_share = cores.zip(observed.cpus()).map(|(cores, cpus)| cores / cpus);
        draft.cost.stalled_share = observed.rate(&signal::PSI_MEMORY_SOME).mean(&hits, windows);
        draft.at_least = Some(Severity::Medium);
        draft.summary = format!(
            "kswapd used {} of a core{}.",
            cores.map_or_else(|| "most".to_owned(), words::percent),
            freed.value(&hits, windows).map_or_else(String::new, |part| {
                format!(" and freed {} of the pages it scanned", words::percent(part))
            }),
        );
    })
}

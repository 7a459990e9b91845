//! Programs that have to free memory themselves before they get any.

use super::super::rule::{SettingTarget, Step};
use super::groups;
use super::guard::GUARD;
use super::kswapd_saturation::{WIDER, wider};
use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "direct-reclaim-stalls",
    title: "Direct reclaim stalls",
    meaning: "Programs that ask for memory have to free some first, and wait for it. kswapd should do that for them in the \
              background; it starts too late or cannot keep up.",
    thresholds: &[
        Threshold::above("allocations that had to reclaim", 0.1, PerSecond),
        Threshold::at_least("freed by programs themselves", 0.10, Fraction),
        Threshold::at_least("99 of 100 reclaims are shorter than", 0.010, Seconds),
        Threshold::at_least("samples in direct reclaim", 0.05, Fraction),
        Threshold::at_least("pages programs scanned", 100.0, PagesPerSecond),
        Threshold::at_least("scanned by programs themselves", 0.10, Fraction),
        Threshold::at_least("allocations of a page that failed and could not wait", 1.0, Number),
        Threshold::at_least("pages freed in all", 2_500_000.0, Number),
        Threshold::at_least("of these, freed by programs themselves", 0.50, Fraction),
        Threshold::at_least("pages scanned in all", 10_000_000.0, Number),
        Threshold::at_least("of these, scanned by programs themselves", 0.40, Fraction),
    ],
    lasts: THREE_WINDOWS,
    may_be_shorter: true,
    needs: &[&signal::ALLOCSTALL, &signal::STEAL_DIRECT, &signal::STEAL_KSWAPD],
    tiers: &[Tier::Counters, Tier::Stacks, Tier::Stalls],
    rivals: &["compaction-storm", "compaction-stalls", "swap-thrash", "dirty-throttling", "memcg-limit-thrash"],
    changes: &[
        GUARD,
        Step::set(
            "vm.watermark_scale_factor",
            SettingTarget::Worked(wider, WIDER),
            "kswapd starts earlier and frees more at a time",
        ),
        Step::advice("limit the job that takes the memory, with memory.high of its control group")
            .when(groups::WHERE, groups::have_v2),
        Step::advice("limit the job that takes the memory, with memory.limit_in_bytes of its control group")
            .when("with version 1 of control groups", groups::have_v1),
        Step::set(
            "vm.min_free_kbytes",
            SettingTarget::Worked(twice_free, "twice what it is, at most 2 % of memory"),
            "more is kept free for bursts",
        ),
    ],
    counterindications: &["vm.min_free_kbytes that is too high can make the host run out of memory at once."],
    docs: &["Documentation/admin-guide/sysctl/vm.rst, watermark_scale_factor and min_free_kbytes"],
    judge,
};

/// What else has functions of reclaim: moving a page takes it out of its mappings, too.
const NOT_OF_PROGRAMS: &[Family] = &[Family::Kswapd, Family::CgroupReclaim, Family::Compaction, Family::Numa];

fn twice_free(observed: &Observed) -> Option<String> {
    let now = observed.settings.number("vm.min_free_kbytes")?;
    let most = observed.memory()? / 1024.0 * 0.02;
    let to = (now * 2.0).min(most);
    (to >= now * 1.1).then(|| format!("{to:.0}"))
}

/// sar counts the pages that were scanned, not how often a program had to; and of the kernel's own counters somebody may have listed these alone.
fn by_listing(case: &Case<'_>) -> Verdict {
    let observed = case.observed;
    if let Some(failed) = observed.growth(&signal::FAILED_ATOMIC).filter(|_| !observed.has(&signal::SCAN_DIRECT)) {
        return by_failures(case, failed);
    }
    let windows = case.windows();
    let scanned = case.rate("pages programs scanned", &signal::SCAN_DIRECT);
    let symptom = case.lasting(&[&scanned]);
    let hits = symptom.hits.clone();
    let direct = observed.rate(&signal::SCAN_DIRECT);
    let part = direct.share_of(&direct.plus(&observed.rate(&signal::SCAN_KSWAPD)));
    let part = case.clause("scanned by programs themselves", &observed.source_of(&signal::SCAN_DIRECT), part);
    let counters = case.counters(&[&part], &hits);
    let stacks = case.stacks("samples in direct reclaim", Family::Reclaim, NOT_OF_PROGRAMS, &hits);
    let in_reclaim = stacks.share;
    case.decide(symptom, vec![counters, stacks]).found(|draft| {
        draft.cost.cpu_share = in_reclaim;
        draft.cost.stalled_share = observed.rate(&signal::PSI_MEMORY_SOME).mean(&hits, windows);
        draft.missing.push(observed.missing(&signal::ALLOCSTALL));
        draft.summary = format!(
            "Programs scanned {} pages a second themselves: {} of all that were scanned.",
            words::number(scanned.value(&hits, windows).unwrap_or(0.0)),
            part.value(&hits, windows).map_or_else(|| "a part".to_owned(), words::percent),
        );
    })
}

/// Where what is kept for those that cannot wait is used up, all others have to free memory themselves: free memory is below the
/// lowest watermark (`mm/page_alloc.c`, `__zone_watermark_ok`).
fn by_failures(case: &Case<'_>, failed: f64) -> Verdict {
    const NAME: &str = "allocations of a page that failed and could not wait";
    let (fails, line) = case.whole(NAME, "import failed_atomic", Some(failed));
    let mut symptom = case.lasting_hits(Hits::always(fails, case.windows().count));
    symptom.evidence = vec![line];
    symptom.hits.missing.push(case.observed.missing(&signal::ALLOCSTALL));
    case.decide(symptom, Vec::new()).found(|draft| {
        draft.confidence = Some(Confidence::Low);
        draft.summary = format!(
            "{} of a single page that could not wait failed: kswapd did not keep up, free memory was below its lowest watermark, \
             and there every other allocation has to free memory first.",
            if failed == 1.0 { "An allocation".to_owned() } else { format!("{} allocations", words::number(failed)) },
        );
        if let Some((text, line)) = super::room::for_contiguous_blocks(case.observed) {
            draft.evidence.push(line);
            draft.summary.push_str(&text);
        }
    })
}

/// Of one reading of `/proc/vmstat`.
fn by_totals(case: &Case<'_>) -> Option<Verdict> {
    let observed = case.observed;
    let both = |direct, kswapd| Some((observed.since_boot(direct)?, observed.since_boot(kswapd)?));
    let size = |pages: f64| words::bytes(pages * observed.page_size);
    let Some((direct, kswapd)) = both(&signal::STEAL_DIRECT, &signal::STEAL_KSWAPD) else {
        // Before 3.4 it is not counted who freed what (`pgsteal_normal`), and who scanned what is.
        let (direct, kswapd) = both(&signal::SCAN_DIRECT, &signal::SCAN_KSWAPD)?;
        let all = direct + kswapd;
        let values = [
            ("pages scanned in all", Some(all)),
            ("of these, scanned by programs themselves", Some(direct / all.max(1.0))),
        ];
        return case.since_boot("vmstat pgscan_direct, pgscan_kswapd", values, |[all, part]| {
            format!(
                "programs themselves scanned {} of the {} pages that were scanned in all, and waited for it",
                words::percent(part),
                size(all)
            )
        });
    };
    let all = direct + kswapd;
    let values =
        [("pages freed in all", Some(all)), ("of these, freed by programs themselves", Some(direct / all.max(1.0)))];
    case.since_boot("vmstat pgsteal_direct, pgsteal_kswapd", values, |[all, part]| {
        format!(
            "programs freed {} of the {} that were reclaimed themselves, and waited for it",
            words::percent(part),
            size(all)
        )
    })
}

/// What waits for memory may wait for something else most of the time.
fn more_by_compaction(case: &Case<'_>, hits: &Hits) -> Option<String> {
    let [reclaim, compaction] = [StallKind::DirectReclaim, StallKind::Compaction].map(|kind| case.held_up(kind, hits));
    let (reclaim, compaction) = reclaim.zip(compaction).filter(|(reclaim, compaction)| compaction > reclaim)?;
    let [reclaim, compaction] = [reclaim, compaction].map(words::seconds);
    Some(format!(
        " Most of the wait is another: in each second compaction held tasks up for {compaction}, this for {reclaim}."
    ))
}

fn judge(case: &Case<'_>) -> Verdict {
    let observed = case.observed;
    let windows = case.windows();
    if let Some(verdict) = by_totals(case) {
        return verdict;
    }
    let is_of_pages = observed.is_known(&signal::SCAN_DIRECT) || !observed.has(&signal::STEAL_DIRECT);
    // Of a listing beside which /proc was read for a part of the time, the listing knows more.
    let known = |signal| observed.rate(signal).values().iter().flatten().count();
    let is_listed = !observed.has(&signal::ALLOCSTALL) || known(&signal::SCAN_DIRECT) > known(&signal::ALLOCSTALL);
    if observed.is_import && is_listed && is_of_pages {
        return by_listing(case);
    }
    let often = case.rate("allocations that had to reclaim", &signal::ALLOCSTALL);
    let symptom = case.lasting(&[&often]);
    let hits = symptom.hits.clone();
    let direct = observed.rate(&signal::STEAL_DIRECT);
    let part = direct.share_of(&direct.plus(&observed.rate(&signal::STEAL_KSWAPD)));
    let part = case.clause("freed by programs themselves", "vmstat pgsteal_direct", part);
    let counters = case.counters(&[&part], &hits);
    let stacks = case.stacks("samples in direct reclaim", Family::Reclaim, NOT_OF_PROGRAMS, &hits);
    let stalls = case.stall_lengths("99 of 100 reclaims are shorter than", StallKind::DirectReclaim, &hits);
    let in_reclaim = stacks.share;
    case.decide(symptom, vec![counters, stacks, stalls]).found(|draft| {
        draft.cost.cpu_share = in_reclaim;
        draft.cost.stalled_share = case.waited_for(StallKind::DirectReclaim, &hits);
        let throttled = case.stalled(StallKind::Throttled, &hits);
        if let Some((reason, share)) = throttled.and_then(|stalled| stalled.outcomes.first().cloned()) {
            let name = format!("put to sleep for {reason}");
            draft.evidence.push(said("stalls: throttled", &name, Some(share), Fraction));
        }
        draft.summary = format!(
            "{} allocations a second had to free memory first; programs freed {} of what was freed.",
            words::number(often.value(&hits, windows).unwrap_or(0.0)),
            part.value(&hits, windows).map_or_else(|| "a part".to_owned(), words::percent),
        );
        if let Some(share) = observed.rate(&signal::PSI_MEMORY_SOME).mean(&hits, windows) {
            draft.summary.push_str(&format!(" Some task waited for memory {} of the time.", words::percent(share)));
        }
        if let Some(other) = more_by_compaction(case, &hits) {
            draft.summary.push_str(&other);
        }
    })
}

//! Page faults that compact memory until the kernel has most of the CPU, with free memory at hand.

use super::super::rule::{Step, To};
use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "compaction-storm",
    title: "Compaction storm",
    meaning: "Programs ask for huge pages, and the kernel moves memory about inside their page faults to get them. \
              Memory is not short: what is free lies in pieces.",
    thresholds: &[
        Threshold::at_least("system share of busy CPU", 0.30, Fraction)
            .documented("Cloudera's performance guide, transparent huge page compaction"),
        Threshold::at_least("available memory", 0.10, Fraction),
        Threshold::at_least("free memory", (1u64 << 30) as f64, Bytes),
        Threshold::at_least("direct compactions per CPU", 0.05, PerSecond),
        Threshold::at_least("pages scanned per success", 10_000.0, Number),
        Threshold::at_least("compactions that fail", 0.5, Fraction),
        Threshold::at_least("samples in compaction", 0.20, Fraction),
        Threshold::at_least("time a process compacts", 0.05, Fraction),
    ],
    lasts: THREE_WINDOWS,
    may_be_shorter: true,
    needs: &[&signal::CPU_SYSTEM, &signal::CPU_USER, &signal::MEM_AVAILABLE, &signal::COMPACT_STALL],
    tiers: &[Tier::Counters, Tier::Stacks, Tier::Stalls],
    rivals: &["direct-reclaim-stalls", "swap-thrash", "dirty-throttling", "kcompactd-burn", "khugepaged-burn"],
    changes: &[
        Step::set(
            "thp.defrag",
            To::First(&["defer+madvise", "madvise"]),
            "only programs that ask for huge pages still wait for them; the others get them later, in the background",
        )
        .from(&["always"]),
        Step::set("thp.defrag", To::First(&["defer"]), "nobody waits for a huge page; kcompactd makes them later")
            .from(&["madvise", "defer+madvise"]),
        Step::set("thp.defrag", To::First(&["never"]), "a page fault takes a huge page only if one is free"),
        Step::set(
            "process.thp",
            To::First(&["never"]),
            "your job alone gets no huge pages; the rest of the host keeps them",
        ),
        Step::set("thp.enabled", To::First(&["madvise"]), "only programs that ask get huge pages")
            .from(&["always"])
            .after_restart(),
        Step::set("thp.enabled", To::First(&["never"]), "no huge pages at all").after_restart(),
    ],
    counterindications: &[
        "Huge pages may be worth more than they cost: without them the processor looks up more translations. No counter \
         here shows that, so prove the change on the job.",
        "Programs that ask by madvise (a JVM with UseTransparentHugePages, TCMalloc, numpy) still compact under \
         defer+madvise and madvise.",
    ],
    docs: &[
        "Documentation/admin-guide/mm/transhuge.rst",
        "https://structureddata.org/2012/06/18/linux-6-transparent-huge-pages-and-hadoop-workloads/",
        "https://github.com/golang/go/issues/61718",
    ],
    judge,
};

fn judge(case: &Case<'_>) -> Verdict {
    let look = case.look;
    let share = case.clause("system share of busy CPU", "stat", look.system_share());
    let room = room(case);
    let symptom = case.lasting(&[&share, &room]);
    let hits = symptom.hits.clone();
    let stalls = case.rate_by_cpu("direct compactions per CPU", &signal::COMPACT_STALL, 1.0);
    let counters = case.counters(&[&stalls], &hits);
    let stacks = case.stacks("samples in compaction", Family::Compaction, &[Family::Kcompactd], &hits);
    let waits = case.stalls("time a process compacts", StallKind::Compaction, &hits);
    let in_compaction = stacks.share;
    let verdict = case.decide(symptom, vec![counters, stacks, waits]);
    verdict.found(|draft| {
        let windows = case.windows();
        for clause in futility(case) {
            if let Some(value) = clause.value(&hits, windows) {
                draft.evidence.push(Evidence { value: Some(value), ..clause.evidence(&hits, windows) });
            }
        }
        draft.evidence.extend(
            fragmentation::huge_page_index(look)
                .map(|index| said("buddyinfo", "fragmentation index for a huge page, best zone", Some(index), Number)),
        );
        let of_all = look.system_share_of_all().mean(&hits, windows);
        draft.evidence.push(said("stat", "system share of all CPU", of_all, Fraction));
        draft.cost.cpu_share = of_all.map(|share| share * in_compaction.unwrap_or(1.0).min(1.0));
        draft.cost.stalled_share = look.rate(&signal::PSI_MEMORY_SOME).mean(&hits, windows);
        if case.stalled(StallKind::Compaction, &hits).and_then(|stalled| stalled.order).is_some_and(|order| order < 9) {
            draft.watch.push(
                "Most of the time went to allocations smaller than a huge page: THP is not the (only) cause. See \
                 fragmentation and watermark-boost."
                    .to_owned(),
            );
        }
        draft.summary = summary(case, draft, &share, &room, in_compaction);
    })
}

/// How much memory is there to be had. Without the host's size, so much that the size does not matter.
fn room(case: &Case<'_>) -> Clause {
    let look = case.look;
    if look.memory().is_some() || !look.has(&signal::MEM_FREE) {
        let source = if look.has(&signal::MEM_AVAILABLE) { "meminfo MemAvailable" } else { "meminfo MemFree" };
        return case.clause("available memory", source, look.share_of_memory(&look.available()));
    }
    case.clause("free memory", "meminfo MemFree", look.level(&signal::MEM_FREE))
}

/// What shows that compaction is in vain.
fn futility(case: &Case<'_>) -> Vec<Clause> {
    let look = case.look;
    let scanned = look.rate(&signal::COMPACT_SCANNED).per(&look.rate(&signal::COMPACT_SUCCESS));
    let failed = look.rate(&signal::COMPACT_FAIL).per(&look.rate(&signal::COMPACT_STALL));
    vec![
        case.clause("pages scanned per success", "vmstat compact_*", scanned),
        case.clause("compactions that fail", "vmstat compact_fail / compact_stall", failed),
    ]
}

fn summary(case: &Case<'_>, draft: &Draft, share: &Clause, room: &Clause, in_compaction: Option<f64>) -> String {
    let (windows, hits) = (case.windows(), &draft.hits);
    let mut text = format!(
        "For {} of {} the kernel used {} of the busy CPU.",
        words::seconds(hits.seconds(windows)),
        words::seconds(windows.seconds()),
        share.value(hits, windows).map_or_else(|| "much".to_owned(), words::percent),
    );
    if draft.tiers.contains(&Tier::Stacks) {
        let part = in_compaction.map_or_else(|| "Most".to_owned(), words::percent);
        text.push_str(&format!(" {part} of all samples were in compaction or waited for its locks."));
    } else if draft.tiers.contains(&Tier::Stalls) {
        text.push_str(" Tasks were held up by compaction.");
    } else {
        text.push_str(" Direct compactions ran all the while.");
    }
    let free = case.look.available().mean(hits, windows).map(words::bytes);
    if let (Some(free), Some(_)) = (free, room.value(hits, windows)) {
        text.push_str(&format!(" {free} of memory could still be had."));
    }
    text
}

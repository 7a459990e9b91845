//! Page faults that compact memory and wait for it, without the system time of a storm.

use super::super::huge_faults::{NOT_DIRECT, is_for_no_huge_page};
use super::compaction_storm::{CHANGES, WATCH_OUT, in_vain, who_asked};
use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "compaction-stalls",
    title: "Programs wait for compaction",
    meaning: "Programs ask for huge pages and wait while the kernel moves memory about to make one. It is no storm: the kernel has no \
              large part of the CPU. Most of the time of those that ask is lost all the same when memory is short as well, as beside a \
              program that reads large files.",
    thresholds: &[
        Threshold::at_least("direct compactions per CPU", 0.05, PerSecond),
        Threshold::at_least("samples in compaction", 0.05, Fraction),
        Threshold::at_least("time a process compacts", 0.05, Fraction),
        Threshold::at_least("direct compactions per CPU, by counters alone", 10.0, PerSecond),
        Threshold::at_least("compactions that fail, by counters alone", 0.5, Fraction),
    ],
    lasts: THREE_WINDOWS,
    may_be_shorter: true,
    needs: &[&signal::COMPACT_STALL],
    tiers: &[Tier::Counters, Tier::Stacks, Tier::Stalls],
    rivals: &["compaction-storm", "direct-reclaim-stalls", "fragmentation"],
    changes: CHANGES,
    counterindications: WATCH_OUT,
    docs: &["mm/page_alloc.c (6.12), __alloc_pages_slowpath", "Documentation/admin-guide/mm/transhuge.rst"],
    judge,
};

/// What it means where nothing says how long they wait.
const UNMEASURED: &str = "Programs ask for huge pages and wait while the kernel moves memory about to make one, most often in vain. How much \
                          of their time that takes, nothing here measured.";

/// The same of tasks that were only seen to wait.
pub(in super::super) const WAITS: &str = "Programs wait while the kernel moves memory about to make a large block, a huge page most often. \
                                          Whether the kernel has much of the CPU beside it nothing here says.";

fn judge(case: &Case<'_>) -> Verdict {
    let observed = case.observed;
    if case.found.contains(&"compaction-storm") {
        return Verdict::explained_by("compaction-storm");
    }
    let often = case.rate_by_cpu("direct compactions per CPU", &signal::COMPACT_STALL, 1.0);
    let symptom = case.lasting(&[&often]);
    let hits = symptom.hits.clone();
    let stacks = case.stacks("samples in compaction", Family::Compaction, NOT_DIRECT, &hits);
    let waits = case.stalls("time a process compacts", StallKind::Compaction, &hits);
    let in_compaction = stacks.share;
    let mut mechanisms = vec![stacks, waits];
    // How long one of them takes is not known where nothing measured it; of so many that are in vain none has to take long.
    if mechanisms.iter().all(|says| says.answer == Answer::Unknown) {
        let many = case.rate_by_cpu("direct compactions per CPU, by counters alone", &signal::COMPACT_STALL, 100.0);
        let in_vain = in_vain(case, "compactions that fail, by counters alone");
        mechanisms.push(case.counters(&[&many, &in_vain], &hits));
    }
    case.decide(symptom, mechanisms).found(|draft| {
        let windows = case.windows();
        draft.cost.cpu_share = observed
            .system_share_of_all()
            .mean(&hits, windows)
            .zip(in_compaction)
            .map(|(all, part)| all * part.min(1.0));
        draft.cost.stalled_share = case.waited_for(StallKind::Compaction, &hits);
        let times = observed.rate(&signal::COMPACT_STALL).mean(&hits, windows).unwrap_or(0.0);
        draft.summary = format!("{} allocations a second compacted memory first.", words::number(times));
        if let Some(held_up) = case.held_up(StallKind::Compaction, &hits) {
            let of = words::seconds(held_up);
            draft.summary.push_str(&format!(" In each second tasks were held up by it for {of} in all."));
        }
        if !is_for_no_huge_page(observed, &hits) {
            draft.other = (draft.tiers == [Tier::Counters]).then_some((RULE.title, UNMEASURED));
            draft.summary.push_str(&who_asked(observed, &hits));
        }
    })
}

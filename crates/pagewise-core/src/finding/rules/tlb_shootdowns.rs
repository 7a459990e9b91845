//! CPUs that interrupt each other so that translations are forgotten.

use super::super::rule::{SettingTarget, Step};
use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "tlb-shootdowns",
    title: "CPUs make each other forget translations",
    meaning: "Whenever a mapping goes away or its rights shrink, every other CPU that runs the process is interrupted and has to forget \
              what it knew of it; the one that asks waits for all of them. The more CPUs a process runs on, the more it costs.",
    thresholds: &[
        Threshold::at_least("samples interrupting other CPUs", 0.10, Fraction),
        Threshold::at_least("shootdowns received per CPU", 20_000.0, PerSecond),
        Threshold::at_least("system share of busy CPU", 0.20, Fraction),
        Threshold::at_least("of the shootdowns, one cause", 0.50, Fraction),
    ],
    lasts: 10.0,
    may_be_shorter: true,
    needs: &[&signal::CPU_SYSTEM, &signal::CPU_USER, &signal::TLB_REMOTE_RECEIVED],
    tiers: &[Tier::Counters, Tier::Stacks],
    rivals: &["mmap-lock-contention", "numa-imbalance", "compaction-storm", "kswapd-saturation"],
    changes: &[
        Step::set(
            "kernel.numa_balancing",
            SettingTarget::First(&["0"]),
            "NUMA balancing takes translations away to see who uses a page, and moves pages; memory then stays where it is",
        )
        .from(&["1"])
        .when("where NUMA balancing is what asks for them", |observed, hits| most(observed, hits) == Some(Cause::Numa)),
        Step::advice(
            "let the allocator keep memory instead of giving it back piece by piece (decay and trim settings), unmap large areas at \
             once, and change rights (mprotect) of whole areas: each call interrupts every CPU of the process once",
        )
        .after_restart()
        .when("where a program's calls ask for them, or it was not seen what does", |observed, hits| {
            matches!(most(observed, hits), None | Some(Cause::Calls))
        }),
        Step::advice(
            "see why pages are moved or reclaimed (compaction-storm, kcompactd-burn, khugepaged-burn, kswapd-saturation): each page \
             that is unmapped for it has to be forgotten",
        )
        .when("where moving or reclaiming pages asks for them", |observed, hits| {
            matches!(most(observed, hits), Some(Cause::Moves | Cause::Reclaim))
        }),
        Step::advice(
            "run the job on fewer CPUs, or as several processes with fewer threads each: only CPUs that run threads of the process are \
             interrupted",
        )
        .after_restart(),
    ],
    counterindications: &[
        "In a guest each interrupt of another CPU may cost an exit to the hypervisor, and a CPU that does not run answers late: the same \
         program costs less on the bare machine.",
        "Processors with AMD's INVLPGB forget without interrupts, from Linux 6.15 on (arch/x86/mm/tlb.c).",
    ],
    docs: &[
        "arch/x86/mm/tlb.c (6.12), flush_tlb_mm_range and native_flush_tlb_multi",
        "mm/rmap.c (6.12), try_to_unmap_flush: reclaim asks once for many pages",
        "include/linux/vm_event_item.h, NR_TLB_REMOTE_FLUSH: with CONFIG_DEBUG_TLBFLUSH",
    ],
    judge,
};

/// What asks for shootdowns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cause {
    Numa,
    Reclaim,
    Moves,
    Calls,
}

/// In the order in which a stack is sorted: what moves pages may do it for NUMA balancing.
const CAUSES: [(Cause, &[Family], &str); 4] = [
    (Cause::Numa, &[Family::Numa], "NUMA balancing"),
    (Cause::Reclaim, &[Family::Reclaim, Family::Kswapd], "reclaim"),
    (Cause::Moves, &[Family::Migration, Family::Compaction, Family::Khugepaged], "moving pages"),
    (Cause::Calls, &[Family::ChangeMap, Family::Dontneed, Family::GiveBack], "munmap, mprotect or madvise"),
];

/// What asks for them, with its part; `None`: callers are not known, or it is none of these.
fn cause(observed: &Observed, hits: &Hits) -> Option<(Cause, &'static str, f64)> {
    let profile = observed.profile.as_ref().filter(|profile| !profile.is_flat())?;
    let count = |not: &[Family]| profile.counts(Family::Shootdown, not, hits, &observed.windows).family;
    let all = count(&[]);
    let mut before: Vec<Family> = Vec::new();
    let mut left = all;
    let mut most: Option<(Cause, &'static str, f64)> = None;
    for (cause, families, words) in CAUSES {
        before.extend(families);
        let rest = count(&before);
        let part = left.saturating_sub(rest) as f64 / all.max(1) as f64;
        left = rest;
        if most.is_none_or(|(_, _, other)| part > other) {
            most = Some((cause, words, part));
        }
    }
    most.filter(|(_, _, part)| *part > 0.0)
}

/// What asks for most of them.
fn most(observed: &Observed, hits: &Hits) -> Option<Cause> {
    cause(observed, hits).filter(|(_, _, part)| *part >= 0.5).map(|(cause, ..)| cause)
}

fn judge(case: &Case<'_>) -> Verdict {
    let observed = case.observed;
    let busy = case.clause("system share of busy CPU", "stat", observed.system_share());
    // A profile alone has no such share, and needs none.
    let is_known = busy.track.values().iter().any(Option::is_some);
    let mut symptom = if is_known {
        case.lasting(&[&busy])
    } else {
        case.lasting_hits(Hits::always(Answer::Yes, case.windows().count))
    };
    if !is_known {
        symptom.hits.missing.extend(busy.track.missing().iter().cloned());
    }
    let hits = symptom.hits.clone();
    let received = case.rate_by_cpu("shootdowns received per CPU", &signal::TLB_REMOTE_RECEIVED, 0.0);
    let counters = case.counters(&[&received], &hits);
    let stacks = case.stacks("samples interrupting other CPUs", Family::Shootdown, &[], &hits);
    let share = stacks.share;
    // Few kernels count them: where stacks tell, nothing is missing.
    let is_counted = observed.has(&signal::TLB_REMOTE_RECEIVED) || observed.profile.is_none();
    let mechanisms = if is_counted { vec![counters, stacks] } else { vec![stacks] };
    case.decide(symptom, mechanisms).found(|draft| {
        let windows = case.windows();
        let by_stacks = share.filter(|_| draft.tiers.contains(&Tier::Stacks));
        let busy = observed.busy_share().mean(&hits, windows).unwrap_or(1.0);
        draft.cost.cpu_share = by_stacks.map(|share| share * busy);
        let sent = observed.rate(&signal::TLB_REMOTE_SENT).mean(&hits, windows);
        draft.evidence.push(said("vmstat nr_tlb_remote_flush", "shootdowns sent", sent, PerSecond));
        let got = observed.rate(&signal::TLB_REMOTE_RECEIVED).mean(&hits, windows);
        let mut told: Vec<String> = Vec::new();
        if let Some(share) = by_stacks {
            let share = words::percent(share);
            told.push(format!("In {share} of the samples CPUs made others forget translations, or did so for others."));
        }
        if let Some((_, what, part)) = cause(observed, &hits) {
            let (_, line) = case.whole("of the shootdowns, one cause", "stacks: callers", Some(part));
            draft.evidence.push(Evidence { name: format!("of the shootdowns, {what}"), ..line });
            told.push(format!("{} of that is for {what}.", words::percent(part)));
        }
        if let Some(got) = got.filter(|got| *got > 0.0) {
            told.push(format!("CPUs were interrupted for it {} times a second.", words::number(got)));
        }
        case.name(draft, RankedBy::SystemTime);
        draft.summary = told.join(" ");
    })
}

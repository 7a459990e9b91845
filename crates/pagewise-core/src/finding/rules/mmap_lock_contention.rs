//! Threads of one process wait for its map of memory, or CPUs for each other's translations.

use super::super::rule::Step;
use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "mmap-lock-contention",
    title: "Threads wait for the process's map of memory",
    meaning: "Page faults, mapping and unmapping of many threads meet at one lock, or each unmapping interrupts all other \
              CPUs. Allocators that give memory back all the time are the usual reason.",
    thresholds: &[
        Threshold::at_least("samples waiting for the map of memory", 0.10, Fraction),
        Threshold::at_least("samples interrupting other CPUs", 0.10, Fraction),
        Threshold::at_least("samples changing the map of memory", 0.20, Fraction),
        Threshold::at_least("samples in the lists of who maps what", 0.10, Fraction),
    ],
    lasts: 10.0,
    may_be_shorter: true,
    needs: &[],
    tiers: &[Tier::Stacks, Tier::Stalls],
    rivals: &["compaction-storm", "numa-imbalance"],
    changes: &[
        Step::advice("let the allocator keep memory instead of giving it back (decay and trim settings), and map large areas once").after_restart(),
        Step::advice(
            "start processes more rarely: workers that stay, posix_spawn or vfork instead of fork, fewer libraries to map at each start",
        )
        .after_restart()
        .when("where processes wait for such lists", |observed, hits| lists(observed, hits).is_some_and(|part| part >= 0.10)),
        Step::advice("see whether NUMA balancing or khugepaged cause the unmapping (numa-imbalance, khugepaged-burn)"),
    ],
    counterindications: &["No setting of the host cures it; it is reported so that nothing else is blamed."],
    docs: &["Documentation/mm/process_addrs.rst (6.13)"],
    judge,
};

/// Title and meaning where nobody was seen to wait.
const CHANGES: (&str, &str) = (
    "A program maps and unmaps memory all the time",
    "The kernel spends its time making and tearing down mappings. Each holds the lock of the process's map, so that threads of one \
     process do it one after the other: who waits for it sleeps and is in no sample. Allocators that give memory back all the \
     time are the usual reason.",
);

/// Title and meaning where processes wait for each other rather than threads.
pub(in super::super) const LISTS: (&str, &str) = (
    "Processes wait for each other's lists of mappings",
    "The kernel keeps, for the pages of a file and for those that a process shares with its forks, who has them mapped: one tree under \
     one lock. Every fork, exit, mapping and unmapping changes it, and where many do so at once they wait for each other.",
);

/// Reclaim and the thread that makes huge pages go through the same lists and maps: that is no program's doing.
pub(in super::super) const NOT: &[Family] =
    &[Family::Khugepaged, Family::Kswapd, Family::Reclaim, Family::Compaction, Family::SlabShrink];

/// The part of the samples in such lists.
fn lists(observed: &Observed, over: &Hits) -> Option<f64> {
    Some(observed.profile.as_ref()?.counts(Family::ReverseMap, NOT, over, &observed.windows).share())
}

/// Samples waiting for a lock by whose name it may be a process's map.
fn waits_for_the_map(case: &Case<'_>, all: &Hits) -> TierAnswer {
    let lock = case.stacks("samples waiting for the map of memory", Family::MmapLock, &[Family::Khugepaged], all);
    match &case.observed.profile {
        Some(profile) if lock.answer == Answer::Yes && !profile.waits_for_the_map(all, case.windows()) => {
            if profile.is_flat() {
                let why = "callers were not recorded, and other things have such locks, too";
                return TierAnswer { share: lock.share, ..TierAnswer::silent(Tier::Stacks, "stacks", why) };
            }
            TierAnswer { answer: Answer::No, ..lock }
        }
        _ => lock,
    }
}

fn judge(case: &Case<'_>) -> Verdict {
    let observed = case.observed;
    let all = Hits::always(Answer::Yes, case.windows().count);
    let lock = waits_for_the_map(case, &all);
    let listed = case.stacks("samples in the lists of who maps what", Family::ReverseMap, NOT, &all);
    // Reclaim has to unmap what it frees, and who moves pages what it moves: that is no program's doing.
    let not = [Family::Khugepaged, Family::Kswapd, Family::Reclaim, Family::Compaction, Family::Numa];
    let shoot = case.stacks("samples interrupting other CPUs", Family::Shootdown, &not, &all);
    // Who waits for the lock sleeps, and is in no sample; with a lock for each area (6.4) faults need not wait. What maps and
    // unmaps holds it all the while.
    let unmap = case.stacks("samples changing the map of memory", Family::ChangeMap, &[Family::Khugepaged], &all);
    let is_of_lists = listed.answer == Answer::Yes;
    let waits = [&lock, &shoot].iter().any(|says| says.answer == Answer::Yes);
    let all_of_them = [lock, unmap, shoot, listed];
    let parts = all_of_them.each_ref().map(|says| says.share);
    let answer = Answer::any(all_of_them.each_ref().map(|says| says.answer));
    // The one that holds, or the largest of those that do not; what is missing of the others is missing of all.
    let mut missing: Vec<Missing> = Vec::new();
    for one in all_of_them.iter().flat_map(|says| &says.missing) {
        if !missing.contains(one) {
            missing.push(one.clone());
        }
    }
    let best = all_of_them.into_iter().max_by(|a, b| {
        let rank = |says: &TierAnswer| (says.answer == Answer::Yes, says.share.unwrap_or(0.0));
        let ((a, a_share), (b, b_share)) = (rank(a), rank(b));
        a.cmp(&b).then(a_share.total_cmp(&b_share))
    });
    let says = best.map(|says| TierAnswer {
        answer,
        missing: if answer == Answer::Unknown { missing } else { Vec::new() },
        ..says
    });
    let symptom = case.lasting_hits(all);
    case.decide(symptom, says.into_iter().collect()).found(|draft| {
        draft.cost.cpu_share = parts.into_iter().flatten().reduce(f64::max);
        let received = observed.rate(&signal::TLB_REMOTE_RECEIVED).mean_of_all(case.windows());
        draft.evidence.push(said("vmstat nr_tlb_remote_flush_received", "shootdowns received", received, PerSecond));
        if is_of_lists {
            draft.other = Some(LISTS);
        } else if !waits {
            draft.other = Some(CHANGES);
        }
        let does = [
            "waited for a process's map of memory",
            "changed it",
            "interrupted other CPUs to shoot down translations",
            "were in the lists of who maps what",
        ];
        let told: Vec<String> = parts
            .iter()
            .zip(does)
            .filter_map(|(part, does)| Some(format!("{} {does}", words::percent((*part)?))))
            .collect();
        draft.summary = format!("Of the samples {}.", told.join(", "));
    })
}

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
    ],
    lasts: 10.0,
    may_be_shorter: true,
    needs: &[],
    tiers: &[Tier::Stacks],
    rivals: &["compaction-storm", "numa-imbalance"],
    changes: &[
        Step::advice("let the allocator keep memory instead of giving it back (decay and trim settings), and map large areas once").after_restart(),
        Step::advice("see whether NUMA balancing or khugepaged cause the unmapping (numa-imbalance, khugepaged-burn)"),
    ],
    counterindications: &["No setting of the host cures it; it is reported so that nothing else is blamed."],
    docs: &["Documentation/mm/process_addrs.rst (6.13)"],
    judge,
};

fn judge(case: &Case<'_>) -> Verdict {
    let look = case.look;
    let all = Hits::always(Answer::Yes, case.windows().count);
    let lock = case.stacks("samples waiting for the map of memory", Family::MmapLock, &[Family::Khugepaged], &all);
    let shoot = case.stacks("samples interrupting other CPUs", Family::Shootdown, &[], &all);
    // Who waits for the lock sleeps, and is in no sample; with a lock for each area (6.4) faults need not wait. What maps and
    // unmaps holds it all the while.
    let unmap = case.stacks("samples changing the map of memory", Family::ChangeMap, &[Family::Khugepaged], &all);
    let (by_lock, by_shoot) = (lock.share.unwrap_or(0.0), shoot.share.unwrap_or(0.0));
    let by_unmap = unmap.share.unwrap_or(0.0);
    let answer = lock.answer.or(shoot.answer).or(unmap.answer);
    // The one that holds, or the largest of those that do not.
    let best = [lock, shoot, unmap].into_iter().max_by(|a, b| {
        let rank = |says: &Says| (says.answer == Answer::Yes, says.share.unwrap_or(0.0));
        let ((a, a_share), (b, b_share)) = (rank(a), rank(b));
        a.cmp(&b).then(a_share.total_cmp(&b_share))
    });
    let says = best.map(|says| Says { answer, ..says });
    let symptom = case.lasting_hits(all);
    case.decide(symptom, says.into_iter().collect()).found(|draft| {
        draft.cost.cpu_share = Some(by_lock.max(by_shoot).max(by_unmap));
        let received = look.rate(&signal::TLB_REMOTE_RECEIVED).mean_of_all(case.windows());
        draft.evidence.push(said("vmstat nr_tlb_remote_flush_received", "shootdowns received", received, PerSecond));
        draft.summary = format!(
            "{} of the samples waited for a process's map of memory, {} changed it, {} interrupted other CPUs to shoot \
             down translations.",
            words::percent(by_lock),
            words::percent(by_unmap),
            words::percent(by_shoot),
        );
    })
}

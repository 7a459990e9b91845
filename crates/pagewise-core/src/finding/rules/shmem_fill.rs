//! Shared memory and files in tmpfs take the memory that programs and file data lack.

use super::super::rule::Step;
use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "shmem-fill",
    title: "Shared memory and tmpfs fill memory",
    meaning: "Files in tmpfs (/dev/shm, /run, often /tmp) and shared memory stay in memory until somebody removes them, whether a \
              process uses them or not. Without swap the kernel cannot get any of it back, although it counts as page cache.",
    thresholds: &[
        Threshold::at_least("shared memory and tmpfs", 0.25, Fraction),
        Threshold::below("available memory", 0.10, Fraction),
        Threshold::below("available memory, while it grows", 0.25, Fraction),
        Threshold::at_least("shared memory, growth per hour", 0.05, Fraction),
        Threshold::at_least("time in which some task waited for memory", 0.01, Fraction),
    ],
    lasts: THREE_WINDOWS,
    may_be_shorter: true,
    needs: &[&signal::SHMEM, &signal::MEM_TOTAL, &signal::MEM_AVAILABLE],
    tiers: &[Tier::Counters],
    rivals: &["slab-bloat", "unevictable-memory", "hugetlb-waste", "kernel-memory-leak"],
    changes: &[
        Step::advice(
            "see whose it is: df -h -t tmpfs for files, ipcs -m -p for System V segments (one with no attached process is left over: \
             ipcrm -m), lsof +L1 for files that were removed and are still open, and shmem of memory.stat for control groups",
        ),
        Step::advice("bound each tmpfs to what it is for (mount -o remount,size=…): its default is half of memory, for each"),
        Step::advice(
            "add swap, of zram if there is no disk for it: shared memory that nobody touches then makes room, and without swap it cannot",
        )
        .when("where there is no swap", |observed, _| observed.swap().is_some_and(|(bytes, _)| bytes == 0.0)),
    ],
    counterindications: &[
        "Databases keep their data in shared memory on purpose (PostgreSQL shared_buffers, Oracle's SGA): as long as memory is available \
         that is as it should be, and where it is not, their buffers are what to make smaller.",
    ],
    docs: &["Documentation/filesystems/tmpfs.rst", "ipcs(1), ipcrm(1)", "proc_meminfo(5), Shmem"],
    judge,
};

/// Watermarks below which nothing is counted as available are less than this part of memory, twice
/// (`si_mem_available`, `mm/show_mem.c`, 6.12).
const NOT_COUNTED: f64 = 0.02;

/// Shared memory in bytes. Of a listing that ends above `Shmem`, the least it can be: page cache that is not available is no file's.
fn shared(observed: &Observed) -> (Track, &'static str) {
    let has = |signal: &signal::Quantity| observed.has(signal);
    let can_be_told = has(&signal::CACHED) && has(&signal::MEM_AVAILABLE) && has(&signal::MEM_FREE);
    let Some(memory) = observed.memory().filter(|_| observed.is_import && !has(&signal::SHMEM) && can_be_told) else {
        return (observed.level(&signal::SHMEM), "meminfo Shmem");
    };
    let level = |signal| observed.level(signal);
    let files = level(&signal::MEM_AVAILABLE)
        .with(&level(&signal::MEM_FREE), |available, free| Some((available - free).max(0.0)));
    let least =
        level(&signal::CACHED).with(&files, |cached, files| Some((cached - files - NOT_COUNTED * memory).max(0.0)));
    (least, "meminfo Cached, less MemAvailable beyond MemFree")
}

fn judge(case: &Case<'_>) -> Verdict {
    let observed = case.observed;
    let windows = case.windows();
    let (shared, source) = shared(observed);
    let part = observed.share_of_memory(&shared);
    let available = observed.share_of_memory(&observed.available());
    let large = case.clause("shared memory and tmpfs", source, part.clone());
    let short = case.clause("available memory", "meminfo MemAvailable", available.clone());
    let less = case.clause("available memory, while it grows", "meminfo MemAvailable", available);
    let growth = observed.slope(&signal::SHMEM).zip(observed.memory()).map(|(slope, memory)| slope / memory * 3600.0);
    let (grows, growing) =
        case.whole("shared memory, growth per hour", "meminfo Shmem", growth.filter(|_| keeps_growing(&part)));
    let grows = if grows == Answer::Yes { Answer::Yes } else { Answer::No };
    let filling = less.hits.and(&Hits::always(grows, windows.count));
    let mut symptom = case.lasting_hits(large.hits.and(&short.hits.or(&filling)));
    let hits = symptom.hits.clone();
    symptom.evidence = [&large, if grows == Answer::Yes { &less } else { &short }]
        .map(|clause| clause.evidence(&hits, windows))
        .into_iter()
        .collect();
    case.decide(symptom, Vec::new()).found(|draft| {
        draft.evidence.push(growing);
        let share = large.value(&hits, windows).unwrap_or(0.0);
        let waited = observed.rate(&signal::PSI_MEMORY_SOME).mean(&hits, windows);
        let (waits, line) = case.whole(
            "time in which some task waited for memory",
            &observed.source_of(&signal::PSI_MEMORY_SOME),
            waited,
        );
        draft.evidence.push(line);
        // What nobody lacks is no loss.
        draft.cost.memory_share = Some(share).filter(|_| waits != Answer::No);
        draft.summary = format!(
            "Shared memory and files in tmpfs take {} of the memory, and {} of it can still be had.",
            words::percent(share),
            short.value(&hits, windows).map_or_else(|| "little".to_owned(), words::percent),
        );
        if let Some(growth) = growth.filter(|_| grows == Answer::Yes) {
            draft.summary.push_str(&format!(" They grow by {} of the memory in an hour.", words::percent(growth)));
        }
        if observed.swap().is_some_and(|(bytes, _)| bytes == 0.0) {
            draft.summary.push_str(" There is no swap: the kernel cannot get any of it back.");
        }
    })
}

/// Whether there is more of it in each window than in the one before, as of something that is filled. Three windows at the least: a
/// burst is no habit.
fn keeps_growing(track: &Track) -> bool {
    let known: Vec<f64> = track.values().iter().flatten().copied().collect();
    known.len() >= 3 && known.windows(2).all(|pair| pair[1] > pair[0])
}

//! `vm.swappiness` that does what nobody wanted.

use super::super::rule::{SettingTarget, Step};
use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "swappiness-misuse",
    title: "Swappiness that does harm",
    meaning: "With vm.swappiness at 0 the kernel drops file data, and may kill programs, before it uses the swap there is. \
              Above 100 it swaps sooner than it drops file data, which only pays where swap is faster than the disk.",
    thresholds: &[
        Threshold::below("vm.swappiness, too low", 1.0, Number)
            .documented("0 means it since 3.5: Documentation/admin-guide/sysctl/vm.rst; kernel commit fe35004fbf9e"),
        Threshold::above("vm.swappiness, too high for a disk", 100.0, Number)
            .documented("possible since 5.8: Documentation/admin-guide/sysctl/vm.rst"),
        Threshold::at_least("pages of files reclaim scanned", 100.0, PagesPerSecond),
        Threshold::below("of the pages reclaim scanned, anonymous ones", 0.01, Fraction),
        Threshold::at_least("of what disks move, read again", 0.20, Fraction),
        Threshold::at_least("file pages that came back", 100.0, PagesPerSecond),
        Threshold::below("free memory", super::room::ROOM, Fraction),
        Threshold::at_least("pages that the host itself reclaimed, for each that came back", 0.1, Number),
        Threshold::above("written to swap", 10.0, PagesPerSecond),
        Threshold::at_least("processes killed", 1.0, Number),
        Threshold::at_least("memory in the page cache", 0.25, Fraction),
        Threshold::at_least("memory that went to swap meanwhile", 0.02, Fraction),
        Threshold::at_least("memory that goes to swap in an hour", 0.02, Fraction),
        Threshold::below("swap that is left, in a listing", 0.02, Fraction),
        Threshold::at_least("memory in files that could be had beside it", 0.50, Fraction),
    ],
    lasts: THREE_WINDOWS,
    may_be_shorter: true,
    needs: &[
        &signal::SWAP_TOTAL,
        &signal::SWAP_FREE,
        &signal::PAGE_CACHE,
        &signal::REFAULT_FILE,
        &signal::SCAN_ANON,
        &signal::SCAN_FILE,
        &signal::OOM_KILL,
        &signal::SWAP_OUT,
    ],
    tiers: &[Tier::Counters],
    rivals: &["swap-thrash"],
    changes: &[Step::set(
        "vm.swappiness",
        SettingTarget::Worked(
            usual,
            "from 0 to 10, or to 100 where all swap is compressed memory; from above 100 to 60; to 10 where files push programs out",
        ),
        "the kernel weighs anonymous memory against file data again",
    )],
    counterindications: &[
        "Some databases ask for a low value: 1 still lets the kernel swap before it kills.",
        "With version 1 of control groups each group has a swappiness of its own, taken over when it was made: set \
         memory.swappiness of the job's group, too.",
    ],
    docs: &["Documentation/admin-guide/sysctl/vm.rst, swappiness"],
    judge,
};

fn usual(observed: &Observed) -> Option<String> {
    let now = observed.settings.number("vm.swappiness")?;
    let compressed = observed.swap()?.1 == Some(true);
    match (now, compressed) {
        (now, true) if now < 1.0 => Some("100".to_owned()),
        (now, false) if now < 1.0 => Some("10".to_owned()),
        (now, false) if now > 100.0 => Some("60".to_owned()),
        // Between the two it is found only where programs go to swap for files.
        (now, false) if now > 10.0 && now <= 100.0 => Some("10".to_owned()),
        _ => None,
    }
}

/// Title and meaning where it is the balance between files and programs.
const FOR_FILES: (&str, &str) = (
    "Programs go to swap while files fill memory",
    "The kernel writes memory of programs to swap and keeps file data instead, which nobody may need again: a copy, a backup, a log. \
     When the programs want theirs back they wait for the disk.",
);

/// Memory of programs in swap, in bytes.
fn swapped(observed: &Observed) -> Track {
    if observed.has(&signal::IMPORTED_SWAP_USED) {
        return observed.level(&signal::IMPORTED_SWAP_USED);
    }
    let less = |all: f64, free: f64| Some((all - free).max(0.0));
    observed.level(&signal::SWAP_TOTAL).with(&observed.level(&signal::SWAP_FREE), less)
}

/// `None`: nothing shows it.
fn programs_for_files(case: &Case<'_>) -> Option<Verdict> {
    let observed = case.observed;
    let windows = case.windows();
    let (first, last) = observed.share_of_memory(&swapped(observed)).ends()?;
    let hours = windows.seconds() / 3600.0;
    let (went, went_line) = case.whole("memory that went to swap meanwhile", "meminfo SwapFree", Some(last - first));
    let an_hour = Some((last - first) / hours).filter(|_| hours > 0.0);
    let (fast, fast_line) = case.whole("memory that goes to swap in an hour", "meminfo SwapFree", an_hour);
    if went.and(fast) != Answer::Yes {
        return None;
    }
    let files = observed.level(&signal::PAGE_CACHE);
    let shared = observed.level(&signal::SHMEM).or_zero();
    let files = files.with(&shared, |files, shared| Some((files - shared).max(0.0)));
    let cached = case.clause("memory in the page cache", "meminfo Cached", observed.share_of_memory(&files));
    let mut symptom = case.lasting(&[&cached]);
    if symptom.answer != Answer::Yes {
        return None;
    }
    symptom.evidence.extend([went_line, fast_line]);
    let hits = symptom.hits.clone();
    Some(case.decide(symptom, Vec::new()).found(|draft| {
        draft.other = Some(FOR_FILES);
        draft.confidence = Some(Confidence::Low);
        draft.cost.stalled_share = observed.rate(&signal::PSI_MEMORY_SOME).mean(&hits, windows);
        draft.summary = format!(
            "{} of the memory went to swap in {}, while {} of it held file data.",
            words::percent(last - first),
            words::seconds(windows.seconds()),
            cached.value(&hits, windows).map_or_else(|| "much".to_owned(), words::percent),
        );
    }))
}

/// A listing in which swap is full while most of memory holds files: programs were written to swap to the last page, and files have the
/// memory now, whoever wanted it then. `None`: it is not so, or not known.
fn full_beside_files(case: &Case<'_>) -> Option<Verdict> {
    let observed = case.observed;
    let windows = case.windows();
    let swap = super::oom_risk::swap_beyond_a_token(observed)?;
    // Shared memory is in the page cache and can only go to swap.
    let knows_files = observed.has(&signal::MEM_AVAILABLE) || observed.has(&signal::SHMEM);
    if !observed.is_import || !knows_files {
        return None;
    }
    let left = observed.level(&signal::SWAP_FREE).map(|bytes| bytes / swap);
    let left = case.clause("swap that is left, in a listing", "meminfo SwapFree / SwapTotal", left);
    let files = observed.available().with(&observed.level(&signal::MEM_FREE), |all, free| Some((all - free).max(0.0)));
    let name = "memory in files that could be had beside it";
    let files = case.clause(name, "meminfo MemAvailable", observed.share_of_memory(&files));
    let symptom = case.lasting(&[&left, &files]);
    if symptom.answer != Answer::Yes {
        return None;
    }
    let hits = symptom.hits.clone();
    Some(case.decide(symptom, Vec::new()).found(|draft| {
        draft.other = Some(FOR_FILES);
        draft.confidence = Some(Confidence::Low);
        draft.summary = format!(
            "All {} of swap is used, while {} of the memory holds files that could be dropped.",
            words::bytes(swap),
            files.value(&hits, windows).map_or_else(|| "much".to_owned(), words::percent),
        );
    }))
}

fn judge(case: &Case<'_>) -> Verdict {
    let observed = case.observed;
    let windows = case.windows();
    if let Some(verdict) = programs_for_files(case).or_else(|| full_beside_files(case)) {
        return verdict;
    }
    let missing = |what: &str, why: &str| Verdict::NotDecided {
        missing: vec![Missing { what: what.to_owned(), why: why.to_owned() }],
        needs_seconds: None,
        evidence: Vec::new(),
    };
    let Some(now) = observed.settings.number("vm.swappiness") else {
        return missing("vm.swappiness", "no setting is recorded");
    };
    let (low, too_low) = case.whole("vm.swappiness, too low", "setting", Some(now));
    let (high, too_high) = case.whole("vm.swappiness, too high for a disk", "setting", Some(now));
    if low == Answer::No && high == Answer::No {
        return Verdict::NotFound(vec![too_low, too_high]);
    }
    let Some((swap, compressed)) = observed.swap() else {
        return missing("meminfo.SwapTotal", "it is not in the recording");
    };
    if swap <= 0.0 {
        return case.absent("swap", Some(swap), Bytes);
    }
    if high == Answer::Yes {
        if compressed == Some(true) {
            return Verdict::NotFound(vec![said("setting", "all swap is compressed memory", None, Number)]);
        }
        let out = case.rate("written to swap", &signal::SWAP_OUT);
        let mut symptom = case.lasting(&[&out]);
        symptom.evidence.insert(0, too_high);
        let hits = symptom.hits.clone();
        return case.decide(symptom, Vec::new()).found(|draft| {
            draft.cost.stalled_share = observed.rate(&signal::PSI_MEMORY_SOME).mean(&hits, windows);
            draft.summary = format!(
                "vm.swappiness is {now:.0}, swap lies on a disk, and {} a second were written to it.",
                words::bytes(out.value(&hits, windows).unwrap_or(0.0) * observed.page_size),
            );
            if compressed.is_none() {
                let why = "what swap lies on is not recorded".to_owned();
                draft.missing.push(Missing { what: "swap".to_owned(), why });
                draft.confidence = Some(Confidence::Low);
            }
        });
    }
    let thrash = super::page_cache_thrash::thrash(case);
    // Hardly any rather than none: with version 1 of control groups those with a swappiness of their own still give some.
    let scanned = case.rate("pages of files reclaim scanned", &signal::SCAN_FILE);
    let anon = observed.rate(&signal::SCAN_ANON);
    let anon = anon.share_of(&anon.plus(&observed.rate(&signal::SCAN_FILE)));
    let unscanned =
        case.clause("of the pages reclaim scanned, anonymous ones", "vmstat pgscan_anon, pgscan_file", anon);
    let kills = observed.growth(&signal::OOM_KILL);
    let (killed, kill_line) = case.whole("processes killed", "vmstat oom_kill", kills);
    let hits = if killed == Answer::Yes {
        Hits::always(Answer::Yes, windows.count)
    } else {
        thrash.hits().and(&scanned.hits).and(&unscanned.hits)
    };
    let mut symptom = case.lasting_hits(hits);
    let hits = symptom.hits.clone();
    symptom.evidence = vec![too_low, kill_line];
    let clauses = thrash.clauses().chain([&scanned, &unscanned]);
    symptom.evidence.extend(clauses.map(|clause| clause.evidence(&hits, windows)));
    case.decide(symptom, Vec::new()).found(|draft| {
        draft.cost.stalled_share = observed.rate(&signal::PSI_IO_SOME).mean(&hits, windows);
        draft.at_least = (killed == Answer::Yes).then_some(Severity::High);
        draft.summary = format!(
            "vm.swappiness is 0 with {} of swap, and {}.",
            words::bytes(swap),
            if killed == Answer::Yes { "processes were killed" } else { "file data is dropped and read again" },
        );
    })
}

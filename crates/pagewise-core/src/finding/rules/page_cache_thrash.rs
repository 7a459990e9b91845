//! File data that is dropped and read again.

use super::super::rule::{SettingTarget, Step};
use super::prelude::*;
use super::{groups, mglru};

pub(super) const RULE: Rule = Rule {
    id: "page-cache-thrash",
    title: "Page cache thrash",
    meaning: "File data is dropped from memory and read from disk again soon after. The cache has too little room for what \
              is read.",
    thresholds: &[
        Threshold::at_least("of what disks move, read again", 0.20, Fraction),
        Threshold::at_least("file pages that came back", 100.0, PagesPerSecond),
        Threshold::below("free memory", super::room::ROOM, Fraction),
        Threshold::at_least("pages that the host itself reclaimed, for each that came back", 0.1, Number),
        Threshold::at_least("time in which some task waited for I/O", 0.05, Fraction),
        Threshold::at_least("of those that came back, in use before", 0.5, Fraction),
        Threshold::at_least("samples waiting for page cache", 0.05, Fraction),
        Threshold::at_least("page faults that waited for a disk, in a listing", 100.0, PerSecond),
        Threshold::at_least("pages freed meanwhile, in a listing", 10_000.0, PagesPerSecond),
        Threshold::below("of these faults, pages from swap", 0.10, Fraction),
        Threshold::below("memory in the page cache, in a listing", 0.10, Fraction),
        Threshold::below("free memory beside a small page cache", 0.05, Fraction),
        Threshold::below("page cache, where memory's size is not known", (64u64 << 20) as f64, Bytes),
        Threshold::below("page cache, beside more that is swapped out", (256u64 << 20) as f64, Bytes),
        Threshold::at_least("swapped out, for each byte of it", 4.0, Number),
        Threshold::below("time in which disks read as much as it holds", 10.0, Seconds),
        Threshold::below("free memory beside it", (128u64 << 20) as f64, Bytes),
        Threshold::at_least("tasks that wait for a disk beside it", 4.0, Number),
        Threshold::at_least("CPU time in which tasks waited for a disk beside it", 0.50, Fraction),
        Threshold::below("time in which disks read as much as the page cache holds", 60.0, Seconds),
        Threshold::at_least("tasks that wait for a disk", 2.0, Number),
        Threshold::above("written to swap meanwhile", 0.5, PagesPerSecond),
        Threshold::at_least("page faults that waited for a disk meanwhile", 10.0, PerSecond),
        Threshold::at_least("CPU time in which tasks waited for a disk", 0.10, Fraction),
        Threshold::at_least("file data read again in all", (4u64 << 30) as f64, Bytes),
        Threshold::at_least("of all that was read from disks, read again", 0.50, Fraction),
    ],
    lasts: THREE_WINDOWS,
    may_be_shorter: true,
    needs: &[
        &signal::REFAULT_FILE,
        &signal::PAGE_IN,
        &signal::MEM_FREE,
        &signal::PSI_IO_SOME,
        &signal::PSI_MEMORY_SOME,
    ],
    tiers: &[Tier::Counters, Tier::Stacks],
    rivals: &["swap-thrash", "dirty-throttling", "memcg-limit-thrash"],
    changes: &[
        Step::advice("give the cache room: smaller heaps or less executor memory"),
        Step::set(
            "mglru.enabled",
            SettingTarget::First(&["y"]),
            "the multi-generational LRU keeps what is used more often",
        )
        .when(mglru::WHERE, mglru::is_off),
        Step::advice("protect the reader with memory.low of its control group").when(groups::WHERE, groups::have_v2),
    ],
    counterindications: &["vm.swappiness is not the first thing to turn here: it trades this for swap."],
    docs: &["mm/workingset.c (6.12), the comment at its head", "Documentation/admin-guide/mm/multigen_lru.rst"],
    judge,
};

/// What it takes.
pub(super) struct Thrash {
    /// Of what disks move.
    again: Clause,
    often: Clause,
    free: Clause,
    /// Where it is known.
    by_the_host: Option<Clause>,
}

impl Thrash {
    pub(super) fn clauses(&self) -> impl Iterator<Item = &Clause> {
        [&self.again, &self.often, &self.free].into_iter().chain(&self.by_the_host)
    }

    /// Where all of it holds.
    pub(super) fn hits(&self) -> Hits {
        let three = self.again.hits.and(&self.often.hits).and(&self.free.hits);
        self.by_the_host.iter().fold(three, |hits, clause| hits.and(&clause.hits))
    }
}

/// Also for a rule that builds on it.
pub(super) fn thrash(case: &Case<'_>) -> Thrash {
    let observed = case.observed;
    let back = observed.rate(&signal::REFAULT_FILE);
    let page = observed.page_size;
    // Where disks are busy with writing, a little that is read again is not what anybody waits for. What network file
    // systems read and what holes hold comes from no disk of this host: it is not in pgpgin.
    let moved = observed.rate(&signal::PAGE_IN).plus(&observed.rate(&signal::PAGE_OUT).or_zero());
    let again = back.map(|pages| pages * page).share_of(&moved).map(|share| share.min(1.0));
    let source = "vmstat workingset_refault_file, pgpgin, pgpgout";
    let again = case.clause("of what disks move, read again", source, again);
    let often = case.rate("file pages that came back", &signal::REFAULT_FILE);
    // A control group at its limit drops file data, too, and they are counted with the rest. A host that is short of room
    // has nothing free.
    let free =
        case.clause("free memory", "meminfo MemFree", observed.share_of_memory(&observed.level(&signal::MEM_FREE)));
    Thrash { again, often, free, by_the_host: by_the_host(case) }
}

/// What comes back had to be dropped by somebody. Reclaim at the limit of a control group is in none of the host's own counters (`shrink_inactive_list`,
/// mm/vmscan.c, 6.12): where these stand still, groups dropped it, and the host lacks no room. `None`: they are not known.
fn by_the_host(case: &Case<'_>) -> Option<Clause> {
    let observed = case.observed;
    let has = |signal| observed.has(signal);
    if !(has(&signal::STEAL_KSWAPD) && has(&signal::STEAL_DIRECT)) {
        return None;
    }
    let proactive = observed.rate(&signal::STEAL_PROACTIVE).or_zero();
    let own = observed.rate(&signal::STEAL_KSWAPD).plus(&observed.rate(&signal::STEAL_DIRECT)).plus(&proactive);
    let name = "pages that the host itself reclaimed, for each that came back";
    Some(case.clause(name, "vmstat pgsteal_*", own.per(&observed.rate(&signal::REFAULT_FILE))))
}

/// sar does not count what comes back, but page faults that read a file and what is freed meanwhile. `None`: it does not print these, or they
/// are few.
fn by_listing(case: &Case<'_>) -> Option<Verdict> {
    let observed = case.observed;
    let is_printed = observed.has(&signal::IMPORTED_STEAL) && !observed.has(&signal::REFAULT_FILE);
    if !observed.is_import || !is_printed {
        return None;
    }
    let faults = case.rate("page faults that waited for a disk, in a listing", &signal::MAJOR_FAULTS);
    let freed = observed.level(&signal::IMPORTED_STEAL);
    let freed = case.clause("pages freed meanwhile, in a listing", "import pgsteal_per_second", freed);
    let swapped = observed.rate(&signal::SWAP_IN).or_zero().per(&faults.track);
    let swapped = case.clause("of these faults, pages from swap", &observed.source_of(&signal::SWAP_IN), swapped);
    let symptom = case.lasting(&[&faults, &freed, &swapped]);
    name(case, symptom, |hits| {
        format!(
            "{} page faults a second waited for a disk while {} of memory a second was reclaimed: programs read back what they have mapped, or \
             read in what does not fit.",
            words::number(faults.value(hits, case.windows()).unwrap_or(0.0)),
            words::bytes(freed.value(hits, case.windows()).unwrap_or(0.0) * observed.page_size),
        )
    })
}

/// What a listing shows of it, as long as what comes back was not counted. `None`: it does not.
fn name(case: &Case<'_>, symptom: Lasting, summary: impl FnOnce(&Hits) -> String) -> Option<Verdict> {
    if symptom.answer != Answer::Yes {
        return None;
    }
    let hits = symptom.hits.clone();
    case.where_it_holds(symptom, |draft| {
        draft.confidence = Some(Confidence::Low);
        draft.missing.push(case.observed.missing(&signal::REFAULT_FILE));
        draft.cost.stalled_share = case.observed.waiting_share().mean(&hits, case.windows());
        draft.summary = summary(&hits);
    })
}

/// Other listings do not count what comes back, but say how small the page cache became, how much disks read, and that somebody waits: a
/// cache that is read anew within a minute holds next to nothing for long enough. `None`: they do not say, or it is not so.
fn by_small_cache(case: &Case<'_>) -> Option<Verdict> {
    let observed = case.observed;
    // Where programs are swapped in, disks read for them.
    if !observed.is_import || observed.has(&signal::REFAULT_FILE) || case.found.contains(&"swap-thrash") {
        return None;
    }
    if observed.memory().is_none() {
        return by_tiny_cache(case);
    }
    let cache = observed.level(&signal::PAGE_CACHE);
    let small =
        case.clause("memory in the page cache, in a listing", "meminfo Cached", observed.share_of_memory(&cache));
    let free = observed.share_of_memory(&observed.level(&signal::MEM_FREE));
    let free = case.clause("free memory beside a small page cache", "meminfo MemFree", free);
    let anew = cache.per(&observed.rate(&signal::PAGE_IN));
    let source = observed.source_of(&signal::PAGE_IN);
    let anew = case.clause("time in which disks read as much as the page cache holds", &source, anew);
    let tasks = case.clause("tasks that wait for a disk", "stat procs_blocked", observed.level(&signal::BLOCKED));
    let source = observed.source_of(&signal::CPU_IOWAIT);
    let waits = case.clause("CPU time in which tasks waited for a disk", &source, observed.waiting_share());
    // A database that reads past the cache has such numbers and lacks nothing: memory has to be short as well.
    let out = case.rate("written to swap meanwhile", &signal::SWAP_OUT);
    let faults = case.rate("page faults that waited for a disk meanwhile", &signal::MAJOR_FAULTS);
    let is_short = out.hits.or(&faults.hits);
    let hits = small.hits.and(&free.hits).and(&anew.hits).and(&is_short).and(&tasks.hits.or(&waits.hits));
    let mut symptom = case.lasting_hits(hits);
    let windows = case.windows();
    symptom.evidence = [&small, &free, &anew, &out, &faults, &tasks, &waits]
        .map(|clause| clause.evidence(&symptom.hits, windows))
        .into_iter()
        .collect();
    name(case, symptom, |hits| {
        format!(
            "The page cache had {} of the memory left, and disks read as much as it holds in {}: what programs need is dropped and read again.",
            small.value(hits, windows).map_or_else(|| "little".to_owned(), words::percent),
            anew.value(hits, windows).map_or_else(|| "a short time".to_owned(), words::seconds),
        )
    })
}

/// The same where the size of memory is not told, as in vmstat: the programs and libraries of any host want more page cache than is left here, it is
/// read anew within a minute, and CPUs do little but wait for several tasks that read. A cache that is a little larger, and read anew within seconds, is
/// as bad where programs were swapped out for it: who reads past the cache has no need of that.
fn by_tiny_cache(case: &Case<'_>) -> Option<Verdict> {
    let observed = case.observed;
    let cache = observed.level(&signal::PAGE_CACHE);
    let small = case.clause("page cache, where memory's size is not known", "meminfo Cached", cache.clone());
    let free = case.clause("free memory beside it", "meminfo MemFree", observed.level(&signal::MEM_FREE));
    let read = observed.rate(&signal::PAGE_IN);
    let source = observed.source_of(&signal::PAGE_IN);
    let again = cache.per(&read);
    let at_once = case.clause("time in which disks read as much as it holds", &source, again.clone());
    let anew = case.clause("time in which disks read as much as the page cache holds", &source, again);
    let smallish = case.clause("page cache, beside more that is swapped out", "meminfo Cached", cache.clone());
    let swapped = observed.level(&signal::IMPORTED_SWAP_USED).per(&cache);
    let source = observed.source_of(&signal::IMPORTED_SWAP_USED);
    let swapped = case.clause("swapped out, for each byte of it", &source, swapped);
    let tasks =
        case.clause("tasks that wait for a disk beside it", "stat procs_blocked", observed.level(&signal::BLOCKED));
    let source = observed.source_of(&signal::CPU_IOWAIT);
    let waits = case.clause("CPU time in which tasks waited for a disk beside it", &source, observed.waiting_share());
    let windows = case.windows();
    // Before 2.6 the kernel did not count it: there the tasks that wait say it alone.
    let waits: Vec<&Clause> = [&waits].into_iter().filter(|_| observed.has(&signal::CPU_IOWAIT)).collect();
    let lasting = |clauses: &[&Clause]| case.lasting(&[clauses, &waits].concat());
    let is_tiny = lasting(&[&small, &free, &anew, &tasks]);
    let symptom = match is_tiny.answer {
        Answer::Yes => is_tiny,
        _ => lasting(&[&smallish, &swapped, &at_once, &free, &tasks]),
    };
    name(case, symptom, |hits| {
        format!(
            "The page cache had {} left, disks read as much as it holds in {}, and {} tasks waited for them: what programs need is dropped \
             and read again.",
            small.value(hits, windows).map_or_else(|| "little".to_owned(), words::bytes),
            anew.value(hits, windows).map_or_else(|| "a short time".to_owned(), words::seconds),
            tasks.value(hits, windows).map_or_else(|| "several".to_owned(), words::number),
        )
    })
}

/// Of one reading of `/proc/vmstat`: most of what disks read had been in memory shortly before, and had been in use there. A stream that
/// is read over and over comes back as well, and was not.
fn by_totals(case: &Case<'_>) -> Option<Verdict> {
    let observed = case.observed;
    let back = observed.since_boot(&signal::REFAULT_FILE)?;
    let values = [
        ("file data read again in all", Some(back * observed.page_size)),
        (
            "of all that was read from disks, read again",
            Some((back * observed.page_size / observed.since_boot(&signal::PAGE_IN)?.max(1.0)).min(1.0)),
        ),
        ("of those that came back, in use before", Some(observed.since_boot(&signal::ACTIVATE_FILE)? / back.max(1.0))),
    ];
    case.since_boot("vmstat workingset_refault_file, workingset_activate_file, pgpgin", values, |[again, part, _]| {
        format!(
            "{} of file data were read that had been in memory shortly before, {} of all that was read from disks",
            words::bytes(again),
            words::percent(part),
        )
    })
}

fn judge(case: &Case<'_>) -> Verdict {
    if let Some(verdict) = by_totals(case).or_else(|| by_listing(case)).or_else(|| by_small_cache(case)) {
        return verdict;
    }
    let observed = case.observed;
    let windows = case.windows();
    let thrash = thrash(case);
    let hits = thrash.hits();
    let mut symptom = case.lasting_hits(hits.clone());
    symptom.evidence = thrash.clauses().map(|clause| clause.evidence(&hits, windows)).collect();
    let Thrash { again, often, .. } = thrash;
    let io = case.rate("time in which some task waited for I/O", &signal::PSI_IO_SOME);
    let counters = case.counters(&[&io], &hits);
    let stacks = case.stacks("samples waiting for page cache", Family::CacheWait, &[], &hits);
    // What was dropped and is read again without anybody waiting (holes, a stream that is read ahead) is no thrash, whatever
    // CPUs do meanwhile. Waiting for a file that was in use counts as waiting for I/O, also where it lies on a network.
    let mechanisms = if counters.answer == Answer::No { vec![counters] } else { vec![counters, stacks] };
    case.decide(symptom, mechanisms).found(|draft| {
        let used = observed.rate(&signal::ACTIVATE_FILE).share_of(&observed.rate(&signal::REFAULT_FILE));
        let used = case.clause("of those that came back, in use before", "vmstat workingset_activate_file", used);
        draft.evidence.push(used.evidence(&hits, windows));
        let memory = observed.rate(&signal::PSI_MEMORY_SOME).mean(&hits, windows);
        let source = observed.source_of(&signal::PSI_MEMORY_SOME);
        draft.evidence.push(said(&source, "time in which some task waited for memory", memory, Fraction));
        draft.cost.stalled_share = io.value(&hits, windows);
        draft.summary = format!(
            "{} a second were read that had been in memory shortly before: {}.",
            words::bytes(often.value(&hits, windows).unwrap_or(0.0) * observed.page_size),
            match again.value(&hits, windows) {
                Some(share) if share < 1.0 => format!("{} of all that disks read and wrote", words::percent(share)),
                Some(_) => "as much as disks read and wrote, or more".to_owned(),
                None => "a part of what disks read and wrote".to_owned(),
            },
        );
    })
}

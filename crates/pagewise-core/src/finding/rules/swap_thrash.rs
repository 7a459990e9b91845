//! Memory that goes to swap and comes straight back.

use super::super::rule::{SettingTarget, Step};
use super::groups;
use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "swap-thrash",
    title: "Swap thrash",
    meaning: "Memory is written to swap and read back all the time: what programs use does not fit. They wait for the disk \
              at memory accesses.",
    thresholds: &[
        Threshold::above("read from swap", 10.0, PagesPerSecond),
        Threshold::above("written to swap", 10.0, PagesPerSecond)
            .documented("critical for atop: swoutcritsec in atoprc(5), 10 by default (pagbadness in atop.c)"),
        Threshold::at_least("read from and written to swap", 1_000.0, PagesPerSecond),
        Threshold::at_least("read from and written to swap, beside CPUs that wait", 250.0, PagesPerSecond),
        Threshold::at_least("read from swap, in one row", 1_000.0, PagesPerSecond),
        Threshold::at_least("written to swap, in one row", 1_000.0, PagesPerSecond),
        Threshold::at_least("time CPUs wait for disks, in one row", 0.20, Fraction),
        Threshold::at_least("of what disks move, from and to swap", 0.02, Fraction),
        Threshold::at_least("swap used, more each second", 1_000.0, PagesPerSecond),
        Threshold::at_least("pages that came back soon", 10.0, PagesPerSecond),
        Threshold::at_least("time in which every task waited for memory", 0.10, Fraction),
        Threshold::at_least("samples in swap", 0.05, Fraction),
        Threshold::at_least("read from swap in all", (1u64 << 30) as f64, Bytes),
        Threshold::at_least("read from swap in all, for each byte of memory", 0.5, Number),
        Threshold::at_least("of all that was read from disks, read from swap", 0.50, Fraction),
        Threshold::at_least("swap in use, as part of memory", 0.25, Fraction),
        Threshold::at_least("swap in use, for each byte of memory", 1.0, Number),
        Threshold::at_least("kswapd, of one core", 0.20, Fraction),
        Threshold::below("memory left for page cache", 0.03, Fraction),
        Threshold::at_least("time CPUs wait for disks", 0.50, Fraction),
    ],
    lasts: 60.0,
    may_be_shorter: false,
    needs: &[&signal::SWAP_IN, &signal::SWAP_OUT, &signal::REFAULT_ANON, &signal::PSI_MEMORY_FULL],
    tiers: &[Tier::Counters, Tier::Stacks],
    rivals: &["page-cache-thrash", "memcg-limit-thrash", "oom-risk"],
    changes: &[
        Step::advice("give the job less memory (smaller heaps, fewer tasks at once), or the host more"),
        Step::set(
            "vm.page-cluster",
            SettingTarget::Worked(one_page, "0 where all swap is compressed memory"),
            "one page is read at a time: reading ahead gains nothing in memory",
        )
        .when("before 4.15: from then on nothing is read ahead from compressed memory", |observed, _| {
            observed.settings.release().is_some_and(|release| release < (4, 15, 0))
        }),
        Step::set(
            "swap",
            SettingTarget::Worked(zram, "zram of a quarter of memory where there is room for it"),
            "swap goes to compressed memory, which is much faster than a disk",
        ),
        Step::advice("protect the job that matters with memory.low of its control group")
            .when(groups::WHERE, groups::have_v2),
    ],
    counterindications: &["Compressed swap takes CPU time and memory; incompressible data gains nothing."],
    docs: &[
        "Documentation/admin-guide/sysctl/vm.rst, swappiness and page-cluster",
        "Documentation/admin-guide/blockdev/zram.rst",
        "mm/memory.c (4.15), do_swap_page: no reading ahead from what answers at once",
        "oomd.conf(5)",
    ],
    judge,
};

fn one_page(observed: &Observed) -> Option<String> {
    (observed.swap()?.1? && observed.settings.number("vm.page-cluster")? > 0.0).then(|| "0".to_owned())
}

fn zram(observed: &Observed) -> Option<String> {
    let (_, compressed) = observed.swap()?;
    let quarter = observed.memory()? / 4.0 / (1u64 << 30) as f64;
    let may = compressed == Some(false) && quarter >= 1.0 && !super::room::is_ample(observed);
    may.then(|| format!("zram:{quarter:.0}G"))
}

/// Page cache that is worth a word. Ours.
const MUCH_CACHE: f64 = (1u64 << 30) as f64;

/// A listing is a piece of what went on. In it memory may only go to swap, or only come back, and in bulk that is no balance that the
/// kernel strikes by the way: what programs use does not fit, or did not a moment ago. And where a tool printed levels alone, the
/// swap that is used tells how fast memory goes there.
fn by_listing(case: &Case<'_>, both: Lasting) -> Lasting {
    let observed = case.observed;
    let moved = observed.rate(&signal::SWAP_IN).plus(&observed.rate(&signal::SWAP_OUT));
    let source = observed.source_of(&signal::SWAP_OUT);
    let either = case.clause("read from and written to swap", &source, moved.clone());
    let rising = observed.rise(&signal::SWAP_USED).map(|bytes| bytes / observed.page_size);
    let rising = case.clause("swap used, more each second", &observed.source_of(&signal::SWAP_USED), rising);
    let found =
        [either, rising].into_iter().map(|clause| case.anywhere(&clause)).find(|lasting| lasting.answer == Answer::Yes);
    // Less will do where CPUs do little but wait for it.
    let less = case.clause("read from and written to swap, beside CPUs that wait", &source, moved);
    let waits = waits(case);
    let is_it = |lasting: &Lasting| lasting.answer == Answer::Yes;
    let waited = || Some(case.lasting(&[&less, &waits])).filter(is_it);
    found.or_else(waited).or_else(|| by_one_row(case)).unwrap_or(both)
}

/// The only row that is none of averages since boot: a second may be any second, but in bulk both ways, with CPUs that wait, it is none of a host that
/// is well.
fn by_one_row(case: &Case<'_>) -> Option<Lasting> {
    let observed = case.observed;
    let rate = |name, signal| case.clause(name, &observed.source_of(signal), observed.rate(signal));
    let waits = case.clause(
        "time CPUs wait for disks, in one row",
        &observed.source_of(&signal::CPU_IOWAIT),
        observed.waiting_share(),
    );
    let inward = rate("read from swap, in one row", &signal::SWAP_IN);
    let outward = rate("written to swap, in one row", &signal::SWAP_OUT);
    let lasting = case.lasting(&[&inward, &outward, &waits]);
    let holds = observed.ticks == FEWEST_ROWS - 1 && lasting.hits.answers.contains(&Answer::Yes);
    holds.then_some(Lasting { answer: Answer::Yes, needs_seconds: None, ..lasting })
}

/// Of such a host half of it is less than what counts elsewhere.
const LITTLE: f64 = (2u64 << 30) as f64;

/// Of one reading of `/proc/vmstat`. A host that is well reads programs and files, and next to nothing from swap.
fn by_totals(case: &Case<'_>) -> Option<Verdict> {
    let observed = case.observed;
    let inward = observed.since_boot(&signal::SWAP_IN)? * observed.page_size;
    // Swap of compressed memory is read from no disk.
    let part = (inward / observed.since_boot(&signal::PAGE_IN)?.max(1.0)).min(1.0);
    // A host may have little memory at all.
    let much = match observed.memory() {
        Some(memory) if memory < LITTLE => ("read from swap in all, for each byte of memory", Some(inward / memory)),
        _ => ("read from swap in all", Some(inward)),
    };
    let values = [much, ("of all that was read from disks, read from swap", Some(part))];
    case.since_boot("vmstat pswpin, pgpgin", values, |[_, part]| {
        format!(
            "{} were read back from swap, {} of all that was read from disks",
            words::bytes(inward),
            words::percent(part)
        )
    })
}

/// Of one screen of top, which says nothing of how much comes and goes.
fn by_state(case: &Case<'_>) -> Option<Verdict> {
    let observed = case.observed;
    if !observed.is_import || observed.ticks != 1 || observed.has(&signal::SWAP_IN) {
        return None;
    }
    without_page_cache(case).or_else(|| of_all_memory(case))
}

/// Memory is in swap, nothing is left for the pages of files, and CPUs do little but wait for disks.
fn without_page_cache(case: &Case<'_>) -> Option<Verdict> {
    let observed = case.observed;
    let cache = observed.share_of_memory(&observed.level(&signal::PAGE_CACHE));
    let used = in_swap(case, "swap in use, as part of memory");
    let cache = case.clause("memory left for page cache", &observed.source_of(&signal::PAGE_CACHE), cache);
    let waits = waits(case);
    named_by(case, &[&used, &cache, &waits], |[used, cache, waits]| {
        format!(
            "CPUs wait for disks {} of the time, {} of memory is left for page cache, and as much as {} of memory lies in swap",
            words::percent(waits),
            words::percent(cache),
            words::percent(used),
        )
    })
}

/// As much lies in swap as there is memory, little is free, and kswapd works for more, or CPUs wait for disks.
fn of_all_memory(case: &Case<'_>) -> Option<Verdict> {
    if super::room::is_ample(case.observed) {
        return None;
    }
    let used = in_swap(case, "swap in use, for each byte of memory");
    let kswapd = super::threads::busiest(case.observed, "kswapd");
    let kswapd = case.clause("kswapd, of one core", "threads kswapd", kswapd);
    let lies = |used| format!("for each byte of memory {} lie in swap", words::number(used));
    named_by(case, &[&used, &kswapd], |[used, kswapd]| {
        format!("kswapd takes {} of a core, and {}", words::percent(kswapd), lies(used))
    })
    .or_else(|| {
        named_by(case, &[&used, &waits(case)], |[used, waits]| {
            format!("CPUs wait for disks {} of the time, and {}", words::percent(waits), lies(used))
        })
    })
}

fn in_swap(case: &Case<'_>, name: &'static str) -> Clause {
    let observed = case.observed;
    let used = observed.share_of_memory(&observed.level(&signal::SWAP_USED));
    case.clause(name, &observed.source_of(&signal::SWAP_USED), used)
}

fn waits(case: &Case<'_>) -> Clause {
    let observed = case.observed;
    case.clause("time CPUs wait for disks", &observed.source_of(&signal::CPU_IOWAIT), observed.waiting_share())
}

/// Where all of these hold, what they show.
fn named_by<const N: usize>(
    case: &Case<'_>,
    clauses: &[&Clause; N],
    shows: impl Fn([f64; N]) -> String,
) -> Option<Verdict> {
    let (observed, windows) = (case.observed, case.windows());
    let symptom = case.lasting(clauses);
    let hits = symptom.hits.clone();
    case.where_it_holds(symptom, |draft| {
        draft.confidence = Some(Confidence::Low);
        draft.missing.extend([observed.missing(&signal::SWAP_IN), observed.missing(&signal::SWAP_OUT)]);
        let values = clauses.map(|clause| clause.value(&hits, windows).unwrap_or(0.0));
        draft.summary = format!(
            "{}: what programs use does not fit. One reading does not say how much comes and goes.",
            shows(values)
        );
    })
}

fn judge(case: &Case<'_>) -> Verdict {
    if let Some(verdict) = by_totals(case).or_else(|| by_state(case)) {
        return verdict;
    }
    let observed = case.observed;
    let windows = case.windows();
    let inward = case.rate("read from swap", &signal::SWAP_IN);
    let outward = case.rate("written to swap", &signal::SWAP_OUT);
    // Where disks are busy with files, a little that goes to swap and comes back is not what anybody waits for; a listing says no more of it.
    let swapped =
        observed.rate(&signal::SWAP_IN).plus(&observed.rate(&signal::SWAP_OUT)).map(|pages| pages * observed.page_size);
    let moved = observed.rate(&signal::PAGE_IN).plus(&observed.rate(&signal::PAGE_OUT));
    let part = swapped.share_of(&moved).map(|share| share.min(1.0));
    let part = case.clause("of what disks move, from and to swap", "vmstat pswpin, pswpout, pgpgin, pgpgout", part);
    let mut symptom = case.lasting(&[&inward, &outward]);
    let says_who_waits = observed.has(&signal::REFAULT_ANON) || observed.has(&signal::PSI_MEMORY_FULL);
    if observed.is_import && !says_who_waits && part.hits.answers.contains(&Answer::No) {
        symptom = case.lasting(&[&inward, &outward, &part]);
    }
    if observed.is_import && symptom.answer != Answer::Yes {
        symptom = by_listing(case, symptom);
    }
    let hits = symptom.hits.clone();
    let back = case.rate("pages that came back soon", &signal::REFAULT_ANON);
    let full = case.rate("time in which every task waited for memory", &signal::PSI_MEMORY_FULL);
    let mut counters = case.counters(&[&back], &hits);
    let pressure = case.counters(&[&full], &hits);
    counters.answer = counters.answer.or(pressure.answer);
    counters.evidence.extend(pressure.evidence);
    counters.missing.extend(pressure.missing);
    let stacks = case.stacks("samples in swap", Family::Swap, &[], &hits);
    // A listing tells how much went to swap and came back, and seldom more. That both go on is enough to name it; whether it
    // is the same memory stays open.
    let is_bare = observed.is_import && counters.answer == Answer::Unknown && stacks.answer == Answer::Unknown;
    let open = if is_bare { counters.missing.clone() } else { Vec::new() };
    let mechanisms = if is_bare { Vec::new() } else { vec![counters, stacks] };
    case.decide(symptom, mechanisms).found(|draft| {
        case.name(draft, RankedBy::MajorFaults);
        draft.missing.extend(open);
        if observed.is_import {
            let faults = observed.rate(&signal::MAJOR_FAULTS).mean(&hits, windows);
            let source = observed.source_of(&signal::MAJOR_FAULTS);
            draft.evidence.push(said(&source, "page faults that had to read", faults, PerSecond));
        }
        let some = observed.rate(&signal::PSI_MEMORY_SOME).mean(&hits, windows);
        draft.cost.stalled_share = some;
        draft.at_least = Some(Severity::Medium);
        let bytes = |clause: &Clause| Some(words::bytes(clause.value(&hits, windows)? * observed.page_size));
        draft.summary = match (bytes(&outward), bytes(&inward)) {
            (Some(outward), Some(inward)) => format!("{outward} a second went to swap and {inward} came back."),
            _ => {
                let rising = observed.rise(&signal::SWAP_USED).mean(&hits, windows).unwrap_or(0.0);
                format!("The swap in use grew by {} a second.", words::bytes(rising))
            }
        };
        // What people ask first about such a listing.
        let cache = observed.level(&signal::PAGE_CACHE).mean(&hits, windows);
        if let Some(cache) = cache.filter(|bytes| observed.is_import && *bytes >= MUCH_CACHE) {
            draft.evidence.push(said(&observed.source_of(&signal::PAGE_CACHE), "page cache", Some(cache), Bytes));
            let text = format!(" {} of page cache (shared memory included) were kept meanwhile.", words::bytes(cache));
            draft.summary.push_str(&text);
        }
        if let Some(share) = some {
            draft.summary.push_str(&format!(" Some task waited for memory {} of the time.", words::percent(share)));
        }
        if let Some(free) = super::room::free(observed, &hits) {
            let text = "raise the memory limit of the control group that swaps: the host itself has room";
            draft.changes.push(super::super::propose::advice(text, false));
            draft.evidence.push(said("meminfo MemFree", "free on the host", Some(free), Bytes));
            let text =
                format!(" The host itself has {} free: a control group's limit is what is short.", words::bytes(free));
            draft.summary.push_str(&text);
        }
    })
}

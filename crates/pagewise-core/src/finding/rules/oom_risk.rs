//! Memory is about to run out, or did.

use super::super::propose::set;
use super::super::rule::{SettingTarget, Step};
use super::groups;
use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "oom-risk",
    title: "Memory runs out",
    meaning: "Memory and swap are nearly used up, or programs were killed for want of it. The next allocation may cost the \
              job its life.",
    thresholds: &[
        Threshold::at_least("processes killed", 1.0, Number),
        Threshold::at_least("allocations of a page that failed although they could wait", 1.0, Number),
        Threshold::at_least("zones with neither free pages nor page cache left", 1.0, Number),
        Threshold::above("of the kernel's reports, those with nothing left to free", 0.0, Fraction),
        Threshold::below("memory and swap to be had", 0.05, Fraction),
        Threshold::below("memory to be had, in a listing of a host without swap", 0.10, Fraction)
            .documented("earlyoom, which ends programs below 10 % of memory and of swap (README, -m and -s)"),
        Threshold::below("time until nothing is left", 600.0, Seconds),
        Threshold::below("swap that is left", 0.02, Fraction),
        Threshold::below("memory to be had, where swap is used up", 0.15, Fraction),
        Threshold::at_least("promised, of the limit", 0.95, Fraction),
        Threshold::at_least("promised, of memory and swap", 1.0, Fraction),
        Threshold::below("memory to be had, where more is promised than there is", 0.02, Fraction),
        Threshold::below("memory and swap that the last row of a listing has left", 0.01, Fraction),
        Threshold::below("page cache that the last row of a listing has left", (16u64 << 20) as f64, Bytes),
        Threshold::below("of memory, page cache that the last row of a listing has left", 0.002, Fraction),
    ],
    lasts: THREE_WINDOWS,
    may_be_shorter: true,
    needs: &[&signal::OOM_KILL, &signal::MEM_AVAILABLE, &signal::MEM_TOTAL, &signal::SWAP_FREE],
    tiers: &[Tier::Counters],
    rivals: &["memcg-limit-thrash"],
    changes: &[
        Step::advice("give the job less memory (smaller heaps, fewer tasks at once), or the host more"),
        Step::set(
            "swap",
            SettingTarget::Worked(some_swap, "a zram area of a quarter of memory where there is no swap"),
            "what is not in use makes room",
        ),
        Step::advice("bound each job with memory.max of its control group, so that it fails alone")
            .when(groups::WHERE, groups::have_v2),
        Step::advice("bound each job with memory.limit_in_bytes of its control group, so that it fails alone")
            .when("with version 1 of control groups", groups::have_v1),
    ],
    counterindications: &[
        "Promises (Committed_AS) are counted only with vm.overcommit_memory at 2: at 0 and 1 (Redis asks for 1) nothing is \
         refused for them.",
    ],
    docs: &["Documentation/admin-guide/sysctl/vm.rst, overcommit_memory", "oomd.conf(5)"],
    judge,
};

/// The form in which memory is there and may not be promised.
const REFUSED: (&str, &str) = (
    "No more memory may be promised",
    "With vm.overcommit_memory at 2 the kernel promises no more than a limit, whether memory is free or not: then malloc and \
     fork fail (ENOMEM), and programs that do not expect that end. Nobody is killed for it.",
);

/// Up to all of memory beside swap, which can always be kept.
fn more_promises(observed: &Observed) -> Option<&'static str> {
    let (swap, _) = observed.swap()?;
    let beyond = observed.last(&signal::COMMIT_LIMIT)? - swap;
    (beyond < 0.95 * observed.memory()?).then_some("100%")
}

fn some_swap(observed: &Observed) -> Option<String> {
    let ample = observed
        .share_of_memory(&observed.available())
        .mean_of_all(&observed.windows)
        .is_some_and(|share| share >= 0.25);
    if ample {
        return None;
    }
    let (swap, _) = observed.swap()?;
    let quarter = observed.memory()? / 4.0 / (1u64 << 30) as f64;
    (swap <= 0.0 && quarter >= 1.0).then(|| format!("zram:{quarter:.0}G"))
}

/// Seconds until nothing is left if it goes on as it did, by the first and the last window.
fn time_left(observed: &Observed, left: &Track) -> Option<f64> {
    let (first, last) = left.ends()?;
    let windows = &observed.windows;
    // From the middle of the first window to that of the last.
    let between = windows.seconds() - windows.width as f64 * 1e-9;
    let per_second = (first - last) / between;
    (between > 0.0 && per_second > 0.0).then(|| last / per_second)
}

/// Zones whose free memory is below the watermark at which kswapd is woken, and whose page cache is less than the lowest one. The kernel
/// writes it down when an allocation failed or somebody was killed; elsewhere a zone may be so for a moment. `None`: no log of the kernel
/// says.
fn empty_zones(observed: &Observed) -> Option<f64> {
    if !observed.tools.iter().any(|tool| tool == "kernel-log") {
        return None;
    }
    let (free, files) = (observed.each_level(&signal::ZONE_FREE), observed.each_level(&signal::ZONE_FILE));
    let in_window = |tracks: &[(&str, Track)], labels: &str, window: usize| -> Option<f64> {
        let of_zone = tracks.iter().filter(|(other, _)| *other == labels);
        of_zone.map(|(_, track)| track.values().get(window).copied().flatten()).reduce(|a, b| Some(a? + b?))?
    };
    let (lowest, low) = (observed.each_level(&signal::ZONE_MIN), observed.each_level(&signal::ZONE_LOW));
    let is_empty = |labels: &str, min: &Track| {
        min.values().iter().enumerate().any(|(window, min)| {
            let Some(min) = min.filter(|min| *min > 0.0) else { return false };
            let is_less = |tracks, than: f64| in_window(tracks, labels, window).is_some_and(|pages| pages < than);
            // A line that was cut may lack it.
            let wakes = in_window(&low, labels, window).unwrap_or(min);
            is_less(&free, wakes) && is_less(&files, min)
        })
    };
    (!lowest.is_empty()).then(|| lowest.iter().filter(|(labels, min)| is_empty(labels, min)).count() as f64)
}

/// Bytes of swap, where it is more than a token (a tenth of memory): a small one fills up with what nobody uses, and stays so.
pub(super) fn swap_beyond_a_token(observed: &Observed) -> Option<f64> {
    const TOKEN: f64 = 0.1;
    let (swap, _) = observed.swap()?;
    (swap >= TOKEN * observed.memory()?).then_some(swap)
}

/// Swap is used up, and little memory is to be had beside it.
fn swap_used_up(case: &Case<'_>) -> Option<(Clause, Clause)> {
    let observed = case.observed;
    let swap = swap_beyond_a_token(observed)?;
    let left = observed.level(&signal::SWAP_FREE).map(|bytes| bytes / swap);
    let left = case.clause("swap that is left", "meminfo SwapFree / SwapTotal", left);
    let available = observed.share_of_memory(&observed.available());
    let short = case.clause("memory to be had, where swap is used up", "meminfo MemAvailable", available);
    Some((left, short))
}

/// More is promised than there is, and next to nothing is left, as a listing prints it: programs need what they were promised. However short, it
/// is a host at its end.
fn overdrawn(case: &Case<'_>) -> Option<Clause> {
    let observed = case.observed;
    if !observed.has(&signal::IMPORTED_COMMIT) {
        return None;
    }
    let promised =
        case.clause("promised, of memory and swap", "import commit_percent", observed.level(&signal::IMPORTED_COMMIT));
    // At the worst row of a window: a mean of two hides the one in which nothing was left.
    let rest = observed.available().with(&observed.level(&signal::MEM_FREE), |all, free| Some((all - free).max(0.0)));
    let available = observed.share_of_memory(&rest.plus(&observed.least(&signal::MEM_FREE)));
    let mut left =
        case.clause("memory to be had, where more is promised than there is", "meminfo MemAvailable", available);
    left.hits = left.hits.and(&promised.hits);
    Some(left)
}

/// What is left in the last row of a listing, of memory and swap: it may end where the host did, however its rows before were. Page cache
/// counts as a whole, so that it is not less than this.
fn left_at_the_end(observed: &Observed) -> Option<f64> {
    if !observed.is_import || observed.ticks < 2 {
        return None;
    }
    let (swap, _) = observed.swap()?;
    // What a tool prints in place of the kernel's own numbers is known by window only.
    let cache = observed.last(&signal::PAGE_CACHE).or_else(|| Some(observed.least(&signal::PAGE_CACHE).ends()?.1));
    let slab = observed.last(&signal::SLAB_RECLAIMABLE).unwrap_or(0.0);
    let unheld = observed.last(&signal::MEM_FREE)? + cache? + slab;
    let available = observed.last(&signal::MEM_AVAILABLE).unwrap_or(0.0);
    Some((unheld.max(available) + observed.last(&signal::SWAP_FREE)?) / (observed.memory()? + swap))
}

fn judge(case: &Case<'_>) -> Verdict {
    let observed = case.observed;
    let windows = case.windows();
    let kills = observed.growth(&signal::OOM_KILL);
    let (killed, kill_line) = case.whole("processes killed", "vmstat oom_kill", kills);
    // Before it gives none the kernel frees what it can.
    let failed = observed.growth(&signal::FAILED_SMALL);
    let (fails, fail_line) =
        case.whole("allocations of a page that failed although they could wait", "import failed_small", failed);
    let left = observed.available().plus(&observed.level(&signal::SWAP_FREE));
    let whole = observed.memory().zip(observed.swap()).map(|(memory, (swap, _))| memory + swap);
    let little = match whole {
        Some(whole) => left.map(|bytes| bytes / whole),
        None => observed.share_of_memory(&left),
    };
    // Without swap there is nothing to give way to what is wanted next but the page cache, and that is in what is left.
    let is_bare = observed.is_import && observed.swap().is_some_and(|(swap, _)| swap <= 0.0);
    let name =
        if is_bare { "memory to be had, in a listing of a host without swap" } else { "memory and swap to be had" };
    let little = case.clause(name, "meminfo MemAvailable, SwapFree", little);
    let lasts = case.lasting(&[&little]);
    let seconds = time_left(observed, &left);
    let (soon, soon_line) = case.whole("time until nothing is left", "meminfo MemAvailable, SwapFree", seconds);
    // A listing of one reading shows a state: whether it falls nobody can say.
    let is_state = observed.is_import && observed.ticks == 1;
    let soon = match soon {
        _ if is_state => Answer::Yes,
        // What does not fall has no end.
        Answer::Unknown if left.ends().is_some() => Answer::No,
        soon => soon,
    };
    let used_up = swap_used_up(case);
    let swap_gone = used_up.as_ref().map(|(left, short)| case.lasting(&[left, short]));
    let is_used_up = swap_gone.as_ref().map_or(Answer::No, |lasting| lasting.answer);
    let mode = observed.settings.value("vm.overcommit_memory");
    let promised = observed.level(&signal::COMMITTED).share_of(&observed.level(&signal::COMMIT_LIMIT));
    let promised = case.clause("promised, of the limit", "meminfo Committed_AS / CommitLimit", promised);
    let refuses = if mode == Some("2") { case.lasting(&[&promised]).answer } else { Answer::No };
    let zones = empty_zones(observed);
    let (empty, empty_line) =
        case.whole("zones with neither free pages nor page cache left", "zoneinfo free, low, min", zones);
    let empty = if zones.is_some() { empty } else { Answer::No };
    let given_up = observed.level(&signal::NOTHING_TO_FREE).mean_of_all(windows);
    let (gave_up, gave_up_line) =
        case.whole("of the kernel's reports, those with nothing left to free", "import nothing_to_free", given_up);
    let gave_up = if given_up.is_some() { gave_up } else { Answer::No };
    // Only a log of the kernel tells of them.
    let fails = if failed.is_some() { fails } else { Answer::No };
    let overdrawn = overdrawn(case).filter(|left| left.hits.answers.contains(&Answer::Yes));
    let is_overdrawn = if overdrawn.is_some() { Answer::Yes } else { Answer::No };
    let (ended, end_line) = case.whole(
        "memory and swap that the last row of a listing has left",
        "meminfo MemFree, Cached, Buffers, SwapFree",
        left_at_the_end(observed),
    );
    // The programs that run have no more of their own text in memory, whatever swap is left. A container's account of its cache may be small, while
    // memory is free.
    let left = observed.last(&signal::MEM_AVAILABLE).or_else(|| observed.last(&signal::MEM_FREE));
    let left = left.zip(observed.memory()).map(|(left, memory)| left / memory);
    let (is_short, _) = case.whole("memory and swap to be had", "meminfo MemAvailable", left);
    let cache = observed
        .last(&signal::PAGE_CACHE)
        .filter(|_| observed.is_import && observed.ticks > 1 && is_short == Answer::Yes);
    let (tiny, tiny_line) =
        case.whole("page cache that the last row of a listing has left", "meminfo Cached, Buffers", cache);
    let part = cache.zip(observed.memory()).map(|(cache, memory)| cache / memory);
    let (no_part, part_line) =
        case.whole("of memory, page cache that the last row of a listing has left", "meminfo Cached, MemTotal", part);
    let is_without_cache = tiny.and(no_part) == Answer::Yes;
    let has_ended = Answer::of(Some(ended == Answer::Yes || is_without_cache));
    // All that is no killing.
    let others =
        Answer::any([fails, empty, gave_up, lasts.answer.and(soon), is_used_up, is_overdrawn, refuses, has_ended]);
    // Whoever was killed at the limit of a group was not killed for want of the host's memory.
    if killed == Answer::Yes && others != Answer::Yes && case.found.contains(&"memcg-limit-thrash") {
        return Verdict::explained_by("memcg-limit-thrash");
    }
    let mut symptom = case.lasting_hits(Hits::always(killed.or(others), windows.count));
    let hits = match (lasts.answer, &swap_gone) {
        (Answer::Yes, _) => lasts.hits.clone(),
        (_, Some(gone)) if gone.answer == Answer::Yes => gone.hits.clone(),
        _ => overdrawn.as_ref().map_or_else(|| symptom.hits.clone(), |left| left.hits.clone()),
    };
    symptom.hits.missing = lasts.hits.missing.clone();
    if kills.is_none() {
        symptom.hits.missing.push(observed.missing(&signal::OOM_KILL));
    }
    symptom.evidence = vec![kill_line, little.evidence(&hits, windows), soon_line];
    symptom.evidence.extend(zones.is_some().then_some(empty_line));
    symptom.evidence.extend((gave_up == Answer::Yes).then_some(gave_up_line));
    symptom.evidence.extend(failed.is_some().then_some(fail_line));
    symptom.evidence.extend((ended == Answer::Yes).then(|| end_line.clone()));
    symptom.evidence.extend(is_without_cache.then_some([tiny_line, part_line]).into_iter().flatten());
    if let Some((left, short)) = &used_up {
        symptom.evidence.extend([left, short].map(|clause| clause.evidence(&hits, windows)));
    }
    symptom.evidence.extend(overdrawn.as_ref().map(|left| left.evidence(&hits, windows)));
    if mode == Some("2") {
        symptom.evidence.push(promised.evidence(&hits, windows));
    }
    // Where that is all there is, memory does not run out.
    let is_refused = refuses == Answer::Yes
        && killed.or(fails).or(empty).or(gave_up).or(is_used_up).or(is_overdrawn).or(has_ended) != Answer::Yes
        && lasts.answer != Answer::Yes;
    case.decide(symptom, Vec::new()).found(|draft| {
        if is_refused {
            refused(case, draft, &promised);
            return;
        }
        case.name(draft, RankedBy::Growth);
        // That somebody was killed or memory falls is known; a state may last.
        let happened = killed.or(fails).or(empty).or(gave_up) == Answer::Yes;
        let is_certain = happened || (lasts.answer == Answer::Yes && !is_state);
        draft.at_least = Some(if is_certain { Severity::High } else { Severity::Medium });
        if is_state && !happened {
            draft.confidence = Some(Confidence::Low);
        }
        let mut says = Vec::new();
        if let Some(kills) = kills.filter(|_| killed == Answer::Yes) {
            says.push(format!("{} for want of memory", words::were_killed(kills)));
        }
        if let Some(failed) = failed.filter(|_| fails == Answer::Yes) {
            let allocations = if failed == 1.0 { "allocation" } else { "allocations" };
            says.push(format!("{} {allocations} of a single page failed", words::number(failed)));
        }
        if let Some(zones) = zones.filter(|_| empty == Answer::Yes) {
            let zones = if zones == 1.0 { "a zone".to_owned() } else { format!("{} zones", words::number(zones)) };
            says.push(format!("{zones} of memory had neither free pages nor page cache left"));
        }
        if gave_up == Answer::Yes {
            says.push("the kernel had scanned all memory again and again and found nothing to free".to_owned());
        }
        if lasts.answer == Answer::Yes {
            let share = little.value(&hits, windows).map_or_else(|| "little".to_owned(), words::percent);
            says.push(format!("{share} of memory and swap were to be had"));
        }
        if let (Answer::Yes, Some((_, short))) = (is_used_up, &used_up) {
            let share = short.value(&hits, windows).map_or_else(|| "little".to_owned(), words::percent);
            says.push(format!("swap is used up, and {share} of memory were to be had beside it"));
        }
        if let Some(share) = overdrawn.as_ref().and_then(|left| left.value(&hits, windows)) {
            says.push(format!(
                "more is promised than there is, and {} of memory were to be had",
                words::percent(share)
            ));
        }
        if let Some(share) = end_line.value.filter(|_| ended == Answer::Yes && lasts.answer != Answer::Yes) {
            says.push(format!("in the end {} of memory and swap was left", words::percent(share)));
        }
        if let Some(cache) = cache.filter(|_| is_without_cache) {
            says.push(format!("in the end {} of page cache was left", words::bytes(cache)));
        }
        if let Some(seconds) = seconds.filter(|_| soon == Answer::Yes) {
            says.push(format!("at this pace nothing is left in {}", words::seconds(seconds)));
        }
        if refuses == Answer::Yes {
            says.push("nearly all that may be promised is promised".to_owned());
        }
        draft.summary = format!("{}.", words::sentence(&says.join("; ")));
    })
}

fn refused(case: &Case<'_>, draft: &mut Draft, promised: &Clause) {
    let observed = case.observed;
    let windows = case.windows();
    let mean = |signal: &signal::Quantity| observed.level(signal).mean(&draft.hits, windows);
    let (now, limit) = (mean(&signal::COMMITTED), mean(&signal::COMMIT_LIMIT));
    let left = observed.share_of_memory(&observed.available()).mean(&draft.hits, windows);
    draft.other = Some(REFUSED);
    draft.at_least = Some(Severity::Medium);
    draft.summary = format!(
        "{} of what vm.overcommit_memory=2 allows is promised{}: the next large allocation is refused{}.",
        promised.value(&draft.hits, windows).map_or_else(|| "Nearly all".to_owned(), words::percent),
        now.zip(limit).map_or_else(String::new, |(now, limit)| {
            format!(" ({} of {})", words::bytes(now), words::bytes(limit))
        }),
        left.map_or_else(String::new, |left| format!(
            ", although {} of memory could still be had",
            words::percent(left)
        )),
    );
    let why = "as much may be promised as there is memory, beside swap";
    let limit = more_promises(observed).and_then(|to| set("vm.overcommit_limit", to, why, false, observed));
    let why = "the kernel refuses only what could obviously never be had";
    let guess = set("vm.overcommit_memory", "0", why, false, observed);
    draft.changes.extend(limit.into_iter().chain(guess));
}

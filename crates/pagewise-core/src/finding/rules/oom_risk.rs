//! Memory is about to run out, or did.

mod signs;

use super::super::propose::set;
use super::super::rule::{SettingTarget, Step};
use super::groups;
use super::prelude::*;
use signs::{Overdrawn, Promises, Scarcity, Sign, SwapUsedUp};

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

/// Bytes of swap, where it is more than a token (a tenth of memory): a small one fills up with what nobody uses, and stays so.
pub(super) fn swap_beyond_a_token(observed: &Observed) -> Option<f64> {
    const TOKEN: f64 = 0.1;
    let (swap, _) = observed.swap()?;
    (swap >= TOKEN * observed.memory()?).then_some(swap)
}

fn judge(case: &Case<'_>) -> Verdict {
    let windows = case.windows();
    let killings = signs::killings(case);
    let scarcity = Scarcity::of(case);
    let swap = SwapUsedUp::of(case);
    let overdrawn = Overdrawn::of(case);
    let promises = Promises::of(case);
    let reported = [signs::failed_allocations(case), signs::empty_zones(case), signs::given_up(case)];
    let end = signs::at_the_end(case);
    let swap_gone = swap.as_ref().map_or(Answer::No, |swap| swap.lasting.answer);
    let is_overdrawn = Answer::of(Some(overdrawn.is_some()));
    // All that is no killing and no refusal.
    let runs_out = Answer::any(reported.iter().chain([&end]).map(|sign| sign.answer));
    let runs_out = Answer::any([runs_out, scarcity.answer(), swap_gone, is_overdrawn]);
    let others = runs_out.or(promises.answer);
    // Whoever was killed at the limit of a group was not killed for want of the host's memory.
    if killings.answer == Answer::Yes && others != Answer::Yes && case.found.contains(&"memcg-limit-thrash") {
        return Verdict::explained_by("memcg-limit-thrash");
    }
    let mut symptom = case.lasting_hits(Hits::always(killings.answer.or(others), windows.count));
    let hits = if scarcity.is_there() {
        scarcity.lasting.hits.clone()
    } else if let Some(swap) = swap.as_ref().filter(|_| swap_gone == Answer::Yes) {
        swap.lasting.hits.clone()
    } else {
        overdrawn.as_ref().map_or_else(|| symptom.hits.clone(), |overdrawn| overdrawn.left.hits.clone())
    };
    symptom.hits.missing = scarcity.lasting.hits.missing.clone();
    if killings.answer == Answer::Unknown {
        symptom.hits.missing.push(case.observed.missing(&signal::OOM_KILL));
    }
    // Where that is all there is, memory does not run out.
    let is_refused =
        promises.answer == Answer::Yes && killings.answer.or(runs_out) != Answer::Yes && !scarcity.is_there();
    let signs: Vec<Sign> = [killings]
        .into_iter()
        .chain(reported)
        .chain([scarcity.sign(&hits, windows), end])
        .chain(swap.map(|swap| swap.sign(&hits, windows)))
        .chain(overdrawn.map(|overdrawn| overdrawn.sign(&hits, windows)))
        .chain(promises.sign(&hits, windows))
        .collect();
    symptom.evidence = signs.iter().flat_map(|sign| sign.evidence.iter().cloned()).collect();
    case.decide(symptom, Vec::new()).found(|draft| {
        if is_refused {
            refused(case, draft, &promises.share);
            return;
        }
        case.name(draft, RankedBy::Growth);
        // That somebody was killed or memory falls is known; a state may last.
        let has_happened = signs.iter().any(|sign| sign.has_happened);
        let is_certain = has_happened || (scarcity.is_there() && !scarcity.is_state);
        draft.at_least = Some(if is_certain { Severity::High } else { Severity::Medium });
        if scarcity.is_state && !has_happened {
            draft.confidence = Some(Confidence::Low);
        }
        let says: Vec<&str> = signs.iter().flat_map(|sign| sign.says.iter().map(String::as_str)).collect();
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

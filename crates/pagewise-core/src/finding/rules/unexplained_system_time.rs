//! The kernel has much of the CPU, and nothing at hand says why. Judged last.

use super::super::families::ENOUGH_SAMPLES;
use super::super::rule::Step;
use super::collections::Collections;
use super::prelude::*;

/// Findings that explain a high system share by themselves.
const EXPLAIN: [&str; 19] = [
    "compaction-storm",
    "thp-fault-cost",
    "khugepaged-burn",
    "kswapd-saturation",
    "direct-reclaim-stalls",
    "swap-thrash",
    "page-cache-thrash",
    "numa-imbalance",
    "kcompactd-burn",
    "watermark-boost",
    "memcg-limit-thrash",
    "fork-cow-thp",
    "mmap-lock-contention",
    "dirty-throttling",
    "oom-risk",
    "mthp-misset",
    "fragmentation",
    "fault-churn",
    "tlb-shootdowns",
];

pub(super) const RULE: Rule = Rule {
    id: "unexplained-system-time",
    title: "Unexplained system time",
    meaning: "The kernel uses a large part of the busy CPU, and the evidence at hand does not name the cause. Counters say \
              that something is wrong; stacks say what.",
    thresholds: &[
        Threshold::at_least("system share of busy CPU", 0.30, Fraction)
            .documented("Cloudera's installation guide (CDH 5), disabling transparent hugepage compaction"),
        Threshold::at_least("busy CPU", 0.20, Fraction),
        Threshold::at_least("system share of all CPU, of a listing", 0.40, Fraction),
        Threshold::at_least("available memory", 0.10, Fraction),
        Threshold::at_least("free memory", (1u64 << 30) as f64, Bytes),
        Threshold::at_least("of the time CPUs were busy or waited for disks, waiting", 0.50, Fraction),
        Threshold::at_least("of what the kernel does, reading and writing files", 0.50, Fraction),
        Threshold::at_least("of what the kernel does, one of its own threads", 0.50, Fraction),
        Threshold::at_least(super::system_calls::PART, 0.70, Fraction),
        Threshold::at_least("read from swap", 1_000.0, PagesPerSecond),
        Threshold::at_least("written to swap", 1_000.0, PagesPerSecond),
        Threshold::at_least("of the CPU time of collections, the kernel's", 0.40, Fraction),
        Threshold::at_least("CPU time of collections", 2.0, Seconds),
    ],
    lasts: THREE_WINDOWS,
    may_be_shorter: true,
    needs: &[&signal::CPU_SYSTEM, &signal::CPU_USER],
    tiers: &[Tier::Counters, Tier::Stacks],
    rivals: &["compaction-storm", "direct-reclaim-stalls", "swap-thrash", "kswapd-saturation", "mmap-lock-contention"],
    changes: &[
        super::collections::WHOLE_HEAP,
        Step::advice(
            "see where the kernel is before changing anything: record with stacks (pagewise record --stacks 99), or hand \
             in what perf says (pagewise diagnose --import)",
        )
        .when("where no stacks were recorded", |observed, _| observed.profile.is_none()),
        Step::advice(
            "see who calls these functions before changing anything: pagewise report draws the flame graph of the \
             recording, and of the stretch you choose in it",
        )
        .when("where stacks were recorded", |observed, _| observed.profile.is_some()),
    ],
    counterindications: &[
        "Do not switch huge pages off on this alone: other storms of locks look the same in counters.",
    ],
    docs: &["Documentation/admin-guide/mm/transhuge.rst"],
    judge,
};

/// Title and meaning where a profile alone shows it.
pub(in super::super) const MEMORY_WORK: (&str, &str) = (
    "CPUs are busy with memory management",
    "Most of what CPUs do is to get memory, to count it for control groups, to map it, to keep its lists and to give it back. No \
     single trouble that has a name has most of it; who calls these functions says what it is for.",
);

/// Title and meaning where a profile shows work on the map itself.
pub(in super::super) const MAP_WORK: (&str, &str) = (
    "Maps of memory are changed all the time",
    "Programs map memory, protect it, move it or give it back over and over, and the kernel keeps its list of their areas up to date: that takes \
     CPU time for each call, however little memory it is about, and all the more where areas are split and joined each time.",
);

/// Title and meaning where a profile shows what counting memory costs.
pub(in super::super) const CHARGES: (&str, &str) = (
    "Counting memory for control groups takes the CPU",
    "Each page, object and buffer of a socket is counted for a control group and all above it. Where many CPUs do so for the same group, its counter \
     goes from CPU to CPU, and each waits for it. Fewer, larger allocations are counted less often; groups further down, each with its own counter, only \
     help below what they have in common.",
);

/// Title and meaning where the log of a JVM shows it.
const COLLECTIONS: (&str, &str) = (
    "Collections of garbage are in the kernel",
    "While the JVM collected garbage, much of its CPU time was the kernel's. A collector asks the kernel for nothing but memory, which it touches \
     page by page: zeroing or compacting for huge pages, making room for other pages first, or reading them from swap takes the time.",
);

/// The log of a JVM says of its collections how much of their CPU time was the kernel's. `None`: there is none, it is
/// well, or CPUs were watched as well.
fn collections(case: &Case<'_>) -> Option<Verdict> {
    const SOURCE: &str = "import collection_system";
    let observed = case.observed;
    if observed.is_known(&signal::CPU_SYSTEM) || observed.profile.is_some() {
        return None;
    }
    let Collections { user, system, elapsed } = Collections::of(observed)?;
    let cpu = user + system;
    let part = system / cpu.max(1e-6);
    let weighed = [
        case.whole("of the CPU time of collections, the kernel's", SOURCE, Some(part)),
        case.whole("CPU time of collections", SOURCE, Some(cpu)),
    ];
    super::collections::found(case, &EXPLAIN, weighed, |draft| {
        draft.other = Some(COLLECTIONS);
        draft.evidence.push(said(SOURCE, "time that collections took", Some(elapsed), Seconds));
        draft.summary = format!(
            "Of {} of CPU time that collections took, {} was the kernel's.",
            words::seconds(cpu),
            words::percent(part),
        );
        let why = "no stacks were recorded".to_owned();
        draft.missing.push(Missing { what: "stacks".to_owned(), why });
    })
}

/// What the kernel's time is told to be for, where that is no trouble of memory: the evidence of it.
fn other_work(case: &Case<'_>, hits: &Hits) -> Option<Vec<Evidence>> {
    let of_one = copies(case, hits).or_else(|| disks(case, hits)).or_else(|| thread(case, hits));
    let swapping = || swaps(case, hits);
    let growing = || super::fault_churn::grows(case.observed, hits);
    of_one.map(|line| vec![line]).or_else(swapping).or_else(growing)
}

fn judge(case: &Case<'_>) -> Verdict {
    let observed = case.observed;
    if let Some(verdict) = collections(case) {
        return verdict;
    }
    let share = case.clause("system share of busy CPU", "stat", observed.system_share());
    // A tenth of a busy second in the kernel on an idle host is no trouble.
    let busy = case.clause("busy CPU", "stat", observed.busy_share());
    // Of a host that nobody recorded nothing else is known: a file server is in the kernel most of its time.
    let much = case.clause("system share of all CPU, of a listing", "stat", observed.system_share_of_all());
    let is_bare = observed.is_import && observed.profile.is_none();
    let clauses: Vec<&Clause> = [&share, &busy].into_iter().chain(Some(&much).filter(|_| is_bare)).collect();
    let symptom = case.lasting(&clauses);
    let explained = case.found.iter().find(|id| EXPLAIN.contains(id));
    if let Some(id) = explained.filter(|_| symptom.answer != Answer::No) {
        return Verdict::explained_by(id);
    }
    if let Some(work) = other_work(case, &symptom.hits).filter(|_| symptom.answer == Answer::Yes) {
        return Verdict::NotFound(work);
    }
    // Much of it, and yet what a server does that is well: a listing does not tell the two apart.
    if is_bare && symptom.answer == Answer::No {
        let open = case.lasting(&[&share, &busy]);
        if open.answer == Answer::Yes {
            let why = "a program that asks the kernel for much looks the same in this listing".to_owned();
            let missing = vec![Missing { what: "stacks".to_owned(), why }];
            return Verdict::NotDecided { missing, needs_seconds: None, evidence: open.evidence };
        }
    }
    let calls = super::system_calls::plain(case, &symptom.hits);
    let verdict = case.decide(symptom, Vec::new());
    verdict.found(|draft| {
        if let Some((line, who)) = &calls {
            draft.other = Some(super::system_calls::WORK);
            draft.evidence.push(line.clone());
            draft.who.clone_from(who);
            let text = "look at what the program does (strace -c, its own profile): there is nothing to set for memory";
            draft.changes.push(super::super::propose::advice(text, false));
        }
        case.name(draft, RankedBy::SystemTime);
        let windows = case.windows();
        let hits = draft.hits.clone();
        let of_all = observed.system_share_of_all().mean(&hits, windows);
        draft.evidence.push(said("stat", "system share of all CPU", of_all, Fraction));
        // What a program asks for is no loss.
        draft.cost.cpu_share = of_all.filter(|_| calls.is_none());
        let free = observed.available().mean(&hits, windows);
        draft.evidence.push(said("meminfo", "memory that could be had", free, Bytes));
        draft.confidence = Some(Confidence::Low);
        draft.summary = format!(
            "For {} of {} the kernel used {} of the busy CPU{}.",
            words::seconds(hits.seconds(windows)),
            words::seconds(windows.seconds()),
            share.value(&hits, windows).map_or_else(|| "much".to_owned(), words::percent),
            of_all.map_or_else(String::new, |share| format!(" ({} of all CPU)", words::percent(share))),
        );
        if let Some((line, who)) = &calls {
            let part = words::percent(line.value.unwrap_or(0.0));
            let text = format!(" {}: {part} of what the kernel does.", super::system_calls::sentence(who));
            draft.summary.push_str(&text);
        }
        if let Some(free) = free.filter(|_| is_ample(case) && calls.is_none()) {
            draft.summary.push_str(&format!(" Memory is ample: {} could still be had.", words::bytes(free)));
        }
        match &observed.profile {
            Some(profile) => {
                let top = profile.top_kernel(&hits, windows);
                for (name, share) in &top {
                    draft.evidence.push(said("stacks", name, Some(*share), Fraction));
                }
                let names: Vec<String> =
                    top.iter().map(|(name, share)| format!("{name} ({})", words::percent(*share))).collect();
                if !names.is_empty() {
                    // What a rule knows and did not decide has its reason there.
                    let trouble = top.first().and_then(|(name, _)| profile.trouble_of(name));
                    let known = match trouble {
                        _ if calls.is_some() => String::new(),
                        Some(family) => format!(": {}", family.words()),
                        None => ", which no rule here knows as trouble".to_owned(),
                    };
                    let text = format!(" It is mostly in {}{known}.", names.join(", "));
                    draft.summary.push_str(&text);
                    draft.tiers.push(Tier::Stacks);
                }
            }
            None => {
                let why = "no stacks were recorded".to_owned();
                draft.missing.push(Missing { what: "stacks".to_owned(), why });
            }
        }
    })
}

/// Whether most of what the kernel does is to move the data of files, as programs ask it to: a copy or a backup is in the
/// kernel nearly all the time, and nothing is wrong with it.
fn copies(case: &Case<'_>, hits: &Hits) -> Option<Evidence> {
    let counts = case.observed.profile.as_ref()?.counts(Family::FileData, &[], hits, case.windows());
    let share = (counts.kernel >= ENOUGH_SAMPLES).then(|| counts.family as f64 / counts.kernel as f64);
    let (answer, evidence) =
        case.whole("of what the kernel does, reading and writing files", "stacks: reading and writing files", share);
    (answer == Answer::Yes).then_some(evidence)
}

/// Whether CPUs waited for disks for longer than they did anything: then what little they did is in the kernel because that is where
/// disks are asked, and the disks are what is short.
fn disks(case: &Case<'_>, hits: &Hits) -> Option<Evidence> {
    let observed = case.observed;
    let waiting = observed.waiting_share();
    let part = waiting.share_of(&waiting.plus(&observed.busy_share())).mean(hits, case.windows());
    let (answer, evidence) = case.whole(
        "of the time CPUs were busy or waited for disks, waiting",
        &observed.source_of(&signal::CPU_IOWAIT),
        part,
    );
    (answer == Answer::Yes).then_some(evidence)
}

/// Whether most of what the kernel does is one of its own threads. Those have findings of their own, which need a longer recording:
/// one that is too short for them has the cause in plain sight all the same.
fn thread(case: &Case<'_>, hits: &Hits) -> Option<Evidence> {
    let profile = case.observed.profile.as_ref()?;
    [Family::Khugepaged, Family::Kcompactd, Family::Kswapd].into_iter().find_map(|family| {
        let counts = profile.counts(family, &[], hits, case.windows());
        let share = (counts.kernel >= ENOUGH_SAMPLES).then(|| counts.family as f64 / counts.kernel as f64);
        let source = format!("stacks: {}", family.words());
        let (answer, evidence) = case.whole("of what the kernel does, one of its own threads", &source, share);
        (answer == Answer::Yes).then_some(evidence)
    })
}

/// Whether a listing shows memory going to swap and coming back meanwhile: that explains the time, also where the listing is
/// too short to call it swap-thrash.
fn swaps(case: &Case<'_>, hits: &Hits) -> Option<Vec<Evidence>> {
    let observed = case.observed;
    let weighed = |name: &'static str, signal: &signal::Quantity| {
        case.whole(name, &observed.source_of(signal), observed.rate(signal).mean(hits, case.windows()))
    };
    let both = [weighed("read from swap", &signal::SWAP_IN), weighed("written to swap", &signal::SWAP_OUT)];
    let is_swapping = observed.is_import && both.iter().all(|(answer, _)| *answer == Answer::Yes);
    is_swapping.then(|| both.into_iter().map(|(_, line)| line).collect())
}

/// Whether memory was to be had all the while.
fn is_ample(case: &Case<'_>) -> bool {
    let observed = case.observed;
    let ample = if observed.memory().is_some() {
        case.clause("available memory", "meminfo", observed.share_of_memory(&observed.available()))
    } else {
        case.clause("free memory", "meminfo MemFree", observed.level(&signal::MEM_FREE))
    };
    case.lasting(&[&ample]).answer == Answer::Yes
}

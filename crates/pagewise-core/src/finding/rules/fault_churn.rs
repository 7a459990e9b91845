//! Small pages that are taken at page faults, zeroed, and given back, over and over.
//!
//! First touch costs the same whether the memory stays or not: what makes it trouble is that the same memory is given back and taken
//! again. A job that starts touches as much, and anonymous memory grows by what it touches; that is told in a note.

use super::super::families::{ENOUGH_SAMPLES, ProfileSeen};
use super::super::huge_faults::is_on;
use super::super::rule::{SettingTarget, Step};
use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "fault-churn",
    title: "Memory is given back and taken again",
    meaning: "Programs give memory back to the kernel and touch it anew, all the time. Each time the kernel finds a page, zeroes it and \
              maps it, at a page fault for each 4 KiB; no memory is gained by it.",
    thresholds: &[
        Threshold::at_least("system share of busy CPU", 0.20, Fraction),
        Threshold::at_least("system time, of one core", 0.20, Fraction),
        Threshold::below("of the memory that is touched, what stays", 0.50, Fraction),
        Threshold::at_least("pages freed per page fault", 0.25, Number),
        Threshold::at_least("page faults per second of CPU time in the kernel", 150_000.0, PerSecond),
        Threshold::at_least("page faults per second of CPU time in the kernel, if they are all it does", 10_000.0, PerSecond),
        Threshold::at_least("CPU time of the command, if page faults take as little as they can", 0.20, Fraction),
        Threshold::at_least("page faults of the command", 10_000.0, Number),
        Threshold::at_least("page faults of processes that go on", 0.50, Fraction),
        Threshold::at_least("samples taking and giving back small pages", 0.20, Fraction),
        Threshold::at_least("of what the kernel does, taking and giving back small pages", 0.50, Fraction),
        Threshold::below("of what gives memory back, processes that end", 0.50, Fraction),
    ],
    lasts: THREE_WINDOWS,
    may_be_shorter: true,
    needs: &[&signal::CPU_SYSTEM, &signal::CPU_USER, &signal::FAULTS, &signal::FREED, &signal::ANON_PAGES],
    tiers: &[Tier::Counters, Tier::Stacks],
    rivals: &["thp-fault-cost", "compaction-storm", "fork-cow-thp", "mmap-lock-contention"],
    changes: &[
        Step::advice(
            "see first whether the memory is given back: grep -E '^pgfault|^pgfree' /proc/vmstat and grep AnonPages /proc/meminfo, twice, \
             ten seconds apart (sar -B and -r have the same). Where pgfree grows as pgfault does and AnonPages does not, it is",
        )
        .when("where it was not counted", |observed, _| !is_counted(observed)),
        Step::advice(
            "let the allocator keep what it frees for longer before madvise gives it back: jemalloc dirty_decay_ms and \
             muzzy_decay_ms (-1: for good), Go GODEBUG=madvdontneed=0, a JVM -Xms as large as -Xmx with AlwaysPreTouch \
             (G1PeriodicGCInterval=0, where it was set)",
        )
        .after_restart()
        .when("where madvise gives it back, or it was not seen what does", |observed, hits| {
            ReleaseSamples::of(observed, hits).is_none_or(|backs| backs.most() == GivenBackBy::Madvise)
        }),
        Step::advice(
            "let malloc keep what it frees: glibc MALLOC_TRIM_THRESHOLD_ and MALLOC_TOP_PAD_ (or M_TRIM_THRESHOLD and \
             M_TOP_PAD of mallopt) well above what comes and goes, and MALLOC_MMAP_THRESHOLD_ above the largest block; \
             allocate buffers once instead of anew for each request",
        )
        .after_restart()
        .when("where munmap, brk or mremap gives it back, or it was not seen what does", |observed, hits| {
            ReleaseSamples::of(observed, hits).is_none_or(|backs| backs.most() == GivenBackBy::Unmap)
        }),
        Step::set(
            "mthp[64k].enabled",
            SettingTarget::First(&["always"]),
            "a fault takes up to 16 pages at once; memory that is touched here and there only becomes larger by it",
        )
        .after_restart()
        .when("where memory that nobody asked huge pages for has no 64 KiB", |observed, _| {
            let switch = observed.settings.value("mthp[64k].enabled");
            let by_global = observed.settings.value("thp.enabled") == Some("always");
            switch != Some("always") && !(switch == Some("inherit") && by_global)
        }),
        Step::set(
            "thp.enabled",
            SettingTarget::First(&["madvise"]),
            "a program that asks gets huge pages, one fault for 512 pages: a JVM with UseTransparentHugePages, glibc with \
             GLIBC_TUNABLES=glibc.malloc.hugetlb=1, jemalloc with thp:always",
        )
        .from(&["never"])
        .after_restart()
        .when("where no memory has them", |observed, _| !is_on(observed, "mthp[2048k].enabled")),
        Step::advice(
            "see which calls give the memory back before changing anything: pagewise record --stacks 99, or perf trace -s \
             of the process for a few seconds (munmap, madvise, brk)",
        )
        .when("where it was not seen", |observed, hits| ReleaseSamples::of(observed, hits).is_none()),
    ],
    counterindications: &[
        "What an allocator keeps the rest of the host cannot have: watch its resident memory, and memory.max of its control group.",
        "Larger folios at a fault zero more than a program may touch.",
    ],
    docs: &[
        "https://github.com/jemalloc/jemalloc/issues/2438",
        "https://github.com/rust-lang/rust/issues/31885",
        "mallopt(3), M_TRIM_THRESHOLD and M_MMAP_THRESHOLD",
        "JEP 346, Promptly Return Unused Committed Memory from G1",
        "Documentation/admin-guide/mm/transhuge.rst, multi-size THP",
    ],
    judge,
};

/// Title and meaning where nobody counted whether memory goes back.
pub(in super::super) const TOUCHED: (&str, &str) = (
    "Page faults on new memory take the CPU",
    "Programs touch memory for the first time, and the kernel finds a page for each 4 KiB, zeroes it and maps it. A job that starts does \
     so once; where it goes on, memory is given back and taken again.",
);

/// Whether anything tells if what is touched is given back.
pub(in super::super) fn is_counted(observed: &Observed) -> bool {
    let is_known = |track: Track| track.most().is_some();
    is_known(observed.rate(&signal::FAULTS))
        && (is_known(observed.level(&signal::ANON_PAGES)) || is_known(observed.rate(&signal::FREED)))
}

/// What makes page faults something else: huge pages, reclaim, the kernel's own threads, and processes that start and end, which touch
/// and give back their memory once.
pub(in super::super) const NOT: &[Family] = &[
    Family::HugeFault,
    Family::HugeCopy,
    Family::Khugepaged,
    Family::Compaction,
    Family::Kcompactd,
    Family::Reclaim,
    Family::Kswapd,
    Family::Swap,
    Family::Numa,
    Family::FileData,
    Family::OomReap,
    Family::FileFault,
    Family::Lifetime,
];

/// The same, and processes that start and end count.
const NOT_BUT_LIFETIME: [Family; 11] = {
    let mut all = [Family::HugeFault; 11];
    let mut at = 0;
    while at < all.len() {
        all[at] = NOT[at];
        at += 1;
    }
    all
};

/// With fewer samples of giving back it is not said who does it.
const ENOUGH_BACKS: u64 = 10;

/// What a fault takes that gets a small page, with what giving it back takes, at the least. Ours: 0.5 µs for zeroing and mapping and
/// 0.2 µs for freeing on a fast processor without a hypervisor; here, in a guest, it was 5.
const LEAST_OF_A_FAULT: f64 = 0.7e-6;

/// What gives memory back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GivenBackBy {
    Madvise,
    Unmap,
    End,
}

/// Samples of giving back, by what does it.
#[derive(Clone, Copy, Debug)]
struct ReleaseSamples {
    all: u64,
    madvise: u64,
    end: u64,
}

impl ReleaseSamples {
    /// `None`: not recorded, callers are not known, or there are too few.
    fn of(observed: &Observed, hits: &Hits) -> Option<ReleaseSamples> {
        let profile = observed.profile.as_ref().filter(|profile| !profile.is_flat())?;
        let count = |more: &[Family]| {
            let not: Vec<Family> = NOT_BUT_LIFETIME.iter().chain(more).copied().collect();
            profile.counts(Family::GiveBack, &not, hits, &observed.windows).family
        };
        let (all, living) = (count(&[]), count(&[Family::Lifetime]));
        let madvise = living.saturating_sub(count(&[Family::Lifetime, Family::Dontneed]));
        (all >= ENOUGH_BACKS).then(|| ReleaseSamples { all, madvise, end: all.saturating_sub(living) })
    }

    fn part(self, count: u64) -> f64 {
        count as f64 / self.all.max(1) as f64
    }

    fn most(self) -> GivenBackBy {
        let unmap = self.all.saturating_sub(self.madvise).saturating_sub(self.end);
        if self.end > unmap.max(self.madvise) {
            GivenBackBy::End
        } else if self.madvise > unmap {
            GivenBackBy::Madvise
        } else {
            GivenBackBy::Unmap
        }
    }

    fn words(self) -> &'static str {
        match self.most() {
            GivenBackBy::Madvise => "madvise",
            GivenBackBy::Unmap => "munmap, brk or mremap",
            GivenBackBy::End => "processes that end",
        }
    }
}

/// The family of a profile.
fn family(profile: &ProfileSeen) -> Family {
    if profile.has_few_callers() { Family::FlatChurn } else { Family::Churn }
}

/// Bytes a second that were touched for the first time, if each fault took one page.
fn touched(observed: &Observed) -> Track {
    let page = observed.page_size;
    observed.rate(&signal::FAULTS).map(|faults| faults * page)
}

/// Bytes a second by which anonymous memory grew. A mean lies in the middle of its window; where there are too few windows to compare,
/// from the first sample to the last.
fn growth(observed: &Observed) -> Track {
    let level = observed.level(&signal::ANON_PAGES);
    let means = level.values();
    if means.len() < 3 {
        return match observed.slope(&signal::ANON_PAGES) {
            Some(slope) => Track::constant(slope.max(0.0), observed.windows.count),
            None => Track::unknown(observed.windows.count, observed.missing(&signal::ANON_PAGES)),
        };
    }
    let middle = |window: usize| (observed.windows.from(window) as f64 + observed.windows.to(window) as f64) * 0.5e-9;
    let grown = |window: usize| {
        let (a, b) = (window.saturating_sub(1), (window + 1).min(means.len() - 1));
        let seconds = middle(b) - middle(a);
        Some(((means[b]? - means[a]?) / seconds).max(0.0)).filter(|growth| growth.is_finite())
    };
    Track::new((0..means.len()).map(grown).collect(), level.missing().first().cloned())
}

/// What of a recording shows churn or its absence, beside the mechanism.
struct Symptom {
    system: Clause,
    cores: Option<Clause>,
    stays: Clause,
    back: Clause,
    /// A fault that takes a hundred microseconds does something else.
    enough: Clause,
}

impl Symptom {
    fn of(case: &Case<'_>) -> Symptom {
        let observed = case.observed;
        let faults = observed.rate(&signal::FAULTS);
        let freed = observed.rate(&signal::FREED).per(&faults);
        Symptom {
            system: case.clause("system share of busy CPU", "stat", observed.system_share()),
            cores: observed.cpus().map(|cpus| {
                let cores = observed.system_share_of_all().map(|share| share * cpus);
                case.clause("system time, of one core", "stat", cores)
            }),
            stays: case.clause(
                "of the memory that is touched, what stays",
                "meminfo AnonPages, vmstat pgfault",
                growth(observed).share_of(&touched(observed)),
            ),
            back: case.clause("pages freed per page fault", "vmstat pgfree / pgfault", freed),
            enough: case.clause(
                "page faults per second of CPU time in the kernel, if they are all it does",
                "vmstat pgfault, stat",
                faults.per(&observed.rate(&signal::CPU_SYSTEM)),
            ),
        }
    }

    /// Whether the kernel is busy enough for anything to be wrong.
    fn busy(&self) -> Vec<&Clause> {
        [&self.system].into_iter().chain(&self.cores).collect()
    }
}

fn judge(case: &Case<'_>) -> Verdict {
    let observed = case.observed;
    let symptom = Symptom::of(case);
    // A profile alone, or a listing without page faults, shows the mechanism and not the symptom: what there is counts, and the rest
    // is missing.
    let is_known = |clause: &&Clause| clause.track.values().iter().any(Option::is_some);
    let all: Vec<&Clause> =
        symptom.busy().into_iter().chain([&symptom.stays, &symptom.back, &symptom.enough]).collect();
    let known: Vec<&Clause> = all.iter().copied().filter(is_known).collect();
    let mut lasting = case.lasting(&known);
    for missing in all.iter().filter(|clause| !is_known(clause)).flat_map(|clause| clause.track.missing()) {
        if !lasting.hits.missing.contains(missing) {
            lasting.hits.missing.push(missing.clone());
        }
    }
    let hits = lasting.hits.clone();
    let counters = counters(case, &hits);
    let stacks = stacks(case, &hits);
    let share = stacks.share;
    let of_ends = ReleaseSamples::of(observed, &hits).and_then(|backs| {
        let part = backs.part(backs.end);
        let (answer, line) =
            case.whole("of what gives memory back, processes that end", "stacks: giving back pages", Some(part));
        (answer == Answer::No).then_some(line)
    });
    if let Some(line) = of_ends.filter(|_| lasting.answer == Answer::Yes) {
        return Verdict::NotFound(vec![line]);
    }
    let (stays, back) = (symptom.stays.value(&hits, case.windows()), symptom.back.value(&hits, case.windows()));
    // Counters infer what stacks measure: where these saw little of it, the others have nothing to add.
    let is_denied = stacks.answer == Answer::No && counters.answer == Answer::Unknown;
    let mechanisms = if is_denied { vec![stacks] } else { vec![counters, stacks] };
    case.decide(lasting, mechanisms).found(|draft| {
        case.name(draft, RankedBy::MinorFaults);
        let windows = case.windows();
        let of_all = observed.system_share_of_all().mean(&hits, windows);
        let busy = observed.busy_share().mean(&hits, windows).unwrap_or(1.0);
        let faults = observed.rate(&signal::FAULTS).mean(&hits, windows);
        let least = faults.zip(observed.cpus()).map(|(faults, cpus)| faults * LEAST_OF_A_FAULT / cpus);
        let by_stacks = share.filter(|_| draft.tiers.contains(&Tier::Stacks)).map(|share| share * busy);
        let cost = by_stacks.or(least).map(|cost| of_all.map_or(cost, |all| cost.min(all)));
        draft.cost.cpu_share = cost;
        draft.evidence.push(said("vmstat pgfault", "page faults", faults, PerSecond));
        draft.evidence.push(said(
            "vmstat pgfree",
            "pages freed",
            observed.rate(&signal::FREED).mean(&hits, windows),
            PagesPerSecond,
        ));
        draft.evidence.push(said(
            "meminfo AnonPages",
            "growth of anonymous memory",
            growth(observed).mean(&hits, windows),
            BytesPerSecond,
        ));
        if stays.is_none() && back.is_none() {
            draft.other = Some(TOUCHED);
        }
        draft.summary = summary(case, draft, share, faults, stays, back);
    })
}

/// Whether page faults are so many that they explain the kernel's time, and of processes that go on.
fn counters(case: &Case<'_>, hits: &Hits) -> TierAnswer {
    const NAME: &str = "page faults per second of CPU time in the kernel";
    let observed = case.observed;
    let per_second = observed.rate(&signal::FAULTS).per(&observed.rate(&signal::CPU_SYSTEM)).mean(hits, case.windows());
    let (many, line) = case.whole(NAME, "vmstat pgfault, stat", per_second);
    let says = |answer: Answer, evidence: Vec<Evidence>, missing: Vec<Missing>| TierAnswer {
        tier: Tier::Counters,
        answer,
        evidence,
        missing,
        who: Vec::new(),
        share: None,
    };
    if many == Answer::Unknown {
        if observed.has(&signal::COMMAND_CPU) {
            let (answer, evidence) = of_command(case);
            return says(answer, evidence, Vec::new());
        }
        let mut missing = vec![observed.missing(&signal::FAULTS)];
        missing.extend((!observed.has(&signal::CPU_SYSTEM)).then(|| observed.missing(&signal::CPU_SYSTEM)));
        missing.retain(|missing| !hits.missing.contains(missing));
        return says(Answer::Unknown, Vec::new(), missing);
    }
    if many == Answer::No {
        let why = "a page fault may take from one to twenty microseconds: only stacks say whether these faults are what the kernel does";
        let missing = Missing { what: "cost of a page fault".to_owned(), why: why.to_owned() };
        return says(Answer::Unknown, vec![Evidence { holds: None, ..line }], vec![missing]);
    }
    // A build, or a script, touches as much in processes that end.
    let all = observed.rate(&signal::FAULTS).mean_of_all(case.windows());
    let seen = observed.processes.as_ref().and_then(|processes| processes.minor_faults());
    let part = seen.zip(all).map(|(seen, all)| (seen / all.max(1.0)).min(1.0));
    let (answer, of_living) = case.whole("page faults of processes that go on", "processes", part);
    let why = match answer {
        Answer::Yes => return says(Answer::Yes, vec![line, of_living], Vec::new()),
        // Those of others are not in a recording that was made to be shown.
        Answer::No => "most faults are of processes that came and went, or are not in the recording",
        Answer::Unknown => "it was not recorded which processes fault: those that start and end touch memory once",
    };
    let missing = Missing { what: "page faults by process".to_owned(), why: why.to_owned() };
    says(Answer::Unknown, vec![line, of_living], vec![missing])
}

/// Of the CPU time of a command that perf stat watched, what its page faults take at the least.
fn least_of_command(observed: &Observed) -> Option<f64> {
    let took = observed.level(&signal::COMMAND_FAULTS).map(|faults| faults * LEAST_OF_A_FAULT);
    took.per(&observed.level(&signal::COMMAND_CPU)).mean_of_all(&observed.windows).map(|share| share.min(1.0))
}

/// What perf stat counted of a command: how long its page faults take at the least. A program of some megabytes that starts faults as
/// often, for an instant.
fn of_command(case: &Case<'_>) -> (Answer, Vec<Evidence>) {
    let observed = case.observed;
    let faults = observed.level(&signal::COMMAND_FAULTS);
    let in_all = observed.level(&signal::COMMAND_FAULTS_IN_ALL).mean_of_all(case.windows());
    let count = in_all.or_else(|| faults.mean_of_all(case.windows()).map(|faults| faults * case.windows().seconds()));
    let name = "CPU time of the command, if page faults take as little as they can";
    let source = "import command_faults_per_second, command_cpu_percent";
    let (much, much_line) = case.whole(name, source, least_of_command(observed));
    let (many, many_line) = case.whole("page faults of the command", "import command_faults", count);
    (much.and(many), vec![much_line, many_line])
}

fn stacks(case: &Case<'_>, hits: &Hits) -> TierAnswer {
    let family = case.observed.profile.as_ref().map_or(Family::Churn, family);
    case.stacks("samples taking and giving back small pages", family, NOT, hits)
}

fn summary(
    case: &Case<'_>,
    draft: &Draft,
    share: Option<f64>,
    faults: Option<f64>,
    stays: Option<f64>,
    back: Option<f64>,
) -> String {
    let (observed, hits) = (case.observed, &draft.hits);
    let mut told: Vec<String> = Vec::new();
    if let Some(share) = share.filter(|_| draft.tiers.contains(&Tier::Stacks)) {
        let backs = ReleaseSamples::of(observed, hits);
        let by =
            backs.map_or_else(String::new, |backs| format!("; most of what went back did so by {}", backs.words()));
        told.push(format!(
            "{} of the samples took small pages, zeroed them or gave them back{by}",
            words::percent(share)
        ));
    }
    if faults.is_none()
        && let Some(least) = least_of_command(observed)
    {
        told.push(format!(
            "The command's page faults took {} of its CPU time, if each took as little as it can",
            words::percent(least)
        ));
    }
    if let Some(faults) = faults {
        let touched = words::bytes(faults * observed.page_size);
        told.push(format!(
            "{} page faults a second touched up to {touched} a second for the first time",
            words::number(faults)
        ));
    }
    let mut text: String = told.iter().map(|sentence| format!("{}. ", words::sentence(sentence))).collect();
    match (stays, back) {
        (Some(stays), _) => {
            let part = words::percent(stays.min(1.0));
            text.push_str(&format!("Anonymous memory grew by {part} of that: the rest was given back."));
        }
        (None, Some(back)) => {
            text.push_str(&format!("For each fault {} pages were given back.", words::number(back)));
        }
        (None, None) => text.push_str(
            "Whether the memory is given back, or a job merely starts, is not in this: compare AnonPages of /proc/meminfo and pgfault \
             and pgfree of /proc/vmstat ten seconds apart.",
        ),
    }
    text
}

/// That most of what the kernel does is to hand out memory that stays: a job starts, or its data grows. `None`: it is not so, or not
/// known.
pub(super) fn grows(observed: &Observed, over: &Hits) -> Option<Vec<Evidence>> {
    let case = Case { observed, rule: &RULE, found: &[] };
    let symptom = Symptom::of(&case);
    let stays = symptom.stays.evidence(over, &observed.windows);
    if stays.holds != Some(false) || symptom.enough.evidence(over, &observed.windows).holds == Some(false) {
        return None;
    }
    let by_counters = counters(&case, over);
    let by_stacks = observed.profile.as_ref().and_then(|profile| {
        let counts = profile.counts(family(profile), NOT, over, &observed.windows);
        let share = (counts.kernel >= ENOUGH_SAMPLES).then(|| counts.family as f64 / counts.kernel as f64);
        let name = "of what the kernel does, taking and giving back small pages";
        let (answer, line) = case.whole(name, "stacks: taking and giving back small pages", share);
        (answer == Answer::Yes).then_some(vec![line])
    });
    let shown = by_stacks.or_else(|| (by_counters.answer == Answer::Yes).then_some(by_counters.evidence))?;
    Some([stays].into_iter().chain(shown).collect())
}

/// The same as a note for people, where it lasted: nothing is wrong, and yet it is where the time went.
pub(in super::super) fn note(observed: &Observed) -> Option<String> {
    let case = Case { observed, rule: &RULE, found: &[] };
    let lasting = case.lasting(&Symptom::of(&case).busy());
    let hits = &lasting.hits;
    if lasting.answer != Answer::Yes || grows(observed, hits).is_none() {
        return None;
    }
    let mean = |track: Track| track.mean(hits, &observed.windows);
    let system = mean(observed.system_share()).map_or_else(|| "much".to_owned(), words::percent);
    let grew = mean(growth(observed)).map_or_else(|| "much".to_owned(), words::bytes);
    Some(format!(
        "The kernel used {system} of the busy CPU to hand out memory that programs touched for the first time and kept: anonymous \
         memory grew by {grew} a second. That is a job that starts, or grows, and no trouble; larger folios (mthp[64k].enabled), or \
         touching the memory before the work begins (a JVM: AlwaysPreTouch), make it shorter.",
    ))
}

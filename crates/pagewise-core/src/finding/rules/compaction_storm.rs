//! Page faults that compact memory until the kernel has most of the CPU, with free memory at hand.

use super::super::huge_faults::{
    Areas, NOT_DIRECT, compacted_for, follows_defrag, follows_global, holds_against_madvise, is_for_no_huge_page,
    is_mostly_for, waited, waits,
};
use super::super::rule::{SettingTarget, Step};
use super::guard::is_a_stream;
use super::job_thp;
use super::prelude::*;
use crate::kernel_text::purpose::Purpose;

pub(super) const RULE: Rule = Rule {
    id: "compaction-storm",
    title: "Compaction storm",
    meaning: "Programs ask for huge pages, and the kernel moves memory about inside their page faults to get them. \
              Memory need not be short: what is free lies in pieces.",
    thresholds: &[
        Threshold::at_least("system share of busy CPU", 0.30, Fraction)
            .documented("Cloudera's installation guide (CDH 5), disabling transparent hugepage compaction"),
        Threshold::at_least("system time, of one core", 0.20, Fraction),
        Threshold::at_least("available memory", 0.10, Fraction),
        Threshold::at_least("free memory", (1u64 << 30) as f64, Bytes),
        Threshold::at_least("direct compactions per CPU", 0.05, PerSecond),
        Threshold::at_least("time that compaction may have taken, of system time", 0.10, Fraction),
        Threshold::at_least("pages scanned per success", 10_000.0, Number),
        Threshold::at_least("compactions that fail", 0.5, Fraction),
        Threshold::at_least("direct compactions in all", 100_000.0, Number),
        Threshold::at_least("of these, failed", 0.80, Fraction),
        Threshold::at_least("pages they scanned", 50e9, Number),
        Threshold::at_least("samples in compaction", 0.20, Fraction),
        Threshold::at_least("time a process compacts", 0.05, Fraction),
    ],
    lasts: THREE_WINDOWS,
    may_be_shorter: true,
    needs: &[&signal::CPU_SYSTEM, &signal::CPU_USER, &signal::MEM_AVAILABLE, &signal::COMPACT_STALL],
    tiers: &[Tier::Counters, Tier::Stacks, Tier::Stalls],
    rivals: &["direct-reclaim-stalls", "swap-thrash", "dirty-throttling", "kcompactd-burn", "khugepaged-burn"],
    changes: CHANGES,
    counterindications: WATCH_OUT,
    docs: &[
        "Documentation/admin-guide/mm/transhuge.rst",
        "mm/huge_memory.c (6.12), vma_thp_gfp_mask",
        "https://structureddata.org/2012/06/18/linux-6-transparent-huge-pages-and-hadoop-workloads/",
        "https://github.com/golang/go/issues/61718",
    ],
    judge,
};

/// Title and meaning where it is not for huge pages.
const FOR_OTHERS: (&str, &str) = (
    "Compaction for large blocks that are no huge pages",
    "The kernel moves memory about to get large blocks that are no huge pages: they are for data of files that is read ahead (large \
     folios), for the network, for drivers or for buffers of its own. Settings of huge pages do not touch them.",
);

/// What keeps page faults from waiting for compaction.
pub(super) const CHANGES: &[Step] = &[
    Step::guard(
        "takes page cache back from what streams through it, so that there are large blocks for what is read ahead; it changes no \
         setting and ends with Ctrl-C (pagewise guard advise says first what it would take, and from whom)",
    )
    .when("where files stream through memory and the blocks are no huge pages", |observed, hits| {
        is_for_no_huge_page(observed, hits) && is_a_stream(observed, hits)
    }),
    Step::set(
        "thp.defrag",
        SettingTarget::First(&["defer+madvise", "madvise"]),
        "programs that have huge pages without asking for them no longer wait for one; those that ask by madvise (a JVM \
         with UseTransparentHugePages, TCMalloc, Go, numpy) wait as before: for them, take the next step",
    )
    .from(&["always"])
    .when("where memory that nobody asked huge pages for waits", |observed, hits| helped(observed, hits).others),
    Step::set(
        "thp.defrag",
        SettingTarget::First(&["defer"]),
        "no page fault waits for a huge page, whoever asked; kcompactd makes them later",
    )
    .when("where page faults wait by it", by_defrag),
    Step::set(
        "thp.defrag",
        SettingTarget::First(&["never"]),
        "a page fault takes a huge page only if one is free, whoever asked",
    )
    .when("where page faults wait by it", by_defrag),
    job_thp::NEVER.when("from 4.13, where faults on anonymous memory wait", |observed, hits| {
        let helped = helped(observed, hits);
        (helped.asked || helped.others) && holds_against_madvise(observed)
    }),
    job_thp::NEVER_BEFORE_4_13
        .when("before 4.13, where memory that nobody asked huge pages for waits", |observed, hits| {
            helped(observed, hits).others && !holds_against_madvise(observed)
        }),
    Step::set("thp.enabled", SettingTarget::First(&["madvise"]), "only programs that ask by madvise get huge pages")
        .from(&["always"])
        .after_restart()
        .when("where memory that nobody asked huge pages for waits, and some size follows thp.enabled", |observed, hits| {
            helped(observed, hits).others && follows_global(observed)
        }),
    Step::set(
        "thp.enabled",
        SettingTarget::First(&["never"]),
        "no huge pages at all, but of sizes with a switch of their own",
    )
    .after_restart()
    .when("where anonymous memory waits, and some size follows thp.enabled", |observed, hits| {
        let helped = helped(observed, hits);
        (helped.asked || helped.others) && follows_global(observed)
    }),
    Step::set("thp.shmem_enabled", SettingTarget::First(&["never"]), "shared memory gets no huge pages")
        .from(&["always", "within_size", "advise", "force"])
        .after_restart()
        .when("where shared memory waits", |observed, hits| helped(observed, hits).shared),
    Step::advice(
        "the settings were changed since, and as they are now no page fault waits for a huge page: record again to see \
         whether it is gone",
    )
    .when("where page faults waited and wait no longer", |observed, hits| {
        !is_for_no_huge_page(observed, hits) && waited(observed, hits).any() && !helped(observed, hits).any()
    }),
    Step::advice(
        "see who compacts before changing anything: under these settings no page fault waits for a huge page, so it is \
         khugepaged, a program that calls MADV_COLLAPSE, or large allocations of drivers and the network (the order of \
         the stalls and the callers in the stacks tell which)",
    )
    .when("where no page fault waited", |observed, hits| !is_for_no_huge_page(observed, hits) && !waited(observed, hits).any()),
    Step::advice(
        "read less ahead (block[DEVICE].read_ahead_kb): what is read ahead comes in folios as large as it is, up to 2 MiB, so that less \
         of it asks for smaller blocks",
    )
    .when("where it is mostly for data of files", |observed, hits| is_mostly_for(observed, hits, Purpose::FileData)),
    Step::advice(
        "set net.core.high_order_alloc_disable=1 (5.3 and later): sockets take single pages in place of blocks of 32 KiB; with jumbo \
         frames a smaller MTU asks for smaller buffers to receive into",
    )
    .when("where it is mostly for the network", |observed, hits| is_mostly_for(observed, hits, Purpose::Network)),
    Step::advice(
        "see what starts so many processes or threads; a kernel with CONFIG_VMAP_STACK takes single pages for their stacks",
    )
    .when("where it is mostly for starting processes and threads", |observed, hits| {
        is_mostly_for(observed, hits, Purpose::Process)
    }),
    Step::advice(
        "see which subsystem asks: the callers in the stacks name it. What it asks for by kvmalloc comes in single pages where no block is \
         free, so that all of this is in vain: look for a version that does not try so hard, or for what makes its buffers so large",
    )
    .when("where it is mostly for buffers of the kernel or of devices", |observed, hits| {
        [Purpose::KernelObject, Purpose::Device].iter().any(|purpose| is_mostly_for(observed, hits, *purpose))
    }),
    Step::advice(
        "see who asks for blocks of that size before changing anything (files that are read ahead, drivers, the network, stacks \
         of threads): settings of huge pages do not touch them",
    )
    .when("where it is for no huge pages, and who asks is not known", |observed, hits| {
        is_for_no_huge_page(observed, hits) && compacted_for(observed, hits).is_none()
    }),
];

/// What speaks against it.
pub(super) const WATCH_OUT: &[&str] = &[
    "Huge pages may be worth more than they cost: without them the processor looks up more translations. No counter \
         here shows that, so prove the change on the job.",
];

/// Memory on which faults wait for a huge page, where that is what compacts.
fn helped(observed: &Observed, hits: &Hits) -> Areas {
    if is_for_no_huge_page(observed, hits) { Areas::default() } else { waits(observed, hits) }
}

/// Whether `thp.defrag` is what makes them wait.
fn by_defrag(observed: &Observed, hits: &Hits) -> bool {
    let helped = helped(observed, hits);
    helped.asked || helped.others || (helped.shared && follows_defrag(observed))
}

fn judge(case: &Case<'_>) -> Verdict {
    let observed = case.observed;
    if let Some(verdict) = by_totals(case) {
        return verdict;
    }
    let share = case.clause("system share of busy CPU", "stat", observed.system_share());
    let room = room(case);
    // Where CPUs are hardly busy the kernel may have most of very little.
    let cores = observed.cpus().map(|cpus| observed.system_share_of_all().map(|share| share * cpus));
    let cores = cores.map(|cores| case.clause("system time, of one core", "stat", cores));
    let clauses: Vec<&Clause> = [&share, &room].into_iter().chain(&cores).collect();
    let symptom = case.lasting(&clauses);
    let hits = symptom.hits.clone();
    let stalls = case.rate_by_cpu("direct compactions per CPU", &signal::COMPACT_STALL, 1.0);
    let may_take = cores.as_ref().and_then(|cores| time_it_may_take(case, &cores.track));
    let counters = case.counters(&[&stalls].into_iter().chain(&may_take).collect::<Vec<_>>(), &hits);
    let stacks = case.stacks("samples in compaction", Family::Compaction, NOT_DIRECT, &hits);
    let waits = case.stalls("time a process compacts", StallKind::Compaction, &hits);
    let stacks = case.stacks_within(&waits, "samples in compaction", stacks, StallKind::Compaction, &hits);
    let in_compaction = stacks.share;
    let verdict = case.decide(symptom, vec![counters, stacks, waits]);
    verdict.found(|draft| {
        let windows = case.windows();
        for clause in futility(case) {
            if let Some(value) = clause.value(&hits, windows) {
                draft.evidence.push(Evidence { value: Some(value), ..clause.evidence(&hits, windows) });
            }
        }
        draft.evidence.extend(
            fragmentation::huge_page_index(observed)
                .map(|index| said("buddyinfo", fragmentation::INDEX, Some(index), Number)),
        );
        let of_all = observed.system_share_of_all().mean(&hits, windows);
        draft.evidence.push(said("stat", "system share of all CPU", of_all, Fraction));
        draft.cost.cpu_share = of_all.map(|share| share * in_compaction.unwrap_or(1.0).min(1.0));
        draft.cost.stalled_share = case.waited_for(StallKind::Compaction, &hits);
        draft.summary = summary(case, draft, &share, &room, in_compaction);
    })
}

/// From 3.8 the kernel counts what compaction scans: 12 ns a page in the storm of recordings/6.18.44-fc-v657. At eight times that, and with some
/// µs for each page that is moved, a tenth of the CPUs' system time is not reached by what is no storm, however often it was begun. `None`: it
/// is not counted.
fn time_it_may_take(case: &Case<'_>, system: &Track) -> Option<Clause> {
    const SCANNED: f64 = 100e-9;
    const MOVED: f64 = 5e-6;
    let observed = case.observed;
    // No compaction scans nothing: a number that stands still was not kept.
    observed.rate(&signal::COMPACT_SCANNED).most().filter(|most| *most > 0.0)?;
    let by_kcompactd = observed.rate(&signal::COMPACT_DAEMON_SCANNED).or_zero();
    let scanned =
        observed.rate(&signal::COMPACT_SCANNED).with(&by_kcompactd, |all, own| Some((all - own).max(0.0) * SCANNED));
    let taken = scanned.plus(&observed.rate(&signal::MIGRATED).or_zero().map(|pages| pages * MOVED));
    Some(case.clause(
        "time that compaction may have taken, of system time",
        "vmstat compact_*_scanned",
        taken.with(system, |taken, system| Some(taken.min(system))).per(system),
    ))
}

/// Of one reading of `/proc/vmstat`. A page that is scanned takes a nanosecond at least: what is asked for is the best
/// part of a minute, most likely many.
fn by_totals(case: &Case<'_>) -> Option<Verdict> {
    let observed = case.observed;
    let stalls = observed.since_boot(&signal::COMPACT_STALL)?;
    let values = [
        ("direct compactions in all", Some(stalls)),
        ("of these, failed", Some(observed.since_boot(&signal::COMPACT_FAIL)? / stalls.max(1.0))),
        ("pages they scanned", observed.since_boot(&signal::COMPACT_SCANNED)),
    ];
    case.since_boot("vmstat compact_*", values, |[stalls, failed, scanned]| {
        format!(
            "programs compacted memory themselves {} times and scanned {} pages for it; {} of these compactions gave nothing",
            words::number(stalls),
            words::number(scanned),
            words::percent(failed),
        )
    })
}

/// How much memory is there to be had. Without the host's size, so much that the size does not matter.
fn room(case: &Case<'_>) -> Clause {
    let observed = case.observed;
    if observed.memory().is_some() || !observed.has(&signal::MEM_FREE) {
        let source = if observed.has(&signal::MEM_AVAILABLE) { "meminfo MemAvailable" } else { "meminfo MemFree" };
        return case.clause("available memory", source, observed.share_of_memory(&observed.available()));
    }
    case.clause("free memory", "meminfo MemFree", observed.level(&signal::MEM_FREE))
}

/// What shows that compaction is in vain.
fn futility(case: &Case<'_>) -> Vec<Clause> {
    let observed = case.observed;
    let scanned = observed.rate(&signal::COMPACT_SCANNED).per(&observed.rate(&signal::COMPACT_SUCCESS));
    vec![case.clause("pages scanned per success", "vmstat compact_*", scanned), in_vain(case, "compactions that fail")]
}

/// The part of direct compactions that fail, held against the rule's threshold of that name.
pub(super) fn in_vain(case: &Case<'_>, name: &'static str) -> Clause {
    let failed = case.observed.rate(&signal::COMPACT_FAIL).per(&case.observed.rate(&signal::COMPACT_STALL));
    case.clause(name, "vmstat compact_fail / compact_stall", failed)
}

fn summary(case: &Case<'_>, draft: &Draft, share: &Clause, room: &Clause, in_compaction: Option<f64>) -> String {
    let (windows, hits) = (case.windows(), &draft.hits);
    let mut text = format!(
        "For {} of {} the kernel used {} of the busy CPU.",
        words::seconds(hits.seconds(windows)),
        words::seconds(windows.seconds()),
        share.value(hits, windows).map_or_else(|| "much".to_owned(), words::percent),
    );
    if draft.tiers.contains(&Tier::Stacks) {
        let part = in_compaction.map_or_else(|| "Most".to_owned(), words::percent);
        text.push_str(&format!(" {part} of all samples were in compaction or waited for its locks."));
    } else if draft.tiers.contains(&Tier::Stalls) {
        text.push_str(" Tasks were held up by compaction.");
    } else {
        text.push_str(" Direct compactions ran all the while.");
    }
    let free = case.observed.available().mean(hits, windows).map(words::bytes);
    if let (Some(free), Some(_)) = (free, room.value(hits, windows)) {
        text.push_str(&format!(" {free} of memory could still be had."));
    }
    if !is_for_no_huge_page(case.observed, hits) {
        text.push_str(&who_asked(case.observed, hits));
    }
    text
}

/// Of compaction that is not for huge pages, however it was found, what it is for.
pub(in super::super) fn says_for_what(case: &Case<'_>, verdict: Verdict) -> Verdict {
    if ![RULE.id, "compaction-stalls"].contains(&case.rule.id) {
        return verdict;
    }
    verdict.found(|draft| {
        if !is_for_no_huge_page(case.observed, &draft.hits) {
            return;
        }
        draft.other = Some(FOR_OTHERS);
        draft.without_counterindications = true;
        draft.watch.push(
            "Why large blocks are scarce is a question of its own: see fragmentation and watermark-boost.".to_owned(),
        );
        let purposes = compacted_for(case.observed, &draft.hits);
        if let Some((purposes, most)) = purposes.as_ref().and_then(|purposes| Some((purposes, purposes.most()?))) {
            let part = words::percent(purposes.share(most));
            draft.summary.push_str(&format!(" As far as callers tell, {part} of it is for {}.", most.words()));
        }
    })
}

/// Which memory the faults that waited can have been on, where the settings of that time say it.
pub(super) fn who_asked(observed: &Observed, hits: &Hits) -> String {
    let settings = ["thp.enabled", "thp.defrag"]
        .map(|name| (name, observed.settings.during(name, hits, &observed.windows)))
        .map(|(name, values)| (!values.is_empty()).then(|| format!("{name}={}", values.join(" and "))));
    let [Some(enabled), Some(defrag)] = settings else { return String::new() };
    let waited = waited(observed, hits);
    let says = match (waited.asked, waited.others, waited.shared) {
        (_, true, _) => "memory waits for a huge page whether its program asked for one by madvise or not",
        (true, false, true) => {
            "only shared memory and memory that a program asked huge pages for by madvise wait for one"
        }
        (true, false, false) => "only memory that a program asked huge pages for by madvise waits for one",
        (false, false, true) => "only shared memory waits for a huge page",
        (false, false, false) => "no page fault waits for a huge page: something else compacts",
    };
    format!(" Under {enabled} and {defrag} {says}.")
}

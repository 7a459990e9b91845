//! khugepaged takes a part of a core for good.

use super::super::rule::{SettingTarget, Step};
use super::prelude::*;
use super::threads;

pub(super) const RULE: Rule = Rule {
    id: "khugepaged-burn",
    title: "khugepaged takes a core",
    meaning: "The thread that turns small pages into huge ones scans memory all the time and uses much of a core. What it \
              makes may be worth it; more often it scans memory that changes too fast, or fails to get huge pages.",
    thresholds: &[
        Threshold::at_least("khugepaged, of one core", 0.10, Fraction),
        Threshold::at_least("samples in khugepaged", 0.05, Fraction),
        Threshold::at_least("huge pages it could not get", 0.5, Fraction),
    ],
    lasts: 60.0,
    may_be_shorter: false,
    needs: &[&signal::KERNEL_THREAD_CPU, &signal::THP_COLLAPSE, &signal::KHUGEPAGED_SCANS],
    tiers: &[Tier::Counters, Tier::Stacks],
    rivals: &["compaction-storm", "kcompactd-burn"],
    changes: &[
        Step::set(
            "khugepaged.scan_sleep_millisecs",
            SettingTarget::Worked(sleeps, "six times what it is, 10 s to 10 min"),
            "it sleeps longer between scans",
        ),
        Step::set(
            "khugepaged.pages_to_scan",
            SettingTarget::Worked(fewer, "a quarter of what it is, at most 4096"),
            "it scans fewer pages before it sleeps",
        ),
        Step::set(
            "khugepaged.defrag",
            SettingTarget::First(&["0"]),
            "it takes huge pages only where they are free, and compacts none",
        ),
    ],
    counterindications: &["Jobs that run for hours profit from what it makes: prove the change on a long run."],
    docs: &["Documentation/admin-guide/mm/transhuge.rst, khugepaged"],
    judge,
};

fn sleeps(observed: &Observed) -> Option<String> {
    let now = observed.settings.number("khugepaged.scan_sleep_millisecs")?;
    (now < 600_000.0).then(|| format!("{:.0}", (now * 6.0).clamp(10_000.0, 600_000.0)))
}

fn fewer(observed: &Observed) -> Option<String> {
    let now = observed.settings.number("khugepaged.pages_to_scan")?;
    (now >= 2.0).then(|| format!("{:.0}", (now * 0.25).clamp(1.0, 4096.0)))
}

fn judge(case: &Case<'_>) -> Verdict {
    let observed = case.observed;
    let windows = case.windows();
    let burn = threads::cpu(case, "khugepaged, of one core", "khugepaged", "samples in khugepaged", Family::Khugepaged);
    let share = burn.cores;
    burn.decide(case).found(|draft| {
        let hits = draft.hits.clone();
        let got = observed.rate(&signal::THP_COLLAPSE);
        let failed = observed.rate(&signal::THP_COLLAPSE_FAILED);
        let in_vain =
            case.clause("huge pages it could not get", "vmstat thp_collapse_*", failed.share_of(&got.plus(&failed)));
        draft.evidence.push(in_vain.evidence(&hits, windows));
        draft.evidence.push(said(
            "vmstat thp_collapse_alloc",
            "huge pages it made",
            got.mean(&hits, windows),
            PerSecond,
        ));
        draft.cost.cpu_share = share.zip(observed.cpus()).map(|(cores, cpus)| cores / cpus);
        draft.summary = format!(
            "khugepaged used {} of a core and made {} huge pages a second.",
            share.map_or_else(|| "much".to_owned(), words::percent),
            got.mean(&hits, windows).map_or_else(|| "an unknown number of".to_owned(), words::number),
        );
        if observed.settings.number("khugepaged.scan_sleep_millisecs") == Some(0.0) {
            draft.watch.push("khugepaged.scan_sleep_millisecs is 0, which means it never sleeps.".to_owned());
        }
    })
}

//! Compaction in the background takes a part of a core for good.

use super::super::huge_faults::wakes_kcompactd;
use super::super::rule::{SettingTarget, Step};
use super::prelude::*;
use super::threads;

pub(super) const RULE: Rule = Rule {
    id: "kcompactd-burn",
    title: "kcompactd takes a core",
    meaning: "The thread that joins free memory in the background does so all the time and uses much of a core. It works \
              ahead for huge pages that may never be asked for, and takes locks that programs wait for.",
    thresholds: &[
        Threshold::at_least("kcompactd, of one core", 0.20, Fraction),
        Threshold::at_least("samples in kcompactd", 0.05, Fraction),
        Threshold::at_least("pages scanned in the background", 10_000.0, PagesPerSecond),
    ],
    lasts: 60.0,
    may_be_shorter: false,
    needs: &[&signal::KERNEL_THREAD_CPU, &signal::COMPACT_DAEMON_SCANNED],
    tiers: &[Tier::Counters, Tier::Stacks],
    rivals: &["compaction-storm", "khugepaged-burn", "watermark-boost"],
    changes: &[
        Step::set(
            "vm.compaction_proactiveness",
            SettingTarget::Worked(half, "half of what it is, from 10 down to 0"),
            "less is compacted ahead of need",
        ),
        Step::set("vm.compaction_proactiveness", SettingTarget::First(&["0"]), "nothing is compacted ahead of need"),
        Step::set(
            "thp.defrag",
            SettingTarget::First(&["madvise"]),
            "page faults on memory that nobody asked huge pages for no longer wake it",
        )
        .from(&["defer+madvise"])
        .when("where there is such memory", |observed, _| wakes_kcompactd(observed).others),
        Step::set("thp.defrag", SettingTarget::First(&["never"]), "page faults no longer wake it")
            .from(&["defer"])
            .when("where memory has huge pages", |observed, _| wakes_kcompactd(observed).any()),
    ],
    counterindications: &[
        "Writing anything but 0 starts a compaction of every node at once.",
        "Fewer huge pages may be free when a program asks.",
    ],
    docs: &[
        "Documentation/admin-guide/sysctl/vm.rst, compaction_proactiveness",
        "Documentation/admin-guide/mm/transhuge.rst, defrag",
        "https://github.com/juicedata/juicefs/pull/6147",
    ],
    judge,
};

fn half(observed: &Observed) -> Option<String> {
    let now = observed.settings.number("vm.compaction_proactiveness")?;
    (now > 1.0).then(|| format!("{:.0}", (now / 2.0).floor().min(10.0)))
}

fn judge(case: &Case<'_>) -> Verdict {
    let observed = case.observed;
    let windows = case.windows();
    let burn = threads::cpu(case, "kcompactd, of one core", "kcompactd", "samples in kcompactd", Family::Kcompactd);
    let cores = burn.cores;
    let hits = burn.hits().clone();
    let scanned = case.rate("pages scanned in the background", &signal::COMPACT_DAEMON_SCANNED);
    burn.decide(case).found(|draft| {
        draft.evidence.push(scanned.evidence(&hits, windows));
        draft.cost.cpu_share = cores.zip(observed.cpus()).map(|(cores, cpus)| cores / cpus);
        draft.summary = format!(
            "kcompactd used {} of a core and scanned {} pages a second.",
            cores.map_or_else(|| "much".to_owned(), words::percent),
            scanned.value(&hits, windows).map_or_else(|| "an unknown number of".to_owned(), words::number),
        );
    })
}

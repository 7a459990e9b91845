//! Memory that huge pages hold and nobody uses.

use super::super::huge_faults::{follows_global, huge};
use super::super::rule::{SettingTarget, Step};
use super::job_thp;
use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "thp-bloat",
    title: "Memory bloat from huge pages",
    meaning: "Huge pages give a program 2 MiB where it touched a few KiB, so it holds more memory than it uses. Sparse \
              heaps, many threads and allocators that give memory back piece by piece suffer most.",
    thresholds: &[
        Threshold::at_least("anonymous memory on huge pages", 0.20, Fraction),
        Threshold::at_least("khugepaged.max_ptes_none", 511.0, Number)
            .documented("its default, mm/khugepaged.c (6.12), khugepaged_init"),
        Threshold::at_least("anonymous memory that was added", 0.05, Fraction),
        Threshold::at_least("of what was added, made by collapsing", 0.5, Fraction),
        Threshold::above("huge pages split for being mostly zero", 0.1, PerSecond),
        Threshold::at_least("folios that are partly unmapped", 0.10, Fraction),
    ],
    lasts: THREE_WINDOWS,
    may_be_shorter: false,
    needs: &[&signal::ANON_PAGES, &signal::ANON_HUGE, &signal::THP_COLLAPSE],
    tiers: &[Tier::Counters],
    rivals: &["slab-bloat", "unevictable-memory", "hugetlb-waste"],
    changes: &[
        Step::set(
            "khugepaged.max_ptes_none",
            SettingTarget::First(&["0"]),
            "khugepaged joins only memory that is in use throughout",
        ),
        Step::set(
            "thp.shrink_underused",
            SettingTarget::First(&["1"]),
            "huge pages that are mostly zero are split under pressure (6.12)",
        )
        .when("where khugepaged.max_ptes_none is below 511: at 511 no page is too empty to be kept", |observed, _| {
            observed.settings.number("khugepaged.max_ptes_none").is_some_and(|none| none < 511.0)
        }),
        job_thp::NEVER,
        job_thp::NEVER_BEFORE_4_13,
        Step::set(
            "thp.enabled",
            SettingTarget::First(&["madvise"]),
            "only programs that ask by madvise get huge pages: it helps if the one that grew did not ask",
        )
        .from(&["always"])
        .after_restart()
        .when("where some size follows it", |observed, _| huge(observed).others && follows_global(observed)),
    ],
    counterindications: &["Fewer huge pages mean more page faults and look-ups of translations: prove it on the job."],
    docs: &[
        "Documentation/admin-guide/mm/transhuge.rst, max_ptes_none",
        "https://bugs.openjdk.org/browse/JDK-8312182",
        "https://github.com/golang/go/issues/64332",
    ],
    judge,
};

fn judge(case: &Case<'_>) -> Verdict {
    let observed = case.observed;
    let windows = case.windows();
    let anon = observed.level(&signal::ANON_PAGES);
    let huge = observed.level(&signal::ANON_HUGE);
    let on_huge = case.clause("anonymous memory on huge pages", "meminfo AnonHugePages", huge.share_of(&anon));
    let symptom = case.lasting(&[&on_huge]);
    let hits = symptom.hits.clone();
    // Way one: memory grows with what khugepaged joins.
    let none = observed.settings.number("khugepaged.max_ptes_none");
    let (may_join, joined) = case.whole("khugepaged.max_ptes_none", "setting", none);
    let added = anon.ends().map(|(first, last)| last - first);
    let share = added.zip(anon.ends()).map(|(added, (first, _))| added / first.max(1.0));
    let (has_grown, grown) = case.whole("anonymous memory that was added", "meminfo AnonPages", share);
    let huge_size = observed.last(&signal::HUGEPAGE_SIZE).unwrap_or(2.0 * 1024.0 * 1024.0);
    let collapsed = observed.growth(&signal::THP_COLLAPSE).map(|pages| pages * huge_size);
    let part = collapsed.zip(added).map(|(collapsed, added)| if added > 0.0 { collapsed / added } else { 0.0 });
    let (by_join, made) = case.whole("of what was added, made by collapsing", "vmstat thp_collapse_alloc", part);
    let by_khugepaged = Answer::all([may_join, has_grown, by_join]);
    // Way two: the kernel itself finds huge pages that are mostly empty.
    let split =
        observed.growth(&signal::THP_UNDERUSED).filter(|_| windows.seconds() > 0.0).map(|n| n / windows.seconds());
    let (is_split, splits) =
        case.whole("huge pages split for being mostly zero", "vmstat thp_underused_split_page", split);
    let partial = partly_unmapped(observed);
    let (is_partial, partly) = case.whole("folios that are partly unmapped", "thp nr_anon_partially_mapped", partial);
    let mut missing = Vec::new();
    if collapsed.is_none() {
        missing.push(observed.missing(&signal::THP_COLLAPSE));
    }
    if none.is_none() {
        missing.push(Missing { what: "khugepaged.max_ptes_none".to_owned(), why: "no setting is recorded".to_owned() });
    }
    // A kernel before 6.12 has neither of the two: that alone leaves nothing open.
    let seen_by_kernel = [is_split, is_partial].into_iter().any(|answer| answer == Answer::Yes);
    let mut says = case.counters(&[], &hits);
    says.answer = if seen_by_kernel { Answer::Yes } else { by_khugepaged };
    says.evidence = vec![joined, grown, made, splits, partly].into_iter().filter(|line| line.value.is_some()).collect();
    says.missing = missing;
    case.decide(symptom, vec![says]).found(|draft| {
        case.name(draft, RankedBy::Growth);
        let bloat = added.filter(|_| by_khugepaged == Answer::Yes).zip(collapsed).map(|(added, made)| added.min(made));
        draft.cost.memory_share = bloat.zip(observed.memory()).map(|(bytes, memory)| bytes / memory);
        draft.summary = format!(
            "{} of anonymous memory is on huge pages{}{}.",
            on_huge.value(&hits, windows).map_or_else(|| "Much".to_owned(), words::percent),
            bloat.map_or_else(String::new, |bytes| {
                format!("; khugepaged joined small pages into {} while programs grew by that much", words::bytes(bytes))
            }),
            split.filter(|_| is_split == Answer::Yes).map_or_else(String::new, |rate| {
                format!("; the kernel split {} mostly empty ones a second", words::number(rate))
            }),
        );
        draft.watch.push(
            "Whether the program uses what it holds no counter shows: pagewise hugepages --pid PID --dry-run reads how much of its huge pages \
             is zero (as root, Linux 6.7); what is not zero may be dead, too: compare the program's own count of live memory."
                .to_owned(),
        );
    })
}

/// The part of large folios some pages of which are unmapped.
fn partly_unmapped(observed: &Observed) -> Option<f64> {
    let sum = |signal: &signal::Quantity| {
        let each = observed.each_level(signal);
        each.iter().filter_map(|(_, track)| track.mean_of_all(&observed.windows)).reduce(|a, b| a + b)
    };
    let (partial, all) = (sum(&signal::MTHP_PARTIAL)?, sum(&signal::MTHP_ANON)?);
    (all > 0.0).then(|| partial / all)
}

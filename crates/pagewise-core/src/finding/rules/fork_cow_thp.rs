//! A program that forks and then copies huge pages at every write.

use super::super::huge_faults::{follows_global, huge};
use super::super::rule::{SettingTarget, Step};
use super::job_thp;
use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "fork-cow-thp",
    title: "Fork copies huge pages",
    meaning: "A program forked, and each write to memory it shares with the child now copies or splits a huge page instead \
              of 4 KiB. Databases that save a snapshot from a child (Redis) stall at such times.",
    thresholds: &[
        Threshold::at_least("samples copying or splitting huge pages", 0.05, Fraction),
        Threshold::at_least("huge pages split", 10.0, PerSecond),
        Threshold::at_least("samples copying pages at writes", 0.05, Fraction),
        Threshold::at_least("samples copying page tables", 0.10, Fraction),
    ],
    lasts: 10.0,
    may_be_shorter: true,
    needs: &[],
    tiers: &[Tier::Stacks],
    rivals: &["compaction-storm", "thp-fault-cost"],
    changes: &[
        job_thp::NEVER,
        job_thp::NEVER_BEFORE_4_13,
        Step::set(
            "thp.enabled",
            SettingTarget::First(&["madvise"]),
            "only programs that ask by madvise get huge pages: it helps if the one that forks did not ask",
        )
        .from(&["always"])
        .after_restart()
        .when("where some size follows it", |observed, _| huge(observed).others && follows_global(observed)),
        Step::advice("let the program that forks ask for no huge pages (Redis: disable-thp yes)").after_restart(),
        Step::advice(
            "start programs by posix_spawn or vfork, or from a small process of their own, rather than by fork from the large one; huge \
             pages have a 512th of the tables to copy",
        )
        .after_restart()
        .when("where page tables are copied", |observed, hits| tables(observed, hits).is_some_and(|part| part >= 0.10)),
    ],
    counterindications: &["Huge pages that are split in reclaim look alike: see who does it."],
    docs: &[
        "https://redis.io/docs/latest/operate/oss_and_stack/management/optimization/latency/",
        "mm/huge_memory.c (5.8), do_huge_pmd_wp_page: a shared huge page is split, no longer copied whole",
    ],
    judge,
};

/// Title and meaning where it is not the pages that are copied.
pub(in super::super) const TABLES: (&str, &str) = (
    "Forks copy the page tables of a large process",
    "Each fork copies the tables of all memory that the process has, and the child tears them down when it ends or starts another \
     program: eight bytes for each page of 4 KiB. Meanwhile the process stands still (Redis measured some 10 ms for each gigabyte).",
);

/// The part of the samples in copying page tables.
fn tables(observed: &Observed, over: &Hits) -> Option<f64> {
    Some(observed.profile.as_ref()?.counts(Family::ForkCopy, &[], over, &observed.windows).share())
}

/// `None`: no profile shows it.
fn copies_tables(case: &Case<'_>, all: &Hits) -> Option<Verdict> {
    let stacks = case.stacks("samples copying page tables", Family::ForkCopy, &[], all);
    if stacks.answer != Answer::Yes {
        return None;
    }
    let part = stacks.share;
    let symptom = case.lasting_hits(all.clone());
    Some(case.decide(symptom, vec![stacks]).found(|draft| {
        let system = case.observed.system_share_of_all().mean_of_all(case.windows());
        draft.cost.cpu_share = part.zip(system).map(|(part, all)| part.min(all));
        draft.other = Some(TABLES);
        draft.summary = format!("{} of the samples copied page tables at forks.", words::percent(part.unwrap_or(0.0)));
    }))
}

fn judge(case: &Case<'_>) -> Verdict {
    let observed = case.observed;
    let all = Hits::always(Answer::Yes, case.windows().count);
    if let Some(verdict) = copies_tables(case, &all) {
        return verdict;
    }
    let not = [Family::Reclaim, Family::Khugepaged, Family::Compaction];
    let whole = case.stacks("samples copying or splitting huge pages", Family::HugeCopy, &not, &all);
    let splits = case.rate("huge pages split", &signal::THP_SPLIT_PMD);
    let split = case.lasting(&[&splits]);
    // Since 5.8 the first write splits the mapping, at little cost, and every later one copies 4 KiB by itself.
    let (symptom, stacks) = if whole.answer != Answer::Yes && split.answer == Answer::Yes {
        let stacks = case.stacks("samples copying pages at writes", Family::SmallCopy, &not, &split.hits);
        (split, stacks)
    } else {
        (case.lasting_hits(all), whole)
    };
    let share = stacks.share;
    let rate = splits.value(&symptom.hits, case.windows()).filter(|_| !symptom.evidence.is_empty());
    case.decide(symptom, vec![stacks]).found(|draft| {
        draft.cost.cpu_share =
            share.zip(observed.system_share_of_all().mean_of_all(case.windows())).map(|(part, all)| part.min(all));
        let part = words::percent(share.unwrap_or(0.0));
        draft.summary = match rate {
            Some(rate) => format!(
                "{} huge pages a second were split, and {part} of the samples copied pages at writes.",
                words::number(rate)
            ),
            None => format!("{part} of the samples copied or split huge pages at writes."),
        };
    })
}

//! Zeroing huge pages at first touch.

use super::super::huge_faults::{as_large, is_on};
use super::super::rule::{SettingTarget, Step};
use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "thp-fault-cost",
    title: "Cost of zeroing huge pages",
    meaning: "Each first touch of a huge page zeroes 2 MiB before the program goes on. That is no defect while a job starts; \
              it is one when it goes on, since memory is then given back and taken again all the time.",
    thresholds: &[
        Threshold::at_least("huge pages given at faults", 10.0, PerSecond),
        Threshold::below("direct compactions", 1.0, PerSecond),
        Threshold::at_least("samples in zeroing huge pages", 0.10, Fraction),
    ],
    lasts: THREE_WINDOWS,
    may_be_shorter: true,
    needs: &[&signal::THP_FAULT_ALLOC, &signal::COMPACT_STALL],
    tiers: &[Tier::Stacks],
    rivals: &["compaction-storm"],
    changes: &[
        Step::advice("touch the memory before the work begins (a JVM: AlwaysPreTouch), or let the allocator keep it"),
        Step::set(
            "mthp[64k].enabled",
            SettingTarget::Worked(as_large, "what the 2 MiB size has"),
            "64 KiB instead of 2 MiB are zeroed at a time: the kernel tries the largest size that is on, so one goes on and \
             the other off",
        )
        .with(&[("mthp[2048k].enabled", SettingTarget::First(&["never"]))])
        .after_restart()
        .when("where the 2 MiB size is on and 64 KiB are not", |observed, _| {
            is_on(observed, "mthp[2048k].enabled") && !is_on(observed, "mthp[64k].enabled")
        }),
        Step::set(
            "mthp[2048k].enabled",
            SettingTarget::First(&["never"]),
            "64 KiB, which are on already, instead of 2 MiB are zeroed at a time",
        )
        .after_restart()
        .when("where both sizes are on", |observed, _| {
            is_on(observed, "mthp[2048k].enabled") && is_on(observed, "mthp[64k].enabled")
        }),
    ],
    counterindications: &[
        "Huge pages spare later page faults and look-ups: without them the job may be slower as a whole.",
    ],
    docs: &["Documentation/admin-guide/mm/transhuge.rst, multi-size THP"],
    judge,
};

fn judge(case: &Case<'_>) -> Verdict {
    let observed = case.observed;
    let given = case.rate("huge pages given at faults", &signal::THP_FAULT_ALLOC);
    let quiet = case.rate("direct compactions", &signal::COMPACT_STALL);
    let symptom = case.lasting(&[&given, &quiet]);
    let hits = symptom.hits.clone();
    let family = observed.profile.as_ref().map_or(Family::HugeZero, |profile| profile.zeroing_huge());
    let stacks = case.stacks("samples in zeroing huge pages", family, &[Family::Khugepaged], &hits);
    let share = stacks.share;
    case.decide(symptom, vec![stacks]).found(|draft| {
        let rate = given.value(&hits, case.windows()).unwrap_or(0.0);
        let of_all = observed.system_share_of_all().mean(&hits, case.windows());
        draft.cost.cpu_share = of_all.zip(share).map(|(all, share)| all.min(share));
        draft.summary = format!(
            "{} of the samples zeroed huge pages; {} huge pages a second were touched for the first time.",
            words::percent(share.unwrap_or(0.0)),
            words::number(rate),
        );
    })
}

//! What a profile names where it is all there is, or where the rest of what a rule asks for was not recorded.
//!
//! Most people have only that: a screen of perf top, the head of a report. Where a large part of the samples is in one mechanism, that
//! mechanism has a name, although it is not known whether memory was short, for how long it went on, or what CPUs did otherwise. So
//! it is found with low confidence, and what would raise that is listed as missing. What was recorded and speaks against a rule
//! keeps it undecided.

use super::answer::Answer;
use super::case::{Case, Draft, LOCKS_OF_UNKNOWN, Verdict};
use super::document::{Confidence, Evidence, Quantity, Severity, Tier};
use super::families::{ENOUGH_SAMPLES, Family};
use super::huge_faults::NOT_DIRECT;
use super::observed::{Hits, Missing, Observed};
use super::rule::Threshold;
use super::{SEVERE, rules, words};

/// A rule that a profile alone can decide for.
struct ProfileRule {
    rule: &'static str,
    family: Family,
    /// What it is not.
    not: &'static [Family],
    /// It is a lock by whose name it may be that of something else than a process's map.
    may_be_another_lock: bool,
    /// From which part of the samples on. Ours: twice what the rule asks for beside other evidence, where that is little.
    least: f64,
    other: Option<OtherTitle>,
}

/// Title and meaning in place of a rule's.
struct OtherTitle {
    title: (&'static str, &'static str),
    /// Where the rule keeps its own.
    unless: fn(&Observed) -> bool,
}

impl ProfileRule {
    const fn of(rule: &'static str, family: Family, least: f64) -> ProfileRule {
        ProfileRule { rule, family, not: &[], may_be_another_lock: false, least, other: None }
    }

    const fn not(self, not: &'static [Family]) -> ProfileRule {
        ProfileRule { not, ..self }
    }

    const fn if_of_the_map(self) -> ProfileRule {
        ProfileRule { may_be_another_lock: true, ..self }
    }

    const fn called(self, title: (&'static str, &'static str)) -> ProfileRule {
        self.called_unless(title, |_| false)
    }

    const fn called_unless(self, title: (&'static str, &'static str), unless: fn(&Observed) -> bool) -> ProfileRule {
        ProfileRule { other: Some(OtherTitle { title, unless }), ..self }
    }

    /// Without callers some functions of a mechanism stand for all of it.
    fn in_a_profile(&self, case: &Case<'_>) -> Family {
        let Some(profile) = &case.observed.profile else { return self.family };
        match self.family {
            Family::Churn if profile.has_few_callers() => Family::FlatChurn,
            Family::HugeZero => profile.zeroing_huge(),
            family => family,
        }
    }
}

const NAMED: &[ProfileRule] = &[
    ProfileRule::of("compaction-storm", Family::Compaction, 0.10).not(NOT_DIRECT),
    // Of a program's own time, with all that is called: less than a storm, and it waits for it.
    ProfileRule::of("compaction-stalls", Family::Compaction, 0.05).not(NOT_DIRECT),
    ProfileRule::of("thp-fault-cost", Family::HugeZero, 0.10).not(&[Family::Khugepaged]),
    ProfileRule::of("khugepaged-burn", Family::Khugepaged, 0.10),
    ProfileRule::of("kswapd-saturation", Family::Kswapd, 0.10),
    ProfileRule::of("direct-reclaim-stalls", Family::Reclaim, 0.10).not(&[
        Family::Kswapd,
        Family::CgroupReclaim,
        Family::SlabShrink,
        Family::Compaction,
        Family::Numa,
    ]),
    ProfileRule::of("memcg-limit-thrash", Family::CgroupReclaim, 0.10),
    // An entry of swap in a page table may be one of a page that is being moved.
    ProfileRule::of("swap-thrash", Family::Swap, 0.05).not(&[Family::Kswapd, Family::MigrationWait]),
    ProfileRule::of("dirty-throttling", Family::DirtyBalance, 0.05),
    ProfileRule::of("dirty-throttling", Family::DirtyWalk, 0.10).called(rules::WALKS),
    ProfileRule::of("oom-risk", Family::OomReap, 0.05),
    ProfileRule::of("slab-bloat", Family::SlabShrink, 0.10),
    // Whoever opens many files has a few percent of it.
    ProfileRule::of("slab-bloat", Family::NameLookup, 0.30).called(rules::NAMES),
    ProfileRule::of("numa-imbalance", Family::Numa, 0.05),
    ProfileRule::of("numa-imbalance", Family::MigrationWait, 0.10).called(rules::MOVED_PAGES),
    ProfileRule::of("kcompactd-burn", Family::Kcompactd, 0.10),
    ProfileRule::of("dying-cgroups", Family::CgroupWalk, 0.10).not(&[Family::Reclaim]),
    ProfileRule::of("dying-cgroups", Family::CgroupUpkeep, 0.10).not(&[Family::Reclaim]),
    ProfileRule::of("fault-churn", Family::Churn, 0.20)
        .not(rules::NOT_CHURN)
        .called_unless(rules::TOUCHED, rules::is_given_back_counted),
    ProfileRule::of("tlb-shootdowns", Family::Shootdown, 0.10).not(&[
        Family::Reclaim,
        Family::Compaction,
        Family::Khugepaged,
    ]),
    ProfileRule::of("mmap-lock-contention", Family::MmapLock, 0.10)
        .not(&[Family::Khugepaged, Family::SlabShrink])
        .if_of_the_map(),
    ProfileRule::of("mmap-lock-contention", Family::ReverseMap, 0.10).not(rules::NOT_OF_LISTS).called(rules::LISTS),
    ProfileRule::of("fork-cow-thp", Family::ForkCopy, 0.10).called(rules::TABLES),
    // Any shell has a little of it.
    ProfileRule::of("fork-cow-thp", Family::ExecTeardown, 0.30).called(rules::TABLES),
    ProfileRule::of("fork-cow-thp", Family::HugeCopy, 0.05).not(&[
        Family::Reclaim,
        Family::Khugepaged,
        Family::Compaction,
    ]),
    // Where nothing above has a name for it. Of parts that are as large the last one counts: it says more.
    ProfileRule::of("unexplained-system-time", Family::Memory, 0.50).called(rules::MEMORY_WORK),
    ProfileRule::of("unexplained-system-time", Family::ChangeMap, 0.30).called(rules::MAP_WORK),
    ProfileRule::of("unexplained-system-time", Family::CgroupCharge, 0.15)
        .not(&[Family::Reclaim, Family::CgroupReclaim, Family::Compaction])
        .called(rules::CHARGES),
];

/// Somebody who posts so many stacks shows what they saw, and fewer are an example of something. Whether they are enough for a part of them depends
/// on the part: it is judged by its interval. Ours.
const FEWEST_POSTED: u64 = 8;

/// The threshold, as evidence names it.
const PART: &str = "of all samples, for a profile to name it alone";

/// A verdict, or in its place what the profile names.
pub(super) fn name(verdict: Verdict, case: &Case<'_>) -> Verdict {
    let Verdict::NotDecided { missing, needs_seconds, evidence } = &verdict else { return verdict };
    let denies = evidence.iter().any(|line| line.holds == Some(false) && !line.source.starts_with("stacks"));
    // A recording of our own that was too short can be made longer; nobody can do that to a listing.
    let can_wait = needs_seconds.is_some() && !case.observed.is_import;
    let named = NAMED.iter().filter(|named| named.rule == case.rule.id && !denies && !can_wait);
    let drafts = named.filter_map(|named| draft(named, case, evidence, missing));
    let share = |(share, _): &(f64, Draft)| *share;
    let largest = drafts.max_by(|a, b| share(a).total_cmp(&share(b)));
    match largest {
        Some((_, draft)) => Verdict::Found(Box::new(draft)),
        None => verdict,
    }
}

/// What a profile names, and its share of the samples.
fn draft(named: &ProfileRule, case: &Case<'_>, evidence: &[Evidence], missing: &[Missing]) -> Option<(f64, Draft)> {
    let profile = case.observed.profile.as_ref()?;
    let samples = profile.samples_in_all();
    let is_few = samples < ENOUGH_SAMPLES;
    // A report weighs samples by their periods: a few of them are no counts.
    let is_counted = || case.observed.tools.iter().all(|tool| matches!(tool.as_str(), "perf-script" | "folded"));
    if is_few && !(case.observed.is_import && samples >= FEWEST_POSTED && is_counted()) {
        return None;
    }
    let all = Hits::always(Answer::Yes, case.windows().count);
    let threshold = Threshold::at_least(PART, named.least, Quantity::Fraction);
    let says = case.stacks_against(threshold, named.in_a_profile(case), named.not, &all);
    let of_listed = of_what_is_listed(case, named, &all).filter(|_| says.answer != Answer::Yes && !is_few);
    let share = says.share.filter(|_| says.answer == Answer::Yes).or(of_listed)?;
    if named.may_be_another_lock && !profile.waits_for_the_map(&all, case.windows()) {
        return None;
    }
    if named.in_a_profile(case) == Family::FlatChurn && is_no_churn(case, &all) {
        return None;
    }
    // What the rule had seen of the same is there already.
    let is_new = |line: &&Evidence| line.value.is_some() && says.evidence.iter().all(|seen| seen.source != line.source);
    let mut shown = says.evidence.clone();
    shown.extend(evidence.iter().filter(is_new).cloned());
    let by_locks = says.evidence.iter().any(|line| line.name == LOCKS_OF_UNKNOWN);
    let draft = Draft {
        summary: format!(
            "{} of {} samples were in {}{}. A profile says where CPUs were, and neither for how long nor why.",
            words::percent(share),
            match of_listed {
                Some(_) => "the listed".to_owned(),
                None if is_few => format!("only {samples}"),
                None => "all".to_owned(),
            },
            named.family.words(),
            if by_locks { ", or waited for locks, of whom was not recorded" } else { "" },
        ),
        other: named.other.as_ref().filter(|other| !(other.unless)(case.observed)).map(|other| other.title),
        at_least: (share >= SEVERE && of_listed.is_none() && !is_few).then_some(Severity::Medium),
        confidence: Some(Confidence::Low),
        tiers: vec![Tier::Stacks],
        hits: all,
        who: says.who,
        evidence: shown,
        missing: missing.to_vec(),
        ..Draft::default()
    };
    Some((share, draft))
}

/// Page faults that take no memory: an emulated system call, a guard page. Where memory is taken its functions have a part of their own. And
/// pages that are given back while nobody takes or unmaps any: those are of files.
fn is_no_churn(case: &Case<'_>, all: &Hits) -> bool {
    /// Of what both together have. Ours.
    const ENTRY_ALONE: f64 = 0.9;
    let Some(profile) = &case.observed.profile else { return false };
    let of = |family| profile.counts(family, &[], all, case.windows()).family as f64;
    of(Family::FaultEntry) >= ENTRY_ALONE * of(Family::FlatChurn) || of(Family::Churn) == 0.0
}

/// Where most of a profile is not listed (the first lines of every process, say): the part of what is, where that is nearly all of it.
fn of_what_is_listed(case: &Case<'_>, named: &ProfileRule, all: &Hits) -> Option<f64> {
    /// So much has to be left out before a part of the rest means anything. Ours.
    const MOSTLY_LEFT_OUT: f64 = 0.5;
    /// More than half of what somebody chose to show. Ours.
    const MOST: f64 = 0.5;
    /// A single line is no choice.
    const FEWEST: f64 = 0.03;
    let profile = case.observed.profile.as_ref()?;
    let unlisted = profile.not_listed();
    let counts = profile.counts(named.in_a_profile(case), named.not, all, case.windows());
    let listed = 1.0 - unlisted;
    let part = counts.share() / listed.max(1e-9);
    (unlisted >= MOSTLY_LEFT_OUT && listed >= FEWEST && part >= MOST).then_some(part.min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_is_of_a_rule_that_asks_for_stacks() {
        for named in NAMED {
            assert!(rules::ALL.iter().any(|rule| rule.id == named.rule), "{}", named.rule);
        }
    }
}

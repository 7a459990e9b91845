//! What tasks that were held up name, where the rest of what a rule asks for is not known.
//!
//! A log of the kernel tells of tasks that did not get on for two minutes, and of the functions they were in. Nobody waits so long for
//! memory on a host that is well, so what they were in has a name; how often it happens, and to whom it does for less, is not known: it is
//! found with low confidence. A trace tells of every stall of the kinds that were traced: there it counts what part of its time a thread lost.
//! What was seen and speaks against a rule keeps it undecided.

use super::answer::Answer;
use super::case::{Case, Draft, Verdict, said};
use super::document::{Confidence, Participant, Quantity, Severity, Tier};
use super::observed::{Hits, Missing};
use super::stalls::{Stalled, in_words, source_of};
use super::{rules, words};
use crate::import::{Kind, ON_CPU};
use crate::recording::StallKind;

/// What names a rule, and the words for it. Compaction is a storm where a task never left the CPU for it.
const NAMED: [(&str, StallKind, &str); 7] = [
    ("compaction-storm", StallKind::Compaction, "compacting memory"),
    ("compaction-stalls", StallKind::Compaction, "compacting memory"),
    ("direct-reclaim-stalls", StallKind::DirectReclaim, "freeing memory for an allocation"),
    ("memcg-limit-thrash", StallKind::CgroupReclaim, "freeing memory within the limit of a control group"),
    ("dirty-throttling", StallKind::DirtyBalance, "being held back as a writer"),
    ("swap-thrash", StallKind::SwapIn, "waiting for memory from swap"),
    ("mmap-lock-contention", StallKind::MapLock, "waiting for the map of memory of a process"),
];

/// The same for traces, in which compaction has not to take the CPU of the host.
const TRACED: [(&str, StallKind, &str); 4] = [
    ("direct-reclaim-stalls", StallKind::DirectReclaim, "freeing memory for its allocations"),
    ("compaction-stalls", StallKind::Compaction, "compacting memory"),
    ("memcg-limit-thrash", StallKind::CgroupReclaim, "freeing memory of its control group"),
    ("dirty-throttling", StallKind::DirtyBalance, "being held back as a writer"),
];

/// Of its time in a trace a thread is held up for at least so much, and so often. Ours.
const TRACED_PART: f64 = 0.05;
/// Of so much of it twice is enough.
const TRACED_MUCH: f64 = 0.25;
const TRACED_TIMES: u64 = 5;

/// Where nothing says how often it comes: one in ten takes so many seconds. Freeing what an allocation asks for takes tenths of a millisecond. Ours.
const UNTIMED_PART: f64 = 0.9;
const UNTIMED_LENGTH: f64 = 0.005;

/// One that is held up for less may be one of many such moments, in seconds. Ours.
const LONG: f64 = 5.0;

/// A verdict, or in its place what the tasks that were held up name.
pub(super) fn name(verdict: Verdict, case: &Case<'_>) -> Verdict {
    let Verdict::NotDecided { missing, evidence, .. } = &verdict else { return verdict };
    let denies = evidence.iter().any(|line| line.holds == Some(false));
    // Beside a log of the kernel it is not known which of the two told a stall.
    let has = |kind: Kind| case.observed.tools.iter().any(|tool| tool == kind.word());
    if case.observed.is_import && has(Kind::TraceEvents) && !has(Kind::KernelLog) {
        return if denies { verdict } else { traced(case, missing).unwrap_or(verdict) };
    }
    let named = NAMED.iter().find(|(rule, ..)| *rule == case.rule.id).filter(|_| case.observed.is_import && !denies);
    let Some((_, kind, what)) = named else { return verdict };
    let all = Hits::always(Answer::Yes, case.windows().count);
    let Some(stalled) = case.stalled(*kind, &all) else { return verdict };
    if case.rule.id == "compaction-storm" && !stalled.outcomes.iter().any(|(outcome, _)| outcome == ON_CPU) {
        return verdict;
    }
    let longest = stalled.durations.longest() as f64 * 1e-9;
    // Stacks that somebody had printed say that it is so now, and nothing of how long.
    let is_seen = longest < LONG && stalled.seen > 0;
    if longest < LONG && !is_seen {
        return verdict;
    }
    let tasks = if is_seen { stalled.seen } else { stalled.durations.count() };
    let source = source_of(*kind);
    let mut shown = vec![said(&source, "how often", Some(tasks as f64), Quantity::Number)];
    if !is_seen {
        shown.insert(0, said(&source, "the longest, at least", Some(longest), Quantity::Seconds));
    }
    let seen = evidence.iter().filter(|line| line.value.is_some() && line.source != source);
    shown.extend(seen.cloned());
    let of = format!("{} by {}", if is_seen { "tasks held up" } else { "time held up" }, in_words(*kind));
    let who = if is_seen { &stalled.seen_who } else { &stalled.who };
    let who = who.iter().map(|share| Participant {
        name: if share.comm.is_empty() { "a process without a name".to_owned() } else { share.comm.clone() },
        pid: share.pid.filter(|pid| *pid != 0),
        share: Some(share.share),
        of: of.clone(),
    });
    let names = if tasks == 1 { "A task".to_owned() } else { format!("Tasks, {} times,", words::number(tasks as f64)) };
    let verb = if tasks == 1 { "was" } else { "were" };
    let summary = if is_seen {
        let names =
            if tasks == 1 { "A task was".to_owned() } else { format!("{} tasks were", words::number(tasks as f64)) };
        format!("{names} {what} when its stack was printed. For how long, and how often, that does not say.")
    } else {
        format!(
            "{names} {verb} held up for {} and more in {what}. A log of the kernel says neither how often that happens for less nor why.",
            words::seconds(longest)
        )
    };
    Verdict::Found(Box::new(Draft {
        summary,
        other: (case.rule.id == "compaction-stalls").then_some((case.rule.title, rules::WAITS)),
        at_least: Some(if is_seen { Severity::Low } else { Severity::Medium }),
        confidence: Some(Confidence::Low),
        tiers: vec![Tier::Stalls],
        hits: all,
        who: who.collect(),
        evidence: shown,
        missing: missing.clone(),
        ..Draft::default()
    }))
}

/// What a trace names: a kind of stall that takes much of a thread's time.
fn traced(case: &Case<'_>, missing: &[Missing]) -> Option<Verdict> {
    let (_, kind, what) = TRACED.iter().find(|(rule, ..)| *rule == case.rule.id)?;
    let all = Hits::always(Answer::Yes, case.windows().count);
    let stalled = case.stalled(*kind, &all)?;
    if stalled.coverage.seconds <= 0.0 {
        return case.observed.without_time().and_then(|_| untimed(case, missing, &stalled, *kind, what));
    }
    let part = (stalled.worst_process_seconds / stalled.coverage.seconds).min(1.0);
    let times = stalled.durations.count();
    let times_enough = if part >= TRACED_MUCH { 2 } else { TRACED_TIMES };
    if part < TRACED_PART || stalled.worst_process_times < times_enough {
        return None;
    }
    let source = source_of(*kind);
    let seconds = |nanoseconds: u64| nanoseconds as f64 * 1e-9;
    let shown = vec![
        said(&source, "of the time, the thread that was held up most", Some(part), Quantity::Fraction),
        said(&source, "how often", Some(times as f64), Quantity::Number),
        said(&source, "the longest", Some(seconds(stalled.durations.longest())), Quantity::Seconds),
    ];
    Some(Verdict::Found(Box::new(Draft {
        summary: format!(
            "A thread spent {} of the trace {what}; all threads together were held up by it {} times, for {} in all.",
            words::percent(part),
            words::number(times as f64),
            words::seconds(seconds(stalled.durations.total())),
        ),
        at_least: Some(if part >= 0.2 { Severity::Medium } else { Severity::Low }),
        confidence: Some(Confidence::Medium),
        tiers: vec![Tier::Stalls],
        who: case.who_stalled(&stalled, *kind),
        evidence: shown,
        missing: missing.to_vec(),
        hits: all,
        ..Draft::default()
    })))
}

/// What rows name that have lengths and no times (`drsnoop`, `compactsnoop` without `-T`): that it is often long.
fn untimed(case: &Case<'_>, missing: &[Missing], stalled: &Stalled, kind: StallKind, what: &str) -> Option<Verdict> {
    let times = stalled.durations.count();
    let long = stalled.durations.quantile(UNTIMED_PART).map_or(0.0, |nanoseconds| nanoseconds as f64 * 1e-9);
    if times < TRACED_TIMES || long < UNTIMED_LENGTH {
        return None;
    }
    let source = source_of(kind);
    let longest = stalled.durations.longest() as f64 * 1e-9;
    Some(Verdict::Found(Box::new(Draft {
        summary: format!(
            "Programs were held up {} times by {what}, one in ten for about {} or more, the longest for {}. What part of anybody's time that is the \
             listing does not say.",
            words::number(times as f64),
            words::seconds(long),
            words::seconds(longest),
        ),
        at_least: Some(Severity::Low),
        confidence: Some(Confidence::Low),
        tiers: vec![Tier::Stalls],
        who: case.who_stalled(stalled, kind),
        evidence: vec![
            said(&source, "how often", Some(times as f64), Quantity::Number),
            said(&source, "one in ten lasts about, or longer", Some(long), Quantity::Seconds),
            said(&source, "the longest", Some(longest), Quantity::Seconds),
        ],
        missing: missing.to_vec(),
        hits: Hits::always(Answer::Yes, case.windows().count),
        ..Draft::default()
    })))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_is_of_a_rule() {
        for (rule, ..) in NAMED.into_iter().chain(TRACED) {
            assert!(rules::ALL.iter().any(|known| known.id == rule), "{rule}");
        }
    }
}

//! What is wrong, from what was recorded: named causes with evidence, what was ruled out, what to change first, and how to
//! find out whether it helped.
//!
//! [`observed`] folds a recording into windows; [`families`] and [`stalls`] say what its stacks and stalls show, and
//! [`processes`] who used most; each file of [`rules`] declares one thing that can be wrong and judges it with the tools of
//! [`case`]; [`by_profile`] and [`by_stalls`] name what a profile or a log of the kernel shows where the rest is missing; [`diagnose`] asks them all.

mod activity;
pub mod answer;
mod by_profile;
mod by_stalls;
pub mod case;
pub mod coverage;
mod deciding;
pub mod document;
pub mod families;
mod huge_faults;
pub mod observed;
pub mod processes;
pub mod proposal;
mod propose;

pub mod reference;
mod relations;
pub mod rule;
pub mod rules;
pub mod stalls;
pub mod words;

pub use answer::Answer;
pub use document::{
    Activity, CAVEAT, Confidence, Cost, Diagnosis, Evidence, Finding, MissingView, NotDecided, NotFound, Occurrence,
    RuledOut, SCHEMA, Severity, Stretch, Tier,
};
pub use observed::Observed;
pub use proposal::Proposal;

/// What rules ask a recording for.
pub use crate::counter as signal;
use crate::recording::SamplingEvent;
use case::{Case, Draft, Verdict};
use document::{ObservedView, TierView};
use jiff::Timestamp;
use observed::{Hits, Missing};
use rule::Rule;
use std::cmp::Reverse;

/// Stretches of a finding that are listed, two at least: in a recording of days a symptom can come and go a thousand times.
const MOST_STRETCHES: usize = 100;

/// A part from which on something is severe, and one from which on it matters. Ours.
const SEVERE: f64 = 0.25;
const NOTEWORTHY: f64 = 0.05;

/// Asks every rule.
#[must_use]
pub fn diagnose(observed: &Observed, subject: &str) -> Diagnosis {
    let mut judged: Vec<(&'static Rule, Verdict)> = Vec::with_capacity(rules::ALL.len());
    let mut found: Vec<&'static str> = Vec::new();
    for rule in rules::ALL {
        let case = Case { observed, rule, found: &found };
        let named = by_stalls::name(by_profile::name((rule.judge)(&case), &case), &case);
        let verdict = rules::says_for_what(&case, named);
        if matches!(verdict, Verdict::Found(_)) {
            found.push(rule.id);
        }
        judged.push((rule, verdict));
    }
    let mut findings = Vec::new();
    let mut not_found = Vec::new();
    let mut not_decided = Vec::new();
    for (rule, verdict) in &judged {
        let (id, title) = (rule.id.to_owned(), rule.title.to_owned());
        match verdict {
            Verdict::Found(draft) => findings.push(finding(rule, draft, &judged, observed)),
            Verdict::NotFound(because) if is_too_short(observed, rule) => not_decided.push(NotDecided {
                id,
                title,
                missing: Vec::new(),
                needs_seconds: Some(rule.lasts),
                evidence: because.clone(),
            }),
            Verdict::NotFound(because) => not_found.push(NotFound { id, title, because: because.clone() }),
            Verdict::NotDecided { missing, needs_seconds, evidence } => not_decided.push(NotDecided {
                id,
                title,
                missing: views(missing),
                needs_seconds: *needs_seconds,
                evidence: evidence.clone(),
            }),
        }
    }
    // What was found comes before what is to be known of how it was measured.
    let order = |finding: &Finding| (Reverse(finding.severity), finding.id == CAVEAT, Reverse(finding.confidence));
    findings.sort_by_key(order);
    relations::relate(&mut findings, &judged);
    let (schema, observed_view) = (SCHEMA.to_owned(), observed_view(observed, subject));
    let notes = notes(observed, &findings);
    Diagnosis { schema, observed: observed_view, findings, not_found, not_decided, notes }
}

/// Whether a recording is so short that what it does not show may be there all the same. A listing is as long as somebody cared to paste.
fn is_too_short(observed: &Observed, rule: &Rule) -> bool {
    /// Seconds. A job that takes no longer is over before most of what memory management does to it.
    const SHORTEST: f64 = 3.0;
    !observed.is_import && rule.lasts > 0.0 && observed.windows.seconds() < SHORTEST
}

/// A guest without processor counters has only the timer: that is so on every healthy one, and no finding.
fn notes(observed: &Observed, findings: &[Finding]) -> Vec<String> {
    let by_timer = observed.profile.as_ref().is_some_and(|profile| profile.event() == Some(&SamplingEvent::CpuClock));
    let note = "Stacks were sampled by a timer (cpu-clock), as where the processor's counters are not to be had: code that \
                runs with interrupts off is charged to where they are allowed again.";
    let is_guarded = findings
        .iter()
        .flat_map(|finding| finding.change.iter().chain(&finding.alternatives))
        .any(|change| change.apply == Some(proposal::Command::Guard));
    let of_a_stream = if is_guarded { None } else { rules::stream_note(observed) };
    let by_timer = by_timer.then(|| note.to_owned());
    by_timer
        .into_iter()
        .chain(rules::growth_note(observed))
        .chain(rules::cpu_note(observed))
        .chain(of_a_stream)
        .collect()
}

fn finding(rule: &Rule, draft: &Draft, judged: &[(&'static Rule, Verdict)], observed: &Observed) -> Finding {
    let (first, length) = draft.hits.longest(|answer| answer == Answer::Yes);
    let has_beginning = length > 0 && tells_when(&draft.hits, observed);
    let since = has_beginning.then(|| observed.windows.from(first)).and_then(|at| instant(observed, at));
    let rivals = judged.iter().filter(|(other, _)| rule.rivals.contains(&other.id));
    let ruled_out = rivals.filter_map(|(other, verdict)| match verdict {
        Verdict::NotFound(because) => {
            Some(RuledOut { id: other.id.to_owned(), title: other.title.to_owned(), because: because.clone() })
        }
        _ => None,
    });
    let mut changes: Vec<Proposal> = Vec::new();
    for change in draft.changes.iter().cloned().chain(propose::proposals(rule, observed, &draft.hits)) {
        // Two steps can come to the same on this host: the one that stands first says why.
        let is_there = |other: &Proposal| !change.settings.is_empty() && other.settings == change.settings;
        if !changes.iter().any(is_there) {
            changes.push(change);
        }
    }
    // What a command of ours does comes first; advice alone is better than nothing.
    let is_done_by_us = |change: &Proposal| !change.settings.is_empty() || change.apply.is_some();
    let to_try = changes.iter().position(is_done_by_us).or((!changes.is_empty()).then_some(0));
    let not_told = propose::settings_not_told(&changes, observed);
    let change = to_try.map(|at| changes.remove(at));
    // What is sure needs no further recording, and a host that can be recorded is better recorded.
    let is_open = observed.is_import && draft.confidence.unwrap_or(Confidence::Low) == Confidence::Low;
    let decide = is_open.then(|| deciding::command(rule.id, observed)).flatten().map(str::to_owned);
    let mut counterindications: Vec<String> = draft.watch.clone();
    if observed.free_goes_back {
        counterindications.extend(propose::keeps_more_free(change.iter().chain(&changes)));
    }
    if !draft.without_counterindications {
        counterindications.extend(rule.counterindications.iter().map(|text| (*text).to_owned()));
    }
    let (title, meaning) = draft.other.unwrap_or((rule.title, rule.meaning));
    Finding {
        id: rule.id.to_owned(),
        title: title.to_owned(),
        summary: draft.summary.clone(),
        marks: draft.marks.iter().map(|mark| (*mark).to_owned()).collect(),
        meaning: meaning.to_owned(),
        severity: severity(draft),
        cost: draft.cost.clone(),
        confidence: draft.confidence.unwrap_or(Confidence::Low),
        tiers: draft.tiers.clone(),
        since,
        held: held(&draft.hits, observed),
        seconds: draft.hits.seconds(&observed.windows),
        of_seconds: observed.windows.seconds(),
        who: draft.who.clone(),
        follows_from: Vec::new(),
        leads_to: Vec::new(),
        evidence: draft.evidence.clone(),
        missing: draft.missing.iter().chain(&not_told).map(view).collect(),
        ruled_out: ruled_out.collect(),
        decide,
        change,
        alternatives: changes,
        counterindications,
        docs: rule.docs.iter().map(|text| (*text).to_owned()).collect(),
    }
}

/// Whether it is known when something held: it was judged window by window, and there is more than one reading, which has no time.
fn tells_when(hits: &Hits, observed: &Observed) -> bool {
    !hits.is_whole && observed.ticks != 1
}

/// When it held, window by window. `None`: that is not known, or it never did.
fn held(hits: &Hits, observed: &Observed) -> Option<Occurrence> {
    let runs = hits.runs(|answer| answer == Answer::Yes);
    let (first, length) = runs.last().copied().filter(|_| tells_when(hits, observed))?;
    let windows = &observed.windows;
    let after = first + length;
    let listed = listed(&runs);
    let seconds = |at: u64| at.saturating_sub(windows.start) as f64 * 1e-9;
    let stretch = |(first, length): &(usize, usize)| {
        let (from, to) = (windows.from(*first), windows.to(first + length - 1));
        Stretch {
            from: instant(observed, from),
            to: instant(observed, to),
            from_seconds: seconds(from),
            to_seconds: seconds(to),
        }
    };
    let at_end = hits.answers.get(after).copied().unwrap_or(Answer::Yes);
    let ended = windows.end.saturating_sub(windows.to(after - 1)) as f64 * 1e-9;
    Some(Occurrence {
        stretches: listed.iter().map(stretch).collect(),
        more_stretches: (runs.len() - listed.len()) as u64,
        at_end,
        ended_seconds_ago: (at_end != Answer::Yes).then_some(ended),
    })
}

/// The first and the last, which tell since and until when, and the longest between them.
fn listed(runs: &[(usize, usize)]) -> Vec<(usize, usize)> {
    let [first, between @ .., last] = runs else { return runs.to_vec() };
    let mut longest = between.to_vec();
    longest.sort_by_key(|(first, length)| (Reverse(*length), *first));
    longest.truncate(MOST_STRETCHES - 2);
    longest.extend([*first, *last]);
    longest.sort_unstable();
    longest
}

fn severity(draft: &Draft) -> Severity {
    let Cost { cpu_share, stalled_share, memory_share } = &draft.cost;
    let most = [cpu_share, stalled_share, memory_share].into_iter().flatten().copied().fold(0.0, f64::max);
    let by_cost = if most >= SEVERE {
        Severity::High
    } else if most >= NOTEWORTHY {
        Severity::Medium
    } else {
        Severity::Low
    };
    by_cost.max(draft.at_least.unwrap_or(Severity::Low))
}

fn views(missing: &[Missing]) -> Vec<MissingView> {
    missing.iter().map(view).collect()
}

fn view(missing: &Missing) -> MissingView {
    MissingView { what: missing.what.clone(), why: missing.why.clone() }
}

/// An instant of the recording as people write it; `None` where there is no clock, or where it says nothing that is an instant.
fn instant(observed: &Observed, at: u64) -> Option<String> {
    let nanoseconds = i128::from(at) + i128::from(observed.wall_offset?);
    let milliseconds = nanoseconds.div_euclid(1_000_000);
    let instant = Timestamp::from_millisecond(i64::try_from(milliseconds).ok()?).ok()?;
    // A listing with the time of day alone begins on the day from which seconds are counted.
    let has_date = milliseconds >= 24 * 3_600_000;
    Some(if has_date { format!("{instant:.0}") } else { instant.strftime("%H:%M:%S").to_string() })
}

fn observed_view(observed: &Observed, subject: &str) -> ObservedView {
    let has_samples = observed.ticks > 0;
    ObservedView {
        subject: subject.to_owned(),
        from: has_samples.then(|| instant(observed, observed.windows.start)).flatten(),
        to: has_samples.then(|| instant(observed, observed.windows.end)).flatten(),
        seconds: observed.windows.seconds(),
        samples: observed.ticks,
        profile_samples: observed.profile_samples(),
        window_seconds: observed.windows.width as f64 * 1e-9,
        tools: observed.tools.clone(),
        kernel: observed.kernel.clone(),
        cpus: observed.cpus(),
        memory_bytes: observed.memory(),
        activity: activity::of(observed),
        command: None,
        tiers: vec![
            TierView {
                tier: Tier::Counters,
                recorded: has_samples,
                words: if has_samples { "kernel counters and settings" } else { "there is no sample" }.to_owned(),
            },
            stacks_view(observed),
            TierView {
                tier: Tier::Stalls,
                recorded: observed.stalls.is_some(),
                words: if observed.stalls.is_some() { "how long tasks were held up" } else { "not recorded" }
                    .to_owned(),
            },
            TierView { tier: Tier::Hardware, recorded: false, words: "not recorded".to_owned() },
        ],
    }
}

fn stacks_view(observed: &Observed) -> TierView {
    let words = match &observed.profile {
        None => "not recorded".to_owned(),
        Some(profile) => {
            let event = profile.event().map_or("an unknown event", |event| event.word());
            let depth = if profile.is_flat() { "functions without their callers" } else { "stacks" };
            format!("{depth}, sampled by {event}")
        }
    };
    TierView { tier: Tier::Stacks, recorded: observed.profile.is_some(), words }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_symptom_that_came_and_went_the_first_the_last_and_the_longest_stretches_are_listed() {
        let runs: Vec<(usize, usize)> = (0..300).map(|at| (at * 10, if at % 5 == 0 { 4 } else { 1 })).collect();
        let listed = listed(&runs);
        assert_eq!(listed.len(), MOST_STRETCHES);
        assert_eq!((listed.first(), listed.last()), (runs.first(), runs.last()));
        assert!(listed.windows(2).all(|pair| pair[0] < pair[1]), "in order of time: {listed:?}");
        assert_eq!(listed.iter().filter(|(_, length)| *length == 4).count(), 60, "all of the long ones");
        assert_eq!(super::listed(&runs[..7]), runs[..7]);
    }

    #[test]
    fn the_caveat_is_a_rule() {
        assert!(rules::ALL.iter().any(|rule| rule.id == CAVEAT));
    }
}

//! What makes the numbers themselves less true than they look.

use super::super::document::CAVEAT;
use super::super::rule::Step;
use super::prelude::*;
use crate::recording::{Gap, GapReason};

pub(super) const RULE: Rule = Rule {
    id: CAVEAT,
    title: "Caveats of the measurement",
    meaning: "Something about how this was measured changes what the other findings can say. Read them with it in mind.",
    thresholds: &[
        Threshold::at_least("time taken by the hypervisor", 0.10, Fraction),
        Threshold::above("samples lost", 0.01, Fraction),
        Threshold::at_least("samples that came late", 0.05, Fraction),
        Threshold::at_least("one core, by the recorder", 0.02, Fraction),
        Threshold::at_least("time without samples", 0.05, Fraction),
    ],
    lasts: 0.0,
    may_be_shorter: true,
    needs: &[&signal::CPU_STEAL, &signal::OWN_CPU],
    tiers: &[Tier::Counters],
    rivals: &[],
    changes: &[
        Step::advice(
            "take the reading twice, a minute apart, with the date above each: for i in 1 2; do date; cat /proc/vmstat /proc/meminfo; sleep \
             60; done > readings.txt",
        )
        .when("of a listing of one row, of two that lie close together, or whose time is not known", |observed, _| {
            observed.is_import && (is_of_a_moment(observed) || observed.without_time().is_some())
        }),
        Step::advice("take it for longer, and with less between the rows").when("of another listing", |observed, _| {
            observed.is_import && !is_of_a_moment(observed) && observed.without_time().is_none()
        }),
        Step::advice("record again when the host is quieter, or for longer; see what is said above")
            .when("of a recording", |observed, _| !observed.is_import),
    ],
    counterindications: &[],
    docs: &["Documentation/accounting/psi.rst", "docs/reference/recording.md"],
    judge,
};

/// Fewer samples than this show nothing of how long it is so.
const FEW_SAMPLES: u64 = 3;

/// Seconds between two readings from which on their differences say something of the host and not of an instant.
const FAR_APART: f64 = 30.0;

/// One reading, or two with next to no time between them.
fn is_of_a_moment(observed: &Observed) -> bool {
    observed.ticks < 2 || (observed.ticks < FEW_SAMPLES && observed.windows.seconds() < FAR_APART)
}

/// What perf stat counted over a run is a mean of that time, and no reading of an instant.
fn is_mean(observed: &Observed) -> bool {
    observed.is_import && observed.tools.len() == 1 && observed.tools.iter().all(|tool| tool == "perf-stat")
}

fn judge(case: &Case<'_>) -> Verdict {
    let observed = case.observed;
    let windows = case.windows();
    // A mark, and the sentence.
    let mut says: Vec<(&str, String)> = Vec::new();
    let mut evidence = Vec::new();
    let mut weigh =
        |name: &'static str, source: &str, value: Option<f64>, mark: &'static str, text: &dyn Fn(f64) -> String| {
            let (answer, line) = case.whole(name, source, value);
            if let (Answer::Yes, Some(value)) = (answer, value) {
                says.push((mark, text(value)));
            }
            evidence.push(line);
        };
    let steal = observed.rate(&signal::CPU_STEAL).share_of(&observed.cpu_time()).mean_of_all(windows);
    weigh("time taken by the hypervisor", "stat steal", steal, "CPU time stolen", &|share| {
        format!("The hypervisor took {} of the CPU time: rates are lower than the work was.", words::percent(share))
    });
    let lost = observed.profile.as_ref().map(|profile| {
        let all = profile.counts(Family::LockSpin, &[], &Hits::default(), windows).all;
        profile.lost() as f64 / all.saturating_add(profile.lost()).max(1) as f64
    });
    weigh("samples lost", "stacks", lost, "stacks lost", &|share| {
        format!("{} of the stack samples were lost.", words::percent(share))
    });
    let late = (observed.ticks > 0).then(|| observed.late as f64 / observed.ticks as f64);
    weigh("samples that came late", "clock", late, "samples late", &|share| {
        format!(
            "{} of the samples came more than 50 ms late: the host was too busy to sample on time.",
            words::percent(share)
        )
    });
    let own = observed.growth(&signal::OWN_CPU).filter(|_| windows.seconds() > 0.0).map(|cpu| cpu / windows.seconds());
    weigh("one core, by the recorder", "self", own, "own cost", &|share| {
        format!("Recording took {} of one core.", words::percent(share))
    });
    let unseen = unseen(observed);
    weigh("time without samples", "gaps", Some(unseen), "gaps", &|share| {
        format!("{} of the time was not seen (suspended, late, or not written).", words::percent(share))
    });
    let is_off = |gap: &Gap| {
        gap.source.as_deref().is_some_and(|source| source.starts_with("psi_")) && gap.reason == GapReason::Missing
    };
    if observed.gaps.iter().any(is_off) && !observed.has(&signal::PSI_MEMORY_SOME) {
        let text = "Pressure (PSI) is off in this kernel: boot with psi=1 to see how long tasks wait.";
        says.push(("PSI off", text.to_owned()));
    }
    let mut changed: Vec<&str> = observed.settings.changes().map(|(name, ..)| name).collect();
    changed.dedup();
    if !changed.is_empty() {
        let text = format!("Settings changed while this was recorded: {}.", changed.join(", "));
        says.push(("settings changed", text));
    }
    if let Some(gap) = observed.without_time() {
        says.push(("time unknown", words::sentence(&gap.detail)));
    }
    if observed.ticks > 0 && observed.ticks < FEW_SAMPLES && !is_mean(observed) {
        let few = match observed.ticks {
            1 => "One reading says nothing of rates, and nothing of how long it is so.".to_owned(),
            _ if is_of_a_moment(observed) => format!("{} samples are very few.", observed.ticks),
            _ => "Two readings say what was between them on average, and nothing of how it came and went.".to_owned(),
        };
        says.push(("few samples", few));
    }
    if says.is_empty() {
        return if observed.ticks == 0 {
            let missing = vec![Missing { what: "samples".to_owned(), why: "there are none".to_owned() }];
            Verdict::NotDecided { missing, needs_seconds: None, evidence }
        } else {
            Verdict::NotFound(evidence.into_iter().filter(|line| line.value.is_some()).collect())
        };
    }
    let (marks, sentences): (Vec<&str>, Vec<String>) = says.into_iter().unzip();
    Verdict::Found(Box::new(Draft {
        summary: sentences.join(" "),
        marks,
        confidence: Some(Confidence::Medium),
        tiers: vec![Tier::Counters],
        hits: Hits::always(Answer::Yes, windows.count),
        evidence: evidence.into_iter().filter(|line| line.holds == Some(true)).collect(),
        ..Draft::default()
    }))
}

/// The part of the recording in which nothing at all was seen.
fn unseen(observed: &Observed) -> f64 {
    let windows = &observed.windows;
    let length = |gap: &Gap| {
        let to = gap.to.unwrap_or(windows.end).min(windows.end);
        to.saturating_sub(gap.from.max(windows.start)) as f64 * 1e-9
    };
    let all: f64 = observed.gaps.iter().filter(|gap| gap.source.is_none()).map(length).sum();
    if windows.seconds() > 0.0 { (all / windows.seconds()).min(1.0) } else { 0.0 }
}

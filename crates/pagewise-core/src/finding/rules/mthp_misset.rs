//! Sizes of huge pages that are set against each other, or never to be had.

use super::super::huge_faults::{as_large, is_on};
use super::super::observed::label;
use super::super::propose::set;
use super::super::rule::{SettingTarget, Step};
use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "mthp-misset",
    title: "A size of huge pages is set wrongly",
    meaning: "Since 6.8 each size of huge page has a switch of its own. A size that says always ignores the global never; \
              and a size that is wanted but seldom to be had costs an attempt at each fault.",
    thresholds: &[
        Threshold::at_least("faults that did not get the size", 0.5, Fraction),
        Threshold::at_least("faults that wanted the size", 1.0, PerSecond),
        Threshold::at_least("sizes that ignore the global switch", 1.0, Number)
            .documented("Documentation/admin-guide/mm/transhuge.rst (6.8), hugepages-<size>kB/enabled"),
    ],
    lasts: THREE_WINDOWS,
    may_be_shorter: true,
    needs: &[&signal::MTHP_ALLOC, &signal::MTHP_FALLBACK],
    tiers: &[Tier::Counters],
    rivals: &["fragmentation"],
    changes: &[Step::set(
        "mthp[64k].enabled",
        SettingTarget::Worked(as_large, "what the 2 MiB size has"),
        "a fault that gets no 2 MiB tries for 64 KiB, which are easier to get",
    )
    .after_restart()
    .when("where the 2 MiB size is on and 64 KiB are not", |observed, _| {
        is_on(observed, "mthp[2048k].enabled") && !is_on(observed, "mthp[64k].enabled")
    })],
    counterindications: &["A size that follows the global switch (inherit) changes with it from then on."],
    docs: &["Documentation/admin-guide/mm/transhuge.rst, multi-size THP"],
    judge,
};

/// `mthp[64k].enabled` of the size `64kB`.
fn tunable(size: &str) -> String {
    format!("mthp[{}k].enabled", size.trim_end_matches("kB"))
}

fn judge(case: &Case<'_>) -> Verdict {
    let observed = case.observed;
    let windows = case.windows();
    let global = observed.settings.value("thp.enabled");
    let is_against = |name: &&str| {
        name.ends_with("].enabled") && observed.settings.value(name) == Some("always") && global == Some("never")
    };
    let against: Vec<&str> = observed.settings.names("mthp[").filter(is_against).collect();
    let number = observed.settings.are_known().then_some(against.len() as f64);
    let (ignores, ignored) = case.whole("sizes that ignore the global switch", "settings mthp[*].enabled", number);
    let fallback = observed.each_rate(&signal::MTHP_FALLBACK);
    let alloc = observed.each_rate(&signal::MTHP_ALLOC);
    if fallback.is_empty() && against.is_empty() && observed.settings.names("mthp[").next().is_none() {
        return if observed.settings.are_known() {
            case.absent("sizes of huge pages", Some(0.0), Number)
        } else {
            case.decide(
                case.lasting_hits(
                    Track::unknown(windows.count, observed.missing(&signal::MTHP_FALLBACK)).hits(|_| true),
                ),
                Vec::new(),
            )
        };
    }
    let mut refused: Vec<(&str, Clause, Hits)> = Vec::new();
    for (labels, failed) in &fallback {
        let Some((_, got)) = alloc.iter().find(|(other, _)| other == labels) else { continue };
        let wanted = failed.plus(got);
        let part = case.clause("faults that did not get the size", "thp anon_fault_fallback", failed.share_of(&wanted));
        let often = case.clause("faults that wanted the size", "thp anon_fault_*", wanted);
        let hits = part.hits.and(&often.hits);
        if case.lasting_hits(hits.clone()).answer == Answer::Yes {
            refused.push((label(labels, "size").unwrap_or(labels), part, hits));
        }
    }
    let any = if refused.is_empty() { Answer::No } else { Answer::Yes };
    // Settings that are not known leave open only what they say.
    let answer = if any == Answer::Yes { Answer::Yes } else { ignores };
    let hits = refused.first().map(|(_, _, hits)| hits.clone());
    let mut symptom = case.lasting_hits(Hits::always(answer, windows.count));
    symptom.evidence = vec![ignored];
    symptom.evidence.extend(refused.iter().map(|(_, part, hits)| part.evidence(hits, windows)));
    if answer == Answer::Unknown {
        symptom.hits.missing.push(Missing { what: "settings".to_owned(), why: "none is recorded".to_owned() });
    }
    case.decide(symptom, Vec::new()).found(|draft| {
        let mut says = Vec::new();
        for name in &against {
            says.push(format!("{name} is always and ignores that thp.enabled is never"));
            let why = "the size follows thp.enabled again";
            draft.changes.extend(set(name, "inherit", why, true, observed));
        }
        for (size, part, hits) in &refused {
            let share = part.value(hits, windows).map_or_else(|| "most".to_owned(), words::percent);
            says.push(format!("{share} of the faults that wanted {size} did not get it"));
            let name = tunable(size);
            let has = |name: &str| observed.settings.value(name);
            if has(&name) == Some("always") || (has(&name) == Some("inherit") && global == Some("always")) {
                let why = "only programs that ask try for this size";
                draft.changes.extend(set(&name, "madvise", why, true, observed));
            }
        }
        if let Some(hits) = hits {
            draft.hits = hits;
        }
        draft.summary = format!("{}.", words::sentence(&says.join("; ")));
    })
}

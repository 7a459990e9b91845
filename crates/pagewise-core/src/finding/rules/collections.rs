//! What the log of a JVM says of its collections, for the two rules that read it.

use super::prelude::*;

/// All of them together, in seconds.
pub(super) struct Collections {
    pub(super) user: f64,
    pub(super) system: f64,
    /// How long they took.
    pub(super) elapsed: f64,
}

impl Collections {
    /// `None`: there is no such log.
    pub(super) fn of(look: &Look) -> Option<Collections> {
        Some(Collections {
            user: look.growth(&signal::COLLECTION_USER)?,
            system: look.growth(&signal::COLLECTION_SYSTEM)?,
            elapsed: look.growth(&signal::COLLECTION_ELAPSED)?,
        })
    }
}

/// What both thresholds make of them, unless one of the findings that `explain` it is there. `None`: one does not hold, and a log that is well
/// says nothing of the rest of the host.
pub(super) fn found(
    case: &Case<'_>,
    explain: &[&str],
    weighed: [(Answer, Evidence); 2],
    tell: impl FnOnce(&mut Draft),
) -> Option<Verdict> {
    if weighed.iter().any(|(answer, _)| *answer != Answer::Yes) {
        return None;
    }
    if let Some(id) = case.found.iter().find(|id| explain.contains(id)) {
        return Some(Verdict::explained_by(id));
    }
    let mut symptom = case.lasting_hits(Hits::always(Answer::Yes, case.windows().count));
    symptom.evidence = weighed.into_iter().map(|(_, line)| line).collect();
    Some(case.decide(symptom, Vec::new()).found(|draft| {
        draft.confidence = Some(Confidence::Low);
        draft.at_least = Some(Severity::Medium);
        tell(draft);
    }))
}

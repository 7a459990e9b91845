//! How the tests ask.

use pagewise_core::finding::{self, Diagnosis, Finding, NotDecided, Observed, Proposal};
use pagewise_core::recording::Recorded;

pub(crate) fn ask(recorded: &impl Recorded<Error = std::convert::Infallible>) -> Diagnosis {
    let Ok(observed) = Observed::of(recorded);
    finding::diagnose(&observed, "a test")
}

pub(crate) fn found<'a>(diagnosis: &'a Diagnosis, id: &str) -> Option<&'a Finding> {
    diagnosis.findings.iter().find(|finding| finding.id == id)
}

pub(crate) fn must_find(recorded: &impl Recorded<Error = std::convert::Infallible>, id: &str) -> Finding {
    let diagnosis = ask(recorded);
    let against = diagnosis.not_found.iter().find(|rule| rule.id == id);
    let open = diagnosis.not_decided.iter().find(|rule| rule.id == id);
    found(&diagnosis, id).cloned().unwrap_or_else(|| panic!("{id} must be found: {against:#?} {open:#?}"))
}

pub(crate) fn must_not_find(recorded: &impl Recorded<Error = std::convert::Infallible>, id: &str) {
    let diagnosis = ask(recorded);
    assert!(diagnosis.not_found.iter().any(|rule| rule.id == id), "{id} must be denied: {diagnosis:#?}");
}

pub(crate) fn must_not_decide(recorded: &impl Recorded<Error = std::convert::Infallible>, id: &str) -> NotDecided {
    let diagnosis = ask(recorded);
    let open = diagnosis.not_decided.iter().find(|rule| rule.id == id);
    open.cloned().unwrap_or_else(|| panic!("{id} must stay open: {diagnosis:#?}"))
}

/// Steps as `tunable=value`, with a comma where two change together, the one to try first in front. Advice is left out.
pub(crate) fn steps(finding: &Finding) -> Vec<String> {
    let words = |step: &Proposal| {
        let settings = step.settings.iter().map(|one| format!("{}={}", one.tunable, one.to));
        settings.collect::<Vec<String>>().join(",")
    };
    let all = finding.change.iter().chain(&finding.alternatives).map(words);
    all.filter(|step| !step.is_empty()).collect()
}

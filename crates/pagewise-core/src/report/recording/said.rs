//! Findings on the page of a recording: the words of the terminal's, a paragraph each.

use super::html::Said;
use crate::finding::document::{Diagnosis, Finding, Proposal, Severity};
use crate::report::findings::{capitalised, causes, effects, evidence_words, ruled_out, when, who};

/// Evidence on the page; `diagnose --json` has all.
const MOST_EVIDENCE: usize = 5;

/// What the page says: each finding, or that there is none.
#[must_use]
pub fn said(diagnosis: &Diagnosis) -> Vec<Said> {
    if diagnosis.findings.is_empty() {
        return vec![nothing(diagnosis)];
    }
    diagnosis.findings.iter().map(finding).collect()
}

fn nothing(diagnosis: &Diagnosis) -> Said {
    let open: Vec<&str> = diagnosis.not_decided.iter().map(|rule| rule.id.as_str()).collect();
    let mut text = vec![format!("{} things were looked for and are not there.", diagnosis.not_found.len())];
    if !open.is_empty() {
        text.push(format!("Could not be told from this recording: {}.", open.join(", ")));
    }
    Said {
        id: "nothing-found".to_owned(),
        title: "Nothing found".to_owned(),
        tone: "note".to_owned(),
        text,
        command: None,
    }
}

fn finding(finding: &Finding) -> Said {
    let mut text = vec![finding.summary.clone(), finding.meaning.clone()];
    let sure = format!("Severity {}, confidence {}", finding.severity.word(), finding.confidence.word());
    text.push(when(finding).map_or_else(|| format!("{sure}."), |when| format!("{sure}, {when}.")));
    if !finding.who.is_empty() {
        text.push(format!("Who: {}.", who(&finding.who)));
    }
    if !finding.follows_from.is_empty() {
        text.push(format!("Follows from {}.", causes(&finding.follows_from)));
    }
    if !finding.leads_to.is_empty() {
        text.push(format!("Leads to {}.", effects(&finding.leads_to)));
    }
    text.extend(finding.change.as_ref().map(|change| format!("Try first: {}", change_words(change))));
    text.extend(finding.alternatives.iter().map(|change| format!("If that is not enough: {}", change_words(change))));
    text.extend(finding.counterindications.iter().map(|words| format!("Watch out: {words}")));
    let evidence = finding.evidence.iter().filter(|line| line.value.is_some()).take(MOST_EVIDENCE);
    let evidence: Vec<String> = evidence.map(evidence_words).collect();
    if !evidence.is_empty() {
        text.push(format!("Evidence: {}.", evidence.join("; ")));
    }
    if !finding.ruled_out.is_empty() {
        text.push(format!("Not the cause: {}.", ruled_out(&finding.ruled_out)));
    }
    Said {
        id: finding.id.clone(),
        title: finding.title.clone(),
        tone: tone(finding.severity).to_owned(),
        text,
        command: finding.change.as_ref().and_then(|change| change.verify.first()).cloned(),
    }
}

fn change_words(change: &Proposal) -> String {
    let settings: Vec<String> = change
        .settings()
        .into_iter()
        .map(|(tunable, from, to)| format!("{tunable}: {} → {to}", from.unwrap_or("?")))
        .collect();
    if settings.is_empty() {
        return format!("{}.", change.words);
    }
    let (all, why) = (settings.join(" and "), capitalised(&change.words));
    format!("{all}. {why}. Takes effect {}.", change.takes_effect)
}

fn tone(severity: Severity) -> &'static str {
    match severity {
        Severity::High => "severe",
        Severity::Medium => "moderate",
        Severity::Low => "mild",
    }
}

//! Findings on the page of a recording: the words of the terminal's, each kind of them set apart.

use super::html::{FindingInWords, Item, Row};
use crate::finding::document::{Diagnosis, Finding, Severity};
use crate::finding::proposal::Proposal;
use crate::finding::words::sentence;
use crate::report::command_line::command_line;
use crate::report::findings::{arrow, causes, effects, evidence_words, ruled_out, when, who};

/// Evidence on the page; `diagnose --json` has all.
const MOST_EVIDENCE: usize = 5;

/// What the page says: each finding, or that there is none, and what is to be kept in mind.
#[must_use]
pub fn said(diagnosis: &Diagnosis) -> Vec<FindingInWords> {
    let mut said: Vec<FindingInWords> = diagnosis.findings.iter().map(finding).collect();
    if said.is_empty() {
        said.push(nothing(diagnosis));
    }
    let notes = diagnosis.notes.iter();
    said.extend(notes.map(|note| FindingInWords::note("note", "Note", note.clone())));
    said
}

fn nothing(diagnosis: &Diagnosis) -> FindingInWords {
    let open: Vec<&str> = diagnosis.not_decided.iter().map(|rule| rule.id.as_str()).collect();
    let text = format!("{} things are not there.", diagnosis.not_found.len());
    let mut said = FindingInWords::note("nothing-found", "Nothing found", text);
    if !open.is_empty() {
        said.text.push(format!("Could not be told from this recording: {}.", open.join(", ")));
    }
    said
}

fn finding(finding: &Finding) -> FindingInWords {
    let sure = format!("Severity {}, confidence {}", finding.severity.word(), finding.confidence.word());
    let sure = when(finding).map_or_else(|| format!("{sure}."), |when| format!("{sure}, {when}."));
    let mut rows = Vec::new();
    let mut add = |label: &str, items: Vec<Item>| {
        if !items.is_empty() {
            rows.push(Row { label: label.to_owned(), items });
        }
    };
    let some = |text: String, is_there: bool| if is_there { vec![Item::words(text)] } else { Vec::new() };
    add("Who", some(who(&finding.who), !finding.who.is_empty()));
    add("Follows from", some(causes(&finding.follows_from), !finding.follows_from.is_empty()));
    add("Leads to", some(effects(&finding.leads_to), !finding.leads_to.is_empty()));
    add("Try first", finding.change.iter().map(step).collect());
    add("If not enough", finding.alternatives.iter().map(step).collect());
    let proofs = finding.change.iter().flat_map(|change| &change.verify);
    add("Prove it", proofs.map(|proof| Item::command(command_line(proof))).collect());
    add("Watch out", finding.counterindications.iter().cloned().map(Item::words).collect());
    let evidence = finding.evidence.iter().filter(|line| line.value.is_some()).take(MOST_EVIDENCE);
    add("Evidence", evidence.map(|line| Item::words(evidence_words(line))).collect());
    add("Not the cause", some(ruled_out(&finding.ruled_out), !finding.ruled_out.is_empty()));
    FindingInWords {
        id: finding.id.clone(),
        title: finding.title.clone(),
        tone: tone(finding.severity).to_owned(),
        of: 0,
        text: vec![finding.summary.clone(), finding.meaning.clone(), sure],
        rows,
    }
}

fn step(change: &Proposal) -> Item {
    let settings: Vec<String> =
        change.settings.iter().map(|setting| arrow(change.scope, setting)).map(|(from, to)| from + &to).collect();
    let why = sentence(&change.words);
    let text = if settings.is_empty() {
        format!("{why}.")
    } else {
        format!("{}. {why}. Takes effect {}.", settings.join(" and "), change.takes_effect.words())
    };
    Item {
        text: Some(text),
        command: change.apply.as_ref().map(command_line),
        undo: change.undo.as_ref().map(command_line),
    }
}

fn tone(severity: Severity) -> &'static str {
    match severity {
        Severity::High => "severe",
        Severity::Medium => "moderate",
        Severity::Low => "mild",
    }
}

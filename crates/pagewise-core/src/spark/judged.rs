//! What a rule about Spark found, in the form of a diagnosis.

use super::conf::argument;
use crate::finding::document::{
    Activity, Compare, Confidence, Cost, Diagnosis, Evidence, Finding, MissingView, NotDecided, NotFound, ObservedView,
    OriginView, Quantity, SCHEMA, Severity, Tier, TierView,
};
use crate::finding::proposal::{ActsOn, Command, Proposal, ProposedSetting, TakesEffect};
use std::cmp::Reverse;

/// A thing that can be wrong, or can be advised.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rule<Of> {
    /// Stable.
    pub(super) id: &'static str,
    pub(super) title: &'static str,
    /// What it means.
    pub(super) meaning: &'static str,
    /// Where it is written down.
    pub(super) source: &'static str,
    pub(super) judge: fn(&Of) -> Verdict,
}

/// What a rule says.
#[derive(Clone, Debug)]
pub(super) enum Verdict {
    Found(Box<Draft>),
    NotFound(Vec<Evidence>),
    /// What was not to be had, and why.
    NotDecided(Vec<(String, String)>),
}

/// A finding before it has its form.
#[derive(Clone, Debug)]
pub(super) struct Draft {
    pub(super) severity: Severity,
    pub(super) confidence: Confidence,
    /// A sentence with the values that were seen.
    pub(super) summary: String,
    pub(super) evidence: Vec<Evidence>,
    pub(super) changes: Vec<Proposal>,
    pub(super) watch: Vec<String>,
}

impl Draft {
    pub(super) fn new(severity: Severity, summary: String) -> Draft {
        let (evidence, changes, watch) = (Vec::new(), Vec::new(), Vec::new());
        Draft { severity, confidence: Confidence::High, summary, evidence, changes, watch }
    }

    pub(super) fn sure(mut self, confidence: Confidence) -> Draft {
        self.confidence = confidence;
        self
    }

    pub(super) fn shown(mut self, evidence: impl IntoIterator<Item = Evidence>) -> Draft {
        self.evidence.extend(evidence);
        self
    }

    pub(super) fn change(mut self, change: Proposal) -> Draft {
        self.changes.push(change);
        self
    }

    pub(super) fn watch(mut self, text: &str) -> Draft {
        self.watch.push(text.to_owned());
        self
    }

    pub(super) fn found(self) -> Verdict {
        Verdict::Found(Box::new(self))
    }
}

/// Nothing of it is there.
pub(super) fn nothing() -> Verdict {
    Verdict::NotFound(Vec::new())
}

/// It cannot be said without `what`.
pub(super) fn lacks(what: &str, why: &str) -> Verdict {
    Verdict::NotDecided(vec![(what.to_owned(), why.to_owned())])
}

/// A setting of Spark's to write.
pub(super) fn spark_setting(name: &str, from: Option<&str>, to: &str, words: &str) -> Proposal {
    let from = from.filter(|from| !from.is_empty()).map(str::to_owned);
    let settings = vec![ProposedSetting { tunable: name.to_owned(), from, to: to.to_owned() }];
    Proposal { settings, ..advice(words) }
}

/// Something to do that is no setting.
pub(super) fn advice(words: &str) -> Proposal {
    Proposal {
        settings: Vec::new(),
        words: words.to_owned(),
        scope: ActsOn::Application,
        takes_effect: TakesEffect::NextStart,
        coupled: Vec::new(),
        apply: None,
        undo: None,
        verify: Vec::new(),
    }
}

/// A tunable of the host to set.
pub(super) fn host_setting(name: &str, from: &str, to: &str, words: &str) -> Proposal {
    let settings = vec![ProposedSetting { tunable: name.to_owned(), from: Some(from.to_owned()), to: to.to_owned() }];
    let policy = crate::tunable::policy::Setting::new(name, to)
        .ok()
        .map(|setting| crate::tunable::policy::Policy { name: None, settings: vec![setting] });
    Proposal {
        settings,
        scope: ActsOn::Host,
        takes_effect: TakesEffect::NewMemory,
        undo: policy.is_some().then_some(Command::Revert),
        apply: policy.map(|policy| Command::Set { policy }),
        ..advice(words)
    }
}

/// A number that was seen.
pub(super) fn seen(name: &str, value: f64, unit: Quantity, source: &str) -> Evidence {
    Evidence {
        source: source.to_owned(),
        name: name.to_owned(),
        value: Some(value),
        unit,
        threshold: None,
        compare: None,
        origin: None,
        holds: None,
    }
}

/// A number that is held against a threshold of ours.
pub(super) fn held(evidence: Evidence, compare: Compare, threshold: f64) -> Evidence {
    let holds = evidence.value.map(|value| match compare {
        Compare::AtLeast => value >= threshold,
        Compare::Above => value > threshold,
        Compare::Below => value < threshold,
    });
    Evidence { threshold: Some(threshold), compare: Some(compare), origin: Some(OriginView::Ours), holds, ..evidence }
}

/// Asks all rules of what was observed.
pub(super) fn diagnosis<Of>(
    rules: &[Rule<Of>],
    of: &Of,
    observed: ObservedView,
    notes: Vec<String>,
    tier: Tier,
) -> Diagnosis {
    let (mut findings, mut not_found, mut not_decided) = (Vec::new(), Vec::new(), Vec::new());
    for rule in rules {
        let (id, title) = (rule.id.to_owned(), rule.title.to_owned());
        match (rule.judge)(of) {
            Verdict::Found(draft) => findings.push(finding(rule, *draft, tier, observed.seconds)),
            Verdict::NotFound(because) => not_found.push(NotFound { id, title, because }),
            Verdict::NotDecided(missing) => {
                let missing = missing.into_iter().map(|(what, why)| MissingView { what, why }).collect();
                not_decided.push(NotDecided { id, title, missing, needs_seconds: None, evidence: Vec::new() });
            }
        }
    }
    findings.sort_by_key(|finding: &Finding| (Reverse(finding.severity), Reverse(finding.confidence)));
    Diagnosis { schema: SCHEMA.to_owned(), observed, findings, not_found, not_decided, notes }
}

fn finding<Of>(rule: &Rule<Of>, draft: Draft, tier: Tier, seconds: f64) -> Finding {
    let mut changes = draft.changes.into_iter();
    Finding {
        id: rule.id.to_owned(),
        title: rule.title.to_owned(),
        summary: draft.summary,
        marks: Vec::new(),
        meaning: rule.meaning.to_owned(),
        severity: draft.severity,
        cost: Cost::default(),
        confidence: draft.confidence,
        tiers: vec![tier],
        since: None,
        held: None,
        seconds,
        of_seconds: seconds,
        who: Vec::new(),
        follows_from: Vec::new(),
        leads_to: Vec::new(),
        evidence: draft.evidence,
        missing: Vec::new(),
        ruled_out: Vec::new(),
        decide: None,
        change: changes.next(),
        alternatives: changes.collect(),
        counterindications: draft.watch,
        docs: vec![rule.source.to_owned()],
    }
}

/// What was observed, of a JVM or a log.
pub(super) fn observed(subject: &str, seconds: f64, tier: Tier, words: String) -> ObservedView {
    ObservedView {
        subject: subject.to_owned(),
        from: None,
        to: None,
        seconds,
        profile_samples: None,
        samples: 0,
        window_seconds: 0.0,
        tools: Vec::new(),
        kernel: None,
        cpus: None,
        memory_bytes: None,
        tiers: vec![TierView { tier, recorded: true, words }],
        activity: Activity::default(),
        command: None,
    }
}

/// As `spark-submit` takes it; used in sentences.
pub(super) fn line(name: &str, value: &str) -> String {
    argument(name, value)
}

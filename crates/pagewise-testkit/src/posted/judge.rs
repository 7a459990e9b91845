//! What came of a case.

use super::{Ailment, Case, Posted};
use pagewise_core::finding::{CAVEAT, Diagnosis, Observed, diagnose};
use pagewise_core::import::Assumed;
use pagewise_host::import::{self, KindFile};

/// The finding that says only that the kernel uses much CPU.
const VAGUE: &str = "unexplained-system-time";

/// What came of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// Of trouble: a finding names the cause or its direct symptom.
    Named,
    /// Something else was found.
    Vague,
    /// Nothing was found, and some rule that would have been right was not decided.
    Open,
    /// Every rule that would have been right was denied.
    RuledOut,
    /// No file of it could be read.
    NotRead,
    /// Of a host whose memory was well: nothing was found.
    Silent,
    /// Of such a host: trouble with memory was found.
    FalseAlarm,
}

impl Outcome {
    /// In the order of the table.
    pub const ALL: [Outcome; 7] = [
        Outcome::Named,
        Outcome::Vague,
        Outcome::Open,
        Outcome::RuledOut,
        Outcome::NotRead,
        Outcome::Silent,
        Outcome::FalseAlarm,
    ];

    /// In words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Outcome::Named => "named",
            Outcome::Vague => "vague",
            Outcome::Open => "missed",
            Outcome::RuledOut => "ruled out wrongly",
            Outcome::NotRead => "not read",
            Outcome::Silent => "silent",
            Outcome::FalseAlarm => "false alarm",
        }
    }
}

/// A case and what came of it.
#[derive(Clone, Debug)]
pub struct JudgedCase {
    /// The case.
    pub case: Case,
    /// What came of it.
    pub outcome: Outcome,
    /// What was found.
    pub found: Vec<String>,
    /// Files that were left out, and why.
    pub left_out: Vec<String>,
    /// The whole of it, where anything could be read.
    pub diagnosis: Option<Diagnosis>,
}

/// Reads a case as `diagnose --import auto:FILE` does, knowing no more than what was posted beside it: the kernel.
#[must_use]
pub fn judge(case: Case) -> JudgedCase {
    let path = |file: &Posted| KindFile { kind: None, path: case.folder.join(&file.name) };
    let files: Vec<KindFile> = case.files.iter().map(path).collect();
    let mut assumed = Assumed::default();
    if !case.kernel.is_empty() {
        assumed.about("kernel", &case.kernel).expect("a key that anybody may give");
    }
    let imported = match import::open(&files, &assumed) {
        Ok(imported) => imported,
        Err(error) => {
            let left_out = vec![error.to_string()];
            return JudgedCase { case, outcome: Outcome::NotRead, found: Vec::new(), left_out, diagnosis: None };
        }
    };
    let Ok(observed) = Observed::of(&imported);
    let diagnosis = diagnose(&observed, &case.name);
    let found: Vec<String> = diagnosis.findings.iter().map(|finding| finding.id.clone()).collect();
    let outcome = outcome(&case, &diagnosis);
    let left_out = imported.left_out().map(str::to_owned).collect();
    JudgedCase { case, outcome, found, left_out, diagnosis: Some(diagnosis) }
}

fn outcome(case: &Case, diagnosis: &Diagnosis) -> Outcome {
    let is_expected = |id: &str| case.expect.iter().any(|expected| expected == id);
    let found = || diagnosis.findings.iter().map(|finding| finding.id.as_str()).filter(|id| *id != CAVEAT);
    if case.kind != Ailment::Trouble {
        // That the kernel uses much CPU is true of a host whose trouble is a lock or a network, too.
        let is_alarm = |id: &str| !is_expected(id) && (id != VAGUE || case.kind == Ailment::Healthy);
        return if found().any(is_alarm) { Outcome::FalseAlarm } else { Outcome::Silent };
    }
    let denied = |id: &String| diagnosis.not_found.iter().any(|rule| rule.id == *id);
    if found().any(is_expected) {
        Outcome::Named
    } else if case.expect.iter().all(denied) {
        Outcome::RuledOut
    } else if found().next().is_some() {
        Outcome::Vague
    } else {
        Outcome::Open
    }
}

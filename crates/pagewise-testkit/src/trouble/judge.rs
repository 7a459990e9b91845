//! What the rules say of a folder of recordings, held against what each recording is of.

use super::runner::{self, Label};
use super::{Severity, TROUBLES};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

/// A finding about the measuring itself is no alarm.
pub const NO_ALARM: &str = "measurement-caveat";

/// Which of the two uses a recording has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Set {
    /// Thresholds may be fitted to it.
    Calibration,
    /// They may not.
    Test,
}

impl Set {
    /// Its name.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Set::Calibration => "calibration",
            Set::Test => "test",
        }
    }
}

/// One recording and what was found in it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// What it is of.
    #[serde(flatten)]
    pub label: Label,
    /// The release of the kernel it was made on, where the recording says so.
    #[serde(default)]
    pub kernel: Option<String>,
    /// Its use.
    pub set: Set,
    /// Seconds that were recorded.
    pub seconds: f64,
    /// What was found, with its confidence.
    pub found: BTreeMap<String, String>,
    /// What could not be decided.
    pub not_decided: Vec<String>,
    /// What spoke against its own finding, each as `source: name value`. Said when a check fails, and kept nowhere.
    #[serde(skip)]
    pub against: Vec<String>,
}

impl Row {
    /// Whether its own finding was made.
    #[must_use]
    pub fn is_found(&self) -> bool {
        self.found.contains_key(&self.label.id)
    }

    /// Findings beside its own, or false alarms of a healthy load.
    pub fn beside(&self) -> impl Iterator<Item = &str> {
        self.found.keys().map(String::as_str).filter(|id| *id != self.label.id && *id != NO_ALARM)
    }
}

/// All of a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Result {
    /// `pagewise.pathologies/1`.
    pub schema: String,
    /// The commit of the rules.
    pub commit: String,
    /// The day they were asked.
    pub date: String,
    /// Each recording.
    pub rows: Vec<Row>,
}

/// The use of the recordings of one host and one day: always the same, and about as many of each.
#[must_use]
pub fn set(host: &str, day: &str) -> Set {
    let hash = blake3::hash(format!("{host} {day}").as_bytes());
    if hash.as_bytes()[0].is_multiple_of(2) { Set::Calibration } else { Set::Test }
}

/// Asks `pagewise diagnose` about every recording of the folder, in the order of their names.
///
/// # Errors
/// In words: a file that is no labelled recording, or an answer that is none.
pub fn folder(pagewise: &Path, folder: &Path) -> std::result::Result<Vec<Row>, String> {
    runner::recordings(folder)?.iter().map(|file| one(pagewise, file)).collect()
}

/// Asks about one.
///
/// # Errors
/// See [`folder`].
pub fn one(pagewise: &Path, file: &Path) -> std::result::Result<Row, String> {
    let (label, kernel) = runner::label_and_kernel(file)?;
    let mut command = Command::new(pagewise);
    command.arg("diagnose").arg(file).arg("--json").stdin(Stdio::null());
    let output = command.output().map_err(|error| format!("cannot start {command:?}: {error}"))?;
    let answer: Value = serde_json::from_slice(&output.stdout).map_err(|error| {
        format!("{}: no answer ({error}): {}", file.display(), String::from_utf8_lossy(&output.stderr).trim())
    })?;
    Ok(Row { kernel, ..row(label, &answer) })
}

fn row(label: Label, answer: &Value) -> Row {
    let list = |name: &str| answer[name].as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    Row {
        kernel: None,
        set: set(&label.host, &label.day),
        seconds: answer["observed"]["seconds"].as_f64().unwrap_or(0.0),
        found: list("findings").iter().map(|found| (text(&found["id"]), text(&found["confidence"]))).collect(),
        not_decided: list("not_decided").iter().map(|undecided| text(&undecided["id"])).collect(),
        against: list("not_found")
            .iter()
            .filter(|rule| rule["id"] == label.id.as_str())
            .flat_map(|rule| rule["because"].as_array().cloned().unwrap_or_default())
            .map(|line| format!("{}: {} {}", text(&line["source"]), text(&line["name"]), line["value"]))
            .collect(),
        label,
    }
}

/// Of the recordings of one pathology and severity.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// In how many it really happened.
    pub made: u32,
    /// In how many of those it was found.
    pub found: u32,
    /// In how many of those it was not decided.
    pub not_decided: u32,
    /// In how many it did not really happen.
    pub not_made: u32,
    /// What else was found, and how often.
    pub beside: BTreeMap<String, u32>,
}

/// What was found of a pathology at a severity; `None` for both sets together.
#[must_use]
pub fn count(rows: &[Row], id: &str, severity: Severity, of: Option<Set>) -> Count {
    let mut count = Count::default();
    for row in rows.iter().filter(|row| row.label.id == id && row.label.severity == severity) {
        if of.is_some_and(|set| set != row.set) {
            continue;
        }
        if !row.label.made {
            count.not_made += 1;
            continue;
        }
        count.made += 1;
        count.found += u32::from(row.is_found());
        count.not_decided += u32::from(row.not_decided.contains(&row.label.id));
        for id in row.beside() {
            *count.beside.entry(id.to_owned()).or_insert(0) += 1;
        }
    }
    count
}

/// Findings on healthy loads.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Alarms {
    /// Hours that were recorded.
    pub hours: f64,
    /// False alarms by name.
    pub by_id: BTreeMap<String, u32>,
}

/// The false alarms of one healthy load, or of all; of one set, or of both.
#[must_use]
pub fn alarms(rows: &[Row], id: Option<&str>, of: Option<Set>) -> Alarms {
    let mut alarms = Alarms::default();
    for row in rows.iter().filter(|row| row.label.healthy) {
        if of.is_some_and(|set| set != row.set) || id.is_some_and(|id| id != row.label.id) {
            continue;
        }
        alarms.hours += row.seconds / 3600.0;
        for id in row.beside() {
            *alarms.by_id.entry(id.to_owned()).or_insert(0) += 1;
        }
    }
    alarms
}

/// What stands against publishing: a severe pathology that was made and not found.
#[must_use]
pub fn missed(rows: &[Row]) -> Vec<&'static str> {
    let is_missed = |id: &str| {
        let count = count(rows, id, Severity::Severe, None);
        count.made > count.found
    };
    TROUBLES.iter().map(|trouble| trouble.id).filter(|id| is_missed(id)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn label(id: &str, healthy: bool, made: bool) -> Label {
        let text = String::new;
        Label {
            id: id.to_owned(),
            severity: Severity::Severe,
            healthy,
            does: text(),
            policy: text(),
            host: "h".to_owned(),
            day: "2026-11-21".to_owned(),
            made,
            proof: Vec::new(),
        }
    }

    fn answer(found: &[&str], not_decided: &[&str]) -> Value {
        let found: Vec<_> = found.iter().map(|id| json!({"id": id, "confidence": "high"})).collect();
        let not_decided: Vec<_> = not_decided.iter().map(|id| json!({"id": id})).collect();
        json!({"observed": {"seconds": 1800.0}, "findings": found, "not_decided": not_decided})
    }

    #[test]
    fn only_what_was_really_made_counts_and_what_was_found_beside_is_told() {
        let storm = |found: &[&str], made| row(label("compaction-storm", false, made), &answer(found, &[]));
        let rows = [
            storm(&["compaction-storm", "fragmentation", "measurement-caveat"], true),
            storm(&[], true),
            storm(&["compaction-storm"], false),
            row(label("swap-thrash", false, true), &answer(&[], &["swap-thrash"])),
        ];
        let storms = count(&rows, "compaction-storm", Severity::Severe, None);
        assert_eq!((storms.made, storms.found, storms.not_made), (2, 1, 1));
        assert_eq!(storms.beside, BTreeMap::from([("fragmentation".to_owned(), 1)]));
        assert_eq!(count(&rows, "swap-thrash", Severity::Severe, None).not_decided, 1);
        assert_eq!(missed(&rows), ["compaction-storm", "swap-thrash"]);
    }

    #[test]
    fn false_alarms_are_per_healthy_hour_and_a_caveat_is_none() {
        let rows = [
            row(label("idle", true, true), &answer(&["measurement-caveat"], &[])),
            row(label("terasort", true, true), &answer(&["swap-thrash"], &[])),
        ];
        let alarms_of = |id| alarms(&rows, id, None).by_id.values().sum::<u32>();
        assert_eq!((alarms_of(Some("idle")), alarms_of(None)), (0, 1));
        assert!((alarms(&rows, None, None).hours - 1.0).abs() < 1e-9);
    }

    #[test]
    fn a_host_and_a_day_fall_into_one_set_and_both_sets_get_some() {
        let days: Vec<Set> = (1..=28).map(|day| set("h", &format!("2026-11-{day:02}"))).collect();
        assert!(days.contains(&Set::Calibration) && days.contains(&Set::Test));
        assert_eq!(set("h", "2026-11-21"), set("h", "2026-11-21"));
    }
}

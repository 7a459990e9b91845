//! The changes on a host, as JSON and as text: what was set, what stood there before, how long it stays.

use crate::change::line::{CoupledOutcome, Outcome};
use crate::change::undo::UndoneSetting;
use comfy_table::{ContentArrangement, Table, presets};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt::Write;

/// Identifies it in JSON.
pub const SCHEMA: &str = "pagewise.changes/1";

/// Text is laid out for this many columns.
const WIDTH: u16 = 80;

/// What `changes`, `set` and `revert` print.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChangesReport {
    /// [`SCHEMA`].
    pub schema: String,
    /// Nothing was written: this is what would be done.
    pub dry_run: bool,
    /// The changes, newest first.
    pub changes: Vec<ChangeView>,
}

/// One change set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChangeView {
    /// Its number. Absent for one that is only planned.
    pub id: Option<u64>,
    /// How it stands.
    pub state: State,
    /// The state in words, with the reason and what to do.
    pub state_words: String,
    /// When it was made, RFC 3339 UTC.
    pub created: Option<String>,
    /// The process that made it.
    pub owner_pid: Option<u32>,
    /// The policy as written.
    pub policy: String,
    /// What it sets, in the order written.
    pub settings: Vec<SettingView>,
}

/// How a change set stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It would be made.
    Planned,
    /// It stays until it is reverted.
    InForce,
    /// It is undone at its deadline unless it is confirmed.
    AwaitsConfirmation,
    /// It ends with the run that made it, which still lives.
    Held,
    /// A living process applies or undoes it at this moment.
    Busy,
    /// The next verb that writes undoes it first.
    Pending,
    /// Nothing of it is ours any more.
    Closed,
    /// Its journal cannot be trusted.
    Damaged,
}

/// One setting of a change set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SettingView {
    /// The tunable.
    pub tunable: String,
    /// Its value before.
    pub before: String,
    /// What was asked for.
    pub target: String,
    /// Its value now. Absent when it cannot be read.
    pub now: Option<String>,
    /// What became, or would become, of it.
    pub outcome: Option<Outcome>,
    /// Tunables the kernel may move along; what became of them where they were not simply as before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub coupled: Vec<CoupledOutcome>,
}

impl SettingView {
    /// What an undo did.
    #[must_use]
    pub fn of_undone(undone: &UndoneSetting, target: &str, now: Option<String>) -> Self {
        SettingView {
            tunable: undone.tunable.name.clone(),
            before: undone.before.clone(),
            target: target.to_owned(),
            now,
            outcome: Some(undone.outcome.clone()),
            coupled: undone.coupled.clone(),
        }
    }
}

/// The end of a setting in words.
#[must_use]
pub fn outcome_words(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Restored => "restored".to_owned(),
        Outcome::Already => "as before already".to_owned(),
        Outcome::Foreign { .. } => "changed by someone else since: left".to_owned(),
        Outcome::Failed { why } => format!("not restored: {why}"),
        Outcome::Gone => "gone with what it belonged to".to_owned(),
        Outcome::NeverWritten => "was never written".to_owned(),
    }
}

/// The report as text of at most 80 columns, where the values allow it.
#[must_use]
pub fn text(report: &ChangesReport) -> String {
    let mut text = String::new();
    for (place, change) in report.changes.iter().enumerate() {
        if place > 0 {
            text.push('\n');
        }
        text.push_str(&change_text(change, report.dry_run));
    }
    text
}

fn change_text(change: &ChangeView, dry_run: bool) -> String {
    let name = change.id.map_or_else(|| "dry run".to_owned(), |id| format!("change {id}"));
    let mut text = format!("{name}: {}\n", change.state_words);
    if !change.policy.is_empty() {
        let _ = writeln!(text, "  policy: {}", change.policy);
    }
    if let Some(created) = &change.created {
        let pid = change.owner_pid.map_or_else(String::new, |pid| format!(" by pid {pid}"));
        let _ = writeln!(text, "  made:   {created}{pid}");
    }
    if change.settings.is_empty() {
        return text;
    }
    let has_outcomes = change.settings.iter().any(|setting| setting.outcome.is_some());
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic).set_width(WIDTH);
    let last = match (has_outcomes, dry_run) {
        (true, true) => "would be",
        (true, false) => "became",
        (false, _) => "",
    };
    table.set_header(["  tunable", "before", "set to", "now", last]);
    for setting in &change.settings {
        let now = setting.now.clone().unwrap_or_else(|| "?".to_owned());
        let what = setting.outcome.as_ref().map(outcome_words).unwrap_or_default();
        let name = format!("  {}", setting.tunable);
        table.add_row([name, setting.before.clone(), setting.target.clone(), now, what]);
        for coupled in &setting.coupled {
            let name = format!("  + {}", coupled.tunable);
            table.add_row([name, String::new(), String::new(), String::new(), outcome_words(&coupled.outcome)]);
        }
    }
    for line in table.lines() {
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view() -> ChangeView {
        let setting = |tunable: &str, before: &str, target: &str, outcome| SettingView {
            tunable: tunable.to_owned(),
            before: before.to_owned(),
            target: target.to_owned(),
            now: Some(target.to_owned()),
            outcome,
            coupled: Vec::new(),
        };
        ChangeView {
            id: Some(3),
            state: State::InForce,
            state_words: "stays until `pagewise revert 3`".to_owned(),
            created: Some("2026-11-20T12:00:00Z".to_owned()),
            owner_pid: Some(7),
            policy: "vm.swappiness=1,block[nvme0n1].read_ahead_kb=128".to_owned(),
            settings: vec![
                setting("vm.swappiness", "60", "1", Some(Outcome::Foreign { found: "77".to_owned() })),
                setting("block[nvme0n1].read_ahead_kb", "8192", "128", None),
            ],
        }
    }

    #[test]
    fn a_table_of_changes_fits_80_columns() {
        let report = ChangesReport { schema: SCHEMA.to_owned(), dry_run: false, changes: vec![view(), view()] };
        let text = text(&report);
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(text.contains("block[nvme0n1].read_ahead_kb") && text.contains("someone else"), "{text}");
    }
}

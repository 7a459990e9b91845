//! The tunables of a host, as JSON and as text.

use super::printable::printable;
use crate::tunable::{CostClass, Scope};
use comfy_table::{ColumnConstraint, ContentArrangement, Table, Width, presets};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Identifies it in JSON.
pub const SCHEMA: &str = "pagewise.tunables/1";

/// What `show` prints.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TunablesReport {
    /// [`SCHEMA`].
    pub schema: String,
    /// The tunables, kind by kind.
    pub tunables: Vec<TunableView>,
}

/// One tunable on a host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TunableView {
    /// Its name; a pattern such as `env.NAME` when there are no instances to list.
    pub name: String,
    /// Its value now, as a policy writes it. Null, with `why_absent`, when there is none.
    pub value: Option<String>,
    /// Why there is no value: the kernel lacks it, it may not be read, or it acts on a job alone.
    pub why_absent: Option<String>,
    /// What may be written.
    pub allowed: String,
    /// What switching it takes.
    pub cost: CostClass,
    /// What it acts on.
    pub scope: Scope,
    /// Tunables the kernel may move by itself when this one is written.
    pub coupled: Vec<String>,
    /// A highest value and why it is one; null when there is none but the kernel's.
    pub ceiling: Option<String>,
    /// What it does.
    pub summary: String,
    /// What to know before writing it; null when there is nothing.
    pub note: Option<String>,
    /// Since which kernel, and where in its source.
    pub source: String,
}

/// Text is laid out for this many columns: name, value, cost and what is allowed. The longest name without a key has
/// 32 letters.
const COLUMNS: [u16; 4] = [33, 11, 5, 31];

impl TunablesReport {
    /// The tunables given.
    #[must_use]
    pub fn new(tunables: Vec<TunableView>) -> Self {
        TunablesReport { schema: SCHEMA.to_owned(), tunables }
    }

    /// A row per tunable, 80 columns wide.
    #[must_use]
    pub fn table(&self) -> String {
        let head = ["tunable", "value", "cost", "allowed"].map(str::to_owned);
        columns([head].into_iter().chain(self.tunables.iter().map(TunableView::row)), &COLUMNS)
    }
}

impl TunableView {
    fn row(&self) -> [String; 4] {
        let (value, mut says) = match (&self.value, &self.why_absent) {
            (Some(value), _) => (printable(value), self.allowed.clone()),
            (None, Some(why)) if self.scope == Scope::Host => ("absent".to_owned(), printable(why)),
            (None, _) => ("(job)".to_owned(), self.allowed.clone()),
        };
        if !self.coupled.is_empty() {
            says.push_str(&format!("\nmoves {}", self.coupled.join(", ")));
        }
        // A break after the key keeps both parts whole where the line is too short for them.
        let name = printable(&self.name);
        let name = if name.len() < usize::from(COLUMNS[0]) { name } else { name.replacen("].", "]\n.", 1) };
        [name, value, self.cost.word().to_owned(), says]
    }

    /// Everything there is to say about it.
    #[must_use]
    pub fn text(&self) -> String {
        let mut rows = vec![("does", self.summary.clone())];
        match (&self.value, &self.why_absent) {
            (Some(value), _) => rows.push(("value", printable(value))),
            (None, why) => rows.push(("no value", printable(why.as_deref().unwrap_or("it cannot be read")))),
        }
        rows.push(("allowed", self.allowed.clone()));
        rows.extend(self.ceiling.clone().map(|ceiling| ("ceiling", ceiling)));
        rows.push(("cost", cost_in_words(self.cost).to_owned()));
        if !self.coupled.is_empty() {
            rows.push(("moves", self.coupled.join(", ")));
        }
        rows.extend(self.note.clone().map(|note| ("note", note)));
        rows.push(("source", self.source.clone()));
        let rows = rows.into_iter().map(|(label, words)| [format!("  {label}"), words]);
        format!("{}\n{}", printable(&self.name), columns(rows, &[12, 68]))
    }
}

fn cost_in_words(cost: CostClass) -> &'static str {
    match cost {
        CostClass::Live => "live: it acts at once",
        CostClass::Job => "job: it acts with the job's next start",
        CostClass::Boot => "boot: it acts with the host's next boot",
    }
}

fn columns<const N: usize>(rows: impl Iterator<Item = [String; N]>, widths: &[u16; N]) -> String {
    let mut table = Table::new();
    table.set_content_arrangement(ContentArrangement::Dynamic).set_width(widths.iter().sum());
    table.load_style(presets::NOTHING);
    rows.for_each(|row| {
        table.add_row(row.to_vec());
    });
    table.set_constraints(widths.iter().map(|width| ColumnConstraint::Absolute(Width::Fixed(*width))));
    table.column_iter_mut().for_each(|column| {
        column.set_padding((0, 1));
    });
    table.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(name: &str, value: Option<&str>) -> TunableView {
        TunableView {
            name: name.to_owned(),
            value: value.map(str::to_owned),
            why_absent: value.is_none().then(|| "this kernel has no such file".to_owned()),
            allowed: "always defer defer+madvise madvise never".to_owned(),
            cost: CostClass::Live,
            scope: Scope::Host,
            coupled: vec!["vm.min_free_kbytes".to_owned()],
            ceiling: None,
            summary: "what it does".to_owned(),
            note: Some("a word of warning ".repeat(20)),
            source: "2.6.38".to_owned(),
        }
    }

    #[test]
    fn no_line_is_wider_than_a_terminal_and_no_plain_name_is_broken() {
        let names: Vec<&str> = crate::tunable::all().map(|descriptor| descriptor.name).collect();
        let report = TunablesReport::new(names.iter().map(|name| view(name, Some("madvise"))).collect());
        let table = report.table();
        for line in table.lines().chain(report.tunables[0].text().lines()) {
            assert!(line.chars().count() <= 80, "{line}");
        }
        for name in names.iter().filter(|name| !name.contains('[')) {
            assert!(table.contains(name), "{name} is broken:\n{table}");
        }
    }

    #[test]
    fn what_is_absent_says_why() {
        let report = TunablesReport::new(vec![view("mglru.enabled", None)]);
        assert!(report.table().contains("absent"));
        assert!(report.table().contains("this kernel has no such file"));
    }

    #[test]
    fn a_captured_value_cannot_write_to_the_terminal() {
        let report = TunablesReport::new(vec![view("thp.enabled", Some("a\u{1b}[2Jb"))]);
        assert!(!report.table().contains('\u{1b}') && !report.tunables[0].text().contains('\u{1b}'));
    }
}

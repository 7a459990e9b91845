//! The page of a recording: its data as JSON and the scripts that draw them, in one file that loads nothing.

use super::View;
use super::lines::{LineUnit, panels};
use super::sections::{GapRow, Instant, Sections};
use super::{decimate::Timeline, flame::Flame};
use crate::report::TemplateError;
use crate::report::html::environment;
use crate::report::script::{FLAME, FLAME_GRAPH, Script, UPLOT};
use minijinja::value::Serde;
use serde::Serialize;

const TEMPLATES: [(&str, &str); 2] = [
    ("recording", include_str!("../template/recording/page.html")),
    ("recording_style", include_str!("../template/recording/style.css")),
];

/// What only this page has: timelines and stretches of time.
pub(in crate::report) const SCRIPT: &str = include_str!("../template/recording/page.js");

/// The style of uPlot.
const VENDORED_STYLE: &str = include_str!("../vendor/uplot.css");

/// A finding in words, as a page shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FindingInWords {
    /// Its stable id.
    pub id: String,
    /// What it is, in one sentence.
    pub title: String,
    /// `severe`, `moderate`, `mild` or `note`: its colour.
    pub tone: String,
    /// Of which recording it is: 0 for A.
    pub of: usize,
    /// What was seen, and then what that means: a paragraph each. The first stands there also where the rest is folded away.
    pub text: Vec<String>,
    /// Who takes part, what to do, what shows it: each under its label.
    pub rows: Vec<Row>,
}

/// What stands under one label.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Row {
    /// `Try first`, `Evidence` and the like.
    pub label: String,
    /// One or several.
    pub items: Vec<Item>,
}

/// Words, a command to copy, or both.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Item {
    /// In words.
    pub text: Option<String>,
    /// A command.
    pub command: Option<String>,
    /// The one that takes it back.
    pub undo: Option<String>,
}

impl Item {
    /// Words alone.
    #[must_use]
    pub fn words(text: String) -> Item {
        Item { text: Some(text), ..Item::default() }
    }

    /// A command alone.
    #[must_use]
    pub fn command(command: String) -> Item {
        Item { command: Some(command), ..Item::default() }
    }
}

impl FindingInWords {
    /// Something to say that is no finding.
    #[must_use]
    pub fn note(id: &str, title: &str, text: String) -> FindingInWords {
        let (id, title) = (id.to_owned(), title.to_owned());
        FindingInWords { id, title, tone: "note".to_owned(), of: 0, text: vec![text], rows: Vec::new() }
    }
}

/// What was found in one recording.
#[derive(Serialize)]
struct RecordingFindings<'a> {
    name: &'a str,
    said: Vec<&'a FindingInWords>,
}

#[derive(Serialize)]
struct Data<'a> {
    panels: Vec<PanelData>,
    recordings: Vec<RecordingData<'a>>,
}

#[derive(Serialize)]
struct PanelData {
    id: &'static str,
    title: &'static str,
    hint: &'static str,
    unit: LineUnit,
    lines: Vec<LineData>,
}

#[derive(Serialize)]
struct LineData {
    id: &'static str,
    label: &'static str,
    shown: bool,
}

#[derive(Serialize)]
struct RecordingData<'a> {
    name: &'a str,
    wall: f64,
    length: f64,
    timeline: &'a Timeline,
    flame: Option<&'a Flame>,
    marks: &'a [Instant],
    changes: &'a [Instant],
    gaps: Vec<&'a GapRow>,
}

#[derive(Serialize)]
struct SettingDifference<'a> {
    name: &'a str,
    a: &'a str,
    b: &'a str,
}

#[derive(Serialize)]
struct Page<'a> {
    title: String,
    recordings: Vec<&'a Sections>,
    found: Vec<RecordingFindings<'a>>,
    differences: Option<Vec<SettingDifference<'a>>>,
    script: Script,
    vendored_style: &'static str,
}

fn data_of(view: &View) -> RecordingData<'_> {
    RecordingData {
        name: &view.sections.name,
        wall: view.wall,
        length: view.length,
        timeline: &view.timeline,
        flame: view.flame.as_ref(),
        marks: &view.sections.marks,
        changes: &view.sections.changes,
        gaps: view.sections.gaps.iter().filter(|gap| gap.is_all).collect(),
    }
}

/// Settings in which two recordings began differently.
fn differences<'a>(a: &'a Sections, b: &'a Sections) -> Vec<SettingDifference<'a>> {
    let start = |sections: &'a Sections, name: &str| {
        sections.settings.iter().find(|row| row.name == name).map_or("not there", |row| row.start.as_str())
    };
    let only_b = b.settings.iter().filter(|row| a.settings.iter().all(|other| other.name != row.name));
    let rows = a.settings.iter().chain(only_b);
    let rows = rows.map(|row| SettingDifference { name: &row.name, a: start(a, &row.name), b: start(b, &row.name) });
    rows.filter(|row| row.a != row.b).collect()
}

/// The page of a recording, or of two beside each other: `view` is A, `against` is B. Each of the findings says whose it is.
///
/// # Errors
/// When a template is broken, which the tests rule out.
pub fn html(view: &View, against: Option<&View>, findings: &[FindingInWords]) -> Result<String, TemplateError> {
    let mut environment = environment()?;
    for (name, source) in TEMPLATES {
        environment.add_template(name, source)?;
    }
    let panels = panels().iter().map(|panel| PanelData {
        id: panel.id,
        title: panel.title,
        hint: panel.hint,
        unit: panel.lines[0].unit,
        lines: panel.lines.iter().map(|line| LineData { id: line.id, label: line.label, shown: line.shown }).collect(),
    });
    let views: Vec<&View> = std::iter::once(view).chain(against).collect();
    let data = Data { panels: panels.collect(), recordings: views.iter().map(|view| data_of(view)).collect() };
    let [selection, flame_graph] = FLAME_GRAPH;
    let script = Script::new(&data, &[UPLOT, selection, flame_graph], &[FLAME, SCRIPT])?;
    let names: Vec<&str> = views.iter().map(|view| view.sections.name.as_str()).collect();
    let found = views.iter().enumerate().map(|(of, view)| RecordingFindings {
        name: &view.sections.name,
        said: findings.iter().filter(|said| said.of == of).collect(),
    });
    let found: Vec<RecordingFindings<'_>> = found.filter(|found| !found.said.is_empty()).collect();
    let page = Page {
        title: names.join(" against "),
        recordings: views.iter().map(|view| &view.sections).collect(),
        found,
        differences: against.map(|against| differences(&view.sections, &against.sections)),
        script,
        vendored_style: VENDORED_STYLE,
    };
    Ok(environment.get_template("recording")?.render(Serde(page))?)
}

//! The page of a recording: its data as JSON, our script, and two libraries, in one file that loads nothing.
//!
//! Names of processes and symbols are anyone's. In the page's markup they pass through the templates' escaping; in its data
//! no character stands that could end a script or a string; the script puts text where text goes and never makes markup of
//! it. Behind that stands a policy that runs only the scripts with this page's nonce, which is a hash of the data: a name
//! in the data cannot know it.

use super::View;
use super::lines::{LineUnit, PANELS};
use super::sections::{GapRow, Instant, Sections};
use super::{decimate::Timeline, flame::Flame};
use crate::report::TemplateError;
use crate::report::html::environment;
use minijinja::value::Serde;
use serde::Serialize;

const TEMPLATES: [(&str, &str); 3] = [
    ("recording", include_str!("../template/recording/page.html")),
    ("recording_style", include_str!("../template/recording/style.css")),
    ("recording_script", include_str!("../template/recording/page.js")),
];

/// Code of others, unchanged, with its licence: `report/vendor/README.md` says where from.
const VENDORED: [(&str, &str, &str); 3] = [
    ("uPlot 1.6.32 (MIT)", include_str!("../vendor/uplot.js"), include_str!("../vendor/uplot.LICENSE")),
    ("d3-selection 3.0.1 (ISC)", include_str!("../vendor/d3-selection.js"), include_str!("../vendor/d3.LICENSE")),
    (
        "d3-flame-graph 4.1.3 (Apache-2.0), with parts of d3 (ISC) and d3-ease (BSD-3-Clause)",
        include_str!("../vendor/d3-flame-graph.js"),
        concat!(include_str!("../vendor/d3-ease.LICENSE"), "\n\n", include_str!("../vendor/d3-flame-graph.LICENSE")),
    ),
];

/// The style of uPlot.
const VENDORED_STYLE: &str = include_str!("../vendor/uplot.css");

/// A finding in words, as a page shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Said {
    /// Its stable id.
    pub id: String,
    /// What it is, in one sentence.
    pub title: String,
    /// `severe`, `moderate`, `mild` or `note`: its colour.
    pub tone: String,
    /// Evidence, what was ruled out, what to do: a paragraph each.
    pub text: Vec<String>,
    /// A command that would decide it.
    pub command: Option<String>,
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
struct Vendored {
    name: &'static str,
    code: &'static str,
    licence: &'static str,
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
    findings: &'a [Said],
    differences: Option<Vec<SettingDifference<'a>>>,
    data: String,
    nonce: String,
    vendored: Vec<Vendored>,
    vendored_style: &'static str,
    script: &'static str,
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

/// JSON that may stand inside a script element of any kind: neither `</script>` nor `<!--` can occur in it, and no
/// character that some reader of JavaScript takes for the end of a line.
fn embeddable(json: &str) -> String {
    let mut safe = String::with_capacity(json.len() + json.len() / 64);
    for c in json.chars() {
        match c {
            '<' => safe.push_str("\\u003c"),
            '>' => safe.push_str("\\u003e"),
            '&' => safe.push_str("\\u0026"),
            '\u{2028}' => safe.push_str("\\u2028"),
            '\u{2029}' => safe.push_str("\\u2029"),
            c => safe.push(c),
        }
    }
    safe
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

/// The page of a recording, or of two beside each other: `view` is A, `against` is B.
///
/// # Errors
/// When a template is broken, which the tests rule out.
pub fn html(view: &View, against: Option<&View>, findings: &[Said]) -> Result<String, TemplateError> {
    let mut environment = environment()?;
    for (name, source) in TEMPLATES {
        environment.add_template(name, source)?;
    }
    let panels = PANELS.iter().map(|panel| PanelData {
        id: panel.id,
        title: panel.title,
        hint: panel.hint,
        unit: panel.lines[0].unit,
        lines: panel.lines.iter().map(|line| LineData { id: line.id, label: line.label, shown: line.shown }).collect(),
    });
    let views: Vec<&View> = std::iter::once(view).chain(against).collect();
    let data = Data { panels: panels.collect(), recordings: views.iter().map(|view| data_of(view)).collect() };
    let json = serde_json::to_string(&data).map_err(|error| {
        TemplateError::from(minijinja::Error::new(minijinja::ErrorKind::BadSerialization, error.to_string()))
    })?;
    let nonce = blake3::hash(json.as_bytes()).to_hex()[..32].to_owned();
    let names: Vec<&str> = views.iter().map(|view| view.sections.name.as_str()).collect();
    let page = Page {
        title: names.join(" against "),
        recordings: views.iter().map(|view| &view.sections).collect(),
        findings,
        differences: against.map(|against| differences(&view.sections, &against.sections)),
        data: embeddable(&json),
        nonce,
        vendored: VENDORED.iter().map(|(name, code, licence)| Vendored { name, code, licence }).collect(),
        vendored_style: VENDORED_STYLE,
        script: TEMPLATES[2].1,
    };
    Ok(environment.get_template("recording")?.render(Serde(page))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_cannot_end_the_script_it_stands_in() {
        let hostile = serde_json::to_string("</script><!--\u{2028}&\u{0}\"'").unwrap();
        let safe = embeddable(&hostile);
        assert!(!safe.contains(['<', '>', '&', '\u{2028}', '\u{0}']), "{safe}");
        assert_eq!(serde_json::from_str::<String>(&safe).unwrap(), "</script><!--\u{2028}&\u{0}\"'");
    }

    #[test]
    fn no_vendored_code_ends_its_own_script_element() {
        for (name, code, licence) in VENDORED {
            assert!(!code.to_ascii_lowercase().contains("</script") && !code.contains("<!--"), "{name}");
            assert!(licence.len() > 500, "{name}");
        }
        assert!(!TEMPLATES[2].1.contains("</script"));
    }
}

//! The study as one HTML file that needs nothing else: no network, figures inline, and a script only where runs kept stacks.
//!
//! Every value passes through the templates' escaping, figures included: names of levels and commands are anyone's.

use super::Report;
use super::content::{Content, Contrast};
use super::figure::{BlockDots, CellLanes, IntervalRows, LevelPanel, level_panels};
use super::frame::Frame;
use super::tables;
use crate::report::TemplateError;
use crate::report::arms;
use crate::report::content::Table;
use crate::report::html::environment;
use crate::report::number;
use crate::report::printable::printable;
use crate::report::script::Script;
use minijinja::value::Serde;
use serde::Serialize;

const TEMPLATES: [(&str, &str); 6] = [
    ("study", include_str!("../template/study.html")),
    ("study_style", include_str!("../template/study.css")),
    ("interval_rows", include_str!("../template/interval_rows.html")),
    ("block_dots", include_str!("../template/block_dots.html")),
    ("cell_lanes", include_str!("../template/cell_lanes.html")),
    ("level_panels", include_str!("../template/level_panels.html")),
];

#[derive(Serialize)]
struct Page {
    content: Content,
    intervals: Option<IntervalRows>,
    blocks: Option<BlockDots>,
    lanes: Option<CellLanes>,
    panels: Vec<LevelPanel>,
    runs: Table,
    metric: String,
    /// Whether intervals are of a confidence sequence.
    is_sequence: bool,
    /// Of the metric, when the ticks do not say it.
    unit: String,
    /// For the flame graph, where runs kept stacks.
    script: Option<Script>,
    /// Below it.
    flame_note: String,
}

/// On a phone a row is a card with its first cell as heading, so that cell must say all of the levels.
fn name_rows_in_one_cell(contrast: &mut Contrast) {
    let names = contrast.names;
    if names < 2 {
        return;
    }
    let factors: Vec<String> = contrast.table.head.drain(..names).collect();
    contrast.table.head.insert(0, factors.join(", "));
    for row in &mut contrast.table.rows {
        let levels = row.drain(..names.min(row.len()));
        let named: Vec<String> =
            factors.iter().zip(levels).map(|(factor, level)| format!("{factor} {level}")).collect();
        row.insert(0, named.join(", "));
    }
}

/// The report as one HTML document.
///
/// # Errors
/// When a template is broken, which the tests of this crate rule out.
pub(in crate::report) fn html(report: &Report) -> Result<String, TemplateError> {
    let mut environment = environment()?;
    for (name, source) in TEMPLATES {
        environment.add_template(name, source)?;
    }
    let frame = Frame::of(report);
    let unit = report.analysis.metrics.first().map_or_else(String::new, |metric| printable(&metric.metric.unit));
    // A line must not begin with a percent sign.
    let mut content = Content::of(report).map(|text| text.replace(" %", "\u{a0}%"));
    content.claims.iter_mut().chain(&mut content.interactions).for_each(name_rows_in_one_cell);
    let page = Page {
        content,
        intervals: IntervalRows::of(&frame),
        blocks: BlockDots::of(&frame),
        lanes: CellLanes::of(&report.analysis),
        panels: level_panels(&frame),
        runs: tables::runs(report),
        metric: printable(frame.first_metric()),
        is_sequence: report.analysis.sequence.is_some(),
        unit: number::custom_unit(&unit).to_owned(),
        script: report.flames.as_ref().map(arms::script).transpose()?,
        flame_note: report.flames.as_ref().map_or_else(String::new, arms::note),
    };
    Ok(environment.get_template("study")?.render(Serde(page))?)
}

//! Means of both levels of a contrast over the levels of another factor: lines that are not parallel are an interaction.

use crate::experiment::analysis::Comparison;
use crate::report::figure::axis::Axis;
use crate::report::figure::{Mark, Segment, Tick, round};
use crate::report::number;
use crate::report::printable::printable;
use crate::report::study::content::heading;
use crate::report::study::frame::{Frame, Group};
use serde::Serialize;

const HEIGHT: f64 = 190.0;

/// Room at the left for the labels of the grid, in percent.
const START: f64 = 16.0;

/// A panel: one combination of the factors that are not across.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report::study) struct LevelPanel {
    pub(in crate::report::study) heading: String,
    pub(in crate::report::study) a: String,
    pub(in crate::report::study) b: String,
    pub(in crate::report::study) height: f64,
    pub(in crate::report::study) start: f64,
    pub(in crate::report::study) ticks: Vec<Tick>,
    /// Levels of the factor across.
    pub(in crate::report::study) levels: Vec<String>,
    pub(in crate::report::study) lines: Vec<Segment>,
    pub(in crate::report::study) marks: Vec<Mark>,
    pub(in crate::report::study) summary: String,
}

/// A panel for every contrast of the first metric that is compared by the levels of other factors.
pub(in crate::report::study) fn level_panels(frame: &Frame<'_>) -> Vec<LevelPanel> {
    let first = frame.first_metric();
    let wanted = |one: &Comparison| one.metric == first && one.interaction.is_none() && !one.by.is_empty();
    frame.groups(wanted).iter().flat_map(|group| panels(frame, group)).collect()
}

fn panels(frame: &Frame<'_>, group: &Group<'_>) -> Vec<LevelPanel> {
    let Some(across) = group.first.comparison.by.keys().next_back() else { return Vec::new() };
    let outer = |one: &Comparison| -> String {
        let levels: Vec<String> =
            one.by.iter().filter(|(name, _)| *name != across).map(|(name, level)| format!("{name} {level}")).collect();
        printable(&levels.join(", "))
    };
    let mut outers: Vec<String> = Vec::new();
    for placed in &group.members {
        if !outers.contains(&outer(placed.comparison)) {
            outers.push(outer(placed.comparison));
        }
    }
    outers
        .iter()
        .filter_map(|own| {
            let members: Vec<&Comparison> =
                group.members.iter().map(|placed| placed.comparison).filter(|one| outer(one) == *own).collect();
            panel(frame, group, own, across, &members)
        })
        .collect()
}

fn panel(
    frame: &Frame<'_>,
    group: &Group<'_>,
    outer: &str,
    across: &str,
    members: &[&Comparison],
) -> Option<LevelPanel> {
    if members.len() < 2 {
        return None;
    }
    let first = group.first.comparison;
    let unit = printable(&frame.metric(first)?.metric.unit);
    let means =
        |of: fn(&Comparison) -> Option<f64>| -> Vec<Option<f64>> { members.iter().map(|one| of(one)).collect() };
    let (a, b) = (means(|one| one.a_values.mean), means(|one| one.b_values.mean));
    let foot = HEIGHT - 6.0;
    let axis = Axis::around(a.iter().chain(&b).flatten().copied(), foot, 14.0)?;
    let x = |place: usize| round(START + (100.0 - START) * (place as f64 + 0.5) / members.len() as f64);
    let level =
        |place: usize| members.get(place).and_then(|one| one.by.get(across)).map_or(String::new(), |l| printable(l));
    let mut panel = LevelPanel {
        heading: if outer.is_empty() { heading(&group.first) } else { format!("{}, {outer}", heading(&group.first)) },
        a: printable(&first.a),
        b: printable(&first.b),
        height: HEIGHT,
        start: START,
        ticks: axis.ticks(4).into_iter().map(|v| Tick { at: axis.at(v), label: number::tick(v, &unit) }).collect(),
        levels: (0..members.len()).map(level).collect(),
        lines: Vec::new(),
        marks: Vec::new(),
        summary: String::new(),
    };
    for (arm, name, values) in [("a", &first.a, &a), ("b", &first.b, &b)] {
        let known: Vec<(usize, f64)> =
            values.iter().enumerate().filter_map(|(place, value)| Some((place, (*value)?))).collect();
        let title = |place: usize, value: f64| {
            format!("{}, {} {}: {}", printable(name), printable(across), level(place), number::with_unit(value, &unit))
        };
        panel.lines.extend(known.windows(2).map(|two| Segment {
            x1: x(two[0].0),
            y1: axis.at(two[0].1),
            x2: x(two[1].0),
            y2: axis.at(two[1].1),
            kind: if arm == "a" { "a" } else { "b" },
            title: String::new(),
        }));
        panel.marks.extend(known.iter().map(|(place, value)| Mark {
            x: x(*place),
            y: axis.at(*value),
            arm: arm.to_owned(),
            kind: "ok",
            title: title(*place, *value),
        }));
    }
    panel.summary = panel.marks.iter().map(|mark| mark.title.clone()).collect::<Vec<_>>().join("; ");
    Some(panel)
}

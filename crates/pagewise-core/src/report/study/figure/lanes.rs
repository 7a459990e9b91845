//! Every run in the order it ran, a lane per cell: each value against the median of its cell, so that drift, outliers,
//! warm-up, bad ends and replaced attempts are seen whatever differs between cells.

use crate::experiment::analysis::{Analysis, PointMark};
use crate::experiment::plan::OrderKind;
use crate::experiment::point::Outcome;
use crate::report::figure::{Mark, Tick, round};
use crate::report::number;
use crate::report::printable::printable;
use serde::Serialize;

/// Height of a lane in pixels.
const HEIGHT: f64 = 46.0;

/// How far from the middle the largest deviation stands.
const REACH: f64 = 16.0;

/// Where runs without a usable value stand.
const ABOVE: f64 = 9.0;

/// The lanes.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report::study) struct CellLanes {
    pub(in crate::report::study) lanes: Vec<Lane>,
    /// Every second block: start and width.
    pub(in crate::report::study) bands: Vec<(f64, f64)>,
    /// Numbers of blocks under the lanes.
    pub(in crate::report::study) blocks: Vec<Tick>,
    pub(in crate::report::study) height: f64,
    /// What a lane spans: `±3.1 %`.
    pub(in crate::report::study) span: String,
    /// Kinds of marks that occur, for the key.
    pub(in crate::report::study) kinds: Vec<&'static str>,
    pub(in crate::report::study) summary: String,
}

/// The runs of a cell.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report::study) struct Lane {
    pub(in crate::report::study) name: String,
    pub(in crate::report::study) median: String,
    pub(in crate::report::study) summary: String,
    pub(in crate::report::study) marks: Vec<Mark>,
}

impl CellLanes {
    /// `None` without a run.
    pub(in crate::report::study) fn of(study: &Analysis) -> Option<CellLanes> {
        let metric = study.metrics.first()?;
        let (name, unit) = (&metric.metric.name, printable(&metric.metric.unit));
        if study.points.is_empty() {
            return None;
        }
        let median = |cell: &str| {
            let cell = study.cells.iter().find(|one| one.label == cell)?;
            cell.values.get(name)?.median.filter(|median| *median != 0.0)
        };
        let deviation = |point: &PointMark| {
            let usable = point.outcome == Outcome::Ok;
            Some(point.values.get(name).filter(|_| usable)? / median(&point.cell)? - 1.0)
        };
        let counted = study.points.iter().filter(|point| point.block.is_some());
        let most = counted.filter_map(deviation).fold(0.0_f64, |most, one| most.max(one.abs()));
        let x = |place: usize| round(1.0 + 98.0 * (place as f64 + 0.5) / study.points.len() as f64);
        let mark = |(place, point): (usize, &PointMark)| {
            let y = match deviation(point) {
                Some(deviation) if most > 0.0 => HEIGHT / 2.0 - REACH * (deviation / most).clamp(-1.0, 1.0),
                Some(_) => HEIGHT / 2.0,
                None => ABOVE,
            };
            Mark { x: x(place), y: round(y), arm: "a".to_owned(), kind: kind(point), title: title(point, name, &unit) }
        };
        let lane = |cell: &crate::experiment::analysis::CellSummary| {
            let own = study.points.iter().enumerate().filter(|(_, point)| point.cell == cell.label);
            let marks: Vec<Mark> = own.map(mark).collect();
            let median = cell.values.get(name).and_then(|values| values.median);
            let median = median.map_or(number::NONE.to_owned(), |median| number::with_unit(median, &unit));
            Lane {
                name: printable(&cell.label),
                summary: format!("{} runs, median {median}", marks.len()),
                median,
                marks,
            }
        };
        let lanes: Vec<Lane> = study.cells.iter().map(lane).collect();
        let occurs = |kind: &&str| lanes.iter().flat_map(|lane| &lane.marks).any(|mark| mark.kind == *kind);
        Some(CellLanes {
            bands: bands(study),
            blocks: block_numbers(study),
            height: HEIGHT,
            span: if most > 0.0 { format!("±{}", number::percent(most)) } else { "nothing".to_owned() },
            kinds: ["warmup", "bad", "invalid"].into_iter().filter(occurs).collect(),
            summary: summary(study),
            lanes,
        })
    }
}

fn kind(point: &PointMark) -> &'static str {
    match point.outcome {
        Outcome::Invalid => "invalid",
        Outcome::Ok if point.block.is_none() => "warmup",
        Outcome::Ok => "ok",
        _ => "bad",
    }
}

/// Runs of the same block that follow each other: first place and length. None where blocks are no stretches of time.
fn stretches(study: &Analysis) -> Vec<(u32, usize, usize)> {
    if matches!(study.order, OrderKind::Complete | OrderKind::Nested) {
        return Vec::new();
    }
    let mut stretches: Vec<(u32, usize, usize)> = Vec::new();
    for (place, point) in study.points.iter().enumerate() {
        let Some(block) = point.block else { continue };
        match stretches.last_mut() {
            Some((last, start, length)) if *last == block && *start + *length == place => *length += 1,
            _ => stretches.push((block, place, 1)),
        }
    }
    stretches
}

fn across(study: &Analysis, place: usize) -> f64 {
    round(1.0 + 98.0 * place as f64 / study.points.len() as f64)
}

fn bands(study: &Analysis) -> Vec<(f64, f64)> {
    let shaded = stretches(study).into_iter().filter(|(block, _, _)| block % 2 == 0);
    shaded
        .map(|(_, start, length)| (across(study, start), round(across(study, start + length) - across(study, start))))
        .collect()
}

/// At most ten numbers, so that they stay apart on a phone.
fn block_numbers(study: &Analysis) -> Vec<Tick> {
    let stretches = stretches(study);
    let step = stretches.len().div_ceil(10).max(1);
    let numbered = stretches.into_iter().step_by(step);
    numbered
        .map(|(block, start, length)| Tick {
            at: round((across(study, start) + across(study, start + length)) / 2.0),
            label: (block + 1).to_string(),
        })
        .collect()
}

fn title(point: &PointMark, metric: &str, unit: &str) -> String {
    let place = point.block.map_or("warm-up, not analysed".to_owned(), |block| format!("block {}", block + 1));
    let attempt = if point.attempt > 1 { format!(", attempt {}", point.attempt) } else { String::new() };
    let value =
        point.values.get(metric).map_or(String::new(), |value| format!(" · {}", number::with_unit(*value, unit)));
    let reason = point.reason.as_deref().map_or(String::new(), |reason| format!(": {}", printable(reason)));
    let cell = printable(&point.cell);
    format!("Run {}: {cell}{value} · {}{reason} · {place}{attempt}", point.index + 1, point.outcome.word())
}

fn summary(study: &Analysis) -> String {
    let count = |wanted: &str| study.points.iter().filter(|point| kind(point) == wanted).count();
    let mut parts = vec![format!("{} runs in the order they ran", study.points.len())];
    let kinds = [("warmup", "for warm-up"), ("bad", "ended badly"), ("invalid", "invalid and run again")];
    parts.extend(
        kinds.iter().map(|(kind, what)| (count(kind), what)).filter(|(n, _)| *n > 0).map(|(n, w)| format!("{n} {w}")),
    );
    format!("{}.", parts.join(", "))
}

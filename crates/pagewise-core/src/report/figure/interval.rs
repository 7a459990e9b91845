//! The ratio with its intervals against the margin and the line of no difference: as positions for a drawing, and drawn
//! in letters for terminals.

use super::Tick;
use super::axis::Axis;
use crate::experiment::analysis::{Effect, Interval};
use crate::report::printable::ascii;
use crate::report::two_arms::TwoArms;
use crate::report::{number, words};
use serde::Serialize;

/// One interval on the axis.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct Bar {
    pub(in crate::report) low: f64,
    pub(in crate::report) high: f64,
    pub(in crate::report) estimate: f64,
    pub(in crate::report) label: String,
    pub(in crate::report) value: String,
}

/// The interval plot.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct IntervalPlot {
    pub(in crate::report) margin_low: f64,
    pub(in crate::report) margin_high: f64,
    pub(in crate::report) none: f64,
    pub(in crate::report) bars: Vec<Bar>,
    pub(in crate::report) ticks: Vec<Tick>,
    pub(in crate::report) low_end: &'static str,
    pub(in crate::report) high_end: &'static str,
    pub(in crate::report) margin: String,
    pub(in crate::report) summary: String,
}

/// The axis of changes (ratio − 1) that shows both intervals, the whole margin and no difference.
fn axis(effect: &Effect, margin: f64, start: f64, end: f64) -> Option<Axis> {
    let shown =
        [effect.interval.low, effect.interval.high, effect.interval_equivalence.low, effect.interval_equivalence.high];
    let changes = shown.map(|ratio| ratio - 1.0).into_iter().chain([-margin, margin]);
    let (low, high) = changes
        .clone()
        .filter(|change| change.is_finite())
        .fold((0.0_f64, 0.0_f64), |(low, high), change| (low.min(change), high.max(change)));
    let room = (high - low) * 0.08;
    (room > 0.0).then_some(Axis { low: low - room, high: high + room, start, end })
}

fn tick_label(change: f64) -> String {
    if change.abs() < 1e-9 { "0".to_owned() } else { short_change(change) }
}

/// `+2 %`, `−0.5 %`: no more decimals than a round number needs.
pub(in crate::report) fn short_change(change: f64) -> String {
    let percent = (change * 1e4).round() / 100.0;
    let text = format!("{percent:+}").replace('-', "−");
    format!("{text} %")
}

impl IntervalPlot {
    /// `None` without an estimate.
    pub(in crate::report) fn of(two: &TwoArms<'_>) -> Option<IntervalPlot> {
        let effect = two.one.effect.as_ref()?;
        let axis = axis(effect, two.metric.margin, 2.0, 98.0)?;
        let at = |ratio: f64| axis.at(ratio - 1.0);
        let bar = |interval: Interval, level: f64, what: &str| Bar {
            low: at(interval.low),
            high: at(interval.high),
            estimate: at(effect.ratio),
            label: format!("{} interval{what}", number::percent(level)),
            value: format!("{} to {}", number::change(interval.low), number::change(interval.high)),
        };
        let (low_end, high_end) = words::axis_ends(two.metric.metric.direction);
        let margin = number::percent(two.metric.margin);
        let bars = vec![
            bar(effect.interval, 1.0 - two.analysis.alpha, ""),
            bar(effect.interval_equivalence, 1.0 - 2.0 * two.analysis.alpha, ", for equivalence"),
        ];
        let summary = format!(
            "B against A: {}; {}: {}; {}: {}; margin ±{margin}.",
            number::change(effect.ratio),
            bars[0].label,
            bars[0].value,
            bars[1].label,
            bars[1].value
        );
        Some(IntervalPlot {
            margin_low: at(1.0 - two.metric.margin),
            margin_high: at(1.0 + two.metric.margin),
            none: at(1.0),
            bars,
            ticks: axis.ticks(5).into_iter().map(|v| Tick { at: axis.at(v), label: tick_label(v) }).collect(),
            low_end,
            high_end,
            margin: format!("±{margin}"),
            summary,
        })
    }
}

/// The letters a drawing is made of.
struct Glyphs {
    rule: char,
    tick: char,
    none: char,
    margin: char,
    end_low: char,
    end_high: char,
    line: char,
    estimate: char,
}

const UNICODE: Glyphs =
    Glyphs {
        rule: '─', tick: '┴', none: '│', margin: '░', end_low: '├', end_high: '┤', line: '─', estimate: '●'
    };

const ASCII: Glyphs =
    Glyphs { rule: '-', tick: '+', none: '|', margin: ':', end_low: '[', end_high: ']', line: '=', estimate: 'O' };

/// The intervals drawn in letters, `columns` wide; empty without an estimate.
pub(in crate::report) fn interval_drawing(two: &TwoArms<'_>, columns: usize, unicode: bool) -> String {
    const LABEL: usize = 16;
    let Some(effect) = &two.one.effect else { return String::new() };
    let width = columns.saturating_sub(LABEL + 2).max(20);
    let Some(axis) = axis(effect, two.metric.margin, 0.0, (width - 1) as f64) else { return String::new() };
    let letters = if unicode { UNICODE } else { ASCII };
    let at = |change: f64| (axis.at(change).round() as usize).min(width - 1);
    let background = || {
        let mut row = vec![' '; width];
        fill(&mut row, at(-two.metric.margin), at(two.metric.margin), letters.margin);
        row[at(0.0)] = letters.none;
        row
    };
    let interval = |interval: Interval| {
        let mut row = background();
        let (low, high) = (at(interval.low - 1.0), at(interval.high - 1.0));
        fill(&mut row, low, high, letters.line);
        row[low] = letters.end_low;
        row[high] = letters.end_high;
        row[at(effect.ratio - 1.0)] = letters.estimate;
        row
    };
    let ticks: Vec<(usize, String)> = axis.ticks(5).into_iter().map(|v| (at(v), tick_label(v))).collect();
    let mut rule = vec![letters.rule; width];
    ticks.iter().for_each(|(column, _)| rule[*column] = letters.tick);
    let rows = [
        (format!("±{} margin", number::percent(two.metric.margin)), background()),
        (format!("{} interval", number::percent(1.0 - two.analysis.alpha)), interval(effect.interval)),
        (
            format!("{} interval", number::percent(1.0 - 2.0 * two.analysis.alpha)),
            interval(effect.interval_equivalence),
        ),
        (String::new(), rule),
        ("B against A".to_owned(), tick_row(&ticks, width)),
    ];
    let mut out = String::new();
    for (label, row) in rows {
        let label = if unicode { label } else { ascii(&label) };
        let row: String = row.into_iter().collect();
        let row = if unicode { row } else { ascii(&row) };
        out.push_str(format!("  {label:<LABEL$}{row}").trim_end());
        out.push('\n');
    }
    out
}

/// Fills from one column to another, whichever comes first.
fn fill(row: &mut [char], from: usize, to: usize, letter: char) {
    row[from.min(to)..=from.max(to)].fill(letter);
}

/// Labels centred under their ticks; one that would touch the one before is left out.
fn tick_row(ticks: &[(usize, String)], width: usize) -> Vec<char> {
    let mut row = vec![' '; width];
    let mut free = 0;
    for (column, label) in ticks {
        let letters: Vec<char> = label.chars().collect();
        let start = column.saturating_sub(letters.len() / 2).min(width.saturating_sub(letters.len()));
        if start < free || letters.len() > width {
            continue;
        }
        row[start..start + letters.len()].copy_from_slice(&letters);
        free = start + letters.len() + 1;
    }
    row
}

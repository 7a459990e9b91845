//! Every run in the order it ran: drift, outliers, warm-up, replaced attempts and bad ends are seen here.

use super::axis::Axis;
use super::{Mark, Segment, Tick, mark_kind, round};
use crate::experiment::analysis::PointMark;
use crate::report::number;
use crate::report::printable::printable;
use crate::report::two_arms::TwoArms;
use serde::Serialize;

/// Where the lane of runs without a usable value lies, in pixels from the top.
const LANE: f64 = 20.0;

const HEIGHT: f64 = 260.0;

/// When no run has a value, the lane is all there is.
const LANE_ALONE: f64 = 76.0;

/// The run order strip.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct RunOrder {
    pub(in crate::report) height: f64,
    /// Values, with `at` in pixels from the top.
    pub(in crate::report) ticks: Vec<Tick>,
    /// Every second pair: start and width.
    pub(in crate::report) bands: Vec<(f64, f64)>,
    /// Numbers of pairs under the figure, with `at` in percent across.
    pub(in crate::report) pairs: Vec<Tick>,
    /// Where warm-up ends, if there is any.
    pub(in crate::report) warmup_until: Option<f64>,
    /// The medians of both arms, across the figure.
    pub(in crate::report) medians: Vec<Segment>,
    /// From each good run of an arm to the next.
    pub(in crate::report) links: Vec<Segment>,
    pub(in crate::report) marks: Vec<Mark>,
    /// Kinds of marks that occur, for the key.
    pub(in crate::report) kinds: Vec<&'static str>,
    /// The lane for runs without a usable value, if there is one.
    pub(in crate::report) lane: Option<f64>,
    pub(in crate::report) foot: f64,
    pub(in crate::report) summary: String,
}

impl RunOrder {
    /// `None` when no run has a value and none ended badly.
    pub(in crate::report) fn of(two: &TwoArms<'_>) -> Option<RunOrder> {
        let points = &two.analysis.points;
        let in_lane = |point: &PointMark| matches!(mark_kind(point), "bad" | "invalid") || two.value(point).is_none();
        let lane = points.iter().any(in_lane).then_some(LANE);
        let top = if lane.is_some() { LANE + 34.0 } else { 22.0 };
        let scaled = || points.iter().filter(|point| !in_lane(point)).filter_map(|point| two.value(point));
        let height = if scaled().next().is_some() { HEIGHT } else { LANE_ALONE };
        let foot = height - 24.0;
        let axis = Axis::around(scaled(), foot, top);
        if axis.is_none() && lane.is_none() {
            return None;
        }
        let x = Columns { count: points.len() };
        let unit = printable(two.unit());
        let y = |point: &PointMark| match (&axis, two.value(point)) {
            (Some(axis), Some(value)) if !in_lane(point) => axis.at(value),
            _ => LANE,
        };
        let marks = points.iter().enumerate().map(|(n, point)| Mark {
            x: x.middle(n),
            y: y(point),
            arm: two.arm_of(point).to_owned(),
            kind: mark_kind(point),
            title: title(two, point, &unit),
        });
        let marks: Vec<Mark> = marks.collect();
        let ticks = axis.iter().flat_map(|axis| {
            axis.ticks(4).into_iter().map(|value| Tick { at: axis.at(value), label: number::tick(value, &unit) })
        });
        Some(RunOrder {
            height,
            ticks: ticks.collect(),
            bands: bands(points, x),
            pairs: pair_numbers(points, x),
            warmup_until: warmup_until(points, x),
            medians: axis.iter().flat_map(|axis| medians(two, axis, &unit)).collect(),
            links: links(&marks),
            kinds: ["warmup", "bad", "invalid"]
                .into_iter()
                .filter(|kind| marks.iter().any(|m| m.kind == *kind))
                .collect(),
            marks,
            lane,
            foot,
            summary: summary(two),
        })
    }
}

/// As many equal columns as there are runs.
#[derive(Clone, Copy)]
struct Columns {
    count: usize,
}

impl Columns {
    /// Room at the left for the labels of the grid.
    const START: f64 = 11.0;
    const END: f64 = 99.5;

    fn left(self, column: usize) -> f64 {
        let share = column as f64 / self.count.max(1) as f64;
        round(Self::START + share * (Self::END - Self::START))
    }

    fn middle(self, column: usize) -> f64 {
        round((self.left(column) + self.left(column + 1)) / 2.0)
    }
}

fn bands(points: &[PointMark], x: Columns) -> Vec<(f64, f64)> {
    let mut bands = Vec::new();
    let mut start = 0;
    while start < points.len() {
        let block = points[start].block;
        let length = points[start..].iter().take_while(|point| point.block == block).count();
        if block.is_some_and(|block| block % 2 == 0) {
            bands.push((x.left(start), round(x.left(start + length) - x.left(start))));
        }
        start += length;
    }
    bands
}

/// At most ten numbers, so that they stay apart on a phone.
fn pair_numbers(points: &[PointMark], x: Columns) -> Vec<Tick> {
    let blocks: Vec<u32> = points.iter().filter_map(|point| point.block).collect();
    let count = blocks.iter().max().map_or(0, |last| last + 1);
    let step = count.div_ceil(10).max(1);
    let number = |block: u32| {
        let mut columns = (0..points.len()).filter(|n| points[*n].block == Some(block));
        let first = columns.next()?;
        let last = columns.next_back().unwrap_or(first);
        Some(Tick { at: round((x.left(first) + x.left(last + 1)) / 2.0), label: (block + 1).to_string() })
    };
    (0..count).filter(|block| block % step == 0).filter_map(number).collect()
}

fn warmup_until(points: &[PointMark], x: Columns) -> Option<f64> {
    let count = points.iter().take_while(|point| point.block.is_none()).count();
    (count > 0).then(|| x.left(count))
}

fn medians(two: &TwoArms<'_>, axis: &Axis, unit: &str) -> Vec<Segment> {
    let median = |kind: &'static str, value: Option<f64>| {
        value.map(|value| Segment {
            x1: Columns::START,
            y1: axis.at(value),
            x2: Columns::END,
            y2: axis.at(value),
            kind,
            title: format!("median of {}: {}", kind.to_uppercase(), number::with_unit(value, unit)),
        })
    };
    [median("a", two.a.values.median), median("b", two.b.values.median)].into_iter().flatten().collect()
}

fn links(marks: &[Mark]) -> Vec<Segment> {
    let of_arm = |arm: &'static str| {
        let ok: Vec<&Mark> = marks.iter().filter(|mark| mark.arm == arm && mark.kind == "ok").collect();
        ok.windows(2)
            .map(|two| Segment {
                x1: two[0].x,
                y1: two[0].y,
                x2: two[1].x,
                y2: two[1].y,
                kind: arm,
                title: String::new(),
            })
            .collect::<Vec<_>>()
    };
    let mut links = of_arm("a");
    links.extend(of_arm("b"));
    links
}

fn title(two: &TwoArms<'_>, point: &PointMark, unit: &str) -> String {
    let place = match point.block {
        Some(block) => format!("pair {}, run {} of the pair", block + 1, point.position + 1),
        None => "warm-up, not analysed".to_owned(),
    };
    let attempt = if point.attempt > 1 { format!(", attempt {}", point.attempt) } else { String::new() };
    let value = two.value(point).map_or(String::new(), |value| format!(" · {}", number::with_unit(value, unit)));
    let reason = point.reason.as_deref().map_or(String::new(), |reason| format!(": {}", printable(reason)));
    let arm = two.arm_of(point).to_uppercase();
    format!("Run {}: {arm}{value} · {}{reason} · {place}{attempt}", point.index + 1, point.outcome.word())
}

fn summary(two: &TwoArms<'_>) -> String {
    let bad = two.one.outcomes.a_bad + two.one.outcomes.b_bad;
    let invalid = two.analysis.points.iter().filter(|point| mark_kind(point) == "invalid").count();
    let warmup = two.analysis.points.iter().filter(|point| point.block.is_none()).count();
    let mut parts = vec![format!("{} runs in the order they ran", two.analysis.points.len())];
    let kinds = [(warmup, "for warm-up"), (bad as usize, "ended badly"), (invalid, "invalid and run again")];
    parts.extend(kinds.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")));
    format!("{}.", parts.join(", "))
}

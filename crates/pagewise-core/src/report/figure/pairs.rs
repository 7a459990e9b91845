//! A line per complete pair, from A to B: whether one arm wins in most pairs or only on average.

use super::axis::Axis;
use super::{Mark, Segment, Tick, round};
use crate::experiment::analysis::PointMark;
use crate::experiment::point::Outcome;
use crate::metric::Direction;
use crate::report::number;
use crate::report::printable::printable;
use crate::report::two_arms::TwoArms;
use serde::Serialize;
use std::collections::BTreeMap;

const HEIGHT: f64 = 280.0;
const A_AT: f64 = 30.0;
const B_AT: f64 = 80.0;

/// The paired slopes.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct PairSlopes {
    pub(in crate::report) height: f64,
    pub(in crate::report) a_at: f64,
    pub(in crate::report) b_at: f64,
    pub(in crate::report) foot: f64,
    pub(in crate::report) ticks: Vec<Tick>,
    pub(in crate::report) slopes: Vec<Segment>,
    pub(in crate::report) marks: Vec<Mark>,
    pub(in crate::report) summary: String,
}

struct Pair<'a> {
    number: u32,
    a: &'a PointMark,
    b: &'a PointMark,
    a_value: f64,
    b_value: f64,
}

impl PairSlopes {
    /// `None` without a complete pair.
    pub(in crate::report) fn of(two: &TwoArms<'_>) -> Option<PairSlopes> {
        let pairs = complete_pairs(two);
        let foot = HEIGHT - 30.0;
        let axis = Axis::around(pairs.iter().flat_map(|pair| [pair.a_value, pair.b_value]), foot, 14.0)?;
        let unit = printable(two.unit());
        let tick = |value: f64| Tick { at: axis.at(value), label: number::tick(value, &unit) };
        let better = pairs.iter().filter(|pair| style(pair, two.metric.metric.direction) == "better").count();
        let slope = |pair: &Pair<'_>| Segment {
            x1: A_AT,
            y1: axis.at(pair.a_value),
            x2: B_AT,
            y2: axis.at(pair.b_value),
            kind: style(pair, two.metric.metric.direction),
            title: title(pair, &unit),
        };
        let mark = |pair: &Pair<'_>, arm: &str| Mark {
            x: round(if arm == "a" { A_AT } else { B_AT }),
            y: axis.at(if arm == "a" { pair.a_value } else { pair.b_value }),
            arm: arm.to_owned(),
            kind: "ok",
            title: title(pair, &unit),
        };
        Some(PairSlopes {
            height: HEIGHT,
            a_at: A_AT,
            b_at: B_AT,
            foot,
            ticks: axis.ticks(4).into_iter().map(tick).collect(),
            slopes: pairs.iter().map(slope).collect(),
            marks: pairs.iter().flat_map(|pair| [mark(pair, "a"), mark(pair, "b")]).collect(),
            summary: format!("B is better in {better} of {} complete pairs.", pairs.len()),
        })
    }
}

fn complete_pairs<'r>(two: &TwoArms<'r>) -> Vec<Pair<'r>> {
    let mut by_block: BTreeMap<u32, (Option<&PointMark>, Option<&PointMark>)> = BTreeMap::new();
    let good = |point: &&PointMark| point.outcome == Outcome::Ok && two.value(point).is_some();
    for point in two.analysis.points.iter().filter(good) {
        let Some(block) = point.block else { continue };
        let pair = by_block.entry(block).or_default();
        if two.arm_of(point) == "a" { pair.0 = Some(point) } else { pair.1 = Some(point) }
    }
    let complete = by_block.into_iter().filter_map(|(block, (a, b))| {
        let (a, b) = (a?, b?);
        Some(Pair { number: block + 1, a, b, a_value: two.value(a)?, b_value: two.value(b)? })
    });
    complete.collect()
}

fn style(pair: &Pair<'_>, direction: Direction) -> &'static str {
    let b_better = match direction {
        Direction::Lower => pair.b_value < pair.a_value,
        Direction::Higher => pair.b_value > pair.a_value,
    };
    if b_better { "better" } else { "worse" }
}

fn title(pair: &Pair<'_>, unit: &str) -> String {
    let first = if pair.a.position < pair.b.position { "A" } else { "B" };
    format!(
        "Pair {}, {first} first: A {}, B {}, {}",
        pair.number,
        number::with_unit(pair.a_value, unit),
        number::with_unit(pair.b_value, unit),
        number::change(pair.b_value / pair.a_value)
    )
}

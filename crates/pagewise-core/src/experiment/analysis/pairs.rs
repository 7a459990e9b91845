//! Which points count: results, their arms, and the pairs whose two values can be compared.

use super::{PointMark, Question};
use crate::experiment::point::{Outcome, Point};
use std::collections::{BTreeMap, BTreeSet};

/// The arm a point belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    A,
    B,
}

impl Side {
    pub(super) const BOTH: [Side; 2] = [Side::A, Side::B];

    fn letter(self) -> &'static str {
        match self {
            Side::A => "a",
            Side::B => "b",
        }
    }
}

/// Two points next to each other in time, one of each arm, both `ok` and both with the metric.
#[derive(Clone, Copy)]
pub(super) struct Pair<'p> {
    pub(super) block: u32,
    pub(super) a_first: bool,
    pub(super) a: Run<'p>,
    pub(super) b: Run<'p>,
}

/// A point of a complete pair with its value of the metric.
#[derive(Clone, Copy)]
pub(super) struct Run<'p> {
    pub(super) point: &'p Point,
    pub(super) value: f64,
}

impl Pair<'_> {
    pub(super) fn run(&self, side: Side) -> Run<'_> {
        match side {
            Side::A => self.a,
            Side::B => self.b,
        }
    }
}

/// The points of a trial, in run order, and what follows from their outcomes.
pub(super) struct Trial<'p> {
    /// Every attempt at every point of the two arms, warm-up included.
    pub(super) points: Vec<(Side, &'p Point)>,
    /// Complete pairs, by block.
    pub(super) pairs: Vec<Pair<'p>>,
    /// Pairs whose two points are `ok`, one of them without the metric.
    pub(super) without_metric: u32,
}

impl<'p> Trial<'p> {
    pub(super) fn of(question: &Question, points: &'p [Point]) -> Trial<'p> {
        let mut points: Vec<(Side, &Point)> =
            points.iter().filter_map(|point| Some((side_of(question, point)?, point))).collect();
        points.sort_by_key(|(_, point)| (point.planned.index, point.attempt, &point.started_at));
        let mut trial = Trial { points, pairs: Vec::new(), without_metric: 0 };
        trial.pair_up(&question.metric.name);
        trial
    }

    fn pair_up(&mut self, metric: &str) {
        let mut blocks: BTreeMap<u32, (Option<&'p Point>, Option<&'p Point>)> = BTreeMap::new();
        // Later attempts come later in the run order and take the place of earlier ones.
        for (side, point) in self.results() {
            let Some(block) = point.planned.block else { continue };
            let slots = blocks.entry(block).or_default();
            match side {
                Side::A => slots.0 = Some(point),
                Side::B => slots.1 = Some(point),
            }
        }
        for (block, slots) in blocks {
            let (Some(a), Some(b)) = slots else { continue };
            if a.outcome != Outcome::Ok || b.outcome != Outcome::Ok {
                continue;
            }
            match (measured(a, metric), measured(b, metric)) {
                (Some(a), Some(b)) => {
                    let a_first = a.point.planned.position < b.point.planned.position;
                    self.pairs.push(Pair { block, a_first, a, b });
                }
                _ => self.without_metric += 1,
            }
        }
    }

    /// Points that are results: not warm-up, not invalid.
    pub(super) fn results(&self) -> Vec<(Side, &'p Point)> {
        let is_result = |point: &Point| !point.planned.is_warmup() && point.outcome != Outcome::Invalid;
        self.points.iter().filter(|(_, point)| is_result(point)).copied().collect()
    }

    /// Values of one arm in complete pairs.
    pub(super) fn values(&self, side: Side) -> Vec<f64> {
        self.pairs.iter().map(|pair| pair.run(side).value).collect()
    }

    /// Values of one arm as they are told: those in complete pairs, and where no pair is complete those of every good run. An arm
    /// whose other one always fails has been measured, too.
    pub(super) fn told_values(&self, side: Side, metric: &str) -> Vec<f64> {
        if !self.pairs.is_empty() {
            return self.values(side);
        }
        let good = self.results().into_iter().filter(|(of, point)| *of == side && point.outcome == Outcome::Ok);
        good.filter_map(|(_, point)| Some(measured(point, metric)?.value)).collect()
    }

    /// How often each outcome occurred in one arm, invalid attempts included.
    pub(super) fn outcomes(&self, side: Side) -> BTreeMap<String, u32> {
        let mut counts = BTreeMap::new();
        for (_, point) in self.points.iter().filter(|(of, point)| *of == side && !point.planned.is_warmup()) {
            *counts.entry(point.outcome.word().to_owned()).or_insert(0) += 1;
        }
        counts
    }

    /// Invalid attempts at points that count.
    pub(super) fn invalid(&self) -> Vec<&'p Point> {
        let replaced = |point: &Point| !point.planned.is_warmup() && point.outcome == Outcome::Invalid;
        self.points.iter().map(|(_, point)| *point).filter(|point| replaced(point)).collect()
    }

    /// Names of measures that every run of every complete pair has.
    pub(super) fn common_measures(&self) -> BTreeSet<&'p str> {
        let runs = self.pairs.iter().flat_map(|pair| [pair.a.point, pair.b.point]);
        let names = |point: &'p Point| -> BTreeSet<&'p str> {
            point.measures.iter().filter(|(_, value)| value.is_finite()).map(|(name, _)| name.as_str()).collect()
        };
        runs.map(names).reduce(|common, next| &common & &next).unwrap_or_default()
    }

    /// Names of kernel counters that every run of every complete pair has.
    pub(super) fn common_counters(&self) -> BTreeSet<&'p str> {
        let runs = self.pairs.iter().flat_map(|pair| [pair.a.point, pair.b.point]);
        let names = |point: &'p Point| -> BTreeSet<&'p str> { point.counters.keys().map(String::as_str).collect() };
        runs.map(names).reduce(|common, next| &common & &next).unwrap_or_default()
    }

    /// Every attempt as reports draw it.
    pub(super) fn marks(&self, metric: &str) -> Vec<PointMark> {
        let mark = |(side, point): &(Side, &Point)| PointMark {
            index: point.planned.index,
            block: point.planned.block,
            position: point.planned.position,
            arm: side.letter().to_owned(),
            attempt: point.attempt,
            outcome: point.outcome,
            reason: point.reason.clone(),
            value: measured(point, metric).map(|run| run.value),
        };
        self.points.iter().map(mark).collect()
    }
}

fn side_of(question: &Question, point: &Point) -> Option<Side> {
    match &point.planned.cell {
        level if *level == question.a => Some(Side::A),
        level if *level == question.b => Some(Side::B),
        _ => None,
    }
}

fn measured<'p>(point: &'p Point, metric: &str) -> Option<Run<'p>> {
    let value = point.measures.get(metric).copied().filter(|value| value.is_finite())?;
    Some(Run { point, value })
}

//! Which points count, and what they gave: a value for every cell in every block, or a reason why there is none.

use super::{CellSummary, Declared, PointMark, Summary};
use crate::experiment::order::BlockProgress;
use crate::experiment::point::{Outcome, Point};
use crate::stats::summary;
use indexmap::IndexMap;
use std::collections::{BTreeMap, BTreeSet};

/// The points of a trial by cell and block.
pub(crate) struct Values<'p> {
    /// Every attempt at every point of the order, in run order, warm-up included.
    pub(super) points: Vec<&'p Point>,
    /// The result of each cell in each block. Later attempts take the place of earlier ones.
    results: BTreeMap<(u32, &'p str), &'p Point>,
    /// Blocks that count.
    blocks: u32,
    /// How far each of them is.
    progress: Vec<BlockProgress>,
}

impl<'p> Values<'p> {
    /// Sorts the points. With `until`, only so many blocks count.
    pub(crate) fn of(declared: &Declared<'_>, points: &'p [Point], until: Option<u32>) -> Values<'p> {
        let blocks = until.unwrap_or(declared.plan.design.blocks);
        let known: BTreeSet<&str> = declared.cells.iter().map(|cell| cell.label.as_str()).collect();
        let progress = declared.order.progress(points).into_iter().filter(|(block, _)| *block < blocks);
        let progress = progress.map(|(_, progress)| progress).collect();
        let mut points: Vec<&Point> =
            points.iter().filter(|point| known.contains(point.planned.cell.as_str())).collect();
        points.sort_by_key(|point| (point.planned.index, point.attempt, &point.started_at));
        let mut results = BTreeMap::new();
        for point in points.iter().filter(|point| point.outcome != Outcome::Invalid) {
            if let Some(block) = point.planned.block.filter(|block| *block < blocks) {
                results.insert((block, point.planned.cell.as_str()), *point);
            }
        }
        Values { points, results, blocks, progress }
    }

    /// The result of a cell in a block.
    pub(super) fn result(&self, block: u32, cell: &str) -> Option<&'p Point> {
        self.results.get(&(block, cell)).copied()
    }

    /// The good run of a cell in a block.
    pub(crate) fn good(&self, block: u32, cell: &str) -> Option<&'p Point> {
        self.result(block, cell).filter(|point| point.outcome == Outcome::Ok)
    }

    /// What the good run of a cell in a block measured.
    pub(super) fn value(&self, block: u32, cell: &str, measure: &str) -> Option<f64> {
        self.good(block, cell)?.measures.get(measure).copied().filter(|value| value.is_finite())
    }

    /// Blocks that count, from 0.
    pub(crate) fn blocks(&self) -> std::ops::Range<u32> {
        0..self.blocks
    }

    /// Blocks that have any result.
    pub(super) fn begun_blocks(&self) -> u32 {
        self.progress.iter().filter(|block| block.done > 0).count() as u32
    }

    /// Values of a cell's good runs, by block.
    pub(super) fn of_cell(&self, cell: &str, measure: &str) -> Vec<f64> {
        self.blocks().filter_map(|block| self.value(block, cell, measure)).collect()
    }

    /// Results of these cells, and how many of them are bad.
    pub(super) fn outcomes(&self, cells: &[&str]) -> (u32, u32) {
        let results = self.results.iter().filter(|((_, cell), _)| cells.contains(cell));
        results.fold((0, 0), |(bad, all), (_, point)| (bad + u32::from(point.outcome.is_bad()), all + 1))
    }

    /// How often each outcome occurred in a cell, invalid attempts included.
    pub(super) fn outcome_counts(&self, cell: &str) -> BTreeMap<String, u32> {
        let mut counts = BTreeMap::new();
        for point in self.points.iter().filter(|point| point.planned.cell == cell && !point.planned.is_warmup()) {
            *counts.entry(point.outcome.word().to_owned()).or_insert(0) += 1;
        }
        counts
    }

    /// Results of the order that count, in run order.
    pub(crate) fn in_run_order(&self) -> Vec<&'p Point> {
        let mut results: Vec<&Point> = self.results.values().copied().collect();
        results.sort_by_key(|point| point.planned.index);
        results
    }

    /// Blocks in which every cell has a result.
    pub(crate) fn complete_blocks(&self) -> u32 {
        self.progress.iter().filter(|block| block.is_complete()).count() as u32
    }

    pub(super) fn summaries(&self, declared: &Declared<'_>) -> Vec<CellSummary> {
        let of_cell = |cell: &crate::experiment::plan::cells::Cell| {
            let values = declared.metrics.iter().map(|metric| {
                let name = &metric.metric.name;
                (name.clone(), summarise(&self.of_cell(&cell.label, name)))
            });
            CellSummary {
                label: cell.label.clone(),
                levels: cell.levels.clone(),
                policy: cell.policy.to_string(),
                outcomes: self.outcome_counts(&cell.label),
                values: values.collect(),
            }
        };
        declared.cells.iter().map(of_cell).collect()
    }

    pub(super) fn marks(&self, declared: &Declared<'_>) -> Vec<PointMark> {
        let mark = |point: &&Point| {
            let value = |name: &str| point.measures.get(name).copied().filter(|value| value.is_finite());
            let names = declared.metrics.iter().map(|metric| metric.metric.name.as_str());
            PointMark {
                index: point.planned.index,
                block: point.planned.block,
                position: point.planned.position,
                boot: point.planned.boot,
                cell: point.planned.cell.clone(),
                attempt: point.attempt,
                outcome: point.outcome,
                reason: point.reason.clone(),
                values: names
                    .filter_map(|name| Some((name.to_owned(), value(name)?)))
                    .collect::<IndexMap<String, f64>>(),
            }
        };
        self.points.iter().map(mark).collect()
    }
}

pub(super) fn summarise(values: &[f64]) -> Summary {
    Summary {
        n: values.len() as u32,
        mean: summary::mean(values),
        sd: summary::standard_deviation(values),
        median: summary::median(values),
    }
}

//! What one run left to the next in a trial of Williams squares, where every cell follows every other equally often.

use super::values::Values;
use super::{CarryOver, Declared, Interval};
use crate::experiment::plan::OrderKind;
use crate::experiment::point::Point;
use crate::stats::carry_over::{self, Run};
use std::collections::BTreeMap;

/// Its level: that of all that is looked for in every trial.
const LEVEL: f64 = crate::comparison::doubts::LEVEL_OF_DOUBTS;

/// The carry-over of the first metric. `None` for other orders, and where the runs do not tell it.
pub(super) fn of(declared: &Declared<'_>, values: &Values<'_>) -> Option<CarryOver> {
    if declared.order.kind != OrderKind::Williams || declared.cells.len() > carry_over::MOST_CELLS {
        return None;
    }
    let metric = &declared.metrics.first()?.metric.name;
    // The last attempt at each point.
    let ran: BTreeMap<u32, &Point> = values.points.iter().map(|point| (point.planned.index, *point)).collect();
    let runs: Vec<Run> = values
        .in_run_order()
        .into_iter()
        .filter_map(|point| {
            let cell = place_of(declared, &point.planned.cell)?;
            let block = point.planned.block?;
            let value = values.value(block, &point.planned.cell, metric).filter(|value| *value > 0.0)?;
            Some(Run {
                block: block as usize,
                place: point.planned.position as usize,
                cell,
                before: before(declared, &ran, point),
                value: libm::log(value),
            })
        })
        .collect();
    let found = carry_over::estimate(&runs)?;
    let (low, high) = found.interval(LEVEL);
    let (share, interval, runs) = (found.estimate, Interval { low, high }, runs.len() as u32);
    Some(CarryOver { share, interval, level: LEVEL, p: found.p, runs })
}

/// What is told when the interval excludes zero.
pub(super) fn told(carry_over: &CarryOver) -> Option<String> {
    let Interval { low, high } = carry_over.interval;
    if low <= 0.0 && high >= 0.0 {
        return None;
    }
    let percent = |share: f64| format!("{:+.0}", share * 100.0);
    Some(format!(
        "What a run leaves to the next is seen: {} % of the previous cell's effect ({:.0} % interval: {} to {} %; {} runs). \
         Differences inside blocks are off by a part of that.",
        percent(carry_over.share),
        (1.0 - carry_over.level) * 100.0,
        percent(low),
        percent(high),
        carry_over.runs
    ))
}

/// The cell that ran right before. Behind an attempt that was invalid, a boot, or nothing, nobody knows.
fn before(declared: &Declared<'_>, ran: &BTreeMap<u32, &Point>, point: &Point) -> Option<usize> {
    let other = ran.get(&point.planned.index.checked_sub(1)?)?;
    let is_known = point.attempt == 1 && other.boot_id == point.boot_id;
    if is_known { place_of(declared, &other.planned.cell) } else { None }
}

fn place_of(declared: &Declared<'_>, cell: &str) -> Option<usize> {
    declared.cells.iter().position(|known| known.label == cell)
}

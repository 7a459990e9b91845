//! The difference of every block as a dot, the first block on top: whether a level wins in most blocks or only on average,
//! and whether its difference changes while the trial runs.

use super::ratio_axis::RatioAxis;
use crate::experiment::analysis::Comparison;
use crate::report::figure::{Tick, round};
use crate::report::number;
use crate::report::study::content::{heading, place};
use crate::report::study::frame::{Frame, Group};
use serde::Serialize;

/// Pixels from one block to the next.
const STEP: f64 = 7.0;

/// Pixels above the first and below the last.
const EDGE: f64 = 8.0;

/// A row is never higher than this; with many blocks dots come closer.
const HIGHEST: f64 = 160.0;

/// The dot plot.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report::study) struct BlockDots {
    pub(in crate::report::study) groups: Vec<DotGroup>,
    pub(in crate::report::study) ticks: Vec<Tick>,
    pub(in crate::report::study) none: f64,
    pub(in crate::report::study) height: f64,
}

/// The rows of a contrast.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report::study) struct DotGroup {
    pub(in crate::report::study) heading: String,
    pub(in crate::report::study) rows: Vec<DotRow>,
}

/// A comparison.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report::study) struct DotRow {
    pub(in crate::report::study) name: String,
    pub(in crate::report::study) summary: String,
    pub(in crate::report::study) mean: Option<f64>,
    pub(in crate::report::study) dots: Vec<Dot>,
}

/// A block.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report::study) struct Dot {
    pub(in crate::report::study) x: f64,
    pub(in crate::report::study) y: f64,
    pub(in crate::report::study) title: String,
}

impl BlockDots {
    /// Claims and interactions of the first metric; all of its comparisons when there is no claim. `None` without a
    /// complete block.
    pub(in crate::report::study) fn of(frame: &Frame<'_>) -> Option<BlockDots> {
        let first = frame.first_metric();
        let claims = frame.report.analysis.comparisons.iter().any(|one| one.primary);
        let wanted = |one: &Comparison| {
            one.metric == first && !one.differences.is_empty() && (one.primary || !claims || one.interaction.is_some())
        };
        let groups = frame.groups(wanted);
        let all = groups.iter().flat_map(|group| &group.members).flat_map(|placed| &placed.comparison.differences);
        let axis = RatioAxis::around(all.map(|difference| difference.difference))?;
        let blocks = f64::from(frame.report.analysis.blocks_planned.max(1));
        let height = (2.0 * EDGE + STEP * blocks).min(HIGHEST);
        let step = (height - 2.0 * EDGE) / blocks;
        Some(BlockDots {
            groups: groups.iter().map(|group| dot_group(&axis, step, group)).collect(),
            ticks: axis.ticks(),
            none: axis.at(0.0),
            height,
        })
    }
}

fn dot_group(axis: &RatioAxis, step: f64, group: &Group<'_>) -> DotGroup {
    DotGroup {
        heading: heading(&group.first),
        rows: group.members.iter().map(|placed| dot_row(axis, step, placed.comparison)).collect(),
    }
}

fn dot_row(axis: &RatioAxis, step: f64, one: &Comparison) -> DotRow {
    let dot = |difference: &crate::experiment::analysis::BlockDifference| Dot {
        x: axis.at(difference.difference),
        y: round(EDGE + step * (f64::from(difference.block) + 0.5)),
        title: format!("Block {}: {}", difference.block + 1, number::change(libm::exp(difference.difference))),
    };
    let place = place(one);
    let lower = one.differences.iter().filter(|difference| difference.difference < 0.0).count();
    DotRow {
        name: if place.is_empty() { "overall".to_owned() } else { place },
        summary: format!("lower in {lower} of {} blocks", one.differences.len()),
        mean: one.effect.as_ref().map(|effect| axis.at(effect.log_ratio)),
        dots: one.differences.iter().map(dot).collect(),
    }
}

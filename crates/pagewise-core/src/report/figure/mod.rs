//! The figures of a report as positions, before anything is drawn: which mark stands where and what it says.
//!
//! Across, positions are percentages of the figure's width, so that one drawing fits a phone and a desk; down, they are
//! pixels, so that letters and marks keep their size.

pub(super) mod axis;
pub(super) mod interval;
mod pairs;
mod run_order;

pub(super) use interval::{IntervalPlot, interval_drawing};
pub(super) use pairs::PairSlopes;
pub(super) use run_order::RunOrder;

use crate::experiment::analysis::PointMark;
use crate::experiment::point::Outcome;
use serde::Serialize;

/// A line of the grid across the figure, or a tick under it.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Tick {
    pub(super) at: f64,
    pub(super) label: String,
}

/// One point, drawn in its arm's shape: a disc for A, a diamond for B.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Mark {
    pub(super) x: f64,
    pub(super) y: f64,
    /// `a` or `b`.
    pub(super) arm: String,
    /// `ok`, `warmup`, `bad` or `invalid`.
    pub(super) kind: &'static str,
    pub(super) title: String,
}

/// A straight line between two points.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Segment {
    pub(super) x1: f64,
    pub(super) y1: f64,
    pub(super) x2: f64,
    pub(super) y2: f64,
    /// A style: the arm, or `better` and `worse`.
    pub(super) kind: &'static str,
    pub(super) title: String,
}

/// Two decimals are enough for a percentage of a page and keep the file small.
pub(super) fn round(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

fn mark_kind(point: &PointMark) -> &'static str {
    match point.outcome {
        Outcome::Invalid => "invalid",
        Outcome::Ok if point.block.is_none() => "warmup",
        Outcome::Ok => "ok",
        _ => "bad",
    }
}

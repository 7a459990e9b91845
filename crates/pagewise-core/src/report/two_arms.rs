//! A trial of two levels as its views show it: its one comparison, its two arms, and its runs by arm.

use super::Report;
use crate::experiment::analysis::{Analysis, CellSummary, Comparison, JudgedMetric, PointMark, Summary};
use std::collections::BTreeMap;

/// One comparison that has a report to itself.
#[derive(Clone, Copy)]
pub(super) struct TwoArms<'r> {
    pub(super) report: &'r Report,
    pub(super) analysis: &'r Analysis,
    pub(super) one: &'r Comparison,
    pub(super) metric: &'r JudgedMetric,
    /// The base.
    pub(super) a: Arm<'r>,
    /// The judged level.
    pub(super) b: Arm<'r>,
}

/// One level and what its runs gave.
#[derive(Clone, Copy)]
pub(super) struct Arm<'r> {
    pub(super) level: &'r str,
    /// Its policy, as written.
    pub(super) policy: &'r str,
    pub(super) outcomes: &'r BTreeMap<String, u32>,
    pub(super) values: &'r Summary,
}

impl<'r> TwoArms<'r> {
    /// `None` of a matrix.
    pub(super) fn of(report: &'r Report) -> Option<TwoArms<'r>> {
        let analysis = &report.analysis;
        let ([one], [metric], true) =
            (analysis.comparisons.as_slice(), analysis.metrics.as_slice(), report.plan.is_two_arms())
        else {
            return None;
        };
        let cell = |level: &str| analysis.cells.iter().find(|cell| cell.label == level);
        let written = report.plan.factor(&one.factor);
        let arm = |cell: &'r CellSummary, values: &'r Summary| Arm {
            level: &cell.label,
            policy: written.and_then(|factor| factor.levels.get(&cell.label)).unwrap_or(&cell.policy),
            outcomes: &cell.outcomes,
            values,
        };
        let (a, b) = (arm(cell(&one.a)?, &one.a_values), arm(cell(&one.b)?, &one.b_values));
        Some(TwoArms { report, analysis, one, metric, a, b })
    }

    /// `a` or `b`.
    pub(super) fn arm_of(&self, point: &PointMark) -> &'static str {
        if point.cell == self.a.level { "a" } else { "b" }
    }

    /// The metric of a run, when it was taken.
    pub(super) fn value(&self, point: &PointMark) -> Option<f64> {
        point.values.get(&self.metric.metric.name).copied()
    }

    /// The metric's unit, as the points have it.
    pub(super) fn unit(&self) -> &'r str {
        &self.metric.metric.unit
    }
}

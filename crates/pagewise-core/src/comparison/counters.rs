//! Other columns of numbers, compared beside the value: which of them differ as well?
//!
//! Traces, not verdicts: Welch's test on each, and Benjamini and Hochberg over all of the call.

use super::analysis::MOST_COMPARISONS;
use super::cells::{Cell, Side};
use super::question::Question;
use super::table::Table;
use crate::stats::{benjamini_hochberg, percent, welch};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A column of numbers in one comparison.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CounterContrast {
    /// The column.
    pub name: String,
    /// The factor whose levels are compared.
    pub factor: String,
    /// Level of each other factor, by its name.
    pub by: BTreeMap<String, String>,
    /// The base.
    pub a: String,
    /// The level held against it.
    pub b: String,
    /// Mean of a over the runs that ended well.
    pub a_mean: f64,
    /// Mean of b.
    pub b_mean: f64,
    /// mean(b) − mean(a), in the unit of the column.
    pub difference: f64,
    /// Low end of its interval at 1 − alpha.
    pub ci_low: f64,
    /// High end.
    pub ci_high: f64,
    /// Change in percent of mean(a) with Fieller's interval. Null where that mean is not above zero or cannot be told from
    /// it.
    pub percent: Option<super::effects::Percent>,
    /// Two-sided p-value of Welch's test.
    pub p: f64,
    /// Benjamini and Hochberg's adjusted p: the share of false entries to expect in the list down to this one.
    pub q: f64,
}

/// The contrasts of all counters, most significant first. A counter that never moves has none.
pub(super) fn contrasts(table: &Table, question: &Question, cells: &[Cell]) -> Vec<CounterContrast> {
    let mut found = Vec::new();
    // A buffer per side for all of them: a table of counters has millions of values.
    let (mut a, mut b) = (Vec::new(), Vec::new());
    for cell in cells {
        for counter in &table.counters {
            gather(&cell.a, &counter.values, &mut a);
            gather(&cell.b, &counter.values, &mut b);
            found.extend(contrast(question, cell, &counter.name, &a, &b));
        }
        if found.len() > MOST_COMPARISONS * 100 {
            break;
        }
    }
    let p_values: Vec<f64> = found.iter().map(|contrast| contrast.p).collect();
    for (contrast, q) in found.iter_mut().zip(benjamini_hochberg::adjusted(&p_values)) {
        contrast.q = q;
    }
    // Stable: what is equally significant stays in the order of cells and columns.
    found.sort_by(|one, other| one.q.total_cmp(&other.q).then(one.p.total_cmp(&other.p)));
    found
}

fn gather(side: &Side, column: &[f64], into: &mut Vec<f64>) {
    into.clear();
    into.extend(side.good.iter().map(|row| column[*row]).filter(|value| value.is_finite()));
}

fn contrast(question: &Question, cell: &Cell, name: &str, a: &[f64], b: &[f64]) -> Option<CounterContrast> {
    let alpha = question.rule.alpha;
    let welch = welch::test(a, b, alpha)?;
    let fieller = percent::fieller(a, b, alpha).filter(|_| welch.mean_a > 0.0);
    let lowest = if a.iter().chain(b).all(|value| *value >= 0.0) { -1.0 } else { f64::NEG_INFINITY };
    let percent = fieller.map(|(low, high)| super::effects::Percent {
        estimate: -welch.difference * 100.0 / welch.mean_a,
        low: low.max(lowest) * 100.0,
        high: high * 100.0,
    });
    Some(CounterContrast {
        name: name.to_owned(),
        factor: cell.contrast.factor.clone(),
        by: cell.by.iter().cloned().collect(),
        a: cell.contrast.a.clone(),
        b: cell.contrast.b.clone(),
        a_mean: welch.mean_a,
        b_mean: welch.mean_b,
        difference: -welch.difference,
        ci_low: -welch.ci_high,
        ci_high: -welch.ci_low,
        percent,
        p: welch.p,
        q: 1.0,
    })
}

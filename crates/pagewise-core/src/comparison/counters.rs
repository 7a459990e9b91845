//! Other columns of numbers, compared beside the value: which of them differ as well?
//!
//! Traces, not verdicts: Welch's test on each, and Benjamini and Hochberg over all of the call.

use super::analysis::MOST_COMPARISONS;
use super::cells::{Cell, Side};
use super::question::Question;
use super::table::{Counter, Table};
use crate::stats::{benjamini_hochberg, percent, welch};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

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

/// The contrasts of all counters, most significant first. A counter that never moves has none, and is told of by
/// [`without_spread`].
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

/// A counter without a test, and the value it always has in each level, where it has one.
pub(super) struct Still<'t> {
    pub(super) name: &'t str,
    pub(super) a: Option<f64>,
    pub(super) b: Option<f64>,
}

/// The counters that have no contrast at all. Of several comparisons the first says what they are.
pub(super) fn without_spread<'t>(table: &'t Table, cells: &[Cell], found: &[CounterContrast]) -> Vec<Still<'t>> {
    let moves: BTreeSet<&str> = found.iter().map(|contrast| contrast.name.as_str()).collect();
    let first_of = |side: &Side, counter: &Counter| {
        side.good.iter().map(|row| counter.values[*row]).find(|value| value.is_finite())
    };
    let still = |counter: &'t Counter| {
        let cell = cells.first()?;
        Some(Still { name: &counter.name, a: first_of(&cell.a, counter), b: first_of(&cell.b, counter) })
    };
    table.counters.iter().filter(|counter| !moves.contains(counter.name.as_str())).filter_map(still).collect()
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

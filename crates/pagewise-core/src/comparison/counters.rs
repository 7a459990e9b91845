//! Other columns of numbers, compared beside the value: which of them differ as well?
//!
//! Traces, not verdicts: each by the estimator of its comparison, and Benjamini and Hochberg over all of the call.

use super::analysis::MOST_COMPARISONS;
use super::cells::{Cell, Side};
use super::estimate::{self, Design, Estimate};
use super::found::{Comparison, CounterContrast};
use super::plain_samples::Percent;
use super::question::Question;
use super::rule::LEAST_SPREAD;
use super::table::{Counter, Table};
use super::within::PairedBlocks;
use crate::stats::{percent, summary, welch};
use std::collections::BTreeSet;

/// Puts into each comparison the contrasts of all counters, most significant first. A counter that never moves has none, and is
/// told of by [`without_spread`].
pub(super) fn compare(table: &Table, question: &Question, cells: &[Cell], comparisons: &mut [Comparison]) {
    // A buffer per side for all of them: a table of counters has millions of values.
    let (mut a, mut b) = (Vec::new(), Vec::new());
    let mut total = 0;
    for (cell, comparison) in cells.iter().zip(comparisons.iter_mut()) {
        let within = (comparison.method != Design::Independent).then(|| PairedBlocks::of(table, cell));
        for counter in &table.counters {
            comparison.counters.extend(match &within {
                Some(within) => of_blocks(question, comparison.method, within, counter),
                None => {
                    gather(&cell.a, &counter.values, &mut a);
                    gather(&cell.b, &counter.values, &mut b);
                    of_samples(question, &counter.name, &a, &b)
                }
            });
        }
        comparison.counters_compared = comparison.counters.len() as u32;
        total += comparison.counters.len();
        if total > MOST_COMPARISONS * 100 {
            break;
        }
    }
    let mut all: Vec<&mut CounterContrast> = comparisons.iter_mut().flat_map(|one| &mut one.counters).collect();
    estimate::adjust(&mut all);
    for comparison in comparisons {
        // Stable: what is equally significant stays in the order of the columns.
        comparison.counters.sort_by(by_significance);
    }
}

/// Most significant first.
pub(crate) fn by_significance(one: &CounterContrast, other: &CounterContrast) -> std::cmp::Ordering {
    one.q.total_cmp(&other.q).then(one.p.total_cmp(&other.p))
}

/// A counter without a test, and the value it always has in each level, where it has one.
pub(super) struct ConstantCounter<'t> {
    pub(super) name: &'t str,
    pub(super) a: Option<f64>,
    pub(super) b: Option<f64>,
}

/// The counters that have no contrast at all. Of several comparisons the first says what they are.
pub(super) fn without_spread<'t>(table: &'t Table, cells: &[Cell], found: &[Comparison]) -> Vec<ConstantCounter<'t>> {
    let contrasts = found.iter().flat_map(|comparison| &comparison.counters);
    let moves: BTreeSet<&str> = contrasts.map(|contrast| contrast.name.as_str()).collect();
    // The value that a level always has; of what varies there is none.
    let only = |side: &Side, counter: &Counter| {
        let mut values = side.good.iter().map(|row| counter.values[*row]).filter(|value| value.is_finite());
        let first = values.next();
        values.all(|value| Some(value) == first).then_some(first)
    };
    let still = |counter: &'t Counter| {
        let cell = cells.first()?;
        Some(ConstantCounter { name: &counter.name, a: only(&cell.a, counter)?, b: only(&cell.b, counter)? })
    };
    table.counters.iter().filter(|counter| !moves.contains(counter.name.as_str())).filter_map(still).collect()
}

fn gather(side: &Side, column: &[f64], into: &mut Vec<f64>) {
    into.clear();
    into.extend(side.good.iter().map(|row| column[*row]).filter(|value| value.is_finite()));
}

/// Welch's test, of values that nothing ties together.
fn of_samples(question: &Question, name: &str, a: &[f64], b: &[f64]) -> Option<CounterContrast> {
    let alpha = question.rule.alpha;
    let welch = welch::test(a, b, alpha)?;
    let fieller = percent::fieller(a, b, alpha).filter(|_| welch.mean_a > 0.0);
    let lowest = if a.iter().chain(b).all(|value| *value >= 0.0) { -1.0 } else { f64::NEG_INFINITY };
    let percent = fieller.map(|(low, high)| Percent {
        estimate: -welch.difference * 100.0 / welch.mean_a,
        low: low.max(lowest) * 100.0,
        high: high * 100.0,
    });
    Some(CounterContrast {
        name: name.to_owned(),
        a_mean: welch.mean_a,
        b_mean: welch.mean_b,
        difference: -welch.difference,
        interval: (-welch.ci_high, -welch.ci_low).into(),
        percent,
        p: welch.p,
        q: 1.0,
    })
}

/// By the differences within blocks, as the value itself. `None` where all of these are nothing, and where they vary and the design takes all of
/// that for its own (one event in each run of one order): nothing is left to say how far chance goes.
fn of_blocks(question: &Question, design: Design, within: &PairedBlocks, counter: &Counter) -> Option<CounterContrast> {
    let value = |row: usize| counter.values.get(row).copied().filter(|value| value.is_finite());
    let mean = |rows: &[usize]| summary::mean(&rows.iter().filter_map(|row| value(*row)).collect::<Vec<_>>());
    let differences = within.differences(value);
    let (a, b) = within.rows();
    let are_equal = differences.windows(2).all(|two| two[0].difference == two[1].difference);
    let moves = |found: &Estimate| {
        let varies = found.contrast.standard_error > LEAST_SPREAD * found.contrast.estimate.abs();
        varies || found.contrast.estimate != 0.0 && are_equal
    };
    let found = estimate::within(design, &differences).ok().filter(moves)?;
    let (low, high) = found.contrast.interval(question.rule.alpha);
    Some(CounterContrast {
        name: counter.name.clone(),
        a_mean: mean(&a)?,
        b_mean: mean(&b)?,
        difference: found.contrast.estimate,
        interval: (low, high).into(),
        percent: None,
        p: found.contrast.p,
        q: 1.0,
    })
    .filter(|found| low.is_finite() && high.is_finite() && found.a_mean.is_finite() && found.b_mean.is_finite())
}

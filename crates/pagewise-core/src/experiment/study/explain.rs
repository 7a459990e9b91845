//! What else differed between the two sides of a comparison: kernel counters, and time stalled for memory.

use super::compare::{Estimated, contrast_in};
use super::values::Values;
use super::{Declared, Stall};
use crate::experiment::analysis::{CounterContrast, Interval};
use crate::metric;
use crate::stats::contrast::Contrast;
use crate::stats::{benjamini_hochberg, blocked, summary};
use std::collections::BTreeSet;

/// Counters are listed up to this false-discovery rate.
const FALSE_DISCOVERY_RATE: f64 = 0.1;

/// More than this is not read.
const MOST_COUNTERS: usize = 12;

/// Time in which at least one task waited for memory.
const STALL: &str = "psi_memory_some";

/// What was found beside the effect.
#[derive(Default)]
pub(super) struct Explained {
    pub(super) counters: Vec<CounterContrast>,
    pub(super) compared: u32,
    pub(super) stall: Option<Stall>,
}

/// Explains a comparison. Counters stand beside the first metric alone: the others have the same.
pub(super) fn of(declared: &Declared<'_>, values: &Values<'_>, estimated: &Estimated) -> Explained {
    if estimated.differences.is_empty() {
        return Explained::default();
    }
    let (counters, compared) =
        if estimated.asked.metric == 0 { counters(declared, values, estimated) } else { (Vec::new(), 0) };
    Explained { counters, compared, stall: stall(declared, values, estimated) }
}

/// Compares the growth of every counter that moved at all. Differences, not ratios: growth is often zero on one side.
fn counters(declared: &Declared<'_>, values: &Values<'_>, estimated: &Estimated) -> (Vec<CounterContrast>, u32) {
    let cells: Vec<&str> = estimated.asked.groups.iter().flat_map(|(_, cells)| cells).map(String::as_str).collect();
    let runs: Vec<_> = estimated
        .differences
        .iter()
        .flat_map(|one| cells.iter().filter_map(|cell| values.good(one.block, cell)))
        .collect();
    let names =
        |point: &crate::experiment::point::Point| -> BTreeSet<String> { point.counters.keys().cloned().collect() };
    let common = runs.iter().map(|point| names(point)).reduce(|common, next| &common & &next).unwrap_or_default();
    let growth = |block: u32, cell: &str, name: &str| -> Option<f64> {
        values.good(block, cell)?.counters.get(name).map(|growth| *growth as f64)
    };
    let mut found = Vec::new();
    for name in common {
        let moved = runs.iter().any(|point| point.counters.get(&name).is_some_and(|growth| *growth != 0));
        if metric::vmstat_is_level(&name) || !moved {
            continue;
        }
        let differences: Option<Vec<f64>> = estimated
            .differences
            .iter()
            .map(|one| contrast_in(one.block, &estimated.asked.groups, |block, cell| growth(block, cell, &name)))
            .collect();
        let Some(estimate) = differences.and_then(|differences| blocked::estimate(&differences).ok()) else { continue };
        let mean = |sign: f64| {
            let group = estimated.asked.groups.iter().find(|(own, _)| *own == sign);
            let cells = group.map(|(_, cells)| cells.as_slice()).unwrap_or_default();
            let all = estimated
                .differences
                .iter()
                .flat_map(|one| cells.iter().filter_map(|cell| growth(one.block, cell, &name)).collect::<Vec<f64>>());
            summary::mean(&all.collect::<Vec<f64>>()).unwrap_or_default()
        };
        let (low, high) = estimate.interval(declared.plan.design.alpha);
        found.push(CounterContrast {
            a_mean: mean(-1.0),
            b_mean: mean(1.0),
            difference: estimate.estimate,
            interval: Interval { low, high },
            p: estimate.p,
            q: 1.0,
            name,
        });
    }
    let compared = found.len() as u32;
    let p_values: Vec<f64> = found.iter().map(|counter| counter.p).collect();
    for (counter, q) in found.iter_mut().zip(benjamini_hochberg::adjusted(&p_values)) {
        counter.q = q;
    }
    found.retain(|counter| counter.q <= FALSE_DISCOVERY_RATE);
    // Stable: counters that are equally significant stay in the order of their names.
    found.sort_by(|one, other| one.q.total_cmp(&other.q).then(one.p.total_cmp(&other.p)));
    found.truncate(MOST_COUNTERS);
    (found, compared)
}

/// How much of a difference in seconds goes with seconds stalled for memory.
fn stall(declared: &Declared<'_>, values: &Values<'_>, estimated: &Estimated) -> Option<Stall> {
    let metric = &declared.metrics[estimated.asked.metric].metric;
    if metric.unit != "seconds" || metric.name == STALL {
        return None;
    }
    let of = |name: &str| -> Option<Contrast> {
        let differences: Option<Vec<f64>> = estimated
            .differences
            .iter()
            .map(|one| contrast_in(one.block, &estimated.asked.groups, |block, cell| values.value(block, cell, name)))
            .collect();
        blocked::estimate(&differences?).ok()
    };
    let (time, stalled) = (of(&metric.name)?, of(STALL)?);
    let (low, high) = stalled.interval(declared.plan.design.alpha);
    let (time_low, time_high) = time.interval(declared.plan.design.alpha);
    let time_differs = time_low > 0.0 || time_high < 0.0;
    Some(Stall {
        measure: STALL.to_owned(),
        time: time.estimate,
        stalled: stalled.estimate,
        stalled_interval: Interval { low, high },
        share: time_differs.then(|| stalled.estimate / time.estimate),
    })
}

//! What else differed between the two sides of a comparison: the other measures of a run, kernel counters, and time stalled for
//! memory. All of it by the estimator of the comparison itself.

use super::compare::Estimated;
use super::values::Values;
use super::{CounterContrast, Declared, Interval, MeasureContrast, Stall};
use crate::comparison::estimate::{self, FALSE_DISCOVERY_RATE};
use crate::experiment::point::Point;
use crate::metric::{self, MEASURES, OTHERS_SHARE};
use crate::stats::summary;
use std::collections::BTreeSet;

/// More than this is not read.
const MOST_COUNTERS: usize = 12;

/// Time in which at least one task waited for memory.
const STALL: &str = "psi_memory_some";

/// What was found beside the effect.
#[derive(Default)]
pub(super) struct Explained {
    pub(super) measures: Vec<MeasureContrast>,
    pub(super) counters: Vec<CounterContrast>,
    pub(super) compared: u32,
    pub(super) stall: Option<Stall>,
}

/// Explains a comparison. Counters and other measures stand beside the first metric alone: the others have the same.
pub(super) fn of(declared: &Declared<'_>, values: &Values<'_>, estimated: &Estimated) -> Explained {
    if estimated.complete.is_empty() {
        return Explained::default();
    }
    let sides = Sides { declared, values, estimated };
    let stall = sides.stall();
    if estimated.asked.metric != 0 {
        return Explained { stall, ..Explained::default() };
    }
    let (counters, compared) = sides.counters();
    Explained { measures: sides.measures(), counters, compared, stall }
}

/// The runs of a comparison.
struct Sides<'a, 'p> {
    declared: &'a Declared<'a>,
    values: &'a Values<'p>,
    estimated: &'a Estimated,
}

impl<'p> Sides<'_, 'p> {
    fn alpha(&self) -> f64 {
        self.declared.plan.design.alpha
    }

    /// Every run of every block that counts.
    fn runs(&self) -> Vec<&'p Point> {
        let of_block = |block: u32| self.estimated.cells().filter_map(move |cell| self.values.good(block, cell));
        self.estimated.complete.iter().flat_map(|one| of_block(one.block)).collect()
    }

    /// The mean of a number over the runs of one side.
    fn mean(&self, sign: f64, number: &impl Fn(u32, &str) -> Option<f64>) -> f64 {
        let cells = self.estimated.cells_of(sign);
        let blocks = self.estimated.complete.iter();
        let all: Vec<f64> =
            blocks.flat_map(|one| cells.iter().filter_map(move |cell| number(one.block, cell))).collect();
        summary::mean(&all).unwrap_or_default()
    }

    /// The other measures that every run has: those of the catalogue in its order, then the user's own by name.
    fn measures(&self) -> Vec<MeasureContrast> {
        let runs = self.runs();
        let names = |point: &&'p Point| -> BTreeSet<&'p str> {
            point.measures.iter().filter(|(_, value)| value.is_finite()).map(|(name, _)| name.as_str()).collect()
        };
        let common = runs.iter().map(names).reduce(|common, next| &common & &next).unwrap_or_default();
        let own = common.iter().copied().filter(|name| metric::find(name).is_none());
        let compared = |name: &str| self.declared.metrics.iter().any(|metric| metric.metric.name == name);
        MEASURES
            .iter()
            .map(|measure| measure.name)
            .filter(|name| common.contains(name))
            .chain(own)
            .filter(|name| !compared(name))
            .map(|name| self.measure(name, &runs))
            .collect()
    }

    fn measure(&self, name: &str, runs: &[&Point]) -> MeasureContrast {
        let value = |block: u32, cell: &str| self.values.value(block, cell, name);
        // What others did to a run is no effect of a level, and from next to nothing any ratio comes out.
        let is_positive =
            name != OTHERS_SHARE && runs.iter().all(|point| point.measures.get(name).is_some_and(|value| *value > 0.0));
        let estimate = if is_positive {
            self.estimated.estimate_of(|block, cell| value(block, cell).map(libm::log))
        } else {
            None
        };
        let interval = |found: estimate::Estimate| {
            let (low, high) = found.contrast.interval(self.alpha());
            Interval { low: libm::exp(low), high: libm::exp(high) }
        };
        MeasureContrast {
            name: name.to_owned(),
            unit: super::unit_of(name, runs.iter().copied()),
            a_mean: self.mean(-1.0, &value),
            b_mean: self.mean(1.0, &value),
            ratio: estimate.map(|found| libm::exp(found.contrast.estimate)),
            interval: estimate.map(interval),
        }
    }

    /// Compares the growth of every counter that moved at all. Differences, not ratios: growth is often zero on one side.
    fn counters(&self) -> (Vec<CounterContrast>, u32) {
        let runs = self.runs();
        let names = |point: &&'p Point| -> BTreeSet<&'p str> { point.counters.keys().map(String::as_str).collect() };
        let common = runs.iter().map(names).reduce(|common, next| &common & &next).unwrap_or_default();
        let moved = |name: &&str| runs.iter().any(|point| point.counters.get(*name).is_some_and(|growth| *growth != 0));
        let compared = common.into_iter().filter(|name| !metric::vmstat_is_level(name)).filter(moved);
        let mut found: Vec<CounterContrast> = compared.filter_map(|name| self.counter(name)).collect();
        let compared = found.len() as u32;
        estimate::adjust(&mut found);
        found.retain(|counter| counter.q <= FALSE_DISCOVERY_RATE);
        // Stable: counters that are equally significant stay in the order of their names.
        found.sort_by(|one, other| one.q.total_cmp(&other.q).then(one.p.total_cmp(&other.p)));
        found.truncate(MOST_COUNTERS);
        (found, compared)
    }

    fn counter(&self, name: &str) -> Option<CounterContrast> {
        let growth = |block: u32, cell: &str| -> Option<f64> {
            self.values.good(block, cell)?.counters.get(name).map(|growth| *growth as f64)
        };
        let found = self.estimated.estimate_of(growth)?;
        Some(CounterContrast {
            name: name.to_owned(),
            a_mean: self.mean(-1.0, &growth),
            b_mean: self.mean(1.0, &growth),
            difference: found.contrast.estimate,
            interval: found.contrast.interval(self.alpha()).into(),
            percent: None,
            p: found.contrast.p,
            q: 1.0,
        })
    }

    /// How much of a difference in seconds goes with seconds stalled for memory.
    fn stall(&self) -> Option<Stall> {
        let metric = &self.declared.metrics[self.estimated.asked.metric].metric;
        if metric.unit != "seconds" || metric.name == STALL {
            return None;
        }
        let of = |name: &str| self.estimated.estimate_of(|block, cell| self.values.value(block, cell, name));
        let (time, stalled) = (of(&metric.name)?.contrast, of(STALL)?.contrast);
        let (time_low, time_high) = time.interval(self.alpha());
        let time_differs = time_low > 0.0 || time_high < 0.0;
        Some(Stall {
            measure: STALL.to_owned(),
            time: time.estimate,
            stalled: stalled.estimate,
            stalled_interval: stalled.interval(self.alpha()).into(),
            share: time_differs.then(|| stalled.estimate / time.estimate),
        })
    }
}

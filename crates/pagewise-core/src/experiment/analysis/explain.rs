//! What else differed: the other measures of a run, and the kernel counters behind the difference.

use super::effect::ratio_interval;
use super::pairs::{Pair, Side, Trial};
use super::{CounterContrast, Interval, MeasureContrast, Question};
use crate::experiment::point::Point;
use crate::metric::{self, MEASURES};
use crate::stats::crossover::{self, Estimate, PairDifference};
use crate::stats::{benjamini_hochberg, summary};

/// Counters are listed up to this false-discovery rate.
const FALSE_DISCOVERY_RATE: f64 = 0.1;

/// More than this is not read.
const MOST_COUNTERS: usize = 12;

/// The other measures: those of the catalogue in its order, then the user's own by name.
pub(super) fn measures(question: &Question, trial: &Trial) -> Vec<MeasureContrast> {
    let common = trial.common_measures();
    let own = common.iter().copied().filter(|name| metric::find(name).is_none());
    MEASURES
        .iter()
        .map(|measure| measure.name)
        .filter(|name| common.contains(name))
        .chain(own)
        .filter(|name| *name != question.metric.name)
        .map(|name| measure(question, trial, name))
        .collect()
}

fn measure(question: &Question, trial: &Trial, name: &str) -> MeasureContrast {
    let value = |point: &Point| point.measures.get(name).copied().unwrap_or(f64::NAN);
    let of = |side: Side| -> Vec<f64> { trial.pairs.iter().map(|pair| value(pair.run(side).point)).collect() };
    let (a, b) = (of(Side::A), of(Side::B));
    let positive = a.iter().chain(&b).all(|value| *value > 0.0);
    let estimate = if positive { contrast(trial, |point| libm::log(value(point))) } else { None };
    let first = trial.pairs.first().map(|pair| pair.a.point);
    MeasureContrast {
        name: name.to_owned(),
        unit: first.map(|point| unit(name, point)).unwrap_or_default(),
        a_mean: summary::mean(&a).unwrap_or_default(),
        b_mean: summary::mean(&b).unwrap_or_default(),
        ratio: estimate.map(|estimate| libm::exp(estimate.effect)),
        interval: estimate.map(|estimate| ratio_interval(&estimate, question.alpha)),
    }
}

fn unit(name: &str, point: &Point) -> String {
    match metric::find(name) {
        Some(known) => super::unit_text(known.unit),
        None => point.custom_units.get(name).cloned().unwrap_or_default(),
    }
}

/// What the counters show.
pub(super) struct Counters {
    pub(super) most_different: Vec<CounterContrast>,
    pub(super) compared: u32,
}

/// Compares the growth of every counter that moved at all. Differences, not ratios: growth is often zero in one arm.
pub(super) fn counters(question: &Question, trial: &Trial) -> Counters {
    let moved = |name: &&str| {
        let grew = |pair: &Pair| growth(pair.a.point, name) != 0.0 || growth(pair.b.point, name) != 0.0;
        !metric::vmstat_is_level(name) && trial.pairs.iter().any(grew)
    };
    let mut compared: Vec<CounterContrast> = trial
        .common_counters()
        .into_iter()
        .filter(moved)
        .filter_map(|name| Some(counter(question, trial, name, &contrast(trial, |point| growth(point, name))?)))
        .collect();
    let count = compared.len() as u32;
    let p_values: Vec<f64> = compared.iter().map(|counter| counter.p).collect();
    for (counter, q) in compared.iter_mut().zip(benjamini_hochberg::adjusted(&p_values)) {
        counter.q = q;
    }
    compared.retain(|counter| counter.q <= FALSE_DISCOVERY_RATE);
    // Stable: counters that are equally significant stay in the order of their names.
    compared.sort_by(|one, other| one.q.total_cmp(&other.q).then(one.p.total_cmp(&other.p)));
    compared.truncate(MOST_COUNTERS);
    Counters { most_different: compared, compared: count }
}

fn counter(question: &Question, trial: &Trial, name: &str, estimate: &Estimate) -> CounterContrast {
    let mean = |side: Side| {
        let values: Vec<f64> = trial.pairs.iter().map(|pair| growth(pair.run(side).point, name)).collect();
        summary::mean(&values).unwrap_or_default()
    };
    let (low, high) = estimate.interval(question.alpha);
    CounterContrast {
        name: name.to_owned(),
        a_mean: mean(Side::A),
        b_mean: mean(Side::B),
        difference: estimate.effect,
        interval: Interval { low, high },
        p: estimate.p(),
        q: 1.0,
    }
}

fn growth(point: &Point, counter: &str) -> f64 {
    point.counters.get(counter).copied().unwrap_or_default() as f64
}

/// The crossover estimate of any number that every run has. `None` when the pairs allow no estimate.
fn contrast(trial: &Trial, value: impl Fn(&Point) -> f64) -> Option<Estimate> {
    let difference =
        |pair: &Pair| PairDifference { a_first: pair.a_first, difference: value(pair.b.point) - value(pair.a.point) };
    let differences: Vec<PairDifference> = trial.pairs.iter().map(difference).collect();
    crossover::estimate(&differences).ok()
}

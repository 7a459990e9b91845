//! Whether the level or the scatter of all runs changed at a point in time: another job began, a limit set in.
//!
//! PELT raises the alarm, at next to no cost but at no declared level. What is told has passed the test of E-divisive
//! (`docs/method/change-points.md`), so that a trial without a change is told of one as rarely as of anything else that is looked
//! for in every trial.

use super::doubts::{DIP_STREAM, FEWEST, LEVEL_OF_DOUBTS, warning};
use super::found::Warning;
use crate::stats::change_points::{self, Change};
use crate::stats::e_divisive::{self, Search};
use crate::stats::summary;
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

/// The stream of the seed that orders are drawn from.
const STREAM: u64 = DIP_STREAM + 1;

/// More values than this are put together in groups of neighbours: every order costs the square of their number.
const LONGEST: usize = 300;

/// Random orders that a change is held against.
const ORDERS: u32 = 499;

/// A change of scatter that is worth telling.
const SCATTERS_MORE: f64 = 2.0;

/// The largest change, in words, when it is as large as the scatter of runs or doubles that scatter. `residuals` are good runs in
/// run order, each less the mean of its cell, on logarithms. `seed` is of the random orders that a change is held against.
pub(crate) fn told(residuals: &[f64], seed: u64) -> Option<Warning> {
    if residuals.len() < 3 * FEWEST || !is_alarming(residuals) {
        return None;
    }
    let (places, p) = tested(residuals, seed);
    let bounds: Vec<usize> = std::iter::once(0).chain(places.iter().copied()).chain([residuals.len()]).collect();
    let before = |change: usize| &residuals[bounds[change]..bounds[change + 1]];
    let after = |change: usize| before(change + 1);
    let jump = |change: usize| Some(summary::mean(after(change))? - summary::mean(before(change))?);
    let (largest, jump) = (0..places.len())
        .filter_map(|change| Some((change, jump(change)?)))
        .max_by(|one, other| one.1.abs().total_cmp(&other.1.abs()))?;
    let scatter = |values: &[f64]| summary::standard_deviation(values).filter(|sd| *sd > 0.0);
    let wider = scatter(after(largest)).zip(scatter(before(largest))).map_or(1.0, |(after, before)| after / before);
    let what = if jump.abs() > scatter(residuals)? {
        format!("differ by {:+.1} %", libm::expm1(jump) * 100.0)
    } else if wider >= SCATTERS_MORE {
        format!("scatter {wider:.1} times as much as before")
    } else if wider <= 1.0 / SCATTERS_MORE {
        format!("scatter {:.1} times less than before", 1.0 / wider)
    } else {
        return None;
    };
    let others = if places.len() > 1 { format!("; the largest of {} changes", places.len()) } else { String::new() };
    let text = format!(
        "The host changed at once: from good run {} on, runs of the same arm {what} (E-divisive, p = {:.3} in a test at \
         {LEVEL_OF_DOUBTS}{others}).",
        places[largest] + 1,
        p[largest]
    );
    warning("change-point", text)
}

fn is_alarming(residuals: &[f64]) -> bool {
    [Change::Mean, Change::MeanAndVariance]
        .into_iter()
        .any(|change| change_points::segments(residuals, change).len() > 1)
}

/// Where the runs change, and the p of each place.
fn tested(residuals: &[f64], seed: u64) -> (Vec<usize>, Vec<f64>) {
    // Groups of one size: without a change any order of them is as likely as any other.
    let each = residuals.len().div_ceil(LONGEST);
    let groups: Vec<f64> = residuals.chunks_exact(each).filter_map(summary::mean).collect();
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    rng.set_stream(STREAM);
    let search = Search { fewest: FEWEST, level: LEVEL_OF_DOUBTS, orders: ORDERS };
    let found = e_divisive::changes(&groups, &search, &mut rng);
    found.iter().map(|change| (change.at * each, change.p)).unzip()
}

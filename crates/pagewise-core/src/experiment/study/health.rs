//! What a careful reader must know before believing a study. A warning never changes a verdict.

use super::values::Values;
use super::{CarryOver, Comparison, Declared, carry_over, host_change};
use crate::experiment::analysis::Warning;
use crate::experiment::plan::{lint, numbers};
use crate::experiment::point::{Outcome, Point};
use crate::stats::{autocorrelation, dip, outliers, summary, trend};
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;
use std::collections::{BTreeMap, BTreeSet};

/// What is looked for in every trial; a stricter level keeps false alarms rare.
pub(super) const LOOKED_FOR_EVERY_TIME: f64 = 0.01;

/// Streams 0 and 1 and the next few draw orders; [`host_change`] has the next.
pub(super) const DIP_STREAM: u64 = 1 << 32;

/// Fewer values than this form no heaps, and fewer runs have no drift.
pub(super) const FEWEST: usize = 6;

pub(super) fn warnings(
    declared: &Declared<'_>,
    values: &Values<'_>,
    comparisons: &[Comparison],
    carried: Option<&CarryOver>,
) -> Vec<Warning> {
    let placed = residuals(declared, values);
    let residuals: Vec<f64> = placed.iter().map(|(_, residual)| *residual).collect();
    let mut found = Vec::new();
    found.extend(incomplete(values));
    found.extend(replaced(values));
    found.extend(cut_blocks(values));
    // That a trial makes no claim is what its report begins with.
    for one in lint::lints(declared.plan).into_iter().filter(|one| one.id != "no-primary") {
        found.push(Warning { id: one.id, text: one.text + "." });
    }
    found.extend(numbers::warning(declared.plan, values.points.iter().copied()));
    found.extend(same_values(declared, values));
    found.extend(drift(&residuals));
    found.extend(host_change::told(declared, &residuals).and_then(|text| warning("change-point", text)));
    found.extend(goes_together(&residuals));
    found.extend(carried.and_then(carry_over::told).and_then(|text| warning("carry-over", text)));
    found.extend(outliers(declared, &placed));
    found.extend(bimodal(declared, values));
    found.extend(disagreement(comparisons));
    found
}

fn warning(id: &str, text: String) -> Option<Warning> {
    Some(Warning { id: id.to_owned(), text })
}

fn incomplete(values: &Values<'_>) -> Option<Warning> {
    let planned = values.blocks().len() as u32;
    let complete = values.complete_blocks();
    (complete < planned).then_some(())?;
    let text = format!(
        "{} of {planned} blocks have not run to their end; comparisons use the blocks in which every run they need is good.",
        planned - complete
    );
    warning("incomplete-blocks", text)
}

fn replaced(values: &Values<'_>) -> Option<Warning> {
    let is_replaced = |point: &&&Point| !point.planned.is_warmup() && point.outcome == Outcome::Invalid;
    let invalid: Vec<&&Point> = values.points.iter().filter(is_replaced).collect();
    let reason = invalid.first()?.reason.as_deref().unwrap_or("no reason recorded");
    let text = match invalid.len() {
        1 => format!("One run was invalid and does not count: {reason}."),
        count => format!("{count} runs were invalid and do not count; the first: {reason}."),
    };
    warning("attempts-replaced", text)
}

/// A block that holds runs of two boots, or in which Pagewise ended, is less of a block than it should be.
fn cut_blocks(values: &Values<'_>) -> Option<Warning> {
    let mut boots: BTreeMap<u32, BTreeSet<&str>> = BTreeMap::new();
    let mut cut: BTreeSet<u32> = BTreeSet::new();
    for point in &values.points {
        let Some(block) = point.planned.block else { continue };
        if point.planned.boot.is_none() && point.outcome != Outcome::Invalid {
            boots.entry(block).or_default().insert(&point.boot_id);
        }
        // As the engine words a kill, and Ctrl-C.
        let ended = |reason: &str| reason.starts_with("Pagewise ended") || reason == "interrupted";
        if point.reason.as_deref().is_some_and(ended) {
            cut.insert(block);
        }
    }
    cut.extend(boots.iter().filter(|(_, ids)| ids.len() > 1).map(|(block, _)| *block));
    if cut.is_empty() {
        return None;
    }
    let blocks: Vec<String> = cut.iter().map(|block| (block + 1).to_string()).collect();
    let (what, whose) = if blocks.len() == 1 { ("block", "its") } else { ("the blocks", "their") };
    let text = format!(
        "A pause or a boot cut {what} {}: {whose} runs are further apart in time than those of other blocks.",
        blocks.join(", ")
    );
    warning("cut-blocks", text)
}

/// Two cells that were meant to differ and read back the same values throughout.
fn same_values(declared: &Declared<'_>, values: &Values<'_>) -> Option<Warning> {
    let read_back = |cell: &str| -> Option<BTreeMap<&str, &str>> {
        let point = values.blocks().find_map(|block| values.good(block, cell))?;
        let asked = point.applied.iter().filter(|setting| setting.requested.is_some());
        Some(asked.map(|setting| (setting.tunable.as_str(), setting.after.as_str())).collect())
    };
    let mut seen: Vec<(BTreeMap<&str, &str>, &str)> = Vec::new();
    for cell in &declared.cells {
        // A setting without a value to read, such as an environment variable, may be what differs.
        let Some(read) = read_back(&cell.label).filter(|read| read.len() == cell.policy.settings.len()) else {
            continue;
        };
        if read.is_empty() {
            continue;
        }
        if let Some((_, first)) = seen.iter().find(|(other, _)| *other == read) {
            let text = format!("The cells '{first}' and '{}' ran with the same values on this host.", cell.label);
            return warning("policy-changes-nothing", text);
        }
        seen.push((read, &cell.label));
    }
    None
}

/// ln(value) of every good run of the first metric less its cell's mean, in run order, with the cell.
fn residuals<'p>(declared: &Declared<'_>, values: &Values<'p>) -> Vec<(&'p str, f64)> {
    let Some(metric) = declared.metrics.first().map(|metric| metric.metric.name.as_str()) else { return Vec::new() };
    let log = |point: &Point| point.measures.get(metric).copied().filter(|v| *v > 0.0 && v.is_finite()).map(libm::log);
    let means: BTreeMap<&str, f64> = declared
        .cells
        .iter()
        .filter_map(|cell| {
            let logs: Vec<f64> =
                values.blocks().filter_map(|block| values.good(block, &cell.label).and_then(log)).collect();
            Some((cell.label.as_str(), summary::mean(&logs)?))
        })
        .collect();
    let residual = |point: &'p Point| {
        let cell = point.planned.cell.as_str();
        Some((cell, log(point)? - means.get(cell)?))
    };
    let good = values.in_run_order().into_iter().filter(|point| point.outcome == Outcome::Ok);
    good.filter_map(residual).collect()
}

fn drift(residuals: &[f64]) -> Option<Warning> {
    if residuals.len() < FEWEST {
        return None;
    }
    let p = trend::mann_kendall_p(residuals);
    if p > LOOKED_FOR_EVERY_TIME {
        return None;
    }
    let points: Vec<(f64, f64)> = residuals.iter().enumerate().map(|(at, value)| (at as f64, *value)).collect();
    let slope = trend::theil_sen_slope(&points)?;
    let over_all = libm::expm1(slope * (residuals.len() - 1) as f64) * 100.0;
    let text = format!(
        "The host drifted: from first run to last, runs of the same cell changed by {over_all:+.1} % (Mann-Kendall, p = \
         {}). Blocks cancel a slow drift.",
        crate::comparison::words::p_value(p)
    );
    warning("drift", text)
}

/// Neighbouring runs that err the same way: the blocks' differences are less independent than the interval takes them to be.
fn goes_together(residuals: &[f64]) -> Option<Warning> {
    let n = residuals.len();
    if n < 3 * FEWEST {
        return None;
    }
    let r = autocorrelation::lag_one(residuals)?;
    // Bartlett's bound for white noise at the level above: 2.576 / √n.
    if r <= 2.576 / (n as f64).sqrt() {
        return None;
    }
    let text = format!(
        "Neighbouring runs go together (lag-one correlation {r:.2}): what slows one run slows the next. Differences inside \
         blocks cancel most of it."
    );
    warning("autocorrelation", text)
}

/// Runs far from their cell, by the one rule for that, over the runs of all cells together: asked of each cell for itself, the
/// rule would flag a good run in every third study of four cells.
fn outliers(declared: &Declared<'_>, residuals: &[(&str, f64)]) -> Option<Warning> {
    let distances: Vec<f64> = residuals.iter().map(|(_, residual)| *residual).collect();
    let far: Vec<&str> = outliers::places(&distances).into_iter().map(|place| residuals[place].0).collect();
    let count = |of: &[&str], cell: &str| of.iter().filter(|one| **one == cell).count();
    let all: Vec<&str> = residuals.iter().map(|(cell, _)| *cell).collect();
    let told: Vec<String> = declared
        .cells
        .iter()
        .filter(|cell| count(&far, &cell.label) > 0)
        .map(|cell| format!("{} of {} in '{}'", count(&far, &cell.label), count(&all, &cell.label), cell.label))
        .collect();
    if told.is_empty() {
        return None;
    }
    warning("outliers", format!("Runs far from the others of their cell: {}. They are kept.", told.join(", ")))
}

fn bimodal(declared: &Declared<'_>, values: &Values<'_>) -> Option<Warning> {
    let metric = &declared.metrics.first()?.metric.name;
    let mut rng = ChaCha20Rng::seed_from_u64(declared.plan.design.seed);
    rng.set_stream(DIP_STREAM);
    let mut told = Vec::new();
    for cell in &declared.cells {
        let of_cell = values.of_cell(&cell.label, metric);
        if of_cell.len() < FEWEST {
            continue;
        }
        let Some(dip) = dip::dip(&of_cell) else { continue };
        if dip::p_value(dip, of_cell.len(), &mut rng) <= LOOKED_FOR_EVERY_TIME {
            told.push(format!("'{}'", cell.label));
        }
    }
    if told.is_empty() {
        return None;
    }
    let text = format!("Runs of {} fall into two heaps: a mean describes neither.", told.join(", "));
    warning("bimodal", text)
}

fn disagreement(comparisons: &[Comparison]) -> Option<Warning> {
    let disagrees = |comparison: &&Comparison| {
        comparison.effect.as_ref().is_some_and(|effect| {
            let reachable = effect.smallest_randomisation_p.is_some_and(|smallest| smallest <= comparison.level);
            let randomised = effect.randomisation_p.map(|p| p <= comparison.level);
            reachable && randomised.is_some_and(|decides| decides != (effect.p <= comparison.level))
        })
    };
    let told: Vec<String> =
        comparisons.iter().filter(disagrees).map(|one| format!("{} ({})", one.name, one.metric)).collect();
    if told.is_empty() {
        return None;
    }
    let text = format!(
        "The t test and the randomisation test fall on different sides of their level for {}: take these verdicts as close \
         calls.",
        told.join("; ")
    );
    warning("tests-disagree", text)
}

//! What gives reason to doubt samples, wherever they come from: for each warning that a trial and a table share, one rule and one
//! text.
//!
//! A run is taken as its distance from the mean of its cell (the runs that differ by chance alone), on logarithms where the
//! values have such, in the order the runs were made. Whoever calls says how its runs are named.

use super::estimate::Design;
use super::found::Warning;
use super::words::p_value;
use crate::metric::{self, Direction};
use crate::stats::{autocorrelation, dip, outliers, randomisation, trend};
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;
use std::collections::BTreeMap;

/// Level of what is tested in every comparison; a stricter level keeps false alarms rare.
pub(crate) const LEVEL_OF_DOUBTS: f64 = 0.01;

/// Streams 0 and 1 and the next few draw orders and resamples; the change points have the next.
pub(crate) const DIP_STREAM: u64 = 1 << 32;

/// Fewer values than this form no heaps, and fewer runs have no drift.
pub(crate) const FEWEST: usize = 6;

/// Drift and heaps of longer series are looked for in so many of their values, evenly taken: the tests compare every value with
/// every other.
const MOST_IN_SERIES: usize = 1_000;

/// A warning, where the rest of a rule has found that it applies.
pub(crate) fn warning(id: &str, text: String) -> Option<Warning> {
    Some(Warning { id: id.to_owned(), text })
}

/// At most [`MOST_IN_SERIES`] of them, evenly taken.
fn evenly<T: Copy>(series: &[T]) -> Vec<T> {
    let step = series.len().div_ceil(MOST_IN_SERIES).max(1);
    series.iter().step_by(step).copied().collect()
}

/// Values that no ratio can be made of: "3 values of wall", each kind with its count.
pub(crate) fn not_positive(counts: &[(usize, String)]) -> Option<Warning> {
    let said =
        |(count, what): &(usize, String)| format!("{count} {}{what}", if *count == 1 { "value" } else { "values" });
    let told: Vec<String> = counts.iter().filter(|(count, _)| *count > 0).map(said).collect();
    let total: usize = counts.iter().map(|(count, _)| count).sum();
    let verb = if total == 1 { "is" } else { "are" };
    let text = format!("{} {verb} zero or negative, so there is no ratio and no verdict on it.", told.join(" and "));
    warning("not-positive", text).filter(|_| total > 0)
}

/// A trend over all runs. `residuals` have their place in time, in whatever unit that is counted.
pub(crate) fn drift(residuals: &[(f64, f64)], is_log: bool, design: Design) -> Option<Warning> {
    if residuals.len() < FEWEST {
        return None;
    }
    let taken = evenly(residuals);
    let p = trend::mann_kendall_p(&taken.iter().map(|(_, residual)| *residual).collect::<Vec<f64>>());
    if p > LEVEL_OF_DOUBTS {
        return None;
    }
    let (first, last) = (residuals.first()?.0, residuals.last()?.0);
    let over_all = trend::theil_sen_slope(&taken)? * (last - first);
    let change = match is_log {
        true => format!("{:+.1} %", libm::expm1(over_all) * 100.0),
        false => format!("{over_all:+.3e}"),
    };
    let consequence = match design {
        Design::Independent => {
            "Nothing ties runs of one time together here, so it widens the interval, and falls on whichever level ran later."
        }
        _ => "Blocks cancel a slow drift.",
    };
    let text = format!(
        "The host drifted: from first run to last, runs of the same arm changed by {change} (Mann-Kendall, p = {}). \
         {consequence}",
        p_value(p)
    );
    warning("drift", text)
}

/// Neighbouring runs that err the same way: they, or the differences of their blocks, are less independent than the interval
/// takes them to be. Runs that alternate make intervals too wide, and are no reason to doubt.
pub(crate) fn goes_together(residuals: &[f64], design: Design) -> Option<Warning> {
    let n = residuals.len();
    if n < 3 * FEWEST {
        return None;
    }
    let r = autocorrelation::lag_one(residuals)?;
    // Bartlett's bound for white noise at the level above: 2.576 / √n.
    if r <= 2.576 / (n as f64).sqrt() {
        return None;
    }
    let consequence = match design {
        Design::Independent => "The interval takes runs for independent and is too narrow.",
        _ => "Differences inside blocks cancel most of it.",
    };
    let text = format!(
        "Neighbouring runs go together (lag-one correlation {r:.2}): what slows one run slows the next. {consequence}"
    );
    warning("autocorrelation", text)
}

/// Runs far from their cell, by the one rule for that, over the runs of all cells together: asked of each cell for itself, the
/// rule would flag a good run in every third study of four cells. `told` names them by their places.
pub(crate) fn outliers(residuals: &[f64], told: impl FnOnce(&[usize]) -> Vec<String>) -> Option<Warning> {
    let places = outliers::places(residuals);
    if places.is_empty() {
        return None;
    }
    let text = format!("Runs far from the others of their cell: {}. They are kept.", told(&places).join(", "));
    warning("outliers", text)
}

/// Cells whose values fall into two heaps. On logarithms, as everything else is compared, where there are such.
/// `told_apart_by` names, by the place of a cell, what goes with its heaps.
pub(crate) fn bimodal<'c>(
    cells: impl Iterator<Item = (&'c str, Vec<f64>)>,
    seed: u64,
    told_apart_by: &dyn Fn(usize) -> Option<String>,
) -> Option<Warning> {
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    rng.set_stream(DIP_STREAM);
    let mut told = Vec::new();
    let mut apart = Vec::new();
    for (at, (cell, values)) in cells.enumerate() {
        if values.len() < FEWEST {
            continue;
        }
        let values = evenly(&values);
        let Some(dip) = dip::dip(&values) else { continue };
        let p = dip::p_value(dip, values.len(), &mut rng);
        if p <= LEVEL_OF_DOUBTS {
            told.push(format!("`{cell}` (p = {})", p_value(p)));
            apart.extend(told_apart_by(at).map(|column| format!("those of `{cell}` by {column}")));
        }
    }
    if told.is_empty() {
        return None;
    }
    let why = match apart.as_slice() {
        [] => "Look for what differs between the fast and the slow runs.".to_owned(),
        apart => format!("The heaps are told apart: {}.", apart.join(", ")),
    };
    let text = format!(
        "The values of {} fall into two heaps (Hartigan's dip test), so their mean describes neither. {why}",
        told.join(" and ")
    );
    warning("bimodal", text)
}

/// Which values lie in the upper of two heaps: the cut that leaves least squares within them (k-means in one dimension).
pub(crate) fn heaps(values: &[f64]) -> Vec<bool> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let total: f64 = sorted.iter().sum();
    let (mut below, mut best) = (0.0, (f64::NEG_INFINITY, f64::INFINITY));
    for at in 1..sorted.len() {
        below += sorted[at - 1];
        let (low, high) = (at as f64, (sorted.len() - at) as f64);
        // The squares between the heaps' means, weighted: most between is least within.
        let between = (below / low - (total - below) / high).powi(2) * low * high;
        if between > best.0 && sorted[at] > sorted[at - 1] {
            best = (between, sorted[at]);
        }
    }
    values.iter().map(|value| *value >= best.1).collect()
}

/// Whether a column's levels tell two heaps apart: each level lies in one of them, but for one run in twenty, and it has far
/// fewer levels than runs.
pub(crate) fn tells_apart(levels: &[usize], upper: &[bool]) -> bool {
    let mut counts: BTreeMap<usize, [usize; 2]> = BTreeMap::new();
    for (level, upper) in levels.iter().zip(upper) {
        counts.entry(*level).or_default()[usize::from(*upper)] += 1;
    }
    let astray: usize = counts.values().map(|[low, high]| low.min(high)).sum();
    let of_both = [0, 1].iter().all(|heap| counts.values().any(|count| count[*heap] > count[1 - heap]));
    of_both && 3 * counts.len() <= levels.len() && 20 * astray <= levels.len()
}

/// A metric whose name or unit is that of something people want more of, judged as if less were better.
pub(crate) fn direction(metric: &str, unit: &str, direction: Direction) -> Option<Warning> {
    if direction == Direction::Higher || !metric::is_wanted_high(metric, unit) {
        return None;
    }
    let text = format!(
        "`{metric}`{} reads like something of which more is better, and is judged with lower as better. If more is better, \
         say so: --direction higher (in a plan, direction = \"higher\").",
        if unit.is_empty() { String::new() } else { format!(" ({unit})") }
    );
    warning("direction", text)
}

/// So few blocks that the randomisation test cannot reach the level, whatever their values. `named` says of which comparisons.
pub(crate) fn few_sequences(design: Design, smallest_p: f64, level: f64, named: &str) -> Option<Warning> {
    if smallest_p <= level {
        return None;
    }
    let how_few = match smallest_p {
        ..0.995 => format!("so few orders that the randomisation test cannot go below p = {}", p_value(smallest_p)),
        _ => "no other order, and the randomisation test says nothing".to_owned(),
    };
    let (what, fewest) = match design {
        Design::Pairs => ("pairs", randomisation::fewest_pairs(level)),
        _ => ("blocks", randomisation::fewest_blocks(level)),
    };
    let text = format!(
        "So few complete {what} allow {how_few}{named}. The verdict rests on the t interval alone, which assumes normal noise. \
         Run {fewest} {what} or more."
    );
    warning("few-sequences", text)
}

/// What two tests said, each with its name.
pub(crate) type TwoTests<'n> = [(&'n str, f64); 2];

/// Whether two tests fall on different sides of a level.
pub(crate) fn disagree([(_, one), (_, other)]: TwoTests, level: f64) -> bool {
    (one <= level) != (other <= level)
}

/// Two tests that fall on different sides of a level. `named` says of which comparison.
pub(crate) fn tests_disagree(tests: TwoTests, level: f64, named: &str) -> Option<Warning> {
    let [(one, p), (other, p_of_other)] = tests;
    let text = format!(
        "{one} (p = {}) and {other} (p = {}) fall on different sides of {level}{named}: take the verdict as a close call.",
        p_value(p),
        p_value(p_of_other)
    );
    warning("tests-disagree", text).filter(|_| disagree(tests, level))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_that_goes_with_the_heaps_is_told_from_one_that_does_not() {
        let values = [1.0, 9.0, 1.1, 9.2, 1.2, 9.1, 0.9, 8.9];
        let upper = heaps(&values);
        assert_eq!(upper, [false, true, false, true, false, true, false, true]);
        assert!(tells_apart(&[0, 1, 0, 1, 0, 1, 0, 1], &upper));
        assert!(!tells_apart(&[0, 0, 0, 0, 1, 1, 1, 1], &upper), "each level has both");
        assert!(!tells_apart(&[0, 1, 2, 3, 4, 5, 6, 7], &upper), "as many levels as runs");
        assert!(!tells_apart(&[0; 8], &upper), "one level");
    }

    #[test]
    fn a_throughput_that_is_judged_like_a_time_is_asked_about() {
        let told = |metric, unit| direction(metric, unit, Direction::Lower).is_some();
        for (metric, unit) in [
            ("throughput", ""),
            ("rows_per_second", ""),
            ("rate", "MB/s"),
            ("x", "rows/s"),
            ("read_iops", ""),
            ("GFLOPS", ""),
        ] {
            assert!(told(metric, unit), "{metric} {unit}");
        }
        for (metric, unit) in [
            ("wall", "seconds"),
            ("miss_rate", ""),
            ("faults", "1/s"),
            ("seconds", ""),
            ("drops", "KiB"),
            ("time", "ms/step"),
            ("time_per_step", ""),
            ("x", "us/sector"),
        ] {
            assert!(!told(metric, unit), "{metric} {unit}");
        }
        assert!(direction("throughput", "", Direction::Higher).is_none());
    }

    /// A rise of 1 % a run with a little noise, each run this far from the next in time.
    fn rising(apart: f64) -> Vec<(f64, f64)> {
        (0..12).map(|run| (f64::from(run) * apart, 0.01 * f64::from(run) + 0.001 * f64::from(run * 7 % 5))).collect()
    }

    #[test]
    fn a_drift_is_told_over_all_runs_whatever_time_is_counted_in() {
        let text = |apart: f64, design| drift(&rising(apart), true, design).unwrap().text;
        assert!(
            text(1.0, Design::Pairs).contains("changed by +11.")
                && text(1.0, Design::Pairs).ends_with("Blocks cancel a slow drift.")
        );
        assert_eq!(text(1.0, Design::Blocks), text(1800.0, Design::Blocks));
        assert!(text(1.0, Design::Independent).contains("Nothing ties runs of one time together"));
        assert_eq!(drift(&rising(1.0)[..FEWEST - 1], true, Design::Pairs), None);
    }

    #[test]
    fn runs_that_alternate_are_no_reason_to_doubt_and_runs_in_stretches_are() {
        let alternating: Vec<f64> = (0..24).map(|run| f64::from(run % 2)).collect();
        let stretches: Vec<f64> = (0..24).map(|run| f64::from(run / 6 % 2)).collect();
        assert_eq!(goes_together(&alternating, Design::Independent), None);
        let told = |design| goes_together(&stretches, design).unwrap().text;
        assert!(told(Design::Independent).contains("too narrow") && told(Design::Pairs).contains("cancel most of it"));
        assert_eq!(goes_together(&stretches[..3 * FEWEST - 1], Design::Pairs), None);
    }

    #[test]
    fn what_is_counted_is_told_in_its_number() {
        let told = |counts: &[usize]| {
            let named: Vec<(usize, String)> = counts.iter().map(|count| (*count, String::new())).collect();
            not_positive(&named).map(|warning| warning.text)
        };
        assert_eq!(told(&[0, 0]), None);
        assert!(told(&[0, 1]).unwrap().starts_with("1 value is zero or negative"));
        assert!(told(&[3]).unwrap().starts_with("3 values are zero or negative"));
    }

    #[test]
    fn few_orders_are_told_by_their_design() {
        assert_eq!(few_sequences(Design::Blocks, 0.03125, 0.05, ""), None);
        let told = few_sequences(Design::Blocks, 0.125, 0.05, " for swap").unwrap().text;
        assert!(told.contains("below p = 0.12 for swap") && told.contains("Run 6 blocks or more."), "{told}");
        assert!(few_sequences(Design::Pairs, 1.0, 0.05, "").unwrap().text.contains("says nothing"));
    }
}

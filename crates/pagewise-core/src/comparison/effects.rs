//! The estimates of one comparison: what the methods of [`crate::stats`] give for its two samples, and why one gives
//! nothing.

use super::cells::{Cell, Side};
use super::estimate::{self, Design, Estimate};
use super::found::{BlockDifference, Effect, Interval};
use super::plain_samples::{
    Bca, Blocked, HodgesLehmann, LogRatio, MannWhitney, Percent, PercentInterval, PlainSamples, ShapiroP, Tost, Welch,
};
use super::question::{BLOCK, Blocks, Question};
use super::rule::{LEAST_SPREAD, LogIntervals};
use super::table::Table;
use super::within::PairedBlocks;
use crate::stats::contrast::Contrast;
use crate::stats::{bootstrap, equivalence, hedges_g, hodges_lehmann, mann_whitney, percent};
use crate::stats::{shapiro_wilk, summary, welch};
use std::collections::BTreeMap;

/// Name of a field that is null, to the reason.
#[derive(Clone, Debug, Default)]
pub(super) struct Absent(pub(super) BTreeMap<String, String>);

impl Absent {
    /// Passes a value on and keeps the reason when there is none.
    fn unless<T>(&mut self, name: &str, value: Option<T>, reason: impl FnOnce() -> String) -> Option<T> {
        if value.is_none() {
            self.0.insert(name.to_owned(), reason());
        }
        value
    }
}

/// Everything estimated for one comparison.
pub(super) struct Effects {
    /// Means as the test computed them, with one rounding less than a plain sum.
    pub(super) means: Option<(f64, f64)>,
    /// How the values hang together, and so what the verdict goes by.
    pub(super) method: Design,
    /// ln(b / a) by that method, or why there is none.
    pub(super) effect: Result<VerdictBasis, String>,
    /// The differences it is of; none of values that nothing ties together.
    pub(super) differences: Vec<BlockDifference>,
    pub(super) plain: PlainSamples,
}

/// What a verdict goes by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct VerdictBasis {
    contrast: Contrast,
    period: Option<f64>,
    pub(super) intervals: LogIntervals,
}

impl VerdictBasis {
    /// As documents have it.
    pub(super) fn effect(&self) -> Effect {
        let ratios = |(low, high): (f64, f64)| Interval { low: libm::exp(low), high: libm::exp(high) };
        let interval = ratios(self.intervals.difference);
        Effect {
            ratio: libm::exp(self.contrast.estimate),
            interval,
            interval_equivalence: ratios(self.intervals.equivalence),
            interval_alone: interval,
            log_ratio: self.contrast.estimate,
            standard_error: self.contrast.standard_error,
            df: self.contrast.df,
            p: self.contrast.p,
            evidence: None,
            randomisation_p: None,
            smallest_randomisation_p: None,
            randomisation_exact: None,
            period_ratio: self.period.map(libm::exp),
        }
    }
}

impl Effects {
    pub(super) fn of(table: &Table, question: &Question, cell: &Cell) -> Effects {
        let (a, b) = (cell.a.values.as_slice(), cell.b.values.as_slice());
        let rule = &question.rule;
        let mut absent = Absent::default();
        let no_spread = || why_no_test(cell);
        let no_logs = || why_no_logs(cell);

        let tested = welch::test(a, b, rule.alpha);
        // A percentage of zero or less points the wrong way, or nowhere.
        let with_base = tested.filter(|welch| welch.mean_a > 0.0);
        let percent_r = with_base.as_ref().and_then(percent::as_r_prints);
        let percent_r = absent.unless("percent_r", percent_r, || match (&tested, &with_base) {
            (None, _) => no_spread(),
            (_, None) => no_base(cell),
            _ => "the interval of the difference includes zero: no significance".to_owned(),
        });
        let fieller = with_base.zip(percent::fieller(a, b, rule.alpha));
        let percent = absent.unless("percent", fieller, || match (&tested, &with_base) {
            (None, _) => no_spread(),
            (_, None) => no_base(cell),
            _ => format!(
                "the mean of {} cannot be told from zero, so the percentages that fit the data have no end (Fieller's set \
                 is unbounded)",
                cell.contrast.a
            ),
        });
        // No mean of such values is below zero: what lies there is no part of the interval, and leaving it out costs no
        // coverage.
        let lowest = if a.iter().chain(b).all(|value| *value >= 0.0) { -1.0 } else { f64::NEG_INFINITY };
        let ratio = percent::log_ratio(a, b, rule.alpha).filter(|ratio| ratio.low > 0.0).zip(percent::log_ratio(
            a,
            b,
            2.0 * rule.alpha,
        ));
        let ratio = absent.unless("log_ratio", ratio, no_logs);
        let tost = equivalence::tost(a, b, rule.margin, rule.alpha);
        let tost = absent.unless("tost", tost, || {
            if ratio.is_some() { "no difference is below a margin of 0".to_owned() } else { no_logs() }
        });
        absent.unless("welch", tested, no_spread);
        let shift = hodges_lehmann::two_sample(a, b, rule.alpha);
        let shift = absent.unless("hodges_lehmann", shift, || why_no_ranks(cell));
        let ranks = absent.unless("mann_whitney", mann_whitney::test(a, b), || why_no_ranks(cell));
        let hedges = absent.unless("hedges_g", hedges_g::g(a, b), no_spread);
        let shapiro = |absent: &mut Absent, name: &str, values: &[f64]| {
            absent.unless(name, shapiro_wilk::p(values), || why_no_shapiro(values))
        };
        let shapiro_p =
            ShapiroP { a: shapiro(&mut absent, "shapiro_p.a", a), b: shapiro(&mut absent, "shapiro_p.b", b) };
        let log_ratio = ratio.as_ref().map(|(ratio, wide)| LogRatio {
            estimate: libm::log(ratio.ratio),
            low: libm::log(ratio.low),
            high: libm::log(ratio.high),
            p: ratio.p,
            equivalence_low: libm::log(wide.low),
            equivalence_high: libm::log(wide.high),
        });
        let within = within(table, question, cell).map_err(|reason| absent.0.insert("blocked".to_owned(), reason)).ok();
        let blocked = within.as_ref().map(|found| found.blocked.clone());
        let (method, effect, differences) = match within
            .filter(|found| question.blocks != Blocks::None && found.blocked.share >= LEAST_SHARE_IN_BLOCKS)
        {
            Some(found) => (found.blocked.method, Ok(found.judged), found.differences),
            None => {
                let of_all = ratio.zip(log_ratio.as_ref()).map(|((ratio, _), logs)| VerdictBasis {
                    contrast: Contrast { p: ratio.p, ..Contrast::new(logs.estimate, ratio.standard_error, ratio.df) },
                    period: None,
                    intervals: logs.intervals(),
                });
                (Design::Independent, of_all.ok_or_else(no_logs), Vec::new())
            }
        };
        let bca = bca(question, cell).map_err(|reason| absent.0.insert("bca".to_owned(), reason)).ok();
        Effects {
            means: tested
                .as_ref()
                .map(|welch| (welch.mean_a, welch.mean_b))
                .or_else(|| summary::mean(a).zip(summary::mean(b)).filter(|(a, b)| a.is_finite() && b.is_finite())),
            method,
            effect,
            differences,
            plain: PlainSamples {
                percent_r: percent_r.map(|(low, high)| PercentInterval { low, high }),
                percent: percent.map(|(welch, (low, high))| Percent {
                    estimate: -welch.difference * 100.0 / welch.mean_a,
                    low: low.max(lowest) * 100.0,
                    high: high * 100.0,
                }),
                log_ratio,
                tost: tost.map(|tost| Tost { p: tost.p, margin: rule.margin }),
                welch: tested.map(|w| Welch { t: w.t, df: w.df, p: w.p, ci_low: w.ci_low, ci_high: w.ci_high }),
                hodges_lehmann: shift.map(|h| HodgesLehmann {
                    shift: h.shift,
                    ci_low: h.ci_low,
                    ci_high: h.ci_high,
                    level: h.level,
                }),
                mann_whitney: ranks.map(|m| MannWhitney { u: m.u, p: m.p, exact: m.exact }),
                hedges_g: hedges.map(|hedges| hedges.g),
                shapiro_p,
                blocked,
                bca,
                absent: absent.0,
                welch_holm_p: None,
                welch_bh_p: None,
            },
        }
    }
}

/// Why two samples have no t test.
fn why_no_test(cell: &Cell) -> String {
    for (level, side) in [(&cell.contrast.a, &cell.a), (&cell.contrast.b, &cell.b)] {
        match side.values.len() {
            0 => return format!("{level} has no value here"),
            1 => return format!("{level} has one value here, and a spread needs two"),
            _ => {}
        }
    }
    if cell.has_no_spread() {
        return "the values of each level are all the same: without variance there is no interval".to_owned();
    }
    "the values have no spread that a float can hold".to_owned()
}

/// Why a difference is no percentage.
fn no_base(cell: &Cell) -> String {
    format!("the mean of {} is not above zero, and a percentage of that says nothing", cell.contrast.a)
}

/// Why two samples have no ratio of geometric means.
fn why_no_logs(cell: &Cell) -> String {
    let values = cell.a.values.iter().chain(&cell.b.values);
    match values.filter(|value| **value <= 0.0).count() {
        0 => why_no_test(cell),
        1 => "one value is zero or negative and has no logarithm".to_owned(),
        count => format!("{count} values are zero or negative and have no logarithm"),
    }
}

fn why_no_ranks(cell: &Cell) -> String {
    let empty = |side: &Side| side.values.is_empty();
    match (empty(&cell.a), empty(&cell.b)) {
        (true, _) => format!("{} has no value here", cell.contrast.a),
        (_, true) => format!("{} has no value here", cell.contrast.b),
        _ => "a difference between two values leaves the range of a float".to_owned(),
    }
}

fn why_no_shapiro(values: &[f64]) -> String {
    match values.len() {
        0..3 => "the test needs three values".to_owned(),
        3..=5000 => "all values are the same".to_owned(),
        _ => "the test is made for 5,000 values at most".to_owned(),
    }
}

/// The estimate within blocks.
struct WithinBlocks {
    judged: VerdictBasis,
    differences: Vec<BlockDifference>,
    blocked: Blocked,
}

/// From each block the difference of the two levels' means, on logarithms, by the estimator that a trial of that design has.
fn within(table: &Table, question: &Question, cell: &Cell) -> Result<WithinBlocks, String> {
    if table.blocks.is_empty() {
        return Err(format!("the table has no column '{BLOCK}'"));
    }
    if cell.a.values.iter().chain(&cell.b.values).any(|value| *value <= 0.0) {
        return Err(why_no_logs(cell));
    }
    let blocks = PairedBlocks::of(table, cell);
    let differences = blocks.differences(|row| table.values.get(row).copied().map(libm::log));
    let (method, found) = estimated(&blocks, &differences)
        .filter(|(_, found)| found.contrast.standard_error >= LEAST_SPREAD)
        .ok_or_else(|| match differences.len() {
            0 | 1 => format!("{} blocks have values of both levels, and a spread needs two", differences.len()),
            _ => "all blocks show the same difference, and a test needs a spread".to_owned(),
        })?;
    let (low, high) = found.contrast.interval(question.rule.alpha);
    let (equivalence_low, equivalence_high) = found.contrast.interval(2.0 * question.rule.alpha);
    if libm::exp(low) <= 0.0 || !libm::exp(high).is_finite() {
        return Err("the values spread too far for an interval".to_owned());
    }
    let intervals = LogIntervals { difference: (low, high), equivalence: (equivalence_low, equivalence_high) };
    Ok(WithinBlocks {
        judged: VerdictBasis { contrast: found.contrast, period: found.period, intervals },
        blocked: Blocked {
            blocks: differences.len() as u32,
            method,
            log_ratio: found.contrast.estimate,
            low,
            high,
            p: found.contrast.p,
            equivalence_low,
            equivalence_high,
            period_ratio: found.period.map(libm::exp),
            share: blocks.share(cell),
        },
        differences,
    })
}

/// Pairs of one order only say nothing of what running second costs: they are compared as blocks.
fn estimated(blocks: &PairedBlocks, differences: &[BlockDifference]) -> Option<(Design, Estimate)> {
    let by = |design| estimate::within(design, differences).ok().map(|found| (design, found));
    by(Design::Pairs).filter(|_| blocks.are_pairs()).or_else(|| by(Design::Blocks))
}

/// At least so much of the values of each level must stand in a block with both. More than half, so that runs that were lost do not
/// turn a blocked trial into an unblocked one, and few enough that a column that only numbers stretches of a file is none.
const LEAST_SHARE_IN_BLOCKS: f64 = 0.5;

/// Leaving out each value in turn takes time that grows with the square of their number.
const MOST_TO_RESAMPLE: usize = 5_000;

fn bca(question: &Question, cell: &Cell) -> Result<Bca, String> {
    let Some(resamples) = question.resamples else { return Err("no bootstrap was asked for".to_owned()) };
    let (a, b) = (&cell.a.values, &cell.b.values);
    if a.len().max(b.len()) > MOST_TO_RESAMPLE {
        return Err(format!(
            "more than {MOST_TO_RESAMPLE} values are not resampled: the other intervals are as good there"
        ));
    }
    if summary::mean(a).is_some_and(|mean| mean <= 0.0) {
        return Err(no_base(cell));
    }
    let with = bootstrap::Resampling { resamples, seed: question.seed };
    let found = bootstrap::mean_ratio(a, b, question.rule.alpha, with).ok_or_else(|| {
        let is_clear = a.len() < 2 || b.len() < 2 || cell.has_no_spread();
        if is_clear { why_no_test(cell) } else { "the resamples give no interval".to_owned() }
    })?;
    let percent = |ratio: f64| (ratio - 1.0) * 100.0;
    Ok(Bca { percent_low: percent(found.low), percent_high: percent(found.high), resamples: found.resamples })
}

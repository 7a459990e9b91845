//! The estimates of one comparison: what the methods of [`crate::stats`] give for its two samples, and why one gives
//! nothing.

use super::cells::{Cell, Side};
use super::estimate::{self, Design};
use super::found::BlockDifference;
use super::question::{BLOCK, Question};
use super::rule::{LEAST_SPREAD, LogIntervals};
use super::table::Table;
use crate::stats::{bootstrap, equivalence, hedges_g, hodges_lehmann, mann_whitney, percent};
use crate::stats::{shapiro_wilk, summary, welch};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Welch's t test of mean(a) − mean(b).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Welch {
    /// The difference in standard errors.
    pub t: f64,
    /// Degrees of freedom.
    pub df: f64,
    /// Two-sided p-value.
    pub p: f64,
    /// Low end of the interval of mean(a) − mean(b) at 1 − alpha, in the unit of the value.
    pub ci_low: f64,
    /// High end.
    pub ci_high: f64,
}

/// An interval in percent, low end first.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PercentInterval {
    /// Low end, in percent.
    pub low: f64,
    /// High end, in percent.
    pub high: f64,
}

/// A change in percent with its interval at 1 − alpha.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Percent {
    /// The change, in percent.
    pub estimate: f64,
    /// Low end of its interval, in percent; not below −100 where no value is negative.
    pub low: f64,
    /// High end, in percent.
    pub high: f64,
}

/// ln(b / a) with its interval at 1 − alpha: natural logarithms, 0 is no difference. Of all values together, or of those within
/// blocks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LogRatio {
    /// The estimate.
    pub estimate: f64,
    /// Low end of its interval.
    pub low: f64,
    /// High end.
    pub high: f64,
    /// Two-sided p-value of no difference.
    pub p: f64,
    /// Low end of the interval at 1 − 2·alpha, which is held against the margin.
    pub equivalence_low: f64,
    /// High end of it.
    pub equivalence_high: f64,
}

impl LogRatio {
    /// What the rule looks at.
    #[must_use]
    pub fn intervals(&self) -> LogIntervals {
        LogIntervals { difference: (self.low, self.high), equivalence: (self.equivalence_low, self.equivalence_high) }
    }
}

/// Two one-sided tests of equivalence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Tost {
    /// The larger of the two p-values: equivalent when it is below alpha.
    pub p: f64,
    /// The margin it was tested against, as a fraction.
    pub margin: f64,
}

/// How far b is shifted against a.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HodgesLehmann {
    /// The median of all differences b − a, in the unit of the value.
    pub shift: f64,
    /// Low end of its interval.
    pub ci_low: f64,
    /// High end.
    pub ci_high: f64,
    /// The confidence that the interval really has. Ranks come in steps: with a few values it lies far below 1 − alpha.
    pub level: f64,
}

/// The rank test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MannWhitney {
    /// How many of all pairs have a above b, ties as a half: R's W of `wilcox.test(a, b)`.
    pub u: f64,
    /// Two-sided p-value.
    pub p: f64,
    /// Counted out rather than approximated by a normal distribution.
    pub exact: bool,
}

/// p-values of a normal distribution, by Shapiro and Wilk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ShapiroP {
    /// Of a.
    pub a: Option<f64>,
    /// Of b.
    pub b: Option<f64>,
}

/// The estimate from within blocks: what blocks have in common is gone from it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Blocked {
    /// Blocks in which both levels have a value.
    pub blocks: u32,
    /// `pairs` where each of them has one value of either level and the table says which came first: the crossover estimate.
    /// `blocks` elsewhere: the mean of their differences.
    pub method: Design,
    /// Estimate of ln(b / a) within blocks.
    pub log_ratio: f64,
    /// Low end of its interval at 1 − alpha.
    pub low: f64,
    /// High end.
    pub high: f64,
    /// Two-sided p-value of the t test.
    pub p: f64,
    /// Low end of the interval at 1 − 2·alpha, which is held against the margin.
    pub equivalence_low: f64,
    /// High end of it.
    pub equivalence_high: f64,
    /// Of pairs: ratio of the second run of a pair to the first, all else equal.
    pub period_ratio: Option<f64>,
    /// Share of a level's values that stand in a block with both levels; of the level that has fewer there.
    pub share: f64,
}

impl Blocked {
    /// The same as the effect that a verdict goes by.
    fn effect(&self) -> LogRatio {
        LogRatio {
            estimate: self.log_ratio,
            low: self.low,
            high: self.high,
            p: self.p,
            equivalence_low: self.equivalence_low,
            equivalence_high: self.equivalence_high,
        }
    }

    /// Whether both levels recur within blocks, so that these are what the verdict goes by. Blocks of one level that hold a run
    /// of the other by accident tie that one run to many, and the rest of its level to none.
    fn is_design(&self) -> bool {
        self.share >= LEAST_SHARE_IN_BLOCKS
    }
}

/// At least so much of the values of each level must stand in a block with both. More than half, so that runs that were lost do not
/// turn a blocked trial into an unblocked one, and few enough that a column that only numbers stretches of a file is none.
const LEAST_SHARE_IN_BLOCKS: f64 = 0.5;

/// A bias-corrected and accelerated bootstrap interval of the change of the mean, b relative to a.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Bca {
    /// Low end at 1 − alpha, in percent.
    pub percent_low: f64,
    /// High end, in percent.
    pub percent_high: f64,
    /// Resamples drawn.
    pub resamples: u32,
}

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
    pub(super) welch: Option<Welch>,
    pub(super) percent_r: Option<PercentInterval>,
    pub(super) percent: Option<Percent>,
    pub(super) log_ratio: Option<LogRatio>,
    /// What the verdict goes by, and by which design.
    pub(super) effect: Option<LogRatio>,
    pub(super) method: Design,
    pub(super) tost: Option<Tost>,
    pub(super) hodges_lehmann: Option<HodgesLehmann>,
    pub(super) mann_whitney: Option<MannWhitney>,
    pub(super) hedges_g: Option<f64>,
    pub(super) shapiro_p: ShapiroP,
    pub(super) blocked: Option<Blocked>,
    pub(super) bca: Option<Bca>,
    pub(super) absent: Absent,
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
        let blocked =
            blocked(table, question, cell).map_err(|reason| absent.0.insert("blocked".to_owned(), reason)).ok();
        let log_ratio = ratio.map(|(ratio, wide)| LogRatio {
            estimate: libm::log(ratio.ratio),
            low: libm::log(ratio.low),
            high: libm::log(ratio.high),
            p: ratio.p,
            equivalence_low: libm::log(wide.low),
            equivalence_high: libm::log(wide.high),
        });
        let within = blocked.as_ref().filter(|blocked| question.uses_blocks && blocked.is_design());
        let (effect, method) = match within {
            Some(blocked) => (Some(blocked.effect()), blocked.method),
            None => (log_ratio.clone(), Design::Independent),
        };
        let effect = absent.unless("effect", effect, no_logs);
        let bca = bca(question, cell).map_err(|reason| absent.0.insert("bca".to_owned(), reason)).ok();
        Effects {
            means: tested
                .as_ref()
                .map(|welch| (welch.mean_a, welch.mean_b))
                .or_else(|| summary::mean(a).zip(summary::mean(b)).filter(|(a, b)| a.is_finite() && b.is_finite())),
            percent_r: percent_r.map(|(low, high)| PercentInterval { low, high }),
            percent: percent.map(|(welch, (low, high))| Percent {
                estimate: -welch.difference * 100.0 / welch.mean_a,
                low: low.max(lowest) * 100.0,
                high: high * 100.0,
            }),
            log_ratio,
            effect,
            method,
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
            absent,
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

/// From each block the difference of the two levels' means, on logarithms, by the estimator that a trial of that design has.
fn blocked(table: &Table, question: &Question, cell: &Cell) -> Result<Blocked, String> {
    if table.blocks.is_empty() {
        return Err(format!("the table has no column '{BLOCK}'"));
    }
    if cell.a.values.iter().chain(&cell.b.values).any(|value| *value <= 0.0) {
        return Err(why_no_logs(cell));
    }
    let (a, b) = (by_block(table, &cell.a), by_block(table, &cell.b));
    let both: Vec<(u32, &Vec<Placed>, &Vec<Placed>)> =
        a.iter().filter_map(|(block, of_a)| Some((*block, of_a, b.get(block)?))).collect();
    // A pair is one value of either level, of which one is known to have come first.
    let first = |of_a: &[Placed], of_b: &[Placed]| match (of_a, of_b) {
        ([a], [b]) if a.place.is_finite() && b.place.is_finite() && a.place != b.place => Some(a.place < b.place),
        _ => None,
    };
    let are_pairs = both.iter().all(|(_, of_a, of_b)| first(of_a, of_b).is_some());
    let log_mean =
        |placed: &[Placed]| summary::mean(&placed.iter().map(|one| libm::log(one.value)).collect::<Vec<_>>());
    let difference = |(block, of_a, of_b): &(u32, &Vec<Placed>, &Vec<Placed>)| {
        let difference = log_mean(of_b)? - log_mean(of_a)?;
        Some(BlockDifference { block: *block, a_first: first(of_a, of_b), difference })
    };
    let differences: Vec<BlockDifference> = both.iter().filter_map(difference).collect();
    let by = |design| estimate::within(design, &differences).ok().map(|found| (design, found));
    // Pairs of one order only say nothing of what running second costs: they are compared as blocks.
    let found = by(Design::Pairs).filter(|_| are_pairs).or_else(|| by(Design::Blocks));
    let (method, found) =
        found.filter(|(_, found)| found.contrast.standard_error >= LEAST_SPREAD).ok_or_else(|| {
            match differences.len() {
                0 | 1 => format!("{} blocks have values of both levels, and a spread needs two", differences.len()),
                _ => "all blocks show the same difference, and a test needs a spread".to_owned(),
            }
        })?;
    let (low, high) = found.contrast.interval(question.rule.alpha);
    let (equivalence_low, equivalence_high) = found.contrast.interval(2.0 * question.rule.alpha);
    if ![low, high].iter().all(|end| end.is_finite()) {
        return Err("the values spread too far for an interval".to_owned());
    }
    let in_both = both.iter().fold((0, 0), |(a, b), (_, of_a, of_b)| (a + of_a.len(), b + of_b.len()));
    let share = |placed: usize, side: &Side| placed as f64 / side.values.len() as f64;
    Ok(Blocked {
        blocks: differences.len() as u32,
        method,
        log_ratio: found.contrast.estimate,
        low,
        high,
        p: found.contrast.p,
        equivalence_low,
        equivalence_high,
        period_ratio: found.period.map(libm::exp),
        share: share(in_both.0, &cell.a).min(share(in_both.1, &cell.b)),
    })
}

/// A value, and its place in time where the table has it.
struct Placed {
    value: f64,
    place: f64,
}

fn by_block(table: &Table, side: &Side) -> BTreeMap<u32, Vec<Placed>> {
    let mut blocks: BTreeMap<u32, Vec<Placed>> = BTreeMap::new();
    for (row, value) in side.good.iter().zip(&side.values) {
        if let Some(Some(block)) = table.blocks.get(*row) {
            let place = table.order.get(*row).copied().unwrap_or(f64::NAN);
            blocks.entry(*block).or_default().push(Placed { value: *value, place });
        }
    }
    blocks
}

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

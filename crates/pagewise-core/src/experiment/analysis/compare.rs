//! One contrast on one metric: the differences inside blocks, their estimate, and the verdict.

use super::explain::Explained;
use super::values::{Values, summarise};
use super::{BlockDifference, Comparison, Declared, Design, Effect, Interval};
use super::{live, pair_sentence};
use crate::comparison::estimate::{self, Estimate};
use crate::comparison::found::BlocksNeeded;
use crate::comparison::rule::{Concluded, LEAST_SPREAD, LogIntervals, OutcomeTest, Reason, Rule, without_spread};
use crate::comparison::sentence::{self, Step};
use crate::comparison::words;
use crate::experiment::order::{FEWEST_PAIRS, draw_pair_sequence};
use crate::experiment::plan::OrderKind;
use crate::experiment::plan::cells::Cell;
use crate::stats::blocked;
use crate::stats::confidence_sequence::ConfidenceSequence;
use crate::stats::contrast::Contrast;
use crate::stats::mixed_model::{self, Design as Model};
use crate::stats::power::{self, MOST_PAIRS};
use crate::stats::randomisation::{self, PlacedPair, Randomisation};
use crate::stats::summary;
use indexmap::IndexMap;
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

/// Stream 0 of the seed drew the order; resampling reads another one.
const RANDOMISATION_STREAM: u64 = 1;

/// Power for which a new trial is sized.
pub const POWER: f64 = 0.9;
/// Differences, besides the margin, for which it is: what many would be glad to know of.
const LARGER_DIFFERENCES: [f64; 2] = [0.05, 0.1];

/// One thing that is asked: a contrast in one combination of levels, on one metric.
#[derive(Clone, Debug, PartialEq)]
pub struct ContrastInCell {
    /// In words.
    pub name: String,
    /// Place of the contrast in the plan.
    pub contrast: usize,
    /// Place of the metric in the plan.
    pub metric: usize,
    /// Whether the trial's claim rests on it.
    pub primary: bool,
    /// Levels it is compared in one by one.
    pub by: IndexMap<String, String>,
    /// What is averaged, with its sign: groups of cells that weigh +1 (judged) or −1 (base); for an interaction four of them.
    pub groups: Vec<(f64, Vec<String>)>,
}

/// A block in which every run that a comparison needs is good and has its metric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct CompleteBlock {
    pub(super) block: u32,
    /// Of pairs: whether a ran first.
    pub(super) a_first: Option<bool>,
}

/// A comparison before it is judged.
pub(crate) struct Estimated {
    pub(crate) asked: ContrastInCell,
    pub(super) complete: Vec<CompleteBlock>,
    /// On logarithms; of no block where a value has none.
    pub(super) differences: Vec<BlockDifference>,
    /// On logarithms.
    pub(crate) estimate: Result<Estimate, String>,
    pub(super) design: Design,
    pub(super) randomisation: Option<Randomisation>,
    pub(super) outcomes: OutcomeTest,
    pub(crate) level: f64,
    /// Of the test of failures, where it is another one.
    pub(crate) level_of_failures: Option<f64>,
    pub(super) holm_p: Option<f64>,
    /// Of an open-ended trial: what its intervals and its p come from. Its alpha is a claim's, not always this one's.
    sequence: Option<ConfidenceSequence>,
    /// Blocks that count, complete or not: in an open-ended trial the analyses that were possible.
    counted: u32,
}

impl Estimated {
    /// Of the t test; in an open-ended trial the p that holds at every analysis.
    pub(crate) fn p(&self) -> Option<f64> {
        self.estimate.as_ref().ok().map(|estimate| self.p_of(estimate))
    }

    pub(super) fn p_of(&self, estimate: &Estimate) -> f64 {
        self.evidence(estimate).map_or(estimate.contrast.p, |evidence| (1.0 / evidence).min(1.0))
    }

    /// The evidence against no difference, in an open-ended trial.
    fn evidence(&self, estimate: &Estimate) -> Option<f64> {
        let Contrast { t, df, .. } = estimate.contrast;
        self.sequence.map(|sequence| sequence.evidence(t, df, estimate.information).min(f64::MAX))
    }

    /// The interval of ln(b / a) at 1 − alpha: Student's, or that of the confidence sequence.
    pub(super) fn interval(&self, estimate: &Estimate, alpha: f64) -> (f64, f64) {
        let Contrast { estimate: effect, standard_error, df, .. } = estimate.contrast;
        match self.sequence {
            Some(sequence) => {
                let sequence = ConfidenceSequence { alpha, ..sequence };
                sequence.around(effect, standard_error, df, estimate.information)
            }
            None => estimate.contrast.interval(alpha),
        }
    }

    /// The level of the test of failures. What is analysed after every block has that test after every block, too: since
    /// 1/2 + 1/6 + 1/12 + … = 1, all of them together stay at its level, whichever block the trial ends at.
    fn outcomes_level(&self) -> f64 {
        let analyses = f64::from(self.counted);
        match self.sequence {
            Some(_) => self.level / (analyses * (analyses + 1.0)),
            None => self.level_of_failures.unwrap_or(self.level),
        }
    }

    pub(crate) fn is_by_pairs(&self) -> bool {
        self.design == Design::Pairs
    }

    /// Complete blocks among the first so many.
    pub(crate) fn blocks_until(&self, blocks: u32) -> u32 {
        self.complete.iter().filter(|one| one.block < blocks).count() as u32
    }

    pub(crate) fn rule(&self, declared: &Declared<'_>) -> Rule {
        let metric = &declared.metrics[self.asked.metric];
        Rule { margin: metric.margin, alpha: self.outcomes_level(), direction: metric.metric.direction }
    }

    pub(crate) fn concluded(&self, declared: &Declared<'_>) -> Concluded {
        let intervals = self.estimate.as_ref().ok().map(|estimate| self.intervals(estimate));
        self.rule(declared).conclude(intervals, &self.outcomes)
    }

    /// What another estimate of the same comparison would say, outcomes aside.
    pub(super) fn by_effect(&self, declared: &Declared<'_>, estimate: &Estimate) -> Concluded {
        self.rule(declared).by_effect(self.intervals(estimate))
    }

    fn intervals(&self, estimate: &Estimate) -> LogIntervals {
        LogIntervals {
            difference: self.interval(estimate, self.level),
            equivalence: self.interval(estimate, 2.0 * self.level),
        }
    }

    /// The differences of any number that every run has, in the blocks of this comparison; by the same estimator.
    pub(super) fn estimate_of(&self, number: impl Fn(u32, &str) -> Option<f64>) -> Option<Estimate> {
        estimate::within(self.design, &self.differences_of(number)?).ok()
    }

    fn differences_of(&self, number: impl Fn(u32, &str) -> Option<f64>) -> Option<Vec<BlockDifference>> {
        let difference = |one: &CompleteBlock| {
            let difference = contrast_in(one.block, &self.asked.groups, &number)?;
            Some(BlockDifference { block: one.block, a_first: one.a_first, difference })
        };
        self.complete.iter().map(difference).collect()
    }

    /// Cells of the base, or of the judged level. For an interaction those of its first step.
    pub(super) fn cells_of(&self, sign: f64) -> &[String] {
        let group = self.asked.groups.iter().find(|(own, _)| *own == sign);
        group.map(|(_, cells)| cells.as_slice()).unwrap_or_default()
    }

    /// Cells of either.
    pub(super) fn cells(&self) -> impl Iterator<Item = &str> {
        self.asked.groups.iter().flat_map(|(_, cells)| cells).map(String::as_str)
    }
}

/// Everything a plan asks, in its order: contrasts, then combinations of levels, then metrics.
#[must_use]
pub fn asked(plan: &crate::experiment::plan::Plan, cells: &[Cell]) -> Vec<ContrastInCell> {
    let mut all = Vec::new();
    for (index, contrast) in plan.contrasts.iter().enumerate() {
        let mut combinations: Vec<IndexMap<String, String>> = Vec::new();
        for cell in cells {
            let levels: IndexMap<String, String> = contrast
                .by
                .iter()
                .filter_map(|factor| Some((factor.clone(), cell.levels.get(factor)?.clone())))
                .collect();
            if !combinations.contains(&levels) {
                combinations.push(levels);
            }
        }
        for by in combinations {
            let group = |conditions: &[(&str, &str)]| -> Vec<String> {
                let fits = |cell: &&Cell| {
                    by.iter().all(|(factor, level)| cell.has(factor, level))
                        && conditions.iter().all(|(factor, level)| cell.has(factor, level))
                };
                cells.iter().filter(fits).map(|cell| cell.label.clone()).collect()
            };
            let (factor, a, b) = (contrast.factor.as_str(), contrast.a.as_str(), contrast.b.as_str());
            let groups = match &contrast.interaction {
                None => vec![(1.0, group(&[(factor, b)])), (-1.0, group(&[(factor, a)]))],
                Some(other) => {
                    let (name, base, judged) = (other.factor.as_str(), other.a.as_str(), other.b.as_str());
                    vec![
                        (1.0, group(&[(factor, b), (name, judged)])),
                        (-1.0, group(&[(factor, a), (name, judged)])),
                        (-1.0, group(&[(factor, b), (name, base)])),
                        (1.0, group(&[(factor, a), (name, base)])),
                    ]
                }
            };
            let mut name = words::comparison(factor, a, b, &by);
            if let Some(other) = &contrast.interaction {
                name.push_str(&format!(", {} {} against {}", other.factor, other.b, other.a));
            }
            for metric in 0..plan.metrics.len() {
                all.push(ContrastInCell {
                    name: name.clone(),
                    contrast: index,
                    metric,
                    // A trial of two levels is for its one contrast, whether or not that says so.
                    primary: (contrast.primary || plan.is_two_arms()) && metric == 0,
                    by: by.clone(),
                    groups: groups.clone(),
                });
            }
        }
    }
    all
}

pub(crate) fn all(declared: &Declared<'_>, values: &Values<'_>) -> Vec<Estimated> {
    let asked = asked(declared.plan, &declared.cells);
    asked.into_iter().map(|asked| estimate(declared, values, asked)).collect()
}

fn estimate(declared: &Declared<'_>, values: &Values<'_>, asked: ContrastInCell) -> Estimated {
    let metric = &declared.metrics[asked.metric].metric.name;
    let outcomes = {
        let cells = |sign: f64| -> Vec<&str> {
            let of_sign = asked.groups.iter().filter(|(own, _)| *own == sign);
            of_sign.flat_map(|(_, cells)| cells).map(String::as_str).collect()
        };
        OutcomeTest::of(values.outcomes(&cells(-1.0)), values.outcomes(&cells(1.0)))
    };
    let alpha = declared.plan.design.alpha;
    let mut estimated = Estimated {
        complete: Vec::new(),
        differences: Vec::new(),
        estimate: Err(String::new()),
        design: declared.design(),
        randomisation: None,
        outcomes,
        level: declared.sequence.filter(|_| asked.primary).map_or(alpha, |sequence| sequence.alpha),
        level_of_failures: None,
        holm_p: None,
        sequence: declared.sequence,
        counted: values.blocks().len() as u32,
        asked,
    };
    if estimated.asked.groups.iter().any(|(_, cells)| cells.is_empty()) {
        estimated.estimate = Err("no cell that runs has these levels".to_owned());
        return estimated;
    }
    let value = |block: u32, cell: &str| values.value(block, cell, metric);
    let is_complete = |block: &u32| contrast_in(*block, &estimated.asked.groups, value).is_some();
    let a_first = |block| a_first(declared, values, &estimated.asked, block);
    let complete = values.blocks().filter(is_complete).map(|block| CompleteBlock { block, a_first: a_first(block) });
    estimated.complete = complete.collect();
    let not_positive = estimated
        .asked
        .groups
        .iter()
        .flat_map(|(_, cells)| cells)
        .find_map(|cell| values.of_cell(cell, metric).into_iter().find(|value| *value <= 0.0));
    if let Some(value) = not_positive {
        estimated.estimate = Err(format!("{metric} has a value of {value}, and a ratio needs values above zero"));
        return estimated;
    }
    estimated.differences =
        estimated.differences_of(|block, cell| value(block, cell).map(libm::log)).unwrap_or_default();
    if let Some(why) = live::too_little(declared, &estimated.differences) {
        estimated.estimate = Err(why);
        return estimated;
    }
    estimated.estimate =
        estimate::within(estimated.design, &estimated.differences).map_err(|why| match estimated.design {
            Design::Pairs => format!("{why} ({} were planned)", declared.plan.design.blocks),
            _ => format!(
                "only {} of {} blocks have every run it needs, and it takes two",
                estimated.differences.len(),
                declared.plan.design.blocks
            ),
        });
    // A confidence sequence is one of blocks' differences: the model that takes over where runs are missing has none, and a
    // randomisation test beside it would redraw orders for one analysis, at the end.
    if declared.sequence.is_none() {
        estimated.randomisation = randomise(declared, &estimated);
        let is_cut = (estimated.differences.len() as u32) < values.begun_blocks();
        if estimated.design == Design::Blocks && declared.has_boots() && is_cut {
            by_mixed_model(declared, values, &mut estimated);
        }
    }
    if estimated.estimate.as_ref().is_ok_and(|estimate| estimate.contrast.standard_error < LEAST_SPREAD) {
        let cells = estimated.asked.groups.iter().flat_map(|(_, cells)| cells);
        let all: Vec<f64> = cells.flat_map(|cell| values.of_cell(cell, metric)).collect();
        estimated.estimate = Err(without_spread(metric, &all));
        return estimated;
    }
    let why = estimated.estimate.as_ref().ok().and_then(|estimate| unusable(&estimated, estimate, metric));
    if let Some(why) = why {
        estimated.estimate = Err(why);
    }
    estimated
}

/// Why an estimate has no interval that could be shown.
fn unusable(estimated: &Estimated, estimate: &Estimate, metric: &str) -> Option<String> {
    let is_sequence = estimated.sequence.is_some();
    let strictest = if is_sequence { estimated.level } else { estimated.level / 100.0 };
    let (low, high) = estimated.interval(estimate, strictest);
    if is_sequence && low == f64::NEG_INFINITY {
        let blocks = estimated.differences.len();
        return Some(format!("{blocks} complete blocks are too few for its confidence sequence to say anything"));
    }
    let finite = low.is_finite() && high.is_finite() && libm::exp(high).is_finite();
    (!finite).then(|| format!("the values of {metric} spread too far for an interval"))
}

/// A contrast of any number inside one block: the signed sum of the groups' means. `None` when a cell has no such number.
pub(crate) fn contrast_in(
    block: u32,
    groups: &[(f64, Vec<String>)],
    number: impl Fn(u32, &str) -> Option<f64>,
) -> Option<f64> {
    let mut sum = 0.0;
    for (sign, cells) in groups {
        let numbers: Option<Vec<f64>> = cells.iter().map(|cell| number(block, cell)).collect();
        sum += sign * summary::mean(&numbers?)?;
    }
    Some(sum)
}

/// Of pairs, whether the base ran first in this block.
pub(crate) fn a_first(
    declared: &Declared<'_>,
    values: &Values<'_>,
    asked: &ContrastInCell,
    block: u32,
) -> Option<bool> {
    let (_, judged) = asked.groups.iter().find(|(sign, _)| *sign > 0.0)?;
    let point = values.result(block, judged.first()?)?;
    (declared.design() == Design::Pairs).then_some(point.planned.position == 1)
}

/// The randomisation test over the design that the order was drawn from.
fn randomise(declared: &Declared<'_>, estimated: &Estimated) -> Option<Randomisation> {
    estimated.estimate.as_ref().ok()?;
    let mut rng = ChaCha20Rng::seed_from_u64(declared.plan.design.seed);
    if estimated.design == Design::Pairs {
        let planned = declared.plan.design.blocks;
        let mut places = vec![PlacedPair { second_minus_first: None, a_first: false }; planned as usize];
        for one in &estimated.differences {
            let a_first = one.a_first?;
            let second_minus_first = Some(if a_first { one.difference } else { -one.difference });
            if let Some(place) = places.get_mut(one.block as usize) {
                *place = PlacedPair { second_minus_first, a_first };
            }
        }
        rng.set_stream(RANDOMISATION_STREAM);
        return randomisation::test(&places, || draw_pair_sequence(planned, &mut rng));
    }
    // Complete randomisation and nested loops have no blocks to redraw in; a Williams square is redrawn only as a whole.
    if matches!(declared.order.kind, OrderKind::Complete | OrderKind::Nested | OrderKind::Williams) {
        return None;
    }
    rng.set_stream(RANDOMISATION_STREAM + 1 + estimated.asked.contrast as u64);
    let differences: Vec<f64> = estimated.differences.iter().map(|one| one.difference).collect();
    blocked::randomisation(&differences, &mut rng)
}

/// Whole plots with runs missing: blocks that lack one of the cells still say something about the others. Cells and blocks are
/// fixed, boots are random, and the error of the stratum the contrast lives in comes out of the fit (REML, Satterthwaite).
fn by_mixed_model(declared: &Declared<'_>, values: &Values<'_>, estimated: &mut Estimated) {
    let metric = &declared.metrics[estimated.asked.metric].metric.name;
    let mut response = Vec::new();
    let mut rows: Vec<(usize, u32)> = Vec::new();
    let mut groups = Vec::new();
    for block in values.blocks() {
        for (cell, known) in declared.cells.iter().enumerate() {
            let Some(value) = values.value(block, &known.label, metric).filter(|value| *value > 0.0) else { continue };
            let boot = values.good(block, &known.label).and_then(|point| point.planned.boot);
            response.push(libm::log(value));
            rows.push((cell, block));
            groups.push(boot.unwrap_or(0) as usize);
        }
    }
    let is = |wanted: bool| if wanted { 1.0 } else { 0.0 };
    // Effects of cells, without an intercept of their own; effects of all blocks but the first.
    let mut columns: Vec<Vec<f64>> =
        (0..declared.cells.len()).map(|cell| rows.iter().map(|row| is(row.0 == cell)).collect()).collect();
    columns.extend(values.blocks().skip(1).map(|block| rows.iter().map(|row| is(row.1 == block)).collect()));
    let Ok(fit) = mixed_model::fit(&Model { response: &response, columns: &columns, groups: &groups }) else { return };
    // A fit without scatter between boots takes their runs for independent: with few boots it promises too much.
    if fit.group_variance <= 0.0 {
        return;
    }
    let mut weights = vec![0.0; columns.len()];
    for (sign, cells) in &estimated.asked.groups {
        for (at, known) in declared.cells.iter().enumerate() {
            if cells.contains(&known.label) {
                weights[at] += sign / cells.len() as f64;
            }
        }
    }
    let Some(found) = fit.contrast(&weights) else { return };
    estimated.design = Design::MixedModel;
    estimated.randomisation = None;
    estimated.estimate = Ok(Estimate::of(found, estimated.differences.len().max(1)));
}

/// Judges a comparison and puts it into words.
pub(super) fn conclude(
    declared: &Declared<'_>,
    estimated: Estimated,
    explained: Explained,
    values: &Values<'_>,
) -> Comparison {
    let concluded = estimated.concluded(declared);
    let metric = &declared.metrics[estimated.asked.metric];
    let contrast = &declared.plan.contrasts[estimated.asked.contrast];
    let ratio = |(low, high): (f64, f64)| Interval { low: libm::exp(low), high: libm::exp(high) };
    let effect = estimated.estimate.as_ref().ok().map(|estimate| Effect {
        ratio: libm::exp(estimate.contrast.estimate),
        interval: ratio(estimated.interval(estimate, estimated.level)),
        interval_equivalence: ratio(estimated.interval(estimate, 2.0 * estimated.level)),
        interval_alone: ratio(estimated.interval(estimate, declared.plan.design.alpha)),
        log_ratio: estimate.contrast.estimate,
        standard_error: estimate.contrast.standard_error,
        df: estimate.contrast.df,
        p: estimated.p_of(estimate),
        evidence: estimated.evidence(estimate),
        randomisation_p: estimated.randomisation.map(|found| found.p),
        smallest_randomisation_p: estimated.randomisation.map(|found| found.smallest_p),
        randomisation_exact: estimated.randomisation.map(|found| found.exact),
        period_ratio: estimate.period.map(libm::exp),
    });
    let good = |sign: f64| -> Vec<f64> {
        let cells = estimated.cells_of(sign).iter();
        cells.flat_map(|cell| values.of_cell(cell, &metric.metric.name)).collect()
    };
    let undecided = estimated.estimate.as_ref().ok().filter(|_| concluded.reason == Reason::NotDecided);
    let needed = |difference: f64| {
        let (sd, difference) = (undecided?.residual_sd, libm::log1p(difference));
        match estimated.design {
            Design::Pairs => power::pairs_needed(sd, difference, estimated.level, POWER, FEWEST_PAIRS),
            _ => power::blocks_needed(sd, difference, estimated.level, POWER),
        }
    };
    let blocks_needed = needed(metric.margin);
    let larger = LARGER_DIFFERENCES.into_iter().filter(|difference| *difference > metric.margin);
    let blocks_needed_for = larger
        .filter_map(|difference| Some(BlocksNeeded { difference, blocks: needed(difference)? }))
        .filter(|one| one.blocks < MOST_PAIRS)
        .collect();
    let detectable = undecided.and_then(|estimate| {
        let (sd, blocks) = (estimate.residual_sd, estimated.complete.len() as u32);
        let found = match estimated.design {
            Design::Pairs => power::detectable_in_pairs(blocks, sd, estimated.level, POWER),
            _ => power::detectable_in_blocks(blocks, sd, estimated.level, POWER),
        };
        found.map(libm::expm1)
    });
    let mut comparison = Comparison {
        name: estimated.asked.name.clone(),
        factor: contrast.factor.clone(),
        a: contrast.a.clone(),
        b: contrast.b.clone(),
        by: estimated.asked.by.clone(),
        interaction: contrast.interaction.as_ref().map(|other| format!("{}: {} → {}", other.factor, other.a, other.b)),
        metric: metric.metric.name.clone(),
        primary: estimated.asked.primary,
        a_values: summarise(&good(-1.0)),
        b_values: summarise(&good(1.0)),
        outcomes: estimated.outcomes,
        blocks: estimated.complete.len() as u32,
        method: estimated.design,
        effect,
        no_effect_because: estimated.estimate.err(),
        level: estimated.level,
        level_of_failures: estimated.level_of_failures,
        holm_p: estimated.holm_p,
        conclusion: concluded.word,
        real_but_below_margin: concluded.real_but_below_margin,
        decided_by: concluded.decided_by().to_owned(),
        sentence: String::new(),
        blocks_needed,
        blocks_needed_for,
        detectable,
        differences: estimated.differences,
        measures: explained.measures,
        counters: explained.counters,
        counters_compared: explained.compared,
        stall: explained.stall,
        stacks: None,
        plain_samples: None,
        warnings: Vec::new(),
    };
    comparison.sentence = if declared.plan.is_two_arms() {
        pair_sentence::verdict(&comparison, metric, concluded.reason, &|level| values.outcome_counts(level))
    } else {
        let other = contrast.interaction.as_ref();
        let other = other.map(|step| Step { factor: &step.factor, a: &step.a, b: &step.b });
        sentence::verdict(&comparison, metric, concluded.reason, other)
    };
    comparison
}

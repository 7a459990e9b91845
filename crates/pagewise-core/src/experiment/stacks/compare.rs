//! Differences of shares between the sides of a contrast, from within blocks, as for kernel counters.
//!
//! A share is that of a function, with all it called, in the samples of a run. Pairs are compared by the crossover estimate,
//! blocks by the mean of their differences. Only functions with some weight on average over both sides are compared: a
//! choice that does not look at the difference, so that it leaves the false-discovery rate as it is (Bourgon, Gentleman and
//! Huber, Proc. Natl. Acad. Sci. 107 (2010), 9546–9551).

use super::fold::{Run, StacksOfRuns};
use super::{FunctionContrast, LEAST_SHARE, StackContrast, StackSide};
use crate::comparison::estimate::{self, FALSE_DISCOVERY_RATE};
use crate::comparison::found::{BlockDifference, Interval};
use crate::experiment::analysis::{
    AnalysisError, ContrastInCell, CountedValues, Declared, a_first, asked, contrast_in,
};
use crate::experiment::order::Order;
use crate::experiment::plan::{Plan, StoppingRule};
use crate::experiment::point::{Outcome, Point};
use crate::experiment::stopping::InterimAnalysis;
use crate::recording::Frame;
use crate::stats::contrast::Contrast;
use crate::stats::summary;
use std::collections::{BTreeSet, HashMap};

/// More than this is not read.
const MOST_FUNCTIONS: usize = 40;

/// Runs whose stacks count: good ones, of blocks that count, the last attempt of each; in run order.
///
/// # Errors
/// When the plan's margin, alpha or policies cannot be used.
pub fn counted<'p>(
    plan: &Plan,
    order: &Order,
    points: &'p [Point],
    analyses: &[InterimAnalysis],
) -> Result<Vec<&'p Point>, AnalysisError> {
    let declared = Declared::of(plan, order, points)?;
    let results = values(&declared, points, analyses).in_run_order();
    Ok(results.into_iter().filter(|point| point.outcome == Outcome::Ok).collect())
}

fn values<'p>(declared: &Declared<'_>, points: &'p [Point], analyses: &[InterimAnalysis]) -> CountedValues<'p> {
    let until =
        analyses.last().map(|analysis| analysis.blocks).filter(|_| declared.plan.stopping.rule != StoppingRule::Fixed);
    CountedValues::of(declared, points, until)
}

/// The stacks of every comparison, in the order of [`asked`]: of the first metric only, since the others have the same runs,
/// and of no interaction, which has four sides.
///
/// # Errors
/// When the plan's margin, alpha or policies cannot be used.
pub fn compare(
    plan: &Plan,
    order: &Order,
    points: &[Point],
    analyses: &[InterimAnalysis],
    kept: &StacksOfRuns,
) -> Result<Vec<Option<StackContrast>>, AnalysisError> {
    let declared = Declared::of(plan, order, points)?;
    let values = values(&declared, points, analyses);
    let study = Stacked { declared: &declared, values: &values, kept };
    let has_two_sides =
        |asked: &ContrastInCell| asked.metric == 0 && plan.contrasts[asked.contrast].interaction.is_none();
    let all = asked(plan, &declared.cells);
    Ok(all.iter().map(|asked| has_two_sides(asked).then(|| study.contrast(asked))).collect())
}

/// What every contrast is computed from.
struct Stacked<'a, 'p> {
    declared: &'a Declared<'a>,
    values: &'a CountedValues<'p>,
    kept: &'a StacksOfRuns,
}

/// A function, or several that always stand in the same stacks.
struct Function {
    number: u32,
    also: Vec<u32>,
}

impl Stacked<'_, '_> {
    fn run(&self, block: u32, cell: &str) -> Option<&Run> {
        self.kept.run(self.values.good(block, cell)?)
    }

    fn frame(&self, number: u32) -> Option<&Frame> {
        self.kept.stacks().frames().get(number as usize)
    }

    fn contrast(&self, asked: &ContrastInCell) -> StackContrast {
        let without: Vec<&Point> = self.points(asked, None).filter(|point| self.kept.run(point).is_none()).collect();
        let because = without.first().map(|point| self.kept.why_missing(point).unwrap_or("it kept no recording"));
        let mut found = StackContrast {
            event: self.kept.event().map(|event| event.word().to_owned()),
            hz: self.kept.hz().unwrap_or(f64::from(self.declared.plan.recording.stacks)),
            a: self.side(asked, -1.0),
            b: self.side(asked, 1.0),
            without: without.len() as u32,
            without_because: because.map(str::to_owned),
            blocks: 0,
            functions_compared: 0,
            functions_found: 0,
            functions: Vec::new(),
            no_functions_because: None,
        };
        let cells = || asked.groups.iter().flat_map(|(_, cells)| cells);
        let blocks: Vec<u32> =
            self.values.blocks().filter(|block| cells().all(|cell| self.run(*block, cell).is_some())).collect();
        found.blocks = blocks.len() as u32;
        // Whether there is an estimate depends on the blocks alone: a difference of nothing has one, too.
        if let Err(why) = self.estimate(asked, &blocks, |_, _| Some(0.0)) {
            found.no_functions_because = Some(why);
            return found;
        }
        let runs: Vec<&Run> =
            blocks.iter().flat_map(|block| cells().filter_map(move |cell| self.run(*block, cell))).collect();
        let mut functions: Vec<FunctionContrast> =
            distinct(&runs).into_iter().filter_map(|function| self.function(asked, &blocks, &function)).collect();
        found.functions_compared = functions.len() as u32;
        estimate::adjust(&mut functions);
        functions.retain(|function| function.q <= FALSE_DISCOVERY_RATE);
        found.functions_found = functions.len() as u32;
        // Stable: functions that differ equally stay in the order in which they were first seen.
        functions.sort_by(|one, other| other.difference.abs().total_cmp(&one.difference.abs()));
        functions.truncate(MOST_FUNCTIONS);
        found.functions = functions;
        found
    }

    /// Good runs of the cells of a contrast, of one side or of both.
    fn points<'s>(&'s self, asked: &'s ContrastInCell, sign: Option<f64>) -> impl Iterator<Item = &'s Point> {
        let groups = asked.groups.iter().filter(move |(own, _)| sign.is_none_or(|sign| *own == sign));
        groups
            .flat_map(|(_, cells)| cells)
            .flat_map(move |cell| self.values.blocks().filter_map(move |block| self.values.good(block, cell)))
    }

    fn side(&self, asked: &ContrastInCell, sign: f64) -> StackSide {
        let runs: Vec<&Run> = self.points(asked, Some(sign)).filter_map(|point| self.kept.run(point)).collect();
        let mean = |number: &dyn Fn(&Run) -> Option<f64>| {
            summary::mean(&runs.iter().filter_map(|run| number(run)).collect::<Vec<f64>>())
        };
        StackSide {
            runs: runs.len() as u32,
            samples: runs.iter().fold(0, |sum, run| run.samples.saturating_add(sum)),
            busy: mean(&|run| Some(run.busy())).unwrap_or_default(),
            recorder: mean(&|run| run.recorder),
        }
    }

    /// The difference b − a of any number that every run has, over these blocks, by the estimator of the comparison itself.
    fn estimate(
        &self,
        asked: &ContrastInCell,
        blocks: &[u32],
        number: impl Fn(u32, &str) -> Option<f64>,
    ) -> Result<Contrast, String> {
        let difference = |block: &u32| {
            let difference = contrast_in(*block, &asked.groups, &number)?;
            Some(BlockDifference {
                block: *block,
                a_first: a_first(self.declared, self.values, asked, *block),
                difference,
            })
        };
        let differences: Vec<BlockDifference> = blocks.iter().filter_map(difference).collect();
        Ok(estimate::within(self.declared.design(), &differences)?.contrast)
    }

    fn function(&self, asked: &ContrastInCell, blocks: &[u32], function: &Function) -> Option<FunctionContrast> {
        let share = |block: u32, cell: &str, is_own: bool| -> Option<f64> {
            let run = self.run(block, cell)?;
            let count = run.count(function.number);
            let seen = if is_own { count.own } else { count.all };
            Some(seen as f64 / run.samples as f64)
        };
        let estimate = self.estimate(asked, blocks, |block, cell| share(block, cell, false)).ok()?;
        let mean = |sign: f64, is_own: bool| {
            let cells = asked.groups.iter().filter(|(own, _)| *own == sign).flat_map(|(_, cells)| cells);
            let shares = cells.flat_map(|cell| blocks.iter().filter_map(move |block| share(*block, cell, is_own)));
            summary::mean(&shares.collect::<Vec<f64>>()).unwrap_or_default()
        };
        let (low, high) = estimate.interval(self.declared.plan.design.alpha);
        let frame = self.frame(function.number)?;
        Some(FunctionContrast {
            name: frame.name.clone(),
            module: frame.module.clone(),
            a_share: mean(-1.0, false),
            b_share: mean(1.0, false),
            a_own: mean(-1.0, true),
            b_own: mean(1.0, true),
            difference: estimate.estimate,
            interval: Interval { low, high },
            p: estimate.p,
            q: 1.0,
            also: function
                .also
                .iter()
                .filter_map(|number| self.frame(*number))
                .map(|frame| frame.name.clone())
                .collect(),
        })
    }
}

/// The functions of these runs that have some weight. Those that were in the same number of samples in every run stand in the
/// same stacks, and comparing each would be comparing one thing many times: the one that did most itself stands for all, of
/// equals the one that is called by the others.
fn distinct(runs: &[&Run]) -> Vec<Function> {
    let numbers: BTreeSet<u32> = runs.iter().flat_map(|run| run.functions()).collect();
    let mut places: HashMap<Vec<u64>, usize> = HashMap::new();
    let mut found: Vec<(Function, u64)> = Vec::new();
    for number in numbers {
        let counts: Vec<u64> = runs.iter().map(|run| run.count(number).all).collect();
        let share = counts.iter().zip(runs).map(|(count, run)| *count as f64 / run.samples as f64).sum::<f64>();
        if share / (runs.len().max(1) as f64) < LEAST_SHARE {
            continue;
        }
        let own = runs.iter().fold(0, |sum, run| run.count(number).own.saturating_add(sum));
        let Some(place) = places.get(&counts) else {
            places.insert(counts, found.len());
            found.push((Function { number, also: Vec::new() }, own));
            continue;
        };
        let (function, most) = &mut found[*place];
        // Numbers are given from the outside of stacks in.
        if own >= *most {
            function.also.push(function.number);
            (function.number, *most) = (number, own);
        } else {
            function.also.push(number);
        }
    }
    found.into_iter().map(|(function, _)| function).collect()
}

//! Where CPUs were in the arms of a trial, as a page draws it: one tree of all runs, and for each cell how many CPUs were busy in
//! each of its nodes, so that any contrast is a difference of means.
//!
//! Samples are divided by what a busy CPU gives in the time recorded. So each run weighs the same, however long it is, and a
//! policy that keeps more CPUs busy has a wider graph.

use super::TemplateError;
use super::flame_tree::{Function, MOST_COUNTS, MOST_NODES, ends_at, function, heaviest, steps};
use super::number;
use super::printable::printable;
use super::script::{FLAME, FLAME_GRAPH, Script};
use crate::experiment::analysis::{ContrastInCell, asked};
use crate::experiment::plan::Plan;
use crate::experiment::plan::cells::cells;
use crate::experiment::point::Point;
use crate::experiment::stacks::{CellStacks, LEAST_SHARE, StacksOfRuns};
use crate::recording::StackId;
use crate::recording::stack::with_callees;
use serde::Serialize;
use std::collections::HashMap;

/// What only this page has: which contrast is drawn.
pub(super) const SCRIPT: &str = include_str!("template/flame/arms.js");

/// Weights of nodes are counted in this part of all that a cell saw.
const WHOLE: f64 = 1e12;

/// CPUs are written in this part of one.
const MILLIONTHS: f64 = 1e6;

/// The stacks of a trial's arms.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Flames {
    comparisons: Vec<Compared>,
    functions: Vec<Function>,
    /// For each node its parent's number plus one, and 0 for a root. Parents come first.
    parents: Vec<usize>,
    /// For each node its function.
    frames: Vec<usize>,
    cells: Vec<CellFlame>,
    /// Stacks that end at their caller.
    #[serde(skip)]
    folded: usize,
    /// The largest part of a cell's samples that is in such stacks.
    #[serde(skip)]
    cut: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct Compared {
    name: String,
    a: Arm,
    b: Arm,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct Arm {
    label: String,
    /// Places in [`Flames::cells`]; the arm is their mean.
    cells: Vec<usize>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct CellFlame {
    /// In turn: how many nodes to go on, and how many millionths of a CPU were busy in that node itself.
    own: Vec<u64>,
    /// The same of no node.
    rest: u64,
}

/// The flame graphs of a trial's claims, of its first metric's contrasts where it makes none. `counted` are the runs that
/// count. `None` where no contrast has stacks on both sides.
#[must_use]
pub fn flames(plan: &Plan, kept: &StacksOfRuns, counted: &[&Point]) -> Option<Flames> {
    let mut means: Vec<(String, CellStacks)> = Vec::new();
    let comparisons: Vec<Compared> = shown(plan)
        .into_iter()
        .filter_map(|asked| {
            let contrast = &plan.contrasts[asked.contrast];
            let a = arm(&contrast.a, &asked, -1.0, &mut means, kept, counted)?;
            let b = arm(&contrast.b, &asked, 1.0, &mut means, kept, counted)?;
            Some(Compared { name: printable(&asked.name), a, b })
        })
        .collect();
    if comparisons.is_empty() {
        return None;
    }
    let stacks = kept.stacks();
    let frame_of = |node: usize| stacks.node(StackId(node as u32)).map_or(0, |(_, frame)| frame);
    let parents: Vec<Option<usize>> =
        (0..stacks.len()).map(|node| stacks.node(StackId(node as u32))?.0.map(|parent| parent.0 as usize)).collect();
    let weight = weights(&means, &parents);
    let most = MOST_NODES.min(MOST_COUNTS / means.len());
    let nodes = heaviest(&parents, &weight, (LEAST_SHARE * WHOLE) as u64, most);
    let at = ends_at(&parents, &nodes);
    let folded = weight.iter().filter(|weight| **weight > 0).count() - nodes.len();
    let cells: Vec<(CellFlame, f64)> = means.iter().map(|(_, mean)| cell(mean, &nodes, &at)).collect();
    let mut places: HashMap<u32, usize> = HashMap::new();
    let mut functions = Vec::new();
    let mut frames = Vec::with_capacity(nodes.len());
    for node in &nodes {
        let frame = frame_of(*node);
        let place = *places.entry(frame).or_insert_with(|| {
            functions.push(function(stacks, frame));
            functions.len() - 1
        });
        frames.push(place);
    }
    Some(Flames {
        comparisons,
        functions,
        parents: nodes.iter().map(|node| parents[*node].and_then(|above| at[above]).map_or(0, |at| at + 1)).collect(),
        frames,
        cut: cells.iter().map(|(_, cut)| *cut).fold(0.0, f64::max),
        cells: cells.into_iter().map(|(cell, _)| cell).collect(),
        folded,
    })
}

/// The comparisons that are drawn: an interaction has four sides, and other metrics have the same runs.
fn shown(plan: &Plan) -> Vec<ContrastInCell> {
    let cells = cells(plan).unwrap_or_default();
    let mut all = asked(plan, &cells);
    all.retain(|asked| asked.metric == 0 && plan.contrasts[asked.contrast].interaction.is_none());
    if all.iter().any(|asked| asked.primary) {
        all.retain(|asked| asked.primary);
    }
    all
}

/// One side of a comparison. Means of cells are computed once and kept in `means`.
fn arm(
    level: &str,
    asked: &ContrastInCell,
    sign: f64,
    means: &mut Vec<(String, CellStacks)>,
    kept: &StacksOfRuns,
    counted: &[&Point],
) -> Option<Arm> {
    let labels = asked.groups.iter().filter(|(own, _)| *own == sign).flat_map(|(_, labels)| labels);
    let mut cells = Vec::new();
    for label in labels {
        if let Some(place) = means.iter().position(|(known, _)| known == label) {
            cells.push(place);
            continue;
        }
        let points: Vec<&Point> = counted.iter().copied().filter(|point| point.planned.cell == *label).collect();
        let mean = kept.mean(&points);
        if mean.runs > 0 {
            cells.push(means.len());
            means.push((label.clone(), mean));
        }
    }
    (!cells.is_empty()).then(|| Arm { label: printable(level), cells })
}

/// For each node the largest part it has, with all it calls, of what some cell saw.
fn weights(means: &[(String, CellStacks)], parents: &[Option<usize>]) -> Vec<u64> {
    let mut weight = vec![0u64; parents.len()];
    for (_, mean) in means {
        let all = whole(mean);
        let own: Vec<u64> = mean.own.iter().map(|own| (own / all * WHOLE) as u64).collect();
        for (most, here) in weight.iter_mut().zip(with_callees(own, |node| parents[node])) {
            *most = here.max(*most);
        }
    }
    weight
}

/// CPUs that were busy.
fn whole(mean: &CellStacks) -> f64 {
    mean.own.iter().sum::<f64>() + mean.rest
}

/// A cell on the nodes that are kept, and the part of its samples that is not where it was.
fn cell(mean: &CellStacks, nodes: &[usize], at: &[Option<usize>]) -> (CellFlame, f64) {
    let mut own = vec![0.0; nodes.len()];
    let (mut rest, mut moved) = (mean.rest, 0.0);
    for (node, cpus) in mean.own.iter().enumerate().filter(|(_, cpus)| **cpus > 0.0) {
        match at[node] {
            Some(place) => own[place] += cpus,
            None => rest += cpus,
        }
        if at[node].is_none_or(|place| nodes[place] != node) {
            moved += cpus;
        }
    }
    let millionths = |cpus: f64| (cpus * MILLIONTHS).round() as u64;
    let counts = own.into_iter().map(millionths).enumerate().filter(|(_, count)| *count > 0);
    (CellFlame { own: steps(counts), rest: millionths(rest) }, mean.cut + moved / whole(mean))
}

/// What a page runs to draw them.
pub(super) fn script(flames: &Flames) -> Result<Script, TemplateError> {
    Script::new(flames, &FLAME_GRAPH, &[FLAME, SCRIPT])
}

/// What stands below the graph.
pub(super) fn note(flames: &Flames) -> String {
    let folded = match flames.folded {
        0 => String::new(),
        folded => format!(
            " Stacks with less than {} % of the samples of every arm end at their caller: {}, with at most {} of an arm's \
             samples.",
            number::significant(LEAST_SHARE * 100.0, 1),
            number::count(folded as f64),
            number::with_unit(flames.cut, "fraction")
        ),
    };
    format!(
        "CPUs are samples over what a busy CPU gives in the time recorded; each run weighs the same, and runs that did not end \
         well and warm-up are left out.{folded} Which of the changes is more than chance, the table of functions says."
    )
}

#[cfg(test)]
mod tests;

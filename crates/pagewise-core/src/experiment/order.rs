//! The order of the points, drawn from a seed before the first run.
//!
//! Two cells: adjacent pairs, each AB or BA. As many of one as of the other (one more for an odd number of pairs), in
//! random sequence. Balance removes the period effect from the estimate; the random sequence is what the randomisation
//! test replays.
//!
//! More cells: blocks that hold every cell once, in random order. Cells that need another boot are grouped: inside a block
//! each boot happens once, boots in random order and the cells of a boot in random order (a split-plot design: Yates 1935;
//! Cochran and Cox, "Experimental Designs", ch. 7). A Williams square (Williams 1949) puts every cell behind every other
//! equally often, so that what one run leaves to the next weighs on all alike.

use super::plan::cells::{Cell, boot_settings, cells};
use super::plan::{OrderKind, Plan};
use super::point::{Outcome, PlannedPoint, Point};
use crate::tunable::policy::PolicyError;
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Every point of a trial in the order it runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Order {
    /// The seed it was drawn from.
    pub seed: u64,
    /// Which kind it is; `auto` in bundles of versions that knew pairs alone.
    #[serde(default)]
    pub kind: OrderKind,
    /// The points, warm-up first.
    pub points: Vec<PlannedPoint>,
}

/// How far a block is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockProgress {
    /// Its points.
    pub planned: u32,
    /// Those of them that have a result.
    pub done: u32,
}

impl BlockProgress {
    /// Whether every point has a result.
    #[must_use]
    pub fn is_complete(self) -> bool {
        self.done == self.planned
    }
}

impl Order {
    /// How far each block is. An invalid attempt is no result.
    #[must_use]
    pub fn progress(&self, points: &[Point]) -> BTreeMap<u32, BlockProgress> {
        let done: BTreeSet<u32> =
            points.iter().filter(|p| p.outcome != Outcome::Invalid).map(|p| p.planned.index).collect();
        let mut blocks: BTreeMap<u32, BlockProgress> = BTreeMap::new();
        for planned in &self.points {
            if let Some(block) = planned.block {
                let progress = blocks.entry(block).or_default();
                progress.planned += 1;
                progress.done += u32::from(done.contains(&planned.index));
            }
        }
        blocks
    }
}

/// Why no order can be drawn for a plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OrderError {
    /// Too few pairs for an interval.
    #[error(
        "{pairs} pairs cannot reach a verdict: each order, A before B and B before A, must occur twice for its scatter to be \
         known; use at least {minimum} pairs"
    )]
    TooFewPairs {
        /// What was asked for.
        pairs: u32,
        /// The fewest that can work.
        minimum: u32,
    },
    /// Pairs of more or fewer than two cells.
    #[error("pairs need two cells, and the plan has {0}; write order = \"blocks\"")]
    NotTwoCells(usize),
    /// Blocks that do not fill Williams squares.
    #[error("a Williams square of {cells} cells has {rows} rows: blocks must be a multiple of {rows}")]
    NoWholeSquares {
        /// Cells of the plan.
        cells: usize,
        /// Rows of a square.
        rows: u32,
    },
    /// A level's policy is malformed.
    #[error(transparent)]
    Policy(#[from] PolicyError),
}

/// With fewer pairs one of the two orders occurs once, and its spread cannot be told from the period effect.
pub const FEWEST_PAIRS: u32 = 4;

/// Rows of a Williams square: as many as cells, twice as many when their number is odd.
#[must_use]
pub fn williams_rows(cells: u32) -> u32 {
    if cells.is_multiple_of(2) { cells.max(1) } else { 2 * cells }
}

/// Which level runs first in each pair: `true` for A. Balanced to within one, in random sequence.
#[must_use]
pub fn draw_pair_sequence(pairs: u32, rng: &mut ChaCha20Rng) -> Vec<bool> {
    let odd_one_is_ab = pairs % 2 == 1 && below(rng, 2) == 1;
    let ab = pairs / 2 + u32::from(odd_one_is_ab);
    let mut a_first: Vec<bool> = (0..pairs).map(|pair| pair < ab).collect();
    shuffle(&mut a_first, rng);
    a_first
}

/// Fisher and Yates, from the end.
pub(crate) fn shuffle<T>(items: &mut [T], rng: &mut ChaCha20Rng) {
    for last in (1..items.len()).rev() {
        let chosen = below(rng, last as u64 + 1) as usize;
        items.swap(last, chosen);
    }
}

/// A number below `bound` with no bias: values from the incomplete last stretch of the 64-bit range are drawn again.
pub(crate) fn below(rng: &mut ChaCha20Rng, bound: u64) -> u64 {
    let limit = u64::MAX - u64::MAX % bound;
    loop {
        let drawn = rng.next_u64();
        if drawn < limit {
            return drawn % bound;
        }
    }
}

/// Draws the order of a plan.
///
/// # Errors
/// When the design and the number of cells do not fit, or there are too few pairs to reach a verdict.
pub fn draw(plan: &Plan) -> Result<Order, OrderError> {
    let cells = cells(plan)?;
    let kind = match plan.design.order {
        OrderKind::Auto if cells.len() == 2 => OrderKind::Pairs,
        OrderKind::Auto => OrderKind::Blocks,
        kind => kind,
    };
    let blocks = plan.design.blocks;
    let mut rng = ChaCha20Rng::seed_from_u64(plan.design.seed);
    // Where each point has a boot of its own anyway, a boot is no whole plot.
    let has_whole_plots = !plan.boots_each_point();
    let mut drawn = Drawn { points: Vec::new(), boots: has_whole_plots.then(Boots::default) };
    for _ in 0..plan.design.warmup {
        let in_order: Vec<&Cell> = arms_first(plan, &cells);
        drawn.block(None, &drawn.plots(&in_order).concat());
    }
    match kind {
        OrderKind::Pairs => {
            let [a, b] = arms_first(plan, &cells)[..] else { return Err(OrderError::NotTwoCells(cells.len())) };
            if blocks < FEWEST_PAIRS {
                return Err(OrderError::TooFewPairs { pairs: blocks, minimum: FEWEST_PAIRS });
            }
            for (block, a_first) in draw_pair_sequence(blocks, &mut rng).into_iter().enumerate() {
                drawn.block(Some(block as u32), &if a_first { [a, b] } else { [b, a] });
            }
        }
        OrderKind::Williams => {
            let rows = williams_rows(cells.len() as u32);
            if cells.len() < 2 || !blocks.is_multiple_of(rows) {
                return Err(OrderError::NoWholeSquares { cells: cells.len(), rows });
            }
            let mut block = 0;
            for _ in 0..blocks / rows {
                for row in draw_williams_square(cells.len(), &mut rng) {
                    let row: Vec<&Cell> = row.into_iter().map(|cell| &cells[cell]).collect();
                    drawn.block(Some(block), &row);
                    block += 1;
                }
            }
        }
        OrderKind::Blocks | OrderKind::Auto => {
            for block in 0..blocks {
                let mut boots = drawn.plots(&cells.iter().collect::<Vec<_>>());
                shuffle(&mut boots, &mut rng);
                boots.iter_mut().for_each(|boot| shuffle(boot, &mut rng));
                drawn.block(Some(block), &boots.concat());
            }
        }
        OrderKind::Complete => {
            let mut all: Vec<(u32, &Cell)> =
                (0..blocks).flat_map(|block| cells.iter().map(move |cell| (block, cell))).collect();
            shuffle(&mut all, &mut rng);
            drawn.unblocked(&all);
        }
        OrderKind::Nested => {
            let all: Vec<(u32, &Cell)> =
                cells.iter().flat_map(|cell| (0..blocks).map(move |block| (block, cell))).collect();
            drawn.unblocked(&all);
        }
    }
    Ok(Order { seed: plan.design.seed, kind, points: drawn.points })
}

/// The rows of a Williams square of `cells` cells: labels and rows in random order.
///
/// The first row 0, 1, k−1, 2, k−2, … has every difference between neighbours once; the other rows add 1 modulo k. For an odd
/// k the mirror image of each row is needed, too.
fn draw_williams_square(cells: usize, rng: &mut ChaCha20Rng) -> Vec<Vec<usize>> {
    let mut labels: Vec<usize> = (0..cells).collect();
    shuffle(&mut labels, rng);
    let first = |place: usize| if place % 2 == 1 { place.div_ceil(2) } else { (cells - place / 2) % cells };
    let row = |shift: usize| -> Vec<usize> { (0..cells).map(|place| labels[(first(place) + shift) % cells]).collect() };
    let mut rows: Vec<Vec<usize>> = (0..cells).map(row).collect();
    if cells % 2 == 1 {
        let mirrored: Vec<Vec<usize>> = rows.iter().map(|row| row.iter().rev().copied().collect()).collect();
        rows.extend(mirrored);
    }
    shuffle(&mut rows, rng);
    rows
}

/// Two cells in the order of the first contrast, so that `a` is the base; any other number as they are.
fn arms_first<'c>(plan: &Plan, cells: &'c [Cell]) -> Vec<&'c Cell> {
    let mut in_order: Vec<&Cell> = cells.iter().collect();
    if let (Some(contrast), [first, _]) = (plan.contrasts.first(), &in_order[..])
        && first.has(&contrast.factor, &contrast.b)
    {
        in_order.reverse();
    }
    in_order
}

/// Cells that need the same boot, together; in the order in which they first occur.
fn grouped_by_boot<'c>(cells: &[&'c Cell]) -> Vec<Vec<&'c Cell>> {
    let mut groups: Vec<Vec<&Cell>> = Vec::new();
    for cell in cells {
        let same = |group: &&mut Vec<&Cell>| boot_settings(&group[0].policy) == boot_settings(&cell.policy);
        match groups.iter_mut().find(same) {
            Some(group) if !boot_settings(&cell.policy).is_empty() => group.push(cell),
            _ => groups.push(vec![cell]),
        }
    }
    groups
}

/// The points drawn so far, and how often the host has been booted for them.
struct Drawn {
    points: Vec<PlannedPoint>,
    /// `None` where every point has a boot of its own.
    boots: Option<Boots>,
}

/// A block, and the settings that must be booted in it.
type Needs = (Option<u32>, Vec<(String, String)>);

/// Counts boots: a new one whenever the block or what must be booted changes.
#[derive(Default)]
struct Boots {
    last: Option<Needs>,
    count: u32,
}

impl Boots {
    fn of(&mut self, block: Option<u32>, cell: &Cell) -> Option<u32> {
        let needs: Vec<(String, String)> =
            boot_settings(&cell.policy).into_iter().map(|s| (s.tunable.name.clone(), s.value.clone())).collect();
        if needs.is_empty() {
            return None;
        }
        let key = (block, needs);
        if self.last.as_ref() != Some(&key) {
            self.count += u32::from(self.last.is_some());
            self.last = Some(key);
        }
        Some(self.count)
    }
}

impl Drawn {
    /// The cells of a block by what is booted together.
    fn plots<'c>(&self, cells: &[&'c Cell]) -> Vec<Vec<&'c Cell>> {
        match self.boots {
            Some(_) => grouped_by_boot(cells),
            None => cells.iter().map(|cell| vec![*cell]).collect(),
        }
    }

    fn block(&mut self, block: Option<u32>, cells: &[&Cell]) {
        for (position, cell) in cells.iter().enumerate() {
            self.push(block, position as u32, cell);
        }
    }

    /// Blocks that are only a count: the position is the place in the whole order.
    fn unblocked(&mut self, all: &[(u32, &Cell)]) {
        for (position, (block, cell)) in all.iter().enumerate() {
            self.push(Some(*block), position as u32, cell);
        }
    }

    fn push(&mut self, block: Option<u32>, position: u32, cell: &Cell) {
        let index = self.points.len() as u32;
        let boot = self.boots.as_mut().and_then(|boots| boots.of(block, cell));
        self.points.push(PlannedPoint { index, block, position, boot, cell: cell.label.clone() });
    }
}

#[cfg(test)]
mod tests {
    use super::super::plan::source;
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn a_pair_sequence_is_balanced(pairs in 1u32..60, seed: u64) {
            let sequence = draw_pair_sequence(pairs, &mut ChaCha20Rng::seed_from_u64(seed));
            let ab = sequence.iter().filter(|a_first| **a_first).count() as i64;
            prop_assert_eq!(sequence.len() as u32, pairs);
            prop_assert!((2 * ab - i64::from(pairs)).abs() <= 1);
        }

        #[test]
        fn in_a_williams_square_every_cell_follows_every_other_equally_often(cells in 2usize..9, seed: u64) {
            let rows = draw_williams_square(cells, &mut ChaCha20Rng::seed_from_u64(seed));
            prop_assert_eq!(rows.len() as u32, williams_rows(cells as u32));
            let mut follows: BTreeMap<(usize, usize), usize> = BTreeMap::new();
            let mut places: BTreeMap<(usize, usize), usize> = BTreeMap::new();
            for row in &rows {
                for pair in row.windows(2) {
                    *follows.entry((pair[0], pair[1])).or_default() += 1;
                }
                for (place, cell) in row.iter().enumerate() {
                    *places.entry((place, *cell)).or_default() += 1;
                }
            }
            let times = rows.len() / cells;
            prop_assert_eq!(follows.len(), cells * (cells - 1));
            prop_assert!(follows.values().all(|count| *count == times), "{:?}", follows);
            prop_assert_eq!(places.len(), cells * cells);
            prop_assert!(places.values().all(|count| *count == times), "{:?}", places);
        }

        #[test]
        fn every_block_holds_every_cell_once(seed: u64, blocks in 3u32..9) {
            for order in [drawn("blocks", blocks, seed), drawn("complete", blocks, seed), drawn("nested", blocks, seed)] {
                let mut seen: BTreeMap<(Option<u32>, String), u32> = BTreeMap::new();
                for point in &order.points {
                    *seen.entry((point.block, point.cell.clone())).or_default() += 1;
                }
                prop_assert_eq!(seen.len() as u32, blocks * 6);
                prop_assert!(seen.values().all(|count| *count == 1));
            }
        }
    }

    fn drawn(kind: &str, blocks: u32, seed: u64) -> Order {
        let text = format!(
            "name = 'x'\n[workload]\nname = 'command'\nrun = ['true']\n[design]\norder = '{kind}'\nwarmup = 0\n\
             blocks = {blocks}\nseed = {}\n[[factor]]\nname = 'k'\nlevels.a = 'env.K=1'\nlevels.b = 'env.K=2'\n\
             [[factor]]\nname = 'l'\nlevels.p = 'env.L=1'\nlevels.q = 'env.L=2'\nlevels.r = 'env.L=3'\n",
            seed >> 2
        );
        draw(&source::read(&text, "x.toml").unwrap()).unwrap()
    }

    #[test]
    fn every_balanced_sequence_is_equally_likely() {
        // Six sequences of two AB and two BA; 6,000 draws; chi-square with 5 degrees of freedom stays below its 0.1 % point.
        let mut seen = std::collections::BTreeMap::new();
        let mut rng = ChaCha20Rng::seed_from_u64(7);
        for _ in 0..6000 {
            *seen.entry(draw_pair_sequence(4, &mut rng)).or_insert(0u32) += 1;
        }
        assert_eq!(seen.len(), 6);
        let chi_square: f64 = seen.values().map(|n| (f64::from(*n) - 1000.0).powi(2) / 1000.0).sum();
        assert!(chi_square < 20.5, "chi-square {chi_square}");
    }

    #[test]
    fn boots_are_whole_plots() {
        let text = "name = 'x'\n[workload]\nname = 'command'\nrun = ['true']\n[design]\nblocks = 20\nwarmup = 1\n\
            [[factor]]\nname = 'l'\nlevels.p = 'env.L=1'\nlevels.q = 'env.L=2'\n\
            [[factor]]\nname = 'k'\nlevels.old = 'kernel=6.1'\nlevels.new = 'kernel=6.12'\n";
        let order = draw(&source::read(text, "x.toml").unwrap()).unwrap();
        let kernel = |point: &PlannedPoint| point.cell.rsplit('·').next().unwrap().to_owned();
        let mut firsts = BTreeMap::new();
        for block in order.points.chunks(4) {
            let kernels: Vec<String> = block.iter().map(kernel).collect();
            assert_eq!((&kernels[0], &kernels[2]), (&kernels[1], &kernels[3]), "a block boots each kernel once");
            assert_ne!(kernels[0], kernels[2]);
            assert_eq!(block[0].boot, block[1].boot);
            assert_eq!(block[2].boot, block[1].boot.map(|boot| boot + 1));
            *firsts.entry(kernels[0].clone()).or_insert(0) += 1;
        }
        assert_eq!(firsts.len(), 2, "which kernel comes first is drawn: {firsts:?}");
    }

    #[test]
    fn where_every_point_has_a_boot_of_its_own_boots_are_no_plots() {
        let text = "name = 'x'\n[workload]\nname = 'command'\nrun = ['true']\n[design]\nblocks = 20\n\
            [[factor]]\nname = 'l'\nlevels.p = 'env.L=1'\nlevels.q = 'env.L=2'\n\
            [[factor]]\nname = 'k'\nlevels.old = 'kernel=debian:6.1'\nlevels.new = 'kernel=debian:6.12'\n";
        let order = draw(&source::read(text, "x.toml").unwrap()).unwrap();
        assert!(order.points.iter().all(|point| point.boot.is_none()));
        let kernel = |point: &PlannedPoint| point.cell.rsplit('·').next().unwrap().to_owned();
        let mixed = order.points.chunks(4).filter(|block| kernel(&block[0]) != kernel(&block[1])).count();
        assert!(mixed > 5, "kernels are not kept together inside a block: {mixed} of 21");
    }
}

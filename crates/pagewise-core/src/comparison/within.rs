//! The blocks of a comparison: which rows of either level stand in one together, and which came first.

use super::cells::{Cell, Side};
use super::found::BlockDifference;
use super::table::Table;
use crate::stats::summary;
use std::collections::BTreeMap;

/// Blocks that hold good runs of both levels, in the order of their numbers.
pub(super) struct PairedBlocks {
    blocks: Vec<Block>,
}

struct Block {
    number: u32,
    /// Rows of the base.
    a: Vec<usize>,
    /// Rows of the judged level.
    b: Vec<usize>,
    /// Of one row each whose places in time are known and differ: whether a came first.
    a_first: Option<bool>,
}

impl PairedBlocks {
    pub(super) fn of(table: &Table, cell: &Cell) -> PairedBlocks {
        let (a, mut b) = (by_block(table, &cell.a), by_block(table, &cell.b));
        let block = |(number, a): (u32, Vec<usize>)| {
            let b = b.remove(&number)?;
            let a_first = a_first(table, &a, &b);
            Some(Block { number, a, b, a_first })
        };
        PairedBlocks { blocks: a.into_iter().filter_map(block).collect() }
    }

    /// Whether each block is one run of either level, of which one is known to have come first.
    pub(super) fn are_pairs(&self) -> bool {
        self.blocks.iter().all(|block| block.a_first.is_some())
    }

    /// Share of a level's values that stand in a block with both; of the level that has fewer there.
    pub(super) fn share(&self, cell: &Cell) -> f64 {
        let share = |rows: fn(&Block) -> &Vec<usize>, side: &Side| {
            let placed: usize = self.blocks.iter().map(|block| rows(block).len()).sum();
            placed as f64 / side.values.len() as f64
        };
        share(|block| &block.a, &cell.a).min(share(|block| &block.b, &cell.b))
    }

    /// mean(b) − mean(a) of a number in each block. A block in which a row has no such number gives none.
    pub(super) fn differences(&self, number: impl Fn(usize) -> Option<f64>) -> Vec<BlockDifference> {
        let mean = |rows: &[usize]| summary::mean(&rows.iter().map(|row| number(*row)).collect::<Option<Vec<_>>>()?);
        let difference = |block: &Block| {
            let difference = mean(&block.b)? - mean(&block.a)?;
            Some(BlockDifference { block: block.number, a_first: block.a_first, difference })
        };
        self.blocks.iter().filter_map(difference).collect()
    }

    /// The rows of each level that stand in a block with both.
    pub(super) fn rows(&self) -> (Vec<usize>, Vec<usize>) {
        let all = |rows: fn(&Block) -> &Vec<usize>| self.blocks.iter().flat_map(rows).copied().collect();
        (all(|block| &block.a), all(|block| &block.b))
    }
}

fn a_first(table: &Table, a: &[usize], b: &[usize]) -> Option<bool> {
    let ([a], [b]) = (a, b) else { return None };
    let place = |row: &usize| table.order.get(*row).copied().filter(|place| place.is_finite());
    let (a, b) = (place(a)?, place(b)?);
    (a != b).then_some(a < b)
}

fn by_block(table: &Table, side: &Side) -> BTreeMap<u32, Vec<usize>> {
    let mut blocks: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for row in &side.good {
        if let Some(Some(block)) = table.blocks.get(*row) {
            blocks.entry(*block).or_default().push(*row);
        }
    }
    blocks
}

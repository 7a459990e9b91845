//! Rows of a table sorted into cells: one per contrast and combination of the levels that are kept apart.

use super::level_order;
use super::outcome::Outcome;
use super::question::{Contrast, Question};
use super::table::{Factor, Table};
use std::collections::BTreeMap;

/// What one comparison is made of.
#[derive(Clone, Debug)]
pub(super) struct Cell<'q> {
    pub(super) contrast: &'q Contrast,
    /// Factor and level, in the order asked for.
    pub(super) by: Vec<(String, String)>,
    pub(super) a: Side,
    pub(super) b: Side,
}

impl Cell<'_> {
    /// Two or more values of each level, and in each level all the same.
    pub(super) fn has_no_spread(&self) -> bool {
        [&self.a, &self.b].into_iter().all(|side| {
            let first = side.values.first();
            side.values.len() > 1 && side.values.iter().all(|value| Some(value) == first)
        })
    }
}

/// The rows of one level in a cell, in the order of the file.
#[derive(Clone, Debug, Default)]
pub(super) struct Side {
    /// Every result, failed ones too.
    pub(super) rows: Vec<usize>,
    /// Those that ended well: they have values.
    pub(super) good: Vec<usize>,
    /// The value of each of `good`.
    pub(super) values: Vec<f64>,
}

impl Side {
    fn add(&mut self, table: &Table, row: usize) {
        self.rows.push(row);
        if table.outcomes.get(row).is_none_or(|outcome| *outcome == Outcome::Ok) {
            self.good.push(row);
            self.values.push(table.values[row]);
        }
    }
}

/// All cells: contrasts as asked, and within one by the order in which [levels are shown](level_order).
pub(super) fn all<'q>(table: &Table, question: &'q Question) -> Vec<Cell<'q>> {
    question.contrasts.iter().flat_map(|contrast| of_contrast(table, question, contrast)).collect()
}

fn of_contrast<'q>(table: &Table, question: &Question, contrast: &'q Contrast) -> Vec<Cell<'q>> {
    let by: Vec<&Factor> = question.by_of(contrast).into_iter().filter_map(|name| table.factor(name)).collect();
    let Some(factor) = table.factor(&contrast.factor) else { return Vec::new() };
    let code = |level: &str| factor.levels.iter().position(|known| known == level).map(|code| code as u32);
    let (a, b) = (code(&contrast.a), code(&contrast.b));
    let orders: Vec<Vec<u32>> = by.iter().map(|factor| level_order::of(table, question, factor)).collect();
    let ranks: Vec<Vec<u32>> = orders.iter().map(|order| ranks(order)).collect();
    let mut cells: BTreeMap<Vec<u32>, (Side, Side)> = BTreeMap::new();
    let mut key = Vec::with_capacity(by.len());
    for (row, level) in factor.codes.iter().enumerate() {
        let (is_a, is_b) = (Some(*level) == a, Some(*level) == b);
        if !is_a && !is_b {
            continue;
        }
        key.clear();
        key.extend(by.iter().zip(&ranks).map(|(factor, ranks)| ranks[factor.codes[row] as usize]));
        if !cells.contains_key(&key) {
            cells.insert(key.clone(), (Side::default(), Side::default()));
        }
        let Some((side_a, side_b)) = cells.get_mut(&key) else { continue };
        if is_a { side_a.add(table, row) } else { side_b.add(table, row) }
    }
    let named = |places: &[u32]| -> Vec<(String, String)> {
        let level = |(place, (factor, order)): (&u32, (&&Factor, &Vec<u32>))| {
            (factor.name.clone(), factor.levels[order[*place as usize] as usize].clone())
        };
        places.iter().zip(by.iter().zip(&orders)).map(level).collect()
    };
    cells.into_iter().map(|(places, (a, b))| Cell { contrast, by: named(&places), a, b }).collect()
}

/// The place of each code in an order.
fn ranks(order: &[u32]) -> Vec<u32> {
    let mut ranks = vec![0; order.len()];
    for (place, code) in order.iter().enumerate() {
        ranks[*code as usize] = place as u32;
    }
    ranks
}

//! Whether something else than the factor differs between the runs that are compared, and decides what is found.
//!
//! A column is told when three things hold of the good runs of a comparison. It has few levels and is neither compared nor
//! kept apart. Its levels are spread unevenly over the two levels compared, as far as they matter
//! ([`crate::stats::stratified`]). And runs with the same level of it say something else than all runs together: another
//! verdict, or an estimate of the other sign with one of the two outside of the other's interval.

use super::analysis::Note;
use super::cells::{Cell, Side};
use super::found::Comparison;
use super::found::Warning;
use super::question::{Contrast, Question};
use super::rule::{Conclusion, LogIntervals, Rule};
use super::table::Table;
use super::words::{number, p_value};
use crate::stats::stratified::{self, Stratified, Stratum};
use std::collections::BTreeMap;

/// A balance that chance makes so bad in one of twenty random orders. That alone tells nobody anything: the column must
/// change what is found, too.
const UNBALANCED: f64 = 0.05;

/// As many columns as a warning or a note names.
const MOST_NAMED: usize = 3;

/// A column that could have been kept apart.
pub(super) struct Column<'t> {
    pub(super) name: &'t str,
    levels: &'t [String],
    codes: Codes<'t>,
}

enum Codes<'t> {
    Few(&'t [u8]),
    Many(&'t [u32]),
}

impl Column<'_> {
    /// The level that a row has, as a number.
    pub(super) fn code(&self, row: usize) -> usize {
        match self.codes {
            Codes::Few(codes) => usize::from(codes[row]),
            Codes::Many(codes) => codes[row] as usize,
        }
    }
}

/// Every column whose levels a contrast throws together: those nobody named, and factors of other contrasts.
pub(super) fn columns<'t>(table: &'t Table, question: &Question, contrast: &Contrast) -> Vec<Column<'t>> {
    let kept_apart = question.by_of(contrast);
    let is_free = |name: &str| name != contrast.factor && !kept_apart.contains(&name);
    let unused = table.unused.iter().map(|c| Column { name: &c.name, levels: &c.levels, codes: Codes::Few(&c.codes) });
    let factors = table.factors.iter().filter(|factor| is_free(&factor.name));
    let factors = factors.map(|f| Column { name: &f.name, levels: &f.levels, codes: Codes::Many(&f.codes) });
    factors.chain(unused).collect()
}

/// What a set of runs says about b relative to a.
#[derive(Clone, Copy)]
struct SubsetEffect {
    estimate: f64,
    interval: (f64, f64),
    word: Conclusion,
}

impl SubsetEffect {
    fn of(rule: &Rule, estimate: f64, interval: (f64, f64), equivalence: Option<(f64, f64)>) -> SubsetEffect {
        // Values without logarithms have no margin: nothing is equivalent there.
        let equivalence = equivalence.unwrap_or((f64::NEG_INFINITY, f64::INFINITY));
        let word = rule.by_effect(LogIntervals { difference: interval, equivalence }).word;
        SubsetEffect { estimate, interval, word }
    }

    fn contradicts(&self, other: &SubsetEffect) -> bool {
        let outside = |one: &SubsetEffect, other: &SubsetEffect| {
            one.estimate < other.interval.0 || one.estimate > other.interval.1
        };
        let turns = self.estimate * other.estimate < 0.0;
        self.word != other.word || (turns && (outside(self, other) || outside(other, self)))
    }

    /// `worse (+8.1 %)`.
    fn words(&self, is_log: bool) -> String {
        let change = if is_log {
            format!("{:+.1} %", libm::expm1(self.estimate) * 100.0)
        } else if self.estimate > 0.0 {
            format!("+{}", number(self.estimate))
        } else {
            number(self.estimate)
        };
        format!("{} ({change})", self.word.word())
    }
}

/// The values of a comparison on the scale of its verdict, and what all of them say.
struct Pooled {
    is_log: bool,
    a: Vec<f64>,
    b: Vec<f64>,
    said: SubsetEffect,
}

impl Pooled {
    fn of(rule: &Rule, cell: &Cell, comparison: &Comparison) -> Option<Pooled> {
        if let Some(ratio) = &comparison.in_r().log_ratio {
            let logs = |side: &Side| side.values.iter().map(|value| libm::log(*value)).collect();
            let equivalence = Some((ratio.equivalence_low, ratio.equivalence_high));
            let said = SubsetEffect::of(rule, ratio.estimate, (ratio.low, ratio.high), equivalence);
            return Some(Pooled { is_log: true, a: logs(&cell.a), b: logs(&cell.b), said });
        }
        let (welch, a, b) = (comparison.in_r().welch.as_ref()?, comparison.a_values.mean?, comparison.b_values.mean?);
        let said = SubsetEffect::of(rule, b - a, (-welch.ci_high, -welch.ci_low), None);
        Some(Pooled { is_log: false, a: cell.a.values.clone(), b: cell.b.values.clone(), said })
    }

    /// What runs of the same stratum say. `None` where the strata are even, or leave nothing to say.
    fn within(
        &self,
        rule: &Rule,
        cell: &Cell,
        stratum_of: impl Fn(usize) -> Option<usize>,
    ) -> Option<(Stratified, SubsetEffect)> {
        let mut strata: BTreeMap<usize, Stratum> = BTreeMap::new();
        for (row, value) in cell.a.good.iter().zip(&self.a) {
            stratum_of(*row).into_iter().for_each(|stratum| strata.entry(stratum).or_default().0.push(*value));
        }
        for (row, value) in cell.b.good.iter().zip(&self.b) {
            stratum_of(*row).into_iter().for_each(|stratum| strata.entry(stratum).or_default().1.push(*value));
        }
        let strata: Vec<Stratum> = strata.into_values().collect();
        let found = stratified::difference(&strata).filter(|found| found.balance_p <= UNBALANCED)?;
        let equivalence = self.is_log.then(|| found.interval(2.0 * rule.alpha));
        Some((found, SubsetEffect::of(rule, found.difference, found.interval(rule.alpha), equivalence)))
    }
}

/// Columns, and blocks, that make all runs together say something else than runs that have them in common.
pub(super) fn warnings(table: &Table, question: &Question, cell: &Cell, comparison: &Comparison) -> Vec<Warning> {
    if table.blocks.is_empty() && columns(table, question, cell.contrast).is_empty() {
        return Vec::new();
    }
    let Some(pooled) = Pooled::of(&question.rule, cell, comparison) else { return Vec::new() };
    let blocks = unbalanced_blocks(table, question, cell, &pooled);
    unbalanced(table, question, cell, comparison, &pooled).into_iter().chain(blocks).collect()
}

fn unbalanced(
    table: &Table,
    question: &Question,
    cell: &Cell,
    comparison: &Comparison,
    pooled: &Pooled,
) -> Option<Warning> {
    let rule = &question.rule;
    let columns = columns(table, question, cell.contrast);
    let mut found: Vec<(&Column, SubsetEffect)> = Vec::new();
    for column in &columns {
        let within = pooled.within(rule, cell, |row| Some(column.code(row)));
        let contradicting = within.map(|(_, said)| said).filter(|said| said.contradicts(&pooled.said));
        found.extend(contradicting.map(|said| (column, said)));
    }
    let pushed = |said: &SubsetEffect| (said.estimate - pooled.said.estimate).abs();
    found.sort_by(|one, other| pushed(&other.1).total_cmp(&pushed(&one.1)));
    let ((column, within), others) = found.split_first()?;
    let mut by: Vec<String> = question.by_of(cell.contrast).into_iter().map(escaped).collect();
    by.push(escaped(column.name));
    let text = format!(
        "`{}` is unbalanced between the levels: {}. All runs together say {}, runs with the same `{}` {}. Unless it is a \
         result of the run itself, keep it apart: --by {}.{}{}",
        column.name,
        spread(cell, column),
        pooled.said.words(pooled.is_log),
        column.name,
        within.words(pooled.is_log),
        by.join(","),
        same_fault_of_blocks(rule, comparison, pooled, within),
        same_of_others(others)
    );
    Some(Warning { id: "unbalanced".to_owned(), text })
}

/// A comma that belongs to a name is written `\,`, as [`super::question::split_names`] reads it.
fn escaped(name: &str) -> String {
    name.replace(',', "\\,")
}

fn same_of_others(others: &[(&Column, SubsetEffect)]) -> String {
    let names: Vec<String> = others.iter().take(MOST_NAMED).map(|(column, _)| format!("`{}`", column.name)).collect();
    match others.len() {
        0 => String::new(),
        count if count > MOST_NAMED => format!(" So are {} and {} more.", names.join(", "), count - MOST_NAMED),
        1 => format!(" So is {}.", names.concat()),
        _ => format!(" So are {}.", names.join(", ")),
    }
}

/// Blocks protect only from what is the same in a whole block.
fn same_fault_of_blocks(rule: &Rule, comparison: &Comparison, pooled: &Pooled, within: &SubsetEffect) -> &'static str {
    let Some(blocked) = &comparison.in_r().blocked else { return "" };
    let blocks = SubsetEffect::of(rule, blocked.log_ratio, (blocked.low, blocked.high), None);
    let is_fooled = blocks.word == pooled.said.word && blocks.word != within.word;
    if is_fooled { " The estimate within blocks has the same fault." } else { "" }
}

/// `` `on` in 8 of 10 runs of `baseline` and in 2 of 10 of `patched` ``, of the level that differs most.
fn spread(cell: &Cell, column: &Column) -> String {
    let count = |side: &Side, code: usize| side.good.iter().filter(|row| column.code(**row) == code).count();
    let (a, b) = (cell.a.good.len(), cell.b.good.len());
    let apart = |code: &usize| {
        let share = |side: &Side, total: usize| count(side, *code) as f64 / total.max(1) as f64;
        (share(&cell.a, a) - share(&cell.b, b)).abs()
    };
    // Only levels that occur here: a table can have thousands elsewhere.
    let mut here: Vec<usize> = cell.a.good.iter().chain(&cell.b.good).map(|row| column.code(*row)).collect();
    here.sort_unstable();
    here.dedup();
    let code = here.into_iter().max_by(|one, other| apart(one).total_cmp(&apart(other))).unwrap_or_default();
    format!(
        "{} in {} of {a} runs of `{}` and in {} of {b} of `{}`",
        level(column, code),
        count(&cell.a, code),
        cell.contrast.a,
        count(&cell.b, code),
        cell.contrast.b
    )
}

fn level(column: &Column, code: usize) -> String {
    match plain_level(column, code) {
        "" => "no level".to_owned(),
        level => format!("`{level}`"),
    }
}

fn plain_level<'t>(column: &Column<'t>, code: usize) -> &'t str {
    column.levels.get(code).map_or("", String::as_str)
}

fn unbalanced_blocks(table: &Table, question: &Question, cell: &Cell, pooled: &Pooled) -> Option<Warning> {
    let block_of = |row: usize| Some(table.blocks.get(row).copied()?? as usize);
    let (found, within) = pooled.within(&question.rule, cell, block_of)?;
    if !within.contradicts(&pooled.said) {
        return None;
    }
    let text = format!(
        "The runs of `{}` and `{}` are spread unevenly over blocks that differ (balance p = {}). All runs together say {}, \
         runs of the same block {}: go by what is found within blocks.",
        cell.contrast.a,
        cell.contrast.b,
        p_value(found.balance_p),
        pooled.said.words(pooled.is_log),
        within.words(pooled.is_log)
    );
    Some(Warning { id: "unbalanced-blocks".to_owned(), text })
}

/// Columns that change with the factor in every run, so that no table can take the two apart.
pub(super) fn changes_together(table: &Table, question: &Question, cells: &[Cell]) -> Vec<Note> {
    let note = |contrast: &Contrast| {
        let of_contrast: Vec<&Cell> = cells.iter().filter(|cell| cell.contrast == contrast).collect();
        let columns = columns(table, question, contrast);
        let together: Vec<(&Column, usize, usize)> = columns
            .iter()
            .filter_map(|column| {
                let a = only_level(column, of_contrast.iter().map(|cell| &cell.a))?;
                let b = only_level(column, of_contrast.iter().map(|cell| &cell.b))?;
                (a != b).then_some((column, a, b))
            })
            .collect();
        let levels = |of: fn(&(&Column, usize, usize)) -> usize| -> String {
            let named = together.iter().take(MOST_NAMED);
            named.map(|one| format!("{}={}", one.0.name, plain_level(one.0, of(one)))).collect::<Vec<_>>().join(", ")
        };
        let more = match together.len().saturating_sub(MOST_NAMED) {
            0 => String::new(),
            count => format!(" (and {count} more columns)"),
        };
        let text = format!(
            "Every run of `{}` has {}, every run of `{}` {}{more}: what is due to `{}` and what to that cannot be told from \
             these runs.",
            contrast.a,
            levels(|one| one.1),
            contrast.b,
            levels(|one| one.2),
            contrast.factor
        );
        (!together.is_empty()).then(|| Note { id: "changes-together".to_owned(), text })
    };
    question.contrasts.iter().filter_map(note).collect()
}

/// The level that all runs of these sides have, when there are two or more.
fn only_level<'c>(column: &Column, sides: impl Iterator<Item = &'c Side>) -> Option<usize> {
    let mut rows = sides.flat_map(|side| &side.rows).map(|row| column.code(*row));
    let first = rows.next()?;
    let mut count = 1;
    for code in rows {
        if code != first {
            return None;
        }
        count += 1;
    }
    (count > 1).then_some(first)
}

#[cfg(test)]
mod tests {
    use crate::comparison::analysis::analyze;
    use crate::comparison::question::Question;
    use crate::comparison::table::Table;
    use rand_chacha::ChaCha20Rng;
    use rand_core::{Rng, SeedableRng};

    struct Draw(ChaCha20Rng);

    impl Draw {
        fn unit(&mut self) -> f64 {
            (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
        }

        fn bell(&mut self) -> f64 {
            (0..12).map(|_| self.unit()).sum::<f64>() - 6.0
        }
    }

    /// Of so many tables of 12 runs of each level how many are told that `other` is unbalanced. Its levels change the value
    /// by `effect` each; a run of b is moved to a higher one with probability `pushed`.
    fn told(tables: u32, levels: u32, effect: f64, pushed: f64) -> f64 {
        let question = Question::new("s", vec!["k=a,b".parse().unwrap()], vec![]);
        let mut draw = Draw(ChaCha20Rng::seed_from_u64(5));
        let mut count = 0;
        for _ in 0..tables {
            let mut text = "k,s,other\n".to_owned();
            for run in 0..24 {
                let is_b = run % 2 == 1;
                let drawn = (draw.unit() * f64::from(levels)) as u32;
                let other = if is_b && draw.unit() < pushed { levels - 1 } else { drawn };
                let value = 100.0 + effect * f64::from(other) + draw.bell();
                text.push_str(&format!("{},{value},{other}\n", if is_b { "b" } else { "a" }));
            }
            let table = Table::read(text.as_bytes(), "t.csv", &question).unwrap();
            let found = analyze(&table, &question).unwrap();
            count += u32::from(found.comparisons[0].warnings.iter().any(|warning| warning.id == "unbalanced"));
        }
        f64::from(count) / f64::from(tables)
    }

    #[test]
    fn a_column_without_effect_that_is_spread_at_random_is_seldom_told() {
        for levels in [2, 5, 10] {
            let share = told(400, levels, 0.0, 0.0);
            assert!(share <= 0.03, "{levels} levels: {share}");
        }
    }

    #[test]
    fn a_column_that_makes_the_difference_is_told() {
        // Of two levels nine in ten runs against five: the test of balance itself sees no more in tables of this size.
        for (levels, pushed, least) in [(2, 0.8, 0.6), (2, 1.0, 0.8), (5, 0.8, 0.7)] {
            let share = told(400, levels, 6.0 / f64::from(levels - 1), pushed);
            assert!(share >= least, "{levels} levels, {pushed}: {share}");
        }
    }
}

//! What is worth knowing about how a table was read, and no reason to doubt what was found in it.

use super::analysis::Note;
use super::cells::Cell;
use super::confounding;
use super::counters;
use super::estimate::Design;
use super::found::Comparison;
use super::question::{Blocks, Counters, Question};
use super::table::{Recognised, Table, Unused};
use super::words::number;
use std::collections::BTreeSet;

/// As many levels as a note names.
const MOST_LEVELS: usize = 5;

/// All that apply, in a fixed order.
pub(super) fn of(table: &Table, question: &Question, cells: &[Cell], comparisons: &[Comparison]) -> Vec<Note> {
    let still = counters_without_spread(table, cells, comparisons);
    let compared = comparisons.iter().any(|comparison| comparison.counters_compared > 0);
    let is_empty = question.counters != Counters::None && !compared && still.is_none();
    let no_counters = is_empty.then(|| {
        note(
            "no-counters",
            "No other column of numbers changes within the runs compared: there is no counter.".to_owned(),
        )
    });
    let recognised = &table.recognised;
    let mut all: Vec<Note> = [read_as(recognised), columns_used(recognised)].into_iter().flatten().collect();
    all.extend(compared_within(comparisons));
    all.extend(column_like_blocks(table, question));
    all.extend(levels_not_used(table, question));
    all.extend(confounding::changes_together(table, question, cells));
    all.extend(no_counters);
    all.extend(still);
    all
}

fn note(id: &str, text: String) -> Note {
    Note { id: id.to_owned(), text }
}

/// How the text was cut, where that is not the plainest way.
fn read_as(recognised: &Recognised) -> Option<Note> {
    let mut said = Vec::new();
    if recognised.delimiter != super::table::Delimiter::default() {
        said.push(format!("fields are separated by {}", recognised.delimiter.words()));
    }
    if recognised.decimal_comma.is_some() {
        said.push("numbers have decimal commas".to_owned());
    }
    match recognised.comments {
        0 => {}
        1 => said.push("1 line of comment above the header is read over".to_owned()),
        count => said.push(format!("{count} lines of comments above the header are read over")),
    }
    (!said.is_empty()).then(|| note("read-as", format!("As read: {}.", said.join("; "))))
}

/// Which columns mean something by their names: one that was meant and is not listed was not found.
fn columns_used(recognised: &Recognised) -> Option<Note> {
    let time = if recognised.order_is_time { " (timestamps)" } else { "" };
    let used =
        [("outcome", &recognised.outcome, ""), ("order", &recognised.order, time), ("block", &recognised.block, "")];
    let said: Vec<String> = used
        .into_iter()
        .filter_map(|(what, column, more)| Some(format!("{what} from column '{}'{more}", column.as_ref()?)))
        .collect();
    (!said.is_empty()).then(|| note("columns-used", format!("Taken: {}.", said.join(", "))))
}

/// A column that numbers repetitions, where none is taken for blocks: each of its values stands once with every combination of the levels
/// that are compared and kept apart.
fn column_like_blocks(table: &Table, question: &Question) -> Option<Note> {
    /// Of fewer it may be chance.
    const FEWEST: usize = 4;
    if question.blocks != Blocks::Recognised || table.recognised.block.is_some() {
        return None;
    }
    let rows = table.values.len();
    let most_combinations = table.factors.iter().fold(1usize, |all, factor| all.saturating_mul(factor.levels.len()));
    // A long table is not gone through for a column that cannot be it.
    let may_repeat = |column: &&Unused| {
        column.levels.len() >= FEWEST && rows <= column.levels.len().saturating_mul(most_combinations)
    };
    let combination = |row: usize| table.factors.iter().map(|factor| factor.codes[row]).collect::<Vec<u32>>();
    let repeats = |column: &&Unused| {
        let combinations: BTreeSet<Vec<u32>> = (0..rows).map(combination).collect();
        let seen: BTreeSet<(u8, Vec<u32>)> = (0..rows).map(|row| (column.codes[row], combination(row))).collect();
        seen.len() == rows && rows == column.levels.len() * combinations.len()
    };
    let name = &table.unused.iter().filter(may_repeat).find(repeats)?.name;
    let text = format!(
        "Each value of column '{name}' stands once at every level. If it says which runs were made close together, name it, and what \
         those have in common is taken out: --block {name}."
    );
    Some(note("column-like-blocks", text))
}

/// What ties values of the two levels together, where a verdict goes by it.
fn compared_within(comparisons: &[Comparison]) -> Option<Note> {
    let by = |method| comparisons.iter().filter(|one| one.method == method).count();
    let (pairs, blocks) = (by(Design::Pairs), by(Design::Blocks));
    let of_all = |count: usize| match (count, comparisons.len()) {
        (_, 1) => String::new(),
        (count, all) if count == all => String::new(),
        (count, all) => format!(" ({count} of {all} comparisons)"),
    };
    let said: Vec<String> = [
        (pairs, "pairs in the order they ran: the crossover estimate, which takes out what running second costs"),
        (blocks, "differences within blocks"),
    ]
    .into_iter()
    .filter(|(count, _)| *count > 0)
    .map(|(count, what)| format!("{what}{}", of_all(count)))
    .collect();
    let text = || {
        format!(
            "Verdicts go by {}. What blocks have in common is gone from it, a drift among it. --block none leaves blocks alone.",
            said.join("; and by ")
        )
    };
    (!said.is_empty()).then(|| note("compared-within", text()))
}

/// A row of another level belongs to no comparison. Levels that look like a slip have a warning of their own.
fn levels_not_used(table: &Table, question: &Question) -> Vec<Note> {
    let mut notes = Vec::new();
    for factor in &table.factors {
        let of_factor = |level: &&super::table::LeftOutLevel| level.factor == factor.name && level.alike.is_none();
        let left_out: Vec<_> = table.left_out.levels.iter().filter(of_factor).collect();
        if left_out.is_empty() {
            continue;
        }
        let rows = |count: u64| if count == 1 { "1 row has".to_owned() } else { format!("{count} rows have") };
        let mut named: Vec<String> = left_out
            .iter()
            .take(MOST_LEVELS)
            .map(|left| format!("{} {}={}", rows(left.rows.count), left.factor, left.level))
            .collect();
        if left_out.len() > MOST_LEVELS {
            let rest: u64 = left_out.iter().skip(MOST_LEVELS).map(|left| left.rows.count).sum();
            named.push(format!("{} one of {} more levels", rows(rest), left_out.len() - MOST_LEVELS));
        }
        let compared = compared(question, &factor.name).join(", ");
        let text = format!("{}: not used; levels compared are {compared}.", named.join(", "));
        notes.push(note("levels-not-used", text));
    }
    notes
}

/// Counters that were compared and have no line in the list.
fn counters_without_spread(table: &Table, cells: &[Cell], comparisons: &[Comparison]) -> Option<Note> {
    let still = counters::without_spread(table, cells, comparisons);
    let value = |value: Option<f64>| value.map_or_else(|| "none".to_owned(), number);
    let said = |one: &counters::ConstantCounter| match (one.a, one.b) {
        (a, b) if a == b => format!("{} ({})", one.name, value(a)),
        (a, b) => format!("{} ({} and {})", one.name, value(a), value(b)),
    };
    // One that differs between the levels and never within them may be what matters most.
    let (differing, same): (Vec<_>, Vec<_>) = still.iter().partition(|one| one.a != one.b);
    let mut named: Vec<String> = differing.into_iter().chain(same).take(MOST_LEVELS).map(said).collect();
    if still.len() > MOST_LEVELS {
        named.push(format!("{} more", still.len() - MOST_LEVELS));
    }
    let text = || format!("Without spread within a level, and so without a test: counters {}.", named.join(", "));
    (!still.is_empty()).then(|| note("counters-without-spread", text()))
}

/// The levels of a factor that a question asks for, each once.
pub(super) fn compared<'q>(question: &'q Question, factor: &str) -> Vec<&'q str> {
    let mut levels: Vec<&str> = Vec::new();
    for contrast in question.contrasts.iter().filter(|contrast| contrast.factor == factor) {
        for level in [contrast.a.as_str(), contrast.b.as_str()] {
            if !levels.contains(&level) {
                levels.push(level);
            }
        }
    }
    levels
}

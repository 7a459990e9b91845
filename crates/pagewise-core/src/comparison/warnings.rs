//! What a careful reader must know before believing a comparison of a table. A warning never changes a number or a verdict.
//! What a trial may be told as well is judged by [`super::doubts`]; here is what only a table can have, and how its runs are
//! named.

use super::cells::{Cell, Side};
use super::confounding;
use super::doubts::{self, warning};
use super::estimate::Design;
use super::found::{Comparison, Warning};
use super::host_change;
use super::notes;
use super::question::{ORDER, Question};
use super::rule::{Conclusion, EFFECT, HELD_BACK, OUTCOMES};
use super::table::{LeftOut, LeftOutLevel, Recognised, Rows, Table};
use super::words::{number, p_value};
use crate::stats::{blocked, randomisation, summary};

/// n in a row are in order by chance once in n!: 120 at five.
const FEWEST_FOR_SORTED: usize = 5;

/// Outliers are named one by one up to here.
const MOST_OUTLIERS_NAMED: usize = 4;

/// All that apply to one comparison, in a fixed order.
pub(super) fn of(table: &Table, question: &Question, cell: &Cell, comparison: &Comparison) -> Vec<Warning> {
    let of_values = [
        fails_more_often(question, comparison),
        not_positive(cell),
        no_percent(comparison),
        doubts::direction(&question.value, "", question.rule.direction),
        few_points(question, cell, comparison),
        no_spread(cell),
    ];
    let runs = runs(table, cell, comparison);
    let residuals: Vec<f64> = runs.iter().map(|run| run.residual).collect();
    let of_runs = [
        order_lost(table, cell),
        order_decides(table, cell),
        drift(&runs, comparison),
        host_changed(&runs, comparison, question),
        autocorrelated(&runs, comparison),
        outliers(table, cell, &runs, &residuals),
        bimodal(table, question, cell, comparison),
        few_sequences(question, comparison),
        ties(cell, comparison),
        tests_disagree(question, comparison),
        means_disagree(question, comparison),
        many_comparisons(question, comparison),
    ];
    let confounding = confounding::warnings(table, question, cell, comparison);
    of_values.into_iter().flatten().chain(confounding).chain(of_runs.into_iter().flatten()).collect()
}

/// What was left out of the table as a whole, or taken for something it may not be.
pub(super) fn of_table(table: &Table, question: &Question) -> Vec<Warning> {
    let LeftOut { without_value, without_level, invalid, counters_with_text, levels } = &table.left_out;
    let rows = |id: &str, rows: &Rows, one: &str, many: &str| match rows.count {
        0 => None,
        1 => warning(id, format!("1 row {one} and is left out: line {}.", rows.first_line)),
        count => warning(id, format!("{count} rows {many} and are left out, the first at line {}.", rows.first_line)),
    };
    let mut all = vec![
        levels_spelled(levels, question),
        levels_alike(&table.recognised),
        column_twice(&table.recognised),
        decimal_or_thousands(&table.recognised),
        rows("values-missing", without_value, "has no value", "have no value"),
        rows("levels-missing", without_level, "lacks a level of a factor", "lack a level of a factor"),
        rows("invalid-left-out", invalid, "is an invalid run", "are invalid runs"),
    ];
    if let Some((first, line)) = counters_with_text.first() {
        let others = match counters_with_text.len() {
            1 => String::new(),
            count => format!(" So have {} other columns.", count - 1),
        };
        let text = format!("Column '{first}' has a text in line {line} and is not compared as a counter.{others}");
        all.push(warning("text-among-counters", text));
    }
    all.into_iter().flatten().collect()
}

/// As many levels as a warning names.
const MOST_LEVELS_NAMED: usize = 4;

/// Rows that no comparison uses because their level is spelled another way.
fn levels_spelled(levels: &[LeftOutLevel], question: &Question) -> Option<Warning> {
    let suspicious: Vec<(&LeftOutLevel, &'static str, &String)> =
        levels.iter().filter_map(|left| left.alike.as_ref().map(|(what, meant)| (left, *what, meant))).collect();
    let (first, _, _) = suspicious.first()?;
    let said = |(left, what, meant): &(&LeftOutLevel, &str, &String)| {
        let rows = if left.rows.count == 1 { "1 row has".to_owned() } else { format!("{} rows have", left.rows.count) };
        let LeftOutLevel { factor, level, rows: Rows { first_line, .. }, .. } = left;
        format!("{rows} {factor}={level} (first at line {first_line}), {what} {meant}")
    };
    let named: Vec<String> = suspicious.iter().take(MOST_LEVELS_NAMED).map(said).collect();
    let more = match suspicious.len().saturating_sub(MOST_LEVELS_NAMED) {
        0 => String::new(),
        count => format!("; and {count} more levels like that"),
    };
    let text = format!(
        "{}{more}: not used; levels compared are {}. Write a level in one way only.",
        named.join("; "),
        notes::compared(question, &first.factor).join(", ")
    );
    warning("levels-spelled", text)
}

/// Levels that are kept apart and may be one.
fn levels_alike(recognised: &Recognised) -> Option<Warning> {
    let first = recognised.alike.first()?;
    let more = match recognised.alike.len() {
        1 => String::new(),
        count => format!(" So are {} more.", count - 1),
    };
    let text = format!(
        "{}={} is {} {}, and yet another level that is kept apart.{more} Write a level in one way only.",
        first.factor, first.level, first.what, first.other
    );
    warning("levels-alike", text)
}

fn column_twice(recognised: &Recognised) -> Option<Warning> {
    let said = |(used, other): &(String, String)| {
        format!("Columns '{used}' and '{other}' mean the same by their names: '{used}' is used.")
    };
    let all: Vec<String> = recognised.doubled.iter().map(said).collect();
    let text = format!("{} Rename the one that means something else.", all.join(" "));
    (!all.is_empty()).then(|| Warning { id: "column-twice".to_owned(), text })
}

/// `1,042` alone does not say what its comma means, nor does `1.002` beside `998`.
fn decimal_or_thousands(recognised: &Recognised) -> Option<Warning> {
    let comma = recognised.decimal_comma.as_ref().filter(|(_, comma)| comma.may_be_thousands);
    let comma = comma.map(|found| ("comma", found, ""));
    let point = || Some(("point", recognised.thousands_point.as_ref()?, " beside whole numbers in the hundreds"));
    let (mark, (column, first), beside) = comma.or_else(point)?;
    let text = format!(
        "'{}' (column '{column}', line {}) and others like it were read with a decimal {mark}{beside}. If it separates \
         thousands, take it away.",
        first.text, first.line
    );
    warning("decimal-or-thousands", text)
}

/// Without a column that says when each run was made, nobody can look for drift. Where values are sorted, that has been
/// said already.
pub(super) fn without_order(table: &Table, comparisons: &[Comparison]) -> Option<Warning> {
    let said = comparisons.iter().any(|comparison| comparison.warnings.iter().any(|w| w.id == "order-lost"));
    if !table.order.is_empty() || said {
        return None;
    }
    warning(
        "order-lost",
        format!(
            "The table has no column '{ORDER}', so a drift of the host during the runs cannot be seen. {}",
            match &table.recognised.times {
                Some(column) =>
                    format!("Column '{column}' holds times; if it says when each run was made: --order '{column}'."),
                None => "If a column says when each run was made, name it: --order COLUMN.".to_owned(),
            }
        ),
    )
}

fn sides<'c>(cell: &'c Cell) -> [(&'c str, &'c Side); 2] {
    [(&cell.contrast.a, &cell.a), (&cell.contrast.b, &cell.b)]
}

fn fails_more_often(question: &Question, comparison: &Comparison) -> Option<Warning> {
    let test = &comparison.outcomes;
    if test.a_bad == test.b_bad {
        return None;
    }
    let text = format!(
        "{} of {} runs of `{}` and {} of {} of `{}` ended badly (Fisher's exact test, p = {}); the values are of the \
         others alone.{}",
        test.a_bad,
        test.a_total,
        comparison.a,
        test.b_bad,
        test.b_total,
        comparison.b,
        p_value(test.p),
        held_back(question, comparison)
    );
    warning("fails-more-often", text)
}

/// What the values alone would have said, where that was not said. Empty elsewhere.
fn held_back(question: &Question, comparison: &Comparison) -> String {
    let Some(intervals) = comparison.intervals().filter(|_| comparison.decided_by == HELD_BACK) else {
        return String::new();
    };
    let said = match question.rule.by_effect(intervals).word {
        Conclusion::Better => format!("`{}` better", comparison.b),
        Conclusion::Worse => format!("`{}` better", comparison.a),
        _ => "the two equivalent".to_owned(),
    };
    format!(
        " Those would call {said}, but a level that fails more often is never called better or equivalent: hence \
         inconclusive."
    )
}

fn not_positive(cell: &Cell) -> Option<Warning> {
    let count = cell.a.values.iter().chain(&cell.b.values).filter(|value| **value <= 0.0).count();
    doubts::not_positive(&[(count, String::new())])
}

/// Where a difference stands in the place of a percentage.
fn no_percent(comparison: &Comparison) -> Option<Warning> {
    comparison.in_r().welch.as_ref()?;
    let why = comparison.in_r().absent.get("percent")?;
    let text = format!("There is no percentage: {why}. The difference of the means stands in its place.");
    warning("no-percent", text)
}

/// A value that is always the same shows no noise to hold a difference against.
fn no_spread(cell: &Cell) -> Option<Warning> {
    if !cell.has_no_spread() {
        return None;
    }
    let of_side = |(level, side): (&str, &Side)| {
        let value = side.values.first().copied().unwrap_or_default();
        format!("all {} values of `{level}` are {}", side.values.len(), number(value))
    };
    let text = format!(
        "Zero variance: {}. Without variance no interval can be computed, and there is no verdict on the values. Was the value \
         rounded, or stopped at a limit?",
        sides(cell).map(of_side).join(" and ")
    );
    warning("no-spread", text)
}

/// Below this many values no rank test can reach alpha, whatever they are. Within blocks it is their number that counts, and
/// `few-sequences` says so.
fn few_points(question: &Question, cell: &Cell, comparison: &Comparison) -> Option<Warning> {
    let (a, b) = (cell.a.values.len(), cell.b.values.len());
    if a == 0 || b == 0 {
        let (level, _) = sides(cell).into_iter().find(|(_, side)| side.values.is_empty())?;
        return warning("few-points", format!("`{level}` has no value here, so there is nothing to compare."));
    }
    if let Some((level, _)) = sides(cell).into_iter().find(|(_, side)| side.values.len() == 1) {
        let text =
            format!("`{level}` has one value here, and a spread needs two: there is no interval. Take four or more.");
        return warning("few-points", text);
    }
    let smallest = 2.0 / ways_to_choose(a, b);
    if smallest <= question.rule.alpha || comparison.method != Design::Independent {
        return None;
    }
    let text = format!(
        "{a} and {b} values are so few that a rank test cannot go below p = {}; the verdict rests on the values being \
         normal. Take four or more of each.",
        p_value(smallest.min(1.0))
    );
    warning("few-points", text)
}

/// Within blocks: whether their orders can show what the t interval claims.
fn few_sequences(question: &Question, comparison: &Comparison) -> Option<Warning> {
    let blocks = comparison.in_r().blocked.as_ref()?.blocks;
    let smallest_p = match comparison.method {
        Design::Pairs => randomisation::smallest_attainable_p(blocks as usize),
        Design::Blocks => blocked::smallest_attainable_p(blocks as usize),
        _ => return None,
    };
    doubts::few_sequences(comparison.method, smallest_p, question.rule.alpha, "")
}

/// (a + b) over a; a product stays exact far beyond where it matters.
fn ways_to_choose(a: usize, b: usize) -> f64 {
    (1..=a.min(b)).map(|k| (a.max(b) + k) as f64 / k as f64).product()
}

fn order_lost(table: &Table, cell: &Cell) -> Option<Warning> {
    if !table.order.is_empty() {
        return None;
    }
    let sorted: Vec<String> = sides(cell)
        .into_iter()
        .filter(|(_, side)| is_sorted(&side.values))
        .map(|(level, _)| format!("`{level}`"))
        .collect();
    if sorted.is_empty() {
        return None;
    }
    let text = format!(
        "The values of {} are sorted by size, so the order of the runs is lost: nobody can check whether the host \
         drifted. {}",
        sorted.join(" and "),
        match &table.recognised.times {
            Some(column) => format!("If column '{column}' says when each run was made: --order '{column}'."),
            None => format!("Keep the rows in the order of the runs, or add a column '{ORDER}'."),
        }
    );
    warning("order-lost", text)
}

fn is_sorted(values: &[f64]) -> bool {
    let rises = values.windows(2).all(|pair| pair[0] <= pair[1]);
    let falls = values.windows(2).all(|pair| pair[0] >= pair[1]);
    // Constant values are in every order.
    values.len() >= FEWEST_FOR_SORTED && (rises != falls)
}

/// Places in time of a side's values, where known.
fn places(table: &Table, side: &Side) -> Vec<f64> {
    side.good.iter().filter_map(|row| table.order.get(*row).copied()).filter(|place| place.is_finite()).collect()
}

fn order_decides(table: &Table, cell: &Cell) -> Option<Warning> {
    let (a, b) = (places(table, &cell.a), places(table, &cell.b));
    if a.len() < 2 || b.len() < 2 {
        return None;
    }
    let first = |places: &[f64]| places.iter().copied().fold(f64::INFINITY, f64::min);
    let last = |places: &[f64]| places.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let (earlier, later) = if last(&a) < first(&b) {
        (&cell.contrast.a, &cell.contrast.b)
    } else if last(&b) < first(&a) {
        (&cell.contrast.b, &cell.contrast.a)
    } else {
        return None;
    };
    let text = format!(
        "All runs of `{earlier}` came before all runs of `{later}`, so a drift of the host cannot be told from the \
         difference between them. Run them in turns, in random order."
    );
    warning("order-decides", text)
}

/// A run as its distance from its side's mean. On logarithms where there are such.
struct Run {
    /// Its place in time. Without a column that says so it is no number.
    place: f64,
    residual: f64,
    /// Which side it is of, and which value there.
    of_b: bool,
    at: usize,
}

fn scaled(side: &Side, comparison: &Comparison) -> Vec<f64> {
    let is_log = comparison.in_r().log_ratio.is_some();
    side.values.iter().map(|value| if is_log { libm::log(*value) } else { *value }).collect()
}

/// The runs of both levels, in order of time where that is known.
fn runs(table: &Table, cell: &Cell, comparison: &Comparison) -> Vec<Run> {
    let mut all: Vec<Run> = Vec::new();
    for (of_b, side) in [(false, &cell.a), (true, &cell.b)] {
        let scaled = scaled(side, comparison);
        let Some(mean) = summary::mean(&scaled) else { continue };
        let run = |(at, (row, value)): (usize, (&usize, &f64))| {
            let place = table.order.get(*row).copied().unwrap_or(f64::NAN);
            Run { place, residual: value - mean, of_b, at }
        };
        all.extend(side.good.iter().zip(&scaled).enumerate().map(run));
    }
    all.sort_by(|one, other| one.place.total_cmp(&other.place));
    all
}

/// Residuals of those whose place in time is known.
fn in_time(runs: &[Run]) -> Vec<(f64, f64)> {
    runs.iter().filter(|run| run.place.is_finite()).map(|run| (run.place, run.residual)).collect()
}

fn in_order(runs: &[Run]) -> Vec<f64> {
    in_time(runs).iter().map(|(_, residual)| *residual).collect()
}

fn drift(runs: &[Run], comparison: &Comparison) -> Option<Warning> {
    doubts::drift(&in_time(runs), comparison.in_r().log_ratio.is_some(), comparison.method)
}

/// As long as any trial. Of more runs the search takes minutes, and a run cannot be named by its number in a part of them.
const MOST_FOR_CHANGES: usize = 1_000;

/// A change is told in percent, so only where there are logarithms.
fn host_changed(runs: &[Run], comparison: &Comparison, question: &Question) -> Option<Warning> {
    comparison.in_r().log_ratio.as_ref().filter(|_| runs.len() <= MOST_FOR_CHANGES)?;
    host_change::told(&in_order(runs), question.seed)
}

fn autocorrelated(runs: &[Run], comparison: &Comparison) -> Option<Warning> {
    doubts::goes_together(&in_order(runs), comparison.method)
}

fn bimodal(table: &Table, question: &Question, cell: &Cell, comparison: &Comparison) -> Option<Warning> {
    let sides = sides(cell);
    let cells = sides.into_iter().map(|(level, side)| (level, scaled(side, comparison)));
    let columns = confounding::columns(table, question, cell.contrast);
    doubts::bimodal(cells, question.seed, &|at| {
        let side = sides[at].1;
        let heaps = doubts::heaps(&scaled(side, comparison));
        let told: Vec<String> = columns
            .iter()
            .filter(|column| {
                let levels: Vec<usize> = side.good.iter().map(|row| column.code(*row)).collect();
                doubts::tells_apart(&levels, &heaps)
            })
            .map(|column| format!("'{}'", column.name))
            .collect();
        if told.is_empty() { None } else { Some(told.join(" and ")) }
    })
}

/// Runs far from the others of their level, by value and line.
fn outliers(table: &Table, cell: &Cell, runs: &[Run], residuals: &[f64]) -> Option<Warning> {
    doubts::outliers(residuals, |places| {
        let named = |run: &Run| {
            let (level, side) = sides(cell)[usize::from(run.of_b)];
            let line = side.good.get(run.at).and_then(|row| table.lines.get(*row)).copied().unwrap_or_default();
            format!("{} (`{level}`, line {line})", side.values[run.at])
        };
        let mut far: Vec<&Run> = places.iter().map(|place| &runs[*place]).collect();
        far.sort_by_key(|run| (run.of_b, run.at));
        let mut told: Vec<String> = far.iter().take(MOST_OUTLIERS_NAMED).map(|run| named(run)).collect();
        told.extend((far.len() > MOST_OUTLIERS_NAMED).then(|| format!("{} more", far.len() - MOST_OUTLIERS_NAMED)));
        told
    })
}

fn ties(cell: &Cell, comparison: &Comparison) -> Option<Warning> {
    if comparison.in_r().mann_whitney.as_ref().is_none_or(|test| test.exact) {
        return None;
    }
    let mut sorted: Vec<f64> = cell.a.values.iter().chain(&cell.b.values).copied().collect();
    sorted.sort_by(f64::total_cmp);
    let tied: usize = sorted.chunk_by(|x, y| x == y).map(<[f64]>::len).filter(|length| *length > 1).sum();
    if tied == 0 {
        return None;
    }
    let text = format!(
        "{tied} of {} values occur more than once, so the rank test's p is approximate. Was the value rounded?",
        sorted.len()
    );
    warning("ties", text)
}

fn tests_disagree(question: &Question, comparison: &Comparison) -> Option<Warning> {
    // Neither of them knows of blocks.
    let ties_nothing = comparison.method == Design::Independent;
    let (welch, ranks) =
        (comparison.in_r().welch.as_ref().filter(|_| ties_nothing)?, comparison.in_r().mann_whitney.as_ref()?);
    let alpha = question.rule.alpha;
    let reachable = 2.0 / ways_to_choose(comparison.a_values.n as usize, comparison.b_values.n as usize) <= alpha;
    if !reachable {
        return None;
    }
    doubts::tests_disagree([("Welch's test", welch.p), ("the rank test", ranks.p)], alpha, "")
}

/// The verdict goes by the ratio of geometric means, the columns beside it by the means. Where they part, the row seems to
/// contradict itself.
fn means_disagree(question: &Question, comparison: &Comparison) -> Option<Warning> {
    // Of blocks the test of the means knows nothing: that it says another thing is what blocks are for.
    let ties_nothing = comparison.method == Design::Independent;
    let (welch, ratio) = (comparison.in_r().welch.as_ref().filter(|_| ties_nothing)?, comparison.effect.as_ref()?);
    let alpha = question.rule.alpha;
    // Equivalence goes by the margin, and failures by no value.
    let goes_by_ratio = comparison.conclusion != Conclusion::Equivalent
        && ![OUTCOMES, HELD_BACK].contains(&comparison.decided_by.as_str());
    if !goes_by_ratio || (welch.p <= alpha) == (ratio.p <= alpha) {
        return None;
    }
    let text = format!(
        "Welch's test of the means (p = {}) and the test of the ratio of geometric means (p = {}) fall on different sides \
         of {alpha}. The verdict goes by the ratio; take it as a close call.",
        p_value(welch.p),
        p_value(ratio.p)
    );
    warning("means-disagree", text)
}

/// Only where the correction changed the side on which Welch's own p lies.
fn many_comparisons(question: &Question, comparison: &Comparison) -> Option<Warning> {
    let (holm, welch) = (comparison.in_r().welch_holm_p?, comparison.in_r().welch.as_ref()?);
    let alpha = question.rule.alpha;
    let is_claimed =
        matches!(comparison.conclusion, Conclusion::Better | Conclusion::Worse) && comparison.decided_by == EFFECT;
    if !is_claimed || welch.p > alpha || holm <= alpha {
        return None;
    }
    let text = format!(
        "By itself it is significant (Welch's p = {}), but not among all comparisons of this call (Holm's p = {}).",
        p_value(welch.p),
        p_value(holm)
    );
    warning("many-comparisons", text)
}

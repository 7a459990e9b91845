//! Comparisons as plain text of 72 columns for a mailing list, in the layout of the report "Kernel / Apache Hadoop
//! benchmark with MGLRU": sentences first, then a table per contrast with `mean a / mean b` over the interval of
//! their difference.
//!
//! The sentences quote the percent intervals of that report's R script, for comparison with its kind; the notes give
//! Fieller's beside them. Unlike the report, tables are rounded and not cut off, and what was not shown to change is not
//! taken for unchanged.

use super::layout::{self, Contrast};
use crate::comparison::analysis::Comparisons;
use crate::comparison::found::Comparison;
use crate::comparison::rule::{Conclusion, HELD_BACK, OUTCOMES};
use crate::report::number;
use crate::report::printable::{ascii, printable};
use crate::report::text::wrap;
use crate::report::words::listed;
use crate::spelling::capitalised;
use std::fmt::Write;
use unicode_width::UnicodeWidthStr;

const COLUMNS: usize = 72;

/// Widths of the report's table, without the lines between: its names, and a cell.
const NAME_WIDTH: usize = 20;
/// See [`NAME_WIDTH`].
const CELL_WIDTH: usize = 18;

/// The comparisons as text for a mail, ending in a newline; ASCII throughout.
#[must_use]
pub fn text72(all: &Comparisons) -> String {
    let mut mail = Mail { out: String::new() };
    let contrasts = layout::contrasts(all);
    mail.heading("TLDR");
    for contrast in &contrasts {
        mail.paragraph(&sentences(all, contrast));
        mail.out.push('\n');
    }
    mail.heading("Results");
    let mut number = 0;
    for contrast in &contrasts {
        for part in tables(contrast) {
            number += 1;
            mail.out.push_str(&part.drawn(all));
            mail.paragraph(&format!("Table {number}. {}{}", caption(contrast), part.where_));
            mail.out.push('\n');
        }
    }
    mail.heading("Notes");
    mail.notes(all);
    mail.out
}

/// Paragraphs and headings of a mail, ASCII throughout.
pub(in crate::report) struct Mail {
    pub(in crate::report) out: String,
}

impl Mail {
    pub(in crate::report) fn heading(&mut self, text: &str) {
        let _ = writeln!(self.out, "{text}\n{}", "=".repeat(text.len()));
    }

    pub(in crate::report) fn paragraph(&mut self, text: &str) {
        self.out.push_str(&wrap(&ascii(text), COLUMNS, "", ""));
    }

    pub(in crate::report) fn item(&mut self, text: &str) {
        self.out.push_str(&wrap(&ascii(text), COLUMNS, "* ", "  "));
    }

    fn notes(&mut self, all: &Comparisons) {
        let level = level(all);
        self.item(&format!(
            "A cell is the mean of the first level / the mean of the second, and Welch's {level} CI of the second minus \
             the first."
        ));
        self.item("Percentages above divide that CI by the mean of the first level as if it were known.");
        let with_both: Vec<String> = all.comparisons.iter().filter_map(|cell| fieller(all, cell)).collect();
        if !with_both.is_empty() {
            self.item(&format!("With the uncertainty of that mean (Fieller): {}.", with_both.join("; ")));
        }
        if all.comparisons.iter().any(|cell| is_significant(all, cell) && cell.in_r().percent_r.is_none()) {
            self.item(
                "A CI without % is of the difference itself: the mean of the first level is not above zero there.",
            );
        }
        let alone = all.comparisons.iter().filter(|cell| is_significant_alone(all, cell)).count();
        let kept = all.comparisons.iter().filter(|cell| is_significant(all, cell)).count();
        if all.comparisons.len() > 1 && alone > 0 {
            self.item(&format!(
                "{kept} of {alone} remain significant after Holm's correction for all {} comparisons.",
                all.comparisons.len()
            ));
        }
        if let Some(rule) = layout::failures_rule(all) {
            self.item(rule);
        }
        for note in layout::notes(all).into_iter().chain(layout::elsewhere(all)) {
            self.item(&note);
        }
        for warning in layout::warnings(all) {
            let place = warning.where_.map_or_else(String::new, |place| format!(" ({place})"));
            self.item(&format!("{}{place}: {}", warning.id, warning.text));
        }
    }
}

/// `swap on, concurrency medium [-9.64, -5.34]%`, where the sentences quote a percentage.
fn fieller(all: &Comparisons, cell: &Comparison) -> Option<String> {
    let percent = cell.in_r().percent.as_ref().filter(|_| is_significant(all, cell))?;
    let place = layout::place(&cell.by, &all.by);
    let pair = printable(&format!("{} {}/{}", cell.factor, cell.a, cell.b));
    let several = layout::contrasts(all).len() > 1;
    let place = match (place.is_empty(), several) {
        (true, _) => pair,
        (false, true) => format!("{pair}, {place}"),
        (false, false) => place,
    };
    Some(format!("{place} [{:.2}, {:.2}]%", percent.low, percent.high))
}

/// Among all comparisons of the call: a matrix of many cells has some that are significant by themselves.
fn is_significant(all: &Comparisons, cell: &Comparison) -> bool {
    cell.in_r().welch_holm_p.is_some_and(|p| p <= all.alpha)
}

fn is_significant_alone(all: &Comparisons, cell: &Comparison) -> bool {
    cell.in_r().welch.as_ref().is_some_and(|welch| welch.p <= all.alpha)
}

/// `95%`.
fn level(all: &Comparisons) -> String {
    number::percent(1.0 - all.alpha).replace(' ', "")
}

/// What the value is called, and its unit.
fn value_name(all: &Comparisons) -> (String, &'static str) {
    match all.value.as_str() {
        "seconds" | "wall" | "wall_seconds" => ("wall time".to_owned(), "s"),
        own => (printable(own), ""),
    }
}

/// Levels that say nothing without their factor: `swap on`, `heap 22G`; others are adjectives: `low concurrency`.
pub(in crate::report) fn is_state(level: &str) -> bool {
    const STATES: [&str; 13] = [
        "on", "off", "yes", "no", "true", "false", "enabled", "disabled", "always", "never", "madvise", "defer", "now",
    ];
    STATES.contains(&level.to_lowercase().as_str()) || !level.chars().all(|c| c.is_alphabetic() || c == '-')
}

/// `swap on`, `low concurrency`.
pub(in crate::report) fn named(factor: &str, level: &str) -> String {
    printable(&if is_state(level) { format!("{factor} {level}") } else { format!("{level} {factor}") })
}

/// `swap off and on`, `the baseline and the patched kernel`.
fn both(contrast: &Contrast, first: &str, word: &str, second: &str) -> String {
    if is_state(first) || is_state(second) {
        return printable(&format!("{0} {first} {word} {0} {second}", contrast.factor));
    }
    printable(&format!("the {first} {word} the {second} {}", contrast.factor))
}

fn caption(contrast: &Contrast) -> String {
    let levels = both(contrast, contrast.a, "and", contrast.b);
    // "swap off and swap on" reads better once named.
    let twice = printable(&format!(" and {} ", contrast.factor));
    format!("Comparison between {}", if is_state(contrast.a) { levels.replacen(&twice, " and ", 1) } else { levels })
}

/// What the contrast shows, in the report's words.
fn sentences(all: &Comparisons, contrast: &Contrast) -> String {
    let (value, unit) = value_name(all);
    let verb = if unit == "s" { "the job took" } else { "the job had" };
    let comparing = format!("Comparing {}", both(contrast, contrast.b, "with", contrast.a));
    let significant: Vec<&Comparison> =
        contrast.cells.iter().copied().filter(|cell| is_significant(all, cell)).collect();
    let is_rest = |cell: &&Comparison| cell.in_r().welch.is_some() && !is_significant(all, cell);
    let rest: Vec<&Comparison> = contrast.cells.iter().copied().filter(is_rest).collect();
    let untested: Vec<&Comparison> =
        contrast.cells.iter().copied().filter(|cell| cell.in_r().welch.is_none()).collect();
    let mut text = match (significant.as_slice(), rest.as_slice()) {
        ([], []) => format!("{comparing}, {value} could not be tested{}.", why_untested(&untested)),
        ([], _) => format!("{comparing}, there were no statistically significant changes in {value}."),
        _ => {
            let said: Vec<String> = by_column(contrast, &significant)
                .iter()
                .flat_map(|column| by_direction(column))
                .map(|(less, group)| {
                    format!(
                        "{} {} {value}{}",
                        intervals(all, &group, less),
                        if less { "less" } else { "more" },
                        conditions(contrast, &group)
                    )
                })
                .collect();
            format!("{comparing}, {verb} {}.", said.join("; "))
        }
    };
    if !rest.is_empty() {
        if !significant.is_empty() {
            let _ = write!(
                text,
                " There were no statistically significant changes in {value} for the rest of the test matrix."
            );
        }
        text.push_str(&alone(all, &rest));
        text.push_str(&open(all, &rest));
    }
    if !untested.is_empty() && untested.len() < contrast.cells.len() {
        let (some, total) = (untested.len(), contrast.cells.len());
        let _ = write!(text, " {some} of {total} could not be tested{}.", why_untested(&untested));
    }
    format!("{}{text}", failures(contrast))
}

/// `: a has one value here, and a spread needs two`; of several the first reason.
fn why_untested(untested: &[&Comparison]) -> String {
    let why = untested.iter().find_map(|cell| cell.in_r().absent.get("welch"));
    why.map_or_else(String::new, |why| format!(": {}", printable(why)))
}

/// Those of one column with less and those with more, apart: a sentence says one word of all its intervals.
fn by_direction<'c>(column: &[&'c Comparison]) -> Vec<(bool, Vec<&'c Comparison>)> {
    let is_less = |cell: &&Comparison| cell.in_r().welch.as_ref().is_some_and(|welch| welch.ci_low > 0.0);
    let (less, more): (Vec<_>, Vec<_>) = column.iter().copied().partition(is_less);
    [(true, less), (false, more)].into_iter().filter(|(_, cells)| !cells.is_empty()).collect()
}

/// What Holm's correction takes back.
fn alone(all: &Comparisons, rest: &[&Comparison]) -> String {
    let alone = rest.iter().filter(|cell| is_significant_alone(all, cell)).count();
    match (alone, rest.len()) {
        (0, _) => String::new(),
        (some, total) => {
            format!(" By itself {some} of {total} would be significant, but not after Holm's correction for them all.")
        }
    }
}

/// Failures come before values.
fn failures(contrast: &Contrast) -> String {
    let mut text = String::new();
    for (word, level) in [(Conclusion::Worse, contrast.b), (Conclusion::Better, contrast.a)] {
        let failing =
            contrast.cells.iter().filter(|cell| cell.decided_by == OUTCOMES && cell.conclusion == word).count();
        if failing > 0 {
            let level = printable(level);
            let _ = write!(text, "{level} failed more often in {failing} of {} cells. ", contrast.cells.len());
        }
    }
    let held_back = contrast.cells.iter().filter(|cell| cell.decided_by == HELD_BACK).count();
    if held_back > 0 {
        let _ = write!(text, "Failures hold back the verdict in {held_back} of {} cells. ", contrast.cells.len());
    }
    text
}

/// Not significant is not the same as no difference.
fn open(all: &Comparisons, rest: &[&Comparison]) -> String {
    let equivalent = rest.iter().filter(|cell| cell.conclusion == Conclusion::Equivalent).count();
    let margin = number::percent(all.margin).replace(' ', "");
    match (equivalent, rest.len()) {
        (0, 1) => format!(" That is not shown to be within {margin} of no change either; the data leaves it open."),
        (1, 1) => format!(" That is shown to be within {margin} of no change."),
        (0, _) => {
            format!(" None of those is shown to be within {margin} of no change either; the data leaves them open.")
        }
        (all_of, total) if all_of == total => format!(" All of those are shown to be within {margin} of no change."),
        (some, total) => format!(
            " Of those {total}, {some} are shown to be within {margin} of no change; the data leaves the others open."
        ),
    }
}

/// Comparisons that stand in the same column of the table.
fn by_column<'c>(contrast: &Contrast, cells: &[&'c Comparison]) -> Vec<Vec<&'c Comparison>> {
    let outer: &[&str] = contrast.by.split_last().map_or(&[], |(_, outer)| outer);
    let same =
        |one: &&Comparison, other: &&Comparison| outer.iter().all(|name| one.by.get(*name) == other.by.get(*name));
    cells.chunk_by(|one, other| same(one, other)).map(<[_]>::to_vec).collect()
}

/// `95% CIs [5.31, 9.69]% and [2.02, 7.86]%`; of the difference itself where that is no percentage.
fn intervals(all: &Comparisons, cells: &[&Comparison], less: bool) -> String {
    let turned = |(low, high): (f64, f64)| if less { (-high, -low) } else { (low, high) };
    let one = |cell: &&Comparison| {
        if let Some(percent) = cell.in_r().percent_r {
            let (low, high) = turned((percent.low, percent.high));
            return Some(format!("[{low:.2}, {high:.2}]%"));
        }
        let welch = cell.in_r().welch.as_ref()?;
        let (low, high) = turned((-welch.ci_high, -welch.ci_low));
        let decimals = decimals(std::iter::once(*cell));
        let unit = match value_name(all) {
            (_, "") => String::new(),
            (_, unit) => format!(" {unit}"),
        };
        Some(format!("[{}, {}]{unit}", fixed(low, decimals), fixed(high, decimals)))
    };
    let each: Vec<String> = cells.iter().filter_map(one).collect();
    match each.as_slice() {
        [only] => format!("a {} CI {only}", level(all)),
        _ => format!("{} CIs {}", level(all), listed(&each)),
    }
}

/// `, respectively, under the medium- and the high-concurrency conditions, when swap was on`.
fn conditions(contrast: &Contrast, group: &[&Comparison]) -> String {
    let Some((row, outer)) = contrast.by.split_last() else { return String::new() };
    let level = |cell: &Comparison, name: &str| cell.by.get(name).cloned().unwrap_or_default();
    let mut text = if group.len() > 1 { ", respectively,".to_owned() } else { String::new() };
    let levels: Vec<String> = group.iter().map(|cell| level(cell, row)).collect();
    if levels.iter().any(|level| is_state(level)) {
        let each: Vec<String> = levels.iter().map(|level| named(row, level)).collect();
        let _ = write!(text, " with {}", listed(&each));
    } else {
        let (last, others) = levels.split_last().map_or(("", &[][..]), |(last, others)| (last.as_str(), others));
        let mut each: Vec<String> = others.iter().map(|level| format!("the {}-", printable(level))).collect();
        each.push(printable(&format!("the {last}-{row}")));
        let noun = if group.len() > 1 { "conditions" } else { "condition" };
        let _ = write!(text, " under {} {noun}", listed(&each));
    }
    for name in outer {
        let level = group.first().map(|cell| level(cell, name)).unwrap_or_default();
        let when = match (is_state(&level), *name) {
            (true, _) => printable(&format!("when {name} was {level}")),
            (false, "kernel") => printable(&format!("when using the {level} kernel")),
            (false, _) => format!("at {}", named(name, &level)),
        };
        let _ = write!(text, ", {when}");
    }
    text
}

/// One table: rows by the last factor, columns by the one before, as many as fit.
struct Part<'c> {
    rows: Vec<(String, Vec<Option<&'c Comparison>>)>,
    columns: Vec<String>,
    /// Levels of the factors that are neither, and which of several parts it is.
    where_: String,
}

/// A contrast's tables: one for each combination of the factors beyond two, cut where columns do not fit.
fn tables<'c>(contrast: &Contrast<'c>) -> Vec<Part<'c>> {
    let (row, column, outer) = match contrast.by.as_slice() {
        [] => (None, None, &[][..]),
        [row] => (Some(*row), None, &[][..]),
        [outer @ .., column, row] => (Some(*row), Some(*column), outer),
    };
    let mut parts = Vec::new();
    let same =
        |one: &&Comparison, other: &&Comparison| outer.iter().all(|name| one.by.get(*name) == other.by.get(*name));
    for cells in contrast.cells.chunk_by(|one, other| same(one, other)) {
        let rows = distinct(cells, row);
        let columns = distinct(cells, column);
        let find = |row_level: &str, column_level: &str| {
            cells
                .iter()
                .copied()
                .find(|cell| level_of(cell, row) == row_level && level_of(cell, column) == column_level)
        };
        let mut where_ = String::new();
        for name in outer {
            let level = cells.first().map(|cell| level_of(cell, Some(*name)).to_owned()).unwrap_or_default();
            let _ = write!(where_, ", {}", named(name, &level));
        }
        let title = |factor: Option<&str>, level: &str| {
            factor.map_or_else(|| "All points".to_owned(), |factor| capitalised(&named(factor, level)))
        };
        for columns in columns.chunks(most_columns()) {
            parts.push(Part {
                rows: rows
                    .iter()
                    .map(|row_level| (title(row, row_level), columns.iter().map(|c| find(row_level, c)).collect()))
                    .collect(),
                columns: columns.iter().map(|level| title(column, level)).collect(),
                where_: where_.clone(),
            });
        }
    }
    parts
}

pub(in crate::report) fn most_columns() -> usize {
    (COLUMNS - NAME_WIDTH - 2) / (CELL_WIDTH + 1)
}

fn level_of<'c>(cell: &'c Comparison, factor: Option<&str>) -> &'c str {
    factor.and_then(|name| cell.by.get(name)).map_or("", String::as_str)
}

/// Levels in the order in which they first occur.
fn distinct<'c>(cells: &[&'c Comparison], factor: Option<&str>) -> Vec<&'c str> {
    let mut levels = Vec::new();
    for cell in cells {
        let level = level_of(cell, factor);
        if !levels.contains(&level) {
            levels.push(level);
        }
    }
    levels
}

impl Part<'_> {
    fn drawn(&self, all: &Comparisons) -> String {
        let decimals = decimals(self.rows.iter().flat_map(|(_, cells)| cells).flatten().copied());
        let (value, unit) = value_name(all);
        let unit = if unit.is_empty() { String::new() } else { format!(" ({unit})") };
        let head = vec![format!("Mean {value}{unit}"), format!("[{} CI]", level(all))];
        let rows: Vec<(String, Vec<Vec<String>>)> = self
            .rows
            .iter()
            .map(|(name, cells)| (name.clone(), cells.iter().map(|cell| cell_lines(*cell, decimals)).collect()))
            .collect();
        grid(&head, &self.columns, &rows)
    }
}

/// The report's table: what its cells mean, titles of the columns, and rows of a name and cells of several lines each.
pub(in crate::report) fn grid(head: &[String], columns: &[String], rows: &[(String, Vec<Vec<String>>)]) -> String {
    // The report's widths, unless a number needs more; names are broken into lines instead.
    let widest = rows.iter().flat_map(|(_, cells)| cells).flatten().map(String::len).max().unwrap_or(0);
    let room = (COLUMNS - 1) / (columns.len() + 1);
    let cell_width = CELL_WIDTH.max(widest + 2).min(room.max(CELL_WIDTH));
    let mut widths = vec![NAME_WIDTH];
    widths.extend(columns.iter().map(|_| cell_width));
    let rule: String = widths.iter().map(|width| format!("+{}", "-".repeat(*width))).collect::<String>() + "+\n";
    let mut out = rule.clone();
    let titles = columns.iter().map(|title| vec![ascii(title)]);
    out.push_str(&row(&widths, std::iter::once(head.iter().map(|line| ascii(line)).collect()).chain(titles).collect()));
    out.push_str(&rule);
    for (name, cells) in rows {
        out.push_str(&row(&widths, std::iter::once(vec![ascii(name)]).chain(cells.iter().cloned()).collect()));
        out.push_str(&rule);
    }
    out
}

/// A row of cells of several lines each, broken to their widths.
fn row(widths: &[usize], cells: Vec<Vec<String>>) -> String {
    let fitted: Vec<Vec<String>> = cells
        .iter()
        .zip(widths)
        .map(|(lines, width)| {
            lines
                .iter()
                .flat_map(|line| wrap(line, width - 2, "", "").lines().map(str::to_owned).collect::<Vec<_>>())
                .collect()
        })
        .collect();
    let height = fitted.iter().map(Vec::len).max().unwrap_or(1);
    let mut out = String::new();
    for line in 0..height {
        for (place, (lines, width)) in fitted.iter().zip(widths).enumerate() {
            let text = lines.get(line).map_or("", String::as_str);
            let space = width.saturating_sub(text.width());
            // Names to the left, numbers in the middle.
            let left = if place == 0 { 1.min(space) } else { space / 2 };
            let _ = write!(out, "|{}{text}{}", " ".repeat(left), " ".repeat(space - left));
        }
        out.push_str("|\n");
    }
    out
}

/// Two as in the report; more when the narrowest interval would lose its digits, fewer when the numbers are huge.
fn decimals<'c>(cells: impl Iterator<Item = &'c Comparison>) -> usize {
    let widths = cells.filter_map(|cell| cell.in_r().welch.as_ref()).map(|welch| welch.ci_high - welch.ci_low);
    let narrowest = widths.filter(|width| *width > 0.0).fold(f64::INFINITY, f64::min);
    match narrowest {
        width if !width.is_finite() => 2,
        width if width < 1.0 => 2 + (-libm::floor(libm::log10(width))).clamp(0.0, 300.0) as usize,
        width if width >= 1e3 => 0,
        _ => 2,
    }
}

/// Digits that a table can carry; beyond it numbers are scientific.
const MOST_DIGITS: usize = 11;

pub(in crate::report) fn fixed(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    let text = if text.len() > MOST_DIGITS { format!("{value:.3e}") } else { text };
    // A difference that rounds to nothing has no sign.
    if text.starts_with('-') && text.chars().all(|c| !c.is_ascii_digit() || c == '0') {
        text[1..].to_owned()
    } else {
        text
    }
}

fn cell_lines(cell: Option<&Comparison>, decimals: usize) -> Vec<String> {
    let Some(cell) = cell else { return vec!["-".to_owned()] };
    let mean = |mean: Option<f64>| mean.map_or("-".to_owned(), |mean| fixed(mean, decimals));
    let means = format!("{} / {}", mean(cell.a_values.mean), mean(cell.b_values.mean));
    let Some(welch) = &cell.in_r().welch else { return vec![means, "[no test]".to_owned()] };
    vec![means, format!("[{}, {}]", fixed(-welch.ci_high, decimals), fixed(-welch.ci_low, decimals))]
}

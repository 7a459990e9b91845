//! The study as plain text of 72 columns for a mailing list, in the layout of the report "Kernel / Apache Hadoop benchmark
//! with MGLRU" (2022): what came out first, then a table per contrast with `mean a / mean b` over the interval.
//!
//! Unlike there, the interval is of the change inside blocks and in percent, and what was not shown to change is not taken
//! for unchanged.

use super::Report;
use super::content::{Content, heading};
use super::frame::{Frame, Group, PlacedComparison};
use super::words::{confidence, counts, listed};
use crate::comparison::rule::Conclusion;
use crate::experiment::analysis::Comparison;
use crate::experiment::analysis::Interval;
use crate::report::comparisons::text72::{Mail, fixed, grid, most_columns, named};
use crate::report::number;
use crate::report::printable::printable;
use crate::spelling::capitalised;
use std::fmt::Write;

/// The report as text for a mail, ending in a newline; ASCII throughout, no line longer than 72 columns.
#[must_use]
pub fn text72(report: &Report) -> String {
    let content = Content::of(report);
    let frame = Frame::of(report);
    let mut mail = Mail { out: String::new() };
    let claims = frame.groups(|one| one.primary);
    let metric = frame.first_metric();
    mail.heading("TLDR");
    if claims.is_empty() {
        mail.paragraph(&content.outcome.sentence);
    }
    for group in &claims {
        mail.paragraph(&sentences(&frame, group));
    }
    content.ended.iter().for_each(|ended| mail.paragraph(ended));
    mail.out.push('\n');
    mail.heading("Results");
    let mut numbered = 0;
    for group in &claims {
        numbered = tables(&mut mail, &frame, group, numbered);
    }
    mail.paragraph(&content.claims_note);
    mail.out.push('\n');
    let others = frame.groups(|one| !one.primary);
    if !others.is_empty() {
        mail.heading("Not claims");
        for group in &others {
            for placed in &group.members {
                mail.item(&said(placed.comparison, metric));
            }
        }
        mail.paragraph(&content.others_note);
        mail.out.push('\n');
    }
    let stalls: Vec<_> = content.explained.iter().filter_map(|one| Some((&one.heading, one.stall.as_ref()?))).collect();
    if !stalls.is_empty() {
        mail.heading("What else differed");
        stalls.iter().for_each(|(name, stall)| mail.item(&format!("{name}: {stall}")));
        mail.out.push('\n');
    }
    mail.heading("Matrix");
    content.levels.iter().for_each(|line| mail.item(&format!("{}: {}", line.label, line.value)));
    mail.out.push('\n');
    mail.heading("Procedure");
    content.design.iter().for_each(|line| mail.item(&format!("{}: {}", line.label, line.value)));
    mail.out.push('\n');
    mail.heading("Host");
    content.host.iter().for_each(|line| mail.item(&format!("{}: {}", line.label, line.value)));
    mail.out.push('\n');
    mail.heading("Notes");
    mail.item(
        "A cell is the mean of the first level / the mean of the second, and the interval of the change inside blocks, in \
         percent of the first.",
    );
    content.warnings.iter().for_each(|warning| mail.item(&format!("{}: {}", warning.id, warning.text)));
    content.incidents.iter().for_each(|incident| mail.item(incident));
    content.method.iter().for_each(|text| mail.item(text));
    mail.out.push('\n');
    mail.paragraph(&content.origin);
    mail.out
}

/// `[-9.64, -5.34]%`.
fn percents(interval: Interval) -> String {
    let percent = |ratio: f64| fixed((ratio - 1.0) * 100.0, 2);
    format!("[{}, {}]%", percent(interval.low), percent(interval.high))
}

fn dense(text: &str) -> String {
    text.replace(" %", "%")
}

/// `wall time`, and its unit.
fn value_name(metric: &str, unit: &str) -> (String, String) {
    let name = if metric == "wall" { "wall time".to_owned() } else { printable(metric) };
    let unit = match unit {
        "seconds" => " (s)".to_owned(),
        "" | "count" | "custom" | "fraction" => String::new(),
        unit => format!(" ({})", printable(unit)),
    };
    (name, unit)
}

/// `swap on and low concurrency`; nothing for all.
fn conditions(one: &Comparison) -> String {
    let each: Vec<String> = one.by.iter().map(|(factor, level)| named(factor, level)).collect();
    listed(&each)
}

/// What a contrast shows: what changed with its intervals, then what is equivalent, then what is open.
fn sentences(frame: &Frame<'_>, group: &Group<'_>) -> String {
    let first = group.first.comparison;
    let unit = frame.metric(first).map_or("", |metric| &metric.metric.unit);
    let (value, _) = value_name(&first.metric, unit);
    let members: Vec<&Comparison> = group.members.iter().map(|placed| placed.comparison).collect();
    let simultaneous = if frame.report.analysis.comparisons.iter().filter(|one| one.primary).count() > 1 {
        "simultaneous "
    } else {
        ""
    };
    let comparing = format!("Comparing {}", heading(&group.first));
    let under = |one: &Comparison| {
        let conditions = conditions(one);
        if conditions.is_empty() { conditions } else { format!(" with {conditions}") }
    };
    let decided = |one: &&&Comparison| matches!(one.conclusion, Conclusion::Better | Conclusion::Worse);
    let changed: Vec<String> = members
        .iter()
        .filter(decided)
        .map(|one| match (&one.effect, one.decided_by.as_str()) {
            (Some(effect), "effect") => format!(
                "a {simultaneous}{} {} {} {value}{} ({})",
                at_level(one),
                percents(sized(effect.interval)),
                if effect.ratio < 1.0 { "less" } else { "more" },
                under(one),
                one.conclusion.word()
            ),
            _ => {
                let test = &one.outcomes;
                format!(
                    "{} of {} failed runs against {} of {}{} ({})",
                    test.b_bad,
                    test.b_total,
                    test.a_bad,
                    test.a_total,
                    under(one),
                    one.conclusion.word()
                )
            }
        })
        .collect();
    let untested: Vec<&Comparison> = members.iter().copied().filter(|one| is_untested(one)).collect();
    let why = untested
        .iter()
        .find_map(|one| one.no_effect_because.as_deref())
        .map_or_else(String::new, |why| format!(": {}", printable(why)));
    let mut text = if untested.len() == members.len() {
        format!("{comparing}, {value} could not be tested{why}.")
    } else if changed.is_empty() {
        format!("{comparing}, there were no statistically significant changes in {value}.")
    } else {
        let rest = if changed.len() + untested.len() < members.len() {
            format!(" There were no statistically significant changes in {value} for the rest of the test matrix.")
        } else {
            String::new()
        };
        format!("{comparing}, the job had {}.{rest}", changed.join("; "))
    };
    let margin = frame.metric(first).map_or_else(String::new, |metric| dense(&number::percent(metric.margin)));
    if !untested.is_empty() && untested.len() < members.len() {
        let _ = write!(text, " {} of {} could not be tested{why}.", untested.len(), members.len());
    }
    let tested: Vec<&Comparison> = members.iter().copied().filter(|one| !is_untested(one)).collect();
    for (word, count) in counts(tested.iter().copied()) {
        let places: Vec<String> = tested
            .iter()
            .filter(|one| one.conclusion == word)
            .map(|one| conditions(one))
            .filter(|p| !p.is_empty())
            .collect();
        let places = if places.is_empty() || count == members.len() {
            String::new()
        } else {
            format!(" ({})", places.join("; "))
        };
        match word {
            Conclusion::Equivalent => {
                let _ = write!(text, " {count} of {} shown to be within {margin} of no change{places}.", members.len());
            }
            Conclusion::Inconclusive => {
                let _ = write!(text, " The data leaves {count} of {} open{places}.", members.len());
            }
            Conclusion::Better | Conclusion::Worse => {}
        }
    }
    text
}

/// Neither failures nor an interval say anything of it.
fn is_untested(one: &Comparison) -> bool {
    one.effect.is_none() && one.conclusion == Conclusion::Inconclusive
}

/// The interval of a size: `less` says the sign.
fn sized(interval: Interval) -> Interval {
    if interval.high < 1.0 {
        return Interval { low: 2.0 - interval.high, high: 2.0 - interval.low };
    }
    interval
}

/// `95% CI`; in an open-ended trial `95% confidence sequence`.
fn at_level(one: &Comparison) -> String {
    format!("{} {}", dense(&confidence(one.level)), kind(one))
}

fn kind(one: &Comparison) -> &'static str {
    let is_sequence = one.effect.as_ref().is_some_and(|effect| effect.evidence.is_some());
    if is_sequence { "confidence sequence" } else { "CI" }
}

fn said(one: &Comparison, first_metric: &str) -> String {
    let metric = if one.metric == first_metric { String::new() } else { format!(", {}", printable(&one.metric)) };
    let name = printable(&one.name);
    match &one.effect {
        Some(effect) => {
            format!("{name}{metric}: {} ({}), {}", percents(effect.interval), at_level(one), one.conclusion.word())
        }
        None => format!("{name}{metric}: {}", printable(one.no_effect_because.as_deref().unwrap_or("no estimate"))),
    }
}

/// The tables of a contrast: one for each combination of the factors beyond two, cut where columns do not fit. Gives the
/// number of the last.
fn tables(mail: &mut Mail, frame: &Frame<'_>, group: &Group<'_>, mut numbered: usize) -> usize {
    let by: Vec<&str> = group.first.comparison.by.keys().map(String::as_str).collect();
    let (row, column, outer) = match by.as_slice() {
        [] => (None, None, &[][..]),
        [row] => (Some(*row), None, &[][..]),
        [outer @ .., column, row] => (Some(*row), Some(*column), outer),
    };
    let level = |placed: &PlacedComparison<'_>, factor: Option<&str>| -> String {
        factor.and_then(|name| placed.comparison.by.get(name)).cloned().unwrap_or_default()
    };
    let where_ = |placed: &PlacedComparison<'_>| -> String {
        outer.iter().map(|name| format!(", {}", named(name, &level(placed, Some(name))))).collect()
    };
    let title = |factor: Option<&str>, level: &str| {
        factor.map_or_else(|| "All points".to_owned(), |factor| capitalised(&named(factor, level)))
    };
    let first = group.first.comparison;
    let unit = frame.metric(first).map_or("", |metric| &metric.metric.unit);
    let (value, unit) = value_name(&first.metric, unit);
    let is_sequence = frame.report.analysis.sequence.is_some();
    let interval = if is_sequence { "[seq. of change]" } else { "[CI of change]" };
    let head = [format!("Mean {value}{unit}"), interval.to_owned()];
    for place in distinct(group.members.iter().map(where_)) {
        let members: Vec<&PlacedComparison<'_>> =
            group.members.iter().filter(|placed| where_(placed) == place).collect();
        let rows = distinct(members.iter().map(|placed| level(placed, row)));
        for columns in distinct(members.iter().map(|placed| level(placed, column))).chunks(most_columns()) {
            let find = |row_level: &str, column_level: &str| {
                let fits = |placed: &&&PlacedComparison<'_>| {
                    level(placed, row) == row_level && level(placed, column) == column_level
                };
                members.iter().find(fits).map(|placed| placed.comparison)
            };
            let titles: Vec<String> = columns.iter().map(|level| title(column, level)).collect();
            let drawn: Vec<(String, Vec<Vec<String>>)> = rows
                .iter()
                .map(|own| (title(row, own), columns.iter().map(|level| cell(find(own, level))).collect()))
                .collect();
            numbered += 1;
            mail.out.push_str(&grid(&head, &titles, &drawn));
            let levels = levels_of(group);
            mail.paragraph(&format!("Table {numbered}. {}{place}{levels}", heading(&group.first)));
            mail.out.push('\n');
        }
    }
    numbered
}

/// At which confidence the intervals of a table are.
fn levels_of(group: &Group<'_>) -> String {
    let levels = distinct(
        group
            .members
            .iter()
            .filter(|placed| placed.comparison.effect.is_some())
            .map(|placed| dense(&confidence(placed.comparison.level))),
    );
    let kind = group.members.iter().find(|placed| placed.comparison.effect.is_some()).map(|one| kind(one.comparison));
    kind.map_or_else(String::new, |kind| format!("; {} {kind}", listed(&levels)))
}

fn distinct(texts: impl Iterator<Item = String>) -> Vec<String> {
    let mut seen: Vec<String> = Vec::new();
    for text in texts {
        if !seen.contains(&text) {
            seen.push(text);
        }
    }
    seen
}

fn cell(one: Option<&Comparison>) -> Vec<String> {
    let Some(one) = one else { return vec!["-".to_owned()] };
    let largest =
        [one.a_values.mean, one.b_values.mean].into_iter().flatten().fold(0.0_f64, |most, mean| most.max(mean.abs()));
    let decimals = if largest > 0.0 && largest < 1.0 {
        3 + (-libm::floor(libm::log10(largest))).clamp(0.0, 6.0) as usize
    } else {
        2
    };
    let mean = |mean: Option<f64>| mean.map_or("-".to_owned(), |mean| fixed(mean, decimals));
    let means = if one.interaction.is_some() {
        "ratio of ratios".to_owned()
    } else {
        format!("{} / {}", mean(one.a_values.mean), mean(one.b_values.mean))
    };
    let interval = one.effect.as_ref().map_or("[no estimate]".to_owned(), |effect| percents(effect.interval));
    vec![means, interval]
}

//! The study as an R script that holds the points and computes every number again: differences inside blocks, estimates,
//! intervals, levels, p-values and verdicts, each held against the one of the report with `stopifnot`.
//!
//! Base R alone. What needs data that a report does not carry (kernel counters, stall times) is not in it, and alpha that
//! was spent over analyses is taken as it is. The confidence sequence of an open-ended trial is computed from its one parameter.

use super::Report;
use super::csv::{Columns, level, points};
use super::frame::{Frame, PlacedComparison};
use crate::experiment::analysis::Summary;
use crate::experiment::plan::StoppingRule;
use crate::metric::Direction;
use crate::report::printable::{ascii, printable};
use std::fmt::Write;

/// How a number is computed.
const COMPUTE: &str = include_str!("compute.R");

/// What stands in place of Student's interval in an open-ended trial.
const SEQUENCE: &str = include_str!("sequence.R");

/// Every number computed and held against the stored one.
const CHECK: &str = include_str!("check.R");

/// Entries of a vector on a line.
const ON_A_LINE: usize = 8;

/// The script, ending in a newline; ASCII. `Rscript FILE` prints a line per number and fails when one differs.
#[must_use]
pub fn r_script(report: &Report) -> String {
    let study = &report.analysis;
    let columns = Columns::of(report);
    let counted = match study.interim_analyses.last() {
        Some(analysis) if study.rule != StoppingRule::Fixed => analysis.blocks,
        _ => study.blocks_planned,
    };
    let mut out = String::new();
    let mut put = |text: String| {
        let _ = writeln!(out, "{text}");
    };
    put(format!("# {}: every number of its report again, from its points.", ascii(&printable(&study.name))));
    put("# Rscript FILE prints each number with the stored one, and stops where they differ.".to_owned());
    put("# Not in here: kernel counters and stall times, whose data the report does not carry.".to_owned());
    put(format!("\nalpha <- {}", study.alpha));
    put(format!("counted <- {counted} # blocks that count"));
    put(format!("planned <- {} # blocks of the order", study.blocks_planned));
    put(match &study.sequence {
        None => format!("sequential <- {} # alpha was spent over analyses", logical(study.rule != StoppingRule::Fixed)),
        Some(sequence) => format!(
            "sequential <- TRUE # analysed after every block: intervals are of a confidence sequence\n\
             effect_variance <- {} # its tuning: shortest at {} blocks",
            sequence.effect_variance, sequence.shortest_at
        ),
    });
    put("\npoints <- data.frame(".to_owned());
    let all: Vec<_> = points(report).collect();
    let mut column = |name: &str, values: Vec<String>| put(format!("  {} = {},", name_of(name), vector(&values)));
    column("block", all.iter().map(|(block, _)| (block + 1).to_string()).collect());
    column("order", all.iter().map(|(_, point)| (point.index + 1).to_string()).collect());
    column("boot", all.iter().map(|(_, point)| or_na(point.boot.map(|boot| f64::from(boot + 1)))).collect());
    column("cell", all.iter().map(|(_, point)| string(&point.cell)).collect());
    for (own, factor) in &columns.factors {
        column(own, all.iter().map(|(_, point)| string(level(report, point, factor).unwrap_or_default())).collect());
    }
    column("attempt", all.iter().map(|(_, point)| point.attempt.to_string()).collect());
    column("outcome", all.iter().map(|(_, point)| string(point.outcome.word())).collect());
    for (own, metric) in &columns.metrics {
        column(own, all.iter().map(|(_, point)| or_na(point.values.get(metric).copied())).collect());
    }
    put("  check.names = FALSE, stringsAsFactors = FALSE)".to_owned());
    put("\ncells <- list(".to_owned());
    for cell in &study.cells {
        let values: Vec<String> = columns
            .metrics
            .iter()
            .map(|(own, metric)| {
                let summary = cell.values.get(metric).cloned().unwrap_or_default();
                format!("list(metric = {}, stored = {})", string(own), stored_summary(&summary))
            })
            .collect();
        put(format!("  list(cell = {}, values = list(\n    {})),", string(&cell.label), values.join(",\n    ")));
    }
    put("  NULL)\n".to_owned());
    put("# A comparison: groups of cells with their sign, and what the report says.\ncomparisons <- list(".to_owned());
    let frame = Frame::of(report);
    for placed in frame.placed() {
        let column = columns.metrics.iter().find(|(_, metric)| *metric == placed.comparison.metric);
        put(comparison(&frame, &placed, column.map_or("", |(own, _)| own)));
    }
    put("  NULL)\n".to_owned());
    out.push_str(COMPUTE);
    if study.sequence.is_some() {
        out.push_str(SEQUENCE);
    }
    out.push_str(CHECK);
    out
}

fn comparison(frame: &Frame<'_>, placed: &PlacedComparison<'_>, column: &str) -> String {
    let one = placed.comparison;
    let (direction, margin) =
        frame.metric(one).map_or((Direction::Lower, 0.0), |metric| (metric.metric.direction, metric.margin));
    let groups: Vec<String> = placed
        .asked
        .iter()
        .flat_map(|asked| &asked.groups)
        .map(|(sign, cells)| {
            let cells: Vec<String> = cells.iter().map(|cell| string(cell)).collect();
            format!("list(sign = {sign}, cells = {})", vector(&cells))
        })
        .collect();
    let mut out = format!("  list(name = {}, metric = {},\n", string(&one.name), string(column));
    let _ = writeln!(
        out,
        "    primary = {}, method = {}, margin = {margin}, lower_is_better = {}, level = {}, level_of_failures = {},",
        logical(one.primary),
        string(one.method.word()),
        logical(direction == Direction::Lower),
        number(one.level),
        or_na(one.level_of_failures)
    );
    let _ = writeln!(out, "    groups = list({}),", groups.join(", "));
    let differences: Vec<String> = one.differences.iter().map(|d| number(d.difference)).collect();
    let blocks: Vec<String> = one.differences.iter().map(|d| (d.block + 1).to_string()).collect();
    let _ = writeln!(out, "    blocks = {}, differences = {},", vector(&blocks), vector(&differences));
    let _ = writeln!(out, "    a = {}, b = {},", stored_summary(&one.a_values), stored_summary(&one.b_values));
    let bad = &one.outcomes;
    let _ = writeln!(
        out,
        "    outcomes = c({}, {}, {}, {}), outcomes_p = {},",
        bad.a_bad,
        bad.a_total,
        bad.b_bad,
        bad.b_total,
        number(bad.p)
    );
    let _ = writeln!(out, "    holm_p = {}, conclusion = {},", or_na(one.holm_p), string(one.conclusion.word()));
    match &one.effect {
        None => out.push_str("    effect = NULL),"),
        Some(effect) => {
            let interval = |interval: crate::experiment::analysis::Interval| {
                format!("c({}, {})", number(interval.low), number(interval.high))
            };
            let _ = writeln!(
                out,
                "    effect = list(log_ratio = {}, standard_error = {}, df = {}, p = {},",
                number(effect.log_ratio),
                number(effect.standard_error),
                number(effect.df),
                number(effect.p)
            );
            let _ = writeln!(
                out,
                "      ratio = {}, interval = {}, equivalence = {}, alone = {},",
                number(effect.ratio),
                interval(effect.interval),
                interval(effect.interval_equivalence),
                interval(effect.interval_alone)
            );
            let _ = write!(
                out,
                "      randomisation_p = {}, smallest = {}, exact = {})),",
                or_na(effect.randomisation_p),
                or_na(effect.smallest_randomisation_p),
                logical(effect.randomisation_exact == Some(true))
            );
        }
    }
    out
}

/// As R writes it: there is no `inf` in R.
fn number(value: f64) -> String {
    if value.is_infinite() { if value > 0.0 { "Inf" } else { "-Inf" }.to_owned() } else { value.to_string() }
}

fn or_na(value: Option<f64>) -> String {
    value.map_or_else(|| "NA".to_owned(), number)
}

fn stored_summary(summary: &Summary) -> String {
    format!("c({}, {}, {}, {})", summary.n, or_na(summary.mean), or_na(summary.sd), or_na(summary.median))
}

fn logical(yes: bool) -> &'static str {
    if yes { "TRUE" } else { "FALSE" }
}

fn vector(values: &[String]) -> String {
    let lines: Vec<String> = values.chunks(ON_A_LINE).map(|line| line.join(", ")).collect();
    format!("c({})", lines.join(",\n    "))
}

/// A column's name between backticks.
fn name_of(name: &str) -> String {
    let quoted = string(name);
    let inner = quoted.trim_start_matches('"');
    let inner = inner.strip_suffix('"').unwrap_or(inner);
    format!("`{}`", inner.replace('`', "\\x60"))
}

/// A string literal in ASCII: nothing in a name ends it, whatever the locale R runs in.
fn string(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            ' '..='~' => out.push(c),
            c if u32::from(c) <= 0xffff => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => {
                let _ = write!(out, "\\U{:08x}", u32::from(c));
            }
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_ends_its_string() {
        assert_eq!(string("a\"); stop(\"\\"), r#""a\"); stop(\"\\""#);
        assert_eq!(string("off·ü\n"), r#""off\u00b7\u00fc\u000a""#);
        assert_eq!(name_of("a`b\"c"), "`a\\x60b\\\"c`");
    }
}

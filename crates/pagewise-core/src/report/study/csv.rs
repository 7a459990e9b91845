//! Every attempt at every point as CSV, a row each: what `pagewise analyze FILE.csv` reads, and any spreadsheet.
//!
//! Columns: `block`, `order`, `boot` and `attempt` count from 1; `cell`; a column per factor; `outcome`; a column per
//! metric in its unit of the JSON, empty where it was not measured. Warm-up is left out: it has no block, and whoever
//! averages the table must not meet it.

use super::Report;
use crate::comparison::question::{BLOCK, ORDER, OUTCOME};
use crate::experiment::analysis::PointMark;

/// Columns whose names cannot be a factor's or a metric's.
const OWN: [&str; 6] = [BLOCK, ORDER, "boot", "cell", "attempt", OUTCOME];

/// Names of the columns, and where their values come from.
pub(super) struct Columns {
    /// Column, factor.
    pub(super) factors: Vec<(String, String)>,
    /// Column, metric.
    pub(super) metrics: Vec<(String, String)>,
}

impl Columns {
    /// Every name once: what is taken gets `factor.` or `metric.` in front.
    pub(super) fn of(report: &Report) -> Columns {
        let mut taken: Vec<String> = OWN.iter().map(|name| (*name).to_owned()).collect();
        let mut column = |name: &str, kind: &str| {
            let mut own = name.to_owned();
            while taken.contains(&own) {
                own = format!("{kind}.{own}");
            }
            taken.push(own.clone());
            (own, name.to_owned())
        };
        Columns {
            factors: report.plan.factors.iter().map(|factor| column(&factor.name, "factor")).collect(),
            metrics: report.analysis.metrics.iter().map(|metric| column(&metric.metric.name, "metric")).collect(),
        }
    }
}

/// Attempts that count or could have: warm-up is left out.
pub(super) fn points(report: &Report) -> impl Iterator<Item = (u32, &PointMark)> {
    report.analysis.points.iter().filter_map(|point| Some((point.block?, point)))
}

/// The level a point had of a factor.
pub(super) fn level<'r>(report: &'r Report, point: &PointMark, factor: &str) -> Option<&'r str> {
    let cell = report.analysis.cells.iter().find(|cell| cell.label == point.cell)?;
    cell.levels.get(factor).map(String::as_str)
}

/// The points as CSV (RFC 4180, UTF-8), a header and a row per attempt, ending in a newline.
#[must_use]
pub fn csv(report: &Report) -> String {
    let columns = Columns::of(report);
    let mut head: Vec<&str> = vec![BLOCK, ORDER, "boot", "cell"];
    head.extend(columns.factors.iter().map(|(column, _)| column.as_str()));
    head.extend(["attempt", OUTCOME]);
    head.extend(columns.metrics.iter().map(|(column, _)| column.as_str()));
    let mut out = row(head.into_iter().map(str::to_owned));
    for (block, point) in points(report) {
        let mut fields = vec![(block + 1).to_string(), (point.index + 1).to_string()];
        fields.push(point.boot.map_or_else(String::new, |boot| (boot + 1).to_string()));
        fields.push(point.cell.clone());
        let level = |factor: &str| level(report, point, factor).unwrap_or_default().to_owned();
        fields.extend(columns.factors.iter().map(|(_, factor)| level(factor)));
        fields.extend([point.attempt.to_string(), point.outcome.word().to_owned()]);
        let value = |metric: &str| point.values.get(metric).map_or_else(String::new, f64::to_string);
        fields.extend(columns.metrics.iter().map(|(_, metric)| value(metric)));
        out.push_str(&row(fields.into_iter()));
    }
    out
}

fn row(fields: impl Iterator<Item = String>) -> String {
    let quoted = fields.map(|field| {
        let plain = !field.contains([',', '"', '\n', '\r']) && field.trim() == field;
        if plain { field } else { format!("\"{}\"", field.replace('"', "\"\"")) }
    });
    quoted.collect::<Vec<_>>().join(",") + "\n"
}

//! The tables of a study: comparisons of a contrast, cells, analyses, counters, every run.

use super::Report;
use super::frame::{Frame, Group, PlacedComparison};
use super::words::{confidence, kind, span, verdict};
use crate::experiment::analysis::{Analysis, CellSummary, Comparison, Effect, JudgedMetric};
use crate::experiment::point::Outcome;
use crate::experiment::stopping::{InterimAnalysis, spent_in_words};
use crate::report::content::Table;
use crate::report::number::{self, NONE};
use crate::report::printable::printable;

fn or_none(value: Option<String>) -> String {
    value.unwrap_or_else(|| NONE.to_owned())
}

fn head(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn level_if_common<'c>(comparisons: impl Iterator<Item = &'c Comparison>) -> Option<f64> {
    let mut levels = comparisons.filter(|one| one.effect.is_some()).map(|one| one.level);
    let first = levels.next()?;
    levels.all(|level| level == first).then_some(first)
}

/// The comparisons of one contrast: a row per combination of levels.
pub(super) fn contrast(frame: &Frame<'_>, group: &Group<'_>) -> Table {
    let first = group.first.comparison;
    let members: Vec<&Comparison> = group.members.iter().map(|placed| placed.comparison).collect();
    let unit = frame.metric(first).map_or_else(String::new, |metric| printable(&metric.metric.unit));
    let is_interaction = first.interaction.is_some();
    let has_holm = members.iter().any(|one| one.holm_p.is_some());
    let has_failures = members.iter().any(|one| one.outcomes.a_bad + one.outcomes.b_bad > 0);
    let common = level_if_common(members.iter().copied());
    let by: Vec<&String> = first.by.keys().collect();
    let mut head: Vec<String> = by.iter().map(|name| printable(name)).collect();
    if head.is_empty() {
        head.push(printable(&first.factor));
    }
    head.push("blocks".to_owned());
    if has_failures {
        head.push("ended badly".to_owned());
    }
    if !is_interaction {
        head.extend([printable(&first.a), printable(&first.b)]);
    }
    head.push("change".to_owned());
    let kind = kind(&frame.report.analysis);
    head.push(common.map_or(kind.to_owned(), |level| format!("{} {kind}", confidence(level))));
    head.push(if has_holm { "p (Holm)" } else { "p" }.to_owned());
    head.push("verdict".to_owned());
    let row = |one: &&Comparison| {
        let mut row: Vec<String> =
            by.iter().map(|name| one.by.get(*name).map_or_else(String::new, |l| printable(l))).collect();
        if row.is_empty() {
            row.push(printable(&format!("{} → {}", one.a, one.b)));
        }
        row.push(one.blocks.to_string());
        if has_failures {
            let test = &one.outcomes;
            row.push(format!("{}/{}, {}/{}", test.a_bad, test.a_total, test.b_bad, test.b_total));
        }
        if !is_interaction {
            let mean = |mean: Option<f64>| or_none(mean.map(|mean| number::with_unit(mean, &unit)));
            row.extend([mean(one.a_values.mean), mean(one.b_values.mean)]);
        }
        let effect = one.effect.as_ref();
        row.push(or_none(effect.map(|effect| number::change(effect.ratio))));
        row.push(or_none(effect.map(|effect| interval_of(one, effect, common.is_none()))));
        row.push(or_none(effect.map(|effect| number::p_value(one.holm_p.unwrap_or(effect.p)))));
        row.push(verdict(one));
        row
    };
    Table { head, rows: members.iter().map(row).collect() }
}

fn interval_of(comparison: &Comparison, effect: &Effect, with_level: bool) -> String {
    let span = span(effect.interval);
    if with_level { format!("{span} (at {})", confidence(comparison.level)) } else { span }
}

/// Columns that a narrow page can spare: what the sentences or the table of cells say, too.
pub(super) fn spared(group: &Group<'_>) -> Vec<String> {
    let first = group.first.comparison;
    vec!["blocks".to_owned(), "ended badly".to_owned(), printable(&first.a), printable(&first.b)]
}

/// Comparisons that are no claims, by name.
pub(super) fn others(all: &[PlacedComparison<'_>], study: &Analysis) -> Table {
    let row = |placed: &PlacedComparison<'_>| {
        let one = placed.comparison;
        let effect = one.effect.as_ref();
        vec![
            printable(&one.name),
            one.blocks.to_string(),
            or_none(effect.map(|effect| number::change(effect.ratio))),
            or_none(effect.map(|effect| span(effect.interval))),
            or_none(effect.map(|effect| number::p_value(effect.p))),
            verdict(one),
        ]
    };
    let interval = format!("{} {}", confidence(study.alpha), kind(study));
    Table {
        head: head(&["comparison", "blocks", "change", &interval, "p", "verdict"]),
        rows: all.iter().map(row).collect(),
    }
}

/// What every cell gave on a metric.
pub(super) fn cells(study: &Analysis, metric: &JudgedMetric) -> Table {
    let unit = printable(&metric.metric.unit);
    let row = |cell: &CellSummary| {
        let values = cell.values.get(&metric.metric.name).cloned().unwrap_or_default();
        let said = |value: Option<f64>| or_none(value.map(|value| number::with_unit(value, &unit)));
        vec![
            printable(&cell.label),
            outcomes(cell),
            values.n.to_string(),
            said(values.mean),
            said(values.sd),
            said(values.median),
        ]
    };
    Table {
        head: head(&["cell", "outcomes", "n", "mean", "SD", "median"]),
        rows: study.cells.iter().map(row).collect(),
    }
}

fn outcomes(cell: &CellSummary) -> String {
    let told: Vec<String> = Outcome::ALL
        .into_iter()
        .filter_map(|outcome| Some((cell.outcomes.get(outcome.word()).filter(|count| **count > 0)?, outcome)))
        .map(|(count, outcome)| format!("{count} {}", outcome.word()))
        .collect();
    if told.is_empty() { NONE.to_owned() } else { told.join(", ") }
}

/// What was decided when. The first columns stand once per analysis.
pub(super) fn interim_analyses(study: &Analysis) -> Table {
    let mut rows = Vec::new();
    for (place, analysis) in told(study) {
        let mut stood = vec![(place + 1).to_string(), analysis.blocks.to_string()];
        stood.extend(analysis.spent.map(|spent| spent_in_words(spent, study.alpha)));
        for (line, one) in analysis.comparisons.iter().enumerate() {
            let mut row = if line == 0 { stood.clone() } else { vec![String::new(); stood.len()] };
            let decision = if one.futile { "out of reach".to_owned() } else { one.conclusion.word().to_owned() };
            let p = or_none(one.p.map(number::p_value));
            row.extend([printable(&one.name), p, number::p_value(one.nominal_p), decision]);
            rows.push(row);
        }
        if analysis.comparisons.is_empty() {
            let mut row = stood;
            row.extend([printable(&analysis.because), NONE.to_owned(), NONE.to_owned(), NONE.to_owned()]);
            rows.push(row);
        }
    }
    let mut words = vec!["analysis", "blocks"];
    if study.sequence.is_none() {
        words.push("alpha spent");
    }
    words.extend(["comparison", "p", "decides at p ≤", "decision"]);
    Table { head: head(&words), rows }
}

/// The analyses to show, with their places. After every block of an open-ended trial there was one: those at which a decision
/// changed, and the last.
fn told(study: &Analysis) -> Vec<(usize, &InterimAnalysis)> {
    let decisions =
        |analysis: &InterimAnalysis| analysis.comparisons.iter().map(|one| one.conclusion).collect::<Vec<_>>();
    let is_told = |place: usize, analysis: &InterimAnalysis| {
        let before = place.checked_sub(1).and_then(|before| study.interim_analyses.get(before));
        study.sequence.is_none()
            || place + 1 == study.interim_analyses.len()
            || before.is_none_or(|before| decisions(before) != decisions(analysis))
    };
    study.interim_analyses.iter().enumerate().filter(|(place, analysis)| is_told(*place, analysis)).collect()
}

/// The estimate of every comparison to the digit, for readers who check it.
pub(super) fn estimates(study: &Analysis) -> Table {
    let row = |one: &Comparison| {
        let effect = one.effect.as_ref();
        let digits = |value: f64| number::significant(value, 4);
        vec![
            printable(&one.name),
            printable(&one.metric),
            or_none(effect.map(|effect| digits(effect.ratio))),
            or_none(effect.map(|effect| digits(effect.standard_error))),
            or_none(effect.map(|effect| number::count(effect.df))),
            or_none(effect.map(|effect| number::p_value(effect.p))),
            or_none(effect.and_then(|effect| effect.randomisation_p).map(number::p_value)),
            or_none(effect.and_then(|effect| effect.smallest_randomisation_p).map(number::p_value)),
            or_none(effect.map(|effect| span(effect.interval_alone))),
            one.blocks_needed.map_or(NONE.to_owned(), |blocks| number::count(f64::from(blocks))),
        ]
    };
    let alone = format!("{} {}, alone", confidence(study.alpha), kind(study));
    Table {
        head: head(&[
            "comparison",
            "metric",
            "ratio",
            "SE of ln ratio",
            "df",
            if study.sequence.is_some() { "p (after any block)" } else { "p (t test)" },
            "p (randomisation)",
            "smallest it can be",
            &alone,
            "blocks needed",
        ]),
        rows: study.comparisons.iter().map(row).collect(),
    }
}

/// Every run as a row, for readers who do not see the figures.
pub(super) fn runs(report: &Report) -> Table {
    let study = &report.analysis;
    let mut words = vec!["run".to_owned(), "block".to_owned(), "cell".to_owned()];
    let has_boots = study.points.iter().any(|point| point.boot.is_some());
    words.extend(has_boots.then(|| "boot".to_owned()));
    words.extend(["attempt".to_owned(), "outcome".to_owned()]);
    words.extend(study.metrics.iter().map(|metric| printable(&metric.metric.name)));
    words.push("reason".to_owned());
    let rows = study.points.iter().map(|point| {
        let mut row = vec![(point.index + 1).to_string()];
        row.push(point.block.map_or("warm-up".to_owned(), |block| (block + 1).to_string()));
        row.push(printable(&point.cell));
        row.extend(has_boots.then(|| or_none(point.boot.map(|boot| (boot + 1).to_string()))));
        row.extend([point.attempt.to_string(), point.outcome.word().to_owned()]);
        for metric in &study.metrics {
            let value = point.values.get(&metric.metric.name);
            row.push(or_none(value.map(|value| number::with_unit(*value, &printable(&metric.metric.unit)))));
        }
        row.push(point.reason.as_deref().map_or(String::new(), printable));
        row
    });
    let rows = rows.collect();
    Table { head: words, rows }
}

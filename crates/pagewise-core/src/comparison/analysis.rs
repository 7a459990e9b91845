//! From a table to its comparisons: every number that a report shows is computed here, once.

use super::cells::{self, Cell};
use super::counters;
use super::effects::Effects;
use super::found::{Comparison, JudgedMetric, MetricInfo, Summary, Warning};
use super::notes;
use super::outcome::Outcome;
use super::plain_samples::PlainSamples;
use super::question::{Question, QuestionError};
use super::rule::OutcomeTest;
use super::sentence;
use super::table::Table;
use super::{warnings, words};
use crate::metric::Direction;
use crate::stats::{benjamini_hochberg, holm, summary};
use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Identifies it in JSON.
pub const SCHEMA: &str = "pagewise.comparisons/3";

/// What a table says about the question it was asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparisons {
    /// [`SCHEMA`].
    pub schema: String,
    /// The column that was compared.
    pub value: String,
    /// Significance level: 0.05. Intervals are at 1 − alpha.
    pub alpha: f64,
    /// Equivalence margin as a fraction: 0.02.
    pub margin: f64,
    /// Which way is better.
    pub direction: Direction,
    /// The factors that were kept apart, as asked.
    pub by: Vec<String>,
    /// Seed of what is resampled.
    pub seed: u64,
    /// A comparison per contrast and combination of levels, in the order of the question and then of the table.
    pub comparisons: Vec<Comparison>,
    /// How the table was read.
    pub notes: Vec<Note>,
    /// What a careful reader must know about the table as a whole.
    pub warnings: Vec<Warning>,
}

/// What is worth knowing and no reason to doubt, with a stable id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Note {
    /// Which one: `read-as`, `columns-used`, `compared-within`, `levels-not-used`, `changes-together`, `no-counters`,
    /// `counters-without-spread`.
    pub id: String,
    /// What it means here, with numbers.
    pub text: String,
}

/// More comparisons than this are no table but a wrong factor.
pub const MOST_COMPARISONS: usize = 10_000;

/// Why a table has no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ComparisonError {
    /// The question contradicts itself.
    #[error(transparent)]
    Question(#[from] QuestionError),
    /// A factor with a level per row.
    #[error(
        "the factors kept apart make {count} comparisons, more than {MOST_COMPARISONS}; a column that numbers the rows \
         is no factor, leave it out"
    )]
    TooMany {
        /// How many there would be.
        count: usize,
    },
    /// Nothing to compare.
    #[error("no row has a value: every one is empty or belongs to a run that did not end well")]
    NoValues,
}

/// Compares what `question` asks for. The same table and question give the same numbers everywhere.
///
/// # Errors
/// When the question contradicts itself or asks for more comparisons than anyone can read. Too little data in a cell is
/// not an error but a reason beside a null.
pub fn analyze(table: &Table, question: &Question) -> Result<Comparisons, ComparisonError> {
    question.check()?;
    let cells = cells::all(table, question);
    if cells.len() > MOST_COMPARISONS {
        return Err(ComparisonError::TooMany { count: cells.len() });
    }
    if cells.iter().all(|cell| cell.a.values.is_empty() && cell.b.values.is_empty() && !cell.has_failures(table)) {
        return Err(ComparisonError::NoValues);
    }
    let mut comparisons: Vec<Comparison> = cells.iter().map(|cell| compare(table, question, cell)).collect();
    adjust(&mut comparisons);
    for (comparison, cell) in comparisons.iter_mut().zip(&cells) {
        comparison.warnings = warnings::of(table, question, cell, comparison);
    }
    counters::compare(table, question, &cells, &mut comparisons);
    let notes = notes::of(table, question, &cells, &comparisons);
    let mut warnings = warnings::of_table(table, question);
    warnings.extend(warnings::without_order(table, &comparisons));
    Ok(Comparisons {
        schema: SCHEMA.to_owned(),
        value: question.value.clone(),
        alpha: question.rule.alpha,
        margin: question.rule.margin,
        direction: question.rule.direction,
        by: question.by.clone(),
        seed: question.seed,
        comparisons,
        notes,
        warnings,
    })
}

fn compare(table: &Table, question: &Question, cell: &Cell) -> Comparison {
    let found = Effects::of(table, question, cell);
    let outcomes = cell.outcomes(table);
    let concluded = question.rule.conclude(found.effect.as_ref().ok().map(|judged| judged.intervals), &outcomes);
    let by: IndexMap<String, String> = cell.by.iter().cloned().collect();
    let mut comparison = Comparison {
        name: words::comparison(&cell.contrast.factor, &cell.contrast.a, &cell.contrast.b, &by),
        factor: cell.contrast.factor.clone(),
        a: cell.contrast.a.clone(),
        b: cell.contrast.b.clone(),
        by,
        interaction: None,
        metric: question.value.clone(),
        primary: false,
        a_values: summarised(&cell.a.values, found.means.map(|means| means.0)),
        b_values: summarised(&cell.b.values, found.means.map(|means| means.1)),
        outcomes,
        blocks: found.differences.len() as u32,
        method: found.method,
        no_effect_because: found.effect.as_ref().err().cloned(),
        effect: found.effect.ok().map(|judged| judged.effect()),
        level: question.rule.alpha,
        level_of_failures: None,
        holm_p: None,
        conclusion: concluded.word,
        real_but_below_margin: concluded.real_but_below_margin,
        decided_by: concluded.decided_by().to_owned(),
        sentence: String::new(),
        blocks_needed: None,
        blocks_needed_for: Vec::new(),
        detectable: None,
        differences: found.differences,
        measures: Vec::new(),
        counters: Vec::new(),
        counters_compared: 0,
        stall: None,
        stacks: None,
        plain_samples: Some(found.plain),
        warnings: Vec::new(),
    };
    let metric = MetricInfo { name: question.value.clone(), unit: String::new(), direction: question.rule.direction };
    let metric = JudgedMetric { metric, margin: question.rule.margin };
    comparison.sentence = sentence::verdict(&comparison, &metric, concluded.reason, None);
    comparison
}

/// `mean` is that of the test where there is one.
fn summarised(values: &[f64], mean: Option<f64>) -> Summary {
    Summary {
        n: values.len() as u32,
        mean: mean.or_else(|| summary::mean(values)).filter(|mean| mean.is_finite()),
        sd: standard_deviation(values),
        median: summary::median(values).filter(|median| median.is_finite()),
    }
}

/// In units of the power of two below the largest value: no digit changes, and no square of 1e200 or 1e-200 leaves the
/// range of a float.
fn standard_deviation(values: &[f64]) -> Option<f64> {
    let largest = values.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()));
    if largest == 0.0 {
        return summary::standard_deviation(values);
    }
    let unit = libm::scalbn(1.0, libm::ilogb(largest).clamp(-1022, 1022));
    let in_units: Vec<f64> = values.iter().map(|value| value / unit).collect();
    Some(summary::standard_deviation(&in_units)? * unit).filter(|sd| sd.is_finite())
}

/// Corrects for the number of comparisons in the call. Those without a test are none.
fn adjust(comparisons: &mut [Comparison]) {
    let (mut tested, mut untested): (Vec<&mut PlainSamples>, Vec<&mut PlainSamples>) = comparisons
        .iter_mut()
        .filter_map(|comparison| comparison.plain_samples.as_mut())
        .partition(|plain| plain.welch.is_some());
    let p_values: Vec<f64> = tested.iter().filter_map(|plain| Some(plain.welch.as_ref()?.p)).collect();
    let adjusted = holm::adjusted(&p_values).into_iter().zip(benjamini_hochberg::adjusted(&p_values));
    for (plain, (holm, bh)) in tested.iter_mut().zip(adjusted) {
        (plain.welch_holm_p, plain.welch_bh_p) = (Some(holm), Some(bh));
    }
    for plain in &mut untested {
        for name in ["welch_holm_p", "welch_bh_p"] {
            plain.absent.insert(name.to_owned(), "there is no Welch test to adjust".to_owned());
        }
    }
}

impl Cell<'_> {
    /// How often each level failed: never, without a column that says so.
    fn outcomes(&self, table: &Table) -> OutcomeTest {
        let count = |rows: &[usize]| {
            let bad = rows.iter().filter(|row| table.outcomes.get(**row).is_some_and(|outcome| outcome.is_bad()));
            (bad.count() as u32, rows.len() as u32)
        };
        OutcomeTest::of(count(&self.a.rows), count(&self.b.rows))
    }

    fn has_failures(&self, table: &Table) -> bool {
        let bad = |row: &usize| table.outcomes.get(*row).copied().is_some_and(Outcome::is_bad);
        self.a.rows.iter().chain(&self.b.rows).any(bad)
    }
}

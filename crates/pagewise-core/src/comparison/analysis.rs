//! From a table to its comparisons: every number that a report shows is computed here, once.
//!
//! Welch's t and its interval are of mean(a) − mean(b), as R prints them for `t.test(a, b)`; every other effect is b
//! relative to a.

use super::cells::{self, Cell};
use super::counters::{self, CounterContrast};
use super::effects::{Absent, Effects};
pub use super::effects::{
    Bca, Blocked, HodgesLehmann, LogRatio, MannWhitney, Percent, PercentInterval, ShapiroP, Tost, Welch,
};
use super::estimate::Design;
use super::found::Warning;
use super::notes;
use super::outcome::Outcome;
use super::question::{Question, QuestionError};
use super::rule::Concluded;
pub use super::rule::{Conclusion, OutcomeTest};
use super::table::Table;
use super::warnings;
use crate::metric::Direction;
use crate::stats::{benjamini_hochberg, holm, summary};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Identifies it in JSON.
pub const SCHEMA: &str = "pagewise.comparisons/2";

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
    /// Other columns of numbers that differ, most significant first; empty when none were asked for.
    pub counters: Vec<CounterContrast>,
    /// How many contrasts of counters were made, for reading their false-discovery rate.
    pub counters_compared: u32,
    /// How the table was read.
    pub notes: Vec<Note>,
    /// What a careful reader must know about the table as a whole.
    pub warnings: Vec<Warning>,
}

/// Level b against level a of a factor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// The factor whose levels are compared.
    pub factor: String,
    /// Level of each other factor, by its name.
    pub by: BTreeMap<String, String>,
    /// The base.
    pub a: Arm,
    /// The level that is judged against it.
    pub b: Arm,
    /// Failures, compared before any value is. Null without a column `outcome`.
    pub outcomes: Option<OutcomeTest>,
    /// Welch's t test of mean(a) − mean(b), as R's `t.test(a, b)` has it.
    pub welch: Option<Welch>,
    /// Welch's interval turned into percent of mean(a) as if that were known, b relative to a: what R scripts of
    /// published reports print. Null when the interval includes zero.
    pub percent_r: Option<PercentInterval>,
    /// Change of the mean in percent of mean(a), b relative to a, with Fieller's interval. Null where mean(a) is not above
    /// zero.
    pub percent: Option<Percent>,
    /// How the values hang together, and so what [`Comparison::effect`] is: `pairs` and `blocks` where the table has blocks that
    /// hold both levels, `independent` elsewhere.
    pub method: Design,
    /// ln(b / a) by that method: what the verdict rests on.
    pub effect: Option<LogRatio>,
    /// ln(b / a) of the geometric means of all values, whatever ties them together.
    pub log_ratio: Option<LogRatio>,
    /// Welch's p adjusted by Holm over all comparisons of the call.
    pub holm_p: Option<f64>,
    /// Welch's p adjusted by Benjamini and Hochberg over all comparisons of the call.
    pub bh_p: Option<f64>,
    /// Two one-sided tests against the margin, on logarithms.
    pub tost: Option<Tost>,
    /// Shift of b against a in the unit of the value: Hodges and Lehmann's estimate.
    pub hodges_lehmann: Option<HodgesLehmann>,
    /// Mann and Whitney's rank test.
    pub mann_whitney: Option<MannWhitney>,
    /// Difference b − a in standard deviations, corrected for few values.
    pub hedges_g: Option<f64>,
    /// Shapiro and Wilk's test of each level against a bell curve.
    pub shapiro_p: ShapiroP,
    /// The estimate from pairs within blocks. Null without a column `block`.
    pub blocked: Option<Blocked>,
    /// Bootstrap interval of the change of the mean. Null unless it was asked for.
    pub bca: Option<Bca>,
    /// b against a: equivalent, better, worse or inconclusive.
    pub verdict: Conclusion,
    /// Equivalent, and yet the interval excludes no difference at all: real, but below the margin.
    pub real_but_below_margin: bool,
    /// What decided: `outcomes`, `effect`, `held-back-by-outcomes` (the effect alone would decide for, or equate, a level
    /// that fails more often), or `none`.
    pub decided_by: String,
    /// What a careful reader must know.
    pub warnings: Vec<Warning>,
    /// For every field above that is null, why.
    pub absent: BTreeMap<String, String>,
}

/// One level.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Arm {
    /// Its name.
    pub level: String,
    /// Values that were compared.
    pub n: u32,
    /// Their arithmetic mean. Null without values, or when it leaves the range of a float.
    pub mean: Option<f64>,
    /// Their sample standard deviation. Null below two values, or when it leaves the range of a float.
    pub sd: Option<f64>,
    /// Their median. Null without values.
    pub median: Option<f64>,
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
    let counters = counters::contrasts(table, question, &cells);
    let notes = notes::of(table, question, &cells, &counters, &comparisons);
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
        counters_compared: counters.len() as u32,
        counters,
        notes,
        warnings,
    })
}

fn compare(table: &Table, question: &Question, cell: &Cell) -> Comparison {
    let effects = Effects::of(table, question, cell);
    let outcomes = cell.outcomes(table);
    let concluded = conclude(question, &effects, outcomes.as_ref());
    let Absent(mut absent) = effects.absent;
    if outcomes.is_none() {
        absent.insert("outcomes".to_owned(), "the table has no column 'outcome'".to_owned());
    }
    Comparison {
        factor: cell.contrast.factor.clone(),
        by: cell.by.iter().cloned().collect(),
        a: arm(&cell.contrast.a, &cell.a.values, effects.means.map(|means| means.0)),
        b: arm(&cell.contrast.b, &cell.b.values, effects.means.map(|means| means.1)),
        outcomes,
        welch: effects.welch,
        percent_r: effects.percent_r,
        percent: effects.percent,
        method: effects.method,
        effect: effects.effect,
        log_ratio: effects.log_ratio,
        holm_p: None,
        bh_p: None,
        tost: effects.tost,
        hodges_lehmann: effects.hodges_lehmann,
        mann_whitney: effects.mann_whitney,
        hedges_g: effects.hedges_g,
        shapiro_p: effects.shapiro_p,
        blocked: effects.blocked,
        bca: effects.bca,
        verdict: concluded.word,
        real_but_below_margin: concluded.real_but_below_margin,
        decided_by: concluded.decided_by().to_owned(),
        warnings: Vec::new(),
        absent,
    }
}

fn conclude(question: &Question, effects: &Effects, outcomes: Option<&OutcomeTest>) -> Concluded {
    let intervals = effects.effect.as_ref().map(LogRatio::intervals);
    let none_failed = OutcomeTest::of((0, 0), (0, 0));
    question.rule.conclude(intervals, outcomes.unwrap_or(&none_failed))
}

fn arm(level: &str, values: &[f64], mean: Option<f64>) -> Arm {
    Arm {
        level: level.to_owned(),
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
    let (mut tested, mut untested): (Vec<&mut Comparison>, Vec<&mut Comparison>) =
        comparisons.iter_mut().partition(|comparison| comparison.welch.is_some());
    let p_values: Vec<f64> = tested.iter().filter_map(|comparison| Some(comparison.welch.as_ref()?.p)).collect();
    let adjusted = holm::adjusted(&p_values).into_iter().zip(benjamini_hochberg::adjusted(&p_values));
    for (comparison, (holm, bh)) in tested.iter_mut().zip(adjusted) {
        (comparison.holm_p, comparison.bh_p) = (Some(holm), Some(bh));
    }
    for comparison in &mut untested {
        for name in ["holm_p", "bh_p"] {
            comparison.absent.insert(name.to_owned(), "there is no Welch test to adjust".to_owned());
        }
    }
}

impl Cell<'_> {
    /// How often each level failed. `None` without a column that says so.
    fn outcomes(&self, table: &Table) -> Option<OutcomeTest> {
        if table.outcomes.is_empty() {
            return None;
        }
        let count = |rows: &[usize]| {
            let bad = rows.iter().filter(|row| table.outcomes.get(**row).is_some_and(|outcome| outcome.is_bad()));
            (bad.count() as u32, rows.len() as u32)
        };
        Some(OutcomeTest::of(count(&self.a.rows), count(&self.b.rows)))
    }

    fn has_failures(&self, table: &Table) -> bool {
        let bad = |row: &usize| table.outcomes.get(*row).copied().is_some_and(Outcome::is_bad);
        self.a.rows.iter().chain(&self.b.rows).any(bad)
    }
}

//! Reads a plan from TOML. What is wrong is told with file, line and column, down to the level whose policy has a typing
//! error.

use super::{Plan, check, misread};
use std::fmt;
use toml::de::{DeTable, DeValue};

/// A place in a plan: the way down from its root.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place(pub Vec<Step>);

/// One step of the way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Into a table.
    Key(String),
    /// Into a list.
    Item(usize),
}

impl From<&str> for Step {
    fn from(key: &str) -> Self {
        Step::Key(key.to_owned())
    }
}

impl From<usize> for Step {
    fn from(item: usize) -> Self {
        Step::Item(item)
    }
}

impl Place {
    /// From the steps of the way.
    #[must_use]
    pub fn of<const N: usize>(steps: [Step; N]) -> Place {
        Place(steps.into())
    }

    /// One step further.
    #[must_use]
    pub fn then(&self, step: impl Into<Step>) -> Place {
        Place(self.0.iter().cloned().chain([step.into()]).collect())
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, step) in self.0.iter().enumerate() {
            match step {
                Step::Key(key) if index == 0 => f.write_str(key)?,
                Step::Key(key) => write!(f, ".{key}")?,
                Step::Item(item) => write!(f, "[{}]", item + 1)?,
            }
        }
        Ok(())
    }
}

/// Something is wrong with a plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}:{column}: {why}")]
pub struct PlanError {
    /// The file's name.
    pub file: String,
    /// From 1.
    pub line: usize,
    /// In characters from 1.
    pub column: usize,
    /// What is wrong, and what would be right.
    pub why: String,
}

/// Reads a plan and holds it to everything that can be known without a host.
///
/// # Errors
/// The first thing that is wrong, with its place.
pub fn read(text: &str, file: &str) -> Result<Plan, PlanError> {
    let plan: Plan = toml::from_str(text).map_err(|error| {
        let span = error.span().unwrap_or(0..0);
        error_at(text, file, span.start, misread::in_words(text, span, error.message()))
    })?;
    match check::problems(&plan).into_iter().next() {
        None => Ok(plan),
        Some(problem) => Err(at(text, file, &problem.place, problem.why)),
    }
}

/// An error at a place of the plan, or at the nearest place above it that the text has.
#[must_use]
pub fn at(text: &str, file: &str, place: &Place, why: String) -> PlanError {
    error_at(text, file, offset_of(text, place), why)
}

fn error_at(text: &str, file: &str, offset: usize, why: String) -> PlanError {
    let before = text.get(..offset.min(text.len())).unwrap_or(text);
    PlanError {
        file: file.to_owned(),
        line: before.matches('\n').count() + 1,
        column: before.rsplit('\n').next().unwrap_or_default().chars().count() + 1,
        why,
    }
}

/// Where the value at a place begins.
fn offset_of(text: &str, place: &Place) -> usize {
    let Ok(table) = DeTable::parse(text) else { return 0 };
    let mut offset = table.span().start;
    let mut here: Option<&DeValue<'_>> = None;
    for step in &place.0 {
        let next = match (step, here) {
            (Step::Key(key), None) => table.get_ref().get(key.as_str()),
            (Step::Key(key), Some(DeValue::Table(table))) => table.get(key.as_str()),
            // `[metric]` instead of `[[metric]]`: the one table stands where the list would.
            (Step::Item(0), Some(DeValue::Table(_))) => continue,
            (Step::Item(item), Some(DeValue::Array(list))) => list.get(*item),
            _ => None,
        };
        let Some(next) = next else { break };
        offset = next.span().start;
        here = Some(next.get_ref());
    }
    offset
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "name = 'x'\n[workload]\nname = 'command'\nrun = ['true']\n\
        [[factor]]\nname = 'load'\nlevels.low = 'env.LOAD=1'\nlevels.high = 'env.LOAD=2'\n\
        [[contrast]]\nfactor = 'load'\na = 'low'\nb = 'high'\n";

    fn wrong(text: &str) -> (usize, usize, String) {
        let error = read(text, "x.toml").expect_err("a wrong plan was read");
        assert_eq!(error.file, "x.toml");
        (error.line, error.column, error.why)
    }

    #[test]
    fn a_good_plan_is_read_with_one_metric_or_several() {
        assert_eq!(read(GOOD, "x.toml").unwrap().metric().name, "wall");
        let one = read(&format!("{GOOD}[metric]\nname = 'user'\n"), "x.toml").unwrap();
        assert_eq!(one.metric().name, "user");
        let two = read(&format!("{GOOD}[[metric]]\nname = 'system_share'\n[[metric]]\nname = 'wall'\n"), "x.toml");
        assert_eq!(two.unwrap().metrics.len(), 2);
    }

    #[test]
    fn an_error_names_line_and_column() {
        assert_eq!(wrong("name = \n").0, 1);
        let (line, column, why) = wrong(&GOOD.replace("b = 'high'", "b = 'hihg'"));
        assert_eq!((line, column), (12, 5), "{why}");
        assert!(why.contains("low, high"), "{why}");
        let (line, column, why) = wrong(&GOOD.replace("'env.LOAD=2'", "'env.LOAD'"));
        assert_eq!((line, column), (8, 15), "{why}");
        let (line, _, why) = wrong(&format!("{GOOD}[desing]\nblocks = 3\n"));
        assert_eq!(line, 13, "{why}");
        assert!(why.contains("desing"), "{why}");
    }

    #[test]
    fn a_frozen_plan_reads_as_it_was() {
        let plan = read(GOOD, "x.toml").unwrap();
        let text = toml::to_string_pretty(&plan).unwrap();
        assert_eq!(read(&text, "x.toml").unwrap(), plan);
    }
}

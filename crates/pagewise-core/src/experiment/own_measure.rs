//! A measure that a workload brings, beside those that are taken of every run: a plan may name it as its metric.

use super::plan::lint::Lint;
use super::plan::{Metric, Plan};
use crate::comparison::doubts;
use crate::metric::{self, Direction};
use serde::Serialize;

/// What is known of it before a run. Its values stand among the measures of a point, with the unit beside them, so that an
/// analysis never asks which workload there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct OwnMeasure {
    /// Its name in plans, on the command line and in JSON; none that the catalogue has.
    pub name: &'static str,
    /// Its unit: a word of [`crate::metric::Unit`] such as `seconds`, or the workload's own, such as `rows/s`.
    pub unit: &'static str,
    /// Which way is better.
    pub direction: Direction,
    /// What it is and where it comes from.
    pub meaning: &'static str,
}

/// Which way is better for a measure of this name; `None` for one that nobody here knows.
#[must_use]
pub fn direction(name: &str, own: &[OwnMeasure]) -> Option<Direction> {
    let of_workload = own.iter().find(|measure| measure.name == name).map(|measure| measure.direction);
    of_workload.or_else(|| metric::find(name).map(|measure| measure.direction))
}

/// Metrics whose direction is not that of the measure, or, where nobody knows them, not what their name says: a verdict would be the wrong way round.
pub(super) fn turned_round(plan: &Plan, own: &[OwnMeasure]) -> Vec<Lint> {
    let turned = |metric: &&Metric| direction(&metric.name, own).is_some_and(|known| known != metric.direction);
    let lint = |metric: &Metric| {
        let (better, word) = match metric.direction {
            Direction::Lower => ("more", "higher"),
            Direction::Higher => ("less", "lower"),
        };
        let text = format!(
            "of {} {better} is better, and the plan compares it the other way round; write direction = \"{word}\"",
            metric.name
        );
        Lint { id: "turned-round".to_owned(), text }
    };
    let unknown = |metric: &&Metric| direction(&metric.name, own).is_none();
    let reads_so = |metric: &Metric| {
        let doubt = doubts::direction(&metric.name, "", metric.direction)?;
        Some(Lint { id: "turned-round".to_owned(), text: doubt.text.trim_end_matches('.').to_owned() })
    };
    let metrics = || plan.metrics.iter();
    metrics().filter(turned).map(lint).chain(metrics().filter(unknown).filter_map(reads_so)).collect()
}

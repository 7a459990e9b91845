//! The verdict of a trial: its outcomes and its interval handed to the one rule, [`crate::comparison::rule`].

use super::effect::Found;
use super::pairs::{Side, Trial};
use super::{OutcomeTest, Question};
use crate::comparison::rule::LogIntervals;
pub(super) use crate::comparison::rule::{Concluded, Reason};
use crate::stats::crossover::Estimate;

/// Compares how often the arms fail.
pub(super) fn compare_outcomes(trial: &Trial) -> OutcomeTest {
    let results = trial.results();
    let total = |side: Side| results.iter().filter(|(of, _)| *of == side).count() as u32;
    let bad = |side: Side| results.iter().filter(|(of, point)| *of == side && point.outcome.is_bad()).count() as u32;
    OutcomeTest::of((bad(Side::A), total(Side::A)), (bad(Side::B), total(Side::B)))
}

/// The verdict of a trial.
pub(super) fn conclude(question: &Question, found: Option<&Found>, outcomes: &OutcomeTest) -> Concluded {
    question.rule().conclude(found.map(|found| intervals(question, &found.estimate)), outcomes)
}

/// What the interval says, outcomes aside.
pub(super) fn by_effect(question: &Question, estimate: &Estimate) -> Concluded {
    question.rule().by_effect(intervals(question, estimate))
}

fn intervals(question: &Question, estimate: &Estimate) -> LogIntervals {
    LogIntervals { difference: estimate.interval(question.alpha), equivalence: estimate.interval(2.0 * question.alpha) }
}

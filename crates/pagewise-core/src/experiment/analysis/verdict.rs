//! The one rule that turns outcomes and an interval into a verdict.
//!
//! Outcomes first: an arm that fails significantly more often is worse, whatever its times say. Then the interval at
//! 1 − 2·alpha against the margin (equivalent: two one-sided tests, Schuirmann 1987), then the interval at 1 − alpha
//! against no difference. An arm with more failures is never called better and never equivalent: the times of its
//! survivors say nothing about the runs it lost.

use super::effect::Found;
use super::pairs::{Side, Trial};
use super::{Conclusion, OutcomeTest, Question};
use crate::metric::Direction;
use crate::stats::crossover::Estimate;
use crate::stats::fisher_exact;

/// The verdict and where it came from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Concluded {
    pub(super) word: Conclusion,
    pub(super) real_but_below_margin: bool,
    pub(super) reason: Reason,
}

/// What the verdict rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reason {
    /// One arm fails more often.
    Outcomes,
    /// The interval of the effect.
    Effect,
    /// The interval leaves it open.
    NotDecided,
    /// The interval would decide for an arm that fails more often.
    HeldBackByOutcomes {
        /// What the interval alone says.
        instead_of: Conclusion,
    },
    /// There is no interval.
    NoEffect,
}

impl Concluded {
    pub(super) fn decided_by(&self) -> &'static str {
        match self.reason {
            Reason::Outcomes => "outcomes",
            Reason::Effect => "effect",
            Reason::NotDecided | Reason::HeldBackByOutcomes { .. } | Reason::NoEffect => "none",
        }
    }
}

/// Compares how often the arms fail.
pub(super) fn compare_outcomes(trial: &Trial) -> OutcomeTest {
    let results = trial.results();
    let total = |side: Side| results.iter().filter(|(of, _)| *of == side).count() as u32;
    let bad = |side: Side| results.iter().filter(|(of, point)| *of == side && point.outcome.is_bad()).count() as u32;
    let (a_bad, a_total, b_bad, b_total) = (bad(Side::A), total(Side::A), bad(Side::B), total(Side::B));
    OutcomeTest { a_bad, a_total, b_bad, b_total, p: fisher_exact::two_sided_p(a_bad, a_total, b_bad, b_total) }
}

/// The verdict of a trial.
pub(super) fn conclude(question: &Question, found: Option<&Found>, outcomes: &OutcomeTest) -> Concluded {
    let b_fails_more = share(outcomes.b_bad, outcomes.b_total) > share(outcomes.a_bad, outcomes.a_total);
    if outcomes.p <= question.alpha {
        let word = if b_fails_more { Conclusion::Worse } else { Conclusion::Better };
        return Concluded { word, real_but_below_margin: false, reason: Reason::Outcomes };
    }
    let Some(found) = found else {
        return Concluded { word: Conclusion::Inconclusive, real_but_below_margin: false, reason: Reason::NoEffect };
    };
    let by_effect = by_effect(question, &found.estimate);
    if held_back(by_effect.word, outcomes) {
        return Concluded {
            word: Conclusion::Inconclusive,
            real_but_below_margin: false,
            reason: Reason::HeldBackByOutcomes { instead_of: by_effect.word },
        };
    }
    by_effect
}

/// What the interval says, outcomes aside.
pub(super) fn by_effect(question: &Question, estimate: &Estimate) -> Concluded {
    let margin = question.log_margin();
    let (low, high) = estimate.interval(question.alpha);
    let (low_equivalence, high_equivalence) = estimate.interval(2.0 * question.alpha);
    let excludes_zero = low > 0.0 || high < 0.0;
    if -margin < low_equivalence && high_equivalence < margin {
        return Concluded {
            word: Conclusion::Equivalent,
            real_but_below_margin: excludes_zero,
            reason: Reason::Effect,
        };
    }
    if !excludes_zero {
        return Concluded { word: Conclusion::Inconclusive, real_but_below_margin: false, reason: Reason::NotDecided };
    }
    let b_is_lower = high < 0.0;
    let word = if b_is_lower == (question.metric.direction == Direction::Lower) {
        Conclusion::Better
    } else {
        Conclusion::Worse
    };
    Concluded { word, real_but_below_margin: false, reason: Reason::Effect }
}

/// Whether the effect favours, or equates, an arm that fails more often. More by count or by share: a trial that was cut
/// short may have more results in one arm.
fn held_back(word: Conclusion, outcomes: &OutcomeTest) -> bool {
    let (a, b) = (share(outcomes.a_bad, outcomes.a_total), share(outcomes.b_bad, outcomes.b_total));
    let b_has_more = outcomes.b_bad > outcomes.a_bad || b > a;
    let a_has_more = outcomes.a_bad > outcomes.b_bad || a > b;
    match word {
        Conclusion::Better => b_has_more,
        Conclusion::Worse => a_has_more,
        Conclusion::Equivalent => a_has_more || b_has_more,
        Conclusion::Inconclusive => false,
    }
}

fn share(bad: u32, total: u32) -> f64 {
    if total == 0 { 0.0 } else { f64::from(bad) / f64::from(total) }
}

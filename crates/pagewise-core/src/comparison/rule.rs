//! The one rule that turns outcomes and an interval into a verdict, for trials and for anyone's table alike.
//!
//! Outcomes first: an arm that fails significantly more often is worse, whatever its times say. Then the interval at
//! 1 − 2·alpha against the margin (equivalent: two one-sided tests, Schuirmann 1987), then the interval at 1 − alpha
//! against no difference. An arm with more failures is never called better and never equivalent: the times of its
//! survivors say nothing about the runs it lost.

use crate::metric::Direction;
use crate::stats::fisher_exact;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The conclusion about b relative to a.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Conclusion {
    /// The difference, if any, is smaller than the margin.
    Equivalent,
    /// b is better than a.
    Better,
    /// b is worse than a.
    Worse,
    /// The data does not decide.
    Inconclusive,
}

impl Conclusion {
    /// The word as JSON has it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Conclusion::Equivalent => "equivalent",
            Conclusion::Better => "better",
            Conclusion::Worse => "worse",
            Conclusion::Inconclusive => "inconclusive",
        }
    }
}

/// Whether one arm fails more often than the other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OutcomeTest {
    /// Results of a that are not `ok` (invalid points are not results).
    pub a_bad: u32,
    /// Results of a.
    pub a_total: u32,
    /// Results of b that are not `ok`.
    pub b_bad: u32,
    /// Results of b.
    pub b_total: u32,
    /// Fisher's exact test, two-sided. 1 when nothing failed.
    pub p: f64,
}

impl OutcomeTest {
    /// Compares so many bad results of so many, a and b.
    #[must_use]
    pub fn of((a_bad, a_total): (u32, u32), (b_bad, b_total): (u32, u32)) -> OutcomeTest {
        OutcomeTest { a_bad, a_total, b_bad, b_total, p: fisher_exact::two_sided_p(a_bad, a_total, b_bad, b_total) }
    }
}

/// What the rule was told before the data was seen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rule {
    /// Differences below it do not matter, as a fraction: 0.02.
    pub margin: f64,
    /// Significance level: 0.05.
    pub alpha: f64,
    /// Which way is better.
    pub direction: Direction,
}

/// A standard error of ln(b / a) below this is the rounding of logarithms: the values do not vary, and there is no interval.
pub const LEAST_SPREAD: f64 = 1e-12;

/// Why there is no interval where values do not vary. Without noise nothing tells a difference from chance: what looks constant
/// may be a clock that is too coarse, and is neither equivalent nor better.
#[must_use]
pub fn without_spread(metric: &str, values: &[f64]) -> String {
    match values {
        [first, rest @ ..] if rest.iter().all(|value| value == first) => {
            format!("{metric} is {first} in every run, and values that do not vary at all give no interval")
        }
        _ => {
            format!("{metric} differs by the same each time, and differences that do not vary at all give no interval")
        }
    }
}

/// The intervals of ln(b / a) that the rule looks at, low end first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogIntervals {
    /// At 1 − alpha.
    pub difference: (f64, f64),
    /// At 1 − 2·alpha.
    pub equivalence: (f64, f64),
}

/// The verdict and where it came from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Concluded {
    /// The word.
    pub word: Conclusion,
    /// Equivalent, and yet the interval at 1 − alpha excludes no difference.
    pub real_but_below_margin: bool,
    /// What decided.
    pub reason: Reason,
}

/// What the verdict rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
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

/// The word for [`Reason::Outcomes`] in JSON.
pub const OUTCOMES: &str = "outcomes";
/// The word for [`Reason::Effect`].
pub const EFFECT: &str = "effect";
/// The word for [`Reason::HeldBackByOutcomes`].
pub const HELD_BACK: &str = "held-back-by-outcomes";

impl Concluded {
    /// `outcomes`, `effect`, `held-back-by-outcomes` or `none`, as JSON has it.
    #[must_use]
    pub fn decided_by(&self) -> &'static str {
        match self.reason {
            Reason::Outcomes => OUTCOMES,
            Reason::Effect => EFFECT,
            Reason::HeldBackByOutcomes { .. } => HELD_BACK,
            Reason::NotDecided | Reason::NoEffect => "none",
        }
    }
}

impl Rule {
    /// The margin on the scale of log ratios. Symmetric there: 1.02 above and 1/1.02 below, so that swapping the levels
    /// turns the interval and its bounds over together and cannot change the verdict.
    #[must_use]
    pub fn log_margin(&self) -> f64 {
        libm::log1p(self.margin)
    }

    /// The verdict. `intervals` is `None` where there is no estimate.
    #[must_use]
    pub fn conclude(&self, intervals: Option<LogIntervals>, outcomes: &OutcomeTest) -> Concluded {
        let b_fails_more = share(outcomes.b_bad, outcomes.b_total) > share(outcomes.a_bad, outcomes.a_total);
        if outcomes.p <= self.alpha {
            let word = if b_fails_more { Conclusion::Worse } else { Conclusion::Better };
            return Concluded { word, real_but_below_margin: false, reason: Reason::Outcomes };
        }
        let open = |reason| Concluded { word: Conclusion::Inconclusive, real_but_below_margin: false, reason };
        let Some(intervals) = intervals else { return open(Reason::NoEffect) };
        let by_effect = self.by_effect(intervals);
        if held_back(by_effect.word, outcomes) {
            return open(Reason::HeldBackByOutcomes { instead_of: by_effect.word });
        }
        by_effect
    }

    /// What the intervals say, outcomes aside.
    #[must_use]
    pub fn by_effect(&self, intervals: LogIntervals) -> Concluded {
        let margin = self.log_margin();
        let (low, high) = intervals.difference;
        let (low_equivalence, high_equivalence) = intervals.equivalence;
        let excludes_zero = low > 0.0 || high < 0.0;
        if -margin < low_equivalence && high_equivalence < margin {
            let word = Conclusion::Equivalent;
            return Concluded { word, real_but_below_margin: excludes_zero, reason: Reason::Effect };
        }
        if !excludes_zero {
            let word = Conclusion::Inconclusive;
            return Concluded { word, real_but_below_margin: false, reason: Reason::NotDecided };
        }
        let b_is_lower = high < 0.0;
        let b_is_better = b_is_lower == (self.direction == Direction::Lower);
        let word = if b_is_better { Conclusion::Better } else { Conclusion::Worse };
        Concluded { word, real_but_below_margin: false, reason: Reason::Effect }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: Rule = Rule { margin: 0.02, alpha: 0.05, direction: Direction::Lower };
    const NOTHING_FAILED: (u32, u32) = (0, 10);

    fn judged(difference: (f64, f64), equivalence: (f64, f64)) -> Concluded {
        let none_failed = OutcomeTest::of(NOTHING_FAILED, NOTHING_FAILED);
        RULE.conclude(Some(LogIntervals { difference, equivalence }), &none_failed)
    }

    #[test]
    fn the_margin_is_looked_at_before_the_difference() {
        let real = judged((0.001, 0.012), (0.002, 0.011));
        assert_eq!((real.word, real.real_but_below_margin), (Conclusion::Equivalent, true));
        assert_eq!(judged((-0.05, -0.01), (-0.045, -0.015)).word, Conclusion::Better);
        assert_eq!(judged((0.01, 0.05), (0.015, 0.045)).word, Conclusion::Worse);
        assert_eq!(judged((-0.01, 0.05), (-0.005, 0.045)).word, Conclusion::Inconclusive);
    }

    #[test]
    fn what_fails_more_often_is_never_better_or_equivalent() {
        let fast = Some(LogIntervals { difference: (-0.2, -0.1), equivalence: (-0.19, -0.11) });
        let some = OutcomeTest::of((0, 10), (2, 10));
        let held = RULE.conclude(fast, &some);
        assert_eq!(held.reason, Reason::HeldBackByOutcomes { instead_of: Conclusion::Better });
        assert_eq!((held.word, held.decided_by()), (Conclusion::Inconclusive, HELD_BACK));
        let many = OutcomeTest::of((0, 10), (8, 10));
        assert_eq!(RULE.conclude(fast, &many).word, Conclusion::Worse);
    }
}

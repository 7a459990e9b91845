//! The verdict of a trial of two levels in words: outcome first, then the numbers, rounded to what they can carry.

use super::{Comparison, Conclusion, Effect, Interval, JudgedMetric};
use crate::comparison::ratio::{TENFOLD, change, decimals, multiple, side_of_one};
use crate::comparison::rule::Reason;
use crate::comparison::words::{of_new_trial, p_value, percent};
use crate::experiment::point::Outcome;
use std::collections::BTreeMap;

/// What the sentences are made of.
struct PairFacts<'c> {
    one: &'c Comparison,
    metric: &'c str,
    margin: f64,
    /// How often each outcome occurred at a level, by its word.
    outcomes: &'c dyn Fn(&str) -> BTreeMap<String, u32>,
}

/// One or two sentences for a person. `outcomes` says how often each outcome occurred at a level.
pub(super) fn verdict(
    one: &Comparison,
    metric: &JudgedMetric,
    reason: Reason,
    outcomes: &dyn Fn(&str) -> BTreeMap<String, u32>,
) -> String {
    let told = PairFacts { one, metric: &metric.metric.name, margin: metric.margin, outcomes };
    match (reason, &one.effect) {
        (Reason::Outcomes, _) => told.decided_by_outcomes(),
        (_, None) => format!("No verdict: {}.", one.no_effect_because.as_deref().unwrap_or("nothing was measured")),
        (Reason::HeldBackByOutcomes { instead_of }, Some(effect)) => told.held_back(instead_of, effect),
        (Reason::NotDecided | Reason::NoEffect, Some(effect)) => told.not_decided(effect),
        (Reason::Effect, Some(effect)) if one.conclusion == Conclusion::Equivalent => told.equivalent(effect),
        (Reason::Effect, Some(effect)) => format!(
            "{}: {} is {} ({}).",
            told.judged(),
            told.metric,
            change(effect.ratio),
            told.at_level(one.level, &effect.interval)
        ),
    }
}

impl PairFacts<'_> {
    /// "`always` is better than `never`".
    fn judged(&self) -> String {
        let word = if self.one.conclusion == Conclusion::Better { "better" } else { "worse" };
        format!("`{}` is {word} than `{}`", self.one.b, self.one.a)
    }

    fn decided_by_outcomes(&self) -> String {
        format!(
            "{}: {} (Fisher's exact test, p = {}). Failures are compared before times.",
            self.judged(),
            self.failures(),
            p_value(self.one.outcomes.p)
        )
    }

    /// "5 of 10 runs of `always` ended badly (4 oom, 1 timeout), against 0 of 10 of `never`".
    fn failures(&self) -> String {
        let outcomes = &self.one.outcomes;
        format!(
            "{} of {} runs of `{}` ended badly{}, against {} of {} of `{}`{}",
            outcomes.b_bad,
            outcomes.b_total,
            self.one.b,
            self.kinds(&self.one.b),
            outcomes.a_bad,
            outcomes.a_total,
            self.one.a,
            self.kinds(&self.one.a)
        )
    }

    /// " (4 oom, 1 timeout)", or nothing.
    fn kinds(&self, level: &str) -> String {
        let counts = (self.outcomes)(level);
        let kinds: Vec<String> = Outcome::ALL
            .iter()
            .filter(|outcome| outcome.is_bad())
            .filter_map(|outcome| Some(format!("{} {}", counts.get(outcome.word())?, outcome.word())))
            .collect();
        if kinds.is_empty() { String::new() } else { format!(" ({})", kinds.join(", ")) }
    }

    fn held_back(&self, instead_of: Conclusion, effect: &Effect) -> String {
        let claim = match instead_of {
            Conclusion::Better => format!("`{}` looks better on the runs that ended well", self.one.b),
            Conclusion::Worse => format!("`{}` looks better on the runs that ended well", self.one.a),
            _ => "the runs that ended well are equivalent".to_owned(),
        };
        format!(
            "No verdict: {claim} ({} is {}), but {}, and what fails more often is never called better or equivalent.",
            self.metric,
            change(effect.ratio),
            self.failures()
        )
    }

    fn not_decided(&self, effect: &Effect) -> String {
        let remedy = of_new_trial(self.one, self.margin, "pairs");
        format!(
            "Not told apart: {} under `{}` is {} than under `{}`, but the noise allows anything {} ({} interval, n = {} \
             pairs).{remedy}",
            self.metric,
            self.one.b,
            change(effect.ratio),
            self.one.a,
            range(&effect.interval, "from "),
            percent(1.0 - self.one.level),
            self.one.blocks
        )
    }

    fn equivalent(&self, effect: &Effect) -> String {
        let real = if self.one.real_but_below_margin {
            format!(
                " There is a real difference, but below your margin: {} is {} ({}).",
                self.metric,
                change(effect.ratio),
                self.at_level(self.one.level, &effect.interval)
            )
        } else {
            String::new()
        };
        format!(
            "`{}` and `{}` are equivalent: {} differs by less than {} ({}).{real}",
            self.one.b,
            self.one.a,
            self.metric,
            percent(self.margin),
            self.at_level(2.0 * self.one.level, &effect.interval_equivalence),
        )
    }

    /// "95 % interval 5.1 to 9.6 % lower, n = 10 pairs".
    fn at_level(&self, alpha: f64, interval: &Interval) -> String {
        format!("{} interval {}, n = {} pairs", percent(1.0 - alpha), range(interval, ""), self.one.blocks)
    }
}

/// An interval of a ratio: "5.1 to 9.6 % lower", or "from 1.2 % lower to 3.4 % higher" when it holds one. Both ends are in one unit.
fn range(interval: &Interval, from: &str) -> String {
    let ((low, low_word), (high, high_word)) = (side_of_one(interval.low), side_of_one(interval.high));
    if interval.high >= TENFOLD {
        return format!("{from}{} to {} times as high", multiple(interval.low), multiple(interval.high));
    }
    if low_word == high_word {
        let (near, far) = if low < high { (low, high) } else { (high, low) };
        let digits = decimals(&[near, far]);
        return format!("{from}{near:.digits$} to {far:.digits$} % {low_word}");
    }
    format!("{from}{} to {}", change(interval.low), change(interval.high))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_name_their_side_once_when_they_have_one() {
        assert_eq!(range(&Interval { low: 0.904, high: 0.949 }, ""), "5.1 to 9.6 % lower");
        assert_eq!(range(&Interval { low: 1.012, high: 1.034 }, ""), "1.2 to 3.4 % higher");
        assert_eq!(range(&Interval { low: 0.988, high: 1.034 }, ""), "1.2 % lower to 3.4 % higher");
        assert_eq!(range(&Interval { low: 0.9, high: 0.9999 }, ""), "0.01 to 10.00 % lower");
        assert_eq!(range(&Interval { low: 1.063, high: 3.5 }, ""), "6.3 to 250.0 % higher");
        assert_eq!(range(&Interval { low: 0.5, high: 20.0 }, "from "), "from 0.500 to 20.0 times as high");
    }
}

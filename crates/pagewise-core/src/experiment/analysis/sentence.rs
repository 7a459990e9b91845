//! The verdict in words: outcome first, then the numbers, rounded to what they can carry.

use super::effect::Found;
use super::pairs::{Side, Trial};
use super::verdict::{Concluded, Reason};
use super::{Conclusion, Interval, OutcomeTest, PairsNeeded, Question};
pub(super) use crate::comparison::words::p_value;
use crate::experiment::point::Outcome;
use crate::stats::power::MOST_PAIRS;

/// One or two sentences for a person.
pub(super) fn verdict(
    question: &Question,
    trial: &Trial,
    concluded: &Concluded,
    found: &Result<Found, String>,
    outcomes: &OutcomeTest,
    pairs_needed: Option<&PairsNeeded>,
) -> String {
    match (concluded.reason, found) {
        (Reason::Outcomes, _) => decided_by_outcomes(question, trial, concluded, outcomes),
        (_, Err(why)) => format!("No verdict: {why}."),
        (Reason::HeldBackByOutcomes { instead_of }, Ok(found)) => {
            held_back(question, trial, instead_of, found, outcomes)
        }
        (Reason::NotDecided | Reason::NoEffect, Ok(found)) => not_decided(question, found, pairs_needed),
        (Reason::Effect, Ok(found)) if concluded.word == Conclusion::Equivalent => {
            equivalent(question, found, concluded.real_but_below_margin)
        }
        (Reason::Effect, Ok(found)) => format!(
            "{}: {} is {} ({}).",
            judged(question, concluded.word),
            question.metric.name,
            change(found.effect.ratio),
            at_level(question.alpha, &found.effect.interval, found)
        ),
    }
}

/// "`always` is better than `never`".
fn judged(question: &Question, word: Conclusion) -> String {
    let word = if word == Conclusion::Better { "better" } else { "worse" };
    format!("`{}` is {word} than `{}`", question.b, question.a)
}

fn decided_by_outcomes(question: &Question, trial: &Trial, concluded: &Concluded, outcomes: &OutcomeTest) -> String {
    format!(
        "{}: {} (Fisher's exact test, p = {}). Failures are compared before times.",
        judged(question, concluded.word),
        failures(question, trial, outcomes),
        p_value(outcomes.p)
    )
}

/// "5 of 10 runs of `always` ended badly (4 oom, 1 timeout), against 0 of 10 of `never`".
fn failures(question: &Question, trial: &Trial, outcomes: &OutcomeTest) -> String {
    format!(
        "{} of {} runs of `{}` ended badly{}, against {} of {} of `{}`{}",
        outcomes.b_bad,
        outcomes.b_total,
        question.b,
        kinds(trial, Side::B),
        outcomes.a_bad,
        outcomes.a_total,
        question.a,
        kinds(trial, Side::A)
    )
}

/// " (4 oom, 1 timeout)", or nothing.
fn kinds(trial: &Trial, side: Side) -> String {
    let counts = trial.outcomes(side);
    let kinds: Vec<String> = Outcome::ALL
        .iter()
        .filter(|outcome| outcome.is_bad())
        .filter_map(|outcome| Some(format!("{} {}", counts.get(outcome.word())?, outcome.word())))
        .collect();
    if kinds.is_empty() { String::new() } else { format!(" ({})", kinds.join(", ")) }
}

fn held_back(
    question: &Question,
    trial: &Trial,
    instead_of: Conclusion,
    found: &Found,
    outcomes: &OutcomeTest,
) -> String {
    let claim = match instead_of {
        Conclusion::Better => format!("`{}` looks better on the runs that ended well", question.b),
        Conclusion::Worse => format!("`{}` looks better on the runs that ended well", question.a),
        _ => "the runs that ended well are equivalent".to_owned(),
    };
    format!(
        "No verdict: {claim} ({} is {}), but {}, and what fails more often is never called better or equivalent.",
        question.metric.name,
        change(found.effect.ratio),
        failures(question, trial, outcomes)
    )
}

fn not_decided(question: &Question, found: &Found, pairs_needed: Option<&PairsNeeded>) -> String {
    let remedy = match pairs_needed {
        None => String::new(),
        Some(needed) if needed.pairs >= MOST_PAIRS => format!(
            " This noise is too large: even {MOST_PAIRS} pairs would not show a difference of {}.",
            percent(needed.difference)
        ),
        Some(needed) => format!(
            " A new trial needs {} pairs to see a difference of {} nine times in ten.",
            needed.pairs,
            percent(needed.difference)
        ),
    };
    format!(
        "No difference found: {} under `{}` is {} than under `{}`, but the noise allows anything {} ({}).{remedy}",
        question.metric.name,
        question.b,
        change(found.effect.ratio),
        question.a,
        range(&found.effect.interval, "from "),
        level_and_pairs(question.alpha, found),
    )
}

fn equivalent(question: &Question, found: &Found, real_but_below_margin: bool) -> String {
    let real = if real_but_below_margin {
        format!(
            " There is a real difference, but below your margin: {} is {} ({}).",
            question.metric.name,
            change(found.effect.ratio),
            at_level(question.alpha, &found.effect.interval, found)
        )
    } else {
        String::new()
    };
    format!(
        "`{}` and `{}` are equivalent: {} differs by less than {} ({}).{real}",
        question.b,
        question.a,
        question.metric.name,
        percent(question.margin),
        at_level(2.0 * question.alpha, &found.effect.interval_equivalence, found),
    )
}

/// "95 % interval 5.1 to 9.6 % lower, n = 10 pairs".
fn at_level(alpha: f64, interval: &Interval, found: &Found) -> String {
    format!("{} % interval {}, n = {} pairs", level(alpha), range(interval, ""), found.differences.len())
}

fn level_and_pairs(alpha: f64, found: &Found) -> String {
    format!("{} % interval, n = {} pairs", level(alpha), found.differences.len())
}

/// The level of an interval in percent, without the digits that 1 − 0.05 leaves behind.
fn level(alpha: f64) -> f64 {
    ((1.0 - alpha) * 1e6).round() / 1e4
}

/// A ratio as a person says it: "7.4 % lower", "2.3 times as high".
pub(super) fn change(ratio: f64) -> String {
    if ratio >= 2.0 {
        return format!("{ratio:.1} times as high");
    }
    let (percent, word) = side_of_one(ratio);
    if percent == 0.0 {
        return "the same".to_owned();
    }
    format!("{percent:.*} % {word}", decimals(&[percent]))
}

/// An interval of a ratio: "5.1 to 9.6 % lower", or "from 1.2 % lower to 3.4 % higher" when it holds one.
fn range(interval: &Interval, from: &str) -> String {
    let ((low, low_word), (high, high_word)) = (side_of_one(interval.low), side_of_one(interval.high));
    if low_word == high_word && interval.high < 2.0 {
        let (near, far) = if low < high { (low, high) } else { (high, low) };
        let digits = decimals(&[near, far]);
        return format!("{from}{near:.digits$} to {far:.digits$} % {low_word}");
    }
    format!("{from}{} to {}", change(interval.low), change(interval.high))
}

/// How far a ratio is from one, in percent, and on which side.
fn side_of_one(ratio: f64) -> (f64, &'static str) {
    if ratio < 1.0 { ((1.0 - ratio) * 100.0, "lower") } else { ((ratio - 1.0) * 100.0, "higher") }
}

/// Enough digits after the point that no end of an interval is rounded to zero, one at least, four at most.
fn decimals(percents: &[f64]) -> usize {
    let smallest = percents.iter().copied().filter(|percent| *percent > 0.0).fold(f64::INFINITY, f64::min);
    match smallest {
        s if s >= 0.05 => 1,
        s if s >= 0.005 => 2,
        s if s >= 0.0005 => 3,
        _ => 4,
    }
}

/// A fraction as a percentage without needless zeros: "2 %", "0.5 %".
pub(super) fn percent(fraction: f64) -> String {
    format!("{} %", (fraction * 1e6).round() / 1e4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_read_as_people_say_them() {
        for (ratio, words) in [
            (0.926, "7.4 % lower"),
            (1.05, "5.0 % higher"),
            (2.31, "2.3 times as high"),
            (1.0, "the same"),
            (1.0002, "0.02 % higher"),
        ] {
            assert_eq!(change(ratio), words);
        }
    }

    #[test]
    fn intervals_name_their_side_once_when_they_have_one() {
        assert_eq!(range(&Interval { low: 0.904, high: 0.949 }, ""), "5.1 to 9.6 % lower");
        assert_eq!(range(&Interval { low: 1.012, high: 1.034 }, ""), "1.2 to 3.4 % higher");
        assert_eq!(range(&Interval { low: 0.988, high: 1.034 }, ""), "1.2 % lower to 3.4 % higher");
        assert_eq!(range(&Interval { low: 0.9, high: 0.9999 }, ""), "0.01 to 10.00 % lower");
    }

    #[test]
    fn levels_and_margins_have_no_stray_digits() {
        assert_eq!((level(0.05), level(0.1)), (95.0, 90.0));
        assert_eq!((percent(0.02), percent(0.005)), ("2 %".to_owned(), "0.5 %".to_owned()));
    }
}

//! A comparison in words: outcome first, then the numbers, rounded to what they can carry.

use super::estimate::Design;
use super::found::{Comparison, Effect, Interval, JudgedMetric};
use super::ratio::{TENFOLD, change, multiple};
use super::rule::{Conclusion, Reason};
use super::words::{of_new_trial, p_value, percent};

/// Two levels of another factor, under which a contrast is compared with itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Step<'s> {
    /// The other factor.
    pub(crate) factor: &'s str,
    /// The level that is the base.
    pub(crate) a: &'s str,
    /// The level that is judged.
    pub(crate) b: &'s str,
}

/// One or two sentences for a person; `other` of an interaction.
pub(crate) fn verdict(
    comparison: &Comparison,
    metric: &JudgedMetric,
    reason: Reason,
    other: Option<Step<'_>>,
) -> String {
    let place = place(comparison, other);
    if let (Some(other), Some(effect)) = (other, &comparison.effect)
        && matches!(reason, Reason::NotDecided | Reason::Effect)
        && matches!(comparison.conclusion, Conclusion::Inconclusive | Conclusion::Equivalent)
    {
        return same_step(comparison, metric, other, effect);
    }
    match (reason, &comparison.effect) {
        (Reason::Outcomes, _) => {
            let outcomes = &comparison.outcomes;
            format!(
                "{}{place}: {} of {} runs of `{}` ended badly, against {} of {} of `{}` (Fisher's exact test, p = {}). \
                 Failures are compared before times.",
                judged(comparison, other),
                outcomes.b_bad,
                outcomes.b_total,
                comparison.b,
                outcomes.a_bad,
                outcomes.a_total,
                comparison.a,
                p_value(outcomes.p)
            )
        }
        (_, None) => {
            let why = comparison.no_effect_because.as_deref().unwrap_or("nothing was measured");
            format!("No verdict on `{}` against `{}`{place}: {why}.", comparison.b, comparison.a)
        }
        (Reason::HeldBackByOutcomes { .. }, Some(effect)) => format!(
            "No verdict on `{}` against `{}`{place}: {} is {}, but the level that this favours has more failed runs, and the \
             times of its survivors say nothing about those.",
            comparison.b,
            comparison.a,
            metric.metric.name,
            change(effect.ratio)
        ),
        (Reason::Effect, Some(effect)) if comparison.conclusion == Conclusion::Equivalent => format!(
            "`{}` and `{}` are equivalent in {}{place}: the difference lies between {} ({}), inside ±{}{}.",
            comparison.a,
            comparison.b,
            metric.metric.name,
            span(&effect.interval_equivalence, "and"),
            interval(effect, 2.0 * comparison.level),
            percent(metric.margin),
            if comparison.real_but_below_margin { "; it is real, but below the margin" } else { "" }
        ),
        (Reason::Effect, Some(effect)) => format!(
            "{}{place}: {} is {} ({}: {}; {}).{}",
            judged(comparison, other),
            metric.metric.name,
            change(effect.ratio),
            interval(effect, comparison.level),
            span(&effect.interval, "to"),
            samples(comparison),
            by_means(comparison, metric, effect)
        ),
        (Reason::NotDecided | Reason::NoEffect, Some(effect)) => {
            let next = of_new_trial(comparison, metric.margin, "blocks");
            let by_means = by_means(comparison, metric, effect);
            format!(
                "`{}` and `{}` are not told apart in {}{place}: {} ({}: {}; {}).{by_means}{next}",
                comparison.a,
                comparison.b,
                metric.metric.name,
                change(effect.ratio),
                interval(effect, comparison.level),
                span(&effect.interval, "to"),
                samples(comparison)
            )
        }
    }
}

/// That the means of the levels, which every reader compares, say the opposite of the ratio, where they do by more than the margin.
fn by_means(comparison: &Comparison, metric: &JudgedMetric, effect: &Effect) -> String {
    let means = comparison.a_values.mean.zip(comparison.b_values.mean).filter(|(a, b)| *a > 0.0 && *b > 0.0);
    let Some(ratio) = means.map(|(a, b)| b / a) else { return String::new() };
    let is_other = (ratio - 1.0) * (effect.ratio - 1.0) < 0.0 && (ratio - 1.0).abs() > metric.margin;
    if is_other { format!(" The plain means lie the other way ({}).", change(ratio)) } else { String::new() }
}

/// No difference between two steps, or one inside the margin.
fn same_step(comparison: &Comparison, metric: &JudgedMetric, other: Step<'_>, effect: &Effect) -> String {
    let levels: Vec<String> = comparison.by.iter().map(|(factor, level)| format!(", {factor} {level}")).collect();
    let step = format!(
        "the step from `{}` to `{}` under {} {} and under {}{}",
        comparison.a,
        comparison.b,
        other.factor,
        other.a,
        other.b,
        levels.concat()
    );
    let name = &metric.metric.name;
    if comparison.conclusion == Conclusion::Equivalent {
        let (interval, margin) = (interval(effect, 2.0 * comparison.level), percent(metric.margin));
        let span = span(&effect.interval_equivalence, "and");
        return format!("Equivalent in {name}: {step} differ by between {span} ({interval}), inside ±{margin}.");
    }
    format!(
        "Not told apart in {name}: {step}; the second is {} ({}: {}; {}).",
        change(effect.ratio),
        interval(effect, comparison.level),
        span(&effect.interval, "to"),
        samples(comparison)
    )
}

/// `12 blocks`, `10 and 9 values`: what the estimate is of.
fn samples(comparison: &Comparison) -> String {
    match comparison.method {
        Design::Pairs => format!("{} pairs", comparison.blocks),
        Design::Blocks | Design::MixedModel => format!("{} blocks", comparison.blocks),
        Design::Independent => format!("{} and {} values", comparison.a_values.n, comparison.b_values.n),
    }
}

fn judged(comparison: &Comparison, other: Option<Step<'_>>) -> String {
    let word = if comparison.conclusion == Conclusion::Better { "better" } else { "worse" };
    match other {
        Some(_) => format!("The step from `{}` to `{}` does {word}", comparison.a, comparison.b),
        None => format!("`{}` is {word} than `{}`", comparison.b, comparison.a),
    }
}

/// " with swap on, load high", or nothing; for an interaction between which levels the step is compared.
fn place(comparison: &Comparison, other: Option<Step<'_>>) -> String {
    let levels: Vec<String> = comparison.by.iter().map(|(factor, level)| format!("{factor} {level}")).collect();
    let with = if levels.is_empty() { String::new() } else { format!(" with {}", levels.join(", ")) };
    match other {
        Some(other) => format!("{with} under {} {} than under {}", other.factor, other.b, other.a),
        None => with,
    }
}

/// Both ends of an interval, with the word that its sentence has between them: `−4.6 to +0.9 %`, "between −2 and +1 %".
fn span(interval: &Interval, word: &str) -> String {
    if interval.high >= TENFOLD {
        return format!("×{} {word} ×{}", multiple(interval.low), multiple(interval.high));
    }
    let signed = |ratio: f64| {
        let percents = (ratio - 1.0) * 100.0;
        let rounded = format!("{:.1}", percents.abs());
        let sign = if rounded == "0.0" {
            ""
        } else if percents < 0.0 {
            "−"
        } else {
            "+"
        };
        format!("{sign}{rounded}")
    };
    format!("{} {word} {} %", signed(interval.low), signed(interval.high))
}

/// `95 % interval`, or `95 % confidence sequence`: which of the two it is decides what may be done with it.
fn interval(effect: &Effect, alpha: f64) -> String {
    let kind = if effect.evidence.is_some() { "confidence sequence" } else { "interval" };
    format!("{} {kind}", percent(1.0 - alpha))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_of_an_interval_are_in_one_unit() {
        assert_eq!(span(&Interval { low: 0.9, high: 1.1 }, "and"), "−10.0 and +10.0 %");
        assert_eq!(span(&Interval { low: 1e-7, high: 971_883.146 }, "to"), "×0 to ×971,883");
        assert_eq!(span(&Interval { low: 0.5, high: 20.0 }, "to"), "×0.500 to ×20.0");
    }
}

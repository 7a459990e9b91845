//! The table of all findings in `docs/reference/findings.md`, made from the rules.

use super::document::Compare;
use super::rule::{Origin, Rule, SettingTarget, Step};
use super::rules;
use super::words;
use crate::spelling::capitalised;

/// The page's text.
#[must_use]
pub fn page() -> String {
    let sections: String = rules::ALL.iter().map(|rule| section(rule)).collect();
    format!("{HEAD}{sections}")
}

const HEAD: &str = "# Findings\n\n\
    Made from the rules in `crates/pagewise-core/src/finding/rules/`; a test compares. `pagewise diagnose` asks all of \
    them. Why they are as they are: [design note 11](../design/0011-findings.md). The document that `--json` writes: \
    [findings.schema.json](findings.schema.json).\n\n\
    A recording is cut into windows of ten seconds. A threshold is *documented*, with the place, or *ours*: proposed here. \
    Confidence is high when two kinds of evidence show the mechanism by themselves and none speaks against it. What is \
    not recorded is never taken for zero.\n";

fn section(rule: &Rule) -> String {
    let mut text = format!("\n## `{}`\n\n{}. {}\n", rule.id, rule.title, rule.meaning);
    if !rule.thresholds.is_empty() {
        text.push_str("\n| held against | threshold | origin |\n| --- | --- | --- |\n");
        for threshold in rule.thresholds {
            let sign = match threshold.compare {
                Compare::AtLeast => "at least",
                Compare::Above => "above",
                Compare::Below => "below",
            };
            let origin = match threshold.origin {
                Origin::Documented(place) => format!("documented: {place}"),
                Origin::Ours => "ours".to_owned(),
            };
            let value = words::quantity(threshold.value, threshold.unit);
            text.push_str(&format!("| {} | {sign} {value} | {origin} |\n", threshold.name));
        }
    }
    text.push('\n');
    let mut row = |label: &str, value: String| text.push_str(&format!("- {label}: {value}\n"));
    row("lasts", lasts(rule));
    let tiers: Vec<&str> = rule.tiers.iter().map(|tier| tier.word()).collect();
    row("shown by", tiers.join(", "));
    if !rule.needs.is_empty() {
        let needs: Vec<String> = rule.needs.iter().map(|signal| format!("`{}`", signal.label())).collect();
        row("reads", needs.join(", "));
    }
    text.push_str("\nChanges, the smallest first:\n\n");
    for (place, step) in rule.changes.iter().enumerate() {
        text.push_str(&format!("{}. {}\n", place + 1, step_words(step)));
    }
    if !rule.counterindications.is_empty() {
        text.push('\n');
        rule.counterindications.iter().for_each(|words| text.push_str(&format!("Watch out: {words}\n")));
    }
    if !rule.docs.is_empty() {
        text.push_str(&format!("\nRead: {}.\n", rule.docs.join("; ")));
    }
    text
}

fn lasts(rule: &Rule) -> String {
    match (rule.lasts > 0.0, rule.may_be_shorter) {
        (false, _) => "any time".to_owned(),
        (true, true) => format!("{}, or all of a shorter recording of a window at least", words::seconds(rule.lasts)),
        (true, false) => {
            format!("{}, or half of a shorter listing; a shorter recording does not decide", words::seconds(rule.lasts))
        }
    }
}

fn step_words(step: &Step) -> String {
    let when = step.only_when.map_or_else(String::new, |when| format!(" Only {}.", when.words));
    let to = match step.to {
        SettingTarget::Advice => return format!("{}.{when}", capitalised(step.why)),
        SettingTarget::HugePages => return format!("`pagewise hugepages`: {}.{when}", step.why),
        SettingTarget::Guard => return format!("`pagewise guard run`: {}.{when}", step.why),
        SettingTarget::First(_) | SettingTarget::Worked(..) => value_words(step.to).unwrap_or_default(),
    };
    let from =
        if step.only_from.is_empty() { String::new() } else { format!(" (from {})", step.only_from.join(" or ")) };
    let with = step.with.iter().filter_map(|(tunable, to)| Some(format!(" with `{tunable}` to {}", value_words(*to)?)));
    let with: String = with.collect();
    let restart = if step.restart { "; start the job anew" } else { "" };
    format!("`{}` to {to}{from}{with}: {}{restart}.{when}", step.tunable, step.why)
}

/// `None` for what sets nothing.
fn value_words(to: SettingTarget) -> Option<String> {
    match to {
        SettingTarget::First(values) => {
            Some(values.iter().map(|value| format!("`{value}`")).collect::<Vec<String>>().join(" or "))
        }
        SettingTarget::Worked(_, words) => Some(words.to_owned()),
        SettingTarget::HugePages | SettingTarget::Guard | SettingTarget::Advice => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tunable::find;

    #[test]
    fn every_rule_stands_in_the_reference_once() {
        let page = page();
        for rule in rules::ALL {
            assert_eq!(page.matches(&format!("## `{}`\n", rule.id)).count(), 1, "{}", rule.id);
        }
    }

    #[test]
    fn what_a_rule_declares_exists() {
        for rule in rules::ALL {
            let steps = rule.changes.iter().filter(|step| !step.tunable.is_empty());
            for (tunable, to) in steps.flat_map(|step| step.with.iter().copied().chain([(step.tunable, step.to)])) {
                let found = find(tunable).unwrap_or_else(|error| panic!("{}: {error}", rule.id));
                if let SettingTarget::First(values) = to {
                    for value in values {
                        assert!(found.canonical(value).is_ok(), "{}: {tunable}={value}", rule.id);
                    }
                }
            }
            for rival in rule.rivals {
                assert!(rules::ALL.iter().any(|other| other.id == *rival), "{} names {rival}", rule.id);
            }
            let mut names: Vec<&str> = rule.thresholds.iter().map(|threshold| threshold.name).collect();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), rule.thresholds.len(), "{}: a threshold stands twice", rule.id);
        }
    }
}

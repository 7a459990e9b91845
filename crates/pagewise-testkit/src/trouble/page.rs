//! `docs/method/pathologies.md`: what is made and how, what was found of it, and what cannot be made.

use super::judge::{Count, Result, Row, Set, alarms, count};
use super::{HEALTHY, NOT_MADE, Severity, TROUBLES};
use pagewise_core::spelling::capitalised;
use std::fmt::Write;

const SEVERITIES: [Severity; 3] = [Severity::Mild, Severity::Middle, Severity::Severe];

/// What is generated: from the generators themselves, and from a result where there is one.
#[must_use]
pub fn tables(result: Option<&Result>) -> String {
    let mut out = String::new();
    found(&mut out, result);
    made(&mut out);
    not_made(&mut out);
    out
}

fn found(out: &mut String, result: Option<&Result>) {
    out.push_str("## What was found\n\n");
    let Some(result) = result else {
        out.push_str("No result is committed yet.\n\n");
        return;
    };
    let _ = writeln!(
        out,
        "Rules of commit {}, {}. Of the recordings in which the trouble really happened, in how many it was \
         found; *calibration / test*, a dash where there is none. *Beside*: what else was found, in how many.\n",
        result.commit, result.date
    );
    hosts(out, &result.rows);
    out.push_str("| pathology | mild | middle | severe | beside |\n| --- | --- | --- | --- | --- |\n");
    for trouble in TROUBLES {
        let cells: Vec<String> = SEVERITIES.iter().map(|severity| cell(&result.rows, trouble.id, *severity)).collect();
        let beside = beside(&result.rows, trouble.id);
        let _ = writeln!(out, "| `{}` | {} | {beside} |", trouble.id, cells.join(" | "));
    }
    out.push_str("\nFalse alarms on healthy loads:\n\n| load | minutes | false alarms | an hour |\n");
    out.push_str("| --- | --- | --- | --- |\n");
    for (name, id) in HEALTHY.iter().map(|load| (load.id, Some(load.id))).chain([("all", None)]) {
        let alarms = alarms(&result.rows, id, None);
        let number: u32 = alarms.by_id.values().sum();
        let which: Vec<String> = alarms.by_id.iter().map(|(id, times)| format!("{id} × {times}")).collect();
        let which = if which.is_empty() { "none".to_owned() } else { which.join(", ") };
        let rate =
            if alarms.hours > 0.0 { format!("{:.1}", f64::from(number) / alarms.hours) } else { "–".to_owned() };
        let _ = writeln!(out, "| {name} | {:.1} | {which} | {rate} |", alarms.hours * 60.0);
    }
    out.push('\n');
}

fn hosts(out: &mut String, rows: &[Row]) {
    out.push_str("| host | kernel | day | set | recordings |\n| --- | --- | --- | --- | --- |\n");
    let mut hosts = std::collections::BTreeMap::new();
    for row in rows {
        let kernel = row.kernel.as_deref().unwrap_or("unknown");
        *hosts.entry((row.set, &row.label.host, kernel, &row.label.day)).or_insert(0u32) += 1;
    }
    for ((set, host, kernel, day), count) in hosts {
        let _ = writeln!(out, "| {host} | {kernel} | {day} | {} | {count} |", set.word());
    }
    out.push('\n');
}

fn cell(rows: &[Row], id: &str, severity: Severity) -> String {
    let of = |set| {
        let count = count(rows, id, severity, Some(set));
        let undecided =
            if count.not_decided > 0 { format!(", {} not decided", count.not_decided) } else { String::new() };
        match count {
            Count { made: 0, not_made: 0, .. } => "–".to_owned(),
            Count { made: 0, .. } => "not made".to_owned(),
            Count { made, found, .. } => format!("{found} of {made}{undecided}"),
        }
    };
    format!("{} / {}", of(Set::Calibration), of(Set::Test))
}

fn beside(rows: &[Row], id: &str) -> String {
    let mut all = std::collections::BTreeMap::new();
    for severity in SEVERITIES {
        for (id, times) in count(rows, id, severity, None).beside {
            *all.entry(id).or_insert(0) += times;
        }
    }
    let words: Vec<String> = all.iter().map(|(id, times)| format!("{id} × {times}")).collect();
    if words.is_empty() { "–".to_owned() } else { words.join(", ") }
}

fn made(out: &mut String) {
    out.push_str("## What is made, and how\n\n");
    for trouble in TROUBLES {
        let _ = writeln!(out, "**`{}`** ({} s). {}.", trouble.id, trouble.seconds, sentence(trouble.what));
        for severity in SEVERITIES {
            let _ = writeln!(out, "- {severity}: {}", trouble.dose(severity).does);
        }
        let policies: std::collections::BTreeSet<&str> =
            trouble.doses.iter().map(|dose| dose.policy).filter(|policy| !policy.is_empty()).collect();
        for policy in policies {
            let _ = writeln!(out, "- under `{policy}`");
        }
        out.push('\n');
    }
    out.push_str("Healthy loads:\n\n");
    for load in HEALTHY {
        let _ = writeln!(out, "- **{}** ({} s): {}; {}", load.id, load.seconds, load.what, load.doses[0].does);
    }
    out.push('\n');
}

/// Names of tunables keep their small letters.
fn sentence(text: &str) -> String {
    if text.split(' ').next().is_some_and(|word| word.contains('.')) {
        return text.to_owned();
    }
    capitalised(text)
}

fn not_made(out: &mut String) {
    out.push_str("## What is not made\n\n");
    for (id, why) in NOT_MADE {
        let _ = writeln!(out, "- `{id}`: {why}");
    }
}

//! Functions whose share of CPU time differs between two arms, in words and a table.

use super::content::Table;
use super::number;
use super::printable::printable;
use crate::experiment::analysis::Interval;
use crate::experiment::stacks::{FunctionContrast, LEAST_SHARE, StackContrast, StackSide};
use serde::Serialize;

/// Longest name of a function in a table; the JSON has all of it.
const LONGEST_NAME: usize = 56;

/// What is said of a contrast.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Functions {
    /// What was sampled.
    pub(super) said: String,
    pub(super) table: Table,
    /// What the table holds, or why it is empty.
    pub(super) note: String,
}

impl Functions {
    /// The arms are called `a` and `b`, what is compared inside is called `blocks`; at most so many functions are listed.
    pub(super) fn of(stacks: &StackContrast, (a, b): (&str, &str), blocks: &str, alpha: f64, most: usize) -> Functions {
        let interval = format!("{} interval", number::percent(1.0 - alpha));
        let head = ["function, with all it calls", a, b, "change, points", &interval, "q"];
        Functions {
            said: said(stacks, a, b),
            table: Table {
                head: head.map(str::to_owned).to_vec(),
                rows: stacks.functions.iter().take(most).map(row).collect(),
            },
            note: note(stacks, blocks, most),
        }
    }

    /// The same with every text changed by `change`.
    pub(super) fn map(&mut self, change: impl Fn(&str) -> String) {
        let texts = self.table.head.iter_mut().chain(self.table.rows.iter_mut().flatten());
        texts.chain([&mut self.said, &mut self.note]).for_each(|text| *text = change(text));
    }
}

fn row(function: &FunctionContrast) -> Vec<String> {
    let share = |share: f64| number::with_unit(share, "fraction");
    let Interval { low, high } = function.interval;
    vec![
        name(function),
        share(function.a_share),
        share(function.b_share),
        points(function.difference),
        format!("{} to {}", points(low), points(high)),
        number::p_value(function.q),
    ]
}

/// `compact_zone`, and what it belongs to where that is not the kernel.
fn name(function: &FunctionContrast) -> String {
    let mut short: String = function.name.chars().take(LONGEST_NAME).collect();
    if short.len() < function.name.len() {
        short.push('…');
    }
    let is_kernel = function.module.is_empty() || function.module.starts_with("[kernel");
    let module: String = function.module.chars().take(LONGEST_NAME).collect();
    printable(&if is_kernel { short } else { format!("{short} ({module})") })
}

/// A difference of shares in percentage points.
fn points(difference: f64) -> String {
    let text = number::significant(difference * 100.0, 3);
    if difference > 0.0 { format!("+{text}") } else { text }
}

fn said(stacks: &StackContrast, a: &str, b: &str) -> String {
    let side = |name: &str, side: &StackSide| {
        format!("{name}: {} runs, {} samples", side.runs, number::count(side.samples as f64))
    };
    let busy = |side: &StackSide| number::significant(side.busy, 3);
    let event = stacks.event.as_ref().map_or_else(String::new, |event| format!("{}, ", printable(event)));
    let mut said = format!(
        "Stacks ({event}{} times a second and CPU). {}. {}. CPUs that were busy on average: {} and {}.",
        number::count(stacks.hz),
        side(a, &stacks.a),
        side(b, &stacks.b),
        busy(&stacks.a),
        busy(&stacks.b)
    );
    if let (Some(of_a), Some(of_b)) = (stacks.a.recorder, stacks.b.recorder) {
        said.push_str(&format!(
            " The recorder itself took {} and {} of one core.",
            number::with_unit(of_a, "fraction"),
            number::with_unit(of_b, "fraction")
        ));
    }
    if stacks.without > 0 {
        let because = stacks.without_because.as_deref().map_or_else(String::new, |why| format!(": {}", printable(why)));
        let have = if stacks.without == 1 { "run has" } else { "runs have" };
        said.push_str(&format!(" {} good {have} no stacks{because}.", stacks.without));
    }
    said
}

fn note(stacks: &StackContrast, blocks: &str, most: usize) -> String {
    if let Some(why) = &stacks.no_functions_because {
        return format!("No function was compared: {}.", printable(why));
    }
    let (found, compared) = (stacks.functions_found, stacks.functions_compared);
    let shown = stacks.functions.len().min(most);
    let rest = format!("{} {blocks}; a share is of the samples of a run, and a run is one observation", stacks.blocks);
    match found {
        0 if compared == 0 => {
            let least = number::significant(LEAST_SHARE * 100.0, 1);
            format!("No function had {least} % of the samples, so none was compared.")
        }
        0 => format!("None of the {compared} functions compared stands out ({rest})."),
        found if found as usize > shown => {
            format!(
                "The {shown} that differ most of {found} that stand out, of {compared} functions compared ({rest})."
            )
        }
        found => format!("{found} of {compared} functions compared stand out, those that differ most first ({rest})."),
    }
}

/// How the numbers were made, for a reader who knows no statistics.
pub(super) const METHOD: &str = "Functions: in each run the share of the samples in whose stack a function stands. Shares are \
                                 compared between runs as kernel counters are, and q is the share of false entries to expect \
                                 in the whole list (Benjamini and Hochberg). Shares add up to one: where one function takes \
                                 more, the others take less.";

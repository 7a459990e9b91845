//! The table of all tunables in `docs/reference/tunables.md`, made from the descriptors.

use super::descriptor::{Descriptor, Scope, Switching, Wait};
use crate::spelling::capitalised;

/// The page's text.
#[must_use]
pub fn page() -> String {
    let sections: String = super::all().map(section).collect();
    format!("{HEAD}{sections}")
}

const HEAD: &str = "# Tunables\n\n\
    Made from the descriptors in `crates/pagewise-core/src/tunable/`; a test compares. What this host has, and its \
    values now: `pagewise show`.\n\n\
    Cost: *live* acts at once, *job* with the job's next start, *boot* with the next boot of the host.\n\n\
    While a job runs: how long `pagewise prove --live` waits after a switch, first until the new value acts, then until what the \
    old one left has faded. These times are ours; `--settle` and `--washout` overrule them.\n";

fn section(tunable: &Descriptor) -> String {
    let mut text = format!("\n## `{}`\n\n{}.\n\n", tunable.name, capitalised(tunable.summary));
    let scope = match tunable.scope {
        Scope::Host => "host",
        Scope::Job => "the job alone",
    };
    let mut row = |label: &str, value: String| text.push_str(&format!("- {label}: {value}\n"));
    row("values", tunable.grammar.allowed());
    row("cost", format!("{}; scope: {scope}", tunable.cost.word()));
    if !tunable.paths.is_empty() {
        let paths: Vec<String> = tunable.paths.iter().map(|path| format!("`{path}`")).collect();
        row("file", paths.join(", or "));
    }
    if let Some(unheld) = tunable.unheld {
        row(
            "held",
            format!("by a process of Pagewise, which ends with the change that set it; without one it is `{unheld}`"),
        );
    }
    if let Some(ceiling) = tunable.ceiling {
        row("ceiling", ceiling.told());
    }
    if !tunable.coupled.is_empty() {
        let names: Vec<String> = tunable.coupled.iter().map(|name| format!("`{name}`")).collect();
        row("the kernel also moves", names.join(", "));
    }
    row("while a job runs", switching(tunable.switching));
    if !tunable.note.is_empty() {
        row("note", tunable.note.to_owned());
    }
    row("source", tunable.source.to_owned());
    text
}

/// Whether and how `prove --live` switches it.
fn switching(switching: Switching) -> String {
    let waits = |wait: Wait| format!("settle {} s, wash-out {} s: {}", wait.settle, wait.washout, wait.reason);
    match switching {
        Switching::Live(wait) => waits(wait),
        Switching::NewOnly(wait) => format!("only with `--short-lived`; {}", waits(wait)),
        Switching::Never(reason) => format!("not switched: it {reason}"),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_tunable_says_whether_it_can_be_switched_under_a_running_job_and_why() {
        for descriptor in super::super::all() {
            let reason = match descriptor.switching {
                super::Switching::Live(wait) | super::Switching::NewOnly(wait) => {
                    assert!(wait.settle >= 0.0 && wait.washout >= 0.0, "{}", descriptor.name);
                    wait.reason
                }
                super::Switching::Never(reason) => reason,
            };
            assert!(reason.len() > 10, "{} gives no reason", descriptor.name);
        }
    }

    #[test]
    fn every_tunable_stands_in_the_reference_once() {
        let page = super::page();
        for descriptor in super::super::all() {
            assert_eq!(page.matches(&format!("## `{}`\n", descriptor.name)).count(), 1, "{}", descriptor.name);
        }
    }
}

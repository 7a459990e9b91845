//! The table of all tunables in `docs/reference/tunables.md`, made from the descriptors.

use super::descriptor::{Descriptor, Scope};

/// The page's text.
#[must_use]
pub fn page() -> String {
    let sections: String = super::all().map(section).collect();
    format!("{HEAD}{sections}")
}

const HEAD: &str = "# Tunables\n\n\
    Made from the descriptors in `crates/pagewise-core/src/tunable/`; a test compares. What this host has, and its \
    values now: `pagewise show`.\n\n\
    Cost: *live* acts at once, *job* with the job's next start, *boot* with the next boot of the host.\n";

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
    if let Some(ceiling) = tunable.ceiling {
        let percent = ceiling.share_of_memory * 100.0;
        row("ceiling", format!("{percent:.0} % of memory: {}", ceiling.reason));
    }
    if !tunable.coupled.is_empty() {
        let names: Vec<String> = tunable.coupled.iter().map(|name| format!("`{name}`")).collect();
        row("the kernel also moves", names.join(", "));
    }
    if !tunable.note.is_empty() {
        row("note", tunable.note.to_owned());
    }
    row("source", tunable.source.to_owned());
    text
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_tunable_stands_in_the_reference_once() {
        let page = super::page();
        for descriptor in super::super::all() {
            assert_eq!(page.matches(&format!("## `{}`\n", descriptor.name)).count(), 1, "{}", descriptor.name);
        }
    }
}

//! `pagewise show`: every tunable with its value here, what may be written, and what it moves along.

use crate::cli::Global;
use crate::failure::Failure;
use crate::output;
use pagewise_core::tunable::{CostClass, Scope};
use pagewise_host::tunable::{Listed, TunableError, list};
use schemars::JsonSchema;
use serde::Serialize;
use std::process::ExitCode;

/// Show tunables: values now, what may be written, what switching takes
#[derive(clap::Args, Debug)]
pub(crate) struct ShowArgs {
    /// A tunable such as thp.enabled, a pattern such as 'mthp[*].*', or a family such as vm [default: what is here]
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// List also what this host lacks, with the reason, and what acts on a job alone
    #[arg(long)]
    all: bool,
}

/// Identifies the JSON.
pub(crate) const SCHEMA: &str = "pagewise.tunables/1";

/// What `show --json` gives.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Tunables {
    schema: &'static str,
    tunables: Vec<Entry>,
}

/// One tunable.
#[derive(Debug, Serialize, JsonSchema)]
struct Entry {
    /// Its name; a pattern such as `env.NAME` when its instances cannot be listed.
    name: String,
    /// Its value now, as a policy would write it; null with `why_absent` when it cannot be told.
    value: Option<String>,
    /// Why there is no value: the kernel lacks it, it may not be read, or it has none on a host.
    #[serde(skip_serializing_if = "Option::is_none")]
    why_absent: Option<String>,
    /// What may be written.
    allowed: String,
    /// What switching it takes.
    cost: CostClass,
    /// What it acts on.
    scope: Scope,
    /// Tunables the kernel may move by itself when this one is written.
    coupled: Vec<String>,
    /// What it does.
    summary: String,
    /// What to know before writing it; null when there is nothing.
    note: Option<String>,
    /// Since which kernel, and where in its source.
    source: String,
}

pub(crate) fn run(args: &ShowArgs, global: &Global) -> Result<ExitCode, Failure> {
    if let Some(folder) = global.root.as_ref().filter(|folder| !folder.is_dir()) {
        let text = format!("--root {} is not a folder; give one that holds proc/ and sys/", folder.display());
        return Err(Failure::Usage(anyhow::anyhow!(text)));
    }
    let root = global.root();
    let listed = match args.names.as_slice() {
        [] => list(&root),
        names => {
            let mut chosen = Vec::new();
            for name in names {
                chosen.extend(choose(&root, name)?);
            }
            chosen
        }
    };
    let is_here = |listed: &Listed| listed.value.as_ref().is_some_and(Result::is_ok);
    let asked_for = args.all || !args.names.is_empty();
    let shown: Vec<Listed> = listed.into_iter().filter(|listed| asked_for || is_here(listed)).collect();
    if global.json {
        output::json(&Tunables { schema: SCHEMA, tunables: shown.iter().map(entry).collect() });
    } else if let ([listed], false) = (shown.as_slice(), args.all) {
        output::data(&one(listed));
    } else {
        output::data(&table(&shown));
        if !asked_for {
            output::note("What this host lacks and what acts on a job alone: pagewise show --all");
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// What a name, a pattern or a family means here.
fn choose(root: &pagewise_host::root::Root, name: &str) -> Result<Vec<Listed>, Failure> {
    match Listed::one(root, name) {
        Ok(listed) => return Ok(vec![listed]),
        Err(error) => {
            let matching: Vec<Listed> = list(root).into_iter().filter(|listed| is_meant(name, listed)).collect();
            if matching.is_empty() { Err(Failure::Usage(error.into())) } else { Ok(matching) }
        }
    }
}

fn is_meant(wanted: &str, listed: &Listed) -> bool {
    let family = listed.name.split(['.', '[']).next();
    listed.name == wanted || family == Some(wanted) || matches(wanted, &listed.name)
}

/// Whether `name` fits a pattern in which `*` stands for any run of characters.
fn matches(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = name.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    true
}

fn entry(listed: &Listed) -> Entry {
    let descriptor = listed.descriptor;
    Entry {
        name: listed.name.clone(),
        value: listed.value.as_ref().and_then(|value| value.as_ref().ok()).cloned(),
        why_absent: why_absent(listed),
        allowed: listed.allowed.clone(),
        cost: descriptor.cost,
        scope: if listed.value.is_none() { Scope::Job } else { descriptor.scope },
        coupled: descriptor.coupled.iter().map(|name| (*name).to_owned()).collect(),
        summary: descriptor.summary.to_owned(),
        note: (!descriptor.note.is_empty()).then(|| descriptor.note.to_owned()),
        source: descriptor.source.to_owned(),
    }
}

fn why_absent(listed: &Listed) -> Option<String> {
    match &listed.value {
        None => Some("it acts on a job that Pagewise starts; use it in: pagewise prove".to_owned()),
        Some(Ok(_)) => None,
        Some(Err(TunableError::Missing { why, .. })) => Some(why.clone()),
        Some(Err(error)) => Some(error.to_string()),
    }
}

/// How wide a line may be.
const WIDTH: u16 = 80;

fn table(shown: &[Listed]) -> String {
    use comfy_table::{ContentArrangement, Table, presets};
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_content_arrangement(ContentArrangement::Dynamic).set_width(WIDTH);
    table.set_header(["tunable", "value", "allowed", "cost", "note"]);
    for listed in shown {
        let (value, allowed) = match (&listed.value, why_absent(listed)) {
            (Some(Ok(value)), _) => (printable(value), listed.allowed.clone()),
            (None, _) => ("(job)".to_owned(), listed.allowed.clone()),
            (Some(Err(_)), why) => ("absent".to_owned(), why.unwrap_or_default()),
        };
        table.add_row([
            printable(&listed.name),
            value,
            allowed,
            listed.descriptor.cost.word().to_owned(),
            coupled(listed),
        ]);
    }
    let text = table.to_string();
    text.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

fn coupled(listed: &Listed) -> String {
    match listed.descriptor.coupled {
        [] => String::new(),
        names => format!("moves {}", names.join(", ")),
    }
}

/// One tunable with everything there is to say.
fn one(listed: &Listed) -> String {
    let descriptor = listed.descriptor;
    let mut text = format!("{}: {}\n", printable(&listed.name), wrapped(descriptor.summary, 2));
    let mut row = |label: &str, words: &str| text.push_str(&format!("  {label:<9}{}\n", wrapped(words, 11)));
    match (&listed.value, why_absent(listed)) {
        (Some(Ok(value)), _) => row("value", &printable(value)),
        (_, why) => row("no value", &why.unwrap_or_default()),
    }
    row("allowed", &listed.allowed);
    row("cost", descriptor.cost.word());
    if !descriptor.coupled.is_empty() {
        row("moves", &descriptor.coupled.join(", "));
    }
    if let Some(ceiling) = descriptor.ceiling {
        row("ceiling", &format!("{:.0} % of memory: {}", ceiling.share_of_memory * 100.0, ceiling.reason));
    }
    if !descriptor.note.is_empty() {
        row("note", descriptor.note);
    }
    row("since", descriptor.source);
    text
}

/// Words in lines of at most [`WIDTH`], all but the first set in by `indent`.
fn wrapped(words: &str, indent: usize) -> String {
    let mut text = String::new();
    // The first line begins behind a label.
    let mut column = if indent > 2 { indent } else { 24 };
    for word in words.split_whitespace() {
        let width = word.chars().count() + 1;
        if column + width > usize::from(WIDTH) {
            text.push_str(&format!("\n{}", " ".repeat(indent)));
            column = indent;
        } else if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(word);
        column += width;
    }
    text
}

/// A captured tree may hold anything; a terminal is to get text alone.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_run_of_characters() {
        for (pattern, name, fits) in [
            ("mthp[*].enabled", "mthp[64k].enabled", true),
            ("mthp[*].enabled", "mthp[64k].shmem_enabled", false),
            ("*.enabled", "thp.enabled", true),
            ("vm.*dirty*", "vm.dirty_background", true),
            ("vm.swappiness", "vm.swappiness", true),
            ("vm.swap", "vm.swappiness", false),
            ("*", "anything", true),
            ("a*a", "a", false),
        ] {
            assert_eq!(matches(pattern, name), fits, "{pattern} {name}");
        }
    }

    #[test]
    fn a_captured_value_cannot_write_to_the_terminal() {
        assert_eq!(printable("a\u{1b}[2Jb"), "a\u{fffd}[2Jb");
    }
}

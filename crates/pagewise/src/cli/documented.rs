//! Every command that the documents show is one that this binary takes.

use super::Cli;
use clap::{CommandFactory, Parser};
use std::fs;
use std::path::{Path, PathBuf};

/// Where people read how to use it. What is generated from the command line itself is left out.
const FOLDERS: [&str; 4] = [".", "docs/guide", "docs/method", "docs/reference"];

fn documents() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let of = |folder: &str| fs::read_dir(root.join(folder)).unwrap().map(|entry| entry.unwrap().path());
    let is_document =
        |path: &PathBuf| path.extension().is_some_and(|end| end == "md") && !path.ends_with("CHANGELOG.md");
    FOLDERS.into_iter().flat_map(of).filter(is_document).collect()
}

/// The lines in fenced blocks that begin with the program, those that go on below joined to one.
fn commands(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let (mut in_block, mut goes_on) = (false, false);
    for line in text.lines() {
        let line = line.trim();
        if line.starts_with("```") {
            (in_block, goes_on) = (!in_block, false);
            continue;
        }
        let (part, more) = line.strip_suffix('\\').map_or((line, false), |part| (part, true));
        if goes_on {
            found.last_mut().unwrap().push_str(&format!(" {part}"));
        } else {
            let part = part.strip_prefix("$ ").unwrap_or(part);
            let part = part.strip_prefix("sudo ").unwrap_or(part);
            if !in_block || !part.starts_with("pagewise ") {
                continue;
            }
            found.push(part.to_owned());
        }
        goes_on = more;
    }
    found
}

/// The words that the program gets: no remark behind it, no pipe and no redirection.
fn words(line: &str) -> Vec<String> {
    // Behind several blanks stands what the command does.
    let line = line.split("   ").next().unwrap();
    let words = shlex::split(line).unwrap_or_else(|| panic!("{line}: quotes"));
    let is_end = |word: &String| ["|", ">", ">>", "2>", "&&", "&"].contains(&word.as_str());
    let own = words.into_iter().take_while(|word| !is_end(word));
    // [FILE] may be given.
    own.map(|word| match word.strip_prefix('[').and_then(|word| word.strip_suffix(']')) {
        Some(word) => word.to_owned(),
        None => word,
    })
    .collect()
}

fn must_be_taken(line: &str, place: &str) {
    if let Err(error) = Cli::try_parse_from(words(line))
        && error.use_stderr()
    {
        panic!("{place}: {line}\n{error}");
    }
}

#[test]
fn every_command_in_the_documents_is_one_that_this_binary_takes() {
    let mut seen = 0;
    for path in documents() {
        for line in commands(&fs::read_to_string(&path).unwrap()) {
            seen += 1;
            must_be_taken(&line, &path.display().to_string());
        }
    }
    assert!(seen > 60, "only {seen} commands were found");
}

/// What is said below the options of a command and of all below it.
fn helps(command: &clap::Command) -> Vec<String> {
    let own = command.get_after_help().map(ToString::to_string);
    own.into_iter().chain(command.get_subcommands().flat_map(helps)).collect()
}

#[test]
fn every_example_in_the_help_fits_a_terminal_and_is_taken() {
    let mut seen = 0;
    for help in helps(&Cli::command()) {
        let long: Vec<&str> = help.lines().filter(|line| line.starts_with("  ") && line.chars().count() > 80).collect();
        assert_eq!(long, Vec::<&str>::new(), "a terminal of 80 columns breaks these");
        for line in commands(&format!("```\n{help}\n```")) {
            seen += 1;
            must_be_taken(&line, "the help");
        }
    }
    assert!(seen > 40, "only {seen} examples were found");
}

#[test]
fn a_command_is_found_with_what_follows_and_without_remarks() {
    let text = "```\n$ sudo pagewise set a=b \\\n    --confirm-within 5m  # then\npagewise top [job.pgw]     # x\n```\npagewise no\n";
    let found: Vec<Vec<String>> = commands(text).iter().map(|line| words(line)).collect();
    let wanted: [&[&str]; 2] = [&["pagewise", "set", "a=b", "--confirm-within", "5m"], &["pagewise", "top", "job.pgw"]];
    assert_eq!(found, wanted);
}

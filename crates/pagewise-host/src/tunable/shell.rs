//! The same change in plain shell, for people who would rather see or run it themselves.

use super::{Grammar, file, location, memory_state, pair, swap};
use crate::root::Root;
use pagewise_core::tunable::find;
use std::path::PathBuf;

/// Lines of plain `sh` that set the tunable to `value` on this host. One comment line when it cannot be said in shell.
#[must_use]
pub fn shell_lines(root: &Root, tunable: &str, value: &str) -> Vec<String> {
    let Ok(found) = super::host_tunable(tunable) else { return vec![comment(tunable, "it has no value on a host")] };
    let Ok(value) = found.canonical(value) else { return vec![comment(tunable, "the value cannot be understood")] };
    match found.descriptor.grammar {
        Grammar::Swap => swap::shell_lines(root, &value),
        Grammar::MemoryState => vec![memory_state::shell_line(&value)],
        Grammar::Pair(files) => match pair::writes(&found, files, &value) {
            Ok(writes) => writes.iter().map(|(name, number)| echo(&number.to_string(), &pair::path(name))).collect(),
            Err(error) => vec![comment(tunable, &error.to_string())],
        },
        _ => match location::of(root, &found) {
            Ok(path) => vec![echo(&file::as_written(root, &found, &path, &value), &path)],
            Err(error) => vec![comment(tunable, &error.to_string())],
        },
    }
}

/// Files a value creates on the host: to be journalled before they exist, and removed when the value is undone or
/// another boot left them.
#[must_use]
pub fn artefacts(tunable: &str, value: &str) -> Vec<PathBuf> {
    match find(tunable) {
        Ok(found) if found.descriptor.grammar == Grammar::Swap => swap::artefacts(value),
        _ => Vec::new(),
    }
}

fn comment(tunable: &str, why: &str) -> String {
    let line = |text: &str| text.replace(['\n', '\r'], " ");
    format!("# {}: {}", line(tunable), line(why))
}

fn echo(value: &str, path: &str) -> String {
    format!("echo {} > {}", quoted(value), quoted(path))
}

/// A word as the shell takes it whole.
pub(super) fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "+-_./:=%@".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_cannot_break_out_of_its_quotes() {
        assert_eq!(quoted("defer+madvise"), "defer+madvise");
        assert_eq!(quoted("a b"), "'a b'");
        assert_eq!(quoted("it's; rm -rf /"), r"'it'\''s; rm -rf /'");
        assert_eq!(quoted(""), "''");
        assert!(!comment("a\nrm -rf /", "b\nc").contains('\n'));
    }
}

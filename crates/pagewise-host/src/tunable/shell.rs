//! The same change in plain shell, for people who would rather see or run it themselves.

use super::kind;
use crate::root::Root;
use pagewise_core::tunable::Tunable;
use std::path::PathBuf;

/// Lines of plain `sh` that set the tunable to `value` on this host. One comment line when it cannot be said in shell.
#[must_use]
pub fn shell_lines(root: &Root, tunable: &Tunable, value: &str) -> Vec<String> {
    if tunable.is_for_job() {
        return vec![comment(&tunable.name, "it has no value on a host")];
    }
    match tunable.canonical(value) {
        Ok(value) => kind::of(tunable).shell_lines(root, tunable, &value),
        Err(_) => vec![comment(&tunable.name, "the value cannot be understood")],
    }
}

/// Files a value creates on the host: to be journalled before they exist, and removed when the value is undone or
/// another boot left them.
#[must_use]
pub fn artefacts(tunable: &Tunable, value: &str) -> Vec<PathBuf> {
    kind::of(tunable).artefacts(value)
}

pub(super) fn comment(tunable: &str, why: &str) -> String {
    let line = |text: &str| text.replace(['\n', '\r'], " ");
    format!("# {}: {}", line(tunable), line(why))
}

pub(super) fn echo(value: &str, path: &str) -> String {
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

//! Tunables that are one kernel file.

use super::held::HoldLimit;
use super::kind::Kind;
use super::resolve::may_write;
use super::{Places, TunableError, location, shell};
use crate::root::Root;
use pagewise_core::tunable::{Grammar, Tunable, ValueError, listed};

/// The kind of every tunable that is one file.
pub(super) struct OneFile;

impl Kind for OneFile {
    fn read(&self, root: &Root, tunable: &Tunable) -> Result<String, TunableError> {
        let path = location::of(root, tunable)?;
        let text = root.read(&path).map_err(|error| TunableError::access(&tunable.name, "read", error))?;
        canonical(root, tunable, &path, &text)
    }

    fn read_from(&self, root: &Root, tunable: &Tunable, files: &[(String, String)]) -> Result<String, TunableError> {
        match files {
            [(path, text), ..] => canonical(root, tunable, path, text),
            [] => self.read(root, tunable),
        }
    }

    fn write(&self, root: &Root, tunable: &Tunable, value: &str, _: HoldLimit) -> Result<(), TunableError> {
        let path = location::of(root, tunable)?;
        let text = as_written(root, tunable, &path, value);
        root.write(&path, &text).map_err(|error| TunableError::written(&tunable.name, value, error))
    }

    fn resolve(&self, root: &Root, _: &Places, tunable: &Tunable, value: &str) -> Result<String, TunableError> {
        is_offered(root, tunable, value)?;
        may_write(root, tunable, &location::of(root, tunable)?)?;
        Ok(value.to_owned())
    }

    fn shell_lines(&self, root: &Root, tunable: &Tunable, value: &str) -> Vec<String> {
        match location::of(root, tunable) {
            Ok(path) => vec![shell::echo(&as_written(root, tunable, &path, value), &path)],
            Err(error) => vec![shell::comment(&tunable.name, &error.to_string())],
        }
    }
}

fn canonical(root: &Root, tunable: &Tunable, path: &str, text: &str) -> Result<String, TunableError> {
    // The line's end is the file's, not the value's: in text every character counts.
    tunable.canonical(text.strip_suffix('\n').unwrap_or(text)).map_err(|error| TunableError::Unreadable {
        tunable: tunable.name.clone(),
        path: root.path(path),
        found: text.trim().chars().take(80).collect(),
        why: error.why,
    })
}

/// Whether the kernel's own list has the value.
fn is_offered(root: &Root, tunable: &Tunable, value: &str) -> Result<(), TunableError> {
    match choices(root, tunable)? {
        Some(choices) if !choices.iter().any(|choice| choice == value) => Err(TunableError::value(
            &tunable.name,
            value,
            ValueError { why: "this kernel does not list it".to_owned(), allowed: choices.join(" ") },
        )),
        _ => Ok(()),
    }
}

/// The text this host's file wants for a canonical value.
fn as_written(root: &Root, tunable: &Tunable, path: &str, value: &str) -> String {
    match tunable.descriptor.grammar {
        Grammar::Switch => switch_as_shown(&root.read(path).unwrap_or_default(), value),
        // Version 1 has a number where version 2 has a word.
        Grammar::Limit if value == "max" && path.ends_with("_in_bytes") => "-1".to_owned(),
        _ => value.to_owned(),
    }
}

/// Old kernels want the word they show: `yes` where the file reads `[yes] no`.
fn switch_as_shown(shown: &str, value: &str) -> String {
    let is_on = value == "1";
    match (listed(shown), shown.trim()) {
        (Some(choice), _) if choice.values.contains(&"yes") => {
            if is_on {
                "yes"
            } else {
                "no"
            }
        }
        (_, "Y" | "N") => {
            if is_on {
                "Y"
            } else {
                "N"
            }
        }
        _ => value,
    }
    .to_owned()
}

/// The values the kernel lists, where it lists any.
pub(super) fn choices(root: &Root, tunable: &Tunable) -> Result<Option<Vec<String>>, TunableError> {
    if tunable.descriptor.grammar != Grammar::Choice {
        return Ok(None);
    }
    let path = location::of(root, tunable)?;
    let text = root.read(&path).map_err(|error| TunableError::access(&tunable.name, "read", error))?;
    Ok(listed(&text).map(|choice| choice.values.into_iter().map(str::to_owned).collect()))
}

//! Tunables that are one kernel file.

use super::{TunableError, location};
use crate::root::Root;
use pagewise_core::tunable::{Grammar, Tunable, listed};

pub(super) fn read(root: &Root, tunable: &Tunable) -> Result<String, TunableError> {
    let path = location::of(root, tunable)?;
    read_at(root, tunable, &path)
}

fn read_at(root: &Root, tunable: &Tunable, path: &str) -> Result<String, TunableError> {
    let text = root.read(path).map_err(|error| TunableError::access(&tunable.name, "read", error))?;
    tunable.canonical(&text).map_err(|error| TunableError::Unreadable {
        tunable: tunable.name.clone(),
        path: root.path(path),
        found: text.trim().chars().take(80).collect(),
        why: error.why,
    })
}

pub(super) fn write(root: &Root, tunable: &Tunable, value: &str) -> Result<(), TunableError> {
    let path = location::of(root, tunable)?;
    let text = as_written(root, tunable, &path, value);
    root.write(&path, &text).map_err(|error| TunableError::written(&tunable.name, value, error))
}

/// The text this host's file wants for a canonical value.
pub(super) fn as_written(root: &Root, tunable: &Tunable, path: &str, value: &str) -> String {
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

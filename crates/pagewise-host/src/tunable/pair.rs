//! Limits the kernel keeps in two files, a percentage and an amount.

use super::held::HoldLimit;
use super::kind::Kind;
use super::resolve::may_write;
use super::{Places, TunableError, shell};
use crate::root::Root;
use pagewise_core::tunable::{Amount, Grammar, Pair, Tunable};

/// The kind of every such limit.
pub(super) struct PairOfFiles;

impl Kind for PairOfFiles {
    fn read(&self, root: &Root, tunable: &Tunable) -> Result<String, TunableError> {
        read(root, tunable, pair_of(tunable)?)
    }

    fn write(&self, root: &Root, tunable: &Tunable, value: &str, _: HoldLimit) -> Result<(), TunableError> {
        write(root, tunable, pair_of(tunable)?, value)
    }

    fn resolve(&self, root: &Root, _: &Places, tunable: &Tunable, value: &str) -> Result<String, TunableError> {
        for (sysctl, _) in writes(tunable, pair_of(tunable)?, value)? {
            may_write(root, tunable, &path(sysctl))?;
        }
        Ok(value.to_owned())
    }

    fn shell_lines(&self, _: &Root, tunable: &Tunable, value: &str) -> Vec<String> {
        match pair_of(tunable).and_then(|pair| writes(tunable, pair, value)) {
            Ok(writes) => writes.iter().map(|(name, number)| shell::echo(&number.to_string(), &path(name))).collect(),
            Err(error) => vec![shell::comment(&tunable.name, &error.to_string())],
        }
    }
}

fn pair_of(tunable: &Tunable) -> Result<&'static Pair, TunableError> {
    match tunable.descriptor.grammar {
        Grammar::Pair(pair) => Ok(pair),
        _ => Err(TunableError::Missing { tunable: tunable.name.clone(), why: "it is no pair of files".to_owned() }),
    }
}

/// The file behind a sysctl's name.
fn path(sysctl: &str) -> String {
    format!("/proc/sys/{}", sysctl.replace('.', "/"))
}

fn read(root: &Root, tunable: &Tunable, pair: &Pair) -> Result<String, TunableError> {
    let amount = number(root, tunable, pair.amount)?.unwrap_or(0);
    if amount != 0 {
        return Ok(Amount::Bytes(amount.saturating_mul(pair.unit)).to_string());
    }
    match number(root, tunable, pair.percent)? {
        Some(percent) => Ok(Amount::Percent(percent).to_string()),
        None => Err(TunableError::Missing {
            tunable: tunable.name.clone(),
            why: format!("this kernel has no {}", root.path(&path(pair.percent)).display()),
        }),
    }
}

/// `None` when the kernel lacks the file.
fn number(root: &Root, tunable: &Tunable, sysctl: &str) -> Result<Option<u64>, TunableError> {
    let path = path(sysctl);
    let text = match root.read(&path) {
        Ok(text) => text,
        Err(error) if error.is_missing() => return Ok(None),
        Err(error) => return Err(TunableError::access(&tunable.name, "read", error)),
    };
    text.trim().parse().map(Some).map_err(|_| TunableError::Unreadable {
        tunable: tunable.name.clone(),
        path: root.path(&path),
        found: text.trim().chars().take(80).collect(),
        why: "a whole number is expected".to_owned(),
    })
}

/// Writes the file that is to be in force; the kernel takes the other out of force by itself.
fn write(root: &Root, tunable: &Tunable, pair: &Pair, value: &str) -> Result<(), TunableError> {
    for (sysctl, number) in writes(tunable, pair, value)? {
        let path = path(sysctl);
        let written = root.write(&path, &number.to_string());
        written.map_err(|error| TunableError::written(&tunable.name, value, error))?;
        take_out_of_force(root, pair, sysctl);
    }
    Ok(())
}

/// The writes that lead to the value, from any other.
fn writes<'a>(tunable: &Tunable, pair: &'a Pair, value: &str) -> Result<Vec<(&'a str, u64)>, TunableError> {
    let amount = pair.parse(value).map_err(|why| {
        let error = pagewise_core::tunable::ValueError { why, allowed: tunable.descriptor.grammar.allowed() };
        TunableError::value(&tunable.name, value, error)
    })?;
    Ok(match amount {
        // The handler of dirty_ratio acts only on a change, and the idle file reads 0 already (mm/page-writeback.c).
        Amount::Percent(0) => vec![(pair.percent, 1), (pair.percent, 0)],
        Amount::Percent(percent) => vec![(pair.percent, percent)],
        Amount::Bytes(bytes) => vec![(pair.amount, bytes / pair.unit)],
    })
}

/// What the kernel does by itself, in a tree that has no kernel behind it.
fn take_out_of_force(root: &Root, pair: &Pair, written: &str) {
    if !root.is_live() {
        let other = if written == pair.percent { pair.amount } else { pair.percent };
        let _ = root.write(&path(other), "0\n");
    }
}

//! `pagewise show`: every tunable with its value here, what may be written, and what it moves along.

use super::changes;
use crate::failure::Failure;
use crate::global::Global;
use crate::output;
use pagewise_core::report::tunables::{TunableView, TunablesReport};
use pagewise_core::spelling::fits;
use pagewise_core::tunable::{Ceiling, Scope, all};
use pagewise_host::root::Root;
use pagewise_host::tunable::{HostTunable, TunableError, list};
use std::process::ExitCode;

/// Show tunables: values now, what may be written, what switching takes
#[derive(clap::Args, Debug)]
pub(crate) struct ShowArgs {
    /// A tunable such as thp.enabled, a pattern such as 'mthp[*].*', a family such as vm, or all of a group, 'cgroup[/batch]' [default: what is here]
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// List also what this host lacks, with the reason, and what acts on a job alone
    #[arg(long, conflicts_with = "names")]
    all: bool,
}

pub(crate) fn run(args: &ShowArgs, global: &Global) -> Result<ExitCode, Failure> {
    if let Some(folder) = global.root.as_ref().filter(|folder| !folder.is_dir()) {
        let text = format!("--root {} is not a folder; give one that holds proc/ and sys/", folder.display());
        return Err(Failure::Usage(anyhow::anyhow!(text)));
    }
    super::changes::note_pending(global);
    let report = TunablesReport::new(args.chosen(&global.root())?.iter().map(view).collect());
    if global.json {
        output::json(&report);
    } else if let ([name], [tunable]) = (args.names.as_slice(), report.tunables.as_slice())
        && !name.contains('*')
    {
        output::data(&tunable.text());
    } else {
        output::data(&report.table());
        if args.names.is_empty() && !args.all {
            output::note("What this host lacks and what acts on a job alone: pagewise show --all");
        }
    }
    if global.root.is_none() {
        changes::note_pending(global);
    }
    Ok(ExitCode::SUCCESS)
}

impl ShowArgs {
    fn chosen(&self, root: &Root) -> Result<Vec<HostTunable>, Failure> {
        let is_here = |listed: &HostTunable| listed.value.as_ref().is_some_and(Result::is_ok);
        if self.names.is_empty() {
            return Ok(list(root).into_iter().filter(|listed| self.all || is_here(listed)).collect());
        }
        let chosen: Result<Vec<_>, _> = self.names.iter().map(|name| meant_by(root, name)).collect();
        Ok(chosen?.into_iter().flatten().collect())
    }
}

/// What a name, a pattern or a family means here.
fn meant_by(root: &Root, name: &str) -> Result<Vec<HostTunable>, Failure> {
    let error = match HostTunable::one(root, name) {
        Ok(listed) => return Ok(vec![listed]),
        Err(error) => error,
    };
    let is_meant = |listed: &HostTunable| {
        let family = listed.name.split(['.', '[']).next();
        listed.name == name || family == Some(name) || fits(name, &listed.name)
    };
    let of_one = all_of(root, name);
    if !of_one.is_empty() {
        return Ok(of_one);
    }
    let meant: Vec<HostTunable> = list(root).into_iter().filter(is_meant).collect();
    if meant.is_empty() { Err(Failure::Usage(error.into())) } else { Ok(meant) }
}

/// What is here of one such as `cgroup[/batch]`, `block[sda]` or `mthp[64kB]`.
fn all_of(root: &Root, name: &str) -> Vec<HostTunable> {
    let Some((family, _)) = name.split_once('[').filter(|_| name.ends_with(']')) else { return Vec::new() };
    let rest = |of: &'static str| Some(of.strip_prefix(family)?.strip_prefix('[')?.split_once(']')?.1);
    let named =
        all().filter_map(|descriptor| HostTunable::one(root, &format!("{name}{}", rest(descriptor.name)?)).ok());
    named.filter(|listed| listed.value.as_ref().is_some_and(Result::is_ok)).collect()
}

fn view(listed: &HostTunable) -> TunableView {
    let descriptor = listed.descriptor;
    TunableView {
        name: listed.name.clone(),
        value: listed.value.as_ref().and_then(|value| value.as_ref().ok()).cloned(),
        why_absent: why_absent(listed),
        allowed: listed.allowed.clone(),
        cost: descriptor.cost,
        scope: if listed.value.is_none() { Scope::Job } else { descriptor.scope },
        coupled: descriptor.coupled.iter().map(|name| (*name).to_owned()).collect(),
        ceiling: descriptor.ceiling.map(Ceiling::told),
        summary: descriptor.summary.to_owned(),
        note: (!descriptor.note.is_empty()).then(|| descriptor.note.to_owned()),
        source: descriptor.source.to_owned(),
    }
}

fn why_absent(listed: &HostTunable) -> Option<String> {
    match &listed.value {
        None => Some("it acts on a job that Pagewise starts; use it in: pagewise prove".to_owned()),
        Some(Ok(_)) => None,
        Some(Err(TunableError::Missing { why, .. })) => Some(why.clone()),
        Some(Err(error)) => Some(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_run_of_characters() {
        for (pattern, name, expected) in [
            ("mthp[*].enabled", "mthp[64k].enabled", true),
            ("mthp[*].enabled", "mthp[64k].shmem_enabled", false),
            ("*.enabled", "thp.enabled", true),
            ("vm.*dirty*", "vm.dirty_background", true),
            ("*a*b*", "xbxa", false),
            ("vm.swappiness", "vm.swappiness", true),
            ("vm.swap", "vm.swappiness", false),
            ("*", "anything", true),
            ("a*a", "a", false),
            ("**", "x", true),
        ] {
            assert_eq!(fits(pattern, name), expected, "{pattern} {name}");
        }
    }
}

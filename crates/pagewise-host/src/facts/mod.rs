//! What this host has and allows: probed, never guessed. A file per area; what cannot be asked is unknown, not "no".
//!
//! Files are read through [`Root`], so another host's captured tree answers too. What only a system call can tell is
//! then reported as not asked.

pub mod cgroup;

pub mod huge_pages;

pub mod kernel;

pub mod lab;

pub mod measuring;

pub mod privilege;

pub mod programs;

pub mod reclaim;

pub mod swap;

pub mod tuners;

pub mod walk_cost;

use crate::root::{FileError, Root, plain};
use pagewise_core::report::doctor::{Area, Capability, State};

/// Why a probe by system call has no answer under `--root`.
const ANOTHER_HOST: &str = "not asked: another host's tree";

/// The list of areas, beside `programs`, which takes more. A new one is a file and a line here.
const PROBES: [fn(&Root) -> Vec<Capability>; 8] = [
    huge_pages::probe,
    reclaim::probe,
    swap::probe,
    cgroup::probe,
    tuners::probe,
    measuring::probe,
    privilege::probe,
    lab::probe,
];

/// Asks everything that costs next to nothing; what takes time is [`walk_cost::measure`]. `of_workloads` is what the built-in
/// workloads find of the programs they need.
#[must_use]
pub fn capabilities(root: &Root, of_workloads: Vec<Capability>) -> Vec<Capability> {
    let mut all: Vec<Capability> = PROBES.iter().flat_map(|probe| probe(root)).collect();
    all.extend(programs::probe(root, of_workloads));
    all.sort_by_key(|capability| capability.area);
    all
}

/// A setting in a kernel file: there, there but not ours to write, or absent for the reason given.
struct Setting<'a> {
    area: Area,
    id: &'a str,
    what: &'a str,
    path: &'a str,
    absent: &'a str,
    remedy: &'a str,
}

impl Setting<'_> {
    fn ask(&self, root: &Root, describe: impl Fn(&str) -> String) -> Capability {
        match root.read(self.path) {
            Ok(text) => {
                let found = Capability::yes(self.area, self.id, self.what, describe(text.trim()));
                limited_if_read_only(found, root, self.path)
            }
            Err(error) => self.absent(root, &error),
        }
    }

    fn absent(&self, root: &Root, error: &FileError) -> Capability {
        if !error.is_missing() {
            let why = format!("not readable: {}", plain(&error.source));
            return Capability::unknown(self.area, self.id, self.what, why, "run as root");
        }
        if !shows(root, subsystem(self.path)) {
            return Capability::unknown(self.area, self.id, self.what, NOT_CAPTURED, "");
        }
        Capability::no(self.area, self.id, self.what, self.absent, self.remedy)
    }
}

/// Why nothing is said about what a captured tree leaves out.
pub(crate) const NOT_CAPTURED: &str = "not in the captured tree";

/// Whether the absence of a file below `folder` means anything: a captured tree may hold only a part of a host.
fn shows(root: &Root, folder: &str) -> bool {
    root.is_live() || root.exists(folder)
}

/// The folder that is there on every kernel and in whose absence a file below it says nothing.
fn subsystem(path: &str) -> &str {
    const FOLDERS: [&str; 6] =
        ["/sys/kernel/mm", "/proc/sys/vm", "/proc/sys/kernel", "/sys/module", "/sys/devices/system/node", "/proc"];
    FOLDERS.into_iter().find(|folder| path.starts_with(folder)).unwrap_or("/sys")
}

/// Marks a setting that can be read and not changed. In another host's tree nothing is said about writing.
fn limited_if_read_only(capability: Capability, root: &Root, path: &str) -> Capability {
    match write_refusal(root, path) {
        None => capability,
        Some((why, remedy)) => capability.with(State::Limited, why, remedy),
    }
}

/// Why `path` cannot be written, and what would help.
pub(crate) fn write_refusal(root: &Root, path: &str) -> Option<(&'static str, &'static str)> {
    use rustix::fs::{Access, AtFlags, CWD, accessat};
    if !root.is_live() {
        return None;
    }
    match accessat(CWD, root.path(path), Access::WRITE_OK, AtFlags::EACCESS) {
        Ok(()) => None,
        Err(rustix::io::Errno::ROFS) => Some(("mounted read-only, as in a container", "run on the host")),
        Err(_) => Some(("not ours to change", "run as root")),
    }
}

/// The value in brackets, as the kernel marks the selected one of a choice; the whole text when there is no bracket.
fn selected(text: &str) -> &str {
    text.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map_or(text.trim(), |(value, _)| value)
}

/// `value` and behind it the other choices: `madvise (or always, never)`.
fn selected_of(text: &str) -> String {
    let chosen = selected(text);
    let others: Vec<&str> = text.split_whitespace().filter(|word| !word.starts_with('[')).collect();
    if text.contains('[') && !others.is_empty() {
        format!("{chosen} (or {})", others.join(", "))
    } else {
        chosen.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_selected_choice_stands_in_brackets() {
        assert_eq!(selected("always [madvise] never\n"), "madvise");
        assert_eq!(selected("10\n"), "10");
        assert_eq!(selected_of("always [madvise] never"), "madvise (or always, never)");
        assert_eq!(selected_of("10"), "10");
    }
}

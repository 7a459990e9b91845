//! What is known about a tunable before any host is read.

use super::grammar::Grammar;
use crate::unit::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What switching a tunable takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CostClass {
    /// The next start of the job.
    Job,
    /// Nothing: it acts now.
    Live,
    /// A boot of the host.
    Boot,
}

impl CostClass {
    /// One word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            CostClass::Job => "job",
            CostClass::Live => "live",
            CostClass::Boot => "boot",
        }
    }
}

/// Whether it can be switched while what it acts on goes on running, and how long to wait after a switch before anything is
/// measured. The times are ours: they follow from what the kernel does with the value, and no document states them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Switching {
    /// What runs meets the new value.
    Live(Wait),
    /// Only what is made from then on meets it: mappings, open files. What exists keeps what it has.
    NewOnly(Wait),
    /// Not while anything runs. The reason ends a sentence that begins with the tunable's name: "swap …".
    Never(&'static str),
}

/// How long to wait after a switch. The two follow each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wait {
    /// Seconds until the new value acts everywhere.
    pub settle: f64,
    /// Seconds after that until what the old value left behind has faded.
    pub washout: f64,
    /// Why so long.
    pub reason: &'static str,
}

impl Switching {
    /// How long to wait, where it can be switched at all.
    #[must_use]
    pub fn wait(&self) -> Option<Wait> {
        match self {
            Switching::Live(wait) | Switching::NewOnly(wait) => Some(*wait),
            Switching::Never(_) => None,
        }
    }
}

/// What a tunable acts on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// Everything on the host, or a part of it that other jobs may share.
    Host,
    /// Only the job that Pagewise starts.
    Job,
}

/// What stands between the brackets of a name, or after its dot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// Nothing: the name is complete.
    None,
    /// A huge page size, such as `64k`.
    PageSize,
    /// A block device, such as `vda`.
    Device,
    /// A control group by its path below the mount point, or `job`.
    Cgroup,
    /// A word of letters, digits and `_`: a variable, a flag.
    Word,
    /// The same, or several with dots between: an argument, or an option of what the workload runs.
    Argument,
}

/// A highest value that is refused although the kernel would take more.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ceiling {
    /// The highest value as a share of the host's memory, 0 to 1.
    pub share_of_memory: f64,
    /// So many bytes of a large host may be left instead, where that is less than the share leaves.
    pub or_all_but: Option<u64>,
    /// Why not more.
    pub reason: &'static str,
}

impl Ceiling {
    /// The highest value in bytes on a host of so many bytes of memory.
    #[must_use]
    pub fn of(self, memory: f64) -> f64 {
        let but = self.or_all_but.map_or(0.0, |left| memory - left as f64);
        but.max(memory * self.share_of_memory)
    }

    /// What it is and why, for people.
    #[must_use]
    pub fn told(self) -> String {
        let share = format!("{:.0} % of memory", self.share_of_memory * 100.0);
        let but = self.or_all_but.map(|left| format!(", or all but {} where that is more", Bytes(left)));
        format!("{share}{}: {}", but.unwrap_or_default(), self.reason)
    }
}

/// One thing that can be set.
#[derive(Clone, Debug, PartialEq)]
pub struct Descriptor {
    /// Its name. A part in capitals stands for a key: `mthp[SIZE].enabled`, `env.NAME`.
    pub name: &'static str,
    /// The kind of key in the name.
    pub key: Key,
    /// Files that may hold it, the first that exists counts. `{key}` stands for the key, `{cgroup}` for the folder
    /// where the memory controller is mounted. Empty for what is no kernel file.
    pub paths: &'static [&'static str],
    /// Which texts are values.
    pub grammar: Grammar,
    /// Of a [`Grammar::Choice`]: every word that a kernel up to 6.18 lists. A later one may list more. Empty elsewhere.
    pub words: &'static [&'static str],
    /// Set when its values exist only while a process of Pagewise holds them, such as memory that is kept broken up: what it is
    /// when no process holds it. The process ends with the change that started it, and with the owner of that change.
    pub unheld: Option<&'static str>,
    /// What switching it takes.
    pub cost: CostClass,
    /// What it acts on.
    pub scope: Scope,
    /// Whether and how it can be switched under a running job.
    pub switching: Switching,
    /// Tunables the kernel may move by itself when this one is written.
    pub coupled: &'static [&'static str],
    /// A value above which it is dangerous.
    pub ceiling: Option<Ceiling>,
    /// What it does, in a sentence without a full stop.
    pub summary: &'static str,
    /// What a user has to know before writing it; empty when there is nothing.
    pub note: &'static str,
    /// Since which kernel, and the kernel file that implements it. Versions are hints: presence is tested by name.
    pub source: &'static str,
}

impl Descriptor {
    /// The first kernel that has it, as its source says: the 4.6 of `4.6, above 1000 since 5.18; …`. `None`: every kernel has
    /// it, or it is no part of one. Distributions backport: where a name can be looked for, that counts.
    #[must_use]
    pub fn since(&self) -> Option<(u32, u32, u32)> {
        if self.source.starts_with("always") {
            return None;
        }
        self.source.split([',', ';', ' ']).find_map(|word| {
            let mut numbers = word.split('.').map(str::parse::<u32>);
            let (major, minor) = (numbers.next()?.ok()?, numbers.next()?.ok()?);
            Some((major, minor, numbers.next().and_then(Result::ok).unwrap_or(0)))
        })
    }

    /// A host tunable that acts at once, with one file and nothing special about it.
    pub(super) const fn live(
        name: &'static str,
        paths: &'static [&'static str],
        grammar: Grammar,
        source: &'static str,
        summary: &'static str,
    ) -> Self {
        Descriptor {
            name,
            key: Key::None,
            paths,
            grammar,
            words: &[],
            unheld: None,
            cost: CostClass::Live,
            scope: Scope::Host,
            switching: Switching::Never(""),
            coupled: &[],
            ceiling: None,
            summary,
            note: "",
            source,
        }
    }

    pub(super) const fn keyed(self, key: Key) -> Self {
        Descriptor { key, ..self }
    }

    /// A choice of these words, as far as kernels are known.
    pub(super) const fn one_of(self, words: &'static [&'static str]) -> Self {
        Descriptor { words, ..self }
    }

    /// A process holds each value but this one.
    pub(super) const fn held_as(self, unheld: &'static str) -> Self {
        Descriptor { unheld: Some(unheld), ..self }
    }

    pub(super) const fn coupled_with(self, coupled: &'static [&'static str]) -> Self {
        Descriptor { coupled, ..self }
    }

    pub(super) const fn at_most(self, share_of_memory: f64, reason: &'static str) -> Self {
        Descriptor { ceiling: Some(Ceiling { share_of_memory, or_all_but: None, reason }), ..self }
    }

    /// As [`Descriptor::at_most`], but a large host may be left with `left` bytes.
    pub(super) const fn at_most_or_all_but(self, share_of_memory: f64, left: u64, reason: &'static str) -> Self {
        Descriptor { ceiling: Some(Ceiling { share_of_memory, or_all_but: Some(left), reason }), ..self }
    }

    pub(super) const fn noting(self, note: &'static str) -> Self {
        Descriptor { note, ..self }
    }

    /// It can be switched under what runs: seconds until it acts, seconds until the old value's traces fade, and why.
    pub(super) const fn switched(self, settle: f64, washout: f64, reason: &'static str) -> Self {
        Descriptor { switching: Switching::Live(Wait { settle, washout, reason }), ..self }
    }

    /// Only what is made after a switch meets it.
    pub(super) const fn switched_for_new(self, settle: f64, washout: f64, reason: &'static str) -> Self {
        Descriptor { switching: Switching::NewOnly(Wait { settle, washout, reason }), ..self }
    }

    /// It is not switched under what runs, and why.
    pub(super) const fn never_switched(self, reason: &'static str) -> Self {
        Descriptor { switching: Switching::Never(reason), ..self }
    }

    pub(super) const fn for_job(self) -> Self {
        Descriptor { cost: CostClass::Job, scope: Scope::Job, ..self }
            .never_switched("is read when the job starts, so it takes a restart of the job")
    }
}

#[cfg(test)]
mod tests {
    use crate::tunable::{all, find};

    #[test]
    fn what_is_held_is_a_value_when_it_is_not() {
        for descriptor in all() {
            let Some(unheld) = descriptor.unheld else { continue };
            assert_eq!(descriptor.grammar.canonical(unheld).as_deref(), Ok(unheld), "{}", descriptor.name);
        }
        assert_eq!(find("memory_state").unwrap().descriptor.unheld, Some("fresh"));
    }

    #[test]
    fn since_when_a_kernel_has_it_is_read_from_its_source() {
        let since = |name: &str| find(name).unwrap().descriptor.since();
        assert_eq!(since("vm.watermark_scale_factor"), Some((4, 6, 0)));
        assert_eq!(since("thp.defrag"), Some((2, 6, 32)), "Red Hat 6 has it in its 2.6.32");
        assert_eq!(since("cgroup[/a].memory.high"), Some((4, 5, 0)));
        assert_eq!(since("vm.swappiness"), None, "every kernel has it");
        for descriptor in all().filter(|descriptor| !descriptor.paths.is_empty()) {
            let is_said = descriptor.source.starts_with("always") || descriptor.since().is_some();
            assert!(is_said, "{}: '{}' begins with a version or with always", descriptor.name, descriptor.source);
        }
    }
}

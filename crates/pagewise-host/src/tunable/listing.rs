//! Every tunable with what this host has of it: for `pagewise show`, and those that have a value for recordings.

use super::location::Locator;
use super::{TunableError, file, kind, read};
use crate::root::Root;
use pagewise_core::tunable::{self, Descriptor, Grammar, Key, Tunable, find};

/// A tunable on a host.
#[derive(Debug)]
pub struct HostTunable {
    /// The tunable; a pattern such as `env.NAME` when it has no instances that could be listed.
    pub name: String,
    /// What is known about it.
    pub descriptor: &'static Descriptor,
    /// What may be written here, for people.
    pub allowed: String,
    /// Its value now. `None` for a tunable of the job.
    pub value: Option<Result<String, TunableError>>,
}

/// Every tunable, with one entry per huge page size, block device and limit of our own control group.
#[must_use]
pub fn list(root: &Root) -> Vec<HostTunable> {
    let locator = Locator::new(root);
    tunable::all().flat_map(|descriptor| instances(&locator, descriptor)).collect()
}

/// A tunable that has a value on a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Valued {
    /// The tunable.
    pub tunable: Tunable,
    /// Its value now.
    pub value: String,
    /// The files the value comes from, none where it comes from no file, each with its text.
    pub files: Vec<(String, String)>,
}

/// Every tunable whose value can be read here, and no more than that: each of its files is read once.
#[must_use]
pub fn values(root: &Root) -> Vec<Valued> {
    let locator = Locator::new(root);
    let of_host = tunable::all().filter(|descriptor| descriptor.scope == tunable::Scope::Host);
    let named = of_host.flat_map(|descriptor| named(&locator, descriptor));
    named.filter(|tunable| !tunable.is_for_job()).filter_map(|tunable| valued(&locator, tunable)).collect()
}

fn valued(locator: &Locator<'_>, tunable: Tunable) -> Option<Valued> {
    let root = locator.root;
    let most = if matches!(tunable.descriptor.grammar, Grammar::Pair(_)) { 2 } else { 1 };
    let mut files = Vec::with_capacity(most);
    for path in locator.candidates(&tunable).ok()? {
        match root.read(&path) {
            Ok(text) if files.len() < most => files.push((path, text)),
            Err(error) if files.is_empty() && !error.is_missing() => return None,
            _ => {}
        }
    }
    let value = kind::of(&tunable).read_from(root, &tunable, &files).ok()?;
    Some(Valued { tunable, value, files })
}

impl HostTunable {
    /// One tunable by its name.
    ///
    /// # Errors
    /// When there is none of this name.
    pub fn one(root: &Root, name: &str) -> Result<HostTunable, TunableError> {
        Ok(listed(root, &find(name)?))
    }
}

/// The tunables of a kind that this host may have: one per key.
fn named(locator: &Locator<'_>, descriptor: &'static Descriptor) -> Vec<Tunable> {
    keys(locator, descriptor)
        .iter()
        .filter_map(|key| find(&with_key(descriptor.name, key)).ok())
        .filter(|tunable| goes_by_its_own_name(locator, tunable))
        .collect()
}

fn instances(locator: &Locator<'_>, descriptor: &'static Descriptor) -> Vec<HostTunable> {
    let root = locator.root;
    let named: Vec<HostTunable> = named(locator, descriptor).iter().map(|tunable| listed(root, tunable)).collect();
    if !named.is_empty() {
        return named;
    }
    let value = (descriptor.scope == tunable::Scope::Host).then(|| {
        Err(TunableError::Missing { tunable: descriptor.name.to_owned(), why: format!("since {}", descriptor.source) })
    });
    vec![HostTunable { name: descriptor.name.to_owned(), descriptor, allowed: descriptor.grammar.allowed(), value }]
}

fn listed(root: &Root, tunable: &Tunable) -> HostTunable {
    let choices = file::choices(root, tunable).ok().flatten().map(|choices| choices.join(" "));
    HostTunable {
        name: tunable.name.clone(),
        descriptor: tunable.descriptor,
        allowed: choices.unwrap_or_else(|| tunable.descriptor.grammar.allowed()),
        value: (!tunable.is_for_job()).then(|| read(root, tunable)),
    }
}

/// A hard limit has two names, and each host's files go by one of them.
fn goes_by_its_own_name(locator: &Locator<'_>, tunable: &Tunable) -> bool {
    let is_there = || locator.candidates(tunable).ok()?.first().map(|file| locator.root.exists(file));
    tunable.descriptor.key != Key::Cgroup || is_there() == Some(true)
}

/// What can stand for the key here. A name without a key has one instance: itself.
fn keys(locator: &Locator<'_>, descriptor: &Descriptor) -> Vec<String> {
    match descriptor.key {
        Key::None => vec![String::new()],
        Key::PageSize => page_sizes(locator.root),
        Key::Device => devices(locator.root),
        Key::Cgroup => locator.own_cgroup().map(str::to_owned).into_iter().collect(),
        Key::Word | Key::Argument => Vec::new(),
    }
}

fn with_key(pattern: &str, key: &str) -> String {
    match (pattern.find('['), pattern.find(']')) {
        (Some(open), Some(close)) => format!("{}{key}{}", &pattern[..=open], &pattern[close..]),
        _ => pattern.to_owned(),
    }
}

/// Devices that hold something: hosts have many loop devices with no file behind them.
fn devices(root: &Root) -> Vec<String> {
    let is_empty = |name: &String| root.read(&format!("/sys/block/{name}/size")).is_ok_and(|text| text.trim() == "0");
    let names = root.list("/sys/block").unwrap_or_default();
    names.into_iter().filter(|name| !is_empty(name)).collect()
}

fn page_sizes(root: &Root) -> Vec<String> {
    let folders = root.list("/sys/kernel/mm/transparent_hugepage").unwrap_or_default();
    let size = |name: &String| name.strip_prefix("hugepages-")?.strip_suffix("kB")?.parse::<u64>().ok();
    let mut sizes: Vec<u64> = folders.iter().filter_map(size).collect();
    sizes.sort_unstable();
    sizes.into_iter().map(|kib| format!("{kib}k")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pagewise_testkit::FakeHost;

    #[test]
    fn values_are_those_of_the_list_on_every_kind_of_host() {
        for fake in [FakeHost::rhel6(), FakeHost::debian11(), FakeHost::modern(), FakeHost::hybrid(), FakeHost::empty()]
        {
            let root = Root::at(fake.path());
            let listed: Vec<(String, String)> =
                list(&root).into_iter().filter_map(|one| Some((one.name, one.value?.ok()?))).collect();
            let values = values(&root);
            let valued: Vec<(String, String)> =
                values.iter().map(|one| (one.tunable.name.clone(), one.value.clone())).collect();
            assert_eq!(valued, listed);
            for (path, text) in values.iter().flat_map(|one| &one.files) {
                assert_eq!(root.read(path).ok().as_ref(), Some(text), "{path}");
            }
        }
    }

    #[test]
    fn a_pair_comes_from_two_files_and_memory_that_is_aged_from_none() {
        let fake = FakeHost::hybrid();
        let values = values(&Root::at(fake.path()));
        let files = |name: &str| values.iter().find(|one| one.tunable.name == name).map(|one| one.files.len());
        assert_eq!((files("vm.dirty"), files("vm.swappiness"), files("swap")), (Some(2), Some(1), Some(1)));
        assert_eq!(files("cgroup[/batch].memory.limit_in_bytes"), Some(1));
        assert_eq!(files("memory_state"), None, "a captured tree does not say");
    }
}

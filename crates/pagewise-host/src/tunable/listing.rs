//! Every tunable with what this host has of it, for `pagewise show`.

use super::{TunableError, file, location, read};
use crate::facts::cgroup;
use crate::root::Root;
use pagewise_core::tunable::{self, Descriptor, Key, Tunable, find};

/// A tunable on a host.
#[derive(Debug)]
pub struct Listed {
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
pub fn list(root: &Root) -> Vec<Listed> {
    tunable::all().flat_map(|descriptor| instances(root, descriptor)).collect()
}

impl Listed {
    /// One tunable by its name.
    ///
    /// # Errors
    /// When there is none of this name.
    pub fn one(root: &Root, name: &str) -> Result<Listed, TunableError> {
        Ok(listed(root, &find(name)?))
    }
}

fn instances(root: &Root, descriptor: &'static Descriptor) -> Vec<Listed> {
    let named: Vec<Listed> = keys(root, descriptor)
        .iter()
        .filter_map(|key| find(&with_key(descriptor.name, key)).ok())
        .filter(|tunable| goes_by_its_own_name(root, tunable))
        .map(|tunable| listed(root, &tunable))
        .collect();
    if !named.is_empty() {
        return named;
    }
    let value = (descriptor.scope == tunable::Scope::Host).then(|| {
        Err(TunableError::Missing { tunable: descriptor.name.to_owned(), why: format!("since {}", descriptor.source) })
    });
    vec![Listed { name: descriptor.name.to_owned(), descriptor, allowed: descriptor.grammar.allowed(), value }]
}

fn listed(root: &Root, tunable: &Tunable) -> Listed {
    let choices = file::choices(root, tunable).ok().flatten().map(|choices| choices.join(" "));
    Listed {
        name: tunable.name.clone(),
        descriptor: tunable.descriptor,
        allowed: choices.unwrap_or_else(|| tunable.descriptor.grammar.allowed()),
        value: (!tunable.is_for_job()).then(|| read(root, &tunable.name)),
    }
}

/// A hard limit has two names, and each host's files go by one of them.
fn goes_by_its_own_name(root: &Root, tunable: &Tunable) -> bool {
    let files = location::candidates(root, tunable).unwrap_or_default();
    tunable.descriptor.key != Key::Cgroup || files.first().is_some_and(|file| root.exists(file))
}

/// What can stand for the key here. A name without a key has one instance: itself.
fn keys(root: &Root, descriptor: &Descriptor) -> Vec<String> {
    match descriptor.key {
        Key::None => vec![String::new()],
        Key::PageSize => page_sizes(root),
        Key::Device => devices(root),
        Key::Cgroup => own_cgroup(root),
        Key::Word => Vec::new(),
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

/// The group we are in, as its path below the mount point.
fn own_cgroup(root: &Root) -> Vec<String> {
    let (Ok(mount), Ok(own)) = (cgroup::memory_mount(root), cgroup::own_memory_cgroup(root)) else { return Vec::new() };
    let below = own.folder.strip_prefix(&mount.folder).unwrap_or_default();
    vec![if below.is_empty() { "/".to_owned() } else { below.to_owned() }]
}

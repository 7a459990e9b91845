//! One test at a time touches the host, and each leaves it as it was.

use pagewise_host::root::Root;
use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

/// Held as long as a test changes the host or needs it unchanged by others.
#[must_use = "the lock is given back when this is dropped"]
#[derive(Debug)]
pub struct HostLock {
    // Closing the file gives the lock back, also when the test is killed.
    _file: File,
}

/// Waits until no other test, of this or another test binary, holds the host.
///
/// # Panics
/// When the lock file cannot be made or locked.
pub fn host_lock() -> HostLock {
    let path = std::env::temp_dir().join("pagewise-host-tests.lock");
    let file = open_for_everyone(&path).unwrap_or_else(|e| panic!("cannot open {}: {e}", path.display()));
    while let Err(error) = rustix::fs::flock(&file, rustix::fs::FlockOperation::LockExclusive) {
        assert!(error == rustix::io::Errno::INTR, "cannot lock {}: {error}", path.display());
    }
    HostLock { _file: file }
}

/// Root and ordinary users share the file. It is opened for reading, because `fs.protected_regular` forbids another
/// user's file in a sticky folder to be opened with `O_CREAT`.
fn open_for_everyone(path: &PathBuf) -> std::io::Result<File> {
    if let Ok(file) = File::open(path) {
        return Ok(file);
    }
    match File::create_new(path) {
        Ok(file) => file.set_permissions(PermissionsExt::from_mode(0o666))?,
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error),
    }
    File::open(path)
}

/// Compares the host's settings at the end of a test with those at its start, and fails the test where they differ.
#[must_use = "the comparison is made when this is dropped"]
#[derive(Debug)]
pub struct HostUnchanged<'lock> {
    before: BTreeMap<String, String>,
    _lock: &'lock HostLock,
}

impl<'lock> HostUnchanged<'lock> {
    /// Notes the settings now. Needs the lock, because another test's change is not this one's fault.
    pub fn watch(lock: &'lock HostLock) -> Self {
        HostUnchanged { before: settings(), _lock: lock }
    }
}

impl HostUnchanged<'_> {
    /// What differs now from the start.
    #[must_use]
    pub fn differences(&self) -> Vec<String> {
        differences(&self.before, &settings())
    }
}

impl Drop for HostUnchanged<'_> {
    fn drop(&mut self) {
        let differences = self.differences();
        // A second panic while the first unwinds would abort and hide the first.
        if !differences.is_empty() && !std::thread::panicking() {
            panic!("the test left the host changed:\n{}", differences.join("\n"));
        }
        for difference in differences {
            crate::requires::say(&format!("LEFT CHANGED {difference}"));
        }
    }
}

/// Every setting that a test of ours may move. Counters and what the kernel moves by itself are left out.
fn settings() -> BTreeMap<String, String> {
    let root = Root::live();
    setting_files(&root).into_iter().map(|path| (path.clone(), value(&root, &path))).collect()
}

fn value(root: &Root, path: &str) -> String {
    match root.read(path) {
        Ok(text) if path == "/proc/swaps" => swap_areas(&text),
        Ok(text) => text.trim().to_owned(),
        Err(error) if error.is_missing() => "absent".to_owned(),
        Err(_) => "not readable".to_owned(),
    }
}

/// Name, kind, size and priority; how much of it is used is not a setting.
fn swap_areas(swaps: &str) -> String {
    let without_used = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        fields
            .iter()
            .enumerate()
            .filter(|(column, _)| *column != 3)
            .map(|(_, field)| *field)
            .collect::<Vec<_>>()
            .join(" ")
    };
    swaps.lines().skip(1).map(without_used).collect::<Vec<_>>().join("; ")
}

const VM: [&str; 22] = [
    "compaction_proactiveness",
    "compact_unevictable_allowed",
    "defrag_mode",
    "dirty_background_bytes",
    "dirty_background_ratio",
    "dirty_bytes",
    "dirty_expire_centisecs",
    "dirty_ratio",
    "dirty_writeback_centisecs",
    "extfrag_threshold",
    "max_map_count",
    "min_free_kbytes",
    "nr_hugepages",
    "nr_overcommit_hugepages",
    "overcommit_memory",
    "overcommit_ratio",
    "page-cluster",
    "swappiness",
    "vfs_cache_pressure",
    "watermark_boost_factor",
    "watermark_scale_factor",
    "zone_reclaim_mode",
];

fn setting_files(root: &Root) -> Vec<String> {
    const THP: &str = "/sys/kernel/mm/transparent_hugepage";
    let mut files = vec!["/proc/swaps".to_owned(), "/proc/sys/kernel/numa_balancing".to_owned()];
    files.extend(VM.iter().map(|name| format!("/proc/sys/vm/{name}")));
    for name in ["enabled", "defrag", "use_zero_page", "shmem_enabled", "shrink_underused"] {
        files.push(format!("{THP}/{name}"));
    }
    for name in ["defrag", "pages_to_scan", "scan_sleep_millisecs", "alloc_sleep_millisecs"] {
        files.push(format!("{THP}/khugepaged/{name}"));
    }
    for name in ["max_ptes_none", "max_ptes_swap", "max_ptes_shared"] {
        files.push(format!("{THP}/khugepaged/{name}"));
    }
    let sizes = root.list(THP).unwrap_or_default();
    for size in sizes.iter().filter(|name| name.starts_with("hugepages-")) {
        files.push(format!("{THP}/{size}/enabled"));
        files.push(format!("{THP}/{size}/shmem_enabled"));
    }
    for name in ["enabled", "min_ttl_ms"] {
        files.push(format!("/sys/kernel/mm/lru_gen/{name}"));
    }
    for device in root.list("/sys/block").unwrap_or_default() {
        files.push(format!("/sys/block/{device}/queue/read_ahead_kb"));
    }
    files
}

fn differences(before: &BTreeMap<String, String>, after: &BTreeMap<String, String>) -> Vec<String> {
    let absent = String::from("absent");
    let files: std::collections::BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    files
        .into_iter()
        .map(|file| (file, before.get(file).unwrap_or(&absent), after.get(file).unwrap_or(&absent)))
        .filter(|(_, before, after)| before != after)
        .map(|(file, before, after)| format!("{file}: was '{before}', is '{after}'"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_second_holder_waits_for_the_first_even_in_the_same_process() {
        let first = host_lock();
        let (sent, received) = std::sync::mpsc::channel();
        let second = std::thread::spawn(move || {
            let _lock = host_lock();
            sent.send(()).expect("the test listens");
        });
        assert!(received.recv_timeout(Duration::from_millis(100)).is_err(), "it did not wait");
        drop(first);
        // Other test binaries may hold the host for a while.
        received.recv_timeout(Duration::from_secs(600)).expect("the lock was not given back");
        second.join().expect("the second holder");
    }

    #[test]
    fn a_value_left_changed_is_named_with_both_values() {
        let before = BTreeMap::from([("/proc/sys/vm/swappiness".to_owned(), "60".to_owned())]);
        let after = BTreeMap::from([("/proc/sys/vm/swappiness".to_owned(), "1".to_owned())]);
        assert_eq!(differences(&before, &after), ["/proc/sys/vm/swappiness: was '60', is '1'"]);
        assert_eq!(differences(&before, &before), Vec::<String>::new());
    }

    #[test]
    fn used_swap_is_not_a_change_but_another_area_is() {
        let head = "Filename Type Size Used Priority\n";
        let idle = format!("{head}/swap file 1048572 0 -2\n");
        let busy = format!("{head}/swap file 1048572 4096 -2\n");
        assert_eq!(swap_areas(&idle), swap_areas(&busy));
        assert_ne!(swap_areas(&idle), swap_areas(head));
    }
}

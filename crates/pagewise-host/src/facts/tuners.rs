//! Others that set the same tunables: daemons, boot parameters, and files that are applied at boot or on a reload.
//!
//! Only their names and the lines about tunables we know are shown, never a whole command line.

use crate::root::Root;
use pagewise_core::report::doctor::{Area, Capability, State};
use std::collections::BTreeMap;

const AREA: Area = Area::OtherTuners;

pub(super) fn probe(root: &Root) -> Vec<Capability> {
    vec![daemons(root), boot_parameters(root), sysctl_files(root), other_files(root), unit_files(root)]
}

/// Process name (at most 15 letters, as the kernel keeps it), what people call it, and what it does to us.
const DAEMONS: [(&str, &str); 12] = [
    ("tuned", "TuneD"),
    ("saptune", "saptune"),
    ("sapconf", "sapconf"),
    ("bpftune", "bpftune"),
    ("adaptivemmd", "adaptivemm"),
    ("ktuned", "ktuned"),
    ("ksmtuned", "ksmtuned"),
    ("numad", "numad"),
    ("uresourced", "uresourced"),
    ("earlyoom", "earlyoom"),
    ("systemd-oomd", "systemd-oomd"),
    ("oomd", "oomd"),
];

fn daemons(root: &Root) -> Capability {
    let (id, what) = ("tuners.daemons", "clear of daemons");
    let processes = root.list("/proc").unwrap_or_default();
    let pids = processes.iter().filter(|name| name.bytes().all(|b| b.is_ascii_digit()));
    let mut asked = 0;
    let mut found: Vec<&str> = Vec::new();
    for pid in pids {
        let Ok(name) = root.read(&format!("/proc/{pid}/comm")) else { continue };
        asked += 1;
        found.extend(DAEMONS.iter().find(|(comm, _)| *comm == name.trim()).map(|(_, shown)| *shown));
    }
    // TuneD is a Python program: its process may be called python3. It keeps its profile's name while it is active.
    let profile = root.read("/etc/tuned/active_profile").map(|text| text.trim().to_owned()).unwrap_or_default();
    if !found.contains(&"TuneD") && !profile.is_empty() && root.exists("/run/tuned/tuned.pid") {
        found.push("TuneD");
    }
    // saptune and sapconf apply and go: what stays is their state.
    if root.exists("/run/saptune/saved_state") || root.exists("/var/lib/saptune/saved_state") {
        found.push("saptune");
    }
    found.sort_unstable();
    found.dedup();
    if asked == 0 && found.is_empty() {
        return Capability::unknown(AREA, id, what, "the tree shows no processes", "");
    }
    if found.is_empty() {
        return Capability::yes(AREA, id, what, "no TuneD, saptune, bpftune or other tuner runs");
    }
    let profile = if profile.is_empty() || !found.contains(&"TuneD") {
        String::new()
    } else {
        format!(" (TuneD profile {profile})")
    };
    let why = format!("{} may change settings during a trial{profile}", found.join(", "));
    Capability::yes(AREA, id, what, "").with(
        State::Limited,
        why,
        "stop it for the trial, such as: systemctl stop tuned",
    )
}

/// Boot parameters that decide a tunable, or whether it is there (`admin-guide/kernel-parameters.txt`, 6.18).
const PARAMETERS: [&str; 18] = [
    "transparent_hugepage",
    "transparent_hugepage_shmem",
    "transparent_hugepage_tmpfs",
    "thp_anon",
    "thp_shmem",
    "hugepages",
    "hugepagesz",
    "default_hugepagesz",
    "hugetlb_cma",
    "numa_balancing",
    "psi",
    "swapaccount",
    "cgroup_disable",
    "cgroup_enable",
    "cgroup_no_v1",
    "systemd.unified_cgroup_hierarchy",
    "zswap.enabled",
    "mem",
];

fn boot_parameters(root: &Root) -> Capability {
    let (id, what) = ("tuners.boot", "clear of boot args");
    let line = match root.read("/proc/cmdline") {
        Ok(line) => line,
        Err(_) if !root.is_live() => return Capability::unknown(AREA, id, what, super::NOT_CAPTURED, ""),
        Err(error) => return Capability::unknown(AREA, id, what, error.to_string(), ""),
    };
    let name = |word: &str| word.split('=').next().unwrap_or_default().to_owned();
    let ours: Vec<&str> = line.split_whitespace().filter(|word| PARAMETERS.contains(&name(word).as_str())).collect();
    if ours.is_empty() {
        return Capability::yes(AREA, id, what, "the kernel's command line sets none of our tunables");
    }
    let decides = ours.iter().any(|word| word.starts_with("transparent_hugepage=") || word.starts_with("thp_anon="));
    if decides {
        return Capability::yes(AREA, id, what, ours.join(" ")).with(
            State::Limited,
            "TuneD leaves THP alone while this is set, and a boot brings it back",
            "nothing for a trial; to keep another value change it there",
        );
    }
    Capability::yes(AREA, id, what, format!("{}: in no trial's way", ours.join(" ")))
}

/// Where `sysctl --system` and systemd read, first one first: a file hides those of the same name further down
/// (`man 5 sysctl.d`).
const SYSCTL_FOLDERS: [&str; 5] =
    ["/etc/sysctl.d", "/run/sysctl.d", "/usr/local/lib/sysctl.d", "/usr/lib/sysctl.d", "/lib/sysctl.d"];

/// Sysctls that are tunables of ours.
const SYSCTLS: [&str; 20] = [
    "vm.swappiness",
    "vm.page-cluster",
    "vm.min_free_kbytes",
    "vm.watermark_scale_factor",
    "vm.watermark_boost_factor",
    "vm.compaction_proactiveness",
    "vm.defrag_mode",
    "vm.dirty_ratio",
    "vm.dirty_background_ratio",
    "vm.dirty_bytes",
    "vm.dirty_background_bytes",
    "vm.vfs_cache_pressure",
    "vm.overcommit_memory",
    "vm.overcommit_ratio",
    "vm.zone_reclaim_mode",
    "vm.nr_hugepages",
    "vm.nr_overcommit_hugepages",
    "vm.max_map_count",
    "vm.extfrag_threshold",
    "kernel.numa_balancing",
];

fn sysctl_files(root: &Root) -> Capability {
    let (id, what) = ("tuners.sysctl", "clear of sysctl.d");
    let mut files = files_by_name(root, &SYSCTL_FOLDERS, ".conf");
    if root.exists("/etc/sysctl.conf") {
        files.entry("99-sysctl.conf".to_owned()).or_insert_with(|| "/etc/sysctl.conf".to_owned());
    }
    // Files are applied in the order of their names, and the last one to set a value wins.
    let mut set: BTreeMap<String, (String, String)> = BTreeMap::new();
    for (name, path) in &files {
        for (tunable, value) in sysctl_lines(&root.read(path).unwrap_or_default()) {
            set.insert(tunable, (value, name.clone()));
        }
    }
    let shown: Vec<String> = set.iter().map(|(tunable, (value, file))| format!("{tunable}={value} ({file})")).collect();
    applied_at_boot(root, id, what, "no line sets one of our tunables", &shown)
}

fn sysctl_lines(text: &str) -> Vec<(String, String)> {
    let line = |line: &str| {
        let line = line.trim().trim_start_matches('-');
        if line.starts_with(['#', ';']) {
            return None;
        }
        let (name, value) = line.split_once('=')?;
        let name = name.trim().replace('/', ".");
        SYSCTLS.contains(&name.as_str()).then(|| (name, value.trim().to_owned()))
    };
    text.lines().filter_map(line).collect()
}

/// What tmpfiles.d and udev write into sysfs.
fn other_files(root: &Root) -> Capability {
    let (id, what) = ("tuners.tmpfiles", "clear of tmpfiles.d");
    let tmpfiles = ["/etc/tmpfiles.d", "/run/tmpfiles.d", "/usr/lib/tmpfiles.d"];
    let rules = ["/etc/udev/rules.d", "/run/udev/rules.d", "/usr/lib/udev/rules.d", "/lib/udev/rules.d"];
    let mut shown = matching_lines(root, &files_by_name(root, &tmpfiles, ".conf"), |line| {
        let mut fields = line.split_whitespace();
        let writes = fields.next().is_some_and(|kind| kind.starts_with('w'));
        let path = fields.next().unwrap_or_default();
        let ours = ["transparent_hugepage", "/lru_gen/", "read_ahead_kb", "/proc/sys/vm/", "/damon"];
        let name = path.rsplit('/').next().unwrap_or_default().to_owned();
        (writes && ours.iter().any(|part| path.contains(part))).then_some(name)
    });
    shown.extend(matching_lines(root, &files_by_name(root, &rules, ".rules"), |line| {
        let sets = ["read_ahead_kb}=", "bdi/read_ahead_kb", "transparent_hugepage"];
        sets.iter().any(|part| line.contains(part)).then(|| "read-ahead or THP".to_owned())
    }));
    applied_at_boot(root, id, what, "no tmpfiles.d or udev line writes our tunables", &shown)
}

/// `MemoryTHP=` of a unit keeps THP from its processes, whatever the host's setting.
fn unit_files(root: &Root) -> Capability {
    let (id, what) = ("tuners.units", "clear of MemoryTHP=");
    let mut shown = Vec::new();
    for folder in ["/etc/systemd/system", "/run/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system"] {
        for name in root.list(folder).unwrap_or_default() {
            let path = format!("{folder}/{name}");
            let files = match name.strip_suffix(".d") {
                Some(_) => root.list(&path).unwrap_or_default().iter().map(|file| format!("{path}/{file}")).collect(),
                None => vec![path],
            };
            let sets = |file: &String| {
                let text = root.read(file).unwrap_or_default();
                text.lines().find_map(|line| line.trim().strip_prefix("MemoryTHP=").map(str::to_owned))
            };
            shown.extend(files.iter().find_map(sets).map(|value| format!("{name}: {value}")));
        }
    }
    shown.sort();
    shown.dedup();
    if shown.is_empty() && !super::shows(root, "/etc") {
        return Capability::unknown(AREA, id, what, super::NOT_CAPTURED, "");
    }
    if shown.is_empty() {
        return Capability::yes(AREA, id, what, "no systemd unit sets THP for its processes");
    }
    let why = "these units' processes do not follow the host's THP setting";
    Capability::yes(AREA, id, what, few(&shown)).with(State::Limited, why, "drop the line for a job under test")
}

/// File name to path; an earlier folder hides a later one.
fn files_by_name(root: &Root, folders: &[&str], ending: &str) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    for folder in folders {
        for name in root.list(folder).unwrap_or_default().into_iter().filter(|name| name.ends_with(ending)) {
            let path = format!("{folder}/{name}");
            files.entry(name).or_insert(path);
        }
    }
    files
}

fn matching_lines(
    root: &Root,
    files: &BTreeMap<String, String>,
    matches: impl Fn(&str) -> Option<String>,
) -> Vec<String> {
    let mut shown = Vec::new();
    for (name, path) in files {
        let text = root.read(path).unwrap_or_default();
        let lines = text.lines().map(str::trim).filter(|line| !line.starts_with('#'));
        shown.extend(lines.filter_map(&matches).map(|what| format!("{what} ({name})")));
    }
    shown.dedup();
    shown
}

fn applied_at_boot(root: &Root, id: &str, what: &str, none: &str, shown: &[String]) -> Capability {
    if shown.is_empty() {
        return if super::shows(root, "/etc") {
            Capability::yes(AREA, id, what, none)
        } else {
            Capability::unknown(AREA, id, what, super::NOT_CAPTURED, "")
        };
    }
    let why = "set again at boot and on a reload";
    let remedy = "nothing for a trial; to keep another value change it there";
    Capability::yes(AREA, id, what, few(shown)).with(State::Limited, why, remedy)
}

fn few(shown: &[String]) -> String {
    let more = if shown.len() > 4 { format!(" and {} more", shown.len() - 4) } else { String::new() };
    shown.iter().take(4).cloned().collect::<Vec<_>>().join(", ") + &more
}

#[cfg(test)]
mod tests {
    use super::*;
    use pagewise_testkit::FakeHost;

    #[test]
    fn a_running_tuned_is_named_with_its_profile() {
        let fake = FakeHost::modern()
            .file("/proc/77/comm", "tuned\n")
            .file("/etc/tuned/active_profile", "throughput-performance\n");
        let found = daemons(&Root::at(fake.path()));
        assert_eq!(found.state, State::Limited);
        assert!(found.why_not.as_deref().is_some_and(|why| why.contains("throughput-performance")), "{found:?}");
    }

    #[test]
    fn without_any_process_to_see_nothing_is_claimed() {
        assert_eq!(daemons(&Root::at(FakeHost::modern().path())).state, State::Unknown);
    }

    #[test]
    fn only_boot_parameters_of_ours_are_shown() {
        let fake =
            FakeHost::modern().file("/proc/cmdline", "root=/dev/sda secret=1 transparent_hugepage=never psi=1\n");
        let found = boot_parameters(&Root::at(fake.path()));
        assert_eq!(found.value.as_deref(), Some("transparent_hugepage=never psi=1"));
        assert_eq!(found.state, State::Limited);
    }

    #[test]
    fn the_last_sysctl_file_wins_and_a_hidden_one_does_not_count() {
        let fake = FakeHost::modern()
            .file("/usr/lib/sysctl.d/10-a.conf", "vm.swappiness = 10\n")
            .file("/etc/sysctl.d/50-b.conf", "# vm.swappiness=5\nvm/swappiness = 1\nnet.core.somaxconn=1\n")
            .file("/usr/lib/sysctl.d/50-b.conf", "vm.dirty_ratio=7\n");
        let found = sysctl_files(&Root::at(fake.path()));
        assert_eq!(found.value.as_deref(), Some("vm.swappiness=1 (50-b.conf)"));
    }

    #[test]
    fn a_tmpfiles_line_that_writes_thp_is_found() {
        let fake = FakeHost::modern().file(
            "/etc/tmpfiles.d/thp.conf",
            "w! /sys/kernel/mm/transparent_hugepage/enabled - - - - never\nd /run/x\n",
        );
        let found = other_files(&Root::at(fake.path()));
        assert_eq!(found.value.as_deref(), Some("enabled (thp.conf)"));
    }

    #[test]
    fn a_unit_that_sets_thp_for_its_processes_is_found_in_its_drop_in() {
        let fake =
            FakeHost::modern().file("/etc/systemd/system/batch.service.d/thp.conf", "[Service]\nMemoryTHP=disable\n");
        let found = unit_files(&Root::at(fake.path()));
        assert_eq!(found.value.as_deref(), Some("batch.service.d: disable"));
    }
}

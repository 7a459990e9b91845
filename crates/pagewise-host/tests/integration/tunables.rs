//! Tunables on hosts of every age, from trees; and on this host, each written and put back.

use pagewise_core::tunable::policy::{Policy, PolicyError};
use pagewise_core::tunable::{self, Grammar, Scope, Tunable};
use pagewise_host::root::Root;
use pagewise_host::tunable::{self as host_tunable, HostSetting, HostTunable, Places, TunableError, list, resolve};
use pagewise_testkit::{FakeHost, HostUnchanged, host_lock, requires};
use std::path::{Path, PathBuf};

fn find(name: &str) -> Tunable {
    tunable::find(name).unwrap_or_else(|e| panic!("{e}"))
}

fn read(root: &Root, name: &str) -> Result<String, TunableError> {
    host_tunable::read(root, &find(name))
}

fn write(root: &Root, name: &str, value: &str) -> Result<(), TunableError> {
    host_tunable::write(root, &find(name), value)
}

fn same(name: &str, a: &str, b: &str) -> bool {
    find(name).same(a, b)
}

fn shell_lines(root: &Root, name: &str, value: &str) -> Vec<String> {
    host_tunable::shell_lines(root, &find(name), value)
}

fn artefacts(name: &str, value: &str) -> Vec<PathBuf> {
    host_tunable::artefacts(&find(name), value)
}

fn places(folder: &Path) -> Places {
    Places { state: folder.join("state"), cache: folder.join("cache") }
}

fn resolved(root: &Root, text: &str) -> Result<pagewise_host::tunable::Resolved, TunableError> {
    let policy: Policy = text.parse().map_err(|error| match error {
        PolicyError::Name(error) => TunableError::from(error),
        other => panic!("{other}"),
    })?;
    resolve(root, &places(Path::new("/var/tmp")), &policy)
}

fn refusal(root: &Root, text: &str) -> TunableError {
    match resolved(root, text) {
        Err(error) => error,
        Ok(resolved) => panic!("'{text}' was not refused: {resolved:?}"),
    }
}

fn value(root: &Root, name: &str) -> String {
    read(root, name).unwrap_or_else(|e| panic!("{e}"))
}

fn present(root: &Root) -> Vec<HostTunable> {
    list(root).into_iter().filter(|listed| listed.value.as_ref().is_some_and(Result::is_ok)).collect()
}

/// Another value that may be asked for, near the one now.
fn another(root: &Root, listed: &HostTunable, now: &str) -> Option<String> {
    let near = |number: u64, min: u64, max: u64, step: u64| {
        let up = number.saturating_add(step);
        if up <= max { up } else { number.saturating_sub(step).max(min) }
    };
    match listed.descriptor.grammar {
        Grammar::Choice => listed.allowed.split(' ').find(|choice| *choice != now).map(str::to_owned),
        Grammar::Switch => Some(if now == "1" { "0" } else { "1" }.to_owned()),
        Grammar::Mask => Some(if now == "0x0000" { "0x0001" } else { "0x0000" }.to_owned()),
        Grammar::Integer { min, max, step } => {
            let now = now.parse().expect("a number");
            Some(near(now, min, max, step).to_string()).filter(|other| *other != now.to_string())
        }
        Grammar::Pair(_) => Some(if now.ends_with('%') { "67108864" } else { "15%" }.to_owned()),
        Grammar::ZeroOr { min } => Some(if now == "0" { min } else { 0 }.to_string()),
        // What of such a form is in force may be a number.
        Grammar::Form(_) => now.parse().ok().map(|now: u64| near(now, 0, u64::MAX, 1).to_string()),
        Grammar::Limit | Grammar::Swap | Grammar::Text => None,
    }
    .filter(|other| resolved(root, &format!("{}={other}", listed.name)).is_ok())
}

#[test]
fn every_tunable_of_every_kernel_is_read_written_and_put_back() {
    let hosts = [
        ("RHEL 6", FakeHost::rhel6(), 18),
        ("Debian 11", FakeHost::debian11(), 26),
        ("6.12", FakeHost::modern(), 30),
        ("6.18", FakeHost::hybrid(), 28),
    ];
    for (name, host, at_least) in hosts {
        let root = host.root();
        let mut tried = 0;
        for listed in present(&root) {
            let before = value(&root, &listed.name);
            let Some(other) = another(&root, &listed, &before) else { continue };
            write(&root, &listed.name, &other).unwrap_or_else(|e| panic!("{name}: {e}"));
            // A tree has no kernel to move the brackets.
            if listed.descriptor.grammar != Grammar::Choice {
                assert!(same(&listed.name, &value(&root, &listed.name), &other), "{name}: {}", listed.name);
                write(&root, &listed.name, &before).unwrap_or_else(|e| panic!("{name}: {e}"));
                assert_eq!(value(&root, &listed.name), before, "{name}: {}", listed.name);
            }
            tried += 1;
        }
        assert!(tried >= at_least, "{name}: only {tried} tunables were tried");
    }
}

#[test]
fn every_word_that_a_kernel_lists_is_one_that_a_plan_may_have() {
    let hosts = [FakeHost::rhel6(), FakeHost::debian11(), FakeHost::modern(), FakeHost::hybrid()]
        .map(|host| (host.root(), Some(host)));
    let mut seen = 0;
    for (root, _host) in hosts.into_iter().chain([(Root::live(), None)]) {
        for listed in present(&root).into_iter().filter(|listed| listed.descriptor.grammar == Grammar::Choice) {
            for word in listed.allowed.split(' ') {
                assert!(listed.descriptor.words.contains(&word), "{}: '{word}' is not known", listed.name);
                seen += 1;
            }
        }
    }
    assert!(seen >= 20, "only {seen} words were seen");
}

#[test]
fn red_hats_own_path_and_words_are_understood() {
    let host = FakeHost::rhel6();
    let root = host.root();
    assert_eq!(value(&root, "thp.enabled"), "always");
    assert_eq!(value(&root, "khugepaged.defrag"), "1");
    write(&root, "khugepaged.defrag", "0").unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(host.text("/sys/kernel/mm/redhat_transparent_hugepage/khugepaged/defrag"), "no");
    assert!(read(&root, "thp.shmem_enabled").is_err_and(|error| error.is_missing()));
}

#[test]
fn a_value_the_kernel_does_not_list_is_refused_with_those_it_does() {
    let error = refusal(&FakeHost::rhel6().root(), "thp.defrag=defer+madvise");
    assert!(error.is_usage());
    assert!(error.to_string().contains("always madvise never"), "{error}");
}

#[test]
fn what_a_kernel_lacks_is_named_with_its_file() {
    let host = FakeHost::rhel6();
    for (policy, file) in [
        ("mglru.enabled=y", "lru_gen/enabled"),
        ("mthp[64k].enabled=always", "hugepages-64kB"),
        ("vm.defrag_mode=1", "proc/sys/vm/defrag_mode"),
        ("block[nvme9n9].read_ahead_kb=128", "sys/block/nvme9n9"),
    ] {
        let error = refusal(&host.root(), policy);
        assert!(error.is_missing(), "{error}");
        assert!(error.to_string().contains(file), "{error}");
    }
}

#[test]
fn switching_thp_says_that_the_kernel_moves_the_watermarks_with_it() {
    let host = FakeHost::modern();
    let settings = resolved(&host.root(), "thp.enabled=never,mthp[64K].enabled=always,thp.defrag=never").expect("fit");
    let coupled: Vec<(&str, usize)> =
        settings.host.iter().map(|setting| (setting.tunable.name.as_str(), setting.coupled.len())).collect();
    assert_eq!(coupled, [("thp.enabled", 1), ("mthp[64k].enabled", 1), ("thp.defrag", 0)]);
    assert_eq!(settings.host[0].coupled, [find("vm.min_free_kbytes")]);
}

#[test]
fn both_faces_of_a_pair_are_one_tunable() {
    let host = FakeHost::debian11();
    let root = host.root();
    assert_eq!(value(&root, "vm.dirty"), "20%");
    assert_eq!(value(&root, "vm.dirty_bytes"), "20%");
    let setting =
        |text: &str| -> HostSetting { resolved(&root, text).unwrap_or_else(|e| panic!("{e}")).host.remove(0) };
    assert_eq!(
        (setting("vm.dirty_ratio=30").tunable, setting("vm.dirty_bytes=64M").value),
        (find("vm.dirty"), "67108864".into())
    );
    write(&root, "vm.dirty", "67108864").unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(host.text("/proc/sys/vm/dirty_bytes"), "67108864");
    assert_eq!(host.text("/proc/sys/vm/dirty_ratio"), "0");
    write(&root, "vm.dirty", "20%").unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(
        (host.text("/proc/sys/vm/dirty_bytes"), host.text("/proc/sys/vm/dirty_ratio")),
        ("0".into(), "20".into())
    );
    assert!(matches!(refusal(&root, "vm.dirty_bytes=64M,vm.dirty_ratio=20"), TunableError::Conflict { .. }));
    assert!(refusal(&root, "vm.dirty_bytes=0").to_string().contains("percentage"));
}

#[test]
fn a_tunable_stands_once_in_a_policy_whatever_it_is_called() {
    let root = FakeHost::modern();
    for text in ["thp.enabled=never,thp.enabled=always", "mthp[64k].enabled=always,mthp[65536].enabled=never"] {
        assert!(matches!(refusal(&root.root(), text), TunableError::Conflict { .. }), "{text}");
    }
    let v2 = "/system.slice/batch.service";
    let text = format!("cgroup[{v2}].memory.max=1G,cgroup[{v2}].memory.limit_in_bytes=2G");
    assert!(matches!(refusal(&root.root(), &text), TunableError::Conflict { .. }));
}

#[test]
fn a_ceiling_holds_for_a_user_but_not_for_putting_back() {
    let host = FakeHost::debian11();
    let error = refusal(&host.root(), "vm.min_free_kbytes=900000");
    assert!(matches!(error, TunableError::Ceiling { ceiling: 816_550, .. }), "{error}");
    write(&host.root(), "vm.min_free_kbytes", "900000").unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(value(&host.root(), "vm.min_free_kbytes"), "900000");
}

#[test]
fn what_is_to_be_left_of_memory_becomes_a_number_of_huge_pages() {
    let host = FakeHost::debian11();
    let root = host.root();
    let memory = |name: &str| {
        let all = pagewise_host::source::meminfo::read(&root).expect("a meminfo");
        all.get(name).copied().unwrap_or_else(|| panic!("no {name}"))
    };
    let pages = |left: u64| (memory("MemTotal") - left) / memory("Hugepagesize");
    let mut settings = resolved(&root, "vm.nr_hugepages=all-but(3G)").unwrap_or_else(|error| panic!("{error}"));
    let setting = settings.host.remove(0);
    assert_eq!(setting.value, pages(3 << 30).to_string());
    write(&root, "vm.nr_hugepages", &setting.value).unwrap_or_else(|error| panic!("{error}"));
    assert!(setting.is_in_force(&root), "the number is what holds");
    // A large host may be left with 2 GiB, though that is less than a fifth of it.
    assert!(memory("MemTotal") > 10 << 30, "the host is a large one");
    assert!(resolved(&root, "vm.nr_hugepages=all-but(2G)").is_ok());
    assert!(matches!(refusal(&root, "vm.nr_hugepages=all-but(1G)"), TunableError::Ceiling { .. }));
    assert!(matches!(refusal(&root, &format!("vm.nr_hugepages={}", pages(1 << 30))), TunableError::Ceiling { .. }));
}

#[test]
fn a_hard_limit_goes_by_either_name_in_either_version_of_control_groups() {
    for (host, group, file) in [
        (FakeHost::modern(), "/system.slice/batch.service", "/sys/fs/cgroup/system.slice/batch.service/memory.max"),
        (FakeHost::hybrid(), "/batch", "/sys/fs/cgroup/memory/batch/memory.limit_in_bytes"),
    ] {
        for name in ["memory.max", "memory.limit_in_bytes"] {
            let name = format!("cgroup[{group}].{name}");
            assert_eq!(value(&host.root(), &name), "max");
            write(&host.root(), &name, "1G").unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(host.text(file), "1073741824");
            write(&host.root(), &name, "max").unwrap_or_else(|e| panic!("{e}"));
        }
    }
    assert_eq!(FakeHost::hybrid().text("/sys/fs/cgroup/memory/batch/memory.limit_in_bytes"), "9223372036854771712");
    let error = refusal(&FakeHost::hybrid().root(), "cgroup[/batch].memory.high=1G");
    assert!(error.to_string().contains("version 1 here"), "{error}");
}

#[test]
fn what_is_for_the_job_touches_no_host() {
    let host = FakeHost::hybrid();
    let text = r"jvm.Xmx=2g,jvm.UseTransparentHugePages=true,env.A=x\,y,process.thp=never,workload.rows=5,cgroup[job].memory.max=1G";
    let resolved = resolved(&host.root(), text).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(resolved.host, []);
    assert_eq!(resolved.job.java_options, ["-Xmx2g", "-XX:+UseTransparentHugePages"]);
    assert_eq!(resolved.job.env["A"], "x,y");
    assert_eq!(resolved.job.workload_args["rows"], "5");
    assert_eq!(resolved.job.cgroup_limits["memory.limit_in_bytes"], "1073741824");
    assert!(matches!(read(&host.root(), "process.thp"), Err(TunableError::JobOnly { .. })));
}

#[test]
fn java_options_that_would_be_lost_are_a_conflict() {
    let error = refusal(&FakeHost::hybrid().root(), "env.JAVA_TOOL_OPTIONS=-Xint,jvm.Xmx=1g");
    assert!(matches!(error, TunableError::Conflict { .. }), "{error}");
}

#[test]
fn a_file_that_holds_nonsense_is_named_with_what_it_holds() {
    let host = FakeHost::debian11();
    host.write("/proc/sys/vm/swappiness", "lots\n");
    let error = read(&host.root(), "vm.swappiness").expect_err("nonsense");
    assert!(error.to_string().contains("lots") && error.to_string().contains("swappiness"), "{error}");
    host.write("/proc/swaps", "Filename\nonly-a-name\n");
    assert!(matches!(read(&host.root(), "swap"), Err(TunableError::Unreadable { .. })));
}

#[test]
fn foreign_swap_is_read_whole() {
    assert_eq!(value(&FakeHost::rhel6().root(), "swap"), "partition:8589934592@/dev/sda2");
    assert_eq!(value(&FakeHost::modern().root(), "swap"), "off");
}

#[test]
fn swapping_everything_back_into_too_little_memory_is_refused_before_it_is_tried() {
    let host = FakeHost::rhel6().meminfo(16_000_000, 1_000_000, 8_388_604);
    host.write("/proc/swaps", "Filename Type Size Used Priority\n/dev/sda2 partition 8388604 4000000 -1\n");
    let error = refusal(&host.root(), "swap=off");
    assert!(matches!(error, TunableError::Unsafe { .. }), "{error}");
    assert!(error.to_string().contains("3.8 GiB"), "{error}");
}

#[test]
fn a_swap_file_larger_than_the_disk_is_refused_before_it_is_made() {
    let error = refusal(&FakeHost::modern().root(), "swap=file:900T");
    assert!(matches!(error, TunableError::NoSpace { .. }), "{error}");
    assert!(error.to_string().contains("swap=file:900T:"), "as it was written: {error}");
    assert!(!Path::new("/var/tmp/cache/swap").exists());
}

#[test]
fn plain_shell_says_the_same() {
    let host = FakeHost::hybrid();
    let root = host.root();
    assert_eq!(shell_lines(&root, "vm.dirty", "20%"), ["echo 20 > /proc/sys/vm/dirty_ratio"]);
    assert_eq!(
        shell_lines(&root, "thp.enabled", "never"),
        ["echo never > /sys/kernel/mm/transparent_hugepage/enabled"]
    );
    let lines = shell_lines(&root, "swap", "file:1048576@/x/pagewise-1048576.swap");
    assert!(lines.iter().any(|line| line.contains("mkswap")), "{lines:?}");
    assert_eq!(shell_lines(&FakeHost::rhel6().root(), "swap", "off"), ["swapoff /dev/sda2"]);
    assert!(shell_lines(&root, "process.thp", "never")[0].starts_with('#'));
}

#[test]
fn only_files_of_ours_are_artefacts() {
    assert_eq!(artefacts("swap", "file:1048576@/x/pagewise-1048576.swap"), [Path::new("/x/pagewise-1048576.swap")]);
    assert!(artefacts("swap", "file:1048576@/swapfile").is_empty());
    assert!(artefacts("swap", "off").is_empty() && artefacts("thp.enabled", "never").is_empty());
}

#[test]
fn another_hosts_tree_is_never_switched_for_real() {
    assert!(write(&FakeHost::modern().root(), "swap", "zram:64M").is_err());
}

#[test]
fn the_reference_page_is_the_descriptors() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/tunables.md");
    let wanted = tunable::reference::page();
    if std::env::var_os("PAGEWISE_BLESS").is_some() {
        std::fs::write(&page, &wanted).expect("the page can be written");
    }
    let found = std::fs::read_to_string(&page).unwrap_or_default();
    assert!(
        found == wanted,
        "docs/reference/tunables.md is old; run this test with PAGEWISE_BLESS=1 and look at the diff"
    );
}

// ---- this host ----

/// Not tried on a living host: they decide whether running programs get memory at all.
const LEFT_ALONE: [&str; 4] =
    ["vm.overcommit_memory", "vm.overcommit_limit", "vm.max_map_count", "vm.nr_overcommit_hugepages"];

/// Puts the coupled values back as the journal does, then compares.
fn put_back(root: &Root, before: &[(String, String)]) {
    for (name, value) in before {
        write(root, name, value).unwrap_or_else(|e| panic!("{e}"));
    }
    for (name, before) in before {
        assert_eq!(&value(root, name), before, "{name} was not put back");
    }
}

#[test]
fn every_tunable_of_this_host_is_written_read_and_put_back() {
    requires!(root, sysctl, thp);
    let lock = host_lock();
    let _unchanged = HostUnchanged::watch(&lock);
    let root = Root::live();
    let mut tried = Vec::new();
    for listed in present(&root).iter().filter(|listed| !LEFT_ALONE.contains(&listed.name.as_str())) {
        if listed.descriptor.scope == Scope::Job {
            continue;
        }
        let now = value(&root, &listed.name);
        let Some(other) = another(&root, listed, &now) else { continue };
        let mut before = vec![(listed.name.clone(), now)];
        before.extend(listed.descriptor.coupled.iter().map(|name| ((*name).to_owned(), value(&root, name))));
        write(&root, &listed.name, &other).unwrap_or_else(|e| panic!("{e}"));
        let read_back = value(&root, &listed.name);
        put_back(&root, &before);
        assert!(same(&listed.name, &read_back, &other), "{}: '{other}' became '{read_back}'", listed.name);
        tried.push(listed.name.clone());
    }
    assert!(tried.len() >= 30, "only {tried:?}");
}

#[test]
fn the_kernel_does_move_the_coupled_value_when_thp_is_switched() {
    requires!(root, thp, sysctl);
    let lock = host_lock();
    let _unchanged = HostUnchanged::watch(&lock);
    let root = Root::live();
    let before = vec![
        ("thp.enabled".to_owned(), value(&root, "thp.enabled")),
        ("vm.min_free_kbytes".to_owned(), value(&root, "vm.min_free_kbytes")),
    ];
    // Off, with less kept free than huge pages recommend, then on: the kernel raises it.
    let moved = ["never", "always"].map(|mode| {
        write(&root, "thp.enabled", mode).unwrap_or_else(|e| panic!("{e}"));
        let then = value(&root, "vm.min_free_kbytes");
        if mode == "never" {
            write(&root, "vm.min_free_kbytes", "8192").unwrap_or_else(|e| panic!("{e}"));
        }
        then
    });
    put_back(&root, &before);
    assert_ne!(
        moved[1], "8192",
        "switching THP on left vm.min_free_kbytes alone: the coupling is gone from this kernel"
    );
}

#[test]
fn each_face_of_the_dirty_limit_comes_back_on_this_host() {
    requires!(root, sysctl);
    let lock = host_lock();
    let _unchanged = HostUnchanged::watch(&lock);
    let root = Root::live();
    for name in ["vm.dirty", "vm.dirty_background"] {
        let before = value(&root, name);
        for other in ["67108864", "0%", "33554432", "7%", before.as_str()] {
            write(&root, name, other).unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(value(&root, name), other);
        }
    }
}

fn switch_swap(text: &str) {
    let lock = host_lock();
    let _unchanged = HostUnchanged::watch(&lock);
    let root = Root::live();
    let folder = tempfile::tempdir_in("/var/tmp").expect("a temporary folder");
    let disks = || root.list("/sys/block").unwrap_or_default();
    let (before, disks_before) = (value(&root, "swap"), disks());
    let policy: Policy = format!("swap={text}").parse().expect("a policy");
    let setting = resolve(&root, &places(folder.path()), &policy).unwrap_or_else(|e| panic!("{e}")).host.remove(0);
    assert!(!folder.path().join("cache").exists(), "resolving made something");

    write(&root, "swap", &setting.value).unwrap_or_else(|e| panic!("{e}"));
    let during = value(&root, "swap");
    let again = write(&root, "swap", &setting.value);
    let files = artefacts("swap", &setting.value);
    let exist: Vec<bool> = files.iter().map(|file| file.exists()).collect();
    write(&root, "swap", &before).unwrap_or_else(|e| panic!("{e}"));

    assert!(same("swap", &during, &setting.value), "'{}' became '{during}'", setting.value);
    assert!(again.is_ok(), "a second write of the same value: {again:?}");
    assert!(exist.iter().all(|exists| *exists), "{files:?} were not there");
    assert!(files.iter().all(|file| !file.exists()), "{files:?} were left");
    assert_eq!(value(&root, "swap"), before);
    assert_eq!(disks(), disks_before, "a zram device was left or lost");
}

#[test]
fn a_swap_file_is_made_used_and_removed() {
    requires!(root, swap);
    switch_swap("file:64M");
}

#[test]
fn compressed_swap_is_made_used_and_removed() {
    requires!(root, swap, zram);
    switch_swap("zram:64M");
}

#[test]
fn compressed_swap_takes_the_algorithm_that_was_asked_for() {
    requires!(root, swap, zram);
    switch_swap("zram:64M:lz4");
}

#[test]
fn several_areas_keep_their_order() {
    requires!(root, swap, zram);
    switch_swap("zram:32M+file:16M");
}

#[test]
fn a_foreign_swap_file_with_its_priority_comes_back_and_is_not_removed() {
    requires!(root, swap);
    let lock = host_lock();
    let _unchanged = HostUnchanged::watch(&lock);
    let root = Root::live();
    let before = value(&root, "swap");
    let folder = tempfile::tempdir_in("/var/tmp").expect("a temporary folder");
    let foreign = folder.path().join("swap file");
    let made = std::process::Command::new("sh")
        .args(["-c", "fallocate -l 16M \"$1\" && chmod 600 \"$1\" && mkswap -q \"$1\"", "sh"])
        .arg(&foreign)
        .status()
        .expect("a shell");
    assert!(made.success());
    pagewise_host::sys::swap::on(&foreign, Some(7)).expect("swapon");
    let with_foreign = value(&root, "swap");
    let off = write(&root, "swap", "off");
    let empty = value(&root, "swap");
    let back = write(&root, "swap", &with_foreign);
    let after = value(&root, "swap");
    write(&root, "swap", &before).unwrap_or_else(|e| panic!("{e}"));

    assert!(with_foreign.contains(r"swap\040file,prio=7"), "{with_foreign}");
    assert!(off.is_ok() && back.is_ok(), "{off:?} {back:?}");
    assert_eq!((empty.as_str(), after), ("off", with_foreign));
    assert!(foreign.exists(), "somebody else's file was removed");
}

#[test]
fn a_device_that_a_killed_run_left_is_removed_and_nobody_elses_is() {
    requires!(root, swap, zram);
    let lock = host_lock();
    let _unchanged = HostUnchanged::watch(&lock);
    let root = Root::live();
    let disks = || root.list("/sys/block").unwrap_or_default();
    let (before, disks_before) = (value(&root, "swap"), disks());
    write(&root, "swap", "zram:16M").unwrap_or_else(|e| panic!("{e}"));
    let ours = disks().into_iter().find(|disk| !disks_before.contains(disk)).expect("a new device");
    let device = Path::new("/dev").join(&ours);
    // As if the run had been killed between switching the area off and giving the device back.
    pagewise_host::sys::swap::off(&device).expect("swapoff");
    let relabel = |label: &str| {
        let made = std::process::Command::new("mkswap").args(["-q", "-L", label]).arg(&device).status();
        assert!(made.expect("mkswap").success());
    };
    relabel("somebody");
    host_tunable::sweep(&root, &find("swap"));
    let kept = disks();
    relabel("pagewise-added");
    host_tunable::sweep(&root, &find("swap"));
    let swept = disks();
    write(&root, "swap", &before).unwrap_or_else(|e| panic!("{e}"));
    assert!(kept.contains(&ours), "somebody else's device was removed");
    assert_eq!(swept, disks_before);
}

#[test]
fn a_limit_of_a_control_group_is_written_and_put_back_on_this_host() {
    requires!(root, memory_cgroup);
    let lock = host_lock();
    let _unchanged = HostUnchanged::watch(&lock);
    let root = Root::live();
    let own = pagewise_host::cgroup::try_child(&root).expect("children can be made");
    let mount = pagewise_host::cgroup::memory_mount(&root).expect("a mount");
    let folder = format!("{}/pagewise-limit-test-{}", own.folder, std::process::id());
    std::fs::create_dir(&folder).expect("a control group");
    let group = folder.strip_prefix(&mount.folder).expect("below the mount").to_owned();
    let name = format!("cgroup[{group}].memory.max");
    let outcome = (|| {
        let before = read(&root, &name)?;
        write(&root, &name, "64M")?;
        let limited = read(&root, &name)?;
        write(&root, &name, &before)?;
        Ok::<_, TunableError>((before, limited, read(&root, &name)?))
    })();
    std::fs::remove_dir(&folder).expect("an empty control group");
    let (before, limited, after) = outcome.unwrap_or_else(|e| panic!("{e}"));
    assert_eq!((before.as_str(), limited.as_str(), after.as_str()), ("max", "67108864", "max"));
    let gone = refusal(&root, &format!("{name}=1G"));
    assert!(gone.to_string().contains("there is no control group"), "{gone}");
}

#[test]
fn a_swap_file_where_the_kernel_takes_none_is_refused_and_leaves_nothing() {
    requires!(root, swap);
    let lock = host_lock();
    let _unchanged = HostUnchanged::watch(&lock);
    let root = Root::live();
    // Every kernel refuses swap on tmpfs.
    let folder = Path::new("/dev/shm").join(format!("pagewise-swap-test-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let is_tmpfs = root.read("/proc/mounts").is_ok_and(|text| text.contains(" /dev/shm tmpfs "));
    let file = folder.join("pagewise-16777216.swap");
    let written = write(&root, "swap", &format!("file:16777216@{}", file.display()));
    let left = file.exists();
    if written.is_ok() {
        write(&root, "swap", "off").unwrap_or_else(|e| panic!("{e}"));
    }
    std::fs::remove_dir_all(&folder).expect("our folder");
    assert!(!left || written.is_ok(), "a refused file was left");
    match written {
        Err(error) => assert!(error.to_string().contains("--cache-dir"), "{error}"),
        Ok(()) => assert!(!is_tmpfs, "tmpfs took a swap file"),
    }
}

#[test]
fn an_ordinary_user_is_told_to_be_root() {
    requires!(not_root);
    let error = refusal(&Root::live(), "vm.swappiness=10");
    assert!(matches!(error, TunableError::NotPermitted { .. }), "{error}");
}

//! `lab` as a user sees it: kernels named and brought, a guest that passes on what its command says, guests that panic or are
//! killed, and a trial whose points run in guests. Real kernels under QEMU.

use super::committed;
use pagewise_core::experiment::point::{Outcome, Point};
use pagewise_host::store::bundle::Bundle;
use pagewise_testkit::requires;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// One for all tests and all runs of them: a kernel is 110 MB.
fn cache() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("lab-cache")
}

fn pagewise(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pagewise"));
    command.args(arguments).env("PAGEWISE_CACHE_DIR", cache()).stdin(Stdio::null());
    command
}

/// With its change journal in this folder, too.
fn in_folder(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = pagewise(arguments);
    command.current_dir(folder).env("PAGEWISE_STATE_DIR", folder.join("state"));
    command
}

fn runs(arguments: &[&str]) -> (i32, String, String) {
    let Output { status, stdout, stderr } = pagewise(arguments).output().expect("pagewise starts");
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    (status.code().unwrap_or(-1), text(&stdout), text(&stderr))
}

const KERNEL: &str = "debian:6.12";

/// Guests of ours that run: QEMU with a path of our cache among its words.
fn guests() -> Vec<u32> {
    let root = pagewise_host::root::Root::live();
    let cache = cache().display().to_string();
    let is_ours = |pid: &u32| {
        let words = root.read(&format!("/proc/{pid}/cmdline")).unwrap_or_default();
        words.contains("qemu-system") && words.contains(&cache)
    };
    pagewise_host::source::process::pids(&root).into_iter().filter(is_ours).collect()
}

/// Rooms of guests that a run of the program, living or dead, has left.
fn folders_of(pid: u32) -> usize {
    let folders = fs::read_dir(cache().join("lab/guests")).into_iter().flatten().filter_map(Result::ok);
    folders.filter(|folder| folder.file_name().to_string_lossy().starts_with(&format!("{pid}-"))).count()
}

/// Those that this run of the program started.
fn guests_of(run: &Child) -> Vec<u32> {
    let (parent, root) = (run.id().to_string(), pagewise_host::root::Root::live());
    let is_child = |pid: &u32| {
        let stat = root.read(&format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit_once(')').is_some_and(|(_, rest)| rest.split_whitespace().nth(1) == Some(parent.as_str()))
    };
    guests().into_iter().filter(is_child).collect()
}

fn within(seconds: u64, mut wanted: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + Duration::from_secs(seconds);
    while !wanted() {
        if Instant::now() > deadline {
            return false;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    true
}

#[test]
fn what_names_no_kernel_or_cannot_be_booted_is_refused_before_anything_starts() {
    for (arguments, code, words) in [
        (["kernels", "fedora:6.12"].as_slice(), 2, "debian:6.12"),
        (&["kernels", "/etc/passwd"], 2, "bzImage"),
        (&["kernels", "9.9.9-none"], 2, "no kernel 9.9.9-none is installed"),
        (&["kernels", "debian:2.2"], 2, "--get debian:2.2"),
        (&["kernels", "--get", "./here"], 2, "is here already"),
        (&["kernels", "--get", "debian:6.12", "--mirror", "ftp://x"], 2, "no URL of a mirror"),
        (&["boot", "no such", "--", "true"], 125, "debian:VERSION"),
        (&["boot", "debian:6.12", "--memory", "64M"], 125, "does not come up"),
        (&["boot", "debian:6.12", "--memory", "900G"], 125, "available"),
        (&["boot", "debian:6.12", "--nodes", "2"], 125, "--cpus 2"),
        (&["boot", "debian:6.12", "--disk", "/no/such.img"], 125, "/no/such.img"),
        (&["boot", "debian:6.12", "--disk", "/tmp"], 125, "is a folder"),
        (&["boot", "debian:6.12", "--disk", "/dev/null"], 125, "neither a block device"),
        (&["boot", "debian:6.12", "--append", "a=\"b\""], 125, "quote"),
        (&["boot", "debian:6.12", "--share", "/no/such"], 125, "no folder"),
    ] {
        let mut words_typed = vec!["lab"];
        words_typed.extend(arguments);
        let (status, _, error) = runs(&words_typed);
        assert_eq!(status, code, "{arguments:?}: {error}");
        assert!(error.contains(words), "{arguments:?}: {error}");
    }
    let no_kernel = pagewise(&["lab", "boot", env!("CARGO_BIN_EXE_pagewise")]).output().expect("pagewise starts");
    let error = String::from_utf8_lossy(&no_kernel.stderr).into_owned();
    assert!(no_kernel.status.code() == Some(125) && error.contains("bzImage"), "{error}");
}

#[test]
fn a_disk_that_boots_by_itself_takes_no_option_of_a_guest_over_this_host_and_is_never_overwritten() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let disk = folder.path().join("disk.raw");
    let mut table = vec![0; 1024];
    (table[0x1c2], table[0x1fe], table[0x1ff]) = (0x83, 0x55, 0xaa);
    fs::write(&disk, table).expect("a disk");
    let disk = disk.to_str().expect("text");
    for (option, value) in [("--append", "quiet"), ("--share", "/tmp")] {
        let (status, _, error) = runs(&["lab", "boot", disk, option, value]);
        assert!(status == 125 && error.contains("its own boot loader") && error.contains(option), "{error}");
    }
    let with_kernel = ["lab", "image", "--out", disk, "--kernel", "/etc/passwd"];
    let (status, _, error) = runs(&with_kernel);
    assert!(status == 2 && error.contains("bzImage"), "{error}");
}

#[test]
fn a_command_runs_under_another_kernel_over_this_hosts_files_and_leaves_nothing() {
    requires!(root, qemu, ext4_tools, pip);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let disk = folder.path().join("disk.raw");
    fs::File::create(&disk).and_then(|file| file.set_len(32 << 20)).expect("a disk");
    fs::write(folder.path().join("of-the-host"), "read me").expect("a file");
    let script = "uname -r; cat; cat of-the-host; echo complaint >&2; echo changed > of-the-host; rm -f disk-new; touch new; \
                  cat of-the-host; mkfs.ext4 -q /dev/disk/by-id/virtio-pagewise-0 2>/dev/null || mkfs.ext4 -q /dev/vda; \
                  nproc; cat /sys/devices/system/node/online; stat -f -c %T /var/tmp; \
                  dd if=/dev/zero of=/var/tmp/area bs=1M count=16 2>/dev/null; chmod 600 /var/tmp/area; mkswap /var/tmp/area >/dev/null; \
                  swapon /var/tmp/area && echo swaps; exit 7";
    let machine = ["--memory", "1G", "--cpus", "2", "--nodes", "2", "--scratch", "128M"];
    let run = pagewise(&["lab", "boot", KERNEL])
        .args(machine)
        .arg("--disk")
        .arg(&disk)
        .args(["--", "sh", "-c", script])
        .current_dir(folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("pagewise starts");
    let pid = run.id();
    let run = run.wait_with_output().expect("pagewise ends");
    let (out, error) = (String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
    assert_eq!(run.status.code(), Some(7), "{out}{error}");
    let lines: Vec<&str> = out.lines().collect();
    assert!(lines[0].starts_with("6.12."), "{out}");
    assert_eq!(lines[1..], ["read mechanged", "2", "0-1", "ext2/ext3", "swaps"], "{out}{error}");
    assert!(error.contains("complaint") && !out.contains("complaint"), "{error}");
    assert_eq!(
        fs::read_to_string(folder.path().join("of-the-host")).unwrap(),
        "read me",
        "the host's file is as it was"
    );
    assert!(!folder.path().join("new").exists());
    // The superblock of ext4, at 1 KiB; its magic at 0x38 (fs/ext4/ext4.h).
    let written = fs::read(&disk).unwrap();
    assert_eq!(written[0x438..0x43a], [0x53, 0xef], "what the guest wrote to its disk stays");
    let folders = fs::read_dir(cache().join("lab/guests")).unwrap().filter_map(Result::ok);
    let own = folders.filter(|folder| folder.file_name().to_string_lossy().starts_with(&format!("{pid}-")));
    assert_eq!(own.count(), 0, "the guest's folder was left");
}

#[test]
fn a_guest_that_panics_is_told_with_its_last_words_and_one_that_is_killed_leaves_nothing() {
    requires!(root, qemu, pip);
    let (status, out, error) =
        runs(&["lab", "boot", KERNEL, "--memory", "512M", "--", "sh", "-c", "echo c > /proc/sysrq-trigger; sleep 60"]);
    assert_eq!(status, 125, "{out}{error}");
    assert!(error.contains("panicked") && error.contains("sysrq triggered crash"), "{error}");

    let mut run: Child = pagewise(&["lab", "boot", KERNEL, "--memory", "512M", "--", "sleep", "100"])
        .stderr(Stdio::null())
        .spawn()
        .expect("pagewise starts");
    assert!(within(120, || !guests_of(&run).is_empty()), "no guest was started");
    let started = guests_of(&run);
    run.kill().and_then(|()| run.wait()).expect("our child");
    assert!(within(5, || guests().iter().all(|pid| !started.contains(pid))), "the guest outlived its owner");
    assert_eq!(folders_of(run.id()), 1, "a kill leaves the room of its guest");
    // The next guest of anybody sweeps it, also one that cannot be started.
    let _ = runs(&[
        "lab",
        "boot",
        KERNEL,
        "--memory",
        "512M",
        "--append",
        "panic_on_warn=0",
        "--timeout",
        "1s",
        "--",
        "true",
    ]);
    assert_eq!(folders_of(run.id()), 0, "and the next start removes it");
}

#[test]
fn a_plan_whose_guests_cannot_be_is_refused_at_its_line() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let check = |old: &str, new: &str| {
        fs::write(folder.path().join("plan.toml"), PLAN.replace(old, new)).expect("a plan");
        let run =
            pagewise(&["trial", "check", "plan.toml"]).current_dir(folder.path()).output().expect("pagewise starts");
        let told = String::from_utf8_lossy(&run.stderr).into_owned() + &String::from_utf8_lossy(&run.stdout);
        (run.status.code().unwrap_or(-1), told)
    };
    let (code, told) = check("no change", "");
    assert_eq!(code, 0, "{told}");
    for (old, new, words) in [
        ("\"512M\"", "\"8M\"", "does not come up"),
        ("\"512M\"", "\"x\"", "not a size"),
        ("\"1G\"", "\"900T\"", "cannot be made"),
        ("boot = \"block\"", "boot = \"never\"", "point"),
        ("boot = \"block\"", "cpus = 1000", "255 processors"),
        ("kernel=debian:6.12", "vm.overcommit_memory=0", "which kernel"),
    ] {
        let (code, told) = check(old, new);
        assert_eq!(code, 2, "{new}: {told}");
        assert!(told.contains("plan.toml:") && told.contains(words), "{new}: {told}");
    }
    let (_, told) = check("kernel=debian:6.12", "kernel=./nowhere/bzImage");
    assert!(told.contains("not-possible-here") && told.contains("nowhere/bzImage"), "{told}");
}

const PLAN: &str = r#"
name = "in-guests"
everywhere = "kernel=debian:6.12"
[workload]
name = "command"
run = ["sh", "-c", "echo $LEVEL; uname -r; head -c 3000000 /dev/zero | sha256sum"]
[lab]
memory = "512M"
disk = "1G"
boot = "block"
[design]
order = "blocks"
blocks = 3
warmup = 0
seed = 5
[[factor]]
name = "level"
levels.a = "env.LEVEL=a,vm.swappiness=10"
levels.b = "env.LEVEL=b,vm.swappiness=20"
[[contrast]]
factor = "level"
a = "a"
b = "b"
primary = true
"#;

#[test]
fn points_run_in_guests_and_a_kill_costs_none_of_them() {
    requires!(root, qemu, ext4_tools, pip);
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::write(folder.path().join("plan.toml"), PLAN).expect("a plan");
    let trial = |arguments: &[&str]| in_folder(folder.path(), arguments);
    let before = fs::read_to_string("/proc/sys/vm/swappiness").unwrap();
    let mut run = trial(&["trial", "run", "plan.toml"]).stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    let bundle = folder.path().join("in-guests.trial");
    let results = || -> Vec<Point> { Bundle::open(&bundle).and_then(|bundle| bundle.points()).unwrap_or_default() };
    let good = || results().into_iter().filter(|point| point.outcome == Outcome::Ok).collect::<Vec<_>>();
    assert!(within(400, || good().len() >= 3), "three points did not come: {:?}", results());
    run.kill().and_then(|()| run.wait()).expect("our child");
    let resumed = trial(&["trial", "resume", "in-guests.trial"]).output().expect("pagewise starts");
    let told = String::from_utf8_lossy(&resumed.stderr).into_owned() + &String::from_utf8_lossy(&resumed.stdout);
    assert_eq!(resumed.status.code(), Some(0), "{told}");
    let mut indexes: Vec<u32> = good().iter().map(|point| point.planned.index).collect();
    indexes.sort_unstable();
    assert_eq!(indexes, [0, 1, 2, 3, 4, 5], "each point once");
    let boots: BTreeSet<String> = good().into_iter().map(|point| point.boot_id).collect();
    assert!(boots.len() >= 3, "a boot for each block: {boots:?}");
    let set: BTreeSet<String> =
        good().iter().flat_map(|point| point.applied.iter().map(|set| set.after.clone())).collect();
    assert!(set.contains("10") && set.contains("20"), "the guests' own swappiness was set: {set:?}");
    let report = trial(&["report", "in-guests.trial", "--format", "text"]).output().expect("pagewise starts");
    let text = String::from_utf8_lossy(&report.stdout).into_owned();
    assert!(text.contains("6.12.") && text.contains("boot"), "{text}");
    assert!(fs::read_dir(bundle.join("recordings")).unwrap().count() >= 6, "recordings came out");
    assert_eq!(fs::read_to_string("/proc/sys/vm/swappiness").unwrap(), before, "the host's own was never touched");
}

/// What came of many kills.
#[derive(Serialize, Deserialize)]
struct Killed {
    schema: String,
    date: String,
    seed: u64,
    /// Kills of the program, and of a guest under a program that lived on.
    kills_of_the_program: u32,
    kills_of_a_guest: u32,
    /// Kernel to how many of its runs are in the bundle, each once.
    runs: BTreeMap<String, u32>,
    /// Attempts that a kill cost.
    invalid_attempts: u32,
    seconds: u64,
}

/// As `nothing-leaks` has them on the host.
const KILLS: u32 = 50;

const OF_THREE_KERNELS: &str = r#"
name = "three-kernels"
[workload]
name = "command"
run = ["sh", "-c", "uname -r; head -c 3000000 /dev/zero | sha256sum"]
[lab]
memory = "512M"
disk = "1G"
[design]
order = "blocks"
blocks = 8
warmup = 0
seed = 5
[[factor]]
name = "kernel"
levels.old = "kernel=debian:5.10"
levels.middle = "kernel=debian:6.1"
levels.new = "kernel=debian:6.12"
[[contrast]]
factor = "kernel"
a = "old"
b = "new"
primary = true
"#;

const KILLS_RESULT: &str = "lab-kills.json";

/// A kill of the program at any moment of a guest's life, from its room to its last line; every fifth is one of the guest alone.
#[test]
#[allow(clippy::print_stderr, reason = "who waits for half an hour sees how far it is")]
fn a_trial_of_three_kernels_survives_fifty_kills() {
    if std::env::var_os("PAGEWISE_LAB_KILLS").is_none() {
        return;
    }
    requires!(root, qemu, ext4_tools, pip);
    for kernel in ["debian:5.10", "debian:6.1", "debian:6.12"] {
        let (status, _, error) = runs(&["lab", "boot", kernel, "--memory", "512M", "--", "true"]);
        assert_eq!(status, 0, "{kernel}: {error}");
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::write(folder.path().join("plan.toml"), OF_THREE_KERNELS).expect("a plan");
    let trial = |arguments: &[&str]| {
        let mut command = in_folder(folder.path(), arguments);
        command.stdout(Stdio::null());
        command
    };
    let bundle = folder.path().join("three-kernels.trial");
    let points = || -> Vec<Point> { Bundle::open(&bundle).and_then(|bundle| bundle.points()).unwrap_or_default() };
    let good = || points().into_iter().filter(|point| point.outcome == Outcome::Ok).count();
    let seed = jiff::Timestamp::now().as_second().unsigned_abs();
    // Weyl's sequence: spread over the life of a guest, which takes some twenty seconds, whatever the seed.
    let moment = |kill: u32| {
        let place = (f64::from(kill) + (seed % 1000) as f64 / 1000.0) * 0.618_033_988_749_895;
        Duration::from_secs_f64(place.fract() * 30.0)
    };
    let started = Instant::now();
    let (mut of_program, mut of_guest) = (0, 0);
    let mut before: Option<u32> = None;
    for kill in 0..KILLS {
        let verb = if bundle.join("points.sqlite").exists() { "resume" } else { "run" };
        let of = if verb == "run" { "plan.toml" } else { "three-kernels.trial" };
        let log = fs::File::create(folder.path().join("said")).expect("a log");
        let mut run = trial(&["trial", verb, of]).stderr(log).spawn().expect("pagewise starts");
        let has_ended = |run: &mut Child| run.try_wait().expect("our child").is_some();
        let until = Instant::now() + moment(kill);
        while Instant::now() < until && !has_ended(&mut run) {
            std::thread::sleep(Duration::from_millis(20));
        }
        let said = || fs::read_to_string(folder.path().join("said")).unwrap_or_default();
        assert!(!has_ended(&mut run) || good() == 24, "kill {kill} (seed {seed}): it ended by itself: {}", said());
        let started_guests = guests_of(&run);
        if kill % 5 == 4 && !started_guests.is_empty() {
            for pid in &started_guests {
                let pid = rustix::process::Pid::from_raw(i32::try_from(*pid).expect("a process")).expect("a process");
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
            }
            of_guest += 1;
            // It goes on with another guest, or says what happened and ends.
            let goes_on = within(120, || has_ended(&mut run) || !guests_of(&run).is_empty());
            assert!(goes_on, "kill {kill} (seed {seed}): nothing came after the guest: {}", said());
        } else {
            of_program += 1;
        }
        let last = guests_of(&run);
        run.kill().and_then(|()| run.wait()).expect("our child");
        let outlived = || guests().into_iter().filter(|pid| last.contains(pid)).count();
        assert!(within(5, || outlived() == 0), "kill {kill} (seed {seed}): a guest outlived its owner");
        // Those before it were swept by this start, if it got so far as to start a guest.
        if let Some(before) = before.filter(|_| !last.is_empty()) {
            assert_eq!(folders_of(before), 0, "kill {kill} (seed {seed}): folders of the dead");
        }
        before = Some(run.id());
        eprintln!("kill {} of {KILLS}: {} of 24 runs done, {:.0} s", kill + 1, good(), started.elapsed().as_secs_f64());
    }
    let ended = trial(&["trial", "resume", "three-kernels.trial"]).output().expect("pagewise starts");
    assert!(ended.status.success(), "seed {seed}: {}", String::from_utf8_lossy(&ended.stderr));
    let mut indexes: Vec<u32> = Vec::new();
    let mut by_kernel: BTreeMap<String, u32> = BTreeMap::new();
    let mut invalid = 0;
    for point in points() {
        match point.outcome {
            Outcome::Ok => {
                indexes.push(point.planned.index);
                *by_kernel.entry(point.planned.cell.clone()).or_default() += 1;
            }
            Outcome::Invalid => invalid += 1,
            other => panic!("seed {seed}: run {} ended as {other:?}: {:?}", point.planned.index, point.reason),
        }
    }
    indexes.sort_unstable();
    assert_eq!(indexes, (0..24).collect::<Vec<u32>>(), "seed {seed}: each run once");
    assert_eq!(before.map(folders_of), Some(0), "seed {seed}: folders of the dead");
    let found = Killed {
        schema: "pagewise.lab-kills/1".to_owned(),
        date: committed::today(),
        seed,
        kills_of_the_program: of_program,
        kills_of_a_guest: of_guest,
        runs: by_kernel,
        invalid_attempts: invalid,
        seconds: started.elapsed().as_secs(),
    };
    committed::write(KILLS_RESULT, &found);
}

#[test]
fn the_committed_result_is_of_fifty_kills_that_lost_and_doubled_nothing() {
    let found: Killed = committed::read(KILLS_RESULT, "test-kills");
    assert_eq!(found.kills_of_the_program + found.kills_of_a_guest, KILLS);
    assert_eq!(found.runs.values().copied().collect::<Vec<u32>>(), [8, 8, 8], "{:?}", found.runs);
}

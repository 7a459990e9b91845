//! When the process that restores data is killed together with nobody else, its watcher ends the job, unmounts and
//! detaches within two seconds; killed together with the watcher, the next to look cleans up.

#![allow(clippy::print_stdout, reason = "the owner, a process of its own, speaks to the test on its standard output")]

use pagewise_core::experiment::data::{Data, Restore};
use pagewise_host::process::Interrupt;
use pagewise_host::progress::NoProgress;
use pagewise_host::restore::{Dataset, remove_leftovers};
use pagewise_host::root::Root;
use pagewise_host::tunable::watcher::Watcher;
use pagewise_testkit::{host_lock, requires};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const FOLDER: &str = "PAGEWISE_OWNER_TEST_FOLDER";

/// This test binary again, as the owner.
fn owner(folder: &Path) -> (Child, Vec<u32>) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([
        "--exact",
        "restored_data_go_with_their_owner::restores_and_waits_when_started_as_a_child",
        "--nocapture",
    ]);
    let mut child = command.env(FOLDER, folder).stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let ready = lines.filter_map(|line| Some(line.split_once("ready ")?.1.to_owned())).next();
    let pids = ready.expect("the owner came to its job").split(' ').map(|pid| pid.parse().unwrap()).collect();
    (child, pids)
}

#[test]
fn restores_and_waits_when_started_as_a_child() {
    let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) else { return };
    let mut watcher =
        Watcher::start_program(Path::new(env!("CARGO_BIN_EXE_pagewise")), &folder.join("state"), &Root::live())
            .unwrap();
    let data = Data { restore: Restore::Image, size: Some("64M".to_owned()) };
    let interrupt = Interrupt::default();
    let mut dataset =
        Dataset::open(&data, &folder.join("source"), &folder.join("copies"), &NoProgress, &interrupt).unwrap();
    watcher.set_workspace(Some(dataset.workspace())).unwrap();
    let restored = dataset.restore(&NoProgress, &interrupt).unwrap();
    let mut job = Command::new("setsid");
    job.stdout(Stdio::piped());
    // Writes as long as it lives, and stands in the restored folder.
    job.args(["sh", "-c", "echo begun; while :; do echo row >> rows; sleep 0.01; done"]).current_dir(&restored.folder);
    let mut job = job.spawn().unwrap();
    // Only then does it lead its session: setsid(1) was this process's child and nothing more before.
    let mut begun = String::new();
    BufReader::new(job.stdout.as_mut().unwrap()).read_line(&mut begun).unwrap();
    assert_eq!(begun, "begun\n");
    watcher.set_scope(None, &[job.id()]).unwrap();
    println!("ready {} {}", watcher.pid(), job.id());
    // Until one of the two is killed.
    let _ = job.wait();
}

fn below(folder: &Path) -> Vec<String> {
    let folder = folder.to_string_lossy();
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    let mut left: Vec<String> = mounts.lines().filter(|line| line.contains(&*folder)).map(str::to_owned).collect();
    for entry in fs::read_dir("/sys/block").unwrap().flatten() {
        let backing = fs::read_to_string(entry.path().join("loop/backing_file")).unwrap_or_default();
        left.extend(backing.starts_with(&*folder).then_some(backing));
    }
    left
}

fn kill(pid: u32) {
    run("kill", &["-KILL", &pid.to_string()]);
}

fn run(program: &str, arguments: &[&str]) {
    assert!(Command::new(program).args(arguments).status().unwrap().success(), "{program} {arguments:?}");
}

fn place() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let folder = fs::canonicalize(dir.path()).unwrap();
    fs::create_dir(folder.join("source")).unwrap();
    fs::write(folder.join("source/rows"), "row\n").unwrap();
    (dir, folder)
}

#[test]
fn the_watcher_unmounts_and_detaches_within_two_seconds_of_its_owner_s_death() {
    requires!(root, loop_device, ext4_tools);
    let _lock = host_lock();
    for _ in 0..3 {
        let (_dir, folder) = place();
        let (mut owner, _) = owner(&folder);
        assert!(!below(&folder).is_empty());
        owner.kill().unwrap();
        let killed = Instant::now();
        owner.wait().unwrap();
        while !below(&folder).is_empty() && killed.elapsed() < Duration::from_secs(10) {
            std::thread::sleep(Duration::from_millis(10));
        }
        let took = killed.elapsed();
        assert!(took < Duration::from_secs(2), "it took {took:?}");
        assert_eq!(fs::read(folder.join("source/rows")).unwrap(), b"row\n");
    }
}

#[test]
fn with_the_watcher_dead_as_well_the_next_to_look_cleans_up_even_while_the_job_lives_on() {
    requires!(root, loop_device, ext4_tools);
    let _lock = host_lock();
    let (_dir, folder) = place();
    let (mut owner, pids) = owner(&folder);
    kill(pids[0]);
    owner.kill().unwrap();
    owner.wait().unwrap();
    assert!(!below(&folder).is_empty());
    let left = remove_leftovers(&Root::live(), &folder.join("copies"));
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    kill(pids[1]);
    assert!(left.is_clean(), "{left:?}");
    assert!(!mounts.contains(&*folder.to_string_lossy()), "out of sight, though the job is still in it");
    let ended = Instant::now();
    while !below(&folder).is_empty() && ended.elapsed() < Duration::from_secs(10) {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(below(&folder), Vec::<String>::new(), "and gone with the job");
}

//! `pagewise snapshot` from outside: a recording that grows, one whose recorder was killed, and what cannot be copied.

use assert_cmd::cargo::CommandCargoExt;
use pagewise_core::recording::{GapReason, Recorded};
use pagewise_host::store::recording::{Recording, SNAPSHOT};
use pagewise_testkit::{host_lock, requires};
use serde_json::Value;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// One at a time: what is asked is whether a snapshot delays a tick, not whether another test does.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn pagewise(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::cargo_bin("pagewise").unwrap();
    command.current_dir(folder).args(args).stdin(Stdio::null());
    command
}

fn recorder(folder: &Path, args: &[&str]) -> Child {
    let child = pagewise(folder, &["record", "-o", "a.pgw", "--for", "1h"]).args(args).stderr(Stdio::null()).spawn();
    let deadline = Instant::now() + Duration::from_secs(20);
    while Recording::open(&folder.join("a.pgw")).and_then(|r| r.ticks()).unwrap_or(0) == 0 {
        assert!(Instant::now() < deadline, "it never began");
        std::thread::sleep(Duration::from_millis(50));
    }
    child.unwrap()
}

fn snapshot(folder: &Path, from: &str, to: &str) -> Output {
    pagewise(folder, &["snapshot", from, "-o", to, "--json"]).output().unwrap()
}

fn instants(recording: &Recording) -> Vec<u64> {
    let blocks = recording.blocks().map(Result::unwrap);
    blocks.flat_map(|block| block.ticks.into_iter().map(|tick| tick.begin)).collect()
}

#[test]
fn a_recording_at_20_hz_loses_no_tick_while_twenty_snapshots_are_taken() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let mut child = recorder(folder.path(), &["--hz", "20"]);
    // Long enough for checkpoints and for a segment that is closed.
    for number in 0..20 {
        std::thread::sleep(Duration::from_millis(800));
        let output = snapshot(folder.path(), "a.pgw", &format!("now-{number}.pgw"));
        assert!(output.status.success(), "{output:?}");
        let said: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!((said["schema"].as_str(), said["was"].as_str()), (Some("pagewise.snapshot/1"), Some("running")));
    }
    let pid = rustix::process::Pid::from_raw(child.id() as i32).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    child.wait().unwrap();

    let whole = Recording::open(&folder.path().join("a.pgw")).unwrap();
    assert!(whole.is_complete());
    let lost = |gap: &&pagewise_core::recording::Gap| {
        matches!(gap.reason, GapReason::Late | GapReason::WriterBehind | GapReason::Stopped)
    };
    assert_eq!(whole.gaps().iter().filter(lost).collect::<Vec<_>>(), Vec::<&pagewise_core::recording::Gap>::new());
    let all = instants(&whole);
    let seconds = (all[all.len() - 1] - all[0]) as f64 * 1e-9;
    assert!(all.len() as f64 >= seconds * 20.0, "{} ticks in {seconds} s", all.len());
    let mut before = 0;
    for number in 0..20 {
        let copy = Recording::open(&folder.path().join(format!("now-{number}.pgw"))).unwrap();
        assert!(copy.is_complete() && copy.meta().contains_key(SNAPSHOT));
        let copied = instants(&copy);
        assert!(all.starts_with(&copied), "snapshot {number} has other ticks than the recording");
        assert!(copied.len() >= before, "snapshot {number} has less than the one before");
        before = copied.len();
    }
    assert!(before > 300, "the last snapshot has {before} ticks: a closed segment and what came after");
    let names: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().file_name()).collect();
    assert_eq!(names.len(), 21, "a file each and nothing beside them: {names:?}");
}

#[test]
fn a_recording_whose_recorder_was_killed_becomes_one_closed_file() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let mut child = recorder(folder.path(), &["--hz", "20"]);
    child.kill().unwrap();
    child.wait().unwrap();
    let output = snapshot(folder.path(), "a.pgw", "b.pgw");
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((output.status.code(), said["was"].as_str()), (Some(0), Some("ended")), "{output:?}");
    let (left, copy) = (
        Recording::open(&folder.path().join("a.pgw")).unwrap(),
        Recording::open(&folder.path().join("b.pgw")).unwrap(),
    );
    assert_eq!(instants(&left), instants(&copy));
    assert!(!copy.is_complete() && copy.meta()["ended"].contains("killed"));
    let said = pagewise(folder.path(), &["snapshot", "b.pgw", "-o", "c.pgw"]).output().unwrap();
    assert!(String::from_utf8_lossy(&said.stderr).contains("had ended before its time"), "{said:?}");
}

#[test]
fn a_recorder_that_was_killed_a_moment_ago_is_not_taken_for_one_that_runs() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    for number in 0..8 {
        let mut child = recorder(folder.path(), &["--hz", "20"]);
        let copy = format!("{number}.pgw");
        child.kill().unwrap();
        // Nobody has waited for it yet, and the kernel may still be at it.
        let output = snapshot(folder.path(), "a.pgw", &copy);
        child.wait().unwrap();
        let said: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(said["was"].as_str(), Some("ended"), "{output:?}");
        assert!(!Recording::open(&folder.path().join(&copy)).unwrap().is_complete());
        let files = std::fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().path());
        files.for_each(|file| std::fs::remove_file(file).unwrap());
    }
}

#[test]
fn a_copy_says_when_its_last_sample_was_and_that_nobody_checked_it() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    assert!(pagewise(folder.path(), &["record", "-o", "a.pgw", "--for", "1s"]).status().unwrap().success());
    std::thread::sleep(Duration::from_secs(3));
    let output = snapshot(folder.path(), "a.pgw", "b.pgw");
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    let instant = |key: &str| said[key].as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
    let age = instant("taken").duration_since(instant("until")).as_secs_f64();
    assert!(age > 2.9, "the last sample was {age} s before the copy");
    let output = pagewise(folder.path(), &["snapshot", "a.pgw", "-o", "c.pgw"]).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains(said["until"].as_str().unwrap()) && told.contains("not checked"), "{told}");
}

#[test]
fn a_snapshot_that_is_killed_leaves_a_whole_file_or_none_of_that_name() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let mut child = recorder(folder.path(), &["--hz", "20"]);
    for wait in [0, 2, 4, 7, 10, 14, 19, 25, 40, 80] {
        let to = format!("now-{wait}.pgw");
        let mut copying =
            pagewise(folder.path(), &["snapshot", "a.pgw", "-o", &to]).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(wait));
        copying.kill().unwrap();
        copying.wait().unwrap();
        if folder.path().join(&to).exists() {
            let copy = Recording::open(&folder.path().join(&to)).unwrap();
            assert!(copy.is_complete() && copy.meta().contains_key(SNAPSHOT), "after {wait} ms");
        }
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!instants(&Recording::open(&folder.path().join("a.pgw")).unwrap()).is_empty());
}

#[test]
fn what_cannot_be_copied_says_why() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    assert!(pagewise(folder.path(), &["record", "-o", "a.pgw", "--for", "1s"]).status().unwrap().success());
    std::fs::write(folder.path().join("text"), "no recording, but long enough to be asked".repeat(30)).unwrap();
    for (from, to, code, says) in [
        ("a.pgw", "text", 2, "exists already"),
        ("a.pgw", "a.pgw", 2, "exists already"),
        ("text", "b.pgw", 2, "is no recording"),
        ("absent.pgw", "b.pgw", 2, "cannot read absent.pgw"),
        ("a.pgw", "no/folder/b.pgw", 3, "cannot create no/folder/b.pgw"),
    ] {
        let output = snapshot(folder.path(), from, to);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(code) && error.contains(says), "{from} to {to}: {output:?}");
    }
    let names: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().file_name()).collect();
    assert_eq!(names.len(), 2, "{names:?}");
}

#[test]
fn a_full_disk_is_said_and_nothing_is_left_on_it() {
    requires!(root);
    let _alone = alone();
    let _host = host_lock();
    let folder = tempfile::tempdir().unwrap();
    assert!(pagewise(folder.path(), &["record", "-o", "a.pgw", "--for", "1s"]).status().unwrap().success());
    std::fs::create_dir(folder.path().join("disk")).unwrap();
    // In a namespace of its own: nothing has to be unmounted, whatever happens.
    let script = "mount -t tmpfs -o size=40k none disk; \"$0\" snapshot a.pgw -o disk/b.pgw; code=$?; ls -A disk > left; exit $code";
    let binary = Command::cargo_bin("pagewise").unwrap();
    let output = Command::new("unshare")
        .args(["--mount", "sh", "-c", script])
        .arg(binary.get_program())
        .current_dir(folder.path())
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(3), "{error}");
    assert!(error.contains("disk/b.pgw") && error.contains("full"), "{error}");
    assert_eq!(std::fs::read_to_string(folder.path().join("left")).unwrap(), "");
    assert!(Recording::open(&folder.path().join("a.pgw")).unwrap().is_complete());
}

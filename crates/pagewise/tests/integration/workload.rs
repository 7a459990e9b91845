//! `pagewise workload` as a user meets it: what bad input gets, and what Ctrl-C leaves.

use assert_cmd::Command;
use pagewise_testkit::requires;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

fn workload(cache: &Path, words: &[&str]) -> Command {
    let mut command = Command::cargo_bin("pagewise").unwrap();
    command.env_remove("HADOOP_HOME").env("PAGEWISE_CACHE_DIR", cache).arg("workload").args(words);
    command
}

/// Exit code and standard error.
fn refusal(mut command: Command) -> (Option<i32>, String) {
    let output = command.output().unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn a_wrong_command_line_is_told_what_would_be_right() {
    let cache = tempfile::tempdir().unwrap();
    for (words, said) in [
        (
            vec!["terasrot", "run"],
            "there is: terasort, jitter, spark:micro, spark:kmeans, spark:logistic, spark:pagerank",
        ),
        (vec!["jitter", "run", "victim=wrf"], "lammps, stencil"),
        (vec!["jitter", "run", "stream=cached", "access=write"], "use stream=buffered"),
        (vec!["jitter", "run", "victim=command"], "run = ["),
        (vec!["terasort", "run", "rows"], "ARG=VALUE"),
        (vec!["terasort", "run", "rows=0"], "whole number"),
        (vec!["terasort", "run", "rows=5", "rows=6"], "twice"),
        (vec!["terasort", "run", "tasks=6"], "map_tasks"),
        (vec!["terasort", "verify"], "run it first"),
        (vec!["terasort", "run", "--input"], "clean"),
    ] {
        let (code, text) = refusal(workload(cache.path(), &words));
        assert_eq!(code, Some(2), "{words:?}: {text}");
        assert!(text.contains(said), "{words:?}: {text}");
    }
}

#[test]
fn what_there_is_is_listed_with_what_it_takes_and_measures() {
    let cache = tempfile::tempdir().unwrap();
    let said = |words: &[&str]| {
        let output = workload(cache.path(), words).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let all = said(&[]);
    assert!(all.trim_start().starts_with("terasort "), "{all}");
    assert!(all.lines().all(|line| line.chars().count() <= 80), "{all}");
    for words in [&["terasort"][..], &["terasort", "--help"]] {
        let text = said(words);
        assert!(
            ["map_tasks", "job_wall_mean", "pagewise workload terasort fetch"].iter().all(|one| text.contains(one))
        );
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
    let listed: serde_json::Value = serde_json::from_str(&said(&["--json"])).unwrap();
    assert_eq!(listed["workloads"][0]["measures"][0]["unit"], "seconds", "{listed}");
}

#[test]
fn without_hadoop_the_message_says_how_to_bring_it() {
    requires!(java);
    let cache = tempfile::tempdir().unwrap();
    let (code, text) = refusal(workload(cache.path(), &["terasort", "prepare"]));
    assert_eq!(code, Some(3), "{text}");
    assert!(text.contains("pagewise workload terasort fetch"), "{text}");
}

#[test]
fn without_maven_fetch_names_the_package_and_the_other_way() {
    let cache = tempfile::tempdir().unwrap();
    let mut command = workload(cache.path(), &["terasort", "fetch"]);
    command.env("PATH", "/nonexistent");
    let (code, text) = refusal(command);
    assert_eq!(code, Some(3), "{text}");
    assert!(text.contains("apt install maven") && text.contains("--hadoop"), "{text}");
    let left: Vec<_> = fs::read_dir(cache.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["hadoop-3.3.6.lock"]);
}

#[test]
fn ctrl_c_while_jobs_run_stops_them_and_removes_their_output() {
    requires!(java, maven);
    let cache = tempfile::tempdir().unwrap();
    workload(cache.path(), &["terasort", "fetch"]).assert().success();
    let words = ["terasort", "run", "rows=400_000", "jobs=2"];
    let child = std::process::Command::new(assert_cmd::cargo::cargo_bin("pagewise"))
        .env_remove("HADOOP_HOME")
        .env("PAGEWISE_CACHE_DIR", cache.path())
        .arg("workload")
        .args(words)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let scratch = cache.path().join("terasort/by-hand");
    let deadline = Instant::now() + Duration::from_secs(120);
    while !scratch.join("tmp1").exists() {
        assert!(Instant::now() < deadline, "the jobs did not start");
        thread::sleep(Duration::from_millis(20));
    }
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(130), "{text}");
    assert!(!scratch.exists());
    assert!(cache.path().join("terasort/rows-400000/hadoop-3.3.6/manifest.json").exists(), "whole input is kept");
}

/// A folder with the few programs the set-up script calls, and the ones given, which do nothing but say their version.
fn programs(dir: &Path, with: &[(&str, &str)]) {
    for name in ["id", "grep", "sort", "head", "cut", "tail", "readlink", "mktemp", "rm", "env", "sh", "printf"] {
        let found =
            ["/usr/bin", "/bin"].iter().map(|bin| Path::new(bin).join(name)).find(|path| path.exists()).unwrap();
        std::os::unix::fs::symlink(found, dir.join(name)).unwrap();
    }
    for (name, says) in with {
        let path = dir.join(name);
        fs::write(&path, format!("#!/bin/sh\necho '{says}'\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
}

fn setup(path: &Path, scope: &str, java_home: &Path) -> (Option<i32>, String) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/setup");
    let mut command = Command::new("/bin/sh");
    command.arg(script).arg(scope).env("PATH", path).env("JAVA_HOME", java_home).env_remove("HADOOP_HOME");
    refusal(command)
}

fn java_17(dir: &Path) {
    fs::create_dir(dir.join("bin")).unwrap();
    programs(&dir.join("bin"), &[("java", "")]);
    fs::write(dir.join("release"), "JAVA_VERSION=\"17.0.9\"\n").unwrap();
}

#[test]
fn set_up_is_silent_where_nothing_is_missing() {
    let (path, java) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    java_17(java.path());
    programs(path.path(), &[("rustc", "rustc 1.89.0 (x)"), ("cc", ""), ("javac", ""), ("mvn", "")]);
    assert_eq!(setup(path.path(), "demo", java.path()), (Some(0), String::new()));
}

#[test]
fn set_up_without_apt_names_the_packages_and_fails_only_for_the_essential_ones() {
    let (path, java) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    java_17(java.path());
    let essentials = [("rustc", "rustc 1.91.0 (x)"), ("cc", ""), ("mvn", "")];
    programs(path.path(), &essentials);
    let (code, text) = setup(path.path(), "test", java.path());
    assert_eq!(code, Some(0), "{text}");
    // What makes file systems is found in /usr/sbin, too, and so may be there.
    assert!(text.contains("apt-get install -y openjdk-17-jdk-headless chromium r-base-core r-cran-lmertest"), "{text}");
    assert!(text.contains("hyperfine") && text.contains("util-linux"), "{text}");
    assert!(text.contains("qemu-system-x86") && text.contains("busybox-static"), "{text}");

    let (code, text) = setup(path.path(), "lab", java.path());
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("qemu-system-x86 qemu-utils") && !text.contains("r-base-core"), "{text}");

    fs::remove_file(path.path().join("mvn")).unwrap();
    let (code, text) = setup(path.path(), "demo", java.path());
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("apt-get install -y maven"), "{text}");
}

#[test]
fn set_up_asks_for_a_newer_rust() {
    let (path, java) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    java_17(java.path());
    programs(path.path(), &[("rustc", "rustc 1.63.0 (x)"), ("cc", ""), ("mvn", "")]);
    let (code, text) = setup(path.path(), "demo", java.path());
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("1.89") && text.contains("rustup"), "{text}");
}

//! The guard on this host, beside a real stream: it takes page cache before kswapd does, costs what it says, and leaves nothing
//! behind when it is killed.

use assert_cmd::cargo::CommandCargoExt;
use pagewise_testkit::{HostUnchanged, host_lock, requires};
use serde_json::Value;
use std::fs;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

fn pagewise(desk: &TempDir) -> Command {
    let mut command = Command::cargo_bin("pagewise").unwrap();
    command.args(["--state-dir", "state", "--cache-dir", "cache"]).current_dir(desk.path()).stdin(Stdio::null());
    command
}

/// A stencil beside a stream that fills memory, ended with the test.
struct Stream(Child);

impl Stream {
    fn start(desk: &TempDir) -> Stream {
        let mut command = pagewise(desk);
        command.args(["workload", "jitter", "run", "victim=stencil", "steps=20000", "stream=buffered", "folios=small"]);
        command
            .args(["rate=400M", "available=4G", "warmup=1", "probe=off"])
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let stream = Stream(command.spawn().unwrap());
        let began = Instant::now();
        while !is_running("\"stencil\"") {
            assert!(began.elapsed() < Duration::from_secs(120), "the stream did not become steady");
            thread::sleep(Duration::from_millis(100));
        }
        stream
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
        let began = Instant::now();
        while is_running("__jitter") && began.elapsed() < Duration::from_secs(10) {
            thread::sleep(Duration::from_millis(50));
        }
    }
}

/// The command line of every process.
fn command_lines() -> impl Iterator<Item = String> {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    processes.map(|one| fs::read_to_string(one.path().join("cmdline")).unwrap_or_default())
}

fn is_running(word: &str) -> bool {
    command_lines().any(|line| line.contains("__jitter") && line.contains(word))
}

fn counter(name: &str) -> u64 {
    let vmstat = fs::read_to_string("/proc/vmstat").unwrap();
    let value = vmstat.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok());
    value.unwrap_or(0)
}

fn guarded(desk: &TempDir, args: &[&str]) -> Value {
    let output = pagewise(desk).args(["--json", "guard"]).args(args).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice::<Value>(&output.stdout).unwrap()["nodes"][0].clone()
}

#[test]
fn it_takes_what_a_stream_leaves_and_nothing_once_it_is_gone() {
    requires!(root, node_reclaim);
    let lock = host_lock();
    let _unchanged = HostUnchanged::watch(&lock);
    let desk = tempfile::tempdir().unwrap();
    let swapped_out = counter("pswpout");

    let stream = Stream::start(&desk);
    let advised = guarded(&desk, &["advise", "--for", "4s"]);
    assert_eq!(advised["taken"], 0, "{advised}");
    let before = counter("pgsteal_proactive");
    let done = guarded(&desk, &["run", "--for", "12s"]);
    let taken = done["taken"].as_f64().unwrap();
    // 400 MB/s come in; it begins late, and the kernel is watched at it first.
    assert!(taken > 1e9, "{done}");
    let behind = done["taken_behind_streams"].as_f64().unwrap();
    assert!(behind > 0.8 * taken, "the stream has one file, and goes through it in order: {done}");
    let reclaimed = (counter("pgsteal_proactive") - before) as f64 * 4096.0;
    assert!(reclaimed >= (taken - behind) * 0.9, "the kernel counted less: {done}");
    assert!(done["cpu"].as_f64().unwrap() < 0.6 * done["seconds"].as_f64().unwrap(), "beyond its cap: {done}");

    let mut killed =
        pagewise(&desk).args(["guard", "run"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    thread::sleep(Duration::from_secs(3));
    killed.kill().unwrap();
    killed.wait().unwrap();
    drop(stream);

    let rests = guarded(&desk, &["run", "--for", "5s"]);
    assert_eq!(rests["taken"], 0, "{rests}");
    assert!(rests["cpu"].as_f64().unwrap() < 0.01 * rests["seconds"].as_f64().unwrap(), "{rests}");
    assert_eq!(counter("pswpout"), swapped_out);
}

/// Processes that hold a guard.
fn holders() -> usize {
    command_lines().filter(|line| line.starts_with("pagewise\0__keep\0guard\0")).count()
}

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(90), "{what}");
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn as_a_level_of_a_trial_it_is_there_in_its_own_runs_and_ends_with_whoever_held_it() {
    requires!(root, node_reclaim);
    let lock = host_lock();
    let _unchanged = HostUnchanged::watch(&lock);
    let desk = tempfile::tempdir().unwrap();
    let counts = "grep -lzx __k[e]ep /proc/[0-9]*/cmdline 2>/dev/null | wc -l >> $COUNTS";
    let proves = |args: &[&str], job: &[&str]| {
        let mut command = pagewise(&desk);
        command.args(["prove", "--warmup", "0"]).args(args).arg("--").args(job);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command
    };
    let counted = |level: &str| {
        let text = fs::read_to_string(desk.path().join(level)).unwrap_or_default();
        text.lines().map(|line| line.trim().to_owned()).collect::<Vec<_>>()
    };
    let with_file =
        ["--a", "guard=off,env.COUNTS=../off", "--b", "guard=on(batch=0.5s),env.COUNTS=../on", "--pairs", "4"];
    let at = desk.path().to_string_lossy().into_owned();
    let with_file: Vec<String> = with_file.iter().map(|word| word.replace("..", &at)).collect();
    let with_file: Vec<&str> = with_file.iter().map(String::as_str).collect();
    let status = proves(&with_file, &["sh", "-c", counts]).status().unwrap();
    assert!(status.success(), "{status}");
    assert_eq!((counted("off"), counted("on")), (vec!["0".to_owned(); 4], vec!["1".to_owned(); 4]));
    assert_eq!(holders(), 0);

    let args = ["--aa", "guard=on", "--pairs", "4", "--name", "killed"];
    let mut killed = proves(&args, &["sleep", "30"]).spawn().unwrap();
    until("no guard was held", || holders() == 1);
    killed.kill().unwrap();
    killed.wait().unwrap();
    until("the guard outlived its trial", || holders() == 0);
}

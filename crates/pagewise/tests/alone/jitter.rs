//! The workload `jitter` on this host: a victim beside streams, each control what it says it is, and nothing left of any of them.

use assert_cmd::cargo::CommandCargoExt;
use pagewise_testkit::{HostUnchanged, host_lock, requires};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

fn pagewise(desk: &TempDir) -> Command {
    let mut command = Command::cargo_bin("pagewise").unwrap();
    command.args(["--state-dir", "state", "--cache-dir", "cache"]).current_dir(desk.path()).stdin(Stdio::null());
    command
}

/// One run with three gibibytes available.
fn run(desk: &TempDir, args: &[&str]) -> Value {
    let mut command = pagewise(desk);
    let output =
        command.args(["--json", "workload", "jitter", "run", "available=3G", "warmup=1"]).args(args).output().unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// How much reclaim took from page caches since boot, in bytes.
fn stolen() -> u64 {
    let vmstat = fs::read_to_string("/proc/vmstat").unwrap();
    let pages = vmstat.lines().find_map(|line| line.strip_prefix("pgsteal_file "));
    pages.map_or(0, |pages| pages.parse::<u64>().unwrap() * 4096)
}

/// Parts of any jitter that still run.
fn parts() -> Vec<String> {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let line = |folder: &Path| fs::read_to_string(folder.join("cmdline")).unwrap_or_default();
    processes.map(|one| line(&one.path())).filter(|line| line.contains("\0__jitter\0")).collect()
}

#[test]
fn each_control_is_what_it_says() {
    requires!(root);
    let lock = host_lock();
    let _unchanged = HostUnchanged::watch(&lock);
    let desk = tempfile::tempdir().unwrap();
    let stencil = ["victim=stencil", "steps=60", "rate=300M", "folios=small"];
    let with = |stream: &'static str| {
        let (before, mut args) = (stolen(), stencil.to_vec());
        args.push(stream);
        (run(&desk, &args)["measures"].clone(), stolen() - before)
    };
    let (idle, _) = with("stream=idle");
    assert!(idle["step_sum"].as_f64().unwrap() > 0.0 && idle.get("stream_rate").is_none(), "{idle}");
    assert!(idle["alloc_p50"].as_f64().unwrap() > 0.0 && idle["alloc_p50"].as_f64() <= idle["alloc_p99"].as_f64());
    for (stream, reclaims) in
        [("stream=cached", false), ("stream=direct", false), ("stream=same-misses", false), ("stream=buffered", true)]
    {
        let (measures, stolen) = with(stream);
        let rate = measures["stream_rate"].as_f64().unwrap();
        // A busy host may not give it all, but never more.
        assert!((100e6..330e6).contains(&rate), "{stream}: {measures}");
        assert!(measures["stream_cpu"].as_f64().unwrap() > 0.0, "{stream}: {measures}");
        // A control that reclaims is none: 64 MiB is what others on the host may cause.
        assert_eq!(stolen > 64 << 20, reclaims, "{stream} had {} MiB reclaimed", stolen >> 20);
    }
    assert_eq!(parts(), Vec::<String>::new());
}

#[test]
fn the_streams_are_a_factor_of_a_trial_and_end_with_it_however_it_ends() {
    requires!(root);
    let lock = host_lock();
    let _unchanged = HostUnchanged::watch(&lock);
    let desk = tempfile::tempdir().unwrap();
    let plan = "name = \"small\"\n[workload]\nname = \"jitter\"\nvictim = \"stencil\"\nsteps = 40\navailable = \"3G\"\nwarmup = 1\n\
                rate = \"300M\"\n[[metric]]\nname = \"step_sum\"\n[[factor]]\nname = \"stream\"\nlevels.idle = \"workload.stream=idle\"\n\
                levels.buffered = \"workload.stream=buffered\"\n[design]\nblocks = 2\nwarmup = 0\nsteal_limit = 0.9\n";
    fs::write(desk.path().join("small.toml"), plan).unwrap();
    let mut trial = pagewise(&desk)
        .args(["trial", "run", "small.toml"])
        .stderr(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let began = Instant::now();
    while parts().len() < 3 && began.elapsed() < Duration::from_secs(60) {
        thread::sleep(Duration::from_millis(50));
    }
    trial.kill().unwrap();
    trial.wait().unwrap();
    let killed = Instant::now();
    while !parts().is_empty() && killed.elapsed() < Duration::from_secs(10) {
        thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(parts(), Vec::<String>::new(), "streams outlived the trial");

    let output = pagewise(&desk).args(["trial", "resume", "small.trial"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let analysis = fs::read_to_string(desk.path().join("small.trial/analysis.json")).unwrap();
    let analysis: Value = serde_json::from_str(&analysis).unwrap();
    assert_eq!(analysis["blocks_complete"], 2, "{analysis}");
    assert_eq!(parts(), Vec::<String>::new());
}

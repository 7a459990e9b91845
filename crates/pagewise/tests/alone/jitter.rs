//! The workload `jitter` on this host: a victim beside streams, each control what it says it is, and nothing left of any of them.

use assert_cmd::cargo::CommandCargoExt;
use pagewise_core::experiment::point::Outcome;
use pagewise_host::store::bundle::Bundle;
use pagewise_testkit::{HostUnchanged, host_lock, requires};
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

/// Parts of any jitter that still run.
fn parts() -> Vec<String> {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let line = |folder: &Path| fs::read_to_string(folder.join("cmdline")).unwrap_or_default();
    processes.map(|one| line(&one.path())).filter(|line| line.contains("\0__jitter\0")).collect()
}

const PLAN: &str = r#"
name = "small"

[workload]
name = "jitter"
victim = "stencil"
steps = 30
available = "4G"
warmup = 1
rate = "300M"
folios = "small"
hot_file = "64M"

[[metric]]
name = "step_sum"

[[factor]]
name = "stream"
levels.idle = "workload.stream=idle"
levels.cached = "workload.stream=cached"
levels.direct = "workload.stream=direct"
levels.same-misses = "workload.stream=same-misses"
levels.buffered = "workload.stream=buffered"

[design]
blocks = 3
warmup = 0
steal_limit = 0.9
memory_drift_limit = 0.1
"#;

/// So much page cache may be taken for others on the host, in the control runs as well: a kernel that had to break up a large block
/// makes some room in advance (`boost_watermark`, `mm/page_alloc.c`), and takes it from page cache.
const BY_OTHERS: i64 = 16 << 20;

/// As the plan has it.
const HOT_FILE: i64 = 64 << 20;

#[test]
fn each_control_is_what_it_says_and_all_of_them_end_with_the_trial_however_it_ends() {
    requires!(root);
    let lock = host_lock();
    let _unchanged = HostUnchanged::watch(&lock);
    let desk = tempfile::tempdir().unwrap();
    fs::write(desk.path().join("small.toml"), PLAN).unwrap();
    let quiet = || Stdio::null();
    let mut trial =
        pagewise(&desk).args(["trial", "run", "small.toml"]).stderr(quiet()).stdout(quiet()).spawn().unwrap();
    // Ballast, stream, probe, and who reads a hot file.
    let began = Instant::now();
    while parts().len() < 4 && began.elapsed() < Duration::from_secs(120) {
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
    assert_eq!(parts(), Vec::<String>::new());
    let points = Bundle::open(&desk.path().join("small.trial")).unwrap().points().unwrap();
    let good: Vec<_> = points.iter().filter(|point| point.outcome == Outcome::Ok).collect();
    assert_eq!(good.len(), 15);
    for point in good {
        let (cell, measures) = (point.planned.cell.as_str(), &point.measures);
        assert!(measures["step_sum"] > 0.0 && measures["alloc_p50"] <= measures["alloc_p99"], "{cell}: {measures:?}");
        match measures.get("stream_rate") {
            None => assert_eq!(cell, "idle"),
            // A busy host may not give it all, but never more.
            Some(rate) => assert!((50e6..330e6).contains(rate) && measures["stream_cpu"] > 0.0, "{cell}: {measures:?}"),
        }
        // A control that reclaims is none.
        let stolen = point.counters["pgsteal_file"] * 4096;
        assert_eq!(stolen > BY_OTHERS, cell == "buffered", "{cell} had {} MiB reclaimed", stolen >> 20);
        // What another program reads all the time stays in memory, whatever streams beside it.
        let lost = (1.0 - measures["hot_hits"]) * HOT_FILE as f64;
        assert!((0.0..BY_OTHERS as f64).contains(&lost), "{cell}: {lost} bytes of the hot file were not in memory");
    }
}

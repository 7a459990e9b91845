//! What Pagewise costs: CPU between two runs, CPU and memory while the job runs, watcher included; hyperfine beside it on
//! the same command. Writes `bench/results/overhead/<date>-<commit>.json` and prints a table.
//!
//! CPU between runs is the slope of Pagewise's own CPU time over the number of runs of `true`; CPU while the job runs is
//! what a long `sleep` adds to that; CPU of a guard beside which nothing streams is what a longer wait adds. Pagewise's own CPU
//! is read from `/proc/PID/stat` of the binary and its watcher.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod result;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

const FEW_PAIRS: u32 = 4;
const MANY_PAIRS: u32 = 24;
const LONG_SLEEP: f64 = 8.0;

/// Seconds for which a guard waits on a host where nothing streams.
const SHORT_GUARD: u32 = 10;
const LONG_GUARD: u32 = 70;

/// Largest values seen of a process and its helpers.
#[derive(Default)]
struct Cost {
    cpu_seconds: f64,
    resident_bytes: u64,
}

fn main() {
    let pagewise = PathBuf::from(env!("CARGO_BIN_EXE_pagewise"));
    let folder = std::env::temp_dir().join(format!("pagewise-bench-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a temporary folder");
    eprintln!("measuring Pagewise's own cost; about four minutes");
    let few = prove(&pagewise, &folder, FEW_PAIRS, &["true"]);
    let many = prove(&pagewise, &folder, MANY_PAIRS, &["true"]);
    let long_word = LONG_SLEEP.to_string();
    let long = prove(&pagewise, &folder, FEW_PAIRS, &["sleep", &long_word]);
    let runs = |pairs: u32| f64::from(pairs) * 2.0;
    let per_run = (many.cpu_seconds - few.cpu_seconds) / (runs(MANY_PAIRS) - runs(FEW_PAIRS));
    let watching = (long.cpu_seconds - few.cpu_seconds) / (runs(FEW_PAIRS) * LONG_SLEEP);
    let hyperfine = hyperfine(&["true"], MANY_PAIRS * 2)
        .zip(hyperfine(&["true"], FEW_PAIRS * 2))
        .map(|(many, few)| (many.cpu_seconds - few.cpu_seconds) / (runs(MANY_PAIRS) - runs(FEW_PAIRS)));
    let hyperfine_memory = hyperfine_memory();
    let guard = guard(&pagewise, &folder, LONG_GUARD)
        .zip(guard(&pagewise, &folder, SHORT_GUARD))
        .map(|(long, short)| (long.cpu_seconds - short.cpu_seconds) / f64::from(LONG_GUARD - SHORT_GUARD));
    fs::remove_dir_all(&folder).ok();

    println!("{:<44} {:>10} {:>10} {:>10}", "", "pagewise", "hyperfine", "bound");
    let row = |what: &str, ours: String, theirs: Option<String>, bound: &str| {
        println!("{what:<44} {ours:>10} {:>10} {bound:>10}", theirs.unwrap_or_else(|| "–".to_owned()));
    };
    row("own CPU between two runs", ms(per_run), hyperfine.map(ms), "50 ms");
    row("own CPU while the job runs, of one core", percent(watching), None, "0.2 %");
    match guard {
        Some(guard) => row("own CPU of a guard at rest, of one core", percent(guard), None, "0.1 %"),
        None => eprintln!("the guard was not measured: it needs root, and a way to reclaim"),
    }
    row("resident memory, watcher included", mib(long.resident_bytes), hyperfine_memory.map(mib), "30 MiB");
    println!("\nhyperfine takes no memory samples, checks no state and changes nothing between runs.");
    let found = serde_json::json!({
        "schema": "pagewise.bench/1",
        "bench": "overhead",
        "commit": result::commit(),
        "pairs": [FEW_PAIRS, MANY_PAIRS],
        "sleep_seconds": LONG_SLEEP,
        "cpu_between_runs_seconds": per_run,
        "cpu_while_running_fraction": watching,
        "guard_cpu_fraction": guard,
        "resident_bytes": long.resident_bytes,
        "hyperfine_cpu_between_runs_seconds": hyperfine,
        "hyperfine_resident_bytes": hyperfine_memory,
    });
    result::save("overhead", "json", &(serde_json::to_string_pretty(&found).unwrap_or_default() + "\n"));
    let within = per_run <= 0.050
        && watching <= 0.002
        && guard.is_none_or(|guard| guard <= 0.001)
        && long.resident_bytes <= 30 << 20;
    if !within {
        eprintln!("over its bound");
        std::process::exit(1);
    }
}

fn ms(seconds: f64) -> String {
    format!("{:.1} ms", seconds * 1e3)
}

fn percent(fraction: f64) -> String {
    format!("{:.3} %", fraction * 100.0)
}

fn mib(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20))
}

fn prove(pagewise: &Path, folder: &Path, pairs: u32, job: &[&str]) -> Cost {
    let name = format!("bench-{pairs}-{}", job.join("-"));
    let mut command = Command::new(pagewise);
    command.args(["prove", "--a", "env.X=1", "--b", "env.X=2", "--name", &name, "--pairs", &pairs.to_string()]);
    command.args(["--state-dir", "state", "--cache-dir", "cache", "--"]).args(job).current_dir(folder);
    watch(command).unwrap_or_else(|| panic!("{} did not run", pagewise.display()))
}

/// A guard of the host that waits so many seconds.
fn guard(pagewise: &Path, folder: &Path, seconds: u32) -> Option<Cost> {
    let mut command = Command::new(pagewise);
    command.args(["--state-dir", "state", "guard", "run", "--for", &format!("{seconds}s")]).current_dir(folder);
    watch(command)
}

fn hyperfine(job: &[&str], runs: u32) -> Option<Cost> {
    let mut command = Command::new("hyperfine");
    command.args(["--shell=none", "--warmup", "1", "--runs", &runs.to_string(), &job.join(" ")]);
    watch(command)
}

fn hyperfine_memory() -> Option<u64> {
    let mut command = Command::new("hyperfine");
    command.args(["--shell=none", "--runs", "2", "sleep 1"]);
    watch(command).map(|cost| cost.resident_bytes)
}

/// Runs a command to its end and reads, 50 times a second, the CPU time and memory of every process that runs its binary.
fn watch(mut command: Command) -> Option<Cost> {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().ok()?;
    let binary = fs::read_link(format!("/proc/{}/exe", child.id())).ok();
    let mut cpu: BTreeMap<u32, f64> = BTreeMap::new();
    let mut cost = Cost::default();
    let started = Instant::now();
    loop {
        let family = family(&child, binary.as_deref());
        let resident: u64 = family.iter().filter_map(|pid| resident(*pid)).sum();
        cost.resident_bytes = cost.resident_bytes.max(resident);
        for pid in family {
            if let Some(seconds) = cpu_seconds(pid) {
                cpu.insert(pid, seconds);
            }
        }
        match child.try_wait() {
            Ok(Some(status)) if status.success() => break,
            Ok(None) if started.elapsed() < Duration::from_secs(600) => thread::sleep(Duration::from_millis(20)),
            _ => {
                let _ = child.kill();
                return None;
            }
        }
    }
    cost.cpu_seconds = cpu.values().sum();
    Some(cost)
}

/// The process itself and those it started that run the same binary: the watcher.
fn family(child: &Child, binary: Option<&Path>) -> Vec<u32> {
    let own = child.id();
    let Some(binary) = binary else { return vec![own] };
    let listed = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = listed.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| *pid == own || (fs::read_link(format!("/proc/{pid}/exe")).ok().as_deref() == Some(binary)))
        .collect()
}

/// User and system time. The job's children are not in it: fields 14 and 15 count this process alone.
fn cpu_seconds(pid: u32) -> Option<f64> {
    let schedstat = fs::read_to_string(format!("/proc/{pid}/schedstat")).ok();
    let all_threads = |pid: u32| -> Option<f64> {
        let tasks = fs::read_dir(format!("/proc/{pid}/task")).ok()?.flatten();
        let of_task = |task: fs::DirEntry| -> Option<f64> {
            let text = fs::read_to_string(task.path().join("schedstat")).ok()?;
            Some(text.split(' ').next()?.parse::<u64>().ok()? as f64 * 1e-9)
        };
        Some(tasks.filter_map(of_task).sum())
    };
    let ticks = || -> Option<f64> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        let ticks: u64 = fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?;
        Some(ticks as f64 / 100.0)
    };
    // Ticks of 10 ms count threads that have ended too; schedstat is in nanoseconds but forgets them. The larger is closer.
    let fine = schedstat.and_then(|_| all_threads(pid));
    ticks().into_iter().chain(fine).reduce(f64::max)
}

fn resident(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? * 1024)
}

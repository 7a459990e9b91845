//! What stacks cost at 19 and at 99 Hz, beside `perf record -a -g` at 99 Hz where it is installed: CPU of all threads as a
//! share of all CPUs, and bytes. Writes `bench/results/stacks/<date>-<commit>.json` and prints a table. Run it on a quiet
//! machine: every other process adds samples, and takes the caches.
//!
//! Idle CPUs are not sampled, so all CPUs are kept busy, by copies from `/dev/zero` (deep in the kernel) and by a shell's
//! loop. Rounds are interleaved: each has every tool once, in an order that turns. CPU is the kernel's account of each process
//! when it has ended, starting, reading symbols and ending included. What interrupts take is charged to whom they
//! interrupt, for every tool alike, and is in no number here.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod load;
mod result;

use load::{Busy, LOOP};
use pagewise_host::sys::child;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const ROUNDS: usize = 7;
const SECONDS: u32 = 20;
/// Share of all CPUs at 19 Hz. At 99 Hz perf is the bound.
const CPU_BOUND: f64 = 0.01;

#[derive(Clone, Copy, PartialEq)]
enum Tool {
    Pagewise(u32),
    Perf,
}

const TOOLS: [(&str, Tool); 4] = [
    ("pagewise, numbers alone", Tool::Pagewise(0)),
    ("pagewise --stacks 19", Tool::Pagewise(19)),
    ("pagewise --stacks 99", Tool::Pagewise(99)),
    ("perf record -a -g -e cpu-clock -F 99", Tool::Perf),
];

#[derive(Clone, Copy)]
struct Cost {
    /// Of all CPUs.
    cpu: f64,
    bytes: f64,
}

/// Deep in the kernel, and a loop; `exec`, so that the process that is killed is the one that works.
const WORK: [&str; 2] = ["exec dd if=/dev/zero of=/dev/null bs=64k 2>/dev/null", LOOP];

fn main() {
    let folder = std::env::temp_dir().join(format!("pagewise-bench-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a temporary folder");
    let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    eprintln!("measuring what stacks cost; about {} minutes", ROUNDS * TOOLS.len() * (SECONDS as usize + 2) / 60);
    let mut costs: [Vec<Cost>; 4] = Default::default();
    {
        let _busy = Busy::start(cpus.max(2), &WORK);
        for round in 0..ROUNDS {
            for turn in 0..TOOLS.len() {
                let tool = (round + turn) % TOOLS.len();
                costs[tool].extend(run(&folder, TOOLS[tool].1, cpus));
            }
        }
    }
    fs::remove_dir_all(&folder).ok();

    println!("{:<40} {:>28} {:>16}", "", "CPU of all: median (range)", "bytes an hour");
    let mut results = serde_json::Map::new();
    for ((name, _), costs) in TOOLS.iter().zip(&costs) {
        if costs.is_empty() {
            println!("{name:<40} absent or refused: not compared");
            continue;
        }
        let (cpu, bytes) = (spread(costs, |cost| cost.cpu), spread(costs, |cost| cost.bytes));
        let an_hour = 3600.0 / f64::from(SECONDS) / f64::from(1 << 20);
        let range = format!("{:.3} % ({:.3}–{:.3})", cpu[1] * 100.0, cpu[0] * 100.0, cpu[2] * 100.0);
        println!("{name:<40} {range:>28} {:>12.1} MiB", bytes[1] * an_hour);
        results
            .insert((*name).to_owned(), serde_json::json!({"cpu_fraction": cpu, "bytes": bytes, "runs": costs.len()}));
    }
    let found = serde_json::json!({
        "schema": "pagewise.bench/1",
        "bench": "stacks",
        "commit": result::commit(),
        "cpus": cpus,
        "seconds": SECONDS,
        "spread": "smallest, median, largest",
        "results": results,
    });
    result::save("stacks", "json", &(serde_json::to_string_pretty(&found).unwrap_or_default() + "\n"));
    let median = |tool: usize| (!costs[tool].is_empty()).then(|| spread(&costs[tool], |cost| cost.cpu)[1]);
    let is_over = median(1).is_none_or(|cpu| cpu > CPU_BOUND)
        || median(2).zip(median(3)).is_some_and(|(ours, perfs)| ours > perfs);
    if is_over {
        eprintln!("over its bound: 19 Hz at most 1 % of all CPUs, 99 Hz no dearer than perf record");
        std::process::exit(1);
    }
}

/// The smallest, the median and the largest.
fn spread(costs: &[Cost], of: impl Fn(&Cost) -> f64) -> [f64; 3] {
    let mut sorted: Vec<f64> = costs.iter().map(of).collect();
    sorted.sort_by(f64::total_cmp);
    [sorted[0], sorted[sorted.len() / 2], sorted[sorted.len() - 1]]
}

fn run(folder: &Path, tool: Tool, cpus: usize) -> Option<Cost> {
    let output = folder.join("recording");
    let mut command = match tool {
        Tool::Pagewise(hz) => {
            let mut command = Command::new(env!("CARGO_BIN_EXE_pagewise"));
            command.args(["record", "--for", &format!("{SECONDS}s")]);
            if hz > 0 {
                command.args(["--stacks", &hz.to_string()]);
            }
            command.arg("-o").arg(&output);
            command
        }
        Tool::Perf => {
            let mut command = Command::new("perf");
            command.args(["record", "-q", "-a", "-g", "-e", "cpu-clock", "-F", "99", "-o"]).arg(&output);
            command.args(["--", "sleep", &SECONDS.to_string()]);
            command
        }
    };
    let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().ok()?;
    let reaped = child::reap(child.id()).ok()?;
    let bytes = fs::metadata(&output).map_or(0, |metadata| metadata.len());
    remove(&output);
    let cpu = (reaped.user + reaped.system) / f64::from(SECONDS) / cpus as f64;
    (reaped.status == 0).then_some(Cost { cpu, bytes: bytes as f64 })
}

fn remove(output: &Path) {
    for suffix in ["", "-wal", "-shm", ".old"] {
        let mut name = output.as_os_str().to_owned();
        name.push(suffix);
        fs::remove_file(PathBuf::from(name)).ok();
    }
}

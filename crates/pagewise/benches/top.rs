//! What the full screen costs, as a share of one core: without stacks, with them on an idle host, and with them while every
//! CPU is busy; each with stalls traced, as `top` does where it may. Writes `bench/results/top/<date>-<commit>.json` and prints
//! a table. Run it on a quiet machine.
//!
//! CPU is what the kernel charged all threads of `pagewise top` between two instants well after its start: drawing, asking
//! the rules every ten seconds and counting stacks are in it. Reading the kernel's symbols is in what the start cost.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod load;
mod result;

use load::{Busy, LOOP};
use pagewise_testkit::Terminal;
use std::fs;
use std::path::Path;

use std::thread::sleep;
use std::time::{Duration, Instant};

/// It runs this long before its CPU time counts, and then this long: six times the rules are asked.
const SETTLE: Duration = Duration::from_secs(15);
const WINDOW: Duration = Duration::from_secs(60);

/// The start is over by then.
const START: Duration = Duration::from_secs(3);

/// Share of one core without stacks.
const BOUND: f64 = 0.02;

const SIZE: (u16, u16) = (120, 40);

fn main() {
    let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    eprintln!("measuring what the full screen costs; about {} minutes", 3 * (SETTLE + WINDOW).as_secs().div_ceil(60));
    let without = measure(&["--stacks", "0"]);
    let idle = measure(&[]);
    let busy = {
        let _busy = Busy::start(cpus, &[LOOP]);
        measure(&[])
    };
    let percent = |share: f64| format!("{:.3} %", share * 100.0);
    println!("pagewise top at {} x {}, CPU of one core over {} s", SIZE.0, SIZE.1, WINDOW.as_secs());
    let row = |name: &str, cost: &Cost, more: &str| {
        println!("  {name:<28} {:>9}   start {:>6.1} ms{more}", percent(cost.share), cost.start.as_secs_f64() * 1e3);
    };
    row("without stacks", &without, &format!("   bound {}", percent(BOUND)));
    row("stacks at 19 Hz, idle host", &idle, "");
    row(&format!("stacks at 19 Hz, {cpus} CPUs busy"), &busy, "");
    let found = serde_json::json!({
        "schema": "pagewise.bench/1",
        "bench": "top",
        "commit": result::commit(),
        "columns": SIZE.0,
        "rows": SIZE.1,
        "cpus": cpus,
        "window_seconds": WINDOW.as_secs(),
        "start_seconds": START.as_secs(),
        "without_stacks_cpu_fraction": without.share,
        "without_stacks_start_cpu_seconds": without.start.as_secs_f64(),
        "stacks_idle_cpu_fraction": idle.share,
        "stacks_idle_start_cpu_seconds": idle.start.as_secs_f64(),
        "stacks_busy_cpu_fraction": busy.share,
        "stacks_busy_start_cpu_seconds": busy.start.as_secs_f64(),
    });
    result::save("top", "json", &(serde_json::to_string_pretty(&found).unwrap_or_default() + "\n"));
    if without.share > BOUND {
        eprintln!("over its bound");
        std::process::exit(1);
    }
}

/// What one run cost.
struct Cost {
    /// Of one core, once it runs.
    share: f64,
    /// CPU time of its first seconds.
    start: Duration,
}

fn measure(args: &[&str]) -> Cost {
    let args = [&["top"], args].concat();
    let top = Terminal::start(Path::new(env!("CARGO_BIN_EXE_pagewise")), &args, &[], SIZE);
    sleep(START);
    let start = Duration::from_nanos(cpu_nanoseconds(top.pid()));
    sleep(SETTLE - START);
    let before = (Instant::now(), cpu_nanoseconds(top.pid()));
    sleep(WINDOW);
    let after = (Instant::now(), cpu_nanoseconds(top.pid()));
    top.press("q");
    let left = top.wait();
    assert!(left.code == Some(0) && left.is_restored(), "{}", left.screen);
    let share = after.1.saturating_sub(before.1) as f64 * 1e-9 / (after.0 - before.0).as_secs_f64();
    Cost { share, start }
}

/// Of all threads that run, to the nanosecond.
fn cpu_nanoseconds(pid: u32) -> u64 {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let of = |task: fs::DirEntry| fs::read_to_string(task.path().join("schedstat")).ok();
    tasks.filter_map(of).filter_map(|text| text.split_whitespace().next()?.parse::<u64>().ok()).sum()
}

//! What the full screen costs, as a share of one core: without stacks, with them on an idle host, and with them while every
//! CPU is busy. Writes `bench/results/top/<date>-<commit>.json` and prints a table. Run it on a quiet machine.
//!
//! CPU is what the kernel charged all threads of `pagewise top` between two instants well after its start: drawing, asking
//! the rules every ten seconds and counting stacks are in it, reading the kernel's symbols at the start is not.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod result;

use pagewise_testkit::Terminal;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// It runs this long before its CPU time counts, and then this long: six times the rules are asked.
const SETTLE: Duration = Duration::from_secs(15);
const WINDOW: Duration = Duration::from_secs(60);

/// Share of one core without stacks.
const BOUND: f64 = 0.02;

const SIZE: (u16, u16) = (120, 40);

struct Busy(Vec<Child>);

impl Drop for Busy {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn main() {
    let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    eprintln!("measuring what the full screen costs; about {} minutes", 3 * (SETTLE + WINDOW).as_secs().div_ceil(60));
    let without = measure(&["--stacks", "0"]);
    let idle = measure(&[]);
    let busy = {
        let spin = || Command::new("sh").args(["-c", "while :; do :; done"]).stdin(Stdio::null()).spawn();
        let _busy = Busy((0..cpus).map(|_| spin().expect("a shell")).collect());
        measure(&[])
    };
    let percent = |share: f64| format!("{:.3} %", share * 100.0);
    println!("pagewise top at {} x {}, CPU of one core over {} s", SIZE.0, SIZE.1, WINDOW.as_secs());
    println!("  without stacks               {:>9}   bound {}", percent(without), percent(BOUND));
    println!("  stacks at 19 Hz, idle host   {:>9}", percent(idle));
    println!("  stacks at 19 Hz, {cpus} CPUs busy {:>9}", percent(busy));
    let found = serde_json::json!({
        "schema": "pagewise.bench/1",
        "bench": "top",
        "commit": result::commit(),
        "columns": SIZE.0,
        "rows": SIZE.1,
        "cpus": cpus,
        "window_seconds": WINDOW.as_secs(),
        "without_stacks_cpu_fraction": without,
        "stacks_idle_cpu_fraction": idle,
        "stacks_busy_cpu_fraction": busy,
    });
    result::save("top", "json", &(serde_json::to_string_pretty(&found).unwrap_or_default() + "\n"));
    if without > BOUND {
        eprintln!("over its bound");
        std::process::exit(1);
    }
}

fn measure(args: &[&str]) -> f64 {
    let args = [&["top"], args].concat();
    let top = Terminal::start(Path::new(env!("CARGO_BIN_EXE_pagewise")), &args, &[], SIZE);
    sleep(SETTLE);
    let before = (Instant::now(), cpu_nanoseconds(top.pid()));
    sleep(WINDOW);
    let after = (Instant::now(), cpu_nanoseconds(top.pid()));
    top.press("q");
    let left = top.wait();
    assert!(left.code == Some(0) && left.is_restored(), "{}", left.screen);
    after.1.saturating_sub(before.1) as f64 * 1e-9 / (after.0 - before.0).as_secs_f64()
}

/// Of all threads that run, to the nanosecond.
fn cpu_nanoseconds(pid: u32) -> u64 {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let of = |task: fs::DirEntry| fs::read_to_string(task.path().join("schedstat")).ok();
    tasks.filter_map(of).filter_map(|text| text.split_whitespace().next()?.parse::<u64>().ok()).sum()
}

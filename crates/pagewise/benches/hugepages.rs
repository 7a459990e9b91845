//! What `pagewise hugepages` costs the process that it works on, and how fast it is: a stock JVM with 1.2 GiB of small pages, whose one thread reads them at random, and
//! the same JVM idle. Of each round: reads a second before, during and after. Writes `bench/results/hugepages/<date>-<commit>.json`, prints a table, and
//! fails beyond a bound. Run it as root, with `java` (17 or later) on the path.
//!
//! khugepaged, by its defaults, makes 0.8 huge pages a second.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod result;

use pagewise_core::stats::contrast::Contrast;
use pagewise_core::stats::summary::{mean, standard_deviation};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

const ROUNDS: usize = 6;
const ROUNDS_IDLE: usize = 3;
const MIB: u32 = 1200;
const BESIDE: Duration = Duration::from_secs(4);

/// Huge pages a second: `pages_to_scan` 4,096 each `scan_sleep_millisecs` 10,000 (`mm/khugepaged.c`).
const KHUGEPAGED: f64 = 4096.0 / 512.0 / 10.0;

/// Bounds: of its reads the thread keeps so much, and so many times khugepaged's rate are made meanwhile, and in an idle process.
const KEPT: f64 = 0.90;
const FASTER: f64 = 50.0;
const FASTER_IDLE: f64 = 100.0;

fn main() -> ExitCode {
    match measure() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(why) => {
            eprintln!("not measured: {why}");
            ExitCode::FAILURE
        }
    }
}

/// A JVM, ended with the round.
struct Victim(Child);

impl Drop for Victim {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// One round.
struct Round {
    before: f64,
    during: f64,
    after: f64,
    told: Value,
}

fn measure() -> Result<bool, String> {
    eprintln!("measuring what huge pages cost a running JVM; about {} s", ROUNDS * 25 + ROUNDS_IDLE * 15);
    let busy = (0..ROUNDS).map(|_| round(false)).collect::<Result<Vec<Round>, String>>()?;
    let idle = (0..ROUNDS_IDLE).map(|_| round(true)).collect::<Result<Vec<Round>, String>>()?;
    let of = |rounds: &[Round], value: fn(&Round) -> f64| rounds.iter().map(value).collect::<Vec<f64>>();
    let (before, during, after) =
        (of(&busy, |round| round.before), of(&busy, |round| round.during), of(&busy, |round| round.after));
    let kept = Spread::of(&during, &before)?;
    let gained = Spread::of(&after, &before)?;
    let rate_busy = mean(&of(&busy, rate)).unwrap_or(0.0);
    let rate_idle = mean(&of(&idle, rate)).unwrap_or(0.0);
    println!("{ROUNDS} rounds with a thread that reads at random, {ROUNDS_IDLE} idle; {MIB} MiB");
    println!("  reads during, of those before    {}", kept.words());
    println!("  reads after, of those before     {}", gained.words());
    println!(
        "  huge pages a second, busy        {rate_busy:.0} ({:.0} times khugepaged's default)",
        rate_busy / KHUGEPAGED
    );
    println!("  huge pages a second, idle        {rate_idle:.0} ({:.0} times)", rate_idle / KHUGEPAGED);
    let rounds = |rounds: &[Round]| {
        let one = |round: &Round| json!({"reads_before": round.before, "reads_during": round.during, "reads_after": round.after, "pagewise": round.told});
        rounds.iter().map(one).collect::<Vec<Value>>()
    };
    let found = json!({
        "schema": "pagewise.bench/1",
        "bench": "hugepages",
        "commit": result::commit(),
        "cpus": std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
        "kernel": fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim(),
        "mib": MIB,
        "reads_kept": kept.0,
        "reads_after": gained.0,
        "pages_per_second_busy": rate_busy,
        "pages_per_second_idle": rate_idle,
        "khugepaged_pages_per_second": KHUGEPAGED,
        "bounds": {"reads_kept": KEPT, "times_khugepaged_busy": FASTER, "times_khugepaged_idle": FASTER_IDLE},
        "busy": rounds(&busy),
        "idle": rounds(&idle),
    });
    result::save("hugepages", "json", &(serde_json::to_string_pretty(&found).unwrap_or_default() + "\n"));
    let is_kept = kept.0[0] >= KEPT && rate_busy >= FASTER * KHUGEPAGED && rate_idle >= FASTER_IDLE * KHUGEPAGED;
    if !is_kept {
        eprintln!("over its bound: {KEPT} of the reads at {FASTER} times khugepaged's rate, {FASTER_IDLE} times idle");
    }
    Ok(is_kept)
}

/// A ratio within rounds, and its t interval at 95 % on the logarithms.
struct Spread([f64; 3]);

impl Spread {
    fn of(these: &[f64], those: &[f64]) -> Result<Spread, String> {
        let logs: Vec<f64> = these.iter().zip(those).map(|(this, that)| (this / that).ln()).collect();
        let (middle, sd) = mean(&logs).zip(standard_deviation(&logs)).ok_or("too few rounds")?;
        let n = logs.len() as f64;
        let (low, high) = Contrast::new(middle, sd / n.sqrt(), n - 1.0).interval(0.05);
        Ok(Spread([middle, low, high].map(f64::exp)))
    }

    fn words(&self) -> String {
        let [estimate, low, high] = self.0.map(|share| share * 100.0);
        format!("{estimate:.1} % ({low:.1} to {high:.1})")
    }
}

/// Huge pages a second while they were made.
fn rate(round: &Round) -> f64 {
    let made = &round.told["made"];
    made["blocks"].as_f64().unwrap_or(0.0) / made["seconds_at_work"].as_f64().unwrap_or(f64::INFINITY)
}

fn round(is_idle: bool) -> Result<Round, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let printed = folder.path().join("printed");
    let output = fs::File::create(&printed).map_err(|error| error.to_string())?;
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/victim/RandomAccess.java");
    let mut java = Command::new("java");
    java.args(["-Xms2g", "-Xmx2g", "-XX:+UseG1GC", "-XX:-UseTransparentHugePages"]).arg(source).arg(MIB.to_string());
    java.args(is_idle.then_some("idle")).stdin(Stdio::null()).stdout(output).stderr(Stdio::null());
    let victim = Victim(java.spawn().map_err(|error| format!("java: {error}"))?);
    let began = Instant::now();
    let lines = || fs::read_to_string(&printed).unwrap_or_default();
    while !lines().contains("ready") {
        if began.elapsed() > Duration::from_secs(60) {
            return Err("the JVM did not fill its heap within a minute".to_owned());
        }
        sleep(Duration::from_millis(50));
    }
    // Compiled, and collected.
    sleep(Duration::from_secs(3));
    let mark = || lines().lines().count();
    let first = mark();
    sleep(BESIDE);
    let second = mark();
    let mut asks = Command::new(env!("CARGO_BIN_EXE_pagewise"));
    asks.args(["--json", "hugepages", "--pid", &victim.0.id().to_string(), "--at-least", "64M"]);
    let output = asks.stderr(Stdio::inherit()).output().map_err(|error| error.to_string())?;
    let third = mark();
    sleep(BESIDE);
    let told: Value = serde_json::from_slice(&output.stdout).map_err(|error| error.to_string())?;
    let all = lines();
    let all: Vec<&str> = all.lines().collect();
    let reads = |from: usize, to: usize| {
        let each = all.get(from..to).unwrap_or_default().iter().filter_map(|line| {
            let mut words = line.split(' ').map_while(|word| word.parse::<f64>().ok());
            Some((words.next()?, words.next()?))
        });
        let (milliseconds, reads) = each.fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        reads / milliseconds * 1e3
    };
    let end = all.len();
    Ok(Round { before: reads(first, second), during: reads(second, third), after: reads(third + 1, end), told })
}

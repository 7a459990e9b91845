//! Whether ticks keep their time on a host whose CPUs are all busy and whose memory is reclaimed all the while: a recording
//! at 10 Hz for a minute, and beside it the best a program can do, a bare loop of `clock_nanosleep` on the same grid. Writes
//! `bench/results/jitter/<date>-<commit>.json`, prints a table, and fails beyond the bound. Run it as root.
//!
//! The load is `full-host` of the testkit: a loop on each CPU, and four threads that take memory and read a file that does
//! not fit, in a memory cgroup of their own, so that nothing is ever killed. It ends by itself. A planned tick that nobody
//! took counts as late.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod result;

use pagewise_host::root::Root;
use pagewise_host::source::cpu::{self, CpuTimes};
use pagewise_host::store::recording::Recording;
use pagewise_testkit::trouble::runner::Runner;
use pagewise_testkit::trouble::{ProofResult, Trouble, find, make_what_is_asked};
use pagewise_testkit::{HostUnchanged, Lateness, host_lock};
use rustix::thread::{ClockId, clock_nanosleep_absolute};
use rustix::time::Timespec;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};

const HZ: u32 = 10;
const SECONDS: u32 = 60;

/// 99 % of the ticks within 50 ms.
const WITHIN_MS: f64 = 50.0;
const SHARE: f64 = 0.99;

/// A host on which less of the CPU time was used was not full.
const FULL: f64 = 0.97;

/// Set in the environment of the bare loop.
const BARE: &str = "PAGEWISE_BENCH_BARE";

fn main() -> ExitCode {
    if std::env::var_os(BARE).is_some() {
        sleep_and_tell();
        return ExitCode::SUCCESS;
    }
    match make_what_is_asked().and_then(|made| if made { Ok(true) } else { measure() }) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(why) => {
            eprintln!("not measured: {why}");
            ExitCode::FAILURE
        }
    }
}

/// Whether the bound is kept.
fn measure() -> Result<bool, String> {
    let load = find("full-host").ok_or("the testkit has no load 'full-host'")?;
    if let Some(why) = load.unmet() {
        return Err(why);
    }
    eprintln!("measuring how late ticks come on a full host; about {} s", SECONDS + 15);
    let lock = host_lock();
    let _unchanged = HostUnchanged::watch(&lock);
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let runner = Runner {
        pagewise: env!("CARGO_BIN_EXE_pagewise").into(),
        maker: vec![own.into()],
        state_dir: Some(folder.path().join("state")),
        host: "bench".to_owned(),
        record_args: Vec::new(),
        temporary: std::env::temp_dir(),
    };
    let file = folder.path().join("a.pgw");
    let ((ours, bare, times), shown) = runner.during(load, SECONDS + 10, || one_recording(&file))?;
    let full = times.busy_share().unwrap_or(0.0) + times.steal_share();
    if let Some(proof) = shown.iter().find(|proof| !proof.holds) {
        return Err(format!("the load was too light: {} {:?}, not {}", proof.what, proof.value, proof.wanted));
    }
    if full < FULL {
        return Err(format!("the host was not full: {:.1} % of the CPU time was used", full * 100.0));
    }
    let share = ours.share_within(WITHIN_MS).ok_or("no tick was planned")?;
    println!("ticks at {HZ} Hz for {SECONDS} s; CPU used {:.1} %, system {:.1} %", full * 100.0, system(times) * 100.0);
    println!("{:<22} {:>12} {:>9} {:>9} {:>9} {:>7}", "", "within 50 ms", "p50", "p99", "latest", "missed");
    for (name, ticks) in [("pagewise record", &ours), ("bare clock_nanosleep", &bare)] {
        println!(
            "{name:<22} {:>12} {:>9} {:>9} {:>9} {:>7}",
            ticks.share_within(WITHIN_MS).map_or_else(|| "–".to_owned(), |share| format!("{:.2} %", share * 100.0)),
            milliseconds(ticks.quantile(0.5)),
            milliseconds(ticks.quantile(0.99)),
            milliseconds(ticks.most()),
            ticks.missed(),
        );
    }
    save(load, &ours, &bare, times, &shown);
    let is_kept = share >= SHARE;
    if !is_kept {
        eprintln!("over its bound: {:.0} % of the ticks have to begin within {WITHIN_MS} ms", SHARE * 100.0);
    }
    Ok(is_kept)
}

/// Ends what it holds, whatever happens.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Records, with the bare loop beside it. Gives the lateness of both and where the CPUs' time went meanwhile.
fn one_recording(file: &Path) -> Result<(Lateness, Lateness, CpuTimes), String> {
    let root = Root::live();
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let before = cpu::read(&root).map_err(|error| error.to_string())?;
    let mut loops = Command::new(own);
    loops.env(BARE, "1").stdin(Stdio::null()).stdout(Stdio::piped());
    let mut bare = Ended(loops.spawn().map_err(|error| format!("the bare loop: {error}"))?);
    let mut records = Command::new(env!("CARGO_BIN_EXE_pagewise"));
    records.args(["record", "--hz", &HZ.to_string(), "--for", &format!("{SECONDS}s"), "-o"]).arg(file);
    records.stdin(Stdio::null()).stdout(Stdio::null());
    let mut record = Ended(records.spawn().map_err(|error| format!("pagewise record: {error}"))?);
    let status = record.0.wait().map_err(|error| error.to_string())?;
    if !status.success() {
        return Err(format!("pagewise record ended with {status}"));
    }
    let told = bare.0.stdout.take().map(std::io::read_to_string).transpose().map_err(|error| error.to_string())?;
    let status = bare.0.wait().map_err(|error| error.to_string())?;
    if !status.success() {
        return Err(format!("the bare loop ended with {status}"));
    }
    let times = cpu::read(&root).map_err(|error| error.to_string())?.since(before);
    let recording = Recording::open(file).map_err(|error| error.to_string())?;
    let ours = Lateness::of_recording(&recording).map_err(|error| error.to_string())?;
    Ok((ours, bare_lateness(&told.unwrap_or_default())?, times))
}

/// The bare loop, on the grid on which the recorder samples: a line for each tick, its lateness in nanoseconds, or `missed`.
fn sleep_and_tell() {
    const PERIOD: u64 = 1_000_000_000 / HZ as u64;
    let now = || {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
    };
    let start = now();
    let mut told = String::new();
    let mut tick = 1;
    while tick <= u64::from(HZ * SECONDS) {
        let planned = start + tick * PERIOD;
        let until = Timespec { tv_sec: (planned / 1_000_000_000) as i64, tv_nsec: (planned % 1_000_000_000) as i64 };
        while clock_nanosleep_absolute(ClockId::Monotonic, &until).is_err() {}
        let late = now().saturating_sub(planned);
        // Whole ticks that passed meanwhile are gone, as they are for the recorder.
        let missed = late / PERIOD;
        told.push_str(&"missed\n".repeat(missed as usize));
        told.push_str(&format!("{}\n", late % PERIOD));
        tick += 1 + missed;
    }
    print!("{told}");
}

fn bare_lateness(told: &str) -> Result<Lateness, String> {
    let missed = told.lines().filter(|line| *line == "missed").count() as u64;
    let taken = told.lines().filter(|line| *line != "missed");
    let late = taken.map(|line| line.parse::<f64>().map(|nanoseconds| nanoseconds * 1e-6));
    let late =
        late.collect::<Result<Vec<f64>, _>>().map_err(|error| format!("the bare loop told nonsense: {error}"))?;
    Ok(Lateness::of(late, missed))
}

fn system(times: CpuTimes) -> f64 {
    times.system_share_of_all().unwrap_or(0.0)
}

fn milliseconds(value: Option<f64>) -> String {
    value.map_or_else(|| "missed".to_owned(), |value| format!("{value:.2} ms"))
}

fn save(load: &Trouble, ours: &Lateness, bare: &Lateness, times: CpuTimes, shown: &[ProofResult]) {
    let of = |ticks: &Lateness| {
        serde_json::json!({
            "planned": ticks.planned(),
            "missed": ticks.missed(),
            "share_within_50_ms": ticks.share_within(WITHIN_MS),
            "p50_ms": ticks.quantile(0.5),
            "p99_ms": ticks.quantile(0.99),
            "latest_ms": ticks.most(),
        })
    };
    let found = serde_json::json!({
        "schema": "pagewise.bench/1",
        "bench": "jitter",
        "commit": result::commit(),
        "cpus": std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
        "hz": HZ,
        "seconds": SECONDS,
        "load": { "id": load.id, "what": load.what, "does": load.doses[0].does, "shown": shown },
        "cpu_busy_fraction": times.busy_share(),
        "cpu_system_fraction": times.system_share_of_all(),
        "cpu_steal_fraction": times.steal_share(),
        "bound": { "within_ms": WITHIN_MS, "share": SHARE },
        "pagewise": of(ours),
        "bare_clock_nanosleep": of(bare),
    });
    let text = serde_json::to_string_pretty(&found).unwrap_or_default() + "\n";
    result::save("jitter", "json", &text);
}

//! What a 1 Hz recording of an idle host costs: CPU as a share of one core, bytes a sample, resident memory; `sadc -S ALL`
//! and collectl beside it where they are installed. Writes `bench/results/recording/<date>-<commit>.json` and prints a
//! table. Run it on a quiet machine: everything else that runs makes more numbers change.
//!
//! CPU and bytes are slopes between a short and a long recording, so that starting, ending and the catalogue of names are
//! not in them; what those cost is shown apart. CPU is the kernel's account of the whole process when it has ended.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use pagewise_host::sys::child;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The long one fills a segment of 300 ticks and is closed with it, so that all of its samples are in segments.
const SHORT: u32 = 10;
const LONG: u32 = 310;
/// A peer's cost does not depend on segments.
const PEER_LONG: u32 = 70;

/// Share of one core.
const CPU_BOUND: f64 = 0.001;
const BYTES_BOUND: f64 = 300.0;
const RESIDENT_BOUND: u64 = 20 << 20;
/// Starting one, with its first sample.
const START_BOUND: f64 = 0.020;

struct Cost {
    cpu_seconds: f64,
    bytes: u64,
    resident_bytes: u64,
}

/// What a second more of recording takes.
struct Rate {
    cpu_fraction: f64,
    bytes_per_sample: f64,
}

fn main() {
    let folder = std::env::temp_dir().join(format!("pagewise-bench-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a temporary folder");
    eprintln!("measuring what a recording costs; about eight minutes");
    let ours = |seconds: u32| record(&folder, seconds).expect("pagewise records");
    let (short, long) = (ours(SHORT), ours(LONG));
    let rate = slope(&short, &long, LONG - SHORT);
    let own_work_beside = (short.cpu_seconds - rate.cpu_fraction * f64::from(SHORT)).max(0.0);
    let sadc = peer(&folder, "sadc -S ALL", sadc_command);
    let collectl = peer(&folder, "collectl", collectl_command);
    fs::remove_dir_all(&folder).ok();

    println!("{:<44} {:>10} {:>12} {:>10} {:>10}", "", "pagewise", "sadc -S ALL", "collectl", "bound");
    let row = |what: &str, ours: String, of_peer: fn(&Rate) -> String, bound: &str| {
        let shown = |peer: &Option<Rate>| peer.as_ref().map_or_else(|| "absent".to_owned(), of_peer);
        println!("{what:<44} {ours:>10} {:>12} {:>10} {bound:>10}", shown(&sadc), shown(&collectl));
    };
    row("CPU at 1 Hz, of one core", percent(rate.cpu_fraction), |peer| percent(peer.cpu_fraction), "0.1 %");
    row(
        "bytes a sample",
        format!("{:.0}", rate.bytes_per_sample),
        |peer| format!("{:.0}", peer.bytes_per_sample),
        "300",
    );
    println!("{:<44} {:>10} {:>12} {:>10} {:>10}", "resident memory", mib(long.resident_bytes), "", "", "20 MiB");
    println!("{:<44} {:>10} {:>12} {:>10} {:>10}", "CPU of starting and ending", ms(own_work_beside), "", "", "20 ms");
    for (name, peer) in [("sadc (Debian package sysstat)", &sadc), ("collectl", &collectl)] {
        if peer.is_none() {
            println!("{name} is not installed: not compared.");
        }
    }
    let of_peer = |peer: &Option<Rate>| {
        peer.as_ref().map(
            |rate| serde_json::json!({"cpu_fraction": rate.cpu_fraction, "bytes_per_sample": rate.bytes_per_sample}),
        )
    };
    save(&serde_json::json!({
        "schema": "pagewise.bench/1",
        "bench": "recording",
        "commit": commit(),
        "hz": 1,
        "seconds": [SHORT, LONG],
        "cpu_fraction": rate.cpu_fraction,
        "bytes_per_sample": rate.bytes_per_sample,
        "resident_bytes": long.resident_bytes,
        "start_and_end_cpu_seconds": own_work_beside,
        "short_file_bytes": short.bytes,
        "sadc": of_peer(&sadc),
        "collectl": of_peer(&collectl),
    }));
    let within = rate.cpu_fraction <= CPU_BOUND
        && rate.bytes_per_sample <= BYTES_BOUND
        && long.resident_bytes <= RESIDENT_BOUND
        && own_work_beside <= START_BOUND;
    if !within {
        eprintln!("over its bound");
        std::process::exit(1);
    }
}

fn slope(short: &Cost, long: &Cost, seconds: u32) -> Rate {
    let seconds = f64::from(seconds);
    Rate {
        cpu_fraction: (long.cpu_seconds - short.cpu_seconds) / seconds,
        bytes_per_sample: (long.bytes as f64 - short.bytes as f64) / seconds,
    }
}

fn record(folder: &Path, seconds: u32) -> Option<Cost> {
    let file = folder.join(format!("{seconds}.pgw"));
    let mut command = Command::new(env!("CARGO_BIN_EXE_pagewise"));
    command.args(["record", "--hz", "1", "--for", &format!("{seconds}s"), "-o"]).arg(&file);
    measure(command, &file)
}

fn peer(folder: &Path, name: &str, command: fn(&Path, u32) -> Option<(Command, PathBuf)>) -> Option<Rate> {
    let run = |seconds: u32| -> Option<Cost> {
        let (command, output) = command(&folder.join(format!("{}-{seconds}", name.replace(' ', "-"))), seconds)?;
        measure(command, &output)
    };
    let (short, long) = (run(SHORT)?, run(PEER_LONG)?);
    Some(slope(&short, &long, PEER_LONG - SHORT))
}

fn sadc_command(output: &Path, seconds: u32) -> Option<(Command, PathBuf)> {
    let program = ["/usr/lib/sysstat/sadc", "/usr/lib64/sa/sadc"].into_iter().find(|path| Path::new(path).exists())?;
    let mut command = Command::new(program);
    command.args(["-S", "ALL", "1", &(seconds + 1).to_string()]).arg(output);
    Some((command, output.to_owned()))
}

/// CPU, memory, buddy lists, as the files compared here.
fn collectl_command(output: &Path, seconds: u32) -> Option<(Command, PathBuf)> {
    fs::create_dir_all(output).ok()?;
    let mut command = Command::new("collectl");
    command.args(["-scmB", "-i", "1", "-c", &seconds.to_string(), "-f"]).arg(output);
    Some((command, output.to_owned()))
}

/// Runs a command to its end: its CPU time, the size of what it wrote, the most memory it held.
fn measure(mut command: Command, output: &Path) -> Option<Cost> {
    let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().ok()?;
    let pid = child.id();
    let mut resident_bytes = 0;
    // The kernel keeps the peak itself; it only has to be read before the process is gone, and a zombie has none.
    while let Some(peak) = peak_resident(pid) {
        resident_bytes = peak;
        std::thread::sleep(std::time::Duration::from_millis(500));
    }
    let reaped = child::reap(pid).ok()?;
    (reaped.status == 0).then(|| Cost { cpu_seconds: reaped.user + reaped.system, bytes: size(output), resident_bytes })
}

fn peak_resident(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? * 1024)
}

fn size(path: &Path) -> u64 {
    let Ok(metadata) = fs::metadata(path) else { return 0 };
    if !metadata.is_dir() {
        return metadata.len();
    }
    fs::read_dir(path).into_iter().flatten().flatten().map(|entry| size(&entry.path())).sum()
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

fn commit() -> String {
    let output = Command::new("git").args(["rev-parse", "--short", "HEAD"]).output();
    output.ok().map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default()
}

fn save(result: &serde_json::Value) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/results/recording");
    let date = jiff::Timestamp::now().strftime("%Y-%m-%d").to_string();
    let path = folder.join(format!("{date}-{}.json", commit()));
    let text = serde_json::to_string_pretty(result).unwrap_or_default() + "\n";
    match fs::create_dir_all(&folder).and_then(|()| fs::write(&path, text)) {
        Ok(()) => println!("written to bench/results/recording/{date}-{}.json", commit()),
        Err(error) => eprintln!("cannot write {}: {error}", path.display()),
    }
}

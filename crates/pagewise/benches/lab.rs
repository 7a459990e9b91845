//! How long a guest of `pagewise lab boot` takes, beside virtme-ng's own start of the same kernel on a machine of the same size: in rounds,
//! in which they take turns to be first. Of our guests also what its agent takes after init has started it, and how long they copy, beside one with
//! the processor that QEMU emulates by itself. Writes
//! `bench/results/lab/<date>-<commit>.json`, prints a table, and fails beyond a bound. Needs `scripts/setup lab`; the kernel is fetched.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod result;

use pagewise_core::stats::contrast::Contrast;
use pagewise_core::stats::summary::{mean, standard_deviation};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

const ROUNDS: usize = 6;
const KERNEL: &str = "debian:6.12";
/// What is copied through a pipe, in MiB.
const COPIED: u32 = 512;
/// The processor of virtme-ng's own guests.
const QEMUS_OWN: &str = "-cpu max -accel tcg";

/// Bounds, in seconds: a boot with everything on an emulated processor; what the agent adds to a guest's own boot.
const BOOT: f64 = 40.0;
const AGENT: f64 = 1.0;

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

/// One round, in seconds.
struct Round {
    pagewise: f64,
    virtme: f64,
    /// From init's "starting script" to the command.
    agent: f64,
    /// Copying, on our processor and on QEMU's own.
    copies: f64,
    copies_on_qemus: f64,
}

/// Two measurements, one after the other.
fn both<A, B>(
    is_first_first: bool,
    first: impl FnOnce() -> Result<A, String>,
    second: impl FnOnce() -> Result<B, String>,
) -> Result<(A, B), String> {
    if is_first_first {
        return Ok((first()?, second()?));
    }
    let second = second()?;
    Ok((first()?, second))
}

fn measure() -> Result<bool, String> {
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("lab-cache");
    eprintln!("measuring how long guests take to boot; about {} s", ROUNDS * 60);
    // Everything that is fetched, and files in the page cache of this host.
    pagewise(&cache)?;
    let image = image(&cache)?;
    let mut rounds = Vec::new();
    for number in 0..ROUNDS {
        let is_ours_first = number % 2 == 0;
        let (ours, theirs) = both(is_ours_first, || pagewise(&cache), || virtme(&cache, &image))?;
        let on_qemus = ["--qemu-opts", QEMUS_OWN];
        let (copying, on_qemus) = both(is_ours_first, || copies(&cache, &[]), || copies(&cache, &on_qemus))?;
        rounds.push(Round {
            pagewise: ours.0,
            agent: ours.1,
            virtme: theirs,
            copies: copying,
            copies_on_qemus: on_qemus,
        });
    }
    let of = |value: fn(&Round) -> f64| rounds.iter().map(value).collect::<Vec<f64>>();
    let (ours, theirs, agent) = (of(|round| round.pagewise), of(|round| round.virtme), of(|round| round.agent));
    let differences: Vec<f64> = rounds.iter().map(|round| round.pagewise - round.virtme).collect();
    let (ours, theirs) = (spread(&ours)?, spread(&theirs)?);
    let (agent, difference) = (spread(&agent)?, spread(&differences)?);
    let (copies, on_qemus) = (spread(&of(|round| round.copies))?, spread(&of(|round| round.copies_on_qemus))?);
    println!("{ROUNDS} boots each of {KERNEL}, 1 GiB, one processor; seconds with the 95 % interval of the mean");
    let copying = format!("copying {COPIED} MiB in it");
    for (what, [mean, low, high]) in [
        ("pagewise lab boot, all of it", ours),
        ("virtme-run, all of it", theirs),
        ("pagewise less virtme-run", difference),
        ("its agent, in the guest", agent),
        (copying.as_str(), copies),
        ("the same on QEMU's own CPU", on_qemus),
    ] {
        println!("  {what:<30} {mean:6.2} ({low:.2} to {high:.2})");
    }
    let one = |round: &Round| {
        json!({
            "pagewise": round.pagewise,
            "virtme_run": round.virtme,
            "agent": round.agent,
            "copies": round.copies,
            "copies_on_qemus_own": round.copies_on_qemus,
        })
    };
    let found = json!({
        "schema": "pagewise.bench/1",
        "bench": "lab",
        "commit": result::commit(),
        "cpus": std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
        "kernel": fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim(),
        "guest": KERNEL,
        "pagewise_seconds": ours,
        "virtme_run_seconds": theirs,
        "difference_seconds": difference,
        "agent_seconds": agent,
        "copied_mib": COPIED,
        "copies_seconds": copies,
        "copies_on_qemus_own_seconds": on_qemus,
        "bounds": {"pagewise_seconds": BOOT, "agent_seconds": AGENT},
        "rounds": rounds.iter().map(one).collect::<Vec<Value>>(),
    });
    result::save("lab", "json", &(serde_json::to_string_pretty(&found).unwrap_or_default() + "\n"));
    let is_met = ours[0] <= BOOT && agent[0] <= AGENT;
    if !is_met {
        eprintln!("over a bound: {BOOT} s for a boot, {AGENT} s of them for the agent");
    }
    Ok(is_met)
}

/// Mean and its t interval at 95 %.
fn spread(values: &[f64]) -> Result<[f64; 3], String> {
    let (middle, sd) = mean(values).zip(standard_deviation(values)).ok_or("too few rounds")?;
    let n = values.len() as f64;
    let (low, high) = Contrast::new(middle, sd / n.sqrt(), n - 1.0).interval(0.05);
    Ok([middle, low, high])
}

/// What a script prints in a guest of `lab boot`.
fn in_guest(cache: &Path, options: &[&str], script: &str) -> Result<String, String> {
    let run = Command::new(env!("CARGO_BIN_EXE_pagewise"))
        .args(["lab", "boot", KERNEL, "--memory", "1G"])
        .args(options)
        .args(["--", "sh", "-c", script])
        .env("PAGEWISE_CACHE_DIR", cache)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| error.to_string())?;
    if !run.status.success() {
        return Err(format!("lab boot: {}", String::from_utf8_lossy(&run.stderr)));
    }
    Ok(String::from_utf8_lossy(&run.stdout).into_owned())
}

/// Seconds of a whole `lab boot`, and of them those of the agent.
fn pagewise(cache: &Path) -> Result<(f64, f64), String> {
    let script = "read up rest < /proc/uptime; echo up $up; dmesg | grep 'starting script' | tail -1";
    let since = Instant::now();
    let out = in_guest(cache, &[], script)?;
    let seconds = since.elapsed().as_secs_f64();
    let number = |text: &str| text.trim().parse::<f64>().ok();
    let up = out.lines().find_map(|line| number(line.strip_prefix("up ")?));
    let script = out.lines().find_map(|line| number(line.strip_prefix('[')?.split(']').next()?));
    let agent = up.zip(script).map(|(up, script)| up - script).ok_or(format!("no times in: {out}"))?;
    Ok((seconds, agent))
}

/// Seconds that a guest takes to copy from one process to another.
fn copies(cache: &Path, options: &[&str]) -> Result<f64, String> {
    // Programs are loaded over 9p: that is not what is measured.
    let script = format!(
        "head -c 1 /dev/zero | tail -c 1 >/dev/null; read from rest </proc/uptime; head -c {COPIED}M /dev/zero | tail -c 1 >/dev/null; \
         read to rest </proc/uptime; echo copied $from $to"
    );
    let out = in_guest(cache, options, &script)?;
    let times = out.lines().find_map(|line| line.strip_prefix("copied ")?.split_once(' '));
    let seconds = times.and_then(|(from, to)| Some(to.trim().parse::<f64>().ok()? - from.parse::<f64>().ok()?));
    seconds.ok_or(format!("no times in: {out}"))
}

/// Seconds of virtme-ng's own start of a guest like ours.
fn virtme(cache: &Path, image: &Path) -> Result<f64, String> {
    let installed = Command::new("virtme-run").arg("--help").output().is_ok();
    let folder = fs::read_dir(cache.join("lab")).map_err(|error| error.to_string())?.filter_map(Result::ok);
    let library =
        folder.map(|entry| entry.path()).find(|path| path.is_dir() && path.to_string_lossy().contains("virtme-ng-"));
    let mut command = match library.filter(|_| !installed) {
        Some(library) => {
            let mut command = Command::new("python3");
            command.arg(library.join("bin/virtme-run")).env("PYTHONPATH", library);
            command
        }
        None => Command::new("virtme-run"),
    };
    command.args(["--kimg".as_ref(), image.as_os_str()]);
    command.args(["--mods", "auto", "--force-9p", "--disable-kvm", "--disable-microvm", "--force-initramfs"]);
    command.args(["--memory", "1G", "--cpus", "1", "--script-sh", "true"]).stdin(Stdio::null());
    let since = Instant::now();
    let run = command.output().map_err(|error| error.to_string())?;
    if run.status.success() {
        return Ok(since.elapsed().as_secs_f64());
    }
    Err(format!("virtme-run: {}", String::from_utf8_lossy(&run.stderr)))
}

fn image(cache: &Path) -> Result<PathBuf, String> {
    let run = Command::new(env!("CARGO_BIN_EXE_pagewise"))
        .args(["lab", "kernels", KERNEL, "--json"])
        .env("PAGEWISE_CACHE_DIR", cache)
        .output()
        .map_err(|error| error.to_string())?;
    let report: Value = serde_json::from_slice(&run.stdout).map_err(|error| error.to_string())?;
    report["kernels"][0]["image"].as_str().map(PathBuf::from).ok_or("no image".to_owned())
}

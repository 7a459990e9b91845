//! What an analysis costs: the published matrix as a whole process, and 100,000 points with 200 counters each, with R on
//! the same work beside it. Writes `bench/results/analyze/<date>-<commit>.json` and the R script, and prints a table.
//!
//! To be run on a quiet machine. Wall time is from start to exit of the process, memory its `VmHWM`, read every 5 ms. R
//! reads the table with `read.csv` and the classes of its columns given, its fastest way without packages.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod result;

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

const POINTS: u64 = 100_000;
const COUNTERS: u64 = 200;
/// Every tenth counter differs by a tenth of its spread between the levels.
const DIFFERING: u64 = 10;
const MATRIX_RUNS: usize = 50;

const MATRIX_BOUND_SECONDS: f64 = 0.020;
const LARGE_BOUND_SECONDS: f64 = 10.0;
const LARGE_BOUND_BYTES: u64 = 500 << 20;

struct Cost {
    seconds: f64,
    resident_bytes: u64,
}

fn main() {
    let pagewise = env!("CARGO_BIN_EXE_pagewise");
    let folder = std::env::temp_dir().join(format!("pagewise-bench-analyze-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a temporary folder");
    eprintln!("analysing the published matrix {MATRIX_RUNS} times, then {POINTS} points with {COUNTERS} counters");
    let matrix = matrix(pagewise);
    let table = folder.join("points.csv");
    write_table(&table).expect("the table is written");
    let large = {
        let mut command = Command::new(pagewise);
        command.arg("analyze").arg(&table);
        command.args(["--value", "seconds", "--compare", "kernel=baseline,patched", "--counters", "all", "--json"]);
        cost(command).expect("pagewise analyses the table")
    };
    let script = r_script();
    let script_file = folder.join("points.R");
    fs::write(&script_file, &script).expect("the script is written");
    let r = {
        let mut command = Command::new("Rscript");
        command.arg("--vanilla").arg(&script_file).arg(&table);
        cost(command)
    };
    fs::remove_dir_all(&folder).ok();

    println!("{:<48} {:>10} {:>10} {:>10}", "", "pagewise", "R", "bound");
    let row = |what: &str, ours: String, theirs: Option<String>, bound: &str| {
        println!("{what:<48} {ours:>10} {:>10} {bound:>10}", theirs.unwrap_or_else(|| "–".to_owned()));
    };
    row("published matrix, whole process, median", format!("{:.1} ms", matrix * 1e3), None, "20 ms");
    let seconds = |cost: &Cost| format!("{:.2} s", cost.seconds);
    let mib = |cost: &Cost| format!("{:.0} MiB", cost.resident_bytes as f64 / f64::from(1 << 20));
    row("100,000 points with 200 counters", seconds(&large), r.as_ref().map(seconds), "10 s");
    row("resident memory of it", mib(&large), r.as_ref().map(mib), "500 MiB");
    let found = serde_json::json!({
        "schema": "pagewise.bench/1",
        "bench": "analyze",
        "commit": result::commit(),
        "matrix_runs": MATRIX_RUNS,
        "matrix_seconds": matrix,
        "points": POINTS,
        "counters": COUNTERS,
        "large_seconds": large.seconds,
        "large_resident_bytes": large.resident_bytes,
        "r_version": r_version(),
        "r_seconds": r.as_ref().map(|cost| cost.seconds),
        "r_resident_bytes": r.as_ref().map(|cost| cost.resident_bytes),
    });
    result::save("analyze", "json", &(serde_json::to_string_pretty(&found).unwrap_or_default() + "\n"));
    result::save("analyze", "R", &script);
    let within = matrix <= MATRIX_BOUND_SECONDS
        && large.seconds <= LARGE_BOUND_SECONDS
        && large.resident_bytes <= LARGE_BOUND_BYTES;
    if !within {
        eprintln!("over its bound");
        std::process::exit(1);
    }
}

/// Median wall time of a whole process that answers both questions of the published matrix.
fn matrix(pagewise: &str) -> f64 {
    let table = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/hadoop-mglru.csv");
    let run = || {
        let mut command = Command::new(pagewise);
        command.arg("analyze").arg(&table).args(["--value", "seconds", "--compare", "kernel=baseline,patched"]);
        command.args(["--compare", "swap=off,on", "--by", "kernel,swap,concurrency", "--json"]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let started = Instant::now();
        let status = command.status().expect("pagewise runs");
        assert!(status.success(), "pagewise analyses the matrix");
        started.elapsed().as_secs_f64()
    };
    let mut seconds: Vec<f64> = (0..MATRIX_RUNS).map(|_| run()).collect();
    seconds.sort_by(f64::total_cmp);
    seconds[MATRIX_RUNS / 2]
}

/// Runs a command to its end; memory is the largest that was seen.
fn cost(mut command: Command) -> Option<Cost> {
    let started = Instant::now();
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::inherit()).spawn().ok()?;
    let mut resident_bytes = 0;
    loop {
        let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
        resident_bytes = resident_bytes.max(kib.unwrap_or_default() * 1024);
        match child.try_wait() {
            Ok(Some(status)) if status.success() => break,
            Ok(None) => thread::sleep(Duration::from_millis(5)),
            _ => return None,
        }
    }
    Some(Cost { seconds: started.elapsed().as_secs_f64(), resident_bytes })
}

/// The same table each time: splitmix64, its sums of four near enough to a bell curve.
fn write_table(file: &Path) -> std::io::Result<()> {
    let mut state = 42u64;
    let mut unit = move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    };
    let mut bell = move || unit() + unit() + unit() + unit() - 2.0;
    let mut out = BufWriter::new(File::create(file)?);
    let names: String = (0..COUNTERS).fold(String::new(), |mut names, n| {
        let _ = write!(names, ",counter_{n}");
        names
    });
    writeln!(out, "kernel,order,seconds{names}")?;
    for point in 0..POINTS {
        let is_patched = point % 2 == 1;
        let level = if is_patched { "patched" } else { "baseline" };
        write!(out, "{level},{point},{:.3}", 900.0 + 20.0 * bell())?;
        for counter in 0..COUNTERS {
            let shift = if is_patched && counter % DIFFERING == 0 { 100.0 } else { 0.0 };
            write!(out, ",{:.0}", 1e6 + shift + 1000.0 * bell())?;
        }
        writeln!(out)?;
    }
    out.flush()
}

/// The same questions in R: Welch's test of the value and of every counter, and Benjamini and Hochberg over these.
fn r_script() -> String {
    format!(
        "# The same work as `pagewise analyze points.csv --value seconds --compare kernel=baseline,patched --counters all`\n\
         # on the table that crates/pagewise/benches/analyze.rs writes: Rscript --vanilla THIS points.csv\n\
         file <- commandArgs(trailingOnly = TRUE)[1]\n\
         d <- read.csv(file, colClasses = c('character', rep('numeric', {})), nrows = {POINTS})\n\
         a <- d$kernel == 'baseline'\n\
         b <- d$kernel == 'patched'\n\
         print(t.test(d$seconds[a], d$seconds[b]))\n\
         print(wilcox.test(d$seconds[a], d$seconds[b], exact = FALSE))\n\
         p <- sapply(d[4:ncol(d)], function(x) t.test(x[a], x[b])$p.value)\n\
         print(sort(p.adjust(p, 'BH'))[1:20])\n",
        COUNTERS + 2
    )
}

fn r_version() -> Option<String> {
    let output = Command::new("Rscript").arg("--version").output().ok()?;
    // R 4 says it on stderr before 4.3 and on stdout since.
    let said = [output.stdout, output.stderr].concat();
    Some(String::from_utf8_lossy(&said).trim().to_owned())
}

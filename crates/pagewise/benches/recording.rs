//! What a 1 Hz recording of an idle host costs, beside `sadc -S ALL`, collectl and atop: CPU as a share of one core, bytes a
//! sample, resident memory. Writes `bench/results/recording/<date>-<commit>.json` and prints a table. Run it on a quiet
//! machine: everything else that runs makes more numbers change.
//!
//! The programs take turns, several rounds, because a shared host changes from minute to minute. One more stands beside
//! them: *floor*, a loop that sleeps a second and reads the same eight kernel files without looking at them. On an idle
//! virtual machine the wake-up and the cold kernel text cost more than all the work, and the floor says how much more.
//!
//! CPU is what the kernel charged all threads of a program between two instants well after its start, so that starting
//! and ending are not in it; what those cost is shown apart.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use pagewise_host::sys::child;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

const ROUNDS: usize = 3;
/// A program runs this long before its CPU time counts, and then this long.
const SETTLE: Duration = Duration::from_secs(3);
const WINDOW: Duration = Duration::from_secs(15);

/// Bytes: the long one fills a segment of 300 ticks and is closed with it, so that all of its samples are in segments.
const SHORT: u32 = 10;
const LONG: u32 = 310;

/// Share of one core.
const CPU_BOUND: f64 = 0.001;
const BYTES_BOUND: f64 = 300.0;
const RESIDENT_BOUND: u64 = 20 << 20;
/// Starting one, with its first sample, and ending it.
const START_BOUND: f64 = 0.020;

/// Set in the environment of the floor.
const FLOOR: &str = "PAGEWISE_BENCH_FLOOR";
const FILES: [&str; 8] = [
    "/proc/vmstat",
    "/proc/meminfo",
    "/proc/stat",
    "/proc/zoneinfo",
    "/proc/buddyinfo",
    "/proc/pressure/memory",
    "/proc/pressure/io",
    "/proc/pressure/cpu",
];

/// A program that samples once a second into a file or folder until it is killed.
struct Contender {
    name: &'static str,
    command: fn(&Path) -> Option<Command>,
    /// CPU as a share of one core, round by round.
    cpu: Vec<f64>,
    bytes_per_second: Vec<f64>,
    resident_bytes: u64,
}

fn main() {
    if std::env::var_os(FLOOR).is_some() {
        read_and_sleep();
    }
    let folder = std::env::temp_dir().join(format!("pagewise-bench-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a temporary folder");
    let contender =
        |name, command| Contender { name, command, cpu: Vec::new(), bytes_per_second: Vec::new(), resident_bytes: 0 };
    let mut contenders = [
        contender("pagewise", pagewise as fn(&Path) -> Option<Command>),
        contender("floor", floor),
        contender("sadc -S ALL", sadc),
        contender("collectl", collectl),
        contender("atop", atop),
    ];
    let seconds = (SETTLE + WINDOW).as_secs() as usize * ROUNDS * contenders.len() + (LONG + SHORT) as usize;
    eprintln!("measuring what a recording costs; about {} minutes", seconds.div_ceil(60));
    for round in 0..ROUNDS {
        for contender in &mut contenders {
            contender.measure(&folder.join(format!("{}-{round}", contender.name.replace(' ', ""))));
        }
    }
    let ours = |seconds: u32| record(&folder, seconds).expect("pagewise records");
    let (short, long) = (ours(SHORT), ours(LONG));
    fs::remove_dir_all(&folder).ok();

    let cpu = contenders[0].median();
    let bytes_per_sample = (long.bytes as f64 - short.bytes as f64) / f64::from(LONG - SHORT);
    let start_and_end = (short.cpu_seconds - cpu * f64::from(SHORT)).max(0.0);
    println!("CPU at 1 Hz, of one core: median of {ROUNDS} rounds of {} s, smallest and largest", WINDOW.as_secs());
    for contender in &contenders {
        match contender.cpu.as_slice() {
            [] => println!("  {:<14} not installed", contender.name),
            cpu => println!(
                "  {:<14} {:>9} {:>9} {:>9}   {:>7.0} bytes a second",
                contender.name,
                percent(contender.median()),
                percent(cpu.iter().copied().fold(f64::INFINITY, f64::min)),
                percent(cpu.iter().copied().fold(0.0, f64::max)),
                median(&contender.bytes_per_second),
            ),
        }
    }
    println!("pagewise                              bound");
    println!("  CPU at 1 Hz          {:>12} {:>9}", percent(cpu), percent(CPU_BOUND));
    println!("  bytes a sample       {bytes_per_sample:>12.0} {BYTES_BOUND:>9.0}");
    println!("  resident memory      {:>12} {:>9}", mib(long.resident_bytes), mib(RESIDENT_BOUND));
    println!("  start and end, CPU   {:>12} {:>9}", ms(start_and_end), ms(START_BOUND));
    let beside: Vec<serde_json::Value> = contenders.iter().map(Contender::to_json).collect();
    save(&serde_json::json!({
        "schema": "pagewise.bench/1",
        "bench": "recording",
        "commit": commit(),
        "hz": 1,
        "rounds": ROUNDS,
        "window_seconds": WINDOW.as_secs(),
        "contenders": beside,
        "cpu_fraction": cpu,
        "bytes_per_sample": bytes_per_sample,
        "bytes_of_seconds": [SHORT, LONG],
        "resident_bytes": long.resident_bytes,
        "start_and_end_cpu_seconds": start_and_end,
        "short_file_bytes": short.bytes,
    }));
    let within = cpu <= CPU_BOUND
        && bytes_per_sample <= BYTES_BOUND
        && long.resident_bytes <= RESIDENT_BOUND
        && start_and_end <= START_BOUND;
    if !within {
        eprintln!("over its bound");
        std::process::exit(1);
    }
}

impl Contender {
    fn measure(&mut self, output: &Path) {
        let Some(mut command) = (self.command)(output) else { return };
        let Ok(mut child) = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn() else {
            return;
        };
        sleep(SETTLE);
        let before = (Instant::now(), cpu_nanoseconds(&child), size(output));
        sleep(WINDOW);
        let after = (Instant::now(), cpu_nanoseconds(&child), size(output));
        self.resident_bytes = self.resident_bytes.max(peak_resident(child.id()).unwrap_or(0));
        let is_running = child.try_wait().is_ok_and(|status| status.is_none());
        child.kill().ok();
        child.wait().ok();
        if !is_running {
            return;
        }
        let seconds = (after.0 - before.0).as_secs_f64();
        self.cpu.push(after.1.saturating_sub(before.1) as f64 * 1e-9 / seconds);
        self.bytes_per_second.push((after.2 as f64 - before.2 as f64) / seconds);
    }

    fn median(&self) -> f64 {
        median(&self.cpu)
    }

    fn to_json(&self) -> serde_json::Value {
        serde_json::json!({
            "name": self.name,
            "cpu_fraction": self.cpu,
            "bytes_per_second": self.bytes_per_second,
            "resident_bytes": self.resident_bytes,
        })
    }
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        n => f64::midpoint(sorted[(n - 1) / 2], sorted[n / 2]),
    }
}

/// Of all threads that run, to the nanosecond; `/proc/PID/stat` counts in hundredths of a second.
fn cpu_nanoseconds(child: &Child) -> u64 {
    let tasks = fs::read_dir(format!("/proc/{}/task", child.id())).into_iter().flatten().flatten();
    let of = |task: fs::DirEntry| fs::read_to_string(task.path().join("schedstat")).ok();
    tasks.filter_map(of).filter_map(|text| text.split_whitespace().next()?.parse::<u64>().ok()).sum()
}

fn pagewise(output: &Path) -> Option<Command> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pagewise"));
    command.args(["record", "--hz", "1", "-o"]).arg(output.with_extension("pgw"));
    Some(command)
}

fn floor(_output: &Path) -> Option<Command> {
    let mut command = Command::new(std::env::current_exe().ok()?);
    command.env(FLOOR, "1");
    Some(command)
}

/// What the floor does, until it is killed.
fn read_and_sleep() -> ! {
    use std::os::unix::fs::FileExt;
    let files: Vec<fs::File> = FILES.iter().filter_map(|path| fs::File::open(path).ok()).collect();
    let mut buffer = vec![0u8; 128 << 10];
    loop {
        for file in &files {
            let mut at = 0;
            while let Ok(read @ 1..) = file.read_at(&mut buffer, at) {
                at += read as u64;
            }
        }
        sleep(Duration::from_secs(1));
    }
}

fn sadc(output: &Path) -> Option<Command> {
    let program = ["/usr/lib/sysstat/sadc", "/usr/lib64/sa/sadc"].into_iter().find(|path| Path::new(path).exists())?;
    let mut command = Command::new(program);
    command.args(["-S", "ALL", "1"]).arg(output);
    Some(command)
}

/// CPU, memory, buddy lists, as the files compared here.
fn collectl(output: &Path) -> Option<Command> {
    fs::create_dir_all(output).ok()?;
    let mut command = Command::new("collectl");
    command.args(["-scmB", "-i", "1", "-f"]).arg(output);
    Some(command)
}

fn atop(output: &Path) -> Option<Command> {
    let mut command = Command::new("atop");
    command.arg("-w").arg(output).arg("1");
    Some(command)
}

struct Cost {
    cpu_seconds: f64,
    bytes: u64,
    resident_bytes: u64,
}

/// A recording from its start to its end.
fn record(folder: &Path, seconds: u32) -> Option<Cost> {
    let output = folder.join(format!("{seconds}.pgw"));
    let mut command = Command::new(env!("CARGO_BIN_EXE_pagewise"));
    command.args(["record", "--hz", "1", "--for", &format!("{seconds}s"), "-o"]).arg(&output);
    let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().ok()?;
    let pid = child.id();
    let mut resident_bytes = 0;
    // The kernel keeps the peak itself; it only has to be read before the process is gone, and a zombie has none.
    while let Some(peak) = peak_resident(pid) {
        resident_bytes = peak;
        sleep(Duration::from_millis(500));
    }
    let reaped = child::reap(pid).ok()?;
    let cpu_seconds = reaped.user + reaped.system;
    (reaped.status == 0).then(|| Cost { cpu_seconds, bytes: size(&output), resident_bytes })
}

fn peak_resident(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? * 1024)
}

/// Of a file, of all in a folder, or of the recording of that name.
fn size(path: &Path) -> u64 {
    let Ok(metadata) = fs::metadata(path) else {
        let beside = [PathBuf::from("pgw"), PathBuf::from("pgw-wal")];
        return beside
            .iter()
            .filter_map(|end| fs::metadata(path.with_extension(end)).ok())
            .map(|file| file.len())
            .sum();
    };
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

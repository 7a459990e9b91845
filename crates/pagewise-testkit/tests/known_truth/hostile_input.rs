//! Every parser of what others write, fed with bent input: an error, a gap or numbers, never a panic and never without end.
//!
//! First comes what is kept in `fuzz/`: inputs that libFuzzer found to reach something, and those that once broke a parser.
//! Then real input is bent at random: `PAGEWISE_FUZZ_SECONDS` says how long for each target (default 1). A run prints its
//! seed, and `PAGEWISE_FUZZ_SEED` repeats it. What takes hours, and sees which way an input goes, is `scripts/fuzz`.

#![allow(clippy::print_stdout, reason = "the harness shows the seed of a run that failed")]

use pagewise_testkit::hostile::{Random, TARGETS, Target, bend, find, kept};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// No parser may take longer for one input.
const TOO_LONG: Duration = Duration::from_secs(60);

fn length() -> Duration {
    let seconds = std::env::var("PAGEWISE_FUZZ_SECONDS").ok().and_then(|text| text.parse().ok());
    Duration::from_secs_f64(seconds.unwrap_or(1.0))
}

fn seed(target: &str) -> u64 {
    let given = std::env::var("PAGEWISE_FUZZ_SEED").ok().and_then(|text| text.parse().ok());
    let seed = given.unwrap_or_else(|| SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |t| t.as_nanos() as u64));
    // Shown by the test harness when the test fails.
    println!("{target}: PAGEWISE_FUZZ_SEED={seed}");
    seed
}

fn read(target: &Target, bytes: &[u8], what: &str) {
    let started = Instant::now();
    (target.run)(bytes);
    assert!(started.elapsed() < TOO_LONG, "{}: {what} ({} bytes) took too long", target.name, bytes.len());
}

fn fed(name: &str) {
    let target = find(name).unwrap_or_else(|| panic!("there is no target {name}"));
    let mut inputs = (target.samples)();
    assert!(!inputs.is_empty(), "{name} has no real input");
    inputs.iter().for_each(|bytes| read(target, bytes, "real input"));
    for (path, bytes) in kept(name) {
        read(target, &bytes, &path.display().to_string());
        inputs.push(bytes);
    }
    let mut random = Random(seed(name));
    let deadline = Instant::now() + length();
    while Instant::now() < deadline {
        read(target, &bend(&mut random, &inputs), "bent input");
    }
}

macro_rules! targets {
    ($($name:ident)+) => {
        $(#[test] fn $name() { fed(stringify!($name)); })+

        const TESTED: &[&str] = &[$(stringify!($name)),+];
    };
}

targets! {
    collectl sar nmon atop top vmstat perf_script perf_top perf_report perf_stat folded proc node_exporter kernel_log dstat free slab gc_log trace_events sosreport recording rows event_log plan policy table journal
    kernel_files perf_ring boot_loader symbols
}

#[test]
fn every_target_has_its_test() {
    let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
    assert_eq!(names, TESTED);
}

#[test]
fn what_is_kept_is_of_a_target_and_small() {
    for kind in ["corpus", "found"] {
        let folder = pagewise_testkit::hostile::folder().join(kind);
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            assert!(find(&name).is_some(), "{} is of no target", entry.path().display());
        }
    }
    for target in TARGETS {
        let bytes: usize = kept(target.name).iter().map(|(_, bytes)| bytes.len()).sum();
        assert!(bytes <= 512 << 10, "{}: {bytes} bytes are kept; scripts/fuzz keeps less", target.name);
    }
}

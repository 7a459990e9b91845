//! The guard where this host cannot show it: cgroup version 2 with its own way to reclaim, limits and high marks, the generations of
//! MGLRU, two nodes. `make test-guard` runs it in guests and writes `bench/long/guard-guests.json`; a normal run boots none, and holds
//! the committed result against what is claimed. A processor is emulated there: what the kernel counts is told, no time.

use super::committed;
use pagewise_testkit::requires;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Pages, or times.
const LITTLE: u64 = 256;

const RESULT: &str = "guard-guests.json";

/// What is counted in one arm of a case: name to the sum of its turns.
type Counts = BTreeMap<String, u64>;

/// What came of it.
#[derive(Serialize, Deserialize)]
struct Found {
    schema: String,
    date: String,
    /// How long a stream lasts in each turn, and of that, how long it is counted at its end.
    #[serde(default = "first_seconds")]
    seconds: (u32, u32),
    /// Machine, as it was asked for, to its release.
    releases: BTreeMap<String, String>,
    /// Machine to case to arm (`off`, `on`) to what was counted.
    machines: BTreeMap<String, BTreeMap<String, BTreeMap<String, Counts>>>,
}

/// Those of the first result, which does not have them.
fn first_seconds() -> (u32, u32) {
    (20, 8)
}

/// Those of the script.
const SECONDS: (u32, u32) = (26, 8);

/// Name of a machine, its kernel and nodes.
const MACHINES: [(&str, &str, u32); 3] =
    [("6.1", "debian:6.1", 1), ("6.12", "debian:6.12", 1), ("6.12, two nodes", "debian:6.12", 2)];

/// In the guest: each case without and with a guard, with a stream of one process over a file larger than the room it has.
const SCRIPT: &str = include_str!("guard_guests.sh");

fn page_file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/guard-guests.md")
}

#[test]
#[allow(clippy::print_stderr, reason = "who waits for a quarter of an hour sees what came of each machine")]
fn the_guard_is_tried_in_guests() {
    if std::env::var_os("PAGEWISE_GUARD_GUESTS").is_none() {
        return;
    }
    requires!(root, qemu, ext4_tools, pip, perl);
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("lab-cache");
    let folder = tempfile::tempdir().expect("a temporary folder");
    // A program with all that helps to debug it is slow to load over 9p, where each page of it comes through the emulated processor.
    let built = env!("CARGO_BIN_EXE_pagewise").to_owned();
    let program = std::env::var("PAGEWISE_BINARY").unwrap_or(built);
    let (mut releases, mut machines) = (BTreeMap::new(), BTreeMap::new());
    for (name, kernel, nodes) in MACHINES {
        let disk = folder.path().join("disk.raw");
        fs::File::create(&disk).and_then(|file| file.set_len(5 << 30)).expect("a disk");
        let nodes = nodes.to_string();
        let run = Command::new(env!("CARGO_BIN_EXE_pagewise"))
            .args([
                "lab",
                "boot",
                kernel,
                "--memory",
                "1G",
                "--nodes",
                &nodes,
                "--cpus",
                &nodes,
                "--timeout",
                "20m",
                "--disk",
            ])
            .arg(&disk)
            .args(["--", "sh", "-c", SCRIPT, "sh", &program, &nodes])
            .env("PAGEWISE_CACHE_DIR", &cache)
            .stdin(Stdio::null())
            .output()
            .expect("pagewise starts");
        let out = String::from_utf8_lossy(&run.stdout).into_owned();
        eprintln!("{name}:\n{out}");
        assert!(run.status.success(), "{name}: {}", String::from_utf8_lossy(&run.stderr));
        let release = out.lines().find_map(|line| line.strip_prefix("RELEASE ")).expect("a release").to_owned();
        let mut cases: BTreeMap<String, BTreeMap<String, Counts>> = BTreeMap::new();
        for line in out.lines().filter_map(|line| line.strip_prefix("COUNT ")) {
            let parts: Vec<&str> = line.split('|').collect();
            let [case, arm, what, value] = parts[..] else { panic!("{line}") };
            let counts = cases.entry(case.to_owned()).or_default().entry(arm.to_owned()).or_default();
            *counts.entry(what.to_owned()).or_default() += value.parse::<u64>().expect("a number");
        }
        releases.insert(name.to_owned(), release);
        machines.insert(name.to_owned(), cases);
    }
    let date = committed::today();
    let found = Found { schema: "pagewise.guard-guests/1".to_owned(), date, seconds: SECONDS, releases, machines };
    committed::write(RESULT, &found);
    holds(&found);
}

fn of_gib(counts: &Counts, names: &[&str]) -> f64 {
    let sum: u64 = names.iter().filter_map(|name| counts.get(*name)).sum();
    // pgpgin counts KiB.
    let read = counts.get("pgpgin").copied().unwrap_or_default() as f64 / f64::from(1 << 20);
    sum as f64 / read
}

/// What a case is about, and the names of its counts.
fn measure(case: &str) -> (&'static str, &'static [&'static str]) {
    match case {
        "memory.max" => ("times the group met its limit", &["max"]),
        "memory.high" => ("times the group was over its high mark", &["high"]),
        // What is asked of generations counts as if programs had scanned it.
        _ => ("pages that kswapd scanned", &["pgscan_kswapd"]),
    }
}

fn holds(found: &Found) {
    for (machine, cases) in &found.machines {
        assert!(!cases.is_empty(), "{machine}: nothing was tried");
        for (case, arms) in cases {
            let (what, names) = measure(case);
            let [off, on] = ["off", "on"].map(|arm| of_gib(&arms[arm], names));
            assert!(off > 0.0, "{machine}, {case}: {what}: there was nothing to spare");
            // A group keeps away from its limit; of a node's memory the kernel's own first steps stay.
            let most = if names == ["max"] || names == ["high"] { 0.1 } else { 0.5 };
            assert!(on <= off * most, "{machine}, {case}: {what}: {off:.1} a GiB without, {on:.1} with the guard");
            let on = |name: &str| arms["on"].get(name).copied().unwrap_or_default();
            let sum = |arm: &str, start: &str| -> u64 {
                arms[arm].iter().filter(|(name, _)| name.starts_with(start)).map(|(_, count)| count).sum()
            };
            for (start, what) in [("pgsteal_anon", "anonymous memory was taken"), ("allocstall", "programs reclaimed")]
            {
                assert!(sum("on", start) <= sum("off", start) + LITTLE, "{machine}, {case}: {what}: {arms:?}");
            }
            // Where files leave no trail all is taken otherwise: of the group that reads, or of whatever there is.
            if case.contains("many files") {
                assert!(on("taken") > 0 && on("taken_behind_streams") == 0, "{machine}, {case}: {arms:?}");
                let of_group = on("taken_of_streams_cgroup");
                assert_eq!(of_group > 0, case.contains("a group of their own"), "{machine}, {case}: {arms:?}");
            }
            assert_eq!(arms["on"].get("oom").copied().unwrap_or_default(), 0, "{machine}, {case}");
        }
    }
}

#[test]
fn the_committed_result_is_of_a_guard_that_spares_reclaim_in_guests() {
    holds(&committed::read(RESULT, "test-guard"));
}

#[test]
fn the_page_of_guards_in_guests_in_the_reference_shows_the_committed_result() {
    let found: Found = committed::read(RESULT, "test-guard");
    let text = page(&found);
    if std::env::var_os("PAGEWISE_BLESS").is_some() {
        fs::write(page_file(), &text).unwrap();
    }
    let there = fs::read_to_string(page_file()).unwrap_or_default();
    assert!(there == text, "{} is not what was found; `make docs` writes it again", page_file().display());
}

fn page(found: &Found) -> String {
    let (seconds, counted) = found.seconds;
    let has_many = found.machines.values().flat_map(BTreeMap::keys).any(|case| case.contains("many files"));
    let many = if has_many { ", or as much in files of 2 MiB" } else { "" };
    let mut text = format!(
        "# The guard in guests\n\nTried on {} inside guests of `pagewise lab boot` with 1 GiB of memory (Debian's kernels, cgroup version \
         2, emulated processors). A process reads a file of 1,400 MiB over and over for {seconds} seconds{many}, of which the last {counted} count; first without, then with \
         `pagewise guard run`. Groups have 150 MiB and are guarded with `--cgroup job`. What the kernel counted \
         for each GiB that was read; no times, which an emulated processor says nothing of. `make test-guard` does it again.\n\n\
         | machine | case | counted for each GiB read | without | with the guard |\n| --- | --- | --- | ---: | ---: |\n",
        found.date
    );
    for (machine, cases) in &found.machines {
        let release = &found.releases[machine];
        for (case, arms) in cases {
            let (what, names) = measure(case);
            let [off, on] = ["off", "on"].map(|arm| of_gib(&arms[arm], names));
            let nodes = machine.split_once(", ").map_or(String::new(), |(_, nodes)| format!(", {nodes}"));
            let _ = writeln!(text, "| {release}{nodes} | {case} | {what} | {off:.0} | {on:.0} |");
        }
    }
    text
}

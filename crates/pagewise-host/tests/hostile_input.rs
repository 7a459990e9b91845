//! Every parser of imports and the reader of recordings, fed with bent files: an error, a gap or numbers, never a panic and
//! never without end.
//!
//! Inputs are real files with bytes flipped, cut, doubled, spliced with each other, and lines shuffled, plus words that
//! formats are made of. `PAGEWISE_FUZZ_SECONDS` says how long each target runs (default 1; `PAGEWISE_LONG`: 1030, two hours in all). A run
//! prints its seed, and `PAGEWISE_FUZZ_SEED` repeats it. What it finds becomes a test by name below.

#![allow(clippy::print_stdout, reason = "the harness shows the seed of a run that failed")]

use pagewise_core::export::{Selection, csv, folded, openmetrics, parquet, pprof, source_tables};
use pagewise_core::import::{Assumed, Imported, Kind, merge, parse};
use pagewise_core::recording::Recorded;
use pagewise_host::import::{KindFile, open, write};
use pagewise_host::store::recording::Recording;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// splitmix64 (Steele, Lea and Flood 2014): small, and its whole state is the seed that is printed.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }
}

fn length() -> Duration {
    let seconds = std::env::var("PAGEWISE_FUZZ_SECONDS").ok().and_then(|text| text.parse().ok());
    let default = if std::env::var_os("PAGEWISE_LONG").is_some() { 1030.0 } else { 1.0 };
    Duration::from_secs_f64(seconds.unwrap_or(default))
}

fn seed(target: &str) -> u64 {
    let given = std::env::var("PAGEWISE_FUZZ_SEED").ok().and_then(|text| text.parse().ok());
    let seed = given.unwrap_or_else(|| SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |t| t.as_nanos() as u64));
    // Shown by the test harness when the test fails.
    println!("{target}: PAGEWISE_FUZZ_SEED={seed}");
    seed
}

fn samples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../recordings/imports")
}

fn corpus(beginning: &str) -> Vec<Vec<u8>> {
    let files = fs::read_dir(samples()).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> =
        files.filter(|path| path.file_name().unwrap().to_string_lossy().starts_with(beginning)).collect();
    files.sort();
    assert!(!files.is_empty(), "{beginning}");
    files.iter().map(|path| fs::read(path).unwrap()).collect()
}

const WORDS: [&str; 40] = [
    "\0",
    "\r",
    "\n\n",
    "\t",
    ",",
    ".",
    "-1",
    "99999999999999999999",
    "18446744073709551615",
    "1e308",
    "NaN",
    "0x",
    "%",
    ":",
    "24:60:60",
    "00:00:00",
    "23:59:59",
    "12:00:00 AM",
    "13:00:00 PM",
    "9999-99-99",
    "2038-01-19",
    "Average:",
    "LINUX RESTART",
    "Linux 1 (h) \t01/01/70",
    "#Date Time",
    "### RECORD 1 >>> x <<< (99999999999.9) ###",
    "# MEMORY SUMMARY",
    "all",
    "CPU",
    "INTR",
    "(",
    ")",
    "[",
    "] ",
    "+0x",
    "ffffffffffffffff ",
    "PerfTop: [99999999Hz x] (all, 9 CPUs)",
    "é",
    "\u{1b}[",
    "100.0%",
];

fn bend(random: &mut Random, corpus: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = corpus[random.below(corpus.len())].clone();
    for _ in 0..1 + random.below(12) {
        let at = random.below(bytes.len() + 1);
        match random.below(8) {
            0 if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
            1 => bytes.truncate(at),
            2 => {
                let word = WORDS[random.below(WORDS.len())].as_bytes();
                bytes.splice(at..at, word.iter().copied());
            }
            3 => {
                let end = (at + random.below(80)).min(bytes.len());
                bytes.drain(at..end);
            }
            4 => {
                let end = (at + random.below(400)).min(bytes.len());
                let piece = bytes[at..end].to_vec();
                let to = random.below(bytes.len() + 1);
                bytes.splice(to..to, piece);
            }
            5 => {
                let other = &corpus[random.below(corpus.len())];
                let from = random.below(other.len() + 1);
                let piece = other[from..(from + random.below(2000)).min(other.len())].to_vec();
                bytes.splice(at..at, piece);
            }
            6 => {
                let mut lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
                let (a, b) = (random.below(lines.len()), random.below(lines.len()));
                if !lines.is_empty() {
                    lines.swap(a, b);
                }
                bytes = lines.concat();
            }
            _ if at < bytes.len() => bytes[at] = random.next() as u8,
            _ => {}
        }
    }
    bytes
}

/// Reads everything there is, and writes it in every format.
fn use_all(imported: &Imported) {
    let selection = Selection::default();
    for block in imported.blocks() {
        let Ok(block) = block;
        assert!(block.ticks.windows(2).all(|pair| pair[0].begin < pair[1].begin), "ticks are in order");
        for series in imported.series() {
            let _ = block.values(series).count();
        }
    }
    let Ok(_) = csv::write(imported, &selection);
    let Ok(text) = openmetrics::write(imported, &selection);
    assert!(text.ends_with("# EOF\n"));
    let Ok(tables) = source_tables(imported, &selection);
    for table in &tables {
        parquet::write(table, &[], &|page| Ok(page.to_vec())).unwrap();
    }
    let Ok(profile) = imported.profile();
    if let Some(profile) = profile {
        let _ = folded::write(&profile, &selection);
        let _ = pprof::encode(&profile, &selection, None);
    }
}

fn one(kind: Kind, bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let assumed = Assumed::default();
    let started = Instant::now();
    match parse(kind, &text, &assumed) {
        Ok(listing) => use_all(&merge(vec![("a".into(), listing.clone()), ("b".into(), listing)], &assumed)),
        Err(problem) => assert!(!problem.remedy.is_empty()),
    }
    assert!(started.elapsed() < Duration::from_secs(60), "{kind}: {} bytes took too long", bytes.len());
}

fn fuzz(kind: Kind, beginning: &str) {
    let corpus = corpus(beginning);
    let mut random = Random(seed(kind.word()));
    let deadline = Instant::now() + length();
    while Instant::now() < deadline {
        let bytes = bend(&mut random, &corpus);
        one(kind, &bytes);
    }
}

#[test]
fn collectl_listings() {
    fuzz(Kind::Collectl, "collectl");
}

#[test]
fn sar_listings() {
    fuzz(Kind::Sar, "sar");
}

#[test]
fn vmstat_listings() {
    fuzz(Kind::Vmstat, "vmstat");
}

#[test]
fn perf_script_listings() {
    fuzz(Kind::PerfScript, "perf-script");
}

#[test]
fn perf_top_listings() {
    fuzz(Kind::PerfTop, "perf-top");
}

#[test]
fn files_of_a_sosreport() {
    let text: [(&str, &[u8]); 6] = [
        ("proc/vmstat", b"nr_free_pages 1000\npgfault 5\nallocstall_normal 7\n"),
        ("proc/meminfo", b"MemTotal:       24683520 kB\nMemFree: 100 kB\n"),
        ("proc/buddyinfo", b"Node 0, zone   Normal      1      2      3\n"),
        ("sys/kernel/mm/transparent_hugepage/enabled", b"[always] madvise never\n"),
        ("sos_commands/kernel/sysctl_-a", b"vm.swappiness = 10\nvm.zone_reclaim_mode = 1\n"),
        ("date", b"Sat Nov 21 17:26:49 UTC 2026\n"),
    ];
    let corpus: Vec<Vec<u8>> = text.iter().map(|(_, bytes)| bytes.to_vec()).collect();
    let folder = tempfile::tempdir().unwrap();
    let mut random = Random(seed("sosreport"));
    let deadline = Instant::now() + length();
    while Instant::now() < deadline {
        for (path, bytes) in text {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            let bent = if random.below(2) == 0 { bend(&mut random, &corpus) } else { bytes.to_vec() };
            fs::write(path, bent).unwrap();
        }
        let file = KindFile { kind: Kind::Sosreport, path: folder.path().to_owned() };
        if let Ok(imported) = open(&[file], &Assumed::default()) {
            use_all(&imported);
        }
    }
}

#[test]
fn recordings() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.pgw");
    let file = |kind: Kind, name: &str| KindFile { kind, path: samples().join(name) };
    let files = [
        file(Kind::Collectl, "collectl-thp-on.txt"),
        file(Kind::Sar, "sar-iso.txt"),
        file(Kind::PerfScript, "perf-script.txt"),
    ];
    write(&open(&files, &Assumed::default()).unwrap(), &path).unwrap();
    let whole = fs::read(&path).unwrap();
    let mut random = Random(seed("recording"));
    let deadline = Instant::now() + length();
    while Instant::now() < deadline {
        let mut bytes = whole.clone();
        for _ in 0..1 + random.below(30) {
            let at = random.below(bytes.len());
            match random.below(4) {
                0 => bytes[at] ^= 1 << random.below(8),
                1 => bytes[at] = [0, 1, 127, 128, 255][random.below(5)],
                2 => {
                    let end = (at + random.below(64)).min(bytes.len());
                    let to = random.below(bytes.len() - (end - at));
                    bytes.copy_within(at..end, to);
                }
                _ => bytes[at] = random.next() as u8,
            }
        }
        if random.below(5) == 0 {
            bytes.truncate(random.below(bytes.len()));
        }
        fs::write(&path, &bytes).unwrap();
        let started = Instant::now();
        if let Ok(recording) = Recording::open(&path) {
            let _ = (recording.settings(), recording.marks(), recording.ticks(), recording.stalls());
            for block in recording.blocks().flatten() {
                for series in recording.series() {
                    let _ = block.values(series).count();
                }
            }
            let _ = csv::write(&recording, &Selection::default());
            let _ = openmetrics::write(&recording, &Selection::default());
            if let Ok(Some(profile)) = recording.profile() {
                let _ = folded::write(&profile, &Selection::default());
                let _ = pprof::encode(&profile, &Selection::default(), None);
            }
        }
        assert!(started.elapsed() < Duration::from_secs(60), "reading took too long");
    }
}

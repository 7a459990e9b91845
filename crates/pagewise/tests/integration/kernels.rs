//! What works on which kernel: every verb that reads or changes a host, tried inside guests. `make test-kernels` runs it on all
//! kernels and writes `bench/long/kernels.json`; the page in the reference shows that file. A normal run boots none: the tests of the lab do.

use super::committed;
use pagewise_testkit::requires;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

const RESULT: &str = "kernels.json";

/// A kernel of each of Debian's releases.
const KERNELS: [&str; 4] = ["debian:5.10", "debian:6.1", "debian:6.12", "debian:7.2"];

/// What is tried, in the guest: a name, and words of this program. In this order.
const STEPS: [(&str, &str); 17] = [
    ("doctor", "doctor --json"),
    ("show", "show --all --json"),
    ("set and revert vm.swappiness", "set vm.swappiness=33 && $P revert"),
    ("set and revert thp.enabled", "set thp.enabled=never && $P revert"),
    ("set and revert mthp[64k].enabled", "set mthp[64k].enabled=always && $P revert"),
    ("set and revert mglru.enabled", "set mglru.enabled=0 && $P revert"),
    ("set and revert swap=file:64M", "set swap=file:64M && $P revert"),
    ("set and revert swap=zram:64M", "set swap=zram:64M && $P revert"),
    ("set and revert block[vda].read_ahead_kb", "set block[vda].read_ahead_kb=64 && $P revert"),
    ("record: counters", "record --for 3s -o numbers.pgw"),
    ("record: stacks", "record --for 3s --stacks -o stacks.pgw"),
    ("record: stalls", "record --for 3s --stalls -o stalls.pgw"),
    ("diagnose", "diagnose numbers.pgw --json"),
    ("prove", "prove --pairs 4 --warmup 0 --name p --a now --b vm.swappiness=1 -- true"),
    (
        "prove with a limit of memory",
        "prove --pairs 4 --warmup 0 --name l --a now --b cgroup[job].memory.max=64M -- true",
    ),
    ("prove --live", "prove --live --pairs 4 --block 2s --name v --a now --b vm.swappiness=1"),
    ("guard advise", "guard advise --for 3s"),
];

/// What came of it.
#[derive(Serialize, Deserialize)]
struct KernelsTried {
    schema: String,
    date: String,
    /// Kernel, as it was asked for, to its release.
    releases: BTreeMap<String, String>,
    /// Kernel to step to `ok`, or to the last thing that was said.
    kernels: BTreeMap<String, BTreeMap<String, String>>,
}

/// Tries every step and says on a line each what came of it.
fn script(program: &str) -> String {
    let mut text = format!(
        "P={program}; export PAGEWISE_STATE_DIR=/tmp/pw-state PAGEWISE_CACHE_DIR=/tmp/pw-cache; mkdir -p /tmp/pw /tmp/pw-cache; cd /tmp/pw; \
         mkfs.ext4 -q /dev/vda && mount /dev/vda /tmp/pw-cache; modprobe zram; \
         echo \"RELEASE $(uname -r)\"\n\
         try() {{ name=$1; if said=$(sh -c \"P=$P; $P $2\" 2>&1); then echo \"STEP $name|ok\"; else \
         echo \"STEP $name|$(echo \"$said\" | grep -v '^$' | grep pagewise: | tail -n 1 | cut -c1-300)\"; fi; }}\n"
    );
    for (name, words) in STEPS {
        let _ = writeln!(text, "try '{name}' '{words}'");
    }
    text
}

#[test]
#[allow(clippy::print_stderr, reason = "who waits for ten minutes sees what came of each kernel")]
fn every_kernel_of_the_table_is_tried() {
    // `all`, or some of them, whose results then stand beside those of the others.
    let Ok(asked) = std::env::var("PAGEWISE_KERNELS") else { return };
    requires!(root, qemu, ext4_tools, pip);
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("lab-cache");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let before =
        fs::read(committed::file(RESULT)).ok().and_then(|bytes| serde_json::from_slice::<KernelsTried>(&bytes).ok());
    let (mut releases, mut kernels) = before.map(|before| (before.releases, before.kernels)).unwrap_or_default();
    for kernel in KERNELS.into_iter().filter(|kernel| asked == "all" || asked.split(',').any(|one| one == *kernel)) {
        let disk = folder.path().join("disk.raw");
        fs::File::create(&disk).and_then(|file| file.set_len(256 << 20)).expect("a disk");
        let run = Command::new(env!("CARGO_BIN_EXE_pagewise"))
            .args(["lab", "boot", kernel, "--memory", "1G", "--timeout", "15m", "--disk"])
            .arg(&disk)
            .args(["--", "sh", "-c", &script(env!("CARGO_BIN_EXE_pagewise"))])
            .env("PAGEWISE_CACHE_DIR", &cache)
            .stdin(Stdio::null())
            .output()
            .expect("pagewise starts");
        let out = String::from_utf8_lossy(&run.stdout).into_owned();
        assert!(run.status.success(), "{kernel}: {out}{}", String::from_utf8_lossy(&run.stderr));
        let release = out.lines().find_map(|line| line.strip_prefix("RELEASE ")).expect("a release").to_owned();
        let steps: BTreeMap<String, String> = out
            .lines()
            .filter_map(|line| line.strip_prefix("STEP ")?.split_once('|'))
            .map(|(name, said)| (name.to_owned(), said.trim_start_matches("pagewise: ").to_owned()))
            .collect();
        assert_eq!(steps.len(), STEPS.len(), "{kernel}: {out}");
        eprintln!("{kernel} ({release}): {steps:#?}");
        releases.insert(kernel.to_owned(), release);
        kernels.insert(kernel.to_owned(), steps);
    }
    let found =
        KernelsTried { schema: "pagewise.kernels-tried/1".to_owned(), date: committed::today(), releases, kernels };
    committed::write(RESULT, &found);
}

#[test]
fn the_page_of_kernels_in_the_reference_shows_the_committed_result() {
    let found: KernelsTried = committed::read(RESULT, "test-kernels");
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/kernels.md");
    let text = page(&found);
    if std::env::var_os("PAGEWISE_BLESS").is_some() {
        fs::write(&file, &text).unwrap();
    }
    let committed = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    assert!(committed == text, "{} is not what was found; `make docs` writes it again", file.display());
}

fn page(found: &KernelsTried) -> String {
    let mut text = format!(
        "# What works on which kernel\n\nTried on {} inside guests of `pagewise lab boot` (Debian's kernels, cgroup version 2, one emulated \
         processor, no PMU); `make test-kernels` does it again. A number stands for the reason that was given, below.\n\n| tried |",
        found.date
    );
    let kernels: Vec<&&str> = KERNELS.iter().filter(|kernel| found.kernels.contains_key(**kernel)).collect();
    for kernel in &kernels {
        let _ = write!(text, " {} |", found.releases[**kernel]);
    }
    let _ = writeln!(text, "\n| --- |{}", " --- |".repeat(kernels.len()));
    let mut reasons: Vec<&str> = Vec::new();
    for (name, _) in STEPS {
        let _ = write!(text, "| {name} |");
        for kernel in &kernels {
            let said = found.kernels[**kernel].get(name).map_or("not tried", String::as_str);
            if said == "ok" {
                text.push_str(" yes |");
                continue;
            }
            let number = reasons.iter().position(|reason| *reason == said).unwrap_or_else(|| {
                reasons.push(said);
                reasons.len() - 1
            });
            let _ = write!(text, " {} |", number + 1);
        }
        text.push('\n');
    }
    text.push('\n');
    for (number, reason) in reasons.iter().enumerate() {
        let _ = writeln!(text, "{}. {}", number + 1, if reason.is_empty() { "it said nothing" } else { reason });
    }
    text
}

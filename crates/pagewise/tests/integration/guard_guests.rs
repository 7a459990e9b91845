//! The guard where this host cannot show it: cgroup version 2 with its own way to reclaim, limits and high marks, the generations of
//! MGLRU, two nodes, files over NFS and virtiofs, `DAMON_RECLAIM` beside it. `make test-guard` runs it in guests and writes `bench/long/guard-guests.json`; a normal run boots none, and holds
//! the committed result against what is claimed. A processor is emulated there: what the kernel counts is told, no time.

use super::committed;
use pagewise_testkit::requires;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Pages, or times.
const LITTLE: u64 = 256;

const RESULT: &str = "guard-guests.json";

/// What is counted in one arm of a case: name to the sum of its turns.
type Counts = BTreeMap<String, u64>;

/// What came of it.
#[derive(Serialize, Deserialize)]
struct GuestsTried {
    schema: String,
    /// Machine, as it was asked for, to what came of it there.
    machines: BTreeMap<String, OfMachine>,
}

#[derive(Serialize, Deserialize)]
struct OfMachine {
    /// The day on which it was tried.
    date: String,
    release: String,
    /// How long a stream lasts in each turn, and of that, how long is counted.
    seconds: (u32, u32),
    /// Case to arm (`off`, `on`) to what was counted.
    cases: BTreeMap<String, BTreeMap<String, Counts>>,
}

/// Those of the script.
const SECONDS: (u32, u32) = (26, 8);

/// A machine that is booted.
struct Machine {
    name: &'static str,
    kernel: &'static str,
    nodes: u32,
    files: Files,
}

/// Where the files are that are read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Files {
    OnItsDisk,
    Elsewhere,
}

const MACHINES: [Machine; 4] = [
    Machine { name: "6.1", kernel: "debian:6.1", nodes: 1, files: Files::OnItsDisk },
    Machine { name: "6.12", kernel: "debian:6.12", nodes: 1, files: Files::OnItsDisk },
    Machine { name: "6.12, files from elsewhere", kernel: "debian:6.12", nodes: 1, files: Files::Elsewhere },
    Machine { name: "6.12, two nodes", kernel: "debian:6.12", nodes: 2, files: Files::OnItsDisk },
];

/// In the guest: each case without and with a guard, with a stream of one process over a file larger than the room it has.
const SCRIPT: &str = include_str!("guard_guests.sh");

fn page_file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/guard-guests.md")
}

/// `PAGEWISE_GUARD_GUESTS` is `all`, or the name of one machine: then what the others showed stays as it is.
#[test]
fn the_guard_is_tried_in_guests() {
    let Ok(wanted) = std::env::var("PAGEWISE_GUARD_GUESTS") else { return };
    requires!(root, qemu, ext4_tools, pip, perl, virtiofsd);
    let machines: Vec<&Machine> = MACHINES.iter().filter(|machine| wanted == "all" || wanted == machine.name).collect();
    assert!(!machines.is_empty(), "PAGEWISE_GUARD_GUESTS={wanted} is no machine that is known");
    let mut found = if wanted == "all" {
        GuestsTried { schema: "pagewise.guard-guests/2".to_owned(), machines: BTreeMap::new() }
    } else {
        committed::read(RESULT, "test-guard")
    };
    for machine in machines {
        found.machines.insert(machine.name.to_owned(), try_in(machine));
    }
    committed::write(RESULT, &found);
    holds(&found);
}

#[allow(clippy::print_stderr, reason = "who waits for half an hour sees what came of each machine")]
fn try_in(machine: &Machine) -> OfMachine {
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("lab-cache");
    let folder = tempfile::tempdir().expect("a temporary folder");
    // A program with all that helps to debug it is slow to load over 9p, where each page of it comes through the emulated processor.
    let built = env!("CARGO_BIN_EXE_pagewise").to_owned();
    let program = std::env::var("PAGEWISE_BINARY").unwrap_or(built);
    let disk = folder.path().join("disk.raw");
    fs::File::create(&disk).and_then(|file| file.set_len(5 << 30)).expect("a disk");
    let (nodes, name) = (machine.nodes.to_string(), machine.name);
    let mut command = Command::new(env!("CARGO_BIN_EXE_pagewise"));
    command.args(["lab", "boot", machine.kernel, "--memory", "1G", "--nodes", &nodes, "--cpus", &nodes]);
    command.args(["--timeout", "20m", "--disk"]).arg(&disk).env("PAGEWISE_CACHE_DIR", &cache).stdin(Stdio::null());
    let elsewhere = (machine.files == Files::Elsewhere).then(|| (Virtiofs::of_host(folder.path()), nfs_server()));
    let nfs = elsewhere.as_ref().map_or(String::new(), |(_, nfs)| nfs.display().to_string());
    if let Some((virtiofs, _)) = &elsewhere {
        command.arg("--qemu-opts").arg(virtiofs.qemu_opts());
    }
    let run = command.args(["--", "sh", "-c", SCRIPT, "sh", &program, &nodes, &nfs]).output().expect("pagewise starts");
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
    OfMachine { date: committed::today(), release, seconds: SECONDS, cases }
}

/// A folder of this host with a file to stream, which a guest mounts by the tag `pagewise`.
struct Virtiofs {
    daemon: Child,
    socket: PathBuf,
}

impl Virtiofs {
    fn of_host(folder: &Path) -> Virtiofs {
        let (shared, socket) = (folder.join("shared"), folder.join("virtiofs"));
        fs::create_dir(&shared).expect("a folder");
        fs::File::create(shared.join("file")).and_then(|file| file.set_len(1400 << 20)).expect("a file");
        // Debian 12 has it with QEMU, later ones in a package of its own.
        let program =
            ["/usr/lib/qemu/virtiofsd", "/usr/libexec/virtiofsd"].into_iter().find(|path| Path::new(path).exists());
        let daemon = Command::new(program.expect("virtiofsd"))
            .arg(format!("--socket-path={}", socket.display()))
            .args(["-o", &format!("source={}", shared.display())])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("virtiofsd starts");
        Virtiofs { daemon, socket }
    }

    /// Its memory is the daemon's too, which writes what is read straight into it.
    fn qemu_opts(&self) -> String {
        format!(
            "-chardev socket,id=elsewhere,path={} -device vhost-user-fs-pci,chardev=elsewhere,tag=pagewise \
             -object memory-backend-memfd,id=shared,size=1024M,share=on -numa node,memdev=shared",
            self.socket.display()
        )
    }
}

impl Drop for Virtiofs {
    fn drop(&mut self) {
        // It ends with QEMU by itself, but where QEMU never came.
        let _ = self.daemon.kill();
        let _ = self.daemon.wait();
    }
}

/// The programs of an NFS server and their libraries, taken out of their packages and not installed: this host serves nothing.
fn nfs_server() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("nfs-server");
    fs::create_dir_all(folder.join("packages/partial")).expect("a folder");
    let bring = "apt-get install --quiet --yes --download-only --no-install-recommends -o Debug::NoLocking=1 \
                 -o Dir::Cache::archives=\"$1/packages\" nfs-kernel-server \
                 && for package in \"$1\"/packages/*.deb; do [ ! -e \"$package\" ] || dpkg -x \"$package\" \"$1\" || exit 1; done";
    let brought = Command::new("sh").args(["-c", bring, "sh"]).arg(&folder).output().expect("sh runs");
    assert!(brought.status.success(), "{}", String::from_utf8_lossy(&brought.stderr));
    folder
}

/// What the stream read; before it was asked for its own count, what all disks gave, in KiB too.
fn kib_read(counts: &Counts) -> u64 {
    counts.get("read").or(counts.get("pgpgin")).copied().unwrap_or_default()
}

fn of_gib(counts: &Counts, names: &[&str]) -> f64 {
    let sum: u64 = names.iter().filter_map(|name| counts.get(*name)).sum();
    sum as f64 / (kib_read(counts) as f64 / f64::from(1 << 20))
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

fn holds(found: &GuestsTried) {
    for (machine, found) in &found.machines {
        assert!(!found.cases.is_empty(), "{machine}: nothing was tried");
        for (case, arms) in &found.cases {
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
            // It is followed wherever its file comes from.
            if case.contains("a file over") {
                assert!(on("taken_behind_streams") > 0, "{machine}, {case}: {arms:?}");
            }
            assert!(
                2 * kib_read(&arms["on"]) >= kib_read(&arms["off"]),
                "{machine}, {case}: the guard is in the stream's way: {arms:?}"
            );
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
    let found: GuestsTried = committed::read(RESULT, "test-guard");
    let text = page(&found);
    if std::env::var_os("PAGEWISE_BLESS").is_some() {
        fs::write(page_file(), &text).unwrap();
    }
    let there = fs::read_to_string(page_file()).unwrap_or_default();
    assert!(there == text, "{} is not what was found; `make docs` writes it again", page_file().display());
}

fn page(found: &GuestsTried) -> String {
    let each = |of: fn(&OfMachine) -> String| {
        let all: BTreeSet<String> = found.machines.values().map(of).collect();
        all.into_iter().collect::<Vec<_>>().join(" and ")
    };
    let (days, seconds) = (each(|of| of.date.clone()), each(|of| of.seconds.0.to_string()));
    let counted = each(|of| of.seconds.1.to_string());
    let mut text = format!(
        "# The guard in guests\n\nTried on {days} inside guests of `pagewise lab boot` with 1 GiB of memory (Debian's kernels, cgroup version \
         2, emulated processors). A process reads a file of 1,400 MiB over and over for {seconds} seconds, or as much in files of 2 MiB, and \
         {counted} of its last seconds count; first without, then with \
         `pagewise guard run`. Groups have 150 MiB and are guarded with `--cgroup job`. The file over NFS comes from a server of the same guest, whose own \
         threads fill memory as well; the one over virtiofs from the host. What the kernel counted \
         for each GiB that was read; no times, which an emulated processor says nothing of. `make test-guard` does it again.\n\n\
         | machine | case | counted for each GiB read | without | with the guard |\n| --- | --- | --- | ---: | ---: |\n",
    );
    for (machine, of) in &found.machines {
        for (case, arms) in &of.cases {
            let (what, names) = measure(case);
            let [off, on] = ["off", "on"].map(|arm| of_gib(&arms[arm], names));
            let rest = machine.split_once(", ").map_or(String::new(), |(_, rest)| format!(", {rest}"));
            let _ = writeln!(text, "| {}{rest} | {case} | {what} | {off:.0} | {on:.0} |", of.release);
        }
    }
    text
}

//! Trials whose runs keep stacks, seen from outside: what one arm does that the other does not is found and drawn, the bundle
//! gives the same bytes again, and what could not be had is said.

use assert_cmd::cargo::CommandCargoExt;
use pagewise_core::recording::Recorded;
use pagewise_host::root::Root;
use pagewise_host::store::recording::Recording;
use pagewise_host::tunable;
use pagewise_testkit::said::unwrapped;
use pagewise_testkit::{HostUnchanged, host_lock, requires};
use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// A folder to work in, with state and cache of its own.
struct Desk(TempDir);

impl Desk {
    fn new() -> Desk {
        Desk(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn run(&self, args: &[&str]) -> Output {
        let mut command = Command::cargo_bin("pagewise").unwrap();
        command.args(["--state-dir", "state", "--cache-dir", "cache"]).args(args);
        command.current_dir(self.0.path()).stdin(Stdio::null()).output().unwrap()
    }

    /// What it printed, of a run that went well.
    #[track_caller]
    fn said(&self, args: &[&str]) -> String {
        let output = self.run(args);
        assert_eq!(output.status.code(), Some(0), "{args:?}: {}\n{}", out(&output), err(&output));
        out(&output)
    }

    fn analysis(&self, bundle: &str) -> Value {
        serde_json::from_str(&fs::read_to_string(self.path(bundle).join("analysis.json")).unwrap()).unwrap()
    }

    fn recording(&self, file: &str) -> Recording {
        Recording::open(&self.path(file)).unwrap()
    }
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A second and a half of work: outside the kernel, or copying inside it.
const WORK: &str = "if [ $MODE = shell ]; then timeout 1.5 sh -c 'while :; do :; done'; \
                    else timeout 1.5 dd if=/dev/zero of=/dev/null bs=64k 2>/dev/null; fi; true";

/// A function that differs, by a word in its name or in those that stand in the same stacks.
fn function<'f>(stacks: &'f Value, word: &str) -> Option<&'f Value> {
    let has = |name: &Value| name.as_str().is_some_and(|name| name.contains(word));
    let listed = stacks["functions"].as_array()?;
    listed.iter().find(|one| has(&one["name"]) || one["also"].as_array().is_some_and(|also| also.iter().any(has)))
}

#[test]
fn what_one_arm_does_in_the_kernel_is_found_drawn_and_verified() {
    requires!(perf_host, kernel_symbols);
    let desk = Desk::new();
    let arms = ["--a", "shell:env.MODE=shell", "--b", "copy:env.MODE=copy"];
    // As many as it takes on a machine whose neighbours are at work, too.
    let how = [
        "--steal-limit",
        "100%",
        "--stacks",
        "49",
        "--pairs",
        "6",
        "--warmup",
        "1",
        "--name",
        "x",
        "--",
        "sh",
        "-c",
        WORK,
    ];
    let text = desk.said(&[&["prove"][..], &arms[..], &how[..]].concat());
    assert!(text.contains("Where CPUs were") && text.contains("49 times a second and CPU"), "{text}");
    // A word in quotes is never parted.
    let narrow = |line: &str| line.chars().count() <= 80 || line.starts_with("      -c 'if [ $MODE = shell ]");
    assert!(text.lines().all(narrow), "wider than 80 columns:\n{text}");
    assert!(text.contains("prove --stacks 49 --a "), "the command that repeats it keeps stacks, too: {text}");

    let stacks = &desk.analysis("x.trial")["comparisons"][0]["stacks"];
    for number in [&stacks["blocks"], &stacks["a"]["runs"], &stacks["b"]["runs"]] {
        assert_eq!(*number, 6, "{stacks}");
    }
    assert!(stacks["a"]["samples"].as_u64().unwrap() > 100, "{stacks}");
    let read = function(stacks, "read").unwrap_or_else(|| panic!("no read stands out: {stacks}"));
    assert!(read["b_share"].as_f64().unwrap() > read["a_share"].as_f64().unwrap() + 0.2, "{read}");
    assert!(read["interval"]["low"].as_f64().unwrap() > 0.0, "{read}");

    let page = fs::read_to_string(desk.path("x.trial/report.html")).unwrap();
    assert!(page.contains("id=\"flame-chart\"") && page.len() < 15 << 20, "{} bytes", page.len());
    desk.said(&["trial", "verify", "x.trial"]);
    assert_eq!(desk.said(&["report", "x.trial"]), text, "a report from the bundle says the same");
    if pagewise_testkit::requires::need::chromium().is_ok() {
        let seen = pagewise_testkit::browser::visit(desk.0.path(), "page", &page, (1280, 2600), false, "--dump-dom");
        assert!(seen.console.is_empty(), "{:?}", seen.console);
        assert_eq!(seen.found, "inner=1280 scroll=1280 wide=[]");
    }

    // A recording that is gone is said, and its pair is not compared.
    let gone = fs::read_dir(desk.path("x.trial/recordings")).unwrap().map(|entry| entry.unwrap().path()).max().unwrap();
    fs::remove_file(gone).unwrap();
    let later = unwrapped(&desk.said(&["report", "x.trial"]));
    assert!(later.contains("1 good run has no stacks: its recording is not in the bundle"), "{later}");
    assert!(later.contains("5 pairs; a share is"), "{later}");
    assert_eq!(desk.run(&["trial", "verify", "x.trial"]).status.code(), Some(4));
}

#[test]
fn a_plan_says_what_each_run_records() {
    requires!(root, perf_host, tracepoints, memory_cgroup);
    let desk = Desk::new();
    let plan = format!(
        "name = 'x'\n[workload]\nname = 'command'\nrun = ['sh', '-c', '''{WORK}''']\n\
         [[factor]]\nname = 'mode'\nlevels.shell = 'env.MODE=shell'\nlevels.copy = 'env.MODE=copy'\n\
         [design]\nblocks = 3\nwarmup = 0\norder = 'blocks'\nseed = 4\nsteal_limit = 1\n\
         [[contrast]]\nfactor = 'mode'\na = 'shell'\nb = 'copy'\nprimary = true\n\
         [recording]\nstacks = 49\nstalls = true\ncgroup = true\n"
    );
    fs::write(desk.path("x.toml"), plan).unwrap();
    let checked = unwrapped(&desk.said(&["trial", "check", "x.toml"]));
    assert!(
        checked.contains("each run also records stacks 49 times a second and CPU, stalls, the job's cgroup"),
        "{checked}"
    );
    assert!(checked.contains("not measured here"), "{checked}");
    let text = desk.said(&["trial", "run", "x.toml"]);
    assert!(text.contains("Stacks ("), "{text}");
    let study = desk.analysis("x.trial");
    assert_eq!(study["comparisons"][0]["stacks"]["blocks"], 3);
    let recording = desk.recording("x.trial/recordings/0-1.pgw");
    assert!(recording.profile().unwrap().is_some_and(|profile| !profile.samples.is_empty()));
    assert!(recording.stalls().unwrap().is_some(), "{:?}", recording.gaps());
    let of_job = recording.series().iter().find(|series| series.labels.contains("pagewise-"));
    assert!(of_job.is_some(), "the job's cgroup is not recorded");
    desk.said(&["trial", "verify", "x.trial"]);
}

#[test]
fn blocks_of_a_live_proof_are_stretches_of_its_one_recording() {
    requires!(root, perf_host);
    let lock = host_lock();
    let _unchanged = HostUnchanged::watch(&lock);
    let desk = Desk::new();
    let now = tunable::read(&Root::live(), &pagewise_core::tunable::find("vm.swappiness").unwrap()).unwrap();
    let other = format!("vm.swappiness={}", if now == "37" { "38" } else { "37" });
    let how = [
        "--block",
        "3s",
        "--settle",
        "100ms",
        "--washout",
        "100ms",
        "--pairs",
        "4",
        "--stacks",
        "49",
        "--steal-limit",
        "100%",
        "--name",
        "x",
    ];
    // A metric that is there whatever the host does.
    let metric = ["--metric", "system_share_of_all", "--", "sh", "-c", "while :; do :; done"];
    desk.said(&[&["prove", "--live", "--a", "now", "--b", &other][..], &how[..], &metric[..]].concat());
    let stacks = &desk.analysis("x.trial")["comparisons"][0]["stacks"];
    assert!(stacks["blocks"] == 4 && stacks["without"] == 0, "{stacks}");
    let busy = stacks["a"]["busy"].as_f64().unwrap();
    assert!(busy > 0.7, "a CPU that is always busy: {busy}");
    let all = desk.recording("x.trial/recordings/live-1.pgw").profile().unwrap().unwrap();
    let all: u64 = all.samples.iter().map(|sample| sample.count).sum();
    let counted = stacks["a"]["samples"].as_u64().unwrap() + stacks["b"]["samples"].as_u64().unwrap();
    assert!(counted < all, "what lies between the blocks is of no arm: {counted} of {all}");
    desk.said(&["trial", "verify", "x.trial"]);
}

#[test]
fn what_would_be_recorded_is_told_and_a_rate_that_cannot_be_had_is_refused() {
    let desk = Desk::new();
    let job = ["--", "sleep", "0"];
    let dry = ["prove", "--aa", "now", "--dry-run", "--stacks", "99", "--stalls"];
    let told = desk.said(&[&dry[..], &job[..]].concat());
    assert!(told.contains("stacks 99 times a second and CPU, stalls"), "{told}");
    let plain = desk.said(&[&["prove", "--aa", "now", "--dry-run"][..], &job[..]].concat());
    assert!(!plain.contains("records"), "{plain}");
    let json: Value = serde_json::from_str(&desk.said(&[&dry[..], &["--json"][..], &job[..]].concat())).unwrap();
    assert_eq!(json["plan"]["recording"], serde_json::json!({"hz": 1.0, "stacks": 99, "stalls": true}));
    let refused = desk.run(&[&["prove", "--aa", "now", "--stacks", "5000"][..], &job[..]].concat());
    assert_eq!(refused.status.code(), Some(2), "{}", err(&refused));
    assert!(err(&refused).contains("1000"), "{}", err(&refused));
}

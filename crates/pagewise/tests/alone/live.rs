//! `prove --live` seen from outside: a host that goes on working is switched, judged and left as it was.

use assert_cmd::cargo::CommandCargoExt;
use pagewise_core::recording::Recorded;
use pagewise_host::root::Root;
use pagewise_host::store::recording::Recording;
use pagewise_host::tunable;
use pagewise_testkit::{HostUnchanged, host_lock, requires};
use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};
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

    fn pagewise(&self, verb: &str, args: &[&str]) -> Command {
        let mut command = Command::cargo_bin("pagewise").unwrap();
        command.args(["--state-dir", "state", "--cache-dir", "cache", verb]).args(args);
        command.current_dir(self.0.path()).stdin(Stdio::null());
        command
    }

    fn live(&self, args: &[&str]) -> Command {
        let mut command = self.pagewise("prove", &["--live"]);
        command.args(args);
        command
    }

    fn run(&self, args: &[&str]) -> Output {
        self.live(args).output().unwrap()
    }

    fn spawn(&self, args: &[&str]) -> Child {
        self.live(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    fn analysis(&self, bundle: &str) -> Value {
        serde_json::from_str(&fs::read_to_string(self.path(bundle).join("analysis.json")).unwrap()).unwrap()
    }
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[track_caller]
fn assert_exit(output: &Output, code: i32) {
    assert_eq!(output.status.code(), Some(code), "stdout: {}\nstderr: {}", out(output), err(output));
}

fn swappiness() -> String {
    tunable::read(&Root::live(), &pagewise_core::tunable::find("vm.swappiness").unwrap()).unwrap()
}

/// A value the host does not have.
fn other() -> String {
    format!("vm.swappiness={}", if swappiness() == "37" { "38" } else { "37" })
}

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let since = Instant::now();
    while !is_so() {
        assert!(since.elapsed() < Duration::from_secs(60), "{what} did not come");
        thread::sleep(Duration::from_millis(10));
    }
}

/// Short blocks, no waiting: what is measured does not matter here.
const QUICK: [&str; 8] = ["--block", "1s", "--settle", "100ms", "--washout", "100ms", "--steal-limit", "100%"];

fn quick<'a>(more: &[&'a str]) -> Vec<&'a str> {
    QUICK.iter().chain(more).copied().collect()
}

#[test]
fn a_host_is_switched_judged_and_left_as_it_was() {
    requires!(root);
    let lock = host_lock();
    let _unchanged = HostUnchanged::watch(&lock);
    let desk = Desk::new();
    let b = other();
    // The metric follows the setting itself, so that the verdict is known; without any noise there would be none.
    let metric = "sh -c 'echo $(cat /proc/sys/vm/swappiness).$(date +%1N)'";
    let args = ["--a", "now", "--b", &b, "--pairs", "4", "--metric", metric, "--name", "x"];
    let output = desk.run(&quick(&[&args[..], &["--direction", "lower"]].concat()));
    assert_exit(&output, 0);
    let text = out(&output);
    let narrow = |line: &str| line.chars().count() <= 80 || line.starts_with("  pagewise prove ");
    assert!(text.lines().all(narrow), "wider than 80 columns:\n{text}");
    assert!(text.contains("whatever ran on this host"), "{text}");
    assert!(err(&output).contains("7/8 pair 4") && err(&output).contains(" s left"), "{}", err(&output));
    let begun =
        err(&output).lines().filter(|line| line.ends_with("s to settle, 0.1 s to wash out, 1 s measured")).count();
    assert_eq!(begun, 8, "each block says what it waits for: {}", err(&output));
    let analysis = desk.analysis("x.trial");
    let (a, b) = (&analysis["comparisons"][0]["a_values"], &analysis["comparisons"][0]["b_values"]);
    assert_eq!(a["mean"].as_f64().unwrap().floor().to_string(), swappiness());
    assert!([37.0, 38.0].contains(&b["mean"].as_f64().unwrap().floor()), "{b}");
    assert_ne!(analysis["comparisons"][0]["conclusion"], "inconclusive", "hardly any noise");
    let measures: Vec<&str> = analysis["comparisons"][0]["measures"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|measure| measure["name"].as_str())
        .collect();
    // Not among them: the system share of busy CPU, which a host that is idle for a whole block does not have.
    for signal in ["system_share_of_all", "host_minor_faults"] {
        assert!(measures.contains(&signal), "{signal} is always taken: {measures:?}");
    }

    let recording = Recording::open(&desk.path("x.trial/recordings/live-1.pgw")).unwrap();
    let marks = recording.marks().unwrap();
    assert_eq!(marks.iter().filter(|mark| format!("{mark:?}").contains("begin:")).count(), 8, "{marks:?}");
    assert_eq!(marks.iter().filter(|mark| format!("{mark:?}").contains("end:")).count(), 8);

    for (verb, args) in
        [("trial", &["verify", "x.trial"][..]), ("trial", &["analyze", "x.trial"]), ("report", &["x.trial"])]
    {
        let output = desk.pagewise(verb, args).output().unwrap();
        assert_exit(&output, 0);
    }
    let shown = desk.pagewise("report", &["x.trial"]).output().unwrap();
    assert_eq!(out(&shown), text, "a report from the bundle says the same");
}

#[test]
fn the_order_and_its_time_are_told_and_nothing_is_changed() {
    requires!(root);
    let lock = host_lock();
    let _unchanged = HostUnchanged::watch(&lock);
    let desk = Desk::new();
    let args = ["--a", "now", "--b", "thp.defrag=never", "--block", "5s", "--pairs", "4", "--seed", "7", "--dry-run"];
    let output = desk.run(&args);
    assert_exit(&output, 0);
    let text = out(&output);
    assert!(text.contains("1 s to settle, 4 s to wash out, 5 s measured"), "{text}");
    assert!(text.contains("order, 80.00 s in all, seed 7"), "{text}");
    assert!(text.contains("the next page fault goes by it"), "the waiting has its reason: {text}");
    assert_eq!(text.lines().filter(|line| line.contains(" pair ")).count(), 8);
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let json = desk.run(&[&args[..], &["--json"]].concat());
    let plan: Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(plan["schema"], "pagewise.dry-run/1");
    assert_eq!((&plan["seconds"], &plan["plan"]["live"]["block_seconds"]), (&80.0.into(), &5.0.into()));
    let budget = desk.run(&["--a", "now", "--b", "thp.defrag=never", "--block", "5s", "--budget", "2m", "--dry-run"]);
    assert_eq!(out(&budget).lines().filter(|line| line.contains(" pair ")).count(), 12, "{}", out(&budget));
    let at_most =
        ["--a", "now", "--b", "thp.defrag=never", "--block", "5s", "--budget", "2m", "--pairs", "4", "--dry-run"];
    let at_most = desk.run(&at_most);
    assert_eq!(out(&at_most).lines().filter(|line| line.contains(" pair ")).count(), 8, "{}", out(&at_most));
    let small = desk.run(&["--a", "now", "--b", "thp.defrag=never", "--block", "5s", "--budget", "30s", "--dry-run"]);
    assert_exit(&small, 3);
    assert!(err(&small).contains("--budget 80s"), "{}", err(&small));
    assert_eq!(fs::read_dir(desk.path(".")).unwrap().count(), 0, "a dry run leaves nothing");
}

#[test]
fn what_cannot_be_switched_or_measured_is_refused_before_anything_is_changed() {
    let desk = Desk::new();
    for (args, code, wanted) in [
        (&["--a", "now", "--b", "thp.enabled=never"][..], 3, "huge pages that exist stay"),
        (&["--a", "now", "--b", "jvm.UseTransparentHugePages=true"], 3, "takes a restart of the job"),
        (&["--a", "now", "--b", "kernel=6.1"], 3, "takes a boot"),
        (&["--a", "now", "--b", "swap=off"], 3, "cannot be switched while a job runs"),
        (&["--aa", "now", "--metric", "wall"], 2, "a live proof has no runs"),
        (&["--aa", "now", "--metric", "sytem_share"], 3, "nor is it a signal"),
        (&["--aa", "now", "--metric", "echo twelve"], 3, "no number"),
        (&["--aa", "now", "--stop-if", "load>3"], 2, "there is no signal 'load'"),
        (&["--aa", "now", "--block", "100ms"], 2, "--block"),
        (&["--aa", "now", "--pairs", "3"], 2, "cannot reach a verdict"),
        (&["--aa", "now", "--pid", "4194303"], 3, "there is no process 4194303"),
        (&["--aa", "now", "--workload", "terasort"], 2, "cannot be used with"),
        (&["--aa", "now", "--timeout", "3s"], 2, "cannot be used with"),
    ] {
        // What another test's killed process held may still be on its way back.
        let output = desk.run(&[args, &["--wait=30s"]].concat());
        assert_exit(&output, code);
        assert!(err(&output).contains(wanted), "{args:?}: {}", err(&output));
        let bundles = fs::read_dir(desk.path(".")).unwrap().flatten();
        let bundles = bundles.filter(|entry| entry.file_name().to_string_lossy().ends_with(".trial"));
        assert_eq!(bundles.count(), 0, "{args:?}");
    }
    let not_live =
        Command::cargo_bin("pagewise").unwrap().args(["prove", "--aa", "now", "--block", "5s", "--", "true"]).output();
    assert_exit(&not_live.unwrap(), 2);
}

#[test]
fn the_end_of_the_command_ends_the_proof_and_a_proof_ends_its_command() {
    requires!(root);
    let lock = host_lock();
    let _unchanged = HostUnchanged::watch(&lock);
    let desk = Desk::new();
    let b = other();
    let args = ["--a", "now", "--b", &b, "--pairs", "6", "--name", "short", "--", "sleep", "3"];
    let output = desk.run(&quick(&args));
    assert_exit(&output, 5);
    let analysis = desk.analysis("short.trial");
    assert_eq!(analysis["ended_early"]["by"], "job");
    assert_eq!(analysis["comparisons"][0]["conclusion"], "inconclusive");
    assert!(out(&output).contains("ended-early"), "{}", out(&output));
    assert!(err(&output).contains("compared run by run"), "{}", err(&output));
    let again = desk.pagewise("prove", &["--resume", "short.trial"]).output().unwrap();
    assert_exit(&again, 5);
    assert!(err(&again).contains("this proof is over"), "{}", err(&again));
    assert_exit(&desk.pagewise("trial", &["verify", "short.trial"]).output().unwrap(), 0);

    let marker = desk.path("pid");
    // At work all the time: a block of an idle host has no share of system time.
    let script = format!("echo $$ > {}; while :; do :; done", marker.display());
    let args = ["--aa", "now", "--pairs", "4", "--name", "long", "--", "sh", "-c", &script];
    assert_exit(&desk.run(&quick(&args)), 0);
    let pid: u32 = fs::read_to_string(marker).unwrap().trim().parse().unwrap();
    assert!(pagewise_host::source::process::start_time(&Root::live(), pid).is_none(), "the command outlives its proof");
}

#[test]
fn the_end_of_a_process_ends_the_proof_and_a_crossed_bound_does() {
    requires!(root);
    let lock = host_lock();
    let _unchanged = HostUnchanged::watch(&lock);
    let desk = Desk::new();
    let b = other();
    let mut sleeper = Command::new("sleep").arg("600").spawn().unwrap();
    let pid = sleeper.id().to_string();
    let proof = desk.spawn(&quick(&["--a", "now", "--b", &b, "--pairs", "8", "--name", "p", "--pid", &pid]));
    wait_until("the first switch", || swappiness() == b.trim_start_matches("vm.swappiness="));
    sleeper.kill().unwrap();
    sleeper.wait().unwrap();
    let output = proof.wait_with_output().unwrap();
    assert_exit(&output, 5);
    assert!(err(&output).contains("(--pid) has ended"), "{}", err(&output));

    // Crossed by any host that runs this test.
    let bound = ["--a", "now", "--b", &b, "--pairs", "8", "--name", "s", "--stop-if", "host_minor_faults>0"];
    let output = desk.run(&quick(&bound));
    assert_exit(&output, 5);
    let analysis = desk.analysis("s.trial");
    assert_eq!(analysis["ended_early"]["by"], "bound");
    assert!(analysis["ended_early"]["reason"].as_str().unwrap().contains("host_minor_faults was"), "{analysis}");
}

#[test]
fn ctrl_c_restores_the_host_and_leaves_a_proof_that_can_go_on() {
    requires!(root);
    let lock = host_lock();
    let _unchanged = HostUnchanged::watch(&lock);
    let desk = Desk::new();
    let (b, before) = (other(), swappiness());
    let args = ["--a", "now", "--b", &b, "--pairs", "4", "--name", "x", "--seed", "3", "--metric", "host_minor_faults"];
    let proof = desk.spawn(&quick(&args));
    wait_until("the first switch", || swappiness() != before);
    thread::sleep(Duration::from_millis(300));
    rustix::process::kill_process(rustix::process::Pid::from_child(&proof), rustix::process::Signal::INT).unwrap();
    let output = proof.wait_with_output().unwrap();
    assert_exit(&output, 130);
    assert_eq!(swappiness(), before);
    let output = desk.pagewise("prove", &["--resume", "x.trial"]).output().unwrap();
    assert_exit(&output, 0);
    let analysis = desk.analysis("x.trial");
    assert_eq!(analysis["comparisons"][0]["blocks"], 4);
    assert!(analysis.get("ended_early").is_none());
}

#[test]
fn a_foreign_change_ends_the_proof_and_the_value_stays() {
    requires!(root);
    let lock = host_lock();
    let _unchanged = HostUnchanged::watch(&lock);
    let desk = Desk::new();
    let (b, before) = (other(), swappiness());
    let args = ["--a", "now", "--b", &b, "--pairs", "4", "--name", "x", "--metric", "host_minor_faults"];
    let proof = desk.spawn(&quick(&args));
    wait_until("the first switch", || swappiness() != before);
    thread::sleep(Duration::from_millis(400));
    fs::write("/proc/sys/vm/swappiness", "41").unwrap();
    let output = proof.wait_with_output().unwrap();
    let found = swappiness();
    fs::write("/proc/sys/vm/swappiness", &before).unwrap();
    assert_exit(&output, 5);
    assert_eq!(found, "41", "theirs is left: {}", err(&output));
    let said = err(&output);
    assert!(said.contains("ended early: changed by someone else: vm.swappiness is '41'"), "{said}");
    assert!(said.contains("that is left as it is"), "{said}");
    assert_eq!(desk.analysis("x.trial")["ended_early"]["by"], "foreign-change");
}

#[test]
fn kill_nine_at_any_moment_restores_the_host() {
    requires!(root);
    let lock = host_lock();
    let _unchanged = HostUnchanged::watch(&lock);
    let desk = Desk::new();
    let (b, before) = (other(), swappiness());
    let moments = [0_u64, 130, 470, 900, 1310, 1700];
    for (round, moment) in moments.into_iter().enumerate() {
        let name = format!("k{round}");
        let marker = desk.path(&name);
        // At work all the time: a block of an idle host has no share of system time.
        let script = format!("echo $$ > {}; while :; do :; done", marker.display());
        let args = ["--a", "now", "--b", &b, "--pairs", "8", "--name", &name, "--", "sh", "-c", &script];
        let mut proof = desk.spawn(&quick(&args));
        wait_until("the first switch", || swappiness() != before);
        thread::sleep(Duration::from_millis(moment));
        proof.kill().unwrap();
        proof.wait().unwrap();
        let since = Instant::now();
        // Killed at the very first switch, the command may not have begun, or not yet have said who it is.
        let pid = || fs::read_to_string(&marker).ok().and_then(|text| text.trim().parse::<u32>().ok());
        let is_gone =
            || pid().is_none_or(|pid| pagewise_host::source::process::start_time(&Root::live(), pid).is_none());
        if moment == 0 {
            thread::sleep(Duration::from_millis(300));
        } else {
            assert!(pid().is_some(), "the command runs {moment} ms after the first switch");
        }
        while (swappiness() != before || !is_gone()) && since.elapsed() < Duration::from_secs(10) {
            thread::sleep(Duration::from_millis(10));
        }
        assert_eq!(swappiness(), before, "killed {moment} ms after the first switch");
        assert!(is_gone(), "the command outlives a killed proof");
    }
}

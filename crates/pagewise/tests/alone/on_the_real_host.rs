//! The verdict on this very host, where the truth is known: the same policy twice, and a job that takes 5 % longer. These
//! need a quiet host and most of an hour: they run in `make test-long` and leave their figures in `bench/long/`.
#![allow(clippy::print_stdout)]

use assert_cmd::cargo::CommandCargoExt;
use serde_json::{Value, json};
use std::path::Path;
use std::process::{Command, Stdio};

const TRIALS: usize = 20;

fn is_long() -> bool {
    std::env::var_os("PAGEWISE_LONG").is_some()
}

fn record(name: &str, figures: &Value) {
    println!("{name}: {figures}");
    let Some(folder) = std::env::var_os("PAGEWISE_RECORD_DIR") else { return };
    let folder = Path::new(&folder);
    std::fs::create_dir_all(folder).unwrap();
    let text = serde_json::to_string_pretty(figures).unwrap() + "\n";
    std::fs::write(folder.join(format!("{name}.json")), text).unwrap();
}

fn stamp() -> Value {
    let commit = Command::new("git").args(["rev-parse", "--short", "HEAD"]).output();
    let commit = commit.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default();
    let facts = pagewise_host::facts::kernel::host_facts(&pagewise_host::root::Root::live(), None);
    json!({
        "commit": commit,
        "date": jiff::Timestamp::now().strftime("%Y-%m-%d").to_string(),
        "host": facts,
    })
}

fn trial(folder: &Path, index: usize, args: &[&str], job: &[&str]) -> Value {
    let mut command = Command::cargo_bin("pagewise").unwrap();
    command.current_dir(folder).args(["prove", "--json", "--name", &format!("t{index}")]);
    command.args(["--seed", &(1000 + index).to_string()]).args(args).args(job).stdin(Stdio::null());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn the_same_policy_twice_on_terasort_is_rarely_called_different() {
    if !is_long() {
        return;
    }
    pagewise_testkit::requires!(root, java, maven);
    let _lock = pagewise_testkit::host_lock();
    let folder = tempfile::tempdir().unwrap();
    let fetched = Command::cargo_bin("pagewise").unwrap().args(["workload", "terasort", "fetch"]).status().unwrap();
    assert!(fetched.success());
    let args = ["--aa", "now", "--pairs", "4", "--workload", "terasort:rows=20000"];
    let trials: Vec<Value> = (0..TRIALS).map(|index| trial(folder.path(), index, &args, &[])).collect();
    let different = trials
        .iter()
        .filter(|analysis| {
            let interval = &analysis["comparisons"][0]["effect"]["interval"];
            interval["low"].as_f64().unwrap() > 1.0 || interval["high"].as_f64().unwrap() < 1.0
        })
        .count();
    let half_widths: Vec<f64> = trials
        .iter()
        .map(|analysis| {
            let interval = &analysis["comparisons"][0]["effect"]["interval"];
            (interval["high"].as_f64().unwrap() / interval["low"].as_f64().unwrap()).ln() / 2.0
        })
        .collect();
    let ratios: Vec<f64> =
        trials.iter().map(|analysis| analysis["comparisons"][0]["effect"]["ratio"].as_f64().unwrap()).collect();
    let figures = json!({
        "schema": "pagewise.bench/1",
        "what": "prove --aa now, terasort rows=20000, 4 pairs",
        "trials": TRIALS, "different": different, "allowed": 3,
        "ratios": ratios, "half_widths_log": half_widths, "stamp": stamp(),
    });
    record("aa-terasort", &figures);
    assert!(different <= 3, "{different} of {TRIALS} were called different");
}

#[test]
fn a_job_that_sleeps_five_percent_longer_is_measured_right() {
    if !is_long() {
        return;
    }
    let _lock = pagewise_testkit::host_lock();
    let folder = tempfile::tempdir().unwrap();
    let args = ["--a", "short:env.T=1.00", "--b", "long:env.T=1.05", "--pairs", "5", "--warmup", "1"];
    let job = ["--", "sh", "-c", "exec sleep $T"];
    let trials: Vec<Value> = (0..TRIALS).map(|index| trial(folder.path(), index, &args, &job)).collect();
    // The truth is the ratio of the sleeps; starting a process adds a few milliseconds to both,
    // which moves the ratio by 0.02 %.
    let truth = 1.05;
    let of = |analysis: &Value, end: &str| analysis["comparisons"][0]["effect"]["interval"][end].as_f64().unwrap();
    let covered = trials.iter().filter(|a| of(a, "low") <= truth && truth <= of(a, "high")).count();
    let found = trials.iter().filter(|analysis| analysis["comparisons"][0]["conclusion"] == "worse").count();
    let intervals: Vec<[f64; 2]> = trials.iter().map(|analysis| [of(analysis, "low"), of(analysis, "high")]).collect();
    let figures = json!({
        "schema": "pagewise.bench/1",
        "what": "prove, sleep 1.00 against sleep 1.05, 5 pairs",
        "trials": TRIALS, "found": found, "covered": covered, "required": 17,
        "intervals": intervals, "stamp": stamp(),
    });
    record("sleep-five-percent", &figures);
    assert!(found >= 17 && covered >= 17, "found {found}, covered {covered} of {TRIALS}");
}

//! What a plan is told before it runs: shipped plans, weaknesses, errors with their place.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const PAGEWISE: &str = env!("CARGO_BIN_EXE_pagewise");

fn check(arguments: &[&str]) -> Output {
    let run = Command::new(PAGEWISE).args(["trial", "check"]).args(arguments).stdin(Stdio::null()).output();
    run.expect("pagewise starts")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn the_published_matrix_warns_and_the_corrected_ones_are_clean() {
    let published = check(&["terasort-mglru-as-published", "--elsewhere"]);
    assert!(published.status.success());
    let said_of_it = said(&published);
    for weakness in ["nested-order", "levels-differ-in-more", "too-few-boots"] {
        assert!(said_of_it.contains(weakness), "{weakness}: {said_of_it}");
    }
    let one_line = said_of_it.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(one_line.contains("differ in swap and in workload.heap"), "the confound is named: {one_line}");
    let strict = check(&["terasort-mglru-as-published", "--elsewhere", "--strict"]);
    assert_eq!(strict.status.code(), Some(2), "{}", told(&strict));
    for clean in ["terasort-mglru", "terasort-mglru-2cpu", "terasort-thp"] {
        let output = check(&[clean, "--elsewhere", "--strict"]);
        assert!(output.status.success(), "{clean}: {}{}", said(&output), told(&output));
        assert!(said(&output).contains("no weakness found"));
    }
}

#[test]
fn the_plans_keep_the_reports_options_and_ratios() {
    let full = said(&check(&["terasort-mglru", "--elsewhere", "--json"]));
    let full: serde_json::Value = serde_json::from_str(&full).expect("JSON");
    let job = &full["plan"]["workload"];
    assert_eq!((job["jobs"].as_u64(), job["rows"].as_u64()), (Some(12), Some(100_000_000)));
    assert_eq!(full["forecast"]["cells"], 12);
    assert_eq!(full["forecast"]["comparisons"].as_array().map(Vec::len), Some(15));
    let small = said(&check(&["terasort-mglru-2cpu", "--elsewhere", "--json"]));
    let small: serde_json::Value = serde_json::from_str(&small).expect("JSON");
    // Rows for each byte of memory: 12 jobs of 100 million on 256 GB, one job on 24.
    let rows = small["plan"]["workload"]["rows"].as_f64().expect("rows");
    assert!((rows / 24.0 / (1.2e9 / 256.0) - 1.0).abs() < 0.001, "{rows}");
}

#[test]
fn a_wrong_plan_is_told_with_file_line_and_column() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let plan = folder.path().join("wrong.toml");
    let text = "name = \"x\"\n[workload]\nname = \"command\"\nrun = [\"true\"]\n[[factor]]\nname = \"thp\"\n\
                levels.a = \"thp.enabled=never\"\nlevels.b = \"thp.enabeld=always\"\n";
    fs::write(&plan, text).expect("room");
    let output = check(&[&plan.display().to_string()]);
    assert_eq!(output.status.code(), Some(2));
    assert!(told(&output).contains("wrong.toml:8:12: "), "{}", told(&output));
    assert!(told(&output).contains("did you mean thp.enabled?"), "{}", told(&output));
    let missing = check(&["no-such-plan"]);
    assert_eq!(missing.status.code(), Some(2));
    assert!(told(&missing).contains("terasort-thp"), "the plans that ship are named: {}", told(&missing));
}

#[test]
fn every_line_of_a_check_fits_80_columns() {
    for plan in ["terasort-mglru", "terasort-mglru-as-published", "terasort-thp"] {
        for line in said(&check(&[plan, "--elsewhere"])).lines() {
            let is_one_word = line.split_whitespace().count() < 2;
            assert!(line.chars().count() <= 80 || is_one_word, "{plan}: {line}");
        }
    }
}

#[test]
fn a_pilot_s_scatter_says_what_the_trial_can_find() {
    let with = said(&check(&["terasort-thp", "--elsewhere", "--cv", "3%"]));
    assert!(with.contains("% or more") && !with.contains("not known"), "{with}");
}

/// A copy of a committed bundle: to read a database may leave files beside it. The name is part of what the reports say.
fn copied(name: &str) -> (tempfile::TempDir, PathBuf) {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/results").join(name);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let to = folder.path().join(from.file_name().expect("a name"));
    fs::create_dir(&to).expect("room");
    for entry in fs::read_dir(&from).unwrap_or_else(|error| panic!("{}: {error}", from.display())) {
        let path = entry.expect("readable").path();
        fs::copy(&path, to.join(path.file_name().expect("a name"))).expect("room");
    }
    (folder, to)
}

fn verify(bundle: &Path) -> Output {
    let run = Command::new(PAGEWISE).args(["trial", "verify", "--json"]).arg(bundle).stdin(Stdio::null()).output();
    run.expect("pagewise starts")
}

#[test]
fn each_committed_bundle_comes_out_again_byte_for_byte() {
    let matrix = ["analysis.json", "report.md", "report.html", "points.csv", "analysis.R"];
    let pair = &matrix[..3];
    for (name, files) in
        [("terasort-thp/terasort-thp.trial", &matrix[..]), ("live/storm.trial", pair), ("live/healthy.trial", pair)]
    {
        let (_folder, bundle) = copied(name);
        let verified = verify(&bundle);
        assert!(verified.status.success(), "{name}: {}", told(&verified));
        let json: serde_json::Value = serde_json::from_slice(&verified.stdout).expect("JSON");
        let same: Vec<&str> =
            json["same"].as_array().expect("a list").iter().filter_map(|name| name.as_str()).collect();
        assert_eq!(json["schema"], "pagewise.verify/1");
        for file in files {
            assert!(same.contains(file), "{name}: {file} is not among {same:?}");
        }
        assert_eq!(json["different"], serde_json::json!([]));

        // And the check can fail.
        let report = bundle.join("report.md");
        let edited = fs::read_to_string(&report).expect("a report").replacen("# ", "# a ", 1);
        fs::write(&report, edited).expect("room");
        let found_out = verify(&bundle);
        assert_eq!(found_out.status.code(), Some(4));
        assert!(told(&found_out).contains("report.md is not what the analysis gives"), "{}", told(&found_out));
    }
}

#[test]
fn the_page_of_the_storm_says_what_its_reports_say() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let read = |path: &str| fs::read_to_string(root.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
    let page = read("docs/guide/live-storm.md");
    let (storm, healthy) =
        (read("bench/results/live/storm.trial/report.md"), read("bench/results/live/healthy.trial/report.md"));
    // As the report says it, with the names of its columns left out.
    let rows = [
        (&storm, "| host_minor_faults | 3,809 | 678,101 | ×182 | ×147 to ×224 |"),
        (&storm, "| psi_memory_some | 4.724 s | 47.1 ms | −99.0 % | −99.3 % to −98.7 % |"),
        (&storm, "| compact_stalls | 10,548 | 0 | — | — |"),
        (&storm, "| thp_faults | 257 |"),
        (&storm, "95 % interval: 0.9787 to 0.9848 (−2.1 % to −1.5 %)"),
        (&healthy, "| +3.5 % | −7.2 % to +15.4 % |"),
        (&healthy, "95 % interval: 0.9986 to 1.003 (−0.14 % to +0.28 %)"),
    ];
    for (report, row) in rows {
        assert!(report.contains(row), "{row} is in no report");
        let numbers = row.split(['|', ' ', '(', ')']).filter(|word| word.contains(|c: char| c.is_ascii_digit()));
        for number in numbers.filter(|number| *number != "95" && !number.starts_with("0.9") && *number != "1.003") {
            assert!(page.contains(number), "{number} of '{row}' is not on the page");
        }
    }
}

#[test]
fn a_bundle_that_is_there_is_not_overwritten_and_the_message_names_the_verb_that_goes_on() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let plan = "name = 'x'\n[workload]\nname = 'command'\nrun = ['true']\n\
                [[factor]]\nname = 'mode'\nlevels.one = 'env.MODE=1'\nlevels.two = 'env.MODE=2'\n\
                [[contrast]]\nfactor = 'mode'\na = 'one'\nb = 'two'\nprimary = true\n";
    fs::write(folder.path().join("plan.toml"), plan).expect("room");
    fs::create_dir(folder.path().join("x.trial")).expect("room");
    let refused = Command::new(PAGEWISE)
        .args(["trial", "run", "plan.toml", "--state-dir", "state", "--cache-dir", "cache"])
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .output()
        .expect("pagewise starts");
    assert_eq!(refused.status.code(), Some(2), "{}", told(&refused));
    assert!(told(&refused).contains("go on with it: pagewise trial resume x.trial"), "{}", told(&refused));
    assert!(!told(&refused).contains("--resume"), "an option of another verb: {}", told(&refused));
}

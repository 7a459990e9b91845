//! `pagewise import` and `pagewise export` from outside.

use assert_cmd::cargo::CommandCargoExt;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn pagewise(folder: &Path, args: &[&str]) -> Output {
    let mut command = Command::cargo_bin("pagewise").unwrap();
    command.current_dir(folder).args(args).stdin(Stdio::null()).output().unwrap()
}

fn path(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../recordings/imports").canonicalize().unwrap();
    folder.join(name)
}

fn sample(kind: &str, name: &str) -> String {
    format!("{kind}:{}", path(name).display())
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[test]
fn the_listing_and_the_profile_of_2012_become_one_recording_that_can_be_exported() {
    let folder = tempfile::tempdir().unwrap();
    let (listing, profile) = (sample("collectl", "collectl-thp-on.txt"), sample("perf-top", "perf-top-thp-on.txt"));
    let known = ["--about", "kernel=2.6.32-220", "--setting", "thp.enabled=always", "--setting", "thp.defrag=always"];
    let args = [&["import", "--json", &listing, &profile, "-o", "2012.pgw"][..], &known].concat();
    let output = pagewise(folder.path(), &args);
    assert!(output.status.success(), "{}", said(&output));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((report["schema"].as_str(), report["samples"].as_u64()), (Some("pagewise.import/1"), Some(22)));
    assert_eq!((report["settings"].as_u64(), report["stacks"].as_u64()), (Some(2), Some(237_934)));
    let again = pagewise(folder.path(), &args);
    assert_eq!(again.status.code(), Some(2), "never overwritten");
    let csv = pagewise(folder.path(), &["export", "2012.pgw", "--to", "csv", "--series", "MemFree", "--from", "30s"]);
    let text = String::from_utf8(csv.stdout).unwrap();
    assert_eq!(text.lines().count(), 8, "{text}");
    assert_eq!(text.lines().nth(1), Some(",0,meminfo.MemFree,,bytes,gauge,25769803776"));
    let folded = String::from_utf8(pagewise(folder.path(), &["export", "2012.pgw", "--to", "folded"]).stdout).unwrap();
    assert!(folded.contains("[unknown];_spin_lock_irq_[k] 223182\n"), "{folded}");
    let parquet = pagewise(folder.path(), &["export", "2012.pgw", "--to", "parquet", "-o", "tables"]);
    assert!(parquet.status.success() && folder.path().join("tables/meminfo.parquet").exists(), "{}", said(&parquet));
}

#[test]
fn a_listing_comes_from_standard_input_too() {
    let listing = std::fs::File::open(path("vmstat-t.txt")).unwrap();
    let mut command = Command::cargo_bin("pagewise").unwrap();
    let output = command.args(["diagnose", "--json", "--import", "-"]).stdin(listing).output().unwrap();
    let found: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", said(&output)));
    assert!(output.status.success() && found["findings"].is_array(), "{}", said(&output));
    let nothing = pagewise(&std::env::temp_dir(), &["diagnose", "--import", "-"]);
    assert_eq!(nothing.status.code(), Some(2), "{}", said(&nothing));
}

#[test]
fn a_stretch_outside_the_recording_is_told_with_its_length_and_what_exists_with_one_code() {
    let folder = tempfile::tempdir().unwrap();
    let listing = sample("collectl", "collectl-thp-on.txt");
    assert!(pagewise(folder.path(), &["import", &listing, "-o", "a.pgw"]).status.success());
    let export = |args: &[&str]| pagewise(folder.path(), &[&["export", "a.pgw", "--to"], args].concat());
    for (args, says) in [
        (&["csv", "--from", "10h"][..], "--from is after the last sample"),
        (&["csv", "--from", "9s", "--until", "3s"], "--from is after --until"),
    ] {
        let output = export(args);
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {told}");
        assert!(told.contains(says) && told.contains("its samples span "), "{args:?}: {told}");
        assert!(output.stdout.is_empty(), "{args:?}");
    }
    assert!(export(&["csv", "--from", "3s", "--until", "9s"]).status.success());
    std::fs::write(folder.path().join("there"), "mine").unwrap();
    for format in ["csv", "openmetrics", "parquet"] {
        let output = export(&[format, "-o", "there"]);
        assert_eq!(output.status.code(), Some(2), "{format}: {}", said(&output));
        assert!(said(&output).contains("there exists already"), "{format}: {}", said(&output));
    }
    assert_eq!(std::fs::read_to_string(folder.path().join("there")).unwrap(), "mine");
}

#[test]
fn what_was_imported_fills_the_columns_of_watch() {
    let folder = tempfile::tempdir().unwrap();
    let rows = |file: &str| -> Vec<Value> {
        let name = file.split_once(':').unwrap().0.to_owned() + ".pgw";
        let output = pagewise(folder.path(), &["import", file, "-o", &name]);
        assert!(output.status.success(), "{}", said(&output));
        let watched = pagewise(folder.path(), &["watch", &name, "--json"]);
        assert!(watched.status.success(), "{}", said(&watched));
        let text = String::from_utf8(watched.stdout).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let is = |row: &Value, id: &str, wanted: f64| {
        let value = row[id].as_f64().unwrap_or(f64::NAN);
        assert!((value - wanted).abs() < 1e-9, "{id} is {} and not {wanted}", row[id]);
    };
    let vmstat = rows(&sample("vmstat", "vmstat-t.txt"));
    assert_eq!(vmstat.len(), std::fs::read_to_string(path("vmstat-t.txt")).unwrap().lines().count() - 2, "each row");
    assert!(vmstat[0]["cpu_busy"].is_null(), "rates of the first row are averages since boot");
    is(&vmstat[0], "cache", (1_910_224.0 + 9064.0) * 1024.0);
    is(&vmstat[1], "cpu_busy", 0.95);
    is(&vmstat[1], "cpu_system", 0.12);
    is(&vmstat[1], "cpu_steal", 0.05);
    is(&vmstat[1], "disk_read", 3192.0 * 1024.0);
    is(&vmstat[1], "running", 5.0);
    is(&vmstat[1], "swap_in", 0.0);
    let collectl = rows(&sample("collectl", "collectl-brief.txt"));
    is(&collectl[2], "cpu_busy", 1.0);
    is(&collectl[2], "cpu_system", 0.13);
    let sar = rows(&sample("sar", "sar-iso.txt"));
    assert!(sar.iter().any(|row| row["cpu_busy"].is_number() && row["major_faults"].is_number()), "{sar:?}");
}

#[test]
fn what_cannot_be_read_is_told_and_ends_nothing() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("garbage.txt"), "hello\nworld\n").unwrap();
    let listing = sample("auto", "vmstat-commands.txt");
    let imported = pagewise(folder.path(), &["import", &listing, "garbage.txt", "-o", "a.pgw"]);
    assert!(imported.status.success(), "{imported:?}");
    let stderr = String::from_utf8_lossy(&imported.stderr).into_owned();
    assert!(stderr.contains("left out: cannot import garbage.txt: no line of it is known"), "{stderr}");
    let judged = pagewise(folder.path(), &["diagnose", "--import", &listing, "--import", "garbage.txt"]);
    assert!(judged.status.success(), "{judged:?}");
    let stderr = String::from_utf8_lossy(&judged.stderr).into_owned();
    assert!(stderr.contains("left out: cannot import garbage.txt"), "{stderr}");
    let none = pagewise(folder.path(), &["diagnose", "--import", "garbage.txt"]);
    assert_eq!(none.status.code(), Some(2), "{none:?}");
}

#[test]
fn what_cannot_be_done_says_what_to_do_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let code = |args: &[&str], says: &str| {
        let output = pagewise(folder.path(), args);
        assert!(said(&output).contains(says), "{args:?}: {}", said(&output));
        output.status.code()
    };
    assert_eq!(code(&["import", "collectl", "-o", "a.pgw"], "is not KIND:FILE"), Some(2));
    assert_eq!(code(&["import", "collectl:none.txt", "-o", "a.pgw"], "cannot read none.txt"), Some(2));
    std::fs::write(folder.path().join("garbage.txt"), "hello\nworld\n").unwrap();
    assert_eq!(code(&["import", "sar:garbage.txt", "-o", "a.pgw"], "line 1, 'hello'"), Some(2));
    let listing = sample("collectl", "collectl-thp-on.txt");
    assert_eq!(code(&["import", &listing, "-o", "a.pgw", "--about", "date=yesterday"], "2012-06-18"), Some(2));
    assert_eq!(code(&["import", &listing, "-o", "a.pgw", "--setting", "thp"], "NAME=VALUE"), Some(2));
    assert!(!folder.path().join("a.pgw").exists());
    assert!(pagewise(folder.path(), &["import", &listing, "-o", "a.pgw"]).status.success());
    assert_eq!(code(&["export", "a.pgw", "--to", "pprof"], "has no stacks"), Some(3));
    assert_eq!(code(&["export", "a.pgw", "--to", "xml"], "is no format"), Some(2));
    assert_eq!(code(&["export", "a.pgw", "--to", "csv", "--series", "nope"], "no series"), Some(2));
    assert_eq!(code(&["export", "a.pgw", "--to", "csv", "--from", "soon"], "write 90s"), Some(2));
}

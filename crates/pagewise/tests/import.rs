//! `pagewise import` and `pagewise export` from outside.

use assert_cmd::cargo::CommandCargoExt;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn pagewise(folder: &Path, args: &[&str]) -> Output {
    let mut command = Command::cargo_bin("pagewise").unwrap();
    command.current_dir(folder).args(args).stdin(Stdio::null()).output().unwrap()
}

fn sample(kind: &str, name: &str) -> String {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../recordings/imports").canonicalize().unwrap();
    format!("{kind}:{}", folder.join(name).display())
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

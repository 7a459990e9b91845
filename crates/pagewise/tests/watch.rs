//! `pagewise watch` from outside: a line per sample, of this host and of a recording, for people and for programs.

use assert_cmd::cargo::CommandCargoExt;
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn pagewise(folder: &Path, args: &[&str]) -> Output {
    let mut command = Command::cargo_bin("pagewise").unwrap();
    command.current_dir(folder).args(args).stdin(Stdio::null()).output().unwrap()
}

fn lines(output: &Output) -> Vec<String> {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn a_line_per_sample_fits_eighty_columns_under_one_heading() {
    let folder = tempfile::tempdir().unwrap();
    let said = lines(&pagewise(folder.path(), &["watch", "--hz", "20", "-n", "3"]));
    assert_eq!(said.len(), 4, "{said:?}");
    assert!(said[0].starts_with("#time") && said.iter().all(|line| line.len() <= 80), "{said:?}");
    let columns = said[0].split_whitespace().count();
    assert!(said[1..].iter().all(|line| line.split_whitespace().count() == columns), "{said:?}");
}

#[test]
fn json_has_an_object_a_line_and_null_for_what_is_not_known() {
    let folder = tempfile::tempdir().unwrap();
    // A host without any of the files but one.
    let tree = folder.path().join("tree/proc");
    std::fs::create_dir_all(&tree).unwrap();
    std::fs::write(tree.join("meminfo"), "MemTotal: 4000 kB\nMemFree: 1000 kB\n").unwrap();
    let said = lines(&pagewise(folder.path(), &["--root", "tree", "watch", "--hz", "20", "-n", "2", "--json"]));
    let object: Value = serde_json::from_str(&said[1]).unwrap();
    assert_eq!(object["free"].as_f64(), Some(1_024_000.0));
    assert!(object["scan_direct"].is_null() && object["time"].is_string(), "{object}");
    let said =
        lines(&pagewise(folder.path(), &["--root", "tree", "watch", "--hz", "20", "-n", "1", "--columns", "free,sys"]));
    assert_eq!(said[1].split_whitespace().skip(1).collect::<Vec<_>>(), ["1.0M", "-"]);
}

#[test]
fn a_recording_replays_with_the_same_columns_and_says_what_it_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let recorded = pagewise(folder.path(), &["record", "-o", "a.pgw", "--hz", "20", "--for", "1s"]);
    assert!(recorded.status.success(), "{}", String::from_utf8_lossy(&recorded.stderr));
    let said = lines(&pagewise(folder.path(), &["watch", "a.pgw"]));
    let samples = said.iter().filter(|line| !line.starts_with('#')).count();
    assert!(samples >= 5, "{said:?}");
    let live = lines(&pagewise(folder.path(), &["watch", "--hz", "20", "-n", "1"]));
    assert_eq!(said.iter().find(|line| line.starts_with("#time")), live.first());
    std::fs::write(folder.path().join("b.pgw"), "not a recording").unwrap();
    assert_eq!(pagewise(folder.path(), &["watch", "b.pgw"]).status.code(), Some(2));
    let unknown = pagewise(folder.path(), &["watch", "--columns", "frei"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&unknown.stderr).contains("no column 'frei'"));
}

#[test]
fn a_reader_that_went_away_ends_it_quietly_and_each_line_comes_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = Command::cargo_bin("pagewise")
        .unwrap()
        .current_dir(folder.path())
        .args(["watch", "--hz", "20"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut reader = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    line.clear();
    reader.read_line(&mut line).unwrap();
    assert!(line.ends_with('\n') && !line.starts_with('#'), "{line:?}");
    drop(reader);
    let ended = child.wait_with_output().unwrap();
    assert!(ended.status.success() && ended.stderr.is_empty(), "{}", String::from_utf8_lossy(&ended.stderr));
}

#[test]
fn a_recording_becomes_one_page_and_two_become_one_that_compares_them() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["a.pgw", "b.pgw"] {
        let recorded = pagewise(folder.path(), &["record", "-o", name, "--hz", "20", "--for", "1s"]);
        assert!(recorded.status.success());
    }
    let page = pagewise(folder.path(), &["report", "a.pgw"]);
    assert!(String::from_utf8_lossy(&page.stdout).starts_with("<!doctype html>"), "HTML into a pipe");
    let both = pagewise(folder.path(), &["report", "a.pgw", "--against", "b.pgw", "-o", "both.html"]);
    assert!(both.status.success(), "{}", String::from_utf8_lossy(&both.stderr));
    let text = std::fs::read_to_string(folder.path().join("both.html")).unwrap();
    assert!(text.contains("a.pgw against b.pgw") && text.contains("Both began with the same settings"));
    assert_eq!(pagewise(folder.path(), &["report", "a.pgw", "--json"]).status.code(), Some(2));
}

#[test]
fn a_full_screen_without_a_terminal_is_refused_and_the_lines_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let ended = pagewise(folder.path(), &["top"]);
    assert_eq!(ended.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&ended.stderr).contains("no terminal"));
}

//! `pagewise watch` from outside: a line per sample, of this host and of a recording, for people and for programs.

use assert_cmd::cargo::CommandCargoExt;
use pagewise_testkit::{Terminal, host_lock};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

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
fn a_reader_that_went_away_is_noticed_long_before_the_next_sample() {
    let mut command = Command::cargo_bin("pagewise").unwrap();
    command.args(["watch", "--hz", "0.01"]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    drop(child.stdout.take());
    let started = Instant::now();
    let ended = child.wait_with_output().unwrap();
    assert!(started.elapsed() < Duration::from_secs(50), "{:?}", started.elapsed());
    assert!(ended.status.success() && ended.stderr.is_empty(), "{}", String::from_utf8_lossy(&ended.stderr));
}

#[test]
fn comma_separated_values_have_a_name_for_each_and_nothing_where_nothing_is_known() {
    let folder = tempfile::tempdir().unwrap();
    let tree = folder.path().join("tree/proc");
    std::fs::create_dir_all(&tree).unwrap();
    std::fs::write(tree.join("meminfo"), "MemTotal: 4000 kB\nMemFree: 1000 kB\n").unwrap();
    let said = lines(&pagewise(folder.path(), &["--root", "tree", "watch", "--hz", "20", "-n", "2", "--csv"]));
    assert_eq!(said.len(), 3, "one heading: {said:?}");
    let cells: Vec<Vec<&str>> = said.iter().map(|line| line.split(',').collect()).collect();
    assert!(cells[0][0] == "time" && cells.iter().all(|row| row.len() == cells[0].len()), "{said:?}");
    let value = |name: &str| cells[1][cells[0].iter().position(|cell| *cell == name).unwrap()];
    assert_eq!((value("free"), value("scan_direct")), ("1024000", ""));
    let both = pagewise(folder.path(), &["watch", "--csv", "--json"]);
    assert_eq!(both.status.code(), Some(2));
}

/// A recorded storm, replayed in a terminal.
fn storm_in_a_terminal(size: (u16, u16), more: &[&str]) -> pagewise_testkit::terminal::TerminalAtExit {
    let file =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../recordings/6.18.44-fc-v657/compaction-storm-severe.pgw");
    let program = PathBuf::from(Command::cargo_bin("pagewise").unwrap().get_program());
    let args = [&["watch", file.to_str().unwrap()], more].concat();
    let left = Terminal::start(&program, &args, &[("TZ", "UTC")], size).wait();
    assert_eq!(left.code, Some(0), "{}", left.screen);
    left
}

#[test]
fn lines_fit_whatever_terminal_there_is_and_the_heading_comes_again() {
    for (columns, rows) in [(40, 10), (80, 24), (300, 80)] {
        let left = storm_in_a_terminal((columns, rows), &[]);
        assert!(!left.bytes.contains(&0x1b), "lines are text, on a terminal too");
        let text = String::from_utf8(left.bytes).unwrap();
        let headings = text.lines().filter(|line| line.starts_with("#time")).count();
        let samples = text.lines().filter(|line| line.starts_with("03:")).count();
        assert!(text.lines().all(|line| line.trim_end().len() <= columns.into()), "{text}");
        assert_eq!(headings, samples.div_ceil(usize::from(rows) - 2), "{text}");
        insta::assert_snapshot!(format!("watch_{columns}x{rows}"), left.screen);
    }
    assert!(storm_in_a_terminal((300, 80), &["--columns", "cpu,free"]).screen.starts_with("#time    cpu free\n"));
}

#[test]
fn a_recording_becomes_one_page_and_two_become_one_that_compares_them() {
    // Both note this host's settings.
    let _lock = host_lock();
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

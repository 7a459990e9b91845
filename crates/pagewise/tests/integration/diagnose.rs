//! `pagewise diagnose` from outside: what it says of a recording and of this host, and what it returns.

use assert_cmd::cargo::CommandCargoExt;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn pagewise(folder: &Path, args: &[&str]) -> Output {
    let mut command = Command::cargo_bin("pagewise").unwrap();
    command.current_dir(folder).args(args).stdin(Stdio::null()).output().unwrap()
}

#[test]
fn a_recording_and_this_host_are_diagnosed_and_say_what_they_could_not_decide() {
    let folder = tempfile::tempdir().unwrap();
    let recorded = pagewise(folder.path(), &["record", "-o", "a.pgw", "--for", "2s"]);
    assert!(recorded.status.success(), "{recorded:?}");
    let output = pagewise(folder.path(), &["diagnose", "a.pgw"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(text.contains("Observed a.pgw") && text.contains("Not decided"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80 || line.contains("pagewise ")), "{text}");
    let output = pagewise(folder.path(), &["diagnose", "--json", "a.pgw"]);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["schema"], "pagewise.findings/3");
    let length = |field: &str| document[field].as_array().unwrap().len();
    assert_eq!(length("findings") + length("not_found") + length("not_decided"), 32);

    let output = pagewise(folder.path(), &["diagnose", "--json", "--", "sleep", "1"]);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["observed"]["subject"], "sleep 1", "{output:?}");
    let output = pagewise(folder.path(), &["diagnose", "--for", "1s"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let left = std::fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(left, 1, "only the recording that was asked for is left");
}

#[test]
fn what_cannot_be_diagnosed_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let code = |args: &[&str]| pagewise(folder.path(), args).status.code();
    assert_eq!(code(&["diagnose", "no-such-file.pgw"]), Some(2));
    assert_eq!(code(&["diagnose", "a.pgw", "--for", "1s"]), Some(2));
    assert_eq!(code(&["diagnose", "--fail-on", "dreadful"]), Some(2));
    assert_eq!(code(&["diagnose", "--", "no-such-command-here"]), Some(3));
    std::fs::write(folder.path().join("text.pgw"), "no recording").unwrap();
    let output = pagewise(folder.path(), &["diagnose", "text.pgw"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("text.pgw is no recording"), "{output:?}");
}

#[test]
fn a_listing_says_its_answer_and_in_a_line_what_it_cannot_decide() {
    let folder = tempfile::tempdir().unwrap();
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../recordings/imports").canonicalize().unwrap();
    let listing = format!("vmstat:{}", samples.join("vmstat-t.txt").display());
    let said = |args: &[&str]| String::from_utf8(pagewise(folder.path(), args).stdout).unwrap();
    let brief = said(&["diagnose", "--import", &listing]);
    assert!(brief.starts_with("Nothing found in what could be decided.\n"), "{brief}");
    assert!(brief.contains("vmstat can decide ") && brief.contains("these need pagewise record: "), "{brief}");
    assert!(!brief.contains("it is not in the recording") && brief.lines().count() < 30, "{brief}");
    let full = said(&["diagnose", "-v", "--import", &listing]);
    assert!(full.contains("vmstat.compact_stall (it is not in the recording)"), "{full}");
    let imported = pagewise(folder.path(), &["import", &listing, "-o", "a.pgw"]);
    assert!(imported.status.success(), "{imported:?}");
    assert!(said(&["diagnose", "a.pgw"]).contains("vmstat can decide "), "a recording made of it says the same");
}

/// A trouble that lasted a minute of ten is found in that minute, and not in the ones before it.
#[test]
fn a_part_of_a_recording_is_diagnosed_alone() {
    let folder = tempfile::tempdir().unwrap();
    let mut listing = "procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----\n r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st\n".to_owned();
    for second in 0..240 {
        let swapped = if second < 120 { 0 } else { 20_000 };
        listing.push_str(&format!(" 1  3 900000 100000 2000 50000 {swapped} {swapped} 0 0 900 900 20 20 20 40 0\n"));
    }
    std::fs::write(folder.path().join("vmstat.txt"), listing).unwrap();
    let said = |args: &[&str]| {
        let output = pagewise(folder.path(), args);
        (output.status.code(), String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    assert_eq!(said(&["import", "vmstat:vmstat.txt", "-o", "a.pgw"]).0, Some(0));
    let (_, before, _) = said(&["diagnose", "a.pgw", "--until", "1m"]);
    assert!(!before.contains("(swap-thrash)") && before.contains("a part of a.pgw"), "{before}");
    let (_, after, _) = said(&["diagnose", "a.pgw", "--from", "130s"]);
    assert!(after.contains("(swap-thrash)") && after.contains("all the time"), "{after}");
    let wrong = [
        &["diagnose", "a.pgw", "--from", "10h"][..],
        &["diagnose", "--from", "1m"],
        &["diagnose", "a.pgw", "--from", "soon"],
    ];
    for (args, words) in wrong.into_iter().zip(["after the last sample", "name one, FILE.pgw", "write 90s"]) {
        let (code, _, err) = said(args);
        assert!(code == Some(2) && err.contains(words), "{args:?}: {err}");
    }
}

#[test]
fn ctrl_c_ends_a_recording_and_what_was_seen_until_then_is_judged() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::cargo_bin("pagewise").unwrap();
    let observed = command.current_dir(folder.path()).args(["diagnose", "--for", "1h", "--json"]);
    let observed = observed.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_secs(6));
    rustix::process::kill_process(rustix::process::Pid::from_child(&observed), rustix::process::Signal::INT).unwrap();
    let output = observed.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["schema"], "pagewise.findings/3");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("ended by Ctrl-C after "), "{said}");
}

//! A recording whose file is taken away while it grows ends, says what happened and where the data are, and is no success.

use assert_cmd::cargo::CommandCargoExt;
use pagewise_core::recording::Recorded;
use pagewise_host::store::recording::Recording;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// A batch is written every four seconds, and the verb looks every five; a busy host takes longer.
const SOON: Duration = Duration::from_secs(60);

fn record(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::cargo_bin("pagewise").unwrap();
    command.current_dir(folder).args(["record", "-o", "a.pgw"]).args(args).stdin(Stdio::null());
    command
}

/// Records, does that to the file once there is something in it, and waits for the end.
fn taken_away(args: &[&str], take: impl FnOnce(&Path)) -> (tempfile::TempDir, Output) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.pgw");
    let mut command = record(folder.path(), args);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let begun = Instant::now();
    while Recording::open(&file).and_then(|recording| recording.ticks()).unwrap_or(0) == 0 {
        assert!(begun.elapsed() < SOON, "it never began");
        thread::sleep(Duration::from_millis(20));
    }
    take(&file);
    let output = child.wait_with_output().unwrap();
    assert!(begun.elapsed() < SOON, "{args:?}: it recorded into nothing for {:?}", begun.elapsed());
    (folder, output)
}

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn moved_to(file: &Path) -> PathBuf {
    file.with_file_name("kept.pgw")
}

fn deleted() {
    let (folder, output) = taken_away(&["--for", "1h"], |file| fs::remove_file(file).unwrap());
    let told = told(&output);
    assert_eq!(output.status.code(), Some(5), "{told}");
    assert!(told.contains("a.pgw was deleted") && told.contains("(0 bytes)"), "{told}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing stays beside what is gone");
}

fn moved() {
    let (folder, output) = taken_away(&["--for", "1h"], |file| fs::rename(file, moved_to(file)).unwrap());
    let told = told(&output);
    assert_eq!(output.status.code(), Some(5), "{told}");
    let kept = moved_to(&folder.path().join("a.pgw"));
    assert!(told.contains(&format!("the file is now {}", kept.display())), "{told}");
    let recording = Recording::open(&kept).unwrap();
    assert!(recording.ticks().unwrap() > 0 && !recording.is_complete());
    assert!(recording.about("ended").is_some_and(|why| why.contains("was moved")), "{:?}", recording.about("ended"));
    let again = record(folder.path(), &["--for", "1s"]).stderr(Stdio::null()).status().unwrap();
    assert!(again.success(), "its old name is free again");
}

fn cut() {
    let (_folder, output) = taken_away(&["--for", "1h"], |file| {
        File::options().write(true).open(file).unwrap().set_len(0).unwrap();
    });
    let told = told(&output);
    assert_eq!(output.status.code(), Some(5), "{told}");
    assert!(told.contains("a.pgw was cut from ") && told.contains(" to 0 bytes"), "{told}");
}

fn replaced() {
    let (folder, output) = taken_away(&["--for", "1h"], |file| {
        fs::rename(file, moved_to(file)).unwrap();
        fs::write(file, "theirs").unwrap();
    });
    assert_eq!(output.status.code(), Some(5), "{}", told(&output));
    assert!(told(&output).contains("the file is now "), "{}", told(&output));
    assert_eq!(fs::read_to_string(folder.path().join("a.pgw")).unwrap(), "theirs");
}

/// What is recorded must not fail for its recording.
fn of_a_command() {
    let job = ["--hz", "20", "--", "sh", "-c", "sleep 8; exit 7"];
    let (_folder, output) = taken_away(&job, |file| fs::remove_file(file).unwrap());
    assert_eq!(output.status.code(), Some(7), "{}", told(&output));
    assert!(told(&output).contains("the recording ended early: a.pgw was deleted"), "{}", told(&output));
}

#[test]
fn a_recording_that_was_deleted_moved_cut_or_replaced_is_no_success() {
    let runs = [deleted, moved, cut, replaced, of_a_command].map(thread::spawn);
    let failed = runs.into_iter().filter_map(|run| run.join().err()).count();
    assert_eq!(failed, 0, "the messages are above");
}

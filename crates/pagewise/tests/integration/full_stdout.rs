//! Where standard output takes nothing more, no verb claims success; where its reader went away, each ends quietly.

use assert_cmd::cargo::CommandCargoExt;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn pagewise(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::cargo_bin("pagewise").unwrap();
    command.current_dir(folder).args(args).args(["--state-dir", "state"]).stdin(Stdio::null());
    command
}

/// A folder with a recording, a bundle, a table and a plan.
fn inputs() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let recorded = pagewise(folder.path(), &["record", "-o", "a.pgw", "--hz", "20", "--for", "1s"]).output().unwrap();
    assert!(recorded.status.success(), "{}", String::from_utf8_lossy(&recorded.stderr));
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/results/live/healthy.trial");
    let bundle = folder.path().join("healthy.trial");
    fs::create_dir(&bundle).unwrap();
    for entry in fs::read_dir(&from).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, bundle.join(path.file_name().unwrap())).unwrap();
    }
    let rows: String = (0..8).map(|row| format!("{},{}\n", if row % 2 == 0 { "a" } else { "b" }, 10 + row)).collect();
    fs::write(folder.path().join("points.csv"), format!("level,seconds\n{rows}")).unwrap();
    folder
}

/// Every verb that prints what it was asked for, and runs without anything of the host.
const PRINTING: [&[&str]; 24] = [
    &["--help"],
    &["record", "--help"],
    &["--version"],
    &["doctor"],
    &["doctor", "--json"],
    &["show"],
    &["show", "--json"],
    &["changes", "--json"],
    &["diagnose", "a.pgw"],
    &["diagnose", "a.pgw", "--json"],
    &["watch", "a.pgw"],
    &["watch", "a.pgw", "--json"],
    &["watch", "--hz", "20", "-n", "2"],
    &["report", "a.pgw"],
    &["report", "healthy.trial"],
    &["report", "healthy.trial", "--json"],
    &["export", "a.pgw", "--to", "csv"],
    &["export", "a.pgw", "--to", "openmetrics"],
    &["snapshot", "a.pgw", "-o", "copy.pgw", "--json"],
    &["trial", "check", "terasort-thp", "--elsewhere"],
    &["trial", "status", "healthy.trial"],
    &["trial", "analyze", "healthy.trial"],
    &["trial", "verify", "healthy.trial"],
    &["analyze", "points.csv", "--value", "seconds", "--compare", "level=a,b"],
];

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn no_printing_verb_takes_a_full_disk_for_success() {
    let folder = inputs();
    for args in PRINTING {
        let _ = fs::remove_file(folder.path().join("copy.pgw"));
        let works = pagewise(folder.path(), args).output().unwrap();
        assert!(works.status.success() && !works.stdout.is_empty(), "{args:?}: {}", told(&works));
        let _ = fs::remove_file(folder.path().join("copy.pgw"));
        let full = File::options().write(true).open("/dev/full").unwrap();
        let output = pagewise(folder.path(), args).stdout(full).output().unwrap();
        assert_eq!(output.status.code(), Some(3), "{args:?}: {}", told(&output));
        assert!(
            told(&output).contains("write") && told(&output).contains("No space left"),
            "{args:?}: {}",
            told(&output)
        );
    }
}

#[test]
fn a_reader_that_went_away_is_no_failure() {
    let folder = inputs();
    for args in PRINTING {
        let _ = fs::remove_file(folder.path().join("copy.pgw"));
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = pagewise(folder.path(), args).stdout(writer).output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", told(&output));
        assert!(!told(&output).contains("cannot write"), "{args:?}: {}", told(&output));
    }
}

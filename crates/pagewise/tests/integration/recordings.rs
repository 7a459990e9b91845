//! What is said of each committed recording stays what it was: `recordings/KERNEL/SCENARIO.pgw` with the text and the JSON
//! that `diagnose` gives of it beside it. `PAGEWISE_BLESS` writes them.

use assert_cmd::cargo::CommandCargoExt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn recordings() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../recordings");
    let kernels = fs::read_dir(folder).into_iter().flatten().flatten();
    let files = kernels.flat_map(|kernel| fs::read_dir(kernel.path()).into_iter().flatten().flatten());
    let mut files: Vec<PathBuf> = files.map(|file| file.path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "pgw"));
    files.sort();
    files
}

/// In the recording's own folder, so that nothing of this machine is in what it says.
fn diagnose(file: &Path, more: &[&str]) -> String {
    let mut command = Command::cargo_bin("pagewise").unwrap();
    command.current_dir(file.parent().unwrap()).arg("diagnose").arg(file.file_name().unwrap()).args(more);
    let output = command.env("NO_COLOR", "1").stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{}: {}", file.display(), String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn every_committed_recording_is_diagnosed_as_it_was() {
    for file in recordings() {
        for (extension, more) in [("diagnose.txt", &[][..]), ("diagnose.json", &["--json"][..])] {
            let expected = file.with_extension(extension);
            let said = diagnose(&file, more);
            if std::env::var_os("PAGEWISE_BLESS").is_some() {
                fs::write(&expected, &said).unwrap();
            }
            let expected_text = fs::read_to_string(&expected).unwrap_or_else(|e| panic!("{}: {e}", expected.display()));
            assert!(
                said == expected_text,
                "{} differs; PAGEWISE_BLESS=1 writes it again. Now:\n{said}",
                expected.display()
            );
        }
    }
}

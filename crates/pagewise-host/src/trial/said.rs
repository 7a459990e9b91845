//! What a job that failed had said: its last lines in the bundle, a file for each failure.

use crate::process::{Ended, JobEnded};
use crate::store::bundle::Bundle;
use pagewise_core::experiment::point::PlannedPoint;
use std::fs;
use std::path::{Path, PathBuf};

/// The folder inside a bundle. It is made by the first failure.
pub(super) const FOLDER: &str = "failed";

/// How many lines of each output are kept. A JVM that does not start says why in the first of three; an exception has its frames below it.
const LINES: usize = 20;

/// Where last lines go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastLines {
    bundle: PathBuf,
}

impl LastLines {
    /// In the folder of a bundle.
    #[must_use]
    pub fn of(bundle: &Bundle) -> LastLines {
        LastLines { bundle: bundle.path().to_owned() }
    }

    /// In a folder that becomes part of a bundle later.
    pub(super) fn in_folder(bundle: PathBuf) -> LastLines {
        LastLines { bundle }
    }

    /// Keeps what the commands said at last, and gives the file by its path in the bundle; `None` where nothing was said, or nothing can be
    /// kept: a full disk does not change what the failure was.
    pub(super) fn keep(&self, planned: &PlannedPoint, attempt: u32, job: &JobEnded) -> Option<String> {
        let text: String = job.commands.iter().enumerate().map(|(at, ended)| of_command(at + 1, ended)).collect();
        if text.is_empty() {
            return None;
        }
        let file = format!("{FOLDER}/{}-{attempt}.txt", planned.index);
        let written =
            fs::create_dir_all(self.bundle.join(FOLDER)).and_then(|()| fs::write(self.bundle.join(&file), text));
        written
            .inspect_err(|error| tracing::warn!("{file} of {} cannot be written: {error}", Path::display(&self.bundle)))
            .ok()?;
        Some(file)
    }
}

fn of_command(number: usize, ended: &Ended) -> String {
    let streams = [("standard output", &ended.stdout), ("standard error", &ended.stderr)];
    let said = streams.into_iter().filter(|(_, text)| !text.trim().is_empty()).map(|(name, text)| {
        let lines: Vec<&str> = text.lines().collect();
        let last = &lines[lines.len().saturating_sub(LINES)..];
        format!("command {number}, {}, the end of its {name}:\n{}\n\n", ended.status, last.join("\n"))
    });
    said.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::Status;

    #[test]
    fn the_last_lines_of_both_outputs_are_kept_and_of_silence_nothing() {
        let ended = |stdout: &str, stderr: &str| Ended {
            status: Status::Exited(3),
            wall: 0.0,
            user: 0.0,
            system: 0.0,
            minor_faults: 0,
            major_faults: 0,
            voluntary_switches: 0,
            involuntary_switches: 0,
            stdout: stdout.to_owned(),
            stderr: stderr.to_owned(),
        };
        let many: String = (1..=30).map(|line| format!("line {line}\n")).collect();
        let text = of_command(1, &ended(&many, "why\n"));
        assert!(text.starts_with("command 1, exit status 3, the end of its standard output:\nline 11\n"), "{text}");
        assert!(text.contains("line 30\n\ncommand 1, exit status 3, the end of its standard error:\nwhy\n"), "{text}");
        assert_eq!(of_command(1, &ended("", " \n")), "");
    }
}

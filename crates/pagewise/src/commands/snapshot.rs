//! `pagewise snapshot FILE.pgw -o NOW.pgw`: a recording as it is now, as a file of its own.

use crate::failure::Failure;
use crate::global::Global;
use crate::output;
use clap::Args;
use pagewise_host::store::recording::{CopiedState, snapshot};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Copy a recording as it is now, also while it is being recorded
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct SnapshotArgs {
    /// The recording: one that still grows, that is complete, or whose recorder was killed
    #[arg(value_name = "FILE.pgw")]
    recording: PathBuf,
    /// The copy; never overwritten
    #[arg(short, long = "output", value_name = "NOW.pgw")]
    output: PathBuf,
}

const AFTER_HELP: &str = "The recording goes on and notices nothing. What was sampled in the last five seconds may not be \
                          in the copy yet. The copy of a recording whose recorder was killed is closed and says so. What is \
                          damaged in it is copied, too: 'pagewise watch NOW.pgw' reads all samples.\n\n\
                          Example:\n  pagewise record -o host.pgw --flight --size-cap 500M &\n  \
                          pagewise snapshot host.pgw -o now.pgw\n  pagewise report now.pgw -o now.html";

/// What `--json` prints.
#[derive(Serialize)]
struct SnapshotReport<'a> {
    schema: &'static str,
    file: &'a Path,
    of: &'a Path,
    /// `running`, `complete` or `ended`: what the recording was.
    was: &'static str,
    taken: &'a str,
    samples: u64,
    /// When the last sample in it was.
    until: Option<&'a str>,
    bytes: u64,
}

pub(crate) fn run(args: &SnapshotArgs, global: &Global) -> Result<ExitCode, Failure> {
    let taken = snapshot(&args.recording, &args.output)?;
    let (was, words) = match taken.was {
        CopiedState::Running => ("running", "the recording goes on"),
        CopiedState::Complete => ("complete", "the recording was complete"),
        CopiedState::Ended => ("ended", "the recording had ended before its time, and the copy says so"),
    };
    if global.json {
        output::json(&SnapshotReport {
            schema: "pagewise.snapshot/1",
            file: &args.output,
            of: &args.recording,
            was,
            taken: &taken.taken,
            samples: taken.samples,
            until: taken.until.as_deref(),
            bytes: taken.bytes,
        });
        return Ok(ExitCode::SUCCESS);
    }
    output::note(&format!(
        "{} samples{} in {} ({} bytes), copied as they are and not checked; {words}",
        taken.samples,
        taken.until.as_ref().map(|until| format!(" until {until}")).unwrap_or_default(),
        args.output.display(),
        taken.bytes
    ));
    Ok(ExitCode::SUCCESS)
}

//! `pagewise report BUNDLE`: what a trial found, said again from its bundle alone; `pagewise report FILE.pgw`: a recording
//! as one page.

use super::diagnose::diagnosis;
use crate::failure::Failure;
use crate::global::Global;
use crate::output;
use crate::rendering::{self, Format};
use crate::report_file::ReportFile;
use anyhow::anyhow;
use clap::Args;
use pagewise_core::finding::Observed;
use pagewise_core::report::recording::html::FindingInWords;
use pagewise_core::report::recording::{self, View};
use pagewise_host::store::bundle::Bundle;
use pagewise_host::store::recording::{Recording, RecordingError};
use std::fs;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Say again what a trial found, from its bundle; or show a recording as one HTML page
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ReportArgs {
    /// The bundle, such as terasort.trial, or a recording, such as job.pgw
    #[arg(value_name = "BUNDLE|FILE.pgw")]
    what: PathBuf,
    /// Another recording to set beside it: the page compares the two
    #[arg(long, value_name = "FILE.pgw")]
    against: Option<PathBuf>,
    /// How to write it [default: by the ending of --output, else text; a recording is always HTML]
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// Write to this file instead of stdout; nothing is overwritten but an older page of pagewise [default for a
    /// recording on a terminal: its name with .html]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

const EXAMPLES: &str = "Examples:\n  pagewise report terasort.trial\n  pagewise report terasort.trial -o terasort.html\n  \
                        pagewise report terasort.trial --format markdown | mail -s TeraSort team\n  \
                        pagewise report job.pgw -o job.html\n  \
                        pagewise report slow.pgw --against fast.pgw -o both.html";

pub(crate) fn run(args: &ReportArgs, global: &Global) -> Result<ExitCode, Failure> {
    if !args.what.is_dir() || args.against.is_some() {
        return recording_page(args, global);
    }
    let format = args.chosen(global)?;
    let file = args.output.as_deref().map(|file| ReportFile::at(file, &[])).transpose()?;
    let report = rendering::found(&Bundle::open(&args.what)?)?;
    let style = match file {
        Some(_) => pagewise_core::report::Style::default(),
        None => output::style(&global.color),
    };
    let text = rendering::render(&report, format, style)?;
    match &file {
        None => output::data(&text),
        Some(file) => file.write(&text)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// A recording, or two, as one page.
fn recording_page(args: &ReportArgs, global: &Global) -> Result<ExitCode, Failure> {
    // A bundle that is not there is no recording that cannot be JSON.
    fs::metadata(&args.what).map_err(|source| RecordingError::File {
        action: "read",
        path: args.what.clone(),
        source,
    })?;
    if global.json || args.format.is_some_and(|format| format != Format::Html) {
        return Err(Failure::Usage(anyhow!(
            "the report of a recording is an HTML page; leave --json and --format out"
        )));
    }
    let file = args.page_file()?;
    let view = view(&args.what)?;
    let against = args.against.as_deref().map(self::view).transpose()?;
    let mut found = found_in(&args.what, &view)?;
    if let (Some(file), Some(view)) = (&args.against, &against) {
        found.extend(found_in(file, view)?.into_iter().map(|said| FindingInWords { of: 1, ..said }));
    }
    let page = recording::html(&view, against.as_ref(), &found).map_err(|error| Failure::NotPossible(error.into()))?;
    let Some(file) = file else {
        output::data(&page);
        return Ok(ExitCode::SUCCESS);
    };
    file.write(&page)?;
    Ok(ExitCode::SUCCESS)
}

fn found_in(file: &Path, view: &View) -> Result<Vec<FindingInWords>, Failure> {
    let observed = Observed::of(&Recording::open(file)?).map_err(Failure::from)?;
    Ok(recording::said(&diagnosis(&observed, &view.sections.name)))
}

fn view(file: &Path) -> Result<View, Failure> {
    let recording = Recording::open(file)?;
    let name = file.file_name().unwrap_or(file.as_os_str()).to_string_lossy();
    Ok(recording::view(&name, &recording))
}

impl ReportArgs {
    /// Where the page of a recording goes; `None`: to standard output, unless that is a terminal, which has no use for HTML.
    fn page_file(&self) -> Result<Option<ReportFile>, Failure> {
        let inputs: Vec<&Path> = std::iter::once(&self.what).chain(&self.against).map(PathBuf::as_path).collect();
        let file = match &self.output {
            Some(file) => file.clone(),
            None if !io::stdout().is_terminal() => return Ok(None),
            None => PathBuf::from(self.what.file_name().unwrap_or_default()).with_extension("html"),
        };
        ReportFile::at(&file, &inputs).map(Some)
    }

    fn chosen(&self, global: &Global) -> Result<Format, Failure> {
        match (self.format, global.json) {
            (Some(format), true) if format != Format::Json => {
                Err(Failure::Usage(anyhow!("--json and --format ask for two formats; give one of them")))
            }
            (_, true) => Ok(Format::Json),
            (Some(format), false) => Ok(format),
            (None, false) => self.output.as_deref().map_or(Ok(Format::Text), by_ending),
        }
    }
}

fn by_ending(file: &Path) -> Result<Format, Failure> {
    match file.extension().and_then(|ending| ending.to_str()) {
        Some("html" | "htm") => Ok(Format::Html),
        Some("md") => Ok(Format::Markdown),
        Some("json") => Ok(Format::Json),
        Some("txt") => Ok(Format::Text),
        _ => Err(Failure::Usage(anyhow!(
            "the ending of {} does not say a format; use .html, .md, .json or .txt, or give --format",
            file.display()
        ))),
    }
}

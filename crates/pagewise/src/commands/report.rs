//! `pagewise report BUNDLE`: what a trial found, said again from its bundle alone.

use crate::cli::Global;
use crate::failure::Failure;
use crate::output;
use crate::rendering::{self, Format};
use anyhow::anyhow;
use clap::Args;
use pagewise_host::store::bundle::Bundle;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Say again what a trial found, from its bundle alone
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ReportArgs {
    /// The bundle, such as terasort.trial
    bundle: PathBuf,
    /// How to write it [default: by the ending of --output, else text]
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// Write to this file instead of stdout
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

const EXAMPLES: &str = "Examples:\n  pagewise report terasort.trial\n  pagewise report terasort.trial -o terasort.html\n  \
                        pagewise report terasort.trial --format markdown | mail -s TeraSort team";

pub(crate) fn run(args: &ReportArgs, global: &Global) -> Result<ExitCode, Failure> {
    let format = args.chosen(global)?;
    let report = rendering::found(&Bundle::open(&args.bundle)?)?;
    let style = match args.output {
        Some(_) => pagewise_core::report::Style::default(),
        None => output::style(&global.color),
    };
    let text = rendering::render(&report, format, style)?;
    match &args.output {
        None => output::data(&text),
        Some(file) => fs::write(file, text).map_err(|error| cannot_write(file, error))?,
    }
    Ok(ExitCode::SUCCESS)
}

impl ReportArgs {
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

fn cannot_write(file: &Path, error: std::io::Error) -> Failure {
    let what = format!("cannot write the report to {}; give another file with --output", file.display());
    Failure::NotPossible(anyhow::Error::new(error).context(what))
}

//! `pagewise export FILE.pgw --to FORMAT`: a recording in the format of another tool.

use crate::failure::Failure;
use crate::global::Global;
use crate::output;
use crate::stretch::StretchArgs;
use clap::Args;
use pagewise_core::export::Selection;
use pagewise_host::export::{ExportError, FORMATS, Format, FormatContent, export};
use pagewise_host::store::recording::Recording;
use std::path::PathBuf;
use std::process::ExitCode;

/// Write a recording in the format of another tool
#[derive(Args, Debug)]
#[command(after_help = after_help())]
pub(crate) struct ExportArgs {
    /// The recording
    #[arg(value_name = "FILE.pgw")]
    recording: PathBuf,
    #[arg(long = "to", value_name = "FORMAT", help = words())]
    format: Format,
    /// Where to; never overwritten. A folder where the format is one [default: stdout, or a folder named after the recording]
    #[arg(short, long = "output", value_name = "OUT")]
    output: Option<PathBuf>,
    /// Only series that fit, such as 'vmstat.compact_*' or MemFree
    #[arg(long, value_name = "GLOB")]
    series: Vec<String>,
    #[command(flatten)]
    stretch: StretchArgs,
}

const EXAMPLES: &str = "Examples:\n  pagewise export a.pgw --to csv --series 'vmstat.compact_*'\n  \
                        pagewise export a.pgw --to parquet -o a.parquet\n  \
                        pagewise export a.pgw --to pprof -o a.pb.gz --from 60s --until 90s";

/// `csv, parquet or pprof`.
fn words() -> String {
    let words: Vec<&str> = FORMATS.iter().map(|format| format.word).collect();
    let (last, others) = words.split_last().unwrap_or((&"", &[]));
    format!("{} or {last}", others.join(", "))
}

fn after_help() -> String {
    let mut text = String::from("Formats:\n");
    for Format { word, about, holds, .. } in FORMATS {
        let holds = match holds {
            FormatContent::Series => "",
            FormatContent::SeriesAndProcesses => "; processes, too",
            FormatContent::Stacks => "; stacks only",
        };
        text.push_str(&format!("  {word:<12} {about}{holds}\n"));
    }
    format!("{text}\n{EXAMPLES}")
}

pub(crate) fn run(args: &ExportArgs, _global: &Global) -> Result<ExitCode, Failure> {
    let mut selection = Selection { series: args.series.clone(), ..Selection::default() };
    if args.stretch.is_given() {
        let recording = Recording::open(&args.recording).map_err(ExportError::Recording)?;
        let stretch = args.stretch.of(&recording)?;
        (selection.from, selection.until) = (stretch.from, stretch.until);
    }
    let mut stdout = std::io::stdout().lock();
    match export(&args.recording, args.format, &selection, args.output.as_deref(), &mut stdout) {
        // A reader that went away (`| head`) ends us quietly, as it does other tools.
        Err(ExportError::File { source, .. }) if source.kind() == std::io::ErrorKind::BrokenPipe => {
            Ok(ExitCode::SUCCESS)
        }
        Err(error) => Err(error.into()),
        Ok(files) => {
            for file in files {
                output::note(&format!("wrote {}", file.display()));
            }
            Ok(ExitCode::SUCCESS)
        }
    }
}

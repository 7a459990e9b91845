//! `pagewise export FILE.pgw --to FORMAT`: a recording in the format of another tool.

use crate::failure::Failure;
use crate::global::Global;
use crate::output;
use anyhow::anyhow;
use clap::Args;
use pagewise_core::export::Selection;
use pagewise_core::recording::Recorded;
use pagewise_core::unit::Seconds;
use pagewise_host::export::{ExportError, FORMATS, Format, Holds, export};
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
    /// Where to; never overwritten. A folder where the format is one [default: stdout, or the current folder]
    #[arg(short, long = "output", value_name = "OUT")]
    output: Option<PathBuf>,
    /// Only series that fit, such as 'vmstat.compact_*' or MemFree
    #[arg(long, value_name = "GLOB")]
    series: Vec<String>,
    /// From this long after the beginning, such as 90s, or from an instant such as 2026-11-21T17:30:00Z
    #[arg(long, value_name = "TIME")]
    from: Option<String>,
    /// Until then
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
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
            Holds::Series => "",
            Holds::SeriesAndProcesses => "; processes, too",
            Holds::Stacks => "; stacks only",
        };
        text.push_str(&format!("  {word:<12} {about}{holds}\n"));
    }
    format!("{text}\n{EXAMPLES}")
}

pub(crate) fn run(args: &ExportArgs, _global: &Global) -> Result<ExitCode, Failure> {
    let mut selection = Selection { series: args.series.clone(), ..Selection::default() };
    if args.from.is_some() || args.until.is_some() {
        let recording = Recording::open(&args.recording).map_err(ExportError::Recording)?;
        selection.from = args.from.as_deref().map(|text| instant(&recording, "--from", text)).transpose()?;
        selection.until = args.until.as_deref().map(|text| instant(&recording, "--until", text)).transpose()?;
        check_stretch(&recording, &selection)?;
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

/// A heading with nothing below it would pass for a quiet host.
fn check_stretch(recording: &Recording, selection: &Selection) -> Result<(), Failure> {
    let first = recording.blocks().next().transpose().map_err(ExportError::Recording)?;
    let first = first.as_ref().and_then(|block| block.ticks.first()).map(|tick| tick.begin);
    let last = recording.last_tick().map_err(ExportError::Recording)?;
    let (Some(first), Some((last, _))) = (first, last) else { return Ok(()) };
    let length = Seconds(last.saturating_sub(first) as f64 * 1e-9);
    let wrong = |what: &str| Err(Failure::Usage(anyhow!("{what}; its samples span {length}")));
    match (selection.from, selection.until) {
        (Some(from), _) if from > last => wrong("--from is after the last sample of the recording"),
        (_, Some(until)) if until < first => wrong("--until is before the first sample of the recording"),
        (Some(from), Some(until)) if from > until => wrong("--from is after --until"),
        _ => Ok(()),
    }
}

/// A time after the beginning, or an instant of the wall clock, as the recording counts.
fn instant(recording: &Recording, option: &str, text: &str) -> Result<u64, Failure> {
    let wrong = || Failure::Usage(anyhow!("{option} {text}: write 90s, 10m, or 2026-11-21T17:30:00Z"));
    let first = recording.blocks().next().transpose().map_err(ExportError::Recording)?;
    let tick = first.as_ref().and_then(|block| block.ticks.first());
    if let Ok(after) = text.parse::<Seconds>() {
        let nanoseconds = (after.0 * 1e9).min(9e18) as u64;
        return Ok(tick.map_or(0, |tick| tick.begin).saturating_add(nanoseconds));
    }
    let at: jiff::Timestamp = text.parse().map_err(|_| wrong())?;
    let offset = tick.map_or(0, |tick| tick.wall_offset);
    let at = at.as_nanosecond() - i128::from(offset);
    Ok(u64::try_from(at.max(0)).unwrap_or(u64::MAX))
}

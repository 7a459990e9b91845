//! A recording in the format of another tool, as files: core makes the bytes, here they are compressed and written.

mod firefox;

use crate::store::recording::{Recording, RecordingError};
use pagewise_core::export::{Selection, csv, folded, openmetrics, parquet, pprof, processes, source_tables};
use pagewise_core::recording::{Profile, Recorded};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// What it is exported to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A line per value.
    Csv,
    /// A folder with a Parquet file per source.
    Parquet,
    /// OpenMetrics text with timestamps.
    OpenMetrics,
    /// A line per stack.
    Folded,
    /// A gzipped `profile.proto`.
    Pprof,
    /// The Firefox profiler's processed profile.
    Firefox,
}

const FORMATS: [(Format, &str); 6] = [
    (Format::Csv, "csv"),
    (Format::Parquet, "parquet"),
    (Format::OpenMetrics, "openmetrics"),
    (Format::Folded, "folded"),
    (Format::Pprof, "pprof"),
    (Format::Firefox, "firefox"),
];

impl FromStr for Format {
    type Err = String;

    fn from_str(text: &str) -> Result<Format, String> {
        FORMATS.iter().find(|(_, word)| *word == text).map(|(format, _)| *format).ok_or_else(|| {
            let all: Vec<&str> = FORMATS.iter().map(|(_, word)| *word).collect();
            format!("'{text}' is no format; write one of {}", all.join(", "))
        })
    }
}

/// A recording could not be exported.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// There is a file or folder of that name.
    #[error("{} exists already and is never overwritten; give another name with -o, or remove it", .0.display())]
    Exists(PathBuf),
    /// No series has such a name.
    #[error("no series of the recording fits {0}; `pagewise export FILE --to csv` without --series shows their names")]
    NoSeries(String),
    /// Nobody looked where CPUs were.
    #[error("{} has no stacks, and this format holds nothing else; record with --stacks 19, or export to csv", .0.display())]
    NoStacks(PathBuf),
    /// The file system refuses.
    #[error("cannot write {}: {source}", path.display())]
    File {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The recording cannot be read.
    #[error(transparent)]
    Recording(#[from] RecordingError),
}

/// Writes a recording to `to`; `None`: to `out`. Parquet makes a folder there with a file per source. Gives the files.
///
/// # Errors
/// When it exists, the recording has not what the format holds, or anything cannot be read or written.
pub fn export(
    path: &Path,
    format: Format,
    selection: &Selection,
    to: Option<&Path>,
    out: &mut dyn Write,
) -> Result<Vec<PathBuf>, ExportError> {
    let recording = Recording::open(path)?;
    let has_processes = || -> Result<bool, RecordingError> {
        let is_long = matches!(format, Format::Csv | Format::OpenMetrics);
        Ok(is_long && processes::are_taken(selection) && recording.walks()?.is_some())
    };
    let takes_series = selection.series.is_empty() || recording.series().iter().any(|series| selection.takes(series));
    if !takes_series && !has_processes()? {
        return Err(ExportError::NoSeries(selection.series.join(", ")));
    }
    let stacks = || -> Result<Profile, ExportError> {
        recording.profile()?.ok_or_else(|| ExportError::NoStacks(path.to_owned()))
    };
    let failed = |source| ExportError::File { path: to.unwrap_or(Path::new("standard output")).to_owned(), source };
    let bytes = match format {
        Format::Parquet => return tables(&recording, selection, to.unwrap_or(Path::new("."))),
        Format::Csv => csv::write(&recording, selection)?.into_bytes(),
        Format::OpenMetrics => openmetrics::write(&recording, selection)?.into_bytes(),
        Format::Folded => folded::write(&stacks()?, selection).into_bytes(),
        Format::Pprof => gzip(&pprof::encode(&stacks()?, selection, wall_zero(&recording))).map_err(failed)?,
        Format::Firefox => {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            firefox::encode(&stacks()?, selection, wall_zero(&recording), &name).map_err(failed)?
        }
    };
    match to {
        Some(to) => {
            create(to, &bytes)?;
            Ok(vec![to.to_owned()])
        }
        None => {
            out.write_all(&bytes).and_then(|()| out.flush()).map_err(failed)?;
            Ok(Vec::new())
        }
    }
}

/// Nanoseconds since 1970 of the clock's zero; `None` in a recording without a date.
fn wall_zero(recording: &Recording) -> Option<i64> {
    let is_dated = recording.about("import.dated") != Some("no");
    recording.about("anchor_wall_offset_ns").filter(|_| is_dated).and_then(|offset| offset.parse().ok())
}

fn gzip(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes)?;
    encoder.finish()
}

fn create(path: &Path, bytes: &[u8]) -> Result<(), ExportError> {
    let failed = |source: io::Error| match source.kind() {
        io::ErrorKind::AlreadyExists => ExportError::Exists(path.to_owned()),
        _ => ExportError::File { path: path.to_owned(), source },
    };
    let mut file = File::create_new(path).map_err(failed)?;
    file.write_all(bytes).map_err(failed)
}

fn tables(recording: &Recording, selection: &Selection, folder: &Path) -> Result<Vec<PathBuf>, ExportError> {
    /// As good as it gets for plain columns; higher levels gain little (docs/design, on recordings).
    const LEVEL: i32 = 3;
    let about: Vec<(String, String)> =
        recording.meta().iter().map(|(key, value)| (format!("pagewise.{key}"), value.clone())).collect();
    std::fs::create_dir_all(folder).map_err(|source| match source.kind() {
        // A folder may be there, a file may not.
        io::ErrorKind::AlreadyExists => ExportError::Exists(folder.to_owned()),
        _ => ExportError::File { path: folder.to_owned(), source },
    })?;
    let mut written = Vec::new();
    for table in source_tables(recording, selection)?.iter().filter(|table| !table.rows.is_empty()) {
        let plain: String =
            table.source.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).collect();
        let path = folder.join(format!("{plain}.parquet"));
        let bytes = parquet::write(table, &about, &|page| zstd::bulk::compress(page, LEVEL))
            .map_err(|source| ExportError::File { path: path.clone(), source })?;
        create(&path, &bytes)?;
        written.push(path);
    }
    Ok(written)
}

#[cfg(test)]
mod tests;

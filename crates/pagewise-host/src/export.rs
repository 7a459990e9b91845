//! A recording in the format of another tool, as files: each format is a file here and a line in [`FORMATS`]; core makes the
//! bytes, here they are compressed and written.

mod csv;
mod firefox;
mod folded;
mod openmetrics;
mod parquet;
mod pprof;

use crate::store::recording::{Recording, RecordingError};
use pagewise_core::export::{Selection, processes};
use pagewise_core::recording::{Profile, Recorded, WallClock};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Every format, in the order people are told of them.
pub const FORMATS: &[Format] =
    &[csv::FORMAT, parquet::FORMAT, openmetrics::FORMAT, folded::FORMAT, pprof::FORMAT, firefox::FORMAT];

/// What a recording is exported to.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// As `--to` takes it.
    pub word: &'static str,
    /// What it is, in a few words.
    pub about: &'static str,
    /// What it holds of a recording.
    pub holds: FormatContent,
    make: Exporter,
}

/// What a format holds of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FormatContent {
    /// Series.
    Series,
    /// Series, and processes as series of their own.
    SeriesAndProcesses,
    /// Stacks alone.
    Stacks,
}

/// How it is made.
#[derive(Clone, Copy, Debug)]
enum Exporter {
    /// One file.
    File(fn(&ExportSelection<'_>) -> Result<Vec<u8>, ExportError>),
    /// A folder of files, each handed over with its name as soon as it is made: not all of them need to be in memory.
    Folder(fn(&ExportSelection<'_>, KeepFile<'_>) -> Result<(), ExportError>),
}

type KeepFile<'a> = &'a mut dyn FnMut(&str, &[u8]) -> Result<(), ExportError>;

/// What is exported.
struct ExportSelection<'a> {
    path: &'a Path,
    recording: &'a Recording,
    selection: &'a Selection,
}

impl ExportSelection<'_> {
    fn stacks(&self) -> Result<Profile, ExportError> {
        self.recording.profile()?.ok_or_else(|| ExportError::NoStacks(self.path.to_owned()))
    }

    /// Nanoseconds since 1970 of the clock's zero; `None` in a recording without a date.
    fn wall_zero(&self) -> Option<i64> {
        let is_dated = self.recording.wall_clock() == WallClock::Date;
        self.recording.about("anchor_wall_offset_ns").filter(|_| is_dated).and_then(|offset| offset.parse().ok())
    }

    /// Whether the selection takes anything that the format could hold.
    fn has_series(&self, holds: FormatContent) -> Result<bool, RecordingError> {
        let takes_series = self.recording.series().iter().any(|series| self.selection.takes(series));
        let takes_processes = holds == FormatContent::SeriesAndProcesses && processes::are_taken(self.selection);
        let is_everything = self.selection.series.is_empty();
        Ok(is_everything || takes_series || (takes_processes && self.recording.walks()?.is_some()))
    }
}

impl FromStr for Format {
    type Err = String;

    fn from_str(text: &str) -> Result<Format, String> {
        FORMATS.iter().find(|format| format.word == text).copied().ok_or_else(|| {
            let all: Vec<&str> = FORMATS.iter().map(|format| format.word).collect();
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
    /// No stacks were recorded.
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
    /// Its bytes cannot be made.
    #[error("cannot make the export of {}: {source}", path.display())]
    Made {
        /// The recording.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The recording cannot be read.
    #[error(transparent)]
    Recording(#[from] RecordingError),
}

impl ExportError {
    /// Bytes could not be made, in memory: named by where the recording lies.
    fn making(chosen: &ExportSelection<'_>) -> impl Fn(io::Error) -> ExportError {
        let path = chosen.path.to_owned();
        move |source| ExportError::Made { path: path.clone(), source }
    }
}

/// Writes a recording to `to`; `None`: to `out`, or for a format that is a folder to one named after recording and format, in the current
/// folder. Gives the files.
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
    let chosen = ExportSelection { path, recording: &recording, selection };
    if !chosen.has_series(format.holds)? {
        return Err(ExportError::NoSeries(selection.series.join(", ")));
    }
    let make = match format.make {
        Exporter::File(make) => make,
        Exporter::Folder(make) => {
            let named = Path::new(path.file_name().unwrap_or_default()).with_extension(format.word);
            return folder(&chosen, make, to.unwrap_or(&named));
        }
    };
    let bytes = make(&chosen)?;
    match to {
        Some(to) => {
            create(to, &bytes)?;
            Ok(vec![to.to_owned()])
        }
        None => {
            let failed = |source| ExportError::File { path: PathBuf::from("standard output"), source };
            out.write_all(&bytes).and_then(|()| out.flush()).map_err(failed)?;
            Ok(Vec::new())
        }
    }
}

fn folder(
    chosen: &ExportSelection<'_>,
    make: fn(&ExportSelection<'_>, KeepFile<'_>) -> Result<(), ExportError>,
    folder: &Path,
) -> Result<Vec<PathBuf>, ExportError> {
    std::fs::create_dir_all(folder).map_err(|source| match source.kind() {
        // A folder may be there, a file may not.
        io::ErrorKind::AlreadyExists => ExportError::Exists(folder.to_owned()),
        _ => ExportError::File { path: folder.to_owned(), source },
    })?;
    let mut written = Vec::new();
    make(chosen, &mut |name, bytes| {
        let path = folder.join(name);
        create(&path, bytes)?;
        written.push(path);
        Ok(())
    })?;
    Ok(written)
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

#[cfg(test)]
mod tests;

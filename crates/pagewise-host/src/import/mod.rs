//! Files of other tools opened: `KIND:FILE`, a file or a folder to a recording in memory, and from there to a recording file.
//!
//! What the lines mean stands in `pagewise_core::import`. Here lines get a bound, bytes become text, and what is plainly
//! another kind of file is told what to do with it.

mod found;
mod sosreport;
mod text_file;
mod write;

pub use write::write;

use crate::store::recording::RecordingError;
use pagewise_core::import::{self, Assumed, Imported, Kind, Listing, Problem};
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use text_file::TextFile;

/// A file and what wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KindFile {
    /// What wrote it. `None`: that is found from its text; of a folder every text file is taken.
    pub kind: Option<Kind>,
    /// Where it is; a folder for a sosreport, `-` for what comes from standard input.
    pub path: PathBuf,
}

/// The word for a kind that is to be found.
const AUTO: &str = "auto";

impl FromStr for KindFile {
    type Err = String;

    fn from_str(text: &str) -> Result<KindFile, String> {
        let kind_of = |word: &str| match word {
            AUTO => Some(None),
            word => word.parse::<Kind>().ok().map(Some),
        };
        let parts = text.split_once(':').and_then(|(word, path)| Some((kind_of(word)?, path)));
        match parts {
            Some((kind, path)) if !path.is_empty() => Ok(KindFile { kind, path: PathBuf::from(path) }),
            // A word alone is a forgotten file rather than a file of that name.
            None if !text.is_empty() && kind_of(text).is_none() => {
                Ok(KindFile { kind: None, path: PathBuf::from(text) })
            }
            _ => {
                let kinds: Vec<&str> = Kind::all().map(Kind::word).collect();
                Err(format!(
                    "'{text}' is not KIND:FILE, such as collectl:listing.txt, nor a file; kinds are {}, and {AUTO}, which finds it",
                    kinds.join(", ")
                ))
            }
        }
    }
}

/// A file could not be imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The file system refuses.
    #[error("cannot read {}: {source}", path.display())]
    File {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It is not of that kind, or nothing in it was understood.
    #[error("cannot import {} as {kind}: {problem}", path.display())]
    Wrong {
        /// Which file.
        path: PathBuf,
        /// As what.
        kind: Kind,
        /// What is wrong with it.
        problem: Problem,
    },
    /// It is of no kind that is known.
    #[error("cannot import {}: {problem}", path.display())]
    Unknown {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        problem: Problem,
    },
    /// Several files of a folder have the same wrong with them.
    #[error("cannot import {}: {problem}", found::several(folder, names))]
    Several {
        /// Which folder.
        folder: PathBuf,
        /// Its files.
        names: Vec<String>,
        /// What is wrong with them.
        problem: Problem,
    },
    /// None of several could be imported.
    #[error("nothing could be imported: {}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join(" | "))]
    Nothing(Vec<ImportError>),
    /// The recording cannot be written.
    #[error(transparent)]
    Recording(#[from] RecordingError),
}

/// Opens files and lays them on one time line, in memory. What cannot be read is left out, and [`Imported::left_out`] says
/// why.
///
/// # Errors
/// When none of them can be read, or nothing in any is understood.
pub fn open(files: &[KindFile], assumed: &Assumed) -> Result<Imported, ImportError> {
    let mut listings = Vec::with_capacity(files.len());
    let mut left = Vec::new();
    for file in files {
        let named =
            |path: &Path| path.file_name().map_or_else(|| path.display().to_string(), |n| n.to_string_lossy().into());
        match file.kind {
            Some(Kind::Sosreport) => match report(&file.path) {
                Ok(listing) => listings.push((named(&file.path), listing)),
                Err(error) => left.push(error),
            },
            kind if kind.is_some() || !file.path.is_dir() => {
                let read = TextFile { path: &file.path, kind }.read(assumed);
                listings.extend(read.listings.into_iter().map(|listing| (named(&file.path), listing)));
                left.extend(read.left);
            }
            _ => {
                let (read, not) = found::folder(&file.path, assumed);
                listings.extend(read);
                left.extend(not);
            }
        }
    }
    if listings.is_empty() {
        return Err(if left.len() == 1 { left.remove(0) } else { ImportError::Nothing(left) });
    }
    let mut imported = import::merge(listings, assumed);
    for error in left {
        imported.leave_out(error.to_string());
    }
    Ok(imported)
}

fn report(path: &Path) -> Result<Listing, ImportError> {
    std::fs::metadata(path).map_err(|source| ImportError::File { path: path.to_owned(), source })?;
    let wrong = |problem| ImportError::Wrong { path: path.to_owned(), kind: Kind::Sosreport, problem };
    sosreport::read(path).map_err(wrong)
}

fn problem(what: &str, remedy: &str) -> Problem {
    Problem { line: None, what: what.to_owned(), remedy: remedy.to_owned() }
}

#[cfg(test)]
mod tests;

//! A folder of listings: which of its files hold what, as collectors such as OSWatcher keep them.

use super::text_file::TextFile;
use super::{ImportError, Problem, problem, report};
use pagewise_core::import::{Assumed, Listing};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// `archive/oswvmstat/host_vmstat_14.03.01.1200.dat` lies this deep.
const DEEPEST: usize = 3;

/// A week of OSWatcher has a file an hour for each of a dozen tools.
const MOST_FILES: usize = 4096;

/// Whether sos made a folder.
fn is_report(path: &Path) -> bool {
    path.join("sos_commands").is_dir() || path.join("proc/meminfo").is_file() || path.join("proc/vmstat").is_file()
}

/// Every text file of a folder whose kind is found, with its name, and why others were left out.
pub(super) fn folder(path: &Path, assumed: &Assumed) -> (Vec<(String, Listing)>, Vec<ImportError>) {
    let mut files = Vec::new();
    let mut listings = Vec::new();
    let mut left = LeftOutFiles::default();
    walk(path, 0, &mut files, &mut left);
    if files.len() > MOST_FILES {
        files.truncate(MOST_FILES);
        let what = format!("it has more than {MOST_FILES} files; those behind the first were not read");
        let problem = problem(&what, "give its folders one by one");
        left.errors.push(ImportError::Unknown { path: path.to_owned(), problem });
    }
    let is_empty = files.is_empty() && left.errors.is_empty();
    for file in files {
        let below = file.strip_prefix(path).ok().filter(|name| !name.as_os_str().is_empty());
        let own = file.file_name().map_or(file.as_path(), Path::new);
        let name = below.unwrap_or(own).display().to_string();
        if file.is_dir() {
            match report(&file) {
                Ok(listing) => listings.push((name, listing)),
                Err(error) => left.errors.push(error),
            }
            continue;
        }
        let read = TextFile { path: &file, kind: None }.read(assumed);
        listings.extend(read.listings.into_iter().map(|listing| (name.clone(), listing)));
        for error in read.left {
            left.add(error, &name);
        }
    }
    if is_empty {
        let problem = problem("the folder has no file", "give a folder with listings, or a sosreport's");
        left.errors.push(ImportError::Unknown { path: path.to_owned(), problem });
    }
    (listings, left.told(path))
}

/// Files below a folder in the order of their names, and folders that sos made.
fn walk(path: &Path, depth: usize, files: &mut Vec<PathBuf>, left: &mut LeftOutFiles) {
    if is_report(path) {
        files.push(path.to_owned());
        return;
    }
    let entries = match std::fs::read_dir(path) {
        Ok(entries) => entries,
        Err(source) => {
            left.errors.push(ImportError::File { path: path.to_owned(), source });
            return;
        }
    };
    // A folder without end is not read to its end.
    let mut paths: Vec<PathBuf> = entries.flatten().take(16 * MOST_FILES).map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        let is_hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        if is_hidden || files.len() > MOST_FILES {
            continue;
        }
        // Links are followed to files, and not to folders: they may lead back.
        let is_link = path.is_symlink();
        if path.is_file() {
            files.push(path);
        } else if path.is_dir() && !is_link && depth < DEEPEST {
            walk(&path, depth + 1, files, left);
        }
    }
}

/// What was left out. The same wrong with many files is told once.
#[derive(Debug, Default)]
struct LeftOutFiles {
    errors: Vec<ImportError>,
    alike: BTreeMap<String, (Problem, Vec<(String, PathBuf)>)>,
}

impl LeftOutFiles {
    fn add(&mut self, error: ImportError, name: &str) {
        match error {
            ImportError::Unknown { path, problem } => {
                let alike = self.alike.entry(problem.to_string()).or_insert_with(|| (problem, Vec::new()));
                alike.1.push((name.to_owned(), path));
            }
            other => self.errors.push(other),
        }
    }

    fn told(mut self, folder: &Path) -> Vec<ImportError> {
        for (problem, mut files) in self.alike.into_values() {
            self.errors.push(if files.len() == 1 {
                ImportError::Unknown { path: files.remove(0).1, problem }
            } else {
                let names = files.into_iter().map(|(name, _)| name).collect();
                ImportError::Several { folder: folder.to_owned(), names, problem }
            });
        }
        self.errors
    }
}

/// `37 files of archive (a.dat, b.dat, c.dat and 34 more)`.
pub(super) fn several(folder: &Path, names: &[String]) -> String {
    const MOST: usize = 3;
    let first = names.iter().take(MOST).map(String::as_str).collect::<Vec<_>>().join(", ");
    let more = names.len().saturating_sub(MOST);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{} files of {} ({first}{more})", names.len(), folder.display())
}

//! The inputs that are kept in the tree: for each target those that reach something no other does (`fuzz/corpus/`), and
//! those that once broke it (`fuzz/found/`), each by the name that says what it broke.

use std::fs;
use std::path::{Path, PathBuf};

/// Where libFuzzer's part of this lies.
#[must_use]
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz")
}

/// Name and bytes of each input that is kept of a target, in the order of their names.
///
/// # Panics
/// When one cannot be read.
#[must_use]
pub fn kept(target: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let folders = ["corpus", "found"].map(|kind| folder().join(kind).join(target));
    let entries = folders.iter().flat_map(|folder| fs::read_dir(folder).into_iter().flatten().flatten());
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(|path| path.is_file()).collect();
    files.sort();
    let read = |path: PathBuf| {
        let bytes = fs::read(&path).unwrap_or_else(|error| panic!("cannot read {}: {error}", path.display()));
        (path, bytes)
    };
    files.into_iter().map(read).collect()
}

//! Which open files took most of the page cache at the end of a recording.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The key under which a recording keeps them, a line each.
pub const CACHED_FILES: &str = "page_cache.files";

/// An open file with much of it in the page cache.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CachedFile {
    /// Its path. Not safe to print as it is.
    pub path: String,
    /// Bytes of it that were in memory.
    pub bytes: u64,
    /// The name of a process that had it open. Not safe to print as it is.
    pub process: String,
    /// The process's number.
    pub pid: u32,
}

/// Lines of bytes, process, name and path, with a tab between.
#[must_use]
pub fn to_text(files: &[CachedFile]) -> String {
    // The path stands last, and a line is a file: what divides them is no part of a name.
    let plain = |text: &str| text.replace(['\t', '\n'], "?");
    let line =
        |file: &CachedFile| format!("{}\t{}\t{}\t{}", file.bytes, file.pid, plain(&file.process), plain(&file.path));
    files.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// The same read; a line that is none is left out.
#[must_use]
pub fn of_text(text: &str) -> Vec<CachedFile> {
    let file = |line: &str| {
        let mut parts = line.splitn(4, '\t');
        let (bytes, pid) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        let (process, path) = (parts.next()?.to_owned(), parts.next()?.to_owned());
        Some(CachedFile { path, bytes, process, pid })
    };
    text.lines().filter_map(file).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_a_name_cannot_make_a_line_of_its_own() {
        let file =
            |path: &str| CachedFile { bytes: 5 << 30, pid: 7, process: "java".to_owned(), path: path.to_owned() };
        let files = [file("/data/a b"), file("/data/x\n9\t9\tevil\t/etc")];
        let read = of_text(&to_text(&files));
        assert_eq!(read, [file("/data/a b"), file("/data/x?9?9?evil?/etc")]);
        assert!(of_text("x\t1\ta\tb\n\n5\t").is_empty());
    }
}

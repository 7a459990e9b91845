//! A report as a file: whole or not there, and in nobody's place but that of an older page of ours.

use crate::failure::Failure;
use crate::output;
use anyhow::anyhow;
use std::fs::{self, File, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// What each page of ours has in its head.
const MARK: &str = "<meta name=\"generator\" content=\"Pagewise\">";

/// The head of a page is shorter than this.
const HEAD: u64 = 4096;

/// Where a report goes, found fit for it.
#[derive(Debug)]
pub(crate) struct ReportFile {
    path: PathBuf,
    /// An older page is there, which goes.
    has_page: bool,
}

impl ReportFile {
    /// Asked before a report is made, which can take long. `inputs`: what it is made of.
    pub(crate) fn at(path: &Path, inputs: &[&Path]) -> Result<ReportFile, Failure> {
        let refused =
            |why: &str| Err(Failure::Usage(anyhow!("{} {why}; give another file with --output", path.display())));
        let metadata = match fs::symlink_metadata(path) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(ReportFile { path: path.to_owned(), has_page: false });
            }
            Err(error) => return Err(cannot_write(path, error)),
        };
        if metadata.is_symlink() {
            return refused("is a symbolic link, which is not followed");
        }
        let number = |metadata: &fs::Metadata| (metadata.dev(), metadata.ino());
        if inputs.iter().any(|input| fs::metadata(input).is_ok_and(|input| number(&input) == number(&metadata))) {
            return refused("is what the report is made of");
        }
        if !metadata.is_file() || !is_page(path) {
            return refused("exists already and is no page that pagewise wrote, so it is not overwritten");
        }
        Ok(ReportFile { path: path.to_owned(), has_page: true })
    }

    /// Written beside its place, and then given its name.
    pub(crate) fn write(&self, text: &str) -> Result<(), Failure> {
        let failed = |error: io::Error| cannot_write(&self.path, error);
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        // As any new file, less what the umask takes away.
        let mode = Permissions::from_mode(0o666);
        let partial = tempfile::Builder::new().prefix(".pagewise-").permissions(mode).tempfile_in(folder);
        let mut partial = partial.map_err(failed)?;
        partial.write_all(text.as_bytes()).map_err(failed)?;
        let named = if self.has_page { partial.persist(&self.path) } else { partial.persist_noclobber(&self.path) };
        named.map_err(|error| failed(error.error))?;
        let head = text.as_bytes().get(..HEAD as usize).unwrap_or(text.as_bytes());
        let open = if has_mark(head) { "; open it in a browser" } else { "" };
        output::note(&format!("written to {}{open}", self.path.display()));
        Ok(())
    }
}

fn is_page(path: &Path) -> bool {
    let mut head = Vec::new();
    let read = File::open(path).and_then(|file| file.take(HEAD).read_to_end(&mut head));
    read.is_ok() && has_mark(&head)
}

fn has_mark(head: &[u8]) -> bool {
    head.windows(MARK.len()).any(|bytes| bytes == MARK.as_bytes())
}

fn cannot_write(file: &Path, error: io::Error) -> Failure {
    let what = format!("cannot write the report to {}; give another file with --output", file.display());
    Failure::NotPossible(anyhow::Error::new(error).context(what))
}

//! Programs on the search path.

use crate::root::Root;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Where programs are looked for in another host's tree, whose `PATH` is not ours.
const USUAL_FOLDERS: [&str; 6] = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];

/// The first executable file called `name`: on `PATH` here, in the usual folders of another host's tree.
#[must_use]
pub fn find(root: &Root, name: &str) -> Option<PathBuf> {
    folders(root).into_iter().map(|folder| folder.join(name)).find(|path| is_executable(path))
}

fn folders(root: &Root) -> Vec<PathBuf> {
    match std::env::var_os("PATH") {
        Some(path) if root.is_live() => std::env::split_paths(&path).collect(),
        _ => USUAL_FOLDERS.iter().map(|folder| root.path(folder)).collect(),
    }
}

fn is_executable(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

//! `/sys/kernel/mm/transparent_hugepage`: what khugepaged and each size of huge page did. A file holds one number.
//!
//! What can be set there (`enabled`, `defrag`, …) is a tunable and recorded as a setting.

use super::polled::NumberFile;
use crate::root::Root;

const FOLDER: &str = "/sys/kernel/mm/transparent_hugepage";

/// Totals among khugepaged's files; the others are settings.
const KHUGEPAGED: [&str; 2] = ["full_scans", "pages_collapsed"];

/// The files this kernel has: khugepaged's totals and, since 6.10, `hugepages-SIZE/stats/*`.
#[must_use]
pub fn number_files(root: &Root) -> Vec<NumberFile> {
    let khugepaged = KHUGEPAGED.iter().map(|name| NumberFile {
        path: format!("{FOLDER}/khugepaged/{name}"),
        name: format!("khugepaged_{name}"),
        labels: String::new(),
    });
    let mut files: Vec<NumberFile> = khugepaged.filter(|file| root.exists(&file.path)).collect();
    let sizes = root.list(FOLDER).unwrap_or_default();
    for size in sizes.iter().filter_map(|name| name.strip_prefix("hugepages-")) {
        let folder = format!("{FOLDER}/hugepages-{size}/stats");
        for name in root.list(&folder).unwrap_or_default() {
            files.push(NumberFile { path: format!("{folder}/{name}"), name, labels: format!("size={size}") });
        }
    }
    files
}

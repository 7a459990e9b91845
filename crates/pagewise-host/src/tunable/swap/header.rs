//! The header of a swap area: what `mkswap` writes, with a label that says the area is ours.

use crate::root::Root;
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

/// The label of an area Pagewise made.
pub(super) const OURS: &str = "pagewise";

/// The label of a zram area whose device Pagewise added, too.
pub(super) const OURS_ADDED: &str = "pagewise-added";

/// Where the fields stand, and how long the label is (`union swap_header` of `include/linux/swap.h`, 6.12).
const VERSION_AT: usize = 1024;
const LAST_PAGE_AT: usize = 1028;
const UUID_AT: usize = 1036;
const LABEL_AT: usize = 1052;
const LABEL_LENGTH: usize = 16;
const MAGIC: &[u8] = b"SWAPSPACE2";

/// Writes the header into the first page.
pub(super) fn write(root: &Root, area: &File, bytes: u64, label: &str) -> io::Result<()> {
    let page_size = rustix::param::page_size();
    let pages = u32::try_from(bytes / page_size as u64).unwrap_or(u32::MAX);
    let mut page = vec![0; page_size];
    page[VERSION_AT..VERSION_AT + 4].copy_from_slice(&1u32.to_ne_bytes());
    page[LAST_PAGE_AT..LAST_PAGE_AT + 4].copy_from_slice(&pages.saturating_sub(1).to_ne_bytes());
    page[UUID_AT..UUID_AT + 16].copy_from_slice(&uuid(root));
    let label = &label.as_bytes()[..label.len().min(LABEL_LENGTH)];
    page[LABEL_AT..LABEL_AT + label.len()].copy_from_slice(label);
    page[page_size - MAGIC.len()..].copy_from_slice(MAGIC);
    area.write_all_at(&page, 0)
}

/// A random one from the kernel, so that no two areas are taken for one; zeros where it has none to give.
fn uuid(root: &Root) -> [u8; 16] {
    let text = root.read("/proc/sys/kernel/random/uuid").unwrap_or_default();
    let digits: String = text.chars().filter(char::is_ascii_hexdigit).collect();
    u128::from_str_radix(&digits, 16).unwrap_or(0).to_be_bytes()
}

/// The label of a swap area; `None` when it is none, or cannot be read.
pub(super) fn label(path: &Path) -> Option<String> {
    let mut page = vec![0; rustix::param::page_size()];
    // The path can be of another host's tree, and a pipe there must not be waited for.
    let opened = File::options().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(path);
    opened.and_then(|area| area.read_exact_at(&mut page, 0)).ok()?;
    if !page.ends_with(MAGIC) {
        return None;
    }
    let label = &page[LABEL_AT..LABEL_AT + LABEL_LENGTH];
    let end = label.iter().position(|byte| *byte == 0).unwrap_or(LABEL_LENGTH);
    Some(String::from_utf8_lossy(&label[..end]).into_owned())
}

/// Whether Pagewise made it.
pub(super) fn is_ours(path: &Path) -> bool {
    label(path).is_some_and(|label| label == OURS || label == OURS_ADDED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_read_back_and_a_file_without_a_header_has_none() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("area");
        let file = File::create_new(&path).expect("a file");
        file.set_len(1 << 20).expect("a size");
        assert_eq!(label(&path), None);
        write(&Root::live(), &file, 1 << 20, OURS_ADDED).expect("a header");
        assert_eq!(label(&path).as_deref(), Some(OURS_ADDED));
        assert!(is_ours(&path));
    }
}

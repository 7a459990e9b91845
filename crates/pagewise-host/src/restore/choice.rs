//! Which method suits a place, and why.

use super::reflink;
use crate::facts::privilege::Privilege;
use crate::root::Root;
use pagewise_core::experiment::data::Restore;
use std::path::Path;

/// `EXT4_SUPER_MAGIC`, shared by ext2 and ext3 (`include/uapi/linux/magic.h`, 6.12).
const EXT4: u64 = 0xEF53;

/// The method for copies below `folder`, and the reason in words. Tries out whether blocks can be shared there with two
/// small files, which it removes.
#[must_use]
pub fn auto_for(folder: &Path) -> (Restore, String) {
    let existing = folder.ancestors().find(|ancestor| ancestor.is_dir()).unwrap_or(Path::new("/"));
    let shown = existing.display();
    if reflink::can_share(existing).is_ok() {
        return (
            Restore::Reflink,
            format!("files in {shown} can share their blocks, so a restore costs next to nothing"),
        );
    }
    let may_mount = Privilege::of_self(&Root::live()).is_some_and(|privilege| privilege.has("CAP_SYS_ADMIN"));
    if !may_mount {
        let why = format!("files in {shown} cannot share blocks, and without root nothing can be mounted");
        return (Restore::Copy, why);
    }
    match rustix::fs::statfs(existing) {
        Ok(stat) if stat.f_type as u64 == EXT4 => {
            (Restore::Image, format!("{shown} is on ext4, where an image keeps its blocks from point to point"))
        }
        _ => (Restore::Copy, format!("{shown} is neither on ext4 nor on a file system whose files can share blocks")),
    }
}

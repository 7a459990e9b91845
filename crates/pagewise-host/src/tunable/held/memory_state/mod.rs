//! Memory that is broken up on purpose, so that policies can be compared as on a host that has been up for weeks: a process keeps a
//! few pages in the middle of nearly every free huge page.

mod ager;
mod gather;
mod huge_file;

use super::super::TunableError;
use super::super::resolve::may_write;
use super::process::Holding;
use super::{Holder, unsafe_now};
use crate::root::Root;
use crate::source::{buddyinfo, meminfo};
use pagewise_core::tunable::Tunable;
use pagewise_core::tunable::memory_state::{MemoryState, NAME, parse};
use std::io;

/// Writing 3 drops clean page cache, directory entries and inodes.
const DROP_CACHES: &str = "/proc/sys/vm/drop_caches";

/// Writing 1 compacts every zone.
const COMPACT: &str = "/proc/sys/vm/compact_memory";

/// How far below its figure the index may be found before the state counts as lost. Free memory comes and goes with every
/// process; the gate grants available memory the same share (our own figure).
const HOLDS_WITHIN: f64 = 0.05;

/// What must stay available: the larger of 512 MiB and this share of memory (our own figures).
const RESERVE: u64 = 512 << 20;
const RESERVE_SHARE: f64 = 0.05;

/// Keeps memory broken up.
pub(super) struct Ager;

impl Holder for Ager {
    fn name(&self) -> &'static str {
        NAME
    }

    fn can_be_had(&self, root: &Root, tunable: &Tunable, value: &str) -> Result<(), TunableError> {
        may_write(root, tunable, DROP_CACHES)?;
        may_write(root, tunable, COMPACT)?;
        if parse(value) == Ok(MemoryState::Fresh) {
            return Ok(());
        }
        buddyinfo::unusable_index(root).map_err(missing)?;
        ager::can_be_had().map_err(|error| not_here(value, error))?;
        has_reserve(root).map_err(|why| unsafe_now(tunable, value, why))
    }

    fn hold(&self, value: &str, holding: &mut Holding) -> Result<(), String> {
        let pins = ager::age(&Root::live(), parse(value)?.index(), &|| holding.is_awaited())?;
        tracing::debug!("{} huge pages hold a pinned page", pins.blocks);
        holding.in_force()?;
        while !holding.is_over_within(None) {
            // Waking up without a reason is allowed, ending is not.
            std::hint::black_box(&pins);
        }
        Ok(())
    }

    fn released(&self, root: &Root) {
        gather::gather(root);
    }

    fn broken_promise(&self, root: &Root, value: &str) -> Option<String> {
        broken_promise(root, value)
    }

    fn not_yet(&self, root: &Root, value: &str) -> Option<String> {
        not_yet(root, value)
    }

    fn shell_after(&self) -> Option<String> {
        Some(format!("echo 1 > {COMPACT}"))
    }
}

fn broken_promise(root: &Root, value: &str) -> Option<String> {
    let promised = parse(value).ok()?.index();
    if promised == 0.0 {
        return None;
    }
    match buddyinfo::unusable_index(root) {
        // A hair's breadth of rounding is no loss.
        Ok(now) if now >= promised - HOLDS_WITHIN - 1e-9 => None,
        Ok(now) => Some(format!("aged, but with an order-9 unusable index of {:.1} %", now * 100.0)),
        Err(why) => Some(why),
    }
}

/// Fresh memory can give at least this share of its free pages as huge pages (our own figure).
const FRESH_AT_MOST: f64 = 0.5;

/// Why memory is not fresh yet: after an undo of `aged`, what waits in per-CPU lists comes back within half a minute, and a run
/// before that would be one on half-aged memory. Compacts what came back. `None` for any other value, and once it is fresh.
fn not_yet(root: &Root, value: &str) -> Option<String> {
    if parse(value).ok()? != MemoryState::Fresh {
        return None;
    }
    let now = buddyinfo::unusable_index(root).ok().filter(|now| *now > FRESH_AT_MOST)?;
    if root.is_live() {
        gather::gather(root);
    }
    Some(format!(
        "memory is not fresh: its order-9 unusable index is {:.1} %, and fresh memory has {:.0} % or less",
        now * 100.0,
        FRESH_AT_MOST * 100.0
    ))
}

fn has_reserve(root: &Root) -> Result<(), String> {
    let memory = meminfo::read(root).map_err(|error| error.to_string())?;
    let available = meminfo::available(&memory).ok_or("/proc/meminfo does not tell what is available")?;
    let total = memory.get("MemTotal").copied().ok_or("/proc/meminfo does not tell MemTotal")?;
    let reserve = RESERVE.max((total as f64 * RESERVE_SHARE) as u64);
    if available > reserve {
        return Ok(());
    }
    Err(format!(
        "{} MiB are available and {} MiB are to stay so; end what takes memory and try again",
        available >> 20,
        reserve >> 20
    ))
}

fn missing(why: String) -> TunableError {
    TunableError::Missing { tunable: NAME.to_owned(), why }
}

fn refused(value: &str, action: &str, source: io::Error) -> TunableError {
    TunableError::Refused {
        tunable: NAME.to_owned(),
        value: value.to_owned(),
        action: action.to_owned(),
        source,
        hint: "",
    }
}

fn not_here(value: &str, source: io::Error) -> TunableError {
    match source.raw_os_error() {
        Some(libc::ENOSYS) => missing("it needs fsopen(2), which came with kernel 5.2".to_owned()),
        Some(libc::EINVAL) => missing(
            "it needs a tmpfs with huge pages of 2 MiB (CONFIG_TRANSPARENT_HUGEPAGE, base pages of 4 KiB)".to_owned(),
        ),
        Some(libc::EPERM | libc::EACCES) => TunableError::NotPermitted {
            tunable: NAME.to_owned(),
            action: "mount",
            path: "tmpfs".into(),
            source,
            remedy: "run as root, in a container with CAP_SYS_ADMIN",
        },
        _ => refused(value, "make a tmpfs with huge pages", source),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(usable_blocks: u64) -> (tempfile::TempDir, Root) {
        let tree = tempfile::tempdir().expect("a temporary folder");
        std::fs::create_dir_all(tree.path().join("proc")).expect("a folder");
        // 512 pages for each block that a huge page could use, in 100 blocks' worth of free pages.
        let pages = (100 - usable_blocks) * 512;
        let text = format!("Node 0, zone   Normal {pages} 0 0 0 0 0 0 0 0 {usable_blocks} 0\n");
        std::fs::write(tree.path().join("proc/buddyinfo"), text).expect("a file");
        let root = Root::at(tree.path());
        (tree, root)
    }

    #[test]
    fn memory_is_fresh_once_half_of_what_is_free_makes_huge_pages() {
        let tree = tempfile::tempdir().unwrap();
        let root = Root::at(tree.path());
        std::fs::create_dir_all(tree.path().join("proc")).unwrap();
        for (huge, is_fresh) in [(1, true), (0, false)] {
            let text = format!("Node 0, zone Normal 512 0 0 0 0 0 0 0 0 {huge}\n");
            std::fs::write(tree.path().join("proc/buddyinfo"), text).unwrap();
            assert_eq!(not_yet(&root, "fresh").is_none(), is_fresh);
            assert_eq!(not_yet(&root, "aged(90%)"), None);
        }
    }

    #[test]
    fn an_index_that_fell_below_the_figure_breaks_the_promise() {
        for (usable, value, holds) in [
            (10, "aged(90%)", true),
            (15, "aged(90%)", true),
            (16, "aged(90%)", false),
            (100, "aged(5%)", true),
            (100, "fresh", true),
        ] {
            let (_tree, root) = host(usable);
            let told = broken_promise(&root, value);
            assert_eq!(told.is_none(), holds, "{usable} under {value}: {told:?}");
        }
        let (_tree, root) = host(30);
        let told = broken_promise(&root, "aged(90%)").expect("broken");
        assert!(told.contains("70.0 %"), "{told}");
    }

    #[test]
    fn an_index_that_cannot_be_read_is_no_promise_kept() {
        let tree = tempfile::tempdir().expect("a temporary folder");
        let told = broken_promise(&Root::at(tree.path()), "aged(90%)").expect("unknown");
        assert!(told.contains("buddyinfo"), "{told}");
    }
}

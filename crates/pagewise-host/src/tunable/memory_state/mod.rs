//! Memory that is broken up on purpose, so that policies can be compared as on a host that has been up for weeks.
//!
//! A process of ours, the holder, keeps a few pages in the middle of nearly every free huge page. Its command line says
//! what it was asked for, its name how far it is; so the state is found from the process table alone, by whoever has to
//! undo it. Undoing is ending that process.

mod ager;
mod gather;
mod holder;
mod huge_file;

use super::TunableError;
use crate::root::Root;
use crate::source::{buddyinfo, meminfo};
use pagewise_core::tunable::memory_state::{MemoryState, NAME, parse};
use pagewise_core::tunable::{Grammar, ValueError};
use std::io;

pub use holder::{VERB, hold};

/// Writing 3 drops clean page cache, directory entries and inodes.
pub(super) const DROP_CACHES: &str = "/proc/sys/vm/drop_caches";

/// Writing 1 compacts every zone.
pub(super) const COMPACT: &str = "/proc/sys/vm/compact_memory";

/// How far below its figure the index may be found before the state counts as lost. Free memory comes and goes with every
/// process; the gate grants available memory the same share (our own figure).
pub const HOLDS_WITHIN: f64 = 0.05;

/// What must stay available: the larger of 512 MiB and this share of memory (our own figures).
const RESERVE: u64 = 512 << 20;
const RESERVE_SHARE: f64 = 0.05;

pub(super) fn read(root: &Root) -> Result<String, TunableError> {
    if !root.is_live() {
        return Err(missing("a captured tree does not say which process held memory".to_owned()));
    }
    Ok(holder::aged().map_or(MemoryState::Fresh, |(_, state)| state).to_string())
}

/// What can be known before anything is touched.
pub(super) fn resolve(root: &Root, value: &str) -> Result<(), TunableError> {
    read(root)?;
    if state(value)? == MemoryState::Fresh {
        return Ok(());
    }
    buddyinfo::unusable_index(root).map_err(missing)?;
    ager::can_be_had().map_err(|error| not_here(value, error))?;
    has_reserve(root).map_err(|why| unsafe_now(value, why))
}

pub(super) fn write(root: &Root, value: &str) -> Result<(), TunableError> {
    if !root.is_live() {
        return Err(unsafe_now(value, "this is another host's captured tree; leave --root out".to_owned()));
    }
    holder::end_all().map_err(|source| refused(value, "end the process that holds the pieces", source))?;
    match state(value)? {
        MemoryState::Fresh => {
            gather::gather(root);
            Ok(())
        }
        wanted @ MemoryState::Aged(_) => holder::start(wanted).map_err(|why| unsafe_now(value, why)),
    }
}

/// Ends what a killed process left half made: a holder that was still breaking memory up.
pub(super) fn sweep(root: &Root) {
    if root.is_live()
        && let Err(error) = holder::end_unfinished()
    {
        tracing::warn!("a process that was ageing memory stays: {error}");
    }
}

pub(super) fn broken_promise(root: &Root, value: &str) -> Option<String> {
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
pub(super) fn not_yet(root: &Root, value: &str) -> Option<String> {
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

pub(super) fn shell_line(value: &str) -> String {
    match parse(value) {
        Ok(MemoryState::Fresh) => {
            format!("kill $(pgrep -x {}) 2>/dev/null; echo 1 > {COMPACT}", holder::AGED)
        }
        _ => format!("# {NAME}: a process has to break memory up and hold it; use: pagewise set '{NAME}={value}'"),
    }
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

fn state(value: &str) -> Result<MemoryState, TunableError> {
    parse(value)
        .map_err(|why| TunableError::value(NAME, value, ValueError { why, allowed: Grammar::MemoryState.allowed() }))
}

fn missing(why: String) -> TunableError {
    TunableError::Missing { tunable: NAME.to_owned(), why }
}

fn unsafe_now(value: &str, why: String) -> TunableError {
    TunableError::Unsafe { tunable: NAME.to_owned(), value: value.to_owned(), why }
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

    #[test]
    fn a_captured_tree_is_neither_fresh_nor_aged() {
        let (_tree, root) = host(10);
        assert!(read(&root).is_err_and(|error| error.is_missing()));
        assert!(write(&root, "fresh").is_err() && write(&root, "aged(90%)").is_err());
    }
}

//! Moves free memory together again: what waits in per-CPU lists goes back to the zones, then the kernel compacts.
//!
//! A page in a per-CPU list is free, but its neighbours cannot join it to a larger block. Splitting a huge page leaves 16
//! of its pages there, and the lists may grow to an eighth of memory (`zone_highsize`, `mm/page_alloc.c`, 6.18); the
//! kernel takes them back within half a minute. No file asks for it, so the lists are emptied by use, on each CPU: memory
//! is taken in pieces of 1 MiB and given back in pieces of at most 8 pages, which is what these lists take. A list that is
//! full gives those to the zone that have waited longest. What is left in it then are neighbours from a few huge pages.
//! Single pages would not do: they would be taken from the smallest free pieces, which lie scattered over all of memory.

use super::COMPACT;
use super::huge_file::{HUGE_PAGES, HugeFile};
use crate::root::Root;
use crate::source::zoneinfo::{self, CpuLists};
use rustix::thread::CpuSet;
use std::collections::BTreeMap;
use std::io;
use std::thread;

/// Largest block that goes through the per-CPU lists, in pages: 2 to the power `PAGE_ALLOC_COSTLY_ORDER`.
const LARGEST_LISTED: u64 = 8;

/// A list shorter than this keeps at most this many huge pages apart, and most of its pages lie side by side (our own
/// figure).
const WORTH_IT: u64 = 512;

/// Pages given back at a time: half a huge page.
const AT_ONCE: u64 = HUGE_PAGES / 2;

/// At most 1 GiB passes through one CPU's lists, so that an undo stays short (our own figure).
const MOST: u64 = 1024;

pub(super) fn gather(root: &Root) {
    empty_lists(root);
    // Without the right to ask for it, memory is free all the same.
    if let Err(error) = root.write(COMPACT, "1") {
        tracing::debug!("memory was not compacted: {error}");
    }
}

/// How many times push out what waits in a list: as many pages as are there and as it may keep.
fn rounds(list: CpuLists) -> u64 {
    if list.count < WORTH_IT {
        return 0;
    }
    list.count.saturating_add(list.high).div_ceil(AT_ONCE).min(MOST)
}

fn empty_lists(root: &Root) {
    let Ok(lists) = zoneinfo::cpu_lists(root) else { return };
    // In a thread of its own: which CPU it runs on is nobody else's business, and ends with it.
    let outcome = thread::spawn(move || carry_out(&lists)).join();
    if !matches!(outcome, Ok(Ok(()))) {
        tracing::debug!("per-CPU lists were not emptied: {outcome:?}");
    }
}

fn carry_out(lists: &BTreeMap<usize, CpuLists>) -> io::Result<()> {
    let allowed = rustix::thread::sched_getaffinity(None)?;
    let file = HugeFile::half()?;
    for (cpu, list) in lists.iter().filter(|(cpu, _)| **cpu < CpuSet::MAX_CPU && allowed.is_set(**cpu)) {
        let rounds = rounds(*list);
        if rounds == 0 {
            continue;
        }
        let mut one = CpuSet::new();
        one.set(*cpu);
        rustix::thread::sched_setaffinity(None, &one)?;
        for _ in 0..rounds {
            give_back_in_small_pieces(&file)?;
        }
    }
    Ok(())
}

fn give_back_in_small_pieces(file: &HugeFile) -> io::Result<()> {
    file.take()?;
    // A hole splits what is around it down to one page; one in every stretch of 16 pages leaves none above 8.
    for hole in (0..AT_ONCE).step_by(2 * LARGEST_LISTED as usize) {
        file.punch(hole)?;
    }
    file.give_back()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_pushed_out_whole_and_a_short_one_left_alone() {
        assert_eq!(rounds(CpuLists { count: 5000, high: 9000 }), 55);
        assert_eq!(rounds(CpuLists { count: 100, high: 9000 }), 0);
        assert_eq!(rounds(CpuLists { count: u64::MAX, high: 1 }), MOST);
    }
}

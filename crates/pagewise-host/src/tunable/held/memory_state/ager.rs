//! Breaks free memory up: a huge page is taken, some pages in it are pinned, the rest is given back. What comes back can
//! never be a huge page again as long as the pin holds.
//!
//! A page in a pipe is pinned: neither compaction nor reclaim can move it, as with the kernel's own objects that break up a
//! host in the course of weeks.
//! Anonymous pages would be moved together again by the first compaction, and the state would be gone half-way through a
//! run. No more than one huge page is held beside the pins at any time, so memory cannot run short by this.

use super::gather::gather;
use super::huge_file::{HUGE_PAGES, HugeFile, PAGE};
use super::{DROP_CACHES, has_reserve};
use crate::root::Root;
use crate::source::buddyinfo::{self, NodeFree};
use rustix::fd::OwnedFd;
use rustix::pipe::PipeFlags;
use std::io;
use std::time::Duration;

/// Size of a pinned piece in pages, where the kernel leaves it whole. Pieces of more than 8 pages go straight back to the
/// zone when they are freed; smaller ones wait in per-CPU lists (`pcp_allowed_order`, `mm/page_alloc.c`, 6.18).
const PIECE: u64 = 16;

/// Huge pages taken before `/proc/buddyinfo` is read again.
const BATCH: u64 = 256;

/// Batches in a row that may bring less than half of what they took: then what is counted as free is not for us.
const FUTILE: u32 = 3;

/// Capacity of one pipe: the highest that every kernel grants without a special right (`fs.pipe-max-size`).
const PIPE_BYTES: usize = 1 << 20;

/// How often, and how long apart, a state that was reached is checked before it counts: pages in per-CPU lists come back
/// to the zones within a second or two (`vm.stat_interval`), and with them huge pages.
const CHECKS: u32 = 3;
const BETWEEN_CHECKS: Duration = Duration::from_millis(300);

/// What keeps memory apart. Dropping it gives everything back.
#[derive(Debug, Default)]
pub(super) struct Pins {
    pipes: Vec<OwnedFd>,
    /// Huge pages that hold a pin.
    pub(super) blocks: u64,
}

/// Whether this kernel lets us take huge pages. Takes none.
pub(super) fn can_be_had() -> io::Result<()> {
    HugeFile::whole(None).map(drop)
}

/// Breaks memory up until the index is at least `figure` on every node. `go_on` is asked between batches.
///
/// # Errors
/// In words, with the index that was reached.
pub(super) fn age(root: &Root, figure: f64, go_on: &dyn Fn() -> bool) -> Result<Pins, String> {
    settle(root);
    let mut pins = Pins::default();
    for check in 0..CHECKS {
        if check > 0 {
            std::thread::sleep(BETWEEN_CHECKS);
        }
        let nodes = free(root)?;
        for node in &nodes {
            break_up(root, node.node, nodes.len() > 1, aim(figure), &mut pins, go_on)?;
        }
    }
    let reached = buddyinfo::lowest_unusable(&free(root)?).unwrap_or(0.0);
    if reached >= figure {
        return Ok(pins);
    }
    Err(format!(
        "only {:.1} % of free memory could be broken up; the rest is kept by the kernel or for other nodes, or \
         thp.shmem_enabled is 'deny'",
        reached * 100.0
    ))
}

/// The same start for every ageing: what can be dropped is dropped, what can be moved is moved together. Otherwise memory
/// that is broken up now by pages that can be moved would count, and the first compaction would undo it.
fn settle(root: &Root) {
    rustix::fs::sync();
    if let Err(error) = root.write(DROP_CACHES, "3") {
        tracing::debug!("the page cache was not dropped: {error}");
    }
    gather(root);
}

/// Half-way between the figure and everything: some of what is broken up now comes together again.
fn aim(figure: f64) -> f64 {
    f64::midpoint(figure, 1.0)
}

/// How many huge pages must still be broken up to reach the index: each turns its 512 usable pages into unusable ones.
fn to_break(node: NodeFree, index: f64) -> u64 {
    let may_stay = ((1.0 - index) * node.free as f64) as u64;
    node.usable.saturating_sub(may_stay).div_ceil(HUGE_PAGES)
}

fn free(root: &Root) -> Result<Vec<NodeFree>, String> {
    Ok(buddyinfo::nodes(&buddyinfo::read(root).map_err(|error| error.to_string())?))
}

fn break_up(
    root: &Root,
    node: u32,
    is_one_of_several: bool,
    index: f64,
    pins: &mut Pins,
    go_on: &dyn Fn() -> bool,
) -> Result<(), String> {
    let file = HugeFile::whole(is_one_of_several.then_some(node))
        .map_err(|error| format!("no file of huge pages can be made: {error}"))?;
    let mut futile = 0;
    let mut pipe: Option<Pipe> = None;
    loop {
        let Some(before) = free(root)?.into_iter().find(|free| free.node == node) else { return Ok(()) };
        let batch = to_break(before, index).min(BATCH);
        if batch == 0 || futile == FUTILE {
            return Ok(());
        }
        has_reserve(root)?;
        if !go_on() {
            return Err("whoever asked for it is gone".to_owned());
        }
        for _ in 0..batch {
            break_one(&file, &mut pipe, pins).map_err(|error| format!("cannot pin a page: {error}"))?;
        }
        let after = free(root)?.into_iter().find(|free| free.node == node);
        let after = after.unwrap_or(NodeFree { node, free: 0, usable: 0 });
        futile = if is_futile(before, after, batch) { futile + 1 } else { 0 };
    }
}

/// Whether a batch brought less than half of what it took. Memory that somebody gave back meanwhile, such as a large process that
/// ended, hides what was broken up and is added to it.
fn is_futile(before: NodeFree, after: NodeFree, batch: u64) -> bool {
    let given_back = after.free.saturating_sub(before.free);
    let broken = (before.usable + given_back).saturating_sub(after.usable);
    broken * 2 < batch * HUGE_PAGES
}

/// A pipe that still has room.
struct Pipe {
    input: OwnedFd,
    room: u64,
}

fn break_one(file: &HugeFile, pipe: &mut Option<Pipe>, pins: &mut Pins) -> io::Result<()> {
    let open = match pipe.take() {
        Some(open) if open.room > 0 => open,
        _ => {
            let (output, input) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
            let bytes = rustix::pipe::fcntl_setpipe_size(&input, PIPE_BYTES).unwrap_or(0);
            // A pipe as it was made holds 16 pages.
            let room = (bytes as u64 / PAGE).max(16);
            pins.pipes.push(output);
            Pipe { input, room }
        }
    };
    let open = pipe.insert(open);
    file.take()?;
    let piece = piece_for(pins.blocks);
    // The piece next to the hole keeps its size.
    file.punch(piece ^ PIECE)?;
    file.pin(piece, &open.input)?;
    open.room -= 1;
    file.give_back()?;
    pins.blocks += 1;
    Ok(())
}

/// The first page of the piece that is pinned in the n-th huge page: not the same in each, so that no size of smaller huge
/// pages is spared. 11 has no factor in common with the number of pieces, so each comes up in turn.
fn piece_for(n: u64) -> u64 {
    const PIECES: u64 = HUGE_PAGES / PIECE;
    (n % PIECES * 11) % PIECES * PIECE
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn as_many_huge_pages_are_broken_up_as_the_index_asks_for() {
        let node = NodeFree { node: 0, free: 100 * 512, usable: 100 * 512 };
        assert_eq!(to_break(node, 0.75), 75);
        assert_eq!(to_break(NodeFree { usable: 25 * 512, ..node }, 0.75), 0);
        assert_eq!(to_break(NodeFree { usable: 25 * 512 + 1, ..node }, 0.75), 1);
        assert_eq!(to_break(NodeFree { usable: 0, ..node }, 0.99), 0);
    }

    #[test]
    fn memory_that_somebody_gives_back_meanwhile_makes_no_batch_futile() {
        let node = |free, usable| NodeFree { node: 0, free: free * HUGE_PAGES, usable: usable * HUGE_PAGES };
        let before = node(1_000, 800);
        assert!(!is_futile(before, node(990, 544), 256));
        assert!(is_futile(before, node(990, 790), 256));
        assert!(!is_futile(before, node(1_490, 1_044), 256), "500 came back whole, 256 were broken up");
    }

    #[test]
    fn what_is_aimed_at_lies_above_the_figure_and_below_everything() {
        for percent in 1..=99 {
            let figure = f64::from(percent) / 100.0;
            assert!(figure < aim(figure) && aim(figure) < 1.0, "{percent}");
        }
    }

    #[test]
    fn the_pinned_piece_and_the_hole_beside_it_lie_inside_and_every_place_comes_up() {
        let places: BTreeSet<u64> = (0..32).map(piece_for).collect();
        assert_eq!(places.len(), 32);
        assert!(places.iter().all(|piece| piece + PIECE <= 512 && (piece ^ PIECE) < 512 && piece % PIECE == 0));
    }
}

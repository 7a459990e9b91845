//! Touches a fresh host's memory once. Some virtual machines bring pages in only when they are first used
//! (`deferred_init=lazy`, unaccepted memory): the first runs would pay for that, and zone sizes and watermarks would
//! move under the comparison.

use crate::process::{Interrupt, Interrupted};
use crate::progress::Progress;
use crate::root::Root;
use crate::source::{meminfo, zoneinfo};
use crate::sys::mapping::{Mapping, PageAdvice};

/// Below this managed share of what exists, pages are still to come. A settled host manages more than 97 %: what is
/// missing is the page array itself, 64 bytes for each 4,096.
const SETTLED: f64 = 0.95;
/// Share of free memory that is touched: never so much that anything would be reclaimed.
const SHARE: f64 = 0.90;
const CHUNK: usize = 256 << 20;
const HUGE: usize = 2 << 20;
const PAGE: usize = 4096;

/// Touches free memory if this host still has pages to bring in. Gives the bytes touched, 0 on a settled host.
///
/// # Errors
/// [`Interrupted`] on Ctrl-C.
pub fn once(root: &Root, interrupt: &Interrupt, progress: &dyn Progress) -> Result<u64, Interrupted> {
    let mut held = Vec::new();
    let mut touched = 0;
    let goal = free_bytes(root);
    while is_fresh(root) && touched < goal {
        interrupt.check()?;
        progress.stage("touching this fresh host's memory once", Some(touched as f64 / goal as f64));
        // Without THP the advice is refused; the memory then comes in page by page from the program's own allocator.
        let Ok(mut chunk) = Mapping::new(CHUNK, HUGE, PageAdvice::Huge) else { break };
        chunk.bytes().iter_mut().step_by(PAGE).for_each(|byte| *byte = 1);
        held.push(chunk);
        touched += CHUNK as u64;
    }
    Ok(touched)
}

fn is_fresh(root: &Root) -> bool {
    let Ok(zones) = zoneinfo::totals(root) else { return false };
    zones.present.0 > 0 && (zones.managed.0 as f64) < SETTLED * zones.present.0 as f64
}

fn free_bytes(root: &Root) -> u64 {
    let free = meminfo::read(root).ok().and_then(|meminfo| meminfo.get("MemFree").copied()).unwrap_or(0);
    (free as f64 * SHARE) as u64
}

//! Touches a fresh host's memory once. Some virtual machines bring pages in only when they are first used
//! (`deferred_init=lazy`, unaccepted memory): the first runs would pay for that, and zone sizes and watermarks would
//! move under the comparison. And touches free memory before a run, where it goes back to a hypervisor in between.

use crate::cgroup;
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

/// Touches free memory if this host still has pages to bring in. Gives the bytes touched, 0 on a settled host.
///
/// # Errors
/// [`Interrupted`] on Ctrl-C.
pub fn once(root: &Root, interrupt: &Interrupt, progress: &dyn Progress) -> Result<u64, Interrupted> {
    let goal = free_bytes(root);
    touch(goal, interrupt, &mut |touched| {
        progress.stage("touching this host's memory once", Some(touched as f64 / goal as f64));
        is_fresh(root)
    })
}

/// Touches free memory and gives it back: at most so many bytes, and never so much that anything would be reclaimed, here or in our
/// own cgroup. Gives the bytes touched. A host that gives free memory back to its hypervisor (free page reporting) brings what is
/// touched first in again, at several times the cost; whatever runs next finds this much in place, on pages of any size.
///
/// # Errors
/// [`Interrupted`] on Ctrl-C.
pub fn before_run(root: &Root, most: u64, interrupt: &Interrupt) -> Result<u64, Interrupted> {
    if most == 0 {
        return Ok(0);
    }
    let free = free_bytes(root);
    // A tenth of what is free now stays so, also when others take memory meanwhile.
    let least = (free as f64 * (1.0 / SHARE - 1.0)) as u64;
    let room = cgroup::room(root).unwrap_or(u64::MAX);
    touch(most.min(free).min(room), interrupt, &mut |_| meminfo_free(root) > least)
}

/// Touches up to `goal` bytes as long as `goes_on`, asked with the bytes so far, says so.
fn touch(goal: u64, interrupt: &Interrupt, goes_on: &mut dyn FnMut(u64) -> bool) -> Result<u64, Interrupted> {
    let mut held = Vec::new();
    let mut touched = 0;
    while touched < goal && goes_on(touched) {
        interrupt.check()?;
        let length = ((goal - touched).min(CHUNK as u64) as usize).next_multiple_of(HUGE);
        // Without THP the advice is refused; the memory then comes in page by page from the program's own allocator.
        let Ok(mut chunk) = Mapping::new(length, HUGE, PageAdvice::Huge) else { break };
        chunk.touch();
        held.push(chunk);
        touched += length as u64;
    }
    // The last huge page is touched as a whole.
    Ok(touched.min(goal))
}

fn is_fresh(root: &Root) -> bool {
    let Ok(zones) = zoneinfo::totals(root) else { return false };
    zones.present.0 > 0 && (zones.managed.0 as f64) < SETTLED * zones.present.0 as f64
}

fn free_bytes(root: &Root) -> u64 {
    (meminfo_free(root) as f64 * SHARE) as u64
}

fn meminfo_free(root: &Root) -> u64 {
    meminfo::read(root).ok().and_then(|meminfo| meminfo.get("MemFree").copied()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_much_is_touched_as_was_asked_for_and_none_of_what_others_need() {
        let (none, root) = (Interrupt::default(), Root::live());
        assert_eq!(before_run(&root, 0, &none).unwrap(), 0);
        let odd = CHUNK as u64 + 4096 * 3 + 1;
        assert_eq!(before_run(&root, odd, &none).unwrap(), odd);

        let tree = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(tree.path().join("proc")).unwrap();
        // 10 MiB are free and never more, and a tenth of them is not ours.
        std::fs::write(tree.path().join("proc/meminfo"), "MemTotal: 20480 kB\nMemFree: 10240 kB\n").unwrap();
        assert_eq!(before_run(&Root::at(tree.path()), 1 << 40, &none).unwrap(), (10 << 20) * 9 / 10);
    }

    #[test]
    fn ctrl_c_ends_it() {
        let interrupt = Interrupt::default();
        interrupt.set();
        assert!(before_run(&Root::live(), 1 << 30, &interrupt).is_err());
    }
}

//! kswapd has to compress what it swaps out, and a program asks for memory faster than it can.

use super::memory::{HUGE, PAGE, leave};
use super::stage::Cgroup;
use super::streams::{Reader, holes};
use super::{Dose, ORDINARY, Proof, Severity, Stage, Trouble};
use crate::requires::need;
use pagewise_host::sys::lock_memory::lock;
use pagewise_host::sys::mapping::{Mapping, PageAdvice};
use std::io;
use std::sync::Mutex;

pub(super) const TROUBLE: Trouble = Trouble {
    id: "kswapd-saturation",
    what: "compressed swap of 4 GiB and vm.swappiness 200; memory is locked until 6 GiB are available, page cache fills 2.5 GiB \
           of them, and a thread writes round and round in 5 GiB of which every page is half noise",
    doses: &[
        Dose { does: "at work 50 % of the time", policy: POLICY },
        Dose { does: "at work 75 % of the time", policy: POLICY },
        Dose { does: "without pause", policy: POLICY },
    ],
    seconds: ORDINARY,
    needs: &[need::root, need::sysctl, need::swap, need::zram, need::memory_cgroup],
    proof: &[Proof::Grows("pgscan_kswapd", 10_000.0), Proof::Thread("kswapd", 0.8)],
    make,
};

const POLICY: &str = "swap=zram:4G,vm.swappiness=200";

/// Written round and round.
const WORKING_SET: usize = 5 << 30;

/// Page cache that nobody reads: what is available should the kernel need it, and at that swappiness does not touch.
const CACHE: u64 = 5 << 29;

/// Written at a time.
const STEP: usize = 32 << 20;

fn make(stage: &Stage, severity: Severity) -> io::Result<()> {
    let _cgroup = Cgroup::with_swappiness_of_host()?;
    let mut held = leave(stage, 6 << 30)?;
    for mapping in &mut held {
        lock(mapping.bytes())?;
    }
    let file = holes(stage, CACHE)?;
    Reader::of(&file, 0, CACHE).read(stage, CACHE)?;
    stage.is_about_shortage();
    let mut memory = Mapping::new(WORKING_SET, HUGE, PageAdvice::Base)?;
    for (index, page) in memory.bytes().chunks_mut(PAGE).enumerate().take_while(|_| stage.goes_on()) {
        noise(index, &mut page[..PAGE / 2]);
    }
    let memory = Mutex::new((memory, 0));
    stage.work(1, severity.of([50, 75, 100]), |_| {
        if let Ok(mut memory) = memory.lock() {
            let (mapping, at) = &mut *memory;
            for page in mapping.bytes()[*at..*at + STEP].chunks_mut(PAGE) {
                page[PAGE - 1] = page[PAGE - 1].wrapping_add(1);
            }
            *at = (*at + STEP) % WORKING_SET;
        }
        Ok(())
    })
}

/// Bytes that do not compress (the same generator as [`super::memory::Places`]).
fn noise(seed: usize, bytes: &mut [u8]) {
    let mut state = 0x9e37_79b9_7f4a_7c15 ^ (seed as u64 + 1);
    for word in bytes.chunks_exact_mut(8) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        word.copy_from_slice(&state.to_le_bytes());
    }
}

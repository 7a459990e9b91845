//! A working set above the limit of its memory cgroup, with swap to go to.

use super::memory::{HUGE, PAGE, Places};
use super::stage::Cgroup;
use super::{Dose, LASTING, Proof, Severity, Stage, Trouble};
use crate::requires::need;
use pagewise_host::sys::mapping::{Mapping, PageAdvice};
use std::io;

pub(super) const TROUBLE: Trouble = Trouble {
    id: "swap-thrash",
    what: "a swap file of 2 GiB, and a process in a memory cgroup of 256 MiB that writes at random places of more",
    doses: &[
        Dose { does: "288 MiB written", policy: POLICY },
        Dose { does: "384 MiB written", policy: POLICY },
        Dose { does: "768 MiB written", policy: POLICY },
    ],
    seconds: LASTING,
    needs: &[need::root, need::swap, need::memory_cgroup],
    proof: &[Proof::Grows("pswpin", 100.0), Proof::Grows("pswpout", 100.0)],
    make,
};

const POLICY: &str = "swap=file:2G";

fn make(stage: &Stage, severity: Severity) -> io::Result<()> {
    let _cgroup = Cgroup::enter(256 << 20)?;
    let length = severity.of([288usize, 384, 768]) << 20;
    let mut memory = Mapping::new(length, HUGE, PageAdvice::Base)?;
    let mut places = Places::from(0);
    // Pages that differ: one of the same bytes throughout would be remembered and not stored.
    for (index, page) in memory.bytes().chunks_mut(PAGE).enumerate().take_while(|_| stage.goes_on()) {
        page[..8].copy_from_slice(&(index as u64).to_le_bytes());
    }
    stage.ready();
    while stage.goes_on() {
        for _ in 0..64 {
            let page = places.below(length / PAGE);
            memory.bytes()[page * PAGE + 64] = memory.bytes()[page * PAGE + 64].wrapping_add(1);
        }
    }
    Ok(())
}

//! Free memory in pieces, and a program that asks for huge pages now and then and does not get them.

use super::memory::{HUGE, HeldHugePages, touch};
use super::{Dose, ORDINARY, Proof, Severity, Stage, Trouble};
use crate::requires::need;
use std::io;
use std::time::Duration;

pub(super) const TROUBLE: Trouble = Trouble {
    id: "fragmentation",
    what: "free memory is broken up by pinned pages (memory_state) and most of what is whole is taken; thp.enabled is always and \
           thp.defrag madvise, and a process maps 1 GiB, touches every 2 MiB and unmaps, twice a second",
    doses: &[
        Dose { does: "broken up to 92 %", policy: "memory_state=aged(92%),thp.enabled=always,thp.defrag=madvise" },
        Dose { does: "broken up to 96 %", policy: "memory_state=aged(96%),thp.enabled=always,thp.defrag=madvise" },
        Dose { does: "broken up to 99 %", policy: "memory_state=aged(99%),thp.enabled=always,thp.defrag=madvise" },
    ],
    seconds: ORDINARY,
    needs: &[need::root, need::thp],
    proof: &[Proof::Unusable(0.9), Proof::Grows("thp_fault_fallback", 1.0)],
    make,
};

fn make(stage: &Stage, _: Severity) -> io::Result<()> {
    let whole = HeldHugePages::take(stage)?;
    // A share of the time would make a pause of minutes of a step that took seconds.
    stage.work(1, 100, |_| {
        stage.pause(Duration::from_millis(500));
        whole.take_more(stage)?;
        // More than what came together since, which is taken in pieces only.
        let mut memory = vec![0u8; 1 << 30];
        touch(&mut memory, HUGE);
        Ok(())
    })
}

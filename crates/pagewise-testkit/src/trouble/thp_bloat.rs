//! A process that touches little of what it maps is given all of it.

use super::memory::{HUGE, touch};
use super::{Dose, ORDINARY, Proof, Severity, Stage, Trouble};
use crate::requires::need;
use std::io;
use std::time::Duration;

pub(super) const TROUBLE: Trouble = Trouble {
    id: "thp-bloat",
    what: "thp.enabled is always, and a process touches 4 KiB in each 2 MiB of what it maps; half of it before, half while \
           it is looked at",
    doses: &[
        Dose { does: "2 GiB mapped, 4 MiB of it used", policy: POLICY },
        Dose { does: "5 GiB mapped, 10 MiB of it used", policy: POLICY },
        Dose { does: "10 GiB mapped, 20 MiB of it used", policy: POLICY },
    ],
    seconds: ORDINARY,
    needs: &[need::root, need::thp],
    proof: &[Proof::Grows("thp_fault_alloc", 10.0), Proof::PartOf("AnonHugePages", "AnonPages", 0.2)],
    make,
};

const POLICY: &str = "thp.enabled=always,khugepaged.max_ptes_none=511";

fn make(stage: &Stage, severity: Severity) -> io::Result<()> {
    let length = severity.of([2usize, 5, 10]) << 30;
    let mut sparse = vec![0u8; length];
    let (before, while_seen) = sparse.split_at_mut(length / 2);
    for piece in before.chunks_mut(64 * HUGE).take_while(|_| stage.goes_on()) {
        touch(piece, HUGE);
    }
    stage.ready();
    let step = Duration::from_secs(u64::from(stage.seconds().max(1))) / (while_seen.len() / HUGE) as u32;
    for piece in while_seen.chunks_mut(8 * HUGE).take_while(|_| stage.goes_on()) {
        touch(piece, HUGE);
        stage.pause(step * 8);
    }
    while stage.goes_on() {
        stage.pause(Duration::from_millis(200));
    }
    Ok(())
}

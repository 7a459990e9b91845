//! A size of huge pages is switched on by itself although THP is off, and memory does not have such pages.

use super::memory::{HUGE, touch};
use super::{Dose, ORDINARY, Proof, Severity, Stage, Trouble};
use crate::requires::need;
use std::io;

pub(super) const TROUBLE: Trouble = Trouble {
    id: "mthp-misset",
    what: "thp.enabled is never but mthp[2048k].enabled is always, which overrides it; free memory is broken up, and a process \
           maps 1 GiB, touches every 2 MiB and unmaps",
    doses: &[
        Dose { does: "at work 25 % of the time", policy: POLICY },
        Dose { does: "at work 50 % of the time", policy: POLICY },
        Dose { does: "without pause", policy: POLICY },
    ],
    seconds: ORDINARY,
    needs: &[need::root, need::thp, need::mthp],
    proof: &[Proof::Grows("thp_fault_fallback", 100.0), Proof::Over("thp_fault_fallback", "thp_fault_alloc", 1.0)],
    make,
};

const POLICY: &str = "memory_state=aged(97%),thp.enabled=never,mthp[2048k].enabled=always";

fn make(stage: &Stage, severity: Severity) -> io::Result<()> {
    stage.work(1, severity.of([25, 50, 100]), |_| {
        let mut memory = vec![0u8; 1 << 30];
        touch(&mut memory, HUGE);
        Ok(())
    })
}

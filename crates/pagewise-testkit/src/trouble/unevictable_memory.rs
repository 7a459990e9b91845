//! Memory that a process has locked cannot be reclaimed, compacted away or swapped.

use super::memory::take;
use super::stage::{LEAST_AVAILABLE, available, total};
use super::{Dose, ORDINARY, Proof, Severity, Stage, Trouble};
use crate::requires::need;
use pagewise_host::sys::lock_memory::lock;
use std::io;

pub(super) const TROUBLE: Trouble = Trouble {
    id: "unevictable-memory",
    what: "a process locks a part of all memory (mlock)",
    doses: &[
        Dose { does: "52 % of memory", policy: "" },
        Dose { does: "62 % of memory", policy: "" },
        Dose { does: "74 % of memory", policy: "" },
    ],
    seconds: ORDINARY,
    needs: &[need::root],
    proof: &[Proof::Part("Mlocked", 0.5)],
    make,
};

fn make(stage: &Stage, severity: Severity) -> io::Result<()> {
    let wanted = (total()? as f64 * severity.of([0.52, 0.62, 0.74])) as u64;
    let bytes = wanted.min(available()?.saturating_sub(LEAST_AVAILABLE + (1 << 29)));
    let mut held = take(stage, bytes)?;
    for mapping in &mut held {
        lock(mapping.bytes())?;
    }
    stage.stay();
    drop(held);
    Ok(())
}

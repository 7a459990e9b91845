//! Free memory in pieces, and nobody who suffers yet.

use super::{Dose, ORDINARY, Proof, Severity, Stage, Trouble};
use crate::requires::need;
use std::io;

pub(super) const TROUBLE: Trouble = Trouble {
    id: "fragmentation",
    what: "free memory is broken up by pinned pages until so much of it is of no use for huge pages (memory_state)",
    doses: &[
        Dose { does: "92 % of free memory", policy: "memory_state=aged(92%)" },
        Dose { does: "96 % of free memory", policy: "memory_state=aged(96%)" },
        Dose { does: "99 % of free memory", policy: "memory_state=aged(99%)" },
    ],
    seconds: ORDINARY,
    needs: &[need::root, need::thp],
    proof: &[Proof::Unusable(0.9)],
    make,
};

fn make(stage: &Stage, _: Severity) -> io::Result<()> {
    stage.stay();
    Ok(())
}

//! Huge pages are zeroed over and over because memory is given back and asked for again.

use super::memory::fault_huge_pages;
use super::stage::cpus;
use super::{Dose, ORDINARY, Proof, Severity, Stage, Trouble};
use crate::requires::need;
use std::io;

pub(super) const TROUBLE: Trouble = Trouble {
    id: "thp-fault-cost",
    what: "threads map 256 MiB with MADV_HUGEPAGE of memory that is whole, touch every 2 MiB and unmap",
    doses: &[
        Dose { does: "one thread at work 20 % of the time", policy: "" },
        Dose { does: "one thread without pause", policy: "" },
        Dose { does: "a thread for each CPU without pause", policy: "" },
    ],
    seconds: ORDINARY,
    needs: &[need::thp],
    proof: &[Proof::Grows("thp_fault_alloc", 50.0), Proof::Stands("compact_stall", 5.0)],
    make,
};

fn make(stage: &Stage, severity: Severity) -> io::Result<()> {
    let (threads, percent) = severity.of([(1, 20), (1, 100), (cpus(), 100)]);
    stage.work(threads, percent, |_| fault_huge_pages(256 << 20))
}

//! Huge pages are asked for, of memory that is in pieces, and the asker compacts: the storm of 2012.

use super::memory::{HeldHugePages, fault_huge_pages};
use super::stage::cpus;
use super::{Dose, ORDINARY, Proof, Severity, Stage, Trouble};
use crate::requires::need;
use std::io;

pub(super) const TROUBLE: Trouble = Trouble {
    id: "compaction-storm",
    what: "free memory is broken up (memory_state), what is whole of it is taken, thp.defrag is always, and threads map 1 GiB with MADV_HUGEPAGE, touch \
           every 2 MiB and unmap",
    doses: &[
        Dose { does: "one thread at work 25 % of the time", policy: POLICY },
        Dose { does: "one thread without pause", policy: POLICY },
        Dose { does: "a thread for each CPU without pause", policy: POLICY },
    ],
    seconds: ORDINARY,
    needs: &[need::root, need::thp],
    // A compaction counts as a stall when it is over, however long it took; the pages it looks at count meanwhile.
    proof: &[
        Proof::Grows("compact_stall", 1.0),
        Proof::Grows("compact_migrate_scanned", 1e6),
        Proof::SystemShare(0.3),
        Proof::Part("MemAvailable", 0.1),
    ],
    make,
};

const POLICY: &str = "memory_state=aged(97%),thp.defrag=always";

fn make(stage: &Stage, severity: Severity) -> io::Result<()> {
    let (threads, percent) = severity.of([(1, 25), (1, 100), (cpus(), 100)]);
    let whole = HeldHugePages::take(stage)?;
    stage.work(threads, percent, |_| {
        whole.take_more(stage)?;
        fault_huge_pages(1 << 30)
    })
}

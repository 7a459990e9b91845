//! The kernel compacts in the background what cannot be compacted.

use super::memory::{HeldHugePages, fault_huge_pages};
use super::stage::cpus;
use super::{Dose, LASTING, Proof, Severity, Stage, Trouble};
use crate::requires::need;
use std::io;

pub(super) const TROUBLE: Trouble = Trouble {
    id: "kcompactd-burn",
    what: "free memory is broken up (memory_state), vm.compaction_proactiveness is 100, thp.defrag is defer, and threads ask \
           for huge pages: each that they do not get wakes kcompactd",
    doses: &[
        Dose { does: "a thread for each CPU at work 40 % of the time", policy: POLICY },
        Dose { does: "a thread for each CPU at work 70 % of the time", policy: POLICY },
        Dose { does: "a thread for each CPU without pause", policy: POLICY },
    ],
    seconds: LASTING,
    needs: &[need::root, need::thp, need::sysctl],
    proof: &[Proof::Thread("kcompactd", 0.05), Proof::Grows("compact_daemon_wake", 0.1)],
    make,
};

const POLICY: &str = "memory_state=aged(97%),thp.defrag=defer,vm.compaction_proactiveness=100";

fn make(stage: &Stage, severity: Severity) -> io::Result<()> {
    let percent = severity.of([40, 70, 100]);
    let whole = HeldHugePages::take(stage)?;
    stage.work(cpus(), percent, |_| {
        whole.take_more(stage)?;
        fault_huge_pages(1 << 30)
    })
}

//! Swap is there, `vm.swappiness` is 0, and the page cache pays for anonymous memory that nobody uses.

use super::page_cache_thrash::read_too_much;
use super::stage::Cgroup;
use super::{Dose, ORDINARY, Proof, Severity, Stage, Trouble};
use crate::requires::need;
use std::io;

pub(super) const TROUBLE: Trouble = Trouble {
    id: "swappiness-misuse",
    what: "a swap file of 2 GiB, vm.swappiness 0, memory taken by a process that does not use it until 3.5 GiB are \
           available, and a file of 5 GiB on the disk that is read round and round; with version 1 of control groups, in a \
           group that has the host's swappiness",
    doses: &[
        Dose { does: "at work 25 % of the time", policy: POLICY },
        Dose { does: "without pause", policy: POLICY },
        Dose { does: "by three readers without pause", policy: POLICY },
    ],
    seconds: ORDINARY,
    needs: &[need::root, need::swap, need::sysctl, need::memory_cgroup],
    proof: &[
        Proof::Grows("workingset_refault_file", 2_000.0),
        Proof::Hardly("pswpout", "workingset_refault_file", 0.01),
    ],
    make,
};

const POLICY: &str = "swap=file:2G,vm.swappiness=0";

fn make(stage: &Stage, severity: Severity) -> io::Result<()> {
    let _cgroup = Cgroup::with_swappiness_of_host()?;
    read_too_much(stage, severity.of([(1, 25), (1, 100), (3, 100)]))
}

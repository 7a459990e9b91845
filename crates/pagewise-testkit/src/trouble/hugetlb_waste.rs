//! Huge pages are reserved and nobody uses them.

use super::{Dose, ORDINARY, Proof, Severity, Stage, Trouble};
use crate::requires::need;
use std::io;

pub(super) const TROUBLE: Trouble = Trouble {
    id: "hugetlb-waste",
    what: "vm.nr_hugepages reserves huge pages of 2 MiB that no program asks for; its rule looks for ten minutes, so a short \
           recording is not decided (`--seconds 610`)",
    doses: &[
        Dose { does: "640 of them, 1.25 GiB", policy: "vm.nr_hugepages=640" },
        Dose { does: "1,280 of them, 2.5 GiB", policy: "vm.nr_hugepages=1280" },
        Dose { does: "2,560 of them, 5 GiB", policy: "vm.nr_hugepages=2560" },
    ],
    seconds: ORDINARY,
    needs: &[need::root, need::sysctl],
    proof: &[Proof::PartOf("HugePages_Free", "HugePages_Total", 0.9), Proof::Part("Hugetlb", 0.02)],
    make,
};

fn make(stage: &Stage, _: Severity) -> io::Result<()> {
    stage.stay();
    Ok(())
}

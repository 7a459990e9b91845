//! Small pages are touched, given back and touched again.

use super::memory::{PAGE, touch};
use super::stage::cpus;
use super::{Dose, ORDINARY, Proof, Severity, Stage, Trouble};
use pagewise_host::sys::mapping::{Mapping, PageAdvice};
use std::io;

pub(super) const TROUBLE: Trouble = Trouble {
    id: "fault-churn",
    what: "threads map 64 MiB without huge pages, touch every page of 4 KiB and unmap",
    doses: &[
        Dose { does: "one at work 60 % of the time", policy: "" },
        Dose { does: "one without pause", policy: "" },
        Dose { does: "one for each CPU without pause", policy: "" },
    ],
    seconds: ORDINARY,
    needs: &[],
    proof: &[Proof::Grows("pgfault", 5_000.0), Proof::Grows("pgfree", 5_000.0), Proof::SystemShare(0.2)],
    make,
};

fn make(stage: &Stage, severity: Severity) -> io::Result<()> {
    let (threads, percent) = severity.of([(1, 60), (1, 100), (cpus(), 100)]);
    stage.work(threads, percent, |_| {
        let mut mapping = Mapping::new(64 << 20, PAGE, PageAdvice::Base)?;
        touch(mapping.bytes(), PAGE);
        Ok(())
    })
}

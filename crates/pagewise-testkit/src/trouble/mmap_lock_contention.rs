//! Many threads of one process map, touch and unmap at once: each waits for the others.

use super::memory::{HUGE, PAGE, touch};
use super::{Dose, ORDINARY, Proof, Severity, Stage, Trouble};
use pagewise_host::sys::mapping::{Mapping, PageAdvice};
use std::io;

pub(super) const TROUBLE: Trouble = Trouble {
    id: "mmap-lock-contention",
    what: "threads of one process map 256 KiB, advise, touch every page and unmap, without pause",
    doses: &[
        Dose { does: "four threads", policy: "" },
        Dose { does: "sixteen threads", policy: "" },
        Dose { does: "sixty-four threads", policy: "" },
    ],
    seconds: ORDINARY,
    needs: &[],
    proof: &[Proof::Grows("pgfault", 50_000.0), Proof::SystemShare(0.5)],
    make,
};

fn make(stage: &Stage, severity: Severity) -> io::Result<()> {
    stage.work(severity.of([4, 16, 64]), 100, |_| {
        for _ in 0..100 {
            let mut mapping = Mapping::new(256 << 10, HUGE, PageAdvice::Base)?;
            touch(mapping.bytes(), PAGE);
        }
        Ok(())
    })
}

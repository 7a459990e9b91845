//! The kernel is busy with something that has nothing to do with memory management.

use super::stage::cpus;
use super::{Dose, ORDINARY, Proof, Severity, Stage, Trouble};
use std::fs::File;
use std::io::{self, Read};

pub(super) const TROUBLE: Trouble = Trouble {
    id: "unexplained-system-time",
    what: "threads read zeros from the kernel in small pieces",
    doses: &[
        Dose { does: "one thread at work 50 % of the time", policy: "" },
        Dose { does: "one thread without pause", policy: "" },
        Dose { does: "a thread for each CPU without pause", policy: "" },
    ],
    seconds: ORDINARY,
    needs: &[],
    proof: &[Proof::SystemShare(0.3), Proof::Part("MemAvailable", 0.2)],
    make,
};

fn make(stage: &Stage, severity: Severity) -> io::Result<()> {
    let (threads, percent) = severity.of([(1, 50), (1, 100), (cpus(), 100)]);
    stage.work(threads, percent, |_| {
        let mut zeros = File::open("/dev/zero")?;
        let mut buffer = [0u8; 4096];
        for _ in 0..20_000 {
            zeros.read_exact(&mut buffer)?;
        }
        Ok(())
    })
}

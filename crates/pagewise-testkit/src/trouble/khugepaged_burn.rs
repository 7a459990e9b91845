//! khugepaged looks at memory that it may not collapse, again and again.

use super::memory::{HUGE, PAGE, touch};
use super::{Dose, LASTING, Proof, Severity, Stage, Trouble};
use crate::requires::need;
use std::io;

pub(super) const TROUBLE: Trouble = Trouble {
    id: "khugepaged-burn",
    what: "1 GiB with one page in four present, of which khugepaged scans three quarters before it may not collapse it \
           (max_ptes_none 383)",
    doses: &[
        Dose { does: "64 Ki pages a round, a pause of 5 ms after each", policy: MILD },
        Dose { does: "256 Ki pages a round, a pause of 3 ms after each", policy: MIDDLE },
        Dose { does: "256 Ki pages a round, no pause", policy: SEVERE },
    ],
    seconds: LASTING,
    needs: &[need::root, need::thp],
    proof: &[Proof::Thread("khugepaged", 0.1)],
    make,
};

// One page in four leaves 384 of 512 absent: with 383 allowed, each scan goes on almost to the end before it gives up.
const MILD: &str = "thp.enabled=always,khugepaged.max_ptes_none=383,khugepaged.pages_to_scan=65536,\
                    khugepaged.scan_sleep_millisecs=5";
const MIDDLE: &str = "thp.enabled=always,khugepaged.max_ptes_none=383,khugepaged.pages_to_scan=262144,\
                      khugepaged.scan_sleep_millisecs=3";
const SEVERE: &str = "thp.enabled=always,khugepaged.max_ptes_none=383,khugepaged.pages_to_scan=262144,\
                      khugepaged.scan_sleep_millisecs=0";

fn make(stage: &Stage, _: Severity) -> io::Result<()> {
    // Huge pages would leave nothing to collapse.
    rustix::thread::disable_transparent_huge_pages(true)?;
    let mut sparse = vec![0u8; 1 << 30];
    touch(&mut sparse, 4 * PAGE);
    rustix::thread::disable_transparent_huge_pages(false)?;
    // The first fault that could have been huge makes khugepaged know this process.
    let mut known = vec![0u8; 4 * HUGE];
    touch(&mut known, HUGE);
    stage.stay();
    drop((sparse, known));
    Ok(())
}

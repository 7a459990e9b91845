//! A process that touches little of what it maps is given all of it: khugepaged fills it up.

use super::memory::{HUGE, touch};
use super::{Dose, ORDINARY, Proof, Severity, Stage, Trouble};
use crate::requires::need;
use pagewise_host::root::Root;
use pagewise_host::source::meminfo;
use std::io;
use std::time::Duration;

pub(super) const TROUBLE: Trouble = Trouble {
    id: "thp-bloat",
    what: "thp.enabled is always with max_ptes_none as the kernel has it, and a process has 4 KiB in each 2 MiB of what it maps; \
           khugepaged makes huge pages of it, 40 % before and the rest while it is recorded",
    doses: &[
        Dose { does: "2 GiB mapped, 4 MiB of it used, 20 huge pages a second", policy: MILD },
        Dose { does: "5 GiB mapped, 10 MiB of it used, 50 huge pages a second", policy: MIDDLE },
        Dose { does: "10 GiB mapped, 20 MiB of it used, 100 huge pages a second", policy: SEVERE },
    ],
    // What is added is seen between the first window of ten seconds and the last, and three there have to be.
    seconds: ORDINARY + 20,
    needs: &[need::root, need::thp],
    proof: &[Proof::Grows("thp_collapse_alloc", 10.0), Proof::PartOf("AnonHugePages", "AnonPages", 0.2)],
    make,
};

// Ten rounds a second, each through as many stretches of 512 pages as become huge pages.
const MILD: &str = "thp.enabled=always,khugepaged.max_ptes_none=511,khugepaged.scan_sleep_millisecs=100,\
                    khugepaged.pages_to_scan=1024";
const MIDDLE: &str = "thp.enabled=always,khugepaged.max_ptes_none=511,khugepaged.scan_sleep_millisecs=100,\
                      khugepaged.pages_to_scan=2560";
const SEVERE: &str = "thp.enabled=always,khugepaged.max_ptes_none=511,khugepaged.scan_sleep_millisecs=100,\
                      khugepaged.pages_to_scan=5120";

fn make(stage: &Stage, severity: Severity) -> io::Result<()> {
    let before = on_huge_pages()?;
    // Huge pages at the first touch would leave nothing to collapse.
    rustix::thread::disable_transparent_huge_pages(true)?;
    let mut sparse = vec![0u8; severity.of([2usize, 5, 10]) << 30];
    touch(&mut sparse, HUGE);
    rustix::thread::disable_transparent_huge_pages(false)?;
    // The first fault that could have been huge makes khugepaged know this process.
    let mut known = vec![0u8; 4 * HUGE];
    touch(&mut known, HUGE);
    while stage.goes_on() && on_huge_pages()?.saturating_sub(before) < sparse.len() as u64 * 2 / 5 {
        stage.pause(Duration::from_millis(50));
    }
    stage.stay();
    drop((sparse, known));
    Ok(())
}

/// Bytes of the host's anonymous memory that are huge pages.
fn on_huge_pages() -> io::Result<u64> {
    let memory = meminfo::read(&Root::live()).map_err(io::Error::other)?;
    memory.get("AnonHugePages").copied().ok_or_else(|| io::Error::other("/proc/meminfo tells no AnonHugePages"))
}

//! Movable and unmovable pages take blocks from each other, and the kernel raises its watermarks each time.

use super::memory::{HUGE, touch};
use super::streams::{Reader, full_cache};
use super::{Dose, ORDINARY, Proof, Severity, Stage, Trouble};
use crate::requires::need;
use pagewise_host::sys::mapping::{Mapping, PageAdvice};
use std::io;
use std::sync::Mutex;

pub(super) const TROUBLE: Trouble = Trouble {
    id: "watermark-boost",
    what: "memory is full of page cache in single pages, and page tables (which cannot be moved) are made and given back in \
           turn with more page cache (which can); vm.watermark_boost_factor as the kernel has it",
    doses: &[
        Dose { does: "64 MiB of page tables a turn, at work 20 % of the time", policy: POLICY },
        Dose { does: "128 MiB of page tables a turn, at work 50 % of the time", policy: POLICY },
        Dose { does: "512 MiB of page tables a turn, two threads without pause", policy: POLICY },
    ],
    seconds: ORDINARY,
    needs: &[need::root, need::sysctl],
    proof: &[Proof::Grows("pgscan_kswapd", 100.0), Proof::Boosted(0.1)],
    make,
};

const POLICY: &str = "vm.watermark_boost_factor=15000";

/// Page tables of 4 KiB each, one for 2 MiB of address space: 8 GiB make 16 MiB.
const SPACE: usize = 8 << 30;

fn make(stage: &Stage, severity: Severity) -> io::Result<()> {
    let (spaces, threads, percent) = severity.of([(4, 1, 20), (8, 1, 50), (32, 2, 100)]);
    full_cache(stage, |file| {
        let reader = Mutex::new(Reader::of(file, 5 << 30, 64 << 30));
        stage.work(threads, percent, |_| {
            let mut tables = Vec::new();
            for _ in 0..spaces {
                let mut space = Mapping::new(SPACE, HUGE, PageAdvice::Base)?;
                touch(space.bytes(), HUGE);
                tables.push(space);
            }
            drop(tables);
            reader.lock().map_or(Ok(()), |mut reader| reader.read(stage, (spaces as u64) << 25))
        })
    })
}

//! Memory is free, but in blocks of pages that can be moved: each that page tables take from those raises the watermarks.

use super::memory::{HUGE, PAGE, leave};
use super::streams::{Reader, holes, in_single_pages};
use super::{Dose, ORDINARY, Proof, Severity, Stage, Trouble};
use crate::requires::need;
use pagewise_host::sys::file_mapping::FileMapping;
use pagewise_host::sys::mapping::{Mapping, PageAdvice};
use rustix::fs::Advice;
use std::fs::File;
use std::hint::black_box;
use std::io;
use std::sync::Mutex;
use std::time::Duration;

pub(super) const TROUBLE: Trouble = Trouble {
    id: "watermark-boost",
    what: "memory is full of page cache in single pages: 2.5 GiB that eight mappings share, and 4 GiB of which three pages in four \
           are then dropped (POSIX_FADV_DONTNEED), so that 3 GiB are free in blocks of movable pages; a process makes page tables, \
           which cannot be moved; vm.watermark_boost_factor as the kernel has it",
    doses: &[
        Dose { does: "40 MiB of page tables a second", policy: POLICY },
        Dose { does: "80 MiB of page tables a second", policy: POLICY },
        Dose { does: "160 MiB of page tables a second", policy: POLICY },
    ],
    seconds: ORDINARY,
    needs: &[need::root, need::sysctl],
    proof: &[Proof::Grows("pgscan_kswapd", 100.0), Proof::Boosted(0.1)],
    make,
};

const POLICY: &str = "vm.watermark_boost_factor=15000";

/// The cache that stays, and is the oldest.
const SHARED: u64 = 5 << 29;
/// The cache that is dropped in part.
const DROPPED: u64 = 4 << 30;

/// Page tables of 4 KiB each, one for 2 MiB of address space: 1 GiB makes 2 MiB.
const SPACE: usize = 1 << 30;

fn make(stage: &Stage, severity: Severity) -> io::Result<()> {
    let mib_per_second = severity.of([40, 80, 160]);
    let _held = leave(stage, SHARED + DROPPED)?;
    let file = holes(stage, 64 << 30)?;
    in_single_pages(&file)?;
    let mut reader = Reader::of(&file, 0, 64 << 30);
    reader.read(stage, SHARED)?;
    // What has to be unmapped everywhere keeps kswapd at it: a watermark is raised until it has done what was asked.
    let mut mappings = Vec::new();
    for _ in 0..8 {
        let mapping = FileMapping::of(&file, SHARED as usize)?;
        mapping.bring_in(0, SHARED as usize)?;
        mappings.push(mapping);
    }
    // Until nothing is free: what goes of the shared cache for it, another 512 MiB, is of no matter.
    reader.read(stage, DROPPED + (512 << 20))?;
    drop_three_in_four(stage, &file, SHARED + (512 << 20), DROPPED)?;
    let tables = Mutex::new(Vec::new());
    stage.work(1, 100, |_| {
        let mut space = Mapping::new(SPACE, HUGE, PageAdvice::Base)?;
        // A page that is only read is the one of zeros: it takes a page table and nothing else.
        for page in space.bytes().iter().step_by(HUGE) {
            black_box(*page);
        }
        if let Ok(mut tables) = tables.lock() {
            tables.push(space);
        }
        stage.pause(Duration::from_micros(2_000_000 / mib_per_second));
        Ok(())
    })
}

fn drop_three_in_four(stage: &Stage, file: &File, from: u64, bytes: u64) -> io::Result<()> {
    let page = PAGE as u64;
    let three = std::num::NonZeroU64::new(3 * page);
    for at in (from..from + bytes).step_by(4 * PAGE) {
        if !stage.goes_on() {
            return Err(io::Error::other("set-up took too long or too much memory"));
        }
        rustix::fs::fadvise(file, at + page, three, Advice::DontNeed)?;
    }
    Ok(())
}

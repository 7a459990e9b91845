//! Streams through a full page cache, in single pages: kswapd has to free as fast as they come.

use super::memory::leave;
use super::stage::cpus;
use super::streams::{Reader, holes, in_single_pages, part};
use super::{Dose, ORDINARY, Proof, Severity, Stage, Trouble};
use crate::requires::need;
use std::io;
use std::sync::Mutex;

pub(super) const TROUBLE: Trouble = Trouble {
    id: "kswapd-saturation",
    what: "memory is taken until 4.5 GiB are available, and streams have a file of holes of 64 GiB brought into the page \
           cache that is left, in single pages without copying them (POSIX_FADV_RANDOM, sendfile to /dev/null)",
    doses: &[
        Dose { does: "a stream for each CPU but one, at work 20 % of the time", policy: "" },
        Dose { does: "a stream for each CPU but one, at work 50 % of the time", policy: "" },
        Dose { does: "a stream for each CPU but one, without pause", policy: "" },
    ],
    seconds: ORDINARY,
    needs: &[need::root],
    proof: &[Proof::Grows("pgscan_kswapd", 10_000.0), Proof::Thread("kswapd", 0.8)],
    make,
};

const FILE: u64 = 64 << 30;

fn make(stage: &Stage, severity: Severity) -> io::Result<()> {
    // With a stream on every CPU kswapd gets none, and the streams reclaim for themselves.
    let streams = cpus().saturating_sub(1).max(1);
    let percent = severity.of([20, 50, 100]);
    full_cache(stage, |file| {
        let readers: Vec<_> = (0..streams)
            .map(|index| {
                let (begin, end) = part(FILE, index, streams);
                Mutex::new(Reader::of(file, begin, end))
            })
            .collect();
        stage.work(streams, percent, |index| match readers[index].lock() {
            Ok(mut reader) => reader.fill(stage, 32 << 20),
            Err(_) => Ok(()),
        })
    })
}

/// Fills memory: most by a holder, the rest by page cache in single pages. Then runs what meets the full cache.
pub(super) fn full_cache(stage: &Stage, then: impl FnOnce(&std::fs::File) -> io::Result<()>) -> io::Result<()> {
    let _held = leave(stage, 9 << 29)?;
    let file = holes(stage, FILE)?;
    in_single_pages(&file)?;
    Reader::of(&file, 0, FILE).read(stage, 5 << 30)?;
    then(&file)
}

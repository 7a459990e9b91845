//! A file is read round and round that does not fit into what the page cache has left.

use super::memory::leave;
use super::streams::{Reader, on_disk};
use super::{Dose, ORDINARY, Proof, Severity, Stage, Trouble};
use crate::requires::need;
use std::io;
use std::sync::Mutex;

pub(super) const TROUBLE: Trouble = Trouble {
    id: "page-cache-thrash",
    what: "memory is taken until 3.5 GiB are available, and a file of 5 GiB on the disk is read round and round",
    doses: &[
        Dose { does: "at work 25 % of the time", policy: "" },
        Dose { does: "without pause", policy: "" },
        Dose { does: "by three readers without pause", policy: "" },
    ],
    seconds: ORDINARY,
    needs: &[need::root],
    proof: &[Proof::Grows("workingset_refault_file", 2_000.0)],
    make,
};

pub(super) const FILE: u64 = 5 << 30;

fn make(stage: &Stage, severity: Severity) -> io::Result<()> {
    read_too_much(stage, severity.of([(1, 25), (1, 100), (3, 100)]))
}

pub(super) fn read_too_much(stage: &Stage, (readers, percent): (usize, u32)) -> io::Result<()> {
    stage.is_about_shortage();
    let file = on_disk(stage, FILE)?;
    let _held = leave(stage, 7 << 29)?;
    // Once round, so that what is read from now on has been there before.
    Reader::of(&file, 0, FILE).read(stage, FILE)?;
    let each = FILE / readers as u64;
    let readers: Vec<_> = (0..readers as u64)
        .map(|index| {
            let mut reader = Reader::of(&file, 0, FILE);
            reader.start_at(index * each);
            Mutex::new(reader)
        })
        .collect();
    stage.work(readers.len(), percent, |index| match readers[index].lock() {
        Ok(mut reader) => reader.read(stage, 32 << 20),
        Err(_) => Ok(()),
    })
}

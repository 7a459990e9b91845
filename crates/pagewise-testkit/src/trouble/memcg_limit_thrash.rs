//! A memory cgroup whose limit lies just below what its process needs.

use super::stage::Cgroup;
use super::streams::{Reader, holes, in_single_pages};
use super::{Dose, ORDINARY, Proof, Severity, Stage, Trouble};
use crate::requires::need;
use std::io;
use std::sync::Mutex;

pub(super) const TROUBLE: Trouble = Trouble {
    id: "memcg-limit-thrash",
    what: "a process in a memory cgroup of 256 MiB reads a file of holes round and round in single pages \
           (POSIX_FADV_RANDOM), while the host has memory in plenty",
    doses: &[
        Dose { does: "384 MiB of file, at work 50 % of the time", policy: "" },
        Dose { does: "384 MiB of file, one reader without pause", policy: "" },
        Dose { does: "1 GiB of file, two readers without pause", policy: "" },
    ],
    seconds: ORDINARY,
    needs: &[need::root, need::memory_cgroup],
    proof: &[Proof::Grows("workingset_refault_file", 1_000.0), Proof::Part("MemAvailable", 0.1)],
    make,
};

fn make(stage: &Stage, severity: Severity) -> io::Result<()> {
    let _cgroup = Cgroup::enter(256 << 20)?;
    let (length, readers, percent) = severity.of([(384u64 << 20, 1, 50), (384 << 20, 1, 100), (1 << 30, 2, 100)]);
    let file = holes(stage, length)?;
    in_single_pages(&file)?;
    Reader::of(&file, 0, length).read(stage, length)?;
    let readers: Vec<_> = (0..readers).map(|_| Mutex::new(Reader::of(&file, 0, length))).collect();
    stage.work(readers.len(), percent, |index| match readers[index].lock() {
        Ok(mut reader) => reader.read(stage, 16 << 20),
        Err(_) => Ok(()),
    })
}

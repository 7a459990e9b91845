//! Every CPU at work and memory under pressure at once: the load under which a recorder has to keep its time. No finding
//! belongs to it; `benches/jitter.rs` of the program makes it.

use super::memory::{PAGE, touch};
use super::stage::{Cgroup, cpus};
use super::streams::{Reader, holes};
use super::{Dose, Proof, Severity, Stage, Trouble};
use crate::requires::need;
use pagewise_host::sys::mapping::{Mapping, PageAdvice};
use std::io;
use std::sync::Mutex;

pub(super) const LOAD: Trouble = Trouble {
    id: "full-host",
    what: "a loop on each CPU, and in a memory cgroup of 768 MiB two threads that take memory and give it back and two that \
           read a file of holes that does not fit",
    doses: &[Dose { does: "128 MiB taken at a time, a file of 4 GiB", policy: "" }],
    seconds: 70,
    needs: &[need::root, need::memory_cgroup],
    proof: &[Proof::Grows("pgfault", 20_000.0), Proof::Grows("workingset_refault_file", 5_000.0)],
    make,
};

/// What is taken fits three times: there is always page cache to reclaim, so nothing is killed.
const LIMIT: u64 = 768 << 20;
const TAKEN: usize = 128 << 20;
const FILE: u64 = 4 << 30;

/// Threads of each kind that stream.
const STREAMS: usize = 2;

fn make(stage: &Stage, _: Severity) -> io::Result<()> {
    let _cgroup = Cgroup::enter(LIMIT)?;
    let file = holes(stage, FILE)?;
    // Once full, each further page has to be reclaimed first.
    Reader::of(&file, 0, FILE).read(stage, LIMIT)?;
    let readers: Vec<_> = (0..STREAMS)
        .map(|index| {
            let mut reader = Reader::of(&file, 0, FILE);
            reader.start_at(FILE / STREAMS as u64 * index as u64);
            Mutex::new(reader)
        })
        .collect();
    stage.work(2 * STREAMS + cpus(), 100, |index| match (readers.get(index), index) {
        (Some(reader), _) => match reader.lock() {
            Ok(mut reader) => reader.read(stage, 16 << 20),
            Err(_) => Ok(()),
        },
        (None, index) if index < 2 * STREAMS => take_and_give_back(),
        _ => {
            compute();
            Ok(())
        }
    })
}

fn take_and_give_back() -> io::Result<()> {
    let mut taken = Mapping::new(TAKEN, PAGE, PageAdvice::Base)?;
    touch(taken.bytes(), PAGE);
    Ok(())
}

/// Some milliseconds of arithmetic.
fn compute() {
    let mut state = 1u64;
    for step in 0..4_000_000u64 {
        state = std::hint::black_box(state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(step));
    }
}
